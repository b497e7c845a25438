/* wire_hostile_test.c - frames that no writer wrote: cut, flipped, made by hand.
 *
 * A frame is good as a whole or refused as a whole, by name, with nothing held and
 * nothing read beyond its end (proto/wire.h).
 */
#include "wire_frames.h"

#include <stdio.h>

enum { BODY_BYTES_MAX = 256 };

static void a_cut_frame_is_refused(void **state)
{
    (void)state;
    struct bytes frame = frame_at(TYPICAL);
    for (size_t size = 0; size < frame.size; size++) {
        void *cut = malloc(size + (size == 0));
        memcpy(cut, frame.at, size);
        assert_int_not_equal(decode(cut, size), MOOT_OK);
        free(cut);
    }
    free(frame.at);
}

/* As above, but with an envelope that fits the cut. */
static void a_cut_body_is_refused_unless_between_messages(void **state)
{
    (void)state;
    struct bytes frame = frame_at(TYPICAL);
    size_t whole = 0;
    for (size_t size = WIRE_ENVELOPE_BYTES; size < frame.size; size++) {
        void *cut = malloc(size);
        memcpy(cut, frame.at, size);
        set_u32(cut, AT_BODY_BYTES, size - WIRE_ENVELOPE_BYTES);
        set_u32(cut, AT_PAYLOAD_BYTES, 0);
        whole += decode(cut, size) == MOOT_OK;
        free(cut);
    }
    /* Whole are the empty body, one MOTION, and that with a DECISION; the third is the
     * RESULT, whose payload is missing from then on. */
    assert_int_equal(whole, 3);
    free(frame.at);
}

