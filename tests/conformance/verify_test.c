/* verify_test.c - tasks that are run twice (MOOT_VERIFY): equal results are passed, and
 * other ones told; everybody has the owner's value, and keeps it no longer for that. */
#include "node/context/context.h"
#include "node/engine/engine.h"
#include "node/tasks/task_list.h"
#include "tests/conformance/kernels.h"

enum { ALARM_S = 20 };

static moot_task_info info_of(struct seat *seat, moot_task task)
{
    moot_task_info info = {.owner = -1};
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    return info;
}

enum { VARIES = RELAY + 1, WHERE, VARIED = 10, SAME = 40 };
static atomic_ullong varied_runs, varied_values[VARIED + 1];
static atomic_ullong verified_at[SEATS_MAX], different_at[SEATS_MAX];

/* args: which of them.  The result is another with each run. */
static int varies(moot_call *call, void *user)
{
    (void)user;
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = 1 + varied_runs++;
    return MOOT_OK;
}

static atomic_uint ran_on; /* bits of ranks */

static int where(moot_call *call, void *user)
{
    const struct seat *seat = user;
    ran_on |= 1u << seat->rank;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void verify_kernels(struct seat *seat)
{
    kernels(seat);
    moot_kernel kernel = {.name = "where", .version = 1, .fn = where, .user = seat};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[WHERE]),
           MOOT_OK);
    add_kernel(seat, VARIES, "varies", varies, 0);
}

/* What checks find comes when it comes: until all ranks have found so much. */
static void await_checks(struct seat *seat, uint64_t verified, uint64_t different)
{
    for (int ms = 0; ms < ALARM_S * 1000; ms++) {
        uint64_t sums[2] = {0, 0};
        moot_stats stats = stats_of(seat);
        verified_at[seat->rank] = stats.tasks_verified;
        different_at[seat->rank] = stats.tasks_nondeterministic;
        for (int rank = 0; rank < seat->size; rank++) {
            sums[0] += verified_at[rank];
            sums[1] += different_at[rank];
        }
        if (sums[0] == verified && sums[1] == different) {
            return;
        }
        nap_ms(1);
    }
    CHECK(seat, !"the checks must be made");
}

static void begin_verifying(struct seat *seat)
{
    meet(seat);
    verified_at[seat->rank] = different_at[seat->rank] = 0;
    if (seat->rank == 0) {
        varied_runs = 0;
        for (int i = 0; i < VARIED; i++) {
            varied_values[i] = 0;
        }
    }
    meet(seat);
}

static void equal_results_are_passed(struct seat *seat)
{
    begin_verifying(seat);
    moot_task tasks[SAME];
    for (uint64_t i = 0; i < SAME; i++) {
        tasks[i] =
            i == 0 ? spawn_u64(seat, SQUARE, 7) : spawn_sum(seat, &tasks[i - 1], 1, i);
    }
    CHECK(seat, fetch_u64(seat, tasks[SAME - 1]) == 49 + SAME * (SAME - 1) / 2);
    CHECK(seat, fetch_u64(seat, spawn_u64(seat, TREE, 3)) == 15); /* it spawns */
    await_checks(seat, SAME, 0);
    CHECK(seat, !reported(seat, "NONDETERMINISTIC"));
    meet(seat);
}

/* Everybody has the owner's value, and is told of the other. */
static void other_results_are_told(struct seat *seat)
{
    begin_verifying(seat);
    moot_task tasks[VARIED];
    for (uint64_t i = 0; i < VARIED; i++) {
        tasks[i] = spawn_u64(seat, VARIES, i);
    }
    for (int i = 0; i < VARIED; i++) {
        unsigned long long before = 0, value = fetch_u64(seat, tasks[i]);
        if (!atomic_compare_exchange_strong(&varied_values[i], &before, value)) {
            CHECK(seat, before == value);
        }
    }
    await_checks(seat, VARIED, VARIED);
    uint64_t here = 0;
    for (int i = 0; i < VARIED; i++) {
        moot_task_info info = info_of(seat, tasks[i]);
        bool found = info.check == MOOT_ERR_NONDETERMINISTIC;
        CHECK(seat, found ? info.second == seat->rank
                          : info.check == MOOT_OK && info.second == -1);
        CHECK(seat, info.status == MOOT_OK);
        here += found;
    }
    CHECK(seat, here == stats_of(seat).tasks_nondeterministic);
    CHECK(seat, reported(seat, "MOOT_ERR_NONDETERMINISTIC") == (here > 0));
    CHECK(seat, reported(seat, "gave other bytes on rank") == (here > 0));
    meet(seat);
}

