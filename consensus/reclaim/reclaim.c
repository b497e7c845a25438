/* reclaim.c - what all members have released leaves before its scope ends (G5).
 *
 * A program that never opens a scope, or stays in one for long, releases its handles as
 * it goes.  What it has released still costs a record on every rank, because a chair
 * that forgot one would let the task run again.  So all members forget together, and
 * the unit is a chunk of the roll, which is known to be equal by the gossip that goes
 * anyway:
 *
 *     CHUNK_READY   each member, when it knows that all members hold the chunk, and all
 *                   of it is released here
 *     CHUNK_ASK     the lowest, when all have said so: is it still so?
 *     CHUNK_ANSWER  each; what it says then stays so until it has heard the
 *     CHUNK_DROP    outcome: forget it,
 *     CHUNK_KEEP    or do not
 *
 * A task is *released* here if the program has let it go; nothing here waits for it,
 * asks for it or will still read it; its result is known here, or its chair, which
 * holds it, is another rank and sees to it, or who this rank has yielded it to does;
 * and each consumer has its result, or is in a chunk that all hold.  The lowest member
 * (reclaim_round.c) asks only once the consumers' chunks are offered by all as well:
 * they have run.  Together with equal sums of the messages said and heard about the
 * chunk (Mattern, 1987) nothing about it is on its way.
 *
 * Between answer and outcome the chunk is *leaving*: what comes about it from ranks
 * that know the outcome already is kept until it is known here, and the host does not
 * let the program name its tasks (core_is_leaving).  Afterwards a pure hash that is
 * spawned again is a new task; of a once task 16 bytes stay, and a refusal.
 *
 * A new view asks first and reports then: a member with a chunk that is leaving says
 * CHUNK_DOUBT, and if anyone has dropped it, all do.  All had answered, so that none of
 * them needs it; and a report about it could only mislead a chair that has forgotten.
 *
 * A member that is leaving the moot (leave.c) agrees to nothing more; it goes when it
 * has heard all outcomes.
 *
 * Where newcomers may join at any moment (they run the program from its beginning), in
 * strict mode, and among so many members that not everyone speaks with everyone,
 * nothing is dropped before its scope has ended.
 */
#include "consensus/reclaim/reclaim_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

enum { NEWS_MIN = 256, LOOK_TASKS_MAX = 2048, LOOK_CHUNKS_MAX = 128, OFFER_MIN = 512 };

/* --- Once tasks that are gone ---------------------------------------------------- */

void reclaim_late(struct core *core, uint32_t from, const struct message *message)
{
    assert(message_is(message->type, MESSAGE_IS_TASK));
    assert(hash_has(&message->hash, MOOT_HASH_ONCE));
    core->stats.late++;
    if (message->type != MESSAGE_MOTION || message->u.motion.want == WANT_NOTHING) {
        return;
    }
    struct message *answer = out_send(core, from, MESSAGE_VERDICT, NULL);
    if (answer != NULL) {
        answer->hash = message->hash;
        answer->u.verdict.code = MOOT_ERR_RESULT_LOST;
    }
}

/* --- Is it released here? -------------------------------------------------------- */

/* While there are stubs a record does not know all that takes its result, and a stub
 * nothing of that: then all members must hold all between the chunk and the last that
 * takes from it.  Where that is not all there is to it, records are made. */
static bool may_be_looked_at(struct core *core, uint32_t number,
                             const struct chunk *chunk)
{
    if (chunk->facts.feeds_elsewhere) {
        stub_expand_all(core);
    }
    bool whole = core->state.stub_count + core->state.away_count == 0;
    return whole || release_takers_are_held(core, number, chunk);
}

static bool is_released(const struct core *core, const void *known)
{
    return is_stub(known) ? (((const struct stub *)known)->state & STUB_LET_GO) != 0
                          : release_is_released(core, known);
}

static bool look_at_all(const struct core *core, const struct lane_record *lane,
                        const struct chunk *chunk, uint64_t *sent, uint64_t *received)
{
    *sent = *received = 0;
    for (uint32_t i = 0; i < chunk->count; i++) {
        const void *known = lane_known(lane, chunk->first + i);
        lane_expect(lane, chunk->first + i);
        if (known == NULL || !is_released(core, known)) {
            return false;
        }
        if (!is_stub(known)) { /* of which nothing was said or heard */
            const struct task_record *task = known;
            *sent += task->said;
            *received += task->heard;
        }
    }
    return true;
}

