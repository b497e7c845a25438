/* states.c - refusals of calls at the wrong time, and orders that contradict. */
#include "node/api/moot_session.h"
#include "node/api/moot_watch.h"
#include "tests/mpi/refusals/rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void once_without_key(void)
{
    struct scene *scene = scene_open(NULL);
    moot_task task;
    REFUSED(scene,
            moot_task_spawn(scene->m, &(moot_task_spec){.kernel = scene->kernels[1]},
                            &task),
            MOOT_ERR_NO_KEY);
    refusals_go_on(scene);
}

static void declined_then_spawned(void)
{
    struct scene *scene = scene_open(NULL);
    moot_task task;
    uint64_t i = 1;
    moot_task_spec spec = {
        .kernel = scene->kernels[0], .args = &i, .args_size = sizeof(i)};
    moot_hash hash;
    CHECK_OK(moot_spec_hash(scene->m, &spec, &hash));
    CHECK_OK(moot_decline(scene->m, &hash));
    CHECK_OK(moot_decline(scene->m, &hash));
    REFUSED(scene, moot_task_spawn(scene->m, &spec, &task), MOOT_ERR_DECLINED);
    uint32_t id =
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = EVERYBODY});
    scene_spawn(scene, id);
    REFUSED(scene, moot_decline(scene->m, &scene->jobs[id].hash), MOOT_ERR_STATE);
    refusals_go_on(scene);
}

static void parked(void)
{
    struct scene *scene = scene_open(NULL);
    REFUSED(scene, moot_unpark(scene->m), MOOT_ERR_STATE);
    CHECK_OK(moot_park(scene->m));
    REFUSED(scene, moot_park(scene->m), MOOT_ERR_STATE);
    CHECK_OK(moot_unpark(scene->m));
    refusals_go_on(scene);
}

/* The task `second` as one that comes after `first`, on this rank alone. */
static void spawn_after(struct scene *scene, uint32_t second, uint32_t first)
{
    struct job_spec told = scene->jobs[second].spec;
    scene->jobs[second].spec.after = &first;
    scene->jobs[second].spec.after_count = 1;
    scene_spawn(scene, second);
    scene->jobs[second].spec = told;
}

/* Rank 0 says that b comes after a, the last rank that a comes after b; each chairs
 * the one that it made wait.  The others wait for both. */
static void contradicting_orders(void)
{
    struct scene *scene = scene_open(NULL);
    int last = scene->size - 1;
    uint64_t both = BIT(0) | BIT(last);
    uint32_t a = scene_job(scene, &(struct job_spec){.chair = last, .holders = both});
    uint32_t b = scene_job(scene, &(struct job_spec){.chair = 0, .holders = both});
    scene->jobs[a].runs_expected = scene->jobs[b].runs_expected = 0;
    uint32_t first = scene->rank == 0 ? a : b, second = scene->rank == 0 ? b : a;
    uint64_t cycles = 0;
    if (scene_holds(scene, a)) {
        scene_spawn(scene, first);
        spawn_after(scene, second, first);
    }
    const uint32_t order[2] = {second, first};
    for (int i = 0; i < 2; i++) {
        int code =
            moot_task_wait(scene->m, scene_handle(scene, order[i]), MOOT_FOREVER);
        cycles += code == MOOT_ERR_CYCLE;
        CHECK(code == MOOT_ERR_CYCLE || code == MOOT_ERR_TASK_FAILED,
              "a wait ended with %s", moot_err_name(code));
        STORY_HAS(scene, "cycle");
        STORY_HAS(scene, "scene.c:");
    }
    scene_settle(scene);
    harness_sum(&cycles, 1);
    CHECK(cycles >= 1, "no wait ended with MOOT_ERR_CYCLE");
    refusals_go_on(scene);
}

/* --- Closing ---------------------------------------------------------------------- */

/* A second thread of this rank, which waits for what nobody will spawn. */
struct waiter {
    struct scene *scene;
    uint32_t id;
    atomic_bool waits; /* it is in that wait */
    int code;
    pthread_t thread;
};

static const struct job_spec nobodys = {.chair = CHAIR_ANY};

static void note_wait(void *user, const moot_event *event)
{
    struct waiter *waiter = user;
    (void)event;
    waiter->waits = true;
}

static void *wait_for_ever(void *argument)
{
    struct waiter *waiter = argument;
    waiter->code = moot_task_wait(
        waiter->scene->m, scene_handle(waiter->scene, waiter->id), MOOT_FOREVER);
    return NULL;
}

