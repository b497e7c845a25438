/* disk_prune_test.c - pruning keeps what is wanted, each once, and a kill in its midst
 * loses nothing.
 *
 * With `--make DIR` it fills the folder for tests of the command instead: records 0 to
 * 99 by two processes, of which record 7 is twice, and one acceptance.
 */
#include "disk_scan_bench.h"

#include "node/diskstore/disk_folder.h"
#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_prune_private.h"
#include "node/diskstore/disk_table.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static void put_records(struct folder_bench *bench, uint64_t from, uint64_t to)
{
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = from; number < to; number++) {
        const struct diskstore_record record = bench_record(bench, number);
        assert_true(diskstore_put(store, &record, NULL, NULL));
    }
    diskstore_close(store);
}

static void put_kind(struct folder_bench *bench, uint64_t number,
                     enum diskstore_kind kind, uint64_t made_ns, const char *data)
{
    struct diskstore *store = bench_open(bench, NULL);
    const struct diskstore_record record = {.hash = bench_hash(number),
                                            .kind = kind,
                                            .made_ns = made_ns,
                                            .data = data,
                                            .size = strlen(data)};
    assert_true(diskstore_put_now(store, &record));
    diskstore_close(store);
}

static struct disk_prune_counts prune(const struct folder_bench *bench,
                                      struct disk_prune_options options)
{
    struct disk_prune_counts counts;
    struct text why = {0};
    if (disk_prune(bench->folder, &options, &counts, &why) != MOOT_OK) {
        fail_msg("%s", text_get(&why));
    }
    text_release(&why);
    return counts;
}

static size_t env_count(const struct folder_bench *bench)
{
    size_t count;
    struct disk_env_name *all;
    assert_true(disk_env_list(bench->folder, NULL, &all, &count));
    free(all);
    return count;
}

static void all_environments_become_one(void **state)
{
    struct folder_bench *bench = *state;
    put_records(bench, 0, 60);
    put_records(bench, 60, 120);
    put_records(bench, 110, 130);
    struct disk_prune_counts counts =
        prune(bench, (struct disk_prune_options){.dry = true});
    assert_int_equal(counts.kept, 130);
    assert_int_equal(env_count(bench), 3);
    counts = prune(bench, (struct disk_prune_options){.dry = false});
    assert_int_equal(counts.environments, 3);
    assert_int_equal(counts.kept, 130);
    assert_int_equal(counts.twice, 10);
    assert_int_equal(counts.damaged, 0);
    assert_int_equal(env_count(bench), 1);
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = 0; number < 140; number++) {
        assert_int_equal(bench_find(bench, store, number), number < 130);
    }
    diskstore_close(store);
    char before[BENCH_PATH], after[BENCH_PATH];
    bench_env(bench, before);
    counts = prune(bench, (struct disk_prune_options){.dry = false});
    bench_env(bench, after);
    assert_int_equal(counts.kept, 130);
    assert_string_equal(before, after); /* nothing was gained by another */
}

static bool has_kind(struct folder_bench *bench, uint64_t number,
                     enum diskstore_kind kind)
{
    const moot_hash hash = bench_hash(number);
    struct diskstore *store = bench_open(bench, NULL);
    const bool has = diskstore_find(store, &hash, kind, NULL);
    diskstore_close(store);
    return has;
}

static void a_result_ends_half_done_state_and_no_acceptance(void **state)
{
    struct folder_bench *bench = *state;
    put_kind(bench, 1, DISKSTORE_ACCEPTED, 0, "");
    put_kind(bench, 1, DISKSTORE_PROGRESS, 0, "half");
    put_kind(bench, 2, DISKSTORE_ACCEPTED, 0, "");
    put_kind(bench, 3, DISKSTORE_PROGRESS, 10, "older");
    put_kind(bench, 3, DISKSTORE_PROGRESS, 20, "newer");
    put_kind(bench, 1, DISKSTORE_RESULT, 0, "done");
    const struct disk_prune_counts counts =
        prune(bench, (struct disk_prune_options){.dry = false});
    assert_int_equal(counts.ended, 1);
    assert_int_equal(counts.twice, 1);
    assert_int_equal(counts.kept, 4);
    assert_true(has_kind(bench, 1, DISKSTORE_ACCEPTED));
    assert_false(has_kind(bench, 1, DISKSTORE_PROGRESS));
    assert_true(has_kind(bench, 1, DISKSTORE_RESULT));
    assert_true(has_kind(bench, 2, DISKSTORE_ACCEPTED));
    struct diskstore *store = bench_open(bench, NULL);
    struct diskstore_found found;
    const moot_hash hash = bench_hash(3);
    assert_true(diskstore_find(store, &hash, DISKSTORE_PROGRESS, &found));
    assert_memory_equal(found.data, "newer", 5);
    free(found.data);
    diskstore_close(store);
}

