/* window.c - a program that releases its handles as it goes runs in constant memory.
 *
 *   mpirun -n 4 window [--tasks N] [--beside SPINNERS]
 *
 * N small tasks (1,000,000 if not given) and no scope: row by row of WIDTH, each task
 * of a row takes two results of the row before, and as soon as a row is spawned the
 * handles of the one before are released.  Every CHECK_ROWS rows the first result is
 * fetched and compared.
 *
 * What must be true: every result is right, and between task EARLY_TASKS and the end of
 * the run no rank's resident memory grows by more than GROWTH_BYTES_MAX.  Kept, a task
 * would take some 700 bytes on every rank.
 *
 * Beside SPINNERS, processes on rank 0's core, columns are dealt to the ranks in blocks
 * and nothing is fetched before the end, so that only the window keeps the others from
 * running ahead of a rank that gets a turn now and then; and the run ends with this
 * part.
 *
 * Then LARGE_TASKS with results of LARGE_BYTES.  They are far too few for MOOT_WINDOW,
 * and kept, they would take LARGE_TASKS * LARGE_BYTES among the ranks: none may ever
 * hold more than RESIDENT_BYTES_MAX.
 *
 * Then HUGE_TASKS with results of HUGE_BYTES, which every rank fetches: they are fewer
 * than a chunk of the roll has, and kept, they would take HUGE_TASKS * HUGE_BYTES among
 * the ranks.
 */
#include "tests/mpi/support/harness.h"
#include "tests/mpi/support/memory.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    WIDTH = 64,
    CHECK_ROWS = 16,
    EARLY_TASKS = 200000,
    DEADLINE_S = 3300,
    GROWTH_BYTES_MAX = 8 << 20,
    LARGE_TASKS = 12800,
    LARGE_BYTES = 256 << 10,
    RESIDENT_BYTES_MAX = 768 << 20,
    HUGE_TASKS = 96,
    HUGE_BYTES = 16 << 20,
    HUGE_GROWTH_BYTES_MAX = 224 << 20
};

static uint64_t mix(uint64_t row, uint64_t column, uint64_t left, uint64_t right)
{
    return (left * 31 + right) * 1000003 + row * 131 + column;
}

static int kernel(moot_call *call, void *user)
{
    const size_t *bytes = user;
    uint64_t place[2], inputs[2] = {0, 0};
    size_t size = 0;
    memcpy(place, moot_call_args(call, &size), sizeof(place));
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        memcpy(&inputs[i], moot_call_input(call, i, &size), sizeof(inputs[i]));
    }
    uint64_t sum = mix(place[0], place[1], inputs[0], inputs[1]);
    void *output = moot_call_output(call, *bytes);
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(output, 1, *bytes);
    memcpy(output, &sum, sizeof(sum));
    return MOOT_OK;
}

struct rows {
    moot_task handles[2][WIDTH];
    uint64_t expected[2][WIDTH];
};

static bool bound; /* each task to the rank of its block, as a stencil's is */

static void spawn_row(moot *m, moot_kernel_id id, struct rows *rows, uint64_t row)
{
    moot_task *now = rows->handles[row % 2], *before = rows->handles[(row + 1) % 2];
    const uint64_t *left = rows->expected[(row + 1) % 2];
    for (uint64_t i = 0; i < WIDTH; i++) {
        uint64_t place[2] = {row, i};
        const moot_task inputs[2] = {before[i], before[(i + 1) % WIDTH]};
        int block = (int)(i * (uint64_t)moot_size(m) / WIDTH);
        moot_place owner = {0};
        if (bound) {
            owner = MOOT_ON(block);
        }
        CHECK_OK(moot_task_spawn(m,
                                 &(moot_task_spec){.kernel = id,
                                                   .args = place,
                                                   .args_size = sizeof(place),
                                                   .inputs = inputs,
                                                   .input_count = row > 0 ? 2 : 0,
                                                   .owner = owner},
                                 &now[i]));
        rows->expected[row % 2][i] =
            row > 0 ? mix(row, i, left[i], left[(i + 1) % WIDTH]) : mix(row, i, 0, 0);
    }
    for (uint64_t i = 0; row > 0 && i < WIDTH; i++) {
        CHECK_OK(moot_task_release(m, before[i]));
    }
}

static void check_row(moot *m, const struct rows *rows, uint64_t row, size_t bytes)
{
    const void *data = NULL;
    size_t size = 0;
    CHECK_OK(moot_task_fetch(m, rows->handles[row % 2][0], MOOT_FOREVER, &data, &size));
    CHECK(data != NULL && size == bytes &&
              memcmp(data, &rows->expected[row % 2][0], sizeof(uint64_t)) == 0,
          "row %llu is wrong", (unsigned long long)row);
}

static moot *begin(size_t *bytes, moot_kernel_id *id)
{
    moot *m = NULL;
    CHECK_OK(moot_open_comm(NULL, harness_comm(), &m));
    harness_explain_with(m);
    CHECK_OK(moot_kernel_register(
        m, &(moot_kernel){.name = "mix", .fn = kernel, .user = bytes}, id));
    return m;
}

/* Row `row` of `count`: spawned, and now and then fetched; `every` 0: the last. */
static void go_on(moot *m, moot_kernel_id id, struct rows *rows, uint64_t row,
                  uint64_t count, size_t bytes, uint64_t every)
{
    spawn_row(m, id, rows, row);
    if ((every > 0 && row % every == 0) || row + 1 == count) {
        check_row(m, rows, row, bytes);
    }
}

