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
 *
 * Ranks that are started later stand in hub_newcomers.c.
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

static void link_cut(struct channel_hub *hub, struct hub_link *link,
                     enum channel_why why);

/* --- What goes out ---------------------------------------------------------------- */

void hub_link_tell(struct channel_hub *hub, struct hub_link *link,
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

struct hub_message *hub_word_make(enum channel_kind kind, uint32_t rank,
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
    struct hub_message *message = hub_word_make(CHANNEL_DEATH, rank, CHANNEL_ENDED);
    for (uint32_t i = 0; i < hub->link_count; i++) {
        if (&hub->links[i] != from) {
            hub_link_tell(hub, &hub->links[i], message, false);
        }
    }
    hub_message_leave(message);
}

static void gone_tell(struct channel_hub *hub, uint32_t rank)
{
    struct hub_message *message =
        hub_word_make(CHANNEL_GONE, rank, hub->ranks[rank].why);
    hub_link_tell(hub, hub->trunk, message, false);
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
    free(link->held);
    link->held = NULL;
    hub_link_tell(hub, link, message, true);
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
    struct hub_message *message = hub_word_make(CHANNEL_FAILED, rank, why);
    for (uint32_t i = 0; is_for_good((uint32_t)why) && i < hub->link_count; i++) {
        struct hub_link *link = &hub->links[i];
        if (link->kind == LINK_BRANCH && !link->came && !link->told) {
            hub_link_tell(hub, link, message, false);
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

/* Whether the gathering to which all have come is an opening: for all of them. */
static bool all_open(const struct channel_hub *hub)
{
    bool opens = true;
    for (uint32_t i = 0; opens && i < hub->link_count; i++) {
        opens = hub->links[i].opens || !hub->links[i].came;
    }
    return opens;
}

/* Hands in for all ranks of a branch; without memory nobody waits for this host. */
static void branch_hand_in(struct channel_hub *hub, struct hub_message *message)
{
    hub_link_tell(hub, hub->trunk, message, false);
    hub_message_leave(message);
    for (uint32_t rank = hub->first; rank < hub->first + hub->count; rank++) {
        if (hub->ranks[rank].gone) {
            gone_tell(hub, rank);
        }
    }
}

/* All own ranks have come. */
static void gathering_end(struct channel_hub *hub)
{
    const bool opens = all_open(hub);
    uint64_t cards = 0;
    for (uint32_t i = 0; i < hub->count; i++) {
        cards += hub->ranks[hub->first + i].card_size;
    }
    hub->gatherings++;
    if (hub->trunk) {
        branch_hand_in(hub,
                       cards_pack(hub, opens ? CHANNEL_OPEN : CHANNEL_HAND_IN, cards));
        return;
    }
    const bool fits = cards <= CHANNEL_GATHERED_MAX;
    struct hub_message *message = fits ? cards_pack(hub, CHANNEL_CARDS, cards) : NULL;
    const enum channel_why why = message ? 0
                                 : fits  ? CHANNEL_NO_MEMORY
                                         : CHANNEL_TOO_MUCH;
    if (opens) {
        opening_keep(hub, message, why);
    }
    if (message) {
        all_answer(hub, message);
    } else {
        gathering_fail(hub, 0, why);
    }
}

/* The others may have gone because of the first that went. */
uint32_t hub_missing(const struct channel_hub *hub)
{
    const struct hub_rank *first = NULL;
    assert(hub->lost > 0);
    for (uint32_t i = 0; i < hub->count; i++) {
        const struct hub_rank *rank = &hub->ranks[hub->first + i];
        if (rank->gone && !rank->came && (!first || rank->went < first->went)) {
            first = rank;
        }
    }
    assert(first);
    return (uint32_t)(first - hub->ranks);
}

/* Ends the gathering under way if there is nothing left to wait for, either way. */
static void gathering_look(struct channel_hub *hub)
{
    if (hub->failed) {
        gathering_fail(hub, hub->failure.rank, (enum channel_why)hub->failure.why);
        return;
    }
    if (hub->came == hub->count) {
        gathering_end(hub);
    } else if (!hub->trunk && hub->came > 0 && hub->lost > 0) {
        const uint32_t missing = hub_missing(hub);
        gathering_fail(hub, missing, hub->ranks[missing].why);
    }
    newcomers_look(hub);
}

/* --- Ranks that go ---------------------------------------------------------------- */

/* A founder comes to no gathering any more. */
static void founder_lose(struct channel_hub *hub, uint32_t rank)
{
    const struct hub_rank *of = &hub->ranks[rank];
    hub->lost += !of->came;
    const bool held_back = of->came && hub->came < hub->count;
    if (hub->trunk && !held_back) {
        gone_tell(hub, rank);
    }
    if (!of->came) {
        gathering_look(hub);
    }
}

void hub_rank_lose(struct channel_hub *hub, uint32_t rank, enum channel_why why)
{
    struct hub_rank *of = &hub->ranks[rank];
    if (of->gone) {
        return;
    }
    of->gone = true;
    of->why = why;
    of->went = hub->gone++;
    if (of->wish > 0 && !of->wish_taken) {
        of->wish = 0;
        hub->wishes--;
    }
    if (rank < hub->size) {
        founder_lose(hub, rank);
    } else {
        newcomer_lose(hub, rank);
        if (hub->trunk) {
            gone_tell(hub, rank);
        }
    }
    newcomers_look(hub);
}

bool hub_link_has(const struct channel_hub *hub, const struct hub_link *link,
                  uint32_t rank)
{
    return rank < hub->room && hub->ranks[rank].link == link->index;
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
    body_drop(link);
    for (uint32_t rank = 0; rank < hub->room; rank++) {
        if (hub_link_has(hub, link, rank)) {
            hub_rank_lose(hub, rank, why);
        }
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
    const bool known = header->rank < hub->room && header->size == 0;
    const bool of_branch =
        link->kind == LINK_BRANCH && hub_link_has(hub, link, header->rank);
    const uint32_t speaker = link->kind == LINK_RANK ? link->first : header->rank;
    if (header->magic != CHANNEL_MAGIC || header->version != CHANNEL_VERSION) {
        return false;
    }
    switch (header->kind) {
    case CHANNEL_OPEN:
        if (speaker >= hub->size) {
            return newcomer_word_is_sound(hub, link);
        }
        return link->kind != LINK_TRUNK && hand_in_is_sound(link);
    case CHANNEL_HAND_IN:
        return link->kind != LINK_TRUNK && speaker < hub->size &&
               hand_in_is_sound(link);
    case CHANNEL_GONE:
        return known && of_branch;
    case CHANNEL_DEATH:
        return known && (link->kind == LINK_TRUNK || of_branch);
    case CHANNEL_CARDS:
        return link->kind == LINK_TRUNK && header->size >= lengths &&
               header->size <= lengths + CHANNEL_GATHERED_MAX;
    case CHANNEL_FAILED:
        return header->to == 0 ? link->kind == LINK_TRUNK && known
                               : newcomer_word_is_sound(hub, link);
    default:
        return newcomer_word_is_sound(hub, link);
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
    link->opens = link->header.kind == CHANNEL_OPEN;
    link->held = link->body;
    link->body = NULL;
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
    const uint32_t speaker = link->kind == LINK_RANK ? link->first : link->header.rank;
    switch (link->header.kind) {
    case CHANNEL_HAND_IN:
        return hand_in_take(hub, link);
    case CHANNEL_OPEN:
        if (speaker < hub->size) {
            return hand_in_take(hub, link);
        }
        newcomer_word_take(hub, link);
        break;
    case CHANNEL_GONE:
        hub_rank_lose(hub, link->header.rank, (enum channel_why)link->header.why);
        break;
    case CHANNEL_DEATH:
        hub->ranks[link->header.rank].why = CHANNEL_ENDED;
        rank_dead(hub, link->header.rank, link);
        break;
    case CHANNEL_CARDS:
        answer_take(hub, link);
        break;
    case CHANNEL_FAILED:
        if (link->header.to == 0) {
            answer_take(hub, link);
        } else {
            newcomer_word_take(hub, link);
        }
        break;
    default:
        newcomer_word_take(hub, link);
        break;
    }
    body_drop(link);
    return true;
}

/* A header has come: room for its bytes. */
static bool header_take(struct channel_hub *hub, struct hub_link *link)
{
    if (!header_is_sound(hub, link)) {
        return false;
    }
    link->got = 0;
    if (link->header.kind == CHANNEL_HAND_IN || link->header.kind == CHANNEL_OPEN ||
        link->header.size > 0) {
        link->body = malloc((size_t)link->header.size + 1);
        return link->body != NULL;
    }
    return true;
}

/* Reads what there is. */
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
        bool sound = true;
        if (heads && *done == want) {
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

/* --- For the launcher ------------------------------------------------------------- */

void channel_hub_ended(struct channel_hub *hub, uint32_t rank)
{
    const uint32_t index = hub->ranks[rank].link;
    if (index != HUB_NO_LINK && hub->links[index].kind == LINK_RANK) {
        link_read(hub, &hub->links[index]); /* its last words */
        link_cut(hub, &hub->links[index], CHANNEL_ENDED);
    }
    hub_rank_lose(hub, rank, CHANNEL_ENDED); /* for one that was not added */
    hub->ranks[rank].why = CHANNEL_ENDED;
}

void channel_hub_dead(struct channel_hub *hub, uint32_t rank)
{
    const uint32_t index = hub->ranks[rank].link;
    if (hub->ranks[rank].dead) {
        return;
    }
    if (index != HUB_NO_LINK && hub->links[index].kind == LINK_RANK) {
        link_read(hub, &hub->links[index]); /* its last words */
    }
    rank_dead(hub, rank, NULL); /* before a newcomer is answered that waited for it */
    channel_hub_ended(hub, rank);
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

bool channel_hub_has_gone(const struct channel_hub *hub, uint32_t rank)
{
    assert(rank < hub->room);
    return hub->ranks[rank].gone;
}

bool channel_hub_waits_for(const struct channel_hub *hub, uint32_t rank)
{
    assert(rank < hub->room);
    const struct hub_rank *of = &hub->ranks[rank];
    const struct hub_link *link =
        of->link != HUB_NO_LINK ? &hub->links[of->link] : NULL;
    const bool knows = !link || link->news_known == link->news;
    return !of->gone && ((hub->came > 0 && rank < hub->size && !of->came) || !knows);
}

int channel_hub_descriptor(const struct channel_hub *hub) { return hub->events; }
