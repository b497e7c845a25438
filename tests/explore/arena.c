/* arena.c - see arena.h.
 *
 * Blocks are carved from the front and given back to lists by size; none is ever split
 * or joined, so which block an address lies in is looked up in a table that stays
 * right.  What is given back is cleared, so that a block holds nothing of its life
 * before.
 *
 * The core's pools (memory_take and its like) keep records side by side in large
 * blocks, at places that depend on what came first.  Here each record is a block of its
 * own.
 */
#include "tests/explore/arena.h"

#include "consensus/state/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GRANULE = 16, ARENA_BYTES = 64 << 20, CLASSES = 64 };
#define PLACE ((char *)UINT64_C(0x6d0000000000))

/* Ahead of each block. */
struct header {
    uint32_t bytes; /* of the block, without this */
    uint16_t class;
    uint16_t live;
    uint64_t visited; /* the digest that came to it last, and when: outside of what is
                         digested */
};
static_assert(sizeof(struct header) == GRANULE, "blocks stay aligned");

/* The front of the arena. */
struct arena {
    size_t used;
    void *free[CLASSES];
};

static struct arena *const arena = (struct arena *)(void *)PLACE;
static uint32_t *owner; /* by granule: the granule where its block's header stands */
static bool inside;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *memory);
void *__wrap_memory_take(struct core *core, size_t size);
void *__wrap_memory_take_raw(struct core *core, size_t size);
void __wrap_memory_give(struct core *core, void *memory, size_t size);

