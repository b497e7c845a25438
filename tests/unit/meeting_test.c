/* meeting_test.c - all members meet, or have closed, or died (PROTOCOL.md, *Meetings*).
 */
#include "proto/limits.h"
#include "proto/meet_words.h"
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (10 * (uint64_t)MS)

static int arrive_for(uint32_t rank, const char *purpose)
{
    struct core_event event = {.type = CORE_EV_MEET,
                               .hash = digest_bytes(purpose, strlen(purpose))};
    return step(rank, &event);
}

static void arrive(uint32_t rank)
{
    assert_int_equal(arrive_for(rank, "barrier"), MOOT_OK);
}

static void crash(uint32_t rank) { bench.crashed[rank] = true; }

static void assert_met(uint32_t rank, uint64_t number, uint32_t came)
{
    assert_int_equal(bench.met[rank], number);
    assert_int_equal(bench.met_code[rank], MOOT_OK);
    assert_int_equal(rankset_count(&bench.came[rank]), came);
}

static void the_last_to_come_ends_it(void **state)
{
    (void)state;
    for (uint32_t last = 0; last < 3; last++) {
        bench_open(3, CORE_REPAIR);
        for (uint64_t number = 1; number <= 3; number++) {
            for (uint32_t rank = 0; rank < 3; rank++) {
                if (rank != last) {
                    arrive(rank);
                }
            }
            settle();
            for (uint32_t rank = 0; rank < 3; rank++) {
                assert_int_equal(bench.met[rank], number - 1);
            }
            arrive(last);
            deliver_all();
            for (uint32_t rank = 0; rank < 3; rank++) {
                assert_met(rank, number, 3);
            }
        }
        close_all();
        bench_close();
    }
}

static void alone_one_meets_at_once(void **state)
{
    (void)state;
    bench_open(1, CORE_REPAIR);
    arrive(0);
    assert_met(0, 1, 1);
    close_all();
    bench_close();
}

static void who_waits_comes_to_no_other(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    arrive(1);
    assert_int_equal(arrive_for(1, "barrier"), MOOT_ERR_STATE);
    arrive(0);
    deliver_all();
    assert_met(1, 1, 2);
    close_rank(1);
    assert_int_equal(arrive_for(1, "barrier"), MOOT_ERR_STATE);
    close_all();
    bench_close();
}

static void different_purposes_are_told_to_all(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    arrive(0);
    assert_int_equal(arrive_for(1, "list"), MOOT_OK);
    arrive(2);
    deliver_all();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(bench.met[rank], 1);
        assert_int_equal(bench.met_code[rank], MOOT_ERR_STATE);
        arrive(rank);
    }
    deliver_all();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_met(rank, 2, 3);
    }
    close_all();
    bench_close();
}

static void who_has_closed_is_not_waited_for(void **state)
{
    (void)state;
    for (uint32_t closed = 0; closed < 3; closed++) {
        bench_open(3, CORE_REPAIR);
        arrive((closed + 1) % 3);
        close_rank(closed);
        arrive((closed + 2) % 3);
        settle();
        assert_met((closed + 1) % 3, 1, 2);
        assert_met((closed + 2) % 3, 1, 2);
        assert_false(rankset_has(&bench.came[(closed + 1) % 3], closed));
        close_all();
        bench_close();
    }
}

/* The lowest may have closed, and finds one meeting after the other over. */
static void who_has_closed_goes_on_counting(void **state)
{
    (void)state;
    for (uint32_t closed = 0; closed < 3; closed++) {
        bench_open(3, CORE_REPAIR);
        close_rank(closed);
        for (uint64_t number = 1; number <= 3; number++) {
            arrive((closed + 1) % 3);
            arrive((closed + 2) % 3);
            settle();
            assert_met((closed + 1) % 3, number, 2);
            assert_met((closed + 2) % 3, number, 2);
        }
        close_all();
        bench_close();
    }
}

static void who_closes_at_a_meeting_waits_no_more(void **state)
{
    (void)state;
    for (uint32_t closed = 0; closed < 3; closed++) {
        bench_open(3, CORE_REPAIR);
        arrive(closed);
        close_rank(closed);
        settle();
        arrive((closed + 1) % 3);
        arrive((closed + 2) % 3);
        settle();
        assert_met((closed + 1) % 3, 1, 3);
        assert_met((closed + 2) % 3, 1, 3);
        assert_int_equal(bench.met[closed], 0);
        close_all();
        bench_close();
    }
}

/* A newcomer hears of a meeting long past that it is over, and of the last how it
 * ended: that ended ill, and the others may not have. */
