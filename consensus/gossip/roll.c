/* roll.c - what this rank has registered, and what its peers say they have.
 *
 * PROTOCOL.md G1-G4.  Rolls are compared lane by lane, chunk by chunk: a chunk costs
 * one message of some forty bytes whatever it holds, and ranks that agree never
 * exchange a hash.  What is learnt is kept in three grains, finest wins last:
 *
 *   lane.agreed[r]   r's lane equals ours up to this position  (agreeing ranks: all)
 *   chunk.holders    r has an equal chunk, elsewhere in its roll or behind a gap
 *   task.holders     r said so of this task (motions, exchanged hashes)
 *
 * No announcement crosses epochs, and one that was lost would stay a gap behind which
 * nothing agrees any more.  So where chunks are dropped (reclaim.c) a rank announces
 * its roll again when it enters a view, before it reports: who has settled has heard
 * it, and drops nothing before.
 *
 * An announcement that matches nothing of ours waits in peer.announced: usually we are
 * merely slower.  Its hashes are asked for only when they decide something: when the
 * announcer's roll is final (T1a), or in strict mode.
 */
#include "consensus/gossip/gossip_private.h"

#include "consensus/signature/signature.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct lane_record *lane_enter(struct core *core, uint32_t number)
{
    if (number >= LIMIT_LANES) {
        return NULL;
    }
    if (number >= core->gossip.lane_count) {
        size_t size = (size_t)(number + 1) * sizeof(struct lane_record);
        struct lane_record *grown = core_resize(core, core->gossip.lanes, size);
        if (grown == NULL) {
            return NULL;
        }
        core->gossip.lanes = grown;
        while (core->gossip.lane_count <= number) {
            core->gossip.lanes[core->gossip.lane_count++] =
                (struct lane_record){.state = CORE_LANE_RUNNING, .open_first = 1};
        }
    }
    return &core->gossip.lanes[number];
}

void roll_release(struct core *core)
{
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        struct lane_record *lane = &core->gossip.lanes[i];
        for (uint32_t c = 0; c < lane->chunk_count; c++) {
            rankset_release(&lane->chunks[c].holders);
        }
        free(lane->chunks);
        free(lane->pages);
        free(lane->agreed);
        disseminate_forget(lane);
    }
    free(core->gossip.lanes);
    free(core->gossip.by_sum);
}

/* --- What is known of peers ------------------------------------------------------ */

bool roll_agrees_so_far(const struct core *core, const struct task_record *task,
                        uint32_t rank)
{
    assert(rank < core->size && rank != core->rank);
    const struct peer *peer = core->state.peers[rank];
    unsigned own_way = CORE_TASK_NESTED | CORE_TASK_HINT | CORE_TASK_ADOPTED;
    if (disseminate_is_on(core) || peer == NULL || peer->state.closed ||
        task->position == 0 || (task->flags & own_way) != 0 ||
        task->evidence != EVIDENCE_CLAIM ||
        task->lane_position <= peer_begins(core, rank, task->lane)) {
        return false;
    }
    for (uint32_t i = 0; i < peer->announced_count; i++) {
        if (peer->announced[i].differs) {
            return false;
        }
    }
    return true;
}

/* Of what has gone nothing is left to be compared: a peer may have announced it too
 * late, when its scope had ended here. */
static uint64_t behind_what_has_gone(const struct lane_record *lane, uint64_t agreed,
                                     uint64_t first)
{
    assert(first <= lane->len + 1);
    while (agreed + 1 < first && lane_known(lane, agreed + 1) == NULL) {
        agreed++;
    }
    return agreed;
}

