/* lot_owner.c - an owner asks all members to let its tasks go, lot by lot (G6).
 *
 * Of the chunks of this rank's roll that are not going to be equal everywhere it takes
 * the tasks that it has run, a lot at a time, the oldest first.  What somebody objects
 * to is asked for again when the lane has grown by a quarter of the task's age, or of
 * what is asked for at first: so a task costs a few questions however long it stays.
 *
 * A task of such a chunk that another rank chairs, and whose owner has not asked, may
 * have none: its chair lacks it, and nobody waits.  Then its holder tells the chair,
 * which yields it if its own program has passed it.
 */
#include "consensus/reclaim/reclaim_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

enum { LOT_OBJECTED = 1, LOT_LACKED = 2 };
enum { CHUNKS_PER_TURN = 256, MARK_LOOKS = 64 };
/* Where memory is short: in pieces of press. */
enum { PRESSED_AFTER = 4, PRESSED_PASS = 16, PRESSED_PASS_MIN = 64 };

/* --- How far behind -------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t ask_after(const struct core *core)
{
    uint64_t press = core->reclaim.drop.press, after = core->options.lot_after;
    return press > 0 ? least(after, press * PRESSED_AFTER) : after;
}

static uint64_t pass_after(const struct core *core)
{
    uint64_t press = core->reclaim.drop.press * (uint64_t)PRESSED_PASS;
    uint64_t floor = press > PRESSED_PASS_MIN ? press : PRESSED_PASS_MIN;
    return press > 0 ? least(core->options.pass_after, floor)
                     : core->options.pass_after;
}

static uint64_t end_of(const struct chunk *chunk)
{
    return chunk->first + chunk->count - 1;
}

/* --- Which tasks ----------------------------------------------------------------- */

/* This rank speaks for it: it has run it; or its owner has left, and this is its
 * chair. */
static bool is_mine(const struct core *core, const struct task_record *task)
{
    bool orphan = task->own == CORE_OWN_NONE && task->have != CORE_HAVE_NOTHING &&
                  task->chair == core->rank && !task->finder &&
                  !rankset_has(&core->members, task->owner);
    return task->own == CORE_OWN_DONE || orphan;
}

static bool has_no_owner_yet(const struct core *core, const struct task_record *task)
{
    return task->own == CORE_OWN_NONE && task->chair != core->rank &&
           !task->owner_asked && task->let_go && !task->lot &&
           task->candidates == NULL &&
           (task->have == CORE_HAVE_NOTHING ||
            !rankset_has(&core->members, task->owner));
}

/* The task will not go as a chunk. */
static bool is_to_be_asked(const struct core *core, uint32_t number,
                           const struct chunk *chunk)
{
    const struct lane_record *lane = &core->gossip.lanes[number];
    uint64_t age = lane->len - end_of(chunk);
    return chunk->live > 0 && chunk->stage != CHUNK_LEAVING &&
           lane->len >= chunk->lot_at &&
           (chunk->live != chunk->count || !roll_all_hold(core, number, chunk) ||
            age >= 2 * ask_after(core));
}

