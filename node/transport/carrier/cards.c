/* cards.c - how ranks meet by the launcher's channel: the cards that they swap, what
 * is made of them, and the memory that those of a host share (carrier.h).
 *
 * Whatever one rank could not do, or refuses, nobody does: each says so on its card, or
 * all find the same in the same cards.
 */
#include "node/transport/carrier/carrier_private.h"
#include "node/transport/carrier/route_text.h"
#include "node/transport/hello.h"
#include "node/transport/tables.h"
#include "proto/wire.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECONDS(n) ((n)*UINT64_C(1000000))

static int refuse(const struct joining *o, int code, const char *why)
{
    snprintf(o->story, o->story_size, "%s", why);
    return code;
}

/* All hand in what they have to say; what one could not do nobody does. */
static int swap_cards(const struct joining *o, int code, const struct card_head *head,
                      const void *const parts[CARD_PARTS])
{
    struct carrier *c = o->c;
    const uint64_t sizes[CARD_PARTS] = {head->address_size, head->blob_size,
                                        head->host_size, head->name_size,
                                        head->route_size};
    uint64_t all = 0;
    for (int i = 0; i < CARD_PARTS; i++) {
        all += sizes[i];
    }
    unsigned char *mine = malloc(sizeof(*head) + (size_t)all + o->story_size);
    struct card_head first = *head;
    size_t size = sizeof(first);
    if (code != MOOT_OK && o->group->rank >= o->group->founders) {
        free(mine);
        return code; /* nobody waits for it */
    }
    if (mine == NULL) {
        return refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
    }
    if (code != MOOT_OK) {
        first.failed = (uint64_t)-code;
        memcpy(mine + size, o->story, strlen(o->story) + 1);
        size += strlen(o->story) + 1;
    } else {
        for (int i = 0; i < CARD_PARTS; i++) {
            if (sizes[i] > 0 && parts[i] != NULL) {
                memcpy(mine + size, parts[i], (size_t)sizes[i]);
            }
            size += (size_t)sizes[i];
        }
    }
    memcpy(mine, &first, sizeof(first));
    const int gathered = channel_open(c->channel, mine, size, &c->cards, &c->opening,
                                      code == MOOT_OK ? o->story : (char[1]){0},
                                      code == MOOT_OK ? o->story_size : 1);
    free(mine);
    return code != MOOT_OK ? code : gathered;
}

int card_read(const struct joining *o, uint32_t rank, const struct channel_card *card,
              struct card_head *head)
{
    if (card->size < sizeof(*head)) {
        return refuse(o, MOOT_ERR_PROTOCOL, "a rank's card is too short");
    }
    memcpy(head, card->bytes, sizeof(*head));
    const size_t rest = card->size - sizeof(*head);
    if (head->wire_version != WIRE_VERSION) {
        snprintf(o->story, o->story_size,
                 "rank %u speaks version %d of the wire, not %d", rank,
                 (int)head->wire_version, WIRE_VERSION);
        return MOOT_ERR_PROTOCOL;
    }
    if (head->failed != 0) {
        const char *theirs = (const char *)card->bytes + sizeof(*head);
        snprintf(o->story, o->story_size, "rank %u: %.*s", rank, (int)rest, theirs);
        return head->failed <= INT32_MAX ? -(int)head->failed : MOOT_ERR_PROTOCOL;
    }
    const uint64_t sizes[CARD_PARTS] = {head->address_size, head->blob_size,
                                        head->host_size, head->name_size,
                                        head->route_size};
    uint64_t left = rest;
    bool fits = true;
    for (int i = 0; i < CARD_PARTS; i++) {
        fits = fits && sizes[i] <= left;
        left -= fits ? sizes[i] : 0;
    }
    if (!fits || left > 0 || head->hello.uid == 0) {
        return refuse(o, MOOT_ERR_PROTOCOL, "a rank's card is not what it says");
    }
    if (head->flags != o->c->card_flags || head->frame_max != o->c->table->frame_max) {
        snprintf(
            o->story, o->story_size,
            "rank %u has another version of the transport '%s', or another MOOT_SEAL",
            rank, o->c->table->name);
        return MOOT_ERR_CONFIG;
    }
    return MOOT_OK;
}

/* Those whose process numbers can be compared share a host; the lowest rank names it.
 */
static void find_hosts(struct hello *all, uint32_t size)
{
    for (uint32_t rank = 0; rank < size; rank++) {
        all[rank].host = rank;
        for (uint32_t lower = 0; lower < rank && all[rank].uid != 0; lower++) {
            if (all[rank].process.space != 0 &&
                all[lower].process.space == all[rank].process.space) {
                all[rank].host = all[lower].host;
                break;
            }
        }
    }
}

