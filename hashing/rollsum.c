/* rollsum.c - where a roll is cut, and sums of what lies between (rollsum.h). */
#include "rollsum.h"

/* A 128-bit little-endian number. */
static struct rollsum number_of(const moot_hash *hash)
{
    struct rollsum number = {0, 0};
    for (int i = 7; i >= 0; i--) {
        number.low = number.low << 8 | hash->bytes[i];
        number.high = number.high << 8 | hash->bytes[8 + i];
    }
    return number;
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
