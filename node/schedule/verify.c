/* verify.c - see verify.h. */
#include "node/schedule/verify.h"

#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include "node/engine/engine.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/task.h"

#include <stdlib.h>

enum { RATE_ONE_PPM = 1000000, CHECKS_OPEN_MAX = 64 };

/* In the order of spawns; the first CHECKS_OPEN_MAX or fewer wait for what they need.
 */
struct check {
    struct check *next;
    struct task *task;
    uint32_t told; /* needs that the core knows: of the result, and of data inputs */
    bool open, runs;
};

/* --- Digests -------------------------------------------------------------------- */

static bool is_pure(const struct task *task)
{
    return task->kernel != NULL &&
           (task->kernel->flags & (MOOT_KERNEL_ONCE | MOOT_KERNEL_NONDETERMINISTIC)) ==
               0;
}

static uint64_t digest_of(const struct payload *payload)
{
    moot_hash hash = digest_bytes(payload->data, (size_t)payload->size);
    uint64_t digest = hash_word(&hash);
    return digest != 0 ? digest : 1;
}

uint64_t verify_digest(const struct moot *m, const struct task *task,
                       const struct payload *payload)
{
    bool takes = m->knobs.verify_ppm > 0 && payload != NULL && is_pure(task);
    return takes ? digest_of(payload) : 0;
}

static void complain(struct moot *m, struct task *task, uint32_t rank, uint64_t digest)
{
    struct text text = {0};
    task_describe(&text, task);
    report_add(
        m,
        "moot: rank %u: MOOT_ERR_NONDETERMINISTIC: %s gave other bytes on rank %u "
        "(digest %016llx) than on rank %u (digest %016llx); a pure kernel must "
        "not, and what is already in use stays in use\n",
        m->group.rank, text_get(&text), rank, (unsigned long long)digest,
        task_seldom(task)->digest_rank, (unsigned long long)task_seldom(task)->digest);
    text_release(&text);
    m->counts.nondeterministic++;
    struct task_seldom *seldom = task_seldom_of(m, task);
    if (seldom != NULL) {
        seldom->second_rank = rank + 1;
    }
}

HOT void verify_result(struct moot *m, struct task *task, uint32_t rank,
                       uint64_t digest)
{
    if (digest == 0 || task_seldom(task)->digest == digest) {
        return;
    }
    if (task_seldom(task)->digest != 0) {
        complain(m, task, rank, digest);
    }
    struct task_seldom *seldom = task_seldom_of(m, task);
    if (seldom != NULL) { /* else another one is not found out */
        seldom->digest = digest;
        seldom->digest_rank = rank;
    }
}

/* --- The sample ----------------------------------------------------------------- */

static bool is_sampled(const struct moot *m, const struct task *task)
{
    moot_hash again = digest_bytes(task->hash.bytes, sizeof(task->hash.bytes));
    return (int64_t)(hash_word(&again) % RATE_ONE_PPM) < m->knobs.verify_ppm;
}

/* A rank other than the chair that may run the task, candidates NULL being all: drawn
 * from the hash, so that ranks agree on it.  PLACEMENT_NOBODY if there is none. */
static uint32_t checker_of(const moot_hash *hash, uint32_t chair,
                           const struct rankset *candidates, uint32_t size)
{
    uint32_t count = candidates != NULL ? rankset_count(candidates) : size;
    if (chair == PLACEMENT_NOBODY || count < 2) {
        return PLACEMENT_NOBODY;
    }
    uint32_t step = 1 + (uint32_t)(hash_word(hash) >> 32) % (count - 1);
    uint32_t at = candidates != NULL ? rankset_below(candidates, chair) : chair;
    uint32_t checker = (at + step) % count;
    return candidates != NULL ? rankset_at(candidates, checker) : checker;
}

static bool is_checker(const struct moot *m, const struct task *task)
{
    struct core_task_view view;
    uint32_t size = m->group.founders;
    if (size == 1 || !core_task_look(m->core, &task->hash, &view)) {
        return size == 1;
    }
    uint32_t checker = checker_of(&task->hash, view.chair, view.candidates, size);
    core_task_view_release(&view);
    return checker == m->group.rank;
}

void verify_spawned(struct moot *m, struct task *task)
{
    if (m->knobs.verify_ppm == 0 || task->nested || !is_pure(task) ||
        !is_sampled(m, task) || !is_checker(m, task)) {
        return;
    }
    struct check *check = calloc(1, sizeof(*check));
    if (check == NULL) {
        return; /* a sample is a sample */
    }
    check->task = task;
    task->pins++;
    struct check **link =
        m->schedule.checks_last != NULL ? m->schedule.checks_last : &m->schedule.checks;
    *link = check;
    m->schedule.checks_last = &check->next;
    m->schedule.checks_seen = UINT64_MAX;
}

/* --- What a check waits for ------------------------------------------------------ */

static uint32_t need_count(const struct task *task)
{
    return 1 + task_data_count(task);
}

/* NULL: forgotten. */
static struct task *needed(const struct task *task, uint32_t i)
{
    return i == 0 ? (struct task *)(uintptr_t)task : task_input(task, i - 1);
}