/* `chunk` is what the tasks are here, or NULL. */
static void agree(struct core *core, const struct announced *what, uint32_t from,
                  struct chunk *chunk)
{
    assert(from != core->rank && what->lane < core->gossip.lane_count);
    assert(what->first + what->count - 1 <= core->gossip.lanes[what->lane].len);
    struct lane_record *lane = &core->gossip.lanes[what->lane];
    if (lane->agreed == NULL) {
        lane->agreed = core_alloc(core, core->size * sizeof(*lane->agreed));
        if (lane->agreed == NULL) {
            return;
        }
    }
    uint64_t *agreed = &lane->agreed[from], last = what->first + what->count - 1;
    const uint64_t behind = roll_compared_behind(core, what->lane, from);
    *agreed = *agreed > behind ? *agreed : behind;
    *agreed = behind_what_has_gone(lane, *agreed, what->first);
    roll_learn_of(core, from);
    if (*agreed + 1 >= what->first) {
        *agreed = last > *agreed ? last : *agreed;
        announced_open(peer_of(core, from)); /* some may be known by that */
        return;
    }
    if (chunk != NULL && !chunk->cut) {
        core->broken |= !rankset_add(&chunk->holders, from);
        return;
    }
    for (uint64_t at = what->first; at <= last; at++) {
        struct task_record *task = lane_task(core, lane, at);
        if (task != NULL && !rankset_add(&task_ext_get(core, task)->holders, from)) {
            core->broken = true;
        }
    }
}

bool roll_sum_of(const struct core *core, const struct lane_record *lane,
                 uint64_t first, uint32_t count, struct rollsum *sum)
{
    assert(count == 0 || first + count - 1 <= lane->len);
    *sum = (struct rollsum){0, 0};
    for (uint64_t at = first; at < first + count; at++) {
        const moot_hash *known = lane_hash(lane, at);
        if (known == NULL) {
            return false;
        }
        moot_hash hash = *known;
        if (core->options.mode == CORE_STRICT) {
            strict_salt(&hash, at);
        }
        rollsum_add(sum, &hash);
    }
    return true;
}

/* Announced before, when it was not whole: it may have been dropped since. */
static bool is_known(const struct core *core, const struct lane_record *lane,
                     uint32_t from, const struct announced *what)
{
    return !disseminate_is_on(core) && lane->agreed != NULL &&
           what->first + what->count - 1 <= lane->agreed[from];
}

/* A piece that is equal here: reclaim/ cuts it likewise, and takes the announcement. */
static bool leave_to_split(struct core *core, uint32_t from, struct announced *what)
{
    what->split = true;
    roll_learn_of(core, from);
    agenda_add_due(core, AGENDA_SPLITS);
    return false;
}

/* True if the announcement matches what we have, and is now known to match. */
static bool resolve(struct core *core, uint32_t from, struct announced *what)
{
    assert(from != core->rank && what->count > 0);
    const struct chunk_name name = {what->sum, what->count};
    uint32_t number;
    struct chunk *chunk = what->partial ? NULL : roll_find_chunk(core, &name, &number);
    bool aligned = chunk != NULL && number == what->lane && chunk->first == what->first;
    /* What leaves all hold: the other has dropped it, and this was spawned since. */
    if (chunk != NULL && chunk->stage == CHUNK_LEAVING && !aligned) {
        chunk = NULL;
    }
    if (chunk != NULL) {
        if (disseminate_is_on(core)) {
            disseminate_learn(core, &core->gossip.lanes[number], chunk, from,
                              what->before);
            return true;
        }
        if (aligned) {
            agree(core, what, from, chunk);
        }
        if (what->cut) {
            return leave_to_split(core, from, what);
        }
        if (!aligned && !chunk->cut && !rankset_add(&chunk->holders, from)) {
            core->broken = true;
        }
        roll_learn_of(core, from);
        return true;
    }
    if (what->lane >= core->gossip.lane_count) {
        return false;
    }
    struct lane_record *lane = &core->gossip.lanes[what->lane];
    if (!what->cut && is_known(core, lane, from, what)) {
        return true;
    }
    if (what->differs || what->first + what->count - 1 > lane->len) {
        return false;
    }
    struct rollsum ours;
    if (!roll_sum_of(core, lane, what->first, what->count, &ours) ||
        !rollsum_equal(&ours, &what->sum)) {
        what->differs = true; /* rolls only grow: these positions will always differ */
        core->gossip.differs = true;
        return false;
    }
    if (disseminate_is_on(core)) {
        disseminate_learn_part(core, lane, from, what);
    } else {
        agree(core, what, from, NULL);
    }
    return !what->cut || leave_to_split(core, from, what);
}

