/* explore.c - walks through every order of a few small scenes.
 *
 *     explore [--quick] [--states N] [--holds N] [--list] [SCENE...]
 *     explore --path 5.17.2 SCENE       plays one path, in words
 *     explore --plain [...] SCENE       likewise, and from there on nothing is late
 *
 * Prints for each scene its ranks, tasks and faults, how many states there are, how
 * many moves lead from one to another, how many states are ends, and whether that is
 * all of them.  A scene that goes wrong is told move by move, with the line that
 * repeats it; then the exit status is 1.
 *
 * The simulator draws an order of events, a million times; what takes two deaths and a
 * late message, each at one certain moment, it hardly ever draws.  The explorer draws
 * nothing.  It takes a scene of two to five ranks, made so that a rule decides in it,
 * and goes every way there is, up to a bound.  The cores are those that ship, and the
 * checks (world_told.c) know PROTOCOL.md's invariants and nothing of a core.
 *
 * The bound, of each kind of scene (world.h has the moves):
 *
 *   no holds   every order of messages, lines of programs, ends of kernels, deaths and
 *              certificates.  Time passes only where nothing else may happen.
 *   N holds    the same, where all but N things come as early as they may, and those
 *              N as late as they may.  Faults come at any moment.  Behind a fixed
 *              opening, if the scene has one.
 *   ballots    every order of the messages about views, of each rank's turns to
 *              propose and of votes that have waited, with so many losses.  A rank
 *              proposes so often as the scene says.  Nobody's suspicion changes.
 *
 * A scene that says "not all" is seen up to its number of states, those of the paths
 * that come first.  Two states with one digest of 128 bits count as one.
 *
 * Nothing here is about: more ranks than five, a message that overtakes another of its
 * sender's, clocks that differ in a lease, strict mode, scopes, many members, hosts, a
 * lack of memory.  The simulator (consensus/sim/) has those.
 *
 * Built with -DMOOT_MUTANTS, $MOOT_MUTANT names a rule to break.
 */
#include "tests/explore/search.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef MOOT_MUTANTS
#include "tests/mutant_names.h"
enum mutant mutant_on;

static void break_a_rule(void) { mutant_on = mutant_wanted(); }
#else
static void break_a_rule(void) {}
#endif

static const struct scene *playing;

/* --- One path ----------------------------------------------------------------------
 */

static void print_path(const world_move *path, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        printf("%s%u", i > 0 ? "." : "", (unsigned)path[i]);
    }
}

static void print_repeat(const world_move *path, uint32_t length)
{
    printf("repeat: explore --path ");
    print_path(path, length);
    printf(" %s\n", playing->name);
}

/* Tells a move and plays it; returns what is wrong then. */
static const char *tell_move(struct world *world, world_move move)
{
    world_tell(world, move, stdout);
    fflush(stdout);
    arena_enter();
    world_play(world, move);
    arena_leave();
    return world_wrong(world);
}

/* Returns what is wrong at its end; NULL: nothing.  Behind a path that is to be gone
 * on from, all comes as it does by itself. */
static const char *tell_path(const world_move *path, uint32_t length, bool goes_on)
{
    arena_enter();
    arena_reset();
    struct world *world = world_open(playing, WORLD_HOLDS);
    arena_leave();
    const char *wrong = world_wrong(world);
    uint64_t moves = world_moves(world);
    uint32_t i = 0;
    for (; i < SEARCH_DEPTH && wrong == NULL && moves != 0; i++) {
        world_move move = i < length ? path[i] : move_first(moves);
        if (i >= length && !goes_on) {
            break;
        }
        if ((moves & move_bit(move)) == 0) {
            printf("%2u  is no move here\n", (unsigned)move);
            return "the path is none of this scene's";
        }
        wrong = tell_move(world, move);
        moves = world_moves(world);
    }
    return wrong == NULL && moves == 0 ? world_unfinished(world) : wrong;
}

static bool path_read(const char *text, world_move *path, uint32_t *length)
{
    char *end;
    for (*length = 0; *length < SEARCH_DEPTH; text = end + 1) {
        unsigned long move = strtoul(text, &end, 10);
        if (end == text || move >= WORLD_MOVES) {
            return false;
        }
        path[(*length)++] = (world_move)move;
        if (*end != '.') {
            return *end == '\0';
        }
    }
    return false;
}

/* An assertion of the core failed: the path to it is all that is left to say. */
static void on_abort(int signal_number)
{
    uint32_t length;
    const world_move *path = search_path(&length);
    arena_leave();
    printf("%s: an assertion failed\n", playing->name);
    print_repeat(path, length);
    fflush(stdout);
    _exit(128 + signal_number);
}

