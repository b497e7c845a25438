/* play_spec.h - the tasks of a random program, as moot.h is told of them.
 *
 * Private to the player (play.h): hashes from identity.h, and specs.
 */
#ifndef TESTS_MPI_PLAY_SPEC_H
#define TESTS_MPI_PLAY_SPEC_H

#include "tests/mpi/support/play.h"

static inline const struct program_task *task_of(const struct play *play, uint32_t task)
{
    return &play->program->tasks[task];
}

/* Computes play->hashes[index]; those of its inputs and parent must be there. */
void play_identify(struct play *play, uint32_t index);
/* What moot_task_info says of the handle must be that hash. */
void play_check_hash(const struct play *play, uint32_t task, moot_task handle);

/* What a spec points to. */
struct spec_parts {
    uint8_t args[PROGRAM_ARGS_BYTES], key[PROGRAM_KEY_BYTES];
    moot_task *inputs, *after;
    moot_hash *input_hashes;
    int ranks[PROGRAM_RANKS_MAX];
};

/* The spec without its inputs and `after`, for which `parts` has room. */
moot_task_spec play_spec(const struct play *play, uint32_t index,
                         struct spec_parts *parts);
/* Inputs go by handle as long as `handles` has one for them, then by hash. */
void play_spec_inputs(const struct play *play, uint32_t index, const moot_task *handles,
                      struct spec_parts *parts, moot_task_spec *spec);
void play_spec_drop(struct spec_parts *parts);

#endif
