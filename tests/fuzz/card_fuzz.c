/* card_fuzz.c - no card that a rank hands in harms those who read it.
 *
 * An input is the cards of four ranks, of which two are founders and the others may not
 * have come (a card of no bytes), each behind its length of two bytes.  Its first
 * byte says which of them get a head that fits, since few mutations would make one, and
 * of which sizes in it lie though they add up.
 * The cards taken must be a group: a uid for each rank, hosts that name a lower rank.
 */
#include "node/transport/carrier/cards.c"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { RANKS = 4, FOUNDERS = 2 };

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

/* Functions of a launcher that cards.c needs, and that are not called here. */
const char *channel_host(const struct channel *channel) { return channel ? "" : NULL; }
const char *channel_host_name(const struct channel *channel)
{
    return channel_host(channel);
}
const unsigned char *channel_key(const struct channel *channel)
{
    (void)channel;
    return NULL;
}
int channel_gather(struct channel *channel, const void *bytes, size_t size,
                   struct channel_card **all, char *story, size_t story_size)
{
    (void)channel, (void)bytes, (void)size, (void)all, (void)story, (void)story_size;
    abort();
}
int channel_open(struct channel *channel, const void *bytes, size_t size,
                 struct channel_card **all, uint32_t *opening, char *story,
                 size_t story_size)
{
    (void)opening;
    return channel_gather(channel, bytes, size, all, story, story_size);
}
void channel_process(const struct channel *channel, uint32_t *wave, uint32_t *index)
{
    (void)channel, (void)wave, (void)index;
    abort();
}
int transport_table_load(const char *word, const struct moot_transport **table,
                         const char **options, char *story, size_t story_size)
{
    (void)word, (void)table, (void)options, (void)story, (void)story_size;
    abort();
}

static const moot_transport table = {.flags = 1, .frame_max = 4096, .name = "none"};

/* The host's address, its name and the route behind a card's bytes. */
static const char tail[] = "host\0name\0mesh";
enum { HOST_BYTES = 5, ROUTE_BYTES = sizeof(tail) - 2 * HOST_BYTES };

/* One card: its bytes as they came, or behind a head that fits its length. */
static unsigned char *make_card(const unsigned char *bytes, size_t size, bool fits,
                                bool lies, struct channel_card *out)
{
    struct card_head head = {.wire_version = WIRE_VERSION,
                             .flags = 1,
                             .frame_max = 4096,
                             .blob_size = size > 0 ? bytes[0] % (size + 1) : 0,
                             .host_size = HOST_BYTES,
                             .name_size = HOST_BYTES,
                             .route_size = ROUTE_BYTES};
    head.address_size = size - head.blob_size;
    uint64_t more = 0;
    memcpy(&more, bytes, lies && size >= sizeof(more) ? sizeof(more) : 0);
    head.address_size += more;
    head.blob_size -= more;
    memcpy(&head.hello, bytes, size < sizeof(head.hello) ? size : sizeof(head.hello));
    out->size = size + (fits ? sizeof(head) + sizeof(tail) : 0);
    unsigned char *copy = malloc(sizeof(head) + size + sizeof(tail));
    require(copy != NULL);
    memcpy(copy, &head, fits ? sizeof(head) : 0);
    memcpy(copy + (fits ? sizeof(head) : 0), bytes, size);
    memcpy(copy + sizeof(head) + size, tail, fits ? sizeof(tail) : 0);
    out->bytes = copy = realloc(copy, out->size > 0 ? out->size : 1);
    return copy;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct channel_card cards[RANKS] = {{0}};
    unsigned char *copies[RANKS];
    struct carrier c = {.table = &table, .cards = cards, .card_flags = 1};
    struct transport_group group = {.rank = 1, .size = RANKS, .founders = FOUNDERS};
    char story[200] = "";
    const struct joining o = {&c, &group, story, sizeof(story)};
    const unsigned fit = size > 0 ? data[0] : 0;
    size_t at = size > 0;
    struct hello own;
    require(hello_make(&group, &own));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        size_t length = at + 2 <= size ? (size_t)(data[at] | data[at + 1] << 8) : 0;
        at += at + 2 <= size ? 2 : 0;
        length = length < size - at ? length : size - at;
        copies[rank] = make_card(data + at, length, (fit >> rank & 1) != 0,
                                 (fit >> (RANKS + rank) & 1) != 0, &cards[rank]);
        at += length;
    }
    const char *hosts[RANKS] = {NULL}, *names[RANKS] = {NULL};
    struct texts texts = {hosts, names, NULL};
    const int code = take_cards(&o, &texts);
    require(memchr(story, '\0', sizeof(story)) != NULL);
    require(code <= 0 && (code == MOOT_OK || story[0] != '\0'));
    for (uint32_t rank = 0; code == MOOT_OK && rank < RANKS; rank++) {
        if (hosts[rank] == NULL) { /* it has not come */
            require(rank >= FOUNDERS && group.uids[rank] == 0);
            continue;
        }
        require(group.hosts[rank] <= rank);
        require(cards[rank].size <= size);
        require(names[rank] != NULL && texts.route != NULL);
        require(strlen(group.host_names[rank]) < sizeof(*group.host_names));
    }
    transport_group_release(&group);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        free(copies[rank]);
    }
    return 0;
}
