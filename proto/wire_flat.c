/* wire_flat.c - messages of plain numbers, written and read along a table.
 *
 * What ranks that agree say to each other is a few numbers and a hash at a time, and
 * protobuf-c takes some thousands of instructions each way for it: its structs are
 * filled, sized, packed; walked, unpacked piece by piece, checked for what they cannot
 * have.  A flat message is one whose fields are all numbers, or pointers that are not
 * used: it goes to bytes and back in one pass over its fields, straight from and to
 * message.h.  A DECISION with its few askers counts as one, and an ELEMENTS with a
 * range or two.
 *
 * The bytes are exactly those that protobuf-c makes: fields in the order of their
 * numbers, what is zero left out, numbers as short as they can be.  Only such bytes are
 * read here.  Whatever else comes, valid or not, is left to the general way
 * (wire_private.h), which also finds the words for what is wrong.
 *
 * A field of moot.proto that is missing below would be lost: wire_flat_test.c compares
 * the table with the descriptors, and both ways with each other.
 */
#include "proto/wire_private.h"

#include "hashing/array_spread.h"
#include "hashing/base/hot.h"
#include "hashing/identity.h"

#include <stddef.h>
#include <string.h>

enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    TYPE_KEY = 1 << 3 | WIRE_VARINT,
    HASH_KEY = 2 << 3 | WIRE_BYTES,
    RANKS_KEY = 2 << 3 | WIRE_BYTES,
    WANTS_KEY = 3 << 3 | WIRE_BYTES,
    NEEDS_KEY = 4 << 3 | WIRE_BYTES,
    HASH_FIELD_BYTES = 2 + MOOT_HASH_BYTES,
    SMALL_MAX = 0x7f, /* what a varint of one byte holds */
    VARINT_BYTES_MAX = 10,
    FIELDS_MAX = 14,
    RANGES_KEY = 6 << 3 | WIRE_BYTES,
    ASKERS_MAX = 4,       /* of a DECISION that is flat */
    RANGES_MAX = 2,       /* of an ELEMENTS */
    LIKELY_BYTES_MAX = 64 /* with a site, a set or a spec it is longer */
};
static_assert((int)MESSAGE_TYPE_END <= (int)SMALL_MAX, "a type is one byte");
static_assert(WIRE_FLAT_BYTES_MAX >=
                  2 + HASH_FIELD_BYTES + 3 + FIELDS_MAX * HASH_FIELD_BYTES,
              "the longest fits");

/* --- The table -------------------------------------------------------------------- */

enum flat_kind {
    FLAT_BOOL,
    FLAT_UINT32,
    FLAT_SINT32, /* zigzag */
    FLAT_UINT64,
    FLAT_FIXED64,
    FLAT_HASH,
    FLAT_ASKERS, /* three packed lists in a row: ranks, wants, needs */
    FLAT_RANGES, /* a packed list: by turns so many places that are not meant, and are
                  */
    FLAT_UNUSED
};

struct flat_field {
    uint8_t key;  /* on the wire; 0, which is none, if unused */
    uint8_t kind; /* enum flat_kind */
    uint16_t at;  /* in struct message */
};

#define FIELD(wire, number, kind, member)                                              \
    {                                                                                  \
        (number) << 3 | (wire), (kind), offsetof(struct message, u.member)             \
    }
#define BOOL(number, member) FIELD(WIRE_VARINT, number, FLAT_BOOL, member)
#define UINT32(number, member) FIELD(WIRE_VARINT, number, FLAT_UINT32, member)
#define UINT64(number, member) FIELD(WIRE_VARINT, number, FLAT_UINT64, member)
#define SINT32(number, member) FIELD(WIRE_VARINT, number, FLAT_SINT32, member)
#define FIXED64(number, member) FIELD(WIRE_FIXED64, number, FLAT_FIXED64, member)
#define HASH(number, member) FIELD(WIRE_BYTES, number, FLAT_HASH, member)
/* A pointer: what has one is not flat. */
#define UNUSED(number, member)                                                         \
    {                                                                                  \
        0, FLAT_UNUSED, offsetof(struct message, u.member)                             \
    }

