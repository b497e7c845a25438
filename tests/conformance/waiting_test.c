/* waiting_test.c - what is kept of a wait while nobody waits, and what the others see
 * of a rank whose wait is over.
 */
#include "hashing/identity.h"
#include "node/context/context.h"
#include "node/engine/engine.h"
#include "tests/conformance/kernels.h"

/* A task that nobody spawns, by its hash. */
static moot_task find_u64(struct seat *seat, uint64_t x)
{
    moot_hash hash = hash_u64(seat, SQUARE, x);
    moot_task task = {0};
    EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
    return task;
}

/* Of two that nobody holds the smaller hash fails first: while the other is waited for.
 */
static void a_verdict_between_two_polls_is_kept(struct seat *seat)
{
    const moot_hash one = hash_u64(seat, SQUARE, 71), two = hash_u64(seat, SQUARE, 72);
    const bool in_order = hash_compare(&one, &two) < 0;
    moot_task first = find_u64(seat, in_order ? 71 : 72);
    moot_task second = find_u64(seat, in_order ? 72 : 71);
    EXPECT(seat, moot_task_wait(seat->m, first, 0), MOOT_ERR_TIMEOUT);
    EXPECT(seat, moot_task_wait(seat->m, second, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    EXPECT(seat, moot_task_wait(seat->m, first, 0), MOOT_ERR_NOT_HELD);
    EXPECT(seat, moot_task_wait(seat->m, first, 0), MOOT_ERR_NOT_HELD); /* for good */
}

/* Rank 0 has waited, and computes for long before it spawns what rank 1 waits for. */
static void who_goes_on_is_not_at_rest(struct seat *seat)
{
    if (seat->rank == 0) {
        moot_task slow = spawn_u64(seat, SLOW, 50);
        EXPECT(seat, moot_task_wait(seat->m, slow, MOOT_FOREVER), MOOT_OK);
        nap_ms(500);
        CHECK(seat, fetch_u64(seat, spawn_u64(seat, SQUARE, 73)) == 73 * 73);
    } else {
        CHECK(seat, fetch_u64(seat, find_u64(seat, 73)) == 73 * 73);
    }
    meet(seat);
}

static bool any_lingers(struct seat *seat)
{
    engine_lock(seat->m);
    bool any = seat->m->schedule.lingering != NULL;
    engine_unlock(seat->m);
    return any;
}

/* What a poll leaves is of one poll, the one that wants most: so it has come to an end
 * when that has, and when the handle goes. */
static void polls_leave_one_need(struct seat *seat)
{
    const uint64_t x = 76;
    const moot_task_spec spec = {.kernel = seat->kernels[SQUARE],
                                 .args = &x,
                                 .args_size = sizeof(x),
                                 .owner = MOOT_ON(0)};
    const void *data = NULL;
    size_t size;
    moot_task task;
    moot_hash hash;
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    }
    meet(seat);
    if (seat->rank == 1) {
        moot_task never = find_u64(seat, 77);
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
        EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
        int code = moot_task_wait(seat->m, task, 0);
        EXPECT(seat, moot_task_wait(seat->m, never, 0), MOOT_ERR_TIMEOUT);
        while (code == MOOT_OK || code == MOOT_ERR_TIMEOUT) {
            code = moot_task_fetch(seat->m, task, 0, &data, &size);
            EXPECT(seat, moot_task_fetch(seat->m, never, 0, &data, &size),
                   MOOT_ERR_TIMEOUT);
            if (code == MOOT_OK) {
                break;
            }
            nap_ms(1);
        }
        EXPECT(seat, code, MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, never, 0), MOOT_ERR_TIMEOUT);
        CHECK(seat, any_lingers(seat));
        EXPECT(seat, moot_task_release(seat->m, never), MOOT_OK);
        CHECK(seat, !any_lingers(seat));
    }
    meet(seat);
}

/* Polled again and again, in any order, each ends as often as nobody is found to hold
 * it. */
static void many_are_polled_for(struct seat *seat)
{
    enum { MANY = 5, ROUNDS = 40 };
    moot_task tasks[MANY];
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < MANY; i++) {
        tasks[i] = find_u64(seat, 80 + (uint64_t)i);
    }
    for (int round = 0; round < ROUNDS; round++) {
        random ^= random << 13; /* xorshift64 (Marsaglia, 2003) */
        random ^= random >> 7;
        random ^= random << 17;
        for (int i = 0; i < MANY; i++) {
            if ((random >> i & 1) != 0) {
                (void)moot_task_wait(seat->m, tasks[i], 0);
            }
        }
        EXPECT(seat, moot_task_wait(seat->m, tasks[random >> 32 & 3], MOOT_FOREVER),
               MOOT_ERR_NOT_HELD);
    }
    for (int i = 0; i < MANY; i++) {
        EXPECT(seat, moot_task_release(seat->m, tasks[i]), MOOT_OK);
    }
    CHECK(seat, !any_lingers(seat));
}

/* The second of two, of which the first cannot end before that is known. */
static void the_one_that_has_ended_is_told(struct seat *seat)
{
    const moot_task_spec gate_spec = {.kernel = seat->kernels[GATE]};
    gate_open = false;
    for (int fails = 0; fails < 2; fails++) {
        moot_task tasks[3];
        size_t which = 77, done = 77, ended[3] = {77, 77, 77};
        EXPECT(seat, moot_task_spawn(seat->m, &gate_spec, &tasks[0]), MOOT_OK);
        while (gates_standing == 0) { /* a worker has it, not the wait below */
            nap_ms(1);
        }
        tasks[1] = spawn_u64(seat, fails ? FAIL : SQUARE, 74);
        int code = fails ? MOOT_ERR_TASK_FAILED : MOOT_OK;
        EXPECT(seat, moot_task_wait_any(seat->m, tasks, 2, MOOT_FOREVER, &which), code);
        CHECK(seat, which == 1);
        tasks[2] = spawn_u64(seat, SQUARE, 75);
        EXPECT(seat, moot_task_wait(seat->m, tasks[2], MOOT_FOREVER), MOOT_OK);
        EXPECT(seat, moot_task_wait_some(seat->m, tasks, 3, MOOT_FOREVER, ended, &done),
               code);
        CHECK(seat, done == 2 && ended[0] == 1 && ended[1] == 2);
        EXPECT(seat, moot_task_wait_all(seat->m, tasks, 3, 0), MOOT_ERR_TIMEOUT);
    }
    gate_open = true;
}

static const char *const with_a_worker[] = {"MOOT_THREADS=1", NULL};

static const struct scene scenes[] = {
    SCENE(a_verdict_between_two_polls_is_kept, .sizes = {1}),
    SCENE(the_one_that_has_ended_is_told, .sizes = {1}, .knobs = with_a_worker),
    SCENE(polls_leave_one_need, .sizes = {2}),
    SCENE(many_are_polled_for, .sizes = {1}),
    SCENE(who_goes_on_is_not_at_rest, .sizes = {2}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
