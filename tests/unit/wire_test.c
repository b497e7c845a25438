/* wire_test.c - frames: what goes in comes out (proto/wire.h).
 *
 * What may not go out is wire_limits_test.c's subject, what else may come in
 * wire_hostile_test.c's.
 */
#include "tests/unit/failing_alloc.h"
#include "tests/unit/wire_frames.h"
#include "tests/unit/wire_same.h"

#include <stdio.h>

/* --- There and back --------------------------------------------------------------- */

static void every_message_comes_back_as_it_was(void **state)
{
    (void)state;
    struct wire_writer *writer = wire_writer_new();
    for (int type = MESSAGE_NONE + 1; type < MESSAGE_TYPE_END; type++) {
        for (int level = LEAST; level < LEVELS; level++) {
            struct message message;
            struct wire_frame frame;
            const char *why = "";
            sample_message((enum message_type)type, (enum level)level, &message);
            if (wire_writer_add(writer, &message) != MOOT_OK) {
                fail_msg("%s, level %d: refused", message_type_name(message.type),
                         level);
            }
            struct bytes bytes = finish(writer);
            if (wire_frame_decode(bytes.at, bytes.size, &frame, &why) != MOOT_OK) {
                fail_msg("%s, level %d: %s", message_type_name(message.type), level,
                         why);
            }
            assert_int_equal(frame.count, 1);
            if (!message_same(&message, &frame.messages[0])) {
                fail_msg("%s, level %d: not the same", message_type_name(message.type),
                         level);
            }
            wire_frame_release(&frame);
            free(bytes.at);
        }
    }
    wire_writer_free(writer);
}

/* The ways for what comes by the thousand have no room for it. */
static void any_message_says_which_cut_its_sender_has_made(void **state)
{
    (void)state;
    const struct message usual[] = {
        {.type = MESSAGE_RESULT,
         .u.result = {.owner_uid = 9, .evidence = EVIDENCE_CLAIM, .data = RESULT_BULK}},
        {.type = MESSAGE_MOTION,
         .u.motion = {.holds = true, .want = WANT_DATA, .need = 3, .len = 4}},
        {.type = MESSAGE_DECISION, .u.decision = {.evidence = EVIDENCE_BLOCKED}},
        {.type = MESSAGE_PULL},
        {.type = MESSAGE_STATE}};
    struct wire_writer *writer = wire_writer_new();
    for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
        struct message message = usual[i];
        struct wire_frame frame;
        const char *why = "";
        message.hash = samples.hashes[0];
        message.cut = 7;
        assert_int_equal(wire_writer_add(writer, &message), MOOT_OK);
        struct bytes bytes = finish(writer);
        assert_int_equal(wire_frame_decode(bytes.at, bytes.size, &frame, &why),
                         MOOT_OK);
        assert_true(message_same(&message, &frame.messages[0]));
        wire_frame_release(&frame);
        free(bytes.at);
    }
    wire_writer_free(writer);
}

static void one_frame_keeps_many_in_order(void **state)
{
    (void)state;
    struct bytes bytes = frame_at(TYPICAL);
    struct wire_frame frame;
    struct message message;
    const char *why;
    assert_int_equal(wire_frame_decode(bytes.at, bytes.size, &frame, &why), MOOT_OK);
    assert_int_equal(frame.count, MESSAGE_TYPE_END - 1);
    for (size_t i = 0; i < frame.count; i++) {
        sample_message((enum message_type)(i + 1), TYPICAL, &message);
        assert_true(message_same(&message, &frame.messages[i]));
    }
    wire_frame_release(&frame);
    assert_null(frame.messages);
    wire_frame_release(&frame); /* of nothing: nothing */
    free(bytes.at);
}

static void eager_payloads_are_borrowed_in_order(void **state)
{
    (void)state;
    enum { RESULTS = 5 };
    struct wire_writer *writer = wire_writer_new();
    struct wire_frame frame;
    const char *why;
    for (size_t i = 0; i < RESULTS; i++) {
        struct message message;
        sample_message(MESSAGE_RESULT, TYPICAL, &message);
        message.u.result.status = MOOT_OK;
        message.u.result.size = i * LIMIT_EAGER_BYTES / (RESULTS - 1);
        message.u.result.payload = i == 0 ? NULL : samples.args + i;
        assert_int_equal(wire_writer_add(writer, &message), MOOT_OK);
    }
    struct bytes bytes = finish(writer);
    assert_int_equal(wire_frame_decode(bytes.at, bytes.size, &frame, &why), MOOT_OK);
    for (size_t i = 0; i < RESULTS; i++) {
        const struct message_result *result = &frame.messages[i].u.result;
        const unsigned char *payload = result->payload;
        assert_memory_equal(payload, samples.args + i, result->size);
        assert_true(payload >= (unsigned char *)bytes.at &&
                    payload + result->size <= (unsigned char *)bytes.at + bytes.size);
    }
    wire_frame_release(&frame);
    free(bytes.at);
    wire_writer_free(writer);
}

