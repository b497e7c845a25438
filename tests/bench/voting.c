/* voting.c - what a vote costs.
 *
 *   mpirun -n 2 voting          (3 ranks where there are cores for them)
 *
 * One vote.  Rank 1 alone spawns an empty task that rank 0 chairs, hinting that it may
 * be alone (MOOT_TASK_CONDITIONAL), while rank 0 waits for another task.  Its motion
 * brings the chair all the evidence that it takes; the decision comes back, and rank 1
 * runs the task.  From the spawn to the end of the wait is two half round trips of the
 * raw wire, taken in the same run, and what moot adds.  A once task takes two more, to
 * the voters and back; with two ranks there are two voters, and both must agree.  And
 * the pure vote while rank 0 is in a barrier of MPI's, parked: its helper thread alone
 * answers, which is no matter of round trips but of how often that looks.
 *
 * A branch.  Rank 1 alone spawns ten thousand tasks, without a hint, of which the other
 * ranks chair their share, and waits until all have run; against the same tasks when
 * all ranks spawn them and agree that rank 1 owns them.  In both cases ten gatherers
 * run behind a thousand tasks each, and those are waited for.  By rank 1's clock.
 */
#include "tests/bench/kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOTES = 300, BRANCH_TASKS = 10000, GATHERED = 1000, BRANCHES = 15 };

/* --- One vote --------------------------------------------------------------------- */

/* The next spec of this kernel, by its key, that rank 0 chairs. */
static void next_key(struct kit *kit, moot_task_spec *spec, int64_t *key)
{
    spec->key = key;
    spec->key_size = sizeof(*key);
    do {
        ++*key;
    } while (kit_chair(kit, spec) != 0);
}

static void take_votes(struct kit *kit, moot_kernel_id kernel, double *took_s)
{
    int64_t key = 0;
    moot_task_spec spec = {.kernel = kernel, .flags = MOOT_TASK_CONDITIONAL};
    for (int i = 0; i < VOTES; i++) {
        next_key(kit, &spec, &key);
        double begun_s = bench_now_s();
        moot_task task = kit_spawn(kit, &spec);
        kit_wait(kit, task);
        took_s[i] = bench_now_s() - begun_s;
        kit_release(kit, task);
    }
}

/* The other ranks wait for rank 1, by moot or parked. */
enum vote { PURE, ONCE, PARKED };

