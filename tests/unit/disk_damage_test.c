/* disk_damage_test.c - flipped bits, torn and mixed files: a damaged record is dropped
 * and counted, never given out, and no damage ends the process. */
#include "disk_bench.h"

#include "node/diskstore/disk_pages.h"
#include "node/diskstore/disk_record.h"

#include <fcntl.h>

enum { RECORDS = 120, FLIPS = 3000, TEARS = 400 };

static void read_file(const char *path, unsigned char **bytes, size_t *size)
{
    struct stat stat;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &stat) == 0);
    *size = (size_t)stat.st_size;
    *bytes = malloc(*size + 1);
    assert_non_null(*bytes);
    assert_int_equal(read(fd, *bytes, *size), stat.st_size);
    close(fd);
}

static void write_file(const char *path, const unsigned char *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

/* A folder with records in one environment, whose path and file it gives. */
static void make_records(struct folder_bench *bench, char path[BENCH_PATH],
                         unsigned char **bytes, size_t *size)
{
    char env[BENCH_PATH];
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = 0; number < RECORDS; number++) {
        const struct diskstore_record record = bench_record(bench, number);
        assert_true(diskstore_put(store, &record, NULL, NULL));
        if (number % 40 == 0) {
            diskstore_flush(store);
        }
    }
    diskstore_close(store);
    bench_env(bench, env);
    snprintf(path, BENCH_PATH, "%.4000s/data.mdb", env);
    read_file(path, bytes, size);
}

static bool count_shown(void *context, const struct disk_key *key,
                        const struct disk_value *value)
{
    struct diskstore_found found;
    struct disk_place place;
    unsigned *shown = context;
    *shown += disk_record_read(key, value->bytes, value->size, &found, &place);
    return true;
}

/* A walk through keys: which of the records it has shown. */
struct keys_seen {
    struct disk_key keys[RECORDS];
    bool shown[RECORDS];
};

static bool note_key(void *context, const struct disk_key *key)
{
    struct keys_seen *seen = context;
    for (uint64_t number = 0; number < RECORDS; number++) {
        seen->shown[number] |= memcmp(&seen->keys[number], key, sizeof(*key)) == 0;
    }
    return true;
}

/* A walk that says it has seen all keys hides none that may be there. */
static bool check_keys(struct disk_pages *pages)
{
    static struct keys_seen seen;
    for (uint64_t number = 0; number < RECORDS; number++) {
        const moot_hash hash = bench_hash(number);
        seen.keys[number] = disk_key(&hash, DISKSTORE_RESULT);
        seen.shown[number] = false;
    }
    if (disk_pages_keys(pages, note_key, &seen) != DISK_OK) {
        return false;
    }
    for (uint64_t number = 0; number < RECORDS; number++) {
        assert_true(seen.shown[number] ||
                    disk_pages_get(pages, &seen.keys[number], NULL) == DISK_NONE);
    }
    return true;
}

static unsigned walks_through; /* all keys */

/* Opens what the file is now; returns how many records are found, all of them right. */
static uint64_t count_found(struct folder_bench *bench, const char *path,
                            uint64_t *damaged)
{
    uint64_t found = 0;
    unsigned shown = 0;
    const char *why;
    struct diskstore_counts counts;
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = 0; number < RECORDS; number++) {
        found += bench_find(bench, store, number);
    }
    diskstore_counts(store, &counts);
    *damaged = counts.damaged;
    diskstore_close(store);
    struct disk_pages *pages = disk_pages_open(path, &why);
    if (pages != NULL) {
        disk_pages_each(pages, count_shown, &shown);
        walks_through += check_keys(pages);
        disk_pages_close(pages);
    }
    assert_in_range(shown, 0, 2 * RECORDS); /* of both trees, at worst */
    return found;
}

static void flipped_bits_cost_records_and_nothing_else(void **state)
{
    struct folder_bench *bench = *state;
    char path[BENCH_PATH];
    unsigned char *bytes;
    size_t size;
    uint64_t seed = 11, lost = 0, counted = 0, damaged;
    make_records(bench, path, &bytes, &size);
    assert_int_equal(count_found(bench, path, &damaged), RECORDS);
    for (unsigned i = 0; i < FLIPS; i++) {
        /* Heads of pages, where their nodes are told, get half of them. */
        const size_t page = (size_t)bench_draw(&seed, size / 4096) * 4096;
        const size_t at = page + (size_t)bench_draw(&seed, i % 2 == 0 ? 4096 : 64);
        const unsigned char before = bytes[at];
        bytes[at] ^= (unsigned char)(1 << bench_draw(&seed, 8));
        if (i % 16 == 0) {
            bytes[at] = (unsigned char)bench_draw(&seed, 256);
        }
        const int fd = open(path, O_WRONLY | O_CLOEXEC);
        assert_int_equal(pwrite(fd, bytes + at, 1, (off_t)at), 1);
        const uint64_t found = count_found(bench, path, &damaged);
        assert_true(found <= RECORDS);
        lost += RECORDS - found;
        counted += damaged > 0;
        bytes[at] = before;
        assert_int_equal(pwrite(fd, bytes + at, 1, (off_t)at), 1);
        close(fd);
    }
    assert_true(lost > 0 && counted > 0);
    assert_in_range(walks_through, 1, FLIPS - 1);
    assert_int_equal(count_found(bench, path, &damaged), RECORDS);
    assert_int_equal(damaged, 0);
    free(bytes);
}

