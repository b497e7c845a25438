/* crash_test.c - tasks of which the ranks that run them die (PROTOCOL.md, T10). */
#include "tests/unit/bench.h"

#define HEARTBEAT_NS (UINT64_C(10) * MS)

enum { POISON = 1 };

static void open_bench(uint32_t size)
{
    bench_open_with(size, CORE_REPAIR, HEARTBEAT_NS);
    bench.hold_runs = true;
    pass(50 * MS);
}

/* All that are left spawn it and wait. */
static void spawn_all(moot_hash poison)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        spawn(rank, POISON, poison);
        begin_wait(rank, poison);
    }
    pass(5 * MS);
}

/* As above, but a few: of those by whom nobody can be its owner by a claim. */
static void spawn_some(uint32_t ranks, moot_hash poison)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        const struct core_register reg = {.flags = CORE_TASK_HINT};
        if (ranks >> rank & 1) {
            assert_int_equal(spawn_with(rank, POISON, poison, reg), MOOT_OK);
            begin_wait(rank, poison);
        }
    }
    pass(5 * MS);
}

static void see_death(uint32_t at, uint32_t dead, moot_hash poison, bool perhaps)
{
    struct core_event event = {.type = CORE_EV_CRASH, .hash = poison};
    event.u.crash.rank = dead;
    event.u.crash.perhaps = perhaps;
    assert_int_equal(step(at, &event), MOOT_OK);
}

static void see_crash(uint32_t at, uint32_t dead, moot_hash poison)
{
    see_death(at, dead, poison, false);
}

/* The rank dies; those of `seers` (bits) know of what. */
static void die_with(uint32_t dead, uint32_t seers, moot_hash poison, bool perhaps)
{
    bench.crashed[dead] = true;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            if (seers >> rank & 1) {
                see_death(rank, dead, poison, perhaps);
            }
            certify_at(rank, dead);
        }
    }
    pass(100 * MS);
}

static void die_of(uint32_t dead, uint32_t seers, moot_hash poison)
{
    die_with(dead, seers, poison, false);
}

static void check_ended(int32_t code)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            assert_int_equal(bench.ended[rank][POISON], code);
        }
    }
}

/* Rank 0 alone can see what died, and so tells the chair in each view. */
static void two_deaths_end_it_for_all(void **state)
{
    (void)state;
    for (int n = 0; n < 8; n++) {
        open_bench(5);
        moot_hash poison = chaired_by(1, n, 0);
        spawn_all(poison);
        assert_int_equal(bench.ran_on[POISON], 1);
        die_of(1, 1, poison);
        const uint32_t second = (uint32_t)bench.ran_on[POISON];
        assert_int_equal(bench.runs[POISON], 2);
        check_ended(0);
        if (second != 0) { /* who saw is still there */
            die_of(second, 1, poison);
            assert_int_equal(bench.runs[POISON], 2);
            check_ended(MOOT_ERR_CRASHED);
        }
        bench_close();
    }
}

/* A death of which all tell, and one that nobody could see, are one. */
static void a_rank_counts_once(void **state)
{
    (void)state;
    open_bench(5);
    moot_hash poison = chaired_by(1, 0, 0);
    spawn_all(poison);
    die_of(1, 0x1f, poison);
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        if (!bench.crashed[rank]) {
            see_crash(rank, 1, poison);
        }
    }
    die_of((uint32_t)bench.ran_on[POISON], 0, poison);
    assert_int_equal(bench.runs[POISON], 3);
    check_ended(0);
    bench_close();
}

/* One that is known only when the view has gone on without the rank: to the chair. */
static void who_learns_it_late_tells_the_chair(void **state)
{
    (void)state;
    for (int n = 0; n < 6; n++) {
        open_bench(5);
        moot_hash poison = chaired_by(1, n, 0);
        spawn_all(poison);
        die_of(1, 0, poison);
        const uint32_t second = (uint32_t)bench.ran_on[POISON];
        const uint32_t seer = second == 0 ? 2 : 0;
        see_crash(seer, 1, poison);
        pass(5 * MS);
        die_of(second, 1u << seer, poison);
        assert_int_equal(bench.runs[POISON], 2);
        check_ended(MOOT_ERR_CRASHED);
        bench_close();
    }
}

/* The task starts on no second rank anyway. */
static void a_once_task_may_have_run(void **state)
{
    (void)state;
    open_bench(4);
    moot_hash poison = chaired_by(1, 0, MOOT_HASH_ONCE);
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        const struct core_register reg = {.flags = CORE_TASK_ONCE};
        assert_int_equal(spawn_with(rank, POISON, poison, reg), MOOT_OK);
        begin_wait(rank, poison);
    }
    pass(5 * MS);
    die_of((uint32_t)bench.ran_on[POISON], 0xf, poison);
    assert_int_equal(bench.runs[POISON], 1);
    check_ended(MOOT_ERR_MAYBE_RAN);
    bench_close();
}

