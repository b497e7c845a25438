/* stream_test.c - transports over byte streams (moot_stream.h): frames get through
 * streams that give and take a few bytes at a time, break, or are begun by both ends at
 * once. */
#include "tests/unit/stream_fake.h"

/* --- Peers ---------------------------------------------------------------------------
 */

static int count_streams(const struct seat *seat)
{
    int count = 0;
    for (const moot_stream *at = ends[seat->uid]->streams; at != NULL;
         at = at->next_of_end) {
        count++;
    }
    return count;
}

static void frames_pass_whatever_streams_take_at_a_time(void **state)
{
    static const size_t steps[] = {1, 3, 7, 1000, PIPE_BYTES};
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct seat a, b;
        open_two(&a, &b, *state);
        ends[1]->step = steps[i];
        ends[2]->step = steps[(i + 2) % 5];
        exchange(&a, &b, 0, steps[i] < 8 ? 60 : 400);
        assert_int_equal(a.frames, b.frames);
        assert_int_equal(count_of(&a).refused + count_of(&b).refused, 0);
        assert_int_equal(count_streams(&a), 1); /* both had begun */
        assert_int_equal(count_streams(&b), 1);
        close_two(&a, &b);
    }
}

static void one_stream_serves_both_who_did_not_begin_at_once(void **state)
{
    struct seat a, b;
    open_two(&a, &b, *state);
    assert_int_equal(try_send(&a, 2, 0), MOOT_OK);
    for (int i = 0; i < 20; i++) {
        (void)poll_seat(&a);
        (void)poll_seat(&b);
    }
    assert_int_equal(b.frames, 1);
    exchange(&a, &b, 1, 50);
    assert_int_equal(ends[1]->made, 1);
    assert_int_equal(ends[2]->made, 0);
    close_two(&a, &b);
}

static void a_peer_that_cannot_be_reached_is_answered_by_its_own_stream(void **state)
{
    struct seat a, b;
    open_two(&a, &b, *state);
    ends[1]->unreachable = true; /* b's connections get nowhere */
    assert_int_equal(try_send(&b, 1, 0), MOOT_OK);
    assert_int_equal(b.next[1], 0);
    assert_int_equal(try_send(&a, 2, 0), MOOT_OK);
    for (int i = 0; i < 20; i++) {
        (void)poll_seat(&a);
        (void)poll_seat(&b);
    }
    exchange(&a, &b, 1, 50);
    close_two(&a, &b);
}

static void frames_that_wait_for_an_answer_go_over_the_peers_own_stream(void **state)
{
    struct seat a, b;
    open_two(&a, &b, *state);
    ends[1]->deaf = true;
    for (uint64_t number = 0; number < 100; number++) {
        assert_int_equal(try_send(&b, 1, number), MOOT_OK);
    }
    (void)poll_seat(&b);
    assert_int_equal(try_send(&a, 2, 0), MOOT_OK);
    for (int i = 0; i < 100; i++) {
        (void)poll_seat(&a);
        (void)poll_seat(&b);
    }
    assert_int_equal(a.next[2], 100);
    assert_int_equal(b.unreachable, 0);
    close_two(&a, &b);
    fake_hang_up(fake_accept(&nowhere));
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

/* Both begin at any moment, and streams take any number of bytes: as none breaks,
 * nothing is lost, and nothing waits for what does not come. */
static void nothing_is_lost_or_late_in_any_order_of_steps(void **state)
{
    for (uint64_t first = 1; first <= 1500; first++) {
        struct seat a, b;
        uint64_t seed = first, sent[2] = {0, 0};
        const uint64_t count = 5 + draw(&seed, 30);
        open_two(&a, &b, *state);
        for (int steps = 0; a.next[2] < count || b.next[1] < count; steps++) {
            const uint32_t who = draw(&seed, 2);
            struct seat *seat = who == 0 ? &a : &b;
            ends[1 + who]->step = 1 + draw(&seed, 3000);
            if (draw(&seed, 3) == 0 && sent[who] < count) {
                sent[who] += try_send(seat, who == 0 ? 2 : 1, sent[who]) == MOOT_OK;
            } else {
                (void)poll_seat(seat);
            }
            assert_true(steps < 5000);
        }
        for (int i = 0; i < 20; i++) {
            ends[1]->step = ends[2]->step = PIPE_BYTES;
            (void)poll_seat(&a);
            (void)poll_seat(&b);
        }
        assert_int_equal(count_streams(&a), 1);
        assert_int_equal(count_streams(&b), 1);
        assert_int_equal(a.frames, count);
        assert_int_equal(b.frames, count);
        assert_int_equal(a.unreachable + b.unreachable, 0);
        close_two(&a, &b);
    }
}

static void a_stream_that_breaks_is_replaced(void **state)
{
    struct seat a, b;
    open_two(&a, &b, *state);
    exchange(&a, &b, 0, 20);
    for (uint64_t round = 1; round <= 3; round++) {
        /* The network breaks all of them. */
        for (moot_stream *near = ends[1]->streams; near != NULL;
             near = near->next_of_end) {
            near->other->other = NULL;
            near->other->ready = true;
            near->other = NULL;
            near->ready = true;
        }
        const int told = a.unreachable;
        for (int i = 0; i < 20; i++) {
            (void)poll_seat(&a);
            (void)poll_seat(&b);
        }
        assert_true(a.unreachable > told);
        assert_int_equal(try_send(&a, 2, 1000 * round), MOOT_OK); /* goes nowhere */
        rest(200); /* the pause after the third */
        exchange(&a, &b, 1000 * round + 1, 1000 * round + 30);
    }
    assert_true(count_of(&a).ended + count_of(&b).ended >= 3);
    close_two(&a, &b);
}

static void a_peer_that_does_not_read_fills_a_queue_and_no_more(void **state)
{
    struct seat a, b;
    uint64_t sent = 0;
    open_two(&a, &b, *state);
    exchange(&a, &b, 0, 5);
    sent = 5;
    while (try_send(&a, 2, sent) == MOOT_OK) {
        sent++;
        assert_true(sent < 5000);
    }
    const size_t used = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(try_send(&a, 2, sent), MOOT_TRANSPORT_FULL);
    }
    assert_true(mallinfo2().uordblks + mallinfo2().hblkhd <= used);
    assert_false(moot_stream_flushed(a.wire));
    while (b.next[1] < sent) {
        (void)poll_seat(&a);
        (void)poll_seat(&b);
    }
    exchange(&a, &b, sent, sent + 10);
    close_two(&a, &b);
}

