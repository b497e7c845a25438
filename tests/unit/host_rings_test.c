/* host_rings_test.c - the segment among the ranks of a host
 * (node/transport/shm/host_rings.h): all find it, others do not, and nothing is left of
 * it however its maker ends.
 */
#include "node/transport/shm/host_rings.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS_MAX = 64 };

/* The groups of these tests: rank 0 is the maker's, the others' hosts are as given. */
struct world {
    uint64_t uids[RANKS_MAX];
    uint32_t hosts[RANKS_MAX];
    struct process_name processes[RANKS_MAX];
};

static struct transport_group group_of(struct world *world, uint32_t rank,
                                       uint32_t size)
{
    return (struct transport_group){.rank = rank,
                                    .size = size,
                                    .uids = world->uids,
                                    .hosts = world->hosts,
                                    .processes = world->processes};
}

static void world_make(struct world *world, const struct process_name *all)
{
    static uint64_t uid = 0x6d6f6f7400000000u;
    memset(world, 0, sizeof(*world));
    uid += (uint64_t)getpid() << 8;
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        world->uids[rank] = uid++;
        world->processes[rank] = *all;
    }
}

/* Whether any file in that folder has the segment's name. */
static bool has_a_place(const struct world *world)
{
    char path[64];
    snprintf(path, sizeof(path), "/dev/shm/moot-%016" PRIx64, world->uids[0]);
    return access(path, F_OK) == 0;
}

/* --- A rank 0 in a process of its own -------------------------------------------- */

struct maker {
    struct world world;
    pid_t pid;
    int wire; /* one byte each way: the meetings */
};

static void meet(int wire)
{
    char byte = 'm';
    if (write(wire, &byte, 1) != 1 || read(wire, &byte, 1) != 1) {
        _exit(2);
    }
}

static bool say(struct host_rings *rings, uint32_t rank, const char *text)
{
    struct near *near = host_rings_near(rings, rank);
    void *place = near ? ring_place(&near->out, strlen(text)) : NULL;
    if (place) {
        memcpy(place, text, strlen(text));
        ring_show(&near->out, strlen(text), RING_FRAME);
    }
    return place != NULL;
}

static bool hears(struct host_rings *rings, uint32_t rank, const char *text)
{
    struct near *near = host_rings_near(rings, rank);
    size_t size = 0;
    enum ring_kind kind;
    const void *bytes = near ? ring_take(&near->in, &size, &kind) : NULL;
    return bytes && size == strlen(text) && memcmp(bytes, text, size) == 0;
}

/* Goes through the steps with a meeting after each; ends if it is asked to. */
static void make(struct world *world, int wire)
{
    struct host_rings rings = {.count = 0};
    world_make(world, &(struct process_name){0});
    world->processes[0] = process_self();
    const struct transport_group group = group_of(world, 0, 2);
    if (!host_rings_make(&rings, &group) ||
        write(wire, world, sizeof(*world)) != (ssize_t)sizeof(*world)) {
        _exit(3);
    }
    meet(wire);
    if (!host_rings_map(&rings, &group) || !say(&rings, 1, "to the younger")) {
        _exit(4);
    }
    meet(wire);
    host_rings_hide(&rings);
    meet(wire);
    const bool heard = hears(&rings, 1, "to the elder");
    host_rings_close(&rings);
    _exit(heard ? 0 : 5);
}

static void maker_begin(struct maker *maker)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    maker->pid = fork();
    assert_true(maker->pid >= 0);
    if (maker->pid == 0) {
        close(ends[0]);
        make(&maker->world, ends[1]);
    }
    close(ends[1]);
    maker->wire = ends[0];
    assert_int_equal(
        recv(maker->wire, &maker->world, sizeof(maker->world), MSG_WAITALL),
        sizeof(maker->world));
}

static void maker_end(struct maker *maker, int expected)
{
    int status = 0;
    assert_int_equal(waitpid(maker->pid, &status, 0), maker->pid);
    assert_int_equal(status, expected);
    close(maker->wire);
    assert_false(has_a_place(&maker->world));
}