static bool all_released(struct core *core, uint32_t number, const struct chunk *chunk,
                         uint64_t *sent, uint64_t *received)
{
    if (release_is_all_quiet(core, number, chunk)) {
        *sent = chunk->facts.said;
        *received = chunk->facts.heard;
        return true;
    }
    return may_be_looked_at(core, number, chunk) &&
           look_at_all(core, &core->gossip.lanes[number], chunk, sent, received);
}

/* --- Saying so ------------------------------------------------------------------- */

void reclaim_say(struct core *core, uint32_t to, enum released_what what,
                 const struct chunk_name *name, struct message_released said)
{
    assert(what >= RELEASED_CHUNK_READY && name->count > 0);
    assert(rankset_has(&core->members, to));
    said.what = what;
    said.count = name->count;
    said.sum = name->sum;
    struct message *message = agenda_send(core, to, MESSAGE_RELEASED);
    if (message != NULL) {
        message->u.released = said;
    }
}

static uint32_t lowest(const struct core *core)
{
    return rankset_next(&core->members, 0);
}

static struct chunk_name name_of(const struct chunk *chunk)
{
    return (struct chunk_name){chunk->sum, chunk->count};
}

/* Where the count has not moved.  Goes on where it stopped before: what was released
 * then seldom is not any more, and is looked at again before it is answered for. */
static bool is_found_released(struct core *core, uint32_t number, struct chunk *chunk,
                              uint32_t *tasks)
{
    assert(chunk->stage == CHUNK_STAYS && chunk->looked <= chunk->count);
    const struct lane_record *lane = &core->gossip.lanes[number];
    bool moves = chunk->facts.quiet != chunk->quiet_then;
    core->reclaim.drop.moves |= moves;
    bool looks = !moves && may_be_looked_at(core, number, chunk);
    while (looks && chunk->looked < chunk->count && *tasks != 0) {
        void *known = lane_known(lane, chunk->first + chunk->looked);
        lane_expect(lane, chunk->first + chunk->looked);
        if (!is_released(core, known)) {
            break;
        }
        if (!is_stub(known)) {
            release_count(core, known);
        }
        chunk->looked++;
        (*tasks)--;
    }
    chunk->quiet_then = chunk->facts.quiet;
    return chunk->looked == chunk->count;
}

/* What one look may do. */
struct look {
    bool all;        /* or only what is cut */
    uint64_t offers; /* in tasks, */
    uint32_t tasks;  /* and so many looked at, */
    uint32_t chunks; /* in so many chunks */
};

/* False if it is to be looked at again, from where this look has come to its end. */
static bool look_at(struct core *core, uint32_t number, struct chunk *chunk,
                    struct look *look)
{
    assert(number < core->gossip.lane_count && chunk->count > 0);
    if (chunk->stage != CHUNK_STAYS || chunk->live != chunk->count ||
        !(look->all || chunk->cut) || !roll_all_hold(core, number, chunk)) {
        return true;
    }
    if (!release_is_all_quiet(core, number, chunk) &&
        !(core->reclaim.drop.thorough &&
          is_found_released(core, number, chunk, &look->tasks))) {
        return look->tasks > 0;
    }
    const struct chunk_name name = name_of(chunk);
    chunk->stage = CHUNK_OFFERED;
    look->offers -= look->offers < name.count ? look->offers : name.count;
    reclaim_say(core, lowest(core), RELEASED_CHUNK_READY, &name,
                (struct message_released){0});
    return true;
}

/* What is dropped at once is soon spawned into again, and fits into a cache until then:
 * so no more is offered than there is too much, the oldest first. */
static struct look look_begin(struct core *core)
{
    struct drop *drop = &core->reclaim.drop;
    uint64_t above = core->options.drop_above;
    uint64_t excess = core->stats.tasks > above ? core->stats.tasks - above : 0;
    if (drop->lane == 0 && drop->chunk == 0) {
        drop->moves = false;
        drop->moves_seen = core->state.released_ever;
        drop->thorough =
            core->now_ns >= add_ns(drop->looked_ns, core->options.gossip_period_ns);
    }
    bool some = drop->press == 0 && !drop->thorough;
    return (struct look){
        .all = drop->press > 0 || excess > 0,
        .offers = !some                ? UINT64_MAX
                  : excess > OFFER_MIN ? excess
                                       : OFFER_MIN,
        .tasks = LOOK_TASKS_MAX,
        .chunks = LOOK_CHUNKS_MAX,
    };
}

