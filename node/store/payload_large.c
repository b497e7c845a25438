/* payload_large.c - see payload_large.h. */
#include "node/store/payload_large.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A block is kept for one to two of these. */
#define TRIM_PERIOD_NS UINT64_C(400000000)

/* Larger blocks begin at a huge page, and ask for them: fewer traps, and less for a
 * wire that pins pages. */
enum { HUGE_PAGE_BYTES = 2 << 20 };

/* Stands at the start of a block that is kept. */
struct large_block {
    struct large_block *next;
    size_t capacity;
    uint32_t age;
};
static_assert(sizeof(struct large_block) <= LARGE_BYTES_MIN, "it finds room there");

bool large_init(struct large *large)
{
    *large = (struct large){.kept = NULL};
    return pthread_mutex_init(&large->lock, NULL) == 0;
}

static void free_all(struct large_block *block)
{
    while (block != NULL) {
        struct large_block *next = block->next;
        free(block);
        block = next;
    }
}

void large_release(struct large *large)
{
    free_all(large->kept);
    large->kept = NULL;
    pthread_mutex_destroy(&large->lock);
}

static void *allocate(size_t size, size_t *capacity)
{
    void *block;
    bool huge = size >= HUGE_PAGE_BYTES;
    if (posix_memalign(&block, huge ? HUGE_PAGE_BYTES : LARGE_ALIGN, size) != 0) {
        return NULL;
    }
    if (huge) {
        (void)madvise(block, size, MADV_HUGEPAGE); /* a hint: it may not be had */
    }
    *capacity = size;
    return block;
}

/* A kept block that wastes at most a quarter of what is asked for; under the lock. */
static struct large_block *find_kept(struct large *large, size_t size)
{
    for (struct large_block **link = &large->kept; *link != NULL;
         link = &(*link)->next) {
        struct large_block *block = *link;
        if (block->capacity >= size && block->capacity - size <= size / 4) {
            *link = block->next;
            large->kept_bytes -= block->capacity;
            large->kept_count--;
            return block;
        }
    }
    return NULL;
}

/* Cuts off the list behind what may stay: not older than that, and within the limits.
 * Under the lock; the rest is the caller's to free. */
static struct large_block *cut(struct large *large, uint32_t age_max)
{
    struct large_block **link = &large->kept;
    size_t bytes = 0;
    uint32_t count = 0;
    while (*link != NULL && large->age - (*link)->age <= age_max &&
           count < LARGE_KEPT_MAX &&
           bytes + (*link)->capacity <= LARGE_KEPT_BYTES_MAX) {
        bytes += (*link)->capacity;
        count++;
        link = &(*link)->next;
    }
    struct large_block *rest = *link;
    *link = NULL;
    large->kept_bytes = bytes;
    large->kept_count = count;
    return rest;
}

/* Gives all that is kept back to the system. */
static void empty(struct large *large)
{
    pthread_mutex_lock(&large->lock);
    struct large_block *rest = large->kept;
    large->kept = NULL;
    large->kept_bytes = 0;
    large->kept_count = 0;
    pthread_mutex_unlock(&large->lock);
    free_all(rest);
}

void *large_take(struct large *large, size_t size, size_t *capacity)
{
    pthread_mutex_lock(&large->lock);
    struct large_block *block = find_kept(large, size);
    pthread_mutex_unlock(&large->lock);
    if (block != NULL) {
        *capacity = block->capacity;
        return block;
    }
    void *fresh = allocate(size, capacity);
    if (fresh == NULL) {
        empty(large);
        fresh = allocate(size, capacity);
    }
    return fresh;
}

void large_give(struct large *large, void *memory, size_t capacity)
{
    struct large_block *block = memory;
    pthread_mutex_lock(&large->lock);
    *block = (struct large_block){
        .next = large->kept, .capacity = capacity, .age = large->age};
    large->kept = block;
    large->kept_bytes += capacity;
    large->kept_count++;
    bool full =
        large->kept_bytes > LARGE_KEPT_BYTES_MAX || large->kept_count > LARGE_KEPT_MAX;
    struct large_block *rest = full ? cut(large, UINT32_MAX) : NULL;
    pthread_mutex_unlock(&large->lock);
    free_all(rest);
}

void large_look(struct large *large, uint64_t now_ns)
{
    if (now_ns < large->trim_due_ns) {
        return;
    }
    large->trim_due_ns = now_ns + TRIM_PERIOD_NS;
    pthread_mutex_lock(&large->lock);
    large->age++;
    struct large_block *rest = cut(large, 1);
    pthread_mutex_unlock(&large->lock);
    free_all(rest);
}
