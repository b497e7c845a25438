/* lane.h - threads, as the context sees them.
 *
 * Every thread that calls a context gets a `struct lane` there: the text of its last
 * error, the kernel that it is in, the scopes that it has open.  It becomes a lane in
 * the protocol's sense (a number, and a state that the core is told) with its first
 * top-level spawn, wait or park.  Its end ends the lane.
 *
 * The record belongs to the thread, through one process-wide thread-specific key, and
 * may outlive the context.  What connects the two is the bond: it is counted, holds the
 * engine's lock, and says whether the context is still there, so that a thread that
 * ends and a context that closes at the same moment do not meet in freed memory.
 *
 * What the core hears of a lane: RUNNING in the program's code; BLOCKED in a wait
 * without a timeout; TIMED in a wait with one, and from a wait that timed out until its
 * next spawn or successful wait (a program that polls); PARKED; ENDED.  A lane that has
 * ended gives its number to the next thread that needs one.
 */
#ifndef NODE_ENGINE_LANE_H
#define NODE_ENGINE_LANE_H

#include "node/context/lane_state.h"

struct bond *bond_new(struct moot *m); /* NULL without memory */
void bond_drop(struct bond *bond);

/* This thread's lane in the context, made if there is none; NULL without memory.  The
 * engine lock must not be held. */
struct lane *lane_of_thread(struct bond *bond);
/* Likewise, but NULL if there is none.  The lock may be held. */
struct lane *lane_look(const struct bond *bond);

/* The lane of whoever goes on with what began on this one: of this thread, which may
 * be another if a kernel has waited meanwhile.  A thread at its end keeps its own. */
struct lane *lane_now(const struct moot *m, struct lane *lane);

/* This thread's that is in a kernel, in whatever context; NULL: none is. */
const struct lane *lane_in_kernel(void);

/* Takes all lanes out of a context that closes.  Under the lock. */
void lanes_leave(struct moot *m);
bool lanes_any_parked(const struct moot *m); /* under the lock */

/* Makes it a lane of the protocol if it is not yet.  Under the lock.  LIMIT, NO_MEMORY,
 * or what ended the moot. */
int lane_enrol(struct moot *m, struct lane *lane);
/* It is one, and the core knows that it runs. */
static inline bool lane_is_running(const struct lane *lane)
{
    return lane->number != LANE_NO_NUMBER && lane->state == CORE_LANE_RUNNING;
}
/* Tells the core if the state changes.  Under the lock; no effect without a number. */
void lane_set_state(struct moot *m, struct lane *lane, enum core_lane_state state);

/* The scope that this lane's spawns belong to: zero outside all. */
moot_hash lane_scope(const struct lane *lane);

/* Of a spawn's inputs those that are stubs of the core's, or all, are to be looked up
 * by their hashes. */
void lane_forget_stubs(struct lane *lane, size_t count);
void lane_forget_inputs(struct lane *lane, size_t count);

/* Records why the thread's call failed, and returns `code`. */
int lane_fail(struct lane *lane, int code, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* The story of a call's failure begins with the call: for one that was told by what
 * several calls share, which leaves that out.  No effect on one that names a call. */
void lane_name_call(struct lane *lane, const char *call) __attribute__((cold));

/* The same for calls without a context: moot_open, or a NULL context. */
int thread_fail(int code, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* Records why `call` is refused before it has entered the context, which may be NULL,
 * and returns `code`.  The lock must not be held. */
int lane_refuse(const struct moot *m, int code, const char *call, const char *why)
    __attribute__((cold));
/* The same for an argument that is not good, with INVALID; a context that is NULL is
 * then the reason. */
int lane_invalid(const struct moot *m, const char *call, const char *what)
    __attribute__((cold));

/* The story of this thread's last failed call on `m`, "" if there is none.  Nothing is
 * read of `m`, which may be closed. */
const char *lane_error(const struct moot *m);
/* The same of calls without a context. */
const char *thread_error(void);
/* Drops this thread's stories of contexts that are closed: a new one may have the
 * address of an old one. */
void lane_forget_closed(void);

#endif
