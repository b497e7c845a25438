/* spread.c - a large result goes down a tree of those who take it (T11).
 *
 * An owner sends the bytes to a few, and refers the others to these, so that what
 * thousands need leaves it a few times.  The tree is nobody's plan: it grows as ranks
 * ask, behind those who have asked before.  Who passes bytes on does so while it has
 * them or waits for them itself; else it says that they are away, and the owner serves.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

/* --- At the owner ----------------------------------------------------------------- */

static bool add_place(struct core *core, struct spread *spread, uint32_t rank,
                      uint32_t hops)
{
    if (!core_grow(core, &spread->places, &spread->room, spread->count + 1,
                   sizeof(*spread->places))) {
        return false;
    }
    spread->places[spread->count++] = (struct spread_place){rank, hops, 0};
    return true;
}

/* In a chain of so many hops what comes in parts is late by as many parts at most. */
static uint32_t hops_max(const struct core *core)
{
    uint32_t hops = 4;
    for (uint32_t reach = 1; reach < core->member_count; reach *= 2) {
        hops += 2;
    }
    return hops;
}

/* The least is taken.  On the same host, and of what goes whole, the place that is
 * nearest to the owner; of what goes in parts over a wire one that passes it on to
 * nobody yet, so that no wire carries it twice. */
static uint64_t cost_of(const struct core *core, const struct task_record *task,
                        const struct spread_place *place, uint32_t host)
{
    const bool far = core->state.hosts[place->rank] != host;
    const uint64_t near_first = (uint64_t)place->hops << 16 | place->children;
    if (!far || spread_parts(core, task) == 0) {
        return (uint64_t)far << 63 | near_first;
    }
    const bool deep = place->hops >= hops_max(core);
    return (uint64_t)1 << 63 | (uint64_t)deep << 62 | (uint64_t)place->children << 32 |
           (UINT32_MAX - place->hops);
}

/* The place behind which this rank comes; NULL: it has one. */
static struct spread_place *find_parent(const struct core *core,
                                        const struct task_record *task,
                                        struct spread *spread, uint32_t to)
{
    struct spread_place *best = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < spread->count; i++) {
        struct spread_place *place = &spread->places[i];
        if (place->rank == to && !MUTANT(TREEAGAIN)) {
            return NULL;
        }
        bool room = place->children < core->options.tree_fanout && place->rank != to;
        if (MUTANT(TREECROWD) && i == 1 && place->rank != to) {
            return place;
        }
        const uint64_t cost =
            room ? cost_of(core, task, place, core->state.hosts[to]) : UINT64_MAX;
        if (cost < least) {
            least = cost;
            best = place;
        }
    }
    return best;
}

uint32_t spread_place(struct core *core, struct task_record *task, uint32_t to)
{
    assert(task->have == CORE_HAVE_DATA && to != core->rank && to < core->size);
    if (task->own != CORE_OWN_DONE || core->options.tree_fanout == 0 ||
        MUTANT(TREEALL)) {
        return core->rank;
    }
    struct spread *spread = &task_ext_get(core, task)->spread;
    if (core->broken ||
        (spread->count == 0 && !add_place(core, spread, core->rank, 0))) {
        return core->rank;
    }
    struct spread_place *parent = find_parent(core, task, spread, to);
    if (parent == NULL) {
        return core->rank;
    }
    const uint32_t at = parent->rank;
    parent->children++;
    core->stats.referred += at != core->rank;
    return add_place(core, spread, to, parent->hops + 1) ? at : core->rank;
}

/* --- Who is asked for bytes ------------------------------------------------------- */

static bool has_bytes(const struct task_record *task)
{
    return task->have == CORE_HAVE_DATA && task->status == MOOT_OK;
}

/* They are on their way to this rank, or it is going to ask for them. */
static bool waits_for_bytes(const struct task_record *task)
{
    return task->pulled || (task->needs_data > 0 && ask_wants(task));
}