/* Lines of text in the cards that came. */
struct texts {
    /* By rank, of its host: the address, and the name for people; "": none is known. */
    const char **hosts, **names;
    const char *route;
};

const char *card_text(const unsigned char *bytes, uint64_t size)
{
    return size > 0 && bytes[size - 1] == '\0' ? (const char *)bytes : NULL;
}

static int take_texts(const struct joining *o, uint32_t rank,
                      const struct card_head *head, const unsigned char *rest,
                      struct texts *texts)
{
    const unsigned char *host = rest + head->address_size + head->blob_size;
    const unsigned char *name = host + head->host_size;
    texts->hosts[rank] = card_text(host, head->host_size);
    texts->names[rank] = card_text(name, head->name_size);
    if (rank == 0) {
        texts->route = card_text(name + head->name_size, head->route_size);
    }
    return texts->hosts[rank] != NULL && texts->names[rank] != NULL &&
                   texts->route != NULL
               ? MOOT_OK
               : refuse(o, MOOT_ERR_PROTOCOL, "a rank's card is not what it says");
}

/* The hosts that routes and fault plans know: those of one name and address, or without
 * one of one memory. */
struct placed_hosts {
    uint32_t count;
    uint32_t *of_rank, *some_rank;
    const char **names, **addresses;
};

static void number_hosts(const struct transport_group *group, const struct texts *texts,
                         struct placed_hosts *out)
{
    for (uint32_t rank = 0; rank < group->size; rank++) {
        const char *address = texts->hosts[rank], *name = texts->names[rank];
        uint32_t host = out->count;
        out->of_rank[rank] = UINT32_MAX;
        while (address != NULL && host-- > 0) {
            const uint32_t other = out->some_rank[host];
            const bool known = *address != '\0' || *out->addresses[host] != '\0';
            if (known ? strcmp(out->addresses[host], address) == 0 &&
                            strcmp(texts->names[other], name) == 0
                      : group->hosts[other] == group->hosts[rank]) {
                break;
            }
        }
        if (address == NULL) {
            continue; /* it has yet to come */
        }
        if (host == UINT32_MAX) {
            host = out->count++;
            out->addresses[host] = address;
            out->names[host] = *name != '\0' ? name : address;
            out->some_rank[host] = rank;
        }
        out->of_rank[rank] = host;
    }
}

/* Which ranks are on which host, and the route between these. */
static int take_places(const struct joining *o, const struct texts *texts)
{
    struct transport_group *group = o->group;
    const uint32_t size = group->size;
    uint32_t *some_rank = calloc(size, sizeof(*some_rank));
    const char **words = calloc(2 * (size_t)size, sizeof(*words));
    int code = MOOT_ERR_NO_MEMORY;
    group->places = calloc(size, sizeof(*group->places));
    if (group->places != NULL && some_rank != NULL && words != NULL) {
        struct placed_hosts hosts = {0, group->places, some_rank, words, words + size};
        number_hosts(group, texts, &hosts);
        code =
            hops_open(o->c, texts->route, hosts.of_rank, hosts.names, hosts.addresses,
                      hosts.count, size, o->group->rank, o->story, o->story_size);
        if (code == MOOT_OK && o->c->hops != NULL && size > o->group->founders) {
            code = refuse(o, MOOT_ERR_CONFIG,
                          "MOOT_ROUTE other than mesh is for jobs that do not grow: "
                          "start it without --max");
        }
    } else {
        (void)refuse(o, code, "out of memory for MOOT_ROUTE");
    }
    free(some_rank);
    free(words);
    return code;
}

/* All founders have; of the others those who came before this rank. */
static bool has_come(const struct joining *o, uint32_t rank)
{
    return rank < o->group->founders || o->c->cards[rank].size > 0;
}

