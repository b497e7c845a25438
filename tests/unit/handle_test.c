/* handle_test.c - a handle names one task of one context until it is released, and
 * everything else is known for what it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/tasks/handle.h"
#include "node/tasks/task.h"

static struct handle nothing; /* where a search that must not fail has found none */

static struct handles make(uint64_t random)
{
    struct handles handles;
    handles_init(&handles, random);
    return handles;
}

static void finds_what_it_gave(void **state)
{
    (void)state;
    struct handles handles = make(1);
    struct task a = {.size = 1}, b = {.size = 2};
    uint64_t id_a = handle_new(&handles, &a, NULL), id_b = handle_new(&handles, &b, &a);
    assert_true(id_a != 0 && id_b != 0 && id_a != id_b);
    struct handle *handle = &nothing;
    assert_int_equal(handle_find(&handles, id_a, &handle), MOOT_OK);
    assert_ptr_equal(handle->task, &a);
    assert_null(handle->parent);
    assert_int_equal(handle_find(&handles, id_b, &handle), MOOT_OK);
    assert_ptr_equal(handle->task, &b);
    assert_ptr_equal(handle->parent, &a);
    handles_release(&handles);
}

static void released_is_stale(void **state)
{
    (void)state;
    struct handles handles = make(2);
    struct task task = {0};
    struct handle *handle = &nothing;
    uint64_t id = handle_new(&handles, &task, NULL);
    assert_int_equal(handle_find(&handles, id, &handle), MOOT_OK);
    handle_free(&handles, handle);
    handle = NULL;
    assert_int_equal(handle_find(&handles, id, &handle), MOOT_ERR_STALE);
    assert_null(handle);
    assert_int_equal(handle_find(&handles, 0, &handle), MOOT_ERR_STALE);
    assert_int_equal(handle_find(&handles, id + 1, &handle), MOOT_ERR_STALE);
    handles_release(&handles);
}

/* However often slots are used again, an old handle is not a new one's. */
static void slots_come_back_under_other_names(void **state)
{
    (void)state;
    enum { ROUNDS = 20000 };
    struct handles handles = make(3);
    struct task task = {0};
    static uint64_t old[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++) {
        struct handle *handle = &nothing;
        old[i] = handle_new(&handles, &task, NULL);
        assert_int_equal(handle_find(&handles, old[i], &handle), MOOT_OK);
        handle_free(&handles, handle);
    }
    uint64_t live = handle_new(&handles, &task, NULL);
    for (size_t i = 0; i < ROUNDS; i++) {
        struct handle *handle = &nothing;
        assert_true(old[i] != live);
        assert_int_equal(handle_find(&handles, old[i], &handle), MOOT_ERR_STALE);
    }
    assert_true(handles.count <= HANDLE_REST + 2); /* they did come back */
    handles_release(&handles);
}

static void anothers_is_foreign(void **state)
{
    (void)state;
    struct handles here = make(0x1234567800000001), there = make(0x1234567800000002);
    struct task task = {0};
    struct handle *handle = &nothing;
    uint64_t id = handle_new(&there, &task, NULL);
    handle_new(&here, &task, NULL);
    assert_int_equal(handle_find(&here, id, &handle), MOOT_ERR_FOREIGN);
    uint32_t number;
    assert_int_equal(handle_find_kernel(&here, handle_of_kernel(&there, 0), &number),
                     MOOT_ERR_FOREIGN);
    handles_release(&here);
    handles_release(&there);
}

static void a_kernel_is_no_task(void **state)
{
    (void)state;
    struct handles handles = make(5);
    struct task task = {0};
    struct handle *handle = &nothing;
    uint32_t number = 99;
    uint64_t task_id = handle_new(&handles, &task, NULL);
    uint64_t kernel_id = handle_of_kernel(&handles, 0);
    assert_int_equal(handle_find(&handles, kernel_id, &handle), MOOT_ERR_STALE);
    assert_int_equal(handle_find_kernel(&handles, task_id, &number),
                     MOOT_ERR_UNKNOWN_KERNEL);
    assert_int_equal(handle_find_kernel(&handles, 0, &number), MOOT_ERR_UNKNOWN_KERNEL);
    assert_int_equal(number, 99);
    assert_int_equal(
        handle_find_kernel(&handles, handle_of_kernel(&handles, 7), &number), MOOT_OK);
    assert_int_equal(number, 7);
    handles_release(&handles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_it_gave),
        cmocka_unit_test(released_is_stale),
        cmocka_unit_test(slots_come_back_under_other_names),
        cmocka_unit_test(anothers_is_foreign),
        cmocka_unit_test(a_kernel_is_no_task),
    };
    return cmocka_run_group_tests_name("handle", tests, NULL, NULL);
}
