/* spinning_test.c - who waits gives its processor up, or goes on spinning
 * (node/transport/processors.h, node/progress.c). */
#include "moot.h"
#include "node/context_open.h"
#include "node/transport/hello.h"
#include "node/transport/inproc.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
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
        all[rank].host = rank / 2;
        all[rank].processors = (struct processors){count, set};
    }
    all[1].processors.set = set_beside;
    uint64_t uids[4];
    uint32_t hosts[4];
    struct process_name processes[4];
    struct transport_group group = {
        .size = 4, .uids = uids, .hosts = hosts, .processes = processes};
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

static unsigned yields;

/* Instead of the system's, for all that this program is linked of. */
int sched_yield(void)
{
    yields++;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_is_known),
        cmocka_unit_test(ranks_are_counted),
        cmocka_unit_test(waits_spin_or_yield),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
