/* parcel.c - see parcel.h. */
#include "parcel.h"
#include "limits.h"
#include <assert.h>
#include <stdlib.h>

void parcel_queue_push(struct parcel_queue *queue, struct parcel *parcel)
{
    parcel->next = NULL;
    if (queue->tail)
        queue->tail->next = parcel;
    else
        queue->head = parcel;
    queue->tail = parcel;
    queue->count++;
}

struct parcel *parcel_queue_pop(struct parcel_queue *queue)
{
    struct parcel *parcel = queue->head;
    if (!parcel)
        return NULL;
    queue->head = parcel->next;
    if (!queue->head)
        queue->tail = NULL;
    queue->count--;
    parcel->next = NULL;
    return parcel;
}

struct parcel *parcel_new(enum parcel_kind kind, uint32_t rank, void *bytes,
                          size_t size, void *cookie)
{
    struct parcel *parcel = malloc(sizeof *parcel);
    if (!parcel)
        return NULL;
    *parcel = (struct parcel){
        .kind = kind, .rank = rank, .bytes = bytes, .size = size, .cookie = cookie};
    const size_t piece = LIMIT_BULK_PIECE_BYTES;
    parcel->pieces_left = size ? (size - 1) / piece + 1 : 1;
    return parcel;
}

void parcel_free(struct parcel *parcel)
{
    if (!parcel)
        return;
    if (parcel->kind == PARCEL_FRAME_OUT || parcel->kind == PARCEL_FRAME_IN)
        free(parcel->bytes);
    free(parcel);
}

void parcel_queue_release(struct parcel_queue *queue)
{
    for (struct parcel *parcel; (parcel = parcel_queue_pop(queue));)
        parcel_free(parcel);
}

void stream_push(struct stream *stream, struct parcel *parcel)
{
    parcel_queue_push(&stream->parcels, parcel);
    if (!stream->unstarted)
        stream->unstarted = parcel;
}

bool stream_start(struct stream *stream, uint32_t window, struct piece *out)
{
    struct parcel *parcel = stream->unstarted;
    if (!parcel || stream->pieces_open >= window)
        return false;
    size_t size = parcel->size - parcel->offset;
    if (size > LIMIT_BULK_PIECE_BYTES)
        size = LIMIT_BULK_PIECE_BYTES;
    /* An empty transfer may have no buffer at all. */
    *out = (struct piece){.parcel = parcel,
                          .bytes = size ? (char *)parcel->bytes + parcel->offset : NULL,
                          .size = size};
    parcel->offset += size;
    parcel->pieces_open++;
    stream->pieces_open++;
    if (--parcel->pieces_left == 0)
        stream->unstarted = parcel->next;
    return true;
}

void stream_end(struct stream *stream, struct parcel *parcel)
{
    assert(parcel->pieces_open > 0 && stream->pieces_open > 0);
    parcel->pieces_open--;
    stream->pieces_open--;
}

struct parcel *stream_pop(struct stream *stream)
{
    const struct parcel *head = stream->parcels.head;
    if (!head || head->pieces_left > 0 || head->pieces_open > 0)
        return NULL;
    return parcel_queue_pop(&stream->parcels);
}

void stream_abandon(struct stream *stream)
{
    struct parcel_queue open = {0};
    for (struct parcel *parcel; (parcel = parcel_queue_pop(&stream->parcels));) {
        parcel->pieces_left = 0;
        if (parcel->pieces_open > 0)
            parcel_queue_push(&open, parcel);
        else
            parcel_free(parcel);
    }
    stream->parcels = open;
    stream->unstarted = NULL;
}
