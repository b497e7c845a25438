/* announce.c - telling peers what this rank is doing, when it has time to.
 *
 * A rank whose lanes block announces what there is of its last chunk, so that owners
 * push to those who wait too (T3a), and its STATE: blocked or closed, how long its roll
 * is, what it waits for.  At most once in a gossip period, and only what changed, so a
 * program that waits at every step pays a bounded share; sooner when it has asked for
 * all that it waits for and rests, which it does only after an ask delay.  The STATE
 * decides nothing: it says when T1a is possible and when a poll can succeed, and fills
 * stall reports; what only those need, that a rank is blocked for one, is told more
 * rarely.
 */

#include "consensus/termination/termination.h"

#include "consensus/gossip/gossip.h"
#include "consensus/ownership/ownership.h"

#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NEWS_PERIODS = 25 };

bool announce_below_rests(const struct core *core)
{
    for (uint32_t i = 0; disseminate_is_on(core) && i < core->gossip.child_count; i++) {
        if (!peer_seen(core, core->gossip.children[i])->state.passive) {
            return false;
        }
    }
    return termination_resting(core);
}

static struct message_state state_now(const struct core *core)
{
    const struct task_record *wait = core->ownership.last_wait;
    return (struct message_state){
        .blocked = core->step.blocked,
        .closed = core->step.closed,
        .passive = announce_below_rests(core),
        .waiting = wait != NULL,
        .lanes = core->gossip.lane_count,
        .len = core->gossip.roll_len,
        .need = wait != NULL ? wait->need : NEED_NONE,
        .load = core->ownership.unfinished_count > UINT32_MAX
                    ? UINT32_MAX
                    : (uint32_t)core->ownership.unfinished_count,
        .site = wait != NULL ? wait->site : NULL,
    };
}

/* What decides something at a peer: it is told after a gossip period. */
static bool is_urgent(const struct core *core)
{
    const struct message_state now = state_now(core),
                               *told = &core->termination.state_sent;
    return !core->termination.state_ever || now.closed != told->closed ||
           (now.passive && !told->passive) || now.lanes != told->lanes;
}

/* What only reports show: it is told when it has been so for long. */
static bool is_news(const struct core *core)
{
    const struct message_state now = state_now(core),
                               *told = &core->termination.state_sent;
    return now.blocked != told->blocked || now.waiting != told->waiting ||
           now.len != told->len ||
           (now.waiting && !hash_equal(&core->ownership.last_wait->hash,
                                       &core->termination.state_waits_for));
}

/* In strict mode a closed rank's STATE says that its roll has been told. */
static bool waits_for_rolls(const struct core *core)
{
    return core->options.mode == CORE_STRICT && disseminate_is_on(core) &&
           !disseminate_is_done(core);
}

static uint64_t news_due_ns(const struct core *core)
{
    uint64_t long_ns = NEWS_PERIODS * core->options.gossip_period_ns;
    return is_news(core) ? core->termination.state_sent_ns + long_ns : CORE_NEVER;
}

uint64_t announce_deadline(const struct core *core)
{
    if (core->member_count == 1 || (!core->step.blocked && !core->step.closed)) {
        return CORE_NEVER;
    }
    uint64_t period_ns = core->options.gossip_period_ns;
    if (roll_is_told(core) && waits_for_rolls(core)) {
        return disseminate_deadline(core);
    }
    if (is_urgent(core) || !roll_is_told(core)) {
        bool asked = core->ownership.open_needs > 0 && termination_resting(core);
        uint64_t pause_ns = asked ? period_ns / QUIET_HURRY : period_ns;
        return core->termination.state_ever ? core->termination.gossip_ns + pause_ns
                                            : core->now_ns;
    }
    return news_due_ns(core);
}

static void tell(struct core *core, uint32_t to, const struct message_state *state)
{
    struct message *message =
        to != core->rank ? out_send(core, to, MESSAGE_STATE,
                                    state->waiting ? core->ownership.last_wait : NULL)
                         : NULL;
    if (message != NULL) {
        message->u.state = *state;
    }
}

void announce_state(struct core *core)
{
    if (announce_deadline(core) > core->now_ns) {
        return;
    }
    roll_tell_partial(core);
    core->termination.gossip_ns = core->now_ns;
    if (waits_for_rolls(core) ||
        (!is_urgent(core) && news_due_ns(core) > core->now_ns)) {
        return;
    }
    struct message_state state = state_now(core);
    if (!disseminate_is_on(core)) {
        FOR_MEMBERS(core, rank) { tell(core, rank, &state); }
    } else if (core->options.mode == CORE_STRICT) {
        tell(core, core->gossip.partners[0],
             &state); /* it compares its roll with ours */
    }
    if (disseminate_is_on(core) && core->gossip.parent != NOBODY) {
        tell(core, core->gossip.parent, &state);
    }
    core->termination.state_sent = state;
    core->termination.state_sent.site = NULL;
    if (state.waiting) {
        core->termination.state_waits_for = core->ownership.last_wait->hash;
    }
    core->termination.state_sent_ns = core->now_ns;
    core->termination.state_ever = true;
}

void announce_on_state(struct core *core, uint32_t from, const struct message *message)
{
    assert(message->type == MESSAGE_STATE && from != core->rank);
    struct peer *peer = peer_of(core, from);
    char *site = NULL;
    if (message->u.state.site != NULL) {
        size_t length = strnlen(message->u.state.site, LIMIT_SITE_BYTES);
        site = core_alloc(core, length + 1);
        if (site != NULL) {
            memcpy(site, message->u.state.site, length);
        }
    }
    free(peer->site);
    peer->site = site;
    if (message->u.state.closed && !peer->state.closed) {
        await_look_again(core);
    }
    peer->state = message->u.state;
    peer->state.site = site;
    peer->waits_for = message->hash;
    if (timers_state(core, peer)) {
        ask_queue_look_again(core);
    }
    termination_look_again(core);
}
