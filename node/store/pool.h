/* pool.h - memory that lives as long as its context, and is used again before.
 *
 * What tasks have beside their records (core_entry_room), such as labels, specs and
 * what few of them have, is taken from large blocks one behind the other and freed
 * together. What belonged to a task that the core has forgotten is given back and taken
 * again by what needs as much, so that a long run that ends its scopes stays as large
 * as its largest phase.  Where there is no memory for a large block a small one serves,
 * and the pool says that it is cramped.
 */
#ifndef NODE_STORE_POOL_H
#define NODE_STORE_POOL_H

#include <stdbool.h>
#include <stddef.h>

/* Memory in multiples of this, on pages as large as that where the system has them:
 * records that lie on few pages are found faster, and cost one fault for many.  For
 * free(); NULL without memory. */
enum { POOL_PAGES_BYTES = 2 << 20 };
void *pool_pages(size_t size);

struct pool_block;

enum { POOL_CLASSES = 22 };

struct pool {
    struct pool_block *blocks; /* newest first */
    struct pool_block *alone;  /* those of one piece each */
    void *given[POOL_CLASSES]; /* by size, linked through the first word */
    size_t next_bytes;         /* of the next block; 0: as the first */
    bool cramped; /* there was no memory for the last one but a small one */
};

/* Zeroed and aligned for any type; NULL without memory. */
void *pool_take(struct pool *pool, size_t size);
void *pool_copy(struct pool *pool, const void *data, size_t size);
/* At most `length_max` bytes of it, with a NUL. */
char *pool_string(struct pool *pool, const char *string, size_t length_max);
/* Gives back what was taken with that size (of a string: with its NUL).  NULL is
 * accepted. */
void pool_give(struct pool *pool, const void *memory, size_t size);
/* Tries to have a block of the usual size again; false: it is cramped still. */
bool pool_relieve(struct pool *pool);
void pool_release(struct pool *pool);

#endif
