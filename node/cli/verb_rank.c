/* verb_rank.c - `moot rank`: what the launcher starts in a program's place.
 *
 * It runs the program, waits, and leaves behind how that ended, because the launcher
 * does not tell: a rank that was killed and one that said that its answer is wrong are
 * both 0 to an mpirun that lets the others go on.  `moot run` puts it there; it is no
 * verb for people.
 *
 * Signals that a launcher sends go to the whole process group and are the program's to
 * answer; this process only waits.  Where `moot run` itself is the launcher, and is
 * killed, the group is killed from here: the program, and what it has started.  Where
 * that has the rank asked to leave, SIGTERM comes from here, too.
 */
#include "node/agent/rank_process.h"
#include "node/channel/channel.h"
#include "node/cli/cli.h"
#include "node/config/ending.h"
#include "node/launch/outcome.h"
#include "node/transport/mpi/mpi.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
enum { PASSED_ON = sizeof(passed_on) / sizeof(passed_on[0]) };

/* -1 if no launcher has said. */
static long rank_find(void)
{
    uint32_t rank;
    return channel_told_rank(&rank) ? (long)rank : -1;
}

static volatile sig_atomic_t launcher; /* its process id; 0: it is not `moot run` */

static volatile sig_atomic_t started; /* the program has been, and this process waits */
static volatile sig_atomic_t asked;   /* before that */

/* This process ignores it. */
static void group_ask(void) { kill(0, SIGTERM); }

static void on_launcher(int number)
{
    (void)number;
    if (launcher != 0 && getppid() != (pid_t)launcher) {
        kill(0, SIGKILL);
    } else if (started) {
        group_ask();
    } else {
        asked = 1;
    }
}

/* Nobody else has a use for SIGPWR: it comes when the launcher ends, of any kind, and
 * as LAUNCH_ASK. False if that has ended already. */
static bool launcher_watch(void)
{
    struct sigaction action = {.sa_handler = on_launcher, .sa_flags = SA_RESTART};
    const char *text = getenv(LAUNCH_PARENT);
    launcher = text ? (sig_atomic_t)strtol(text, NULL, 10) : 0;
    if (launcher == 0) {
        return true;
    }
    unsetenv(LAUNCH_PARENT);
    sigemptyset(&action.sa_mask);
    return sigaction(SIGPWR, &action, NULL) == 0 &&
           prctl(PR_SET_PDEATHSIG, SIGPWR) == 0 && getppid() == (pid_t)launcher;
}

/* A job within a job has no agent, or one of its own. */
static void agent_check(void)
{
    const char *text = getenv(ENDING_AGENT);
    if (text && (launcher == 0 || strtol(text, NULL, 10) != launcher)) {
        unsetenv(ENDING_AGENT);
    }
}

static pid_t start(const char *ends, char **argv)
{
    const pid_t parent = getpid();
    char launches[32], self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[length > 0 ? length : 0] = '\0';
    snprintf(launches, sizeof(launches), "%ld", (long)getppid());
    const pid_t child = fork();
    if (child != 0) {
        for (int i = 0; i < PASSED_ON; i++) {
            signal(passed_on[i], SIG_IGN);
        }
        started = 1;
        if (asked) {
            group_ask();
        }
        channel_decline();
        return child;
    }
    (void)signal(SIGPWR, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    rank_process_leave(ends, rank_find());
    if (getppid() == parent && setenv(ENDING_FOLDER, ends, 1) == 0 &&
        setenv(ENDING_LAUNCHER, launches, 1) == 0 &&
        setenv(ENDING_COMMAND, self, 1) == 0) {
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
    if (!launcher_watch()) {
        return LAUNCH_NOT_FOUND;
    }
    agent_check();
    transport_mpi_waits_only();
    const pid_t child = start(argv[1], argv + 2);
    if (child < 0) {
        cli_complain(&verb_run, "rank %ld cannot start %s: %s%s", rank_find(), argv[2],
                     strerror(errno), launch_remedy(errno));
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
