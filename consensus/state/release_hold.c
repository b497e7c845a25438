/* release_hold.c - the facts of chunks are what a look at all of their tasks finds.
 *
 * release_count.c counts as things happen.  Here each chunk's tasks are looked at: who
 * is counted is quiet, the counts are theirs, and what a task shares with others
 * outside of its chunk is noted with both.
 */
#include "consensus/state/state_private.h"

#include <assert.h>

/* A stretch of a lane that has facts in common. */
struct stretch {
    uint64_t first, last;
    const struct chunk_facts *facts;
};

static bool has_place(const struct stretch *stretch, uint64_t position)
{
    return position - stretch->first <= stretch->last - stretch->first;
}

/* --- What outside takes, and is taken --------------------------------------------- */

static const struct chunk_facts *facts_at(const struct lane_record *lane,
                                          uint64_t position)
{
    const struct chunk *chunk = roll_chunk_at(lane, position);
    return position >= lane->open_first ? &lane->open_facts
           : chunk != NULL              ? &chunk->facts
                                        : NULL;
}

/* An input that is known by its place. */
static void hold_taken_place(const struct core *core, const struct stretch *stretch,
                             roll_place place, roll_place input)
{
    const struct lane_record *lane = &core->gossip.lanes[place_lane(input)];
    uint64_t position = place_position(place), from = place_position(input);
    bool same_lane = place_lane(input) == place_lane(place);
    if (same_lane && has_place(stretch, from)) {
        return;
    }
    const struct chunk_facts *theirs = facts_at(lane, from);
    assert(stretch->facts->takes_last >= position);
    assert(theirs == NULL || theirs->feeds_elsewhere ||
           (same_lane && theirs->feeds_last >= position));
    assert(theirs == NULL || theirs->feeds_elsewhere || theirs->feeds_first <= from);
}

static void hold_inputs(const struct core *core, const struct task_record *task,
                        const struct stretch *stretch)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct edge *edge = &task_inputs(task)[i];
        const struct task_record *from = edge->from;
        if (edge->away) {
            hold_taken_place(core, stretch, place_of(task->lane, task->lane_position),
                             edge->place);
        }
        bool inside =
            from == NULL || (from->position != 0 && from->lane == task->lane &&
                             has_place(stretch, from->lane_position));
        assert(inside || stretch->facts->takes_last >= task->lane_position);
    }
}

static void hold_consumers(const struct task_record *task,
                           const struct stretch *stretch)
{
    const struct chunk_facts *facts = stretch->facts;
    for (const struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        const struct task_record *to = edge_to(edge);
        bool placed = to->position != 0 && to->lane == task->lane;
        if (placed && has_place(stretch, to->lane_position)) {
            continue;
        }
        assert(facts->feeds_elsewhere ||
               (placed && facts->feeds_last >= to->lane_position));
        assert(facts->feeds_first != 0 && facts->feeds_first <= task->lane_position);
    }
}

static void hold_stub_inputs(const struct core *core, const struct stub *stub,
                             const struct stretch *stretch)
{
    for (uint32_t i = 0; i < stub->input_count; i++) {
        hold_taken_place(core, stretch, stub->place, stub->inputs[i]);
    }
}

/* --- What is counted -------------------------------------------------------------- */

static void count_stub(const struct core *core, const struct stub *stub,
                       struct chunk_facts *found)
{
    bool let_go = (stub->state & STUB_LET_GO) != 0;
    bool counted = (stub->state & STUB_COUNTED) != 0;
    assert(counted == (let_go && core->reclaim.drop.counts));
    found->quiet += counted;
}

static void count_task(const struct core *core, const struct task_record *task,
                       struct chunk_facts *found)
{
    if (task->counted) {
        assert(release_is_quiet(core, task));
        found->quiet++;
        found->said += task->said;
        found->heard += task->heard;
    }
}

static void hold_stretch(const struct core *core, const struct lane_record *lane,
                         const struct stretch *stretch)
{
    struct chunk_facts found = {0};
    bool whole = true;
    for (uint64_t at = stretch->first; at <= stretch->last; at++) {
        const void *known = lane_known(lane, at);
        if (known == NULL) {
            whole = false;
        } else if (is_stub(known)) {
            hold_stub_inputs(core, known, stretch);
            count_stub(core, known, &found);
        } else {
            hold_inputs(core, known, stretch);
            hold_consumers(known, stretch);
            count_task(core, known, &found);
        }
    }
    /* One that has gone before its chunk is still in counts that nobody asks for. */
    assert(!whole || found.quiet == stretch->facts->quiet);
    assert(!whole || found.said == stretch->facts->said);
    assert(!whole || found.heard == stretch->facts->heard);
}

void release_hold(const struct core *core)
{
    for (uint32_t number = 0; number < core->gossip.lane_count; number++) {
        const struct lane_record *lane = &core->gossip.lanes[number];
        for (uint32_t i = 0; i < lane->chunk_count; i++) {
            const struct chunk *chunk = &lane->chunks[i];
            const struct stretch whole = {chunk->first, chunk->first + chunk->count - 1,
                                          &chunk->facts};
            if (chunk->live > 0) {
                hold_stretch(core, lane, &whole);
            }
        }
        const struct stretch open = {lane->open_first, lane->len, &lane->open_facts};
        hold_stretch(core, lane, &open);
    }
}
