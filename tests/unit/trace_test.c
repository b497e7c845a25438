/* trace_test.c - records, as the file of a rank has them, read back: every field and
 * length, a torn end, clocks that differ between hosts, and files that are none of this
 * run's.
 */
#include "node/record/trace_file.h"
#include "node/tools/trace_data.h"
#include "proto/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

enum {
    FIELD_TASK = 3,
    FIELD_PEER = 4,
    FIELD_VALUE = 5,
    FIELD_CODE = 6,
    FIELD_HASH = 7,
    FIELD_TEXT = 16
};
#define KIND(name) MOOT__RECORD__KIND__##name

static char directory[64];

static void path_of(uint32_t rank, char path[128])
{
    snprintf(path, 128, "%s/rank-%u.trace", directory, rank);
}

/* A file that begins with this; `process` is filled up. */
static struct trace_file process_begin(Moot__Process process, int64_t clock_ns)
{
    char path[128];
    struct trace_file file;
    Moot__Record record = MOOT__RECORD__INIT;
    uint8_t bytes[256];
    path_of(process.rank, path);
    assert_true(trace_file_open(&file, path));
    record.kind = KIND(PROCESS);
    record.after_ns = (uint64_t)clock_ns;
    record.process = &process;
    process.format = TRACE_FORMAT;
    process.size = process.size != 0 ? process.size : 2;
    size_t size = moot__record__pack(&record, bytes);
    trace_file_append(&file, bytes, size, record.after_ns);
    return file;
}

static struct trace_file file_begin(uint32_t rank, uint32_t host, int64_t clock_ns)
{
    Moot__Process process = MOOT__PROCESS__INIT;
    process.rank = rank;
    process.host = host;
    return process_begin(process, clock_ns);
}

static void heard(struct trace_file *file, uint32_t from, int64_t sent_ns,
                  int64_t at_ns)
{
    struct trace_record record = trace_record_begin(file, KIND(HEARD), (uint64_t)at_ns);
    trace_put(&record, FIELD_PEER, from);
    trace_put(&record, FIELD_VALUE, (uint64_t)sent_ns);
    trace_record_end(file, &record);
}

static void result(struct trace_file *file, unsigned kind, uint32_t peer, int64_t at_ns)
{
    static const uint8_t hash[MOOT_HASH_BYTES] = {7};
    struct trace_record record = trace_record_begin(file, KIND(TASK), (uint64_t)at_ns);
    trace_put(&record, FIELD_TASK, 1);
    trace_put_bytes(&record, FIELD_HASH, hash, sizeof(hash));
    trace_record_end(file, &record);
    record = trace_record_begin(file, kind, (uint64_t)at_ns);
    trace_put(&record, FIELD_TASK, 1);
    trace_put(&record, FIELD_PEER, peer);
    trace_record_end(file, &record);
}

static struct trace_job read_back(void)
{
    struct trace_job trace;
    char story[256] = "";
    if (!trace_read(directory, &trace, story, sizeof(story))) {
        fail_msg("%s", story);
    }
    return trace;
}

/* Rank 1's clock is this much ahead.  A message takes 1 ms one way and 3 the other. */
static void clocks_are_put_in_line(void **state)
{
    (void)state;
    static const int64_t ahead_ns[] = {0, 5 * MS, 3600000 * MS, -7 * MS};
    for (size_t i = 0; i < sizeof(ahead_ns) / sizeof(ahead_ns[0]); i++) {
        const int64_t start_ns = 10000000 * MS, ahead = ahead_ns[i];
        struct trace_file file = file_begin(0, 0, start_ns);
        heard(&file, 1, start_ns + 20 * MS + ahead, start_ns + 23 * MS);
        result(&file, KIND(RESULT_SENT), 1, start_ns + 30 * MS);
        trace_file_close(&file);
        file = file_begin(1, 1, start_ns + ahead);
        heard(&file, 0, start_ns + 10 * MS, start_ns + 11 * MS + ahead);
        result(&file, KIND(RESULT_RECEIVED), 0, start_ns + 31 * MS + ahead);
        trace_file_close(&file);
        struct trace_job trace = read_back();
        assert_int_equal(trace.message_count, 1);
        assert_int_equal(trace.backward, 0);
        const int64_t error_ns =
            trace.ranks[1].offset_ns - trace.ranks[0].offset_ns + ahead;
        assert_int_equal(error_ns, 1 * MS); /* half of what the ways differ by */
        assert_in_range(trace.messages[0].received_ns - trace.messages[0].sent_ns,
                        1 * MS, 3 * MS);
        trace_release(&trace);
    }
}

