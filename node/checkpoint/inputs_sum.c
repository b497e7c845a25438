/* inputs_sum.c - see inputs_sum.h. */
#include "node/checkpoint/inputs_sum.h"

#include <xxhash.h>

uint64_t inputs_sum(struct call_checkpoint *call)
{
    if (!call->compares || call->input_count == 0) {
        return 0;
    }
    if (!call->summed) {
        uint64_t sum = 0;
        for (size_t i = 0; i < call->input_count; i++) {
            const struct payload *input = call->inputs[i];
            sum = input != NULL && input->size > 0
                      ? XXH3_64bits_withSeed(input->data, (size_t)input->size, sum)
                      : XXH3_64bits_withSeed("", 0, sum);
        }
        call->inputs_sum = sum != 0 ? sum : 1;
        call->summed = true;
    }
    return call->inputs_sum;
}

bool inputs_sum_fits(struct call_checkpoint *call, uint64_t recorded)
{
    return recorded == 0 || !call->compares || recorded == inputs_sum(call);
}
