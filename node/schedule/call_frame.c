/* call_frame.c - what a running kernel calls: its inputs, its output.
 *
 * A call is valid on the thread that runs the kernel and only there; a pointer that is
 * NULL gives empty answers and INVALID.
 */
#include "node/schedule/call_frame.h"

#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "node/engine/engine.h"
#include "node/schedule/descendants.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/element_inputs.h"

#include <stdlib.h>
#include <string.h>

/* --- Life ----------------------------------------------------------------------- */

static bool clear_call(struct moot_call *call, struct moot *m, struct task *task)
{
    memset(call, 0, offsetof(struct moot_call, inline_inputs));
    call->m = m;
    call->task = task;
    call->inputs = call->inline_inputs;
    call->small = payloads_take(&m->store.payloads);
    return call->small != NULL;
}

HOT bool call_begin(struct moot_call *call, struct moot *m, struct task *task)
{
    const bool begun = clear_call(call, m, task);
    uint32_t count = task_data_count(task);
    if (count > CALL_INPUTS_INLINE) {
        call->inputs = calloc(count, sizeof(struct payload *));
        if (call->inputs == NULL) {
            call->inputs = call->inline_inputs;
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct task *input = task_input(task, i);
        call->inputs[i] = input->payload;
        call->takes_foreign |= !input->own;
    }
    call->input_count = count;
    return begun;
}

HOT void call_end(struct moot_call *call)
{
    if (!call->check && !call->element && !family_make(call)) {
        engine_starve(call->m, "no memory for a task's children");
    }
    if (call->child_count > 0) {
        engine_end_batches(call->m); /* they may be inputs of what has no record yet */
    }
    for (size_t i = 0; i < call->child_count; i++) {
        struct handle *handle;
        if (task_handle_find(call->m, call->children[i], &handle) == MOOT_OK) {
            task_handle_end(call->m, handle);
        }
    }
    for (size_t i = 0; i < call->borrowed_count; i++) {
        payload_drop(call->borrowed[i]);
    }
    if (call->small != call->output) {
        payload_drop(call->small);
    }
    while (call->discarded != NULL) {
        struct payload *next = call->discarded->next;
        payload_drop(call->discarded);
        call->discarded = next;
    }
    free(call->checkpoint.state);
    free(call->input_hashes);
    free(call->children);
    free(call->released);
    free(call->borrowed);
    if (call->inputs != call->inline_inputs) {
        free(call->inputs);
    }
}

void call_of_element(struct moot_call *call, struct elements *array, uint64_t place)
{
    call->array = array;
    call->input_count = 0; /* those of the task, which may be one that reads */
    call->place = place;
    call->index = array_index(&array->spread, place);
    call->named = ELEMENT_NAMELESS;
}

HOT bool call_begin_element(struct moot_call *call, struct moot *m,
                            struct elements *array, uint64_t place)
{
    const bool begun = clear_call(call, m, array->task);
    call->element = true;
    call_of_element(call, array, place);
    return begun;
}

bool call_take_inputs(struct moot_call *call)
{
    const size_t count =
        links_fill(call->array, call->place, CALL_INPUTS_INLINE, call->inputs);
    if (count > CALL_INPUTS_INLINE) {
        call->inputs = calloc(count, sizeof(struct payload *));
        if (call->inputs == NULL) {
            call->inputs = call->inline_inputs;
            return false;
        }
        links_fill(call->array, call->place, count, call->inputs);
    }
    call->input_count = count;
    return true;
}

/* --- Reading and writing -------------------------------------------------------- */

static const void *give(const void *data, size_t size, size_t *size_out)
{
    if (size_out != NULL) {
        *size_out = size;
    }
    return size > 0 ? data : NULL;
}

HOT const void *moot_call_args(const moot_call *call, size_t *size)
{
    if (call == NULL) {
        return give(NULL, 0, size);
    }
    if (call->array != NULL) {
        return give(call->array->args, call->array->args_size, size);
    }
    return give(call->task->args, call->task->args_size, size);
}

HOT size_t moot_call_input_count(const moot_call *call)
{
    return call != NULL ? call->input_count : 0;
}

HOT const void *moot_call_input(const moot_call *call, size_t i, size_t *size)
{
    if (call == NULL || i >= call->input_count || call->inputs[i] == NULL) {
        return give(NULL, 0, size);
    }
    return give(call->inputs[i]->data, (size_t)call->inputs[i]->size, size);
}

/* NULL without memory, and if the moot has gone back meanwhile. */
static const moot_hash *hash_of_taken(struct moot_call *call, uint32_t i)
{
    if (call->input_hashes == NULL) {
        call->input_hashes = calloc(call->input_count, sizeof(*call->input_hashes));
    }
    moot_hash *hash = call->input_hashes != NULL ? &call->input_hashes[i] : NULL;
    if (hash != NULL && hash_is_zero(hash)) {
        *hash = links_hash(call->array, call->place, i);
    }
    return hash != NULL && !hash_is_zero(hash) ? hash : NULL;
}

/* The core keeps the inputs' records until the task has ended. */
static const moot_hash *hash_of_input(const struct task *task, uint32_t i)
{
    const struct task *input = i < task_data_count(task) ? task_input(task, i) : NULL;
    return input != NULL ? &input->hash : NULL;
}

const moot_hash *moot_call_input_hash(const moot_call *call, size_t i)
{
    if (call == NULL || i >= call->input_count) {
        return NULL;
    }
    engine_lock(call->m);
    const moot_hash *hash =
        call->array != NULL
            ? hash_of_taken((struct moot_call *)(uintptr_t)call, (uint32_t)i)
            : hash_of_input(call->task, (uint32_t)i);
    engine_unlock(call->m);
    return hash;
}

void call_set_output(struct moot_call *call, struct payload *output)
{
    if (call->output != NULL && call->output != call->small) {
        call->output->next = call->discarded;
        call->discarded = call->output;
    }
    call->output = output;
    call->no_memory = false;
}

HOT void *moot_call_output(moot_call *call, size_t size)
{
    if (call == NULL) {
        return NULL;
    }
    struct payload *output = call->small;
    if (size <= PAYLOAD_SMALL_BYTES) {
        payload_fit(output, size);
    } else {
        output = payloads_new(&call->m->store.payloads, size);
    }
    if (output == NULL) {
        call->no_memory = true;
        return NULL;
    }
    call_set_output(call, output);
    return output->data;
}

int moot_call_fail(moot_call *call, int code, const char *why)
{
    code = code != 0 ? code : MOOT_ERR_KERNEL_CODE;
    if (call != NULL) {
        text_clear(&call->why);
        text_add(&call->why, "%.*s", (int)LIMIT_ERROR_STORY_BYTES,
                 why != NULL ? why : "");
    }
    return code;
}

bool moot_call_cancelled(const moot_call *call)
{
    return call != NULL && __atomic_load_n(&call->task->cancelled, __ATOMIC_ACQUIRE);
}

moot *moot_call_context(const moot_call *call) { return call != NULL ? call->m : NULL; }

/* An element's hash takes as long as a small kernel, and few ask: whoever asks first
 * works it out, and other threads of the kernel wait for that. */
static const moot_hash *hash_of_element(struct moot_call *call)
{
    int named = ELEMENT_NAMELESS;
    if (__atomic_compare_exchange_n(&call->named, &named, ELEMENT_BEING_NAMED, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        call->element_hash = identity_element(&call->array->task->hash, call->index);
        __atomic_store_n(&call->named, ELEMENT_NAMED, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&call->named, __ATOMIC_ACQUIRE) != ELEMENT_NAMED) {
    }
    return &call->element_hash;
}

const moot_hash *moot_call_hash(const moot_call *call)
{
    return call == NULL          ? NULL
           : call->array != NULL ? hash_of_element((struct moot_call *)(uintptr_t)call)
                                 : &call->task->hash;
}

uint64_t call_ran_ns(const struct moot_call *call, uint64_t now_ns)
{
    uint64_t until_ns = call->state == CALL_STOPPED ? call->stopped_ns : now_ns;
    uint64_t past_ns = call->began_ns + call->away_ns;
    return until_ns > past_ns ? until_ns - past_ns : 0;
}
