/* data_facts.c - see data_facts.h. */
#include "node/reference/data_facts.h"

#include "hashing/base/byte_order.h"
#include "hashing/identity.h"
#include "proto/limits.h"
#include "proto/moot_error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t data_facts_pack(const struct data_facts *facts, unsigned char *bytes)
{
    memcpy(bytes, facts->print.bytes, sizeof(facts->print));
    put_word(bytes + 16, (uint64_t)facts->type | (uint64_t)facts->dimensions << 32);
    put_word(bytes + 24, facts->size);
    for (uint32_t i = 0; i < facts->dimensions; i++) {
        put_word(bytes + 32 + 8 * i, facts->shape[i]);
    }
    return 32 + 8 * (size_t)facts->dimensions;
}

bool data_facts_unpack(struct data_facts *facts, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    if (size < 32 || size > DATA_FACTS_BYTES_MAX) {
        return false;
    }
    const uint64_t word = get_word(at + 16);
    const uint32_t type = (uint32_t)word, dimensions = (uint32_t)(word >> 32);
    if (size != 32 + 8 * (size_t)dimensions ||
        (type != 0 ? type_size((enum moot_type)type) == 0 : dimensions != 0)) {
        return false;
    }
    *facts = (struct data_facts){
        .size = get_word(at + 24), .type = type, .dimensions = dimensions};
    memcpy(facts->print.bytes, at, sizeof(facts->print));
    for (uint32_t i = 0; i < dimensions; i++) {
        facts->shape[i] = get_word(at + 32 + 8 * i);
    }
    return true;
}

/* --- Gathering -------------------------------------------------------------------- */

struct gathering {
    struct fingerprint print;
    struct data_room room;
    struct data_facts facts; /* .size: so many so far */
    bool spoilt;             /* an element is none */
};

/* Where these bytes stand in the room; NULL: they do not. */
static unsigned char *place_of(const struct gathering *gathering, size_t size)
{
    const struct data_room *room = &gathering->room;
    const uint64_t at = gathering->facts.size;
    return room->bytes != NULL && at <= room->size && size <= room->size - at
               ? room->bytes + at
               : NULL;
}

static void keep_bytes(struct gathering *gathering, const void *bytes, size_t size)
{
    unsigned char *place = place_of(gathering, size);
    if (place != NULL && size > 0) {
        memcpy(place, bytes, size);
    }
    gathering->facts.size += size;
}

static bool gather_begin(void *context, enum moot_type type, uint32_t dimensions,
                         const uint64_t *shape)
{
    struct gathering *gathering = context;
    gathering->facts.type = type;
    gathering->facts.dimensions = dimensions;
    for (uint32_t i = 0; i < dimensions; i++) {
        gathering->facts.shape[i] = shape[i];
    }
    fingerprint_begin(&gathering->print, type, dimensions, shape);
    return true;
}

static bool gather_numbers(void *context, const void *elements, size_t count,
                           bool swapped)
{
    struct gathering *gathering = context;
    const enum moot_type type = gathering->print.type;
    const size_t size = count * type_size(type);
    unsigned char *place = place_of(gathering, size);
    fingerprint_numbers(&gathering->print, elements, count, swapped);
    keep_bytes(gathering, elements, size);
    if (place != NULL) {
        elements_settle(type, place, size, swapped);
    }
    return true;
}

static bool gather_string(void *context, const void *data, size_t size)
{
    struct gathering *gathering = context;
    unsigned char length[8];
    put_word(length, size);
    fingerprint_string(&gathering->print, data, size);
    keep_bytes(gathering, length, sizeof(length));
    keep_bytes(gathering, data, size);
    return true;
}

/* --- Arrays in memory ------------------------------------------------------------- */

/* An element of BYTES or TEXT, which need not be aligned. */
static moot_bytes string_at(const void *elements, size_t i)
{
    moot_bytes string;
    memcpy(&string, (const unsigned char *)elements + i * sizeof(string),
           sizeof(string));
    return string;
}

/* The sum stops above the limit, before it can wrap around. */
static void measure_strings(void *context, const void *elements, size_t count)
{
    uint64_t *size = context;
    for (size_t i = 0; i < count && *size <= LIMIT_RESULT_BYTES; i++) {
        const uint64_t more = string_at(elements, i).size;
        *size += more <= LIMIT_RESULT_BYTES ? 8 + more : LIMIT_RESULT_BYTES + 1;
    }
}

