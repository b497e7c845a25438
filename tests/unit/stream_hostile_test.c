/* stream_hostile_test.c - strangers at a transport over byte streams (moot_stream.h)
 * get nowhere, whatever they say, whatever uid they claim, and however many they are.
 */
#include "tests/unit/stream_fake.h"

/* --- Strangers -----------------------------------------------------------------------
 */

/* The words of a stranger who knows all but, perhaps, the secret. */
struct stranger {
    struct stream_wire wire;
    struct stream_line line;
    moot_stream *stream;
};

static void begin_stranger(struct stranger *s, uint64_t uid, bool insider,
                           unsigned char greeting[STREAM_GREETING_BYTES])
{
    memset(s, 0, sizeof(*s));
    s->wire.uid = uid;
    if (insider) {
        memcpy(s->wire.secret, secret, sizeof(secret));
    }
    s->line.to = 2;
    s->line.made = true;
    s->line.state = STREAM_GREETS;
    stream_greeting_write(&s->wire, &s->line, greeting);
    s->stream = reach_end(NULL, ends[2]);
}

static void say(struct stranger *s, const void *bytes, size_t size)
{
    assert_int_equal(fake_write(s->stream, bytes, size, false), size);
}

static bool is_cut_off(const struct stranger *s) { return s->stream->other == NULL; }

/* Reads the challenge and answers it. */
static void answer(struct stranger *s, struct seat *b)
{
    unsigned char proof[STREAM_CHALLENGE_BYTES];
    size_t size;
    (void)poll_seat(b);
    assert_int_equal(fake_read(s->stream, s->line.words, STREAM_CHALLENGE_BYTES),
                     STREAM_CHALLENGE_BYTES);
    s->line.words_size = STREAM_CHALLENGE_BYTES;
    if (!stream_greeting_answer(&s->wire, &s->line, proof, &size)) {
        memset(proof, 7, sizeof(proof));
        size = STREAM_PROOF_BYTES;
    }
    say(s, proof, size);
    (void)poll_seat(b);
}

static void wrong_greetings_are_cut_off(void **state)
{
    struct seat a, b;
    struct stranger s;
    unsigned char greeting[STREAM_GREETING_BYTES];
    uint64_t refused = 0;
    open_two(&a, &b, *state);
    exchange(&a, &b, 0, 20);
    const int told = b.frames;
    /* Each byte of the mark, the version, and the uid that is meant. */
    for (size_t i = 0; i < STREAM_GREETING_BYTES; i++) {
        begin_stranger(&s, 1, false, greeting);
        greeting[i] ^= 0x40;
        say(&s, greeting, sizeof(greeting));
        (void)poll_seat(&b);
        const bool wrong = i < 16 || (i >= 24 && i < 32);
        assert_int_equal(is_cut_off(&s), wrong);
        refused += wrong;
        fake_hang_up(s.stream);
        (void)poll_seat(&b);
    }
    begin_stranger(&s, 2, false, greeting); /* its own uid */
    say(&s, greeting, sizeof(greeting));
    (void)poll_seat(&b);
    assert_true(is_cut_off(&s));
    fake_hang_up(s.stream);
    begin_stranger(&s, 1, false, greeting); /* without the secret */
    say(&s, greeting, sizeof(greeting));
    answer(&s, &b);
    assert_true(is_cut_off(&s));
    fake_hang_up(s.stream);
    begin_stranger(&s, 1, true, greeting); /* the challenge, sent back */
    say(&s, greeting, sizeof(greeting));
    (void)poll_seat(&b);
    assert_int_equal(fake_read(s.stream, s.line.words, STREAM_CHALLENGE_BYTES),
                     STREAM_CHALLENGE_BYTES);
    say(&s, s.line.words + STREAM_CHALLENGE_BYTES - STREAM_PROOF_BYTES,
        STREAM_PROOF_BYTES);
    (void)poll_seat(&b);
    assert_true(is_cut_off(&s));
    fake_hang_up(s.stream);
    assert_int_equal(count_of(&b).refused, refused + 3);
    assert_int_equal(b.frames, told);
    assert_int_equal(b.unreachable, 0);
    exchange(&a, &b, 20, 40); /* over the stream of before */
    assert_int_equal(ends[1]->made + ends[2]->made, 2);
    close_two(&a, &b);
}

static void a_greeting_that_was_overheard_is_good_for_nothing(void **state)
{
    struct seat a, b;
    struct stranger s;
    unsigned char words[STREAM_GREETING_BYTES], proof[STREAM_CHALLENGE_BYTES];
    size_t size;
    open_two(&a, &b, *state);
    begin_stranger(&s, 1, true, words); /* an honest one, which is overheard */
    say(&s, words, sizeof(words));
    (void)poll_seat(&b);
    (void)fake_read(s.stream, s.line.words, STREAM_CHALLENGE_BYTES);
    s.line.words_size = STREAM_CHALLENGE_BYTES;
    assert_true(stream_greeting_answer(&s.wire, &s.line, proof, &size));
    say(&s, proof, size);
    (void)poll_seat(&b);
    assert_false(is_cut_off(&s));
    moot_stream *honest = s.stream;
    s.stream = reach_end(NULL, ends[2]);
    say(&s, words, sizeof(words));
    say(&s, proof, size);
    (void)poll_seat(&b);
    assert_true(is_cut_off(&s));
    assert_non_null(honest->other);
    fake_hang_up(s.stream);
    fake_hang_up(honest);
    close_two(&a, &b);
}

