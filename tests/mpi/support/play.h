/* play.h - a random program (consensus/sim/programs/program.h) on real ranks.
 *
 * Every rank makes the program from its seed, plays its own scripts through moot.h, one
 * thread per lane, and compares whatever it waits for with the program's oracle.  After
 * the close the runs of every task's kernel are added up over the ranks: each task that
 * the oracle says runs must have run once in the job, and no other at all.  Of a task
 * that ranks cancel, all must see the same end, and it runs once or, cancelled, never.
 *
 * The hashes of the tasks are computed here from their specs (hashing/identity.h), and
 * compared with those that moot.h tells.
 */
#ifndef TESTS_MPI_PLAY_H
#define TESTS_MPI_PLAY_H

#include "consensus/sim/programs/program.h"
#include "tests/mpi/support/harness.h"

enum { PLAY_SAW_RESULT = 1, PLAY_SAW_CANCELLED = 2 };

struct play {
    const struct program *program;
    moot *m;
    uint32_t rank;
    moot_kernel_id kernels[PROGRAM_KERNELS];
    moot_hash *hashes; /* per task */
    bool regions;      /* with queues and groups around the steps (play_regions.h) */
    _Atomic uint32_t *runs;
    _Atomic uint8_t *ends; /* per task, how waits here saw it end: PLAY_SAW_* */
    void *lanes_ready;     /* a pthread_barrier_t, if there are several lanes */
    /* Before the close, over all ranks; complete only if the play settles. */
    moot_stats stats;
    uint64_t begun_ns; /* before the moot was opened */
};

/* What a case may look at between the last step and the close. */
typedef void (*play_look_fn)(struct play *play);

/* Plays it on all ranks of the world.  Collective; checks fail the running case.
 * `settle`: every rank ends its scripts before any closes, so that `stats` is complete;
 * not for programs with ghosts, where who waits in a barrier keeps the others waiting.
 * `look` may be NULL. */
void play_program(const struct program *program, const char *const *knobs, bool settle,
                  play_look_fn look);
/* The same, with queues and groups that are drawn from the seed.  Collective. */
void play_program_in_regions(const struct program *program, const char *const *knobs);

/* The chair of a task, from its hash and candidates. */
uint32_t play_chair(const struct play *play, uint32_t task);

#endif
