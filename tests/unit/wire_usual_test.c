/* wire_usual_test.c - the short cut of proto/wire_usual.c makes no difference.
 *
 * A good result with its bytes is written as wire_flat.c writes it and read as the
 * general way reads it, for every evidence and sizes around what a varint and a limit
 * change at; with any bit of it turned the short cut takes only what means the same
 * the general way; and what is not quite a good result it leaves alone.
 */
#include "wire_same.h"

#include "moot_error.h"
#include "proto/wire_private.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const uint8_t payload[LIMIT_EAGER_BYTES + 1];
static const uint64_t sizes[] = {1, 2, 63, 64, 127, 128, 129, 255, 256, 8191, 8192};
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct message result(enum evidence evidence, uint64_t size)
{
    struct message message = {.type = MESSAGE_RESULT};
    for (int i = 0; i < MOOT_HASH_BYTES; i++)
        message.hash.bytes[i] = (uint8_t)(i * 17 + 1);
    message.u.result = (struct message_result){.owner_uid = 0x8877665544332211,
                                               .evidence = evidence,
                                               .data = RESULT_EAGER,
                                               .size = size,
                                               .payload = payload};
    return message;
}

struct way {
    struct reader reader;
    struct message message;
    bool taken;
};

static void take(struct way *way, const struct wire_piece *piece, bool usual)
{
    *way = (struct way){.reader = {.arena = {.held_max = LIMIT_FRAME_BYTES},
                                   .payload = payload,
                                   .payload_bytes = LIMIT_EAGER_BYTES}};
    if (usual)
        way->taken = wire_usual_get(&way->reader, piece, &way->message);
    else
        way->taken = wire_piece_read(&way->reader, piece, &way->message) &&
                     message_check(&way->message) == NULL;
}

/* Returns whether the short cut took it. */
static bool both_agree(const uint8_t *bytes, size_t size)
{
    const struct wire_piece piece = {bytes, size};
    struct way usual, general;
    take(&usual, &piece, true);
    take(&general, &piece, false);
    if (usual.taken) {
        assert_true(general.taken);
        assert_true(message_same(&usual.message, &general.message));
        assert_ptr_equal(usual.reader.payload, general.reader.payload);
        assert_int_equal(usual.reader.payload_bytes, general.reader.payload_bytes);
    } else {
        assert_ptr_equal(usual.reader.payload, payload);
    }
    arena_free(general.reader.arena.blocks);
    return usual.taken;
}

static void a_good_result_goes_the_short_way_both_ways(void **state)
{
    (void)state;
    for (int evidence = EVIDENCE_NONE + 1; evidence < EVIDENCE_END; evidence++) {
        for (int i = 0; i < SIZES; i++) {
            const struct message message = result((enum evidence)evidence, sizes[i]);
            uint8_t usual[WIRE_FLAT_BYTES_MAX], flat[WIRE_FLAT_BYTES_MAX];
            const size_t size = wire_usual_put(&message, usual);
            assert_int_not_equal(size, 0);
            assert_int_equal(size, wire_flat_put(&message, flat));
            assert_memory_equal(usual, flat, size);
            assert_true(both_agree(usual, size));
        }
    }
}

static void of_bent_bytes_it_takes_only_what_the_general_way_does(void **state)
{
    (void)state;
    unsigned taken = 0, left = 0;
    for (int i = 0; i < SIZES; i++) {
        const struct message message = result(EVIDENCE_CLAIM, sizes[i]);
        uint8_t bytes[WIRE_FLAT_BYTES_MAX];
        const size_t size = wire_usual_put(&message, bytes);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (both_agree(bytes, size))
                taken++;
            else
                left++;
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        for (size_t cut = 0; cut < size; cut++)
            assert_false(both_agree(bytes, cut));
    }
    assert_true(taken > 1000 && left > 1000); /* hashes and uids; and keys */
}

static void more_payload_than_there_is_is_not_taken(void **state)
{
    (void)state;
    const struct message message = result(EVIDENCE_CLAIM, 100);
    uint8_t bytes[WIRE_FLAT_BYTES_MAX];
    const struct wire_piece piece = {bytes, wire_usual_put(&message, bytes)};
    struct reader reader = {.payload = payload, .payload_bytes = 99};
    struct message to;
    assert_false(wire_usual_get(&reader, &piece, &to));
    reader.payload_bytes = 100;
    assert_true(wire_usual_get(&reader, &piece, &to));
    assert_int_equal(reader.payload_bytes, 0);
}

static void another_result_takes_another_way(void **state)
{
    (void)state;
    enum { WAYS = 12 };
    for (int i = 0; i < WAYS; i++) {
        struct message message = result(EVIDENCE_CLAIM, 100);
        struct message_result *it = &message.u.result;
        uint8_t bytes[WIRE_FLAT_BYTES_MAX];
        it->status = i == 0 ? MOOT_ERR_TASK_FAILED : MOOT_OK;
        it->data = i == 1 ? RESULT_BARE : i == 2 ? RESULT_BULK : RESULT_EAGER;
        it->size = i == 3 ? 0 : i == 4 ? LIMIT_EAGER_BYTES + 1 : 100;
        it->handover = i == 5;
        it->digest = i == 6;
        it->evidence = i == 7 ? EVIDENCE_NONE : i == 8 ? EVIDENCE_END : EVIDENCE_CLAIM;
        it->owner_uid = i != 9;
        if (i == 10)
            message.hash = (moot_hash){{0}};
        if (i == 11)
            message.type = MESSAGE_ACK;
        if (wire_usual_put(&message, bytes) != 0)
            fail_msg("number %d was written the short way", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_result_goes_the_short_way_both_ways),
        cmocka_unit_test(of_bent_bytes_it_takes_only_what_the_general_way_does),
        cmocka_unit_test(more_payload_than_there_is_is_not_taken),
        cmocka_unit_test(another_result_takes_another_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
