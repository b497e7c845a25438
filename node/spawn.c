/* spawn.c - see spawn.h. */
#include "spawn.h"

#include "hashing/hot.h"
#include "hashing/identity.h"
#include "node/call.h"
#include "node/engine.h"
#include "node/group.h"
#include "node/observe.h"
#include "node/outbox.h"
#include "node/priority.h"
#include "node/progress.h"
#include "node/queue.h"
#include "node/spawn_check.h"
#include "node/task_handle.h"
#include "node/trace.h"
#include "node/verify.h"
#include "node/window.h"
#include "proto/error.h"

#include <assert.h>

/* A rank that only spawns still answers its peers this often. */
enum { SPAWN_DRIVE_NS = 20000 };

static inline moot_hash hash_of(const struct task_facts *facts)
{
    const struct core_register *reg = &facts->reg;
    struct identity identity = {.kernel = &facts->kernel->identity,
                                .args = facts->args,
                                .args_size = facts->args_size,
                                .inputs = reg->inputs,
                                .input_count = reg->input_count - reg->after_count,
                                .key = facts->key,
                                .key_size = facts->key_size,
                                .once = (reg->flags & CORE_TASK_ONCE) != 0,
                                .nested = facts->nested,
                                .candidates = reg->candidates,
                                .scope = reg->scope};
    return identity_hash(&identity);
}

/* --- Registering ---------------------------------------------------------------- */

HOT static inline int register_task(struct moot *m, struct task *task,
                                    struct task_facts *facts, bool adopted)
{
    struct core_register *reg = &facts->reg;
    reg->flags |= adopted ? CORE_TASK_ADOPTED : 0u;
    reg->spec = task_seldom(task)->spec;
    reg->site = task_site(task);
    const struct core_event event = {.type = CORE_EV_REGISTER,
                                     .hash = task->hash,
                                     .entry = task_entry(task),
                                     .u.reg = reg};
    bool held = task->held, was_adopted = task->adopted;
    task->held = true; /* the core's answer may run it at once */
    task->adopted = adopted;
    trace_spawn(m, task, facts, reg->lane, adopted);
    uint64_t mark = 0;
    if (m->observe != NULL) {
        mark = observe_mark(m);
        if (!held || was_adopted) {
            observe_event(m, MOOT_EVENT_SPAWNED, task, -1, NULL);
            observe_spawned_late(m, task);
        }
    }
    int error = engine_step(m, &event);
    if (error != MOOT_OK) {
        observe_retract(m, mark);
        task->held = held;
        task->adopted = was_adopted;
    }
    return error;
}

/* The core's entries of the inputs, made of those that are known by hash alone. */
static inline bool find_entries(struct moot *m, const struct task_facts *facts,
                                void **entries)
{
    const struct core_register *reg = &facts->reg;
    for (size_t i = 0; i < reg->input_count; i++) {
        struct task *known = facts->input_tasks != NULL ? facts->input_tasks[i] : NULL;
        struct task *input = known != NULL ? known : task_enter(m, &reg->inputs[i]);
        if (input == NULL) {
            return false;
        }
        entries[i] = task_entry(input);
    }
    return true;
}

/* This rank holds it already. */
COLD static int hold_again(struct moot *m, struct task *task, struct task_facts *facts)
{
    priority_raise(m, task, facts->priority);
    if (!task->let_go) {
        return MOOT_OK;
    }
    task->let_go = false;
    facts->reg.input_entries = NULL;
    return register_task(m, task, facts, false);
}

/* Registers the task unless this rank holds it.  A program that spawns what it had
 * adopted puts it on its roll now. */
HOT static inline int hold(struct moot *m, struct task *task, struct task_facts *facts,
                           struct lane *lane)
{
    facts->reg.lane = lane->number;
    if (task->held && (!task->adopted || facts->nested)) {
        return hold_again(m, task, facts);
    }
    task->let_go = false;
    if (!task->held && !task->pending && !task_fill(m, task, facts)) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (!find_entries(m, facts, lane->entries)) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (task->priority > 0) {
        priority_hand_down(m, task, lane->entries, facts->reg.input_count);
    }
    facts->reg.input_entries = lane->entries;
    int error = register_task(m, task, facts, false);
    if (error == MOOT_OK) {
        m->counts.spawned++;
        verify_spawned(m, task);
    }
    return error;
}