void arena_open(void)
{
    void *got =
        mmap(PLACE, ARENA_BYTES, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    owner = __real_calloc(ARENA_BYTES / GRANULE, sizeof(*owner));
    if (got != PLACE || owner == NULL) {
        fprintf(stderr, "explore: there is no memory at %p\n", (void *)PLACE);
        exit(1);
    }
    arena_reset();
}

void arena_enter(void) { inside = true; }
void arena_leave(void) { inside = false; }

void arena_reset(void)
{
    memset(arena, 0, sizeof(*arena));
    arena->used = (sizeof(*arena) + GRANULE - 1) / GRANULE * GRANULE;
}

size_t arena_used(void) { return arena->used; }

/* --- Blocks ----------------------------------------------------------------------- */

/* Sizes in steps of a quarter of a power of two. */
static unsigned class_of(size_t size, size_t *bytes)
{
    unsigned class = 0;
    size_t step = GRANULE, at = GRANULE;
    while (at < size) {
        at += step;
        class ++;
        if (at == 8 * step) {
            step *= 2;
        }
    }
    *bytes = at;
    return class;
}

static struct header *header_of(void *block)
{
    return (struct header *)(void *)((char *)block - sizeof(struct header));
}

static bool is_mine(const void *memory)
{
    return (const char *)memory >= PLACE && (const char *)memory < PLACE + ARENA_BYTES;
}

static void *take(size_t size)
{
    size_t bytes;
    unsigned class = class_of(size > 0 ? size : 1, &bytes);
    if (class >= CLASSES) {
        fprintf(stderr, "explore: a block of %zu bytes is too large\n", size);
        exit(1);
    }
    void *block = arena->free[class];
    if (block != NULL) {
        memcpy(&arena->free[class], block, sizeof(void *));
        memset(block, 0, sizeof(void *));
        header_of(block)->live = 1;
        return block;
    }
    size_t all = bytes + sizeof(struct header);
    if (arena->used + all > ARENA_BYTES) {
        fprintf(stderr, "explore: a world takes more than %d MiB\n", ARENA_BYTES >> 20);
        exit(1);
    }
    struct header *header = (struct header *)(void *)(PLACE + arena->used);
    uint32_t first = (uint32_t)(arena->used / GRANULE);
    for (size_t i = 0; i < all / GRANULE; i++) {
        owner[first + i] = first;
    }
    arena->used += all;
    memset(header, 0, all);
    *header =
        (struct header){.bytes = (uint32_t)bytes, .class = (uint16_t) class, .live = 1};
    return header + 1;
}

static void give(void *block)
{
    struct header *header = header_of(block);
    if (!header->live) {
        fprintf(stderr, "explore: a block is given back twice\n");
        abort();
    }
    header->live = 0;
    memset(block, 0, header->bytes);
    memcpy(block, &arena->free[header->class], sizeof(void *));
    arena->free[header->class] = block;
}

/* --- In place of the allocators --------------------------------------------------- */

void *__wrap_malloc(size_t size) { return inside ? take(size) : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size)
{
    return inside ? take(count * size) : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    if (!inside && !is_mine(old)) {
        return __real_realloc(old, size);
    }
    void *grown = take(size);
    if (old != NULL) {
        size_t kept = header_of(old)->bytes;
        memcpy(grown, old, kept < size ? kept : size);
        give(old);
    }
    return grown;
}

void __wrap_free(void *memory)
{
    if (is_mine(memory)) {
        give(memory);
    } else {
        __real_free(memory);
    }
}

void *__wrap_memory_take(struct core *core, size_t size)
{
    (void)core;
    return take(size);
}

void *__wrap_memory_take_raw(struct core *core, size_t size)
{
    (void)core;
    return take(size);
}

void __wrap_memory_give(struct core *core, void *memory, size_t size)
{
    (void)core;
    (void)size;
    if (memory != NULL) {
        give(memory);
    }
}

/* --- Copies ----------------------------------------------------------------------- */

struct arena_copy {
    size_t used, room;
    char bytes[];
};

struct arena_copy *arena_save(struct arena_copy *room)
{
    if (room == NULL || room->room < arena->used) {
        size_t bytes = arena->used + arena->used / 4;
        __real_free(room);
        room = __real_malloc(sizeof(*room) + bytes);
        if (room == NULL) {
            fprintf(stderr, "explore: no memory to put a state aside\n");
            exit(1);
        }
        room->room = bytes;
    }
    room->used = arena->used;
    memcpy(room->bytes, PLACE, room->used);
    return room;
}

/* A search goes back only to states that it came from.  What was carved since lies
 * behind the copy, so the owners before it are right. */
void arena_restore(const struct arena_copy *copy)
{
    memcpy(PLACE, copy->bytes, copy->used);
}

void arena_copy_free(struct arena_copy *copy) { __real_free(copy); }

/* --- Digests ---------------------------------------------------------------------- */

static uint64_t generation; /* of digests; blocks carry it in `visited` */
static struct header **queue;
static size_t queue_room;

static void queue_put(size_t at, struct header *header)
{
    if (at == queue_room) {
        queue_room = queue_room > 0 ? 2 * queue_room : 4096;
        queue = __real_realloc(queue, queue_room * sizeof(*queue));
        if (queue == NULL) {
            exit(1);
        }
    }
    queue[at] = header;
}

static inline uint64_t turn(uint64_t word, int by)
{
    return word << by | word >> (64 - by);
}

static inline void mix(struct digest128 *digest, uint64_t word)
{
    digest->low = turn((digest->low ^ word) * UINT64_C(0x9e3779b97f4a7c15), 29);
    digest->high =
        turn(digest->high + word, 31) * UINT64_C(0xbf58476d1ce4e5b9) ^ digest->low;
}

static struct header *block_at(uint64_t word)
{
    uint64_t place = (uint64_t)(uintptr_t)PLACE;
    if (word < place + sizeof(*arena) || word >= place + arena->used) {
        return NULL;
    }
    struct header *header =
        (struct header *)(void *)(PLACE +
                                  (size_t)owner[(word - place) / GRANULE] * GRANULE);
    return header->live && word >= (uint64_t)(uintptr_t)(header + 1) ? header : NULL;
}

static bool is_blind(const struct arena_blind *blind, size_t count, const char *at)
{
    for (size_t i = 0; i < count; i++) {
        const char *from = blind[i].from;
        if (at >= from && at < from + blind[i].size) {
            return true;
        }
    }
    return false;
}

/* Some blocks have blind parts; most have not, and are digested without a look at each
 * word. */
static bool has_blind(const struct arena_blind *blind, size_t count,
                      const struct header *header)
{
    const char *from = (const char *)(header + 1), *to = from + header->bytes;
    for (size_t i = 0; i < count; i++) {
        if ((const char *)blind[i].from < to &&
            (const char *)blind[i].from + blind[i].size > from) {
            return true;
        }
    }
    return false;
}

enum { NUMBER_BITS = 24 };

struct digest128 arena_digest(const void *root, const struct arena_blind *blind,
                              size_t blind_count)
{
    struct digest128 digest = {1, 2};
    size_t known = 0;
    generation++;
    struct header *first = block_at((uint64_t)(uintptr_t)root);
    first->visited = generation << NUMBER_BITS;
    queue_put(known++, first);
    for (size_t at = 0; at < known; at++) {
        const struct header *header = queue[at];
        const char *bytes = (const char *)(header + 1);
        bool looks = has_blind(blind, blind_count, header);
        mix(&digest, header->bytes);
        for (size_t i = 0; i < header->bytes; i += sizeof(uint64_t)) {
            uint64_t word;
            memcpy(&word, bytes + i, sizeof(word));
            if (word == 0 || (looks && is_blind(blind, blind_count, bytes + i))) {
                continue; /* the others are mixed with where they stand */
            }
            struct header *to = block_at(word);
            if (to != NULL) {
                if (to->visited >> NUMBER_BITS != generation) {
                    to->visited = generation << NUMBER_BITS | known;
                    queue_put(known++, to);
                }
                uint64_t within = word - (uint64_t)(uintptr_t)to;
                word = (to->visited & ((1u << NUMBER_BITS) - 1)) << 32 | within;
                mix(&digest, word);
                mix(&digest, ~(uint64_t)i);
            } else {
                mix(&digest, word);
                mix(&digest, i);
            }
        }
    }
    return digest;
}
