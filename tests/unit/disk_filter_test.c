/* disk_filter_test.c - a filter misses no key of its own, and takes few others for one.
 */
#include "disk_bench.h"

#include "node/diskstore/disk_filter.h"

enum { KEYS = 20000, SCOPE_AT = 9, SCOPE_BYTES = 6 };

/* Tasks of one scope have bytes in common, in which only others differ. */
static struct disk_key draw_key(uint64_t number, bool scoped, enum diskstore_kind kind)
{
    moot_hash hash = bench_hash(number);
    if (scoped) {
        memset(hash.bytes + SCOPE_AT, 7, SCOPE_BYTES);
    }
    return disk_key(&hash, kind);
}

static struct disk_filter *fill_filter(uint64_t keys, bool scoped)
{
    struct disk_filter *filter = disk_filter_new(keys);
    assert_non_null(filter);
    for (uint64_t i = 0; i < keys; i++) {
        const struct disk_key key = draw_key(i, scoped, DISKSTORE_RESULT);
        disk_filter_add(filter, disk_filter_mark(&key));
    }
    return filter;
}

static bool has(const struct disk_filter *filter, const struct disk_key *key)
{
    const uint64_t mark = disk_filter_mark(key);
    disk_filter_expect(filter, mark);
    return disk_filter_may_have(filter, mark);
}

static void a_filter_misses_none_of_its_keys(void **state)
{
    (void)state;
    const uint64_t counts[] = {1, 2, 31, 32, 33, 1000, KEYS};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        for (int scoped = 0; scoped < 2; scoped++) {
            struct disk_filter *filter = fill_filter(counts[i], scoped != 0);
            for (uint64_t j = 0; j < counts[i]; j++) {
                const struct disk_key key = draw_key(j, scoped != 0, DISKSTORE_RESULT);
                assert_true(has(filter, &key));
            }
            free(filter);
        }
    }
}

static void few_foreign_keys_are_taken_for_its_own(void **state)
{
    (void)state;
    for (int scoped = 0; scoped < 2; scoped++) {
        struct disk_filter *filter = fill_filter(KEYS, scoped != 0);
        unsigned others = 0, kinds = 0;
        for (uint64_t i = 0; i < KEYS; i++) {
            const struct disk_key other =
                draw_key(KEYS + i, scoped != 0, DISKSTORE_RESULT);
            const struct disk_key kind = draw_key(i, scoped != 0, DISKSTORE_ACCEPTED);
            others += has(filter, &other);
            kinds += has(filter, &kind);
        }
        /* One in a thousand. */
        assert_in_range(others, 1, 2 * KEYS / 1000);
        assert_in_range(kinds, 1, 2 * KEYS / 1000);
        free(filter);
    }
}

static void an_empty_filter_has_none(void **state)
{
    (void)state;
    struct disk_filter *filter = disk_filter_new(0);
    const struct disk_key key = draw_key(1, false, DISKSTORE_RESULT);
    assert_non_null(filter);
    assert_false(has(filter, &key));
    free(filter);
    assert_null(disk_filter_new(UINT64_MAX));
    assert_in_range(disk_filter_bytes(10000000), 20000000, 20001000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(a_filter_misses_none_of_its_keys),
        BENCH_TEST(few_foreign_keys_are_taken_for_its_own),
        BENCH_TEST(an_empty_filter_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
