/* moot_hash.h - the 16 bytes that name a task.
 *
 * Public and self-contained.  A task hash is BLAKE2b-128 over what a task *is*
 * (identity.h lists the fields); it never covers an address, padding, or the order in
 * which a rank happened to spawn.  Equal hashes on two ranks are the same task.
 *
 * The last byte carries facts in its low bits that everyone who meets the bare hash
 * must know before it has met the spec: a rank that is asked for a task it has never
 * spawned still has to know whether a quorum is needed before it starts (ONCE), whether
 * it may run again when its owner has died all the same (IDEMPOTENT, only with ONCE),
 * whether its chair can be computed from the hash alone (not if CANDIDATES), whether
 * waiting for the chair to register it is pointless (NESTED), and which phase of the
 * program it belongs to, so that what comes late about a phase that is over is known
 * for what it is (SCOPED: the six bytes before the last are then the scope's, the same
 * in the hash of the scope and in all its tasks', nested ones included).  ARRAY is of
 * arrays of tasks and their elements: no single task has it.
 */
#ifndef MOOT_HASH_H
#define MOOT_HASH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MOOT_HASH_BYTES = 16, MOOT_HASH_TEXT_BYTES = 33 };

typedef struct moot_hash {
    uint8_t bytes[MOOT_HASH_BYTES];
} moot_hash;

/* The facts in the low bits of bytes[15]. */
enum {
    MOOT_HASH_ONCE = 1,        /* owners are accepted by voters before it starts */
    MOOT_HASH_CANDIDATES = 2,  /* the chair is drawn from a set, not from all */
    MOOT_HASH_NESTED = 4,      /* spawned inside a running task */
    MOOT_HASH_SCOPED = 8,      /* in a named scope */
    MOOT_HASH_IDEMPOTENT = 16, /* with ONCE: may be re-run if its owner has died */
    MOOT_HASH_ARRAY = 32,      /* a task array, or an element of one */
    MOOT_HASH_STRETCHES = MOOT_HASH_IDEMPOTENT, /* with ARRAY: its elements start at
                                                   most once, a home's by one rank */
    MOOT_HASH_FACTS = 63
};

#ifdef __cplusplus
}
#endif
#endif
