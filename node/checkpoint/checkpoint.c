/* checkpoint.c - see checkpoint.h: the store, and what is found in it.
 *
 * The way of results into the store is kept.c's.
 */
#include "node/checkpoint/checkpoint.h"

#include "consensus/core_view.h"
#include "node/checkpoint/inputs_sum.h"
#include "node/checkpoint/kept.h"
#include "node/checkpoint/policy.h"
#include "node/checkpoint/snapshots.h"
#include "node/diskstore/diskstore_snapshot.h"
#include "node/engine/engine.h"
#include "node/faults/faults.h"
#include "node/tasks/kernel.h"
#include "node/tasks/task.h"

#include <stdio.h>
#include <stdlib.h>

/* How often the store is asked what it could not do. */
#define COUNT_NS UINT64_C(200000000)
#define OWN_KERNELS "moot." /* begins the names of the library's own */

/* --- Open and close --------------------------------------------------------------- */

int checkpoint_check(const struct knobs *knobs, char *story, size_t story_size)
{
    struct policy policy;
    if (policy_read(knobs->checkpoint_when, &policy)) {
        return MOOT_OK;
    }
    snprintf(story, story_size,
             "MOOT_CHECKPOINT_WHEN is '%.64s', but may be finish, call, label:PREFIX, "
             "or how often, like 5s",
             knobs->checkpoint_when);
    return MOOT_ERR_CONFIG;
}

/* The first rank's incarnation is drawn anew for each job. */
static struct diskstore_options options_of(const struct moot *m)
{
    const struct knobs *knobs = &m->knobs;
    return (struct diskstore_options){
        .job = m->group.uids[0],
        .sync = knobs->checkpoint_sync != 0,
        .bytes_max = (uint64_t)knobs->checkpoint_mib << 20,
        .age_max_ns = knobs->checkpoint_age_ns == KNOB_NEVER
                          ? 0
                          : (uint64_t)knobs->checkpoint_age_ns};
}

static bool harm_batch(void *context) { return faults_of_disk_batch(context); }

static bool harm_record(void *context, uint64_t *word)
{
    return faults_flip_record(context, word);
}

static void tell_idle_policy(struct moot *m)
{
    if (m->group.rank == 0 && strcmp(m->knobs.checkpoint_when, "finish") != 0) {
        report_add(m,
                   "moot: MOOT_CHECKPOINT_WHEN=%s has no effect: MOOT_CHECKPOINT names "
                   "no folder\n",
                   m->knobs.checkpoint_when);
    }
}

/* Without a checkpoint: a plan that harms its disk would test nothing. */
static int refuse_harm(const struct moot *m, char *story, size_t story_size)
{
    const struct plan_rule *rule =
        m->faults.plan != NULL ? plan_harms_disk(m->faults.plan) : NULL;
    if (rule == NULL) {
        return MOOT_OK;
    }
    snprintf(story, story_size,
             "MOOT_FAULTS: %s harms a checkpoint, and there is none; name its folder "
             "with `moot run --checkpoint DIR`, or set MOOT_CHECKPOINT",
             plan_fault_name(rule->fault));
    return MOOT_ERR_CONFIG;
}

int checkpoint_open(struct moot *m, char *story, size_t story_size)
{
    struct moot_checkpoint *checkpoint = &m->checkpoint;
    if (m->knobs.checkpoint[0] == '\0') {
        tell_idle_policy(m);
        return refuse_harm(m, story, story_size);
    }
    if (!policy_read(m->knobs.checkpoint_when, &checkpoint->policy) ||
        pthread_mutex_init(&checkpoint->lock, NULL) != 0) {
        return checkpoint_check(&m->knobs, story, story_size) != MOOT_OK
                   ? MOOT_ERR_CONFIG
                   : MOOT_ERR_NO_MEMORY;
    }
    const struct diskstore_options options = options_of(m);
    struct text why = {0};
    const int error =
        diskstore_open(m->knobs.checkpoint, &options, &why, &checkpoint->store);
    if (error != MOOT_OK) {
        snprintf(story, story_size, "MOOT_CHECKPOINT=%.200s: %s", m->knobs.checkpoint,
                 text_get(&why));
        checkpoint->store = NULL;
        pthread_mutex_destroy(&checkpoint->lock);
    } else {
        struct diskstore_counts counts;
        diskstore_counts(checkpoint->store, &counts);
        checkpoint->looks = counts.records > 0;
        if (m->faults.plan != NULL && plan_harms_disk(m->faults.plan) != NULL) {
            const struct diskstore_harm harm = {m, harm_batch, harm_record};
            diskstore_harm(checkpoint->store, &harm);
        }
    }
    text_release(&why);
    return error;
}

