/* array_schedule_test.c - who takes what from whom, against maps that are walked one
 * element after the other (consensus/shape/array_schedule.h). */
#include "consensus/shape/array_schedule.h"

#include "hashing/base/byte_order.h"
#include "hashing/placement.h"
#include "proto/limits.h"
#include "proto/moot_error.h"
#include "tests/unit/failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 6, COUNT_MAX = 40, SHAPES = 3000 };

static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void add_ranks(struct rankset *set, uint32_t count)
{
    for (uint32_t rank = 0; rank < count; rank++) {
        assert_true(rankset_add(set, rank));
    }
}

/* --- Shapes ------------------------------------------------------------------------
 */

/* An element takes one that is drawn, and its neighbours as far as `user` says. */
static int take_drawn(const void *user, const void *args, size_t args_size,
                      uint64_t element, const struct array_counts *counts,
                      struct range *out, size_t room)
{
    (void)args, (void)args_size, (void)room;
    uint64_t first = element * 7 % counts->from;
    uint64_t last = first + *(const unsigned *)user;
    out[0] = (struct range){first, last < counts->from ? last + 1 : counts->from};
    return 1;
}

static const unsigned neighbours = 2;
static const struct array_map drawn = {"drawn", 1, take_drawn, NULL, &neighbours, NULL};

static struct array_spread random_spread(uint64_t count, uint32_t homes, uint64_t *seed)
{
    struct array_spread spread = {.count = count, .homes = homes};
    spread.kind = (enum array_spread_kind)(random_next(seed) % 3);
    spread.block = spread.kind == ARRAY_SPREAD_CYCLIC ? 1 + random_next(seed) % 4 : 0;
    return spread;
}

struct drawn_shape {
    struct array_shape shape;
    struct rankset homes, few, members;
    unsigned char args[ARRAY_WINDOW_BYTES];
};

/* A map that can be with these counts. */
static void draw_mapping(struct drawn_shape *drawing, uint64_t *seed)
{
    static const struct array_map *const maps[] = {
        &array_map_same, &array_map_all, &array_map_window, &array_map_window, &drawn};
    struct array_shape *shape = &drawing->shape;
    uint64_t which = random_next(seed) % 5;
    shape->mapping = (struct array_mapping){maps[which], NULL, 0};
    if (maps[which] == &array_map_window) {
        int64_t low = (int64_t)(random_next(seed) % 5) - 3;
        put_word(drawing->args, (uint64_t)low);
        put_word(drawing->args + 8, (uint64_t)(low + (int64_t)(random_next(seed) % 4)));
        put_word(drawing->args + 16, which == 2 ? ARRAY_EDGE_CUT : ARRAY_EDGE_WRAP);
        shape->mapping.args = drawing->args;
        shape->mapping.args_size = sizeof(drawing->args);
    }
    if (which == 0 || which == 3) {
        shape->from.spread.count = shape->takes.spread.count;
    }
}

static void draw_shape(struct drawn_shape *drawing, uint64_t *seed)
{
    memset(drawing, 0, sizeof(*drawing));
    uint32_t homes = 1 + (uint32_t)(random_next(seed) % RANKS);
    add_ranks(&drawing->homes, homes);
    add_ranks(&drawing->members, RANKS);
    assert_true(rankset_add(&drawing->few, 1) && rankset_add(&drawing->few, 4));
    if (random_next(seed) % 2 == 0) {
        rankset_remove(&drawing->members, (uint32_t)(random_next(seed) % RANKS));
    }
    struct array_shape *shape = &drawing->shape;
    bool candidates = random_next(seed) % 4 == 0;
    shape->members = &drawing->members;
    shape->takes = (struct array_card){
        random_spread(1 + random_next(seed) % COUNT_MAX, homes, seed), &drawing->homes};
    shape->from = (struct array_card){
        random_spread(1 + random_next(seed) % COUNT_MAX, candidates ? 2 : homes, seed),
        candidates ? &drawing->few : &drawing->homes};
    draw_mapping(drawing, seed);
}

/* --- The oracle --------------------------------------------------------------------
 */

static uint32_t chair_of(const struct array_card *card, const struct rankset *members,
                         uint64_t index)
{
    return array_place_chair(card, members, array_place(&card->spread, index));
}

