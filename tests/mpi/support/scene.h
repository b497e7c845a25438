/* scene.h - one moot, the jobs in it, and what must be true of them in the end.
 *
 * A job is a task whose value is known without running it: job `id` gives
 *
 *     3 id + 1 + 1 * input[0] + 2 * input[1] + ...       (mod 2^64)
 *
 * All ranks describe all jobs alike, so that everyone can name every hash; each spawns
 * those that it holds.  Every run of a kernel is counted, and closing the scene checks
 * that each job whose holders are not empty ran exactly once in the whole job, that no
 * wait stalled and that no invariant was broken.
 *
 *     struct scene *scene = scene_open(NULL);
 *     uint32_t id = scene_job(scene, &(struct job_spec){.chair = 1, .holders =
 * BIT(0)}); scene_spawn_mine(scene); scene_expect(scene, id); scene_settle(scene);
 *     CHECK(scene->votes == 1, "...");
 *     scene_close(scene);
 */
#ifndef TESTS_MPI_SCENE_H
#define TESTS_MPI_SCENE_H

#include "proto/message.h"
#include "tests/mpi/support/harness.h"
#include <stdatomic.h>

#define BIT(rank) (UINT64_C(1) << (rank))
#define EVERYBODY UINT64_MAX
#define CHAIR_ANY (-1)

enum { SCENE_JOBS_MAX = 16384, SCENE_KERNELS = 4 };

struct job_spec {
    int chair;                      /* the rank that must chair it; CHAIR_ANY */
    uint64_t holders;               /* ranks that spawn it; EVERYBODY */
    const uint32_t *inputs, *after; /* jobs */
    uint32_t input_count, after_count;
    uint64_t candidates; /* 0: all */
    uint32_t kernel;     /* MOOT_KERNEL_ONCE | MOOT_KERNEL_PORTABLE */
    uint32_t flags;      /* MOOT_TASK_CONDITIONAL */
    uint32_t pause_us;   /* how long the kernel sleeps */
    bool fails;          /* the kernel fails with code 7 */
};

struct job {
    struct job_spec spec; /* its lists are owned */
    uint64_t salt;
    moot_hash hash;
    int chair;
    uint64_t value;
    moot_task handle; /* 0: neither spawned nor found here */
    bool spawned;
    uint32_t runs_expected;
};

struct scene {
    moot *m;
    int rank, size;
    moot_kernel_id kernels[SCENE_KERNELS];
    struct job *jobs; /* SCENE_JOBS_MAX of them */
    uint32_t job_count;
    atomic_uint *runs; /* per job, on this rank */
    _Atomic uint64_t *started_ns, *ended_ns;
    /* Over all ranks, after scene_settle(): */
    bool settled;
    moot_stats stats;
    uint64_t votes, votes_by[EVIDENCE_END];
};

/* Opens a moot on the world with these knobs (NULL-terminated "NAME=VALUE" strings, or
 * NULL) and registers the kernels.  Collective. */
struct scene *scene_open(const char *const *knobs);
/* Likewise over another communicator, whose ranks the scene's are.  The checks of
 * scene_settle() and scene_close() still speak to all ranks of the world. */
struct scene *scene_open_on(MPI_Comm comm, const char *const *knobs);

/* Describes a job, alike on every rank.  Returns its id. */
uint32_t scene_job(struct scene *scene, const struct job_spec *spec);
/* Ids for tasks of a case's own kernels, which each must run once in the job. */
uint32_t scene_ids(struct scene *scene, uint32_t count);
/* To be called by a case's own kernel when it starts. */
void scene_count_run(struct scene *scene, uint32_t id);

bool scene_holds(const struct scene *scene, uint32_t id);
void scene_spawn(struct scene *scene, uint32_t id);
/* Spawns what this rank holds of jobs first .. end-1, in order. */
void scene_spawn_range(struct scene *scene, uint32_t first, uint32_t end);
void scene_spawn_mine(struct scene *scene);
/* The job's handle, found by its hash if this rank has not spawned it. */
moot_task scene_handle(struct scene *scene, uint32_t id);
/* Fetches and compares, for ever or until the case's deadline. */
void scene_expect(struct scene *scene, uint32_t id);
void scene_expect_all(struct scene *scene);
/* How the job's owner came by it, as moot_task_info says here. */
void scene_expect_decided(struct scene *scene, uint32_t id, const char *decided);

/* How many jobs have holders, none of which is the chair: each needs one vote. */
uint64_t scene_votes_needed(const struct scene *scene);
/* Waits, parked, for all ranks; then gathers the statistics and checks that nothing
 * stalled and no invariant was broken. */
void scene_settle(struct scene *scene);
/* Settles if that has not happened, closes the moot, checks the runs, frees. */
void scene_close(struct scene *scene);
/* Closes without settling first: ranks may come here at any time. */
void scene_close_at_once(struct scene *scene);
/* For a case that has closed the moot by itself: checks the runs, frees. */
void scene_free(struct scene *scene);

#endif
