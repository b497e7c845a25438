/* job_snapshot.h - several ranks' accounts side by side, and what they say together.
 *
 * Gatherers of accounts (snapshot_query.h over the moot, `moot state` from a socket)
 * put them into seats, one per rank; nothing here knows where they came from.
 */
#ifndef NODE_EXPLAIN_JOB_SNAPSHOT_H
#define NODE_EXPLAIN_JOB_SNAPSHOT_H

#include "node/explain/rank_snapshot.h"

struct seat {
    const Moot__Account *account; /* NULL: it has not answered */
    uint64_t age_ns;              /* of what it said, when the picture was taken */
    uint64_t asked_ns;            /* no answer for so long; 0: not asked */
};

struct picture {
    uint32_t rank, size; /* who gathered them */
    struct seat *seats;  /* size of them; that of `rank` has an account */
    struct told *told;   /* what all say of tasks, by hash and rank; NULL: not sorted */
    size_t told_count;
};

/* Sorts what the accounts say, so that a task is found among those of thousands of
 * ranks without going through all of them.  Without memory all is as before. */
void picture_sort(struct picture *picture);
void picture_unsort(struct picture *picture);

/* What is said of a task, rank by rank: picture_next() until it is false. */
struct said {
    uint32_t rank;
    const Moot__Account__Task *task; /* as this rank has it */
    const struct picture *picture;
    const moot_hash *hash;
    size_t at;
};
struct said picture_said(const struct picture *picture, const moot_hash *hash);
bool picture_next(struct said *said);

/* What rank `by` says of the task; NULL: nothing. */
const Moot__Account__Task *picture_task(const struct picture *picture, uint32_t by,
                                        const moot_hash *hash);
/* What the one who gathered them says of a peer; NULL: nothing. */
const Moot__Account__Peer *picture_peer(const struct picture *picture, uint32_t rank);

/* What has been said of a task's chair and owner; accounts are heard rank by rank. */
struct picture_word {
    uint32_t owner, chair; /* PLACEMENT_NOBODY: none is named */
    bool owns;             /* the owner says so itself */
};
#define PICTURE_NO_WORD                                                                \
    ((struct picture_word){.owner = PLACEMENT_NOBODY, .chair = PLACEMENT_NOBODY})
void picture_hear(const struct picture *picture, uint32_t by,
                  const Moot__Account__Task *task, struct picture_word *word);

/* Who owns the task: by its own word before others'.  PLACEMENT_NOBODY: none says. */
uint32_t picture_owner(const struct picture *picture, const moot_hash *hash);
/* Its chair, as who gathered them has it, or else anyone. */
uint32_t picture_chair(const struct picture *picture, const moot_hash *hash);
/* Who says that it holds it, or of whom others know that it does; false without memory.
 */
bool picture_holders(const struct picture *picture, const moot_hash *hash,
                     struct rankset *out);
/* Who alone may own it, as the first who knows says; empty: all ranks, or nobody says.
 * False without memory. */
bool picture_candidates(const struct picture *picture, const moot_hash *hash,
                        struct rankset *out);

/* The process has certainly ended, as who gathered them saw. */
bool picture_is_dead(const struct picture *picture, uint32_t rank);
/* So has it, or a view has removed it: it spawns nothing more. */
bool picture_is_gone(const struct picture *picture, uint32_t rank);
/* It was asked, or cannot be asked, and has given no answer. */
bool picture_is_silent(const struct picture *picture, uint32_t rank);
/* Frames from one rank to another do not get through (only under a fault plan). */
bool picture_loses(const struct picture *picture, uint32_t from, uint32_t to);

#endif