static const struct flat_field motion_fields[] = {
    BOOL(1, motion.holds),        BOOL(2, motion.hint),     BOOL(3, motion.final),
    UINT32(4, motion.want),       FIXED64(5, motion.need),  UINT64(6, motion.len),
    UNUSED(7, motion.candidates), UNUSED(8, motion.spec),   HASH(9, motion.scope),
    SINT32(10, motion.priority),  FIXED64(11, motion.wait),
};
static const struct flat_field decision_fields[] = {
    UINT32(1, decision.evidence),
    FIELD(WIRE_BYTES, 2, FLAT_ASKERS, decision), /* and 3, and 4 */
    UINT32(5, decision.cancelled_by),
    SINT32(6, decision.priority),
    BOOL(7, decision.seen),
    BOOL(8, decision.alone),
};
static const struct flat_field result_fields[] = {
    FIXED64(1, result.owner_uid), UINT32(2, result.evidence), SINT32(3, result.status),
    UINT32(4, result.data),       UINT64(5, result.size),     BOOL(6, result.handover),
    FIXED64(7, result.digest),    UINT32(8, result.at),       BOOL(9, result.away),
    UINT32(10, result.part),      UINT32(11, result.parts),
};
static const struct flat_field accept_fields[] = {
    UINT32(1, accept.winner),
    FIXED64(2, accept.winner_uid),
    BOOL(3, accept.maybe),
};
static const struct flat_field cancel_fields[] = {UINT32(1, cancel.by)};
static const struct flat_field verdict_fields[] = {
    SINT32(1, verdict.code),  UINT32(2, verdict.what),   UINT32(3, verdict.by),
    UINT64(4, verdict.epoch), UINT64(5, verdict.age_ns),
};
static const struct flat_field roll_fields[] = {
    UINT32(1, roll.lane),   UINT64(2, roll.first),    UINT32(3, roll.count),
    BOOL(4, roll.partial),  FIXED64(5, roll.sum.low), FIXED64(6, roll.sum.high),
    UINT32(7, roll.before), FIXED64(8, roll.scope),   BOOL(9, roll.cut),
};
static const struct flat_field state_fields[] = {
    BOOL(1, state.blocked), BOOL(2, state.closed),  BOOL(3, state.passive),
    BOOL(4, state.waiting), UINT32(5, state.lanes), UINT64(6, state.len),
    FIXED64(7, state.need), UINT32(8, state.load),  UNUSED(9, state.site),
};
static const struct flat_field poll_fields[] = {UINT64(1, poll.round)};
static const struct flat_field heartbeat_fields[] = {
    FIXED64(1, heartbeat.token),     UINT32(2, heartbeat.load),
    UNUSED(3, heartbeat.suspects),   UNUSED(4, heartbeat.dead),
    UINT64(5, heartbeat.rolls),      FIXED64(6, heartbeat.rolls_sum),
    UNUSED(7, heartbeat.signatures),
};
static const struct flat_field grant_fields[] = {
    FIXED64(1, grant.token),
    UINT64(2, grant.contradicted),
    HASH(3, grant.others),
};
static const struct flat_field released_fields[] = {
    UINT32(1, released.what),     BOOL(2, released.ready),
    BOOL(3, released.swept),      BOOL(4, released.alike),
    UINT64(5, released.round),    UINT64(6, released.count),
    FIXED64(7, released.sum.low), FIXED64(8, released.sum.high),
    UINT64(9, released.sent),     UINT64(10, released.received),
    BOOL(11, released.rests),
};

static const struct flat_field elements_fields[] = {
    UINT32(1, elements.what),   UINT64(2, elements.count),
    UINT64(3, elements.block),  UINT32(4, elements.kind),
    UINT32(5, elements.homes),  FIELD(WIRE_BYTES, 6, FLAT_RANGES, elements),
    UINT64(7, elements.failed), SINT32(8, elements.status),
    FIXED64(9, elements.need),  BOOL(10, elements.quiet),
    BOOL(11, elements.tell),    UNUSED(12, elements.spec),
    UNUSED(13, elements.ranks), BOOL(14, elements.bound),
};

