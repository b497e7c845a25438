/* wire_usual.c - the messages that come by the thousand, each in its usual form: a good
 * result with its bytes, which is all that ranks that agree say; and where they do not,
 * the motion of who holds what it asks for, and the decision that makes it the owner.
 *
 * Each has a hash and a few fields, always the same ones, so that all but the last
 * stand at the same place: they are written, and looked at, as a struct would be, where
 * the table of wire_flat.c takes a branch or two for each.  What is written is what
 * that table would write, and what it would read otherwise is not read here
 * (wire_usual_test.c).
 *
 *     08 03 | 12 10 hash | 2a n | 09 owner's uid | 10 evidence | 20 01 | 28 size
 *     08 01 | 12 10 hash | 1a n | 08 01 | 20 want | 29 need | 30 length of the roll
 *     08 02 | 12 10 hash | 22 02 | 08 evidence
 *      0        2          20     22
 *
 * The size is a varint of one byte or two, the length one of up to four.
 */
#include "proto/wire_private.h"

#include "hashing/identity.h"
#include "proto/moot_error.h"

enum {
    HASH_HEAD = 0x12 << 16 | MOOT_HASH_BYTES << 24, /* behind the type */
    TYPE_KEY = 0x08,
    AT_TYPE = 1,
    AT_HASH = 4,
    AT_BODY = 20,
    AT_FIELDS = 22,
    VARINT_MAX = 0x7f, /* in a byte of it */
    VARINT_MORE = 0x80
};

static uint32_t head_of(enum message_type type)
{
    return TYPE_KEY | (uint32_t)type << 8 | HASH_HEAD;
}

static void put_head(uint8_t *bytes, const struct message *message, uint8_t body_key,
                     size_t size)
{
    wire_put_u32(bytes, head_of(message->type));
    memcpy(bytes + AT_HASH, message->hash.bytes, MOOT_HASH_BYTES);
    bytes[AT_BODY] = body_key;
    bytes[AT_BODY + 1] = (uint8_t)(size - AT_FIELDS);
}

/* Zero if all of it is as it should be; the hash follows. */
static unsigned head_differs(const struct wire_piece *piece, enum message_type type,
                             uint8_t body_key)
{
    const uint8_t *at = piece->bytes;
    return (wire_get_u32(at) ^ head_of(type)) | (at[AT_BODY] ^ body_key) |
           (at[AT_BODY + 1] ^ (unsigned)(piece->size - AT_FIELDS));
}

/* Nothing is changed if it is none. */
static bool get_hash(const uint8_t *at, enum message_type type, struct message *to)
{
    moot_hash hash;
    memcpy(hash.bytes, at + AT_HASH, MOOT_HASH_BYTES);
    if (hash_is_zero(&hash)) {
        return false;
    }
    to->type = type;
    to->hash = hash;
    return true;
}

/* --- RESULT ----------------------------------------------------------------------- */

enum {
    RESULT_KEY = 0x2a,
    AT_UID = 23,
    UID_KEY = 0x09,
    AT_EVIDENCE = 31,
    EVIDENCE_KEY = 0x10,
    AT_TAIL = 33, /* and a third byte: the size's key */
    DATA_KEY = 0x20,
    SIZE_KEY = 0x28,
    AT_SIZE = 36,
    RESULT_BYTES = AT_SIZE + 1 /* if the size is short */
};
static_assert(LIMIT_EAGER_BYTES < 1u << 14, "its size is two bytes at most");
static_assert((int)EVIDENCE_END <= (int)VARINT_MAX, "evidence is one byte");
static_assert((int)RESULT_BYTES + 1 <= (int)WIRE_FLAT_BYTES_MAX, "it fits");

static bool is_usual_result(const struct message *message)
{
    const struct message_result *result = &message->u.result;
    return result->data == RESULT_EAGER && result->status == MOOT_OK &&
           !result->handover && result->digest == 0 && result->at == 0 &&
           !result->away && result->size > 0 && result->size <= LIMIT_EAGER_BYTES &&
           result->payload != NULL && result->evidence > EVIDENCE_NONE &&
           result->evidence < EVIDENCE_END && result->owner_uid != 0;
}

