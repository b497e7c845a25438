/* divergence_test.c - the text of strict mode's report: two columns within 100. */
#include "node/explain/divergence.h"

#include "hashing/rankset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HASH(byte)                                                                     \
    {                                                                                  \
        {                                                                              \
            (byte), 0xbc, 0xde, 0xf0                                                   \
        }                                                                              \
    }
#define LONG_PATH "/a/very/long/path/that/nobody/would/type/src/solver/multigrid.c:1234"
#define LONG_NAME "smooth_with_a_kernel_name_that_is_longer_than_its_column"
#define ARRAY(byte)                                                                    \
    {                                                                                  \
        {                                                                              \
            (byte), 0xbc, 0xde, 0xf0, [15] = MOOT_HASH_ARRAY                           \
        }                                                                              \
    }

static struct rankset set_of(uint32_t first, uint32_t count, uint32_t step)
{
    struct rankset set = {0};
    for (uint32_t i = 0; i < count; i++) {
        assert_true(rankset_add(&set, first + i * step));
    }
    return set;
}

static void check_text(const struct divergence *divergence, const char *expected)
{
    struct text text = {0};
    divergence_compose(&text, divergence);
    assert_string_equal(text_get(&text), expected);
    text_release(&text);
}

static void columns_show_the_lines_side_by_side(void **state)
{
    (void)state;
    struct rankset left = set_of(0, 1, 1), right = set_of(1, 3, 1);
    check_text(
        &(struct divergence){
            .position = 3,
            .witness = 2,
            .before_count = 2,
            .before = {{HASH(1), "main.c:10", "load", NULL},
                       {HASH(2), "main.c:12", "step", "first"}},
            .side_count = 2,
            .side = {{{HASH(3), "main.c:20", "step", "rows"}, &left},
                     {{HASH(4), "main.c:24", NULL, NULL}, &right}},
        },
        "moot: the ranks diverged (MOOT_DIVERGENCE=strict).\n"
        "The first difference is spawn number 3 of lane 0, marked '!'.\n"
        "Above it: what both sides spawned before, with the lines of rank 2.\n"
        "  rank 0                                          | ranks 1-3\n"
        "  main.c:10                                       | main.c:10\n"
        "    task 01bcdef0 of kernel 'load'                |   task 01bcdef0 of kernel "
        "'load'\n"
        "  main.c:12                                       | main.c:12\n"
        "    task 02bcdef0 of kernel 'step'                |   task 02bcdef0 of kernel "
        "'step'\n"
        "    'first'                                       |   'first'\n"
        "! main.c:20                                       | main.c:24\n"
        "!   task 03bcdef0 of kernel 'step'                |   task 04bcdef0\n"
        "!   'rows'                                        |\n");
    rankset_release(&left);
    rankset_release(&right);
}

/* Arrays that differ in their counts alone look alike otherwise. */
static void arrays_have_their_counts(void **state)
{
    (void)state;
    struct rankset left = set_of(0, 1, 1), right = set_of(1, 1, 1);
    struct text line = {0};
    const struct divergence divergence = {
        .position = 1,
        .witness = 0,
        .side_count = 2,
        .side = {{{ARRAY(3), "main.c:20", "one", "cnt", 20}, &left},
                 {{ARRAY(4), "main.c:20", "one", NULL, 1}, &right}}};
    check_text(
        &divergence,
        "moot: the ranks diverged (MOOT_DIVERGENCE=strict).\n"
        "The first difference is spawn number 1 of lane 0, marked '!'.\n"
        "  rank 0                                          | rank 1\n"
        "! main.c:20                                       | main.c:20\n"
        "!   array 03bcdef0 of kernel 'one'                |   array 04bcdef0 of "
        "kernel 'one'\n"
        "!   20 elements 'cnt'                             |   1 element\n");
    divergence_summarise(&line, &divergence);
    assert_non_null(strstr(text_get(&line),
                           "array 03bcdef0 of 20 elements of kernel 'one' 'cnt' "
                           "(main.c:20) on rank 0, array 04bcdef0 of 1 element of"));
    text_release(&line);
    rankset_release(&left);
    rankset_release(&right);
}

/* Wide characters of the program's count as one; what would break a line does not. */
static void long_names_are_cut_and_lines_stay_whole(void **state)
{
    (void)state;
    struct rankset left = set_of(0, 20, 2), right = set_of(1, 1, 1);
    check_text(
        &(struct divergence){
            .lane = 1,
            .position = 1,
            .side_count = 2,
            .side = {{{HASH(3), LONG_PATH, LONG_NAME, "\xc3\xa9t\xc3\xa9\n2"}, &left},
                     {{HASH(4), NULL, "step", "b"}, &right}},
        },
        "moot: the ranks diverged (MOOT_DIVERGENCE=strict).\n"
        "The first difference is spawn number 1 of lane 1, marked '!'.\n"
        "  ranks 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,  | rank 1\n"
        "  30,32,34,36,38                                  |\n"
        "! ..nobody/would/type/src/solver/multigrid.c:1234 | at an unknown place\n"
        "!   task 03bcdef0 of kernel 'smooth_with_a_kern.. |   task 04bcdef0 of kernel "
        "'step'\n"
        "!   '\xc3\xa9t\xc3\xa9?2'                                       |   'b'\n");
    rankset_release(&left);
    rankset_release(&right);
}

