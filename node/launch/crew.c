/* crew.c - see crew.h. */
#include "node/launch/crew.h"
#include "node/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANK_FILES = 3, SPARE_FILES = 64 };

struct crew_rank {
    uint32_t number;
    pid_t group;  /* that of `moot rank`, too */
    bool reaped;  /* `moot rank` has been, */
    bool emptied; /* and nobody of its group is left who could speak */
};

struct crew {
    struct crew_setup setup;
    struct crew_rank *ranks;
    uint32_t started, left, uncertain; /* of those that were started */
    struct relay *relay;
    struct rlimit files; /* as it was */
    pid_t self;
    bool ending;
};

/* --- Starting --------------------------------------------------------------------- */

/* Each rank's channel and its output are open files here. */
static void files_raise(struct crew *crew)
{
    const rlim_t ranks = (rlim_t)crew->setup.count + crew->setup.later;
    const rlim_t want = ranks * RANK_FILES + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &crew->files) == 0 && crew->files.rlim_cur < want) {
        struct rlimit more = crew->files;
        more.rlim_cur = want < more.rlim_max ? want : more.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &more);
    }
}

struct crew *crew_new(const struct crew_setup *setup)
{
    struct crew *crew = calloc(1, sizeof(*crew));
    const uint32_t room = setup->count + setup->later;
    struct crew_rank *ranks = calloc(room, sizeof(*ranks));
    struct relay *relay = relay_new((int)room);
    if (!crew || !ranks || !relay) {
        const int why = errno;
        relay_free(relay);
        free(ranks);
        free(crew);
        errno = why;
        return NULL;
    }
    *crew = (struct crew){
        .setup = *setup, .ranks = ranks, .relay = relay, .self = getpid()};
    for (uint32_t i = 0; i < setup->count; i++) {
        ranks[i].number = setup->first + i;
    }
    files_raise(crew);
    return crew;
}

static void input_take(const struct crew *crew, uint32_t index)
{
    const int input = index == 0 && crew->setup.input >= 0
                          ? crew->setup.input
                          : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input >= 0 && input != STDIN_FILENO) {
        dup2(input, STDIN_FILENO);
    }
}

/* In the child: it becomes `moot rank`, or ends. */
static void rank_become(const struct crew *crew, uint32_t index, int channel,
                        const int output[RELAY_STREAMS])
{
    char number[16], parent[16], text[CHANNEL_TEXT_BYTES];
    setpgid(0, 0);
    (void)setrlimit(RLIMIT_NOFILE, &crew->files);
    snprintf(number, sizeof(number), "%u", crew->ranks[index].number);
    snprintf(parent, sizeof(parent), "%ld", (long)crew->self);
    if (fcntl(channel, F_SETFD, 0) != 0 || !channel_describe(channel, text) ||
        setenv(CHANNEL_VARIABLE, text, 1) != 0 ||
        setenv(CHANNEL_RANK_VARIABLE, number, 1) != 0 ||
        setenv(LAUNCH_PARENT, parent, 1) != 0) {
        _exit(LAUNCH_NOT_FOUND);
    }
    input_take(crew, index);
    dup2(output[RELAY_OUTPUT], STDOUT_FILENO);
    dup2(output[RELAY_ERROR], STDERR_FILENO);
    sigprocmask(SIG_SETMASK, crew->setup.mask, NULL);
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
static int channel_start(struct crew *crew, uint32_t index)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    if (!channel_hub_add(crew->setup.hub, crew->ranks[index].number, ends[0],
                         crew->setup.host, crew->setup.name)) {
        errno = ENOMEM;
        ends_close(ends, 2);
        return -1;
    }
    return ends[1];
}

/* False with errno. */
static bool rank_start(struct crew *crew, uint32_t index, char *const argv[])
{
    int output[RELAY_STREAMS];
    int channel = channel_start(crew, index);
    if (channel < 0) {
        return false;
    }
    if (!relay_open(crew->relay, (int)index, output)) {
        ends_close(&channel, 1);
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        rank_become(crew, index, channel, output);
        execv(argv[0], argv);
        _exit(LAUNCH_NOT_FOUND);
    }
    ends_close(&channel, 1);
    ends_close(output, RELAY_STREAMS);
    if (child < 0) {
        return false;
    }
    setpgid(child, child); /* whoever comes first */
    crew->ranks[index].group = child;
    crew->started++;
    crew->left++;
    crew->uncertain++;
    return true;
}

