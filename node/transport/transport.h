/* transport.h - how frames and large results move between ranks.
 *
 * A transport is a table of functions over a private state.  It assumes no MPI, no
 * fixed membership and no collective: peers are uids that come and go.
 * node/engine/progress.c is its only caller and always holds the engine lock, so a
 * transport needs no lock of its own; it must not call back into the engine except
 * through `receive` handlers given to poll(), on the calling thread.
 *
 * Order: frames from one peer arrive in the order sent.  A bulk transfer is matched to
 * its receiver by order too: the n-th bulk_send from A to B fills the n-th bulk_receive
 * that B posted for A.  Both sides learn of a transfer from a frame (a BULK result), so
 * nothing is ever posted that stays unmatched.
 *
 * Each slot's contract stands at the slot.  No slot blocks.  Errors are MOOT_ERR_*.
 */
#ifndef NODE_TRANSPORT_H
#define NODE_TRANSPORT_H

#include "node/transport/host/process.h"
#include "proto/limits.h"
#include "proto/moot_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transport;
struct transport_group;

/* Handlers for one poll.  Called on the polling thread, inside poll(). */
struct transport_receiver {
    void *context;
    /* A frame arrived.  `bytes` belongs to the handler from now on: free() it. */
    void (*frame)(void *context, uint64_t from_uid, void *bytes, size_t size);
    /* The oldest posted bulk_receive from this peer is complete. */
    void (*bulk)(void *context, uint64_t from_uid, void *cookie);
    /* A bulk_send is complete: its buffer is the caller's again. */
    void (*bulk_sent)(void *context, uint64_t to_uid, void *cookie);
    /* A frame arrived whose bytes are the transport's, and live until the next
     * poll.  NULL: all come by the other handler. */
    void (*lent)(void *context, uint64_t from_uid, const void *bytes, size_t size);
};

struct transport_stats {
    uint64_t frames_sent, frames_received;
    uint64_t bytes_sent, bytes_received; /* frames and bulk */
    uint64_t bulk_sent, bulk_received;
    /* Frames that were dropped, since nobody of the group has the uid that they name;
     * since they are not sealed by whom they name, or were changed on the way; and
     * since they had come before.  Where nothing is sealed only the first are found. */
    uint64_t strangers, forged, repeated;
    /* Streams that others began and that were closed, since they did not greet as the
     * job's ranks do, or not in time, or made place for younger ones; and streams that
     * announced what is no frame.  Only streams of moot_stream.h are counted. */
    uint64_t streams_refused, streams_broken;
    /* On a wire that may lose: frames, or pieces of larger ones, that went to peers by
     * links (link.h), and how often one of them was sent again. */
    uint64_t linked, resent;
    uint32_t peers_by_ring; /* to whom short frames go through memory that both share */
};

enum { TRANSPORT_GROWS = 1 };

/* A wish for so many newcomers to join these ranks, whose numbers are ascending. */
struct transport_growth {
    const uint32_t *members;
    uint32_t count, newcomers;
};

struct transport_ops {
    const char *name; /* "mpi", "inproc" */

    /* Sends a frame of 1 to LIMIT_FRAME_BYTES bytes.  Takes ownership of `bytes`
     * (malloc'd) whatever it returns.  LIMIT for another size; INVALID for a uid that
     * is unknown, forgotten, or one's own, here and in the bulk slots. */
    int (*send)(struct transport *t, uint64_t to_uid, void *bytes, size_t size);

    /* Where a frame of so many bytes to this peer may be written, to leave with
     * `placed`; nothing else is sent to it in between, or it is not placed at all.
     * NULL: there is no such place now, and the frame is one for send().  Both slots
     * are NULL where there never is. */
    void *(*place)(struct transport *t, uint64_t to_uid, size_t size);
    void (*placed)(struct transport *t, uint64_t to_uid, size_t size);

    /* How many frames to this peer the wire has not taken yet; the engine stops adding
     * frames (and lets messages share later ones) while it is above a window. */
    size_t (*backlog)(const struct transport *t, uint64_t to_uid);

