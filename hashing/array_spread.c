/* array_spread.c - places, stretches and slots of a task array (array_spread.h).
 *
 * *Block.*  Places are indices; home h begins at ceil(h n / R), so place p is of home
 * floor(p R / n).
 *
 * *Cyclic.*  Blocks of b indices go round the homes, and a home's blocks stand one
 * behind the other.  With q whole rounds and r blocks more, the first r homes have
 * q + 1 blocks and the others q.  The last block may be short; it is the last of home
 * r - 1, or of the last home if r is 0.  So what is before home r is short by as much
 * and all the rest is products.
 *
 * *Hashed.*  Indices are permuted, and places shared out as blocks are.  The
 * permutation is a Feistel network over the least power of four that has room for the
 * count, walked until it falls below the count (Black and Rogaway, CT-RSA 2002): less
 * than four steps on average, and its inverse is the same walk backwards.
 */
#include "hashing/array_spread.h"

#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "hashing/placement.h"

#include <assert.h>

enum { FEISTEL_ROUNDS = 4 };

bool array_spread_valid(const struct array_spread *spread)
{
    bool cyclic = spread->kind == ARRAY_SPREAD_CYCLIC;
    return spread->count >= 1 && spread->count <= ARRAY_COUNT_MAX &&
           spread->homes >= 1 && spread->homes <= ARRAY_HOMES_MAX &&
           (unsigned)spread->kind <= ARRAY_SPREAD_HASHED &&
           (cyclic ? spread->block >= 1 && spread->block <= ARRAY_COUNT_MAX
                   : spread->block == 0);
}

static inline uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* --- Cyclic ------------------------------------------------------------------------
 */

struct rounds {
    uint64_t rest;   /* so many homes have a block more */
    uint64_t long_;  /* places of each of these, but for the last one's shortage, */
    uint64_t short_; /* and of the others */
    uint64_t turn;   /* the first place of home `rest` */
};

static inline struct rounds rounds_of(const struct array_spread *spread)
{
    uint64_t blocks = divide_up(spread->count, spread->block);
    uint64_t whole = blocks / spread->homes, rest = blocks % spread->homes;
    uint64_t lacking = blocks * spread->block - spread->count;
    struct rounds rounds = {.rest = rest,
                            .long_ = (whole + 1) * spread->block,
                            .short_ = whole * spread->block};
    rounds.turn = rest > 0 ? rest * rounds.long_ - lacking : 0;
    return rounds;
}

static inline uint64_t cyclic_first(const struct array_spread *spread, uint64_t home)
{
    struct rounds rounds = rounds_of(spread);
    if (home < rounds.rest) {
        return home * rounds.long_;
    }
    uint64_t first = rounds.turn + (home - rounds.rest) * rounds.short_;
    return first < spread->count ? first : spread->count;
}

static inline uint32_t cyclic_home(const struct array_spread *spread, uint64_t place)
{
    struct rounds rounds = rounds_of(spread);
    return (uint32_t)(place < rounds.turn
                          ? place / rounds.long_
                          : rounds.rest + (place - rounds.turn) / rounds.short_);
}

static inline uint64_t cyclic_place(const struct array_spread *spread, uint64_t index)
{
    uint64_t block = index / spread->block;
    return cyclic_first(spread, block % spread->homes) +
           block / spread->homes * spread->block + index % spread->block;
}

static inline uint64_t cyclic_index(const struct array_spread *spread, uint64_t place)
{
    uint64_t home = cyclic_home(spread, place);
    uint64_t at = place - cyclic_first(spread, home);
    uint64_t block = at / spread->block * spread->homes + home;
    return block * spread->block + at % spread->block;
}

/* --- Hashed ------------------------------------------------------------------------
 */

/* Bits of either half of a number below the power of four that has room for `count`. */
static inline unsigned half_bits(uint64_t count)
{
    unsigned bits = 1;
    while (bits < 16 && (UINT64_C(1) << 2 * bits) < count) {
        bits++;
    }
    return bits;
}

