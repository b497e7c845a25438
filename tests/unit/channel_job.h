/* channel_job.h - a job whose launcher is the test, and whose ranks are processes of
 * their own: each of these has one channel (node/channel/channel.h).
 */
#ifndef TESTS_UNIT_CHANNEL_JOB_H
#define TESTS_UNIT_CHANNEL_JOB_H

#include "node/channel/channel_wire.h"
#include "proto/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS_MAX = 64, PATIENCE_S = 20, HOST_BYTES = 5, FILES = 256 };

static uint32_t branch_ranks; /* of each branch; 0: there are none */
static uint32_t later_ranks;  /* for which a job has room */

struct job {
    uint32_t size, founders;
    struct channel_hub *hub;
    struct channel_hub *branches[RANKS_MAX];
    uint32_t branch_count;
    pid_t pids[RANKS_MAX]; /* 0: reaped */
    int statuses[RANKS_MAX];
};

/* A rank's part, which returns its exit status; a rank of 0 is well. */
typedef int (*rank_main)(uint32_t rank, int fd);

static inline void sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

static int rank_start(struct job *job, uint32_t rank, rank_main run)
{
    char text[CHANNEL_TEXT_BYTES];
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    fflush(NULL);
    job->pids[rank] = fork();
    if (job->pids[rank] == 0) {
        alarm(PATIENCE_S);
        for (int other = STDERR_FILENO + 1; other < FILES; other++) {
            if (other != ends[1]) {
                close(other); /* the launcher's */
            }
        }
        if (!channel_describe(ends[1], text) ||
            setenv(CHANNEL_VARIABLE, text, 1) != 0) {
            _exit(99);
        }
        _exit(run(rank, ends[1]));
    }
    assert_true(job->pids[rank] > 0);
    close(ends[1]);
    return ends[0];
}

/* The hub that has a rank. */
static struct channel_hub *hub_of(const struct job *job, uint32_t rank)
{
    const uint32_t later = rank - job->founders;
    return job->branch_count == 0 ? job->hub
           : rank < job->founders ? job->branches[rank / branch_ranks]
                                  : job->branches[later % job->branch_count];
}

static void job_make(struct job *job, uint32_t size)
{
    const uint32_t room = size + later_ranks;
    *job = (struct job){
        .size = size, .founders = size, .hub = channel_hub_new(size, room)};
    assert_non_null(job->hub);
    for (uint32_t at = 0; branch_ranks && at < size; at += branch_ranks) {
        int ends[2];
        const uint32_t count = at + branch_ranks < size ? branch_ranks : size - at;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_true(channel_hub_add_branch(job->hub, at, count, ends[0]));
        const struct channel_branch branch = {
            .size = size, .room = room, .first = at, .count = count};
        job->branches[job->branch_count] =
            channel_hub_new_branch(&branch, channel_hub_key(job->hub), ends[1]);
        assert_non_null(job->branches[job->branch_count++]);
    }
}

static inline void job_start(struct job *job, uint32_t size, rank_main run)
{
    job_make(job, size);
    for (uint32_t rank = 0; rank < size; rank++) {
        const int fd = rank_start(job, rank, run);
        assert_true(channel_hub_add(hub_of(job, rank), rank, fd, "10.0.0.1", "alpha"));
    }
}

/* Starts a wave of newcomers, one on each branch in turn. */
static inline void job_grow(struct job *job, uint32_t wave, uint32_t count,
                            rank_main run)
{
    const uint32_t first = job->size;
    job->size += count;
    channel_hub_name(job->hub, wave, first, count);
    for (uint32_t i = 0; i < job->branch_count; i++) {
        channel_hub_name(job->branches[i], wave, first, count);
    }
    for (uint32_t rank = first; rank < first + count; rank++) {
        const int fd = rank_start(job, rank, run);
        if (job->branch_count) {
            const uint32_t branch = (rank - job->founders) % job->branch_count;
            channel_hub_place(job->hub, rank, branch * branch_ranks);
        }
        assert_true(channel_hub_add(hub_of(job, rank), rank, fd, "10.0.0.1", "alpha"));
    }
}

static void job_poll(struct job *job, int wait_ms)
{
    for (int ms = 0; job->branch_count && ms < wait_ms; ms++) {
        for (uint32_t i = 0; i < job->branch_count; i++) {
            channel_hub_poll(job->branches[i], 0);
        }
        channel_hub_poll(job->hub, 1);
    }
    channel_hub_poll(job->hub, job->branch_count ? 0 : wait_ms);
}

static void job_free(struct job *job)
{
    for (uint32_t i = 0; i < job->branch_count; i++) {
        channel_hub_free(job->branches[i]);
    }
    channel_hub_free(job->hub);
}

static uint32_t job_reap(struct job *job, bool tells)
{
    uint32_t left = 0;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (job->pids[rank] > 0 &&
            waitpid(job->pids[rank], &job->statuses[rank], WNOHANG) > 0) {
            job->pids[rank] = 0;
            if (tells) {
                channel_hub_dead(hub_of(job, rank), rank);
            }
        }
        left += job->pids[rank] > 0;
    }
    return left;
}

/* Until all have ended. */
static inline void job_serve(struct job *job, bool tells)
{
    const time_t until = time(NULL) + PATIENCE_S;
    while (job_reap(job, tells) > 0) {
        job_poll(job, 5);
        assert_true(time(NULL) < until);
    }
    job_free(job);
}

static void assert_status(const struct job *job, uint32_t rank, int status)
{
    if (!WIFEXITED(job->statuses[rank]) || WEXITSTATUS(job->statuses[rank]) != status) {
        fail_msg("rank %u: wait status %d, not exit %d", rank, job->statuses[rank],
                 status);
    }
}

static void assert_all_well(const struct job *job)
{
    for (uint32_t rank = 0; rank < job->size; rank++) {
        assert_status(job, rank, 0);
    }
}

/* In a rank: the line at which something is not so is the exit status, to be found. */
#define HOLDS(what)                                                                    \
    do {                                                                               \
        if (!(what)) {                                                                 \
            fprintf(stderr, "rank: line %d: %s\n", __LINE__, #what);                   \
            return 98;                                                                 \
        }                                                                              \
    } while (0)

static struct channel *channel_mine(void)
{
    char story[256] = "";
    struct channel *channel = channel_of_process(story, sizeof(story));
    if (!channel) {
        fprintf(stderr, "rank: no channel: %s\n", story);
    }
    return channel;
}

static inline bool gather_fails(struct channel *channel, const char *says)
{
    char story[256] = "";
    struct channel_card *all = NULL;
    const int code = channel_gather(channel, "card", 4, &all, story, sizeof(story));
    if (code != MOOT_ERR_TRANSPORT || all || !strstr(story, says)) {
        fprintf(stderr, "rank: %s: '%s'\n", error_name(code), story);
        return false;
    }
    return true;
}

#endif
