/* wire_parts_test.c - the short cut of proto/wire_parts.c makes no difference.
 *
 * Messages of random results are written as protobuf-c writes them and read as the
 * general way reads them.  Of bytes that were bent the short cut takes only what means
 * the same the general way.
 */
#include "tests/unit/wire_same.h"

#include "hashing/array_spread.h"
#include "proto/moot_error.h"
#include "proto/wire_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROUNDS = 3000, BENDS = 20, PARTS_MAX = 40, PIECE_MAX = 1 << 17 };

static uint64_t drawn = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return drawn % below;
}

/* Often small, of any width. */
static uint64_t draw_number(uint64_t below)
{
    const uint64_t number = draw(2) == 0 ? draw(4) : draw(UINT64_MAX) >> draw(64);
    return number % below;
}

/* A good message; what it borrows lasts until the next. */
static struct message draw_parts(void)
{
    static struct message_part parts[PARTS_MAX];
    static uint8_t bytes[LIMIT_ELEMENT_PARTS_BYTES];
    struct message message = {.type = MESSAGE_PARTS};
    const uint32_t count = (uint32_t)draw(PARTS_MAX);
    uint64_t place = 0;
    size_t used = 0;
    for (int i = 0; i < MOOT_HASH_BYTES; i++) {
        message.hash.bytes[i] = (uint8_t)draw(256);
    }
    message.hash.bytes[MOOT_HASH_BYTES - 1] |= MOOT_HASH_ARRAY;
    for (uint32_t i = 0; i < count; i++) {
        place += draw_number(ARRAY_COUNT_MAX / PARTS_MAX);
        parts[i] =
            (struct message_part){place++, 0, (enum part_state)draw(PART_WANTED)};
        if (parts[i].state == PART_BYTES) {
            parts[i].size = draw_number(LIMIT_ELEMENT_PARTS_BYTES / PARTS_MAX);
            used += parts[i].size;
        } else if (parts[i].state == PART_LARGE) {
            parts[i].size = draw_number(LIMIT_RESULT_BYTES + 1);
        }
    }
    for (size_t i = 0; i < used; i++) {
        bytes[i] = (uint8_t)draw(256);
    }
    message.u.parts =
        (struct message_parts){.input = (uint32_t)draw_number(LIMIT_INPUTS),
                               .count = place + 1 + draw_number(1000),
                               .homes = 1 + (uint32_t)draw_number(LIMIT_RANKS),
                               .part_count = count,
                               .parts = parts,
                               .bytes = used > 0 ? bytes : NULL,
                               .byte_count = used};
    assert_null(message_check(&message));
    return message;
}

static size_t pack(const struct message *message, uint8_t *bytes)
{
    static uint64_t scratch[2 * PARTS_MAX];
    struct encoder encoder = {.scratch = (uint8_t *)scratch};
    assert_true(wire_write_scratch_bytes(message) <= sizeof(scratch));
    wire_write_message(&encoder, message);
    return moot__message__pack(&encoder.message, bytes);
}

/* Whether the short cut takes it; if so all that it says is as the general way has it.
 */
static bool takes(const struct wire_piece *piece)
{
    struct reader shorter = {.arena = {.held_max = LIMIT_FRAME_BYTES}};
    struct reader general = {.arena = {.held_max = LIMIT_FRAME_BYTES}};
    struct message by_short = {.type = MESSAGE_NONE}, by_general = by_short;
    const bool taken = wire_parts_get(&shorter, piece, &by_short);
    if (taken) {
        assert_true(wire_piece_read(&general, piece, &by_general));
        assert_true(message_same(&by_short, &by_general));
    }
    arena_free(shorter.arena.blocks);
    arena_free(general.arena.blocks);
    return taken;
}

static void it_writes_and_reads_protobufs_bytes(void **state)
{
    (void)state;
    static uint8_t bytes[PIECE_MAX], again[PIECE_MAX];
    for (int round = 0; round < ROUNDS; round++) {
        const struct message message = draw_parts();
        struct wire_parts_sizes sizes;
        const size_t size = pack(&message, bytes);
        assert_int_equal(wire_parts_size(&message, &sizes), size);
        wire_parts_put(&message, &sizes, again);
        assert_memory_equal(bytes, again, size);
        const struct wire_piece piece = {bytes, size};
        assert_int_equal(takes(&piece), message.u.parts.part_count > 0);
    }
}

/* The bytes stand alone, so that a sanitizer sees what reads beyond them. */
static void of_bent_bytes_it_takes_what_means_the_same(void **state)
{
    (void)state;
    static uint8_t bytes[PIECE_MAX];
    int taken = 0;
    for (int round = 0; round < ROUNDS * BENDS; round++) {
        const struct message message = draw_parts();
        const size_t whole = pack(&message, bytes);
        const size_t size = draw(4) == 0 ? draw(whole) : whole;
        uint8_t *alone = malloc(size + (size == 0));
        memcpy(alone, bytes, size);
        if (size > 0) {
            alone[draw(size < 60 ? size : 60)] ^= (uint8_t)(1u << draw(8));
        }
        const struct wire_piece piece = {alone, size};
        taken += takes(&piece);
        free(alone);
    }
    assert_true(taken > ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_writes_and_reads_protobufs_bytes),
        cmocka_unit_test(of_bent_bytes_it_takes_what_means_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
