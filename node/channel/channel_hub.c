/* channel_hub.c - the launcher's end of the channels of a job; see channel.h.
 *
 * One gathering is under way at a time, since a rank hands in its next card when it has
 * had the answer to its last.  A rank that has gone and has not come to it makes it
 * fail, and all later ones, since it will not come to these either; who comes is told
 * so at once.
 *
 * The hub that is no branch decides that alone.  A branch hands in when all of its own
 * ranks have come, and tells of those that will not; that one which had come has gone
 * it tells behind what it hands in, or that one's card would count for nothing.  What
 * comes from above it passes on.  That there will be no gatherings any more a branch is
 * told once, and tells all that come.
 *
 * A link that does not read gets what waits for it here: its welcome, one answer, and
 * the deaths, each of which is kept once for all.  One that hands in another card
 * before it can have read the answer to the last breaks the rules.
 */
#include "node/channel/hub_private.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, ROUNDS_MAX = 64 };
#define NO_LINK UINT32_MAX

static void link_cut(struct channel_hub *hub, struct hub_link *link,
                     enum channel_why why);

/* --- What goes out ---------------------------------------------------------------- */

static void link_tell(struct channel_hub *hub, struct hub_link *link,
                      struct hub_message *message, bool answers)
{
    if (link->fd < 0) {
        return;
    }
    if (letter_add(link, message, answers)) {
        link_watch(hub, link);
    } else {
        link_cut(hub, link, CHANNEL_NO_MEMORY);
    }
}

static struct hub_message *word_make(enum channel_kind kind, uint32_t rank,
                                     enum channel_why why)
{
    struct channel_header header = channel_header_make(kind, 0);
    header.rank = rank;
    header.why = (uint32_t)why;
    return hub_message_new(&header);
}

/* A death is told to all but the link that it comes from. */
static void death_tell(struct channel_hub *hub, uint32_t rank,
                       const struct hub_link *from)
{
    struct hub_message *message = word_make(CHANNEL_DEATH, rank, CHANNEL_ENDED);
    for (uint32_t i = 0; i < hub->link_count; i++) {
        if (&hub->links[i] != from) {
            link_tell(hub, &hub->links[i], message, false);
        }
    }
    hub_message_leave(message);
}

static void gone_tell(struct channel_hub *hub, uint32_t rank)
{
    struct hub_message *message = word_make(CHANNEL_GONE, rank, hub->ranks[rank].why);
    link_tell(hub, hub->trunk, message, false);
    hub_message_leave(message);
}

/* --- Gatherings ------------------------------------------------------------------- */

static void body_drop(struct hub_link *link)
{
    free(link->body);
    link->body = NULL;
    link->header_got = link->got = 0;
}

/* The answer to what a link handed in. */
static void link_answer(struct channel_hub *hub, struct hub_link *link,
                        struct hub_message *message)
{
    for (uint32_t rank = link->first; rank < link->first + link->count; rank++) {
        struct hub_rank *of = &hub->ranks[rank];
        hub->came -= of->came;
        hub->lost += of->came && of->gone;
        of->came = false;
        of->card = NULL;
    }
    link->came = false;
    body_drop(link);
    link_tell(hub, link, message, true);
}

static void all_answer(struct channel_hub *hub, struct hub_message *message)
{
    for (uint32_t i = 0; i < hub->link_count; i++) {
        if (hub->links[i].came) {
            link_answer(hub, &hub->links[i], message);
        }
    }
    hub_message_leave(message);
}

static bool is_for_good(uint32_t why)
{
    return why != CHANNEL_TOO_MUCH && why != CHANNEL_NO_MEMORY;
}

static void gathering_fail(struct channel_hub *hub, uint32_t rank, enum channel_why why)
{
    struct hub_message *message = word_make(CHANNEL_FAILED, rank, why);
    for (uint32_t i = 0; is_for_good((uint32_t)why) && i < hub->link_count; i++) {
        struct hub_link *link = &hub->links[i];
        if (link->kind == LINK_BRANCH && !link->came && !link->told) {
            link_tell(hub, link, message, false);
        }
        link->told = true;
    }
    all_answer(hub, message);
}

