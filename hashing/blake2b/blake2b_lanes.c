/* blake2b_lanes.c - see blake2b_lanes.h.
 *
 * One body, blake2b_body.h, compiled once for each set of instructions: AVX2, whose
 * vectors have four words of 64 bits; AVX-512VL, which also rotates them; and AVX-512F,
 * whose vectors have eight.
 */
#include "hashing/blake2b/blake2b_lanes.h"

#include "hashing/base/hot.h"

#include <stdbool.h>
#include <string.h>

static const uint64_t iv[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b),
    UINT64_C(0x3c6ef372fe94f82b), UINT64_C(0xa54ff53a5f1d36f1),
    UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)};

/* The parameters are little-endian bytes: the digest's size, no key, a tree of one
 * leaf; then salt and personalisation. */
struct blake2b_start blake2b_start(const unsigned char *salt,
                                   const unsigned char *personal)
{
    unsigned char parameters[64] = {
        [0] = BLAKE2B_DIGEST_BYTES, [2] = 1 /* fan-out */, [3] = 1 /* depth */};
    struct blake2b_start start;
    memcpy(parameters + 32, salt, 16);
    memcpy(parameters + 48, personal, 16);
    for (int i = 0; i < 8; i++) {
        start.words[i] = iv[i];
        for (int byte = 0; byte < 8; byte++) {
            start.words[i] ^= (uint64_t)parameters[8 * i + byte] << 8 * byte;
        }
    }
    return start;
}

#if defined(__x86_64__)

enum { ROUNDS = 12 };

/* Which words of the message a round takes, in the order in which it takes them. */
static const uint8_t schedule[ROUNDS][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

#define INLINE static inline __attribute__((always_inline))

#define ROTATED(x, bits) ((x) >> (bits) | (x) << (64 - (bits)))

/* Where the bytes of words are that have been rotated by n bytes. */
#define MOVED(at, n)                                                                   \
    (at) + (n) % 8, (at) + ((n) + 1) % 8, (at) + ((n) + 2) % 8, (at) + ((n) + 3) % 8,  \
        (at) + ((n) + 4) % 8, (at) + ((n) + 5) % 8, (at) + ((n) + 6) % 8,              \
        (at) + ((n) + 7) % 8
#define MOVED_4(n) MOVED(0, n), MOVED(8, n), MOVED(16, n), MOVED(24, n)
#define MOVED_8(n) MOVED_4(n), MOVED(32, n), MOVED(40, n), MOVED(48, n), MOVED(56, n)

INLINE uint64_t word(const unsigned char *bytes, size_t at)
{
    uint64_t value; /* this processor's words are little-endian, too */
    memcpy(&value, bytes + 8 * at, sizeof(value));
    return value;
}

#define JOINED(name, lanes) name##lanes
#define OF(name, lanes) JOINED(name, lanes)
#define OF_LANES(name) OF(name, LANES)
#define LANES 4
#include "hashing/blake2b/blake2b_body.h"
#define LANES 8
#include "hashing/blake2b/blake2b_body.h"

__attribute__((target("avx2"))) static void
four_by_avx2(const struct blake2b_message *messages, unsigned char *const *digests)
{
    digest4(messages, digests, false);
}

__attribute__((target("avx2,avx512f,avx512vl"))) HOT static void
four_by_avx512(const struct blake2b_message *messages, unsigned char *const *digests)
{
    digest4(messages, digests, true);
}

__attribute__((target("avx2,avx512f,avx512vl"))) HOT static void
eight_by_avx512(const struct blake2b_message *messages, unsigned char *const *digests)
{
    digest8(messages, digests, true);
}

/* The first processors with vectors of eight words slow their clock for them; those
 * which move bytes in them do not. */
enum blake2b_way blake2b_best_way(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) {
        return BLAKE2B_ALONE;
    }
    if (!__builtin_cpu_supports("avx512vl")) {
        return BLAKE2B_FOUR_AVX2;
    }
    return __builtin_cpu_supports("avx512vbmi2") ? BLAKE2B_EIGHT_AVX512
                                                 : BLAKE2B_FOUR_AVX512;
}

size_t blake2b_lanes(enum blake2b_way way)
{
    return way == BLAKE2B_EIGHT_AVX512 ? 8 : way != BLAKE2B_ALONE ? 4 : 0;
}

HOT void blake2b_together(enum blake2b_way way, const struct blake2b_message *messages,
                          unsigned char *const *digests)
{
    if (way == BLAKE2B_EIGHT_AVX512) {
        eight_by_avx512(messages, digests);
    } else if (way == BLAKE2B_FOUR_AVX512) {
        four_by_avx512(messages, digests);
    } else {
        four_by_avx2(messages, digests);
    }
}

#else

enum blake2b_way blake2b_best_way(void) { return BLAKE2B_ALONE; }

size_t blake2b_lanes(enum blake2b_way way)
{
    (void)way;
    return 0;
}

void blake2b_together(enum blake2b_way way, const struct blake2b_message *messages,
                      unsigned char *const *digests)
{
    (void)way, (void)messages, (void)digests;
}

#endif
