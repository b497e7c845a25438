/* wire_walk.c - the shape of a frame's body, before protobuf-c sees it.
 *
 * protobuf-c is generous: it keeps unknown fields, merges fields that come twice, takes
 * numbers that do not fit, and allocates as it reads.  So each message is walked first,
 * along the descriptors that protoc-c made from moot.proto, without memory, and must be
 * as our own encoder writes it: known fields of the right kind, at most once each,
 * lists packed, lengths inside their message, numbers inside their type, messages
 * inside messages no deeper than moot.proto nests them.  What passes costs protobuf-c a
 * bounded multiple of its size, and nothing that it must merge or drop.
 */
#include "hashing/base/hot.h"
#include "proto/wire_private.h"

enum {
    WALK_DEPTH_MAX = 3, /* Message, its body, and a Spec or Side in that */
    WALK_FIELDS_MAX = 64,
    WALK_VARINT_BYTES_MAX = 10,
    WALK_REPEATS_MAX = 4, /* of a message in a message */

    KIND_VARINT = 0,
    KIND_FIXED64 = 1,
    KIND_BYTES = 2
};
static_assert(WALK_REPEATS_MAX == LIMIT_SIDES, "the one repeated message");

struct cursor {
    const uint8_t *at, *end;
    const char *why; /* NULL: all is well */
};

static bool fail(struct cursor *cursor, const char *why)
{
    cursor->why = why;
    return false;
}

HOT static bool take_varint(struct cursor *cursor, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < WALK_VARINT_BYTES_MAX; i++) {
        if (cursor->at == cursor->end) {
            return fail(cursor, "body: a number is cut off");
        }
        uint8_t byte = *cursor->at++;
        if (i == WALK_VARINT_BYTES_MAX - 1 && byte > 1) {
            break;
        }
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return fail(cursor, "body: a number has more than 64 bits");
}

/* Splits the next length-delimited piece off the cursor. */
static bool take_piece(struct cursor *cursor, struct cursor *piece)
{
    uint64_t size;
    if (!take_varint(cursor, &size)) {
        return false;
    }
    if (size > (uint64_t)(cursor->end - cursor->at)) {
        return fail(cursor, "body: a length goes beyond its message");
    }
    *piece = (struct cursor){.at = cursor->at, .end = cursor->at + size};
    cursor->at += size;
    return true;
}

/* What moot.proto uses: another type must be added here before it is used there. */
static bool kind_of(ProtobufCType type, uint64_t *kind, uint64_t *value_max)
{
    *value_max = UINT64_MAX;
    if (type == PROTOBUF_C_TYPE_BYTES || type == PROTOBUF_C_TYPE_MESSAGE) {
        *kind = KIND_BYTES;
    } else if (type == PROTOBUF_C_TYPE_FIXED64) {
        *kind = KIND_FIXED64;
    } else {
        *kind = KIND_VARINT;
        if (type == PROTOBUF_C_TYPE_UINT32 || type == PROTOBUF_C_TYPE_SINT32) {
            *value_max = UINT32_MAX;
        } else if (type == PROTOBUF_C_TYPE_ENUM) {
            *value_max = INT32_MAX;
        } else if (type == PROTOBUF_C_TYPE_BOOL) {
            *value_max = 1;
        } else {
            return type == PROTOBUF_C_TYPE_UINT64;
        }
    }
    return true;
}

static bool walk_scalar(struct cursor *cursor, uint64_t kind, uint64_t value_max)
{
    uint64_t value;
    if (kind == KIND_FIXED64) {
        if (cursor->end - cursor->at < 8) {
            return fail(cursor, "body: a number is cut off");
        }
        cursor->at += 8;
        return true;
    }
    if (!take_varint(cursor, &value)) {
        return false;
    }
    return value <= value_max || fail(cursor, "body: a number does not fit its field");
}

/* A packed list. */
static bool walk_list(struct cursor *cursor, uint64_t kind, uint64_t value_max)
{
    struct cursor list;
    if (!take_piece(cursor, &list)) {
        return false;
    }
    while (list.at < list.end) {
        if (!walk_scalar(&list, kind, value_max)) {
            return fail(cursor, list.why);
        }
    }
    return true;
}

static bool walk_message(struct cursor *cursor,
                         const ProtobufCMessageDescriptor *descriptor, unsigned depth);

