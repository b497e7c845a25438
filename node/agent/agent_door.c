/* agent_door.c - see agent_door.h. */
#include "node/agent/agent_door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PIECES_MAX = 16 }; /* at a time */

struct agent_door {
    int fd; /* to a rank; -1: nothing is awaited */
    uint32_t question;
};

struct agent_door *agent_door_new(void)
{
    struct agent_door *door = calloc(1, sizeof(*door));
    if (door) {
        door->fd = -1;
    }
    return door;
}

static void end(struct agent_door *door)
{
    if (door->fd >= 0) {
        close(door->fd);
    }
    door->fd = -1;
}

void agent_door_free(struct agent_door *door)
{
    if (door) {
        end(door);
        free(door);
    }
}

int agent_door_descriptor(const struct agent_door *door) { return door->fd; }

/* The bytes are the socket's path, 0, and the question. */
static bool ask(struct agent_door *door, const unsigned char *bytes, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const unsigned char *stop = memchr(bytes, '\0', size);
    const size_t path = stop ? (size_t)(stop - bytes) : size;
    if (!stop || path >= sizeof(address.sun_path)) {
        return false;
    }
    memcpy(address.sun_path, bytes, path);
    door->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const size_t rest = size - path - 1;
    return door->fd >= 0 &&
           connect(door->fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
           send(door->fd, stop + 1, rest, MSG_NOSIGNAL) == (ssize_t)rest;
}

static void give_up(struct agent_door *door, struct agent_stream *stream)
{
    end(door);
    agent_stream_say(stream, AGENT_ANSWER, door->question, 1, NULL, 0);
}

void agent_door_ask(struct agent_door *door, struct agent_stream *stream,
                    const struct agent_header *header, const unsigned char *bytes)
{
    end(door);
    door->question = header->value;
    if (!ask(door, bytes, header->size)) {
        give_up(door, stream);
    }
}

void agent_door_pass(struct agent_door *door, struct agent_stream *stream)
{
    unsigned char piece[AGENT_PIECE];
    for (int i = 0;
         door->fd >= 0 && i < PIECES_MAX && agent_stream_waiting(stream) < AGENT_CREDIT;
         i++) {
        const ssize_t got = recv(door->fd, piece, sizeof(piece), 0);
        if (got > 0) {
            agent_stream_say(stream, AGENT_ANSWER, door->question, 0, piece,
                             (size_t)got);
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            give_up(door, stream);
        } else {
            return;
        }
    }
}