static void ranks_of_one_host_have_one_clock(void **state)
{
    (void)state;
    struct trace_file file = file_begin(0, 4, 100 * MS);
    heard(&file, 1, 150 * MS, 190 * MS); /* slow, which says nothing of clocks */
    trace_file_close(&file);
    file = file_begin(1, 4, 120 * MS);
    trace_file_close(&file);
    struct trace_job trace = read_back();
    assert_int_equal(trace.ranks[1].offset_ns, trace.ranks[0].offset_ns);
    assert_int_equal(trace.ranks[1].first_ns, 20 * MS);
    trace_release(&trace);
}

/* Ranks 0 and 1 are on one host, and rank 1 records a result 10 ms before it was sent;
 * rank 2's host is 1 ms apart at most. */
static void messages_within_a_host_say_nothing_of_clocks(void **state)
{
    (void)state;
    char path[128];
    for (uint32_t rank = 0; rank < 3; rank++) {
        Moot__Process process = MOOT__PROCESS__INIT;
        process.size = 3;
        process.rank = rank;
        process.host = rank == 2 ? 5 : 4;
        struct trace_file file = process_begin(process, 100 * MS);
        if (rank != 1) {
            heard(&file, 2 - rank, 140 * MS, 141 * MS);
        }
        if (rank != 2) {
            result(&file, rank == 0 ? KIND(RESULT_SENT) : KIND(RESULT_RECEIVED),
                   1 - rank, rank == 0 ? 160 * MS : 150 * MS);
        }
        trace_file_close(&file);
    }
    struct trace_job trace = read_back();
    assert_int_equal(trace.backward, 0);
    assert_int_equal(trace.ranks[2].offset_ns, trace.ranks[0].offset_ns);
    trace_release(&trace);
    path_of(2, path);
    assert_int_equal(unlink(path), 0);
}

/* A record bears its turn's beginning, after which a message that came in that turn may
 * have been sent. */
static void no_message_that_came_within_a_turn_runs_backwards(void **state)
{
    (void)state;
    static const struct {
        uint32_t host;
        int64_t next_turn_ns; /* of rank 1, after the result came */
    } cases[] = {{4, 148 * MS}, {5, 148 * MS}, {5, 151 * MS}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const bool drifted = i == 1;
        struct trace_file file = file_begin(0, 4, 100 * MS);
        heard(&file, 1, 140 * MS, 141 * MS);
        heard(&file, 1, 140 * MS, 141 * MS + 1);
        result(&file, KIND(RESULT_SENT), 1, 150 * MS);
        trace_file_close(&file);
        file = file_begin(1, cases[i].host, 100 * MS);
        heard(&file, 0, 140 * MS, 141 * MS);
        heard(&file, 0, 140 * MS, 141 * MS + 1); /* so they are 1 ms apart at most */
        result(&file, KIND(RESULT_RECEIVED), 0, 147 * MS);
        heard(&file, 0, 100 * MS, cases[i].next_turn_ns);
        trace_file_close(&file);
        struct trace_job trace = read_back();
        assert_int_equal(trace.message_count, 1);
        assert_int_equal(trace.backward, drifted);
        assert_int_equal(trace.messages[0].received_ns < trace.messages[0].sent_ns,
                         drifted);
        if (!drifted) {
            assert_in_range(trace.ranks[1].offset_ns - trace.ranks[0].offset_ns + MS, 0,
                            2 * MS);
        }
        trace_release(&trace);
    }
}

