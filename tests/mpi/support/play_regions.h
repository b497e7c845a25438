/* play_regions.h - queues and groups around the steps of a random program.
 *
 * Neither may change what a program computes, so they are no part of it: the player
 * draws them, from the seed, for each rank and lane by itself, and ranks differ. Queues
 * are opened and closed between spawns, up to four deep: bulk ones and a custom one
 * that passes on three at a time, and, where that cannot change an outcome, sequential
 * ones. None is open at a wait: a lane that waited for what it still collects would
 * wait for itself.
 *
 * A sequential queue fails what comes after a failed task, and contrary orders make a
 * cycle; so there are none in programs with failures, cancels, ghosts or disorder.
 *
 * A group may be closed where the lane may wait for all that was spawned in it
 * (program.h, rule (W)).  After that the end of each of its tasks must be known, what
 * these left running must end as the oracle says, and the close have given the first
 * error.
 */
#ifndef TESTS_MPI_PLAY_REGIONS_H
#define TESTS_MPI_PLAY_REGIONS_H

#include "tests/mpi/support/play_spec.h"

#include "consensus/sim/programs/random.h"

enum { REGION_QUEUES_MAX = 4, REGION_GROUPS_MAX = 3 };

struct regions {
    const struct play *play;
    const moot_task *handles; /* the lane's, per task */
    const struct program_script *script;
    struct random random;
    bool sequential; /* may be opened */
    uint32_t queues; /* open */
    uint32_t groups;
    uint32_t begins[REGION_GROUPS_MAX]; /* of each group, in `spawned` */
    uint32_t *spawned, count;           /* tasks, in order */
};

void regions_begin(struct regions *regions, const struct play *play, uint32_t lane,
                   const moot_task *handles);
/* Before this step of the lane's script. */
void regions_before(struct regions *regions, uint32_t step);
void regions_spawned(struct regions *regions, uint32_t task);
/* Closes what is open. */
void regions_end(struct regions *regions);

#endif
