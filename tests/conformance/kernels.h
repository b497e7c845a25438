/* kernels.h - the kernels that the runtime's tests run, and short ways to spawn them.
 */
#ifndef TESTS_CONFORMANCE_KERNELS_H
#define TESTS_CONFORMANCE_KERNELS_H

#include "tests/conformance/ranks.h"

enum {
    SQUARE,
    SUM,
    FAIL,
    EMPTY,
    SILENT,
    BIG,
    SLOW,
    TREE,
    ONCE,
    FORGER,
    GATE,
    LOSER,
    RELAY
};

static atomic_int square_runs, sum_runs, once_runs, tree_runs;
static atomic_bool gate_open;
static atomic_int gates_standing; /* kernels that wait for it */

static inline int square(moot_call *call, void *user)
{
    (void)user;
    size_t size;
    const uint64_t *x = moot_call_args(call, &size);
    uint64_t *y = moot_call_output(call, sizeof(*y));
    if (x == NULL || size != sizeof(*x) || y == NULL) {
        return moot_call_fail(call, 1, "no argument");
    }
    *y = *x * *x;
    square_runs++;
    return MOOT_OK;
}

static inline int sum(moot_call *call, void *user)
{
    (void)user;
    uint64_t total = 0;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        size_t size;
        const uint64_t *x = moot_call_input(call, i, &size);
        if (x == NULL || size != sizeof(*x)) {
            return moot_call_fail(call, 2, "input of another size");
        }
        total += *x;
    }
    size_t size;
    const uint64_t *more = moot_call_args(call, &size);
    total += more != NULL ? *more : 0;
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = total;
    sum_runs++;
    return MOOT_OK;
}

static inline int fail(moot_call *call, void *user)
{
    (void)user;
    return moot_call_fail(call, 7, "the pump is dry");
}

