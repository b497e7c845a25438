/* store_test.c - payloads live as long as somebody holds them, and what cannot be
 * stored can still be received. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/config/text.h"
#include "node/store/payload.h"
#include "node/store/pool.h"
#include "node/store/untouched.h"
#include "node/tasks/error_chain.h"
#include "proto/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void payloads_are_aligned_and_end_in_zero(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 63, 64, 4096, 1000003};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct payload *payload = payload_new(sizes[i]);
        assert_non_null(payload);
        assert_int_equal((uintptr_t)payload->data % PAYLOAD_ALIGN, 0);
        assert_int_equal(payload->size, sizes[i]);
        memset(payload->data, 0xff, (size_t)sizes[i]);
        assert_int_equal(payload->data[sizes[i]], 0);
        payload_drop(payload);
    }
    assert_null(payload_new(LIMIT_RESULT_BYTES + 1));
    payload_drop(NULL);
}

static void the_last_holder_frees(void **state)
{
    (void)state;
    struct payload *payload = payload_copy("bytes", 5);
    assert_ptr_equal(payload_hold(payload), payload);
    payload_drop(payload);
    assert_memory_equal(payload->data, "bytes", 6);
    payload_drop(payload); /* a sanitizer sees a leak or a double free */
}

static void small_memory_is_used_again(void **state)
{
    (void)state;
    struct payloads payloads;
    assert_true(payloads_init(&payloads));
    unsigned char bytes[PAYLOAD_SMALL_BYTES];
    memset(bytes, 0xff, sizeof(bytes));
    for (uint64_t size = 0; size <= PAYLOAD_SMALL_BYTES; size++) {
        struct payload *first =
            payloads_copy(&payloads, bytes, PAYLOAD_SMALL_BYTES - size);
        assert_non_null(first);
        payload_drop(first);
        struct payload *second = payloads_copy(&payloads, bytes, size);
        assert_ptr_equal(second, first);
        assert_int_equal(second->size, size);
        assert_int_equal(second->references, 1);
        assert_memory_equal(second->data, bytes, size);
        assert_int_equal(second->data[size], 0);
        payload_drop(second);
    }
    payloads_release(&payloads);
}

/* A large one that was let go serves the next that it fits, not one that would waste
 * much of it, and not one that is too large for it. */
static void large_memory_is_used_again(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, second;
        bool again;
    } rows[] = {{1 << 20, 1 << 20, true},   {1 << 20, (1 << 20) - 5000, true},
                {1 << 20, 1 << 19, false},  {1 << 20, (1 << 20) + 5000, false},
                {64 << 20, 60 << 20, true}, {16 << 10, 16 << 10, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct payloads payloads;
        assert_true(payloads_init(&payloads));
        struct payload *first = payloads_new(&payloads, rows[i].first);
        struct payload *other = payloads_new(&payloads, rows[i].first);
        memset(first->data, 0xff, (size_t)rows[i].first);
        payload_drop(first);
        assert_int_equal(payloads.large.kept_count, rows[i].first > LARGE_BYTES_MIN);
        struct payload *second = payloads_new(&payloads, rows[i].second);
        assert_ptr_not_equal(second, other);
        assert_int_equal(payloads.large.kept_count,
                         !rows[i].again && rows[i].first > LARGE_BYTES_MIN);
        assert_int_equal(second->size, rows[i].second);
        assert_int_equal(second->references, 1);
        assert_int_equal((uintptr_t)second->data % PAYLOAD_ALIGN, 0);
        assert_int_equal(second->data[rows[i].second], 0);
        memset(second->data, 1, (size_t)rows[i].second);
        payload_drop(second);
        payload_drop(other);
        payloads_release(&payloads);
    }
}

