/* disk_files_test.c - the store's descriptors: how many a reload leaves open, and what
 * happens where there are no more; and what the bound of the folder's bytes counts.
 *
 * A process at its limit of open files is told so and keeps all that it has stored; and
 * goes on as before when it may open files again.
 */
#include "disk_bench.h"

#include "node/diskstore/disk_bytes.h"
#include "node/diskstore/disk_private.h"
#include "node/diskstore/disk_snapshot.h"
#include "node/diskstore/diskstore_snapshot.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

static size_t open_files(void)
{
    size_t count = 0;
    DIR *files = opendir("/proc/self/fd");
    assert_non_null(files);
    while (readdir(files) != NULL) {
        count++;
    }
    closedir(files);
    return count - 3; /* ".", ".." and the folder's own */
}

static struct rlimit before;

/* No more files can be opened than are open now; also where that was so, and some were
 * closed. */
static void take_files_away(void)
{
    struct rlimit none;
    const int lowest = dup(0); /* all below are taken */
    assert_true(lowest >= 0 && getrlimit(RLIMIT_NOFILE, &none) == 0);
    before = before.rlim_cur != 0 ? before : none;
    close(lowest);
    none = (struct rlimit){(rlim_t)lowest, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void give_files_back(void)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    before.rlim_cur = 0;
}

/* No more than `count` files can be opened. */
static void take_files_but(size_t count)
{
    int fds[8];
    assert_true(count < sizeof(fds) / sizeof(*fds));
    for (size_t i = 0; i < count; i++) {
        fds[i] = dup(0);
    }
    take_files_away();
    for (size_t i = 0; i < count; i++) {
        close(fds[i]);
    }
}

static void put(struct folder_bench *bench, struct diskstore *store, uint64_t from,
                uint64_t to)
{
    for (uint64_t number = from; number < to; number++) {
        const struct diskstore_record record = bench_record(bench, number);
        while (!diskstore_put(store, &record, NULL, NULL)) {
            diskstore_wait_room(store, record.size);
        }
    }
    diskstore_flush(store);
}

static bool finds_all(struct folder_bench *bench, struct diskstore *store,
                      uint64_t from, uint64_t to)
{
    bool all = true;
    for (uint64_t number = from; number < to; number++) {
        all = bench_find(bench, store, number) && all;
    }
    return all;
}

static bool has_told(struct diskstore *store, const char *words)
{
    struct text told = {0};
    diskstore_told(store, 0, &told);
    const bool has = strstr(text_get(&told), words) != NULL;
    text_release(&told);
    return has;
}

static void a_finished_environment_costs_one_descriptor(void **state)
{
    struct folder_bench *bench = *state;
    enum { ROUNDS = 20 };
    struct diskstore *store = bench_open(bench, NULL);
    const size_t first = open_files();
    for (uint64_t round = 0; round < ROUNDS; round++) {
        put(bench, store, 10 * round, 10 * round + 10);
        diskstore_freeze(store);
        assert_int_equal(open_files(), first + round + 1);
    }
    assert_true(finds_all(bench, store, 0, 10 * (uint64_t)ROUNDS));
    diskstore_close(store);
}

struct reader {
    struct diskstore *store;
    atomic_uint known; /* so many records are there */
    atomic_bool ends;
    uint64_t found;
};

static void *find_again_and_again(void *context)
{
    struct reader *reader = context;
    struct diskstore_found found;
    for (uint64_t i = 0; !atomic_load(&reader->ends); i++) {
        const unsigned known = atomic_load(&reader->known);
        const moot_hash hash = bench_hash(known > 0 ? known - 1 - i % known : 0);
        if (known > 0) {
            assert_true(diskstore_find(reader->store, &hash, DISKSTORE_RESULT, &found));
            reader->found++;
            free(found.data);
        }
    }
    return NULL;
}

/* Others may look for results at any moment, and never pause together: a reload's files
 * are closed when those who were at them have done all the same. */
static void who_looks_meanwhile_finds_all(void **state)
{
    struct folder_bench *bench = *state;
    enum { ROUNDS = 60, READERS = 3, OWN_FILES = 4 };
    struct reader readers[READERS] = {0};
    pthread_t threads[READERS];
    struct diskstore *store = bench_open(bench, NULL);
    const size_t first = open_files();
    for (int i = 0; i < READERS; i++) {
        readers[i].store = store;
        assert_int_equal(
            pthread_create(&threads[i], NULL, find_again_and_again, &readers[i]), 0);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        put(bench, store, 4 * round, 4 * round + 4);
        for (int i = 0; i < READERS; i++) {
            atomic_store(&readers[i].known, 4 * round + 4);
        }
        diskstore_freeze(store);
        assert_in_range(open_files(), first + round,
                        first + round + 1 + READERS * OWN_FILES);
    }
    for (int i = 0; i < READERS; i++) {
        atomic_store(&readers[i].ends, true);
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(open_files(), first + ROUNDS);
    assert_true(finds_all(bench, store, 0, 4 * (uint64_t)ROUNDS));
    diskstore_close(store);
}

/* A table whose looks into environments wait to be let through. */
static struct {
    sem_t inside, through;
    atomic_uint closed;
} gate;

static enum disk_end wait_to_get(struct disk_env *env, const struct disk_key *key,
                                 struct disk_value *value)
{
    sem_post(&gate.inside);
    sem_wait(&gate.through);
    return disk_lmdb.get(env, key, value);
}

static void count_closed(struct disk_env *env)
{
    atomic_fetch_add(&gate.closed, 1);
    disk_lmdb.close(env);
}

static void *find_once(void *context)
{
    struct reader *reader = context;
    const moot_hash hash = bench_hash(0);
    struct diskstore_found found;
    if (diskstore_find(reader->store, &hash, DISKSTORE_RESULT, &found)) {
        reader->found++;
        free(found.data);
    }
    return NULL;
}

/* Two look at the own environment while it is frozen; a third begins then, and asks the
 * reader's object for the same files. */
static void the_last_who_looks_closes_what_was_frozen(void **state)
{
    struct folder_bench *bench = *state;
    enum { READERS = 2 };
    struct disk_table table = disk_lmdb;
    struct reader readers[READERS] = {0}, later = {0};
    pthread_t threads[READERS], last;
    struct text why = {0};
    struct diskstore *store;
    table.get = wait_to_get;
    table.close = count_closed;
    sem_init(&gate.inside, 0, 0);
    sem_init(&gate.through, 0, 0);
    assert_int_equal(disk_open_on(&table, bench->folder, NULL, &why, &store), MOOT_OK);
    put(bench, store, 0, 1);
    for (int i = 0; i < READERS; i++) {
        readers[i].store = store;
        assert_int_equal(pthread_create(&threads[i], NULL, find_once, &readers[i]), 0);
        sem_wait(&gate.inside);
    }
    diskstore_freeze(store);
    later.store = store;
    assert_int_equal(pthread_create(&last, NULL, find_once, &later), 0);
    sem_wait(&gate.inside);
    assert_int_equal(atomic_load(&gate.closed), 0);
    for (int i = 0; i < READERS + 1; i++) {
        sem_post(&gate.through);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].found, 1);
    }
    pthread_join(last, NULL);
    assert_int_equal(later.found, 1);
    assert_int_equal(atomic_load(&gate.closed), 1);
    diskstore_close(store);
    assert_int_equal(atomic_load(&gate.closed), 2);
    sem_destroy(&gate.inside);
    sem_destroy(&gate.through);
}

