/* array_record.h - what a core keeps of a task array, beside the record of its end.
 *
 * An array is a task for whatever is said of it as a whole: who has spawned it, who
 * waits for it, how it ended, when it is forgotten.  That task has a task_record like
 * any other, and this on top (PROTOCOL.md, "Arrays").  Nothing here is of a single
 * element: sets are of places (A4).
 */
#ifndef CONSENSUS_STATE_ARRAY_RECORD_H
#define CONSENSUS_STATE_ARRAY_RECORD_H

#include "consensus/shape/range_set.h"
#include "hashing/array_spread.h"
#include "hashing/rankset.h"
#include "proto/message_elements.h"

struct core;
struct message_spec;
struct task_record;

/* The failure of the element with the least index, of those that failed; or, if one was
 * cancelled, of those that were. */
struct array_failure {
    uint64_t index_plus_one; /* 0: none did */
    int32_t status;
};

/* A rank that has spawned some of an array's elements, and not the others. */
struct array_part {
    uint32_t rank;
    struct range_set set;
};

struct array_record {
    struct array_record *prev, *next; /* in core_elements.known, or .watched, */
    bool due;                         /* whose first ones it is then among */
    struct task_record *task;
    struct array_spread spread;
    struct rankset homes;  /* of its own; empty: the ranks of the first view */
    bool bound;            /* these are its candidates: no other rank runs any of it */
    bool begun;            /* it is spawned here, */
    bool whole;            /* all of it, or else */
    struct range_set part; /* these elements; */
    bool takes;            /* and takes others, which stay until its end is known */
    bool dropping;         /* the host was told to begin none of what it has */
    struct range_set mine; /* this rank's to run, */
    struct range_set left; /* of those, the ones that have not ended, */
    struct range_set told; /* and that have, as its chair was told in this view */
    struct array_failure failure; /* among the others of these */
    struct range_set given_up;    /* of this rank's own stretch: it never runs them */
    bool wanted, wanted_quiet; /* its chair has asked in this view for this stretch, */
    uint64_t need;             /* up to that place */
    uint64_t wanted_ns; /* as its chair: of a portable one, since when somebody has
                           waited for its end, as was seen; CORE_NEVER */
    bool held_asked; /* likewise, whether it has spawned some that nobody seems to have
                      */
    struct range_set ended; /* of all, as far as the chair and the owner know, */
    struct array_failure first_fault; /* and among these */
    struct range_set
        unheld; /* of those, the ones that nobody had spawned in this view, */
    struct array_failure not_held; /* as the first of which they have ended */
    /* The array's chair, in this view: */
    struct range_set owned;   /* somebody's, as it has said, or as it was told; */
    struct range_set spare;   /* nobody's, as their homes have said; */
    struct rankset holders;   /* who has spoken of it, */
    struct array_part *parts; /* and, of those, who has spawned some of it, */
    uint32_t part_count, part_room;
    struct rankset to_tell;     /* and wants to know when all have ended; */
    struct rankset asked;       /* homes that were asked whether they run theirs, */
    struct rankset asked_quiet; /* and when nothing moved any more; */
    struct rankset asked_held;  /* members that were asked whether they hold any; */
    struct rankset strangers; /* and that gave back what they were given, since they do
                                 not hold it, whatever their rolls had been; */
    bool chased;              /* a CHASE has ended at it; */
    bool cancel_said;         /* and all were told that it is cancelled (A14) */
};

/* All that the homes of an array's elements follow from. */
struct array_homes {
    struct array_spread spread;
    const struct rankset *ranks; /* NULL: those of the first view */
    bool bound;
};

/* The ranks that are its homes. */
const struct rankset *array_home_ranks(const struct core *core,
                                       const struct array_record *array);
/* The rank may be given elements. */
static inline bool array_may_run(const struct array_record *array, uint32_t rank)
{
    return !array->bound || rankset_has(&array->homes, rank);
}
/* The array has candidates, of which none is a member: nobody runs what has not ended.
 */
bool array_has_no_candidate(const struct core *core, const struct array_record *array);
/* Says all of that in a message about it. */
void array_put_homes(struct core *core, const struct array_record *array,
                     struct message_elements *message);

/* Accepts NULL. */
void array_record_free(struct core *core, struct array_record *array);
/* The spec of a portable task that this rank holds, or of an array of which it holds
 * all, and of which no cancel is known; or NULL. */
const struct message_spec *spec_to_send(const struct task_record *task);
/* An array of which not all elements are known to have ended: its own end waits for
 * them.  False of any other task. */
bool array_is_open(const struct task_record *task);
/* Its elements start at most once: what a home leaves goes to one rank (A17). */
bool array_has_stretches(const struct array_record *array);
/* Elements that were given to this rank have not ended: it keeps the array. */
bool array_runs_here(const struct task_record *task);
/* The chair knows of no parts any more. */
void array_parts_release(struct array_record *array);
/* The first failure among the elements that have ended, as far as is known here. */
struct array_failure array_first_fault(const struct array_record *array);
/* The failure is the first one so far, in the order of struct array_failure. */
void array_note_failure(struct array_failure *first, uint64_t index_plus_one,
                        int32_t status);
/* The least index of elements, which stand by place. */
uint64_t array_first_index(const struct array_record *array, struct range places);
/* How an array whose elements have all ended ends. */
int32_t array_status(const struct task_record *task);
/* They have, and one was cancelled: so is the array. */
bool array_is_cancelled(const struct task_record *task);

#endif
