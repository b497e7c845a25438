/* moot_name.h - which of a job's moots this is: for the names of what ranks leave.
 *
 * A program may open several moots, one after the other, at once, or over parts of its
 * ranks.  Rank 0 of each offers who it is to the launcher, and how many moots it has
 * opened as rank 0; the two make a name that all its ranks know and no other moot of
 * the job has.  The files of the job's first moot have no name in theirs.
 */
#ifndef NODE_RECORD_MOOT_NAME_H
#define NODE_RECORD_MOOT_NAME_H

#include "node/context/context.h"

struct moot_name {
    uint32_t process, number;
};

struct moot_name moot_name_offer(void);
/* That of rank 0. */
void moot_name_take(struct moot *m, const struct moot_name *name);

/* "" of the job's first moot; else "2", or "3-1" where rank 0 is another process. */
const char *moot_name_text(const struct moot *m);
/* This process, as its launcher counts; the moot's rank if that says nothing. */
uint32_t moot_name_process(const struct moot *m);

#endif
