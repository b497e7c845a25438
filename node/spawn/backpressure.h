/* backpressure.h - how long a spawn waits for room before the window is exceeded
 * (window.h).
 *
 * Memory comes back when the other ranks have come as far as this one.  They may be
 * slow, or not be given the core by the system for a while: then waiting helps, however
 * long it takes.  Or they wait in turn for what this program is about to spawn: then it
 * never does.  Time alone does not tell the one from the other, so the others are
 * asked:
 *
 *     RESTS     its threads are in waits, have ended, or wait for room themselves
 *     GOES_ON   one is in the program's own code, or has tasks to run
 *     COMPUTES  a kernel runs, which ends without anybody's help
 *     CLOSED    it drops nothing any more
 *
 * Whatever moves here (a task is dropped, a kernel begins) begins the wait anew.  It is
 * over when nothing has moved for PATIENCE_NS and then all others have said twice that
 * they rest, or one that it has closed.  While a kernel of this rank runs, on another
 * thread, nobody is asked.  Who says that it goes on is asked again after
 * a pause, alone until it rests; who does not answer is not asked again: it is not
 * running.  Since a program may block where the library does not see it, and a kernel
 * may run until it is cancelled, all this has an end: PATIENCE_SILENT_NS, or
 * PATIENCE_COMPUTES_NS if a kernel ran meanwhile.  After such an end PATIENCE_NS are
 * enough until something has been dropped again: a program that blocks somewhere else
 * pays once, not with every step of the bound.
 *
 * Time counts by this rank's own turns, PATIENCE_TURN_NS for each at most: while it was
 * not given the core itself it has not waited.
 *
 * No clock and no messages here: the host brings the time and the answers, and asks.
 */
#ifndef NODE_SPAWN_BACKPRESSURE_H
#define NODE_SPAWN_BACKPRESSURE_H

#include "node/context/context.h"

#define PATIENCE_NS UINT64_C(20000000)
#define PATIENCE_TURN_NS UINT64_C(2000000)
#define PATIENCE_SILENT_NS UINT64_C(2000000000)
#define PATIENCE_COMPUTES_NS UINT64_C(20000000000)
enum { PATIENCE_RANKS_MAX = 64, PATIENCE_ROUNDS = 2 };

enum patience_answer {
    PATIENCE_RESTS,
    PATIENCE_GOES_ON,
    PATIENCE_COMPUTES,
    PATIENCE_CLOSED
};

enum patience_verdict {
    PATIENCE_WAIT,
    PATIENCE_ASK,     /* those in .to_ask, and wait on */
    PATIENCE_USELESS, /* waiting does not help */
    PATIENCE_LONG     /* nobody knows whether it does */
};

/* A wait begins.  `moved` counts what moves here, `dropped` the tasks among that. */
void patience_begin(struct patience *patience, uint64_t now_ns, uint64_t moved,
                    uint64_t dropped);

/* What to do now, when the others are `peers`, and a kernel of this rank runs or not.
 */
enum patience_verdict patience_look(struct patience *patience, uint64_t now_ns,
                                    uint64_t moved, uint64_t peers, bool computes);

/* A rank that was asked has answered; answers of one rank come in order. */
void patience_hear(struct patience *patience, uint32_t rank,
                   enum patience_answer answer);

#endif