int data_size(const moot_ndarray *array, uint64_t *size)
{
    size_t elements;
    const size_t item = array != NULL ? type_size(array->type) : 0;
    if (item == 0 || array->dimensions > MOOT_NDARRAY_DIMENSIONS_MAX ||
        (array->dimensions > 0 && array->shape == NULL)) {
        return MOOT_ERR_INVALID;
    }
    if (!shape_elements(array->dimensions, array->shape, item, &elements)) {
        return MOOT_ERR_LIMIT;
    }
    if (elements > 0 && array->data == NULL) {
        return MOOT_ERR_INVALID;
    }
    *size = elements * item;
    if (type_strings(array->type)) {
        *size = 0;
        ndarray_walk(array, measure_strings, size);
    }
    return *size <= LIMIT_RESULT_BYTES ? MOOT_OK : MOOT_ERR_LIMIT;
}

static void gather_run(void *context, const void *elements, size_t count)
{
    struct gathering *gathering = context;
    const enum moot_type type = gathering->print.type;
    if (!type_strings(type)) {
        gather_numbers(context, elements, count, false);
        return;
    }
    for (size_t i = 0; i < count && !gathering->spoilt; i++) {
        const moot_bytes string = string_at(elements, i);
        gathering->spoilt =
            (string.size > 0 && string.data == NULL) ||
            (type == MOOT_TYPE_TEXT && !utf8_valid(string.data, string.size));
        if (!gathering->spoilt) {
            gather_string(context, string.data, string.size);
        }
    }
}

int data_gather_array(const moot_ndarray *array, const struct data_room *room,
                      struct data_facts *facts)
{
    struct gathering gathering = {.room = *room};
    if (!hashing_init()) {
        return MOOT_ERR_INVALID;
    }
    gather_begin(&gathering, array->type, array->dimensions, array->shape);
    ndarray_walk(array, gather_run, &gathering);
    if (gathering.spoilt) {
        return MOOT_ERR_INVALID;
    }
    gathering.facts.print = fingerprint_end(&gathering.print);
    *facts = gathering.facts;
    return MOOT_OK;
}

/* --- Files ------------------------------------------------------------------------ */

static bool gather_plain(int fd, struct gathering *gathering,
                         const struct array_story *story)
{
    unsigned char piece[1 << 16];
    crypto_generichash_blake2b_state state;
    ssize_t got = 1;
    crypto_generichash_blake2b_init(&state, NULL, 0, sizeof(moot_hash));
    while (got > 0) {
        got = read(fd, piece, sizeof(piece));
        if (got > 0) {
            crypto_generichash_blake2b_update(&state, piece, (size_t)got);
            keep_bytes(gathering, piece, (size_t)got);
        } else if (got < 0 && errno == EINTR) {
            got = 1; /* nothing read: once more */
        }
    }
    crypto_generichash_blake2b_final(&state, gathering->facts.print.bytes,
                                     sizeof(moot_hash));
    return got == 0 || array_refuse(story, "%s", strerror(errno));
}

static bool gather_plain_file(const char *path, struct gathering *gathering,
                              const struct array_story *story)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return array_refuse(story, "%s", strerror(errno));
    }
    const bool good = gather_plain(fd, gathering, story);
    close(fd);
    return good;
}

/* Refuses what would be waited for, or read for ever: pipes, devices, and files that no
 * memory here can hold.  A name that is no file's is left to its reader: it says why it
 * cannot be opened, or the name is that of a member of an archive. */
static bool check_file(const char *path, const struct array_story *story)
{
    struct stat stat_of;
    if (stat(path, &stat_of) != 0) {
        return true;
    }
    if (!S_ISREG(stat_of.st_mode)) {
        return array_refuse(story, "this is no regular file");
    }
    const uint64_t memory =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t most = memory < LIMIT_RESULT_BYTES ? memory : LIMIT_RESULT_BYTES;
    return (uint64_t)stat_of.st_size <= most ||
           array_refuse(story,
                        "it has %llu bytes, and its task's result could have %llu, as "
                        "many as this host has memory",
                        (unsigned long long)stat_of.st_size, (unsigned long long)most);
}

bool data_gather_file(const char *path, const struct data_room *room,
                      struct data_facts *facts, const struct array_story *story)
{
    struct gathering gathering = {.room = *room};
    const struct array_sink sink = {&gathering, gather_begin, gather_numbers,
                                    gather_string};
    bool good = hashing_init() || array_refuse(story, "libsodium cannot be begun");
    if (!good || !check_file(path, story)) {
        return false;
    }
    switch (array_file_read(path, &sink, story)) {
    case ARRAY_READ:
        gathering.facts.print = fingerprint_end(&gathering.print);
        break;
    case ARRAY_REFUSED:
        good = false;
        break;
    case ARRAY_NONE:
        good = gather_plain_file(path, &gathering, story);
        break;
    }
    if (good) {
        *facts = gathering.facts;
    }
    return good;
}
