/* system.c - what node/ asks of the system, in a virtual world (world.h).
 *
 * The linker puts these in the place of the system's (--wrap).  Off the world's threads
 * they are the system's.  A lock's state is in the lock itself, where the C library has
 * it, too: 0 is free.
 */
#include "node/engine/clock.h"
#include "node/faults/stand_still.h"
#include "tests/virtual/world.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WALL_NS INT64_C(1700000000000000000)

/* X(type, name, (parameters)) */
#define WRAPPED(X)                                                                     \
    X(int, pthread_mutex_lock, (pthread_mutex_t * lock))                               \
    X(int, pthread_mutex_unlock, (pthread_mutex_t * lock))                             \
    X(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t * lock))    \
    X(int, pthread_cond_timedwait,                                                     \
      (pthread_cond_t * condition, pthread_mutex_t * lock,                             \
       const struct timespec *until))                                                  \
    X(int, pthread_cond_signal, (pthread_cond_t * condition))                          \
    X(int, pthread_cond_broadcast, (pthread_cond_t * condition))                       \
    X(int, pthread_create,                                                             \
      (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *),     \
       void *argument))                                                                \
    X(int, pthread_join, (pthread_t thread, void **result))                            \
    X(int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void *)))         \
    X(void *, pthread_getspecific, (pthread_key_t key))                                \
    X(int, pthread_setspecific, (pthread_key_t key, const void *value))                \
    X(int, sched_yield, (void))                                                        \
    X(int, nanosleep, (const struct timespec *time, struct timespec *left))            \
    X(int, clock_gettime, (clockid_t which, struct timespec * now))                    \
    X(pid_t, getpid, (void))                                                           \
    X(int, kill, (pid_t process, int number))                                          \
    X(void, stand_still, (uint64_t ns))                                                \
    X(void, clock_begin, (struct clock * clock))

#define X(type, name, parameters)                                                      \
    type __real_##name parameters;                                                     \
    type __wrap_##name parameters;
WRAPPED(X)
#undef X

/* --- Locks ------------------------------------------------------------------------ */

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
    if (!world_is_on()) {
        return __real_pthread_mutex_lock(lock);
    }
    world_spend();
    while (lock->__data.__lock != 0) {
        (void)world_wait(lock, WORLD_NEVER);
    }
    lock->__data.__lock = 1;
    world_holds(lock, 1);
    return 0;
}

static void give_back(pthread_mutex_t *lock)
{
    lock->__data.__lock = 0;
    world_holds(lock, -1);
    world_wake(lock, false);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
    if (!world_is_on()) {
        return __real_pthread_mutex_unlock(lock);
    }
    give_back(lock);
    world_spend();
    return 0;
}

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
    give_back(lock);
    bool woken = world_wait(condition, until_ns);
    (void)__wrap_pthread_mutex_lock(lock);
    return woken ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    return world_is_on() ? wait_for(condition, lock, WORLD_NEVER)
                         : __real_pthread_cond_wait(condition, lock);
}

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *until)
{
    const uint64_t ns = ns_of(until); /* since 1970, if the condition counts so */
    const uint64_t until_ns = ns >= (uint64_t)WALL_NS ? ns - (uint64_t)WALL_NS : ns;
    return world_is_on() ? wait_for(condition, lock, until_ns)
                         : __real_pthread_cond_timedwait(condition, lock, until);
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
    if (!world_is_on()) {
        return __real_pthread_cond_signal(condition);
    }
    world_wake(condition, false);
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
    if (!world_is_on()) {
        return __real_pthread_cond_broadcast(condition);
    }
    world_wake(condition, true);
    return 0;
}

/* --- Threads ---------------------------------------------------------------------- */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument)
{
    if (!world_is_on()) {
        return __real_pthread_create(thread, attributes, run, argument);
    }
    world_spend();
    uint32_t number = world_thread_begin(run, argument);
    if (number == WORLD_THREADS_MAX) {
        return EAGAIN;
    }
    *thread = (pthread_t)number;
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    if (!world_is_on()) {
        return __real_pthread_join(thread, result);
    }
    world_thread_join((uint32_t)thread);
    return 0;
}

/* A key is the process's, and made once, be it in the first world or before it. */
int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    int code = __real_pthread_key_create(key, destroy);
    if (code == 0) {
        world_key(*key, destroy);
    }
    return code;
}

void *__wrap_pthread_getspecific(pthread_key_t key)
{
    return world_is_on() ? *world_specific(key) : __real_pthread_getspecific(key);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    if (!world_is_on()) {
        return __real_pthread_setspecific(key, value);
    }
    *world_specific(key) = (void *)(uintptr_t)value;
    return 0;
}

int __wrap_sched_yield(void)
{
    if (!world_is_on()) {
        return __real_sched_yield();
    }
    world_yield();
    return 0;
}

/* --- Time ------------------------------------------------------------------------- */

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!world_is_on()) {
        return __real_nanosleep(time, left);
    }
    world_sleep_until(world_now_ns() + ns_of(time));
    return 0;
}

int __wrap_clock_gettime(clockid_t which, struct timespec *now)
{
    if (!world_is_on()) {
        return __real_clock_gettime(which, now);
    }
    world_spend();
    uint64_t ns = world_now_ns() + (which == CLOCK_REALTIME ? (uint64_t)WALL_NS : 0);
    *now = (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
    return 0;
}

/* As on a processor whose counter of ticks is not to be used. */
void __wrap_clock_begin(struct clock *clock)
{
    __real_clock_begin(clock);
    clock->even = clock->even && !world_is_on();
}

/* --- Processes -------------------------------------------------------------------- */

pid_t __wrap_getpid(void)
{
    return world_is_on() ? (pid_t)(1000 + world_rank()) : __real_getpid();
}

int __wrap_kill(pid_t process, int number)
{
    if (world_is_on() && number == SIGKILL) {
        world_die();
    }
    return __real_kill(process, number);
}

void __wrap_stand_still(uint64_t ns)
{
    if (world_is_on()) {
        world_pause_rank(ns);
    } else {
        __real_stand_still(ns);
    }
}
