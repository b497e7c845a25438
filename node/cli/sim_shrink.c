/* sim_shrink.c - a failing run of `moot sim` made small.
 *
 * Every try is a process of its own, because some failures are assertions that end it.
 * A try fails in the same way if the same check says so.
 */
#include "consensus/sim/runs/shrink.h"
#include "node/cli/sim_verb.h"
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES_MOST = 2000, CHECK_BYTES = 32 };

struct failure {
    uint64_t seed;
    char check[CHECK_BYTES];
    char *told; /* shared with the try: its check; "" if it was good */
};

static void run(const struct trial *trial, const struct failure *failure)
{
    struct tally *tally = calloc(1, sizeof(*tally));
    struct trial_result *result = malloc(sizeof(*result));
    if (tally == NULL || result == NULL) {
        abort();
    }
    bool good = trial_run(trial, failure->seed, NULL, tally, result);
    (void)snprintf(failure->told, CHECK_BYTES, "%s", good ? "" : result->report.check);
}

/* The check that fails, or "crash", or "". */
static void find_check(const struct trial *trial, const struct failure *failure)
{
    int status = 0;
    (void)snprintf(failure->told, CHECK_BYTES, "crash");
    fflush(stdout);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);
        }
        /* What it says about an assertion has been said. */
        (void)!freopen("/dev/null", "w", stderr);
        run(trial, failure);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        failure->told[0] = '\0';
    }
}

static bool fails_alike(void *context, const struct trial *trial)
{
    const struct failure *failure = context;
    struct script_error unused;
    if (!trial_check(trial, failure->seed, &unused)) {
        return false;
    }
    find_check(trial, failure);
    return strcmp(failure->told, failure->check) == 0;
}

/* The plan that the failing run had, as one that is given.  False if that run is good:
 * then what fails is not in the plan and its storm. */
static bool give_plan(const struct sim_command *command, struct trial *trial,
                      struct plan *plan, struct failure *failure)
{
    if (trial->faults == TRIAL_NONE) {
        return fails_alike(failure, trial);
    }
    if (trial->faults == TRIAL_DRAWN) {
        trial_draw_plan(&command->trial, failure->seed, plan);
        trial->faults = TRIAL_STORM;
    } else {
        *plan = *command->plan;
    }
    trial->plan = plan;
    return fails_alike(failure, trial);
}

int sim_shrink(const struct sim_command *command, uint64_t seed)
{
    struct trial trial = command->trial;
    struct failure failure = {.seed = seed};
    struct plan *plan = calloc(1, sizeof(*plan));
    struct shrink shrink = {
        .fails = fails_alike, .context = &failure, .tries_most = TRIES_MOST};
    failure.told = mmap(NULL, CHECK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (plan == NULL || failure.told == MAP_FAILED) {
        abort();
    }
    find_check(&trial, &failure);
    (void)snprintf(failure.check, sizeof(failure.check), "%s", failure.told);
    trial_settle_layout(&trial, seed);
    bool good = failure.check[0] != '\0' && give_plan(command, &trial, plan, &failure);
    if (!good) {
        cli_complain(&verb_sim, "seed %" PRIu64 " fails otherwise when it is repeated",
                     seed);
    }
    if (good && trial.tasks == 0 && trial.workload.kind != WORKLOAD_SCRIPT) {
        trial.tasks = trial_task_count(&trial, seed);
    }
    if (good) {
        shrink_trial(&shrink, &trial, plan);
        printf("shrunk in %" PRIu32 " tries (check \"%s\"):\n  ", shrink.tries,
               failure.check);
        sim_replay_print(command, &trial, seed, stdout);
    }
    munmap(failure.told, CHECK_BYTES);
    free(plan);
    return good ? CLI_OK : CLI_FAILED;
}
