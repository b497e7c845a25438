/* mutants.c - breaks the core's rules one by one; some check must see each.
 *
 * Built with -DMOOT_MUTANTS, together with a core that is too (consensus/mutant.h).  A
 * mutant is killed when a check fails on a random program, when a scene's transcript
 * changes, or when an assertion of the core ends the process; each hunts in a process
 * of its own.  Prints what killed each, with the line that shows it again, and "N
 * passed, N failed": a survivor is a failure.
 */
#include "consensus/mutant.h"
#include "consensus/sim/scenes.h"
#include "consensus/sim/swarm.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEEDS = 400 };

enum mutant mutant_on;

/* What a mutant's process tells: where it is, and what saw the mutant. */
struct hunt {
    struct swarm_job job;
    uint64_t seed;
    const char
        *scene; /* NULL: in the swarm; static text, the same in parent and child */
    char check[32];
};

static const struct swarm_job grounds[] = {
    {.ranks = 2, .tasks = 12},
    {.ranks = 4, .tasks = 12},
    {.ranks = 3, .tasks = 12, .features = PROGRAM_ALL & ~PROGRAM_GHOSTS},
    {.ranks = 3, .tasks = 40, .agree = true},
    {.ranks = 4,
     .tasks = 40,
     .features = PROGRAM_ALL & ~PROGRAM_ONCE,
     .agree = true,
     .calm = true},
    {.ranks = 4, .tasks = 30, .features = PROGRAM_PLAIN},
    {.ranks = 8, .tasks = 60, .features = PROGRAM_PLAIN},
    {.ranks = 8, .tasks = 60},
};
enum { GROUNDS = sizeof grounds / sizeof grounds[0] };

/* Where the rules about views are hunted: nothing else knows that they are broken. */
static const struct swarm_job storms[] = {
    {.ranks = 3, .tasks = 12, .storm = true},
    {.ranks = 4, .tasks = 20, .storm = true},
    {.ranks = 5, .tasks = 12, .storm = true},
    {.ranks = 6, .tasks = 30, .storm = true},
    {.ranks = 4, .tasks = 20, .storm = true, .newcomers = 1},
    {.ranks = 8, .tasks = 20, .storm = true},
};
enum { STORMS = sizeof storms / sizeof storms[0], STORM_SEEDS = 2000 };

static bool is_about_views(enum mutant mutant) { return mutant >= MUTANT_STALEDEC; }

/* A scene's transcript; the caller frees it. */
static char *tell(size_t scene)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    struct sim_report report;
    if (to == NULL)
        abort();
    (void)scene_tell(scene, to, &report);
    free(report.dump);
    fclose(to);
    return text;
}

static void hunt_in_scenes(enum mutant mutant, struct hunt *hunt)
{
    for (size_t i = 0; i < scene_count(); i++) {
        mutant_on = MUTANT_NONE;
        char *before = tell(i);
        hunt->scene = scene_name(i);
        mutant_on = mutant;
        char *after = tell(i);
        bool same = strcmp(before, after) == 0;
        free(before);
        free(after);
        if (!same) {
            (void)snprintf(hunt->check, sizeof hunt->check, "transcript");
            _exit(1);
        }
    }
}

static void hunt_in_swarm(enum mutant mutant, struct hunt *hunt)
{
    mutant_on = mutant;
    bool views = is_about_views(mutant);
    for (uint64_t seed = 1; seed <= (views ? STORM_SEEDS : SEEDS); seed++)
        for (int i = 0; i < (views ? (int)STORMS : (int)GROUNDS); i++) {
            struct sim_report report;
            hunt->job = views ? storms[i] : grounds[i];
            hunt->seed = seed;
            bool good = swarm_run(&hunt->job, seed, NULL, &report);
            free(report.dump);
            if (!good) {
                memcpy(hunt->check, report.check, sizeof hunt->check);
                _exit(1);
            }
        }
}

static bool run_mutant(enum mutant mutant, const char *name)
{
    struct hunt *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        hunt_in_swarm(mutant, shared);
        hunt_in_scenes(mutant, shared);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    bool killed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    const char *check = WIFEXITED(status) ? shared->check : "an assertion";
    if (!killed)
        printf("%s SURVIVES\n", name);
    else if (shared->scene != NULL)
        printf("%s killed by %s: transcript_test %s\n", name, check, shared->scene);
    else
        printf("%s killed by %s: ", name, check);
    if (killed && shared->scene == NULL)
        swarm_print_replay(&shared->job, shared->seed, stdout);
    munmap(shared, sizeof *shared);
    return killed;
}

/* mutants [NAME...]: all of them, or those named. */
int main(int argc, char **argv)
{
    static const char *const names[] = {"NONE",
#define X(name, text) #name,
                                        MUTANTS(X)
#undef X
    };
    uint32_t passed = 0, failed = 0;
    for (int mutant = 1; mutant < MUTANT_END; mutant++) {
        bool named = argc == 1;
        for (int i = 1; i < argc; i++)
            named |= strcmp(argv[i], names[mutant]) == 0;
        if (!named)
            continue;
        bool killed = run_mutant((enum mutant)mutant, names[mutant]);
        passed += killed;
        failed += !killed;
    }
    printf("%" PRIu32 " passed, %" PRIu32 " failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