static void old_ones_go_and_the_oldest_of_too_many(void **state)
{
    struct folder_bench *bench = *state;
    const uint64_t hour = 3600 * (uint64_t)1000000000;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    const uint64_t now = (uint64_t)time.tv_sec * 1000000000;
    for (uint64_t number = 0; number < 10; number++) {
        put_kind(bench, number, DISKSTORE_RESULT, now - number * hour, "0123456789");
    }
    struct disk_prune_counts counts =
        prune(bench, (struct disk_prune_options){.age_max_ns = 6 * hour + hour / 2});
    assert_int_equal(counts.old, 3);
    assert_int_equal(counts.kept, 7);
    counts = prune(bench, (struct disk_prune_options){.bytes_max = 45});
    assert_int_equal(counts.over, 3);
    assert_int_equal(counts.kept_bytes, 40);
    for (uint64_t number = 0; number < 10; number++) {
        assert_int_equal(has_kind(bench, number, DISKSTORE_RESULT), number < 4);
    }
    put_kind(bench, 77, DISKSTORE_ACCEPTED, 5, "");
    counts = prune(bench, (struct disk_prune_options){.bytes_max = 1});
    assert_int_equal(counts.over, 4);
    assert_int_equal(counts.kept, 1);
    counts = prune(bench, (struct disk_prune_options){.age_max_ns = 1});
    assert_int_equal(counts.kept, 1);
    assert_true(has_kind(bench, 77, DISKSTORE_ACCEPTED));
    assert_false(has_kind(bench, 0, DISKSTORE_RESULT));
}

static void results_of_once_tasks_stay(void **state)
{
    struct folder_bench *bench = *state;
    put_kind(bench, 1, DISKSTORE_RESULT, 4, "older");
    put_kind(bench, 1, DISKSTORE_RESULT, 5, "the end");
    put_kind(bench, 1, DISKSTORE_ACCEPTED, 3, "");
    put_kind(bench, 2, DISKSTORE_RESULT, 5, "another");
    struct disk_prune_counts counts =
        prune(bench, (struct disk_prune_options){.age_max_ns = 1});
    assert_int_equal(counts.old, 1);
    assert_int_equal(counts.twice, 1);
    assert_int_equal(counts.kept, 2);
    counts = prune(bench, (struct disk_prune_options){.bytes_max = 1});
    assert_int_equal(counts.kept, 2);
    assert_true(has_kind(bench, 1, DISKSTORE_RESULT));
    assert_false(has_kind(bench, 2, DISKSTORE_RESULT));
}

static int prune_told(const struct folder_bench *bench, struct text *why)
{
    struct disk_prune_counts counts;
    const struct disk_prune_options options = {.dry = false};
    return disk_prune(bench->folder, &options, &counts, why);
}

