/* forgetting.c - ranks whose programs differ for long run in constant memory, too.
 *
 *   mpirun -n 4 forgetting [--tasks N]
 *
 * Every rank spawns N tasks (200,000 if not given), but for one in a hundred of its own
 * choice; then N that it shuffles within SHUFFLED; then LARGE_TASKS with results of
 * LARGE_BYTES, of which it leaves out one in ten.  It keeps HANDLES handles, fetches
 * every FETCH_EVERY-th result, and releases as it goes.
 *
 * What must be true: every result is right, and between a fifth of the run and its end
 * no rank's resident memory grows by more than GROWTH_BYTES_MAX, or
 * LARGE_GROWTH_BYTES_MAX with large results.  Kept, what some rank lacks, or all of it,
 * would take some 200 bytes a task, and LARGE_BYTES more.
 */
#include "tests/mpi/support/harness.h"
#include "tests/mpi/support/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HANDLES = 256,
    FETCH_EVERY = 512,
    SHUFFLED = 1000,
    DEADLINE_S = 600,
    GROWTH_BYTES_MAX = 8 << 20,
    LARGE_TASKS = 20000,
    LARGE_BYTES = 100000,
    LARGE_GROWTH_BYTES_MAX = 80 << 20
};

struct run {
    moot *m;
    moot_kernel_id kernel;
    uint64_t skip_per_mille;
    bool shuffles;
    size_t bytes;
    moot_task handles[HANDLES];
    uint64_t numbers[HANDLES];
    uint64_t count;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 32);
}

static int kernel(moot_call *call, void *user)
{
    const struct run *run = user;
    uint64_t number;
    size_t size = 0;
    memcpy(&number, moot_call_args(call, &size), sizeof(number));
    void *output = moot_call_output(call, run->bytes);
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(output, 1, run->bytes);
    number = mix(number);
    memcpy(output, &number, sizeof(number));
    return MOOT_OK;
}

static void let_go_of_oldest(struct run *run)
{
    uint64_t at = run->count % HANDLES;
    if (run->count % FETCH_EVERY == 0) {
        const void *data = NULL;
        size_t size = 0;
        uint64_t expected = mix(run->numbers[at]);
        CHECK_OK(moot_task_fetch(run->m, run->handles[at], MOOT_FOREVER, &data, &size));
        CHECK(data != NULL && size == run->bytes &&
                  memcmp(data, &expected, sizeof(expected)) == 0,
              "task %llu is wrong", (unsigned long long)run->numbers[at]);
    }
    CHECK_OK(moot_task_release(run->m, run->handles[at]));
}

static void spawn_one(struct run *run, uint64_t number)
{
    if (mix(number * 64 + (uint64_t)harness_rank()) % 1000 < run->skip_per_mille) {
        return;
    }
    if (run->count >= HANDLES) {
        let_go_of_oldest(run);
    }
    uint64_t at = run->count++ % HANDLES;
    run->numbers[at] = number;
    CHECK_OK(moot_task_spawn(run->m,
                             &(moot_task_spec){.kernel = run->kernel,
                                               .args = &number,
                                               .args_size = sizeof(number)},
                             &run->handles[at]));
}

static void spawn_block(struct run *run, uint64_t first)
{
    static uint64_t order[SHUFFLED];
    for (uint64_t i = 0; i < SHUFFLED; i++) {
        order[i] = first + i;
    }
    for (uint64_t i = SHUFFLED - 1; i > 0 && run->shuffles; i--) {
        uint64_t with = mix((first + i) * 64 + (uint64_t)harness_rank()) % (i + 1);
        uint64_t was = order[i];
        order[i] = order[with];
        order[with] = was;
    }
    for (uint64_t i = 0; i < SHUFFLED && harness_case_is_good(); i++) {
        spawn_one(run, order[i]);
    }
}

static void go(const char *what, struct run *run, uint64_t tasks, uint64_t most)
{
    uint64_t base = 0;
    CHECK_OK(moot_open_comm(NULL, harness_comm(), &run->m));
    harness_explain_with(run->m);
    CHECK_OK(moot_kernel_register(
        run->m, &(moot_kernel){.name = "mix", .fn = kernel, .user = run},
        &run->kernel));
    for (uint64_t i = 0; i < tasks / SHUFFLED && harness_case_is_good(); i++) {
        spawn_block(run, i * SHUFFLED);
        base = i == tasks / SHUFFLED / 5 ? resident_bytes() : base;
    }
    uint64_t now = resident_bytes(), grew = now > base ? now - base : 0;
    CHECK(grew <= most, "grew by %llu bytes from %llu", (unsigned long long)grew,
          (unsigned long long)base);
    for (uint64_t i = 0; i < HANDLES && i < run->count; i++) {
        CHECK_OK(moot_task_release(run->m, run->handles[i]));
    }
    harness_explain_with(NULL);
    CHECK_OK(moot_close(run->m));
    harness_maximum(&grew, 1);
    if (harness_rank() == 0) {
        printf("forgetting: %s: %.2f MB more for the last four fifths of %llu tasks\n",
               what, (double)grew / 1e6, (unsigned long long)tasks);
    }
}

int main(int argc, char **argv)
{
    harness_open(&argc, &argv, "forgetting");
    uint64_t tasks = 200000;
    if (argc == 3 && strcmp(argv[1], "--tasks") == 0) {
        tasks = strtoull(argv[2], NULL, 10);
    }
    CHECK(setenv("MOOT_WINDOW", "8192", 1) == 0, "no environment");
    static struct run skips = {.skip_per_mille = 10, .bytes = sizeof(uint64_t)};
    static struct run shuffles = {.shuffles = true, .bytes = sizeof(uint64_t)};
    static struct run large = {.skip_per_mille = 100, .bytes = LARGE_BYTES};
    harness_case_begin("what ranks skip is forgotten", DEADLINE_S);
    go("skipped", &skips, tasks, GROWTH_BYTES_MAX);
    harness_case_end();
    harness_case_begin("what ranks shuffle is forgotten", DEADLINE_S);
    go("shuffled", &shuffles, tasks, GROWTH_BYTES_MAX);
    harness_case_end();
    harness_case_begin("large results that some rank lacks are forgotten", DEADLINE_S);
    go("large", &large, LARGE_TASKS, LARGE_GROWTH_BYTES_MAX);
    harness_case_end();
    return harness_close();
}
