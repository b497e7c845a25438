/* scope_test.c - scopes end when no rank needs them any more, and are forgotten. */
#include "tests/unit/bench.h"

#include <stdio.h>

static moot_hash phase(uint32_t number)
{
    moot_hash top = {{0}};
    char name[32];
    (void)snprintf(name, sizeof(name), "phase %u", (unsigned)number);
    return identity_scope(&top, name);
}

/* The n-th task of a scope whose chair is this rank. */
static moot_hash in_scope(const moot_hash *scope, uint32_t chair, uint64_t n,
                          unsigned facts)
{
    struct rankset members = {0};
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        rankset_add(&members, rank);
    }
    for (uint64_t i = 0;; i++) {
        moot_hash hash =
            identity_hash(&(struct identity){.kernel_name = "k",
                                             .args = &i,
                                             .args_size = sizeof(i),
                                             .once = (facts & MOOT_HASH_ONCE) != 0,
                                             .nested = (facts & MOOT_HASH_NESTED) != 0,
                                             .scope = *scope});
        if (placement_chair(&hash, &members, NULL) == chair && n-- == 0) {
            rankset_release(&members);
            return hash;
        }
    }
}

static int spawn_in(uint32_t rank, int number, moot_hash hash, const moot_hash *scope)
{
    struct core_register reg = {.scope = *scope};
    reg.flags = (hash.bytes[15] & MOOT_HASH_ONCE) ? CORE_TASK_ONCE : 0;
    return spawn_with(rank, number, hash, reg);
}

static void end_scope(uint32_t rank, const moot_hash *scope)
{
    struct core_event release = {.type = CORE_EV_SCOPE_RELEASE, .hash = *scope};
    assert_int_equal(step(rank, &release), MOOT_OK);
}

static uint64_t tasks_of(uint32_t rank) { return core_stats(bench.core[rank])->tasks; }

static void fetch_all(moot_hash hash)
{
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        begin_wait(rank, hash);
    }
    settle();
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        end_wait(rank, hash);
    }
}

/* --- Tests ----------------------------------------------------------------------- */

static void a_scope_that_all_have_left_is_forgotten(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 4; size++) {
        bench_open(size, CORE_REPAIR);
        moot_hash scope = phase(0), task = in_scope(&scope, 0, 0, 0);
        for (uint32_t rank = 0; rank < size; rank++) {
            assert_int_equal(spawn_in(rank, 1, task, &scope), MOOT_OK);
        }
        fetch_all(task);
        for (uint32_t rank = 0; rank < size; rank++) {
            assert_false(bench.forgotten[rank][1]);
            end_scope(rank, &scope);
        }
        settle();
        for (uint32_t rank = 0; rank < size; rank++) {
            assert_true(bench.forgotten[rank][1]);
            assert_int_equal(tasks_of(rank), 0);
            assert_int_equal(spawn_in(rank, 1, task, &scope), MOOT_ERR_SCOPE_CLOSED);
            struct core_event need = {.type = CORE_EV_NEED, .hash = task};
            need.u.need.want = WANT_DATA;
            assert_int_equal(step(rank, &need), MOOT_ERR_SCOPE_CLOSED);
        }
        assert_int_equal(sum_sent(MESSAGE_MOTION), 0);
        assert_int_equal(sum_sent(MESSAGE_RELEASED), 4 * (size - 1));
        assert_int_equal(bench.runs[1], 1);
        close_all();
        bench_close();
    }
}

/* Rank 1 leaves every third task out, rank 2 every second. */
static void each_task_is_counted_once(void **state)
{
    (void)state;
    enum { TASKS = 12 };
    bench_open(3, CORE_REPAIR);
    moot_hash scope = phase(0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < TASKS; i++) {
            if ((rank != 1 || i % 3 != 0) && (rank != 2 || i % 2 != 0)) {
                moot_hash task = in_scope(&scope, (uint32_t)i % 3, (uint64_t)i, 0);
                assert_int_equal(spawn_in(rank, i, task, &scope), MOOT_OK);
            }
        }
        end_scope(rank, &scope);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    uint64_t common = 0, partial = 0;
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(tasks_of(rank), 0);
        common += core_stats(bench.core[rank])->common;
        partial += core_stats(bench.core[rank])->partial;
    }
    assert_int_equal(common + partial, TASKS);
    assert_true(partial >= 8);
    close_all();
    bench_close();
}