static void a_writer_whose_lock_was_removed_is_not_pruned_away(void **state)
{
    struct folder_bench *bench = *state;
    char path[BENCH_PATH];
    int ends[2], status;
    char byte;
    struct text why = {0};
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct diskstore *store = bench_open(bench, NULL);
        const struct diskstore_record record = bench_record(bench, 1);
        if (diskstore_put_now(store, &record) && write(ends[1], "", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    snprintf(path, sizeof(path), "%s/lock", bench->folder);
    assert_int_equal(unlink(path), 0);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    assert_int_equal(prune_told(bench, &why), MOOT_ERR_FILE);
    snprintf(path, sizeof(path), "process %ld writes", (long)child);
    assert_non_null(strstr(text_get(&why), path));
    text_release(&why);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[0]);
    close(ends[1]);
    struct diskstore *store = bench_open(bench, NULL);
    assert_true(bench_find(bench, store, 1));
    diskstore_close(store);
}

/* Prunes in a child that may open so many files, of so many bytes; fills in what is
 * said.  The end. */
static int prune_limited(const struct folder_bench *bench, bool dry, rlim_t files,
                         rlim_t bytes, char said[BENCH_PATH])
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit count = {files, files}, size = {bytes, bytes};
        struct disk_prune_counts counts;
        struct text why = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_NOFILE, &count);
        setrlimit(RLIMIT_FSIZE, &size);
        const int code = disk_prune(
            bench->folder, &(struct disk_prune_options){.dry = dry}, &counts, &why);
        const size_t length = strlen(text_get(&why));
        const bool told = write(ends[1], text_get(&why), length) == (ssize_t)length;
        _exit(!told ? 3 : code == MOOT_OK ? 0 : code == MOOT_ERR_FILE ? 1 : 2);
    }
    close(ends[1]);
    const ssize_t length = read(ends[0], said, BENCH_PATH - 1);
    said[length > 0 ? length : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* With each limit a prune and a dry run fail alike, and say what helps. */
static void a_prune_that_fails_leaves_the_folder_and_says_what_helps(void **state)
{
    static const struct {
        rlim_t files, bytes;
        const char *says, *says_not;
    } rows[] = {{1024, 0, "; raise `ulimit -f`", "free as many"},
                {10, RLIM_INFINITY, "; raise `ulimit -n`", "free as many"}};
    struct folder_bench *bench = *state;
    char said[BENCH_PATH], dry[BENCH_PATH];
    put_records(bench, 0, 20);
    put_records(bench, 20, 40);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(
            prune_limited(bench, false, rows[i].files, rows[i].bytes, said), 1);
        assert_int_equal(prune_limited(bench, true, rows[i].files, rows[i].bytes, dry),
                         1);
        assert_string_equal(said, dry);
        assert_non_null(strstr(said, " is as it was: "));
        assert_non_null(strstr(said, rows[i].says));
        assert_null(strstr(said, rows[i].says_not));
        assert_int_equal(env_count(bench), 2);
    }
    assert_int_equal(prune_limited(bench, true, 1024, RLIM_INFINITY, said), 0);
    assert_int_equal(prune(bench, (struct disk_prune_options){.dry = false}).kept, 40);
}

/* Done when the folder has been read, and nothing is written yet. */
static void (*before_write)(void);

bool __real_prune_write(struct prune *prune);
bool __wrap_prune_write(struct prune *prune);
bool __wrap_prune_write(struct prune *prune)
{
    if (before_write != NULL) {
        before_write();
    }
    return __real_prune_write(prune);
}

static char torn_env[BENCH_PATH];

static void tear_packs(void)
{
    char path[BENCH_PATH];
    snprintf(path, sizeof(path), "%.4000s/large/0000000000000001.pack", torn_env);
    assert_int_equal(truncate(path, 0), 0);
}

static void a_record_that_is_damaged_meanwhile_is_not_counted(void **state)
{
    struct folder_bench *bench = *state;
    static char data[2000];
    memset(data, 'x', sizeof(data) - 1);
    put_kind(bench, 1, DISKSTORE_RESULT, 0, data);
    bench_env(bench, torn_env);
    put_kind(bench, 2, DISKSTORE_RESULT, 0, "short");
    before_write = tear_packs;
    const struct disk_prune_counts counts =
        prune(bench, (struct disk_prune_options){.dry = false});
    before_write = NULL;
    assert_int_equal(counts.damaged, 1);
    assert_int_equal(counts.kept, 1);
    assert_int_equal(counts.kept_bytes, 5);
}

/* --- Bytes of no record ----------------------------------------------------------- */

enum { LOST_BYTES = 20000 };

/* A result is stored again and again, each time with other bytes, and then with so
 * many. */
