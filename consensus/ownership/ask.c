/* ask.c - wanting a result: needs, motions, pulls.
 *
 * T3: who needs a result and has not got it sends the chair a motion.  T3a: it holds
 * the motion back while a push can be expected, because ranks that agree are pushed
 * what they need (ask_queue.c).  Whatever nobody can know to push is asked for at once.
 *
 * T1a, for tasks that nobody waits for: a plain task's chair yields it unasked for only
 * when the chair has closed, so that is when its holders tell it, and only about the
 * tasks that gossip does not say it holds.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/state/state.h"

#include <assert.h>

/* --- Needs ----------------------------------------------------------------------- */

void ask_add_need(struct core *core, struct task_record *task, enum want want)
{
    assert(want == WANT_DONE || want == WANT_DATA);
    release_touch(core, task);
    if (want == WANT_DATA) {
        task->needs_data++;
    } else {
        task->needs_done++;
    }
    core->ownership.open_needs++;
}

HOT void ask_drop_need(struct core *core, struct task_record *task, enum want want)
{
    uint32_t *needs = want == WANT_DATA ? &task->needs_data : &task->needs_done;
    assert(*needs > 0 && core->ownership.open_needs > 0);
    (*needs)--;
    core->ownership.open_needs--;
    bool tells = task->owed && task->held; /* its chair is to know of a holder (T1a) */
    if (task->task_ext != NULL && task->needs_data == 0) {
        spread_given_up(core, task);
    }
    if (task->needs_done + task->needs_data == 0 && !tells) {
        ask_queue_forget(task);
        release_count(core, task);
    }
}

/* The waits are kept in case nobody holds the task: then all that is needed by the same
 * waits, and no others, ends together. */
void ask_note_wait(struct core *core, struct task_record *task, uint64_t wait)
{
    bool more = task->needs_done + task->needs_data > 0;
    if (task->held) {
        return;
    }
    struct task_ext *ext = task_ext_get(core, task);
    uint64_t waits = waits_with(more ? ext->waits : WAITS_NONE, wait);
    ext->waits_grew |= waits != ext->waits && !MUTANT(WAITUNTOLD);
    ext->waits = waits;
}

static uint64_t bound_of(struct core *core, const struct core_event *event,
                         const struct task_record *task)
{
    if (!event->u.need.by_task) {
        return MUTANT(NOLACK) && task->position == 0 ? NEED_NONE : task->position;
    }
    const struct task_record *waiter = table_find(core, &event->u.need.waiter);
    return waiter != NULL ? waiter->need : NEED_NONE;
}

int ask_need(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_NEED);
    enum want want = event->u.need.want;
    if (want != WANT_DONE && want != WANT_DATA) {
        return MOOT_ERR_INVALID;
    }
    if (scope_is_dropped(core, &event->hash)) {
        return MOOT_ERR_SCOPE_CLOSED;
    }
    if (reclaim_once_is_gone(core, &event->hash)) {
        return MOOT_ERR_RESULT_LOST;
    }
    struct task_record *task = event_enter(core, event);
    if (task == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    task->lane_needs++;
    ask_note_wait(core, task, event->u.need.wait);
    ask_add_need(core, task, want);
    if (!event->u.need.by_task) {
        core->ownership.last_wait = task;
        graph_lane_waits(core, task);
    }
    bool here = want == WANT_DATA ? task->have == CORE_HAVE_DATA
                                  : task->have != CORE_HAVE_NOTHING;
    if (here) {
        struct core_output *output = out_add(core, CORE_OUT_DONE, task);
        if (output != NULL) {
            output->u.done.data = task->have == CORE_HAVE_DATA;
        }
        return MOOT_OK;
    }
    task->verdict = false;
    demand_pass_on(core, task, bound_of(core, event, task), false);
    ask_consider(core, task);
    return MOOT_OK;
}

bool ask_wants(const struct task_record *task)
{
    return task->needs_done + task->needs_data > 0 && !task_satisfied(task);
}

/* --- Motions and pulls ----------------------------------------------------------- */

static enum want present_want(const struct task_record *task)
{
    if (task->needs_data > 0) {
        return WANT_DATA;
    }
    return task->needs_done > 0 ? WANT_DONE : WANT_NOTHING;
}

static uint64_t waits_of(const struct task_record *task)
{
    return task->held ? WAITS_NONE : task_ext(task)->waits;
}

