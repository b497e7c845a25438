/* diskstore_test.c - the store of checkpoints gives back what was put, and nothing
 * else: after a close, after a kill, beside a stopped writer, on a full disk. */
#include "disk_bench.h"

#include "node/diskstore/disk_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void put_wait(struct diskstore *store, const struct diskstore_record *record)
{
    while (!diskstore_put(store, record, NULL, NULL)) {
        diskstore_wait_room(store, record->size);
    }
}

static void put_some(struct folder_bench *bench, struct diskstore *store, uint64_t from,
                     uint64_t to)
{
    for (uint64_t number = from; number < to; number++) {
        const struct diskstore_record record = bench_record(bench, number);
        put_wait(store, &record);
    }
}

static struct diskstore_counts counts_of(struct diskstore *store)
{
    struct diskstore_counts counts;
    diskstore_counts(store, &counts);
    return counts;
}

static void what_was_put_is_found_again(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore *store = bench_open(bench, NULL);
    put_some(bench, store, 0, 500);
    diskstore_flush(store);
    for (uint64_t number = 0; number < 1000; number++) {
        assert_int_equal(bench_find(bench, store, number), number < 500);
    }
    diskstore_close(store);
    store = bench_open(bench, NULL);
    for (uint64_t number = 0; number < 1000; number++) {
        const moot_hash hash = bench_hash(number);
        assert_int_equal(bench_find(bench, store, number), number < 500);
        assert_int_equal(diskstore_find(store, &hash, DISKSTORE_RESULT, NULL),
                         number < 500);
        assert_false(diskstore_find(store, &hash, DISKSTORE_ACCEPTED, NULL));
    }
    const struct diskstore_counts counts = counts_of(store);
    assert_int_equal(counts.environments, 1);
    assert_int_equal(counts.records, 500);
    assert_int_equal(counts.found, 1000);
    assert_int_equal(counts.asked, 3000);
    assert_int_equal(counts.damaged, 0);
    diskstore_close(store);
}

static void a_process_that_stores_nothing_leaves_nothing(void **state)
{
    struct folder_bench *bench = *state;
    size_t count;
    struct disk_env_name *all;
    diskstore_close(bench_open(bench, NULL));
    assert_true(disk_env_list(bench->folder, NULL, &all, &count));
    assert_null(all);
    assert_int_equal(count, 0);
}

static void a_folder_has_one_store_in_a_process(void **state)
{
    struct folder_bench *bench = *state;
    struct folder_bench again = *bench;
    char other[BENCH_PATH];
    snprintf(other, sizeof(other), "%s/..%s", bench->folder,
             strrchr(bench->folder, '/'));
    snprintf(again.folder, sizeof(again.folder), "%.2000s", other);
    struct diskstore *store = bench_open(bench, NULL);
    struct diskstore *same = bench_open(&again, NULL);
    assert_ptr_equal(store, same);
    put_some(bench, store, 0, 10);
    diskstore_close(store);
    assert_true(bench_find(bench, same, 9));
    put_some(bench, same, 10, 20);
    diskstore_close(same);
    store = bench_open(bench, NULL);
    assert_true(bench_find(bench, store, 9) && bench_find(bench, store, 19));
    diskstore_close(store);
}

static struct diskstore_record progress_record(uint64_t number, uint64_t made_ns,
                                               const void *data, size_t size)
{
    return (struct diskstore_record){.hash = bench_hash(number),
                                     .kind = DISKSTORE_PROGRESS,
                                     .made_ns = made_ns,
                                     .data = data,
                                     .size = size};
}

static void half_done_state_is_the_newest_and_ends_with_the_result(void **state)
{
    struct folder_bench *bench = *state;
    static unsigned char large[300000];
    const moot_hash hash = bench_hash(1);
    struct diskstore_found found;
    struct diskstore *store = bench_open(bench, NULL);
    struct diskstore_record record = progress_record(1, 30, large, sizeof(large));
    put_wait(store, &record);
    diskstore_close(store);

    store = bench_open(bench, NULL);
    record = progress_record(1, 10, "old", 3);
    put_wait(store, &record);
    diskstore_flush(store);
    assert_true(diskstore_find(store, &hash, DISKSTORE_PROGRESS, &found));
    assert_int_equal(found.size, sizeof(large));
    free(found.data);
    for (uint64_t made = 40; made < 45; made++) {
        large[0] = (unsigned char)made;
        record = progress_record(1, made, large, sizeof(large));
        put_wait(store, &record);
        assert_true(made == 44 || diskstore_put_now(store, &record));
    }
    diskstore_flush(store);
    assert_true(diskstore_find(store, &hash, DISKSTORE_PROGRESS, &found));
    assert_int_equal(found.made_ns, 44);
    assert_int_equal(((unsigned char *)found.data)[0], 44);
    free(found.data);
    record = bench_record(bench, 1);
    assert_true(diskstore_put_now(store, &record));
    diskstore_close(store);
    store = bench_open(bench, NULL);
    assert_true(bench_find(bench, store, 1));
    diskstore_close(store);
}

