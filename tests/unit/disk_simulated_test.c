/* disk_simulated_test.c - the store over a disk that loses power, tears records and
 * flips bits: it gives the right record or none, and with `sync` nothing that it said
 * was safe is lost.
 */
#include "disk_bench.h"
#include "disk_simulated.h"

enum { ROUNDS = 60, RECORDS = 60 };

static struct diskstore *open_simulated(const struct folder_bench *bench, bool sync)
{
    const struct diskstore_options options = {.sync = sync};
    struct diskstore *store = NULL;
    struct text why = {0};
    assert_int_equal(disk_open_on(&sim_table, bench->folder, &options, &why, &store),
                     MOOT_OK);
    text_release(&why);
    return store;
}

/* Puts the records in a store that is closed again; returns how many it said were safe.
 */
static uint64_t put_simulated(struct folder_bench *bench, bool sync)
{
    uint64_t safe = 0;
    struct diskstore *store = open_simulated(bench, sync);
    for (uint64_t number = 0; number < RECORDS; number++) {
        struct diskstore_record record = bench_record(bench, number);
        if (number % 6 == 5) {
            safe = diskstore_put_now(store, &record) ? number + 1 : safe;
        } else {
            assert_true(diskstore_put(store, &record, NULL, NULL));
        }
    }
    diskstore_close(store);
    return safe;
}

/* Finds each record right or not at all; returns how many, of the first `count`. */
static uint64_t count_right(struct folder_bench *bench, uint64_t count,
                            uint64_t *damaged)
{
    struct diskstore_counts counts;
    uint64_t right = 0;
    struct diskstore *store = open_simulated(bench, false);
    for (uint64_t number = 0; number < RECORDS; number++) {
        right += bench_find(bench, store, number) && number < count;
    }
    diskstore_counts(store, &counts);
    *damaged = counts.damaged;
    diskstore_close(store);
    return right;
}

static void what_was_synced_survives_a_loss_of_power(void **state)
{
    struct folder_bench *bench = *state;
    uint64_t seed = 3, damaged;
    for (unsigned round = 0; round < 20; round++) {
        const uint64_t safe = put_simulated(bench, true);
        assert_int_equal(safe, RECORDS);
        sim_lose_power(&seed);
        assert_int_equal(count_right(bench, safe, &damaged), safe);
        assert_int_equal(damaged, 0);
        sim_forget();
        bench_empty_folder(bench->folder);
    }
}

static void what_was_not_synced_is_right_or_gone(void **state)
{
    struct folder_bench *bench = *state;
    uint64_t seed = 4, damaged, lost = 0, dropped = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        put_simulated(bench, false);
        sim_lose_power(&seed);
        lost += RECORDS - count_right(bench, RECORDS, &damaged);
        dropped += damaged;
        sim_forget();
        bench_empty_folder(bench->folder);
    }
    assert_true(lost > 0 && dropped > 0 && dropped < lost);
}

static void flipped_bits_are_found_and_another_copy_is_taken(void **state)
{
    struct folder_bench *bench = *state;
    uint64_t seed = 5, damaged, dropped = 0, whole = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        put_simulated(bench, true);
        put_simulated(bench, true); /* another process' environment */
        sim_flip_bits(&seed, 8);
        whole += count_right(bench, RECORDS, &damaged) > RECORDS * 7 / 8;
        dropped += damaged;
        sim_forget();
        bench_empty_folder(bench->folder);
    }
    assert_true(dropped > 0);
    assert_true(whole > ROUNDS / 2); /* one copy alone would have lost an eighth */
}

static void a_full_disk_fails_batches_and_nothing_else(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore_counts counts;
    uint64_t damaged;
    struct diskstore *store = open_simulated(bench, true);
    sim_disk.full_after = 20;
    for (uint64_t number = 0; number < RECORDS; number++) {
        const struct diskstore_record record = bench_record(bench, number);
        assert_true(diskstore_put(store, &record, NULL, NULL));
        if (number % 13 == 12) {
            diskstore_flush(store);
        }
    }
    diskstore_flush(store);
    diskstore_counts(store, &counts);
    assert_in_range(counts.stored, 1, 20);
    assert_int_equal(counts.failed, RECORDS - counts.stored);
    const uint64_t stored = counts.stored;
    diskstore_close(store);
    assert_int_equal(count_right(bench, RECORDS, &damaged), stored);
    sim_disk.full_after = 0;
    store = open_simulated(bench, true);
    const struct diskstore_record record = bench_record(bench, RECORDS + 1);
    assert_true(diskstore_put_now(store, &record));
    assert_true(bench_find(bench, store, RECORDS + 1));
    diskstore_counts(store, &counts);
    assert_int_equal(counts.stored, 1);
    diskstore_close(store);
    sim_forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(what_was_synced_survives_a_loss_of_power),
        BENCH_TEST(what_was_not_synced_is_right_or_gone),
        BENCH_TEST(flipped_bits_are_found_and_another_copy_is_taken),
        BENCH_TEST(a_full_disk_fails_batches_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
