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
        assert_true(seal_open(&p.b, p.sealed, size + SEAL_BYTES, true, p.opened));
        assert_memory_equal(p.opened, p.text, size);
    }
    seal_close(&p.b, p.text, TEXT_BYTES, p.sealed); /* the other way */
    assert_true(seal_open(&p.a, p.sealed, SEALED_BYTES, true, p.opened));
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
        assert_false(seal_open(&p.b, p.sealed, SEALED_BYTES, false, p.opened));
        p.sealed[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (size_t size = 0; size < SEALED_BYTES; size++) {
        assert_false(seal_open(&p.b, p.sealed, size, false, p.opened));
    }
    assert_true(seal_open(&p.b, p.sealed, SEALED_BYTES, false, p.opened));
}

static void who_is_not_meant_cannot_open_it(void **state)
{
    static const unsigned char other_key[SEAL_KEY_BYTES] = {1};
    struct pair p;
    struct seal stranger;
    (void)state;
    pair_begin(&p);
    seal_close(&p.a, p.text, TEXT_BYTES, p.sealed);
    assert_false(
        seal_open(&p.a, p.sealed, SEALED_BYTES, false, p.opened)); /* reflected */
    seal_begin(&stranger, other_key, 22, 11);                      /* another job */
    assert_false(seal_open(&stranger, p.sealed, SEALED_BYTES, false, p.opened));
    seal_begin(&stranger, job_key, 22, 12); /* a peer under its next uid */
    assert_false(seal_open(&stranger, p.sealed, SEALED_BYTES, false, p.opened));
    seal_begin(&stranger, job_key, 23, 11); /* this end under its next */
    assert_false(seal_open(&stranger, p.sealed, SEALED_BYTES, false, p.opened));
}

static void what_comes_again_is_refused_where_numbers_rise(void **state)
{
    struct pair p;
    unsigned char later[SEALED_BYTES];
    (void)state;
    pair_begin(&p);
    seal_close(&p.a, p.text, TEXT_BYTES, p.sealed);
    seal_close(&p.a, p.text, TEXT_BYTES, later);
    assert_true(seal_open(&p.b, later, SEALED_BYTES, true, p.opened));
    assert_false(seal_open(&p.b, later, SEALED_BYTES, true, p.opened));
    assert_false(seal_open(&p.b, p.sealed, SEALED_BYTES, true, p.opened));
    assert_true(
        seal_open(&p.b, p.sealed, SEALED_BYTES, false, p.opened)); /* a link's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_is_opened_by_its_receiver),
        cmocka_unit_test(the_bytes_are_not_to_be_read),
        cmocka_unit_test(what_was_changed_or_cut_is_refused),
        cmocka_unit_test(who_is_not_meant_cannot_open_it),
        cmocka_unit_test(what_comes_again_is_refused_where_numbers_rise),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
