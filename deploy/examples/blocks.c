/* blocks.c - counts primes, block by block: a task array, and a sum of its elements.
 *
 *     mpirun -n 4 blocks [BLOCKS]
 *
 * One call spawns the array, whose element i counts the primes in block i.  Later
 * blocks take longer, so blocks go round the ranks (MOOT_SPREAD_CYCLIC).  Each rank
 * spends time on the elements that it runs, and on no others.  Then tasks take the
 * elements for their inputs, and sum them up.
 *
 * If a rank dies the others run what it had of the array.  Exit status: 0 right, 1 an
 * error, 2 bad arguments.
 */
#include <inttypes.h>
#include <moot.h>
#include <moot_array.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 1000, INPUTS_MAX = 64, BLOCKS_MAX = 4096, EXIT_ERROR = 1, EXIT_INPUT };

static int is_prime(uint64_t n)
{
    for (uint64_t d = 2; d * d <= n; d++) {
        if (n % d == 0) {
            return 0;
        }
    }
    return n > 1;
}

static int count_primes(moot_call *call, void *user)
{
    uint64_t *count = moot_call_output(call, sizeof(*count));
    const uint64_t first = moot_call_index(call) * BLOCK;
    (void)user;
    if (count == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *count = 0;
    for (uint64_t n = first; n < first + BLOCK; n++) {
        *count += (uint64_t)is_prime(n);
    }
    return MOOT_OK;
}

static int add(moot_call *call, void *user)
{
    uint64_t *sum = moot_call_output(call, sizeof(*sum));
    (void)user;
    if (sum == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *sum = 0;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        *sum += *(const uint64_t *)moot_call_input(call, i, NULL);
    }
    return MOOT_OK;
}

static void must(moot *m, int code)
{
    if (code != MOOT_OK) {
        fprintf(stderr, "blocks: %s\n", moot_last_error(m));
        exit(EXIT_ERROR);
    }
}

/* The sum of these tasks, in their place. */
static void add_up(moot *m, moot_kernel_id kernel, moot_task *tasks, size_t *count)
{
    size_t sums = 0;
    for (size_t at = 0; at < *count; at += INPUTS_MAX) {
        const size_t rest = *count - at;
        const size_t some = rest < INPUTS_MAX ? rest : INPUTS_MAX;
        moot_task sum;
        must(m, moot_task_spawn(m,
                                &(moot_task_spec){.kernel = kernel,
                                                  .inputs = &tasks[at],
                                                  .input_count = some},
                                &sum));
        for (size_t i = at; i < at + some; i++) {
            must(m, moot_task_release(m, tasks[i]));
        }
        tasks[sums++] = sum;
    }
    *count = sums;
}

int main(int argc, char **argv)
{
    static moot_task tasks[BLOCKS_MAX];
    moot *m;
    moot_kernel_id counting, adding;
    moot_array array;
    const void *data;
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    const size_t blocks = count;
    if (count < 1 || count > BLOCKS_MAX) {
        fprintf(stderr, "usage: blocks [BLOCKS]   (1 to %d)\n", BLOCKS_MAX);
        return EXIT_INPUT;
    }
    must(NULL, moot_open(NULL, &m));
    must(m, moot_kernel_register(m, &(moot_kernel){.name = "count", .fn = count_primes},
                                 &counting));
    must(m, moot_kernel_register(m, &(moot_kernel){.name = "add", .fn = add}, &adding));

    const moot_array_spec spec = {
        .kernel = counting, .count = blocks, .spread = {.kind = MOOT_SPREAD_CYCLIC}};
    must(m, moot_array_spawn(m, &spec, &array));
    for (size_t i = 0; i < blocks; i++) {
        must(m, moot_array_at(m, array, i, &tasks[i]));
    }
    must(m, moot_array_release(m, array));
    do {
        add_up(m, adding, tasks, &count);
    } while (count > 1);

    must(m, moot_task_fetch(m, tasks[0], MOOT_FOREVER, &data, NULL));
    printf("rank %d: %" PRIu64 " primes below %zu\n", moot_rank(m),
           *(const uint64_t *)data, blocks * BLOCK);
    must(m, moot_task_release(m, tasks[0]));
    must(NULL, moot_close(m));
    return 0;
}
