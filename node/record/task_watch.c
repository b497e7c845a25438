/* task_watch.c - see task_watch.h. */
#include "node/record/task_watch.h"

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "hashing/base/hot.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/record/job_clock.h"
#include "proto/error.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { WATCHES_MAX = 64 };

struct watcher {
    uint64_t id; /* 0: free */
    uint32_t kinds;
    char *label_prefix; /* NULL: any */
    void (*fn)(void *user, const moot_event *event);
    void *user;
};

struct happened {
    moot_event event;
    char label[LIMIT_LABEL_BYTES + 1];
    char *story; /* NULL: none */
};

struct observe {
    struct watcher watchers[WATCHES_MAX];
    int watcher_count; /* ever used at once */
    uint64_t last_id, last_sequence;
    struct happened *happened;
    size_t count, room;
    bool telling;
};

/* --- Watches -------------------------------------------------------------------- */

static void count_kinds(struct moot *m)
{
    m->record.observed_kinds = 0;
    for (int i = 0; i < WATCHES_MAX; i++) {
        const struct watcher *watcher = &m->record.observe->watchers[i];
        m->record.observed_kinds |= watcher->id != 0 ? watcher->kinds : 0u;
    }
}

static struct watcher *watcher_of(struct observe *observe, uint64_t id)
{
    for (int i = 0; observe != NULL && i < WATCHES_MAX; i++) {
        if (observe->watchers[i].id == id) {
            return &observe->watchers[i];
        }
    }
    return NULL;
}

static int add_watch(struct moot *m, struct lane *lane, const moot_watch *watch,
                     moot_watch_id *out)
{
    if (m->record.observe == NULL) {
        m->record.observe = calloc(1, sizeof(*m->record.observe));
    }
    if (m->record.observe == NULL) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "moot_watch_add: no memory");
    }
    struct watcher *watcher = watcher_of(m->record.observe, 0);
    if (watcher == NULL) {
        return lane_fail(lane, MOOT_ERR_LIMIT, "moot_watch_add: more than %d watches",
                         WATCHES_MAX);
    }
    char *prefix = NULL;
    if (watch->label_prefix != NULL) {
        prefix = strdup(watch->label_prefix);
        if (prefix == NULL) {
            return lane_fail(lane, MOOT_ERR_NO_MEMORY, "moot_watch_add: no memory");
        }
    }
    uint32_t kinds = watch->kinds != 0 ? watch->kinds : MOOT_EVENTS_OF_TASKS;
    *watcher = (struct watcher){.id = ++m->record.observe->last_id,
                                .kinds = kinds,
                                .label_prefix = prefix,
                                .fn = watch->fn,
                                .user = watch->user};
    int used = (int)(watcher - m->record.observe->watchers) + 1;
    if (m->record.observe->watcher_count < used) {
        m->record.observe->watcher_count = used;
    }
    count_kinds(m);
    out->id = watcher->id;
    return MOOT_OK;
}

int moot_watch_add(moot *m, const moot_watch *watch, moot_watch_id *out)
{
    const uint32_t known = MOOT_EVENTS_OF_TASKS | MOOT_EVENTS_OF_RANKS |
                           MOOT_EVENTS_OF_PSETS | MOOT_EVENT_RANK_ASKED;
    moot_watch room;
    watch = watch != NULL ? sized_watch(watch, &room) : NULL;
    if (m == NULL || watch == NULL || out == NULL || watch->fn == NULL ||
        (watch->kinds & ~known) != 0) {
        const char *what = out == NULL ? "the output is NULL"
                           : watch == NULL
                               ? "the watch is NULL, or " SIZED_REFUSAL(moot_watch)
                           : watch->fn == NULL ? "the watch has no function"
                                               : "kinds has a bit that is no event's";
        return lane_invalid(m, "moot_watch_add", what);
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = add_watch(m, lane, watch, out);
    engine_leave(m);
    return error;
}

static int remove_watch(struct moot *m, struct lane *lane, uint64_t id)
{
    struct watcher *watcher = id != 0 ? watcher_of(m->record.observe, id) : NULL;
    if (watcher == NULL) {
        return lane_fail(lane, MOOT_ERR_STALE, "moot_watch_remove: no such watch");
    }
    free(watcher->label_prefix);
    *watcher = (struct watcher){0};
    count_kinds(m);
    while (m->record.observe->telling && !observe_is_telling(lane)) {
        engine_unlock(m); /* it may be in that function just now */
        sched_yield();
        engine_lock(m);
    }
    return MOOT_OK;
}

int moot_watch_remove(moot *m, moot_watch_id id)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_watch_remove", "");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = remove_watch(m, lane, id.id);
    engine_leave(m);
    return error;
}

void observe_release(struct moot *m)
{
    struct observe *observe = m->record.observe;
    rankset_release(&m->record.differing);
    if (observe == NULL) {
        return;
    }
    for (int i = 0; i < WATCHES_MAX; i++) {
        free(observe->watchers[i].label_prefix);
    }
    for (size_t i = 0; i < observe->count; i++) {
        free(observe->happened[i].story);
    }
    free(observe->happened);
    free(observe);
    m->record.observe = NULL;
}