/* The cards of the hub's own ranks, in a message of that kind: their lengths first. */
static struct hub_message *cards_pack(const struct channel_hub *hub,
                                      enum channel_kind kind, uint64_t cards)
{
    const size_t lengths = hub->count * sizeof(uint32_t);
    struct channel_header header = channel_header_make(kind, lengths + cards);
    header.rank = hub->first;
    header.count = hub->gatherings - 1;
    struct hub_message *message = hub_message_new(&header);
    if (!message) {
        return NULL;
    }
    unsigned char *length_at = message->bytes + sizeof(header),
                  *at = length_at + lengths;
    for (uint32_t i = 0; i < hub->count; i++) {
        const struct hub_rank *rank = &hub->ranks[hub->first + i];
        memcpy(length_at + i * sizeof(uint32_t), &rank->card_size, sizeof(uint32_t));
        if (rank->card_size > 0) {
            memcpy(at, rank->card, rank->card_size);
        }
        at += rank->card_size;
    }
    return message;
}

/* All own ranks have come. */
static void gathering_end(struct channel_hub *hub)
{
    uint64_t cards = 0;
    for (uint32_t i = 0; i < hub->count; i++) {
        cards += hub->ranks[hub->first + i].card_size;
    }
    hub->gatherings++;
    if (!hub->trunk && cards > CHANNEL_GATHERED_MAX) {
        gathering_fail(hub, 0, CHANNEL_TOO_MUCH);
        return;
    }
    struct hub_message *message =
        cards_pack(hub, hub->trunk ? CHANNEL_HAND_IN : CHANNEL_CARDS, cards);
    if (hub->trunk) { /* without memory nobody waits for this host */
        link_tell(hub, hub->trunk, message, false);
        hub_message_leave(message);
        for (uint32_t rank = hub->first; rank < hub->first + hub->count; rank++) {
            if (hub->ranks[rank].gone) {
                gone_tell(hub, rank);
            }
        }
    } else if (message) {
        all_answer(hub, message);
    } else {
        gathering_fail(hub, 0, CHANNEL_NO_MEMORY);
    }
}

/* The first that went of those that have gone and will not come: the others may have
 * gone because of it.  NULL: all may come. */
static const struct hub_rank *missing_find(const struct channel_hub *hub)
{
    const struct hub_rank *first = NULL;
    for (uint32_t i = 0; hub->lost > 0 && i < hub->count; i++) {
        const struct hub_rank *rank = &hub->ranks[hub->first + i];
        if (rank->gone && !rank->came && (!first || rank->went < first->went)) {
            first = rank;
        }
    }
    return first;
}

/* Ends the gathering under way if there is nothing left to wait for, either way. */
static void gathering_look(struct channel_hub *hub)
{
    if (hub->failed) {
        gathering_fail(hub, hub->failure.rank, (enum channel_why)hub->failure.why);
        return;
    }
    const struct hub_rank *missing =
        !hub->trunk && hub->came > 0 ? missing_find(hub) : NULL;
    if (hub->came == hub->count) {
        gathering_end(hub);
    } else if (missing) {
        gathering_fail(hub, (uint32_t)(missing - hub->ranks), missing->why);
    }
}

/* --- Ranks that go ---------------------------------------------------------------- */

static void rank_lose(struct channel_hub *hub, uint32_t rank, enum channel_why why)
{
    struct hub_rank *of = &hub->ranks[rank];
    if (of->gone) {
        return;
    }
    of->gone = true;
    of->why = why;
    of->went = hub->gone++;
    hub->lost += !of->came;
    const bool held_back = of->came && hub->came < hub->count;
    if (hub->trunk && !held_back) {
        gone_tell(hub, rank);
    }
    if (!of->came) {
        gathering_look(hub);
    }
}

/* The stream has ended, or is not to be used any more. */
static void link_cut(struct channel_hub *hub, struct hub_link *link,
                     enum channel_why why)
{
    if (link->fd < 0) {
        return;
    }
    close(link->fd);
    link->fd = -1;
    while (link->first_letter) {
        letter_drop(link);
    }
    if (!link->came) {
        body_drop(link);
    }
    for (uint32_t rank = link->first; rank < link->first + link->count; rank++) {
        rank_lose(hub, rank, why);
    }
    for (uint32_t i = 0; link->kind == LINK_TRUNK && i < hub->link_count; i++) {
        link_cut(hub, &hub->links[i], CHANNEL_LOST); /* nobody answers them any more */
    }
}

