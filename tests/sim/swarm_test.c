/* swarm_test.c - many random diverging programs on many virtual networks.
 *
 *   swarm_test                        the quick set of `make check`
 *   swarm_test --ranks 4 --seed 17    one run again; a failure prints this line
 *   swarm_test --ranks 4 --seeds 1..5000 [--tasks 60] [--agree] [--features MASK]
 *
 * --tasks 0 draws 50 to 500.  --features takes a mask of enum program_feature: leaving
 * bits out makes a failing program smaller.  --calm lets no rank ask before a second
 * has passed: agreeing programs that wait alike must be over by then, with nothing but
 * pushes.  --verbose prints the program and every sight.  --canary NAME breaks the
 * harness on purpose.  Every seed runs once, and one in 64 twice, to see that the
 * digest is the same.
 */
#include "consensus/mutant.h"
#include "consensus/sim/checker.h"
#include "consensus/sim/narrator.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef MOOT_MUTANTS
enum mutant mutant_on;
#endif

#define CALM_ASK_NS UINT64_C(1000000000)

struct job {
    uint32_t ranks, tasks, features;
    uint64_t seed_first, seed_last;
    bool agree, calm, verbose;
    enum sim_canary canary;
};

struct tally {
    uint64_t passed, failed;
};

static struct program *make_program(const struct job *job, uint64_t seed)
{
    return program_new(&(struct program_options){.seed = seed,
                                                 .ranks = job->ranks,
                                                 .tasks = job->tasks,
                                                 .features = job->features,
                                                 .agree = job->agree});
}

static bool is_calm(const struct job *job, const struct program *program)
{
    return job->calm && program->waits_alike;
}

/* Nobody had to ask: every result that anybody needed was pushed.  (Once tasks are
 * told to their chair, pushed or not.) */
static bool check_calm(const struct program *program, struct sim_report *report)
{
    bool told = false;
    for (uint32_t i = 0; i < program->task_count; i++)
        told |= program->tasks[i].once;
    if (report->end_ns < CALM_ASK_NS &&
        (told || report->counts.sent[MESSAGE_MOTION] == 0))
        return true;
    report->failed = true;
    (void)snprintf(report->check, sizeof report->check, "critical path");
    (void)snprintf(report->why, sizeof report->why, "it takes a motion to go on");
    return false;
}

static bool run(const struct job *job, uint64_t seed, struct sim_report *report)
{
    struct program *program = make_program(job, seed);
    if (program == NULL)
        abort();
    struct narrator *narrator = NULL;
    struct sim_watcher watcher;
    struct sim_options options = {
        .program = program, .seed = seed, .canary = job->canary};
    if (job->verbose) {
        program_print(program, stdout);
        narrator = narrator_new(program, stdout, NARRATOR_EVERYTHING);
        watcher = narrator_watcher(narrator);
        options.watchers = &watcher;
        options.watcher_count = 1;
        options.notes = true;
    }
    struct sim_weather weather;
    if (is_calm(job, program)) {
        sim_weather_draw(seed, job->ranks, &weather);
        weather.ask_delay_ns = CALM_ASK_NS;
        options.weather = &weather;
    }
    bool good = checker_run(&options, report) &&
                (!is_calm(job, program) || check_calm(program, report));
    narrator_free(narrator);
    program_free(program);
    return good;
}

static void print_replay(const struct job *job, uint64_t seed)
{
    printf("swarm_test --ranks %" PRIu32 " --seed %" PRIu64 " --tasks %" PRIu32,
           job->ranks, seed, job->tasks);
    if (job->features != 0)
        printf(" --features %" PRIu32, job->features);
    if (job->agree)
        printf(" --agree");
    if (job->calm)
        printf(" --calm");
    if (job->canary != SIM_CANARY_NONE)
        printf(" --canary %s", sim_canary_name(job->canary));
    printf("\n");
}

static void print_counts(const struct sim_report *report)
{
    printf("%.3f ms, %" PRIu64 " events;", (double)report->end_ns / 1e6,
           report->counts.events);
    for (int i = 0; i < MESSAGE_TYPE_END; i++)
        if (report->counts.sent[i] != 0)
            printf(" %s %" PRIu64, message_type_name((enum message_type)i),
                   report->counts.sent[i]);
    for (int i = 0; i < EVIDENCE_END; i++)
        if (report->counts.yields[i] != 0)
            printf(" %s-votes %" PRIu64, evidence_name((enum evidence)i),
                   report->counts.yields[i]);
    printf("\n");
}

