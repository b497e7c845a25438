/* placement_test.c - chairs and voters: balanced, minimal, the same everywhere
 * (hashing/placement.h). */
#include "hashing/identity.h"
#include "hashing/placement.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TASKS = 20000, RANKS_MAX = 10000 };

static moot_hash nth(uint32_t n)
{
    uint8_t bytes[4] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16),
                        (uint8_t)(n >> 24)};
    return digest_bytes(bytes, sizeof(bytes));
}

static struct rankset first_ranks(uint32_t count)
{
    struct rankset set = {0};
    for (uint32_t rank = 0; rank < count; rank++) {
        assert_true(rankset_add(&set, rank));
    }
    return set;
}

/* How many of `tasks` tasks each rank chairs. */
static void count_chairs(const struct rankset *members, uint32_t tasks,
                         uint32_t *counts)
{
    memset(counts, 0, RANKS_MAX * sizeof(*counts));
    for (uint32_t i = 0; i < tasks; i++) {
        moot_hash hash = nth(i);
        uint32_t chair = placement_chair(&hash, members, NULL);
        assert_true(rankset_has(members, chair));
        counts[chair]++;
    }
}

static void chairs_are_balanced(void **state)
{
    (void)state;
    static uint32_t counts[RANKS_MAX];
    struct rankset members = first_ranks(64);
    uint32_t most = 0;
    count_chairs(&members, TASKS, counts);
    for (uint32_t rank = 0; rank < 64; rank++) {
        most = counts[rank] > most ? counts[rank] : most;
    }
    assert_true(most * 64.0 / TASKS <= 1.2);
}

/* Chi-square: sets with holes and with blocks of different fill favour nobody.  The
 * bound is five standard deviations of a fair draw. */
static void no_shape_of_the_members_favours_anyone(void **state)
{
    (void)state;
    static uint32_t counts[RANKS_MAX];
    static const struct {
        uint32_t ranks, stride, extra;
    } shapes[] = {{3, 1, 0},    {5, 1, 100},   {65, 1, 0},      {100, 1, 0},
                  {200, 7, 0},  {64, 1, 9999}, {9999, 64, 0},   {127, 1, 0},
                  {1000, 1, 0}, {2, 1, 64},    {9999, 1111, 1}, {500, 3, 501}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        struct rankset members = {0};
        for (uint32_t rank = 0; rank < shapes[i].ranks; rank += shapes[i].stride) {
            rankset_add(&members, rank);
        }
        if (shapes[i].extra > 0) {
            rankset_add(&members, shapes[i].extra);
        }
        count_chairs(&members, 2 * TASKS, counts);
        double n = rankset_count(&members), mean = 2 * TASKS / n, chi = 0;
        for (uint32_t rank = rankset_next(&members, 0); rank != UINT32_MAX;
             rank = rankset_next(&members, rank + 1)) {
            chi += (counts[rank] - mean) * (counts[rank] - mean) / mean;
        }
        if (chi > n - 1 + 5 * sqrt(2 * (n - 1)) + 5) {
            fail_msg("shape %zu: chi-square %.1f over %.0f ranks", i, chi, n);
        }
        rankset_release(&members);
    }
}