/* They are said with what follows. */
static void tell_waits(struct task_record *task)
{
    if (task->task_ext != NULL) {
        task->task_ext->waits_grew = false;
    }
}

/* The program of a newcomer begins behind it, and never comes to it (V5). */
static bool stands_before(const struct core *core, const struct task_record *task,
                          uint32_t rank)
{
    return task->position != 0 && !MUTANT(BEGINSMUTE) &&
           task->lane_position <= peer_begins(core, rank, task->lane);
}

/* A chair need not wait for its own program: the spawn was conditional; or this rank
 * leaves, and with it perhaps the only one that can run the task.  In strict mode it
 * waits for ever, unless it has begun behind the task. */
static bool hints(const struct core *core, const struct task_record *task, uint32_t to)
{
    if (core->options.mode == CORE_STRICT) {
        return stands_before(core, task, to);
    }
    return (task->flags & CORE_TASK_HINT) != 0 || core->membership.leave.going;
}

/* The message is whole before the note is put out: outputs move when more are added. */
static bool send_motion(struct core *core, struct task_record *task, uint32_t to,
                        enum want want, bool final)
{
    assert(to != core->rank && (!final || !task->held));
    struct message *message = out_send(core, to, MESSAGE_MOTION, task);
    if (message == NULL) {
        return false;
    }
    const struct message_spec *spec = task->held ? spec_to_send(task) : NULL;
    message->u.motion = (struct message_motion){
        .holds = task->held,
        .hint = task->held && hints(core, task, to),
        .final = final,
        .want = want,
        .need = want == WANT_NOTHING ? NEED_NONE : task->need,
        .len = core->gossip.roll_len,
        .wait = waits_of(task),
        .scope = task->scope != NULL ? task->scope->hash : (moot_hash){{0}},
        .candidates = task->candidates, /* known by spec, or by referral */
        .spec = spec != NULL && !roll_knows_holder(core, task, to) ? spec : NULL,
    };
    tell_waits(task);
    core->stats.motions_sent++;
    out_note(core, CORE_POINT_MOTION_SENT, task, to, EVIDENCE_NONE);
    return true;
}

/* This rank is the chair itself. */
static void ask_oneself(struct core *core, struct task_record *task)
{
    const struct message_motion motion = {
        .holds = task->held,
        .hint = (task->flags & CORE_TASK_HINT) != 0,
        .want = present_want(task),
        .need = task->need,
        .len = core->gossip.roll_len,
        .wait = waits_of(task),
    };
    tell_waits(task);
    requests_note(core, task, core->rank, &motion);
    agenda_add(core, task, AGENDA_TEST);
}

void ask_send_motion(struct core *core, struct task_record *task, uint32_t to)
{
    assert(task->own == CORE_OWN_NONE && !task->owed);
    if (to == core->rank) {
        ask_oneself(core, task);
        return;
    }
    assert(!task->pending);
    enum want want = present_want(task);
    if (!send_motion(core, task, to, want, false)) {
        return;
    }
    task->asked = true;
    task->asked_want = want & WANT_MASK;
    task->at.asked_need = want == WANT_NOTHING ? NEED_NONE : task->need;
}

static void pull(struct core *core, struct task_record *task)
{
    assert(task->have == CORE_HAVE_BARE && task->owner != core->rank);
    if (!task->pulled && !MUTANT(NOPULL) &&
        out_send(core, spread_source(core, task), MESSAGE_PULL, task) != NULL) {
        task->pulled = true;
        core->stats.pulls_sent++;
    }
}

/* T3a: what nobody can know to push.  Of what was there before a newcomer all has been
 * pushed to whom it was to be. */
/* A task that this rank took in for another to run stands on no roll, so nobody can
 * know that it waits here: such reads a large result of an element (A9). */
static bool is_for_another(const struct core *core, const struct task_record *task)
{
    return (task->flags & CORE_TASK_ADOPTED) != 0 && task->candidates != NULL &&
           !rankset_has(task->candidates, core->rank) && !MUTANT(TAKENWAITS);
}

static bool asks_at_once(const struct core *core, const struct task_record *task)
{
    const bool old = task->position != 0 && task->position <= core->gossip.before &&
                     !MUTANT(BEFOREWAITS);
    return !task->held || old || is_for_another(core, task) || MUTANT(ASKANYWAY) ||
           (task->flags & (CORE_TASK_ONCE | CORE_TASK_NESTED | CORE_TASK_HINT)) != 0;
}