/* Differences of long ago may go: its tasks are dropped one by one (G6), and who does
 * not know that a peer holds one of them only says more than it needs to (T1a). */
enum { DIFFERING_MAX = 256 };
static void forget_oldest(const struct core *core, struct peer *peer)
{
    if (peer->announced_count - peer->open_count <= DIFFERING_MAX ||
        core->options.lot_after == 0 || !reclaim_is_on(core)) {
        return;
    }
    uint32_t oldest = peer->open_count;
    for (uint32_t i = peer->open_count; i < peer->announced_count; i++) {
        if (peer->announced[i].first < peer->announced[oldest].first) {
            oldest = i;
        }
    }
    announced_forget(peer, oldest);
}

static void resolve_or_close(struct core *core, struct peer *peer, uint32_t i)
{
    assert(i < peer->announced_count);
    const struct announced *what = &peer->announced[i];
    if (resolve(core, peer->rank, &peer->announced[i])) {
        announced_forget(peer, i);
    } else if (what->differs && !what->cut) {
        announced_close(peer, i);
        forget_oldest(core, peer);
    }
}

void roll_resolve(struct core *core)
{
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        struct peer *peer = core->state.known[k];
        for (uint32_t i = peer->open_count; i-- > 0;) {
            resolve_or_close(core, peer, i);
        }
    }
}

static void resolve_with(struct core *core, const struct chunk *chunk)
{
    struct rollsum sum =
        chunk->sum; /* resolving may move chunks' neighbours, not these */
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        struct peer *peer = core->state.known[k];
        for (uint32_t i = peer->announced_count; i-- > 0;) {
            struct announced *what = &peer->announced[i];
            if (what->partial || what->cut || rollsum_equal(&what->sum, &sum)) {
                resolve_or_close(core, peer, i);
            }
        }
    }
}

/* --- This rank's own roll -------------------------------------------------------- */

static bool is_announcing(const struct core *core)
{
    return core->options.mode != CORE_TRUST && !disseminate_is_on(core);
}

static void announce_to(struct core *core, uint32_t to, const struct message_roll *what)
{
    assert(to != core->rank && what->count > 0 && what->lane < core->gossip.lane_count);
    struct message_roll told = *what;
    struct message *message = roll_begins_within(core, to, &told)
                                  ? out_send(core, to, MESSAGE_ROLL, NULL)
                                  : NULL;
    if (message != NULL) {
        message->u.roll = told;
        signature_roll_sent(core, to, &message->u.roll);
    }
}

static void announce(struct core *core, struct message_roll what)
{
    if (!is_announcing(core)) {
        return;
    }
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank && rankset_has(&core->members, rank)) {
            announce_to(core, rank, &what);
        }
    }
}

static struct message_roll roll_of_chunk(const struct core *core, uint32_t number,
                                         const struct chunk *chunk)
{
    assert(number < core->gossip.lane_count && chunk->live > 0);
    assert(chunk->stage != CHUNK_LEAVING);
    const moot_hash *first = lane_hash(&core->gossip.lanes[number], chunk->first);
    return (struct message_roll){.lane = number,
                                 .first = chunk->first,
                                 .count = chunk->count,
                                 .sum = chunk->sum,
                                 .scope = first != NULL ? hash_scope(first) : 0,
                                 .cut = chunk->cut};
}

/* The last chunk, as far as there is of it. */
static struct message_roll roll_of_open(const struct core *core, uint32_t number)
{
    const struct lane_record *lane = &core->gossip.lanes[number];
    assert(lane->len >= lane->open_first);
    return (struct message_roll){.lane = number,
                                 .first = lane->open_first,
                                 .count = (uint32_t)(lane->len - lane->open_first + 1),
                                 .sum = lane->open_sum,
                                 .scope = lane->open_scope,
                                 .partial = true};
}

void roll_announce(struct core *core, uint32_t number, const struct chunk *chunk)
{
    announce(core, roll_of_chunk(core, number, chunk));
}

