/* ring_test.c - frames through shared memory (node/transport/shm/ring.h): whole, once
 * and in order, however the ends take turns; lent bytes stay until they are returned;
 * and nothing that stands in the memory leads an end outside of it.
 */
#include "node/transport/shm/ring.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CAPACITY = RING_BYTES_MIN, GUARD_BYTES = 4096, HELD_MAX = 16 };
enum { TURNS = 50000, STREAMED = 20000, LIES = 5000 };

/* --- Two ends, and what they say ------------------------------------------------- */

struct pair {
    unsigned char *memory; /* a guard, the ring, a guard */
    struct ring_writer out;
    struct ring_reader in;
    uint64_t shown, seen; /* frames */
};

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void pair_open(struct pair *pair)
{
    const size_t bytes = 2 * GUARD_BYTES + ring_size(CAPACITY);
    *pair = (struct pair){.memory = aligned_alloc(RING_LINE_BYTES, bytes)};
    assert_non_null(pair->memory);
    memset(pair->memory, 0, bytes);
    memset(pair->memory, 0x5a, GUARD_BYTES);
    memset(pair->memory + bytes - GUARD_BYTES, 0x5a, GUARD_BYTES);
    struct ring *ring = (struct ring *)(void *)(pair->memory + GUARD_BYTES);
    pair->out = (struct ring_writer){.ring = ring, .capacity = CAPACITY};
    pair->in = (struct ring_reader){.ring = ring, .capacity = CAPACITY};
}

static void pair_close(struct pair *pair)
{
    const unsigned char *after = pair->memory + GUARD_BYTES + ring_size(CAPACITY);
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        assert_int_equal(pair->memory[i], 0x5a);
        assert_int_equal(after[i], 0x5a);
    }
    free(pair->memory);
}

/* Frame n has as many bytes as this, all 0 to ring_frame_max() in some frame... */
static size_t size_of(uint64_t n)
{
    uint64_t state = n * 0x9e3779b97f4a7c15u + 1;
    const uint64_t most = ring_frame_max(CAPACITY), drawn = draw(&state);
    return (size_t)(drawn % 4 == 0 ? drawn / 4 % (most + 1) : drawn / 4 % 200);
}

static enum ring_kind kind_of(uint64_t n) { return n % 5 ? RING_FRAME : RING_NOTICE; }

/* ... and these. */
static void fill(unsigned char *bytes, uint64_t n)
{
    const size_t size = size_of(n);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(n * 31 + i * 7 + i / 251);
    }
}

static bool is_whole(const unsigned char *bytes, size_t size, uint64_t n)
{
    bool same = size == size_of(n);
    for (size_t i = 0; same && i < size; i++) {
        same = bytes[i] == (unsigned char)(n * 31 + i * 7 + i / 251);
    }
    return same;
}

static bool show_next(struct pair *pair)
{
    void *place = ring_place(&pair->out, size_of(pair->shown));
    if (!place) {
        return false;
    }
    fill(place, pair->shown);
    ring_show(&pair->out, size_of(pair->shown), kind_of(pair->shown));
    pair->shown++;
    return true;
}

static const unsigned char *take_next(struct pair *pair, size_t *size)
{
    enum ring_kind kind;
    const unsigned char *bytes = ring_take(&pair->in, size, &kind);
    if (bytes && (kind != kind_of(pair->seen) || !is_whole(bytes, *size, pair->seen))) {
        abort(); /* also on a thread that cmocka does not know */
    }
    if (!bytes && kind != RING_NOTHING) {
        abort();
    }
    pair->seen += bytes != NULL;
    return bytes;
}

/* --- Honest ends ----------------------------------------------------------------- */

/* What the reader holds must be whole for as long as it holds it. */
struct held {
    const unsigned char *bytes[HELD_MAX];
    size_t count;
};

static void give_back(struct pair *pair, struct held *held)
{
    for (size_t i = 0; i < held->count; i++) {
        const uint64_t n = pair->seen - held->count + i;
        if (!is_whole(held->bytes[i], size_of(n), n)) {
            abort();
        }
    }
    held->count = 0;
    ring_return(&pair->in);
}

static void take_some(struct pair *pair, struct held *held, size_t most)
{
    size_t size;
    while (held->count < most &&
           (held->bytes[held->count] = take_next(pair, &size)) != NULL) {
        held->count++;
    }
}

static void frames_come_whole_in_order_and_stay_until_returned(void **state)
{
    (void)state;
    struct pair pair;
    struct held held = {.count = 0};
    uint64_t chance = 42;
    pair_open(&pair);
    for (int turn = 0; turn < TURNS; turn++) {
        for (uint64_t burst = draw(&chance) % 8; burst > 0 && show_next(&pair);) {
            burst--;
        }
        take_some(&pair, &held, draw(&chance) % (HELD_MAX + 1));
        if (draw(&chance) % 2) {
            give_back(&pair, &held);
        }
    }
    give_back(&pair, &held);
    take_some(&pair, &held, HELD_MAX);
    assert_true(pair.seen > TURNS);
    pair_close(&pair);
}

static void a_full_ring_takes_no_more_until_some_is_returned(void **state)
{
    (void)state;
    struct pair pair;
    size_t size;
    pair_open(&pair);
    for (int round = 0; round < 2000; round++) {
        while (show_next(&pair)) {
            ;
        }
        assert_non_null(take_next(&pair, &size));
        while (round % 2 == 0 && take_next(&pair, &size)) {
            ;
        }
        assert_false(show_next(&pair)); /* taken is not returned */
        ring_return(&pair.in);
    }
    pair_close(&pair);
}

