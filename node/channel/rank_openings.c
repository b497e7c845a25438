/* rank_openings.c - a rank's gatherings and openings, the newcomers that it is told of,
 * and its wishes for more ranks; see channel.h and rank_private.h.
 */
#include "node/channel/rank_private.h"
#include "proto/error.h"
#include "proto/limits.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { GROW_MS = 10000, GROW_LOOK_MS = 20 };

static const char forked[] =
    "this process was forked from a rank, whose channel it cannot use";
static const char launcher_gone[] =
    "the launcher has gone, or closed its channel to this rank";

/* --- Gatherings ------------------------------------------------------------------- */

/* Hands the card in and waits for the answer, with the lock but while it sleeps. */
static void answer_wait(struct channel *channel)
{
    for (;;) {
        rank_read(channel);
        const bool all_sent = rank_send(channel);
        if (channel->gone || channel->answered) {
            return;
        }
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
        rank_story(story, story_size,
                   "the ranks' words for each other are over 1 GiB together");
        return MOOT_ERR_LIMIT;
    case CHANNEL_NO_MEMORY:
        rank_story(story, story_size, "the launcher is out of memory");
        return MOOT_ERR_NO_MEMORY;
    case CHANNEL_OVER:
        rank_story(story, story_size,
                   "this rank has come too late: all ranks that it was to join have "
                   "gone");
        return MOOT_ERR_TRANSPORT;
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
        rank_story(story, story_size, launcher_gone);
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

/* Whether this process can hand in so many bytes. */
static int hand_in_check(const struct channel *channel, size_t size, char *story,
                         size_t story_size)
{
    if (channel->owner != getpid()) {
        rank_story(story, story_size, forked);
        return MOOT_ERR_TRANSPORT;
    }
    if (size > CHANNEL_CARD_MAX) {
        rank_story(story, story_size, "this rank's word for the others is over 1 MiB");
        return MOOT_ERR_LIMIT;
    }
    return MOOT_OK;
}

/* The card's answer; *opening, if it is one, is its number. */
static int card_hand_in(struct channel *channel, struct rank_word *card,
                        struct channel_card **all, uint32_t *opening, char *story,
                        size_t story_size)
{
    pthread_mutex_lock(&channel->turn);
    pthread_mutex_lock(&channel->lock);
    if (opening) {
        *opening = channel->openings++;
    }
    card->header.count = channel->gatherings++;
    channel->card = card;
    channel->gathers = true;
    answer_wait(channel);
    channel->gathers = false;
    channel->card = NULL;
    const int code = answer_take(channel, all, story, story_size);
    if (opening && code != MOOT_OK) {
        opening_set_add(&channel->closed, *opening);
    }
    pthread_mutex_unlock(&channel->lock);
    pthread_mutex_unlock(&channel->turn);
    return code;
}

int channel_gather(struct channel *channel, const void *bytes, size_t size,
                   struct channel_card **all, char *story, size_t story_size)
{
    const int code = hand_in_check(channel, size, story, story_size);
    if (code != MOOT_OK) {
        return code;
    }
    if (channel_is_newcomer(channel)) {
        rank_story(story, story_size,
                   "this rank was started when the job ran, and joins no gathering");
        return MOOT_ERR_TRANSPORT;
    }
    struct rank_word card = {.header = channel_header_make(CHANNEL_HAND_IN, size),
                             .bytes = bytes};
    return card_hand_in(channel, &card, all, NULL, story, story_size);
}

int channel_open(struct channel *channel, const void *bytes, size_t size,
                 struct channel_card **all, uint32_t *opening, char *story,
                 size_t story_size)
{
    const int code = hand_in_check(channel, size, story, story_size);
    if (code != MOOT_OK) {
        return code;
    }
    struct rank_word card = {.header = channel_header_make(CHANNEL_OPEN, size),
                             .bytes = bytes};
    return card_hand_in(channel, &card, all, opening, story, story_size);
}

void channel_close(struct channel *channel, uint32_t opening)
{
    if (channel->owner != getpid() || channel->welcome.room == channel->size) {
        return;
    }
    pthread_mutex_lock(&channel->lock);
    opening_set_add(&channel->closed, opening);
    (void)rank_send(channel); /* one that hands in a card sends it with that */
    pthread_mutex_unlock(&channel->lock);
}

/* --- Newcomers -------------------------------------------------------------------- */

bool channel_next_newcomer(struct channel *channel, uint32_t opening, uint32_t *told,
                           uint32_t *rank, struct channel_card *card)
{
    bool found = false;
    if (channel->owner != getpid()) {
        return false;
    }
    pthread_mutex_lock(&channel->lock);
    if (!channel->gathers) {
        rank_read(channel);
        (void)rank_send(channel);
    }
    while (!found && *told < channel->newcomer_count) {
        const struct rank_newcomer *newcomer = &channel->newcomers[(*told)++];
        found = newcomer->opening == opening;
        if (found) {
            *rank = newcomer->rank;
            *card = newcomer->card;
        }
    }
    pthread_mutex_unlock(&channel->lock);
    return found;
}

bool channel_is_emptied(struct channel *channel, uint32_t opening)
{
    pthread_mutex_lock(&channel->lock);
    const bool emptied = opening_set_has(&channel->emptied, opening);
    pthread_mutex_unlock(&channel->lock);
    return emptied;
}

uint64_t channel_newcomers(const struct channel *channel)
{
    return atomic_load_explicit(&channel->newcomer_count, memory_order_acquire);
}

/* --- Wishes ----------------------------------------------------------------------- */

static int grant_code(const struct channel_header *grant)
{
    switch (grant->why) {
    case CHANNEL_GROWN_WELL:
        return MOOT_OK;
    case CHANNEL_GROWN_LIMIT:
        return MOOT_ERR_LIMIT;
    case CHANNEL_GROWN_UNSUPPORTED:
        return MOOT_ERR_UNSUPPORTED;
    default:
        return MOOT_ERR_TRANSPORT;
    }
}

/* Sends the wish and waits, with the lock but while it sleeps: another thread may read
 * the answer. */
static void grant_wait(struct channel *channel)
{
    const int64_t until_ms = rank_now_ms() + GROW_MS;
    while (!channel->gone && !channel->granted && rank_now_ms() < until_ms) {
        if (!channel->gathers) {
            rank_read(channel);
        }
        (void)rank_send(channel);
        if (!channel->gone && !channel->granted) {
            struct pollfd news = {.fd = channel->fd, .events = POLLIN};
            pthread_mutex_unlock(&channel->lock);
            (void)poll(&news, 1, GROW_LOOK_MS);
            pthread_mutex_lock(&channel->lock);
        }
    }
}

static int grant_take(struct channel *channel, uint32_t *first, char *story,
                      size_t story_size)
{
    if (!channel->granted) {
        rank_story(story, story_size,
                   channel->gone ? launcher_gone
                                 : "the launcher has not answered for 10 s");
        return MOOT_ERR_TRANSPORT;
    }
    const int code = grant_code(&channel->grant);
    rank_story(story, story_size, channel->grant_story);
    *first = code == MOOT_OK ? channel->grant.rank : *first;
    return code;
}

int channel_grow(struct channel *channel, uint32_t count, uint32_t *first, char *story,
                 size_t story_size)
{
    int code = MOOT_ERR_TRANSPORT;
    if (channel->owner != getpid()) {
        rank_story(story, story_size, forked);
        return code;
    }
    if (count == 0 || count > LIMIT_NEWCOMERS) {
        if (story_size > 0) {
            snprintf(story, story_size, "a job takes in 1 to %u ranks more",
                     LIMIT_NEWCOMERS);
        }
        return MOOT_ERR_LIMIT;
    }
    pthread_mutex_lock(&channel->grow_turn);
    pthread_mutex_lock(&channel->lock);
    if (!channel->gone && (channel->closed.below > 0 || channel->closed.beyond != 0)) {
        code = MOOT_ERR_UNSUPPORTED;
        rank_story(
            story, story_size,
            "newcomers run the program from its beginning, and would open a moot "
            "there that this process has closed: ranks join before that alone");
    } else if (channel->wishes ||
               channel->wish_sent) { /* the launcher may act on it yet */
        rank_story(story, story_size, "the launcher has not answered the wish before");
    } else {
        channel->wish = count;
        channel->wishes = true;
        channel->granted = false;
        grant_wait(channel);
        code = grant_take(channel, first, story, story_size);
    }
    pthread_mutex_unlock(&channel->lock);
    pthread_mutex_unlock(&channel->grow_turn);
    return code;
}
