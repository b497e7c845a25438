/* fleet_files_test.c - marks that ranks of several hosts leave by the numbers of their
 * processes (node/launch/fleet_files.c), which two hosts may have alike.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "node/launch/fleet_files.c"

static char folder[] = "/tmp/moot-fleet-files-XXXXXX";

static bool is_there(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void take(struct fleet_host *host, const char *name)
{
    const struct agent_header header = {AGENT_FILE, AGENT_ENDS, 1,
                                        (uint32_t)strlen(name) + 1};
    fleet_file_take(host, &header, (const unsigned char *)name);
}

static void lose(struct fleet_host *host, const char *name)
{
    const struct agent_header header = {AGENT_GONE, AGENT_ENDS, 0,
                                        (uint32_t)strlen(name) + 1};
    fleet_file_gone(host, &header, (const unsigned char *)name);
}

static void marks_of_two_hosts_are_two(void **unused)
{
    static const char *const marks[] = {ENDING_OPENS "-77", ENDING_FINALIZES "-77",
                                        ENDING_STALLED "-77"};
    const struct fleet_job job = {.folders = {folder, NULL, NULL}};
    struct fleet fleet = {.job = &job};
    struct fleet_host hosts[] = {{.fleet = &fleet, .index = 0},
                                 {.fleet = &fleet, .index = 1}};
    (void)unused;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        char name[64];
        take(&hosts[0], marks[i]);
        take(&hosts[1], marks[i]);
        lose(&hosts[0], marks[i]);
        snprintf(name, sizeof(name), "%s-of-1", marks[i]);
        assert_true(is_there(name));
        snprintf(name, sizeof(name), "%s-of-0", marks[i]);
        assert_false(is_there(name));
        lose(&hosts[1], marks[i]);
    }
    take(&hosts[1], "end-3"); /* of a rank, which there is once */
    assert_true(is_there("end-3"));
    lose(&hosts[1], "end-3");
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(marks_of_two_hosts_are_two)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
