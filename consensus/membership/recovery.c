/* recovery.c - deciding frozen keys when all have reported (*Entering*).
 *
 * Reports are gathered per task.  Only when those of *all* members are in does a chair
 * decide, because the one that is missing could name the owner (in a large view it
 * hears of that by the tally, view_barrier.c).  Once tasks that have an owner are then
 * accepted again by the voters of this view, so that the next view's reports will find
 * them; only after that is the chair SETTLED.
 */
#include "consensus/membership/membership_private.h"

#include "consensus/elements/elements.h"
#include "consensus/gossip/gossip.h"
#include "consensus/ownership/ownership.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

/* A key that stayed is not frozen by it: its chair knows all that there is to know, and
 * may have begun to ask voters. */
void recovery_note(struct core *core, uint32_t from, const struct message_entry *entry)
{
    if (scope_is_dropped(core, &entry->hash) ||
        reclaim_once_is_gone(core, &entry->hash)) {
        return;
    }
    struct task_record *task = table_enter(core, &entry->hash);
    if (task == NULL) {
        return;
    }
    struct recovery *found = task_ext(task)->recovery;
    if (found == NULL) {
        found = core_alloc(core, sizeof(*found));
        if (found == NULL) {
            return;
        }
        found->owner = found->running = found->accepted = NOBODY;
        task_ext_get(core, task)->recovery = found;
    }
    task->frozen |= MUTANT(REPORTFREEZE) && task->chair == core->rank &&
                    !core->membership.settled && task->rec == NOBODY;
    switch (entry->what) {
    case REPORT_RESULT:
        if (found->owner != NOBODY && found->owner != entry->owner) {
            core->stats.violations++; /* I7 */
        }
        found->owner = entry->owner;
        found->evidence = entry->evidence;
        found->seen |= entry->code == MOOT_OK;
        if (entry->has_payload && !rankset_add(&found->at, from)) {
            core->broken = true;
        }
        break;
    case REPORT_OWN:
        found->running = from;
        found->evidence = entry->evidence;
        break;
    case REPORT_ACCEPTED:
    case REPORT_MAYBE:
        if (found->accepted == NOBODY ||
            (entry->epoch > found->accepted_epoch && !MUTANT(ACCEPTFIRST))) {
            found->accepted = entry->what == REPORT_ACCEPTED ? entry->owner : NOBODY;
            found->accepted_epoch = entry->epoch;
        }
        found->maybe |= entry->what == REPORT_MAYBE;
        break;
    case REPORT_LOST:
        found->lost = true;
        break;
    case REPORT_SEEN:
        found->seen = true;
        break;
    case REPORT_CRASH:
        crash_note(core, task, entry->owner);
        if (!task->frozen) {
            agenda_add(core, task, AGENDA_TEST);
        }
        break;
    case REPORT_SUSPECT:
        crash_suspect(task);
        break;
    case REPORT_VERDICT:
        found->ends = verdict_from_entry(core, entry);
        if (!task->frozen) { /* else it is judged with all that is reported */
            verdict_learn(core, task, &found->ends);
        }
        break;
    }
}

void recovery_on_report(struct core *core, uint32_t from,
                        const struct message_report *report)
{
    assert(from < core->size && from != core->rank);
    for (uint32_t i = 0; i < report->count && !core->broken; i++) {
        recovery_note(core, from, &report->entry[i]);
    }
    if (report->last && core->membership.large) {
        barrier_take_report(core, from);
    } else if (report->last) {
        recovery_reported(core, from);
    }
}

/* --- Deciding --------------------------------------------------------------------- */

/* Somebody had it, nobody has its bytes, and another run would give others.  (A once
 * task that may not be run again is MAYBE, by the silence of those who ran it.) */
static bool is_lost(const struct task_record *task)
{
    assert(task_ext(task)->recovery != NULL);
    const struct recovery *found = task_ext(task)->recovery;
    bool varies = (task->flags & CORE_TASK_NONDETERMINISTIC) != 0;
    bool again = !hash_has(&task->hash, MOOT_HASH_ONCE) ||
                 hash_has(&task->hash, MOOT_HASH_IDEMPOTENT);
    return (found->lost || (varies && found->owner != NOBODY)) && again &&
           !MUTANT(LOSTRERUN);
}

static uint32_t judge(const struct core *core, const struct task_record *task)
{
    assert(task->frozen);
    const struct recovery *found = task_ext(task)->recovery;
    if (found != NULL && found->owner != NOBODY) {
        bool payload = !rankset_empty(&found->at);
        if (payload || rankset_has(&core->members, found->owner)) {
            return found->owner;
        }
        /* No copy is left: a pure task is run again, unless that would tell. */
    } else if (found != NULL && found->running != NOBODY &&
               !(MUTANT(CRASHRUNNING) && crash_is_deadly(core, task))) {
        return found->running;
    }
    if (found != NULL && found->ends.code != 0) {
        return REC_VERDICT;
    }
    if (found != NULL && is_lost(task)) {
        return REC_LOST;
    }
    bool again = hash_has(&task->hash, MOOT_HASH_IDEMPOTENT) && MUTANT(CRASHAGAIN);
    if (crash_ends(core, task) && !task->finder && !again) {
        bool once = hash_has(&task->hash, MOOT_HASH_ONCE) && !MUTANT(CRASHSURE);
        return once ? REC_MAYBE : REC_VERDICT;
    }
    /* Who cannot tell that it is the chair takes only what was found for an answer. */
    return task->finder && !MUTANT(FINDERJUDGES) ? NOBODY : presume_judge(core, task);
}

