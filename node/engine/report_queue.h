/* report_queue.h - reports of all rooms, until the lock is released.
 *
 * A report is composed under the engine lock and given to the program's hook when the
 * lock is released (engine_unlock, engine_leave).
 *
 * Under the engine lock.
 */
#ifndef NODE_ENGINE_REPORT_QUEUE_H
#define NODE_ENGINE_REPORT_QUEUE_H

#include "node/context/context.h"

/* The program's hook; NULL: report_to_stderr. */
void reports_open(struct moot *m, moot_report_fn hook, void *user);
void reports_release(struct moot *m);

/* Queues a text.  Without memory it is dropped. */
void report_add(struct moot *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Likewise; takes the text over. */
void report_add_text(struct moot *m, struct text text);

static inline bool reports_any(const struct moot *m)
{
    return m->engine.report_count > 0;
}
/* Releases the lock, and calls the hook. */
void reports_unlock(struct moot *m);

/* The default hook: standard error, one write. */
void report_to_stderr(void *user, const char *text);

#endif
