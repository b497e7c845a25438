/* ring.h - frames from one process to another, through memory that both have mapped.
 *
 * A ring is bytes that one process fills and one other empties, without a lock and
 * without a call of the system.  Frames stand in it one behind the other, each at the
 * beginning of a cache line and behind a word that says what it is and how long.  That
 * word is written last, and is zero until then; so the reader looks at one place, which
 * lies beside the first bytes of what it waits for, and a writer that dies half-way has
 * said nothing.  The writer clears the word behind a frame before it shows the frame.
 *
 *     | word, frame ... | word, frame ..................... | 0, free ... | word, frame
 *       ^ returned: free up to here        written: the next one stands here ^
 *
 * A frame that does not fit before the end stands at the beginning, and a word says
 * that the rest is skipped.  What the reader has taken it returns when it is through
 * with it, and the writer looks at how much that is only if it seems to lack room.
 *
 * Both ends keep what they know in memory of their own: nothing in the ring that the
 * other end writes can lead this one outside of it.
 */
#ifndef NODE_TRANSPORT_SHM_RING_H
#define NODE_TRANSPORT_SHM_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RING_LINE_BYTES = 64, RING_BYTES_MIN = 8 << 10 };

/* In the memory that both have; zero at first. */
struct ring {
    alignas(RING_LINE_BYTES) _Atomic uint64_t returned; /* bytes, ever */
    alignas(RING_LINE_BYTES) unsigned char bytes[];     /* a power of two of them */
};

enum ring_kind { RING_NOTHING, RING_FRAME, RING_NOTICE, RING_SKIP };

/* The writer's end and the reader's.  Zero but for the first two fields at first. */
struct ring_writer {
    struct ring *ring;
    size_t capacity;   /* RING_BYTES_MIN at least, a power of two */
    uint64_t written;  /* bytes, ever */
    uint64_t returned; /* as far as this end knows */
};
struct ring_reader {
    struct ring *ring;
    size_t capacity;
    uint64_t taken, returned; /* bytes, ever */
};

/* What of the shared memory a ring of that capacity takes. */
static inline size_t ring_size(size_t capacity)
{
    return sizeof(struct ring) + capacity;
}

/* The longest frame that a ring of that capacity is sure to take once it is empty. */
static inline size_t ring_frame_max(size_t capacity) { return capacity / 4; }

/* Where a frame of so many bytes, at most ring_frame_max(), can be written; NULL: there
 * is no room now.  Nothing is shown, and the place is given again until something is.
 */
void *ring_place(struct ring_writer *writer, size_t size);
/* Shows it: `size` bytes as they stand in the place that was just given. */
void ring_show(struct ring_writer *writer, size_t size, enum ring_kind kind);

/* What came next, and is the reader's until it is returned; NULL: nothing.  *kind is
 * RING_NOTHING then, or, if what the ring says makes no sense, RING_SKIP. */
const void *ring_take(struct ring_reader *reader, size_t *size, enum ring_kind *kind);
/* Gives the writer back all that was taken. */
void ring_return(struct ring_reader *reader);

#endif