/* --- What comes in ---------------------------------------------------------------- */

static bool hand_in_is_sound(const struct hub_link *link)
{
    const struct channel_header *header = &link->header;
    const uint64_t most = link->kind == LINK_RANK
                              ? CHANNEL_CARD_MAX
                              : link->count * (CHANNEL_CARD_MAX + sizeof(uint32_t));
    const uint64_t least = link->kind == LINK_RANK ? 0 : link->count * sizeof(uint32_t);
    return header->size >= least && header->size <= most &&
           header->count == link->gatherings && !link->answering && !link->came;
}

/* Whether such a message may come there now. */
static bool header_is_sound(const struct channel_hub *hub, const struct hub_link *link)
{
    const struct channel_header *header = &link->header;
    const uint64_t lengths = (uint64_t)hub->size * sizeof(uint32_t);
    const bool known = header->rank < hub->size && header->size == 0;
    if (header->magic != CHANNEL_MAGIC || header->version != CHANNEL_VERSION) {
        return false;
    }
    switch (header->kind) {
    case CHANNEL_HAND_IN:
        return link->kind != LINK_TRUNK && hand_in_is_sound(link);
    case CHANNEL_GONE:
        return link->kind == LINK_BRANCH && known &&
               header->rank - link->first < link->count;
    case CHANNEL_DEATH:
        return known &&
               (link->kind == LINK_TRUNK || (link->kind == LINK_BRANCH &&
                                             header->rank - link->first < link->count));
    case CHANNEL_CARDS:
        return link->kind == LINK_TRUNK && header->size >= lengths &&
               header->size <= lengths + CHANNEL_GATHERED_MAX;
    case CHANNEL_FAILED:
        return link->kind == LINK_TRUNK && known;
    default:
        return false;
    }
}

/* The cards of a link's ranks are there; false if they are not what it says. */
static bool hand_in_take(struct channel_hub *hub, struct hub_link *link)
{
    const unsigned char *lengths = link->body, *at = link->body;
    uint64_t left = link->header.size;
    if (link->kind == LINK_BRANCH) {
        at += link->count * sizeof(uint32_t);
        left -= link->count * sizeof(uint32_t);
    }
    for (uint32_t i = 0; i < link->count; i++) {
        uint32_t length = (uint32_t)left;
        if (link->kind == LINK_BRANCH) {
            memcpy(&length, lengths + i * sizeof(length), sizeof(length));
        }
        if (length > left || length > CHANNEL_CARD_MAX) {
            return false;
        }
        hub->ranks[link->first + i].card = at;
        hub->ranks[link->first + i].card_size = length;
        at += length;
        left -= length;
    }
    if (left > 0) {
        return false;
    }
    for (uint32_t i = 0; i < link->count; i++) {
        struct hub_rank *rank = &hub->ranks[link->first + i];
        hub->lost -= rank->gone && !rank->came;
        rank->came = true;
    }
    link->came = true;
    link->gatherings++;
    link->header_got = 0;
    hub->came += link->count;
    gathering_look(hub);
    return true;
}

static void rank_dead(struct channel_hub *hub, uint32_t rank,
                      const struct hub_link *from)
{
    if (!hub->ranks[rank].dead) {
        hub->ranks[rank].dead = true;
        death_tell(hub, rank, from);
    }
}

/* An answer from above goes to all who wait for it. */
static void answer_take(struct channel_hub *hub, struct hub_link *trunk)
{
    struct hub_message *message = hub_message_new(&trunk->header);
    if (message && trunk->header.size > 0) {
        memcpy(message->bytes + sizeof(trunk->header), trunk->body,
               (size_t)trunk->header.size);
    }
    if (trunk->header.kind == CHANNEL_FAILED && is_for_good(trunk->header.why)) {
        hub->failed = true;
        hub->failure = trunk->header;
    }
    if (message) {
        all_answer(hub, message);
    } else {
        link_cut(hub, trunk, CHANNEL_NO_MEMORY);
    }
}

