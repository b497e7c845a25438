/* trace_state.h - what the acceptor of trace_test.c knows: the models' variables.
 *
 * Per view: members and past (`mem`, `hist` of the models).  Per rank: the view it is
 * in (`cur`), its roll and lanes (yield.pml), and which REPORTs it has.  Per rank and
 * key: a *place* with the models' per-rank variables of that key.  Messages of a later
 * view are letters that wait (Rule E).  Nothing here comes from a core: all of it is
 * deduced from what ranks were seen to do and say.
 */
#ifndef TESTS_SIM_TRACE_STATE_H
#define TESTS_SIM_TRACE_STATE_H

#include "consensus/sim/engine/sim.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include "proto/copy.h"
#include "proto/limits.h"

#include <stdlib.h>
#include <string.h>

enum { TRACE_RANKS_MAX = 64, TRACE_VIEWS_MAX = 512, TRACE_LANES_MAX = 8 };

/* X(name, "the transition, as the models have it"): counted, so that a run can show
 * that it was not accepted for want of anything to judge. */
#define TRACE_RULES(X)                                                                 \
    X(REGISTER, "T1 register")                                                         \
    X(CLAIM, "T2 claim")                                                               \
    X(MOTION, "T3 motion")                                                             \
    X(YIELD, "T5 yield")                                                               \
    X(DECIDE, "T6 decision")                                                           \
    X(OWN, "T7 a decision arrives")                                                    \
    X(RUN, "T7 run")                                                                   \
    X(CONSUME, "consume")                                                              \
    X(SERVE, "RESULT of a copy")                                                       \
    X(REFER, "T11 refer")                                                              \
    X(RELAY, "T11 RESULT of a relay")                                                  \
    X(PART, "T11 a part, before all are here")                                         \
    X(PROPOSE, "T8 ACCEPT")                                                            \
    X(ACCEPT, "T8 ACK")                                                                \
    X(FINAL, "T8 quorum")                                                              \
    X(HIST, "a view's past")                                                           \
    X(ENTER, "Entering")                                                               \
    X(REPORT, "Entering: REPORT")                                                      \
    X(READ, "Entering: all REPORTs read")                                              \
    X(SETTLE, "Entering: SETTLED")                                                     \
    X(MAYBE, "MAYBE_RAN")

enum trace_rule {
#define X(name, text) RULE_##name,
    TRACE_RULES(X)
#undef X
        RULE_END
};

/* rec[] and acc[]: a rank, or one of these. */
enum { REC_NONE = -1, REC_MAYBE = -2 };
enum own { OWN_NOT, OWN_WAIT, OWN_RUN, OWN_DONE };
enum have { HAVE_NOTHING, HAVE_BARE, HAVE_DATA };

struct place {
    uint32_t position; /* idx: 1-based; 0: not on the roll */
    bool holds, declined, local_ask;
    uint32_t waits; /* of lanes */
    uint64_t bound; /* need */
    bool unsure;    /* who needs it may be cancelled, and then never asked for it */
    enum own own;
    enum have have;
    int res; /* its owner; REC_NONE */
    /* As chair, in the present view. */
    int rec;
    bool frozen, final;    /* final: decided, and not merely proposed */
    uint64_t asked, acked; /* sets of ranks */
    uint64_t need;         /* the least that was asked with */
    bool hinted, resolved;
    int prop; /* the one value of ACCEPT{cur} */
    uint32_t grounds;
    /* As owner and voter. */
    bool decided; /* DECISION{cur} is here */
    bool offered; /* ACCEPT{cur} is here */
    int offer;
    int acc;
    uint64_t acc_epoch;
    /* T11: of the bytes. */
    uint32_t referred_to; /* the owner said so last, in the view of that epoch */
    uint64_t referred_epoch;
    uint64_t pullers;                /* whose PULL{cur} is here, and unanswered */
    uint32_t parts;                  /* so many came in this view, in order */
    uint8_t passed[TRACE_RANKS_MAX]; /* of these, by puller */
    /* REPORTs of the present view. */
    int rep_own, rep_res, rep_acc;
    uint64_t rep_acc_epoch, rep_at;
    bool rep_maybe;
    /* What its own REPORT must say: as things stood when it entered the view. */
    bool owes_own, owes_result, owes_acceptance;
    int owed_res, owed_acc;
    uint64_t owed_acc_epoch;
    bool owed_payload;
};

/* A message of a view that its receiver has yet to enter. */
struct letter {
    struct letter *next;
    uint32_t from;
    struct message *message; /* a copy */
};

