/* holders.c - rows of the matrix: who holds a task. */
#include "tests/mpi/divergence/rows.h"

#include <stdlib.h>

/* Every rank wants every result, whoever spawned it, and the votes are exactly those
 * without which a task would have no owner; all of them because the chair waits. */
static void finish(struct scene *scene)
{
    scene_spawn_mine(scene);
    scene_expect_all(scene);
    scene_settle(scene);
    uint64_t needed = scene_votes_needed(scene);
    CHECK(scene->votes == needed && scene->votes_by[EVIDENCE_BLOCKED] == needed,
          "%llu votes, %llu of them for a chair that waits; %llu were needed",
          (unsigned long long)scene->votes,
          (unsigned long long)scene->votes_by[EVIDENCE_BLOCKED],
          (unsigned long long)needed);
    scene_close(scene);
}

static void everybody(void)
{
    struct scene *scene = scene_open(NULL);
    for (int i = 0; i < 100; i++) {
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = EVERYBODY});
    }
    finish(scene);
}

static void chair_skips(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 0; rank < scene->size; rank++) {
        scene_job(scene, &(struct job_spec){.chair = rank, .holders = ~BIT(rank)});
    }
    finish(scene);
}

static void one_spawns(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 0; rank < scene->size; rank++) {
        scene_job(scene, &(struct job_spec){.chair = (rank + 1) % scene->size,
                                            .holders = BIT(rank)});
    }
    finish(scene);
}

static void all_but_one(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 0; rank < scene->size; rank++) {
        for (int chair = 0; chair < scene->size; chair++) {
            scene_job(scene, &(struct job_spec){.chair = chair, .holders = ~BIT(rank)});
        }
    }
    finish(scene);
}

static void half(void)
{
    struct scene *scene = scene_open(NULL);
    const uint64_t even = UINT64_C(0x5555555555555555);
    for (int i = 0; i < 64; i++) {
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                            .holders = i % 2 == 0 ? even : even << 1});
    }
    finish(scene);
}

/* 100 sums of 100 leaves each and their sum, all on the last rank. */
static void branch_of_10000(void)
{
    struct scene *scene = scene_open(NULL);
    uint64_t last = BIT(scene->size - 1);
    uint32_t leaves[100], sums[100];
    for (uint32_t i = 0; i < 100; i++) {
        for (uint32_t k = 0; k < 100; k++) {
            leaves[k] = scene_job(
                scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = last});
        }
        sums[i] = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                      .holders = last,
                                                      .inputs = leaves,
                                                      .input_count = 100});
    }
    uint32_t root = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                        .holders = last,
                                                        .inputs = sums,
                                                        .input_count = 100});
    /* Leaf k of sum i is job 101 i + k, and weighs (i + 1) (k + 1) in the root. */
    uint64_t wanted = 3 * (uint64_t)root + 1;
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t sum = 3 * (101 * i + 100) + 1 + 5050 * (303 * i + 1) + 3 * 333300;
        wanted += (i + 1) * sum;
    }
    CHECK(scene->jobs[root].value == wanted, "the harness adds up to another value");
    scene_spawn_mine(scene);
    scene_expect(scene, root);
    scene_settle(scene);
    CHECK(scene->votes == scene_votes_needed(scene), "%llu votes, not %llu",
          (unsigned long long)scene->votes,
          (unsigned long long)scene_votes_needed(scene));
    scene_close(scene);
}

/* Job i is held by rank i mod size alone and needs job i - 1. */
static void chain_of_1000(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t last = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        last = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                   .holders = BIT((int)i % scene->size),
                                                   .inputs = &last,
                                                   .input_count = i > 0});
    }
    /* The sum of 3 i + 1 for i below 1000. */
    CHECK(scene->jobs[last].value == UINT64_C(3) * 999 * 1000 / 2 + 1000,
          "the harness adds up to another value");
    scene_spawn_mine(scene);
    scene_expect(scene, last);
    scene_settle(scene);
    CHECK(scene->votes == scene_votes_needed(scene), "%llu votes, not %llu",
          (unsigned long long)scene->votes,
          (unsigned long long)scene_votes_needed(scene));
    scene_close(scene);
}

/* The same, but everyone looks at every link. */
static void chain_watched(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t last = 0;
    for (uint32_t i = 0; i < 100; i++) {
        last = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                   .holders = BIT((int)i % scene->size),
                                                   .inputs = &last,
                                                   .input_count = i > 0});
    }
    finish(scene);
}

static void nobody_waits(void)
{
    struct scene *scene = scene_open(NULL);
    for (int chair = 0; chair < scene->size; chair++) {
        for (int rank = 0; rank < scene->size; rank++) {
            uint32_t one = scene_job(
                scene, &(struct job_spec){.chair = chair, .holders = BIT(rank)});
            scene_job(scene, &(struct job_spec){.chair = chair, .holders = ~BIT(rank)});
            scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                .holders = BIT(rank),
                                                .inputs = &one,
                                                .input_count = 1});
        }
    }
    scene_spawn_mine(scene);
    scene_close_at_once(scene);
}

/* Only rank 0 spawns; the others know the hash, wait for it, and build on it. */
static void hash_alone(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 0; rank < scene->size; rank++) {
        uint32_t base =
            scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = BIT(0)});
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                            .holders = BIT(rank),
                                            .inputs = &base,
                                            .input_count = 1});
    }
    finish(scene);
}

static void once_diverging(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 0; rank < scene->size; rank++) {
        for (int chair = 0; chair < scene->size; chair++) {
            scene_job(scene, &(struct job_spec){.chair = chair,
                                                .holders = BIT(rank),
                                                .kernel = MOOT_KERNEL_ONCE});
            scene_job(scene, &(struct job_spec){.chair = chair,
                                                .holders = EVERYBODY,
                                                .kernel = MOOT_KERNEL_ONCE});
        }
    }
    scene_spawn_mine(scene);
    scene_expect_all(scene);
    scene_close(scene);
}

/* A motion carries the spec: the chair becomes a holder, and no vote is needed. */
static void portable_diverging(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 0; rank < scene->size; rank++) {
        for (int chair = 0; chair < scene->size; chair++) {
            scene_job(scene, &(struct job_spec){.chair = chair,
                                                .holders = BIT(rank),
                                                .kernel = MOOT_KERNEL_PORTABLE});
        }
    }
    scene_spawn_mine(scene);
    scene_expect_all(scene);
    scene_settle(scene);
    CHECK(scene->runs[0] <= 1, "a portable job ran twice on one rank");
    scene_close(scene);
}

const struct row rows_holders[] = {
    {"everybody", "ranks that agree: no vote at all", everybody, 1},
    {"chair-skips", "the chair skips the task", chair_skips, 2},
    {"one-spawns", "only one rank spawns it", one_spawns, 1},
    {"all-but-one", "all but one spawn it", all_but_one, 2},
    {"half", "half of the ranks spawn it", half, 2},
    {"branch-10000", "a branch of 10,000 tasks on one rank", branch_of_10000, 1},
    {"chain-1000", "a chain of 1,000 tasks, each on another rank than the last",
     chain_of_1000, 1},
    {"chain-watched", "such a chain, each link wanted by all", chain_watched, 1},
    {"nobody-waits", "tasks that nobody waits for run too", nobody_waits, 1},
    {"hash-alone", "a wait for a hash that this rank never spawned", hash_alone, 1},
    {"once", "once tasks, on one rank or on all", once_diverging, 1},
    {"portable", "portable tasks, each on one rank", portable_diverging, 1},
    {0},
};
