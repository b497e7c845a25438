/* step_hold.c - what must be true of a core between two steps, all rooms together.
 *
 * Each room asserts what must be true of its part (x_hold in its contract).  Tests and
 * the simulator have all of it looked at after each step, which takes as long as there
 * are tasks.  A core that is in use looks at a part now and then: the fields of all
 * rooms, and some tasks and peers, others each time.
 */
#include "consensus/step/step_private.h"

#include "consensus/elements/elements.h"
#include "consensus/gossip/gossip.h"
#include "consensus/meeting/meeting.h"
#include "consensus/membership/membership.h"
#include "consensus/ownership/ownership.h"
#include "consensus/reclaim/reclaim.h"
#include "consensus/snapshot/snapshot.h"
#include "consensus/termination/termination.h"

#include <assert.h>

/* The slots of the table, and the peers, that one look takes in: each may miss the
 * caches some times, and a look is to take microseconds. */
enum { LOOK_SLOTS = 64, LOOK_PEERS = 16 };

static void hold_lanes(const struct core *core)
{
    bool blocked = true;
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        enum core_lane_state state = core->gossip.lanes[i].state;
        assert(!core->step.closed || state == CORE_LANE_ENDED);
        blocked = blocked && state != CORE_LANE_RUNNING;
    }
    assert(core->step.blocked == blocked || core->termination.adjourned);
}

static void step_hold(const struct core *core)
{
    const struct core_step *step = &core->step;
    assert(step->begun || !step->closed);
    assert(step->closed || step->exit_code == 0);
    assert(step->idle_since_ns <= core->now_ns);
    assert(!step->idle || step->blocked);
    assert(!step->closed || core->options.join_uid != 0 || core->epoch > 0);
    assert((core->epoch == 0) == (core->member_count == 0));
    hold_lanes(core);
}

/* One that does no more has left half done what it had begun. */
static bool is_over(const struct core *core)
{
    return core->broken || core->membership.fenced;
}

void core_hold(const struct core *core)
{
    if (is_over(core)) {
        return;
    }
    state_hold(core);
    gossip_hold(core);
    ownership_hold(core);
    elements_hold(core);
    reclaim_hold(core);
    termination_hold(core);
    meeting_hold(core);
    snapshot_hold(core);
    membership_hold(core);
    step_hold(core);
}

/* --- A part of it ---------------------------------------------------------------- */

static void hold_some_tasks(const struct core *core, uint64_t look)
{
    size_t mask = core->state.slot_count - 1;
    for (size_t i = 0; i < LOOK_SLOTS && i < core->state.slot_count; i++) {
        const struct task_record *task =
            core->state.slots[(look * LOOK_SLOTS + i) & mask];
        if (task != NULL && !is_stub(task)) {
            state_hold_task(core, task);
            ownership_hold_task(core, task);
            membership_hold_task(core, task);
        }
    }
}

static void hold_some_peers(const struct core *core, uint64_t look)
{
    uint32_t count = core->state.known_count;
    for (uint32_t i = 0; i < LOOK_PEERS && i < count; i++) {
        const struct peer *peer = core->state.known[(look * LOOK_PEERS + i) % count];
        state_hold_peer(core, peer);
        gossip_hold_peer(core, peer);
    }
}

COLD void step_hold_some(const struct core *core, uint64_t look)
{
    if (is_over(core)) {
        return;
    }
    state_hold_fields(core);
    gossip_hold_fields(core);
    ownership_hold_fields(core);
    reclaim_hold_fields(core);
    termination_hold_fields(core);
    meeting_hold(core);
    snapshot_hold(core);
    membership_hold_fields(core);
    step_hold(core);
    hold_some_tasks(core, look);
    hold_some_peers(core, look);
}
