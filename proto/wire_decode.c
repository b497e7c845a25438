/* wire_decode.c - received bytes to a frame of messages (wire.h).
 *
 * The stages and what each of them makes sure of stand in wire_private.h.  Messages are
 * taken through them one by one; the first that fails takes the frame with it.
 */
#include "proto/wire_private.h"

#include "hashing/base/hot.h"
#include "proto/moot_error.h"

#include <string.h>

enum {
    /* No frame within the limits unfolds to more: the worst are places of elements, 2
     * bytes each on the wire and 40 in the arena. */
    ARENA_BYTES_MAX = 24 * LIMIT_FRAME_BYTES,
    /* What a message that is not flat takes besides its bytes: protobuf-c's structs and
     * the arena's rounding.  A guess, for the first block. */
    ARENA_MESSAGE_BYTES = 384,
    ARENA_SLACK_BYTES = 64,                  /* for rounding */
    PIECE_BYTES_MIN = 2,                     /* a key and a type */
    MESSAGE_BYTES_MIN = PIECE_BYTES_MIN + 2, /* and before them a key and a size */
    SHORT_BODY_BYTES = 512
};
static_assert(SHORT_BODY_BYTES / MESSAGE_BYTES_MIN <= LIMIT_FRAME_MESSAGES,
              "a short body has no more");

static int read_envelope(const uint8_t *bytes, size_t size,
                         struct wire_envelope *envelope, size_t *body_bytes,
                         const char **why)
{
    if (size < WIRE_ENVELOPE_BYTES || memcmp(bytes, WIRE_MAGIC, 4) != 0) {
        *why = "envelope: this is no frame";
        return MOOT_ERR_INVALID;
    }
    if (bytes[ENVELOPE_VERSION] != WIRE_VERSION) {
        *why = "envelope: another version of the protocol";
        return MOOT_ERR_PROTOCOL;
    }
    if (size > LIMIT_FRAME_BYTES) {
        *why = "envelope: the frame is too large";
        return MOOT_ERR_LIMIT;
    }
    uint64_t body = wire_get_u32(bytes + ENVELOPE_BODY_BYTES);
    uint64_t payload = wire_get_u32(bytes + ENVELOPE_PAYLOAD_BYTES);
    if (WIRE_ENVELOPE_BYTES + body + payload != size) {
        *why = "envelope: the lengths are not what was received";
        return MOOT_ERR_INVALID;
    }
    if (bytes[ENVELOPE_FLAGS] != 0 || bytes[ENVELOPE_RESERVED] != 0 ||
        bytes[ENVELOPE_RESERVED + 1] != 0) {
        *why = "envelope: flags that this version does not have";
        return MOOT_ERR_INVALID;
    }
    *body_bytes = (size_t)body;
    envelope->src_uid = wire_get_u64(bytes + ENVELOPE_SRC_UID);
    envelope->dst_uid = wire_get_u64(bytes + ENVELOPE_DST_UID);
    envelope->epoch = wire_get_u64(bytes + ENVELOPE_EPOCH);
    envelope->view_id = wire_get_u64(bytes + ENVELOPE_VIEW_ID);
    envelope->link_sequence = wire_get_u64(bytes + ENVELOPE_LINK_SEQUENCE);
    envelope->link_ack = wire_get_u64(bytes + ENVELOPE_LINK_ACK);
    return MOOT_OK;
}

/* How many messages a long body has, and what they will probably take. */
static int count_messages(const uint8_t *body, size_t size, size_t *count,
                          size_t *usual_bytes, const char **why)
{
    struct wire_piece piece;
    *why = NULL;
    *count = 0;
    *usual_bytes = 0;
    while (wire_piece_next(&body, &size, &piece, why)) {
        if (++*count > LIMIT_FRAME_MESSAGES) {
            *why = "body: too many messages";
            return MOOT_ERR_LIMIT;
        }
        *usual_bytes += sizeof(struct message);
        if (!wire_flat_likely(&piece)) {
            *usual_bytes += ARENA_MESSAGE_BYTES + 2 * piece.size;
        }
    }
    return *why == NULL ? MOOT_OK : MOOT_ERR_INVALID;
}

static void *arena_alloc_for_protobuf(void *arena, size_t size)
{
    return arena_take(arena, size);
}

static void arena_free_for_protobuf(void *arena, void *bytes)
{
    (void)arena; /* everything goes at once */
    (void)bytes;
}

bool wire_piece_read(struct reader *reader, const struct wire_piece *piece,
                     struct message *to)
{
    ProtobufCAllocator allocator = {.alloc = arena_alloc_for_protobuf,
                                    .free = arena_free_for_protobuf,
                                    .allocator_data = &reader->arena};
    reader->why = wire_piece_walk(piece);
    if (reader->why != NULL) {
        return false;
    }
    Moot__Message *from = moot__message__unpack(&allocator, piece->size, piece->bytes);
    if (from == NULL) {
        if (reader->arena.error == MOOT_OK) {
            reader->why = "body: protobuf-c refuses it";
        }
        return false;
    }
    return wire_read_message(reader, from, to);
}

