/* order.c - rows of the matrix: spawn orders, and waits that depend on each other. */
#include "tests/mpi/divergence/rows.h"

#include "consensus/sim/programs/random.h"

/* Two ranks take two tasks in opposite orders, each waiting for its first before it
 * spawns its second; each chairs the other's first. */
static void swapped_order(void)
{
    struct scene *scene = scene_open(NULL);
    int other = scene->size - 1;
    uint32_t a = scene_job(
        scene, &(struct job_spec){.chair = other, .holders = BIT(0) | BIT(other)});
    uint32_t b = scene_job(
        scene, &(struct job_spec){.chair = 0, .holders = BIT(0) | BIT(other)});
    uint32_t first = scene->rank == 0 ? a : b, second = scene->rank == 0 ? b : a;
    if (scene_holds(scene, a)) {
        scene_spawn(scene, first);
        scene_expect(scene, first);
        scene_spawn(scene, second);
    }
    scene_expect_all(scene);
    scene_settle(scene);
    CHECK(scene->votes <= 2 && scene->votes_by[EVIDENCE_BLOCKED] >= 1,
          "%llu votes, %llu because the chair waits", (unsigned long long)scene->votes,
          (unsigned long long)scene->votes_by[EVIDENCE_BLOCKED]);
    scene_close(scene);
}

static void shuffle(struct random *random, uint32_t *list, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t k = (uint32_t)random_below(random, i);
        uint32_t item = list[i - 1];
        list[i - 1] = list[k];
        list[k] = item;
    }
}

/* Every rank spawns the same 200 tasks in an order of its own, and waits in between for
 * one of those that it has spawned. */
static void random_order(void)
{
    struct scene *scene = scene_open(NULL);
    struct random random = random_stream((uint64_t)scene->rank, 1);
    uint32_t order[200];
    for (uint32_t i = 0; i < 200; i++) {
        order[i] = scene_job(
            scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = EVERYBODY});
    }
    shuffle(&random, order, 200);
    for (uint32_t i = 0; i < 200; i++) {
        scene_spawn(scene, order[i]);
        if (i % 10 == 9) {
            scene_expect(scene, order[random_below(&random, i + 1)]);
        }
    }
    scene_expect_all(scene);
    scene_close(scene);
}

/* Rank 0 waits for `a` before it spawns `b`.  The last rank chairs `a`, does not hold
 * it, and waits for `c`, which needs `b`. */
static void chair_waits_for_asker(void)
{
    struct scene *scene = scene_open(NULL);
    int last = scene->size - 1;
    uint32_t a = scene_job(scene, &(struct job_spec){.chair = last, .holders = BIT(0)});
    uint32_t b = scene_job(scene, &(struct job_spec){.chair = 0, .holders = BIT(0)});
    uint32_t c = scene_job(scene, &(struct job_spec){.chair = last,
                                                     .holders = BIT(last),
                                                     .inputs = &b,
                                                     .input_count = 1});
    if (scene->rank == last) {
        scene_spawn(scene, c);
        scene_expect(scene, c);
    }
    if (scene->rank == 0) {
        scene_spawn(scene, a);
        scene_expect(scene, a);
        scene_spawn(scene, b);
    }
    scene_expect_all(scene);
    scene_settle(scene);
    CHECK(scene->votes_by[EVIDENCE_BLOCKED] == 1 && scene->votes == 1,
          "%llu votes, %llu because the chair waits", (unsigned long long)scene->votes,
          (unsigned long long)scene->votes_by[EVIDENCE_BLOCKED]);
    scene_close(scene);
}

/* The same, but the chair has spawned nothing at all: it waits for `b` by its hash. */
static void empty_chair_waits(void)
{
    struct scene *scene = scene_open(NULL);
    int last = scene->size - 1;
    uint32_t a = scene_job(scene, &(struct job_spec){.chair = last, .holders = BIT(0)});
    uint32_t b = scene_job(scene, &(struct job_spec){.chair = 0, .holders = BIT(0)});
    if (scene->rank == 0) {
        scene_spawn(scene, a);
        scene_expect(scene, a);
        scene_spawn(scene, b);
    } else {
        scene_expect(scene, b);
    }
    scene_expect_all(scene);
    scene_close(scene);
}

/* Everyone waits for the next rank's task before spawning its own second one. */
static void ring(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t round[2][64];
    for (int i = 0; i < 2; i++) {
        for (int rank = 0; rank < scene->size; rank++) {
            uint32_t before[2] = {round[0][rank], round[0][(rank + 1) % scene->size]};
            round[i][rank] =
                scene_job(scene, &(struct job_spec){.chair = (rank + 1) % scene->size,
                                                    .holders = BIT(rank),
                                                    .inputs = i > 0 ? before : NULL,
                                                    .input_count = i > 0 ? 2 : 0});
        }
    }
    scene_spawn(scene, round[0][scene->rank]);
    scene_expect(scene, round[0][(scene->rank + 1) % scene->size]);
    scene_spawn(scene, round[1][scene->rank]);
    scene_expect_all(scene);
    scene_close(scene);
}