/* Texts of all lengths at which a length takes another byte. */
static void what_was_written_is_read(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 120, 127, 128, 200, 16370, 16384, 40000};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
    char *text = malloc(40001);
    assert_non_null(text);
    struct trace_file file = file_begin(0, 0, 1000);
    for (size_t i = 0; i < SIZES; i++) {
        memset(text, 'a' + (int)i, sizes[i]);
        struct trace_record record =
            trace_record_begin(&file, KIND(STALL), 1000 + 10 * (i + 1));
        trace_put_bytes(&record, FIELD_TEXT, text, sizes[i]);
        trace_record_end(&file, &record);
    }
    trace_file_close(&file);
    struct trace_job trace = read_back();
    assert_int_equal(trace.ranks[0].event_count, SIZES);
    assert_int_equal(trace.ranks[0].torn_bytes, 0);
    for (size_t i = 0; i < SIZES; i++) {
        const struct trace_event *event = &trace.ranks[0].events[i];
        assert_int_equal(event->at_ns, 10 * (i + 1));
        assert_int_equal(event->text != NULL ? strlen(event->text) : 0, sizes[i]);
    }
    trace_release(&trace);
    free(text);
}

static void element(struct trace_file *file, unsigned kind, uint64_t index, int code,
                    int64_t at_ns)
{
    struct trace_record record = trace_record_begin(file, kind, (uint64_t)at_ns);
    trace_put(&record, FIELD_TASK, 1);
    trace_put(&record, FIELD_VALUE, index);
    trace_put_signed(&record, FIELD_CODE, code);
    trace_record_end(file, &record);
}

/* Two at a time; one is tried again, one never ends, and one never started. */
static void elements_are_runs_of_their_array(void **state)
{
    (void)state;
    static const uint8_t hash[MOOT_HASH_BYTES] = {7};
    struct trace_file file = file_begin(0, 0, 1000);
    struct trace_record record = trace_record_begin(&file, KIND(TASK), 1000);
    char name[100];
    trace_put(&record, FIELD_TASK, 1);
    trace_put_bytes(&record, FIELD_HASH, hash, sizeof(hash));
    trace_record_end(&file, &record);
    element(&file, KIND(ELEMENT_START), 5, 0, 1010);
    element(&file, KIND(ELEMENT_START), 0, 0, 1020);
    element(&file, KIND(ELEMENT_END), 5, 0, 1030);
    element(&file, KIND(ELEMENT_START), 0, 0, 1040);
    element(&file, KIND(ELEMENT_END), 0, MOOT_ERR_TASK_FAILED, 1050);
    element(&file, KIND(ELEMENT_END), 9, MOOT_ERR_TASK_FAILED, 1060);
    element(&file, KIND(ELEMENT_START), 5, 0, 1070);
    element(&file, KIND(ELEMENT_START), UINT64_MAX, 0, 1080);
    trace_file_close(&file);
    struct trace_job trace = read_back();
    static const struct trace_run wanted[] = {
        {.element = 6, .start_ns = 10, .end_ns = 30},
        {.element = 1, .start_ns = 40, .end_ns = 50, .code = MOOT_ERR_TASK_FAILED},
        {.element = 6, .start_ns = 70, .end_ns = TRACE_NEVER},
    };
    assert_int_equal(trace.run_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct trace_run *run = &trace.runs[i];
        assert_int_equal(run->task, 0);
        assert_int_equal(run->element, wanted[i].element);
        assert_int_equal(run->start_ns, wanted[i].start_ns);
        assert_int_equal(run->end_ns, wanted[i].end_ns);
        assert_int_equal(run->code, wanted[i].code);
    }
    assert_int_equal(trace.tasks[0].run, TRACE_NONE);
    trace_run_name(&trace, &trace.runs[1], name, sizeof(name));
    assert_string_equal(name, "element 0 of 07000000");
    trace_release(&trace);
}