/* A type that may be flat. */
static const struct flat {
    bool may_be;
    uint8_t body; /* its body's number in moot.proto; 0: it has none */
    uint8_t count;
    const struct flat_field *fields;
} flats[MESSAGE_TYPE_END] = {
#define FLAT(name, number, fields)                                                     \
    [MESSAGE_##name] = {true, number, sizeof(fields) / sizeof(*(fields)), fields}
#define BARE(name) [MESSAGE_##name] = {.may_be = true}
    FLAT(MOTION, 3, motion_fields),
    FLAT(DECISION, 4, decision_fields),
    FLAT(RESULT, 5, result_fields),
    FLAT(ACCEPT, 7, accept_fields),
    FLAT(VERDICT, 8, verdict_fields),
    FLAT(ROLL, 9, roll_fields),
    FLAT(STATE, 12, state_fields),
    FLAT(POLL, 13, poll_fields),
    FLAT(HEARTBEAT, 20, heartbeat_fields),
    FLAT(GRANT, 21, grant_fields),
    FLAT(RELEASED, 29, released_fields),
    FLAT(CANCEL, 31, cancel_fields),
    FLAT(ELEMENTS, 41, elements_fields),
    BARE(PULL),
    BARE(SEEK),
    BARE(ACK),
    BARE(SETTLED),
};

/* --- Writing ---------------------------------------------------------------------- */

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    for (; value > SMALL_MAX; value >>= 7) {
        *at++ = (uint8_t)(value | 0x80);
    }
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_fixed64(uint8_t *at, uint64_t value)
{
    wire_put_u64(at, value);
    return at + sizeof(value);
}

static uint8_t *put_hash(uint8_t *at, uint8_t key, const void *bytes)
{
    *at++ = key;
    *at++ = MOOT_HASH_BYTES;
    memcpy(at, bytes, MOOT_HASH_BYTES);
    return at + MOOT_HASH_BYTES;
}

static uint8_t *put_askers(uint8_t *at, const struct message_decision *decision)
{
    size_t count = decision->asker_count;
    if (count > ASKERS_MAX) {
        return NULL;
    }
    uint8_t *size = at + 1;
    *at = RANKS_KEY;
    at += 2;
    for (size_t i = 0; i < count; i++) {
        at = put_varint(at, decision->askers[i].rank);
    }
    *size = (uint8_t)(at - size - 1);
    *at++ = WANTS_KEY;
    *at++ = (uint8_t)count;
    for (size_t i = 0; i < count; i++) {
        *at++ = (uint8_t)decision->askers[i].want;
    }
    *at++ = NEEDS_KEY;
    *at++ = (uint8_t)(8 * count);
    for (size_t i = 0; i < count; i++) {
        at = put_fixed64(at, decision->askers[i].need);
    }
    return at;
}

static uint8_t *put_ranges(uint8_t *at, const struct message_elements *elements)
{
    uint64_t before = 0;
    if (elements->range_count > RANGES_MAX) {
        return NULL;
    }
    uint8_t *size = at + 1;
    *at = RANGES_KEY;
    at += 2;
    for (uint32_t i = 0; i < elements->range_count; i++) {
        const struct range *range = &elements->ranges[i];
        at = put_varint(at, range->first - before);
        at = put_varint(at, range->end - range->first);
        before = range->end;
    }
    *size = (uint8_t)(at - size - 1);
    return at;
}

/* The field's value as the wire has it; of a hash or a pointer: whether it is there, of
 * askers and ranges: how many. */
static uint64_t load(const struct flat_field *field, const uint8_t *from)
{
    uint64_t wide[2];
    uint32_t narrow;
    const void *pointer;
    switch ((enum flat_kind)field->kind) {
    case FLAT_BOOL:
        return *from;
    case FLAT_UINT32:
        memcpy(&narrow, from, sizeof(narrow));
        return narrow;
    case FLAT_SINT32:
        memcpy(&narrow, from, sizeof(narrow));
        return narrow << 1 ^ (0 - (narrow >> 31));
    case FLAT_UINT64:
    case FLAT_FIXED64:
        memcpy(wide, from, sizeof(*wide));
        return *wide;
    case FLAT_HASH:
        memcpy(wide, from, sizeof(wide));
        return wide[0] | wide[1];
    case FLAT_ASKERS:
        return ((const struct message_decision *)(const void *)from)->asker_count;
    case FLAT_RANGES:
        return ((const struct message_elements *)(const void *)from)->range_count;
    case FLAT_UNUSED:
        memcpy(&pointer, from, sizeof(pointer));
        return pointer != NULL;
    }
    return 0;
}

/* Returns the end of what it wrote; NULL: a pointer is in use, or there is too much. */
static uint8_t *put_fields(const struct flat *flat, const struct message *message,
                           uint8_t *at)
{
    for (size_t i = 0; i < flat->count; i++) {
        const struct flat_field *field = &flat->fields[i];
        const uint8_t *from = (const uint8_t *)message + field->at;
        uint64_t value = load(field, from);
        if (value == 0) {
            continue;
        }
        if (field->kind == FLAT_UNUSED) {
            return NULL;
        }
        if (field->kind == FLAT_HASH) {
            at = put_hash(at, field->key, from);
            continue;
        }
        if (field->kind == FLAT_ASKERS || field->kind == FLAT_RANGES) {
            at = field->kind == FLAT_ASKERS ? put_askers(at, &message->u.decision)
                                            : put_ranges(at, &message->u.elements);
            if (at == NULL) {
                return NULL;
            }
            continue;
        }
        *at++ = field->key;
        at = field->kind == FLAT_FIXED64 ? put_fixed64(at, value)
                                         : put_varint(at, value);
    }
    return at;
}

size_t wire_flat_put(const struct message *message, uint8_t *bytes)
{
    const struct flat *flat = &flats[message->type];
    uint8_t *at = bytes;
    if (!flat->may_be || message->cut != 0) {
        return 0;
    }
    *at++ = TYPE_KEY;
    *at++ = (uint8_t)message->type;
    if (!hash_is_zero(&message->hash)) {
        at = put_hash(at, HASH_KEY, message->hash.bytes);
    }
    if (flat->body == 0) {
        return (size_t)(at - bytes);
    }

    at = put_varint(at, (uint64_t)flat->body << 3 | WIRE_BYTES);
    uint8_t *body = at + 1, *end = put_fields(flat, message, body);
    if (end == NULL || end - body > SMALL_MAX) {
        return 0;
    }
    *at = (uint8_t)(end - body);
    return (size_t)(end - bytes);
}

/* --- Reading ---------------------------------------------------------------------- */

/* What is not written as above is no number here: NULL. */
HOT static const uint8_t *get_varint(const uint8_t *at, const uint8_t *end,
                                     uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    if (at < end && *at != 0 && *at <= SMALL_MAX) { /* most of them */
        *out = *at;
        return *at <= max ? at + 1 : NULL;
    }
    for (unsigned i = 0; i < VARINT_BYTES_MAX && at < end; i++) {
        uint8_t byte = *at++;
        if (i == VARINT_BYTES_MAX - 1 && byte > 1) {
            return NULL; /* more than 64 bits */
        }
        value |= (uint64_t)(byte & SMALL_MAX) << (7 * i);
        if (byte <= SMALL_MAX) {
            *out = value;
            return byte != 0 && value <= max ? at : NULL;
        }
    }
    return NULL;
}

static const uint8_t *get_narrow(const uint8_t *at, const uint8_t *end, bool zigzag,
                                 uint8_t *to)
{
    uint64_t value;
    at = get_varint(at, end, UINT32_MAX, &value);
    if (at == NULL) {
        return NULL;
    }
    uint32_t narrow = (uint32_t)value;
    if (zigzag) {
        narrow = narrow >> 1 ^ (0 - (narrow & 1));
    }
    memcpy(to, &narrow, sizeof(narrow));
    return at;
}

static const uint8_t *get_wide(const uint8_t *at, const uint8_t *end, bool fixed,
                               uint8_t *to)
{
    uint64_t value;
    if (!fixed) {
        at = get_varint(at, end, UINT64_MAX, &value);
    } else if (end - at >= 8) {
        value = wire_get_u64(at);
        at = value != 0 ? at + 8 : NULL;
    } else {
        return NULL;
    }
    if (at != NULL) {
        memcpy(to, &value, sizeof(value));
    }
    return at;
}

static const uint8_t *get_hash(const uint8_t *at, const uint8_t *end, void *to)
{
    moot_hash hash;
    if (end - at < 1 + MOOT_HASH_BYTES || *at != MOOT_HASH_BYTES) {
        return NULL;
    }
    memcpy(hash.bytes, at + 1, MOOT_HASH_BYTES);
    memcpy(to, hash.bytes, MOOT_HASH_BYTES);
    return hash_is_zero(&hash) ? NULL : at + 1 + MOOT_HASH_BYTES;
}

/* The key and the size of a list; what follows is at least so long, and the body it is
 * in has less than SMALL_MAX bytes. */
static bool get_list(const uint8_t **at, const uint8_t *end, uint8_t key, size_t *size)
{
    if (end - *at < 2 || (*at)[0] != key || (*at)[1] > end - *at - 2) {
        return false;
    }
    *size = (*at)[1];
    *at += 2;
    return true;
}

static const uint8_t *get_askers(struct reader *reader, const uint8_t *at,
                                 const uint8_t *end, struct message_decision *to)
{
    struct message_asker askers[ASKERS_MAX];
    size_t size, count = 0;
    at--; /* the key is read again */
    if (!get_list(&at, end, RANKS_KEY, &size)) {
        return NULL;
    }
    for (const uint8_t *list_end = at + size; at < list_end; count++) {
        uint64_t rank = 0;
        if (count == ASKERS_MAX) {
            return NULL;
        }
        at = *at == 0 ? at + 1 : get_varint(at, list_end, LIMIT_RANKS, &rank);
        if (at == NULL) {
            return NULL;
        }
        askers[count].rank = (uint32_t)rank;
    }
    if (count == 0 || !get_list(&at, end, WANTS_KEY, &size) || size != count) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        askers[i].want = (enum want)at[i]; /* a longer one has a bit that no want has */
    }
    at += count;
    if (!get_list(&at, end, NEEDS_KEY, &size) || size != 8 * count) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++, at += 8) {
        askers[i].need = wire_get_u64(at);
    }
    struct message_asker *kept = arena_take(&reader->arena, sizeof(askers));
    if (kept == NULL) {
        return NULL;
    }
    memcpy(kept, askers, count * sizeof(*kept));
    to->askers = kept;
    to->asker_count = count;
    return at;
}

