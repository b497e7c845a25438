/* ballot.c - once tasks: the owner is accepted by voters before it starts (T8).
 *
 * The chair proposes one winner in an epoch, itself or the holder it yields to, and
 * asks the voters C(chair) to accept it.  When a majority of them has, the record is
 * final and the winner may start.  A voter accepts what the chair of its own epoch
 * says; because the chair proposes one winner only, an acceptance is never withdrawn
 * within an epoch.
 */
#include "consensus/internal.h"

void ballot_open(struct core *core, struct task *task, uint32_t winner,
                 enum evidence evidence)
{
    struct docket *docket = docket_of(core, task);
    if (docket == NULL) {
        return;
    }
    assert(!docket->balloting && docket->winner == NOBODY);
    uint32_t voters[LIMIT_VOTERS];
    uint32_t count = placement_voters(&task->hash, core->rank, &core->members,
                                      core->hosts, core->options.voters, voters);
    docket->winner = winner;
    docket->quorum = MUTANT(SMALLQ) && count > 1 ? count / 2 : count / 2 + 1;
    docket->evidence = evidence;
    task->accepted = winner;
    if (!rankset_add(&docket->acks, core->rank)) {
        core->broken = true;
        return;
    }
    if (docket->quorum == 1) {
        chair_decided(core, task, winner, evidence);
        return;
    }
    docket->balloting = true;
    for (uint32_t i = 0; i < count; i++) {
        struct message *message = voters[i] != core->rank
                                      ? out_send(core, voters[i], MESSAGE_ACCEPT, task)
                                      : NULL;
        if (message != NULL) {
            message->u.accept =
                (struct message_accept){winner, core->peers[winner].uid};
        }
    }
}

void ballot_on_accept(struct core *core, uint32_t from, struct task *task,
                      const struct message_accept *accept)
{
    if (accept->winner >= core->size ||
        accept->winner_uid != core->peers[accept->winner].uid ||
        (task->accepted != NOBODY && task->accepted != accept->winner)) {
        core->stats.violations++;
        return;
    }
    task->accepted = accept->winner;
    out_send(core, from, MESSAGE_ACK, task);
}

/* An ACK names no winner: there is one per epoch, and it answers this epoch's ACCEPT.
 */
void ballot_on_ack(struct core *core, uint32_t from, struct task *task)
{
    struct docket *docket = task->docket;
    if (docket == NULL || docket->winner == NOBODY) {
        core->stats.violations++;
        return;
    }
    if (!docket->balloting) {
        return; /* the quorum was there without it */
    }
    if (!rankset_add(&docket->acks, from)) {
        core->broken = true;
        return;
    }
    if (rankset_count(&docket->acks) >= docket->quorum) {
        docket->balloting = false;
        chair_decided(core, task, docket->winner, docket->evidence);
    }
}
