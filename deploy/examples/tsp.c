/* tsp.c - the shortest round trip, by parallel branch and bound that really diverges.
 *
 *     mpirun -n 4 tsp FILE.tsp
 *
 * Every tour starts in city 1; a *subtree* is the set of tours that go on with two
 * given cities, and a task finds the shortest tour of one subtree.  Each rank walks
 * over all subtrees, a phase of a few at a time, and each begins somewhere else.  It
 * skips a subtree whose lower bound is not below the best tour that it has seen so far,
 * its OWN best tour: nobody reduces a global bound and nobody waits for one.  So at any
 * moment ranks differ in what they know, hence in what they spawn and what they prune,
 * and a task's chair has often pruned the very task that another rank waits for.  In a
 * runtime that assumes that all ranks spawn alike this program hangs, with
 * MOOT_DIVERGENCE=trust here too; moot's ranks vote, and each task still runs once.
 *
 * Why the answer is right on every rank: a rank drops a subtree only when it holds a
 * tour that is no longer than anything in there.  Why tasks are the same everywhere: a
 * task is a function of the map (the result of the task that reads the file, on rank 0)
 * and of its two cities.  The bound inside the kernel is the nearest-neighbour tour,
 * which is part of the map's result; a rank's own best tour must not be an argument, or
 * no two ranks would ever mean the same task.
 *
 * The oracle: up to 16 cities each rank compares with Held and Karp's dynamic
 * programme, which shares no code with the search.  Exit status: 0 right, 1 wrong, 2
 * bad input.
 */
#include "tsplib.h"
#include <moot.h>

enum {
    PREFIX_CITIES = 2,   /* behind the first: what names a subtree */
    PHASE_SUBTREES = 8,  /* spawned before a rank looks at results */
    ORACLE_CITIES = 16,  /* Held-Karp needs 2^n n words */
    NO_TOUR = INT32_MAX, /* the length of a tour that does not exist */
    EXIT_WRONG = 1,
    EXIT_INPUT = 2
};

/* These travel between ranks: words of one size only, so there is no padding. */
struct tour {
    int32_t length;
    int32_t city[TSPLIB_CITIES_MAX]; /* from 0 */
};

struct problem {
    struct tsplib map;
    struct tour first; /* nearest neighbour: what every kernel has to beat */
};

struct subtree {
    int32_t city[PREFIX_CITIES];
};

/* --- Tours and bounds ------------------------------------------------------------ */

static struct tour nearest_neighbour(const struct tsplib *map)
{
    struct tour tour = {0};
    bool used[TSPLIB_CITIES_MAX] = {true};

    for (int32_t i = 1; i < map->cities; i++) {
        const int32_t *from = map->distance[tour.city[i - 1]];
        int32_t best = -1;

        for (int32_t c = 0; c < map->cities; c++) {
            if (!used[c] && (best < 0 || from[c] < from[best])) {
                best = c;
            }
        }
        used[best] = true;
        tour.city[i] = best;
        tour.length += from[best];
    }
    tour.length += map->distance[tour.city[map->cities - 1]][0];
    return tour;
}

/* What it costs at least to go from `last` through every city of `open` back to city 0:
 * a minimum spanning tree over `open` (Prim) and the shortest edge to either end. */
static int32_t way_home(const struct tsplib *map, int32_t last, uint64_t open)
{
    int32_t toward[TSPLIB_CITIES_MAX] = {0}; /* from the tree to each open city */
    int32_t from_last = NO_TOUR, to_start = NO_TOUR, total = 0;
    int32_t grown = open == 0 ? 0 : __builtin_ctzll(open);

    if (open == 0) {
        return map->distance[last][0];
    }
    for (uint64_t rest = open; rest != 0; rest &= rest - 1) {
        int32_t c = __builtin_ctzll(rest);

        toward[c] = map->distance[grown][c];
        if (map->distance[last][c] < from_last) {
            from_last = map->distance[last][c];
        }
        if (map->distance[0][c] < to_start) {
            to_start = map->distance[0][c];
        }
    }
    while ((open &= ~(1ull << grown)) != 0) {
        int32_t next = __builtin_ctzll(open);

        for (uint64_t rest = open; rest != 0; rest &= rest - 1) {
            int32_t c = __builtin_ctzll(rest);

            if (map->distance[grown][c] < toward[c]) {
                toward[c] = map->distance[grown][c];
            }
            if (toward[c] < toward[next]) {
                next = c;
            }
        }
        total += toward[next];
        grown = next;
    }
    return total + from_last + to_start;
}