static void put_again(struct folder_bench *bench, unsigned times, size_t size)
{
    struct diskstore *store = bench_open(bench, NULL);
    struct diskstore_record record = {.hash = bench_hash(1),
                                      .kind = DISKSTORE_RESULT,
                                      .data = bench->data,
                                      .size = LOST_BYTES};
    for (unsigned i = 0; i < times; i++) {
        bench_fill(i, bench->data, record.size);
        assert_true(diskstore_put_now(store, &record));
    }
    record.size = size;
    bench_fill(times, bench->data, size);
    assert_true(diskstore_put_now(store, &record));
    diskstore_close(store);
}

static uint64_t large_bytes(const struct folder_bench *bench)
{
    char env[BENCH_PATH];
    bench_env(bench, env);
    return disk_large_bytes(env);
}

static void an_environment_that_is_mostly_of_no_record_is_made_anew(void **state)
{
    struct folder_bench *bench = *state;
    char before[BENCH_PATH], after[BENCH_PATH];
    put_again(bench, 3, 2 * LOST_BYTES + 1);
    assert_int_equal(env_count(bench), 1);
    assert_int_equal(large_bytes(bench), 5 * LOST_BYTES + 1);
    struct disk_prune_counts counts =
        prune(bench, (struct disk_prune_options){.dry = true});
    assert_int_equal(counts.unnamed_bytes, 3 * LOST_BYTES);
    assert_int_equal(large_bytes(bench), 5 * LOST_BYTES + 1);
    counts = prune(bench, (struct disk_prune_options){.dry = false});
    assert_int_equal(counts.unnamed_bytes, 3 * LOST_BYTES);
    assert_int_equal(counts.kept, 1);
    assert_int_equal(large_bytes(bench), 2 * LOST_BYTES + 1);
    assert_true(has_kind(bench, 1, DISKSTORE_RESULT));
    bench_env(bench, before);
    counts = prune(bench, (struct disk_prune_options){.dry = false});
    assert_int_equal(counts.unnamed_bytes, 0);
    bench_env(bench, after);
    assert_string_equal(before, after);
}

static void an_environment_that_is_half_of_records_stays(void **state)
{
    struct folder_bench *bench = *state;
    put_again(bench, 2, 2 * LOST_BYTES);
    const struct disk_prune_counts counts =
        prune(bench, (struct disk_prune_options){.dry = false});
    assert_int_equal(counts.unnamed_bytes, 0);
    assert_int_equal(large_bytes(bench), 4 * LOST_BYTES);
}

/* A dry run fails where a prune would, and says the same. */
static void a_dry_run_sees_doubtful_damage(void **state)
{
    struct folder_bench *bench = *state;
    struct disk_prune_counts counts;
    struct text why = {0}, dry = {0};
    char env[BENCH_PATH], path[BENCH_PATH];
    put_records(bench, 0, 100);
    bench_env(bench, env);
    snprintf(path, sizeof(path), "%.4000s/data.mdb", env);
    assert_int_equal(truncate(path, 9000), 0);
    assert_int_equal(prune_told(bench, &why), MOOT_ERR_FILE);
    assert_int_equal(disk_prune(bench->folder,
                                &(struct disk_prune_options){.dry = true}, &counts,
                                &dry),
                     MOOT_ERR_FILE);
    assert_string_equal(text_get(&why), text_get(&dry));
    assert_int_equal(
        disk_prune(bench->folder,
                   &(struct disk_prune_options){.dry = true, .damaged = true}, &counts,
                   &dry),
        MOOT_OK);
    text_release(&why);
    text_release(&dry);
}

static void damaged_records_go(void **state)
{
    struct folder_bench *bench = *state;
    char env[BENCH_PATH], path[BENCH_PATH];
    put_records(bench, 0, 100);
    bench_env(bench, env);
    snprintf(path, sizeof(path), "%.4000s/large", env);
    DIR *files = opendir(path);
    assert_non_null(files);
    const struct dirent *entry;
    while ((entry = readdir(files)) != NULL && entry->d_name[0] == '.') {
    }
    assert_non_null(entry);
    snprintf(path, sizeof(path), "%.3900s/large/%.90s", env, entry->d_name);
    assert_int_equal(truncate(path, 1), 0);
    closedir(files);
    const struct disk_prune_counts counts =
        prune(bench, (struct disk_prune_options){.dry = false});
    assert_int_equal(counts.damaged, 1);
    assert_int_equal(counts.kept, 99);
}

