/* ring.c - see ring.h. */
#include "node/transport/shm/ring.h"

#include "hashing/base/fetch_ahead.h"
#include "hashing/base/hot.h"
#include <assert.h>

enum { WORD_BYTES = 8, KIND_BITS = 2, KIND_MASK = (1 << KIND_BITS) - 1 };
enum { EXPECT_BYTES_MAX = 512 };

typedef _Atomic uint64_t word;
static_assert(sizeof(word) == WORD_BYTES, "it stands in front of a frame");

static word *word_at(struct ring *ring, size_t at)
{
    return (word *)(void *)(ring->bytes + at);
}

/* Of the ring, by a frame with its word. */
static size_t span_of(size_t size)
{
    return (WORD_BYTES + size + RING_LINE_BYTES - 1) & ~(size_t)(RING_LINE_BYTES - 1);
}

static size_t offset_of(uint64_t position, size_t capacity)
{
    return (size_t)position & (capacity - 1);
}

static bool has_room(struct ring_writer *writer, size_t bytes)
{
    uint64_t end = writer->written + bytes;
    if (end - writer->returned <= writer->capacity) {
        return true;
    }
    uint64_t returned =
        atomic_load_explicit(&writer->ring->returned, memory_order_acquire);
    if (returned < writer->returned || returned > writer->written) {
        return false; /* the other end has lost its mind */
    }
    writer->returned = returned;
    return end - returned <= writer->capacity;
}

/* Shows what stands at `written`, over so many bytes. */
static void show(struct ring_writer *writer, uint64_t value, size_t span)
{
    struct ring *ring = writer->ring;
    size_t at = offset_of(writer->written, writer->capacity);
    writer->written += span;
    size_t next = offset_of(writer->written, writer->capacity);
    atomic_store_explicit(word_at(ring, next), 0, memory_order_relaxed);
    atomic_store_explicit(word_at(ring, at), value, memory_order_release);
}

/* What comes from the other core comes line by line, and is read in order: the lines
 * behind the first, which is here, are asked for together. */
HOT static void expect(const unsigned char *at, size_t span)
{
    size_t most = span < EXPECT_BYTES_MAX ? span : EXPECT_BYTES_MAX;
    fetch_ahead(at + RING_LINE_BYTES, most - RING_LINE_BYTES);
}

HOT void *ring_place(struct ring_writer *writer, size_t size)
{
    size_t span = span_of(size);
    size_t at = offset_of(writer->written, writer->capacity);
    size_t skipped = span > writer->capacity - at ? writer->capacity - at : 0;
    if (!has_room(writer, skipped + span + RING_LINE_BYTES)) { /* and the next word */
        return NULL;
    }
    if (skipped > 0) {
        show(writer, RING_SKIP, skipped);
        at = 0;
    }
    return writer->ring->bytes + at + WORD_BYTES;
}

void ring_show(struct ring_writer *writer, size_t size, enum ring_kind kind)
{
    show(writer, (uint64_t)size << KIND_BITS | kind, span_of(size));
}

const void *ring_take(struct ring_reader *reader, size_t *size, enum ring_kind *kind)
{
    for (;;) {
        size_t at = offset_of(reader->taken, reader->capacity);
        uint64_t value =
            atomic_load_explicit(word_at(reader->ring, at), memory_order_acquire);
        *kind = (enum ring_kind)(value & KIND_MASK);
        if (value == 0) {
            return NULL;
        }
        uint64_t rest = reader->capacity - at, bytes = value >> KIND_BITS;
        if (*kind == RING_SKIP && bytes == 0 && at > 0) {
            reader->taken += rest;
            continue;
        }
        if (*kind == RING_NOTHING || *kind == RING_SKIP ||
            bytes > ring_frame_max(reader->capacity) || span_of(bytes) > rest) {
            *kind = RING_SKIP;
            return NULL;
        }
        reader->taken += span_of(bytes);
        expect(reader->ring->bytes + at, span_of(bytes));
        *size = (size_t)bytes;
        return reader->ring->bytes + at + WORD_BYTES;
    }
}

void ring_return(struct ring_reader *reader)
{
    if (reader->returned == reader->taken) {
        return;
    }
    reader->returned = reader->taken;
    atomic_store_explicit(&reader->ring->returned, reader->taken, memory_order_release);
}