/* The first chunk that ends at this position or behind it. */
static uint32_t chunk_from(const struct lane_record *lane, uint64_t position)
{
    uint32_t low = 0, high = lane->chunk_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (end_of(&lane->chunks[middle]) < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void take(struct lots *lots, const moot_hash *hash)
{
    assert(lots->count < LOT_TASKS);
    lots->items[lots->count++] = *hash;
}

/* False: the lot is full, and the chunk is to be looked at further. */
static bool take_from(struct core *core, uint32_t number, struct chunk *chunk)
{
    struct lots *lots = &core->reclaim.lots;
    const struct lane_record *lane = &core->gossip.lanes[number];
    uint64_t last = end_of(chunk);
    uint64_t at = lots->position > chunk->first ? lots->position : chunk->first;
    for (; at <= last; at++) {
        if (lots->count == LOT_TASKS) {
            lots->position = at;
            return false;
        }
        struct task_record *task = lane_task(core, lane, at);
        lane_expect(lane, at);
        if (task != NULL && is_mine(core, task) && lot_lets_go(core, task, false)) {
            task->owner_asked = true;
            take(lots, &task->hash);
        }
    }
    return true;
}

/* --- Marks ----------------------------------------------------------------------- */

/* Tasks of the lane that stand a window behind this position: so many; at most
 * LOT_MARKS. */
static uint32_t find_marks(const struct core *core, const struct lane_record *lane,
                           uint64_t behind, moot_hash *marks)
{
    uint64_t pass = pass_after(core);
    if (pass == 0 || pass > lane->len || behind >= lane->len - pass) {
        return 0;
    }
    uint64_t first = behind + pass, room = lane->len - first;
    uint32_t count = 0;
    uint64_t from = first;
    for (uint64_t i = 0; i < LOT_MARKS; i++) {
        uint64_t at = first + room * (i + 1) / LOT_MARKS;
        for (uint32_t k = 0; k < MARK_LOOKS && at > from; k++, at--) {
            const moot_hash *hash = lane_hash(lane, at);
            if (hash != NULL) {
                marks[count++] = *hash;
                break;
            }
        }
        from = at > from ? at : from;
    }
    return count;
}

/* --- Holders tell ---------------------------------------------------------------- */

static void tell_chair(struct core *core, const struct lane_record *lane,
                       const struct chunk *chunk, uint32_t chair)
{
    assert(chair != core->rank);
    moot_hash *told = NULL;
    uint32_t count = 0;
    for (uint64_t at = chunk->first; at <= end_of(chunk) && count < LOT_TELLS; at++) {
        struct task_record *task = lane_task(core, lane, at);
        if (task == NULL || task->chair != chair || !has_no_owner_yet(core, task)) {
            continue;
        }
        told = told != NULL ? told
                            : out_borrow(core, (LOT_TELLS + LOT_MARKS) * sizeof(*told));
        if (told == NULL) {
            return;
        }
        told[count++] = task->hash;
    }
    uint32_t marks =
        count > 0 ? find_marks(core, lane, end_of(chunk), told + count) : 0;
    struct message *message =
        marks > 0 ? out_send(core, chair, MESSAGE_LOT, NULL) : NULL;
    for (uint32_t i = 0; message != NULL && i < count; i++) {
        struct task_record *task = table_find(core, &told[i]);
        release_touch(core, task);
        task->said++; /* it is kept until the chair has heard of it */
    }
    if (message != NULL) {
        message->u.lot = (struct message_lot){
            .what = LOT_TELL, .hashes = told, .count = count + marks, .marks = marks};
    }
}

/* --- Asking ---------------------------------------------------------------------- */

static void look_at(struct core *core, uint32_t number, struct chunk *chunk)
{
    const struct lane_record *lane = &core->gossip.lanes[number];
    uint64_t age = lane->len - end_of(chunk), after = ask_after(core);
    chunk->lot_at = lane->len + (age > after ? age : after) / 4 + 1;
    if (age < add_ns(pass_after(core), after)) {
        return;
    }
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank) {
            tell_chair(core, lane, chunk, rank);
        }
    }
}

/* True: the whole roll has been looked at. */
static bool gather(struct core *core)
{
    struct lots *lots = &core->reclaim.lots;
    uint32_t budget = CHUNKS_PER_TURN;
    for (; lots->lane < core->gossip.lane_count; lots->lane++, lots->position = 0) {
        const struct lane_record *lane = &core->gossip.lanes[lots->lane];
        for (uint32_t i = chunk_from(lane, lots->position); i < lane->chunk_count;
             i++) {
            struct chunk *chunk = &lane->chunks[i];
            if (end_of(chunk) + ask_after(core) > lane->len) {
                break; /* those behind it are younger */
            }
            if (budget-- == 0) {
                return false;
            }
            bool old = end_of(chunk) + pass_after(core) < lane->len;
            if (lots->count > 0 && old != lots->old) {
                return false; /* marks stand behind all of a lot */
            }
            if (is_to_be_asked(core, lots->lane, chunk)) {
                lots->old = old;
                if (!take_from(core, lots->lane, chunk)) {
                    return false;
                }
                look_at(core, lots->lane, chunk);
            }
            lots->position = end_of(chunk) + 1;
        }
        if (lots->count > 0) {
            return false; /* a lot is of one lane */
        }
    }
    lots->lane = 0;
    lots->position = 0;
    return true;
}