static void say_away(struct core *core, struct task_record *task, uint32_t to)
{
    if (MUTANT(TREEMUTE)) {
        return;
    }
    struct message *message = out_send(core, to, MESSAGE_RESULT, task);
    if (message != NULL) {
        message->u.result = (struct message_result){.data = RESULT_BARE, .away = true};
    }
}

/* --- In parts --------------------------------------------------------------------- */

uint32_t spread_parts(const struct core *core, const struct task_record *task)
{
    const uint64_t bytes =
        core->options.part_bytes > 0 ? core->options.part_bytes : LIMIT_PART_BYTES;
    const bool trees = core->options.tree_fanout > 0 && core->member_count > 2;
    if (!trees || task->size <= bytes) {
        return 0;
    }
    const uint64_t parts = (task->size - 1) / bytes + 1;
    return parts < LIMIT_PARTS ? (uint32_t)parts : LIMIT_PARTS;
}

static void pass_part(struct core *core, struct task_record *task, uint32_t to,
                      uint32_t part)
{
    struct message *message = out_send(core, to, MESSAGE_RESULT, task);
    if (message != NULL) {
        message->u.result =
            (struct message_result){.owner_uid = core->state.uids[task->owner],
                                    .evidence = (enum evidence)task->evidence,
                                    .data = RESULT_BULK,
                                    .size = task->size,
                                    .part = part,
                                    .parts = task_ext(task)->parts_all};
    }
}

bool spread_is_next(const struct task_record *task, const struct message_result *result)
{
    const bool part = result->part > 0 && result->data == RESULT_BULK;
    const bool first = result->part == 1 && task_ext(task)->parts == 0;
    const bool known = task->have == CORE_HAVE_BARE &&
                       (task->size != 0 || MUTANT(WORDSIZED)); /* a word tells none */
    return !part || ((first || (result->part == task_ext(task)->parts + 1 &&
                                result->parts == task_ext(task)->parts_all)) &&
                     (!known || result->size == task->size));
}

void spread_keep_part(struct core *core, struct task_record *task,
                      const struct message_result *result)
{
    if (result->part == 0 || result->data != RESULT_BULK) {
        return;
    }
    struct task_ext *ext = task_ext_get(core, task);
    task->size = result->size;
    ext->parts = result->part;
    ext->parts_all = result->parts;
    if (!spread_is_more(result)) {
        return; /* all are here */
    }
    task->pulled = true; /* more are on their way */
    struct core_output *output = out_add(core, CORE_OUT_PART, task);
    if (output != NULL) {
        output->u.result = *result;
    }
    for (uint32_t rank = rankset_next(&ext->pullers, 0);
         rank != NOBODY && !MUTANT(PARTKEPT);
         rank = rankset_next(&ext->pullers, rank + 1)) {
        if (rankset_has(&core->members, rank)) {
            pass_part(core, task, rank, result->part);
        }
    }
}

/* The last part to who has had those before; else all. */
static void pass_rest(struct core *core, struct task_record *task, uint32_t to)
{
    const uint32_t last = task_ext(task)->parts;
    if (last > 0) {
        core->stats.results_relayed++;
        pass_part(core, task, to, last);
        out_note(core, CORE_POINT_RESULT_SENT, task, to, EVIDENCE_NONE);
    } else {
        graph_pass_on(core, task, to);
    }
}

/* All who wait for the bytes at this rank are served, or sent away. */
static void answer_pullers(struct core *core, struct task_record *task)
{
    struct rankset *pullers = &task_ext_get(core, task)->pullers;
    for (uint32_t rank = rankset_next(pullers, 0); rank != NOBODY;
         rank = rankset_next(pullers, rank + 1)) {
        if (!rankset_has(&core->members, rank)) {
            continue;
        }
        if (has_bytes(task)) {
            pass_rest(core, task, rank);
        } else {
            say_away(core, task, rank);
        }
    }
    rankset_release(pullers);
}

