/* strict.c - the first difference between rolls, for those who want none.
 *
 * In strict mode no plain task is ever yielded.  Ranks compare their rolls as gossip
 * announces them, and the first position at which two lanes differ ends every wait,
 * with the task, the call site and the ranks on each side.  Sums then cover positions
 * as well as hashes, so that another order is a difference too.
 *
 * The rank that finds a difference asks on for a few gossip periods before it speaks:
 * the report is worth more when it can say on which side every rank stands.  Then it
 * tells the lowest rank, which declares the first that it hears of to all: so programs
 * that differ in many places fail with the same story everywhere.
 */
#include "consensus/gossip/gossip_private.h"

#include "consensus/state/state.h"

#include <assert.h>
#include <string.h>

enum { SIDES_MAX = 4, PERIODS_TO_COLLECT = 5 };

void strict_salt(moot_hash *hash, uint64_t position)
{
    assert(position > 0);
    uint64_t salt = position * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 8; i++) {
        hash->bytes[i] ^= (uint8_t)(salt >> (8 * i));
        hash->bytes[i + 8] ^= (uint8_t)(salt >> (8 * (7 - i)));
    }
}

static void put_on_side(struct core *core, uint32_t rank, const moot_hash *hash,
                        const char *site)
{
    assert(core->gossip.difference.found && rank < core->size);
    struct difference *difference = &core->gossip.difference;
    uint32_t i = 0;
    while (i < difference->side_count && !hash_equal(&difference->side[i].hash, hash)) {
        i++;
    }
    if (i == SIDES_MAX) {
        return;
    }
    if (i == difference->side_count) {
        difference->side_count++;
        difference->side[i].hash = *hash;
        strncpy(difference->side[i].site, site != NULL ? site : "", LIMIT_SITE_BYTES);
    }
    if (!rankset_add(&difference->side[i].ranks, rank)) {
        core->broken = true;
    }
}

bool core_spawned(const struct core *core, uint32_t lane, uint64_t position,
                  moot_hash *hash, const char **site)
{
    if (lane >= core->gossip.lane_count || position == 0 ||
        position > core->gossip.lanes[lane].len) {
        return false;
    }
    const void *known = lane_known(&core->gossip.lanes[lane], position);
    if (known == NULL) {
        return false;
    }
    *hash = *(const moot_hash *)known;
    *site = is_stub(known) ? ((const struct stub *)known)->site
                           : ((const struct task_record *)known)->site;
    return true;
}

static void put_mine(struct core *core)
{
    assert(core->gossip.difference.found);
    static const moot_hash nothing = {{0}};
    struct difference *difference = &core->gossip.difference;
    const struct lane_record *lane = difference->lane < core->gossip.lane_count
                                         ? &core->gossip.lanes[difference->lane]
                                         : NULL;
    if (lane == NULL || difference->position > lane->len) {
        put_on_side(core, core->rank, &nothing, NULL);
        return;
    }
    /* In strict mode all have records. */
    const struct task_record *task = lane_known(lane, difference->position);
    assert(task != NULL);
    put_on_side(core, core->rank, &task->hash, task->site);
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank &&
            peer_begins(core, rank, difference->lane) < difference->position &&
            roll_agreed(core, lane, rank) >= difference->position) {
            put_on_side(core, rank, &task->hash, task->site);
        }
    }
}

static void forget_sides(struct difference *difference)
{
    for (uint32_t i = 0; i < difference->side_count; i++) {
        rankset_release(&difference->side[i].ranks);
    }
    difference->side_count = 0;
}

/* Of two in a lane the earlier one counts, with what is heard of it from then on. */
static void found(struct core *core, uint32_t lane, uint64_t position)
{
    assert(core->options.mode == CORE_STRICT && position > 0);
    struct difference *difference = &core->gossip.difference;
    bool earlier = lane == difference->lane && position < difference->position;
    if (difference->found && !earlier) {
        return;
    }
    forget_sides(difference);
    difference->found = true;
    difference->lane = lane;
    difference->position = position;
    difference->declare_ns =
        core->now_ns + PERIODS_TO_COLLECT * core->options.gossip_period_ns;
    put_mine(core);
}

/* Where their hashes first differ from ours; 0 if not within what both have. */
static uint64_t first_difference(const struct core *core,
                                 const struct message_hashes *hashes)
{
    const struct lane_record *lane = hashes->lane < core->gossip.lane_count
                                         ? &core->gossip.lanes[hashes->lane]
                                         : NULL;
    for (uint32_t i = 0; i < hashes->count; i++) {
        uint64_t position = hashes->first + i;
        if (position <= peer_begins(core, core->rank, hashes->lane)) {
            continue;
        }
        if (lane == NULL || position == 0 || position > lane->len) {
            return core->step.closed || core->gossip.ends_here ? position : 0;
        }
        if (!hash_equal(lane_hash(lane, position), &hashes->hashes[i])) {
            return position;
        }
    }
    return 0;
}

