/* sim_many.c - many runs of `moot sim`, on several processes.
 *
 * Each process takes the next seed until none is left.  What they share is memory: the
 * seed that comes next, who has failed, and a tally per process that the parent adds
 * up.  A run that ends its process (an assertion of the core) is a failure of the seed
 * that this process had taken, and another process takes its place.  Any process may
 * end at any moment, by hand or because who read its output is gone: none waits for
 * what a dead one held, and none survives the parent.
 */
#include "node/cli/sim_verb.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TOLD_MOST = 10,   /* failures that are told; the others are counted */
    TWICE_EVERY = 64, /* one seed in so many runs twice, for the same digest */
    LOST_MOST = 100   /* processes that are replaced */
};

struct worker {
    pid_t pid;   /* 0: ended */
    bool at_run; /* of seed; false between runs */
    uint64_t seed;
    struct sim_outcome outcome;
};

struct board {
    _Atomic uint64_t taken, told; /* runs that a worker took; failures */
    pthread_mutex_t paper;        /* held by who prints */
    struct worker workers[];
};

/* --- In a worker ------------------------------------------------------------------ */

static bool paper_init(pthread_mutex_t *paper)
{
    pthread_mutexattr_t shared;
    if (pthread_mutexattr_init(&shared) != 0) {
        return false;
    }
    bool good = pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) == 0 &&
                pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST) == 0 &&
                pthread_mutex_init(paper, &shared) == 0;
    pthread_mutexattr_destroy(&shared);
    return good;
}

/* Who died with it has printed half a failure at worst. */
static void paper_take(pthread_mutex_t *paper)
{
    if (pthread_mutex_lock(paper) == EOWNERDEAD) {
        (void)pthread_mutex_consistent(paper);
    }
}

static void tell(const struct sim_batch *batch, struct board *board, uint64_t seed,
                 const struct sim_report *report)
{
    if (batch->quiet || atomic_fetch_add(&board->told, 1) >= TOLD_MOST) {
        return;
    }
    paper_take(&board->paper);
    sim_failure_print(batch->command, batch->trial, seed, report, stdout);
    fflush(stdout);
    pthread_mutex_unlock(&board->paper);
}

static bool is_repeated(const struct sim_batch *batch, uint64_t seed,
                        struct trial_result *result)
{
    struct tally *unused = calloc(1, sizeof(*unused));
    struct trial_result *again = malloc(sizeof(*again));
    if (unused == NULL || again == NULL) {
        abort();
    }
    (void)trial_run(batch->trial, seed, NULL, unused, again);
    bool same =
        memcmp(again->report.digest, result->report.digest, SIM_DIGEST_BYTES) == 0;
    if (!same) {
        result->report.failed = true;
        (void)snprintf(result->report.check, sizeof(result->report.check), "digest");
        (void)snprintf(result->report.why, sizeof(result->report.why),
                       "a second run differs");
    }
    free(again->report.dump);
    free(again);
    free(unused);
    return same;
}

void sim_untested_add(struct sim_untested *untested, const struct trial *trial,
                      const struct trial_result *result)
{
    const bool good = !result->report.failed;
    const bool unfired = good && result->unfired != 0;
    const bool unseen = good && trial->canary != SIM_CANARY_NONE;
    untested->runs += unfired || unseen;
    untested->unfired += unfired;
    untested->unseen += unseen;
}

void sim_untested_tell(const struct sim_untested *untested, const struct trial *trial)
{
    if (untested->unfired > 0) {
        cli_complain(&verb_sim,
                     "in %" PRIu64 " run%s a rule that had to fire never did",
                     untested->unfired, untested->unfired == 1 ? "" : "s");
    }
    if (untested->unseen > 0) {
        cli_complain(
            &verb_sim,
            "in %" PRIu64
            " run%s no check saw the canary %s: what it breaks may not have happened",
            untested->unseen, untested->unseen == 1 ? "" : "s",
            sim_canary_name(trial->canary));
    }
}

static void run_seed(const struct sim_batch *batch, struct board *board,
                     struct worker *worker, struct trial_result *result)
{
    struct sim_outcome *outcome = &worker->outcome;
    bool good = trial_run(batch->trial, worker->seed, NULL, &outcome->tally, result);
    if (good && worker->seed % TWICE_EVERY == 0 &&
        !is_repeated(batch, worker->seed, result)) {
        good = false;
        outcome->tally.violations++;
    }
    for (int i = 0; i < SIM_DIGEST_BYTES; i++) {
        outcome->digest[i] ^= result->report.digest[i];
    }
    if (good) {
        sim_untested_add(&outcome->untested, batch->trial, result);
    }
    if (!good) {
        if (worker->seed < outcome->failing_seed) {
            outcome->failing_seed = worker->seed;
        }
        tell(batch, board, worker->seed, &result->report);
    }
    free(result->report.dump);
}

static uint64_t run_count(const struct sim_batch *batch)
{
    return batch->seed_last - batch->seed_first + 1;
}

static void work(const struct sim_batch *batch, struct board *board,
                 struct worker *worker)
{
    struct trial_result *result = malloc(sizeof(*result));
    if (result == NULL) {
        abort();
    }
    for (uint64_t run; (run = atomic_fetch_add(&board->taken, 1)) < run_count(batch);) {
        worker->seed = batch->seed_first + run;
        worker->at_run = true;
        run_seed(batch, board, worker, result);
        worker->at_run = false;
    }
    free(result);
}

/* --- In the parent ---------------------------------------------------------------- */

