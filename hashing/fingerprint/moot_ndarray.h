/* moot_ndarray.h - an array in memory: type, shape, strides.
 *
 * Public and self-contained.  The description is NumPy's and the buffer protocol's: a
 * first element, and for each dimension how many there are and how many bytes lie
 * between one and the next.  It owns nothing.
 */
#ifndef MOOT_NDARRAY_H
#define MOOT_NDARRAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MOOT_NDARRAY_DIMENSIONS_MAX = 64 };

/* The types of elements.  Numbers stand in the byte order of this machine; floats are
 * IEEE 754's, a complex number is its real part and then its imaginary part.  The codes
 * are part of a fingerprint and never change. */
enum moot_type {
    MOOT_TYPE_BOOL = 1, /* a byte; 0 is false, all others are true */
    MOOT_TYPE_INT8 = 2,
    MOOT_TYPE_INT16 = 3,
    MOOT_TYPE_INT32 = 4,
    MOOT_TYPE_INT64 = 5,
    MOOT_TYPE_UINT8 = 6,
    MOOT_TYPE_UINT16 = 7,
    MOOT_TYPE_UINT32 = 8,
    MOOT_TYPE_UINT64 = 9,
    MOOT_TYPE_FLOAT16 = 10,
    MOOT_TYPE_FLOAT32 = 11,
    MOOT_TYPE_FLOAT64 = 12,
    MOOT_TYPE_COMPLEX64 = 13,  /* of two FLOAT32 */
    MOOT_TYPE_COMPLEX128 = 14, /* of two FLOAT64 */
    MOOT_TYPE_BYTES = 15,      /* a moot_bytes */
    MOOT_TYPE_TEXT = 16        /* a moot_bytes in UTF-8 */
};

/* An element of type BYTES or TEXT. */
typedef struct moot_bytes {
    const void *data; /* may be NULL if size is 0 */
    size_t size;
} moot_bytes;

typedef struct moot_ndarray {
    enum moot_type type;
    uint32_t dimensions;    /* 0: a single element, and shape does not count */
    const uint64_t *shape;  /* elements along each dimension */
    const int64_t *strides; /* bytes, may be negative or 0; NULL: C order, no gaps */
    const void *data;       /* the element at 0, 0, ...; NULL only if there is none */
} moot_ndarray;

#ifdef __cplusplus
}
#endif
#endif
