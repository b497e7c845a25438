/* channel_rank.c - the channel of a rank's process: how it is found, and what it says
 * of the process; see channel.h and rank_private.h.
 */
#include "node/channel/rank_private.h"
#include "proto/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WELCOME_MS = 60000 };

void rank_story(char *story, size_t size, const char *text)
{
    if (size > 0) {
        snprintf(story, size, "%s", text);
    }
}

/* --- The process's channel -------------------------------------------------------- */

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static struct channel *process_channel;
static bool process_tried;
static char process_story[256];

bool channel_describe(int fd, char text[CHANNEL_TEXT_BYTES])
{
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode)) {
        return false;
    }
    const int used =
        snprintf(text, CHANNEL_TEXT_BYTES, "%d:%ju", fd, (uintmax_t)about.st_ino);
    return used < CHANNEL_TEXT_BYTES;
}

/* The descriptor that the environment names; -1: it names none that is there. */
static int descriptor_find(const char *text)
{
    char present[CHANNEL_TEXT_BYTES];
    char *end;
    const long fd = strtol(text, &end, 10);
    const bool sound = end != text && *end == ':' && fd >= 0 && fd <= INT32_MAX &&
                       channel_describe((int)fd, present) && strcmp(present, text) == 0;
    return sound ? (int)fd : -1;
}

int64_t rank_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void channel_free(struct channel *channel)
{
    close(channel->fd);
    pthread_mutex_destroy(&channel->turn);
    pthread_mutex_destroy(&channel->grow_turn);
    pthread_mutex_destroy(&channel->lock);
    free(channel->block);
    free(channel->deaths);
    free(channel->is_dead);
    free(channel);
}

static void welcome_wait(struct channel *channel)
{
    const int64_t until_ms = rank_now_ms() + WELCOME_MS;
    int64_t at_ms = until_ms - WELCOME_MS;
    while (!channel->welcomed && !channel->gone && at_ms < until_ms) {
        struct pollfd news = {.fd = channel->fd, .events = POLLIN};
        (void)poll(&news, 1, (int)(until_ms - at_ms));
        rank_read(channel);
        at_ms = rank_now_ms();
    }
}

static const char *welcome_flaw(const struct channel *channel)
{
    if (channel->header_got == sizeof(channel->header) &&
        channel->header.magic == CHANNEL_MAGIC &&
        channel->header.version != CHANNEL_VERSION) {
        return "the launcher is of another release: start the program with the moot "
               "command of the release that it is linked with";
    }
    return channel->gone ? "the launcher closed the channel before it said anything"
                         : "the launcher has said nothing for a minute";
}

static struct channel *channel_take(int fd)
{
    struct channel *channel = calloc(1, sizeof(*channel));
    if (!channel) {
        rank_story(process_story, sizeof(process_story), "out of memory");
        return NULL;
    }
    channel->fd = fd;
    channel->owner = getpid();
    pthread_mutex_init(&channel->turn, NULL);
    pthread_mutex_init(&channel->grow_turn, NULL);
    pthread_mutex_init(&channel->lock, NULL);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    welcome_wait(channel);
    if (!channel->welcomed) {
        rank_story(process_story, sizeof(process_story), welcome_flaw(channel));
        channel_free(channel);
        return NULL;
    }
    return channel;
}

struct channel *channel_of_process(char *story, size_t story_size)
{
    pthread_mutex_lock(&process_lock);
    const char *text = getenv(CHANNEL_VARIABLE);
    if (!process_tried && text && *text) {
        const int fd = descriptor_find(text);
        process_tried = true;
        if (fd >= 0) {
            process_channel = channel_take(fd);
        } else {
            rank_story(process_story, sizeof(process_story),
                       "the launcher's channel is not open here: another process has "
                       "it, such as the one that started this program");
        }
    }
    struct channel *found = process_channel;
    const char *why = process_story;
    if (found && found->owner != getpid()) {
        found = NULL;
        why = "this process was forked from a rank, whose channel it cannot use";
    }
    rank_story(story, story_size, found ? "" : why);
    pthread_mutex_unlock(&process_lock);
    return found;
}

void channel_decline(void)
{
    const char *text = getenv(CHANNEL_VARIABLE);
    const int fd = text ? descriptor_find(text) : -1;
    if (fd >= 0) {
        close(fd);
    }
}

/* The number in a variable; false: it has none that a rank can have. */
static bool read_number(const char *variable, uint32_t *out)
{
    const char *text = getenv(variable);
    char *rest = NULL;
    const unsigned long number = text != NULL ? strtoul(text, &rest, 10) : 0;
    if (text == NULL || rest == text || *rest != '\0' || number >= LIMIT_RANKS) {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

bool channel_told_rank(uint32_t *out)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    uint32_t first = 0, rank;
    if (read_number(CHANNEL_RANK_VARIABLE, out)) {
        return true;
    }
    (void)read_number(CHANNEL_FIRST_VARIABLE, &first);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (read_number(names[i], &rank) && rank < LIMIT_RANKS - first) {
            *out = first + rank;
            return true;
        }
    }
    return false;
}

uint32_t channel_rank(const struct channel *channel) { return channel->rank; }

uint32_t channel_size(const struct channel *channel) { return channel->size; }

uint32_t channel_room(const struct channel *channel) { return channel->welcome.room; }

bool channel_is_newcomer(const struct channel *channel)
{
    return channel->rank >= channel->size;
}

void channel_process(const struct channel *channel, uint32_t *wave, uint32_t *index)
{
    *wave = channel->welcome.wave;
    *index = channel->welcome.index;
}

const unsigned char *channel_key(const struct channel *channel)
{
    return channel->welcome.key;
}

const char *channel_host(const struct channel *channel) { return channel->host; }

const char *channel_host_name(const struct channel *channel)
{
    return channel->host + strlen(channel->host) + 1;
}

uint32_t channel_next_death(struct channel *channel, uint32_t *told)
{
    uint32_t rank = UINT32_MAX;
    if (channel->owner != getpid()) {
        return rank;
    }
    pthread_mutex_lock(&channel->lock);
    if (!channel->gathers) {
        rank_read(channel);
        (void)rank_send(channel);
    }
    if (*told < channel->death_count) {
        rank = channel->deaths[(*told)++];
    }
    pthread_mutex_unlock(&channel->lock);
    return rank;
}
