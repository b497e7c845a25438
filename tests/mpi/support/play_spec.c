/* play_spec.c - see play_spec.h. */
#include "tests/mpi/support/play_spec.h"

#include "hashing/identity.h"
#include "hashing/placement.h"

#include <stdlib.h>

/* --- Hashes ----------------------------------------------------------------------- */

void play_identify(struct play *play, uint32_t index)
{
    const struct program_task *task = task_of(play, index);
    uint8_t args[PROGRAM_ARGS_BYTES], key[PROGRAM_KEY_BYTES];
    program_args(play->program, index, args);
    program_key(play->program, index, key);
    moot_hash *inputs = harness_alloc(task->inputs.count, sizeof(*inputs));
    for (uint32_t i = 0; i < task->inputs.count; i++) {
        inputs[i] = play->hashes[task->inputs.items[i]];
    }
    struct rankset candidates = {.low = task->candidates};
    struct identity spec = {
        .kernel_name = program_kernel_name(program_kernel(play->program, index)),
        .kernel_version = 1,
        .args = args,
        .args_size = sizeof(args),
        .inputs = inputs,
        .input_count = task->inputs.count,
        .key = task->once ? key : NULL,
        .key_size = task->once ? sizeof(key) : 0,
        .once = task->once,
        .idempotent = task->idempotent,
        .nested = task->parent != PROGRAM_NONE,
        .candidates = task->candidates != 0 ? &candidates : NULL,
    };
    if (task->parent != PROGRAM_NONE) {
        spec.scope = play->hashes[task->parent];
    }
    play->hashes[index] = identity_hash(&spec);
    free(inputs);
}

uint32_t play_chair(const struct play *play, uint32_t task)
{
    struct rankset members = {.low = UINT64_MAX >> (64 - play->program->rank_count)};
    struct rankset candidates = {.low = task_of(play, task)->candidates};
    return placement_chair(&play->hashes[task], &members,
                           candidates.low != 0 ? &candidates : NULL);
}

void play_check_hash(const struct play *play, uint32_t task, moot_task handle)
{
    moot_task_info info;
    if (CHECK_OK(moot_task_info(play->m, handle, &info))) {
        CHECK(hash_equal(&info.hash, &play->hashes[task]), "%s has another hash",
              task_of(play, task)->name);
    }
}

/* --- Specs ------------------------------------------------------------------------ */

moot_task_spec play_spec(const struct play *play, uint32_t index,
                         struct spec_parts *parts)
{
    const struct program_task *task = task_of(play, index);
    program_args(play->program, index, parts->args);
    program_key(play->program, index, parts->key);
    parts->inputs = harness_alloc(task->inputs.count, sizeof(*parts->inputs));
    parts->input_hashes =
        harness_alloc(task->inputs.count, sizeof(*parts->input_hashes));
    parts->after = harness_alloc(task->after.count, sizeof(*parts->after));
    moot_task_spec spec = {.kernel =
                               play->kernels[program_kernel(play->program, index)],
                           .args = parts->args,
                           .args_size = sizeof(parts->args),
                           .inputs = parts->inputs,
                           .input_hashes = parts->input_hashes,
                           .after = parts->after,
                           .flags = task->hint ? MOOT_TASK_CONDITIONAL : 0,
                           .priority = (int32_t)((index * 7 + play->rank * 3) % 9) - 4,
                           .label = task->name};
    if (task->once) {
        spec.key = parts->key;
        spec.key_size = sizeof(parts->key);
    }
    for (uint32_t rank = 0; rank < play->program->rank_count; rank++) {
        if (task->candidates >> rank & 1) {
            parts->ranks[spec.candidates.count++] = (int)rank;
        }
    }
    spec.candidates.ranks = spec.candidates.count > 0 ? parts->ranks : NULL;
    return spec;
}

void play_spec_drop(struct spec_parts *parts)
{
    free(parts->inputs);
    free(parts->input_hashes);
    free(parts->after);
}

/* Inputs go by handle as long as `handles` has one for them, then by hash. */
void play_spec_inputs(const struct play *play, uint32_t index, const moot_task *handles,
                      struct spec_parts *parts, moot_task_spec *spec)
{
    const struct program_list *inputs = &task_of(play, index)->inputs;
    for (uint32_t i = 0; i < inputs->count; i++) {
        uint32_t input = inputs->items[i];
        if (handles[input].id != 0 && spec->input_hash_count == 0) {
            parts->inputs[spec->input_count++] = handles[input];
        } else {
            parts->input_hashes[spec->input_hash_count++] = play->hashes[input];
        }
    }
}
