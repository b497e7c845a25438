/* peer_record.h - what a core keeps of its own roll, lane by lane, and of each peer. */
#ifndef CONSENSUS_STATE_PEER_RECORD_H
#define CONSENSUS_STATE_PEER_RECORD_H

#include "consensus/state/chunk.h"
#include "consensus/state/task_record.h"
#include "consensus/state/timers.h"

/* Up to so many ranks everyone speaks with everyone: rolls and states are told to all,
 * and the coordinator polls them itself.  Above that they go along the tree and by
 * dissemination (disseminate.c), and what is kept per peer is kept of few. */
enum { PEERS_ALL_MAX = 64, PARTNERS_MAX = 14, PARTS_MAX = 16 };
static_assert(1u << PARTNERS_MAX >= LIMIT_RANKS, "every member is within reach");
struct lane_record {
    enum core_lane_state state;
    struct page *pages; /* the roll's tasks, `len` of them (forget.c) */
    uint32_t page_room;
    uint64_t len;
    struct chunk *chunks;
    uint32_t chunk_count, chunk_room;
    uint32_t chunk_last;     /* whose facts were asked for; any number */
    uint32_t chunks_dead;    /* of which nothing is left */
    struct rollsum open_sum; /* of what stands behind the last chunk */
    uint64_t open_first;
    uint64_t open_scope;
    uint32_t open_forgotten;
    struct chunk_facts open_facts;
    uint64_t announced; /* positions told to peers so far, partial chunk included */
    uint64_t *agreed;   /* per rank: its lane equals ours up to here */
    /* Above direct_max members, instead: */
    struct chunk part[PARTS_MAX]; /* of chunks that were not whole when told */
    uint32_t part_count;
    uint32_t chunks_told; /* chunks before this one have been told to all partners */
};

/* Signatures of its state that a program gave, of which the latest are kept, and so
 * many classes of earlier ones (consensus/signature/kept_signatures.c). */
enum { SIGNATURES_KEPT = 64, SIGNATURES_LATEST = 32, SIGNATURE_CLASSES = 32 };
static_assert(SIGNATURES_KEPT - SIGNATURES_LATEST >= SIGNATURE_CLASSES,
              "of more old ones than that one can go");
struct signatures {
    uint32_t count;
    struct kept_signature {
        uint64_t step;
        moot_hash hash;
        bool told, asks, answered; /* of one's own */
    } items[SIGNATURES_KEPT];      /* by step */
};

/* ROLLs from one rank to another, in this view. */
struct rolls_said {
    uint64_t count, sum;
};

/* Words that the host has had about a rank (CORE_OUT_SIGNATURE). */
enum { TOLD_DIFFERS = 1, TOLD_CONTRADICTED = 2, TOLD_ROLLS = 4 };

/* A peer, as this rank knows it from the peer itself.  Up to PEERS_ALL_MAX ranks there
 * is a record for each; above that only for those with whom there was something to
 * do. */
struct peer {
    uint32_t rank;
    uint64_t heard_ns;
    uint64_t granted_ns;     /* when this rank last granted it a lease */
    uint64_t grant_token_ns; /* when the heartbeat left that it granted last, */
    uint64_t granted_epoch;  /* in this epoch */
    uint64_t vouched_ns;     /* until then another member's word stands for it */
    uint64_t told_view_ns;   /* not told the present view again before */
    uint64_t spoke_epoch; /* the last in which it was heard while this rank was there */
    struct rankset suspects; /* whom it says that it suspects */
    struct message_state state;
    uint64_t state_stirs; /* how much had stirred when it came (timers.c) */
    char *site;
    moot_hash waits_for;
    struct announced *announced; /* unresolved ones */
    uint32_t announced_count, announced_room;
    uint32_t open_count;        /* those from here on differ from our roll for good */
    struct estimate round_trip; /* from a heartbeat to its grant, but for the first */
    bool trip_seen;
    uint64_t beat_ns; /* when its last heartbeat came, */
    uint64_t gap_ns;  /* and the longest between two; fades */
    uint64_t wins;    /* yields given to it by this chair */
    bool swept;       /* T1a is done towards it: it has closed and knows what we hold */
    struct message_pollr pollr;
    moot_hash orphan;
    struct rolls_said rolls_told, rolls_heard;
    struct rolls_said rolls_claimed; /* by it, and not compared yet; count 0: nothing */
    struct signatures *signatures;   /* as far as it has told; NULL: none */
    uint64_t contradicted;     /* a step, plus 1, at which the most have not what */
    moot_hash contradicted_by; /* it has, but this; 0: none is known */
    uint8_t told_of;           /* TOLD_* */
};

#endif
