/* export_test.c - names and labels of a trace in the formats of other tools: whatever
 * bytes they are, the file stays one that such a tool reads as it was meant.
 */
#include "node/cli/json.h"
#include "node/cli/trace_export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REPLACEMENT "\xef\xbf\xbd"

typedef bool exporter(const struct model *model, FILE *file);

static bool json_label(const struct model *model, FILE *file)
{
    json_text(file, model->trace->tasks[0].label);
    return true;
}

static const struct row {
    exporter *export;
    const char *label, *wanted; /* in its quotes */
} rows[] = {
    {export_csv, "plain", "\"plain\""},
    {export_csv, "a \"b\", c", "\"a \"\"b\"\", c\""},
    {export_csv, "=1+1", "\"'=1+1\""}, /* no formulas */
    {export_csv, "+1", "\"'+1\""},
    {export_csv, "-1", "\"'-1\""},
    {export_csv, "@SUM(A1)", "\"'@SUM(A1)\""},
    {export_csv, "\t=1", "\"'\t=1\""},
    {export_csv, "a=1", "\"a=1\""},
    {export_csv, "\xff\xe4\xbd", "\"" REPLACEMENT REPLACEMENT REPLACEMENT "\""},
    {export_csv, "\xe4\xbd\xa0", "\"\xe4\xbd\xa0\""},
    {export_dot, "a \"b\" \\N", "'a \\\"b\\\" \\\\N'"},
    {export_dot, "&lt;b&gt;", "'&amp;lt;b&amp;gt;'"}, /* no entities */
    {export_dot, "a\nb\x01", "'a b '"},
    {export_dot, "a\xe4\xbd", "'a" REPLACEMENT REPLACEMENT "'"}, /* cut in a letter */
    {export_dot, "\xe4\xbd\xa0", "'\xe4\xbd\xa0'"},
    {json_label, "</script>\"\\\x01\x7f",
     "\"\\u003c/script>\\u0022\\u005c\\u0001"
     "\\u007f\""},
    {json_label, "a\xed\xa0\x80", "\"a\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
};

static void labels_stay_within_their_quotes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct trace_rank rank = {.present = true};
        struct trace_task task = {.kernel = "work",
                                  .site = "a.c:1",
                                  .label = rows[i].label,
                                  .parent = TRACE_NONE,
                                  .run = TRACE_NONE,
                                  .spawned_ns = TRACE_NEVER,
                                  .asked_ns = TRACE_NEVER,
                                  .voted_ns = TRACE_NEVER};
        const struct trace trace = {.ranks = &rank,
                                    .rank_count = 1,
                                    .present_count = 1,
                                    .tasks = &task,
                                    .task_count = 1};
        const struct model model = {.trace = &trace};
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        assert_true(rows[i].export(&model, file));
        assert_int_equal(fclose(file), 0);
        if (strstr(text, rows[i].wanted) == NULL)
            fail_msg("row %zu: no %s in\n%s", i, rows[i].wanted, text);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_stay_within_their_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