void spread_on_pull(struct core *core, uint32_t from, struct task_record *task)
{
    assert(task != NULL && from != core->rank);
    if (task->own == CORE_OWN_DONE) {
        graph_send_result(core, task, from, WANT_DATA);
    } else if (task->own != CORE_OWN_NONE) {
        core->stats.refused++; /* an owner is asked for what it has said that it has */
    } else if (has_bytes(task)) {
        graph_pass_on(core, task, from);
    } else if (!waits_for_bytes(task)) {
        say_away(core, task, from);
    } else if (!MUTANT(TREEDEAF)) {
        struct task_ext *ext = task_ext_get(core, task);
        core->broken |= !rankset_add(&ext->pullers, from);
        for (uint32_t part = 1; part <= ext->parts; part++) {
            pass_part(core, task, from, part);
        }
    }
}

void spread_given_up(struct core *core, struct task_record *task)
{
    if (!rankset_empty(&task_ext(task)->pullers) && !waits_for_bytes(task) &&
        !has_bytes(task) && !MUTANT(TREEGIVENUP)) {
        answer_pullers(core, task);
    }
}

void spread_result_taken(struct core *core, struct task_record *task)
{
    if (task->task_ext != NULL && task->have == CORE_HAVE_DATA &&
        !rankset_empty(&task->task_ext->pullers)) {
        answer_pullers(core, task);
    } else if (task->task_ext != NULL) {
        spread_given_up(core, task);
    }
    if (task->task_ext != NULL && task->have == CORE_HAVE_DATA) {
        task->task_ext->parts = 0;
    }
}

/* --- Who was referred ------------------------------------------------------------- */

uint32_t spread_source(const struct core *core, const struct task_record *task)
{
    const uint32_t source = task_ext(task)->source;
    return source != NOBODY && rankset_has(&core->members, source) ? source
                                                                   : task->owner;
}

/* Whom the message refers this rank to; NOBODY: to none, or in another epoch, when
 * lists were others. */
static uint32_t referral_of(const struct core *core, uint32_t from,
                            const struct message *message)
{
    const uint32_t at = message->u.result.at - 1; /* 0: NOBODY */
    bool stale = message->epoch != core->epoch && !MUTANT(TREESTALE);
    return !stale && at < core->size && at != core->rank && at != from &&
                   rankset_has(&core->members, at) &&
                   core->state.uids[from] == message->u.result.owner_uid
               ? at
               : NOBODY;
}

void spread_note_source(struct core *core, uint32_t from, struct task_record *task,
                        const struct message *message)
{
    const uint32_t at = referral_of(core, from, message);
    if (at != task_ext(task)->source) {
        task_ext_get(core, task)->source = at;
    }
}

/* An asker that asks elsewhere, or not at all, is not waited for here. */
static void ask_elsewhere(struct core *core, struct task_record *task, uint32_t source)
{
    assert(task->own == CORE_OWN_NONE && task->have == CORE_HAVE_BARE);
    task_ext_get(core, task)->source = source;
    task->pulled = false;
    if (ask_wants(task)) {
        agenda_add(core, task, AGENDA_ASK);
        return;
    }
    spread_given_up(core, task);
    release_count(core, task);
}

void spread_on_referral(struct core *core, uint32_t from, struct task_record *task,
                        const struct message *message)
{
    const uint32_t at = referral_of(core, from, message);
    spread_keep_part(core, task, &message->u.result);
    if (at != NOBODY && task->pulled && task_ext(task)->source == NOBODY) {
        ask_elsewhere(core, task, at);
    }
}

void spread_on_away(struct core *core, uint32_t from, struct task_record *task)
{
    if (task->own == CORE_OWN_NONE && task->have == CORE_HAVE_BARE && task->pulled &&
        task_ext(task)->source == from) {
        ask_elsewhere(core, task, NOBODY);
    } else {
        core->stats.results_dropped++;
    }
}

/* --- Views ------------------------------------------------------------------------ */

void spread_enter_view(struct task_record *task)
{
    struct task_ext *ext = task->task_ext;
    if (ext != NULL) {
        ext->source = NOBODY;
        ext->parts = 0;
        rankset_release(&ext->pullers);
        ext->spread.count = MUTANT(TREEKEPT) ? ext->spread.count : 0;
    }
}
