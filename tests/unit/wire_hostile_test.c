/* wire_hostile_test.c - frames that no writer wrote: cut, flipped, made by hand.
 *
 * A frame is good as a whole or refused as a whole, by name, with nothing held and
 * nothing read beyond its end (proto/wire.h).
 */
#include "tests/unit/wire_frames.h"

#include <stdio.h>

enum { BODY_BYTES_MAX = 256 };

/* Returns how many bytes it wrote. */
static size_t put_hex(const char *hex, unsigned char *to)
{
    size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++) {
        unsigned value;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
        to[i] = (unsigned char)value;
    }
    return size;
}

static size_t put_varint(size_t value, unsigned char *to)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
        to[size++] = (unsigned char)(value | 0x80);
    }
    to[size++] = (unsigned char)value;
    return size;
}

/* That a body is refused for that reason; NULL: that it is not. */
static void expect(const unsigned char *body, size_t size, const char *expected)
{
    struct bytes bytes = frame_of(body, size);
    struct wire_frame frame;
    const char *why = NULL;
    int code = wire_frame_decode(bytes.at, bytes.size, &frame, &why);
    if (expected != NULL) {
        assert_int_equal(code, MOOT_ERR_INVALID);
        assert_string_equal(why, expected);
    } else {
        assert_int_equal(code, MOOT_OK);
        wire_frame_release(&frame);
    }
    free(bytes.at);
}

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
            for (size_t i = 0; i < out.count; i++) {
                assert_int_equal(wire_writer_add(writer, &out.messages[i]), MOOT_OK);
            }
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

static void flags_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    static const size_t places[] = {5, 6, 7};
    struct bytes frame = frame_at(TYPICAL);
    unsigned char *bytes = frame.at;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        bytes[places[i]] = 1;
        assert_int_equal(decode(bytes, frame.size), MOOT_ERR_INVALID);
        bytes[places[i]] = 0;
    }
    assert_int_equal(decode(bytes, frame.size), MOOT_OK);
    free(frame.at);
}

