/* array_schedule.c - see array_schedule.h.
 *
 * Two lists are made first.  *Sources*: the pairs (chair, place) of all that this
 * rank's elements take, in order.  *Targets*: the pairs (chair, own element) of all
 * that take one of this rank's.  Sorted, and each pair once, they are what senders send
 * and what takers are given; a source finds its slot among what is sent by bisection.
 *
 * A target that stands for many elements (1 to all) is not walked one by one: indices
 * that follow each other in the places of one slot have one chair, and once all chairs
 * there can be were met the rest adds nothing.
 */
#include "consensus/shape/array_schedule.h"

#include "hashing/placement.h"
#include "proto/limits.h"
#include "proto/moot_error.h"

#include <assert.h>
#include <stdlib.h>

/* --- Shares --------------------------------------------------------------------------
 */

static bool add_slots(const struct array_card *card, uint32_t slot, uint32_t end,
                      struct range_set *out)
{
    return range_set_add(out, (struct range){array_slot_first(&card->spread, slot),
                                             array_slot_first(&card->spread, end)});
}

/* The slots of a home that is no member, as far as they are this rank's. */
static bool share_in(const struct array_card *card, const struct rankset *members,
                     uint32_t rank, uint32_t home, struct range_set *out)
{
    bool good = true;
    for (uint32_t i = 0; good && i < ARRAY_SLOTS; i++) {
        uint32_t slot = home * ARRAY_SLOTS + i;
        if (array_slot_chair(slot, card->homes, members) == rank) {
            good = add_slots(card, slot, slot + 1, out);
        }
    }
    return good;
}

bool array_share(const struct array_card *card, const struct rankset *members,
                 uint32_t rank, struct range_set *out)
{
    const struct rankset *homes = card->homes;
    bool good = true;
    if (rankset_has(members, rank) && rankset_has(homes, rank)) {
        uint32_t slot = rankset_below(homes, rank) * ARRAY_SLOTS;
        good = add_slots(card, slot, slot + ARRAY_SLOTS, out);
    }
    uint32_t words = rankset_words(homes);
    for (uint32_t word = 0; good && word < words; word++) {
        uint64_t gone = rankset_word(homes, word) & ~rankset_word(members, word);
        for (; good && gone != 0; gone &= gone - 1) {
            uint32_t home = word * 64 + (uint32_t)__builtin_ctzll(gone);
            good = share_in(card, members, rank, rankset_below(homes, home), out);
        }
    }
    return good;
}

uint32_t array_place_chair(const struct array_card *card, const struct rankset *members,
                           uint64_t place)
{
    return array_slot_chair(array_slot(&card->spread, place), card->homes, members);
}

/* --- Pairs ---------------------------------------------------------------------------
 */

/* In one word, as there may be a million of them to be sorted under the engine lock:
 * the rank, and behind it the place or the number, which ARRAY_COUNT_MAX lets fit. */
typedef uint64_t chair_pair;
enum { WHAT_BITS = 32 };
static_assert(ARRAY_COUNT_MAX - 1 <= UINT64_MAX >> WHAT_BITS, "a place fits");

static inline chair_pair make_pair(uint32_t rank, uint64_t what)
{
    return (uint64_t)rank << WHAT_BITS | what;
}

static inline uint32_t pair_rank(chair_pair pair)
{
    return (uint32_t)(pair >> WHAT_BITS);
}

static inline uint32_t pair_what(chair_pair pair) { return (uint32_t)pair; }

struct chair_pairs {
    chair_pair *items;
    uint32_t count, room;
};

static int push(struct chair_pairs *pairs, uint32_t rank, uint64_t what)
{
    if (pairs->count == ARRAY_EDGES_MAX) {
        return MOOT_ERR_LIMIT;
    }
    if (pairs->count == pairs->room) {
        uint32_t room = pairs->room == 0 ? 16 : pairs->room * 2;
        chair_pair *more = realloc(pairs->items, room * sizeof(*more));
        if (more == NULL) {
            return MOOT_ERR_NO_MEMORY;
        }
        pairs->items = more;
        pairs->room = room;
    }
    pairs->items[pairs->count++] = make_pair(rank, what);
    return MOOT_OK;
}

