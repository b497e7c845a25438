/* strike.c - what strikes a rank from beside the fault plan (trouble.c): a signal from
 * outside, wherever the rank is; no more memory; a full /dev/shm.
 *
 * A process that stands still cannot wake itself up, so a child of it, which is made
 * before MPI starts and ends with it, sends the signals.
 */
#include "tests/mpi/hostile/player.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { SHM_MIB_MAX = 1024 };

static int hand = -1; /* of a pipe to the child */

static void sleep_ms(uint32_t ms)
{
    const struct timespec span = {.tv_sec = ms / 1000,
                                  .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&span, NULL);
}

/* The child: it waits for its orders, and gives up when its parent ends. */
static void serve(int orders, pid_t parent)
{
    struct chaos_blow blow;
    struct pollfd end = {.fd = orders};
    if (read(orders, &blow, sizeof(blow)) != (ssize_t)sizeof(blow) ||
        poll(&end, 1, (int)blow.moment) != 0) {
        _exit(0);
    }
    (void)kill(parent, blow.is_forever ? SIGKILL : SIGSTOP);
    if (!blow.is_forever) {
        sleep_ms(blow.amount);
        (void)kill(parent, SIGCONT);
    }
    _exit(0);
}

void strike_prepare(void)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe(ends) != 0) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        /* The launcher waits for everyone who has its output. */
        for (int file = 0; file < 64; file++) {
            if (file != ends[0]) {
                close(file);
            }
        }
        serve(ends[0], parent);
    }
    close(ends[0]);
    hand = ends[1];
    (void)fcntl(hand, F_SETFD, FD_CLOEXEC);
}

void strike_begin(const struct chaos *chaos, int rank)
{
    const struct chaos_blow blow = chaos->outside;
    if (blow.rank == rank && hand >= 0) {
        (void)!write(hand, &blow, sizeof(blow));
    }
}

/* As much as is mapped, and `more` bytes. */
static void limit_memory(uint32_t more)
{
    char line[128] = "";
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return;
    }
    rlim_t pages =
        fgets(line, sizeof(line), file) != NULL ? strtoull(line, NULL, 10) : 0;
    rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    fclose(file);
    if (pages > 0) {
        const struct rlimit limit = {bytes, bytes};
        (void)setrlimit(RLIMIT_AS, &limit);
    }
}

/* Only where it is small, so that it is nobody else's. */
static void fill_shm(void)
{
    static const char zeros[1 << 16];
    struct statvfs room;
    if (getenv("CHAOS_SHM") == NULL || statvfs("/dev/shm", &room) != 0 ||
        (uint64_t)room.f_blocks * room.f_frsize > (uint64_t)SHM_MIB_MAX << 20) {
        return;
    }
    int file = open("/dev/shm/chaos-full", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (file >= 0 && write(file, zeros, sizeof(zeros)) > 0) {
    }
    close(file);
}

void strike_at(const struct chaos *chaos, int rank, uint32_t task)
{
    if (chaos->fill.rank == rank && chaos->fill.moment == task) {
        fill_shm();
    }
    if (chaos->memory.rank == rank && chaos->memory.moment == task) {
        limit_memory(chaos->memory.amount);
    }
}
