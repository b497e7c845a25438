/* trace_watch.h - from sights to transitions.
 *
 * A watcher (sim.h) that takes every step that a rank is seen to make for a transition
 * of the models, and passes over what no model has.  Messages of a view that their
 * receiver has yet to enter wait here, as Rule E says.
 */
#ifndef TESTS_SIM_TRACE_WATCH_H
#define TESTS_SIM_TRACE_WATCH_H

#include "tests/sim/trace_views.h"

/* --- Beginning and ending -------------------------------------------------------- */

static inline void open_party(struct trace *trace, uint32_t rank)
{
    struct party *party = &trace->parties[rank];
    party->places = trace_alloc(trace->tasks, sizeof(*party->places));
    for (uint32_t task = 0; task < trace->tasks; task++) {
        place_init(&party->places[task]);
    }
    for (int lane = 0; lane < TRACE_LANES_MAX; lane++) {
        party->lanes[lane] = lane == 0 ? CORE_LANE_RUNNING : CORE_LANE_ENDED;
    }
}

static inline void open_trace(struct trace *trace, struct sim *sim)
{
    const struct storm *storm = sim_storm(sim);
    trace->sim = sim;
    trace->program = sim_program(sim);
    trace->tasks = trace->program->task_count;
    trace->ranks = sim_rank_limit(sim);
    if (trace->ranks > TRACE_RANKS_MAX) {
        abort();
    }
    trace->starts = trace_alloc(trace->tasks, sizeof(*trace->starts));
    uint32_t first = storm != NULL ? storm->first : trace->program->rank_count;
    uint64_t members = UINT64_MAX >> (64 - first);
    trace->views[1].known = true;
    trace->views[1].members = trace->views[1].settled = members;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        open_party(trace, rank);
    }
    for (uint32_t rank = 0; rank < first; rank++) {
        struct party *party = &trace->parties[rank];
        party->epoch = 1;
        party->settled = party->read = true;
        party->told_settled = members;
    }
}

static inline void close_trace(struct trace *trace)
{
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        struct party *party = &trace->parties[rank];
        while (party->held != NULL) {
            struct letter *letter = party->held;
            party->held = letter->next;
            message_copy_free(letter->message);
            free(letter);
        }
        free(party->places);
    }
    free(trace->starts);
}

/* --- Messages that arrive -------------------------------------------------------- */

static inline void take_report(struct trace *trace, uint32_t rank, uint32_t from,
                               const struct message_report *report)
{
    struct party *party = &trace->parties[rank];
    for (uint32_t i = 0; i < report->count; i++) {
        uint32_t task = sim_task(trace->sim, &report->entry[i].hash);
        if (is_modelled(trace, task)) {
            gather(trace, rank, from, task, &report->entry[i]);
        }
    }
    if (!report->last || party->read) {
        return;
    }
    party->reported |= BIT(from);
    if ((members_at(trace, rank) & ~party->reported) == 0) {
        rule_read(trace, rank);
    }
}

static inline void take_motion(struct trace *trace, uint32_t rank, uint32_t from,
                               uint32_t task, const struct message_motion *motion)
{
    struct place *place = place_of(trace, rank, task);
    if (motion->final) {
        return;
    }
    place->asked |= BIT(from);
    place->hinted |= motion->holds && motion->hint;
    if (motion->want == WANT_NOTHING) {
        return;
    }
    if (motion->need < place->need) {
        place->need = motion->need;
    }
    lower_bound(trace, rank, task, motion->need);
}

static inline void take_decision(struct trace *trace, uint32_t rank, uint32_t task,
                                 const struct message_decision *decision)
{
    place_of(trace, rank, task)->decided = true;
    for (size_t i = 0; i < decision->asker_count; i++) {
        lower_bound(trace, rank, task, decision->askers[i].need);
    }
}

