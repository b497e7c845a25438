/* slow_clock.c - a clock that goes slowly, for a program that is made to.
 *
 * A profiler that interprets a program takes some fifty times as long, so what the
 * program does by time (turns of its progress, gossip, a helper's looks) would be done
 * fifty times as often for each task as in a real run, and fill the profile.  Preloaded
 * (LD_PRELOAD), this shows CLOCK_MONOTONIC a fiftieth of what it is; a wait on a
 * condition that is to end at a time of that clock ends when it shows it.
 *
 * Other clocks, waits of a given length and the processor's counter of ticks are as
 * they are: where the library would reckon the time from that counter
 * (node/engine/clock.c), it reads this clock instead.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLOWER UINT64_C(50)
#define SECOND_NS UINT64_C(1000000000)
/* Of the two clocks that a condition may have, the other counts from 1970. */
#define UPTIME_MAX_S 1000000000

/* In the place of libc's, for whoever calls them. */
#define SHOWN __attribute__((visibility("default")))

SHOWN int clock_gettime(clockid_t clock, struct timespec *now)
{
    const long code = syscall(SYS_clock_gettime, clock, now);
    if (code == 0 && clock == CLOCK_MONOTONIC) {
        const uint64_t ns =
            ((uint64_t)now->tv_sec * SECOND_NS + (uint64_t)now->tv_nsec) / SLOWER;
        now->tv_sec = (time_t)(ns / SECOND_NS);
        now->tv_nsec = (long)(ns % SECOND_NS);
    }
    return (int)code;
}

SHOWN int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                 const struct timespec *until)
{
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (wait == NULL) { /* POSIX has a function's address in a void pointer */
        void *found = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
        memcpy(&wait, &found, sizeof(wait));
    }
    struct timespec real = *until;
    if (until->tv_sec < UPTIME_MAX_S) {
        const uint64_t ns =
            ((uint64_t)until->tv_sec * SECOND_NS + (uint64_t)until->tv_nsec) * SLOWER;
        real.tv_sec = (time_t)(ns / SECOND_NS);
        real.tv_nsec = (long)(ns % SECOND_NS);
    }
    return wait(condition, lock, &real);
}