/* A function of a half, in as many bits (the finaliser of MurmurHash3, Appleby). */
static inline uint32_t stir(uint32_t half, unsigned round, unsigned bits)
{
    uint32_t x = half + (round + 1) * UINT32_C(0x9e3779b9);
    x = (x ^ x >> 16) * UINT32_C(0x85ebca6b);
    x = (x ^ x >> 13) * UINT32_C(0xc2b2ae35);
    return (x ^ x >> 16) & ((UINT32_C(1) << bits) - 1);
}

static inline uint64_t permute_once(uint64_t number, unsigned bits)
{
    uint32_t left = (uint32_t)(number >> bits);
    uint32_t right = (uint32_t)number & ((UINT32_C(1) << bits) - 1);
    for (unsigned round = 0; round < FEISTEL_ROUNDS; round++) {
        uint32_t next = left ^ stir(right, round, bits);
        left = right;
        right = next;
    }
    return (uint64_t)left << bits | right;
}

static inline uint64_t permute_back(uint64_t number, unsigned bits)
{
    uint32_t left = (uint32_t)(number >> bits);
    uint32_t right = (uint32_t)number & ((UINT32_C(1) << bits) - 1);
    for (unsigned round = FEISTEL_ROUNDS; round-- > 0;) {
        uint32_t before = right ^ stir(left, round, bits);
        right = left;
        left = before;
    }
    return (uint64_t)left << bits | right;
}

static uint64_t walk(uint64_t number, uint64_t count, bool back)
{
    unsigned bits = half_bits(count);
    do {
        number = back ? permute_back(number, bits) : permute_once(number, bits);
    } while (number >= count);
    return number;
}

/* --- All ---------------------------------------------------------------------------
 */

HOT uint64_t array_place(const struct array_spread *spread, uint64_t index)
{
    switch (spread->kind) {
    case ARRAY_SPREAD_CYCLIC:
        return cyclic_place(spread, index);
    case ARRAY_SPREAD_HASHED:
        return walk(index, spread->count, false);
    case ARRAY_SPREAD_BLOCK:
    default:
        return index;
    }
}

HOT uint64_t array_index(const struct array_spread *spread, uint64_t place)
{
    switch (spread->kind) {
    case ARRAY_SPREAD_CYCLIC:
        return cyclic_index(spread, place);
    case ARRAY_SPREAD_HASHED:
        return walk(place, spread->count, true);
    case ARRAY_SPREAD_BLOCK:
    default:
        return place;
    }
}

uint64_t array_home_first(const struct array_spread *spread, uint32_t home)
{
    return spread->kind == ARRAY_SPREAD_CYCLIC
               ? cyclic_first(spread, home)
               : divide_up(home * spread->count, spread->homes);
}

uint64_t array_slot_first(const struct array_spread *spread, uint32_t slot)
{
    uint32_t home = slot / ARRAY_SLOTS, part = slot % ARRAY_SLOTS;
    uint64_t first = array_home_first(spread, home);
    if (part == 0) {
        return first;
    }
    uint64_t size = array_home_first(spread, home + 1) - first;
    return first + divide_up(part * size, ARRAY_SLOTS);
}

HOT uint32_t array_slot(const struct array_spread *spread, uint64_t place)
{
    uint32_t home = spread->kind == ARRAY_SPREAD_CYCLIC
                        ? cyclic_home(spread, place)
                        : (uint32_t)(place * spread->homes / spread->count);
    uint64_t first = array_home_first(spread, home);
    uint64_t size = array_home_first(spread, home + 1) - first;
    assert(size > 0); /* a place is of a home that has some */
    return home * ARRAY_SLOTS + (uint32_t)((place - first) * ARRAY_SLOTS / size);
}

uint32_t array_slot_chair(uint32_t slot, const struct rankset *homes,
                          const struct rankset *members)
{
    uint32_t home = rankset_at(homes, slot / ARRAY_SLOTS);
    if (rankset_has(members, home)) {
        return home;
    }
    moot_hash weight = {{0}}; /* of this home's slot, whatever homes there are beside */
    const uint32_t number = home * ARRAY_SLOTS + slot % ARRAY_SLOTS;
    for (int i = 0; i < HASH_PLACE_BYTES; i++) {
        weight.bytes[HASH_PLACE_AT + i] = (uint8_t)(number >> 8 * i);
    }
    return placement_chair(&weight, members, homes);
}
