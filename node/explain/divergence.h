/* divergence.h - the text of strict mode's report, from plain data.
 *
 * Two columns, as of two files that are compared: what the ranks on either side spawned
 * at the same place of the program, below what both spawned just before.
 */
#ifndef NODE_EXPLAIN_DIVERGENCE_H
#define NODE_EXPLAIN_DIVERGENCE_H

#include "node/config/text.h"
#include "proto/message.h"

enum { DIVERGENCE_BEFORE_MAX = 3, DIVERGENCE_SIDES_MAX = 4 };

struct divergence {
    uint32_t lane;
    uint64_t position; /* of the first difference, from 1 */
    uint32_t witness;  /* the rank whose call sites `before` has */
    uint32_t before_count, side_count;
    struct divergence_spawn {
        moot_hash hash;                    /* zero: nothing more was spawned */
        const char *site, *kernel, *label; /* NULL: not known, or none */
        uint64_t count; /* elements of an array; 0: of none, or not known */
    } before[DIVERGENCE_BEFORE_MAX]; /* alike on all sides, the oldest first */
    struct divergence_side {
        struct divergence_spawn spawn;
        const struct rankset *ranks; /* NULL: none is known */
    } side[DIVERGENCE_SIDES_MAX];
};

/* Lines of 100 columns at most; those that differ begin with '!'.  A path that is too
 * long loses its beginning, another word its end.  A third and a fourth side follow in
 * columns of their own. */
void divergence_compose(struct text *text, const struct divergence *divergence);

/* The same in one line, without its end: what is left where the columns stand already,
 * and what a program that prints its error has of it. */
void divergence_summarise(struct text *text, const struct divergence *divergence);

/* Whether this rank is to tell it where the others' words come out, too: the lowest
 * member does, wherever it stands, in columns; and in a line one rank of each side,
 * since a rank knows its own tasks best, and the lowest may be dead. */
bool divergence_is_told_by(const struct divergence *divergence, uint32_t rank,
                           uint32_t lowest);

#endif
