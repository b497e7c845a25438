/* scaling.c - whether a step of arrays costs a rank more where there are more ranks.
 *
 *   valgrind --tool=callgrind --toggle-collect=count_steps scaling --ranks R [--steps
 * N]
 *
 * R ranks of one moot in this process (alone.h), on one thread.  A step is an array of
 * four elements for each rank, which take a window of three of the step before.  In a
 * *stretch* each rank in turn spawns twenty steps, as a program does, and then each
 * that was sent something goes on, until all have ended.  So no rank ever waits: what
 * is counted is what steps cost, in instructions, by count_steps(), behind as many that
 * are not counted.  It prints by how many steps and ranks that is to be divided, and
 * how many frames each of these sent.
 *
 * The clock is ours, so that what ranks do by time (gossip, chores) they do as often as
 * if each had a processor of its own: all have a turn, and it has gone on by a few
 * microseconds.  The same command does the same, to the instruction.
 */
#include "tests/bench/alone.h"

#include "node/api/moot_array.h"
#include "node/context/context.h"
#include "tests/bench/bench.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    SHARE = 4,
    STRETCH = 20,
    RANKS_MAX = 1024,
    RESULT_BYTES = 16,
    ROUNDS_MAX = 100000,
    SPAWN_NS = 2000, /* of a rank's time, each */
    TURN_NS = 5000,
    IDLE_NS = 20000
};
#define SECOND_NS UINT64_C(1000000000)

struct rank {
    moot *m;
    moot_kernel_id kernel;
    moot_array last;
    bool done;
};

struct crowd {
    struct alone_wire *wire;
    uint32_t ranks;
    struct rank *of;
    int64_t step;
};

static uint64_t now_ns = SECOND_NS;

/* In the place of libc's. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                         struct timespec *now)
{
    (void)clock;
    now->tv_sec = (time_t)(now_ns / SECOND_NS);
    now->tv_nsec = (long)(now_ns % SECOND_NS);
    return 0;
}

/* Likewise: threads that look on by time are not to disturb. */
__attribute__((visibility("default"))) int
pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                       const struct timespec *until)
{
    (void)until;
    return pthread_cond_wait(condition, lock);
}

static int run_element(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, RESULT_BYTES) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* All steps of a stretch; the first takes nothing. */
static void spawn_stretch(const struct crowd *crowd, struct rank *rank)
{
    static const moot_map_window window = {
        .low = -1, .high = 1, .edges = MOOT_EDGE_CUT};
    for (int64_t i = 0; i < STRETCH; i++) {
        const int64_t args = crowd->step + i;
        const moot_array_input input = {.array = rank->last,
                                        .map = MOOT_MAP_WINDOW,
                                        .map_args = &window,
                                        .map_args_size = sizeof(window)};
        const moot_array_spec spec = {.kernel = rank->kernel,
                                      .count = (uint64_t)SHARE * crowd->ranks,
                                      .args = &args,
                                      .args_size = sizeof(args),
                                      .inputs = &input,
                                      .input_count = i > 0 ? 1 : 0};
        moot_array now;
        bench_check(rank->m, moot_array_spawn(rank->m, &spec, &now),
                    "moot_array_spawn");
        if (i > 0) {
            bench_check(rank->m, moot_array_release(rank->m, rank->last),
                        "moot_array_release");
        }
        rank->last = now;
    }
}

/* The rank hears what it was sent, and runs what is ready. */
static void go_on(struct rank *rank)
{
    const int code = moot_array_wait(rank->m, rank->last, 0);
    if (code != MOOT_ERR_TIMEOUT) {
        bench_check(rank->m, code, "moot_array_wait");
        rank->done = true;
    }
}

static bool all_are_done(const struct crowd *crowd)
{
    uint32_t rank = 0;
    while (rank < crowd->ranks && crowd->of[rank].done) {
        rank++;
    }
    return rank == crowd->ranks;
}

static void end_stretch(struct crowd *crowd)
{
    for (long round = 0; !all_are_done(crowd); round++) {
        bool any = round == 0;
        for (uint32_t rank = 0; rank < crowd->ranks; rank++) {
            if (round == 0 || alone_is_sent(crowd->wire, rank)) {
                any = true;
                go_on(&crowd->of[rank]);
            }
        }
        for (uint32_t rank = 0; rank < crowd->ranks && !any; rank++) {
            go_on(&crowd->of[rank]); /* by time */
        }
        now_ns += any ? TURN_NS : IDLE_NS;
        if (round == ROUNDS_MAX) {
            bench_die("steps do not end");
        }
    }
}

static void take_steps(struct crowd *crowd, long stretches)
{
    for (long i = 0; i < stretches; i++) {
        for (uint32_t rank = 0; rank < crowd->ranks; rank++) {
            crowd->of[rank].done = false;
            spawn_stretch(crowd, &crowd->of[rank]);
        }
        now_ns += SPAWN_NS * STRETCH;
        end_stretch(crowd);
        for (uint32_t rank = 0; rank < crowd->ranks; rank++) {
            bench_check(crowd->of[rank].m,
                        moot_array_release(crowd->of[rank].m, crowd->of[rank].last),
                        "moot_array_release");
        }
        crowd->step += STRETCH;
    }
}

__attribute__((noinline)) static void count_steps(struct crowd *crowd, long stretches)
{
    take_steps(crowd, stretches);
}

static struct crowd open_crowd(uint32_t ranks)
{
    const moot_kernel kernel = {.name = "element", .fn = run_element};
    struct crowd crowd = {.wire = alone_wire_new(ranks),
                          .ranks = ranks,
                          .of = bench_alloc(ranks, sizeof(*crowd.of))};
    for (uint32_t rank = 0; rank < ranks; rank++) {
        struct rank *of = &crowd.of[rank];
        of->m = alone_open(crowd.wire, rank, NULL);
        of->m->engine.clock =
            (struct clock){0}; /* it counts no ticks of the real one */
        bench_check(of->m, moot_kernel_register(of->m, &kernel, &of->kernel),
                    "element");
    }
    return crowd;
}

int main(int argc, char **argv)
{
    (void)argc;
    const long ranks = bench_number(argv, "--ranks", 2, 1, RANKS_MAX);
    const long stretches =
        bench_number(argv, "--steps", 400, STRETCH, 1000000) / STRETCH;
    struct crowd crowd = open_crowd((uint32_t)ranks);
    take_steps(&crowd, stretches);
    const uint64_t before = alone_frames(crowd.wire);
    count_steps(&crowd, stretches);
    const long pieces = stretches * STRETCH * ranks;
    printf("pieces %ld frames %.2f\n", pieces,
           (double)(alone_frames(crowd.wire) - before) / (double)pieces);
    (void)fflush(stdout);
    _exit(0); /* see alone.h */
}
