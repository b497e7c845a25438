/* wire_usual_test.c - the short cuts of proto/wire_usual.c make no difference.
 *
 * A usual message is written as wire_flat.c writes it and read as the general way reads
 * it: a good result for every evidence and sizes around what a varint and a limit
 * change at, a motion for each want, need and length likewise, a decision for each
 * evidence.  With any bit of it turned the short cut takes only what means the same the
 * general way; and what is not quite usual it leaves alone.
 */
#include "tests/unit/wire_same.h"

#include "proto/moot_error.h"
#include "proto/wire_private.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const uint8_t payload[LIMIT_EAGER_BYTES + 1];
static const uint64_t sizes[] = {1, 2, 63, 64, 127, 128, 129, 255, 256, 8191, 8192};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

static struct message result(enum evidence evidence, uint64_t size)
{
    struct message message = {.type = MESSAGE_RESULT};
    for (int i = 0; i < MOOT_HASH_BYTES; i++) {
        message.hash.bytes[i] = (uint8_t)(i * 17 + 1);
    }
    message.u.result = (struct message_result){.owner_uid = 0x8877665544332211,
                                               .evidence = evidence,
                                               .data = RESULT_EAGER,
                                               .size = size,
                                               .payload = payload};
    return message;
}

static struct message motion(enum want want, uint64_t need, uint64_t len)
{
    struct message message = result(EVIDENCE_CLAIM, 1);
    message.type = MESSAGE_MOTION;
    message.u.motion =
        (struct message_motion){.holds = true, .want = want, .need = need, .len = len};
    return message;
}

static struct message decision(enum evidence evidence)
{
    struct message message = result(EVIDENCE_CLAIM, 1);
    message.type = MESSAGE_DECISION;
    message.u.decision = (struct message_decision){.evidence = evidence};
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
    if (usual) {
        way->taken = wire_usual_get(&way->reader, piece, &way->message);
    } else {
        way->taken = wire_piece_read(&way->reader, piece, &way->message) &&
                     message_check(&way->message) == NULL;
    }
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

/* Returns its size. */
static size_t goes_the_short_way_both_ways(const struct message *message,
                                           uint8_t usual[WIRE_FLAT_BYTES_MAX])
{
    uint8_t flat[WIRE_FLAT_BYTES_MAX];
    const size_t size = wire_usual_put(message, usual);
    assert_int_not_equal(size, 0);
    assert_null(message_check(message));
    assert_int_equal(size, wire_flat_put(message, flat));
    assert_memory_equal(usual, flat, size);
    assert_true(both_agree(usual, size));
    return size;
}

static void a_good_result_goes_the_short_way_both_ways(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_FLAT_BYTES_MAX];
    for (int evidence = EVIDENCE_NONE + 1; evidence < EVIDENCE_END; evidence++) {
        for (int i = 0; i < SIZES; i++) {
            const struct message message = result((enum evidence)evidence, sizes[i]);
            (void)goes_the_short_way_both_ways(&message, bytes);
        }
    }
}

static const uint64_t needs[] = {1, 127, 128, 1u << 20, UINT64_MAX - 1, NEED_NONE};
static const uint64_t lens[] = {1,     127,     128,     16383,
                                16384, 2097151, 2097152, (1u << 28) - 1};
enum { NEEDS = sizeof(needs) / sizeof(*needs), LENS = sizeof(lens) / sizeof(*lens) };

static void a_holders_motion_goes_the_short_way_both_ways(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_FLAT_BYTES_MAX];
    for (int want = WANT_DONE; want <= WANT_DATA; want++) {
        for (int i = 0; i < NEEDS * LENS; i++) {
            const struct message message =
                motion((enum want)want, needs[i % NEEDS], lens[i / NEEDS]);
            (void)goes_the_short_way_both_ways(&message, bytes);
        }
    }
}

static void a_decision_for_its_asker_goes_the_short_way_both_ways(void **state)
{
    (void)state;
    uint8_t bytes[WIRE_FLAT_BYTES_MAX];
    for (int evidence = EVIDENCE_NONE + 1; evidence < EVIDENCE_END; evidence++) {
        const struct message message = decision((enum evidence)evidence);
        (void)goes_the_short_way_both_ways(&message, bytes);
    }
}