/* The elements of a rank, by place; returns how many. */
static uint32_t list_own(const struct array_card *card, const struct array_shape *shape,
                         uint64_t *own)
{
    uint32_t count = 0;
    for (uint64_t place = 0; place < card->spread.count; place++) {
        uint64_t index = array_index(&card->spread, place);
        if (chair_of(card, shape->members, index) == shape->rank) {
            own[count++] = index;
        }
    }
    return count;
}

/* The element of which that is the slot. */
static uint64_t index_at(const struct array_shape *shape,
                         const struct array_schedule *schedule,
                         const uint64_t *own_from, uint32_t slot)
{
    if (slot < schedule->own_from) {
        return own_from[slot];
    }
    const uint32_t at = slot - schedule->own_from;
    const struct array_peer *sender = schedule->senders;
    while (sender < schedule->senders + schedule->sender_count &&
           at - sender->first >= sender->count) {
        sender++;
    }
    assert_true(sender < schedule->senders + schedule->sender_count);
    uint64_t place = schedule->sent[at];
    uint64_t index = array_index(&shape->from.spread, place);
    assert_int_equal(chair_of(&shape->from, shape->members, index), sender->rank);
    assert_int_not_equal(sender->rank, shape->rank);
    return index;
}

/* Slots are of the sources of each own element, in order.  Marks what is used. */
static void check_slots(const struct array_shape *shape,
                        const struct array_schedule *schedule, bool *used)
{
    const struct array_counts counts = {shape->takes.spread.count,
                                        shape->from.spread.count};
    uint64_t own[COUNT_MAX], own_from[COUNT_MAX];
    assert_int_equal(schedule->own, list_own(&shape->takes, shape, own));
    assert_int_equal(schedule->own_from, list_own(&shape->from, shape, own_from));
    for (uint32_t i = 0; i < schedule->own; i++) {
        struct array_answer answer;
        array_answer_init(&answer);
        int count = array_sources(&shape->mapping, own[i], &counts, &answer);
        const struct range *ranges = answer.ranges;
        uint32_t at = schedule->first[i];
        for (int j = 0; j < count; j++) {
            for (uint64_t s = ranges[j].first; s < ranges[j].end; s++) {
                assert_true(at < schedule->first[i + 1]);
                const uint32_t slot = schedule->slots[at++];
                assert_int_equal(index_at(shape, schedule, own_from, slot), s);
                used[s] = true;
            }
        }
        assert_int_equal(at, schedule->first[i + 1]);
        array_answer_release(&answer);
    }
}

/* No sender sends what nothing here takes, and each of it once, in order. */
static void check_senders(const struct array_shape *shape,
                          const struct array_schedule *schedule, const bool *used)
{
    for (uint32_t i = 0; i < schedule->sender_count; i++) {
        const struct array_peer *sender = &schedule->senders[i];
        assert_true(i == 0 || sender[-1].rank < sender->rank);
        assert_true(sender->count > 0);
        for (uint32_t j = 0; j < sender->count; j++) {
            uint64_t place = schedule->sent[sender->first + j];
            assert_true(j == 0 || schedule->sent[sender->first + j - 1] < place);
            assert_true(used[array_index(&shape->from.spread, place)]);
        }
    }
}

static const struct array_peer *find_peer(const struct array_peer *peers,
                                          uint32_t count, uint32_t rank)
{
    for (uint32_t i = 0; i < count; i++) {
        if (peers[i].rank == rank) {
            return &peers[i];
        }
    }
    return NULL;
}

/* One is given what the other is sent, element by element. */
static void check_pair(const struct array_shape *giver_shape,
                       const struct array_schedule *giver, uint32_t giver_rank,
                       const struct array_schedule *taker, uint32_t taker_rank)
{
    uint64_t own[COUNT_MAX];
    struct array_shape shape = *giver_shape;
    shape.rank = giver_rank;
    list_own(&shape.from, &shape, own);
    const struct array_peer *to =
        find_peer(giver->takers, giver->taker_count, taker_rank);
    const struct array_peer *from =
        find_peer(taker->senders, taker->sender_count, giver_rank);
    assert_int_equal(to != NULL ? to->count : 0, from != NULL ? from->count : 0);
    for (uint32_t i = 0; to != NULL && i < to->count; i++) {
        uint64_t place = taker->sent[from->first + i];
        assert_int_equal(own[giver->given[to->first + i]],
                         array_index(&shape.from.spread, place));
    }
}

