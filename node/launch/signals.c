/* signals.c - see signals.h. */
#include "node/launch/signals.h"
#include "node/launch/launch.h"

#include <stdbool.h>

static volatile sig_atomic_t running; /* the child's process id; 0: none */
static volatile sig_atomic_t struck;  /* the first signal that was handled, */
static volatile sig_atomic_t last;    /* the last, */
static volatile sig_atomic_t count;   /* and how many */

/* The terminal sends its signals to the launcher as well; only what was meant for this
 * process alone is handed on, or a launcher would take it for the impatient second. */
static void hand_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    struck = struck != 0 ? struck : number;
    last = number;
    count++;
    if (running > 0 && info->si_code <= 0) {
        kill((pid_t)running, number);
    }
}

static void handle(int number)
{
    struct sigaction action = {.sa_sigaction = hand_on, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void signals_hold(sigset_t *before)
{
    sigset_t handed;
    sigemptyset(&handed);
    sigaddset(&handed, SIGINT);
    sigaddset(&handed, SIGTERM);
    sigaddset(&handed, SIGHUP);
    sigprocmask(SIG_BLOCK, &handed, before);
}

void signals_take(pid_t child, const sigset_t *before)
{
    running = child;
    handle(SIGINT);
    handle(SIGTERM);
    if (!is_ignored(SIGHUP)) { /* nohup(1) */
        handle(SIGHUP);
    }
    /* The reader of our words may go; what is left to do is done all the same. */
    (void)signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, before, NULL);
}

void signals_child(pid_t child) { running = child; }

unsigned signals_count(void) { return (unsigned)count; }

int signals_last(void) { return last; }

int launch_signal(void) { return struck; }