static void the_envelope_comes_back_even_alone(void **state)
{
    (void)state;
    const struct wire_envelope envelope = {1, UINT64_MAX, 3, 4, UINT64_C(1) << 63, 6};
    struct wire_writer *writer = wire_writer_new();
    struct bytes bytes;
    struct wire_frame frame;
    const char *why;
    assert_int_equal(wire_writer_size(writer), WIRE_ENVELOPE_BYTES);
    assert_int_equal(wire_writer_finish(writer, &envelope, &bytes.at, &bytes.size),
                     MOOT_OK);
    assert_int_equal(bytes.size, WIRE_ENVELOPE_BYTES);
    assert_int_equal(wire_frame_decode(bytes.at, bytes.size, &frame, &why), MOOT_OK);
    assert_int_equal(frame.count, 0);
    assert_memory_equal(&frame.envelope, &envelope, sizeof(envelope));
    wire_frame_release(&frame);
    free(bytes.at);
    wire_writer_free(writer);
}

static void messages_have_the_epoch_of_their_envelope(void **state)
{
    (void)state;
    struct wire_writer *writer = wire_writer_new();
    struct message message;
    struct wire_envelope envelope = {.epoch = 7, .view_id = 9};
    struct bytes bytes;
    struct wire_frame frame;
    const char *why;
    sample_message(MESSAGE_PULL, TYPICAL, &message);
    message.epoch = 7;
    message.view_id = 9;
    assert_int_equal(wire_writer_add(writer, &message), MOOT_OK);
    message.epoch = 8;
    assert_int_equal(wire_writer_add(writer, &message), MOOT_ERR_INVALID);
    envelope.view_id = 10;
    assert_int_equal(wire_writer_finish(writer, &envelope, &bytes.at, &bytes.size),
                     MOOT_ERR_INVALID);
    envelope.view_id = 9;
    assert_int_equal(wire_writer_finish(writer, &envelope, &bytes.at, &bytes.size),
                     MOOT_OK);
    assert_int_equal(wire_frame_decode(bytes.at, bytes.size, &frame, &why), MOOT_OK);
    assert_int_equal(frame.count, 1);
    assert_int_equal(frame.messages[0].epoch, 7);
    assert_int_equal(frame.messages[0].view_id, 9);
    wire_frame_release(&frame);
    free(bytes.at);
    wire_writer_free(writer);
}

static void the_same_messages_give_the_same_bytes(void **state)
{
    (void)state;
    struct bytes first = frame_at(TYPICAL), second = frame_at(TYPICAL);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.at, second.at, first.size);
    free(first.at);
    free(second.at);
}

/* The seeds of the fuzzer are frames of this WIRE_VERSION, byte for byte: who changes
 * them speaks another version.  MOOT_TEST_WRITE=1 writes them anew. */
static void bytes_on_the_wire_never_change(void **state)
{
    (void)state;
    static const char *const names[] = {"empty", "least", "typical"};
    const char *root = getenv("MOOT_TEST_ROOT");
    for (int i = 0; i < 3; i++) {
        static unsigned char golden[LIMIT_FRAME_BYTES];
        char path[4096];
        struct bytes frame = i == 0 ? frame_of(NULL, 0) : frame_at((enum level)(i - 1));
        snprintf(path, sizeof(path), "%s/tests/fuzz/frame_fuzz.corpus/%s.frame",
                 root != NULL ? root : ".", names[i]);
        bool write = getenv("MOOT_TEST_WRITE") != NULL;
        FILE *file = fopen(path, write ? "wb" : "rb");
        if (file == NULL) {
            fail_msg("cannot open %s", path);
        }
        if (write) {
            fwrite(frame.at, 1, frame.size, file);
        } else if (fread(golden, 1, sizeof(golden), file) != frame.size ||
                   memcmp(golden, frame.at, frame.size) != 0) {
            fail_msg("%s has other bytes", path);
        }
        fclose(file);
        free(frame.at);
    }
}

/* --- Memory ----------------------------------------------------------------------- */

