/* disk_record.c - see disk_record.h. */
#include "node/diskstore/disk_record.h"
#include "hashing/base/byte_order.h"
#include "node/api/moot.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>
#include <xxhash.h>

enum { FIRST_VERSION = 1, SECOND_VERSION = 2, RECORD_VERSION = 3 };
enum { HOME_AT = 6, SPOT_AT = 44, SPOT_END = 52, GENERATION_AT = 60 };
enum { INPUTS_AT = 57, DIGEST_AT = 64, NUMBER_BITS = 36 };
static const unsigned char mark[4] = "moot";

static const uint32_t library_version =
    MOOT_VERSION_MAJOR << 16 | MOOT_VERSION_MINOR << 8 | MOOT_VERSION_PATCH;

static void put_small(unsigned char *at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        at[i] = (unsigned char)(value >> 8 * i);
    }
}

static uint32_t get_small(const unsigned char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes; i-- > 0;) {
        value = value << 8 | at[i];
    }
    return value;
}

struct disk_key disk_key(const moot_hash *hash, enum diskstore_kind kind)
{
    struct disk_key key;
    memcpy(key.bytes, hash->bytes, MOOT_HASH_BYTES);
    key.bytes[MOOT_HASH_BYTES] = (unsigned char)kind;
    return key;
}

/* Bytes of the sum of a record's data. */
static size_t sum_bytes(unsigned format)
{
    return format == RECORD_VERSION ? sizeof(XXH128_canonical_t) : DISK_DIGEST_BYTES;
}

static void sum_data(unsigned format, const void *data, size_t size,
                     unsigned char out[DISK_DIGEST_BYTES])
{
    if (format == RECORD_VERSION) {
        XXH128_canonical_t sum;
        XXH128_canonicalFromHash(&sum, XXH3_128bits(data, size));
        memcpy(out, sum.digest, sizeof(sum.digest));
    } else {
        crypto_generichash_blake2b(out, DISK_DIGEST_BYTES, data, size, NULL, 0);
    }
}

bool disk_place_holds(const struct disk_place *place, const void *data, size_t size)
{
    unsigned char sum[DISK_DIGEST_BYTES];
    sum_data(place->format, data, size, sum);
    return memcmp(sum, place->sum, sum_bytes(place->format)) == 0;
}

/* Data in the value itself count by their sum since version 3, and as they are before.
 */
static void add_data(crypto_generichash_blake2b_state *state, const unsigned char *head,
                     const void *tail, size_t tail_size)
{
    if (head[4] != RECORD_VERSION || head[HOME_AT] != DISK_IN_VALUE) {
        crypto_generichash_blake2b_update(state, tail, tail_size);
        return;
    }
    unsigned char sum[DISK_DIGEST_BYTES];
    sum_data(head[4], tail, tail_size, sum);
    crypto_generichash_blake2b_update(state, sum, sum_bytes(head[4]));
}

/* The digest of a record: of its key, the head but for the digest, the names and the
 * data.  Their place in a file is left out, but in version 1. */
static void digest_record(const struct disk_key *key, const unsigned char *head,
                          size_t head_size, const void *tail, size_t tail_size,
                          unsigned char out[DISK_DIGEST_BYTES])
{
    crypto_generichash_blake2b_state state;
    crypto_generichash_blake2b_init(&state, NULL, 0, DISK_DIGEST_BYTES);
    crypto_generichash_blake2b_update(&state, key->bytes, sizeof(key->bytes));
    if (head[4] == FIRST_VERSION) {
        crypto_generichash_blake2b_update(&state, head, DIGEST_AT);
    } else {
        crypto_generichash_blake2b_update(&state, head, SPOT_AT);
        crypto_generichash_blake2b_update(&state, head + SPOT_END,
                                          DIGEST_AT - SPOT_END);
    }
    crypto_generichash_blake2b_update(&state, head + DISK_HEAD_BYTES,
                                      head_size - DISK_HEAD_BYTES);
    add_data(&state, head, tail, tail_size);
    crypto_generichash_blake2b_final(&state, out, DISK_DIGEST_BYTES);
}

static size_t name_length(const char *name)
{
    return name == NULL ? 0 : strnlen(name, DISKSTORE_NAME_BYTES - 1);
}

