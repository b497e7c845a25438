/* range_set_test.c - sets of ranges against a row of flags
 * (consensus/shape/range_set.h). */
#include "consensus/shape/range_set.h"

#include "tests/unit/failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { NUMBERS = 40, STEPS = 20000 };

static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

struct flags {
    bool has[NUMBERS];
};

static struct range random_range(uint64_t *seed)
{
    uint64_t first = random_next(seed) % NUMBERS;
    uint64_t end = first + random_next(seed) % 9;
    return (struct range){first, end < NUMBERS ? end : NUMBERS};
}

static void set_flags(struct flags *flags, struct range range, bool value)
{
    for (uint64_t i = range.first; i < range.end; i++) {
        flags->has[i] = value;
    }
}

static void check_against(const struct range_set *set, const struct flags *flags)
{
    uint64_t below = 0;
    assert_true(range_set_valid(range_set_items(set), set->count, NUMBERS));
    for (uint64_t i = 0; i < NUMBERS; i++) {
        assert_int_equal(range_set_below(set, i), below);
        assert_int_equal(range_set_has(set, i), flags->has[i]);
        if (flags->has[i]) {
            assert_int_equal(range_set_at(set, below), i);
            below++;
        }
    }
    assert_int_equal(range_set_size(set), below);
    assert_int_equal(range_set_at(set, below), UINT64_MAX);
}

static void check_range(const struct range_set *set, const struct flags *flags,
                        struct range range)
{
    bool all = true, any = false;
    for (uint64_t i = range.first; i < range.end; i++) {
        all = all && flags->has[i];
        any = any || flags->has[i];
    }
    assert_int_equal(range_set_covers(set, range), all);
    assert_int_equal(range_set_meets(set, range), any);
}

static void a_set_holds_what_was_added_and_not_removed(void **state)
{
    (void)state;
    struct range_set set = {0};
    struct flags flags = {{false}};
    uint64_t seed = 11;
    for (int step = 0; step < STEPS; step++) {
        struct range range = random_range(&seed);
        bool add = random_next(&seed) % 2 == 0;
        assert_true(add ? range_set_add(&set, range) : range_set_remove(&set, range));
        set_flags(&flags, range, add);
        check_against(&set, &flags);
        check_range(&set, &flags, random_range(&seed));
    }
    range_set_release(&set);
    assert_int_equal(range_set_size(&set), 0);
}

static void random_set(struct range_set *set, struct flags *flags, uint64_t *seed)
{
    *set = (struct range_set){0};
    *flags = (struct flags){{false}};
    for (uint64_t i = random_next(seed) % 6; i > 0; i--) {
        struct range range = random_range(seed);
        assert_true(range_set_add(set, range));
        set_flags(flags, range, true);
    }
}

static void whole_sets_are_joined_cut_and_compared(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int step = 0; step < STEPS; step++) {
        struct range_set a, b, copy = {0};
        struct flags in_a, in_b;
        random_set(&a, &in_a, &seed);
        random_set(&b, &in_b, &seed);
        assert_true(range_set_copy(&copy, &a));
        assert_true(range_set_equal(&copy, &a));
        assert_int_equal(range_set_equal(&a, &b),
                         memcmp(&in_a, &in_b, sizeof(in_a)) == 0);
        int way = step % 3;
        assert_true(way == 0   ? range_set_merge(&a, &b)
                    : way == 1 ? range_set_subtract(&a, &b)
                               : range_set_intersect(&a, &b));
        for (size_t i = 0; i < NUMBERS; i++) {
            in_a.has[i] = way == 0   ? in_a.has[i] || in_b.has[i]
                          : way == 1 ? in_a.has[i] && !in_b.has[i]
                                     : in_a.has[i] && in_b.has[i];
        }
        check_against(&a, &in_a);
        assert_true(range_set_copy(&copy, &b));
        assert_true(range_set_equal(&copy, &b));
        range_set_release(&a);
        range_set_release(&b);
        range_set_release(&copy);
    }
}

static void a_whole_array_costs_no_memory(void **state)
{
    (void)state;
    struct range_set set = {0}, copy = {0};
    alloc_watch(1);
    assert_true(range_set_add(&set, (struct range){0, UINT64_C(1) << 32}));
    assert_true(range_set_remove(&set, (struct range){0, 7}));
    assert_true(range_set_copy(&copy, &set));
    assert_int_equal(alloc_count.made, 0);
    alloc_watch(0);
    assert_int_equal(range_set_size(&copy), (UINT64_C(1) << 32) - 7);
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
    struct range_set set = {0}, other = {0}, before = {0};
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(range_set_add(&set, (struct range){i * 8, i * 8 + 4}));
        assert_true(range_set_add(&other, (struct range){i * 8 + 2, i * 8 + 3}));
    }
    assert_true(range_set_copy(&before, &set));
    alloc_watch(1);
    assert_false(range_set_remove(&set, (struct range){1, 2}));
    assert_false(range_set_subtract(&set, &other));
    assert_false(range_set_intersect(&set, &other));
    assert_false(range_set_merge(&set, &other));
    alloc_watch(0);
    assert_true(range_set_equal(&set, &before));
    range_set_release(&set);
    range_set_release(&other);
    range_set_release(&before);
}

static void ranges_from_elsewhere_are_looked_at(void **state)
{
    (void)state;
    static const struct {
        struct range items[3];
        uint32_t count;
        bool valid;
    } rows[] = {
        {{{0, 0}}, 0, true},          {{{0, 10}}, 1, true},
        {{{0, 2}, {3, 10}}, 2, true}, {{{0, 11}}, 1, false},
        {{{4, 4}}, 1, false},         {{{5, 4}}, 1, false},
        {{{0, 2}, {2, 3}}, 2, false}, {{{3, 4}, {0, 1}}, 2, false},
        {{{0, 5}, {2, 9}}, 2, false}, {{{0, 1}, {2, 3}, {2, 4}}, 3, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(range_set_valid(rows[i].items, rows[i].count, 10),
                         rows[i].valid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_holds_what_was_added_and_not_removed),
        cmocka_unit_test(whole_sets_are_joined_cut_and_compared),
        cmocka_unit_test(a_whole_array_costs_no_memory),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(ranges_from_elsewhere_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
