/* view_sync.c - learning what was decided: entering, telling who is behind, fences,
 * and who asks to be let in.
 *
 * A decision is accepted from members of one's own view only.  A member that speaks
 * from an older view is told the present one; a rank that is no member any more is told
 * that it is fenced.
 */
#include "consensus/membership/membership_private.h"

#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

static void forget_slot(struct core *core)
{
    struct paxos *paxos = &core->membership.paxos;
    view_release(&paxos->value);
    view_release(&paxos->pending);
    view_release(&paxos->proposal);
    rankset_release(&paxos->voices);
    rankset_release(&paxos->listed);
    rankset_release(&paxos->backed);
    paxos->promised = paxos->accepted = paxos->ballot = paxos->best = 0;
    paxos->pending_ballot = 0;
    paxos->phase = PAXOS_IDLE;
    paxos->cause_since_ns = CORE_NEVER;
}

static void drop_joined(struct core *core, const struct view *view)
{
    struct paxos *paxos = &core->membership.paxos;
    for (uint32_t i = paxos->joiner_count; i-- > 0;) {
        for (uint32_t n = 0; n < view->newcomer_count; n++) {
            if (view->newcomers[n].uid == paxos->joiners[i].uid ||
                view->newcomers[n].rank == paxos->joiners[i].rank) {
                paxos->joiners[i] = paxos->joiners[--paxos->joiner_count];
                break;
            }
        }
    }
}

void view_release_slot(struct core *core)
{
    forget_slot(core);
    free(core->membership.paxos.joiners);
    view_forget_past(core);
}

void view_enter(struct core *core, const struct view *view)
{
    assert(!rankset_empty(&view->members) && view->epoch > core->epoch);
    if (core->epoch == 0 && !view_change_take_newcomers(core, view)) {
        core->broken = true; /* a newcomer learns its rank by it */
        return;
    }
    if (!rankset_has(&view->members, core->rank)) {
        if (core->rank != NOBODY) {
            view_fence(core, view->epoch, false);
        }
        return;
    }
    drop_joined(core, view);
    struct view copy = *view; /* the slot's own copy may be the argument */
    forget_slot(core);
    view_change_enter(core, &copy);
}

void view_on_view(struct core *core, const struct message_view *message)
{
    struct view view;
    if (message->epoch <= core->epoch) {
        return;
    }
    if (!view_is_known(core, message)) {
        core->stats.refused++;
        return;
    }
    if (!view_from_message(&view, message)) {
        core->broken = true;
        return;
    }
    view_enter(core, &view);
    view_release(&view);
}

const struct message_view *view_present(struct core *core)
{
    assert(core->epoch > 0);
    struct view view = {.epoch = core->epoch, .reload = core->reload};
    bool good = rankset_copy(&view.members, &core->members) &&
                rankset_copy(&view.left, &core->membership.retired);
    for (uint32_t i = 0; good && i < core->membership.past_count; i++) {
        good = view_add_past(&view, core->membership.past[i].epoch,
                             &core->membership.past[i].members);
    }
    good =
        good && view_add_former_newcomers(core, &view) && view_add_losses(core, &view);
    core->broken |= !good;
    const struct message_view *value = good ? view_to_message(core, &view) : NULL;
    view_release(&view);
    return value;
}

/* A member that is still in an older view is told the present one. */
void view_tell(struct core *core, uint32_t to)
{
    assert(to != core->rank && rankset_has(&core->members, to));
    struct peer *peer = peer_of(core, to);
    if (core->now_ns < peer->told_view_ns) {
        return;
    }
    peer->told_view_ns = add_ns(core->now_ns, core->options.heartbeat_ns);
    const struct message_view *value = view_present(core);
    struct message *message =
        value != NULL ? out_send(core, to, MESSAGE_VIEW, NULL) : NULL;
    if (message != NULL) {
        message->u.view = *value;
    }
}

