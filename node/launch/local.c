/* local.c - ranks on this host without an MPI launcher: launch_local(); see launch.h.
 */
#include "node/channel/channel.h"
#include "node/launch/crew.h"
#include "node/launch/growth.h"
#include "node/launch/launch.h"
#include "node/launch/signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 10, LOOK_MS = 200, GRACE_MS = 5000 };

struct local_job {
    const struct launch_watch *watch;
    void *context;
    struct channel_hub *hub;
    struct crew *crew;
    struct growth growth;
    char *const *argv;
    int wakes;         /* polls readable when one of these has something to do */
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

/* Hands on what has come, and kills what has had its time. */
static void signals_pass(struct local_job *job)
{
    const int64_t at_ms = now_ms();
    const unsigned count = signals_count();
    if (count != job->signals) {
        const bool again = job->killed_ms != 0 && signals_last() != SIGHUP;
        job->signals = count;
        crew_signal(job->crew, again ? SIGKILL : signals_last());
        job->killed_ms = job->killed_ms ? job->killed_ms : at_ms + GRACE_MS;
    }
    if (job->killed_ms == 0 && at_ms - job->looked_ms >= LOOK_MS) {
        job->looked_ms = at_ms;
        if (job->watch->is_hopeless(job->context)) {
            crew_signal(job->crew, SIGTERM);
            job->killed_ms = at_ms + GRACE_MS;
        }
    }
    if (job->killed_ms != 0 && at_ms >= job->killed_ms) {
        crew_signal(job->crew, SIGKILL);
    }
}

static void reaped(void *context, uint32_t rank, int status)
{
    struct local_job *job = context;
    job->failed |= status != 0;
    if (!WIFEXITED(status) && job->watch->lost) {
        job->watch->lost(job->context, (int)rank, WTERMSIG(status));
    }
}

static void rank_said(void *context, int relayed, bool error, const char *bytes,
                      size_t size)
{
    const struct local_job *job = context;
    const int rank = (int)crew_rank_of(job->crew, relayed);
    job->watch->say(job->context, rank, error, bytes, size);
}

/* --- Ranks that join -------------------------------------------------------------- */

static uint32_t ranks_living(void *context)
{
    const struct local_job *job = context;
    return (uint32_t)crew_left(job->crew);
}

static bool ranks_add(void *context, uint32_t first, uint32_t count, char *story,
                      size_t story_size)
{
    struct local_job *job = context;
    if (crew_is_ending(job->crew)) {
        snprintf(story, story_size, "the job is being ended");
        return false;
    }
    const bool added = crew_add(job->crew, first, count, job->argv);
    const int why = errno;
    job->watch->joined(job->context, (int)first, (int)count);
    if (!added) {
        snprintf(story, story_size, "cannot start %u rank%s more here: %s%s", count,
                 count == 1 ? "" : "s", strerror(why), launch_remedy(why));
    }
    return added;
}

/* --- The job ---------------------------------------------------------------------- */

static void all_await(struct local_job *job)
{
    const struct growth_starter starter = {job, ranks_living, ranks_add};
    const struct crew_watch watch = {job, reaped};
    const struct relay_sink sink = {job, relay_room, rank_said};
    struct relay *relay = crew_relay(job->crew);
    crew_reap(job->crew, &watch);
    while (crew_left(job->crew) > 0) {
        signals_pass(job);
        channel_hub_poll(job->hub, 0);
        growth_serve(&job->growth, job->hub, &starter);
        /* Output that has no room now does not wake. */
        const bool flows = relay_pass(relay, false, &sink);
        job->watch->pause(job->context, PAUSE_MS,
                          flows ? job->wakes : channel_hub_descriptor(job->hub));
        channel_hub_poll(job->hub, 0);
        crew_reap(job->crew, &watch);
    }
    relay_pass(relay, true, &sink);
}

/* False with errno. */
static bool job_make(struct local_job *job, uint32_t ranks, const sigset_t *mask)
{
    struct epoll_event event = {.events = EPOLLIN};
    job->hub = channel_hub_new(ranks, job->growth.room);
    const struct crew_setup setup = {.count = ranks,
                                     .later = job->growth.room - ranks,
                                     .hub = job->hub,
                                     .host = "",
                                     .name = "",
                                     .input = isatty(STDIN_FILENO) ? -1 : STDIN_FILENO,
                                     .mask = mask};
    job->crew = job->hub ? crew_new(&setup) : NULL;
    job->wakes = epoll_create1(EPOLL_CLOEXEC);
    return job->crew && job->wakes >= 0 &&
           epoll_ctl(job->wakes, EPOLL_CTL_ADD, channel_hub_descriptor(job->hub),
                     &event) == 0 &&
           epoll_ctl(job->wakes, EPOLL_CTL_ADD, relay_descriptor(crew_relay(job->crew)),
                     &event) == 0;
}

static void job_release(struct local_job *job)
{
    const int why = errno;
    if (job->wakes >= 0) {
        close(job->wakes);
    }
    crew_free(job->crew);
    channel_hub_free(job->hub);
    errno = why;
}

int launch_local(char *const argv[], int ranks, int max,
                 const struct launch_watch *watch, void *context)
{
    struct local_job job = {.watch = watch,
                            .context = context,
                            .growth = growth_make((uint32_t)ranks, (uint32_t)max),
                            .argv = argv,
                            .wakes = -1};
    sigset_t before;
    int status = -1;
    signals_hold(&before);
    if (job_make(&job, (uint32_t)ranks, &before) && crew_start(job.crew, argv)) {
        signals_take(0, &before);
        all_await(&job);
        status =
            job.failed && launch_signal() != 0 ? LAUNCH_SIGNAL + launch_signal() : 0;
    } else {
        const int why = errno;
        sigprocmask(SIG_SETMASK, &before, NULL);
        errno = why;
    }
    job_release(&job);
    return status;
}