/* Returns when the thread is in its wait: it may not begin to call into a moot that may
 * have been closed.  The main thread is in its own code, so that nobody can say that
 * the wait is in vain. */
static void waiter_start(struct waiter *waiter, void *(*run)(void *waiter))
{
    struct scene *scene = waiter->scene;
    moot_watch_id id;
    CHECK_OK(moot_watch_add(
        scene->m,
        &(moot_watch){.kinds = MOOT_EVENT_BLOCKED, .fn = note_wait, .user = waiter},
        &id));
    CHECK_OK(moot_park(scene->m));
    CHECK_OK(moot_unpark(scene->m)); /* a lane that runs */
    const int error = pthread_create(&waiter->thread, NULL, run, waiter);
    CHECK(error == 0, "no thread");
    while (error == 0 && !waiter->waits) {
        harness_sleep_us(1000);
    }
}

static void close_with_waiters(void)
{
    struct scene *scene = scene_open(NULL);
    struct waiter waiter = {.scene = scene, .id = scene_job(scene, &nobodys)};
    waiter_start(&waiter, wait_for_ever);
    harness_barrier();
    CHECK_OK(moot_close(scene->m));
    (void)pthread_join(waiter.thread, NULL);
    CHECK(waiter.code == MOOT_ERR_CLOSED, "the wait ended with %s",
          moot_err_name(waiter.code));
    scene_free(scene);
    refusals_go_on(scene_open(NULL));
}

/* Its wait ends when the main thread closes. */
static void *close_too(void *argument)
{
    struct waiter *waiter = argument;
    (void)wait_for_ever(waiter);
    CHECK(waiter->code == MOOT_ERR_CLOSED, "the wait ended with %s",
          moot_err_name(waiter->code));
    waiter->code = moot_close(waiter->scene->m);
    harness_token_send(waiter->scene->size - 1);
    return NULL;
}

/* Rank 0 closes and has to wait for the last rank; its other thread closes too. */
static void closed_twice(void)
{
    struct scene *scene = scene_open(NULL);
    int last = scene->size - 1;
    struct waiter waiter = {
        .scene = scene, .id = scene_job(scene, &nobodys), .code = MOOT_ERR_STATE};
    if (scene->rank == 0) {
        waiter_start(&waiter, close_too);
    }
    if (scene->rank == last) {
        harness_token_wait(0);
    }
    CHECK_OK(moot_close(scene->m));
    if (scene->rank == 0) {
        (void)pthread_join(waiter.thread, NULL);
    }
    CHECK(waiter.code == MOOT_ERR_STATE, "the second close gave %s",
          moot_err_name(waiter.code));
    scene_free(scene);
    refusals_go_on(scene_open(NULL));
}

/* The story, which is this thread's: the kernel runs in a wait of it. */
static int next_session_inside(moot_call *call, void *user)
{
    const struct scene *scene = user;
    size_t size = 0;
    (void)moot_call_args(call, &size);
    REFUSED(scene, moot_session_next(scene->m, NULL, NULL), MOOT_ERR_STATE);
    STORY_HAS(scene, "moot_session_next inside a kernel");
    REFUSED(scene,
            moot_session_next(scene->m, &(moot_session_options){.grow = 1}, NULL),
            MOOT_ERR_STATE);
    return moot_call_output(call, 1) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void session_inside_a_kernel(void)
{
    struct scene *scene = scene_open(NULL);
    moot_kernel_id id = {0};
    moot_task task = {0};
    const moot_kernel kernel = {
        .name = "next-session", .fn = next_session_inside, .user = scene};
    const uint64_t key = (uint64_t)scene->rank;
    CHECK_OK(moot_kernel_register(scene->m, &kernel, &id));
    const moot_task_spec spec = {.kernel = id,
                                 .args = &key,
                                 .args_size = sizeof(key),
                                 .owner = MOOT_ON(scene->rank)};
    CHECK_OK(moot_task_spawn(scene->m, &spec, &task));
    CHECK_OK(moot_task_wait(scene->m, task, MOOT_FOREVER));
    CHECK_OK(moot_task_release(scene->m, task));
    refusals_go_on(scene);
}

const struct refusal_row refusals_of_states[] = {
    {"a once task without a key", once_without_key, 1},
    {"spawned after a decline, declined after a spawn", declined_then_spawned, 1},
    {"parked twice", parked, 1},
    {"`after` declared in opposite orders", contradicting_orders, 2},
    {"closed while threads wait", close_with_waiters, 1},
    {"closed while another thread closes", closed_twice, 2},
    {"the next session inside a kernel", session_inside_a_kernel, 1},
    {0},
};
