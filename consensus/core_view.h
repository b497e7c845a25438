/* core_view.h - looks at a core, for the host's decisions, its reports, and tests.
 *
 * No look changes what a core does.  Where one takes a core that is not const, it makes
 * an entry of a stub (core_entry.h).
 */
#ifndef CONSENSUS_CORE_VIEW_H
#define CONSENSUS_CORE_VIEW_H

#include "consensus/core.h"
#include "hashing/some_elements.h"

/* --- What may be spawned ---------------------------------------------------------- */

/* Whether any plain task can be registered now, at top level and in no scope, whatever
 * its hash, with all ranks for candidates or, if `owner_plus_one` is not 0, with that
 * rank, which is below 64.  Only memory can lack. */
bool core_takes_any(const struct core *core, uint32_t owner_plus_one);
/* Memory put aside is in use (options.spare_bytes): a program's spawn is to be
 * refused with NO_MEMORY.  A kernel's is not: others count on its task. */
bool core_is_short(const struct core *core);
/* The host has no memory: what was put aside is given back; true: so it is worth
 * another try. */
bool core_give_spare(struct core *core);
/* The task belongs to a scope that has ended on every rank: nothing is known of it. */
bool core_forgotten(const struct core *core, const moot_hash *hash);
/* A once task that has run and been dropped: it is not to be spawned again. */
bool core_lost(const struct core *core, const moot_hash *hash);
/* Why a task with these inputs is not to be spawned any more: it, or an input, is
 * forgotten (SCOPE_CLOSED) or lost (RESULT_LOST); else MOOT_OK. */
int core_refusal(const struct core *core, const moot_hash *hash,
                 const moot_hash *inputs, size_t input_count);
/* The members are deciding whether to drop it: until that is over (some messages, with
 * no help by this rank's lanes) it is neither to be registered nor named as an input.
 */
bool core_is_leaving(const struct core *core, const moot_hash *hash);
bool core_entry_is_leaving(const struct core *core, const void *entry);
bool core_any_leaving(const struct core *core); /* some task is */
bool core_reclaims(const struct core *core); /* drops tasks whose scope has not ended */
/* The task at a position, from 1, of a lane of this rank's, and its call site (NULL:
 * not known), which stays while the core knows the task; false where the lane has none,
 * or it is forgotten. */
bool core_spawned(const struct core *core, uint32_t lane, uint64_t position,
                  moot_hash *hash, const char **site);
/* Tasks that a lane of this rank's has spawned; 0: there is no such lane. */
uint64_t core_roll_len(const struct core *core, uint32_t lane);
/* As far as this rank has heard, that member has spawned the task of this entry. */
bool core_knows_holder(const struct core *core, const void *entry, uint32_t rank);
/* All elements of this array have ended, wherever, as far as this rank has heard. */
bool core_array_ended(const void *entry);
/* 1 + the least index of its elements that ended otherwise than well, as is known here;
 * 0: of none. */
uint64_t core_array_fault(const void *entry);
/* How many elements the array has; 0: it is none, or this core has not heard of that.
 */
uint64_t core_array_count(const void *entry);
/* This rank has closed the scope, by name. */
bool core_scope_closed(const struct core *core, const moot_hash *scope);

/* The index-th of the views before the present one that not all of its members had
 * settled when it was decided, oldest first; false: there are not so many.  The members
 * live until the next view. */
bool core_past(const struct core *core, uint32_t index, uint64_t *epoch,
               const struct rankset **members);

/* True if a MOTION that carries a spec should be adopted: it passes Rule E, this rank
 * chairs the task and does not hold it.  Likewise an ELEMENTS, by a home of an array
 * that is asked for its stretch.  The host then registers it with CORE_TASK_ADOPTED
 * before it feeds the message itself. */
bool core_would_adopt(const struct core *core, uint32_t from, uint64_t uid,
                      const struct message *message);

/* The rank leaves, as far as this one knows: it may adopt nothing more. */
bool core_goes(const struct core *core, uint32_t rank);

/* A lane's wait for the end of this task, whose entry this is, may be an AWAIT, with
 * others: it stands on that lane's roll, and all who hold it are likely to wait. */
bool core_may_await(const struct core *core, uint32_t lane, const void *entry);

enum core_own { CORE_OWN_NONE, CORE_OWN_WAIT, CORE_OWN_RUNNING, CORE_OWN_DONE };
enum core_have { CORE_HAVE_NOTHING, CORE_HAVE_BARE, CORE_HAVE_DATA };

/* core_lack: what a task without an owner lacks, as its chair has it.  X(name, "text").
 */
