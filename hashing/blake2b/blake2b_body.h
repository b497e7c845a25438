/* blake2b_body.h - blake2b_lanes.c's rounds on vectors of LANES words.
 *
 * Included there once for each LANES, without a guard; what it defines has LANES behind
 * its name.  The rounds are a loop, not written out: ten times as much code would save
 * a fifth of the time, and push other code out of its cache.
 */

/* A word of each message. */
typedef uint64_t OF_LANES(words) __attribute__((vector_size(8 * LANES)));
#define WORDS OF_LANES(words)
#define MIX OF_LANES(mix)
#define ROUND OF_LANES(one_round)

/* By whole bytes: where no instruction rotates, one moves bytes instead of three. */
typedef uint8_t OF_LANES(bytes) __attribute__((vector_size(8 * LANES)));
#define BYTES OF_LANES(bytes)
#ifdef __clang__
#define BYTES_ROTATED(x, n)                                                            \
    ((WORDS)__builtin_shufflevector((BYTES)(x), (BYTES)(x), OF_LANES(MOVED_)(n)))
#else
#define BYTES_ROTATED(x, n)                                                            \
    ((WORDS)__builtin_shuffle((BYTES)(x), (BYTES){OF_LANES(MOVED_)(n)}))
#endif

/* `rotates`: an instruction does. */
INLINE void MIX(WORDS *a, WORDS *b, WORDS *c, WORDS *d, const WORDS *x, const WORDS *y,
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

INLINE void ROUND(WORDS v[16], const WORDS m[16], const uint8_t *next, bool rotates)
{
    static const uint8_t mixed[8][4] = {{0, 4, 8, 12},  {1, 5, 9, 13},  {2, 6, 10, 14},
                                        {3, 7, 11, 15}, {0, 5, 10, 15}, {1, 6, 11, 12},
                                        {2, 7, 8, 13},  {3, 4, 9, 14}};
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
        MIX(&v[mixed[i][0]], &v[mixed[i][1]], &v[mixed[i][2]], &v[mixed[i][3]],
            &m[next[2 * i]], &m[next[2 * i + 1]], rotates);
    }
}

INLINE void OF_LANES(digest)(const struct blake2b_message *messages,
                             unsigned char *const *digests, bool rotates)
{
    WORDS m[16], v[16], first[2], sizes;
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; i++)
#pragma GCC unroll 8
        for (size_t lane = 0; lane < LANES; lane++) {
            m[i][lane] = word(messages[lane].block, i);
        }
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++)
#pragma GCC unroll 8
        for (size_t lane = 0; lane < LANES; lane++) {
            v[i][lane] = messages[lane].start->words[i];
        }
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
        v[i + 8] = iv[i] + (WORDS){0};
    }
    first[0] = v[0];
    first[1] = v[1];
#pragma GCC unroll 8
    for (size_t lane = 0; lane < LANES; lane++) {
        sizes[lane] = messages[lane].size;
    }
    v[12] ^= sizes;
    v[14] = ~v[14]; /* the last block */
#pragma GCC unroll 1
    for (size_t i = 0; i < ROUNDS; i++) {
        ROUND(v, m, schedule[i], rotates);
    }
    for (size_t i = 0; i < 2; i++) {
        WORDS out = first[i] ^ v[i] ^ v[i + 8];
        for (size_t lane = 0; lane < LANES; lane++) {
            uint64_t value = out[lane];
            memcpy(digests[lane] + 8 * i, &value, sizeof(value));
        }
    }
}

#undef BYTES_ROTATED
#undef BYTES
#undef ROUND
#undef MIX
#undef WORDS
#undef LANES
