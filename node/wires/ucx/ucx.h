/* ucx.h - what the files of the transport `ucx` share: a wire, its peers and its links.
 *
 * The transport carries frames by active messages of UCX (https://openucx.org), over
 * TCP and whatever RDMA devices a host has.  It is a shared object of its own, so that
 * moot runs where UCX is not installed, and uses nothing of moot but
 * moot_transport.h.
 *
 * A *peer* is who was introduced.  A *link* is an endpoint of UCX towards one, made at
 * the first frame.  A link that breaks is closed, and the next frame to its peer makes
 * another, at most once in RETRY_NS.  A link may outlive its peer, since UCX closes
 * endpoints in its own time, and must not be asked to before a link is connected or has
 * broken: of what still waits for the connection UCX 1.13 asserts that there is
 * nothing, and ends the process.
 *
 * The transport does not claim MOOT_TRANSPORT_RELIABLE.  UCX calls a frame sent when
 * the kernel has it, and what the kernel had is lost when a connection breaks.  A
 * transport that is reliable would have to give a peer up for ever then, and one broken
 * connection between two live ranks would cost one of them.  Long frames in pieces, and
 * several devices at once, may overtake each other besides.  So moot numbers frames and
 * sends again what was lost.
 *
 * A limit of UCX 1.13, seen with 64 processes on two busy cores: a process aborts by an
 * assertion of UCX (wireup_ep, pending_count) if a peer dies between its answer to the
 * first connection and the first bytes on it.  The moment is short, but who aborts in
 * it may take others along that connect to it just then.
 *
 * Shared memory of UCX stays off: a process that is killed while it writes there leaves
 * a queue behind in which live peers get stuck.
 */
#ifndef NODE_WIRES_UCX_UCX_H
#define NODE_WIRES_UCX_UCX_H

#include "node/api/moot_transport.h"
#include <ucp/api/ucp.h>

enum {
    UCX_FRAME_BYTES_MAX = 256 << 10,
    /* Bounds of what one link holds that UCX has not taken: a peer that stands still
     * fills no memory. */
    UCX_LINK_SENDS_MAX = 256,
    UCX_LINK_BYTES_MAX = 4 << 20,
    UCX_STORY_BYTES = 256
};
#define UCX_RETRY_NS UINT64_C(500000000)
#define UCX_CLOSE_NS UINT64_C(500000000)
/* Links are marked when nothing has come or gone for so long: a mark costs as much as
 * a frame, and whoever waits for an answer is about to send the next. */
#define UCX_QUIET_NS UINT64_C(50000)

struct ucx_link {
    ucp_ep_h endpoint;
    struct moot_wire *wire;
    struct ucx_peer *peer;    /* NULL: it is forgotten, or has another link */
    struct ucx_send *sending; /* frames that UCX has and has not sent: */
    size_t sends, bytes;
    bool dirty;   /* something was sent since the last mark */
    bool marking; /* the mark behind what was sent is not taken yet */
    bool doomed;  /* broken or forgotten: to be closed outside of UCX's callbacks */
    bool broken;  /* UCX said so */
    bool proven;  /* something has gone over it: it is connected */
    bool closing, closed;
    struct ucx_link *next;
};

struct ucx_peer {
    uint64_t uid;
    struct ucx_link *link; /* NULL: none now */
    uint64_t retry_ns;     /* no new link before */
    struct ucx_peer *next; /* in its bucket */
    size_t length;
    unsigned char address[]; /* UCX's */
};

/* A frame that came when poll() had handed over as many as it may. */
struct ucx_frame {
    struct ucx_frame *next;
    uint64_t from;
    size_t size;
    unsigned char bytes[];
};

struct moot_wire {
    uint64_t uid;
    ucp_context_h context;
    ucp_worker_h worker;

    struct ucx_peer **buckets; /* bucket_count of them, a power of two */
    size_t bucket_count, peer_count;
    struct ucx_link *links;
    size_t doomed, dirty; /* of links */
    uint64_t quiet_ns;    /* since when nothing came or went; 0: it did */

    struct ucx_frame *waiting, **waiting_end;
    const moot_transport_receiver *receiver; /* NULL: not in poll() */
    int handed, handed_max;

    char story[UCX_STORY_BYTES];
};

/* --- In ucx_settings.c ------------------------------------------------------------ */

/* Makes context and worker, by moot's settings and then the options; on failure nothing
 * is held. */
int ucx_settings_start(moot_wire *wire, const char *options, char *story, size_t size);

/* --- In ucx_links.c --------------------------------------------------------------- */

uint64_t ucx_now_ns(void);

/* The peer's link, which is made if there is none.  NULL: there is none now, what is to
 * be sent goes nowhere. */
struct ucx_link *ucx_link_of(moot_wire *wire, struct ucx_peer *peer);

/* Sends a copy.  MOOT_OK also for what goes nowhere; MOOT_TRANSPORT_FULL, NO_MEMORY. */
int ucx_link_send(struct ucx_link *link, const void *bytes, size_t size);

/* Closes it, now or when poll() ends. */
void ucx_link_doom(struct ucx_link *link);

/* Frees what UCX has no more. */
void ucx_link_free(struct ucx_link *link);

/* Closes doomed links, tells who is unreachable, frees what is closed.  Outside of
 * UCX's callbacks. */
void ucx_links_tend(moot_wire *wire);

/* Marks what was sent over each link: when UCX has taken the mark, it holds nothing
 * that was sent before. */
void ucx_links_mark(moot_wire *wire);

/* Closes all of them, for at most UCX_CLOSE_NS.  False: some still wait for their
 * connection, and UCX has to keep what it has. */
bool ucx_links_end(moot_wire *wire);

#endif
