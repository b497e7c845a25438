/* process.h - naming a process so that another one of its host can watch it.
 *
 * A process number means something only within its pid namespace, and is used again.
 * So a name holds, beside the number, the space in which it counts (the booted system
 * and the namespace) and when the process started: who finds another start under that
 * number knows that the one that was meant has ended.
 *
 * Nothing here is told by anybody but the operating system of one's own host, which is
 * what makes the end of a process a certificate (PROTOCOL.md, V2).
 */
#ifndef NODE_TRANSPORT_HOST_PROCESS_H
#define NODE_TRANSPORT_HOST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Three words that may be sent to peers as they are; all zero: not to be watched. */
struct process_name {
    uint64_t pid;
    uint64_t start_ticks; /* since boot, as /proc/PID/stat counts */
    uint64_t space;       /* equal: the pids can be compared */
};

/* This process; all zero if the system does not say. */
struct process_name process_self(void);

/* Whether `name` counts in the same space as this process. */
bool process_is_near(const struct process_name *name);

/* False once the process has ended, reaped or not; it must be near. */
bool process_lives(const struct process_name *name);

/* What it does, as a letter of proc(5): R runs, S sleeps, D waits for a device, T is
 * stopped, Z has ended; 0: there is none.  It must be near. */
char process_state(const struct process_name *name);

/* The process that this one waits for: its only child, and that one's, as far as they
 * have one each and sleep themselves.  It must be near. */
struct process_name process_last_of(const struct process_name *name);

/* A descriptor that polls readable when the process has ended; -1 if there is none to
 * be had: the kernel is too old, or it has ended already (ask process_lives). */
int process_open(const struct process_name *name);

#endif
