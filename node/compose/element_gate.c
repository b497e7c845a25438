/* element_gate.c - see element_gate.h. */
#include "node/compose/element_gate.h"

#include "consensus/core_view.h"
#include "hashing/base/byte_order.h"
#include "hashing/placement.h"
#include "node/compose/element_read.h"
#include "node/compose/stretch.h"
#include "node/engine/engine.h"
#include "node/schedule/element_again.h"
#include "node/schedule/element_end.h"
#include "node/schedule/element_parts.h"
#include "node/schedule/ready.h"
#include "node/schedule/task_end.h"
#include "node/schedule/task_handle.h"
#include "node/spawn/spawn.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/kept_handles.h"
#include "node/tasks/kernel.h"
#include "proto/error.h"

#include <string.h>

/* The arguments of a gate: the hash of the array that takes, and words: which input,
 * the place, the rank with the gate's number there.  One that waits for the end of the
 * input's array is of no place. */
enum {
    GATE_BYTES = MOOT_HASH_BYTES + 3 * 8,
    LOOKS_AT_ENDS = 8,
    LOOKS_AT_NEWS = 64,
    LOOKS_AT_ONCE_MAX = 256
};
#define GATE_OF_END UINT64_MAX
/* In the place of an input: for that seek of a read, and that home's stretch. */
#define GATE_FOR_READ UINT64_MAX
#define GATE_FOR_STRETCH (UINT64_MAX - 1)

static const char gate_name[] = "moot.gate";

static const char lost_story[] = "no rank has its result any more: the one that had "
                                 "made it is gone, and with it what that was made of";

/* --- Opening ---------------------------------------------------------------------- */

static struct element_link *link_of(const struct moot *m, const unsigned char *args,
                                    uint64_t *place)
{
    moot_hash hash;
    memcpy(hash.bytes, args, MOOT_HASH_BYTES);
    const uint64_t number = get_word(args + MOOT_HASH_BYTES);
    *place = get_word(args + MOOT_HASH_BYTES + 8);
    const struct task *task = core_user(m->core, &hash);
    const struct elements *elements =
        task != NULL && !core_is_stub(task) ? elements_of(task) : NULL;
    return elements != NULL && number < elements->link_count ? elements->links[number]
                                                             : NULL;
}

static struct payload *story_of(const struct task *failed)
{
    if (failed->payload != NULL) {
        return payload_hold(failed->payload);
    }
    const int code = failed->known ? failed->status : task_seldom(failed)->verdict;
    const char *text = error_text(code != MOOT_OK ? code : MOOT_ERR_TASK_FAILED);
    return payload_copy(text, strlen(text) + 1);
}

/* The end of the input's array is not to be had: nor is what homes have not sent. */
static void fail_all(struct moot *m, struct element_link *link, const struct task *end)
{
    for (uint32_t slot = 0; slot < link->source_count; slot++) {
        const int state = link->sources[slot].state;
        if (state == SOURCE_AWAITED || state == SOURCE_ELSEWHERE) {
            link_hear(m, link, link_place(link, slot), SOURCE_FAILED, story_of(end));
        }
    }
}

static void open_for(struct moot *m, struct element_link *link, uint64_t place,
                     const struct task *gate, const struct task *failed)
{
    if (place == GATE_OF_END) {
        link->gated = false;
        link_look(m, link);
        if (failed != NULL && !failed->known) {
            fail_all(m, link, failed);
        }
    } else if (failed == NULL) {
        link_hear(m, link, place, SOURCE_HERE,
                  payload_hold(task_input(gate, 0)->payload));
    } else if (!link->single && hash_has(&failed->hash, MOOT_HASH_CANDIDATES)) {
        link_miss(m, link, place); /* that rank is gone */
    } else {
        link_hear(m, link, place, SOURCE_FAILED, story_of(failed));
    }
}

static bool is_for(const struct task *gate, uint64_t what)
{
    const unsigned char *args = gate->args;
    return get_word(args + MOOT_HASH_BYTES) == what;
}

