/* error_test.c - every error code has its name and text (proto/moot_error.h), and so
 * have message types and evidence (proto/message.h). */
#include "proto/error.h"
#include "proto/message.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void every_code_has_its_name_and_text(void **state)
{
    (void)state;
#define X(name, number, text)                                                          \
    assert_int_equal(MOOT_ERR_##name, number);                                         \
    assert_string_equal(error_name(number), "MOOT_ERR_" #name);                        \
    assert_string_equal(error_text(number), text);                                     \
    assert_true(error_known(number));
    MOOT_ERRORS(X)
#undef X
    assert_string_equal(error_name(MOOT_OK), "MOOT_OK");
    assert_string_equal(error_text(MOOT_OK), "no error");
    assert_false(error_known(MOOT_OK));
}

/* Programs and other ranks have these numbers compiled in. */
static void numbers_never_change(void **state)
{
    (void)state;
    assert_int_equal(MOOT_ERR_INVALID, -1);
    assert_int_equal(MOOT_ERR_STALE, -4);
    assert_int_equal(MOOT_ERR_PROTOCOL, -11);
    assert_int_equal(MOOT_ERR_NOT_HELD, -17);
    assert_int_equal(MOOT_ERR_MAYBE_RAN, -26);
    assert_int_equal(MOOT_ERR_UNSUPPORTED, -32);
    assert_int_equal(MOOT_ERR_CRASHED, -34);
    assert_int_equal(MOOT_ERR_FILE, -35);
    assert_int_equal(MOOT_ERR_FINGERPRINT, -36);
    assert_int_equal(MOOT_ERR_SIGNATURE, -37);
}

static void unknown_codes_are_named_so(void **state)
{
    (void)state;
    static const int codes[] = {1, -1000, INT_MIN, INT_MAX, -38};
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        assert_string_equal(error_name(codes[i]), "MOOT_ERR_?");
        assert_string_equal(error_text(codes[i]), "unknown error");
        assert_false(error_known(codes[i]));
    }
}

static void types_and_evidence_have_names(void **state)
{
    (void)state;
    assert_string_equal(message_type_name(MESSAGE_MOTION), "MOTION");
    assert_string_equal(message_type_name(MESSAGE_KERNEL), "KERNEL");
    assert_string_equal(message_type_name(MESSAGE_NONE), "?");
    assert_string_equal(message_type_name(MESSAGE_TYPE_END), "?");
    assert_string_equal(message_type_name((enum message_type)1000), "?");
    for (int type = MESSAGE_NONE + 1; type < MESSAGE_TYPE_END; type++) {
        assert_true(strlen(message_type_name((enum message_type)type)) >= 3);
    }
    assert_string_equal(evidence_name(EVIDENCE_CLAIM), "claim");
    assert_string_equal(evidence_name(EVIDENCE_QUIET), "quiet");
    assert_string_equal(evidence_name(EVIDENCE_NONE), "none");
    assert_string_equal(evidence_name(EVIDENCE_END), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_name_and_text),
        cmocka_unit_test(numbers_never_change),
        cmocka_unit_test(unknown_codes_are_named_so),
        cmocka_unit_test(types_and_evidence_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
