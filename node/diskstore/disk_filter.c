/* disk_filter.c - see disk_filter.h. */
#include "node/diskstore/disk_filter.h"
#include "hashing/base/byte_order.h"

#include <assert.h>
#include <stdlib.h>

enum { BLOCK_WORDS = 8, BLOCK_BYTES = 64, KEY_BYTES = 2, WORD_BITS = 6 };

struct filter_block {
    _Alignas(BLOCK_BYTES) uint64_t words[BLOCK_WORDS];
};

static_assert(sizeof(struct filter_block) == BLOCK_BYTES, "a cache line");

struct disk_filter {
    uint64_t block_count;
    struct filter_block *blocks; /* behind, as aligned as they must be */
};

/* Tasks of one scope have six bytes in common, and the kinds of a task all but one; so
 * all bytes are mixed (the finisher of splitmix64). */
uint64_t disk_filter_mark(const struct disk_key *key)
{
    uint64_t mark = get_word(key->bytes) ^
                    (get_word(key->bytes + 8) + key->bytes[MOOT_HASH_BYTES]) *
                        UINT64_C(0x9E3779B97F4A7C15);
    mark = (mark ^ mark >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mark = (mark ^ mark >> 27) * UINT64_C(0x94D049BB133111EB);
    return mark ^ mark >> 31;
}

static uint64_t count_blocks(uint64_t keys)
{
    return keys / (BLOCK_BYTES / KEY_BYTES) + 1;
}

uint64_t disk_filter_bytes(uint64_t keys)
{
    return sizeof(struct disk_filter) + (count_blocks(keys) + 1) * BLOCK_BYTES;
}

struct disk_filter *disk_filter_new(uint64_t keys)
{
    const uint64_t bytes = disk_filter_bytes(keys);
    struct disk_filter *filter = NULL;
    if (count_blocks(keys) <= UINT32_MAX && bytes <= SIZE_MAX) {
        filter = calloc(1, (size_t)bytes);
    }
    if (filter != NULL) {
        const uintptr_t behind = (uintptr_t)(filter + 1);
        filter->block_count = count_blocks(keys);
        filter->blocks = (void *)((char *)(filter + 1) +
                                  (BLOCK_BYTES - behind % BLOCK_BYTES) % BLOCK_BYTES);
    }
    return filter;
}

/* The upper half of the mark says which. */
static uint64_t find_block(const struct disk_filter *filter, uint64_t mark)
{
    return (mark >> 32) * filter->block_count >> 32;
}

/* The block has used up the mark's upper bits, so the bits within it are drawn anew;
 * the upper ones of a product are the good ones. */
static uint64_t draw_bits(uint64_t mark)
{
    return mark * UINT64_C(0x9E3779B97F4A7C15) >> (64 - BLOCK_WORDS * WORD_BITS);
}

void disk_filter_add(struct disk_filter *filter, uint64_t mark)
{
    struct filter_block *block = &filter->blocks[find_block(filter, mark)];
    uint64_t bits = draw_bits(mark);
    for (int i = 0; i < BLOCK_WORDS; i++, bits >>= WORD_BITS) {
        block->words[i] |= UINT64_C(1) << (bits & 63);
    }
}

void disk_filter_expect(const struct disk_filter *filter, uint64_t mark)
{
    __builtin_prefetch(&filter->blocks[find_block(filter, mark)]);
}

bool disk_filter_may_have(const struct disk_filter *filter, uint64_t mark)
{
    const struct filter_block *block = &filter->blocks[find_block(filter, mark)];
    uint64_t bits = draw_bits(mark), all = 1;
    for (int i = 0; i < BLOCK_WORDS; i++, bits >>= WORD_BITS) {
        all &= block->words[i] >> (bits & 63);
    }
    return all != 0;
}
