/* disk_learn_test.c - environments whose keys are known are asked for no others, and
 * what is there is found, whatever is known and when. */
#include "disk_bench.h"
#include "disk_simulated.h"

#include <fcntl.h>
#include <time.h>

enum { ENVS = 8, EACH = 40, MANY = 20000, ENOUGH = 64, SECONDS_MAX = 60 };

/* Numbers behind all that are stored. */
static const uint64_t nowhere = UINT64_C(1) << 40;

static struct diskstore_counts counts_of(struct diskstore *store)
{
    struct diskstore_counts counts;
    diskstore_counts(store, &counts);
    return counts;
}

static struct diskstore *open_table(const struct folder_bench *bench,
                                    const struct disk_table *table)
{
    struct diskstore *store = NULL;
    struct text why = {0};
    assert_int_equal(disk_open_on(table, bench->folder, NULL, &why, &store), MOOT_OK);
    text_release(&why);
    return store;
}

/* Puts the records from..to-1, without data that stand elsewhere if they are many. */
static void put(struct folder_bench *bench, struct diskstore *store, uint64_t from,
                uint64_t to)
{
    for (uint64_t number = from; number < to; number++) {
        struct diskstore_record record = bench_record(bench, number);
        if (to - from > EACH) {
            record.size = 0;
        }
        while (!diskstore_put(store, &record, NULL, NULL)) {
            diskstore_wait_room(store, record.size);
        }
    }
    diskstore_flush(store);
}

/* Environments, so many of them, with EACH records each. */
static void make_envs(struct folder_bench *bench, const struct disk_table *table,
                      unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct diskstore *store = open_table(bench, table);
        put(bench, store, (uint64_t)i * EACH, (uint64_t)(i + 1) * EACH);
        diskstore_close(store);
    }
}

/* Looks for what is not there until so many environments are learned. */
static void let_learn(struct diskstore *store, uint64_t count)
{
    const uint64_t begun_ns = disk_clock_ns();
    struct diskstore_found found;
    for (uint64_t i = 0; counts_of(store).learned < count; i++) {
        const moot_hash hash = bench_hash(nowhere + i);
        assert_false(diskstore_find(store, &hash, DISKSTORE_RESULT, &found));
        assert_true(disk_clock_ns() - begun_ns < SECONDS_MAX * UINT64_C(1000000000));
    }
}

/* Asks in vain so often that all is learned that can be, and waits a moment. */
static void let_try(struct diskstore *store)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    for (uint64_t i = 0; i < ENOUGH; i++) {
        const moot_hash hash = bench_hash(nowhere + i);
        (void)diskstore_find(store, &hash, DISKSTORE_RESULT, NULL);
    }
    nanosleep(&pause, NULL);
}

static bool finds_all(struct folder_bench *bench, struct diskstore *store, uint64_t to)
{
    bool all = true;
    for (uint64_t number = 0; number < to; number++) {
        all = bench_find(bench, store, number) && all;
    }
    return all;
}

static void nothing_is_learned_for_a_few_looks(void **state)
{
    struct folder_bench *bench = *state;
    const struct timespec pause = {.tv_nsec = 50000000};
    make_envs(bench, &disk_lmdb, 1);
    struct diskstore *store = bench_open(bench, NULL);
    assert_true(finds_all(bench, store, EACH));
    for (uint64_t i = 0; i < 4; i++) {
        assert_false(bench_find(bench, store, nowhere + i));
    }
    nanosleep(&pause, NULL);
    assert_int_equal(counts_of(store).learned, 0);
    diskstore_close(store);
}

static void all_is_found_in_environments_that_are_learned(void **state)
{
    struct folder_bench *bench = *state;
    make_envs(bench, &disk_lmdb, ENVS);
    struct diskstore *store = bench_open(bench, NULL);
    let_learn(store, ENVS);
    assert_true(finds_all(bench, store, ENVS * EACH));
    assert_int_equal(counts_of(store).damaged, 0);
    const moot_hash hash = bench_hash(1);
    assert_true(diskstore_find(store, &hash, DISKSTORE_RESULT, NULL));
    assert_false(diskstore_find(store, &hash, DISKSTORE_ACCEPTED, NULL));
    /* One that comes later is learned as well. */
    put(bench, store, ENVS * EACH, (ENVS + 1) * EACH);
    assert_true(finds_all(bench, store, (ENVS + 1) * EACH));
    diskstore_freeze(store);
    assert_true(finds_all(bench, store, (ENVS + 1) * EACH));
    let_learn(store, ENVS + 1);
    assert_true(finds_all(bench, store, (ENVS + 1) * EACH));
    diskstore_close(store);
}

