/* export_test.c - names and labels of a trace in the formats of other tools: whatever
 * bytes they are, the file stays one that such a tool reads as it was meant; and what
 * the page of a report has of them.
 */
#include "node/tools/json.h"
#include "node/tools/report_data.h"
#include "node/tools/trace_export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* To be freed. */
static char *exported(exporter *export, const struct trace_job *trace)
{
    const struct model model = {.trace = trace};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_true(export(&model, file));
    assert_int_equal(fclose(file), 0);
    return text;
}

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
        const struct trace_job trace = {.ranks = &rank,
                                        .rank_count = 1,
                                        .present_count = 1,
                                        .tasks = &task,
                                        .task_count = 1};
        char *text = exported(rows[i].export, &trace);
        if (strstr(text, rows[i].wanted) == NULL) {
            fail_msg("row %zu: no %s in\n%s", i, rows[i].wanted, text);
        }
        free(text);
    }
}

/* Neither a time, nor the code of a run that ended well. */
static void what_did_not_happen_is_empty(void **state)
{
    (void)state;
    struct trace_rank rank = {.present = true};
    struct trace_run run = {.ready_ns = 5, .start_ns = 7, .end_ns = TRACE_NEVER};
    struct trace_task task = {.kernel = "k",
                              .site = "",
                              .label = "",
                              .parent = TRACE_NONE,
                              .spawned_ns = 3,
                              .asked_ns = TRACE_NEVER,
                              .voted_ns = TRACE_NEVER};
    const struct trace_job trace = {.ranks = &rank,
                                    .rank_count = 1,
                                    .present_count = 1,
                                    .tasks = &task,
                                    .task_count = 1,
                                    .runs = &run,
                                    .run_count = 1};
    char *text = exported(export_csv, &trace);
    assert_non_null(strstr(text, ",\"none\",3,0,5,7,,,,,,,,\r\n"));
    free(text);
}

/* A page does not grow with the tasks that others ran and whose traces are not here. */
static void the_page_names_what_it_draws(void **state)
{
    (void)state;
    enum { TASKS = 20000, DRAWN = 12345, PAGE_BYTES = 20000 };
    struct trace_rank rank = {.present = true,
                              .host_name = "",
                              .version = "",
                              .compiler = "",
                              .command = "",
                              .transport = "",
                              .last_ns = 9000};
    struct trace_task *tasks = calloc(TASKS, sizeof(*tasks));
    assert_non_null(tasks);
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (struct trace_task){.kernel = i == DRAWN ? "drawn" : "other",
                                       .site = "a.c:1",
                                       .label = "",
                                       .parent = TRACE_NONE,
                                       .run = TRACE_NONE,
                                       .spawned_ns = 1,
                                       .asked_ns = TRACE_NEVER,
                                       .voted_ns = TRACE_NEVER};
    }
    const struct trace_job trace = {.ranks = &rank,
                                    .rank_count = 1,
                                    .present_count = 1,
                                    .tasks = tasks,
                                    .task_count = TASKS,
                                    .makespan_ns = 9000};
    struct model_segment segment = {1000, 5000, STATE_RUN, DRAWN, 0};
    struct model_rank drawn = {.segments = &segment, .count = 1};
    const struct model model = {.trace = &trace, .ranks = &drawn};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_true(report_data_write(&model, file));
    assert_int_equal(fclose(file), 0);
    assert_in_range(size, 1, PAGE_BYTES);
    assert_non_null(strstr(text, "\"timeline\":[[1.000,5.000,0,0,0]]"));
    assert_non_null(strstr(text, "\"names\":[\"drawn 00000000\"]"));
    free(text);
    free(tasks);
}

/* The chart begins with the first moot that is open; of a trace that has lost that the
 * time before is not gone through nanosecond by nanosecond. */
static void a_trace_without_an_open_moot_has_its_page(void **state)
{
    (void)state;
    const int64_t late_ns = INT64_C(9000000000000);
    struct trace_rank rank = {.present = true,
                              .host_name = "",
                              .version = "",
                              .compiler = "",
                              .command = "",
                              .transport = "",
                              .ready_ns = TRACE_NEVER,
                              .last_ns = late_ns};
    struct trace_run run = {.ready_ns = 10, .start_ns = late_ns, .end_ns = late_ns};
    struct trace_task task = {.kernel = "work",
                              .site = "",
                              .label = "",
                              .parent = TRACE_NONE,
                              .asked_ns = TRACE_NEVER,
                              .voted_ns = TRACE_NEVER};
    const struct trace_job trace = {.ranks = &rank,
                                    .rank_count = 1,
                                    .present_count = 1,
                                    .tasks = &task,
                                    .task_count = 1,
                                    .runs = &run,
                                    .run_count = 1,
                                    .makespan_ns = late_ns};
    struct model_rank none = {.count = 0};
    const struct model model = {.trace = &trace, .ranks = &none};
    FILE *file = fopen("/dev/null", "w");
    assert_non_null(file);
    alarm(10);
    assert_true(report_data_write(&model, file));
    alarm(0);
    assert_int_equal(fclose(file), 0);
}

/* Each of its kernels ran for as long as a clock goes, which damage can say. */
static void no_path_is_too_long(void **state)
{
    (void)state;
    enum { TASKS = 100 };
    struct trace_rank rank = {.present = true};
    struct trace_run runs[TASKS];
    struct trace_task tasks[TASKS];
    uint32_t inputs[TASKS];
    for (uint32_t i = 0; i < TASKS; i++) {
        inputs[i] = i - 1;
        runs[i] =
            (struct trace_run){.task = i, .end_ns = TRACE_CLOCK_NS_MAX - TASKS + i};
        tasks[i] = (struct trace_task){.kernel = "work",
                                       .site = "",
                                       .label = "",
                                       .inputs = &inputs[i],
                                       .input_count = i > 0,
                                       .parent = TRACE_NONE,
                                       .run = i,
                                       .asked_ns = TRACE_NEVER,
                                       .voted_ns = TRACE_NEVER};
    }
    const struct trace_job trace = {.ranks = &rank,
                                    .rank_count = 1,
                                    .present_count = 1,
                                    .tasks = tasks,
                                    .task_count = TASKS,
                                    .runs = runs,
                                    .run_count = TASKS};
    struct model model;
    assert_true(model_make(&trace, &model));
    assert_int_equal(model.path_count, TASKS);
    assert_true(model.path_ns > 0.99 * TASKS * (double)TRACE_CLOCK_NS_MAX);
    model_release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_stay_within_their_quotes),
        cmocka_unit_test(what_did_not_happen_is_empty),
        cmocka_unit_test(the_page_names_what_it_draws),
        cmocka_unit_test(no_path_is_too_long),
        cmocka_unit_test(a_trace_without_an_open_moot_has_its_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