    /* Sends `size` bytes from `data`, which stays valid and unchanged until the
     * receiver of some later poll gets bulk_sent with this cookie. */
    int (*bulk_send)(struct transport *t, uint64_t to_uid, const void *data,
                     size_t size, void *cookie);

    /* Posts the buffer for the next bulk transfer from this peer, which has exactly
     * `size` bytes (0 is a transfer like any other): another size is found by a later
     * poll and fails it with TRANSPORT. */
    int (*bulk_receive)(struct transport *t, uint64_t from_uid, void *data, size_t size,
                        void *cookie);

    /* Moves things along and hands over what arrived, at most `frames_max` frames.
     * Returns how many handlers it called (0: nothing happened), or an error. */
    int (*poll)(struct transport *t, const struct transport_receiver *receiver,
                int frames_max);

    /* Nothing queued towards any peer and no send in flight, or nothing will ever leave
     * because the transport has failed. */
    bool (*flushed)(const struct transport *t);

    /* Forgets a peer that is gone: drops what is queued for it, fails what is in flight
     * (bulk cookies are handed to no one; the engine owns a list of them).  The wire
     * may still touch the buffers of bulk transfers that were under way: keep them
     * until free(). From then on the uid is unknown, and what still arrives from it is
     * dropped. */
    void (*forget)(struct transport *t, uint64_t uid);

    /* That peer was voted out, and may live: nothing of others goes through it any
     * more.  NULL: nothing ever does. */
    void (*distrust)(struct transport *t, uint64_t uid);

    /* This rank will leave without the others, of whom some are gone: free() then waits
     * for nobody, and does not finalise the library beneath.  forget() implies it. */
    void (*go_alone)(struct transport *t);

    /* Before the first frame, and on all ranks or none: does without memory that ranks
     * share.  NULL: it has none. */
    void (*go_plain)(struct transport *t);

    /* The next rank whose process the launcher has reaped, each once; UINT32_MAX: none
     * (more).  That is a certificate of its death (PROTOCOL.md, V2), wherever it was:
     * whoever only did not hear of a rank says nothing here.  NULL: no launcher tells.
     */
    uint32_t (*next_death)(struct transport *t);

    /* For a newcomer: all that had come before it have closed the moot, or ended. NULL:
     * nobody tells. */
    bool (*emptied)(struct transport *t);

    /* Enters into the group's tables the next rank that has come later and that all
     * present ranks know of, each once, before anything of it is handed over; its
     * number.  UINT32_MAX: there is none (more).  NULL: none ever comes. */
    uint32_t (*next_newcomer)(struct transport *t, struct transport_group *group);

    /* Asks the launcher to start so many more, and waits for its answer: the first of
     * their numbers.  Errors as of moot_grow(), with a story.  Without the engine lock,
     * any thread.  NULL: UNSUPPORTED. */
    int (*grow)(struct transport *t, uint32_t count, uint32_t *first, char *story,
                size_t story_size);

    /* Newcomers are brought in by all ranks that are at a boundary of sessions: each of
     * these calls it, with the same wish, and newcomers come by next_newcomer().  Does
     * not wait for them.  UNSUPPORTED, with a story, where they cannot join, alike on
     * all; NO_MEMORY.  NULL: a launcher starts them (grow()). */
    int (*grow_together)(struct transport *t, const struct transport_growth *wish,
                         char *story, size_t story_size);
    /* The answer, for which the first of them asks after that: the newcomers' first
     * number; why none come, with a story (LIMIT, TRANSPORT, PROTOCOL, NO_MEMORY);
     * TRANSPORT_GROWS: it is not known yet. */
    int (*grown)(struct transport *t, uint32_t *first, char *story, size_t story_size);

    /* The transport around which this one stands.  NULL: it stands around none. */
    struct transport *(*beneath)(struct transport *t);

    void (*stats)(const struct transport *t, struct transport_stats *out);

    /* What the last call that returned an error met, for people; "" if none did.  Lives
     * until the next call. */
    const char *(*story)(const struct transport *t);