static unsigned asked; /* a table, by `get` */

static enum disk_end count_get(struct disk_env *env, const struct disk_key *key,
                               struct disk_value *value)
{
    asked++;
    return disk_lmdb.get(env, key, value);
}

static void only_those_that_may_have_it_are_asked(void **state)
{
    struct folder_bench *bench = *state;
    struct disk_table table = disk_lmdb;
    enum { LOOKS = 1000 };
    table.get = count_get;
    make_envs(bench, &disk_lmdb, ENVS);
    struct diskstore *store = open_table(bench, &table);
    let_learn(store, ENVS);
    asked = 0;
    assert_true(finds_all(bench, store, ENVS * EACH));
    assert_in_range(asked, ENVS * EACH, ENVS * EACH + 10);
    asked = 0;
    for (uint64_t i = 0; i < LOOKS; i++) {
        assert_false(bench_find(bench, store, nowhere + i));
    }
    assert_in_range(asked, 0, LOOKS / 20);
    diskstore_close(store);
}

/* A tree of three levels, whose pages are read many at once. */
static void a_tree_of_many_pages_is_learned(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore *store = bench_open(bench, NULL);
    put(bench, store, 0, MANY);
    diskstore_close(store);
    store = bench_open(bench, NULL);
    let_learn(store, 1);
    for (uint64_t number = 0; number < MANY; number++) {
        const moot_hash hash = bench_hash(number);
        assert_true(diskstore_find(store, &hash, DISKSTORE_RESULT, NULL));
    }
    diskstore_close(store);
}

/* Records behind the damage may be there, for all that is known. */
static void an_environment_with_damage_is_asked_as_before(void **state)
{
    struct folder_bench *bench = *state;
    char env[BENCH_PATH], path[BENCH_PATH];
    struct diskstore *store = bench_open(bench, NULL);
    put(bench, store, 0, MANY);
    diskstore_close(store);
    bench_env(bench, env);
    snprintf(path, sizeof(path), "%.4000s/data.mdb", env);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const off_t pages = lseek(fd, 0, SEEK_END) / 4096; /* some are not used any more */
    for (off_t page = 20; page < pages; page += 3) {
        assert_int_equal(pwrite(fd, "damage damage ", 14, page * 4096), 14);
    }
    close(fd);
    uint64_t before = 0, after = 0;
    store = bench_open(bench, NULL);
    for (uint64_t number = 0; number < MANY; number++) {
        const moot_hash hash = bench_hash(nowhere + number);
        before += diskstore_find(store, &hash, DISKSTORE_ACCEPTED, NULL);
    }
    let_try(store);
    assert_int_equal(counts_of(store).learned, 0);
    for (uint64_t number = 0; number < MANY; number++) {
        const moot_hash hash = bench_hash(nowhere + number);
        after += diskstore_find(store, &hash, DISKSTORE_ACCEPTED, NULL);
    }
    assert_int_equal(after, before);
    assert_in_range(before, 1, MANY);
    diskstore_close(store);
}

static atomic_uint walks; /* that show_half() has shown */

static enum disk_end show_half(struct disk_env *env,
                               bool (*visit)(void *context, const struct disk_key *key),
                               void *context)
{
    atomic_fetch_add(&walks, 1);
    for (size_t i = 0; i < env->batch / 2; i++) {
        (void)visit(context, &env->records[i].key);
    }
    return DISK_DAMAGED;
}

static pthread_t looker;
static uint64_t said; /* keys */

/* The thread that learns asks first whether it should, and then how large it is. */
static uint64_t say_many(struct disk_env *env)
{
    static bool sized;
    if (pthread_equal(pthread_self(), looker) != 0) {
        return env->count;
    }
    sized = !sized;
    return sized ? env->count : said;
}