static void who_has_not_released_it_keeps_it_for_all(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash scope = phase(1), task = in_scope(&scope, 1, 0, 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(spawn_in(rank, 1, task, &scope), MOOT_OK);
    }
    end_scope(0, &scope);
    end_scope(1, &scope);
    struct core_event close = {.type = CORE_EV_SCOPE_CLOSE, .hash = scope};
    assert_int_equal(step(2, &close), MOOT_OK);
    settle();
    assert_false(bench.forgotten[1][1]);
    begin_wait(2, task); /* it still may */
    settle();
    assert_int_equal(bench.ended[2][1], 1);
    end_wait(2, task);
    struct core_event release = {.type = CORE_EV_SCOPE_RELEASE, .hash = scope};
    assert_int_equal(step(2, &release), MOOT_OK);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_true(bench.forgotten[rank][1]);
    }
    bench_close();
}

/* T1a: rank 1 alone holds it, its chair does not, and nobody waits. */
static void what_nobody_waits_for_runs_before_its_scope_ends(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash scope = phase(2), task = in_scope(&scope, 0, 0, 0);
    assert_int_equal(spawn_in(1, 1, task, &scope), MOOT_OK);
    for (uint32_t rank = 0; rank < 3; rank++) {
        end_scope(rank, &scope);
    }
    settle();
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 1);
    assert_true(bench.forgotten[1][1]);
    bench_close();
}

static void a_task_that_runs_keeps_its_scope(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    bench.hold_runs = true;
    moot_hash scope = phase(3), task = in_scope(&scope, 0, 0, 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(spawn_in(rank, 1, task, &scope), MOOT_OK);
        end_scope(rank, &scope);
    }
    settle();
    assert_false(bench.forgotten[1][1]);
    struct core_event done = {.type = CORE_EV_DONE, .hash = task};
    assert_int_equal(step(0, &done), MOOT_OK);
    settle();
    assert_true(bench.forgotten[0][1] && bench.forgotten[1][1]);
    bench_close();
}

/* Rank 1's consumer lies outside the scope, and its input has not come yet. */
static void a_consumer_outside_keeps_its_input(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    bench.hold_runs = true;
    moot_hash scope = phase(4), input = in_scope(&scope, 0, 0, 0);
    moot_hash outside = chaired_by(1, 0, 0), other = chaired_by(1, 1, 0);
    const moot_hash both[2] = {input, other};
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(spawn_in(rank, 1, input, &scope), MOOT_OK);
        spawn(rank, 3, other);
        struct core_register reg = {.inputs = both, .input_count = 2};
        assert_int_equal(spawn_with(rank, 2, outside, reg), MOOT_OK);
        set_lane(rank, CORE_LANE_BLOCKED); /* so that they hear of each other's rolls */
    }
    struct core_event done = {.type = CORE_EV_DONE, .hash = input};
    done.u.done.size = 8;
    assert_int_equal(step(0, &done), MOOT_OK);
    end_scope(0, &scope);
    end_scope(1, &scope);
    settle();
    assert_false(bench.forgotten[0][1] || bench.forgotten[1][1]);
    done.hash = other;
    assert_int_equal(step(1, &done), MOOT_OK);
    settle();
    assert_int_equal(bench.runs[2], 1);
    assert_false(bench.forgotten[1][1]); /* it runs, and reads it */
    done.hash = outside;
    assert_int_equal(step(1, &done), MOOT_OK);
    settle();
    assert_true(bench.forgotten[0][1] && bench.forgotten[1][1]);
    bench_close();
}

