/* wires_broken.c - a transport over Unix sockets, and what is wrong with it: built by
 * wires_test.sh with -DDEFECT=..., for `moot check-transport` to find.
 *
 * Datagrams of Unix sockets arrive in order and whole, or are refused at once when the
 * receiver has too many.
 */
#include "moot_transport.h"
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    NONE,
    LOSES,
    DOUBLES,
    SWAPS,
    CHANGES,
    CUTS,
    BLOCKS_IN_SEND,
    BLOCKS_IN_POLL,
    CLOSES_SLOWLY,
    DROPS_STRANGERS,
    FAILS_FOR_THE_DEAD,
    KEEPS_FORGOTTEN,
    IS_NEVER_FLUSHED,
    HAS_A_FEW_PEERS,
    KEEPS_NO_COPY,
    SAYS_ANOTHER_UID,
    NEVER_FULL,
    CRASHES
};
#ifndef DEFECT
#define DEFECT NONE
#endif

enum { PEERS_MAX = DEFECT == HAS_A_FEW_PEERS ? 100 : 4096, FRAME_BYTES_MAX = 32768 };

struct datagram {
    uint64_t from;
    unsigned char bytes[FRAME_BYTES_MAX];
};

struct moot_wire {
    int fd;
    uint64_t uid, sent;
    struct sockaddr_un address;
    socklen_t length;
    struct {
        uint64_t uid;
        struct sockaddr_un address;
        socklen_t length;
    } peers[PEERS_MAX];
    size_t peer_count;
    struct datagram out, in, kept;
    size_t kept_size, kept_peer;
    const void *borrowed;
    size_t borrowed_size, borrowed_peer;
    const char *story;
};

static int open_wire(const moot_transport_setup *setup, moot_wire **out, char *story,
                     size_t story_size)
{
    moot_wire *wire = calloc(1, sizeof(*wire));
    (void)story;
    (void)story_size;
    if (wire == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    wire->uid = setup->uid;
    wire->story = "";
    wire->fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    wire->address.sun_family = AF_UNIX;
    wire->length = sizeof(wire->address);
    /* Without a name it gets one of its own. */
    if (bind(wire->fd, (struct sockaddr *)&wire->address, sizeof(sa_family_t)) != 0 ||
        getsockname(wire->fd, (struct sockaddr *)&wire->address, &wire->length) != 0) {
        close(wire->fd);
        free(wire);
        return MOOT_ERR_TRANSPORT;
    }
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

static int send_datagram(moot_wire *wire, size_t peer, const struct datagram *datagram,
                         size_t size)
{
    const ssize_t sent =
        sendto(wire->fd, datagram, offsetof(struct datagram, bytes) + size,
               MSG_NOSIGNAL | MSG_DONTWAIT,
               (struct sockaddr *)&wire->peers[peer].address, wire->peers[peer].length);
    if (sent >= 0) {
        return MOOT_OK;
    }
    if (errno == EAGAIN) {
        return MOOT_TRANSPORT_FULL;
    }
    if (DEFECT == FAILS_FOR_THE_DEAD) {
        wire->story = "the peer is gone";
        return MOOT_ERR_TRANSPORT;
    }
    return MOOT_OK;
}

static int send_frame(moot_wire *wire, uint64_t uid, const void *bytes, size_t size)
{
    const size_t peer = find_peer(wire, uid);
    int code;
    if (peer == wire->peer_count) {
        wire->story = "nobody of that uid";
        return MOOT_ERR_INVALID;
    }
    wire->out.from = wire->uid + (DEFECT == SAYS_ANOTHER_UID);
    memcpy(wire->out.bytes, bytes, size);
    if (DEFECT == LOSES && wire->sent % 97 == 96) {
        wire->sent++;
        return MOOT_OK;
    }
    if (DEFECT == CHANGES && wire->sent % 97 == 96) {
        wire->out.bytes[size / 2] ^= 1;
    }
    if (DEFECT == KEEPS_NO_COPY) {
        if (wire->borrowed != NULL) {
            return MOOT_TRANSPORT_FULL;
        }
        wire->borrowed = bytes;
        wire->borrowed_size = size;
        wire->borrowed_peer = peer;
        return MOOT_OK;
    }
    if (DEFECT == CUTS && size > 4096) {
        size = 4096;
    }
    if (DEFECT == SWAPS && wire->sent % 97 == 96 && wire->kept_size == 0) {
        memcpy(&wire->kept, &wire->out, sizeof(wire->out));
        wire->kept_size = size;
        wire->kept_peer = peer;
        wire->sent++;
        return MOOT_OK;
    }
    while ((code = send_datagram(wire, peer, &wire->out, size)) ==
               MOOT_TRANSPORT_FULL &&
           DEFECT == BLOCKS_IN_SEND) {
        usleep(1000);
    }
    if (code == MOOT_TRANSPORT_FULL && DEFECT == NEVER_FULL) {
        return MOOT_OK; /* and it is lost */
    }
    if (code == MOOT_OK) {
        wire->sent++;
        if (DEFECT == DOUBLES && wire->sent % 97 == 96) {
            (void)send_datagram(wire, peer, &wire->out, size);
        }
        if (DEFECT == SWAPS && wire->kept_size > 0 &&
            send_datagram(wire, wire->kept_peer, &wire->kept, wire->kept_size) ==
                MOOT_OK) {
            wire->kept_size = 0;
        }
    }
    return code;
}

static int poll_wire(moot_wire *wire, const moot_transport_receiver *receiver,
                     int frames_max)
{
    int handed = 0;
    if (wire->borrowed != NULL) {
        memcpy(wire->out.bytes, wire->borrowed, wire->borrowed_size);
        if (send_datagram(wire, wire->borrowed_peer, &wire->out, wire->borrowed_size) ==
            MOOT_OK) {
            wire->borrowed = NULL;
        }
    }
    while (handed < frames_max) {
        const ssize_t size = recv(wire->fd, &wire->in, sizeof(wire->in),
                                  DEFECT == BLOCKS_IN_POLL ? 0 : MSG_DONTWAIT);
        if (size <= (ssize_t)offsetof(struct datagram, bytes)) {
            break;
        }
        if (DEFECT == DROPS_STRANGERS &&
            find_peer(wire, wire->in.from) == wire->peer_count) {
            continue;
        }
        if (DEFECT == CRASHES && size > 1000) {
            abort();
        }
        handed++;
        receiver->frame(receiver->context, wire->in.from, wire->in.bytes,
                        (size_t)size - offsetof(struct datagram, bytes));
    }
    return handed;
}

static bool is_flushed(const moot_wire *wire)
{
    return DEFECT != IS_NEVER_FLUSHED || wire->sent == 0;
}

static void forget(moot_wire *wire, uint64_t uid)
{
    const size_t peer = find_peer(wire, uid);
    if (peer < wire->peer_count && DEFECT != KEEPS_FORGOTTEN) {
        wire->peers[peer] = wire->peers[--wire->peer_count];
    }
}

static const char *tell_story(const moot_wire *wire) { return wire->story; }

static void close_wire(moot_wire *wire)
{
    if (DEFECT == CLOSES_SLOWLY) {
        sleep(3);
    }
    close(wire->fd);
    free(wire);
}

const moot_transport moot_transport_table = {
    .version = MOOT_TRANSPORT_VERSION,
    .flags = MOOT_TRANSPORT_RELIABLE | MOOT_TRANSPORT_PRIVATE,
    .size = sizeof(moot_transport),
    .name = "unix",
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
