/* termination_hold.c - what must be true of polls, states told and the census between
 * two steps (PROTOCOL.md, QUIET and T1a).
 */
#include "consensus/termination/termination.h"

#include <assert.h>

static void hold_poll(const struct core *core)
{
    const struct poll *poll = &core->termination.poll;
    assert(poll->pause_ns <= POLL_PAUSE_MAX_NS);
    assert(!poll->open || poll->visited);
    assert(!poll->open || poll->answers < core->gossip.child_count);
    assert(!poll->open || poll->asker == NOBODY ||
           rankset_has(&core->members, poll->asker));
    assert(!poll->matched || rankset_next(&core->members, 0) == core->rank);
    assert(!poll->own.passive || poll->own.resting || !poll->visited);
    assert(!poll->open || poll->own.round == poll->round);
}

static void hold_told(const struct core *core)
{
    const struct core_termination *termination = &core->termination;
    assert(termination->state_sent_ns <= core->now_ns);
    assert(termination->gossip_ns <= core->now_ns);
    assert(termination->state_sent.site == NULL);
    assert(!termination->state_sent.closed || core->step.closed);
    assert(termination->state_sent.len <= core->gossip.roll_len);
    assert(termination->state_sent.lanes <= core->gossip.lane_count);
}

static void hold_census(const struct core *core)
{
    const struct close_reduce *census = &core->termination.close_reduce;
    assert(census->count <= census->room);
    assert((census->index_size & (census->index_size - 1)) == 0);
    assert(census->count <= census->index_size / 2 + 1);
    assert(!census->told || (core->step.closed && census->count == 0));
    assert(!census->told || census->ranks >= 1);
    for (uint32_t i = 0; i < TREE_ARITY; i++) {
        const struct close_reduce_child *child = &census->child[i];
        assert(child->in || (!child->alike && !child->asked));
        assert(child->asked || !child->answered);
        assert(child->ranks <= core->member_count);
    }
}

void termination_hold_fields(const struct core *core)
{
    hold_poll(core);
    hold_told(core);
    hold_census(core);
    assert(!core->termination.adjourned || core->step.closed);
}

/* An entry is found by its hash. */
static void hold_index(const struct close_reduce *census)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < census->index_size; i++) {
        assert(census->index[i] <= census->count);
        found += census->index[i] != 0;
    }
    assert(found == census->count);
}

void termination_hold(const struct core *core)
{
    termination_hold_fields(core);
    hold_index(&core->termination.close_reduce);
}
