/* calls.c - refusals of wrong arguments: ids, places, sizes, names, knobs. */
#include "tests/mpi/refusals/rows.h"

#include "proto/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void refusals_check(const struct scene *scene, int got, int wanted, const char *call,
                    const char *site)
{
    if (harness_check_code(got, wanted, call, site)) {
        harness_check(*moot_last_error(scene->m) != '\0', site, "%s tells no story",
                      call);
    }
}

void refusals_story(const struct scene *scene, const char *text, const char *site)
{
    const char *story = moot_last_error(scene->m);
    harness_check(strstr(story, text) != NULL, site, "the story lacks \"%s\": %s", text,
                  story);
}

void refusals_go_on(struct scene *scene)
{
    uint32_t first = scene->job_count;
    for (int rank = 0; rank < scene->size; rank++) {
        scene_job(scene, &(struct job_spec){.chair = rank, .holders = EVERYBODY});
    }
    scene_spawn_range(scene, first, scene->job_count);
    for (uint32_t id = first; id < scene->job_count; id++) {
        scene_expect(scene, id);
    }
    scene_close(scene);
}

/* --- Ids -------------------------------------------------------------------------- */

static void kernel_ids(void)
{
    struct scene *scene = scene_open(NULL);
    moot_task task;
    REFUSED(scene, moot_task_spawn(scene->m, &(moot_task_spec){0}, &task),
            MOOT_ERR_UNKNOWN_KERNEL);
    int code = moot_task_spawn(
        scene->m, &(moot_task_spec){.kernel = {UINT64_C(0x1234567890)}}, &task);
    CHECK(code == MOOT_ERR_UNKNOWN_KERNEL || code == MOOT_ERR_FOREIGN ||
              code == MOOT_ERR_STALE,
          "a made-up kernel gave %s", moot_err_name(code));
    refusals_go_on(scene);
}

static void task_ids(void)
{
    struct scene *scene = scene_open(NULL);
    uint32_t id =
        scene_job(scene, &(struct job_spec){.chair = CHAIR_ANY, .holders = EVERYBODY});
    const moot_task none = {0};
    moot_task released;
    const void *data;
    size_t size;
    moot_task_info info;
    scene_spawn(scene, id);
    released = scene->jobs[id].handle;
    CHECK_OK(moot_task_wait(scene->m, released, MOOT_FOREVER));
    CHECK_OK(moot_task_release(scene->m, released));
    scene->jobs[id].handle = none;
    scene->jobs[id].spawned = false;
    REFUSED(scene, moot_task_wait(scene->m, released, 0), MOOT_ERR_STALE);
    REFUSED(scene, moot_task_fetch(scene->m, released, 0, &data, &size),
            MOOT_ERR_STALE);
    REFUSED(scene, moot_task_release(scene->m, released), MOOT_ERR_STALE);
    REFUSED(scene, moot_task_cancel(scene->m, released), MOOT_ERR_STALE);
    REFUSED(scene, moot_task_info(scene->m, released, &info), MOOT_ERR_STALE);
    REFUSED(scene, moot_task_wait_all(scene->m, &released, 1, 0), MOOT_ERR_STALE);
    REFUSED(scene, moot_task_wait(scene->m, none, 0), MOOT_ERR_STALE);
    REFUSED(scene,
            moot_task_spawn(scene->m,
                            &(moot_task_spec){.kernel = scene->kernels[0],
                                              .inputs = &released,
                                              .input_count = 1},
                            &released),
            MOOT_ERR_STALE);
    refusals_go_on(scene);
}

