/* hub_make.c - a hub, and the links that are added to it; see channel.h. */
#include "node/channel/hub_private.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static bool branch_is_sound(const struct channel_branch *branch)
{
    return branch->count > 0 && branch->size <= CHANNEL_RANKS_MAX &&
           branch->first <= branch->size &&
           branch->count <= branch->size - branch->first &&
           branch->room >= branch->size &&
           branch->room - branch->size <= LIMIT_NEWCOMERS;
}

static struct channel_hub *hub_make(const struct channel_branch *branch)
{
    if (!branch_is_sound(branch) || sodium_init() < 0) {
        return NULL;
    }
    const size_t later = branch->room - branch->size;
    struct channel_hub *hub = calloc(1, sizeof(*hub));
    if (!hub) {
        return NULL;
    }
    *hub = (struct channel_hub){
        .size = branch->size,
        .room = branch->room,
        .first = branch->first,
        .count = branch->count,
        .events = epoll_create1(EPOLL_CLOEXEC),
        .ranks = calloc(branch->room, sizeof(*hub->ranks)),
        .links = calloc((size_t)branch->count + 1 + later, sizeof(*hub->links))};
    if (!newcomers_make(hub) || !hub->ranks || !hub->links || hub->events < 0) {
        channel_hub_free(hub);
        return NULL;
    }
    for (uint32_t rank = 0; rank < hub->room; rank++) {
        hub->ranks[rank].link = HUB_NO_LINK;
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

struct channel_hub *channel_hub_new(uint32_t size, uint32_t room)
{
    const struct channel_branch all = {.size = size, .room = room, .count = size};
    struct channel_hub *hub = hub_make(&all);
    if (hub) {
        randombytes_buf(hub->key, sizeof(hub->key));
    }
    return hub;
}

const unsigned char *channel_hub_key(const struct channel_hub *hub) { return hub->key; }

struct channel_hub *channel_hub_new_branch(const struct channel_branch *branch,
                                           const unsigned char *key, int trunk)
{
    struct channel_hub *hub = hub_make(branch);
    if (!hub) {
        return NULL;
    }
    memcpy(hub->key, key, sizeof(hub->key));
    hub->trunk = link_add(hub, LINK_TRUNK, branch->first, 0, trunk);
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
    for (uint32_t i = 0; hub->links && i < hub->link_count; i++) {
        struct hub_link *link = &hub->links[i];
        while (link->first_letter) {
            letter_drop(link);
        }
        free(link->body);
        free(link->held);
        if (link->fd >= 0) {
            close(link->fd);
        }
    }
    newcomers_free(hub);
    if (hub->events >= 0) {
        close(hub->events);
    }
    sodium_memzero(hub->key, sizeof(hub->key));
    free(hub->ranks);
    free(hub->links);
    free(hub);
}

/* The first message to a rank; NULL without memory. */
static struct hub_message *welcome_make(const struct channel_hub *hub, uint32_t rank,
                                        const char *host, const char *name)
{
    const size_t host_bytes = strnlen(host, CHANNEL_HOST_MAX);
    const size_t name_bytes = strnlen(name, CHANNEL_HOST_MAX);
    struct channel_welcome says = {0};
    struct channel_header header = channel_header_make(
        CHANNEL_WELCOME, sizeof(says) + host_bytes + 1 + name_bytes);
    header.rank = rank;
    header.count = hub->size;
    struct hub_message *welcome = hub_message_new(&header);
    if (!welcome) {
        return NULL;
    }
    hub_process(hub, rank, &says);
    memcpy(says.key, hub->key, sizeof(hub->key));
    unsigned char *at = welcome->bytes + sizeof(header);
    memcpy(at, &says, sizeof(says));
    sodium_memzero(&says, sizeof(says));
    at += sizeof(says);
    memcpy(at, host, host_bytes);
    at[host_bytes] = '\0';
    memcpy(at + host_bytes + 1, name, name_bytes);
    return welcome;
}

/* A newcomer is told of all who are dead already. */
static void deaths_tell(struct channel_hub *hub, struct hub_link *link)
{
    for (uint32_t rank = 0; rank < hub->room; rank++) {
        if (hub->ranks[rank].dead && rank != link->first) {
            struct hub_message *message =
                hub_word_make(CHANNEL_DEATH, rank, CHANNEL_ENDED);
            hub_link_tell(hub, link, message, false);
            hub_message_leave(message);
        }
    }
}

bool channel_hub_add(struct channel_hub *hub, uint32_t rank, int fd, const char *host,
                     const char *name)
{
    assert(rank < hub->room);
    struct hub_message *welcome = welcome_make(hub, rank, host, name);
    struct hub_link *link = welcome ? link_add(hub, LINK_RANK, rank, 1, fd) : NULL;
    const bool added = link && letter_add(link, welcome, false);
    if (link && !added) {
        (void)epoll_ctl(hub->events, EPOLL_CTL_DEL, fd, NULL);
        hub->ranks[rank].link = HUB_NO_LINK;
        hub->link_count--;
    }
    hub_message_leave(welcome);
    if (added && rank >= hub->size) {
        deaths_tell(hub, link);
    }
    return added;
}

bool channel_hub_add_branch(struct channel_hub *hub, uint32_t first, uint32_t count,
                            int fd)
{
    return link_add(hub, LINK_BRANCH, first, count, fd) != NULL;
}
