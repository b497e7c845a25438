/* forget.c - dropping what is kept of tasks whose scope has ended on every rank.
 *
 * scope.c decides when; here the records go, some at each step, so that a rank that
 * ends a large scope still answers its peers in between.  Their memory is used again.
 * A roll is kept in pages, and a page of which nothing is left goes, too: positions
 * stay what they were, and a long run's roll costs a pointer per page.
 *
 * What is left of a task that has been dropped is its scope's mark: any message, event
 * or report that names it is known by that (hash_scope), so missing never means new.
 */
#include "consensus/internal.h"

#include <stdlib.h>

enum { PAGE_TASKS = 511 }; /* with its head, a page is a power of two */
enum { EXPECT_AHEAD = 4, CACHE_LINE_BYTES = 64 };

/* --- Pages of a roll ---------------------------------------------------------------
 */

struct page {
    uint32_t live;
    struct task *tasks[PAGE_TASKS];
};

struct task *lane_task(const struct lane *lane, uint64_t position)
{
    assert(position >= 1 && position <= lane->len);
    const struct page *page = lane->pages[(position - 1) / PAGE_TASKS];
    return page != NULL ? page->tasks[(position - 1) % PAGE_TASKS] : NULL;
}

void lane_expect(const struct lane *lane, uint64_t position)
{
    const struct task *task = position + EXPECT_AHEAD <= lane->len
                                  ? lane_task(lane, position + EXPECT_AHEAD)
                                  : NULL;
    for (size_t at = 0; task != NULL && at < sizeof(*task); at += CACHE_LINE_BYTES) {
        __builtin_prefetch((const char *)task + at);
    }
}

void lane_expect_slot(const struct core *core, const struct lane *lane,
                      uint64_t position)
{
    const struct task *task = position + EXPECT_AHEAD / 2 <= lane->len
                                  ? lane_task(lane, position + EXPECT_AHEAD / 2)
                                  : NULL;
    if (task != NULL) {
        table_expect(core, &task->hash);
    }
}

bool lane_put(struct core *core, struct lane *lane, struct task *task)
{
    uint64_t index = lane->len / PAGE_TASKS;
    if (lane->len % PAGE_TASKS == 0) {
        if (!core_grow(core, &lane->pages, &lane->page_room, (uint32_t)index + 1,
                       sizeof(struct page *))) {
            return false;
        }
        lane->pages[index] = memory_take(core, sizeof(struct page));
        if (lane->pages[index] == NULL) {
            return false;
        }
    }
    struct page *page = lane->pages[index];
    page->tasks[lane->len % PAGE_TASKS] = task;
    page->live++;
    lane->len++;
    return true;
}

void lane_forget(struct core *core, struct lane *lane, uint64_t position)
{
    uint64_t index = (position - 1) / PAGE_TASKS;
    struct page *page = lane->pages[index];
    page->tasks[(position - 1) % PAGE_TASKS] = NULL;
    if (--page->live == 0 && lane->len >= (index + 1) * PAGE_TASKS) {
        memory_give(core, page, sizeof(*page));
        lane->pages[index] = NULL;
    }
}

/* --- Tasks -------------------------------------------------------------------------
 */

static void unlink_edges(struct task *task)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        struct edge *edge = &task->inputs[i];
        if (edge->from == NULL) {
            continue;
        }
        struct scope *fed_by = edge->from->scope;
        if (fed_by != NULL && fed_by->feeding == edge) {
            fed_by->feeding = edge->next; /* the consumer's scope has ended: served */
            fed_by->feeder =
                edge->next != NULL ? fed_by->feeder : fed_by->feeder->scope_next;
        }
        *edge->link = edge->next;
        if (edge->next != NULL) {
            edge->next->link = edge->link;
        }
    }
    for (struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        bool ended_well = task->have != CORE_HAVE_NOTHING && task->status == MOOT_OK;
        edge->lost = !edge->order_only || !ended_well;
        edge->from = NULL;
    }
}

static void unlink_from_scope(struct task *task)
{
    struct scope *scope = task->scope;
    if (scope == NULL) {
        return;
    }
    if (scope->cursor == task) {
        scope->cursor = task->scope_next;
    }
    if (scope->feeder == task) {
        scope->feeder = task->scope_next;
        scope->feeding = NULL;
    }
    if (task->scope_prev != NULL) {
        task->scope_prev->scope_next = task->scope_next;
    } else {
        scope->tasks = task->scope_next;
    }
    if (task->scope_next != NULL) {
        task->scope_next->scope_prev = task->scope_prev;
    }
}

bool forget_task(struct core *core, struct task *task, bool alike)
{
    if (task->own == CORE_OWN_WAIT || task->own == CORE_OWN_RUNNING) {
        return false;
    }
    if (task->needs_done + task->needs_data > 0) { /* a wait by the bare hash */
        graph_verdict(core, task, MOOT_ERR_SCOPE_CLOSED, NULL, 0);
    }
    core->open_needs -= task->needs_done + task->needs_data;
    asker_forget_pending(core, task);
    undecided_remove(task);
    recovery_forget(core, task);
    if (core->last_wait == task) {
        core->last_wait = NULL;
    }
    if (task->position != 0) {
        roll_count_task(core, task, alike);
        roll_forget(core, task);
    }
    leave_forget(core, task);
    unlink_edges(task);
    unlink_from_scope(task);
    if (task_user(core, task) != NULL) {
        out_add(core, CORE_OUT_FORGET, task);
    }
    core->stats.forgotten++;
    core->stats.let_go -= task->let_go;
    table_forget(core, task);
    return true;
}

static void leave_push_list(struct core *core, const struct scope *scope)
{
    for (struct task **link = &core->push_list; *link != NULL;) {
        struct task *task = *link;
        if (task->scope == scope) {
            *link = task->push_next;
            task->on_push_list = false;
        } else {
            link = &task->push_next;
        }
    }
}

static void leave_announcements(struct core *core, uint64_t mark)
{
    for (uint32_t k = 0; k < core->known_count; k++) {
        struct peer *peer = core->known[k];
        for (uint32_t i = peer->announced_count; i-- > 0;) {
            if (peer->announced[i].scope == mark) {
                peer->announced[i] = peer->announced[--peer->announced_count];
            }
        }
    }
}

void forget_begin(struct core *core, struct scope *scope)
{
    leave_push_list(core, scope);
    leave_announcements(core, scope->mark);
}

bool forget_some(struct core *core, struct scope *scope, uint32_t *budget)
{
    struct task *task = scope->tasks;
    while (task != NULL && *budget > 0 && !core->broken) {
        struct task *following = task->scope_next;
        (void)forget_task(core, task, scope->alike);
        (*budget)--;
        task = following;
    }
    return scope->tasks != NULL;
}