static size_t append(unsigned char *head, size_t at, const void *bytes, size_t size)
{
    if (size > 0) {
        memcpy(head + at, bytes, size);
    }
    return at + size;
}

/* The field that says where data are. */
static uint64_t spot_word(const struct disk_spot *spot)
{
    return spot->number | spot->from << NUMBER_BITS;
}

/* The field of a value; false: it can be none. */
static bool read_spot(const unsigned char *bytes, struct disk_spot *out)
{
    const uint64_t word = get_word(bytes + SPOT_AT);
    const unsigned format = bytes[4];
    const int home = bytes[HOME_AT];
    out->number = word & ((UINT64_C(1) << NUMBER_BITS) - 1);
    out->from = word >> NUMBER_BITS;
    out->home = format != FIRST_VERSION ? (enum disk_home)home
                : word != 0             ? DISK_IN_FILE
                                        : DISK_IN_VALUE;
    return home <= (format == RECORD_VERSION   ? DISK_IN_PACK
                    : format == SECOND_VERSION ? DISK_IN_FILE
                                               : DISK_IN_VALUE) &&
           (out->home == DISK_IN_VALUE) == (word == 0) &&
           (out->home == DISK_IN_PACK || out->from == 0);
}

void disk_record_write(const struct diskstore_record *record,
                       const struct disk_spot *spot, struct disk_image *out)
{
    disk_record_write_as(record, spot, library_version, RECORD_VERSION, out);
}

void disk_record_write_as(const struct diskstore_record *record,
                          const struct disk_spot *spot, uint32_t library,
                          unsigned format, struct disk_image *out)
{
    unsigned char *head = out->head;
    const size_t kernel = name_length(record->kernel);
    const size_t label = name_length(record->label);
    const size_t build = record->build == NULL ? 0
                         : record->build_size < DISKSTORE_BUILD_BYTES
                             ? record->build_size
                             : DISKSTORE_BUILD_BYTES;
    const unsigned char inputs =
        record->inputs != 0 && format == RECORD_VERSION ? DISK_INPUTS_BYTES : 0;
    unsigned char sum[DISK_INPUTS_BYTES];
    memset(head, 0, DISK_HEAD_BYTES);
    memcpy(head, mark, sizeof(mark));
    head[4] = (unsigned char)format;
    head[5] = (unsigned char)record->kind;
    head[HOME_AT] = (unsigned char)(format != FIRST_VERSION ? spot->home : 0);
    put_small(head + 8, (uint32_t)record->status, 4);
    put_small(head + 12, record->version, 4);
    put_small(head + 16, library, 4);
    put_word(head + 20, record->made_ns);
    put_word(head + 28, record->took_ns);
    put_word(head + 36, record->size);
    put_word(head + SPOT_AT, spot_word(spot));
    put_small(head + 52, (uint32_t)kernel, 2);
    put_small(head + 54, (uint32_t)label, 2);
    head[56] = (unsigned char)build;
    head[INPUTS_AT] = inputs;
    put_small(head + GENERATION_AT, record->generation, 4);
    out->head_size = append(head, DISK_HEAD_BYTES, record->kernel, kernel);
    out->head_size = append(head, out->head_size, record->label, label);
    out->head_size = append(head, out->head_size, record->build, build);
    put_word(sum, record->inputs);
    out->head_size = append(head, out->head_size, sum, inputs);
    assert(out->head_size <= sizeof(out->head));
    out->tail = record->data;
    out->tail_size = record->size;
    if (spot->home != DISK_IN_VALUE) {
        sum_data(format, record->data, record->size, out->sum);
        out->tail = out->sum;
        out->tail_size = sum_bytes(format);
    }
    const struct disk_key key = disk_key(&record->hash, record->kind);
    digest_record(&key, head, out->head_size, out->tail, out->tail_size,
                  head + DIGEST_AT);
}

/* Sizes of the parts behind the head, and where the data are. */
struct parts {
    size_t kernel, label, build, inputs;
    struct disk_spot spot;
};

/* The sum of inputs has all of its bytes or is not there. */
static bool read_inputs_size(const unsigned char *bytes, size_t *out)
{
    *out = bytes[INPUTS_AT];
    return *out == 0 || (*out == DISK_INPUTS_BYTES && bytes[4] == RECORD_VERSION);
}