static size_t put_result(const struct message *message, uint8_t *bytes)
{
    if (!is_usual_result(message)) {
        return 0;
    }
    const struct message_result *result = &message->u.result;
    const bool two = result->size > VARINT_MAX;
    const size_t size = RESULT_BYTES + (two ? 1u : 0u);
    put_head(bytes, message, RESULT_KEY, size);
    bytes[AT_FIELDS] = UID_KEY;
    wire_put_u64(bytes + AT_UID, result->owner_uid);
    bytes[AT_EVIDENCE] = EVIDENCE_KEY;
    bytes[AT_EVIDENCE + 1] = (uint8_t)result->evidence;
    bytes[AT_TAIL] = DATA_KEY;
    bytes[AT_TAIL + 1] = RESULT_EAGER;
    bytes[AT_TAIL + 2] = SIZE_KEY;
    bytes[AT_SIZE] = (uint8_t)(two ? result->size | VARINT_MORE : result->size);
    if (two) {
        bytes[AT_SIZE + 1] = (uint8_t)(result->size >> 7);
    }
    return size;
}

/* The size, which is at least one byte and with `two` another; 0: it is none. */
static uint64_t get_size(const uint8_t *at, bool two)
{
    const bool goes_on = *at > VARINT_MAX;
    if (goes_on != two) {
        return 0;
    }
    if (!two) {
        return *at;
    }
    const uint8_t high = at[1];
    return high > 0 && high <= VARINT_MAX ? (uint64_t)high << 7 | (*at & VARINT_MAX)
                                          : 0;
}

static bool get_result(struct reader *reader, const struct wire_piece *piece,
                       struct message *to)
{
    const uint8_t *at = piece->bytes;
    const bool two = piece->size == RESULT_BYTES + 1;
    if ((piece->size != RESULT_BYTES && !two) ||
        (head_differs(piece, MESSAGE_RESULT, RESULT_KEY) | (at[AT_FIELDS] ^ UID_KEY) |
         (at[AT_EVIDENCE] ^ EVIDENCE_KEY) | (at[AT_TAIL] ^ DATA_KEY) |
         (at[AT_TAIL + 1] ^ RESULT_EAGER) | (at[AT_TAIL + 2] ^ SIZE_KEY)) != 0) {
        return false;
    }
    const uint64_t size = get_size(at + AT_SIZE, two);
    const uint64_t uid = wire_get_u64(at + AT_UID);
    const uint8_t evidence = at[AT_EVIDENCE + 1];
    if (size == 0 || size > LIMIT_EAGER_BYTES || size > reader->payload_bytes ||
        uid == 0 || evidence == EVIDENCE_NONE || evidence >= EVIDENCE_END ||
        !get_hash(at, MESSAGE_RESULT, to)) {
        return false;
    }
    to->u.result = (struct message_result){.owner_uid = uid,
                                           .evidence = (enum evidence)evidence,
                                           .data = RESULT_EAGER,
                                           .size = size};
    return wire_take_payload(reader, &to->u.result);
}

/* --- MOTION ----------------------------------------------------------------------- */

enum {
    MOTION_KEY = 0x1a,
    HOLDS = 0x08 | 1 << 8, /* its key, and true */
    AT_WANT = 24,
    WANT_KEY = 0x20,
    AT_NEED = 26,
    NEED_KEY = 0x29,
    AT_LEN = 35,
    LEN_KEY = 0x30,
    LEN_BYTES_MAX = 4,
    LEN_MAX = (1 << 7 * LEN_BYTES_MAX) - 1,
    MOTION_BYTES = AT_LEN + 2 /* if the length is short */
};
static_assert((int)MOTION_BYTES + LEN_BYTES_MAX <= (int)WIRE_FLAT_BYTES_MAX, "it fits");

static bool is_usual_motion(const struct message *message)
{
    const struct message_motion *motion = &message->u.motion;
    return motion->holds && !motion->hint && !motion->final &&
           (motion->want == WANT_DONE || motion->want == WANT_DATA) &&
           motion->need != 0 && motion->len > 0 && motion->len <= LEN_MAX &&
           motion->candidates == NULL && motion->spec == NULL &&
           hash_is_zero(&motion->scope) && motion->priority == 0 && motion->wait == 0;
}

static size_t put_motion(const struct message *message, uint8_t *bytes)
{
    if (!is_usual_motion(message)) {
        return 0;
    }
    const struct message_motion *motion = &message->u.motion;
    size_t size = MOTION_BYTES;
    uint64_t len = motion->len;
    for (; len > VARINT_MAX; len >>= 7) {
        bytes[size++ - 1] = (uint8_t)(len | VARINT_MORE);
    }
    bytes[size - 1] = (uint8_t)len;
    put_head(bytes, message, MOTION_KEY, size);
    bytes[AT_FIELDS] = (uint8_t)HOLDS;
    bytes[AT_FIELDS + 1] = HOLDS >> 8;
    bytes[AT_WANT] = WANT_KEY;
    bytes[AT_WANT + 1] = (uint8_t)motion->want;
    bytes[AT_NEED] = NEED_KEY;
    wire_put_u64(bytes + AT_NEED + 1, motion->need);
    bytes[AT_LEN] = LEN_KEY;
    return size;
}

