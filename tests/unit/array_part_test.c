/* array_part_test.c - the places of the indices that a program names of an array
 * (node/compose/array_part.h).
 *
 * The oracle looks at each place: it is of the part if its index is in a range.
 */
#include "node/compose/array_part.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { COUNT_MAX = 90, HOMES_MAX = 12, BLOCK_MAX = 5, RANGES_MAX = 4, TRIES = 20000 };

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 29) % below;
}

static bool is_named(const moot_range *ranges, size_t count, uint64_t index)
{
    bool named = false;
    for (size_t i = 0; i < count; i++) {
        named = named || index - ranges[i].first < ranges[i].count;
    }
    return named;
}

static void try_one(uint64_t *state)
{
    static const enum array_spread_kind kinds[] = {
        ARRAY_SPREAD_BLOCK, ARRAY_SPREAD_CYCLIC, ARRAY_SPREAD_HASHED};
    struct array_spread spread = {.count = 1 + draw(state, COUNT_MAX),
                                  .homes = 1 + (uint32_t)draw(state, HOMES_MAX),
                                  .kind = kinds[draw(state, 3)]};
    if (spread.kind == ARRAY_SPREAD_CYCLIC) {
        spread.block =
            1 + draw(state, spread.count < BLOCK_MAX ? spread.count : BLOCK_MAX);
    }
    moot_range ranges[RANGES_MAX];
    const size_t count = 1 + draw(state, RANGES_MAX);
    for (size_t i = 0; i < count; i++) {
        ranges[i].first = draw(state, spread.count);
        ranges[i].count = 1 + draw(state, spread.count - ranges[i].first);
    }
    struct range_set part = {0};
    assert_true(array_spread_valid(&spread));
    assert_int_equal(array_part_find(NULL, &spread, ranges, count, &part), MOOT_OK);
    for (uint64_t place = 0; place < spread.count; place++) {
        assert_int_equal(range_set_covers(&part, (struct range){place, place + 1}),
                         is_named(ranges, count, array_index(&spread, place)));
    }
    range_set_release(&part);
}

static void a_part_has_the_places_of_the_named_indices(void **unused)
{
    (void)unused;
    uint64_t state = 7;
    for (int i = 0; i < TRIES; i++) {
        try_one(&state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_has_the_places_of_the_named_indices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
