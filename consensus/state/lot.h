/* lot.h - what is kept of lots: tasks that go together although the chunks that they
 * stand in do not equal all members' (reclaim/lot.c).
 */
#ifndef CONSENSUS_STATE_LOT_H
#define CONSENSUS_STATE_LOT_H

#include "consensus/state/chunk.h"
#include "hashing/moot_hash.h"
#include "proto/limits.h"

/* Tasks of a lot, and marks that stand behind them. */
enum { LOT_MARKS = 8, LOT_TASKS = 1024, LOT_TELLS = 256 };
static_assert(LOT_TASKS + LOT_MARKS <= LIMIT_LOT_HASHES, "a lot is one message");

/* One that this rank has agreed to let go of, until it knows the outcome. */
struct lot {
    struct lot *next;
    struct chunk_name name;
    bool stayed; /* it was leaving when this view began, and its tasks are yet to be
                    reported, */
    uint32_t reported; /* but for so many */
    uint32_t count;
    moot_hash hashes[];
};

enum lot_stage {
    LOT_NONE,
    LOT_ASKED, /* who objects? */
    LOT_BOUND  /* who would not let go of the rest? */
};

struct lots {
    bool on;           /* ranks differ: chunks may never be equal everywhere */
    struct lot *first; /* those that this rank has agreed to */
    /* The one that this rank asks about, as the owner of its tasks. */
    uint8_t stage; /* enum lot_stage */
    uint64_t number;
    moot_hash *items; /* with the marks behind them */
    uint8_t *said;    /* of each, LOT_OBJECTED, LOT_LACKED */
    uint32_t count, marks;
    uint32_t answers_open;
    bool all_agree;
    uint64_t sent, received;
    struct chunk_name name; /* once it is bound */
    /* Where it looks on, and not before then from the beginning. */
    uint32_t lane;
    uint64_t position;
    bool old; /* marks may stand behind what it has taken so far */
    uint64_t again_ns;
    uint64_t looked_len; /* of the roll, when it began to look at all of it last */
};

#endif
