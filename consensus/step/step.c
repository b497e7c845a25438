/* step.c - the step: one event in, outputs out.
 *
 * Everything the core does happens inside core_step, on one thread: take the event to
 * its room, and let the rooms react to what it changed (a lane that blocked is
 * evidence, knowledge that grew allows pushes).  What is due by the clock, and what
 * can be said once for many events, waits for the next TICK, which an event makes due
 * at once, or, if it is one of the many by which ranks that agree go on, soon: a host
 * that steps a hundred events in a turn pays for one look at the clock's work.  No room
 * calls back into the step.
 */
#include "consensus/step/step_private.h"

#include "consensus/elements/elements.h"
#include "consensus/gossip/gossip.h"
#include "consensus/meeting/meeting.h"
#include "consensus/membership/membership.h"
#include "consensus/ownership/ownership.h"
#include "consensus/reclaim/reclaim.h"
#include "consensus/signature/signature.h"
#include "consensus/snapshot/snapshot.h"
#include "consensus/state/state.h"
#include "consensus/termination/termination.h"
#include "proto/copy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- Making and freeing ---------------------------------------------------------- */

static uint32_t first_size(const struct core_options *options)
{
    bool told = options->join_uid != 0 && options->first_size != 0;
    return told ? options->first_size : options->size;
}

static bool asks_sanely(const struct core_options *options)
{
    return options->joinable && first_size(options) <= options->size &&
           options->join_rank >= first_size(options) &&
           options->join_rank < LIMIT_RANKS;
}

static bool options_are_sane(const struct core_options *options)
{
    bool joins = options->join_uid != 0;
    return options->size >= 1 && options->size <= LIMIT_RANKS &&
           (joins || options->rank < options->size) && options->uids != NULL &&
           (joins || options->epoch >= 1) && options->voters >= 1 &&
           options->voters <= LIMIT_VOTERS && options->mode <= CORE_TRUST &&
           (!joins || asks_sanely(options)) &&
           (!options->boundary || options->joinable) &&
           options->entry_bytes >= CORE_ENTRY_BYTES &&
           options->entry_bytes <= CORE_ENTRY_BYTES_MAX;
}

static bool begin_members(struct core *core, const struct core_options *options)
{
    assert(core->state.known_count == 0 && core->size == 0);
    if (!core_make_room(core, options->size)) {
        return false;
    }
    for (uint32_t rank = 0; rank < core->size; rank++) {
        const bool own =
            options->uids[rank] == options->join_uid; /* not before a view */
        peer_name(core, rank, own ? 0 : options->uids[rank],
                  options->hosts != NULL ? options->hosts[rank] : 0);
        if (options->join_uid == 0 && !rankset_add(&core->members, rank)) {
            return false;
        }
    }
    core->options.uids = NULL; /* the caller's arrays need not outlive the call */
    core->options.hosts = NULL;
    return membership_begin(core, first_size(options));
}

static bool begin_rooms(struct core *core, const struct core_options *options)
{
    state_begin(core);
    gossip_begin(core);
    ownership_begin(core);
    reclaim_begin(core);
    core->step.turn_due_ns = CORE_NEVER;
    if (!begin_members(core, options) || !elements_begin(core, first_size(options))) {
        return false;
    }
    if (core->epoch > 0) {
        disseminate_enter(core);
    }
    return lane_enter(core, 0) != NULL;
}

struct core *core_new(const struct core_options *options)
{
    if (!options_are_sane(options)) {
        return NULL;
    }
    struct core *core = calloc(1, sizeof(*core));
    if (core == NULL) {
        return NULL;
    }
    bool joins = options->join_uid != 0;
    core->options = *options;
    if (core->options.direct_max == 0) {
        core->options.direct_max = PEERS_ALL_MAX;
    }
    core->rank = joins ? NOBODY : options->rank;
    core->uid = joins ? options->join_uid : options->uids[options->rank];
    core->epoch = joins ? 0 : options->epoch;
    if (!memory_spare(core) || !begin_rooms(core, options)) {
        core_free(core);
        return NULL;
    }
    return core;
}

void core_free(struct core *core)
{
    if (core == NULL) {
        return;
    }
    roll_release(core);
    scope_release_all(core);
    table_release(core);
    elements_end(core);
    close_reduce_reset(core);
    membership_end(core);
    signature_end(core);
    meeting_end(core);
    snapshot_end(core);
    reclaim_release(core);
    ownership_end(core);
    gossip_end(core);
    state_end(core);
    rankset_release(&core->members);
    free(core);
}

/* --- Events that change a lane, a scope, the rank -------------------------------- */

