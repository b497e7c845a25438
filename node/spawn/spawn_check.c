/* spawn_check.c - see spawn_check.h. */
#include "node/spawn/spawn_check.h"

#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "node/engine/engine.h"
#include "node/engine/lane.h"
#include "node/record/task_watch.h"
#include "node/session/session.h"
#include "node/spawn/spawn_batch.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/handle.h"
#include "proto/error.h"

#include <assert.h>
#include <stdlib.h>

int spawn_judge_open(struct moot *m, struct lane *lane, const struct task *parent)
{
    if (m->engine.fatal != 0) {
        return lane_fail(lane, m->engine.fatal, "%s", text_get(&m->engine.fatal_story));
    }
    if (observe_is_telling(lane)) {
        return lane_fail(lane, MOOT_ERR_STATE, "a watch's function may not spawn");
    }
    if (parent == NULL && m->engine.closing) {
        return lane_fail(lane, MOOT_ERR_CLOSED, "%s", engine_closed_why(m));
    }
    if (parent == NULL && lane->call != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "inside a kernel, moot_call_spawn() is the call to use");
    }
    if (parent == NULL && lane->parked) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "this thread is parked: moot_unpark() it first");
    }
    return MOOT_OK;
}

enum { WORD_RANKS = 64 }; /* in a set's own word, which needs no memory */

static int check_kernel(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                        struct kernel **out)
{
    uint32_t number = 0;
    int error = handle_find_kernel(&m->tasks.handles, spec->kernel.id, &number);
    if (error == MOOT_OK && number >= m->tasks.kernels.count) {
        error = MOOT_ERR_UNKNOWN_KERNEL;
    }
    if (error != MOOT_OK) {
        return lane_fail(
            lane, error, ".kernel %s",
            spec->kernel.id == 0
                ? "is zero: the kernel is not registered on this rank: "
                  "moot_kernel_register() it on every rank first"
            : error == MOOT_ERR_UNKNOWN_KERNEL
                ? "is no kernel's handle: the kernel is not registered on this rank: "
                  "moot_kernel_register() it on every rank first"
                : handle_why(error));
    }
    *out = m->tasks.kernels.items[number];
    if ((*out)->conflict) {
        text_clear(&lane->error);
        story_of_conflict(&lane->error, m, *out);
        return MOOT_ERR_KERNEL_MISMATCH;
    }
    return MOOT_OK;
}

COLD static int refuse_sizes(struct lane *lane, const moot_task_spec *spec)
{
    if (spec->args_size > LIMIT_ARGS_BYTES) {
        return lane_fail(lane, MOOT_ERR_LIMIT, ".args_size is %zu, above %u",
                         spec->args_size, LIMIT_ARGS_BYTES);
    }
    if (spec->key_size > LIMIT_KEY_BYTES) {
        return lane_fail(lane, MOOT_ERR_LIMIT, ".key_size is %zu, above %u",
                         spec->key_size, LIMIT_KEY_BYTES);
    }
    return lane_fail(lane, MOOT_ERR_LIMIT, "more than %u inputs and after together",
                     LIMIT_INPUTS);
}

static bool lacks(const void *field, size_t size) { return field == NULL && size > 0; }

COLD static int refuse_missing(struct lane *lane, const moot_task_spec *spec)
{
    const char *field = lacks(spec->args, spec->args_size)       ? "args"
                        : lacks(spec->inputs, spec->input_count) ? "inputs"
                        : lacks(spec->key, spec->key_size)       ? "key"
                        : lacks(spec->after, spec->after_count)  ? "after"
                                                                 : "input_hashes";
    return lane_fail(lane, MOOT_ERR_INVALID,
                     ".%s is NULL, and its size or count is not 0", field);
}