static void a_leaving_member_moves_its_own_tasks_alone(void **state)
{
    (void)state;
    static const struct {
        uint32_t ranks, leaves;
    } rows[] = {{2, 0},  {2, 1},     {4, 2},    {64, 0},     {64, 63},  {65, 64},
                {65, 0}, {128, 127}, {129, 64}, {1000, 999}, {1000, 0}, {10000, 5000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rankset before = first_ranks(rows[i].ranks);
        struct rankset after = first_ranks(rows[i].ranks);
        rankset_remove(&after, rows[i].leaves);
        uint32_t moved = 0;
        for (uint32_t task = 0; task < TASKS; task++) {
            moot_hash hash = nth(task);
            uint32_t old = placement_chair(&hash, &before, NULL);
            uint32_t new = placement_chair(&hash, &after, NULL);
            moved += old == rows[i].leaves;
            if (old != new &&old != rows[i].leaves) {
                fail_msg("%u leaves %u ranks, and task %u moves from %u to %u",
                         rows[i].leaves, rows[i].ranks, task, old, new);
            }
            assert_int_not_equal(new, rows[i].leaves);
        }
        assert_true(rows[i].ranks > 1000 || moved > 0);
        rankset_release(&before);
        rankset_release(&after);
    }
}

/* The same for sets of any shape: whoever chairs among many chairs among any few of
 * them that it is in. */
static void a_chair_of_many_is_the_chair_of_fewer(void **state)
{
    (void)state;
    struct rankset many = first_ranks(300);
    for (uint32_t task = 0; task < 2000; task++) {
        moot_hash hash = nth(task);
        uint32_t chair = placement_chair(&hash, &many, NULL);
        struct rankset few = {0};
        for (int i = 0; i < 4; i++) {
            rankset_add(&few, nth(task * 7 + 1).bytes[i]);
        }
        rankset_add(&few, chair);
        assert_int_equal(placement_chair(&hash, &few, NULL), chair);
        assert_int_equal(placement_chair(&hash, &many, &few), chair);
        rankset_release(&few);
    }
    rankset_release(&many);
}

static void only_candidates_that_are_members_chair(void **state)
{
    (void)state;
    struct rankset members = first_ranks(100), candidates = {0}, both = {0};
    moot_hash hash = nth(1);
    assert_int_equal(placement_chair(&hash, &(struct rankset){0}, NULL),
                     PLACEMENT_NOBODY);
    assert_int_equal(placement_chair(&hash, &members, &candidates), PLACEMENT_NOBODY);
    rankset_add(&candidates, 100);
    rankset_add(&candidates, 5000);
    assert_int_equal(placement_chair(&hash, &members, &candidates), PLACEMENT_NOBODY);
    rankset_add(&candidates, 70);
    assert_int_equal(placement_chair(&hash, &members, &candidates), 70);
    rankset_add(&candidates, 3);
    rankset_add(&both, 3);
    rankset_add(&both, 70);
    for (uint32_t task = 0; task < 200; task++) {
        hash = nth(task);
        assert_int_equal(placement_chair(&hash, &members, &candidates),
                         placement_chair(&hash, &both, NULL));
    }
    rankset_release(&members);
    rankset_release(&candidates);
    rankset_release(&both);
}

static uint64_t splitmix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Drawn in full by the rule that placement.c states, with libm's logarithm. */
static double arrival(uint64_t seed, uint32_t rank)
{
    double time = 0;
    for (int level = 14; level > 0; level--) {
        uint64_t block = (UINT64_C(1) << (32 - level)) + (rank >> level);
        uint64_t x = splitmix(seed + block * UINT64_C(0x9e3779b97f4a7c15));
        bool upper = (rank >> (level - 1) & 1) != 0;
        if (upper != ((x & 1) != 0)) {
            time += -log2(ldexp((double)x, -64)) / (double)(1 << (level - 1));
        }
    }
    return time;
}

static void the_search_finds_the_earliest_of_all(void **state)
{
    (void)state;
    struct rankset members = {0};
    uint32_t other = 0;
    enum { ROUNDS = 2000 };
    for (uint32_t rank = 0; rank < 400; rank += 1 + rank % 5) {
        rankset_add(&members, rank);
    }
    rankset_add(&members, 9999);
    for (uint32_t task = 0; task < ROUNDS; task++) {
        moot_hash hash = nth(task);
        uint64_t seed = splitmix(UINT64_C(1) << 24 | (uint64_t)hash.bytes[6] << 16 |
                                 (uint64_t)hash.bytes[7] << 8 | hash.bytes[8]);
        uint32_t first = PLACEMENT_NOBODY;
        double earliest = INFINITY;
        for (uint32_t rank = rankset_next(&members, 0); rank != UINT32_MAX;
             rank = rankset_next(&members, rank + 1)) {
            double time = arrival(seed, rank);
            if (time < earliest) {
                earliest = time;
                first = rank;
            }
        }
        other += placement_chair(&hash, &members, NULL) != first;
    }
    assert_in_range(other, 0, ROUNDS / 200); /* near ties: log2 is rounded */
    rankset_release(&members);
}

/* Fixed for ever: every rank of a job must find the same chair. */
static void chairs_are_the_golden_ones(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 8, 64, 100, 10000};
    static const uint32_t golden[][6] = {
        {0, 2, 6, 36, 89, 657}, {1, 1, 4, 42, 42, 2097}, {0, 2, 2, 24, 24, 6668},
        {1, 2, 2, 2, 78, 4835}, {1, 1, 4, 22, 22, 4820}, {0, 0, 0, 36, 87, 9349},
        {1, 2, 2, 2, 2, 4871},  {1, 1, 1, 39, 39, 7826},
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct rankset members = first_ranks(sizes[i]);
        for (uint32_t task = 0; task < sizeof(golden) / sizeof(*golden); task++) {
            moot_hash hash = nth(task);
            if (placement_chair(&hash, &members, NULL) != golden[task][i]) {
                fail_msg("task %u among %u: chair %u, not %u", task, sizes[i],
                         placement_chair(&hash, &members, NULL), golden[task][i]);
            }
        }
        rankset_release(&members);
    }
}

/* --- Voters ----------------------------------------------------------------------- */