#define CORE_LACKS(X)                                                                  \
    X(NOTHING, "nothing")   /* decided, or another rank's to decide */                 \
    X(CANDIDATES, "finder") /* this is a finder: nobody said who may run it */         \
    X(REPORTS, "reports")   /* of members, about what they had before this view */     \
    X(QUORUM, "quorum")     /* this rank is cut off from the majority */               \
    X(VOTERS, "voters")     /* once: that a majority of them accepts the owner */      \
    X(HOLDER, "holder")     /* nobody who may run it is known to hold it */            \
    X(EVIDENCE, "evidence") /* this chair is in its own program and may spawn it */    \
    X(DEMAND, "demand")     /* it waits, but its roll is shorter than the asker's */   \
    X(MODE, "mode")         /* what is at hand counts in repair mode only */           \
    X(MOTION, "motion")     /* nobody has asked for it */

enum core_lack {
#define X(name, text) CORE_LACK_##name,
    CORE_LACKS(X)
#undef X
        CORE_LACK_END
};

struct core_task_view {
    bool held, declined, asked; /* asked: this rank has sent a motion */
    uint32_t flags;
    uint64_t position;  /* on this rank's roll, 1-based; 0: not on it */
    uint32_t chair;     /* PLACEMENT_NOBODY if unknown */
    uint32_t owner;     /* PLACEMENT_NOBODY if this rank does not know */
    uint32_t canceller; /* PLACEMENT_NOBODY if this rank knows of none */
    enum evidence evidence;
    enum core_own own;
    enum core_have have;
    int32_t status;   /* once have is not NOTHING, or a verdict */
    uint32_t missing; /* inputs not there yet, if owned */
    uint32_t waits;   /* of this rank: lanes and owned tasks */
    uint64_t need;
    const char *site;
    void *user;
    const moot_hash *first_missing;   /* an input not there yet; NULL if none */
    struct rankset asked_by;          /* as chair */
    struct rankset holders;           /* known to hold it */
    const struct rankset *candidates; /* NULL: all ranks, or not known */
    enum core_lack lack;              /* as chair */
    struct rankset awaited; /* whom a vote waits for: voters, or who reports; members
                               that have not said that they never will hold it */
};
/* False, and nothing to release, if nothing is known of it.  Makes an entry of a stub.
 */
bool core_task_look(struct core *core, const moot_hash *hash,
                    struct core_task_view *out);
void core_task_view_release(struct core_task_view *view);

/* The elements of a task array, as its chair knows of them; others know little. */
struct core_array_view {
    uint64_t count, ended; /* all of them, and those that have ended, wherever */
    bool keeps;            /* this rank is the chair: */
    struct some_elements unspawned; /* nobody's, which no member has spawned */
    struct some_elements unclaimed; /* whose homes have neither spawned them, */
    struct rankset lacking;         /* which are these, nor given them up */
    struct rankset partial; /* those of them that have spawned others of its elements */
    struct rankset homes;   /* that have spawned theirs, of which some have not ended */
};
/* False, and nothing to release, if nothing is known of the array.  Makes an entry of a
 * stub. */
bool core_array_look(struct core *core, const moot_hash *hash,
                     struct core_array_view *out);
void core_array_view_release(struct core_array_view *view);

/* One that has begun under this number waits to be let in, as this rank has heard. */
bool core_is_asked_by(const struct core *core, uint32_t rank);

/* The rank has handed over all that it had and starts nothing more: it leaves, or has
 * left. */
bool core_is_ready_to_go(const struct core *core, uint32_t rank);

/* A peer, by what it said last. */
struct core_peer_view {
    uint64_t heard_ns;          /* when; 0: nothing yet */
    struct message_state state; /* .site is owned by the core */
    moot_hash waits_for;        /* if state.waiting */
};
bool core_peer_look(const struct core *core, uint32_t rank, struct core_peer_view *out);

/* Where this rank stands in the tree over the members of a view of many (direct_max);
 * false: there is none. */
enum { CORE_TREE_ARITY = 4 };
struct core_tree_view {
    uint32_t parent; /* PLACEMENT_NOBODY: this is the root */
    uint32_t child_count, children[CORE_TREE_ARITY];
};
bool core_tree_look(const struct core *core, struct core_tree_view *out);

/* The timers as they are now, and what they follow.  Those that concern a peer are of
 * the peer `rank`; CORE_NEVER: it never ends, or there is no failure detection. */
struct core_timers {
    uint64_t ask_delay_ns; /* before `rank`, as a chair, is asked */
    uint64_t vote_timeout_ns, heartbeat_ns, lease_ns;
    uint64_t suspect_ns;                             /* the silence for which it is */
    uint64_t round_trip_ns, round_trip_deviation_ns; /* to it; smoothed */
    uint64_t round_trips;                            /* so many were seen */
    uint64_t longest_gap_ns; /* between two of its heartbeats; fades */
    uint64_t late_claims;    /* of this rank, that the vote timeout is learnt from */
    uint32_t unwell;         /* this rank has been late itself: 0 (not lately) to 3 */
};
bool core_timers_look(const struct core *core, uint32_t rank, struct core_timers *out);