static int on_lane(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_LANE);
    struct lane_record *lane = lane_enter(core, event->u.lane.lane);
    if (lane == NULL) {
        return core->broken ? MOOT_ERR_NO_MEMORY : MOOT_ERR_LIMIT;
    }
    lane->state = event->u.lane.state;
    return MOOT_OK;
}

static int on_task_wait(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_TASK_WAIT);
    graph_task_waits(core, event->u.task_wait.waiting);
    return MOOT_OK;
}

COLD static int on_close(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_CLOSE || event->type == CORE_EV_LEAVE);
    gossip_end_lanes(core);
    core->step.closed = true;
    core->step.exit_code = event->u.close.exit_code;
    ask_answer_all_seeks(core);
    scope_on_rank_close(core);
    meeting_close(core);
    return MOOT_OK;
}

COLD static int on_leave(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_LEAVE);
    int error = leave_begin(core);
    return error == MOOT_OK ? on_close(core, event) : error;
}

COLD static int on_unstarted(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_UNSTARTED);
    struct task_record *task = event_find(core, event);
    if (task == NULL || task->own != CORE_OWN_RUNNING ||
        !core->membership.leave.going) {
        return MOOT_ERR_STATE;
    }
    leave_on_unstarted(core, task);
    return MOOT_OK;
}

COLD static int on_decline(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_DECLINE);
    if (scope_is_dropped(core, &event->hash)) {
        return MOOT_OK;
    }
    struct task_record *task = event_enter(core, event);
    if (task == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (task->held && (task->flags & CORE_TASK_ADOPTED) == 0) {
        return MOOT_ERR_STATE;
    }
    core->step.any_declined = true;
    task->declined = true; /* of an adopted task it says no more than it is worth */
    ask_answer_seeks(core, task);
    agenda_add(core, task, AGENDA_TEST);
    return MOOT_OK;
}

static int on_done(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_DONE);
    struct task_record *task = event_find(core, event);
    if (task == NULL || task->own != CORE_OWN_RUNNING) {
        return MOOT_ERR_STATE;
    }
    task->leaves = event->u.done.leaves;
    return graph_done(core, task, event->u.done.status, event->u.done.size);
}

COLD static int on_dead(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_DEAD);
    uint32_t rank = event->u.dead.rank;
    if (!peer_is_named(core, rank) || rank == core->rank) {
        return MOOT_ERR_INVALID;
    }
    if (!core->membership.large && !detector_certifies(core, rank)) {
        return MOOT_ERR_STATE;
    }
    struct rankset dead = {0};
    bool good = rankset_add(&dead, rank) && detector_certify(core, &dead);
    rankset_release(&dead);
    return good ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

COLD static int on_cancel(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_CANCEL);
    if (scope_is_dropped(core, &event->hash) ||
        reclaim_once_is_gone(core, &event->hash)) {
        return MOOT_OK; /* it has ended */
    }
    struct task_record *task = event_enter(core, event);
    if (task == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    elements_cancel_begin(core, task);
    return MOOT_OK;
}

/* --- The step -------------------------------------------------------------------- */

HOT static int dispatch(struct core *core, const struct core_event *event)
{
    switch (event->type) {
    case CORE_EV_REGISTER:
        return event->u.reg->array != NULL ? elements_register(core, event)
                                           : graph_register(core, event);
    case CORE_EV_PRUNED:
        return stub_register(core, event->u.pruned.stubs, event->u.pruned.count);
    case CORE_EV_NEED:
        return ask_need(core, event);
    case CORE_EV_UNNEED:
        return ask_unneed(core, event);
    case CORE_EV_AWAIT:
        return await_begin(core, event);
    case CORE_EV_UNAWAIT:
        return await_end(core, event);
    case CORE_EV_LANE:
        return on_lane(core, event);
    case CORE_EV_TASK_WAIT:
        return on_task_wait(core, event);
    case CORE_EV_DONE:
        return on_done(core, event);
    case CORE_EV_ELEMENTS:
        return elements_ended(core, event);
    case CORE_EV_ELEMENTS_WAIT:
        return elements_wait(core, event);
    case CORE_EV_DECLINE:
        return on_decline(core, event);
    case CORE_EV_CANCEL:
        return on_cancel(core, event);
    case CORE_EV_SCOPE_CLOSE:
        return scope_on_close(core, &event->hash);
    case CORE_EV_SCOPE_RELEASE:
        return scope_on_release(core, &event->hash);
    case CORE_EV_MEET:
        return meeting_arrive(core, &event->hash, event->u.meet.words,
                              event->u.meet.words_size);
    case CORE_EV_SNAPSHOT:
        return snapshot_ask(core, event->u.snapshot.name, event->u.snapshot.name_size);
    case CORE_EV_PREPARED:
        return snapshot_prepared(core, event);
    case CORE_EV_COMMITTED:
        return snapshot_committed(core, event);
    case CORE_EV_RELOAD:
        return meeting_come_to_reload(core, &event->hash, event->u.reload.generation);
    case CORE_EV_MARKED:
        return meeting_marked(core, event->u.marked.generation, event->u.marked.status);
    case CORE_EV_CLOSE:
        return on_close(core, event);
    case CORE_EV_LEAVE:
        return on_leave(core, event);
    case CORE_EV_UNSTARTED:
        return on_unstarted(core, event);
    case CORE_EV_CRASH:
        leave_on_accept(core); /* if it leaves, it hands that on, too */
        return crash_on_event(core, event);
    case CORE_EV_DEAD:
        return on_dead(core, event);
    case CORE_EV_SIGNATURE:
        return signature_give(core, event->u.signature.step, &event->hash);
    case CORE_EV_RECV:
        return receive_event(core, event);
    case CORE_EV_TICK:
        return MOOT_OK;
    }
    return MOOT_ERR_INVALID;
}