/* Not all could be started. */
static void all_end(struct crew *crew)
{
    const int why = errno;
    crew_signal(crew, SIGKILL);
    for (uint32_t i = 0; i < crew->started; i++) {
        int status;
        while (waitpid(crew->ranks[i].group, &status, 0) < 0 && errno == EINTR) {
            ;
        }
        crew->ranks[i].emptied = true;
    }
    crew->left = 0;
    errno = why;
}

bool crew_start(struct crew *crew, char *const argv[])
{
    fflush(NULL);
    for (uint32_t i = 0; i < crew->setup.count; i++) {
        if (!rank_start(crew, i, argv)) {
            all_end(crew);
            return false;
        }
    }
    return true;
}

/* Not all could be started that were to join.  The place of the one that failed is not
 * used again: its streams may still be open. */
static void rest_drop(struct crew *crew, uint32_t began, uint32_t first, uint32_t count)
{
    const int why = errno;
    const uint32_t started = crew->started - began;
    for (uint32_t i = began; i < crew->started; i++) {
        kill(-crew->ranks[i].group, SIGKILL);
    }
    for (uint32_t i = started; i < count; i++) {
        channel_hub_dead(crew->setup.hub, first + i);
    }
    if (crew->started < crew->setup.count + crew->setup.later) {
        struct crew_rank *failed = &crew->ranks[crew->started++];
        failed->reaped = failed->emptied = true;
    }
    errno = why;
}

bool crew_add(struct crew *crew, uint32_t first, uint32_t count, char *const argv[])
{
    const uint32_t began = crew->started;
    bool all = count <= crew->setup.count + crew->setup.later - began;
    errno = all ? 0 : ENOSPC;
    fflush(NULL);
    for (uint32_t i = 0; all && i < count; i++) {
        crew->ranks[began + i].number = first + i;
        all = rank_start(crew, began + i, argv);
    }
    if (!all) {
        rest_drop(crew, began, first, count);
    }
    return all;
}

/* --- Ending ----------------------------------------------------------------------- */

void crew_signal(struct crew *crew, int number)
{
    crew->ending = true;
    for (uint32_t i = 0; i < crew->started; i++) {
        if (!crew->ranks[i].emptied) {
            kill(-crew->ranks[i].group, number);
            kill(-crew->ranks[i].group,
                 SIGCONT); /* one that is stopped hears it, too */
        }
    }
}

void crew_ask(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->started; i++) {
        if (!crew->ranks[i].reaped) {
            kill(crew->ranks[i].group, LAUNCH_ASK);
        }
    }
}

void crew_free(struct crew *crew)
{
    if (!crew) {
        return;
    }
    if (crew->ending) {
        crew_signal(crew, SIGKILL);
    }
    relay_free(crew->relay);
    free(crew->ranks);
    free(crew);
}

static void rank_certify(struct crew *crew, uint32_t index)
{
    crew->ranks[index].emptied = true;
    crew->uncertain--;
    channel_hub_dead(crew->setup.hub, crew->ranks[index].number);
}

static void rank_reaped(struct crew *crew, uint32_t index, int status,
                        const struct crew_watch *watch)
{
    struct crew_rank *of = &crew->ranks[index];
    of->reaped = true;
    crew->left--;
    if (crew->ending || !WIFEXITED(status)) { /* whatever it had started goes with it */
        kill(-of->group, SIGKILL);
    }
    if (WIFEXITED(status)) {
        channel_hub_ended(crew->setup.hub, crew->ranks[index].number);
    }
    watch->reaped(watch->context, crew->ranks[index].number, status);
}

void crew_reap(struct crew *crew, const struct crew_watch *watch)
{
    for (uint32_t i = 0; i < crew->started; i++) {
        struct crew_rank *of = &crew->ranks[i];
        int status;
        if (!of->reaped && waitpid(of->group, &status, WNOHANG) == of->group) {
            rank_reaped(crew, i, status, watch);
        }
        /* Those that must not be signalled, by another user's right, are there, too. */
        if (of->reaped && !of->emptied && kill(-of->group, 0) != 0 && errno == ESRCH) {
            rank_certify(crew, i);
        }
    }
}

int crew_left(const struct crew *crew) { return (int)crew->left; }

bool crew_is_ending(const struct crew *crew) { return crew->ending; }

uint32_t crew_rank_of(const struct crew *crew, int relayed)
{
    return crew->ranks[relayed].number;
}

bool crew_is_certain(const struct crew *crew) { return crew->uncertain == 0; }

struct relay *crew_relay(struct crew *crew) { return crew->relay; }