static int tell_need(struct moot *m, const struct task *task, uint32_t i,
                     enum core_event_type type)
{
    const struct task *what = needed(task, i);
    if (what == NULL || what->undone) {
        return MOOT_ERR_RESULT_LOST;
    }
    struct core_event event = {
        .type = type, .hash = what->hash, .entry = task_entry(what)};
    event.u.need.want = i == 0 ? WANT_DONE : WANT_DATA;
    event.u.need.by_task = true;
    event.u.need.waiter = task->hash;
    return engine_step(m, &event);
}

static void unlink_check(struct moot *m, struct check **link)
{
    struct check *check = *link;
    *link = check->next;
    if (m->schedule.checks_last == &check->next) {
        m->schedule.checks_last = m->schedule.checks != NULL ? link : NULL;
    }
    m->schedule.checks_open -= check->open;
    free(check);
}

static void end_check(struct moot *m, struct check **link)
{
    struct task *task = (*link)->task;
    for (uint32_t i = 0; i < (*link)->told && i < need_count(task); i++) {
        (void)tell_need(m, task, i, CORE_EV_UNNEED);
        struct task *what = needed(task, i);
        if (what != NULL) {
            task_try_release(m, what);
        }
    }
    unlink_check(m, link);
    task->pins--;
    task_try_release(m, task);
    task_try_free(m, task);
}

/* False: it cannot be checked. */
static bool open_check(struct moot *m, struct check *check)
{
    check->open = true;
    m->schedule.checks_open++;
    for (uint32_t i = 0; i < need_count(check->task); i++) {
        if (check->task->gone ||
            tell_need(m, check->task, i, CORE_EV_NEED) != MOOT_OK) {
            return false;
        }
        check->told++;
    }
    return true;
}

enum verify_found { FOUND_READY, FOUND_WAITS, FOUND_HOPELESS };

static enum verify_found look(const struct moot *m, const struct check *check)
{
    const struct task *task = check->task;
    if (task->own && m->group.size > 1) {
        return FOUND_HOPELESS; /* it came to this rank after all */
    }
    for (uint32_t i = 0; i < need_count(task); i++) {
        const struct task *what = needed(task, i);
        if (what == NULL || what->gone || task_seldom(what)->verdict_count > 0 ||
            (what->known && what->status != MOOT_OK)) {
            return FOUND_HOPELESS;
        }
        if (!what->known || (i > 0 && what->payload == NULL)) {
            return FOUND_WAITS;
        }
    }
    return task_seldom(task)->digest != 0 ? FOUND_READY : FOUND_HOPELESS;
}

static void open_more(struct moot *m)
{
    struct check **link = &m->schedule.checks;
    while (*link != NULL && m->schedule.checks_open < CHECKS_OPEN_MAX) {
        if (!(*link)->open && !open_check(m, *link)) {
            end_check(m, link);
        } else {
            link = &(*link)->next;
        }
    }
}

struct task *verify_next(struct moot *m)
{
    if (m->schedule.checks == NULL || m->schedule.checks_seen == m->engine.end_count ||
        m->engine.fatal != 0) {
        return NULL;
    }
    open_more(m);
    struct check **link = &m->schedule.checks;
    for (uint32_t i = 0; *link != NULL && (*link)->open; i++) {
        enum verify_found found = (*link)->runs ? FOUND_WAITS : look(m, *link);
        if (found == FOUND_READY) {
            (*link)->runs = true;
            return (*link)->task;
        }
        if (found == FOUND_HOPELESS) {
            end_check(m, link);
        } else {
            link = &(*link)->next;
        }
    }
    m->schedule.checks_seen = m->schedule.checks != NULL && m->schedule.checks_open == 0
                                  ? UINT64_MAX
                                  : m->engine.end_count;
    return NULL;
}

void verify_ran(struct moot *m, struct task *task, const struct payload *output)
{
    if (output != NULL) {
        m->counts.verified++;
        uint64_t digest = digest_of(output);
        if (digest != task_seldom(task)->digest) {
            complain(m, task, m->group.rank, digest);
        }
    }
    struct check **link = &m->schedule.checks;
    while ((*link)->task != task || !(*link)->runs) {
        link = &(*link)->next;
    }
    end_check(m, link);
    m->schedule.checks_seen = UINT64_MAX;
    open_more(m); /* before anybody may think that nothing is left */
}

void verify_pin_inputs(struct task *task)
{
    for (uint32_t i = 0; i < task_data_count(task); i++) {
        task_input(task, i)->pins++;
    }
}

void verify_unpin_inputs(struct task *task)
{
    for (uint32_t i = 0; i < task_data_count(task); i++) {
        struct task *input = task_input(task, i);
        assert(input->pins > 0);
        input->pins--;
    }
}

void verify_release(struct moot *m)
{
    while (m->schedule.checks != NULL) {
        struct check *next = m->schedule.checks->next;
        free(m->schedule.checks);
        m->schedule.checks = next;
    }
    m->schedule.checks_last = NULL;
}
