/* report.h - what moot says of itself: stalls, divergence, notices.
 *
 * A report is composed under the engine lock and given to the program's hook when the
 * lock is released (engine_unlock).
 *
 * A wait (or a close, which waits for all ranks) has stalled when it is older than
 * MOOT_STALL and nothing has ended on this rank for as long, while no kernel runs here.
 * The report comes once, and again at doubling intervals while it lasts; SIGUSR1 asks
 * for one at any time.  With MOOT_STALL_ABORT=1 every wait of every rank then ends with
 * MOOT_ERR_STALLED; a close alone ends nothing, since its peers may well be at work.
 */
#ifndef NODE_REPORT_H
#define NODE_REPORT_H

#include "node/context.h"

/* Queues a text. */
void report_add(struct moot *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Strict mode: reports the first difference, and ends every wait with DIVERGED. */
void report_divergence(struct moot *m, const struct message_diverged *diverged);

void report_wait_begins(struct moot *m, uint64_t now_ns);
/* Looks whether a report is due; called by the progress loop. */
void report_look(struct moot *m, uint64_t now_ns);

/* The default hook: standard error, one write. */
void report_to_stderr(void *user, const char *text);

#endif
