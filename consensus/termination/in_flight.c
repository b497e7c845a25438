/* in_flight.c - whether messages are on their way: how many were sent in this view, and
 * how many have come (PROTOCOL.md, QUIET).
 *
 * The core counts its own messages by type, and here it says which types matter.  Those
 * of the host (core_sent_own) are counted here.  One that says a view that is yet to
 * come here counts in that view, be it the one after the next; one of an older view
 * counts in none, since its sender begins anew, too.
 */
#include "consensus/termination/termination_private.h"

#include "consensus/gossip/gossip.h"

/* Polls are not what they count; heartbeats and votes on views never cease, and what
 * they lead to is a new epoch, which begins to count anew.  Gossip that goes its rounds
 * among many decides nothing that is polled for, except in strict mode. */
static bool counts(const struct core *core, enum message_type type)
{
    if (type == MESSAGE_ROLL && disseminate_is_on(core) &&
        core->options.mode != CORE_STRICT) {
        return false;
    }
    return message_is(type, MESSAGE_IS_QUIET);
}

void in_flight_count(const struct core *core, struct message_pollr *answer)
{
    for (int type = 0; type < MESSAGE_TYPE_END; type++) {
        if (counts(core, (enum message_type)type)) {
            answer->sent += core->stats.sent[type] - core->membership.sent_before[type];
            answer->received +=
                core->stats.received[type] - core->membership.received_before[type];
        }
    }
    if (!MUTANT(OWNUNCOUNTED)) {
        answer->sent += core->termination.own.sent;
        answer->received += core->termination.own.taken;
    }
}

void core_sent_own(struct core *core) { core->termination.own.sent++; }

/* As Rule E has it for the core's own. */
void core_took_own(struct core *core, uint32_t from, uint64_t epoch, uint64_t view_id)
{
    struct own_counts *own = &core->termination.own;
    if (epoch > core->epoch && epoch >= own->next_epoch) {
        const bool more = epoch == own->next_epoch && view_id == own->next_view_id;
        own->next_taken = more ? own->next_taken + 1 : 1;
        own->next_epoch = epoch;
        own->next_view_id = view_id;
    } else if (epoch == core->epoch && view_id == core->view_id &&
               rankset_has(&core->members, from)) {
        own->taken++;
    }
}

void in_flight_enter_view(struct core *core)
{
    struct own_counts *own = &core->termination.own;
    const bool ahead =
        own->next_epoch == core->epoch && own->next_view_id == core->view_id;
    own->sent = 0;
    own->taken = ahead ? own->next_taken : 0;
    own->next_taken = own->next_epoch > core->epoch ? own->next_taken : 0;
}
