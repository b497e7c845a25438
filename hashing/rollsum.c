/* rollsum.c - where a roll is cut, and sums of what lies between (rollsum.h). */
#include "hashing/rollsum.h"

/* Written out, it is one load. */
static uint64_t little_endian(const uint8_t b[8])
{
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 |
           (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 |
           (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

/* A 128-bit little-endian number. */
static struct rollsum number_of(const moot_hash *hash)
{
    return (struct rollsum){little_endian(hash->bytes), little_endian(hash->bytes + 8)};
}

bool rollsum_ends_chunk(const moot_hash *hash) { return hash->bytes[0] == 0; }

void rollsum_add(struct rollsum *sum, const moot_hash *hash)
{
    struct rollsum number = number_of(hash);
    sum->low += number.low;
    sum->high += number.high + (sum->low < number.low);
}

void rollsum_subtract(struct rollsum *sum, const moot_hash *hash)
{
    struct rollsum number = number_of(hash);
    sum->high -= number.high + (sum->low < number.low);
    sum->low -= number.low;
}

bool rollsum_equal(const struct rollsum *a, const struct rollsum *b)
{
    return a->low == b->low && a->high == b->high;
}
