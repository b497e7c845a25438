/* copy_test.c - a copy says what the message said, and needs nothing of it. */
#include "proto/copy.h"
#include "tests/unit/wire_same.h"
#include "tests/unit/wire_samples.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* What a copy of it should say. */
static struct message as_copied(const struct message *message)
{
    struct message copied = *message;
    if (message->type == MESSAGE_RESULT) {
        copied.u.result.data = RESULT_BARE;
        copied.u.result.part = copied.u.result.parts = 0;
        copied.u.result.payload = NULL;
    }
    return copied;
}

/* Writes a message and reads it back; the bytes are the caller's to free. */
static struct wire_frame decode_sample(enum message_type type, enum level level,
                                       void **bytes, size_t *size)
{
    struct wire_writer *writer = wire_writer_new();
    struct wire_frame frame;
    struct message message;
    const char *why;
    sample_message(type, level, &message);
    message.epoch = 17;
    message.view_id = 18;
    const struct wire_envelope envelope = {.epoch = 17, .view_id = 18};
    assert_int_equal(wire_writer_add(writer, &message), MOOT_OK);
    assert_int_equal(wire_writer_finish(writer, &envelope, bytes, size), MOOT_OK);
    assert_int_equal(wire_frame_decode(*bytes, *size, &frame, &why), MOOT_OK);
    wire_writer_free(writer);
    return frame;
}

/* The frame goes before the copy is read: AddressSanitizer sees what still leads there.
 */
static void a_copy_outlives_its_frame(void **state)
{
    (void)state;
    for (int type = MESSAGE_NONE + 1; type < MESSAGE_TYPE_END; type++) {
        for (int level = LEAST; level < LEVELS; level++) {
            struct message sample, expected;
            void *bytes;
            size_t size;
            struct wire_frame frame = decode_sample((enum message_type)type,
                                                    (enum level)level, &bytes, &size);
            struct message *copy = message_copy(&frame.messages[0]);
            assert_non_null(copy);
            memset(bytes, 0xa5, size);
            free(bytes);
            wire_frame_release(&frame);

            sample_message((enum message_type)type, (enum level)level, &sample);
            expected = as_copied(&sample);
            expected.epoch = 17;
            expected.view_id = 18;
            if (!message_same(&expected, copy)) {
                fail_msg("%s, level %d: not the same", message_type_name(copy->type),
                         level);
            }
            message_copy_free(copy);
        }
    }
}

static void a_copy_of_a_copy_is_the_same(void **state)
{
    (void)state;
    for (int type = MESSAGE_NONE + 1; type < MESSAGE_TYPE_END; type++) {
        struct message sample;
        sample_message((enum message_type)type, MOST, &sample);
        struct message expected = as_copied(&sample);
        struct message *first = message_copy(&sample);
        struct message *second = message_copy(first);
        assert_true(message_same(&expected, first));
        message_copy_free(first);
        assert_true(message_same(&expected, second));
        message_copy_free(second);
    }
}

static void a_copied_result_is_an_offer(void **state)
{
    (void)state;
    static const enum result_data ways[] = {RESULT_BARE, RESULT_EAGER, RESULT_BULK};
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        struct message message;
        sample_message(MESSAGE_RESULT, TYPICAL, &message);
        message.u.result.data = ways[i];
        struct message *copy = message_copy(&message);
        assert_int_equal(copy->u.result.data, RESULT_BARE);
        assert_null(copy->u.result.payload);
        assert_int_equal(copy->u.result.size, message.u.result.size);
        assert_int_equal(copy->u.result.status, message.u.result.status);
        message_copy_free(copy);
    }
}

static void what_is_empty_stays_apart_from_what_is_absent(void **state)
{
    (void)state;
    struct message message;
    struct message_spec spec = samples.specs[TYPICAL];
    assert_int_equal(spec.key_size, 0);
    sample_message(MESSAGE_MOTION, TYPICAL, &message);
    message.u.motion.spec = &spec;
    struct message *copy = message_copy(&message);
    assert_non_null(copy->u.motion.spec->key);
    message_copy_free(copy);
    spec.key = NULL;
    copy = message_copy(&message);
    assert_null(copy->u.motion.spec->key);
    message_copy_free(copy);
    message_copy_free(NULL);
}

/* A set with room for more ranks than it has. */
static void a_set_is_copied_as_far_as_it_goes(void **state)
{
    (void)state;
    struct rankset wide = {0};
    struct message message;
    rankset_add(&wide, 3);
    rankset_add(&wide, 1000);
    rankset_remove(&wide, 1000);
    sample_message(MESSAGE_REFER, TYPICAL, &message);
    message.u.refer.candidates = &wide;
    struct message *copy = message_copy(&message);
    rankset_release(&wide);
    assert_true(rankset_has(copy->u.refer.candidates, 3));
    assert_int_equal(rankset_count(copy->u.refer.candidates), 1);
    assert_null(copy->u.refer.candidates->high);
    message_copy_free(copy);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_outlives_its_frame),
        cmocka_unit_test(a_copy_of_a_copy_is_the_same),
        cmocka_unit_test(a_copied_result_is_an_offer),
        cmocka_unit_test(what_is_empty_stays_apart_from_what_is_absent),
        cmocka_unit_test(a_set_is_copied_as_far_as_it_goes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
