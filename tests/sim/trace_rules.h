/* trace_rules.h - the models' transitions, as guards and effects on trace_state.h.
 *
 * Each function below is a transition of pure.pml, once.pml or yield.pml; README.md of
 * tests/model names them side by side.  It rejects the run if the model's guard does
 * not hold, and otherwise changes the state as the model does.  Where the code is
 * allowed more than the model, the comment says so and why that is sound.
 */
#ifndef TESTS_SIM_TRACE_RULES_H
#define TESTS_SIM_TRACE_RULES_H

#include "tests/sim/trace_state.h"

static inline void reject(struct trace *trace, const char *rule, uint32_t rank,
                          uint32_t task, const char *why)
{
    trace->rejected = true;
    sim_fail(trace->sim, "model", "%s: rank %u, view %u, %s: %s", rule, (unsigned)rank,
             (unsigned)trace->parties[rank].epoch,
             task < trace->tasks ? trace->program->tasks[task].name : "no task", why);
}

#define GUARD(condition, rule, why)                                                    \
    do {                                                                               \
        if (!(condition)) {                                                            \
            reject(trace, rule, rank, task, why);                                      \
            return;                                                                    \
        }                                                                              \
    } while (0)

/* --- Demand (yield.pml: update()) ------------------------------------------------- */

static inline bool is_listed(const struct program_list *list, uint32_t task)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] == task) {
            return true;
        }
    }
    return false;
}

/* What the rank needs of `input` to run `task`, and has not got. */
static inline bool is_missing(const struct trace *trace, uint32_t rank, uint32_t task,
                              uint32_t input)
{
    const struct program_task *spec = &trace->program->tasks[task];
    enum have have = trace->parties[rank].places[input].have;
    return (have != HAVE_DATA && is_listed(&spec->inputs, input)) ||
           (have == HAVE_NOTHING && is_listed(&spec->after, input));
}

/* need of the task at the rank, and so of the inputs of what it owns.  Inputs have
 * lower indices, so the recursion ends. */
static inline void lower_bound(struct trace *trace, uint32_t rank, uint32_t task,
                               uint64_t bound)
{
    struct place *place = place_of(trace, rank, task);
    if (bound >= place->bound) {
        return;
    }
    place->bound = bound;
    for (uint32_t i = 0; i < task && place->own == OWN_WAIT; i++) {
        if (is_missing(trace, rank, task, i)) {
            uint64_t position = place_of(trace, rank, i)->position;
            lower_bound(trace, rank, i, position < bound ? position : bound);
        }
    }
}

static inline void own_begins(struct trace *trace, uint32_t rank, uint32_t task)
{
    struct place *place = place_of(trace, rank, task);
    place->own = OWN_WAIT;
    for (uint32_t i = 0; i < task; i++) {
        if (is_missing(trace, rank, task, i)) {
            struct place *input = place_of(trace, rank, i);
            uint64_t bound =
                input->position < place->bound ? input->position : place->bound;
            input->local_ask = true;
            input->unsure |=
                place->unsure || trace->program->tasks[task].cancellers != 0;
            lower_bound(trace, rank, i, bound);
        }
    }
}

/* --- Evidence (T5; yield.pml: EVIDENCE) ------------------------------------------ */

static inline bool is_blocked(const struct party *party)
{
    for (int i = 0; i < TRACE_LANES_MAX; i++) {
        if (party->lanes[i] == CORE_LANE_RUNNING) {
            return false;
        }
    }
    return true;
}

/* A newcomer whose roll is not as long yet as that of another (G1): a bound, since it
 * compares with what the others had when it came. */
static inline bool is_behind(const struct trace *trace, uint32_t rank)
{
    uint32_t longest = 0;
    for (uint32_t other = 0; other < trace->ranks; other++) {
        const uint32_t length = trace->parties[other].roll_length;
        longest = length > longest ? length : longest;
    }
    return !HAS(members_of(trace, 1), rank) &&
           trace->parties[rank].roll_length < longest;
}

/* The grounds on which the chair may yield now, as a set of enum evidence.  A vote
 * timeout may have passed at any time, and quiet.pml says when all is quiet. */
