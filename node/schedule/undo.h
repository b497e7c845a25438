/* undo.h - what runs, waits and is ready here is undone: all go back to a snapshot.
 *
 * Before this rank comes to the reload its kernels are drained: none begins, those that
 * run are told that they are cancelled, and their waits end.  So none runs when the
 * core forgets its tasks.  Under the engine lock.
 */
#ifndef NODE_SCHEDULE_UNDO_H
#define NODE_SCHEDULE_UNDO_H

#include "node/context/context.h"

/* Begins, or ends; undo_is_drained() says when no kernel is left. */
void undo_drain(struct moot *m, bool drains);
bool undo_is_drained(const struct moot *m);
/* The program has called for a reload, or is back, for reports of stalls. */
void undo_is_called(struct moot *m, bool called);
/* The program comes to the meeting before the reload, or does not any more: kernels are
 * drained when all have come. */
void undo_meets(struct moot *m, bool meets);
/* The program comes to the reload itself, and it is over: what came of it is in
 * m->schedule.reload. */
void undo_begin(struct moot *m);
void undo_end(struct moot *m);
/* Notes what came of the reload. */
void undo_carry_reloaded(struct moot *m, const struct core_output *output);

#endif
