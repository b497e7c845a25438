/* ring_test.c - a ring gives what was put into it, in order and whole, never more than
 * there is room for; and what its memory says cannot lead the reader out of it.
 */
#include "node/transport/ring.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CAPACITY = RING_BYTES_MIN, ROUNDS = 200000 };

struct ends {
    struct ring_writer out;
    struct ring_reader in;
};

static struct ends ends_new(void)
{
    struct ring *ring = aligned_alloc(RING_LINE_BYTES, ring_size(CAPACITY));
    assert_non_null(ring);
    memset((void *)ring, 0, ring_size(CAPACITY));
    return (struct ends){.out = {.ring = ring, .capacity = CAPACITY},
                         .in = {.ring = ring, .capacity = CAPACITY}};
}

static size_t size_of(unsigned number)
{
    return number * 2654435761u % (ring_frame_max(CAPACITY) + 1);
}

/* Returns false if there is no room. */
static bool put(struct ring_writer *out, unsigned number)
{
    const size_t size = size_of(number);
    void *place = ring_place(out, size);
    if (place == NULL)
        return false;
    memset(place, (int)(number % 251), size);
    ring_show(out, size, number % 7 == 0 ? RING_NOTICE : RING_FRAME);
    return true;
}

/* Returns false if nothing has come. */
static bool get(struct ring_reader *in, unsigned number)
{
    size_t size = 0;
    enum ring_kind kind;
    const unsigned char *bytes = ring_take(in, &size, &kind);
    if (bytes == NULL) {
        assert_int_equal(kind, RING_NOTHING);
        return false;
    }
    assert_int_equal(kind, number % 7 == 0 ? RING_NOTICE : RING_FRAME);
    assert_int_equal(size, size_of(number));
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != number % 251)
            fail_msg("frame %u is torn at byte %zu", number, i);
    return true;
}

static void a_full_ring_takes_no_more_until_some_is_returned(void **state)
{
    struct ends ends = ends_new();
    unsigned in = 0, out = 0;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        while (put(&ends.out, in))
            in++;
        assert_true(in > out);
        assert_true(get(&ends.in, out++));
        if (round % 2 == 0)
            while (get(&ends.in, out))
                out++;
        assert_false(put(&ends.out, in)); /* taken is not returned */
        ring_return(&ends.in);
    }
    while (get(&ends.in, out))
        out++;
    assert_int_equal(in, out);
    ring_return(&ends.in);
    assert_non_null(ring_place(&ends.out, ring_frame_max(CAPACITY)));
    free(ends.out.ring);
}

static void *write_all(void *arg)
{
    struct ring_writer *out = arg;
    for (unsigned number = 0; number < ROUNDS; number++)
        while (!put(out, number))
            sched_yield();
    return NULL;
}

static void two_threads_need_no_lock(void **state)
{
    struct ends ends = ends_new();
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, write_all, &ends.out), 0);
    for (unsigned number = 0; number < ROUNDS;) {
        if (get(&ends.in, number))
            number++;
        else
            sched_yield();
        if (number % 3 == 0)
            ring_return(&ends.in);
    }
    pthread_join(thread, NULL);
    free(ends.out.ring);
}

static void what_makes_no_sense_is_not_taken(void **state)
{
    (void)state;
    for (unsigned row = 0; row < 5; row++) {
        struct ends ends = ends_new();
        const uint64_t words[] = {RING_SKIP, /* of the whole ring */
                                  (uint64_t)1 << 2 | RING_SKIP,
                                  (uint64_t)1 << 2 | RING_NOTHING,
                                  (uint64_t)(CAPACITY / 4 + 1) << 2 | RING_FRAME,
                                  UINT64_MAX << 2 | RING_FRAME};
        size_t size = 0;
        enum ring_kind kind;
        memcpy(ends.in.ring->bytes, &words[row], sizeof words[row]);
        assert_null(ring_take(&ends.in, &size, &kind));
        assert_int_equal(kind, RING_SKIP);
        free(ends.out.ring);
    }
    struct ends ends = ends_new();
    ends.out.ring->returned = UINT64_MAX / 2; /* more than was ever written */
    unsigned number = 0;
    while (put(&ends.out, number))
        assert_true(number++ < CAPACITY);
    assert_true(ends.out.written <= CAPACITY);
    free(ends.out.ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_ring_takes_no_more_until_some_is_returned),
        cmocka_unit_test(two_threads_need_no_lock),
        cmocka_unit_test(what_makes_no_sense_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
