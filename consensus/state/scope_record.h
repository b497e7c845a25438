/* scope_record.h - what a core keeps of a scope until it has ended on every rank. */
#ifndef CONSENSUS_STATE_SCOPE_RECORD_H
#define CONSENSUS_STATE_SCOPE_RECORD_H

#include "consensus/state/task_record.h"

/* A member's account of a scope that is about to end. */
struct scope_report {
    bool known, rests, ready, swept;
    uint64_t answered; /* the round of its last ANSWER */
    uint64_t count, sent, received;
    struct rollsum sum;
};

/* A scope that has ended, and in which view this rank heard of it. */
struct ended {
    uint64_t mark, epoch;
    uint64_t number; /* so many had, from 1 */
    bool from_lowest;
};

/* A scope that this rank has met and that has not ended everywhere (scope.c). */
struct scope_record {
    uint64_t mark;  /* hash_scope() of its tasks */
    moot_hash hash; /* its own, or that of a task in it */
    struct scope_record *next, *bucket_next, *watch_next;
    struct task_record *tasks; /* list */
    uint64_t count;            /* of them, on this rank's roll, */
    struct rollsum sum;        /* and their sum */
    uint64_t sent, received;   /* messages about its tasks, in this epoch */
    bool closed, released;     /* here, by the program */
    bool watched;              /* on the list of those that may be ready soon */
    bool touched;              /* a message was about it since `cursor` began */
    bool rests, rested;        /* here; everywhere */
    bool told_rests, told_ready,
        told_swept; /* what the lowest member knows, with these: */
    uint64_t told_sent, told_received;
    bool sweep_asked, swept; /* T1a */
    bool dropping, alike;
    bool feeds_looked;
    struct task_record *cursor; /* none before it is busy; NULL: begin anew */
    struct task_record *feeder; /* none before it feeds a task outside, */
    struct edge *feeding; /* none of its edges before this one; NULL: begin anew */
    struct scope_report *tally; /* lowest member: per rank */
    uint32_t tally_count;       /* of ranks */
    uint32_t known;             /* so many members have said something, */
    uint32_t awaited;           /* and all below this one, or have closed */
    uint64_t asked;             /* the round in which this rank is to ANSWER; 0: none */
    uint64_t asked_after;       /* so many scopes had ended when it was asked last */
    uint64_t round;             /* of asking; 0: none */
    uint64_t round_open;        /* answers still to come; 0: it is over */
    bool round_failed, sweep_sent;
};

#endif
