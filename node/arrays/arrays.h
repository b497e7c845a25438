/* arrays.h - the room of files that hold arrays: NumPy's .npy and .npz, and JSON.
 *
 * A reader goes through a file once and gives what it finds to a *sink*: type and
 * shape, then the elements in C order.  The fingerprint is one sink.  A file may
 * therefore be larger than memory, except one whose elements do not stand in C order.
 *
 * A file's name says what it is: .npy, .npz (whose member stands behind a #, as in
 * "run.npz#pressure") or .json.  Nothing is guessed from the bytes.
 *
 * A reader tells with its place, in a story, what it cannot take, and it takes no file
 * on trust: sizes are compared with what is there before memory is asked for.
 * deploy/doc/FINGERPRINTS.md says which files are taken.  The room has no state.
 */
#ifndef NODE_ARRAYS_H
#define NODE_ARRAYS_H

#include "hashing/fingerprint/fingerprint.h"
#include <stdio.h>

/* Takes an array.  `begin` comes first and once; false from any call ends the reading,
 * and the sink has told why in the story, if it wishes to. */
struct array_sink {
    void *context;
    bool (*begin)(void *context, enum moot_type type, uint32_t dimensions,
                  const uint64_t *shape);
    /* Numbers or bools, one behind the other. */
    bool (*numbers)(void *context, const void *elements, size_t count, bool swapped);
    /* One element of BYTES or TEXT; a text is UTF-8. */
    bool (*string)(void *context, const void *data, size_t size);
};

/* Where a reader tells what is wrong: "line 3: ..." without the file's name. */
struct array_story {
    char *text;
    size_t size;
};
/* Writes it and returns false. */
bool array_refuse(const struct array_story *story, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Bytes in order.  `read` gives up to `size` of them, 0 at the end, -1 and a story if
 * they cannot be had. */
struct array_bytes {
    void *context;
    int64_t (*read)(void *context, void *bytes, size_t size,
                    const struct array_story *story);
    uint64_t size; /* of all; UINT64_MAX: not known */
};

/* The readers; false, and a story. */
bool npy_read(const struct array_bytes *bytes, const struct array_sink *sink,
              const struct array_story *story);
bool npz_read(const char *path, const char *member, const struct array_sink *sink,
              const struct array_story *story);
bool json_array_read(FILE *file, const struct array_sink *sink,
                     const struct array_story *story);

/* Ends of array_file_read(). */
enum array_end { ARRAY_READ, ARRAY_NONE, ARRAY_REFUSED };
/* Reads the array that `name` says: a path, and a member of it.  NONE: the name is none
 * of an array's, and nothing has been read. */
enum array_end array_file_read(const char *name, const struct array_sink *sink,
                               const struct array_story *story);

/* Whether the file that `name` says can be opened here, to be read; false, and errno.
 * Does not wait for the other end of a pipe. */
bool array_file_opens(const char *name);

/* The digest of all bytes that can be read from `fd`, as digest_bytes() gives it; piece
 * by piece, so that a file may be larger than memory, and a part that cannot be read is
 * an error and no signal.  False, and errno. */
bool file_digest(int fd, moot_hash *out);

#endif
