/* task_watch.h - telling the program what becomes of tasks, and of ranks.
 *
 * Where something happens to a task one of the functions below is called, beside the
 * hook of the trace; without a watch that asks for this kind it is a look at a mask.
 * With one the event is queued, and told when the lock is released next (engine_unlock,
 * engine_leave).  One thread tells at a time, so events come in their order and a
 * program's function is never in two threads; what happens meanwhile is left to that
 * thread.
 *
 * Under the engine lock.
 */
#ifndef NODE_RECORD_TASK_WATCH_H
#define NODE_RECORD_TASK_WATCH_H

#include "node/api/moot_watch.h"
#include "node/context/context.h"
#include "node/tasks/task.h"

struct core_output;

/* `why`: a string that stays, or NULL; `rank`: -1 for none. */
void observe_event(struct moot *m, enum moot_event_kind kind, const struct task *task,
                   int rank, const char *why);
/* An event of a rank; `why`: a string that stays. */
void observe_rank(struct moot *m, enum moot_event_kind kind, uint32_t rank,
                  const char *why);
/* One of MOOT_EVENTS_OF_PSETS; `why`: in words. */
void observe_pset(struct moot *m, enum moot_event_kind kind, const char *name,
                  const char *why);
/* What was said since `mark` did not come to be. */
uint64_t observe_mark(const struct moot *m);
void observe_retract(struct moot *m, uint64_t mark);
/* The task's end is known here, and is told once.  Of a task that was pushed here and
 * that nothing here has named yet it is told when it is spawned, or by observe_named(),
 * which is called just before a handle or a task that takes it names it. */
void observe_end(struct moot *m, struct task *task);
void observe_named(struct moot *m, struct task *task);
/* The process is about to end with `status`: that is news where it had ended otherwise.
 */
void observe_other_end(struct task *task, int status);
void observe_spawned_late(struct moot *m, struct task *task);
void observe_verdict(struct moot *m, const struct task *task);
void observe_wait(struct moot *m, const struct wait *wait);
void observe_note(struct moot *m, const struct core_output *output);

/* Tells what is queued, and lets the lock go for that; nothing if another thread does.
 */
void observe_tell(struct moot *m);
bool observe_is_due(const struct moot *m);
/* This thread is in a watch's function. */
bool observe_is_telling(const struct lane *lane);
/* STATE there, for what would change the thread's own standing; else MOOT_OK. */
int observe_refuse(struct lane *lane, const char *call);
void observe_release(struct moot *m);

static inline bool observed(const struct moot *m, enum moot_event_kind kind)
{
    return (m->record.observed_kinds & (uint32_t)kind) != 0;
}

#endif
