/* trace_test.c - runs of the real core, read as behaviours of the models.
 *
 * The SPIN models of tests/model say what a rank may do, and were searched to the end;
 * the core is another text.  This test ties the two: it watches simulator runs from
 * outside, one message at a time, keeps the models' own variables (trace_state.h), and
 * takes every step that a rank is seen to make for a transition of pure.pml, once.pml
 * or yield.pml (trace_watch.h, trace_rules.h, trace_views.h).  A step whose guard does
 * not hold in the model is rejected, and the run fails under the check "model".
 * tests/model/README.md maps each named transition to its function, and lists what no
 * model has and is passed over here: candidates, QUIET, the view layer's votes, leases.
 *
 *   trace_test                         the quick set of `make check`
 *   trace_test --storm --ranks 4 --seeds 1..500 [--tasks 20] [--newcomers 1] [--agree]
 *   trace_test --mutants [NAME...]     built with -DMOOT_MUTANTS: what each breaks
 *
 * The quick set fails, too, if some transition was never seen.
 */
#include "consensus/mutant.h"
#include "consensus/sim/runs/swarm.h"
#include "tests/mutant_names.h"
#include "tests/sim/trace_watch.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef MOOT_MUTANTS
enum mutant mutant_on;
#endif

/* --- Runs ------------------------------------------------------------------------ */

struct tally {
    uint64_t passed, failed, counts[RULE_END];
};

static void print_replay(const struct swarm_job *job, uint64_t seed)
{
    printf("  replay: trace_test --ranks %" PRIu32 " --seed %" PRIu64
           " --tasks %" PRIu32 "%s%s --newcomers %" PRIu32 "\n",
           job->ranks, seed, job->tasks, job->storm ? " --storm" : "",
           job->agree ? " --agree" : "", job->newcomers);
}

/* True if the models accept the run.  What the checkers find is their business. */
static bool run_seed(const struct swarm_job *asked, uint64_t seed, struct tally *tally,
                     bool verbose)
{
    struct trace *trace = trace_alloc(1, sizeof(*trace));
    struct sim_watcher watcher = {trace_see, trace};
    struct swarm_job job = *asked;
    struct sim_report report;
    if (job.features == 0) {
        job.features = PROGRAM_ALL & ~PROGRAM_SCOPES; /* the model has none */
    }
    job.witness = &watcher;
    (void)swarm_run(&job, seed, verbose ? stdout : NULL, &report);
    bool good = !trace->rejected;
    for (int i = 0; i < RULE_END; i++) {
        tally->counts[i] += trace->counts[i];
    }
    tally->passed += good;
    tally->failed += !good;
    if (!good) {
        printf("REJECTED %s\n", report.why);
        print_replay(&job, seed);
    }
    free(report.dump);
    close_trace(trace);
    free(trace);
    return good;
}

struct batch {
    struct swarm_job job;
    uint64_t seed_first, seed_last;
    bool verbose, summary;
};

static void run_batch(const struct batch *batch, struct tally *tally)
{
    for (uint64_t seed = batch->seed_first; seed <= batch->seed_last; seed++) {
        (void)run_seed(&batch->job, seed, tally, batch->verbose);
    }
}

/* Each on 2 to 8 ranks, seeds 1..seeds. */
static const struct {
    struct swarm_job job;
    uint32_t seeds;
} quick_set[] = {
    {{.tasks = 12}, 60},
    {{.tasks = 40}, 20},
    {{.tasks = 40, .agree = true}, 10},
    {{.tasks = 12, .storm = true}, 100},
    {{.tasks = 30, .storm = true}, 40},
    {{.tasks = 20, .storm = true, .newcomers = 1}, 40},
};

static void print_rules(const struct tally *tally)
{
    static const char *const texts[] = {
#define X(name, text) text,
        TRACE_RULES(X)
#undef X
    };
    for (int i = 0; i < RULE_END; i++) {
        printf("%12" PRIu64 "  %s\n", tally->counts[i], texts[i]);
    }
}

static void run_quick_set(struct tally *tally)
{
    for (size_t i = 0; i < sizeof(quick_set) / sizeof(quick_set[0]); i++) {
        for (uint32_t ranks = 2; ranks <= 8; ranks++) {
            struct batch batch = {.job = quick_set[i].job,
                                  .seed_first = 1,
                                  .seed_last = quick_set[i].seeds};
            batch.job.ranks = ranks;
            run_batch(&batch, tally);
        }
    }
    print_rules(tally);
    for (int i = 0; i < RULE_END; i++) {
        if (tally->counts[i] == 0) {
            printf("FAILED rule number %d was never judged\n", i);
            tally->failed++;
        }
    }
}

/* --- Mutants --------------------------------------------------------------------- */

#ifdef MOOT_MUTANTS

/* Those that the models know and that show in what a rank does, not only in when.  The
 * others break what no model here has (gossip, the ask delay, the view layer). */
static const enum mutant hunted[] = {
    MUTANT_AMNESIA,  MUTANT_BLOCKEDONLY, MUTANT_NOBALLOT,     MUTANT_SMALLQ,
    MUTANT_NOLACK,   MUTANT_STALEDEC,    MUTANT_PARTIAL,      MUTANT_NOHIST,
    MUTANT_NOCONCL,  MUTANT_NOREACC,     MUTANT_NOFREEZEDEAD, MUTANT_JOINNOWAIT,
    MUTANT_FREEDEAD, MUTANT_NOOWNREP,    MUTANT_NOBOUND,      MUTANT_PARTKEPT,
};

