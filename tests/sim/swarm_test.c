/* swarm_test.c - many random diverging programs on many virtual networks.
 *
 *   swarm_test                        the quick set of `make check`
 *   swarm_test --whole                with all of its seeds: six times as many
 *   swarm_test --ranks 4 --seed 17    one run again; a failure prints this line
 *   swarm_test --ranks 4 --seeds 1..5000 [--tasks 60] [--agree] [--features MASK]
 *
 * --tasks 0 draws 50 to 500.  --features takes a mask of enum program_feature: leaving
 * bits out makes a failing program smaller.  --calm lets no rank ask before a second
 * has passed: agreeing programs that wait alike must be over by then, with nothing but
 * pushes.  --direct-max 1 runs the tree, the census and the gossip in turns of large
 * moots.  --snapshots has programs ask for snapshots of what disks hold, and --reloads
 * go back to them (in a storm without a fault, whose checks know of that).
 * --arrays makes some of the tasks arrays.
 * --verbose prints the program and every sight.  --canary NAME breaks the
 * harness on purpose.  Every seed runs once, and one in 32 twice, to see that the
 * digest is the same.
 */
#include "consensus/sim/runs/swarm.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct batch {
    struct swarm_job job;
    uint64_t seed_first, seed_last;
    bool verbose;
};

struct tally {
    uint64_t passed, failed;
};

static void print_counts(const struct sim_report *report)
{
    printf("%.3f ms, %" PRIu64 " events;", (double)report->end_ns / 1e6,
           report->counts.events);
    for (int i = 0; i < MESSAGE_TYPE_END; i++) {
        if (report->counts.sent[i] != 0) {
            printf(" %s %" PRIu64, message_type_name((enum message_type)i),
                   report->counts.sent[i]);
        }
    }
    for (int i = 0; i < EVIDENCE_END; i++) {
        if (report->counts.yields[i] != 0) {
            printf(" %s-votes %" PRIu64, evidence_name((enum evidence)i),
                   report->counts.yields[i]);
        }
    }
    printf("\n");
}

static void run_seed(const struct batch *batch, uint64_t seed, struct tally *tally)
{
    struct sim_report report, again;
    bool good = swarm_run(&batch->job, seed, batch->verbose ? stdout : NULL, &report);
    if (good && seed % 32 == 0) {
        good = swarm_run(&batch->job, seed, NULL, &again);
        free(again.dump);
        if (memcmp(report.digest, again.digest, sizeof(report.digest)) != 0) {
            good = false;
            (void)snprintf(report.check, sizeof(report.check), "digest");
            (void)snprintf(report.why, sizeof(report.why), "a second run differs");
        }
    }
    if (batch->verbose) {
        print_counts(&report);
    }
    tally->passed += good;
    tally->failed += !good;
    if (!good) {
        printf("FAILED %s: %s\n%s  replay: ", report.check, report.why,
               report.dump != NULL ? report.dump : "");
        swarm_print_replay(&batch->job, seed, stdout);
    }
    free(report.dump);
}

static void run_batch(const struct batch *batch, struct tally *tally)
{
    for (uint64_t seed = batch->seed_first; seed <= batch->seed_last; seed++) {
        run_seed(batch, seed, tally);
    }
}

/* --- Canaries --------------------------------------------------------------------- */

/* Each fault of the harness must be seen, by the check that is there for it, in some of
 * many seeds (a seed may have nothing that the fault could touch). */
static void run_canaries(struct tally *tally)
{
    for (int canary = 1; canary < SIM_CANARY_FALSE_VERDICT; canary++) {
        const char *wanted = sim_canary_check((enum sim_canary)canary);
        bool agree =
            strcmp(wanted, "no votes") == 0 || strcmp(wanted, "one result") == 0;
        bool caught = false;
        for (uint64_t seed = 1; seed <= 1000 && !caught; seed++) {
            struct swarm_job job = {.ranks = 4,
                                    .tasks = 40,
                                    .agree = agree,
                                    .canary = (enum sim_canary)canary};
            struct sim_report report;
            caught = !swarm_run(&job, seed, NULL, &report) &&
                     strcmp(report.check, wanted) == 0;
            free(report.dump);
        }
        if (!caught) {
            printf("FAILED canary %s: the check \"%s\" does not see it\n",
                   sim_canary_name((enum sim_canary)canary), wanted);
        }
        tally->passed += caught;
        tally->failed += !caught;
    }
}