void strict_on_hashes(struct core *core, uint32_t from,
                      const struct message_hashes *hashes)
{
    assert(core->options.mode == CORE_STRICT && from != core->rank);
    if (core->gossip.difference.declared) {
        return; /* what was said is said again as it was */
    }
    uint64_t position = first_difference(core, hashes);
    if (position != 0) {
        found(core, hashes->lane, position);
    }
    const struct difference *difference = &core->gossip.difference;
    if (difference->found && hashes->lane == difference->lane &&
        hashes->first <= difference->position &&
        difference->position - hashes->first < hashes->count) {
        size_t i = (size_t)(difference->position - hashes->first);
        put_on_side(core, from, &hashes->hashes[i],
                    hashes->sites != NULL ? hashes->sites[i] : NULL);
    }
}

/* The rank's roll ends before that place; of another there is nothing to be said. */
static void put_there(struct core *core, uint32_t lane, uint64_t position,
                      uint32_t rank)
{
    static const moot_hash nothing = {{0}};
    const struct difference *difference = &core->gossip.difference;
    bool there = lane == difference->lane && position == difference->position;
    if (difference->found && (there || MUTANT(STRICTSHORT))) {
        put_on_side(core, rank, &nothing, NULL);
    }
}

/* How much of its roll is like this rank's: all of it, if nothing of it is unheard. */
static uint64_t alike(const struct core *core, uint32_t rank)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        sum += roll_agreed(core, &core->gossip.lanes[i], rank);
    }
    return sum;
}

/* A closed peer whose roll, all of which we know, ends before ours. */
static void see_short_rolls(struct core *core)
{
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        const struct peer *peer = core->state.known[k];
        uint32_t rank = peer->rank;
        if (rank == core->rank || !rankset_has(&core->members, rank) ||
            !peer->state.closed || !roll_resolved(core, rank) ||
            peer->state.len >= core->gossip.roll_len ||
            alike(core, rank) != peer->state.len) {
            continue;
        }
        for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
            const struct lane_record *lane = &core->gossip.lanes[i];
            uint64_t agreed = roll_agreed(core, lane, rank);
            if (agreed < lane->len) {
                found(core, i, agreed + 1);
                put_there(core, i, agreed + 1, rank);
                return;
            }
        }
    }
}

static void ask_for_hashes(struct core *core)
{
    bool rested = core->step.idle && core->now_ns >= core->step.idle_since_ns +
                                                         core->options.gossip_period_ns;
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        struct peer *peer = core->state.known[k];
        for (uint32_t i = 0; i < peer->announced_count; i++) {
            struct announced *what = &peer->announced[i];
            uint64_t last = what->first + what->count - 1;
            bool passed = what->lane < core->gossip.lane_count &&
                          core->gossip.lanes[what->lane].len >= last;
            if (!what->wanted && (passed || rested || core->step.closed)) {
                roll_ask_hashes(core, peer->rank, what);
            }
        }
    }
}

static void tell(struct core *core, uint32_t to,
                 const struct message_diverged *diverged)
{
    struct message *message =
        to != core->rank ? out_send(core, to, MESSAGE_DIVERGED, NULL) : NULL;
    if (message != NULL) {
        message->u.diverged = *diverged;
    }
}

/* Hashes that do not match are asked for with the next turn; false if there is nothing.
 */
static bool want_again(struct core *core)
{
    bool any = false;
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        struct peer *peer = core->state.known[k];
        for (uint32_t i = 0; i < peer->announced_count; i++) {
            peer->announced[i].wanted = false;
            any = true;
        }
    }
    return any;
}

/* As it stands here. */
static struct message_diverged said_of(const struct difference *difference)
{
    struct message_diverged said = {.lane = difference->lane,
                                    .position = difference->position,
                                    .sides = difference->side_count};
    for (uint32_t i = 0; i < difference->side_count; i++) {
        said.side[i].hash = difference->side[i].hash;
        said.side[i].site = difference->side[i].site;
        said.side[i].ranks = &difference->side[i].ranks;
    }
    return said;
}

/* In place of what was found here, if anything was. */
static void keep_said(struct core *core, const struct message_diverged *said)
{
    struct difference *difference = &core->gossip.difference;
    forget_sides(difference);
    difference->found = true;
    difference->lane = said->lane;
    difference->position = said->position;
    for (uint32_t i = 0; i < said->sides; i++) {
        const struct rankset *ranks = said->side[i].ranks;
        for (uint32_t rank = rankset_next(ranks, 0); rank < core->size;
             rank = rankset_next(ranks, rank + 1)) {
            put_on_side(core, rank, &said->side[i].hash, said->side[i].site);
        }
    }
}