/* True if it has looked at all, or has found enough. */
static bool look_through(struct core *core)
{
    struct drop *drop = &core->reclaim.drop;
    struct look look = look_begin(core);
    while (drop->lane < core->gossip.lane_count && look.offers > 0) {
        if (drop->chunk >= core->gossip.lanes[drop->lane].chunk_count) {
            drop->lane++;
            drop->chunk = 0;
            continue;
        }
        if (look.tasks == 0 || look.chunks-- == 0) {
            return false;
        }
        const uint32_t at = drop->chunk++;
        if (!look_at(core, drop->lane, &core->gossip.lanes[drop->lane].chunks[at],
                     &look)) {
            drop->chunk = at;
        }
    }
    drop->moves |= look.offers == 0;
    drop->lane = drop->chunk = 0;
    return true;
}

/* Releases counted since this rank looked last: each may let a chunk go. */
static uint64_t news(const struct core *core)
{
    return core->state.released_ever - core->reclaim.drop.news_seen;
}

static bool may_look(const struct core *core)
{
    bool wanted = core->reclaim.drop.press > 0 || core->reclaim.drop.cuts > 0 ||
                  core->stats.tasks > core->options.drop_above;
    return news(core) > 0 && wanted && core->membership.settled && !core->step.closed &&
           !core->membership.leave.going && reclaim_is_on(core);
}

static uint64_t look_due_ns(const struct core *core)
{
    return news(core) >= NEWS_MIN
               ? core->now_ns
               : add_ns(core->reclaim.drop.looked_ns, core->options.gossip_period_ns);
}

void reclaim_turn(struct core *core)
{
    lots_turn(core);
    if (!may_look(core) || look_due_ns(core) > core->now_ns) {
        return;
    }
    struct drop *drop = &core->reclaim.drop;
    if (drop->press > 0 && drop->lane == 0 && drop->chunk == 0) {
        split_own(core);
    }
    if (look_through(core)) {
        drop->looked_ns = drop->thorough ? core->now_ns : drop->looked_ns;
        bool moves = drop->moves || drop->moves_seen != core->state.released_ever;
        bool more = !drop->thorough || moves; /* there may be */
        drop->news_seen = core->state.released_ever - (more ? 1 : 0);
    }
    agenda_add_due(core, AGENDA_ROUND);
}

uint64_t reclaim_deadline(const struct core *core)
{
    uint64_t lots_ns = lots_deadline(core);
    uint64_t look_ns = may_look(core) ? look_due_ns(core) : CORE_NEVER;
    return lots_ns < look_ns ? lots_ns : look_ns;
}

void core_press(struct core *core, uint32_t together)
{
    if (core->reclaim.drop.press == 0 && together > 0) {
        reclaim_news(core);
    }
    core->reclaim.drop.press = MUTANT(PRESSMUTE) ? 0 : together;
}

bool core_lost(const struct core *core, const moot_hash *hash)
{
    return reclaim_once_is_gone(core, hash);
}

HOT void core_let_go(struct core *core, const moot_hash *hash, void *entry)
{
    void *known = entry != NULL ? entry : table_look(core, hash);
    if (is_stub(known)) {
        stub_let_go(core, known);
        return;
    }
    struct task_record *task = known;
    if (task != NULL && !task->let_go) {
        task->let_go = true;
        core->stats.let_go++;
        release_count(core, task);
        reclaim_news(core);
    }
}

void core_name(struct core *core, void *entry)
{
    struct task_record *task = entry;
    assert(!is_stub(task));
    if (!task->held) {
        core->stats.let_go -= task->let_go;
        task->let_go = false;
        task->named = true;
    }
}

/* --- Asked, and until the outcome ------------------------------------------------ */

bool core_is_leaving(const struct core *core, const moot_hash *hash)
{
    const void *known = core->reclaim.drop.leaving > 0 ? table_look(core, hash) : NULL;
    return known != NULL && core_entry_is_leaving(core, known);
}

static void set_leaving(struct core *core, struct chunk *chunk)
{
    assert(chunk->stage != CHUNK_LEAVING && chunk->live == chunk->count);
    assert(core->reclaim.drop.counts);
    struct drop *drop = &core->reclaim.drop;
    uint64_t last = chunk->first + chunk->count - 1;
    chunk->stage = CHUNK_LEAVING;
    if (drop->leaving++ == 0 || last > drop->leaving_last) {
        drop->leaving_last = last;
    }
}

static void set_staying(struct core *core, struct chunk *chunk)
{
    assert(chunk->stage != CHUNK_LEAVING || core->reclaim.drop.leaving > 0);
    if (chunk->stage == CHUNK_LEAVING) {
        core->reclaim.drop.leaving--;
        chunk->stayed = core->membership.mail_waits;
        agenda_add_due(core, AGENDA_REPORTS);
    }
    chunk->stage = CHUNK_STAYS;
    chunk->looked = 0;
}

