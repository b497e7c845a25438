/* micro_spawn.c - a spawn through the public interface, in one process.
 *
 * Two ranks over the in-process wire.  The second is opened by a thread of its own, so
 * that both can join, and then does nothing: the first spawns, with nobody else on its
 * core, tasks of 32 bytes of arguments and two inputs, for the other or for itself.
 * Neither has a helper thread.  What is spawned for the other is not run; what is
 * spawned for itself runs in a wait, which each operation ends with, or one in so many.
 */
#include "tests/bench/micro.h"

#include "node/api/context_open.h"
#include "node/api/moot.h"
#include "node/transport/inproc/inproc.h"

#include <pthread.h>
#include <stdlib.h>

enum { RANKS = 2, BATCH = 500, REGION = 1000 };

struct seat {
    struct inproc_hub *hub;
    uint32_t rank;
    moot *m;
    pthread_t thread;
};

struct spawning {
    struct seat seats[RANKS];
    moot_kernel_id kernel;
    moot_task before[2]; /* the inputs of the next */
};

static int run_empty(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void *open_seat(void *argument)
{
    static const char *const KNOBS[] = {"MOOT_PROGRESS=caller", "MOOT_HEARTBEAT=never",
                                        NULL};
    struct seat *seat = argument;
    struct transport_inproc_options end = {.hub = seat->hub, .rank = seat->rank};
    micro_check(moot_open_transport(&(moot_options){.knobs = KNOBS},
                                    transport_inproc_open, &end, &seat->m) == MOOT_OK,
                moot_last_error(NULL));
    return NULL;
}

static void *close_seat(void *argument)
{
    struct seat *seat = argument;
    micro_check(moot_close(seat->m) == MOOT_OK, moot_last_error(NULL));
    return NULL;
}

static void on_all_seats(struct spawning *spawning, void *(*act)(void *))
{
    for (int rank = 1; rank < RANKS; rank++) {
        micro_check(pthread_create(&spawning->seats[rank].thread, NULL, act,
                                   &spawning->seats[rank]) == 0,
                    "no thread");
    }
    act(&spawning->seats[0]);
    for (int rank = 1; rank < RANKS; rank++) {
        pthread_join(spawning->seats[rank].thread, NULL);
    }
}

static moot_task spawn(struct spawning *spawning, long i, int owner)
{
    const int64_t args[4] = {i, owner, 2, 3};
    moot_task task;
    micro_check(moot_task_spawn(spawning->seats[0].m,
                                &(moot_task_spec){.kernel = spawning->kernel,
                                                  .args = args,
                                                  .args_size = sizeof(args),
                                                  .inputs = spawning->before,
                                                  .input_count = i < 0 ? 0 : 2,
                                                  .owner = MOOT_ON(owner)},
                                &task) == MOOT_OK,
                "a spawn fails");
    return task;
}

static void *begin_spawning(int owner)
{
    struct spawning *spawning = micro_alloc(1, sizeof(*spawning));
    struct inproc_hub *hub = inproc_hub_new(RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        spawning->seats[rank] = (struct seat){.hub = hub, .rank = rank};
    }
    on_all_seats(spawning, open_seat);
    const moot_kernel kernel = {.name = "execute", .fn = run_empty};
    for (int rank = RANKS; rank-- > 0;) {
        micro_check(moot_kernel_register(spawning->seats[rank].m, &kernel,
                                         &spawning->kernel) == MOOT_OK,
                    "no kernel");
    }
    for (int i = 0; i < 2; i++) {
        spawning->before[i] = spawn(spawning, -1 - i, owner);
    }
    return spawning;
}

static void *begin_remote(long count)
{
    (void)count;
    return begin_spawning(1);
}

static void *begin_local(long count)
{
    (void)count;
    return begin_spawning(0);
}

static void shift(struct spawning *spawning, moot_task task)
{
    micro_check(moot_task_release(spawning->seats[0].m, spawning->before[0]) == MOOT_OK,
                "a release fails");
    spawning->before[0] = spawning->before[1];
    spawning->before[1] = task;
}

static void spawn_remote(void *argument, long i)
{
    shift(argument, spawn(argument, i, 1));
}

/* The same two inputs each, and no release. */
static void submit_single(void *argument, long i) { (void)spawn(argument, i, 1); }

static void submit_in_bulk(void *argument, long i)
{
    struct spawning *spawning = argument;
    moot *m = spawning->seats[0].m;
    if (i % REGION == 0) {
        micro_check(moot_queue_open(m, MOOT_QUEUE_BULK) == MOOT_OK, "no queue");
    }
    (void)spawn(spawning, i, 1);
    if (i % REGION == REGION - 1) {
        micro_check(moot_queue_close(m) == MOOT_OK, "a close fails");
    }
}

static void spawn_local(void *argument, long i)
{
    struct spawning *spawning = argument;
    moot_task task = spawn(spawning, i, 0);
    micro_check(moot_task_wait(spawning->seats[0].m, task, MOOT_FOREVER) == MOOT_OK,
                "a wait fails");
    shift(spawning, task);
}

static void spawn_in_batch(void *argument, long i)
{
    struct spawning *spawning = argument;
    if (i % BATCH == BATCH - 1) {
        spawn_local(argument, i);
    } else {
        shift(spawning, spawn(spawning, i, 0));
    }
}

static void end_spawning(void *argument)
{
    struct spawning *spawning = argument;
    struct inproc_hub *hub = spawning->seats[0].hub;
    on_all_seats(spawning, close_seat);
    inproc_hub_free(hub);
    free(spawning);
}

const struct micro micro_spawn[] = {
    {"spawn-remote-release", begin_remote, spawn_remote, end_spawning},
    {"submit-single", begin_remote, submit_single, end_spawning},
    {"submit-in-bulk", begin_remote, submit_in_bulk, end_spawning},
    {"spawn-local-run-release", begin_local, spawn_local, end_spawning},
    {"spawn-local-in-batches", begin_local, spawn_in_batch, end_spawning},
    {0}};
