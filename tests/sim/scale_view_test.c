/* scale_view_test.c - what a death costs as a moot grows.
 *
 *   scale_view_test              the quick set of `make check`: up to 512 ranks
 *   scale_view_test --table      512, 1,000 and 4,096 ranks, as a table
 *
 * One rank is killed on an even network: a leaf of the tree, an inner member, the root,
 * one of the committee; or an inner member while it enters the view that removes
 * another, so that those below it miss that view.  All who live must enter the last
 * view and end; and with one death, between the first rank's entry into the new view
 * and the last one's there may be as many steps as the tree is deep, until all have
 * settled five times as many, and no more than a constant of messages per member.
 */
#include "consensus/sim/checks/electorate.h"
#include "consensus/sim/engine/sim.h"
#include "consensus/sim/programs/workload.h"
#include "consensus/state/tree.h"
#include "hashing/identity.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LATENCY_NS UINT64_C(10000)

enum { MESSAGES_PER_MEMBER = 8, TASKS = 16 };

struct seen {
    uint64_t crash_ns, first_ns, last_ns, settled_ns;
    uint64_t messages; /* about the view */
    uint64_t epoch, crashes;
    uint32_t entered; /* into the newest view */
};

static bool is_about_views(enum message_type type)
{
    return type == MESSAGE_REPORT || type == MESSAGE_TALLY || type == MESSAGE_SETTLED ||
           (type >= MESSAGE_PREPARE && type <= MESSAGE_VIEW);
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct seen *seen = context;
    (void)sim;
    if (sight->type == SIGHT_CRASH) {
        seen->crash_ns = sight->time_ns;
        seen->crashes++;
    } else if (sight->type == SIGHT_VIEW) {
        if (sight->epoch > seen->epoch) {
            seen->epoch = sight->epoch;
            seen->first_ns = sight->time_ns;
            seen->entered = 0;
        }
        seen->entered += sight->epoch == seen->epoch;
        seen->last_ns = sight->time_ns;
    } else if (sight->type == SIGHT_SEND && is_about_views(sight->message->type)) {
        seen->messages++;
    } else if (sight->type == SIGHT_RECEIVE && sight->message->type == MESSAGE_TALLY &&
               sight->message->u.tally.what == TALLY_SETTLED) {
        seen->settled_ns = sight->time_ns;
    }
}

static bool run(uint32_t ranks, const char *faults, struct seen *seen)
{
    struct workload workload = {.kind = WORKLOAD_AGREE};
    struct plan_error error;
    struct script_error script_error;
    struct plan *given = NULL, plan;
    struct program *program =
        workload_program(&workload, 1, ranks, TASKS, &script_error);
    if (program == NULL || plan_parse(faults, &given, &error) != MOOT_OK) {
        abort();
    }
    struct sim_weather weather = {.latency_ns = LATENCY_NS,
                                  .poll_ns = 1,
                                  .step_ns = 1000,
                                  .ask_delay_ns = 10 * LATENCY_NS,
                                  .gossip_period_ns = 20 * LATENCY_NS,
                                  .vote_timeout_ns = CORE_NEVER,
                                  .voters = 3};
    struct storm storm;
    plan = *given;
    const struct storm_request request = {.ranks = ranks, .given = &plan};
    storm_default(&request, &weather, &storm);
    *seen = (struct seen){0};
    const struct sim_watcher watcher = {see, seen};
    const struct sim_options options = {.program = program,
                                        .seed = 1,
                                        .weather = &weather,
                                        .plan = &plan,
                                        .storm = &storm,
                                        .notes = true,
                                        .watchers = &watcher,
                                        .watcher_count = 1};
    struct sim_report report;
    bool good = sim_run(&options, &report);
    if (!good) {
        printf("FAILED %s: %s\n", report.check, report.why);
    }
    free(report.dump);
    storm_release(&storm);
    plan_free(given);
    program_free(program);
    return good;
}

/* How many steps of the network that is. */
static double steps(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / (double)LATENCY_NS : 0;
}

