/* disk_mark_test.c - of the marks of reloads one counts, also where folders were put
 * together, and what any of them has made void stays so.
 *
 * With `--make DIR FIRST` it fills the folder instead: ten records from FIRST on, and
 * ten that a reload has made void.
 */
#include "disk_bench.h"
#include "disk_snapshot_bench.h"

#include "hashing/base/byte_order.h"
#include "node/diskstore/disk_mark.h"
#include "node/diskstore/disk_prune.h"
#include "node/diskstore/disk_sealed.h"

#include <errno.h>
#include <sys/wait.h>

static void expect_mark(const char *folder, uint32_t generation, const moot_hash *id)
{
    struct disk_mark mark;
    assert_true(disk_mark_read(folder, &mark));
    assert_int_equal(mark.generation, generation);
    assert_true(hash_equal(&mark.id, id));
}

static void write_mark(const struct folder_bench *bench, uint32_t generation,
                       const moot_hash *id)
{
    assert_true(disk_mark_write(bench->folder, &(struct disk_mark){generation, *id}));
}

/* As an earlier release wrote it. */
static void write_first(const struct folder_bench *bench, uint32_t generation,
                        const moot_hash *id)
{
    unsigned char body[MOOT_HASH_BYTES + 8], digest[DISK_DIGEST_BYTES];
    char path[BENCH_PATH], name[16];
    memcpy(body, id->bytes, MOOT_HASH_BYTES);
    put_word(body + MOOT_HASH_BYTES, generation);
    snprintf(path, sizeof(path), "%s/reloads", bench->folder);
    snprintf(name, sizeof(name), "%08x", generation);
    assert_true(disk_sealed_folder(bench->folder, "reloads"));
    assert_true(disk_sealed_write(path, name, "mootback", body, sizeof(body), digest));
}

static void the_highest_generation_counts_and_of_one_the_latest(void **state)
{
    struct folder_bench *bench = *state;
    const moot_hash a = bench_hash(1), b = bench_hash(2), c = bench_hash(3);
    expect_mark(bench->folder, 0, &(moot_hash){{0}});
    write_first(bench, 1, &c);
    expect_mark(bench->folder, 1, &c);
    write_mark(bench, 1, &b);
    expect_mark(bench->folder, 1, &b);
    write_mark(bench, 1, &a);
    expect_mark(bench->folder, 1, &a);
    write_mark(bench, 1, &b);
    expect_mark(bench->folder, 1, &b);
    write_mark(bench, 2, &c);
    write_mark(bench, 1, &a);
    expect_mark(bench->folder, 2, &c);
    write_first(bench, 3, &a);
    expect_mark(bench->folder, 3, &a);
    assert_int_equal(bench_count_files(bench->folder, "reloads"), 5);
    disk_mark_sweep(bench->folder);
    expect_mark(bench->folder, 3, &a);
    assert_int_equal(bench_count_files(bench->folder, "reloads"), 1);
}

static void flip_mark(const struct folder_bench *bench, const char *begins)
{
    char path[BENCH_PATH];
    snprintf(path, sizeof(path), "%s/reloads", bench->folder);
    DIR *files = opendir(path);
    assert_non_null(files);
    for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
        if (strncmp(entry->d_name, begins, strlen(begins)) == 0) {
            snprintf(path, sizeof(path), "%s/reloads/%.60s", bench->folder,
                     entry->d_name);
            FILE *file = fopen(path, "r+");
            assert_non_null(file);
            fseek(file, 50, SEEK_SET);
            const int byte = fgetc(file);
            fseek(file, 50, SEEK_SET);
            fputc(byte ^ 1, file);
            fclose(file);
        }
    }
    closedir(files);
}

static void a_damaged_mark_matters_if_it_may_count(void **state)
{
    struct folder_bench *bench = *state;
    struct disk_mark mark;
    const moot_hash a = bench_hash(1), b = bench_hash(2);
    write_mark(bench, 1, &a);
    write_mark(bench, 2, &a);
    flip_mark(bench, "00000001");
    expect_mark(bench->folder, 2, &a);
    write_mark(bench, 2, &b);
    flip_mark(bench, "00000002");
    assert_false(disk_mark_read(bench->folder, &mark));
    assert_int_equal(errno, EBADMSG);
    disk_mark_sweep(bench->folder);
    assert_int_equal(bench_count_files(bench->folder, "reloads"), 3);
}

/* A mark under the name of another says nothing. */
static void a_mark_is_what_its_name_says(void **state)
{
    struct folder_bench *bench = *state;
    struct disk_mark mark;
    char from[BENCH_PATH + 64], to[BENCH_PATH + 64], text[MOOT_HASH_TEXT_BYTES];
    const moot_hash a = bench_hash(1), b = bench_hash(2);
    write_mark(bench, 1, &a);
    snprintf(from, sizeof(from), "%s/reloads/00000001-%s", bench->folder,
             hash_format(&a, text));
    snprintf(to, sizeof(to), "%s/reloads/00000001-%s", bench->folder,
             hash_format(&b, text));
    assert_int_equal(rename(from, to), 0);
    assert_false(disk_mark_read(bench->folder, &mark));
    assert_int_equal(errno, EBADMSG);
}