/* BLOCKED: no lane is about to spawn.  Running kernels do not count. */
static bool lanes_blocked(const struct core *core)
{
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        if (core->gossip.lanes[i].state == CORE_LANE_RUNNING) {
            return false;
        }
    }
    return true;
}

/* Whether this rank has come to rest. */
static bool see_what_changed(struct core *core)
{
    bool was_blocked = core->step.blocked,
         was_closed_told = core->termination.state_sent.closed;
    core->step.blocked = lanes_blocked(core);
    bool idle = core->step.blocked && elements_let_rest(core);
    if (core->step.blocked && !was_blocked) {
        roll_resolve(core);
    }
    bool rests = idle && !core->step.idle;
    if (rests) {
        core->step.idle_since_ns = core->now_ns;
        ask_queue_idle(core);
        elements_stir(core);
        termination_look_again(core);
    }
    core->step.idle = idle;
    if (core->membership.settled && !core->step.settled) {
        elements_stir(core); /* some may be given now */
    }
    core->step.settled = core->membership.settled;
    if (core->step.closed && !was_closed_told) {
        chair_retest_all(core);
    } else if (core->step.blocked && !was_blocked && !MUTANT(NORETEST)) {
        chair_retest_passed(core);
    }
    uint32_t of;
    if (gossip_take_news(core, &of)) {
        graph_push_to_holders(core, of);
        elements_stir(core);
        reclaim_news(core);
    }
    agenda_work_off(core);
    return rests;
}

