/* modes.c - divergence modes, reports, and programs that use MPI themselves.
 *
 *   mpirun -n 4 modes
 */
#include "tests/mpi/support/scene.h"

#include "hashing/identity.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEADLINE_S = 60, REPORT_BYTES = 1 << 16 };

/* --- Catching reports ------------------------------------------------------------- */

struct reports {
    pthread_mutex_t lock;
    unsigned count;
    size_t used;
    char text[REPORT_BYTES];
};

static void catch_report(void *user, const char *text)
{
    struct reports *reports = user;
    (void)pthread_mutex_lock(&reports->lock);
    reports->count++;
    size_t length = strlen(text), room = sizeof(reports->text) - reports->used - 1;
    length = length < room ? length : room;
    memcpy(reports->text + reports->used, text, length);
    reports->used += length;
    (void)pthread_mutex_unlock(&reports->lock);
}

static bool report_has(struct reports *reports, const char *text)
{
    (void)pthread_mutex_lock(&reports->lock);
    bool found = strstr(reports->text, text) != NULL;
    (void)pthread_mutex_unlock(&reports->lock);
    return found;
}

static void check_report(struct reports *reports, const char *text)
{
    CHECK(report_has(reports, text), "the report lacks \"%s\": %s", text,
          reports->text);
}

/* Another thread may be about to tell it when a wait has ended already. */
static unsigned count_reports(struct reports *reports)
{
    unsigned count = 0;
    for (int i = 0; i < 500 && count == 0; i++) {
        (void)pthread_mutex_lock(&reports->lock);
        count = reports->count;
        (void)pthread_mutex_unlock(&reports->lock);
        if (count == 0) {
            harness_sleep_us(2000);
        }
    }
    return count;
}

/* Two call sites of this file on one line with this mark, the left one first. */
static bool stand_beside(struct reports *reports, char mark, int left, int right)
{
    char site[32], text[128];
    (void)snprintf(site, sizeof(site), "%s:%d", __FILE__, left);
    (void)snprintf(text, sizeof(text), "\n%c %-47s | %s:%d\n", mark, site, __FILE__,
                   right);
    return report_has(reports, text);
}

