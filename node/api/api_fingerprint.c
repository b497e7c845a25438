/* api_fingerprint.c - fingerprints for programs (moot_fingerprint.h). */
#include "hashing/identity.h"
#include "node/api/moot_fingerprint.h"
#include "node/arrays/arrays.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int moot_fingerprint_array(const moot_ndarray *array, moot_hash *out)
{
    size_t elements;
    if (array == NULL || out == NULL || type_size(array->type) == 0 ||
        array->dimensions > MOOT_NDARRAY_DIMENSIONS_MAX ||
        (array->dimensions > 0 && array->shape == NULL)) {
        return MOOT_ERR_INVALID;
    }
    if (!shape_elements(array->dimensions, array->shape, type_size(array->type),
                        &elements)) {
        return MOOT_ERR_LIMIT;
    }
    return hashing_init() && fingerprint_array(array, out) ? MOOT_OK : MOOT_ERR_INVALID;
}

/* --- A sink that makes a fingerprint ---------------------------------------------- */

static bool print_begin(void *context, enum moot_type type, uint32_t dimensions,
                        const uint64_t *shape)
{
    fingerprint_begin(context, type, dimensions, shape);
    return true;
}

static bool print_numbers(void *context, const void *elements, size_t count,
                          bool swapped)
{
    fingerprint_numbers(context, elements, count, swapped);
    return true;
}

static bool print_string(void *context, const void *data, size_t size)
{
    fingerprint_string(context, data, size);
    return true;
}

static bool print_bytes(const char *path, moot_hash *out,
                        const struct array_story *story)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool good =
        (fd >= 0 && file_digest(fd, out)) || array_refuse(story, "%s", strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

int moot_fingerprint_file(const char *path, moot_hash *out, char *story,
                          size_t story_size)
{
    struct fingerprint print;
    char unread[1];
    moot_hash hash;
    bool good = true;
    if (path == NULL || out == NULL || !hashing_init()) {
        return MOOT_ERR_INVALID;
    }
    const struct array_story told = {story != NULL ? story : unread,
                                     story != NULL ? story_size : sizeof(unread)};
    const struct array_sink sink = {&print, print_begin, print_numbers, print_string};
    switch (array_file_read(path, &sink, &told)) {
    case ARRAY_READ:
        hash = fingerprint_end(&print);
        break;
    case ARRAY_REFUSED:
        good = false;
        break;
    case ARRAY_NONE:
        good = print_bytes(path, &hash, &told);
        break;
    }
    if (!good) {
        return MOOT_ERR_FILE;
    }
    *out = hash;
    return MOOT_OK;
}