/* A message of the view that the rank is in, from a member. */
static inline void take(struct trace *trace, uint32_t rank, uint32_t from,
                        const struct message *message)
{
    uint32_t task = sim_task(trace->sim, &message->hash);
    struct place *place = task < trace->tasks ? place_of(trace, rank, task) : NULL;
    switch ((int)message->type) {
    case MESSAGE_REPORT:
        take_report(trace, rank, from, &message->u.report);
        break;
    case MESSAGE_SETTLED:
        trace->parties[rank].told_settled |= BIT(from);
        break;
    case MESSAGE_MOTION:
        if (place != NULL) {
            take_motion(trace, rank, from, task, &message->u.motion);
        }
        break;
    case MESSAGE_DECISION:
        if (place != NULL) {
            take_decision(trace, rank, task, &message->u.decision);
        }
        break;
    case MESSAGE_PULL:
        if (place != NULL) {
            place->pullers |= BIT(from);
            place->passed[from] = 0;
        }
        break;
    case MESSAGE_ACCEPT:
        if (place != NULL) {
            place->offered = true;
            place->offer =
                message->u.accept.maybe ? REC_MAYBE : (int)message->u.accept.winner;
        }
        break;
    case MESSAGE_ACK:
        if (place != NULL) {
            place->acked |= BIT(from);
        }
        break;
    default:
        break;
    }
}

static inline void hold(struct trace *trace, uint32_t rank, uint32_t from,
                        const struct message *message)
{
    struct letter *letter = trace_alloc(1, sizeof(*letter));
    struct letter **last = &trace->parties[rank].held;
    *letter = (struct letter){.from = from, .message = message_copy(message)};
    if (letter->message == NULL) {
        abort();
    }
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = letter;
}

static inline void take_held(struct trace *trace, uint32_t rank)
{
    struct party *party = &trace->parties[rank];
    struct letter **link = &party->held;
    while (*link != NULL) {
        struct letter *letter = *link;
        if (letter->message->epoch > party->epoch) {
            link = &letter->next;
            continue;
        }
        if (letter->message->epoch == party->epoch &&
            HAS(members_at(trace, rank), letter->from)) {
            take(trace, rank, letter->from, letter->message);
        }
        *link = letter->next;
        message_copy_free(letter->message);
        free(letter);
    }
}

static inline void note_value(struct trace *trace, uint32_t rank,
                              const struct message_view *value)
{
    struct party *party = &trace->parties[rank];
    party->offer_epoch = value->epoch;
    party->offer.count = value->history;
    for (uint32_t i = 0; i < value->history; i++) {
        uint64_t epoch = value->past[i].epoch;
        party->offer.epochs[i] = epoch;
        if (!trace->views[epoch].known) {
            trace->views[epoch].known = true;
            trace->views[epoch].members = value->past[i].members->low;
        }
    }
}

/* The bytes of a part are those of an event, so none waits for a view.  One that is not
 * the next is dropped. */
static inline void take_part(struct trace *trace, const struct sight *sight)
{
    const struct message *message = sight->message;
    const struct message_result *result = &message->u.result;
    const struct party *party = &trace->parties[sight->rank];
    uint32_t task = sim_task(trace->sim, &message->hash);
    bool taken = message->epoch == party->epoch ||
                 (message->epoch < party->epoch &&
                  result->owner_uid == sim_uid(trace->sim, sight->peer));
    if (taken && task < trace->tasks &&
        HAS(members_at(trace, sight->rank), sight->peer)) {
        struct place *place = place_of(trace, sight->rank, task);
        place->parts += result->part == place->parts + 1;
    }
}

/* Rule E: what is of this view, and from a member, is taken; what is of a later one
 * waits; what is older is nothing (a RESULT is judged where it is kept). */
static inline void see_receive(struct trace *trace, const struct sight *sight)
{
    const struct message *message = sight->message;
    struct party *party = &trace->parties[sight->rank];
    if (message->type == MESSAGE_RESULT) {
        party->result_epoch = message->epoch;
        take_part(trace, sight);
    }
    if (message->type == MESSAGE_VIEW) {
        if (message->u.view.epoch > party->epoch) {
            note_value(trace, sight->rank, &message->u.view);
        }
    } else if (message->epoch > party->epoch) {
        hold(trace, sight->rank, sight->peer, message);
    } else if (message->epoch == party->epoch && party->epoch > 0 &&
               HAS(members_at(trace, sight->rank), sight->peer)) {
        take(trace, sight->rank, sight->peer, message);
    }
}

