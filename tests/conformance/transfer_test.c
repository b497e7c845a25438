/* transfer_test.c - pieces and their order, without moving a byte: what a run over a
 * real wire would need many GiB to show.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "node/transport/transfer.h"
#include "proto/limits.h"
#include <cmocka.h>

static const size_t piece_bytes = LIMIT_BULK_PIECE_BYTES;

static struct transfer *push(struct stream *stream, size_t size)
{
    static char somewhere; /* never touched */
    struct transfer *transfer =
        transfer_new(TRANSFER_BULK_OUT, 0, &somewhere, size, NULL);
    assert_non_null(transfer);
    stream_push(stream, transfer);
    return transfer;
}

static void a_transfer_is_cut_into_pieces(void **state)
{
    (void)state;
    const struct {
        size_t size, pieces, last;
    } rows[] = {
        {0, 1, 0},
        {1, 1, 1},
        {piece_bytes, 1, piece_bytes},
        {piece_bytes + 1, 2, 1},
        {3 * piece_bytes, 3, piece_bytes},
        {3 * piece_bytes - 1, 3, piece_bytes - 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stream stream = {0};
        struct transfer *transfer = push(&stream, rows[i].size);
        struct piece piece;
        size_t pieces = 0, bytes = 0;
        for (; stream_start(&stream, 100, &piece); pieces++) {
            bytes += piece.size;
        }
        assert_int_equal(pieces, rows[i].pieces);
        assert_int_equal(piece.size, rows[i].last);
        assert_int_equal(bytes, rows[i].size);
        for (; pieces > 0; pieces--) {
            assert_null(stream_pop(&stream));
            stream_end(&stream, transfer);
        }
        assert_ptr_equal(stream_pop(&stream), transfer);
        transfer_free(transfer);
    }
}

static void pieces_start_in_order_and_within_the_window(void **state)
{
    (void)state;
    struct stream stream = {0};
    struct transfer *first = push(&stream, 2 * piece_bytes), *second = push(&stream, 5);
    struct piece piece;
    assert_true(stream_start(&stream, 2, &piece) && piece.transfer == first);
    assert_true(stream_start(&stream, 2, &piece) && piece.transfer == first);
    assert_false(stream_start(&stream, 2, &piece));
    stream_end(&stream, first);
    assert_true(stream_start(&stream, 2, &piece) && piece.transfer == second);
    stream_end(&stream, second);
    assert_null(stream_pop(&stream)); /* complete, but not the oldest */
    stream_end(&stream, first);
    assert_ptr_equal(stream_pop(&stream), first);
    assert_ptr_equal(stream_pop(&stream), second);
    assert_null(stream_pop(&stream));
    transfer_free(first);
    transfer_free(second);
}

static void an_abandoned_stream_keeps_what_the_wire_holds(void **state)
{
    (void)state;
    struct stream stream = {0};
    struct transfer *held = push(&stream, 3 * piece_bytes);
    push(&stream, 1);
    struct piece piece;
    assert_true(stream_start(&stream, 1, &piece));
    stream_abandon(&stream);
    assert_false(stream_start(&stream, 100, &piece));
    assert_null(stream_pop(&stream));
    stream_end(&stream, held);
    assert_ptr_equal(stream_pop(&stream), held);
    assert_null(stream_pop(&stream));
    transfer_free(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transfer_is_cut_into_pieces),
        cmocka_unit_test(pieces_start_in_order_and_within_the_window),
        cmocka_unit_test(an_abandoned_stream_keeps_what_the_wire_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
