/* once.c - once tasks: the owner is accepted by voters before it starts (T8).
 *
 * The chair proposes one winner in an epoch, itself or the holder it yields to, and
 * asks the voters C(chair) to accept it.  When a majority of them has, the record is
 * final and the winner may start.  A voter accepts what the chair of its own epoch
 * says; because the chair proposes one winner only, an acceptance is never withdrawn
 * within an epoch.
 */
#include "consensus/state/core_state.h"

/* That it has accepted the winner itself a chair that leaves need not tell its heirs
 * (nor need a voter that is ready).  The winner reports it in the next view, or who
 * reported what is accepted again here does so there, and then others accept it; should
 * that one crash before the view has settled, who left counts as lost with it
 * (silence.c). */
static void ask_voters(struct core *core, struct task *task,
                       const struct message_accept *accept)
{
    struct docket *docket = task->docket;
    uint32_t voters[LIMIT_VOTERS];
    uint32_t count = placement_voters(&task->hash, core->rank, &core->members,
                                      core->hosts, core->options.voters, voters);
    docket->quorum = MUTANT(SMALLQ) && count > 1 ? count / 2 : count / 2 + 1;
    seldom_of(core, task)->accepted = docket->winner;
    seldom_of(core, task)->accepted_epoch = core->epoch;
    if (!rankset_add(&docket->acks, core->rank)) {
        core->broken = true;
        return;
    }
    drop_touch(core, task);
    docket->balloting = true;
    for (uint32_t i = 0; i < count; i++) {
        struct message *message = voters[i] != core->rank
                                      ? out_send(core, voters[i], MESSAGE_ACCEPT, task)
                                      : NULL;
        if (message != NULL) {
            message->u.accept = *accept;
        }
    }
}

void ballot_awaited(const struct core *core, const struct task *task,
                    struct rankset *out)
{
    uint32_t voters[LIMIT_VOTERS];
    uint32_t count = placement_voters(&task->hash, core->rank, &core->members,
                                      core->hosts, core->options.voters, voters);
    for (uint32_t i = 0; i < count; i++) {
        if (!rankset_has(&task->docket->acks, voters[i])) {
            (void)rankset_add(out, voters[i]);
        }
    }
}

static void count_acks(struct core *core, struct task *task)
{
    struct docket *docket = task->docket;
    if (!docket->balloting || rankset_count(&docket->acks) < docket->quorum) {
        return;
    }
    docket->balloting = false;
    if (docket->reaccepting) {
        docket->reaccepting = false;
        recovery_reaccepted(core);
    } else {
        chair_decided(core, task, docket->winner, docket->evidence);
    }
}

void ballot_open(struct core *core, struct task *task, uint32_t winner,
                 enum evidence evidence)
{
    struct docket *docket = docket_of(core, task);
    if (docket == NULL) {
        return;
    }
    assert(!docket->balloting && docket->winner == NOBODY);
    docket->winner = winner;
    docket->evidence = evidence;
    const struct message_accept accept = {.winner = winner,
                                          .winner_uid = core->uids[winner]};
    ask_voters(core, task, &accept);
    count_acks(core, task);
}

void ballot_reaccept(struct core *core, struct task *task)
{
    struct docket *docket = docket_of(core, task);
    if (docket == NULL) {
        return;
    }
    bool maybe = task->rec == REC_MAYBE;
    docket->winner = task->rec;
    docket->reaccepting = true;
    core->reaccepting++;
    const struct message_accept accept = {.maybe = maybe,
                                          .winner = maybe ? 0 : task->rec,
                                          .winner_uid =
                                              maybe ? 0 : core->uids[task->rec]};
    ask_voters(core, task, &accept);
    count_acks(core, task);
}

/* Who has left may still be what an older view accepted, and MAYBE is nobody. */
void ballot_on_accept(struct core *core, uint32_t from, struct task *task,
                      const struct message_accept *accept)
{
    uint32_t winner = accept->maybe ? REC_MAYBE : accept->winner;
    bool known = accept->maybe || (accept->winner < core->size &&
                                   accept->winner_uid == core->uids[accept->winner]);
    bool duels = seldom(task)->accepted != NOBODY &&
                 seldom(task)->accepted_epoch == core->epoch &&
                 seldom(task)->accepted != winner;
    if (!known || duels) {
        core->stats.violations++;
        return;
    }
    seldom_of(core, task)->accepted = winner;
    seldom_of(core, task)->accepted_epoch = core->epoch;
    task->maybe = accept->maybe;
    core->leave.accepts_told = false;
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
    if (!rankset_add(&docket->acks, from)) {
        core->broken = true;
        return;
    }
    count_acks(core, task);
}