static bool read_piece(struct reader *reader, const struct wire_piece *piece,
                       struct message *to)
{
    if (wire_usual_get(reader, piece, to)) {
        return true;
    }
    memset(&to->hash, 0, sizeof(to->hash));
    memset(&to->u, 0, sizeof(to->u));
    if (!wire_flat_get(reader, piece, to) && !wire_parts_get(reader, piece, to) &&
        !wire_piece_read(reader, piece, to)) {
        return false;
    }
    reader->why = message_check(to);
    return reader->why == NULL;
}

static int no_frame(const struct reader *reader, const char **why)
{
    *why = reader->why != NULL                         ? reader->why
           : reader->arena.error == MOOT_ERR_NO_MEMORY ? "no memory to decode it"
                                                       : "unfolds beyond the limit";
    return reader->why != NULL ? MOOT_ERR_INVALID : reader->arena.error;
}

/* There is room for as many as the body can have. */
static bool read_messages(struct reader *reader, const uint8_t *body, size_t size,
                          struct wire_frame *frame)
{
    struct wire_piece piece;
    frame->count = 0;
    while (wire_piece_next(&body, &size, &piece, &reader->why)) {
        if (frame->messages == NULL || piece.size < PIECE_BYTES_MIN) {
            /* make_room() counts on it */
            reader->why = "no such message type";
            return false;
        }
        struct message *message = &frame->messages[frame->count++];
        message->epoch = frame->envelope.epoch;
        message->view_id = frame->envelope.view_id;
        message->cut = 0;
        if (!read_piece(reader, &piece, message)) {
            return false;
        }
    }
    if (reader->why == NULL && reader->payload_bytes > 0) {
        reader->why = "envelope: payload that belongs to no result";
    }
    return reader->why == NULL;
}

/* Makes room for the messages.  A short body is not worth looking at twice. */
static int make_room(struct reader *reader, const uint8_t *body, size_t size,
                     struct wire_frame *frame, const char **why)
{
    size_t count = size / MESSAGE_BYTES_MIN,
           usual_bytes = count * sizeof(struct message);
    int code = MOOT_OK;
    if (size > SHORT_BODY_BYTES) {
        code = count_messages(body, size, &count, &usual_bytes, why);
    }
    if (code != MOOT_OK || count == 0) {
        return code;
    }
    if (arena_reserve(&reader->arena, usual_bytes + ARENA_SLACK_BYTES)) {
        frame->messages = arena_take(&reader->arena, count * sizeof(struct message));
    }
    return frame->messages != NULL ? MOOT_OK : no_frame(reader, why);
}

/* Into the reader's arena, which stays its own. */
static int decode(struct reader *reader, const void *bytes, size_t size,
                  struct wire_frame *frame, const char **why)
{
    size_t body_bytes;
    int code = read_envelope(bytes, size, &frame->envelope, &body_bytes, why);
    if (code != MOOT_OK) {
        return code;
    }
    const uint8_t *body = (const uint8_t *)bytes + WIRE_ENVELOPE_BYTES;
    code = make_room(reader, body, body_bytes, frame, why);
    if (code != MOOT_OK) {
        return code;
    }
    reader->payload = body + body_bytes;
    reader->payload_bytes = size - WIRE_ENVELOPE_BYTES - body_bytes;
    return read_messages(reader, body, body_bytes, frame) ? MOOT_OK
                                                          : no_frame(reader, why);
}

HOT int wire_frame_decode_again(const void *bytes, size_t size,
                                struct wire_frame *frame, const char **why)
{
    struct reader reader = {.arena = {.held_max = ARENA_BYTES_MAX}};
    struct wire_frame next = {.messages = NULL};
    arena_reuse(&reader.arena, frame->arena);
    int code = decode(&reader, bytes, size, &next, why);
    if (code != MOOT_OK) {
        next = (struct wire_frame){.messages = NULL};
    }
    next.arena = reader.arena.blocks;
    *frame = next;
    return code;
}

int wire_frame_decode(const void *bytes, size_t size, struct wire_frame *out,
                      const char **why)
{
    struct wire_frame frame = {.messages = NULL};
    int code = wire_frame_decode_again(bytes, size, &frame, why);
    if (code == MOOT_OK) {
        *out = frame;
    } else {
        wire_frame_release(&frame);
    }
    return code;
}

void wire_frame_release(struct wire_frame *frame)
{
    arena_free(frame->arena);
    *frame = (struct wire_frame){.messages = NULL};
}