/* --- Folders that were put together ----------------------------------------------- */

/* Ten records, a snapshot of them, ten more that going back to it makes void, and one
 * behind the reload. */
static moot_hash fill_folder(const struct folder_bench *bench, const char *folder,
                             uint64_t first)
{
    struct folder_bench other = {.data = bench->data};
    snprintf(other.folder, sizeof(other.folder), "%s", folder);
    struct diskstore *store = bench_open(&other, NULL);
    put_from(&other, store, first, first + 10, 0);
    const moot_hash id = snapshot(store, first, "all");
    put_from(&other, store, first + 10, first + 20, 0);
    diskstore_flush(store);
    go_back(store, 1, &id);
    put_from(&other, store, first + 20, first + 21, 1);
    diskstore_close(store);
    return id;
}

/* `to` may be there. */
static void put_together(const char *from, const char *to)
{
    char all[BENCH_PATH + 2];
    int status;
    assert_true(mkdir(to, 0755) == 0 || errno == EEXIST);
    snprintf(all, sizeof(all), "%s/.", from);
    const pid_t child = fork();
    if (child == 0) {
        execlp("cp", "cp", "-a", all, to, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Finds the records of fill_folder() that count; `named`: also those of its snapshot.
 */
static void expect_records(struct diskstore *store, uint64_t first, bool named)
{
    for (uint64_t number = first; number < first + 21; number++) {
        assert_int_equal(finds(store, number),
                         number == first + 20 || (named && number < first + 10));
    }
}

static void folders_put_together_stand_on_the_later_reload(void **state)
{
    const struct folder_bench *bench = *state;
    char a[BENCH_PATH], b[BENCH_PATH];
    struct folder_bench both = {.data = bench->data};
    snprintf(a, sizeof(a), "%s/a", bench->folder);
    snprintf(b, sizeof(b), "%s/b", bench->folder);
    const moot_hash earlier = fill_folder(bench, a, 100);
    const moot_hash later = fill_folder(bench, b, 200);
    for (int order = 0; order < 2; order++) {
        snprintf(both.folder, sizeof(both.folder), "%.1900s/both%d", bench->folder,
                 order);
        put_together(order == 0 ? a : b, both.folder);
        put_together(order == 0 ? b : a, both.folder);
        assert_int_equal(bench_count_files(both.folder, "reloads"), 2);
        expect_mark(both.folder, 1, &later);
        struct diskstore *store = bench_open(&both, NULL);
        expect_records(store, 100, false);
        expect_records(store, 200, true);
        go_back(store, 2, &earlier); /* that snapshot is whole, too */
        for (uint64_t number = 100; number < 110; number++) {
            assert_true(finds(store, number));
        }
        diskstore_close(store);
    }
}

static void a_prune_keeps_the_mark_that_counts(void **state)
{
    const struct folder_bench *bench = *state;
    char a[BENCH_PATH], b[BENCH_PATH];
    struct disk_prune_counts counts;
    struct text why = {0};
    struct folder_bench both = {.data = bench->data};
    snprintf(a, sizeof(a), "%s/a", bench->folder);
    snprintf(both.folder, sizeof(both.folder), "%.2000s/both", bench->folder);
    snprintf(b, sizeof(b), "%s", both.folder);
    (void)fill_folder(bench, a, 100);
    const moot_hash later = fill_folder(bench, b, 200);
    put_together(a, b);
    assert_int_equal(
        disk_prune(b, &(struct disk_prune_options){.dry = false}, &counts, &why),
        MOOT_OK);
    assert_int_equal(counts.snapshots, 2);
    assert_int_equal(counts.undone, 20);
    assert_int_equal(counts.kept, 22);
    assert_int_equal(bench_count_files(b, "reloads"), 1);
    expect_mark(b, 1, &later);
    struct diskstore *store = bench_open(&both, NULL);
    expect_records(store, 100, false);
    expect_records(store, 200, true);
    diskstore_close(store);
    text_release(&why);
}

static int make_folder(const char *folder, const char *first)
{
    struct folder_bench bench = {.data = malloc(BENCH_DATA_MAX)};
    const bool good = bench.data != NULL && hashing_init();
    if (good) {
        (void)fill_folder(&bench, folder, strtoul(first, NULL, 10));
    }
    free(bench.data);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(the_highest_generation_counts_and_of_one_the_latest),
        BENCH_TEST(a_damaged_mark_matters_if_it_may_count),
        BENCH_TEST(a_mark_is_what_its_name_says),
        BENCH_TEST(folders_put_together_stand_on_the_later_reload),
        BENCH_TEST(a_prune_keeps_the_mark_that_counts),
    };
    if (argc > 3 && strcmp(argv[1], "--make") == 0) {
        return make_folder(argv[2], argv[3]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