static int give_one(moot_call *call, void *user)
{
    (void)user;
    uint64_t *result = moot_call_output(call, sizeof(*result));
    if (result == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *result = 1;
    return MOOT_OK;
}

/* A moot that tells its reports to `reports`, with one kernel. */
static moot *open_watched(struct reports *reports, const char *const *knobs,
                          moot_kernel_id *kernel)
{
    *reports = (struct reports){.lock = PTHREAD_MUTEX_INITIALIZER};
    moot_options options = {
        .report = catch_report, .report_user = reports, .knobs = knobs};
    moot *m = NULL;
    if (moot_open_comm(&options, MPI_COMM_WORLD, &m) != MOOT_OK) {
        (void)fprintf(stderr, "%s\n", moot_last_error(NULL));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    harness_explain_with(m);
    CHECK_OK(moot_kernel_register(m, &(moot_kernel){.name = "give-one", .fn = give_one},
                                  kernel));
    return m;
}

static struct reports *new_reports(void)
{
    return harness_alloc(1, sizeof(struct reports));
}

/* --- strict ----------------------------------------------------------------------- */

/* The same 20 tasks on every rank, and then one at another line of rank 0.  Tells the
 * lines, and that of the 20. */
static moot_task spawn_apart(moot *m, moot_kernel_id kernel, int lines[2], int *before)
{
    moot_task task = {0};
    uint64_t number = 0;
    moot_task_spec spec = {
        .kernel = kernel, .args = &number, .args_size = sizeof(number)};
    *before = __LINE__ + 2;
    for (; number < 20; number++) {
        CHECK_OK(moot_task_spawn(m, &spec, &task));
    }
    number = 100 + (uint64_t)(moot_rank(m) == 0);
    lines[0] = __LINE__ + 2;
    if (moot_rank(m) == 0) {
        (void)moot_task_spawn(m, &spec, &task);
    }
    lines[1] = __LINE__ + 2;
    if (moot_rank(m) != 0) {
        (void)moot_task_spawn(m, &spec, &task);
    }
    return task;
}

static void strict_diverging(void)
{
    struct reports *reports = new_reports();
    moot_kernel_id kernel = {0};
    moot *m = open_watched(reports, (const char *[]){"MOOT_DIVERGENCE=strict", NULL},
                           &kernel);
    int lines[2], before;
    /* A rank that chairs what it alone holds runs it: it hears of the difference with
     * its next wait, which for the others' task cannot end otherwise. */
    moot_task task = spawn_apart(m, kernel, lines, &before);
    harness_barrier();
    moot_hash other;
    uint64_t number = moot_rank(m) == 0 ? 100 : 101;
    moot_task_spec spec = {
        .kernel = kernel, .args = &number, .args_size = sizeof(number)};
    CHECK_OK(moot_spec_hash(m, &spec, &other));
    int code = moot_task_wait(m, task, MOOT_FOREVER);
    CHECK(code == MOOT_OK || code == MOOT_ERR_DIVERGED, "the wait gave %s",
          moot_err_name(code));
    while (code == MOOT_OK) {
        harness_sleep_us(1000);
        number++;
        code = moot_task_spawn(m, &spec, &task);
        if (code == MOOT_OK) {
            code = moot_task_wait(m, task, MOOT_FOREVER);
        }
    }
    CHECK_CODE(code, MOOT_ERR_DIVERGED);
    CHECK(*moot_last_error(m) != '\0', "there is no story");
    CHECK(count_reports(reports) == 1, "%u reports", reports->count);
    CHECK(stand_beside(reports, '!', lines[0], lines[1]) ||
              stand_beside(reports, '!', lines[1], lines[0]),
          "no line has %d and %d: %s", lines[0], lines[1], reports->text);
    CHECK(stand_beside(reports, ' ', before, before), "nothing of line %d: %s", before,
          reports->text);
    CHECK(report_has(reports, "\n  rank 0 ") || report_has(reports, "| rank 0\n"),
          "rank 0 heads no column: %s", reports->text);
    /* Of the others stand there those that were asked and had answered in time. */
    CHECK(report_has(reports, "\n  rank") && report_has(reports, "| rank"),
          "a column has no ranks: %s", reports->text);
    CHECK_CODE(moot_task_spawn(m, &spec, &task), MOOT_ERR_DIVERGED);
    (void)moot_close(m);
    harness_explain_with(NULL);
    free(reports);
}

static void strict_other_order(void)
{
    struct reports *reports = new_reports();
    moot_kernel_id kernel = {0};
    moot *m = open_watched(reports, (const char *[]){"MOOT_DIVERGENCE=strict", NULL},
                           &kernel);
    uint64_t number = 0;
    moot_task task = {0};
    moot_task_spec spec = {
        .kernel = kernel, .args = &number, .args_size = sizeof(number)};
    int code = MOOT_OK;
    for (uint64_t i = 0; i < 10000 && code == MOOT_OK; i++) {
        number = moot_rank(m) == 0 ? i ^ 1 : i; /* pairs swapped */
        code = moot_task_spawn(m, &spec, &task);
        if (code == MOOT_OK) {
            code = moot_task_wait(m, task, MOOT_FOREVER);
        }
    }
    CHECK_CODE(code, MOOT_ERR_DIVERGED);
    CHECK(count_reports(reports) == 1, "%u reports", reports->count);
    (void)moot_close(m);
    harness_explain_with(NULL);
    free(reports);
}

/* Ranks that agree do not notice the mode. */
static void strict_agreeing(void)
{
    struct scene *scene = scene_open((const char *[]){"MOOT_DIVERGENCE=strict", NULL});
    uint32_t last = 0;
    for (uint32_t i = 0; i < 600; i++) {
        last = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                   .holders = EVERYBODY,
                                                   .inputs = &last,
                                                   .input_count = i % 4 != 0});
    }
    scene_spawn_mine(scene);
    scene_expect_all(scene);
    scene_settle(scene);
    CHECK(scene->votes == 0, "%llu votes", (unsigned long long)scene->votes);
    scene_close(scene);
}

/* --- trust ------------------------------------------------------------------------ */

/* Rank 0 chairs a task that it never spawns, and waits for it like everyone: in trust
 * mode nobody may run it, and the report must say so. */
static void trust_stalls(void)
{
    struct reports *reports = new_reports();
    moot_kernel_id kernel = {0};
    moot *m = open_watched(reports,
                           (const char *[]){"MOOT_DIVERGENCE=trust", "MOOT_STALL=500ms",
                                            "MOOT_STALL_ABORT=1", NULL},
                           &kernel);
    uint64_t number = 0;
    moot_task_spec spec = {
        .kernel = kernel, .args = &number, .args_size = sizeof(number)};
    moot_hash hash;
    moot_task task = {0};
    moot_task_info info = {.chair = -1};
    while (info.chair != 0) {
        number++;
        CHECK_OK(moot_spec_hash(m, &spec, &hash));
        CHECK_OK(moot_task_find(m, &hash, &task));
        CHECK_OK(moot_task_info(m, task, &info));
    }
    if (moot_rank(m) != 0) {
        CHECK_OK(moot_task_spawn(m, &spec, &task));
    }
    CHECK_CODE(moot_task_wait(m, task, MOOT_FOREVER), MOOT_ERR_STALLED);
    moot_stats stats;
    CHECK_OK(moot_stats_get(m, &stats));
    CHECK(stats.votes == 0, "%llu votes", (unsigned long long)stats.votes);
    harness_sleep_us(10000); /* another thread may be about to tell it */
    uint64_t told = count_reports(reports) > 0;
    harness_sum(&told, 1);
    CHECK(told > 0, "nobody reported");
    if (reports->count > 0) {
        char digits[MOOT_HASH_TEXT_BYTES];
        (void)hash_format(&hash, digits);
        digits[8] = '\0';
        check_report(reports, digits);
        check_report(reports, "chair: ");
        check_report(reports, "modes.c:");
    }
    (void)moot_close(m);
    harness_explain_with(NULL);
    free(reports);
}

