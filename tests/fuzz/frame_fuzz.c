/* frame_fuzz.c - no bytes harm who decodes them, and what decodes can be said again.
 *
 * Each input is decoded twice: as it is, and with an envelope that fits it, since few
 * mutations would get past the envelope's lengths.  What decodes must pass the writer,
 * come back as the same messages, and be written as the same bytes a second time.
 */
#include "tests/unit/wire_same.h"

#include "moot_error.h"
#include "proto/limits.h"
#include "proto/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { AT_BODY_BYTES = 8, AT_PAYLOAD_BYTES = 12 };

struct bytes {
    void *at;
    size_t size;
};

static void require(bool true_or_found)
{
    if (!true_or_found)
        abort();
}

static struct bytes write_again(const struct wire_frame *frame)
{
    struct wire_writer *writer = wire_writer_new();
    struct bytes bytes;
    for (size_t i = 0; i < frame->count; i++)
        require(wire_writer_add(writer, &frame->messages[i]) == MOOT_OK);
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
    for (size_t i = 0; i < first.count; i++)
        require(message_same(&first.messages[i], &second.messages[i]));
    struct bytes twice = write_again(&second);
    require(once.size == twice.size && memcmp(once.at, twice.at, once.size) == 0);
    free(once.at);
    free(twice.at);
    wire_frame_release(&first);
    wire_frame_release(&second);
}

static void set_u32(unsigned char *at, size_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    check(data, size);
    if (size < WIRE_ENVELOPE_BYTES)
        return 0;
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
    return 0;
}
