/* spawn.c - see spawn.h. */
#include "node/spawn/spawn.h"

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "node/engine/engine.h"
#include "node/engine/outbox.h"
#include "node/engine/progress.h"
#include "node/explain/spawn_table.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/schedule/call_frame.h"
#include "node/schedule/priority.h"
#include "node/schedule/task_handle.h"
#include "node/schedule/verify.h"
#include "node/spawn/spawn_batch.h"
#include "node/spawn/spawn_check.h"
#include "node/spawn/window.h"
#include "node/tasks/handle.h"
#include "node/tasks/kernel.h"
#include "proto/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A rank that only spawns still answers its peers this often. */
enum { SPAWN_DRIVE_NS = 20000 };

moot_hash spawn_hash_of(const struct task_facts *facts)
{
    struct identity identity = spawn_identity(facts);
    const struct array_spread *array = facts->reg.array;
    if (array != NULL) {
        const struct identity_array said = {.count = array->count,
                                            .block = array->block,
                                            .spread = array->kind,
                                            .maps = facts->maps,
                                            .homes = facts->reg.homes,
                                            .bound = facts->reg.bound};
        identity.input_count = facts->reg.input_count; /* to the core they are after */
        identity.once = (facts->reg.flags & CORE_TASK_STRETCHES) != 0;
        identity.idempotent = false;
        return identity_array_hash(&identity, &said);
    }
    return identity_hash(&identity);
}

/* --- Registering ---------------------------------------------------------------- */

static void trace_held(struct moot *m, struct task *task,
                       const struct task_facts *facts, bool adopted)
{
    struct trace_spawned spawned = {.hash = task->hash,
                                    .site = task_site(task),
                                    .label = task_label(task),
                                    .parent = task_seldom(task)->parent,
                                    .number = &task->trace_number};
    trace_write_spawn(m, &spawned, facts, facts->reg.lane, adopted);
}

