/* scene.c - see scene.h. */
#include "tests/mpi/support/scene.h"

#include "hashing/identity.h"
#include "hashing/placement.h"
#include "proto/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct job_args {
    uint64_t id, salt;
    uint32_t pause_us, fails;
};

void scene_count_run(struct scene *scene, uint32_t id)
{
    CHECK(id < scene->job_count, "a kernel runs for job %u, which is none", id);
    if (id < scene->job_count) {
        scene->runs[id]++;
    }
}

static int run_job(moot_call *call, void *user)
{
    struct scene *scene = user;
    size_t size = 0;
    const struct job_args *args = moot_call_args(call, &size);
    if (args == NULL || size != sizeof(*args)) {
        return moot_call_fail(call, 1, "these are not a job's arguments");
    }
    scene_count_run(scene, (uint32_t)args->id);
    scene->started_ns[args->id] = harness_now_ns();
    if (args->pause_us > 0) {
        harness_sleep_us(args->pause_us);
    }
    if (args->fails) {
        return moot_call_fail(call, 7, "the job is one that fails");
    }
    uint64_t value = 3 * args->id + 1;
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        size_t input_size = 0;
        const uint64_t *input = moot_call_input(call, i, &input_size);
        if (input_size != sizeof(*input)) {
            return moot_call_fail(call, 2, "an input has another size");
        }
        value += (i + 1) * *input;
    }
    uint64_t *result = moot_call_output(call, sizeof(*result));
    if (result == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *result = value;
    scene->ended_ns[args->id] = harness_now_ns();
    return MOOT_OK;
}

/* --- Opening ---------------------------------------------------------------------- */

static const char *kernel_name(uint32_t index)
{
    static const char *const names[SCENE_KERNELS] = {"job", "job-once", "job-portable",
                                                     "job-once-portable"};
    return names[index];
}

static uint32_t kernel_index(uint32_t flags)
{
    return ((flags & MOOT_KERNEL_ONCE) ? 1u : 0u) +
           ((flags & MOOT_KERNEL_PORTABLE) ? 2u : 0u);
}

static void register_kernels(struct scene *scene)
{
    for (uint32_t i = 0; i < SCENE_KERNELS; i++) {
        moot_kernel kernel = {.name = kernel_name(i),
                              .version = 1,
                              .fn = run_job,
                              .user = scene,
                              .flags = ((i & 1) ? (uint32_t)MOOT_KERNEL_ONCE : 0u) |
                                       ((i & 2) ? (uint32_t)MOOT_KERNEL_PORTABLE : 0u)};
        CHECK_OK(moot_kernel_register(scene->m, &kernel, &scene->kernels[i]));
    }
}

struct scene *scene_open_on(MPI_Comm comm, const char *const *knobs)
{
    struct scene *scene = harness_alloc(1, sizeof(*scene));
    scene->jobs = harness_alloc(SCENE_JOBS_MAX, sizeof(*scene->jobs));
    scene->runs = harness_alloc(SCENE_JOBS_MAX, sizeof(*scene->runs));
    scene->started_ns = harness_alloc(SCENE_JOBS_MAX, sizeof(*scene->started_ns));
    scene->ended_ns = harness_alloc(SCENE_JOBS_MAX, sizeof(*scene->ended_ns));
    moot_options options = {.knobs = knobs};
    int code = moot_open_comm(&options, comm, &scene->m);
    if (code != MOOT_OK) {
        CHECK(false, "moot_open_comm: %s: %s", moot_err_name(code),
              moot_last_error(NULL));
        MPI_Abort(MPI_COMM_WORLD, 1); /* nothing else of the case could run */
    }
    scene->rank = moot_rank(scene->m);
    scene->size = moot_size(scene->m);
    harness_explain_with(scene->m);
    register_kernels(scene);
    return scene;
}

struct scene *scene_open(const char *const *knobs)
{
    struct scene *scene = scene_open_on(MPI_COMM_WORLD, knobs);
    CHECK(scene->rank == harness_rank() && scene->size == harness_size(),
          "the moot's ranks are not the communicator's");
    return scene;
}