/* A motion that comes after the end, as if the wire had kept it. */
static void what_comes_late_begins_nothing(void **state)
{
    (void)state;
    bench_open(2, CORE_REPAIR);
    moot_hash scope = phase(5), task = in_scope(&scope, 0, 0, MOOT_HASH_ONCE);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(spawn_in(rank, 1, task, &scope), MOOT_OK);
        end_scope(rank, &scope);
    }
    settle();
    assert_true(bench.forgotten[0][1] && bench.forgotten[1][1]);
    struct message late = {.type = MESSAGE_MOTION, .epoch = 1, .hash = task};
    core_view(bench.core[0], &late.epoch, &late.view_id);
    late.u.motion =
        (struct message_motion){.holds = true, .want = WANT_DATA, .scope = scope};
    post(1, 0, &late);
    settle();
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(tasks_of(0), 0);
    assert_int_equal(core_stats(bench.core[0])->late, 1);
    bench_close();
}

/* A nested child of a task in the scope goes with it, at its voters and its chair, too.
 */
static void children_go_with_the_scope(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    bench.hold_runs = true;
    moot_hash scope = phase(6), parent = in_scope(&scope, 0, 0, 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(spawn_in(rank, 1, parent, &scope), MOOT_OK);
    }
    bench.hold_runs = false;
    moot_hash child = in_scope(&parent, 2, 0, MOOT_HASH_ONCE | MOOT_HASH_NESTED);
    struct core_register reg = {
        .scope = parent, .parent = parent, .flags = CORE_TASK_ONCE | CORE_TASK_NESTED};
    assert_int_equal(spawn_with(0, 2, child, reg), MOOT_OK);
    settle();
    assert_int_equal(bench.runs[2], 1);
    assert_int_equal(bench.ran_on[2], 0);
    struct core_event done = {.type = CORE_EV_DONE, .hash = parent};
    assert_int_equal(step(0, &done), MOOT_OK);
    for (uint32_t rank = 0; rank < 3; rank++) {
        end_scope(rank, &scope);
    }
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(tasks_of(rank), 0);
    }
    bench_close();
}

/* A rank that has closed needs no scope by name. */
static void a_closed_rank_holds_nothing_up(void **state)
{
    (void)state;
    bench_open(3, CORE_REPAIR);
    moot_hash scope = phase(7), task = in_scope(&scope, 2, 0, 0);
    close_rank(1);
    settle();
    for (uint32_t rank = 0; rank < 3; rank += 2) {
        assert_int_equal(spawn_in(rank, 1, task, &scope), MOOT_OK);
        end_scope(rank, &scope);
    }
    settle();
    assert_int_equal(bench.runs[1], 1);
    assert_true(bench.forgotten[0][1] && bench.forgotten[2][1]);
    bench_close();
}

/* Memory: the records of phase n + 1 stand where those of phase n stood. */
static void a_long_run_keeps_as_much_as_one_phase(void **state)
{
    (void)state;
    enum { PHASES = 400, TASKS = 20 };
    bench_open(3, CORE_REPAIR);
    uint64_t most = 0;
    for (uint32_t n = 0; n < PHASES; n++) {
        moot_hash scope = phase(n), last = {{0}};
        for (uint32_t i = 0; i < TASKS; i++) {
            moot_hash task = identity_hash(&(struct identity){.kernel_name = "k",
                                                              .args = &i,
                                                              .args_size = sizeof(i),
                                                              .scope = scope});
            struct core_register reg = {
                .scope = scope, .inputs = &last, .input_count = i % 3 != 0};
            for (uint32_t rank = 0; rank < 3; rank++) {
                assert_int_equal(spawn_with(rank, (int)i, task, reg), MOOT_OK);
            }
            last = task;
        }
        fetch_all(last);
        for (uint32_t rank = 0; rank < 3; rank++) {
            end_scope(rank, &scope);
        }
        settle_until(bench.now + 10 * MS);
        for (uint32_t rank = 0; rank < 3; rank++) {
            most = tasks_of(rank) > most ? tasks_of(rank) : most;
        }
    }
    assert_int_equal(most, 0);
    close_all();
    assert_int_equal(core_stats(bench.core[0])->common, PHASES * TASKS);
    assert_int_equal(core_stats(bench.core[1])->forgotten, PHASES * TASKS);
    bench_close();
}

