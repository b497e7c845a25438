/* stub.c - tasks that this rank neither runs nor feeds take no record.
 *
 * Every rank spawns every task, and of most of them it has nothing to do but to have
 * spawned them: another rank runs them, on what others give.  What is needed of such a
 * task is its hash, in the table and on the roll, and enough to make its record should
 * that be wanted after all.  That is a stub: a third of a record, nothing of which is
 * cleared, linked or counted.
 *
 *   made      (core_prune) of a plain task, in no scope, of which another member is the
 *             chair, and all of whose inputs stand on the same lane's roll and are
 *             likewise other ranks' to run, while nothing goes on that looks at all
 *             tasks; and registered, together with those made just before it, in one
 *             step
 *   expanded  into its record as soon as anything is looked up by its hash or its
 *             place: a message about it, a wait, a task of this rank's that takes its
 *             result.  All are before a view is entered, and where the consumers of a
 *             task matter beyond those that are on its list
 *   dropped   with its chunk (reclaim.c): what that takes is counted as for records
 *             (release_count.c), when it is made and when the program lets it go
 *
 * So nothing outside of this file, the table, the pages of the roll and the dropping of
 * chunks has to know of them.  Whether a task is a stub or a record changes nothing of
 * what is said: no message depends on it.
 *
 * An input of a stub is a place on the roll, which stays what it is when the input is
 * expanded, and is empty when that has been dropped.  So may be an input of a record,
 * if it is another rank's to run and the input a stub: it is *away*.  This rank needs
 * no more of that input until it comes to own the task, or must know all that takes the
 * input, and then they are brought together.  So a record does not drag those of all
 * that it takes along with it.
 *
 * A program whose stubs are mostly expanded again would pay for both: then records are
 * made at once, for a while.
 */
#include "consensus/state/state.h"

#include "hashing/placement.h"

#include <assert.h>
#include <string.h>

/* More were expanded than dropped, by so many: for so many registrations there are
 * none; then a quarter of that is enough. */
enum { REGRETS_MAX = 64, REGRETS_AGAIN = 48, RECORDS_AT_ONCE = 4096 };

/* Its words are counted in 8 bits. */
enum { HOST_BYTES_MAX = UINT8_MAX * sizeof(uint64_t) };

static size_t bytes_of(size_t inputs, size_t host_words)
{
    return sizeof(struct stub) + inputs * sizeof(roll_place) +
           host_words * sizeof(uint64_t);
}

static size_t stub_bytes(const struct stub *stub)
{
    return bytes_of(stub->input_count, stub->host_words);
}

static void *host_part(struct stub *stub) { return stub->inputs + stub->input_count; }

/* --- Which tasks ------------------------------------------------------------------ */

/* Nothing goes on that may look at all tasks. */
static bool is_calm(const struct core *core)
{
    const struct drop *drop = &core->reclaim.drop;
    return core->membership.settled && !core->membership.fenced && !core->broken &&
           !core->step.closed && !core->termination.adjourned &&
           !memory_is_short(core) && !core->membership.leave.going &&
           !core->membership.large && !disseminate_is_on(core) &&
           core->options.mode != CORE_STRICT && drop->press == 0 && drop->cuts == 0 &&
           !core->reclaim.lots.on &&
           core->stats.registered >= core->state.records_until;
}

/* And what its hash says of it is so. */
static bool is_plain(const struct core *core, const moot_hash *hash,
                     const struct core_register *reg)
{
    const uint32_t plain = CORE_TASK_IDEMPOTENT | CORE_TASK_NONDETERMINISTIC;
    unsigned facts = hash->bytes[MOOT_HASH_BYTES - 1] & MOOT_HASH_FACTS;
    unsigned scoped = reg->scope.bytes[MOOT_HASH_BYTES - 1] & MOOT_HASH_SCOPED;
    return (reg->flags & ~plain) == 0 && reg->spec == NULL && scoped == 0 &&
           facts == (reg->candidates != NULL ? (unsigned)MOOT_HASH_CANDIDATES : 0u) &&
           reg->input_count <= UINT8_MAX && reg->after_count <= reg->input_count &&
           reg->lane < core->gossip.lane_count && reg->host_size < HOST_BYTES_MAX;
}

/* NOBODY: no stub has such candidates. */
static uint32_t chair_among(const struct core *core, const moot_hash *hash,
                            const struct rankset *candidates)
{
    bool alone = candidates != NULL && candidates->high_words == 0 &&
                 (candidates->low & (candidates->low - 1)) == 0;
    if (candidates != NULL && !alone) {
        return NOBODY;
    }
    uint32_t chair = placement_chair(hash, &core->members, candidates);
    return chair < UINT16_MAX ? chair : NOBODY;
}