static void run_seed(const struct job *job, uint64_t seed, struct tally *tally)
{
    struct sim_report report, again;
    bool good = run(job, seed, &report);
    if (good && seed % 64 == 0) {
        good = run(job, seed, &again);
        free(again.dump);
        if (memcmp(report.digest, again.digest, sizeof report.digest) != 0) {
            good = false;
            (void)snprintf(report.check, sizeof report.check, "digest");
            (void)snprintf(report.why, sizeof report.why, "a second run differs");
        }
    }
    if (job->verbose)
        print_counts(&report);
    if (good) {
        tally->passed++;
    } else {
        tally->failed++;
        printf("FAILED %s: %s\n%s  replay: ", report.check, report.why,
               report.dump != NULL ? report.dump : "");
        print_replay(job, seed);
    }
    free(report.dump);
}

static void run_job(const struct job *job, struct tally *tally)
{
    for (uint64_t seed = job->seed_first; seed <= job->seed_last; seed++)
        run_seed(job, seed, tally);
}

/* --- Canaries --------------------------------------------------------------------- */

/* Each fault of the harness must be seen, by the check that is there for it, in some of
 * a few seeds (a seed may have nothing that the fault could touch). */
static void run_canaries(struct tally *tally)
{
    for (int canary = 1; canary < SIM_CANARY_END; canary++) {
        const char *wanted = sim_canary_check((enum sim_canary)canary);
        bool agree =
            strcmp(wanted, "no votes") == 0 || strcmp(wanted, "one result") == 0;
        bool caught = false;
        for (uint64_t seed = 1; seed <= 40 && !caught; seed++) {
            struct job job = {
                .ranks = 4, .tasks = 40, .agree = agree, .canary = canary};
            struct sim_report report;
            caught = !run(&job, seed, &report) && strcmp(report.check, wanted) == 0;
            free(report.dump);
        }
        if (!caught)
            printf("FAILED canary %s: the check \"%s\" does not see it\n",
                   sim_canary_name((enum sim_canary)canary), wanted);
        tally->passed += caught;
        tally->failed += !caught;
    }
}

static void run_quick_set(struct tally *tally)
{
    run_canaries(tally);
    for (uint32_t ranks = 1; ranks <= 8; ranks++) {
        run_job(
            &(struct job){
                .ranks = ranks, .tasks = 12, .seed_first = 1, .seed_last = 300},
            tally);
        run_job(
            &(struct job){
                .ranks = ranks, .tasks = 60, .seed_first = 1001, .seed_last = 1100},
            tally);
        run_job(
            &(struct job){
                .ranks = ranks, .tasks = 0, .seed_first = 2001, .seed_last = 2010},
            tally);
        run_job(&(struct job){.ranks = ranks,
                              .tasks = 60,
                              .agree = true,
                              .seed_first = 1,
                              .seed_last = 50},
                tally);
    }
}

/* --- Mutants ---------------------------------------------------------------------- */

#ifdef MOOT_MUTANTS

/* What a mutant's process tells: where it is, and what saw the mutant. */
struct hunt {
    struct job job;
    uint64_t seed;
    char check[32];
};

static const struct job hunting_grounds[] = {
    {.ranks = 2, .tasks = 12},
    {.ranks = 4, .tasks = 12},
    {.ranks = 3, .tasks = 40, .agree = true},
    {.ranks = 4,
     .tasks = 40,
     .features = PROGRAM_ALL & ~PROGRAM_ONCE,
     .agree = true,
     .calm = true},
    {.ranks = 3, .tasks = 12, .features = PROGRAM_ALL & ~PROGRAM_GHOSTS},
    {.ranks = 4, .tasks = 30, .features = PROGRAM_PLAIN},
    {.ranks = 8, .tasks = 60},
};
enum { HUNTING_GROUNDS = sizeof hunting_grounds / sizeof hunting_grounds[0] };

/* Breaks the rule and runs until a check fails; the core's own assertions may end the
 * process before. */
