/* tcp.c - connections of the transport `tcp`, by epoll (tcp.h). */
#include "node/wires/tcp/tcp.h"
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct moot_stream {
    moot_stream_end *end;
    int fd;
    bool drained; /* nothing is to be read until epoll says so */
    bool parted;  /* the other side has ended it, or an error has */
};

/* --- Addresses ---------------------------------------------------------------------
 */

enum { WAY_BYTES = 1 + 2 + 16 };

socklen_t tcp_address_size(const union tcp_address *address)
{
    return address->any.sa_family == AF_INET ? sizeof(address->v4)
                                             : sizeof(address->v6);
}

static int give_address(moot_stream_end *end, void *bytes, size_t *length)
{
    unsigned char *at = bytes;
    for (int i = 0; i < end->way_count; i++, at += WAY_BYTES) {
        const union tcp_address *way = &end->ways[i];
        const bool v4 = way->any.sa_family == AF_INET;
        memset(at, 0, WAY_BYTES);
        at[0] = v4 ? 4 : 6;
        memcpy(at + 1, v4 ? &way->v4.sin_port : &way->v6.sin6_port, 2);
        memcpy(at + 3, v4 ? (const void *)&way->v4.sin_addr : &way->v6.sin6_addr,
               v4 ? sizeof(way->v4.sin_addr) : sizeof(way->v6.sin6_addr));
    }
    *length = (size_t)end->way_count * WAY_BYTES;
    return MOOT_OK;
}

static bool read_way(const unsigned char *at, union tcp_address *way)
{
    memset(way, 0, sizeof(*way));
    if (at[0] == 4) {
        way->v4.sin_family = AF_INET;
        memcpy(&way->v4.sin_port, at + 1, 2);
        memcpy(&way->v4.sin_addr, at + 3, sizeof(way->v4.sin_addr));
    } else {
        way->v6.sin6_family = AF_INET6;
        memcpy(&way->v6.sin6_port, at + 1, 2);
        memcpy(&way->v6.sin6_addr, at + 3, sizeof(way->v6.sin6_addr));
    }
    return at[0] == 4 || at[0] == 6;
}

/* --- Connections -------------------------------------------------------------------
 */

static moot_stream *add_stream(moot_stream_end *end, int fd)
{
    const int on = 1, patience_ms = TCP_PATIENCE_MS;
    moot_stream *stream = malloc(sizeof(*stream));
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = stream};
    if (stream == NULL || epoll_ctl(end->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        (void)close(fd);
        free(stream);
        return NULL;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms,
                     sizeof(patience_ms));
    *stream = (moot_stream){.end = end, .fd = fd};
    end->streams++;
    return stream;
}

static moot_stream *begin_connection(moot_stream_end *end, const void *address,
                                     size_t length, unsigned attempt)
{
    const unsigned char *bytes = address;
    const size_t count = length / WAY_BYTES;
    union tcp_address way;
    if (count == 0 || !read_way(bytes + attempt % count * WAY_BYTES, &way)) {
        return NULL;
    }
    const int fd =
        socket(way.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return NULL;
    }
    if (connect(fd, &way.any, tcp_address_size(&way)) != 0 && errno != EINPROGRESS) {
        (void)close(fd);
        return NULL;
    }
    return add_stream(end, fd);
}

static moot_stream *accept_connection(moot_stream_end *end)
{
    for (int i = 0; end->knocked && i < end->listener_count; i++) {
        const int fd =
            accept4(end->listeners[i], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            return add_stream(end, fd);
        }
    }
    end->knocked = false;
    return NULL;
}

