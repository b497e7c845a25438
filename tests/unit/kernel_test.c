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
    assert_false(kernels.varies);
    assert_true(kernel->conflict);
    assert_int_equal(kernel->peer_rank, 3);
    assert_int_equal(kernel->peer_version, 2);

    const moot_kernel early = {
        .name = "early", .version = 1, .flags = MOOT_KERNEL_ONCE};
    kernel = kernel_add(&kernels, &early);
    assert_true(kernels.varies);
    assert_false(kernel->conflict);
    const struct message_kernel same = {
        .name = "early", .version = 1, .flags = MOOT_KERNEL_ONCE};
    assert_null(kernel_hear(&kernels, 1, &same, &news));
    assert_true(news);
    kernel_passed(&kernels, &same);
    assert_true(kernel->told);
    assert_null(kernel_hear(&kernels, 6, &same, &news));
    assert_false(news);
    assert_false(kernel->conflict);
    const struct message_kernel flags = {.name = "early", .version = 1};
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

static int do_nothing(moot_call *call, void *user)
{
    (void)call;
    (void)user;
    return 0;
}

static struct message_kernel of_build(const void *build, size_t size)
{
    return (struct message_kernel){
        .name = "built", .version = 1, .build = build, .build_size = size};
}

static const moot_kernel built = {.name = "built", .version = 1, .fn = do_nothing};

/* Another build is told once and is no conflict, unless the program said so; one that
 * is not known is not compared. */
static void builds_are_compared(void **state)
{
    (void)state;
    const unsigned char other[4] = {1, 2, 3, 4}, third[4] = {1, 2, 3, 5};
    const struct message_kernel said = of_build(other, sizeof(other)),
                                again = of_build(third, sizeof(third)),
                                unknown = of_build(NULL, 0);
    for (int by_build = 0; by_build < 2; by_build++) {
        struct kernels kernels = {.by_build = by_build == 1};
        bool news = false;
        struct kernel *kernel = kernel_add(&kernels, &built);
        assert_true(kernel->build_size > 0);
        const struct message_kernel same = kernel_said(kernel);
        assert_null(kernel_hear(&kernels, 1, &same, &news));
        assert_null(kernel_hear(&kernels, 1, &unknown, &news));
        assert_false(kernel->rebuilt);
        assert_ptr_equal(kernel_hear(&kernels, 2, &said, &news), kernel);
        assert_true(news && kernel->rebuilt);
        assert_int_equal(kernel->conflict, by_build == 1);
        assert_int_equal(kernel->rebuilt_rank, 2);
        assert_memory_equal(kernel->peer_build, other, sizeof(other));
        assert_null(kernel_hear(&kernels, 3, &said, &news));
        assert_int_equal(kernels.rebuilt, 1);
        assert_null(kernel_hear(&kernels, 4, &again, &news));
        assert_int_equal(kernel->rebuilt_rank, 2);
        kernels_release(&kernels);
    }
}

/* Among many each build is passed on once, and a build that differs from this rank's
 * does not stand for its own. */
static void builds_are_passed_on(void **state)
{
    (void)state;
    const unsigned char other[4] = {1, 2, 3, 4};
    const struct message_kernel said = of_build(other, sizeof(other));
    struct kernels kernels = {0};
    bool news = false;
    assert_null(kernel_hear(&kernels, 2, &said, &news));
    assert_true(news);
    kernel_passed(&kernels, &said);
    struct kernel *kernel = kernel_add(&kernels, &built);
    assert_true(kernel->rebuilt);
    assert_false(kernel->told || kernel->conflict);
    assert_null(kernel_hear(&kernels, 3, &said, &news));
    assert_false(news);
    kernel_passed(&kernels, &said);
    assert_false(kernel->told);
    kernels_release(&kernels);
}

/* The library's own are the same in a program that has it in itself. */
static void own_kernels_have_no_build(void **state)
{
    (void)state;
    struct kernels kernels = {0};
    struct handles handles = {0};
    struct kernel *kernel = kernel_add_own(&kernels, &handles, &built);
    const unsigned char other[4] = {1, 2, 3, 4};
    const struct message_kernel said = of_build(other, sizeof(other));
    bool news = false;
    assert_int_equal(kernel_said(kernel).build_size, 0);
    assert_null(kernel_hear(&kernels, 2, &said, &news));
    assert_false(kernel->rebuilt);
    kernels_release(&kernels);
}

/* Kernels that another rank uses count, too; the library's own are none of the
 * program's. */
static void kernels_that_vary_are_known(void **state)
{
    (void)state;
    static const uint32_t flags[] = {0, MOOT_KERNEL_PORTABLE, MOOT_KERNEL_ONCE,
                                     MOOT_KERNEL_NONDETERMINISTIC};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct kernels here = {0}, elsewhere = {0}, own = {0};
        const struct handles handles = {0};
        const moot_kernel kernel = {.name = "work", .version = 1, .flags = flags[i]};
        const struct message_kernel said = {
            .name = "work", .version = 1, .flags = flags[i]};
        bool news = false;
        assert_non_null(kernel_add(&here, &kernel));
        assert_null(kernel_hear(&elsewhere, 1, &said, &news));
        assert_non_null(kernel_add_own(&own, &handles, &kernel));
        assert_null(kernel_hear(&own, 1, &said, &news));
        assert_int_equal(here.varies, i >= 2);
        assert_int_equal(elsewhere.varies, i >= 2);
        assert_false(own.varies);
        kernels_release(&here);
        kernels_release(&elsewhere);
        kernels_release(&own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_compared_in_any_order),
        cmocka_unit_test(kernels_that_vary_are_known),
        cmocka_unit_test(what_was_passed_on_is_told),
        cmocka_unit_test(builds_are_compared),
        cmocka_unit_test(builds_are_passed_on),
        cmocka_unit_test(own_kernels_have_no_build),
    };
    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