/* A rank that waits for a task by hash has its chair yield it, and spawns it later. */
static void late_registration(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t jobs[64];
    for (int rank = 0; rank < scene->size; rank++) {
        jobs[rank] =
            scene_job(scene, &(struct job_spec){.chair = rank, .holders = EVERYBODY});
    }
    int mine = scene->rank;
    for (int rank = 0; rank < scene->size; rank++) {
        if (rank != mine) {
            scene_spawn(scene, jobs[rank]);
        }
    }
    if (scene->size > 1) {
        scene_expect(scene, jobs[mine]);
    }
    scene_spawn(scene, jobs[mine]);
    scene_expect_all(scene);
    scene_settle(scene);
    uint64_t wanted = scene->size > 1 ? (uint64_t)scene->size : 0;
    CHECK(scene->votes == wanted, "%llu votes, not %llu",
          (unsigned long long)scene->votes, (unsigned long long)wanted);
    scene_close(scene);
}

/* Of each pair the second must start after the first has ended, wherever they run. */
static void after_only(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t pairs[32][2];
    for (int i = 0; i < 32; i++) {
        pairs[i][0] = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                          .holders = EVERYBODY,
                                                          .pause_us = 200});
        pairs[i][1] = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                          .holders = EVERYBODY,
                                                          .after = pairs[i],
                                                          .after_count = 1});
    }
    scene_spawn_mine(scene);
    scene_expect_all(scene);
    scene_settle(scene);
    for (int i = 0; i < 32; i++) {
        uint64_t times[2] = {scene->ended_ns[pairs[i][0]],
                             scene->started_ns[pairs[i][1]]};
        harness_maximum(times, 2);
        CHECK(times[0] <= times[1], "job %u started before job %u had ended",
              pairs[i][1], pairs[i][0]);
    }
    CHECK(scene->votes == 0, "%llu votes", (unsigned long long)scene->votes);
    scene_close(scene);
}

/* One of the three ends first, whichever: the other two are on the way. */
static void wait_any_and_all(void)
{
    struct scene *scene = scene_open(NULL);
    moot_task handles[3];
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t id =
            scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                .holders = BIT((int)i % scene->size),
                                                .pause_us = 3000 * i});
        if (scene_holds(scene, id)) {
            scene_spawn(scene, id);
        }
        handles[i] = scene_handle(scene, id);
    }
    size_t which = 99;
    CHECK_OK(moot_task_wait_any(scene->m, handles, 3, MOOT_FOREVER, &which));
    CHECK(which < 3, "which is %zu", which);
    if (which < 3) {
        CHECK_OK(moot_task_wait(scene->m, handles[which], 0));
    }
    CHECK_OK(moot_task_wait_all(scene->m, handles, 3, MOOT_FOREVER));
    scene_expect_all(scene);
    scene_close(scene);
}

/* Rank 0 owns what the last rank waits for, and is parked until that rank is done. */
static void parked_owner(void)
{
    struct scene *scene = scene_open(NULL);
    int last = scene->size - 1;
    uint32_t before =
        scene_job(scene, &(struct job_spec){.chair = 0, .holders = EVERYBODY});
    uint32_t id = scene_job(scene, &(struct job_spec){.chair = 0,
                                                      .holders = EVERYBODY,
                                                      .inputs = &before,
                                                      .input_count = 1});
    scene_spawn_mine(scene);
    if (scene->rank == 0) {
        CHECK_OK(moot_park(scene->m));
        harness_token_wait(last);
        CHECK_OK(moot_unpark(scene->m));
    }
    scene_expect(scene, id);
    if (scene->rank == last) {
        harness_token_send(0);
    }
    scene_close(scene);
}

const struct row rows_order[] = {
    {"swapped-order", "two ranks spawn two tasks in opposite orders", swapped_order, 2},
    {"random-order", "the same tasks, in a random order per rank", random_order, 1},
    {"chair-waits-for-asker", "the chair waits for what depends on the asker",
     chair_waits_for_asker, 2},
    {"empty-chair-waits", "likewise a chair that has spawned nothing",
     empty_chair_waits, 2},
    {"parked-owner", "the owner is parked until the asker is done", parked_owner, 2},
    {"ring", "everyone waits for its neighbour before it goes on", ring, 1},
    {"late-registration", "the chair spawns a task that it has yielded",
     late_registration, 1},
    {"after", "a task starts after its `after` have ended, anywhere", after_only, 1},
    {"any-and-all", "wait_any and wait_all over tasks of several ranks",
     wait_any_and_all, 1},
    {0},
};