    /* Releases everything, finalising MPI if this transport initialised it.  Queued
     * frames are lost: poll until flushed() first.  False: the wire may still touch the
     * buffers of bulk transfers that were under way, for as long as the process lives.
     */
    bool (*free)(struct transport *t);
};

struct transport {
    const struct transport_ops *ops;
};

enum {
    TRANSPORT_BOARD_BYTES = 32 << 10,
    TRANSPORT_HOST_BYTES = LIMIT_PSET_HOST_BYTES + 1 /* a longer name is cut */
};

/* Where a process stands among all that the job's launcher has started: "b_0" is of
 * wave 1, which came later, with index 0. */
struct process_origin {
    uint32_t wave, index;
};

/* The group that a transport joins, as its open tells the engine.  Tables have a
 * place for each number that a rank may ever have.  The founders, who open the moot
 * together, have those below `founders`; who comes later has one of the others, and is
 * known when its uid is not 0 (next_newcomer()). */
struct transport_group {
    uint32_t rank,
        size; /* of the tables; this rank is a newcomer if it is no founder */
    uint32_t founders;
    uint64_t *uids;                 /* per rank; owned by the caller of open, free() */
    uint32_t *hosts;                /* per rank: equal numbers share a host; free() */
    struct process_origin *origins; /* per rank; free().  NULL: rank r is of wave 0,
                                       with index r */
    struct process_name *processes; /* per rank, for peer_monitor.h; free().  NULL: no
                                       rank has a process of its own */
    /* Per rank, TRANSPORT_BOARD_BYTES of memory that it shares with the others of its
     * host, zero at first, and that outlives it (node/tasks/board.h); NULL: there is
     * none.  free() the array; the memory goes with the transport.  NULL: none has. */
    void **boards;
    void *blob; /* rank 0's bytes, given alike to everyone; free() */
    size_t blob_size;
    uint32_t
        *places;     /* per rank: its host, as the launcher has placed it, from 0 in the
                        order of their lowest ranks; free().  NULL: it says nothing */
    char *host_name; /* this rank's host, as its launcher calls it; free().  NULL: it
                        has no word for it */
    /* Per rank, with its end, as the ranks of that host call it; "": nobody has the
     * number.  free().  NULL: all are on this rank's host. */
    char (*host_names)[TRANSPORT_HOST_BYTES];
    bool threads; /* on every rank any thread may call it, one at a time, beside foreign
                     MPI calls */
    bool told_of_deaths; /* next_death() comes to tell of every rank that has ended */
    bool survives;       /* the launcher lets the others go on when a rank dies */
    bool oversubscribed; /* this rank shares its processors with others of its host */
};

/* Opens this rank's end.  Collective, and may block until every rank has called it.  A
 * rank learns its rank here, so each offers a blob and rank 0's is everyone's.  On
 * failure nothing is held, and story (of story_size bytes, at least 1) says why in one
 * line. */
typedef int (*transport_open_fn)(void *arg, const void *blob, size_t blob_size,
                                 struct transport_group *group, struct transport **out,
                                 char *story, size_t story_size);

/* The name of this rank's host, by its launcher or else by its system; returns text.
 */
char *transport_group_host(const struct transport_group *group, char *text,
                           size_t size);

/* The name of that rank's host, alike on all ranks; "": it is not known.  Returns text.
 */
char *transport_group_host_of(const struct transport_group *group, uint32_t rank,
                              char *text, size_t size);

/* Numbers up to the highest that is, or was, somebody's. */
uint32_t transport_group_ever(const struct transport_group *group);

/* Frees what the group holds (not the group itself) and zeroes it. */
void transport_group_release(struct transport_group *group);

/* Headers of this room that other rooms use, too: */
#include "node/transport/carrier/carrier.h"
#include "node/transport/host/process.h"
#include "node/transport/inproc/inproc.h"
#include "node/transport/mpi/mpi.h"
#include "node/transport/objects.h"
#include "node/transport/tables.h"

#endif
