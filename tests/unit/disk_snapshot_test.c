/* disk_snapshot_test.c - a snapshot of the store is whole or not there, and going back
 * to one finds what it names and nothing later.
 *
 * With `--make DIR` it fills the folder instead: two snapshots, of 20 and 30 records.
 */
#include "disk_bench.h"
#include "disk_simulated.h"
#include "disk_snapshot_bench.h"

#include "node/diskstore/disk_private.h"
#include "node/diskstore/disk_prune.h"
#include "node/diskstore/disk_sealed.h"
#include "node/diskstore/disk_snapshot.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static void a_part_has_what_was_put_before_the_cut(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore_snapshot found;
    struct waited waited;
    const moot_hash id = bench_hash(77);
    struct diskstore *store = bench_open(bench, NULL);
    begin_wait(&waited);
    put_from(bench, store, 0, 40, 0);
    assert_true(diskstore_cut(store, &id, 3, note_end, &waited));
    put_from(bench, store, 40, 60, 0);
    end_wait(&waited);
    assert_int_equal(waited.part.records, 40);
    assert_int_equal(waited.part.rank, 3);
    assert_false(is_there(store, "noon", &found));
    const struct diskstore_part part = waited.part;
    assert_true(commit(store, &id, "noon", &part, 1, &waited));
    assert_true(is_there(store, "noon", &found));
    assert_true(hash_equal(&found.id, &id));
    assert_int_equal(found.records, 40);
    assert_false(is_there(store, "moon", &found));
    diskstore_close(store);
}

