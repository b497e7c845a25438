/* usr1.c - see usr1.h. */
#include "node/explain/usr1.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_uint signals;

static struct {
    pthread_mutex_t lock;
    unsigned contexts;
    bool ours;
} usr1 = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add_explicit(&signals, 1, memory_order_relaxed);
}

unsigned usr1_count(void)
{
    return atomic_load_explicit(&signals, memory_order_relaxed);
}

void usr1_join(void)
{
    pthread_mutex_lock(&usr1.lock);
    struct sigaction present;
    if (usr1.contexts++ == 0 && sigaction(SIGUSR1, NULL, &present) == 0 &&
        !(present.sa_flags & SA_SIGINFO) && present.sa_handler == SIG_DFL) {
        struct sigaction wanted = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&wanted.sa_mask);
        usr1.ours = sigaction(SIGUSR1, &wanted, NULL) == 0;
    }
    pthread_mutex_unlock(&usr1.lock);
}

void usr1_leave(void)
{
    pthread_mutex_lock(&usr1.lock);
    struct sigaction present;
    if (--usr1.contexts == 0 && usr1.ours) {
        usr1.ours = false;
        if (sigaction(SIGUSR1, NULL, &present) == 0 &&
            !(present.sa_flags & SA_SIGINFO) && present.sa_handler == on_signal) {
            present.sa_handler = SIG_DFL;
            sigaction(SIGUSR1, &present, NULL);
        }
    }
    pthread_mutex_unlock(&usr1.lock);
}