int checkpoint_join(struct moot *m, char *story, size_t story_size)
{
    moot_hash snapshot;
    const uint32_t generation = core_generation(m->core, &snapshot);
    if (!checkpoint_is_on(m) || generation == 0) {
        return MOOT_OK;
    }
    struct text why = {0};
    engine_unlock(m);
    const bool good =
        diskstore_go_back(m->checkpoint.store, generation, &snapshot, &why);
    engine_lock(m);
    if (good) {
        __atomic_store_n(&m->checkpoint.looks, true, __ATOMIC_RELAXED);
    } else {
        snprintf(story, story_size, "MOOT_CHECKPOINT=%.200s: %s", m->knobs.checkpoint,
                 text_get(&why));
    }
    text_release(&why);
    return good ? MOOT_OK : MOOT_ERR_FILE;
}

static void look_at_losses(struct moot *m)
{
    struct diskstore_counts counts;
    diskstore_counts(m->checkpoint.store, &counts);
    m->checkpoint.lost = counts.damaged + counts.failed + counts.over;
    struct text lines = {0};
    m->checkpoint.told =
        diskstore_told(m->checkpoint.store, m->checkpoint.told, &lines);
    for (char *line = lines.bytes, *end; line != NULL && *line != '\0';
         line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        report_add(m, "moot: rank %u: checkpoint %s\n", m->group.rank, line);
    }
    text_release(&lines);
}

void checkpoint_flush(struct moot *m)
{
    if (!checkpoint_is_on(m)) {
        return;
    }
    engine_unlock(m);
    kept_write_out(m);
    diskstore_flush(m->checkpoint.store);
    engine_lock(m);
    kept_drop(m);
    look_at_losses(m);
}

void checkpoint_finish(struct moot *m)
{
    checkpoint_flush(m);
    if (checkpoint_is_on(m)) {
        engine_unlock(m);
        diskstore_freeze(m->checkpoint.store);
        engine_lock(m);
    }
}

int checkpoint_refuse(struct lane *lane, const char *call)
{
    return lane_fail(lane, MOOT_ERR_STATE,
                     "%s: no results are stored; start with `moot run --checkpoint "
                     "DIR`, or set MOOT_CHECKPOINT",
                     call);
}

void checkpoint_on_reload(struct moot *m, void (*fn)(struct moot *m, void *user),
                          void *user)
{
    m->checkpoint.dropped = fn;
    m->checkpoint.dropped_user = user;
}

void checkpoint_why(struct moot *m, struct text *out)
{
    diskstore_why(m->checkpoint.store, out);
}

void checkpoint_release(struct moot *m)
{
    if (!checkpoint_is_on(m)) {
        return;
    }
    kept_write_out(m);
    diskstore_flush(m->checkpoint.store);
    diskstore_unharm(m->checkpoint.store, m);
    diskstore_close(m->checkpoint.store);
    kept_drop(m);
    snapshots_release(m);
    pthread_mutex_destroy(&m->checkpoint.lock);
    m->checkpoint.store = NULL;
}

void checkpoint_look(struct moot *m, uint64_t now_ns)
{
    struct moot_checkpoint *checkpoint = &m->checkpoint;
    if (!checkpoint_is_on(m)) {
        return;
    }
    kept_drop(m);
    snapshots_look(m);
    if (checkpoint->policy.when == POLICY_INTERVAL && now_ns >= checkpoint->due_ns) {
        checkpoint->due_ns = now_ns + (uint64_t)checkpoint->policy.interval_ns;
        kept_write_some(m);
    }
    if (now_ns - checkpoint->counted_ns > COUNT_NS) {
        checkpoint->counted_ns = now_ns;
        look_at_losses(m);
    }
}

/* --- A kernel that is about to start ---------------------------------------------- */

static bool is_own(const struct kernel *kernel)
{
    return strncmp(kernel->name, OWN_KERNELS, strlen(OWN_KERNELS)) == 0;
}

void checkpoint_begin(struct moot *m, const struct task *task,
                      struct call_checkpoint *call)
{
    const struct moot_checkpoint *checkpoint = &m->checkpoint;
    const struct kernel *kernel = task->kernel;
    if (!checkpoint_is_on(m) || is_own(kernel)) {
        return;
    }
    const bool once = (kernel->flags & MOOT_KERNEL_ONCE) != 0;
    const bool first = task_seldom(task)->failures == 0;
    call->label = task_label(task);
    call->deaths = m->members.lost;
    call->generation = diskstore_generation(checkpoint->store);
    /* `deaths_seen` before `looks`, which is set before it (look_again). */
    const bool seen =
        call->deaths == __atomic_load_n(&checkpoint->deaths_seen, __ATOMIC_ACQUIRE);
    call->asks = first && (once || !seen ||
                           __atomic_load_n(&checkpoint->looks, __ATOMIC_RELAXED));
    call->accepts = once && (kernel->flags & MOOT_KERNEL_IDEMPOTENT) == 0 &&
                    m->knobs.checkpoint_once != 0;
    call->now = once || (kernel->flags & MOOT_KERNEL_NONDETERMINISTIC) != 0;
    call->compares = m->tasks.kernels.varies && !once;
    call->keeps = call->now || policy_admits(&checkpoint->policy, call->label);
}