/* In bytes and in number; the oldest go first. */
static void little_large_memory_is_kept(void **state)
{
    (void)state;
    enum { COUNT_MAX = LARGE_KEPT_MAX + 8 };
    static const struct {
        uint64_t size;
        int count;
    } rows[] = {{96 << 20, 12}, {LARGE_BYTES_MIN, COUNT_MAX}};
    struct payloads payloads;
    assert_true(payloads_init(&payloads));
    for (int i = 0; i < 2; i++) {
        struct payload *all[COUNT_MAX];
        for (int j = 0; j < rows[i].count; j++) {
            all[j] = payloads_new(&payloads, rows[i].size);
            assert_non_null(all[j]);
        }
        for (int j = 0; j < rows[i].count; j++) {
            payload_drop(all[j]);
            assert_in_range(payloads.large.kept_bytes, 1, LARGE_KEPT_BYTES_MAX);
            assert_in_range(payloads.large.kept_count, 1, LARGE_KEPT_MAX);
        }
        struct payload *last = payloads_new(&payloads, rows[i].size);
        assert_ptr_equal(last, all[rows[i].count - 1]);
        payload_drop(last);
    }
    payloads_release(&payloads);
}

static void large_memory_that_nobody_takes_goes_back(void **state)
{
    (void)state;
    const uint64_t second_ns = 1000000000;
    struct payloads payloads;
    assert_true(payloads_init(&payloads));
    payload_drop(payloads_new(&payloads, 1 << 20));
    large_look(&payloads.large, 1);
    for (uint64_t now_ns = 2; now_ns < 1000; now_ns++) {
        large_look(&payloads.large, now_ns);
    }
    assert_int_equal(payloads.large.kept_count, 1);
    for (uint64_t now_ns = 0; now_ns < second_ns; now_ns += second_ns / 1000) {
        large_look(&payloads.large, now_ns);
    }
    assert_int_equal(payloads.large.kept_count, 0);
    assert_int_equal(payloads.large.kept_bytes, 0);
    payloads_release(&payloads);
}

static int lowest_free_file(void)
{
    int file = dup(0);
    assert_true(file >= 0);
    close(file);
    return file;
}

/* Every byte can be written, and memory does not grow with the size.  Afterwards
 * nothing is left: neither the file nor the place. */
static void scratch_takes_everything(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1,       4096,       (2 << 20) + 1,
                                     5 << 20, 3ull << 31, 200ull << 30};
    const int file = lowest_free_file();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *scratch = scratch_new(sizes[i]);
        assert_non_null(scratch);
        uint64_t stride = sizes[i] / 1000 + 1;
        for (uint64_t at = 0; at < sizes[i]; at += stride) {
            scratch[at] = 1;
        }
        scratch[sizes[i] - 1] = 2;
        assert_int_equal(scratch[sizes[i] - 1], 2);
        assert_int_equal(lowest_free_file(), file);
        scratch_free(scratch, sizes[i]);
        assert_int_equal(msync(scratch, 1, MS_ASYNC), -1);
    }
    scratch_free(NULL, 1);
}

static void a_pool_gives_zeroed_memory(void **state)
{
    (void)state;
    struct pool pool = {0};
    static const unsigned char zero[40000];
    for (size_t size = 1; size < sizeof(zero); size = size * 3 / 2 + 1) {
        for (int i = 0; i < 5; i++) {
            unsigned char *memory = pool_take(&pool, size);
            assert_non_null(memory);
            assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
            assert_memory_equal(memory, zero, size);
            memset(memory, 0xee, size);
        }
    }
    assert_string_equal(pool_string(&pool, "label", 64), "label");
    assert_string_equal(pool_string(&pool, "label", 3), "lab");
    pool_release(&pool);
    pool_release(&pool);
}

static void a_pool_gives_again_what_it_was_given(void **state)
{
    (void)state;
    struct pool pool = {0};
    static const unsigned char zero[40000];
    for (size_t size = 1; size < sizeof(zero); size = size * 3 / 2 + 1) {
        unsigned char *memory = pool_take(&pool, size);
        unsigned char *other = pool_take(&pool, size);
        memset(memory, 0xee, size);
        pool_give(&pool, memory, size);
        unsigned char *again = pool_take(&pool, size);
        assert_true(again == memory || size > 16384);
        assert_true(again != other);
        assert_memory_equal(again, zero, size);
    }
    pool_give(&pool, NULL, 7);
    pool_release(&pool);
}

