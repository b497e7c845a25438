/* task_table.c - from a hash to its task record.
 *
 * Open addressing with linear probing; hashes are uniform, so 32 bits of one are the
 * index.  A search goes along an array of these bits, the tags, sixteen to a cache
 * line: a record that is not the wanted one is hardly ever touched, however many stand
 * in its way, and most records have not been touched for long.  Records stay where they
 * are, and rooms keep pointers to them, until they are forgotten.
 */
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256, RECORD_BYTES_MAX = MEMORY_STEPS * MEMORY_STEP_BYTES };
static_assert((size_t)CORE_ENTRY_BYTES_MAX <= (size_t)RECORD_BYTES_MAX &&
                  RECORD_BYTES_MAX / RECORD_PIECE_BYTES <= UINT8_MAX,
              "a record's pieces are counted in 8 bits");

static size_t record_round(size_t size)
{
    return (size + RECORD_PIECE_BYTES - 1) & ~(size_t)(RECORD_PIECE_BYTES - 1);
}

/* Never zero, which is a slot that is free. */
static uint32_t tag_of(const moot_hash *hash)
{
    uint32_t tag = (uint32_t)hash_word(hash);
    return tag != 0 ? tag : 1;
}

/* Where it is, or else would be. */
HOT static size_t slot_of(const struct core *core, const moot_hash *hash)
{
    size_t mask = core->state.slot_count - 1;
    uint32_t tag = tag_of(hash);
    size_t slot = tag & mask;
    while (core->state.tags[slot] != 0 &&
           (core->state.tags[slot] != tag ||
            !hash_equal(&core->state.slots[slot]->hash, hash))) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

void *table_look(const struct core *core, const moot_hash *hash)
{
    return core->state.slot_count > 0 ? core->state.slots[slot_of(core, hash)] : NULL;
}

struct task_record *table_find(struct core *core, const moot_hash *hash)
{
    return stub_seen(core, table_look(core, hash));
}

HOT void table_expect_record(const struct core *core, const moot_hash *hash)
{
    if (core->state.slot_count == 0) {
        return;
    }
    size_t mask = core->state.slot_count - 1;
    uint32_t tag = tag_of(hash);
    size_t slot = tag & mask;
    while (core->state.tags[slot] != 0 && core->state.tags[slot] != tag) {
        slot = (slot + 1) & mask;
    }
    fetch_ahead(core->state.slots[slot], core->state.record_bytes);
}

static void slot_fill(struct core *core, size_t slot, uint32_t tag, void *known)
{
    core->state.tags[slot] = tag;
    core->state.slots[slot] = known;
}

/* Moves what there is without a look at the records. */
COLD static bool table_widen(struct core *core)
{
    size_t old_count = core->state.slot_count, mask;
    struct task_record **old = core->state.slots;
    uint32_t *old_tags = core->state.tags;
    size_t count = old_count ? old_count * 2 : FIRST_SLOTS;
    struct task_record **slots = calloc(count, sizeof(*slots));
    uint32_t *tags = calloc(count, sizeof(*tags));
    if (slots == NULL || tags == NULL) {
        free(slots);
        free(tags);
        return false;
    }
    core->state.slots = slots;
    core->state.tags = tags;
    core->state.slot_count = count;
    mask = count - 1;
    for (size_t i = 0; i < old_count; i++) {
        size_t slot = old_tags[i] & mask;
        while (old_tags[i] != 0 && tags[slot] != 0) {
            slot = (slot + 1) & mask;
        }
        if (old_tags[i] != 0) {
            slot_fill(core, slot, old_tags[i], old[i]);
        }
    }
    free(old);
    free(old_tags);
    return true;
}

/* Three quarters full, a search in vain passes eight tags on average. */
static bool is_full(const struct core *core)
{
    return core->stats.tasks + core->stats.tasks / 3 >= core->state.slot_count;
}

bool table_relieve(struct core *core) { return !is_full(core) || table_widen(core); }

/* Tasks that are promised find a place in a table that is fuller than it should be. */
COLD static bool goes_on_cramped(struct core *core)
{
    size_t slots = core->state.slot_count;
    memory_shorten(core);
    bool room = memory_is_short(core) && core->stats.tasks + slots / 16 < slots;
    core->broken |= !room;
    return room;
}

/* Where it is to be put: there is room.  False without memory. */
static inline bool table_open(struct core *core, const moot_hash *hash, size_t *slot)
{
    if (is_full(core)) {
        if (!table_widen(core)) {
            return goes_on_cramped(core);
        }
        *slot = slot_of(core, hash);
    }
    return true;
}

HOT bool table_finds_room(struct core *core, const moot_hash *hash, size_t *slot)
{
    bool any = core->state.slot_count > 0;
    *slot = any ? slot_of(core, hash) : 0;
    return (!any || core->state.tags[*slot] == 0) && table_open(core, hash, slot);
}

HOT void table_put(struct core *core, size_t slot, const moot_hash *hash, void *known)
{
    assert(core->state.tags[slot] == 0);
    slot_fill(core, slot, tag_of(hash), known);
    core->stats.tasks++;
}

void table_replace(struct core *core, struct task_record *task)
{
    assert(table_look(core, &task->hash) != NULL);
    core->state.slots[slot_of(core, &task->hash)] = task;
}

/* --- What few tasks have --------------------------------------------------------- */

const struct task_ext task_ext_at_first = {.accepted = NOBODY,
                                           .heir = NOBODY,
                                           .canceller = NOBODY,
                                           .kept_for = NOBODY,
                                           .runner = NOBODY,
                                           .source = NOBODY};

static void seldom_release(struct core *core, struct task_ext *task_ext)
{
    rankset_release(&task_ext->holders);
    rankset_release(&task_ext->seekers);
    rankset_release(&task_ext->pushed);
    rankset_release(&task_ext->pullers);
    free(task_ext->spread.places);
    rankset_release(&task_ext->crashes);
    array_record_free(core, task_ext->array);
    if (task_ext->recovery != NULL) {
        rankset_release(&task_ext->recovery->at);
        free(task_ext->recovery);
    }
}

struct task_ext *task_ext_get(struct core *core, struct task_record *task)
{
    if (task->task_ext != NULL) {
        return task->task_ext;
    }
    task->task_ext = memory_take(core, sizeof(*task->task_ext));
    if (task->task_ext == NULL) {
        seldom_release(core, &core->state.none);
        core->state.none = task_ext_at_first;
        return &core->state.none;
    }
    *task->task_ext = task_ext_at_first;
    return task->task_ext;
}

/* --- Candidates ------------------------------------------------------------------ */

/* An owner is a set of one: tasks share those. */
static struct rankset *single_of(struct core *core, uint32_t rank)
{
    if (core->state.single == NULL) {
        core->state.single = core_alloc(core, 64 * sizeof(*core->state.single));
        for (uint32_t i = 0; core->state.single != NULL && i < 64; i++) {
            core->state.single[i].low = UINT64_C(1) << i;
        }
    }
    return core->state.single != NULL ? &core->state.single[rank] : NULL;
}

static bool is_single(const struct core *core, const struct rankset *set)
{
    return core->state.single != NULL && set >= core->state.single &&
           set < core->state.single + 64;
}

/* NULL without memory: the core is broken. */
HOT static struct rankset *candidates_keep(struct core *core, const struct rankset *set)
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
static void place(struct core *core, struct task_record *task,
                  const struct rankset *candidates)
{
    task->finder = hash_has(&task->hash, MOOT_HASH_CANDIDATES);
    uint32_t chair = NOBODY;
    if (task->finder && candidates != NULL && core->membership.settled) {
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

/* --- Records --------------------------------------------------------------------- */

struct task_record *table_enter(struct core *core, const moot_hash *hash)
{
    return table_enter_for(core, hash, NULL, 0, 0);
}

/* A new record, which has room for edges and for what is the host's if that does not
 * make it a large one. */
static struct task_record *record_new(struct core *core, size_t input_count,
                                      size_t room_bytes)
{
    size_t inputs_at = record_round(core->state.record_bytes);
    size_t all = inputs_at + input_count * sizeof(struct edge) + room_bytes;
    bool roomy = all <= RECORD_BYTES_MAX && input_count + room_bytes > 0;
    size_t bytes = roomy ? record_round(all) : inputs_at;
    struct task_record *task = memory_take_raw(core, bytes);
    if (task != NULL) {
        memset(task, 0, core->state.record_bytes);
        task->pieces = (uint8_t)(bytes / RECORD_PIECE_BYTES);
        task->inputs_at = (uint8_t)(inputs_at / RECORD_PIECE_BYTES);
        task->room_inputs = roomy ? (uint8_t)input_count : 0;
        task->need = NEED_NONE;
        task->owner = NOBODY;
        task->rec = NOBODY;
    }
    return task;
}

struct task_record *table_record(struct core *core, size_t input_count,
                                 size_t room_bytes, uint32_t chair, bool alone)
{
    assert(chair < core->size && chair != core->rank);
    struct task_record *task = record_new(core, input_count, room_bytes);
    if (task != NULL) {
        task->chair = chair;
        task->candidates = alone ? single_of(core, chair) : NULL;
    }
    return task != NULL && (!alone || task->candidates != NULL) ? task : NULL;
}
static_assert(RECORD_BYTES_MAX / sizeof(struct edge) <= UINT8_MAX,
              "so are its inputs, if they stand in it");

/* Where they are apart, what takes them stands before them. */
static size_t apart_bytes(size_t count)
{
    return RECORD_PIECE_BYTES + count * sizeof(struct edge);
}

COLD static struct edge *inputs_apart(struct core *core, struct task_record *task,
                                      size_t count)
{
    struct task_ext *rest = task_ext_get(core, task);
    struct task_record **memory =
        rest == task->task_ext ? memory_take_raw(core, apart_bytes(count)) : NULL;
    if (memory == NULL) {
        return NULL;
    }
    *memory = task;
    rest->inputs = (struct edge *)(void *)((char *)memory + RECORD_PIECE_BYTES);
    task->inputs_at = 0;
    return rest->inputs;
}

static void inputs_give(struct core *core, struct task_record *task)
{
    if (task->inputs_at == 0) {
        memory_give(core, (char *)task->task_ext->inputs - RECORD_PIECE_BYTES,
                    apart_bytes(task->input_count));
    }
}

bool table_add_inputs(struct core *core, struct task_record *task, size_t count)
{
    assert(task->input_count == 0);
    bool apart = count > task->room_inputs;
    struct edge *inputs = NULL;
    if (!apart) {
        inputs = task_inputs(task);
    } else if (task->inputs_at != 0) {
        inputs = inputs_apart(core, task, count);
    }
    for (size_t i = 0; inputs != NULL && i < count; i++) {
        size_t before =
            apart ? RECORD_PIECE_BYTES : (size_t)task->inputs_at * RECORD_PIECE_BYTES;
        inputs[i] = (struct edge){.behind = (uint32_t)(before + i * sizeof(*inputs)),
                                  .apart = apart};
    }
    return inputs != NULL;
}

void *record_room(const struct core *core, struct task_record *task, size_t *room_bytes)
{
    size_t at = record_round(core->state.record_bytes) +
                task->room_inputs * sizeof(struct edge);
    size_t bytes = (size_t)task->pieces * RECORD_PIECE_BYTES;
    *room_bytes = bytes > at ? bytes - at : 0;
    return (char *)task + at;
}

HOT struct task_record *table_enter_for(struct core *core, const moot_hash *hash,
                                        const struct rankset *candidates,
                                        size_t input_count, size_t room_bytes)
{
    size_t slot = core->state.slot_count > 0 ? slot_of(core, hash) : 0;
    if (core->state.slot_count > 0 && core->state.tags[slot] != 0) {
        return table_at(core, slot);
    }
    if (!table_open(core, hash, &slot)) {
        return NULL;
    }
    assert(!scope_is_dropped(core, hash) || MUTANT(LATEFRESH));
    struct scope_record *scope = scope_of(core, hash);
    struct task_record *task = record_new(core, input_count, room_bytes);
    if (task == NULL || core->broken) {
        return NULL;
    }
    task->hash = *hash;
    place(core, task, candidates);
    task->frozen = !core->membership.settled &&
                   (task->chair == core->rank || task->finder) &&
                   view_change_moved(core, task);
    presume_judge_late(core, task);
    slot_fill(core, slot, tag_of(hash), task);
    core->stats.tasks++;
    if (scope != NULL) {
        scope_add_task(scope, task);
    }
    return task;
}

bool task_learn_candidates(struct core *core, struct task_record *task,
                           const struct rankset *candidates)
{
    if (!task->finder || candidates == NULL) { /* a peer may say so of any task */
        return true;
    }
    assert(hash_has(&task->hash, MOOT_HASH_CANDIDATES) && task->own == CORE_OWN_NONE);
    struct rankset *copy = candidates_keep(core, candidates);
    if (copy == NULL) {
        return false;
    }
    uint32_t finder = task->chair;
    release_touch(core, task);
    task->candidates = copy;
    task->chair = chair_or_keeper(&core->members, &task->hash, copy);
    task->finder = false;
    task->frozen = !core->membership.settled && task->chair == core->rank &&
                   (task->frozen || view_change_moved(core, task));
    presume_judge_late(core, task);
    /* Else the chair knows nothing. */
    task->asked = task->asked && task->chair == finder;
    task->cancel_told = task->cancel_told && task->chair == finder;
    return true;
}

void table_give(struct core *core, struct task_record *task)
{
    memory_give(core, task, (size_t)task->pieces * RECORD_PIECE_BYTES);
}

HOT static void task_release(struct core *core, struct task_record *task)
{
    requests_release(core, task->requests);
    candidates_give(core, task->candidates);
    if (task->task_ext != NULL) {
        seldom_release(core, task->task_ext);
    }
}

/* Those that stand behind it in its run move up, so that no search ends too early. */
void table_remove(struct core *core, const moot_hash *hash)
{
    size_t mask = core->state.slot_count - 1;
    size_t hole = slot_of(core, hash);
    for (size_t slot = (hole + 1) & mask; core->state.tags[slot] != 0;
         slot = (slot + 1) & mask) {
        size_t home = core->state.tags[slot] & mask;
        if (((slot - home) & mask) >= ((slot - hole) & mask)) {
            slot_fill(core, hole, core->state.tags[slot], core->state.slots[slot]);
            hole = slot;
        }
    }
    slot_fill(core, hole, 0, NULL);
}

void table_forget(struct core *core, struct task_record *task)
{
    assert(task->agenda == 0);
    table_remove(core, &task->hash);
    core->stats.tasks--;
    task_release(core, task);
    inputs_give(core, task);
    memory_give(core, task->task_ext, sizeof(*task->task_ext));
}

void table_forget_all(struct core *core)
{
    for (size_t i = 0; i < core->state.slot_count; i++) {
        void *known = core->state.slots[i];
        if (known != NULL && !is_stub(known)) {
            struct task_record *task = known;
            task_release(core, task);
            inputs_give(core, task);
            memory_give(core, task->task_ext, sizeof(*task->task_ext));
        }
        core->stats.forgotten += known != NULL;
        out_forget(core, known);
        core->state.slots[i] = NULL;
        core->state.tags[i] = 0;
    }
    core->stats.tasks = core->stats.let_go = 0;
    core->state.stub_count = core->state.away_count = 0;
}

void table_release(struct core *core)
{
    for (size_t i = 0; i < core->state.slot_count; i++) {
        if (core->state.slots[i] != NULL && !is_stub(core->state.slots[i])) {
            task_release(core, core->state.slots[i]);
        }
    }
    free(core->state.slots);
    seldom_release(core, &core->state.none);
    free(core->state.tags);
    free(core->state.single);
    block_free(core->state.memory.blocks);
}

void graph_link_edge(struct edge *edge, struct task_record *from, bool order_only)
{
    assert(edge->from == NULL && !edge->away);
    struct edge *next = from->consumers;
    edge->from = from;
    edge->next = next;
    edge->link = &from->consumers;
    edge->order_only = order_only;
    if (next != NULL) {
        next->link = &edge->next;
    }
    from->consumers = edge;
}

void requests_release(struct core *core, struct requests *requests)
{
    assert(requests == NULL || requests->asker_count <= requests->asker_room);
    if (requests == NULL) {
        return;
    }
    if (requests->askers != requests->few) {
        free(requests->askers);
    }
    rankset_release(&requests->never);
    rankset_release(&requests->acks);
    memory_give(core, requests, sizeof(*requests));
}
