/* boundary.c - newcomers that are let in where all members meet (V4).
 *
 * PROTOCOL.md, *Boundaries*.  Certificates let the survivors of a dead quorum go on,
 * because no living rank has learned what the dead decided.  A newcomer would be such a
 * rank.  So a view with somebody new in it takes the vote of every member that is not
 * certified dead: then each survivor has accepted that value, and finds it again.
 *
 * All of them stand at a boundary meanwhile (meeting/), which the lowest member does
 * not conclude before somebody who waits is let in.  In a large view certificates count
 * nowhere, and its committee decides as ever.
 */
#include "consensus/meeting/meeting.h"
#include "consensus/membership/membership_private.h"

#include "consensus/state/state.h"

#include <assert.h>

static bool is_on(const struct core *core)
{
    return core->options.boundary && !core->membership.large;
}

bool boundary_lets_in(const struct core *core, const struct view *view)
{
    bool anybody = false;
    for (uint32_t i = 0; i < view->newcomer_count; i++) {
        anybody = anybody || !peer_is_named(core, view->newcomers[i].rank);
    }
    return anybody;
}

bool boundary_takes_all(const struct core *core, const struct view *view)
{
    return is_on(core) && boundary_lets_in(core, view) && !MUTANT(BOUNDARYMOST);
}

/* A member that is silent and not certified dead would give no vote. */
static bool all_may_vote(const struct core *core)
{
    bool all = true;
    FOR_MEMBERS(core, rank)
    {
        all = all && (!rankset_has(&core->membership.suspects, rank) ||
                      rankset_has(&core->membership.dead, rank));
    }
    return all;
}

bool boundary_may_propose(const struct core *core)
{
    if (core->membership.paxos.joiner_count == 0) {
        return false;
    }
    return !core->options.boundary || MUTANT(BOUNDARYANY) ||
           (meeting_admits(core) && (core->membership.large || all_may_vote(core)));
}

bool boundary_may_vote(const struct core *core, const struct view *view)
{
    return !core->options.boundary || !boundary_lets_in(core, view) ||
           meeting_stands(core) || MUTANT(BOUNDARYANY);
}

/* Only those could have decided one whose proposals this rank has accepted, as all have
 * accepted it then; and who has promised has not, and will not. */
bool boundary_is_void(const struct core *core)
{
    const struct paxos *paxos = &core->membership.paxos;
    assert(paxos->best != 0);
    if (!boundary_takes_all(core, &paxos->proposal) || all_may_vote(core) ||
        MUTANT(BOUNDARYKEPT)) {
        return false;
    }
    bool promised = rankset_has(&paxos->voices, core->rank);
    for (uint32_t rank = rankset_next(&paxos->backed, 0); rank != NOBODY;
         rank = rankset_next(&paxos->backed, rank + 1)) {
        promised = promised && rankset_has(&paxos->voices, rank);
    }
    return promised || paxos->somebody_is_free;
}

bool boundary_awaits_more(const struct core *core)
{
    const struct paxos *paxos = &core->membership.paxos;
    if (paxos->best == 0 || !boundary_takes_all(core, &paxos->proposal) ||
        boundary_is_void(core)) {
        return false;
    }
    bool more = false;
    FOR_MEMBERS(core, rank)
    {
        more = more || (!rankset_has(&paxos->voices, rank) &&
                        !rankset_has(&core->membership.suspects, rank) &&
                        !rankset_has(&core->membership.dead, rank));
    }
    return more;
}

/* --- Who waits ----------------------------------------------------------------------
 */

static void pass_on(struct core *core, const struct message_newcomer *joiner)
{
    const uint32_t lowest = rankset_next(&core->members, 0);
    struct message *message = lowest != core->rank && !MUTANT(BOUNDARYUNTOLD)
                                  ? out_send(core, lowest, MESSAGE_JOIN, NULL)
                                  : NULL;
    if (message != NULL) {
        message->u.join = (struct message_join){
            .rank = joiner->rank, .host = joiner->host, .uid = joiner->uid};
    }
}

void boundary_pass_on(struct core *core, uint32_t from)
{
    const struct paxos *paxos = &core->membership.paxos;
    for (uint32_t i = from; core->options.boundary && i < paxos->joiner_count; i++) {
        pass_on(core, &paxos->joiners[i]);
    }
}

bool core_is_asked_by(const struct core *core, uint32_t rank)
{
    const struct paxos *paxos = &core->membership.paxos;
    bool asked = false;
    for (uint32_t i = 0; i < paxos->joiner_count; i++) {
        asked = asked || paxos->joiners[i].rank == rank;
    }
    return asked;
}
