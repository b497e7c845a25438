/* found.h - a kernel's run, and the checkpoint: its result may be there already, and
 * may be put there.
 *
 * Both are done on the kernel's strand without the engine lock, in the place of the
 * kernel and behind it: they read and write a disk.
 */
#ifndef NODE_SCHEDULE_FOUND_H
#define NODE_SCHEDULE_FOUND_H

#include "node/schedule/call_frame.h"

/* In the kernel's place.  True: it does not run, and *code is what it returned. */
bool found_instead(struct moot_call *call, int *code);
/* An element of a once array: false if it must not start, as the checkpoint says
 * that it began before (MAYBE_RAN), or cannot note that it does (FILE). */
bool found_element_begins(struct moot_call *call, int *code);
/* The kernel has returned this, after so long. */
void found_keep(struct moot_call *call, int code, uint64_t took_ns);
/* Ends the task of a kernel that did not run.  Takes over the output.  Under the lock.
 */
void found_end(struct moot *m, struct moot_call *call);
/* The task has ended by its kernel: a failure may be stored, too.  Under the lock. */
void found_failure(struct moot *m, const struct moot_call *call);
/* The kernel starts.  Under the lock. */
void found_starts(struct moot *m, struct moot_call *call);

#endif
