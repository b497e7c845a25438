/* rollsum_test.c - chunks of rolls and their sums (hashing/rollsum.h). */
#include "hashing/identity.h"
#include "hashing/rollsum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

__extension__ typedef unsigned __int128 wide;

static moot_hash nth(uint32_t n) { return digest_bytes(&n, sizeof(n)); }

static wide wide_of(const moot_hash *hash)
{
    wide value = 0;
    for (int i = MOOT_HASH_BYTES - 1; i >= 0; i--) {
        value = value << 8 | hash->bytes[i];
    }
    return value;
}

static bool is(const struct rollsum *sum, wide value)
{
    return sum->low == (uint64_t)value && sum->high == (uint64_t)(value >> 64);
}

static void sums_are_modulo_2_to_the_128(void **state)
{
    (void)state;
    struct rollsum sum = {0, 0};
    wide value = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        moot_hash hash = nth(i);
        rollsum_add(&sum, &hash);
        value += wide_of(&hash);
        assert_true(is(&sum, value));
    }
    for (uint32_t i = 0; i < 2000; i += 3) {
        moot_hash hash = nth(i);
        rollsum_subtract(&sum, &hash);
        value -= wide_of(&hash);
        assert_true(is(&sum, value));
    }
}

static void carries_and_borrows_cross_the_words(void **state)
{
    (void)state;
    moot_hash one = {{1}}, ones;
    memset(ones.bytes, 0xff, sizeof(ones.bytes));
    struct rollsum sum = {UINT64_MAX, 0};
    rollsum_add(&sum, &one);
    assert_true(is(&sum, (wide)1 << 64));
    rollsum_subtract(&sum, &one);
    assert_true(is(&sum, UINT64_MAX));
    rollsum_add(&sum, &ones); /* minus one */
    assert_true(is(&sum, UINT64_MAX - 1));
    sum = (struct rollsum){0, 0};
    rollsum_subtract(&sum, &one);
    assert_true(is(&sum, ~(wide)0));
}

static void the_order_does_not_count_but_the_members_do(void **state)
{
    (void)state;
    struct rollsum up = {0, 0}, down = {0, 0};
    for (uint32_t i = 0; i < 500; i++) {
        moot_hash first = nth(i), last = nth(499 - i);
        rollsum_add(&up, &first);
        rollsum_add(&down, &last);
    }
    assert_true(rollsum_equal(&up, &down));
    moot_hash odd = nth(7);
    rollsum_subtract(&down, &odd);
    assert_false(rollsum_equal(&up, &down));
    odd = nth(500);
    rollsum_add(&down, &odd);
    assert_false(rollsum_equal(&up, &down));
}

static void one_task_in_256_ends_a_chunk(void **state)
{
    (void)state;
    uint32_t ends = 0;
    for (uint32_t i = 0; i < 256 * 1000; i++) {
        moot_hash hash = nth(i);
        ends += rollsum_ends_chunk(&hash);
    }
    assert_in_range(ends, 900, 1100);
    moot_hash end = {{0, 255}}, inside = {{1, 0}};
    assert_true(rollsum_ends_chunk(&end));
    assert_false(rollsum_ends_chunk(&inside));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_modulo_2_to_the_128),
        cmocka_unit_test(carries_and_borrows_cross_the_words),
        cmocka_unit_test(the_order_does_not_count_but_the_members_do),
        cmocka_unit_test(one_task_in_256_ends_a_chunk),
    };
    return hashing_init() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
