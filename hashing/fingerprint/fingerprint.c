/* fingerprint.c - canonical bytes, leaves and the root (fingerprint.h). */
#include "hashing/fingerprint/fingerprint.h"
#include "hashing/base/byte_order.h"

#include <assert.h>
#include <string.h>

static const unsigned char personal_root[16] = "moot array 1";
static const unsigned char personal_leaf[16] = "moot leaf 1";

/* Words of a number: as many bytes as are turned round where the byte order is the
 * other, and how many of them an element has. */
static const struct {
    const char *name;
    uint8_t word, words;
    bool floats;
} types[] = {
    [MOOT_TYPE_BOOL] = {"bool", 1, 1, false},
    [MOOT_TYPE_INT8] = {"int8", 1, 1, false},
    [MOOT_TYPE_INT16] = {"int16", 2, 1, false},
    [MOOT_TYPE_INT32] = {"int32", 4, 1, false},
    [MOOT_TYPE_INT64] = {"int64", 8, 1, false},
    [MOOT_TYPE_UINT8] = {"uint8", 1, 1, false},
    [MOOT_TYPE_UINT16] = {"uint16", 2, 1, false},
    [MOOT_TYPE_UINT32] = {"uint32", 4, 1, false},
    [MOOT_TYPE_UINT64] = {"uint64", 8, 1, false},
    [MOOT_TYPE_FLOAT16] = {"float16", 2, 1, true},
    [MOOT_TYPE_FLOAT32] = {"float32", 4, 1, true},
    [MOOT_TYPE_FLOAT64] = {"float64", 8, 1, true},
    [MOOT_TYPE_COMPLEX64] = {"complex64", 4, 2, true},
    [MOOT_TYPE_COMPLEX128] = {"complex128", 8, 2, true},
    [MOOT_TYPE_BYTES] = {"bytes", 0, 0, false},
    [MOOT_TYPE_TEXT] = {"text", 0, 0, false},
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static bool type_known(enum moot_type type)
{
    return (unsigned)type < TYPES && types[type].name != NULL;
}

bool type_strings(enum moot_type type)
{
    return type == MOOT_TYPE_BYTES || type == MOOT_TYPE_TEXT;
}

size_t type_size(enum moot_type type)
{
    if (!type_known(type)) {
        return 0;
    }
    return type_strings(type) ? sizeof(moot_bytes)
                              : (size_t)types[type].word * types[type].words;
}

const char *type_name(enum moot_type type)
{
    return type_known(type) ? types[type].name : NULL;
}

enum moot_type type_of_name(const char *name)
{
    for (int type = 1; type < TYPES; type++) {
        if (strcmp(types[type].name, name) == 0) {
            return (enum moot_type)type;
        }
    }
    return (enum moot_type)0;
}

bool shape_elements(uint32_t dimensions, const uint64_t *shape, size_t element_bytes,
                    size_t *elements)
{
    size_t count = 1;
    bool none = false;
    if (dimensions > MOOT_NDARRAY_DIMENSIONS_MAX) {
        return false;
    }
    const size_t most = SIZE_MAX / 2 / (element_bytes != 0 ? element_bytes : 1);
    for (uint32_t i = 0; i < dimensions; i++) {
        none = none || shape[i] == 0;
        if (shape[i] != 0 && count > most / shape[i]) {
            return false;
        }
        count *= shape[i] != 0 ? (size_t)shape[i] : 1;
    }
    *elements = none ? 0 : count;
    return true;
}

bool utf8_valid(const void *text, size_t size)
{
    static const struct {
        uint8_t first, last, more; /* of the first byte; bytes that follow it */
        uint32_t least;            /* the first character of this length */
    } lengths[] = {{0x00, 0x7f, 0, 0},
                   {0xc2, 0xdf, 1, 0x80},
                   {0xe0, 0xef, 2, 0x800},
                   {0xf0, 0xf4, 3, 0x10000}};
    const unsigned char *at = text, *const end = at + size;
    while (at < end) {
        unsigned i = 0;
        while (i < 4 && (*at < lengths[i].first || *at > lengths[i].last)) {
            i++;
        }
        if (i == 4 || (size_t)(end - at) <= lengths[i].more) {
            return false;
        }
        uint32_t character = i == 0 ? *at : *at & (0x3fU >> i);
        at++;
        for (unsigned k = 0; k < lengths[i].more; k++, at++) {
            if ((*at & 0xc0) != 0x80) {
                return false;
            }
            character = character << 6 | (*at & 0x3f);
        }
        if (character < lengths[i].least || character > 0x10ffff ||
            (character >= 0xd800 && character <= 0xdfff)) {
            return false;
        }
    }
    return true;
}

/* --- Canonical bytes, cut into leaves --------------------------------------------- */

static void blake_begin(crypto_generichash_blake2b_state *state,
                        const unsigned char personal[16])
{
    crypto_generichash_blake2b_init_salt_personal(state, NULL, 0, MOOT_HASH_BYTES, NULL,
                                                  personal);
}

static void end_leaf(struct fingerprint *print)
{
    unsigned char digest[MOOT_HASH_BYTES];
    crypto_generichash_blake2b_final(&print->leaf, digest, sizeof(digest));
    crypto_generichash_blake2b_update(&print->root, digest, sizeof(digest));
    print->leaf_bytes = 0;
}

static void feed(struct fingerprint *print, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        const size_t room = FINGERPRINT_LEAF - print->leaf_bytes;
        const size_t part = size < room ? size : room;
        if (print->leaf_bytes == 0) {
            blake_begin(&print->leaf, personal_leaf);
        }
        crypto_generichash_blake2b_update(&print->leaf, bytes, part);
        print->leaf_bytes += part;
        bytes += part;
        size -= part;
        if (print->leaf_bytes == FINGERPRINT_LEAF) {
            end_leaf(print);
        }
    }
}

