/* ended_checker.c - see ended_checker.h. */
#include "consensus/sim/checks/ended_checker.h"
#include <inttypes.h>
#include <stdlib.h>

struct ended_checker {
    const struct program *program;
    bool *ended; /* per task: well, on some rank */
};

struct ended_checker *ended_checker_new(const struct program *program)
{
    struct ended_checker *checker = calloc(1, sizeof(*checker));
    bool *ended = calloc(program->task_count + 1u, sizeof(*ended));
    if (checker == NULL || ended == NULL) {
        abort();
    }
    *checker = (struct ended_checker){program, ended};
    return checker;
}

void ended_checker_free(struct ended_checker *checker)
{
    if (checker != NULL) {
        free(checker->ended);
        free(checker);
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct ended_checker *checker = context;
    if (sight->type == SIGHT_END && sight->code == MOOT_OK) {
        checker->ended[sight->task] = true;
    } else if (sight->type == SIGHT_WAITED && sight->code == MOOT_OK &&
               sight->task < checker->program->task_count &&
               !checker->ended[sight->task]) {
        sim_fail(sim, "all ended",
                 "rank %" PRIu32 "'s wait for %s ends, and no rank has run it",
                 sight->rank, checker->program->tasks[sight->task].name);
    }
}

struct sim_watcher ended_checker_watcher(struct ended_checker *checker)
{
    return (struct sim_watcher){see, checker};
}
