/* knobs_test.c - what a knob may be, where it may come from, and what a mistake says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "node/config/knobs.h"
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static char directory[] = "/tmp/moot-knobs-XXXXXX";

/* --- One value -------------------------------------------------------------------- */

static void values_are_read_and_written_back(void **state)
{
    (void)state;
    static const struct {
        enum knob knob;
        const char *text, *back; /* NULL: refused */
    } rows[] = {
        {KNOB_DIVERGENCE, "repair", "repair"},
        {KNOB_DIVERGENCE, "trust", "trust"},
        {KNOB_DIVERGENCE, "repair strict", NULL},
        {KNOB_DIVERGENCE, "Repair", NULL},
        {KNOB_DIVERGENCE, "rep", NULL},
        {KNOB_DIVERGENCE, "", NULL},
        {KNOB_VOTE_TIMEOUT, "never", "never"},
        {KNOB_VOTE_TIMEOUT, "auto", "auto"},
        {KNOB_VOTE_TIMEOUT, "5ms", "5ms"},
        {KNOB_VOTE_TIMEOUT, "2000us", "2ms"},
        {KNOB_VOTE_TIMEOUT, "1500us", "1500us"},
        {KNOB_VOTE_TIMEOUT, "999ns", NULL}, /* below the least */
        {KNOB_VOTE_TIMEOUT, "24h", "24h"},
        {KNOB_VOTE_TIMEOUT, "25h", NULL},
        {KNOB_VOTE_TIMEOUT, "0", NULL},
        {KNOB_ASK_DELAY, "auto", "auto"},
        {KNOB_ASK_DELAY, "never", NULL},
        {KNOB_ASK_DELAY, "0", "0"},
        {KNOB_ASK_DELAY, "0s", "0"},
        {KNOB_ASK_DELAY, "10ns", "10ns"},
        {KNOB_ASK_DELAY, "90s", "90s"},
        {KNOB_ASK_DELAY, "60s", "1m"},
        {KNOB_ASK_DELAY, "5", NULL}, /* no unit */
        {KNOB_ASK_DELAY, "5 ms", NULL},
        {KNOB_ASK_DELAY, "5msx", NULL},
        {KNOB_ASK_DELAY, "1.5s", NULL},
        {KNOB_ASK_DELAY, "-1s", NULL},
        {KNOB_ASK_DELAY, "ms", NULL},
        {KNOB_ASK_DELAY, "99999999999999999999s", NULL},
        {KNOB_ASK_DELAY, "9223372036854775807ns", NULL},
        {KNOB_VOTERS, "1", "1"},
        {KNOB_VOTERS, "15", "15"},
        {KNOB_VOTERS, "0", NULL},
        {KNOB_VOTERS, "16", NULL},
        {KNOB_VOTERS, "3x", NULL},
        {KNOB_VOTERS, "0x3", NULL},
        {KNOB_VOTERS, "+3", NULL},
        {KNOB_VOTERS, " 3", NULL},
        {KNOB_VOTERS, "18446744073709551617", NULL}, /* 2^64 + 1 */
        {KNOB_THREADS, "0", "0"},
        {KNOB_THREADS, "007", "7"},
        {KNOB_PROGRESS, "thread", "thread"},
        {KNOB_PROGRESS, "caller", "caller"},
        {KNOB_PROGRESS, "none", NULL},
        {KNOB_RINGS, "off", "off"},
        {KNOB_RINGS, "thread", NULL},
        {KNOB_STALL, "10s", "10s"},
        {KNOB_STALL, "never", "never"},
        {KNOB_VERIFY, "0", "0"},
        {KNOB_VERIFY, "1", "1"},
        {KNOB_VERIFY, "0.000001", "0.000001"},
        {KNOB_VERIFY, "1e-06", NULL},
        {KNOB_VERIFY, "0.250", "0.25"},
        {KNOB_VERIFY, "1.000001", NULL},
        {KNOB_VERIFY, "0.", NULL},
        {KNOB_VERIFY, ".5", NULL},
        {KNOB_VERIFY, "0.0000001", NULL},
        {KNOB_VERIFY, "-0.1", NULL},
        {KNOB_STALL_ABORT, "1", "1"},
        {KNOB_STALL_ABORT, "2", NULL},
        {KNOB_STALL_ABORT, "yes", NULL},
        {KNOB_SUMMARY, "/tmp/a b#c=d", "/tmp/a b#c=d"},
        {KNOB_SUMMARY, "two\nlines", NULL},
        {KNOB_METRICS, "1", NULL}, /* there would be a file of that name */
        {KNOB_METRICS, "./1", "./1"},
        {KNOB_METRICS, "", ""},
        {KNOB_METRICS, "1.prom", "1.prom"},
        {KNOB_TRACE, "on", NULL},
        {KNOB_TRACE, "t", "t"},
        {KNOB_SUMMARY, "yes", NULL},
        {KNOB_STATE, "off", "off"},
        {KNOB_STATE, "on", NULL},
        {KNOB_STATE, "0", NULL},
        {KNOB_TRANSPORT, "", NULL}, /* none is no transport, and not the default */
        {KNOB_FAULTS, "", ""},
        {KNOB_FAULTS, "1", "1"}, /* no path: the plan's reader refuses it */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct knobs knobs, before;
        char story[256] = "", text[KNOB_TEXT_BYTES];
        const struct knob_origin origin = {KNOB_FROM_ENVIRONMENT, 0};
        knobs_default(&knobs);
        before = knobs;
        const char *name = knob_table[rows[i].knob].name;
        const int code =
            knobs_set(&knobs, name, rows[i].text, origin, story, sizeof(story));
        if (code != (rows[i].back ? MOOT_OK : MOOT_ERR_CONFIG)) {
            fail_msg("%s=%s gives %d", name, rows[i].text, code);
        }
        if (rows[i].back) {
            knobs_format(&knobs, rows[i].knob, text, sizeof(text));
            assert_string_equal(text, rows[i].back);
            assert_int_equal(knobs.origins[rows[i].knob].source, KNOB_FROM_ENVIRONMENT);
        } else {
            assert_memory_equal(&knobs, &before, sizeof(knobs));
            assert_non_null(strstr(story, name));
            assert_non_null(strstr(story, "may be"));
        }
    }
}

