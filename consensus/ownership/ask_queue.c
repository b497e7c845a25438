/* ask_queue.c - needs that are not asked for yet.
 *
 * Ranks that agree are pushed what they need (T3a), so a need of a held, pure, plain
 * task is kept here until this rank has sat idle for the ask delay, or, if a remote
 * rank waits for it in turn, until the delay has passed; longer if the push is known to
 * come. Motions that are due go out some with each turn, so that the first are on their
 * way while more are said.
 *
 * A rank that spawns faster than the others may hold thousands of needs when one of
 * them does not move for a moment: computes, or was robbed of its core.  Were all of
 * them asked for then, ranks that agree would exchange motions instead of results for
 * longer than the moment was.  Nearly all of these needs are early: their task takes
 * what this rank has yet to make or to get, so it has not run anywhere, and it is asked
 * for soon enough when what it takes is there.  So only what is not early is asked for
 * at once, which finds out whether the others still agree, and of the rest EARLY_ASKS
 * at a time, twice as many with each ask delay that this rank sits idle: motions take a
 * share of a short rest, and after a long one all have been said.  Not to say them
 * would be wrong: a branch that one rank alone spawned is voted to it as a whole, once
 * it rests and has asked for all of it.
 *
 * Of those needs a look sees no more than it may have to, from the oldest on.  What a
 * lane waits for, and what a remote rank does unless it is early, has a list of its own
 * that is looked at first, to its end.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/gossip/gossip.h"
#include "consensus/state/state.h"

#include <assert.h>

enum { LOOK_AHEAD = 12 }; /* on the roll: half of it may not be on the list */

static void append(struct task_record *list, struct task_record *task)
{
    assert(!is_stub(task));
    task->at.prev = list->at.prev;
    task->at.next = list;
    task->at.prev->at.next = task;
    list->at.prev = task;
}

static void take_off(struct task_record *task)
{
    assert(task->at.prev->at.next == task && task->at.next->at.prev == task);
    task->at.prev->at.next = task->at.next;
    task->at.next->at.prev = task->at.prev;
}

static void move(struct task_record *list, struct task_record *task)
{
    assert(task->pending);
    take_off(task);
    append(list, task);
    task->ahead = true;
}

static bool is_empty(const struct task_record *list) { return list->at.next == list; }

bool ask_queue_none(const struct core *core)
{
    return is_empty(&core->ownership.pending) && is_empty(&core->ownership.waited) &&
           is_empty(&core->ownership.asking);
}

/* --- When ------------------------------------------------------------------------ */

/* T3a: the chair is known to hold it, so it owns it and will push it. */
static bool push_is_expected(const struct core *core, const struct task_record *task)
{
    return !task->finder && roll_knows_holder(core, task, task->chair);
}

static uint64_t busy_delay_ns(const struct core *core)
{
    uint64_t delay = core->options.ask_delay_ns; /* a chair's push is not at issue */
    return delay > CORE_NEVER / ASK_BUSY_FACTOR
               ? CORE_NEVER
               : add_ns(delay * ASK_BUSY_FACTOR, ASK_BUSY_NS);
}

uint64_t ask_portable_delay_ns(const struct core *core)
{
    const uint64_t delay = core->options.ask_delay_ns;
    return delay > CORE_NEVER / ASK_PORTABLE_FACTOR ? CORE_NEVER
                                                    : delay * ASK_PORTABLE_FACTOR;
}

/* A rank that is busy elsewhere still asks for what one of its lanes waits for,
 * directly or through an owned task whose input nobody is known to push: the lane may
 * be what the busy ones wait for.  Of a portable array the chair, and others by it, are
 * to hear sooner: they may be idle. */
static uint64_t busy_due_ns(const struct core *core, const struct task_record *task,
                            bool pushed)
{
    bool waited = task->lane_needs > 0 || (task->need != NEED_NONE && !pushed);
    bool shares = waited && !pushed && hash_has(&task->hash, MOOT_HASH_ARRAY) &&
                  spec_to_send(task) != NULL;
    uint64_t delay = shares ? ask_portable_delay_ns(core) : busy_delay_ns(core);
    return waited ? add_ns(task->at.since_ns, delay) : CORE_NEVER;
}