static void lengths_beyond_the_limits_are_refused(void **state)
{
    (void)state;
    struct bytes frame = {calloc(1, LIMIT_FRAME_BYTES + 1), LIMIT_FRAME_BYTES + 1};
    memcpy(frame.at, "MOOT", 4);
    ((unsigned char *)frame.at)[4] = WIRE_VERSION;
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

/* Whether it is the first or stands behind as many as a body has that is looked at
 * once.
 */
static void an_empty_message_is_refused(void **state)
{
    (void)state;
    enum { MESSAGES_MAX = 130 };
    struct message adjourn = {.type = MESSAGE_ADJOURN};
    struct wire_writer *writer = wire_writer_new();
    for (size_t count = 0; count <= MESSAGES_MAX; count++) {
        struct bytes frame = finish(writer);
        size_t size = frame.size - WIRE_ENVELOPE_BYTES;
        unsigned char *body = malloc(size + 3);
        memcpy(body, (unsigned char *)frame.at + WIRE_ENVELOPE_BYTES, size);
        memcpy(body + size, "\x0a\x00", 2);
        expect(body, size + 2, "no such message type");
        memcpy(body + size, "\x0a\x01\x08", 3);
        expect(body, size + 3, "no such message type");
        free(body);
        free(frame.at);
        assert_int_equal(wire_writer_add(writer, &adjourn), MOOT_OK);
    }
    wire_writer_free(writer);
}

#define ONE_HASH "01010101010101010101010101010101"
#define H "12100102030405060708090a0b0c0d0e0f10" /* field 2, a task hash */

#define A "12100102030405060708090a0b0c0d0e0f30" /* likewise, an array's */

/* Messages written by hand, and what is wrong in each. */
static const struct {
    const char *hex, *why; /* NULL: nothing */
} hostile[] = {
    {"0804" H, NULL},
    {"0801" H "1a00", NULL},
    {H, "no such message type"},
    {"0831" H, "no such message type"},
    {"088080808010" H, "body: a number does not fit its field"},
    {"08ffffffffffffffffff7f" H, "body: a number has more than 64 bits"},
    {"08ffffffffffffffffffff01" H, "body: a number has more than 64 bits"},
    {"0804", "a message about a task has no hash"},
    {"0804120f0102030405060708090a0b0c0d0e0f", "a hash has not 16 bytes"},
    {"080412110102030405060708090a0b0c0d0e0f1011", "a hash has not 16 bytes"},
    {"0804121000000000000000000000000000000000", "a hash is zero"},
    {"08041211010203", "body: a length goes beyond its message"},
    {"080412ffffffff0f01", "body: a length goes beyond its message"},
    {"0804" H "f80601", "body: an unknown field"},
    {"0804" H "0001", "body: an unknown field"},
    {"0804" H "f8ffffffffffffffff0101", "body: an unknown field"},
    {"0804" H "1b1c", "body: a field is of the wrong kind"},
    {"08040804" H, "body: a field comes too often"},
    {"0a0104" H, "body: a field is of the wrong kind"},
    {"0804" H "1a00", "a message has not the body of its type"},
    {"0801" H, "a message has not the body of its type"},
    {"0801" H "1a002200", "body: a field comes too often"},
    {"0801" H "22001a00", "body: a field comes too often"},
    {"0801" H "1a020802", "body: a number does not fit its field"},
    {"0801" H "1a022003", "MOTION: no such want"},
    {"0801" H "1a0429010203", "body: a number is cut off"},
    {"0801" H "1a093a0701020304050607", "a rank set has a wrong size"},
    {"0801" H "1a024200", "a kernel has no name"},
    {"0801" H "1a0742050a03610062", "a text has a zero in it"},
    {"0801" H "1a1642140a01612a0f0102030405060708090a0b0c0d0e0f",
     "a list of hashes is cut off"},
    {"0801" H "1a0742050a01613001", "a spec has more order inputs than inputs"},
    {"0801" H "1a0942070a016192010100", "a spec has more maps than inputs"},
    {"0801" H "1a0942070a01619a010100", "a spec has no map for each input"},
    {"0801" H "1a1f421d0a01612a10" ONE_HASH "9a010100a2010100",
     "a spec has no name for each map"},
    {"0801" H "1a2342210a01612a10" ONE_HASH "920101009a010100a2010105",
     "a spec's map has no such arguments"},
    {"0801" H "1a0842060a01613a0162", "a key that is none"},
    {"0802" H "2203120105", "DECISION: the lists of askers differ in length"},
    {"0802" H "22021005", "body: a list is not packed"},
    {"0802" H "2209220700000000000000", "body: a number is cut off"},
    {"0802" H "221212038080011a010022080000000000000000",
     "DECISION: an asker is beyond the limit"},
    {"0802" H "22101201001a010322080000000000000000", "DECISION: no such want"},
    {"0802" H "22020809", "DECISION: no such evidence"},
    {"0803" H "2a0420012805", "RESULT: the payload is cut off"},
    {"0803" H "2a0d200128ffffffffffffffffff01", "RESULT: the payload is cut off"},
    {"0803" H "2a022003", "RESULT: no such way for its data"},
    {"0803" H "2a02184b", "RESULT: no such error"},
    {"0803" H "2a021802", "RESULT: no such error"},
    {"0806" H "3200", "REFER: no candidates"},
    {"0807" H "3a0408808001", "ACCEPT: the winner is beyond the limit"},
    {"0809" H "4200", "VERDICT: no such error"},
    {"0809" H "420408211004", "VERDICT: no such way"},
    {"0812" H "fa0104"
     "08808001",
     "CANCEL: by who is beyond the limit"},
    {"080a4a00", "a roll position is out of range"},
    {"080a4a050880081001", "a lane is beyond the limit"},
    {"080a4a051001188120", "a stretch of a roll is too long"},
    {"080c5a1710011a100102030405060708090a0b0c0d0e0f10220161",
     "HASHES: a site is cut off"},
    {"080c5a1a10011a100102030405060708090a0b0c0d0e0f10220461006200",
     "HASHES: more sites than hashes"},
    {"080c5a1410011a1000000000000000000000000000000000", "a hash in a list is zero"},
    {"080d62054a03610062", "a text has a zero in it"},
    {"080d62022001", "STATE: waits for no task"},
    {"080f72023801", "POLLR: a key without its hash"},
    {"0810" H "7a020804", "RESOLVE: no such way"},
    {"08138a01021001", "DIVERGED: no or too many sides"},
    {"08138a010410011a00", "DIVERGED: a side without ranks"},
    {"08138a013e10011a0a1a0801000000000000001a0a1a080100000000"
     "0000001a0a1a0801000000000000001a0a1a080100000000000000"
     "1a0a1a080100000000000000",
     "body: a field comes too often"},
    {"08159a0100", "a kernel has no name"},
    {"0807" H "3a0418010801", "ACCEPT: a winner of what may have run"},
    {"0807" H "3a021801", NULL},
    {"0816a20100", NULL},
    {"0816", "a message has not the body of its type"},
    {"0816a2010a1a080000000000000000", "a rank set ends with zeros"},
    {"0817aa01020805", "body: a field is of the wrong kind"},
    {"0818b2010408808040", NULL},
    {"0818b20100", "a ballot has no round"},
    {"0818b2010408ffff3f", "a ballot has no round"},
    {"0818b2010408808041", "a ballot's proposer is beyond the limit"},
    {"0818b2010e0880804022080100000000000000", "only a REJECT tells who is heard"},
    {"081bb201080880804010808040", "only PROMISE and PROPOSE tell what was accepted"},
    {"0819b201210880804010052a190802120801000000000000003201013a080100000000000000",
     "a ballot has no round"},
    {"0819b2012308808040108180402a190802120801000000000000003201013a080100000000000000",
     "a ballot below what was accepted"},
    {"0819b201080880804010808040", "a ballot's value is missing"},
    {"0819b2012308808040108080402a190802120801000000000000003201013a080100000000000000",
     NULL},
    {"0819b2011f088080402a190802120801000000000000003201013a080100000000000000",
     "a value that belongs nowhere"},
    {"081ab2010408808040", "a ballot's value is missing"},
    {"081ab20106088080402a00", "a view has no members"},
    {"081cb2011f088080402a190802120801000000000000003201013a080100000000000000",
     "a value that belongs nowhere"},
    {"0818ba01190802120801000000000000003201013a080100000000000000",
     "a message has not the body of its type"},
    {"081dba01190802120801000000000000003201013a080100000000000000", NULL},
    {"081dba010f08023201013a080100000000000000", "a view has no members"},
    {"081dba010c080212080100000000000000", "a view has no history"},
    {"081dba010f080212080100000000000000320101",
     "a view's past members have a wrong size"},
    {"081dba01160802120801000000000000003a080100000000000000",
     "a view's past members have a wrong size"},
    {"081dba01180802120801000000000000003201013a0701000000000000",
     "a view's past members have a wrong size"},
    {"081dba01210802120801000000000000003201013a1001000000000000000000000000000000",
     "a view's past members all end with zeros"},
    {"081dba0132080312080100000000000000320201023a2001000000000000000000000000000000010"
     "00000000000000100000000000000",
     NULL},
    {"081dba0122080312080100000000000000320201023a1001000000000000000000000000000000",
     "a rank set is empty"},
    {"081dba012a080312080100000000000000320201023a1801000000000000000100000000000000010"
     "0000000000000",
     "a view's past members have a wrong size"},
    {"081dba0122080312080100000000000000320202013a1001000000000000000100000000000000",
     "a view's epochs are not in order"},
    {"081dba01190801120801000000000000003201013a080100000000000000",
     "a view's epochs are not in order"},
    {"081dba01190802120801000000000000003201003a080100000000000000",
     "a view's epochs are not in order"},
    {"081dba014f08021208010000000000000032410101010101010101010101010101010101010101010"
     "101010101010101010101010101010101010101010101010101010101010101010101010101010101"
     "010101",
     "a view has too long a history"},
    {"081dba011f0802120801000000000000001a01012201003201013a080100000000000000",
     "a view's lists of newcomers differ in length"},
    {"081dba01290802120801000000000000001a01012201002a0800000000000000003201013a0801000"
     "00000000000",
     "a newcomer has no uid"},
    {"081dba012b0802120801000000000000001a038080012201002a0809000000000000003201013a080"
     "100000000000000",
     "a newcomer is beyond the limit"},
    {"081dba01330802120801000000000000001a020101220200002a10080000000000000009000000000"
     "000003201013a080100000000000000",
     "newcomers are not in order"},
    {"081ec20100", NULL},
    {"081ec2012712100102030405060708090a0b0c0d0e0f101a01002201002a01003201003a010042010"
     "04a0100",
     NULL},
    {"081ec2012212100102030405060708090a0b0c0d0e0f101a0200002201002a01003201003a0100",
     "REPORT: the lists of entries differ in length"},
    {"081ec2011112001a01002201002a01003201003a0100",
     "REPORT: the lists of entries differ in length"},
    {"081ec20120120f0102030405060708090a0b0c0d0e0f1a01002201002a01003201003a0100",
     "a list of hashes is cut off"},
    {"081ec201271210000000000000000000000000000000001a01002201002a01003201003a010042010"
     "04a0100",
     "a hash in a list is zero"},
    {"081ec2012712100102030405060708090a0b0c0d0e0f101a01092201002a01003201003a010042010"
     "04a0100",
     "REPORT: no such thing to report"},
    {"081ec2012712100102030405060708090a0b0c0d0e0f101a01062201002a01003201003a010042010"
     "04a0100",
     "REPORT: no such end of a task"},
    {"081ec2012912100102030405060708090a0b0c0d0e0f101a010022038080012a01003201003a01004"
     "201004a0100",
     "REPORT: an owner is beyond the limit"},
    {"081ec2012712100102030405060708090a0b0c0d0e0f101a01002201002a01003201023a010042010"
     "04a0100",
     "body: a number does not fit its field"},
    {"081ec2012712100102030405060708090a0b0c0d0e0f101a01002201002a01003201003a010942010"
     "04a0100",
     "REPORT: no such evidence"},
    {"081f", NULL},
    {"081fca01020801", "a message has not the body of its type"},
    {"0820ca0100", "FENCED: from no view"},
    {"0821d201021001", "JOIN: a newcomer without a uid"},
    {"0821d2010f090100000000000000188080808008", "JOIN: a number beyond the limit"},
    {"0822", "a message has not the body of its type"},
    {"0822f20100", NULL},
    {"0822f201020807", "no such leave"},
    {"0825e20100", NULL},
    {"0825e2011742100102030405060708090a0b0c0d0e0f104a01005200",
     "CENSUS: the lists of entries differ in length"},
    {"0825e2011a42100102030405060708090a0b0c0d0e0f104a038080015201"
     "02",
     "CENSUS: an entry is beyond the limit"},
    {"0823ea0100", "a message about a task has no hash"},
    {"0830" A "d2021310091801220200012a02140232050102030405", NULL},
    {"0830" H "d2021310091801220200012a02140232050102030405", "PARTS: for no array"},
    {"0830" A "d2021310091801220200012a02140332050102030405",
     "PARTS: asked for and told at once"},
    {"0830" A "d2021310091801220200012a02140632050102030405", "PARTS: no such size"},
    {"0830" A "d2021210091801220200012a011432050102030405",
     "PARTS: too many, or lists that differ in length"},
    {"0830" A "d2020c10091801220200012a021402",
     "PARTS: other bytes than those of its results"},
    {"0830" A "d2021310091801220200012a02141432050102030405",
     "PARTS: other bytes than those of its results"},
    {"0830" A "d2021310091801220200092a02140232050102030405",
     "PARTS: places that are no set"},
    {"0830" A "d202171009180122060080808080102a02140232050102030405",
     "PARTS: a place beyond the limit"},
    {"0830" A "d2021310001801220200012a02140232050102030405",
     "PARTS: of no such array"},
    {"0830" A "d2021410091801220200012a0314028032050102030405",
     "body: a number is cut off"},
    {"0830" A "d2021908808080801010091801220200012a02140232050102030405",
     "body: a number does not fit its field"},
    {"080e6a0b08ffffffffffffffffff7f", "body: a number has more than 64 bits"},
    {"0801" H "1a123a1001000000000000000000000000000000", "a rank set ends with zeros"},
    {"0801" H "1a022501", "body: a field is of the wrong kind"},
};

static void what_no_writer_writes_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
        unsigned char body[2 + BODY_BYTES_MAX] = {0x0a};
        size_t size = put_hex(hostile[i].hex, body + 2);
        assert_true(size < 128);
        body[1] = (unsigned char)size;
        expect(body, 2 + size, hostile[i].why);
    }
}

