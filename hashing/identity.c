/* identity.c - a task's spec to its 16 bytes (identity.h).
 *
 * The spec is streamed into BLAKE2b; no encoded copy of it exists.  What enters is
 *
 *   u8  facts            1: a key, 2: once, 4: candidates, 8: a scope, 16: idempotent,
 *                        64: beside another, 128: homes
 *   n                    bytes of arguments
 *   n                    input hashes
 *   n                    bytes of the key, if there is one
 *   n                    candidates, if not all ranks are; or homes
 *   the arguments; the input hashes, in order; the key; the candidates, ascending, each
 *   as an n; the scope's 16 bytes, if it is not zero; the three bytes of the place that
 *   it shares, if it is beside another
 *
 * with every n in as few groups of 7 bits as it has, the lowest first, all but the last
 * with 128 added (LEB128).  BLAKE2b's salt is the kernel: the 16-byte digest of u32
 * version, little-endian, and name, so that a kernel takes no room.  32 bytes of
 * arguments, five inputs and an owner are one block of BLAKE2b, and each block takes
 * two thirds as long as all the rest.  A scope is the digest of the parent's 16 bytes
 * and the name.  BLAKE2b's personalisation keeps tasks, kernels, scopes and plain
 * digests apart: no task has the hash of a scope or of a file.
 *
 * The spec of a task array has 32 among its facts, and behind the numbers above these:
 * its count, the kind of its spread and how large a block of it is, and for each input
 * the bytes of its map's name, or 0 for a single task's result, and if it has a map the
 * map's version and the bytes of its arguments.  At the end stand the names and the
 * arguments of the maps, in order.  An array's candidates are its homes, and so are
 * the ranks of the session in which it is spawned, if there are none; the ranks that
 * the moot was opened with are not covered.  An element is the digest of its array's 16
 * bytes and its index as an n, with the array's facts and scope.
 *
 * Whether a task is nested is not in the digest but in its facts: the scope of a nested
 * task is its parent's hash, which is the hash of no scope.
 *
 * The hash of a scope is SCOPED, and every hash takes the bytes and the bit that say so
 * from its scope: a nested task from its parent, a scope in a scope has its own.  48
 * bits tell a million scopes apart (two of them agree once in 500 runs of that size),
 * and within one of them 74 are left to tell tasks apart.
 *
 * 24 bits of these are the place, which is the other's where a task is beside one.  So
 * 50 bits tell tasks apart that share both scope and place: two of 100,000 updates of
 * one datum agree once in 200,000 such programs.  Outside of scopes 98 bits do.
 */
#include "hashing/identity.h"

#include "hashing/base/hot.h"
#include <assert.h>
#include <sodium.h>
#include <string.h>

enum { SCOPE_BYTES = 6, SCOPE_AT = MOOT_HASH_BYTES - 1 - SCOPE_BYTES };

static_assert(HASH_PLACE_AT + HASH_PLACE_BYTES == SCOPE_AT, "a mark leaves the place");
static_assert(crypto_generichash_blake2b_PERSONALBYTES == 16, "as below");
static_assert(crypto_generichash_blake2b_SALTBYTES == MOOT_HASH_BYTES, "a kernel's");
/* The number is the format's. */
static const unsigned char personal_task[16] = "moot task 4";
static const unsigned char personal_kernel[16] = "moot kernel 4";
static const unsigned char personal_scope[16] = "moot scope 4";
static const unsigned char personal_element[16] = "moot element 4";

enum {
    FACT_KEY = 1,
    FACT_ONCE = 2,
    FACT_CANDIDATES = 4,
    FACT_SCOPE = 8,
    FACT_IDEMPOTENT = 16, /* only with FACT_ONCE */
    FACT_ARRAY = 32,
    FACT_BESIDE = 64,
    FACT_HOMES = 128 /* only with FACT_ARRAY */
};

/* --- Writing a spec --------------------------------------------------------------- */

/* Fields are gathered, because a call of the library for each costs more than its
 * bytes, and so that fixed fields are plain stores: put_bytes() leaves room for all
 * that stand between two of its calls. */
enum { GATHERED_MAX = 512, FIXED_MAX = 64, GATHERED_ROOM = GATHERED_MAX + FIXED_MAX };

typedef struct {
    crypto_generichash_blake2b_state blake;
    size_t gathered;
    unsigned char *bytes; /* GATHERED_ROOM, or as many as will be put */
} digest_state;

static_assert(sizeof(((digest_state *)0)->blake) ==
                  sizeof(((struct identity_kernel *)0)->state),
              "a kernel keeps a state of the library's");

