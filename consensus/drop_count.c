/* drop_count.c - what may be dropped, counted where it comes to be so.
 *
 * When a chunk may go (drop.c), its records have not been touched for long: to look at
 * them costs a miss of every cache for each task, as much as all else that is done for
 * it.  So what a look would find is noted with the chunk while the records are at hand:
 *
 *   quiet        how many of its tasks are released as far as they themselves go: the
 *                program has let them go, and nothing here waits for them, asks for
 *                them or will read them
 *   said, heard  the messages about these
 *   feeds_last   up to where in the lane what takes their results stands
 *
 * A task is counted with the event that may have made it quiet (drop_count), and no
 * more before one that may end that (drop_touch).  Not each way of becoming quiet is an
 * event here, and a task that nobody counts stays; so a chunk whose count does not move
 * is looked at, task by task, once in a gossip period (drop.c).  The other way round
 * there is no leniency: a task that is counted is quiet.  core_counts_hold() looks
 * whether that is so, for tests.
 *
 * Where a chunk's tasks have inputs or consumers outside of it is known from when they
 * were put on the roll, too: the others need not be unlinked when all of it goes
 * (forget.c).
 */
#include "consensus/internal.h"

/* --- Is it released here? -----------------------------------------------------------
 */

static bool has_ended(const struct task *task)
{
    return task->own == CORE_OWN_DONE ||
           (task->own == CORE_OWN_NONE && task->have != CORE_HAVE_NOTHING);
}

/* Its chair holds it, and cannot have released it before it has ended; nor can whom
 * this rank, as its chair, has decided for, once it has heard of that: until then the
 * decision is a message on its way. */
static bool is_seen_to(const struct core *core, const struct task *task)
{
    if (has_ended(task)) {
        return true;
    }
    bool yielded = task->chair == core->rank && task->rec != core->rank &&
                   rankset_has(&core->members, task->rec);
    bool another = task->chair != core->rank && task->chair != NOBODY;
    return task->own == CORE_OWN_NONE && !task->finder && (another || yielded);
}

HOT static bool is_released_but_for_askers(const struct core *core,
                                           const struct task *task)
{
    bool busy = task->needs_done + task->needs_data > 0 || task->users > 0 ||
                task->pending || task->owed || task->frozen || task->on_push_list ||
                (task->pulled && task->have != CORE_HAVE_DATA) ||
                (task->seldom != NULL && !rankset_empty(&task->seldom->seekers));
    return task->let_go && !busy && is_seen_to(core, task);
}

