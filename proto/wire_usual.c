/* wire_usual.c - the one message of ranks that agree: a good result with its bytes.
 *
 * It has four fields and a hash, always the same ones, so that all but the last stand
 * at the same place: they are written, and looked at, as a struct would be, where the
 * table of wire_flat.c takes a branch or two for each.  What is written is what that
 * table would write, and what it would read otherwise is not read here
 * (wire_usual_test.c).
 *
 *     08 03 | 12 10 hash | 2a n | 09 owner's uid | 10 evidence | 20 01 | 28 size
 *      0        2          20     22               31            33      35
 *
 * The size is a varint of one byte or two.
 */
#include "wire_private.h"

#include "hashing/identity.h"
#include "moot_error.h"

enum {
    HEAD = 0x08 | MESSAGE_RESULT << 8 | 0x12 << 16 | MOOT_HASH_BYTES << 24,
    AT_HASH = 4,
    AT_BODY = 20,
    BODY_KEY = 0x2a,
    AT_FIELDS = 22,
    AT_UID = 23,
    UID_KEY = 0x09,
    AT_EVIDENCE = 31,
    EVIDENCE_KEY = 0x10,
    AT_TAIL = 33, /* and a third byte: the size's key */
    DATA_KEY = 0x20,
    SIZE_KEY = 0x28,
    AT_SIZE = 36,
    SIZE_SHORT_MAX = 0x7f,
    BYTES_SHORT = AT_SIZE + 1
};
static_assert(LIMIT_EAGER_BYTES < 1u << 14, "its size is two bytes at most");
static_assert((int)EVIDENCE_END <= (int)SIZE_SHORT_MAX, "evidence is one byte");
static_assert((int)BYTES_SHORT + 1 <= (int)WIRE_FLAT_BYTES_MAX, "it fits");

static bool is_usual(const struct message *message)
{
    const struct message_result *result = &message->u.result;
    return message->type == MESSAGE_RESULT && result->data == RESULT_EAGER &&
           result->status == MOOT_OK && !result->handover && result->digest == 0 &&
           result->size > 0 && result->size <= LIMIT_EAGER_BYTES &&
           result->payload != NULL && result->evidence > EVIDENCE_NONE &&
           result->evidence < EVIDENCE_END && result->owner_uid != 0 &&
           !hash_is_zero(&message->hash);
}

size_t wire_usual_put(const struct message *message, uint8_t *bytes)
{
    if (!is_usual(message))
        return 0;
    const struct message_result *result = &message->u.result;
    const bool two = result->size > SIZE_SHORT_MAX;
    const size_t size = BYTES_SHORT + (two ? 1u : 0u);
    wire_put_u32(bytes, HEAD);
    memcpy(bytes + AT_HASH, message->hash.bytes, MOOT_HASH_BYTES);
    bytes[AT_BODY] = BODY_KEY;
    bytes[AT_BODY + 1] = (uint8_t)(size - AT_FIELDS);
    bytes[AT_FIELDS] = UID_KEY;
    wire_put_u64(bytes + AT_UID, result->owner_uid);
    bytes[AT_EVIDENCE] = EVIDENCE_KEY;
    bytes[AT_EVIDENCE + 1] = (uint8_t)result->evidence;
    bytes[AT_TAIL] = DATA_KEY;
    bytes[AT_TAIL + 1] = RESULT_EAGER;
    bytes[AT_TAIL + 2] = SIZE_KEY;
    bytes[AT_SIZE] = (uint8_t)(two ? result->size | 0x80 : result->size);
    if (two)
        bytes[AT_SIZE + 1] = (uint8_t)(result->size >> 7);
    return size;
}

/* The size, which is at least one byte and with `two` another; 0: it is none. */
static uint64_t get_size(const uint8_t *at, bool two)
{
    const bool goes_on = *at > SIZE_SHORT_MAX;
    if (goes_on != two)
        return 0;
    if (!two)
        return *at;
    const uint8_t high = at[1];
    return high > 0 && high <= SIZE_SHORT_MAX
               ? (uint64_t)high << 7 | (*at & SIZE_SHORT_MAX)
               : 0;
}

/* All bytes that do not depend on the task. */
static bool has_shape(const uint8_t *at, size_t size)
{
    const unsigned differs =
        (at[AT_BODY] ^ BODY_KEY) | (at[AT_BODY + 1] ^ (unsigned)(size - AT_FIELDS)) |
        (at[AT_FIELDS] ^ UID_KEY) | (at[AT_EVIDENCE] ^ EVIDENCE_KEY) |
        (at[AT_TAIL] ^ DATA_KEY) | (at[AT_TAIL + 1] ^ RESULT_EAGER) |
        (at[AT_TAIL + 2] ^ SIZE_KEY);
    return (differs | (wire_get_u32(at) ^ HEAD)) == 0;
}

bool wire_usual_get(struct reader *reader, const struct wire_piece *piece,
                    struct message *to)
{
    const uint8_t *at = piece->bytes;
    const bool two = piece->size == BYTES_SHORT + 1;
    if ((piece->size != BYTES_SHORT && !two) || !has_shape(at, piece->size))
        return false;
    const uint64_t size = get_size(at + AT_SIZE, two);
    const uint64_t uid = wire_get_u64(at + AT_UID);
    const uint8_t evidence = at[AT_EVIDENCE + 1];
    moot_hash hash;
    memcpy(hash.bytes, at + AT_HASH, MOOT_HASH_BYTES);
    if (size == 0 || size > LIMIT_EAGER_BYTES || size > reader->payload_bytes ||
        uid == 0 || evidence == EVIDENCE_NONE || evidence >= EVIDENCE_END ||
        hash_is_zero(&hash))
        return false;
    to->type = MESSAGE_RESULT;
    to->hash = hash;
    to->u.result = (struct message_result){.owner_uid = uid,
                                           .evidence = (enum evidence)evidence,
                                           .data = RESULT_EAGER,
                                           .size = size};
    return wire_take_payload(reader, &to->u.result);
}
