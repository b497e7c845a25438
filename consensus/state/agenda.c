/* agenda.c - what is to be done about tasks before the step ends.
 *
 * News of one task has consequences for others: a chair that decides for
 * itself owns the task, needs what that takes, asks for it, and may be the chair of
 * that, too.  Were each consequence a call, the rooms would call each other in circles,
 * as deep as the program's graph.  So a room that finds a consequence above it appends
 * the task and the reason, and returns; step/work_off.c works the list off, first come
 * first served, until nothing is left.  A step ends with an empty agenda, unless
 * there is no memory and the core is broken.
 *
 * A task stands on the agenda once, with all its reasons.  Beside tasks there are the
 * messages of a rank to itself, which are handled as those to others are, and rooms
 * that have something to look at as a whole.
 */
#include "consensus/state/state.h"

#include <assert.h>
#include <string.h>

/* Room for one more: that of tasks taken off, if there is much of it. */
static bool make_room(struct core *core, struct agenda *agenda)
{
    if (agenda->count == agenda->room && agenda->first > agenda->count / 2) {
        agenda->count -= agenda->first;
        memmove(agenda->items, agenda->items + agenda->first,
                agenda->count * sizeof(struct task_record *));
        agenda->first = 0;
    }
    return core_grow(core, &agenda->items, &agenda->room, agenda->count + 1,
                     sizeof(struct task_record *));
}

HOT void agenda_add(struct core *core, struct task_record *task, unsigned why)
{
    struct agenda *agenda = &core->state.agenda;
    assert(why != 0 && !is_stub(task));
    if (task->agenda == 0) {
        if (!make_room(core, agenda)) {
            return;
        }
        agenda->items[agenda->count++] = task;
    }
    task->agenda = (task->agenda | why) & AGENDA_ALL;
}

HOT struct task_record *agenda_take(struct core *core, unsigned *why)
{
    struct agenda *agenda = &core->state.agenda;
    if (agenda->first == agenda->count) {
        agenda->first = agenda->count = 0;
        return NULL;
    }
    struct task_record *task = agenda->items[agenda->first++];
    *why = task->agenda;
    assert(*why != 0);
    task->agenda = 0;
    return task;
}

/* A message of this rank to itself; it lives, as what it borrows, until the next step.
 */
struct own_message {
    struct own_message *next;
    struct message message;
};

struct message *agenda_send(struct core *core, uint32_t to, enum message_type type)
{
    assert(to < core->size && type < MESSAGE_TYPE_END);
    if (to != core->rank) {
        return out_send(core, to, type, NULL);
    }
    struct agenda *agenda = &core->state.agenda;
    struct own_message *own = out_borrow(core, sizeof(*own));
    if (own == NULL) {
        return NULL;
    }
    if (agenda->mail == NULL) {
        agenda->mail_last = &agenda->mail;
    }
    *agenda->mail_last = own;
    agenda->mail_last = &own->next;
    own->message.type = type;
    own->message.epoch = core->epoch;
    return &own->message;
}

const struct message *agenda_take_mail(struct core *core)
{
    struct own_message *own = core->state.agenda.mail;
    if (own == NULL) {
        return NULL;
    }
    core->state.agenda.mail = own->next;
    return &own->message;
}

void agenda_add_due(struct core *core, enum agenda_due due)
{
    core->state.agenda.due |= due;
}

unsigned agenda_take_due(struct core *core)
{
    unsigned due = core->state.agenda.due;
    core->state.agenda.due = 0;
    return due;
}