HOT void ask_consider(struct core *core, struct task_record *task)
{
    if (!ask_wants(task) || task->own != CORE_OWN_NONE) {
        return;
    }
    if (task_ends_with(task) != 0) {
        verdict_end_wait(core, task);
        return;
    }
    if (task->chair == NOBODY) {
        return; /* a newcomer, which is in no view yet */
    }
    if (task->have == CORE_HAVE_BARE && rankset_has(&core->members, task->owner)) {
        pull(core, task);
        return; /* an owner that has left is not asked: the chair knows who has them */
    }
    bool told = task->asked && task->asked_want >= present_want(task) &&
                task->at.asked_need <= task->need && !task_ext(task)->waits_grew;
    if (told) {
        return;
    }
    if (task->chair == core->rank) {
        ask_queue_forget(task); /* it had another chair */
        task->asked = true;
        task->asked_want = present_want(task) & WANT_MASK;
        task->at.asked_need = task->need;
        ask_oneself(core, task);
    } else if (task->asked) {
        ask_send_motion(core, task, task->chair);
    } else if (asks_at_once(core, task)) {
        ask_queue_owe(core, task); /* a spawn and its wait share one motion */
    } else if (!await_tells(core, task)) {
        ask_queue_add(core, task);
    }
}

/* A wait was given up, and no other is left: or its chair would go on as if somebody
 * waited, and decide when all rest that nobody holds it. */
static void take_back(struct core *core, struct task_record *task)
{
    bool open = task->asked && !task->held && task->own == CORE_OWN_NONE &&
                task->have == CORE_HAVE_NOTHING && !task->verdict &&
                task->needs_done + task->needs_data == 0;
    if (!open || MUTANT(GIVENUPASKS)) {
        return;
    }
    task->asked = false;
    if (task->chair == core->rank) {
        requests_take_back(core, task, core->rank);
    } else {
        (void)send_motion(core, task, task->chair, WANT_NOTHING, false);
    }
}

int ask_unneed(struct core *core, const struct core_event *event)
{
    assert(event->type == CORE_EV_UNNEED);
    enum want want = event->u.need.want;
    struct task_record *task = event_find(core, event);
    if (task == NULL && scope_is_dropped(core, &event->hash)) {
        return MOOT_OK; /* its end was told with a verdict */
    }
    if (task == NULL || task->lane_needs == 0 ||
        (want == WANT_DATA ? task->needs_data : task->needs_done) == 0) {
        return MOOT_ERR_STATE;
    }
    task->lane_needs--;
    if (task->lane_needs == 0 && core->ownership.last_wait == task) {
        core->ownership.last_wait = NULL;
    }
    ask_drop_need(core, task, want);
    take_back(core, task);
    reclaim_news(core);
    return MOOT_OK;
}

/* --- Seeks and refers ---------------------------------------------------------- */

void ask_answer_seek(struct core *core, struct task_record *task, uint32_t seeker)
{
    assert(seeker != core->rank && seeker < core->size);
    (void)send_motion(core, task, seeker, WANT_NOTHING, !task->held);
}

/* A closed rank may still run the parent of a nested task, after a death a second time,
 * and spawn it then. */
bool ask_never_will_hold(const struct core *core, const struct task_record *task)
{
    bool nested = hash_has(&task->hash, MOOT_HASH_NESTED);
    return task->declined ||
           ((core->step.closed || scope_is_closed(core, task)) && !nested);
}

void ask_on_seek(struct core *core, uint32_t from, struct task_record *task)
{
    assert(from != core->rank && from < core->size);
    if (task->held || ask_never_will_hold(core, task)) {
        ask_answer_seek(core, task, from);
    } else if (!rankset_add(&task_ext_get(core, task)->seekers, from)) {
        core->broken = true;
    }
}

void ask_answer_seeks(struct core *core, struct task_record *task)
{
    for (uint32_t rank = rankset_next(&task_ext(task)->seekers, 0); rank != NOBODY;
         rank = rankset_next(&task_ext(task)->seekers, rank + 1)) {
        ask_answer_seek(core, task, rank);
    }
    if (task->task_ext != NULL) {
        rankset_release(&task->task_ext->seekers);
    }
}

