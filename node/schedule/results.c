/* results.c - see results.h. */
#include "node/schedule/results.h"

#include "node/engine/engine.h"
#include "node/record/task_watch.h"
#include "node/schedule/verify.h"
#include "node/tasks/task.h"

static uint32_t rank_of_uid(const struct moot *m, uint64_t uid)
{
    uint32_t rank = 0;
    while (rank < m->group.size && m->group.uids[rank] != uid) {
        rank++;
    }
    return rank;
}

void result_carry(struct moot *m, const struct core_output *output)
{
    const struct message_result *result = &output->u.result;
    struct task *task = output->user;
    if (task == NULL) {
        task = task_enter(m, &output->hash);
    }
    if (task == NULL) {
        engine_fail_all(m, MOOT_ERR_NO_MEMORY, "no memory for an accepted result");
        return;
    }
    task->known = true;
    task->status = result->status;
    m->schedule.any_failed |= result->status != MOOT_OK;
    task->size = result->size;
    if (result->data != RESULT_BARE) {
        payload_drop(task->payload);
        task->payload = inbox_take_payload(m);
    }
    observe_end(m, task);
    if (result->digest != 0) {
        verify_result(m, task, rank_of_uid(m, result->owner_uid), result->digest);
    }
    m->counts.results_received++; /* the arguments stay: it may have to run again */
}