/* Fields that are too long by one: a message's start, its body's key, what stands in
 * the body before the field, and the field's key, size and filling. */
static const struct {
    const char *head, *body, *lead, *key;
    size_t size;
    unsigned char filling;
    const char *why;
} too_long[] = {
    {"0806" H, "32", "", "0a", LIMIT_RANKS / 8 + 8, 0xff,
     "a rank set has a wrong size"},
    {"0811" H, "8201", "", "0a", LIMIT_CHASE_HOPS * 16 + 16, 0xff,
     "CHASE: the path is too long"},
    {"0827" H, "8202", "", "12", LIMIT_FAMILY_HASHES * 16 + 16, 0xff,
     "FAMILY: no or too many children"},
    {"080d", "62", "", "4a", LIMIT_SITE_BYTES + 1, 's', "a text is too long"},
    {"0815", "9a01", "", "0a", LIMIT_KERNEL_NAME_BYTES + 1, 'n', "a text is too long"},
    {"080c", "5a", "10011a100102030405060708090a0b0c0d0e0f10", "22",
     LIMIT_SITE_BYTES + 2, 0, "HASHES: a site is too long"},
    {"080c", "5a", "1001", "1a", LIMIT_ROLL_HASHES * 16 + 16, 0xff,
     "a stretch of a roll is too long"},
};

