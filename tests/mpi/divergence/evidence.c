/* evidence.c - rows of the matrix: why a chair yields, and when nobody can run a task.
 *
 * Where a row says that the chair is in its own code, it waits for a token of the
 * program's without park: the moot cannot know that it will not spawn.
 */
#include "tests/mpi/divergence/rows.h"

#include "hashing/identity.h"

/* Rank 0 chairs one task for each other rank, and is in moot_close when they ask. */
static void chair_in_close(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 1; rank < scene->size; rank++) {
        scene_job(scene, &(struct job_spec){.chair = 0, .holders = BIT(rank)});
    }
    if (scene->rank == 0) {
        harness_token_send_all();
    } else {
        harness_token_wait(0);
        harness_sleep_us(20000); /* likely enough; if it is late, so is its evidence */
        uint32_t mine = (uint32_t)scene->rank - 1;
        scene_spawn(scene, mine);
        scene_expect(scene, mine);
        scene_expect_decided(scene, mine, "closed");
    }
    scene_close_at_once(scene);
}

/* The chair yields to the hint, though it is in its own code. */
static void hint(void)
{
    struct scene *scene = scene_open(NULL);
    int last = scene->size - 1;
    for (int rank = 1; rank < scene->size; rank++) {
        scene_job(scene, &(struct job_spec){.chair = 0,
                                            .holders = BIT(rank),
                                            .flags = MOOT_TASK_CONDITIONAL});
    }
    if (scene->rank == 0) {
        for (int rank = 1; rank <= last; rank++) {
            harness_token_wait(rank);
        }
    } else {
        uint32_t mine = (uint32_t)scene->rank - 1;
        scene_spawn(scene, mine);
        scene_expect(scene, mine);
        scene_expect_decided(scene, mine, "hint");
        harness_token_send(0);
    }
    scene_expect_all(scene);
    scene_settle(scene);
    CHECK(scene->votes_by[EVIDENCE_HINT] == (uint64_t)last, "%llu votes for a hint",
          (unsigned long long)scene->votes_by[EVIDENCE_HINT]);
    scene_close(scene);
}

/* A hint that is wrong: everyone spawns them. */
static void hint_idle(void)
{
    struct scene *scene = scene_open(NULL);
    for (int i = 0; i < 50; i++) {
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                            .holders = EVERYBODY,
                                            .flags = MOOT_TASK_CONDITIONAL});
    }
    scene_spawn_mine(scene);
    scene_expect_all(scene);
    scene_close(scene);
}

/* The chair took the other branch and says so, and is in its own code. */
static void declined(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 1; rank < scene->size; rank++) {
        scene_job(scene, &(struct job_spec){.chair = 0, .holders = BIT(rank)});
    }
    if (scene->rank == 0) {
        for (uint32_t id = 0; id < scene->job_count; id++) {
            CHECK_OK(moot_decline(scene->m, &scene->jobs[id].hash));
        }
        for (int rank = 1; rank < scene->size; rank++) {
            harness_token_wait(rank);
        }
    } else {
        uint32_t mine = (uint32_t)scene->rank - 1;
        scene_spawn(scene, mine);
        scene_expect(scene, mine);
        scene_expect_decided(scene, mine, "declined");
        harness_token_send(0);
    }
    scene_expect_all(scene);
    scene_close(scene);
}

static void candidates(void)
{
    struct scene *scene = scene_open(NULL);
    int last = scene->size - 1;
    uint64_t two = BIT(0) | BIT(last);
    for (int i = 0; i < 20; i++) {
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                            .holders = EVERYBODY,
                                            .candidates = two});
        scene_job(scene, &(struct job_spec){
                             .chair = CHAIR_ANY, .holders = BIT(0), .candidates = two});
        scene_job(scene, &(struct job_spec){
                             .chair = last, .holders = ~BIT(last), .candidates = two});
    }
    for (uint32_t id = 0; scene->size == 1 && id < scene->job_count; id++) {
        scene->jobs[id].runs_expected = scene_holds(scene, id);
    }
    scene_spawn_mine(scene);
    for (uint32_t id = 0; id < scene->job_count; id++) {
        if (scene->jobs[id].runs_expected > 0) {
            scene_expect(scene, id);
        }
    }
    scene_settle(scene);
    for (uint32_t id = 0; id < scene->job_count; id++) {
        CHECK(scene->runs[id] == 0 || (two >> scene->rank & 1),
              "job %u ran on rank %d, which is no candidate", id, scene->rank);
    }
    scene_close(scene);
}

