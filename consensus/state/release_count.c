/* release_count.c - what may be dropped, counted where it comes to be so.
 *
 * When a chunk may go (reclaim.c), its records have not been touched for long: to look
 * at them costs a miss of every cache for each task, as much as all else that is done
 * for it.  So what a look would find is noted with the chunk while the records are at
 * hand:
 *
 *   quiet        how many of its tasks are released as far as they themselves go: the
 *                program has let them go, and nothing here waits for them, asks for
 *                them or will read them
 *   said, heard  the messages about these
 *   feeds_last   up to where in the lane what takes their results stands
 *
 * A task is counted with the event that may have made it quiet (release_count), and no
 * more before one that may end that (release_touch).  Not each way of becoming quiet is
 * an event here, and a task that nobody counts stays; so a chunk whose count does not
 * move is looked at, task by task, once in a gossip period (reclaim.c).  The other way
 * round there is no leniency: a task that is counted is quiet (release_hold.c).
 *
 * Where a chunk's tasks have inputs or consumers outside of it is known from when they
 * were put on the roll, too: the others need not be unlinked when all of it goes
 * (forget.c).
 */
#include "consensus/state/state_private.h"

#include <assert.h>

/* --- Is it released here? -------------------------------------------------------- */

static bool has_ended(const struct task_record *task)
{
    return task->own == CORE_OWN_DONE ||
           (task->own == CORE_OWN_NONE && task->have != CORE_HAVE_NOTHING);
}

/* Its chair holds it, and cannot have released it before it has ended; nor can whom
 * this rank, as its chair, has decided for, once it has heard of that: until then the
 * decision is a message on its way. */
static bool is_seen_to(const struct core *core, const struct task_record *task)
{
    if (has_ended(task) || MUTANT(LETGOUNDONE)) {
        return true;
    }
    bool yielded = task->chair == core->rank && task->rec != core->rank &&
                   rankset_has(&core->members, task->rec);
    bool another = task->chair != core->rank;
    bool judged = task->rec == REC_VERDICT;
    return task->own == CORE_OWN_NONE && !task->finder &&
           (another || yielded || judged);
}

bool release_is_unused(const struct task_record *task)
{
    return task->needs_done + task->needs_data + task->users == 0 && !task->pending &&
           !task->owed && !task->frozen && !task->on_push_list && !task->pulled &&
           task->own != CORE_OWN_WAIT && task->own != CORE_OWN_RUNNING &&
           !array_runs_here(task);
}

bool release_is_seen_to(const struct core *core, const struct task_record *task)
{
    return is_seen_to(core, task);
}

bool release_has_ended(const struct task_record *task) { return has_ended(task); }

HOT static bool is_released_but_for_askers(const struct core *core,
                                           const struct task_record *task)
{
    bool busy = task->needs_done + task->needs_data > 0 || task->users > 0 ||
                task->pending || task->owed || task->frozen || task->on_push_list ||
                task->lot || task->pulled ||
                (task->task_ext != NULL &&
                 (!rankset_empty(&task->task_ext->seekers) || array_runs_here(task)));
    return task->let_go && !busy && is_seen_to(core, task);
}

static bool consumers_are_known(const struct core *core, const struct task_record *task)
{
    for (const struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        const struct task_record *to = edge_to(edge);
        if (has_ended(to)) {
            continue;
        }
        const struct chunk *chunk = roll_chunk_of(core, to);
        if (chunk == NULL || (chunk != roll_chunk_of(core, task) &&
                              !roll_all_hold(core, to->lane, chunk))) {
            return false;
        }
    }
    return true;
}

bool release_is_released(const struct core *core, const struct task_record *task)
{
    return is_released_but_for_askers(core, task) && !requests_is_open(core, task) &&
           consumers_are_known(core, task);
}

/* Of what was asked for and is undecided, gossip alone may say more. */
bool release_is_quiet(const struct core *core, const struct task_record *task)
{
    return is_released_but_for_askers(core, task) &&
           (task->requests == NULL ||
            (!task->requests->balloting && !task->requests->undecided));
}

/* --- Counting -------------------------------------------------------------------- */

