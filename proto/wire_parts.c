/* wire_parts.c - PARTS on the wire (wire_write.c, wire_read.c and wire_check.c say how
 * these are called).
 *
 * Places ascend, so each goes as how many there are between it and the one before it:
 * of elements that follow each other that is a zero byte.  A size and a state are one
 * number, and the bytes of all results are one field.
 *
 * A turn of ranks whose elements feed each other's is a few of these, so they are
 * written and read without protobuf-c, which takes half a microsecond each way.  What
 * is written is what protobuf-c would write.  Fields in that order are read so, and
 * bytes borrowed from the frame; all else, a message with a cut too, goes the general
 * way (wire_private.h).
 */
#include "proto/wire_private.h"

#include "hashing/array_spread.h"
#include "hashing/identity.h"

#include <string.h>

enum { SIZE_SHIFT = 2, STATE_MASK = 3 };
static_assert((int)PART_END <= STATE_MASK + 1, "a state has its place beside a size");
static_assert(LIMIT_RESULT_BYTES <= UINT64_MAX >> SIZE_SHIFT, "a size has its place");

size_t wire_parts_scratch_bytes(const struct message_parts *parts)
{
    return 2 * (size_t)parts->part_count * sizeof(uint64_t);
}

void wire_put_parts(struct encoder *encoder, const struct message *message)
{
    const struct message_parts *parts = &message->u.parts;
    Moot__Parts *to = encoder->message.parts = &encoder->body.parts;
    const size_t count = parts->part_count;
    uint64_t at = 0;
    moot__parts__init(to);
    to->input = parts->input;
    to->count = parts->count;
    to->homes = parts->homes;
    to->n_places = to->n_sizes = count;
    to->places = wire_scratch_take(encoder, count * sizeof(*to->places));
    to->sizes = wire_scratch_take(encoder, count * sizeof(*to->sizes));
    for (size_t i = 0; i < count; i++) {
        const struct message_part *part = &parts->parts[i];
        to->places[i] = part->place - at;
        to->sizes[i] = part->size << SIZE_SHIFT | (unsigned)part->state;
        at = part->place + 1;
    }
    to->bytes = wire_borrow(parts->bytes, parts->byte_count);
    to->seek = parts->seek;
    if (!hash_is_zero(&parts->of)) {
        to->of = wire_borrow(parts->of.bytes, MOOT_HASH_BYTES);
    }
}

bool wire_get_parts(struct reader *reader, const Moot__Message *message,
                    struct message *out)
{
    const Moot__Parts *from = message->parts;
    struct message_parts *to = &out->u.parts;
    if (from->n_places != from->n_sizes || from->n_places > LIMIT_ELEMENT_PARTS) {
        return wire_refuse(reader, "PARTS: too many, or lists that differ in length");
    }
    struct message_part *parts =
        arena_take(&reader->arena, from->n_places * sizeof(*parts));
    if (parts == NULL) {
        return false;
    }
    if (from->of.len != 0 && from->of.len != MOOT_HASH_BYTES) {
        return wire_refuse(reader, "PARTS: a hash of another length");
    }
    uint64_t at = 0;
    for (size_t i = 0; i < from->n_places; i++) {
        if (from->places[i] >= ARRAY_COUNT_MAX) {
            return wire_refuse(reader, "PARTS: a place beyond the limit");
        }
        parts[i].place = at + from->places[i];
        parts[i].size = from->sizes[i] >> SIZE_SHIFT;
        parts[i].state = (enum part_state)(from->sizes[i] & STATE_MASK);
        at = parts[i].place + 1;
    }
    *to = (struct message_parts){
        .input = from->input,
        .count = from->count,
        .homes = from->homes,
        .part_count = (uint32_t)from->n_places,
        .parts = parts,
        .bytes = from->bytes.data,
        .byte_count = from->bytes.len,
        .seek = from->seek,
    };
    if (from->of.len != 0) {
        memcpy(to->of.bytes, from->of.data, MOOT_HASH_BYTES);
    }
    return true;
}

/* NULL, or what is wrong with it; adds what it has in the message to *bytes. */
static const char *check_part(const struct message_part *part, size_t *bytes)
{
    if ((unsigned)part->state >= PART_END) {
        return "PARTS: no such state";
    }
    if (part->size > LIMIT_RESULT_BYTES ||
        (part->state >= PART_ELSEWHERE && part->size != 0)) {
        return "PARTS: no such size";
    }
    if (part->state == PART_BYTES) {
        if (part->size > LIMIT_ELEMENT_PARTS_BYTES - *bytes) {
            return "PARTS: too many bytes";
        }
        *bytes += part->size;
    }
    return NULL;
}