/* Those of at most RANGES_MAX ranges, and how many; each may be zero. */
static const uint8_t *get_numbers(const uint8_t *at, const uint8_t *end,
                                  uint64_t *numbers, size_t *count)
{
    for (*count = 0; at < end; ++*count) {
        if (*count == (size_t)2 * RANGES_MAX) {
            return NULL;
        }
        numbers[*count] = 0;
        at = *at == 0 ? at + 1 : get_varint(at, end, ARRAY_COUNT_MAX, &numbers[*count]);
        if (at == NULL) {
            return NULL;
        }
    }
    return at;
}

static const uint8_t *get_ranges(struct reader *reader, const uint8_t *at,
                                 const uint8_t *end, struct message_elements *to)
{
    uint64_t numbers[2 * RANGES_MAX];
    size_t size, count;
    at--; /* the key is read again */
    if (!get_list(&at, end, RANGES_KEY, &size) || size == 0) {
        return NULL;
    }
    at = get_numbers(at, at + size, numbers, &count);
    if (at == NULL || count % 2 != 0) {
        return NULL;
    }
    struct range *ranges =
        arena_take(&reader->arena, RANGES_MAX * sizeof(struct range));
    uint64_t before = 0;
    for (size_t i = 0; ranges != NULL && i < count / 2; i++) {
        ranges[i].first = before + numbers[2 * i];
        before = ranges[i].end = ranges[i].first + numbers[2 * i + 1];
    }
    to->ranges = ranges;
    to->range_count = (uint32_t)(count / 2);
    return ranges != NULL ? at : NULL;
}

