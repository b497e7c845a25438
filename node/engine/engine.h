/* engine.h - the lock, and the steps of the core.
 *
 * A public call is engine_enter .. engine_leave.  Inside, engine_step gives the core an
 * event, has the outputs carried out in their order (dispatch.h), and then steps the
 * events that arose meanwhile (engine_later), until none is left.  Nobody else calls
 * core_step.
 */
#ifndef NODE_ENGINE_ENGINE_H
#define NODE_ENGINE_ENGINE_H

#include "node/context/context.h"

struct engine_hooks;

/* A context is made: these do what comes up in it (dispatch.h), and now it is opened.
 */
void engine_open(struct moot *m, const struct engine_hooks *hooks);

/* The group is joined: makes the inbox and the outbox.  False without memory. */
bool engine_join(struct moot *m);
/* The context begins to close; then, has said its last word to the others. */
void engine_begin_closing(struct moot *m);
void engine_end(struct moot *m);
/* Why calls end as CLOSED. */
const char *engine_closed_why(const struct moot *m);

/* Takes the lock for a public call; NULL without memory, and then it is not held.  If
 * this rank is to leave it has when this returns, or another thread sees to it, or the
 * caller is in a kernel, or in a watch's function. */
struct lane *engine_enter(struct moot *m);
/* The same, but tasks that are unnamed (spawn_batch.h) stay so. */
struct lane *engine_enter_unsettled(struct moot *m);
/* And what the time is stays as it was. */
struct lane *engine_enter_untimed(struct moot *m);
/* Calls watches and the report hook with what was queued, and releases it. */
void engine_leave(struct moot *m);
/* The same for the library's own threads and around kernels and sleeps; the report hook
 * is called behind the release. */
void engine_lock(struct moot *m);
void engine_unlock(struct moot *m);

/* Something is queued that is told when the lock is released. */
bool engine_must_tell(const struct moot *m);

/* What m->now_ns is from now on. */
uint64_t engine_look_at_clock(struct moot *m);

/* The core's answer to this event; what arises from it is carried out before it
 * returns.
 */
int engine_step(struct moot *m, const struct core_event *event);
/* CORE_OUT_ADJOURN. */
void engine_carry_end(struct moot *m, const struct core_output *output);
/* An output that follows only from events that no room of this build feeds. */
void engine_carry_unasked(struct moot *m, const struct core_output *output);
/* An event for after the present step; at once if there is none. */
void engine_later(struct moot *m, const struct later *later);
/* Drops those about tasks, which the core has forgotten; those about lanes stay. */
void engine_drop_laters(struct moot *m);

/* Ends every wait and spawn of this rank with `code`; the first one stays. */
void engine_fail(struct moot *m, int code, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* The same for every rank: peers are told, so that none waits for this one. */
void engine_fail_all(struct moot *m, int code, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* This rank ends with that code, and says nothing more. Peers take it for dead where
 * the job goes on without a rank that dies; else they end, too (members.h). */
void engine_end_alone(struct moot *m, int code, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));
/* There is no memory to go on with: the rank ends alone, with NO_MEMORY. */
#define engine_starve(m, ...) engine_end_alone((m), MOOT_ERR_NO_MEMORY, __VA_ARGS__)

/* Headers of this room that other rooms use, too: */
#include "node/engine/clock.h"
#include "node/engine/dispatch.h"
#include "node/engine/inbox.h"
#include "node/engine/lane.h"
#include "node/engine/lane_scope.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/engine/report_queue.h"

#endif
