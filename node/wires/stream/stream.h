/* stream.h - what the files of moot_stream.h's transports share: a wire, its lines and
 * its peers.
 *
 * A *line* is a stream and what the library has to do with it.  One end *makes* it, by
 * connect(), when the first frame goes to a peer; the other accepts it.  It is *fresh*
 * until both have proved that they belong to the job:
 *
 *     maker                                       acceptor
 *       greeting: version, from, to, nonce  --->    is `to` this end?
 *         <---  challenge: version, nonce, proof
 *       proof                               --->    now `from` is known
 *       frames                              --->
 *         <---  frames
 *
 * A proof is BLAKE2b, keyed with the job's secret, of the role, both uids and both
 * nonces.  So a greeting that was overheard is good for nothing, and so is a
 * challenge that is sent back.  A fresh line has room for a challenge, and nothing is
 * allocated for it beside its record; the frames that wait for it at its maker stand
 * behind the greeting.
 *
 * A *peer* is an end of which this one knows the uid: it was introduced, or a line of
 * its has proved to be its.  It has at most one line that was made here and one that
 * was accepted, and sends over one of them until that ends.  A peer makes a line only
 * if it has none, so one that is accepted from it takes the place of the one before.
 * A line that is still fresh here when the peer's own line stands gives that its
 * frames.
 *
 * Where both ends began at once, and both lines stand, the one stays that the lower uid
 * made.  Its maker goes on.  The other end says its *last word*, a frame of no bytes,
 * over the line that it made itself; what it sends then waits before the line that
 * stays.  The lower uid has read all when it reads that, answers with a last word, and
 * hangs up; with the answer what waited goes.  So no frame is lost or overtaken.
 *
 * A line that is over is *doomed*: it leaves its peer at once, and is hung up when no
 * receiver and no other function is at it.  *Hot* lines may have something to read or
 * room to write.
 */
#ifndef NODE_WIRES_STREAM_STREAM_H
#define NODE_WIRES_STREAM_STREAM_H

#include "node/api/moot_stream.h"

enum {
    STREAM_VERSION = 1,
    STREAM_NONCE_BYTES = 16,
    STREAM_PROOF_BYTES = 32,
    STREAM_GREETING_BYTES = 16 + 16 + STREAM_NONCE_BYTES,
    STREAM_CHALLENGE_BYTES = 16 + STREAM_NONCE_BYTES + STREAM_PROOF_BYTES,

    STREAM_HEAD_BYTES = 4,         /* a frame's length, low byte first */
    STREAM_QUEUE_BYTES = 1 << 20,  /* that wait for one peer, at most, */
    STREAM_READ_BYTES = 128 << 10, /* and that are read at once */
    STREAM_SHORT_BYTES = 16 << 10, /* a frame that is copied to be written at once */

    STREAM_CONNECTS_MAX = 256, /* fresh lines that were made here */
    STREAM_ACCEPTS = 64,       /* in one poll */
    STREAM_READS = 16          /* from one line, before others have their turn */
};
/* A fresh line is late after so long, */
#define STREAM_GREETING_NS UINT64_C(3000000000)
/* or, if it was made here and its stream has taken the greeting, after so long: a peer
 * that computes, and polls not, is no wrong one. */
#define STREAM_ANSWER_NS UINT64_C(30000000000)
/* A stranger is not crowded out before it had so long for its words.  Others wait where
 * the system has them wait. */
#define STREAM_CROWD_NS UINT64_C(100000000)
/* The pause between two lines that are made to a peer grows, until one has stood for
 * so long. */
#define STREAM_PAUSE_MIN_NS UINT64_C(20000000)
#define STREAM_PAUSE_MAX_NS UINT64_C(1000000000)
#define STREAM_GOOD_NS UINT64_C(1000000000)

/* Bytes between `head` and `end`. */
struct stream_buffer {
    unsigned char *bytes;
    size_t head, end, room;
};

struct stream_entry {
    uint64_t key;
    struct stream_entry *next;
};
struct stream_map {
    struct stream_entry **buckets; /* bucket_count of them, a power of two */
    size_t bucket_count, count;
};

enum stream_state {
    STREAM_GREETS,     /* made here, waits for the challenge */
    STREAM_STRANGER,   /* accepted, waits for the greeting, */
    STREAM_CHALLENGED, /* and for the proof */
    STREAM_OPEN
};

struct stream_line {
    struct stream_entry entry; /* in wire->by_stream; first */
    moot_stream *stream;
    struct stream_peer *peer; /* NULL: not known yet, or no more */
    enum stream_state state;
    bool made; /* here */
    bool hot, doomed;
    bool waits;      /* something is to be written */
    bool parting;    /* its last word is said, or is to be written */
    uint64_t tell;   /* uid that became unreachable by its end; 0: none */
    uint64_t due_ns; /* when a fresh one is late */
    uint64_t open_ns;
    uint64_t from, to;
    unsigned char nonce[STREAM_NONCE_BYTES];     /* the maker's */
    unsigned char answer[STREAM_NONCE_BYTES];    /* the acceptor's */
    unsigned char words[STREAM_CHALLENGE_BYTES]; /* as they come */
    size_t words_size;
    struct stream_line *next, *previous; /* of fresh ones by age, or of open ones */
    struct stream_line *next_hot, *next_doomed;
    size_t may_write; /* of `out`; the rest waits for the challenge */
    struct stream_buffer in, out;
};

