/* long_run.c - a program that ends its phases stays as large as one phase.
 *
 *   mpirun -n 4 long_run [--tasks N]
 *
 * N small tasks (100,000 if not given) in phases of 500, each a scope: 499 tasks that
 * take the sum of the phase before, across the scopes, and one that adds them up and is
 * fetched by all.  Every rank then releases its handles and closes the scope.
 *
 * What must be true: every sum is right, and between the end of the tenth part and the
 * end of the run no rank's resident memory grows by more than GROWTH_BYTES_MAX, however
 * long the run is: a mark of each phase (16 bytes), and what the allocator and MPI lose
 * by the way.  Kept, the tasks would take some 700 bytes each on every rank.
 */
#include "tests/mpi/support/harness.h"
#include "tests/mpi/support/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 499, DEADLINE_S = 240, GROWTH_BYTES_MAX = 8 << 20 };

static int add_up(moot_call *call, void *user)
{
    (void)user;
    size_t size = 0;
    uint64_t sum = 0, word;
    const void *args = moot_call_args(call, &size);
    memcpy(&word, args, sizeof(word));
    sum += word;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        memcpy(&word, moot_call_input(call, i, &size), sizeof(word));
        sum = sum * 31 + word;
    }
    void *output = moot_call_output(call, sizeof(sum));
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(output, &sum, sizeof(sum));
    return MOOT_OK;
}

/* What the phase's last task must give. */
static uint64_t expected(uint64_t phase, uint64_t before)
{
    uint64_t sum = phase;
    for (uint64_t i = 0; i < WIDTH; i++) {
        sum = sum * 31 + (phase > 0 ? i * 31 + before : i);
    }
    return sum;
}

static moot_task spawn(moot *m, moot_kernel_id kernel, uint64_t number,
                       const moot_task *inputs, size_t count)
{
    moot_task task = {0};
    CHECK_OK(moot_task_spawn(m,
                             &(moot_task_spec){.kernel = kernel,
                                               .args = &number,
                                               .args_size = sizeof(number),
                                               .inputs = inputs,
                                               .input_count = count},
                             &task));
    return task;
}

/* One phase; *last is the sum of the one before and then of this. */
static void run_phase(moot *m, moot_kernel_id kernel, uint64_t phase, moot_task *last,
                      uint64_t *sum)
{
    static moot_task tasks[WIDTH];
    char name[32];
    (void)snprintf(name, sizeof(name), "phase %llu", (unsigned long long)phase);
    CHECK_OK(moot_scope_open(m, name));
    for (uint64_t i = 0; i < WIDTH; i++) {
        tasks[i] = spawn(m, kernel, i, last, phase > 0);
    }
    if (phase > 0) {
        CHECK_OK(moot_task_release(m, *last));
    }
    *last = spawn(m, kernel, phase, tasks, WIDTH);
    const void *data = NULL;
    size_t size = 0;
    CHECK_OK(moot_task_fetch(m, *last, MOOT_FOREVER, &data, &size));
    *sum = expected(phase, *sum);
    CHECK(data != NULL && memcmp(data, sum, sizeof(*sum)) == 0, "phase %llu is wrong",
          (unsigned long long)phase);
    for (uint64_t i = 0; i < WIDTH; i++) {
        CHECK_OK(moot_task_release(m, tasks[i]));
    }
    CHECK_OK(moot_scope_close(m));
}

static void run(uint64_t tasks)
{
    uint64_t phases = tasks / (WIDTH + 1), early = phases / 10, sum = 0, base = 0;
    moot *m = NULL;
    moot_kernel_id kernel = {0};
    moot_task last = {0};
    CHECK_OK(moot_open_comm(NULL, harness_comm(), &m));
    harness_explain_with(m);
    CHECK_OK(moot_kernel_register(m, &(moot_kernel){.name = "add-up", .fn = add_up},
                                  &kernel));
    uint64_t begun_ns = harness_now_ns();
    for (uint64_t phase = 0; phase < phases && harness_case_is_good(); phase++) {
        run_phase(m, kernel, phase, &last, &sum);
        if (phase == early) {
            base = resident_bytes();
        }
    }
    uint64_t most[3] = {resident_bytes(), 0, harness_now_ns() - begun_ns};
    most[1] = most[0] > base ? most[0] - base : 0;
    CHECK(most[1] <= GROWTH_BYTES_MAX, "grew by %llu bytes from %llu",
          (unsigned long long)most[1], (unsigned long long)base);
    harness_explain_with(NULL);
    CHECK_OK(moot_close(m));
    harness_maximum(most, 3);
    if (harness_rank() == 0) {
        printf("long_run: %llu tasks in %.1f s, at most %.1f MB a rank, of which %.2f "
               "MB came after the first tenth\n",
               (unsigned long long)(phases * (WIDTH + 1)), (double)most[2] / 1e9,
               (double)most[0] / 1e6, (double)most[1] / 1e6);
    }
}

int main(int argc, char **argv)
{
    harness_open(&argc, &argv, "long_run");
    uint64_t tasks = 100000;
    if (argc == 3 && strcmp(argv[1], "--tasks") == 0) {
        tasks = strtoull(argv[2], NULL, 10);
    }
    harness_case_begin("phases that end are forgotten", DEADLINE_S);
    run(tasks);
    harness_case_end();
    return harness_close();
}
