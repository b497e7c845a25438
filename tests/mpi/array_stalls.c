/* array_stalls.c - programs of task arrays that stand still for a while, each for a
 * reason of its own.
 *
 *     array_stalls CASE      three ranks; the cases stand in the table below
 *
 * tests/cli/stalls_test.sh reads the reports, as of tests/mpi/stalls.c.  Without an
 * argument all goes on, and nothing may be reported.
 */
#include "node/api/moot_array.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STILL_MS = 2600, COUNT = 100, SLOW_INDEX = 70, KEYS_MAX = 100 };

struct scene {
    moot *m;
    moot_kernel_id work;
    int rank;
    bool slow;
    uint64_t key;
    moot_array_spec grid;
};

static void sleep_ms(unsigned ms)
{
    struct timespec time = {.tv_sec = ms / 1000,
                            .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&time, NULL);
}

static int do_work(moot_call *call, void *user)
{
    const struct scene *scene = user;
    const uint64_t index = moot_call_index(call);
    if (scene->slow && index == SLOW_INDEX) {
        sleep_ms(STILL_MS);
    }
    void *output = moot_call_output(call, sizeof(index));
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, &index, sizeof(index));
    return MOOT_OK;
}

static void must(const struct scene *scene, int code, int wanted, const char *what)
{
    if (code == wanted) {
        return;
    }
    (void)fprintf(stderr, "rank %d: %s gave %s: %s\n", scene->rank, what,
                  moot_err_name(code), moot_last_error(scene->m));
    exit(1);
}

#define MUST(call, code) must(scene, (call), (code), #call)

static moot_array spawn_some(struct scene *scene, uint64_t first, uint64_t count)
{
    const moot_range range = {first, count};
    moot_array array;
    MUST(moot_array_spawn_some(scene->m, &scene->grid, &range, 1, &array), MOOT_OK);
    return array;
}

/* The same on all ranks, with a chair of its end that is this rank. */
static moot_array spawn_with_chair(struct scene *scene, int chair, uint64_t first,
                                   uint64_t count)
{
    moot_task_info info;
    scene->grid.key = &scene->key;
    scene->grid.key_size = sizeof(scene->key);
    for (scene->key = 0; scene->key < KEYS_MAX; scene->key++) {
        const moot_array array = spawn_some(scene, first, count);
        MUST(moot_task_info(scene->m, (moot_task){array.id}, &info), MOOT_OK);
        if (info.chair == chair) {
            return array;
        }
        MUST(moot_array_release(scene->m, array), MOOT_OK);
    }
    (void)fprintf(stderr, "no key gives rank %d the chair\n", chair);
    exit(1);
}

static void wait_for(struct scene *scene, moot_array array, int wanted)
{
    must(scene, moot_array_wait(scene->m, array, MOOT_FOREVER), wanted, "the wait");
}

/* --- The cases -------------------------------------------------------------------- */

static void none(struct scene *scene)
{
    moot_array array;
    MUST(moot_array_spawn(scene->m, &scene->grid, &array), MOOT_OK);
    wait_for(scene, array, MOOT_OK);
}

/* Nobody spawns 40 to 59, and rank 2 may yet do so. */
static void unspawned(struct scene *scene)
{
    static const uint64_t first[] = {0, 60, 67}, count[] = {40, 40, 33};
    const moot_array array =
        spawn_with_chair(scene, 1, first[scene->rank % 3], count[scene->rank % 3]);
    if (scene->rank == 2) {
        sleep_ms(STILL_MS);
    }
    wait_for(scene, array, MOOT_ERR_NOT_HELD);
}

/* Rank 1 is to run some, and does something else; then it waits, and they are given to
 * others. */
static void away(struct scene *scene)
{
    if (scene->rank == 1) {
        sleep_ms(STILL_MS);
    } else {
        none(scene);
    }
}

static void slow(struct scene *scene)
{
    scene->slow = true;
    none(scene);
}

/* The array takes a task that nobody spawns. */
static void takes_task(struct scene *scene)
{
    const moot_task_spec spec = {.kernel = scene->work, .label = "seed"};
    moot_task task;
    moot_array array;
    MUST(moot_task_name(scene->m, &spec, &task), MOOT_OK);
    const moot_array_input input = {.task = task};
    scene->grid.inputs = &input;
    scene->grid.input_count = 1;
    MUST(moot_array_spawn(scene->m, &scene->grid, &array), MOOT_OK);
    if (scene->rank == 2) {
        sleep_ms(STILL_MS);
    }
    wait_for(scene, array, MOOT_ERR_TASK_FAILED);
}

/* The array takes another, of whose share rank 1 has spawned nothing. */
static void takes_array(struct scene *scene)
{
    moot_array second;
    const moot_array first =
        spawn_some(scene, 0, scene->rank == 1 ? 1 : scene->grid.count);
    const moot_array_input input = {.array = first};
    scene->grid.label = "next";
    scene->grid.inputs = &input;
    scene->grid.input_count = 1;
    MUST(moot_array_spawn(scene->m, &scene->grid, &second), MOOT_OK);
    if (scene->rank == 1) {
        sleep_ms(STILL_MS);
    }
    wait_for(scene, second, MOOT_OK);
}

/* As `away`, where nobody votes. */
static void trusts(struct scene *scene)
{
    moot_array array;
    if (scene->rank == 1) {
        sleep_ms(STILL_MS);
        return;
    }
    MUST(moot_array_spawn(scene->m, &scene->grid, &array), MOOT_OK);
    wait_for(scene, array, MOOT_ERR_STALLED);
}

static const struct {
    const char *name;
    void (*run)(struct scene *);
    int close_code;
} cases[] = {
    {"none", none, MOOT_OK},
    {"array-unspawned", unspawned, MOOT_OK},
    {"array-away", away, MOOT_OK},
    {"array-slow", slow, MOOT_OK},
    {"array-task", takes_task, MOOT_OK},
    {"array-chain", takes_array, MOOT_OK},
    {"array-trust", trusts, MOOT_ERR_STALLED},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

int main(int argc, char **argv)
{
    struct scene all = {.grid = {.count = COUNT, .label = "grid"}}, *scene = &all;
    const char *name = argc > 1 ? argv[1] : "none";
    int at = 0;
    while (at < CASES && strcmp(cases[at].name, name) != 0) {
        at++;
    }
    if (at == CASES) {
        (void)fprintf(stderr, "array_stalls: there is no case %s\n", name);
        return 2;
    }
    MUST(moot_open(NULL, &scene->m), MOOT_OK);
    scene->rank = moot_rank(scene->m);
    const moot_kernel kernel = {.name = "work", .fn = do_work, .user = scene};
    MUST(moot_kernel_register(scene->m, &kernel, &scene->work), MOOT_OK);
    scene->grid.kernel = scene->work;
    cases[at].run(scene);
    moot_stats stats;
    MUST(moot_stats_get(scene->m, &stats), MOOT_OK);
    if (at == 0 && stats.stalls > 0) {
        must(scene, MOOT_ERR_STALLED, MOOT_OK, "nothing");
    }
    must(scene, moot_close(scene->m), cases[at].close_code, "moot_close");
    return 0;
}
