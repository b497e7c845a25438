/* spawn.c - see spawn.h. */
#include "spawn.h"

#include "hashing/identity.h"
#include "node/call.h"
#include "node/engine.h"
#include "node/group.h"
#include "node/observe.h"
#include "node/outbox.h"
#include "node/priority.h"
#include "node/progress.h"
#include "node/queue.h"
#include "node/story.h"
#include "node/task_handle.h"
#include "node/trace.h"
#include "node/verify.h"
#include "node/window.h"
#include "proto/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A rank that only spawns still answers its peers this often. */
enum { SPAWN_DRIVE_NS = 200000 };

/* The facts of a spec, and what they borrow. */
struct spawn {
    struct task_facts facts;
    struct rankset candidates; /* released by the end of the call */
};

/* --- Checking ------------------------------------------------------------------- */

static int check_open(struct moot *m, struct lane *lane, const struct task *parent)
{
    if (m->fatal != 0) {
        return lane_fail(lane, m->fatal, "%s", text_get(&m->fatal_story));
    }
    if (observe_is_telling(lane)) {
        return lane_fail(lane, MOOT_ERR_STATE, "a watch's function may not spawn");
    }
    if (parent == NULL && m->closing) {
        return lane_fail(lane, MOOT_ERR_CLOSED, "this context is closing");
    }
    if (parent == NULL && lane->call != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "inside a kernel, moot_call_spawn() is the call to use");
    }
    if (parent == NULL && lane->parked) {
        return lane_fail(lane, MOOT_ERR_STATE, "this thread is parked");
    }
    return MOOT_OK;
}

static int check_kernel(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                        struct kernel **out)
{
    uint32_t number = 0;
    int error = handle_find_kernel(&m->handles, spec->kernel.id, &number);
    if (error == MOOT_OK && number >= m->kernels.count) {
        error = MOOT_ERR_UNKNOWN_KERNEL;
    }
    if (error != MOOT_OK) {
        return lane_fail(lane, error, ".kernel: %s", error_text(error));
    }
    *out = m->kernels.items[number];
    if ((*out)->conflict) {
        text_clear(&lane->error);
        story_of_conflict(&lane->error, m, *out);
        return MOOT_ERR_KERNEL_MISMATCH;
    }
    return MOOT_OK;
}

static int check_sizes(struct lane *lane, const moot_task_spec *spec)
{
    if ((spec->args == NULL && spec->args_size > 0) ||
        (spec->key == NULL && spec->key_size > 0) ||
        (spec->inputs == NULL && spec->input_count > 0) ||
        (spec->input_hashes == NULL && spec->input_hash_count > 0) ||
        (spec->after == NULL && spec->after_count > 0)) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "a field of the spec is NULL and its size or count is not 0");
    }
    if (spec->args_size > LIMIT_ARGS_BYTES) {
        return lane_fail(lane, MOOT_ERR_LIMIT, ".args_size is %zu, above %u",
                         spec->args_size, LIMIT_ARGS_BYTES);
    }
    if (spec->key_size > LIMIT_KEY_BYTES) {
        return lane_fail(lane, MOOT_ERR_LIMIT, ".key_size is %zu, above %u",
                         spec->key_size, LIMIT_KEY_BYTES);
    }
    if (spec->input_count > LIMIT_INPUTS || spec->input_hash_count > LIMIT_INPUTS ||
        spec->after_count > LIMIT_INPUTS ||
        spec->input_count + spec->input_hash_count + spec->after_count > LIMIT_INPUTS) {
        return lane_fail(lane, MOOT_ERR_LIMIT, "more than %u inputs and after together",
                         LIMIT_INPUTS);
    }
    const uint32_t known = MOOT_TASK_CONDITIONAL | MOOT_TASK_NO_QUEUE;
    if ((spec->flags & ~known) != 0) {
        return lane_fail(lane, MOOT_ERR_INVALID, ".flags has unknown bits: %#x",
                         spec->flags);
    }
    return MOOT_OK;
}

static int add_handles(struct moot *m, struct lane *lane, const char *field,
                       const moot_task *tasks, size_t count, size_t *at)
{
    for (size_t i = 0; i < count; i++) {
        struct handle *handle;
        int error = handle_find(&m->handles, tasks[i].id, &handle);
        if (error != MOOT_OK) {
            return lane_fail(lane, error, ".%s[%zu]: %s", field, i, error_text(error));
        }
        lane->inputs[*at] = handle->task;
        lane->hashes[(*at)++] = handle->task->hash;
    }
    return MOOT_OK;
}

