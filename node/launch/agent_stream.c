/* agent_stream.c - see agent_stream.h. */
#include "node/launch/agent_stream.h"
#include "node/api/moot.h"
#include "proto/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GREETING_BYTES = 128, SHELL_BYTES = 64 * 1024, READ_BYTES = 64 * 1024 };
static const char greeting[] = "moot agent ";

/* Bytes that come or go. */
struct bytes {
    unsigned char *at;
    size_t first, count, room;
};

struct agent_stream {
    int from, to;
    bool greeted, over;
    bool deaf; /* the other end takes nothing any more; its last words may be here */
    size_t skipped; /* of what the shell has said */
    struct bytes in, out;
    char story[256];
};

/* The ranks of one job speak one wire, and so do their agents. */
static void release_write(char text[GREETING_BYTES / 2])
{
    snprintf(text, GREETING_BYTES / 2, "%d.%d.%d-wire%d", MOOT_VERSION_MAJOR,
             MOOT_VERSION_MINOR, MOOT_VERSION_PATCH, WIRE_VERSION);
}

/* --- Bytes ------------------------------------------------------------------------ */

/* Room for `more` behind what is there; NULL without memory. */
static unsigned char *bytes_room(struct bytes *bytes, size_t more)
{
    if (bytes->first > 0 && bytes->first + bytes->count + more > bytes->room) {
        memmove(bytes->at, bytes->at + bytes->first, bytes->count);
        bytes->first = 0;
    }
    if (bytes->count + more > bytes->room) {
        const size_t room = (bytes->count + more) * 2;
        unsigned char *at = realloc(bytes->at, room);
        if (!at) {
            return NULL;
        }
        bytes->at = at;
        bytes->room = room;
    }
    return bytes->at + bytes->first + bytes->count;
}

static void bytes_drop(struct bytes *bytes, size_t count)
{
    bytes->count -= count;
    bytes->first = bytes->count > 0 ? bytes->first + count : 0;
}

/* --- The stream ------------------------------------------------------------------- */

struct agent_stream *agent_stream_new(int from, int to)
{
    struct agent_stream *stream = calloc(1, sizeof(*stream));
    if (stream) {
        stream->from = from;
        stream->to = to;
        (void)fcntl(from, F_SETFL, fcntl(from, F_GETFL) | O_NONBLOCK);
        (void)fcntl(to, F_SETFL, fcntl(to, F_GETFL) | O_NONBLOCK);
    }
    return stream;
}

void agent_stream_free(struct agent_stream *stream)
{
    if (stream) {
        free(stream->in.at);
        free(stream->out.at);
        free(stream);
    }
}

static void stream_end(struct agent_stream *stream, const char *story)
{
    if (!stream->over) {
        stream->over = true;
        snprintf(stream->story, sizeof(stream->story), "%s", story);
    }
}

bool agent_stream_is_over(const struct agent_stream *stream) { return stream->over; }

const char *agent_stream_story(const struct agent_stream *stream)
{
    return stream->story;
}

bool agent_stream_was_greeted(const struct agent_stream *stream)
{
    return stream->greeted;
}

/* --- Sending ---------------------------------------------------------------------- */

static void put(struct agent_stream *stream, const void *bytes, size_t size)
{
    if (stream->deaf) {
        return;
    }
    unsigned char *to = size > 0 ? bytes_room(&stream->out, size) : NULL;
    if (to) {
        memcpy(to, bytes, size);
        stream->out.count += size;
    } else if (size > 0) {
        stream_end(stream, "out of memory");
    }
}

void agent_stream_greet(struct agent_stream *stream)
{
    char line[GREETING_BYTES], release[GREETING_BYTES / 2];
    release_write(release);
    const int length =
        snprintf(line, sizeof(line), "\n%s%d %s\n", greeting, AGENT_PROTOCOL, release);
    put(stream, line, (size_t)length);
}

void agent_stream_say(struct agent_stream *stream, enum agent_kind kind, uint32_t value,
                      uint32_t flag, const void *bytes, size_t size)
{
    const struct agent_header header = {(uint32_t)kind, value, flag, (uint32_t)size};
    put(stream, &header, sizeof(header));
    put(stream, bytes, size);
    agent_stream_flush(stream);
}

