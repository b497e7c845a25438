/* spinning_test.c - who waits, or spawns far ahead, gives its processor up or keeps it
 * (node/transport/host/processors.h, node/engine/progress.c). */
#include "node/api/context_open.h"
#include "node/api/moot.h"
#include "node/engine/clock.h"
#include "node/transport/hello.h"
#include "node/transport/inproc/inproc.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* --- Which ranks have processors of their own ------------------------------------ */

static void set_is_known(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    struct processors all = processors_own();
    assert_int_equal(all.count, CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &before)) {
            CPU_SET(cpu, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    struct processors bound = processors_own();
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_int_equal(bound.count, 1);
    assert_true(all.count == 1 || bound.set != all.set);
    assert_int_equal(processors_own().set, all.set);
}

/* Of four ranks, two on each host; the first is asked. */
static bool oversubscribed(uint64_t count, uint64_t set, uint64_t set_beside)
{
    struct hello all[4];
    memset(all, 0, sizeof(all));
    for (uint64_t rank = 0; rank < 4; rank++) {
        all[rank].uid = 1 + rank;
        all[rank].host = rank / 2;
        all[rank].processors = (struct processors){count, set};
    }
    all[1].processors.set = set_beside;
    uint64_t uids[4];
    uint32_t hosts[4];
    struct process_name processes[4];
    char host_names[4][TRANSPORT_HOST_BYTES];
    struct transport_group group = {.size = 4,
                                    .uids = uids,
                                    .hosts = hosts,
                                    .processes = processes,
                                    .host_names = host_names};
    hello_take(&group, all);
    return group.oversubscribed;
}

static void ranks_are_counted(void **state)
{
    (void)state;
    assert_false(oversubscribed(2, 5, 5)); /* not bound */
    assert_true(oversubscribed(1, 5, 5));  /* both bound to one */
    assert_false(oversubscribed(1, 5, 6)); /* each to its own */
    assert_true(oversubscribed(0, 5, 6));  /* the system does not say */
}

/* --- What a waiting rank does ---------------------------------------------------- */

static atomic_uint yields;
static uint64_t slice_ns; /* for which others take the processor */

/* Instead of the system's, for all that this program is linked of. */
int sched_yield(void)
{
    yields++;
    uint64_t until_ns = clock_ns() + slice_ns;
    while (slice_ns > 0 && clock_ns() < until_ns) {
        continue;
    }
    return 0;
}

static bool shares;

static int open_wire(void *arg, const void *blob, size_t blob_size,
                     struct transport_group *group, struct transport **out, char *story,
                     size_t story_size)
{
    int error =
        transport_inproc_open(arg, blob, blob_size, group, out, story, story_size);
    group->oversubscribed = shares;
    return error;
}

/* A thread of the program's, which computes. */
struct other {
    moot *m;
    pthread_barrier_t steps;
};

static void *compute(void *argument)
{
    struct other *other = argument;
    moot_hash hash = {{2}};
    moot_task task;
    assert_int_equal(moot_task_find(other->m, &hash, &task), MOOT_OK);
    pthread_barrier_wait(&other->steps);
    pthread_barrier_wait(&other->steps);
    return NULL;
}

struct rank {
    const char *knobs[2];
    bool oversubscribed, computes;
};

static bool yields_ever(const struct rank *rank)
{
    struct inproc_hub *hub = inproc_hub_new(1);
    struct transport_inproc_options end = {.hub = hub};
    struct other other;
    pthread_t thread;
    moot_task task;
    moot_hash hash = {{1}};
    shares = rank->oversubscribed;
    yields = 0; /* a worker may drive, and have yielded by the time of the wait */
    assert_int_equal(moot_open_transport(&(moot_options){.knobs = rank->knobs},
                                         open_wire, &end, &other.m),
                     MOOT_OK);
    assert_int_equal(moot_task_find(other.m, &hash, &task), MOOT_OK);
    if (rank->computes) {
        pthread_barrier_init(&other.steps, NULL, 2);
        assert_int_equal(pthread_create(&thread, NULL, compute, &other), 0);
        pthread_barrier_wait(&other.steps);
    }
    /* A wait may be over before the rank has run for long enough, or its worker at all,
     * on a busy machine. */
    for (int tries = 0; tries < 50 && yields == 0; tries++) {
        assert_int_equal(moot_task_wait(other.m, task, MOOT_MILLISECONDS(1) / 3),
                         MOOT_ERR_TIMEOUT);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    unsigned counted = yields;
    if (rank->computes) {
        pthread_barrier_wait(&other.steps);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&other.steps);
    }
    assert_int_equal(moot_close(other.m), MOOT_OK);
    inproc_hub_free(hub);
    return counted > 0;
}

static void waits_spin_or_yield(void **state)
{
    (void)state;
    assert_false(yields_ever(&(struct rank){.oversubscribed = false}));
    assert_true(yields_ever(&(struct rank){.oversubscribed = true}));
    assert_true(yields_ever(&(struct rank){.knobs = {"MOOT_THREADS=1"}}));
    assert_true(yields_ever(&(struct rank){.computes = true}));
}

/* --- What a rank does that spawns far ahead --------------------------------------- */

static int nothing(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* A rank that spawns tasks whose input comes last. */
struct spawner {
    moot *m;
    moot_kernel_id kernel;
    moot_task input;
    int spawned;
};

static moot_task_spec input_spec(const struct spawner *spawner)
{
    static const int none = -1;
    return (moot_task_spec){
        .kernel = spawner->kernel, .args = &none, .args_size = sizeof(none)};
}

static void spawn_one(struct spawner *spawner)
{
    moot_task task;
    moot_task_spec spec = {.kernel = spawner->kernel,
                           .args = &spawner->spawned,
                           .args_size = sizeof(spawner->spawned),
                           .inputs = &spawner->input,
                           .input_count = 1};
    assert_int_equal(moot_task_spawn(spawner->m, &spec, &task), MOOT_OK);
    assert_int_equal(moot_task_release(spawner->m, task), MOOT_OK);
    spawner->spawned++;
}

static struct spawner spawner_open(struct inproc_hub *hub, bool oversubscribed)
{
    struct transport_inproc_options end = {.hub = hub};
    struct spawner spawner = {0};
    moot_kernel kernel = {.name = "nothing", .fn = nothing};
    moot_hash hash;
    shares = oversubscribed;
    yields = 0;
    assert_int_equal(
        moot_open_transport(&(moot_options){0}, open_wire, &end, &spawner.m), MOOT_OK);
    assert_int_equal(moot_kernel_register(spawner.m, &kernel, &spawner.kernel),
                     MOOT_OK);
    moot_task_spec spec = input_spec(&spawner);
    assert_int_equal(moot_spec_hash(spawner.m, &spec, &hash), MOOT_OK);
    assert_int_equal(moot_task_find(spawner.m, &hash, &spawner.input), MOOT_OK);
    return spawner;
}

static void spawner_close(struct spawner *spawner)
{
    moot_task task;
    moot_task_spec spec = input_spec(spawner);
    slice_ns = 0;
    assert_int_equal(moot_task_spawn(spawner->m, &spec, &task), MOOT_OK);
    assert_int_equal(moot_close(spawner->m), MOOT_OK);
}

enum { NEAR = 200, FAR = 2000 };

static unsigned yields_of_spawns(bool oversubscribed)
{
    struct inproc_hub *hub = inproc_hub_new(1);
    struct spawner spawner = spawner_open(hub, oversubscribed);
    while (spawner.spawned < NEAR) {
        spawn_one(&spawner);
    }
    assert_int_equal(yields, 0);
    uint64_t begun_ns = clock_ns();
    while (spawner.spawned < FAR) {
        spawn_one(&spawner);
    }
    unsigned counted = yields;
    assert_in_range(counted, 0, 1 + (clock_ns() - begun_ns) / 10000);
    spawner_close(&spawner);
    inproc_hub_free(hub);
    return counted;
}

static void who_spawns_far_ahead_gives_way_to_ranks(void **state)
{
    (void)state;
    assert_int_equal(yields_of_spawns(false), 0);
    assert_in_range(yields_of_spawns(true), 1, FAR);
}

static void spawn_until(struct spawner *spawner, unsigned count)
{
    while (yields < count && spawner->spawned < FAR) {
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        spawn_one(spawner);
    }
    assert_int_equal(yields, count);
}

/* Each time takes 2 ms, and between the first four are 1.02, 3.04 and 7.08. */
static void but_seldom_to_others(void **state)
{
    (void)state;
    struct inproc_hub *hub = inproc_hub_new(1);
    struct spawner spawner = spawner_open(hub, true);
    slice_ns = 2000000;
    spawn_until(&spawner, 1);
    uint64_t first_ns = clock_ns();
    spawn_until(&spawner, 4);
    assert_true(clock_ns() - first_ns >= 3 * 2000000 + 11000000);
    spawner_close(&spawner);
    inproc_hub_free(hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_is_known),
        cmocka_unit_test(ranks_are_counted),
        cmocka_unit_test(waits_spin_or_yield),
        cmocka_unit_test(who_spawns_far_ahead_gives_way_to_ranks),
        cmocka_unit_test(but_seldom_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