static void ask(struct core *core)
{
    struct lots *lots = &core->reclaim.lots;
    assert(lots->count > 0 && lots->stage == LOT_NONE);
    const struct task_record *last = table_look(core, &lots->items[lots->count - 1]);
    const struct lane_record *lane = &core->gossip.lanes[last->lane];
    lots->marks =
        find_marks(core, lane, last->lane_position, lots->items + lots->count);
    lots->number++;
    lots->stage = LOT_ASKED;
    lots->answers_open = core->member_count - 1;
    for (uint32_t i = 0; i < lots->count; i++) {
        lots->said[i] = 0;
    }
    FOR_MEMBERS(core, rank)
    {
        struct message *message =
            rank != core->rank ? out_send(core, rank, MESSAGE_LOT, NULL) : NULL;
        moot_hash *items =
            message != NULL
                ? out_borrow(core, (lots->count + lots->marks) * sizeof(*items))
                : NULL;
        if (items == NULL) {
            continue;
        }
        for (uint32_t i = 0; i < lots->count + lots->marks; i++) {
            items[i] = lots->items[i];
        }
        message->u.lot = (struct message_lot){.what = LOT_ASK,
                                              .number = lots->number,
                                              .hashes = items,
                                              .count = lots->count + lots->marks,
                                              .marks = lots->marks};
    }
}

static bool make_room(struct core *core)
{
    struct lots *lots = &core->reclaim.lots;
    if (lots->items == NULL) {
        lots->items = core_alloc(core, (LOT_TASKS + LOT_MARKS) * sizeof(*lots->items));
        lots->said = core_alloc(core, LOT_TASKS);
    }
    return !core->broken;
}

static bool may_ask(const struct core *core)
{
    const struct lots *lots = &core->reclaim.lots;
    return lots->on && lots->stage == LOT_NONE && core->options.lot_after > 0 &&
           core->membership.settled && !core->step.closed &&
           !core->membership.leave.going && reclaim_is_on(core) &&
           core->member_count > 1 && lots->looked_len != core->gossip.roll_len;
}

void lots_turn(struct core *core)
{
    struct lots *lots = &core->reclaim.lots;
    if (core->gossip.differs && reclaim_is_on(core) && core->options.lot_after > 0) {
        lots_begin(core);
    }
    if (!may_ask(core) || core->now_ns < lots->again_ns || !make_room(core)) {
        return;
    }
    lots->count = 0;
    uint64_t len = core->gossip.roll_len;
    if (gather(core)) {
        lots->looked_len = len;
        lots->again_ns = add_ns(core->now_ns, core->options.gossip_period_ns);
    }
    if (lots->count > 0) {
        ask(core);
    }
}

uint64_t lots_deadline(const struct core *core)
{
    return may_ask(core) ? core->reclaim.lots.again_ns : CORE_NEVER;
}

/* --- Answers --------------------------------------------------------------------- */

/* Answers name tasks in the order in which they were asked about. */
static uint32_t note(struct lots *lots, const moot_hash *hash, uint32_t from,
                     uint8_t what)
{
    uint32_t at = from;
    while (at < lots->count && !hash_equal(&lots->items[at], hash)) {
        at++;
    }
    if (at == lots->count) {
        for (at = 0; at < lots->count && !hash_equal(&lots->items[at], hash);) {
            at++;
        }
    }
    if (at < lots->count) {
        lots->said[at] |= what;
    }
    return at < lots->count ? at + 1 : from;
}

