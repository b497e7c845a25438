/* failing_alloc.h - allocations that are counted, and fail when told to.
 *
 * For programs that are linked with --wrap=malloc,--wrap=calloc,--wrap=realloc,
 * --wrap=free: what the objects of the library allocate passes here.  Include it in one
 * file of a program.
 */
#ifndef TESTS_UNIT_FAILING_ALLOC_H
#define TESTS_UNIT_FAILING_ALLOC_H

#include <stdbool.h>
#include <stdlib.h>

static struct {
    long made;    /* allocations since the last alloc_watch() */
    long held;    /* of those, not freed yet */
    long fail_at; /* the one that fails, and all behind it; 0: none */
    bool alone;   /* none behind it; set by the test */
} alloc_count;

static inline void alloc_watch(long fail_at)
{
    alloc_count.made = 0;
    alloc_count.held = 0;
    alloc_count.fail_at = fail_at;
}

/* Decides in the place of the counts; NULL: they do. */
static bool (*alloc_refuses)(size_t size);

static bool alloc_fails(size_t size)
{
    if (alloc_refuses != NULL) {
        return alloc_refuses(size);
    }
    alloc_count.made++;
    bool behind = alloc_count.made > alloc_count.fail_at && !alloc_count.alone;
    return alloc_count.fail_at > 0 &&
           (alloc_count.made == alloc_count.fail_at || behind);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *bytes, size_t size);
void __real_free(void *bytes);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *bytes, size_t size);
void __wrap_free(void *bytes);

void *__wrap_malloc(size_t size)
{
    void *bytes = alloc_fails(size) ? NULL : __real_malloc(size);
    alloc_count.held += bytes != NULL;
    return bytes;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *bytes = alloc_fails(count * size) ? NULL : __real_calloc(count, size);
    alloc_count.held += bytes != NULL;
    return bytes;
}

void *__wrap_realloc(void *bytes, size_t size)
{
    bool fresh = bytes == NULL;
    void *moved = alloc_fails(size) ? NULL : __real_realloc(bytes, size);
    alloc_count.held += fresh && moved != NULL;
    return moved;
}

void __wrap_free(void *bytes)
{
    alloc_count.held -= bytes != NULL;
    __real_free(bytes);
}

#endif