/* Of so many bytes; 0: it is none. */
static uint64_t get_len(const uint8_t *at, size_t size)
{
    uint64_t len = 0;
    for (size_t i = 0; i < size; i++) {
        const bool goes_on = at[i] > VARINT_MAX;
        if (goes_on != (i + 1 < size)) {
            return 0;
        }
        len |= (uint64_t)(at[i] & VARINT_MAX) << 7 * i;
    }
    return at[size - 1] != 0 ? len : 0;
}

static bool get_motion(const struct wire_piece *piece, struct message *to)
{
    const uint8_t *at = piece->bytes;
    if (piece->size < MOTION_BYTES || piece->size >= MOTION_BYTES + LEN_BYTES_MAX ||
        (head_differs(piece, MESSAGE_MOTION, MOTION_KEY) |
         (at[AT_FIELDS] ^ (HOLDS & 0xff)) | (at[AT_FIELDS + 1] ^ HOLDS >> 8) |
         (at[AT_WANT] ^ WANT_KEY) | (at[AT_NEED] ^ NEED_KEY) |
         (at[AT_LEN] ^ LEN_KEY)) != 0) {
        return false;
    }
    const uint8_t want = at[AT_WANT + 1];
    const uint64_t need = wire_get_u64(at + AT_NEED + 1);
    const uint64_t len = get_len(at + AT_LEN + 1, piece->size - AT_LEN - 1);
    if ((want != WANT_DONE && want != WANT_DATA) || need == 0 || len == 0 ||
        !get_hash(at, MESSAGE_MOTION, to)) {
        return false;
    }
    to->u.motion = (struct message_motion){
        .holds = true, .want = (enum want)want, .need = need, .len = len};
    return true;
}

/* --- DECISION --------------------------------------------------------------------- */

enum {
    DECISION_KEY = 0x22,
    VOTE_KEY = 0x08, /* evidence, in a decision */
    DECISION_BYTES = AT_FIELDS + 2
};
static_assert((int)DECISION_BYTES <= (int)WIRE_FLAT_BYTES_MAX, "it fits");

/* Nobody but the owner has asked. */
static bool is_usual_decision(const struct message *message)
{
    const struct message_decision *decision = &message->u.decision;
    return decision->asker_count == 0 && decision->evidence > EVIDENCE_NONE &&
           decision->evidence < EVIDENCE_END && decision->cancelled_by == 0 &&
           decision->priority == 0 && !decision->seen && !decision->alone;
}

static size_t put_decision(const struct message *message, uint8_t *bytes)
{
    if (!is_usual_decision(message)) {
        return 0;
    }
    put_head(bytes, message, DECISION_KEY, DECISION_BYTES);
    bytes[AT_FIELDS] = VOTE_KEY;
    bytes[AT_FIELDS + 1] = (uint8_t)message->u.decision.evidence;
    return DECISION_BYTES;
}

static bool get_decision(const struct wire_piece *piece, struct message *to)
{
    const uint8_t *at = piece->bytes;
    if (piece->size != DECISION_BYTES ||
        (head_differs(piece, MESSAGE_DECISION, DECISION_KEY) |
         (at[AT_FIELDS] ^ VOTE_KEY)) != 0) {
        return false;
    }
    const uint8_t evidence = at[AT_FIELDS + 1];
    if (evidence == EVIDENCE_NONE || evidence >= EVIDENCE_END ||
        !get_hash(at, MESSAGE_DECISION, to)) {
        return false;
    }
    to->u.decision = (struct message_decision){.evidence = (enum evidence)evidence};
    return true;
}

/* --- Any of them ------------------------------------------------------------------ */

size_t wire_usual_put(const struct message *message, uint8_t *bytes)
{
    if (hash_is_zero(&message->hash) || message->cut != 0) {
        return 0;
    }
    return message->type == MESSAGE_RESULT     ? put_result(message, bytes)
           : message->type == MESSAGE_MOTION   ? put_motion(message, bytes)
           : message->type == MESSAGE_DECISION ? put_decision(message, bytes)
                                               : 0;
}

bool wire_usual_get(struct reader *reader, const struct wire_piece *piece,
                    struct message *to)
{
    if (piece->size < DECISION_BYTES) {
        return false;
    }
    const uint8_t type = piece->bytes[AT_TYPE];
    return type == MESSAGE_RESULT     ? get_result(reader, piece, to)
           : type == MESSAGE_MOTION   ? get_motion(piece, to)
           : type == MESSAGE_DECISION ? get_decision(piece, to)
                                      : false;
}
