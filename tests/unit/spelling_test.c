/* spelling_test.c - which word is meant by a misspelt one, and by which none. */
#include "node/config/spelling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void slips_are_mended_and_other_words_are_not(void **state)
{
    (void)state;
    static const char *const names[] = {"run", "report", "--faults", "--no-progress",
                                        "-n"};
    static const struct {
        const char *word, *meant;
    } rows[] = {
        {"rnu", "run"},
        {"rn", "run"},
        {"nur", NULL},
        {"reprot", "report"},
        {"repo", "report"},
        {"rep", NULL},
        {"--fautl", "--faults"},
        {"--fa", NULL},
        {"--noprogres", "--no-progress"},
        {"--progress", "--no-progress"},
        {"--regress", NULL},
        {"-m", "-n"},
        {"n", "-n"},
        {"", NULL},
        {"--no-progress--no-progress--no-progress--no-progress", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *meant = spelling_closest(rows[i].word, names, 5);
        if (rows[i].meant == NULL) {
            assert_null(meant);
        } else {
            assert_non_null(meant);
            assert_string_equal(meant, rows[i].meant);
        }
    }
    assert_null(spelling_closest("run", names, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_are_mended_and_other_words_are_not),
    };
    return cmocka_run_group_tests_name("spelling", tests, NULL, NULL);
}
