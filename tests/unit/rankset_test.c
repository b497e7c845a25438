/* rankset_test.c - sets of ranks against a plain table of flags (hashing/rankset.h). */
#include "hashing/rankset.h"
#include "tests/unit/failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 10000 };

static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void check_against(const struct rankset *set, const bool *flags)
{
    uint32_t count = 0, seen = rankset_next(set, 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(rankset_below(set, rank), count);
        count += flags[rank];
        assert_int_equal(rankset_has(set, rank), flags[rank]);
        if (flags[rank]) {
            assert_int_equal(seen, rank);
            assert_int_equal(rankset_at(set, count - 1), rank);
            seen = rankset_next(set, rank + 1);
        }
    }
    assert_int_equal(seen, UINT32_MAX);
    assert_int_equal(rankset_at(set, count), UINT32_MAX);
    assert_int_equal(rankset_count(set), count);
    assert_int_equal(rankset_empty(set), count == 0);
}

static void a_set_holds_what_was_added_and_not_removed(void **state)
{
    (void)state;
    static bool flags[RANKS];
    struct rankset set = {0};
    uint64_t seed = 7;
    for (int step = 0; step < 4000; step++) {
        uint32_t rank = (uint32_t)(random_next(&seed) % RANKS);
        flags[rank] = random_next(&seed) % 3 != 0;
        if (flags[rank]) {
            assert_true(rankset_add(&set, rank));
        } else {
            rankset_remove(&set, rank);
        }
        if (step % 500 == 0) {
            check_against(&set, flags);
        }
    }
    check_against(&set, flags);
    rankset_release(&set);
    memset(flags, 0, sizeof(flags));
    check_against(&set, flags);
}

static void sizes_around_a_word_are_right(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 63, 64, 65, 127, 128, 129, RANKS};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct rankset set = {0};
        for (uint32_t rank = 0; rank < sizes[i]; rank++) {
            assert_true(rankset_add(&set, rank));
        }
        assert_int_equal(rankset_count(&set), sizes[i]);
        assert_int_equal(rankset_empty(&set), sizes[i] == 0);
        assert_int_equal(rankset_words(&set), (sizes[i] + 63) / 64);
        assert_false(rankset_has(&set, sizes[i]));
        assert_int_equal(rankset_next(&set, sizes[i]), UINT32_MAX);
        assert_int_equal(rankset_next(&set, 0), sizes[i] > 0 ? 0 : UINT32_MAX);
        assert_true(sizes[i] <= 64 ? set.high == NULL : set.high != NULL);
        rankset_release(&set);
    }
}

static void ranks_far_out_are_in_no_set(void **state)
{
    (void)state;
    struct rankset set = {.low = 5};
    assert_false(rankset_has(&set, UINT32_MAX));
    assert_int_equal(rankset_next(&set, UINT32_MAX), UINT32_MAX);
    assert_false(rankset_add(&set, UINT32_MAX));
    rankset_remove(&set, UINT32_MAX);
    assert_int_equal(rankset_count(&set), 2);
    assert_null(set.high);
}

static void capacity_does_not_count(void **state)
{
    (void)state;
    struct rankset small = {0}, large = {0};
    rankset_add(&small, 3);
    rankset_add(&large, 3);
    rankset_add(&large, 9000);
    assert_false(rankset_equal(&small, &large));
    assert_false(rankset_equal(&large, &small));
    rankset_remove(&large, 9000);
    assert_true(rankset_equal(&small, &large));
    assert_true(rankset_equal(&large, &small));
    assert_int_equal(rankset_words(&large), 1);
    rankset_release(&large);
}

static void copies_and_unions_are_their_own(void **state)
{
    (void)state;
    struct rankset a = {0}, b = {0}, c = {0};
    rankset_add(&a, 1);
    rankset_add(&b, 64);
    rankset_add(&b, 5000);
    assert_true(rankset_copy(&c, &b));
    assert_true(rankset_equal(&c, &b));
    assert_true(rankset_merge(&c, &a));
    assert_int_equal(rankset_count(&c), 3);
    assert_int_equal(rankset_count(&b), 2);
    assert_int_equal(rankset_count_both(&b, &c), 2);
    assert_int_equal(rankset_count_both(&c, &a), 1);
    assert_int_equal(rankset_count_both(&a, &b), 0);
    assert_true(rankset_merge(&a, &c));
    assert_true(rankset_equal(&a, &c));
    assert_true(rankset_copy(&c, &(struct rankset){0})); /* what was there is gone */
    assert_true(rankset_empty(&c));
    assert_true(rankset_copy(&a, &a));
    assert_true(rankset_merge(&a, &a));
    assert_int_equal(rankset_count(&a), 3);
    rankset_release(&a);
    rankset_release(&b);
    rankset_release(&c);
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
    struct rankset small = {.low = 5}, large = {0};
    rankset_add(&large, 500);
    alloc_watch(1);
    assert_true(rankset_add(&small, 63)); /* needs none */
    assert_false(rankset_add(&small, 64));
    assert_false(rankset_copy(&small, &large));
    assert_false(rankset_merge(&small, &large));
    assert_int_equal(alloc_count.held, 0);
    alloc_watch(0);
    assert_int_equal(rankset_count(&small), 3);
    assert_null(small.high);
    rankset_release(&large);
}

static void expect_text(const struct rankset *set, size_t size, const char *expected)
{
    char text[64];
    memset(text, 'x', sizeof(text));
    assert_int_equal(rankset_format(set, text, size), strlen(expected));
    assert_string_equal(text, expected);
    for (size_t i = size; i < sizeof(text); i++) {
        assert_int_equal(text[i], 'x');
    }
}

static void text_names_runs_and_is_cut_between_them(void **state)
{
    (void)state;
    struct rankset set = {0};
    expect_text(&set, 64, "none");
    expect_text(&set, 3, "no");
    static const uint32_t ranks[] = {0, 1, 2, 5, 7, 8, 9, 63, 64, 65, 9999};
    for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
        rankset_add(&set, ranks[i]);
    }
    expect_text(&set, 64, "0-2,5,7-9,63-65,9999");
    expect_text(&set, 21, "0-2,5,7-9,63-65,9999");
    expect_text(&set, 20, "0-2,5,7-9,63-65,...");
    expect_text(&set, 19, "0-2,5,7-9,...");
    expect_text(&set, 10, "0-2,5,...");
    expect_text(&set, 8, "0-2,...");
    expect_text(&set, 7, "...");
    expect_text(&set, 3, "..");
    expect_text(&set, 1, "");
    char text[1] = {'x'};
    assert_int_equal(rankset_format(&set, text, 0), 0);
    assert_int_equal(text[0], 'x');
    rankset_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_holds_what_was_added_and_not_removed),
        cmocka_unit_test(sizes_around_a_word_are_right),
        cmocka_unit_test(ranks_far_out_are_in_no_set),
        cmocka_unit_test(capacity_does_not_count),
        cmocka_unit_test(copies_and_unions_are_their_own),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(text_names_runs_and_is_cut_between_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
