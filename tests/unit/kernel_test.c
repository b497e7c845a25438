/* kernel_test.c - ranks that registered a kernel differently find out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/tasks/kernel.h"

/* Whatever comes first, the registration or what a peer says of it. */
static void kernels_are_compared_in_any_order(void **state)
{
    (void)state;
    struct kernels kernels = {0};
    const struct message_kernel other = {.name = "late", .version = 2};
    bool news = false;
    assert_null(kernel_hear(&kernels, 3, &other, &news));
    assert_true(news);
    assert_null(kernel_hear(&kernels, 5, &other, &news));
    assert_false(news);
    const moot_kernel late = {.name = "late", .version = 1};
    struct kernel *kernel = kernel_add(&kernels, &late);
    assert_true(kernel->conflict);
    assert_int_equal(kernel->peer_rank, 3);
    assert_int_equal(kernel->peer_version, 2);

    const moot_kernel early = {
        .name = "early", .version = 1, .flags = MOOT_KERNEL_ONCE};
    kernel = kernel_add(&kernels, &early);
    assert_false(kernel->conflict);
    const struct message_kernel same = {"early", 1, MOOT_KERNEL_ONCE, 0};
    assert_null(kernel_hear(&kernels, 1, &same, &news));
    assert_true(news);
    kernel_passed(&kernels, &same);
    assert_true(kernel->told);
    assert_null(kernel_hear(&kernels, 6, &same, &news));
    assert_false(news);
    assert_false(kernel->conflict);
    const struct message_kernel flags = {"early", 1, 0, 0};
    assert_ptr_equal(kernel_hear(&kernels, 2, &flags, &news), kernel);
    assert_true(kernel->conflict);
    assert_true(news);
    assert_null(kernel_hear(&kernels, 4, &flags, &news)); /* the first is kept */
    assert_false(news);
    assert_int_equal(kernel->peer_rank, 2);
    kernels_release(&kernels);
}

/* A rank that has passed it on need not tell it as its own. */
static void what_was_passed_on_is_told(void **state)
{
    (void)state;
    for (int passes = 0; passes < 2; passes++) {
        struct kernels kernels = {0};
        bool news = false;
        const struct message_kernel said = {.name = "late", .version = 1};
        const moot_kernel late = {.name = "late", .version = 1};
        assert_null(kernel_hear(&kernels, 3, &said, &news));
        if (passes == 1) {
            kernel_passed(&kernels, &said);
        }
        assert_int_equal(kernel_add(&kernels, &late)->told, passes == 1);
        kernels_release(&kernels);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_compared_in_any_order),
        cmocka_unit_test(what_was_passed_on_is_told),
    };
    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
