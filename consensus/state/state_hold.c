/* state_hold.c - what must be true of tables, records, peers and lists between two
 * steps.
 *
 * All of it follows from how the files of this room keep their memory, whatever the
 * protocol does: a search finds what the table holds, a list's links lead back,
 * counters equal what a walk finds, times are none of the future.
 */
#include "consensus/state/state_private.h"

#include <assert.h>

void state_hold_fields(const struct core *core)
{
    const struct core_state *state = &core->state;
    assert(core->size >= 1 && core->size <= LIMIT_RANKS);
    assert((state->slot_count & (state->slot_count - 1)) == 0);
    /* A search in vain ends at a slot that is free. */
    assert(core->stats.tasks < state->slot_count || core->stats.tasks == 0);
    assert(state->stub_count <= core->stats.tasks);
    assert(core->stats.let_go <= core->stats.tasks);
    assert(state->known_count <= state->known_room);
    assert(state->known_count <= core->size);
    assert((state->mark_room & (state->mark_room - 1)) == 0);
    assert(state->mark_count * 2 <= state->mark_room);
    assert((state->once_room & (state->once_room - 1)) == 0);
    assert(state->once_count < state->once_room || state->once_room == 0);
    assert(state->unwell <= UNWELL_MAX);
    assert(state->vote_timeout_ns >= VOTE_LEAST_NS ||
           (core->options.adapt & CORE_ADAPT_VOTE) == 0);
    assert(state->out.count <= state->out.room);
    assert(agenda_is_empty(core));
    assert(*state->held_last == NULL);
    assert((state->held_first == NULL) == (state->held_last == &state->held_first));
    assert(state->scopes_watched == NULL || state->watched_last->watch_next == NULL);
    assert(state->record_bytes >= CORE_ENTRY_BYTES);
}

/* --- Tasks ----------------------------------------------------------------------- */

static void hold_place(const struct core *core, const struct task_record *task)
{
    if (task->position == 0) {
        assert(!task->counted);
        return;
    }
    assert(task->held && (task->flags & CORE_TASK_NESTED) == 0);
    assert(task->lane < core->gossip.lane_count);
    assert(task->position <= core->gossip.roll_len);
    assert(task->lane_position <= task->position);
    assert(lane_known(&core->gossip.lanes[task->lane], task->lane_position) == task);
}

static void hold_input(const struct task_record *task, const struct edge *edge)
{
    assert(edge_to(edge) == task);
    assert(edge->from != NULL || !edge->waiting);
    assert(!edge->away || (edge->from == NULL && task->takes_away));
    if (edge->from != NULL) {
        assert(*edge->link == edge);
        assert(edge->next == NULL || edge->next->link == &edge->next);
    }
}

static void hold_edges(const struct task_record *task)
{
    assert(task->after_count <= task->input_count);
    assert(task->held || task->input_count == 0);
    for (uint32_t i = 0; i < task->input_count; i++) {
        hold_input(task, &task_inputs(task)[i]);
    }
    for (const struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        assert(edge->from == task && edge_to(edge)->held);
    }
}

static void hold_scope_links(const struct task_record *task)
{
    assert((task->scope != NULL) == (hash_scope(&task->hash) != 0));
    if (task->scope == NULL) {
        return;
    }
    assert(task->scope->mark == hash_scope(&task->hash));
    assert(task->scope_next == NULL || task->scope_next->scope_prev == task);
    assert(task == (task->scope_prev != NULL ? task->scope_prev->scope_next
                                             : task->scope->tasks));
}

void state_hold_task(const struct core *core, const struct task_record *task)
{
    bool candidates = hash_has(&task->hash, MOOT_HASH_CANDIDATES);
    assert(task->agenda == 0);
    assert(task->pieces > 0 && table_look(core, &task->hash) == task);
    assert(task->chair < core->size || (task->chair == NOBODY && core->epoch == 0));
    assert(candidates || (!task->finder && task->candidates == NULL));
    assert(!candidates || task->finder == (task->candidates == NULL));
    if (task->held) {
        bool once = (task->flags & CORE_TASK_ONCE) != 0;
        bool idempotent = (task->flags & CORE_TASK_IDEMPOTENT) != 0;
        bool nested = (task->flags & CORE_TASK_NESTED) != 0;
        assert(once == hash_has(&task->hash, MOOT_HASH_ONCE));
        assert((idempotent && (once || hash_has(&task->hash, MOOT_HASH_ARRAY))) ==
               hash_has(&task->hash, MOOT_HASH_IDEMPOTENT));
        assert(nested == hash_has(&task->hash, MOOT_HASH_NESTED));
        assert(hash_has(&task->hash, MOOT_HASH_ARRAY) ==
               (task_ext(task)->array != NULL));
    }
    hold_place(core, task);
    hold_edges(task);
    hold_scope_links(task);
}

static void hold_stub(const struct core *core, const struct stub *stub)
{
    const struct lane_record *lane = &core->gossip.lanes[place_lane(stub->place)];
    assert(table_look(core, &stub->hash) == stub);
    assert(stub->chair != core->rank && stub->chair < core->size);
    assert(hash_scope(&stub->hash) == 0 && !hash_has(&stub->hash, MOOT_HASH_NESTED));
    assert(stub->after_count <= stub->input_count);
    assert(place_lane(stub->place) < core->gossip.lane_count);
    assert(stub->position <= core->gossip.roll_len);
    /* One that is made is on the roll with the step that registers it. */
    assert(stub->position == 0 ||
           lane_known(lane, place_position(stub->place)) == stub);
}

