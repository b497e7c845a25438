/* snapshot.h - the room of named snapshots: a set of results that all members agree on
 * (PROTOCOL.md, *Snapshots*).
 *
 * Writes core->snapshot.  Called within a step, on its thread; calls state/ alone.
 */
#ifndef CONSENSUS_SNAPSHOT_SNAPSHOT_H
#define CONSENSUS_SNAPSHOT_SNAPSHOT_H

#include "consensus/state/state.h"

/* CORE_EV_SNAPSHOT: this rank's program asks for a snapshot of that name. */
int snapshot_ask(struct core *core, const char *name, size_t name_size);
/* CORE_EV_PREPARED and CORE_EV_COMMITTED. */
int snapshot_prepared(struct core *core, const struct core_event *event);
int snapshot_committed(struct core *core, const struct core_event *event);

/* A message carries a cut of this view that this rank has yet to make: it makes it
 * before anything is done about the message (S2). */
void snapshot_cut(struct core *core, uint32_t number);
void snapshot_on_snapshot(struct core *core, uint32_t from,
                          const struct message *message);
/* Nothing that goes on in this view counts in the next one, of which nothing has been
 * said yet. */
void snapshot_leave_view(struct core *core);
/* The lowest member is asked again. */
void snapshot_enter_view(struct core *core);
void snapshot_end(struct core *core); /* of a core that is freed */

/* As state_hold() and its parts. */
void snapshot_hold(const struct core *core);

#endif
