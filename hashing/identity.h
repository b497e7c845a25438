/* identity.h - what a task is, as 16 bytes.
 *
 * The digest covers, with every length written before what it is the length of (so that
 * no two different specs have the same encoding): the kernel's name and version, the
 * once flag, whether it is idempotent, the argument bytes, the input hashes in order,
 * the key, the candidate set, the scope, whose mark the hash bears in plain sight
 * (moot_hash.h), and the place of another task, if it is to be beside that one.  A
 * chair is drawn by the place alone, three bytes of the hash (placement.h), so tasks
 * beside each other have one chair in every view, and whoever knows a hash knows it. It
 * does not cover `after`, hint, priority or label: they say when, not what.
 *
 * Golden vectors in tests/golden/identity.txt hold it fixed across machines and
 * releases.
 */
#ifndef HASHING_IDENTITY_H
#define HASHING_IDENTITY_H

#include "hashing/blake2b/blake2b_lanes.h"
#include "hashing/moot_hash.h"
#include "hashing/rankset.h"
#include <stddef.h>
#include <string.h>

/* The part of a digest that all tasks of a kernel begin with, made once. */
struct identity_kernel {
    unsigned char state[384]; /* BLAKE2b's, with the kernel for its salt */
    struct blake2b_start start;
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
    bool idempotent; /* says nothing of what is not once */
    bool nested;
    const struct rankset *candidates; /* NULL: all ranks; none of an array */
    moot_hash scope;
    uint32_t place; /* hash_place() of a task that it is beside; 0: its own */
};

/* Must be called before anything else of hashing/, from any thread, as often as one
 * likes; false if libsodium fails. */
bool hashing_init(void);

void identity_kernel_init(struct identity_kernel *kernel, const char *name,
                          uint32_t version);

/* The task hash of the spec. */
moot_hash identity_hash(const struct identity *spec);

/* The map by which an array takes the elements of an input. */
struct identity_map {
    const char *name; /* NUL-terminated, not empty; NULL: the input is one task's
                         result, and the rest does not count */
    uint32_t version;
    const void *args; /* may be NULL if args_size is 0 */
    size_t args_size;
};

/* The part of a task array's spec that a task's has not.  Its inputs are the hashes of
 * arrays and tasks. */
struct identity_array {
    uint64_t count;
    uint64_t block;  /* elements of a block, if the spread has blocks; else 0 */
    uint32_t spread; /* its kind */
    const struct identity_map *maps; /* one for each input */
    const struct rankset *homes; /* NULL: the ranks of the first view, which it does not
                                    cover */
    bool bound;                  /* these are its candidates */
};

/* The hash of the array, which is not one of a task. */
moot_hash identity_array_hash(const struct identity *spec,
                              const struct identity_array *array);
/* The 16 bytes that people are shown of an element, and that a task which takes it
 * covers. */
moot_hash identity_element(const moot_hash *array, uint64_t index);

/* Up to so many plain specs are hashed together in little more time than one of them:
 * neither once nor nested, in no scope, without a key, for all ranks or for one, and a
 * block of BLAKE2b in all. */
enum { IDENTITY_TOGETHER_MAX = BLAKE2B_LANES_MAX, IDENTITY_OWNERS = 64 };
struct identity_block {
    const struct identity_kernel *kernel;
    uint8_t size, args_at, inputs_at; /* the last two: in the bytes */
    uint8_t facts;                    /* of the hash */
    unsigned char bytes[BLAKE2B_BLOCK_BYTES];
};

/* Before the others: looks what this processor can. */
void identity_together_init(void);
/* As many specs as it gains by; 0: by none. */
size_t identity_together(void);
/* Makes a block of a plain spec, for rank `owner_plus_one` - 1, which is below
 * IDENTITY_OWNERS, or for all (0); returns where the hashes of its inputs are to be
 * written, one behind the other, or NULL if it is too long. */
unsigned char *identity_block_fill(struct identity_block *block,
                                   const struct identity_kernel *kernel,
                                   const void *args, size_t args_size,
                                   size_t input_count, unsigned owner_plus_one);
/* Their hashes; `count`: 1 to IDENTITY_TOGETHER_MAX. */
void identity_hash_together(const struct identity_block *const *blocks, size_t count,
                            moot_hash *hashes);

/* The scope that `name` opens inside `parent` (the zero hash is the program's own). */
moot_hash identity_scope(const moot_hash *parent, const char *name);

/* Whether the hash bears a fact, one of MOOT_HASH_ONCE and so on. */
static inline bool hash_has(const moot_hash *hash, int fact)
{
    return (hash->bytes[MOOT_HASH_BYTES - 1] & fact) != 0;
}

/* The bytes by which chairs are drawn: the last three before a scope's mark. */
enum { HASH_PLACE_BYTES = 3, HASH_PLACE_AT = 6 };
/* The place of a task: equal for all that are beside each other; never 0. */
static inline uint32_t hash_place(const moot_hash *hash)
{
    const uint8_t *b = hash->bytes + HASH_PLACE_AT;
    return UINT32_C(1) << 24 | (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
}
/* Gives it that place, of which the lower 24 bits count. */
void hash_set_place(moot_hash *hash, uint32_t place);

/* hash_scope() of one that is SCOPED. */
uint64_t hash_scope_mark(const moot_hash *hash);
/* The scope that a task, or a scope, belongs to: equal for all of one; 0: none. */
static inline uint64_t hash_scope(const moot_hash *hash)
{
    return hash_has(hash, MOOT_HASH_SCOPED) ? hash_scope_mark(hash) : 0;
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
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
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
