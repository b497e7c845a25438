/* rank_words.c - the messages of a rank's end; see rank_private.h.
 *
 * The launcher is trusted no further than that nothing it says is taken for more than
 * it may be: who sends what makes no sense is taken to have gone.
 */
#include "node/channel/rank_private.h"
#include "proto/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/* --- What comes ------------------------------------------------------------------- */

static bool welcome_is_sound(const struct channel_header *header)
{
    return header->kind == CHANNEL_WELCOME && header->count > 0 &&
           header->count <= CHANNEL_RANKS_MAX &&
           header->size >= sizeof(struct channel_welcome) &&
           header->size <= sizeof(struct channel_welcome) + 2 * CHANNEL_HOST_MAX + 1;
}

/* The numbers whose cards such an answer has. */
static uint32_t answer_ranks(const struct channel *channel)
{
    return channel->header.kind == CHANNEL_OPENED ? channel->welcome.room
                                                  : channel->size;
}

static bool is_later(const struct channel *channel, uint32_t rank)
{
    return rank >= channel->size && rank < channel->welcome.room;
}

static bool header_is_sound(const struct channel *channel)
{
    const struct channel_header *header = &channel->header;
    const uint64_t lengths = (uint64_t)answer_ranks(channel) * sizeof(uint32_t);
    if (header->magic != CHANNEL_MAGIC || header->version != CHANNEL_VERSION) {
        return false;
    }
    if (!channel->welcomed) {
        return welcome_is_sound(header);
    }
    switch (header->kind) {
    case CHANNEL_CARDS:
    case CHANNEL_OPENED:
        return header->size >= lengths &&
               header->size <= lengths + CHANNEL_GATHERED_MAX;
    case CHANNEL_FAILED:
    case CHANNEL_DEATH:
        return header->size == 0 && header->rank < channel->welcome.room;
    case CHANNEL_NEWCOMER:
        return is_later(channel, header->rank) && header->size <= CHANNEL_CARD_MAX;
    case CHANNEL_GROWN:
        return header->size <= CHANNEL_STORY_MAX && channel->wish_sent;
    case CHANNEL_EMPTIED:
        return header->size == 0 && is_later(channel, channel->rank);
    default:
        return false;
    }
}

static bool welcome_take(struct channel *channel)
{
    struct channel_welcome *welcome = &channel->welcome;
    const size_t host = (size_t)channel->header.size - sizeof(*welcome);
    memcpy(welcome, channel->block, sizeof(*welcome));
    channel->rank = channel->header.rank;
    channel->size = channel->header.count;
    if (welcome->room < channel->size ||
        welcome->room - channel->size > LIMIT_NEWCOMERS ||
        channel->rank >= welcome->room) {
        return false;
    }
    memcpy(channel->host, channel->block + sizeof(*welcome), host);
    channel->deaths = calloc(welcome->room, sizeof(*channel->deaths));
    channel->is_dead = calloc(welcome->room, sizeof(*channel->is_dead));
    channel->welcomed = channel->deaths != NULL && channel->is_dead != NULL;
    return channel->welcomed;
}

