/* task_record.h - what a core keeps of one task, whatever this rank is towards it.
 *
 * One record serves every role that a rank can have towards a task: it may hold it,
 * wait for it, chair it, own it, vote on it.  What agreeing ranks touch per task stands
 * in struct task_record; what only divergence or remote askers need stands in a struct
 * requests, made on demand.  A record is kept until the scope of its task has ended on
 * every rank: a rank must be able to say "that one I yielded" for as long as anyone may
 * ask (PROTOCOL.md, "Forgetting").
 */
#ifndef CONSENSUS_STATE_TASK_RECORD_H
#define CONSENSUS_STATE_TASK_RECORD_H

#include "consensus/core.h"
#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "consensus/state/array_record.h"
#include "consensus/state/stub.h"
#include "consensus/state/waits.h"
#include "hashing/placement.h"
#include "proto/limits.h"

struct scope_record;
struct task_record;

enum { WANT_MASK = 3 };
static_assert((int)WANT_DATA <= (int)WANT_MASK, "two bits of a record");

#define NOBODY ((uint32_t)PLACEMENT_NOBODY)
#define REC_MAYBE (NOBODY - 1) /* a chair's record: a once task that may have run */
#define REC_LOST (NOBODY - 2)  /* one whose result is lost, and not to be made again */
#define REC_VERDICT                                                                    \
    (NOBODY - 3) /* one that ends with an error, for all and for good: `ends` says how \
                  */

/* An input of a task: a node in the consumer list of `from`.  Most edges stand in the
 * record of the task that they are an input of, so that this is known by where they
 * are; others behind a pointer to it (edge_to). */
struct edge {
    struct task_record *from; /* NULL if its scope has ended */
    struct edge *next;        /* in from's consumer list; */
    union {
        struct edge **link; /* what points here */
        roll_place place;   /* of an input that is away (stub.c) */
    };
    uint32_t behind; /* so many bytes behind the record, or the pointer */
    bool apart : 1;  /* behind the pointer */
    bool away : 1;   /* from is NULL for now, */
    bool order_only : 1;
    bool waiting : 1; /* counted in the `missing` of what takes it */
    bool lost : 1;    /* forgotten, and with it what the task must know to run */
};
static_assert(sizeof(struct edge) == 32, "each input of a live task costs as much");

/* Someone who asked the chair, or whom a decision told the owner about. */
struct asker {
    uint32_t rank;
    bool holds, hint;
    bool told; /* chair: the owner knows of it; owner: it was answered */
    enum want want;
    uint64_t need, len, waits;
};

/* How a task ends that nobody is to run any more, as its chair has decided; kept by who
 * decided it and by whoever was told (verdict.c). */
struct task_end {
    int32_t code;      /* MOOT_OK: no such thing is known */
    uint32_t by;       /* who decided so, */
    uint64_t epoch;    /* in that view, */
    uint64_t since_ns; /* and when, by this rank's clock; 0: before that began */
};

/* One task, as the reports of this epoch have it. */
struct recovery {
    uint32_t owner, running; /* of a result; of a task that runs; NOBODY */
    uint32_t accepted;       /* voter: the winner last accepted; NOBODY */
    uint64_t accepted_epoch;
    enum evidence evidence;
    bool maybe, lost, seen;
    struct task_end ends;
    struct rankset at; /* who has the result's bytes */
};

/* The requests for a task, made when somebody asks or voters are asked. */
enum { REQUESTS_FEW = 2 };
struct requests {
    struct asker *askers; /* `few`, or an array of its own */
    uint32_t asker_count, asker_room;
    struct rankset never; /* members that said they never will hold it */
    uint64_t first_ask_ns;
    bool seek_sent;
    bool failing; /* finder: all have been asked to hold it back, as nobody holds it */
    bool balloting;
    bool reaccepting;       /* the ballot repeats a record of an older view */
    uint32_t winner;        /* once: the one proposal of this epoch, */
    uint32_t quorum;        /* how many voters it takes, */
    enum evidence evidence; /* and why */
    struct rankset acks;
    struct task_record *undecided_prev, *undecided_next;
    bool undecided;    /* on the chair's list of asked tasks without an owner, */
    uint32_t bound_at; /* and of those by their bound, in this place; 0: not there */
    struct asker few[REQUESTS_FEW];
};

/* Whom the owner of a result has answered in this view, in that order, itself first;
 * and of them, who has the bytes from whom (T11, ownership/spread.c). */
struct spread {
    struct spread_place {
        uint32_t rank, hops; /* from the owner */
        uint32_t children;   /* that have the bytes from it */
    } *places;
    uint32_t count, room;
};

/* The rare part of a task, made on demand: divergence, views, votes of once tasks. */
struct task_ext {
    struct rankset holders;    /* known by motion or by hash; gossip knows more */
    struct rankset seekers;    /* chairs to answer when it is registered here */
    struct rankset pushed;     /* ranks from PUSHED_NEAR on that were sent the result */
    struct spread spread;      /* owner: who has the bytes from whom */
    struct rankset pullers;    /* ranks that wait for the bytes, as this one does */
    uint32_t source;           /* whom it is referred to for the bytes; NOBODY */
    uint32_t parts, parts_all; /* of a result that comes in parts: here, and in all */
    struct recovery *recovery; /* NULL: nothing was reported */
    const struct message_spec *spec;
    struct edge *inputs; /* if they are apart from the record */
    uint64_t accepted_epoch;
    uint32_t accepted;  /* voter: the winner accepted in this epoch; NOBODY */
    uint32_t heir;      /* leaver: whom the result was handed to; NOBODY */
    uint32_t canceller; /* who cancelled it, as far as is known here; NOBODY */
    bool bereft;        /* one who has left was known to hold it */
    uint64_t waits;     /* that need it here (waits.h) */
    bool waits_grew;    /* since it was last asked for */
    uint32_t kept_for;  /* a finder that has asked whether it ends unheld; NOBODY */
    uint32_t runner;    /* who had claimed it when it moved to another chair; NOBODY */
    struct task_end ends;
    struct rankset crashes;     /* ranks that died of it, as far as is known here */
    struct array_record *array; /* it is one; NULL: a task */
};