static void torn_files_cost_records_and_nothing_else(void **state)
{
    struct folder_bench *bench = *state;
    char path[BENCH_PATH];
    unsigned char *bytes;
    size_t size;
    uint64_t seed = 12, lost = 0, damaged;
    make_records(bench, path, &bytes, &size);
    unsigned char *torn = malloc(size);
    assert_non_null(torn);
    for (unsigned i = 0; i < TEARS; i++) {
        size_t left = (size_t)bench_draw(&seed, size + 1);
        memcpy(torn, bytes, size);
        if (i % 2 == 0) { /* sectors that were never written, or come from elsewhere */
            const size_t sectors = size / 512, count = 1 + (size_t)bench_draw(&seed, 8);
            for (size_t j = 0; j < count; j++) {
                const size_t to = (size_t)bench_draw(&seed, sectors) * 512;
                const size_t from = (size_t)bench_draw(&seed, sectors) * 512;
                if (j % 2 == 0) {
                    memset(torn + to, 0, 512);
                } else {
                    memcpy(torn + to, bytes + from, 512);
                }
            }
            left = size;
        }
        write_file(path, torn, left);
        lost += RECORDS - count_found(bench, path, &damaged);
    }
    assert_true(lost > 0);
    free(torn);
    free(bytes);
}

static void a_large_file_that_is_not_as_it_was_is_dropped(void **state)
{
    struct folder_bench *bench = *state;
    static unsigned char data[300000];
    char env[BENCH_PATH], path[BENCH_PATH];
    unsigned char *bytes;
    size_t size;
    struct diskstore_found found;
    struct diskstore *store = bench_open(bench, NULL);
    const struct diskstore_record record = {.hash = bench_hash(1),
                                            .kind = DISKSTORE_RESULT,
                                            .data = data,
                                            .size = sizeof(data)};
    assert_true(diskstore_put_now(store, &record));
    bench_env(bench, env);
    snprintf(path, sizeof(path), "%.4000s/large/0000000000000001", env);
    read_file(path, &bytes, &size);
    assert_int_equal(size, sizeof(data));
    assert_true(diskstore_find(store, &record.hash, DISKSTORE_RESULT, &found));
    free(found.data);
    bytes[200000] ^= 4;
    write_file(path, bytes, size);
    assert_false(diskstore_find(store, &record.hash, DISKSTORE_RESULT, &found));
    bytes[200000] ^= 4;
    write_file(path, bytes, size - 1);
    assert_false(diskstore_find(store, &record.hash, DISKSTORE_RESULT, &found));
    unlink(path);
    assert_false(diskstore_find(store, &record.hash, DISKSTORE_RESULT, &found));
    write_file(path, bytes, size);
    assert_true(diskstore_find(store, &record.hash, DISKSTORE_RESULT, &found));
    free(found.data);
    diskstore_close(store);
    free(bytes);
}

static bool maybe_accepted(struct folder_bench *bench, uint64_t number)
{
    const moot_hash hash = bench_hash(number);
    struct diskstore *store = bench_open(bench, NULL);
    const bool maybe = diskstore_find(store, &hash, DISKSTORE_ACCEPTED, NULL);
    diskstore_close(store);
    return maybe;
}

static void damage_hides_no_acceptance(void **state)
{
    struct folder_bench *bench = *state;
    char env[BENCH_PATH], path[BENCH_PATH];
    unsigned char *bytes;
    size_t size;
    struct diskstore *store = bench_open(bench, NULL);
    const struct diskstore_record record = {.hash = bench_hash(1),
                                            .kind = DISKSTORE_ACCEPTED};
    assert_true(diskstore_put_now(store, &record));
    diskstore_close(store);
    bench_env(bench, env);
    snprintf(path, sizeof(path), "%.4000s/data.mdb", env);
    read_file(path, &bytes, &size);
    assert_true(maybe_accepted(bench, 1));
    assert_false(maybe_accepted(bench, 2));
    write_file(path, bytes, (size_t)2 * 4096); /* the tree is gone, */
    assert_true(maybe_accepted(bench, 1));
    write_file(path, bytes, 100); /* and now the way to it */
    assert_true(maybe_accepted(bench, 1));
    unlink(path);
    assert_true(maybe_accepted(bench, 1));
    write_file(path, bytes, size);
    assert_false(maybe_accepted(bench, 2));
    for (size_t page = 0; page < 2; page++) { /* the other may be older */
        bytes[page * 4096 + 16] ^= 1;
        write_file(path, bytes, size);
        assert_true(maybe_accepted(bench, 1) && maybe_accepted(bench, 2));
        bytes[page * 4096 + 16] ^= 1;
    }
    free(bytes);
}