static bool check(uint32_t ranks, const char *faults, const struct seen *seen,
                  uint64_t deaths)
{
    double depth = tree_depth(ranks);
    bool all = seen->entered == ranks - deaths && seen->crashes == deaths;
    bool quick = steps(seen->first_ns, seen->last_ns) <= depth + 2 &&
                 steps(seen->first_ns, seen->settled_ns) <= 5 * depth + 4;
    bool cheap = seen->messages <= (uint64_t)MESSAGES_PER_MEMBER * ranks;
    bool good = all && (deaths > 1 || (quick && cheap));
    if (!good) {
        printf("FAILED %" PRIu32 " ranks, %s: %" PRIu64 " died, %" PRIu32
               " entered view %" PRIu64 ", after %.1f steps, settled after %.1f, by "
               "%.1f messages a rank\n",
               ranks, faults, seen->crashes, seen->entered, seen->epoch,
               steps(seen->first_ns, seen->last_ns),
               steps(seen->first_ns, seen->settled_ns), (double)seen->messages / ranks);
    }
    return good;
}

static uint32_t an_elector(uint32_t ranks)
{
    struct rankset members = {0}, electors = {0};
    uint32_t *machines = calloc(ranks, sizeof(*machines));
    for (uint32_t rank = 0; rank < ranks; rank++) {
        if (machines == NULL || !rankset_add(&members, rank)) {
            abort();
        }
    }
    if (!electorate_of(&members, machines, 64, &electors)) {
        abort();
    }
    uint32_t elector = rankset_next(&electors, 1);
    rankset_release(&members);
    rankset_release(&electors);
    free(machines);
    return elector;
}

static void print_row(uint32_t ranks, const char *faults, const struct seen *seen,
                      double seconds)
{
    printf("| %" PRIu32 " | %s | %.1f | %.1f | %.1f | %.1f | %.0f |\n", ranks, faults,
           (double)(seen->first_ns - seen->crash_ns) / 1e6,
           steps(seen->first_ns, seen->last_ns),
           steps(seen->first_ns, seen->settled_ns), (double)seen->messages / ranks,
           seconds);
    fflush(stdout);
}

static bool run_size(uint32_t ranks, bool table)
{
    char plans[5][64];
    (void)snprintf(plans[0], sizeof(plans[0]), "kill:r%" PRIu32 "@100us", ranks - 1);
    (void)snprintf(plans[1], sizeof(plans[1]), "kill:r1@100us");
    (void)snprintf(plans[2], sizeof(plans[2]), "kill:r0@100us");
    (void)snprintf(plans[3], sizeof(plans[3]), "kill:r%" PRIu32 "@100us",
                   an_elector(ranks));
    (void)snprintf(plans[4], sizeof(plans[4]),
                   "kill:r%" PRIu32 "@100us,kill:r1@view.enter", ranks - 1);
    bool good = true;
    for (int i = 0; i < (table ? 2 : 5); i++) {
        struct seen seen;
        clock_t start = clock();
        bool ran = run(ranks, plans[i], &seen);
        good &= ran && check(ranks, plans[i], &seen, i == 4 ? 2 : 1);
        if (table) {
            print_row(ranks, plans[i], &seen,
                      (double)(clock() - start) / CLOCKS_PER_SEC);
        }
    }
    return good;
}

int main(int argc, char **argv)
{
    bool table = argc == 2 && strcmp(argv[1], "--table") == 0;
    static const uint32_t quick[] = {80, 200, 512}, large[] = {512, 1000, 4096};
    uint32_t passed = 0;
    if (!hashing_init() || (argc > 1 && !table)) {
        return 2;
    }
    if (table) {
        printf("| ranks | death | ms to the first entry | steps to the last | steps "
               "until all settled | messages per rank | seconds |\n"
               "|---|---|---|---|---|---|---|\n");
    }
    for (int i = 0; i < 3; i++) {
        passed += run_size(table ? large[i] : quick[i], table);
    }
    printf("%" PRIu32 " passed, %" PRIu32 " failed\n", passed, 3 - passed);
    return passed == 3 ? 0 : 1;
}