/* Reads what stands behind the field's key; returns where that ends, or NULL. */
static const uint8_t *get_field(struct reader *reader, const struct flat_field *field,
                                const uint8_t *at, const uint8_t *end,
                                struct message *message)
{
    uint8_t *to = (uint8_t *)message + field->at;
    switch ((enum flat_kind)field->kind) {
    case FLAT_BOOL:
        if (at == end || *at != 1) {
            return NULL;
        }
        *(bool *)to = true;
        return at + 1;
    case FLAT_UINT32:
    case FLAT_SINT32:
        return get_narrow(at, end, field->kind == FLAT_SINT32, to);
    case FLAT_UINT64:
    case FLAT_FIXED64:
        return get_wide(at, end, field->kind == FLAT_FIXED64, to);
    case FLAT_HASH:
        return get_hash(at, end, to);
    case FLAT_ASKERS:
        return get_askers(reader, at, end, &message->u.decision);
    case FLAT_RANGES:
        return get_ranges(reader, at, end, &message->u.elements);
    case FLAT_UNUSED:
        break;
    }
    return NULL;
}

/* A field that is not the next one, or not in the table, is never met: then the end is
 * not reached. */
static bool get_fields(struct reader *reader, const struct flat *flat,
                       const uint8_t *at, const uint8_t *end, struct message *to)
{
    for (size_t i = 0; i < flat->count && at < end; i++) {
        const struct flat_field *field = &flat->fields[i];
        if (*at != field->key) {
            continue;
        }
        at = get_field(reader, field, at + 1, end, to);
        if (at == NULL) {
            return false;
        }
    }
    return at == end;
}