HOT static void do_what_is_due(struct core *core)
{
    assert(agenda_is_empty(core) && !core->termination.adjourned);
    core->step.turn_due_ns = CORE_NEVER;
    chair_retest_due(core);
    agenda_work_off(core); /* what is asked for now goes out with this turn */
    detector_turn(core);
    leave_if_deserted(core);
    view_turn(core);
    meeting_turn(core);
    agenda_work_off(core);
    if (core->epoch == 0 || core->membership.fenced || core->broken) {
        return;
    }
    leave_turn(core);
    agenda_work_off(core);
    await_turn(core);
    agenda_work_off(core);
    ask_queue_flush(core);
    elements_turn(core);
    agenda_work_off(core);
    strict_turn(core);
    signature_turn(core);
    if (core->step.closed && core->reclaim.drop.leaving > 0) {
        /* What is on the roll is about to be known. */
    } else if (core->step.closed && close_reduce_is_on(core)) {
        close_reduce_turn(core);
    } else if (core->step.closed) {
        roll_want_of_closed(core);
        ask_sweep(core);
        agenda_work_off(core);
    }
    disseminate_turn(core);
    split_tell(core);
    announce_state(core);
    termination_turn(core);
    chair_yield_some(core);
    agenda_work_off(core);
    if (core->broken) { /* what is left on the agenda must not be forgotten */
        return;
    }
    scope_turn(core);
    reclaim_turn(core);
    agenda_work_off(core);
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

COLD static void begin(struct core *core)
{
    assert(!core->step.begun);
    core->step.begun = true;
    core->step.opened_ns =
        core->options.opened_ns != 0 ? core->options.opened_ns : core->now_ns;
    membership_start(core);
}

/* The usual events of ranks that agree, many in a turn, leave nothing to do at once but
 * what has a deadline of its own. */
static bool is_usual(const struct core_event *event)
{
    return event->type == CORE_EV_REGISTER || event->type == CORE_EV_PRUNED ||
           event->type == CORE_EV_DONE || event->type == CORE_EV_ELEMENTS ||
           (event->type == CORE_EV_RECV &&
            event->u.recv.message->type == MESSAGE_RESULT);
}

/* Nor does any of them block a lane, and where one runs this rank does not rest. */
static bool may_have_changed(const struct core *core, bool usual)
{
    return !usual || core->step.blocked || core->gossip.knowledge_grew;
}

/* Whether it makes the deadline sooner than that. */
static bool turn_is_due(struct core *core, bool usual)
{
    uint64_t due_ns = add_ns(core->now_ns, usual ? USUAL_TURN_NS : 0);
    core->step.turn_due_ns = earlier(core->step.turn_due_ns, due_ns);
    return !usual || core->reclaim.scope_work ||
           ask_queue_deadline(core) < add_ns(core->now_ns, CORE_USUAL_NS);
}

/* Memory put aside is to be as much as there is now to end. */
static void look_at_memory(struct core *core)
{
    if (!memory_is_short(core) || table_relieve(core)) {
        (void)memory_spare(core);
    }
}

/* A part of what must be true is looked at with every so many ticks (step_hold.c).  A
 * look costs some 25,000 instructions, so that is one for each tick, which is a
 * thousandth of what a tick does when it finds nothing. */
enum { TICKS_PER_LOOK = 32768 };

HOT int core_step(struct core *core, const struct core_event *event, uint64_t now_ns,
                  struct core_outputs *out)
{
    if (core->broken) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (event->type == CORE_EV_TICK && ++core->step.ticks % TICKS_PER_LOOK == 0) {
        step_hold_some(core, core->step.ticks / TICKS_PER_LOOK);
    }
    if (event->type == CORE_EV_TICK) {
        look_at_memory(core);
    }
    core->now_ns = now_ns > core->now_ns ? now_ns : core->now_ns;
    if (!core->step.begun) {
        begin(core);
    }
    out_clear(&core->state.out);
    if (core->membership.fenced) {
        *out = (struct core_outputs){NULL, 0, true};
        return MOOT_OK; /* removed: nothing that happens here matters to anyone */
    }
    bool cannot_fail = event->type == CORE_EV_TICK || event->type == CORE_EV_RECV;
    if (core->reclaim.scopes_dropping != NULL && cannot_fail) {
        scope_forget(core);
    }
    int error = dispatch(core, event);
    agenda_work_off(core);
    if (core->state.held_first != NULL) {
        receive_held(core);
    }
    const bool usual = is_usual(event);
    bool hurried = turn_is_due(core, usual);
    if (error == MOOT_OK && !core->broken && !core->termination.adjourned) {
        hurried |= may_have_changed(core, usual) && see_what_changed(core);
        if (event->type == CORE_EV_TICK) {
            do_what_is_due(core);
        }
    }
    assert(agenda_is_empty(core) || core->broken);
    if (core->broken) {
        error = MOOT_ERR_NO_MEMORY;
    }
    *out = (struct core_outputs){core->state.out.items, core->state.out.count, hurried};
    if (error != MOOT_OK) {
        out->count = 0;
    }
    return error;
}

HOT bool core_release(struct core *core, const moot_hash *hash, void *entry,
                      uint32_t readers)
{
    if (core->broken || core->membership.fenced) {
        return false;
    }
    struct task_record *task = entry != NULL ? entry : table_find(core, hash);
    if (task == NULL || task->own != CORE_OWN_NONE || task->have != CORE_HAVE_DATA ||
        (task->needs_data > 0 && !MUTANT(RELEASEWAITED)) ||
        (task->users > readers && !MUTANT(RELEASEREAD)) ||
        (task->entrusted && !MUTANT(RELEASEHEIR)) || task->handing ||
        task->status != MOOT_OK ||
        (!rankset_has(&core->members, task->owner) && /* ours may be the only copy */
         !MUTANT(RELEASELAST))) {
        return false;
    }
    assert(!task->pulled);
    task->have = CORE_HAVE_BARE;
    return true;
}

HOT uint64_t core_deadline(const struct core *core)
{
    if (core->broken || core->termination.adjourned || core->membership.fenced) {
        return CORE_NEVER;
    }
    if (core->epoch == 0) {
        return view_deadline(core); /* a newcomer does nothing but ask to be let in */
    }
    if (core->reclaim.scope_work || core->ownership.yields_ns != 0 ||
        core->meeting.from_due || core->step.turn_due_ns <= core->now_ns) {
        return core->now_ns;
    }
    uint64_t due = earlier(ask_queue_deadline(core), announce_deadline(core));
    due = earlier(due, earlier(core->step.turn_due_ns, await_deadline(core)));
    due = earlier(due, earlier(chair_deadline(core), termination_deadline(core)));
    due = earlier(due, earlier(detector_deadline(core), view_deadline(core)));
    due = earlier(due, elements_deadline(core));
    due = earlier(due, earlier(disseminate_deadline(core), reclaim_deadline(core)));
    return earlier(due, earlier(strict_deadline(core), signature_deadline(core)));
}