/* A whole message has come; false if it makes no sense. */
static bool message_take(struct channel_hub *hub, struct hub_link *link)
{
    bool sound = true;
    switch (link->header.kind) {
    case CHANNEL_HAND_IN:
        return hand_in_take(hub, link);
    case CHANNEL_GONE:
        rank_lose(hub, link->header.rank, (enum channel_why)link->header.why);
        break;
    case CHANNEL_DEATH:
        hub->ranks[link->header.rank].why = CHANNEL_ENDED;
        rank_dead(hub, link->header.rank, link);
        break;
    default:
        answer_take(hub, link);
        break;
    }
    link->header_got = 0;
    if (!link->came) {
        body_drop(link);
    }
    return sound;
}

/* A header has come: room for its bytes. */
static bool header_take(struct channel_hub *hub, struct hub_link *link)
{
    if (!header_is_sound(hub, link)) {
        return false;
    }
    link->got = 0;
    if (link->header.kind == CHANNEL_HAND_IN || link->header.size > 0) {
        link->body = malloc((size_t)link->header.size + 1);
        return link->body != NULL;
    }
    return true;
}

/* Reads what there is.  Of a rank that has come nothing is to come but its end. */
static void link_read(struct channel_hub *hub, struct hub_link *link)
{
    while (link->fd >= 0) {
        const bool heads = link->header_got < sizeof(link->header);
        size_t *done = heads ? &link->header_got : &link->got;
        unsigned char *to = heads ? (unsigned char *)&link->header : link->body;
        const size_t want = heads ? sizeof(link->header) : (size_t)link->header.size;
        const ssize_t got = recv(link->fd, to + *done, want - *done, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (got <= 0) {
            link_cut(hub, link,
                     link->kind == LINK_RANK ? CHANNEL_CLOSED : CHANNEL_LOST);
            return;
        }
        *done += (size_t)got;
        bool sound = !(link->kind == LINK_RANK && link->came);
        if (sound && heads && *done == want) {
            sound = header_take(hub, link);
        }
        if (sound && link->header_got == sizeof(link->header) &&
            (link->header.size == 0 || link->got == link->header.size)) {
            sound = message_take(hub, link);
        }
        if (!sound) {
            link_cut(hub, link, CHANNEL_BROKE);
        }
    }
}

/* --- The hub ---------------------------------------------------------------------- */

static struct channel_hub *hub_make(uint32_t size, uint32_t first, uint32_t count)
{
    if (count == 0 || size > CHANNEL_RANKS_MAX || first > size ||
        count > size - first || sodium_init() < 0) {
        return NULL;
    }
    struct channel_hub *hub = calloc(1, sizeof(*hub));
    struct hub_rank *ranks = calloc(size, sizeof(*ranks));
    struct hub_link *links = calloc((size_t)count + 1, sizeof(*links));
    const int events = epoll_create1(EPOLL_CLOEXEC);
    if (!hub || !ranks || !links || events < 0) {
        free(hub);
        free(ranks);
        free(links);
        if (events >= 0) {
            close(events);
        }
        return NULL;
    }
    *hub = (struct channel_hub){.size = size,
                                .first = first,
                                .count = count,
                                .events = events,
                                .ranks = ranks,
                                .links = links};
    for (uint32_t rank = 0; rank < size; rank++) {
        ranks[rank].link = NO_LINK;
    }
    return hub;
}

/* Takes a stream; NULL without memory. */
static struct hub_link *link_add(struct channel_hub *hub, enum link_kind kind,
                                 uint32_t first, uint32_t count, int fd)
{
    struct hub_link *link = &hub->links[hub->link_count];
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT,
                                .data.u32 = hub->link_count};
    if (epoll_ctl(hub->events, EPOLL_CTL_ADD, fd, &event) != 0) {
        return NULL;
    }
    *link = (struct hub_link){.kind = kind,
                              .fd = fd,
                              .index = hub->link_count++,
                              .first = first,
                              .count = count,
                              .writes = true};
    link->last_letter = &link->first_letter;
    for (uint32_t rank = first; rank < first + count; rank++) {
        hub->ranks[rank].link = link->index;
    }
    return link;
}

struct channel_hub *channel_hub_new(uint32_t size)
{
    struct channel_hub *hub = hub_make(size, 0, size);
    if (hub) {
        randombytes_buf(hub->key, sizeof(hub->key));
    }
    return hub;
}