/* Those that a taker has are known as given, and no others. */
static void check_given(const struct array_schedule *schedule)
{
    bool given[COUNT_MAX] = {false};
    uint32_t count = 0;
    for (uint32_t i = 0; i < schedule->taker_count; i++) {
        const struct array_peer *taker = &schedule->takers[i];
        for (uint32_t j = 0; j < taker->count; j++) {
            given[schedule->given[taker->first + j]] = true;
        }
    }
    for (uint32_t own = 0; own < schedule->own_from; own++) {
        assert_int_equal(schedule->is_given[own], given[own]);
        count += given[own];
    }
    assert_int_equal(schedule->given_count, count);
}

static void check_all_ranks(struct array_shape *shape)
{
    struct array_schedule *made[RANKS] = {NULL};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        shape->rank = rank;
        int error = rankset_has(shape->members, rank)
                        ? array_schedule_new(shape, &made[rank])
                        : MOOT_OK;
        assert_int_equal(error, MOOT_OK);
        if (made[rank] != NULL) {
            bool used[COUNT_MAX] = {false};
            check_slots(shape, made[rank], used);
            check_senders(shape, made[rank], used);
            check_given(made[rank]);
        }
    }
    for (uint32_t i = 0; i < RANKS * RANKS; i++) {
        uint32_t a = i / RANKS, b = i % RANKS;
        if (a != b && made[a] != NULL && made[b] != NULL) {
            check_pair(shape, made[a], a, made[b], b);
        }
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        array_schedule_free(made[rank]);
    }
}

static void ranks_agree_on_what_passes_between_them(void **state)
{
    (void)state;
    uint64_t seed = 17;
    for (int i = 0; i < SHAPES; i++) {
        struct drawn_shape drawing;
        draw_shape(&drawing, &seed);
        if (drawing.shape.mapping.map == &array_map_same &&
            drawing.shape.from.spread.count < drawing.shape.takes.spread.count) {
            continue;
        }
        check_all_ranks(&drawing.shape);
    }
}

/* --- Size --------------------------------------------------------------------------
 */

static uint64_t asked; /* how often a map was */

static int take_counted(const void *user, const void *args, size_t args_size,
                        uint64_t element, const struct array_counts *counts,
                        struct range *out, size_t room)
{
    (void)user, (void)args, (void)args_size, (void)counts, (void)room;
    asked++;
    out[0] = (struct range){element, element + 1};
    return 1;
}

static const struct array_map counted = {"counted",    1,    take_counted,
                                         take_counted, NULL, NULL};

static void a_rank_looks_at_its_own_share_alone(void **state)
{
    (void)state;
    static const struct array_spread spreads[] = {
        {1000000, 0, 10000, ARRAY_SPREAD_BLOCK},
        {1000000, 1, 10000, ARRAY_SPREAD_CYCLIC},
        {1000000, 7, 10000, ARRAY_SPREAD_CYCLIC},
        {1000000, 0, 10000, ARRAY_SPREAD_HASHED}};
    struct rankset members = {0};
    add_ranks(&members, 10000);
    for (size_t i = 0; i < sizeof(spreads) / sizeof(*spreads); i++) {
        struct array_schedule *schedule = NULL;
        const struct array_card card = {spreads[i], &members};
        const struct array_shape shape = {
            card, card, {&counted, NULL, 0}, &members, 4711};
        asked = 0;
        assert_int_equal(array_schedule_new(&shape, &schedule), MOOT_OK);
        assert_true(schedule->own >= 98 && schedule->own <= 105);
        assert_int_equal(asked, 2 * schedule->own);
        assert_true(array_schedule_bytes(schedule) < 4096);
        array_schedule_free(schedule);
    }
    rankset_release(&members);
}

