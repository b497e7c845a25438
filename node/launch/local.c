/* local.c - ranks on this host without an MPI launcher: launch_local(); see launch.h.
 *
 * A rank is a `moot rank` in a process group of its own, and the program below it. That
 * `moot rank` has ended by itself is a certificate that the program has: it waited for
 * it.  If `moot rank` was killed, its group is killed, too, and the certificate given
 * when nobody is left in that.
 */
#include "node/channel/channel.h"
#include "node/launch/launch.h"
#include "node/launch/relay.h"
#include "node/launch/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PAUSE_MS = 10,
    LOOK_MS = 200,
    GRACE_MS = 5000,
    RANK_FILES = 3,
    SPARE_FILES = 64
};

struct local_rank {
    pid_t group;  /* that of `moot rank`, too */
    bool reaped;  /* `moot rank` has been, */
    bool emptied; /* and nobody of its group is left who could speak */
};

struct local_job {
    struct local_rank *ranks;
    int count, started, left; /* of those that were started: not reaped */
    struct channel_hub *hub;
    struct relay *relay;
    int wakes;           /* polls readable when one of these has something to do */
    struct rlimit files; /* as it was */
    pid_t self;
    sigset_t before;
    bool failed;       /* a rank ended with another status than 0 */
    unsigned signals;  /* that were handed on */
    int64_t killed_ms; /* when what is left will be; 0: not yet to be */
    int64_t looked_ms;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- Starting --------------------------------------------------------------------- */

/* Each rank's channel and its output are open files here. */
static void files_raise(struct local_job *job)
{
    const rlim_t want = (rlim_t)job->count * RANK_FILES + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &job->files) == 0 && job->files.rlim_cur < want) {
        struct rlimit more = job->files;
        more.rlim_cur = want < more.rlim_max ? want : more.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &more);
    }
}

static void input_close(int rank)
{
    const int nothing = rank == 0 && !isatty(STDIN_FILENO)
                            ? -1
                            : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
    }
}

/* In the child: it becomes `moot rank`, or ends. */
static void rank_become(const struct local_job *job, int rank, int channel,
                        const int output[RELAY_STREAMS])
{
    char number[16], parent[16], text[CHANNEL_TEXT_BYTES];
    setpgid(0, 0);
    (void)setrlimit(RLIMIT_NOFILE, &job->files);
    snprintf(number, sizeof(number), "%d", rank);
    snprintf(parent, sizeof(parent), "%ld", (long)job->self);
    if (fcntl(channel, F_SETFD, 0) != 0 || !channel_describe(channel, text) ||
        setenv(CHANNEL_VARIABLE, text, 1) != 0 ||
        setenv(CHANNEL_RANK_VARIABLE, number, 1) != 0 ||
        setenv(LAUNCH_PARENT, parent, 1) != 0) {
        _exit(LAUNCH_NOT_FOUND);
    }
    input_close(rank);
    dup2(output[RELAY_OUTPUT], STDOUT_FILENO);
    dup2(output[RELAY_ERROR], STDERR_FILENO);
    sigprocmask(SIG_SETMASK, &job->before, NULL);
}

static void ends_close(int *ends, int count)
{
    const int why = errno;
    for (int i = 0; i < count; i++) {
        close(ends[i]);
    }
    errno = why;
}

/* The rank's end of a channel whose other end is the hub's; -1 with errno. */
static int channel_start(struct local_job *job, int rank)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    if (!channel_hub_add(job->hub, (uint32_t)rank, ends[0], "")) {
        errno = ENOMEM;
        ends_close(ends, 2);
        return -1;
    }
    return ends[1];
}

/* False with errno. */
static bool rank_start(struct local_job *job, int rank, char *const argv[])
{
    int output[RELAY_STREAMS];
    int channel = channel_start(job, rank);
    if (channel < 0) {
        return false;
    }
    if (!relay_open(job->relay, rank, output)) {
        ends_close(&channel, 1);
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        rank_become(job, rank, channel, output);
        execv(argv[0], argv);
        _exit(LAUNCH_NOT_FOUND);
    }
    ends_close(&channel, 1);
    ends_close(output, RELAY_STREAMS);
    if (child < 0) {
        return false;
    }
    setpgid(child, child); /* whoever comes first */
    job->ranks[rank].group = child;
    job->started++;
    job->left++;
    return true;
}

/* --- Waiting ---------------------------------------------------------------------- */

static void all_signal(struct local_job *job, int number)
{
    for (int rank = 0; rank < job->started; rank++) {
        if (!job->ranks[rank].reaped) {
            kill(-job->ranks[rank].group, number);
        }
    }
}

