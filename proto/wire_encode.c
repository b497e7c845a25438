/* wire_encode.c - collecting messages into a frame (wire.h, moot.proto).
 *
 * A writer keeps three buffers from frame to frame: the body so far, the payloads so
 * far, and scratch for what protobuf-c wants to see in arrays of its own.  Adding a
 * message to a warm writer allocates nothing.  A message of plain numbers is written by
 * wire_usual.c or wire_flat.c; protobuf-c packs any other straight behind the body, and
 * since the body of a Frame is its messages back to back, nothing is packed twice.  The
 * same messages give the same bytes.
 */
#include "proto/wire_private.h"

#include "hashing/base/hot.h"
#include "hashing/identity.h"
#include "proto/moot_error.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_BYTES_MIN = 1024,
    BUFFER_KEPT_BYTES_MAX = 64 << 10, /* a larger one is not kept between frames */
    VARINT32_BYTES_MAX = 5
};

struct buffer {
    uint8_t *bytes;
    size_t size, capacity;
};

struct wire_writer {
    struct buffer body, payload, scratch;
    size_t count;
    uint64_t epoch, view_id; /* of its messages, if it has any */
};

/* --- Buffers ---------------------------------------------------------------------- */

static bool buffer_reserve(struct buffer *buffer, size_t more)
{
    size_t needed = buffer->size + more;
    size_t capacity = buffer->capacity * 2;
    if (needed <= buffer->capacity) {
        return true;
    }
    if (capacity < BUFFER_BYTES_MIN) {
        capacity = BUFFER_BYTES_MIN;
    }
    if (capacity < needed) {
        capacity = needed;
    }
    uint8_t *bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) {
        return false;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

static void buffer_release(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

static void buffer_empty(struct buffer *buffer)
{
    buffer->size = 0;
    if (buffer->capacity > BUFFER_KEPT_BYTES_MAX) {
        buffer_release(buffer);
    }
}

/* --- The writer ------------------------------------------------------------------- */

struct wire_writer *wire_writer_new(void)
{
    return calloc(1, sizeof(struct wire_writer));
}

void wire_writer_free(struct wire_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    buffer_release(&writer->body);
    buffer_release(&writer->payload);
    buffer_release(&writer->scratch);
    free(writer);
}

size_t wire_writer_count(const struct wire_writer *writer) { return writer->count; }

size_t wire_writer_size(const struct wire_writer *writer)
{
    return WIRE_ENVELOPE_BYTES + writer->body.size + writer->payload.size;
}

/* Returns how many bytes it wrote, at most VARINT32_BYTES_MAX. */
static size_t put_varint32(uint8_t *at, uint32_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
        at[size++] = (uint8_t)(value | 0x80);
    }
    at[size++] = (uint8_t)value;
    return size;
}

/* The bytes that go behind the body. */
static size_t payload_bytes(const struct message *message)
{
    bool eager =
        message->type == MESSAGE_RESULT && message->u.result.data == RESULT_EAGER;
    return eager ? (size_t)message->u.result.size : 0;
}

static bool same_view(const struct wire_writer *writer, uint64_t epoch,
                      uint64_t view_id)
{
    return writer->count == 0 || (writer->epoch == epoch && writer->view_id == view_id);
}

/* Makes room for a message of `size` bytes and its payload, and writes what stands in
 * front of it. */
HOT static int begin_message(struct wire_writer *writer, size_t size, size_t payload)
{
    uint8_t prefix[1 + VARINT32_BYTES_MAX] = {WIRE_MESSAGE_KEY};
    if (size + payload > LIMIT_FRAME_BYTES - WIRE_ENVELOPE_BYTES - sizeof(prefix)) {
        return MOOT_ERR_INVALID;
    }
    size_t prefix_size = 1 + put_varint32(prefix + 1, (uint32_t)size);
    if (writer->count == LIMIT_FRAME_MESSAGES ||
        wire_writer_size(writer) + prefix_size + size + payload > LIMIT_FRAME_BYTES) {
        return MOOT_ERR_LIMIT;
    }
    if (!buffer_reserve(&writer->body, prefix_size + size) ||
        !buffer_reserve(&writer->payload, payload)) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(writer->body.bytes + writer->body.size, prefix, prefix_size);
    writer->body.size += prefix_size;
    return MOOT_OK;
}

/* By protobuf-c. */
static int add_packed(struct wire_writer *writer, const struct message *message)
{
    struct encoder encoder;
    if (!buffer_reserve(&writer->scratch, wire_write_scratch_bytes(message))) {
        return MOOT_ERR_NO_MEMORY;
    }
    encoder.scratch = writer->scratch.bytes;
    wire_write_message(&encoder, message);
    size_t size = moot__message__get_packed_size(&encoder.message);
    int code = begin_message(writer, size, payload_bytes(message));
    if (code == MOOT_OK) {
        moot__message__pack(&encoder.message, writer->body.bytes + writer->body.size);
        writer->body.size += size;
    }
    return code;
}

static int add_parts(struct wire_writer *writer, const struct message *message)
{
    struct wire_parts_sizes sizes;
    const size_t size = wire_parts_size(message, &sizes);
    int code = begin_message(writer, size, 0);
    if (code == MOOT_OK) {
        wire_parts_put(message, &sizes, writer->body.bytes + writer->body.size);
        writer->body.size += size;
    }
    return code;
}

static int add_flat(struct wire_writer *writer, const uint8_t *bytes, size_t size,
                    size_t payload)
{
    int code = begin_message(writer, size, payload);
    if (code == MOOT_OK) {
        memcpy(writer->body.bytes + writer->body.size, bytes, size);
        writer->body.size += size;
    }
    return code;
}

HOT int wire_writer_add(struct wire_writer *writer, const struct message *message)
{
    uint8_t flat[WIRE_FLAT_BYTES_MAX];
    size_t flat_size = wire_usual_put(message, flat);
    if ((flat_size == 0 && message_check(message) != NULL) ||
        !same_view(writer, message->epoch, message->view_id)) {
        return MOOT_ERR_INVALID;
    }
    if (flat_size == 0) {
        flat_size = wire_flat_put(message, flat);
    }
    size_t payload = payload_bytes(message);
    const bool parts = message->type == MESSAGE_PARTS && message->cut == 0 &&
                       message->u.parts.seek == 0 && hash_is_zero(&message->u.parts.of);
    int code = flat_size > 0 ? add_flat(writer, flat, flat_size, payload)
               : parts       ? add_parts(writer, message)
                             : add_packed(writer, message);
    if (code != MOOT_OK) {
        return code;
    }

    if (payload > 0) {
        memcpy(writer->payload.bytes + writer->payload.size, message->u.result.payload,
               payload);
    }
    writer->payload.size += payload;
    writer->epoch = message->epoch;
    writer->view_id = message->view_id;
    writer->count++;
    return MOOT_OK;
}

static void put_envelope(uint8_t *frame, const struct wire_envelope *envelope,
                         const struct wire_writer *writer)
{
    memset(frame, 0, WIRE_ENVELOPE_BYTES);
    memcpy(frame + ENVELOPE_MAGIC, WIRE_MAGIC, 4);
    frame[ENVELOPE_VERSION] = WIRE_VERSION;
    wire_put_u32(frame + ENVELOPE_BODY_BYTES, (uint32_t)writer->body.size);
    wire_put_u32(frame + ENVELOPE_PAYLOAD_BYTES, (uint32_t)writer->payload.size);
    wire_put_u64(frame + ENVELOPE_SRC_UID, envelope->src_uid);
    wire_put_u64(frame + ENVELOPE_DST_UID, envelope->dst_uid);
    wire_put_u64(frame + ENVELOPE_EPOCH, envelope->epoch);
    wire_put_u64(frame + ENVELOPE_VIEW_ID, envelope->view_id);
    wire_put_u64(frame + ENVELOPE_LINK_SEQUENCE, envelope->link_sequence);
    wire_put_u64(frame + ENVELOPE_LINK_ACK, envelope->link_ack);
}

int wire_writer_finish(struct wire_writer *writer, const struct wire_envelope *envelope,
                       void **frame, size_t *size)
{
    if (!same_view(writer, envelope->epoch, envelope->view_id)) {
        return MOOT_ERR_INVALID;
    }
    size_t total = wire_writer_size(writer);
    uint8_t *bytes = malloc(total);
    if (bytes == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    *frame = bytes;
    *size = total;
    return wire_writer_put(writer, envelope, bytes);
}

HOT int wire_writer_put(struct wire_writer *writer,
                        const struct wire_envelope *envelope, void *frame)
{
    if (!same_view(writer, envelope->epoch, envelope->view_id)) {
        return MOOT_ERR_INVALID;
    }
    put_envelope(frame, envelope, writer);
    uint8_t *at = (uint8_t *)frame + WIRE_ENVELOPE_BYTES;
    if (writer->body.size > 0) {
        memcpy(at, writer->body.bytes, writer->body.size);
    }
    if (writer->payload.size > 0) {
        memcpy(at + writer->body.size, writer->payload.bytes, writer->payload.size);
    }

    buffer_empty(&writer->body);
    buffer_empty(&writer->payload);
    buffer_empty(&writer->scratch);
    writer->count = 0;
    return MOOT_OK;
}