static ptrdiff_t read_connection(moot_stream *stream, void *bytes, size_t size)
{
    if (stream->drained && !stream->parted) {
        return 0;
    }
    const ssize_t came = recv(stream->fd, bytes, size, 0);
    if (came == 0) {
        return -1;
    }
    stream->drained = came < (ssize_t)size;
    return came > 0 ? came : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

static ptrdiff_t write_connection(moot_stream *stream, const void *bytes, size_t size,
                                  bool more)
{
    stream->end->wrote = true;
    const ssize_t went =
        send(stream->fd, bytes, size, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    return went > 0 ? went : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* A process that the program has forked may hold it open: it is to end all the same,
 * and epoll is to say nothing of it any more. */
static void end_connection(moot_stream *stream)
{
    stream->end->streams--;
    (void)epoll_ctl(stream->end->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
    (void)shutdown(stream->fd, SHUT_WR);
    (void)close(stream->fd);
    free(stream);
}

/* Whether the system is to be asked now.  That takes longer than a look at a ring of
 * this host, and who polls looks at both, so while nothing passes here it is done
 * less often: a frame after a silence comes a little later. */
static bool is_due(moot_stream_end *end)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    const uint64_t now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    if (end->wrote) {
        end->wrote = false;
        end->busy_ns = now;
    }
    const uint64_t pause_ns = end->streams == 0                     ? TCP_ALONE_NS
                              : now - end->busy_ns > TCP_SILENCE_NS ? TCP_SILENT_NS
                                                                    : 0;
    if (now - end->asked_ns < pause_ns) {
        return false;
    }
    end->asked_ns = now;
    return true;
}

static int find_ready(moot_stream_end *end, moot_stream **out, int max)
{
    enum { AT_ONCE = 64 };
    struct epoll_event events[AT_ONCE];
    if (!is_due(end)) {
        return 0;
    }
    const int count = epoll_wait(end->epoll, events, max < AT_ONCE ? max : AT_ONCE, 0);
    int found = 0;
    end->busy_ns = count > 0 ? end->asked_ns : end->busy_ns;
    for (int i = 0; i < count; i++) {
        moot_stream *stream = events[i].data.ptr;
        if (stream == NULL) {
            end->knocked = true;
            continue;
        }
        const unsigned ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
        stream->drained = stream->drained && (events[i].events & EPOLLIN) == 0;
        stream->parted = stream->parted || (events[i].events & ends) != 0;
        out[found++] = stream;
    }
    return found;
}

static int give_descriptor(const moot_stream_end *end) { return end->epoll; }

/* --- Beginning and end --------------------------------------------------------------
 */

static void close_end(moot_stream_end *end)
{
    for (int i = 0; i < end->listener_count; i++) {
        (void)close(end->listeners[i]);
    }
    (void)close(end->epoll);
    free(end);
}

static int open_end(const moot_transport_setup *setup, moot_stream_end **out,
                    char *story, size_t story_size)
{
    struct epoll_event event = {.events = EPOLLIN};
    moot_stream_end *end = calloc(1, sizeof(*end));
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (end == NULL || epoll < 0) {
        (void)snprintf(story, story_size, "tcp: no memory, or no descriptor is free");
        free(end);
        if (epoll >= 0) {
            (void)close(epoll);
        }
        return MOOT_ERR_NO_MEMORY;
    }
    end->epoll = epoll;
    int code = tcp_listen(end, setup, story, story_size);
    for (int i = 0; code == MOOT_OK && i < end->listener_count; i++) {
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, end->listeners[i], &event) != 0) {
            (void)snprintf(story, story_size, "tcp: epoll_ctl: %s", strerror(errno));
            code = MOOT_ERR_TRANSPORT;
        }
    }
    if (code != MOOT_OK) {
        close_end(end);
        return code;
    }
    *out = end;
    return MOOT_OK;
}

static const moot_stream_transport tcp_streams = {
    .size = sizeof(moot_stream_transport),
    .open = open_end,
    .address = give_address,
    .connect = begin_connection,
    .accept = accept_connection,
    .read = read_connection,
    .write = write_connection,
    .hang_up = end_connection,
    .close = close_end,
    .ready = find_ready,
    .descriptor = give_descriptor,
};
MOOT_STREAM_TABLE(/* seen in the library */, tcp_transport, "tcp", 0, tcp_streams)