/* The n-th that will be rank 1's when rank 0 is gone. */
static moot_hash orphan(const moot_hash *scope, uint64_t n)
{
    struct rankset rest = {0};
    rankset_add(&rest, 1);
    rankset_add(&rest, 2);
    for (uint64_t i = 0;; i++) {
        moot_hash hash = in_scope(scope, 0, i, 0);
        if (placement_chair(&hash, &rest, NULL) == 1 && n-- == 0) {
            rankset_release(&rest);
            return hash;
        }
    }
}

/* Rank 0 tells rank 2 that the scope has ended, and dies before it tells rank 1: what
 * ran in it does not run again. */
static void miss_the_end(void)
{
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    moot_hash scope = phase(1);
    moot_hash tasks[] = {orphan(&scope, 0), orphan(&scope, 1)};
    for (uint32_t rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 2; i++) {
            spawn_in(rank, i, tasks[i], &scope);
        }
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    pass(20 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        end_scope(rank, &scope);
    }
    pass_until(core_forgotten, 0, &tasks[0]);
    bench.holds[0][1] = true;
    pass(MS / 4);
    assert_true(core_forgotten(bench.core[2], &tasks[0]));
    assert_false(core_forgotten(bench.core[1], &tasks[0]));
    bench.crashed[0] = bench.deaf[0] = true;
    certify_at(1, 0);
    certify_at(2, 0);
    pass(200 * MS);
    assert_int_equal(bench.epoch[2], 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bench.runs[i], 1);
    }
    assert_true(core_forgotten(bench.core[1], &tasks[0]));
    close_rank(1);
    close_rank(2);
    pass(500 * MS);
    assert_true(bench.adjourned[1] && bench.adjourned[2]);
    bench_close();
}

static void kill_rank_0(void)
{
    bench.crashed[0] = bench.deaf[0] = true;
    certify_at(1, 0);
    certify_at(2, 0);
    pass(200 * MS);
    assert_int_equal(bench.epoch[1], 2);
    assert_int_equal(bench.epoch[2], 2);
}

static void tick_all(void)
{
    struct core_event tick = {.type = CORE_EV_TICK};
    bench.now += MS / 4;
    for (uint32_t rank = 0; rank < bench.size; rank++) {
        assert_int_equal(step(rank, &tick), MOOT_OK);
    }
}

/* Of many scopes that have ended, one after the other, all know but of the last. */
static void a_new_view_is_told_of_the_last_end_alone(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    for (uint32_t i = 0; i < 20; i++) {
        moot_hash scope = phase(i);
        for (uint32_t rank = 0; rank < 3; rank++) {
            end_scope(rank, &scope);
        }
        pass(20 * MS);
        assert_true(core_forgotten(bench.core[2], &scope));
    }
    uint64_t before = sum_sent(MESSAGE_RELEASED);
    kill_rank_0();
    assert_int_equal(sum_sent(MESSAGE_RELEASED) - before, 2);
    bench_close();
}

/* Rank 1 was asked about both before it was to hear that the first had ended. */
static void who_missed_two_ends_is_told_of_both(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    const moot_hash scopes[] = {phase(1), phase(2)};
    bool both = false;
    for (uint32_t rank = 0; rank < 3; rank++) {
        end_scope(rank, &scopes[0]);
        end_scope(rank, &scopes[1]);
    }
    for (int i = 0; i < 1000 && !both; i++) {
        if (bench.head == bench.tail) {
            tick_all();
            continue;
        }
        const struct message *next = bench.queue[bench.head % QUEUE_MAX]->message;
        bench.holds[0][1] |=
            next->type == MESSAGE_RELEASED && next->u.released.what == RELEASED_DROP;
        deliver_one();
        both = core_forgotten(bench.core[2], &scopes[0]) &&
               core_forgotten(bench.core[2], &scopes[1]);
    }
    assert_true(both);
    assert_false(core_forgotten(bench.core[1], &scopes[0]));
    assert_false(core_forgotten(bench.core[1], &scopes[1]));
    uint64_t before = sum_sent(MESSAGE_RELEASED);
    kill_rank_0();
    assert_true(core_forgotten(bench.core[1], &scopes[0]));
    assert_true(core_forgotten(bench.core[1], &scopes[1]));
    assert_int_equal(sum_sent(MESSAGE_RELEASED) - before, 4); /* and tells all itself */
    bench_close();
}