void agent_stream_flush(struct agent_stream *stream)
{
    struct bytes *out = &stream->out;
    while (!stream->over && out->count > 0) {
        const ssize_t done = write(stream->to, out->at + out->first, out->count);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            if (errno != EAGAIN) {
                stream->deaf = true;
                bytes_drop(out, out->count);
            }
            return;
        }
        bytes_drop(out, (size_t)done);
    }
}

size_t agent_stream_waiting(const struct agent_stream *stream)
{
    return stream->out.count;
}

/* --- Reading ---------------------------------------------------------------------- */

/* Whether a greeting, of so many bytes with its end, is of this protocol and release.
 */
static void greeting_judge(struct agent_stream *stream, const char *line, size_t length)
{
    char text[GREETING_BYTES], own[GREETING_BYTES / 2];
    char *rest = text;
    snprintf(text, sizeof(text), "%.*s", (int)(length - sizeof(greeting)),
             line + sizeof(greeting) - 1);
    const long protocol = strtol(text, &rest, 10);
    const char *release = *rest == ' ' ? rest + 1 : "unknown";
    release_write(own);
    if (protocol != AGENT_PROTOCOL || strcmp(release, own) != 0) {
        char story[sizeof(stream->story)];
        snprintf(story, sizeof(story),
                 "moot there is of release %.40s, and here of %.40s: install the same "
                 "on all hosts",
                 release, own);
        stream_end(stream, story);
    }
    stream->greeted = true;
}

/* Skips whole lines up to the greeting; false as long as that has not come whole. */
static bool greeting_take(struct agent_stream *stream)
{
    struct bytes *in = &stream->in;
    while (in->count > 0 && !stream->over) {
        const char *line = (const char *)in->at + in->first;
        const char *end = memchr(line, '\n', in->count);
        const size_t length = end ? (size_t)(end - line) + 1 : in->count;
        if (!end && in->count < GREETING_BYTES) {
            return false;
        }
        if (end && length > sizeof(greeting) && length < GREETING_BYTES &&
            memcmp(line, greeting, sizeof(greeting) - 1) == 0) {
            greeting_judge(stream, line, length);
            bytes_drop(in, length);
            return true;
        }
        stream->skipped += length;
        bytes_drop(in, length);
        if (stream->skipped > SHELL_BYTES) {
            stream_end(stream,
                       "it says other things than moot's agent does: is a login "
                       "shell there that talks?");
        }
    }
    return false;
}

static void frames_take(struct agent_stream *stream, agent_take take, void *context)
{
    struct bytes *in = &stream->in;
    while (!stream->over && in->count >= sizeof(struct agent_header)) {
        struct agent_header header;
        memcpy(&header, in->at + in->first, sizeof(header));
        if (header.kind < AGENT_JOB || header.kind > AGENT_JOINED ||
            header.size > AGENT_FRAME_MAX) {
            stream_end(stream, "it says what makes no sense");
            return;
        }
        if (in->count < sizeof(header) + header.size) {
            return;
        }
        take(context, &header, in->at + in->first + sizeof(header));
        bytes_drop(in, sizeof(header) + header.size);
    }
}

void agent_stream_read(struct agent_stream *stream, bool greeted, agent_take take,
                       void *context)
{
    enum { ROUNDS_MAX = 16 };
    for (int round = 0; !stream->over && round < ROUNDS_MAX; round++) {
        unsigned char *to = bytes_room(&stream->in, READ_BYTES);
        const ssize_t got = to ? read(stream->from, to, READ_BYTES) : 0;
        if (!to) {
            stream_end(stream, "out of memory");
        } else if (got == 0) {
            stream_end(stream, "");
        } else if (got < 0 && errno != EINTR) {
            if (errno != EAGAIN) {
                stream_end(stream, stream->deaf ? "" : strerror(errno));
            } else if (stream->deaf) {
                stream_end(stream, "");
            }
            return;
        } else if (got > 0) {
            stream->in.count += (size_t)got;
            if (!greeted || stream->greeted || greeting_take(stream)) {
                frames_take(stream, take, context);
            }
        }
    }
}
