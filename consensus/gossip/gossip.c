/* gossip.c - how the room's part of a core begins, enters a view, and ends; and what it
 * has learnt.
 */
#include "consensus/gossip/gossip_private.h"

#include <stdlib.h>

void gossip_begin(struct core *core) { core->gossip.spread_due_ns = CORE_NEVER; }

void gossip_enter_view(struct core *core) { core->gossip.knowledge_wide = true; }

/* The other members have announced all that they had, and this rank has nothing yet. */
void gossip_note_before(struct core *core)
{
    if (core->options.join_uid == 0 || core->gossip.before_known) {
        return;
    }
    core->gossip.before_known = true;
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        const struct peer *peer = core->state.known[k];
        uint64_t tasks = 0;
        for (uint32_t i = 0; i < peer->announced_count; i++) {
            tasks += peer->announced[i].count;
        }
        core->gossip.before = tasks > core->gossip.before ? tasks : core->gossip.before;
    }
}

static void forget_lane(struct core *core, struct lane_record *lane)
{
    for (uint32_t i = 0; i < lane->chunk_count; i++) {
        rankset_release(&lane->chunks[i].holders);
    }
    lane_forget_pages(core, lane);
    free(lane->chunks);
    free(lane->agreed);
    disseminate_forget(lane);
    *lane = (struct lane_record){.state = lane->state, .open_first = 1};
}

void gossip_forget_all(struct core *core)
{
    struct core_gossip *gossip = &core->gossip;
    for (uint32_t i = 0; i < gossip->lane_count; i++) {
        forget_lane(core, &gossip->lanes[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        rankset_release(&gossip->difference.side[i].ranks);
    }
    gossip->difference = (struct difference){0};
    free(gossip->by_sum);
    gossip->by_sum = NULL;
    gossip->by_sum_room = gossip->by_sum_count = 0;
    gossip->roll_len = gossip->before = 0;
    gossip->differs = gossip->ends_here = gossip->knowledge_grew = false;
    gossip->spread_due_ns = CORE_NEVER;
}

void gossip_end(struct core *core)
{
    free(core->gossip.children);
    for (uint32_t i = 0; i < 4; i++) {
        rankset_release(&core->gossip.difference.side[i].ranks);
    }
}

void gossip_end_lanes(struct core *core)
{
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        core->gossip.lanes[i].state = CORE_LANE_ENDED;
    }
}

bool gossip_take_news(struct core *core, uint32_t *of)
{
    if (!core->gossip.knowledge_grew) {
        return false;
    }
    *of = core->gossip.knowledge_wide ? NOBODY : core->gossip.knowledge_of;
    core->gossip.knowledge_grew = core->gossip.knowledge_wide = false;
    return true;
}
