/* transfer.h - what travels, and the streams it travels in.
 *
 * A transfer is one frame or one bulk result, on its way out or in.  It moves in pieces
 * of at most LIMIT_BULK_PIECE_BYTES (a frame is one piece), because a wire may count
 * bytes in an int.  A stream is the FIFO of one peer's transfers of one kind: pieces
 * are started strictly in order, several may be open at a time and end in any order,
 * and a transfer leaves the stream only when it and everything before it is complete.
 * That is what gives frames their order and pairs the n-th bulk_send with the n-th
 * bulk_receive.
 */
#ifndef NODE_TRANSPORT_TRANSFER_H
#define NODE_TRANSPORT_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum transfer_kind {
    TRANSFER_FRAME_OUT,
    TRANSFER_FRAME_IN,
    TRANSFER_BULK_OUT,
    TRANSFER_BULK_IN,
    TRANSFER_KINDS
};

struct transfer {
    struct transfer *next;
    enum transfer_kind kind;
    uint32_t rank; /* the peer's */
    void *bytes;   /* a frame's are the transfer's own, a bulk result's the engine's */
    size_t size;
    size_t offset;        /* of the next piece to start, bytes */
    uint64_t pieces_left; /* not started yet */
    uint32_t pieces_open; /* started and not ended */
    void *cookie;
};

/* First in, first out; zero is empty. */
struct transfer_queue {
    struct transfer *head, *tail;
    size_t count;
};

void transfer_queue_push(struct transfer_queue *queue, struct transfer *transfer);
struct transfer *transfer_queue_pop(struct transfer_queue *queue); /* NULL if empty */

/* Frees the transfers. */
void transfer_queue_release(struct transfer_queue *queue);

/* A transfer of nothing started yet; NULL without memory.  An empty transfer is one
 * piece: it has to arrive, too. */
struct transfer *transfer_new(enum transfer_kind kind, uint32_t rank, void *bytes,
                              size_t size, void *cookie);
/* Frees the transfer, and its bytes if it is a frame.  Accepts NULL. */
void transfer_free(struct transfer *transfer);

/* Transfers that are used again, singly linked; zero is empty. */
struct transfer_pool {
    struct transfer *spare;
    uint32_t count;
};

/* The same two, by way of the pool. */
struct transfer *transfer_take(struct transfer_pool *pool, enum transfer_kind kind,
                               uint32_t rank, void *bytes, size_t size, void *cookie);
void transfer_give(struct transfer_pool *pool, struct transfer *transfer);
void transfer_pool_release(struct transfer_pool *pool);

struct stream {
    struct transfer_queue transfers;
    struct transfer *unstarted; /* the first with pieces left to start; NULL: none */
    uint32_t pieces_open;
};

struct piece {
    struct transfer *transfer;
    void *bytes;
    size_t size;
};

void stream_push(struct stream *stream, struct transfer *transfer);
/* Starts the next piece if fewer than `window` are open; false if there is none. */
bool stream_start(struct stream *stream, uint32_t window, struct piece *out);
/* A piece of this transfer, which is in this stream, has ended. */
void stream_end(struct stream *stream, struct transfer *transfer);
/* Takes out the oldest transfer if it is complete; NULL otherwise. */
struct transfer *stream_pop(struct stream *stream);
/* Starts nothing more; frees every transfer that has no open piece. */
void stream_abandon(struct stream *stream);

#endif
