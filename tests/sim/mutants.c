/* mutants.c - breaks the core's rules one by one; some check must see each.
 *
 * Built with -DMOOT_MUTANTS, together with a core that is too (consensus/mutant.h).  A
 * mutant is killed when a check fails on a random program or in a random storm, when a
 * test on the bench (tests/unit/) fails, when the explorer (tests/explore/) finds an
 * order of events that goes wrong, when a scene's transcript changes, or when an
 * assertion of the core ends the process.  Each hunt is a process of its own.
 *
 * Hunts start with what is known to kill (mutant_killers.h) and go on, if that has
 * changed, with a search, which takes long: a mutant of which nothing is known there is
 * a failure.  What kills a mutant must pass without it: otherwise it is the tree that
 * is broken, and the hunt says so and fails.
 *
 *   mutants [NAME...]      all of them, or those named
 *   mutants --table ...    searches, and prints the lines for mutant_killers.h
 *   mutants --seeds N      runs so many seeds of all programs and storms, no rule
 * broken, up to one that fails: the last line repeats that (tests/faults/faults.py
 * searches so)
 *
 * Two canaries show that the hunter itself can tell: a mutant that breaks nothing must
 * survive, and a fault of the simulator's own must be caught.  Prints what killed each,
 * with the line that shows it again, and "N passed, N failed": a survivor is a failure.
 */
#include "tests/mutant_names.h"
#include "tests/sim/mutant_killers.h"

#include "consensus/sim/runs/cases.h"
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SWARM_SEEDS = 400,
    STORM_SEEDS = 1500,
    BENCH_SECONDS = 60,
    EXPLORE_SECONDS = 300
};

enum mutant mutant_on;

static char tests[4096]; /* the directory of tests that are programs */

/* What a mutant's process tells: where it is, and what saw the mutant. */
struct hunt {
    struct swarm_job job;
    uint64_t seed;
    /* NULL: in the swarm; static text, the same in parent and child. */
    const char *scene, *bench, *explored;
    char check[32];
    bool tree_is_broken; /* it fails without the mutant, too */
    bool known;          /* where its rows in mutant_killers.h say */
};

enum { SURVIVED = 0, KILLED = 1 };

/* Tests and scenes that have been run with no rule broken.  All hunts share the list:
 * each is run once. */
static struct unbroken {
    uint32_t count;
    struct {
        const char *test; /* static text */
        bool fails;
    } tests[64];
} *unbroken;

static void *share(size_t size)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        abort();
    }
    return memory;
}

/* Does it fail with no rule broken? */
static bool fails_unbroken(bool (*fails)(const char *test, enum mutant mutant),
                           const char *test)
{
    for (uint32_t i = 0; i < unbroken->count; i++) {
        if (strcmp(unbroken->tests[i].test, test) == 0) {
            return unbroken->tests[i].fails;
        }
    }
    bool it_fails = fails(test, MUTANT_NONE);
    if (unbroken->count < sizeof(unbroken->tests) / sizeof(unbroken->tests[0])) {
        unbroken->tests[unbroken->count].test = test;
        unbroken->tests[unbroken->count++].fails = it_fails;
    }
    return it_fails;
}

/* --- Where to look --------------------------------------------------------------- */

/* Does the program fail, with the rule that it breaks by $MOOT_MUTANT?  It cannot be
 * run: ends this one. */
static bool is_failing(const char *program, const char *option, const char *argument,
                       enum mutant mutant, unsigned seconds, int unusable)
{
    char path[sizeof(tests) + 64];
    (void)snprintf(path, sizeof(path), "%s/%s", tests, program);
    fflush(stdout); /* once, not by the child as well */
    pid_t child = fork();
    if (child == 0) {
        /* The first test that fails ends a program of them: cmocka would go on. */
        if (setenv("MOOT_MUTANT", mutant_name(mutant), 1) != 0 ||
            setenv("CMOCKA_TEST_ABORT", "1", 1) != 0 ||
            freopen("/dev/null", "w", stdout) == NULL ||
            freopen("/dev/null", "w", stderr) == NULL) {
            _exit(127);
        }
        /* A hunt that hangs is killed, too.  Its own seconds count: a machine may be
         * busy. */
        const struct rlimit limit = {seconds, seconds}, no_core = {0, 0};
        (void)setrlimit(RLIMIT_CPU, &limit);
        (void)setrlimit(RLIMIT_CORE, &no_core);
        execl(path, path, option, argument, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        abort();
    }
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == unusable)) {
        printf("mutants: cannot run %s %s\n", path, argument != NULL ? argument : "");
        exit(2);
    }
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* Does the bench's test fail (tests/unit/bench.h)? */
static bool bench_fails(const char *test, enum mutant mutant)
{
    char program[64];
    (void)snprintf(program, sizeof(program), "unit/%s", test);
    return is_failing(program, NULL, NULL, mutant, BENCH_SECONDS, 127);
}