/* A record is measured in such pieces; to which ranks below PUSHED_NEAR a result was
 * sent stands in it. */
enum { RECORD_PIECE_BYTES = 16, PUSHED_NEAR = 32 };

/* A long run has tens of thousands of these, touched long after one another: what a
 * drop looks at, and undoes, stands in the first two cache lines. */
struct task_record {
    moot_hash hash;
    uint8_t pieces;    /* of the record, the host's part and what is behind it */
    uint8_t inputs_at; /* pieces before them, if they stand in the record */
    uint16_t input_count;
    uint16_t missing; /* inputs not there, while own is WAIT */
    uint16_t lane;
    struct edge *consumers; /* list */
    uint64_t position;      /* rank-wide roll position, 1-based; 0: none */
    uint64_t lane_position; /* in its lane's roll */
    uint8_t own, have, evidence;
    uint8_t flags;      /* CORE_TASK_* if held */
    uint8_t agenda : 4; /* AGENDA_*: why it stands on the agenda */
    bool held : 1, declined : 1;
    bool finder : 1; /* the chair is provisional: candidates exist and are unknown */
    bool frozen : 1; /* as chair: nothing is decided before all have reported */
    bool maybe : 1;  /* once: it may have run (as chair, and as voter) */
    bool lost : 1;   /* its result is, and another run would give another */
    bool seen : 1;   /* somebody knows that it ended well: it is cancelled no more */
    bool cancel_told : 1;   /* in this view, to the chair */
    bool cancel_agreed : 1; /* owner: its chair says that it is to end cancelled */
    bool asked : 1, pulled : 1, pending : 1, ahead : 1, owed : 1, verdict : 1;
    bool late_input : 1;   /* owner: one that it waits for stands behind it */
    bool demanded : 1;     /* a remote rank waits for it, or for what it feeds */
    bool push_holders : 1; /* a lane here waits for it: push it to all who hold it */
    bool on_push_list : 1, on_unfinished_list : 1;
    bool handing : 1;   /* leaver: its heir has not said that it has it */
    bool returned : 1;  /* leaver: it was returned to its chair in this epoch, */
    bool returning : 1; /* which has not answered */
    bool sees_out : 1; /* leaver: it waits for the end of this task, which it spawned */
    bool entrusted : 1;  /* heir: its bytes are kept for one who leaves */
    bool takes_away : 1; /* some of its inputs are away (stub.c) */
    bool let_go : 1;     /* the program uses it no more */
    bool counted : 1; /* in its chunk's facts, as one that is quiet (release_count.c) */
    uint32_t chair;
    uint32_t rec; /* as chair: whom it decided for; NOBODY; REC_* */

    uint32_t owner;             /* whose result is here, or its own; NOBODY */
    uint32_t needs_done;        /* open needs for its end */
    uint32_t needs_data;        /* open needs for its bytes */
    uint32_t users;             /* owned tasks, not done, that take its bytes */
    struct task_ext *task_ext;  /* NULL: as if it had just been made */
    struct requests *requests;  /* NULL: nobody asked */
    uint32_t said, heard;       /* messages about it, in this epoch */
    struct rankset *candidates; /* NULL: all, or unknown if `finder` */
    int32_t status;
    uint32_t lane_needs;        /* those of lanes and of running parents */
    struct scope_record *scope; /* NULL: none */

    uint64_t size; /* of the result */
    uint64_t need; /* demand bound: least over all waits and askers */
    const char *site;
    struct task_record *scope_next, *scope_prev;

    /* The one list that it is on: pending, unfinished, or (`next` alone) to push. */
    struct task_links {
        struct task_record *prev, *next;
        union {
            uint64_t since_ns;   /* when it became pending, if it is; */
            uint64_t asked_need; /* the bound in the last motion, if it is asked for */
        };
    } at;
    uint32_t pushed; /* a bit per rank below PUSHED_NEAR that was sent the result */
    uint8_t asked_want : 2; /* in the last motion, if it is asked for */
    bool lot : 1;           /* it is leaving, in a lot (reclaim/lot.c) */
    bool owner_asked : 1; /* its owner has asked in this epoch to let it go: it ended */
    bool passed : 1;      /* as its chair: this rank's program is a window past it */
    bool named : 1;       /* the program has named it and never spawned it */
    bool suspect : 1;     /* a rank may have died of it: it runs alone (T10) */
    bool leaves : 1;      /* it has ended, and left children running */
    uint8_t room_inputs;  /* so many edges fit behind it */
    uint16_t after_count; /* the last of its inputs, which are order only */
};
static_assert(LIMIT_INPUTS <= UINT16_MAX && LIMIT_LANES <= UINT16_MAX,
              "inputs and lanes are counted in 16 bits");
static_assert(sizeof(struct task_record) <= CORE_ENTRY_BYTES && CORE_ENTRY_BYTES <= 200,
              "the host's part stands behind it; its memory is what a live task costs");
static_assert(offsetof(struct task_record, size) == 128,
              "what a drop looks at: two lines");

#endif
