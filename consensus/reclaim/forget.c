/* forget.c - dropping what is kept of tasks whose scope has ended on every rank.
 *
 * scope.c decides when; here the records go, some at each step, so that a rank that
 * ends a large scope still answers its peers in between.  Their memory is used again.
 * A roll is kept in pages, and a page of which nothing is left goes, too: positions
 * stay what they were, and a long run's roll costs two words per page.
 *
 * What is left of a task that has been dropped is its scope's mark: any message, event
 * or report that names it is known by that (hash_scope), so missing never means new.
 */
#include "consensus/reclaim/reclaim_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/ownership/ownership.h"
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

enum { CHUNKS_DEAD_MIN = 16 };

/* --- Tasks ----------------------------------------------------------------------- */

static void unlink_inputs(struct task_record *task)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        struct edge *edge = &task_inputs(task)[i];
        if (edge->from == NULL) {
            continue;
        }
        struct scope_record *fed_by = edge->from->scope;
        if (fed_by != NULL && fed_by->feeding == edge) {
            fed_by->feeding = edge->next; /* the consumer's scope has ended: served */
            fed_by->feeder =
                edge->next != NULL ? fed_by->feeder : fed_by->feeder->scope_next;
        }
        *edge->link = edge->next;
        if (edge->next != NULL) {
            edge->next->link = edge->link;
        }
    }
}

static void unlink_consumers(struct task_record *task)
{
    for (struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        bool ended_well = task->have != CORE_HAVE_NOTHING && task->status == MOOT_OK;
        edge->lost = !edge->order_only || !ended_well;
        edge->from = NULL;
    }
}

static void unlink_from_scope(struct task_record *task)
{
    struct scope_record *scope = task->scope;
    if (scope == NULL) {
        return;
    }
    if (scope->cursor == task) {
        scope->cursor = task->scope_next;
    }
    if (scope->feeder == task) {
        scope->feeder = task->scope_next;
        scope->feeding = NULL;
    }
    if (task->scope_prev != NULL) {
        task->scope_prev->scope_next = task->scope_next;
    } else {
        scope->tasks = task->scope_next;
    }
    if (task->scope_next != NULL) {
        task->scope_next->scope_prev = task->scope_prev;
    }
}

static bool must_stay(const struct task_record *task)
{
    return task->own == CORE_OWN_WAIT || task->own == CORE_OWN_RUNNING;
}

/* Which of its edges are shared with tasks that go along with it, and need not be
 * unlinked. */
struct inside {
    bool takes, feeds;
};

/* Off its lane's pages. */
static void roll_forget_of(struct core *core, struct lane_record *lane,
                           struct chunk *chunk, uint32_t count)
{
    assert(chunk != NULL && chunk->live >= count);
    chunk->live -= count;
    if (chunk->live > 0) {
        return;
    }
    core->reclaim.drop.cuts -= chunk->cut;
    const struct chunk_name name = {chunk->sum, chunk->count};
    reclaim_void_offer(core, &name);
    reclaim_left(core, chunk);
    if (++lane->chunks_dead >= CHUNKS_DEAD_MIN &&
        lane->chunks_dead * 2 > lane->chunk_count) {
        struct drop *drop = &core->reclaim.drop;
        bool looks =
            lane == &core->gossip.lanes[drop->lane]; /* goes on with the same */
        uint32_t place = roll_compact(core, lane, drop->chunk);
        drop->chunk = looks ? place : drop->chunk;
    }
}

static void roll_forget(struct core *core, struct task_record *task)
{
    assert(task->position == 0 || task->held);
    if (task->position == 0) {
        return;
    }
    struct lane_record *lane = &core->gossip.lanes[task->lane];
    lane_forget(core, lane, task->lane_position);
    if (task->lane_position >= lane->open_first) {
        lane->open_forgotten++;
        return;
    }
    roll_forget_of(core, lane, roll_chunk_at(lane, task->lane_position), 1);
}

/* All but its place on the roll. */
HOT static void forget_record(struct core *core, struct task_record *task,
                              struct inside inside)
{
    assert(!task->on_push_list);
    uint32_t own = task->sees_out; /* a leaver's need, which ends with this */
    if (task->needs_done + task->needs_data > own) { /* a wait by the bare hash */
        graph_verdict(core, task, MOOT_ERR_SCOPE_CLOSED, NULL, 0);
    }
    ask_forget(core, task);
    if (task->requests != NULL) {
        undecided_remove(core, task);
        once_forget(core, task);
    }
    giving_end(core, task);
    if (task->takes_away) {
        stub_forget_inputs(core, task);
    }
    if (!inside.takes) {
        unlink_inputs(task);
    }
    if (!inside.feeds) {
        unlink_consumers(task);
    }
    unlink_from_scope(task);
    once_keep(core, task);
    out_forget(core, task);
    core->stats.forgotten++;
    core->stats.let_go -= task->let_go;
    table_forget(core, task);
}

