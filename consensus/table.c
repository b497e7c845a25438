/* table.c - from a hash to its task record.
 *
 * Open addressing with linear probing over pointers; hashes are uniform, so their first
 * word is the index.  Records stay where they are, and rooms keep pointers to them,
 * until their scope has ended.
 */
#include "consensus/internal.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 256 };

static size_t slot_of(const struct core *core, const moot_hash *hash)
{
    size_t mask = core->slot_count - 1;
    size_t slot = (size_t)hash_word(hash) & mask;
    while (core->slots[slot] != NULL && !hash_equal(&core->slots[slot]->hash, hash)) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

struct task *table_find(const struct core *core, const moot_hash *hash)
{
    return core->slot_count > 0 ? core->slots[slot_of(core, hash)] : NULL;
}

static bool table_widen(struct core *core)
{
    size_t old_count = core->slot_count;
    struct task **old = core->slots;
    size_t count = old_count ? old_count * 2 : FIRST_SLOTS;
    struct task **slots = calloc(count, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    core->slots = slots;
    core->slot_count = count;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i] != NULL) {
            slots[slot_of(core, &old[i]->hash)] = old[i];
        }
    }
    free(old);
    return true;
}

/* --- Candidates ---------------------------------------------------------------------
 */

/* An owner is a set of one: tasks share those. */
static struct rankset *single_of(struct core *core, uint32_t rank)
{
    if (core->single == NULL) {
        core->single = core_alloc(core, 64 * sizeof(*core->single));
        for (uint32_t i = 0; core->single != NULL && i < 64; i++) {
            core->single[i].low = UINT64_C(1) << i;
        }
    }
    return core->single != NULL ? &core->single[rank] : NULL;
}

static bool is_single(const struct core *core, const struct rankset *set)
{
    return core->single != NULL && set >= core->single && set < core->single + 64;
}

/* NULL without memory: the core is broken. */
static struct rankset *candidates_keep(struct core *core, const struct rankset *set)
{
    if (set->high_words == 0 && set->low != 0 && (set->low & (set->low - 1)) == 0) {
        return single_of(core, rankset_next(set, 0));
    }
    struct rankset *copy = memory_take(core, sizeof(*copy));
    if (copy == NULL || !rankset_copy(copy, set)) {
        core->broken = true;
        return NULL;
    }
    return copy;
}

static void candidates_give(struct core *core, struct rankset *set)
{
    if (set != NULL && !is_single(core, set)) {
        rankset_release(set);
        memory_give(core, set, sizeof(*set));
    }
}

/* Among candidates that are not known the chair is provisional.  While not all have
 * reported it is so in any case: what moved is told by what is known of it. */
static void place(struct core *core, struct task *task,
                  const struct rankset *candidates)
{
    task->finder = (task->hash.bytes[MOOT_HASH_BYTES - 1] & MOOT_HASH_CANDIDATES) != 0;
    uint32_t chair = NOBODY;
    if (task->finder && candidates != NULL && core->settled) {
        chair = placement_chair(&task->hash, &core->members, candidates);
    }
    if (chair == NOBODY) {
        task->chair = placement_chair(&task->hash, &core->members, NULL);
        return;
    }
    task->chair = chair;
    task->candidates = candidates_keep(core, candidates);
    task->finder = false;
}

/* --- Records ------------------------------------------------------------------------
 */

struct task *table_enter(struct core *core, const moot_hash *hash)
{
    return table_enter_among(core, hash, NULL);
}

struct task *table_enter_among(struct core *core, const moot_hash *hash,
                               const struct rankset *candidates)
{
    struct task *task = table_find(core, hash);
    if (task != NULL) {
        return task;
    }
    if (core->task_count * 2 >= core->slot_count && !table_widen(core)) {
        core->broken = true;
        return NULL;
    }
    assert(!scope_is_dropped(core, hash) || MUTANT(LATEFRESH));
    struct scope *scope = scope_of(core, hash);
    task = memory_take(core, sizeof(*task));
    if (task == NULL || core->broken) {
        return NULL;
    }
    task->hash = *hash;
    task->need = NEED_NONE;
    task->asked_need = NEED_NONE;
    task->owner = NOBODY;
    task->rec = NOBODY;
    task->accepted = NOBODY;
    task->heir = NOBODY;
    task->canceller = NOBODY;
    place(core, task, candidates);
    task->frozen = !core->settled && (task->chair == core->rank || task->finder) &&
                   epoch_moved(core, task);
    silence_judge_late(core, task);
    core->slots[slot_of(core, hash)] = task;
    core->task_count++;
    if (scope != NULL) {
        scope_add_task(scope, task);
    }
    return task;
}

bool task_learn_candidates(struct core *core, struct task *task,
                           const struct rankset *candidates)
{
    if (!task->finder || candidates == NULL) {
        return true;
    }
    struct rankset *copy = candidates_keep(core, candidates);
    if (copy == NULL) {
        return false;
    }
    uint32_t finder = task->chair;
    task->candidates = copy;
    task->chair = placement_chair(&task->hash, &core->members, copy);
    task->finder = false;
    task->frozen = !core->settled && task->chair == core->rank &&
                   (task->frozen || epoch_moved(core, task));
    silence_judge_late(core, task);
    /* Else the chair knows nothing. */
    task->asked = task->asked && task->chair == finder;
    task->cancel_told = task->cancel_told && task->chair == finder;
    return true;
}

static void task_release(struct core *core, struct task *task)
{
    docket_release(task->docket);
    free(task->docket);
    candidates_give(core, task->candidates);
    rankset_release(&task->holders);
    rankset_release(&task->pushed);
    rankset_release(&task->seekers);
    if (task->recovery != NULL) {
        rankset_release(&task->recovery->at);
        free(task->recovery);
    }
}

/* Those that stand behind it in its run move up, so that no search ends too early. */
static void table_remove(struct core *core, const struct task *task)
{
    size_t mask = core->slot_count - 1;
    size_t hole = slot_of(core, &task->hash);
    for (size_t slot = (hole + 1) & mask; core->slots[slot] != NULL;
         slot = (slot + 1) & mask) {
        size_t home = (size_t)hash_word(&core->slots[slot]->hash) & mask;
        if (((slot - home) & mask) >= ((slot - hole) & mask)) {
            core->slots[hole] = core->slots[slot];
            hole = slot;
        }
    }
    core->slots[hole] = NULL;
}

void table_forget(struct core *core, struct task *task)
{
    table_remove(core, task);
    core->task_count--;
    task_release(core, task);
    memory_give(core, task->inputs, task->input_count * sizeof(*task->inputs));
    memory_give(core, task, sizeof(*task));
}

void table_release(struct core *core)
{
    for (size_t i = 0; i < core->slot_count; i++) {
        if (core->slots[i] != NULL) {
            task_release(core, core->slots[i]);
        }
    }
    free(core->slots);
    free(core->single);
    block_free(core->memory.blocks);
}