/* --- Messages that leave --------------------------------------------------------- */

static inline void see_send_of_views(struct trace *trace, const struct sight *sight)
{
    const struct message *message = sight->message;
    struct party *party = &trace->parties[sight->rank];
    switch ((int)message->type) {
    case MESSAGE_PROPOSE:
        if (message->u.paxos.accepted == 0) {
            rule_hist(trace, sight->rank, message->u.paxos.value);
        }
        note_value(trace, sight->rank, message->u.paxos.value);
        break;
    case MESSAGE_VIEW:
        if (message->u.view.epoch > party->epoch) {
            note_value(trace, sight->rank, &message->u.view);
        }
        break;
    case MESSAGE_REPORT:
        rule_report(trace, sight->rank, sight->peer, &message->u.report);
        if (message->u.report.last) {
            rule_report_whole(trace, sight->rank, sight->peer, &message->u.report);
        }
        break;
    case MESSAGE_SETTLED:
        if (!party->settled) {
            rule_settle(trace, sight->rank);
        }
        break;
    default:
        break;
    }
}

static inline void see_send(struct trace *trace, const struct sight *sight)
{
    const struct message *message = sight->message;
    uint32_t rank = sight->rank, task = sight->task;
    if (message->type != MESSAGE_JOIN && message->epoch != trace->parties[rank].epoch) {
        reject(trace, "Rule E", rank, task, "speaks of a view that it is not in");
    } else if (message->type >= MESSAGE_HEARTBEAT) {
        see_send_of_views(trace, sight);
    }
    if (!is_modelled(trace, task)) {
        return;
    }
    switch ((int)message->type) {
    case MESSAGE_MOTION:
        rule_motion(trace, rank, task, sight->peer, &message->u.motion);
        break;
    case MESSAGE_DECISION:
        rule_decide(trace, rank, task, sight->peer);
        break;
    case MESSAGE_RESULT:
        if (message->u.result.away) {
            rule_away(trace, rank, task, sight->peer);
        } else {
            rule_result(trace, rank, task, sight->peer, &message->u.result);
        }
        break;
    case MESSAGE_ACCEPT:
        rule_propose(trace, rank, task,
                     message->u.accept.maybe ? REC_MAYBE
                                             : (int)message->u.accept.winner);
        break;
    case MESSAGE_ACK:
        rule_accept(trace, rank, task, sight->peer);
        break;
    case MESSAGE_VERDICT:
        if (message->u.verdict.code == MOOT_ERR_MAYBE_RAN) {
            rule_maybe(trace, rank, task);
        }
        break;
    default:
        break;
    }
}

/* --- What ranks do --------------------------------------------------------------- */

/* Of a key that is not modelled, who owns it still matters for what its inputs need. */
static inline void pass_ownership(struct trace *trace, const struct sight *sight)
{
    if (place_of(trace, sight->rank, sight->task)->own == OWN_NOT) {
        own_begins(trace, sight->rank, sight->task);
    }
}

static inline void see_note(struct trace *trace, const struct sight *sight)
{
    if (sight->task < trace->tasks && !is_modelled(trace, sight->task)) {
        if (sight->point == CORE_POINT_CLAIM ||
            sight->point == CORE_POINT_DECISION_RECV) {
            pass_ownership(trace, sight);
        }
        return;
    }
    if (sight->point == CORE_POINT_CLAIM) {
        rule_pick(trace, sight->rank, sight->task, sight->rank, EVIDENCE_CLAIM);
    } else if (sight->point == CORE_POINT_VOTE_CAST) {
        rule_pick(trace, sight->rank, sight->task, sight->peer, sight->evidence);
    } else if (sight->point == CORE_POINT_DECISION_RECV) {
        rule_own(trace, sight->rank, sight->task);
    }
}

static inline int rank_of_uid(const struct trace *trace, uint64_t uid)
{
    for (uint32_t rank = 0; rank < sim_rank_count(trace->sim); rank++) {
        if (sim_uid(trace->sim, rank) == uid) {
            return (int)rank;
        }
    }
    return REC_NONE;
}

