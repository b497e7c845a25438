/* array_fuzz.c - no bytes harm who reads them as an array, and one that is taken has as
 * many elements as its shape says.
 *
 * The first byte says which reader; .npy bytes come with and without their number, and
 * in pieces.  Archives are not here: libzip takes them apart, and their members are
 * .npy files.
 */
#include "node/arrays/arrays.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

struct seen {
    enum moot_type type;
    bool begun;
    size_t elements, got;
    struct fingerprint print;
};

static bool see_begin(void *context, enum moot_type type, uint32_t dimensions,
                      const uint64_t *shape)
{
    struct seen *seen = context;
    require(!seen->begun);
    require(shape_elements(dimensions, shape, type_size(type), &seen->elements) ||
            shape_elements(dimensions, shape, 1, &seen->elements));
    seen->begun = true;
    seen->type = type;
    fingerprint_begin(&seen->print, type, dimensions, shape);
    return true;
}

static bool see_numbers(void *context, const void *elements, size_t count, bool swapped)
{
    struct seen *seen = context;
    require(seen->begun && !type_strings(seen->type));
    seen->got += count;
    fingerprint_numbers(&seen->print, elements, count, swapped);
    return true;
}

static bool see_string(void *context, const void *data, size_t size)
{
    struct seen *seen = context;
    require(seen->begun && type_strings(seen->type));
    require(seen->type == MOOT_TYPE_BYTES || utf8_valid(data, size));
    seen->got++;
    fingerprint_string(&seen->print, data, size);
    return true;
}

struct piece {
    const unsigned char *at;
    size_t left;
    size_t most; /* bytes at a time */
};

static int64_t read_piece(void *context, void *bytes, size_t size,
                          const struct array_story *story)
{
    struct piece *piece = context;
    size_t part = size < piece->left ? size : piece->left;
    (void)story;
    part = part < piece->most ? part : piece->most;
    memcpy(bytes, piece->at, part);
    piece->at += part;
    piece->left -= part;
    return (int64_t)part;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char text[200] = "";
    struct seen seen = {.begun = false};
    const struct array_sink sink = {&seen, see_begin, see_numbers, see_string};
    const struct array_story story = {text, sizeof(text)};
    bool good;
    if (size < 2) {
        return 0;
    }
    if (data[0] % 4 == 3) {
        FILE *file = fmemopen((void *)(data + 1), size - 1, "r");
        require(file != NULL);
        good = json_array_read(file, &sink, &story);
        fclose(file);
    } else {
        struct piece piece = {data + 1, size - 1, data[0] % 4 == 1 ? 3 : SIZE_MAX};
        const struct array_bytes bytes = {&piece, read_piece,
                                          data[0] % 4 == 2 ? UINT64_MAX : size - 1};
        good = npy_read(&bytes, &sink, &story);
    }
    require(good ? seen.begun && seen.got == seen.elements : text[0] != '\0');
    if (good) {
        (void)fingerprint_end(&seen.print);
    }
    return 0;
}