#define RELOADS .storm = true, .calm = true, .snapshots = true, .reloads = true

/* Each on 1 to 8 ranks, seeds 1..seeds; of `make check` the first third of these. */
static const struct {
    struct swarm_job job;
    uint32_t seeds;
} quick_set[] = {
    {{.tasks = 12}, 1000},
    {{.tasks = 60}, 250},
    {{.tasks = 0}, 25},
    {{.tasks = 60, .features = PROGRAM_PLAIN}, 100},
    {{.tasks = 60, .agree = true}, 100},
    {{.tasks = 60, .agree = true, .calm = true}, 60},
    {{.tasks = 0, .agree = true}, 10},
    {{.tasks = 60, .drops = true}, 60},
    {{.tasks = 120, .drops = true, .agree = true}, 25},
    {{.tasks = 60, .presses = true}, 60},
    {{.tasks = 120, .presses = true, .agree = true}, 25},
    {{.tasks = 60, .lots = true}, 100},
    {{.tasks = 12, .sparing = true}, 400},
    {{.tasks = 60, .sparing = true}, 100},
    {{.tasks = 60, .sparing = true, .agree = true}, 60},
    {{.tasks = 40, .sparing = true, .cancels = true}, 40},
    {{.tasks = 40, .narrow = true, .sparing = true}, 100},
    {{.tasks = 60, .narrow = true, .agree = true}, 60},
    {{.tasks = 12, .mode = CORE_STRICT}, 300},
    {{.tasks = 40, .mode = CORE_STRICT}, 150},
    {{.tasks = 30, .mode = CORE_STRICT, .agree = true}, 60},
    {{.tasks = 30, .mode = CORE_STRICT, .direct_max = 1}, 60},
    {{.tasks = 40, .mode = CORE_TRUST, .agree = true}, 60},
    {{.tasks = 12, .cancels = true}, 400},
    {{.tasks = 60, .cancels = true}, 100},
    {{.tasks = 40, .cancels = true, .drops = true}, 40},
    {{.tasks = 12, .parks = true}, 250},
    {{.tasks = 30, .parks = true, .mode = CORE_STRICT}, 100},
    {{.tasks = 20, .signs = true}, 150},
    {{.tasks = 40, .signs = true, .agree = true}, 40},
    {{.tasks = 20, .signs = true, .direct_max = 1}, 60},
    {{.tasks = 20, .snapshots = true}, 100},
    {{.tasks = 30, .snapshots = true, .drops = true}, 30},
    {{.tasks = 20, .snapshots = true, .direct_max = 1}, 40},
    {{.tasks = 20, RELOADS}, 40},
    {{.tasks = 20, RELOADS, .agree = true}, 20},
    {{.tasks = 20, RELOADS, .mode = CORE_STRICT, .agree = true}, 20},
    {{.tasks = 20, RELOADS, .direct_max = 1}, 20},
    {{.tasks = 20, .arrays = true}, 200},
    {{.tasks = 40, .arrays = true, .drops = true}, 40},
    {{.tasks = 40, .arrays = true, .agree = true}, 40},
    {{.tasks = 20, .arrays = true, .direct_max = 1}, 60},
    {{.tasks = 20, .arrays = true, .mode = CORE_STRICT}, 60},
    {{.tasks = 20, .arrays = true, .cancels = true}, 100},
    {{.tasks = 20, .arrays = true, .cancels = true, .direct_max = 1}, 30},
    {{.tasks = 20, .arrays = true, .cancels = true, .mode = CORE_STRICT}, 30},
    {{.tasks = 12, .direct_max = 1}, 250},
    {{.tasks = 60, .direct_max = 1}, 60},
    {{.tasks = 60, .direct_max = 1, .agree = true}, 25},
};

static void run_quick_set(bool whole, struct tally *tally)
{
    run_canaries(tally);
    for (size_t i = 0; i < sizeof(quick_set) / sizeof(quick_set[0]); i++) {
        for (uint32_t ranks = 1; ranks <= 8; ranks++) {
            struct batch batch = {
                .job = quick_set[i].job,
                .seed_first = 1,
                .seed_last = whole ? quick_set[i].seeds : (quick_set[i].seeds + 5) / 6,
            };
            batch.job.ranks = ranks;
            run_batch(&batch, tally);
        }
    }
}

