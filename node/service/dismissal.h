/* dismissal.h - asking a rank to leave, from outside its program.
 *
 * `moot shrink` asks by the socket of any rank of the job, which passes it on to the
 * rank that is meant (an INQUIRY of a number of its own); a batch system asks by
 * SIGTERM (sigterm.h).  A rank that is asked twice was asked once.
 *
 * A program that watches for MOOT_EVENT_RANK_ASKED is told, and leaves when it sees
 * fit. For any other the library leaves, as if another of its threads called
 * moot_leave(): at the beginning of the next call that is none of a spawn, or in a wait
 * that is under way (engine/dispatch.h, `leaves`).  It is a thread of the program that
 * does, since kernels run meanwhile.  A rank that closes goes its way and is not asked
 * any more.
 *
 * Under the engine lock.
 */
#ifndef NODE_SERVICE_DISMISSAL_H
#define NODE_SERVICE_DISMISSAL_H

#include "node/context/context.h"

/* That member is to leave: this rank, or one that is told. No effect if there is no
 * such member any more. */
void dismissal_pass_on(struct moot *m, uint32_t member);

/* This rank leaves, perhaps as it was asked to. */
void dismissal_begins(struct moot *m);

/* A chore of the loop: has SIGTERM come? */
void dismissal_look(struct moot *m, uint64_t now_ns);

/* INQUIRY (dispatch.h): that of INQUIRY_TO_LEAVE, and all others for inquiry_take(). */
bool dismissal_take_inquiry(struct moot *m, uint32_t from,
                            const struct message *message);

#endif
