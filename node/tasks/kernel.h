/* kernel.h - the kernels of a context, and whether all ranks registered them alike.
 *
 * A rank tells its peers of a kernel when it first uses it (the KERNEL message).  Who
 * hears of a name that it registered with another version or other flags marks its own
 * registration as in conflict, and tells the sender of its own, so that both know,
 * whichever used it first.  A KERNEL that comes before the local registration is kept
 * and compared then.  Spawns of a kernel in conflict are refused and open waits on its
 * tasks end, with MOOT_ERR_KERNEL_MISMATCH.  What a newcomer registers puts nobody into
 * conflict who was there before it (node/engine/inbox.c).
 *
 * A KERNEL says of which build the code is (build_id.h).  Where two ranks have two
 * builds of one kernel both are told, once for a kernel; with MOOT_KERNEL_BY_BUILD=1
 * that is a conflict.  A build that is unknown on either side is not compared.
 *
 * Kernels are never unregistered; pointers stay good.  Under the engine lock.
 */
#ifndef NODE_TASKS_KERNEL_H
#define NODE_TASKS_KERNEL_H

#include "node/context/kernel_state.h"
#include "node/tasks/handle.h"
#include "proto/message.h"

/* Its place among the context's. */
static inline uint32_t kernel_number(const struct kernel *kernel)
{
    return (uint32_t)kernel->id & ((UINT32_C(1) << HANDLE_SLOT_BITS) - 1);
}

/* Kernels of the library's own among a context's: those of node/api/listing.h, of
 * node/reference/reference.h, of node/compose/element_read.h, element_find.h,
 * element_gate.h and stretch.h. */
enum { KERNELS_OWN = 8 };

/* Whether another build of a kernel is another kernel (MOOT_KERNEL_BY_BUILD); before
 * any is added. */
void kernels_count_builds(struct kernels *kernels, bool counts);
void kernels_release(struct kernels *kernels);

/* A kernel that is usually over so soon is not worth a look at what else there is to
 * do: so many runs of it are counted. */
enum { KERNEL_SHORT_NS = 1000, KERNEL_SHORT_RUNS_MAX = 64 };

/* One of its runs here has ended, after so long. */
static inline void kernel_ran(struct kernel *kernel, uint64_t ran_ns)
{
    if (ran_ns > kernel->longest_ns) {
        kernel->longest_ns = ran_ns;
    }
    kernel->short_runs = ran_ns > KERNEL_SHORT_NS ? 0
                         : kernel->short_runs < KERNEL_SHORT_RUNS_MAX
                             ? kernel->short_runs + 1
                             : KERNEL_SHORT_RUNS_MAX;
}

/* NULL if there is none of this name. */
struct kernel *kernel_find(const struct kernels *kernels, const char *name);

/* Adds a checked kernel and compares it with what was heard of it; NULL without memory.
 */
struct kernel *kernel_add(struct kernels *kernels, const moot_kernel *kernel);

/* Adds one of the library's own while the context opens; NULL without memory. */
struct kernel *kernel_add_own(struct kernels *kernels, const struct handles *handles,
                              const moot_kernel *kernel);

/* A KERNEL's text about a registration of this rank's; borrows from the kernel. */
struct message_kernel kernel_said(const struct kernel *kernel);
/* Both builds are known, and differ. */
bool kernel_build_differs(const struct kernel *kernel, const void *build, size_t size);
/* A registration that is in conflict with this one. */
bool kernel_conflicts(const struct kernels *kernels, const struct kernel *kernel,
                      const struct message_kernel *said);
/* A registration of that rank's: returns the local kernel of that name if this put it
 * into conflict just now, or was the first of another build; else NULL.  News is what
 * this rank has neither heard nor said before. */
struct kernel *kernel_hear(struct kernels *kernels, uint32_t rank,
                           const struct message_kernel *said, bool *news);
/* Among many it has been passed on, and need not be told again. */
void kernel_passed(struct kernels *kernels, const struct message_kernel *said);

#endif
