/* seal_test.c - what a seal (node/transport/carrier/seal.h) lets through, and what not.
 */
#include "node/transport/carrier/seal.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_BYTES = 300, SEALED_BYTES = TEXT_BYTES + SEAL_BYTES };

static const unsigned char job_key[SEAL_KEY_BYTES] = "a key of a job, of 32 bytes ...";

struct pair {
    struct seal a, b;
    unsigned char text[TEXT_BYTES], sealed[SEALED_BYTES], opened[TEXT_BYTES];
};

static void pair_begin(struct pair *p)
{
    seal_begin(&p->a, job_key, 11, 22);
    seal_begin(&p->b, job_key, 22, 11);
    for (size_t i = 0; i < TEXT_BYTES; i++) {
        p->text[i] = (unsigned char)(i * 7);
    }
}

static void what_was_sealed_is_opened_by_its_receiver(void **state)
{
    struct pair p;
    (void)state;
    pair_begin(&p);
    for (size_t size = 0; size <= TEXT_BYTES; size++) {
        memset(p.opened, 0, sizeof(p.opened));
        seal_close(&p.a, p.text, size, p.sealed);
        assert_int_equal(seal_open(&p.b, p.sealed, size + SEAL_BYTES, true, p.opened),
                         SEAL_OPENED);
        assert_memory_equal(p.opened, p.text, size);
    }
    seal_close(&p.b, p.text, TEXT_BYTES, p.sealed); /* the other way */
    assert_int_equal(seal_open(&p.a, p.sealed, SEALED_BYTES, true, p.opened),
                     SEAL_OPENED);
}

static void the_bytes_are_not_to_be_read(void **state)
{
    struct pair p;
    unsigned char again[SEALED_BYTES];
    (void)state;
    pair_begin(&p);
    seal_close(&p.a, p.text, TEXT_BYTES, p.sealed);
    seal_close(&p.a, p.text, TEXT_BYTES, again);
    for (size_t i = 0; i + 16 <= SEALED_BYTES; i++) {
        assert_true(memcmp(p.sealed + i, p.text, 16) != 0);
    }
    assert_true(memcmp(p.sealed + SEAL_NUMBER_BYTES, again + SEAL_NUMBER_BYTES,
                       TEXT_BYTES) != 0);
}

