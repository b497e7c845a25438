/* carrier_private.h - what the carrier's files share. */
#ifndef NODE_TRANSPORT_CARRIER_CARRIER_PRIVATE_H
#define NODE_TRANSPORT_CARRIER_CARRIER_PRIVATE_H

#include "consensus/link/link.h"
#include "node/api/moot_transport.h"
#include "node/channel/channel.h"
#include "node/transport/carrier/carrier.h"
#include "node/transport/carrier/seal.h"
#include "node/transport/exchange.h"

/* The head before a piece's bytes, on rings and on the wire alike.  Ranks of a job
 * have one byte order and one library version: the opening sees to that. */
enum piece_word {
    PIECE_FRAME = 1, /* of a frame of `total` bytes */
    PIECE_BULK,      /* of a bulk transfer of `total` bytes */
    PIECE_READY,     /* the sender has posted buffers for `total` bulk transfers more */
    PIECE_BYE        /* the sender has nothing more to say */
};
struct piece_head {
    uint64_t total;
    uint32_t word;
    uint32_t size; /* of the bytes that follow */
};

/* The words before that on the wire: zeros where the wire is RELIABLE. */
struct link_head {
    uint64_t sequence, ack;
};

/* Pieces one behind the other, of which the first has got as far as `offset`. */
struct piece_line {
    struct piece *items;
    size_t head, count, room;
    size_t offset;
};
enum line { LINE_FRAMES, LINE_BULK, LINES };

/* A piece with its head on its way through a link. */
struct bundle {
    size_t size;
    unsigned char bytes[];
};

struct carrier_peer {
    uint32_t rank;
    bool busy;       /* on the list of those that have something to send */
    bool introduced; /* to the wire; then its link and its seal are there */
    bool said_bye, heard_bye;
    uint64_t ready;      /* for so many bulk pieces it has buffers */
    uint64_t ready_owed; /* so many of ours it has not been told of */
    struct piece_line out[LINES], in[LINES];
    struct link *link;   /* NULL: the wire is RELIABLE, or it is not introduced */
    struct bundle *held; /* a datagram that the wire had no room for; NULL: none */
    struct seal seal;
    struct carrier_peer *next_busy;
};

struct carrier {
    struct exchange exchange;
    const moot_transport *table;
    moot_wire *wire;
    struct channel *channel;
    struct channel_card *cards; /* by rank: with their addresses */
    struct carrier_peer *peers; /* by rank */
    struct carrier_peer *busy;
    struct host_memory boards;
    struct link_options link_options;
    bool sealed, reliable;
    bool driving;               /* pieces are being sent: posts only queue */
    size_t payload_max;         /* of a datagram of the wire, bytes of a piece */
    unsigned char *scratch;     /* a datagram, as it goes */
    unsigned char *opened;      /* one that came, opened */
    uint64_t strangers, forged; /* datagrams that were dropped */
};

uint64_t carrier_now_ns(void);

/* --- pieces.c: from transfers to pieces, and back --------------------------------- */

void pieces_post(struct exchange *x, const struct piece *piece);
void pieces_notice(struct exchange *x, uint32_t rank, const void *bytes, size_t size);
/* One piece with its head has come; it may come from anybody who has the key. */
void pieces_take(struct carrier *c, struct carrier_peer *p, const void *bytes,
                 size_t size);
/* Sends what can be sent to the peers that have something. */
void pieces_drive(struct carrier *c);
void pieces_wake(struct carrier *c, struct carrier_peer *p);
/* Ends all that is under way with a peer; before exchange_forget(). */
void pieces_drop(struct carrier *c, struct carrier_peer *p);
void pieces_release(struct carrier_peer *p);

/* --- far.c: over the wire --------------------------------------------------------- */

/* There is room for one piece more. */
bool far_has_room(struct carrier *c, struct carrier_peer *p);
/* Sends one; false: it could not be taken, and is to be tried again later. */
bool far_send(struct carrier *c, struct carrier_peer *p, const struct piece_head *head,
              const void *bytes);
/* Sends what the link wants, and what the wire had no room for.  True: nothing is left.
 */
bool far_drive(struct carrier *c, struct carrier_peer *p);
/* Nothing that was sent is still here, or unacknowledged. */
bool far_is_flushed(const struct carrier_peer *p);
/* Takes in what came by the wire. */
void far_poll(struct carrier *c, int frames_max);
void far_forget(struct carrier *c, struct carrier_peer *p);

#endif
