/* fingerprint.h - 16 bytes that stand for an array's value.
 *
 * A fingerprint covers the type, the shape and the elements, and nothing of how they
 * are stored: order, byte order and gaps do not count.  deploy/doc/FINGERPRINTS.md is
 * the specification, with vectors that other implementations can be held against.
 *
 * In short.  The elements make a string of bytes, in C order and little-endian; it is
 * cut every FINGERPRINT_LEAF bytes; each leaf has a BLAKE2b-128 of its own, so that
 * leaves can be digested apart; the fingerprint is the BLAKE2b-128 of type, shape and
 * the leaves' digests.  All NaNs are one, and all that is true is 1.  Zero and minus
 * zero differ, as 1/x of them does.
 *
 * Nothing here allocates, and nothing knows of files: node/arrays/ does. hashing_init()
 * comes first.
 */
#ifndef HASHING_FINGERPRINT_H
#define HASHING_FINGERPRINT_H

#include "hashing/fingerprint/moot_ndarray.h"
#include "hashing/moot_hash.h"
#include <sodium.h>

enum { FINGERPRINT_LEAF = 1 << 20 };

/* Bytes of an element, 0 if `type` is none; BYTES and TEXT: of a moot_bytes. */
size_t type_size(enum moot_type type);
/* Whether its elements are of any length: BYTES and TEXT. */
bool type_strings(enum moot_type type);
/* "int64"; NULL if it is none. */
const char *type_name(enum moot_type type);
/* The type of that name; 0 if there is none. */
enum moot_type type_of_name(const char *name);

/* A shape's number of elements; false if their bytes would be more than SIZE_MAX / 2,
 * or the dimensions too many. */
bool shape_elements(uint32_t dimensions, const uint64_t *shape, size_t element_bytes,
                    size_t *elements);
/* Whether it is UTF-8: shortest forms, no surrogates, up to U+10FFFF. */
bool utf8_valid(const void *text, size_t size);

/* A fingerprint under way: begin, then all elements in C order, then end. */
struct fingerprint {
    crypto_generichash_blake2b_state root, leaf;
    size_t leaf_bytes; /* in `leaf` */
    enum moot_type type;
};

void fingerprint_begin(struct fingerprint *print, enum moot_type type,
                       uint32_t dimensions, const uint64_t *shape);
/* Numbers or bools, one behind the other; `swapped`: in the other byte order. */
void fingerprint_numbers(struct fingerprint *print, const void *elements, size_t count,
                         bool swapped);
/* One element of BYTES or TEXT. */
void fingerprint_string(struct fingerprint *print, const void *data, size_t size);
moot_hash fingerprint_end(struct fingerprint *print);

/* Numbers or bools to their canonical bytes, in place; `swapped` as above. */
void elements_settle(enum moot_type type, void *bytes, size_t size, bool swapped);

/* Elements of `item` bytes each, wherever they lie.  Strides are as moot_ndarray's. */
struct strided {
    size_t item;
    uint32_t dimensions;
    const uint64_t *shape;
    const int64_t *strides;
    const unsigned char *data;
};
/* Goes over all elements in C order, in runs of some that lie one behind the other. */
void strided_walk(const struct strided *array,
                  void (*run)(void *context, const void *elements, size_t count),
                  void *context);

/* The same for an array in memory that has a type, a shape, and data where there are
 * elements. */
void ndarray_walk(const moot_ndarray *array,
                  void (*run)(void *context, const void *elements, size_t count),
                  void *context);

/* The fingerprint of an array in memory.  False, and out untouched: no such type, too
 * many dimensions or elements, no data, or text that is not UTF-8. */
bool fingerprint_array(const moot_ndarray *array, moot_hash *out);

#endif