static void open_stretch(struct moot *m, const struct task *gate, uint64_t home)
{
    moot_hash array;
    memcpy(array.bytes, gate->args, MOOT_HASH_BYTES);
    stretch_hear(m, &array, (uint32_t)home);
}

/* In the place of a run: what it waits for is here, or has failed. */
static bool open_gate(struct moot *m, struct task *gate, const struct task *failed)
{
    uint64_t place;
    struct element_link *link = link_of(m, gate->args, &place);
    struct payload *nothing = payload_new(0);
    if (nothing == NULL) {
        engine_starve(m, "no memory for an input of an element");
        return true;
    }
    if (is_for(gate, GATE_FOR_STRETCH)) {
        open_stretch(m, gate, place);
    } else if (is_for(gate, GATE_FOR_READ)) {
        reads_hear_large(m, place, failed == NULL ? task_input(gate, 0) : NULL);
    } else if (link != NULL && (link->single || link->from != NULL)) {
        open_for(m, link, place, gate, failed);
    }
    elements_go_on(m);
    task_end(m, gate, MOOT_OK, nothing);
    progress_wake(m);
    return true;
}

/* Never called: gates are opened where others are run. */
static int run_gate(moot_call *call, void *user)
{
    (void)call, (void)user;
    return MOOT_ERR_STATE;
}

bool gates_begin(struct moot *m)
{
    const moot_kernel gate = {.name = gate_name, .fn = run_gate, .user = m};
    struct kernel *added = kernel_add_own(&m->tasks.kernels, &m->tasks.handles, &gate);
    if (added == NULL) {
        return false;
    }
    added->opens = open_gate;
    return true;
}

/* --- Asking ----------------------------------------------------------------------- */

/* A place of which this rank is the chair now, so that it owns the gate at once. */
static uint32_t own_place(const struct moot *m, struct task_facts *facts)
{
    struct rankset members = {0};
    const struct identity identity = spawn_identity(facts);
    moot_hash hash = identity_hash(&identity);
    for (uint32_t rank = m->group.size; rank-- > 0;) {
        if (rank == m->group.rank || members_is_here(m, rank)) {
            (void)rankset_add(&members, rank); /* without memory: another rank's */
        }
    }
    while (placement_chair(&hash, &members, NULL) != m->group.rank) {
        hash_set_place(&hash, hash_place(&hash) + 1);
    }
    rankset_release(&members);
    return hash_place(&hash);
}

/* The gate takes the result of that task, or comes after the end of the input's
 * array. */
static bool take_in_gate(struct moot *m, const struct named_array *by, uint64_t number,
                         uint64_t place, const moot_hash *input)
{
    unsigned char args[GATE_BYTES];
    memcpy(args, by->hash.bytes, MOOT_HASH_BYTES);
    put_word(args + MOOT_HASH_BYTES, number);
    put_word(args + MOOT_HASH_BYTES + 8, place);
    put_word(args + MOOT_HASH_BYTES + 16,
             (uint64_t)m->group.rank << 32 | m->compose.gates.made++);
    struct kernel *kernel = kernel_find(&m->tasks.kernels, gate_name);
    struct task_facts facts = {
        .kernel = kernel, .args = args, .args_size = sizeof(args)};
    facts.reg.flags = kernel->core_flags;
    facts.reg.scope = by->scope;
    facts.reg.inputs = input;
    facts.reg.input_count = 1;
    facts.reg.after_count = place == GATE_OF_END;
    facts.place = own_place(m, &facts);
    const struct identity identity = spawn_identity(&facts);
    const moot_hash hash = identity_hash(&identity);
    struct task *gate = task_enter(m, &hash);
    return gate != NULL && spawn_take_in(m, gate, &facts) == MOOT_OK;
}

bool gate_for_read(struct moot *m, const struct named_array *array, uint64_t number,
                   const moot_hash *read)
{
    return take_in_gate(m, array, GATE_FOR_READ, number, read);
}