/* What few specs have besides. */
COLD static int check_rest(struct lane *lane, const moot_task_spec *spec)
{
    if (lacks(spec->key, spec->key_size) ||
        lacks(spec->input_hashes, spec->input_hash_count) ||
        lacks(spec->after, spec->after_count)) {
        return refuse_missing(lane, spec);
    }
    if (spec->key_size > LIMIT_KEY_BYTES || spec->input_hash_count > LIMIT_INPUTS ||
        spec->after_count > LIMIT_INPUTS ||
        spec->input_count + spec->input_hash_count + spec->after_count > LIMIT_INPUTS) {
        return refuse_sizes(lane, spec);
    }
    const uint32_t known = MOOT_TASK_CONDITIONAL | MOOT_TASK_NO_QUEUE;
    if ((spec->flags & ~known) != 0) {
        return lane_fail(lane, MOOT_ERR_INVALID, ".flags has unknown bits: %#x",
                         spec->flags);
    }
    return MOOT_OK;
}

/* Arguments, inputs and an owner at most: no more is to be looked at. */
static bool is_plain(const moot_task_spec *spec)
{
    uintptr_t fields = (uintptr_t)spec->key | (uintptr_t)spec->input_hashes |
                       (uintptr_t)spec->after | (uintptr_t)spec->candidates.ranks |
                       (uintptr_t)spec->pset;
    return (fields | spec->beside.id | spec->key_size | spec->input_hash_count |
            spec->after_count | spec->candidates.count | spec->flags) == 0;
}

static int check_sizes(struct lane *lane, const moot_task_spec *spec, bool plain)
{
    if (lacks(spec->args, spec->args_size) || lacks(spec->inputs, spec->input_count)) {
        return refuse_missing(lane, spec);
    }
    if (spec->args_size > LIMIT_ARGS_BYTES || spec->input_count > LIMIT_INPUTS) {
        return refuse_sizes(lane, spec);
    }
    return plain ? MOOT_OK : check_rest(lane, spec);
}

COLD static int refuse_array(struct lane *lane, const char *field, size_t i)
{
    return lane_fail(lane, MOOT_ERR_INVALID,
                     ".%s[%zu] is an array's handle, and an array has no data of its "
                     "own: take its elements by moot_array_at(), combine them by "
                     "moot_array_reduce(), spawn an array with an input, or, for the "
                     "order alone, name it in .after",
                     field, i);
}

static inline int add_handles(struct moot *m, struct lane *lane, const char *field,
                              bool data, const moot_task *tasks, size_t count,
                              size_t *at)
{
    for (size_t i = 0; i < count; i++) {
        struct handle *handle;
        int error = handle_find(&m->tasks.handles, tasks[i].id, &handle);
        if (error == MOOT_OK && handle->task == UNNAMED_TASK) {
            error = MOOT_ERR_NO_MEMORY; /* there was none for it */
        }
        if (error == MOOT_OK && !core_is_stub(handle->task) && handle->task->undone) {
            /* By a reload: the hash is another task's now. */
            error = MOOT_ERR_CANCELLED;
        }
        if (error != MOOT_OK) {
            return lane_fail(lane, error, ".%s[%zu]: %s", field, i, error_text(error));
        }
        if (data && hash_has(&handle->task->hash, MOOT_HASH_ARRAY)) {
            return refuse_array(lane, field, i);
        }
        lane->inputs[*at] = handle->task;
        lane->hashes[(*at)++] = handle->task->hash;
    }
    return MOOT_OK;
}

HOT bool spawn_input_room(struct lane *lane, size_t count)
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

/* Into the lane's scratch: data inputs by handle, data inputs by hash, then order only.
 */
static int check_inputs(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                        bool plain)
{
    size_t total = spec->input_count + spec->input_hash_count + spec->after_count;
    if (!spawn_input_room(lane, total)) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for the inputs");
    }
    size_t at = 0;
    int error =
        add_handles(m, lane, "inputs", true, spec->inputs, spec->input_count, &at);
    if (plain) {
        return error;
    }
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
        error =
            add_handles(m, lane, "after", false, spec->after, spec->after_count, &at);
    }
    return error;
}

/* The hash of the task that a handle of the program is on. */
static int find_beside(struct moot *m, struct lane *lane, moot_task beside,
                       moot_hash *out)
{
    struct handle *handle;
    int error = handle_find(&m->tasks.handles, beside.id, &handle);
    if (error == MOOT_OK && handle->task == UNNAMED_TASK) {
        error = MOOT_ERR_NO_MEMORY; /* there was none for it */
    }
    if (error == MOOT_OK && !core_is_stub(handle->task) && handle->task->undone) {
        error = MOOT_ERR_CANCELLED; /* by a reload */
    }
    if (error != MOOT_OK) {
        return lane_fail(lane, error, ".beside: %s", error_text(error));
    }
    *out = handle->task->hash;
    return MOOT_OK;
}

