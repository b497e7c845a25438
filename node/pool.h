/* pool.h - memory that lives as long as its context.
 *
 * Task records, small arguments and labels are taken from large blocks one behind the
 * other and are freed together: the core remembers every task until the end, so its
 * record has to as well.
 */
#ifndef NODE_POOL_H
#define NODE_POOL_H

#include <stddef.h>

struct pool_block;

struct pool {
    struct pool_block *blocks; /* newest first */
};

/* Zeroed and aligned for any type; NULL without memory. */
void *pool_take(struct pool *pool, size_t size);
void *pool_copy(struct pool *pool, const void *data, size_t size);
/* At most `length_max` bytes of it, with a NUL. */
char *pool_string(struct pool *pool, const char *string, size_t length_max);
void pool_release(struct pool *pool);

#endif