/* `salt`: NULL, or 16 bytes. */
static void digest_begin(digest_state *state, unsigned char room[GATHERED_ROOM],
                         const unsigned char *salt, const unsigned char personal[16])
{
    crypto_generichash_blake2b_init_salt_personal(&state->blake, NULL, 0,
                                                  MOOT_HASH_BYTES, salt, personal);
    state->gathered = 0;
    state->bytes = room;
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
    crypto_generichash_blake2b_final(&state->blake, hash.bytes, sizeof(hash.bytes));
    hash.bytes[MOOT_HASH_BYTES - 1] &= (uint8_t)~MOOT_HASH_FACTS;
    return hash;
}

static inline void put_bytes(digest_state *state, const void *bytes, size_t size)
{
    if (state->gathered + size > GATHERED_MAX) {
        hand_over_gathered(state);
    }
    if (size > GATHERED_MAX) {
        hand_over(state, bytes, size);
    } else if (size > 0) {
        memcpy(state->bytes + state->gathered, bytes, size);
        state->gathered += size;
    }
}

static inline void put_byte(digest_state *state, unsigned value)
{
    state->bytes[state->gathered++] = (unsigned char)value;
}

static inline void put_number(digest_state *state, size_t value)
{
    for (; value > 127; value >>= 7) {
        put_byte(state, 128 | (unsigned)(value & 127));
    }
    put_byte(state, (unsigned)value);
}

static void put_candidates(digest_state *state, const struct rankset *candidates)
{
    for (uint32_t rank = rankset_next(candidates, 0); rank != UINT32_MAX;
         rank = rankset_next(candidates, rank + 1)) {
        put_bytes(state, NULL, 0);
        put_number(state, rank);
    }
}

COLD void identity_kernel_init(struct identity_kernel *kernel, const char *name,
                               uint32_t version)
{
    unsigned char room[GATHERED_ROOM];
    digest_state state;
    digest_begin(&state, room, NULL, personal_kernel);
    for (int i = 0; i < 4; i++) {
        put_byte(&state, version >> 8 * i & 255);
    }
    put_bytes(&state, name, strlen(name));
    unsigned char salt[MOOT_HASH_BYTES];
    hand_over_gathered(&state);
    crypto_generichash_blake2b_final(&state.blake, salt, sizeof(salt));
    digest_begin(&state, room, salt, personal_task);
    memcpy(kernel->state, &state.blake, sizeof(kernel->state));
    kernel->start = blake2b_start(salt, personal_task);
}

/* --- Hashes ----------------------------------------------------------------------- */

static void put_scope(moot_hash *hash, const moot_hash *scope)
{
    if (!hash_has(scope, MOOT_HASH_SCOPED)) {
        return;
    }
    hash->bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_SCOPED;
    memcpy(hash->bytes + SCOPE_AT, scope->bytes + SCOPE_AT, SCOPE_BYTES);
}

/* The three bytes, the highest first, as they stand in a hash. */
static void write_place(uint8_t bytes[HASH_PLACE_BYTES], uint32_t place)
{
    for (int i = HASH_PLACE_BYTES; i-- > 0; place >>= 8) {
        bytes[i] = (uint8_t)place;
    }
}

void hash_set_place(moot_hash *hash, uint32_t place)
{
    write_place(hash->bytes + HASH_PLACE_AT, place);
}

static bool may_run_again(const struct identity *spec)
{
    return spec->once && spec->idempotent;
}

static void put_array(digest_state *state, const struct identity_array *array,
                      size_t input_count)
{
    put_bytes(state, NULL, 0);
    put_number(state, array->count);
    put_number(state, array->spread);
    put_number(state, array->block);
    for (size_t i = 0; i < input_count; i++) {
        const struct identity_map *map = &array->maps[i];
        put_bytes(state, NULL, 0);
        put_number(state, map->name != NULL ? strlen(map->name) : 0);
        if (map->name != NULL) {
            put_number(state, map->version);
            put_number(state, map->args_size);
        }
    }
}

static void put_maps(digest_state *state, const struct identity_array *array,
                     size_t input_count)
{
    for (size_t i = 0; i < input_count; i++) {
        const struct identity_map *map = &array->maps[i];
        if (map->name != NULL) {
            put_bytes(state, map->name, strlen(map->name));
            put_bytes(state, map->args, map->args_size);
        }
    }
}

static inline unsigned ranks_fact(const struct identity *spec,
                                  const struct identity_array *array)
{
    const bool any = array != NULL ? array->homes != NULL : spec->candidates != NULL;
    return !any                             ? 0u
           : array != NULL && !array->bound ? (unsigned)FACT_HOMES
                                            : (unsigned)FACT_CANDIDATES;
}

