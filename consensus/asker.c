/* asker.c - wanting a result: needs, motions, pulls.
 *
 * T3: who needs a result and has not got it sends the chair a motion.  T3a: it holds
 * the motion back while a push can be expected, because ranks that agree are pushed
 * what they need; so a need for a held, pure, plain task waits on the pending list
 * until this rank has sat idle for the ask delay (or a remote rank waits for it in
 * turn).  Whatever nobody can know to push is asked for at once.  Motions that are due
 * go out some with each turn, so that the first are on their way while more are said.
 *
 * T1a, for tasks that nobody waits for: a plain task's chair yields it unasked for only
 * when the chair has closed, so that is when its holders tell it, and only about the
 * tasks that gossip does not say it holds.
 */
#include "consensus/internal.h"

/* --- Needs ---------------------------------------------------------------------------
 */

void asker_add_need(struct core *core, struct task *task, enum want want)
{
    drop_touch(core, task);
    if (want == WANT_DATA) {
        task->needs_data++;
    } else {
        task->needs_done++;
    }
    core->open_needs++;
}

HOT void asker_drop_need(struct core *core, struct task *task, enum want want)
{
    uint32_t *needs = want == WANT_DATA ? &task->needs_data : &task->needs_done;
    assert(*needs > 0 && core->open_needs > 0);
    (*needs)--;
    core->open_needs--;
    bool tells = task->owed && task->held; /* its chair is to know of a holder (T1a) */
    if (task->needs_done + task->needs_data == 0 && !tells) {
        asker_forget_pending(core, task);
        drop_count(core, task);
    }
}

static uint64_t bound_of(const struct core *core, const struct core_event *event,
                         const struct task *task)
{
    if (!event->u.need.by_task) {
        return MUTANT(NOLACK) && task->position == 0 ? NEED_NONE : task->position;
    }
    const struct task *waiter = table_find(core, &event->u.need.waiter);
    return waiter != NULL ? waiter->need : NEED_NONE;
}

