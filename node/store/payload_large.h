/* payload_large.h - memory for large results, used again.
 *
 * The pages of a fresh large block are given by the system as they are first touched,
 * one trap and one page of zeros at a time: for a result that is received, that takes
 * longer than its bytes need over shared memory.  So a block that is given back is kept
 * for a while, and taken again by the next result that it fits.
 *
 * What is kept is bounded in bytes, in number and in time: a block that nobody takes
 * goes back to the system within a second of turns of the engine.  The bounds are those
 * of a chunk of the roll, whose results are let go at once
 * (consensus/reclaim/reclaim.c): 256 on average, and most programs' are used again
 * before the second has passed.
 *
 * Any thread may call, with or without the engine lock: a lock of its own is held for a
 * look over a short list, and not while the system is asked for memory.
 */
#ifndef NODE_STORE_PAYLOAD_LARGE_H
#define NODE_STORE_PAYLOAD_LARGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is smaller comes from malloc, which keeps it by itself. */
enum { LARGE_BYTES_MIN = 64 << 10, LARGE_ALIGN = 4096 };

/* How much is kept at most: bytes, and blocks. */
#define LARGE_KEPT_BYTES_MAX ((size_t)1 << 30)
enum { LARGE_KEPT_MAX = 1024 };

struct large_block;

struct large {
    pthread_mutex_t lock;
    struct large_block *kept; /* newest first */
    size_t kept_bytes;
    uint32_t kept_count;
    uint32_t age;         /* counts trims */
    uint64_t trim_due_ns; /* the engine's: under its lock */
};

/* False if there can be no lock. */
bool large_init(struct large *large);
/* Frees what is kept, and the lock. */
void large_release(struct large *large);

/* A block of `size` bytes, LARGE_BYTES_MIN or more, aligned to LARGE_ALIGN; *capacity
 * is what it really has.  NULL without memory. */
void *large_take(struct large *large, size_t size, size_t *capacity);
/* Gives a block back, with its capacity. */
void large_give(struct large *large, void *block, size_t capacity);

/* Called at every turn of the engine: now and then frees what was kept for too long. */
void large_look(struct large *large, uint64_t now_ns);

#endif