/* The body's key and size; what follows must be all of it. */
static const uint8_t *get_body(const struct flat *flat, const uint8_t *at,
                               const uint8_t *end)
{
    uint64_t key, size;
    if (flat->body == 0) {
        return at;
    }
    at = get_varint(at, end, UINT32_MAX, &key);
    if (at == NULL || key != ((uint64_t)flat->body << 3 | WIRE_BYTES) || at == end) {
        return NULL;
    }
    size = *at++;
    return size <= SMALL_MAX && size == (uint64_t)(end - at) ? at : NULL;
}

/* How its kind is written, if that is flat; or NULL. */
static inline const struct flat *flat_of(const struct wire_piece *piece)
{
    const uint8_t *at = piece->bytes;
    return piece->size >= 2 && at[0] == TYPE_KEY && at[1] < MESSAGE_TYPE_END &&
                   flats[at[1]].may_be
               ? &flats[at[1]]
               : NULL;
}

static bool get_message(struct reader *reader, const struct flat *flat,
                        const struct wire_piece *piece, struct message *to)
{
    const uint8_t *at = piece->bytes, *end = at + piece->size;
    to->type = (enum message_type)at[1];
    at += 2;
    if (at < end && *at == HASH_KEY) {
        at = get_hash(at + 1, end, &to->hash);
    }
    if (at != NULL) {
        at = get_body(flat, at, end);
    }
    return at != NULL && get_fields(reader, flat, at, end, to) &&
           (to->type != MESSAGE_RESULT || wire_take_payload(reader, &to->u.result));
}

bool wire_flat_likely(const struct wire_piece *piece)
{
    return piece->size <= LIKELY_BYTES_MAX && flat_of(piece) != NULL;
}

bool wire_flat_get(struct reader *reader, const struct wire_piece *piece,
                   struct message *to)
{
    const struct flat *flat = flat_of(piece);
    if (flat == NULL) {
        return false; /* and nothing has been written */
    }
    if (get_message(reader, flat, piece, to)) {
        return true;
    }
    to->type = MESSAGE_NONE;
    to->hash = (moot_hash){{0}};
    memset(&to->u, 0, sizeof(to->u));
    return false;
}
