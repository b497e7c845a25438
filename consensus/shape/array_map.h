/* array_map.h - which elements of an input an element of a task array takes.
 *
 * A map has two functions of one number, each the other's inverse: `sources` says which
 * elements of the input's array an element takes, in order; `targets` says which
 * elements of the array take a given one of the input's.  `targets` may be left out:
 * then it is worked out from `sources` by whoever needs it.
 *
 * Answers are ranges of indices, in the order in which their elements are taken.  A
 * map is a pure function of its arguments and numbers, alike on every rank.
 */
#ifndef CONSENSUS_SHAPE_ARRAY_MAP_H
#define CONSENSUS_SHAPE_ARRAY_MAP_H

#include "consensus/shape/range_set.h"

#include <stddef.h>

/* The array that takes and the one that is taken from. */
struct array_counts {
    uint64_t takes, from;
};

/* Both write up to `room` ranges and return how many there are: of more than `room` it
 * is asked again, with room for all.  An error, if a map cannot be with such arguments
 * and counts. */
typedef int (*array_map_fn)(const void *user, const void *args, size_t args_size,
                            uint64_t element, const struct array_counts *counts,
                            struct range *out, size_t room);
/* The most elements that one takes, of arrays of such counts; an error, if the map
 * cannot be for all of them. */
typedef int (*array_most_fn)(const void *user, const void *args, size_t args_size,
                             const struct array_counts *counts, uint64_t *most);

struct array_map {
    const char *name;
    uint32_t version;
    array_map_fn sources;
    array_map_fn targets; /* NULL: not given */
    const void *user;
    array_most_fn most; /* NULL: not given */
};

/* A map and the arguments that it is called with. */
struct array_mapping {
    const struct array_map *map;
    const void *args;
    size_t args_size;
};

/* Built in.  Arguments are words of 8 bytes, the lowest byte first, so that a map has
 * one hash on all machines. */

/* Element i takes element i; an input of fewer elements is an error for those beyond.
 */
extern const struct array_map array_map_same;
/* Every element takes all, in order. */
extern const struct array_map array_map_all;
/* Element i takes i + low .. i + high, in order; two's complement words low, high, and
 * how edges are: ARRAY_EDGE_CUT leaves out what there is not, ARRAY_EDGE_WRAP begins
 * again at the other end (arrays of equal counts; nothing is taken twice). */
extern const struct array_map array_map_window;
enum { ARRAY_EDGE_CUT, ARRAY_EDGE_WRAP, ARRAY_WINDOW_BYTES = 24 };
/* A window of one: words by, edges. */
extern const struct array_map array_map_shift;
enum { ARRAY_SHIFT_BYTES = 16 };
/* The array is `rows` x `columns`, row by row, and the input columns x rows: (r, c)
 * takes (c, r).  Words rows, columns. */
extern const struct array_map array_map_transpose;
enum { ARRAY_TRANSPOSE_BYTES = 16 };
/* Element i takes block i of the input: `size` elements from i * size on, the last
 * block those that are left.  Word size. */
extern const struct array_map array_map_blocks;
enum { ARRAY_BLOCKS_BYTES = 8 };

/* Room for an answer, which is used again for the next one, and grows. */
enum { ARRAY_ANSWER_FEW = 32 };
struct array_answer {
    struct range *ranges; /* the latest answer: these, or more */
    uint32_t room;
    uint32_t wrong; /* which is none, of array_sources(); UINT32_MAX: each is one */
    struct range few[ARRAY_ANSWER_FEW];
};
void array_answer_init(struct array_answer *answer);
void array_answer_release(struct array_answer *answer);

/* The sources of an element: how many ranges.  Checks what it has from the map:
 * MOOT_ERR_LIMIT is of more than LIMIT_INPUTS elements, MOOT_ERR_INVALID of a range
 * that is empty or goes beyond the input's count; NO_MEMORY. */
int array_sources(const struct array_mapping *mapping, uint64_t element,
                  const struct array_counts *counts, struct array_answer *out);
/* The takers of an element of the input.  Ranges that are empty, or go beyond the count
 * of the array, are left out, and what is left of one counts: a wrong inverse costs
 * messages (PROTOCOL.md, rule A13).  LIMIT: more than 2^20 ranges.  Not without
 * `targets`. */
int array_targets(const struct array_mapping *mapping, uint64_t element,
                  const struct array_counts *counts, struct array_answer *out);

/* Whether who takes may rely on being sent what it takes.  So it is with maps that are
 * built in.  A program's map may say one thing to who takes and another to who gives.
 */
bool array_map_is_sure(const struct array_map *map);

#endif