static void a_usual_frame_costs_one_allocation_each_way(void **state)
{
    (void)state;
    struct wire_writer *writer = wire_writer_new();
    for (int round = 0; round < 3; round++) {
        alloc_watch(0);
        for (int type = MESSAGE_NONE + 1; type < MESSAGE_TYPE_END; type++) {
            struct message message;
            sample_message((enum message_type)type, TYPICAL, &message);
            assert_int_equal(wire_writer_add(writer, &message), MOOT_OK);
        }
        struct bytes bytes = finish(writer);
        assert_true(round == 0 || alloc_count.made == 1);
        alloc_watch(0);
        assert_int_equal(decode(bytes.at, bytes.size), MOOT_OK);
        assert_int_equal(alloc_count.made, 1);
        assert_int_equal(alloc_count.held, 0);
        free(bytes.at);
    }
    wire_writer_free(writer);
}

static void a_refused_frame_holds_nothing(void **state)
{
    (void)state;
    struct bytes frame = frame_at(TYPICAL);
    unsigned char *bytes = frame.at;
    int refused = 0;
    for (size_t at = WIRE_ENVELOPE_BYTES; at < frame.size; at++) {
        bytes[at] ^= 0xff;
        alloc_watch(0);
        refused += decode(bytes, frame.size) != MOOT_OK;
        assert_int_equal(alloc_count.held, 0);
        bytes[at] ^= 0xff;
    }
    assert_true(refused > 100);
    free(frame.at);
}

static void a_frame_that_unfolds_far_takes_more_blocks(void **state)
{
    (void)state;
    struct message message;
    size_t count;
    long fail_at = 1;
    int code;
    sample_message(MESSAGE_DECISION, MOST, &message);
    struct bytes frame = fill(&message, &count);
    do {
        alloc_watch(fail_at++);
        code = decode(frame.at, frame.size);
        assert_int_equal(alloc_count.held, 0);
        assert_true(code == MOOT_OK || code == MOOT_ERR_NO_MEMORY);
    } while (code != MOOT_OK);
    assert_true(alloc_count.made > 1);
    alloc_watch(0);
    free(frame.at);
}

/* Every other type at one level through a writer and back: all of them at most are too
 * much for a frame.  The first error, or MOOT_OK. */
static int there_and_back(enum level level, int half)
{
    struct wire_writer *writer = wire_writer_new();
    void *bytes = NULL;
    size_t size = 0;
    int code = writer != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
    for (int type = MESSAGE_NONE + 1 + half; code == MOOT_OK && type < MESSAGE_TYPE_END;
         type += 2) {
        struct message message;
        sample_message((enum message_type)type, level, &message);
        size_t before = wire_writer_size(writer);
        code = wire_writer_add(writer, &message);
        assert_true(code == MOOT_OK || wire_writer_size(writer) == before);
    }
    if (code == MOOT_OK) {
        code = wire_writer_finish(writer, &some_envelope, &bytes, &size);
    }
    if (code == MOOT_OK) {
        code = decode(bytes, size);
    }
    wire_writer_free(writer);
    free(bytes);
    return code;
}

static void a_failing_allocation_leaves_nothing_held(void **state)
{
    (void)state;
    for (int which = 0; which < 2 * LEVELS; which++) {
        long fail_at = 1;
        int code;
        do {
            alloc_watch(fail_at++);
            code = there_and_back((enum level)(which / 2), which % 2);
            assert_int_equal(alloc_count.held, 0);
            assert_true(code == MOOT_OK || code == MOOT_ERR_NO_MEMORY);
        } while (code != MOOT_OK);
        assert_true(fail_at > 4); /* writer, body, frame, arena */
    }
    alloc_watch(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_comes_back_as_it_was),
        cmocka_unit_test(any_message_says_which_cut_its_sender_has_made),
        cmocka_unit_test(one_frame_keeps_many_in_order),
        cmocka_unit_test(eager_payloads_are_borrowed_in_order),
        cmocka_unit_test(the_envelope_comes_back_even_alone),
        cmocka_unit_test(messages_have_the_epoch_of_their_envelope),
        cmocka_unit_test(the_same_messages_give_the_same_bytes),
        cmocka_unit_test(bytes_on_the_wire_never_change),
        cmocka_unit_test(a_usual_frame_costs_one_allocation_each_way),
        cmocka_unit_test(a_refused_frame_holds_nothing),
        cmocka_unit_test(a_frame_that_unfolds_far_takes_more_blocks),
        cmocka_unit_test(a_failing_allocation_leaves_nothing_held),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