static inline uint32_t grounds_of(const struct trace *trace, uint32_t rank,
                                  uint32_t task)
{
    const struct party *party = &trace->parties[rank];
    const struct place *place = &party->places[task];
    uint64_t need = place->need;
    if (place->local_ask && place->bound < need) {
        need = place->bound;
    }
    uint32_t grounds = 1u << EVIDENCE_TIMEOUT | 1u << EVIDENCE_QUIET;
    grounds |= (uint32_t)(trace->program->tasks[task].parent != PROGRAM_NONE)
               << EVIDENCE_NESTED;
    grounds |= (uint32_t)place->declined << EVIDENCE_DECLINED;
    grounds |= (uint32_t)party->closed << EVIDENCE_CLOSED;
    grounds |= (uint32_t)place->hinted << EVIDENCE_HINT;
    grounds |= (uint32_t)(is_blocked(party) &&
                          (need <= party->roll_length || is_behind(trace, rank)))
               << EVIDENCE_BLOCKED;
    return grounds;
}

/* --- T1, T2, T3, T5, T8 ---------------------------------------------------------- */

static inline void rule_register(struct trace *trace, uint32_t rank, uint32_t task,
                                 bool on_roll)
{
    struct party *party = &trace->parties[rank];
    struct place *place = &party->places[task];
    trace->counts[RULE_REGISTER]++;
    place->holds = true;
    if (on_roll && place->position == 0) {
        place->position = ++party->roll_length;
    }
}

/* A running kernel that waits for its child passes its own demand on, and so does a
 * task that waits for the input. */
static inline uint64_t bound_of(const struct trace *trace, uint32_t rank, uint32_t task)
{
    const struct place *places = trace->parties[rank].places;
    uint64_t bound = places[task].bound;
    for (int32_t parent = trace->program->tasks[task].parent;
         parent != PROGRAM_NONE && places[parent].own == OWN_RUN;
         parent = trace->program->tasks[parent].parent) {
        if (places[parent].bound < bound) {
            bound = places[parent].bound;
        }
    }
    for (uint32_t user = task + 1; user < trace->program->task_count; user++) {
        if (places[user].own == OWN_WAIT && is_missing(trace, rank, user, task)) {
            uint64_t of_user = bound_of(trace, rank, user);
            bound = of_user < bound ? of_user : bound;
        }
    }
    return bound;
}

static inline void rule_motion(struct trace *trace, uint32_t rank, uint32_t task,
                               uint32_t to, const struct message_motion *motion)
{
    const struct party *party = &trace->parties[rank];
    const struct place *place = &party->places[task];
    uint64_t bound = bound_of(trace, rank, task);
    trace->counts[RULE_MOTION]++;
    GUARD(motion->holds == place->holds, "T3", "says what is not so of holding it");
    GUARD(motion->len == party->roll_length, "T3", "a roll length that is not its own");
    GUARD(motion->want == WANT_NOTHING || motion->need >= bound, "T3",
          "a need that nobody has");
    GUARD(motion->want == WANT_NOTHING || place->unsure || motion->need <= place->bound,
          "T3", "less need than there is");
    GUARD(motion->want == WANT_NOTHING || chair_at(trace, task, rank) == to, "T3",
          "asks one that is not the chair");
}

/* PICK of the models: the guard of every new record. */
static inline bool may_pick(struct trace *trace, uint32_t rank, uint32_t task,
                            const char *rule)
{
    const struct place *place = place_of(trace, rank, task);
    const char *why = chair_at(trace, task, rank) != rank ? "it is not the chair"
                      : place->frozen                     ? "the key is frozen (I8)"
                      : place->rec != REC_NONE            ? "the record is written (I4)"
                                                          : NULL;
    if (why != NULL) {
        reject(trace, rule, rank, task, why);
    }
    return why == NULL;
}

/* A quorum of the voters has accepted what the chair proposes in this view; a chair
 * that is the only voter need not say what that is. */
static inline bool is_accepted(const struct trace *trace, uint32_t rank, uint32_t task)
{
    const struct place *place = &trace->parties[rank].places[task];
    uint32_t quorum;
    uint64_t voters = voters_in(trace, task, trace->parties[rank].epoch, &quorum);
    return voters == BIT(rank) ||
           (place->prop != REC_NONE &&
            count_of((place->acked | BIT(rank)) & voters) >= quorum);
}

/* once.pml propose(): the first ACCEPT of the view, or, with no other voter, the
 * decision itself.  `winner` may be REC_MAYBE. */
static inline void rule_propose(struct trace *trace, uint32_t rank, uint32_t task,
                                int winner)
{
    struct place *place = place_of(trace, rank, task);
    if (place->prop != REC_NONE) {
        GUARD(place->prop == winner, "T8", "proposes a second winner in one view");
        return;
    }
    trace->counts[RULE_PROPOSE]++;
    GUARD(chair_at(trace, task, rank) == rank, "T8", "proposes, and is not the chair");
    if (place->rec == REC_NONE && winner != REC_MAYBE) {
        if (!may_pick(trace, rank, task, "T8")) {
            return;
        }
        GUARD(HAS(members_at(trace, rank), winner) &&
                  place_of(trace, (uint32_t)winner, task)->holds,
              "T8", "proposes one that does not hold it");
        place->grounds = grounds_of(trace, rank, task);
    } else if (winner == REC_MAYBE && place->rec == REC_NONE) {
        place->rec = REC_MAYBE; /* of an older loss than the model remembers: safe */
    } else {
        GUARD(trace->parties[rank].read && place->rec == winner, "Entering",
              "accepts again what the reports do not say");
    }
    place->prop = winner;
    place->acc = winner;
    place->acc_epoch = trace->parties[rank].epoch;
}