struct party {
    uint64_t epoch; /* cur; 0: not let in yet */
    uint32_t roll_length;
    bool closed;
    int32_t lanes[TRACE_LANES_MAX];
    uint64_t reported;     /* whose last REPORT is here */
    uint64_t told_settled; /* whose SETTLED is here */
    bool read, settled;
    uint64_t result_epoch; /* of the RESULT that it received last */
    struct letter *held;
    /* The newest value for a view that it proposed itself or was told. */
    uint64_t offer_epoch;
    struct past_of {
        uint32_t count;
        uint64_t epochs[TRACE_VIEWS_MAX];
    } offer, past;
    struct place *places; /* by task */
};

struct trace {
    struct sim *sim;
    const struct program *program;
    uint32_t tasks, ranks;
    bool rejected;
    struct {
        bool known;
        uint64_t members, settled; /* settled: who has settled it */
    } views[TRACE_VIEWS_MAX];
    uint64_t newest;
    struct party parties[TRACE_RANKS_MAX];
    uint32_t *starts; /* of once tasks */
    uint64_t counts[RULE_END];
};

#define HAS(set, rank) ((set) >> (rank)&1)
#define BIT(rank) (UINT64_C(1) << (rank))

static inline void *trace_alloc(size_t count, size_t size)
{
    void *memory = calloc(count == 0 ? 1 : count, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static inline struct place *place_of(struct trace *trace, uint32_t rank, uint32_t task)
{
    return &trace->parties[rank].places[task];
}

static inline uint64_t members_of(const struct trace *trace, uint64_t epoch)
{
    return trace->views[epoch].members;
}

/* Members of the view that the rank is in. */
static inline uint64_t members_at(const struct trace *trace, uint32_t rank)
{
    return members_of(trace, trace->parties[rank].epoch);
}

/* Keys with candidates are left to the checkers: no model has them. */
static inline bool is_modelled(const struct trace *trace, uint32_t task)
{
    return task < trace->tasks && trace->program->tasks[task].candidates == 0;
}

static inline bool is_once(const struct trace *trace, uint32_t task)
{
    return trace->program->tasks[task].once;
}

static inline uint32_t chair_in(const struct trace *trace, uint32_t task,
                                uint64_t epoch)
{
    struct rankset members = {.low = members_of(trace, epoch)};
    return placement_chair(sim_hash(trace->sim, task), &members, NULL);
}

static inline uint32_t chair_at(const struct trace *trace, uint32_t task, uint32_t rank)
{
    return chair_in(trace, task, trace->parties[rank].epoch);
}

/* The voters C(chair, epoch), as a set; how many make a quorum. */
static inline uint64_t voters_in(const struct trace *trace, uint32_t task,
                                 uint64_t epoch, uint32_t *quorum)
{
    const struct storm *storm = sim_storm(trace->sim);
    struct rankset members = {.low = members_of(trace, epoch)};
    uint32_t hosts[TRACE_RANKS_MAX] = {0}, voters[LIMIT_VOTERS];
    for (uint32_t i = 0; i < sim_rank_count(trace->sim); i++) {
        if (storm != NULL && storm->hosts != NULL) {
            hosts[i] = storm->hosts[sim_role(trace->sim, i)];
        }
    }
    uint32_t count =
        placement_voters(sim_hash(trace->sim, task), chair_in(trace, task, epoch),
                         &members, hosts, sim_voters(trace->sim), voters);
    uint64_t set = 0;
    for (uint32_t i = 0; i < count; i++) {
        set |= BIT(voters[i]);
    }
    *quorum = count / 2 + 1;
    return set;
}

static inline uint32_t count_of(uint64_t set)
{
    return (uint32_t)__builtin_popcountll(set);
}

/* The key's chair in some view of the rank's past differs from its present one. */
static inline bool is_moved(const struct trace *trace, uint32_t rank, uint32_t task)
{
    const struct party *party = &trace->parties[rank];
    uint32_t chair = chair_at(trace, task, rank);
    for (uint32_t i = 0; i < party->past.count; i++) {
        if (chair_in(trace, task, party->past.epochs[i]) != chair) {
            return true;
        }
    }
    return false;
}

static inline bool has_left(const struct trace *trace, uint32_t rank, int who)
{
    return who >= 0 && !HAS(members_at(trace, rank), who);
}

static inline void place_new_view(struct place *place)
{
    place->asked = place->acked = 0;
    place->need = NEED_NONE;
    place->hinted = place->resolved = place->local_ask = false;
    place->prop = REC_NONE;
    place->grounds = 0;
    place->decided = place->offered = false;
    place->pullers = 0;
    place->parts = 0;
    place->rep_own = place->rep_res = place->rep_acc = REC_NONE;
    place->rep_acc_epoch = place->rep_at = 0;
    place->rep_maybe = false;
}

static inline void place_init(struct place *place)
{
    *place = (struct place){.bound = NEED_NONE};
    place->res = place->rec = place->acc = REC_NONE;
    place_new_view(place);
}

#endif
