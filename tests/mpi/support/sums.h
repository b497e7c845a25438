/* sums.h - tasks that add up: a number of their own and the results that they take, in
 * an order that shows; without MPI, so also after a death.
 */
#ifndef TESTS_MPI_SUPPORT_SUMS_H
#define TESTS_MPI_SUPPORT_SUMS_H

#include "node/api/moot.h"
#include "tests/mpi/support/must.h"

#include <string.h>

/* A kernel: its argument, and then 31 times the sum so far and the next input. */
static int add_up(moot_call *call, void *user)
{
    (void)user;
    size_t size = 0;
    uint64_t sum = 0, word;
    memcpy(&sum, moot_call_args(call, &size), sizeof(sum));
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

static moot_task spawn(moot *m, moot_kernel_id kernel, uint64_t number,
                       const moot_task *inputs, size_t count)
{
    moot_task task = {0};
    must(m,
         moot_task_spawn(m,
                         &(moot_task_spec){.kernel = kernel,
                                           .args = &number,
                                           .args_size = sizeof(number),
                                           .inputs = inputs,
                                           .input_count = count},
                         &task),
         "spawn");
    return task;
}

#endif