static const void *known_input(const struct core *core, const struct core_register *reg,
                               size_t i)
{
    return reg->input_entries != NULL ? reg->input_entries[i]
                                      : table_look(core, &reg->inputs[i]);
}

/* It stands on the same lane's roll, and this rank has nothing to give to what takes
 * it. */
static bool is_others(const struct core *core, const void *known, uint32_t lane)
{
    if (known == NULL || is_stub(known)) {
        return known != NULL && stub_lane(known) == lane;
    }
    const struct task_record *task = known;
    return task->position != 0 && task->lane == lane && task->scope == NULL &&
           task->own == CORE_OWN_NONE && !task->finder && task->chair != core->rank;
}

static bool takes_of_others(const struct core *core, const struct core_register *reg)
{
    for (size_t i = 0; i < reg->input_count; i++) {
        if (!is_others(core, known_input(core, reg, i), reg->lane)) {
            return false;
        }
    }
    return true;
}

/* --- Making one ------------------------------------------------------------------- */

static roll_place place_of_known(const void *known)
{
    if (is_stub(known)) {
        return ((const struct stub *)known)->place;
    }
    const struct task_record *task = known;
    return place_of(task->lane, task->lane_position);
}

/* The host's part is its own to write; the place is known but for the position. */
static void fill(struct stub *stub, const struct core *core, const moot_hash *hash,
                 const struct core_register *reg, size_t words, uint32_t chair)
{
    assert(chair != core->rank && reg->host_size < HOST_BYTES_MAX);
    stub->hash = *hash;
    stub->pieces = 0;
    stub->input_count = (uint8_t)reg->input_count;
    stub->after_count = (uint8_t)reg->after_count;
    stub->flags = (uint8_t)reg->flags;
    stub->state = reg->candidates != NULL ? STUB_ALONE : 0;
    stub->host_words = (uint8_t)words;
    stub->chair = (uint16_t)chair;
    stub->place = place_of(reg->lane, 0);
    stub->position = 0;
    stub->site = reg->site;
    for (size_t i = 0; i < reg->input_count; i++) {
        stub->inputs[i] = place_of_known(known_input(core, reg, i));
    }
}