/* A chunk of which some has gone is not announced. */
static void tell_lane(struct core *core, uint32_t to, uint32_t number)
{
    const struct lane_record *lane = &core->gossip.lanes[number];
    for (uint32_t i = 0; i < lane->chunk_count; i++) {
        const struct chunk *chunk = &lane->chunks[i];
        if (chunk->live == chunk->count) {
            const struct message_roll what = roll_of_chunk(core, number, chunk);
            announce_to(core, to, &what);
        }
    }
    if (lane->len >= lane->open_first) {
        const struct message_roll what = roll_of_open(core, number);
        announce_to(core, to, &what);
    }
}

/* Where chunks are dropped all is announced to everybody (roll_enter_view). */
void roll_tell_newcomers(struct core *core, const struct rankset *before)
{
    if (core->options.mode == CORE_STRICT && !MUTANT(STRICTUNTOLD)) {
        roll_enter_view(core);
        return;
    }
    if (reclaim_is_on(core) || !is_announcing(core) || MUTANT(NEWCOMERUNTOLD)) {
        return;
    }
    FOR_MEMBERS(core, rank)
    {
        const bool is_new = rank != core->rank && !rankset_has(before, rank);
        for (uint32_t number = 0; is_new && number < core->gossip.lane_count;
             number++) {
            tell_lane(core, rank, number);
        }
    }
}

/* What is leaving all hold, and each has heard so of all. */
void roll_enter_view(struct core *core)
{
    assert(!core->membership.settled);
    for (uint32_t number = 0; number < core->gossip.lane_count; number++) {
        struct lane_record *lane = &core->gossip.lanes[number];
        for (uint32_t i = 0; i < lane->chunk_count; i++) {
            struct chunk *chunk = &lane->chunks[i];
            if (chunk->live == chunk->count && chunk->stage != CHUNK_LEAVING) {
                roll_announce(core, number, chunk);
                chunk->cut_told = chunk->cut;
            }
        }
        lane->announced = lane->open_first - 1;
    }
}

void roll_cut(struct core *core, struct lane_record *lane, uint32_t number)
{
    assert(lane->len >= lane->open_first);
    assert(lane->len - lane->open_first < ROLL_CHUNK_TASKS_MAX);
    if (!core_grow(core, &lane->chunks, &lane->chunk_room, lane->chunk_count + 1,
                   sizeof(*lane->chunks))) {
        return;
    }
    struct chunk *chunk = &lane->chunks[lane->chunk_count++];
    uint32_t count = (uint32_t)(lane->len - lane->open_first + 1);
    *chunk = (struct chunk){.first = lane->open_first,
                            .count = count,
                            .live = count - lane->open_forgotten,
                            .facts = lane->open_facts,
                            .sum = lane->open_sum};
    roll_index_last(core, number);
    lane->chunks_dead += chunk->live == 0;
    announce(core, (struct message_roll){.lane = number,
                                         .first = chunk->first,
                                         .count = count,
                                         .sum = chunk->sum,
                                         .scope = lane->open_scope});
    disseminate_news(core);
    lane->announced = lane->len;
    lane->open_forgotten = 0;
    lane->open_facts = (struct chunk_facts){0};
    lane->open_first = lane->len + 1;
    lane->open_sum = (struct rollsum){0, 0};
    resolve_with(core, chunk);
}

/* At the end of the lane. */
HOT static inline bool put(struct core *core, struct lane_record *lane, uint32_t number,
                           const moot_hash *hash, void *known)
{
    uint64_t scope = hash_scope(hash);
    if (scope != lane->open_scope && lane->len >= lane->open_first) {
        roll_cut(core, lane, number); /* a chunk is of one scope, and ends with it */
    }
    lane->open_scope = scope;
    return lane_put(core, lane, known);
}

/* It is there: into the sum, with which the chunk may end. */
HOT static inline void add_to_sum(struct core *core, struct lane_record *lane,
                                  uint32_t number, const moot_hash *hash)
{
    moot_hash salted;
    if (core->options.mode == CORE_STRICT) {
        salted = *hash;
        strict_salt(&salted, lane->len);
    }
    rollsum_add(&lane->open_sum, core->options.mode == CORE_STRICT ? &salted : hash);
    bool ends = core->options.chunk_mask != 0
                    ? (hash->bytes[0] & core->options.chunk_mask) == 0
                    : rollsum_ends_chunk(hash);
    if (ends || lane->len - lane->open_first + 1 >= ROLL_CHUNK_TASKS_MAX) {
        roll_cut(core, lane, number);
    }
}