/* --- Events --------------------------------------------------------------------- */

static bool wants(const struct watcher *watcher, enum moot_event_kind kind,
                  const char *label)
{
    return watcher->id != 0 && (watcher->kinds & (uint32_t)kind) != 0 &&
           (watcher->label_prefix == NULL ||
            ((uint32_t)kind & (MOOT_EVENTS_OF_RANKS | MOOT_EVENT_RANK_ASKED)) != 0 ||
            strncmp(label, watcher->label_prefix, strlen(watcher->label_prefix)) == 0);
}

static bool is_wanted(const struct observe *observe, enum moot_event_kind kind,
                      const char *label)
{
    int i = 0;
    while (i < WATCHES_MAX && !wants(&observe->watchers[i], kind, label)) {
        i++;
    }
    return i < WATCHES_MAX;
}

/* NULL without memory: then the event is lost, and its number shows it. */
static struct happened *happened_add(struct observe *observe)
{
    if (observe->count == observe->room) {
        size_t room = observe->room ? observe->room * 2 : 64;
        struct happened *grown = realloc(observe->happened, room * sizeof(*grown));
        if (grown == NULL) {
            return NULL;
        }
        observe->happened = grown;
        observe->room = room;
    }
    return &observe->happened[observe->count++];
}

/* Queues the event, if it is wanted: number and time are set here; `label` and `story`
 * are copied. */
static void queue_event(struct moot *m, const moot_event *event, const char *label,
                        const char *story)
{
    struct observe *observe = m->record.observe;
    if (!is_wanted(observe, event->kind, label)) {
        return;
    }
    uint64_t sequence = ++observe->last_sequence;
    struct happened *happened = happened_add(observe);
    if (happened == NULL) {
        return;
    }
    happened->story = story != NULL && story[0] != '\0' ? strdup(story) : NULL;
    happened->event = *event;
    happened->event.sequence = sequence;
    happened->event.when = job_clock_now(m);
    strncpy(happened->label, label, LIMIT_LABEL_BYTES);
    happened->label[LIMIT_LABEL_BYTES] = '\0';
}

static void add(struct moot *m, enum moot_event_kind kind, const struct task *task,
                int rank, int status, const char *why, const char *story)
{
    const moot_event event = {.kind = kind,
                              .hash = task->hash,
                              .rank = rank >= 0 ? session_rank(m, (uint32_t)rank) : -1,
                              .status = status,
                              .why = why != NULL ? why : "",
                              .kernel = task_kernel_name(task),
                              .site = task_site(task) != NULL ? task_site(task) : ""};
    queue_event(m, &event, task_label(task) != NULL ? task_label(task) : "", story);
}

void observe_rank(struct moot *m, enum moot_event_kind kind, uint32_t rank,
                  const char *why)
{
    if (observed(m, kind)) {
        const moot_event event = {.kind = kind,
                                  .rank = session_rank(m, rank),
                                  .why = "",
                                  .kernel = "",
                                  .site = ""};
        queue_event(m, &event, "", why);
    }
}

void observe_pset(struct moot *m, enum moot_event_kind kind, const char *name,
                  const char *why)
{
    if (observed(m, kind)) {
        const moot_event event = {
            .kind = kind, .rank = -1, .why = "", .kernel = "", .site = ""};
        queue_event(m, &event, name, why);
    }
}

void observe_event(struct moot *m, enum moot_event_kind kind, const struct task *task,
                   int rank, const char *why)
{
    if (observed(m, kind)) {
        add(m, kind, task, rank, MOOT_OK, why, NULL);
    }
}

uint64_t observe_mark(const struct moot *m)
{
    return m->record.observe != NULL ? m->record.observe->last_sequence : 0;
}

void observe_retract(struct moot *m, uint64_t mark)
{
    struct observe *observe = m->record.observe;
    while (observe != NULL && observe->last_sequence > mark && observe->count > 0) {
        free(observe->happened[--observe->count].story);
        observe->last_sequence--;
    }
}

static int owner_of(const struct moot *m, const struct task *task)
{
    struct core_task_view view;
    if (!core_task_look(m->core, &task->hash, &view)) {
        return -1;
    }
    int owner = view.owner < m->group.size ? (int)view.owner : -1;
    core_task_view_release(&view);
    return owner;
}

static void tell_end(struct moot *m, struct task *task)
{
    enum moot_event_kind kind = task->status == MOOT_OK ? MOOT_EVENT_DONE
                                : task->status == MOOT_ERR_CANCELLED
                                    ? MOOT_EVENT_CANCELLED
                                    : MOOT_EVENT_FAILED;
    task->end_told = true;
    if (observed(m, kind)) {
        bool story = task->status != MOOT_OK && task->payload != NULL;
        add(m, kind, task, owner_of(m, task), task->status, NULL,
            story ? (const char *)task->payload->data : NULL);
    }
}

/* Something here has named it: a spawn, a peer's spec, a handle, a task that takes it.
 */
