/* roll_pages.c - a lane's tasks by their positions, on pages that go when nothing of
 * them is left.
 *
 * A page has a place for each of PAGE_TASKS positions, which holds the task's record or
 * its stub.  A task that is forgotten leaves its place empty; the last one of a full
 * page takes the page's memory with it.  Positions are never used again.
 */
#include "consensus/state/state_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

HOT void *lane_known(const struct lane_record *lane, uint64_t position)
{
    assert(position >= 1 && position <= lane->len);
    void *const *known = lane->pages[(position - 1) / PAGE_TASKS].known;
    return known != NULL ? known[(position - 1) % PAGE_TASKS] : NULL;
}

void lane_replace(struct lane_record *lane, uint64_t position, struct task_record *task)
{
    assert(lane_known(lane, position) != NULL);
    assert(is_stub(lane_known(lane, position)));
    lane->pages[(position - 1) / PAGE_TASKS].known[(position - 1) % PAGE_TASKS] = task;
}

const void *lane_known_ahead(const struct lane_record *lane, uint64_t position,
                             uint32_t ahead)
{
    return position + ahead <= lane->len ? lane_known(lane, position + ahead) : NULL;
}

void lane_expect(const struct lane_record *lane, uint64_t position)
{
    fetch_ahead(lane_known_ahead(lane, position, EXPECT_AHEAD),
                sizeof(struct task_record));
}

bool lane_begin_behind(struct core *core, struct lane_record *lane, uint64_t position)
{
    assert(lane->len == 0 && position <= LIMIT_ROLL_BEGINS);
    const uint32_t pages = (uint32_t)((position + PAGE_TASKS - 1) / PAGE_TASKS);
    if (pages > 0 &&
        !core_grow(core, &lane->pages, &lane->page_room, pages, sizeof(struct page))) {
        return false;
    }
    for (uint32_t i = 0; i < pages; i++) {
        lane->pages[i] = (struct page){.known = NULL};
    }
    if (position % PAGE_TASKS != 0) {
        void **all = memory_take(core, PAGE_TASKS * sizeof(*all));
        if (all == NULL) {
            return false;
        }
        memset(all, 0, PAGE_TASKS * sizeof(*all));
        lane->pages[pages - 1].known = all;
    }
    lane->len = position;
    return true;
}

bool lane_put(struct core *core, struct lane_record *lane, void *known)
{
    uint64_t index = lane->len / PAGE_TASKS;
    if (lane->len % PAGE_TASKS == 0) {
        if (!core_grow(core, &lane->pages, &lane->page_room, (uint32_t)index + 1,
                       sizeof(struct page))) {
            return false;
        }
        void **all = memory_take(core, PAGE_TASKS * sizeof(*all));
        if (all == NULL) {
            return false;
        }
        lane->pages[index] = (struct page){.known = all};
    }
    struct page *page = &lane->pages[index];
    page->known[lane->len % PAGE_TASKS] = known;
    page->live++;
    lane->len++;
    return true;
}

HOT void lane_forget(struct core *core, struct lane_record *lane, uint64_t position)
{
    uint64_t index = (position - 1) / PAGE_TASKS;
    struct page *page = &lane->pages[index];
    assert(page->live > 0);
    page->known[(position - 1) % PAGE_TASKS] = NULL;
    if (--page->live == 0 && lane->len >= (index + 1) * PAGE_TASKS) {
        memory_give(core, page->known, PAGE_TASKS * sizeof(*page->known));
        page->known = NULL;
    }
}

void lane_forget_pages(struct core *core, struct lane_record *lane)
{
    for (uint64_t i = 0; i * PAGE_TASKS < lane->len; i++) {
        if (lane->pages[i].known != NULL) {
            memory_give(core, lane->pages[i].known,
                        PAGE_TASKS * sizeof(*lane->pages[i].known));
        }
    }
    free(lane->pages);
    lane->pages = NULL;
    lane->page_room = 0;
}
