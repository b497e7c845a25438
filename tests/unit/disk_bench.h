/* disk_bench.h - what tests of the disk store share: a folder, and records by number.
 *
 * Everything of record n follows from n, so a record that is found shows by itself
 * whether it is right, whoever wrote it and whenever.
 */
#ifndef TESTS_UNIT_DISK_BENCH_H
#define TESTS_UNIT_DISK_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hashing/identity.h"
#include "node/api/moot.h"
#include "node/config/text.h"
#include "node/diskstore/diskstore.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BENCH_DATA_MAX = 1 << 20, BENCH_PATH = 4096 };

struct folder_bench {
    char folder[BENCH_PATH / 2];
    unsigned char *data; /* room for a record's */
};

/* The step of splitmix64. */
static uint64_t bench_mix(uint64_t word)
{
    word += 0x9E3779B97F4A7C15U;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9U;
    word = (word ^ word >> 27) * 0x94D049BB133111EBU;
    return word ^ word >> 31;
}

static inline uint64_t bench_draw(uint64_t *seed, uint64_t below)
{
    *seed = bench_mix(*seed);
    return *seed % below;
}

static moot_hash bench_hash(uint64_t number)
{
    return digest_bytes(&number, sizeof(number));
}

/* Most are small, one in sixteen has hundreds of kilobytes, one in eight no byte. */
static size_t bench_size(uint64_t number)
{
    const uint64_t drawn = bench_mix(number);
    return drawn % 16 == 0  ? (size_t)(drawn >> 8) % 400000
           : drawn % 8 == 1 ? 0
                            : (size_t)(drawn >> 8) % 2000;
}

static void bench_fill(uint64_t number, unsigned char *data, size_t size)
{
    uint64_t word = number;
    for (size_t i = 0; i < size; i++) {
        word = i % 8 == 0 ? bench_mix(word) : word >> 8;
        data[i] = (unsigned char)word;
    }
}

/* Record n; its data stand in the bench until the next. */
static struct diskstore_record bench_record(struct folder_bench *bench, uint64_t number)
{
    struct diskstore_record record = {
        .hash = bench_hash(number),
        .kind = DISKSTORE_RESULT,
        .status = number % 5 == 0 ? MOOT_ERR_KERNEL_CODE : MOOT_OK,
        .kernel = number % 2 == 0 ? "potrf" : "gemm",
        .label = number % 3 == 0 ? NULL : "step",
        .build = "0123456789abcdefghij",
        .build_size = number % 7 == 0 ? 0 : 20,
        .version = (uint32_t)number,
        .made_ns = number % 4 == 0 ? 0 : 1700000000000000000 + number,
        .took_ns = number * 1000,
        .inputs = number % 2 == 0 ? 0 : bench_mix(number),
        .data = bench->data,
        .size = bench_size(number),
    };
    bench_fill(number, bench->data, record.size);
    return record;
}

/* Whether it is record n, to the last byte. */
static inline bool bench_is(struct folder_bench *bench, uint64_t number,
                            const struct diskstore_found *found)
{
    const struct diskstore_record want = bench_record(bench, number);
    return hash_equal(&found->hash, &want.hash) && found->kind == want.kind &&
           found->status == want.status && found->version == want.version &&
           found->took_ns == want.took_ns && found->inputs == want.inputs &&
           found->size == want.size &&
           (want.made_ns == 0 || found->made_ns == want.made_ns) &&
           strcmp(found->kernel, want.kernel) == 0 &&
           strcmp(found->label, want.label != NULL ? want.label : "") == 0 &&
           found->build_size == want.build_size &&
           memcmp(found->build, want.build, want.build_size) == 0 &&
           memcmp(found->data, want.data, want.size) == 0 &&
           ((const unsigned char *)found->data)[found->size] == 0;
}

/* Whether the store has record n; what it has must be right. */
static inline bool bench_find(struct folder_bench *bench, struct diskstore *store,
                              uint64_t number)
{
    const moot_hash hash = bench_hash(number);
    struct diskstore_found found;
    if (!diskstore_find(store, &hash, DISKSTORE_RESULT, &found)) {
        return false;
    }
    assert_true(bench_is(bench, number, &found));
    free(found.data);
    return true;
}

static inline struct diskstore *bench_open(const struct folder_bench *bench,
                                           const struct diskstore_options *options)
{
    struct diskstore *store = NULL;
    struct text why = {0};
    const int code = diskstore_open(bench->folder, options, &why, &store);
    if (code != MOOT_OK) {
        fail_msg("%s", text_get(&why));
    }
    text_release(&why);
    return store;
}

/* How many files the folder `name` in `folder` has. */
static inline size_t bench_count_files(const char *folder, const char *name)
{
    char path[BENCH_PATH];
    size_t count = 0;
    snprintf(path, sizeof(path), "%.3000s/%s", folder, name);
    DIR *files = opendir(path);
    for (const struct dirent *entry;
         files != NULL && (entry = readdir(files)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (files != NULL) {
        closedir(files);
    }
    return count;
}

/* The only environment of the folder, or the first of some. */
static inline void bench_env(const struct folder_bench *bench, char path[BENCH_PATH])
{
    DIR *files = opendir(bench->folder);
    assert_non_null(files);
    path[0] = '\0';
    for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "lock") != 0) {
            snprintf(path, BENCH_PATH, "%s/%s", bench->folder, entry->d_name);
        }
    }
    closedir(files);
    assert_true(path[0] != '\0');
}

static void bench_empty_folder(const char *folder)
{
    char path[BENCH_PATH];
    DIR *files = opendir(folder);
    if (files == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            if (unlink(path) != 0) {
                bench_empty_folder(path);
                rmdir(path);
            }
        }
    }
    closedir(files);
}

static int bench_set_up(void **state)
{
    static struct folder_bench bench;
    const char *top = getenv("TMPDIR");
    snprintf(bench.folder, sizeof(bench.folder), "%s/moot-disk-XXXXXX",
             top != NULL ? top : "/tmp");
    bench.data = malloc(BENCH_DATA_MAX);
    *state = &bench;
    return bench.data == NULL || mkdtemp(bench.folder) == NULL || !hashing_init();
}

static int bench_tear_down(void **state)
{
    struct folder_bench *bench = *state;
    bench_empty_folder(bench->folder);
    rmdir(bench->folder);
    free(bench->data);
    return 0;
}

#define BENCH_TEST(name)                                                               \
    cmocka_unit_test_setup_teardown(name, bench_set_up, bench_tear_down)

#endif
