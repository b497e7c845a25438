/* array_adopt_test.c - who is brought the spec of a portable array, and adopts it
 * (PROTOCOL.md, A8). */
#include "tests/unit/elements_bench.h"

static struct message_spec spec = {
    .kernel_name = "kernel", .count = COUNT, .spread = ARRAY_SPREAD_BLOCK};
static int brought[RANKS_MAX], adopted[RANKS_MAX];

static int hold_array(uint32_t rank, moot_hash hash, uint32_t flags,
                      const struct range *part)
{
    const struct array_spread spread = {.count = COUNT, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register reg = {.array = &spread,
                                      .spec = &spec,
                                      .flags = CORE_TASK_PORTABLE | flags,
                                      .part = part,
                                      .part_count = part != NULL};
    return spawn_with(rank, ARRAY, hash, reg);
}

/* Rank 3 has no such kernel. */
static void adopt(const struct parcel *parcel)
{
    const struct message *message = parcel->message;
    const uint32_t to = parcel->to;
    const bool has =
        (message->type == MESSAGE_MOTION && message->u.motion.spec != NULL) ||
        (message->type == MESSAGE_ELEMENTS && message->u.elements.spec != NULL);
    brought[to] += has;
    if (has && to != 3 &&
        core_would_adopt(bench.core[to], parcel->from, bench.uids[parcel->from],
                         message)) {
        adopted[to]++;
        assert_int_equal(hold_array(to, message->hash, CORE_TASK_ADOPTED, NULL),
                         MOOT_OK);
    }
}

static moot_hash open_with(uint32_t size, uint32_t chair)
{
    bench_open(size, CORE_REPAIR);
    bench.comes = adopt;
    memset(brought, 0, sizeof(brought));
    memset(adopted, 0, sizeof(adopted));
    return array_of(chair);
}

/* All elements that a rank has been given end, whoever is given more meanwhile. */
static void end_all(moot_hash hash)
{
    uint32_t done[RANKS_MAX] = {0};
    for (int round = 0; round < 4; round++) {
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            for (; done[rank] < bench.given_count[rank]; done[rank]++) {
                const struct range given = bench.given[rank][done[rank]];
                end_elements(rank, hash, given.first, given.end);
            }
        }
        settle();
    }
}

/* Rank 0 is busy with its own: the chair is asked, and asks, all the same. */
static void all_run_what_one_has_spawned(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 3; chair++) {
        const moot_hash hash = open_with(3, chair);
        assert_int_equal(hold_array(0, hash, 0, NULL), MOOT_OK);
        begin_wait(0, hash);
        close_rank(1);
        close_rank(2);
        settle();
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(bench.given_count[rank], 1);
            assert_given(rank, 0, (rank * COUNT + 2) / 3, ((rank + 1) * COUNT + 2) / 3);
            assert_int_equal(adopted[rank], rank != 0);
        }
        end_all(hash);
        assert_int_equal(bench.ended[0][ARRAY], 1);
        bench_close();
    }
}

static void who_cannot_gives_its_stretch_up(void **state)
{
    (void)state;
    const moot_hash hash = open_with(4, 0);
    assert_int_equal(hold_array(0, hash, 0, NULL), MOOT_OK);
    begin_wait(0, hash);
    for (uint32_t rank = 1; rank < 4; rank++) {
        close_rank(rank);
    }
    settle();
    assert_int_equal(brought[3], 1);
    assert_int_equal(bench.given_count[3], 0);
    assert_true(bench.given_count[0] + bench.given_count[1] + bench.given_count[2] > 3);
    end_all(hash);
    assert_int_equal(bench.ended[0][ARRAY], 1);
    bench_close();
}

/* Elements that rank 0 has not spawned others may spawn, and nobody else runs them. */
static void only_who_has_all_of_it_sends_the_spec(void **state)
{
    (void)state;
    const struct range most = {0, COUNT - 1}, last = {COUNT - 1, COUNT};
    for (uint32_t chair = 0; chair < 2; chair++) {
        const moot_hash hash = open_with(2, chair);
        assert_int_equal(hold_array(0, hash, 0, &most), MOOT_OK);
        begin_wait(0, hash);
        set_lane(1, CORE_LANE_BLOCKED);
        pass(20 * MS);
        assert_int_equal(brought[1], 0);
        assert_int_equal(hold_array(0, hash, 0, &last), MOOT_OK);
        settle();
        end_all(hash);
        assert_int_equal(bench.ended[0][ARRAY], 1);
        bench_close();
    }
}

/* The cancel overtakes no word of the same rank. */
static void what_is_cancelled_is_not_adopted(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 2; chair++) {
        const moot_hash hash = open_with(2, chair);
        struct core_event cancel = {.type = CORE_EV_CANCEL, .hash = hash};
        assert_int_equal(hold_array(0, hash, 0, NULL), MOOT_OK);
        assert_int_equal(step(0, &cancel), MOOT_OK);
        begin_wait(0, hash);
        close_rank(1);
        settle();
        assert_int_equal(brought[1], 0);
        assert_int_equal(adopted[1], 0);
        bench_close();
    }
}

static void who_spawns_what_it_has_adopted_puts_it_on_its_roll(void **state)
{
    (void)state;
    const moot_hash hash = open_with(2, 0);
    assert_int_equal(hold_array(0, hash, 0, NULL), MOOT_OK);
    begin_wait(0, hash);
    set_lane(1, CORE_LANE_BLOCKED);
    settle();
    assert_int_equal(adopted[1], 1);
    set_lane(1, CORE_LANE_RUNNING);
    assert_int_equal(core_roll_len(bench.core[1], 0), 0);
    assert_int_equal(hold_array(1, hash, 0, NULL), MOOT_OK);
    assert_int_equal(core_roll_len(bench.core[1], 0), 1);
    assert_int_equal(bench.given_count[1], 1);
    end_all(hash);
    assert_int_equal(bench.ended[0][ARRAY], 1);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_run_what_one_has_spawned),
        cmocka_unit_test(who_cannot_gives_its_stretch_up),
        cmocka_unit_test(only_who_has_all_of_it_sends_the_spec),
        cmocka_unit_test(what_is_cancelled_is_not_adopted),
        cmocka_unit_test(who_spawns_what_it_has_adopted_puts_it_on_its_roll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