static void half_of_the_keys_are_not_used(void **state)
{
    struct folder_bench *bench = *state;
    struct disk_table table = sim_table;
    table.keys = show_half;
    make_envs(bench, &table, ENVS);
    struct diskstore *store = open_table(bench, &table);
    let_try(store);
    let_try(store);
    assert_int_equal(counts_of(store).learned, 0);
    assert_int_equal(atomic_load(&walks), ENVS); /* not tried again and again */
    assert_true(finds_all(bench, store, ENVS * EACH));
    diskstore_close(store);
    sim_forget();
}

static void an_environment_that_is_too_large_for_memory_is_asked(void **state)
{
    struct folder_bench *bench = *state;
    struct disk_table table = sim_table;
    table.entries = say_many;
    looker = pthread_self();
    said = UINT64_C(1) << 28;
    make_envs(bench, &table, 1);
    struct diskstore *store = open_table(bench, &table);
    let_try(store);
    assert_int_equal(counts_of(store).learned, 0);
    assert_true(finds_all(bench, store, EACH));
    diskstore_close(store);
    sim_forget();
}

static void filters_share_the_memory_that_they_may_have(void **state)
{
    struct folder_bench *bench = *state;
    struct disk_table table = sim_table;
    table.entries = say_many;
    looker = pthread_self();
    said = 100000000; /* of 130 million */
    make_envs(bench, &table, 2);
    struct diskstore *store = open_table(bench, &table);
    let_try(store);
    let_learn(store, 1);
    let_try(store);
    assert_int_equal(counts_of(store).learned, 1);
    assert_true(finds_all(bench, store, 2 * (uint64_t)EACH));
    diskstore_close(store);
    sim_forget();
}

static atomic_bool shows, is_stopped;

/* As an environment that takes very long to be read. */
static enum disk_end show_without_end(struct disk_env *env,
                                      bool (*visit)(void *context,
                                                    const struct disk_key *key),
                                      void *context)
{
    const uint64_t begun_ns = disk_clock_ns();
    bool stopped = false;
    atomic_store(&shows, true);
    while (!stopped && disk_clock_ns() - begun_ns < UINT64_C(5000000000)) {
        stopped = !visit(context, &env->records[0].key);
    }
    atomic_store(&is_stopped, stopped);
    return DISK_OK;
}

/* A store may be closed while it learns. */
static void a_close_ends_what_is_being_learned(void **state)
{
    struct folder_bench *bench = *state;
    struct disk_table table = sim_table;
    table.keys = show_without_end;
    make_envs(bench, &table, 1);
    struct diskstore *store = open_table(bench, &table);
    while (!atomic_load(&shows)) {
        let_try(store);
    }
    diskstore_close(store);
    assert_true(atomic_load(&is_stopped));
    sim_forget();
}

static void a_close_does_not_wait_for_what_is_to_be_learned(void **state)
{
    struct folder_bench *bench = *state;
    struct diskstore *store = bench_open(bench, NULL);
    put(bench, store, 0, MANY);
    diskstore_close(store);
    for (uint64_t round = 0; round < 20; round++) {
        store = bench_open(bench, NULL);
        for (uint64_t i = 0; i < MANY / 32 + 9 + round; i++) {
            assert_false(bench_find(bench, store, nowhere + i));
        }
        diskstore_close(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(nothing_is_learned_for_a_few_looks),
        BENCH_TEST(all_is_found_in_environments_that_are_learned),
        BENCH_TEST(only_those_that_may_have_it_are_asked),
        BENCH_TEST(a_tree_of_many_pages_is_learned),
        BENCH_TEST(an_environment_with_damage_is_asked_as_before),
        BENCH_TEST(half_of_the_keys_are_not_used),
        BENCH_TEST(an_environment_that_is_too_large_for_memory_is_asked),
        BENCH_TEST(filters_share_the_memory_that_they_may_have),
        BENCH_TEST(a_close_ends_what_is_being_learned),
        BENCH_TEST(a_close_does_not_wait_for_what_is_to_be_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
