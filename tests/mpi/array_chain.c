/* array_chain.c - a chain of arrays, of which a rank dies: the others end right.
 *
 *     array_chain [RANK ELEMENTS [STEPS EACH]]    that rank kills itself in its so
 *         many-th element; of 60 steps, or so many; even ranks wait after 8, or EACH
 *
 * Each step is an array that takes its neighbours of the step before, and lets that go.
 * The dead rank's results are gone with it, and are made again from what is left,
 * back to the first step if need be.  Every rank that goes on waits for the last step,
 * reads it, and compares it with what it computes itself.
 */
#include "node/api/moot_array.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 13 };

static int steps = 60, wait_each = 8;
static unsigned long dies_in; /* 0: it does not */
static unsigned long begun;   /* elements of this rank */

static uint64_t mix(uint64_t word)
{
    return (word ^ word >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + 1;
}

static int give(moot_call *call, uint64_t value)
{
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out != NULL) {
        *out = value;
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static int first(moot_call *call, void *user)
{
    (void)user;
    return give(call, mix(moot_call_index(call)));
}

static int next(moot_call *call, void *user)
{
    const struct timespec work = {.tv_nsec = 300000};
    uint64_t value = moot_call_index(call);
    (void)user;
    nanosleep(&work, NULL);
    if (++begun == dies_in) {
        (void)raise(SIGKILL);
    }
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        uint64_t input;
        memcpy(&input, moot_call_input(call, i, NULL), sizeof(input));
        value = mix(value ^ input);
    }
    return give(call, value);
}

static void compute(uint64_t values[WIDTH])
{
    uint64_t before[WIDTH];
    for (uint64_t i = 0; i < WIDTH; i++) {
        values[i] = mix(i);
    }
    for (int step = 0; step < steps; step++) {
        memcpy(before, values, sizeof(before));
        for (int i = 0; i < WIDTH; i++) {
            values[i] = (uint64_t)i;
            for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < WIDTH; j++) {
                values[i] = mix(values[i] ^ before[j]);
            }
        }
    }
}

static void check(moot *m, int code, const char *what)
{
    if (code != MOOT_OK) {
        fprintf(stderr, "array_chain: rank %d: %s: %s: %s\n", moot_rank(m), what,
                moot_err_name(code), moot_last_error(m));
        exit(1);
    }
}

/* Waits in between, or, on an odd rank, only for the last. */
static moot_array spawn_chain(moot *m, const moot_kernel_id kernels[2])
{
    moot_array array = {0}, before = {0};
    const moot_map_window near = {-1, 1, MOOT_EDGE_CUT};
    for (int step = 0; step <= steps; step++) {
        const moot_array_input input = {.array = before,
                                        .map = MOOT_MAP_WINDOW,
                                        .map_args = &near,
                                        .map_args_size = sizeof(near)};
        const moot_array_spec spec = {.kernel = kernels[step > 0],
                                      .count = WIDTH,
                                      .inputs = &input,
                                      .input_count = step > 0,
                                      .key = &step,
                                      .key_size = sizeof(step)};
        check(m, moot_array_spawn(m, &spec, &array), "a step is not spawned");
        if (step > 0) {
            check(m, moot_array_release(m, before), "a step is not let go");
        }
        if (step % wait_each == 0 && moot_rank(m) % 2 == 0) {
            check(m, moot_array_wait(m, array, MOOT_FOREVER), "a step ends ill");
        }
        before = array;
    }
    return array;
}

static void read_last(moot *m, moot_array last)
{
    uint64_t values[WIDTH];
    compute(values);
    check(m, moot_array_wait(m, last, MOOT_FOREVER), "the last step ends ill");
    for (uint64_t i = 0; i < WIDTH; i++) {
        moot_task element;
        const void *data = NULL;
        size_t size = 0;
        check(m, moot_array_at(m, last, i, &element), "an element is no task");
        check(m, moot_task_fetch(m, element, MOOT_FOREVER, &data, &size),
              "an element is not read");
        if (size != sizeof(uint64_t) || memcmp(data, &values[i], size) != 0) {
            fprintf(stderr, "array_chain: WRONG: rank %d, element %d\n", moot_rank(m),
                    (int)i);
            exit(1);
        }
        check(m, moot_task_release(m, element), "an element is not let go");
    }
}

int main(int argc, char **argv)
{
    moot *m;
    moot_kernel_id kernels[2];
    if (moot_open(NULL, &m) != MOOT_OK) {
        fprintf(stderr, "array_chain: %s\n", moot_last_error(NULL));
        return 1;
    }
    if (argc > 2 && moot_rank(m) == (int)strtol(argv[1], NULL, 10)) {
        dies_in = strtoul(argv[2], NULL, 10);
    }
    if (argc > 4) {
        steps = (int)strtol(argv[3], NULL, 10);
        wait_each = (int)strtol(argv[4], NULL, 10);
    }
    check(m,
          moot_kernel_register(m, &(moot_kernel){.name = "first", .fn = first},
                               &kernels[0]),
          "a kernel");
    check(m,
          moot_kernel_register(m, &(moot_kernel){.name = "next", .fn = next},
                               &kernels[1]),
          "a kernel");
    const moot_array last = spawn_chain(m, kernels);
    read_last(m, last);
    check(m, moot_array_release(m, last), "the last step is not let go");
    check(m, moot_close(m), "close");
    return 0;
}