static inline void put_spec(digest_state *state, const struct identity *spec,
                            const struct identity_array *array)
{
    bool scoped = !hash_is_zero(&spec->scope);
    const struct rankset *ranks = array != NULL ? array->homes : spec->candidates;
    put_byte(state, (spec->key != NULL ? FACT_KEY : 0u) |
                        (spec->once ? FACT_ONCE : 0u) | ranks_fact(spec, array) |
                        (scoped ? FACT_SCOPE : 0u) |
                        (may_run_again(spec) ? FACT_IDEMPOTENT : 0u) |
                        (array != NULL ? FACT_ARRAY : 0u) |
                        (spec->place != 0 ? FACT_BESIDE : 0u));
    put_number(state, spec->args_size);
    put_number(state, spec->input_count);
    if (spec->key != NULL) {
        put_number(state, spec->key_size);
    }
    if (ranks != NULL) {
        put_number(state, rankset_count(ranks));
    }
    if (array != NULL) {
        put_array(state, array, spec->input_count);
    }
    put_bytes(state, spec->args, spec->args_size);
    put_bytes(state, spec->inputs, spec->input_count * sizeof(*spec->inputs));
    if (spec->key != NULL) {
        put_bytes(state, spec->key, spec->key_size);
    }
    if (ranks != NULL) {
        put_candidates(state, ranks);
    }
    if (scoped) {
        put_bytes(state, spec->scope.bytes, sizeof(spec->scope.bytes));
    }
    if (spec->place != 0) {
        uint8_t place[HASH_PLACE_BYTES];
        write_place(place, spec->place);
        put_bytes(state, place, sizeof(place));
    }
    if (array != NULL) {
        put_maps(state, array, spec->input_count);
    }
}

static inline moot_hash hash_spec(const struct identity *spec,
                                  const struct identity_array *array)
{
    struct identity_kernel made;
    const struct identity_kernel *kernel = spec->kernel;
    if (kernel == NULL) {
        identity_kernel_init(&made, spec->kernel_name, spec->kernel_version);
        kernel = &made;
    }
    unsigned char room[GATHERED_ROOM];
    digest_state state;
    memcpy(&state.blake, kernel->state, sizeof(state.blake));
    state.gathered = 0;
    state.bytes = room;
    put_spec(&state, spec, array);
    moot_hash hash = digest_end(&state);

    const bool stretches = array != NULL && spec->once; /* its end may be given again */
    int facts = (spec->once && !stretches ? MOOT_HASH_ONCE : 0) |
                (stretches ? MOOT_HASH_STRETCHES : 0) |
                (may_run_again(spec) ? MOOT_HASH_IDEMPOTENT : 0) |
                (spec->candidates != NULL ? MOOT_HASH_CANDIDATES : 0) |
                (spec->nested ? MOOT_HASH_NESTED : 0) |
                (array != NULL ? MOOT_HASH_ARRAY : 0);
    hash.bytes[MOOT_HASH_BYTES - 1] |= (uint8_t)facts;
    put_scope(&hash, &spec->scope);
    if (spec->place != 0) {
        hash_set_place(&hash, spec->place);
    }
    return hash;
}

HOT moot_hash identity_hash(const struct identity *spec)
{
    return hash_spec(spec, NULL);
}

HOT moot_hash identity_array_hash(const struct identity *spec,
                                  const struct identity_array *array)
{
    return hash_spec(spec, array);
}

moot_hash identity_element(const moot_hash *array, uint64_t index)
{
    unsigned char room[GATHERED_ROOM];
    digest_state state;
    digest_begin(&state, room, NULL, personal_element);
    put_bytes(&state, array->bytes, sizeof(array->bytes));
    put_number(&state, index);
    moot_hash hash = digest_end(&state);
    hash.bytes[MOOT_HASH_BYTES - 1] |=
        array->bytes[MOOT_HASH_BYTES - 1] & MOOT_HASH_FACTS;
    put_scope(&hash, array);
    return hash;
}

/* --- Several at once -------------------------------------------------------------- */

static enum blake2b_way best; /* blake2b_best_way() */

void identity_together_init(void)
{
    __atomic_store_n(&best, blake2b_best_way(), __ATOMIC_RELAXED);
}

static inline enum blake2b_way best_way(void)
{
    return __atomic_load_n(&best, __ATOMIC_RELAXED);
}

size_t identity_together(void) { return blake2b_lanes(best_way()); }

/* As at the top of this file, where each number is a byte, and one rank the candidates.
 */