/* That its sender had it was seen when it was sent.  Rule E: it is a member, and the
 * message is of this view, or the sender's own result. */
static inline void see_keep(struct trace *trace, const struct sight *sight)
{
    const struct message_result *result = &sight->message->u.result;
    const struct party *party = &trace->parties[sight->rank];
    int owner = rank_of_uid(trace, result->owner_uid);
    bool held = sight->peer == UINT32_MAX; /* and so of this view: see_receive */
    if (!held && (!HAS(members_at(trace, sight->rank), sight->peer) ||
                  (party->result_epoch < party->epoch && owner != (int)sight->peer))) {
        reject(trace, "Rule E", sight->rank, sight->task,
               "keeps what it must not take");
    }
    rule_consume(trace, sight->rank, sight->task, owner, result->data == RESULT_BARE);
}

static inline void see_lane(struct trace *trace, const struct sight *sight)
{
    struct party *party = &trace->parties[sight->rank];
    struct place *place =
        sight->task < trace->tasks ? &party->places[sight->task] : NULL;
    switch ((int)sight->type) {
    case SIGHT_LANE:
        party->lanes[sight->lane] = sight->code;
        break;
    case SIGHT_WAIT:
        place->waits++;
        place->local_ask = true;
        place->unsure |= place->have == HAVE_BARE; /* that may be all it waits for */
        if (place->have != HAVE_DATA) {
            lower_bound(trace, sight->rank, sight->task, place->position);
        }
        break;
    case SIGHT_WAITED:
    case SIGHT_LAPSED:
        place->waits -= place->waits > 0;
        break;
    case SIGHT_CLOSE:
        party->closed = true;
        for (int lane = 0; lane < TRACE_LANES_MAX; lane++) {
            party->lanes[lane] = CORE_LANE_ENDED;
        }
        break;
    default:
        break;
    }
}

static inline void see_task(struct trace *trace, const struct sight *sight)
{
    uint32_t rank = sight->rank, task = sight->task;
    struct place *place = place_of(trace, rank, task);
    bool nested = trace->program->tasks[task].parent != PROGRAM_NONE;
    switch ((int)sight->type) {
    case SIGHT_SPAWN:
    case SIGHT_ADOPT:
        rule_register(trace, rank, task, sight->type == SIGHT_SPAWN && !nested);
        break;
    case SIGHT_REFUSED:
        place->holds = false;
        trace->parties[rank].roll_length -= !nested && place->position != 0;
        place->position = 0;
        break;
    case SIGHT_DECLINE:
        place->declined = true;
        break;
    case SIGHT_RUN:
        if (is_modelled(trace, task)) {
            rule_run(trace, rank, task);
        }
        place->own = OWN_RUN;
        break;
    case SIGHT_START:
        rule_start(trace, rank, task);
        break;
    case SIGHT_END:
        if (is_modelled(trace, task)) {
            rule_end(trace, rank, task);
        }
        break;
    case SIGHT_KEEP:
        if (is_modelled(trace, task)) {
            see_keep(trace, sight);
        }
        break;
    default:
        break;
    }
}

static inline void trace_see(void *context, struct sim *sim, const struct sight *sight)
{
    struct trace *trace = context;
    if (trace->sim == NULL) {
        open_trace(trace, sim);
    }
    if (trace->rejected) {
        return;
    }
    switch ((int)sight->type) {
    case SIGHT_SEND:
        see_send(trace, sight);
        break;
    case SIGHT_RECEIVE:
        see_receive(trace, sight);
        break;
    case SIGHT_NOTE:
        see_note(trace, sight);
        break;
    case SIGHT_VIEW:
        rule_enter(trace, sight->rank, sight->epoch, sight->members->low);
        take_held(trace, sight->rank);
        break;
    case SIGHT_LANE:
    case SIGHT_WAIT:
    case SIGHT_WAITED:
    case SIGHT_LAPSED:
    case SIGHT_CLOSE:
        see_lane(trace, sight);
        break;
    default:
        if (sight->task < trace->tasks) {
            see_task(trace, sight);
        }
    }
}

#endif
