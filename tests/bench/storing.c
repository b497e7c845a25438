/* storing.c - what the store of checkpoints costs.
 *
 *   mpirun -n 1 storing --folder F [--records N] [--finds N] [--mib N] [--rounds R]
 *
 * The folder is made, and removed.  A process for each environment (storing --write)
 * writes its share of N small records.  Then the time is taken that another needs to
 * open the folder, and to find records that are there and records that are not: in one
 * environment, in eight, and in 64.  The first finds after the open are a row of their
 * own; the store learns meanwhile which environment has what (disk_learn.h).
 *
 * Then results of a megabyte, of 64 kB and of 4 are put until they are durable, and
 * `dd conv=fdatasync` writes as many bytes, by turns.
 */
#include "hashing/identity.h"
#include "node/api/moot.h"
#include "node/config/text.h"
#include "node/diskstore/diskstore.h"
#include "tests/bench/bench.h"

#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { LINE = 4096, ROUNDS_MAX = 99, SMALL_BYTES = 32, SMALL_RESULT = 4096 };
enum { LEARN_PASSES_MAX = 50 };
enum { LARGE_RESULT = 1 << 20, MIDDLING_RESULT = 64 << 10 };

struct storing {
    struct bench bench;
    const char *self, *folder;
    uint64_t records, finds, mib;
    uint32_t rounds;
};

extern char **environ;

static bool runs(char *line)
{
    char shell[] = "sh", option[] = "-c";
    char *const arguments[] = {shell, option, line, NULL};
    pid_t child;
    int status;
    return posix_spawnp(&child, shell, NULL, NULL, arguments, environ) == 0 &&
           waitpid(child, &status, 0) == child && status == 0;
}

__attribute__((format(printf, 1, 2))) static void run_command(const char *format, ...)
{
    char line[LINE];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (size < 0 || size >= LINE || !runs(line)) {
        bench_die("`%s` failed", line);
    }
}

static void remove_folder(const struct storing *storing)
{
    run_command("rm -rf '%s'", storing->folder);
}

static struct diskstore *open_store(const char *folder, bool sync)
{
    struct text why = {0};
    struct diskstore *store;
    const struct diskstore_options options = {.sync = sync};
    if (diskstore_open(folder, &options, &why, &store) != MOOT_OK) {
        bench_die("%s", text_get(&why));
    }
    text_release(&why);
    return store;
}

static moot_hash hash_of(uint64_t number)
{
    return digest_bytes(&number, sizeof(number));
}

static void let_go(void *context, bool stored)
{
    (void)context;
    if (!stored) {
        bench_die("a record is not stored");
    }
}

/* As the library puts results: the data stay until they are written. */
static void put(struct diskstore *store, uint64_t number, const void *data, size_t size)
{
    const struct diskstore_record record = {.hash = hash_of(number),
                                            .kind = DISKSTORE_RESULT,
                                            .kernel = "gemm",
                                            .data = data,
                                            .size = size};
    while (!diskstore_put(store, &record, let_go, NULL)) {
        diskstore_wait_room(store, size);
    }
}

/* --- To open, and to find --------------------------------------------------------- */

/* storing --write FROM TO FOLDER */
static int write_environment(char **arguments)
{
    const unsigned char data[SMALL_BYTES] = {1};
    const uint64_t from = strtoull(arguments[2], NULL, 10);
    const uint64_t to = strtoull(arguments[3], NULL, 10);
    struct diskstore *store = open_store(arguments[4], false);
    for (uint64_t number = from; number < to; number++) {
        put(store, number, data, sizeof(data));
    }
    diskstore_close(store);
    return 0;
}

/* Microseconds for each, of records that are there or not. */
static double find_us(const struct storing *storing, struct diskstore *store,
                      bool there)
{
    const double begun_s = bench_now_s();
    for (uint64_t i = 0; i < storing->finds; i++) {
        const uint64_t drawn = i * UINT64_C(0x9E3779B97F4A7C15) % storing->records;
        const moot_hash hash = hash_of(there ? drawn : ~drawn);
        struct diskstore_found found;
        const bool is_there = diskstore_find(store, &hash, DISKSTORE_RESULT, &found);
        if (is_there != there) {
            bench_die(there ? "a record is not found" : "there is no such record");
        }
        if (is_there) {
            free(found.data);
        }
    }
    return 1e6 * (bench_now_s() - begun_s) / (double)storing->finds;
}

/* Looks for what is not there until the store has learned all environments, but not for
 * ever. */
static void let_learn(const struct storing *storing, struct diskstore *store)
{
    struct diskstore_counts counts = {0};
    for (int pass = 0; pass < LEARN_PASSES_MAX; pass++) {
        find_us(storing, store, false);
        diskstore_counts(store, &counts);
        if (counts.learned == counts.environments) {
            break;
        }
    }
}

