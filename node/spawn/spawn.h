/* spawn.h - taking tasks in: from the program, from a running kernel, from a peer.
 *
 * A spawn checks all of its input, makes the task's hash, and registers it with the
 * core unless this rank holds it already; then it only gives one more reference to the
 * same task.  On failure nothing has happened and the lane's error text says why.
 *
 * Under the engine lock.
 */
#ifndef NODE_SPAWN_SPAWN_H
#define NODE_SPAWN_SPAWN_H

#include "hashing/identity.h"
#include "node/context/context.h"

/* Spawns a task whose facts are checked, past all queues. */
int spawn_at_once(struct moot *m, struct lane *lane, struct task_facts *facts,
                  moot_task *out);
/* Stubs of the core's that their handles have and that are to be registered. */
struct spawn_stubs {
    uint32_t count;
    void *all[IDENTITY_TOGETHER_MAX];
};
/* Registers the task of that hash for a handle that has no task yet (handle_new of
 * UNNAMED_TASK), or adds a stub of it to `stubs`, of which there are fewer than it has
 * room for; else those come first.  On failure the handle is there, for a record that
 * is not registered, or still for none. */
int spawn_named(struct moot *m, struct lane *lane, const moot_hash *hash,
                struct task_facts *facts, uint64_t id, struct spawn_stubs *stubs);
/* A stub becomes a record: for core_options.expand, with the struct moot as the
 * context.
 */
void spawn_expand(void *context, struct core *core, void *entry, const void *part);
/* Registers these, in one step: before the core hears of anything else, or is asked for
 * a task.  Then there are none. */
int spawn_register_stubs(struct moot *m, struct spawn_stubs *stubs);
/* Lets peers be answered. */
void spawn_drive(struct moot *m);
/* Likewise, and keeps the program from spawning too far ahead: at the end
 * of a top-level spawn, and of what submits tasks that were spawned before.  Releases
 * the lock around kernels. */
void spawn_make_room(struct moot *m, struct lane *lane);

/* The parts of a spawn, for queues, which may put something between them. */
struct spawned {
    struct task *task;
    uint64_t id; /* the program's handle */
};
/* Enters the task and makes a handle to it. */
int spawn_enter(struct moot *m, struct lane *lane, const struct task_facts *facts,
                struct spawned *out);
/* Registers it, unless this rank holds it or a queue has it.  On failure undoes
 * spawn_enter. */
int spawn_hold(struct moot *m, struct lane *lane, struct task_facts *facts,
               const struct spawned *spawned);
void spawn_undo(struct moot *m, const struct spawned *spawned);
/* Registers a pending task (ticket.h); its inputs are taken from its record. */
int spawn_filled(struct moot *m, struct lane *lane, struct task *task,
                 struct task_facts *facts);

/* What its hash is made of. */
static inline struct identity spawn_identity(const struct task_facts *facts)
{
    const struct core_register *reg = &facts->reg;
    return (struct identity){.kernel = &facts->kernel->identity,
                             .args = facts->args,
                             .args_size = facts->args_size,
                             .inputs = reg->inputs,
                             .input_count = reg->input_count - reg->after_count,
                             .key = facts->key,
                             .key_size = facts->key_size,
                             .once = (reg->flags & CORE_TASK_ONCE) != 0,
                             .idempotent = (reg->flags & CORE_TASK_IDEMPOTENT) != 0,
                             .nested = facts->nested,
                             .candidates = reg->candidates,
                             .scope = reg->scope,
                             .place = facts->place};
}
moot_hash spawn_hash_of(const struct task_facts *facts);
/* The kernel of a spec, if this rank has it and it is portable here, too; or NULL. */
struct kernel *spawn_portable_kernel(struct moot *m, const struct message_spec *spec);
/* The hash that it would have. */
int spawn_hash(struct moot *m, struct lane *lane, const moot_task_spec *spec,
               moot_hash *out);
/* Registers the task of a motion's spec, which core_would_adopt() has agreed to, if
 * this rank knows its kernel and the spec is what its hash says, of which the kernel's
 * version is a part; otherwise does nothing. */
void spawn_adopt(struct moot *m, const struct message *motion);

/* Registers a task that the program has not spawned, and which stands on no roll: this
 * rank holds it, and can run it for others.  The record is that of the facts' hash, and
 * there are records of its inputs. */
int spawn_take_in(struct moot *m, struct task *task, struct task_facts *facts);

/* Headers of this room that other rooms use, too: */
#include "node/spawn/backpressure.h"
#include "node/spawn/early_motions.h"
#include "node/spawn/spawn_batch.h"
#include "node/spawn/spawn_check.h"
#include "node/spawn/window.h"

#endif
