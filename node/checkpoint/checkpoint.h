/* checkpoint.h - the room of checkpoints: which results are stored, and which are
 * found.
 *
 * A task's hash says what it computes, whoever runs it and whenever.  So a checkpoint
 * is a store from hashes to results, and a restart is to run the program again: the
 * owner of a task looks the hash up just before the kernel would start, and what is
 * there ends the task as the kernel would have (node/schedule/found.h).  The protocol
 * knows nothing of it: a found task is one that took no time.
 *
 * Found and stored: results of the program's own kernels that ended well, if the policy
 * (policy.h) takes them.  Not stored are those of kernels that spawned: their children
 * are tasks of their own, which others may name, and a found parent would not spawn
 * them.  It is run again, and finds them.
 *
 * Some results are stored whatever the policy says, and before anybody else learns of
 * them: those of once tasks, so that an end that was seen is never forgotten, and those
 * of kernels that may vary, so that what was made of a result is never found where the
 * result itself is made anew, with other bytes.  Of a once task that a later job may
 * not start again the acceptance is stored before it starts; one without a result is
 * MAYBE_RAN there.  Its failures are stored, too: it has ended.
 *
 * A result counts for the inputs that it was made of.  A task's hash names its inputs
 * and does not cover their bytes, and where a result that varies is not found (its host
 * or its record is gone, it is too old) it is made anew, with others.  So a rank of a
 * program that has kernels that vary stores with each result a sum of its inputs'
 * bytes, and takes none that has another one; nor a kernel's half-done state.  Once
 * tasks are taken all the same: they have run.
 *
 * The store is node/diskstore's, which writes behind.  It is given references to
 * results, not copies; what it has written comes back through a list, since references
 * are dropped under the engine lock, which its thread does not take.
 *
 * Writes m->checkpoint.  Under the engine lock, but for what says otherwise.
 */
#ifndef NODE_CHECKPOINT_CHECKPOINT_H
#define NODE_CHECKPOINT_CHECKPOINT_H

#include "node/context/context.h"

struct diskstore_found;
struct text;

/* Whether these knobs can be: MOOT_ERR_CONFIG, and why not. */
int checkpoint_check(const struct knobs *knobs, char *story, size_t story_size);
/* Opens what the knobs name; nothing if they name none.  FILE, CONFIG, NO_MEMORY, and
 * why. */
int checkpoint_open(struct moot *m, char *story, size_t story_size);
/* This rank was let in when others had gone back to a snapshot: so does its store,
 * which has been open since before, perhaps.  FILE, and why.  Lets the lock go
 * meanwhile. */
int checkpoint_join(struct moot *m, char *story, size_t story_size);
/* Appends why records were last not stored.  Any thread. */
void checkpoint_why(struct moot *m, struct text *out);
/* Writes out what waits.  Lets the lock go meanwhile. */
void checkpoint_flush(struct moot *m);
/* Likewise, of a rank that has left: all can read what it has stored, however long its
 * process lives. */
void checkpoint_finish(struct moot *m);
void checkpoint_release(struct moot *m); /* without the lock */
/* A chore of the loop. */
void checkpoint_look(struct moot *m, uint64_t now_ns);

static inline bool checkpoint_is_on(const struct moot *m)
{
    return m->checkpoint.store != NULL;
}

/* --- A kernel that is about to start ---------------------------------------------- */

/* Fills in what the call is to do, for the functions below, but for its inputs.  All of
 * it is zero, and stays so without a checkpoint. */
void checkpoint_begin(struct moot *m, const struct task *task,
                      struct call_checkpoint *call);

/* The call needs stored results, and there are none: STATE. */
int checkpoint_refuse(struct lane *lane, const char *call);

/* The function that drops the program's own state when all have gone back to a
 * snapshot; NULL: none. */
void checkpoint_on_reload(struct moot *m, void (*fn)(struct moot *m, void *user),
                          void *user);

enum checkpoint_answer {
    CHECKPOINT_NOTHING,
    CHECKPOINT_ENDED,    /* *out is its end, and the caller's to free */
    CHECKPOINT_MAY_HAVE, /* a once task: it began, or nobody can tell whether it did,
                            and how it ended is unknown: call->began */
    CHECKPOINT_UNREAD    /* a once task: its end is stored, and cannot be read now: *out
                            says why, and where */
};
/* Without the lock; reads the disk. */
enum checkpoint_answer checkpoint_find(struct moot *m, const struct task *task,
                                       struct call_checkpoint *call,
                                       struct diskstore_found *out);
/* Stores that a once task starts, before it does.  False: it must not.  Without the
 * lock; writes to the disk. */
bool checkpoint_accept(struct moot *m, const struct task *task,
                       const struct call_checkpoint *call);

/* Whether an element of a once array has not begun before; and stores that it starts.
 * The task is the array.  Likewise. */
bool checkpoint_may_begin(struct moot *m, const moot_hash *element,
                          struct call_checkpoint *call);
bool checkpoint_accept_element(struct moot *m, const struct task *task,
                               const moot_hash *element,
                               const struct call_checkpoint *call);

/* --- A kernel that has returned, or stores its own state ---------------------------
 */

struct checkpoint_end {
    int32_t status;
    struct payload *payload; /* the result, or the error's story */
    uint64_t took_ns;
};
/* Stores it, if it is worth it; the payload is not shared yet.  Without the lock; waits
 * while too much is on its way to the disk. */
void checkpoint_keep(struct moot *m, const struct task *task,
                     struct call_checkpoint *call, const struct checkpoint_end *end);
/* A failure of a once task, which is the only kind that is kept.  Under the lock. */
void checkpoint_keep_failure(struct moot *m, const struct task *task,
                             const struct call_checkpoint *call);

/* Half-done state of the task's kernel; false without memory.  Without the lock. */
bool checkpoint_put_state(struct moot *m, const struct task *task,
                          struct call_checkpoint *call, const void *state, size_t size);
/* NULL: there is none that was made of these inputs; else to be free()d.  Without the
 * lock. */
void *checkpoint_state(struct moot *m, const struct task *task,
                       struct call_checkpoint *call, size_t *size);

#endif