/* --- Arguments -------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t max, uint64_t *out, char **end)
{
    *out = strtoull(text, end, 0);
    return *end != text && *out <= max;
}

static bool parse_seeds(const char *text, struct batch *batch)
{
    char *end;
    if (!parse_number(text, UINT64_MAX, &batch->seed_first, &end)) {
        return false;
    }
    batch->seed_last = batch->seed_first;
    if (strncmp(end, "..", 2) == 0 &&
        !parse_number(end + 2, UINT64_MAX, &batch->seed_last, &end)) {
        return false;
    }
    return *end == '\0' && batch->seed_last >= batch->seed_first;
}

static bool parse_canary(const char *text, struct swarm_job *job)
{
    for (int canary = 1; canary < SIM_CANARY_END; canary++) {
        if (strcmp(text, sim_canary_name((enum sim_canary)canary)) == 0) {
            job->canary = (enum sim_canary)canary;
            return true;
        }
    }
    return false;
}

static bool parse_count(const char *text, uint64_t max, uint32_t *out)
{
    char *end;
    uint64_t number;
    if (!parse_number(text, max, &number, &end) || *end != '\0') {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

static bool parse(int count, char **words, struct batch *batch)
{
    struct swarm_job *job = &batch->job;
    for (int i = 1; i < count; i++) {
        const char *word = words[i];
        const char *value = i + 1 < count ? words[i + 1] : "";
        bool good = false, flag = false;
        if (strcmp(word, "--agree") == 0) {
            good = flag = job->agree = true;
        } else if (strcmp(word, "--drops") == 0) {
            good = flag = job->drops = true;
        } else if (strcmp(word, "--presses") == 0) {
            good = flag = job->presses = true;
        } else if (strcmp(word, "--lots") == 0) {
            good = flag = job->lots = true;
        } else if (strcmp(word, "--sparing") == 0) {
            good = flag = job->sparing = true;
        } else if (strcmp(word, "--strict") == 0) {
            job->mode = CORE_STRICT;
            good = flag = true;
        } else if (strcmp(word, "--trust") == 0) {
            job->mode = CORE_TRUST;
            good = flag = true;
        } else if (strcmp(word, "--narrow") == 0) {
            good = flag = job->narrow = true;
        } else if (strcmp(word, "--cancels") == 0) {
            good = flag = job->cancels = true;
        } else if (strcmp(word, "--parks") == 0) {
            good = flag = job->parks = true;
        } else if (strcmp(word, "--arrays") == 0) {
            good = flag = job->arrays = true;
        } else if (strcmp(word, "--signs") == 0) {
            good = flag = job->signs = true;
        } else if (strcmp(word, "--snapshots") == 0) {
            good = flag = job->snapshots = true;
        } else if (strcmp(word, "--reloads") == 0) {
            job->storm = job->calm = job->snapshots = true;
            good = flag = job->reloads = true;
        } else if (strcmp(word, "--calm") == 0) {
            good = flag = job->calm = true;
        } else if (strcmp(word, "--direct-max") == 0) {
            good = parse_count(value, 64, &job->direct_max);
        } else if (strcmp(word, "--verbose") == 0) {
            good = flag = batch->verbose = true;
        } else if (strcmp(word, "--ranks") == 0) {
            good = parse_count(value, PROGRAM_RANKS_MAX, &job->ranks) && job->ranks > 0;
        } else if (strcmp(word, "--tasks") == 0) {
            good = parse_count(value, 100000, &job->tasks);
        } else if (strcmp(word, "--features") == 0) {
            good = parse_count(value, PROGRAM_ALL, &job->features);
        } else if (strcmp(word, "--seed") == 0 || strcmp(word, "--seeds") == 0) {
            good = parse_seeds(value, batch);
        } else if (strcmp(word, "--canary") == 0) {
            good = parse_canary(value, job);
        }
        if (!good) {
            fprintf(stderr, "swarm_test: cannot use \"%s %s\"\n", word, value);
            return false;
        }
        i += flag ? 0 : 1;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    struct batch batch = {.job = {.ranks = 4}, .seed_first = 1, .seed_last = 1};
    bool whole = argc == 2 && strcmp(argv[1], "--whole") == 0;
    if (!whole && !parse(argc, argv, &batch)) {
        return 2;
    }
    if (argc == 1 || whole) {
        run_quick_set(whole, &tally);
    } else {
        run_batch(&batch, &tally);
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", tally.passed, tally.failed);
    return tally.failed == 0 ? 0 : 1;
}