static bool consumers_are_known(const struct core *core, const struct task *task)
{
    for (const struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        const struct task *to = edge_to(edge);
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

bool drop_is_released(const struct core *core, const struct task *task)
{
    return is_released_but_for_askers(core, task) && !docket_is_open(core, task) &&
           consumers_are_known(core, task);
}

/* Of what was asked for and is undecided, gossip alone may say more. */
static bool is_quiet(const struct core *core, const struct task *task)
{
    return is_released_but_for_askers(core, task) &&
           (task->docket == NULL ||
            (!task->docket->balloting && !task->docket->undecided));
}

/* --- Counting -----------------------------------------------------------------------
 */

/* One is asked for after another of the same chunk. */
HOT static struct chunk_facts *facts_of(struct core *core, const struct task *task)
{
    struct lane *lane = &core->lanes[task->lane];
    if (task->lane_position >= lane->open_first) {
        return &lane->open_facts;
    }
    struct chunk *last =
        lane->chunk_last < lane->chunk_count ? &lane->chunks[lane->chunk_last] : NULL;
    if (last == NULL || task->lane_position - last->first >= last->count) {
        last = roll_chunk_of(core, task);
        lane->chunk_last = (uint32_t)(last - lane->chunks);
    }
    return &last->facts;
}

HOT void drop_count_one(struct core *core, struct task *task)
{
    if (task->position == 0 || task->counted || !is_quiet(core, task)) {
        return;
    }
    struct chunk_facts *facts = facts_of(core, task);
    task->counted = true;
    facts->quiet++;
    facts->said += task->said;
    facts->heard += task->heard;
}

void drop_take_back(struct core *core, struct task *task)
{
    struct chunk_facts *facts = facts_of(core, task);
    task->counted = false;
    facts->quiet--;
    facts->said -= task->said;
    facts->heard -= task->heard;
}

void drop_forget_counts(struct core *core)
{
    for (size_t i = 0; i < core->slot_count; i++) {
        if (core->slots[i] != NULL) {
            core->slots[i]->counted = false;
        }
    }
    for (uint32_t number = 0; number < core->lane_count; number++) {
        struct lane *lane = &core->lanes[number];
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

/* --- What feeds what ----------------------------------------------------------------
 */

/* `taker`: its place in the same lane, behind the chunk; 0: it has none. */
static void note_fed(struct core *core, const struct task *from, uint64_t taker)
{
    struct chunk_facts *facts = facts_of(core, from);
    if (facts->feeds_first == 0 || facts->feeds_first > from->lane_position) {
        facts->feeds_first = from->lane_position;
    }
    facts->feeds_last = taker > facts->feeds_last ? taker : facts->feeds_last;
    facts->feeds_elsewhere |= taker == 0;
}

void drop_note_place(struct core *core, const struct task *task)
{
    struct lane *lane = &core->lanes[task->lane];
    if (task->consumers != NULL) { /* they came before it */
        note_fed(core, task, 0);
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct task *from = task_inputs(task)[i].from;
        if (from == NULL) {
            continue;
        }
        bool same_lane = from->position != 0 && from->lane == task->lane;
        if (same_lane && from->lane_position >= lane->open_first) {
            continue; /* it stands in the same chunk */
        }
        lane->open_facts.takes_last = task->lane_position;
        if (from->position != 0) {
            note_fed(core, from, same_lane ? task->lane_position : 0);
        }
    }
}

void drop_note_none(struct core *core, const struct task *task)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct task *from = task_inputs(task)[i].from;
        if (from != NULL && from->position != 0) {
            note_fed(core, from, 0);
        }
    }
}

/* What a task of the stretch shares with others. */
static void add_edges(const struct task *task, uint64_t first, uint64_t last,
                      struct chunk_facts *facts)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct task *from = task_inputs(task)[i].from;
        bool place = from != NULL && from->position != 0 && from->lane == task->lane;
        if (from != NULL && !(place && from->lane_position - first <= last - first)) {
            facts->takes_last = task->lane_position;
        }
    }
    for (const struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        const struct task *to = edge_to(edge);
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

struct chunk_facts drop_facts_of(const struct core *core, uint32_t number,
                                 uint64_t first, uint32_t count)
{
    struct chunk_facts facts = {0};
    for (uint64_t at = first; at < first + count; at++) {
        const struct task *task = lane_task(&core->lanes[number], at);
        facts.quiet += task->counted;
        facts.said += task->counted ? task->said : 0;
        facts.heard += task->counted ? task->heard : 0;
        add_edges(task, first, first + count - 1, &facts);
    }
    return facts;
}

static bool agree_upto(const struct core *core, const struct lane *lane, uint64_t last)
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

bool drop_is_all_quiet(const struct core *core, uint32_t number,
                       const struct chunk *chunk)
{
    const struct chunk_facts *facts = &chunk->facts;
    return chunk->live == chunk->count && facts->quiet == chunk->count &&
           !facts->feeds_elsewhere &&
           (facts->feeds_last == 0 ||
            agree_upto(core, &core->lanes[number], facts->feeds_last));
}

enum feeds drop_feeds_offered(const struct core *core, uint32_t number,
                              const struct chunk *chunk)
{
    const struct chunk_facts *facts = &chunk->facts;
    const struct lane *lane = &core->lanes[number];
    const struct chunk *end = lane->chunks + lane->chunk_count;
    if (facts->feeds_elsewhere) {
        return FEEDS_MAYBE;
    }
    for (const struct chunk *one = chunk + 1;
         one < end && one->first <= facts->feeds_last; one++) {
        bool last = facts->feeds_last - one->first < one->count;
        if (one->live > 0 && !one->all_ready) {
            return last && one->live == one->count ? FEEDS_NO : FEEDS_MAYBE;
        }
    }
    return facts->feeds_last < lane->open_first ? FEEDS_YES : FEEDS_NO;
}

/* --- For tests ----------------------------------------------------------------------
 */

static bool counts_are(const struct core *core, const struct lane *lane, uint64_t first,
                       uint64_t last, const struct chunk_facts *facts)
{
    struct chunk_facts found = {0};
    for (uint64_t at = first; at <= last; at++) {
        const struct task *task = lane_task(lane, at);
        if (task == NULL) {
            return true; /* it has gone before its chunk, which is not asked about */
        }
        if (!task->counted) {
            continue;
        }
        if (!is_quiet(core, task)) {
            return false;
        }
        found.quiet++;
        found.said += task->said;
        found.heard += task->heard;
    }
    return found.quiet == facts->quiet && found.said == facts->said &&
           found.heard == facts->heard;
}

/* What it takes from outside is noted, and what outside takes of it. */
static bool edges_are_noted(const struct core *core, const struct task *task,
                            uint64_t first, uint64_t last,
                            const struct chunk_facts *facts)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct task *from = task_inputs(task)[i].from;
        bool inside =
            from == NULL || (from->position != 0 && from->lane == task->lane &&
                             from->lane_position - first <= last - first);
        if (!inside && facts->takes_last < task->lane_position) {
            return false;
        }
    }
    for (const struct edge *edge = task->consumers; edge != NULL; edge = edge->next) {
        const struct task *to = edge_to(edge);
        bool place = to->position != 0 && to->lane == task->lane;
        if (place && to->lane_position - first <= last - first) {
            continue;
        }
        bool covered =
            facts->feeds_elsewhere || (place && facts->feeds_last >= to->lane_position);
        if (!covered || facts->feeds_first == 0 ||
            facts->feeds_first > task->lane_position) {
            return false;
        }
    }
    (void)core;
    return true;
}

static bool facts_hold(const struct core *core, const struct lane *lane, uint64_t first,
                       uint64_t last, const struct chunk_facts *facts)
{
    for (uint64_t at = first; at <= last; at++) {
        const struct task *task = lane_task(lane, at);
        if (task != NULL && !edges_are_noted(core, task, first, last, facts)) {
            return false;
        }
    }
    return counts_are(core, lane, first, last, facts);
}

bool core_counts_hold(const struct core *core)
{
    for (uint32_t number = 0; number < core->lane_count; number++) {
        const struct lane *lane = &core->lanes[number];
        for (uint32_t i = 0; i < lane->chunk_count; i++) {
            const struct chunk *chunk = &lane->chunks[i];
            uint64_t last = chunk->first + chunk->count - 1;
            if (chunk->live > 0 &&
                !facts_hold(core, lane, chunk->first, last, &chunk->facts)) {
                return false;
            }
        }
        if (!facts_hold(core, lane, lane->open_first, lane->len, &lane->open_facts)) {
            return false;
        }
    }
    return true;
}
