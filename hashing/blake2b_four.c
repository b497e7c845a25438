/* blake2b_four.c - see blake2b_four.h.
 *
 * One body, compiled once for each set of instructions: AVX2, whose vectors have four
 * words of 64 bits, and AVX-512VL, which also rotates them.  The rounds are a loop, not
 * written out: ten times as much code would save a fifth of the time, and push other
 * code out of its cache.
 */
#include "blake2b_four.h"

#include "hot.h"

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
        [0] = BLAKE2B_FOUR_BYTES, [2] = 1 /* fan-out */, [3] = 1 /* depth */};
    struct blake2b_start start;
    memcpy(parameters + 32, salt, 16);
    memcpy(parameters + 48, personal, 16);
    for (int i = 0; i < 8; i++) {
        start.words[i] = iv[i];
        for (int byte = 0; byte < 8; byte++)
            start.words[i] ^= (uint64_t)parameters[8 * i + byte] << 8 * byte;
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

/* A word of each message. */
typedef uint64_t four __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

#define ROTATED(x, bits) ((x) >> (bits) | (x) << (64 - (bits)))

/* By whole bytes: where no instruction rotates, one moves bytes instead of three. */
typedef uint8_t four_bytes __attribute__((vector_size(32)));
#define MOVED_8(at, n)                                                                 \
    (at) + (n) % 8, (at) + ((n) + 1) % 8, (at) + ((n) + 2) % 8, (at) + ((n) + 3) % 8,  \
        (at) + ((n) + 4) % 8, (at) + ((n) + 5) % 8, (at) + ((n) + 6) % 8,              \
        (at) + ((n) + 7) % 8
#define MOVED(n) MOVED_8(0, n), MOVED_8(8, n), MOVED_8(16, n), MOVED_8(24, n)
#ifdef __clang__
#define BYTES_ROTATED(x, n)                                                            \
    ((four)__builtin_shufflevector((four_bytes)(x), (four_bytes)(x), MOVED(n)))
#else
#define BYTES_ROTATED(x, n)                                                            \
    ((four)__builtin_shuffle((four_bytes)(x), (four_bytes){MOVED(n)}))
#endif

/* `rotates`: an instruction does. */
INLINE void mix(four *a, four *b, four *c, four *d, const four *x, const four *y,
                bool rotates)
{
    *a += *b + *x;
    *d ^= *a;
    *d = rotates ? ROTATED(*d, 32) : BYTES_ROTATED(*d, 4);
    *c += *d;
    *b ^= *c;
    *b = rotates ? ROTATED(*b, 24) : BYTES_ROTATED(*b, 3);
    *a += *b + *y;
    *d ^= *a;
    *d = rotates ? ROTATED(*d, 16) : BYTES_ROTATED(*d, 2);
    *c += *d;
    *b = ROTATED(*b ^ *c, 63);
}

INLINE void one_round(four v[16], const four m[16], const uint8_t *next, bool rotates)
{
    mix(&v[0], &v[4], &v[8], &v[12], &m[next[0]], &m[next[1]], rotates);
    mix(&v[1], &v[5], &v[9], &v[13], &m[next[2]], &m[next[3]], rotates);
    mix(&v[2], &v[6], &v[10], &v[14], &m[next[4]], &m[next[5]], rotates);
    mix(&v[3], &v[7], &v[11], &v[15], &m[next[6]], &m[next[7]], rotates);
    mix(&v[0], &v[5], &v[10], &v[15], &m[next[8]], &m[next[9]], rotates);
    mix(&v[1], &v[6], &v[11], &v[12], &m[next[10]], &m[next[11]], rotates);
    mix(&v[2], &v[7], &v[8], &v[13], &m[next[12]], &m[next[13]], rotates);
    mix(&v[3], &v[4], &v[9], &v[14], &m[next[14]], &m[next[15]], rotates);
}

INLINE uint64_t word(const unsigned char *bytes, size_t at)
{
    uint64_t value; /* this processor's words are little-endian, too */
    memcpy(&value, bytes + 8 * at, sizeof value);
    return value;
}

INLINE void digest_four(const struct blake2b_message message[4],
                        unsigned char *digests[4], bool rotates)
{
    four m[16], v[16], first[2];
    for (size_t i = 0; i < 16; i++)
        m[i] = (four){word(message[0].block, i), word(message[1].block, i),
                      word(message[2].block, i), word(message[3].block, i)};
    for (size_t i = 0; i < 8; i++) {
        v[i] = (four){message[0].start->words[i], message[1].start->words[i],
                      message[2].start->words[i], message[3].start->words[i]};
        v[i + 8] = (four){iv[i], iv[i], iv[i], iv[i]};
    }
    first[0] = v[0];
    first[1] = v[1];
    v[12] ^= (four){message[0].size, message[1].size, message[2].size, message[3].size};
    v[14] = ~v[14]; /* the last block */
    for (size_t i = 0; i < ROUNDS; i++)
        one_round(v, m, schedule[i], rotates);
    for (size_t i = 0; i < 2; i++) {
        four out = first[i] ^ v[i] ^ v[i + 8];
        for (size_t lane = 0; lane < 4; lane++) {
            uint64_t value = out[lane];
            memcpy(digests[lane] + 8 * i, &value, sizeof value);
        }
    }
}

__attribute__((target("avx2"))) static void
four_by_avx2(const struct blake2b_message messages[4], unsigned char *digests[4])
{
    digest_four(messages, digests, false);
}

__attribute__((target("avx2,avx512f,avx512vl"))) HOT static void
four_by_avx512(const struct blake2b_message messages[4], unsigned char *digests[4])
{
    digest_four(messages, digests, true);
}

int blake2b_four_ways(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2"))
        return 0;
    return __builtin_cpu_supports("avx512vl") ? 2 : 1;
}

HOT void blake2b_four(int way, const struct blake2b_message messages[4],
                      unsigned char *digests[4])
{
    if (way == 2)
        four_by_avx512(messages, digests);
    else
        four_by_avx2(messages, digests);
}

#else

int blake2b_four_ways(void) { return 0; }

void blake2b_four(int way, const struct blake2b_message messages[4],
                  unsigned char *digests[4])
{
    (void)way, (void)messages, (void)digests;
}

#endif
