/* progress.h - the one loop that moves messages, and who drives it.
 *
 * Whoever waits drives: a turn takes in what arrived, tells the core the time, and
 * sends what the core said, one frame per peer.  Of several idle threads one drives and
 * the others sleep on `changed`; when the driver leaves it wakes another.  An idle
 * driver spins for a moment, then yields, then sleeps for 50 us, doubling to 1 ms:
 * ranks may outnumber cores.
 *
 * The helper thread looks every millisecond when the loop was last driven, and drives
 * it itself when that is more than 2 ms ago: so a rank in a long kernel, or in the
 * program's own code, still answers its peers.
 *
 * Under the engine lock, but for the helper's own life.
 */
#ifndef NODE_PROGRESS_H
#define NODE_PROGRESS_H

#include "node/context.h"

/* One turn; returns whether anything came in or went on.  Never from within a step. */
bool progress_drive(struct moot *m);
/* The same, unless another thread is driving. */
bool progress_drive_free(struct moot *m);
/* Likewise, between two kernels: not if it was done a moment ago and more are ready. */
bool progress_drive_between(struct moot *m);
/* Sends what a kernel's end gave rise to, unless another thread is driving. */
void progress_send_free(struct moot *m);

/* How long a thread has found nothing to do.  Zero-initialise, and again after work. */
struct idle {
    uint32_t rounds;
};
/* Nothing to do: releases the lock for a while, at most until `until_ns`. */
void progress_idle(struct moot *m, struct idle *idle, uint64_t until_ns);

/* Wakes those who sleep in progress_idle. */
void progress_wake(struct moot *m);
/* This thread stops driving: another must. */
void progress_hand_over(struct moot *m);

/* A thread that takes no signals: those are for the program's own threads. */
bool progress_start_thread(pthread_t *thread, void *(*run)(void *), void *argument);
bool progress_start_helper(struct moot *m); /* false: no thread */
void progress_join_helper(struct moot *m);  /* after m->stop; without the lock */

#endif