/* Whether the fields before the digest can be those of a value of that size. */
static bool read_parts(const struct disk_key *key, const unsigned char *bytes,
                       size_t size, struct parts *out)
{
    if (size < DISK_HEAD_BYTES || memcmp(bytes, mark, sizeof(mark)) != 0 ||
        bytes[4] < FIRST_VERSION || bytes[4] > RECORD_VERSION ||
        bytes[5] != key->bytes[MOOT_HASH_BYTES] || !read_spot(bytes, &out->spot) ||
        !read_inputs_size(bytes, &out->inputs)) {
        return false;
    }
    out->kernel = get_small(bytes + 52, 2);
    out->label = get_small(bytes + 54, 2);
    out->build = bytes[56];
    const size_t names = out->kernel + out->label + out->build + out->inputs;
    const size_t rest = size - DISK_HEAD_BYTES;
    const uint64_t data =
        out->spot.home == DISK_IN_VALUE ? get_word(bytes + 36) : sum_bytes(bytes[4]);
    return out->kernel < DISKSTORE_NAME_BYTES && out->label < DISKSTORE_NAME_BYTES &&
           out->build <= DISKSTORE_BUILD_BYTES && names <= rest && rest - names == data;
}

/* The digest that the good record has, or would have in version 2.  `start`: bytes of
 * the head and the names. */
static void name_record(const struct disk_key *key, const unsigned char *bytes,
                        size_t start, size_t size, unsigned char out[DISK_DIGEST_BYTES])
{
    unsigned char head[DISK_HEAD_MAX];
    if (bytes[4] != FIRST_VERSION) {
        memcpy(out, bytes + DIGEST_AT, DISK_DIGEST_BYTES);
        return;
    }
    memcpy(head, bytes, start);
    head[4] = SECOND_VERSION;
    head[HOME_AT] = get_word(bytes + SPOT_AT) != 0 ? DISK_IN_FILE : DISK_IN_VALUE;
    digest_record(key, head, start, bytes + start, size - start, out);
}

bool disk_record_read(const struct disk_key *key, const unsigned char *bytes,
                      size_t size, struct diskstore_found *found,
                      struct disk_place *place)
{
    struct parts parts;
    unsigned char digest[DISK_DIGEST_BYTES];
    if (!read_parts(key, bytes, size, &parts)) {
        return false;
    }
    const size_t start =
        DISK_HEAD_BYTES + parts.kernel + parts.label + parts.build + parts.inputs;
    digest_record(key, bytes, start, bytes + start, size - start, digest);
    if (memcmp(digest, bytes + DIGEST_AT, sizeof(digest)) != 0) {
        return false;
    }
    const unsigned char *at = bytes + DISK_HEAD_BYTES;
    memcpy(found->hash.bytes, key->bytes, MOOT_HASH_BYTES);
    found->kind = (enum diskstore_kind)bytes[5];
    found->status = (int32_t)get_small(bytes + 8, 4);
    found->version = get_small(bytes + 12, 4);
    found->library = get_small(bytes + 16, 4);
    found->made_ns = get_word(bytes + 20);
    found->took_ns = get_word(bytes + 28);
    found->size = get_word(bytes + 36);
    found->generation = get_small(bytes + GENERATION_AT, 4);
    name_record(key, bytes, start, size, found->digest);
    memcpy(found->kernel, at, parts.kernel);
    found->kernel[parts.kernel] = '\0';
    memcpy(found->label, at + parts.kernel, parts.label);
    found->label[parts.label] = '\0';
    memcpy(found->build, at + parts.kernel + parts.label, parts.build);
    found->build_size = parts.build;
    found->inputs = parts.inputs > 0 ? get_word(bytes + start - parts.inputs) : 0;
    place->spot = parts.spot;
    place->format = bytes[4] == FIRST_VERSION ? SECOND_VERSION : bytes[4];
    place->at = start;
    if (place->spot.home != DISK_IN_VALUE) {
        memcpy(place->sum, bytes + start, sum_bytes(place->format));
    }
    return true;
}

uint64_t disk_record_large(const struct disk_key *key, const unsigned char *bytes,
                           size_t size)
{
    struct diskstore_found found;
    struct disk_place place;
    return disk_record_read(key, bytes, size, &found, &place) &&
                   place.spot.home == DISK_IN_FILE
               ? place.spot.number
               : 0;
}
