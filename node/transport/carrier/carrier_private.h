/* carrier_private.h - what the carrier's files share. */
#ifndef NODE_TRANSPORT_CARRIER_CARRIER_PRIVATE_H
#define NODE_TRANSPORT_CARRIER_CARRIER_PRIVATE_H

#include "consensus/link/link.h"
#include "node/api/moot_transport.h"
#include "node/channel/channel.h"
#include "node/transport/carrier/carrier.h"
#include "node/transport/carrier/seal.h"
#include "node/transport/exchange.h"
#include "node/transport/hello.h"

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

/* The words before those where frames go by routes (MOOT_ROUTE), and only there.  All
 * ranks of a job have its key, so a rank that carries the frames of others is trusted
 * as they are: datagrams are sealed from hop to hop, links go from end to end. */
struct route_head {
    uint32_t origin, destination; /* ranks */
    uint16_t hops;                /* so many more at most */
    uint16_t word;
    uint32_t deaf; /* 1: who sends this does not hear who gets it */
};
enum hop_word {
    HOP_FRAME = 1, /* from a link to a link */
    HOP_ASK,       /* from hop to hop: whether somebody is there */
    HOP_HERE       /* likewise: somebody is */
};

/* Pieces one behind the other, of which the first has got as far as `offset`. */
struct piece_line {
    struct piece *items;
    size_t head, count, room;
    size_t offset;
};
enum line { LINE_FRAMES, LINE_BULK, LINES };

/* A piece with its head on its way through a link, or a datagram that waits.  Long ones
 * are used again: malloc() would give their memory back to the system, which clears
 * each page anew. */
enum { BUNDLE_LONG_BYTES = 16 << 10, BUNDLES_SPARE_MAX = 24 };
struct bundle {
    struct bundle *next; /* among the spare ones, or those that are passed on */
    size_t size;
    unsigned char bytes[];
};

/* Whether a rank or a host answers: when it was last heard over the wire, since when it
 * has been sent what calls for an answer and has not been heard, and when it last said
 * that it does not hear this one; 0: never. */
struct hearing {
    uint64_t heard_ns, asked_ns, deaf_ns;
};

struct carrier_peer {
    uint32_t rank;
    bool busy;       /* on the list of those that have something to send */
    bool introduced; /* to the wire */
    bool keyed;      /* its seal is there */
    bool met;        /* it is spoken to not by rings; then its link is there */
    bool gone;       /* nothing is sent through it */
    bool owed;       /* a word, for what it has sent for others */
    bool said_bye, heard_bye;
    uint64_t ready;      /* for so many bulk pieces it has buffers */
    uint64_t ready_owed; /* so many of ours it has not been told of */
    struct piece_line out[LINES], in[LINES];
    struct link *link;   /* NULL: there are none, or it is not met */
    struct bundle *held; /* a datagram that the wire had no room for; NULL: none */
    struct bundle *passed, **passed_last; /* others' datagrams, not sealed yet, */
    size_t passed_count, passed_bytes;    /* which wait for room */
    struct hearing hearing;
    uint64_t asked_again_ns;
    struct seal seal;
    struct carrier_peer *next_busy;
};

struct hops;
struct newcomer;

struct carrier {
    struct exchange exchange;
    const moot_transport *table;
    moot_wire *wire;
    struct channel *channel;
    struct channel_card *cards; /* by rank: with their addresses */
    struct carrier_peer *peers; /* by rank */
    struct carrier_peer *busy;
    uint32_t polls_near;
    struct bundle *spare; /* with room for a datagram of any length */
    size_t spares;
    struct host_memory boards;
    struct link_options link_options;
    struct hops *hops; /* NULL: all ranks speak with all */
    size_t way_bytes;  /* of the route's words in a datagram, 0 or all */
    bool sealed, reliable;
    bool linked;                           /* there are links */
    uint64_t linked_before, resent_before; /* frames by links that are no more */
    bool driving;                          /* pieces are being sent: posts only queue */
    size_t payload_max;         /* of a datagram of the wire, bytes of a piece */
    unsigned char *scratch;     /* a datagram, as it goes */
    unsigned char *opened;      /* one that came, opened */
    uint64_t card_flags;        /* of the wire, as each card has to have them */
    uint32_t opening;           /* of this process: the moot is its so-and-so-many-th */
    uint64_t newcomers_seen;    /* of all moots, when it was looked at last */
    uint32_t newcomers_told;    /* of this one */
    struct newcomer *newcomers; /* list: taken in, and not handed on yet */
    uint32_t deaths_told;       /* of those that the launcher has told of */
    uint64_t deaths_asked_ns;   /* when it was last looked whether there are more */
};

uint64_t carrier_now_ns(void);

/* --- cards.c: how ranks meet ---------------------------------------------------- */

/* The card by which a rank tells the others of itself; an address, a blob, the host's
 * address and its name, and the route's text follow, of which rank 0's count. */
struct card_head {
    uint64_t wire_version;
    uint64_t failed; /* a code of MOOT_ERR_*, negated; its story follows, and no more */
    uint64_t flags;  /* of the wire */
    uint64_t frame_max;
    uint64_t address_size, blob_size, host_size, name_size, route_size;
    struct process_origin origin;
    struct hello hello;
};

