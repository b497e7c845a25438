/* wires_hostile.c - a transport with an attacker in it, who reads, keeps, changes and
 * adds whatever passes, and lacks nothing but the job's key.
 *
 * Frames go as datagrams of Unix sockets.  Each that is sent may be sent twice, late,
 * cut, or with a bit flipped; and beside it may go: one of a stranger; one that names a
 * rank of the job and announces 2^60 bytes; one from long ago; one from long ago to
 * another rank, or under another's uid; one of a wire that this process had before.
 * Options, with a colon between:
 *
 *     seed=N    of what is drawn
 *     one-in=N  so many frames are sent for each attack (20); 0: there is none
 *     flood=N   so many datagrams of nobody, and of somebody else, beside each frame
 *     about=PATH  where to say at the end how often each attack was made
 *     tell=PATH   where to say the uid and the address, in hexadecimal digits
 */
#include "moot_transport.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef PROMISES
#define PROMISES 0
#endif

enum { PEERS_MAX = 64, FRAME_BYTES_MAX = 32768, KEPT = 64, KEPT_BYTES_MAX = 4096 };

enum attack {
    SENDS_TWICE,
    SENDS_LATE,
    CUTS,
    FLIPS,
    STRANGER,
    LIES_ABOUT_SIZE,
    REPLAYS,
    SENDS_ELSEWHERE,
    SAYS_ANOTHER_UID,
    OLD_INCARNATION,
    ATTACKS
};
static const char *const names[ATTACKS] = {
    "twice",      "late",     "cut",    "flipped", "strangers",
    "2^60 bytes", "replayed", "astray", "renamed", "old incarnations"};

struct datagram {
    uint64_t from;
    unsigned char bytes[FRAME_BYTES_MAX];
};

struct kept {
    size_t peer, size; /* size 0: none */
    uint64_t from;
    unsigned char bytes[KEPT_BYTES_MAX];
};

struct moot_wire {
    int fd;
    uint64_t uid, seed;
    unsigned one_in, flood;
    char about[256], tell[256];
    struct sockaddr_un address;
    socklen_t length;
    struct {
        uint64_t uid;
        struct sockaddr_un address;
        socklen_t length;
    } peers[PEERS_MAX];
    size_t peer_count;
    struct datagram out, in, bad, late;
    size_t late_size, late_peer;
    struct kept kept[KEPT];
    unsigned long made[ATTACKS];
    const char *story;
};

/* Frames of this process's earlier wires. */
static struct kept before[KEPT];

static uint64_t draw(moot_wire *wire)
{
    wire->seed ^= wire->seed << 13;
    wire->seed ^= wire->seed >> 7;
    wire->seed ^= wire->seed << 17;
    return wire->seed;
}

static void tell_address(const moot_wire *wire)
{
    FILE *file = wire->tell[0] != '\0' ? fopen(wire->tell, "ae") : NULL;
    if (file == NULL) {
        return;
    }
    char digits[2 * sizeof(wire->address.sun_path) + 1] = "";
    for (size_t i = offsetof(struct sockaddr_un, sun_path); i < wire->length; i++) {
        const size_t at = i - offsetof(struct sockaddr_un, sun_path);
        (void)snprintf(digits + 2 * at, 3, "%02x",
                       (unsigned char)wire->address.sun_path[at]);
    }
    fprintf(file, "%lu %s\n", wire->uid, digits);
    (void)fclose(file);
}

static int open_wire(const moot_transport_setup *setup, moot_wire **out, char *story,
                     size_t story_size)
{
    char options[512], *rest = options;
    moot_wire *wire = calloc(1, sizeof(*wire));
    if (wire == NULL || strlen(setup->options) >= sizeof(options)) {
        free(wire);
        return MOOT_ERR_NO_MEMORY;
    }
    wire->uid = setup->uid;
    wire->one_in = 20;
    wire->seed = 1;
    wire->story = "";
    memcpy(options, setup->options, strlen(setup->options) + 1);
    for (char *word; (word = strtok_r(rest, ":", &rest)) != NULL;) {
        if (sscanf(word, "one-in=%u", &wire->one_in) != 1 &&
            sscanf(word, "flood=%u", &wire->flood) != 1 &&
            sscanf(word, "about=%255s", wire->about) != 1 &&
            sscanf(word, "tell=%255s", wire->tell) != 1 &&
            sscanf(word, "seed=%lu", &wire->seed) != 1) {
            (void)snprintf(story, story_size, "hostile: no option '%s'", word);
            free(wire);
            return MOOT_ERR_CONFIG;
        }
    }
    wire->seed = (wire->seed * UINT64_C(0x9e3779b97f4a7c15)) ^ setup->uid;
    wire->seed += wire->seed == 0;
    wire->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    wire->address.sun_family = AF_UNIX;
    wire->length = sizeof(wire->address);
    if (wire->fd < 0 ||
        bind(wire->fd, (struct sockaddr *)&wire->address, sizeof(sa_family_t)) != 0 ||
        getsockname(wire->fd, (struct sockaddr *)&wire->address, &wire->length) != 0) {
        (void)snprintf(story, story_size, "hostile: %s", strerror(errno));
        free(wire);
        return MOOT_ERR_TRANSPORT;
    }
    tell_address(wire);
    *out = wire;
    return MOOT_OK;
}

