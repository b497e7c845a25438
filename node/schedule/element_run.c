/* element_run.c - see element_run.h. */
#include "node/schedule/element_run.h"

#include "hashing/base/hot.h"
#include "node/checkpoint/checkpoint.h"
#include "node/engine/clock.h"
#include "node/engine/engine.h"
#include "node/schedule/element_end.h"
#include "node/tasks/board.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/kernel.h"

#include <string.h>

static bool is_watched(const struct moot *m, const struct elements *elements)
{
    return elements->once || checkpoint_is_on(m) || m->faults.plan != NULL ||
           m->record.trace != NULL;
}

/* How many a thread may take behind the first: its share of what is ready, so that
 * other threads have theirs, and no more than are known to be short. */
static uint64_t share_of(const struct moot *m, const struct elements *elements)
{
    const uint64_t threads = m->schedule.worker_count + m->schedule.program_waits;
    const uint64_t share = (elements_ready(elements) + 1) / (threads + (threads == 0));
    const uint32_t runs = elements->task->kernel->short_runs;
    const uint64_t most = runs < ELEMENT_RUN_MAX ? runs : ELEMENT_RUN_MAX;
    return share < most ? share : most;
}

static bool take(struct moot *m, struct elements *elements, struct element_next *next)
{
    next->output = payloads_take(&m->store.payloads);
    if (next->output == NULL || !elements_take_of(m, elements, &next->place)) {
        payload_drop(next->output);
        return false;
    }
    next->input_count = 0;
    if (elements->link_count > 0) {
        next->input_count =
            links_fill(elements, next->place, CALL_INPUTS_INLINE, next->inputs);
    }
    return true;
}

HOT void element_run_take(struct moot *m, struct element_run *run,
                          const struct moot_call *call)
{
    struct elements *elements = call->array;
    run->count = run->ended = 0;
    if (m->schedule.elements != elements || elements->lacks || call->task->alone ||
        is_watched(m, elements)) {
        return;
    }
    const uint64_t most = share_of(m, elements);
    while (run->count < most && take(m, elements, &run->of[run->count])) {
        if (run->of[run->count++].input_count > CALL_INPUTS_INLINE) {
            break;
        }
    }
    if (run->count > 0) {
        run->clock = m->engine.clock;
        run->began_ns = m->now_ns;
    }
}

/* The element has returned, with a small result, and has left nothing else. */
static bool is_plain(const struct moot_call *call, int code)
{
    return code == MOOT_OK && call->output != NULL && call->output == call->small &&
           call->discarded == NULL && call->input_hashes == NULL &&
           call->queues.top == NULL && call->mishap == NULL &&
           call->why.bytes == NULL && call->mishap_story.bytes == NULL;
}

HOT bool element_run_next(struct element_run *run, struct moot_call *call, int code)
{
    if (run->ended == run->count) {
        return false;
    }
    struct element_next *next = &run->of[run->ended];
    if (!is_plain(call, code) || next->input_count > CALL_INPUTS_INLINE ||
        __atomic_load_n(&call->task->cancelled, __ATOMIC_ACQUIRE) ||
        clock_look(&run->clock, 0) - run->began_ns > ELEMENT_SLOW_NS) {
        return false;
    }
    const uint64_t place = next->place;
    struct payload *output = next->output;
    call->input_count = next->input_count;
    memcpy(call->inputs, next->inputs, next->input_count * sizeof(*next->inputs));
    next->place = call->place;
    next->output = call->output;
    run->ended++;
    call->place = place;
    __atomic_store_n(&call->index, array_index(&call->array->spread, place),
                     __ATOMIC_RELAXED); /* other threads may look */
    board_go_on(call->lane->seat, call->index + 1);
    call->named = ELEMENT_NAMELESS;
    call->small = output;
    call->output = NULL;
    return true;
}

HOT void element_run_end(struct moot *m, struct element_run *run,
                         const struct moot_call *call)
{
    const uint32_t count = run->count, ended = run->ended;
    run->count = run->ended = 0;
    for (uint32_t i = 0; i < ended; i++) {
        element_end_well(m, call->array, run->of[i].place, run->of[i].output);
    }
    for (uint32_t i = ended; i < count; i++) {
        payload_drop(run->of[i].output);
        element_put_back(m, call->array, run->of[i].place);
    }
}
