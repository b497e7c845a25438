/* failing_thread.h - allocations of one thread that fail when it says so.
 *
 * For programs that are linked with --wrap, as those of tests/unit/failing_alloc.h, but
 * here each thread counts for itself.  Include it in one file of a program.
 */
#ifndef TESTS_CONFORMANCE_FAILING_THREAD_H
#define TESTS_CONFORMANCE_FAILING_THREAD_H

#include <stdbool.h>
#include <stdlib.h>

/* The one that fails, counted from when `made` was 0, and whether all behind it do;
 * fail_at 0: none. */
static _Thread_local long made, fail_at;
static _Thread_local bool fail_all;

static bool fails(void)
{
    made += fail_at > 0;
    return fail_at > 0 && (fail_all ? made >= fail_at : made == fail_at);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *bytes, size_t size);
void __real_free(void *bytes);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *bytes, size_t size);
void __wrap_free(void *bytes);

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *bytes, size_t size)
{
    return fails() ? NULL : __real_realloc(bytes, size);
}

void __wrap_free(void *bytes) { __real_free(bytes); }

#endif
