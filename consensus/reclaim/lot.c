/* lot.c - what goes task by task, because ranks differ (G6): as any member sees it.
 *
 * A chunk that does not equal all members' is dropped by nobody (reclaim.c).  Where
 * ranks skip tasks, or spawn them in another order, that is soon every chunk.  So the
 * owner of tasks in such chunks, when they stand far enough behind the end of its lane,
 * asks all about a *lot* of them (lot_owner.c):
 *
 *     LOT_ASK       the owner: would you let these go?
 *     LOT_OBJECT    each: not these, which are used here, or not spawned yet
 *     LOT_BIND      the owner: then let go of the rest
 *     CHUNK_ANSWER  each; from a yes on they are leaving here, until the
 *     CHUNK_DROP    outcome: forget them,
 *     CHUNK_KEEP    or do not
 *
 * From LOT_BIND on a lot is what an equal chunk is: it has a name, what comes about its
 * tasks meanwhile is kept back, messages are counted, and a new view asks what came of
 * it.
 *
 * A rank that lacks a task lets it go when it has declined it or *passed* it: its
 * program has spawned one of the lot's marks, which stand a window behind all of the
 * lot on the owner's lane.  So it is alignment that counts, and no position: who skips
 * tasks, or spawns more than others, has other positions at the same point of its
 * program.
 *
 * The owner asks when the task has ended.  So who is asked knows of its end, and what
 * takes the results of another may be known to have run by that alone.
 */
#include "consensus/reclaim/reclaim_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/ownership/ownership.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

/* --- Names ----------------------------------------------------------------------- */

/* No chunk has such a name, though it may have the same tasks. */
#define LOT_SALT UINT64_C(0x6c6f74736c6f7473)

struct chunk_name lot_name(const moot_hash *hashes, uint32_t count)
{
    struct chunk_name name = {{0, 0}, count};
    for (uint32_t i = 0; i < count; i++) {
        rollsum_add(&name.sum, &hashes[i]);
    }
    name.sum.high ^= LOT_SALT;
    return name;
}

struct lot *lot_find(const struct core *core, const struct chunk_name *name)
{
    struct lot *lot = core->reclaim.lots.first;
    while (lot != NULL && !(lot->name.count == name->count && !lot->stayed &&
                            rollsum_equal(&lot->name.sum, &name->sum))) {
        lot = lot->next;
    }
    return lot;
}

/* --- May it go? ------------------------------------------------------------------ */

/* The program has spawned it; what the rank runs for another it holds as well. */
static bool has_come_to(const void *known)
{
    const struct task_record *task = known;
    return is_stub(known) ||
           (task->held && (task->position != 0 || MUTANT(LOTADOPTED)));
}

/* This rank's program is a window past the lot. */
bool lot_is_passed(const struct core *core, const struct message_lot *lot)
{
    for (uint32_t i = lot->count - lot->marks; i < lot->count; i++) {
        const void *known = table_look(core, &lot->hashes[i]);
        if (known != NULL && has_come_to(known)) {
            return true;
        }
    }
    return MUTANT(LOTPASSED);
}

/* Its takers have run, and who would make them again is known to have no use for
 * that. */
static bool takers_are_over(const struct task_record *task)
{
    for (const struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        const struct task_record *to = edge_to(edge);
        bool ended = release_has_ended(to);
        bool over =
            to->position == 0 ? ended : to->let_go && (ended || to->owner_asked);
        if (!over && !MUTANT(LOTFED)) {
            return false;
        }
    }
    return true;
}

/* As its chair, which lacks it, this rank has given it to one who holds it. */
static bool is_given(const struct core *core, const struct task_record *task)
{
    return task->finder || task->chair != core->rank || release_has_ended(task) ||
           (task->rec != core->rank && rankset_has(&core->members, task->rec));
}

static bool lacking_lets_go(const struct core *core, const struct task_record *task,
                            bool passed)
{
    assert(!task->held);
    bool used = task->named && !task->let_go;
    return (passed || task->declined) && !used && is_given(core, task) &&
           (task->requests == NULL ||
            (!task->requests->balloting && !task->requests->undecided));
}