/* --- What must be true ----------------------------------------------------------- */

static void two_processes_speak_through_what_one_has_made(void **state)
{
    (void)state;
    struct maker maker;
    struct host_rings rings = {.count = 0}, late = {.count = 0};
    maker_begin(&maker);
    const struct transport_group group = group_of(&maker.world, 1, 2);
    assert_true(host_rings_make(&rings, &group));
    assert_false(has_a_place(&maker.world));
    meet(maker.wire);
    assert_true(host_rings_map(&rings, &group));
    meet(maker.wire);
    host_rings_hide(&rings);
    assert_true(hears(&rings, 0, "to the younger"));
    assert_true(say(&rings, 0, "to the elder"));
    meet(maker.wire);
    maker_end(&maker, 0);
    assert_false(hears(&rings, 0, "to the younger")); /* and the memory is there yet */
    assert_true(host_rings_make(&late, &group));
    assert_false(host_rings_map(&late, &group));
    host_rings_close(&late);
    host_rings_close(&rings);
}

static void of_a_maker_that_is_killed_nothing_is_left(void **state)
{
    (void)state;
    for (int meetings = 0; meetings < 3; meetings++) {
        struct maker maker;
        struct host_rings rings = {.count = 0};
        maker_begin(&maker);
        const struct transport_group group = group_of(&maker.world, 1, 2);
        assert_true(host_rings_make(&rings, &group));
        if (meetings > 0) {
            meet(maker.wire);
        }
        const bool mapped = meetings > 0 && host_rings_map(&rings, &group);
        if (meetings > 1) {
            meet(maker.wire);
        }
        kill(maker.pid, SIGKILL);
        maker_end(&maker, SIGKILL);
        assert_true(mapped == (meetings > 0));
        assert_true(mapped || !host_rings_map(&rings, &group));
        assert_true(!mapped || say(&rings, 0, "to nobody"));
        host_rings_close(&rings);
    }
}

static void who_cannot_look_at_the_maker_has_no_rings(void **state)
{
    (void)state;
    struct maker maker;
    struct host_rings rings = {.count = 0};
    maker_begin(&maker);
    const struct process_name real = maker.world.processes[0];
    const struct transport_group group = group_of(&maker.world, 1, 2);
    meet(maker.wire);
    assert_true(host_rings_make(&rings, &group));
    maker.world.processes[0].space++; /* pids there mean others here */
    assert_false(host_rings_map(&rings, &group));
    maker.world.processes[0] = (struct process_name){0}; /* the system does not say */
    assert_false(host_rings_map(&rings, &group));
    maker.world.processes[0] = real;
    maker.world.uids[0]++; /* of another moot of these processes */
    host_rings_close(&rings);
    assert_true(host_rings_make(&rings, &group));
    assert_false(host_rings_map(&rings, &group));
    maker.world.uids[0]--;
    host_rings_close(&rings);
    kill(maker.pid, SIGKILL);
    maker_end(&maker, SIGKILL);
}

static void alone_or_among_too_many_there_is_nothing_to_map(void **state)
{
    (void)state;
    const struct process_name self = process_self();
    struct world world;
    struct host_rings rings = {.count = 0};
    world_make(&world, &self);
    struct transport_group group = group_of(&world, 63, RANKS_MAX);
    assert_false(host_rings_make(&rings, &group));
    host_rings_close(&rings);
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        world.hosts[rank] = rank;
    }
    assert_true(host_rings_make(&rings, &group) && host_rings_map(&rings, &group));
    assert_null(host_rings_near(&rings, 0));
    host_rings_hide(&rings);
    host_rings_close(&rings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_speak_through_what_one_has_made),
        cmocka_unit_test(of_a_maker_that_is_killed_nothing_is_left),
        cmocka_unit_test(who_cannot_look_at_the_maker_has_no_rings),
        cmocka_unit_test(alone_or_among_too_many_there_is_nothing_to_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
