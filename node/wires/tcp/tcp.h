/* tcp.h - the transport `tcp`: sockets of TCP, IPv4 and IPv6, without any library.
 *
 * Its streams become a transport by moot_stream.h.  It is part of the library, so that
 * jobs across hosts need no other package and no file.
 *
 * Options, with a comma between:
 *
 *     listen=ADDRESS|INTERFACE   where peers connect to
 *     ports=FIRST-LAST           one of these
 *
 * Without `listen` an end whose launcher knows no name of its host listens on the
 * loopback, for ranks of this host; one that has a name listens on all interfaces.  An
 * address is a list of *ways*: an IP and a port each.  The first are those that the
 * host's name resolves to here, unless they are the loopback, as Debian writes in
 * /etc/hosts; then come those of all interfaces.  Who connects tries one after the
 * other, and stays with the one that worked: behind a wrong one nobody can prove to be
 * of the job.
 *
 * A connection over which nothing has been acknowledged for PATIENCE_MS is over, so a
 * link that was cut heals soon after it is back, and not when the system's own pauses
 * have passed.
 */
#ifndef NODE_WIRES_TCP_TCP_H
#define NODE_WIRES_TCP_TCP_H

#include "node/api/moot_stream.h"
#include <netinet/in.h>
#include <sys/socket.h>

enum { TCP_WAYS_MAX = 12, TCP_LISTENERS_MAX = 2, TCP_PATIENCE_MS = 5000 };

/* How often epoll is asked at most: without any stream, and with some over which
 * nothing has passed for TCP_SILENCE_NS. */
#define TCP_ALONE_NS UINT64_C(50000)
#define TCP_SILENT_NS UINT64_C(5000)
#define TCP_SILENCE_NS UINT64_C(1000000)

union tcp_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct moot_stream_end {
    int epoll;
    int listeners[TCP_LISTENERS_MAX], listener_count;
    bool knocked;               /* a connection may wait to be accepted */
    size_t streams;             /* how many there are */
    bool wrote;                 /* to one, since epoll was asked last: */
    uint64_t asked_ns, busy_ns; /* when that was, and when something passed last */
    union tcp_address ways[TCP_WAYS_MAX];
    int way_count;
};

/* Listens as the options say, and finds the ways; on failure the listeners that are
 * there are the caller's to close. */
int tcp_listen(moot_stream_end *end, const moot_transport_setup *setup, char *story,
               size_t story_size);

socklen_t tcp_address_size(const union tcp_address *address);

/* The table, for tables.c. */
extern const moot_transport tcp_transport;

#endif