HOT bool roll_append_stub(struct core *core, struct stub *stub)
{
    assert(stub->position == 0);
    assert(place_lane(stub->place) < core->gossip.lane_count);
    uint32_t number = place_lane(stub->place);
    struct lane_record *lane = &core->gossip.lanes[number];
    if (!put(core, lane, number, &stub->hash, stub)) {
        return false;
    }
    stub->place = place_of(number, lane->len);
    stub->position = ++core->gossip.roll_len;
    release_note_stub(core, stub);
    moot_hash hash = stub->hash;
    add_to_sum(core, lane, number, &hash);
    return true;
}

HOT bool roll_append(struct core *core, struct lane_record *lane, uint32_t number,
                     struct task_record *task)
{
    assert(task->position == 0);
    const moot_hash *hash = &task->hash;
    if (!put(core, lane, number, hash, task)) {
        return false;
    }
    task->lane = (uint16_t)number;
    task->lane_position = lane->len;
    task->position = ++core->gossip.roll_len;
    release_note_place(core, task);
    if (task->scope != NULL) {
        task->scope->count++;
        rollsum_add(&task->scope->sum, hash);
    }
    add_to_sum(core, lane, number, hash);
    return true;
}

bool roll_is_told(const struct core *core)
{
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        if (core->gossip.lanes[i].announced < core->gossip.lanes[i].len) {
            return core->options.mode == CORE_TRUST || core->member_count == 1;
        }
    }
    return true;
}

void roll_tell_partial(struct core *core)
{
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        struct lane_record *lane = &core->gossip.lanes[i];
        if (lane->announced < lane->len) {
            announce(core, roll_of_open(core, i));
            disseminate_tell_part(core, lane);
            lane->announced = lane->len;
        }
    }
}

/* --- Messages -------------------------------------------------------------------- */

void roll_on_roll(struct core *core, uint32_t from, const struct message_roll *roll)
{
    assert(from < core->size && from != core->rank);
    if (roll->lane >= LIMIT_LANES || roll->first == 0 || roll->count == 0 ||
        roll->count > ROLL_CHUNK_TASKS_MAX || roll->first > UINT64_MAX / 2 ||
        roll->first <= peer_begins(core, core->rank, roll->lane)) {
        core->stats.refused++;
        return;
    }
    if (mark_is_dropped(core, roll->scope)) {
        return;
    }
    struct peer *peer = peer_of(core, from);
    struct announced *what = announced_enter(core, peer, roll);
    if (what == NULL) {
        return;
    }
    *what = (struct announced){.lane = roll->lane,
                               .first = roll->first,
                               .count = roll->count,
                               .partial = roll->partial,
                               .before = roll->before,
                               .cut = roll->cut && reclaim_is_on(core),
                               .scope = roll->scope,
                               .sum = roll->sum};
    resolve_or_close(core, peer, (uint32_t)(what - peer->announced));
}

void roll_on_want(struct core *core, uint32_t from, const struct message_want *want)
{
    assert(from < core->size && from != core->rank);
    const struct lane_record *lane =
        want->lane < core->gossip.lane_count ? &core->gossip.lanes[want->lane] : NULL;
    if (lane == NULL || want->first == 0 || want->first > lane->len ||
        want->count == 0 || want->count > LIMIT_ROLL_HASHES ||
        want->count > lane->len - want->first + 1) {
        core->stats.refused++;
        return;
    }
    static const moot_hash gone = {MESSAGE_HASH_GONE};
    for (uint32_t i = 0; i < want->count && !core->reclaim.lots.on; i++) {
        if (lane_hash(lane, want->first + i) == NULL) {
            return; /* of a scope that has ended: the asker will hear of that */
        }
    }
    moot_hash *hashes = out_borrow(core, want->count * sizeof(*hashes));
    const char **sites = NULL;
    if (core->options.mode == CORE_STRICT) {
        sites = out_borrow(core, want->count * sizeof(*sites));
    }
    struct message *message = out_send(core, from, MESSAGE_HASHES, NULL);
    if (core->broken || hashes == NULL || message == NULL) {
        return;
    }
    for (uint32_t i = 0; i < want->count; i++) {
        const moot_hash *known = lane_hash(lane, want->first + i);
        hashes[i] = known != NULL ? *known : gone;
        if (sites != NULL) { /* in strict mode all have records */
            const struct task_record *task = lane_known(lane, want->first + i);
            sites[i] = task->site != NULL ? task->site : "";
        }
    }
    message->u.hashes = (struct message_hashes){.lane = want->lane,
                                                .first = want->first,
                                                .hashes = hashes,
                                                .sites = sites,
                                                .count = want->count};
}