static void hunt(enum mutant mutant, struct hunt *hunt)
{
    mutant_on = mutant;
    for (uint64_t seed = 1; seed <= 500; seed++)
        for (int i = 0; i < HUNTING_GROUNDS; i++) {
            struct sim_report report;
            hunt->job = hunting_grounds[i];
            hunt->seed = seed;
            bool good = run(&hunt->job, seed, &report);
            free(report.dump);
            if (!good) {
                memcpy(hunt->check, report.check, sizeof hunt->check);
                _exit(1);
            }
        }
    _exit(0);
}

static bool run_mutant(enum mutant mutant, const char *name)
{
    struct hunt *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        hunt(mutant, shared);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    bool killed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    printf("%s %s", killed ? "killed  " : "SURVIVES", name);
    if (killed) {
        printf(" by %s: ", WIFEXITED(status) ? shared->check : "an assertion");
        print_replay(&shared->job, shared->seed);
    } else {
        printf("\n");
    }
    munmap(shared, sizeof *shared);
    return killed;
}

static bool run_mutants(struct tally *tally)
{
    static const char *const names[] = {"NONE",
#define X(name, text) #name,
                                        MUTANTS(X)
#undef X
    };
    for (int mutant = 1; mutant < MUTANT_END; mutant++) {
        bool killed = run_mutant((enum mutant)mutant, names[mutant]);
        tally->passed += killed;
        tally->failed += !killed;
    }
    return true;
}

#else

static bool run_mutants(struct tally *tally)
{
    (void)tally;
    fprintf(stderr, "swarm_test: built without -DMOOT_MUTANTS\n");
    return false;
}

#endif

/* --- Arguments -------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t max, uint64_t *out, char **end)
{
    *out = strtoull(text, end, 0);
    return *end != text && *out <= max;
}

static bool parse_seeds(const char *text, struct job *job)
{
    char *end;
    if (!parse_number(text, UINT64_MAX, &job->seed_first, &end))
        return false;
    job->seed_last = job->seed_first;
    if (strncmp(end, "..", 2) == 0 &&
        !parse_number(end + 2, UINT64_MAX, &job->seed_last, &end))
        return false;
    return *end == '\0' && job->seed_last >= job->seed_first;
}

static bool parse_canary(const char *text, struct job *job)
{
    for (int canary = 1; canary < SIM_CANARY_END; canary++)
        if (strcmp(text, sim_canary_name((enum sim_canary)canary)) == 0) {
            job->canary = (enum sim_canary)canary;
            return true;
        }
    return false;
}

static bool parse_count(const char *text, uint64_t max, uint32_t *out)
{
    char *end;
    uint64_t number;
    if (!parse_number(text, max, &number, &end) || *end != '\0')
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool parse(int count, char **words, struct job *job)
{
    for (int i = 1; i < count; i++) {
        const char *word = words[i];
        const char *value = i + 1 < count ? words[i + 1] : "";
        bool good = false, flag = false;
        if (strcmp(word, "--agree") == 0)
            good = flag = job->agree = true;
        else if (strcmp(word, "--calm") == 0)
            good = flag = job->calm = true;
        else if (strcmp(word, "--verbose") == 0)
            good = flag = job->verbose = true;
        else if (strcmp(word, "--ranks") == 0)
            good = parse_count(value, PROGRAM_RANKS_MAX, &job->ranks) && job->ranks > 0;
        else if (strcmp(word, "--tasks") == 0)
            good = parse_count(value, 100000, &job->tasks);
        else if (strcmp(word, "--features") == 0)
            good = parse_count(value, PROGRAM_ALL, &job->features);
        else if (strcmp(word, "--seed") == 0 || strcmp(word, "--seeds") == 0)
            good = parse_seeds(value, job);
        else if (strcmp(word, "--canary") == 0)
            good = parse_canary(value, job);
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
    struct job job = {.ranks = 4, .tasks = 0, .seed_first = 1, .seed_last = 1};
    if (argc == 2 && strcmp(argv[1], "--mutants") == 0) {
        if (!run_mutants(&tally))
            return 2;
    } else if (!parse(argc, argv, &job)) {
        return 2;
    } else if (argc == 1) {
        run_quick_set(&tally);
    } else {
        run_job(&job, &tally);
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", tally.passed, tally.failed);
    return tally.failed == 0 ? 0 : 1;
}
