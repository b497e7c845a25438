/* transport_zmq.c - a transport of a user's own: ZeroMQ, as a star through a broker.
 *
 *     cc -shared -fPIC transport_zmq.c -o transport_zmq.so -lzmq $(pkg-config --cflags
 * --libs moot) cc zmq_broker.c -o zmq_broker -lzmq moot check-transport
 * ./transport_zmq.so moot run -n 4 --launcher local --transport ./transport_zmq.so tsp
 * burma14.tsp
 *
 * No rank connects to another: each has one socket, to a broker, and its messages say
 * for whom they are.  A rank starts the broker of its job, zmq_broker beside this file,
 * if none is there, also when one has died.  Across hosts a broker is started by hand,
 * and named: --transport ./transport_zmq.so:tcp://HOST:5555.
 *
 * moot_stream.h makes a transport of byte streams, so this is what is left to write: a
 * stream is a number that its maker draws, and its bytes go in messages of three parts,
 * for whom, a head, and the bytes.  A stream has at most WINDOW messages under way, so
 * that no queue of ZeroMQ needs a limit at which it drops some.  If one is lost the
 * stream is over, as the numbers of messages show: that is allowed, since this
 * transport does not promise RELIABLE.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <moot_stream.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <zmq.h>

enum {
    NAME_BYTES = 9, /* 'm' and a uid: the name of a socket */
    CHUNK_BYTES = 64 << 10,
    WINDOW = 128,      /* messages */
    HELD_MAX = 8 << 20 /* bytes that were received and not read */
};
enum kind { BYTES, TAKEN, ENDS };

struct head {
    uint64_t stream;
    uint32_t number; /* of this message with bytes, in its stream and direction */
    uint32_t taken;  /* messages of the other direction that were read */
    uint8_t by_maker, kind, padding[6];
};

struct chunk {
    struct chunk *next;
    size_t size, used;
    unsigned char bytes[];
};

struct moot_stream {
    moot_stream_end *end;
    uint64_t peer, id;
    int made_here, accepted, over;
    uint32_t sent, taken_there, received, taken, told;
    struct chunk *first, **last; /* to be read */
    moot_stream *next;
};

struct moot_stream_end {
    void *context, *socket, *watch;
    uint64_t uid, next_id;
    char endpoint[256];
    int own; /* the broker is this job's */
    int connected, reached;
    time_t started;
    size_t held;
    moot_stream *streams;
};

/* --- The broker ------------------------------------------------------------------- */

/* Starts zmq_broker, which lies where this shared object does, at most once a second.
 * If there is one for this job it ends at once. */
