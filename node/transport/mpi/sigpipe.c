/* sigpipe.c - see sigpipe.h. */
#include "node/transport/mpi/sigpipe.h"

#include <pthread.h>
#include <signal.h>

static struct {
    pthread_mutex_t lock;
    unsigned users;
    bool ours, needed; /* needed: for as long as the process lives */
} sigpipe = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Sets the disposition if it is `from`. */
static bool exchange(void (*from)(int), void (*to)(int))
{
    struct sigaction present, wanted = {.sa_handler = to};
    sigemptyset(&wanted.sa_mask);
    return sigaction(SIGPIPE, NULL, &present) == 0 &&
           !(present.sa_flags & SA_SIGINFO) && present.sa_handler == from &&
           sigaction(SIGPIPE, &wanted, NULL) == 0;
}

void sigpipe_ignore(void)
{
    pthread_mutex_lock(&sigpipe.lock);
    if (sigpipe.users++ == 0 && !sigpipe.ours) {
        sigpipe.ours = exchange(SIG_DFL, SIG_IGN);
    }
    pthread_mutex_unlock(&sigpipe.lock);
}

void sigpipe_end(bool restore)
{
    pthread_mutex_lock(&sigpipe.lock);
    sigpipe.needed |= !restore;
    if (--sigpipe.users == 0 && sigpipe.ours && !sigpipe.needed) {
        sigpipe.ours = false;
        exchange(SIG_IGN, SIG_DFL);
    }
    pthread_mutex_unlock(&sigpipe.lock);
}
