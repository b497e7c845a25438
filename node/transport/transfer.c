/* transfer.c - see transfer.h. */
#include "node/transport/transfer.h"
#include "proto/limits.h"
#include <assert.h>
#include <stdlib.h>

enum { POOL_MAX = 256 };

void transfer_queue_push(struct transfer_queue *queue, struct transfer *transfer)
{
    transfer->next = NULL;
    if (queue->tail) {
        queue->tail->next = transfer;
    } else {
        queue->head = transfer;
    }
    queue->tail = transfer;
    queue->count++;
}

struct transfer *transfer_queue_pop(struct transfer_queue *queue)
{
    struct transfer *transfer = queue->head;
    if (!transfer) {
        return NULL;
    }
    queue->head = transfer->next;
    if (!queue->head) {
        queue->tail = NULL;
    }
    queue->count--;
    transfer->next = NULL;
    return transfer;
}

static void begin(struct transfer *transfer, enum transfer_kind kind, uint32_t rank,
                  void *bytes, size_t size, void *cookie)
{
    *transfer = (struct transfer){
        .kind = kind, .rank = rank, .bytes = bytes, .size = size, .cookie = cookie};
    const size_t piece = LIMIT_BULK_PIECE_BYTES;
    transfer->pieces_left = size > piece ? (size - 1) / piece + 1 : 1;
}

struct transfer *transfer_new(enum transfer_kind kind, uint32_t rank, void *bytes,
                              size_t size, void *cookie)
{
    struct transfer *transfer = malloc(sizeof(*transfer));
    if (transfer) {
        begin(transfer, kind, rank, bytes, size, cookie);
    }
    return transfer;
}

static void free_frame(const struct transfer *transfer)
{
    if (transfer->kind == TRANSFER_FRAME_OUT || transfer->kind == TRANSFER_FRAME_IN) {
        free(transfer->bytes);
    }
}

void transfer_free(struct transfer *transfer)
{
    if (!transfer) {
        return;
    }
    free_frame(transfer);
    free(transfer);
}

struct transfer *transfer_take(struct transfer_pool *pool, enum transfer_kind kind,
                               uint32_t rank, void *bytes, size_t size, void *cookie)
{
    struct transfer *transfer = pool->spare;
    if (!transfer) {
        return transfer_new(kind, rank, bytes, size, cookie);
    }
    pool->spare = transfer->next;
    pool->count--;
    begin(transfer, kind, rank, bytes, size, cookie);
    return transfer;
}

void transfer_give(struct transfer_pool *pool, struct transfer *transfer)
{
    if (pool->count == POOL_MAX) {
        transfer_free(transfer);
        return;
    }
    free_frame(transfer);
    transfer->next = pool->spare;
    pool->spare = transfer;
    pool->count++;
}

void transfer_pool_release(struct transfer_pool *pool)
{
    while (pool->spare) {
        struct transfer *next = pool->spare->next;
        free(pool->spare);
        pool->spare = next;
    }
    pool->count = 0;
}

void transfer_queue_release(struct transfer_queue *queue)
{
    for (struct transfer *transfer; (transfer = transfer_queue_pop(queue));) {
        transfer_free(transfer);
    }
}

void stream_push(struct stream *stream, struct transfer *transfer)
{
    transfer_queue_push(&stream->transfers, transfer);
    if (!stream->unstarted) {
        stream->unstarted = transfer;
    }
}

bool stream_start(struct stream *stream, uint32_t window, struct piece *out)
{
    struct transfer *transfer = stream->unstarted;
    if (!transfer || stream->pieces_open >= window) {
        return false;
    }
    size_t size = transfer->size - transfer->offset;
    if (size > LIMIT_BULK_PIECE_BYTES) {
        size = LIMIT_BULK_PIECE_BYTES;
    }
    /* An empty transfer may have no buffer at all. */
    *out = (struct piece){.transfer = transfer,
                          .bytes =
                              size ? (char *)transfer->bytes + transfer->offset : NULL,
                          .size = size};
    transfer->offset += size;
    transfer->pieces_open++;
    stream->pieces_open++;
    if (--transfer->pieces_left == 0) {
        stream->unstarted = transfer->next;
    }
    return true;
}

void stream_end(struct stream *stream, struct transfer *transfer)
{
    assert(transfer->pieces_open > 0 && stream->pieces_open > 0);
    transfer->pieces_open--;
    stream->pieces_open--;
}

struct transfer *stream_pop(struct stream *stream)
{
    const struct transfer *head = stream->transfers.head;
    if (!head || head->pieces_left > 0 || head->pieces_open > 0) {
        return NULL;
    }
    return transfer_queue_pop(&stream->transfers);
}

void stream_abandon(struct stream *stream)
{
    struct transfer_queue open = {0};
    for (struct transfer *transfer;
         (transfer = transfer_queue_pop(&stream->transfers));) {
        transfer->pieces_left = 0;
        if (transfer->pieces_open > 0) {
            transfer_queue_push(&open, transfer);
        } else {
            transfer_free(transfer);
        }
    }
    stream->transfers = open;
    stream->unstarted = NULL;
}
