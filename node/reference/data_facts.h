/* data_facts.h - what a task of data is made of, and its canonical bytes.
 *
 * The arguments of such a task are its *facts*: fingerprint, type, shape and number of
 * bytes.  Who has the same content has the same facts, so it is the same task.  A file
 * that is no array's has the digest of its bytes, no type and no shape.
 *
 * *Gathering* goes over an array or a file once: it makes the fingerprint, and keeps
 * the canonical bytes if there is room for them.
 *
 * Nothing here has state, or needs the engine lock.
 */
#ifndef NODE_REFERENCE_DATA_FACTS_H
#define NODE_REFERENCE_DATA_FACTS_H

#include "node/arrays/arrays.h"

struct data_facts {
    moot_hash print;
    uint64_t size;       /* canonical bytes */
    uint32_t type;       /* enum moot_type; 0: a file that is no array's */
    uint32_t dimensions; /* 0 without a type */
    uint64_t shape[MOOT_NDARRAY_DIMENSIONS_MAX];
};

enum { DATA_FACTS_BYTES_MAX = 32 + 8 * MOOT_NDARRAY_DIMENSIONS_MAX };

/* As arguments: how many bytes that are. */
size_t data_facts_pack(const struct data_facts *facts, unsigned char *bytes);
/* False: they are none. */
bool data_facts_unpack(struct data_facts *facts, const void *bytes, size_t size);

/* Room for canonical bytes.  What does not fit is not kept, and counted all the same.
 */
struct data_room {
    unsigned char *bytes; /* NULL: none are kept */
    uint64_t size;
};

/* How many canonical bytes an array in memory has: INVALID, LIMIT, or MOOT_OK. */
int data_size(const moot_ndarray *array, uint64_t *size);
/* An array for which that is known; INVALID: it is none after all. */
int data_gather_array(const moot_ndarray *array, const struct data_room *room,
                      struct data_facts *facts);
/* A file (array_file_read()).  False, and a story; facts are as they were then. */
bool data_gather_file(const char *path, const struct data_room *room,
                      struct data_facts *facts, const struct array_story *story);

#endif
