/* core.c - the step: one event in, outputs out.
 *
 * Everything the core does happens inside core_step, on one thread, in three parts:
 * take the event to its room; let the rooms react to what it changed (a lane that
 * blocked is evidence, knowledge that grew allows pushes); then see what is due by the
 * clock.  No room calls back into the step.
 *
 * Rule E (PROTOCOL.md section 3) stands here: nothing crosses epochs, except a result
 * of an owner that is still a member.
 */
#include "consensus/internal.h"

#include <stdlib.h>
#include <string.h>

/* --- Making and freeing -------------------------------------------------------------
 */

static bool options_are_sane(const struct core_options *options)
{
    return options->size >= 1 && options->size <= LIMIT_RANKS &&
           options->rank < options->size && options->uids != NULL &&
           options->epoch >= 1 && options->voters >= 1 &&
           options->voters <= LIMIT_VOTERS && options->mode <= CORE_TRUST;
}

/* A view is its number and its members' incarnations. */
static uint64_t view_id_of(uint64_t epoch, const uint64_t *uids, uint32_t size)
{
    moot_hash members = digest_bytes(uids, size * sizeof(*uids));
    return hash_word(&members) ^ epoch;
}

static bool core_fill(struct core *core, const struct core_options *options)
{
    core->peers = calloc(core->size, sizeof(*core->peers));
    core->hosts = calloc(core->size, sizeof(*core->hosts));
    if (core->peers == NULL || core->hosts == NULL) {
        return false;
    }
    for (uint32_t rank = 0; rank < core->size; rank++) {
        core->peers[rank].uid = options->uids[rank];
        core->hosts[rank] = options->hosts != NULL ? options->hosts[rank] : 0;
        if (!rankset_add(&core->members, rank)) {
            return false;
        }
    }
    core->options.uids = NULL; /* the caller's arrays need not outlive the call */
    core->options.hosts = NULL;
    core->view_id = view_id_of(options->epoch, options->uids, core->size);
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
    core->options = *options;
    core->rank = options->rank;
    core->size = options->size;
    core->epoch = options->epoch;
    core->pending.pending_next = core->pending.pending_prev = &core->pending;
    core->unfinished.unfinished_next = &core->unfinished;
    core->unfinished.unfinished_prev = &core->unfinished;
    core->undecided.docket = &core->undecided_docket;
    core->undecided_docket.undecided_next = &core->undecided;
    core->undecided_docket.undecided_prev = &core->undecided;
    core->pending_due_ns = CORE_NEVER;
    if (!core_fill(core, options)) {
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
    table_release(core);
    for (uint32_t rank = 0; core->peers != NULL && rank < core->size; rank++) {
        free(core->peers[rank].site);
        free(core->peers[rank].announced);
    }
    for (uint32_t i = 0; i < 4; i++) {
        rankset_release(&core->difference.side[i].ranks);
    }
    free(core->peers);
    free(core->hosts);
    rankset_release(&core->members);
    free(core->closed_scopes);
    free(core->out.items);
    block_free(core->out.arena);
    free(core);
}

/* --- Events that change a lane, a scope, the rank ------------------------------------
 */

static int on_lane(struct core *core, const struct core_event *event)
{
    struct lane *lane = lane_enter(core, event->u.lane.lane);
    if (lane == NULL) {
        return core->broken ? MOOT_ERR_NO_MEMORY : MOOT_ERR_LIMIT;
    }
    lane->state = event->u.lane.state;
    return MOOT_OK;
}

static int on_task_wait(struct core *core, const struct core_event *event)
{
    if (event->u.task_wait.waiting) {
        assert(core->running > 0);
        core->running--;
    } else {
        core->running++;
    }
    return MOOT_OK;
}

static int on_scope_close(struct core *core, const struct core_event *event)
{
    if (core->closed_scope_count == core->closed_scope_room) {
        size_t room = core->closed_scope_room ? core->closed_scope_room * 2 : 8;
        moot_hash *grown = realloc(core->closed_scopes, room * sizeof(*grown));
        if (grown == NULL) {
            return MOOT_ERR_NO_MEMORY;
        }
        core->closed_scopes = grown;
        core->closed_scope_room = room;
    }
    core->closed_scopes[core->closed_scope_count++] = event->hash;
    chair_retest_all(core);
    return MOOT_OK;
}

static int on_close(struct core *core, const struct core_event *event)
{
    for (uint32_t i = 0; i < core->lane_count; i++) {
        core->lanes[i].state = CORE_LANE_ENDED;
    }
    core->closed = true;
    core->exit_code = event->u.close.exit_code;
    asker_answer_all_seeks(core);
    return MOOT_OK;
}

static int on_decline(struct core *core, const struct core_event *event)
{
    struct task *task = table_enter(core, &event->hash);
    if (task == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (task->held && (task->flags & CORE_TASK_ADOPTED) == 0) {
        return MOOT_ERR_STATE;
    }
    task->declined = true; /* of an adopted task it says no more than it is worth */
    for (uint32_t rank = rankset_next(&task->seekers, 0); rank != NOBODY;
         rank = rankset_next(&task->seekers, rank + 1)) {
        asker_answer_seek(core, task, rank);
    }
    rankset_release(&task->seekers);
    chair_retest(core, task);
    return MOOT_OK;
}

static int on_release(struct core *core, const struct core_event *event)
{
    struct task *task = table_find(core, &event->hash);
    if (task == NULL || task->own != CORE_OWN_NONE || task->have != CORE_HAVE_DATA ||
        task->needs_data > 0 || task->users > 0) {
        return MOOT_ERR_STATE;
    }
    task->have = CORE_HAVE_BARE;
    task->pulled = false;
    return MOOT_OK;
}

static int on_done(struct core *core, const struct core_event *event)
{
    struct task *task = table_find(core, &event->hash);
    if (task == NULL || task->own != CORE_OWN_RUNNING) {
        return MOOT_ERR_STATE;
    }
    return graph_done(core, task, event->u.done.status, event->u.done.size);
}

/* --- Messages -----------------------------------------------------------------------
 */

/* Rule E, for the first view; `false` means drop. */
static bool rule_e(const struct core *core, uint32_t from, uint64_t uid,
                   const struct message *message)
{
    if (from >= core->size || from == core->rank || core->peers[from].uid != uid ||
        !rankset_has(&core->members, from)) {
        return false;
    }
    if (message->epoch == core->epoch) {
        return message->view_id == core->view_id;
    }
    return message->epoch < core->epoch && message->type == MESSAGE_RESULT;
}

static bool names_a_task(enum message_type type)
{
    return (type >= MESSAGE_MOTION && type <= MESSAGE_VERDICT) ||
           type == MESSAGE_RESOLVE || type == MESSAGE_CHASE || type == MESSAGE_CANCEL;
}

static void on_pull(struct core *core, uint32_t from, struct task *task)
{
    if (task->own != CORE_OWN_DONE) {
        core->stats.refused++;
        return;
    }
    graph_send_result(core, task, from, WANT_DATA, false);
}

static void on_verdict(struct core *core, struct task *task,
                       const struct message_verdict *verdict)
{
    if (!task_satisfied(task)) {
        graph_verdict(core, task, verdict->code, NULL, 0);
    }
}

/* `task` is that of the message's hash, or NULL if the type names none. */
static void deliver(struct core *core, uint32_t from, struct task *task,
                    const struct message *message)
{
    switch (message->type) {
    case MESSAGE_MOTION:
        chair_on_motion(core, from, task, &message->u.motion);
        break;
    case MESSAGE_DECISION:
        graph_on_decision(core, from, task, &message->u.decision);
        break;
    case MESSAGE_RESULT:
        graph_on_result(core, from, task, message);
        break;
    case MESSAGE_PULL:
        on_pull(core, from, task);
        break;
    case MESSAGE_SEEK:
        asker_on_seek(core, from, task);
        break;
    case MESSAGE_REFER:
        asker_on_refer(core, task, &message->u.refer);
        break;
    case MESSAGE_ACCEPT:
        ballot_on_accept(core, from, task, &message->u.accept);
        break;
    case MESSAGE_ACK:
        ballot_on_ack(core, from, task);
        break;
    case MESSAGE_VERDICT:
        on_verdict(core, task, &message->u.verdict);
        break;
    case MESSAGE_RESOLVE:
        quiet_on_resolve(core, task, &message->u.resolve);
        break;
    case MESSAGE_CHASE:
        quiet_on_chase(core, task, &message->u.chase);
        break;
    case MESSAGE_CANCEL:
        chair_on_cancel(core, task);
        break;
    case MESSAGE_ROLL:
        roll_on_roll(core, from, &message->u.roll);
        break;
    case MESSAGE_WANT:
        roll_on_want(core, from, &message->u.want);
        break;
    case MESSAGE_HASHES:
        roll_on_hashes(core, from, &message->u.hashes);
        break;
    case MESSAGE_STATE:
        state_on_state(core, from, message);
        break;
    case MESSAGE_POLL:
        quiet_on_poll(core, from, &message->u.poll);
        break;
    case MESSAGE_POLLR:
        quiet_on_pollr(core, from, message);
        break;
    case MESSAGE_DIVERGED:
        strict_on_diverged(core, &message->u.diverged);
        break;
    case MESSAGE_ADJOURN:
        quiet_on_adjourn(core, &message->u.adjourn);
        break;
    case MESSAGE_NONE:
    case MESSAGE_KERNEL:
    case MESSAGE_TYPE_END:
        core->stats.refused++;
    }
}

static int on_recv(struct core *core, const struct core_event *event)
{
    const struct message *message = event->u.recv.message;
    uint32_t from = event->u.recv.from;
    if (!rule_e(core, from, event->u.recv.uid, message)) {
        core->stats.refused++;
        return MOOT_OK;
    }
    core->stats.received[message->type]++;
    if (core->adjourned) {
        return MOOT_OK;
    }
    core->peers[from].heard_ns = core->now_ns;
    struct task *task = NULL;
    if (names_a_task(message->type)) {
        task = table_enter(core, &message->hash);
        if (task == NULL) {
            return MOOT_ERR_NO_MEMORY;
        }
    }
    deliver(core, from, task, message);
    return MOOT_OK;
}

/* --- The step -----------------------------------------------------------------------
 */

static int dispatch(struct core *core, const struct core_event *event)
{
    switch (event->type) {
    case CORE_EV_REGISTER:
        return graph_register(core, &event->hash, &event->u.reg);
    case CORE_EV_NEED:
        return asker_need(core, event);
    case CORE_EV_UNNEED:
        return asker_unneed(core, event);
    case CORE_EV_LANE:
        return on_lane(core, event);
    case CORE_EV_TASK_WAIT:
        return on_task_wait(core, event);
    case CORE_EV_DONE:
        return on_done(core, event);
    case CORE_EV_DECLINE:
        return on_decline(core, event);
    case CORE_EV_CANCEL: {
        struct task *task = table_enter(core, &event->hash);
        return task != NULL ? asker_cancel(core, task) : MOOT_ERR_NO_MEMORY;
    }
    case CORE_EV_RELEASE:
        return on_release(core, event);
    case CORE_EV_SCOPE_CLOSE:
        return on_scope_close(core, event);
    case CORE_EV_CLOSE:
        return on_close(core, event);
    case CORE_EV_RECV:
        return on_recv(core, event);
    case CORE_EV_TICK:
        return MOOT_OK;
    }
    return MOOT_ERR_INVALID;
}

/* BLOCKED (section 2): no lane is about to spawn.  Running kernels do not count. */
static bool lanes_blocked(const struct core *core)
{
    for (uint32_t i = 0; i < core->lane_count; i++) {
        if (core->lanes[i].state == CORE_LANE_RUNNING) {
            return false;
        }
    }
    return true;
}

static void see_what_changed(struct core *core)
{
    bool was_blocked = core->blocked, was_closed_told = core->state_sent.closed;
    core->blocked = lanes_blocked(core);
    bool idle = core->blocked && core->running == 0;
    if (core->blocked && !was_blocked) {
        roll_resolve(core);
    }
    if (idle && !core->idle) {
        core->idle_since_ns = core->now_ns;
        asker_idle(core);
        quiet_look_again(core);
    }
    core->idle = idle;
    if ((core->blocked && !was_blocked && !MUTANT(NORETEST)) ||
        (core->closed && !was_closed_told)) {
        chair_retest_all(core);
    }
    if (core->knowledge_grew) {
        core->knowledge_grew = false;
        graph_push_to_holders(core);
    }
}

static void do_what_is_due(struct core *core)
{
    if (chair_deadline(core) <= core->now_ns) {
        core->votes_tested_ns = core->now_ns;
        chair_retest_all(core);
    }
    asker_flush(core);
    strict_turn(core);
    if (core->closed) {
        roll_want_of_closed(core);
        asker_sweep(core);
    }
    state_announce(core);
    quiet_turn(core);
}

int core_step(struct core *core, const struct core_event *event, uint64_t now_ns,
              struct core_outputs *out)
{
    if (core->broken) {
        return MOOT_ERR_NO_MEMORY;
    }
    core->now_ns = now_ns > core->now_ns ? now_ns : core->now_ns;
    out_clear(&core->out);
    int error = dispatch(core, event);
    if (error == MOOT_OK && !core->broken && !core->adjourned) {
        see_what_changed(core);
        do_what_is_due(core);
    }
    if (core->broken) {
        error = MOOT_ERR_NO_MEMORY;
    }
    *out = (struct core_outputs){core->out.items, core->out.count};
    if (error != MOOT_OK) {
        out->count = 0;
    }
    return error;
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

uint64_t core_deadline(const struct core *core)
{
    if (core->broken || core->adjourned) {
        return CORE_NEVER;
    }
    uint64_t due = earlier(asker_deadline(core), state_deadline(core));
    due = earlier(due, earlier(chair_deadline(core), quiet_deadline(core)));
    return earlier(due, strict_deadline(core));
}

bool core_would_adopt(const struct core *core, uint32_t from, uint64_t uid,
                      const struct message *motion)
{
    if (!rule_e(core, from, uid, motion) || motion->type != MESSAGE_MOTION ||
        motion->u.motion.spec == NULL || core->adjourned) {
        return false;
    }
    const struct task *task = table_find(core, &motion->hash);
    if (task != NULL && (task->held || task->declined || task->owner != NOBODY)) {
        return false;
    }
    return placement_chair(&motion->hash, &core->members,
                           motion->u.motion.spec->candidates) == core->rank;
}
