/* data_call.c - what the kernels of tasks with data handles call: a version that is
 * changed in place where that is safe, and results of several parts (data.h). */
#include "node/compose/data.h"

#include "node/engine/engine.h"
#include "node/schedule/call_frame.h"
#include "node/tasks/kernel.h"
#include "node/tasks/task.h"

#include <assert.h>
#include <string.h>

/* --- Changing a version --------------------------------------------------------- */

/* Takes the input's own memory over, if nobody can see these bytes any more: the core
 * has to agree, which knows who may ask for them.  Their owner keeps its copy.
 * A kernel that is tried again after it failed must find them as they were. */
static bool take_bytes(struct moot *m, struct moot_call *call, size_t i)
{
    struct task *task = task_input(call->task, (uint32_t)i);
    struct payload *payload = task->payload;
    if (payload == NULL || payload != call->inputs[i] ||
        payload->size <= PAYLOAD_SMALL_BYTES || payload->references > 1 || task->own ||
        task->gone || task->pins > 0 || task->handle_count > 0 || task->lingers ||
        m->engine.fatal != 0 || call->task->kernel->retries > 0) {
        return false;
    }
    engine_settle(m);
    if (!core_release(m->core, &task->hash, task_entry(task), 1)) {
        return false;
    }
    task->payload = NULL;
    call_set_output(call, payload);
    return true;
}

static void *copy_bytes(struct moot_call *call, size_t i)
{
    const struct payload *input = call->inputs[i];
    void *output = moot_call_output(call, (size_t)input->size);
    if (output == NULL) {
        return NULL;
    }
    if (input->size > 0) {
        memcpy(output, input->data, (size_t)input->size);
    }
    call->inputs[i] = call->output;
    return output;
}

void *moot_call_update(moot_call *call, size_t i)
{
    if (call == NULL || i >= call->input_count || call->inputs[i] == NULL) {
        return NULL;
    }
    if (call->inputs[i] == call->output) {
        return call->output->data;
    }
    struct lane *lane = engine_enter(call->m);
    if (lane == NULL) {
        return NULL;
    }
    bool taken = lane->call == call && take_bytes(call->m, call, i);
    engine_leave(call->m);
    return taken ? call->output->data : copy_bytes(call, i);
}

/* --- Parts ---------------------------------------------------------------------- */

/* Before the first part: where each of them is. */
struct parts_head {
    char mark[8];
    uint64_t count;
    struct {
        uint64_t at, size;
    } parts[LIMIT_PARTS];
};

static const char PARTS_MARK[8] = {'m', 'o', 'o', 't', 'p', 'a', 'r', 't'};

static uint64_t aligned(uint64_t size)
{
    return (size + PAYLOAD_ALIGN - 1) / PAYLOAD_ALIGN * PAYLOAD_ALIGN;
}

int moot_call_parts(moot_call *call, size_t count, const size_t *sizes, void **parts)
{
    if (call == NULL || sizes == NULL || parts == NULL || count == 0) {
        return thread_fail(MOOT_ERR_INVALID, "moot_call_parts: %s",
                           call == NULL    ? "the call is NULL"
                           : count == 0    ? "count is 0"
                           : sizes == NULL ? "the array of sizes is NULL"
                                           : "the array of parts is NULL");
    }
    if (count > LIMIT_PARTS) {
        return thread_fail(MOOT_ERR_LIMIT, "moot_call_parts: more than %u parts",
                           LIMIT_PARTS);
    }
    struct parts_head head = {.count = count};
    memcpy(head.mark, PARTS_MARK, sizeof(head.mark));
    uint64_t end = aligned(sizeof(head));
    for (size_t i = 0; i < count; i++) {
        head.parts[i].at = end;
        head.parts[i].size = sizes[i];
        if (sizes[i] > LIMIT_RESULT_BYTES) {
            return thread_fail(MOOT_ERR_NO_MEMORY,
                               "moot_call_parts: part %zu is too big", i);
        }
        end += aligned(sizes[i]);
    }
    unsigned char *output = moot_call_output(call, (size_t)end);
    if (output == NULL) {
        return thread_fail(MOOT_ERR_NO_MEMORY, "moot_call_parts: no memory");
    }
    memcpy(output, &head, sizeof(head));
    for (size_t i = 0; i < count; i++) {
        uint64_t tail = head.parts[i].at + sizes[i];
        uint64_t next = i + 1 < count ? head.parts[i + 1].at : end;
        memset(output + tail, 0, (size_t)(next - tail)); /* equal bytes on any rank */
        parts[i] = output + head.parts[i].at;
    }
    memset(output + sizeof(head), 0, (size_t)(head.parts[0].at - sizeof(head)));
    return MOOT_OK;
}

/* False if the bytes are no result of parts, or have no such part. */
static bool find_part(const unsigned char *bytes, size_t size, uint32_t number,
                      struct parts_head *head)
{
    if (size < sizeof(*head)) {
        return false;
    }
    memcpy(head, bytes, sizeof(*head));
    return memcmp(head->mark, PARTS_MARK, sizeof(head->mark)) == 0 &&
           head->count <= LIMIT_PARTS && number < head->count &&
           head->parts[number].at <= size &&
           head->parts[number].size <= size - head->parts[number].at;
}

int data_part(moot_call *call, void *user)
{
    (void)user;
    size_t size;
    uint32_t number;
    struct parts_head head;
    const void *argument = moot_call_args(call, &size);
    if (argument == NULL || size != sizeof(number)) {
        return moot_call_fail(call, MOOT_ERR_INVALID, "a part's number is missing");
    }
    memcpy(&number, argument, sizeof(number));
    const unsigned char *whole = moot_call_input(call, 0, &size);
    if (!find_part(whole, size, number, &head)) {
        return moot_call_fail(call, MOOT_ERR_NO_OUTPUT,
                              "the task writes several handles, and its kernel did not "
                              "make a part for each (moot_call_parts)");
    }
    size_t part_size = (size_t)head.parts[number].size;
    void *output = moot_call_output(call, part_size);
    if (output == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (part_size > 0) {
        memcpy(output, whole + head.parts[number].at, part_size);
    }
    return MOOT_OK;
}
