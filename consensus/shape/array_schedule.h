/* array_schedule.h - who takes what from whom, between two task arrays.
 *
 * A schedule is worked out once for a shape: an array, one of its inputs, the map
 * between them, the members and this rank (consensus/PROTOCOL.md, rule A13).  It says
 * for each element that this rank runs where each source of it is, in order; what each
 * other rank sends here; and what this rank sends each other rank.  Every later array
 * of the shape uses it again, so that a step of an iterative program costs a rank its
 * own elements and their edges, however many elements there are in all.
 *
 * Each source here has a *slot*: own elements of the input come first, by place, and
 * then what the other ranks send, one rank behind the other.  What two ranks think that
 * passes between them need not agree: a message names its elements.
 */
#ifndef CONSENSUS_SHAPE_ARRAY_SCHEDULE_H
#define CONSENSUS_SHAPE_ARRAY_SCHEDULE_H

#include "consensus/shape/array_map.h"
#include "hashing/array_spread.h"

/* A larger schedule is refused: its array goes element by element. */
enum { ARRAY_EDGES_MAX = 1 << 20 };

/* All that an array's chairs follow from, beside the members. */
struct array_card {
    struct array_spread spread;
    const struct rankset *homes; /* as many as the spread's */
};

struct array_shape {
    struct array_card takes, from;
    struct array_mapping mapping;
    const struct rankset *members;
    uint32_t rank;
};

/* A rank, and what passes between it and this one: so many from there on. */
struct array_peer {
    uint32_t rank;
    uint32_t first, count;
};

struct array_schedule {
    uint32_t own, own_from;     /* elements of this rank, of either array */
    uint32_t *first;            /* own + 1: where the slots of each begin */
    uint32_t *slots;            /* of its sources, in their order */
    struct array_peer *senders; /* ascending */
    uint64_t *sent;             /* places in the input, ascending for each sender */
    struct array_peer *takers;  /* ascending */
    uint32_t *given;      /* own elements of the input, ascending for each taker */
    bool *is_given;       /* of each of those: some taker has it, */
    uint32_t given_count; /* as of so many */
    uint32_t sender_count, taker_count;
    uint32_t users; /* one when it is made (schedule_cache.h) */
};

/* The places that this rank has of an array: those of the slots that it chairs.  False
 * without memory. */
bool array_share(const struct array_card *card, const struct rankset *members,
                 uint32_t rank, struct range_set *out);
/* The chair of a place; PLACEMENT_NOBODY if no home is a member. */
uint32_t array_place_chair(const struct array_card *card, const struct rankset *members,
                           uint64_t place);

/* Whether every rank can make its schedule, in the view in which all homes are members:
 * MOOT_OK or an error of array_schedule_new(), the same on all.  Of a map that does not
 * say how many an element takes at most nothing is known before. */
int array_schedule_can_be(const struct array_spread *takes,
                          const struct array_spread *from,
                          const struct array_mapping *mapping);

/* Where the shape has no inverse map it looks at all elements of the array, once.
 * MOOT_ERR_LIMIT: it has more than ARRAY_EDGES_MAX edges here, or more elements to look
 * at, or an element more than LIMIT_INPUTS sources; INVALID: the map names what there
 * is not; NO_MEMORY. */
int array_schedule_new(const struct array_shape *shape, struct array_schedule **out);
void array_schedule_free(struct array_schedule *schedule); /* accepts NULL */

/* The memory that it takes, in bytes. */
size_t array_schedule_bytes(const struct array_schedule *schedule);

#endif