static bool walk_value(struct cursor *cursor, const ProtobufCFieldDescriptor *field,
                       uint64_t kind_given, unsigned depth)
{
    uint64_t kind, value_max;
    bool list = field->label == PROTOBUF_C_LABEL_REPEATED;
    struct cursor piece;

    if (!kind_of(field->type, &kind, &value_max)) {
        return fail(cursor, "body: a field of a type that is not in use");
    }
    if (list && kind != KIND_BYTES) {
        return kind_given == KIND_BYTES ? walk_list(cursor, kind, value_max)
                                        : fail(cursor, "body: a list is not packed");
    }
    if (kind_given != kind) {
        return fail(cursor, "body: a field is of the wrong kind");
    }
    if (kind != KIND_BYTES) {
        return walk_scalar(cursor, kind, value_max);
    }
    if (!take_piece(cursor, &piece)) {
        return false;
    }
    if (field->type == PROTOBUF_C_TYPE_MESSAGE &&
        !walk_message(&piece, field->descriptor, depth + 1)) {
        return fail(cursor, piece.why);
    }
    return true;
}

/* Notes that the field was met; false if it may not come again. */
static bool note_field(const ProtobufCMessageDescriptor *descriptor,
                       const ProtobufCFieldDescriptor *field, uint64_t *seen,
                       unsigned *repeats, bool *body_seen)
{
    uint64_t bit = UINT64_C(1) << (field - descriptor->fields);
    if (field->label == PROTOBUF_C_LABEL_REPEATED &&
        field->type == PROTOBUF_C_TYPE_MESSAGE) {
        return ++*repeats <= WALK_REPEATS_MAX;
    }
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        if (*body_seen) {
            return false;
        }
        *body_seen = true;
    }
    if ((*seen & bit) != 0) {
        return false;
    }
    *seen |= bit;
    return true;
}

HOT static bool walk_message(struct cursor *cursor,
                             const ProtobufCMessageDescriptor *descriptor,
                             unsigned depth)
{
    uint64_t seen = 0;
    unsigned repeats = 0;
    bool body_seen = false;

    if (depth > WALK_DEPTH_MAX) {
        return fail(cursor, "body: messages are nested too deep");
    }
    if (descriptor->n_fields > WALK_FIELDS_MAX) {
        return fail(cursor, "body: a message has too many fields");
    }
    while (cursor->at < cursor->end) {
        uint64_t key;
        if (!take_varint(cursor, &key)) {
            return false;
        }
        const ProtobufCFieldDescriptor *field =
            key >> 3 <= INT32_MAX ? protobuf_c_message_descriptor_get_field(
                                        descriptor, (unsigned)(key >> 3))
                                  : NULL;
        if (field == NULL) {
            return fail(cursor, "body: an unknown field");
        }
        if (!note_field(descriptor, field, &seen, &repeats, &body_seen)) {
            return fail(cursor, "body: a field comes too often");
        }
        if (!walk_value(cursor, field, key & 7, depth)) {
            return false;
        }
    }
    return true;
}

HOT bool wire_piece_next(const uint8_t **body, size_t *size, struct wire_piece *piece,
                         const char **why)
{
    struct cursor cursor = {.at = *body, .end = *body + *size};
    struct cursor message;
    if (*size == 0) {
        return false;
    }
    if (*size >= 2 && cursor.at[0] == WIRE_MESSAGE_KEY && cursor.at[1] < 0x80 &&
        cursor.at[1] <= *size - 2) { /* most of them */
        *piece = (struct wire_piece){cursor.at + 2, cursor.at[1]};
        *body += 2 + piece->size;
        *size -= 2 + piece->size;
        return true;
    }
    if (*cursor.at++ != WIRE_MESSAGE_KEY) {
        *why = "body: something that is no message";
        return false;
    }
    if (!take_piece(&cursor, &message)) {
        *why = cursor.why;
        return false;
    }
    piece->bytes = message.at;
    piece->size = (size_t)(message.end - message.at);
    *body = cursor.at;
    *size = (size_t)(cursor.end - cursor.at);
    return true;
}

const char *wire_piece_walk(const struct wire_piece *piece)
{
    struct cursor cursor = {.at = piece->bytes, .end = piece->bytes + piece->size};
    walk_message(&cursor, &moot__message__descriptor, 1);
    return cursor.why;
}