static void end_lot(struct core *core)
{
    struct lots *lots = &core->reclaim.lots;
    lots->stage = LOT_NONE;
    lots->count = lots->answers_open = 0;
}

/* Takes out what somebody objects to; the marks follow. */
static void take_out_objected(struct lots *lots)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lots->count; i++) {
        if ((lots->said[i] & LOT_OBJECTED) == 0) {
            lots->said[kept] = lots->said[i];
            lots->items[kept++] = lots->items[i];
        }
    }
    for (uint32_t i = 0; i < lots->marks; i++) {
        lots->items[kept + i] = lots->items[lots->count + i];
    }
    lots->count = kept;
}

static void tell_all_to_bind(struct core *core)
{
    struct lots *lots = &core->reclaim.lots;
    take_out_objected(lots);
    if (lots->count == 0) {
        end_lot(core);
        return;
    }
    lots->stage = LOT_BOUND;
    lots->answers_open = core->member_count;
    lots->all_agree = true;
    lots->sent = lots->received = 0;
    lots->name = lot_name(lots->items, lots->count);
    FOR_MEMBERS(core, rank)
    {
        moot_hash *items =
            out_borrow(core, (lots->count + lots->marks) * sizeof(*items));
        struct message *message =
            items != NULL ? agenda_send(core, rank, MESSAGE_LOT) : NULL;
        if (message == NULL) {
            return;
        }
        for (uint32_t i = 0; i < lots->count + lots->marks; i++) {
            items[i] = lots->items[i];
        }
        message->u.lot = (struct message_lot){.what = LOT_BIND,
                                              .number = lots->number,
                                              .hashes = items,
                                              .count = lots->count + lots->marks,
                                              .marks = lots->marks};
    }
}

void lot_take_objections(struct core *core, const struct message_lot *said)
{
    struct lots *lots = &core->reclaim.lots;
    assert(said->what == LOT_OBJECT);
    if (lots->stage != LOT_ASKED || said->number != lots->number) {
        return;
    }
    uint32_t objected = said->count - said->marks, at = 0;
    for (uint32_t i = 0; i < objected; i++) {
        at = note(lots, &said->hashes[i], at, LOT_OBJECTED);
    }
    for (uint32_t i = said->count; i-- > objected;) {
        at = note(lots, &said->hashes[i], i + 1 == said->count ? 0 : at, LOT_LACKED);
    }
    if (--lots->answers_open == 0) {
        tell_all_to_bind(core);
    }
}

/* The owner counts them for all: it knows who lacks them. */
static void count_common(struct core *core, const struct lots *lots)
{
    for (uint32_t i = 0; i < lots->count; i++) {
        if ((lots->said[i] & LOT_LACKED) != 0) {
            core->stats.partial++;
        } else {
            core->stats.common++;
        }
    }
}

bool lot_take_answer(struct core *core, const struct message_released *said)
{
    struct lots *lots = &core->reclaim.lots;
    if (lots->stage != LOT_BOUND || said->round != lots->number ||
        said->count != lots->name.count ||
        !rollsum_equal(&said->sum, &lots->name.sum)) {
        return false;
    }
    lots->all_agree = lots->all_agree && said->ready;
    lots->sent += said->sent;
    lots->received += said->received;
    if (--lots->answers_open > 0) {
        return true;
    }
    bool still = lots->sent == lots->received || MUTANT(LOTFLYING);
    bool goes = (lots->all_agree || MUTANT(LOTEARLY)) && still;
    const struct chunk_name name = lots->name;
    uint64_t round = lots->number;
    if (goes) {
        count_common(core, lots);
    }
    end_lot(core);
    FOR_MEMBERS(core, rank)
    {
        reclaim_say(core, rank, goes ? RELEASED_CHUNK_DROP : RELEASED_CHUNK_KEEP, &name,
                    (struct message_released){.round = round});
    }
    return true;
}

void lots_enter_view(struct core *core)
{
    end_lot(core);
    core->reclaim.lots.looked_len = 0; /* what was asked for is asked for again */
}
