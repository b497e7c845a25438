/* fiber.h - a stack of its own for whatever may stop in the middle.
 *
 * A strand runs a function until it returns or suspends itself; then whoever ran the
 * strand goes on, and may run it again later, from any thread.  One thread at a time:
 * the caller sees to that, and to the memory order between them (a lock does).
 *
 * The stack is as large as a thread's is by default (the soft limit on the stack, for
 * most), with a page below it that must not be touched.  It costs address space; memory
 * only as far as it is used.
 *
 * After a suspension a function may find itself on another thread.  The C library's
 * errno, and anything thread-local whose address the compiler has kept, are then the
 * first thread's; nothing of the sort may be used across strand_suspend().
 */
#ifndef NODE_SCHEDULE_FIBER_H
#define NODE_SCHEDULE_FIBER_H

#include <stdbool.h>

/* The thread sanitizer takes a strand for a thread: a lock that is taken on it must be
 * released on it.  In truth it may be released by who runs it. */
#if defined(__SANITIZE_THREAD__)
#define STRAND_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRAND_TSAN 1
#endif
#endif
#ifdef STRAND_TSAN
enum { STRAND_KEEPS_LOCKS = 1 };
#else
enum { STRAND_KEEPS_LOCKS = 0 };
#endif

struct strand;

/* NULL without memory or address space. */
struct strand *strand_new(void);
/* Of one that has not been run, or whose function has returned; accepts NULL. */
void strand_free(struct strand *strand);

/* Says what the next strand_run() begins with. */
void strand_begin(struct strand *strand, void (*run)(void *), void *argument);

/* Runs it on the calling thread until it returns (true) or suspends (false). */
bool strand_run(struct strand *strand);

/* Called on the strand itself: strand_run() returns false; this returns when it is
 * called again. */
void strand_suspend(struct strand *strand);

#endif
