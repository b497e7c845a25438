/* tree_test.c - every member has one place in the tree of a view
 * (consensus/state/tree.h). */
#include "consensus/state/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANKS = 3000 };

/* Every `stride`-th rank from `first` on, so many of them. */
static struct rankset members_of(uint32_t count, uint32_t first, uint32_t stride)
{
    struct rankset members = {0};
    for (uint32_t i = 0; i < count; i++) {
        assert_true(rankset_add(&members, first + i * stride));
    }
    return members;
}

/* Walks down from `rank`; returns how deep it went, and counts visits. */
static uint32_t walk(const struct rankset *members, uint32_t root, uint32_t rank,
                     uint8_t *visits)
{
    struct tree_place place = tree_place(members, root, rank);
    uint32_t deepest = 0;
    visits[rank]++;
    for (uint32_t i = 0; i < place.child_count; i++) {
        uint32_t child = place.children[i];
        assert_true(rankset_has(members, child));
        assert_int_equal(tree_place(members, root, child).parent, rank);
        uint32_t depth = 1 + walk(members, root, child, visits);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

static void check_tree(const struct rankset *members, uint32_t root)
{
    static uint8_t visits[RANKS];
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        visits[rank] = 0;
    }
    assert_int_equal(tree_place(members, root, root).parent, UINT32_MAX);
    assert_int_equal(walk(members, root, root, visits),
                     tree_depth(rankset_count(members)));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(visits[rank], rankset_has(members, rank));
    }
}

static void the_root_reaches_every_member_once(void **state)
{
    (void)state;
    static const struct {
        uint32_t count, first, stride;
    } sets[] = {{1, 0, 1},   {1, 130, 1}, {2, 0, 1},   {5, 3, 1},    {6, 60, 2},
                {21, 0, 1},  {22, 7, 3},  {64, 0, 1},  {65, 1, 1},   {85, 40, 7},
                {128, 0, 1}, {341, 5, 8}, {512, 0, 3}, {RANKS, 0, 1}};
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        struct rankset members =
            members_of(sets[i].count, sets[i].first, sets[i].stride);
        uint32_t step = sets[i].count / 8 + 1;
        for (uint32_t n = 0; n < sets[i].count; n += step) {
            check_tree(&members, sets[i].first + n * sets[i].stride);
        }
        check_tree(&members, sets[i].first + (sets[i].count - 1) * sets[i].stride);
        rankset_release(&members);
    }
}

static void the_depth_is_the_logarithm(void **state)
{
    (void)state;
    static const struct {
        uint32_t members, depth;
    } rows[] = {{1, 0},  {2, 1},  {5, 1},   {6, 2},   {21, 2},   {22, 3},
                {85, 3}, {86, 4}, {341, 4}, {342, 5}, {4096, 6}, {10000, 7}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(tree_depth(rows[i].members), rows[i].depth);
    }
}

static void the_newest_members_are_leaves(void **state)
{
    (void)state;
    struct rankset members = members_of(100, 0, 1);
    for (uint32_t root = 0; root < 100; root += 9) {
        for (uint32_t rank = 30; rank < 100; rank++) {
            assert_true(rank == root ||
                        tree_place(&members, root, rank).child_count == 0);
        }
    }
    rankset_release(&members);
}

/* Each rank and those below its children, and nobody twice. */
static void all_below_are_those_below_the_children(void **state)
{
    (void)state;
    struct rankset members = members_of(100, 0, 1);
    for (uint32_t rank = 0; rank < 100; rank++) {
        const struct tree_place place = tree_place(&members, 0, rank);
        struct rankset all = {0}, sum = {0};
        assert_true(tree_add_below(&members, 0, rank, &all));
        assert_true(rankset_add(&sum, rank));
        uint32_t count = 1;
        for (uint32_t i = 0; i < place.child_count; i++) {
            struct rankset below = {0};
            assert_true(tree_add_below(&members, 0, place.children[i], &below));
            count += rankset_count(&below);
            assert_true(rankset_merge(&sum, &below));
            rankset_release(&below);
        }
        assert_true(rankset_equal(&all, &sum));
        assert_int_equal(rankset_count(&all), count);
        assert_true(rank != 0 || count == 100);
        rankset_release(&all);
        rankset_release(&sum);
    }
    rankset_release(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_reaches_every_member_once),
        cmocka_unit_test(the_depth_is_the_logarithm),
        cmocka_unit_test(the_newest_members_are_leaves),
        cmocka_unit_test(all_below_are_those_below_the_children),
    };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