/* Is the explorer's scene found to go wrong (tests/explore/)? */
static bool scene_fails(const char *scene, enum mutant mutant)
{
    return is_failing("explore/explore", "--quick", scene, mutant, EXPLORE_SECONDS, 2);
}

static void hunt_in_explored(enum mutant mutant, const char *scene, struct hunt *hunt)
{
    hunt->explored = scene;
    if (scene_fails(scene, mutant)) {
        (void)snprintf(hunt->check, sizeof(hunt->check), "the explorer");
        hunt->tree_is_broken = fails_unbroken(scene_fails, scene);
        _exit(KILLED);
    }
    hunt->explored = NULL;
}

static void hunt_on_bench(enum mutant mutant, const char *test, struct hunt *hunt)
{
    hunt->bench = test;
    if (bench_fails(test, mutant)) {
        (void)snprintf(hunt->check, sizeof(hunt->check), "the bench");
        hunt->tree_is_broken = fails_unbroken(bench_fails, test);
        _exit(KILLED);
    }
    hunt->bench = NULL;
}

static bool run_seed(enum mutant mutant, const struct swarm_job *job, uint64_t seed,
                     char check[32])
{
    struct sim_report report;
    mutant_on = mutant;
    bool good = swarm_run(job, seed, NULL, &report);
    mutant_on = MUTANT_NONE;
    free(report.dump);
    if (!good) {
        memcpy(check, report.check, sizeof(report.check));
    }
    return good;
}

static void hunt_in_seed(enum mutant mutant, const struct swarm_job *job, uint64_t seed,
                         struct hunt *hunt)
{
    char check[32];
    hunt->job = *job;
    hunt->seed = seed;
    if (run_seed(mutant, job, seed, hunt->check)) {
        return;
    }
    hunt->tree_is_broken = !run_seed(MUTANT_NONE, job, seed, check);
    _exit(KILLED);
}

/* A scene's transcript; the caller frees it. */
static char *tell(size_t scene)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    struct sim_report report;
    if (to == NULL) {
        abort();
    }
    (void)scene_tell(scene, to, &report);
    free(report.dump);
    fclose(to);
    return text;
}

/* `only`: in this scene; NULL: in all. */
static void hunt_in_scenes(enum mutant mutant, const char *only, struct hunt *hunt)
{
    for (size_t i = 0; i < scene_count(); i++) {
        if (only != NULL && strcmp(scene_name(i), only) != 0) {
            continue;
        }
        char *before = tell(i);
        hunt->scene = scene_name(i);
        mutant_on = mutant;
        char *after = tell(i);
        mutant_on = MUTANT_NONE;
        bool same = strcmp(before, after) == 0;
        free(before);
        free(after);
        if (!same) {
            (void)snprintf(hunt->check, sizeof(hunt->check), "transcript");
            _exit(KILLED);
        }
    }
    hunt->scene = NULL;
}

/* --- Hunting --------------------------------------------------------------------- */

static bool has_row(enum mutant mutant)
{
    for (size_t i = 0; i < sizeof(killers) / sizeof(killers[0]); i++) {
        if (killers[i].mutant == mutant) {
            return true;
        }
    }
    return false;
}

static void hunt_the_known(enum mutant mutant, struct hunt *hunt)
{
    hunt->known = true;
    for (size_t i = 0; i < sizeof(killers) / sizeof(killers[0]); i++) {
        const struct killer *killer = &killers[i];
        if (killer->mutant != mutant) {
            continue;
        }
        if (killer->bench != NULL) {
            hunt_on_bench(mutant, killer->bench, hunt);
        } else if (killer->explored != NULL) {
            hunt_in_explored(mutant, killer->explored, hunt);
        } else if (killer->scene != NULL) {
            hunt_in_scenes(mutant, killer->scene, hunt);
        } else {
            hunt_in_seed(mutant, &killer->job, killer->seed, hunt);
        }
    }
    hunt->known = false;
}

