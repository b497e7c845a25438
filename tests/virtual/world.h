/* world.h - virtual ranks: whole moots in one process, on one thread, in virtual time.
 *
 * The simulator runs the real core.  Here runs the rest of a rank, too: node/ as it is
 * linked into programs, opened through the seam of its transports, with its helper
 * thread, its workers and its stand-ins.  Nothing of it is changed for that.  The test
 * program is linked with --wrap for what node/ asks of the system: threads, locks,
 * conditions, keys, clocks, sleeps, memory and signals (system.c).
 *
 * A *thread* of a rank is a strand (node/schedule/fiber.h), with a clock of its own.
 * The world lets the thread go on whose clock is least; of equal ones, the one that was
 * made first.  Each call of the system costs some time.  Whoever has overtaken another
 * thread by that lets it go first, so all ranks compute at the same time, and a thread
 * that only looks at the clock gets on.  Whoever sleeps or waits has the clock of when
 * it wakes.  Now and then a thread stands still for a while, as the system does it to
 * programs that share a processor.
 *
 * All that is drawn comes from one seed, and there is no other source: the same seed is
 * the same run, to the bit, on every machine with the same library.
 *
 * State of node/ that is not a context's, and what becomes of it here:
 *
 *   lane.c      `latest`, thread-local: the world swaps the thread-local memory of the
 *               program with each thread, so it is each thread's own
 *               the key of lanes, and its once: keys are the world's, values a thread's
 *   faults, trace, process.c    getpid(): a number by rank
 *   diskstore.c    the list of stores: each rank's own, as it is swapped with the rank
 *                  (world_own)
 *   usr1.c, ending.c, sigpipe.c, mpi.c      of the process: the ranks have it in
 *               common, as contexts of one program do
 *   moot_name.c    how many contexts the process has opened: goes into names of files
 *               only, of which there are none here
 *
 * A rank that dies is left where it is: none of its threads ever goes on.  Its memory
 * is given back at the end of the run.
 */
#ifndef TESTS_VIRTUAL_WORLD_H
#define TESTS_VIRTUAL_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WORLD_RANKS_MAX = 8,
    WORLD_THREADS_MAX = 256,
    WORLD_ON_WIRE = WORLD_RANKS_MAX /* whose memory a frame is that is under way */
};
#define WORLD_NO_RANK UINT32_MAX
#define WORLD_NEVER UINT64_MAX
#define WORLD_BEGIN_NS UINT64_C(1000000000000)

struct world_options {
    uint64_t seed;
    uint32_t ranks;
    uint64_t call_ns;        /* of a call of the system, at most */
    uint64_t slack_ns;       /* a thread may be ahead of others by so much */
    uint32_t interrupts;     /* of a million calls, how many stand still after it, */
    uint64_t interrupted_ns; /* for so long at most */
    uint64_t yield_ns;       /* how long sched_yield() takes at most */
    uint64_t deadline_ns;    /* since the beginning: a run that takes longer hangs */
    uint64_t switches_max;   /* likewise */
};

enum world_end { WORLD_DONE, WORLD_LATE, WORLD_STUCK, WORLD_BUSY };

void world_begin(const struct world_options *options);
/* This memory of the process is each rank's own, and begins as it is now.  Once, before
 * any world. */
void world_own(void *memory, size_t size);
/* Before world_run(): the rank's program. */
void world_add_rank(uint32_t rank, void (*program)(void *), void *argument);
/* SIGKILL from outside, at this time. */
void world_kill_at(uint32_t rank, uint64_t at_ns);
/* Runs until every thread has ended, or the deadline. */
enum world_end world_run(void);
/* Gives back what the run held, the memory of dead ranks included. */
void world_finish(void);

bool world_is_on(void);      /* on one of its threads */
uint32_t world_rank(void);   /* whose thread this is */
uint64_t world_now_ns(void); /* this thread's clock */
bool world_is_dead(uint32_t rank, uint64_t *died_ns);
bool world_has_ended(uint32_t rank); /* its program is over, or it has died */
uint64_t world_draw(uint64_t below); /* from the seed */
uint64_t world_switches(void);
/* For people: each thread, and where it is.  To standard error. */
void world_tell(void);

/* Everything that happened so far, as one number; an event adds to it. */
uint64_t world_digest(void);
void world_note(uint64_t what, uint64_t a, uint64_t b);

/* For system.c and the wire: a thread's calls. */
void world_spend(void);              /* a call of the system */
void world_spend_ns(uint64_t ns);    /* work of the thread */
void world_sleep_until(uint64_t ns); /* no event wakes it */
void world_yield(void);              /* for a while, or until a frame comes */
/* A frame reaches this rank then: who has yielded there wakes. */
void world_frame_at(uint32_t rank, uint64_t at_ns);
void world_pause_rank(uint64_t ns); /* all threads of the caller's rank */
_Noreturn void world_die(void);     /* the caller's rank */
uint32_t world_thread_begin(void *(*run)(void *), void *argument);
void world_thread_join(uint32_t number);
/* Waits until somebody wakes the place, or until then; false: nobody did. */
bool world_wait(const void *place, uint64_t until_ns);
void world_wake(const void *place, bool all);
void **world_specific(uint32_t key); /* the thread's value */
void world_key(uint32_t key, void (*destroy)(void *));
/* The thread has the lock, or no longer: whoever of the rank has one next is later. */
void world_holds(const void *lock, int change);

/* account.c: what node/ allocates, by rank. */
void account_begin(void);
void account_dead(uint32_t rank); /* its memory counts for nobody any more */
void account_give(void *block, uint32_t rank); /* is that rank's from now on */
size_t account_of(uint32_t rank, size_t *bytes, uint64_t *first); /* blocks held */
size_t account_small(uint32_t rank); /* bytes, but for blocks of a megabyte and more */
void account_finish(void);           /* frees all that is left */
/* Between these, nothing is counted: what the tests allocate themselves. */
void account_own_begin(void);
void account_own_end(void);
/* For finding a leak: says to standard error who takes the rank's block of that number.
 */
void account_watch(uint32_t rank, uint64_t number);

#endif