bool spawn_input_room(struct lane *lane, size_t count)
{
    if (count <= lane->input_room) {
        return true;
    }
    size_t room = count < 64 ? 64 : count;
    moot_hash *hashes = realloc(lane->hashes, room * sizeof(*hashes));
    lane->hashes = hashes != NULL ? hashes : lane->hashes;
    struct task **inputs = realloc(lane->inputs, room * sizeof(struct task *));
    lane->inputs = inputs != NULL ? inputs : lane->inputs;
    void **entries = realloc(lane->entries, room * sizeof(*entries));
    lane->entries = entries != NULL ? entries : lane->entries;
    if (hashes == NULL || inputs == NULL || entries == NULL) {
        return false;
    }
    lane->input_room = room;
    return true;
}

/* Data inputs by handle, data inputs by hash, then order only. */
static int check_inputs(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                        struct task_facts *facts)
{
    size_t total = spec->input_count + spec->input_hash_count + spec->after_count;
    if (!spawn_input_room(lane, total)) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for the inputs");
    }
    size_t at = 0;
    int error = add_handles(m, lane, "inputs", spec->inputs, spec->input_count, &at);
    for (size_t i = 0; error == MOOT_OK && i < spec->input_hash_count; i++) {
        if (hash_is_zero(&spec->input_hashes[i])) {
            return lane_fail(lane, MOOT_ERR_INVALID,
                             "input_hashes[%zu]: the hash is zero, which no task has",
                             i);
        }
        lane->inputs[at] = NULL;
        lane->hashes[at++] = spec->input_hashes[i];
    }
    if (error == MOOT_OK) {
        error = add_handles(m, lane, "after", spec->after, spec->after_count, &at);
    }
    facts->inputs = lane->hashes;
    facts->input_tasks = lane->inputs;
    facts->input_count = total;
    facts->after_count = spec->after_count;
    return error;
}

static int add_candidate(struct moot *m, struct lane *lane, struct spawn *spawn,
                         const char *field, int rank)
{
    if (rank < 0 || (uint32_t)rank >= m->group.size) {
        return lane_fail(lane, MOOT_ERR_INVALID, ".%s: rank %d is not one of 0..%u",
                         field, rank, m->group.size - 1);
    }
    if (!rankset_add(&spawn->candidates, (uint32_t)rank)) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for the candidates");
    }
    return MOOT_OK;
}

static int check_candidates(struct moot *m, struct lane *lane,
                            const moot_task_spec *spec, struct spawn *spawn)
{
    const moot_ranks *ranks = &spec->candidates;
    bool owner = spec->owner.rank_plus_one != 0;
    if (!owner && ranks->ranks == NULL && ranks->count == 0) {
        return MOOT_OK;
    }
    spawn->facts.candidates = &spawn->candidates;
    if (owner && (ranks->ranks != NULL || ranks->count > 0)) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".owner and .candidates are both given");
    }
    if (owner) {
        return add_candidate(m, lane, spawn, "owner", spec->owner.rank_plus_one - 1);
    }
    if (ranks->ranks == NULL || ranks->count == 0) {
        return lane_fail(lane, MOOT_ERR_INVALID, ".candidates is an empty set");
    }
    if (ranks->count > LIMIT_RANKS) {
        return lane_fail(lane, MOOT_ERR_LIMIT, ".candidates has more than %u entries",
                         LIMIT_RANKS);
    }
    int error = MOOT_OK;
    for (size_t i = 0; error == MOOT_OK && i < ranks->count; i++) {
        error = add_candidate(m, lane, spawn, "candidates", ranks->ranks[i]);
    }
    return error;
}

/* Checks a spec and turns it into facts.  Release the candidates whatever it returns.
 */
static int check_spec(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                      const char *site, struct task *parent, struct spawn *spawn)
{
    struct task_facts *facts = &spawn->facts;
    int error = check_kernel(m, lane, spec, &facts->kernel);
    if (error == MOOT_OK) {
        error = check_sizes(lane, spec);
    }
    if (error == MOOT_OK) {
        error = check_inputs(m, lane, spec, facts);
    }
    if (error == MOOT_OK) {
        error = check_candidates(m, lane, spec, spawn);
    }
    if (error != MOOT_OK) {
        return error;
    }
    assert(facts->kernel != NULL);
    if ((facts->kernel->flags & MOOT_KERNEL_ONCE) && spec->key == NULL) {
        return lane_fail(lane, MOOT_ERR_NO_KEY,
                         "kernel '%s' is once: each of its tasks needs a .key",
                         facts->kernel->name);
    }
    facts->args = spec->args;
    facts->args_size = spec->args_size;
    facts->key = spec->key;
    facts->key_size = spec->key_size;
    facts->nested = parent != NULL;
    facts->parent = parent;
    facts->parent_hash = parent != NULL ? parent->hash : (moot_hash){0};
    facts->scope = parent != NULL ? parent->hash : lane_scope(lane);
    facts->hint = (spec->flags & MOOT_TASK_CONDITIONAL) != 0;
    facts->priority = spec->priority;
    facts->label = spec->label;
    facts->site = site;
    return MOOT_OK;
}