/* Ranks have died since: what they stored can be read now.  Of several callers each
 * waits until that has been opened: who went on before would make a result anew that
 * another rank has seen. */
static void look_again(struct moot *m, uint32_t deaths)
{
    struct moot_checkpoint *checkpoint = &m->checkpoint;
    (void)diskstore_look_again(checkpoint->store);
    __atomic_store_n(&checkpoint->looks, true, __ATOMIC_RELAXED);
    __atomic_store_n(&checkpoint->deaths_seen, deaths, __ATOMIC_RELEASE);
}

static void tell_older(struct moot *m, const struct kernel *kernel)
{
    engine_lock(m);
    if (!m->checkpoint.told_older) {
        m->checkpoint.told_older = true;
        report_add(m,
                   "moot: rank %u: checkpoint %s: a result of kernel '%s' was made by "
                   "another build of its code, and is taken; with "
                   "MOOT_KERNEL_BY_BUILD=1 it would run again; said once\n",
                   m->group.rank, m->knobs.checkpoint, kernel->name);
    }
    engine_unlock(m);
}

static void tell_other(struct moot *m, const struct kernel *kernel)
{
    engine_lock(m);
    if (!m->checkpoint.told_other) {
        m->checkpoint.told_other = true;
        report_add(m,
                   "moot: rank %u: checkpoint %s: a result of kernel '%s' was made of "
                   "inputs with other bytes, and runs again: not all results that vary "
                   "are found here; said once\n",
                   m->group.rank, m->knobs.checkpoint, kernel->name);
    }
    engine_unlock(m);
}

/* Whether what was found counts as the kernel's.  What may run only once does, whatever
 * made it, and of what. */
static bool is_taken(struct moot *m, const struct kernel *kernel,
                     struct call_checkpoint *call, const struct diskstore_found *found)
{
    if (!inputs_sum_fits(call, found->inputs)) {
        tell_other(m, kernel);
        return false;
    }
    if (!kernel_build_differs(kernel, found->build, found->build_size)) {
        return true;
    }
    if (m->knobs.kernel_by_build != 0 && (kernel->flags & MOOT_KERNEL_ONCE) == 0) {
        return false;
    }
    tell_older(m, kernel);
    return true;
}

static void count_found(struct moot *m, const struct diskstore_found *found)
{
    __atomic_fetch_add(&m->checkpoint.found, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&m->checkpoint.found_ns, found->took_ns, __ATOMIC_RELAXED);
}

/* Whether a once task without an end may have begun. */
static enum checkpoint_answer find_start(struct diskstore *store, const moot_hash *hash,
                                         struct call_checkpoint *call)
{
    struct diskstore_found start;
    if (!diskstore_find(store, hash, DISKSTORE_ACCEPTED, NULL)) {
        return CHECKPOINT_NOTHING;
    }
    call->began = diskstore_find(store, hash, DISKSTORE_ACCEPTED, &start);
    if (call->began) {
        free(start.data);
    }
    return CHECKPOINT_MAY_HAVE;
}

enum checkpoint_answer checkpoint_find(struct moot *m, const struct task *task,
                                       struct call_checkpoint *call,
                                       struct diskstore_found *out)
{
    struct diskstore *store = m->checkpoint.store;
    if (call->deaths != __atomic_load_n(&m->checkpoint.deaths_seen, __ATOMIC_ACQUIRE)) {
        look_again(m, call->deaths);
    }
    if (diskstore_find(store, &task->hash, DISKSTORE_RESULT, out)) {
        if (is_taken(m, task->kernel, call, out)) {
            count_found(m, out);
            return CHECKPOINT_ENDED;
        }
        free(out->data);
        return CHECKPOINT_NOTHING;
    }
    if (!call->accepts) {
        return CHECKPOINT_NOTHING;
    }
    return out->unread != NULL ? CHECKPOINT_UNREAD
                               : find_start(store, &task->hash, call);
}

bool checkpoint_may_begin(struct moot *m, const moot_hash *element,
                          struct call_checkpoint *call)
{
    call->accepts = m->knobs.checkpoint_once != 0;
    call->generation = diskstore_generation(m->checkpoint.store);
    call->may_have = call->accepts && find_start(m->checkpoint.store, element, call) !=
                                          CHECKPOINT_NOTHING;
    return !call->may_have;
}