COLD static int explain(struct moot *m, struct lane *lane, const moot_hash *hash,
                        const char *label, int error)
{
    char digits[MOOT_HASH_TEXT_BYTES];
    return lane_fail(lane, error, "rank %u cannot spawn task %.8s%s%s%s: %s (%s)",
                     m->group.rank, hash_format(hash, digits), label ? " '" : "",
                     label ? label : "", label ? "'" : "", error_text(error),
                     error_name(error));
}

/* Why it cannot be spawned any more: it, or one of its inputs, belongs to a scope that
 * has ended on every rank, or is a once task that was dropped; MOOT_OK: it can. */
static inline int refusal(const struct moot *m, const moot_hash *hash,
                          const struct task_facts *facts)
{
    int error = core_refusal(m->core, hash, facts->reg.inputs, facts->reg.input_count);
    const struct task *task = error != MOOT_OK ? core_user(m->core, hash) : NULL;
    return task != NULL && task->held ? MOOT_OK : error;
}

/* The thread is a lane of the protocol, and goes on. */
COLD static int begin_spawning(struct moot *m, struct lane *lane)
{
    int error = lane_enrol(m, lane);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, "no more than %u threads can spawn at a time",
                         LIMIT_LANES);
    }
    lane_set_state(m, lane, CORE_LANE_RUNNING);
    return MOOT_OK;
}

HOT inline int spawn_enter(struct moot *m, struct lane *lane,
                           const struct task_facts *facts, struct spawned *out)
{
    int error =
        facts->nested || lane_is_running(lane) ? MOOT_OK : begin_spawning(m, lane);
    if (error != MOOT_OK) {
        return error;
    }
    if (!facts->kernel->told) {
        outbox_tell_kernel(m, facts->kernel);
    }
    moot_hash hash = hash_of(facts);
    core_expect(m->core, &hash);
    if (core_any_leaving(m->core)) {
        window_wait_while_leaving(m, &hash, facts);
    }
    error = refusal(m, &hash, facts);
    if (error != MOOT_OK) {
        return explain(m, lane, &hash, facts->label, error);
    }
    struct task *task = task_enter_for(m, &hash, facts);
    uint64_t id = task != NULL ? task_handle_new(m, task, facts->parent) : 0;
    if (id == 0) {
        return explain(m, lane, &hash, facts->label, MOOT_ERR_NO_MEMORY);
    }
    *out = (struct spawned){.task = task, .id = id};
    return MOOT_OK;
}

void spawn_undo(struct moot *m, const struct spawned *spawned)
{
    struct handle *handle;
    if (handle_find(&m->handles, spawned->id, &handle) == MOOT_OK) {
        task_handle_end(m, handle);
    }
}

static inline int hold_or_explain(struct moot *m, struct lane *lane, struct task *task,
                                  struct task_facts *facts)
{
    int error = hold(m, task, facts, lane);
    if (error != MOOT_OK) {
        return explain(m, lane, &task->hash, facts->label, error);
    }
    if (!facts->nested) {
        lane->spawn_site = task_site(task);
    }
    return MOOT_OK;
}

inline int spawn_hold(struct moot *m, struct lane *lane, struct task_facts *facts,
                      const struct spawned *spawned)
{
    if (spawned->task->pending) {
        return MOOT_OK; /* it keeps the place that it has in a queue */
    }
    int error = hold_or_explain(m, lane, spawned->task, facts);
    if (error != MOOT_OK) {
        spawn_undo(m, spawned);
    }
    return error;
}

int spawn_filled(struct moot *m, struct lane *lane, struct task *task,
                 struct task_facts *facts)
{
    assert(task->pending);
    if (m->fatal != 0) {
        return lane_fail(lane, m->fatal, "%s", text_get(&m->fatal_story));
    }
    if (task->gone) {
        return explain(m, lane, &task->hash, facts->label, MOOT_ERR_SCOPE_CLOSED);
    }
    if (!spawn_input_room(lane, facts->reg.input_count)) {
        return explain(m, lane, &task->hash, facts->label, MOOT_ERR_NO_MEMORY);
    }
    for (size_t i = 0; i < facts->reg.input_count; i++) {
        lane->hashes[i] = facts->input_tasks[i]->hash;
    }
    facts->reg.inputs = lane->hashes;
    return hold_or_explain(m, lane, task, facts);
}

static void spawn_drive(struct moot *m)
{
    uint64_t driven_ns = atomic_load_explicit(&m->driven_ns, memory_order_relaxed);
    if (m->now_ns > driven_ns + SPAWN_DRIVE_NS) {
        progress_drive_free(m);
    }
}