static void every_default_is_a_value_of_its_knob(void **state)
{
    (void)state;
    struct knobs knobs;
    char story[256], text[KNOB_TEXT_BYTES];
    knobs_default(&knobs);
    for (int i = 0; i < KNOB_COUNT; i++) {
        const struct knob_row *row = &knob_table[i];
        assert_string_equal(knobs_format(&knobs, (enum knob)i, text, sizeof(text)),
                            row->fallback);
        assert_int_equal(knobs_set(&knobs, row->name, row->fallback,
                                   (struct knob_origin){0}, story, sizeof(story)),
                         MOOT_OK);
        assert_true(strlen(row->meaning) > 10);
    }
    assert_int_equal(knobs.stall_ns, 10 * SECOND);
    assert_true(knobs.vote_timeout_ns == KNOB_NEVER && knobs.ask_delay_ns == KNOB_AUTO);
    assert_int_equal(knobs.voters, 3);
}

static void a_long_text_is_refused_and_not_cut(void **state)
{
    (void)state;
    struct knobs knobs;
    char story[256], text[KNOB_TEXT_BYTES + 1];
    knobs_default(&knobs);
    memset(text, 'x', sizeof(text));
    text[KNOB_TEXT_BYTES] = '\0';
    const struct knob_origin none = {0};
    assert_int_equal(
        knobs_set(&knobs, "MOOT_SUMMARY", text, none, story, sizeof(story)),
        MOOT_ERR_CONFIG);
    text[KNOB_TEXT_BYTES - 1] = '\0';
    assert_int_equal(
        knobs_set(&knobs, "MOOT_SUMMARY", text, none, story, sizeof(story)), MOOT_OK);
}

/* --- Sources ---------------------------------------------------------------------- */

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int clear(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof(path), "%s/moot/moot.conf", directory);
    unlink(path);
    for (int i = 0; i < KNOB_COUNT; i++) {
        unsetenv(knob_table[i].name);
    }
    unsetenv("MOOT_CONFIG");
    unsetenv("MOOT_VOTRES");
    return setenv("XDG_CONFIG_HOME", directory, 1);
}

