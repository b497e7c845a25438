/* random.h - the pseudo-random numbers of the simulator and its programs.
 *
 * SplitMix64 (Steele, Lea and Flood, 2014): one word of state, no undefined corner, and
 * the same stream on every machine and compiler, which is all that a replayable seed
 * needs.  Streams with different purposes are split off by name, so that drawing one
 * more number for one purpose does not shift the numbers of another.
 */
#ifndef CONSENSUS_SIM_PROGRAMS_RANDOM_H
#define CONSENSUS_SIM_PROGRAMS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

/* A bijective mixing of 64 bits. */
static inline uint64_t random_mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

static inline uint64_t random_next(struct random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return random_mix(random->state);
}

/* The stream number `purpose` of a seed. */
static inline struct random random_stream(uint64_t seed, uint64_t purpose)
{
    struct random random = {random_mix(seed) ^
                            random_mix(purpose * UINT64_C(0xd1342543de82ef95) + 1)};
    (void)random_next(&random);
    return random;
}

/* Uniform in 0..bound-1 (up to a bias of bound/2^64); 0 if bound is 0. */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
    return bound == 0 ? 0 : random_next(random) % bound;
}

/* Uniform in low..high, both included. */
static inline uint64_t random_between(struct random *random, uint64_t low,
                                      uint64_t high)
{
    return low + random_below(random, high - low + 1);
}

/* True with a chance of per_mille in 1000. */
static inline bool random_chance(struct random *random, uint32_t per_mille)
{
    return random_below(random, 1000) < per_mille;
}

#endif