static inline void rule_accept(struct trace *trace, uint32_t rank, uint32_t task,
                               uint32_t to)
{
    struct place *place = place_of(trace, rank, task);
    trace->counts[RULE_ACCEPT]++;
    GUARD(place->offered && chair_at(trace, task, rank) == to, "T8",
          "acknowledges what the chair of its view did not propose");
    place->acc = place->offer;
    place->acc_epoch = trace->parties[rank].epoch;
}

/* The chair writes its record: T2 if `owner` is itself. */
static inline void rule_pick(struct trace *trace, uint32_t rank, uint32_t task,
                             uint32_t owner, enum evidence evidence)
{
    struct place *place = place_of(trace, rank, task);
    bool claims = evidence == EVIDENCE_CLAIM;
    const char *rule = claims ? "T2" : "T5";
    trace->counts[claims ? RULE_CLAIM : RULE_YIELD]++;
    if (!may_pick(trace, rank, task, rule)) {
        return;
    }
    if (is_once(trace, task)) {
        rule_propose(trace, rank, task, (int)owner);
        GUARD(place->prop == (int)owner && is_accepted(trace, rank, task), "T8",
              "decides without a quorum (I9)");
        trace->counts[RULE_FINAL]++;
    } else {
        place->grounds = grounds_of(trace, rank, task);
    }
    GUARD(HAS(members_at(trace, rank), owner) && place_of(trace, owner, task)->holds,
          rule, "gives it to one that does not hold it");
    GUARD(!claims || owner == rank, rule, "claims it for another");
    GUARD(claims || is_once(trace, task) || !place->holds || owner == rank, rule,
          "yields what it could claim");
    GUARD(claims || place->asked != 0 || place->local_ask, rule, "nobody asked");
    GUARD(claims || (place->grounds >> evidence & 1) != 0, rule,
          "the evidence is not there");
    place->rec = (int)owner;
    place->final = true;
    if (owner == rank && place->own == OWN_NOT) {
        GUARD(place->res == REC_NONE, rule, "its result is here already (I6)");
        own_begins(trace, rank, task);
    }
}

/* --- T6, T7 ---------------------------------------------------------------------- */

static inline void rule_decide(struct trace *trace, uint32_t rank, uint32_t task,
                               uint32_t to)
{
    const struct place *place = place_of(trace, rank, task);
    trace->counts[RULE_DECIDE]++;
    GUARD(chair_at(trace, task, rank) == rank, "T6", "decides, and is not the chair");
    GUARD(!place->frozen, "T6", "the key is frozen (I8)");
    GUARD(place->rec == (int)to ||
              (has_left(trace, rank, place->rec) && HAS(place->rep_at, to)),
          "T6", "tells one that is not on record");
}

static inline void rule_own(struct trace *trace, uint32_t rank, uint32_t task)
{
    struct place *place = place_of(trace, rank, task);
    trace->counts[RULE_OWN]++;
    GUARD(place->decided, "T7", "no DECISION of its view is here (Rule E)");
    GUARD(place->holds, "T7", "owns what it does not hold");
    if (place->own == OWN_NOT) {
        GUARD(place->res == REC_NONE, "T7", "its result is here already (I6)");
        own_begins(trace, rank, task);
    }
}

/* The model's once task starts on a DECISION of the present view; the code's also on
 * one of an earlier view, which once.pml (-DSTAYSOWN) shows to be as safe. */
static inline void rule_run(struct trace *trace, uint32_t rank, uint32_t task)
{
    struct place *place = place_of(trace, rank, task);
    trace->counts[RULE_RUN]++;
    GUARD(place->own == OWN_WAIT, "T7", "runs what it does not own");
    place->own = OWN_RUN;
}

/* An idempotent task may start again when its owner is gone: the storm's checker knows
 * who is. */
static inline void rule_start(struct trace *trace, uint32_t rank, uint32_t task)
{
    const bool again = trace->program->tasks[task].idempotent;
    GUARD(!is_once(trace, task) || ++trace->starts[task] == 1 || again, "I3",
          "starts it again");
}