/* --- SIGUSR1 ---------------------------------------------------------------------- */

/* The last rank spawns only after the others have been asked for their reports. */
static void report_on_signal(void)
{
    struct reports *reports = new_reports();
    moot_kernel_id kernel = {0};
    moot *m = open_watched(reports, NULL, &kernel);
    bool spawner = moot_rank(m) == moot_size(m) - 1;
    moot_task_spec spec = {.kernel = kernel};
    moot_hash hash;
    moot_task task = {0};
    CHECK_OK(moot_spec_hash(m, &spec, &hash));
    CHECK_OK(moot_task_find(m, &hash, &task));
    if (spawner) {
        for (int rank = 0; rank < moot_size(m) - 1; rank++) {
            harness_token_wait(rank);
        }
        CHECK_OK(moot_task_spawn(m, &spec, &task));
    } else {
        char digits[MOOT_HASH_TEXT_BYTES];
        (void)hash_format(&hash, digits);
        digits[8] = '\0';
        CHECK_CODE(moot_task_wait(m, task, MOOT_MILLISECONDS(20)), MOOT_ERR_TIMEOUT);
        (void)raise(SIGUSR1);
        /* Polling is a wait too. */
        for (int i = 0; i < 500 && !report_has(reports, digits); i++) {
            CHECK_CODE(moot_task_wait(m, task, MOOT_MILLISECONDS(5)), MOOT_ERR_TIMEOUT);
        }
        check_report(reports, digits);
        harness_token_send(moot_size(m) - 1);
    }
    CHECK_OK(moot_task_wait(m, task, MOOT_FOREVER));
    CHECK_OK(moot_close(m));
    harness_explain_with(NULL);
    free(reports);
}

/* --- Knobs that change how, not what ---------------------------------------------- */

/* The diverging program of all these rows.  Ranks close as they come: with
 * MOOT_PROGRESS=caller a rank that waits in a barrier for the others serves nobody. */
static void run_half(const char *const *knobs)
{
    struct scene *scene = scene_open(knobs);
    for (int i = 0; i < 60; i++) {
        scene_job(scene, &(struct job_spec){
                             .chair = CHAIR_ANY,
                             .holders = BIT(i % scene->size) | BIT(i / 2 % scene->size),
                             .kernel = i % 5 == 0 ? MOOT_KERNEL_ONCE : 0});
    }
    scene_spawn_mine(scene);
    scene_expect_all(scene);
    scene_close_at_once(scene);
}

static void progress_by_caller(void)
{
    run_half((const char *[]){"MOOT_PROGRESS=caller", NULL});
}

static void without_rings(void) { run_half((const char *[]){"MOOT_RINGS=off", NULL}); }

static void progress_by_thread(void)
{
    run_half((const char *[]){"MOOT_PROGRESS=thread", "MOOT_THREADS=1", NULL});
}

static void one_voter(void) { run_half((const char *[]){"MOOT_VOTERS=1", NULL}); }

static void many_voters(void) { run_half((const char *[]){"MOOT_VOTERS=15", NULL}); }

static void ask_at_once(void) { run_half((const char *[]){"MOOT_ASK_DELAY=0", NULL}); }

/* The chair is in code of its own, and not parked: only the timeout speaks. */
static void vote_timeout(void)
{
    struct scene *scene = scene_open((const char *[]){"MOOT_VOTE_TIMEOUT=20ms", NULL});
    uint32_t id = scene_job(
        scene, &(struct job_spec){.chair = 0, .holders = BIT(scene->size - 1)});
    if (scene->rank == scene->size - 1) {
        scene_spawn(scene, id);
        scene_expect(scene, id);
        scene_expect_decided(scene, id, "timeout");
        harness_token_send(0);
    }
    if (scene->rank == 0) {
        harness_token_wait(scene->size - 1);
    }
    scene_expect(scene, id);
    scene_close(scene);
}

/* --- Programs that use MPI themselves --------------------------------------------- */

static void exchange_around_the_ring(int tag)
{
    int rank = harness_rank(), size = harness_size(), got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, tag, &got, 1, MPI_INT,
                 (rank + size - 1) % size, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size, "a message of the program's went astray");
}

static void add_ranks(int expected)
{
    int rank = harness_rank(), sum = -1;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == expected, "the ranks add up to %d", sum);
}

