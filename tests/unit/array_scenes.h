/* array_scenes.h - scenes for diagnosis_test.c: ranks that wait for task arrays. */
#ifndef TESTS_UNIT_ARRAY_SCENES_H
#define TESTS_UNIT_ARRAY_SCENES_H

#include "tests/unit/diagnosis_scenes.h"

/* Their hashes have the fact of an array: 20... and 22... */
enum { GRID = 31, NEXT = 33 };

/* A rank's account of the elements of an array of 100. */
static Moot__Account__Elements *elements_told(struct kit *kit, uint32_t rank, int array)
{
    static Moot__Account__Elements told[KIT_RANKS * KIT_TASKS];
    Moot__Account__Elements *elements = &told[rank * KIT_TASKS + (uint32_t)array];
    moot__account__elements__init(elements);
    elements->count = 100;
    kit_task(kit, rank, array)->held = true;
    kit_task(kit, rank, array)->elements = elements;
    return elements;
}

static void own_at(Moot__Account__Elements *elements, const uint64_t *range)
{
    elements->own = range[1];
    elements->own_at = (uint64_t *)(uintptr_t)range;
    elements->n_own_at = 2;
}

/* Rank 0 waits for the array, whose chair is rank 1, which owns its end. */
static Moot__Account__Elements *array_waited_for(struct kit *kit)
{
    kit_wait(kit, 0, GRID);
    kit_own(kit, 1, GRID, CORE_OWN_WAIT, TASK_IDLE)->missing = 1;
    Moot__Account__Elements *chair = elements_told(kit, 1, GRID);
    chair->keeps = true;
    chair->ended = 20;
    return chair;
}

static void elements_of_nobody(struct kit *kit)
{
    static uint64_t at[] = {40, 20, 70, 1};
    Moot__Account__Elements *chair = array_waited_for(kit);
    chair->unspawned = 35;
    chair->unspawned_at = at;
    chair->n_unspawned_at = 4;
    kit->ranks[3].lane.state = CORE_LANE_RUNNING;
}

static void elements_of_nobody_in_trust(struct kit *kit)
{
    elements_of_nobody(kit);
    for (uint32_t rank = 0; rank < KIT_RANKS; rank++) {
        kit->ranks[rank].account.mode = CORE_TRUST;
    }
}

static Moot__Account__Elements *share_of_rank_2(struct kit *kit)
{
    static uint64_t at[] = {50, 25};
    Moot__Account__Elements *chair = array_waited_for(kit);
    chair->unclaimed = 25;
    chair->unclaimed_at = at;
    chair->n_unclaimed_at = 2;
    chair->lacking = kit_ranks(kit, 1u << 2);
    return chair;
}

static void elements_unclaimed(struct kit *kit)
{
    (void)share_of_rank_2(kit);
    kit->ranks[2].lane.state = CORE_LANE_RUNNING;
}

/* The rank gives them up as soon as it is asked. */
static void elements_about_to_be_given_up(struct kit *kit)
{
    (void)share_of_rank_2(kit);
}

static void elements_whose_chair_is_busy(struct kit *kit)
{
    (void)share_of_rank_2(kit);
    kit->ranks[1].lane.state = CORE_LANE_RUNNING;
}

static void elements_spawned_unheard(struct kit *kit)
{
    elements_unclaimed(kit);
    (void)elements_told(kit, 2, GRID);
}

/* The chair knows that rank 2 has spawned some. */
static void elements_of_a_part(struct kit *kit)
{
    Moot__Account__Elements *chair = share_of_rank_2(kit);
    chair->partial = kit_ranks(kit, 1u << 2);
    kit->ranks[2].lane.state = CORE_LANE_RUNNING;
    (void)elements_told(kit, 2, GRID);
}

static void elements_outside_repair(struct kit *kit)
{
    (void)share_of_rank_2(kit);
    kit->ranks[1].account.mode = CORE_TRUST;
}

static void home_silent(struct kit *kit)
{
    array_waited_for(kit)->homes = kit_ranks(kit, 1u << 1 | 1u << 2);
    kit_silence(kit, 2);
}

static void word_of_a_home_lost(struct kit *kit)
{
    array_waited_for(kit)->homes = kit_ranks(kit, 1u << 2);
    kit_lose(kit, 2, 1);
}

static Moot__Account__Elements *element_runs(struct kit *kit, uint32_t rank,
                                             uint64_t runs_ns)
{
    static const uint64_t range[] = {70, 30};
    Moot__Account__Elements *there = elements_told(kit, rank, GRID);
    own_at(there, range);
    there->running = 71;
    kit_task(kit, rank, GRID)->stage = TASK_RUNNING;
    kit_task(kit, rank, GRID)->runs_ns = runs_ns;
    kit->ranks[rank].account.running = 1;
    return there;
}

static void element_slow(struct kit *kit)
{
    (void)array_waited_for(kit);
    (void)element_runs(kit, 2, 1000000);
    (void)element_runs(kit, 3, 3000000000);
}

static void element_fast(struct kit *kit)
{
    (void)array_waited_for(kit);
    (void)element_runs(kit, 2, 1000000);
}

static void elements_away(struct kit *kit)
{
    static const uint64_t range[] = {50, 25};
    (void)array_waited_for(kit);
    own_at(elements_told(kit, 2, GRID), range);
    kit->ranks[2].lane.state = CORE_LANE_RUNNING;
}

/* Elements of NEXT, on rank 0, lack some of GRID; one on rank 2 has just begun. */
static void elements_lack_others(struct kit *kit)
{
    static const uint64_t range[] = {0, 25};
    element_slow(kit);
    kit->ranks[0].account.n_waits = 0;
    kit_wait(kit, 2, NEXT);
    kit_own(kit, 0, NEXT, CORE_OWN_WAIT, TASK_IDLE)->missing = 1;
    Moot__Account__Elements *lacks = elements_told(kit, 0, NEXT);
    own_at(lacks, range);
    lacks->waiting = 25;
    lacks->input = kit_hash(kit, GRID);
    (void)elements_told(kit, 2, NEXT);
    kit_task(kit, 2, NEXT)->elements->running = 80;
    kit_task(kit, 2, NEXT)->runs_ns = 1000;
}

#endif
