/* map_check_test.c - maps of programs that are wrong are found where a rank touches
 * them (consensus/shape/map_check.h). */
#include "consensus/shape/map_check.h"

#include "proto/limits.h"
#include "proto/moot_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 3, COUNT = 12, NOBODY = 99 };

/* A map by which an element takes itself and the next, the last but itself.  So it is
 * until one of these spoils it. */
struct spoiled {
    uint64_t beyond;   /* this element takes what there is not, */
    uint64_t refused;  /* and this one nothing, not even none, */
    uint64_t much;     /* and this one too much */
    uint64_t left_out; /* the inverse leaves this one out, of itself */
    uint64_t too_much; /* the inverse of this one names the first element, too */
};
static const struct spoiled right = {NOBODY, NOBODY, NOBODY, NOBODY, NOBODY};

static int take(const void *user, const void *args, size_t args_size, uint64_t element,
                const struct array_counts *counts, struct range *out, size_t room)
{
    const struct spoiled *spoiled = user;
    const bool last = element + 1 == counts->from;
    (void)args, (void)args_size, (void)room;
    if (element == spoiled->refused) {
        return -1000;
    }
    out[0] = (struct range){element, element + (last ? 1 : 2)};
    if (element == spoiled->beyond) {
        out[0].end = counts->from + 5;
    }
    return element == spoiled->much ? LIMIT_INPUTS + 1 : 1;
}

static int feed(const void *user, const void *args, size_t args_size, uint64_t element,
                const struct array_counts *counts, struct range *out, size_t room)
{
    const struct spoiled *spoiled = user;
    const bool leaves_out = element == spoiled->left_out;
    int count = 0;
    (void)args, (void)args_size, (void)counts, (void)room;
    if (element > 0) {
        out[count++] = (struct range){element - 1, element};
    }
    if (!leaves_out) {
        out[count++] = (struct range){element, element + 1};
    }
    if (element == spoiled->too_much) {
        out[count++] = (struct range){0, 1};
    }
    return count;
}

/* Ranks have four elements each, one behind the other. */
struct scene {
    struct rankset homes;
    struct array_map map;
    struct array_shape shape;
};

static void set_scene(struct scene *scene, const struct spoiled *spoiled, uint32_t rank)
{
    memset(scene, 0, sizeof(*scene));
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_true(rankset_add(&scene->homes, i));
    }
    const struct array_card card = {{COUNT, 0, RANKS, ARRAY_SPREAD_BLOCK},
                                    &scene->homes};
    scene->map = (struct array_map){"m", 1, take, feed, spoiled, NULL};
    scene->shape =
        (struct array_shape){card, card, {&scene->map, NULL, 0}, &scene->homes, rank};
}

/* By rank 0 to 2. */
static void expect_faults(const struct spoiled *spoiled, uint64_t element, int error,
                          bool beyond)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct scene scene;
        struct map_fault fault;
        set_scene(&scene, spoiled, rank);
        const bool own = element / (COUNT / RANKS) == rank;
        assert_int_equal(map_fault_find(&scene.shape, &fault), own);
        scene.map.targets = NULL; /* then each rank asks for all */
        assert_int_equal(map_fault_find(&scene.shape, &fault), element != NOBODY);
        if (element != NOBODY) {
            assert_int_equal(fault.element, element);
            assert_int_equal(fault.error, error);
            assert_int_equal(fault.beyond, beyond);
            assert_int_equal(fault.range.end, beyond ? COUNT + 5 : 0);
        }
    }
}

static void elements_without_sources_are_found_by_their_ranks(void **state)
{
    (void)state;
    struct spoiled beyond = right, refused = right, much = right;
    beyond.beyond = 5;
    refused.refused = 11;
    much.much = 0;
    expect_faults(&right, NOBODY, 0, false);
    expect_faults(&beyond, 5, MOOT_ERR_INVALID, true);
    expect_faults(&much, 0, MOOT_ERR_LIMIT, false);
    struct scene scene;
    struct map_fault fault;
    set_scene(&scene, &refused, 2);
    const struct array_counts counts = {COUNT, COUNT};
    assert_int_equal(map_fault_of(&scene.shape.mapping, 11, &counts, &fault), -1000);
    assert_int_equal(map_fault_of(&scene.shape.mapping, 10, &counts, &fault), MOOT_OK);
}

static void an_inverse_that_is_right_has_no_fault(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct scene scene;
        struct inverse_fault fault;
        set_scene(&scene, &right, rank);
        assert_false(inverse_fault_find(&scene.shape, &fault));
        scene.map.targets = NULL;
        assert_false(inverse_fault_find(&scene.shape, &fault));
    }
}

static void one_that_leaves_out_is_found_by_who_is_left_out(void **state)
{
    (void)state;
    struct spoiled spoiled = right;
    spoiled.left_out = 6;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct scene scene;
        struct inverse_fault fault;
        set_scene(&scene, &spoiled, rank);
        assert_int_equal(inverse_fault_find(&scene.shape, &fault), rank == 1);
        if (rank == 1) {
            assert_true(fault.left_out);
            assert_int_equal(fault.element, 6);
            assert_int_equal(fault.source, 6);
            assert_int_equal(fault.source_ranges, 1);
            assert_int_equal(fault.sources[0].end, 8);
            assert_int_equal(fault.target_ranges, 1);
            assert_int_equal(fault.targets[0].first, 5);
        }
    }
}

static void one_that_names_too_much_is_found_by_who_gives(void **state)
{
    (void)state;
    struct spoiled spoiled = right;
    spoiled.too_much = 9;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct scene scene;
        struct inverse_fault fault;
        set_scene(&scene, &spoiled, rank);
        assert_int_equal(inverse_fault_find(&scene.shape, &fault), rank == 2);
        if (rank == 2) {
            assert_false(fault.left_out);
            assert_int_equal(fault.element, 0);
            assert_int_equal(fault.source, 9);
            assert_int_equal(fault.target_ranges, 3);
            assert_int_equal(fault.sources[0].first, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_without_sources_are_found_by_their_ranks),
        cmocka_unit_test(an_inverse_that_is_right_has_no_fault),
        cmocka_unit_test(one_that_leaves_out_is_found_by_who_is_left_out),
        cmocka_unit_test(one_that_names_too_much_is_found_by_who_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