static void search(enum mutant mutant, struct hunt *hunt)
{
    bool views = mutant >= MUTANT_STALEDEC;
    const struct swarm_job *jobs = views ? storms : grounds;
    size_t count = views ? sizeof(storms) / sizeof(storms[0])
                         : sizeof(grounds) / sizeof(grounds[0]);
    for (uint64_t seed = 1; seed <= (views ? STORM_SEEDS : SWARM_SEEDS); seed++) {
        for (size_t i = 0; i < count; i++) {
            hunt_in_seed(mutant, &jobs[i], seed, hunt);
        }
    }
}

static void hunt_down(enum mutant mutant, bool anew, struct hunt *hunt)
{
    if (!anew) {
        hunt_the_known(mutant, hunt);
    } else {
        search(mutant, hunt);
    }
    for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++) {
        hunt_on_bench(mutant, benches[i], hunt);
    }
    hunt_in_scenes(mutant, NULL, hunt);
    if (!anew) {
        search(mutant, hunt);
    }
}

/* True if it was killed; says by what in `hunt`. */
static bool run_hunt(enum mutant mutant, bool anew, struct hunt *hunt)
{
    struct hunt *shared = share(sizeof(*shared));
    fflush(stdout); /* once, not by the child as well */
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL) { /* assertions speak */
            _exit(2);
        }
        hunt_down(mutant, anew, shared);
        _exit(SURVIVED);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        abort();
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) > KILLED) {
        exit(2); /* it has said why */
    }
    if (!WIFEXITED(status)) {
        (void)snprintf(shared->check, sizeof(shared->check), "an assertion");
    }
    *hunt = *shared;
    munmap(shared, sizeof(*shared));
    return !WIFEXITED(status) || WEXITSTATUS(status) != SURVIVED;
}

/* --- Telling --------------------------------------------------------------------- */

static void print_killer(enum mutant mutant, const struct hunt *hunt)
{
    printf("%s killed by %s: ", mutant_name(mutant), hunt->check);
    if (hunt->scene != NULL) {
        printf("transcript_test %s\n", hunt->scene);
    } else if (hunt->explored != NULL) {
        printf("MOOT_MUTANT=%s tests/explore/explore --quick %s\n", mutant_name(mutant),
               hunt->explored);
    } else if (hunt->bench != NULL) {
        printf("MOOT_MUTANT=%s tests/unit/%s\n", mutant_name(mutant), hunt->bench);
    } else {
        swarm_print_replay(&hunt->job, hunt->seed, stdout);
    }
}

static void print_row(enum mutant mutant, const struct hunt *hunt)
{
    const struct swarm_job *job = &hunt->job;
    if (hunt->scene != NULL) {
        return;
    }
    if (hunt->bench != NULL) {
        printf("    {MUTANT_%s, .bench = \"%s\"},\n", mutant_name(mutant), hunt->bench);
        return;
    }
    printf("    {MUTANT_%s, {.ranks = %" PRIu32 ", .tasks = %" PRIu32,
           mutant_name(mutant), job->ranks, job->tasks);
    if (job->features != 0) {
        printf(", .features = %" PRIu32, job->features);
    }
    printf("%s%s%s%s", job->presses ? ", .presses = true" : "",
           job->agree ? ", .agree = true" : "", job->calm ? ", .calm = true" : "",
           job->storm ? ", .storm = true" : "");
    if (job->drops) {
        printf(", .drops = true");
    }
    if (job->lots) {
        printf(", .lots = true");
    }
    if (job->sparing) {
        printf(", .sparing = true");
    }
    if (job->leaves) {
        printf(", .leaves = true");
    }
    if (job->snapshots) {
        printf(", .snapshots = true");
    }
    if (job->reloads) {
        printf(", .reloads = true");
    }
    if (job->poison) {
        printf(", .poison = true");
    }
    if (job->parks) {
        printf(", .parks = true");
    }
    if (job->signs) {
        printf(", .signs = true");
    }
    if (job->cancels) {
        printf(", .cancels = true");
    }
    if (job->newcomers != 0) {
        printf(", .newcomers = %" PRIu32, job->newcomers);
    }
    if (job->direct_max != 0) {
        printf(", .direct_max = %" PRIu32, job->direct_max);
    }
    printf("}, .seed = %" PRIu64 "},\n", hunt->seed);
}

