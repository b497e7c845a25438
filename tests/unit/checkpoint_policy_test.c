/* checkpoint_policy_test.c - MOOT_CHECKPOINT_WHEN is read as it is written, and the
 * build of a function is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "node/checkpoint/policy.h"
#include "node/tasks/build_id.h"
#include <cmocka.h>
#include <sodium.h>
#include <string.h>

static void policies_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum policy_when when;
        int64_t interval_ns;
    } rows[] = {{"finish", POLICY_FINISH, 0},
                {"call", POLICY_CALL, 0},
                {"5s", POLICY_INTERVAL, INT64_C(5000000000)},
                {"250ms", POLICY_INTERVAL, INT64_C(250000000)},
                {"label:outer-", POLICY_LABEL, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct policy policy;
        assert_true(policy_read(rows[i].text, &policy));
        assert_int_equal(policy.when, rows[i].when);
        assert_int_equal(policy.interval_ns, rows[i].interval_ns);
    }
}

static void mistakes_are_no_policies(void **state)
{
    (void)state;
    static const char *const texts[] = {"",      "never",  "auto",  "Finish", "finish ",
                                        "5",     "0",      "0s",    "-5s",    "5 s",
                                        "call:", "label:", "label", "5sx"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct policy policy;
        assert_false(policy_read(texts[i], &policy));
    }
}

static void labels_are_told_by_their_beginning(void **state)
{
    (void)state;
    struct policy policy;
    assert_true(policy_read("label:outer-", &policy));
    assert_true(policy_admits(&policy, "outer-1"));
    assert_true(policy_admits(&policy, "outer-"));
    assert_false(policy_admits(&policy, "outer"));
    assert_false(policy_admits(&policy, "an outer-1"));
    assert_false(policy_admits(&policy, NULL));
    assert_true(policy_read("finish", &policy));
    assert_true(policy_admits(&policy, NULL));
}

/* Build ids of the program, and of a library that it uses. */
static void builds_are_known_apart(void **state)
{
    (void)state;
    unsigned char own[BUILD_ID_BYTES] = {0}, other[BUILD_ID_BYTES] = {0};
    const size_t size = build_id_at((uintptr_t)policies_are_read, own);
    assert_true(size > 0 && size <= BUILD_ID_BYTES);
    assert_int_equal(build_id_at((uintptr_t)policy_read, other), size);
    assert_memory_equal(own, other, size);
    assert_true(build_id_at((uintptr_t)sodium_init, other) > 0);
    assert_memory_not_equal(own, other, size);
    assert_int_equal(build_id_at((uintptr_t)&size, other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_are_read),
        cmocka_unit_test(mistakes_are_no_policies),
        cmocka_unit_test(labels_are_told_by_their_beginning),
        cmocka_unit_test(builds_are_known_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
