/* pool.c - see pool.h. */
#include "pool.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_BLOCK_BYTES = 256 << 10, POOL_ALONE_BYTES = 16 << 10 };

struct pool_block {
    struct pool_block *next;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

static struct pool_block *block_new(size_t size)
{
    struct pool_block *block = calloc(1, sizeof(*block) + size);
    if (block != NULL) {
        block->size = size;
    }
    return block;
}

/* What is large gets a block of its own, behind the one that is being filled. */
static void *take_alone(struct pool *pool, size_t size)
{
    struct pool_block *block = block_new(size);
    if (block == NULL) {
        return NULL;
    }
    block->used = size;
    struct pool_block **link = pool->blocks ? &pool->blocks->next : &pool->blocks;
    block->next = *link;
    *link = block;
    return block->bytes;
}

void *pool_take(struct pool *pool, size_t size)
{
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (size >= POOL_ALONE_BYTES) {
        return take_alone(pool, size);
    }
    struct pool_block *block = pool->blocks;
    if (block == NULL || block->size - block->used < size) {
        block = block_new(POOL_BLOCK_BYTES);
        if (block == NULL) {
            return NULL;
        }
        block->next = pool->blocks;
        pool->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    return memory;
}

void *pool_copy(struct pool *pool, const void *data, size_t size)
{
    void *copy = pool_take(pool, size ? size : 1);
    if (copy != NULL && size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

char *pool_string(struct pool *pool, const char *string, size_t length_max)
{
    size_t length = strnlen(string, length_max);
    char *copy = pool_take(pool, length + 1);
    if (copy != NULL) {
        memcpy(copy, string, length);
    }
    return copy;
}

void pool_release(struct pool *pool)
{
    while (pool->blocks != NULL) {
        struct pool_block *next = pool->blocks->next;
        free(pool->blocks);
        pool->blocks = next;
    }
}
