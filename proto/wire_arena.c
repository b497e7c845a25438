/* wire_arena.c - the memory of one decoded frame (wire_private.h).
 *
 * A frame is decoded into one block in the common case, since the decoder reserves what
 * a frame of that size usually takes, and who reads many keeps that block for the next.
 * A frame that unfolds further gets more blocks, up to a cap: no sender decides how
 * much memory its frame costs.
 */
#include "proto/wire_private.h"

#include "proto/moot_error.h"

#include <stdalign.h>
#include <stdlib.h>

struct arena_block {
    struct arena_block *next;
    size_t used, size; /* of bytes[] */
    alignas(max_align_t) uint8_t bytes[];
};

enum {
    ARENA_ALIGN = alignof(max_align_t),
    ARENA_BLOCK_BYTES_MIN = 4096,
    ARENA_KEPT_BYTES_MAX = 64 << 10
};

void arena_reuse(struct arena *arena, struct arena_block *blocks)
{
    if (blocks == NULL) {
        return;
    }
    while (blocks->next != NULL) {
        struct arena_block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
    if (blocks->size > ARENA_KEPT_BYTES_MAX) {
        free(blocks);
        return;
    }
    blocks->used = 0;
    arena->blocks = blocks;
    arena->held_bytes = blocks->size;
}

static bool has_room(const struct arena_block *block, size_t size)
{
    return block != NULL && size <= block->size - block->used;
}

bool arena_reserve(struct arena *arena, size_t size)
{
    if (has_room(arena->blocks, size)) {
        return true;
    }
    if (size < ARENA_BLOCK_BYTES_MIN) {
        size = ARENA_BLOCK_BYTES_MIN;
    }
    if (size > arena->held_max - arena->held_bytes) {
        arena->error = MOOT_ERR_LIMIT;
        return false;
    }
    struct arena_block *block = malloc(sizeof(*block) + size);
    if (block == NULL) {
        arena->error = MOOT_ERR_NO_MEMORY;
        return false;
    }
    block->next = arena->blocks;
    block->used = 0;
    block->size = size;
    arena->blocks = block;
    arena->held_bytes += size;
    return true;
}

void *arena_take(struct arena *arena, size_t size)
{
    if (size > arena->held_max) {
        arena->error = MOOT_ERR_LIMIT;
        return NULL;
    }
    size_t whole = (size + 1 + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    struct arena_block *block = arena->blocks;
    if (!has_room(block, whole)) {
        if (!arena_reserve(arena, whole)) {
            return NULL;
        }
        block = arena->blocks;
    }
    uint8_t *bytes = block->bytes + block->used;
    block->used += whole;
    bytes[size] = 0;
    return bytes;
}

void arena_free(struct arena_block *blocks)
{
    while (blocks != NULL) {
        struct arena_block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}
