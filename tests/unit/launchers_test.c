/* launchers_test.c - lists of hosts are read as written or refused with the place,
 * ranks are placed in blocks, and tables of launchers are held against moot_launcher.h.
 */
#include "node/launchers/launchers.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void hosts_are_read_as_written(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *address;
        uint32_t count, slots; /* of the last host */
    } rows[] = {
        {"a", "a", "a", 1, 0},
        {"a:2", "a", "a", 1, 2},
        {"a:1,b.c-d_e:16384", "b.c-d_e", "b.c-d_e", 2, 16384},
        {" a:1 ,, b:3 ,", "b", "b", 2, 3},
        {"me@a:2", "me@a", "a", 1, 2},
        {"[::1]", "[::1]", "::1", 1, 0},
        {"[fe80::1%eth0]:4", "[fe80::1%eth0]", "fe80::1%eth0", 1, 4},
        {"me@[2001:db8::7]:3", "me@[2001:db8::7]", "2001:db8::7", 1, 3},
        {"10.77.0.1:2,10.77.0.2:3", "10.77.0.2", "10.77.0.2", 2, 3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct host_list hosts;
        char story[256] = "";
        if (hosts_parse(rows[i].text, &hosts, story, sizeof(story)) != MOOT_OK) {
            fail_msg("'%s': %s", rows[i].text, story);
        }
        assert_int_equal(hosts.count, rows[i].count);
        const moot_launcher_host *last = &hosts.items[hosts.count - 1];
        assert_string_equal(last->name, rows[i].name);
        assert_string_equal(last->address, rows[i].address);
        assert_int_equal(last->slots, rows[i].slots);
        hosts_release(&hosts);
    }
    struct host_list none;
    assert_int_equal(hosts_parse("", &none, NULL, 0), MOOT_OK);
    assert_int_equal(none.count, 0);
    hosts_release(&none);
}

static void mistakes_are_refused_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *told;
    } rows[] = {
        {"a:2,b:x", "'b:x': behind the colon stand slots"},
        {"a:", "'a:': behind the colon"},
        {"a:0", "'a:0': behind the colon"},
        {"a:-1", "'a:-1': behind the colon"},
        {"a:16385", "from 1 to 16384"},
        {"a:99999999999999999999", "from 1 to 16384"},
        {":2", "':2': it has no name"},
        {"me@:2", "it has no name"},
        {"a b", "'a b': this is no name"},
        {"-oProxyCommand=x", "this is no name"},
        {"a,-x:2", "'-x:2': this is no name"},
        {"-x@a", "the user before the @"},
        {"a;b", "this is no name"},
        {"::1", "in brackets"},
        {"[::1", "lacks the ]"},
        {"[::1]2", "lacks the ]"},
        {"[$x]", "no address of IPv6"},
        {"a:2,b:2,a:2", "'a' stands there twice"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct host_list hosts;
        char story[256] = "";
        assert_int_equal(hosts_parse(rows[i].text, &hosts, story, sizeof(story)),
                         MOOT_ERR_CONFIG);
        assert_null(hosts.items);
        if (strstr(story, rows[i].told) == NULL || strchr(story, '\n') != NULL) {
            fail_msg("'%s' is told as: %s", rows[i].text, story);
        }
    }
}

