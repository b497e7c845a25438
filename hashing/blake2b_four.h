/* blake2b_four.h - BLAKE2b of four short messages at once.
 *
 * A digest of one block is twelve rounds of two steps, each a dozen operations that
 * wait for one another, so a processor does a third of what it could.  Four messages, a
 * vector's lane each, take little longer than one: a task's hash costs a third where
 * four tasks are named together.  Libraries hash one message at a time; theirs is what
 * these digests are tested against, and what is used where a processor has no vectors
 * of four words.
 *
 * Source: RFC 7693 (Saarinen and Aumasson, 2015), sections 2.6, 2.7 and 3.2.
 */
#ifndef HASHING_BLAKE2B_FOUR_H
#define HASHING_BLAKE2B_FOUR_H

#include <stddef.h>
#include <stdint.h>

enum { BLAKE2B_BLOCK_BYTES = 128, BLAKE2B_FOUR_BYTES = 16 };

struct blake2b_start {
    uint64_t words[8]; /* the state before the first block */
};

/* Of digests of BLAKE2B_FOUR_BYTES without a key; `salt`, `personal`: 16 bytes each. */
struct blake2b_start blake2b_start(const unsigned char *salt,
                                   const unsigned char *personal);

struct blake2b_message {
    const struct blake2b_start *start;
    const unsigned char *block; /* BLAKE2B_BLOCK_BYTES, zero behind the message */
    size_t size;                /* of the message, not above that */
};

/* How many ways this processor has to do it, each faster than those before; 0: none. */
int blake2b_four_ways(void);
/* The four digests, BLAKE2B_FOUR_BYTES each; `way`: 1 to blake2b_four_ways(). */
void blake2b_four(int way, const struct blake2b_message messages[4],
                  unsigned char *digests[4]);

#endif