static bool is_to_chair(const struct core *core, const moot_hash *hash)
{
    return !hash_has(hash, MOOT_HASH_CANDIDATES) &&
           placement_chair(hash, &core->members, NULL) == core->rank;
}

bool lot_lets_go(const struct core *core, const struct task_record *task, bool passed)
{
    bool ends = task->scope != NULL && task->scope->dropping;
    if (task->lot || ends || reclaim_is_leaving(core, task) ||
        !release_is_unused(task) || !takers_are_over(task)) {
        return false;
    }
    return task->held
               ? task->position != 0 && (task->let_go || MUTANT(LOTHELD)) &&
                     release_is_seen_to(core, task) && !requests_is_open(core, task)
               : lacking_lets_go(core, task, passed);
}

/* `task`: its record, or NULL. */
static bool goes(const struct core *core, const moot_hash *hash,
                 const struct task_record *task, bool passed)
{
    if (scope_is_dropped(core, hash)) {
        return false;
    }
    return task != NULL ? lot_lets_go(core, task, passed)
                        : passed && !is_to_chair(core, hash);
}

static bool may_agree(const struct core *core)
{
    return core->membership.settled && !core->step.closed && !core->broken &&
           !core->membership.leave.going && reclaim_is_on(core) &&
           core->options.lot_after > 0;
}

/* --- Asked ----------------------------------------------------------------------- */

void lots_begin(struct core *core)
{
    if (!core->reclaim.lots.on) {
        core->reclaim.lots.on = true;
        stub_expand_all(core); /* what takes a result is to be known */
    }
}

/* Their records, or NULL for who has none. */
static struct task_record **find_all(struct core *core, const moot_hash *hashes,
                                     uint32_t count)
{
    struct task_record **found = out_borrow(core, (count + 1) * sizeof(*found));
    for (uint32_t i = 0; i < count && found != NULL; i++) {
        if (i + EXPECT_FAR_AHEAD < count) {
            table_expect(core, &hashes[i + EXPECT_FAR_AHEAD]);
        }
        found[i] = table_find(core, &hashes[i]);
    }
    return found;
}

/* Behind those that this rank objects to it names those that it lacks. */
static void answer(struct core *core, uint32_t from, const struct message_lot *lot)
{
    assert(from != core->rank && lot->what == LOT_ASK);
    uint32_t tasks = lot->count - lot->marks, objected = 0, lacked = 0;
    moot_hash *said = out_borrow(core, (lot->count + 1) * sizeof(*said));
    struct task_record **found = find_all(core, lot->hashes, tasks);
    bool passed = lot_is_passed(core, lot), may = may_agree(core);
    if (said == NULL || found == NULL) {
        return;
    }
    for (uint32_t i = 0; i < tasks; i++) {
        if (found[i] != NULL && found[i]->held) {
            found[i]->owner_asked = true;
        }
    }
    for (uint32_t i = 0; i < tasks; i++) {
        if (!may || !goes(core, &lot->hashes[i], found[i], passed)) {
            said[objected++] = lot->hashes[i];
        } else if (found[i] == NULL || !found[i]->held) {
            said[tasks - ++lacked] = lot->hashes[i];
        }
    }
    struct message *message = out_send(core, from, MESSAGE_LOT, NULL);
    if (message == NULL) {
        return;
    }
    for (uint32_t i = 0; i < lacked; i++) {
        said[objected + i] = said[tasks - lacked + i];
    }
    message->u.lot = (struct message_lot){.what = LOT_OBJECT,
                                          .number = lot->number,
                                          .hashes = said,
                                          .count = objected + lacked,
                                          .marks = lacked};
}

/* From now on the tasks are leaving.  Who lacks one keeps a record of it as long, so
 * that it is not spawned meanwhile. */
