/* disk_pack_test.c - middling results share files: none costs another, and a prune
 * leaves those that nobody needs. */
#include "disk_bench.h"

#include "node/diskstore/disk_large.h"
#include "node/diskstore/disk_pack.h"
#include "node/diskstore/disk_prune.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { MIDDLING = 4000, RESULTS = 100, SMALL = 500, LARGE = 300000 };
enum { BLOCK = 4096, BATCHES = 4 }; /* a batch may be filled up to a block */

static struct diskstore_record result(uint64_t number, uint64_t made_ns,
                                      unsigned char *data, size_t size)
{
    bench_fill(number + made_ns, data, size);
    return (struct diskstore_record){.hash = bench_hash(number),
                                     .kind = DISKSTORE_RESULT,
                                     .made_ns = made_ns,
                                     .data = data,
                                     .size = size};
}

static void put(struct diskstore *store, uint64_t number, uint64_t made_ns, size_t size)
{
    static unsigned char data[LARGE];
    const struct diskstore_record record = result(number, made_ns, data, size);
    while (!diskstore_put(store, &record, NULL, NULL)) {
        diskstore_wait_room(store, size);
    }
}

static bool finds(struct diskstore *store, uint64_t number, uint64_t made_ns,
                  size_t size)
{
    static unsigned char data[LARGE];
    const struct diskstore_record want = result(number, made_ns, data, size);
    struct diskstore_found found;
    if (!diskstore_find(store, &want.hash, DISKSTORE_RESULT, &found)) {
        return false;
    }
    assert_int_equal(found.size, size);
    assert_memory_equal(found.data, data, size);
    free(found.data);
    return true;
}

/* The environment's packs: how many, the bytes of all, and the path of one. */
struct packs {
    size_t count, others;
    uint64_t bytes;
    char path[BENCH_PATH];
};

static struct packs packs_of(const struct folder_bench *bench)
{
    struct packs packs = {0};
    char env[BENCH_PATH], path[BENCH_PATH];
    bench_env(bench, env);
    snprintf(path, sizeof(path), "%.3000s/large", env);
    DIR *files = opendir(path);
    for (const struct dirent *entry;
         files != NULL && (entry = readdir(files)) != NULL;) {
        struct stat stat_of;
        snprintf(path, sizeof(path), "%.3000s/large/%.90s", env, entry->d_name);
        assert_int_equal(stat(path, &stat_of), 0);
        if (strstr(entry->d_name, ".pack") != NULL) {
            packs.count++;
            packs.bytes += (uint64_t)stat_of.st_size;
            memcpy(packs.path, path, sizeof(path));
        } else {
            packs.others += entry->d_name[0] != '.';
        }
    }
    if (files != NULL) {
        closedir(files);
    }
    return packs;
}

static void fill_store(const struct folder_bench *bench, uint64_t made_ns)
{
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = 0; number < RESULTS; number++) {
        put(store, number, made_ns, MIDDLING + number);
        if (number % 30 == 0) {
            diskstore_flush(store);
        }
    }
    diskstore_close(store);
}

static size_t count_found(const struct folder_bench *bench, uint64_t made_ns,
                          uint64_t *damaged)
{
    struct diskstore *store = bench_open(bench, NULL);
    struct diskstore_counts counts;
    size_t found = 0;
    for (uint64_t number = 0; number < RESULTS; number++) {
        found += finds(store, number, made_ns, MIDDLING + number);
    }
    diskstore_counts(store, &counts);
    *damaged = counts.damaged;
    diskstore_close(store);
    return found;
}

static void middling_results_share_a_file(void **state)
{
    const struct folder_bench *bench = *state;
    uint64_t damaged;
    fill_store(bench, 7);
    struct packs packs = packs_of(bench);
    assert_int_equal(packs.count, 1);
    assert_int_equal(packs.others, 0);
    const uint64_t bytes = RESULTS * MIDDLING + RESULTS * (RESULTS - 1) / 2;
    assert_in_range(packs.bytes, bytes, bytes + BATCHES * BLOCK);
    assert_int_equal(count_found(bench, 7, &damaged), RESULTS);
    assert_int_equal(damaged, 0);
}