enum { CARD_ADDRESS, CARD_BLOB, CARD_HOST, CARD_NAME, CARD_ROUTE, CARD_PARTS };

struct joining {
    struct carrier *c;
    struct transport_group *group; /* its rank and size are known */
    char *story;
    size_t story_size;
};

/* Collective: opens this end of the wire, learns of the others, and fills the group. */
int carrier_join(const struct joining *o,
                 const struct transport_carrier_options *options, const void *blob,
                 size_t blob_size);

/* Reads the card that a rank has handed in: whether it fits, and what it refuses. */
int card_read(const struct joining *o, uint32_t rank, const struct channel_card *card,
              struct card_head *head);
/* A text of a card's, with its end; NULL: it has none. */
const char *card_text(const unsigned char *bytes, uint64_t size);

/* --- newcomers.c: ranks that come later ------------------------------------------- */

/* Takes in those of whom the launcher has told, so that what they send is known. */
void newcomers_take(struct carrier *c);
void newcomers_release(struct carrier *c);
/* The slot next_newcomer(). */
uint32_t carrier_next_newcomer(struct transport *base, struct transport_group *group);
/* The slot grow(). */
int carrier_grow(struct transport *base, uint32_t count, uint32_t *first, char *story,
                 size_t story_size);

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

/* --- bundle.c: memory for pieces ------------------------------------------------- */

/* With room for so many bytes, at most a datagram's; NULL without memory. */
struct bundle *bundle_take(struct carrier *c, size_t size);
void bundle_give(struct carrier *c, struct bundle *bundle); /* accepts NULL */
void bundles_release(struct carrier *c);

/* --- hops.c: from hop to hop, where ranks do not all speak with all -------------- */

/* Reads the route that rank 0 has chosen, of these hosts by rank, which have names and
 * addresses as route_new() takes them.  NULL in c->hops for a mesh.  CONFIG, with a
 * story; NO_MEMORY. */
int hops_open(struct carrier *c, const char *text, const uint32_t *hosts,
              const char *const *names, const char *const *addresses,
              uint32_t host_count, uint32_t size, uint32_t rank, char *story,
              size_t story_size);
void hops_release(struct carrier *c);

/* To whom a datagram goes that is from rank `origin` and for that peer. */
struct carrier_peer *hops_way(struct carrier *c, uint32_t origin,
                              struct carrier_peer *p);
/* Writes the words for that. */
void hops_address(const struct carrier *c, const struct carrier_peer *hop,
                  const struct carrier_peer *p, unsigned char *bytes);
/* A datagram has gone there. */
void hops_sent(struct carrier *c, struct carrier_peer *hop, bool wants_answer);
/* The wire says that it does not reach that peer. */
void hops_suspect(struct carrier *c, struct carrier_peer *hop);

/* A datagram that was opened: if it is for this rank, the peer that it is from, and
 * else it is passed on, or dropped, and NULL.  One that is not `fresh` may have come
 * before, and says nothing of now. */
struct carrier_peer *hops_take(struct carrier *c, struct carrier_peer *hop,
                               const unsigned char *bytes, size_t size, bool fresh);
/* Sends what waits to be passed on to that peer; false: something is left. */
bool hops_drive(struct carrier *c, struct carrier_peer *hop);
/* Looks at the clock. */
void hops_look(struct carrier *c);
/* Nothing goes through that peer any more. */
void hops_lose(struct carrier *c, struct carrier_peer *p);
void hops_drop(struct carrier_peer *p);
/* Nobody has sent anything through this rank for so long. */
bool hops_are_idle(const struct carrier *c, uint64_t for_ns);

/* --- far.c: over the wire --------------------------------------------------------- */

/* Makes the peer known to the wire, with a link if it is `met`.  False: the carrier has
 * failed. */
bool far_introduce(struct carrier *c, struct carrier_peer *p);
bool far_meet(struct carrier *c, struct carrier_peer *p);
/* Gives the wire the datagram that it had no room for; false: it has none still. */
bool far_give_held(struct carrier *c, struct carrier_peer *p);
/* Seals and sends; it is held if there is no room.  Nothing is held before. */
void far_emit(struct carrier *c, struct carrier_peer *hop, const unsigned char *plain,
              size_t size);
/* There is room for one piece more. */
bool far_has_room(struct carrier *c, struct carrier_peer *p);
/* Sends one; false: it could not be taken, and is to be tried again later. */
bool far_send(struct carrier *c, struct carrier_peer *p, const struct piece_head *head,
              const void *bytes);
/* Sends what the link wants, and what the wire had no room for.  True: nothing is left.
 */
bool far_drive(struct carrier *c, struct carrier_peer *p);
/* The wire has no room for something. */
bool far_holds(const struct carrier_peer *p);
/* Nothing that was sent is still here, or unacknowledged. */
bool far_is_flushed(const struct carrier_peer *p);
/* Takes in what came by the wire. */
void far_poll(struct carrier *c, int frames_max);
void far_forget(struct carrier *c, struct carrier_peer *p);
/* Frames that went by links, and again. */
void far_count(const struct carrier *c, struct transport_stats *out);

#endif
