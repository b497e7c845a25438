/* chunk.h - what is kept of the chunks of rolls, of one's own and of peers', and of
 * what is about to be dropped by chunks.
 */
#ifndef CONSENSUS_STATE_CHUNK_H
#define CONSENSUS_STATE_CHUNK_H

#include "hashing/rankset.h"
#include "hashing/rollsum.h"

struct held;

/* Facts about the tasks of a chunk, counted so that nobody has to look at them
 * (release_count.c). */
struct chunk_facts {
    uint32_t quiet;       /* so many could be dropped as far as they go themselves */
    uint64_t said, heard; /* messages about these, in this epoch */
    /* Positions in its lane; 0: none. */
    uint64_t feeds_first; /* the first of its tasks that a task outside takes, */
    uint64_t feeds_last;  /* and the last task outside that takes one of its */
    uint64_t takes_last;  /* the last of its tasks that takes one outside */
    bool feeds_elsewhere; /* one that has no place behind it in this lane */
};

/* On its way out of a scope that goes on (reclaim.c). */
enum chunk_stage {
    CHUNK_STAYS,
    CHUNK_OFFERED, /* this rank has said that all of it is released here */
    CHUNK_LEAVING  /* asked again, it has said that this stays so until the outcome */
};

struct chunk {
    uint64_t first;
    uint32_t count;
    struct rollsum sum;
    uint8_t stage;  /* enum chunk_stage */
    bool all_ready; /* lowest member: every member has offered it */
    bool cut; /* for the sake of memory (split.c): it is offered in any case, and */
    bool cut_told; /* held by all when all have told so by its name; this rank has */
    bool stayed;   /* it was leaving when this view began, and is yet to be reported */
    struct chunk_facts facts;
    uint32_t looked;     /* so many of its tasks, from the first, were found released */
    uint32_t quiet_then; /* facts.quiet, when all of it was looked at last */
    uint32_t live;       /* tasks not forgotten */
    uint64_t lot_at;     /* its tasks are offered one by one when the lane is so long */
    struct rankset holders; /* ranks with an equal chunk, wherever it stands there */
    /* Above direct_max members (disseminate.c): */
    uint32_t before; /* so many members before this rank have it, without a gap */
    uint32_t told;   /* of them, when it was last told */
    uint8_t turn;    /* partners told */
    uint8_t waited;  /* turns let pass since */
    uint8_t rounds;  /* of all partners, before this one */
};

/* An announcement by a peer that nothing of ours has matched yet. */
struct announced {
    uint32_t lane;
    uint32_t count;
    uint64_t first;
    uint64_t scope; /* of its tasks; 0: none */
    struct rollsum sum;
    uint32_t before; /* it goes for so many members before the announcer, too */
    bool partial;
    bool cut;     /* its announcer has cut it for the sake of memory, */
    bool split;   /* and the same stands here */
    bool wanted;  /* its hashes are asked for */
    bool differs; /* our lane has all these positions, and other tasks there */
};

/* A chunk, wherever it stands on a roll. */
struct chunk_name {
    struct rollsum sum;
    uint32_t count;
};

/* A chunk that may be dropped, as the lowest member knows it (reclaim_round.c). */
struct offer {
    struct chunk_name name;
    struct rankset ready;    /* members that have offered it */
    bool doubted;            /* of an older view: has anyone dropped it? */
    bool asked;              /* in the present round, and so far: */
    bool all_agree, dropped; /* all still offer it; somebody has dropped it */
    uint64_t sent, received;
};

/* One that was dropped: who had asked, in which of its rounds. */
struct recent {
    struct chunk_name name;
    uint32_t from;
    bool lot;
    uint64_t round, epoch;
};

/* Chunks that leave before their scope ends (reclaim.c). */
struct drop {
    uint64_t news_seen;   /* core->state.released_ever when this rank looked last; */
    uint64_t moves_seen;  /* when it began to look */
    uint64_t looked_ns;   /* when it looked at tasks last */
    uint32_t lane, chunk; /* where it looks on */
    bool counts;          /* it may be on here (release_count.c) */
    bool thorough;        /* it looks at tasks, where counts say nothing */
    bool moves; /* since it began a count did not stand still, or no more was to be
                   offered */
    uint32_t leaving;      /* chunks, */
    uint64_t leaving_last; /* none of whose tasks stands behind this in its lane */
    uint32_t press;   /* memory is short here: drop whatever drop_above says, in pieces
                         of so many tasks; 0: it is not */
    uint32_t cuts;    /* chunks that are cut, of which something is left; */
    bool cuts_untold; /* some of them this rank is yet to tell of; */
    bool cuts_wait;   /* others' that it is to make when what is leaving has stayed */
    struct held *held_first, **held_last; /* what came about these meanwhile */
    struct recent *recent; /* dropped, perhaps not yet by all: of one round of each
                              who asks */
    uint32_t recent_count, recent_room;
    /* The lowest member. */
    struct offer *offers;
    uint32_t offer_count, offer_room;
    uint64_t round;
    uint32_t answers_open; /* of the round; 0: none is open */
};

#endif
