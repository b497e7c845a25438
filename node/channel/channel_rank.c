/* channel_rank.c - a rank's end of the channel; see channel.h.
 *
 * Bytes are read by whoever comes: channel_next_death() between gatherings, the thread
 * that gathers during one, which would otherwise sleep on what another has read.
 */
#include "node/channel/channel_wire.h"
#include "proto/error.h"
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

struct channel {
    int fd;
    pid_t owner; /* a forked child has a copy of all this */
    uint32_t rank, size;
    unsigned char key[CHANNEL_KEY_BYTES];
    char host[2 * CHANNEL_HOST_MAX + 3]; /* its address, and behind the end its name */

    pthread_mutex_t turn; /* of gatherings: one after the other */
    pthread_mutex_t lock; /* of all that follows */
    bool gathers;         /* the thread that does reads */
    bool gone; /* the launcher's end is closed, or said what makes no sense */
    bool welcomed, answered;
    uint32_t gatherings;

    /* The message that comes: its header, and its bytes behind `before` others. */
    struct channel_header header;
    size_t header_got, before, got;
    unsigned char *block;

    struct channel_header answer;
    struct channel_card *cards; /* of the answer */
    uint32_t *deaths;           /* in the order in which they came, each once */
    bool *is_dead;
    uint32_t death_count;
};

static void story_write(char *story, size_t size, const char *text)
{
    if (size > 0) {
        snprintf(story, size, "%s", text);
    }
}

/* --- What comes ------------------------------------------------------------------- */

static bool header_is_sound(const struct channel *channel)
{
    const struct channel_header *header = &channel->header;
    if (header->magic != CHANNEL_MAGIC || header->version != CHANNEL_VERSION) {
        return false;
    }
    if (!channel->welcomed) {
        return header->kind == CHANNEL_WELCOME && header->count > 0 &&
               header->count <= CHANNEL_RANKS_MAX && header->rank < header->count &&
               header->size >= CHANNEL_KEY_BYTES &&
               header->size <= CHANNEL_KEY_BYTES + 2 * CHANNEL_HOST_MAX + 1;
    }
    const uint64_t lengths = (uint64_t)channel->size * sizeof(uint32_t);
    switch (header->kind) {
    case CHANNEL_CARDS:
        return header->size >= lengths &&
               header->size <= lengths + CHANNEL_GATHERED_MAX;
    case CHANNEL_FAILED:
    case CHANNEL_DEATH:
        return header->size == 0 && header->rank < channel->size;
    default:
        return false;
    }
}

static bool welcome_take(struct channel *channel)
{
    const size_t host = (size_t)channel->header.size - CHANNEL_KEY_BYTES;
    channel->rank = channel->header.rank;
    channel->size = channel->header.count;
    memcpy(channel->key, channel->block, CHANNEL_KEY_BYTES);
    memcpy(channel->host, channel->block + CHANNEL_KEY_BYTES, host);
    channel->deaths = calloc(channel->size, sizeof(*channel->deaths));
    channel->is_dead = calloc(channel->size, sizeof(*channel->is_dead));
    channel->welcomed = channel->deaths != NULL && channel->is_dead != NULL;
    return channel->welcomed;
}

/* Points the cards, which stand before the bytes that came, to theirs. */
static bool cards_take(struct channel *channel)
{
    struct channel_card *cards = (void *)channel->block;
    const unsigned char *lengths = channel->block + channel->before;
    const unsigned char *at = lengths + (size_t)channel->size * sizeof(uint32_t);
    size_t left = (size_t)channel->header.size - (size_t)(at - lengths);
    for (uint32_t rank = 0; rank < channel->size; rank++) {
        uint32_t length;
        memcpy(&length, lengths + (size_t)rank * sizeof(length), sizeof(length));
        if (length > left) {
            return false;
        }
        cards[rank] = (struct channel_card){.bytes = at, .size = length};
        at += length;
        left -= length;
    }
    free(channel->cards);
    channel->cards = cards;
    channel->block = NULL;
    return true;
}

static void death_take(struct channel *channel, uint32_t rank)
{
    if (!channel->is_dead[rank]) {
        channel->is_dead[rank] = true;
        channel->deaths[channel->death_count++] = rank;
    }
}

