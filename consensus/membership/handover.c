/* handover.c - what a leaver gives to its heirs, and what an heir does with it.
 *
 * PROTOCOL.md, "Leaving".  When a leaver has nothing unfinished any more three kinds of
 * things would be lost with it.  The bytes of its results go to the chairs that their
 * keys will have without it.  What it has accepted as a voter, and how tasks end for
 * good, goes to the same, and so does the word of who has died of a task.  An heir
 * keeps all that as its own and says TAKEN; one that is ready to leave says so instead,
 * and the leaver looks for another.
 */
#include "consensus/membership/membership_private.h"

#include "consensus/ownership/ownership.h"
#include "consensus/state/state.h"

#include <assert.h>

/* --- Giving ---------------------------------------------------------------------- */

static uint32_t heir_of(const struct task_record *task, const struct rankset *staying)
{
    assert(!rankset_empty(staying));
    return chair_or_keeper(staying, &task->hash, task->candidates);
}

/* Its own, and copies of what others made who have left or are about to.  An heir that
 * has taken it and then leaves, too, might have this rank for an heir: then it goes to
 * one who stays. */
static bool is_to_hand_over(const struct task_record *task,
                            const struct rankset *staying)
{
    if (task->have != CORE_HAVE_DATA || task->owner == NOBODY) {
        return false;
    }
    bool owner_stays = rankset_has(staying, task->owner) && !task->entrusted;
    bool in_good_hands = task_ext(task)->heir != NOBODY &&
                         (task->handing || rankset_has(staying, task_ext(task)->heir));
    return !owner_stays && !in_good_hands && !MUTANT(NOHANDOVER);
}

void handover_give_results(struct core *core, const struct rankset *staying)
{
    assert(core->ownership.unfinished_count == 0);
    for (size_t i = 0; i < core->state.slot_count && !core->broken; i++) {
        struct task_record *task = table_pass(core, i);
        if (task == NULL || !is_to_hand_over(task, staying)) {
            continue;
        }
        uint32_t heir = heir_of(task, staying);
        task_ext_get(core, task)->heir = heir;
        giving_hand_over(core, task);
        graph_hand_over(core, task, heir);
    }
}

static void hand_over_entry(struct core *core, const struct rankset *staying,
                            struct task_record *task, const struct message_entry *said)
{
    assert(core->membership.leave.going && core->ownership.unfinished_count == 0);
    uint32_t heir = heir_of(task, staying);
    chair_tell_ahead(core, task, heir);
    struct message_entry *entry = out_borrow(core, sizeof(*entry));
    struct message *message =
        entry != NULL ? out_send(core, heir, MESSAGE_HANDOVER, NULL) : NULL;
    if (message == NULL) {
        return;
    }
    *entry = *said;
    message->u.report =
        (struct message_report){.last = true, .count = 1, .entry = entry};
    core->membership.leave.untaken++;
}

/* The ranks that died of it: perhaps nobody who stays could learn of them. */
static void hand_over_crashes(struct core *core, struct task_record *task,
                              const struct rankset *staying)
{
    struct message_entry entry = {.hash = task->hash, .what = REPORT_CRASH};
    const struct rankset *crashes = &task_ext(task)->crashes;
    for (uint32_t rank = rankset_next(crashes, 0); rank < core->size;
         rank = rankset_next(crashes, rank + 1)) {
        entry.owner = rank;
        hand_over_entry(core, staying, task, &entry);
    }
    if (task->suspect) {
        entry = (struct message_entry){.hash = task->hash, .what = REPORT_SUSPECT};
        hand_over_entry(core, staying, task, &entry);
    }
}

/* Three things go with a leaver else: a voter's knowledge of a once task, for its next
 * chair; a chair's decision how a task ends for good, of which perhaps nobody else has
 * heard; and who has died of a task. */
static void hand_over_known(struct core *core, struct task_record *task,
                            const struct rankset *staying)
{
    bool chairs = task->chair == core->rank || task->finder;
    if (task->maybe || task_ext(task)->accepted < core->size) {
        const struct message_entry accepted = {
            .hash = task->hash,
            .what = task->maybe ? REPORT_MAYBE : REPORT_ACCEPTED,
            .owner = task->maybe ? 0 : task_ext(task)->accepted,
            .epoch = task_ext(task)->accepted_epoch,
        };
        hand_over_entry(core, staying, task, &accepted);
    }
    if (task_ends_with(task) != 0 && chairs) {
        const struct message_entry ends = verdict_entry(core, task);
        hand_over_entry(core, staying, task, &ends);
    }
    if (!MUTANT(CRASHKEPT)) {
        hand_over_crashes(core, task, staying);
    }
}

void handover_give_known(struct core *core, const struct rankset *staying)
{
    if (core->membership.leave.accepts_told || MUTANT(NOACCEPTOVER)) {
        return;
    }
    core->membership.leave.accepts_told = true;
    for (size_t i = 0; i < core->state.slot_count && !core->broken; i++) {
        struct task_record *task = table_pass(core, i);
        if (task != NULL) {
            hand_over_known(core, task, staying);
        }
    }
}

/* --- Taking ---------------------------------------------------------------------- */

void handover_on_result(struct core *core, uint32_t from, struct task_record *task)
{
    assert(from != core->rank && task->have != CORE_HAVE_NOTHING);
    leave_note_going(core, from); /* in a large view it has told the committee alone */
    if (core->membership.leave.ready) {
        leave_say(core, from, LEAVE_READY, NULL);
    } else if (task->have == CORE_HAVE_DATA) {
        task->entrusted = true;
        leave_say(core, from, LEAVE_TAKEN, task);
    } else {
        leave_say(core, from, LEAVE_AGAIN, task);
    }
}

/* The heir remembers it as if it had accepted it itself. */
static void remember(struct core *core, const struct message_entry *entry)
{
    bool gone = scope_is_dropped(core, &entry->hash) ||
                reclaim_once_is_gone(core, &entry->hash);
    struct task_record *task = gone ? NULL : table_enter(core, &entry->hash);
    if (task != NULL && entry->what == REPORT_VERDICT) {
        const struct task_end ends = verdict_from_entry(core, entry);
        verdict_learn(core, task, &ends);
        return;
    }
    if (task != NULL && entry->what == REPORT_CRASH) {
        crash_note(core, task, entry->owner);
        agenda_add(core, task, AGENDA_TEST);
        return;
    }
    if (task != NULL && entry->what == REPORT_SUSPECT) {
        crash_suspect(task);
        return;
    }
    bool known = task == NULL || (task_ext(task)->accepted != NOBODY &&
                                  task_ext(task)->accepted_epoch >= entry->epoch);
    if (known || entry->owner >= core->size) {
        return;
    }
    task->maybe |= entry->what == REPORT_MAYBE;
    task_ext_get(core, task)->accepted = task->maybe ? REC_MAYBE : entry->owner;
    task_ext_get(core, task)->accepted_epoch = entry->epoch;
}

void handover_on_handover(struct core *core, uint32_t from,
                          const struct message_report *handover)
{
    assert(from != core->rank && rankset_has(&core->members, from));
    for (uint32_t i = 0; i < handover->count && !core->membership.leave.ready; i++) {
        remember(core, &handover->entry[i]);
    }
    core->membership.leave.accepts_told =
        false; /* if it leaves, it hands them on with its own */
    if (core->membership.leave.ready) {
        leave_say(core, from, LEAVE_READY, NULL);
    }
    leave_say(core, from, LEAVE_TAKEN, NULL);
}