static void a_flipped_bit_decodes_to_something_sound_or_fails(void **state)
{
    (void)state;
    struct bytes frame = frame_at(TYPICAL);
    unsigned char *bytes = frame.at;
    struct wire_writer *writer = wire_writer_new();
    for (size_t bit = 0; bit < 8 * frame.size; bit++) {
        struct wire_frame out;
        const char *why = NULL;
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        if (wire_frame_decode(bytes, frame.size, &out, &why) == MOOT_OK) {
            for (size_t i = 0; i < out.count; i++)
                assert_int_equal(wire_writer_add(writer, &out.messages[i]), MOOT_OK);
            void *again;
            size_t size;
            assert_int_equal(wire_writer_finish(writer, &out.envelope, &again, &size),
                             MOOT_OK);
            assert_int_equal(decode(again, size), MOOT_OK);
            free(again);
            wire_frame_release(&out);
        } else {
            assert_non_null(why);
        }
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    assert_int_equal(decode(frame.at, frame.size), MOOT_OK);
    wire_writer_free(writer);
    free(frame.at);
}

static void another_version_is_named_as_that(void **state)
{
    (void)state;
    struct bytes frame = frame_at(TYPICAL);
    unsigned char *bytes = frame.at;
    bytes[AT_VERSION] = WIRE_VERSION + 1;
    bytes[AT_BODY_BYTES] ^= 1; /* whatever else it may say */
    assert_int_equal(decode(bytes, frame.size), MOOT_ERR_PROTOCOL);
    bytes[0] = 'm';
    assert_int_equal(decode(bytes, frame.size), MOOT_ERR_INVALID);
    free(frame.at);
}

static void lengths_beyond_the_limits_are_refused(void **state)
{
    (void)state;
    struct bytes frame = {calloc(1, LIMIT_FRAME_BYTES + 1), LIMIT_FRAME_BYTES + 1};
    memcpy(frame.at, "MOOT\1", 5);
    set_u32(frame.at, AT_BODY_BYTES, frame.size - WIRE_ENVELOPE_BYTES);
    assert_int_equal(decode(frame.at, frame.size), MOOT_ERR_LIMIT);
    set_u32(frame.at, AT_BODY_BYTES, UINT32_MAX);
    set_u32(frame.at, AT_PAYLOAD_BYTES, 65 - WIRE_ENVELOPE_BYTES); /* sum wraps to 64 */
    assert_int_equal(decode(frame.at, WIRE_ENVELOPE_BYTES), MOOT_ERR_INVALID);
    free(frame.at);

    unsigned char *body = malloc(2 * (LIMIT_FRAME_MESSAGES + 1));
    for (size_t i = 0; i <= LIMIT_FRAME_MESSAGES; i++) {
        body[2 * i] = 0x0a;
        body[2 * i + 1] = 0;
    }
    frame = frame_of(body, 2 * (LIMIT_FRAME_MESSAGES + 1));
    assert_int_equal(decode(frame.at, frame.size), MOOT_ERR_LIMIT);
    free(frame.at);
    free(body);
}

#define H "12100102030405060708090a0b0c0d0e0f10" /* field 2, a task hash */

/* Messages written by hand: what each is wrong in, and its bytes. */
static const struct {
    const char *what, *hex;
} hostile[] = {
    {NULL, "0804" H}, /* a PULL: nothing wrong */
    {NULL, "0801" H "1a00"},
    {"no type", H},
    {"a type of no message", "0816" H},
    {"a type beyond its field", "088080808010" H},
    {"a number beyond 64 bits", "08ffffffffffffffffff7f" H},
    {"a number without an end", "08ffffffffffffffffffff01" H},
    {"a task without its hash", "0804"},
    {"a short hash", "0804120f0102030405060708090a0b0c0d0e0f"},
    {"a long hash", "080412110102030405060708090a0b0c0d0e0f1011"},
    {"a zero hash", "0804121000000000000000000000000000000000"},
    {"a length beyond the message", "08041211010203"},
    {"a huge length", "080412ffffffff0f01"},
    {"an unknown field", "0804" H "f80601"},
    {"field 0", "0804" H "0001"},
    {"a field beyond all", "0804" H "f8ffffffffffffffff0101"},
    {"a group", "0804" H "1b1c"},
    {"a field twice", "08040804" H},
    {"a field of the wrong kind", "0a0104" H},
    {"a body that is not its type's", "0804" H "1a00"},
    {"no body", "0801" H},
    {"two bodies", "0801" H "1a002200"},
    {"the other order of two bodies", "0801" H "22001a00"},
    {"MOTION: a bool of 2", "0801" H "1a020802"},
    {"MOTION: want 3", "0801" H "1a022003"},
    {"MOTION: a cut fixed64", "0801" H "1a0429010203"},
    {"MOTION: a set of 7 bytes", "0801" H "1a093a0701020304050607"},
    {"MOTION: a set with a zero word", "0801" H "1a0a3a080000000000000000"},
    {"MOTION: a spec without a kernel", "0801" H "1a024200"},
    {"MOTION: a name with a zero in it", "0801" H "1a0742050a03610062"},
    {"MOTION: inputs of 15 bytes",
     "0801" H "1a1642140a01612a0f0102030405060708090a0b0c0d0e0f"},
    {"MOTION: more order inputs than inputs", "0801" H "1a0742050a01613001"},
    {"MOTION: a key that is none", "0801" H "1a0842060a01613a0162"},
    {"DECISION: lists of different length", "0802" H "2203120105"},
    {"DECISION: a list that is not packed", "0802" H "22021005"},
    {"DECISION: half a need", "0802" H "2209220700000000000000"},
    {"DECISION: rank 16384", "0802" H "221212038080011a010022080000000000000000"},
    {"DECISION: want 3", "0802" H "22101201001a010322080000000000000000"},
    {"DECISION: evidence 9", "0802" H "22020809"},
    {"RESULT: a payload that is not there", "0803" H "2a0420012805"},
    {"RESULT: a payload of 2^64-1", "0803" H "2a0d200128ffffffffffffffffff01"},
    {"RESULT: data 3", "0803" H "2a022003"},
    {"RESULT: an unknown error", "0803" H "2a021841"},
    {"RESULT: a positive error", "0803" H "2a021802"},
    {"REFER: nobody", "0806" H "3200"},
    {"ACCEPT: winner 16384", "0807" H "3a0408808001"},
    {"VERDICT: no error", "0809" H "4200"},
    {"ROLL: position 0", "080a4a00"},
    {"ROLL: lane 1024", "080a4a050880081001"},
    {"ROLL: 4097 tasks", "080a4a051001188120"},
    {"HASHES: a site without an end",
     "080c5a1710011a100102030405060708090a0b0c0d0e0f10220161"},
    {"HASHES: more sites than hashes",
     "080c5a1a10011a100102030405060708090a0b0c0d0e0f10220461006200"},
    {"HASHES: a zero hash", "080c5a1410011a1000000000000000000000000000000000"},
    {"STATE: a site with a zero in it", "080d62054a03610062"},
    {"STATE: waits for nothing", "080d62022001"},
    {"POLLR: stuck with nothing", "080f72023801"},
    {"RESOLVE: way 2", "0810" H "7a020802"},
    {"DIVERGED: no side", "08138a01021001"},
    {"DIVERGED: a side without ranks", "08138a010410011a00"},
    {"DIVERGED: five sides", "08138a013e10011a0a1a0801000000000000001a0a1a080100000000"
                             "0000001a0a1a0801000000000000001a0a1a080100000000000000"
                             "1a0a1a080100000000000000"},
    {"KERNEL: no name", "08159a0100"},
};

static void what_no_writer_writes_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        unsigned char body[2 + BODY_BYTES_MAX] = {0x0a};
        size_t size = strlen(hostile[i].hex) / 2;
        assert_true(size < 128);
        body[1] = (unsigned char)size;
        for (size_t j = 0; j < size; j++) {
            unsigned value;
            assert_int_equal(sscanf(hostile[i].hex + 2 * j, "%2x", &value), 1);
            body[2 + j] = (unsigned char)value;
        }
        struct bytes frame = frame_of(body, 2 + size);
        int code = decode(frame.at, frame.size);
        if (code != (hostile[i].what == NULL ? MOOT_OK : MOOT_ERR_INVALID))
            fail_msg("row %zu (%s): code %d", i,
                     hostile[i].what != NULL ? hostile[i].what : "well", code);
        free(frame.at);
    }
}

static void what_is_no_message_is_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "\x0a", "\x12\x00", "\x08\x01", "\x0a\x01",
        "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        size_t size = i == 1 ? 2 : strlen(bodies[i]);
        struct bytes frame = frame_of((const unsigned char *)bodies[i], size);
        assert_int_equal(decode(frame.at, frame.size), MOOT_ERR_INVALID);
        free(frame.at);
    }
}

static void payload_that_belongs_to_no_result_is_refused(void **state)
{
    (void)state;
    struct bytes frame = frame_of((const unsigned char *)"x", 1);
    set_u32(frame.at, AT_BODY_BYTES, 0);
    set_u32(frame.at, AT_PAYLOAD_BYTES, 1);
    assert_int_equal(decode(frame.at, frame.size), MOOT_ERR_INVALID);
    free(frame.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_frame_is_refused),
        cmocka_unit_test(a_cut_body_is_refused_unless_between_messages),
        cmocka_unit_test(a_flipped_bit_decodes_to_something_sound_or_fails),
        cmocka_unit_test(another_version_is_named_as_that),
        cmocka_unit_test(lengths_beyond_the_limits_are_refused),
        cmocka_unit_test(what_no_writer_writes_is_refused),
        cmocka_unit_test(what_is_no_message_is_refused),
        cmocka_unit_test(payload_that_belongs_to_no_result_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