static bool run_mutant(enum mutant mutant, bool anew)
{
    struct hunt hunt;
    if (!run_hunt(mutant, anew, &hunt)) {
        printf("%s SURVIVES\n", mutant_name(mutant));
        return false;
    }
    if (anew) {
        print_row(mutant, &hunt);
    } else {
        print_killer(mutant, &hunt);
    }
    if (!anew && !hunt.known && has_row(mutant)) {
        printf("%s is killed no more by its row in mutant_killers.h\n",
               mutant_name(mutant));
    }
    if (!anew && !has_row(mutant)) {
        printf("FAILED %s: it has no row in mutant_killers.h, and each run would "
               "search for "
               "it; `mutants --table %s` prints one\n",
               mutant_name(mutant), mutant_name(mutant));
        return false;
    }
    if (hunt.tree_is_broken) {
        printf("FAILED %s: and so it does without the mutant\n", mutant_name(mutant));
    }
    return !hunt.tree_is_broken;
}

/* --- Canaries -------------------------------------------------------------------- */

/* Whatever kills a mutant must let the unbroken core pass: a sample of it does. */
static bool the_unbroken_survives(void)
{
    struct hunt hunt;
    char check[32];
    for (size_t i = 0; i < sizeof(killers) / sizeof(killers[0]); i++) {
        const struct killer *killer = &killers[i];
        if (killer->bench == NULL && killer->explored == NULL &&
            killer->scene == NULL &&
            !run_seed(MUTANT_NONE, &killer->job, killer->seed, check)) {
            printf("FAILED canary: %s without a mutant: ", check);
            swarm_print_replay(&killer->job, killer->seed, stdout);
            return false;
        }
    }
    for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++) {
        if (fails_unbroken(bench_fails, benches[i])) {
            printf("FAILED canary: %s fails without a mutant\n", benches[i]);
            return false;
        }
    }
    (void)hunt;
    return true;
}

static bool a_broken_harness_is_caught(void)
{
    char check[32] = "";
    const struct swarm_job job = {
        .ranks = 4, .tasks = 40, .storm = true, .canary = SIM_CANARY_RUN_TWICE};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        if (!run_seed(MUTANT_NONE, &job, seed, check)) {
            return strcmp(check, sim_canary_check(SIM_CANARY_RUN_TWICE)) == 0;
        }
    }
    printf("FAILED canary: nobody sees a task that runs twice\n");
    return false;
}

/* --- For other faults --------------------------------------------------------------
 */

/* Says what it runs before it does: an assertion may end it. */
static bool says_and_passes(const struct swarm_job *job, uint64_t seed)
{
    char check[32];
    swarm_print_replay(job, seed, stdout);
    fflush(stdout);
    return run_seed(MUTANT_NONE, job, seed, check);
}

static bool all_pass(const struct swarm_job *jobs, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        if (!says_and_passes(&jobs[i], seed)) {
            return false;
        }
    }
    return true;
}

static int run_seeds(uint64_t seeds)
{
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        if (!all_pass(grounds, sizeof(grounds) / sizeof(grounds[0]), seed) ||
            !all_pass(storms, sizeof(storms) / sizeof(storms[0]), seed)) {
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        return run_seeds(strtoull(argv[2], NULL, 10));
    }
    unbroken = share(sizeof(*unbroken));
    bool anew = argc > 1 && strcmp(argv[1], "--table") == 0;
    int first = anew ? 2 : 1;
    uint32_t passed = 0, failed = 0;
    (void)snprintf(tests, sizeof(tests), "%s/..", dirname(argv[0]));
    for (int mutant = 1; mutant < MUTANT_END; mutant++) {
        bool named = argc == first;
        for (int i = first; i < argc; i++) {
            named |= strcmp(argv[i], mutant_name((enum mutant)mutant)) == 0;
        }
        if (!named) {
            continue;
        }
        bool killed = run_mutant((enum mutant)mutant, anew);
        passed += killed;
        failed += !killed;
    }
    if (argc == 1) {
        bool sound = the_unbroken_survives() && a_broken_harness_is_caught();
        passed += sound;
        failed += !sound;
    }
    printf("%" PRIu32 " passed, %" PRIu32 " failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
