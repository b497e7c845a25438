/* identity.h - what a task is, as 16 bytes.
 *
 * The digest covers, with every length written before what it is the length of (so that
 * no two different specs have the same encoding): the kernel's name and version, the
 * once flag, the argument bytes, the input hashes in order, the key, the candidate set,
 * and the scope, whose mark the hash bears in plain sight (moot_hash.h).  It does not
 * cover `after`, hint, priority or label: they say when, not what.
 *
 * Golden vectors in tests/golden/identity.txt hold it fixed across machines and
 * releases.
 */
#ifndef HASHING_IDENTITY_H
#define HASHING_IDENTITY_H

#include "moot_hash.h"
#include "rankset.h"
#include <stddef.h>
#include <string.h>

/* The part of a digest that all tasks of a kernel begin with, made once. */
struct identity_kernel {
    unsigned char state[384]; /* BLAKE2b's, with the kernel for its salt */
};

struct identity {
    const struct identity_kernel
        *kernel;             /* NULL: the next two; else they do not count */
    const char *kernel_name; /* NUL-terminated */
    uint32_t kernel_version;
    const void *args; /* may be NULL if args_size is 0 */
    size_t args_size;
    const moot_hash *inputs;
    size_t input_count;
    const void *key; /* NULL and 0: no key (differs from an empty key) */
    size_t key_size;
    bool once;
    bool nested;
    const struct rankset *candidates; /* NULL: all ranks */
    moot_hash scope;
};

/* Must be called before anything else of hashing/, from any thread, as often as one
 * likes; false if libsodium fails. */
bool hashing_init(void);

void identity_kernel_init(struct identity_kernel *kernel, const char *name,
                          uint32_t version);

/* The task hash of the spec. */
moot_hash identity_hash(const struct identity *spec);

/* The scope that `name` opens inside `parent` (the zero hash is the program's own). */
moot_hash identity_scope(const moot_hash *parent, const char *name);

uint64_t
hash_scope_mark(const moot_hash *hash); /* hash_scope() of one that is SCOPED */
/* The scope that a task, or a scope, belongs to: equal for all of one; 0: none. */
static inline uint64_t hash_scope(const moot_hash *hash)
{
    bool scoped = (hash->bytes[MOOT_HASH_BYTES - 1] & MOOT_HASH_SCOPED) != 0;
    return scoped ? hash_scope_mark(hash) : 0;
}
/* Gives a hash that mark, as a scope's task would have it. */
void hash_set_scope(moot_hash *hash, uint64_t scope);

/* BLAKE2b-128 of bytes, as `b2sum -l 128` prints it: fingerprints of arrays, files,
 * results.  Its low bits are digest, not facts. */
moot_hash digest_bytes(const void *data, size_t size);

bool hash_is_zero(const moot_hash *hash);
int hash_compare(const moot_hash *a, const moot_hash *b); /* as memcmp, a total order */

/* Tables look for tasks with these two at every step: they are inlined. */
static inline bool hash_equal(const moot_hash *a, const moot_hash *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}
/* The first 8 bytes, little-endian: good enough to index a table, not to identify. */
static inline uint64_t hash_word(const moot_hash *hash)
{
    const uint8_t *b = hash->bytes;
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 |
           (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 |
           (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

/* 32 lower-case hex digits and a NUL.  Returns text. */
char *hash_format(const moot_hash *hash, char text[MOOT_HASH_TEXT_BYTES]);
/* False, and out untouched, unless text is exactly 32 hex digits of either case. */
bool hash_parse(const char *text, moot_hash *out);

#endif