static void voters_are_distinct_members_behind_their_chair(void **state)
{
    (void)state;
    enum { VOTERS = 15 };
    struct rankset members = first_ranks(100);
    for (uint32_t task = 0; task < 500; task++) {
        moot_hash hash = nth(task);
        uint32_t chair = placement_chair(&hash, &members, NULL);
        uint32_t voters[VOTERS], fewer[VOTERS];
        assert_int_equal(placement_voters(&hash, chair, &members, NULL, VOTERS, voters),
                         VOTERS);
        assert_int_equal(voters[0], chair);
        struct rankset rest = {0};
        rankset_copy(&rest, &members);
        for (uint32_t i = 0; i < VOTERS; i++) {
            assert_true(rankset_has(&rest, voters[i]));
            /* By weight: each is the chair of those that are left. */
            assert_int_equal(placement_chair(&hash, &rest, NULL), voters[i]);
            rankset_remove(&rest, voters[i]);
        }
        assert_int_equal(placement_voters(&hash, chair, &members, NULL, 3, fewer), 3);
        assert_memory_equal(fewer, voters, 3 * sizeof(*voters));
        rankset_release(&rest);
    }
    rankset_release(&members);
}

static void voters_on_other_hosts_come_first(void **state)
{
    (void)state;
    enum { RANKS = 8, VOTERS = 8 };
    static const uint32_t hosts[RANKS] = {0, 0, 0, 0, 0, 1, 1, 2};
    struct rankset members = first_ranks(RANKS);
    for (uint32_t task = 0; task < 500; task++) {
        moot_hash hash = nth(task);
        uint32_t chair = placement_chair(&hash, &members, NULL);
        uint32_t voters[VOTERS], same = 0;
        assert_int_equal(
            placement_voters(&hash, chair, &members, hosts, VOTERS, voters), RANKS);
        assert_int_equal(voters[0], chair);
        for (uint32_t i = 1; i < RANKS; i++) {
            same += hosts[voters[i]] == hosts[chair];
            assert_true(same == 0 || hosts[voters[i]] == hosts[chair]);
        }
        assert_int_equal(placement_voters(&hash, chair, &members, hosts, 3, voters), 3);
        assert_int_not_equal(hosts[voters[1]], hosts[chair]);
    }
    rankset_release(&members);
}

static void few_members_are_few_voters(void **state)
{
    (void)state;
    struct rankset members = first_ranks(2);
    moot_hash hash = nth(5);
    uint32_t voters[3];
    assert_int_equal(placement_voters(&hash, 1, &members, NULL, 3, voters), 2);
    assert_int_equal(voters[0], 1);
    assert_int_equal(voters[1], 0);
    assert_int_equal(placement_voters(&hash, 1, &members, NULL, 1, voters), 1);
    assert_int_equal(placement_voters(&hash, 1, &members, NULL, 0, voters), 0);
    assert_int_equal(
        placement_voters(&hash, PLACEMENT_NOBODY, &members, NULL, 3, voters), 0);
    rankset_release(&members);
}

/* Tasks beside each other, in any view and among equal candidates: one chair, and the
 * same voters. */
static void tasks_beside_each_other_have_one_chair(void **state)
{
    (void)state;
    assert_true(hashing_init());
    struct rankset members = first_ranks(64), candidates = {0};
    for (uint32_t i = 0; i < 2000; i++) {
        moot_hash root = nth(i), scope = nth(i + 1);
        scope.bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_SCOPED;
        moot_hash beside =
            identity_hash(&(struct identity){.kernel_name = "k",
                                             .args = &i,
                                             .args_size = sizeof(i),
                                             .scope = scope,
                                             .place = hash_place(&root)});
        assert_false(hash_equal(&root, &beside));
        memcpy(&members.low, nth(i * 3).bytes, sizeof(members.low));
        memcpy(&candidates.low, nth(i * 5).bytes, sizeof(candidates.low));
        uint32_t chair = placement_chair(&root, &members, NULL), a[3], b[3];
        assert_int_equal(placement_chair(&beside, &members, NULL), chair);
        assert_int_equal(placement_chair(&beside, &members, &candidates),
                         placement_chair(&root, &members, &candidates));
        assert_int_equal(placement_voters(&root, chair, &members, NULL, 3, a), 3);
        assert_int_equal(placement_voters(&beside, chair, &members, NULL, 3, b), 3);
        assert_memory_equal(a, b, sizeof(a));
    }
    rankset_release(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chairs_are_balanced),
        cmocka_unit_test(no_shape_of_the_members_favours_anyone),
        cmocka_unit_test(a_leaving_member_moves_its_own_tasks_alone),
        cmocka_unit_test(a_chair_of_many_is_the_chair_of_fewer),
        cmocka_unit_test(only_candidates_that_are_members_chair),
        cmocka_unit_test(the_search_finds_the_earliest_of_all),
        cmocka_unit_test(chairs_are_the_golden_ones),
        cmocka_unit_test(voters_are_distinct_members_behind_their_chair),
        cmocka_unit_test(voters_on_other_hosts_come_first),
        cmocka_unit_test(few_members_are_few_voters),
        cmocka_unit_test(tasks_beside_each_other_have_one_chair),
    };
    return hashing_init() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
