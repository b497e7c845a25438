/* membership.c - how the room's part of a core begins and ends. */
#include "consensus/membership/membership_private.h"

#include <assert.h>
#include <stdlib.h>

bool membership_begin(struct core *core, uint32_t first_size)
{
    assert(first_size >= 1 && first_size <= core->size &&
           core->membership.loss_count == 0);
    struct core_membership *membership = &core->membership;
    membership->paxos.cause_since_ns = CORE_NEVER;
    membership->first_size = first_size;
    membership->settled = membership->barrier.all_settled = true;
    core->member_count = rankset_count(&core->members);
    if (!rankset_copy(&membership->settled_peers, &core->members) ||
        !committee_take(core)) {
        return false;
    }
    core_name_view(core);
    return true;
}

/* Clocks start anywhere: silence counts from the first step. */
void membership_start(struct core *core)
{
    assert(core->step.begun);
    core->membership.entered_ns = core->membership.watched_ns = core->now_ns;
    for (uint32_t rank = 0; rank < core->size && detector_watches(core); rank++) {
        peer_of(core, rank)->heard_ns = core->now_ns;
    }
}

void membership_heard_old(struct core *core, enum message_type type)
{
    assert(type < MESSAGE_TYPE_END);
    core->membership.received_before[type]++;
}

void membership_end(struct core *core)
{
    struct core_membership *membership = &core->membership;
    view_release_slot(core);
    losses_release(core);
    free(membership->mail.items);
    rankset_release(&membership->mail.also);
    rankset_release(&membership->reported);
    rankset_release(&membership->settled_peers);
    rankset_release(&membership->suspects);
    rankset_release(&membership->dead);
    rankset_release(&membership->leavers);
    rankset_release(&membership->leavers_ready);
    rankset_release(&membership->retired);
    rankset_release(&membership->committee);
}