static moot_hash hash_of(const struct task_facts *facts)
{
    struct identity identity = {.kernel_name = facts->kernel->name,
                                .kernel_version = facts->kernel->version,
                                .args = facts->args,
                                .args_size = facts->args_size,
                                .inputs = facts->inputs,
                                .input_count = facts->input_count - facts->after_count,
                                .key = facts->key,
                                .key_size = facts->key_size,
                                .once = (facts->kernel->flags & MOOT_KERNEL_ONCE) != 0,
                                .nested = facts->nested,
                                .candidates = facts->candidates,
                                .scope = facts->scope};
    return identity_hash(&identity);
}

/* --- Registering ---------------------------------------------------------------- */

static uint32_t core_flags(const struct task_facts *facts)
{
    uint32_t kernel = facts->kernel->flags;
    return ((kernel & MOOT_KERNEL_ONCE) ? CORE_TASK_ONCE : 0u) |
           ((kernel & MOOT_KERNEL_IDEMPOTENT) ? CORE_TASK_IDEMPOTENT : 0u) |
           ((kernel & MOOT_KERNEL_PORTABLE) ? CORE_TASK_PORTABLE : 0u) |
           ((kernel & MOOT_KERNEL_NONDETERMINISTIC) ? CORE_TASK_NONDETERMINISTIC : 0u) |
           (facts->nested ? CORE_TASK_NESTED : 0u) |
           (facts->hint ? CORE_TASK_HINT : 0u);
}

/* `entries`: room for the core's entries of the inputs, or NULL. */
static int register_task(struct moot *m, struct task *task,
                         const struct task_facts *facts, uint32_t lane, void **entries,
                         bool adopted)
{
    struct core_event event = {
        .type = CORE_EV_REGISTER, .hash = task->hash, .entry = task->entry};
    for (uint32_t i = 0; entries != NULL && i < task->input_count; i++) {
        entries[i] = task->inputs[i]->entry;
    }
    event.u.reg = (struct core_register){.scope = facts->scope,
                                         .parent = facts->parent_hash,
                                         .lane = lane,
                                         .flags = core_flags(facts) |
                                                  (adopted ? CORE_TASK_ADOPTED : 0u),
                                         .inputs = facts->inputs,
                                         .input_entries = entries,
                                         .input_count = facts->input_count,
                                         .after_count = facts->after_count,
                                         .candidates = facts->candidates,
                                         .spec = task->spec,
                                         .site = task->site,
                                         .user = task};
    bool held = task->held, was_adopted = task->adopted;
    task->held = true; /* the core's answer may run it at once */
    task->adopted = adopted;
    trace_spawn(m, task, facts, lane, adopted);
    uint64_t mark = observe_mark(m);
    if (!held || was_adopted) {
        observe_event(m, MOOT_EVENT_SPAWNED, task, -1, NULL);
        observe_spawned_late(m, task);
    }
    int error = engine_step(m, &event);
    if (error != MOOT_OK) {
        observe_retract(m, mark);
        task->held = held;
        task->adopted = was_adopted;
    }
    return error;
}

/* Registers the task unless this rank holds it.  A program that spawns what it had
 * adopted puts it on its roll now. */
static int hold(struct moot *m, struct task *task, const struct task_facts *facts,
                const struct lane *lane)
{
    bool taken = task->held && (!task->adopted || facts->nested);
    if (taken) {
        priority_raise(m, task, facts->priority);
    }
    if (taken && !task->let_go) {
        return MOOT_OK;
    }
    task->let_go = false;
    if (taken) {
        return register_task(m, task, facts, lane->number, NULL, false);
    }
    if (!task->held && !task->pending && !task_fill(m, task, facts)) {
        return MOOT_ERR_NO_MEMORY;
    }
    priority_hand_down(m, task);
    int error = register_task(m, task, facts, lane->number, lane->entries, false);
    m->counts.spawned += error == MOOT_OK;
    if (error == MOOT_OK) {
        verify_spawned(m, task);
    }
    return error;
}

