/* psets_private.h - what session.c, psets.c and pset_wishes.c share of process sets.
 *
 * The list only grows: WORLD, SELF, and what was defined, in an order that all ranks of
 * a session share.  A wish is what a program has asked for and no session has yet: at a
 * boundary all ranks hear those of all, and make the same sets of them.
 */
#ifndef NODE_SESSION_PSETS_PRIVATE_H
#define NODE_SESSION_PSETS_PRIVATE_H

#include "node/members/members.h"
#include "node/session/session.h"

struct pset {
    char name[LIMIT_PSET_NAME_BYTES + 1];
    uint32_t count;
    uint32_t *members;      /* ascending */
    const char **processes; /* their names */
    int *ranks;
    bool own;     /* the program defined it, */
    bool deleted; /* and deleted it */
    bool ill;     /* a process of it is gone, and watches know */
};

struct psets {
    char (*names)[MEMBERS_NAME_BYTES]; /* of processes, per member; "": not looked up */
    struct pset *sets;
    size_t count;
    uint32_t worlds; /* moot://all_N, so far */
};

enum { WORLD, SELF, FIRST_DEFINED };

/* The present session is that one of these members; its rank and size follow.  False
 * without memory. */
bool session_set(struct moot *m, uint64_t number, const struct rankset *members);

/* The list is there afterwards; it is made when it is first needed: most programs never
 * do.  False without memory. */
bool psets_make(struct moot *m);
void psets_release(struct moot *m);
/* NULL: there is none of that name. */
struct pset *psets_find(const struct moot *m, const char *name);
/* Adds a set of these members of the moot, with their ranks in the present session. */
bool psets_add(struct moot *m, const char *name, const struct rankset *members);
/* A further moot://all_N, of the members' ranks as the next session has them, if they
 * are others than of the last, and sets of their hosts.  Without memory nothing
 * changes.
 */
bool psets_add_world(struct moot *m, const struct rankset *members);
/* Adds a set of some members of that world, with their ranks as it has them.  False
 * without memory. */
bool psets_add_of_world(struct moot *m, const char *name, const struct rankset *members,
                        const struct rankset *world);
/* WORLD and SELF are those of the present session, and a moot://all_N is of them. */
bool psets_renew(struct moot *m);
/* WORLD and SELF alone: the others are as this rank was told of them. */
bool psets_take_session(struct moot *m);
/* A list with room for WORLD and SELF, and psets_release() without this rank's wishes.
 */
bool psets_begin(struct moot *m);
/* A set as another rank has it. */
bool psets_put(struct moot *m, const char *name, const struct rankset *members,
               bool own, bool deleted, const int *ranks);
void psets_release_list(struct moot *m);
bool psets_has(const struct pset *set, const struct rankset *members);
/* The name of a member of the moot, which stays. */
const char *psets_process(const struct moot *m, uint32_t member);

/* --- host_sets.c ------------------------------------------------------------------ */

/* Adds a moot://host/NAME_k for each host of that world's on which are others than of
 * its last such set.  False without memory. */
bool host_sets_add(struct moot *m, const struct rankset *world);

/* --- session_record.c ------------------------------------------------------------- */

void session_look_around(struct moot *m, uint64_t now_ns);

/* --- joinings.c ------------------------------------------------------------------- */

void joinings_release(struct moot *m);
/* A view with newcomers, and none but once. */
void joinings_add(struct moot *m, uint64_t epoch, const struct rankset *members);
/* Makes sets of those up to that one that there are none of yet. */
void joinings_make(struct moot *m, uint64_t up_to_epoch);
/* The next one behind *at, 0 first, that there is a set of, or is none; false: there is
 * none (more).  The members live until another is added. */
bool joinings_next(const struct moot *m, size_t *at, bool made, uint64_t *epoch,
                   const struct rankset **members);
/* The last that there is a set of; 0: none. */
uint64_t joinings_made(const struct moot *m);
/* There are sets of all up to that one, by what another rank has told. */
void joinings_begin(struct moot *m, uint64_t made_epoch);
/* A session has begun: those of the last one are of no use any more. */
void joinings_forget(struct moot *m);

/* --- pset_wishes.c ---------------------------------------------------------------- */

/* Words that ranks had at the end of the last session, of what they wish: kept until
 * psets_take(), when the next one has begun, makes sets of it.  False without memory.
 */
bool psets_hear(struct moot *m, const void *words, size_t size);
/* Members that have said there that they go, as session_growth() has found it; NULL:
 * nobody. */
const struct rankset *psets_leaving(const struct moot *m);
/* First those of views, of which some rank has made a set. */
void psets_take_joinings(struct moot *m);
void psets_take(struct moot *m);
void psets_forget_wishes(struct moot *m);
/* All that this rank says at the end of a session.  False without memory; else free().
 */
bool session_words_pack(const struct moot *m, bool leaves, uint64_t grow, void **out,
                        size_t *size);

#endif