/* All hold them, and the lowest counts them. */
static void count_alike(struct core *core, uint32_t count)
{
    core->stats.common += rankset_next(&core->members, 0) == core->rank ? count : 0;
}

bool forget_task(struct core *core, struct task_record *task, bool alike)
{
    assert(task->scope != NULL && task->scope->dropping);
    if (must_stay(task)) {
        return false;
    }
    if (alike) {
        count_alike(core, task->position != 0);
    } else {
        roll_count_chaired(core, task);
    }
    roll_forget(core, task);
    forget_record(core, task, (struct inside){false, false});
    return true;
}

/* --- Chunks ---------------------------------------------------------------------- */

/* Its tasks have been out of every cache for long: the record some tasks ahead, and of
 * a task less far ahead what that leads to. */
static void expect_to_forget(const struct core *core, const struct lane_record *lane,
                             uint64_t position)
{
    const void *known = lane_known_ahead(lane, position, EXPECT_AHEAD);
    if (known != NULL && !is_stub(known)) {
        const struct task_record *task = known;
        fetch_ahead(task_inputs(task), task->input_count * sizeof(*task_inputs(task)));
    }
    if (known != NULL) {
        table_expect(core, known);
    }
    fetch_ahead(lane_known_ahead(lane, position, EXPECT_FAR_AHEAD),
                core->state.record_bytes);
}

/* A task behind all those that take results from outside, and before all whose results
 * are taken there, shares its edges with tasks that go along with it. */
static struct inside inside_of(const struct task_record *task,
                               const struct chunk_facts *facts)
{
    uint64_t place = task->lane_position;
    return (struct inside){.takes = place > facts->takes_last,
                           .feeds =
                               place >= facts->takes_last &&
                               (facts->feeds_first == 0 || place < facts->feeds_first)};
}

void forget_chunk(struct core *core, uint32_t number, struct chunk *chunk)
{
    assert(chunk->live > 0 && number < core->gossip.lane_count);
    assert(core->membership.settled || chunk->stage == CHUNK_LEAVING);
    struct lane_record *lane = &core->gossip.lanes[number];
    bool all_go = chunk->facts.quiet == chunk->count && chunk->live == chunk->count;
    const struct chunk_facts facts = chunk->facts;
    uint32_t gone = 0;
    for (uint32_t i = 0; i < chunk->count; i++) {
        void *known = lane_known(lane, chunk->first + i);
        expect_to_forget(core, lane, chunk->first + i);
        if (is_stub(known)) {
            out_forget(core, known);
            lane_forget(core, lane, chunk->first + i);
            stub_forget(core, known);
            gone++;
            continue;
        }
        struct task_record *task = known;
        if (task == NULL || must_stay(task)) {
            continue;
        }
        if (hash_has(&task->hash, MOOT_HASH_ONCE)) {
            reclaim_note_once(core, &task->hash);
        }
        lane_forget(core, lane, chunk->first + i);
        struct inside inside = {false, false};
        forget_record(core, task, all_go ? inside_of(task, &facts) : inside);
        gone++;
    }
    core->stats.dropped += gone;
    count_alike(core, gone);
    roll_forget_of(core, lane, chunk, gone);
}

void forget_of_lot(struct core *core, struct task_record *task)
{
    assert(task->lot && !must_stay(task));
    if (hash_has(&task->hash, MOOT_HASH_ONCE) && !MUTANT(LOTONCE)) {
        reclaim_note_once(core, &task->hash);
    }
    roll_forget(core, task);
    forget_record(core, task, (struct inside){false, false});
    core->stats.dropped++;
}

static void leave_announcements(struct core *core, uint64_t mark)
{
    for (uint32_t k = 0; k < core->state.known_count; k++) {
        struct peer *peer = core->state.known[k];
        for (uint32_t i = peer->announced_count; i-- > 0;) {
            if (peer->announced[i].scope == mark) {
                announced_forget(peer, i);
            }
        }
    }
}

void forget_begin(struct core *core, struct scope_record *scope)
{
    assert(scope->dropping);
    graph_push_no_more(core, scope);
    leave_announcements(core, scope->mark);
}

bool forget_some(struct core *core, struct scope_record *scope, uint32_t *budget)
{
    assert(scope->dropping);
    struct task_record *task = scope->tasks;
    while (task != NULL && *budget > 0 && !core->broken) {
        struct task_record *following = task->scope_next;
        (void)forget_task(core, task, scope->alike);
        (*budget)--;
        task = following;
    }
    return scope->tasks != NULL;
}
