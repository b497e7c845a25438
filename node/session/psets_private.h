/* psets_private.h - what session.c, psets.c and pset_wishes.c share of process sets.
 *
 * The list only grows: WORLD, SELF, and what was defined, in an order that all ranks of
 * a session share.  A wish is what a program has asked for and no session has yet: at a
 * boundary all ranks hear those of all, and make the same sets of them.
 */
#ifndef NODE_SESSION_PSETS_PRIVATE_H
#define NODE_SESSION_PSETS_PRIVATE_H

#include "node/session/session.h"

struct pset {
    char name[LIMIT_PSET_BYTES + 1];
    uint32_t count;
    uint32_t *members;      /* ascending */
    const char **processes; /* their names */
    int *ranks;
    bool own;     /* the program defined it, */
    bool deleted; /* and deleted it */
    bool ill;     /* a process of it is gone, and watches know */
};

/* The list is there afterwards; it is made when it is first needed: most programs never
 * do.  False without memory. */
bool psets_make(struct moot *m);
void psets_release(struct moot *m);
/* NULL: there is none of that name. */
struct pset *psets_find(const struct moot *m, const char *name);
/* Adds a set of these members of the moot, with their ranks in the present session. */
bool psets_add(struct moot *m, const char *name, const struct rankset *members);
/* WORLD and SELF are those of the present session; a further moot://all_N is defined if
 * the processes are others than of the last.  Without memory nothing changes. */
bool psets_renew(struct moot *m, bool changed);
/* The name of a member of the moot, which stays. */
const char *psets_process(const struct moot *m, uint32_t member);

/* Words that ranks had at the end of the last session, of what they wish: kept until
 * psets_take(), when the next one has begun, makes sets of it.  False without memory.
 */
bool psets_hear(struct moot *m, const void *words, size_t size);
void psets_take(struct moot *m);
void psets_forget_wishes(struct moot *m);

#endif
