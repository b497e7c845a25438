/* report.h - what moot says of itself: stalls, divergence, notices.
 *
 * A wait (or a close, which waits for all ranks) has stalled when it is older than
 * MOOT_STALL and nothing has ended on this rank for as long, while no kernel runs here.
 * Then its peers are asked what they do (snapshot_query.h), and the report says what
 * all hang on (stall.h).  It comes once, and again at doubling intervals while it
 * lasts; of several ranks that have stalled the lowest that waits tells it for all.
 * A kernel that has run for so long that it may never return is told of likewise,
 * whether somebody waits or not (overrun.h).
 * SIGUSR1 asks a rank for one at any time.  With MOOT_STALL_ABORT=1 every wait of every
 * rank then ends with MOOT_ERR_STALLED; a close alone, or such a kernel, ends nothing,
 * since they may well be at work.
 */
#ifndef NODE_EXPLAIN_REPORT_H
#define NODE_EXPLAIN_REPORT_H

#include "node/context/context.h"

/* The context is opened. */
void report_open(struct moot *m);

/* CORE_OUT_DIVERGED, in strict mode: reports the first difference, and ends every wait
 * with DIVERGED. */
void report_carry_divergence(struct moot *m, const struct core_output *output);

void report_wait_begins(struct moot *m, uint64_t now_ns);
/* Since when the oldest wait has seen nothing happen; CORE_NEVER if nothing is waited
 * for. */
uint64_t report_stalled_since(const struct moot *m, uint64_t now_ns);
/* A chore of the loop: lets inquiries go on, tells reports for which peers have been
 * asked (INQUIRY_FOR_*), and looks whether another is due. */
void report_look(struct moot *m, uint64_t now_ns);

#endif
