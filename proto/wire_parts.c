/* wire_parts.c - PARTS on the wire (wire_write.c, wire_read.c and wire_check.c say how
 * these are called).
 *
 * Places ascend, so each goes as how many there are between it and the one before it:
 * of elements that follow each other that is a zero byte.  A size and a state are one
 * number, and the bytes of all results are one field.
 */
#include "proto/wire_private.h"

#include "hashing/array_spread.h"
#include "hashing/identity.h"

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
    };
    return true;
}

/* NULL, or what is wrong with it; adds what it has in the message to *bytes. */
static const char *check_part(const struct message_part *part, size_t *bytes)
{
    if ((unsigned)part->state >= PART_END) {
        return "PARTS: no such state";
    }
    if (part->size > LIMIT_RESULT_BYTES ||
        (part->state == PART_ELSEWHERE && part->size != 0)) {
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
    for (uint32_t i = 0; i < parts->part_count; i++) {
        const struct message_part *part = &parts->parts[i];
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
