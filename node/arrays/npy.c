/* npy.c - NumPy's .npy format, versions 1.0 to 3.0 (arrays.h).
 *
 * Source: "A Simple File Format for NumPy Arrays", NEP 1, and numpy.lib.format.  A file
 * is a magic string, a version, the header's length and the header: a Python dictionary
 * in text with the keys descr, fortran_order and shape.  The elements follow, and
 * nothing else may.
 *
 * Taken are descr of bools, integers, floats and complex numbers of up to 64 bits a
 * part, of bytes (S) and text (U), in either byte order.  What a fingerprint has no
 * type for is refused by name: records, objects, dates, long doubles.  Bytes and text
 * lose the zeros at their end, as they do in NumPy.
 */
#include "node/arrays/arrays.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_MAX = 1 << 16,
    STRING_MAX = 1 << 24, /* bytes of one S or U element */
    PIECE = 1 << 18
};

struct npy {
    enum moot_type type;
    size_t item; /* bytes in the file */
    bool swapped, fortran;
    uint32_t dimensions;
    uint64_t shape[MOOT_NDARRAY_DIMENSIONS_MAX];
};

/* --- The header ------------------------------------------------------------------- */

struct npy_cursor {
    const char *start, *at;
    const struct array_story *story;
};

static bool refuse_header(const struct npy_cursor *cursor, const char *expected)
{
    const int shown = (int)strcspn(cursor->at, "\n");
    return array_refuse(
        cursor->story, "character %td of the header: %s expected, not '%.*s'",
        cursor->at - cursor->start, expected, shown < 24 ? shown : 24, cursor->at);
}

static void skip_blanks(struct npy_cursor *cursor)
{
    while (*cursor->at == ' ' || *cursor->at == '\n' || *cursor->at == '\t') {
        cursor->at++;
    }
}

/* Whether the next character is this one, which is then passed. */
static bool pass(struct npy_cursor *cursor, char character)
{
    skip_blanks(cursor);
    const bool found = *cursor->at == character;
    cursor->at += found;
    return found;
}

static bool pass_word(struct npy_cursor *cursor, const char *word)
{
    skip_blanks(cursor);
    const bool found = strncmp(cursor->at, word, strlen(word)) == 0;
    cursor->at += found ? strlen(word) : 0;
    return found;
}

/* A string in single or double quotes, without escapes. */
static bool read_quoted(struct npy_cursor *cursor, char *text, size_t room)
{
    skip_blanks(cursor);
    const char quote = *cursor->at;
    if (quote != '\'' && quote != '"') {
        return refuse_header(cursor, "a string");
    }
    const char *from = cursor->at + 1, *to = strchr(from, quote);
    if (to == NULL || (size_t)(to - from) >= room) {
        return refuse_header(cursor, "a short string");
    }
    memcpy(text, from, (size_t)(to - from));
    text[to - from] = '\0';
    cursor->at = to + 1;
    return true;
}

static bool read_length(struct npy_cursor *cursor, uint64_t *length)
{
    char *end;
    skip_blanks(cursor);
    if (!isdigit((unsigned char)*cursor->at)) {
        return refuse_header(cursor, "a length");
    }
    errno = 0;
    *length = strtoull(cursor->at, &end, 10);
    if (errno != 0) {
        return refuse_header(cursor, "a length below 2^64");
    }
    cursor->at = end + (*end == 'L'); /* as Python 2 wrote it */
    return true;
}

static bool read_shape(struct npy_cursor *cursor, struct npy *npy)
{
    npy->dimensions = 0;
    if (!pass(cursor, '(')) {
        return refuse_header(cursor, "a tuple");
    }
    while (!pass(cursor, ')')) {
        if (npy->dimensions == MOOT_NDARRAY_DIMENSIONS_MAX) {
            return refuse_header(cursor, "at most 64 dimensions");
        }
        if (!read_length(cursor, &npy->shape[npy->dimensions])) {
            return false;
        }
        npy->dimensions++;
        const bool comma = pass(cursor, ',');
        if (!comma && (*cursor->at != ')' || npy->dimensions == 1)) {
            return refuse_header(cursor, npy->dimensions == 1 ? "','" : "',' or ')'");
        }
    }
    return true;
}