bool gate_for_stretch(struct moot *m, const struct named_array *array, uint32_t home,
                      const moot_hash *leave)
{
    return take_in_gate(m, array, GATE_FOR_STRETCH, home, leave);
}

static bool gate_link(struct moot *m, const struct element_link *link, uint64_t place,
                      const moot_hash *input)
{
    const struct named_array by = elements_name(link->by);
    return take_in_gate(m, &by, link->number, place, input);
}

/* As a task of that rank, or of whoever has it made again (UINT32_MAX). */
static void ask(struct moot *m, struct element_link *link, uint32_t slot, uint32_t rank)
{
    const uint64_t place = link_place(link, slot);
    const uint64_t index = array_index(&link->from->spread, place);
    moot_hash read;
    const bool asked = rank != m->group.rank && rank != UINT32_MAX;
    if (asked && (!members_is_here(m, rank) || core_goes(m->core, rank))) {
        link->sources[slot].state = SOURCE_ELSEWHERE;
        link_look(m, link);
        return;
    }
    link->sources[slot].state = SOURCE_ASKED;
    const struct named_array from = elements_name(link->from);
    if (!read_take_in(m, &from, index, rank, link->misses, &read) ||
        !gate_link(m, link, place, &read)) {
        engine_starve(m, "no memory to ask for an input of an element");
    }
}

/* No rank is known to have it: after the end of its array all are asked.  Of an array
 * that failed, too: other elements of it have ended well. */
static void seek(struct moot *m, struct element_link *link, uint32_t slot)
{
    const struct task *end = link->from->task;
    if (end->known || link->from->has_ended) {
        link->sources[slot].state = SOURCE_SOUGHT;
    } else if (!link->gated) {
        link->gated = true;
        if (!gate_link(m, link, GATE_OF_END, &end->hash)) {
            engine_starve(m, "no memory to ask for the end of an array");
        }
    }
}

/* The task's result, of a link that is to one: it may be here already. */
static void ask_task(struct moot *m, struct element_link *link)
{
    const struct task *task = link->task;
    struct element_source *source = link->sources;
    if (source->state != SOURCE_AWAITED || source->waiter == 0 || task == NULL) {
        return;
    }
    if (task->known && task->status == MOOT_OK && task->payload != NULL) {
        link_hear(m, link, 0, SOURCE_HERE, payload_hold(task->payload));
        return;
    }
    source->state = SOURCE_ASKED;
    if (!gate_link(m, link, 0, &task->hash)) {
        engine_starve(m, "no memory to ask for an input of an array");
    }
}

void gates_ask_tasks(struct moot *m, struct elements *elements)
{
    for (uint32_t i = 0; i < elements->link_count; i++) {
        if (elements->links[i]->single) {
            ask_task(m, elements->links[i]);
        }
    }
}

static bool has_spawned(const struct moot *m, uint32_t rank,
                        const struct elements *elements)
{
    return members_is_here(m, rank) &&
           core_knows_holder(m->core, task_entry(elements->task), rank);
}

/* Whether its home is to be relied on to send it, or this rank to make it. */
static bool is_to_come(const struct moot *m, const struct element_link *link,
                       uint32_t slot, uint32_t home)
{
    if (home == m->group.rank) {
        return elements_block(link->from, link_place(link, slot)) != NULL;
    }
    return link_is_sent(link, slot) && !m->schedule.parts.dropped &&
           has_spawned(m, home, link->from) && has_spawned(m, home, link->by);
}

/* This rank has had nothing to run for so long that it asks for what it awaits.  The
 * inverse of a program's map may leave it out at the home; so what has not come is
 * asked for, too, but not before the input's array has ended. */
static void look_at_awaited(struct moot *m, struct element_link *link, uint32_t slot)
{
    const uint32_t home = elements_home_of(&link->from->spread, &link->from->homes,
                                           link_place(link, slot));
    const bool comes = is_to_come(m, link, slot, home);
    if (comes && (home == m->group.rank || array_map_is_sure(link->mapping.map))) {
        return;
    }
    const bool asks = !comes || link->from->task->known;
    if (asks && home != m->group.rank && has_spawned(m, home, link->from)) {
        ask(m, link, slot, home);
    } else {
        seek(m, link, slot);
    }
}

