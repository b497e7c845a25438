/* meeting_hold.c - what must be true of meetings between two steps. */
#include "consensus/meeting/meeting_private.h"

#include <assert.h>

void meeting_hold(const struct core *core)
{
    const struct core_meeting *meeting = &core->meeting;
    if (!meeting->from_due) {
        assert(meeting->number <= meeting->met + 1 + meeting_is_passing(core));
        assert(meeting->from <= meeting->met + 1);
    }
    assert(meeting->from <= meeting->number);
    assert(!meeting->from_due || core->epoch > 0);
    assert(meeting->met > 0 || rankset_empty(&meeting->came));
    assert(meeting->said <= meeting->met + 1);
    assert(meeting->said_here.size == 0 || !rankset_empty(&meeting->here));
    for (uint32_t i = 0; i < TREE_ARITY; i++) {
        const struct meeting_below *below = &meeting->below[i];
        assert(below->number <= meeting->met + 1 && below->passed <= meeting->met + 1);
        assert(meeting_goes_by_tree(core) || (below->number == 0 && !below->closed));
        assert(!below->all || rankset_empty(&below->came));
    }
    assert(rankset_empty(&meeting->here) || !meeting->mixed ||
           rankset_count(&meeting->here) > 1);
    for (uint32_t rank = rankset_next(&meeting->here, 0); rank != NOBODY;
         rank = rankset_next(&meeting->here, rank + 1)) {
        assert(rankset_has(&core->members, rank));
        assert(rankset_next(&core->members, 0) == core->rank);
    }
}