static void what_was_changed_or_cut_is_refused(void **state)
{
    struct pair p;
    (void)state;
    pair_begin(&p);
    seal_close(&p.a, p.text, TEXT_BYTES, p.sealed);
    for (size_t bit = 0; bit < (size_t)SEALED_BYTES * 8; bit++) {
        p.sealed[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_int_equal(seal_open(&p.b, p.sealed, SEALED_BYTES, false, p.opened),
                         SEAL_FORGED);
        p.sealed[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (size_t size = 0; size < SEALED_BYTES; size++) {
        assert_int_equal(seal_open(&p.b, p.sealed, size, false, p.opened), SEAL_FORGED);
    }
    assert_int_equal(seal_open(&p.b, p.sealed, SEALED_BYTES, false, p.opened),
                     SEAL_OPENED);
}

static void who_is_not_meant_cannot_open_it(void **state)
{
    static const unsigned char other_key[SEAL_KEY_BYTES] = {1};
    struct pair p;
    struct seal stranger;
    (void)state;
    pair_begin(&p);
    seal_close(&p.a, p.text, TEXT_BYTES, p.sealed);
    assert_int_equal(seal_open(&p.a, p.sealed, SEALED_BYTES, false, p.opened),
                     SEAL_FORGED);            /* reflected */
    seal_begin(&stranger, other_key, 22, 11); /* another job */
    assert_int_equal(seal_open(&stranger, p.sealed, SEALED_BYTES, false, p.opened),
                     SEAL_FORGED);
    seal_begin(&stranger, job_key, 22, 12); /* a peer under its next uid */
    assert_int_equal(seal_open(&stranger, p.sealed, SEALED_BYTES, false, p.opened),
                     SEAL_FORGED);
    seal_begin(&stranger, job_key, 23, 11); /* this end under its next */
    assert_int_equal(seal_open(&stranger, p.sealed, SEALED_BYTES, false, p.opened),
                     SEAL_FORGED);
}

static void what_comes_again_is_refused_where_numbers_rise(void **state)
{
    struct pair p;
    unsigned char later[SEALED_BYTES];
    (void)state;
    pair_begin(&p);
    seal_close(&p.a, p.text, TEXT_BYTES, p.sealed);
    seal_close(&p.a, p.text, TEXT_BYTES, later);
    assert_int_equal(seal_open(&p.b, later, SEALED_BYTES, true, p.opened), SEAL_OPENED);
    assert_int_equal(seal_open(&p.b, later, SEALED_BYTES, true, p.opened),
                     SEAL_REPEATED);
    assert_int_equal(seal_open(&p.b, p.sealed, SEALED_BYTES, true, p.opened),
                     SEAL_REPEATED);
    assert_int_equal(seal_open(&p.b, p.sealed, SEALED_BYTES, false, p.opened),
                     SEAL_OPENED);
}

/* In any order, each once; which have been is kept here without a window. */
static void what_comes_again_is_refused_where_numbers_do_not_rise(void **state)
{
    enum { DATAGRAMS = 4 * SEAL_WINDOW, TRIES = 40000 };
    static unsigned char sealed[DATAGRAMS][1 + SEAL_BYTES];
    static bool was[DATAGRAMS];
    struct pair p;
    unsigned char byte = 7, out;
    uint32_t seed = 1, highest = 0, old = 0, new = 0;
    (void)state;
    pair_begin(&p);
    for (uint32_t i = 0; i < DATAGRAMS; i++) {
        seal_close(&p.a, &byte, 1, sealed[i]);
    }
    for (uint32_t i = 0; i < TRIES; i++) {
        seed = seed * 1103515245u + 12345u;
        const uint32_t around = i * (DATAGRAMS - 2) / TRIES; /* goes on slowly */
        const uint32_t at = (around + (seed >> 8) % (2 * SEAL_WINDOW)) % DATAGRAMS;
        const bool fresh = !was[at] && (at > highest || highest - at < SEAL_WINDOW);
        assert_int_equal(seal_open(&p.b, sealed[at], sizeof(sealed[at]), false, &out),
                         fresh ? SEAL_OPENED : SEAL_REPEATED);
        old += !was[at] && !fresh;
        new += fresh;
        was[at] = was[at] || fresh;
        highest = at > highest ? at : highest;
    }
    assert_true(old > 100 && new > SEAL_WINDOW);
}

/* Nobody shifts the window who has not the key. */
static void a_forged_number_leaves_the_window_alone(void **state)
{
    struct pair p;
    unsigned char forged[SEALED_BYTES];
    (void)state;
    pair_begin(&p);
    seal_close(&p.a, p.text, TEXT_BYTES, p.sealed);
    memcpy(forged, p.sealed, sizeof(forged));
    forged[6] = 0xff;
    assert_int_equal(seal_open(&p.b, forged, SEALED_BYTES, true, p.opened),
                     SEAL_FORGED);
    assert_int_equal(seal_open(&p.b, p.sealed, SEALED_BYTES, true, p.opened),
                     SEAL_OPENED);
}

static void wires_of_one_job_share_a_secret_that_is_not_its_key(void **state)
{
    static const unsigned char other_key[SEAL_KEY_BYTES] = {1};
    unsigned char one[SEAL_KEY_BYTES], same[SEAL_KEY_BYTES], other[SEAL_KEY_BYTES];
    uint64_t job, same_job, other_job;
    (void)state;
    seal_share(job_key, one, &job);
    seal_share(job_key, same, &same_job);
    seal_share(other_key, other, &other_job);
    assert_memory_equal(one, same, sizeof(one));
    assert_memory_not_equal(one, other, sizeof(one));
    assert_memory_not_equal(one, job_key, sizeof(one));
    assert_memory_not_equal(one, &job, sizeof(job));
    assert_true(job == same_job && job != other_job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_is_opened_by_its_receiver),
        cmocka_unit_test(the_bytes_are_not_to_be_read),
        cmocka_unit_test(what_was_changed_or_cut_is_refused),
        cmocka_unit_test(who_is_not_meant_cannot_open_it),
        cmocka_unit_test(what_comes_again_is_refused_where_numbers_rise),
        cmocka_unit_test(what_comes_again_is_refused_where_numbers_do_not_rise),
        cmocka_unit_test(a_forged_number_leaves_the_window_alone),
        cmocka_unit_test(wires_of_one_job_share_a_secret_that_is_not_its_key),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