void view_fence(struct core *core, uint64_t epoch, bool refused)
{
    if (core->membership.fenced || epoch <= core->epoch ||
        (refused && core->epoch > 0)) {
        return;
    }
    if (core->membership.leave.ready) {
        leave_done(core);
        return;
    }
    core->membership.fenced = true;
    struct core_output *output = out_add(core, CORE_OUT_FENCED, NULL);
    if (output != NULL) {
        output->u.fenced.code = refused ? MOOT_ERR_UNSUPPORTED : MOOT_ERR_FENCED;
    }
}

/* It was let in and removed again before it knew. */
static void tell_removed(struct core *core, uint32_t rank)
{
    assert(!rankset_has(&core->members, rank));
    struct message *message = out_send(core, rank, MESSAGE_FENCED, NULL);
    if (message != NULL) {
        message->u.fenced.epoch = core->epoch;
    }
}

/* It has no rank, so the host sends the answer to whoever asked. */
static void refuse(struct core *core, uint64_t uid)
{
    struct core_output *output = out_add(core, CORE_OUT_REFUSE, NULL);
    if (output != NULL) {
        output->u.refuse.uid = uid;
        output->u.refuse.message =
            (struct message){.type = MESSAGE_FENCED,
                             .epoch = core->epoch,
                             .view_id = core->view_id,
                             .u.fenced = {.epoch = core->epoch, .refused = true}};
    }
}

/* Every view names all newcomers so far, so how many there are is bounded. */
static bool may_grow(const struct core *core)
{
    uint32_t newcomers = core->membership.paxos.joiner_count;
    for (uint32_t rank = core->membership.first_size; rank < core->size; rank++) {
        newcomers += peer_is_named(core, rank);
    }
    return core->options.joinable && newcomers < LIMIT_NEWCOMERS;
}

/* N1: it is a number of the first view, or another incarnation's. */
static bool is_taken(const struct core *core, const struct message_join *join)
{
    return join->rank < core->membership.first_size ||
           (peer_is_named(core, join->rank) && !peer_is(core, join->rank, join->uid));
}

/* Another may ask for the number of one that is yet to be let in.  Which of them has it
 * is for the next view to say: the other asks again, and is refused. */
static bool is_asked_for(const struct core *core, const struct message_join *join)
{
    const struct paxos *paxos = &core->membership.paxos;
    bool asked = false;
    for (uint32_t i = 0; i < paxos->joiner_count; i++) {
        asked |=
            paxos->joiners[i].uid == join->uid || paxos->joiners[i].rank == join->rank;
    }
    return asked;
}

static void pass_to_committee(struct core *core, const struct message_join *join)
{
    assert(!committee_serves(core));
    FOR_COMMITTEE(core, rank)
    {
        struct message *message = out_send(core, rank, MESSAGE_JOIN, NULL);
        if (message != NULL) {
            message->u.join = *join;
        }
    }
}

static void answer_known(struct core *core, uint32_t rank)
{
    assert(peer_is_named(core, rank));
    if (rankset_has(&core->members, rank)) {
        view_tell(core, rank);
    } else {
        tell_removed(core, rank);
    }
}

static void note_joiner(struct core *core, const struct message_join *join)
{
    struct paxos *paxos = &core->membership.paxos;
    if (!committee_serves(core)) {
        pass_to_committee(core, join);
    }
    if ((!committee_serves(core) && !core->options.boundary) ||
        !core_grow(core, &paxos->joiners, &paxos->joiner_room, paxos->joiner_count + 1,
                   sizeof(*paxos->joiners))) {
        return;
    }
    paxos->joiners[paxos->joiner_count++] = (struct message_newcomer){
        .rank = join->rank, .host = join->host, .uid = join->uid};
    boundary_pass_on(core, paxos->joiner_count - 1);
}

void view_on_join(struct core *core, const struct message_join *join)
{
    assert(core->epoch > 0);
    if (peer_is(core, join->rank, join->uid)) {
        if (join->rank != core->rank) {
            answer_known(core, join->rank);
        }
    } else if (is_taken(core, join) || peer_of_uid(core, join->uid) != NOBODY ||
               !may_grow(core)) {
        core->stats.refused++;
        refuse(core, join->uid);
    } else if (is_asked_for(core, join)) {
        return;
    } else {
        note_joiner(core, join);
    }
}