static int by_rank(const void *left, const void *right)
{
    const chair_pair a = *(const chair_pair *)left, b = *(const chair_pair *)right;
    return (a > b) - (a < b);
}

/* Those of others than `rank`, sorted, each once. */
static int sort_foreign(const struct chair_pairs *pairs, uint32_t rank,
                        struct chair_pairs *out)
{
    int error = MOOT_OK;
    for (uint32_t i = 0; error == MOOT_OK && i < pairs->count; i++) {
        const chair_pair pair = pairs->items[i];
        if (pair_rank(pair) != rank) {
            error = push(out, pair_rank(pair), pair_what(pair));
        }
    }
    if (out->count > 1) {
        qsort(out->items, out->count, sizeof(*out->items), by_rank);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        if (i == 0 || out->items[i] != out->items[kept - 1]) {
            out->items[kept++] = out->items[i];
        }
    }
    out->count = kept;
    return error;
}

static uint32_t count_ranks(const struct chair_pairs *sorted)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sorted->count; i++) {
        count +=
            i == 0 || pair_rank(sorted->items[i]) != pair_rank(sorted->items[i - 1]);
    }
    return count;
}

/* Peers of sorted pairs; NULL without memory. */
static struct array_peer *make_peers(const struct chair_pairs *sorted, uint32_t *count)
{
    *count = count_ranks(sorted);
    struct array_peer *peers = calloc(*count + 1u, sizeof(*peers));
    uint32_t last = 0;
    for (uint32_t i = 0; peers != NULL && i < sorted->count; i++) {
        const uint32_t rank = pair_rank(sorted->items[i]);
        if (i == 0 || rank != peers[last].rank) {
            last += i > 0;
            peers[last] = (struct array_peer){rank, i, 0};
        }
        peers[last].count++;
    }
    return peers;
}

/* --- Making --------------------------------------------------------------------------
 */

/* A card, and whether its homes are the ranks from 0 on, so that none has to be looked
 * for. */
struct deal {
    const struct array_card *card;
    bool dense;
};

/* The chairs that take one own element: a few are looked through, many are marked. */
enum { MET_FEW = 16 };
struct met {
    uint32_t given, count;
    uint32_t few[MET_FEW];
    uint32_t *marks; /* for each rank, the last own element that it takes, and one */
};

struct making {
    const struct array_shape *shape;
    struct deal takes, from;
    struct array_counts counts;
    struct range_set own, own_from; /* places */
    struct chair_pairs sources, targets;
    struct array_schedule *made;
    struct met met;
    uint32_t chairs_max; /* so many can be chairs */
    struct array_answer answer;
};

static struct deal deal_of(const struct array_card *card)
{
    uint32_t homes = card->spread.homes;
    return (struct deal){card, rankset_below(card->homes, homes) == homes};
}

/* array_place_chair() */
static inline uint32_t deal_chair(const struct deal *deal,
                                  const struct rankset *members, uint64_t place)
{
    uint32_t slot = array_slot(&deal->card->spread, place);
    uint32_t home = slot / ARRAY_SLOTS;
    return deal->dense && rankset_has(members, home)
               ? home
               : array_slot_chair(slot, deal->card->homes, members);
}

/* Pushes the chair and the place of each source of a place. */
static int push_sources(struct making *making, uint64_t place)
{
    const struct array_shape *shape = making->shape;
    const struct range *ranges;
    uint64_t index = array_index(&shape->takes.spread, place);
    int count = array_sources(&shape->mapping, index, &making->counts, &making->answer);
    int error = count < 0 ? count : MOOT_OK;
    ranges = making->answer.ranges;
    for (int i = 0; error == MOOT_OK && i < count; i++) {
        for (uint64_t at = ranges[i].first; error == MOOT_OK && at < ranges[i].end;
             at++) {
            uint64_t source = array_place(&shape->from.spread, at);
            uint32_t chair = deal_chair(&making->from, shape->members, source);
            error = push(&making->sources, chair, source);
        }
    }
    return error;
}