struct stream_peer {
    struct stream_entry entry; /* by uid; first */
    bool introduced;
    bool lost; /* RELIABLE, and a frame was lost */
    struct stream_line *made, *accepted, *out;
    unsigned attempt;
    uint64_t retry_ns, pause_ns;
    size_t length;
    unsigned char *address;
};

struct stream_list {
    struct stream_line *first, *last;
};

struct stream_wire {
    const moot_stream_transport *table;
    moot_stream_end *end;
    const char *name;
    uint64_t uid;
    unsigned char secret[MOOT_TRANSPORT_SECRET_BYTES];
    bool reliable;

    struct stream_map peers, by_stream;
    struct stream_list fresh, open;
    uint64_t none_late_ns; /* no fresh one is late until then */
    struct stream_line *hot, **hot_end, *doomed;
    size_t strangers, connects, waiting; /* of lines */

    const moot_transport_receiver *receiver; /* NULL: not in poll() */
    int handed, handed_max;
    int watch, alarm; /* epoll of the end's descriptor and of an eventfd; -1: none */
    bool alarmed;     /* the eventfd is readable */
    bool more;        /* streams may wait to be accepted */

    moot_stream_counts counts;
    struct stream_buffer spare; /* empty */
    unsigned char scratch[STREAM_READ_BYTES];
    unsigned char written[STREAM_HEAD_BYTES + STREAM_SHORT_BYTES];
    char story[256];
};

/* --- stream_buffer.c: bytes, and maps by numbers -----------------------------------
 */

size_t stream_buffer_size(const struct stream_buffer *buffer);
/* Room for so many bytes behind the end; false without memory. */
bool stream_buffer_reserve(struct stream_wire *wire, struct stream_buffer *buffer,
                           size_t more);
bool stream_buffer_put(struct stream_wire *wire, struct stream_buffer *buffer,
                       const void *bytes, size_t size);
/* Takes so many bytes from the front; memory of an empty one is given back. */
void stream_buffer_drop(struct stream_wire *wire, struct stream_buffer *buffer,
                        size_t size);
void stream_buffer_free(struct stream_buffer *buffer);

bool stream_map_init(struct stream_map *map);
void *stream_map_find(const struct stream_map *map, uint64_t key);
void stream_map_add(struct stream_map *map, struct stream_entry *entry);
void stream_map_remove(struct stream_map *map, uint64_t key);

/* --- stream_greeting.c -------------------------------------------------------------
 */

/* Writes the first words of a line that was made. */
void stream_greeting_write(const struct stream_wire *wire, struct stream_line *line,
                           unsigned char out[STREAM_GREETING_BYTES]);
/* Reads the words that a fresh line waits for.  True: they are right, and `out` has the
 * answer, *size bytes of it. */
size_t stream_greeting_due(const struct stream_line *line);
bool stream_greeting_answer(const struct stream_wire *wire, struct stream_line *line,
                            unsigned char out[STREAM_CHALLENGE_BYTES], size_t *size);

/* --- stream_line.c -----------------------------------------------------------------
 */

uint64_t stream_now_ns(void);

/* A new line of that stream; NULL without memory, and then it is hung up. */
struct stream_line *stream_line_new(struct stream_wire *wire, moot_stream *stream,
                                    struct stream_peer *peer, uint64_t uid);
void stream_line_heat(struct stream_wire *wire, struct stream_line *line);
/* Writes what waits, as much as goes. */
void stream_line_flush(struct stream_wire *wire, struct stream_line *line);
/* Writes or keeps a frame: MOOT_OK, or MOOT_TRANSPORT_FULL. */
int stream_line_send(struct stream_wire *wire, struct stream_line *line,
                     const void *bytes, size_t size);
/* Reads, and greets or hands over frames.  True: there is more. */
bool stream_line_read(struct stream_wire *wire, struct stream_line *line);
/* The line is over.  If it has `failed`, and was not ended here, its peer is put off
 * and told of as unreachable. */
void stream_line_doom(struct stream_wire *wire, struct stream_line *line, bool failed);
/* Hangs up what is doomed. */
void stream_lines_tend(struct stream_wire *wire);

/* --- stream.c ----------------------------------------------------------------------
 */

/* The peer of that uid, which is made if it is not known; NULL without memory. */
struct stream_peer *stream_peer_of(struct stream_wire *wire, uint64_t uid);
/* Forgets it if nothing is known of it any more. */
void stream_peer_drop(struct stream_wire *wire, struct stream_peer *peer);
/* A line to it that was made has failed, or (NULL) could not be made: the next is made
 * after a pause, which grows. */
void stream_peer_put_off(struct stream_peer *peer, const struct stream_line *line);

#endif
