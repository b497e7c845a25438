/* wire_frames.h - frames under test: made from samples or by hand, and decoded.
 *
 * Frames stand in buffers of exactly their size, so that AddressSanitizer sees the
 * first byte that is read beyond them.
 */
#ifndef TESTS_UNIT_WIRE_FRAMES_H
#define TESTS_UNIT_WIRE_FRAMES_H

#include "tests/unit/wire_samples.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { AT_VERSION = 4, AT_BODY_BYTES = 8, AT_PAYLOAD_BYTES = 12 };

static const struct wire_envelope some_envelope = {.src_uid = 11, .dst_uid = 12};

struct bytes {
    void *at;
    size_t size;
};

static struct bytes finish(struct wire_writer *writer)
{
    struct bytes frame;
    assert_int_equal(wire_writer_finish(writer, &some_envelope, &frame.at, &frame.size),
                     MOOT_OK);
    return frame;
}

/* All types in one frame. */
static inline struct bytes frame_at(enum level level)
{
    struct wire_writer *writer = wire_writer_new();
    struct message message;
    for (int type = MESSAGE_NONE + 1; type < MESSAGE_TYPE_END; type++) {
        sample_message((enum message_type)type, level, &message);
        assert_int_equal(wire_writer_add(writer, &message), MOOT_OK);
    }
    struct bytes frame = finish(writer);
    wire_writer_free(writer);
    return frame;
}

static inline int decode(const void *bytes, size_t size)
{
    struct wire_frame frame;
    const char *why = NULL;
    int code = wire_frame_decode(bytes, size, &frame, &why);
    if (code == MOOT_OK) {
        wire_frame_release(&frame);
    } else {
        assert_true(why != NULL && why[0] != '\0');
    }
    return code;
}

/* Adds until the frame is full; checks that the refusal changed nothing. */
static inline struct bytes fill(const struct message *message, size_t *count)
{
    struct wire_writer *writer = wire_writer_new();
    int code = MOOT_OK;
    size_t size = 0;
    for (*count = 0; code == MOOT_OK; *count += code == MOOT_OK) {
        size = wire_writer_size(writer);
        code = wire_writer_add(writer, message);
    }
    assert_int_equal(code, MOOT_ERR_LIMIT);
    assert_int_equal(wire_writer_count(writer), *count);
    assert_int_equal(wire_writer_size(writer), size);
    struct bytes frame = finish(writer);
    assert_int_equal(frame.size, size);
    assert_int_equal(wire_writer_add(writer, message), MOOT_OK);
    wire_writer_free(writer);
    return frame;
}

static inline void set_u32(void *frame, size_t at, size_t value)
{
    for (size_t i = 0; i < 4; i++) {
        ((unsigned char *)frame)[at + i] = (unsigned char)(value >> (8 * i));
    }
}

/* A frame around a body written by hand.  The caller frees. */
static inline struct bytes frame_of(const unsigned char *body, size_t size)
{
    struct bytes frame = {.at = calloc(1, WIRE_ENVELOPE_BYTES + size),
                          .size = WIRE_ENVELOPE_BYTES + size};
    assert_non_null(frame.at);
    memcpy(frame.at, "MOOT", 4);
    ((unsigned char *)frame.at)[4] = WIRE_VERSION;
    set_u32(frame.at, AT_BODY_BYTES, size);
    if (size > 0) {
        memcpy((unsigned char *)frame.at + WIRE_ENVELOPE_BYTES, body, size);
    }
    return frame;
}

static int setup(void **state)
{
    (void)state;
    if (!hashing_init()) {
        return -1;
    }
    samples_init();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    samples_free();
    return 0;
}

#endif