static void without_descriptors_nothing_is_lost(void **state)
{
    struct folder_bench *bench = *state;
    struct text why = {0};
    struct diskstore_snapshot snapshot;
    struct diskstore *store = bench_open(bench, NULL);
    put(bench, store, 0, 20);
    assert_true(diskstore_may_go_back(store, 4, &why));
    take_files_away();
    diskstore_freeze(store);
    diskstore_flush(store);
    take_files_away(); /* the pack's */
    assert_false(diskstore_may_go_back(store, 4, &why));
    assert_non_null(strstr(text_get(&why), "raise `ulimit -n`"));
    text_clear(&why);
    assert_false(diskstore_snapshot_find(store, "any", NULL, &snapshot, &why));
    assert_non_null(strstr(text_get(&why), "raise `ulimit -n`"));
    put(bench, store, 20, 30);
    assert_true(has_told(store, "results are not stored: this process has too many "
                                "files open; raise `ulimit -n`"));
    text_clear(&why);
    diskstore_why(store, &why);
    assert_non_null(strstr(text_get(&why), "raise `ulimit -n`"));
    assert_false(bench_find(bench, store, 20));
    give_files_back();
    assert_true(finds_all(bench, store, 0, 20));
    put(bench, store, 20, 30);
    assert_true(finds_all(bench, store, 0, 30));
    diskstore_close(store);
    store = bench_open(bench, NULL);
    assert_true(finds_all(bench, store, 0, 30));
    diskstore_close(store);
    text_release(&why);
}

static void *find_each(void *context)
{
    struct reader *reader = context;
    struct folder_bench bench = {.data = malloc(BENCH_DATA_MAX)};
    assert_non_null(bench.data);
    for (uint64_t number = 0; number < atomic_load(&reader->known); number++) {
        reader->found += bench_find(&bench, reader->store, number);
    }
    free(bench.data);
    return NULL;
}