static int find_sources(struct making *making)
{
    struct array_schedule *made = making->made;
    int error = MOOT_OK;
    for (uint32_t i = 0; error == MOOT_OK && i < made->own; i++) {
        error = push_sources(making, range_set_at(&making->own, i));
        made->first[i + 1] = making->sources.count;
    }
    return error;
}

/* --- Targets -------------------------------------------------------------------------
 */

/* How many indices from one on have places that follow each other in one slot. */
static uint64_t run_length(const struct array_spread *spread, uint64_t index,
                           uint64_t place)
{
    uint64_t slot_end = array_slot_first(spread, array_slot(spread, place) + 1);
    uint64_t left = slot_end - place;
    switch (spread->kind) {
    case ARRAY_SPREAD_CYCLIC: {
        uint64_t block = spread->block - index % spread->block;
        return block < left ? block : left;
    }
    case ARRAY_SPREAD_HASHED:
        return 1;
    case ARRAY_SPREAD_BLOCK:
    default:
        return left;
    }
}

/* Enough marks for all members; false without memory. */
static bool mark_many(struct met *met, const struct rankset *members)
{
    if (met->marks == NULL) {
        met->marks = calloc(rankset_words(members) * 64u + 1u, sizeof(*met->marks));
    }
    for (uint32_t i = 0; met->marks != NULL && i < MET_FEW; i++) {
        met->marks[met->few[i]] = met->given + 1;
    }
    return met->marks != NULL;
}

static bool has_met(const struct met *met, uint32_t chair)
{
    if (met->count > MET_FEW) {
        return met->marks[chair] == met->given + 1;
    }
    for (uint32_t i = 0; i < met->count; i++) {
        if (met->few[i] == chair) {
            return true;
        }
    }
    return false;
}

/* Once for each chair and own element. */
static int push_taker(struct making *making, uint32_t chair)
{
    struct met *met = &making->met;
    if (chair == PLACEMENT_NOBODY || has_met(met, chair)) {
        return MOOT_OK;
    }
    if (met->count == MET_FEW && !mark_many(met, making->shape->members)) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (met->count < MET_FEW) {
        met->few[met->count] = chair;
    } else {
        met->marks[chair] = met->given + 1;
    }
    met->count++;
    return push(&making->targets, chair, met->given);
}

/* Notes the chairs of a range of indices as takers of an own element. */
static int push_takers(struct making *making, struct range range)
{
    const struct array_spread *spread = &making->takes.card->spread;
    int error = MOOT_OK;
    while (error == MOOT_OK && range.first < range.end &&
           making->met.count < making->chairs_max) {
        uint64_t place = array_place(spread, range.first);
        uint32_t chair = deal_chair(&making->takes, making->shape->members, place);
        range.first += run_length(spread, range.first, place);
        error = push_taker(making, chair);
    }
    return error;
}

static int find_targets(struct making *making)
{
    const struct array_shape *shape = making->shape;
    int error = MOOT_OK;
    for (uint32_t i = 0; error == MOOT_OK && i < making->made->own_from; i++) {
        uint64_t place = range_set_at(&making->own_from, i);
        uint64_t index = array_index(&shape->from.spread, place);
        int count =
            array_targets(&shape->mapping, index, &making->counts, &making->answer);
        making->met.given = i;
        making->met.count = 0;
        error = count < 0 ? count : MOOT_OK;
        for (int j = 0; error == MOOT_OK && j < count; j++) {
            error = push_takers(making, making->answer.ranges[j]);
        }
    }
    return error;
}

/* A chair's share of this rank's results: from the sources of an element that were
 * pushed. */
static int turn_round(struct making *making, uint32_t chair)
{
    int error = MOOT_OK;
    for (uint32_t i = 0; error == MOOT_OK && i < making->sources.count; i++) {
        const chair_pair source = making->sources.items[i];
        if (pair_rank(source) == making->shape->rank) {
            error = push(&making->targets, chair,
                         range_set_below(&making->own_from, pair_what(source)));
        }
    }
    return error;
}

