/* spawn_batch.c - see spawn_batch.h. */
#include "node/spawn/spawn_batch.h"

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "node/engine/engine.h"
#include "node/engine/outbox.h"
#include "node/schedule/task_handle.h"
#include "node/spawn/spawn.h"
#include "node/spawn/spawn_check.h"
#include "node/tasks/handle.h"
#include "node/tasks/task.h"

#include <assert.h>
#include <string.h>

HOT bool unnamed_is_open(const struct moot *m, const struct lane *lane)
{
    return identity_together() > 0 && lane_is_running(lane) && lane->scope_depth == 0 &&
           m->record.observe == NULL && m->knobs.verify_ppm == 0 &&
           !core_any_leaving(m->core);
}

/* Arguments, inputs and an owner at most; what is wrong with it the usual way says. */
static inline bool is_plain(const moot_task_spec *spec)
{
    uintptr_t fields = (uintptr_t)spec->key | (uintptr_t)spec->input_hashes |
                       (uintptr_t)spec->after | (uintptr_t)spec->candidates.ranks |
                       (uintptr_t)spec->label | (uintptr_t)spec->pset;
    uint64_t sizes = spec->beside.id | spec->key_size | spec->input_hash_count |
                     spec->after_count | spec->candidates.count | spec->flags;
    return (fields | sizes) == 0 && spec->priority == 0 &&
           (spec->args != NULL || spec->args_size == 0) &&
           (spec->inputs != NULL || spec->input_count == 0);
}

/* NULL: the spec names none, or not one of whose tasks no more is to be said. */
static inline struct kernel *plain_kernel(const struct moot *m,
                                          const moot_task_spec *spec)
{
    const uint32_t plain = CORE_TASK_IDEMPOTENT | CORE_TASK_NONDETERMINISTIC;
    uint32_t number = 0;
    if (handle_find_kernel(&m->tasks.handles, spec->kernel.id, &number) != MOOT_OK ||
        number >= m->tasks.kernels.count) {
        return NULL;
    }
    struct kernel *kernel = m->tasks.kernels.items[number];
    return (kernel->core_flags & ~plain) == 0 && !kernel->conflict ? kernel : NULL;
}

enum inputs { INPUTS_NAMED, INPUTS_UNNAMED, INPUTS_WRONG };

static inline enum inputs find_inputs(const struct moot *m, const moot_task_spec *spec,
                                      struct task *inputs[UNNAMED_INPUTS_MAX])
{
    if (spec->input_count > UNNAMED_INPUTS_MAX) {
        return INPUTS_WRONG;
    }
    for (size_t i = 0; i < spec->input_count; i++) {
        struct handle *handle;
        if (handle_find(&m->tasks.handles, spec->inputs[i].id, &handle) != MOOT_OK) {
            return INPUTS_WRONG;
        }
        if (handle->task == UNNAMED_TASK) {
            return INPUTS_UNNAMED;
        }
        if ((!core_is_stub(handle->task) && handle->task->undone) ||
            hash_has(&handle->task->hash, MOOT_HASH_ARRAY)) {
            return INPUTS_WRONG;
        }
        inputs[i] = handle->task;
    }
    return INPUTS_NAMED;
}

static inline void copy_hashes(unsigned char *to, struct task *const *tasks,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * MOOT_HASH_BYTES, &tasks[i]->hash, MOOT_HASH_BYTES);
    }
}