static int take_cards(const struct joining *o, struct texts *texts)
{
    struct transport_group *group = o->group;
    struct hello *all = calloc(group->size, sizeof(*all));
    group->origins = calloc(group->size, sizeof(*group->origins));
    int code = all != NULL && group->origins != NULL
                   ? MOOT_OK
                   : refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
    for (uint32_t rank = 0; code == MOOT_OK && rank < group->size; rank++) {
        struct card_head head;
        struct channel_card *card = &o->c->cards[rank];
        if (!has_come(o, rank)) {
            continue;
        }
        code = card_read(o, rank, card, &head);
        if (code != MOOT_OK) {
            break;
        }
        all[rank] = head.hello;
        group->origins[rank] = head.origin;
        const unsigned char *rest = (const unsigned char *)card->bytes + sizeof(head);
        *card = (struct channel_card){rest, (size_t)head.address_size};
        code = take_texts(o, rank, &head, rest, texts);
        if (rank == 0) {
            group->blob_size = (size_t)head.blob_size;
            group->blob = malloc(group->blob_size > 0 ? group->blob_size : 1);
            if (group->blob == NULL) {
                code = refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
            } else {
                memcpy(group->blob, rest + head.address_size, group->blob_size);
            }
        }
    }
    if (code == MOOT_OK) {
        find_hosts(all, group->size);
        hello_take(group, all);
    }
    free(all);
    return code;
}

/* Whether all ranks have it; all learn that. */
static int all_have(const void *context, bool *have)
{
    const struct joining *o = context;
    struct channel_card *all = NULL;
    const char mine = (char)*have;
    const int code = channel_gather(o->c->channel, &mine, sizeof(mine), &all, o->story,
                                    o->story_size);
    for (uint32_t rank = 0; code == MOOT_OK && rank < o->group->founders; rank++) {
        *have = *have && all[rank].size == 1 && *(const char *)all[rank].bytes != 0;
    }
    free(all);
    return code;
}

/* Memory of this host: rings and boards. */
static int open_memory(const struct joining *o)
{
    struct carrier *self = o->c;
    const int code =
        host_share(&self->exchange.rings, &self->boards, o->group, all_have, o);
    return code;
}

static void release_packet(void *context, void *frame) { bundle_give(context, frame); }

static bool make_parts(struct carrier *c, const struct transport_group *group)
{
    const size_t frame_max = c->table->frame_max < MOOT_TRANSPORT_FRAME_MAX
                                 ? c->table->frame_max
                                 : MOOT_TRANSPORT_FRAME_MAX;
    c->payload_max = frame_max - SEAL_BYTES - c->way_bytes - sizeof(struct link_head) -
                     sizeof(struct piece_head);
    c->linked = !c->reliable || c->hops != NULL;
    c->scratch = malloc(c->table->frame_max);
    c->opened = malloc(c->table->frame_max);
    c->peers = calloc(group->size, sizeof(*c->peers));
    c->link_options = (struct link_options){.rto_initial_ns = MILLISECONDS(50),
                                            .rto_min_ns = MILLISECONDS(10),
                                            .rto_max_ns = MILLISECONDS(1000),
                                            .ack_delay_ns = MILLISECONDS(2),
                                            .release = release_packet,
                                            .context = c};
    for (uint32_t rank = 0; c->peers != NULL && rank < group->size; rank++) {
        c->peers[rank].rank = rank;
    }
    return exchange_init(&c->exchange, group->rank, group->size, group->uids) &&
           c->peers != NULL && c->scratch != NULL && c->opened != NULL;
}

static bool is_elsewhere(const struct texts *texts, uint32_t rank)
{
    const char *first = texts->hosts[0], *host = texts->hosts[rank];
    return first != NULL && host != NULL && strcmp(host, first) != 0;
}

/* Whether the launcher knows of several hosts.  A wire that promises to be private to
 * one cannot keep that among them. */
static bool has_several_hosts(const struct texts *texts, uint32_t size)
{
    for (uint32_t rank = 1; rank < size; rank++) {
        if (is_elsewhere(texts, rank)) {
            return true;
        }
    }
    return false;
}

/* A wire that is private to one host stays so, also when somebody else comes. */
static int seal_alike(const struct joining *o,
                      const struct transport_carrier_options *options,
                      const struct texts *texts)
{
    const uint32_t founders = o->group->founders, self = o->group->rank;
    o->c->sealed |= !options->open && has_several_hosts(texts, founders);
    if (self >= founders && !options->open && !o->c->sealed &&
        is_elsewhere(texts, self)) {
        return refuse(o, MOOT_ERR_CONFIG,
                      "the job began on one host, over a transport that is private to "
                      "it, so no rank of another host can join it");
    }
    return MOOT_OK;
}