/* An end that was known before anything here had named the task. */
COLD static void observe_inputs(struct moot *m, const struct core_register *reg)
{
    for (size_t i = 0; i < reg->input_count; i++) {
        struct task *input = reg->input_entries != NULL
                                 ? reg->input_entries[i]
                                 : core_user(m->core, &reg->inputs[i]);
        if (input != NULL && !core_is_stub(input)) {
            observe_named(m, input);
        }
    }
}

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
    if (m->record.trace != NULL) {
        trace_held(m, task, facts, adopted);
    }
    uint64_t mark = 0;
    if (m->record.observe != NULL) {
        observe_inputs(m, reg);
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

/* The core's entries of the inputs, made of those that are known by hash alone.  If all
 * are to be records, each is looked up: a stub that becomes one may be several. */
static inline bool find_entries(struct moot *m, const struct task_facts *facts,
                                bool records, void **entries)
{
    const struct core_register *reg = &facts->reg;
    for (size_t i = 0; i < reg->input_count; i++) {
        struct task *known =
            facts->input_tasks != NULL && !records ? facts->input_tasks[i] : NULL;
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
    if (!task->let_go && !facts->grows) {
        return MOOT_OK;
    }
    task->let_go = false;
    payload_let_go(task->payload, false);
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
    payload_let_go(task->payload, false);
    if (!task->held && !task->pending && !task_fill(m, task, facts)) {
        return MOOT_ERR_NO_MEMORY;
    }
    bool urgent = task->priority > 0; /* perhaps by what takes it, before its spawn */
    if (!find_entries(m, facts, urgent, lane->entries)) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (urgent) {
        facts->input_tasks = NULL; /* those that were stubs are no more */
        priority_hand_down(m, task, lane->entries, facts->reg.input_count);
    }
    facts->reg.input_entries = lane->entries;
    int error = register_task(m, task, facts, false);
    if (error == MOOT_OK) {
        m->counts.spawned++;
        if (facts->reg.array == NULL) {
            verify_spawned(m, task);
        }
        if (m->explain.table != NULL) {
            spawn_table_add(m, &task->hash, facts);
        }
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
 * has ended on every rank, or is a once task that was dropped; or memory is short and
 * the program spawns it; MOOT_OK: it can. */
static inline int refusal(struct moot *m, const moot_hash *hash,
                          const struct task_facts *facts)
{
    bool is_short = core_is_short(m->core) || !pool_relieve(&m->store.pool);
    int error =
        is_short && !facts->nested
            ? MOOT_ERR_NO_MEMORY
            : core_refusal(m->core, hash, facts->reg.inputs, facts->reg.input_count);
    const struct task *task = error != MOOT_OK ? core_user(m->core, hash) : NULL;
    return task != NULL && task->held ? MOOT_OK : error;
}

/* The thread is a lane of the protocol, and goes on: with that stubs may become
 * records.
 */
COLD static int begin_spawning(struct moot *m, struct lane *lane,
                               const struct task_facts *facts)
{
    lane_forget_stubs(lane, facts->reg.input_count);
    int error = lane_enrol(m, lane);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, "no more than %u threads can spawn at a time",
                         LIMIT_LANES);
    }
    lane_set_state(m, lane, CORE_LANE_RUNNING);
    return MOOT_OK;
}

/* Its hash, once it may be spawned. */
HOT static inline int spawn_name(struct moot *m, struct lane *lane,
                                 const struct task_facts *facts, moot_hash *out)
{
    bool goes_on = facts->nested || lane_is_running(lane);
    int error = goes_on ? MOOT_OK : begin_spawning(m, lane, facts);
    if (error != MOOT_OK) {
        return error;
    }
    if (!facts->kernel->told) {
        outbox_tell_kernel(m, facts->kernel);
    }
    moot_hash hash = spawn_hash_of(facts);
    core_expect(m->core, &hash);
    if (core_any_leaving(m->core)) {
        window_wait_while_leaving(m, lane, &hash, facts);
    }
    *out = hash;
    error = refusal(m, &hash, facts);
    return error == MOOT_OK ? MOOT_OK : explain(m, lane, &hash, facts->label, error);
}

/* Its record, and a handle of it. */
static inline int make_record(struct moot *m, struct lane *lane, const moot_hash *hash,
                              const struct task_facts *facts, struct spawned *out)
{
    struct task *task = task_enter_for(m, hash, facts);
    uint64_t id = task != NULL ? task_handle_new(m, task, facts->parent) : 0;
    if (id == 0) {
        return explain(m, lane, hash, facts->label, MOOT_ERR_NO_MEMORY);
    }
    *out = (struct spawned){.task = task, .id = id};
    return MOOT_OK;
}

int spawn_enter(struct moot *m, struct lane *lane, const struct task_facts *facts,
                struct spawned *out)
{
    moot_hash hash;
    int error = spawn_name(m, lane, facts, &hash);
    return error == MOOT_OK ? make_record(m, lane, &hash, facts, out) : error;
}

/* --- Tasks that are all others' --------------------------------------------------- */

/* As far as the host goes. */
static inline bool is_plain(const struct moot *m, const struct task_facts *facts)
{
    return m->record.observe == NULL && m->knobs.verify_ppm == 0 &&
           facts->label == NULL && facts->priority == 0 && !facts->nested &&
           facts->queue_line <= STUB_QUEUE_LINE_MAX &&
           (facts->kernel->flags & MOOT_KERNEL_PORTABLE) == 0 &&
           facts->args_size <= STUB_ARGS_BYTES_MAX &&
           kernel_number(facts->kernel) <= UINT16_MAX;
}

/* What the core knows the inputs by; false: one is known by its hash alone. */
static inline bool find_known(const struct task_facts *facts, void **entries)
{
    for (size_t i = 0; i < facts->reg.input_count; i++) {
        const struct task *input = facts->input_tasks[i];
        entries[i] = input != NULL ? task_entry(input) : NULL;
        if (entries[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* NULL: it is to be a record. */
static inline void *prune(struct moot *m, const struct lane *lane,
                          const moot_hash *hash, struct task_facts *facts)
{
    const struct rankset *candidates = facts->reg.candidates;
    bool ours = candidates != NULL && rankset_has(candidates, m->group.rank);
    /* A group waits for all of its tasks. */
    if (ours || lane->group != NULL || !is_plain(m, facts) ||
        !find_known(facts, lane->entries)) {
        return NULL;
    }
    struct core_register *reg = &facts->reg;
    reg->lane = lane->number;
    reg->input_entries = lane->entries;
    reg->site = reg->site != NULL ? task_site_intern(m, reg->site) : NULL;
    reg->host_size = sizeof(struct task_stub) + facts->args_size +
                     (m->record.trace != NULL ? sizeof(uint32_t) : 0);
    return core_prune(m->core, hash, reg);
}

/* Puts its number in the trace there. */
static void trace_stub(struct moot *m, const moot_hash *hash,
                       const struct task_facts *facts, void *to)
{
    uint32_t number = 0;
    struct trace_spawned spawned = {
        .hash = *hash, .site = facts->reg.site, .number = &number};
    trace_write_spawn(m, &spawned, facts, facts->reg.lane, false);
    memcpy(to, &number, sizeof(number));
}

/* What is kept of it here.  The handle has it first: the stub may become a record with
 * the step that registers it. */
static inline void fill_stub(struct moot *m, struct lane *lane, const moot_hash *hash,
                             const struct task_facts *facts, uint64_t id, void *stub)
{
    struct task_stub *part = core_stub_host(stub);
    part->handle = id;
    part->number = ++m->counts.entered;
    part->kernel = (uint16_t)kernel_number(facts->kernel);
    part->args_size = facts->args_size & 0x1ffu;
    part->traced = m->record.trace != NULL;
    part->queue_line = facts->queue_line & 0x3fu;
    if (facts->args_size > 0) {
        memcpy(part + 1, facts->args, facts->args_size);
    }
    if (m->record.trace != NULL) {
        trace_stub(m, hash, facts, (char *)(part + 1) + facts->args_size);
    }
    handle_at(&m->tasks.handles, id)->task = stub;
    m->counts.spawned++;
    lane->spawn_site = facts->reg.site;
    if (m->explain.table != NULL) {
        spawn_table_add(m, hash, facts);
    }
}

/* False without memory. */
static bool take_args(struct moot *m, struct task *task, const void *args, size_t size)
{
    size_t bytes;
    void *room = core_entry_room(m->core, &task->entry, &bytes);
    bool fits = bytes >= size;
    task->args = size == 0 ? NULL : fits ? room : malloc(size);
    if (task->args == NULL) {
        return size == 0;
    }
    memcpy(task->args, args, size);
    task->args_size = (uint32_t)size;
    task->args_inside = fits;
    task->args_alone = !fits;
    return true;
}

COLD void spawn_expand(void *context, struct core *core, void *entry, const void *part)
{
    struct moot *m = context;
    struct task *task = entry;
    struct task_stub stub;
    (void)core;
    memcpy(&stub, part, sizeof(stub));
    m->spawn.unnamed.expanded++;
    task->entered = true;
    task->held = true;
    task->number = stub.number;
    task->trace_number = task_stub_trace_number(part);
    task->kernel = m->tasks.kernels.items[stub.kernel];
    task->queue_line = stub.queue_line;
    task->let_go = stub.handle == 0;
    if (stub.handle != 0) {
        handle_at(&m->tasks.handles, stub.handle)->task = task;
        task->handle_count = 1;
    }
    if (!take_args(m, task, (const char *)part + sizeof(stub), stub.args_size)) {
        engine_starve(m, "no memory for a task's arguments");
    }
}

HOT int spawn_register_stubs(struct moot *m, struct spawn_stubs *stubs)
{
    struct core_event event; /* the rest of it is of others */
    if (stubs->count == 0) {
        return MOOT_OK;
    }
    event.type = CORE_EV_PRUNED;
    event.u.pruned.stubs = stubs->all;
    event.u.pruned.count = stubs->count;
    stubs->count = 0;
    return engine_step(m, &event);
}

void spawn_undo(struct moot *m, const struct spawned *spawned)
{
    struct handle *handle;
    if (handle_find(&m->tasks.handles, spawned->id, &handle) == MOOT_OK) {
        task_handle_end(m, handle);
    }
}

/* What a report will say that the thread spawned last. */
static inline int hold_as_last(struct moot *m, struct lane *lane, struct task *task,
                               struct task_facts *facts)
{
    int error = hold(m, task, facts, lane);
    if (error == MOOT_OK && !facts->nested) {
        lane->spawn_site = task_site(task);
    }
    return error;
}

static inline int hold_or_explain(struct moot *m, struct lane *lane, struct task *task,
                                  struct task_facts *facts)
{
    int error = hold_as_last(m, lane, task, facts);
    return error == MOOT_OK ? MOOT_OK
                            : explain(m, lane, &task->hash, facts->label, error);
}

HOT int spawn_named(struct moot *m, struct lane *lane, const moot_hash *hash,
                    struct task_facts *facts, uint64_t id, struct spawn_stubs *stubs)
{
    void *stub = prune(m, lane, hash, facts);
    if (stub != NULL) {
        fill_stub(m, lane, hash, facts, id, stub);
        stubs->all[stubs->count++] = stub;
        return MOOT_OK;
    }
    int error = spawn_register_stubs(m, stubs);
    struct task *task = error == MOOT_OK ? task_enter_for(m, hash, facts) : NULL;
    if (task == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    task_handle_give(m, id, task);
    return task->pending ? MOOT_OK /* it keeps the place that it has in a queue */
                         : hold_as_last(m, lane, task, facts);
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
    if (m->engine.fatal != 0) {
        return lane_fail(lane, m->engine.fatal, "%s", text_get(&m->engine.fatal_story));
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

void spawn_drive(struct moot *m)
{
    uint64_t driven_ns =
        atomic_load_explicit(&m->engine.driven_ns, memory_order_relaxed);
    if (m->now_ns > driven_ns + SPAWN_DRIVE_NS) {
        progress_drive_free(m);
    }
}

void spawn_make_room(struct moot *m, struct lane *lane)
{
    spawn_drive(m);
    window_make_room(m, lane);
}

/* Else one is looked up by its hash, and it may be given as a stub, too. */
static inline bool knows_inputs(const struct task_facts *facts)
{
    bool all = true;
    for (size_t i = 0; i < facts->reg.input_count; i++) {
        all &= facts->input_tasks[i] != NULL;
    }
    return all;
}

int spawn_at_once(struct moot *m, struct lane *lane, struct task_facts *facts,
                  moot_task *out)
{
    moot_hash hash;
    int error = spawn_name(m, lane, facts, &hash);
    if (error != MOOT_OK) {
        return error;
    }
    if (!knows_inputs(facts)) {
        lane_forget_stubs(lane, facts->reg.input_count);
    }
    uint64_t id = handle_new(&m->tasks.handles, UNNAMED_TASK, NULL);
    struct spawn_stubs stubs = {.count = 0};
    error =
        id != 0 ? spawn_named(m, lane, &hash, facts, id, &stubs) : MOOT_ERR_NO_MEMORY;
    error = error == MOOT_OK ? spawn_register_stubs(m, &stubs) : error;
    if (error != MOOT_OK) {
        spawn_undo(m, &(struct spawned){.id = id});
        return explain(m, lane, &hash, facts->label, error);
    }
    out->id = id;
    return MOOT_OK;
}

int spawn_hash(struct moot *m, struct lane *lane, const moot_task_spec *spec,
               moot_hash *out)
{
    struct spawn spawn;
    struct task *parent = lane->call != NULL ? lane->call->task : NULL;
    int error = spawn_check(m, lane, spec, NULL, parent, &spawn);
    if (error == MOOT_OK) {
        *out = spawn_hash_of(&spawn.facts);
    }
    rankset_release(&spawn.candidates);
    return error;
}

/* --- Adopting ------------------------------------------------------------------- */

int spawn_take_in(struct moot *m, struct task *task, struct task_facts *facts)
{
    if (task->held || task->pending) {
        return MOOT_OK;
    }
    if (!task_fill(m, task, facts)) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (facts->nested) { /* the kernel is portable: it has these */
        task->seldom->parent = core_user(m->core, &facts->reg.parent);
    }
    return register_task(m, task, facts, true);
}

struct kernel *spawn_portable_kernel(struct moot *m, const struct message_spec *spec)
{
    struct kernel *kernel = kernel_find(&m->tasks.kernels, spec->kernel_name);
    bool usable = kernel != NULL && !kernel->conflict &&
                  (kernel->flags & MOOT_KERNEL_PORTABLE) != 0;
    return usable ? kernel : NULL;
}

void spawn_adopt(struct moot *m, const struct message *motion)
{
    const struct message_spec *spec = motion->u.motion.spec;
    struct kernel *kernel = spawn_portable_kernel(m, spec);
    if (kernel == NULL || m->engine.fatal != 0) {
        return;
    }
    struct task_facts facts = {
        .kernel = kernel,
        .args = spec->args,
        .args_size = spec->args_size,
        .key = spec->key,
        .key_size = spec->key_size,
        .nested = (spec->flags & CORE_TASK_NESTED) != 0,
        .priority = spec->priority,
        .place = spec->flags & CORE_TASK_BESIDE ? hash_place(&motion->hash) : 0,
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
    moot_hash hash = spawn_hash_of(&facts);
    if (!hash_equal(&hash, &motion->hash)) {
        return; /* not the task that it says it is */
    }
    struct task *task = task_enter(m, &hash);
    if (task == NULL) {
        return;
    }
    for (size_t i = 0; i < facts.reg.input_count; i++) {
        if (task_enter(m, &facts.reg.inputs[i]) == NULL) {
            return;
        }
    }
    spawn_take_in(m, task, &facts);
}