void spawn_make_room(struct moot *m, struct lane *lane)
{
    spawn_drive(m);
    window_make_room(m, lane);
}

/* No queue is open. */
static int spawn_at_once(struct moot *m, struct lane *lane, struct task_facts *facts,
                         moot_task *out)
{
    struct spawned spawned = {.task = NULL};
    int error = spawn_enter(m, lane, facts, &spawned);
    assert(error != MOOT_OK || spawned.task != NULL);
    if (error == MOOT_OK) {
        error = spawn_hold(m, lane, facts, &spawned);
    }
    if (error == MOOT_OK) {
        out->id = spawned.id;
    }
    return error;
}

HOT int spawn_task(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                   const char *site, struct task *parent, moot_task *out)
{
    int error =
        parent == NULL ? spawn_check_open(m, lane) : spawn_judge_open(m, lane, parent);
    if (error == MOOT_OK && parent == NULL && lane->group != NULL) {
        error = group_reserve(m, lane);
    }
    if (error != MOOT_OK) {
        return error;
    }
    struct spawn spawn;
    error = spawn_check(m, lane, spec, site, parent, &spawn);
    if (error == MOOT_OK) {
        bool queued = (spec->flags & MOOT_TASK_NO_QUEUE) == 0;
        error = parent == NULL && lane->queues.entry == NULL
                    ? spawn_at_once(m, lane, &spawn.facts, out)
                    : queue_spawn(m, lane, queued, &spawn.facts, out);
    }
    if (spawn.candidates.high_words > 0) {
        rankset_release(&spawn.candidates);
    }
    if (parent == NULL && error == MOOT_OK) {
        if (lane->group != NULL) {
            group_add(m, lane, *out);
        }
        spawn_make_room(m, lane);
    } else {
        spawn_drive(m);
    }
    return error;
}

int spawn_hash(struct moot *m, struct lane *lane, const moot_task_spec *spec,
               moot_hash *out)
{
    struct spawn spawn;
    struct task *parent = lane->call != NULL ? lane->call->task : NULL;
    int error = spawn_check(m, lane, spec, NULL, parent, &spawn);
    if (error == MOOT_OK) {
        *out = hash_of(&spawn.facts);
    }
    rankset_release(&spawn.candidates);
    return error;
}

/* --- Adopting ------------------------------------------------------------------- */

static struct kernel *portable_kernel(struct moot *m, const struct message_spec *spec)
{
    struct kernel *kernel = kernel_find(&m->kernels, spec->kernel_name);
    bool usable = kernel != NULL && kernel->version == spec->kernel_version &&
                  !kernel->conflict && (kernel->flags & MOOT_KERNEL_PORTABLE);
    return usable ? kernel : NULL;
}

void spawn_adopt(struct moot *m, const struct message *motion)
{
    const struct message_spec *spec = motion->u.motion.spec;
    struct kernel *kernel = portable_kernel(m, spec);
    if (kernel == NULL || m->fatal != 0) {
        return;
    }
    struct task_facts facts = {.kernel = kernel,
                               .args = spec->args,
                               .args_size = spec->args_size,
                               .key = spec->key,
                               .key_size = spec->key_size,
                               .nested = (spec->flags & CORE_TASK_NESTED) != 0,
                               .priority = spec->priority,
                               .label = spec->label};
    facts.reg = (struct core_register){
        .scope = spec->scope,
        .parent = spec->parent,
        .flags = kernel->core_flags |
                 (spec->flags & (uint32_t)(CORE_TASK_NESTED | CORE_TASK_HINT)),
        .inputs = spec->inputs,
        .input_count = spec->input_count,
        .after_count = spec->after_count,
        .candidates = spec->candidates,
        .site = spec->site};
    moot_hash hash = hash_of(&facts);
    if (!hash_equal(&hash, &motion->hash)) {
        return; /* not the task that it says it is */
    }
    if (refusal(m, &hash, &facts) != MOOT_OK) {
        return;
    }
    struct task *task = task_enter(m, &hash);
    if (task != NULL && !task->held && !task->pending && task_fill(m, task, &facts)) {
        for (size_t i = 0; i < facts.reg.input_count; i++) {
            if (task_enter(m, &facts.reg.inputs[i]) == NULL) {
                return;
            }
        }
        if (facts.nested) { /* the kernel is portable: it has these */
            task->seldom->parent = core_user(m->core, &facts.reg.parent);
        }
        register_task(m, task, &facts, true);
    }
}