static bool set_leaving(struct core *core, struct lot *lot,
                        struct message_released *said)
{
    assert(core->reclaim.drop.counts && lot->count > 0);
    for (uint32_t i = 0; i < lot->count; i++) {
        struct task_record *task = table_enter(core, &lot->hashes[i]);
        if (task == NULL) {
            return false;
        }
        release_touch(core, task);
        task->lot = true;
        said->sent += task->said;
        said->received += task->heard;
    }
    lot->next = core->reclaim.lots.first;
    core->reclaim.lots.first = lot;
    core->reclaim.drop.leaving++;
    return true;
}

static struct lot *lot_of(struct core *core, const struct message_lot *said)
{
    uint32_t count = said->count - said->marks;
    struct lot *lot = core_alloc(core, sizeof(*lot) + count * sizeof(lot->hashes[0]));
    if (lot != NULL) {
        lot->count = count;
        lot->name = lot_name(said->hashes, count);
        for (uint32_t i = 0; i < count; i++) {
            lot->hashes[i] = said->hashes[i];
        }
    }
    return lot;
}

static void bind(struct core *core, uint32_t from, const struct message_lot *said)
{
    assert(said->what == LOT_BIND);
    uint32_t tasks = said->count - said->marks;
    struct message_released answer = {.round = said->number, .ready = may_agree(core)};
    const struct chunk_name name = lot_name(said->hashes, tasks);
    bool passed = lot_is_passed(core, said);
    struct task_record **found = find_all(core, said->hashes, tasks);
    for (uint32_t i = 0; i < tasks && found != NULL && answer.ready; i++) {
        answer.ready = goes(core, &said->hashes[i], found[i], passed);
    }
    struct lot *lot = answer.ready ? lot_of(core, said) : NULL;
    if (lot != NULL && !set_leaving(core, lot, &answer)) {
        free(lot);
        return; /* the core is broken */
    }
    if (tasks > 0) {
        reclaim_say(core, from, RELEASED_CHUNK_ANSWER, &name, answer);
    }
}

/* --- The outcome ----------------------------------------------------------------- */

static void take_out(struct core *core, struct lot *lot)
{
    struct lot **link = &core->reclaim.lots.first;
    while (*link != lot) {
        link = &(*link)->next;
    }
    *link = lot->next;
    core->reclaim.drop.leaving--;
    agenda_add_due(core, AGENDA_REPORTS); /* they may have waited for this */
}

void lot_drop(struct core *core, struct lot *lot)
{
    take_out(core, lot);
    for (uint32_t i = 0; i < lot->count && !core->broken; i++) {
        struct task_record *task = table_look(core, &lot->hashes[i]);
        if (task != NULL && !is_stub(task) && task->lot) {
            forget_of_lot(core, task);
        }
    }
    free(lot);
}

/* In a view that waits for it, it is yet to be reported. */
void lot_keep(struct core *core, struct lot *lot)
{
    for (uint32_t i = 0; i < lot->count; i++) {
        struct task_record *task = table_find(core, &lot->hashes[i]);
        if (task != NULL) {
            task->lot = false;
            release_count(core, task);
        }
    }
    take_out(core, lot);
    if (!core->membership.mail_waits) {
        free(lot);
        return;
    }
    lot->stayed = true;
    lot->next = core->reclaim.lots.first;
    core->reclaim.lots.first = lot;
}

struct task_record *lot_next_stayed(struct core *core)
{
    for (struct lot **link = &core->reclaim.lots.first; *link != NULL;) {
        struct lot *lot = *link;
        while (lot->stayed && lot->reported < lot->count) {
            struct task_record *task = table_find(core, &lot->hashes[lot->reported++]);
            if (task != NULL) {
                return task;
            }
        }
        if (lot->stayed) {
            *link = lot->next;
            free(lot);
        } else {
            link = &lot->next;
        }
    }
    return NULL;
}

/* --- Messages -------------------------------------------------------------------- */

/* A holder says that the owner of these has not asked for long: there may be none.  Of
 * each that is a message, which counts; to a chair that has passed it, a motion that
 * wants nothing (T1a). */