/* Elements of the largest array cannot be walked one by one within a test's time. */
static void one_that_all_take_goes_to_all(void **state)
{
    (void)state;
    static const enum array_spread_kind kinds[] = {
        ARRAY_SPREAD_BLOCK, ARRAY_SPREAD_CYCLIC, ARRAY_SPREAD_HASHED};
    struct rankset members = {0}, others = {0}, first = {0};
    add_ranks(&members, 200);
    add_ranks(&others, 200);
    rankset_remove(&others, 0);
    assert_true(rankset_add(&first, 0));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct array_schedule *schedule = NULL;
        struct array_spread spread = {ARRAY_COUNT_MAX, 0, 199, kinds[i]};
        spread.block = kinds[i] == ARRAY_SPREAD_CYCLIC ? 3 : 0;
        struct array_shape shape = {{spread, &others},
                                    {{1, 0, 1, ARRAY_SPREAD_BLOCK}, &first},
                                    {&array_map_all, NULL, 0},
                                    &members,
                                    0};
        assert_int_equal(array_schedule_new(&shape, &schedule), MOOT_OK);
        assert_int_equal(schedule->taker_count, 199);
        assert_int_equal(schedule->sender_count, 0);
        array_schedule_free(schedule);
        /* An own share of such a one is too much, and that is said. */
        shape.rank = 1;
        assert_int_equal(array_schedule_new(&shape, &schedule), MOOT_ERR_LIMIT);
    }
    rankset_release(&members);
    rankset_release(&others);
}

/* --- Refusals ----------------------------------------------------------------------
 */

static void what_is_too_large_or_wrong_is_said(void **state)
{
    (void)state;
    struct rankset homes = {0}, members = {0};
    add_ranks(&homes, 2);
    add_ranks(&members, 3);
    struct array_schedule *schedule = NULL;
    const struct array_card many = {{LIMIT_INPUTS + 1, 0, 2, ARRAY_SPREAD_BLOCK},
                                    &homes};
    const struct array_card two = {{2, 0, 2, ARRAY_SPREAD_BLOCK}, &homes};
    struct array_shape shape = {two, many, {&array_map_all, NULL, 0}, &members, 0};
    assert_int_equal(array_schedule_new(&shape, &schedule), MOOT_ERR_LIMIT);
    shape.from.spread.count = LIMIT_INPUTS;
    assert_int_equal(array_schedule_new(&shape, &schedule), MOOT_OK);
    array_schedule_free(schedule);
    shape = (struct array_shape){many, two, {&array_map_same, NULL, 0}, &members, 0};
    assert_int_equal(array_schedule_new(&shape, &schedule), MOOT_ERR_INVALID);
}

/* All ranks have to refuse what one does. */
static void all_ranks_say_what_can_be(void **state)
{
    (void)state;
    const struct array_map searched = {"one way", 1, take_counted, NULL, NULL, NULL};
    const struct array_mapping all = {&array_map_all, NULL, 0},
                               same = {&array_map_same, NULL, 0},
                               any = {&searched, NULL, 0};
    struct array_spread takes = {7, 0, 3, ARRAY_SPREAD_BLOCK}, from = takes;
    from.count = LIMIT_INPUTS;
    assert_int_equal(array_schedule_can_be(&takes, &from, &all), MOOT_OK);
    from.count++;
    assert_int_equal(array_schedule_can_be(&takes, &from, &all), MOOT_ERR_LIMIT);
    assert_int_equal(array_schedule_can_be(&takes, &from, &same), MOOT_OK);
    assert_int_equal(array_schedule_can_be(&from, &takes, &same), MOOT_ERR_INVALID);
    takes.count = 3 * (ARRAY_EDGES_MAX / 64);
    from.count = 64;
    assert_int_equal(array_schedule_can_be(&takes, &from, &all), MOOT_OK);
    takes.count++; /* one rank has an element more */
    assert_int_equal(array_schedule_can_be(&takes, &from, &all), MOOT_ERR_LIMIT);
    takes.count = from.count = ARRAY_EDGES_MAX;
    assert_int_equal(array_schedule_can_be(&takes, &from, &any), MOOT_OK);
    takes.count++;
    assert_int_equal(array_schedule_can_be(&takes, &from, &any), MOOT_ERR_LIMIT);
    takes.count = from.count = 3 * ARRAY_EDGES_MAX;
    assert_int_equal(array_schedule_can_be(&takes, &from, &same), MOOT_OK);
    takes.count = from.count = 3 * ARRAY_EDGES_MAX + 1;
    assert_int_equal(array_schedule_can_be(&takes, &from, &same), MOOT_ERR_LIMIT);
}