/* Inlined into both of its callers: a plain spawn is made of it. */
static inline bool fill_place(struct moot *m, struct lane *lane,
                              const moot_task_spec *spec, const char *site,
                              struct unnamed_task *task)
{
    struct unnamed *unnamed = &m->spawn.unnamed;
    unsigned owner_plus_one = (unsigned)spec->owner.rank_plus_one;
    struct kernel *kernel = plain_kernel(m, spec);
    if (kernel == NULL || !is_plain(spec) || owner_plus_one > IDENTITY_OWNERS ||
        (owner_plus_one != 0 && m->session.members != NULL) ||
        !core_takes_any(m->core, owner_plus_one) || m->store.pool.cramped ||
        !spawn_input_room(lane, UNNAMED_INPUTS_MAX)) {
        return false;
    }
    enum inputs found = find_inputs(m, spec, task->inputs);
    if (found == INPUTS_UNNAMED && unnamed->count > 0) {
        assert(task == &unnamed->tasks[unnamed->count]); /* no queue is open then */
        unnamed_settle_all(m);
        task = unnamed->tasks;
        found =
            m->engine.fatal == 0 ? find_inputs(m, spec, task->inputs) : INPUTS_WRONG;
    }
    if (found != INPUTS_NAMED) { /* or one that another queue collects */
        return false;
    }
    unsigned char *inputs =
        identity_block_fill(&task->block, &kernel->identity, spec->args,
                            spec->args_size, spec->input_count, owner_plus_one);
    if (inputs == NULL) {
        return false;
    }
    copy_hashes(inputs, task->inputs, spec->input_count);
    task->id = handle_new(&m->tasks.handles, UNNAMED_TASK, NULL);
    if (task->id == 0) {
        return false;
    }
    task->site = site != NULL ? task_site_intern(m, site) : NULL;
    task->kernel = kernel;
    task->owner = owner_plus_one != 0 ? UINT64_C(1) << (owner_plus_one - 1) : 0;
    task->args_size = (uint8_t)spec->args_size;
    task->input_count = (uint8_t)spec->input_count;
    task->expanded = unnamed->expanded;
    if (!kernel->told) {
        outbox_tell_kernel(m, kernel);
    }
    return true;
}

HOT bool unnamed_fill(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                      const char *site, struct unnamed_task *task)
{
    return fill_place(m, lane, spec, site, task);
}

HOT bool unnamed_take(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                      const char *site, moot_task *out)
{
    struct unnamed *unnamed = &m->spawn.unnamed;
    if (!fill_place(m, lane, spec, site, &unnamed->tasks[unnamed->count])) {
        return false;
    }
    out->id = unnamed->tasks[unnamed->count].id; /* which may be none of before */
    unnamed->lane = lane;
    if (++unnamed->count == identity_together()) {
        unnamed_settle_all(m);
    }
    return true;
}

HOT void unnamed_make_room(struct moot *m, struct lane *lane)
{
    struct unnamed *unnamed = &m->spawn.unnamed;
    if (unnamed->count == 0 || unnamed->settled) {
        spawn_make_room(m, lane);
        unnamed->settled = false;
    } else {
        spawn_drive(m); /* and nothing has taken room since the last spawn */
    }
}

/* --- Settling --------------------------------------------------------------------- */

bool unnamed_may_stay(const struct moot *m, const struct unnamed_task *task)
{
    uint32_t owner_plus_one =
        task->owner != 0 ? (uint32_t)__builtin_ctzll(task->owner) + 1 : 0;
    return core_takes_any(m->core, owner_plus_one);
}

struct task_facts *unnamed_facts(struct moot *m, struct unnamed_task *task,
                                 uint16_t queue_line)
{
    struct unnamed *unnamed = &m->spawn.unnamed;
    struct task_facts *facts = &unnamed->facts;
    const unsigned char *bytes = task->block.bytes;
    if (task->expanded != unnamed->expanded) {
        for (uint32_t i = 0; i < task->input_count; i++) {
            task->inputs[i] = NULL; /* to be looked up by its hash */
        }
    }
    facts->kernel = task->kernel;
    facts->args = bytes + task->block.args_at;
    facts->args_size = task->args_size;
    facts->input_tasks = task->inputs;
    facts->queue_line = queue_line;
    facts->reg.flags = task->kernel->core_flags;
    facts->reg.inputs = (const moot_hash *)(bytes + task->block.inputs_at);
    facts->reg.input_count = task->input_count;
    unnamed->owner.low = task->owner;
    facts->reg.candidates = task->owner != 0 ? &unnamed->owner : NULL;
    facts->reg.site = task->site;
    return facts;
}

/* Without memory the handles stay as the program had them, and waits for them end. */
static inline void must(struct moot *m, int error)
{
    if (error != MOOT_OK) {
        assert(error == MOOT_ERR_NO_MEMORY);
        engine_starve(m, "no memory for a task that was spawned");
    }
}

/* One whose handle the program has released: with another one. */
COLD static void settle_released(struct moot *m, struct lane *lane,
                                 const moot_hash *hash, struct task_facts *facts,
                                 struct spawn_stubs *stubs)
{
    uint64_t id = handle_new(&m->tasks.handles, UNNAMED_TASK, NULL);
    must(m,
         id != 0 ? spawn_named(m, lane, hash, facts, id, stubs) : MOOT_ERR_NO_MEMORY);
    must(m, spawn_register_stubs(m, stubs));
    if (id != 0) {
        task_handle_end(m, handle_at(&m->tasks.handles, id));
    }
}