/* MPI before, between and after, with tags that moot might use as well. */
static void mpi_around(void)
{
    int size = harness_size(), sum = size * (size - 1) / 2;
    add_ranks(sum);
    struct scene *scene = scene_open(NULL);
    for (int i = 0; i < 4 * size; i++) {
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                            .holders = BIT(i % size),
                                            .pause_us = 300});
    }
    for (int i = 0; i < 4; i++) {
        uint32_t first = (uint32_t)(i * size);
        scene_spawn_range(scene, first, first + (uint32_t)size);
        exchange_around_the_ring(i);
        CHECK_OK(moot_park(scene->m));
        MPI_Barrier(MPI_COMM_WORLD);
        add_ranks(sum);
        CHECK_OK(moot_unpark(scene->m));
        for (uint32_t id = first; id < first + (uint32_t)size; id++) {
            scene_expect(scene, id);
        }
    }
    scene_close(scene);
    exchange_around_the_ring(0);
    add_ranks(sum);
}

static void fill_and_check(struct scene *scene, int jobs)
{
    uint32_t first = scene->job_count;
    for (int i = 0; i < jobs; i++) {
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                            .holders = BIT(i % scene->size)});
    }
    scene_spawn_range(scene, first, scene->job_count);
    for (uint32_t id = first; id < scene->job_count; id++) {
        scene_expect(scene, id);
    }
}

/* The ranks of the world are split into two moots, in reverse order. */
static void two_halves(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, harness_rank() % 2, -harness_rank(), &half);
    struct scene *scene = scene_open_on(half, NULL);
    int rank = -1;
    MPI_Comm_rank(half, &rank);
    MPI_Comm_free(&half); /* moot has its own */
    CHECK(scene->rank == rank, "rank %d of the half is %d in its moot", rank,
          scene->rank);
    fill_and_check(scene, 40);
    CHECK_OK(moot_close(scene->m));
    for (uint32_t id = 0; id < scene->job_count; id++) { /* once in each half */
        scene->jobs[id].runs_expected = harness_size() > 1 ? 2 : 1;
    }
    scene_free(scene);
}

/* Two moots at once, on the world and on the halves, in turns. */
static void two_moots(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, harness_rank() % 2, 0, &half);
    struct scene *world = scene_open(NULL), *part = scene_open_on(half, NULL);
    for (int i = 0; i < 5; i++) {
        fill_and_check(world, 12);
        fill_and_check(part, 12);
    }
    CHECK_OK(moot_close(part->m));
    fill_and_check(world, 12);
    for (uint32_t id = 0; id < part->job_count; id++) {
        part->jobs[id].runs_expected = harness_size() > 1 ? 2 : 1;
    }
    scene_free(part);
    harness_explain_with(world->m);
    scene_close(world);
    MPI_Comm_free(&half);
}

/* Opening and closing is no one-time affair. */
static void many_in_turn(void)
{
    for (int i = 0; i < 20; i++) {
        struct scene *scene = scene_open(NULL);
        fill_and_check(scene, 3);
        scene_close_at_once(scene);
    }
}

/* --- The list --------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(void);
    int ranks_min;
} rows[] = {
    {"strict: the first difference, both call sites, the ranks", strict_diverging, 2},
    {"strict: another order is a difference", strict_other_order, 2},
    {"strict: ranks that agree do not notice", strict_agreeing, 1},
    {"trust: it stalls, says why, and MOOT_STALL_ABORT ends it", trust_stalls, 2},
    {"SIGUSR1: a report of what this rank waits for", report_on_signal, 2},
    {"MOOT_PROGRESS=caller", progress_by_caller, 1},
    {"MOOT_PROGRESS=thread and a worker", progress_by_thread, 1},
    {"MOOT_RINGS=off", without_rings, 1},
    {"MOOT_VOTERS=1", one_voter, 1},
    {"MOOT_VOTERS=15", many_voters, 1},
    {"MOOT_ASK_DELAY=0", ask_at_once, 1},
    {"MOOT_VOTE_TIMEOUT while the chair is in its own code", vote_timeout, 2},
    {"MPI before, between and after", mpi_around, 1},
    {"a moot on each half of the ranks", two_halves, 1},
    {"two moots at once", two_moots, 1},
    {"twenty moots one after the other", many_in_turn, 1},
};

int main(int argc, char **argv)
{
    harness_open(&argc, &argv, "modes");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (argc == 2 && strstr(rows[i].name, argv[1]) == NULL) {
            continue;
        }
        if (harness_size() < rows[i].ranks_min) {
            harness_case_skip(rows[i].name, "it takes more ranks");
            continue;
        }
        harness_case_begin(rows[i].name, DEADLINE_S);
        rows[i].run();
        harness_case_end();
    }
    return harness_close();
}