/* Results in packs and in files of their own, by several threads at once. */
static void without_descriptors_all_that_is_stored_is_found(void **state)
{
    struct folder_bench *bench = *state;
    enum { MANY = 60, READERS = 3 };
    struct reader readers[READERS] = {0};
    pthread_t threads[READERS];
    struct diskstore_counts counts;
    struct diskstore *store = bench_open(bench, NULL);
    put(bench, store, 0, MANY / 2);
    diskstore_freeze(store);
    put(bench, store, MANY / 2, MANY);
    take_files_away();
    for (int i = 0; i < READERS; i++) {
        readers[i].store = store;
        readers[i].known = MANY;
        assert_int_equal(pthread_create(&threads[i], NULL, find_each, &readers[i]), 0);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].found, MANY);
    }
    give_files_back();
    assert_true(finds_all(bench, store, 0, MANY));
    diskstore_counts(store, &counts);
    assert_int_equal(counts.damaged, 0);
    diskstore_close(store);
}

/* The descriptor for reading is given up for a lack of descriptors, and nothing else.
 */
static void a_file_that_is_gone_leaves_the_descriptor_that_is_kept(void **state)
{
    struct folder_bench *bench = *state;
    char env[BENCH_PATH], path[BENCH_PATH];
    struct diskstore_record record = bench_record(bench, 0);
    record.size = 5000;
    struct diskstore *store = bench_open(bench, NULL);
    assert_true(diskstore_put_now(store, &record));
    bench_env(bench, env);
    snprintf(path, sizeof(path), "%.3000s/large/0000000000000001.pack", env);
    assert_int_equal(unlink(path), 0);
    const int kept = atomic_load(&store->reserve.fd);
    assert_false(bench_find(bench, store, 0));
    assert_true(kept >= 0 && atomic_load(&store->reserve.fd) == kept);
    diskstore_close(store);
}

/* Another thread of the program may have taken the descriptor that was kept. */
static void a_result_that_cannot_be_read_now_is_told_from_none(void **state)
{
    struct folder_bench *bench = *state;
    const uint64_t large = 0; /* of several hundred bytes */
    struct diskstore_found found;
    struct diskstore_record record = bench_record(bench, large);
    record.size = 5000;
    struct diskstore *store = bench_open(bench, NULL);
    assert_true(diskstore_put_now(store, &record));
    close(atomic_exchange(&store->reserve.fd, -1));
    take_files_away();
    assert_false(diskstore_find(store, &record.hash, DISKSTORE_RESULT, &found));
    assert_non_null(found.unread);
    assert_non_null(strstr(found.unread, "raise `ulimit -n`"));
    assert_true(found.environment[0] != '\0');
    assert_true(has_told(store, "a stored result cannot be read"));
    const moot_hash other = bench_hash(77);
    assert_false(diskstore_find(store, &other, DISKSTORE_RESULT, &found));
    assert_null(found.unread);
    give_files_back();
    assert_true(diskstore_find(store, &record.hash, DISKSTORE_RESULT, &found));
    free(found.data);
    take_files_away(); /* the find before has left one */
    assert_true(diskstore_find(store, &record.hash, DISKSTORE_RESULT, &found));
    free(found.data);
    give_files_back();
    diskstore_close(store);
}

/* Another process, which begins before this one has a store, stores records when it is
 * told. */
struct other {
    pid_t child;
    int to;
};

static struct other begin_other(struct folder_bench *bench, uint64_t from, uint64_t end)
{
    int to[2];
    char byte;
    assert_int_equal(pipe(to), 0);
    const struct other other = {.child = fork(), .to = to[1]};
    if (other.child == 0) {
        close(to[1]);
        if (read(to[0], &byte, 1) != 1) {
            _exit(1);
        }
        struct diskstore *store = bench_open(bench, NULL);
        put(bench, store, from, end);
        diskstore_close(store);
        _exit(0);
    }
    close(to[0]);
    return other;
}

static void run_other(struct other other)
{
    int status;
    assert_int_equal(write(other.to, "x", 1), 1);
    assert_int_equal(waitpid(other.child, &status, 0), other.child);
    assert_int_equal(status, 0);
    close(other.to);
}

/* A rank that cannot read what others stored would make anew what they have seen. */
static void going_back_needs_all_that_others_stored(void **state)
{
    struct folder_bench *bench = *state;
    struct text why = {0};
    const moot_hash none = bench_hash(7);
    const struct other other = begin_other(bench, 20, 30);
    struct diskstore *store = bench_open(bench, NULL);
    put(bench, store, 0, 12);
    run_other(other);
    take_files_away();
    assert_int_equal(diskstore_look_again(store), 0);
    assert_true(has_told(store, "raise `ulimit -n`"));
    assert_false(diskstore_go_back(store, 0, &none, &why));
    assert_non_null(strstr(text_get(&why), "are not read: this process has too many"));
    give_files_back();
    text_clear(&why);
    assert_true(diskstore_go_back(store, 0, &none, &why));
    assert_true(finds_all(bench, store, 0, 12) && finds_all(bench, store, 20, 30));
    diskstore_close(store);
    text_release(&why);
}

