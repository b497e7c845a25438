/* sigterm.c - see sigterm.h. */
#include "node/service/sigterm.h"

#include "node/config/ending.h"
#include "node/config/knobs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define GRACE_AUTO_NS (30 * SECOND_NS)
#define SAME_NS SECOND_NS /* two that come so close are one */

static atomic_uint signals;

static struct {
    pthread_mutex_t lock;
    unsigned contexts;
    bool ours;
    pid_t self;     /* a process that this one forks has no timer */
    pid_t launcher; /* 0: it is not known */
    int64_t grace_ns;
    timer_t timer;
    bool has_timer;
    _Atomic int64_t first_ns; /* when the first came */
} sigterm = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- In the handler --------------------------------------------------------------- */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

static bool ends(const siginfo_t *info)
{
    const bool timed = info->si_code == SI_TIMER;
    const bool by_launcher = !timed && info->si_code <= 0 && sigterm.launcher != 0 &&
                             info->si_pid == sigterm.launcher;
    const bool again = atomic_load(&signals) > 0 &&
                       now_ns() - atomic_load(&sigterm.first_ns) > SAME_NS;
    return timed || by_launcher || again || getpid() != sigterm.self;
}

/* Blocked while its handler runs, the signal comes when that returns. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    (void)context;
    if (ends(info)) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    } else if (atomic_load(&signals) == 0) {
        const struct itimerspec grace = {
            .it_value = {.tv_sec = (time_t)(sigterm.grace_ns / SECOND_NS),
                         .tv_nsec = (long)(sigterm.grace_ns % SECOND_NS)}};
        atomic_store(&sigterm.first_ns, now_ns());
        atomic_fetch_add(&signals, 1);
        (void)timer_settime(sigterm.timer, 0, &grace, NULL);
    }
    errno = error;
}

/* --- Around it -------------------------------------------------------------------- */

unsigned sigterm_count(void) { return atomic_load(&signals); }

static int64_t grace_of(int64_t knob_ns)
{
    const int64_t auto_ns = sigterm.launcher != 0 ? GRACE_AUTO_NS : 0;
    return knob_ns == KNOB_AUTO ? auto_ns : knob_ns;
}

static bool is_default(void)
{
    struct sigaction present;
    return sigaction(SIGTERM, NULL, &present) == 0 &&
           !(present.sa_flags & SA_SIGINFO) && present.sa_handler == SIG_DFL;
}

/* The timer stays until the process ends: it may have been asked. */
static bool timer_is_there(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
    sigterm.has_timer =
        sigterm.has_timer || timer_create(CLOCK_MONOTONIC, &event, &sigterm.timer) == 0;
    return sigterm.has_timer;
}

static void install(void)
{
    struct sigaction wanted = {.sa_sigaction = on_signal,
                               .sa_flags = SA_RESTART | SA_SIGINFO};
    sigemptyset(&wanted.sa_mask);
    sigterm.ours =
        is_default() && timer_is_there() && sigaction(SIGTERM, &wanted, NULL) == 0;
}

void sigterm_join(int64_t knob_ns)
{
    const char *launcher = getenv(ENDING_LAUNCHER);
    pthread_mutex_lock(&sigterm.lock);
    sigterm.contexts++;
    if (!sigterm.ours) {
        sigterm.self = getpid();
        sigterm.launcher = launcher != NULL ? (pid_t)strtol(launcher, NULL, 10) : 0;
        sigterm.grace_ns = grace_of(knob_ns);
        if (sigterm.grace_ns > 0) {
            install();
        }
    }
    pthread_mutex_unlock(&sigterm.lock);
}

static void restore(void)
{
    struct sigaction present;
    sigterm.ours = false;
    if (sigaction(SIGTERM, NULL, &present) == 0 && (present.sa_flags & SA_SIGINFO) &&
        present.sa_sigaction == on_signal) {
        (void)signal(SIGTERM, SIG_DFL);
    }
}

void sigterm_leave(void)
{
    pthread_mutex_lock(&sigterm.lock);
    if (--sigterm.contexts == 0 && sigterm.ours) {
        restore();
    }
    pthread_mutex_unlock(&sigterm.lock);
}

void sigterm_die(void)
{
    pthread_mutex_lock(&sigterm.lock);
    if (sigterm.ours) {
        restore();
    }
    pthread_mutex_unlock(&sigterm.lock);
    (void)kill(getpid(), SIGTERM);
}
