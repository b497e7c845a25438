/* receive.c - what a peer says: Rule E, and to which room it goes.
 *
 * Rule E (PROTOCOL.md, *Messages*) stands here: nothing crosses epochs, except a result
 * that its own owner sends and that is still a member.  What comes from a later epoch
 * is held until this rank enters it; who speaks from an older one is told the view, or
 * that it is fenced.
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

/* --- Messages -------------------------------------------------------------------- */

/* E_OUTSIDE: from one who is no member here, and need not be. */
enum verdict_of_e { E_DROP, E_TAKE, E_HOLD, E_OUTSIDE };

/* Where only majorities decide, a view is what it is whoever tells it, and the last who
 * know it may be those whom it has let in. */
static bool is_newcomers_view(const struct core *core, uint64_t uid,
                              const struct message *message)
{
    if (!core->options.joinable || message->type != MESSAGE_VIEW) {
        return false;
    }
    for (uint32_t i = 0; i < message->u.view.newcomers; i++) {
        const struct message_newcomer *newcomer = &message->u.view.newcomer[i];
        if (newcomer->uid == uid) {
            return rankset_has(message->u.view.members, newcomer->rank);
        }
    }
    return false;
}

/* A newcomer of a view that this rank has yet to hear of, or a stranger. */
static enum verdict_of_e rule_e_for_strangers(const struct core *core, uint64_t uid,
                                              const struct message *message)
{
    if (is_newcomers_view(core, uid, message)) {
        return E_OUTSIDE;
    }
    return message->epoch > core->epoch && uid != 0 ? E_HOLD : E_DROP;
}

/* Rule E.  VIEW and FENCED are how one learns that one's epoch is over, so their own
 * epoch does not count; what counts is that a member of ours sent them.  JOIN comes
 * from whoever asks to be let in. */
HOT static enum verdict_of_e rule_e(const struct core *core, uint32_t from,
                                    uint64_t uid, const struct message *message)
{
    assert(message->type < MESSAGE_TYPE_END);
    if (message->type == MESSAGE_JOIN) {
        return core->epoch > 0 ? E_OUTSIDE : E_DROP;
    }
    if (!peer_is(core, from, uid)) {
        return rule_e_for_strangers(core, uid, message);
    }
    bool dead = rankset_has(&core->membership.dead, from) && !only_majorities(core);
    if (from == core->rank || dead) {
        return E_DROP;
    }
    bool member = rankset_has(&core->members, from);
    if (message->type == MESSAGE_VIEW || message->type == MESSAGE_FENCED) {
        return member || core->epoch == 0 ? E_TAKE : E_DROP;
    }
    if (message->epoch > core->epoch) {
        return E_HOLD;
    }
    if (!member) {
        return E_DROP;
    }
    if (message->epoch < core->epoch) {
        bool result = message->type == MESSAGE_RESULT &&
                      (message->u.result.owner_uid == uid || MUTANT(STALERES)) &&
                      (message->epoch >= core->reload_epoch || MUTANT(RELOADRESULT));
        bool ballot = message->type == MESSAGE_ACCEPT || message->type == MESSAGE_ACK;
        bool stale = (MUTANT(STALEDEC) && message->type == MESSAGE_DECISION) ||
                     (MUTANT(STALEACC) && ballot);
        return result || stale ? E_TAKE : E_DROP;
    }
    return message->view_id == core->view_id || MUTANT(VIEWNUMBER) ? E_TAKE : E_DROP;
}

/* Who speaks from an older epoch has missed a view, or is no member any more. */
static void answer_the_late(struct core *core, uint32_t from,
                            const struct message *message)
{
    if (from >= core->size || from == core->rank || message->epoch >= core->epoch ||
        rankset_has(&core->membership.dead, from) || message->type == MESSAGE_FENCED) {
        return;
    }
    if (rankset_has(&core->members, from)) {
        view_tell(core, from);
        return;
    }
    struct message *answer = out_send(core, from, MESSAGE_FENCED, NULL);
    if (answer != NULL) {
        answer->u.fenced.epoch = core->epoch;
    }
}

static void hold(struct core *core, struct held *held)
{
    held_add(core, held, &held->next);
}