static void bend(const struct message *message, unsigned *taken, unsigned *left)
{
    uint8_t bytes[WIRE_FLAT_BYTES_MAX];
    const size_t size = goes_the_short_way_both_ways(message, bytes);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (both_agree(bytes, size)) {
            ++*taken;
        } else {
            ++*left;
        }
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t cut = 0; cut < size; cut++) {
        assert_false(both_agree(bytes, cut));
    }
    bytes[size] = 0x38; /* another field */
    bytes[size + 1] = 1;
    assert_false(both_agree(bytes, size + 2));
}

static void of_bent_bytes_it_takes_only_what_the_general_way_does(void **state)
{
    (void)state;
    unsigned taken = 0, left = 0;
    for (int i = 0; i < SIZES; i++) {
        const struct message message = result(EVIDENCE_CLAIM, sizes[i]);
        bend(&message, &taken, &left);
    }
    assert_true(taken > 1000 && left > 1000); /* hashes and uids; and keys */
    taken = left = 0;
    for (int i = 0; i < LENS; i++) {
        const struct message message = motion(WANT_DONE, needs[i % NEEDS], lens[i]);
        bend(&message, &taken, &left);
    }
    assert_true(taken > 1000 && left > 500);
    taken = left = 0;
    const struct message message = decision(EVIDENCE_HINT);
    bend(&message, &taken, &left);
    assert_true(taken > 8 * MOOT_HASH_BYTES && left > 8 * 4);
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
        if (i == 10) {
            message.hash = (moot_hash){{0}};
        }
        if (i == 11) {
            message.type = MESSAGE_ACK;
        }
        if (wire_usual_put(&message, bytes) != 0) {
            fail_msg("number %d was written the short way", i);
        }
    }
}

static void another_motion_takes_another_way(void **state)
{
    (void)state;
    struct rankset candidates = {0};
    const struct message_spec spec = {.kernel_name = "k"};
    enum { WAYS = 12 };
    for (int i = 0; i < WAYS; i++) {
        struct message message = motion(WANT_DONE, 1, 1);
        struct message_motion *it = &message.u.motion;
        uint8_t bytes[WIRE_FLAT_BYTES_MAX];
        it->holds = i != 0;
        it->hint = i == 1;
        it->final = i == 2;
        it->want = i == 3 ? WANT_NOTHING : i == 4 ? (enum want)3 : WANT_DONE;
        it->need = i != 5;
        it->len = i == 6 ? 0 : i == 7 ? 1u << 28 : 1;
        it->candidates = i == 8 ? &candidates : NULL;
        it->spec = i == 9 ? &spec : NULL;
        it->scope.bytes[5] = i == 10;
        it->priority = i == 11 ? -1 : 0;
        if (wire_usual_put(&message, bytes) != 0) {
            fail_msg("number %d was written the short way", i);
        }
    }
}

static void another_decision_takes_another_way(void **state)
{
    (void)state;
    const struct message_asker asker = {.rank = 1};
    enum { WAYS = 7 };
    for (int i = 0; i < WAYS; i++) {
        struct message message = decision(EVIDENCE_QUIET);
        struct message_decision *it = &message.u.decision;
        uint8_t bytes[WIRE_FLAT_BYTES_MAX];
        it->evidence = i == 0 ? EVIDENCE_NONE : i == 1 ? EVIDENCE_END : EVIDENCE_QUIET;
        it->asker_count = i == 2;
        it->askers = &asker;
        it->cancelled_by = i == 3;
        it->priority = i == 4;
        it->seen = i == 5;
        it->alone = i == 6;
        if (wire_usual_put(&message, bytes) != 0) {
            fail_msg("number %d was written the short way", i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_result_goes_the_short_way_both_ways),
        cmocka_unit_test(a_holders_motion_goes_the_short_way_both_ways),
        cmocka_unit_test(a_decision_for_its_asker_goes_the_short_way_both_ways),
        cmocka_unit_test(of_bent_bytes_it_takes_only_what_the_general_way_does),
        cmocka_unit_test(more_payload_than_there_is_is_not_taken),
        cmocka_unit_test(another_result_takes_another_way),
        cmocka_unit_test(another_motion_takes_another_way),
        cmocka_unit_test(another_decision_takes_another_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
