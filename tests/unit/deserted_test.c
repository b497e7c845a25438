/* deserted_test.c - those who are ready to leave when others die (PROTOCOL.md,
 * "Leaving"), on the bench. */
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

static void leave(uint32_t rank)
{
    struct core_event event = {.type = CORE_EV_LEAVE};
    assert_int_equal(step(rank, &event), MOOT_OK);
}

static void crash(uint32_t rank) { bench.crashed[rank] = true; }

/* So many ranks stay, enter a view without the others, and die before one of these has
 * heard of that. */
static void leave_to_the_first(uint32_t stay)
{
    uint32_t size = bench.size;
    pass(50 * MS);
    for (uint32_t rank = 0; rank < stay; rank++) {
        for (uint32_t leaver = stay; leaver < size; leaver++) {
            bench.holds[rank][leaver] = true;
        }
    }
    for (uint32_t leaver = stay; leaver < size; leaver++) {
        leave(leaver);
    }
    pass(20 * MS);
    for (uint32_t rank = 0; rank < stay; rank++) {
        assert_int_equal(bench.epoch[rank], 2);
        assert_int_equal(rankset_count(&bench.members[rank]), stay);
        crash(rank);
    }
}

static void who_is_ready_does_not_go_on_alone(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 4; size++) {
        for (int detects = 0; detects <= 1; detects++) {
            uint32_t leaver = size - 1;
            bench_open_with(size, CORE_REPAIR, detects ? HEARTBEAT_NS : 0);
            leave_to_the_first(leaver);
            for (uint32_t rank = 0; rank < leaver; rank++) {
                assert_false(bench.left[leaver]);
                certify_at(leaver, rank);
            }
            pass(5 * MS);
            assert_true(bench.left[leaver]);
            assert_int_equal(bench.epoch[leaver], 0); /* no view but the first */
            bench_close();
        }
    }
}

/* One of those who are ready hears late that another is, or at once. */
static void those_who_are_ready_do_not_go_on_together(void **state)
{
    (void)state;
    for (uint32_t size = 4; size <= 5; size++) {
        for (int late = 0; late <= 1; late++) {
            uint32_t first = size - 2, last = size - 1;
            bench_open_with(size, CORE_REPAIR, late ? HEARTBEAT_NS : 0);
            bench.holds[last][first] = late;
            leave_to_the_first(first);
            for (uint32_t rank = 0; rank < first; rank++) {
                certify_at(first, rank);
                certify_at(last, rank);
            }
            pass(5 * MS);
            assert_true(bench.left[last]);
            assert_int_equal(bench.left[first], !late);
            let_go(last, first);
            pass(1 * MS);
            for (uint32_t leaver = first; leaver < size; leaver++) {
                assert_true(bench.left[leaver]);
                assert_int_equal(bench.epoch[leaver], 0); /* no view but the first */
            }
            bench_close();
        }
    }
}

/* All that rank 3 needs for a view comes before it looks around again. */
static void nor_do_they_count_the_votes_for_it(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    bench.holds[2][3] = bench.holds[3][2] = true;
    leave_to_the_first(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        certify_at(2, rank);
        certify_at(3, rank);
    }
    pass(20 * MS); /* a ballot that knows of the dead */
    assert_false(bench.left[2] || bench.left[3]);
    let_go(2, 3);
    let_go(3, 2);
    deliver_all();
    assert_int_equal(bench.epoch[3], 0);
    pass(1 * MS);
    assert_true(bench.left[2] && bench.left[3]);
    bench_close();
}

/* Those who died were too few to decide anything without them. */
static void those_who_are_ready_and_were_asked_go_on(void **state)
{
    (void)state;
    bench_open_with(5, CORE_REPAIR, HEARTBEAT_NS);
    pass(50 * MS);
    crash(0);
    crash(1);
    for (uint32_t leaver = 2; leaver < 5; leaver++) {
        leave(leaver);
        certify_at(leaver, 0);
        certify_at(leaver, 1);
    }
    pass(50 * MS);
    for (uint32_t leaver = 2; leaver < 5; leaver++) {
        assert_int_not_equal(bench.epoch[leaver], 0);
        assert_true(bench.left[leaver] || bench.adjourned[leaver]);
    }
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_ready_does_not_go_on_alone),
        cmocka_unit_test(those_who_are_ready_do_not_go_on_together),
        cmocka_unit_test(nor_do_they_count_the_votes_for_it),
        cmocka_unit_test(those_who_are_ready_and_were_asked_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