/* The candidates of the other are this task's, too: else it had another chair. */
static int copy_candidates(struct moot *m, struct lane *lane, const moot_hash *other,
                           struct spawn *spawn)
{
    struct core_task_view view;
    bool known = core_task_look(m->core, other, &view);
    bool kept = true;
    if (known && view.candidates != NULL) {
        spawn->facts.reg.candidates = &spawn->candidates;
        kept = rankset_copy(&spawn->candidates, view.candidates);
    }
    if (known) {
        core_task_view_release(&view);
    }
    if (!kept) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for the candidates");
    }
    if (spawn->facts.reg.candidates == NULL) {
        return lane_fail(
            lane, MOOT_ERR_INVALID,
            ".beside: this rank does not know the candidates of that task; "
            "spawn it here first, or name the same .owner or .candidates "
            "in place of .beside");
    }
    return MOOT_OK;
}

COLD static int check_beside(struct moot *m, struct lane *lane,
                             const moot_task_spec *spec, struct spawn *spawn)
{
    if (spec->owner.rank_plus_one != 0 || spec->candidates.ranks != NULL ||
        spec->candidates.count > 0 || spec->pset != NULL) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".beside is given together with .owner, .candidates or .pset; "
                         "that task's candidates are this one's, too");
    }
    moot_hash hash;
    int error = find_beside(m, lane, spec->beside, &hash);
    if (error != MOOT_OK) {
        return error;
    }
    spawn->facts.place = hash_place(&hash);
    return hash_has(&hash, MOOT_HASH_CANDIDATES)
               ? copy_candidates(m, lane, &hash, spawn)
               : MOOT_OK;
}

static int add_candidate(struct moot *m, struct lane *lane, struct rankset *out,
                         const char *field, int rank)
{
    if (rank < 0 || (uint32_t)rank >= m->session.size) {
        return lane_fail(lane, MOOT_ERR_INVALID, ".%s: rank %d is not one of 0..%u",
                         field, rank, m->session.size - 1);
    }
    if (!rankset_add(out, session_member(m, (uint32_t)rank))) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for the candidates");
    }
    return MOOT_OK;
}

static int check_owner(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                       struct spawn *spawn)
{
    int rank = spec->owner.rank_plus_one - 1;
    if (rank < 0 || rank >= WORD_RANKS || (uint32_t)rank >= m->session.size ||
        m->session.members != NULL) {
        return add_candidate(m, lane, &spawn->candidates, "owner", rank);
    }
    spawn->candidates.low = UINT64_C(1) << rank;
    return MOOT_OK;
}

COLD static int check_candidates(struct moot *m, struct lane *lane,
                                 const moot_task_spec *spec, struct rankset *out)
{
    const moot_ranks *ranks = &spec->candidates;
    if (spec->owner.rank_plus_one != 0) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".owner and .candidates are both given");
    }
    if (ranks->ranks == NULL || ranks->count == 0) {
        return lane_fail(
            lane, MOOT_ERR_INVALID,
            ".candidates is an empty set: name a rank, or leave it zero for any");
    }
    if (ranks->count > LIMIT_RANKS) {
        return lane_fail(lane, MOOT_ERR_LIMIT, ".candidates has more than %u entries",
                         LIMIT_RANKS);
    }
    int error = MOOT_OK;
    for (size_t i = 0; error == MOOT_OK && i < ranks->count; i++) {
        error = add_candidate(m, lane, out, "candidates", ranks->ranks[i]);
    }
    return error;
}