/* Cut at every byte, the whole records before are there, and the rest is counted. */
static void a_torn_end_is_skipped(void **state)
{
    (void)state;
    enum { RECORDS = 4 };
    long ends[RECORDS + 1];
    char path[128];
    struct trace_file file = file_begin(0, 0, 1000);
    for (int i = 0; i <= RECORDS; i++) {
        if (i > 0) {
            heard(&file, 1, 1000000 + i, 2000 + i);
        }
        ends[i] = (long)file.used;
    }
    trace_file_close(&file);
    path_of(0, path);
    for (long size = ends[RECORDS]; size >= ends[0]; size--) {
        assert_int_equal(truncate(path, size), 0);
        struct trace_job trace = read_back();
        size_t whole = 0;
        while (whole < RECORDS && ends[whole + 1] <= size) {
            whole++;
        }
        assert_int_equal(trace.ranks[0].event_count, whole);
        assert_int_equal(trace.ranks[0].torn_bytes, size - ends[whole]);
        trace_release(&trace);
    }
}

/* A disk that lost what was written last may have zeros there. */
static void zeros_are_no_records(void **state)
{
    (void)state;
    enum { ZEROS = 5000 };
    static const char zeros[ZEROS];
    char path[128];
    struct trace_file file = file_begin(0, 0, 1000);
    heard(&file, 1, 1000000, 2000);
    trace_file_close(&file);
    path_of(0, path);
    FILE *end = fopen(path, "a");
    assert_non_null(end);
    assert_int_equal(fwrite(zeros, 1, ZEROS, end), ZEROS);
    assert_int_equal(fclose(end), 0);
    struct trace_job trace = read_back();
    assert_int_equal(trace.ranks[0].event_count, 1);
    assert_int_equal(trace.ranks[0].torn_bytes, ZEROS);
    trace_release(&trace);
}

/* Clocks that no sum of theirs may overflow: what is beyond is damage. */
static void times_beyond_all_clocks_are_torn(void **state)
{
    (void)state;
    static const uint64_t later_ns[] = {TRACE_CLOCK_NS_MAX, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof(later_ns) / sizeof(later_ns[0]); i++) {
        struct trace_file file = file_begin(0, 0, 1000);
        heard(&file, 1, 1000, 2000);
        heard(&file, 1, INT64_MIN, 3000); /* says nothing of its clock */
        const size_t good = file.used;
        file.last_ns = 0;
        heard(&file, 1, 1000, (int64_t)later_ns[i]);
        const size_t bytes = file.used;
        trace_file_close(&file);
        file = file_begin(1, 1, TRACE_CLOCK_NS_MAX);
        trace_file_close(&file);
        struct trace_job trace = read_back();
        assert_int_equal(trace.ranks[0].event_count, 2);
        assert_int_equal(trace.ranks[0].torn_bytes, bytes - good);
        assert_true(trace.ranks[1].present);
        trace_release(&trace);
    }
}

/* An empty argument has no bytes to be copied. */
static void a_command_is_read_word_by_word(void **state)
{
    (void)state;
    static char program[] = "prog", word[] = "a b";
    ProtobufCBinaryData words[] = {{4, (uint8_t *)program}, {0}, {3, (uint8_t *)word}};
    Moot__Process process = MOOT__PROCESS__INIT;
    process.n_command = 3;
    process.command = words;
    struct trace_file file = process_begin(process, 1000);
    trace_file_close(&file);
    struct trace_job trace = read_back();
    assert_string_equal(trace.ranks[0].command, "prog  a b");
    trace_release(&trace);
}

/* The folder was used before, and this run's rank 1 never came to replace its file. */
static void a_file_of_another_run_is_left_out(void **state)
{
    (void)state;
    Moot__Process process = MOOT__PROCESS__INIT;
    process.job = 7;
    struct trace_file file = process_begin(process, 1000);
    trace_file_close(&file);
    process.rank = 1;
    process.job = 8;
    file = process_begin(process, 1000);
    trace_file_close(&file);
    struct trace_job trace = read_back();
    assert_int_equal(trace.present_count, 1);
    assert_false(trace.ranks[1].present);
    assert_string_equal(trace.ranks[1].unread, "it is of another run");
    trace_release(&trace);
}

