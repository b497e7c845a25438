/* program.c - rows of the matrix: nested spawns, threads, phases, cancelling. */
#include "tests/mpi/divergence/rows.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- Nested ----------------------------------------------------------------------- */

enum { FAN = 3, DEPTH = 3, TREE_NODES = 1 + 3 + 9 + 27 };

struct node_args {
    uint64_t first; /* id of the tree's root; the nodes follow in heap order */
    uint32_t number, depth;
};

struct tree {
    struct scene *scene;
    moot_kernel_id kernel;
};

static int spawn_node(moot_call *call, const struct tree *tree,
                      const struct node_args *args, moot_task *out)
{
    return moot_call_spawn(call,
                           &(moot_task_spec){.kernel = tree->kernel,
                                             .args = args,
                                             .args_size = sizeof(*args)},
                           out);
}

/* Gives the number of nodes below and including this one. */
static int count_nodes(moot_call *call, void *user)
{
    const struct tree *tree = user;
    size_t size = 0;
    struct node_args args;
    memcpy(&args, moot_call_args(call, &size), sizeof(args));
    scene_count_run(tree->scene, (uint32_t)args.first + args.number);
    uint64_t nodes = 1;
    moot_task children[FAN];
    uint32_t count = args.depth < DEPTH ? FAN : 0;
    for (uint32_t i = 0; i < count; i++) {
        struct node_args child = {args.first, FAN * args.number + 1 + i,
                                  args.depth + 1};
        int code = spawn_node(call, tree, &child, &children[i]);
        if (code != MOOT_OK) {
            return moot_call_fail(call, code, "spawning a child");
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const void *data = NULL;
        int code = moot_call_wait(call, children[i], &data, &size);
        if (code != MOOT_OK) {
            return moot_call_fail(call, code, "waiting for a child");
        }
        nodes += *(const uint64_t *)data;
    }
    uint64_t *result = moot_call_output(call, sizeof(*result));
    if (result == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *result = nodes;
    return MOOT_OK;
}

/* One tree spawned by all, and one by each rank alone. */
static struct scene *grow_trees(struct tree *tree, uint32_t flags, const char *knob)
{
    const char *knobs[] = {knob, NULL};
    tree->scene = scene_open(knob != NULL ? knobs : NULL);
    struct scene *scene = tree->scene;
    moot_kernel kernel = {.name = "count-nodes",
                          .version = 1,
                          .fn = count_nodes,
                          .user = tree,
                          .flags = flags};
    CHECK_OK(moot_kernel_register(scene->m, &kernel, &tree->kernel));
    /* A worker may run a part of a peer's tree before this rank has spawned its own. */
    uint32_t first = scene_ids(scene, (uint32_t)(scene->size + 1) * TREE_NODES);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i <= scene->size; i++) {
        struct node_args args = {first + (uint32_t)i * TREE_NODES, 0, 0};
        moot_task_spec spec = {
            .kernel = tree->kernel, .args = &args, .args_size = sizeof(args)};
        moot_hash hash;
        moot_task root = {0};
        CHECK_OK(moot_spec_hash(scene->m, &spec, &hash));
        if (i == scene->size || i == scene->rank) {
            CHECK_OK(moot_task_spawn(scene->m, &spec, &root));
        } else {
            CHECK_OK(moot_task_find(scene->m, &hash, &root));
        }
        scene->jobs[args.first].handle = root;
    }
    for (int i = 0; i <= scene->size; i++) {
        const void *data = NULL;
        size_t size = 0;
        moot_task root = scene->jobs[i * TREE_NODES].handle;
        if (CHECK_OK(moot_task_fetch(scene->m, root, MOOT_FOREVER, &data, &size))) {
            CHECK(size == 8 && *(const uint64_t *)data == TREE_NODES,
                  "tree %d has %llu nodes", i,
                  (unsigned long long)*(const uint64_t *)data);
        }
    }
    scene_settle(scene);
    return scene;
}

static void nested_plain(void)
{
    struct tree tree;
    struct scene *scene = grow_trees(&tree, 0, NULL);
    CHECK((scene->votes_by[EVIDENCE_NESTED] > 0) == (scene->size > 1),
          "%llu votes for nested tasks",
          (unsigned long long)scene->votes_by[EVIDENCE_NESTED]);
    scene_close(scene);
}

static void nested_portable(void)
{
    struct tree tree;
    struct scene *scene = grow_trees(&tree, MOOT_KERNEL_PORTABLE, NULL);
    uint64_t busy = 0; /* ranks that ran a part of tree 0, which rank 0 alone spawned */
    for (uint32_t id = 0; id < TREE_NODES; id++) {
        busy |= scene->runs[id];
    }
    harness_sum(&busy, 1);
    CHECK(busy > 1 || scene->size == 1, "a portable tree stayed on one rank");
    scene_close(scene);
}

static void nested_workers(void)
{
    struct tree tree;
    scene_close(grow_trees(&tree, MOOT_KERNEL_PORTABLE, "MOOT_THREADS=2"));
}

/* --- Threads ---------------------------------------------------------------------- */

enum { THREADS = 2, THREAD_JOBS = 60 };

struct spawner {
    struct scene *scene;
    uint32_t first;
    pthread_t thread;
};

/* The jobs of one thread: each is held by all ranks but one, in chains of three. */
static uint32_t describe_thread_jobs(struct scene *scene)
{
    uint32_t first = scene->job_count, last = 0;
    for (uint32_t i = 0; i < THREAD_JOBS; i++) {
        uint64_t holders = scene->size > 1 ? ~BIT((int)i % scene->size) : EVERYBODY;
        last = scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                                   .holders = holders,
                                                   .inputs = &last,
                                                   .input_count = i % 3 != 0});
    }
    return first;
}