static size_t count_files(const char *folder)
{
    size_t count = 0;
    DIR *files = opendir(folder);
    while (files != NULL && readdir(files) != NULL) {
        count++;
    }
    if (files != NULL) {
        closedir(files);
    }
    return count > 2 ? count - 2 : 0;
}

/* No mark stands, and nothing else; a later one is written. */
static void expect_no_mark(const struct folder_bench *bench)
{
    char path[BENCH_PATH];
    struct disk_mark mark;
    assert_true(disk_mark_read(bench->folder, &mark));
    assert_int_equal(mark.generation, 0);
    snprintf(path, sizeof(path), "%s/reloads", bench->folder);
    assert_int_equal(count_files(path), 0);
}

static void a_mark_that_cannot_be_written_is_not_there(void **state)
{
    struct folder_bench *bench = *state;
    const struct disk_mark mark = {1, bench_hash(1)};
    struct disk_mark found;
    struct rlimit size;
    for (size_t files = 0; files < 2; files++) {
        take_files_but(files);
        assert_false(disk_mark_write(bench->folder, &mark));
        assert_true(disk_lacks_files(errno));
        give_files_back();
        expect_no_mark(bench);
    }
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &size), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){40, size.rlim_max}), 0);
    assert_false(disk_mark_write(bench->folder, &mark));
    assert_int_equal(errno, EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &size), 0);
    signal(SIGXFSZ, SIG_DFL);
    expect_no_mark(bench);
    assert_true(disk_mark_write(bench->folder, &mark));
    assert_true(disk_mark_read(bench->folder, &found));
    assert_int_equal(found.generation, 1);
}

static void records_that_fail_take_none_of_the_bytes(void **state)
{
    const struct folder_bench *bench = *state;
    static unsigned char data[10000];
    struct rlimit size;
    struct diskstore_counts counts;
    const struct diskstore_options options = {.bytes_max = 205000};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &size), 0);
    struct diskstore *store = bench_open(bench, &options);
    for (unsigned i = 0; i < 40; i++) {
        const struct rlimit none = {5000, size.rlim_max};
        const bool fails = i >= 1 && i < 11; /* the disk is full for it */
        const struct diskstore_record record = {.hash = bench_hash(i),
                                                .kind = DISKSTORE_RESULT,
                                                .data = data,
                                                .size = sizeof(data)};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, fails ? &none : &size), 0);
        assert_int_equal(diskstore_put_now(store, &record), !fails && i < 29);
    }
    diskstore_counts(store, &counts);
    assert_int_equal(counts.failed, 10);
    assert_int_equal(counts.over, 11);
    diskstore_close(store);
}

/* The batch leaves nothing in the folder, and says that the folder is not to blame. */
static void one_that_is_larger_than_all_bytes_is_told_so(void **state)
{
    const struct folder_bench *bench = *state;
    static unsigned char data[10000];
    struct text told = {0};
    size_t names = 0;
    struct diskstore_counts counts;
    const struct diskstore_options options = {.bytes_max = 5000};
    const struct diskstore_record record = {.hash = bench_hash(1),
                                            .kind = DISKSTORE_RESULT,
                                            .data = data,
                                            .size = sizeof(data)};
    struct diskstore *store = bench_open(bench, &options);
    assert_false(diskstore_put_now(store, &record));
    diskstore_counts(store, &counts);
    assert_int_equal(counts.over, 1);
    diskstore_told(store, 0, &told);
    assert_non_null(strstr(text_get(&told), "one takes 10256 bytes, and the folder may "
                                            "have 5000"));
    text_release(&told);
    diskstore_close(store);
    DIR *files = opendir(bench->folder);
    while (readdir(files) != NULL) {
        names++;
    }
    closedir(files);
    assert_int_equal(names, 3); /* ".", ".." and "lock" */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(a_finished_environment_costs_one_descriptor),
        BENCH_TEST(who_looks_meanwhile_finds_all),
        BENCH_TEST(the_last_who_looks_closes_what_was_frozen),
        BENCH_TEST(without_descriptors_nothing_is_lost),
        BENCH_TEST(without_descriptors_all_that_is_stored_is_found),
        BENCH_TEST(a_file_that_is_gone_leaves_the_descriptor_that_is_kept),
        BENCH_TEST(a_result_that_cannot_be_read_now_is_told_from_none),
        BENCH_TEST(going_back_needs_all_that_others_stored),
        BENCH_TEST(a_mark_that_cannot_be_written_is_not_there),
        BENCH_TEST(records_that_fail_take_none_of_the_bytes),
        BENCH_TEST(one_that_is_larger_than_all_bytes_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