/* --- Jobs ------------------------------------------------------------------------- */

static uint32_t *copied(const uint32_t *list, uint32_t count)
{
    uint32_t *copy = harness_alloc(count, sizeof(*copy));
    if (count > 0) {
        memcpy(copy, list, count * sizeof(*copy));
    }
    return copy;
}

static size_t list_ranks(uint64_t set, int size, int *ranks)
{
    size_t count = 0;
    for (int rank = 0; rank < size; rank++) {
        if (set >> rank & 1) {
            ranks[count++] = rank;
        }
    }
    return count;
}

/* What a spec points to. */
struct spec_parts {
    struct job_args args;
    moot_task *inputs, *after;
    moot_hash *input_hashes;
    int ranks[64];
};

/* Inputs that this rank has spawned go by handle as long as they come first, the rest
 * by hash. */
static void name_inputs(struct scene *scene, const struct job *job, bool by_hash,
                        struct spec_parts *parts, moot_task_spec *spec)
{
    uint32_t count = job->spec.input_count;
    parts->inputs = harness_alloc(count, sizeof(*parts->inputs));
    parts->input_hashes = harness_alloc(count, sizeof(*parts->input_hashes));
    for (uint32_t i = 0; i < count; i++) {
        const struct job *input = &scene->jobs[job->spec.inputs[i]];
        if (!by_hash && input->spawned && spec->input_hash_count == 0) {
            parts->inputs[spec->input_count++] = input->handle;
        } else {
            parts->input_hashes[spec->input_hash_count++] = input->hash;
        }
    }
    spec->inputs = parts->inputs;
    spec->input_hashes = parts->input_hashes;
}

static moot_task_spec make_spec(struct scene *scene, uint32_t id, bool by_hash,
                                struct spec_parts *parts)
{
    const struct job *job = &scene->jobs[id];
    *parts = (struct spec_parts){.args = {.id = id,
                                          .salt = job->salt,
                                          .pause_us = job->spec.pause_us,
                                          .fails = job->spec.fails}};
    moot_task_spec spec = {.kernel = scene->kernels[kernel_index(job->spec.kernel)],
                           .args = &parts->args,
                           .args_size = sizeof(parts->args),
                           .flags = job->spec.flags};
    name_inputs(scene, job, by_hash, parts, &spec);
    parts->after = harness_alloc(job->spec.after_count, sizeof(*parts->after));
    for (uint32_t i = 0; i < job->spec.after_count && !by_hash; i++) {
        parts->after[spec.after_count++] = scene_handle(scene, job->spec.after[i]);
    }
    spec.after = parts->after;
    if (job->spec.kernel & MOOT_KERNEL_ONCE) {
        spec.key = &parts->args.salt;
        spec.key_size = sizeof(parts->args.salt);
    }
    if (job->spec.candidates != 0) {
        spec.candidates.ranks = parts->ranks;
        spec.candidates.count =
            list_ranks(job->spec.candidates, scene->size, parts->ranks);
    }
    return spec;
}

static void drop_parts(struct spec_parts *parts)
{
    free(parts->inputs);
    free(parts->after);
    free(parts->input_hashes);
}

static int chair_of(const struct scene *scene, const struct job *job)
{
    struct rankset members = {.low = UINT64_MAX >> (64 - scene->size)};
    struct rankset candidates = {.low = job->spec.candidates};
    return (int)placement_chair(&job->hash, &members,
                                job->spec.candidates != 0 ? &candidates : NULL);
}

/* Tries salts until the hash has the chair that the case wants. */
static void find_salt(struct scene *scene, uint32_t id)
{
    struct job *job = &scene->jobs[id];
    for (job->salt = 0; job->salt < 100000; job->salt++) {
        struct spec_parts parts;
        moot_task_spec spec = make_spec(scene, id, true, &parts);
        bool good = CHECK_OK(moot_spec_hash(scene->m, &spec, &job->hash));
        drop_parts(&parts);
        job->chair = chair_of(scene, job);
        if (!good || job->spec.chair == CHAIR_ANY || job->chair == job->spec.chair) {
            return;
        }
    }
    CHECK(false, "no salt makes rank %d the chair of job %u", job->spec.chair, id);
}