const unsigned char *channel_hub_key(const struct channel_hub *hub) { return hub->key; }

struct channel_hub *channel_hub_new_branch(uint32_t size, uint32_t first,
                                           uint32_t count, const unsigned char *key,
                                           int trunk)
{
    struct channel_hub *hub = hub_make(size, first, count);
    if (!hub) {
        return NULL;
    }
    memcpy(hub->key, key, sizeof(hub->key));
    hub->trunk = link_add(hub, LINK_TRUNK, first, 0, trunk);
    if (!hub->trunk) {
        channel_hub_free(hub);
        return NULL;
    }
    return hub;
}

void channel_hub_free(struct channel_hub *hub)
{
    if (!hub) {
        return;
    }
    for (uint32_t i = 0; i < hub->link_count; i++) {
        struct hub_link *link = &hub->links[i];
        while (link->first_letter) {
            letter_drop(link);
        }
        free(link->body);
        if (link->fd >= 0) {
            close(link->fd);
        }
    }
    close(hub->events);
    sodium_memzero(hub->key, sizeof(hub->key));
    free(hub->ranks);
    free(hub->links);
    free(hub);
}

bool channel_hub_add(struct channel_hub *hub, uint32_t rank, int fd, const char *host,
                     const char *name)
{
    const size_t host_bytes = strnlen(host, CHANNEL_HOST_MAX);
    const size_t name_bytes = strnlen(name, CHANNEL_HOST_MAX);
    struct channel_header header = channel_header_make(
        CHANNEL_WELCOME, CHANNEL_KEY_BYTES + host_bytes + 1 + name_bytes);
    header.rank = rank;
    header.count = hub->size;
    struct hub_message *welcome = hub_message_new(&header);
    struct hub_link *link = welcome ? link_add(hub, LINK_RANK, rank, 1, fd) : NULL;
    if (link) {
        unsigned char *at = welcome->bytes + sizeof(header);
        memcpy(at, hub->key, sizeof(hub->key));
        at += sizeof(hub->key);
        memcpy(at, host, host_bytes);
        at[host_bytes] = '\0';
        memcpy(at + host_bytes + 1, name, name_bytes);
    }
    const bool added = link && letter_add(link, welcome, false);
    if (link && !added) {
        (void)epoll_ctl(hub->events, EPOLL_CTL_DEL, fd, NULL);
        hub->ranks[rank].link = NO_LINK;
        hub->link_count--;
    }
    hub_message_leave(welcome);
    return added;
}

bool channel_hub_add_branch(struct channel_hub *hub, uint32_t first, uint32_t count,
                            int fd)
{
    return link_add(hub, LINK_BRANCH, first, count, fd) != NULL;
}

void channel_hub_ended(struct channel_hub *hub, uint32_t rank)
{
    const uint32_t index = hub->ranks[rank].link;
    if (index != NO_LINK) {
        link_read(hub, &hub->links[index]); /* its last words */
        link_cut(hub, &hub->links[index], CHANNEL_ENDED);
    }
    rank_lose(hub, rank, CHANNEL_ENDED); /* for one that was not added */
    hub->ranks[rank].why = CHANNEL_ENDED;
}

void channel_hub_dead(struct channel_hub *hub, uint32_t rank)
{
    if (!hub->ranks[rank].dead) {
        channel_hub_ended(hub, rank);
        rank_dead(hub, rank, NULL);
    }
}

void channel_hub_poll(struct channel_hub *hub, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(hub->events, events, EVENTS, timeout_ms);
    for (int round = 0; count > 0 && round < ROUNDS_MAX; round++) {
        for (int i = 0; i < count; i++) {
            struct hub_link *link = &hub->links[events[i].data.u32];
            if (events[i].events & ~(uint32_t)EPOLLOUT) {
                link_read(hub, link);
            }
            if (link->fd >= 0) {
                link_write(hub, link);
            }
        }
        count = epoll_wait(hub->events, events, EVENTS, 0);
    }
}

bool channel_hub_waits_for(const struct channel_hub *hub, uint32_t rank)
{
    assert(rank < hub->size);
    return hub->came > 0 && !hub->ranks[rank].came && !hub->ranks[rank].gone;
}

int channel_hub_descriptor(const struct channel_hub *hub) { return hub->events; }