void ask_answer_all_seeks(struct core *core)
{
    assert(core->step.closed);
    for (size_t i = 0; i < core->state.slot_count; i++) {
        struct task_record *task =
            !is_stub(core->state.slots[i]) ? core->state.slots[i] : NULL;
        if (task != NULL && (task->held || ask_never_will_hold(core, task))) {
            ask_answer_seeks(core, task);
        }
    }
}

void ask_on_refer(struct core *core, struct task_record *task,
                  const struct message_refer *refer)
{
    if (!task->finder || refer->candidates == NULL) {
        return;
    }
    if (!task_learn_candidates(core, task, refer->candidates)) {
        return;
    }
    agenda_add(core, task, AGENDA_ASK | AGENDA_CANCEL | AGENDA_TEST);
}

/* --- T1a ----------------------------------------------------------------------- */

static void sweep_towards(struct core *core, uint32_t rank)
{
    assert(core->step.closed && rank != core->rank);
    for (uint32_t i = 0; i < core->gossip.lane_count; i++) {
        const struct lane_record *lane = &core->gossip.lanes[i];
        for (uint64_t at = 0; at < lane->len; at++) {
            void *known = lane_known(lane, at + 1);
            const struct stub *stub = is_stub(known) ? known : NULL;
            if (stub != NULL &&
                (stub->chair != rank || roll_knows_place(core, stub->place, rank))) {
                continue;
            }
            struct task_record *task = stub_seen(core, known);
            bool pending = task != NULL && task->pending && MUTANT(LEAVEPENDING);
            if (task != NULL && task->chair == rank && !task->asked && !pending &&
                task->have == CORE_HAVE_NOTHING && task->own == CORE_OWN_NONE &&
                !task->lot && !task->owner_asked && /* it has ended */
                !roll_knows_holder(core, task, rank) &&
                (core->options.mode == CORE_REPAIR ||
                 stands_before(core, task, rank))) {
                /* A need that is held back may end before its motion goes out. */
                ask_queue_forget(task);
                ask_send_motion(core, task, rank);
            }
        }
    }
}

void ask_sweep(struct core *core)
{
    assert(core->step.closed && !close_reduce_is_on(core));
    FOR_MEMBERS(core, rank)
    {
        struct peer *peer = peer_of(core, rank);
        if (rank == core->rank || peer->swept || !peer->state.closed) {
            continue;
        }
        if (core->options.mode == CORE_REPAIR && !MUTANT(NOSWEEP)) {
            if (!roll_resolved(core, rank)) {
                continue;
            }
            sweep_towards(core, rank);
        } else if (core->options.mode == CORE_STRICT &&
                   peer_beginning(core, rank) != NULL) {
            sweep_towards(core, rank);
        }
        peer->swept = true;
    }
}

/* Who may not own it passes it on to those who may. */
static void tell_candidates(struct core *core, struct task_record *task)
{
    assert(task->held && task->candidates != NULL);
    FOR_MEMBERS(core, rank)
    {
        struct message *message =
            rankset_has(task->candidates, rank) && rank != task->chair
                ? out_send(core, rank, MESSAGE_RESOLVE, task)
                : NULL;
        if (message != NULL) {
            message->u.resolve.what = RESOLVE_TELL;
        }
    }
}

void ask_tell(struct core *core, struct task_record *task)
{
    if (task->held && task->candidates != NULL &&
        !rankset_has(task->candidates, core->rank)) {
        tell_candidates(core, task);
        return;
    }
    if (task->held && task->chair != core->rank && !task->asked && !task->lot &&
        task->have == CORE_HAVE_NOTHING && task->own == CORE_OWN_NONE) {
        ask_queue_forget(task);
        ask_send_motion(core, task, task->chair);
    }
}

bool ask_swept(const struct core *core)
{
    if (close_reduce_is_on(core)) {
        return core->termination.state_sent
            .closed; /* the census is made of messages alone */
    }
    FOR_MEMBERS(core, rank)
    {
        const struct peer *peer = peer_seen(core, rank);
        if (rank != core->rank && peer->state.closed && !peer->swept) {
            return false;
        }
    }
    return core->member_count == 1 || core->termination.state_sent.closed;
}

void ask_forget(struct core *core, struct task_record *task)
{
    assert(core->ownership.open_needs >= task->needs_done + task->needs_data);
    core->ownership.open_needs -= task->needs_done + task->needs_data;
    ask_queue_forget(task);
    if (core->ownership.last_wait == task) {
        core->ownership.last_wait = NULL;
    }
}