/* Without an inverse: every element is asked what it takes. */
static int search_targets(struct making *making)
{
    const struct array_shape *shape = making->shape;
    struct chair_pairs own_sources = making->sources;
    int error = making->counts.takes > ARRAY_EDGES_MAX ? MOOT_ERR_LIMIT : MOOT_OK;
    making->sources = (struct chair_pairs){0};
    for (uint64_t place = 0; error == MOOT_OK && place < making->counts.takes;
         place++) {
        uint32_t chair = deal_chair(&making->takes, shape->members, place);
        making->sources.count = 0;
        if (chair != shape->rank && chair != PLACEMENT_NOBODY) {
            error = push_sources(making, place);
            error = error == MOOT_OK ? turn_round(making, chair) : error;
        }
    }
    free(making->sources.items);
    making->sources = own_sources;
    return error;
}

/* --- Putting together ----------------------------------------------------------------
 */

static uint32_t find_sent(const struct chair_pairs *sorted, chair_pair pair)
{
    uint32_t low = 0, high = sorted->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (sorted->items[middle] < pair) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Sources stand by the rank that sends them, and so do the slots. */
static void fill_slots(struct making *making, const struct chair_pairs *sorted)
{
    struct array_schedule *made = making->made;
    for (uint32_t i = 0; i < sorted->count; i++) {
        made->sent[i] = pair_what(sorted->items[i]);
    }
    for (uint32_t i = 0; i < making->sources.count; i++) {
        const chair_pair source = making->sources.items[i];
        made->slots[i] =
            pair_rank(source) == making->shape->rank
                ? (uint32_t)range_set_below(&making->own_from, pair_what(source))
                : made->own_from + find_sent(sorted, source);
    }
}

static int put_senders(struct making *making)
{
    struct array_schedule *made = making->made;
    struct chair_pairs sorted = {0};
    int error = sort_foreign(&making->sources, making->shape->rank, &sorted);
    if (error == MOOT_OK) {
        made->slots = calloc(making->sources.count + 1u, sizeof(*made->slots));
        made->sent = calloc(sorted.count + 1u, sizeof(*made->sent));
        made->senders = make_peers(&sorted, &made->sender_count);
        error = made->slots == NULL || made->sent == NULL || made->senders == NULL
                    ? MOOT_ERR_NO_MEMORY
                    : MOOT_OK;
    }
    if (error == MOOT_OK) {
        fill_slots(making, &sorted);
    }
    free(sorted.items);
    return error;
}

static int put_takers(struct making *making)
{
    struct array_schedule *made = making->made;
    struct chair_pairs sorted = {0};
    int error = sort_foreign(&making->targets, making->shape->rank, &sorted);
    if (error == MOOT_OK) {
        made->given = calloc(sorted.count + 1u, sizeof(*made->given));
        made->is_given = calloc(made->own_from + 1u, sizeof(*made->is_given));
        made->takers = make_peers(&sorted, &made->taker_count);
        error = made->given == NULL || made->is_given == NULL || made->takers == NULL
                    ? MOOT_ERR_NO_MEMORY
                    : MOOT_OK;
    }
    for (uint32_t i = 0; error == MOOT_OK && i < sorted.count; i++) {
        const uint32_t own = pair_what(sorted.items[i]);
        made->given[i] = own;
        made->given_count += !made->is_given[own];
        made->is_given[own] = true;
    }
    free(sorted.items);
    return error;
}

/* The first home has the largest share.  An element is given to so many others at most
 * as one takes, too. */
int array_schedule_can_be(const struct array_spread *takes,
                          const struct array_spread *from,
                          const struct array_mapping *mapping)
{
    const struct array_map *map = mapping->map;
    const struct array_counts counts = {takes->count, from->count};
    const uint64_t share = array_home_first(takes, 1);
    const uint64_t share_from = array_home_first(from, 1);
    uint64_t most = 1;
    if (map->most != NULL) {
        const int error =
            map->most(map->user, mapping->args, mapping->args_size, &counts, &most);
        if (error != MOOT_OK) {
            return error;
        }
    }
    const uint64_t given = most < takes->homes ? most : takes->homes;
    if (map->targets == NULL && takes->count > ARRAY_EDGES_MAX) {
        return MOOT_ERR_LIMIT;
    }
    return most <= LIMIT_INPUTS && share <= ARRAY_EDGES_MAX / (most + (most == 0)) &&
                   share_from <= ARRAY_EDGES_MAX / (given + (given == 0))
               ? MOOT_OK
               : MOOT_ERR_LIMIT;
}

/* Shares, and room for what is as long as they are. */
static int make_shares(struct making *making)
{
    const struct array_shape *shape = making->shape;
    struct array_schedule *made = making->made;
    if (!array_share(&shape->takes, shape->members, shape->rank, &making->own) ||
        !array_share(&shape->from, shape->members, shape->rank, &making->own_from)) {
        return MOOT_ERR_NO_MEMORY;
    }
    uint64_t own = range_set_size(&making->own);
    uint64_t own_from = range_set_size(&making->own_from);
    if (own > ARRAY_EDGES_MAX || own_from > ARRAY_EDGES_MAX) {
        return MOOT_ERR_LIMIT;
    }
    made->own = (uint32_t)own;
    made->own_from = (uint32_t)own_from;
    made->first = calloc(own + 1, sizeof(*made->first));
    making->chairs_max = rankset_count_both(shape->takes.homes, shape->members);
    return made->first != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int make(struct making *making)
{
    int error = make_shares(making);
    error = error == MOOT_OK ? find_sources(making) : error;
    if (error == MOOT_OK) {
        error = making->shape->mapping.map->targets != NULL ? find_targets(making)
                                                            : search_targets(making);
    }
    error = error == MOOT_OK ? put_senders(making) : error;
    return error == MOOT_OK ? put_takers(making) : error;
}

int array_schedule_new(const struct array_shape *shape, struct array_schedule **out)
{
    struct making making = {
        .shape = shape,
        .takes = deal_of(&shape->takes),
        .from = deal_of(&shape->from),
        .counts = {shape->takes.spread.count, shape->from.spread.count},
        .made = calloc(1, sizeof(struct array_schedule))};
    array_answer_init(&making.answer);
    int error = making.made != NULL ? make(&making) : MOOT_ERR_NO_MEMORY;
    array_answer_release(&making.answer);
    range_set_release(&making.own);
    range_set_release(&making.own_from);
    free(making.sources.items);
    free(making.targets.items);
    free(making.met.marks);
    if (error == MOOT_OK) {
        making.made->users = 1;
        *out = making.made;
    } else {
        array_schedule_free(making.made);
    }
    return error;
}

void array_schedule_free(struct array_schedule *schedule)
{
    if (schedule == NULL) {
        return;
    }
    free(schedule->first);
    free(schedule->slots);
    free(schedule->senders);
    free(schedule->sent);
    free(schedule->takers);
    free(schedule->given);
    free(schedule->is_given);
    free(schedule);
}

static size_t count_of(const struct array_peer *peers, uint32_t count)
{
    return count > 0 ? peers[count - 1].first + peers[count - 1].count : 0;
}

size_t array_schedule_bytes(const struct array_schedule *schedule)
{
    size_t peers = (size_t)schedule->sender_count + schedule->taker_count + 2;
    return sizeof(*schedule) + (schedule->own + 1u) * sizeof(*schedule->first) +
           (schedule->first[schedule->own] + 1u) * sizeof(*schedule->slots) +
           peers * sizeof(*schedule->senders) +
           (count_of(schedule->senders, schedule->sender_count) + 1) *
               sizeof(*schedule->sent) +
           (count_of(schedule->takers, schedule->taker_count) + 1) *
               sizeof(*schedule->given) +
           (schedule->own_from + 1u) * sizeof(*schedule->is_given);
}
