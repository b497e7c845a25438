/* data_facts_test.c - what a task of data is made of: its facts as arguments, which
 * peers send, and its canonical bytes. */
#include "node/reference/data_facts.h"
#include "proto/moot_error.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t shape[] = {2, 3};
static const int16_t numbers[] = {1, 2, 3, 4, 5, -6};
static const moot_ndarray array = {MOOT_TYPE_INT16, 2, shape, NULL, numbers};

static void facts_come_back_from_arguments(void **state)
{
    (void)state;
    struct data_facts facts, back;
    unsigned char bytes[DATA_FACTS_BYTES_MAX];
    assert_int_equal(
        data_gather_array(&array, &(struct data_room){.bytes = NULL}, &facts), MOOT_OK);
    assert_int_equal(facts.size, sizeof(numbers));
    assert_int_equal(data_facts_pack(&facts, bytes), 48);
    assert_true(data_facts_unpack(&back, bytes, 48));
    assert_memory_equal(&back, &facts, sizeof(facts));
}

/* Each in memory of its own size, which a sanitizer watches the ends of. */
static void expect_refused(const unsigned char *bytes, size_t size)
{
    struct data_facts facts;
    unsigned char *copy = malloc(size + 1);
    assert_non_null(copy);
    unsigned char *end = copy + 1;
    memcpy(end, bytes, size);
    assert_false(data_facts_unpack(&facts, end, size));
    free(copy);
}

static void arguments_that_are_no_facts_are_refused(void **state)
{
    (void)state;
    struct data_facts facts;
    unsigned char bytes[DATA_FACTS_BYTES_MAX + 8] = {0};
    assert_int_equal(
        data_gather_array(&array, &(struct data_room){.bytes = NULL}, &facts), MOOT_OK);
    (void)data_facts_pack(&facts, bytes);
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        if (size != 48) {
            expect_refused(bytes, size);
        }
    }
    bytes[16] = 99; /* no such type */
    expect_refused(bytes, 48);
    bytes[16] = 0; /* a shape without a type */
    expect_refused(bytes, 48);
}

static void bytes_beyond_the_room_are_counted_and_not_kept(void **state)
{
    (void)state;
    struct data_facts whole, facts;
    unsigned char bytes[sizeof(numbers)], small[sizeof(numbers)];
    memset(small, 0xee, sizeof(small));
    const struct data_room room = {bytes, sizeof(bytes)}, none = {small, 5};
    assert_int_equal(data_gather_array(&array, &room, &whole), MOOT_OK);
    assert_memory_equal(bytes, "\1\0\2\0\3\0\4\0\5\0\xfa\xff", sizeof(bytes));
    assert_int_equal(data_gather_array(&array, &none, &facts), MOOT_OK);
    assert_memory_equal(&facts, &whole, sizeof(facts));
    for (size_t i = 0; i < sizeof(small); i++) {
        assert_int_equal(small[i], 0xee);
    }
}

static void sizes_of_strings_count_their_lengths(void **state)
{
    (void)state;
    const moot_bytes texts[] = {{"no", 2}, {NULL, 0}, {"\xc3\xa4", 2}};
    const uint64_t three[] = {3};
    uint64_t size = 0;
    struct data_facts facts;
    const moot_ndarray some = {MOOT_TYPE_TEXT, 1, three, NULL, texts};
    assert_int_equal(data_size(&some, &size), MOOT_OK);
    assert_int_equal(size, 3 * 8 + 4);
    assert_int_equal(
        data_gather_array(&some, &(struct data_room){.bytes = NULL}, &facts), MOOT_OK);
    assert_int_equal(facts.size, size);
}

static void a_string_longer_than_a_result_is_refused(void **state)
{
    (void)state;
    static const uint64_t two[] = {2};
    const moot_bytes strings[] = {{"a", 1}, {"b", SIZE_MAX}};
    const moot_ndarray endless = {MOOT_TYPE_BYTES, 1, two, NULL, strings};
    uint64_t size = 0;
    assert_int_equal(data_size(&endless, &size), MOOT_ERR_LIMIT);
}

static void expect_file_refused(const char *path, const char *words)
{
    char why[256] = "";
    struct data_facts facts;
    const struct data_room room = {.bytes = NULL};
    assert_true(array_file_opens(path));
    assert_false(
        data_gather_file(path, &room, &facts, &(struct array_story){why, sizeof(why)}));
    assert_non_null(strstr(why, words));
}

/* A pipe whose other end nobody opens, a device without an end, and a file of 8 TiB
 * without a block: each would be read for ever, or nearly. */
static void files_that_do_not_end_are_refused(void **state)
{
    (void)state;
    char folder[] = "/tmp/moot-data-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/pipe.npy", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_file_refused(path, "no regular file");
    unlink(path);
    expect_file_refused("/dev/zero", "no regular file");
    snprintf(path, sizeof(path), "%s/sparse", folder);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)1 << 43) == 0) { /* the file system may have a limit */
        expect_file_refused(path, "its task's result could have");
    }
    close(fd);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_come_back_from_arguments),
        cmocka_unit_test(arguments_that_are_no_facts_are_refused),
        cmocka_unit_test(bytes_beyond_the_room_are_counted_and_not_kept),
        cmocka_unit_test(sizes_of_strings_count_their_lengths),
        cmocka_unit_test(a_string_longer_than_a_result_is_refused),
        cmocka_unit_test(files_that_do_not_end_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