static void keep(struct core *core, uint64_t uid, const struct message *message,
                 void (*where)(struct core *core, struct held *held))
{
    assert(message->type != MESSAGE_NONE);
    struct held *held = core_alloc(core, sizeof(*held));
    struct message *copy = held != NULL ? message_copy(message) : NULL;
    if (copy == NULL) {
        free(held);
        core->broken = true;
        return;
    }
    *held = (struct held){.uid = uid, .message = copy};
    where(core, held);
}

static void on_motion(struct core *core, uint32_t from, struct task_record *task,
                      const struct message_motion *motion)
{
    assert(task != NULL);
    chair_on_motion(core, from, task, motion);
    if (hash_has(&task->hash, MOOT_HASH_ARRAY)) {
        elements_stir(core);
    }
}

/* A leaver may decline a DECISION that makes it the owner. */
static void on_decision(struct core *core, uint32_t from, struct task_record *task,
                        const struct message_decision *decision)
{
    assert(from != core->rank);
    if (owning_on_decision(core, from, task, decision) &&
        !leave_declines(core, from, task, decision->evidence)) {
        owning_begin(core, task, decision->evidence);
        elements_owned(core, task);
    }
    elements_cancel(core, task);
}

/* One that a leaver hands over is answered before anything follows from it. */
static void on_result(struct core *core, uint32_t from, struct task_record *task,
                      const struct message *message)
{
    assert(message->type == MESSAGE_RESULT && from != core->rank && task != NULL);
    assert(hash_equal(&task->hash, &message->hash));
    enum graph_taken taken = graph_on_result(core, from, task, message);
    if (taken != GRAPH_REFUSED && message->u.result.handover) {
        handover_on_result(core, from, task);
    }
    if (taken == GRAPH_TAKEN) {
        graph_result_taken(core, task);
    }
}

static void on_accept(struct core *core, uint32_t from, struct task_record *task,
                      const struct message_accept *accept)
{
    if (once_on_accept(core, from, task, accept)) {
        leave_on_accept(core);
    }
}

static void on_cancel(struct core *core, uint32_t from, struct task_record *task,
                      const struct message_cancel *cancel)
{
    cancel_on_cancel(core, from, task, cancel);
    elements_cancel(core, task);
}

static void on_roll(struct core *core, uint32_t from, const struct message_roll *roll)
{
    signature_roll_came(core, from, roll);
    roll_on_roll(core, from, roll);
}

static void refuse(struct core *core) { core->stats.refused++; }

/* The handler of each message; `task` is the record of its hash, or NULL if the type
 * names none.  The host has its own. */