/* This rank's own: its table, its end of the wire, its address. */
static int open_end(const struct joining *o, const char *word, bool open,
                    struct card_head *head, void *address)
{
    struct carrier *c = o->c;
    const char *options = "";
    size_t size = 0;
    int code = transport_table_load(word, &c->table, &options, o->story, o->story_size);
    if (code != MOOT_OK) {
        return code;
    }
    unsigned char secret[SEAL_KEY_BYTES];
    moot_transport_setup setup = {.size = sizeof(setup),
                                  .uid = head->hello.uid,
                                  .options = options,
                                  .host = channel_host(c->channel),
                                  .secret = secret};
    seal_share(channel_key(c->channel), secret, &setup.job);
    code = c->table->open(&setup, &c->wire, o->story, o->story_size);
    sodium_memzero(secret, sizeof(secret));
    if (code == MOOT_OK) {
        code = c->table->address(c->wire, address, &size);
        if (code != MOOT_OK) {
            (void)refuse(o, code, c->table->story(c->wire));
        } else if (size > MOOT_TRANSPORT_ADDRESS_MAX) {
            code = refuse(o, MOOT_ERR_LIMIT, "a transport's address is too long");
        }
    }
    if (code == MOOT_OK) {
        c->sealed = !open && (c->table->flags & MOOT_TRANSPORT_PRIVATE) == 0;
        head->flags = c->card_flags = c->table->flags | (uint64_t)c->sealed << 32;
        head->frame_max = c->table->frame_max;
        head->address_size = size;
        c->reliable = (c->table->flags & MOOT_TRANSPORT_RELIABLE) != 0;
    }
    return code;
}

/* Rank 0 reads the route for all. */
static int load_route(const struct joining *o, const char *word, char **route,
                      struct card_head *head)
{
    if (o->group->rank != 0) {
        return MOOT_OK;
    }
    const int code = route_load(word, route, o->story, o->story_size);
    head->route_size = code == MOOT_OK ? strlen(*route) + 1 : 0;
    return code;
}

/* How the launcher calls this rank's host, or else by which name others reach it. */
static int name_host(const struct joining *o)
{
    const char *name = channel_host_name(o->c->channel);
    name = *name != '\0' ? name : channel_host(o->c->channel);
    o->group->host_name = *name != '\0' ? strdup(name) : NULL;
    return *name == '\0' || o->group->host_name != NULL
               ? MOOT_OK
               : refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
}

/* Cards handed in, and those of all. */
static int meet_all(const struct joining *o,
                    const struct transport_carrier_options *options, const void *blob,
                    size_t blob_size)
{
    unsigned char address[MOOT_TRANSPORT_ADDRESS_MAX];
    const char *host = channel_host(o->c->channel);
    const char *name = channel_host_name(o->c->channel);
    char *route = NULL;
    struct card_head head = {.wire_version = WIRE_VERSION,
                             .blob_size = o->group->rank == 0 ? blob_size : 0,
                             .host_size = strlen(host) + 1,
                             .name_size = strlen(name) + 1};
    channel_process(o->c->channel, &head.origin.wave, &head.origin.index);
    int code = name_host(o);
    if (code == MOOT_OK && !hello_make(o->group, &head.hello)) {
        code = refuse(o, MOOT_ERR_NO_MEMORY, "out of memory or randomness");
    }
    if (code == MOOT_OK) {
        code = open_end(o, options->word, options->open, &head, address);
    }
    if (code == MOOT_OK) {
        code = load_route(o, options->route, &route, &head);
    }
    const void *const parts[CARD_PARTS] = {address, blob, host, name, route};
    code = swap_cards(o, code, &head, parts);
    free(route);
    return code;
}

int carrier_join(const struct joining *o,
                 const struct transport_carrier_options *options, const void *blob,
                 size_t blob_size)
{
    struct carrier *c = o->c;
    const size_t size = o->group->size;
    struct texts texts = {calloc(2 * size, sizeof(*texts.hosts)), NULL, NULL};
    bool made = false;
    int code = meet_all(o, options, blob, blob_size);
    if (code == MOOT_OK && texts.hosts == NULL) {
        code = refuse(o, MOOT_ERR_NO_MEMORY, "out of memory");
    }
    texts.names = texts.hosts != NULL ? texts.hosts + size : NULL;
    code = code == MOOT_OK ? take_cards(o, &texts) : code;
    code = code == MOOT_OK ? seal_alike(o, options, &texts) : code;
    if (code == MOOT_OK) {
        code = take_places(o, &texts);
        made = code == MOOT_OK && make_parts(c, o->group);
        code = code == MOOT_ERR_NO_MEMORY ? MOOT_OK : code; /* which all are to learn */
    }
    free(texts.hosts);
    const bool founds = o->group->rank < o->group->founders;
    code = code == MOOT_OK && founds ? all_have(o, &made) : code;
    if (code == MOOT_OK && !made) {
        code = refuse(o, MOOT_ERR_NO_MEMORY, "a rank is out of memory");
    }
    return code == MOOT_OK && founds ? open_memory(o) : code;
}
