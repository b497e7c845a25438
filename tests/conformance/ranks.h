/* ranks.h - ranks that share a process: a program for each of 1..N threads, over the
 * in-process wire.
 *
 * A case is a function that every rank runs between open and close.  What a rank's
 * program finds wrong it says with CHECK, from any thread; the first of them says which
 * case and rank.  A rank that hangs is found by the alarm of the whole test program.
 */
#ifndef TESTS_CONFORMANCE_RANKS_H
#define TESTS_CONFORMANCE_RANKS_H

#include "node/api/context_open.h"
#include "node/api/moot.h"
#include "node/transport/inproc/inproc.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SEATS_MAX = 8, KERNELS_MAX = 24, REPORT_BYTES = 32768 };

struct seat {
    int rank, size;
    moot *m;
    moot_kernel_id kernels[KERNELS_MAX]; /* by the case's own enum */
    const struct scene *scene;
    struct inproc_hub *hub;
    pthread_barrier_t *barrier; /* of all ranks' main threads */
    const char *const *knobs;
    pthread_mutex_t report_lock;
    char report[REPORT_BYTES]; /* all that the hook was given */
    int close_code;
    pthread_t thread;
};

struct scene {
    const char *name;
    void (*program)(struct seat *seat);
    void (*register_kernels)(struct seat *seat);
    const char *const *knobs;
    void (*after)(struct seat *seat); /* once the context is closed */
    int sizes[4];                     /* how many ranks; 0 ends; none: 1, 2, 3, 4 */
};

static const char *scene_name = "";
static atomic_int failures;

#define CHECK(seat, condition)                                                         \
    do {                                                                               \
        if (!(condition)) {                                                            \
            if (failures++ < 20)                                                       \
                fprintf(stderr, "%s: rank %d of %d: line %d: %s\n", scene_name,        \
                        (seat)->rank, (seat)->size, __LINE__, #condition);             \
        }                                                                              \
    } while (0)

/* The call's code, and the story of it if it is not what was expected. */
#define EXPECT(seat, call, wanted)                                                     \
    do {                                                                               \
        int code_ = (call);                                                            \
        if (code_ != (wanted)) {                                                       \
            if (failures++ < 20)                                                       \
                fprintf(stderr,                                                        \
                        "%s: rank %d of %d: line %d: %s gave %s, not %s: %s\n",        \
                        scene_name, (seat)->rank, (seat)->size, __LINE__, #call,       \
                        moot_err_name(code_), moot_err_name(wanted),                   \
                        (seat)->m ? moot_last_error((seat)->m) : "");                  \
        }                                                                              \
    } while (0)

static inline void keep_report(void *user, const char *text)
{
    struct seat *seat = user;
    pthread_mutex_lock(&seat->report_lock);
    size_t used = strlen(seat->report);
    snprintf(seat->report + used, REPORT_BYTES - used, "%s", text);
    pthread_mutex_unlock(&seat->report_lock);
    if (getenv("MOOT_TEST_SHOW") != NULL) {
        fputs(text, stderr);
    }
}

static inline bool reported(struct seat *seat, const char *words)
{
    pthread_mutex_lock(&seat->report_lock);
    bool found = strstr(seat->report, words) != NULL;
    pthread_mutex_unlock(&seat->report_lock);
    return found;
}

static inline bool told(const struct seat *seat, const char *words)
{
    return strstr(moot_last_error(seat->m), words) != NULL;
}

static inline void nap_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static inline double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline void add_kernel(struct seat *seat, int index, const char *name,
                              moot_kernel_fn fn, uint32_t flags)
{
    moot_kernel kernel = {.name = name, .version = 1, .fn = fn, .flags = flags};
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &seat->kernels[index]),
           MOOT_OK);
}

static inline void *seat_main(void *argument)
{
    struct seat *seat = argument;
    struct transport_inproc_options end = {.hub = seat->hub,
                                           .rank = (uint32_t)seat->rank};
    moot_options options = {
        .report = keep_report, .report_user = seat, .knobs = seat->knobs};
    int code = moot_open_transport(&options, transport_inproc_open, &end, &seat->m);
    if (code != MOOT_OK) {
        fprintf(stderr, "%s: rank %d: open: %s\n", scene_name, seat->rank,
                moot_last_error(NULL));
        failures++;
        return NULL;
    }
    if (seat->scene->register_kernels != NULL) {
        seat->scene->register_kernels(seat);
    }
    seat->scene->program(seat);
    if (seat->m != NULL) {
        seat->close_code = moot_close(seat->m);
    }
    seat->m = NULL;
    if (seat->scene->after != NULL) {
        seat->scene->after(seat);
    }
    return NULL;
}

static inline void play(const struct scene *scene, int size, const char *const *knobs)
{
    struct inproc_hub *hub = inproc_hub_new((uint32_t)size);
    struct seat *seats = calloc((size_t)size, sizeof(*seats));
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, (unsigned)size);
    for (int rank = 0; rank < size; rank++) {
        seats[rank] = (struct seat){.rank = rank,
                                    .size = size,
                                    .scene = scene,
                                    .hub = hub,
                                    .barrier = &barrier,
                                    .knobs = knobs};
        pthread_mutex_init(&seats[rank].report_lock, NULL);
        pthread_create(&seats[rank].thread, NULL, seat_main, &seats[rank]);
    }
    for (int rank = 0; rank < size; rank++) {
        pthread_join(seats[rank].thread, NULL);
        pthread_mutex_destroy(&seats[rank].report_lock);
    }
    pthread_barrier_destroy(&barrier);
    inproc_hub_free(hub);
    free(seats);
}

/* Plays the scenes, or only those whose name contains the first argument. */
static inline int play_all(const struct scene *scenes, size_t count, int argc,
                           char **argv)
{
    static const char *const plain[] = {NULL};
    static const int all_sizes[] = {1, 2, 3, 4};
    alarm(300);
    for (size_t i = 0; i < count; i++) {
        const struct scene *scene = &scenes[i];
        if (argc > 1 && strstr(scene->name, argv[1]) == NULL) {
            continue;
        }
        scene_name = scene->name;
        const int *sizes = scene->sizes[0] != 0 ? scene->sizes : all_sizes;
        int before = failures;
        double begin = now_s();
        for (int k = 0; k < 4 && sizes[k] != 0; k++) {
            play(scene, sizes[k], scene->knobs != NULL ? scene->knobs : plain);
        }
        printf("%s %s (%.2f s)\n", failures == before ? "ok" : "FAILED", scene->name,
               now_s() - begin);
        fflush(stdout);
    }
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