/* core_standing: where a rank that a view has not removed stands; the first that holds.
 * X(name, "text"). */
#define CORE_STANDINGS(X)                                                              \
    X(JOINS, "joins")       /* in no view yet */                                       \
    X(CUT, "cut off")       /* its waits have ended for want of a quorum */            \
    X(BALLOT, "ballot")     /* it has promised, voted or proposed for the next view */ \
    X(REPORTS, "reports")   /* not all have reported in this view */                   \
    X(SETTLES, "settles")   /* what was decided is to be accepted again */             \
    X(LEAVES, "leaves")     /* it drains */                                            \
    X(SUSPECTS, "suspects") /* a member is silent */                                   \
    X(CLOSED, "closed")     /* its program is over */                                  \
    X(WAITS, "waits")       /* its program is in a wait */                             \
    X(RUNS, "runs")

enum core_standing {
#define X(name, text) CORE_STANDING_##name,
    CORE_STANDINGS(X)
#undef X
        CORE_STANDING_END
};

/* This rank, as the protocol has it. */
struct core_self_view {
    enum core_standing standing;
    uint64_t len; /* of its roll */
    bool blocked, closed;
    bool lease;     /* it may start once tasks; true where no lease is needed */
    bool no_quorum; /* its waits have ended with that */
    const struct rankset *members, *suspects;
};
void core_self_look(const struct core *core, struct core_self_view *out);

/* Calls `see` for tasks that this rank owns and has not finished, and for those that it
 * was asked for and has not decided, until it returns false. */
void core_each_open(const struct core *core,
                    bool (*see)(void *context, const moot_hash *hash), void *context);

/* Calls `see` for each task that this rank waits for (a lane, or an owned task's
 * missing input) and has not got. */
void core_each_wait(const struct core *core,
                    void (*see)(void *context, const moot_hash *hash), void *context);

struct core_stats {
    uint64_t registered, claimed, adopted;
    uint64_t pruned;               /* of those registered: as stubs */
    uint64_t yields[EVIDENCE_END]; /* votes that this rank cast as chair, by evidence */
    uint64_t owned_by_decision;
    uint64_t motions_sent, results_pushed, results_answered, pulls_sent;
    uint64_t seeks_sent, polls_sent, verdicts;
    uint64_t crashed; /* tasks that this rank, as their chair, ended with CRASHED */
    uint64_t returned, handed_over; /* leaving: tasks not started; results */
    uint64_t sent[MESSAGE_TYPE_END], received[MESSAGE_TYPE_END];
    uint64_t results_relayed; /* bytes of others' results, to who was referred here */
    uint64_t referred; /* askers that this rank, as an owner, has sent to others */
    uint64_t results_dropped; /* a second copy, or nobody wanted it */
    uint64_t refused;         /* messages that Rule E or a check turned away */
    uint64_t violations;      /* a peer broke an invariant (I1, I6) */
    uint64_t tasks;           /* records now; SCOPED ones go when their scope ends */
    uint64_t forgotten, scopes_ended, late; /* tasks; scopes; messages about these */
    uint64_t dropped;                       /* of those forgotten, before their scope */
    uint64_t let_go; /* of `tasks`: the program uses them no more */
    uint64_t
        signatures_differing; /* ranks that are told to differ, this one included */
    uint64_t rolls_differing; /* ranks of which other ROLLs came than they sent */
    uint64_t common, partial; /* at adjourn: tasks of this roll that all / not all held,
                                 as far as gossip told */
};
const struct core_stats *core_stats(const struct core *core);

/* The latest step at which all members have told the signature that this rank's program
 * gave; false: there is none. */
bool core_signature_agreed(const struct core *core, uint64_t *step);

/* How many tasks this rank owns and has not finished. */
uint64_t core_unfinished(const struct core *core);
/* How many it was asked for as their chair, and nobody owns yet: counts them. */
uint64_t core_undecided(const struct core *core);

/* How many meetings this rank's program has come to, with those before its time
 * (core_meet_from()). */
uint64_t core_meetings(const struct core *core);
/* The generation that this rank's tasks are of: how they began, by which snapshot.  A
 * newcomer knows it when it is let in.  0: nobody has gone back, and no snapshot. */
uint32_t core_generation(const struct core *core, moot_hash *snapshot);
/* The incarnation that has this number, as far as this rank knows; 0: nobody yet. */
uint64_t core_incarnation(const struct core *core, uint32_t rank);

#endif