static void a_replaced_record_leaves_no_large_file(void **state)
{
    struct folder_bench *bench = *state;
    static unsigned char large[300000];
    char env[BENCH_PATH];
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t made = 1; made < 8; made++) {
        const struct diskstore_record record =
            progress_record(3, made, large, sizeof(large));
        put_wait(store, &record);
        if (made % 2 == 0) {
            diskstore_flush(store);
        }
    }
    diskstore_flush(store);
    bench_env(bench, env);
    assert_int_equal(bench_count_files(env, "large"), 1);
    const struct diskstore_record result = {.hash = bench_hash(3),
                                            .kind = DISKSTORE_RESULT};
    assert_true(diskstore_put_now(store, &result));
    assert_int_equal(bench_count_files(env, "large"), 0);
    assert_false(diskstore_find(store, &result.hash, DISKSTORE_PROGRESS, NULL));
    diskstore_close(store);
}

/* --- The queue -------------------------------------------------------------------- */

static void count_done(void *context, bool stored)
{
    unsigned *ends = context;
    ends[stored]++;
}

static void a_full_queue_says_so_and_room_comes(void **state)
{
    struct folder_bench *bench = *state;
    static unsigned char data[50000];
    unsigned ends[2] = {0, 0}, refused = 0;
    const struct diskstore_options options = {.queue_bytes = 120000};
    struct diskstore *store = bench_open(bench, &options);
    for (unsigned i = 0; i < 200; i++) {
        const struct diskstore_record record = {.hash = bench_hash(i),
                                                .kind = DISKSTORE_RESULT,
                                                .data = data,
                                                .size = sizeof(data)};
        while (!diskstore_put(store, &record, count_done, ends)) {
            refused++;
            diskstore_wait_room(store, record.size);
        }
        assert_in_range(counts_of(store).waiting_bytes, 0, options.queue_bytes);
    }
    diskstore_flush(store);
    assert_int_equal(ends[true], 200);
    assert_int_equal(ends[false], 0);
    assert_true(refused > 0);
    assert_true(diskstore_cost_ns(store, 1) > 0);
    assert_true(diskstore_cost_ns(store, 1 << 24) > diskstore_cost_ns(store, 1));
    diskstore_close(store);
}

static void bounds_by_bytes_and_age_are_kept(void **state)
{
    struct folder_bench *bench = *state;
    static unsigned char data[10000];
    struct diskstore_options options = {.bytes_max = 205000};
    struct diskstore *store = bench_open(bench, &options);
    for (unsigned i = 0; i < 40; i++) {
        const struct diskstore_record record = {.hash = bench_hash(i),
                                                .kind = DISKSTORE_RESULT,
                                                .made_ns = i < 5 ? 1000 : 0,
                                                .data = data,
                                                .size = sizeof(data)};
        put_wait(store, &record);
    }
    diskstore_flush(store);
    assert_int_equal(counts_of(store).stored, 19);
    assert_int_equal(counts_of(store).over, 21);
    assert_int_equal(counts_of(store).failed, 0);
    diskstore_close(store);
    options.age_max_ns = 3600 * (uint64_t)1000000000;
    store = bench_open(bench, &options);
    for (unsigned i = 0; i < 40; i++) {
        const moot_hash hash = bench_hash(i);
        struct diskstore_found found = {.data = NULL};
        assert_int_equal(diskstore_find(store, &hash, DISKSTORE_RESULT, &found),
                         i >= 5 && i < 19);
        free(found.data);
    }
    assert_int_equal(counts_of(store).old, 5);
    const struct diskstore_record more = {.hash = bench_hash(99),
                                          .kind = DISKSTORE_RESULT,
                                          .data = data,
                                          .size = sizeof(data)};
    assert_false(diskstore_put_now(store, &more)); /* the folder was full before */
    diskstore_close(store);
}

/* --- Other processes -------------------------------------------------------------- */

/* A child that stores records from `from` on, and writes the number of each that is
 * safe. */
static pid_t start_writer(struct folder_bench *bench, uint64_t from, int *numbers)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) {
        close(ends[1]);
        *numbers = ends[0];
        return child;
    }
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = from;; number++) {
        const struct diskstore_record record = bench_record(bench, number);
        if (number % 8 != 7) {
            put_wait(store, &record);
        } else if (!diskstore_put_now(store, &record) ||
                   write(ends[1], &number, sizeof(number)) != sizeof(number)) {
            _exit(1);
        }
    }
}

