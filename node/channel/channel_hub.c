/* channel_hub.c - the launcher's end of the channels of a job; see channel.h.
 *
 * One gathering is under way at a time, since a rank hands in its next card when it has
 * had the answer to its last.  A rank that has gone and has not come to it makes it
 * fail, and all later ones, since it will not come to these either; who comes is told
 * so at once.
 *
 * A rank that does not read gets what waits for it here: its welcome, one answer, and
 * the deaths, each of which is kept once for all ranks.  One that hands in another card
 * before it can have read the answer to the last breaks the rules.
 */
#include "node/channel/channel_wire.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, ROUNDS_MAX = 64 };

/* A message to one rank or to many. */
struct hub_message {
    size_t users, size;
    unsigned char bytes[];
};

struct letter {
    struct letter *next;
    struct hub_message *message;
    bool answers; /* a card */
};

struct hub_peer {
    int fd; /* -1: none, or not any more */
    uint32_t rank;
    bool gone, dead;
    enum channel_why why; /* it has gone, */
    uint32_t went;        /* as which of all */
    bool writes;          /* its socket is asked for room, too */

    bool came; /* to the gathering under way, with this card: */
    unsigned char *card;
    struct channel_header header; /* of the message that comes */
    size_t header_got, card_got;
    uint32_t gatherings;

    struct letter *first, **last; /* what is to be sent, */
    size_t sent;                  /* and how much of the first has been */
    bool answering;               /* the answer to its last card is among that */
};

struct channel_hub {
    uint32_t size;
    int events;
    unsigned char key[CHANNEL_KEY_BYTES];
    struct hub_peer *peers;
    uint32_t came; /* to the gathering under way, */
    uint32_t lost; /* and such as have gone and had not come */
    uint32_t gone;
};

static void peer_cut(struct channel_hub *hub, struct hub_peer *peer,
                     enum channel_why why);

/* --- What goes out ---------------------------------------------------------------- */

static struct hub_message *hub_message_new(const struct channel_header *header)
{
    struct hub_message *message =
        malloc(sizeof(*message) + sizeof(*header) + (size_t)header->size);
    if (message) {
        message->users = 1;
        message->size = sizeof(*header) + (size_t)header->size;
        memcpy(message->bytes, header, sizeof(*header));
    }
    return message;
}

static void hub_message_leave(struct hub_message *message)
{
    if (message && --message->users == 0) {
        sodium_memzero(message->bytes, message->size); /* the key */
        free(message);
    }
}

static void letter_drop(struct hub_peer *peer)
{
    struct letter *letter = peer->first;
    peer->first = letter->next;
    peer->last = peer->first ? peer->last : &peer->first;
    peer->answering = peer->answering && !letter->answers;
    peer->sent = 0;
    hub_message_leave(letter->message);
    free(letter);
}

/* The socket is to say when there is room, too, or no longer. */
static void peer_watch(struct channel_hub *hub, struct hub_peer *peer)
{
    const bool writes = peer->first != NULL;
    struct epoll_event event = {.events = writes ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                .data.u32 = peer->rank};
    if (writes != peer->writes &&
        epoll_ctl(hub->events, EPOLL_CTL_MOD, peer->fd, &event) == 0) {
        peer->writes = writes;
    }
}

static bool letter_add(struct hub_peer *peer, struct hub_message *message, bool answers)
{
    struct letter *letter = message ? malloc(sizeof(*letter)) : NULL;
    if (!letter) {
        return false;
    }
    *letter = (struct letter){.message = message, .answers = answers};
    message->users++;
    peer->answering |= answers;
    *peer->last = letter;
    peer->last = &letter->next;
    return true;
}

static void peer_tell(struct channel_hub *hub, struct hub_peer *peer,
                      struct hub_message *message, bool answers)
{
    if (peer->fd < 0) {
        return;
    }
    if (letter_add(peer, message, answers)) {
        peer_watch(hub, peer);
    } else {
        peer_cut(hub, peer, CHANNEL_NO_MEMORY);
    }
}

static void peer_write(struct channel_hub *hub, struct hub_peer *peer)
{
    while (peer->first) {
        const struct hub_message *message = peer->first->message;
        const ssize_t put =
            send(peer->fd, message->bytes + peer->sent, message->size - peer->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put < 0) { /* of one that has closed its end reading tells */
            break;
        }
        peer->sent += (size_t)put;
        if (peer->sent == message->size) {
            letter_drop(peer);
        }
    }
    peer_watch(hub, peer);
}

/* --- Gatherings ------------------------------------------------------------------- */

static void card_drop(struct hub_peer *peer)
{
    free(peer->card);
    peer->card = NULL;
    peer->header_got = peer->card_got = 0;
}

