/* byte_order.h - words in bytes, the lowest first, whatever the machine's own order. */
#ifndef HASHING_BASE_BYTE_ORDER_H
#define HASHING_BASE_BYTE_ORDER_H

#include <stdint.h>

/* Eight bytes at `at`. */
static inline void put_word(unsigned char *at, uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        at[i] = (unsigned char)(word >> 8 * i);
    }
}

static inline uint64_t get_word(const unsigned char *at)
{
    uint64_t word = 0;
    for (int i = 8; i-- > 0;) {
        word = word << 8 | at[i];
    }
    return word;
}

#endif
