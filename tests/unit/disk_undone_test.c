/* disk_undone_test.c - what a scan of a folder says to be undone is what its last
 * reload made void, and what a prune drops.
 *
 * The snapshot and its mark are written by hand, between the lives of a store.
 */
#include "disk_scan_bench.h"

#include "node/diskstore/disk_prune.h"

enum { NUMBERS = 64 };

static void put_records(struct folder_bench *bench, uint64_t from, uint64_t to,
                        uint32_t generation)
{
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = from; number < to; number++) {
        struct diskstore_record record = bench_record(bench, number);
        record.generation = generation;
        assert_true(diskstore_put_now(store, &record));
    }
    diskstore_close(store);
}

static void put_kind(struct folder_bench *bench, uint64_t number,
                     enum diskstore_kind kind)
{
    struct diskstore *store = bench_open(bench, NULL);
    const struct diskstore_record record = {.hash = bench_hash(number), .kind = kind};
    assert_true(diskstore_put_now(store, &record));
    diskstore_close(store);
}

struct undone_scan {
    struct disk_undone undone;
    struct disk_set results; /* all */
    uint64_t records, count;
    bool numbers[NUMBERS]; /* of undone ones */
};

static void note_record(void *context, const struct disk_scan_env *env,
                        const struct diskstore_found *found)
{
    struct undone_scan *scan = context;
    (void)env;
    scan->records++;
    assert_true(found->kind != DISKSTORE_RESULT || disk_set_add(&scan->results, found));
    for (uint64_t number = 0; disk_undone_has(&scan->undone, found) && number < NUMBERS;
         number++) {
        const moot_hash hash = bench_hash(number);
        const bool is = hash_equal(&hash, &found->hash);
        scan->count += is;
        scan->numbers[number] |= is;
    }
}

/* The caller releases the results. */
static void scan_folder(const struct folder_bench *bench, struct undone_scan *scan)
{
    const struct disk_scan_visitor visitor = {.context = scan,
                                              .env = pass_env,
                                              .record = note_record,
                                              .damaged = refuse_damage};
    struct text why = {0};
    *scan = (struct undone_scan){.records = 0};
    disk_undone_read(bench->folder, &scan->undone);
    assert_int_equal(disk_scan(bench->folder, &visitor, &why), MOOT_OK);
    disk_undone_release(&scan->undone);
    disk_set_sort(&scan->results);
    text_release(&why);
}

static void expect_undone(const struct folder_bench *bench, uint64_t records,
                          uint64_t undone)
{
    struct undone_scan scan;
    scan_folder(bench, &scan);
    assert_int_equal(scan.records, records);
    assert_int_equal(scan.count, undone);
    disk_set_release(&scan.results);
}

/* A snapshot of all results that are there. */
static void make_snapshot(const struct folder_bench *bench, const moot_hash *id)
{
    struct undone_scan scan;
    struct diskstore_part part = {.rank = DISK_PART_REST};
    scan_folder(bench, &scan);
    assert_true(disk_part_write(bench->folder, id, "", &scan.results, &part));
    const struct disk_snapshot snapshot = {
        .id = *id, .name = "all", .made_ns = 1, .parts = &part, .part_count = 1};
    assert_true(disk_commit_write(bench->folder, &snapshot));
    disk_set_release(&scan.results);
}

static void a_scan_tells_what_is_undone(void **state)
{
    struct folder_bench *bench = *state;
    struct undone_scan scan;
    struct text why = {0};
    struct disk_prune_counts counts = {0};
    const struct disk_prune_options options = {.dry = false};
    const moot_hash id = bench_hash(1000);
    put_records(bench, 0, 20, 0);
    make_snapshot(bench, &id);
    put_records(bench, 20, 30, 0);
    put_kind(bench, 25, DISKSTORE_ACCEPTED);
    put_kind(bench, 40, DISKSTORE_PROGRESS);
    expect_undone(bench, 20 + 10 + 2, 0);
    assert_true(disk_mark_write(bench->folder, &(struct disk_mark){1, id}));
    put_records(bench, 29, 35, 1);
    expect_undone(bench, 20 + 10 + 2 + 6, 9 + 1); /* number 29 once, of two */
    scan_folder(bench, &scan);
    for (uint64_t number = 0; number < NUMBERS; number++) {
        assert_int_equal(scan.numbers[number],
                         (number >= 20 && number < 30 && number != 25) || number == 40);
    }
    disk_set_release(&scan.results);
    assert_int_equal(disk_prune(bench->folder, &options, &counts, &why), MOOT_OK);
    assert_int_equal(counts.undone, 9 + 1);
    expect_undone(bench, 20 + 1 + 1 + 6, 0);
    text_release(&why);
}

static void a_snapshot_that_is_not_whole_makes_nothing_undone(void **state)
{
    struct folder_bench *bench = *state;
    const moot_hash none = bench_hash(1001);
    put_records(bench, 0, 5, 0);
    assert_true(disk_mark_write(bench->folder, &(struct disk_mark){1, none}));
    expect_undone(bench, 5, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(a_scan_tells_what_is_undone),
        BENCH_TEST(a_snapshot_that_is_not_whole_makes_nothing_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