static void owner(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 0; rank < scene->size; rank++) {
        scene_job(scene, &(struct job_spec){.chair = rank,
                                            .holders = EVERYBODY,
                                            .candidates = BIT(rank)});
        scene_job(scene, &(struct job_spec){.chair = rank,
                                            .holders = BIT(rank),
                                            .candidates = BIT(rank)});
    }
    scene_spawn_mine(scene);
    scene_expect_all(scene);
    for (uint32_t id = 0; id < scene->job_count; id++) {
        moot_task_info info;
        CHECK_OK(moot_task_info(scene->m, scene_handle(scene, id), &info));
        CHECK(info.owner == (int)id / 2, "job %u is owned by %d", id, info.owner);
    }
    scene_settle(scene);
    CHECK(scene->votes == 0, "%llu votes", (unsigned long long)scene->votes);
    scene_close(scene);
}

/* Such rows do not settle: a rank that is parked in a barrier may still spawn when it
 * comes out, so nobody may be told that a task is held by no one. */
static void expect_not_held(struct scene *scene, uint32_t id)
{
    uint64_t begun_ns = harness_now_ns();
    CHECK_CODE(moot_task_wait(scene->m, scene_handle(scene, id), MOOT_FOREVER),
               MOOT_ERR_NOT_HELD);
    uint64_t took_ms = (harness_now_ns() - begun_ns) / 1000000;
    CHECK(took_ms < 2000, "it took %llu ms to say so", (unsigned long long)took_ms);
}

static void not_held(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t ghost = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY});
    uint32_t real =
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = BIT(0)});
    expect_not_held(scene, ghost);
    scene_spawn_mine(scene); /* the moot goes on */
    scene_expect(scene, real);
    scene_close_at_once(scene);
}

/* One rank waits; the others have closed. */
static void not_held_by_closed(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t ghost = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY});
    if (scene->rank == scene->size - 1) {
        expect_not_held(scene, ghost);
    }
    scene_close_at_once(scene);
}

/* Everyone waits for a task that needs one that nobody holds. */
static void input_not_held(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t ghost = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY});
    uint32_t real = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                        .holders = EVERYBODY,
                                                        .inputs = &ghost,
                                                        .input_count = 1});
    scene->jobs[real].runs_expected = 0;
    scene_spawn_mine(scene);
    CHECK_CODE(moot_task_wait(scene->m, scene_handle(scene, real), MOOT_FOREVER),
               MOOT_ERR_TASK_FAILED);
    scene_close_at_once(scene);
}

/* The only candidate does not hold it: nobody can run it. */
static void owner_lacks_it(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t id = scene_job(
        scene,
        &(struct job_spec){.chair = 0, .holders = ~BIT(0), .candidates = BIT(0)});
    scene_spawn_mine(scene);
    expect_not_held(scene, id);
    scene_close_at_once(scene);
}

/* Portable: the owner learns the spec from the motion. */
static void owner_learns_it(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t id = scene_job(scene, &(struct job_spec){.chair = 0,
                                                      .holders = BIT(1),
                                                      .candidates = BIT(0),
                                                      .kernel = MOOT_KERNEL_PORTABLE});
    scene->jobs[id].runs_expected = 1;
    scene_spawn_mine(scene);
    scene_expect(scene, id);
    scene_settle(scene);
    CHECK(scene->runs[id] == (scene->rank == 0), "it ran elsewhere");
    scene_close(scene);
}

const struct row rows_evidence[] = {
    {"chair-in-close", "the chair is in moot_close already", chair_in_close, 2},
    {"hint", "a hint, while the chair is in its own code", hint, 2},
    {"hint-idle", "hints that all ranks share", hint_idle, 1},
    {"declined", "a decline, while the chair is in its own code", declined, 2},
    {"candidates", "candidates run it, and nobody else", candidates, 1},
    {"owner", "an explicit owner runs it", owner, 1},
    {"not-held", "a task that nobody holds: NOT_HELD promptly", not_held, 1},
    {"not-held-closed", "likewise while the others have closed", not_held_by_closed, 1},
    {"input-not-held", "an input that nobody holds fails its consumer", input_not_held,
     1},
    {"owner-lacks-it", "the explicit owner never spawns it", owner_lacks_it, 2},
    {"owner-learns-it", "it learns a portable one from the motion", owner_learns_it, 2},
    {0},
};