static void wait_parked(const struct kit *kit, bool park)
{
    if (park) {
        bench_check(kit->m, moot_park(kit->m), "moot_park");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (park) {
        bench_check(kit->m, moot_unpark(kit->m), "moot_unpark");
    }
}

/* By rank 1's clock, known to all. */
static struct figure vote_s(const struct bench *bench, enum vote vote)
{
    double took_s[VOTES];
    struct kit kit = kit_open(bench, NULL);
    kit_meet(&kit, 0);
    if (bench->rank == 1) {
        take_votes(&kit, vote == ONCE ? kit.once : kit.empty, took_s);
    }
    if (vote == PARKED) {
        wait_parked(&kit, bench->rank != 1);
    }
    kit_meet(&kit, 1);
    moot_stats stats;
    bench_check(kit.m, moot_stats_get(kit.m, &stats), "moot_stats_get");
    if (bench->rank == 0 && stats.votes < VOTES) {
        bench_die("voting: %d tasks, but %llu votes", VOTES,
                  (unsigned long long)stats.votes);
    }
    kit_close(&kit);
    MPI_Bcast(took_s, VOTES, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    return figure_of(took_s, VOTES);
}

static void measure_vote(const struct bench *bench, enum vote vote)
{
    static const char *const NAMES[] = {"vote-pure-us", "vote-once-us",
                                        "vote-parked-us"};
    enum { BYTES = 128, ROUNDS = 2000 };
    double half_s = kit_half_round_trip_s(bench, BYTES, ROUNDS);
    struct figure took_s = vote_s(bench, vote);
    half_s = fmin(half_s, kit_half_round_trip_s(bench, BYTES, ROUNDS));
    const double targets_us[] = {2e6 * half_s + 3, 4e6 * half_s + 5, 0};
    int voters = bench->ranks < 3 ? bench->ranks : 3;
    char voters_text[32];
    (void)snprintf(voters_text, sizeof(voters_text), ", %d voters", voters);
    bench_row(bench, NAMES[vote], 1e6 * took_s.median, targets_us[vote],
              "least %.2f us, most %.2f; %.1f half round trips of %.2f us%s",
              1e6 * took_s.least, 1e6 * took_s.most, took_s.median / half_s,
              1e6 * half_s, vote == ONCE ? voters_text : "");
}

/* --- A branch --------------------------------------------------------------------- */

enum branch { AGREED, ALONE, HINTED, BRANCH_KINDS };

static void spawn_branch(struct kit *kit, enum branch branch, moot_task *gatherers)
{
    moot_task tasks[GATHERED];
    for (int64_t number = 0; number < BRANCH_TASKS; number++) {
        moot_task_spec spec = {
            .kernel = kit->empty, .args = &number, .args_size = sizeof(number)};
        if (branch == AGREED) {
            spec.owner = MOOT_ON(1);
        }
        if (branch == HINTED) {
            spec.flags = MOOT_TASK_CONDITIONAL;
        }
        tasks[number % GATHERED] = kit_spawn(kit, &spec);
        if ((number + 1) % GATHERED != 0) {
            continue;
        }
        const int64_t args = -1 - number;
        gatherers[number / GATHERED] =
            kit_spawn(kit, &(moot_task_spec){.kernel = kit->empty,
                                             .args = &args,
                                             .args_size = sizeof(args),
                                             .after = tasks,
                                             .after_count = GATHERED,
                                             .owner = MOOT_ON(1)});
        for (int i = 0; i < GATHERED; i++) {
            kit_release(kit, tasks[i]);
        }
    }
}

/* `votes` are the chairs' yields: all, and those without evidence but that all was
 * quiet. */
static double branch_s(const struct bench *bench, enum branch branch, uint64_t votes[2])
{
    enum { QUIET = 6 }; /* of moot_stats.votes_by */
    enum { GATHERERS = BRANCH_TASKS / GATHERED };
    moot_task gatherers[GATHERERS];
    struct kit kit = kit_open(bench, NULL);
    kit_meet(&kit, 0);
    double took_s = 0, begun_s = bench_now_s();
    if (branch == AGREED || bench->rank == 1) {
        spawn_branch(&kit, branch, gatherers);
        bench_check(kit.m,
                    moot_task_wait_all(kit.m, gatherers, GATHERERS, MOOT_FOREVER),
                    "moot_task_wait_all");
        took_s = bench_now_s() - begun_s;
    }
    kit_meet(&kit, 1);
    moot_stats stats;
    bench_check(kit.m, moot_stats_get(kit.m, &stats), "moot_stats_get");
    kit_close(&kit);
    const uint64_t mine[2] = {stats.votes, stats.votes_by[QUIET]};
    MPI_Allreduce(mine, votes, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&took_s, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    return took_s;
}

static void measure_branch(const struct bench *bench)
{
    static const char *const NAMES[] = {NULL, "branch-of-10000-alone-to-agreed",
                                        "branch-of-10000-hinted-to-agreed"};
    double took_s[BRANCH_KINDS][BRANCHES], ratios[BRANCH_KINDS][BRANCHES];
    uint64_t votes[BRANCH_KINDS][2];
    for (int i = 0; i < BRANCHES; i++) {
        for (int branch = AGREED; branch < BRANCH_KINDS; branch++) {
            took_s[branch][i] = branch_s(bench, (enum branch)branch, votes[branch]);
            ratios[branch][i] = took_s[branch][i] / took_s[AGREED][i];
        }
    }
    double agreed_s = figure_of(took_s[AGREED], BRANCHES).median;
    for (int branch = ALONE; branch < BRANCH_KINDS; branch++) {
        struct figure ratio = figure_of(ratios[branch], BRANCHES);
        bench_row(bench, NAMES[branch], ratio.median, branch == ALONE ? 1.5 : 0,
                  "%.2f-%.2f; %.2f ms (%llu votes, %llu by quiet), agreed %.2f ms",
                  ratio.least, ratio.most,
                  1e3 * figure_of(took_s[branch], BRANCHES).median,
                  (unsigned long long)votes[branch][0],
                  (unsigned long long)votes[branch][1], 1e3 * agreed_s);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct bench bench;
    bench_open(&bench, "voting");
    if (bench.ranks < 2) {
        bench_die("voting: it takes two ranks");
    }
    for (int vote = PURE; vote <= PARKED; vote++) {
        measure_vote(&bench, (enum vote)vote);
    }
    measure_branch(&bench);
    bench_close(&bench);
    return 0;
}