void fingerprint_begin(struct fingerprint *print, enum moot_type type,
                       uint32_t dimensions, const uint64_t *shape)
{
    unsigned char word[8];
    assert(type_known(type) && dimensions <= MOOT_NDARRAY_DIMENSIONS_MAX);
    print->type = type;
    print->leaf_bytes = 0;
    blake_begin(&print->root, personal_root);
    put_word(word, (uint64_t)type | (uint64_t)dimensions << 32);
    crypto_generichash_blake2b_update(&print->root, word, sizeof(word));
    for (uint32_t i = 0; i < dimensions; i++) {
        put_word(word, shape[i]);
        crypto_generichash_blake2b_update(&print->root, word, sizeof(word));
    }
}

moot_hash fingerprint_end(struct fingerprint *print)
{
    moot_hash hash;
    if (print->leaf_bytes > 0) {
        end_leaf(print);
    }
    crypto_generichash_blake2b_final(&print->root, hash.bytes, sizeof(hash.bytes));
    return hash;
}

/* --- Elements --------------------------------------------------------------------- */

static inline uint64_t load_word(const unsigned char *at, size_t width)
{
    uint16_t half;
    uint32_t word;
    uint64_t both;
    switch (width) {
    case 2:
        memcpy(&half, at, sizeof(half));
        return half;
    case 4:
        memcpy(&word, at, sizeof(word));
        return word;
    default:
        memcpy(&both, at, sizeof(both));
        return both;
    }
}

static inline void store_word(unsigned char *at, size_t width, uint64_t value)
{
    const uint16_t half = (uint16_t)value;
    const uint32_t word = (uint32_t)value;
    memcpy(at,
           width == 2   ? (const void *)&half
           : width == 4 ? (const void *)&word
                        : &value,
           width);
}

static inline uint64_t turn_word(uint64_t word, size_t width)
{
    return __builtin_bswap64(word) >> (64 - 8 * width);
}

/* A NaN, all of whose exponent's bits are set and some of its fraction's, becomes the
 * quiet one without sign and payload. */
static inline uint64_t settle_nan(uint64_t word, size_t width)
{
    const unsigned fraction_bits = width == 2 ? 10 : width == 4 ? 23 : 52;
    const uint64_t sign = UINT64_C(1) << (8 * width - 1);
    const uint64_t exponent = (sign - 1) & ~((UINT64_C(1) << fraction_bits) - 1);
    return (word & (sign - 1)) > exponent
               ? exponent | UINT64_C(1) << (fraction_bits - 1)
               : word;
}

/* Words of one width to canonical bytes, in place.  Inlined for each width, so that the
 * compiler does several at a time. */
static inline void settle_words(unsigned char *bytes, size_t size, size_t width,
                                bool swapped, bool floats)
{
    const bool turn_back = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__;
    for (size_t i = 0; i < size; i += width) {
        uint64_t word = load_word(bytes + i, width);
        word = swapped ? turn_word(word, width) : word;
        word = floats ? settle_nan(word, width) : word;
        store_word(bytes + i, width, turn_back ? turn_word(word, width) : word);
    }
}

void elements_settle(enum moot_type type, void *elements, size_t size, bool swapped)
{
    unsigned char *bytes = elements;
    const bool floats = types[type].floats;
    switch (types[type].word) {
    case 2:
        settle_words(bytes, size, 2, swapped, floats);
        break;
    case 4:
        settle_words(bytes, size, 4, swapped, floats);
        break;
    case 8:
        settle_words(bytes, size, 8, swapped, floats);
        break;
    default:
        for (size_t i = 0; type == MOOT_TYPE_BOOL && i < size; i++) {
            bytes[i] = bytes[i] != 0;
        }
        break;
    }
}

void fingerprint_numbers(struct fingerprint *print, const void *elements, size_t count,
                         bool swapped)
{
    unsigned char piece[4096];
    const unsigned char *from = elements;
    size_t left = count * type_size(print->type);
    assert(!type_strings(print->type));
    while (left > 0) {
        const size_t part = left < sizeof(piece) ? left : sizeof(piece);
        memcpy(piece, from, part);
        elements_settle(print->type, piece, part, swapped);
        feed(print, piece, part);
        from += part;
        left -= part;
    }
}

void fingerprint_string(struct fingerprint *print, const void *data, size_t size)
{
    unsigned char length[8];
    assert(type_strings(print->type));
    put_word(length, size);
    feed(print, length, sizeof(length));
    feed(print, data, size);
}