#define HANDLERS(X)                                                                    \
    X(MOTION, on_motion(core, from, task, &message->u.motion))                         \
    X(DECISION, on_decision(core, from, task, &message->u.decision))                   \
    X(RESULT, on_result(core, from, task, message))                                    \
    X(PULL, spread_on_pull(core, from, task))                                          \
    X(SEEK, ask_on_seek(core, from, task))                                             \
    X(REFER, ask_on_refer(core, task, &message->u.refer))                              \
    X(ACCEPT, on_accept(core, from, task, &message->u.accept))                         \
    X(ACK, chair_on_ack(core, from, task))                                             \
    X(VERDICT, verdict_on_verdict(core, from, task, &message->u.verdict))              \
    X(ROLL, on_roll(core, from, &message->u.roll))                                     \
    X(WANT, roll_on_want(core, from, &message->u.want))                                \
    X(HASHES, roll_on_hashes(core, from, &message->u.hashes))                          \
    X(STATE, announce_on_state(core, from, message))                                   \
    X(POLL, termination_on_poll(core, from, &message->u.poll))                         \
    X(POLLR, termination_on_pollr(core, from, message))                                \
    X(RESOLVE, termination_on_resolve(core, &message->hash, &message->u.resolve))      \
    X(CHASE, termination_on_chase(core, task, &message->u.chase))                      \
    X(CANCEL, on_cancel(core, from, task, &message->u.cancel))                         \
    X(DIVERGED, strict_on_diverged(core, from, &message->u.diverged))                  \
    X(ADJOURN, termination_on_adjourn(core, &message->u.adjourn))                      \
    X(KERNEL, refuse(core))                                                            \
    X(HEARTBEAT, detector_on_heartbeat(core, from, &message->u.heartbeat))             \
    X(GRANT, detector_on_grant(core, from, &message->u.grant))                         \
    X(PREPARE, view_on_prepare(core, from, &message->u.paxos))                         \
    X(PROMISE, view_on_answer(core, from, message->type, &message->u.paxos))           \
    X(PROPOSE, view_on_propose(core, from, &message->u.paxos))                         \
    X(VOTED, view_on_answer(core, from, message->type, &message->u.paxos))             \
    X(REJECT, view_on_answer(core, from, message->type, &message->u.paxos))            \
    X(VIEW, view_on_view(core, &message->u.view))                                      \
    X(REPORT, recovery_on_report(core, from, &message->u.report))                      \
    X(SETTLED, recovery_on_settled(core, from))                                        \
    X(FENCED, view_fence(core, message->u.fenced.epoch, message->u.fenced.refused))    \
    X(JOIN, view_on_join(core, &message->u.join))                                      \
    X(LEAVE, leave_on_leave(core, from, message))                                      \
    X(RELEASED, scope_on_released(core, from, message))                                \
    X(TALLY, barrier_on_tally(core, from, &message->u.tally))                          \
    X(CENSUS, close_reduce_on_census(core, from, &message->u.census))                  \
    X(HANDOVER, handover_on_handover(core, from, &message->u.report))                  \
    X(MEET, meeting_on_meet(core, from, message))                                      \
    X(LOT, lot_on_lot(core, from, &message->u.lot))                                    \
    X(SNAPSHOT, snapshot_on_snapshot(core, from, message))                             \
    X(SIGNATURE, signature_hear(core, from, &message->u.signatures))                   \
    X(ENDED, await_on_ended(core, from, &message->u.ended))                            \
    X(ELEMENTS, elements_on_elements(core, from, task, &message->u.elements))          \
    X(FAMILY, refuse(core))                                                            \
    X(INQUIRY, refuse(core))                                                           \
    X(ACCOUNT, refuse(core))                                                           \
    X(PARTS, refuse(core))

static void deliver(struct core *core, uint32_t from, struct task_record *task,
                    const struct message *message)
{
    switch (message->type) {
#define X(name, call)                                                                  \
    case MESSAGE_##name:                                                               \
        call;                                                                          \
        break;
        HANDLERS(X) /* NOLINT(bugprone-branch-clone): a row for each type */
#undef X
    case MESSAGE_NONE:
    case MESSAGE_TYPE_END:
        break;
    }
}

HOT static void take(struct core *core, uint32_t from, const struct message *message)
{
    assert(from < core->size && from != core->rank);
    if (message->cut > core->snapshot.cut && message->epoch == core->epoch &&
        !MUTANT(CUTLATE)) {
        snapshot_cut(core, message->cut);
    }
    if (core->reclaim.drop.leaving > 0 && message_is(message->type, MESSAGE_IS_TASK) &&
        core_is_leaving(core, &message->hash)) {
        keep(core, core->state.uids[from], message, reclaim_keep_back);
        return;
    }
    core->stats.received[message->type]++;
    if (message->epoch != core->epoch && !MUTANT(COUNTOLD)) {
        membership_heard_old(core, message->type);
    }
    peer_heard(core, from);
    if (message->epoch == core->epoch) {
        peer_spoke(core, from);
    }
    struct task_record *task = NULL;
    if (message_is(message->type, MESSAGE_IS_TASK)) {
        if (scope_is_dropped(core, &message->hash) && !MUTANT(LATEFRESH)) {
            scope_late(core, from, message);
            return;
        }
        if (reclaim_once_is_gone(core, &message->hash)) {
            reclaim_late(core, from, message);
            return;
        }
        task = table_enter(core, &message->hash);
        if (task == NULL) {
            return;
        }
        scope_received(core, task, message);
    }
    deliver(core, from, task, message);
}