static int address_of(moot_wire *wire, void *bytes, size_t *length)
{
    memcpy(bytes, &wire->address, wire->length);
    *length = wire->length;
    return MOOT_OK;
}

static int introduce(moot_wire *wire, uint64_t uid, const void *address, size_t length)
{
    if (wire->peer_count == PEERS_MAX || length > sizeof(struct sockaddr_un)) {
        wire->story = "too many peers";
        return MOOT_ERR_LIMIT;
    }
    wire->peers[wire->peer_count].uid = uid;
    memcpy(&wire->peers[wire->peer_count].address, address, length);
    wire->peers[wire->peer_count++].length = (socklen_t)length;
    return MOOT_OK;
}

static size_t find_peer(const moot_wire *wire, uint64_t uid)
{
    size_t i = 0;
    while (i < wire->peer_count && wire->peers[i].uid != uid) {
        i++;
    }
    return i;
}

/* False: there is no room. */
static bool put(moot_wire *wire, size_t peer, const struct datagram *datagram,
                size_t size)
{
    return sendto(wire->fd, datagram, offsetof(struct datagram, bytes) + size,
                  MSG_NOSIGNAL | MSG_DONTWAIT,
                  (struct sockaddr *)&wire->peers[peer].address,
                  wire->peers[peer].length) >= 0 ||
           errno != EAGAIN;
}

/* --- Attacks ---------------------------------------------------------------------- */

static void keep(moot_wire *wire, size_t peer, size_t size)
{
    struct kept *kept = &wire->kept[draw(wire) % KEPT];
    if (size <= KEPT_BYTES_MAX) {
        kept->peer = peer;
        kept->size = size;
        kept->from = wire->uid;
        memcpy(kept->bytes, wire->out.bytes, size);
    }
}

/* A link's number and acknowledgement, and the head of a piece, as far.c and pieces.c
 * would read them if they were not sealed. */
static size_t write_lie(moot_wire *wire)
{
    const uint64_t total = UINT64_C(1) << 60, sequence = 1 + draw(wire) % 50, ack = 0;
    const uint32_t word = 1 + (uint32_t)(draw(wire) % 2), size = 100;
    memcpy(wire->bad.bytes, &sequence, 8);
    memcpy(wire->bad.bytes + 8, &ack, 8);
    memcpy(wire->bad.bytes + 16, &total, 8);
    memcpy(wire->bad.bytes + 24, &word, 4);
    memcpy(wire->bad.bytes + 28, &size, 4);
    return 32 + 100;
}

static size_t write_kept(moot_wire *wire, const struct kept *kept)
{
    memcpy(wire->bad.bytes, kept->bytes, kept->size);
    return kept->size;
}

/* Makes one beside the frame that is in `out`; false: there is nothing to make it of.
 */
static bool attack(moot_wire *wire, enum attack what, size_t peer, size_t size)
{
    const struct kept *kept = &wire->kept[draw(wire) % KEPT];
    size_t to = peer, bytes = 0;
    wire->bad.from = wire->uid;
    switch (what) {
    case CUTS:
        bytes = draw(wire) % size;
        memcpy(wire->bad.bytes, wire->out.bytes, bytes);
        break;
    case FLIPS:
        bytes = size;
        memcpy(wire->bad.bytes, wire->out.bytes, bytes);
        wire->bad.bytes[draw(wire) % size] ^= (unsigned char)(1u << draw(wire) % 8);
        break;
    case STRANGER:
        wire->bad.from = draw(wire);
        bytes = 1 + draw(wire) % 200;
        memset(wire->bad.bytes, (int)draw(wire), bytes);
        break;
    case LIES_ABOUT_SIZE:
        bytes = write_lie(wire);
        wire->bad.from = wire->peers[draw(wire) % wire->peer_count].uid;
        break;
    case REPLAYS:
        bytes = write_kept(wire, kept);
        to = kept->peer;
        break;
    case SENDS_ELSEWHERE:
        bytes = write_kept(wire, kept);
        to = (kept->peer + 1) % wire->peer_count;
        break;
    case SAYS_ANOTHER_UID:
        bytes = write_kept(wire, kept);
        wire->bad.from = wire->peers[draw(wire) % wire->peer_count].uid;
        break;
    case OLD_INCARNATION:
        bytes = write_kept(wire, &before[draw(wire) % KEPT]);
        break;
    default:
        break;
    }
    return bytes > 0 && to < wire->peer_count && put(wire, to, &wire->bad, bytes);
}