static void take_told(struct core *core, uint32_t from, const struct message_lot *lot)
{
    assert(from != core->rank);
    const struct message_motion motion = {
        .holds = true, .want = WANT_NOTHING, .need = NEED_NONE};
    bool passed = may_agree(core) && lot_is_passed(core, lot) && !MUTANT(LOTUNTOLD);
    for (uint32_t i = 0; i + lot->marks < lot->count && !core->broken; i++) {
        const moot_hash *hash = &lot->hashes[i];
        if (scope_is_dropped(core, hash) || reclaim_once_is_gone(core, hash)) {
            continue;
        }
        struct task_record *task = table_enter(core, hash);
        if (task == NULL) {
            return;
        }
        release_touch(core, task);
        task->heard++;
        if (passed && !task->held && !task->lot && task->rec == NOBODY) {
            task->passed = true;
            chair_on_motion(core, from, task, &motion);
        }
    }
}

/* As if this rank had dropped them itself. */
static void take_gone(struct core *core, const struct message_lot *lot)
{
    for (uint32_t i = 0; i < lot->count && !core->broken; i++) {
        const moot_hash *hash = &lot->hashes[i];
        if (hash_has(hash, MOOT_HASH_ONCE) && !reclaim_once_is_gone(core, hash)) {
            reclaim_note_once(core, hash);
        }
    }
}

void lot_on_lot(struct core *core, uint32_t from, const struct message_lot *lot)
{
    assert(lot->marks <= lot->count && lot->count <= LIMIT_LOT_HASHES);
    if (reclaim_is_on(core)) {
        lots_begin(core);
    }
    switch (lot->what) {
    case LOT_ASK:
        answer(core, from, lot);
        break;
    case LOT_BIND:
        bind(core, from, lot);
        break;
    case LOT_OBJECT:
        lot_take_objections(core, lot);
        break;
    case LOT_TELL:
        take_told(core, from, lot);
        break;
    case LOT_GONE:
        take_gone(core, lot);
        break;
    case LOT_END:
        break;
    }
}

/* --- Views ----------------------------------------------------------------------- */

static void tell_gone(struct core *core, uint32_t to)
{
    const moot_hash *hash;
    size_t at = 0;
    do {
        moot_hash *hashes = out_borrow(core, LIMIT_LOT_HASHES * sizeof(*hashes));
        uint32_t count = 0;
        while (hashes != NULL && count < LIMIT_LOT_HASHES &&
               (hash = reclaim_next_once(core, &at)) != NULL) {
            hashes[count++] = *hash;
        }
        struct message *message =
            count > 0 ? out_send(core, to, MESSAGE_LOT, NULL) : NULL;
        if (message != NULL) {
            message->u.lot = (struct message_lot){
                .what = LOT_GONE, .hashes = hashes, .count = count};
        }
    } while (!core->broken && at < core->state.once_room);
}

/* A member of the last view that settled has heard it in that one. */
static bool may_not_know(const struct core *core, uint32_t rank)
{
    return rank != core->rank && rank >= core->membership.first_size &&
           (core->membership.past_count == 0 ||
            !rankset_has(&core->membership.past[0].members, rank));
}

void lots_tell_gone(struct core *core)
{
    FOR_MEMBERS(core, rank)
    {
        if (core->state.once_count > 0 && may_not_know(core, rank) &&
            !MUTANT(GONEUNTOLD)) {
            tell_gone(core, rank);
        }
    }
}

void lots_doubt(struct core *core)
{
    uint32_t lowest = rankset_next(&core->members, 0);
    for (const struct lot *lot = core->reclaim.lots.first; lot != NULL;
         lot = lot->next) {
        reclaim_say(core, lowest, RELEASED_CHUNK_DOUBT, &lot->name,
                    (struct message_released){0});
    }
}

void lots_release(struct core *core)
{
    while (core->reclaim.lots.first != NULL) {
        struct lot *lot = core->reclaim.lots.first;
        core->reclaim.lots.first = lot->next;
        free(lot);
    }
    free(core->reclaim.lots.items);
    free(core->reclaim.lots.said);
}
