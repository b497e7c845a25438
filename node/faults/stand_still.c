/* stand_still.c - see stand_still.h. */
#include "node/faults/stand_still.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void sleep_on(uint64_t ns)
{
    struct timespec left = {.tv_sec = (time_t)(ns / 1000000000u),
                            .tv_nsec = (long)(ns % 1000000000u)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* The child calls nothing that other threads might have been in the middle of. */
void stand_still(uint64_t ns)
{
    pid_t self = getpid();
    pid_t child = fork();
    if (child == 0) {
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
            close(fd); /* the launcher waits for them to close */
        }
        sleep_on(ns);
        kill(self, SIGCONT);
        _exit(0);
    }
    if (child > 0) {
        kill(self, SIGSTOP);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
}