/* The answer to a card that came. */
static void peer_answer(struct channel_hub *hub, struct hub_peer *peer,
                        struct hub_message *message)
{
    peer->came = false;
    hub->came--;
    hub->lost += peer->gone;
    card_drop(peer);
    peer_tell(hub, peer, message, true);
}

static void all_answer(struct channel_hub *hub, struct hub_message *message)
{
    for (uint32_t rank = 0; rank < hub->size; rank++) {
        if (hub->peers[rank].came) {
            peer_answer(hub, &hub->peers[rank], message);
        }
    }
    hub_message_leave(message);
}

static void gathering_fail(struct channel_hub *hub, uint32_t rank, enum channel_why why)
{
    struct channel_header header = channel_header_make(CHANNEL_FAILED, 0);
    header.rank = rank;
    header.why = (uint32_t)why;
    all_answer(hub, hub_message_new(&header));
}

/* All have come. */
static void gathering_end(struct channel_hub *hub)
{
    uint64_t cards = 0;
    const size_t lengths = hub->size * sizeof(uint32_t);
    for (uint32_t rank = 0; rank < hub->size; rank++) {
        cards += hub->peers[rank].header.size;
    }
    if (cards > CHANNEL_GATHERED_MAX) {
        gathering_fail(hub, 0, CHANNEL_TOO_MUCH);
        return;
    }
    struct channel_header header = channel_header_make(CHANNEL_CARDS, lengths + cards);
    header.count = hub->peers[0].header.count;
    struct hub_message *message = hub_message_new(&header);
    if (!message) {
        gathering_fail(hub, 0, CHANNEL_NO_MEMORY);
        return;
    }
    unsigned char *length_at = message->bytes + sizeof(header),
                  *at = length_at + lengths;
    for (uint32_t rank = 0; rank < hub->size; rank++) {
        const struct hub_peer *peer = &hub->peers[rank];
        const uint32_t length = (uint32_t)peer->header.size;
        memcpy(length_at + rank * sizeof(length), &length, sizeof(length));
        if (length > 0) {
            memcpy(at, peer->card, length);
        }
        at += length;
    }
    all_answer(hub, message);
}

/* The first that went of those that have gone and will not come: the others may have
 * gone because of it.  NULL: all may come. */
static const struct hub_peer *missing_find(const struct channel_hub *hub)
{
    const struct hub_peer *first = NULL;
    for (uint32_t rank = 0; hub->lost > 0 && rank < hub->size; rank++) {
        const struct hub_peer *peer = &hub->peers[rank];
        if (peer->gone && !peer->came && (!first || peer->went < first->went)) {
            first = peer;
        }
    }
    return first;
}

/* Ends the gathering under way if there is nothing left to wait for, either way. */
static void gathering_look(struct channel_hub *hub)
{
    const struct hub_peer *missing = hub->came > 0 ? missing_find(hub) : NULL;
    if (hub->came == hub->size) {
        gathering_end(hub);
    } else if (missing) {
        gathering_fail(hub, missing->rank, missing->why);
    }
}

/* --- What comes in ---------------------------------------------------------------- */

static bool header_take(struct hub_peer *peer)
{
    const struct channel_header *header = &peer->header;
    const bool sound =
        header->magic == CHANNEL_MAGIC && header->version == CHANNEL_VERSION &&
        header->kind == CHANNEL_HAND_IN && header->size <= CHANNEL_CARD_MAX &&
        header->count == peer->gatherings && !peer->answering;
    if (sound && header->size > 0) {
        peer->card = malloc((size_t)header->size);
    }
    return sound && (header->size == 0 || peer->card);
}