static void ranks_are_placed_in_blocks(void **state)
{
    (void)state;
    static const struct {
        const char *hosts;
        uint32_t ranks;
        const char *told; /* counts, or the story */
    } rows[] = {
        {"a:2,b:2,c:2", 0, "2 2 2"},
        {"a:2,b:2,c:2", 6, "2 2 2"},
        {"a:2,b:2,c:2", 3, "2 1 0"},
        {"a:2,b:2,c:2", 7, "7 ranks"},
        {"a,b,c", 0, "1 1 1"},
        {"a,b,c", 7, "3 2 2"},
        {"a,b,c", 2, "1 1 0"},
        {"a:4,b", 0, "4 1"},
        {"a:4,b", 9, "4 5"},
        {"b,a:4", 9, "5 4"},
        {"b,a:4", 3, "1 2"},
        {"a,b:1,c", 8, "4 1 3"},
        {"a:16384,b:16384", 0, "32768"},
        {"a", 20000, "20000 ranks"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct host_list hosts;
        uint32_t counts[4];
        char story[256] = "", told[512] = "";
        assert_int_equal(hosts_parse(rows[i].hosts, &hosts, story, sizeof(story)),
                         MOOT_OK);
        const int64_t placed = hosts_place(hosts.items, hosts.count, rows[i].ranks,
                                           counts, story, sizeof(story));
        int64_t sum = 0;
        for (uint32_t h = 0; placed >= 0 && h < hosts.count; h++) {
            char count[16];
            (void)snprintf(count, sizeof(count), "%s%u", h > 0 ? " " : "", counts[h]);
            (void)strncat(told, count, sizeof(told) - strlen(told) - 1);
            sum += counts[h];
        }
        if (placed < 0) {
            (void)snprintf(told, sizeof(told), "%.32s", story);
        } else {
            assert_int_equal(sum, placed);
        }
        if (strncmp(told, rows[i].told, strlen(rows[i].told)) != 0) {
            fail_msg("%u ranks on %s: %s, not %s", rows[i].ranks, rows[i].hosts, told,
                     rows[i].told);
        }
        hosts_release(&hosts);
    }
}

static void tables_are_checked(void **state)
{
    (void)state;
    const moot_launcher *table = NULL;
    const char *options = NULL;
    char story[512] = "";
    assert_int_equal(launcher_table_load("ssh:config=x", &table, &options, story, 512),
                     MOOT_OK);
    assert_ptr_equal(table, &launcher_ssh);
    assert_string_equal(options, "config=x");
    assert_int_equal(launcher_table_load("slurm", &table, &options, story, 512),
                     MOOT_OK);
    assert_ptr_equal(table, &launcher_slurm);
    assert_int_equal(launcher_table_check(&launcher_ssh, "x", story, 512), MOOT_OK);
    static const char *const holes[] = {"open",    "hosts",   "host",      "launch",
                                        "connect", "poll",    "interrupt", "kill",
                                        "story",   "finalise"};
    for (size_t i = 0; i < sizeof(holes) / sizeof(*holes); i++) {
        moot_launcher wrong = launcher_ssh;
        memset((char *)&wrong + offsetof(moot_launcher, open) + i * sizeof(void *), 0,
               sizeof(void *));
        assert_int_equal(launcher_table_check(&wrong, "x.so", story, 512),
                         MOOT_ERR_CONFIG);
        char told[64];
        (void)snprintf(told, sizeof(told), "x.so: its table has no .%s,", holes[i]);
        assert_non_null(strstr(story, told));
    }
    moot_launcher wrong = launcher_ssh;
    wrong.version = 2;
    assert_int_equal(launcher_table_check(&wrong, "x", story, 512), MOOT_ERR_CONFIG);
    assert_non_null(strstr(story, "moot_launcher.h"));
    wrong = launcher_ssh;
    wrong.size = 8;
    assert_int_equal(launcher_table_check(&wrong, "x", story, 512), MOOT_ERR_CONFIG);
    assert_non_null(strstr(story, "sizeof(moot_launcher)"));
    wrong = launcher_ssh;
    wrong.flags = 1;
    assert_int_equal(launcher_table_check(&wrong, "x", story, 512), MOOT_ERR_CONFIG);
    static const struct {
        const char *word, *told;
    } rows[] = {{"", "here is none"},
                {"shh", "there are mpirun, local, ssh and slurm"},
                {"./no-such-file.so", "No such file"},
                {"/tmp", "is no file"},
                {"./Makefile", "cannot be loaded"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(
            launcher_table_load(rows[i].word, &table, &options, story, 512),
            MOOT_ERR_CONFIG);
        if (strstr(story, rows[i].told) == NULL) {
            fail_msg("'%s' is told as: %s", rows[i].word, story);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_read_as_written),
        cmocka_unit_test(mistakes_are_refused_with_their_place),
        cmocka_unit_test(ranks_are_placed_in_blocks),
        cmocka_unit_test(tables_are_checked),
    };
    return cmocka_run_group_tests_name("launchers", tests, NULL, NULL);
}