static void who_missed_the_end_runs_nothing_again(void **state)
{
    (void)state;
    miss_the_end();
}

/* There not everyone tells everyone. */
static void nor_does_who_missed_it_in_a_large_view(void **state)
{
    (void)state;
    bench.direct_max = 1;
    miss_the_end();
    bench.direct_max = 0;
}

/* --- Rolls ----------------------------------------------------------------------- */

enum { NONE_KEPT = -1 };

/* A chunk of so many tasks of this scope, or of none, on all ranks; all but `kept` are
 * let go. */
static void spawn_chunk(const moot_hash *scope, int count, int kept)
{
    static uint64_t salt;
    for (int i = 0; i < count; i++) {
        moot_hash hash = digest_bytes(&salt, sizeof(salt));
        salt++;
        hash.bytes[15] &= (uint8_t)~MOOT_HASH_FACTS;
        hash.bytes[0] = i + 1 == count ? 8 : 1;
        struct core_register reg = {0};
        if (scope != NULL) {
            const moot_hash one = in_scope(scope, 0, 0, 0);
            hash_set_scope(&hash, hash_scope(&one));
            reg.scope = *scope;
        }
        for (uint32_t rank = 0; rank < bench.size; rank++) {
            assert_int_equal(spawn_with(rank, 0, hash, reg), MOOT_OK);
            if (i != kept) {
                core_let_go(bench.core[rank], &hash, NULL);
            }
        }
    }
}

/* Rank 1 hears late what rank 2 had on its roll in a scope that has ended, and what
 * comes behind it: at once when it hears of the end, or when all of it is forgotten. */
static void hear_too_late_of_an_ended_scope(bool at_once)
{
    enum { MANY = 1600 }; /* are not forgotten in two steps */
    bench_open(3, CORE_REPAIR);
    const moot_hash scope = phase(2), one = in_scope(&scope, 0, 0, 0);
    bench.holds[2][1] = true;
    spawn_chunk(&scope, MANY, NONE_KEPT);
    spawn_chunk(NULL, 8, 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        end_scope(rank, &scope);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    if (at_once) {
        pass_until(core_forgotten, 1, &one);
        assert_true(tasks_of(1) > MANY / 2);
    } else {
        settle();
        assert_int_equal(tasks_of(1), 8);
    }
    let_go(2, 1);
    settle();
}

/* What comes behind it is dropped all the same (G5). */
static void a_roll_goes_on_behind_an_ended_scope(void **state)
{
    (void)state;
    bench.drops = true;
    for (int at_once = 0; at_once < 2; at_once++) {
        hear_too_late_of_an_ended_scope(at_once);
        spawn_chunk(NULL, 8, NONE_KEPT);
        settle();
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(tasks_of(rank), 8);
        }
        close_all();
        bench_close();
    }
    bench.drops = false;
}

/* And where memory is short it is cut: it is known to be equal, not only to be there.
 */
static void a_roll_is_cut_behind_an_ended_scope(void **state)
{
    (void)state;
    bench.drops = true;
    hear_too_late_of_an_ended_scope(false);
    core_press(bench.core[1], 4);
    settle();
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(tasks_of(rank), 4);
    }
    close_all();
    bench_close();
    bench.drops = false;
}

/* Rank 2 has announced a task, and then, as a scope follows, that it is all of a chunk:
 * rank 1 hears the latter when it has dropped the chunk, and sees no difference. */
static void a_chunk_that_ends_late_is_no_difference(void **state)
{
    (void)state;
    bench.drops = true;
    bench_open(3, CORE_REPAIR);
    const moot_hash scope = phase(3), in = in_scope(&scope, 0, 0, 0);
    moot_hash before = in_scope(&(moot_hash){{0}}, 0, 0, 0);
    before.bytes[0] = 1;
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(rank, 0, before);
        set_lane(rank, CORE_LANE_BLOCKED);
    }
    settle();
    bench.holds[2][1] = true;
    for (uint32_t rank = 0; rank < 3; rank++) {
        core_let_go(bench.core[rank], &before, NULL);
        assert_int_equal(spawn_in(rank, 1, in, &scope), MOOT_OK);
    }
    settle();
    assert_int_equal(core_stats(bench.core[1])->dropped, 1);
    let_go(2, 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        end_scope(rank, &scope);
    }
    close_all();
    bench_close();
    bench.drops = false;
}

