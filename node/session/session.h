/* session.h - who is in the present session, under which rank, and the process sets.
 *
 * Members of the moot have numbers that are never used again; the core, the wire, and
 * all rooms but api/ and spawn/ speak of these.  A session numbers those of its members
 * anew: session_member() and session_rank() (context.h) translate.  In the first one,
 * and for most programs ever, the two are equal, and `members` is NULL.
 *
 * Which members a session has all of them know from the outcome of the meeting that
 * began it (PROTOCOL.md, *Meetings*), so sets and numbers are alike on every rank
 * without a further word.
 *
 * Under the engine lock.
 */
#ifndef NODE_SESSION_SESSION_H
#define NODE_SESSION_SESSION_H

#include "node/api/moot_session.h"
#include "node/context/context.h"

/* The first; of a newcomer none yet (session_is_known()).  False without memory. */
bool session_open(struct moot *m);
void session_release(struct moot *m);

/* Newcomers are let in between two sessions alone: MOOT_JOINS says so, or they come by
 * a transport that brings them nowhere else. */
bool session_admits(const struct moot *m);
/* The purpose of the meeting to which those come that stay: newcomers are let in there.
 */
moot_hash session_stay_purpose(void);
/* This rank comes to its end, and has so much to say there; it goes then, and wishes so
 * many more.  False without memory; else free(). */
bool session_ending(struct moot *m, bool leaves, uint64_t grow, void **words,
                    size_t *size);
/* That came to nothing. */
void session_goes_on(struct moot *m);
/* The meeting at its end is over: its members have come, and its words are what they
 * wish of sets.  False without memory. */
bool session_end(struct moot *m);
/* After that, alike on all ranks: so many are to come, and these members stay.  The
 * first of them that is here asks the launcher, for all. */
uint32_t session_growth(struct moot *m, struct rankset *stay);
/* These numbers were given out: they are members, or ask to be let in at the boundary,
 * or have ended, or it is that time. */
void session_await(struct moot *m, uint32_t first, uint32_t count, uint64_t until_ns);
bool session_has_grown(const struct moot *m);

/* --- session_growth.c: where all who stay bring newcomers in ------------------------
 */

/* The transport beneath all that stand around it. */
struct transport *session_wire(const struct moot *m);
/* Begins it, of one who stays; the first of them waits then until there is an answer:
 * the first number, or why none come.  Both return why, for people; NULL: they come. */
const char *session_grow_together(struct moot *m, const struct rankset *stay,
                                  uint32_t count);
bool session_is_answered(const struct moot *m);
const char *session_growth_answer(struct moot *m, uint32_t *first);

/* --- session.c -------------------------------------------------------------------- */

/* Those who said at the end that they go are members no more, but for who is to
 * be in the next session.  Others that are not in it have closed, and stay members. */
bool session_others_are_gone(const struct moot *m, const struct rankset *next);
/* That begins, with these members, of which this rank is one.  False without memory:
 * then nothing has changed. */
bool session_begin(struct moot *m, const struct rankset *members);
/* This rank has left instead. */
void session_leave(struct moot *m);

/* The present one.  False without memory. */
bool session_show(struct moot *m, moot_session_info *out);

/* --- psets.c ---------------------------------------------------------------------- */

/* Tells watches of sets of which a process has gone; a chore. */
void session_look(struct moot *m, uint64_t now_ns);
/* Adds the members of the set, and says which it is.  INVALID: there is none, or it has
 * been deleted. */
int session_pset_take(struct moot *m, const char *name, struct rankset *out,
                      uint32_t *index);

/* How many sets there are.  False without memory. */
bool session_pset_count(struct moot *m, size_t *count);
/* index is less than the count. */
void session_pset_show(const struct moot *m, size_t index, moot_pset_info *out);

/* Those that have been made: 0 as long as nobody has asked for any. */
size_t session_set_count(const struct moot *m);
struct session_set_view {
    const char *name;
    const uint32_t *members;
    uint32_t count;
    uint32_t gone; /* the first member that is not present; PLACEMENT_NOBODY: all are */
    bool deleted;
};
void session_set_look(const struct moot *m, size_t index, struct session_set_view *out);

/* --- pset_wishes.c ---------------------------------------------------------------- */

/* Notes what the program wishes to be from the next session on.  STATE: there is such a
 * set, or was, or another wish for it; INVALID, of a deletion: there is none of the
 * program's own; LIMIT; NO_MEMORY. */
int session_pset_define(struct moot *m, const char *name,
                        const struct rankset *members);
int session_pset_delete(struct moot *m, const char *name);

/* --- joinings.c ------------------------------------------------------------------- */

/* CORE_OUT_VIEW: who it lets in makes a set with those who are there. */
void session_carry_view(struct moot *m, const struct core_output *output);

/* --- session_record.c: a newcomer is told which session it is --------------------- */

/* Others are asked which session it is, until one says that it is a later one than this
 * rank knows: session_is_known(). */
void session_ask(struct moot *m);
bool session_is_known(const struct moot *m);
/* The number of that INQUIRY, and of the ACCOUNT that answers it with a SessionRecord
 * of moot.proto. */
#define INQUIRY_OF_SESSION (UINT64_MAX - 2)
void session_answer(struct moot *m, uint32_t from);
void session_take_record(struct moot *m, uint32_t from,
                         const struct message_account *said);

#endif