/* Somebody took its result, or knows of it: what it is made of again is that result,
 * and no cancel. */
static bool was_seen(const struct task_record *task)
{
    const struct recovery *found = task_ext(task)->recovery;
    return found != NULL && found->seen && !MUTANT(UNSEEN);
}

/* Whoever ran it lived. */
static bool ended_well(const struct task_record *task)
{
    const struct recovery *found = task_ext(task)->recovery;
    return found != NULL && found->owner != NOBODY;
}

/* As is reported of it; else enough ranks have died of it, which is decided now. */
static struct task_end end_of(struct core *core, const struct task_record *task)
{
    const struct recovery *found = task_ext(task)->recovery;
    if (found != NULL && found->ends.code != 0) {
        return found->ends;
    }
    return verdict_end(core, verdict_of_crashes(task));
}

static void decide_frozen(struct core *core)
{
    assert(!core->membership.settled);
    for (size_t i = 0; i < core->state.slot_count; i++) {
        struct task_record *task = table_pass(core, i);
        if (task == NULL || !task->frozen) {
            continue;
        }
        task->rec = judge(core, task);
        task->seen |= was_seen(task);
        task->suspect &= !ended_well(task);
        if (task->rec == REC_VERDICT) {
            task_ext_get(core, task)->ends = end_of(core, task);
        }
        task->maybe |= task->rec == REC_MAYBE;
        task->lost |= task->rec == REC_LOST;
        if (task_ext(task)->recovery != NULL && task->rec < core->size) {
            task->evidence = (uint8_t)task_ext(task)->recovery->evidence;
        }
    }
}

/* Its ballot was in this very view: the key had not moved, so that it did not wait. */
static bool is_accepted_here(const struct core *core, const struct task_record *task)
{
    return task_ext(task)->accepted == task->rec &&
           task_ext(task)->accepted_epoch == core->epoch;
}

/* Its scope has ended: voters know nothing of it any more, and nobody asks. */
static bool is_over(const struct core *core, const struct task_record *task)
{
    return task->scope != NULL && scope_is_dropped(core, &task->hash);
}

static void accept_again(struct core *core)
{
    assert(!core->membership.settled);
    for (size_t i = 0; i < core->state.slot_count; i++) {
        struct task_record *task = table_pass(core, i);
        if (task != NULL && hash_has(&task->hash, MOOT_HASH_ONCE) &&
            task->chair == core->rank && !task->finder && task->rec != NOBODY &&
            task->rec != REC_LOST && /* which voters need not know */
            task->rec != REC_VERDICT && !is_accepted_here(core, task) &&
            !is_over(core, task) && !MUTANT(NOREACC)) {
            once_reaccept(core, task);
        }
    }
}

static void tell_settled(struct core *core)
{
    assert(!core->membership.large && core->membership.settled);
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank) {
            out_send(core, rank, MESSAGE_SETTLED, NULL);
        }
    }
    recovery_on_settled(core, core->rank);
}

static void go_on(struct core *core)
{
    assert(!core->membership.settled && core->ownership.reaccepting == 0);
    core->membership.settled = true;
    gossip_note_before(core);
    for (size_t i = 0; i < core->state.slot_count; i++) {
        struct task_record *task = table_pass(core, i);
        if (task != NULL) {
            task->frozen = false;
        }
    }
    if (core->membership.large) {
        barrier_settled(core);
    } else {
        tell_settled(core);
    }
    recovery_take_up(core);
}

/* A chair goes on with what it could not decide before. */
void recovery_take_up(struct core *core)
{
    for (size_t i = 0; i < core->state.slot_count && !core->broken; i++) {
        struct task_record *task = table_pass(core, i);
        if (task != NULL && task->chair == core->rank && !is_over(core, task)) {
            chair_claim(core, task);
            chair_retest(core, task);
            cancel_pass_on(core, task);
            elements_cancel(core, task);
            graph_pass_end_on(core, task);
        }
    }
}

void recovery_decide(struct core *core)
{
    assert(!core->membership.settled && !core->membership.deciding);
    decide_frozen(core);
    accept_again(core);
    core->membership.deciding = true;
    agenda_add_due(core, AGENDA_SETTLE);
}

void recovery_go_on(struct core *core)
{
    if (core->membership.deciding && core->ownership.reaccepting == 0) {
        core->membership.deciding = false;
        go_on(core);
    }
}

/* In a small view: one more member has. */
void recovery_reported(struct core *core, uint32_t from)
{
    assert(!core->membership.large && rankset_has(&core->members, from));
    if (core->membership.settled || core->membership.deciding) {
        return;
    }
    if (!rankset_add(&core->membership.reported, from)) {
        core->broken = true;
        return;
    }
    uint32_t missing = 0;
    FOR_MEMBERS(core, rank)
    {
        missing += !rankset_has(&core->membership.reported, rank);
    }
    if (missing > (MUTANT(PARTIAL) ? 1u : 0u)) {
        return;
    }
    recovery_decide(core);
}

void recovery_on_settled(struct core *core, uint32_t from)
{
    assert(rankset_has(&core->members, from));
    if (!rankset_add(&core->membership.settled_peers, from)) {
        core->broken = true;
    }
}

bool recovery_all_settled(const struct core *core)
{
    if (core->membership.large) {
        return core->membership.barrier.all_settled;
    }
    FOR_MEMBERS(core, rank)
    {
        if (!rankset_has(&core->membership.settled_peers, rank)) {
            return false;
        }
    }
    return true;
}