/* Counts that a walk over the table finds. */
struct table_counts {
    uint64_t tasks, stubs, away, let_go, untaken;
};

static void walk_record(const struct task_record *task, struct table_counts *walk)
{
    walk->let_go += task->let_go;
    walk->untaken += task->handing + task->returning;
    for (uint32_t i = 0; i < task->input_count; i++) {
        walk->away += task_inputs(task)[i].away;
    }
}

static void hold_table(const struct core *core)
{
    struct table_counts walk = {0};
    for (size_t i = 0; i < core->state.slot_count; i++) {
        const void *known = core->state.slots[i];
        assert((known == NULL) == (core->state.tags[i] == 0));
        walk.tasks += known != NULL;
        if (known == NULL) {
            continue;
        }
        if (is_stub(known)) {
            hold_stub(core, known);
            walk.stubs++;
            walk.let_go += (((const struct stub *)known)->state & STUB_LET_GO) != 0;
        } else {
            state_hold_task(core, known);
            walk_record(known, &walk);
        }
    }
    assert(walk.tasks == core->stats.tasks);
    assert(walk.stubs == core->state.stub_count);
    assert(walk.away == core->state.away_count);
    assert(walk.let_go == core->stats.let_go);
    assert(walk.untaken == core->state.untaken);
}

/* --- Pages of the roll ------------------------------------------------------------ */

static void hold_page(const struct lane_record *lane, uint64_t index)
{
    const struct page *page = &lane->pages[index];
    uint64_t count = lane->len - index * PAGE_TASKS;
    uint32_t live = 0;
    assert(page->known != NULL || (page->live == 0 && count >= PAGE_TASKS));
    for (uint64_t i = 0; page->known != NULL && i < PAGE_TASKS && i < count; i++) {
        live += page->known[i] != NULL;
    }
    assert(live == page->live);
}

static void hold_pages(const struct core *core)
{
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        const struct lane_record *lane = &core->gossip.lanes[i];
        uint64_t pages = (lane->len + PAGE_TASKS - 1) / PAGE_TASKS;
        assert(pages <= lane->page_room);
        for (uint64_t k = 0; k < pages; k++) {
            hold_page(lane, k);
        }
    }
}

/* --- Peers ----------------------------------------------------------------------- */

void state_hold_peer(const struct core *core, const struct peer *peer)
{
    assert(peer->rank < core->size && core->state.peers[peer->rank] == peer);
    assert(peer->open_count <= peer->announced_count);
    assert(peer->announced_count <= peer->announced_room);
    assert(peer->heard_ns <= core->now_ns && peer->beat_ns <= core->now_ns);
    assert(peer->granted_ns <= core->now_ns && peer->grant_token_ns <= core->now_ns);
    assert(peer->granted_epoch <= core->epoch && peer->spoke_epoch <= core->epoch);
    assert(peer->vouched_ns <= add_ns(core->now_ns, core->options.suspect_ns));
    assert(!rankset_has(&peer->suspects, peer->rank));
    assert(peer->round_trip.count == 0 || peer->trip_seen);
}

static void hold_peers(const struct core *core)
{
    for (uint32_t i = 0; i < core->state.known_count; i++) {
        state_hold_peer(core, core->state.known[i]);
    }
    uint32_t known = 0;
    for (uint32_t rank = 0; rank < core->size; rank++) {
        known += core->state.peers[rank] != NULL;
    }
    assert(known == core->state.known_count);
}

/* --- Scopes ---------------------------------------------------------------------- */

static void hold_scope(const struct core *core, const struct scope_record *scope)
{
    uint64_t placed = 0;
    assert(scope_find(core, scope->mark) == scope);
    assert(scope->dropping == mark_is_dropped(core, scope->mark));
    for (const struct task_record *task = scope->tasks; task != NULL;
         task = task->scope_next) {
        assert(task->scope == scope);
        placed += task->position != 0;
    }
    assert(placed <= scope->count); /* chunks may have gone before it ends */
}

static void hold_scopes(const struct core *core)
{
    uint32_t watched = 0;
    for (size_t i = 0; core->state.scope_buckets != NULL && i < SCOPE_BUCKETS; i++) {
        for (const struct scope_record *scope = core->state.scope_buckets[i];
             scope != NULL; scope = scope->bucket_next) {
            hold_scope(core, scope);
            watched += scope->watched;
        }
    }
    const struct scope_record *last = NULL;
    for (const struct scope_record *scope = core->state.scopes_watched; scope != NULL;
         scope = scope->watch_next) {
        assert(scope->watched && watched > 0);
        watched--;
        last = scope;
    }
    assert(watched == 0 && (last == NULL || last == core->state.watched_last));
    size_t marks = 0;
    for (size_t i = 0; i < core->state.mark_room; i++) {
        marks += core->state.marks[i] != 0;
    }
    assert(marks == core->state.mark_count);
}

/* --- The whole ------------------------------------------------------------------- */

static void hold_held(const struct core *core)
{
    struct held *const *link = &core->state.held_first;
    for (; *link != NULL; link = &(*link)->next) {
        assert((*link)->message != NULL);
    }
    assert(link == core->state.held_last);
}

void state_hold(const struct core *core)
{
    state_hold_fields(core);
    hold_table(core);
    hold_pages(core);
    hold_peers(core);
    hold_scopes(core);
    hold_held(core);
    release_hold(core);
}