struct chunk *reclaim_next_stayed(struct core *core, uint32_t *number)
{
    for (*number = 0; *number < core->gossip.lane_count; ++*number) {
        const struct lane_record *lane = &core->gossip.lanes[*number];
        for (uint32_t i = 0; i < lane->chunk_count; i++) {
            if (lane->chunks[i].stayed) {
                lane->chunks[i].stayed = false;
                return &lane->chunks[i];
            }
        }
    }
    return NULL;
}

bool reclaim_was_recent(const struct core *core, const struct chunk_name *name)
{
    for (uint32_t i = 0; i < core->reclaim.drop.recent_count; i++) {
        const struct chunk_name *one = &core->reclaim.drop.recent[i].name;
        if (one->count == name->count && rollsum_equal(&one->sum, &name->sum)) {
            return true;
        }
    }
    return false;
}

static void answer(struct core *core, uint32_t from,
                   const struct message_released *asked)
{
    assert(asked->what == RELEASED_CHUNK_ASK);
    const struct chunk_name name = {asked->sum, (uint32_t)asked->count};
    uint32_t number;
    struct chunk *chunk = roll_find_chunk(core, &name, &number);
    /* It has been so since an older view; or what is here came after what was dropped.
     */
    bool leaving = (chunk != NULL && chunk->stage == CHUNK_LEAVING) ||
                   lot_find(core, &name) != NULL;
    bool dropped = !leaving && reclaim_was_recent(core, &name);
    struct message_released said = {
        .round = asked->round, .ready = leaving, .alike = dropped};
    if (chunk != NULL && !leaving && core->membership.settled && !core->step.closed &&
        !core->membership.leave.going && reclaim_is_on(core)) {
        said.ready = roll_all_hold(core, number, chunk) &&
                     all_released(core, number, chunk, &said.sent, &said.received);
        if (said.ready) {
            set_leaving(core, chunk);
        }
    }
    reclaim_say(core, from, RELEASED_CHUNK_ANSWER, &name, said);
}

/* What came about a chunk while it was leaving: taken up behind this. */
static void take_up_held(struct core *core)
{
    struct drop *drop = &core->reclaim.drop;
    if (drop->held_first != NULL) {
        held_add(core, drop->held_first, drop->held_last);
        drop->held_first = NULL;
        drop->held_last = &drop->held_first;
    }
}

/* Who hears of a round's outcome, whatever it is, knows that all have heard those of
 * the one before. */
static void forget_recent(struct core *core, const struct recent *now)
{
    struct drop *drop = &core->reclaim.drop;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < drop->recent_count && core->membership.settled; i++) {
        const struct recent *one = &drop->recent[i];
        bool same_round =
            one->from == now->from && one->lot == now->lot && one->round == now->round;
        bool another = one->from != now->from || one->lot != now->lot;
        if (one->epoch == now->epoch && (same_round || another)) {
            drop->recent[kept++] = *one;
        }
    }
    drop->recent_count = core->membership.settled ? kept : drop->recent_count;
}

static void note_recent(struct core *core, const struct recent *one)
{
    assert(one->name.count > 0);
    struct drop *drop = &core->reclaim.drop;
    if (core_grow(core, &drop->recent, &drop->recent_room, drop->recent_count + 1,
                  sizeof(*drop->recent))) {
        drop->recent[drop->recent_count++] = *one;
    }
}

static void open_all_announced(struct core *core)
{
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        announced_open(core->state.known[k]);
    }
}

static void outcome_of_lot(struct core *core, struct lot *lot, bool drops)
{
    if (drops) {
        lot_drop(core, lot);
    } else {
        lot_keep(core, lot);
        reclaim_news(core);
    }
    take_up_held(core);
}

static void outcome(struct core *core, uint32_t from,
                    const struct message_released *said)
{
    assert(said->what == RELEASED_CHUNK_DROP || said->what == RELEASED_CHUNK_KEEP);
    const struct chunk_name name = {said->sum, (uint32_t)said->count};
    bool drops = said->what == RELEASED_CHUNK_DROP;
    uint32_t number;
    struct chunk *chunk = roll_find_chunk(core, &name, &number);
    struct lot *lot = lot_find(core, &name);
    bool leaving = chunk != NULL && chunk->stage == CHUNK_LEAVING;
    const struct recent one = {.name = name,
                               .from = from,
                               .lot = lot != NULL,
                               .round = said->round,
                               .epoch = core->epoch};
    forget_recent(core, &one);
    if (lot != NULL) {
        if (drops) {
            note_recent(core, &one);
        }
        outcome_of_lot(core, lot, drops);
    } else if (drops && (leaving || MUTANT(DROPEARLY)) && chunk != NULL) {
        note_recent(core, &one);
        forget_chunk(core, number, chunk);
    } else if (leaving) {
        set_staying(core, chunk);
        open_all_announced(core);
        reclaim_news(core);
    } else if (chunk != NULL && !drops) {
        set_staying(core, chunk);
        reclaim_news(core);
    }
    if (leaving && !drops) {
        take_up_held(core);
    }
}

