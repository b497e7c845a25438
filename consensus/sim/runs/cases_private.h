/* cases_private.h - what the files of scenes have in common.
 *
 *   cases.c         scenes of tasks, the list of all, and how one is told
 *   cases_arrays.c  scenes of task arrays
 */
#ifndef CONSENSUS_SIM_RUNS_CASES_PRIVATE_H
#define CONSENSUS_SIM_RUNS_CASES_PRIVATE_H

#include "consensus/sim/engine/sim.h"

/* Gives the task an argument that makes `chair` its chair. */
static inline void seat(struct program *program, uint32_t task, uint32_t chair)
{
    while (sim_chair_of(program, task) != chair) {
        program->tasks[task].salt++;
    }
}

static inline uint32_t add(struct program *program, const char *name, uint32_t chair)
{
    uint32_t task = program_add_task(program, name, PROGRAM_NONE);
    program->tasks[task].work_us = 10;
    seat(program, task, chair);
    return task;
}

static inline uint32_t add_consumer(struct program *program, const char *name,
                                    uint32_t input, uint32_t chair)
{
    uint32_t task = program_add_task(program, name, PROGRAM_NONE);
    program->tasks[task].work_us = 10;
    program_list_add(&program->tasks[task].inputs, input);
    seat(program, task, chair);
    return task;
}

static inline void spawn(struct program *program, uint32_t rank, uint32_t task)
{
    program_add_step(program, rank, 0, PROGRAM_SPAWN, task);
}

static inline void fetch(struct program *program, uint32_t rank, uint32_t task)
{
    program_add_step(program, rank, 0, PROGRAM_FETCH, task);
}

static inline void compute(struct program *program, uint32_t rank, uint32_t pause_us)
{
    program_add_step(program, rank, 0, PROGRAM_COMPUTE, PROGRAM_NONE)->pause_us =
        pause_us;
}

static inline void cancel(struct program *program, uint32_t rank, uint32_t task)
{
    program_add_step(program, rank, 0, PROGRAM_CANCEL, task);
}

/* --- cases_arrays.c ----------------------------------------------------------------
 */

void scene_write_array(struct program *p);
void scene_write_array_after(struct program *p);
void scene_write_array_skipped(struct program *p);
void scene_write_array_adopted(struct program *p);
void scene_write_array_parts(struct program *p);
void scene_write_array_unheld(struct program *p);
void scene_write_array_death(struct program *p);
void scene_write_array_stretch(struct program *p);
void scene_write_array_candidates(struct program *p);
void scene_write_array_cancel(struct program *p);

#endif