/* A folder is full of records again after a prune that was killed, whenever. */
static void a_killed_prune_loses_nothing(void **state)
{
    enum { RECORDS = 60, KILLS = 40 };
    struct folder_bench *bench = *state;
    uint64_t seed = 5, killed = 0;
    put_records(bench, 0, RECORDS / 2);
    for (unsigned i = 0; i < KILLS; i++) {
        int status;
        put_records(bench, RECORDS / 2, RECORDS);
        const pid_t child = fork();
        if (child == 0) {
            prune(bench, (struct disk_prune_options){.dry = false});
            _exit(0);
        }
        usleep((useconds_t)bench_draw(&seed, 20000));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        killed += WIFSIGNALED(status) != 0;
        struct diskstore *store = bench_open(bench, NULL);
        for (uint64_t number = 0; number < RECORDS; number++) {
            assert_true(bench_find(bench, store, number));
        }
        diskstore_close(store);
    }
    assert_true(killed > 0);
    prune(bench, (struct disk_prune_options){.dry = false});
    size_t left = 0;
    DIR *files = opendir(bench->folder);
    for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
        left += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(files);
    assert_int_equal(left, 2); /* the lock, and one environment */
}

static void a_stranger_in_the_folder_is_left_alone(void **state)
{
    struct folder_bench *bench = *state;
    char path[BENCH_PATH];
    put_records(bench, 0, 4);
    put_records(bench, 4, 8);
    snprintf(path, sizeof(path), "%s/.backup-2026-11", bench->folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/.backup-2026-11/owner", bench->folder);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    prune(bench, (struct disk_prune_options){.dry = false});
    assert_int_equal(access(path, F_OK), 0);
}

/* An environment with record n, which is even and so has no sum of inputs, as the first
 * release wrote it; `large`: the number of the file with its data, or 0. */
static void put_first_version(struct folder_bench *bench, uint64_t number,
                              uint64_t large)
{
    char path[DISK_PATH_BYTES];
    const char *why = NULL;
    struct disk_image image;
    struct diskstore_record record = bench_record(bench, number);
    record.made_ns = 1700000000000000000 + number;
    const struct disk_key key = disk_key(&record.hash, record.kind);
    const int lock = disk_env_make(bench->folder, path);
    struct disk_env *env = disk_lmdb.open_writer(path, false, &why);
    assert_true(lock >= 0 && env != NULL);
    disk_record_write_as(
        &record,
        &(struct disk_spot){large != 0 ? DISK_IN_FILE : DISK_IN_VALUE, large, 0}, 1, 1,
        &image);
    assert_true(large == 0 ||
                disk_large_write(path, large, record.data, record.size, false));
    assert_int_equal(disk_lmdb.begin(env, &why), DISK_OK);
    assert_int_equal(disk_lmdb.put(env, &key, &image, &why), DISK_OK);
    assert_int_equal(disk_lmdb.commit(env, &why), DISK_OK);
    disk_lmdb.close(env);
    assert_true(disk_env_show(bench->folder, false, path));
    close(lock);
}

static void add_scanned(void *context, const struct disk_scan_env *env,
                        const struct diskstore_found *found)
{
    (void)env;
    assert_true(disk_set_add(context, found));
}

/* All results of the folder. */
static struct disk_set scan_results(const struct folder_bench *bench)
{
    struct disk_set set = {0};
    struct text why = {0};
    const struct disk_scan_visitor visitor = {.context = &set,
                                              .data = true,
                                              .env = pass_env,
                                              .record = add_scanned,
                                              .damaged = refuse_damage};
    assert_int_equal(disk_scan(bench->folder, &visitor, &why), MOOT_OK);
    text_release(&why);
    disk_set_sort(&set);
    return set;
}

/* A snapshot of all that is there, to which all have gone back. */
static void go_back_to_all(const struct folder_bench *bench, const moot_hash *id)
{
    struct disk_set set = scan_results(bench);
    struct diskstore_part part = {.rank = DISK_PART_REST};
    assert_true(disk_part_write(bench->folder, id, "", &set, &part));
    const struct disk_snapshot snapshot = {
        .id = *id, .name = "all", .made_ns = 1, .parts = &part, .part_count = 1};
    assert_true(disk_commit_write(bench->folder, &snapshot));
    assert_true(disk_mark_write(bench->folder, &(struct disk_mark){1, *id}));
    disk_set_release(&set);
}

/* The mark makes void what the snapshot does not name. */
static void
a_snapshot_of_records_of_the_first_version_counts_after_a_prune(void **state)
{
    struct folder_bench *bench = *state;
    const moot_hash id = bench_hash(99);
    diskstore_close(bench_open(bench, NULL)); /* makes the folder's lock */
    put_first_version(bench, 6, 0);
    put_first_version(bench, 10, 1);
    put_first_version(bench, 12, 1);
    go_back_to_all(bench, &id);
    struct disk_set before = scan_results(bench);
    assert_int_equal(before.count, 3);
    for (int round = 0; round < 2; round++) {
        struct diskstore *store = bench_open(bench, NULL);
        assert_true(bench_find(bench, store, 6));
        assert_true(bench_find(bench, store, 10));
        assert_true(bench_find(bench, store, 12));
        diskstore_close(store);
        const struct disk_prune_counts counts =
            prune(bench, (struct disk_prune_options){.dry = false});
        assert_int_equal(counts.kept, 3);
        assert_int_equal(counts.undone, 0);
        assert_int_equal(env_count(bench), 1);
        struct disk_set after = scan_results(bench);
        assert_int_equal(after.count, 3);
        assert_memory_equal(after.entries, before.entries, 3 * sizeof(*after.entries));
        disk_set_release(&after);
    }
    disk_set_release(&before);
}

/* Data that cannot be read now are no damage: nothing is dropped for that. */
static void a_prune_that_cannot_read_drops_nothing(void **state)
{
    struct folder_bench *bench = *state;
    struct rlimit limit;
    put_records(bench, 0, 100);
    put_records(bench, 100, 200);
    for (rlim_t files = 3; files < 24; files++) {
        const pid_t child = fork();
        int status;
        if (child == 0) {
            getrlimit(RLIMIT_NOFILE, &limit);
            limit.rlim_cur = files;
            setrlimit(RLIMIT_NOFILE, &limit);
            struct disk_prune_counts counts;
            struct text why = {0};
            disk_prune(bench->folder, &(struct disk_prune_options){.dry = false},
                       &counts, &why);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        struct diskstore *store = bench_open(bench, NULL);
        for (uint64_t number = 0; number < 200; number++) {
            assert_true(bench_find(bench, store, number));
        }
        diskstore_close(store);
    }
}

static int make_folder(const char *folder)
{
    struct folder_bench bench = {.data = malloc(BENCH_DATA_MAX)};
    snprintf(bench.folder, sizeof(bench.folder), "%s", folder);
    if (bench.data == NULL || !hashing_init()) {
        return 1;
    }
    put_records(&bench, 0, 50);
    put_records(&bench, 50, 100);
    put_records(&bench, 7, 8);
    put_kind(&bench, 1000, DISKSTORE_ACCEPTED, 0, "");
    free(bench.data);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(all_environments_become_one),
        BENCH_TEST(a_result_ends_half_done_state_and_no_acceptance),
        BENCH_TEST(old_ones_go_and_the_oldest_of_too_many),
        BENCH_TEST(results_of_once_tasks_stay),
        BENCH_TEST(a_writer_whose_lock_was_removed_is_not_pruned_away),
        BENCH_TEST(a_prune_that_fails_leaves_the_folder_and_says_what_helps),
        BENCH_TEST(a_record_that_is_damaged_meanwhile_is_not_counted),
        BENCH_TEST(an_environment_that_is_mostly_of_no_record_is_made_anew),
        BENCH_TEST(an_environment_that_is_half_of_records_stays),
        BENCH_TEST(a_dry_run_sees_doubtful_damage),
        BENCH_TEST(damaged_records_go),
        BENCH_TEST(a_killed_prune_loses_nothing),
        BENCH_TEST(a_stranger_in_the_folder_is_left_alone),
        BENCH_TEST(a_snapshot_of_records_of_the_first_version_counts_after_a_prune),
        BENCH_TEST(a_prune_that_cannot_read_drops_nothing),
    };
    if (argc > 2 && strcmp(argv[1], "--make") == 0) {
        return make_folder(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