static enum disk_end end_of_all(const char *path)
{
    const char *why;
    unsigned shown = 0;
    struct disk_pages *pages = disk_pages_open(path, &why);
    assert_non_null(pages);
    const enum disk_end end = disk_pages_each(pages, count_shown, &shown);
    disk_pages_close(pages);
    return end;
}

/* A writer that was killed before its first commit, or found no room for it. */
static void an_environment_without_a_commit_is_empty(void **state)
{
    struct folder_bench *bench = *state;
    char path[BENCH_PATH];
    const char *why;
    struct disk_env *env = disk_lmdb.open_writer(bench->folder, false, &why);
    assert_non_null(env);
    disk_lmdb.close(env);
    snprintf(path, sizeof(path), "%s/data.mdb", bench->folder);
    assert_int_equal(end_of_all(path), DISK_OK);
}

/* Whichever of its bytes that are looked at flips: the newest tree may be hidden, and a
 * walk through what is left does not say that it is all. */
static void a_damaged_meta_page_is_damage(void **state)
{
    /* Its number, the magic word, the version, the size of a page, how many records
     * there are, the root, the transaction. */
    const size_t places[] = {0, 16, 20, 40, 120, 128, 16 + 128};
    struct folder_bench *bench = *state;
    char path[BENCH_PATH];
    unsigned char *bytes;
    size_t size;
    make_records(bench, path, &bytes, &size);
    assert_int_equal(end_of_all(path), DISK_OK);
    unsigned flips = 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        for (unsigned bit = 0; bit < 3; bit++) {
            enum disk_end ends[2];
            for (size_t page = 0; page < 2; page++) {
                const size_t at = page * 4096 + places[i];
                bytes[at] ^= (unsigned char)(1 << bit);
                write_file(path, bytes, size);
                ends[page] = end_of_all(path);
                bytes[at] ^= (unsigned char)(1 << bit);
            }
            flips += ends[0] == DISK_DAMAGED;
            flips += ends[1] == DISK_DAMAGED;
        }
    }
    /* The root and the records of the older one do not matter.  One flip may give it
     * the number that follows the newest, which cannot be told from a newer one. */
    const unsigned most = 2 * 3 * (sizeof(places) / sizeof(*places)) - 2 * 3;
    assert_in_range(flips, most - 1, most);
    free(bytes);
}

