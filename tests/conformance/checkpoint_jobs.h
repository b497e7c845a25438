/* checkpoint_jobs.h - jobs, one after another over one folder of results, each with
 * ranks of its own.
 */
#ifndef TESTS_CONFORMANCE_CHECKPOINT_JOBS_H
#define TESTS_CONFORMANCE_CHECKPOINT_JOBS_H

#include "tests/conformance/kernels.h"

#include <ftw.h>

enum {
    COUNTED = RELAY + 1,
    FAILING,
    ONCE_FAILING,
    ONCE_PARENT,
    ONCE_LEAVER,
    ONCE_BIG,
    VARYING,
    STEPS,
    ENDLESS
};

static char folder[64];
static char folder_knob[96];
static atomic_int runs;     /* of counted kernels, in this case */
static atomic_int found;    /* tasks of all ranks of the last job */
static atomic_int told_run; /* so many they say that they ran */

/* args: a number.  Gives its successor. */
static inline int counted(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *x = moot_call_args(call, NULL);
    uint64_t *y = moot_call_output(call, sizeof(*y));
    if (x == NULL || y == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *y = *x + 1;
    runs++;
    return MOOT_OK;
}

static inline int failing(moot_call *call, void *user)
{
    (void)user;
    runs++;
    return moot_call_fail(call, 7, "the pump is dry");
}

/* A kernel that waits for its child, so that all is over when it is. */
static inline int parent(moot_call *call, void *user)
{
    const struct seat *seat = user;
    uint64_t one = 1;
    moot_task child;
    int error = moot_call_spawn(call,
                                &(moot_task_spec){.kernel = seat->kernels[COUNTED],
                                                  .args = &one,
                                                  .args_size = sizeof(one)},
                                &child);
    if (error == MOOT_OK) {
        error = moot_call_wait(call, child, NULL, NULL);
    }
    runs++;
    return error == MOOT_OK && moot_call_output(call, 0) == NULL ? MOOT_ERR_NO_MEMORY
                                                                 : error;
}

/* A kernel that leaves a child that does not end well: its result is not stored. */
static inline int leaver(moot_call *call, void *user)
{
    const struct seat *seat = user;
    moot_task child;
    runs++;
    const int error = moot_call_spawn(
        call, &(moot_task_spec){.kernel = seat->kernels[FAILING]}, &child);
    return error == MOOT_OK && moot_call_output(call, 0) == NULL ? MOOT_ERR_NO_MEMORY
                                                                 : error;
}

/* Another value with each run. */
static inline int varying(moot_call *call, void *user)
{
    (void)user;
    uint64_t *out = moot_call_output(call, sizeof(*out));
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *out = (uint64_t)++runs;
    return MOOT_OK;
}

/* Until it is cancelled. */
static inline int endless(moot_call *call, void *user)
{
    (void)user;
    while (!moot_call_cancelled(call)) {
        usleep(1000);
    }
    return MOOT_ERR_CANCELLED;
}

/* Gives more bytes than a pack takes. */
static inline int filling(moot_call *call, void *user)
{
    enum { BYTES = 600000 };
    (void)user;
    void *out = moot_call_output(call, BYTES);
    if (out == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memset(out, 7, BYTES);
    return MOOT_OK;
}

static inline void checkpoint_kernels(struct seat *seat)
{
    kernels(seat);
    add_kernel(seat, COUNTED, "counted", counted, 0);
    add_kernel(seat, FAILING, "failing", failing, 0);
    add_kernel(seat, ONCE_FAILING, "once-failing", failing, MOOT_KERNEL_ONCE);
    add_kernel(seat, ONCE_BIG, "once-big", filling, MOOT_KERNEL_ONCE);
    add_kernel(seat, VARYING, "varying", varying, MOOT_KERNEL_NONDETERMINISTIC);
    add_kernel(seat, ENDLESS, "endless", endless, 0);
    moot_kernel kernel = {
        .name = "once-parent", .fn = parent, .user = seat, .flags = MOOT_KERNEL_ONCE};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[ONCE_PARENT]),
           MOOT_OK);
    kernel.name = "once-leaver";
    kernel.fn = leaver;
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[ONCE_LEAVER]),
           MOOT_OK);
}

/* --- Jobs ------------------------------------------------------------------------- */

static inline int remove_one(const char *path, const struct stat *about, int type,
                             struct FTW *where)
{
    (void)about;
    (void)type;
    (void)where;
    return remove(path);
}

static inline void begin_case(const char *name)
{
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    scene_name = name;
    runs = 0;
}

/* `knob` may be NULL. */
static inline void job(void (*program)(struct seat *seat), int size, const char *knob)
{
    const struct scene scene = {.program = program,
                                .register_kernels = checkpoint_kernels,
                                .after = closes_well};
    const char *const knobs[] = {folder_knob, "MOOT_CHECKPOINT_LEAST=0", knob, NULL};
    found = told_run = 0;
    play(&scene, size, knobs);
}

/* All have what they want: what was found can be added up. */
static inline void add_up(struct seat *seat)
{
    meet(seat);
    found += (int)stats_of(seat).tasks_found;
    told_run += (int)stats_of(seat).tasks_run;
    meet(seat);
}

static inline moot_task spawn_keyed(struct seat *seat, int kernel)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[kernel],
                                             .key = "k",
                                             .key_size = 1},
                           &task),
           MOOT_OK);
    return task;
}

#define MUST(condition)                                                                \
    do {                                                                               \
        if (!(condition)) {                                                            \
            failures++;                                                                \
            fprintf(stderr, "%s: line %d: %s (runs %d, found %d)\n", scene_name,       \
                    __LINE__, #condition, (int)runs, (int)found);                      \
        }                                                                              \
    } while (0)

/* The cases of a test, over a folder of its own, which is removed. */
static inline int run_cases(const char *name, void (*const *cases)(void), size_t count)
{
    alarm(300);
    (void)snprintf(folder, sizeof(folder), "/tmp/%s-%d", name, (int)getpid());
    (void)snprintf(folder_knob, sizeof(folder_knob), "MOOT_CHECKPOINT=%s", folder);
    for (size_t i = 0; i < count; i++) {
        cases[i]();
    }
    begin_case("");
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