static void small_and_large_results_and_half_done_states_do_not(void **state)
{
    const struct folder_bench *bench = *state;
    static unsigned char data[MIDDLING];
    struct diskstore *store = bench_open(bench, NULL);
    put(store, 1, 1, SMALL);
    put(store, 2, 2, LARGE);
    struct diskstore_record state_of = result(3, 3, data, sizeof(data));
    state_of.kind = DISKSTORE_PROGRESS;
    assert_true(diskstore_put_now(store, &state_of));
    const struct packs packs = packs_of(bench);
    assert_int_equal(packs.count, 0);
    assert_int_equal(packs.others, 1);
    assert_true(finds(store, 1, 1, SMALL) && finds(store, 2, 2, LARGE));
    diskstore_close(store);
}

static void write_bytes(const char *path, const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Each flipped bit costs the record whose data it is in, and a file that is cut those
 * that are behind. */
static void damage_costs_the_records_that_it_is_in(void **state)
{
    const struct folder_bench *bench = *state;
    uint64_t seed = 3, damaged;
    fill_store(bench, 7);
    const struct packs packs = packs_of(bench);
    unsigned char *bytes = malloc(packs.bytes), *whole = malloc(packs.bytes);
    FILE *file = fopen(packs.path, "rb");
    assert_true(bytes != NULL && whole != NULL && file != NULL);
    assert_int_equal(fread(whole, 1, packs.bytes, file), packs.bytes);
    memcpy(bytes, whole, packs.bytes);
    fclose(file);
    for (int i = 0; i < 30; i++) {
        const uint64_t at = bench_draw(&seed, packs.bytes);
        bytes[at] ^= (unsigned char)(1 << bench_draw(&seed, 8));
        write_bytes(packs.path, bytes, packs.bytes);
        const size_t found = count_found(bench, 7, &damaged);
        assert_int_equal(found + damaged, RESULTS);
        assert_in_range(damaged, 1, (uintmax_t)i + 1);
    }
    write_bytes(packs.path, whole, MIDDLING * 10 + 46);
    free(bytes);
    free(whole);
    assert_in_range(count_found(bench, 7, &damaged), 9, 10);
}

/* The records of a second run take the place of those of the first, in another pack:
 * a prune leaves no byte of the first. */
static void a_prune_leaves_what_is_needed(void **state)
{
    const struct folder_bench *bench = *state;
    struct disk_prune_counts counts;
    struct text why = {0};
    uint64_t damaged;
    fill_store(bench, 7);
    fill_store(bench, 8);
    assert_int_equal(disk_prune(bench->folder,
                                &(struct disk_prune_options){.dry = false}, &counts,
                                &why),
                     MOOT_OK);
    text_release(&why);
    assert_int_equal(counts.twice, RESULTS);
    const struct packs packs = packs_of(bench);
    assert_int_equal(packs.count, 1);
    assert_int_equal(packs.bytes, RESULTS * MIDDLING + RESULTS * (RESULTS - 1) / 2);
    assert_int_equal(count_found(bench, 8, &damaged), RESULTS);
    assert_int_equal(damaged, 0);
}

/* A pack that is full is followed by another. */
static void full_packs_are_followed_by_others(void **state)
{
    enum { MANY = 640, BYTES = 250000 };
    const struct folder_bench *bench = *state;
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = 0; number < MANY; number++) {
        put(store, number, 5, BYTES);
    }
    diskstore_close(store);
    const struct packs packs = packs_of(bench);
    assert_in_range(packs.count, 2, 3);
    assert_in_range(packs.bytes, (uint64_t)MANY * BYTES,
                    (uint64_t)MANY * (BYTES + BLOCK));
    store = bench_open(bench, NULL);
    for (uint64_t number = 0; number < MANY; number++) {
        assert_true(finds(store, number, 5, BYTES));
    }
    diskstore_close(store);
}

/* A batch finds the disk full; the next does not. */
static bool is_full(void *context)
{
    int *batches = context;
    return ++*batches == 2;
}

static bool flips_nothing(void *context, uint64_t *word)
{
    (void)context;
    (void)word;
    return false;
}

static void a_batch_that_fails_takes_no_other_with_it(void **state)
{
    const struct folder_bench *bench = *state;
    int batches = 0;
    const struct diskstore_harm harm = {&batches, is_full, flips_nothing};
    struct diskstore *store = bench_open(bench, NULL);
    diskstore_harm(store, &harm);
    for (uint64_t number = 0; number < 3; number++) {
        put(store, number, 4, MIDDLING);
        diskstore_flush(store);
    }
    diskstore_unharm(store, &batches);
    assert_true(finds(store, 0, 4, MIDDLING));
    assert_false(finds(store, 1, 4, MIDDLING));
    assert_true(finds(store, 2, 4, MIDDLING));
    diskstore_close(store);
}