static void *spawn_in_thread(void *argument)
{
    struct spawner *spawner = argument;
    uint32_t first = spawner->first, end = first + THREAD_JOBS;
    scene_spawn_range(spawner->scene, first, end);
    for (uint32_t id = first; id < end; id++) {
        scene_expect(spawner->scene, id);
    }
    return NULL;
}

static void two_threads_with(const char *const *knobs)
{
    struct scene *scene = scene_open(knobs);
    struct spawner spawners[THREADS];
    for (int i = 0; i < THREADS; i++) {
        spawners[i] =
            (struct spawner){.scene = scene, .first = describe_thread_jobs(scene)};
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&spawners[i].thread, NULL, spawn_in_thread,
                             &spawners[i]) == 0,
              "no thread");
    }
    CHECK_OK(moot_park(scene->m));
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(spawners[i].thread, NULL);
    }
    CHECK_OK(moot_unpark(scene->m));
    scene_close(scene);
}

static void two_threads(void) { two_threads_with(NULL); }

static void two_threads_and_workers(void)
{
    two_threads_with((const char *[]){"MOOT_THREADS=2", NULL});
}

/* --- Phases ----------------------------------------------------------------------- */

/* The same specs in two scopes are different tasks: each job runs twice. */
static void scopes(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 0; rank < scene->size; rank++) {
        uint32_t id = scene_job(
            scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = BIT(rank)});
        scene->jobs[id].runs_expected = 2;
    }
    moot_task first = {0}, second = {0};
    uint32_t mine = (uint32_t)scene->rank;
    CHECK_OK(moot_scope_open(scene->m, "phase 1"));
    scene_spawn(scene, mine);
    first = scene->jobs[mine].handle;
    CHECK_OK(moot_scope_close(scene->m));
    CHECK_CODE(moot_scope_open(scene->m, "phase 1"), MOOT_ERR_SCOPE_CLOSED);
    CHECK_OK(moot_scope_open(scene->m, "phase 2"));
    scene_spawn(scene, mine);
    second = scene->jobs[mine].handle;
    CHECK_OK(moot_scope_close(scene->m));
    CHECK_CODE(moot_scope_close(scene->m), MOOT_ERR_STATE);
    CHECK_OK(moot_task_wait(scene->m, first, MOOT_FOREVER));
    CHECK_OK(moot_task_wait(scene->m, second, MOOT_FOREVER));
    scene_close(scene);
}

