/* kept.c - see kept.h. */
#include "node/checkpoint/kept.h"

#include "node/checkpoint/inputs_sum.h"
#include "node/checkpoint/policy.h"
#include "node/diskstore/diskstore.h"
#include "node/engine/engine.h"
#include "node/faults/faults.h"
#include "node/tasks/kernel.h"

#include <stdlib.h>
#include <string.h>

/* Results that wait for the policy are written before they are more than this. */
#define WAITING_BYTES_MAX (UINT64_C(64) << 20)

/* The store does not say whether its queue is full or memory is: this often it is tried
 * again, each time when there is room. */
enum { TRIES_MAX = 64 };

struct kept_result {
    struct kept_result *next;
    struct moot *m;
    struct payload *payload;
    const struct kernel *kernel;
    moot_hash hash;
    uint64_t took_ns;
    uint64_t inputs; /* the sum of them; 0: none */
    uint32_t generation;
    char label[]; /* "": none */
};

/* --- Records ---------------------------------------------------------------------- */

static struct diskstore_record record_of(const struct task *task,
                                         const struct call_checkpoint *call,
                                         enum diskstore_kind kind)
{
    const struct kernel *kernel = task->kernel;
    return (struct diskstore_record){.hash = task->hash,
                                     .kind = kind,
                                     .kernel = kernel->name,
                                     .label = call->label,
                                     .build = kernel->build,
                                     .build_size = kernel->build_size,
                                     .version = kernel->version,
                                     .generation = call->generation};
}

static void count_stored(struct moot *m, uint64_t size)
{
    __atomic_fetch_add(&m->checkpoint.stored, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&m->checkpoint.stored_bytes, size, __ATOMIC_RELAXED);
}

/* By the thread that writes. */
static void on_written(void *context, bool stored)
{
    struct kept_result *kept = context;
    struct moot_checkpoint *checkpoint = &kept->m->checkpoint;
    if (stored) {
        count_stored(kept->m, kept->payload->size);
    }
    pthread_mutex_lock(&checkpoint->lock);
    kept->next = checkpoint->written;
    checkpoint->written = kept;
    pthread_mutex_unlock(&checkpoint->lock);
}

/* False: there is no room now. */
static bool put(struct kept_result *kept)
{
    const struct kernel *kernel = kept->kernel;
    const struct diskstore_record record = {.hash = kept->hash,
                                            .kind = DISKSTORE_RESULT,
                                            .status = MOOT_OK,
                                            .kernel = kernel->name,
                                            .label = kept->label,
                                            .build = kernel->build,
                                            .build_size = kernel->build_size,
                                            .version = kernel->version,
                                            .took_ns = kept->took_ns,
                                            .generation = kept->generation,
                                            .inputs = kept->inputs,
                                            .data = kept->payload->data,
                                            .size = kept->payload->size};
    return diskstore_put(kept->m->checkpoint.store, &record, on_written, kept);
}

static void put_patiently(struct kept_result *kept)
{
    struct diskstore *store = kept->m->checkpoint.store;
    for (int i = 0; i < TRIES_MAX; i++) {
        if (put(kept)) {
            return;
        }
        diskstore_wait_room(store, kept->payload->size);
    }
    on_written(kept, false);
}

/* --- Lists ------------------------------------------------------------------------ */

static struct kept_result *take_list(struct moot *m, struct kept_result **list)
{
    pthread_mutex_lock(&m->checkpoint.lock);
    struct kept_result *all = *list;
    *list = NULL;
    if (list == &m->checkpoint.waiting) {
        m->checkpoint.waiting_bytes = 0;
    }
    pthread_mutex_unlock(&m->checkpoint.lock);
    return all;
}

/* Whether too much waits now. */
static bool add_waiting(struct kept_result *kept)
{
    struct moot_checkpoint *checkpoint = &kept->m->checkpoint;
    pthread_mutex_lock(&checkpoint->lock);
    kept->next = checkpoint->waiting;
    checkpoint->waiting = kept;
    checkpoint->waiting_bytes += sizeof(*kept) + kept->payload->size;
    const bool full = checkpoint->waiting_bytes > WAITING_BYTES_MAX;
    pthread_mutex_unlock(&checkpoint->lock);
    return full;
}

void kept_write_out(struct moot *m)
{
    struct kept_result *kept = take_list(m, &m->checkpoint.waiting);
    while (kept != NULL) {
        struct kept_result *next = kept->next;
        put_patiently(kept);
        kept = next;
    }
}

void kept_write_some(struct moot *m)
{
    struct kept_result *kept = take_list(m, &m->checkpoint.waiting);
    while (kept != NULL) {
        struct kept_result *next = kept->next;
        if (!put(kept)) {
            (void)add_waiting(kept);
        }
        kept = next;
    }
}