static void what_is_too_long_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(too_long) / sizeof(*too_long); i++) {
        size_t field = too_long[i].size, size = 0;
        unsigned char *content = malloc(field + BODY_BYTES_MAX);
        unsigned char *body = malloc(field + BODY_BYTES_MAX);
        size = put_hex(too_long[i].lead, content);
        size += put_hex(too_long[i].key, content + size);
        size += put_varint(field, content + size);
        memset(content + size, too_long[i].filling, field);
        if (too_long[i].filling == 0) { /* one site with its end */
            memset(content + size, 's', field - 1);
        }
        size += field;

        unsigned char head[BODY_BYTES_MAX];
        size_t head_size = put_hex(too_long[i].head, head);
        head_size += put_hex(too_long[i].body, head + head_size);
        head_size += put_varint(size, head + head_size);
        body[0] = 0x0a;
        size_t at = 1 + put_varint(head_size + size, body + 1);
        memcpy(body + at, head, head_size);
        memcpy(body + at + head_size, content, size);
        expect(body, at + head_size + size, too_long[i].why);
        free(body);
        free(content);
    }
}

static void what_is_no_message_is_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "\x0a", "\x12\x00", "\x08\x01", "\x0a\x01",
        "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
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
        cmocka_unit_test(flags_that_do_not_exist_are_refused),
        cmocka_unit_test(lengths_beyond_the_limits_are_refused),
        cmocka_unit_test(what_no_writer_writes_is_refused),
        cmocka_unit_test(what_is_too_long_is_refused),
        cmocka_unit_test(what_is_no_message_is_refused),
        cmocka_unit_test(an_empty_message_is_refused),
        cmocka_unit_test(payload_that_belongs_to_no_result_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