static void start_broker(moot_stream_end *end)
{
    static const char anything;
    Dl_info here;
    char program[4096];
    extern char **environ;
    if (!end->own || time(NULL) == end->started || !dladdr(&anything, &here)) {
        return;
    }
    end->started = time(NULL);
    const char *slash = strrchr(here.dli_fname, '/');
    snprintf(program, sizeof(program), "%.*szmq_broker",
             slash ? (int)(slash + 1 - here.dli_fname) : 0, here.dli_fname);
    char *words[] = {program, (char[]){"--job"}, end->endpoint, NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", 0, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", 1, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", 1, 0);
    pid_t child;
    if (posix_spawn(&child, program, &files, NULL, words, environ) == 0) {
        waitpid(child, NULL, 0); /* it goes into the background */
    }
    posix_spawn_file_actions_destroy(&files);
}

/* The next event of the socket's connection; 0: none. */
static int read_watch(moot_stream_end *end)
{
    unsigned char event[64];
    char whose[256];
    uint16_t kind = 0;
    if (zmq_recv(end->watch, event, sizeof(event), ZMQ_DONTWAIT) < 6) {
        return 0;
    }
    zmq_recv(end->watch, whose, sizeof(whose), ZMQ_DONTWAIT);
    memcpy(&kind, event, sizeof(kind));
    return kind;
}

/* Without the broker all streams are over; another one knows nothing of them. */
static void look_for_broker(moot_stream_end *end)
{
    int kind;
    while ((kind = read_watch(end)) != 0) {
        for (moot_stream *each = end->streams; kind == ZMQ_EVENT_DISCONNECTED && each;
             each = each->next) {
            each->over = 1;
        }
        end->connected = kind == ZMQ_EVENT_CONNECTED;
        if (!end->connected) {
            start_broker(end);
        }
    }
}

/* --- Messages --------------------------------------------------------------------- */

static void send_message(moot_stream *stream, enum kind kind, const void *bytes,
                         size_t size)
{
    unsigned char name[NAME_BYTES] = {'m'};
    const struct head head = {.stream = stream->id,
                              .number = stream->sent,
                              .taken = stream->taken,
                              .by_maker = (uint8_t)stream->made_here,
                              .kind = (uint8_t)kind};
    void *socket = stream->end->socket;
    memcpy(name + 1, &stream->peer, sizeof(stream->peer));
    zmq_send(socket, name, sizeof(name), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    zmq_send(socket, &head, sizeof(head), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    zmq_send(socket, bytes, size, ZMQ_DONTWAIT);
    stream->sent += kind == BYTES;
    stream->told = stream->taken;
}

static moot_stream *add_stream(moot_stream_end *end, uint64_t peer, uint64_t id,
                               int made_here)
{
    moot_stream *stream = calloc(1, sizeof(*stream));
    if (stream != NULL) {
        stream->end = end;
        stream->peer = peer;
        stream->id = id;
        stream->made_here = stream->accepted = made_here;
        stream->last = &stream->first;
        stream->next = end->streams;
        end->streams = stream;
    }
    return stream;
}

static moot_stream *find_stream(moot_stream_end *end, uint64_t peer, uint64_t id,
                                int made_here)
{
    moot_stream *stream = end->streams;
    while (stream && (stream->peer != peer || stream->id != id ||
                      stream->made_here != made_here)) {
        stream = stream->next;
    }
    return stream;
}

static void keep_bytes(moot_stream *stream, const void *bytes, size_t size)
{
    struct chunk *chunk = malloc(sizeof(*chunk) + size);
    if (chunk == NULL) {
        stream->over = 1;
        return;
    }
    *chunk = (struct chunk){NULL, size, 0};
    memcpy(chunk->bytes, bytes, size);
    *stream->last = chunk;
    stream->last = &chunk->next;
    stream->end->held += size;
}

/* A message has come.  The broker lets nobody but `peer` say that it is `peer`'s. */
static void take_message(moot_stream_end *end, uint64_t peer, const struct head *head,
                         const void *bytes, size_t size)
{
    moot_stream *stream = find_stream(end, peer, head->stream, !head->by_maker);
    end->reached |= peer == end->uid;
    if (stream == NULL && head->by_maker && head->number == 0 && head->kind == BYTES) {
        stream = add_stream(end, peer, head->stream, 0);
    }
    if (stream == NULL) {
        moot_stream gone = {
            .end = end, .peer = peer, .id = head->stream, .made_here = !head->by_maker};
        if (head->kind != ENDS) {
            send_message(&gone, ENDS, "", 0);
        }
        return;
    }
    stream->taken_there = head->taken;
    stream->over |= head->kind == ENDS ||
                    (head->kind == BYTES && head->number != stream->received++);
    if (!stream->over && head->kind == BYTES) {
        keep_bytes(stream, bytes, size);
    }
}

/* Reads one message, if there is one. */
static int receive(moot_stream_end *end)
{
    zmq_msg_t parts[3];
    struct head head;
    uint64_t peer;
    int count = 0, more = 1;
    while (more && count < 3) {
        zmq_msg_init(&parts[count]);
        if (zmq_msg_recv(&parts[count], end->socket, ZMQ_DONTWAIT) < 0) {
            return 0; /* messages come whole, so there is none */
        }
        more = zmq_msg_more(&parts[count++]);
    }
    if (count >= 2 && !more && zmq_msg_size(&parts[0]) == NAME_BYTES &&
        zmq_msg_size(&parts[1]) == sizeof(head)) {
        memcpy(&peer, (char *)zmq_msg_data(&parts[0]) + 1, sizeof(peer));
        memcpy(&head, zmq_msg_data(&parts[1]), sizeof(head));
        if (count == 3) {
            take_message(end, peer, &head, zmq_msg_data(&parts[2]),
                         zmq_msg_size(&parts[2]));
        } else { /* the broker could not pass it on */
            moot_stream *stream = find_stream(end, peer, head.stream, head.by_maker);
            if (stream != NULL) {
                stream->over = 1;
            }
        }
    }
    while (count > 0) {
        zmq_msg_close(&parts[--count]);
    }
    return 1;
}

/* Waits until a message from this end to itself has come back: then others reach it. */
static int wait_for_broker(moot_stream_end *end)
{
    moot_stream itself = {.end = end, .peer = end->uid};
    const time_t began = time(NULL);
    while (time(NULL) < began + 5) {
        zmq_pollitem_t item = {end->socket, 0, ZMQ_POLLIN, 0};
        start_broker(end);
        if (end->connected) {
            send_message(&itself, ENDS, "", 0);
        }
        (void)zmq_poll(&item, 1, 20);
        look_for_broker(end);
        while (receive(end)) {
        }
        if (end->reached) {
            return 1;
        }
    }
    return 0;
}

/* --- The table -------------------------------------------------------------------- */

static moot_stream *zmq_stream_connect(moot_stream_end *end, const void *address,
                                       size_t length, unsigned attempt)
{
    uint64_t peer;
    (void)attempt;
    if (length != sizeof(peer)) {
        return NULL;
    }
    memcpy(&peer, address, sizeof(peer));
    return add_stream(end, peer, end->next_id++, 1);
}

static moot_stream *zmq_stream_accept(moot_stream_end *end)
{
    look_for_broker(end);
    while (end->held < HELD_MAX && receive(end)) {
    }
    for (moot_stream *each = end->streams; each; each = each->next) {
        if (!each->accepted) {
            each->accepted = 1;
            return each;
        }
    }
    return NULL;
}

static ptrdiff_t zmq_stream_read(moot_stream *stream, void *bytes, size_t size)
{
    struct chunk *chunk = stream->first;
    if (chunk == NULL) {
        return stream->over ? -1 : 0;
    }
    const size_t left = chunk->size - chunk->used;
    const size_t done = left < size ? left : size;
    memcpy(bytes, chunk->bytes + chunk->used, done);
    chunk->used += done;
    stream->end->held -= done;
    if (chunk->used == chunk->size) {
        stream->first = chunk->next;
        if (stream->first == NULL) {
            stream->last = &stream->first;
        }
        free(chunk);
        stream->taken++;
        if (stream->taken - stream->told >= WINDOW / 2) {
            send_message(stream, TAKEN, "", 0);
        }
    }
    return (ptrdiff_t)done;
}

static ptrdiff_t zmq_stream_write(moot_stream *stream, const void *bytes, size_t size,
                                  bool more)
{
    const size_t part = size < CHUNK_BYTES ? size : CHUNK_BYTES;
    (void)more;
    if (stream->over) {
        return -1;
    }
    if (stream->sent - stream->taken_there >= WINDOW) {
        return 0;
    }
    send_message(stream, BYTES, bytes, part);
    return (ptrdiff_t)part;
}

static void drop_stream(moot_stream *stream)
{
    send_message(stream, ENDS, "", 0);
    for (struct chunk *chunk = stream->first, *next; chunk; chunk = next) {
        next = chunk->next;
        stream->end->held -= chunk->size - chunk->used;
        free(chunk);
    }
    free(stream);
}

static void zmq_stream_hang_up(moot_stream *stream)
{
    moot_stream **at = &stream->end->streams;
    while (*at != stream) {
        at = &(*at)->next;
    }
    *at = stream->next;
    drop_stream(stream);
}

static int zmq_stream_address(moot_stream_end *end, void *bytes, size_t *length)
{
    memcpy(bytes, &end->uid, sizeof(end->uid));
    *length = sizeof(end->uid);
    return MOOT_OK;
}

static void zmq_stream_close(moot_stream_end *end)
{
    while (end->streams != NULL) { /* came, and were not accepted */
        moot_stream *first = end->streams;
        end->streams = first->next;
        drop_stream(first);
    }
    zmq_socket_monitor(end->socket, NULL, 0);
    zmq_close(end->watch);
    zmq_close(end->socket);
    zmq_ctx_term(
        end->context); /* waits for what is under way, as long as LINGER says */
    free(end);
}

static int zmq_stream_open(const moot_transport_setup *setup, moot_stream_end **out,
                           char *story, size_t story_size)
{
    const int no_limit = 0, linger_ms = 200, again_ms = 20;
    unsigned char name[NAME_BYTES] = {'m'};
    moot_stream_end *end = calloc(1, sizeof(*end));
    if (end == NULL) {
        snprintf(story, story_size, "zmq: no memory");
        return MOOT_ERR_NO_MEMORY;
    }
    end->uid = setup->uid;
    end->own = *setup->options == '\0';
    if (end->own) {
        snprintf(end->endpoint, sizeof(end->endpoint), "ipc://@moot-zmq-%016llx",
                 (unsigned long long)setup->job);
    } else {
        snprintf(end->endpoint, sizeof(end->endpoint), "%s", setup->options);
    }
    end->context = zmq_ctx_new();
    end->socket = zmq_socket(end->context, ZMQ_DEALER);
    end->watch = zmq_socket(end->context, ZMQ_PAIR);
    memcpy(name + 1, &end->uid, sizeof(end->uid));
    zmq_setsockopt(end->socket, ZMQ_ROUTING_ID, name, sizeof(name));
    zmq_setsockopt(end->socket, ZMQ_SNDHWM, &no_limit, sizeof(no_limit));
    zmq_setsockopt(end->socket, ZMQ_RCVHWM, &no_limit, sizeof(no_limit));
    zmq_setsockopt(end->socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
    zmq_setsockopt(end->socket, ZMQ_RECONNECT_IVL, &again_ms, sizeof(again_ms));
    zmq_socket_monitor(end->socket, "inproc://watch",
                       ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED |
                           ZMQ_EVENT_CONNECT_RETRIED);
    zmq_connect(end->watch, "inproc://watch");
    if (zmq_connect(end->socket, end->endpoint) != 0) {
        snprintf(story, story_size, "zmq: %s: %s", end->endpoint,
                 zmq_strerror(zmq_errno()));
        zmq_stream_close(end);
        return MOOT_ERR_CONFIG;
    }
    if (!wait_for_broker(end)) {
        snprintf(story, story_size,
                 "zmq: no broker at %s; start one there: zmq_broker ENDPOINT",
                 end->endpoint);
        zmq_stream_close(end);
        return MOOT_ERR_TRANSPORT;
    }
    *out = end;
    return MOOT_OK;
}

static const moot_stream_transport streams = {.size = sizeof(moot_stream_transport),
                                              .open = zmq_stream_open,
                                              .address = zmq_stream_address,
                                              .connect = zmq_stream_connect,
                                              .accept = zmq_stream_accept,
                                              .read = zmq_stream_read,
                                              .write = zmq_stream_write,
                                              .hang_up = zmq_stream_hang_up,
                                              .close = zmq_stream_close};
MOOT_STREAM_TRANSPORT("zmq", 0, streams)
