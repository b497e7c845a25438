/* strand_test.c - a strand stops and goes on, wherever it is run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node/schedule/fiber.h"

#include <pthread.h>

/* Counts to `limit`, stopping after each number. */
struct counter {
    struct strand *strand;
    int limit, count;
    pthread_t threads[8]; /* that it was on */
};

static void count_up(void *argument)
{
    struct counter *counter = argument;
    unsigned char mark[4096]; /* its own frame stays as it is */
    memset(mark, counter->limit, sizeof(mark));
    while (counter->count < counter->limit) {
        counter->threads[counter->count % 8] = pthread_self();
        counter->count++;
        strand_suspend(counter->strand);
        for (size_t i = 0; i < sizeof(mark); i++) {
            assert_int_equal(mark[i], (unsigned char)counter->limit);
        }
    }
}

static void stops_and_goes_on(void **state)
{
    (void)state;
    struct counter counter = {.strand = strand_new(), .limit = 3};
    assert_non_null(counter.strand);
    for (int round = 0; round < 2; round++) { /* a strand serves again and again */
        counter.count = 0;
        strand_begin(counter.strand, count_up, &counter);
        for (int i = 1; i <= 3; i++) {
            assert_false(strand_run(counter.strand));
            assert_int_equal(counter.count, i);
        }
        assert_true(strand_run(counter.strand));
    }
    strand_free(counter.strand);
}

static void many_take_turns(void **state)
{
    (void)state;
    enum { COUNT = 300, LIMIT = 5 };
    struct counter *counters = calloc(COUNT, sizeof(*counters));
    for (int i = 0; i < COUNT; i++) {
        counters[i] = (struct counter){.strand = strand_new(), .limit = LIMIT};
        assert_non_null(counters[i].strand);
        strand_begin(counters[i].strand, count_up, &counters[i]);
    }
    for (int turn = 0; turn <= LIMIT; turn++) {
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(strand_run(counters[i].strand), turn == LIMIT);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(counters[i].count, LIMIT);
        strand_free(counters[i].strand);
    }
    free(counters);
}

static void *run_once(void *argument)
{
    struct counter *counter = argument;
    return strand_run(counter->strand) ? counter : NULL;
}

static void changes_threads(void **state)
{
    (void)state;
    enum { LIMIT = 6 };
    struct counter counter = {.strand = strand_new(), .limit = LIMIT};
    assert_non_null(counter.strand);
    strand_begin(counter.strand, count_up, &counter);
    for (int i = 0; i <= LIMIT; i++) {
        pthread_t thread;
        void *ended = NULL;
        assert_int_equal(pthread_create(&thread, NULL, run_once, &counter), 0);
        assert_int_equal(pthread_join(thread, &ended), 0);
        assert_int_equal(ended != NULL, i == LIMIT);
        assert_true(i == LIMIT || pthread_equal(counter.threads[i], thread));
    }
    strand_free(counter.strand);
}

/* As much stack as a thread has by default, but for a little. */
static void use_stack(void *argument)
{
    size_t *bytes = argument;
    volatile unsigned char block[64 << 10];
    block[0] = 1;
    block[sizeof(block) - 1] = 1;
    if (*bytes > sizeof(block) + 4096) {
        size_t rest = *bytes - sizeof(block) - 4096;
        use_stack(&rest);
    }
    block[1] = block[0];
}

static void has_a_threads_stack(void **state)
{
    (void)state;
    pthread_attr_t attributes;
    size_t bytes = 0;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    bytes /= 2; /* the sanitizers make frames larger */
    struct strand *strand = strand_new();
    assert_non_null(strand);
    strand_begin(strand, use_stack, &bytes);
    assert_true(strand_run(strand));
    strand_free(strand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_and_goes_on),
        cmocka_unit_test(many_take_turns),
        cmocka_unit_test(changes_threads),
        cmocka_unit_test(has_a_threads_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