/* The last number that the child wrote; `fallback` if none. */
static uint64_t last_number(int numbers, uint64_t fallback)
{
    uint64_t number;
    while (read(numbers, &number, sizeof(number)) == sizeof(number)) {
        fallback = number;
    }
    close(numbers);
    return fallback;
}

/* The first one, when it has: a disk may be slow. */
static uint64_t wait_for_number(int numbers)
{
    uint64_t number;
    assert_int_equal(read(numbers, &number, sizeof(number)), sizeof(number));
    return number;
}

static void end_child(pid_t child)
{
    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static void kills_in_the_middle_of_writes_harm_no_record(void **state)
{
    enum { KILLS = 200, SPAN = 1000000 };
    struct folder_bench *bench = *state;
    uint64_t seed = 7, found = 0, safe = 0;
    uint64_t last[KILLS];
    for (uint64_t i = 0; i < KILLS; i++) {
        int numbers;
        const pid_t child = start_writer(bench, i * SPAN, &numbers);
        last[i] = i % 2 == 0 ? wait_for_number(numbers) : UINT64_MAX;
        usleep((useconds_t)bench_draw(&seed, 30000));
        end_child(child);
        last[i] = last_number(numbers, last[i]);
    }
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t i = 0; i < KILLS; i++) {
        /* All up to the last that was said to be safe, in the order of their writing.
         */
        uint64_t number = i * SPAN;
        for (; last[i] != UINT64_MAX && number <= last[i]; number++, safe++) {
            assert_true(bench_find(bench, store, number));
        }
        while (bench_find(bench, store, number)) {
            number++;
            found++;
        }
    }
    assert_int_equal(counts_of(store).damaged, 0);
    assert_true(safe > 0 && found > 0);
    diskstore_close(store);
}

static void a_stopped_writer_blocks_nobody_and_is_read_when_dead(void **state)
{
    struct folder_bench *bench = *state;
    int numbers, status;
    uint64_t number;
    const pid_t child = start_writer(bench, 0, &numbers);
    assert_int_equal(read(numbers, &number, sizeof(number)), sizeof(number));
    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    struct diskstore *store = bench_open(bench, NULL);
    assert_false(bench_find(bench, store, 0));
    put_some(bench, store, 1000, 1010);
    diskstore_flush(store);
    assert_int_equal(diskstore_look_again(store), 0);
    end_child(child);
    assert_int_equal(diskstore_look_again(store), 1);
    assert_int_equal(diskstore_look_again(store), 0);
    for (uint64_t i = 0; i <= number; i++) {
        assert_true(bench_find(bench, store, i));
    }
    assert_true(bench_find(bench, store, 1009));
    diskstore_close(store);
    close(numbers);
}

