/* newcomers.c - ranks that come later (carrier.h).
 *
 * The launcher tells each rank of a newcomer, and hears that it knows, before the
 * newcomer has any address to send to.  So nothing that comes by the wire is ever from
 * one of whom this process has not been told; whether this carrier has looked is a
 * matter of one number.
 *
 * A newcomer has no rings and no board: memory of a host is shared by those who have
 * opened the moot together.  It goes by the wire, wherever it is.
 */
#include "node/transport/carrier/carrier_private.h"

#include <stdlib.h>
#include <string.h>

struct newcomer {
    struct newcomer *next;
    uint32_t rank;
    struct card_head head;
};

/* One that does not fit the job has refused itself, by the cards of the others. */
static struct newcomer *newcomer_read(struct carrier *c, uint32_t rank,
                                      const struct channel_card *card)
{
    char story[256];
    const struct joining o = {c, NULL, story, sizeof(story)};
    struct newcomer *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        exchange_fail(&c->exchange, MOOT_ERR_NO_MEMORY, "out of memory for a newcomer");
        return NULL;
    }
    made->rank = rank;
    if (card_read(&o, rank, card, &made->head) != MOOT_OK) {
        free(made);
        return NULL;
    }
    return made;
}

void newcomers_take(struct carrier *c)
{
    const uint64_t all = channel_newcomers(c->channel);
    uint32_t rank;
    struct channel_card card;
    if (all == c->newcomers_seen) {
        return;
    }
    c->newcomers_seen = all;
    while (channel_next_newcomer(c->channel, c->opening, &c->newcomers_told, &rank,
                                 &card)) {
        if (rank >= c->exchange.size || c->exchange.peers[rank].uid != 0) {
            continue; /* this rank itself, or one whose card came with the others */
        }
        struct newcomer *made = newcomer_read(c, rank, &card);
        if (made == NULL) {
            continue;
        }
        c->cards[rank] = (struct channel_card){(const unsigned char *)card.bytes +
                                                   sizeof(made->head),
                                               (size_t)made->head.address_size};
        exchange_add(&c->exchange, rank, made->head.hello.uid);
        struct newcomer **last = &c->newcomers;
        while (*last != NULL) {
            last = &(*last)->next;
        }
        *last = made;
    }
}

void newcomers_release(struct carrier *c)
{
    while (c->newcomers != NULL) {
        struct newcomer *next = c->newcomers->next;
        free(c->newcomers);
        c->newcomers = next;
    }
}

/* The newcomer shares a host with the first whose process numbers can be compared with
 * its own.
 */
static void find_host(struct transport_group *group, uint32_t rank)
{
    const uint64_t space = group->processes[rank].space;
    uint32_t other = 0;
    while (other < group->size && (other == rank || group->uids[other] == 0 ||
                                   group->processes[other].space != space)) {
        other++;
    }
    const bool found = space != 0 && other < group->size;
    group->hosts[rank] = found ? group->hosts[other] : rank;
    if (found) {
        group->places[rank] = group->places[other];
        return;
    }
    group->places[rank] = 0;
    for (other = 0; other < group->size; other++) {
        if (other != rank && group->places[other] != UINT32_MAX &&
            group->places[other] >= group->places[rank]) {
            group->places[rank] = group->places[other] + 1;
        }
    }
}

uint32_t carrier_next_newcomer(struct transport *base, struct transport_group *group)
{
    struct carrier *c = (struct carrier *)base;
    newcomers_take(c);
    struct newcomer *next = c->newcomers;
    if (next == NULL) {
        return UINT32_MAX;
    }
    c->newcomers = next->next;
    const uint32_t rank = next->rank;
    hello_take_one(group, rank, &next->head.hello);
    group->origins[rank] = next->head.origin;
    find_host(group, rank);
    free(next);
    return rank;
}

int carrier_grow(struct transport *base, uint32_t count, uint32_t *first, char *story,
                 size_t story_size)
{
    const struct carrier *c = (const struct carrier *)base;
    return channel_grow(c->channel, count, first, story, story_size);
}
