/* channel_fuzz.c - nothing that ranks, branches or the hub above say to a hub of a
 * job's channel harms it (node/channel/channel.h).
 *
 * The first byte of an input says whether the hub is a branch.  The rest are commands
 * of two bytes: who speaks, and how: bytes as they stand, a message with a header that
 * is nearly right, the end of the stream, the end or the death of the rank, or a look
 * at the wishes.  The hub has four founders and three newcomers.
 */
#include "node/channel/hub_private.h"

/* All of the hub in one, so that what it holds can be looked at. */
#include "node/channel/channel_hub.c"
#include "node/channel/hub_letters.c"
#include "node/channel/hub_make.c"
#include "node/channel/hub_newcomers.c"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { FOUNDERS = 4, RANKS = 7, LINKS = 7, BRANCH_FIRST = 2, ROUNDS = 64 };

struct play {
    struct channel_hub *hub;
    int ends[LINKS]; /* the ranks', the branch's at its first, the trunk's at the last;
                        -1: not, or not any more */
    bool is_branch;
};

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

static void drain(const struct play *play)
{
    unsigned char bytes[4096];
    for (int i = 0; i < LINKS; i++) {
        while (play->ends[i] >= 0 &&
               recv(play->ends[i], bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
            ;
        }
    }
}

/* These must hold whatever was said. */
static void hub_check(const struct channel_hub *hub)
{
    uint32_t came = 0, lost = 0, wishes = 0;
    for (uint32_t rank = 0; rank < hub->room; rank++) {
        const struct hub_rank *of = &hub->ranks[rank];
        came += of->came;
        lost += rank - hub->first < hub->count && of->gone && !of->came;
        wishes += of->wish > 0 && !of->wish_taken;
        require(!of->came || (rank - hub->first < hub->count && of->link < LINKS));
        require(rank < hub->size || !hub->newcomers[rank - hub->size].waits ||
                !of->gone);
    }
    require(came == hub->came && came <= hub->count && lost == hub->lost);
    require(wishes == hub->wishes);
    require(hub->joining == 0 || hub->newcomers[hub->joining - hub->size].waits);
    for (uint32_t i = 0; i < hub->link_count; i++) {
        const struct hub_link *link = &hub->links[i];
        require(link->news_known <= link->news && link->news <= hub->news);
        require(link->came == (link->held != NULL));
        require(link->fd >= 0 || (!link->body && !link->first_letter));
    }
}

static int end_make(int *hubs)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    *hubs = ends[1];
    return ends[0];
}

static void play_begin(struct play *play)
{
    static const unsigned char key[CHANNEL_KEY_BYTES] = {1};
    const struct channel_branch branch = {.size = FOUNDERS, .room = RANKS, .count = 2};
    int fd = -1;
    for (int i = 0; i < LINKS; i++) {
        play->ends[i] = -1;
    }
    if (play->is_branch) {
        play->ends[LINKS - 1] = end_make(&fd);
        play->hub = channel_hub_new_branch(&branch, key, fd);
    } else {
        play->hub = channel_hub_new(FOUNDERS, RANKS);
        play->ends[BRANCH_FIRST] = end_make(&fd);
        require(play->hub && channel_hub_add_branch(play->hub, BRANCH_FIRST, 2, fd));
    }
    require(play->hub != NULL);
    channel_hub_name(play->hub, 1, FOUNDERS, RANKS - FOUNDERS);
    for (uint32_t rank = 0; rank < RANKS - 1; rank++) {
        if (rank != BRANCH_FIRST && rank != BRANCH_FIRST + 1) {
            play->ends[rank] = end_make(&fd);
            require(channel_hub_add(play->hub, rank, fd, "host", "name"));
        }
    }
    if (!play->is_branch) {
        channel_hub_place(play->hub, RANKS - 1, BRANCH_FIRST);
    }
}

static void say(const struct play *play, int who, const unsigned char *bytes,
                size_t size)
{
    if (play->ends[who] >= 0 && size > 0) {
        (void)send(play->ends[who], bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* A header of six bytes, and up to seven bytes behind it; how many were used. */
static size_t message_say(const struct play *play, int who, const unsigned char *data,
                          size_t size)
{
    if (size < 6) {
        return size;
    }
    struct channel_header header = channel_header_make(
        (enum channel_kind)(data[0] % (CHANNEL_CLOSES + 2)), data[5] % 8);
    header.rank = data[1] % (RANKS + 1);
    header.count = data[2] % 8;
    header.why = data[3] % 8;
    header.to = data[4] % (RANKS + 1);
    if (header.kind == CHANNEL_OPEN && data[5] & 0x40) { /* of a branch of two ranks */
        header.size = 2 * sizeof(uint32_t);
    }
    if (header.kind == CHANNEL_CARDS) {
        header.size = FOUNDERS * sizeof(uint32_t) + data[5] % 4;
    }
    unsigned char bytes[64] = {0};
    const size_t rest = size - 6 < 7 ? size - 6 : 7;
    memcpy(bytes, data + 6, rest);
    say(play, who, (const unsigned char *)&header, sizeof(header));
    say(play, who, bytes, (size_t)header.size);
    return 6 + rest;
}

static void wishes_answer(const struct play *play, int code)
{
    uint32_t rank, count;
    while (channel_hub_next_wish(play->hub, &rank, &count)) {
        require(rank < RANKS && count > 0 && count <= LIMIT_NEWCOMERS);
        channel_hub_answer(play->hub, rank, code, FOUNDERS, "a story");
    }
}

/* One command; how many bytes it has used. */
static size_t command_do(struct play *play, const unsigned char *data, size_t size)
{
    const int who = data[0] % LINKS;
    const bool is_own = who != BRANCH_FIRST && who != BRANCH_FIRST + 1;
    size_t used = 2;
    switch (size > 1 ? data[1] % 8 : 7) {
    case 0:
        used += size - 2 < 40 ? size - 2 : 40;
        say(play, who, data + 2, used - 2);
        break;
    case 1:
        if (play->ends[who] >= 0) {
            close(play->ends[who]);
            play->ends[who] = -1;
        }
        break;
    case 2:
        if (is_own) {
            channel_hub_ended(play->hub, (uint32_t)who);
        }
        break;
    case 3:
        if (is_own) {
            channel_hub_dead(play->hub, (uint32_t)who);
        }
        break;
    case 4:
        wishes_answer(play, data[0] & 0x40 ? MOOT_OK : MOOT_ERR_LIMIT);
        break;
    default:
        used += size > 2 ? message_say(play, who, data + 2, size - 2) : 0;
        break;
    }
    return used;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct play play = {.is_branch = size > 0 && (data[0] & 1) != 0};
    size_t at = 1;
    play_begin(&play);
    for (int round = 0; round < ROUNDS && at < size; round++) {
        at += command_do(&play, data + at, size - at);
        channel_hub_poll(play.hub, 0);
        hub_check(play.hub);
        drain(&play);
    }
    channel_hub_free(play.hub);
    for (int i = 0; i < LINKS; i++) {
        if (play.ends[i] >= 0) {
            close(play.ends[i]);
        }
    }
    return 0;
}