static void tell_all_below(struct core *core, const struct message_diverged *said)
{
    for (uint32_t i = 0; i < core->gossip.child_count; i++) {
        tell(core, core->gossip.children[i], said);
    }
    core->gossip.difference.passed_on_in = core->epoch;
}

/* This is it, for this rank and all below. */
static void declare(struct core *core)
{
    assert(core->gossip.difference.found && !core->gossip.difference.declared);
    core->gossip.difference.declared = true;
    const struct message_diverged said = said_of(&core->gossip.difference);
    tell_all_below(core, &said);
    struct core_output *output = out_add(core, CORE_OUT_DIVERGED, NULL);
    if (output != NULL) {
        output->u.diverged = said;
    }
}

/* The lowest declares what it hears of first, its own or another's. */
static void pass_up(struct core *core, const struct message_diverged *said)
{
    tell(core, core->gossip.parent, said);
    core->gossip.difference.passed_on_in = core->epoch;
}

static void found_long_ago(struct core *core)
{
    const struct message_diverged said = said_of(&core->gossip.difference);
    if (core->gossip.parent == NOBODY || MUTANT(STRICTALONE)) {
        declare(core);
    } else {
        pass_up(core, &said);
    }
}

static bool is_passed_on(const struct core *core)
{
    return core->gossip.difference.passed_on_in == core->epoch;
}

/* In a new view: who declared it may be gone before all had heard, and newcomers have
 * heard of nothing. */
static void say_again(struct core *core)
{
    assert(core->gossip.difference.declared);
    const struct message_diverged said = said_of(&core->gossip.difference);
    if (core->gossip.parent != NOBODY) {
        tell(core, core->gossip.parent, &said);
    }
    tell_all_below(core, &said);
}

void strict_turn(struct core *core)
{
    if (core->options.mode != CORE_STRICT) {
        return;
    }
    if (core->gossip.difference.declared) {
        if (!is_passed_on(core)) {
            say_again(core);
        }
        return;
    }
    ask_for_hashes(core);
    see_short_rolls(core);
    if (core->gossip.difference.found && !is_passed_on(core) &&
        core->now_ns >= core->gossip.difference.declare_ns) {
        found_long_ago(core);
    }
}

static bool has_unasked(const struct core *core)
{
    bool any = false;
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        const struct peer *peer = core->state.known[k];
        for (uint32_t i = 0; i < peer->announced_count; i++) {
            any = any || !peer->announced[i].wanted;
        }
    }
    return any;
}

bool strict_all_rest(struct core *core)
{
    assert(core->options.mode == CORE_STRICT);
    if (core->gossip.ends_here) {
        return (core->gossip.difference.found || has_unasked(core)) &&
               !MUTANT(STRICTHASTY);
    }
    core->gossip.ends_here = want_again(core);
    return core->gossip.ends_here;
}

bool strict_settled(const struct core *core)
{
    if (core->options.mode != CORE_STRICT || core->gossip.difference.declared) {
        return true;
    }
    return !has_unasked(core) && !core->gossip.difference.found;
}

uint64_t strict_deadline(const struct core *core)
{
    if (core->options.mode != CORE_STRICT || core->gossip.difference.declared) {
        return CORE_NEVER;
    }
    if (core->gossip.difference.found) {
        return is_passed_on(core) ? CORE_NEVER : core->gossip.difference.declare_ns;
    }
    uint64_t rested_ns = core->step.idle_since_ns + core->options.gossip_period_ns;
    if (!core->step.idle || !has_unasked(core) ||
        (rested_ns <= core->now_ns && MUTANT(STRICTIDLE))) {
        return CORE_NEVER;
    }
    return rested_ns > core->now_ns ? rested_ns : core->now_ns;
}

void strict_on_diverged(struct core *core, uint32_t from,
                        const struct message_diverged *diverged)
{
    if (core->options.mode != CORE_STRICT) {
        core->stats.refused++;
        return;
    }
    const bool from_above = from == core->gossip.parent;
    if (core->gossip.difference.declared) {
        const struct message_diverged said = said_of(&core->gossip.difference);
        if (!from_above) {
            tell(core, from, &said);
        }
    } else if (from_above || core->gossip.parent == NOBODY) {
        keep_said(core, diverged);
        declare(core);
    } else if (!core->gossip.difference.found) {
        keep_said(core, diverged); /* the message is gone before what it says goes up */
        core->gossip.difference.declare_ns = core->now_ns;
    }
}