static void the_strongest_source_wins(void **state)
{
    (void)state;
    struct knobs knobs;
    char story[512] = "", text[512], config[256];
    const char *overrides[] = {"MOOT_VOTERS=5", NULL};
    write_file("moot/moot.conf", "# mine\nMOOT_VOTERS = 2\n\n  MOOT_STALL=3s # less\n"
                                 "MOOT_THREADS = 1\nMOOT_PROGRESS = caller\n"
                                 "MOOT_SUMMARY = /a#b # not that\n");
    write_file("named.conf", "MOOT_STALL=4s\r\nMOOT_THREADS = 2\nMOOT_VOTERS=9");
    snprintf(config, sizeof(config), "%s/named.conf", directory);
    setenv("MOOT_CONFIG", config, 1);
    setenv("MOOT_THREADS", "3", 1);
    setenv("MOOT_VOTERS", "4", 1);
    setenv("MOOT_DIVERGENCE", "", 1); /* empty is unset */
    assert_int_equal(knobs_load(&knobs, overrides, story, sizeof(story)), MOOT_OK);
    assert_int_equal(knobs.voters, 5);
    assert_int_equal(knobs.threads, 3);
    assert_int_equal(knobs.stall_ns, 4 * SECOND);
    assert_int_equal(knobs.progress, KNOB_PROGRESS_CALLER);
    assert_string_equal(knobs.summary, "/a#b");
    assert_int_equal(knobs.divergence, KNOB_DIVERGENCE_REPAIR);
    assert_string_equal(knobs_origin(&knobs, KNOB_VOTERS, text, sizeof(text)),
                        "options");
    assert_string_equal(knobs_origin(&knobs, KNOB_THREADS, text, sizeof(text)),
                        "environment");
    assert_string_equal(knobs_origin(&knobs, KNOB_DIVERGENCE, text, sizeof(text)),
                        "default");
    snprintf(story, sizeof(story), "%s:1", config);
    assert_string_equal(knobs_origin(&knobs, KNOB_STALL, text, sizeof(text)), story);
    snprintf(story, sizeof(story), "%s/moot/moot.conf:6", directory);
    assert_string_equal(knobs_origin(&knobs, KNOB_PROGRESS, text, sizeof(text)), story);
}

static void the_options_may_name_the_file(void **state)
{
    (void)state;
    struct knobs knobs;
    char story[512] = "", option[256];
    snprintf(option, sizeof(option), "MOOT_CONFIG=%s/other.conf", directory);
    write_file("other.conf", "MOOT_THREADS=6\n");
    setenv("MOOT_CONFIG", "/nowhere/at/all", 1);
    const char *overrides[] = {option, NULL};
    assert_int_equal(knobs_load(&knobs, overrides, story, sizeof(story)), MOOT_OK);
    assert_int_equal(knobs.threads, 6);
}

/* Every story names the place and, of a value, what is allowed. */
static void a_mistake_is_told_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *file, *variable, *value, *option;
        const char *place, *what;
    } rows[] = {
        {"MOOT_VOTERS = 3\nMOOT_STALL = soon\n", NULL, NULL, NULL, "moot.conf:2",
         "MOOT_STALL is 'soon', but may be 1ms to 24h, written like 5ms or 2s, or "
         "never"},
        {"MOOT_HEARTBEAT = often\n", NULL, NULL, NULL, "moot.conf:1",
         "written like 5ms or 2s, or auto or never"},
        {"MOOT_VOTRES=3\n", NULL, NULL, NULL, "moot.conf:1",
         "unknown knob MOOT_VOTRES (did you mean MOOT_VOTERS?)"},
        {"\nNONSENSE=1\n", NULL, NULL, NULL, "moot.conf:2", "unknown knob NONSENSE;"},
        {"just words\n", NULL, NULL, NULL, "moot.conf:1", "MOOT_NAME = value"},
        {"MOOT_VOTERS\n", NULL, NULL, NULL, "moot.conf:1", "MOOT_NAME = value"},
        {"= 3\n", NULL, NULL, NULL, "moot.conf:1", "unknown knob"},
        {"MOOT_VOTERS =\n", NULL, NULL, NULL, "moot.conf:1", "1 to 15"},
        {"MOOT_CONFIG = x\n", NULL, NULL, NULL, "moot.conf:1", "no place in a file"},
        {"", "MOOT_DIVERGENCE", "maybe", NULL, "environment",
         "MOOT_DIVERGENCE is 'maybe', but may be repair, strict or trust"},
        {"", "MOOT_CONFIG", "/nowhere/moot.conf", NULL,
         "MOOT_CONFIG=/nowhere/moot.conf: ", "No such"},
        {"", NULL, NULL, "MOOT_CONFIG=nope", "MOOT_CONFIG=nope: ", "No such"},
        {"", "MOOT_CONFIG", "/tmp", NULL, "MOOT_CONFIG=/tmp: ", "directory"},
        {"", NULL, NULL, "MOOT_THREADS=many", "'MOOT_THREADS=many'", "0 to 256"},
        {"", NULL, NULL, "MOOT_THREADS", "'MOOT_THREADS'", "MOOT_NAME=value"},
        {"", NULL, NULL, "", "''", "MOOT_NAME=value"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct knobs knobs, before;
        char story[512] = "";
        const char *overrides[] = {rows[i].option, NULL};
        clear(NULL);
        write_file("moot/moot.conf", rows[i].file);
        if (rows[i].variable) {
            setenv(rows[i].variable, rows[i].value, 1);
        }
        memset(&knobs, 0x5a, sizeof(knobs));
        before = knobs;
        assert_int_equal(knobs_load(&knobs, overrides, story, sizeof(story)),
                         MOOT_ERR_CONFIG);
        assert_memory_equal(&knobs, &before, sizeof(knobs));
        if (!strstr(story, rows[i].place) || !strstr(story, rows[i].what)) {
            fail_msg("row %zu says: %s", i, story);
        }
    }
}

