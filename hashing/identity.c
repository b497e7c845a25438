/* identity.c - a task's spec to its 16 bytes (identity.h).
 *
 * The spec is streamed into BLAKE2b; no encoded copy of it exists.  What enters is
 *
 *   u32 format version
 *   u32 n, n bytes      kernel name           u32 kernel version
 *   u32 n, n bytes      arguments
 *   u32 n, 16 n bytes   input hashes, in order
 *   u8 present, u32 n, n bytes   key          (no key: 0, 0)
 *   u8 once
 *   u8 present, u32 n, n u32     candidates, ascending (all ranks: 0, 0)
 *   16 bytes scope
 *
 * with little-endian integers; most specs then fit into one block of BLAKE2b.  A scope
 * is hashed likewise: u32 format version, the parent's 16 bytes, u32 n and the name.
 * BLAKE2b's personalisation keeps tasks, scopes and plain digests apart: no task has
 * the hash of a scope or of a file.
 *
 * Whether a task is nested is not in the digest but in its facts: the scope of a nested
 * task is its parent's hash, which is the hash of no scope.
 *
 * The hash of a scope is SCOPED, and every hash takes the bytes and the bit that say so
 * from its scope: a nested task from its parent, a scope in a scope has its own.  48
 * bits tell a million scopes apart (two of them agree once in 500 runs of that size),
 * and within one of them 76 are left to tell tasks apart.
 */
#include "identity.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

enum {
    IDENTITY_FORMAT = 2,
    SCOPE_BYTES = 6,
    SCOPE_AT = MOOT_HASH_BYTES - 1 - SCOPE_BYTES
};

static_assert(crypto_generichash_blake2b_PERSONALBYTES == 16, "as below");
static const unsigned char personal_task[16] = "moot task";
static const unsigned char personal_scope[16] = "moot scope";

/* --- Writing a spec --------------------------------------------------------------- */

/* Fields are gathered, because a call of the library for each costs more than its
 * bytes, and so that fixed fields are plain stores: put_bytes() leaves room for all
 * that stand between two of its calls. */
enum { GATHERED_MAX = 512, FIXED_MAX = 64 };

typedef struct {
    crypto_generichash_blake2b_state blake;
    size_t gathered;
    unsigned char bytes[GATHERED_MAX + FIXED_MAX];
} digest_state;

static_assert(sizeof(((digest_state *)0)->blake) ==
                  sizeof(((struct identity_kernel *)0)->state),
              "a kernel keeps a state of the library's");

static void digest_begin(digest_state *state, const unsigned char personal[16])
{
    crypto_generichash_blake2b_init_salt_personal(&state->blake, NULL, 0,
                                                  MOOT_HASH_BYTES, NULL, personal);
    state->gathered = 0;
}

static void hand_over(digest_state *state, const void *bytes, size_t size)
{
    crypto_generichash_blake2b_update(&state->blake, bytes, size);
}

static void hand_over_gathered(digest_state *state)
{
    hand_over(state, state->bytes, state->gathered);
    state->gathered = 0;
}

static moot_hash digest_end(digest_state *state)
{
    moot_hash hash;
    hand_over_gathered(state);
    crypto_generichash_blake2b_final(&state->blake, hash.bytes, sizeof hash.bytes);
    hash.bytes[MOOT_HASH_BYTES - 1] &= (uint8_t)~MOOT_HASH_FACTS;
    return hash;
}

static inline void put_bytes(digest_state *state, const void *bytes, size_t size)
{
    if (state->gathered + size > GATHERED_MAX)
        hand_over_gathered(state);
    if (size > GATHERED_MAX) {
        hand_over(state, bytes, size);
    } else if (size > 0) {
        memcpy(state->bytes + state->gathered, bytes, size);
        state->gathered += size;
    }
}

static inline void put_byte(digest_state *state, bool value)
{
    state->bytes[state->gathered++] = value;
}