uint32_t scene_ids(struct scene *scene, uint32_t count)
{
    uint32_t first = scene->job_count;
    if (count > SCENE_JOBS_MAX - first) {
        CHECK(false, "a scene has at most %d jobs", SCENE_JOBS_MAX);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    scene->job_count += count;
    for (uint32_t id = first; id < scene->job_count; id++) {
        scene->jobs[id].runs_expected = 1;
    }
    return first;
}

uint32_t scene_job(struct scene *scene, const struct job_spec *spec)
{
    uint32_t id = scene_ids(scene, 1);
    struct job *job = &scene->jobs[id];
    job->spec = *spec;
    job->spec.holders &= UINT64_MAX >> (64 - scene->size);
    job->spec.inputs = copied(spec->inputs, spec->input_count);
    job->spec.after = copied(spec->after, spec->after_count);
    uint64_t can_run = spec->candidates != 0 ? spec->candidates : EVERYBODY;
    job->runs_expected = (job->spec.holders & can_run) != 0;
    job->value = 3 * (uint64_t)id + 1;
    for (uint32_t i = 0; i < spec->input_count; i++) {
        job->value += (i + 1) * scene->jobs[spec->inputs[i]].value;
    }
    find_salt(scene, id);
    return id;
}

bool scene_holds(const struct scene *scene, uint32_t id)
{
    return scene->jobs[id].spec.holders >> scene->rank & 1;
}

/* --- Spawning and expecting ------------------------------------------------------- */

void scene_spawn(struct scene *scene, uint32_t id)
{
    struct job *job = &scene->jobs[id];
    struct spec_parts parts;
    moot_task_spec spec = make_spec(scene, id, false, &parts);
    moot_task handle;
    if (CHECK_OK(moot_task_spawn(scene->m, &spec, &handle))) {
        job->handle = handle;
        job->spawned = true;
    }
    drop_parts(&parts);
}

void scene_spawn_range(struct scene *scene, uint32_t first, uint32_t end)
{
    for (uint32_t id = first; id < end; id++) {
        if (scene_holds(scene, id)) {
            scene_spawn(scene, id);
        }
    }
}

void scene_spawn_mine(struct scene *scene)
{
    scene_spawn_range(scene, 0, scene->job_count);
}

moot_task scene_handle(struct scene *scene, uint32_t id)
{
    struct job *job = &scene->jobs[id];
    if (job->handle.id == 0) {
        CHECK_OK(moot_task_find(scene->m, &job->hash, &job->handle));
    }
    return job->handle;
}

/* A rank that has not seen the spec need not know the candidates. */
static bool may_not_know_chair(const struct job *job, const moot_task_info *info)
{
    return !job->spawned && job->spec.candidates != 0 && info->chair == -1;
}

void scene_expect(struct scene *scene, uint32_t id)
{
    const struct job *job = &scene->jobs[id];
    const void *data = NULL;
    size_t size = 0;
    moot_task handle = scene_handle(scene, id);
    if (!CHECK_OK(moot_task_fetch(scene->m, handle, MOOT_FOREVER, &data, &size))) {
        return;
    }
    uint64_t value = 0;
    if (size == sizeof(value)) {
        memcpy(&value, data, sizeof(value));
    }
    CHECK(size == sizeof(value) && value == job->value,
          "job %u gave %llu (%zu bytes), not %llu", id, (unsigned long long)value, size,
          (unsigned long long)job->value);
    moot_task_info info;
    if (CHECK_OK(moot_task_info(scene->m, handle, &info))) {
        CHECK((info.chair == job->chair || may_not_know_chair(job, &info)) &&
                  hash_equal(&info.hash, &job->hash),
              "job %u has chair %d, not %d, or another hash", id, info.chair,
              job->chair);
    }
}

void scene_expect_all(struct scene *scene)
{
    for (uint32_t id = 0; id < scene->job_count; id++) {
        scene_expect(scene, id);
    }
}

void scene_expect_decided(struct scene *scene, uint32_t id, const char *decided)
{
    moot_task_info info;
    if (CHECK_OK(moot_task_info(scene->m, scene_handle(scene, id), &info))) {
        CHECK(strcmp(info.decided, decided) == 0, "job %u was decided by %s, not %s",
              id, info.decided, decided);
    }
}

/* --- The end ---------------------------------------------------------------------- */

uint64_t scene_votes_needed(const struct scene *scene)
{
    uint64_t votes = 0;
    for (uint32_t id = 0; id < scene->job_count; id++) {
        const struct job *job = &scene->jobs[id];
        votes += job->runs_expected != 0 && job->spec.holders != 0 &&
                 !(job->spec.holders >> job->chair & 1);
    }
    return votes;
}

static void gather(struct scene *scene)
{
    memset(&scene->stats, 0, sizeof(scene->stats));
    CHECK_OK(moot_stats_get(scene->m, &scene->stats));
    CHECK(scene->stats.stalls == 0, "%llu waits stalled",
          (unsigned long long)scene->stats.stalls);
    CHECK(scene->stats.violations == 0, "%llu invariants were broken",
          (unsigned long long)scene->stats.violations);
}

static void add_up(struct scene *scene)
{
    uint64_t words[sizeof(scene->stats) / sizeof(uint64_t)];
    static_assert(sizeof(words) == sizeof(scene->stats), "stats are words");
    memcpy(words, &scene->stats, sizeof(words));
    harness_sum(words, sizeof(words) / sizeof(words[0]));
    memcpy(&scene->stats, words, sizeof(words));
}

void scene_settle(struct scene *scene)
{
    static const enum evidence order[] = {
        EVIDENCE_CLOSED,  EVIDENCE_DECLINED, EVIDENCE_HINT, EVIDENCE_NESTED,
        EVIDENCE_BLOCKED, EVIDENCE_TIMEOUT,  EVIDENCE_QUIET};
    CHECK_OK(moot_park(scene->m));
    harness_barrier();
    gather(scene);
    add_up(scene);
    CHECK_OK(moot_unpark(scene->m));
    scene->votes = scene->stats.votes;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        scene->votes_by[order[i]] = scene->stats.votes_by[i];
    }
    scene->settled = true;
}