static inline void settle(struct moot *m, struct lane *lane, uint16_t queue_line,
                          struct unnamed_task *task, const moot_hash *hash,
                          struct spawn_stubs *stubs)
{
    struct task_facts *facts = unnamed_facts(m, task, queue_line);
    if (task->id == 0) {
        settle_released(m, lane, hash, facts, stubs);
    } else {
        must(m, spawn_named(m, lane, hash, facts, task->id, stubs));
    }
}

HOT static void settle_some(struct moot *m, struct lane *lane, uint16_t queue_line,
                            struct unnamed_task *tasks, uint32_t count)
{
    const struct identity_block *blocks[IDENTITY_TOGETHER_MAX];
    moot_hash hashes[IDENTITY_TOGETHER_MAX];
    struct spawn_stubs stubs;
    for (uint32_t i = 0; i < IDENTITY_TOGETHER_MAX; i++) {
        blocks[i] = &tasks[i < count ? i : 0].block;
    }
    identity_hash_together(blocks, count, hashes);
    for (uint32_t i = 0; i < count; i++) {
        core_expect(m->core, &hashes[i]);
    }
    stubs.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        settle(m, lane, queue_line, &tasks[i], &hashes[i], &stubs);
    }
    must(m, spawn_register_stubs(m, &stubs));
}

void unnamed_register(struct moot *m, struct lane *lane, uint16_t queue_line,
                      struct unnamed_task *tasks, uint32_t count)
{
    uint32_t together = (uint32_t)identity_together();
    for (uint32_t i = 0; i < count; i += together) {
        uint32_t rest = count - i;
        settle_some(m, lane, queue_line, tasks + i, rest < together ? rest : together);
    }
}

HOT void unnamed_settle_all(struct moot *m)
{
    struct unnamed *unnamed = &m->spawn.unnamed;
    uint32_t count = unnamed->count;
    unnamed->count = 0;
    unnamed->settled = true;
    settle_some(m, unnamed->lane, 0, unnamed->tasks, count);
}

/* --- Releases --------------------------------------------------------------------- */

static bool is_input(const struct unnamed *unnamed, const struct task *task)
{
    bool is = false;
    for (uint32_t i = 0; i < unnamed->count; i++) {
        const struct unnamed_task *taker = &unnamed->tasks[i];
        for (uint32_t k = 0; k < taker->input_count; k++) {
            is |= taker->inputs[k] == task;
        }
    }
    return is;
}

/* As far as can be seen without a hash.  What is known by its hash alone may be any. */
static bool is_spec_of(const struct unnamed_task *one, const struct task *task)
{
    const unsigned char *args = one->block.bytes + one->block.args_at;
    return task->kernel == NULL ||
           (task->kernel == one->kernel && task->args_size == one->args_size &&
            (one->args_size == 0 || memcmp(task->args, args, one->args_size) == 0));
}

/* It has been spawned again, and with its last handle go bytes, or a wait, that the
 * program would find here. */
static bool is_again(const struct unnamed *unnamed, const struct task *task)
{
    if (core_is_stub(task) || task->handle_count > 1 ||
        ((task->payload == NULL || task->own) && !task->lingers)) {
        return false;
    }
    bool is = false;
    for (uint32_t i = 0; i < unnamed->count; i++) {
        is |= is_spec_of(&unnamed->tasks[i], task);
    }
    return is;
}

bool unnamed_release(struct moot *m, uint64_t id, struct handle **handle)
{
    struct unnamed *unnamed = &m->spawn.unnamed;
    const struct task *task = (*handle)->task;
    if (task != UNNAMED_TASK) {
        if (is_input(unnamed, task) || is_again(unnamed, task)) {
            unnamed_settle_all(m);
            *handle = handle_at(&m->tasks.handles, id);
        }
        return false;
    }
    for (uint32_t i = 0; i < unnamed->count; i++) {
        struct unnamed_task *one = &unnamed->tasks[i];
        one->id = one->id == id ? 0 : one->id;
    }
    handle_free(&m->tasks.handles, *handle);
    return true;
}