static bool is_drawn(moot_wire *wire)
{
    return wire->one_in > 0 && draw(wire) % wire->one_in == 0;
}

static int send_frame(moot_wire *wire, uint64_t uid, const void *bytes, size_t size)
{
    const size_t peer = find_peer(wire, uid);
    if (peer == wire->peer_count) {
        wire->story = "nobody of that uid";
        return MOOT_ERR_INVALID;
    }
    wire->out.from = wire->uid;
    memcpy(wire->out.bytes, bytes, size);
    keep(wire, peer, size);
    for (unsigned i = 0; i < wire->flood; i++) {
        const enum attack what = i % 2 == 0 ? STRANGER : LIES_ABOUT_SIZE;
        wire->made[what] += attack(wire, what, peer, size);
    }
    const enum attack what =
        is_drawn(wire) ? (enum attack)(draw(wire) % ATTACKS) : ATTACKS;
    if (what == SENDS_LATE && wire->late_size == 0) {
        memcpy(&wire->late, &wire->out, offsetof(struct datagram, bytes) + size);
        wire->late_size = size;
        wire->late_peer = peer;
        wire->made[what]++;
        return MOOT_OK;
    }
    if (what > SENDS_LATE && what < ATTACKS) {
        wire->made[what] += attack(wire, what, peer, size);
    }
    if ((what == CUTS || what == FLIPS) && draw(wire) % 2 == 0) {
        return MOOT_OK; /* in the place of the frame itself */
    }
    if (!put(wire, peer, &wire->out, size)) {
        return MOOT_TRANSPORT_FULL;
    }
    if (what == SENDS_TWICE) {
        wire->made[what] += put(wire, peer, &wire->out, size);
    }
    if (wire->late_size > 0 && draw(wire) % 4 == 0 &&
        wire->late_peer < wire->peer_count) {
        (void)put(wire, wire->late_peer, &wire->late, wire->late_size);
        wire->late_size = 0;
    }
    return MOOT_OK;
}

/* --- The rest of a wire ----------------------------------------------------------- */

static int poll_wire(moot_wire *wire, const moot_transport_receiver *receiver,
                     int frames_max)
{
    int handed = 0;
    while (handed < frames_max) {
        const ssize_t size = recv(wire->fd, &wire->in, sizeof(wire->in), MSG_DONTWAIT);
        if (size < (ssize_t)offsetof(struct datagram, bytes)) {
            break;
        }
        handed++;
        receiver->frame(receiver->context, wire->in.from, wire->in.bytes,
                        (size_t)size - offsetof(struct datagram, bytes));
    }
    return handed;
}

static bool is_flushed(const moot_wire *wire)
{
    (void)wire;
    return true;
}

static void forget(moot_wire *wire, uint64_t uid)
{
    const size_t peer = find_peer(wire, uid);
    if (peer < wire->peer_count) {
        wire->peers[peer] = wire->peers[--wire->peer_count];
    }
}

static const char *tell_story(const moot_wire *wire) { return wire->story; }

static void close_wire(moot_wire *wire)
{
    FILE *file = wire->about[0] != '\0' ? fopen(wire->about, "ae") : NULL;
    for (int i = 0; file != NULL && i < ATTACKS; i++) {
        fprintf(file, "%lu %s\n", wire->made[i], names[i]);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    memcpy(before, wire->kept, sizeof(before));
    close(wire->fd);
    free(wire);
}

const moot_transport moot_transport_table = {
    .version = MOOT_TRANSPORT_VERSION,
    .flags = PROMISES,
    .size = sizeof(moot_transport),
    .name = "hostile",
    .frame_max = FRAME_BYTES_MAX,
    .open = open_wire,
    .address = address_of,
    .introduce = introduce,
    .send = send_frame,
    .poll = poll_wire,
    .flushed = is_flushed,
    .forget = forget,
    .story = tell_story,
    .close = close_wire,
};
