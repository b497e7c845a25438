/* relay.c - see relay.h. */
#include "node/launch/relay.h"
#include "node/launch/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* A write of so much to a pipe that has room does not block (pipe(7)). */
enum { LINE_BYTES = 4096, EVENTS = 64, PATIENCE_MS = 200 };
enum { LOOK_MS = 100, LOOKS_MAX = 20 };          /* for room, once a signal has come */
enum { ROUNDS_MAX = 64, ROUNDS_LAST = 1 << 14 }; /* more may come for ever */

struct relay_stream {
    int fd; /* -1: closed */
    bool error;
    size_t count;     /* of a line without an end, */
    int64_t heard_ms; /* whose last piece came then */
    char line[LINE_BYTES];
};

struct relay {
    struct relay_stream *streams;
    size_t stream_count, waiting; /* of streams: such as hold a line without an end */
    int events;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct relay *relay_new(int ranks)
{
    const size_t count = (size_t)ranks * RELAY_STREAMS;
    struct relay *relay = calloc(1, sizeof(*relay));
    struct relay_stream *streams = calloc(count, sizeof(*streams));
    const int events = epoll_create1(EPOLL_CLOEXEC);
    if (!relay || !streams || events < 0) {
        free(relay);
        free(streams);
        if (events >= 0) {
            close(events);
        }
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        streams[i].fd = -1;
        streams[i].error = i % RELAY_STREAMS == RELAY_ERROR;
    }
    *relay =
        (struct relay){.streams = streams, .stream_count = count, .events = events};
    return relay;
}

static void stream_close(struct relay_stream *stream)
{
    if (stream->fd >= 0) {
        close(stream->fd);
    }
    stream->fd = -1;
}

void relay_free(struct relay *relay)
{
    if (!relay) {
        return;
    }
    for (size_t i = 0; i < relay->stream_count; i++) {
        stream_close(&relay->streams[i]);
    }
    close(relay->events);
    free(relay->streams);
    free(relay);
}

/* Where there are no terminals (any more) it is a pipe, too. */
static bool terminal_open(int ends[2])
{
    struct termios raw;
    if (openpty(&ends[0], &ends[1], NULL, NULL, NULL) != 0) {
        return pipe2(ends, O_CLOEXEC) == 0;
    }
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    if (tcgetattr(ends[1], &raw) == 0) {
        cfmakeraw(&raw);
        (void)tcsetattr(ends[1], TCSANOW, &raw);
    }
    return true;
}

bool relay_open(struct relay *relay, int rank, int ends[RELAY_STREAMS])
{
    const size_t first = (size_t)rank * RELAY_STREAMS;
    int pair[2];
    for (int i = 0; i < RELAY_STREAMS; i++) {
        struct relay_stream *stream = &relay->streams[first + (size_t)i];
        struct epoll_event event = {.events = EPOLLIN,
                                    .data.u32 = (uint32_t)first + (uint32_t)i};
        const bool opened =
            stream->error ? pipe2(pair, O_CLOEXEC) == 0 : terminal_open(pair);
        if (!opened) {
            const int why = errno;
            if (i > 0) {
                close(ends[0]);
            }
            errno = why;
            return false;
        }
        (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
        (void)epoll_ctl(relay->events, EPOLL_CTL_ADD, pair[0], &event);
        stream->fd = pair[0];
        ends[i] = pair[1];
    }
    return true;
}

int relay_descriptor(const struct relay *relay) { return relay->events; }

/* Looks in vain at this process's output and error, once a signal has come, since there
 * was room. */
static int looks[RELAY_STREAMS];

bool relay_room(void *context, bool error, bool waits)
{
    struct pollfd room = {.fd = error ? STDERR_FILENO : STDOUT_FILENO,
                          .events = POLLOUT};
    int *vain = &looks[error ? RELAY_ERROR : RELAY_OUTPUT], count;
    (void)context;
    do {
        count = poll(&room, 1, waits && *vain < LOOKS_MAX ? LOOK_MS : 0);
        *vain = count > 0 ? 0 : *vain + (waits && signals_count() > 0);
    } while (count <= 0 && waits && *vain < LOOKS_MAX);
    return count > 0; /* also one whose reader has gone: nothing is kept for that */
}

static void stream_put(struct relay *relay, struct relay_stream *stream, size_t size,
                       const struct relay_sink *sink)
{
    if (size == 0) {
        return;
    }
    const int rank = (int)((size_t)(stream - relay->streams) / RELAY_STREAMS);
    sink->put(sink->context, rank, stream->error, stream->line, size);
    stream->count -= size;
    memmove(stream->line, stream->line + size, stream->count);
    relay->waiting -= stream->count == 0;
}

static size_t whole_lines(const struct relay_stream *stream)
{
    const char *end = memrchr(stream->line, '\n', stream->count);
    const bool full = stream->count == sizeof(stream->line);
    return end ? (size_t)(end - stream->line) + 1 : full ? stream->count : 0;
}

/* One piece; false if there is none. */
static bool stream_read(struct relay *relay, struct relay_stream *stream,
                        const struct relay_sink *sink)
{
    const ssize_t got = read(stream->fd, stream->line + stream->count,
                             sizeof(stream->line) - stream->count);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) { /* EIO: nobody has the
                                                                  terminal any more */
            stream_put(relay, stream, stream->count, sink);
            stream_close(stream);
        }
        return false;
    }
    relay->waiting += stream->count == 0;
    stream->count += (size_t)got;
    stream->heard_ms = now_ms();
    stream_put(relay, stream, whole_lines(stream), sink);
    return true;
}

/* The rest of its line may be there, and wait for room here. */
static bool has_more(const struct relay_stream *stream)
{
    struct pollfd more = {.fd = stream->fd, .events = POLLIN};
    return poll(&more, 1, 0) > 0;
}

/* Lines without an end that have waited for it long enough. */
static void rests_put(struct relay *relay, bool last, const struct relay_sink *sink)
{
    const int64_t until_ms = now_ms() - PATIENCE_MS;
    for (size_t i = 0; relay->waiting > 0 && i < relay->stream_count; i++) {
        struct relay_stream *stream = &relay->streams[i];
        const bool late = stream->heard_ms <= until_ms && !has_more(stream);
        if (stream->count > 0 &&
            (last || (late && sink->room(sink->context, stream->error, false)))) {
            stream_put(relay, stream, stream->count, sink);
        }
    }
}

bool relay_pass(struct relay *relay, bool last, const struct relay_sink *sink)
{
    const int rounds_max = last ? ROUNDS_LAST : ROUNDS_MAX;
    struct epoll_event events[EVENTS];
    bool goes_on = true, has_all = true;
    for (int round = 0; goes_on && round < rounds_max; round++) {
        const int count = epoll_wait(relay->events, events, EVENTS, 0);
        goes_on = false;
        for (int i = 0; i < count; i++) {
            struct relay_stream *stream = &relay->streams[events[i].data.u32];
            if (stream->fd < 0) {
                continue;
            }
            const bool room = sink->room(sink->context, stream->error, last);
            const bool came = room && stream_read(relay, stream, sink);
            goes_on |= came || stream->fd < 0;
            has_all &= room;
        }
        if (last && !has_all) {
            return false;
        }
    }
    rests_put(relay, last, sink);
    return has_all;
}