/* Reads what there is.  Of a rank that has come nothing is to come but its end. */
static void peer_read(struct channel_hub *hub, struct hub_peer *peer)
{
    while (peer->fd >= 0) {
        const bool heads = peer->header_got < sizeof(peer->header);
        unsigned char extra, *to = &extra;
        size_t want = 1;
        if (!peer->came) {
            to = heads ? (unsigned char *)&peer->header + peer->header_got
                       : peer->card + peer->card_got;
            want = heads ? sizeof(peer->header) - peer->header_got
                         : (size_t)peer->header.size - peer->card_got;
        }
        const ssize_t got = recv(peer->fd, to, want, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (got <= 0) {
            peer_cut(hub, peer, CHANNEL_CLOSED);
            return;
        }
        *(heads ? &peer->header_got : &peer->card_got) += (size_t)got;
        const bool whole = peer->header_got == sizeof(peer->header);
        if (peer->came || (heads && whole && !header_take(peer))) {
            peer_cut(hub, peer, CHANNEL_BROKE);
            return;
        }
        if (whole && peer->card_got == peer->header.size) {
            peer->came = true;
            peer->gatherings++;
            hub->came++;
            gathering_look(hub);
        }
    }
}

/* The rank has gone, whether dead or not. */
static void peer_cut(struct channel_hub *hub, struct hub_peer *peer,
                     enum channel_why why)
{
    if (peer->gone) {
        return;
    }
    peer->gone = true;
    peer->why = why;
    peer->went = hub->gone++;
    if (peer->fd >= 0) {
        close(peer->fd);
        peer->fd = -1;
    }
    while (peer->first) {
        letter_drop(peer);
    }
    if (!peer->came) {
        card_drop(peer);
        hub->lost++;
        gathering_look(hub);
    }
}

/* --- The hub ---------------------------------------------------------------------- */

struct channel_hub *channel_hub_new(uint32_t size)
{
    if (size == 0 || size > CHANNEL_RANKS_MAX || sodium_init() < 0) {
        return NULL;
    }
    struct channel_hub *hub = calloc(1, sizeof(*hub));
    struct hub_peer *peers = calloc(size, sizeof(*peers));
    const int events = epoll_create1(EPOLL_CLOEXEC);
    if (!hub || !peers || events < 0) {
        free(hub);
        free(peers);
        if (events >= 0) {
            close(events);
        }
        return NULL;
    }
    *hub = (struct channel_hub){.size = size, .events = events, .peers = peers};
    randombytes_buf(hub->key, sizeof(hub->key));
    for (uint32_t rank = 0; rank < size; rank++) {
        peers[rank] =
            (struct hub_peer){.fd = -1, .rank = rank, .last = &peers[rank].first};
    }
    return hub;
}

void channel_hub_free(struct channel_hub *hub)
{
    if (!hub) {
        return;
    }
    for (uint32_t rank = 0; rank < hub->size; rank++) {
        struct hub_peer *peer = &hub->peers[rank];
        while (peer->first) {
            letter_drop(peer);
        }
        free(peer->card);
        if (peer->fd >= 0) {
            close(peer->fd);
        }
    }
    close(hub->events);
    sodium_memzero(hub->key, sizeof(hub->key));
    free(hub->peers);
    free(hub);
}

bool channel_hub_add(struct channel_hub *hub, uint32_t rank, int fd, const char *host)
{
    struct hub_peer *peer = &hub->peers[rank];
    const size_t host_bytes = strnlen(host, CHANNEL_HOST_MAX);
    struct channel_header header =
        channel_header_make(CHANNEL_WELCOME, CHANNEL_KEY_BYTES + host_bytes);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.u32 = rank};
    header.rank = rank;
    header.count = hub->size;
    struct hub_message *welcome = hub_message_new(&header);
    if (welcome) {
        unsigned char *at = welcome->bytes + sizeof(header);
        memcpy(at, hub->key, sizeof(hub->key));
        memcpy(at + sizeof(hub->key), host, host_bytes);
    }
    bool added = letter_add(peer, welcome, false);
    if (added && epoll_ctl(hub->events, EPOLL_CTL_ADD, fd, &event) != 0) {
        letter_drop(peer);
        added = false;
    }
    if (added) {
        peer->fd = fd;
        peer->writes = true;
    }
    hub_message_leave(welcome);
    return added;
}

void channel_hub_dead(struct channel_hub *hub, uint32_t rank)
{
    struct hub_peer *peer = &hub->peers[rank];
    if (peer->dead) {
        return;
    }
    peer->dead = true;
    peer_read(hub, peer); /* its last words */
    if (!peer->gone) {
        peer_cut(hub, peer, CHANNEL_ENDED);
    }
    peer->why = CHANNEL_ENDED;
    struct channel_header header = channel_header_make(CHANNEL_DEATH, 0);
    header.rank = rank;
    struct hub_message *message = hub_message_new(&header);
    for (uint32_t other = 0; other < hub->size; other++) {
        peer_tell(hub, &hub->peers[other], message, false);
    }
    hub_message_leave(message);
}

void channel_hub_poll(struct channel_hub *hub, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(hub->events, events, EVENTS, timeout_ms);
    for (int round = 0; count > 0 && round < ROUNDS_MAX; round++) {
        for (int i = 0; i < count; i++) {
            struct hub_peer *peer = &hub->peers[events[i].data.u32];
            if (events[i].events & ~(uint32_t)EPOLLOUT) {
                peer_read(hub, peer);
            }
            if (peer->fd >= 0) {
                peer_write(hub, peer);
            }
        }
        count = epoll_wait(hub->events, events, EVENTS, 0);
    }
}

int channel_hub_descriptor(const struct channel_hub *hub) { return hub->events; }
