/* ownership.c - how the room's part of a core begins, enters a view, and ends. */
#include "consensus/ownership/ownership_private.h"

#include <stdlib.h>

static void list_begin(struct task_record *head)
{
    head->at.next = head->at.prev = head;
}

static void undecided_begin(struct core_ownership *own)
{
    own->undecided_requests.undecided_next = &own->undecided;
    own->undecided_requests.undecided_prev = &own->undecided;
    own->votes_tested = &own->undecided;
}

void ownership_begin(struct core *core)
{
    struct core_ownership *own = &core->ownership;
    list_begin(&own->pending);
    list_begin(&own->waited);
    list_begin(&own->asking);
    list_begin(&own->unfinished);
    own->undecided.requests = &own->undecided_requests;
    undecided_begin(own);
    own->pending_due = PENDING_NEVER;
}

void ownership_enter_view(struct core *core)
{
    struct core_ownership *own = &core->ownership;
    undecided_begin(own);
    own->reaccepting = 0;
    own->bounds.count = 0;
    own->yields_ns = 0;
    await_enter_view(core);
}

void ownership_forget_all(struct core *core)
{
    free(core->ownership.bounds.items);
    await_release(core);
    core->ownership = (struct core_ownership){0};
    ownership_begin(core);
}

void ownership_end(struct core *core)
{
    free(core->ownership.bounds.items);
    await_release(core);
}

void graph_push_no_more(struct core *core, const struct scope_record *scope)
{
    for (struct task_record **link = &core->ownership.push_list; *link != NULL;) {
        struct task_record *task = *link;
        if (task->scope == scope) {
            *link = task->at.next;
            task->on_push_list = false;
            core->ownership.push_count--;
        } else {
            link = &task->at.next;
        }
    }
}