void receive_own(struct core *core, const struct message *message)
{
    assert(message->type != MESSAGE_NONE && message->epoch <= core->epoch);
    if (message->epoch == core->epoch && !core->membership.fenced) {
        deliver(core, core->rank, NULL, message);
    }
}

/* Messages that came before this rank entered their epoch.  Taking one may enter yet
 * another. */
void receive_held(struct core *core)
{
    struct held *held = NULL;
    while (!core->broken && !core->membership.fenced &&
           (held = held_take(core)) != NULL) {
        uint32_t from = peer_of_uid(core, held->uid);
        if (rule_e(core, from, held->uid, held->message) == E_TAKE) {
            take(core, from, held->message);
            agenda_work_off(core);
        }
        message_copy_free(held->message);
        free(held);
    }
}

int receive_event(struct core *core, const struct core_event *event)
{
    const struct message *message = event->u.recv.message;
    uint32_t from = event->u.recv.from;
    if (core->termination.adjourned) {
        return MOOT_OK;
    }
    switch (rule_e(core, from, event->u.recv.uid, message)) {
    case E_TAKE:
        take(core, from, message);
        break;
    case E_HOLD:
        if (MUTANT(NOHOLD)) {
            break;
        }
        keep(core, event->u.recv.uid, message, hold);
        break;
    case E_OUTSIDE:
        assert(message->type == MESSAGE_JOIN || message->type == MESSAGE_VIEW);
        deliver(core, NOBODY, NULL, message);
        break;
    case E_DROP:
        core->stats.refused++;
        if (peer_is(core, from, event->u.recv.uid)) {
            answer_the_late(core, from, message);
            if (rankset_has(&core->members, from)) {
                peer_heard(core, from);
            }
        }
        break;
    }
    return MOOT_OK;
}

static bool is_gone(const struct core *core, const moot_hash *hash)
{
    return scope_is_dropped(core, hash) || reclaim_once_is_gone(core, hash) ||
           core_is_leaving(core, hash);
}

/* It, or what it takes, is of a scope that has ended everywhere. */
static bool is_of_the_past(const struct core *core, const moot_hash *hash,
                           const struct message_spec *spec)
{
    bool past = is_gone(core, hash);
    for (uint32_t i = 0; !past && i < spec->input_count; i++) {
        past = is_gone(core, &spec->inputs[i]);
    }
    return past;
}

/* NULL: the message has none. */
static const struct message_spec *spec_of(const struct message *message)
{
    return message->type == MESSAGE_MOTION     ? message->u.motion.spec
           : message->type == MESSAGE_ELEMENTS ? message->u.elements.spec
                                               : NULL;
}

/* Nobody adopts what it holds, will not hold, or has decided of; of an array the last
 * says no more than who ends it. */
static bool is_free(const struct core *core, uint32_t from,
                    const struct message *message)
{
    const void *known = table_look(core, &message->hash);
    const struct task_record *task = known;
    if (known != NULL && (is_stub(known) || task->held || task->declined)) {
        return false; /* a stub is held */
    }
    return hash_has(&message->hash, MOOT_HASH_ARRAY)
               ? elements_would_adopt(core, from, task, message)
               : known == NULL || task->rec == NOBODY;
}

bool core_would_adopt(const struct core *core, uint32_t from, uint64_t uid,
                      const struct message *message)
{
    const struct message_spec *spec = spec_of(message);
    bool stale = MUTANT(ADOPTSTALE) && message->epoch < core->epoch &&
                 rankset_has(&core->members, from);
    if (spec == NULL || (rule_e(core, from, uid, message) != E_TAKE && !stale) ||
        core->termination.adjourned || leave_forbids_adopting(core, from, message) ||
        (memory_is_short(core) && !MUTANT(SHORTADOPTS)) ||
        is_of_the_past(core, &message->hash, spec) || !is_free(core, from, message)) {
        return false;
    }
    const struct rankset *among = /* not the homes of an array: its end has none */
        hash_has(&message->hash, MOOT_HASH_ARRAY) ? NULL : spec->candidates;
    return message->type == MESSAGE_ELEMENTS ||
           placement_chair(&message->hash, &core->members, among) == core->rank;
}