static inline void rule_end(struct trace *trace, uint32_t rank, uint32_t task)
{
    struct place *place = place_of(trace, rank, task);
    GUARD(place->own == OWN_RUN, "T7", "ends what it does not run");
    GUARD(place->res == REC_NONE, "T7", "a foreign result is here (I6)");
    place->own = OWN_DONE;
    place->res = (int)rank;
    place->have = HAVE_DATA;
}

static inline void rule_consume(struct trace *trace, uint32_t rank, uint32_t task,
                                int owner, bool bare)
{
    struct place *place = place_of(trace, rank, task);
    trace->counts[RULE_CONSUME]++;
    GUARD(place->own == OWN_NOT, "consume", "a foreign result for its own task (I6)");
    GUARD(place->res == REC_NONE || place->res == owner, "consume",
          "a second owner's result (I1)");
    place->res = owner;
    if (place->have != HAVE_DATA) {
        place->have = bare ? HAVE_BARE : HAVE_DATA;
    }
}

/* --- T11 ------------------------------------------------------------------------- */

static inline void rule_refer(struct trace *trace, uint32_t rank, uint32_t task,
                              uint32_t to, uint32_t at)
{
    struct place *referred = place_of(trace, to, task);
    trace->counts[RULE_REFER]++;
    GUARD(at != to && at != rank && at < trace->ranks &&
              HAS(members_at(trace, rank), at),
          "T11", "refers to none that could serve");
    referred->referred_to = at;
    referred->referred_epoch = trace->parties[rank].epoch;
}

/* The owner referred `to` to this rank, in the view that both are in, and its PULL is
 * here. */
static inline bool is_pulled(const struct trace *trace, uint32_t rank, uint32_t task,
                             uint32_t to)
{
    const struct party *party = &trace->parties[rank];
    const struct place *of_puller = &trace->parties[to].places[task];
    return HAS(party->places[task].pullers, to) && of_puller->referred_to == rank &&
           of_puller->referred_epoch == party->epoch;
}

/* The bytes that a relay passes on are here: all of it, or that part.  A PULL is
 * answered once, and with the parts in order. */
static inline void rule_relay(struct trace *trace, uint32_t rank, uint32_t task,
                              uint32_t to, const struct message_result *result)
{
    struct place *place = place_of(trace, rank, task);
    trace->counts[RULE_RELAY]++;
    GUARD(result->data == RESULT_BULK, "T11", "answers a PULL without bytes");
    GUARD(place->have == HAVE_DATA ||
              (result->part > 0 && result->part <= place->parts),
          "T11", "passes on bytes that it has not got");
    trace->counts[RULE_PART] += place->have != HAVE_DATA;
    if (result->part > 0) {
        GUARD(result->part == place->passed[to] + 1u, "T11",
              "passes on a part that is not the next");
        place->passed[to]++;
    }
    if (result->part == result->parts) {
        place->pullers &= ~BIT(to);
    }
}

/* A rank may have let go of bytes that were here once.  Too rare for the quick set to
 * count. */
static inline void rule_away(struct trace *trace, uint32_t rank, uint32_t task,
                             uint32_t to)
{
    struct place *place = place_of(trace, rank, task);
    GUARD(is_pulled(trace, rank, task, to), "T11", "is away to one that did not ask");
    GUARD(place->own == OWN_NOT, "T11", "is away, and owns it");
    place->pullers &= ~BIT(to);
}

/* OWNERS_RESULT, and SERVED_RESULT of who was told to serve by the chair. */
static inline void rule_result(struct trace *trace, uint32_t rank, uint32_t task,
                               uint32_t to, const struct message_result *result)
{
    const struct place *place = place_of(trace, rank, task);
    GUARD(place->res != REC_NONE &&
              sim_uid(trace->sim, (uint32_t)place->res) == result->owner_uid,
          "RESULT", "sends a result that it has not got");
    if (place->own == OWN_DONE) {
        if (result->at != 0) {
            rule_refer(trace, rank, task, to, result->at - 1);
        }
        return;
    }
    GUARD(result->at == 0, "T11", "refers, and is not the owner");
    if (!result->handover && is_pulled(trace, rank, task, to)) {
        rule_relay(trace, rank, task, to, result);
        return;
    }
    bool chair = chair_at(trace, task, rank) == rank && place->rec == place->res &&
                 has_left(trace, rank, place->rec);
    trace->counts[RULE_SERVE]++;
    GUARD(place->have == HAVE_DATA, "RESULT", "serves bytes that it has not got");
    GUARD(place->decided || chair, "RESULT", "serves a copy that nobody told it to");
}

#endif
