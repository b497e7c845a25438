/* moot_fingerprint.h - fingerprints of arrays, in memory and in files.
 *
 * A fingerprint is 16 bytes that stand for an array's value: its type, its shape and
 * its elements.  How it is stored does not count, so the same array has one fingerprint
 * as C memory, .npy in either order and byte order, .npz, and JSON.  A program makes
 * one of its input and gives it to a kernel as an argument, and so tasks on equal
 * inputs are equal tasks, wherever the inputs came from.
 *
 *     double plate[2][3] = {{0}};
 *     moot_ndarray array = {MOOT_TYPE_FLOAT64, 2, (uint64_t[]){2, 3}, NULL, plate};
 *     moot_fingerprint_array(&array, &print);
 *
 * deploy/doc/FINGERPRINTS.md is the specification, with test vectors.
 *
 * Both calls are local, need no context, and may be made by any thread.  On an error
 * the hash is as it was.
 */
#ifndef NODE_API_MOOT_FINGERPRINT_H
#define NODE_API_MOOT_FINGERPRINT_H

#include "hashing/fingerprint/moot_ndarray.h"
#include "node/api/moot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The fingerprint of an array in memory.  Text must be UTF-8; all NaNs count as one.
 * Errors: INVALID (no such type, more than 64 dimensions, no data where there are
 * elements, a text that is not UTF-8), LIMIT (more bytes than a memory can have). */
MOOT_API int moot_fingerprint_array(const moot_ndarray *array, moot_hash *out);

/* The fingerprint of the array in a file whose name ends in .npy, .json or .npz; of an
 * archive with several arrays "run.npz#pressure" is the one of that name.  A file of
 * another name has the BLAKE2b-128 of its bytes.  `story`: room for one line that says
 * what is wrong with it and where; may be NULL.  Reads the file once, and needs memory
 * for it only where its elements are in Fortran order or it is JSON.
 * Errors: FILE, INVALID. */
MOOT_API int moot_fingerprint_file(const char *path, moot_hash *out, char *story,
                                   size_t story_size);

#ifdef __cplusplus
}
#endif
#endif