/* Nothing is left of it, because it was dropped or its scope has ended. */
void reclaim_left(struct core *core, struct chunk *chunk)
{
    assert(chunk->live == 0);
    if (chunk->stage == CHUNK_LEAVING) {
        set_staying(core, chunk);
        take_up_held(core);
    }
}

void reclaim_keep_back(struct core *core, struct held *held)
{
    assert(core->reclaim.drop.leaving > 0 && held->next == NULL);
    struct drop *drop = &core->reclaim.drop;
    if (drop->held_first == NULL) {
        drop->held_last = &drop->held_first;
    }
    *drop->held_last = held;
    drop->held_last = &held->next;
}

void reclaim_take(struct core *core, uint32_t from, const struct message_released *said)
{
    assert(said->what >= RELEASED_CHUNK_READY);
    switch ((int)said->what) {
    case RELEASED_CHUNK_ASK:
        answer(core, from, said);
        break;
    case RELEASED_CHUNK_DROP:
    case RELEASED_CHUNK_KEEP:
        outcome(core, from, said);
        break;
    default:
        reclaim_take_account(core, from, said);
    }
}

/* --- Views ----------------------------------------------------------------------- */

/* What was offered is offered anew; what is leaving is asked for. */
void reclaim_enter_view(struct core *core)
{
    assert(!core->membership.settled);
    reclaim_forget_offers(core);
    lots_enter_view(core);
    lots_tell_gone(core);
    release_forget_counts(core);
    for (uint32_t number = 0; number < core->gossip.lane_count; number++) {
        struct lane_record *lane = &core->gossip.lanes[number];
        for (uint32_t i = 0; i < lane->chunk_count; i++) {
            struct chunk *chunk = &lane->chunks[i];
            chunk->all_ready = false;
            if (chunk->stage == CHUNK_OFFERED) {
                set_staying(core, chunk);
            }
            chunk->looked = 0;
            chunk->lot_at = 0;
        }
    }
    if (reclaim_is_on(core) && !MUTANT(ROLLUNTOLD)) {
        roll_enter_view(core);
    }
    reclaim_news(core);
}

/* Once all of this view has been entered: an outcome may come at once. */
void reclaim_doubt(struct core *core)
{
    assert(!core->membership.settled && core->reclaim.drop.leaving > 0);
    for (uint32_t number = 0; number < core->gossip.lane_count; number++) {
        for (uint32_t i = 0; i < core->gossip.lanes[number].chunk_count; i++) {
            const struct chunk *chunk = &core->gossip.lanes[number].chunks[i];
            if (chunk->stage == CHUNK_LEAVING) {
                const struct chunk_name name = name_of(chunk);
                reclaim_say(core, lowest(core), RELEASED_CHUNK_DOUBT, &name,
                            (struct message_released){0});
            }
        }
    }
    lots_doubt(core);
}

void reclaim_release(struct core *core)
{
    struct drop *drop = &core->reclaim.drop;
    reclaim_forget_offers(core);
    lots_release(core);
    free(drop->offers);
    free(drop->recent);
    take_up_held(core); /* freed with the others */
}

void reclaim_forget_all(struct core *core)
{
    const uint32_t press = core->reclaim.drop.press; /* the host's own word */
    reclaim_release(core);
    free(core->reclaim.ended);
    core->reclaim = (struct core_reclaim){.ended_ever = core->reclaim.ended_ever};
    reclaim_begin(core);
    core->reclaim.drop.press = press;
}

void reclaim_begin(struct core *core)
{
    assert(core->reclaim.drop.leaving == 0 && core->reclaim.drop.cuts == 0);
    struct drop *drop = &core->reclaim.drop;
    drop->held_last = &drop->held_first;
    drop->counts = core->options.drop_above > 0 && core->options.mode == CORE_REPAIR;
}

bool core_entry_is_leaving(const struct core *core, const void *entry)
{
    return is_stub(entry)
               ? reclaim_place_is_leaving(core, ((const struct stub *)entry)->place)
               : reclaim_is_leaving(core, entry);
}