static inline void put_u32(digest_state *state, size_t value)
{
    assert(value <= UINT32_MAX);
    unsigned char *at = state->bytes + state->gathered;
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
    at[2] = (unsigned char)(value >> 16);
    at[3] = (unsigned char)(value >> 24);
    state->gathered += 4;
}

static inline void put_counted(digest_state *state, const void *bytes, size_t size)
{
    put_u32(state, size);
    put_bytes(state, bytes, size);
}

static void put_candidates(digest_state *state, const struct rankset *candidates)
{
    put_byte(state, candidates != NULL);
    put_u32(state, candidates != NULL ? rankset_count(candidates) : 0);
    if (candidates == NULL)
        return;
    for (uint32_t rank = rankset_next(candidates, 0); rank != UINT32_MAX;
         rank = rankset_next(candidates, rank + 1)) {
        put_bytes(state, NULL, 0);
        put_u32(state, rank);
    }
}

static void put_kernel(digest_state *state, const char *name, uint32_t version)
{
    digest_begin(state, personal_task);
    put_u32(state, IDENTITY_FORMAT);
    put_counted(state, name, strlen(name));
    put_u32(state, version);
}

void identity_kernel_init(struct identity_kernel *kernel, const char *name,
                          uint32_t version)
{
    digest_state state;
    put_kernel(&state, name, version);
    hand_over_gathered(&state);
    memcpy(kernel->state, &state.blake, sizeof kernel->state);
}

/* --- Hashes ----------------------------------------------------------------------- */

static void put_scope(moot_hash *hash, const moot_hash *scope)
{
    if ((scope->bytes[MOOT_HASH_BYTES - 1] & MOOT_HASH_SCOPED) == 0)
        return;
    hash->bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_SCOPED;
    memcpy(hash->bytes + SCOPE_AT, scope->bytes + SCOPE_AT, SCOPE_BYTES);
}

moot_hash identity_hash(const struct identity *spec)
{
    digest_state state;
    if (spec->kernel != NULL) {
        memcpy(&state.blake, spec->kernel->state, sizeof state.blake);
        state.gathered = 0;
    } else {
        put_kernel(&state, spec->kernel_name, spec->kernel_version);
    }
    put_counted(&state, spec->args, spec->args_size);
    put_u32(&state, spec->input_count);
    put_bytes(&state, spec->inputs, spec->input_count * sizeof *spec->inputs);
    put_byte(&state, spec->key != NULL);
    put_counted(&state, spec->key, spec->key != NULL ? spec->key_size : 0);
    put_byte(&state, spec->once);
    put_candidates(&state, spec->candidates);
    put_bytes(&state, spec->scope.bytes, sizeof spec->scope.bytes);
    moot_hash hash = digest_end(&state);

    int facts = (spec->once ? MOOT_HASH_ONCE : 0) |
                (spec->candidates != NULL ? MOOT_HASH_CANDIDATES : 0) |
                (spec->nested ? MOOT_HASH_NESTED : 0);
    hash.bytes[MOOT_HASH_BYTES - 1] |= (uint8_t)facts;
    put_scope(&hash, &spec->scope);
    return hash;
}

moot_hash identity_scope(const moot_hash *parent, const char *name)
{
    digest_state state;
    digest_begin(&state, personal_scope);
    put_u32(&state, IDENTITY_FORMAT);
    put_bytes(&state, parent->bytes, sizeof parent->bytes);
    put_counted(&state, name, strlen(name));
    moot_hash hash = digest_end(&state);
    hash.bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_SCOPED;
    return hash;
}

void hash_set_scope(moot_hash *hash, uint64_t scope)
{
    hash->bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_SCOPED;
    for (int i = SCOPE_BYTES; i-- > 0; scope >>= 8)
        hash->bytes[SCOPE_AT + i] = (uint8_t)scope;
}

uint64_t hash_scope_mark(const moot_hash *hash)
{
    uint64_t tag = 1; /* no scope's is 0 */
    for (int i = 0; i < SCOPE_BYTES; i++)
        tag = tag << 8 | hash->bytes[SCOPE_AT + i];
    return tag;
}