static void check_runs(struct scene *scene)
{
    uint64_t *runs = harness_alloc(scene->job_count, sizeof(*runs));
    for (uint32_t id = 0; id < scene->job_count; id++) {
        runs[id] = scene->runs[id];
    }
    harness_sum(runs, scene->job_count);
    for (uint32_t id = 0; id < scene->job_count && harness_rank() == 0; id++) {
        CHECK(runs[id] == scene->jobs[id].runs_expected,
              "job %u ran %llu times, not %u", id, (unsigned long long)runs[id],
              scene->jobs[id].runs_expected);
    }
    free(runs);
}

void scene_close_at_once(struct scene *scene)
{
    gather(scene);
    CHECK_OK(moot_close(scene->m));
    scene_free(scene);
}

void scene_free(struct scene *scene)
{
    harness_explain_with(NULL);
    check_runs(scene);
    for (uint32_t id = 0; id < scene->job_count; id++) {
        free((void *)(uintptr_t)scene->jobs[id].spec.inputs);
        free((void *)(uintptr_t)scene->jobs[id].spec.after);
    }
    free(scene->jobs);
    free(scene->runs);
    free(scene->started_ns);
    free(scene->ended_ns);
    free(scene);
}

void scene_close(struct scene *scene)
{
    if (!scene->settled) {
        scene_settle(scene);
    }
    scene_close_at_once(scene);
}