static uint64_t all_cities(const struct tsplib *map)
{
    return map->cities == 64 ? ~0ull : (1ull << map->cities) - 1;
}

static int32_t subtree_bound(const struct tsplib *map, const struct subtree *subtree)
{
    uint64_t open = all_cities(map) & ~1ull;
    int32_t at = 0, length = 0;

    for (int i = 0; i < PREFIX_CITIES; i++) {
        open &= ~(1ull << subtree->city[i]);
        length += map->distance[at][subtree->city[i]];
        at = subtree->city[i];
    }
    return length + way_home(map, at, open);
}

/* --- The kernels ----------------------------------------------------------------- */

/* tsp.read: a file's name -> struct problem.  Owned by rank 0: no other needs the file.
 */
static int kernel_read(moot_call *call, void *user)
{
    size_t size;
    const char *path = moot_call_args(call, &size);
    struct problem *problem = moot_call_output(call, sizeof(*problem));
    char error[TSPLIB_ERROR_BYTES];

    (void)user;
    if (problem == NULL) {
        return moot_call_fail(call, MOOT_ERR_NO_MEMORY, "no room for the map");
    }
    if (!tsplib_read(path, &problem->map, error)) {
        return moot_call_fail(call, EXIT_INPUT, error);
    }
    problem->first = nearest_neighbour(&problem->map);
    return MOOT_OK;
}

struct walk {
    const struct tsplib *map;
    int32_t path[TSPLIB_CITIES_MAX];
    int32_t bound; /* a tour must be shorter than this to be of interest */
    struct tour *best;
};

/* Extends a path of `depth` cities and `length` by every city of `open` in turn.  Of a
 * tour and its reverse only the one whose second city is below its last one counts. */
static void walk_on(struct walk *w, int32_t depth, int32_t length, uint64_t open)
{
    const struct tsplib *map = w->map;
    int32_t at = w->path[depth - 1];

    if (length + way_home(map, at, open) >= w->bound) {
        return;
    }
    if (open == 0 && w->path[1] < at) {
        w->bound = w->best->length = length + map->distance[at][0];
        memcpy(w->best->city, w->path, (size_t)depth * sizeof(w->path[0]));
    }
    for (uint64_t rest = open; rest != 0; rest &= rest - 1) {
        int32_t c = __builtin_ctzll(rest);

        w->path[depth] = c;
        walk_on(w, depth + 1, length + map->distance[at][c], open & ~(1ull << c));
    }
}

/* tsp.search: (struct problem; struct subtree) -> struct tour, the subtree's shortest
 * if that is shorter than the problem's first tour, else one of length NO_TOUR. */
static int kernel_search(moot_call *call, void *user)
{
    size_t size;
    const struct problem *problem = moot_call_input(call, 0, &size);
    const struct subtree *subtree = moot_call_args(call, &size);
    struct tour *best = moot_call_output(call, sizeof(*best));
    struct walk walk = {
        .map = &problem->map, .bound = problem->first.length, .best = best};
    uint64_t open = all_cities(&problem->map) & ~1ull;
    int32_t length = 0;

    (void)user;
    if (best == NULL) {
        return moot_call_fail(call, MOOT_ERR_NO_MEMORY, "no room for a tour");
    }
    *best = (struct tour){.length = NO_TOUR};
    for (int i = 0; i < PREFIX_CITIES; i++) {
        walk.path[i + 1] = subtree->city[i];
        length += problem->map.distance[walk.path[i]][subtree->city[i]];
        open &= ~(1ull << subtree->city[i]);
    }
    walk_on(&walk, 1 + PREFIX_CITIES, length, open);
    return MOOT_OK;
}

/* --- Each rank's own search ------------------------------------------------------ */

/* The example's only answer to a failure: say it and end the job. */
static void check(const moot *m, const char *what, int code)
{
    if (code == MOOT_OK) {
        return;
    }
    fprintf(stderr, "tsp: rank %d: %s: %s\n", m == NULL ? -1 : moot_rank(m), what,
            moot_last_error(m));
    exit(EXIT_WRONG);
}