/* A peer makes a stream only if it has none, so the older one is dead at its end. */
static void a_newer_stream_of_a_peer_takes_the_place_of_the_older(void **state)
{
    struct seat a, b;
    struct stranger older, newer;
    unsigned char greeting[STREAM_GREETING_BYTES];
    open_two(&a, &b, *state);
    begin_stranger(&older, 5, true, greeting);
    say(&older, greeting, sizeof(greeting));
    answer(&older, &b);
    begin_stranger(&newer, 5, true, greeting);
    say(&newer, greeting, sizeof(greeting));
    (void)poll_seat(&b);
    assert_false(is_cut_off(&older)); /* nothing is proved yet */
    answer(&newer, &b);
    assert_true(is_cut_off(&older));
    assert_false(is_cut_off(&newer));
    fake_hang_up(older.stream);
    fake_hang_up(newer.stream);
    close_two(&a, &b);
}

static void lengths_are_held_against_their_limit_before_memory_is_taken(void **state)
{
    static const uint32_t wrong[] = {0, MOOT_STREAM_FRAME_MAX + 1, 1u << 30,
                                     UINT32_MAX};
    struct seat a, b;
    struct stranger s;
    unsigned char greeting[STREAM_GREETING_BYTES];
    open_two(&a, &b, *state);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        begin_stranger(&s, 5, true, greeting);
        say(&s, greeting, sizeof(greeting));
        answer(&s, &b);
        assert_false(is_cut_off(&s));
        say(&s, &wrong[i], sizeof(wrong[i]));
        say(&s, "bytes", 5);
        (void)poll_seat(&b);
        assert_true(is_cut_off(&s));
        assert_int_equal(count_of(&b).broken, i + 1);
        fake_hang_up(s.stream);
    }
    /* One that is allowed, and does not come. */
    begin_stranger(&s, 5, true, greeting);
    say(&s, greeting, sizeof(greeting));
    answer(&s, &b);
    const size_t used = mallinfo2().uordblks + mallinfo2().hblkhd;
    const uint32_t longest = MOOT_STREAM_FRAME_MAX;
    say(&s, &longest, sizeof(longest));
    (void)poll_seat(&b);
    say(&s, "bytes", 5);
    (void)poll_seat(&b);
    assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < used + 140000);
    assert_false(is_cut_off(&s));
    fake_hang_up(s.stream);
    assert_int_equal(b.frames, 0);
    exchange(&a, &b, 0, 20);
    close_two(&a, &b);
}

static void a_stranger_is_not_crowded_out_while_it_greets(void **state)
{
    enum { MANY = 1000 };
    struct seat a, b;
    struct stranger s, other;
    unsigned char greeting[STREAM_GREETING_BYTES], unsaid[STREAM_GREETING_BYTES];
    moot_stream *open[MANY];
    open_two(&a, &b, *state);
    begin_stranger(&s, 5, true, greeting);
    say(&s, greeting, sizeof(greeting));
    for (int i = 0; i < MANY; i++) {
        begin_stranger(&other, 1, false, unsaid);
        open[i] = other.stream;
    }
    for (int i = 0; i < 20; i++) {
        (void)poll_seat(&b);
    }
    answer(&s, &b);
    assert_false(is_cut_off(&s));
    fake_hang_up(s.stream);
    for (int i = 0; i < MANY; i++) {
        fake_hang_up(open[i]);
    }
    close_two(&a, &b);
}

static void thousands_of_half_open_streams_hinder_nobody(void **state)
{
    enum { MANY = 3000 };
    static struct stranger s;
    static moot_stream *open[MANY];
    struct seat a, b;
    unsigned char greeting[STREAM_GREETING_BYTES];
    open_two(&a, &b, *state);
    const size_t fake = sizeof(moot_stream) + 64;
    const size_t used = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < MANY; i++) {
        begin_stranger(&s, 1, false, greeting);
        say(&s, greeting, (size_t)i % sizeof(greeting)); /* begins to greet */
        open[i] = s.stream;
        if (i % 50 == 49) {
            (void)poll_seat(&b);
        }
        if (i == MANY / 2) {
            exchange(&a, &b, 0, 20); /* connects now */
        }
    }
    exchange(&a, &b, 20, 40);
    for (int i = 0; i < 100 && ends[2]->waiting != NULL; i++) {
        (void)poll_seat(&b);
        rest(20);
    }
    assert_in_range(count_of(&b).crowded_out, MANY - MOOT_STREAM_STRANGERS_MAX - 2,
                    MANY);
    size_t theirs = 0;
    for (int i = 0; i < MANY; i++) {
        theirs += fake + (open[i]->other != NULL ? fake : 0);
    }
    assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < used + theirs + 4000000);
    rest(3100);
    (void)poll_seat(&b);
    for (int i = 0; i < MANY; i++) {
        assert_null(open[i]->other);
        fake_hang_up(open[i]);
    }
    assert_in_range(count_of(&b).late, MOOT_STREAM_STRANGERS_MAX - 2,
                    MOOT_STREAM_STRANGERS_MAX);
    exchange(&a, &b, 40, 60);
    assert_int_equal(a.unreachable + b.unreachable, 0);
    close_two(&a, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(wrong_greetings_are_cut_off),
        BOTH(a_greeting_that_was_overheard_is_good_for_nothing),
        BOTH(a_newer_stream_of_a_peer_takes_the_place_of_the_older),
        BOTH(lengths_are_held_against_their_limit_before_memory_is_taken),
        BOTH(a_stranger_is_not_crowded_out_while_it_greets),
        BOTH(thousands_of_half_open_streams_hinder_nobody),
    };
    return cmocka_run_group_tests_name("stream_hostile", tests, NULL, NULL);
}
