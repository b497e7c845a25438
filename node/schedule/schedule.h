/* schedule.h - the room that runs kernels, and in which threads wait.
 *
 * Tasks whose inputs are there wait by priority (ready.h, priority.h) for a thread
 * (workers.h, and every caller that waits: wait.h); a kernel has a frame
 * (call_frame.h), runs on a stack of its own if it may stop in the middle (fiber.h),
 * and may be tried again (retry.h) or checked (verify.h).  How it ends, here or at
 * a peer, is task_end.h's, and of elements of arrays element_end.h's; their results go
 * where another array takes them (element_parts.h), and short ones run one behind the
 * other (element_run.h); what a death takes is made again
 * (element_again.h). What a task leaves running is
 * descendants.h's; what its handles keep alive is task_handle.h's.  A rank that leaves
 * gives back what it has not begun (unstarted.h).
 *
 * Writes m->schedule. Under the engine lock, which is released around kernels and
 * sleeps.
 *
 * This is its contract: files of other rooms include of this room what stands below.
 */
#ifndef NODE_SCHEDULE_SCHEDULE_H
#define NODE_SCHEDULE_SCHEDULE_H

#include "node/schedule/call_frame.h"
#include "node/schedule/carry_run.h"
#include "node/schedule/descendants.h"
#include "node/schedule/element_again.h"
#include "node/schedule/element_end.h"
#include "node/schedule/element_parts.h"
#include "node/schedule/element_run.h"
#include "node/schedule/exec.h"
#include "node/schedule/foreign_wait.h"
#include "node/schedule/many.h"
#include "node/schedule/priority.h"
#include "node/schedule/ready.h"
#include "node/schedule/retry.h"
#include "node/schedule/self_end.h"
#include "node/schedule/task_end.h"
#include "node/schedule/task_handle.h"
#include "node/schedule/undo.h"
#include "node/schedule/unstarted.h"
#include "node/schedule/verify.h"
#include "node/schedule/wait.h"
#include "node/schedule/workers.h"

#endif
