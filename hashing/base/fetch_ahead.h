/* fetch_ahead.h - asks for memory that is about to be used, so that it is in the cache.
 *
 * A compiler may take a function that does nothing else for one without effect, and
 * leave out the calls of it, as gcc 12 does; hence the empty statement.
 */
#ifndef HASHING_BASE_FETCH_AHEAD_H
#define HASHING_BASE_FETCH_AHEAD_H

#include <stddef.h>

enum { FETCH_LINE_BYTES = 64 };

/* Memory may be NULL, or not be there at all any more: nothing is read. */
static inline void fetch_ahead(const void *memory, size_t size)
{
    for (size_t at = 0; memory != NULL && at < size; at += FETCH_LINE_BYTES) {
        __builtin_prefetch((const char *)memory + at);
    }
    __asm__ volatile("");
}

#endif