static inline bool is_named(const struct task *task)
{
    return task->kernel != NULL || task->handle_count > 0 ||
           (!task->gone && core_entry_is_input(task));
}

/* The same end may come to be known more than once: without the bytes and with them, or
 * by another run after a death. */
HOT void observe_end(struct moot *m, struct task *task)
{
    if (m->record.observed_kinds != 0 && !task->end_told && is_named(task)) {
        tell_end(m, task);
    }
}

void observe_other_end(struct task *task, int status)
{
    if (task->end_told && (task->status == MOOT_OK) != (status == MOOT_OK)) {
        task->end_told = false;
    }
}

void observe_named(struct moot *m, struct task *task)
{
    if (m->record.observed_kinds != 0 && task->known && !task->end_told &&
        !is_named(task)) {
        tell_end(m, task);
    }
}

void observe_spawned_late(struct moot *m, struct task *task)
{
    if (m->record.observed_kinds != 0 && task->known && !task->end_told) {
        tell_end(m, task);
    }
}

void observe_verdict(struct moot *m, const struct task *task)
{
    if (observed(m, MOOT_EVENT_FAILED)) {
        const struct task_seldom *seldom = task_seldom(task);
        add(m, MOOT_EVENT_FAILED, task, -1, seldom->verdict, NULL,
            seldom->verdict_story);
    }
}

void observe_wait(struct moot *m, const struct wait *wait)
{
    if (!observed(m, MOOT_EVENT_BLOCKED)) {
        return;
    }
    for (size_t i = 0; i < wait->count; i++) {
        const struct task *task = wait->items[i].task;
        if (!wait->items[i].ended && !task_is_here(task, wait->want)) {
            add(m, MOOT_EVENT_BLOCKED, task, -1, MOOT_OK, NULL, NULL);
        }
    }
}

void observe_note(struct moot *m, const struct core_output *output)
{
    enum core_point point = output->u.note.point;
    bool vote = point == CORE_POINT_VOTE_CAST || point == CORE_POINT_DECISION_RECV;
    if (!vote || !observed(m, MOOT_EVENT_VOTED)) {
        return;
    }
    const struct task *task = output->user;
    if (task == NULL) {
        task = task_enter(m, &output->hash);
    }
    if (task == NULL) {
        return;
    }
    uint32_t peer = output->u.note.peer;
    const char *why =
        point == CORE_POINT_VOTE_CAST ? evidence_name(output->u.note.evidence) : NULL;
    add(m, MOOT_EVENT_VOTED, task, peer < m->group.size ? (int)peer : -1, MOOT_OK, why,
        NULL);
}

/* --- Telling -------------------------------------------------------------------- */

bool observe_is_due(const struct moot *m)
{
    return m->record.observe != NULL && m->record.observe->count > 0 &&
           !m->record.observe->telling;
}

bool observe_is_telling(const struct lane *lane) { return lane->telling; }

int observe_refuse(struct lane *lane, const char *call)
{
    return !lane->telling
               ? MOOT_OK
               : lane_fail(lane, MOOT_ERR_STATE, "%s inside a watch's function", call);
}

/* Without the lock, but to see who still watches. */
static void tell_one(struct moot *m, struct happened *happened)
{
    moot_event *event = &happened->event;
    event->label = happened->label;
    event->why = happened->story != NULL ? happened->story : event->why;
    int count = 1;
    for (int i = 0; i < count; i++) {
        pthread_mutex_lock(&m->bond->lock); /* one of them may remove another */
        struct watcher watcher = m->record.observe->watchers[i];
        bool wanted = wants(&watcher, event->kind, event->label);
        count = m->record.observe->watcher_count;
        pthread_mutex_unlock(&m->bond->lock);
        if (wanted) {
            watcher.fn(watcher.user, event);
        }
    }
    free(happened->story);
}

/* The events, without the lock.  A helper or a worker gets its lane here, for what the
 * functions call must be known to come from one of them.  The thread's last error stays
 * what the call made it that lets the lock go. */
static void tell_events(struct moot *m, struct happened *happened, size_t count)
{
    struct lane *lane = lane_of_thread(m->bond);
    struct text error = {0};
    if (lane != NULL) {
        error = lane->error;
        lane->error = (struct text){0};
        lane->telling = true;
    }
    for (size_t i = 0; i < count; i++) {
        tell_one(m, &happened[i]);
    }
    if (lane != NULL) {
        text_release(&lane->error);
        lane->error = error;
        lane->telling = false;
    }
    free(happened);
}

static void tell_all(struct moot *m)
{
    struct observe *observe = m->record.observe;
    struct happened *happened = observe->happened;
    size_t count = observe->count;
    observe->happened = NULL;
    observe->count = observe->room = 0;
    observe->telling = true;
    pthread_mutex_unlock(&m->bond->lock);
    tell_events(m, happened, count);
    pthread_mutex_lock(&m->bond->lock);
    observe->telling = false;
    engine_look_at_clock(m);
}

void observe_tell(struct moot *m)
{
    while (observe_is_due(m)) {
        tell_all(m);
    }
}