static size_t pages_in_memory(void *memory, size_t size, size_t page)
{
    static unsigned char in_memory[16384];
    const size_t count = size / page;
    size_t found = 0;
    assert_true(count <= sizeof(in_memory));
    assert_int_equal(mincore(memory, count * page, in_memory), 0);
    for (size_t i = 0; i < count; i++) {
        found += in_memory[i] & 1;
    }
    return found;
}

/* Also when such a piece was given back before. */
static void untouched_memory_costs_what_is_used(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 14 << 20;
    for (int i = 0; i < 3; i++) {
        unsigned char *memory = untouched_new(size);
        assert_non_null(memory);
        assert_int_equal(memory[size / 2], 0);
        memory[size / 2] = 1;
        const uintptr_t first = ((uintptr_t)memory + page - 1) / page * page;
        assert_true(pages_in_memory((void *)first, size - page, page) <
                    size / page / 2);
        memset(memory, 0xee, size);
        untouched_free(memory, size);
    }
    for (size_t few = 1; few < UNTOUCHED_LARGE_BYTES; few = few * 3 + 1) {
        unsigned char *memory = untouched_new(few);
        assert_non_null(memory);
        assert_int_equal(memory[few - 1], 0);
        memset(memory, 0xee, few);
        untouched_free(memory, few);
    }
    untouched_free(NULL, size);
    untouched_free(NULL, 1);
}

enum { PIECE_BYTES = 17000, FEW = 500, MANY = 16 * FEW };

