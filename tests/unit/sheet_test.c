/* sheet_test.c - what the figures of ranks that came and went make of a whole job
 * (node/tools/sheet.h).
 */
#include "node/tools/sheet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4, SECOND = 1000000000 };

/* When a rank opened and closed, in seconds of the job's clock; 0: it left no sheet. */
struct span {
    uint64_t opened, closed;
};

/* Lines that each sheet has besides; of the rank's own, and of all. */
static const char *own_lines[RANKS];

static void leave_sheet(const char *folder, unsigned rank, const struct span *span)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/rank-%u", folder, rank);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "rank %u\nsize %d\nprocess %u\nwall_ns %llu\nended_ns %llu\n"
            "tasks_run %u\n%s",
            rank, RANKS, rank,
            (unsigned long long)(span->closed - span->opened) * SECOND,
            (unsigned long long)span->closed * SECOND, rank + 1,
            own_lines[rank] != NULL ? own_lines[rank] : "");
    assert_int_equal(fclose(file), 0);
}

/* The summary of such ranks, of whom the first `founders` began; the caller frees it.
 */
static char *summary_of(const struct span spans[RANKS], size_t founders, size_t joined)
{
    char folder[] = "/tmp/moot-sheets-XXXXXX", path[256], *text = NULL;
    struct sheets sheets;
    size_t size = 0;
    assert_non_null(mkdtemp(folder));
    for (unsigned rank = 0; rank < RANKS; rank++) {
        if (spans[rank].closed > 0) {
            leave_sheet(folder, rank, &spans[rank]);
        }
    }
    assert_true(sheets_read(folder, &sheets));
    assert_true(sheets_reach(&sheets, founders, joined));
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    sheets_print(&sheets, to);
    assert_int_equal(fclose(to), 0);
    sheets_release(&sheets);
    for (unsigned rank = 0; rank < RANKS; rank++) {
        snprintf(path, sizeof(path), "%s/rank-%u", folder, rank);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
    return text;
}

static void assert_says(const struct span spans[RANKS], size_t founders, size_t joined,
                        const char *line)
{
    char *text = summary_of(spans, founders, joined);
    if (strstr(text, line) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", line, text);
    }
    free(text);
}

static void the_time_is_that_of_the_rank_that_was_longest(void **unused)
{
    const struct span spans[RANKS] = {{1, 9}, {1, 4}, {2, 9}, {1, 8}};
    (void)unused;
    assert_says(spans, 4, 0, "moot: 4 ranks, 8.000 s\n");
}

static void it_goes_on_after_those_that_left_early(void **unused)
{
    const struct span spans[RANKS] = {{1, 9}, {1, 9}, {8, 12}, {11, 14}};
    (void)unused;
    assert_says(spans, 2, 2, "moot: 4 ranks (2 + 2 joined), 13.000 s\n");
}

/* These two hosts' clocks have nothing to do with each other. */
static void clocks_that_differ_make_no_time(void **unused)
{
    const struct span spans[RANKS] = {{1, 9}, {1, 9}, {5008, 5012}, {5011, 5014}};
    (void)unused;
    assert_says(spans, 2, 2, "moot: 4 ranks (2 + 2 joined), 8.000 s\n");
}

static void ranks_that_did_not_join_are_not_counted(void **unused)
{
    const struct span spans[RANKS] = {{1, 9}, {1, 9}, {0, 0}, {0, 0}};
    const struct span second[RANKS] = {{1, 9}, {1, 9}, {0, 0}, {2, 9}};
    (void)unused;
    assert_says(spans, 2, 0,
                "moot: 2 ranks, 8.000 s\n  tasks run      3, by rank: 1 2\n");
    assert_says(second, 2, 1,
                "moot: 3 ranks (2 + 1 joined), 8.000 s\n"
                "  tasks run      7, by rank: 1 2 ? 4\n");
    assert_says(spans, 2, 1,
                "moot: 3 ranks (2 + 1 joined), 8.000 s\n"
                "  tasks run      3, by rank: 1 2 ?\n");
}

/* The summary of two ranks with these lines of their own has, and has not. */
static void assert_tells(const char *first, const char *second, const char *has,
                         const char *has_not)
{
    const struct span spans[RANKS] = {{1, 9}, {1, 9}, {0, 0}, {0, 0}};
    own_lines[0] = first;
    own_lines[1] = second;
    char *text = summary_of(spans, 2, 0);
    own_lines[0] = own_lines[1] = NULL;
    if (strstr(text, has) == NULL ||
        (has_not != NULL && strstr(text, has_not) != NULL)) {
        fail_msg("not \"%s\", or \"%s\", is in:\n%s", has, has_not, text);
    }
    free(text);
}

static void results_that_are_too_short_are_counted(void **unused)
{
    (void)unused;
    assert_tells("results_stored 2\nbytes_stored 10\n", "results_brief 5\n",
                 "  checkpoint     0 found, 2 stored, 10 B; 5 too short to be stored\n",
                 NULL);
    assert_tells("results_brief 3\n", "",
                 "  checkpoint     0 found, 0 stored, 0 B; 3 too short to be stored\n",
                 NULL);
    assert_tells("results_stored 2\n", "", "  checkpoint     0 found, 2 stored, 0 B\n",
                 "too short");
}

static void snapshots_that_failed_are_told(void **unused)
{
    (void)unused;
    assert_tells("snapshots 2\nsnapshots_ns 8000000\n", "snapshots_failed 1\n",
                 "  snapshots      2 made (4.0 ms each), 1 time a rank could not write "
                 "its part\n",
                 NULL);
    assert_tells("snapshots_failed 1\n", "snapshots_failed 2\n",
                 "  snapshots      0 made, 3 times a rank could not write its part\n",
                 "each)");
    assert_tells("snapshots 1\n", "", "  snapshots      1 made", "could not write");
    assert_tells("tasks_spawned 1\n", "", "tasks run", "  snapshots");
}

/* Steps are told plus 1. */
static void states_are_told_in_the_order_of_steps(void **unused)
{
    (void)unused;
    assert_tells("agreed_step 21\n", "agreed_step 19\n",
                 "  states agree   at step 20, the latest", "differs");
    assert_tells("agreed_step 7\n", "differing_step 8\ndiffering_rank 2\n",
                 "  states agree   at step 6, the latest that all were seen to have "
                 "signed alike\n  first differs  rank 1, at step 7\n",
                 "agree again");
    assert_tells("agreed_step 21\n", "differing_step 8\ndiffering_rank 2\n",
                 "  first differs  rank 1, at step 7\n  agree again    at step 20, "
                 "behind that difference, the latest that all were seen",
                 "states agree");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_is_that_of_the_rank_that_was_longest),
        cmocka_unit_test(it_goes_on_after_those_that_left_early),
        cmocka_unit_test(clocks_that_differ_make_no_time),
        cmocka_unit_test(ranks_that_did_not_join_are_not_counted),
        cmocka_unit_test(results_that_are_too_short_are_counted),
        cmocka_unit_test(snapshots_that_failed_are_told),
        cmocka_unit_test(states_are_told_in_the_order_of_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