static void an_old_meeting_is_over_whoever_came(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    arrive(1);
    const struct rankset both = {.low = 3};
    struct message last = {
        .type = MESSAGE_MEET,
        .u.meet = {
            .what = MEET_MET, .number = 3, .code = MOOT_ERR_STATE, .came = &both}};
    core_view(bench.core[1], &last.epoch, &last.view_id);
    struct core_event event = {.type = CORE_EV_RECV};
    event.u.recv.from = 0;
    event.u.recv.uid = bench.uids[0];
    event.u.recv.message = &last;
    assert_int_equal(step(1, &event), MOOT_OK);
    assert_met(1, 1, 0);
    arrive(1);
    assert_met(1, 2, 0);
    arrive(1);
    assert_int_equal(bench.met[1], 3);
    assert_int_equal(bench.met_code[1], MOOT_ERR_STATE);
    assert_int_equal(rankset_count(&bench.came[1]), 2);
    bench_close();
}

/* The survivors of any rank wait for each other and not for it. */
static void who_dies_is_not_waited_for(void **state)
{
    (void)state;
    for (uint32_t dead = 0; dead < 3; dead++) {
        bench_open_with(3, CORE_REPAIR, HEARTBEAT_NS);
        arrive((dead + 1) % 3);
        pass(50 * MS);
        crash(dead);
        certify_at((dead + 1) % 3, dead);
        certify_at((dead + 2) % 3, dead);
        pass(400 * MS);
        assert_int_equal(bench.met[(dead + 1) % 3], 0);
        arrive((dead + 2) % 3);
        pass(50 * MS);
        assert_met((dead + 1) % 3, 1, 2);
        assert_met((dead + 2) % 3, 1, 2);
        bench_close();
    }
}

/* Rank 0 tells rank 1 alone, and dies: rank 1 tells the others what it has heard, as it
 * was, and is not waited for again. */
static void an_outcome_outlives_who_found_it(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        arrive(rank);
    }
    bench.holds[0][2] = bench.holds[0][3] = true;
    deliver_all();
    assert_met(1, 1, 4);
    assert_int_equal(bench.met[2], 0);
    crash(0);
    for (uint32_t rank = 1; rank < 4; rank++) {
        certify_at(rank, 0);
    }
    pass(400 * MS);
    for (uint32_t rank = 1; rank < 4; rank++) {
        assert_met(rank, 1, 4);
        arrive(rank);
    }
    pass(50 * MS);
    for (uint32_t rank = 1; rank < 4; rank++) {
        assert_met(rank, 2, 3);
    }
    bench_close();
}

/* The same, but rank 3 alone has heard it, and it is not the lowest of the new view. */
static void whoever_heard_an_outcome_tells_it(void **state)
{
    (void)state;
    bench_open_with(4, CORE_REPAIR, HEARTBEAT_NS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        arrive(rank);
    }
    bench.holds[0][1] = bench.holds[0][2] = true;
    deliver_all();
    assert_met(3, 1, 4);
    arrive(3);
    crash(0);
    for (uint32_t rank = 1; rank < 4; rank++) {
        certify_at(rank, 0);
    }
    pass(400 * MS);
    assert_met(1, 1, 4);
    assert_met(2, 1, 4);
    arrive(1);
    arrive(2);
    pass(50 * MS);
    assert_met(3, 2, 3);
    bench_close();
}

/* --- Words -------------------------------------------------------------------------
 */

static int arrive_saying(uint32_t rank, const char *words, size_t size)
{
    struct core_event event = {.type = CORE_EV_MEET};
    event.u.meet.words = words;
    event.u.meet.words_size = size;
    return step(rank, &event);
}

static void assert_told(uint32_t rank, int32_t code, const char *words)
{
    assert_int_equal(bench.met_code[rank], code);
    struct words_frame frame;
    char text[64] = "";
    size_t at = 0;
    while (words_next(bench.words[rank], bench.words_size[rank], &at, &frame)) {
        strncat(text, (const char *)frame.bytes, frame.size);
    }
    assert_int_equal(at, bench.words_size[rank]);
    assert_string_equal(text, words);
}

static void all_hear_what_each_has_said(void **state)
{
    (void)state;
    bench_open(4, CORE_REPAIR);
    assert_int_equal(arrive_saying(1, "one;", 4), MOOT_OK);
    settle();
    assert_int_equal(arrive_saying(2, "", 0), MOOT_OK);
    assert_int_equal(arrive_saying(3, "one;", 4), MOOT_OK);
    assert_int_equal(arrive_saying(0, "nought;", 7), MOOT_OK);
    deliver_all();
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_told(rank, MOOT_OK, "one;nought;");
        arrive(rank);
    }
    deliver_all();
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_met(rank, 2, 4);
        assert_told(rank, MOOT_OK, "");
    }
    close_all();
    bench_close();
}

static char long_words[LIMIT_WORDS_BYTES - WORDS_HEAD_BYTES + 1];