static int explain(struct moot *m, struct lane *lane, const moot_hash *hash,
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
static int refusal(const struct moot *m, const moot_hash *hash,
                   const struct task_facts *facts)
{
    const struct task *task = core_user(m->core, hash);
    if (task != NULL && task->held) {
        return MOOT_OK;
    }
    bool forgotten = core_forgotten(m->core, hash), lost = core_lost(m->core, hash);
    for (size_t i = 0; i < facts->input_count && !forgotten && !lost; i++) {
        forgotten = core_forgotten(m->core, &facts->inputs[i]);
        lost = core_lost(m->core, &facts->inputs[i]);
    }
    return forgotten ? MOOT_ERR_SCOPE_CLOSED : lost ? MOOT_ERR_RESULT_LOST : MOOT_OK;
}

int spawn_enter(struct moot *m, struct lane *lane, const struct task_facts *facts,
                struct spawned *out)
{
    int error = facts->nested ? MOOT_OK : lane_enrol(m, lane);
    if (error != MOOT_OK) {
        return lane_fail(lane, error, "no more than %u threads can spawn at a time",
                         LIMIT_LANES);
    }
    if (!facts->nested) {
        lane_set_state(m, lane, CORE_LANE_RUNNING);
    }
    if (!facts->kernel->told) {
        outbox_tell_kernel(m, facts->kernel);
    }
    moot_hash hash = hash_of(facts);
    window_wait_while_leaving(m, &hash, facts);
    error = refusal(m, &hash, facts);
    if (error != MOOT_OK) {
        return explain(m, lane, &hash, facts->label, error);
    }
    struct task *task = task_enter(m, &hash);
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

static int hold_or_explain(struct moot *m, struct lane *lane, struct task *task,
                           const struct task_facts *facts)
{
    int error = hold(m, task, facts, lane);
    if (error != MOOT_OK) {
        return explain(m, lane, &task->hash, facts->label, error);
    }
    if (!facts->nested) {
        lane->spawn_site = task->site;
    }
    return MOOT_OK;
}

int spawn_hold(struct moot *m, struct lane *lane, const struct task_facts *facts,
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
    if (!spawn_input_room(lane, task->input_count)) {
        return explain(m, lane, &task->hash, facts->label, MOOT_ERR_NO_MEMORY);
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        lane->hashes[i] = task->inputs[i]->hash;
    }
    facts->inputs = lane->hashes;
    facts->input_tasks = task->inputs;
    facts->input_count = task->input_count;
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

int spawn_task(struct moot *m, struct lane *lane, const moot_task_spec *spec,
               const char *site, struct task *parent, moot_task *out)
{
    int error = check_open(m, lane, parent);
    if (error == MOOT_OK && parent == NULL) {
        error = group_reserve(m, lane);
    }
    if (error != MOOT_OK) {
        return error;
    }
    struct spawn spawn = {0};
    error = check_spec(m, lane, spec, site, parent, &spawn);
    if (error == MOOT_OK) {
        bool queued = (spec->flags & MOOT_TASK_NO_QUEUE) == 0;
        error = queue_spawn(m, lane, queued, &spawn.facts, out);
    }
    rankset_release(&spawn.candidates);
    if (parent == NULL && error == MOOT_OK) {
        group_add(m, lane, *out);
        spawn_make_room(m, lane);
    } else {
        spawn_drive(m);
    }
    return error;
}

int spawn_hash(struct moot *m, struct lane *lane, const moot_task_spec *spec,
               moot_hash *out)
{
    struct spawn spawn = {0};
    struct task *parent = lane->call != NULL ? lane->call->task : NULL;
    int error = check_spec(m, lane, spec, NULL, parent, &spawn);
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
                               .inputs = spec->inputs,
                               .input_count = spec->input_count,
                               .after_count = spec->after_count,
                               .key = spec->key,
                               .key_size = spec->key_size,
                               .candidates = spec->candidates,
                               .scope = spec->scope,
                               .parent_hash = spec->parent,
                               .nested = (spec->flags & CORE_TASK_NESTED) != 0,
                               .hint = (spec->flags & CORE_TASK_HINT) != 0,
                               .priority = spec->priority,
                               .label = spec->label,
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
        if (facts.nested) {
            task->parent = core_user(m->core, &facts.parent_hash);
        }
        register_task(m, task, &facts, 0, NULL, true);
    }
}