static void a_peer_that_does_not_poll_for_long_is_waited_for(void **state)
{
    struct seat a, b;
    open_two(&a, &b, *state);
    assert_int_equal(try_send(&a, 2, 0), MOOT_OK);
    (void)poll_seat(&a);
    rest(3100);
    (void)poll_seat(&a);
    exchange(&a, &b, 1, 20);
    assert_int_equal(a.unreachable, 0);
    assert_int_equal(ends[1]->made, 1);
    close_two(&a, &b);
}

static void forgotten_peers_are_unknown(void **state)
{
    struct seat a, b;
    open_two(&a, &b, *state);
    exchange(&a, &b, 0, 20);
    moot_stream_forget(a.wire, 2);
    moot_stream_forget(a.wire, 2);
    assert_null(ends[1]->streams);
    assert_int_equal(try_send(&a, 2, 20), MOOT_ERR_INVALID);
    assert_true(*moot_stream_story(a.wire) != '\0');
    assert_int_equal(moot_stream_introduce(b.wire, 1, "", 0), MOOT_ERR_INVALID);
    for (int i = 0; i < 20; i++) {
        (void)poll_seat(&a);
        (void)poll_seat(&b);
    }
    assert_true(b.unreachable > 0);
    close_two(&a, &b);
}

/* --- Tables --------------------------------------------------------------------------
 */

static void a_table_with_a_hole_is_refused_by_name(void **state)
{
    static const size_t slots[] = {offsetof(moot_stream_transport, open),
                                   offsetof(moot_stream_transport, address),
                                   offsetof(moot_stream_transport, connect),
                                   offsetof(moot_stream_transport, accept),
                                   offsetof(moot_stream_transport, read),
                                   offsetof(moot_stream_transport, write),
                                   offsetof(moot_stream_transport, hang_up),
                                   offsetof(moot_stream_transport, close)};
    static const char *const names[] = {"open", "address", "connect", "accept",
                                        "read", "write",   "hang_up", "close"};
    moot_transport_setup setup = {
        .size = sizeof(setup), .uid = 1, .options = "", .host = "", .secret = secret};
    moot_wire *wire = NULL;
    char story[128];
    for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
        moot_stream_transport table = *(const moot_stream_transport *)*state;
        memset((char *)&table + slots[i], 0, sizeof(table.open));
        assert_int_equal(
            moot_stream_open(&table, "fake", 0, &setup, &wire, story, sizeof(story)),
            MOOT_ERR_CONFIG);
        assert_non_null(strstr(story, names[i]));
    }
    setup.secret = NULL;
    assert_int_equal(
        moot_stream_open(*state, "fake", 0, &setup, &wire, story, sizeof(story)),
        MOOT_ERR_CONFIG);
    assert_non_null(strstr(story, "secret"));
    assert_null(wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(frames_pass_whatever_streams_take_at_a_time),
        BOTH(one_stream_serves_both_who_did_not_begin_at_once),
        BOTH(a_peer_that_cannot_be_reached_is_answered_by_its_own_stream),
        BOTH(frames_that_wait_for_an_answer_go_over_the_peers_own_stream),
        BOTH(nothing_is_lost_or_late_in_any_order_of_steps),
        BOTH(a_stream_that_breaks_is_replaced),
        BOTH(a_peer_that_does_not_read_fills_a_queue_and_no_more),
        BOTH(a_peer_that_does_not_poll_for_long_is_waited_for),
        BOTH(forgotten_peers_are_unknown),
        BOTH(a_table_with_a_hole_is_refused_by_name),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
