/* rollsum.h - cutting a roll where its content says so, and summing what lies between.
 *
 * Ranks compare rolls chunk by chunk.  A chunk ends with a task whose hash has its
 * first byte zero (one in 256 on average), or after ROLL_CHUNK_TASKS_MAX tasks, so two
 * rolls that differ by one insertion agree again in the next chunk.  A chunk's sum is
 * the 128-bit sum, modulo 2^128, of its hashes: adding and removing are O(1) and the
 * order inside a chunk does not count.  (Content-defined chunking as in LBFS,
 * Muthitacharoen et al., SOSP'01.)  There is no adversary: additive sums are enough.
 */
#ifndef HASHING_ROLLSUM_H
#define HASHING_ROLLSUM_H

#include "hashing/moot_hash.h"

enum { ROLL_CHUNK_TASKS_MAX = 4096 };

struct rollsum {
    uint64_t low, high;
};

bool rollsum_ends_chunk(const moot_hash *hash);
void rollsum_add(struct rollsum *sum, const moot_hash *hash);
void rollsum_subtract(struct rollsum *sum, const moot_hash *hash);
bool rollsum_equal(const struct rollsum *a, const struct rollsum *b);

#endif