void kept_drop(struct moot *m)
{
    struct kept_result *kept = take_list(m, &m->checkpoint.written);
    while (kept != NULL) {
        struct kept_result *next = kept->next;
        payload_drop(kept->payload);
        free(kept);
        kept = next;
    }
}

/* --- Storing ---------------------------------------------------------------------- */

static bool is_worth(struct moot *m, const struct checkpoint_end *end)
{
    const int64_t least_ns = m->knobs.checkpoint_least_ns;
    return end->took_ns >=
           (least_ns != KNOB_AUTO
                ? (uint64_t)least_ns
                : diskstore_cost_ns(m->checkpoint.store, end->payload->size));
}

static void pass_point(struct moot *m)
{
    if (m->faults.plan != NULL) {
        engine_lock(m);
        faults_at_point(m, CORE_POINT_CHECKPOINT_WRITE);
        engine_unlock(m);
    }
}

static void keep_now(struct moot *m, const struct task *task,
                     struct call_checkpoint *call, const struct checkpoint_end *end)
{
    struct diskstore_record record = record_of(task, call, DISKSTORE_RESULT);
    record.took_ns = end->took_ns;
    record.inputs = inputs_sum(call);
    record.data = end->payload->data;
    record.size = end->payload->size;
    if (diskstore_put_now(m->checkpoint.store, &record)) {
        count_stored(m, record.size);
    }
}

void checkpoint_keep(struct moot *m, const struct task *task,
                     struct call_checkpoint *call, const struct checkpoint_end *end)
{
    if (!call->keeps) {
        return;
    }
    if (!call->now && !is_worth(m, end)) {
        __atomic_fetch_add(&m->checkpoint.brief, 1, __ATOMIC_RELAXED);
        return;
    }
    pass_point(m);
    if (call->now) {
        keep_now(m, task, call, end);
        return;
    }
    const size_t label = call->label != NULL ? strlen(call->label) : 0;
    struct kept_result *kept = malloc(sizeof(*kept) + label + 1);
    if (kept == NULL) {
        return; /* it runs again, if there is another time */
    }
    *kept = (struct kept_result){.m = m,
                                 .payload = payload_hold(end->payload),
                                 .kernel = task->kernel,
                                 .hash = task->hash,
                                 .took_ns = end->took_ns,
                                 .inputs = inputs_sum(call),
                                 .generation = call->generation};
    memcpy(kept->label, label > 0 ? call->label : "", label + 1);
    if (!policy_waits(&m->checkpoint.policy)) {
        put_patiently(kept);
    } else if (add_waiting(kept)) {
        kept_write_out(m);
    }
}

void checkpoint_keep_failure(struct moot *m, const struct task *task,
                             const struct call_checkpoint *call)
{
    struct diskstore_record record = record_of(task, call, DISKSTORE_RESULT);
    record.status = task->status;
    record.data = task->payload != NULL ? task->payload->data : NULL;
    record.size = task->payload != NULL ? task->payload->size : 0;
    (void)diskstore_put(m->checkpoint.store, &record, NULL, NULL);
}

bool checkpoint_accept(struct moot *m, const struct task *task,
                       const struct call_checkpoint *call)
{
    const struct diskstore_record record = record_of(task, call, DISKSTORE_ACCEPTED);
    return diskstore_put_now(m->checkpoint.store, &record);
}

bool checkpoint_accept_element(struct moot *m, const struct task *task,
                               const moot_hash *element,
                               const struct call_checkpoint *call)
{
    struct diskstore_record record = record_of(task, call, DISKSTORE_ACCEPTED);
    record.hash = *element;
    return diskstore_put_now(m->checkpoint.store, &record);
}

/* --- Half-done state -------------------------------------------------------------- */

bool checkpoint_put_state(struct moot *m, const struct task *task,
                          struct call_checkpoint *call, const void *state, size_t size)
{
    struct diskstore_record record = record_of(task, call, DISKSTORE_PROGRESS);
    record.inputs = inputs_sum(call);
    record.data = state;
    record.size = size;
    pass_point(m);
    for (int i = 0; i < TRIES_MAX; i++) {
        if (diskstore_put(m->checkpoint.store, &record, NULL, NULL)) {
            return true;
        }
        diskstore_wait_room(m->checkpoint.store, size);
    }
    return false;
}

void *checkpoint_state(struct moot *m, const struct task *task,
                       struct call_checkpoint *call, size_t *size)
{
    struct diskstore_found found;
    if (!diskstore_find(m->checkpoint.store, &task->hash, DISKSTORE_PROGRESS, &found)) {
        return NULL;
    }
    if (!inputs_sum_fits(call, found.inputs)) {
        free(found.data);
        return NULL;
    }
    *size = (size_t)found.size;
    return found.data;
}