/* No member has it: it is made again, by a candidate if this rank is none. */
static void look_at_lost(struct moot *m, struct element_link *link, uint32_t slot)
{
    const struct task *end = link->from->task;
    const uint64_t place = link_place(link, slot);
    if (element_again(m, link->from, place)) {
        link->sources[slot].state = SOURCE_AGAIN;
    } else if (end->status == MOOT_OK && !link->from->once &&
               !elements_may_run(m, &link->from->homes)) {
        ask(m, link, slot, UINT32_MAX);
    } else {
        link_hear(m, link, place, SOURCE_FAILED,
                  end->status != MOOT_OK
                      ? story_of(end)
                      : payload_copy(lost_story, sizeof(lost_story) - 1));
    }
}

/* Does what is to be done about a source that is not here. */
static void look_at_source(struct moot *m, struct element_link *link, uint32_t slot,
                           bool idle)
{
    const struct element_source *source = &link->sources[slot];
    if (source->state == SOURCE_LARGE) {
        ask(m, link, slot, source->rank);
    } else if (source->state == SOURCE_LOST) {
        look_at_lost(m, link, slot);
    } else if (source->state == SOURCE_ELSEWHERE) {
        seek(m, link, slot);
    } else if (source->state == SOURCE_AWAITED && idle) {
        look_at_awaited(m, link, slot);
    }
}

/* True: it asks for something now.  Ranks may have spawned arrays in other orders: one
 * that has asked before, and waits, does not keep those behind it from asking. */
static bool look_at(struct moot *m, struct element_link *link, bool idle)
{
    const uint32_t own = link->schedule->own_from;
    const bool was_gated = link->gated;
    bool asks = false, sought = false;
    for (uint32_t slot = 0; slot < link->source_count; slot++) {
        const struct element_source *source = &link->sources[slot];
        const uint8_t was = source->state;
        if (slot >= own || source->waiter != 0) {
            look_at_source(m, link, slot, idle);
        }
        asks |= source->state == SOURCE_ASKED && was != SOURCE_ASKED;
        sought |= source->state == SOURCE_SOUGHT && was != SOURCE_SOUGHT;
    }
    if (sought) {
        parts_seek(m, link);
    }
    return asks || sought || (link->gated && !was_gated);
}

