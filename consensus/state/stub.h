/* stub.h - what is kept of a task that this rank neither runs nor feeds (stub.c).
 *
 * A stub stands where a record would, in the table and on the pages of the roll, and is
 * told from one by its pieces, of which a record has some.
 */
#ifndef CONSENSUS_STATE_STUB_H
#define CONSENSUS_STATE_STUB_H

#include "hashing/moot_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a task stands: its lane, and its place there, which is never used again. */
typedef uint64_t roll_place;
enum { PLACE_BITS = 48 };
static inline roll_place place_of(uint32_t lane, uint64_t position)
{
    return (uint64_t)lane << PLACE_BITS | position;
}
static inline uint32_t place_lane(roll_place place)
{
    return (uint32_t)(place >> PLACE_BITS);
}
static inline uint64_t place_position(roll_place place)
{
    return place & ((UINT64_C(1) << PLACE_BITS) - 1);
}

enum {
    STUB_LET_GO = 1,  /* the program uses it no more */
    STUB_COUNTED = 2, /* in its chunk's facts, as one that is quiet */
    STUB_ALONE = 4    /* nobody but its chair is a candidate */
};

struct stub {
    moot_hash hash;
    uint8_t pieces; /* 0 */
    uint8_t input_count, after_count;
    uint8_t flags;      /* CORE_TASK_* */
    uint8_t state;      /* STUB_* */
    uint8_t host_words; /* of the host's part, behind the inputs */
    uint16_t chair;
    roll_place place;
    uint64_t position; /* rank-wide */
    const char *site;
    roll_place inputs[];
};

/* Those of task_table.c's slots, and of a roll's pages, that are no records. */
static inline bool is_stub(const void *known)
{
    return known != NULL && ((const struct stub *)known)->pieces == 0;
}

static inline uint32_t stub_lane(const void *stub)
{
    return place_lane(((const struct stub *)stub)->place);
}

#endif