const char *wire_check_parts(const struct message *message)
{
    const struct message_parts *parts = &message->u.parts;
    size_t bytes = 0;
    if (!hash_has(&message->hash, MOOT_HASH_ARRAY)) {
        return "PARTS: for no array";
    }
    if (parts->input >= LIMIT_INPUTS || parts->count == 0 ||
        parts->count > ARRAY_COUNT_MAX || parts->homes == 0 ||
        parts->homes > LIMIT_RANKS) {
        return "PARTS: of no such array";
    }
    if (parts->part_count > LIMIT_ELEMENT_PARTS) {
        return "PARTS: too many";
    }
    const bool asks = hash_has(&parts->of, MOOT_HASH_ARRAY);
    if (!asks && !hash_is_zero(&parts->of)) {
        return "PARTS: asked for of no array";
    }
    for (uint32_t i = 0; i < parts->part_count; i++) {
        const struct message_part *part = &parts->parts[i];
        if ((part->state == PART_WANTED) != asks) {
            return "PARTS: asked for and told at once";
        }
        if (part->place >= parts->count || (i > 0 && part->place <= part[-1].place)) {
            return "PARTS: places that are no set";
        }
        const char *why = check_part(part, &bytes);
        if (why != NULL) {
            return why;
        }
    }
    return bytes == parts->byte_count && (bytes == 0 || parts->bytes != NULL)
               ? NULL
               : "PARTS: other bytes than those of its results";
}

/* --- Without protobuf-c ----------------------------------------------------------- */

enum {
    TYPE_KEY = 0x08,
    HASH_KEY = 0x12,
    BODY_KEY = MOOT__MESSAGE__BODY_PARTS << 3 | 2,
    INPUT_KEY = 0x08,
    COUNT_KEY = 0x10,
    HOMES_KEY = 0x18,
    PLACES_KEY = 0x22,
    SIZES_KEY = 0x2a,
    BYTES_KEY = 0x32,
    AT_HASH = 4,
    AT_BODY = AT_HASH + MOOT_HASH_BYTES,
    AT_LENGTH = AT_BODY + 2,
    MORE = 0x80,
    NUMBER_BYTES_MAX = 10
};

static size_t number_bytes(uint64_t number)
{
    return (70u - (unsigned)__builtin_clzll(number | 1)) / 7;
}

static uint8_t *put_number(uint8_t *at, uint64_t number)
{
    for (; number >= MORE; number >>= 7) {
        *at++ = (uint8_t)(number | MORE);
    }
    *at++ = (uint8_t)number;
    return at;
}

/* A field that is zero is absent. */
static size_t field_bytes(uint64_t number)
{
    return number != 0 ? 1 + number_bytes(number) : 0;
}

static uint8_t *put_field(uint8_t *at, uint8_t key, uint64_t number)
{
    if (number != 0) {
        *at++ = key;
        at = put_number(at, number);
    }
    return at;
}

static uint64_t size_and_state(const struct message_part *part)
{
    return part->size << SIZE_SHIFT | (unsigned)part->state;
}

size_t wire_parts_size(const struct message *message, struct wire_parts_sizes *sizes)
{
    const struct message_parts *parts = &message->u.parts;
    uint64_t at = 0;
    *sizes = (struct wire_parts_sizes){0};
    for (uint32_t i = 0; i < parts->part_count; i++) {
        const struct message_part *part = &parts->parts[i];
        sizes->places += number_bytes(part->place - at);
        sizes->sizes += number_bytes(size_and_state(part));
        at = part->place + 1;
    }
    const size_t lengths[] = {sizes->places, sizes->sizes, parts->byte_count};
    sizes->body = field_bytes(parts->input) + field_bytes(parts->count) +
                  field_bytes(parts->homes);
    for (int i = 0; i < 3; i++) {
        sizes->body += field_bytes(lengths[i]) + lengths[i];
    }
    return AT_LENGTH + number_bytes(sizes->body) + sizes->body;
}

void wire_parts_put(const struct message *message, const struct wire_parts_sizes *sizes,
                    uint8_t *bytes)
{
    const struct message_parts *parts = &message->u.parts;
    const uint8_t head[AT_HASH] = {TYPE_KEY, MESSAGE_PARTS, HASH_KEY, MOOT_HASH_BYTES};
    uint64_t place = 0;
    memcpy(bytes, head, sizeof(head));
    memcpy(bytes + AT_HASH, message->hash.bytes, MOOT_HASH_BYTES);
    uint8_t *at = put_number(bytes + AT_BODY, BODY_KEY);
    at = put_number(at, sizes->body);
    at = put_field(at, INPUT_KEY, parts->input);
    at = put_field(at, COUNT_KEY, parts->count);
    at = put_field(at, HOMES_KEY, parts->homes);
    at = put_field(at, PLACES_KEY, sizes->places);
    for (uint32_t i = 0; i < parts->part_count; i++) {
        at = put_number(at, parts->parts[i].place - place);
        place = parts->parts[i].place + 1;
    }
    at = put_field(at, SIZES_KEY, sizes->sizes);
    for (uint32_t i = 0; i < parts->part_count; i++) {
        at = put_number(at, size_and_state(&parts->parts[i]));
    }
    at = put_field(at, BYTES_KEY, parts->byte_count);
    if (parts->byte_count > 0) {
        memcpy(at, parts->bytes, parts->byte_count);
    }
}