/* Each of the values is allowed, but not with the others. */
static void contradictions_are_told_with_their_units(void **state)
{
    (void)state;
    static const struct {
        const char *heartbeat, *lease, *suspect, *progress;
        const char *story; /* NULL: there is none */
    } rows[] = {
        {"auto", "auto", "auto", "auto", NULL},
        {"auto", "auto", "1s", "auto", NULL},
        {"1s", "2s", "2s", "auto", NULL},
        {"auto", "1s", "auto", "auto", NULL},
        {"1s", "1999ms", "10s", "auto",
         "MOOT_LEASE is 1999ms (environment), but must be at least two heartbeats: "
         "MOOT_HEARTBEAT is 1s (environment)"},
        {"auto", "100ms", "auto", "auto",
         "MOOT_LEASE is 100ms (environment), but must be at least two heartbeats: "
         "MOOT_HEARTBEAT is auto (environment), which is 500 ms"},
        {"auto", "100ms", "600ms", "auto",
         "MOOT_LEASE is 100ms (environment), but must be at least two heartbeats: "
         "MOOT_HEARTBEAT is auto (environment), which is 100 ms"},
        {"auto", "3s", "1s", "auto",
         "MOOT_SUSPECT is 1s (environment), but must be at least the lease: "
         "MOOT_LEASE is 3s (environment)"},
        {"1s", "auto", "3s", "auto",
         "MOOT_SUSPECT is 3s (environment), but must be at least the lease: "
         "MOOT_LEASE is auto (environment), which is 4.000 s"},
        {"never", "3s", "1s", "auto", NULL}, /* nobody guesses */
        {"auto", "3s", "1s", "caller", NULL},
        {"1s", "3s", "1s", "caller",
         "MOOT_SUSPECT is 1s (environment), but must be at least the lease: "
         "MOOT_LEASE is 3s (environment)"},
    };
    const struct knob_origin origin = {KNOB_FROM_ENVIRONMENT, 0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct knobs knobs;
        char story[512] = "";
        const char *const values[][2] = {{"MOOT_HEARTBEAT", rows[i].heartbeat},
                                         {"MOOT_LEASE", rows[i].lease},
                                         {"MOOT_SUSPECT", rows[i].suspect},
                                         {"MOOT_PROGRESS", rows[i].progress}};
        knobs_default(&knobs);
        for (int k = 0; k < 4; k++) {
            assert_int_equal(knobs_set(&knobs, values[k][0], values[k][1], origin,
                                       story, sizeof(story)),
                             MOOT_OK);
        }
        const int code = knobs_agree(&knobs, true, story, sizeof(story));
        if (code != (rows[i].story ? MOOT_ERR_CONFIG : MOOT_OK) ||
            strcmp(story, rows[i].story ? rows[i].story : "") != 0) {
            fail_msg("row %zu gives %d: %s", i, code, story);
        }
    }
}

static void a_line_too_long_is_refused(void **state)
{
    (void)state;
    struct knobs knobs;
    char story[512] = "", text[3000];
    memset(text, ' ', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    memcpy(text, "MOOT_VOTERS=3", 13);
    write_file("moot/moot.conf", text);
    assert_int_equal(knobs_load(&knobs, NULL, story, sizeof(story)), MOOT_ERR_CONFIG);
    assert_non_null(strstr(story, "too long"));
}

/* What is behind a byte of 0 is no less a mistake; and of such bytes there may be no
 * end, which is not waited for. */
static void a_file_that_is_no_text_is_refused(void **state)
{
    (void)state;
    static const char text[] = "MOOT_VOTERS=3\0MOOT_STALL=soon\n";
    struct knobs knobs;
    char story[512] = "", path[256];
    snprintf(path, sizeof(path), "%s/no_text.conf", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, sizeof(text) - 1, file), sizeof(text) - 1);
    assert_int_equal(fclose(file), 0);
    for (int endless = 0; endless < 2; endless++) {
        setenv("MOOT_CONFIG", endless ? "/dev/zero" : path, 1);
        alarm(10);
        assert_int_equal(knobs_load(&knobs, NULL, story, sizeof(story)),
                         MOOT_ERR_CONFIG);
        alarm(0);
        assert_non_null(strstr(story, ":1: a byte of 0"));
    }
}