static void without_an_inverse_all_elements_are_asked_once(void **state)
{
    (void)state;
    const struct array_map no_inverse = {"one way", 1, take_counted, NULL, NULL, NULL};
    struct rankset homes = {0}, members = {0};
    add_ranks(&homes, 2);
    add_ranks(&members, 3);
    struct array_schedule *schedule = NULL;
    struct array_card card = {{ARRAY_EDGES_MAX, 0, 2, ARRAY_SPREAD_BLOCK}, &homes};
    struct array_shape shape = {card, card, {&no_inverse, NULL, 0}, &members, 2};
    asked = 0;
    assert_int_equal(array_schedule_new(&shape, &schedule), MOOT_OK);
    assert_int_equal(asked, ARRAY_EDGES_MAX);
    assert_int_equal(schedule->own + schedule->taker_count, 0);
    array_schedule_free(schedule);
    shape.rank = 1;
    shape.takes.spread.count = shape.from.spread.count = 1000;
    asked = 0;
    assert_int_equal(array_schedule_new(&shape, &schedule), MOOT_OK);
    assert_int_equal(asked, 1000);
    assert_int_equal(schedule->own, 500);
    array_schedule_free(schedule);
    shape.rank = 2;
    shape.takes.spread.count = ARRAY_EDGES_MAX + 1;
    shape.from.spread.count = ARRAY_EDGES_MAX;
    assert_int_equal(array_schedule_new(&shape, &schedule), MOOT_ERR_LIMIT);
}

static void nobody_is_chair_where_no_home_is_left(void **state)
{
    (void)state;
    struct rankset members = {0}, gone = {0};
    add_ranks(&members, 2);
    assert_true(rankset_add(&gone, 5));
    struct array_schedule *schedule = NULL;
    const struct array_card here = {{4, 0, 2, ARRAY_SPREAD_BLOCK}, &members};
    const struct array_card there = {{4, 0, 1, ARRAY_SPREAD_BLOCK}, &gone};
    const struct array_shape shape = {
        here, there, {&array_map_same, NULL, 0}, &members, 0};
    assert_int_equal(array_schedule_new(&shape, &schedule), MOOT_OK);
    assert_int_equal(schedule->own, 2);
    assert_int_equal(schedule->sender_count, 1);
    assert_int_equal(schedule->senders[0].rank, PLACEMENT_NOBODY);
    array_schedule_free(schedule);
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    struct drawn_shape drawing;
    uint64_t seed = 23;
    int failed = 0;
    for (int i = 0; i < 40; i++) {
        draw_shape(&drawing, &seed);
        drawing.shape.mapping = (struct array_mapping){&drawn, NULL, 0};
        drawing.shape.rank = rankset_next(&drawing.members, 0);
        int error = MOOT_ERR_NO_MEMORY;
        for (long fail_at = 1; error != MOOT_OK; fail_at++) {
            struct array_schedule *schedule = NULL;
            alloc_watch(fail_at);
            error = array_schedule_new(&drawing.shape, &schedule);
            array_schedule_free(schedule);
            assert_int_equal(alloc_count.held, 0);
            assert_true(error == MOOT_OK || error == MOOT_ERR_NO_MEMORY);
            failed += error != MOOT_OK;
        }
        alloc_watch(0);
    }
    assert_true(failed > 40 * 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_agree_on_what_passes_between_them),
        cmocka_unit_test(a_rank_looks_at_its_own_share_alone),
        cmocka_unit_test(one_that_all_take_goes_to_all),
        cmocka_unit_test(what_is_too_large_or_wrong_is_said),
        cmocka_unit_test(all_ranks_say_what_can_be),
        cmocka_unit_test(without_an_inverse_all_elements_are_asked_once),
        cmocka_unit_test(nobody_is_chair_where_no_home_is_left),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