static void a_folder_that_is_used_cannot_be_locked_to_write(void **state)
{
    struct folder_bench *bench = *state;
    int numbers;
    uint64_t number;
    pid_t holder;
    const pid_t child = start_writer(bench, 0, &numbers);
    assert_int_equal(read(numbers, &number, sizeof(number)), sizeof(number));
    assert_int_equal(disk_folder_lock(bench->folder, DISK_LOCK_WRITE, &holder), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(holder, child);
    size_t count;
    struct disk_env_name *all;
    assert_true(disk_env_list(bench->folder, NULL, &all, &count));
    assert_int_equal(count, 1);
    assert_true(all[0].alive && all[0].readable);
    assert_int_equal(all[0].writer, child);
    free(all);
    end_child(child);
    const int lock = disk_folder_lock(bench->folder, DISK_LOCK_WRITE, &holder);
    assert_true(lock >= 0);
    close(lock);
    close(numbers);
}

/* A child that has the folder open, as a process of that job, until it is killed. */
static pid_t start_opener(struct folder_bench *bench, uint64_t job)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct diskstore_options options = {.job = job};
        (void)bench_open(bench, &options);
        if (write(ends[1], "", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

static int open_as(const struct folder_bench *bench, uint64_t job, struct text *why)
{
    const struct diskstore_options options = {.job = job};
    struct diskstore *store = NULL;
    const int code = diskstore_open(bench->folder, &options, why, &store);
    diskstore_close(store);
    return code;
}

static void another_job_is_refused_while_one_lives(void **state)
{
    struct folder_bench *bench = *state;
    const uint64_t jobs[] = {1, 7, UINT64_C(1) << 63 | 12345, UINT64_MAX};
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
        struct text why = {0};
        char pid[32];
        const pid_t child = start_opener(bench, jobs[i]);
        assert_int_equal(open_as(bench, jobs[i], &why), MOOT_OK);
        assert_int_equal(open_as(bench, 0, &why), MOOT_OK);
        if (i == 1) { /* it waits some seconds: once is enough */
            assert_int_equal(open_as(bench, 9, &why), MOOT_ERR_FILE);
            snprintf(pid, sizeof(pid), "kill %ld", (long)child);
            assert_non_null(strstr(text_get(&why), pid));
        }
        end_child(child);
        assert_int_equal(open_as(bench, 9, &why), MOOT_OK);
        text_release(&why);
    }
}

/* --- Trouble ---------------------------------------------------------------------- */

static void the_end_of_a_once_task_is_found_however_old(void **state)
{
    struct folder_bench *bench = *state;
    const struct diskstore_options options = {.age_max_ns = 1000000};
    struct diskstore *store = bench_open(bench, &options);
    for (uint64_t number = 1; number < 3; number++) {
        struct diskstore_record record = {
            .hash = bench_hash(number), .kind = DISKSTORE_RESULT, .made_ns = 1};
        assert_true(diskstore_put_now(store, &record));
        record.kind = DISKSTORE_ACCEPTED;
        assert_true(number == 2 || diskstore_put_now(store, &record));
    }
    for (uint64_t number = 1; number < 3; number++) {
        const moot_hash hash = bench_hash(number);
        struct diskstore_found found = {.data = NULL};
        assert_int_equal(diskstore_find(store, &hash, DISKSTORE_RESULT, &found),
                         number == 1);
        free(found.data);
    }
    assert_int_equal(counts_of(store).old, 1);
    diskstore_close(store);
}

static void a_removed_folder_stores_nothing(void **state)
{
    struct folder_bench *bench = *state;
    struct text told = {0};
    struct diskstore *store = bench_open(bench, NULL);
    struct diskstore_record record = bench_record(bench, 1);
    assert_true(diskstore_put_now(store, &record));
    bench_empty_folder(bench->folder);
    record = bench_record(bench, 2);
    assert_false(diskstore_put_now(store, &record));
    assert_int_equal(counts_of(store).stored, 1);
    assert_int_equal(counts_of(store).failed, 1);
    diskstore_told(store, 0, &told);
    assert_non_null(strstr(text_get(&told), "was removed"));
    text_release(&told);
    diskstore_close(store);
}

/* In a child, which may not write. */
static int find_only(struct folder_bench *bench)
{
    if (getuid() == 0 && setuid(65534) != 0) {
        return 9;
    }
    struct text why = {0};
    struct diskstore *store = bench_open(bench, NULL);
    const struct diskstore_record record = bench_record(bench, 2);
    const bool found = bench_find(bench, store, 1);
    const bool put = diskstore_put_now(store, &record);
    diskstore_why(store, &why);
    const bool said = strstr(text_get(&why), "denied") != NULL;
    text_release(&why);
    diskstore_close(store);
    return !found ? 1 : put ? 2 : !said ? 3 : 0;
}

static void a_folder_that_may_only_be_read_gives_what_it_has(void **state)
{
    struct folder_bench *bench = *state;
    int status;
    struct diskstore *store = bench_open(bench, NULL);
    const struct diskstore_record record = bench_record(bench, 1);
    assert_true(diskstore_put_now(store, &record));
    diskstore_close(store);
    assert_int_equal(chmod(bench->folder, 0555), 0);
    const pid_t child = fork();
    if (child == 0) {
        _exit(find_only(bench));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(bench->folder, 0755), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_folder_that_cannot_be_listed_says_so(void **state)
{
    struct folder_bench *bench = *state;
    struct disk_env_name *all;
    size_t count;
    char path[BENCH_PATH];
    snprintf(path, sizeof(path), "%s/none", bench->folder);
    assert_false(disk_env_list(path, NULL, &all, &count));
    assert_int_equal(errno, ENOENT);
    assert_null(all);
    assert_int_equal(count, 0);
}

/* In a child, whose files may have 2 MB, and then more. */
static int fill_disk(struct folder_bench *bench)
{
    struct text told = {0};
    struct rlimit limit;
    signal(SIGXFSZ, SIG_DFL); /* it may have been inherited as ignored */
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 2 << 20;
    setrlimit(RLIMIT_FSIZE, &limit);
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = 0; number < 8000; number++) {
        const struct diskstore_record record = bench_record(bench, number);
        if (record.size < 100000) {
            put_wait(store, &record);
        }
        if (number % 500 == 0) {
            diskstore_flush(store);
        }
    }
    diskstore_flush(store);
    const struct diskstore_counts full = counts_of(store);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    const struct diskstore_record record = bench_record(bench, 9001);
    const bool again = diskstore_put_now(store, &record);
    const bool early = bench_find(bench, store, 1);
    const size_t length = diskstore_told(store, 0, &told);
    const bool said = strstr(text_get(&told), "File too large") != NULL ||
                      strstr(text_get(&told), "or is full") != NULL;
    const bool once = length == strlen(text_get(&told)) &&
                      diskstore_told(store, length, &told) == length &&
                      strchr(text_get(&told), '\n') == text_get(&told) + length - 1;
    text_release(&told);
    diskstore_close(store);
    return full.failed == 0 || full.stored == 0 ? 1
           : !said || !once                     ? 2
           : !again                             ? 3
           : !early                             ? 4
                                                : 0;
}

static void a_full_disk_costs_records_and_not_the_job(void **state)
{
    struct folder_bench *bench = *state;
    int status;
    const pid_t child = fork();
    if (child == 0) {
        _exit(fill_disk(bench));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct diskstore *store = bench_open(bench, NULL);
    uint64_t found = 0;
    for (uint64_t number = 0; number < 8000; number++) {
        found += bench_find(bench, store, number);
    }
    assert_true(found > 0 && found < 8000);
    assert_true(bench_find(bench, store, 9001));
    assert_int_equal(counts_of(store).damaged, 0);
    diskstore_close(store);
}

static void open_says_why_it_cannot(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore *store = NULL;
    struct text why = {0};
    char path[BENCH_PATH];
    snprintf(path, sizeof(path), "%s/no/folder", bench->folder);
    assert_int_equal(diskstore_open(path, NULL, &why, &store), MOOT_ERR_FILE);
    assert_non_null(strstr(text_get(&why), "No such file"));
    text_clear(&why);
    snprintf(path, sizeof(path), "%s/file", bench->folder);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    assert_int_equal(diskstore_open(path, NULL, &why, &store), MOOT_ERR_FILE);
    text_clear(&why);
    assert_int_equal(diskstore_open("/proc/self", NULL, &why, &store), MOOT_ERR_FILE);
    assert_null(store);
    text_release(&why);
    assert_string_equal(disk_file_system_refused(0x6969), "NFS");
    assert_string_equal(disk_file_system_refused(0x0BD00BD0), "Lustre");
    assert_string_equal(disk_file_system_refused((long)0xFE534D42), "SMB");
    assert_null(disk_file_system_refused(0xEF53));
}

static void another_versions_environment_is_left_alone(void **state)
{
    struct folder_bench *bench = *state;
    char env[BENCH_PATH], path[BENCH_PATH];
    struct diskstore *store = bench_open(bench, NULL);
    put_some(bench, store, 0, 10);
    diskstore_close(store);
    bench_env(bench, env);
    snprintf(path, sizeof(path), "%.4000s/owner", env);
    FILE *owner = fopen(path, "w");
    assert_non_null(owner);
    fputs("moot checkpoint 3\n", owner);
    fclose(owner);
    store = bench_open(bench, NULL);
    assert_int_equal(counts_of(store).environments, 0);
    assert_false(bench_find(bench, store, 1));
    diskstore_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(what_was_put_is_found_again),
        BENCH_TEST(a_process_that_stores_nothing_leaves_nothing),
        BENCH_TEST(a_folder_has_one_store_in_a_process),
        BENCH_TEST(half_done_state_is_the_newest_and_ends_with_the_result),
        BENCH_TEST(a_replaced_record_leaves_no_large_file),
        BENCH_TEST(a_full_queue_says_so_and_room_comes),
        BENCH_TEST(bounds_by_bytes_and_age_are_kept),
        BENCH_TEST(kills_in_the_middle_of_writes_harm_no_record),
        BENCH_TEST(a_stopped_writer_blocks_nobody_and_is_read_when_dead),
        BENCH_TEST(a_folder_that_is_used_cannot_be_locked_to_write),
        BENCH_TEST(a_full_disk_costs_records_and_not_the_job),
        BENCH_TEST(open_says_why_it_cannot),
        BENCH_TEST(another_versions_environment_is_left_alone),
        BENCH_TEST(another_job_is_refused_while_one_lives),
        BENCH_TEST(the_end_of_a_once_task_is_found_however_old),
        BENCH_TEST(a_removed_folder_stores_nothing),
        BENCH_TEST(a_folder_that_may_only_be_read_gives_what_it_has),
        BENCH_TEST(a_folder_that_cannot_be_listed_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
