/* leaks.c - see leaks.h. */
#include "node/explain/leaks.h"

#include "consensus/core_entry.h"
#include "node/engine/report_queue.h"
#include "node/members/members.h"
#include "node/tasks/handle.h"
#include "node/tasks/task.h"

#include <stdlib.h>

enum {
    SITES_MAX = 64,
    SITES_TOLD = 5,
    LOOK_HANDLES = 1024,         /* fewer are not looked at, whatever they keep */
    RUNNING_HANDLES = 2 * 65536, /* twice the usual MOOT_WINDOW */
    CLOSING_HANDLES = 4096
};
#define RUNNING_BYTES (UINT64_C(256) << 20)
#define CLOSING_BYTES (UINT64_C(16) << 20)

struct site_leak {
    const char *site; /* the context's, so that the same is the same; NULL: not known */
    uint64_t handles, bytes;
};

struct leaks {
    uint64_t handles, bytes;
    struct site_leak sites[SITES_MAX];
    uint32_t count;
    struct site_leak other; /* of sites that found no room */
};

/* --- Counting --------------------------------------------------------------------- */

static struct site_leak *find_site(struct leaks *leaks, const char *site)
{
    uint32_t at = 0;
    while (at < leaks->count && leaks->sites[at].site != site) {
        at++;
    }
    if (at == SITES_MAX) {
        return &leaks->other;
    }
    if (at == leaks->count) {
        leaks->sites[leaks->count++] = (struct site_leak){.site = site};
    }
    return &leaks->sites[at];
}

/* A task has several handles only if it was spawned, or found, several times. */
static void count_handle(struct leaks *leaks, const struct handle *handle)
{
    const struct task *task = handle->task;
    const char *site = NULL;
    uint64_t bytes = sizeof(struct handle);
    if (task != UNNAMED_TASK && core_is_stub(task)) {
        site = core_stub_site(task);
    } else if (task != UNNAMED_TASK) {
        site = task_site(task);
        bytes += task->payload != NULL ? task->payload->size : 0;
        bytes += sizeof(struct task) + task->args_size;
    }
    struct site_leak *at = find_site(leaks, site);
    at->handles++;
    at->bytes += bytes;
    leaks->handles++;
    leaks->bytes += bytes;
}

/* Its task may be needed yet. */
static bool goes_on(const struct task *task)
{
    return task == UNNAMED_TASK || core_is_stub(task) || !task->known;
}

/* The program's handles; of tasks that have `ended` alone, or of all.  A kernel's end
 * with it, and lists of a scope's tasks are the library's. */
static void count_all(const struct moot *m, bool ended, struct leaks *leaks)
{
    const struct handles *handles = &m->tasks.handles;
    const uint32_t lists = (uint32_t)m->listing.kept_count;
    *leaks = (struct leaks){0};
    for (uint32_t i = 0; i < handles->count; i++) {
        const struct handle *handle = &handles->slots[i];
        if (handle->task != NULL && handle->parent == NULL && !handle->kept &&
            !handle->let_go && !(ended && goes_on(handle->task))) {
            count_handle(leaks, handle);
        }
    }
    leaks->handles -= lists < leaks->handles ? lists : leaks->handles;
}

static int compare_sites(const void *a, const void *b)
{
    const struct site_leak *x = a, *y = b;
    return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

/* --- Telling ---------------------------------------------------------------------- */

static void add_bytes(struct text *text, uint64_t bytes)
{
    const double mebibyte = 1048576;
    text_add(text, "%.1f MiB", (double)bytes / mebibyte);
}

static void add_site(struct text *text, const char *site, const struct site_leak *leak)
{
    text_add(text, "      %s: %llu handle%s, ", site, (unsigned long long)leak->handles,
             leak->handles == 1 ? "" : "s");
    add_bytes(text, leak->bytes);
    text_add(text, "\n");
}

static void add_sites(struct text *text, struct leaks *leaks)
{
    struct site_leak rest = leaks->other;
    qsort(leaks->sites, leaks->count, sizeof(leaks->sites[0]), compare_sites);
    for (uint32_t i = 0; i < leaks->count; i++) {
        const struct site_leak *leak = &leaks->sites[i];
        if (i < SITES_TOLD) {
            add_site(text, leak->site != NULL ? leak->site : "found by their hashes",
                     leak);
        } else {
            rest.handles += leak->handles;
            rest.bytes += leak->bytes;
        }
    }
    if (rest.handles > 0) {
        add_site(text, "elsewhere", &rest);
    }
}

/* A program's hook gets every rank's; standard error is most often one for all. */
static bool is_told_here(const struct moot *m)
{
    uint32_t lowest = 0;
    while (lowest < m->group.rank && !members_is_here(m, lowest)) {
        lowest++;
    }
    return m->engine.report != report_to_stderr || lowest == m->group.rank;
}

static void tell(struct moot *m, struct leaks *leaks, const char *when,
                 const char *advice)
{
    if (!is_told_here(m)) {
        return;
    }
    struct text text = {0};
    text_add(&text,
             "moot: rank %u of %u %s %llu handles that were not released, which keep ",
             m->group.rank, transport_group_ever(&m->group), when,
             (unsigned long long)leaks->handles);
    add_bytes(&text, leaks->bytes);
    text_add(&text, ", by the lines that spawned their tasks:\n");
    add_sites(&text, leaks);
    text_add(&text, "      next: %s\n", advice);
    report_add_text(m, text);
}

void leaks_look(struct moot *m, uint64_t now_ns)
{
    const struct handles *handles = &m->tasks.handles;
    const uint32_t live = handles->count - handles->free_count;
    (void)now_ns;
    if (live < LOOK_HANDLES || live / 2 < m->explain.leaks_seen) {
        return;
    }
    struct leaks leaks;
    m->explain.leaks_seen = live;
    count_all(m, true, &leaks);
    if (leaks.handles < RUNNING_HANDLES &&
        (leaks.handles < LOOK_HANDLES || leaks.bytes < RUNNING_BYTES)) {
        return;
    }
    m->explain.leaks_seen = UINT32_MAX / 2;
    tell(m, &leaks, "holds, of tasks that have ended,",
         "moot_task_release() each handle after its last use, or no rank forgets the "
         "task and its result; said once");
}

void leaks_close(struct moot *m)
{
    struct leaks leaks;
    count_all(m, false, &leaks);
    m->explain.handles_left = leaks.handles;
    m->explain.bytes_left = leaks.bytes;
    if (m->engine.fatal == 0 &&
        (leaks.handles >= CLOSING_HANDLES || leaks.bytes >= CLOSING_BYTES)) {
        tell(m, &leaks, "closes its moot with",
             "moot_task_release() each handle after its last use; a program that ends "
             "here loses nothing, a longer one would go on growing");
    }
}