COLD static int check_pset(struct moot *m, struct lane *lane,
                           const moot_task_spec *spec, struct rankset *out)
{
    uint32_t index;
    if (spec->owner.rank_plus_one != 0 || spec->candidates.ranks != NULL ||
        spec->candidates.count > 0) {
        return lane_fail(lane, MOOT_ERR_INVALID, ".pset and .%s are both given",
                         spec->owner.rank_plus_one != 0 ? "owner" : "candidates");
    }
    switch (session_pset_take(m, spec->pset, out, &index)) {
    case MOOT_OK:
        return MOOT_OK;
    case MOOT_ERR_NO_MEMORY:
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for the candidates");
    default:
        return lane_fail(lane, MOOT_ERR_INVALID,
                         ".pset: there is no process set \"%.128s\" in this session",
                         spec->pset);
    }
}

int spawn_check_candidates(struct moot *m, struct lane *lane,
                           const moot_task_spec *spec, struct rankset *out)
{
    return spec->pset != NULL ? check_pset(m, lane, spec, out)
                              : check_candidates(m, lane, spec, out);
}

static int check_ranks(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                       struct spawn *spawn)
{
    spawn->facts.place = 0;
    if (spec->beside.id != 0) {
        spawn->facts.reg.candidates = NULL;
        return check_beside(m, lane, spec, spawn);
    }
    spawn->facts.reg.candidates = &spawn->candidates;
    if (spec->pset != NULL || spec->candidates.ranks != NULL ||
        spec->candidates.count > 0) {
        return spawn_check_candidates(m, lane, spec, &spawn->candidates);
    }
    if (spec->owner.rank_plus_one != 0) {
        return check_owner(m, lane, spec, spawn);
    }
    spawn->facts.reg.candidates = NULL;
    return MOOT_OK;
}

/* What the core is told.  Field by field: a literal would be made elsewhere and copied,
 * at each spawn. */
static void fill_reg(const struct lane *lane, const moot_task_spec *spec,
                     const struct kernel *kernel, const struct task *parent,
                     struct core_register *reg)
{
    reg->flags = kernel->core_flags | (parent != NULL ? CORE_TASK_NESTED : 0u) |
                 (spec->flags & MOOT_TASK_CONDITIONAL ? CORE_TASK_HINT : 0u);
    reg->inputs = lane->hashes;
    reg->input_count = spec->input_count + spec->input_hash_count + spec->after_count;
    reg->after_count = spec->after_count;
    reg->scope = parent != NULL ? parent->hash : lane_scope(lane);
    reg->parent = parent != NULL ? parent->hash : (moot_hash){{0}};
    reg->spec = NULL;
    reg->array = NULL;
}

static void fill_facts(const struct lane *lane, const moot_task_spec *spec,
                       struct kernel *kernel, struct task *parent,
                       struct task_facts *facts)
{
    facts->kernel = kernel;
    facts->args = spec->args;
    facts->args_size = spec->args_size;
    facts->key = spec->key;
    facts->key_size = spec->key_size;
    facts->input_tasks = lane->inputs;
    facts->parent = parent;
    facts->nested = parent != NULL;
    facts->priority = spec->priority;
    facts->queue_line = 0;
    facts->label = spec->label;
    facts->grows = false;
    fill_reg(lane, spec, kernel, parent, &facts->reg);
}

HOT int spawn_check(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                    const char *site, struct task *parent, struct spawn *spawn)
{
    struct kernel *kernel = NULL;
    bool plain = is_plain(spec);
    spawn->candidates = (struct rankset){.low = 0};
    int error = check_kernel(m, lane, spec, &kernel);
    if (error == MOOT_OK) {
        error = check_sizes(lane, spec, plain);
    }
    if (error == MOOT_OK) {
        error = check_inputs(m, lane, spec, plain);
    }
    if (error == MOOT_OK) {
        error = check_ranks(m, lane, spec, spawn);
    }
    if (error != MOOT_OK) {
        return error;
    }
    assert(kernel != NULL);
    if ((kernel->flags & MOOT_KERNEL_ONCE) && spec->key == NULL) {
        return lane_fail(lane, MOOT_ERR_NO_KEY,
                         "kernel '%s' is once: each of its tasks needs a .key",
                         kernel->name);
    }
    fill_facts(lane, spec, kernel, parent, &spawn->facts);
    spawn->facts.reg.site = site;
    return MOOT_OK;
}
