/* wires_walled.c - a transport over Unix sockets with walls between hosts, for tests of
 * routes: built by routes_test.sh.
 *
 *     ./walled.so:a-b,b-c[;FILE]
 *
 * Frames pass between ranks of one host, and between hosts for which there is a pair;
 * without pairs, between all.  Others go nowhere, as behind a wall.  Of the pairs that
 * stand in FILE, one a line, if it is there, nothing passes either: it is read again
 * every 20 ms.  -DPROMISES=MOOT_TRANSPORT_RELIABLE makes it promise what Unix sockets
 * keep; frames that meet a wall are then lost all the same.
 */
#include "moot_transport.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef PROMISES
#define PROMISES 0
#endif
enum { HOST_BYTES = 32, LIST_BYTES = 512, PEERS_MAX = 256, FRAME_BYTES = 16384 };

struct place {
    char host[HOST_BYTES];
    struct sockaddr_un address;
    socklen_t length;
};

struct moot_wire {
    int fd;
    uint64_t uid;
    struct place own;
    char pairs[LIST_BYTES], cut[LIST_BYTES];
    const char *file;
    struct timespec read_at;
    size_t peers;
    struct {
        uint64_t uid;
        struct place place;
    } peer[PEERS_MAX];
};

static int walled_open(const moot_transport_setup *setup, moot_wire **out, char *story,
                       size_t story_size)
{
    moot_wire *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    w->uid = setup->uid;
    snprintf(w->own.host, sizeof(w->own.host), "%s", setup->host);
    snprintf(w->pairs, sizeof(w->pairs), "%s", setup->options);
    char *file = strchr(w->pairs, ';');
    if (file != NULL) {
        *file = '\0';
        w->file = file + 1;
    }
    w->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    w->own.address.sun_family = AF_UNIX;
    w->own.length = sizeof(w->own.address);
    if (bind(w->fd, (struct sockaddr *)&w->own.address, sizeof(sa_family_t)) != 0 ||
        getsockname(w->fd, (struct sockaddr *)&w->own.address, &w->own.length) != 0) {
        snprintf(story, story_size, "walled: %s", strerror(errno));
        close(w->fd);
        free(w);
        return MOOT_ERR_TRANSPORT;
    }
    *out = w;
    return MOOT_OK;
}

static int walled_address(moot_wire *w, void *bytes, size_t *length)
{
    memcpy(bytes, &w->own, sizeof(w->own));
    *length = sizeof(w->own);
    return MOOT_OK;
}

static int walled_introduce(moot_wire *w, uint64_t uid, const void *address,
                            size_t length)
{
    if (w->peers == PEERS_MAX || length != sizeof(struct place)) {
        return MOOT_ERR_LIMIT;
    }
    w->peer[w->peers].uid = uid;
    memcpy(&w->peer[w->peers++].place, address, length);
    return MOOT_OK;
}

static bool is_listed(const char *list, const char *a, const char *b)
{
    const size_t first = strlen(a), second = strlen(b);
    while (*list != '\0') {
        const size_t length = strcspn(list, ",\n");
        if (length == first + 1 + second && memcmp(list, a, first) == 0 &&
            list[first] == '-' && memcmp(list + first + 1, b, second) == 0) {
            return true;
        }
        list += length + (list[length] != '\0');
    }
    return false;
}

static void read_cuts(moot_wire *w)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long past_ms = (long)(now.tv_sec - w->read_at.tv_sec) * 1000 +
                         (now.tv_nsec - w->read_at.tv_nsec) / 1000000;
    if (w->file == NULL || past_ms < 20) {
        return;
    }
    FILE *file = fopen(w->file, "re");
    const size_t got = file != NULL ? fread(w->cut, 1, sizeof(w->cut) - 1, file) : 0;
    w->cut[got] = '\0';
    if (file != NULL) {
        fclose(file);
    }
    w->read_at = now;
}

/* A pair in the file that ends in > is cut one way only. */
static bool passes(moot_wire *w, const char *to)
{
    char one_way[HOST_BYTES + 1];
    const char *from = w->own.host;
    read_cuts(w);
    snprintf(one_way, sizeof(one_way), "%s>", to);
    if (strcmp(from, to) == 0) {
        return true;
    }
    return (*w->pairs == '\0' || is_listed(w->pairs, from, to) ||
            is_listed(w->pairs, to, from)) &&
           !is_listed(w->cut, from, to) && !is_listed(w->cut, to, from) &&
           !is_listed(w->cut, from, one_way);
}

static int walled_send(moot_wire *w, uint64_t uid, const void *bytes, size_t size)
{
    size_t i = 0;
    while (i < w->peers && w->peer[i].uid != uid) {
        i++;
    }
    if (i == w->peers) {
        return MOOT_ERR_INVALID;
    }
    const struct place *to = &w->peer[i].place;
    struct iovec parts[] = {{&w->uid, sizeof(w->uid)}, {(void *)bytes, size}};
    const struct msghdr message = {.msg_name = (void *)&to->address,
                                   .msg_namelen = to->length,
                                   .msg_iov = parts,
                                   .msg_iovlen = 2};
    if (passes(w, to->host) &&
        sendmsg(w->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EAGAIN) {
        return MOOT_TRANSPORT_FULL;
    }
    return MOOT_OK;
}

static int walled_poll(moot_wire *w, const moot_transport_receiver *receiver,
                       int frames_max)
{
    unsigned char bytes[sizeof(uint64_t) + FRAME_BYTES];
    int handed = 0;
    while (handed < frames_max) {
        const ssize_t got = recv(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        uint64_t from;
        if (got <= (ssize_t)sizeof(from)) {
            break;
        }
        memcpy(&from, bytes, sizeof(from));
        receiver->frame(receiver->context, from, bytes + sizeof(from),
                        (size_t)got - sizeof(from));
        handed++;
    }
    return handed;
}

static bool walled_flushed(const moot_wire *w)
{
    (void)w;
    return true;
}

static void walled_forget(moot_wire *w, uint64_t uid)
{
    for (size_t i = 0; i < w->peers; i++) {
        if (w->peer[i].uid == uid) {
            w->peer[i] = w->peer[--w->peers];
        }
    }
}

static const char *walled_story(const moot_wire *w)
{
    (void)w;
    return "walled: no such peer, or too many";
}

static void walled_close(moot_wire *w)
{
    close(w->fd);
    free(w);
}

const moot_transport moot_transport_table = {.version = MOOT_TRANSPORT_VERSION,
                                             .flags = PROMISES,
                                             .size = sizeof(moot_transport),
                                             .name = "walled",
                                             .frame_max = FRAME_BYTES,
                                             .open = walled_open,
                                             .address = walled_address,
                                             .introduce = walled_introduce,
                                             .send = walled_send,
                                             .poll = walled_poll,
                                             .flushed = walled_flushed,
                                             .forget = walled_forget,
                                             .story = walled_story,
                                             .close = walled_close};
