/* blake2b_lanes.h - BLAKE2b of several short messages at once.
 *
 * A digest of one block is twelve rounds of two steps, each a dozen operations that
 * wait for one another, so a processor does a small part of what it could.  Four or
 * eight messages, a vector's lane each, take little longer than one: a task's hash
 * costs a third or a sixth where as many tasks are named together.  Libraries hash one
 * message at a time; theirs is what these digests are tested against, and what is used
 * where a processor has no vectors of four words.
 *
 * Source: RFC 7693 (Saarinen and Aumasson, 2015), sections 2.6, 2.7 and 3.2.
 */
#ifndef HASHING_BLAKE2B_BLAKE2B_LANES_H
#define HASHING_BLAKE2B_BLAKE2B_LANES_H

#include <stddef.h>
#include <stdint.h>

enum { BLAKE2B_BLOCK_BYTES = 128, BLAKE2B_DIGEST_BYTES = 16, BLAKE2B_LANES_MAX = 8 };

struct blake2b_start {
    uint64_t words[8]; /* the state before the first block */
};

/* Of digests of BLAKE2B_DIGEST_BYTES without a key; `salt`, `personal`: 16 bytes each.
 */
struct blake2b_start blake2b_start(const unsigned char *salt,
                                   const unsigned char *personal);

struct blake2b_message {
    const struct blake2b_start *start;
    const unsigned char *block; /* BLAKE2B_BLOCK_BYTES, zero behind the message */
    size_t size;                /* of the message, not above that */
};

/* Named for their instructions.  A processor that has one has those before it. */
enum blake2b_way {
    BLAKE2B_ALONE, /* none */
    BLAKE2B_FOUR_AVX2,
    BLAKE2B_FOUR_AVX512,
    BLAKE2B_EIGHT_AVX512
};

/* The last that this processor has, and does not slow its clock for. */
enum blake2b_way blake2b_best_way(void);
/* How many messages it digests: 0, 4 or 8. */
size_t blake2b_lanes(enum blake2b_way way);
/* Their digests, BLAKE2B_DIGEST_BYTES each; not BLAKE2B_ALONE. */
void blake2b_together(enum blake2b_way way, const struct blake2b_message *messages,
                      unsigned char *const *digests);

#endif
