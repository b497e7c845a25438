/* zmq_broker.c - the middle of a star: hands messages of ZeroMQ from one end to
 * another.
 *
 *     zmq_broker ENDPOINT          until it is killed: zmq_broker tcp://0.0.0.0:5555
 *     zmq_broker --job ENDPOINT    in the background, until the last end has left
 *
 * transport_zmq.c starts the second by itself.  A message is a receiver's name and some
 * more parts.  It goes to that receiver behind its sender's name.  If the receiver is
 * not here the sender gets its first two parts back, and so knows.
 * Nothing is kept here, so another broker may take the place of one that has died.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

enum { PARTS_MAX = 3, LONELY_MS = 10000, WATCH_BYTES = 64 };

struct message {
    zmq_msg_t parts[PARTS_MAX + 1]; /* the sender's name, and what it sent */
    int count;
};

/* Reads one, if there is one. */
static int take(void *router, struct message *message)
{
    int more = 1;
    message->count = 0;
    while (more && message->count <= PARTS_MAX) {
        zmq_msg_t *part = &message->parts[message->count];
        zmq_msg_init(part);
        if (zmq_msg_recv(part, router, ZMQ_DONTWAIT) < 0) {
            return 0;
        }
        message->count++;
        more = zmq_msg_more(part);
    }
    while (more) { /* none of ours: too many parts */
        zmq_msg_t rest;
        zmq_msg_init(&rest);
        more = zmq_msg_recv(&rest, router, ZMQ_DONTWAIT) >= 0 && zmq_msg_more(&rest);
        zmq_msg_close(&rest);
        message->count = 1;
    }
    return 1;
}

/* Sends parts 0 to count-1 but with those two changed: to whom, and from whom. */
static int give(void *router, struct message *message, int to, int from, int count)
{
    zmq_msg_t *part = message->parts;
    zmq_msg_t name;
    zmq_msg_init(&name);
    zmq_msg_copy(&name, &part[to]);
    if (zmq_msg_send(&name, router, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&name);
        return 0;
    }
    zmq_msg_init(&name);
    zmq_msg_copy(&name, &part[from]);
    zmq_msg_send(&name, router, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    for (int i = 2; i < count; i++) {
        zmq_msg_send(&part[i], router,
                     ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0));
    }
    return 1;
}

static void pass_on(void *router)
{
    struct message message;
    while (take(router, &message)) {
        if (message.count > 2 && !give(router, &message, 1, 0, message.count)) {
            give(router, &message, 0, 1, 3);
        }
        for (int i = 0; i < message.count; i++) {
            zmq_msg_close(&message.parts[i]);
        }
    }
}

/* How many ends have come, less those that have gone, by the next word of the watch. */
static int read_watch(void *watch)
{
    unsigned char event[WATCH_BYTES];
    char whose[WATCH_BYTES];
    unsigned short kind = 0;
    if (zmq_recv(watch, event, sizeof(event), ZMQ_DONTWAIT) < (int)sizeof(kind)) {
        return 0;
    }
    zmq_recv(watch, whose, sizeof(whose), 0);
    memcpy(&kind, event, sizeof(kind));
    return kind == ZMQ_EVENT_ACCEPTED ? 1 : kind == ZMQ_EVENT_DISCONNECTED ? -1 : 0;
}

static void serve(void *router, void *watch, int for_job)
{
    zmq_pollitem_t items[] = {{router, 0, ZMQ_POLLIN, 0}, {watch, 0, ZMQ_POLLIN, 0}};
    int ends = 0;
    while (zmq_poll(items, 2, for_job && ends == 0 ? LONELY_MS : -1) > 0) {
        const int before = ends;
        if (items[0].revents) {
            pass_on(router);
        }
        if (items[1].revents) {
            ends += read_watch(watch);
        }
        if (for_job && before > 0 && ends == 0) {
            break;
        }
    }
}

int main(int argc, char **argv)
{
    const int for_job = argc == 3 && strcmp(argv[1], "--job") == 0;
    const int yes = 1, none = 0;
    if (argc != 2 + for_job) {
        fprintf(stderr, "usage: zmq_broker [--job] ENDPOINT\n");
        return 2;
    }
    if (for_job && (fork() != 0 || setsid() < 0)) {
        return 0;
    }
    void *context = zmq_ctx_new();
    void *router = zmq_socket(context, ZMQ_ROUTER);
    zmq_setsockopt(router, ZMQ_ROUTER_MANDATORY, &yes, sizeof(yes));
    zmq_setsockopt(router, ZMQ_SNDHWM, &none, sizeof(none));
    zmq_setsockopt(router, ZMQ_RCVHWM, &none, sizeof(none));
    zmq_setsockopt(router, ZMQ_LINGER, &none, sizeof(none));
    zmq_socket_monitor(router, "inproc://watch",
                       ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED);
    void *watch = zmq_socket(context, ZMQ_PAIR);
    zmq_connect(watch, "inproc://watch");
    if (zmq_bind(router, argv[1 + for_job]) != 0) {
        if (!for_job) { /* else another one serves the job */
            fprintf(stderr, "zmq_broker: %s: %s\n", argv[1], zmq_strerror(zmq_errno()));
        }
        _exit(1);
    }
    serve(router, watch, for_job);
    _exit(0);
}
