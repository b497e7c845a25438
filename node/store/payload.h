/* payload.h - results in memory: buffers that several may read and the last one frees.
 *
 * A payload holds the bytes of one result, or of the story of one error.  It is filled
 * by its maker and never changes afterwards.  Those who use it hold references: the
 * task that it is the result of, each borrow by a handle, each kernel that reads it,
 * each transfer that sends it.  References are counted under the engine lock; making
 * one and freeing one that was never shared may happen outside.
 *
 * Small results come from blocks that are used again, which only whoever holds the
 * lock may touch: a kernel is given one before it begins.  So is the memory of large
 * ones (payload_large.h), which any thread may take.
 *
 * A buffer is aligned to 64 bytes and followed by a zero byte that size does not count,
 * so that an error's story can be read as text.
 */
#ifndef NODE_STORE_PAYLOAD_H
#define NODE_STORE_PAYLOAD_H

#include "node/store/payload_large.h"

enum { PAYLOAD_ALIGN = 64 };

/* Most results are a few numbers: they fit two cache lines, behind one of their header.
 */
enum { PAYLOAD_SMALL_BYTES = 2 * PAYLOAD_ALIGN - 1 };

struct payload {
    uint32_t references;
    uint64_t size; /* bytes */
    unsigned char *data;
    struct payloads *home; /* NULL: allocated for itself */
    size_t large_bytes;    /* of its block, if that is payload_large.h's; or 0 */
    bool let_go;           /* it counts among these that are */
    bool kept;             /* by payload_keep() */
    struct payload *next;
};

/* Buffers of one context. */
struct payloads {
    struct payload *spare; /* small ones */
    struct payload_block *blocks;
    struct large large;
    size_t let_go_bytes;   /* of large ones that the program uses no more, */
    uint64_t let_go_freed; /* and how many of them have gone, ever */
};

/* With one reference; NULL without memory or above LIMIT_RESULT_BYTES. */
struct payload *payload_new(uint64_t size);
struct payload *payload_copy(const void *data, uint64_t size);

bool payloads_init(struct payloads *payloads); /* false if it cannot be */

/* As payload_new, large ones from there.  With or without the lock. */
struct payload *payloads_new(struct payloads *payloads, uint64_t size);

/* A buffer for up to PAYLOAD_SMALL_BYTES, to be sized by payload_fit(); NULL without
 * memory.  Under the lock. */
struct payload *payloads_take(struct payloads *payloads);
void payload_fit(struct payload *small, uint64_t size);
/* As payload_copy, small ones from there.  Under the lock. */
struct payload *payloads_copy(struct payloads *payloads, const void *data,
                              uint64_t size);
/* Frees the blocks; none of their buffers may be in use. */
void payloads_release(struct payloads *payloads);

struct payload *payload_hold(struct payload *payload); /* returns it */
void payload_drop(struct payload *payload);            /* accepts NULL */
void payload_free(struct payload *payload); /* whoever refers to it; accepts NULL */
/* It is never freed: something that is not to be stopped may still touch its bytes. */
void payload_keep(struct payload *payload); /* accepts NULL */
/* Whether the program still uses the result, for payloads.let_go_bytes.  Under the
 * lock. */
void payload_let_go(struct payload *payload, bool let_go); /* accepts NULL */

/* A place that takes `size` bytes and keeps none of them, for a transfer that has to be
 * received and cannot be stored: a range of addresses that all lie on the same small
 * piece of memory.  NULL if not even that can be had. */
void *scratch_new(uint64_t size);
void scratch_free(void *scratch, uint64_t size); /* accepts NULL */

#endif
