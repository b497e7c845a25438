/* strict_test.c - strict mode where ranks die and views change (PROTOCOL.md, Strict).
 */
#include "tests/unit/bench.h"

static void open_strict(uint32_t size)
{
    bench_open_with(size, CORE_STRICT, 10 * MS);
    pass(30 * MS);
}

static void kill_rank(uint32_t rank)
{
    bench.crashed[rank] = bench.deaf[rank] = true;
    for (uint32_t each = 0; each < bench.size; each++) {
        if (!bench.crashed[each]) {
            certify_at(each, rank);
        }
    }
}

/* Task 1 may be run by rank 2 alone.  Rank 1 comes to it when that is dead. */
static void what_nobody_may_own_any_more_keeps_its_place(void **state)
{
    (void)state;
    open_strict(3);
    struct rankset among = {.low = UINT64_C(1) << 2};
    const struct core_register reg = {.candidates = &among};
    const moot_hash a = chaired_by(2, 0, MOOT_HASH_CANDIDATES), b = chaired_by(0, 0, 0);
    assert_int_equal(spawn_with(0, 1, a, reg), MOOT_OK);
    spawn(0, 2, b);
    kill_rank(2);
    pass(200 * MS);
    assert_int_equal(spawn_with(1, 1, a, reg), MOOT_OK);
    spawn(1, 2, b);
    for (uint32_t rank = 0; rank < 2; rank++) {
        begin_wait(rank, a);
    }
    pass(200 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(bench.ended[rank][1], MOOT_ERR_NO_CANDIDATE);
        end_wait(rank, a);
        close_rank(rank);
    }
    pass(500 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_true(bench.adjourned[rank] && !bench.diverged[rank]);
    }
    bench_close();
}

/* Rank 0 differs from all, and says so; that it does rank 3 has not heard when it dies.
 */
static void who_was_told_says_it_again_in_the_next_view(void **state)
{
    (void)state;
    open_strict(4);
    const moot_hash a = chaired_by(1, 0, 0), b = chaired_by(1, 1, 0);
    bench.holds[0][3] = true;
    spawn(0, 2, b);
    begin_wait(0, b);
    for (uint32_t rank = 1; rank < 4; rank++) {
        spawn(rank, 1, a);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    for (int i = 0; i < 1000 && !bench.diverged[2]; i++) {
        pass(MS);
    }
    assert_true(bench.diverged[0] && bench.diverged[1] && bench.diverged[2]);
    assert_false(bench.diverged[3]);
    kill_rank(0);
    pass(200 * MS);
    assert_int_equal(bench.epoch[3], 2);
    assert_true(bench.diverged[3]);
    for (uint32_t rank = 1; rank < 4; rank++) {
        assert_int_equal(bench.differs_at[rank], 1);
        close_rank(rank);
    }
    bench_close();
}

/* Rank 0, their chair, has spawned neither: both are about to be given up as it rests,
 * and the difference is declared instead. */
static void no_wait_ends_before_the_difference_is_found(void **state)
{
    (void)state;
    open_strict(2);
    const moot_hash tasks[] = {chaired_by(0, 0, 0), chaired_by(0, 1, 0)};
    for (int i = 0; i < 2; i++) {
        spawn(1, i + 1, tasks[i]);
    }
    for (int i = 0; i < 2; i++) {
        begin_wait(1, tasks[i]);
    }
    set_lane(0, CORE_LANE_BLOCKED);
    pass(500 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_true(bench.diverged[rank]);
        assert_int_equal(bench.differs_at[rank], 1);
    }
    assert_int_equal(bench.ended[1][1], 0);
    assert_int_equal(bench.ended[1][2], 0);
    bench_close();
}

static void hear_of_hashes(uint32_t rank, uint32_t from, const moot_hash *hashes,
                           uint32_t count)
{
    struct message message = {
        .type = MESSAGE_HASHES,
        .u.hashes = {.first = 1, .hashes = hashes, .count = count}};
    struct core_event event = {.type = CORE_EV_RECV};
    core_view(bench.core[rank], &message.epoch, &message.view_id);
    event.u.recv.message = &message;
    event.u.recv.from = from;
    event.u.recv.uid = bench.uids[from];
    assert_int_equal(step(rank, &event), MOOT_OK);
}

/* Rank 0 declares that 1 differs at the second place, and then hears from 2, which
 * differs at the first.  Who is told late hears of what the others did. */
static void what_was_said_stays(void **state)
{
    (void)state;
    bench_open(3, CORE_STRICT);
    const moot_hash a = chaired_by(0, 0, 0), b = chaired_by(0, 1, 0),
                    c = chaired_by(1, 0, 0);
    const moot_hash second[] = {a, c}, first[] = {c, b};
    spawn(0, 1, a);
    spawn(0, 2, b);
    bench.holds[0][2] = true;
    hear_of_hashes(0, 1, second, 2);
    settle();
    assert_true(bench.diverged[0] && bench.differs_at[0] == 2);
    hear_of_hashes(0, 2, first, 2);
    const struct message theirs = {
        .type = MESSAGE_DIVERGED,
        .u.diverged = {.position = 1,
                       .sides = 2,
                       .side = {{.hash = a, .ranks = &(struct rankset){.low = 1}},
                                {.hash = c, .ranks = &(struct rankset){.low = 4}}}}};
    struct message message = theirs;
    core_view(bench.core[0], &message.epoch, &message.view_id);
    struct core_event event = {.type = CORE_EV_RECV};
    event.u.recv.message = &message;
    event.u.recv.from = 2;
    event.u.recv.uid = bench.uids[2];
    assert_int_equal(step(0, &event), MOOT_OK);
    settle();
    int said = 0;
    for (size_t i = 0; i < bench.held_count; i++) {
        if (bench.held[i]->message->type == MESSAGE_DIVERGED) {
            assert_int_equal(bench.held[i]->message->u.diverged.position, 2);
            said++;
        }
    }
    assert_int_equal(said, 2);
    let_go(0, 2);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_may_own_any_more_keeps_its_place),
        cmocka_unit_test(who_was_told_says_it_again_in_the_next_view),
        cmocka_unit_test(no_wait_ends_before_the_difference_is_found),
        cmocka_unit_test(what_was_said_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