/* Returns where the number ends; NULL: it is cut off, or of more than 63 bits. */
static const uint8_t *get_number(const uint8_t *at, const uint8_t *end, uint64_t *out)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < NUMBER_BYTES_MAX - 1 && at < end; i++) {
        const uint8_t byte = *at++;
        number |= (uint64_t)(byte & (MORE - 1)) << (7 * i);
        if (byte < MORE) {
            *out = number;
            return at;
        }
    }
    return NULL;
}

/* The next field, if it has that key; else *out is zero. */
static const uint8_t *get_field(const uint8_t *at, const uint8_t *end, uint8_t key,
                                uint64_t *out)
{
    *out = 0;
    if (at == NULL || at == end || *at != key) {
        return at;
    }
    return get_number(at + 1, end, out);
}

/* Likewise, of a field that is so many bytes: they end where the next one begins. */
static const uint8_t *get_bytes(const uint8_t *at, const uint8_t *end, uint8_t key,
                                struct wire_piece *out)
{
    uint64_t size;
    *out = (struct wire_piece){0};
    const uint8_t *content = get_field(at, end, key, &size);
    if (content == NULL || size == 0) {
        return content;
    }
    if (size > (uint64_t)(end - content)) {
        return NULL;
    }
    *out = (struct wire_piece){content, (size_t)size};
    return content + size;
}

static size_t count_numbers(const struct wire_piece *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->size; i++) {
        count += list->bytes[i] < MORE;
    }
    return count;
}

/* Both lists end with their last number, and have as many. */
static bool get_list(const struct wire_piece *places, const struct wire_piece *sizes,
                     struct message_part *parts)
{
    const uint8_t *at = places->bytes, *const end = at + places->size;
    const uint8_t *size_at = sizes->bytes, *const size_end = size_at + sizes->size;
    uint64_t place = 0, gap = 0, size = 0;
    for (; at < end; parts++) {
        at = get_number(at, end, &gap);
        size_at = get_number(size_at, size_end, &size);
        if (at == NULL || size_at == NULL || gap >= ARRAY_COUNT_MAX) {
            return false;
        }
        *parts = (struct message_part){place + gap, size >> SIZE_SHIFT,
                                       (enum part_state)(size & STATE_MASK)};
        place += gap + 1;
    }
    return size_at == size_end;
}

static bool get_body(struct reader *reader, const uint8_t *at, const uint8_t *end,
                     struct message_parts *to)
{
    struct wire_piece places, sizes, bytes;
    uint64_t input, count, homes;
    at = get_field(at, end, INPUT_KEY, &input);
    at = get_field(at, end, COUNT_KEY, &count);
    at = get_field(at, end, HOMES_KEY, &homes);
    at = get_bytes(at, end, PLACES_KEY, &places);
    at = get_bytes(at, end, SIZES_KEY, &sizes);
    at = get_bytes(at, end, BYTES_KEY, &bytes);
    const size_t parts = count_numbers(&places);
    if (at != end || parts == 0 || parts > LIMIT_ELEMENT_PARTS ||
        (input | homes) > UINT32_MAX) {
        return false;
    }
    struct message_part *list = arena_take(&reader->arena, parts * sizeof(*list));
    if (list == NULL || !get_list(&places, &sizes, list)) {
        return false;
    }
    *to = (struct message_parts){.input = (uint32_t)input,
                                 .count = count,
                                 .homes = (uint32_t)homes,
                                 .part_count = (uint32_t)parts,
                                 .parts = list,
                                 .bytes = bytes.bytes,
                                 .byte_count = bytes.size};
    return true;
}

bool wire_parts_get(struct reader *reader, const struct wire_piece *piece,
                    struct message *to)
{
    const uint8_t *at = piece->bytes, *const end = at + piece->size;
    const uint8_t head[AT_HASH] = {TYPE_KEY, MESSAGE_PARTS, HASH_KEY, MOOT_HASH_BYTES};
    moot_hash hash;
    uint64_t key, size;
    if (piece->size <= AT_LENGTH || memcmp(at, head, sizeof(head)) != 0) {
        return false;
    }
    memcpy(hash.bytes, at + AT_HASH, MOOT_HASH_BYTES);
    at = get_number(at + AT_BODY, end, &key);
    if (at == NULL || key != BODY_KEY || hash_is_zero(&hash)) {
        return false;
    }
    at = get_number(at, end, &size);
    if (at == NULL || size != (uint64_t)(end - at) ||
        !get_body(reader, at, end, &to->u.parts)) {
        return false;
    }
    to->type = MESSAGE_PARTS;
    to->hash = hash;
    return true;
}
