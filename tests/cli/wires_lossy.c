/* wires_lossy.c - a transport over datagrams of UDP that promises nothing: each frame
 * is one, some are dropped as they are sent, and a peer that gets no turn loses what
 * its socket has no room for.  Built by wires_test.sh.
 *
 * Options, with a colon between:
 *
 *     drop=N   so many of a hundred frames (10)
 *     room=N   bytes of the receiving socket's buffer (what the system gives)
 */
#include "moot_transport.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FRAME_BYTES = 8192, HEAD_BYTES = sizeof(uint64_t) };

struct peer {
    uint64_t uid;
    struct sockaddr_in at;
    struct peer *next;
};

struct moot_wire {
    int fd;
    uint64_t uid;
    unsigned drop, seed;
    int room;
    struct peer *peers;
    char story[128];
};

static int take_option(moot_wire *wire, const char *word, char *story, size_t size)
{
    if (sscanf(word, "drop=%u", &wire->drop) != 1 &&
        sscanf(word, "room=%d", &wire->room) != 1) {
        snprintf(story, size, "lossy: '%s' is no option: there are drop=N and room=N",
                 word);
        return MOOT_ERR_CONFIG;
    }
    return MOOT_OK;
}

static int open_socket(moot_wire *wire, char *story, size_t size)
{
    const struct sockaddr_in any = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    wire->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (wire->fd < 0 || bind(wire->fd, (const void *)&any, sizeof(any)) != 0 ||
        (wire->room != 0 && setsockopt(wire->fd, SOL_SOCKET, SO_RCVBUF, &wire->room,
                                       sizeof(wire->room)) != 0)) {
        snprintf(story, size, "lossy: %s", strerror(errno));
        return MOOT_ERR_TRANSPORT;
    }
    return MOOT_OK;
}

static struct peer **find_peer(moot_wire *wire, uint64_t uid)
{
    struct peer **at = &wire->peers;
    while (*at != NULL && (*at)->uid != uid) {
        at = &(*at)->next;
    }
    return at;
}

static void lossy_forget(moot_wire *wire, uint64_t uid)
{
    struct peer **at = find_peer(wire, uid), *gone = *at;
    if (gone != NULL) {
        *at = gone->next;
        free(gone);
    }
}

static void lossy_close(moot_wire *wire)
{
    while (wire->peers != NULL) {
        lossy_forget(wire, wire->peers->uid);
    }
    if (wire->fd >= 0) {
        close(wire->fd);
    }
    free(wire);
}

static int lossy_open(const moot_transport_setup *setup, moot_wire **out, char *story,
                      size_t size)
{
    moot_wire *wire = calloc(1, sizeof(*wire));
    if (wire == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *wire = (moot_wire){.fd = -1, .uid = setup->uid, .drop = 10};
    wire->seed = (unsigned)setup->uid;
    int code = MOOT_OK;
    for (const char *at = setup->options; *at != '\0' && code == MOOT_OK;) {
        char word[32];
        const size_t length = strcspn(at, ":");
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        code = take_option(wire, word, story, size);
        at += length + (at[length] == ':');
    }
    if (code == MOOT_OK) {
        code = open_socket(wire, story, size);
    }
    if (code != MOOT_OK) {
        lossy_close(wire);
        return code;
    }
    *out = wire;
    return MOOT_OK;
}

static int lossy_address(moot_wire *wire, void *bytes, size_t *length)
{
    socklen_t size = sizeof(struct sockaddr_in);
    *length = size;
    return getsockname(wire->fd, bytes, &size) == 0 ? MOOT_OK : MOOT_ERR_TRANSPORT;
}

static int lossy_introduce(moot_wire *wire, uint64_t uid, const void *address,
                           size_t length)
{
    struct peer **at = find_peer(wire, uid);
    if (length != sizeof((*at)->at)) {
        snprintf(wire->story, sizeof(wire->story), "an address of %zu bytes", length);
        return MOOT_ERR_INVALID;
    }
    if (*at == NULL && (*at = calloc(1, sizeof(**at))) == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    (*at)->uid = uid;
    memcpy(&(*at)->at, address, length);
    return MOOT_OK;
}

static int lossy_send(moot_wire *wire, uint64_t uid, const void *bytes, size_t size)
{
    const struct peer *peer = *find_peer(wire, uid);
    unsigned char datagram[HEAD_BYTES + FRAME_BYTES];
    if (peer == NULL || size == 0 || size > FRAME_BYTES) {
        snprintf(wire->story, sizeof(wire->story), "no such peer, or no such frame");
        return MOOT_ERR_INVALID;
    }
    if ((unsigned)rand_r(&wire->seed) % 100 < wire->drop) {
        return MOOT_OK;
    }
    memcpy(datagram, &wire->uid, HEAD_BYTES);
    memcpy(datagram + HEAD_BYTES, bytes, size);
    const ssize_t sent = sendto(wire->fd, datagram, HEAD_BYTES + size, 0,
                                (const void *)&peer->at, sizeof(peer->at));
    return sent < 0 && errno == EAGAIN ? MOOT_TRANSPORT_FULL : MOOT_OK;
}

static int lossy_poll(moot_wire *wire, const moot_transport_receiver *receiver,
                      int most)
{
    int handed = 0;
    unsigned char datagram[HEAD_BYTES + FRAME_BYTES];
    while (handed < most) {
        uint64_t from;
        const ssize_t got = recv(wire->fd, datagram, sizeof(datagram), 0);
        if (got < 0 && errno != ECONNREFUSED) { /* of one that is gone */
            break;
        }
        if (got > HEAD_BYTES) {
            memcpy(&from, datagram, HEAD_BYTES);
            receiver->frame(receiver->context, from, datagram + HEAD_BYTES,
                            (size_t)got - HEAD_BYTES);
            handed++;
        }
    }
    return handed;
}

static bool lossy_flushed(const moot_wire *wire)
{
    (void)wire;
    return true;
}

static const char *lossy_story(const moot_wire *wire) { return wire->story; }
static int lossy_descriptor(const moot_wire *wire) { return wire->fd; }

MOOT_API extern const moot_transport moot_transport_table;
const moot_transport moot_transport_table = {.version = MOOT_TRANSPORT_VERSION,
                                             .size = sizeof(moot_transport),
                                             .name = "lossy",
                                             .frame_max = FRAME_BYTES,
                                             .open = lossy_open,
                                             .address = lossy_address,
                                             .introduce = lossy_introduce,
                                             .send = lossy_send,
                                             .poll = lossy_poll,
                                             .flushed = lossy_flushed,
                                             .forget = lossy_forget,
                                             .story = lossy_story,
                                             .close = lossy_close,
                                             .descriptor = lossy_descriptor};
