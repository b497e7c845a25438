/* crash.c - tasks that kill whoever runs them (PROTOCOL.md, T10).
 *
 * A rank that dies of its own fault in a task's kernel would be followed by the next
 * owner, and so on until nobody is left.  So such deaths are counted, for each task, as
 * a set of ranks: numbers are never used again, so each is an incarnation, and who
 * hears of one twice counts it once.  Hosts tell of those that they could see; each
 * member reports its set to the task's chair in each view, and to it alone what it
 * learns later.  A chair takes what it is told for its own, so that it is reported on.
 *
 * Where hosts cannot tell which of several kernels it was, all are suspects: that goes
 * the same way, and by a decision to the owner, whose host runs it alone.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/state/state.h"

#include <assert.h>

void crash_note(struct core *core, struct task_record *task, uint32_t rank)
{
    if (rank >= core->size) {
        core->stats.refused++; /* a peer's word */
        return;
    }
    struct rankset *crashes = &task_ext_get(core, task)->crashes;
    if (MUTANT(CRASHTWICE) && rankset_has(crashes, rank)) {
        rank = (rank + 1) % core->size;
    }
    if (!rankset_add(crashes, rank)) {
        core->broken = true;
    }
}

void crash_suspect(struct task_record *task)
{
    if (task->have == CORE_HAVE_NOTHING) { /* else who ran it lives on */
        task->suspect = true;
    }
}

bool crash_is_deadly(const struct core *core, const struct task_record *task)
{
    const uint32_t limit = core->options.crashes;
    const uint32_t count = rankset_count(&task_ext(task)->crashes);
    return limit > 0 && count >= (MUTANT(CRASHONCE) ? 1 : limit) &&
           !MUTANT(CRASHUNCOUNTED);
}

bool crash_ends(const struct core *core, const struct task_record *task)
{
    return crash_is_deadly(core, task) && !hash_has(&task->hash, MOOT_HASH_ARRAY);
}

/* To the chair of this view, whose reports are in already. */
static void tell_chair(struct core *core, struct task_record *task,
                       const struct message_entry *said)
{
    if (task->chair == core->rank) {
        return;
    }
    chair_tell_ahead(core, task, task->chair);
    struct message_entry *entry = out_borrow(core, sizeof(*entry));
    struct message *message =
        entry != NULL ? out_send(core, task->chair, MESSAGE_REPORT, NULL) : NULL;
    if (message != NULL) {
        *entry = *said;
        message->u.report = (struct message_report){.count = 1, .entry = entry};
    }
}

int crash_on_event(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_CRASH);
    const uint32_t rank = event->u.crash.rank;
    if (!peer_is_named(core, rank) || rank == core->rank) {
        return MOOT_ERR_INVALID;
    }
    if (scope_is_dropped(core, &event->hash)) {
        return MOOT_OK; /* it has ended */
    }
    struct task_record *task = event_enter(core, event);
    if (task == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    struct message_entry said = {.hash = task->hash, .what = REPORT_SUSPECT};
    if (event->u.crash.perhaps) {
        crash_suspect(task);
    } else {
        crash_note(core, task, rank);
        said.what = REPORT_CRASH;
        said.owner = rank;
    }
    if (!rankset_has(&core->members, rank) && !MUTANT(CRASHLATE)) {
        tell_chair(core, task, &said);
    }
    agenda_add(core, task, AGENDA_TEST);
    return MOOT_OK;
}