/* One is asked for after another of the same chunk. */
HOT struct chunk_facts *release_facts_at(struct core *core, roll_place place)
{
    struct lane_record *lane = &core->gossip.lanes[place_lane(place)];
    uint64_t position = place_position(place);
    if (position >= lane->open_first) {
        return &lane->open_facts;
    }
    struct chunk *last =
        lane->chunk_last < lane->chunk_count ? &lane->chunks[lane->chunk_last] : NULL;
    if (last == NULL || position - last->first >= last->count) {
        last = roll_chunk_at(lane, position);
        lane->chunk_last = (uint32_t)(last - lane->chunks);
    }
    return &last->facts;
}

static struct chunk_facts *facts_of(struct core *core, const struct task_record *task)
{
    return release_facts_at(core, place_of(task->lane, task->lane_position));
}

HOT void release_count_one(struct core *core, struct task_record *task)
{
    if (task->position == 0 || task->counted || !release_is_quiet(core, task)) {
        return;
    }
    struct chunk_facts *facts = facts_of(core, task);
    task->counted = true;
    facts->quiet++;
    facts->said += task->said;
    facts->heard += task->heard;
}

void release_take_back(struct core *core, struct task_record *task)
{
    assert(task->counted && task->position != 0);
    struct chunk_facts *facts = facts_of(core, task);
    task->counted = false;
    facts->quiet--;
    facts->said -= task->said;
    facts->heard -= task->heard;
}

void release_forget_counts(struct core *core)
{
    for (size_t i = 0; i < core->state.slot_count; i++) {
        struct task_record *task = table_pass(core, i);
        if (task != NULL) {
            task->counted = false;
        }
    }
    for (uint32_t number = 0; number < core->gossip.lane_count; number++) {
        struct lane_record *lane = &core->gossip.lanes[number];
        struct chunk_facts *facts = &lane->open_facts;
        facts->quiet = 0;
        facts->said = facts->heard = 0;
        for (uint32_t i = 0; i < lane->chunk_count; i++) {
            facts = &lane->chunks[i].facts;
            facts->quiet = 0;
            facts->said = facts->heard = 0;
        }
    }
}

/* --- What feeds what ------------------------------------------------------------- */

/* `taker`: its place in the same lane, behind the chunk; 0: it has none. */
static void note_fed(struct core *core, roll_place from, uint64_t taker)
{
    struct chunk_facts *facts = release_facts_at(core, from);
    if (facts->feeds_first == 0 || facts->feeds_first > place_position(from)) {
        facts->feeds_first = place_position(from);
    }
    facts->feeds_last = taker > facts->feeds_last ? taker : facts->feeds_last;
    facts->feeds_elsewhere |= taker == 0;
}

/* Most inputs stand in the open chunk, as what takes them does: nothing is noted. */
static inline bool is_open(const struct lane_record *lane, bool same_lane,
                           uint64_t position)
{
    return same_lane && position >= lane->open_first;
}

/* What stands at `place` takes from what stands there, if it is in another chunk. */
static void note_taken(struct core *core, roll_place place, roll_place from)
{
    struct lane_record *lane = &core->gossip.lanes[place_lane(place)];
    bool same_lane = place_lane(from) == place_lane(place);
    if (!is_open(lane, same_lane, place_position(from))) {
        lane->open_facts.takes_last = place_position(place);
        note_fed(core, from, same_lane ? place_position(place) : 0);
    }
}

HOT void release_note_stub(struct core *core, const struct stub *stub)
{
    assert(stub->position != 0);
    for (uint32_t i = 0; i < stub->input_count && !MUTANT(STUBFED); i++) {
        note_taken(core, stub->place, stub->inputs[i]);
    }
}

static roll_place place_of_task(const struct task_record *task)
{
    return place_of(task->lane, task->lane_position);
}

HOT void release_note_place(struct core *core, const struct task_record *task)
{
    assert(task->position != 0);
    struct lane_record *lane = &core->gossip.lanes[task->lane];
    if (task->consumers != NULL) { /* they came before it */
        note_fed(core, place_of_task(task), 0);
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct edge *edge = &task_inputs(task)[i];
        const struct task_record *from = edge->from;
        if (edge->away) {
            note_taken(core, place_of_task(task), edge->place);
        }
        if (from == NULL) {
            continue;
        }
        if (from->position == 0) {
            lane->open_facts.takes_last = task->lane_position;
        } else if (!is_open(lane, from->lane == task->lane, from->lane_position)) {
            note_taken(core, place_of_task(task), place_of_task(from));
        }
    }
}