static void a_roll_that_ends_and_a_third_side_are_shown(void **state)
{
    (void)state;
    struct rankset sets[3] = {set_of(0, 2, 1), set_of(2, 1, 1), set_of(3, 1, 1)};
    check_text(
        &(struct divergence){
            .position = 7,
            .side_count = 3,
            .side = {{{HASH(3), "main.c:20", "step", NULL}, &sets[0]},
                     {{.site = NULL}, &sets[1]},
                     {{HASH(5), "main.c:22", "step", NULL}, &sets[2]}},
        },
        "moot: the ranks diverged (MOOT_DIVERGENCE=strict).\n"
        "The first difference is spawn number 7 of lane 0, marked '!'.\n"
        "  ranks 0-1                                       | rank 2\n"
        "! main.c:20                                       | nothing more\n"
        "!   task 03bcdef0 of kernel 'step'                |\n"
        "  rank 3\n"
        "! main.c:22\n"
        "!   task 05bcdef0 of kernel 'step'\n");
    for (int i = 0; i < 3; i++) {
        rankset_release(&sets[i]);
    }
}

/* However long the program's names are. */
static void no_line_is_wider_than_100(void **state)
{
    (void)state;
    char name[400];
    for (size_t length = 0; length < sizeof(name); length++) {
        memset(name, 'n', length);
        name[length] = '\0';
        struct divergence_spawn spawn = {HASH(9), name, name, name, 0};
        struct divergence divergence = {.position = 2,
                                        .before_count = 1,
                                        .before = {spawn},
                                        .side_count = 2,
                                        .side = {{spawn, NULL}, {spawn, NULL}}};
        struct text text = {0};
        divergence_compose(&text, &divergence);
        const char *line = text_get(&text);
        for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            assert_true(end - line <= 100);
        }
        assert_int_equal(*line, '\0');
        text_release(&text);
    }
}

static void one_line_names_each_side(void **state)
{
    (void)state;
    struct rankset left = set_of(0, 2, 3), right = set_of(1, 1, 1);
    struct divergence divergence = {
        .position = 3,
        .lane = 1,
        .side_count = 3,
        .side = {{{HASH(3), "main.c:20", "step", "rows\nof 3"}, &left},
                 {{HASH(4), NULL, NULL, NULL}, &right},
                 {{HASH(0), NULL, NULL, NULL}, NULL}},
    };
    memset(&divergence.side[2].spawn.hash, 0, sizeof(moot_hash));
    struct text text = {0};
    divergence_summarise(&text, &divergence);
    assert_string_equal(
        text_get(&text),
        "the ranks diverged (MOOT_DIVERGENCE=strict): spawn number 3 of lane 1 is task "
        "03bcdef0 of kernel 'step' 'rows?of 3' (main.c:20) on ranks 0,3, task 04bcdef0 "
        "(at an unknown place) on rank 1, nothing on ranks of unknown number");
    text_release(&text);
    rankset_release(&left);
    rankset_release(&right);
}

/* Of eight ranks, of which some did not say in time where they stand. */
static void one_rank_of_each_side_tells(void **state)
{
    (void)state;
    static const struct {
        uint32_t left_first, left_count, right_first, right_count, lowest;
        const char *tellers;
    } rows[] = {
        {0, 4, 4, 4, 0, "0 4"}, {1, 7, 0, 1, 0, "0 1"}, {3, 1, 5, 2, 0, "0 3 5"},
        {0, 1, 0, 0, 0, "0"},   {0, 0, 0, 0, 0, "0"},   {3, 2, 6, 1, 2, "2 3 6"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rankset left = set_of(rows[i].left_first, rows[i].left_count, 1);
        struct rankset right = set_of(rows[i].right_first, rows[i].right_count, 1);
        struct divergence divergence = {.side_count = 2,
                                        .side = {{.ranks = &left}, {.ranks = &right}}};
        char tellers[32] = "";
        for (uint32_t rank = 0; rank < 8; rank++) {
            if (divergence_is_told_by(&divergence, rank, rows[i].lowest)) {
                snprintf(tellers + strlen(tellers), sizeof(tellers) - strlen(tellers),
                         "%s%u", *tellers != '\0' ? " " : "", rank);
            }
        }
        assert_string_equal(tellers, rows[i].tellers);
        rankset_release(&left);
        rankset_release(&right);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_of_each_side_tells),
        cmocka_unit_test(one_line_names_each_side),
        cmocka_unit_test(columns_show_the_lines_side_by_side),
        cmocka_unit_test(arrays_have_their_counts),
        cmocka_unit_test(long_names_are_cut_and_lines_stay_whole),
        cmocka_unit_test(a_roll_that_ends_and_a_third_side_are_shown),
        cmocka_unit_test(no_line_is_wider_than_100),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
