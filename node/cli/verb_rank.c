/* verb_rank.c - `moot rank`: what the launcher starts in a program's place.
 *
 * It runs the program, waits, and leaves behind how that ended, because the launcher
 * does not tell: a rank that was killed and one that said that its answer is wrong are
 * both 0 to an mpirun that lets the others go on.  `moot run` puts it there; it is no
 * verb for people.
 *
 * Signals that a launcher sends go to the whole process group and are the program's to
 * answer; this process only waits.
 */
#include "node/cli/cli.h"
#include "node/config/ending.h"
#include "node/launch/outcome.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
enum { PASSED_ON = sizeof(passed_on) / sizeof(passed_on[0]) };

/* The rank, as the launchers that are known tell it; -1 if none does. */
static long rank_find(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);
        if (text && *text) {
            return strtol(text, NULL, 10);
        }
    }
    return -1;
}

static pid_t start(const char *ends, char **argv)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child != 0) {
        for (int i = 0; i < PASSED_ON; i++) {
            signal(passed_on[i], SIG_IGN);
        }
        return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && setenv(ENDING_FOLDER, ends, 1) == 0) {
        execv(argv[0], argv);
        cli_complain(&verb_run, "rank %ld cannot start %s: %s", rank_find(), argv[0],
                     strerror(errno));
    }
    _exit(LAUNCH_NOT_FOUND);
}

static int rank_run(int argc, char **argv)
{
    int status = 0;
    if (argc < 3) {
        return cli_usage(&verb_rank, "this is for `moot run`");
    }
    const pid_t child = start(argv[1], argv + 2);
    if (child < 0) {
        return LAUNCH_NOT_FOUND;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        ;
    }
    const int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const int code =
        signal_number ? LAUNCH_SIGNAL + signal_number : WEXITSTATUS(status);
    outcome_leave(argv[1], rank_find(), child, code, signal_number);
    return code;
}

const struct verb verb_rank = {
    .name = "rank",
    .line = "",
    .usage = "rank DIRECTORY PROGRAM [ARGUMENTS]\n\nIs started by `moot run`.",
    .run = rank_run,
};
