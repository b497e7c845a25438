/* frame_fuzz.c - no bytes harm who decodes them, and what decodes can be said again.
 *
 * Each input is decoded twice: as it is, and with an envelope that fits it, since few
 * mutations would get past the envelope's lengths.  What decodes must pass the writer,
 * come back as the same messages, and be written as the same bytes a second time.  The
 * input's rest is also taken as one message: if the short cut of wire_flat.c takes it,
 * the general way must give the same, and the short cut write the same bytes.
 */
#include "tests/unit/wire_same.h"

#include "proto/limits.h"
#include "proto/moot_error.h"
#include "proto/wire_private.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { AT_BODY_BYTES = 8, AT_PAYLOAD_BYTES = 12 };

struct bytes {
    void *at;
    size_t size;
};

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

static struct bytes write_again(const struct wire_frame *frame)
{
    struct wire_writer *writer = wire_writer_new();
    struct bytes bytes;
    for (size_t i = 0; i < frame->count; i++) {
        require(wire_writer_add(writer, &frame->messages[i]) == MOOT_OK);
    }
    require(wire_writer_finish(writer, &frame->envelope, &bytes.at, &bytes.size) ==
            MOOT_OK);
    wire_writer_free(writer);
    return bytes;
}

static void check(const void *bytes, size_t size)
{
    struct wire_frame first, second;
    const char *why = NULL;
    if (wire_frame_decode(bytes, size, &first, &why) != MOOT_OK) {
        require(why != NULL);
        return;
    }
    struct bytes once = write_again(&first);
    require(wire_frame_decode(once.at, once.size, &second, &why) == MOOT_OK);
    require(first.count == second.count);
    for (size_t i = 0; i < first.count; i++) {
        require(message_same(&first.messages[i], &second.messages[i]));
    }
    struct bytes twice = write_again(&second);
    require(once.size == twice.size && memcmp(once.at, twice.at, once.size) == 0);
    free(once.at);
    free(twice.at);
    wire_frame_release(&first);
    wire_frame_release(&second);
}

static void check_flat(const unsigned char *data, size_t size)
{
    const unsigned char payload[LIMIT_EAGER_BYTES] = {0};
    const struct wire_piece piece = {data, size};
    struct reader flat = {.payload = payload, .payload_bytes = sizeof(payload)};
    struct reader general = flat;
    struct message by_flat = {.type = MESSAGE_NONE}, by_general = by_flat;
    uint8_t bytes[WIRE_FLAT_BYTES_MAX];
    general.arena.held_max = LIMIT_FRAME_BYTES;
    if (!wire_flat_get(&flat, &piece, &by_flat)) {
        return;
    }
    require(wire_piece_read(&general, &piece, &by_general));
    require(message_same(&by_flat, &by_general));
    require(flat.payload_bytes == general.payload_bytes);
    if (message_check(&by_flat) == NULL) {
        require(wire_flat_put(&by_flat, bytes) == size &&
                memcmp(bytes, data, size) == 0);
    }
    arena_free(general.arena.blocks);
}

static void check_parts(const unsigned char *data, size_t size)
{
    const struct wire_piece piece = {data, size};
    struct reader shorter = {.arena = {.held_max = LIMIT_FRAME_BYTES}};
    struct reader general = shorter;
    struct message by_short = {.type = MESSAGE_NONE}, by_general = by_short;
    if (wire_parts_get(&shorter, &piece, &by_short)) {
        require(wire_piece_read(&general, &piece, &by_general));
        require(message_same(&by_short, &by_general));
    }
    arena_free(shorter.arena.blocks);
    arena_free(general.arena.blocks);
}

static void set_u32(unsigned char *at, size_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    check(data, size);
    if (size < WIRE_ENVELOPE_BYTES) {
        return 0;
    }
    unsigned char *fitting = malloc(size);
    size_t rest = size - WIRE_ENVELOPE_BYTES;
    size_t payload = data[AT_PAYLOAD_BYTES] + ((size_t)data[AT_PAYLOAD_BYTES + 1] << 8);
    payload = payload < rest ? payload : rest;
    memcpy(fitting, data, size);
    memcpy(fitting, "MOOT\0\0\0\0", 8);
    fitting[4] = WIRE_VERSION;
    set_u32(fitting + AT_BODY_BYTES, rest - payload);
    set_u32(fitting + AT_PAYLOAD_BYTES, payload);
    check(fitting, size);
    free(fitting);
    for (size_t skip = 0; skip < 4 && skip < rest; skip++) {
        check_flat(data + WIRE_ENVELOPE_BYTES + skip, rest - skip);
        check_parts(data + WIRE_ENVELOPE_BYTES + skip, rest - skip);
    }
    return 0;
}