/* All subtrees but those whose second city is the highest: such a tour counts reversed.
 * Returns how many; the caller frees. */
static int32_t list_subtrees(const struct tsplib *map, struct subtree **out)
{
    int32_t count = 0, n = map->cities;
    struct subtree *list = malloc((size_t)(n * n) * sizeof(*list));

    if (list == NULL) {
        fprintf(stderr, "tsp: out of memory\n");
        exit(EXIT_WRONG);
    }
    for (int32_t a = 1; a < n - 1; a++) {
        for (int32_t b = 1; b < n; b++) {
            if (a != b) {
                list[count++] = (struct subtree){{a, b}};
            }
        }
    }
    *out = list;
    return count;
}

struct search {
    moot *m;
    moot_kernel_id kernel;
    moot_task problem_task;
    struct problem problem; /* a copy that outlives the moot */
    struct tour best;       /* this rank's own */
    int32_t spawned, pruned;
    bool speaks; /* the lowest rank that was there in the end: gives the answer */
};

/* Spawns what this rank cannot rule out of `count` subtrees, and learns the results. */
static void search_phase(struct search *s, const struct subtree *subtrees,
                         int32_t first, int32_t last, int32_t count)
{
    moot_task task[PHASE_SUBTREES];
    const void *data[PHASE_SUBTREES];
    int32_t tasks = 0;

    for (int32_t i = first; i < last; i++) {
        const struct subtree *subtree = &subtrees[i % count];
        moot_task_spec spec = {.kernel = s->kernel,
                               .args = subtree,
                               .args_size = sizeof(*subtree),
                               .inputs = &s->problem_task,
                               .input_count = 1,
                               .label = "subtree"};

        if (subtree_bound(&s->problem.map, subtree) >= s->best.length) {
            continue;
        }
        check(s->m, "spawn", moot_task_spawn(s->m, &spec, &task[tasks]));
        tasks++;
    }
    check(s->m, "fetch",
          moot_task_fetch_all(s->m, task, (size_t)tasks, MOOT_FOREVER, data, NULL));
    for (int32_t i = 0; i < tasks; i++) {
        const struct tour *tour = data[i];

        if (tour->length < s->best.length) {
            s->best = *tour;
        }
    }
    check(s->m, "release", moot_task_release_all(s->m, task, (size_t)tasks));
    s->spawned += tasks;
    s->pruned += last - first - tasks;
}

static void search(struct search *s)
{
    struct subtree *subtrees;
    int32_t count = list_subtrees(&s->problem.map, &subtrees);
    int32_t start = (int32_t)((int64_t)count * moot_rank(s->m) / moot_size(s->m));

    for (int32_t done = 0; done < count; done += PHASE_SUBTREES) {
        int32_t end = done + PHASE_SUBTREES < count ? done + PHASE_SUBTREES : count;

        search_phase(s, subtrees, start + done, start + end, count);
    }
    free(subtrees);
}

/* --- The oracle ------------------------------------------------------------------ */

/* Held and Karp, 1962: best[set][last] is the shortest path from city n-1 through
 * all of `set` that ends in `last`.  NO_TOUR without memory. */
static int32_t held_karp(const struct tsplib *map)
{
    uint32_t others = (uint32_t)map->cities - 1, sets = 1u << others;
    int32_t *best = malloc((size_t)sets * others * sizeof(*best));
    int32_t shortest = NO_TOUR;

    if (best == NULL) {
        return NO_TOUR;
    }
    for (uint32_t set = 1; set < sets; set++) {
        for (uint32_t last = 0; last < others; last++) {
            uint32_t before = set & ~(1u << last);
            int32_t *cell = &best[(size_t)set * others + last];

            *cell = before == 0 ? map->distance[others][last] : NO_TOUR;
            for (uint32_t c = 0; c < others && (set >> last & 1) != 0; c++) {
                int32_t known = best[(size_t)before * others + c];

                if ((before >> c & 1) != 0 && known + map->distance[c][last] < *cell) {
                    *cell = known + map->distance[c][last];
                }
            }
        }
    }
    for (uint32_t last = 0; last < others; last++) {
        int32_t way = best[(size_t)(sets - 1) * others + last];

        if (way + map->distance[last][others] < shortest) {
            shortest = way + map->distance[last][others];
        }
    }
    free(best);
    return shortest;
}