/* An idempotent one is run again, but not for ever. */
static void an_idempotent_one_may_have_run_too(void **state)
{
    (void)state;
    open_bench(6);
    moot_hash poison = chaired_by(1, 0, MOOT_HASH_ONCE | MOOT_HASH_IDEMPOTENT);
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        const struct core_register reg = {.flags =
                                              CORE_TASK_ONCE | CORE_TASK_IDEMPOTENT};
        assert_int_equal(spawn_with(rank, POISON, poison, reg), MOOT_OK);
        begin_wait(rank, poison);
    }
    pass(5 * MS);
    die_of((uint32_t)bench.ran_on[POISON], 0x3f, poison);
    assert_int_equal(bench.runs[POISON], 2);
    check_ended(0);
    die_of((uint32_t)bench.ran_on[POISON], 0x3f, poison);
    assert_int_equal(bench.runs[POISON], 2);
    check_ended(MOOT_ERR_MAYBE_RAN);
    bench_close();
}

/* Its chair lives, and cannot see what the others die of. */
static void a_chair_that_stays_is_told(void **state)
{
    (void)state;
    open_bench(6);
    moot_hash poison = chaired_by(1, 0, 0);
    for (uint32_t rank = 2; rank < bench.size; rank++) {
        spawn(rank, POISON, poison);
        begin_wait(rank, poison);
    }
    close_rank(0);
    close_rank(1);
    pass(5 * MS);
    die_of((uint32_t)bench.ran_on[POISON], 1, poison);
    assert_int_equal(bench.runs[POISON], 2);
    die_of((uint32_t)bench.ran_on[POISON], 1, poison);
    assert_int_equal(bench.runs[POISON], 2);
    assert_int_equal(bench.ended[5][POISON], MOOT_ERR_CRASHED);
    bench_close();
}

/* One that never spawns the task claims nothing; it gives nothing away, either. */
static void a_chair_that_lacks_it_looks_too(void **state)
{
    (void)state;
    open_bench(5);
    moot_hash poison = chaired_by(1, 0, 0);
    see_crash(1, 2, poison);
    see_crash(1, 3, poison);
    spawn(4, POISON, poison);
    begin_wait(4, poison);
    close_rank(1);
    pass(100 * MS);
    assert_int_equal(bench.runs[POISON], 0);
    assert_int_equal(bench.ended[4][POISON], MOOT_ERR_CRASHED);
    bench_close();
}

/* Other ranks died of it while they were not heard, and it was given to this one. */
static void who_runs_it_goes_on(void **state)
{
    (void)state;
    open_bench(5);
    moot_hash poison = chaired_by(1, 0, 0);
    for (uint32_t rank = 0; rank < bench.size; rank += 4) {
        spawn(rank, POISON, poison);
        begin_wait(rank, poison);
    }
    close_rank(1);
    pass(5 * MS);
    assert_int_equal(bench.ran_on[POISON], 0);
    die_of(2, 0x1f, poison);
    die_of(3, 0x1f, poison);
    die_of(1, 0, poison); /* its chair */
    assert_int_equal(bench.runs[POISON], 1);
    check_ended(0);
    bench_close();
}

/* The view has gone on without the dead when somebody learns of what they died. */
static void the_chair_hears_of_what_is_learnt_late(void **state)
{
    (void)state;
    open_bench(5);
    moot_hash poison = chaired_by(1, 0, 0);
    die_of(2, 0, poison);
    die_of(3, 0, poison);
    see_crash(4, 2, poison);
    see_crash(4, 3, poison);
    pass(5 * MS);
    spawn_all(poison);
    assert_int_equal(bench.runs[POISON], 0);
    check_ended(MOOT_ERR_CRASHED);
    bench_close();
}

static bool is_chaired_in_turn(const moot_hash *hash, uint32_t last)
{
    struct rankset members = {0};
    bool good = true;
    for (uint32_t rank = bench.size; rank-- > 0;) {
        assert_true(rankset_add(&members, rank));
        good &= rank > last || placement_chair(hash, &members, NULL) == rank;
    }
    rankset_release(&members);
    return good;
}

/* One that these ranks, 0 to `last`, chair in turn, as those before them go. */
static moot_hash chaired_in_turn(uint32_t last)
{
    int n = 0;
    moot_hash hash = chaired_by(0, n, 0);
    while (!is_chaired_in_turn(&hash, last)) {
        hash = chaired_by(0, ++n, 0);
    }
    return hash;
}

/* A death that may be of another task ends none, but the task runs alone next.  The
 * last rank sees all deaths, and never chairs it. */
static void a_suspect_runs_alone_and_then_counts(void **state)
{
    (void)state;
    open_bench(6);
    const moot_hash poison = chaired_in_turn(4);
    spawn_all(poison);
    assert_false(bench.alone[POISON]);
    for (uint32_t rank = 0; rank < 2; rank++) { /* perhaps, and then surely */
        die_with(rank, 1u << 5, poison, rank == 0);
        assert_int_equal(bench.runs[POISON], 2 + rank);
        assert_int_equal(bench.ran_on[POISON], rank + 1);
        assert_true(bench.alone[POISON]);
        check_ended(0);
    }
    die_of(2, 1u << 5, poison);
    assert_int_equal(bench.runs[POISON], 3);
    check_ended(MOOT_ERR_CRASHED);
    bench_close();
}