void roll_ask_hashes(struct core *core, uint32_t from, struct announced *what)
{
    assert(from != core->rank && !what->wanted);
    struct message *message = out_send(core, from, MESSAGE_WANT, NULL);
    if (message != NULL) {
        message->u.want = (struct message_want){what->lane, what->first, what->count};
        what->wanted = true;
    }
}

void roll_on_hashes(struct core *core, uint32_t from,
                    const struct message_hashes *hashes)
{
    assert(from < core->size && from != core->rank);
    struct peer *peer = peer_of(core, from);
    for (uint32_t i = 0; i < hashes->count; i++) {
        struct task_record *task = table_find(core, &hashes->hashes[i]);
        if (task != NULL && !rankset_add(&task_ext_get(core, task)->holders, from)) {
            core->broken = true;
            return;
        }
    }
    roll_learn_of(core, from);
    if (core->options.mode == CORE_STRICT) {
        strict_on_hashes(core, from, hashes);
        return; /* the announcement stays, to be compared when our roll grows */
    }
    for (uint32_t i = peer->announced_count; i-- > 0;) {
        const struct announced *what = &peer->announced[i];
        if (what->lane == hashes->lane && what->first == hashes->first &&
            what->count == hashes->count) {
            announced_forget(peer, i);
        }
    }
}

/* --- Final rolls ----------------------------------------------------------------- */

/* T1a needs to know what a closed peer holds: ask for what does not match. */
void roll_want_of_closed(struct core *core)
{
    assert(core->step.closed);
    if (core->options.mode != CORE_REPAIR) {
        return;
    }
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        struct peer *peer = core->state.known[k];
        for (uint32_t i = 0; peer->state.closed && i < peer->announced_count; i++) {
            if (!peer->announced[i].wanted) {
                roll_ask_hashes(core, peer->rank, &peer->announced[i]);
            }
        }
    }
}

bool roll_resolved(const struct core *core, uint32_t rank)
{
    assert(rank < core->size);
    return peer_seen(core, rank)->announced_count == 0;
}

void roll_count_chaired(struct core *core, const void *known)
{
    const struct stub *stub = is_stub(known) ? known : NULL;
    const struct task_record *task = stub == NULL ? known : NULL;
    bool mine = stub != NULL ? stub->chair == core->rank
                             : task->chair == core->rank && !task->finder &&
                                   !hash_has(&task->hash, MOOT_HASH_NESTED);
    bool all = mine, some = false;
    FOR_MEMBERS(core, rank)
    {
        bool holds = mine && (stub != NULL ? roll_knows_place(core, stub->place, rank)
                                           : roll_knows_holder(core, task, rank));
        all = all && holds;
        some = some || holds;
    }
    core->stats.common += all;
    core->stats.partial += some && !all;
}

/* At adjourn each task is counted by its chair, which all holders have told (T1a). */
void roll_count_common(struct core *core)
{
    assert(core->termination.adjourned);
    if (close_reduce_is_on(core)) {
        return; /* its root counts them all */
    }
    if (disseminate_is_on(core)) {
        core->stats.common = core->gossip.parent == NOBODY ? core->gossip.roll_len : 0;
        return;
    }
    for (size_t i = 0; i < core->state.slot_count; i++) {
        void *known = table_ahead(core, i);
        if (known != NULL) {
            roll_count_chaired(core, known);
        }
    }
}