static void rank_reaped(struct local_job *job, int rank, int status,
                        const struct launch_watch *watch, void *context)
{
    struct local_rank *of = &job->ranks[rank];
    of->reaped = true;
    job->left--;
    job->failed |= status != 0;
    if (job->killed_ms != 0) { /* whatever it had started goes with it */
        kill(-of->group, SIGKILL);
    }
    if (WIFEXITED(status)) {
        of->emptied = true;
        channel_hub_dead(job->hub, (uint32_t)rank);
        return;
    }
    kill(-of->group, SIGKILL);
    if (watch && watch->lost) {
        watch->lost(context, rank, WTERMSIG(status));
    }
}

static void ranks_reap(struct local_job *job, const struct launch_watch *watch,
                       void *context)
{
    for (int rank = 0; rank < job->started; rank++) {
        struct local_rank *of = &job->ranks[rank];
        int status;
        if (!of->reaped && waitpid(of->group, &status, WNOHANG) == of->group) {
            rank_reaped(job, rank, status, watch, context);
        }
        if (of->reaped && !of->emptied && kill(-of->group, 0) != 0) {
            of->emptied = true;
            channel_hub_dead(job->hub, (uint32_t)rank);
        }
    }
}

/* Hands on what has come, and kills what has had its time. */
static void signals_pass(struct local_job *job, const struct launch_watch *watch,
                         void *context)
{
    const int64_t at_ms = now_ms();
    const unsigned count = signals_count();
    if (count != job->signals) {
        const bool again = job->killed_ms != 0 && signals_last() != SIGHUP;
        job->signals = count;
        all_signal(job, again ? SIGKILL : signals_last());
        job->killed_ms = job->killed_ms ? job->killed_ms : at_ms + GRACE_MS;
    }
    if (job->killed_ms == 0 && at_ms - job->looked_ms >= LOOK_MS) {
        job->looked_ms = at_ms;
        if (watch->is_hopeless(context)) {
            all_signal(job, SIGTERM);
            job->killed_ms = at_ms + GRACE_MS;
        }
    }
    if (job->killed_ms != 0 && at_ms >= job->killed_ms) {
        all_signal(job, SIGKILL);
    }
}

static void all_await(struct local_job *job, const struct launch_watch *watch,
                      void *context)
{
    ranks_reap(job, watch, context);
    while (job->left > 0) {
        signals_pass(job, watch, context);
        channel_hub_poll(job->hub, 0);
        /* Output that has no room now does not wake. */
        const bool flows = relay_pass(job->relay, false, watch->say, context);
        watch->pause(context, PAUSE_MS,
                     flows ? job->wakes : channel_hub_descriptor(job->hub));
        channel_hub_poll(job->hub, 0);
        ranks_reap(job, watch, context);
    }
    relay_pass(job->relay, true, watch->say, context);
}

/* Not all could be started. */
static void all_end(struct local_job *job)
{
    all_signal(job, SIGKILL);
    for (int rank = 0; rank < job->started; rank++) {
        int status;
        while (waitpid(job->ranks[rank].group, &status, 0) < 0 && errno == EINTR) {
            ;
        }
    }
}

static bool job_make(struct local_job *job)
{
    struct epoll_event event = {.events = EPOLLIN};
    files_raise(job);
    job->ranks = calloc((size_t)job->count, sizeof(*job->ranks));
    job->hub = channel_hub_new((uint32_t)job->count);
    job->relay = relay_new(job->count);
    job->wakes = epoll_create1(EPOLL_CLOEXEC);
    return job->ranks && job->hub && job->relay && job->wakes >= 0 &&
           epoll_ctl(job->wakes, EPOLL_CTL_ADD, channel_hub_descriptor(job->hub),
                     &event) == 0 &&
           epoll_ctl(job->wakes, EPOLL_CTL_ADD, relay_descriptor(job->relay), &event) ==
               0;
}

static void job_release(struct local_job *job)
{
    const int why = errno;
    if (job->wakes >= 0) {
        close(job->wakes);
    }
    relay_free(job->relay);
    channel_hub_free(job->hub);
    free(job->ranks);
    errno = why;
}

int launch_local(char *const argv[], int ranks, const struct launch_watch *watch,
                 void *context)
{
    struct local_job job = {.count = ranks, .self = getpid(), .wakes = -1};
    int status = -1;
    signals_hold(&job.before);
    fflush(NULL);
    bool started = job_make(&job);
    for (int rank = 0; started && rank < ranks; rank++) {
        started = rank_start(&job, rank, argv);
    }
    if (started) {
        signals_take(0, &job.before);
        all_await(&job, watch, context);
        status =
            job.failed && launch_signal() != 0 ? LAUNCH_SIGNAL + launch_signal() : 0;
    } else {
        const int why = errno;
        all_end(&job);
        sigprocmask(SIG_SETMASK, &job.before, NULL);
        errno = why;
    }
    job_release(&job);
    return status;
}