static inline int empty(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static inline int silent(moot_call *call, void *user)
{
    (void)call;
    (void)user;
    return MOOT_OK;
}

/* args: how many bytes. */
static inline int big(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *bytes = moot_call_args(call, NULL);
    unsigned char *out = moot_call_output(call, bytes != NULL ? (size_t)*bytes : 0);
    if (out == NULL || bytes == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    for (uint64_t i = 0; i < *bytes; i++) {
        out[i] = (unsigned char)(i * 31 + i / 251);
    }
    return MOOT_OK;
}

/* args: milliseconds. */
static inline int slow(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *ms = moot_call_args(call, NULL);
    nap_ms(ms != NULL ? (long)*ms : 0);
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* Waits until the gate opens, so that what stands behind it in the queue stays there.
 */
static inline int gate(moot_call *call, void *user)
{
    (void)user;
    gates_standing++;
    while (!gate_open) {
        nap_ms(1);
    }
    gates_standing--;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* args: depth.  Gives the number of nodes below and with itself: 2^(depth+1) - 1. */
static inline int tree(moot_call *call, void *user)
{
    const moot_kernel_id *self = user;
    const uint64_t *depth = moot_call_args(call, NULL);
    uint64_t count = 1;
    tree_runs++;
    for (int i = 0; depth != NULL && *depth > 0 && i < 2; i++) {
        struct {
            uint64_t depth, side;
        } args = {*depth - 1, (uint64_t)i};
        moot_task child;
        int error = moot_call_spawn(call,
                                    &(moot_task_spec){.kernel = *self,
                                                      .args = &args,
                                                      .args_size = sizeof(args)},
                                    &child);
        const void *data;
        size_t size;
        if (error == MOOT_OK) {
            error = moot_call_wait(call, child, &data, &size);
        }
        if (error != MOOT_OK) {
            return moot_call_fail(call, error,
                                  moot_last_error(moot_call_context(call)));
        }
        uint64_t below;
        memcpy(&below, data, sizeof(below));
        count += below;
    }
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = count;
    return MOOT_OK;
}

/* args: depth.  The deepest fails; those above pass the code on without a word. */
static inline int loser(moot_call *call, void *user)
{
    const moot_kernel_id *self = user;
    const uint64_t *depth = moot_call_args(call, NULL);
    if (depth == NULL || *depth == 0) {
        return moot_call_fail(call, 7, "the pump is dry");
    }
    uint64_t below = *depth - 1;
    moot_task_spec spec = {.kernel = *self, .args = &below, .args_size = sizeof(below)};
    moot_task child;
    int error = moot_call_spawn(call, &spec, &child);
    return error != MOOT_OK ? error : moot_call_wait(call, child, NULL, NULL);
}

/* args: a task's hash.  Gives that task's result, by way of a child. */
static inline int relay(moot_call *call, void *user)
{
    const moot_kernel_id *sum_kernel = user;
    const moot_hash *source = moot_call_args(call, NULL);
    uint64_t none = 0;
    moot_task_spec spec = {.kernel = *sum_kernel,
                           .args = &none,
                           .args_size = sizeof(none),
                           .input_hashes = source,
                           .input_hash_count = 1};
    moot_task child;
    const void *data = NULL;
    int error = moot_call_spawn(call, &spec, &child);
    if (error == MOOT_OK) {
        error = moot_call_wait(call, child, &data, NULL);
    }
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (error != MOOT_OK || out == NULL) {
        return error;
    }
    memcpy(out, data, sizeof(*out));
    return MOOT_OK;
}

static inline int once(moot_call *call, void *user)
{
    (void)user;
    once_runs++;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static moot_task foreign_child; /* of the program: no kernel may wait for it */

static inline int forger(moot_call *call, void *user)
{
    (void)user;
    const void *data;
    size_t size;
    int *code = moot_call_output(call, sizeof(*code));
    if (code == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *code = moot_call_wait(call, foreign_child, &data, &size);
    return MOOT_OK;
}

static inline void kernels(struct seat *seat)
{
    add_kernel(seat, SQUARE, "square", square, 0);
    add_kernel(seat, SUM, "sum", sum, 0);
    add_kernel(seat, FAIL, "fail", fail, 0);
    add_kernel(seat, EMPTY, "empty", empty, 0);
    add_kernel(seat, SILENT, "silent", silent, 0);
    add_kernel(seat, BIG, "big", big, 0);
    add_kernel(seat, SLOW, "slow", slow, 0);
    add_kernel(seat, ONCE, "once", once, MOOT_KERNEL_ONCE);
    add_kernel(seat, FORGER, "forger", forger, 0);
    add_kernel(seat, GATE, "gate", gate, 0);
    moot_kernel node = {.name = "tree",
                        .version = 1,
                        .fn = tree,
                        .user = &seat->kernels[TREE],
                        .flags = MOOT_KERNEL_PORTABLE};
    EXPECT(seat, moot_kernel_register(seat->m, &node, &seat->kernels[TREE]), MOOT_OK);
    moot_kernel relayer = {
        .name = "relay", .version = 1, .fn = relay, .user = &seat->kernels[SUM]};
    EXPECT(seat, moot_kernel_register(seat->m, &relayer, &seat->kernels[RELAY]),
           MOOT_OK);
    node.name = "loser";
    node.fn = loser;
    node.user = &seat->kernels[LOSER];
    EXPECT(seat, moot_kernel_register(seat->m, &node, &seat->kernels[LOSER]), MOOT_OK);
}

/* --- Spawning with less to write ------------------------------------------------ */

static inline moot_task spawn_u64(struct seat *seat, int kernel, uint64_t value)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[kernel],
                                             .args = &value,
                                             .args_size = sizeof(value)},
                           &task),
           MOOT_OK);
    return task;
}

/* The hash of what spawn_u64 would spawn. */
static inline moot_hash hash_u64(struct seat *seat, int kernel, uint64_t value)
{
    moot_hash hash = {0};
    EXPECT(seat,
           moot_spec_hash(seat->m,
                          &(moot_task_spec){.kernel = seat->kernels[kernel],
                                            .args = &value,
                                            .args_size = sizeof(value)},
                          &hash),
           MOOT_OK);
    return hash;
}

static inline moot_task spawn_relay(struct seat *seat, moot_hash source)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[RELAY],
                                             .args = &source,
                                             .args_size = sizeof(source)},
                           &task),
           MOOT_OK);
    return task;
}

static inline moot_task spawn_sum(struct seat *seat, const moot_task *inputs,
                                  size_t count, uint64_t more)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[SUM],
                                             .args = &more,
                                             .args_size = sizeof(more),
                                             .inputs = inputs,
                                             .input_count = count},
                           &task),
           MOOT_OK);
    return task;
}

static inline uint64_t fetch_u64(struct seat *seat, moot_task task)
{
    const void *data = NULL;
    size_t size = 0;
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &size), MOOT_OK);
    uint64_t value = 0;
    CHECK(seat, size == sizeof(value));
    if (data != NULL && size == sizeof(value)) {
        memcpy(&value, data, sizeof(value));
    }
    return value;
}

static inline moot_stats stats_of(struct seat *seat)
{
    moot_stats stats = {0};
    EXPECT(seat, moot_stats_get(seat->m, &stats), MOOT_OK);
    return stats;
}

static inline void meet(struct seat *seat) { pthread_barrier_wait(seat->barrier); }

static inline void closes_well(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_OK);
}

#define SCENE(fn, ...)                                                                 \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = kernels, .after = closes_well, \
        __VA_ARGS__                                                                    \
    }

#endif