/* The rank that comes first, or is read first, has written of fewer. */
static void ranks_that_come_later_are_of_the_run(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 4; rank++) { /* two, and two that came */
        Moot__Process process = MOOT__PROCESS__INIT;
        process.rank = rank;
        process.job = 7;
        process.size = rank < 2 ? 2 : rank + 1;
        process.wall_ns = rank == 2 ? 3000 : 2000 + rank;
        struct trace_file file = process_begin(process, 1000);
        trace_file_close(&file);
    }
    struct trace_job trace = read_back();
    assert_int_equal(trace.rank_count, 4);
    assert_int_equal(trace.present_count, 4);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_string_equal(trace.ranks[rank].unread, "");
    }
    trace_release(&trace);
}

static void of_two_runs_the_last_is_read(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 4; rank++) { /* ranks 1 and 2 of three are later */
        bool later = rank == 1 || rank == 2;
        Moot__Process process = MOOT__PROCESS__INIT;
        process.rank = rank;
        process.job = later ? 8 : 7;
        process.size = later ? 3 : 4;
        process.wall_ns = later ? 2000 + rank : 1000 + rank;
        struct trace_file file = process_begin(process, 1000);
        trace_file_close(&file);
    }
    struct trace_job trace = read_back();
    assert_int_equal(trace.rank_count, 3);
    assert_int_equal(trace.job, 8);
    assert_int_equal(trace.present_count, 2);
    assert_string_equal(trace.ranks[0].unread, "it is of another run");
    assert_int_equal(rankset_count(&trace.strangers), 1);
    assert_true(rankset_has(&trace.strangers, 3));
    trace_release(&trace);
}

/* Neither is waited for, nor given memory. */
static void what_is_no_trace_is_said(void **state)
{
    (void)state;
    char path[128], story[256] = "";
    struct trace_job trace;
    path_of(0, path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10);
    assert_false(trace_read(directory, &trace, story, sizeof(story)));
    alarm(0);
    assert_non_null(strstr(story, "rank-0.trace: Invalid argument"));
    assert_int_equal(unlink(path), 0);

    static const uint32_t empty[] = {1, 3};
    for (int i = 0; i < 2; i++) { /* the first is named */
        path_of(empty[i], path);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
    }
    assert_false(trace_read(directory, &trace, story, sizeof(story)));
    assert_non_null(strstr(story, "rank-1.trace: it is empty"));

    Moot__Process process = MOOT__PROCESS__INIT;
    process.size = LIMIT_RANKS + 1;
    struct trace_file file = process_begin(process, 1000);
    trace_file_close(&file);
    assert_false(trace_read(directory, &trace, story, sizeof(story)));
    assert_non_null(strstr(story, "rank-0.trace: it is no trace"));
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/moot-trace-XXXXXX");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 4; rank++) {
        char path[128];
        path_of(rank, path);
        unlink(path);
    }
    return rmdir(directory);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(clocks_are_put_in_line),
        TEST(ranks_of_one_host_have_one_clock),
        TEST(messages_within_a_host_say_nothing_of_clocks),
        TEST(no_message_that_came_within_a_turn_runs_backwards),
        TEST(what_was_written_is_read),
        TEST(elements_are_runs_of_their_array),
        TEST(a_torn_end_is_skipped),
        TEST(zeros_are_no_records),
        TEST(times_beyond_all_clocks_are_torn),
        TEST(a_command_is_read_word_by_word),
        TEST(a_file_of_another_run_is_left_out),
        TEST(ranks_that_come_later_are_of_the_run),
        TEST(of_two_runs_the_last_is_read),
        TEST(what_is_no_trace_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