/* The message is there; false if it makes no sense, or without memory. */
static bool message_take(struct channel *channel)
{
    bool sound = true;
    if (channel->header.kind == CHANNEL_WELCOME) {
        sound = welcome_take(channel);
    } else if (channel->header.kind == CHANNEL_DEATH) {
        death_take(channel, channel->header.rank);
    } else {
        sound = channel->header.kind == CHANNEL_FAILED || cards_take(channel);
        channel->answer = channel->header;
        channel->answered = sound;
    }
    free(channel->block);
    channel->block = NULL;
    channel->header_got = channel->got = 0;
    return sound;
}

/* Room for the bytes behind a header that has come. */
static bool body_begin(struct channel *channel)
{
    if (!header_is_sound(channel)) {
        return false;
    }
    channel->before = channel->header.kind == CHANNEL_CARDS
                          ? channel->size * sizeof(struct channel_card)
                          : 0;
    channel->block = malloc(channel->before + (size_t)channel->header.size + 1);
    return channel->block != NULL;
}

/* Reads one piece; false if there is none now, or none any more. */
static bool piece_read(struct channel *channel)
{
    const bool heads = channel->header_got < sizeof(channel->header);
    size_t *got = heads ? &channel->header_got : &channel->got;
    const size_t want = heads ? sizeof(channel->header) : (size_t)channel->header.size;
    unsigned char *to =
        heads ? (unsigned char *)&channel->header : channel->block + channel->before;
    const ssize_t came = recv(channel->fd, to + *got, want - *got, MSG_DONTWAIT);
    if (came <= 0) {
        channel->gone |= came == 0 || (errno != EAGAIN && errno != EINTR);
        return false;
    }
    *got += (size_t)came;
    if (heads && *got == want) {
        channel->gone |= !body_begin(channel);
    }
    if (!channel->gone && channel->header_got == sizeof(channel->header) &&
        channel->got == channel->header.size) {
        channel->gone |= !message_take(channel);
    }
    return !channel->gone;
}