static void an_empty_ring_takes_the_longest_frame_wherever_it_stands(void **state)
{
    (void)state;
    struct pair pair;
    size_t size;
    enum ring_kind kind;
    pair_open(&pair);
    for (int line = 0; line < 3 * CAPACITY / RING_LINE_BYTES; line++) {
        const size_t longest = ring_frame_max(CAPACITY);
        for (int i = 0; i < 2; i++) { /* and one of a line, to stand elsewhere */
            unsigned char *place = ring_place(&pair.out, i ? 1 : longest);
            assert_non_null(place);
            memset(place, line, i ? 1 : longest);
            ring_show(&pair.out, i ? 1 : longest, RING_FRAME);
            const unsigned char *bytes = ring_take(&pair.in, &size, &kind);
            assert_non_null(bytes);
            assert_int_equal(size, i ? 1 : longest);
            assert_int_equal(bytes[size - 1], (unsigned char)line);
            ring_return(&pair.in);
        }
    }
    assert_null(ring_take(&pair.in, &size, &kind));
    assert_int_equal(kind, RING_NOTHING);
    pair_close(&pair);
}

static void *write_all(void *context)
{
    struct pair *pair = context;
    while (pair->shown < STREAMED) {
        if (!show_next(pair)) {
            sched_yield();
        }
    }
    return NULL;
}

/* Each end has a pair of its own over one ring: they share nothing else. */
static void two_threads_need_no_lock(void **state)
{
    (void)state;
    struct pair reads, writes;
    struct held held = {.count = 0};
    pthread_t writer;
    uint64_t chance = 7;
    pair_open(&reads);
    writes = reads;
    assert_int_equal(pthread_create(&writer, NULL, write_all, &writes), 0);
    while (reads.seen < STREAMED) {
        take_some(&reads, &held, 1 + draw(&chance) % HELD_MAX);
        if (held.count == 0) {
            sched_yield();
        }
        give_back(&reads, &held);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    size_t size;
    assert_null(take_next(&reads, &size));
    pair_close(&reads);
}

/* --- An end that has lost its mind ----------------------------------------------- */

static uint64_t lie(uint64_t *chance)
{
    const uint64_t word = draw(chance), most = ring_frame_max(CAPACITY);
    switch (draw(chance) % 5) {
    case 0:
        return word;
    case 1:
        return word % 8; /* a kind, and next to nothing */
    case 2:
        return (most - 1 + word % 4) << 2 | draw(chance) % 4;
    case 3:
        return (word % CAPACITY) << 2 | draw(chance) % 4;
    default:
        return UINT64_MAX << 2 | word % 4;
    }
}

static bool is_inside(const struct pair *pair, const unsigned char *bytes, size_t size)
{
    const unsigned char *first = pair->out.ring->bytes;
    return bytes >= first && size <= CAPACITY && bytes + size <= first + CAPACITY;
}

static void lies_lead_no_end_outside(void **state)
{
    (void)state;
    uint64_t chance = 99;
    struct pair pair;
    pair_open(&pair);
    for (int round = 0; round < LIES; round++) {
        struct ring *ring = pair.out.ring;
        for (size_t at = 0; at < CAPACITY; at += RING_LINE_BYTES) {
            const uint64_t word = lie(&chance);
            memcpy(ring->bytes + at, &word, sizeof(word));
        }
        pair.in.taken = draw(&chance) / RING_LINE_BYTES * RING_LINE_BYTES;
        size_t size = 0;
        enum ring_kind kind;
        for (int i = 0; i < 64; i++) {
            const unsigned char *bytes = ring_take(&pair.in, &size, &kind);
            if (!bytes) {
                break;
            }
            assert_true(kind == RING_FRAME || kind == RING_NOTICE);
            assert_true(is_inside(&pair, bytes, size));
        }
        ring_return(&pair.in);
        atomic_store(&ring->returned, lie(&chance));
        const size_t wanted = draw(&chance) % (ring_frame_max(CAPACITY) + 1);
        unsigned char *place = ring_place(&pair.out, wanted);
        if (place) {
            assert_true(is_inside(&pair, place, wanted));
            memset(place, 0, wanted);
            ring_show(&pair.out, wanted, RING_FRAME);
        }
    }
    pair_close(&pair);
}

static void nobody_returns_more_than_was_written(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair);
    atomic_store(&pair.out.ring->returned, UINT64_MAX / 2);
    while (show_next(&pair)) {
        assert_true(pair.shown < CAPACITY);
    }
    assert_true(pair.out.written <= CAPACITY);
    pair_close(&pair);
}

static void what_makes_no_sense_is_said_to(void **state)
{
    (void)state;
    static const uint64_t senseless[] = {
        4 << 2 | RING_NOTHING, 4 << 2 | RING_SKIP, RING_SKIP /* at the beginning */,
        (RING_BYTES_MIN / 4 + 1) << 2 | RING_FRAME, UINT64_MAX << 2 | RING_NOTICE};
    for (size_t i = 0; i < sizeof(senseless) / sizeof(*senseless); i++) {
        struct pair pair;
        size_t size = 0;
        enum ring_kind kind = RING_FRAME;
        pair_open(&pair);
        memcpy(pair.in.ring->bytes, &senseless[i], sizeof(*senseless));
        assert_null(ring_take(&pair.in, &size, &kind));
        assert_int_equal(kind, RING_SKIP);
        pair_close(&pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_whole_in_order_and_stay_until_returned),
        cmocka_unit_test(a_full_ring_takes_no_more_until_some_is_returned),
        cmocka_unit_test(an_empty_ring_takes_the_longest_frame_wherever_it_stands),
        cmocka_unit_test(two_threads_need_no_lock),
        cmocka_unit_test(lies_lead_no_end_outside),
        cmocka_unit_test(nobody_returns_more_than_was_written),
        cmocka_unit_test(what_makes_no_sense_is_said_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