static void deliver_up_to_a_leave(uint32_t from, uint32_t to)
{
    for (int i = 0; i < 10000; i++) {
        if (bench.head == bench.tail) {
            bench.now += MS / 4;
            for (uint32_t rank = 0; rank < bench.size; rank++) {
                struct core_event tick = {.type = CORE_EV_TICK};
                assert_int_equal(step(rank, &tick), MOOT_OK);
            }
            continue;
        }
        const struct parcel *next = bench.queue[bench.head % QUEUE_MAX];
        if (next->from == from && next->to == to &&
            next->message->type == MESSAGE_LEAVE) {
            return;
        }
        deliver_one();
    }
    fail();
}

/* Rank 2 leaves and returns a task to rank 1, which knows nobody else that holds it:
 * that 2 is to keep it is on its way while all that is left of the scope rests. */
static void what_a_leaver_is_to_keep_keeps_its_scope(void **state)
{
    (void)state;
    bench_open_with(3, CORE_REPAIR, 10 * MS);
    moot_hash scope = phase(0), task = in_scope(&scope, 1, 0, 0);
    moot_hash input = chaired_by(0, 0, 0);
    const struct core_register reg = {
        .scope = scope, .inputs = &input, .input_count = 1};
    for (uint32_t rank = 0; rank < 3; rank++) {
        moot_hash shared = in_scope(&scope, 0, 0, 0);
        assert_int_equal(spawn_in(rank, 3, shared, &scope), MOOT_OK);
    }
    pass(5 * MS);
    bench.hold_runs = true;
    spawn(0, 2, input);
    spawn(2, 4, chaired_by(2, 0, 0)); /* which it is to finish */
    assert_int_equal(spawn_with(2, 1, task, reg), MOOT_OK);
    struct core_event leave = {.type = CORE_EV_LEAVE};
    assert_int_equal(step(2, &leave), MOOT_OK);
    end_scope(0, &scope);
    end_scope(1, &scope);
    deliver_up_to_a_leave(1, 2);
    bench.holds[1][2] = true;
    pass(20 * MS);
    assert_false(bench.forgotten[2][1]);
    let_go(1, 2);
    struct core_event done = {.type = CORE_EV_DONE, .hash = input};
    assert_int_equal(step(0, &done), MOOT_OK);
    pass(20 * MS);
    assert_int_equal(bench.runs[1], 1);
    assert_int_equal(bench.ran_on[1], 2);
    bench_close();
}

int main(void)
{
    bench_break_a_rule();
    if (!hashing_init()) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scope_that_all_have_left_is_forgotten),
        cmocka_unit_test(each_task_is_counted_once),
        cmocka_unit_test(who_has_not_released_it_keeps_it_for_all),
        cmocka_unit_test(what_nobody_waits_for_runs_before_its_scope_ends),
        cmocka_unit_test(a_task_that_runs_keeps_its_scope),
        cmocka_unit_test(a_consumer_outside_keeps_its_input),
        cmocka_unit_test(what_comes_late_begins_nothing),
        cmocka_unit_test(children_go_with_the_scope),
        cmocka_unit_test(a_closed_rank_holds_nothing_up),
        cmocka_unit_test(a_new_view_is_told_of_the_last_end_alone),
        cmocka_unit_test(who_missed_two_ends_is_told_of_both),
        cmocka_unit_test(who_missed_the_end_runs_nothing_again),
        cmocka_unit_test(nor_does_who_missed_it_in_a_large_view),
        cmocka_unit_test(a_chunk_that_ends_late_is_no_difference),
        cmocka_unit_test(what_a_leaver_is_to_keep_keeps_its_scope),
        /* These take longest: with a rule broken, others end the program before. */
        cmocka_unit_test(a_long_run_keeps_as_much_as_one_phase),
        cmocka_unit_test(a_roll_goes_on_behind_an_ended_scope),
        cmocka_unit_test(a_roll_is_cut_behind_an_ended_scope),
    };
    return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}
