/* pool.c - see pool.h. */
#include "node/store/pool.h"

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    POOL_BLOCK_BYTES_MIN = 256 << 10,
    POOL_BLOCK_BYTES_CRAMPED = 32 << 10,
    POOL_ALONE_BYTES = 16 << 10,
    POOL_STEP_BYTES = 16,
    POOL_FINE_BYTES = 256
};

struct pool_block {
    struct pool_block *prev, *next; /* prev: of those that are alone */
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

void *pool_pages(size_t size)
{
    assert(size % POOL_PAGES_BYTES == 0);
    void *memory = aligned_alloc(POOL_PAGES_BYTES, size);
    if (memory != NULL) {
        (void)madvise(memory, size, MADV_HUGEPAGE); /* else they are small ones */
    }
    return memory;
}

/* Each is twice the one before, until it is one of the large pages. */
static bool add_block(struct pool *pool)
{
    pool->next_bytes = pool->next_bytes != 0 ? pool->next_bytes : POOL_BLOCK_BYTES_MIN;
    size_t bytes = pool->next_bytes;
    struct pool_block *block =
        bytes < POOL_PAGES_BYTES ? malloc(bytes) : pool_pages(bytes);
    pool->cramped = block == NULL;
    if (block == NULL) {
        bytes = POOL_BLOCK_BYTES_CRAMPED;
        block = malloc(bytes);
    }
    if (block == NULL) {
        return false;
    }
    *block = (struct pool_block){.next = pool->blocks, .size = bytes - sizeof(*block)};
    pool->blocks = block;
    if (!pool->cramped && bytes < POOL_PAGES_BYTES) {
        pool->next_bytes = 2 * bytes;
    }
    return true;
}

bool pool_relieve(struct pool *pool)
{
    return !pool->cramped || (add_block(pool) && !pool->cramped);
}

/* What is large gets a block of its own, and may be the first to go of many. */
static void *take_alone(struct pool *pool, size_t size)
{
    struct pool_block *block = malloc(sizeof(*block) + size);
    if (block == NULL) {
        return NULL;
    }
    *block = (struct pool_block){.next = pool->alone, .used = size, .size = size};
    if (block->next != NULL) {
        block->next->prev = block;
    }
    pool->alone = block;
    return memset(block->bytes, 0, size);
}

/* Sizes are multiples of 16 up to 256 bytes, then powers of two. */
static size_t class_size(size_t size, unsigned *class)
{
    if (size <= POOL_FINE_BYTES) {
        *class = size > 0 ? (unsigned)((size - 1) / POOL_STEP_BYTES) : 0;
        return (size_t)(*class + 1) * POOL_STEP_BYTES;
    }
    size_t rounded = (size_t)2 * POOL_FINE_BYTES;
    *class = POOL_FINE_BYTES / POOL_STEP_BYTES;
    while (rounded < size) {
        rounded *= 2;
        (*class)++;
    }
    assert(*class < POOL_CLASSES);
    return rounded;
}

static void *take_new(struct pool *pool, size_t size)
{
    struct pool_block *block = pool->blocks;
    if (block == NULL || block->size - block->used < size) {
        if (!add_block(pool)) {
            return NULL;
        }
        block = pool->blocks;
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    return memset(memory, 0, size);
}

void *pool_take(struct pool *pool, size_t size)
{
    unsigned class;
    if (size > POOL_ALONE_BYTES) {
        return take_alone(pool, size);
    }
    size = class_size(size, &class);
    void *memory = pool->given[class];
    if (memory == NULL) {
        return take_new(pool, size);
    }
    memcpy(&pool->given[class], memory, sizeof(void *));
    return memset(memory, 0, size);
}

static void give_alone(struct pool *pool, const void *memory)
{
    char *bytes = (char *)(uintptr_t)memory;
    struct pool_block *block =
        (struct pool_block *)(void *)(bytes - offsetof(struct pool_block, bytes));
    *(block->prev != NULL ? &block->prev->next : &pool->alone) = block->next;
    if (block->next != NULL) {
        block->next->prev = block->prev;
    }
    free(block);
}

void pool_give(struct pool *pool, const void *memory, size_t size)
{
    unsigned class;
    if (memory == NULL) {
        return;
    }
    if (size > POOL_ALONE_BYTES) {
        give_alone(pool, memory);
        return;
    }
    class_size(size, &class);
    void *mine = (void *)(uintptr_t)memory;
    memcpy(mine, &pool->given[class], sizeof(void *));
    pool->given[class] = mine;
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

static void free_all(struct pool_block *block)
{
    while (block != NULL) {
        struct pool_block *next = block->next;
        free(block);
        block = next;
    }
}

void pool_release(struct pool *pool)
{
    free_all(pool->blocks);
    free_all(pool->alone);
    *pool = (struct pool){0};
}
