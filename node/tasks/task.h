/* task.h - what this rank keeps of a task beside the core.
 *
 * The core knows a task's hash, owner and inputs; the record here begins with that and
 * goes on with arguments, kernel, where it was spawned, its result.  A record is made
 * when the program spawns a task, names its hash, uses it as an input, or when the core
 * has to do with it, and is filled in as more is learnt: all zero, it is that of a task
 * that is known by its hash alone.  It lives until the core forgets the task, and as
 * long as something here uses it.
 *
 * Under the engine lock, except what says otherwise.
 */
#ifndef NODE_TASKS_TASK_H
#define NODE_TASKS_TASK_H

#include "consensus/core_entry.h"
#include "node/config/text.h"
#include "node/context/task_state.h"

/* Of what is kept of a stub. */
uint32_t task_stub_trace_number(const void *part);

/* Its inputs, once it is held: first those that give it data, then those that it merely
 * comes after.  One that the core has forgotten is NULL, and what the core has
 * forgotten has none. */
static inline uint32_t task_input_count(const struct task *task)
{
    return task->gone ? 0 : core_entry_input_count(task);
}
static inline uint32_t task_data_count(const struct task *task)
{
    return task->gone ? 0 : core_entry_data_count(task);
}
static inline struct task *task_input(const struct task *task, uint32_t i)
{
    return core_entry_input(task, i);
}

/* It has ended, and what is wanted of it is here.  The bytes of a result may have been
 * lost since it was known, with the rank that had them. */
static inline bool task_is_here(const struct task *task, enum want want)
{
    return task->known &&
           (task->status != MOOT_OK || want == WANT_DONE || task->payload != NULL);
}

/* What the core knows it by; NULL: the core has forgotten the task. */
static inline void *task_entry(const struct task *task)
{
    return !core_is_stub(task) && task->gone ? NULL : (void *)(uintptr_t)task;
}

/* 0: it has none yet.  A stub will do. */
static inline uint32_t task_trace_number(struct task *task)
{
    return core_is_stub(task) ? task_stub_trace_number(core_stub_host(task))
                              : task->trace_number;
}

/* What it has of these; all zero if it has none. */
extern const struct task_seldom task_seldom_none;
static inline const struct task_seldom *task_seldom(const struct task *task)
{
    return task->seldom != NULL ? task->seldom : &task_seldom_none;
}
static inline const char *task_label(const struct task *task)
{
    return task_seldom(task)->label;
}
/* Where it was spawned; NULL: not known. */
static inline const char *task_site(const struct task *task)
{
    return core_entry_site(task);
}

struct moot;

/* To be written; made if there is none; NULL without memory. */
struct task_seldom *task_seldom_of(struct moot *m, struct task *task);

/* The record of a hash, made if there is none; NULL without memory. */
struct task *task_enter(struct moot *m, const moot_hash *hash);
/* The record of a task that is about to be filled in with these: a new one has room for
 * its arguments, and in the core's part for its inputs. */
struct task *task_enter_for(struct moot *m, const moot_hash *hash,
                            const struct task_facts *facts);

/* "": not known.  The program may have named a task of this kernel, and not spawned it.
 */
const char *task_kernel_name(const struct task *task);
/* The program has named a task of that kernel, with that label or NULL.  Without memory
 * reports say less. */
void task_note_named(struct moot *m, struct task *task, const struct kernel *kernel,
                     const char *label);

/* The context's copy of a call site; NULL without memory: a report then says less. */
const char *task_site_intern(struct moot *m, const char *site);

/* Copies them into the record; false without memory, and then the record is as it was.
 */
bool task_fill(struct moot *m, struct task *task, const struct task_facts *facts);

/* Of a task that is filled in and not registered yet: these are its inputs, the last
 * `after_count` of them order only; it has another label.  False without memory, and
 * then the record is as it was. */
bool task_order_spec(struct moot *m, struct task *task, struct task *const *inputs,
                     size_t count, size_t after_count);
bool task_relabel(struct moot *m, struct task *task, const char *label);
void task_reprioritise(struct task *task, int32_t priority);

/* Frees the arguments of a task that will not run here any more. */
void task_drop_args(struct task *task);

/* CORE_OUT_FORGET, of many tasks: a record goes, or does when nothing uses it any more.
 */
void task_carry_forget(struct moot *m, const struct core_output *output);
/* Those that follow are undone by a reload, or are not any more. */
void task_undoing(struct moot *m, bool undoing);
void task_try_free(struct moot *m, struct task *task);

/* "task 1a2b3c4d of kernel 'square' 'label' (file:line)", as far as known */
void task_describe(struct text *text, const struct task *task);
void task_describe_hash(struct text *text, const moot_hash *hash);

#endif