static const struct swarm_job grounds[] = {
    {.ranks = 4, .tasks = 12},
    {.ranks = 3, .tasks = 40, .agree = true},
    {.ranks = 4, .tasks = 20, .storm = true},
    {.ranks = 5, .tasks = 12, .storm = true},
    {.ranks = 4, .tasks = 20, .storm = true, .newcomers = 1},
};

/* A run that an assertion of the core ends says nothing about the models. */
static sigjmp_buf next_run;
static void on_assertion(int signal_number)
{
    (void)signal_number;
    siglongjmp(next_run, 1);
}

/* Exits with 1 when the models reject a run, 0 when they accept all that ends. */
static void hunt(void)
{
    static struct tally tally;
    static uint64_t seed;
    static size_t ground;
    const size_t count = sizeof(grounds) / sizeof(grounds[0]);
    (void)signal(SIGABRT, on_assertion);
    (void)freopen("/dev/null", "w", stderr);
    for (seed = 1; seed <= 400; seed++) {
        for (ground = 0; ground < count; ground++) {
            if (sigsetjmp(next_run, 1) == 0 &&
                !run_seed(&grounds[ground], seed, &tally, false)) {
                fflush(stdout);
                _exit(1);
            }
        }
    }
    _exit(0);
}

static bool is_rejected(enum mutant mutant)
{
    printf("%s: ", mutant_name(mutant));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        mutant_on = mutant;
        hunt();
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        abort();
    }
    if (WIFSIGNALED(status)) {
        printf("it ends by signal %d\n", WTERMSIG(status));
    } else if (WEXITSTATUS(status) == 0) {
        printf("ACCEPTED\n");
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static int run_mutants(int count, char **names)
{
    struct tally tally = {0};
    for (size_t i = 0; i < sizeof(hunted) / sizeof(hunted[0]); i++) {
        bool named = count == 0;
        for (int n = 0; n < count; n++) {
            named |= strcmp(names[n], mutant_name(hunted[i])) == 0;
        }
        if (!named) {
            continue;
        }
        bool rejected = is_rejected(hunted[i]);
        tally.passed += rejected;
        tally.failed += !rejected;
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", tally.passed, tally.failed);
    return tally.failed == 0 ? 0 : 1;
}

#else

static int run_mutants(int count, char **names)
{
    (void)count, (void)names;
    fprintf(stderr, "trace_test: built without -DMOOT_MUTANTS\n");
    return 2;
}

#endif

/* --- Arguments ------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t *out, char **end)
{
    *out = strtoull(text, end, 0);
    return *end != text;
}

static bool parse_seeds(const char *text, struct batch *batch)
{
    char *end;
    if (!parse_number(text, &batch->seed_first, &end)) {
        return false;
    }
    batch->seed_last = batch->seed_first;
    if (strncmp(end, "..", 2) == 0 && !parse_number(end + 2, &batch->seed_last, &end)) {
        return false;
    }
    return *end == '\0' && batch->seed_last >= batch->seed_first;
}

static bool parse_flag(const char *word, struct batch *batch)
{
    if (strcmp(word, "--storm") == 0) {
        return batch->job.storm = true;
    }
    if (strcmp(word, "--agree") == 0) {
        return batch->job.agree = true;
    }
    if (strcmp(word, "--verbose") == 0) {
        return batch->verbose = true;
    }
    if (strcmp(word, "--summary") == 0) {
        return batch->summary = true;
    }
    return false;
}

static bool parse_value(const char *word, const char *value, struct batch *batch)
{
    struct {
        const char *word;
        uint32_t *out;
        uint64_t max;
    } numbers[] = {{"--ranks", &batch->job.ranks, 16},
                   {"--tasks", &batch->job.tasks, 1000},
                   {"--newcomers", &batch->job.newcomers, 4}};
    if (strcmp(word, "--seed") == 0 || strcmp(word, "--seeds") == 0) {
        return parse_seeds(value, batch);
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char *end;
        uint64_t number;
        if (strcmp(word, numbers[i].word) != 0) {
            continue;
        }
        if (!parse_number(value, &number, &end) || *end != '\0' ||
            number > numbers[i].max) {
            return false;
        }
        *numbers[i].out = (uint32_t)number;
        return true;
    }
    return false;
}

static bool parse(int count, char **words, struct batch *batch)
{
    for (int i = 1; i < count; i++) {
        if (parse_flag(words[i], batch)) {
            continue;
        }
        if (i + 1 == count || !parse_value(words[i], words[i + 1], batch)) {
            fprintf(stderr, "trace_test: cannot use \"%s\"\n", words[i]);
            return false;
        }
        i++;
    }
    return batch->job.ranks > batch->job.newcomers;
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    struct batch batch = {
        .job = {.ranks = 4, .tasks = 20}, .seed_first = 1, .seed_last = 1};
    if (argc > 1 && strcmp(argv[1], "--mutants") == 0) {
        return run_mutants(argc - 2, argv + 2);
    }
    if (!parse(argc, argv, &batch)) {
        return 2;
    }
    if (argc == 1) {
        run_quick_set(&tally);
    } else {
        run_batch(&batch, &tally);
    }
    if (batch.summary) {
        print_rules(&tally);
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", tally.passed, tally.failed);
    return tally.failed == 0 ? 0 : 1;
}
