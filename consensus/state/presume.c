/* presume.c - what it proves that nobody knows of a once task's owner.
 *
 * PROTOCOL.md, *Entering*.  A once task starts only after a quorum of its voters
 * accepted the owner, and every view's reports bring up what a voter has accepted.  So
 * nobody can have started it unless, between some view and the first that followed it
 * settled, its chair left and a quorum of its voters with it, or so many that they
 * could have decided a view that nobody else knows.  Such a *loss* is never forgotten
 * (membership/losses.c): a survivor that spawns the task long after may be the first to
 * know of it, and those who ran it are gone.
 *
 * A newcomer is told the losses before its time with its first view.  If there were
 * more than that can tell, it takes every once task that nobody reports for one that
 * may have run.
 *
 * The judgement is a predicate over losses and the task's record.  It stands below the
 * rooms because a record is judged when it is made.
 */
#include "consensus/state/state.h"

/* In whatever way: who left in good order may have told one that has crashed, or, of
 * its last acceptances, nobody. */
static bool left_since(const struct core *core, const struct loss *loss, uint32_t rank)
{
    bool spared = MUTANT(LEAVEKEEPS) && rankset_has(&core->membership.retired, rank);
    return rankset_has(&loss->before, rank) && !rankset_has(&loss->after, rank) &&
           !spared;
}

/* --- Judging --------------------------------------------------------------------- */

/* Those who left could have decided a view of their own, without anyone who is still
 * there, and in that view the task may have had other voters.  Only certificates let
 * anyone go on after that.  (Of two ranks the one that died could only have removed the
 * other, whose certificate would then be void.) */
static bool may_hide_a_view(const struct core *core, const struct loss *loss)
{
    uint32_t members = rankset_count(&loss->before), gone = 0;
    for (uint32_t rank = rankset_next(&loss->before, 0); rank != NOBODY;
         rank = rankset_next(&loss->before, rank + 1)) {
        gone += left_since(core, loss, rank);
    }
    uint32_t lowest = left_since(core, loss, rankset_next(&loss->before, 0));
    return !only_majorities(core) && members > 2 && 2 * gone + lowest > members &&
           !MUTANT(NOHIDDEN);
}

static bool may_hide_a_start(const struct core *core, const struct loss *loss,
                             const struct task_record *task)
{
    if (may_hide_a_view(core, loss)) {
        return true;
    }
    uint32_t chair =
        MUTANT(KEEPERLOST)
            ? placement_chair(&task->hash, &loss->before, task->candidates)
            : chair_or_keeper(&loss->before, &task->hash, task->candidates);
    if (chair == NOBODY || !left_since(core, loss, chair)) {
        return false;
    }
    uint32_t voters[LIMIT_VOTERS];
    uint32_t count = placement_voters(&task->hash, chair, &loss->before,
                                      core->state.hosts, core->options.voters, voters);
    uint32_t gone = 0;
    for (uint32_t i = 0; i < count; i++) {
        gone += left_since(core, loss, voters[i]);
    }
    return gone >= count / 2 + 1;
}

/* About the views after `since`: an acceptance found says nothing of later ballots. */
static bool is_conclusive(const struct core *core, const struct task_record *task,
                          uint64_t since)
{
    for (uint32_t i = 0; i < core->membership.loss_count; i++) {
        if (core->membership.losses[i].epoch > since &&
            may_hide_a_start(core, &core->membership.losses[i], task)) {
            return false;
        }
    }
    return !core->membership.losses_unknown || since > 0;
}

/* Accepted for one who has left in good order since, and nobody has crashed from that
 * view on: had it run the task, an heir would have reported the result. */
static bool was_returned(const struct core *core, const struct recovery *found)
{
    bool old = core->membership.past_count == 0 ||
               found->accepted_epoch < core->membership.past[0].epoch;
    if (!rankset_has(&core->membership.retired, found->accepted) ||
        (old && core->membership.losses_unknown)) {
        return false;
    }
    for (uint32_t i = 0; i < core->membership.loss_count && !MUTANT(RETURNLOST); i++) {
        if (core->membership.losses[i].epoch >= found->accepted_epoch) {
            return false;
        }
    }
    return true;
}

bool presume_left_chaired(const struct core *core, const struct task_record *task)
{
    for (uint32_t i = 0; i < core->membership.loss_count; i++) {
        const struct loss *loss = &core->membership.losses[i];
        uint32_t chair = placement_chair(&task->hash, &loss->before, task->candidates);
        if (task->finder || (chair != NOBODY && left_since(core, loss, chair))) {
            return true;
        }
    }
    return false;
}

/* NOBODY if the task may be decided anew, REC_MAYBE if not. */
uint32_t presume_judge(const struct core *core, const struct task_record *task)
{
    const struct recovery *found = task_ext(task)->recovery;
    bool once = hash_has(&task->hash, MOOT_HASH_ONCE);
    bool again = hash_has(&task->hash, MOOT_HASH_IDEMPOTENT) && !MUTANT(ONCEONLY);
    if (!once || again || MUTANT(FREEDEAD)) {
        return NOBODY;
    }
    /* The task did run, and its result is lost.  (What is known of acceptances says so,
     * too: the voters who accepted the owner last are here, or it has left in good
     * order and an heir has the result, or enough of them are gone that silence proves
     * nothing.) */
    if (found != NULL && found->owner != NOBODY) {
        return REC_MAYBE;
    }
    bool accepted = found != NULL && found->accepted != NOBODY;
    if (found != NULL &&
        (found->maybe || (accepted && !rankset_has(&core->members, found->accepted) &&
                          !was_returned(core, found)))) {
        return REC_MAYBE;
    }
    if (accepted && MUTANT(MASKED)) {
        return NOBODY;
    }
    bool conclusive = is_conclusive(core, task, accepted ? found->accepted_epoch : 0);
    return conclusive || MUTANT(NOCONCL) ? NOBODY : REC_MAYBE;
}

/* A task that this rank, its chair, first hears of when it waits for no reports about
 * it: they are in and held nothing, or it could not tell that it was the chair; or it
 * was the chair in all views since the last that settled, which had nothing either. It
 * may have been told, as an heir or a voter, that the task may have run: that stands.
 */
void presume_judge_once(const struct core *core, struct task_record *task)
{
    bool early = task->frozen || (MUTANT(JUDGELATE) && !core->membership.settled);
    bool judged = (!early || core->membership.deciding) && !MUTANT(NOLOSSES);
    bool as_new = task->maybe && MUTANT(HEIRASNEW);
    if (judged && task->chair == core->rank && !task->finder && task->rec == NOBODY &&
        !as_new) {
        task->rec = task->maybe ? REC_MAYBE : presume_judge(core, task);
        task->maybe = task->rec == REC_MAYBE;
    }
}
