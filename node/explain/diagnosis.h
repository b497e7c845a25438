/* diagnosis.h - what waits hang on, found from ranks' accounts.
 *
 * Each open wait is followed: a task that its owner cannot start leads to the input
 * that it lacks, one whose kernel waits leads to the child, until there is something
 * that waits for no task.  That is the cause.  Waits that lead to the same end, or to
 * tasks for which the same rank lacks the same, are one finding.  The evidence is what
 * ranks said themselves; of a rank that gave no answer, what the one who asked can see.
 */
#ifndef NODE_EXPLAIN_DIAGNOSIS_H
#define NODE_EXPLAIN_DIAGNOSIS_H

#include "consensus/core_view.h"
#include "node/explain/job_snapshot.h"

/* X(name, "word"): the worst first. */
#define CAUSES(X)                                                                      \
    X(DEAD, "dead")     /* who should act has died; the others go on when they         \
                           have agreed on that */                                      \
    X(SILENT, "silent") /* it gives no answer: stopped, or in code without a           \
                           helper */                                                   \
    X(LOST, "lost")     /* what was said does not get through: injected faults */      \
    X(CYCLE, "cycle")   /* tasks wait for each other */                                \
    X(NOBODY, "nobody") /* no rank holds the task, or none that may own it */          \
    X(UNDECIDED, "undecided") /* its chair lacks something to decide who owns it */    \
    X(AWAY, "away")           /* ready at its owner, where no thread runs tasks */     \
    X(LEASE, "lease")         /* a once task whose owner has no lease */               \
    X(SLOW, "slow")     /* its kernel has run for long, or rests after failing; it     \
                           may keep nobody waiting yet if it may never return */       \
    X(ABSENT, "absent") /* its program has not come to where all ranks meet */         \
    X(OPEN, "open")     /* a close waits for a rank whose program goes on */           \
    X(MOVING, "moving") /* it is on its way, as far as can be seen */

enum cause {
#define X(name, text) CAUSE_##name,
    CAUSES(X)
#undef X
        CAUSE_END
};
const char *cause_name(enum cause cause);

enum { CHAIN_MAX = 24 };

struct finding {
    enum cause cause;
    uint32_t culprit; /* who is to act; PLACEMENT_NOBODY: no single rank */
    uint32_t from;    /* LOST: what this rank says to the culprit */
    struct link_of_chain {
        moot_hash hash;
        uint32_t rank;    /* its owner, or else its chair; PLACEMENT_NOBODY: unknown */
    } chain[CHAIN_MAX];   /* from what is waited for to the cause */
    uint32_t chain_count; /* 0: a close or a meeting; of several the first one's */
    uint32_t tasks;       /* how many different ones stand at the chains' ends */
    bool elements;        /* it is about elements of the array at the chain's end */
    moot_hash root;       /* SLOW: the task whose kernel runs; zero: none does */
    uint32_t cycle_begin; /* CYCLE: where in the chain */
    bool cut;             /* the chain goes on */
    struct rankset waiting; /* ranks that it keeps waiting */
    uint32_t waits;         /* how many waits */
    uint64_t since_ns;      /* the oldest of these */
    enum core_lack lack;    /* UNDECIDED, NOBODY */
    struct rankset awaited; /* who has to speak before there is a vote */
    struct rankset busy;    /* NOBODY, CYCLE: whose programs keep the moot from
                               finding out that all is quiet */
    struct rankset barred; /* NOBODY: who hold it, and are no candidates; the culprit is
                              its chair then */
    struct rankset candidates; /* NOBODY: who alone may own them; empty: all, of some */
    moot_hash *ends;           /* of all its chains, while these are followed */
    size_t end_count, end_room;
};

/* Two ranks that say different things of one task. */
struct dispute {
    moot_hash hash;
    uint32_t rank, other; /* `rank` says that `owner` owns it, */
    uint32_t owner;
    uint32_t other_owner; /* and `other` this; PLACEMENT_NOBODY: it does not */
};

enum { FINDINGS_MAX = 32, DISPUTES_MAX = 8 };
struct diagnosis {
    struct finding findings[FINDINGS_MAX]; /* the worst first */
    uint32_t finding_count;
    uint32_t more; /* waits whose causes found no room */
    struct dispute disputes[DISPUTES_MAX];
    uint32_t dispute_count;
};

/* NULL without memory. */
struct diagnosis *diagnosis_new(const struct picture *given);
void diagnosis_free(struct diagnosis *diagnosis); /* accepts NULL */

#endif