static bool begin(const struct sim_batch *batch, struct board *board,
                  struct worker *worker)
{
    fflush(stdout);
    fflush(stderr);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would hear it any more */
        if (getppid() != parent) {
            _exit(1);
        }
        work(batch, board, worker);
        fflush(stdout);
        sim_coverage_keep();
        _exit(0);
    }
    worker->pid = pid > 0 ? pid : 0;
    return pid > 0;
}

static void bury(const struct sim_batch *batch, struct board *board,
                 struct worker *worker, int status)
{
    struct sim_report report = {.failed = true, .check = "crash"};
    if (!worker->at_run) {
        return;
    }
    worker->at_run = false;
    (void)snprintf(report.why, sizeof(report.why), "the run ended its process (%s %d)",
                   WIFSIGNALED(status) ? "signal" : "status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    worker->outcome.tally.runs++;
    worker->outcome.tally.violations++;
    if (worker->seed < worker->outcome.failing_seed) {
        worker->outcome.failing_seed = worker->seed;
    }
    tell(batch, board, worker->seed, &report);
}

static bool wait_for_all(const struct sim_batch *batch, struct board *board,
                         uint32_t jobs)
{
    uint32_t running = jobs, lost = 0;
    while (running > 0) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0) {
            return false;
        }
        for (uint32_t i = 0; i < jobs; i++) {
            struct worker *worker = &board->workers[i];
            if (worker->pid != pid) {
                continue;
            }
            worker->pid = 0;
            running--;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
                continue;
            }
            if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) {
                (void)raise(SIGPIPE); /* who read is gone, for all of them */
            }
            bury(batch, board, worker, status);
            if (++lost < LOST_MOST && begin(batch, board, worker)) {
                running++;
            }
        }
    }
    return atomic_load(&board->taken) >= run_count(batch);
}

static void add_up(const struct board *board, uint32_t jobs, struct sim_outcome *out)
{
    memset(out, 0, sizeof(*out));
    out->failing_seed = UINT64_MAX;
    for (uint32_t i = 0; i < jobs; i++) {
        const struct sim_outcome *outcome = &board->workers[i].outcome;
        tally_add(&out->tally, &outcome->tally);
        out->untested.runs += outcome->untested.runs;
        out->untested.unfired += outcome->untested.unfired;
        out->untested.unseen += outcome->untested.unseen;
        if (outcome->failing_seed < out->failing_seed) {
            out->failing_seed = outcome->failing_seed;
        }
        for (int k = 0; k < SIM_DIGEST_BYTES; k++) {
            out->digest[k] ^= outcome->digest[k];
        }
    }
}

bool sim_batch_run(const struct sim_batch *batch, struct sim_outcome *out)
{
    uint32_t jobs = batch->command->jobs;
    if (jobs > run_count(batch)) {
        jobs = (uint32_t)run_count(batch);
    }
    size_t size = sizeof(struct board) + jobs * sizeof(struct worker);
    struct board *board =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        return false;
    }
    bool good = paper_init(&board->paper);
    uint32_t begun = 0;
    for (uint32_t i = 0; i < jobs; i++) {
        board->workers[i].outcome.failing_seed = UINT64_MAX;
    }
    while (good && begun < jobs && begin(batch, board, &board->workers[begun])) {
        begun++;
    }
    good = good && begun > 0 && wait_for_all(batch, board, begun);
    add_up(board, jobs, out);
    pthread_mutex_destroy(&board->paper);
    munmap(board, size);
    return good;
}

/* --- The summary ------------------------------------------------------------------ */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void print_summary(const struct sim_outcome *outcome, double took_s)
{
    const struct tally *tally = &outcome->tally;
    char span[32];
    tally_time_format(tally->time_ns, span, sizeof(span));
    if (tally->violations > TOLD_MOST) {
        printf("... and %" PRIu64 " more\n", tally->violations - TOLD_MOST);
    }
    const uint64_t untested = outcome->untested.runs;
    printf("%" PRIu64 " seed%s: %" PRIu64 " good, ", tally->runs,
           tally->runs == 1 ? "" : "s", tally->runs - tally->violations - untested);
    if (untested > 0) {
        printf("%" PRIu64 " untested, ", untested);
    }
    printf("%" PRIu64 " violation%s, in %.1f s\n", tally->violations,
           tally->violations == 1 ? "" : "s", took_s);
    printf("  events       %" PRIu64 " in %s of virtual time; digest of all ",
           tally->events, span);
    for (int i = 0; i < SIM_DIGEST_BYTES; i++) {
        printf("%02x", outcome->digest[i]);
    }
    putchar('\n');
    tally_print(tally, stdout);
    fflush(stdout);
}

int sim_many(const struct sim_command *command)
{
    const struct sim_batch batch = {.command = command,
                                    .trial = &command->trial,
                                    .seed_first = command->seed_first,
                                    .seed_last = command->seed_last};
    struct sim_outcome *outcome = calloc(1, sizeof(*outcome));
    if (outcome == NULL) {
        abort();
    }
    double began_s = now_s();
    bool done = sim_batch_run(&batch, outcome);
    print_summary(outcome, now_s() - began_s);
    if (!done) {
        cli_complain(&verb_sim, "not all seeds were run");
    }
    sim_untested_tell(&outcome->untested, &command->trial);
    if (command->coverage) {
        sim_coverage_print(&outcome->tally);
    }
    bool good = done && outcome->tally.violations == 0;
    int status = !good                        ? CLI_FAILED
                 : outcome->untested.runs > 0 ? CLI_UNTESTED
                                              : CLI_OK;
    if (command->shrink && outcome->failing_seed != UINT64_MAX) {
        (void)sim_shrink(command, outcome->failing_seed);
    }
    free(outcome);
    return status;
}