HOT unsigned char *identity_block_fill(struct identity_block *block,
                                       const struct identity_kernel *kernel,
                                       const void *args, size_t args_size,
                                       size_t input_count, unsigned owner_plus_one)
{
    bool owned = owner_plus_one != 0;
    size_t args_at = owned ? 4 : 3, room = sizeof(block->bytes) - args_at - owned;
    if (args_size > room || input_count > (room - args_size) / sizeof(moot_hash)) {
        return NULL;
    }
    size_t inputs_at = args_at + args_size;
    size_t inputs_end = inputs_at + input_count * sizeof(moot_hash);
    unsigned char *bytes = block->bytes;
    memset(bytes, 0, sizeof(block->bytes)); /* of all: no call for so few */
    bytes[0] = owned ? FACT_CANDIDATES : 0;
    bytes[1] = (unsigned char)args_size;
    bytes[2] = (unsigned char)input_count;
    if (owned) {
        bytes[3] = 1;
        bytes[inputs_end] = (unsigned char)(owner_plus_one - 1);
    }
    if (args_size > 0) {
        memcpy(bytes + args_at, args, args_size);
    }
    block->kernel = kernel;
    block->size = (uint8_t)(inputs_end + owned);
    block->args_at = (uint8_t)args_at;
    block->inputs_at = (uint8_t)inputs_at;
    block->facts = owned ? MOOT_HASH_CANDIDATES : 0;
    return bytes + inputs_at;
}

static void finish(const struct identity_block *block, moot_hash *hash)
{
    uint8_t *last = &hash->bytes[MOOT_HASH_BYTES - 1];
    *last = (uint8_t)((*last & (uint8_t)~MOOT_HASH_FACTS) | block->facts);
}

static moot_hash hash_alone(const struct identity_block *block)
{
    moot_hash hash;
    crypto_generichash_blake2b_state blake;
    memcpy(&blake, block->kernel->state, sizeof(blake));
    crypto_generichash_blake2b_update(&blake, block->bytes, block->size);
    crypto_generichash_blake2b_final(&blake, hash.bytes, sizeof(hash.bytes));
    return hash;
}

/* As many as there are lanes; those that are left over hash the first again. */
static inline void hash_in_lanes(enum blake2b_way way,
                                 const struct identity_block *const *blocks,
                                 size_t count, moot_hash *hashes)
{
    struct blake2b_message messages[BLAKE2B_LANES_MAX];
    unsigned char *digests[BLAKE2B_LANES_MAX];
    moot_hash unused;
    size_t lanes = blake2b_lanes(way);
    for (size_t i = 0; i < lanes; i++) {
        const struct identity_block *block = blocks[i < count ? i : 0];
        messages[i] =
            (struct blake2b_message){&block->kernel->start, block->bytes, block->size};
        digests[i] = i < count ? hashes[i].bytes : unused.bytes;
    }
    blake2b_together(way, messages, digests);
}

HOT void identity_hash_together(const struct identity_block *const *blocks,
                                size_t count, moot_hash *hashes)
{
    assert(count <= IDENTITY_TOGETHER_MAX);
    enum blake2b_way way = best_way();
    if (way == BLAKE2B_EIGHT_AVX512 && count <= 4) {
        way = BLAKE2B_FOUR_AVX512;
    }
    if (count > 1 && count <= blake2b_lanes(way)) {
        hash_in_lanes(way, blocks, count, hashes);
    } else {
        for (size_t i = 0; i < count; i++) {
            hashes[i] = hash_alone(blocks[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        finish(blocks[i], &hashes[i]);
    }
}

/* --- Scopes ----------------------------------------------------------------------- */

moot_hash identity_scope(const moot_hash *parent, const char *name)
{
    unsigned char room[GATHERED_ROOM];
    digest_state state;
    digest_begin(&state, room, NULL, personal_scope);
    put_bytes(&state, parent->bytes, sizeof(parent->bytes));
    put_bytes(&state, name, strlen(name));
    moot_hash hash = digest_end(&state);
    hash.bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_SCOPED;
    return hash;
}

void hash_set_scope(moot_hash *hash, uint64_t scope)
{
    hash->bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_SCOPED;
    for (int i = SCOPE_BYTES; i-- > 0; scope >>= 8) {
        hash->bytes[SCOPE_AT + i] = (uint8_t)scope;
    }
}

uint64_t hash_scope_mark(const moot_hash *hash)
{
    uint64_t mark = 1; /* no scope's is 0 */
    for (int i = 0; i < SCOPE_BYTES; i++) {
        mark = mark << 8 | hash->bytes[SCOPE_AT + i];
    }
    return mark;
}