HOT static uint64_t delay_ns(const struct core *core, const struct task_record *task,
                             bool pushed)
{
    uint64_t delay = timers_ask_delay_ns(core, task->chair);
    if (!pushed) {
        return delay;
    }
    /* It will come: there is no hurry. */
    delay = delay > core->options.ask_delay_ns ? delay : core->options.ask_delay_ns;
    bool consumed = task->needs_done + task->needs_data > task->lane_needs;
    uint64_t factor = consumed ? ASK_CONSUMER_FACTOR : ASK_WAITER_FACTOR;
    return delay > CORE_NEVER / factor ? CORE_NEVER : delay * factor;
}

static uint64_t idle_due_ns(const struct core *core, const struct task_record *task,
                            bool pushed)
{
    bool before = task->at.since_ns < core->step.idle_since_ns;
    return add_ns(before ? core->step.idle_since_ns : task->at.since_ns,
                  delay_ns(core, task, pushed));
}

static void sooner(uint64_t *due_ns, uint64_t other_ns)
{
    if (other_ns < *due_ns) {
        *due_ns = other_ns;
    }
}

/* Counts this task's motion in what is due; returns when it is. */
static uint64_t count_in(const struct core *core, const struct task_record *task,
                         struct pending_due *due)
{
    assert(task->pending);
    bool pushed = push_is_expected(core, task);
    if (task->demanded) { /* whether this rank is idle or not */
        uint64_t urgent_ns = add_ns(task->at.since_ns, delay_ns(core, task, pushed));
        sooner(&due->urgent_ns, urgent_ns);
        return urgent_ns;
    }
    uint64_t busy_ns = busy_due_ns(core, task, pushed);
    sooner(&due->busy_ns, busy_ns);
    if (!core->step.idle) {
        return busy_ns;
    }
    uint64_t idle_ns = idle_due_ns(core, task, pushed);
    sooner(&due->idle_ns, idle_ns);
    return idle_ns;
}

/* What is held back becomes due after the ask delay, not before. */
void ask_queue_idle(struct core *core)
{
    assert(core->step.blocked);
    core->ownership.pending_due.idle_ns =
        add_ns(core->now_ns, timers_least_ask_ns(core));
}

/* A chair that has come to rest is asked sooner. */
void ask_queue_look_again(struct core *core)
{
    sooner(&core->ownership.pending_due.idle_ns,
           add_ns(core->now_ns, timers_least_ask_ns(core)));
}

uint64_t ask_queue_deadline(const struct core *core)
{
    const struct pending_due *due = &core->ownership.pending_due;
    if (!is_empty(&core->ownership.asking)) {
        return core->now_ns;
    }
    if (is_empty(&core->ownership.pending) && is_empty(&core->ownership.waited)) {
        return CORE_NEVER;
    }
    uint64_t plain_ns = core->step.idle ? due->idle_ns : due->busy_ns;
    return due->urgent_ns < plain_ns ? due->urgent_ns : plain_ns;
}

/* --- What ------------------------------------------------------------------------ */

/* It takes what is still to be made here, or to come: so it has not run anywhere. */
static bool is_early(const struct task_record *task)
{
    const struct edge *inputs = task_inputs(task);
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct task_record *from =
            inputs[i].from; /* NULL: nothing is known of it */
        if (from != NULL && from->have == CORE_HAVE_NOTHING && !from->verdict &&
            (from->own != CORE_OWN_NONE || ask_wants(from))) {
            return true;
        }
    }
    return false;
}

static void enlist(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_NONE && !task->on_push_list);
    if (!task->pending) {
        assert(!task->asked || MUTANT(LATEMUTE));
        release_touch(core, task);
        task->pending = true;
        task->at.since_ns = core->now_ns;
        append(&core->ownership.pending, task);
    }
}

/* Most are pushed before it matters when exactly they would be due. */
HOT void ask_queue_add(struct core *core, struct task_record *task)
{
    enlist(core, task);
    if (!task->ahead && (task->lane_needs > 0 || (task->demanded && !is_early(task)))) {
        move(&core->ownership.waited, task);
    }
    if (task->ahead || task->demanded) {
        count_in(core, task, &core->ownership.pending_due);
        return;
    }
    sooner(&core->ownership.pending_due.busy_ns,
           add_ns(core->now_ns, busy_delay_ns(core)));
    if (core->step.idle) {
        sooner(&core->ownership.pending_due.idle_ns,
               add_ns(core->now_ns, timers_least_ask_ns(core)));
    }
}

