/* cases_arrays.c - the scenes of task arrays (cases.h). */
#include "consensus/sim/runs/cases_private.h"

static uint32_t add_array(struct program *p, const char *name, uint32_t chair)
{
    uint32_t array = program_add_task(p, name, PROGRAM_NONE);
    p->tasks[array].elements = 6;
    p->tasks[array].work_us = 10;
    seat(p, array, chair);
    return array;
}

void scene_write_array(struct program *p)
{
    uint32_t a = add_array(p, "a", 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(p, rank, a);
        program_add_step(p, rank, 0, PROGRAM_WAIT_ALL, a);
    }
}

void scene_write_array_after(struct program *p)
{
    const uint32_t a = add_array(p, "a", 0), b = add_array(p, "b", 1);
    p->tasks[a].work_us = 40;
    program_list_add(&p->tasks[b].after, a);
    for (uint32_t rank = 0; rank < 2; rank++) {
        spawn(p, rank, a);
        spawn(p, rank, b);
        fetch(p, rank, b);
    }
}

void scene_write_array_skipped(struct program *p)
{
    uint32_t a = add_array(p, "a", 0), b = add(p, "b", 1);
    p->tasks[b].work_us = 6000;
    for (uint32_t rank = 0; rank < 3; rank++) {
        if (rank != 2) {
            spawn(p, rank, a);
        }
        spawn(p, rank, b);
    }
    program_add_step(p, 0, 0, PROGRAM_WAIT_ALL, a);
    for (uint32_t rank = 0; rank < 3; rank++) {
        fetch(p, rank, b);
    }
    spawn(p, 2, a);
}

void scene_write_array_adopted(struct program *p)
{
    uint32_t a = add_array(p, "a", 1);
    p->tasks[a].portable = true;
    spawn(p, 0, a);
    program_add_step(p, 0, 0, PROGRAM_WAIT_ALL, a);
}

static void spawn_part(struct program *p, uint32_t rank, enum program_op op,
                       uint32_t array, uint64_t first, uint64_t end)
{
    program_add_step(p, rank, 0, op, array)->places = (struct range){first, end};
    p->tasks[array].parted = true;
}

void scene_write_array_parts(struct program *p)
{
    uint32_t a = add_array(p, "a", 0);
    spawn_part(p, 0, PROGRAM_SPAWN, a, 0, 4);
    spawn_part(p, 1, PROGRAM_SPAWN, a, 2, 3);
    spawn_part(p, 2, PROGRAM_SPAWN, a, 5, 6);
    compute(p, 1, 6000);
    spawn_part(p, 1, PROGRAM_GROW, a, 4, 5);
    for (uint32_t rank = 0; rank < 3; rank++) {
        program_add_step(p, rank, 0, PROGRAM_WAIT_ALL, a);
    }
}

void scene_write_array_unheld(struct program *p)
{
    uint32_t a = add_array(p, "a", 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn_part(p, rank, PROGRAM_SPAWN, a, 2 * rank, rank < 2 ? 2 * rank + 2 : 5);
        program_add_step(p, rank, 0, PROGRAM_WAIT_ALL, a);
    }
    spawn_part(p, 1, PROGRAM_GROW, a, 5, 6);
}

void scene_write_array_death(struct program *p)
{
    uint32_t a = add_array(p, "a", 0);
    p->tasks[a].work_us = 100;
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(p, rank, a);
        program_add_step(p, rank, 0, PROGRAM_WAIT_ALL, a);
    }
}

void scene_write_array_stretch(struct program *p)
{
    scene_write_array_death(p);
    p->tasks[0].stretches = true;
}

void scene_write_array_candidates(struct program *p)
{
    uint32_t a = add_array(p, "a", 0);
    p->tasks[a].work_us = 100;
    p->tasks[a].homes = 1u << 1 | 1u << 3;
    seat(p, a, 0);
    for (uint32_t rank = 0; rank < 4; rank++) {
        spawn(p, rank, a);
        program_add_step(p, rank, 0, PROGRAM_WAIT_ALL, a);
    }
}

void scene_write_array_cancel(struct program *p)
{
    uint32_t a = add_array(p, "a", 0);
    p->tasks[a].elements = 120;
    p->tasks[a].work_us = 50;
    compute(p, 2, 200);
    for (uint32_t rank = 0; rank < 3; rank++) {
        spawn(p, rank, a);
    }
    compute(p, 1, 20);
    cancel(p, 1, a);
    for (uint32_t rank = 0; rank < 3; rank++) {
        program_add_step(p, rank, 0, PROGRAM_WAIT_ALL, a);
    }
}