/* Under the lock.  Stops at an answer: the next is to another question. */
static void channel_read(struct channel *channel)
{
    while (!channel->gone && !channel->answered && piece_read(channel)) {
        ;
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

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void channel_free(struct channel *channel)
{
    close(channel->fd);
    pthread_mutex_destroy(&channel->turn);
    pthread_mutex_destroy(&channel->lock);
    free(channel->block);
    free(channel->deaths);
    free(channel->is_dead);
    free(channel);
}

static void welcome_wait(struct channel *channel)
{
    const int64_t until_ms = now_ms() + WELCOME_MS;
    int64_t at_ms = until_ms - WELCOME_MS;
    while (!channel->welcomed && !channel->gone && at_ms < until_ms) {
        struct pollfd news = {.fd = channel->fd, .events = POLLIN};
        (void)poll(&news, 1, (int)(until_ms - at_ms));
        channel_read(channel);
        at_ms = now_ms();
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
        story_write(process_story, sizeof(process_story), "out of memory");
        return NULL;
    }
    channel->fd = fd;
    channel->owner = getpid();
    pthread_mutex_init(&channel->turn, NULL);
    pthread_mutex_init(&channel->lock, NULL);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    welcome_wait(channel);
    if (!channel->welcomed) {
        story_write(process_story, sizeof(process_story), welcome_flaw(channel));
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
            story_write(process_story, sizeof(process_story),
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
    story_write(story, story_size, found ? "" : why);
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

bool channel_told_rank(uint32_t *out)
{
    static const char *const names[] = {CHANNEL_RANK_VARIABLE, "OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);
        char *rest = NULL;
        const unsigned long rank = text != NULL ? strtoul(text, &rest, 10) : 0;
        if (text != NULL && rest != text && *rest == '\0' && rank < LIMIT_RANKS) {
            *out = (uint32_t)rank;
            return true;
        }
    }
    return false;
}

uint32_t channel_rank(const struct channel *channel) { return channel->rank; }

uint32_t channel_size(const struct channel *channel) { return channel->size; }

const unsigned char *channel_key(const struct channel *channel) { return channel->key; }

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
        channel_read(channel);
    }
    if (*told < channel->death_count) {
        rank = channel->deaths[(*told)++];
    }
    pthread_mutex_unlock(&channel->lock);
    return rank;
}

/* --- Gatherings ------------------------------------------------------------------- */

/* The rest that is still to be sent: a header, and then the card. */
struct card_out {
    struct channel_header header;
    const unsigned char *bytes;
    size_t size, sent; /* of both */
};

/* Sends what there is room for. */
static void outgoing_send(struct channel *channel, struct card_out *out)
{
    const size_t whole = sizeof(out->header) + out->size;
    while (!channel->gone && out->sent < whole) {
        const bool heads = out->sent < sizeof(out->header);
        const unsigned char *from =
            heads ? (const unsigned char *)&out->header + out->sent
                  : out->bytes + (out->sent - sizeof(out->header));
        const size_t left = (heads ? sizeof(out->header) : whole) - out->sent;
        const ssize_t put =
            send(channel->fd, from, left,
                 MSG_DONTWAIT | MSG_NOSIGNAL | (heads && out->size ? MSG_MORE : 0));
        if (put < 0 && errno != EINTR) {
            channel->gone |= errno != EAGAIN;
            return;
        }
        out->sent += put > 0 ? (size_t)put : 0;
    }
}

/* Hands the card in and waits for the answer, with the lock but while it sleeps. */
static void answer_wait(struct channel *channel, struct card_out *out)
{
    for (;;) {
        outgoing_send(channel, out);
        channel_read(channel);
        if (channel->gone || channel->answered) {
            return;
        }
        const bool all_sent = out->sent == sizeof(out->header) + out->size;
        struct pollfd news = {.fd = channel->fd,
                              .events = (short)(all_sent ? POLLIN : POLLIN | POLLOUT)};
        pthread_mutex_unlock(&channel->lock);
        (void)poll(&news, 1, -1);
        pthread_mutex_lock(&channel->lock);
    }
}

static int failure_tell(const struct channel_header *answer, char *story,
                        size_t story_size)
{
    const char *why = NULL;
    switch (answer->why) {
    case CHANNEL_TOO_MUCH:
        story_write(story, story_size,
                    "the ranks' words for each other are over 1 GiB together");
        return MOOT_ERR_LIMIT;
    case CHANNEL_NO_MEMORY:
        story_write(story, story_size, "the launcher is out of memory");
        return MOOT_ERR_NO_MEMORY;
    case CHANNEL_ENDED:
        why = "has ended";
        break;
    case CHANNEL_CLOSED:
        why = "has closed its channel to the launcher";
        break;
    case CHANNEL_LOST:
        why = "is on a host that is not reached any more";
        break;
    default:
        why = "was cut off by the launcher, which could not read what it sent";
        break;
    }
    if (story_size > 0) {
        snprintf(story, story_size, "rank %" PRIu32 " %s, and all ranks have to come",
                 answer->rank, why);
    }
    return MOOT_ERR_TRANSPORT;
}

/* Takes the answer, under the lock. */
static int answer_take(struct channel *channel, struct channel_card **all, char *story,
                       size_t story_size)
{
    if (!channel->answered) {
        story_write(story, story_size,
                    "the launcher has gone, or closed its channel to this rank");
        return MOOT_ERR_TRANSPORT;
    }
    channel->answered = false;
    if (channel->answer.kind == CHANNEL_FAILED) {
        return failure_tell(&channel->answer, story, story_size);
    }
    *all = channel->cards;
    channel->cards = NULL;
    return MOOT_OK;
}

int channel_gather(struct channel *channel, const void *bytes, size_t size,
                   struct channel_card **all, char *story, size_t story_size)
{
    if (channel->owner != getpid()) {
        story_write(story, story_size,
                    "this process was forked from a rank, whose channel it cannot use");
        return MOOT_ERR_TRANSPORT;
    }
    if (size > CHANNEL_CARD_MAX) {
        story_write(story, story_size, "this rank's word for the others is over 1 MiB");
        return MOOT_ERR_LIMIT;
    }
    pthread_mutex_lock(&channel->turn);
    pthread_mutex_lock(&channel->lock);
    struct card_out out = {.header = channel_header_make(CHANNEL_HAND_IN, size),
                           .bytes = bytes,
                           .size = size};
    out.header.count = channel->gatherings++;
    channel->gathers = true;
    answer_wait(channel, &out);
    channel->gathers = false;
    const int code = answer_take(channel, all, story, story_size);
    pthread_mutex_unlock(&channel->lock);
    pthread_mutex_unlock(&channel->turn);
    return code;
}