/* Types by their letter and their bytes. */
static const struct {
    char letter;
    uint8_t bytes;
    enum moot_type type;
} descriptions[] = {
    {'b', 1, MOOT_TYPE_BOOL},      {'i', 1, MOOT_TYPE_INT8},
    {'i', 2, MOOT_TYPE_INT16},     {'i', 4, MOOT_TYPE_INT32},
    {'i', 8, MOOT_TYPE_INT64},     {'u', 1, MOOT_TYPE_UINT8},
    {'u', 2, MOOT_TYPE_UINT16},    {'u', 4, MOOT_TYPE_UINT32},
    {'u', 8, MOOT_TYPE_UINT64},    {'f', 2, MOOT_TYPE_FLOAT16},
    {'f', 4, MOOT_TYPE_FLOAT32},   {'f', 8, MOOT_TYPE_FLOAT64},
    {'c', 8, MOOT_TYPE_COMPLEX64}, {'c', 16, MOOT_TYPE_COMPLEX128},
};

static bool refuse_type(const struct npy_cursor *cursor, const char *text)
{
    static const struct {
        char letter;
        const char *name, *advice;
    } others[] = {
        {'O', "objects", "store numbers or strings"},
        {'V', "raw records", "store each field as an array"},
        {'M', "dates", "store them as int64"},
        {'m', "time spans", "store them as int64"},
        {'f', "floats of this size", "store them as float64"},
        {'c', "complex numbers of this size", "store them as complex128"},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strchr("<>|=", text[0]) != NULL && text[1] == others[i].letter) {
            return array_refuse(cursor->story, "descr '%s': %s have no fingerprint; %s",
                                text, others[i].name, others[i].advice);
        }
    }
    return array_refuse(cursor->story, "descr '%s' is no type that a fingerprint has",
                        text);
}

static bool read_type(struct npy_cursor *cursor, struct npy *npy)
{
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    char text[24] = "", *end;
    skip_blanks(cursor);
    if (*cursor->at == '[' || *cursor->at == '(') {
        return array_refuse(cursor->story,
                            "descr: records have no fingerprint; store each "
                            "field as an array");
    }
    if (!read_quoted(cursor, text, sizeof(text))) {
        return false;
    }
    if (text[0] == '\0' || strchr("<>|=", text[0]) == NULL || text[1] == '\0' ||
        !isdigit((unsigned char)text[2])) {
        return refuse_type(cursor, text);
    }
    const unsigned long count = strtoul(text + 2, &end, 10);
    npy->swapped = text[0] == (little ? '>' : '<');
    if (*end == '\0' && (text[1] == 'S' || text[1] == 'U')) {
        const unsigned long unit = text[1] == 'U' ? 4 : 1;
        if (count > STRING_MAX / unit) {
            return array_refuse(cursor->story,
                                "descr '%s': strings of at most %d bytes are "
                                "taken",
                                text, STRING_MAX);
        }
        npy->type = text[1] == 'S' ? MOOT_TYPE_BYTES : MOOT_TYPE_TEXT;
        npy->item = count * unit;
        return true;
    }
    for (size_t i = 0; i < sizeof(descriptions) / sizeof(descriptions[0]); i++) {
        if (*end == '\0' && text[1] == descriptions[i].letter &&
            count == descriptions[i].bytes) {
            npy->type = descriptions[i].type;
            npy->item = count;
            return true;
        }
    }
    return refuse_type(cursor, text);
}

static bool read_entry(struct npy_cursor *cursor, struct npy *npy, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[16];
    unsigned which = 0;
    if (!read_quoted(cursor, key, sizeof(key))) {
        return false;
    }
    while (which < 3 && strcmp(key, keys[which]) != 0) {
        which++;
    }
    if (which == 3 || (*seen & 1U << which) != 0) {
        return array_refuse(cursor->story, "key '%s' of the header is %s", key,
                            which == 3 ? "none of descr, fortran_order and shape"
                                       : "there twice");
    }
    *seen |= 1U << which;
    if (!pass(cursor, ':')) {
        return refuse_header(cursor, "':'");
    }
    if (which == 0) {
        return read_type(cursor, npy);
    }
    if (which == 2) {
        return read_shape(cursor, npy);
    }
    npy->fortran = pass_word(cursor, "True");
    return npy->fortran || pass_word(cursor, "False") ||
           refuse_header(cursor, "True or False");
}