void release_note_none(struct core *core, const struct task_record *task)
{
    assert(task->position == 0 && task->held);
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct task_record *from = task_inputs(task)[i].from;
        if (from != NULL && from->position != 0) {
            note_fed(core, place_of_task(from), 0);
        }
    }
}

/* What a task of the stretch shares with others. */
static void add_edges(const struct task_record *task, uint64_t first, uint64_t last,
                      struct chunk_facts *facts)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct task_record *from = task_inputs(task)[i].from;
        bool place = from != NULL && from->position != 0 && from->lane == task->lane;
        if (from != NULL && !(place && from->lane_position - first <= last - first)) {
            facts->takes_last = task->lane_position;
        }
    }
    for (const struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        const struct task_record *to = edge_to(edge);
        bool place = to->position != 0 && to->lane == task->lane;
        if (place && to->lane_position - first <= last - first) {
            continue;
        }
        bool behind = place && to->lane_position > last;
        facts->feeds_first =
            facts->feeds_first == 0 ? task->lane_position : facts->feeds_first;
        facts->feeds_last = behind && to->lane_position > facts->feeds_last
                                ? to->lane_position
                                : facts->feeds_last;
        facts->feeds_elsewhere |= !behind;
    }
}

struct chunk_facts release_facts_of(struct core *core, uint32_t number, uint64_t first,
                                    uint32_t count)
{
    assert(number < core->gossip.lane_count);
    assert(first >= 1 && first + count <= core->gossip.lanes[number].len + 1);
    struct chunk_facts facts = {0};
    stub_expand_all(core);
    for (uint64_t at = first; at < first + count && !core->broken; at++) {
        const struct task_record *task = lane_known(&core->gossip.lanes[number], at);
        facts.quiet += task->counted;
        facts.said += task->counted ? task->said : 0;
        facts.heard += task->counted ? task->heard : 0;
        add_edges(task, first, first + count - 1, &facts);
    }
    return facts;
}

static bool agree_upto(const struct core *core, const struct lane_record *lane,
                       uint64_t last)
{
    FOR_MEMBERS(core, rank)
    {
        bool agrees = lane->agreed != NULL && lane->agreed[rank] >= last;
        if (rank != core->rank && !agrees) {
            return false;
        }
    }
    return last < lane->open_first;
}

bool release_is_all_quiet(const struct core *core, uint32_t number,
                          const struct chunk *chunk)
{
    assert(chunk->facts.quiet <= chunk->count);
    const struct chunk_facts *facts = &chunk->facts;
    return chunk->live == chunk->count && facts->quiet == chunk->count &&
           !facts->feeds_elsewhere &&
           (facts->feeds_last == 0 ||
            agree_upto(core, &core->gossip.lanes[number], facts->feeds_last));
}

bool release_takers_are_held(const struct core *core, uint32_t number,
                             const struct chunk *chunk)
{
    const struct chunk_facts *facts = &chunk->facts;
    const struct lane_record *lane = &core->gossip.lanes[number];
    const struct chunk *end = lane->chunks + lane->chunk_count;
    bool held = !facts->feeds_elsewhere && facts->feeds_last < lane->open_first;
    for (const struct chunk *one = chunk + 1;
         held && one < end && one->first <= facts->feeds_last; one++) {
        held = one->live == 0 || roll_all_hold(core, number, one);
    }
    return held;
}

enum feeds release_feeds_offered(const struct core *core, uint32_t number,
                                 const struct chunk *chunk)
{
    const struct chunk_facts *facts = &chunk->facts;
    const struct lane_record *lane = &core->gossip.lanes[number];
    const struct chunk *end = lane->chunks + lane->chunk_count;
    if (facts->feeds_elsewhere) {
        return FEEDS_MAYBE;
    }
    for (const struct chunk *one = chunk + 1;
         one < end && one->first <= facts->feeds_last; one++) {
        bool last = facts->feeds_last - one->first < one->count;
        if (one->live > 0 && !one->all_ready) {
            bool none = last || core->state.stub_count + core->state.away_count > 0;
            return none && one->live == one->count ? FEEDS_NO : FEEDS_MAYBE;
        }
    }
    return facts->feeds_last < lane->open_first ? FEEDS_YES : FEEDS_NO;
}

/* Invalidates a scan that may already be past the changed task. */
void reclaim_news(struct core *core) { core->state.released_ever++; }