static void row(const struct storing *storing, double *values, double target,
                const char *what, uint32_t environments, const char *unit)
{
    char full[64];
    snprintf(full, sizeof(full), "storing-%s-%u-%s", what, environments, unit);
    const struct figure figure = figure_of(values, storing->rounds);
    bench_row(&storing->bench, full, figure.median, target,
              "%llu records in %u environments; %.3g to %.3g",
              (unsigned long long)storing->records, environments, figure.least,
              figure.most);
}

static void measure_finding(const struct storing *storing, uint32_t environments)
{
    double open_ms[ROUNDS_MAX], first_us[ROUNDS_MAX];
    double hit_us[ROUNDS_MAX], miss_us[ROUNDS_MAX];
    for (uint32_t i = 0; i < environments; i++) {
        run_command("'%s' --write %llu %llu '%s'", storing->self,
                    (unsigned long long)storing->records * i / environments,
                    (unsigned long long)storing->records * (i + 1) / environments,
                    storing->folder);
    }
    run_command("cat '%s'/*/data.mdb >/dev/null", storing->folder);
    for (uint32_t round = 0; round < storing->rounds; round++) {
        const double begun_s = bench_now_s();
        struct diskstore *store = open_store(storing->folder, false);
        open_ms[round] = 1e3 * (bench_now_s() - begun_s);
        first_us[round] = find_us(storing, store, true);
        let_learn(storing, store);
        hit_us[round] = find_us(storing, store, true);
        miss_us[round] = find_us(storing, store, false);
        diskstore_close(store);
    }
    remove_folder(storing);
    row(storing, open_ms, 1000, "open", environments, "ms");
    row(storing, first_us, 0, "first", environments, "us");
    row(storing, hit_us, 5, "find", environments, "us");
    row(storing, miss_us, 5, "miss", environments, "us");
}

/* --- To make durable -------------------------------------------------------------- */

static double durable_s(const struct storing *storing, const unsigned char *data,
                        size_t size)
{
    const double begun_s = bench_now_s();
    struct diskstore *store = open_store(storing->folder, true);
    for (uint64_t i = 0; i < (storing->mib << 20) / size; i++) {
        put(store, i, data, size);
    }
    diskstore_close(store);
    const double seconds = bench_now_s() - begun_s;
    remove_folder(storing);
    return seconds;
}

static double dd_s(const struct storing *storing)
{
    const double begun_s = bench_now_s();
    run_command(
        "dd if=/dev/zero of='%s.dd' bs=1M count=%llu conv=fdatasync 2>&1 | tail -n 0",
        storing->folder, (unsigned long long)storing->mib);
    const double seconds = bench_now_s() - begun_s;
    run_command("rm -f '%s.dd'", storing->folder);
    return seconds;
}

static void measure_durable(const struct storing *storing, const char *name,
                            size_t size)
{
    double ratios[ROUNDS_MAX], best_s = 1e9;
    unsigned char *data = bench_alloc(1, size);
    for (uint32_t round = 0; round < storing->rounds; round++) {
        const double theirs_s = dd_s(storing);
        const double mine_s = durable_s(storing, data, size);
        ratios[round] = mine_s / theirs_s;
        best_s = mine_s < best_s ? mine_s : best_s;
    }
    free(data);
    const struct figure figure = figure_of(ratios, storing->rounds);
    bench_row(&storing->bench, name, figure.median, 1.25,
              "%llu MiB beside dd conv=fdatasync; %.3g to %.3g; at best %.0f MiB/s",
              (unsigned long long)storing->mib, figure.least, figure.most,
              (double)storing->mib / best_s);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--write") == 0) {
        return write_environment(argv);
    }
    struct storing storing = {.self = argv[0]};
    bench_open(&storing.bench, "storing");
    storing.folder = bench_text(argv, "--folder", "storing.folder");
    storing.records =
        (uint64_t)bench_number(argv, "--records", 10000000, 64, 1000000000);
    storing.finds = (uint64_t)bench_number(argv, "--finds", 200000, 1, 100000000);
    storing.mib = (uint64_t)bench_number(argv, "--mib", 512, 1, 100000);
    storing.rounds = (uint32_t)bench_number(argv, "--rounds", 5, 1, ROUNDS_MAX);
    remove_folder(&storing);
    measure_finding(&storing, 1);
    measure_finding(&storing, 8);
    measure_finding(&storing, 64);
    measure_durable(&storing, "storing-large-beside-dd", LARGE_RESULT);
    measure_durable(&storing, "storing-middling-beside-dd", MIDDLING_RESULT);
    measure_durable(&storing, "storing-small-beside-dd", SMALL_RESULT);
    bench_close(&storing.bench);
    return 0;
}