static bool read_dictionary(const char *header, struct npy *npy,
                            const struct array_story *story)
{
    struct npy_cursor cursor = {header, header, story};
    unsigned seen = 0;
    if (!pass(&cursor, '{')) {
        return refuse_header(&cursor, "'{'");
    }
    while (!pass(&cursor, '}')) {
        if (!read_entry(&cursor, npy, &seen)) {
            return false;
        }
        if (!pass(&cursor, ',') && *cursor.at != '}') {
            return refuse_header(&cursor, "',' or '}'");
        }
    }
    skip_blanks(&cursor);
    if (*cursor.at != '\0') {
        return refuse_header(&cursor, "nothing more");
    }
    return seen == 7 ||
           array_refuse(story,
                        "the header lacks one of descr, fortran_order and shape");
}

/* All `size` bytes. */
static bool read_whole(const struct array_bytes *bytes, void *into, size_t size,
                       const char *of, const struct array_story *story)
{
    unsigned char *at = into;
    size_t got = 0;
    while (got < size) {
        const int64_t part = bytes->read(bytes->context, at + got, size - got, story);
        if (part < 0) {
            return false;
        }
        if (part == 0) {
            return array_refuse(story, "it ends within %s: %zu bytes are there of %zu",
                                of, got, size);
        }
        got += (size_t)part;
    }
    return true;
}