/* --- Files that vanish ------------------------------------------------------------ */

enum { BEFORE = 10, SINCE = 20 };

static struct diskstore *store_some(const struct folder_bench *bench)
{
    struct diskstore *store = bench_open(bench, NULL);
    for (uint64_t number = 0; number < BEFORE; number++) {
        put(store, number, 6, MIDDLING);
    }
    put(store, BEFORE, 6, LARGE);
    diskstore_flush(store);
    return store;
}

/* Some are stored since: these share a file, and are found, also by another store; and
 * so many of those before are counted as lost, once, and told. */
static void expect_lost(const struct folder_bench *bench, struct diskstore *store,
                        uint64_t lost)
{
    struct diskstore_counts counts;
    struct text told = {0};
    char words[BENCH_PATH];
    for (uint64_t number = BEFORE + 1; number < SINCE; number++) {
        put(store, number, 6, MIDDLING);
        diskstore_flush(store);
    }
    put(store, SINCE, 6, LARGE);
    diskstore_flush(store);
    diskstore_counts(store, &counts);
    assert_int_equal(counts.damaged, lost);
    assert_int_equal(counts.failed, 0);
    assert_in_range(packs_of(bench).count, 1,
                    2); /* the one that was cut is still there */
    diskstore_told(store, 0, &told);
    snprintf(words, sizeof(words), "the data of %d stored results", (int)lost);
    assert_non_null(strstr(text_get(&told), words));
    text_release(&told);
    for (int opening = 0; opening < 2; opening++) {
        for (uint64_t number = BEFORE + 1; number < SINCE; number++) {
            assert_true(finds(store, number, 6, MIDDLING));
        }
        assert_true(finds(store, SINCE, 6, LARGE));
        diskstore_close(store);
        store = opening == 0 ? bench_open(bench, NULL) : NULL;
    }
}

static void a_pack_that_is_removed_is_followed_by_another(void **state)
{
    const struct folder_bench *bench = *state;
    struct diskstore *store = store_some(bench);
    const struct packs packs = packs_of(bench);
    assert_int_equal(unlink(packs.path), 0);
    expect_lost(bench, store, BEFORE);
}

static void losses_of_two_packs_add_up(void **state)
{
    const struct folder_bench *bench = *state;
    struct diskstore *store = store_some(bench);
    struct diskstore_counts counts;
    for (uint64_t round = 1; round <= 2; round++) {
        const struct packs packs = packs_of(bench);
        assert_int_equal(unlink(packs.path), 0);
        for (uint64_t i = 0; i < BEFORE; i++) {
            put(store, 100 * round + i, 6, MIDDLING);
        }
        diskstore_flush(store);
        diskstore_counts(store, &counts);
        assert_int_equal(counts.damaged, BEFORE * round);
    }
    diskstore_close(store);
}

static void a_pack_that_is_cut_is_followed_by_another(void **state)
{
    const struct folder_bench *bench = *state;
    struct diskstore *store = store_some(bench);
    const struct packs packs = packs_of(bench);
    assert_int_equal(truncate(packs.path, MIDDLING * 4 + 1), 0);
    expect_lost(bench, store, BEFORE - 4);
}

static void move_away(const struct folder_bench *bench)
{
    char env[BENCH_PATH], large[BENCH_PATH], away[BENCH_PATH];
    bench_env(bench, env);
    snprintf(large, sizeof(large), "%.3000s/large", env);
    snprintf(away, sizeof(away), "%.3000s/.away", bench->folder);
    assert_int_equal(rename(large, away), 0);
}

static void files_that_are_moved_away_are_lost(void **state)
{
    const struct folder_bench *bench = *state;
    struct diskstore *store = store_some(bench);
    move_away(bench);
    expect_lost(bench, store, BEFORE + 1);
}

static void so_are_those_of_large_results_alone(void **state)
{
    const struct folder_bench *bench = *state;
    struct diskstore *store = bench_open(bench, NULL);
    put(store, 0, 6, LARGE);
    diskstore_flush(store);
    move_away(bench);
    expect_lost(bench, store, 1);
}