/* Ties this thread, and those that it starts, to the core that it is on, and so many
 * processes that end with this one. */
static void share_core(uint64_t spinners)
{
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET((size_t)sched_getcpu(), &core);
    CHECK(sched_setaffinity(0, sizeof(core), &core) == 0, "no core to share");
    for (uint64_t i = 0; i < spinners; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0, "no process to share it with");
        if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0) {
            for (volatile uint64_t turns = 0;; turns++) {
                ;
            }
        }
    }
}

static void run(uint64_t tasks, uint64_t spinners)
{
    static struct rows rows;
    size_t bytes = sizeof(uint64_t);
    uint64_t count = tasks / WIDTH, base = 0, begun_ns = harness_now_ns();
    moot_kernel_id id = {0};
    if (spinners > 0 && harness_rank() == 0) {
        share_core(spinners);
    }
    bound = spinners > 0;
    moot *m = begin(&bytes, &id);
    for (uint64_t row = 0; row < count && harness_case_is_good(); row++) {
        go_on(m, id, &rows, row, count, bytes, spinners > 0 ? 0 : CHECK_ROWS);
        if (row == EARLY_TASKS / WIDTH) {
            base = resident_bytes();
        }
    }
    uint64_t most[3] = {resident_bytes(), 0, harness_now_ns() - begun_ns};
    most[1] = base > 0 && most[0] > base ? most[0] - base : 0;
    CHECK(most[1] <= GROWTH_BYTES_MAX, "grew by %llu bytes from %llu",
          (unsigned long long)most[1], (unsigned long long)base);
    harness_explain_with(NULL);
    CHECK_OK(moot_close(m));
    harness_maximum(most, 3);
    if (harness_rank() == 0) {
        printf("window: %llu tasks in %.1f s, at most %.1f MB a rank, of which %.2f MB "
               "came after the first %d tasks\n",
               (unsigned long long)(count * WIDTH), (double)most[2] / 1e9,
               (double)most[0] / 1e6, (double)most[1] / 1e6, EARLY_TASKS);
    }
}

static void run_large(void)
{
    static struct rows rows;
    size_t bytes = LARGE_BYTES;
    uint64_t count = LARGE_TASKS / WIDTH, most = 0;
    moot_kernel_id id = {0};
    moot *m = begin(&bytes, &id);
    for (uint64_t row = 0; row < count && harness_case_is_good(); row++) {
        go_on(m, id, &rows, row, count, bytes, CHECK_ROWS);
        uint64_t now = resident_bytes();
        most = now > most ? now : most;
    }
    CHECK(most <= RESIDENT_BYTES_MAX, "held %llu bytes", (unsigned long long)most);
    harness_explain_with(NULL);
    CHECK_OK(moot_close(m));
    harness_maximum(&most, 1);
    if (harness_rank() == 0) {
        printf("window: at most %.0f MB a rank with large results\n",
               (double)most / 1e6);
    }
}

/* One after the other: each is let go when the next has been spawned, and so goes. */
static void run_huge(void)
{
    size_t bytes = HUGE_BYTES, size = 0;
    uint64_t base = resident_bytes(), most = base;
    moot_kernel_id id = {0};
    moot *m = begin(&bytes, &id);
    moot_task before = {0}, task = {0};
    for (uint64_t i = 0; i < HUGE_TASKS && harness_case_is_good(); i++) {
        const uint64_t place[2] = {i, 0};
        CHECK_OK(moot_task_spawn(m,
                                 &(moot_task_spec){.kernel = id,
                                                   .args = place,
                                                   .args_size = sizeof(place),
                                                   .inputs = &before,
                                                   .input_count = i > 0},
                                 &task));
        if (i > 0) {
            CHECK_OK(moot_task_release(m, before));
        }
        const void *data = NULL;
        CHECK_OK(moot_task_fetch(m, task, MOOT_FOREVER, &data, &size));
        uint64_t now = resident_bytes();
        most = now > most ? now : most;
        before = task;
    }
    CHECK(most - base <= HUGE_GROWTH_BYTES_MAX, "grew by %llu bytes from %llu",
          (unsigned long long)(most - base), (unsigned long long)base);
    CHECK_OK(moot_task_release(m, task));
    harness_explain_with(NULL);
    CHECK_OK(moot_close(m));
    most -= base;
    harness_maximum(&most, 1);
    if (harness_rank() == 0) {
        printf("window: at most %.0f MB more with huge results\n", (double)most / 1e6);
    }
}

int main(int argc, char **argv)
{
    harness_open(&argc, &argv, "window");
    uint64_t tasks = 1000000, spinners = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t *option = strcmp(argv[i], "--tasks") == 0    ? &tasks
                           : strcmp(argv[i], "--beside") == 0 ? &spinners
                                                              : NULL;
        if (option != NULL) {
            *option = strtoull(argv[i + 1], NULL, 10);
        }
    }
    harness_case_begin("what is released as one goes is dropped", DEADLINE_S);
    run(tasks, spinners);
    harness_case_end();
    if (spinners > 0) {
        return harness_close();
    }
    harness_case_begin("large results that are released are dropped", DEADLINE_S);
    run_large();
    harness_case_end();
    harness_case_begin("a few huge results that are released are dropped, too",
                       DEADLINE_S);
    run_huge();
    harness_case_end();
    return harness_close();
}