static bool read_header(const struct array_bytes *bytes, struct npy *npy,
                        uint64_t *header_bytes, const struct array_story *story)
{
    unsigned char start[12] = {0};
    if (!read_whole(bytes, start, 8, "the magic string", story)) {
        return false;
    }
    if (memcmp(start, "\x93NUMPY", 6) != 0) {
        return array_refuse(story,
                            "byte 0: the magic string of an .npy file is not there");
    }
    if (start[6] < 1 || start[6] > 3 || start[7] != 0) {
        return array_refuse(story,
                            "byte 6: version %u.%u of the format; 1.0 to 3.0 are known",
                            start[6], start[7]);
    }
    const size_t digits = start[6] == 1 ? 2 : 4;
    if (!read_whole(bytes, start + 8, digits, "the header's length", story)) {
        return false;
    }
    const size_t length = (size_t)start[8] | (size_t)start[9] << 8 |
                          (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (length > HEADER_MAX) {
        return array_refuse(story,
                            "byte 8: a header of %zu bytes; at most %d are taken",
                            length, HEADER_MAX);
    }
    char *header = calloc(length + 1, 1);
    if (header == NULL) {
        return array_refuse(story, "no memory for its header");
    }
    *header_bytes = 8 + digits + length;
    const bool good = read_whole(bytes, header, length, "the header", story) &&
                      (memchr(header, '\0', length) == NULL ||
                       array_refuse(story, "the header has a zero byte")) &&
                      read_dictionary(header, npy, story);
    free(header);
    return good;
}

/* --- The elements ----------------------------------------------------------------- */

struct giving {
    const struct npy *npy;
    const struct array_sink *sink;
    const struct array_story *story;
    char *string; /* room for a text's UTF-8 */
    bool good;
};

static size_t without_zeros(const unsigned char *bytes, size_t size)
{
    while (size > 0 && bytes[size - 1] == 0) {
        size--;
    }
    return size;
}

static uint32_t get_character(const unsigned char *at, bool swapped)
{
    uint32_t character;
    memcpy(&character, at, sizeof(character));
    return swapped ? __builtin_bswap32(character) : character;
}

/* A U element as UTF-8; false: it has what is no character. */
static bool encode(struct giving *giving, const unsigned char *element, size_t *size)
{
    const size_t count = (without_zeros(element, giving->npy->item) + 3) / 4;
    char *at = giving->string;
    for (size_t i = 0; i < count; i++) {
        const uint32_t c = get_character(element + 4 * i, giving->npy->swapped);
        if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
            return array_refuse(giving->story,
                                "a text has the character U+%04X, which is "
                                "none",
                                (unsigned)c);
        }
        if (c < 0x80) {
            *at++ = (char)c;
        } else if (c < 0x800) {
            *at++ = (char)(0xc0 | c >> 6);
        } else if (c < 0x10000) {
            *at++ = (char)(0xe0 | c >> 12);
        } else {
            *at++ = (char)(0xf0 | c >> 18);
            *at++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        if (c >= 0x800) {
            *at++ = (char)(0x80 | (c >> 6 & 0x3f));
        }
        if (c >= 0x80) {
            *at++ = (char)(0x80 | (c & 0x3f));
        }
    }
    *size = (size_t)(at - giving->string);
    return true;
}

static void give_run(void *context, const void *elements, size_t count)
{
    struct giving *giving = context;
    const struct array_sink *sink = giving->sink;
    const unsigned char *at = elements;
    const size_t item = giving->npy->item;
    if (!type_strings(giving->npy->type)) {
        giving->good = giving->good && sink->numbers(sink->context, elements, count,
                                                     giving->npy->swapped);
        return;
    }
    for (size_t i = 0; i < count && giving->good; i++, at += item) {
        size_t size = without_zeros(at, item);
        if (giving->npy->type == MOOT_TYPE_BYTES) {
            giving->good = sink->string(sink->context, at, size);
        } else {
            giving->good = encode(giving, at, &size) &&
                           sink->string(sink->context, giving->string, size);
        }
    }
}

/* In C order, piece by piece. */
static bool give_in_order(const struct array_bytes *bytes, struct giving *giving,
                          size_t elements)
{
    const size_t item = giving->npy->item;
    const size_t at_once = item > PIECE ? 1 : item > 0 ? PIECE / item : elements;
    unsigned char *piece = malloc(at_once * item + 1);
    if (piece == NULL) {
        return array_refuse(giving->story, "no memory for a piece of it");
    }
    while (elements > 0 && giving->good) {
        const size_t part = elements < at_once ? elements : at_once;
        giving->good =
            read_whole(bytes, piece, part * item, "the elements", giving->story);
        if (giving->good) {
            give_run(giving, piece, part);
        }
        elements -= part;
    }
    free(piece);
    return giving->good;
}

/* In Fortran order, from memory. */
static bool give_turned(const struct array_bytes *bytes, struct giving *giving,
                        size_t elements)
{
    const struct npy *npy = giving->npy;
    int64_t strides[MOOT_NDARRAY_DIMENSIONS_MAX];
    unsigned char *all = malloc(elements * npy->item + 1);
    size_t gap = npy->item;
    if (all == NULL) {
        return array_refuse(giving->story,
                            "no memory for its %zu bytes, which are in Fortran "
                            "order and so needed at once",
                            elements * npy->item);
    }
    for (uint32_t i = 0; i < npy->dimensions; i++) {
        strides[i] = (int64_t)gap;
        gap *= (size_t)npy->shape[i];
    }
    giving->good =
        read_whole(bytes, all, elements * npy->item, "the elements", giving->story);
    if (giving->good) {
        strided_walk(
            &(struct strided){npy->item, npy->dimensions, npy->shape, strides, all},
            give_run, giving);
    }
    free(all);
    return giving->good;
}

bool npy_read(const struct array_bytes *bytes, const struct array_sink *sink,
              const struct array_story *story)
{
    struct npy npy = {0};
    struct giving giving = {&npy, sink, story, NULL, true};
    size_t elements;
    uint64_t header = 0;
    unsigned char more;
    if (!read_header(bytes, &npy, &header, story)) {
        return false;
    }
    if (!shape_elements(npy.dimensions, npy.shape, npy.item, &elements)) {
        return array_refuse(story, "its shape has more bytes than there is memory for");
    }
    if (npy.item == 0 && elements > STRING_MAX) {
        return array_refuse(story, "%zu empty strings; at most %d are taken", elements,
                            STRING_MAX);
    }
    if (bytes->size != UINT64_MAX && bytes->size != header + elements * npy.item) {
        return array_refuse(story,
                            "type and shape need %zu bytes after the header, and "
                            "%llu are there",
                            elements * npy.item,
                            (unsigned long long)(bytes->size - header));
    }
    giving.string = malloc(npy.item + 1);
    if (giving.string == NULL) {
        return array_refuse(story, "no memory for a string of it");
    }
    bool good = sink->begin(sink->context, npy.type, npy.dimensions, npy.shape) &&
                (npy.fortran && npy.dimensions > 1 && elements > 0
                     ? give_turned(bytes, &giving, elements)
                     : give_in_order(bytes, &giving, elements));
    free(giving.string);
    if (good) {
        const int64_t got = bytes->read(bytes->context, &more, 1, story);
        good = got == 0 ||
               (got > 0 && array_refuse(story, "bytes follow the last element"));
    }
    return good;
}