/* Rank 1, which does not hold it, gives it to one that does. */
static void an_owner_hears_that_its_task_is_a_suspect(void **state)
{
    (void)state;
    open_bench(5);
    const moot_hash poison = chaired_in_turn(1);
    spawn_some(1u << 0 | 1u << 3 | 1u << 4, poison);
    assert_int_equal(bench.ran_on[POISON], 0);
    die_with(0, 1u << 2, poison, true);
    assert_int_equal(bench.runs[POISON], 2);
    assert_true(bench.ran_on[POISON] >= 3);
    assert_true(bench.alone[POISON]);
    bench_close();
}

/* Rank 1 alone saw the first death, chairs the task, and leaves before the second. */
static void who_leaves_hands_on_what_it_knows_of_deaths(void **state)
{
    (void)state;
    for (int perhaps = 0; perhaps < 2; perhaps++) {
        open_bench(5);
        const moot_hash poison = chaired_in_turn(2);
        spawn_some(1u << 0 | 1u << 3 | 1u << 4, poison);
        die_with(0, 1u << 1, poison, perhaps != 0);
        const uint32_t second = (uint32_t)bench.ran_on[POISON];
        const uint32_t third = second == 3 ? 4 : 3;
        assert_int_equal(bench.runs[POISON], 2);
        struct core_event event = {.type = CORE_EV_LEAVE};
        assert_int_equal(step(1, &event), MOOT_OK);
        pass(100 * MS);
        assert_true(bench.left[1]);
        bench.crashed[1] = true; /* it has gone */
        bench.alone[POISON] = false;
        die_of(second, perhaps ? 0 : 1u << 2, poison);
        assert_int_equal(bench.runs[POISON], perhaps ? 3 : 2);
        assert_int_equal(bench.alone[POISON], perhaps != 0);
        assert_int_equal(bench.ended[third][POISON], perhaps ? 0 : MOOT_ERR_CRASHED);
        bench_close();
    }
}

/* --- Arrays ----------------------------------------------------------------------- */

enum { ELEMENTS = 10 };

static void spawn_array(moot_hash array)
{
    const struct array_spread spread = {.count = ELEMENTS, .kind = ARRAY_SPREAD_BLOCK};
    const struct core_register reg = {.array = &spread};
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        assert_int_equal(spawn_with(rank, POISON, array, reg), MOOT_OK);
        begin_wait(rank, array);
    }
    pass(5 * MS);
}

/* The rank that was given that place of it, and has not died. */
static uint32_t runner_of(uint64_t place)
{
    uint32_t found = bench.size;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (uint32_t i = 0; !bench.crashed[rank] && i < bench.given_count[rank]; i++) {
            const struct range given = bench.given[rank][i];
            found = place >= given.first && place < given.end ? rank : found;
        }
    }
    return found;
}

static void end_elements(moot_hash array)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        for (uint32_t i = 0; !bench.crashed[rank] && i < bench.given_count[rank]; i++) {
            struct core_event event = {.type = CORE_EV_ELEMENTS, .hash = array};
            event.u.elements.places = bench.given[rank][i];
            assert_int_equal(step(rank, &event), MOOT_OK);
        }
    }
    pass(5 * MS);
}

/* The elements of the dead are dealt once more; then it has ended, and the rest goes
 * on. */
static void nobody_gets_the_element_of_which_two_have_died(void **state)
{
    (void)state;
    for (uint32_t chair = 0; chair < 5; chair++) {
        open_bench(5);
        const moot_hash array = chaired_by(chair, 0, MOOT_HASH_ARRAY);
        spawn_array(array);
        assert_int_equal(runner_of(3), 1);
        die_of(1, 0x1d, array);
        const uint32_t second = runner_of(3);
        assert_true(second < bench.size);
        die_of(second, 0x1d & ~(1u << second), array);
        assert_int_equal(runner_of(3), bench.size);
        assert_int_equal(bench.runs[POISON], 0);
        end_elements(array);
        assert_int_equal(bench.run_code[POISON], MOOT_ERR_CRASHED);
        bench_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_deaths_end_it_for_all),
        cmocka_unit_test(a_rank_counts_once),
        cmocka_unit_test(who_learns_it_late_tells_the_chair),
        cmocka_unit_test(a_once_task_may_have_run),
        cmocka_unit_test(an_idempotent_one_may_have_run_too),
        cmocka_unit_test(a_chair_that_stays_is_told),
        cmocka_unit_test(a_chair_that_lacks_it_looks_too),
        cmocka_unit_test(who_runs_it_goes_on),
        cmocka_unit_test(the_chair_hears_of_what_is_learnt_late),
        cmocka_unit_test(a_suspect_runs_alone_and_then_counts),
        cmocka_unit_test(an_owner_hears_that_its_task_is_a_suspect),
        cmocka_unit_test(who_leaves_hands_on_what_it_knows_of_deaths),
        cmocka_unit_test(nobody_gets_the_element_of_which_two_have_died),
    };
    bench_break_a_rule();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
