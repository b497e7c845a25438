/* listing.c - see listing.h. */
#include "node/api/listing.h"

#include "consensus/core_entry.h"
#include "moot.pb-c.h"
#include "node/api/look.h"
#include "node/engine/engine.h"
#include "node/tasks/task_list.h"

#include <stdlib.h>
#include <string.h>

#define OWN_KERNELS "moot." /* begins the names of the library's own */

/* --- One rank's ------------------------------------------------------------------- */

static bool is_listed(const struct listing_scope *scope, const struct task *task,
                      const moot_task_info *info)
{
    return task->held && !task->adopted && !task->nested &&
           hash_scope(&task->hash) == scope->mark &&
           strncmp(info->kernel, OWN_KERNELS, strlen(OWN_KERNELS)) != 0 &&
           look_admits(&scope->filter, info);
}

static ProtobufCBinaryData borrow_text(const char *text)
{
    return (ProtobufCBinaryData){strlen(text) + 1, (uint8_t *)(uintptr_t)text};
}

static void put_task(Moot__Listing__Task *to, const struct task *task,
                     const moot_task_info *info)
{
    moot__listing__task__init(to);
    to->hash =
        (ProtobufCBinaryData){sizeof(moot_hash), (uint8_t *)(uintptr_t)&task->hash};
    to->kernel = borrow_text(info->kernel);
    to->label = borrow_text(info->label);
    to->site = borrow_text(info->site);
}

/* The list has the newest first. */
static void *pack_some(struct moot *m, const struct listing_scope *scope,
                       struct task **tasks, size_t count, size_t *size)
{
    Moot__Listing listing;
    moot__listing__init(&listing);
    Moot__Listing__Task *items = calloc(count + 1, sizeof(*items));
    listing.tasks = calloc(count + 1, sizeof(*listing.tasks));
    for (size_t i = count; i-- > 0 && items != NULL && listing.tasks != NULL;) {
        moot_task_info info;
        look_fill(m, tasks[i], &info);
        if (is_listed(scope, tasks[i], &info)) {
            put_task(&items[listing.n_tasks], tasks[i], &info);
            listing.tasks[listing.n_tasks] = &items[listing.n_tasks];
            listing.n_tasks++;
        }
    }
    uint8_t *bytes = NULL;
    if (items != NULL && listing.tasks != NULL) {
        *size = moot__listing__get_packed_size(&listing);
        bytes = malloc(*size + 1);
    }
    if (bytes != NULL) {
        moot__listing__pack(&listing, bytes);
    }
    free(items);
    free(listing.tasks);
    return bytes;
}

void *listing_pack(struct moot *m, const struct listing_scope *scope, size_t *size)
{
    struct task **tasks = NULL;
    size_t count = 0;
    void *bytes =
        task_list(m, &tasks, &count) ? pack_some(m, scope, tasks, count, size) : NULL;
    free(tasks);
    return bytes;
}

/* --- All ranks' ------------------------------------------------------------------- */

struct listed {
    const Moot__Listing__Task *task;
    size_t at;  /* in the order in which they are shown */
    bool again; /* it has been shown */
};

struct merged {
    Moot__Listing **lists;
    size_t list_count;
    struct listed *tasks, *by_hash;
    size_t count;
};

static bool is_text(const ProtobufCBinaryData *bytes)
{
    return bytes->len > 0 &&
           memchr(bytes->data, 0, bytes->len) == bytes->data + bytes->len - 1;
}

static bool is_sound(const Moot__Listing__Task *task)
{
    return task->hash.len == sizeof(moot_hash) && is_text(&task->kernel) &&
           is_text(&task->label) && is_text(&task->site);
}

static int compare_hashes(const void *a, const void *b)
{
    const struct listed *one = a, *other = b;
    int order = memcmp(one->task->hash.data, other->task->hash.data, sizeof(moot_hash));
    return order != 0 ? order : one->at < other->at ? -1 : 1;
}

/* Several ranks may have spawned a task: the first of them shows it. */
static void mark_again(struct merged *merged)
{
    if (merged->count == 0) {
        return;
    }
    memcpy(merged->by_hash, merged->tasks, merged->count * sizeof(*merged->tasks));
    qsort(merged->by_hash, merged->count, sizeof(*merged->by_hash), compare_hashes);
    for (size_t i = 1; i < merged->count; i++) {
        const struct listed *one = &merged->by_hash[i - 1], *next = one + 1;
        merged->tasks[next->at].again =
            memcmp(one->task->hash.data, next->task->hash.data, sizeof(moot_hash)) == 0;
    }
}

static bool unpack(struct merged *merged, const struct listing_part *parts,
                   size_t count)
{
    size_t room = 1;
    merged->lists = calloc(count + 1, sizeof(*merged->lists));
    for (size_t i = 0; i < count && merged->lists != NULL; i++) {
        Moot__Listing *list = moot__listing__unpack(NULL, parts[i].size, parts[i].data);
        if (list == NULL) {
            return false;
        }
        merged->lists[merged->list_count++] = list;
        room += list->n_tasks;
    }
    merged->tasks = calloc(room, sizeof(*merged->tasks));
    merged->by_hash = calloc(room, sizeof(*merged->by_hash));
    return merged->lists != NULL && merged->tasks != NULL && merged->by_hash != NULL;
}

static void merge(struct merged *merged)
{
    for (size_t i = 0; i < merged->list_count; i++) {
        const Moot__Listing *list = merged->lists[i];
        for (size_t k = 0; k < list->n_tasks; k++) {
            if (is_sound(list->tasks[k])) {
                merged->tasks[merged->count] =
                    (struct listed){.task = list->tasks[k], .at = merged->count};
                merged->count++;
            }
        }
    }
    mark_again(merged);
}

static void merged_free(struct merged *merged)
{
    for (size_t i = 0; i < merged->list_count; i++) {
        moot__listing__free_unpacked(merged->lists[i], NULL);
    }
    free(merged->lists);
    free(merged->tasks);
    free(merged->by_hash);
}

/* Its own record, if there is one, says what this rank knows of the task. */
static void fill(struct moot *m, const Moot__Listing__Task *task, moot_task_info *info)
{
    *info = (moot_task_info){.state = MOOT_TASK_WAITING,
                             .owner = -1,
                             .chair = -1,
                             .cancelled_by = -1,
                             .second = -1,
                             .decided = evidence_name(EVIDENCE_NONE)};
    memcpy(&info->hash, task->hash.data, sizeof(info->hash));
    engine_lock(m);
    const struct task *known = core_user(m->core, &info->hash);
    if (known != NULL) {
        look_fill(m, known, info);
    }
    engine_unlock(m);
    info->story = "";
    info->kernel = (const char *)task->kernel.data;
    info->label = (const char *)task->label.data;
    info->site = (const char *)task->site.data;
}

int listing_show(struct moot *m, const struct listing_part *parts, size_t count,
                 moot_tasks_fn fn, void *user)
{
    struct merged merged = {0};
    int code = unpack(&merged, parts, count) ? MOOT_OK : MOOT_ERR_NO_MEMORY;
    if (code == MOOT_OK) {
        merge(&merged);
    }
    for (size_t i = 0; code == MOOT_OK && i < merged.count; i++) {
        if (!merged.tasks[i].again) {
            moot_task_info info;
            fill(m, merged.tasks[i].task, &info);
            code = fn(user, &info);
        }
    }
    merged_free(&merged);
    return code;
}
