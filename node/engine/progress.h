/* progress.h - the one loop that moves messages, and who drives it.
 *
 * Whoever waits drives: a turn takes in what arrived, tells the core the time, and
 * sends what the core said, one frame per peer.  Of several idle threads one drives and
 * the others sleep on `changed`; when the driver leaves it wakes another.  An idle
 * driver spins for a moment, then yields, then sleeps for 50 us, doubling to 1 ms:
 * ranks may outnumber processors.  Where they do not it does not yield, but spins until
 * it sleeps.
 *
 * Where they do, who spawns far ahead yields, too: the ranks that share its processor
 * make what its tasks wait for, and what all of them are about stays in the caches.  It
 * does so every 10 us, unless others than ranks take the processor: what is back after
 * a millisecond or more was given a whole slice, and is not given another for as long,
 * then twice as long, up to 0.1 s.
 *
 * The helper thread drives the loop when nobody has for 2 ms: so a rank in a long
 * kernel, or in the program's own code, still answers its peers.  Until then it sleeps.
 * Where it has moved something it looks again after 0.4 ms, or 0.1 if a thread of the
 * program is parked and no kernel runs, doubling to 2 ms while there is nothing: a peer
 * that asks for one thing after the other gets them at that pace.
 * A driver that has come to sleeping between its turns looks after itself: the helper
 * sleeps, too, until that thread begins a kernel, leaves, or calls the program's hooks.
 *
 * Under the engine lock, but for the helper's own life.
 */
#ifndef NODE_ENGINE_PROGRESS_H
#define NODE_ENGINE_PROGRESS_H

#include "node/context/context.h"

/* One turn; returns whether since the last one a message that stirs came in, was said
 * or waits for room on the wire, or a large result was moved.  Never from within a
 * step.
 */
bool progress_drive(struct moot *m);
/* The same, unless another thread is driving. */
bool progress_drive_free(struct moot *m);
/* It was not done for a moment: between two kernels it is time to. */
bool progress_is_due(const struct moot *m);
/* progress_drive_free(), between two kernels: not if it was done a moment ago and more
 * are ready. */
bool progress_drive_between(struct moot *m);
/* Sends what a kernel's end gave rise to, unless another thread is driving. */
void progress_send_free(struct moot *m);

/* How long a thread has found nothing to do.  Zero-initialise, and again after work. */
struct idle {
    uint32_t rounds;
};
/* Nothing to do: releases the lock for a while, at most until `until_ns`. */
void progress_idle(struct moot *m, struct idle *idle, uint64_t until_ns);

/* Nothing can run although much is unfinished: lets the ranks that share the processor
 * have it, if there are any, and if it has not done so just now. */
void progress_give_way(struct moot *m);

/* A wait may have ended: whoever looks for that looks again. */
static inline void progress_ended(struct moot *m) { m->engine.end_count++; }
/* Wakes those who sleep in progress_idle. */
void progress_wake(struct moot *m);
/* This thread stops driving: another must. */
void progress_hand_over(struct moot *m);

/* A thread that takes no signals: those are for the program's own threads. */
bool progress_start_thread(pthread_t *thread, void *(*run)(void *), void *argument);
bool progress_start_helper(struct moot *m); /* false: no thread */
void progress_join_helper(struct moot *m);  /* after m->engine.stop; without the lock */

#endif
