/* element_again.c - see element_again.h. */
#include "node/schedule/element_again.h"

#include "consensus/core_view.h"
#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/kept_handles.h"

/* The other members may drop it before they hear that it is needed. */
static bool is_leaving(const struct moot *m, const struct task *task)
{
    const void *entry = task_entry(task);
    return entry == NULL || task->gone || core_entry_is_leaving(m->core, entry);
}

static bool is_there(const struct moot *m, const struct element_link *link)
{
    if (link->single) {
        return link->task != NULL || link->sources->state == SOURCE_HERE;
    }
    return link->from != NULL && !is_leaving(m, link->from->task);
}

bool element_can_again(const struct moot *m, const struct elements *elements)
{
    const struct task *end = elements->task;
    const bool well = end->known ? end->status == MOOT_OK : elements->has_ended;
    bool can = well && !is_leaving(m, end) && !elements->once &&
               elements_may_run(m, &elements->homes);
    for (uint32_t i = 0; i < elements->link_count && can; i++) {
        can = is_there(m, elements->links[i]);
    }
    return can;
}

static void keep(struct moot *m, struct elements *elements)
{
    bool good = elements->again_kept || task_ticket_begin(m, elements->task);
    elements->again_kept = true;
    for (uint32_t i = 0; i < elements->link_count && good; i++) {
        struct element_link *link = elements->links[i];
        if (link->from != NULL) {
            link->from->has_ended = true;
        }
        if (!link->kept && link->from != NULL) {
            link->kept = good = task_ticket_begin(m, link->from->task);
        }
    }
    links_list(m, elements);
    if (!good) {
        engine_starve(m, "no memory to make an element again");
    }
}

static void begin(struct moot *m, struct elements *elements, uint64_t place)
{
    const int error =
        elements_add(m, elements, (struct range){place, place + 1}, false);
    struct element_block *block = elements_block(elements, place);
    if (error != MOOT_OK || block == NULL) {
        engine_starve(m, "no memory to make an element again");
        return;
    }
    block->again = true;
    elements->again++;
    elements->any_again = true;
    links_look_for(m, elements, block);
    progress_wake(m);
}

bool element_again(struct moot *m, struct elements *elements, uint64_t place)
{
    const struct element_block *block = elements_block(elements, place);
    if (block != NULL) {
        return !elements_has_ended(block, place) ||
               elements_result(elements, place) != NULL;
    }
    if (!element_can_again(m, elements)) {
        return false;
    }
    keep(m, elements);
    begin(m, elements, place);
    return true;
}

void element_again_let_go(struct moot *m, struct elements *elements)
{
    if (elements->again_kept) {
        elements->again_kept = false;
        task_ticket_end(m, elements->task);
    }
}
