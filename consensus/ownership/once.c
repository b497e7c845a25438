/* once.c - once tasks: the owner is accepted by voters before it starts (T8).
 *
 * The chair proposes one winner in an epoch, itself or the holder it yields to, and
 * asks the voters C(chair) to accept it.  When a majority of them has, the record is
 * final and the winner may start.  A voter accepts what the chair of its own epoch
 * says; because the chair proposes one winner only, an acceptance is never withdrawn
 * within an epoch.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/state/state.h"

#include <assert.h>

/* That it has accepted the winner itself a chair that leaves need not tell its heirs
 * (nor need a voter that is ready).  The winner reports it in the next view, or who
 * reported what is accepted again here does so there, and then others accept it; should
 * that one crash before the view has settled, who left counts as lost with it
 * (presume.c). */
static void ask_voters(struct core *core, struct task_record *task,
                       const struct message_accept *accept)
{
    assert(task->chair == core->rank && !task->finder);
    assert(hash_has(&task->hash, MOOT_HASH_ONCE) && !task->requests->balloting);
    struct requests *requests = task->requests;
    uint32_t voters[LIMIT_VOTERS];
    uint32_t count = placement_voters(&task->hash, core->rank, &core->members,
                                      core->state.hosts, core->options.voters, voters);
    requests->quorum = MUTANT(SMALLQ) && count > 1 ? count / 2 : count / 2 + 1;
    requests->quorum -= MUTANT(REACCFEW) && count > 1 && requests->reaccepting;
    task_ext_get(core, task)->accepted = requests->winner;
    task_ext_get(core, task)->accepted_epoch = core->epoch;
    if (!rankset_add(&requests->acks, core->rank)) {
        core->broken = true;
        return;
    }
    release_touch(core, task);
    requests->balloting = true;
    for (uint32_t i = 0; i < count; i++) {
        if (voters[i] == core->rank) {
            continue;
        }
        chair_tell_ahead(core, task, voters[i]);
        struct message *message = out_send(core, voters[i], MESSAGE_ACCEPT, task);
        if (message != NULL) {
            message->u.accept = *accept;
        }
    }
}

void once_awaited(const struct core *core, const struct task_record *task,
                  struct rankset *out)
{
    assert(task->requests->balloting);
    uint32_t voters[LIMIT_VOTERS];
    uint32_t count = placement_voters(&task->hash, core->rank, &core->members,
                                      core->state.hosts, core->options.voters, voters);
    for (uint32_t i = 0; i < count; i++) {
        if (!rankset_has(&task->requests->acks, voters[i])) {
            (void)rankset_add(out, voters[i]);
        }
    }
}

static void end_reaccepting(struct core *core, struct requests *requests)
{
    requests->reaccepting = false;
    assert(core->ownership.reaccepting > 0);
    if (--core->ownership.reaccepting == 0) {
        agenda_add_due(core, AGENDA_SETTLE);
    }
}

/* True: a majority has accepted the owner.  (A record that is accepted again has had
 * its owner before.) */
static bool count_acks(struct core *core, struct requests *requests)
{
    if (!requests->balloting || rankset_count(&requests->acks) < requests->quorum) {
        return false;
    }
    requests->balloting = false;
    if (!requests->reaccepting) {
        return true;
    }
    end_reaccepting(core, requests);
    return false;
}

bool once_propose(struct core *core, struct task_record *task, uint32_t winner,
                  enum evidence evidence)
{
    assert(task->rec == NOBODY && winner < core->size);
    struct requests *requests = requests_of(core, task);
    if (requests == NULL) {
        return false;
    }
    assert(!requests->balloting && requests->winner == NOBODY);
    requests->winner = winner;
    requests->evidence = evidence;
    const struct message_accept accept = {.winner = winner,
                                          .winner_uid = core->state.uids[winner]};
    ask_voters(core, task, &accept);
    return count_acks(core, requests);
}

void once_reaccept(struct core *core, struct task_record *task)
{
    assert(task->rec != NOBODY && !core->membership.settled);
    struct requests *requests = requests_of(core, task);
    if (requests == NULL) {
        return;
    }
    bool maybe = task->rec == REC_MAYBE;
    requests->winner = task->rec;
    requests->reaccepting = true;
    core->ownership.reaccepting++;
    const struct message_accept accept = {.maybe = maybe,
                                          .winner = maybe ? 0 : task->rec,
                                          .winner_uid =
                                              maybe ? 0 : core->state.uids[task->rec]};
    ask_voters(core, task, &accept);
    (void)count_acks(core, requests);
}

void once_forget(struct core *core, struct task_record *task)
{
    struct requests *requests = task->requests;
    if (requests != NULL && requests->reaccepting) {
        requests->balloting = false;
        end_reaccepting(core, requests);
    }
}

/* Who has left may still be what an older view accepted, and MAYBE is nobody. */
bool once_on_accept(struct core *core, uint32_t from, struct task_record *task,
                    const struct message_accept *accept)
{
    assert(from != core->rank);
    uint32_t winner = accept->maybe ? REC_MAYBE : accept->winner;
    bool known =
        accept->maybe || (accept->winner < core->size &&
                          accept->winner_uid == core->state.uids[accept->winner]);
    bool duels = task_ext(task)->accepted != NOBODY &&
                 task_ext(task)->accepted_epoch == core->epoch &&
                 task_ext(task)->accepted != winner;
    if (!known || duels || !hash_has(&task->hash, MOOT_HASH_ONCE)) {
        core->stats.violations++;
        return false;
    }
    task_ext_get(core, task)->accepted = winner;
    task_ext_get(core, task)->accepted_epoch = core->epoch;
    task->maybe = accept->maybe;
    out_send(core, from, MESSAGE_ACK, task);
    return true;
}

/* An ACK names no winner: there is one per epoch, and it answers this epoch's ACCEPT.
 */
bool once_on_ack(struct core *core, uint32_t from, struct task_record *task)
{
    assert(from != core->rank && from < core->size);
    struct requests *requests = task->requests;
    if (requests == NULL || requests->winner == NOBODY) {
        core->stats.violations++;
        return false;
    }
    if (!rankset_add(&requests->acks, from)) {
        core->broken = true;
        return false;
    }
    return count_acks(core, requests);
}