/* --- Scenes -------------------------------------------------------------------------
 */

static unsigned bits(uint32_t set)
{
    unsigned count = 0;
    for (; set != 0; set &= set - 1) {
        count++;
    }
    return count;
}

static bool explore(const struct scene *scene, const struct search_bounds *bounds)
{
    static struct search_result result;
    struct timespec begin, end;
    playing = scene;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    struct search_bounds these = *bounds;
    these.states = these.states > 0 ? these.states : scene->states;
    search_scene(scene, &these, &result);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) +
                     (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("%-22s %u ranks, %u tasks, %u deaths, %u late, %u holds: %9llu states, "
           "%9llu moves, %6llu ends, "
           "longest %3u, %5.1f s%s\n",
           scene->name, (unsigned)scene->ranks, (unsigned)scene->task_count,
           (unsigned)scene->deaths + bits(scene->dead_first), (unsigned)scene->times,
           (unsigned)bounds->holds, (unsigned long long)result.states,
           (unsigned long long)result.moves, (unsigned long long)result.ends,
           (unsigned)result.longest, seconds,
           result.whole           ? ""
           : result.wrong == NULL ? ", not all"
                                  : "");
    if (result.wrong != NULL) {
        printf("%s: %s\n", scene->name, result.wrong);
        (void)tell_path(result.path, result.path_length, false);
        print_repeat(result.path, result.path_length);
    }
    fflush(stdout);
    return result.wrong == NULL;
}

static const struct scene *scene_find(const char *name)
{
    for (const struct scene *scene = scenes; scene->name != NULL; scene++) {
        if (strcmp(scene->name, name) == 0) {
            return scene;
        }
    }
    fprintf(stderr, "explore: there is no scene %s; --list shows them\n", name);
    exit(2);
}

static int usage(void)
{
    fprintf(stderr,
            "usage: explore [--quick] [--states N] [--holds N] [--list] [SCENE...]\n"
            "       explore --path MOVES SCENE\n"
            "       explore --plain [--path MOVES] SCENE\n");
    return 2;
}

int main(int argc, char **argv)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)argc, (void)argv;
    printf("no sanitizer sees into the arena that a world has for its memory\n");
    return 77;
#endif
    struct search_bounds bounds = {.depth = SEARCH_DEPTH};
    bool quick = false, plain = false;
    uint32_t holds = UINT32_MAX;
    world_move path[SEARCH_DEPTH];
    uint32_t length = 0;
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--quick") == 0) {
            quick = true;
        } else if (strcmp(argv[at], "--plain") == 0) {
            plain = true;
        } else if (strcmp(argv[at], "--list") == 0) {
            for (const struct scene *scene = scenes; scene->name != NULL; scene++) {
                printf("%-22s %s\n", scene->name, scene->says);
            }
            return 0;
        } else if (strcmp(argv[at], "--states") == 0 && at + 1 < argc) {
            bounds.states = strtoull(argv[++at], NULL, 10);
        } else if (strcmp(argv[at], "--holds") == 0 && at + 1 < argc) {
            holds = (uint32_t)strtoul(argv[++at], NULL, 10);
        } else if (strcmp(argv[at], "--path") == 0 && at + 1 < argc) {
            if (!path_read(argv[++at], path, &length)) {
                return usage();
            }
        } else {
            return usage();
        }
    }
    break_a_rule();
    arena_open();
    (void)signal(SIGABRT, on_abort);
    if (length > 0 || plain) {
        if (at + 1 != argc) {
            return usage();
        }
        playing = scene_find(argv[at]);
        const char *wrong = tell_path(path, length, plain);
        printf("%s\n", wrong != NULL ? wrong : "nothing is wrong here");
        return wrong != NULL;
    }
    bool good = true;
    for (const struct scene *scene = scenes; at >= argc && scene->name != NULL;
         scene++) {
        struct search_bounds these = bounds;
        these.holds = quick ? scene->holds_quick : scene->holds;
        if (quick && (scene->states > 0 || scene->holds_quick < (scene->holds > 0))) {
            continue;
        }
        good = explore(scene, &these) && good;
    }
    for (; at < argc; at++) {
        struct search_bounds these = bounds;
        const struct scene *scene = scene_find(argv[at]);
        these.holds = quick ? scene->holds_quick : scene->holds;
        these.holds = holds != UINT32_MAX ? holds : these.holds;
        good = explore(scene, &these) && good;
    }
    return good ? 0 : 1;
}
