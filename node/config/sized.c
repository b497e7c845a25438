/* sized.c - see sized.h. */
#include "node/config/sized.h"

#include <stdint.h>
#include <string.h>

/* Plenty, and little enough to be looked through. */
enum { SIZE_MAX_TAKEN = 4096 };

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

const void *sized_copy(const void *given, size_t size, size_t least, void *room,
                       size_t own)
{
    if (size < least || size > SIZE_MAX_TAKEN ||
        (size > own && !is_zero((const uint8_t *)given + own, size - own))) {
        return NULL;
    }
    memset(room, 0, own);
    memcpy(room, given, size < own ? size : own);
    return room;
}

void sized_give(void *out, size_t size, const void *full, size_t own)
{
    memcpy(out, full, size < own ? size : own);
    if (size > own) {
        memset((uint8_t *)out + own, 0, size - own);
    }
}