/* Whether the tour visits every city once and is as long as it says. */
static bool tour_is_sound(const struct tsplib *map, const struct tour *tour)
{
    bool seen[TSPLIB_CITIES_MAX] = {false};
    int64_t length = 0;

    for (int32_t i = 0; i < map->cities; i++) {
        int32_t city = tour->city[i];

        if (city < 0 || city >= map->cities || seen[city]) {
            return false;
        }
        seen[city] = true;
        length += map->distance[city][tour->city[(i + 1) % map->cities]];
    }
    return length == tour->length;
}

static bool answer_is_right(const struct search *s)
{
    const struct tsplib *map = &s->problem.map;
    int32_t optimum = s->best.length;

    if (map->cities <= ORACLE_CITIES) {
        optimum = held_karp(map);
    }
    if (tour_is_sound(map, &s->best) && s->best.length == optimum) {
        return true;
    }
    fprintf(stderr, "tsp: rank %d: WRONG: found %d, the optimum is %d\n",
            moot_rank(s->m), s->best.length, optimum);
    return false;
}

static void print_answer(const struct search *s)
{
    const struct tsplib *map = &s->problem.map;

    printf("%s: %d cities, first guess %d\ntour", map->name, map->cities,
           s->problem.first.length);
    for (int32_t i = 0; i < map->cities; i++) {
        printf(" %d", s->best.city[i] + 1);
    }
    printf("\noptimum %d%s\n", s->best.length,
           map->cities <= ORACLE_CITIES ? " (Held-Karp agrees)" : "");
}

static moot_kernel_id add_kernel(moot *m, const char *name, moot_kernel_fn fn)
{
    moot_kernel_id id;

    check(m, "register",
          moot_kernel_register(m, &(moot_kernel){.name = name, .fn = fn}, &id));
    return id;
}

/* Of the ranks that are alive, as far as this one knows. */
static bool is_lowest(moot *m)
{
    int rank = 0;

    while (rank < moot_rank(m) && moot_present(m, rank) != 1) {
        rank++;
    }
    return rank == moot_rank(m);
}

/* Everything between open and close; returns the exit status. */
static int run(moot *m, const char *path, struct search *s)
{
    moot_task_spec spec = {.kernel = add_kernel(m, "tsp.read", kernel_read),
                           .args = path,
                           .args_size = strlen(path) + 1,
                           .label = "map"};
    int code;

    s->m = m;
    s->kernel = add_kernel(m, "tsp.search", kernel_search);
    check(m, "spawn", moot_task_spawn(m, &spec, &s->problem_task));
    code = moot_task_fetch_into(m, s->problem_task, MOOT_FOREVER, &s->problem,
                                sizeof(s->problem), NULL);
    s->speaks = is_lowest(m);
    if (code == MOOT_ERR_TASK_FAILED) {
        if (s->speaks) {
            fprintf(stderr, "tsp: %s\n", moot_last_error(m));
        }
        return EXIT_INPUT;
    }
    check(m, "fetch", code);
    s->best = s->problem.first;
    search(s);
    printf("rank %d spawned %d subtrees, pruned %d by its own best tour\n",
           moot_rank(m), s->spawned, s->pruned);
    fflush(stdout);
    s->speaks = is_lowest(m);
    return answer_is_right(s) ? EXIT_SUCCESS : EXIT_WRONG;
}

/* One rank gives the answer when all have closed, so that it stands below what they
 * say.
 */
int main(int argc, char **argv)
{
    struct search s = {0};
    moot *m = NULL;
    int rank, status = EXIT_INPUT;

    check(NULL, "open", moot_open(NULL, &m));
    rank = moot_rank(m);
    if (argc == 2) {
        status = run(m, argv[1], &s);
    } else if (rank == 0) {
        fprintf(stderr, "usage: tsp FILE.tsp\n");
    }
    if (moot_close(m) != MOOT_OK) {
        return EXIT_WRONG;
    }
    if (status == EXIT_SUCCESS && s.speaks) {
        print_answer(&s);
    }
    return status;
}