void ask_queue_owe(struct core *core, struct task_record *task)
{
    assert(task->chair != core->rank);
    enlist(core, task);
    task->owed = true;
    move(&core->ownership.asking, task);
}

static void look_for_told(struct core *core, struct task_record *list, uint32_t from,
                          const struct message_ended *ended)
{
    for (struct task_record *task = list->at.next; task != list; task = task->at.next) {
        const uint64_t at = task->lane_position;
        if (task->chair == from && task->position != 0 && task->lane == ended->lane &&
            at >= ended->first && at - ended->first < ended->count) {
            agenda_add(core, task, AGENDA_ASK);
        }
    }
}

void ask_queue_on_ended(struct core *core, uint32_t from,
                        const struct message_ended *ended)
{
    look_for_told(core, &core->ownership.waited, from, ended);
    look_for_told(core, &core->ownership.pending, from, ended);
}

void ask_queue_forget(struct task_record *task)
{
    task->owed = false;
    if (task->pending) {
        task->pending = task->ahead = false;
        take_off(task);
    }
}

/* --- Asking ---------------------------------------------------------------------- */

static bool is_due(struct core *core, const struct task_record *task)
{
    struct pending_due with = core->ownership.pending_due;
    bool due = count_in(core, task, &with) <= core->now_ns;
    if (!due) {
        core->ownership.pending_due = with;
    }
    return due;
}

/* What is due goes to the list of those that are asked for, in whatever state the rank
 * is by then.  Returns the first that was not looked at, or is one early one too many,
 * of which so many are left in `early`; NULL: there is none. */
static struct task_record *look_at(struct core *core, struct task_record *list,
                                   uint64_t looks, uint64_t *early)
{
    struct task_record *task = list->at.next;
    while (task != list) {
        struct task_record *following = task->at.next;
        if (task->position != 0) {
            lane_expect(&core->gossip.lanes[task->lane],
                        task->lane_position + LOOK_AHEAD);
        }
        if (looks-- == 0) {
            return task;
        }
        if (is_due(core, task)) {
            if (is_early(task) && *early == 0) {
                return task;
            }
            *early -= is_early(task);
            move(&core->ownership.asking, task);
        }
        task = following;
    }
    return NULL;
}

static void look(struct core *core)
{
    core->ownership.pending_due = PENDING_NEVER;
    uint64_t idle_ns = core->step.idle ? core->now_ns - core->step.idle_since_ns : 0;
    uint64_t doublings = idle_ns / (core->options.ask_delay_ns + 1);
    uint64_t early = EARLY_ASKS
                     << (doublings < EARLY_DOUBLINGS ? doublings : EARLY_DOUBLINGS);
    uint64_t any = UINT64_MAX, left = early;
    (void)look_at(core, &core->ownership.waited, UINT64_MAX, &any);
    struct task_record *rest =
        look_at(core, &core->ownership.pending, early * EARLY_LOOKS, &left);
    if (rest == NULL) {
        return;
    }
    bool goes_on = left == early && !is_empty(&core->ownership.asking);
    struct pending_due *due = &core->ownership.pending_due;
    uint64_t pause_ns = goes_on ? 0 : timers_least_ask_ns(core);
    sooner(&due->idle_ns, add_ns(core->now_ns, pause_ns));
    sooner(&due->busy_ns, add_ns(core->now_ns, busy_delay_ns(core)));
    if (rest->demanded) {
        sooner(&due->urgent_ns, add_ns(core->now_ns, core->options.ask_delay_ns));
    }
}

static void ask(struct core *core, struct task_record *task)
{
    assert(task->pending && task->ahead);
    bool send = (task->owed && task->have == CORE_HAVE_NOTHING) || ask_wants(task);
    ask_queue_forget(task);
    if (send && task->own == CORE_OWN_NONE) {
        ask_send_motion(core, task, task->chair);
    }
}

void ask_queue_flush(struct core *core)
{
    if (is_empty(&core->ownership.asking) && core->now_ns >= ask_queue_deadline(core)) {
        look(core);
    }
    for (int said = 0; !is_empty(&core->ownership.asking) && said < SAYS_PER_TURN;
         said++) {
        struct task_record *task = core->ownership.asking.at.next;
        fetch_ahead(task->at.next, sizeof(*task));
        ask(core, task);
    }
}