static void a_record_under_anothers_key_is_damaged(void **state)
{
    (void)state;
    struct disk_image image;
    struct diskstore_found found;
    struct disk_place place;
    const struct diskstore_record record = {.hash = bench_hash(1),
                                            .kind = DISKSTORE_RESULT,
                                            .inputs = 77,
                                            .data = "bytes",
                                            .size = 5};
    unsigned char bytes[DISK_HEAD_MAX + 5];
    disk_record_write(&record, &(struct disk_spot){.home = DISK_IN_VALUE}, &image);
    memcpy(bytes, image.head, image.head_size);
    memcpy(bytes + image.head_size, image.tail, image.tail_size);
    const size_t size = image.head_size + image.tail_size;
    struct disk_key key = disk_key(&record.hash, DISKSTORE_RESULT);
    assert_true(disk_record_read(&key, bytes, size, &found, &place));
    assert_int_equal(disk_record_large(&key, bytes, size), 0);
    for (size_t i = 0; i < 8 * size; i++) {
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        assert_false(disk_record_read(&key, bytes, size, &found, &place));
        assert_int_equal(disk_record_large(&key, bytes, size), 0);
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    for (size_t less = 0; less < size; less++) {
        assert_false(disk_record_read(&key, bytes, less, &found, &place));
    }
    assert_int_equal(found.inputs, 77);
    key.bytes[3] ^= 1;
    assert_false(disk_record_read(&key, bytes, size, &found, &place));
}

/* Records that an older moot wrote: its digest is another one, and so are the sums of
 * large files. */
static void records_of_before_are_read(void **state)
{
    (void)state;
    enum { SECOND = 2, NEWEST = 3 };
    struct disk_image image;
    struct diskstore_found found, newest;
    struct disk_place place;
    const struct diskstore_record record = {.hash = bench_hash(1),
                                            .kind = DISKSTORE_RESULT,
                                            .inputs = 0x1234567890abcdef,
                                            .data = "bytes",
                                            .size = 5};
    const struct disk_key key = disk_key(&record.hash, DISKSTORE_RESULT);
    static const struct disk_spot here = {.home = DISK_IN_VALUE};
    static const struct disk_spot spots[] = {{.home = DISK_IN_VALUE},
                                             {.home = DISK_IN_FILE, .number = 1}};
    for (int large = 0; large < 2; large++) {
        for (unsigned format = NEWEST; format >= SECOND; format--) {
            unsigned char bytes[DISK_HEAD_MAX + DISK_DIGEST_BYTES];
            disk_record_write_as(&record, &spots[large], 1, format, &image);
            memcpy(bytes, image.head, image.head_size);
            memcpy(bytes + image.head_size, image.tail, image.tail_size);
            const size_t size = image.head_size + image.tail_size;
            assert_true(disk_record_read(&key, bytes, size, &found, &place));
            assert_int_equal(place.format, format);
            assert_int_equal(found.size, 5);
            assert_true(found.inputs == (format == NEWEST ? record.inputs : 0));
            if (large != 0) {
                assert_true(disk_place_holds(&place, "bytes", 5));
                assert_false(disk_place_holds(&place, "bytez", 5));
                assert_false(disk_place_holds(&place, "bytes", 4));
            }
            bytes[4] = (unsigned char)(format == NEWEST ? SECOND : NEWEST);
            assert_false(disk_record_read(&key, bytes, size, &found, &place));
        }
    }
    /* A record's own digest names it in snapshots. */
    disk_record_write_as(&record, &here, 1, SECOND, &image);
    unsigned char bytes[DISK_HEAD_MAX + 5];
    memcpy(bytes, image.head, image.head_size);
    memcpy(bytes + image.head_size, "bytes", 5);
    assert_true(disk_record_read(&key, bytes, image.head_size + 5, &newest, &place));
    assert_memory_equal(newest.digest, bytes + 64, DISK_DIGEST_BYTES);
}

/* Reads what the record is in that version of the format. */
static void read_as(const struct diskstore_record *record, const struct disk_spot *spot,
                    unsigned format, struct diskstore_found *found,
                    struct disk_place *place)
{
    struct disk_image image;
    unsigned char bytes[DISK_HEAD_MAX + DISK_DIGEST_BYTES];
    const struct disk_key key = disk_key(&record->hash, record->kind);
    disk_record_write_as(record, spot, 1, format, &image);
    memcpy(bytes, image.head, image.head_size);
    memcpy(bytes + image.head_size, image.tail, image.tail_size);
    const size_t size = image.head_size + image.tail_size;
    assert_true(disk_record_read(&key, bytes, size, found, place));
    bytes[8] ^= 1; /* its status */
    assert_false(disk_record_read(&key, bytes, size, found, place));
    bytes[8] ^= 1;
    assert_true(disk_record_read(&key, bytes, size, found, place));
}

/* The first version's digest has the number of the large file, which a prune changes.
 */
static void a_record_of_the_first_version_has_the_name_of_the_second(void **state)
{
    (void)state;
    struct diskstore_found first, second;
    struct disk_place place;
    const struct diskstore_record record = {.hash = bench_hash(1),
                                            .kind = DISKSTORE_RESULT,
                                            .kernel = "potrf",
                                            .data = "bytes",
                                            .size = 5};
    for (uint64_t large = 0; large < 3; large++) {
        const struct disk_spot spot = {large != 0 ? DISK_IN_FILE : DISK_IN_VALUE, large,
                                       0};
        read_as(&record, &spot, 2, &second, &place);
        read_as(&record, &spot, 1, &first, &place);
        assert_int_equal(place.format, 2); /* a copy's */
        assert_int_equal(place.spot.number, large);
        assert_int_equal(first.size, 5);
        assert_string_equal(first.kernel, "potrf");
        assert_memory_equal(first.digest, second.digest, DISK_DIGEST_BYTES);
        assert_true(large == 0 || disk_place_holds(&place, "bytes", 5));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(flipped_bits_cost_records_and_nothing_else),
        BENCH_TEST(torn_files_cost_records_and_nothing_else),
        BENCH_TEST(records_of_before_are_read),
        BENCH_TEST(an_environment_without_a_commit_is_empty),
        BENCH_TEST(a_record_of_the_first_version_has_the_name_of_the_second),
        BENCH_TEST(a_large_file_that_is_not_as_it_was_is_dropped),
        BENCH_TEST(damage_hides_no_acceptance),
        BENCH_TEST(a_damaged_meta_page_is_damage),
        BENCH_TEST(a_record_under_anothers_key_is_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
