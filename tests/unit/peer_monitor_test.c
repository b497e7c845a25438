/* peer_monitor_test.c - whom a rank watches of its host, and by how many descriptors.
 */
#include "node/members/peer_monitor.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = PEERS_WATCHED_MAX + 20, SELF = 7 };

/* Processes that do nothing, each with a rank; and this one, which is rank SELF. */
struct crowd {
    pid_t pids[RANKS];
    struct process_name names[RANKS];
    uint64_t uids[RANKS];
    uint32_t hosts[RANKS];
    struct transport_group group;
};

static void crowd_begin(struct crowd *crowd, bool told)
{
    *crowd = (struct crowd){.group = {.rank = SELF,
                                      .size = RANKS,
                                      .uids = crowd->uids,
                                      .processes = crowd->names,
                                      .hosts = crowd->hosts,
                                      .told_of_deaths = told}};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        int ready[2];
        crowd->uids[rank] = 1 + rank;
        if (rank == SELF) {
            crowd->names[rank] = process_self();
            continue;
        }
        assert_int_equal(pipe(ready), 0);
        crowd->pids[rank] = fork();
        if (crowd->pids[rank] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            const struct process_name own = process_self();
            if (write(ready[1], &own, sizeof(own)) == (ssize_t)sizeof(own)) {
                for (;;) {
                    pause();
                }
            }
            _exit(1);
        }
        assert_int_equal(read(ready[0], &crowd->names[rank], sizeof(*crowd->names)),
                         sizeof(*crowd->names));
        close(ready[0]);
        close(ready[1]);
    }
}

static void crowd_kill(struct crowd *crowd, uint32_t rank)
{
    if (crowd->pids[rank] > 0) {
        kill(crowd->pids[rank], SIGKILL);
        waitpid(crowd->pids[rank], NULL, 0);
        crowd->pids[rank] = 0;
    }
}

static uint32_t count_descriptors(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* The next that is found in a while. */
static uint32_t wait_for_next(struct watch *watch)
{
    const struct timespec moment = {.tv_nsec = 2000000};
    uint32_t rank = UINT32_MAX;
    for (uint64_t tries = 1; rank == UINT32_MAX && tries < 200; tries++) {
        nanosleep(&moment, NULL);
        rank = watch_next(watch, tries * UINT64_C(20000000));
    }
    return rank;
}

static void see(bool told, uint32_t watched)
{
    struct crowd crowd;
    crowd_begin(&crowd, told);
    const uint32_t before = count_descriptors();
    struct watch *watch = watch_new(&crowd.group);
    assert_non_null(watch);
    assert_int_equal(count_descriptors() - before - 1, watched);
    const uint32_t next = (SELF + 1) % RANKS, last = (SELF + RANKS - 1) % RANKS;
    crowd_kill(&crowd, next);
    assert_int_equal(wait_for_next(watch), next);
    crowd_kill(&crowd, last);
    assert_int_equal(wait_for_next(watch), watched == RANKS - 1 ? last : UINT32_MAX);
    watch_free(watch);
    assert_int_equal(count_descriptors(), before);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        crowd_kill(&crowd, rank);
    }
}

static void all_of_the_host_are_watched_where_nobody_else_tells(void **state)
{
    (void)state;
    see(false, RANKS - 1);
}

static void some_are_watched_where_the_transport_tells(void **state)
{
    (void)state;
    see(true, PEERS_WATCHED_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_the_host_are_watched_where_nobody_else_tells),
        cmocka_unit_test(some_are_watched_where_the_transport_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