static void see(void *context, const char *name)
{
    if (strcmp(name, "MOOT_VOTRES") == 0) {
        ++*(int *)context;
    }
    assert_string_not_equal(name, "MOOT_VOTERS");
    assert_string_not_equal(name, "MOOT_CONFIG");
}

static void a_stranger_in_the_environment_is_seen(void **state)
{
    (void)state;
    struct knobs knobs;
    char story[512] = "";
    int strangers = 0;
    setenv("MOOT_VOTERS", "3", 1);
    setenv("MOOT_VOTRES", "5", 1);
    knobs_each_stranger(see, &strangers);
    assert_int_equal(strangers, 1);
    assert_int_equal(knobs_load(&knobs, NULL, story, sizeof(story)), MOOT_OK);
}

/* --- Between ranks ---------------------------------------------------------------- */

static void everyone_gets_the_values_and_origins_of_rank_0(void **state)
{
    (void)state;
    struct knobs knobs, copy;
    char story[512] = "", blob[KNOBS_BLOB_BYTES], summary[KNOB_TEXT_BYTES];
    memset(summary, '=', sizeof(summary) - 1);
    summary[sizeof(summary) - 1] = '\0';
    setenv("MOOT_SUMMARY", summary, 1);
    setenv("MOOT_VOTE_TIMEOUT", "7us", 1);
    write_file("moot/moot.conf", "\n\nMOOT_STALL = never\n");
    assert_int_equal(knobs_load(&knobs, NULL, story, sizeof(story)), MOOT_OK);
    const size_t size = knobs_encode(&knobs, blob);
    assert_true(size < KNOBS_BLOB_BYTES);
    assert_int_equal(knobs_decode(&copy, blob, size, story, sizeof(story)), MOOT_OK);
    assert_memory_equal(&copy, &knobs, sizeof(knobs));
    assert_int_equal(copy.origins[KNOB_STALL].line, 3);
    for (size_t cut = 0; cut < size; cut++) { /* never read past the end */
        knobs_decode(&copy, blob, cut, story, sizeof(story));
    }
    assert_int_equal(knobs_decode(&copy, blob, size - 1, story, sizeof(story)),
                     MOOT_ERR_PROTOCOL);
}

static void a_failure_of_rank_0_is_everyones(void **state)
{
    (void)state;
    struct knobs knobs;
    char story[100] = "", blob[KNOBS_BLOB_BYTES];
    const size_t size = knobs_encode_failure("environment: no", blob);
    assert_int_equal(knobs_decode(&knobs, blob, size, story, sizeof(story)),
                     MOOT_ERR_CONFIG);
    assert_string_equal(story, "environment: no");
    static const char *const bad[] = {"",
                                      "moot knobs 2\n",
                                      "moot knobs 1\nx",
                                      "moot knobs 1\n0 0 MOOT_VOTERS=99\n",
                                      "moot knobs 1\n9 0 MOOT_VOTERS=3\n",
                                      "moot knobs 1\n0 0 MOOT_VOTERS\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(
            knobs_decode(&knobs, bad[i], strlen(bad[i]), story, sizeof(story)),
            MOOT_ERR_PROTOCOL);
    }
}

int main(void)
{
    char path[256];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(values_are_read_and_written_back, clear),
        cmocka_unit_test_setup(every_default_is_a_value_of_its_knob, clear),
        cmocka_unit_test_setup(a_long_text_is_refused_and_not_cut, clear),
        cmocka_unit_test_setup(the_strongest_source_wins, clear),
        cmocka_unit_test_setup(the_options_may_name_the_file, clear),
        cmocka_unit_test_setup(a_mistake_is_told_with_its_place, clear),
        cmocka_unit_test(contradictions_are_told_with_their_units),
        cmocka_unit_test_setup(a_line_too_long_is_refused, clear),
        cmocka_unit_test_setup(a_file_that_is_no_text_is_refused, clear),
        cmocka_unit_test_setup(a_stranger_in_the_environment_is_seen, clear),
        cmocka_unit_test_setup(everyone_gets_the_values_and_origins_of_rank_0, clear),
        cmocka_unit_test_setup(a_failure_of_rank_0_is_everyones, clear),
    };
    if (!mkdtemp(directory)) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/moot", directory);
    mkdir(path, 0700);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    static const char *const left[] = {"moot/moot.conf", "named.conf", "other.conf",
                                       "no_text.conf",   "moot",       ""};
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, left[i]);
        remove(path);
    }
    return failed;
}