static void words_have_a_limit(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    assert_int_equal(arrive_saying(0, long_words, sizeof(long_words)), MOOT_ERR_LIMIT);
    assert_int_equal(arrive_saying(0, long_words, sizeof(long_words) - 1), MOOT_OK);
    assert_int_equal(arrive_saying(1, "1", 1), MOOT_OK);
    deliver_all();
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(bench.met[rank], 1);
        assert_told(rank, MOOT_ERR_LIMIT, "");
        assert_int_equal(arrive_saying(rank, rank == 0 ? "again;" : "once more;",
                                       rank == 0 ? 6 : 10),
                         MOOT_OK);
    }
    deliver_all();
    assert_told(1, MOOT_OK, "again;once more;");
    close_all();
    bench_close();
}

/* --- Among many --------------------------------------------------------------------
 */

/* Rank 0 is the root, 1 to 4 its children, and 5 is below 1. */
enum { MANY = 6 };

static void open_many(void)
{
    bench.direct_max = 1;
    bench_open(MANY, CORE_REPAIR);
}

static void close_many(void)
{
    close_all();
    bench_close();
    bench.direct_max = 0;
}

static void many_wait_for_the_last(void **state)
{
    (void)state;
    for (uint32_t last = 0; last < MANY; last++) {
        open_many();
        for (uint64_t number = 1; number <= 3; number++) {
            for (uint32_t rank = 0; rank < MANY; rank++) {
                if (rank != last) {
                    arrive(rank);
                }
            }
            settle();
            for (uint32_t rank = 0; rank < MANY; rank++) {
                assert_int_equal(bench.met[rank], number - 1);
            }
            arrive(last);
            deliver_all();
            for (uint32_t rank = 0; rank < MANY; rank++) {
                assert_met(rank, number, MANY);
            }
        }
        close_many();
    }
}

static void many_do_not_wait_for_who_has_closed(void **state)
{
    (void)state;
    for (uint32_t closed = 0; closed < MANY; closed++) {
        open_many();
        close_rank(closed);
        for (uint64_t number = 1; number <= 2; number++) {
            for (uint32_t rank = 0; rank < MANY; rank++) {
                if (rank != closed) {
                    arrive(rank);
                }
            }
            settle();
            for (uint32_t rank = 0; rank < MANY; rank++) {
                if (rank != closed) {
                    assert_met(rank, number, MANY - 1);
                    assert_false(rankset_has(&bench.came[rank], closed));
                }
            }
        }
        close_many();
    }
}

static void many_hear_that_one_came_for_something_else(void **state)
{
    (void)state;
    for (uint32_t odd = 0; odd < MANY; odd++) {
        open_many();
        for (uint32_t rank = 0; rank < MANY; rank++) {
            assert_int_equal(arrive_for(rank, rank == odd ? "list" : "barrier"),
                             MOOT_OK);
        }
        deliver_all();
        for (uint32_t rank = 0; rank < MANY; rank++) {
            assert_int_equal(bench.met[rank], 1);
            assert_int_equal(bench.met_code[rank], MOOT_ERR_STATE);
        }
        close_many();
    }
}

/* Rank 5 has no way to the root but by rank 1, which dies when it alone of these two
 * has heard the outcome. */
static void an_outcome_finds_a_way_around_an_inner_rank(void **state)
{
    (void)state;
    bench.direct_max = 1;
    bench_open_with(MANY, CORE_REPAIR, HEARTBEAT_NS);
    for (uint32_t rank = 0; rank < MANY; rank++) {
        arrive(rank);
    }
    bench.holds[1][5] = true;
    deliver_all();
    assert_met(1, 1, MANY);
    assert_met(4, 1, MANY);
    assert_int_equal(bench.met[5], 0);
    crash(1);
    for (uint32_t rank = 0; rank < MANY; rank++) {
        if (rank != 1) {
            certify_at(rank, 1);
        }
    }
    pass(400 * MS);
    assert_met(5, 1, MANY);
    bench_close();
    bench.direct_max = 0;
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_to_come_ends_it),
        cmocka_unit_test(alone_one_meets_at_once),
        cmocka_unit_test(who_waits_comes_to_no_other),
        cmocka_unit_test(different_purposes_are_told_to_all),
        cmocka_unit_test(who_has_closed_is_not_waited_for),
        cmocka_unit_test(who_has_closed_goes_on_counting),
        cmocka_unit_test(who_closes_at_a_meeting_waits_no_more),
        cmocka_unit_test(an_old_meeting_is_over_whoever_came),
        cmocka_unit_test(who_dies_is_not_waited_for),
        cmocka_unit_test(an_outcome_outlives_who_found_it),
        cmocka_unit_test(whoever_heard_an_outcome_tells_it),
        cmocka_unit_test(all_hear_what_each_has_said),
        cmocka_unit_test(words_have_a_limit),
        cmocka_unit_test(many_wait_for_the_last),
        cmocka_unit_test(many_do_not_wait_for_who_has_closed),
        cmocka_unit_test(many_hear_that_one_came_for_something_else),
        cmocka_unit_test(an_outcome_finds_a_way_around_an_inner_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
