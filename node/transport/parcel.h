/* parcel.h - what travels, and the streams it travels in.
 *
 * A parcel is one frame or one bulk transfer, on its way out or in.  It moves in pieces
 * of at most LIMIT_BULK_PIECE_BYTES (a frame is one piece), because a wire may count
 * bytes in an int.  A stream is the FIFO of one peer's parcels of one kind: pieces are
 * started strictly in order, several may be open at a time and end in any order, and a
 * parcel leaves the stream only when it and everything before it is complete.  That is
 * what gives frames their order and pairs the n-th bulk_send with the n-th
 * bulk_receive.
 */
#ifndef NODE_TRANSPORT_PARCEL_H
#define NODE_TRANSPORT_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum parcel_kind {
    PARCEL_FRAME_OUT,
    PARCEL_FRAME_IN,
    PARCEL_BULK_OUT,
    PARCEL_BULK_IN,
    PARCEL_KINDS
};

struct parcel {
    struct parcel *next;
    enum parcel_kind kind;
    uint32_t rank; /* the peer's */
    void *bytes;   /* a frame's are the parcel's own, a bulk transfer's the engine's */
    size_t size;
    size_t offset;        /* of the next piece to start, bytes */
    uint64_t pieces_left; /* not started yet */
    uint32_t pieces_open; /* started and not ended */
    void *cookie;
};

/* First in, first out; zero is empty. */
struct parcel_queue {
    struct parcel *head, *tail;
    size_t count;
};

void parcel_queue_push(struct parcel_queue *queue, struct parcel *parcel);
struct parcel *parcel_queue_pop(struct parcel_queue *queue); /* NULL if empty */

/* Frees the parcels. */
void parcel_queue_release(struct parcel_queue *queue);

/* A parcel of nothing started yet; NULL without memory.  An empty parcel is one piece:
 * it has to arrive, too. */
struct parcel *parcel_new(enum parcel_kind kind, uint32_t rank, void *bytes,
                          size_t size, void *cookie);
/* Frees the parcel, and its bytes if it is a frame.  Accepts NULL. */
void parcel_free(struct parcel *parcel);

struct stream {
    struct parcel_queue parcels;
    struct parcel *unstarted; /* the first with pieces left to start; NULL: none */
    uint32_t pieces_open;
};

struct piece {
    struct parcel *parcel;
    void *bytes;
    size_t size;
};

void stream_push(struct stream *stream, struct parcel *parcel);
/* Starts the next piece if fewer than `window` are open; false if there is none. */
bool stream_start(struct stream *stream, uint32_t window, struct piece *out);
/* A piece of this parcel, which is in this stream, has ended. */
void stream_end(struct stream *stream, struct parcel *parcel);
/* Takes out the oldest parcel if it is complete; NULL otherwise. */
struct parcel *stream_pop(struct stream *stream);
/* Starts nothing more; frees every parcel that has no open piece. */
void stream_abandon(struct stream *stream);

#endif