/* --- Around the kernel's cache ---------------------------------------------------- */

/* Pages of the file that the kernel's cache has. */
static size_t cached_pages(const char *path)
{
    static unsigned char pages[1 << 16];
    struct stat stat_of;
    size_t count = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &stat_of) == 0);
    const size_t size = (size_t)stat_of.st_size;
    assert_true(size > 0 && size / BLOCK < sizeof(pages));
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED && mincore(map, size, pages) == 0);
    for (size_t i = 0; i < (size + BLOCK - 1) / BLOCK; i++) {
        count += pages[i] & 1;
    }
    munmap(map, size);
    close(fd);
    return count;
}

/* Whether the file system takes writes that go around the cache, and keeps nothing. */
static bool takes_them(const struct folder_bench *bench)
{
    char path[BENCH_PATH];
    void *block = aligned_alloc(BLOCK, BLOCK);
    assert_non_null(block);
    memset(block, 1, BLOCK);
    snprintf(path, sizeof(path), "%.3000s.try", bench->folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
    const bool good = fd >= 0 && write(fd, block, BLOCK) == BLOCK;
    free(block);
    if (fd >= 0) {
        close(fd);
    }
    const bool around = good && cached_pages(path) == 0;
    unlink(path);
    return around;
}

/* A result waits, of as many bytes as `queue_bytes`; the pages of the pack that the
 * cache then has. */
static size_t cached_of_queue(const struct folder_bench *bench, uint64_t queue_bytes,
                              size_t size)
{
    const struct diskstore_options options = {.queue_bytes = queue_bytes};
    struct diskstore *store = bench_open(bench, &options);
    put(store, size, 1, size);
    diskstore_flush(store);
    const size_t pages = cached_pages(packs_of(bench).path);
    assert_true(finds(store, size, 1, size));
    diskstore_close(store);
    return pages;
}

static void results_go_around_the_cache_while_few_wait(void **state)
{
    const struct folder_bench *bench = *state;
    if (!takes_them(bench)) {
        skip();
    }
    assert_int_equal(cached_of_queue(bench, 64 << 20, 200000), 0);
}

static void results_go_through_the_cache_when_many_wait(void **state)
{
    const struct folder_bench *bench = *state;
    assert_int_equal(cached_of_queue(bench, 1 << 20, 200000), 200000 / BLOCK + 1);
}

static void a_short_batch_goes_through_the_cache_as_it_is(void **state)
{
    const struct folder_bench *bench = *state;
    assert_int_equal(cached_of_queue(bench, 64 << 20, 20000), 20000 / BLOCK + 1);
    assert_int_equal(packs_of(bench).bytes, 20000);
}

/* A pack by itself. */
struct alone {
    struct disk_pack pack;
    struct disk_spot spots[RESULTS];
    size_t sizes[RESULTS], count;
    uint64_t last;
};

static void add(struct alone *alone, size_t size)
{
    static unsigned char data[LARGE];
    bench_fill(alone->count, data, size);
    alone->sizes[alone->count] = size;
    assert_true(disk_pack_add(&alone->pack, &alone->last, data, size,
                              &alone->spots[alone->count]));
    alone->count++;
}

static void commit(struct alone *alone)
{
    assert_true(disk_pack_write(&alone->pack));
    disk_pack_keep(&alone->pack);
}

static void path_of(const struct alone *alone, char path[BENCH_PATH])
{
    snprintf(path, BENCH_PATH, "%.3000s/large/%016llx.pack", alone->pack.folder,
             (unsigned long long)alone->spots[0].number);
}

static void reads_back(const struct alone *alone)
{
    static unsigned char data[LARGE], want[LARGE];
    char path[BENCH_PATH];
    path_of(alone, path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t i = 0; i < alone->count; i++) {
        const size_t size = alone->sizes[i];
        assert_int_equal(alone->spots[i].number, alone->spots[0].number);
        assert_int_equal(pread(fd, data, size, (off_t)alone->spots[i].from), size);
        bench_fill(i, want, size);
        assert_memory_equal(data, want, size);
    }
    close(fd);
}

/* A piece ends where it would have without a short batch before it. */
static void behind_a_short_batch_the_next_pieces_go_around_the_cache(void **state)
{
    enum { PIECE = 256 << 10, MANY = 4 };
    const struct folder_bench *bench = *state;
    struct alone alone = {
        .pack = {.folder = bench->folder, .around_max_ns = UINT64_MAX}};
    char path[BENCH_PATH];
    add(&alone, 20000);
    commit(&alone);
    for (int i = 0; i < MANY; i++) {
        alone.pack.around_max_ns = UINT64_MAX;
        add(&alone, LARGE);
    }
    commit(&alone);
    path_of(&alone, path);
    if (takes_them(bench)) {
        assert_in_range(cached_pages(path), 1, PIECE / BLOCK);
    }
    reads_back(&alone);
    disk_pack_close(&alone.pack);
}

static void batches_of_both_ways_read_back(void **state)
{
    const struct folder_bench *bench = *state;
    struct alone alone = {.pack = {.folder = bench->folder}};
    const bool takes = takes_them(bench);
    uint64_t seed = 5;
    while (alone.count < RESULTS) {
        alone.pack.around_max_ns = bench_draw(&seed, 3) > 0 ? UINT64_MAX : 0;
        for (uint64_t i = bench_draw(&seed, 4); i > 0 && alone.count < RESULTS; i--) {
            add(&alone, 513 + (size_t)bench_draw(&seed, 250000));
        }
        commit(&alone);
    }
    assert_true(!takes || !alone.pack.refused);
    reads_back(&alone);
    disk_pack_close(&alone.pack);
}

static void a_refused_write_goes_through_the_cache(void **state)
{
    const struct folder_bench *bench = *state;
    struct alone alone = {.pack = {.folder = bench->folder}};
    const bool takes = takes_them(bench);
    alone.pack.around_max_ns = UINT64_MAX;
    add(&alone, 1000);
    unsigned char *room = alone.pack.room, *odd = malloc(LARGE);
    assert_non_null(odd);
    memcpy(odd + 1, room, 1000);
    alone.pack.room = odd + 1; /* no such write may begin there */
    add(&alone, 200000);
    add(&alone, 100000);
    commit(&alone);
    assert_true(alone.pack.refused || !takes);
    assert_int_equal(alone.pack.size, 301000);
    reads_back(&alone);
    alone.pack.room = room;
    free(odd);
    disk_pack_close(&alone.pack);
}

static void a_slow_disk_gets_the_rest_through_the_cache(void **state)
{
    enum { PIECE = 256 << 10 };
    const struct folder_bench *bench = *state;
    struct alone alone = {.pack = {.folder = bench->folder}};
    char path[BENCH_PATH];
    if (!takes_them(bench)) {
        skip();
    }
    alone.pack.around_max_ns = 1;
    for (int i = 0; i < 4; i++) {
        add(&alone, 200000);
    }
    commit(&alone);
    path_of(&alone, path);
    assert_int_equal(alone.pack.size, 800000);
    assert_int_equal(cached_pages(path), (800000 - PIECE) / BLOCK + 1);
    reads_back(&alone);
    disk_pack_close(&alone.pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(middling_results_share_a_file),
        BENCH_TEST(small_and_large_results_and_half_done_states_do_not),
        BENCH_TEST(damage_costs_the_records_that_it_is_in),
        BENCH_TEST(a_prune_leaves_what_is_needed),
        BENCH_TEST(full_packs_are_followed_by_others),
        BENCH_TEST(a_batch_that_fails_takes_no_other_with_it),
        BENCH_TEST(a_pack_that_is_removed_is_followed_by_another),
        BENCH_TEST(losses_of_two_packs_add_up),
        BENCH_TEST(a_pack_that_is_cut_is_followed_by_another),
        BENCH_TEST(files_that_are_moved_away_are_lost),
        BENCH_TEST(so_are_those_of_large_results_alone),
        BENCH_TEST(results_go_around_the_cache_while_few_wait),
        BENCH_TEST(results_go_through_the_cache_when_many_wait),
        BENCH_TEST(a_short_batch_goes_through_the_cache_as_it_is),
        BENCH_TEST(behind_a_short_batch_the_next_pieces_go_around_the_cache),
        BENCH_TEST(batches_of_both_ways_read_back),
        BENCH_TEST(a_refused_write_goes_through_the_cache),
        BENCH_TEST(a_slow_disk_gets_the_rest_through_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