static void who_writes_no_more_is_in(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore_snapshot found;
    const pid_t child = fork();
    if (child == 0) {
        struct diskstore *store = bench_open(bench, NULL);
        put_from(bench, store, 0, 30, 0);
        diskstore_flush(store);
        _exit(0); /* dies: nothing is closed */
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct diskstore *store = bench_open(bench, NULL);
    put_from(bench, store, 30, 40, 0);
    const moot_hash id = snapshot(store, 1, "both");
    assert_true(is_there(store, "both", &found));
    assert_int_equal(found.records, 40);
    put_from(bench, store, 40, 50, 0);
    go_back(store, 1, &id);
    for (uint64_t number = 0; number < 50; number++) {
        assert_int_equal(finds(store, number), number < 40);
    }
    diskstore_close(store);
}

/* A rank of a later view, which has died since; its results may be made from what is in
 * no part. */
static void who_begins_to_write_after_the_cut_is_left_out(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore_snapshot found;
    struct waited waited;
    int to[2] = {-1, -1};
    char byte;
    assert_int_equal(pipe(to), 0);
    const pid_t child = fork();
    if (child == 0) {
        const bool told = read(to[0], &byte, 1) == 1;
        struct diskstore *late = bench_open(bench, NULL);
        put_from(bench, late, 40, 70, 0);
        diskstore_flush(late);
        _exit(told ? 0 : 1);
    }
    struct diskstore *store = bench_open(bench, NULL);
    put_from(bench, store, 0, 40, 0);
    const moot_hash id = bench_hash(8);
    const struct diskstore_part part = cut(store, &id, 0);
    assert_int_equal(write(to[1], "x", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(commit(store, &id, "first", &part, 1, &waited));
    assert_true(is_there(store, "first", &found));
    assert_int_equal(found.records, 40);
    snapshot(store, 2, "second");
    assert_true(is_there(store, "second", &found));
    assert_int_equal(found.records, 70);
    diskstore_close(store);
    close(to[0]), close(to[1]);
}

static void a_commit_is_of_the_last_cut(void **state)
{
    struct folder_bench *bench = *state;
    struct waited waited;
    struct diskstore *store = bench_open(bench, NULL);
    put_from(bench, store, 0, 4, 0);
    const moot_hash id = bench_hash(8);
    const struct diskstore_part part = cut(store, &id, 0);
    snapshot(store, 2, "second");
    assert_false(commit(store, &id, "first", &part, 1, &waited));
    assert_non_null(strstr(waited.why, "another cut has followed"));
    diskstore_close(store);
}

static void a_reload_makes_void_what_came_later_but_once_tasks(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore *store = bench_open(bench, NULL);
    put_from(bench, store, 0, 20, 0);
    const moot_hash first = snapshot(store, 1, "first");
    put_from(bench, store, 20, 30, 0);
    const struct diskstore_record accepted = {.hash = bench_hash(25),
                                              .kind = DISKSTORE_ACCEPTED};
    assert_true(diskstore_put_now(store, &accepted));
    go_back(store, 1, &first);
    put_from(bench, store, 28, 29, 0); /* a run of before the reload, that ends late */
    put_from(bench, store, 29, 35, 1);
    diskstore_flush(store);
    put_from(bench, store, 29, 30, 0);
    diskstore_flush(store);
    for (int round = 0; round < 2; round++) {
        for (uint64_t number = 0; number < 40; number++) {
            assert_int_equal(finds(store, number), number < 20 || number == 25 ||
                                                       (number >= 29 && number < 35));
        }
        diskstore_close(store);
        store = bench_open(bench, NULL);
        assert_int_equal(diskstore_generation(store), 1);
    }
    diskstore_close(store);
}

/* Else who goes back to it would find results of two times side by side. */
static void a_snapshot_names_nothing_that_a_reload_made_void(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore *store = bench_open(bench, NULL);
    put_from(bench, store, 0, 10, 0);
    const moot_hash first = snapshot(store, 1, "first");
    put_from(bench, store, 10, 20, 0);
    const struct diskstore_record accepted = {.hash = bench_hash(15),
                                              .kind = DISKSTORE_ACCEPTED};
    assert_true(diskstore_put_now(store, &accepted));
    go_back(store, 1, &first);
    put_from(bench, store, 20, 30, 1);
    const moot_hash second = snapshot(store, 2, "second");
    go_back(store, 2, &second);
    for (uint64_t number = 0; number < 30; number++) {
        assert_int_equal(finds(store, number),
                         number < 10 || number == 15 || number >= 20);
    }
    diskstore_close(store);
}

static void a_result_that_a_snapshot_names_is_not_written_over(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore_found found;
    struct diskstore *store = bench_open(bench, NULL);
    const moot_hash hash = bench_hash(1);
    struct diskstore_record record = {
        .hash = hash, .kind = DISKSTORE_RESULT, .data = "one", .size = 3};
    assert_true(diskstore_put_now(store, &record));
    const moot_hash first = snapshot(store, 1, "first");
    record.data = "two";
    assert_true(diskstore_put_now(store, &record));
    const moot_hash second = snapshot(store, 2, "second");
    go_back(store, 1, &first);
    assert_true(diskstore_find(store, &hash, DISKSTORE_RESULT, &found));
    assert_memory_equal(found.data, "one", 3);
    free(found.data);
    go_back(store, 2, &second);
    assert_true(diskstore_find(store, &hash, DISKSTORE_RESULT, &found));
    assert_memory_equal(found.data, "one", 3);
    free(found.data);
    diskstore_close(store);
}

static void prune_keeps_what_snapshots_name(void **state)
{
    struct folder_bench *bench = *state;
    struct disk_prune_counts counts;
    struct diskstore_found found;
    struct text why = {0};
    struct diskstore *store = bench_open(bench, NULL);
    const moot_hash hash = bench_hash(5);
    struct diskstore_record record = {
        .hash = hash, .kind = DISKSTORE_RESULT, .data = "one", .size = 3};
    const moot_hash none = snapshot(store, 1, "empty");
    put_from(bench, store, 10, 20, 0);
    assert_true(diskstore_put_now(store, &record));
    const moot_hash full = snapshot(store, 2, "full");
    put_from(bench, store, 20, 30, 0);
    diskstore_flush(store);
    go_back(store, 1, &none);
    record.generation = 1;
    record.data = "two";
    assert_true(diskstore_put_now(store, &record));
    diskstore_close(store);

    struct disk_prune_options options = {.age_max_ns = 1};
    assert_int_equal(disk_prune(bench->folder, &options, &counts, &why), MOOT_OK);
    assert_int_equal(counts.snapshots, 2);
    assert_int_equal(counts.undone, 10);
    assert_int_equal(counts.kept, 11); /* "two" is older than a nanosecond */
    store = bench_open(bench, NULL);
    assert_false(diskstore_find(store, &hash, DISKSTORE_RESULT, &found));
    record.generation = 1;
    assert_true(diskstore_put_now(store, &record));
    diskstore_close(store);

    store = bench_open(bench, NULL);
    put_from(bench, store, 100, 101, 1);
    diskstore_close(store);
    options = (struct disk_prune_options){.dry = false};
    assert_int_equal(disk_prune(bench->folder, &options, &counts, &why), MOOT_OK);
    assert_int_equal(counts.kept, 13); /* "one" and "two" */
    store = bench_open(bench, NULL);
    assert_true(diskstore_find(store, &hash, DISKSTORE_RESULT, &found));
    assert_memory_equal(found.data, "two", 3);
    free(found.data);
    go_back(store, 2, &full);
    assert_true(diskstore_find(store, &hash, DISKSTORE_RESULT, &found));
    assert_memory_equal(found.data, "one", 3);
    free(found.data);
    for (uint64_t number = 10; number < 30; number++) {
        assert_int_equal(finds(store, number), number < 20);
    }
    diskstore_close(store);

    options.snapshot = "full";
    assert_int_equal(disk_prune(bench->folder, &options, &counts, &why), MOOT_ERR_FILE);
    options.snapshot = "empty";
    assert_int_equal(disk_prune(bench->folder, &options, &counts, &why), MOOT_OK);
    assert_int_equal(counts.snapshots, 1);
    assert_int_equal(counts.kept, 11); /* "one" and what "full" names besides */
    options.snapshot = "empty";
    assert_int_equal(disk_prune(bench->folder, &options, &counts, &why), MOOT_ERR_FILE);
    text_release(&why);
}

/* Another part of as many records, in the place of the one that the commit names. */
static void replace_part(const struct folder_bench *bench, const moot_hash *id,
                         size_t records)
{
    struct disk_set set = {0};
    struct diskstore_found found = {.size = 1};
    struct diskstore_part part = {.rank = 0};
    for (size_t i = 0; i < records; i++) {
        found.hash = bench_hash(i);
        assert_true(disk_set_add(&set, &found));
    }
    assert_true(disk_part_write(bench->folder, id, "", &set, &part));
    disk_set_release(&set);
}

static void a_part_is_the_one_that_the_commit_names(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore_snapshot found;
    struct diskstore *store = bench_open(bench, NULL);
    put_from(bench, store, 0, 10, 0);
    const moot_hash id = snapshot(store, 1, "first");
    assert_true(is_there(store, "first", &found));
    replace_part(bench, &id, 10);
    assert_false(is_there(store, "first", &found));
    diskstore_close(store);
}

static void damage_makes_it_no_snapshot(void **state)
{
    struct folder_bench *bench = *state;
    char path[BENCH_PATH], id[MOOT_HASH_TEXT_BYTES];
    struct diskstore_snapshot found;
    struct text why = {0};
    struct diskstore *store = bench_open(bench, NULL);
    put_from(bench, store, 0, 10, 0);
    const moot_hash first = snapshot(store, 1, "first");
    const moot_hash second = snapshot(store, 2, "second");
    go_back(store, 1, &second);
    diskstore_close(store);
    store = bench_open(bench, NULL);
    assert_true(is_there(store, "first", &found));
    snprintf(path, sizeof(path), "%s/snapshots/%s/rank-0", bench->folder,
             hash_format(&first, id));
    assert_int_equal(truncate(path, 100), 0);
    assert_false(is_there(store, "first", &found));
    assert_false(diskstore_go_back(store, 2, &first, &why));
    assert_int_equal(diskstore_generation(store), 1);
    diskstore_close(store);
    snprintf(path, sizeof(path), "%s/snapshots/%s/rank-0", bench->folder,
             hash_format(&second, id));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(diskstore_open(bench->folder, NULL, &why, &store), MOOT_ERR_FILE);
    text_release(&why);
}

/* Whether another process takes the only environment for one whose writer lives. */
static bool others_see_a_writer(struct folder_bench *bench)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        size_t count = 0;
        struct disk_env_name *all = NULL;
        const bool listed = disk_env_list(bench->folder, NULL, &all, &count);
        _exit(listed && count == 1 && all[0].alive ? 0 : 1);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

/* A reader that takes it for dead reads what is being written. */
/* The digests of some records are not theirs. */
static bool flips_every_fifth(void *context, uint64_t *word)
{
    unsigned *records = context;
    *word = 700;
    return (*records)++ % 5 == 0;
}

static bool is_never_full(void *context)
{
    (void)context;
    return false;
}

/* Records that are damaged, and those whose data are gone; of this process, and of one
 * that writes no more. */
static void a_snapshot_says_what_it_leaves_out(void **state)
{
    struct folder_bench *bench = *state;
    unsigned records = 0;
    char path[BENCH_PATH], text[64];
    struct disk_snapshot read;
    struct disk_set set = {0};
    struct waited waited;
    const moot_hash id = bench_hash(7000);
    const pid_t child = fork();
    if (child == 0) {
        struct diskstore *store = bench_open(bench, NULL);
        const struct diskstore_harm harm = {&records, is_never_full, flips_every_fifth};
        diskstore_harm(store, &harm);
        put_from(bench, store, 100, 120, 0);
        diskstore_flush(store);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct diskstore *store = bench_open(bench, NULL);
    struct diskstore_record record = bench_record(bench, 1);
    for (uint64_t i = 0; i < 3; i++) {
        record.hash = bench_hash(200 + i);
        record.size = 300000;
        assert_true(diskstore_put_now(store, &record));
    }
    snprintf(path, sizeof(path), "%.3000s/large/%016x", store->own_path, 2);
    assert_int_equal(unlink(path), 0);
    const struct diskstore_part part = cut(store, &id, 0);
    assert_int_equal(part.records, 2);
    assert_int_equal(part.left_out, 1);
    assert_true(commit(store, &id, "some", &part, 1, &waited));
    assert_int_equal(waited.part.left_out, 4);
    assert_true(disk_snapshot_read(bench->folder, &id, &read, &set));
    assert_true(disk_snapshot_is_whole(&read));
    assert_int_equal(set.count, 18);
    assert_int_equal(read.left_out, 5);
    assert_string_equal(disk_snapshot_state(&read, text, sizeof(text)),
                        "whole, without 5 that could not be read");
    disk_snapshot_release(&read);
    disk_set_release(&set);
    diskstore_close(store);
}

/* Such a part has no word about it. */
static void a_part_of_before_left_out_nothing_that_is_known(void **state)
{
    const struct folder_bench *bench = *state;
    static const char mark[] = "mootpart";
    char path[BENCH_PATH], text[MOOT_HASH_TEXT_BYTES];
    const moot_hash id = bench_hash(7001);
    struct disk_set set = {.left_out = 9}, again = {0};
    const struct diskstore_found found = {.hash = bench_hash(1), .size = 4};
    struct diskstore_part part = {.rank = 3};
    size_t size;
    assert_true(disk_set_add(&set, &found));
    assert_true(disk_part_write(bench->folder, &id, "x", &set, &part));
    assert_true(disk_part_read(bench->folder, &id, &part, NULL, NULL));
    assert_int_equal(part.left_out, 9);
    snprintf(path, sizeof(path), "%s/snapshots/%s", bench->folder,
             hash_format(&id, text));
    void *body = disk_sealed_read(path, "rank-3", mark, &size, part.digest);
    assert_non_null(body);
    assert_true(disk_sealed_write(path, "rank-3", mark, body, size - 8, part.digest));
    free(body);
    assert_true(disk_part_read(bench->folder, &id, &part, &again, NULL));
    assert_int_equal(part.left_out, 0);
    assert_int_equal(again.count, 1);
    disk_set_release(&set);
    disk_set_release(&again);
}

static void who_has_made_a_snapshot_still_lives(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore *store = bench_open(bench, NULL);
    put_from(bench, store, 0, 4, 0);
    diskstore_flush(store);
    assert_true(others_see_a_writer(bench));
    (void)snapshot(store, 1, "x");
    assert_true(others_see_a_writer(bench));
    (void)diskstore_look_again(store);
    assert_true(others_see_a_writer(bench));
    diskstore_close(store);
}

/* A rank that has left is about to end.  The commit waits for that, and nothing for the
 * commit: what is put behind it is written meanwhile. */
static void a_commit_waits_for_who_ends_soon(void **state)
{
    struct folder_bench *bench = *state;
    struct waited waited;
    struct diskstore_snapshot found;
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    char byte;
    assert_true(pipe(to) == 0 && pipe(from) == 0);
    const pid_t child = fork();
    if (child == 0) {
        struct diskstore *other = bench_open(bench, NULL);
        put_from(bench, other, 0, 40, 0);
        diskstore_flush(other);
        _exit(write(from[1], "x", 1) == 1 && read(to[0], &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(read(from[0], &byte, 1), 1);
    struct diskstore *store = bench_open(bench, NULL);
    const moot_hash id = bench_hash(5);
    const struct diskstore_part part = cut(store, &id, 0);
    const struct diskstore_commit ask = {
        .id = id, .name = "x", .parts = &part, .part_count = 1};
    begin_wait(&waited);
    assert_true(diskstore_commit(store, &ask, note_end, &waited));
    put_from(bench, store, 40, 50, 0);
    diskstore_flush(store);
    assert_true(finds(store, 49));
    assert_false(is_there(store, "x", &found));
    assert_int_equal(write(to[1], "x", 1), 1);
    end_wait(&waited);
    if (!waited.good) {
        fail_msg("%s", waited.why);
    }
    assert_true(is_there(store, "x", &found));
    assert_int_equal(found.records, 40);
    assert_int_equal(waitpid(child, NULL, 0), child);
    diskstore_close(store);
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
}

/* However long its process lives. */
static void a_rank_that_has_finished_writes_no_more(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore_snapshot found;
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    char byte;
    assert_true(pipe(to) == 0 && pipe(from) == 0);
    const pid_t child = fork();
    if (child == 0) {
        struct diskstore *other = bench_open(bench, NULL);
        put_from(bench, other, 0, 30, 0);
        diskstore_freeze(other);
        _exit(write(from[1], "x", 1) == 1 && read(to[0], &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(read(from[0], &byte, 1), 1);
    struct diskstore *store = bench_open(bench, NULL);
    snapshot(store, 1, "x");
    assert_true(is_there(store, "x", &found));
    assert_int_equal(found.records, 30);
    assert_true(finds(store, 29));
    assert_int_equal(write(to[1], "x", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    diskstore_close(store);
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
}

static void a_commit_needs_all_parts_and_no_stranger(void **state)
{
    struct folder_bench *bench = *state;
    struct waited waited;
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    char byte;
    assert_true(pipe(to) == 0 && pipe(from) == 0);
    const pid_t child = fork();
    if (child == 0) {
        struct diskstore *other = bench_open(bench, NULL);
        put_from(bench, other, 0, 30, 0);
        diskstore_flush(other);
        _exit(write(from[1], "x", 1) == 1 && read(to[0], &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(read(from[0], &byte, 1), 1);
    struct diskstore *store = bench_open(bench, NULL);
    const moot_hash id = bench_hash(5);
    struct diskstore_part parts[2] = {cut(store, &id, 0)};
    parts[1] = parts[0];
    parts[1].rank = 1;
    assert_false(commit(store, &id, "x", parts, 2, &waited));
    assert_non_null(strstr(waited.why, "rank 1 has written is not there"));
    assert_false(commit(store, &id, "x", parts, 1, &waited));
    assert_non_null(strstr(waited.why, "is no rank of this view"));
    assert_int_equal(write(to[1], "x", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(commit(store, &id, "x", parts, 1, &waited));
    diskstore_close(store);
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
}

static void what_a_snapshot_names_survives_a_loss_of_power(void **state)
{
    struct folder_bench *bench = *state;
    uint64_t seed = 6, lost = 0;
    for (uint64_t round = 0; round < 20; round++) {
        const struct diskstore_options options = {.sync = false};
        struct diskstore *store = NULL;
        struct text why = {0};
        assert_int_equal(
            disk_open_on(&sim_table, bench->folder, &options, &why, &store), MOOT_OK);
        put_from(bench, store, 0, 40, 0);
        (void)snapshot(store, round, "safe");
        put_from(bench, store, 40, 80, 0);
        diskstore_close(store);
        sim_lose_power(&seed);
        assert_int_equal(
            disk_open_on(&sim_table, bench->folder, &options, &why, &store), MOOT_OK);
        for (uint64_t number = 0; number < 80; number++) {
            const bool has = finds(store, number);
            assert_true(has || number >= 40);
            lost += !has;
        }
        diskstore_close(store);
        text_release(&why);
        sim_forget();
        bench_empty_folder(bench->folder);
    }
    assert_true(lost > 0);
}

/* Makes snapshots, and says so of each, until it is killed. */
static void make_snapshots(struct folder_bench *bench, int told)
{
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = 0;; number++) {
        put_from(bench, store, 20 * number, 20 * number + 20, 0);
        (void)snapshot(store, number, "again");
        if (write(told, "x", 1) != 1) {
            _exit(1);
        }
    }
}

/* Kills a maker of snapshots, which has told of `least`, at a moment that is drawn. */
static void kill_maker(struct folder_bench *bench, uint64_t *seed, uint64_t least)
{
    int told[2];
    char byte;
    assert_int_equal(pipe(told), 0);
    const pid_t child = fork();
    if (child == 0) {
        make_snapshots(bench, told[1]);
    }
    for (uint64_t i = 0; i < least; i++) {
        assert_int_equal(read(told[0], &byte, 1), 1);
    }
    usleep((useconds_t)bench_draw(seed, 20000));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(told[0]);
    close(told[1]);
}

static void a_kill_leaves_each_snapshot_whole_or_none(void **state)
{
    struct folder_bench *bench = *state;
    uint64_t seed = 7;
    for (unsigned round = 0; round < 20; round++) {
        const uint64_t least = bench_draw(&seed, 4);
        size_t count, whole = 0;
        kill_maker(bench, &seed, least);
        struct disk_snapshot *all = disk_snapshot_list(bench->folder, true, &count);
        struct diskstore *store = bench_open(bench, NULL);
        for (size_t i = 0; i < count; i++) {
            whole += all[i].committed;
            assert_false(all[i].damaged);
            assert_true(!all[i].committed || disk_snapshot_is_whole(&all[i]));
            for (uint64_t number = 0; number < all[i].records; number++) {
                assert_true(finds(store, number));
            }
        }
        assert_true(whole >= least);
        diskstore_close(store);
        disk_snapshot_list_free(all, count);
        bench_empty_folder(bench->folder);
    }
}

/* `last` names the last one. */
static int make_folder_for_others(const char *folder, const char *last)
{
    struct folder_bench bench;
    snprintf(bench.folder, sizeof(bench.folder), "%s", folder);
    bench.data = malloc(BENCH_DATA_MAX);
    assert_true(bench.data != NULL && hashing_init());
    struct diskstore *store = bench_open(&bench, NULL);
    put_from(&bench, store, 0, 20, 0);
    (void)snapshot(store, 1, "morning");
    put_from(&bench, store, 20, 30, 0);
    (void)snapshot(store, 2, last);
    diskstore_close(store);
    free(bench.data);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(a_part_has_what_was_put_before_the_cut),
        BENCH_TEST(who_writes_no_more_is_in),
        BENCH_TEST(who_begins_to_write_after_the_cut_is_left_out),
        BENCH_TEST(a_commit_is_of_the_last_cut),
        BENCH_TEST(a_reload_makes_void_what_came_later_but_once_tasks),
        BENCH_TEST(a_snapshot_names_nothing_that_a_reload_made_void),
        BENCH_TEST(a_result_that_a_snapshot_names_is_not_written_over),
        BENCH_TEST(prune_keeps_what_snapshots_name),
        BENCH_TEST(a_part_is_the_one_that_the_commit_names),
        BENCH_TEST(damage_makes_it_no_snapshot),
        BENCH_TEST(a_snapshot_says_what_it_leaves_out),
        BENCH_TEST(a_part_of_before_left_out_nothing_that_is_known),
        BENCH_TEST(who_has_made_a_snapshot_still_lives),
        BENCH_TEST(a_commit_waits_for_who_ends_soon),
        BENCH_TEST(a_rank_that_has_finished_writes_no_more),
        BENCH_TEST(a_commit_needs_all_parts_and_no_stranger),
        BENCH_TEST(what_a_snapshot_names_survives_a_loss_of_power),
        BENCH_TEST(a_kill_leaves_each_snapshot_whole_or_none),
    };
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "--make") == 0) {
        return make_folder_for_others(argv[2], argc == 4 ? argv[3] : "evening");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