HOT void *core_prune(struct core *core, const moot_hash *hash,
                     const struct core_register *reg)
{
    if (!is_calm(core) || !is_plain(core, hash, reg)) {
        return NULL;
    }
    size_t slot;
    uint32_t chair = chair_among(core, hash, reg->candidates);
    if (chair == NOBODY || chair == core->rank || !takes_of_others(core, reg) ||
        !table_finds_room(core, hash, &slot)) {
        return NULL;
    }
    size_t words = (reg->host_size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    struct stub *stub = memory_take_raw(core, bytes_of(reg->input_count, words));
    if (stub == NULL) {
        return NULL;
    }
    fill(stub, core, hash, reg, words, chair);
    table_put(core, slot, hash, stub);
    core->state.stub_count++;
    return stub;
}

/* --- Expanding -------------------------------------------------------------------- */

/* Those are away that are not looked for yet: where they stand is known. */
static bool take_over_inputs(struct core *core, struct task_record *task,
                             const struct stub *stub)
{
    assert(task->input_count == 0);
    if (stub->input_count == 0) {
        return true;
    }
    if (!table_add_inputs(core, task, stub->input_count)) {
        return false;
    }
    struct edge *inputs = task_inputs(task);
    uint32_t data_count = (uint32_t)stub->input_count - stub->after_count;
    task->input_count = stub->input_count;
    task->after_count = stub->after_count;
    for (uint32_t i = 0; i < stub->input_count; i++) {
        inputs[i].order_only = i >= data_count;
        stub_put_away(core, task, &inputs[i], stub->inputs[i]);
    }
    return true;
}

static struct task_record *make_record(struct core *core, const struct stub *stub)
{
    struct task_record *task =
        table_record(core, stub->input_count, stub->host_words * sizeof(uint64_t),
                     stub->chair, (stub->state & STUB_ALONE) != 0);
    if (task == NULL || !take_over_inputs(core, task, stub)) {
        return NULL;
    }
    task->hash = stub->hash;
    task->held = true;
    task->flags = stub->flags;
    task->lane = (uint16_t)place_lane(stub->place);
    task->lane_position = place_position(stub->place);
    task->position = stub->position;
    task->site = stub->site;
    task->let_go = (stub->state & STUB_LET_GO) != 0;
    task->counted = (stub->state & STUB_COUNTED) != 0;
    return task;
}

static void give_to_host(struct core *core, struct stub *stub, struct task_record *task)
{
    if (core->options.expand != NULL) {
        core->options.expand(core->options.expand_context, core, task, host_part(stub));
    }
}

static void regret(struct core *core)
{
    if (++core->state.regrets > REGRETS_MAX) {
        core->state.regrets = REGRETS_AGAIN;
        core->state.records_until = core->stats.registered + RECORDS_AT_ONCE;
    }
}

COLD struct task_record *stub_expand(struct core *core, void *known)
{
    struct stub *stub = known;
    assert(stub->position != 0 || core->broken);
    struct task_record *task = core->broken ? NULL : make_record(core, stub);
    if (task == NULL) {
        core->broken = true;
        return NULL;
    }
    table_replace(core, task);
    lane_replace(&core->gossip.lanes[task->lane], task->lane_position, task);
    core->state.stub_count--;
    regret(core);
    give_to_host(core, stub, task);
    stub_give(core, stub);
    return task;
}

/* --- What records take of stubs --------------------------------------------------- */

void stub_put_away(struct core *core, struct task_record *task, struct edge *edge,
                   roll_place place)
{
    assert(edge->from == NULL && !edge->away && !edge->waiting);
    assert(place_position(place) > 0);
    assert(task->own == CORE_OWN_NONE);
    task->takes_away = true;
    edge->away = true;
    edge->place = place;
    core->state.away_count++;
}

/* One that has been dropped ended well, which this rank may not have heard, and another
 * run could not read it. */
static void bring(struct core *core, struct edge *edge)
{
    assert(edge->away && edge->from == NULL);
    assert(core->state.away_count > 0);
    roll_place place = edge->place;
    const struct lane_record *lane = &core->gossip.lanes[place_lane(place)];
    struct task_record *from = lane_task(core, lane, place_position(place));
    edge->away = false;
    edge->link = NULL;
    edge->lost = from == NULL;
    core->state.away_count--;
    if (from != NULL) {
        graph_link_edge(edge, from, edge->order_only);
    }
}

void stub_bring_inputs(struct core *core, struct task_record *task)
{
    for (uint32_t i = 0; i < task->input_count && task->takes_away; i++) {
        if (task_inputs(task)[i].away) {
            bring(core, &task_inputs(task)[i]);
        }
    }
    task->takes_away = false;
}

void stub_forget_inputs(struct core *core, struct task_record *task)
{
    assert(task->takes_away);
    for (uint32_t i = 0; i < task->input_count; i++) {
        core->state.away_count -= task_inputs(task)[i].away;
    }
}

COLD void stub_expand_all(struct core *core)
{
    for (size_t i = 0; i < core->state.slot_count && core->state.stub_count > 0; i++) {
        if (is_stub(core->state.slots[i]) &&
            stub_expand(core, core->state.slots[i]) == NULL) {
            return;
        }
    }
    for (size_t i = 0; i < core->state.slot_count && core->state.away_count > 0; i++) {
        if (core->state.slots[i] != NULL) {
            stub_bring_inputs(core, core->state.slots[i]);
        }
    }
}

/* --- Letting go ------------------------------------------------------------------- */

HOT void stub_let_go(struct core *core, struct stub *stub)
{
    assert(stub->chair != core->rank);
    if ((stub->state & STUB_LET_GO) != 0) {
        return;
    }
    stub->state |= STUB_LET_GO;
    core->stats.let_go++;
    if (core->reclaim.drop.counts && stub->position != 0) { /* 0: there was no memory */
        stub->state |= STUB_COUNTED;
        release_facts_at(core, stub->place)->quiet++;
    }
    reclaim_news(core);
}

HOT void stub_forget(struct core *core, struct stub *stub)
{
    assert(core->state.stub_count > 0 && core->stats.tasks > 0);
    assert((stub->state & STUB_LET_GO) == 0 || core->stats.let_go > 0);
    table_remove(core, &stub->hash);
    core->stats.tasks--;
    core->state.stub_count--;
    core->state.regrets -= core->state.regrets > 0;
    core->stats.forgotten++;
    core->stats.let_go -= (stub->state & STUB_LET_GO) != 0;
}

void stub_give(struct core *core, struct stub *stub)
{
    memory_give(core, stub, stub_bytes(stub));
}

/* --- The host's view -------------------------------------------------------------- */

bool core_is_stub(const void *entry) { return is_stub(entry); }

void *core_stub_host(void *stub) { return host_part(stub); }