static void null_pointers(void)
{
    struct scene *scene = scene_open(NULL);
    moot *m = scene->m;
    const moot_task_spec spec = {.kernel = scene->kernels[0]};
    moot_task task;
    moot_hash hash;
    moot_kernel_id kernel;
    size_t which;
    REFUSED(scene, moot_task_spawn(m, NULL, &task), MOOT_ERR_INVALID);
    REFUSED(scene, moot_task_spawn(m, &spec, NULL), MOOT_ERR_INVALID);
    REFUSED(scene, moot_task_find(m, NULL, &task), MOOT_ERR_INVALID);
    REFUSED(scene, moot_task_wait_any(m, &task, 0, 0, &which), MOOT_ERR_INVALID);
    REFUSED(scene, moot_spec_hash(m, NULL, &hash), MOOT_ERR_INVALID);
    REFUSED(scene, moot_decline(m, NULL), MOOT_ERR_INVALID);
    REFUSED(scene, moot_kernel_register(m, NULL, &kernel), MOOT_ERR_INVALID);
    REFUSED(scene, moot_scope_open(m, NULL), MOOT_ERR_INVALID);
    CHECK_OK(moot_task_wait_all(m, NULL, 0, 0));
    CHECK_CODE(moot_close(NULL), MOOT_ERR_INVALID);
    CHECK_CODE(moot_rank(NULL), MOOT_ERR_INVALID);
    CHECK_CODE(moot_size(NULL), MOOT_ERR_INVALID);
    CHECK_CODE(moot_task_spawn(NULL, &spec, &task), MOOT_ERR_INVALID);
    CHECK_CODE(moot_stats_get(m, NULL), MOOT_ERR_INVALID);
    moot_task_spec gap = spec;
    gap.args_size = 8;
    REFUSED(scene, moot_task_spawn(m, &gap, &task), MOOT_ERR_INVALID);
    gap = spec;
    gap.input_count = 1;
    REFUSED(scene, moot_task_spawn(m, &gap, &task), MOOT_ERR_INVALID);
    gap = spec;
    gap.key_size = 3;
    REFUSED(scene, moot_task_spawn(m, &gap, &task), MOOT_ERR_INVALID);
    refusals_go_on(scene);
}

static void foreign_ids(void)
{
    struct scene *scene = scene_open(NULL), *other = scene_open(NULL);
    uint32_t id =
        scene_job(other, &(struct job_spec){.chair = CHAIR_ANY, .holders = EVERYBODY});
    scene_spawn(other, id);
    moot_task theirs = other->jobs[id].handle, task;
    harness_explain_with(scene->m);
    REFUSED(scene, moot_task_wait(scene->m, theirs, 0), MOOT_ERR_FOREIGN);
    REFUSED(scene,
            moot_task_spawn(scene->m, &(moot_task_spec){.kernel = other->kernels[0]},
                            &task),
            MOOT_ERR_FOREIGN);
    REFUSED(scene,
            moot_task_spawn(scene->m,
                            &(moot_task_spec){.kernel = scene->kernels[0],
                                              .inputs = &theirs,
                                              .input_count = 1},
                            &task),
            MOOT_ERR_FOREIGN);
    scene_expect(other, id);
    refusals_go_on(other);
    refusals_go_on(scene);
}

/* --- Places ----------------------------------------------------------------------- */

static int spawn_at(struct scene *scene, moot_place owner, moot_ranks candidates)
{
    moot_task task;
    return moot_task_spawn(scene->m,
                           &(moot_task_spec){.kernel = scene->kernels[0],
                                             .owner = owner,
                                             .candidates = candidates},
                           &task);
}

static void places(void)
{
    struct scene *scene = scene_open(NULL);
    const moot_place anywhere = {0};
    const moot_ranks everyone = {0};
    int ranks[2] = {0, scene->size}, zero = 0, below = -1;
    REFUSED(scene, spawn_at(scene, MOOT_ON(scene->size), everyone), MOOT_ERR_INVALID);
    REFUSED(scene, spawn_at(scene, MOOT_ON(-7), everyone), MOOT_ERR_INVALID);
    REFUSED(scene, spawn_at(scene, anywhere, (moot_ranks){ranks, 2}), MOOT_ERR_INVALID);
    REFUSED(scene, spawn_at(scene, anywhere, (moot_ranks){&below, 1}),
            MOOT_ERR_INVALID);
    REFUSED(scene, spawn_at(scene, anywhere, (moot_ranks){&zero, 0}), MOOT_ERR_INVALID);
    REFUSED(scene, spawn_at(scene, anywhere, (moot_ranks){NULL, 1}), MOOT_ERR_INVALID);
    REFUSED(scene, spawn_at(scene, MOOT_ON(0), (moot_ranks){&zero, 1}),
            MOOT_ERR_INVALID);
    refusals_go_on(scene);
}