int gates_keep(struct moot *m, struct element_link *link)
{
    link->kept = task_ticket_begin(m, link_kept_task(link));
    return link->kept ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* Lets go what an array takes, once all of its elements have ended, and none is being
 * made again; false: not yet. */
static bool let_go(struct moot *m, struct elements *elements)
{
    const void *entry = task_entry(elements->task);
    if ((entry != NULL && !core_array_ended(entry)) || elements->again > 0) {
        return false;
    }
    for (uint32_t i = 0; i < elements->link_count; i++) {
        struct element_link *link = elements->links[i];
        if (link->kept && link_kept_task(link) != NULL) {
            task_ticket_end(m, link_kept_task(link));
        }
        link->kept = false;
        link->task = NULL;
    }
    element_again_let_go(m, elements);
    links_close(m, elements);
    return true;
}

/* Arrays end in the order in which they were spawned, mostly: the oldest is looked at,
 * and of the others a few in turn. */
static void let_some_go(struct moot *m)
{
    while (m->tasks.taking != NULL && let_go(m, m->tasks.taking)) {
    }
    struct elements *elements = NULL;
    for (int i = 0;
         i < LOOKS_AT_ENDS && (elements = links_next(m, LINKS_FOR_ENDS)) != NULL; i++) {
        (void)let_go(m, elements);
    }
    task_tickets_settle(m);
}

static void look_at_array(struct moot *m, struct elements *elements)
{
    struct gate_watch *watch = &m->compose.gates;
    gates_ask_tasks(m, elements);
    const uint64_t here = links_waiting(elements);
    for (uint32_t i = 0; here > 0 && i < elements->link_count; i++) {
        struct element_link *link = elements->links[i];
        watch->asks |= link->from != NULL && look_at(m, link, !watch->asks);
    }
    watch->waiting += links_idle(elements);
}

/* The oldest array first: others may come with what that one lacks.  A few at a time:
 * who has thousands does not see the wire before it has gone through them.  Twice as
 * many each time, so that there is an end to it. */
static void pass_on(struct moot *m)
{
    struct gate_watch *watch = &m->compose.gates;
    struct elements *elements = NULL;
    for (uint32_t i = 0;
         i < watch->looks && (elements = links_next(m, LINKS_FOR_IDLE)) != NULL; i++) {
        look_at_array(m, elements);
    }
    watch->looks = watch->looks < LOOKS_AT_ONCE_MAX ? 2 * watch->looks : watch->looks;
    watch->passes = elements != NULL;
    const uint32_t reads = reads_waiting(m);
    if (!watch->passes && (watch->waiting != m->schedule.waiting_told ||
                           reads != m->schedule.reads_told)) {
        elements_say_waiting(m, watch->waiting, reads);
    }
}

static void begin_pass(struct moot *m)
{
    struct gate_watch *watch = &m->compose.gates;
    watch->news = m->tasks.element_news;
    watch->waiting = stretches_waiting(m);
    watch->asks = false;
    watch->passes = true;
    watch->looks = 1;
    links_first(m, LINKS_FOR_IDLE);
}

/* Looks at what there is news of. */
static void look_at_news(struct moot *m)
{
    struct element_link *link;
    for (int i = 0; i < LOOKS_AT_NEWS && (link = link_to_look(m)) != NULL; i++) {
        if (link->dealt && link->from != NULL) {
            parts_wish(m, link);
        }
        if (link->single) {
            ask_task(m, link);
        } else if (link->from != NULL && links_waiting(link->by) > 0) {
            (void)look_at(m, link, false);
        }
    }
}

static bool is_idle(struct moot *m, uint64_t now_ns)
{
    struct gate_watch *watch = &m->compose.gates;
    const bool busy = ready_any(m) || m->schedule.running > m->schedule.kernel_waits;
    if (busy || watch->ends != m->engine.end_count) {
        watch->ends = m->engine.end_count;
        watch->since_ns = now_ns;
        watch->passes = false;
    }
    struct core_timers timers;
    return core_timers_look(m->core, m->group.rank, &timers) &&
           now_ns - watch->since_ns >= timers.ask_delay_ns;
}

/* A rank of which no array takes another one reads elements for others all the same. */
static void look_at_view(struct moot *m)
{
    uint64_t view_id;
    uint64_t epoch;
    core_view(m->core, &epoch, &view_id);
    if (epoch != m->compose.gates.epoch) {
        m->compose.gates.epoch = epoch;
        elements_go_on(m);
        parts_send_again(m);
        reads_seek_again(m);
    }
}

void gates_look(struct moot *m, uint64_t now_ns)
{
    if (m->spawn.early != NULL) {
        reads_take_early(m);
    }
    if ((m->tasks.taking == NULL && m->compose.reads.seeks == NULL &&
         m->compose.stretches == NULL) ||
        m->engine.fatal != 0) {
        return;
    }
    look_at_view(m);
    reads_look(m);
    stretches_look(m);
    let_some_go(m);
    look_at_news(m);
    struct gate_watch *watch = &m->compose.gates;
    if (is_idle(m, now_ns) && !watch->passes) {
        watch->since_ns = now_ns; /* and again in as long */
        begin_pass(m);
    }
    if (watch->passes && watch->news != m->tasks.element_news) {
        begin_pass(m); /* what was counted may wait no more */
    }
    if (watch->passes) {
        pass_on(m);
    }
}