int asker_need(struct core *core, const struct core_event *event)
{
    enum want want = event->u.need.want;
    if (scope_is_dropped(core, &event->hash)) {
        return MOOT_ERR_SCOPE_CLOSED;
    }
    if (drop_once_is_gone(core, &event->hash)) {
        return MOOT_ERR_RESULT_LOST;
    }
    struct task *task = event_enter(core, event);
    if (task == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (want != WANT_DONE && want != WANT_DATA) {
        return MOOT_ERR_INVALID;
    }
    task->lane_needs++;
    asker_add_need(core, task, want);
    if (!event->u.need.by_task) {
        core->last_wait = task;
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
    if (task->chair == NOBODY && core->epoch > 0) {
        graph_verdict(core, task, MOOT_ERR_NO_CANDIDATE, NULL, 0);
        return MOOT_OK;
    }
    graph_demand(core, task, bound_of(core, event, task), false);
    asker_consider(core, task);
    return MOOT_OK;
}

int asker_unneed(struct core *core, const struct core_event *event)
{
    enum want want = event->u.need.want;
    struct task *task = event_find(core, event);
    if (task == NULL && scope_is_dropped(core, &event->hash)) {
        return MOOT_OK; /* its end was told with a verdict */
    }
    if (task == NULL || task->lane_needs == 0 ||
        (want == WANT_DATA ? task->needs_data : task->needs_done) == 0) {
        return MOOT_ERR_STATE;
    }
    task->lane_needs--;
    if (task->lane_needs == 0 && core->last_wait == task) {
        core->last_wait = NULL;
    }
    asker_drop_need(core, task, want);
    drop_news(core);
    return MOOT_OK;
}

/* --- The pending list ----------------------------------------------------------------
 */

static void append(struct task *list, struct task *task)
{
    task->at.prev = list->at.prev;
    task->at.next = list;
    task->at.prev->at.next = task;
    list->at.prev = task;
}

static void take_off(struct task *task)
{
    task->at.prev->at.next = task->at.next;
    task->at.next->at.prev = task->at.prev;
}

void asker_forget_pending(struct core *core, struct task *task)
{
    (void)core;
    task->owed = false;
    if (task->pending) {
        task->pending = false;
        take_off(task);
    }
}

/* T3a: the chair is known to hold it, so it owns it and will push it. */
static bool push_is_expected(const struct core *core, const struct task *task)
{
    return !task->finder && roll_knows_holder(core, task, task->chair);
}

/* A rank that is busy elsewhere still asks for what one of its lanes waits for,
 * directly or through an owned task whose input nobody is known to push: the lane may
 * be what the busy ones wait for. */
static uint64_t busy_due_ns(const struct core *core, const struct task *task)
{
    bool waited = task->lane_needs > 0 ||
                  (task->need != NEED_NONE && !push_is_expected(core, task));
    uint64_t delay = core->options.ask_delay_ns; /* a chair's push is not at issue */
    if (!waited || delay > CORE_NEVER / ASK_BUSY_FACTOR) {
        return CORE_NEVER;
    }
    return add_ns(task->at.since_ns, delay * ASK_BUSY_FACTOR + ASK_BUSY_NS);
}

/* It is asked for whether this rank is idle or not. */
static bool is_urgent(const struct task *task) { return task->owed || task->demanded; }

HOT static uint64_t delay_ns(const struct core *core, const struct task *task)
{
    uint64_t delay = timers_ask_delay_ns(core, task->chair);
    if (!push_is_expected(core, task)) {
        return delay;
    }
    /* It will come: there is no hurry. */
    delay = delay > core->options.ask_delay_ns ? delay : core->options.ask_delay_ns;
    bool consumed = task->needs_done + task->needs_data > task->lane_needs;
    uint64_t factor = consumed ? ASK_CONSUMER_FACTOR : ASK_WAITER_FACTOR;
    return delay > CORE_NEVER / factor ? CORE_NEVER : delay * factor;
}

static uint64_t urgent_due_ns(const struct core *core, const struct task *task)
{
    return task->owed ? task->at.since_ns
                      : add_ns(task->at.since_ns, delay_ns(core, task));
}

static uint64_t idle_due_ns(const struct core *core, const struct task *task)
{
    bool before = task->at.since_ns < core->idle_since_ns;
    return add_ns(before ? core->idle_since_ns : task->at.since_ns,
                  delay_ns(core, task));
}

static void sooner(uint64_t *due_ns, uint64_t other_ns)
{
    if (other_ns < *due_ns) {
        *due_ns = other_ns;
    }
}

/* Counts this task's motion in what is due; returns when it is. */
HOT static uint64_t motion_count_in(struct core *core, const struct task *task,
                                    struct pending_due *due)
{
    if (is_urgent(task)) {
        uint64_t urgent_ns = urgent_due_ns(core, task);
        sooner(&due->urgent_ns, urgent_ns);
        return urgent_ns;
    }
    uint64_t busy_ns = busy_due_ns(core, task);
    sooner(&due->busy_ns, busy_ns);
    if (!core->idle) {
        return busy_ns;
    }
    uint64_t idle_ns = idle_due_ns(core, task);
    sooner(&due->idle_ns, idle_ns);
    return idle_ns;
}

static void pend(struct core *core, struct task *task)
{
    if (!task->pending) {
        drop_touch(core, task);
        task->pending = true;
        task->at.since_ns = core->now_ns;
        append(&core->pending, task);
    }
    motion_count_in(core, task, &core->pending_due);
}

void asker_owe(struct core *core, struct task *task)
{
    drop_touch(core, task);
    task->owed = true;
    pend(core, task);
}

static bool wants_something(const struct task *task)
{
    return task->needs_done + task->needs_data > 0 && !task_satisfied(task);
}

/* This rank went idle: what is held back becomes due after the ask delay, not before.
 */
void asker_idle(struct core *core)
{
    core->pending_due.idle_ns = add_ns(core->now_ns, timers_least_ask_ns(core));
}

static void flush_one(struct core *core, struct task *task)
{
    bool send =
        (task->owed && task->have == CORE_HAVE_NOTHING) || wants_something(task);
    asker_forget_pending(core, task);
    bool chaired = task->chair != NOBODY; /* its last candidate may have left */
    if (send && chaired && task->own == CORE_OWN_NONE) {
        asker_send_motion(core, task, task->chair);
    }
}

static bool asks(const struct core *core)
{
    return core->asking.at.next != &core->asking;
}

bool asker_has_asked(const struct core *core)
{
    return core->pending.at.next == &core->pending && !asks(core);
}

/* What is due goes to the list of those that are asked for, in whatever state the rank
 * is by then. */
static void pick_due(struct core *core)
{
    core->pending_due = PENDING_NEVER;
    struct task *task = core->pending.at.next;
    while (task != &core->pending) {
        struct task *following = task->at.next;
        fetch_ahead(following, sizeof(*following));
        struct pending_due with = core->pending_due;
        if (motion_count_in(core, task, &with) <= core->now_ns) {
            take_off(task);
            append(&core->asking, task);
        } else {
            core->pending_due = with;
        }
        task = following;
    }
}

void asker_flush(struct core *core)
{
    if (!asks(core) && core->now_ns >= asker_deadline(core)) {
        pick_due(core);
    }
    for (int said = 0; asks(core) && said < SAYS_PER_TURN; said++) {
        struct task *task = core->asking.at.next;
        fetch_ahead(task->at.next, sizeof(*task));
        flush_one(core, task);
    }
}

uint64_t asker_deadline(const struct core *core)
{
    const struct pending_due *due = &core->pending_due;
    if (asks(core)) {
        return core->now_ns;
    }
    if (core->pending.at.next == &core->pending) {
        return CORE_NEVER;
    }
    uint64_t plain_ns = core->idle ? due->idle_ns : due->busy_ns;
    return due->urgent_ns < plain_ns ? due->urgent_ns : plain_ns;
}

/* --- Motions and pulls ---------------------------------------------------------------
 */

static enum want present_want(const struct task *task)
{
    if (task->needs_data > 0) {
        return WANT_DATA;
    }
    return task->needs_done > 0 ? WANT_DONE : WANT_NOTHING;
}

/* The message is whole before the note is put out: outputs move when more are added. */
static bool send_motion(struct core *core, struct task *task, uint32_t to,
                        enum want want, bool final)
{
    struct message *message = out_send(core, to, MESSAGE_MOTION, task);
    if (message == NULL) {
        return false;
    }
    bool portable = task->held && seldom(task)->spec != NULL;
    message->u.motion = (struct message_motion){
        .holds = task->held,
        .hint = task->held && (task->flags & CORE_TASK_HINT) != 0,
        .final = final,
        .want = want,
        .need = want == WANT_NOTHING ? NEED_NONE : task->need,
        .len = core->roll_len,
        .scope = task->scope != NULL ? task->scope->hash : (moot_hash){{0}},
        .candidates = task->candidates, /* known by spec, or by referral */
        .spec =
            portable && !roll_knows_holder(core, task, to) ? seldom(task)->spec : NULL,
    };
    core->stats.motions_sent++;
    out_note(core, CORE_POINT_MOTION_SENT, task, to, EVIDENCE_NONE);
    return true;
}

void asker_send_motion(struct core *core, struct task *task, uint32_t to)
{
    if (to == core->rank) {
        chair_local_ask(core, task);
        return;
    }
    enum want want = present_want(task);
    if (!send_motion(core, task, to, want, false)) {
        return;
    }
    task->asked = true;
    task->asked_want = (uint8_t)want;
    seldom_of(core, task)->asked_need = want == WANT_NOTHING ? NEED_NONE : task->need;
}

static void pull(struct core *core, struct task *task)
{
    if (!task->pulled && !MUTANT(NOPULL) &&
        out_send(core, task->owner, MESSAGE_PULL, task) != NULL) {
        task->pulled = true;
        core->stats.pulls_sent++;
    }
}

/* T3a: what nobody can know to push. */
static bool asks_at_once(const struct task *task)
{
    return !task->held || MUTANT(ASKANYWAY) ||
           (task->flags & (CORE_TASK_ONCE | CORE_TASK_NESTED | CORE_TASK_HINT)) != 0;
}

HOT void asker_consider(struct core *core, struct task *task)
{
    if (!wants_something(task) || task->own != CORE_OWN_NONE) {
        return;
    }
    if (task->chair == NOBODY) {
        if (core->epoch > 0 && !task->verdict) {
            graph_verdict(core, task, MOOT_ERR_NO_CANDIDATE, NULL, 0);
        }
        return;
    }
    if (task->have == CORE_HAVE_BARE && rankset_has(&core->members, task->owner)) {
        pull(core, task);
        return; /* an owner that has left is not asked: the chair knows who has them */
    }
    bool told = task->asked && task->asked_want >= present_want(task) &&
                seldom(task)->asked_need <= task->need;
    if (told) {
        return;
    }
    if (task->chair == core->rank) {
        task->asked = true;
        task->asked_want = (uint8_t)present_want(task);
        seldom_of(core, task)->asked_need = task->need;
        chair_local_ask(core, task);
    } else if (task->asked) {
        asker_send_motion(core, task, task->chair);
    } else if (asks_at_once(task)) {
        asker_owe(core,
                  task); /* with the turn: a spawn and its wait share one motion */
    } else {
        pend(core, task);
    }
}

/* --- Seeks and refers ---------------------------------------------------------- */

void asker_answer_seek(struct core *core, struct task *task, uint32_t seeker)
{
    (void)send_motion(core, task, seeker, WANT_NOTHING, !task->held);
}

/* A closed rank may still run the parent of a nested task, after a death a second time,
 * and spawn it then. */
bool asker_never_will_hold(const struct core *core, const struct task *task)
{
    bool nested = (task->hash.bytes[MOOT_HASH_BYTES - 1] & MOOT_HASH_NESTED) != 0;
    return task->declined || ((core->closed || scope_is_closed(core, task)) && !nested);
}

void asker_on_seek(struct core *core, uint32_t from, struct task *task)
{
    if (task->held || asker_never_will_hold(core, task)) {
        asker_answer_seek(core, task, from);
    } else if (!rankset_add(&seldom_of(core, task)->seekers, from)) {
        core->broken = true;
    }
}

void asker_answer_seeks(struct core *core, struct task *task)
{
    for (uint32_t rank = rankset_next(&seldom(task)->seekers, 0); rank != NOBODY;
         rank = rankset_next(&seldom(task)->seekers, rank + 1)) {
        asker_answer_seek(core, task, rank);
    }
    if (task->seldom != NULL) {
        rankset_release(&task->seldom->seekers);
    }
}

void asker_answer_all_seeks(struct core *core)
{
    for (size_t i = 0; i < core->slot_count; i++) {
        struct task *task = !is_stub(core->slots[i]) ? core->slots[i] : NULL;
        if (task != NULL && (task->held || asker_never_will_hold(core, task))) {
            asker_answer_seeks(core, task);
        }
    }
}

void asker_on_refer(struct core *core, struct task *task,
                    const struct message_refer *refer)
{
    if (!task->finder || refer->candidates == NULL) {
        return;
    }
    if (!task_learn_candidates(core, task, refer->candidates)) {
        return;
    }
    cancel_pass_on(core, task);
    if (task->chair == NOBODY) {
        graph_verdict(core, task, MOOT_ERR_NO_CANDIDATE, NULL, 0);
        return;
    }
    asker_consider(core, task);
}

/* --- T1a ----------------------------------------------------------------------- */

static void sweep_towards(struct core *core, uint32_t rank)
{
    for (uint32_t i = 0; i < core->lane_count; i++) {
        const struct lane *lane = &core->lanes[i];
        for (uint64_t at = 0; at < lane->len; at++) {
            void *known = lane_known(lane, at + 1);
            const struct stub *stub = is_stub(known) ? known : NULL;
            if (stub != NULL &&
                (stub->chair != rank || roll_knows_place(core, stub->place, rank))) {
                continue;
            }
            struct task *task = stub_seen(core, known);
            bool pending = task != NULL && task->pending && MUTANT(LEAVEPENDING);
            if (task != NULL && task->chair == rank && !task->asked && !pending &&
                task->have == CORE_HAVE_NOTHING && task->own == CORE_OWN_NONE &&
                !roll_knows_holder(core, task, rank)) {
                /* A need that is held back may end before its motion goes out. */
                asker_forget_pending(core, task);
                asker_send_motion(core, task, rank);
            }
        }
    }
}

void asker_sweep(struct core *core)
{
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
        }
        peer->swept = true;
    }
}

/* Who may not own it passes it on to those who may. */
static void tell_candidates(struct core *core, struct task *task)
{
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

void asker_tell(struct core *core, struct task *task)
{
    if (task->held && task->candidates != NULL &&
        !rankset_has(task->candidates, core->rank)) {
        tell_candidates(core, task);
        return;
    }
    if (task->held && task->chair != core->rank && task->chair != NOBODY &&
        !task->asked && task->have == CORE_HAVE_NOTHING && task->own == CORE_OWN_NONE) {
        asker_forget_pending(core, task);
        asker_send_motion(core, task, task->chair);
    }
}

bool asker_swept(const struct core *core)
{
    if (census_is_on(core)) {
        return core->state_sent.closed; /* the census is made of messages alone */
    }
    FOR_MEMBERS(core, rank)
    {
        const struct peer *peer = peer_seen(core, rank);
        if (rank != core->rank && peer->state.closed && !peer->swept) {
            return false;
        }
    }
    return core->member_count == 1 || core->state_sent.closed;
}