/* --- Limits ----------------------------------------------------------------------- */

static int take_size(moot_call *call, void *user)
{
    size_t size = 0;
    (void)user;
    (void)moot_call_args(call, &size);
    uint64_t *result = moot_call_output(call, sizeof(*result));
    if (result == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *result = size;
    return MOOT_OK;
}

static void sizes(void)
{
    struct scene *scene = scene_open(NULL);
    moot_kernel_id kernel = {0};
    CHECK_OK(moot_kernel_register(
        scene->m, &(moot_kernel){.name = "take-size", .fn = take_size}, &kernel));
    char *bytes = harness_alloc(LIMIT_ARGS_BYTES + 1, 1);
    moot_task task;
    moot_task_spec spec = {.kernel = kernel, .args = bytes};
    spec.args_size = LIMIT_ARGS_BYTES + 1;
    REFUSED(scene, moot_task_spawn(scene->m, &spec, &task), MOOT_ERR_LIMIT);
    spec.args_size = LIMIT_ARGS_BYTES;
    const void *data = NULL;
    size_t size = 0;
    CHECK_OK(moot_task_spawn(scene->m, &spec, &task));
    if (CHECK_OK(moot_task_fetch(scene->m, task, MOOT_FOREVER, &data, &size))) {
        CHECK(*(const uint64_t *)data == LIMIT_ARGS_BYTES, "it saw %llu bytes",
              (unsigned long long)*(const uint64_t *)data);
    }
    spec.args_size = 1;
    spec.key = bytes;
    spec.key_size = LIMIT_KEY_BYTES + 1;
    REFUSED(scene, moot_task_spawn(scene->m, &spec, &task), MOOT_ERR_LIMIT);
    spec.key_size = LIMIT_KEY_BYTES;
    CHECK_OK(moot_task_spawn(scene->m, &spec, &task));
    moot_hash *inputs = harness_alloc(LIMIT_INPUTS + 1, sizeof(*inputs));
    spec.input_hashes = inputs;
    spec.input_hash_count = LIMIT_INPUTS + 1;
    REFUSED(scene, moot_task_spawn(scene->m, &spec, &task), MOOT_ERR_LIMIT);
    spec.input_hash_count = SIZE_MAX;
    spec.input_count = 2;
    spec.inputs = &task;
    REFUSED(scene, moot_task_spawn(scene->m, &spec, &task), MOOT_ERR_LIMIT);
    free(inputs);
    free(bytes);
    refusals_go_on(scene);
}

static void scope_limits(void)
{
    struct scene *scene = scene_open(NULL);
    char name[LIMIT_SCOPE_NAME_BYTES + 2];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    REFUSED(scene, moot_scope_open(scene->m, name), MOOT_ERR_LIMIT);
    for (uint32_t depth = 0; depth < LIMIT_SCOPE_DEPTH; depth++) {
        CHECK_OK(moot_scope_open(scene->m, "inner"));
    }
    REFUSED(scene, moot_scope_open(scene->m, "inner"), MOOT_ERR_LIMIT);
    for (uint32_t depth = 0; depth < LIMIT_SCOPE_DEPTH; depth++) {
        CHECK_OK(moot_scope_close(scene->m));
    }
    REFUSED(scene, moot_scope_close(scene->m), MOOT_ERR_STATE);
    refusals_go_on(scene);
}

static void kernel_limits(void)
{
    struct scene *scene = scene_open(NULL);
    char name[LIMIT_KERNEL_NAME_BYTES + 2];
    memset(name, 'k', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    moot_kernel kernel = {.name = name, .fn = take_size};
    moot_kernel_id id;
    REFUSED(scene, moot_kernel_register(scene->m, &kernel, &id), MOOT_ERR_LIMIT);
    name[LIMIT_KERNEL_NAME_BYTES] = '\0';
    CHECK_OK(moot_kernel_register(scene->m, &kernel, &id));
    REFUSED(scene, moot_kernel_register(scene->m, &kernel, &id),
            MOOT_ERR_KERNEL_EXISTS);
    kernel.name = "";
    REFUSED(scene, moot_kernel_register(scene->m, &kernel, &id), MOOT_ERR_INVALID);
    kernel = (moot_kernel){.name = "no-fn"};
    REFUSED(scene, moot_kernel_register(scene->m, &kernel, &id), MOOT_ERR_INVALID);
    kernel = (moot_kernel){.name = "odd-flags", .fn = take_size, .flags = 1u << 30};
    REFUSED(scene, moot_kernel_register(scene->m, &kernel, &id), MOOT_ERR_INVALID);
    char number[16];
    kernel = (moot_kernel){.name = number, .fn = take_size};
    int code = MOOT_OK;
    uint32_t count = SCENE_KERNELS + 1;
    for (; code == MOOT_OK && count <= LIMIT_KERNELS + 1; count++) {
        (void)snprintf(number, sizeof(number), "k%u", count);
        code = moot_kernel_register(scene->m, &kernel, &id);
    }
    CHECK(code == MOOT_ERR_LIMIT && count == LIMIT_KERNELS + 1,
          "kernel number %u gave %s", count, moot_err_name(code));
    refusals_go_on(scene);
}

/* --- Knobs and communicators ------------------------------------------------------ */

/* A rank's values count only if it is rank 0, but then for everyone. */
static void knobs(void)
{
    static const char *const wrong[] = {
        "MOOT_VOTERS=many",
        "MOOT_VOTERS=0",
        "MOOT_VOTERS=99",
        "MOOT_STALL=5 parsecs",
        "MOOT_STALL=-1s",
        "MOOT_STALL=9e9",
        "MOOT_DIVERGENCE=perhaps",
        "MOOT_ASK_DELAY=1s500",
        "MOOT_THREADS=1.5",
        "MOOT_NO_SUCH_KNOB=1",
        "MOOT_PROGRESS=forward",
        "MOOT_STALL",
        "MOOT_VOTERS=",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        for (int all = 0; all < 2; all++) {
            const char *list[] = {wrong[i], NULL};
            moot_options options = {.knobs = all || harness_rank() == 0 ? list : NULL};
            moot *m = NULL;
            int code = moot_open_comm(&options, MPI_COMM_WORLD, &m);
            CHECK(code == MOOT_ERR_CONFIG, "%s gave %s", wrong[i], moot_err_name(code));
            CHECK(m == NULL, "%s: the output was touched", wrong[i]);
            char name[32];
            (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(wrong[i], "="),
                           wrong[i]);
            CHECK(strstr(moot_last_error(NULL), name) != NULL, "%s: the story is: %s",
                  wrong[i], moot_last_error(NULL));
        }
    }
    refusals_go_on(scene_open(NULL));
}

static void knobs_of_another_rank(void)
{
    const char *list[] = {"MOOT_VOTERS=many", NULL};
    refusals_go_on(scene_open(harness_rank() == harness_size() - 1 ? list : NULL));
}

static void communicators(void)
{
    moot *m = NULL;
    CHECK_CODE(moot_open_comm(NULL, MPI_COMM_NULL, &m), MOOT_ERR_INVALID);
    CHECK(*moot_last_error(NULL) != '\0', "there is no story");
    CHECK_CODE(moot_open_comm(NULL, MPI_COMM_WORLD, NULL), MOOT_ERR_INVALID);
    if (harness_size() > 1) {
        MPI_Comm half, between;
        int side = harness_rank() == 0;
        MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 1 : 0, 7, &between);
        CHECK_CODE(moot_open_comm(NULL, between, &m), MOOT_ERR_INVALID);
        MPI_Comm_free(&between);
        MPI_Comm_free(&half);
    }
    refusals_go_on(scene_open(NULL));
}

const struct refusal_row refusals_of_calls[] = {
    {"kernels that were never registered", kernel_ids, 1},
    {"zero, released and made-up handles", task_ids, 1},
    {"NULL", null_pointers, 1},
    {"another context's ids", foreign_ids, 1},
    {"owners and candidates that do not exist", places, 1},
    {"arguments, keys and inputs over the limits", sizes, 1},
    {"scopes over the limits", scope_limits, 1},
    {"kernels over the limits", kernel_limits, 1},
    {"malformed knobs", knobs, 1},
    {"malformed knobs of a rank other than 0 do not count", knobs_of_another_rank, 2},
    {"no communicator, and one between two groups", communicators, 1},
    {0},
};