/* Points the cards, which stand before the bytes that came, to theirs. */
static bool cards_take(struct channel *channel)
{
    const uint32_t ranks = answer_ranks(channel);
    const bool may_lack = channel->header.kind == CHANNEL_OPENED;
    struct channel_card *cards = (void *)channel->block;
    const unsigned char *lengths = channel->block + channel->before;
    const unsigned char *at = lengths + (size_t)ranks * sizeof(uint32_t);
    size_t left = (size_t)channel->header.size - (size_t)(at - lengths);
    memset(cards, 0, channel->before);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t length;
        memcpy(&length, lengths + (size_t)rank * sizeof(length), sizeof(length));
        if (may_lack && length == CHANNEL_NOBODY) {
            continue;
        }
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

/* The bytes are kept; false without memory. */
static bool newcomer_take(struct channel *channel)
{
    const size_t count = (size_t)atomic_load(&channel->newcomer_count);
    if (count == channel->newcomer_room) {
        const size_t room = count ? 2 * count : LIMIT_NEWCOMERS;
        struct rank_newcomer *more =
            realloc(channel->newcomers, room * sizeof(*channel->newcomers));
        if (!more) {
            return false;
        }
        channel->newcomers = more;
        channel->newcomer_room = room;
    }
    channel->newcomers[count] = (struct rank_newcomer){
        .rank = channel->header.rank,
        .opening = channel->header.count,
        .card = {.bytes = channel->block, .size = (size_t)channel->header.size}};
    channel->block = NULL;
    if (!opening_set_has(&channel->closed, channel->header.count)) {
        channel->told = channel->header.why;
    }
    atomic_store(&channel->newcomer_count, count + 1);
    return true;
}

static void grant_take(struct channel *channel)
{
    const size_t size = (size_t)channel->header.size;
    memcpy(channel->grant_story, channel->block, size);
    channel->grant_story[size] = '\0';
    channel->grant = channel->header;
    channel->granted = true;
    channel->wish_sent = false;
}

/* The message is there; false if it makes no sense, or without memory. */
static bool message_take(struct channel *channel)
{
    bool sound = true;
    switch (channel->header.kind) {
    case CHANNEL_WELCOME:
        sound = welcome_take(channel);
        break;
    case CHANNEL_DEATH:
        death_take(channel, channel->header.rank);
        break;
    case CHANNEL_NEWCOMER:
        sound = newcomer_take(channel);
        break;
    case CHANNEL_GROWN:
        grant_take(channel);
        break;
    case CHANNEL_EMPTIED:
        opening_set_add(&channel->emptied, channel->header.count);
        break;
    default:
        sound = channel->header.kind == CHANNEL_FAILED || cards_take(channel);
        channel->answer = channel->header;
        channel->answered = sound;
        break;
    }
    free(channel->block);
    channel->block = NULL;
    channel->header_got = channel->got = 0;
    return sound;
}

/* Room for the bytes behind a header that has come. */
static bool body_begin(struct channel *channel)
{
    const enum channel_kind kind = (enum channel_kind)channel->header.kind;
    if (!header_is_sound(channel)) {
        return false;
    }
    channel->before = kind == CHANNEL_CARDS || kind == CHANNEL_OPENED
                          ? channel->welcome.room * sizeof(struct channel_card)
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

void rank_read(struct channel *channel)
{
    while (!channel->gone && !channel->answered && piece_read(channel)) {
        ;
    }
}

/* --- What goes -------------------------------------------------------------------- */

/* An opening that was closed, and of which the launcher has yet to hear. */
static bool closing_find(const struct channel *channel, uint32_t *opening)
{
    const uint32_t first = channel->closed_told.below;
    for (*opening = first; *opening - first < 64; ++*opening) {
        if (opening_set_has(&channel->closed, *opening) &&
            !opening_set_has(&channel->closed_told, *opening)) {
            return true;
        }
    }
    return false;
}

/* The next word, when the one before is whole.  The others wait for what this rank
 * knows, so that goes first, and what it closes after that. */
static bool word_begin(struct channel *channel)
{
    struct rank_word *word = &channel->word;
    uint32_t opening;
    if (channel->known != channel->told) {
        *word = (struct rank_word){.header = channel_header_make(CHANNEL_KNOWN, 0)};
        word->header.count = channel->known = channel->told;
    } else if (closing_find(channel, &opening)) {
        *word = (struct rank_word){.header = channel_header_make(CHANNEL_CLOSES, 0)};
        word->header.count = opening;
        opening_set_add(&channel->closed_told, opening);
    } else if (channel->wishes) {
        *word = (struct rank_word){.header = channel_header_make(CHANNEL_GROW, 0)};
        word->header.count = channel->wish;
        channel->wishes = false;
        channel->wish_sent = true;
    } else if (channel->card) {
        *word = *channel->card;
        channel->card = NULL;
    } else {
        return false;
    }
    word->header.rank = channel->rank;
    return true;
}

static size_t word_left(const struct rank_word *word)
{
    const bool none = word->header.magic != CHANNEL_MAGIC; /* none has begun yet */
    return none ? 0 : sizeof(word->header) + (size_t)word->header.size - word->sent;
}

/* Sends a piece of it; false if there is no room now, or never will be. */
static bool word_send(struct channel *channel, struct rank_word *word)
{
    const bool heads = word->sent < sizeof(word->header);
    const unsigned char *from = heads
                                    ? (const unsigned char *)&word->header + word->sent
                                    : word->bytes + (word->sent - sizeof(word->header));
    const size_t left = heads ? sizeof(word->header) - word->sent : word_left(word);
    const ssize_t put =
        send(channel->fd, from, left,
             MSG_DONTWAIT | MSG_NOSIGNAL | (heads && word->header.size ? MSG_MORE : 0));
    if (put < 0 && errno != EINTR) {
        channel->gone |= errno != EAGAIN;
        return false;
    }
    word->sent += put > 0 ? (size_t)put : 0;
    return true;
}

bool rank_send(struct channel *channel)
{
    while (!channel->gone && (word_left(&channel->word) > 0 || word_begin(channel))) {
        if (!word_send(channel, &channel->word)) {
            return false;
        }
    }
    return true;
}
