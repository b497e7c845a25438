/* kernels.c - refusals around kernels: registered differently, failing, misbehaving. */
#include "tests/mpi/refusals/rows.h"

#include "proto/limits.h"

#include <stdio.h>
#include <string.h>

/* --- Registered differently ------------------------------------------------------- */

static int give_one(moot_call *call, void *user)
{
    (void)user;
    uint64_t *result = moot_call_output(call, sizeof(*result));
    if (result == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *result = 1;
    return MOOT_OK;
}

/* Found at the first use that its peers hear of: a rank that runs what it alone uses
 * may be done before they answer, so it is used until the answer is there. */
static void expect_mismatch(struct scene *scene, const moot_kernel *kernel)
{
    moot_kernel_id id = {0};
    moot_task task = {0};
    CHECK_OK(moot_kernel_register(scene->m, kernel, &id));
    int code = MOOT_OK;
    for (uint64_t i = 0; i < 2000 && code == MOOT_OK; i++) {
        moot_task_spec spec = {.kernel = id, .key = &i, .key_size = sizeof(i)};
        code = moot_task_spawn(scene->m, &spec, &task);
        if (code == MOOT_OK) {
            code = moot_task_wait(scene->m, task, MOOT_FOREVER);
        }
        if (code == MOOT_OK) {
            harness_sleep_us(1000);
        }
    }
    CHECK_CODE(code, MOOT_ERR_KERNEL_MISMATCH);
    STORY_HAS(scene, kernel->name);
    STORY_HAS(scene, "rank 0");
    CHECK(scene->size > 2 || strstr(moot_last_error(scene->m), "rank 1") != NULL,
          "the story does not name both: %s", moot_last_error(scene->m));
}

static void other_version(void)
{
    struct scene *scene = scene_open(NULL);
    expect_mismatch(scene, &(moot_kernel){.name = "drifted",
                                          .version = scene->rank == 0 ? 1 : 2,
                                          .fn = give_one});
    refusals_go_on(scene);
}

static void other_flags(void)
{
    struct scene *scene = scene_open(NULL);
    expect_mismatch(scene,
                    &(moot_kernel){.name = "half-once",
                                   .fn = give_one,
                                   .flags = scene->rank == 0 ? MOOT_KERNEL_ONCE : 0});
    refusals_go_on(scene);
}

/* Rank 0 alone knows the kernel: that is no conflict, and it can run its task itself,
 * whoever the chair is. */
static void registered_on_one(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t flags = MOOT_KERNEL_PORTABLE;
    moot_hash hashes[8];
    const void *data = NULL;
    size_t size = 0;
    moot_kernel_id id = {0};
    if (scene->rank == 0) {
        CHECK_OK(moot_kernel_register(
            scene->m,
            &(moot_kernel){.name = "only-here", .fn = give_one, .flags = flags}, &id));
    }
    for (uint64_t i = 0; i < 8 && scene->rank == 0; i++) {
        moot_task task;
        moot_task_spec spec = {.kernel = id, .args = &i, .args_size = sizeof(i)};
        CHECK_OK(moot_spec_hash(scene->m, &spec, &hashes[i]));
        CHECK_OK(moot_task_spawn(scene->m, &spec, &task));
    }
    MPI_Bcast(hashes, sizeof(hashes), MPI_BYTE, 0, harness_comm());
    for (int i = 0; i < 8; i++) {
        moot_task task = {0};
        CHECK_OK(moot_task_find(scene->m, &hashes[i], &task));
        CHECK_OK(moot_task_fetch(scene->m, task, MOOT_FOREVER, &data, &size));
    }
    refusals_go_on(scene);
}

/* --- Failing ---------------------------------------------------------------------- */

/* c needs b needs a, which fails; each runs, or would, on a rank of its own. */
static void failing_chain(void)
{
    struct scene *scene = scene_open(NULL);
    int size = scene->size;
    uint32_t a = scene_job(
        scene, &(struct job_spec){.chair = 0, .holders = EVERYBODY, .fails = true});
    uint32_t b = scene_job(scene, &(struct job_spec){.chair = 1 % size,
                                                     .holders = EVERYBODY,
                                                     .inputs = &a,
                                                     .input_count = 1});
    uint32_t c = scene_job(scene, &(struct job_spec){.chair = 2 % size,
                                                     .holders = EVERYBODY,
                                                     .inputs = &b,
                                                     .input_count = 1});
    scene->jobs[b].runs_expected = scene->jobs[c].runs_expected = 0;
    scene_spawn_mine(scene);
    for (uint32_t id = a; id <= c; id++) {
        const void *data;
        size_t size_of_data;
        REFUSED(scene,
                moot_task_fetch(scene->m, scene_handle(scene, id), MOOT_FOREVER, &data,
                                &size_of_data),
                MOOT_ERR_TASK_FAILED);
        STORY_HAS(scene, "the job is one that fails");
        STORY_HAS(scene, "code 7");
        STORY_HAS(scene, "rank 0");
        STORY_HAS(scene, "scene.c:");
        moot_task_info info;
        CHECK_OK(moot_task_info(scene->m, scene_handle(scene, id), &info));
        CHECK(info.state == MOOT_TASK_FAILED && info.status == MOOT_ERR_TASK_FAILED &&
                  strstr(info.story, "the job is one that fails") != NULL,
              "info says %s: %s", moot_err_name(info.status), info.story);
    }
    refusals_go_on(scene);
}

static int set_nothing(moot_call *call, void *user)
{
    (void)call;
    (void)user;
    return MOOT_OK;
}

static int give_nothing(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* Says how its inputs look: 1 for each that is NULL and of size 0. */
static int count_empty(moot_call *call, void *user)
{
    (void)user;
    uint64_t *result = moot_call_output(call, sizeof(*result));
    if (result == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *result = 0;
    for (size_t i = 0; i < moot_call_input_count(call) + 1; i++) {
        size_t size = 99;
        *result += moot_call_input(call, i, &size) == NULL && size == 0;
    }
    return MOOT_OK;
}

static moot_task spawn_on(struct scene *scene, moot_kernel_fn fn, const char *name,
                          int rank, const moot_task *inputs, size_t count)
{
    moot_kernel_id kernel = {0};
    moot_task task = {0};
    CHECK_OK(moot_kernel_register(
        scene->m, &(moot_kernel){.name = name, .fn = fn, .user = scene}, &kernel));
    CHECK_OK(moot_task_spawn(scene->m,
                             &(moot_task_spec){.kernel = kernel,
                                               .owner = MOOT_ON(rank),
                                               .inputs = inputs,
                                               .input_count = count},
                             &task));
    return task;
}

static void no_output(void)
{
    struct scene *scene = scene_open(NULL);
    moot_task task =
        spawn_on(scene, set_nothing, "set-nothing", scene->size - 1, NULL, 0);
    REFUSED(scene, moot_task_wait(scene->m, task, MOOT_FOREVER), MOOT_ERR_TASK_FAILED);
    STORY_HAS(scene, "set-nothing");
    STORY_HAS(scene, "output");
    refusals_go_on(scene);
}

static void empty_results(void)
{
    struct scene *scene = scene_open(NULL);
    const void *data = NULL;
    size_t size = 99;
    moot_task empty[2] = {
        spawn_on(scene, give_nothing, "give-nothing", 0, NULL, 0),
        spawn_on(scene, give_nothing, "give-nothing-there", scene->size - 1, NULL, 0)};
    moot_task count =
        spawn_on(scene, count_empty, "count-empty", scene->size - 1, empty, 2);
    for (int i = 0; i < 2; i++) {
        data = NULL;
        size = 99;
        CHECK_OK(moot_task_fetch(scene->m, empty[i], MOOT_FOREVER, &data, &size));
        CHECK(data != NULL && size == 0, "an empty result is %zu bytes", size);
    }
    if (CHECK_OK(moot_task_fetch(scene->m, count, MOOT_FOREVER, &data, &size))) {
        CHECK(*(const uint64_t *)data == 3, "%llu of 3 inputs looked empty",
              (unsigned long long)*(const uint64_t *)data);
    }
    refusals_go_on(scene);
}

/* --- Inside a kernel -------------------------------------------------------------- */

struct liberty {
    struct scene *scene;
    moot_task own_job; /* a task of the program, which is no child */
    moot_hash own_hash;
    moot_kernel_id kernel;
};

static int take_liberties(moot_call *call, void *user)
{
    const struct liberty *liberty = user;
    struct scene *scene = liberty->scene;
    moot *m = moot_call_context(call);
    const void *data = NULL;
    size_t size = 0;
    moot_task task = {0};
    CHECK(m == scene->m, "another context");
    CHECK_CODE(moot_call_wait(call, liberty->own_job, &data, &size),
               MOOT_ERR_NOT_CHILD);
    REFUSED(scene, moot_task_wait(m, liberty->own_job, 0), MOOT_ERR_STATE);
    REFUSED(scene, moot_task_fetch(m, liberty->own_job, 0, &data, &size),
            MOOT_ERR_STATE);
    REFUSED(scene,
            moot_task_spawn(m, &(moot_task_spec){.kernel = scene->kernels[0]}, &task),
            MOOT_ERR_STATE);
    REFUSED(scene, moot_close(m), MOOT_ERR_STATE);
    REFUSED(scene, moot_park(m), MOOT_ERR_INVALID);
    CHECK_CODE(moot_call_wait(call, (moot_task){0}, &data, &size), MOOT_ERR_STALE);
    return give_one(call, NULL);
}

static void liberties(void)
{
    struct liberty liberty = {.scene = scene_open(NULL)};
    struct scene *scene = liberty.scene;
    uint32_t id =
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = EVERYBODY});
    scene_spawn(scene, id);
    liberty.own_job = scene->jobs[id].handle;
    moot_task task = {0};
    CHECK_OK(moot_kernel_register(scene->m,
                                  &(moot_kernel){.name = "take-liberties",
                                                 .fn = take_liberties,
                                                 .user = &liberty},
                                  &liberty.kernel));
    for (int rank = 0; rank < scene->size; rank++) {
        CHECK_OK(moot_task_spawn(
            scene->m,
            &(moot_task_spec){.kernel = liberty.kernel, .owner = MOOT_ON(rank)},
            &task));
        CHECK_OK(moot_task_wait(scene->m, task, MOOT_FOREVER));
    }
    refusals_go_on(scene);
}

/* A kernel spawns itself and waits, deeper than the stack of kernels may be. */
static int descend(moot_call *call, void *user)
{
    const struct liberty *liberty = user;
    size_t size = 0;
    uint64_t left = 0;
    memcpy(&left, moot_call_args(call, &size), sizeof(left));
    if (left-- == 0) {
        return give_one(call, NULL);
    }
    moot_task child = {0};
    const void *data = NULL;
    int code = moot_call_spawn(call,
                               &(moot_task_spec){.kernel = liberty->kernel,
                                                 .args = &left,
                                                 .args_size = sizeof(left)},
                               &child);
    if (code == MOOT_OK) {
        code = moot_call_wait(call, child, &data, &size);
    }
    if (code != MOOT_OK) {
        return moot_call_fail(call, code, moot_last_error(moot_call_context(call)));
    }
    return give_one(call, NULL);
}

static void too_deep(void)
{
    struct liberty liberty = {.scene = scene_open(NULL)};
    struct scene *scene = liberty.scene;
    CHECK_OK(moot_kernel_register(
        scene->m, &(moot_kernel){.name = "descend", .fn = descend, .user = &liberty},
        &liberty.kernel));
    const uint64_t depths[2] = {100, LIMIT_RUNS + 50};
    for (int i = 0; i < 2; i++) {
        moot_task task = {0};
        CHECK_OK(moot_task_spawn(scene->m,
                                 &(moot_task_spec){.kernel = liberty.kernel,
                                                   .args = &depths[i],
                                                   .args_size = sizeof(depths[i])},
                                 &task));
        int code = moot_task_wait(scene->m, task, MOOT_FOREVER);
        CHECK(code == (i == 0 ? MOOT_OK : MOOT_ERR_TASK_FAILED), "depth %llu gave %s",
              (unsigned long long)depths[i], moot_err_name(code));
        if (i == 1) {
            STORY_HAS(scene, "wait for children already");
        }
    }
    refusals_go_on(scene);
}

const struct refusal_row refusals_of_kernels[] = {
    {"a kernel of another version on one rank", other_version, 2},
    {"a kernel with other flags on one rank", other_flags, 2},
    {"a portable kernel that one rank alone has", registered_on_one, 1},
    {"a failure and its dependents on other ranks", failing_chain, 1},
    {"a kernel that never sets its output", no_output, 1},
    {"results of no bytes", empty_results, 1},
    {"calls that a kernel may not make", liberties, 1},
    {"kernels nested too deep", too_deep, 1},
    {0},
};