static void count_copy(void *context, struct task *task)
{
    int *copies = context;
    *copies += !task->own && task->payload != NULL;
}

/* Tasks that may run on the ranks of these alone are checked there, or nowhere. */
static void candidates_bind_checks(struct seat *seat)
{
    enum { PLACED = 12 };
    static const int two[] = {0, 1};
    moot_task tasks[2 * PLACED];
    begin_verifying(seat);
    ran_on = 0;
    meet(seat);
    for (uint64_t i = 0; i < PLACED; i++) {
        moot_task_spec spec = {.kernel = seat->kernels[WHERE],
                               .args = &i,
                               .args_size = sizeof(i),
                               .owner = MOOT_ON(1)};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[2 * i]), MOOT_OK);
        spec.owner = (moot_place){0};
        spec.candidates = (moot_ranks){.ranks = two, .count = 2};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &tasks[2 * i + 1]), MOOT_OK);
    }
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, 2 * PLACED, MOOT_FOREVER), MOOT_OK);
    await_checks(seat, PLACED, 0); /* those with an owner have no other rank */
}

static void stayed_there(struct seat *seat)
{
    closes_well(seat);
    meet(seat);
    CHECK(seat, ran_on == 3);
}

/* Who has read the inputs for a check needs its copies of them no more. */
static void no_copies_are_kept(struct seat *seat)
{
    begin_verifying(seat);
    moot_task before = spawn_u64(seat, SQUARE, 7);
    for (uint64_t i = 1; i < SAME; i++) {
        moot_task next = spawn_sum(seat, &before, 1, i);
        EXPECT(seat, moot_task_release(seat->m, before), MOOT_OK);
        before = next;
    }
    EXPECT(seat, moot_task_wait(seat->m, before, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, before), MOOT_OK);
    await_checks(seat, SAME, 0);
    meet(seat);
    int copies = 0;
    engine_lock(seat->m);
    task_each(seat->m, count_copy, &copies);
    engine_unlock(seat->m);
    CHECK(seat, copies == 0);
    meet(seat);
}

/* What is still to be checked when the program ends is checked before the moot does. */
static void checks_end_before_the_moot(struct seat *seat)
{
    begin_verifying(seat);
    for (uint64_t i = 0; i < VARIED; i++) {
        (void)spawn_u64(seat, VARIES, i);
    }
}

static void all_were_checked(struct seat *seat)
{
    closes_well(seat);
    meet(seat);
    CHECK(seat, varied_runs == 2 * VARIED);
    CHECK(seat, seat->size > 1 || reported(seat, "MOOT_ERR_NONDETERMINISTIC"));
}

int main(int argc, char **argv)
{
    static const char *const verify[] = {"MOOT_THREADS=1", "MOOT_VERIFY=1", NULL};
    const struct scene scenes[] = {
        {"equal_results_are_passed",
         equal_results_are_passed,
         verify_kernels,
         verify,
         closes_well,
         {0}},
        {"other_results_are_told",
         other_results_are_told,
         verify_kernels,
         verify,
         closes_well,
         {0}},
        {"no_copies_are_kept",
         no_copies_are_kept,
         verify_kernels,
         verify,
         closes_well,
         {0}},
        {"candidates_bind_checks",
         candidates_bind_checks,
         verify_kernels,
         verify,
         stayed_there,
         {2, 3, 4}},
        {"checks_end_before_the_moot",
         checks_end_before_the_moot,
         verify_kernels,
         verify,
         all_were_checked,
         {0}},
    };
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