/* Every third first, then the oldest first. */
static double cost_of_giving(size_t count)
{
    struct pool pool = {0};
    struct timespec begin, end;
    unsigned char **pieces = calloc(count, sizeof(*pieces));
    assert_non_null(pieces);
    for (size_t i = 0; i < count; i++) {
        pieces[i] = pool_take(&pool, PIECE_BYTES);
        pieces[i][PIECE_BYTES - 1] = (unsigned char)i;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (size_t i = 0; i < count; i += 3) {
        pool_give(&pool, pieces[i], PIECE_BYTES);
    }
    for (size_t i = 0; i + 1 < count; i++) {
        assert_true(i % 3 == 0 || pieces[i][PIECE_BYTES - 1] == (unsigned char)i);
        pool_give(&pool, i % 3 != 0 ? pieces[i] : NULL, PIECE_BYTES);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    free(pieces);
    pool_release(&pool); /* with the last one */
    return (double)(end.tv_sec - begin.tv_sec) +
           (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

/* Sixteen times as many: 16 times the cost, and something for caches, not 256. */
static void a_pool_takes_many_large_pieces_back(void **state)
{
    (void)state;
    (void)cost_of_giving(FEW);
    double few = cost_of_giving(FEW), many = cost_of_giving(MANY);
    if (many > 64 * few + 0.005) {
        print_error("%d pieces took %.6f s, %d took %.6f s\n", FEW, few, MANY, many);
    }
    assert_true(many <= 64 * few + 0.005);
}

/* A long chain keeps its head and, above all, its first cause. */
static void a_long_story_keeps_its_ends(void **state)
{
    (void)state;
    struct text story = {0};
    text_add(&story, "the last task failed:\n");
    for (int i = 0; i < 1000; i++) {
        text_add(&story, "  link %d failed:\n", i);
    }
    text_add(&story, "  the first cause");
    story_cut(&story);
    assert_true(story.length > LIMIT_ERROR_STORY_BYTES - 16);
    assert_int_equal(strlen(text_get(&story)), story.length);
    assert_int_equal(strncmp(text_get(&story), "the last task", 13), 0);
    assert_non_null(strstr(text_get(&story), "more of the chain"));
    assert_non_null(strstr(text_get(&story), "\n  the first cause"));
    size_t length = story.length;
    story_cut(&story);
    assert_int_equal(story.length, length);
    struct task task = {.known = true, .status = MOOT_ERR_TASK_FAILED};
    task.payload = story_payload(&story, (struct root_cause){.code = -7, .rank = 300});
    assert_non_null(task.payload);
    assert_true(task.payload->size <= LIMIT_ERROR_STORY_BYTES);
    assert_string_equal((const char *)task.payload->data, text_get(&story));
    assert_int_equal(story_root(&task).code, -7);
    assert_int_equal(story_root(&task).rank, 300);
    payload_drop(task.payload);
    text_release(&story);
    assert_string_equal(text_get(&story), "");
}

/* The first failure stands first, however many elements fail for want of it. */
static void a_chain_of_elements_stays_short(void **state)
{
    (void)state;
    struct text story = {0};
    struct task task = {.known = true, .status = MOOT_ERR_TASK_FAILED};
    text_add(&story, "element 5: the pump is dry");
    struct payload *before =
        story_payload(&story, (struct root_cause){.code = 7, .rank = 3});
    for (int i = 0; i < 1000; i++) {
        char failure[64];
        (void)snprintf(failure, sizeof(failure), "element %d failed", i);
        struct payload *next = story_of_element(before, failure);
        assert_non_null(next);
        payload_drop(before);
        before = next;
        task.payload = before;
        assert_int_equal(story_root(&task).code, 7);
        assert_int_equal(story_root(&task).rank, 3);
        if (i == 0) {
            assert_string_equal((const char *)before->data,
                                "element 5: the pump is dry\n"
                                "  so element 0 failed");
        }
        if (i == 1) {
            assert_string_equal((const char *)before->data,
                                "element 5: the pump is dry\n"
                                "  so element 0 failed\n"
                                "  so element 1 failed");
        }
    }
    assert_string_equal((const char *)before->data,
                        "element 5: the pump is dry\n"
                        "  so element 0 failed\n"
                        "  so 998 more failed, each by the one before\n"
                        "  so element 999 failed");
    payload_drop(before);
    text_release(&story);
}

/* Stories that are not known, or are long, or that another process has spoiled. */
static void a_chain_of_elements_is_of_any_story(void **state)
{
    (void)state;
    char failure[2000];
    memset(failure, 'f', sizeof(failure));
    failure[sizeof(failure) - 1] = '\0';
    struct payload *story = story_of_element(NULL, failure);
    assert_non_null(strstr((const char *)story->data, "\n  so fff"));
    payload_drop(story);
    struct text text = {0};
    for (int i = 0; i < 1000; i++) {
        text_add(&text, "  link %d failed:\n", i);
    }
    struct payload *before = story_payload(&text, NO_ROOT_CAUSE);
    for (int i = 0; i < 3; i++) {
        story = story_of_element(before, failure);
        assert_true(story->size <= LIMIT_ERROR_STORY_BYTES);
        assert_true(strstr((const char *)story->data, "link 999 failed") != NULL);
        payload_drop(before);
        before = story;
    }
    for (size_t at = strlen((const char *)before->data); at < before->size; at++) {
        before->data[at] = before->data[at] != 0 ? 0xff : 0;
    }
    story = story_of_element(before, "the last");
    assert_non_null(strstr((const char *)story->data, "\n  so the last"));
    payload_drop(story);
    payload_drop(before);
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_elements_stays_short),
        cmocka_unit_test(a_chain_of_elements_is_of_any_story),
        cmocka_unit_test(payloads_are_aligned_and_end_in_zero),
        cmocka_unit_test(the_last_holder_frees),
        cmocka_unit_test(small_memory_is_used_again),
        cmocka_unit_test(large_memory_is_used_again),
        cmocka_unit_test(little_large_memory_is_kept),
        cmocka_unit_test(large_memory_that_nobody_takes_goes_back),
        cmocka_unit_test(scratch_takes_everything),
        cmocka_unit_test(a_pool_gives_zeroed_memory),
        cmocka_unit_test(a_pool_gives_again_what_it_was_given),
        cmocka_unit_test(untouched_memory_costs_what_is_used),
        cmocka_unit_test(a_pool_takes_many_large_pieces_back),
        cmocka_unit_test(a_long_story_keeps_its_ends),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