/* A closed scope is evidence, though the chair is in its own code. */
static void scope_closed(void)
{
    struct scene *scene = scene_open(NULL);
    CHECK_OK(moot_scope_open(scene->m, "phase"));
    for (int rank = 1; rank < scene->size; rank++) {
        scene_job(scene, &(struct job_spec){.chair = 0, .holders = BIT(rank)});
    }
    scene_spawn_mine(scene);
    CHECK_OK(moot_scope_close(scene->m));
    if (scene->rank == 0) {
        for (int rank = 1; rank < scene->size; rank++) {
            harness_token_wait(rank);
        }
    } else {
        scene_expect(scene, (uint32_t)scene->rank - 1);
        scene_expect_decided(scene, (uint32_t)scene->rank - 1, "closed");
        harness_token_send(0);
    }
    scene_close(scene);
}

/* --- Repeating, polling, cancelling ----------------------------------------------- */

static void spawned_twice(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t id =
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = EVERYBODY});
    scene_spawn(scene, id);
    moot_task first = scene->jobs[id].handle;
    scene_spawn(scene, id);
    CHECK_OK(moot_task_wait(scene->m, first, MOOT_FOREVER));
    CHECK_OK(moot_task_release(scene->m, first));
    scene_expect(scene, id);
    scene_close(scene);
}

/* Rank 0 spawns late; the others poll until it is there. */
static void polling(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t id =
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = BIT(0)});
    int code = MOOT_ERR_TIMEOUT;
    if (scene->rank == 0) {
        harness_sleep_us(50000);
        scene_spawn(scene, id);
    } else {
        CHECK_CODE(moot_task_wait(scene->m, scene_handle(scene, id), 0),
                   MOOT_ERR_TIMEOUT);
        while (code == MOOT_ERR_TIMEOUT) {
            code =
                moot_task_wait(scene->m, scene_handle(scene, id), MOOT_MILLISECONDS(2));
        }
        CHECK(code == MOOT_OK, "polling ended with %s", moot_err_name(code));
    }
    scene_expect(scene, id);
    scene_close(scene);
}

/* The rank after the holder cancels.  Whether it was in time is the owner's to say, and
 * every rank is told the same. */
static void cancelled(void)
{
    struct scene *scene = scene_open(NULL);
    for (int rank = 0; rank < scene->size; rank++) {
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY,
                                            .holders = BIT(rank),
                                            .pause_us = 500});
    }
    scene_spawn_mine(scene);
    uint32_t victim = (uint32_t)((scene->rank + 1) % scene->size);
    CHECK_OK(moot_task_cancel(scene->m, scene_handle(scene, victim)));
    for (uint32_t id = 0; id < scene->job_count; id++) {
        int code = moot_task_wait(scene->m, scene_handle(scene, id), MOOT_FOREVER);
        CHECK(code == MOOT_OK || code == MOOT_ERR_CANCELLED, "it ended with %s",
              moot_err_name(code));
        uint64_t told[2] = {code == MOOT_OK, code != MOOT_OK};
        CHECK_OK(moot_park(scene->m));
        harness_maximum(told, 2);
        CHECK_OK(moot_unpark(scene->m));
        CHECK(told[0] + told[1] == 1, "ranks were told different ends of job %u", id);
        scene->jobs[id].runs_expected = told[0] != 0;
    }
    scene_close(scene);
}

const struct row rows_program[] = {
    {"nested", "tasks spawn tasks, three levels deep", nested_plain, 1},
    {"nested-portable", "likewise portable ones, which spread", nested_portable, 1},
    {"nested-workers", "likewise with two workers per rank", nested_workers, 1},
    {"two-threads", "two threads that spawn on each rank", two_threads, 1},
    {"two-threads-workers", "likewise with two workers", two_threads_and_workers, 1},
    {"scopes", "the same spec in two scopes is two tasks", scopes, 1},
    {"scope-closed", "a closed scope is evidence", scope_closed, 2},
    {"spawned-twice", "a spec spawned twice is one task", spawned_twice, 1},
    {"polling", "waits that time out, and then do not", polling, 1},
    {"cancelled", "a cancel by another rank: one end, told to all", cancelled, 1},
    {0},
};
