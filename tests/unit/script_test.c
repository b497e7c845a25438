/* script_test.c - scripts say what script.h says, and mistakes are shown where they
 * are.
 */
#include "consensus/sim/programs/script.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct program *make(const char *text, uint32_t ranks)
{
    struct script_error error = {0};
    struct script *script = script_parse(text, strlen(text), &error);
    struct program *program =
        script != NULL ? script_program(script, 1, ranks, &error) : NULL;
    if (program == NULL) {
        print_error("%u:%u: %s\n", error.line, error.column, error.wrong);
    }
    assert_non_null(program);
    script_free(script);
    return program;
}

/* What program_print() says behind its first line. */
static void assert_program(const char *text, uint32_t ranks, const char *wanted)
{
    struct program *program = make(text, ranks);
    char *got = NULL;
    size_t size;
    FILE *to = open_memstream(&got, &size);
    assert_non_null(to);
    program_print(program, to);
    fclose(to);
    assert_string_equal(strchr(got, '\n') + 1, wanted);
    free(got);
    program_free(program);
}

static void actions_become_steps(void **state)
{
    (void)state;
    assert_program("task a\n"
                   "task b <- a work 1ms result 1kB\n"
                   "on all\n"
                   "  spawn a b   # both\n"
                   "on 1\n"
                   "  compute 5us\n"
                   "  wait a b\n"
                   "  any a b\n"
                   "  fetch a b\n"
                   "  poll a for 3us\n"
                   "on 0\n"
                   "\tbarrier\n"
                   "on 1\r\n"
                   "\tbarrier\r\n"
                   "on all\n"
                   "  meet\n"
                   "  meet list # again\n"
                   "on 1\n"
                   "  meet sum\n"
                   "  meet list\n",
                   2,
                   "a  held by 0-1 8 bytes\n"
                   "b <- a  held by 0-1 1000 bytes\n"
                   "rank 0 lane 0: +a +b [] @0 @1\n"
                   "rank 1 lane 0: +a +b .5 !a&b !(a|b) ?a ?b ~a [] @0 @1 @2 @1\n");
}

static void arrays_are_counted(void **state)
{
    (void)state;
    assert_program("task grid\n"
                   "task tile[3] <- grid\n"
                   "task fix[3] <- tile[=] tile[=+1] fix[=-1]\n"
                   "task sum <- fix tile[0-1]\n"
                   "on all\n"
                   "  spawn grid tile[1-2] tile[0]\n"
                   "  each 0-2\n"
                   "    spawn fix[=]\n"
                   "    on 1\n"
                   "    fetch fix[=-1]\n"
                   "    on all\n"
                   "  end\n"
                   "  spawn sum\n",
                   2,
                   "grid  held by 0-1 8 bytes\n"
                   "tile[0] <- grid  held by 0-1 8 bytes\n"
                   "tile[1] <- grid  held by 0-1 8 bytes\n"
                   "tile[2] <- grid  held by 0-1 8 bytes\n"
                   "fix[0] <- tile[0] tile[1]  held by 0-1 8 bytes\n"
                   "fix[1] <- tile[1] tile[2] fix[0]  held by 0-1 8 bytes\n"
                   "fix[2] <- tile[2] fix[1]  held by 0-1 8 bytes\n"
                   "sum <- fix[0] fix[1] fix[2] tile[0] tile[1]  held by 0-1 8 bytes\n"
                   "rank 0 lane 0: +grid +tile[1] +tile[2] +tile[0] +fix[0] +fix[1] "
                   "+fix[2] +sum\n"
                   "rank 1 lane 0: +grid +tile[1] +tile[2] +tile[0] +fix[0] +fix[1] "
                   "?fix[0] +fix[2] ?fix[1] +sum\n");
}

static void children_and_properties(void **state)
{
    (void)state;
    assert_program("task root hint\n"
                   "task part[2] in root once\n"
                   "task leaf[2] in part[=] loose portable\n"
                   "task last in root <- part candidates 0+2 fails\n"
                   "on 0+2-3\n"
                   "  spawn root\n"
                   "on 1\n"
                   "  decline root\n",
                   4,
                   "root spawns part[0] part[1] last  held by 0,2-3 declined by 1 hint "
                   "8 bytes\n"
                   "  part[0] spawns leaf[0] once awaited 8 bytes\n"
                   "  part[1] spawns leaf[1] once awaited 8 bytes\n"
                   "    leaf[0] portable 8 bytes\n"
                   "    leaf[1] portable 8 bytes\n"
                   "  last <- part[0] part[1] candidates 0,2 awaited fails 8 bytes\n"
                   "rank 0 lane 0: +root\n"
                   "rank 1 lane 0: -root\n"
                   "rank 2 lane 0: +root\n"
                   "rank 3 lane 0: +root\n");
}

static void a_task_array_has_elements(void **state)
{
    (void)state;
    assert_program(
        "task a\n"
        "task grid[2] elements 1000 after a fails work 3us\n"
        "task last after grid\n"
        "on all\n"
        "  spawn a grid last\n"
        "  wait grid\n",
        2,
        "a  held by 0-1 8 bytes\n"
        "grid[0] after a  held by 0-1 array of 1000 spread 0,0 fails 8 bytes\n"
        "grid[1] after a  held by 0-1 array of 1000 spread 0,0 fails 8 bytes\n"
        "last after grid[0] grid[1]  held by 0-1 8 bytes\n"
        "rank 0 lane 0: +a +grid[0] +grid[1] +last !grid[0]&grid[1]\n"
        "rank 1 lane 0: +a +grid[0] +grid[1] +last !grid[0]&grid[1]\n");
}

static void chances_and_orders_differ_by_rank(void **state)
{
    (void)state;
    struct program *program = make("task t[200]\non all\nspawn t chance 50% shuffled\n"
                                   "on all lane 1\ncompute exp:1ms\n",
                                   3);
    uint32_t held = 0;
    for (uint32_t i = 0; i < 200; i++) {
        held += rankset_count(&program->tasks[i].holders);
    }
    assert_in_range(held, 200, 400);
    assert_int_equal(program->lane_count, 2);
    const struct program_script *first = program_script(program, 0, 0);
    const struct program_script *second = program_script(program, 1, 0);
    uint32_t same = 0;
    for (uint32_t i = 0; i < first->count && i < second->count; i++) {
        same += first->steps[i].tasks.items[0] == second->steps[i].tasks.items[0];
    }
    assert_in_range(same, 0, 20);
    program_free(program);
}

/* --- Mistakes --------------------------------------------------------------------- */

static const struct {
    const char *text;
    uint32_t line, column, length;
    const char *wrong;
} mistakes[] = {
    {"tsk a", 1, 1, 3, "unknown word \"tsk\"; did you mean \"task\"?"},
    {"task", 1, 5, 1, "a task's name is missing here"},
    {"task 7up", 1, 6, 3, "this is no name"},
    {"task a\ntask a", 2, 6, 1, "\"a\" is declared on line 1"},
    {"task spawn", 1, 6, 5, "\"spawn\" is a word of the language"},
    {"task a[0]", 1, 6, 4, "a script has 1 to 1000000 tasks"},
    {"task a[9999999]", 1, 6, 10, "a script has 1 to 1000000 tasks"},
    {"task a[3", 1, 9, 1, "\"]\" is missing here"},
    {"task a two", 1, 8, 3, "\"two\" is no property of a task"},
    {"task a work 5", 1, 13, 1, "a time needs a unit"},
    {"task a work 5ms3", 1, 14, 3, "unknown unit of time \"ms3\""},
    {"task a work 3601s", 1, 13, 5, "a kernel works for at most 1h"},
    {"task a work 2000h", 1, 13, 5, "a kernel works for at most 1h"},
    {"task a result 3kg", 1, 15, 3, "this is no size of a result"},
    {"task a <-", 1, 10, 1, "a task's name is missing here"},
    {"task a <- b", 1, 11, 1, "no task is declared above"},
    {"task a\ntask b after c", 2, 14, 1, "unknown task \"c\""},
    {"task one\ntask tile after tiel", 2, 17, 4, "unknown task \"tiel\""},
    {"task a fails work 1us fails", 1, 23, 5,
     "\"fails\" is said twice of a task: say it once"},
    {"task a work 1us work 1us", 1, 17, 4,
     "\"work\" is said twice of a task: say it once"},
    {"task a elements 5 elements 6", 1, 19, 8,
     "\"elements\" is said twice of a task: say it once"},
    {"task tile\ntask a <- tiel", 2, 11, 4,
     "unknown task \"tiel\"; did you mean \"tile\"?"},
    {"task b\ntask a <- b[1]", 2, 11, 4, "\"b\" is one task, and has no numbers"},
    {"task b[4]\ntask a <- b[4]", 2, 11, 4, "\"b\" has 4 tasks, 0 to 3"},
    {"task b[4]\ntask a <- b[=]", 2, 11, 4,
     "[=] stands where an array is declared, or below each"},
    {"task b[4]\ntask a in b", 2, 11, 1, "a task has one parent"},
    {"task b fails\ntask a in b", 2, 11, 1, "a kernel that fails spawns nothing"},
    {"task a candidates 70", 1, 19, 2, "candidates are among the first 64 ranks"},
    {"task a elements", 1, 16, 1, "a whole number is missing here"},
    {"task a elements 0", 1, 17, 1, "an array has 1 to 10000000 elements"},
    {"task a elements 10000001", 1, 17, 8, "an array has 1 to 10000000 elements"},
    {"task a elements 5 once", 1, 19, 4,
     "a task array has no property \"once\" here: leave it out"},
    {"task a result 8kB elements 5 loose", 1, 8, 6,
     "a task array has no property \"result\" here: leave it out"},
    {"task a elements 5 fails loose work 1us", 1, 25, 5,
     "a task array has no property \"loose\" here: leave it out"},
    {"task b\ntask a elements 5 <- b", 2, 19, 2,
     "a task array has no property \"<-\" here: leave it out"},
    {"task a elements 5\ntask b in a", 2, 11, 1,
     "elements of a task array spawn nothing"},
    {"task a elements 5\ntask b <- a", 2, 11, 1,
     "\"a\" is a task array: \"b\" comes after it"},
    {"task a\nspawn a", 2, 1, 5, "say on which ranks first: on all"},
    {"on", 1, 3, 1, "a set of ranks is missing here"},
    {"on 0-", 1, 4, 2, "\"0-\" is no set of ranks"},
    {"on 0 line 1", 1, 6, 4, "only a lane may follow the ranks"},
    {"on 0 lane 9", 1, 11, 1, "lanes are 0 to 3"},
    {"task a\non all\nspawn a often", 3, 9, 5, "unknown task \"often\""},
    {"task a\non all\nspawn a chance 2", 3, 16, 1, "a probability is between 0 and 1"},
    {"task a\non all\nfetch a shuffled", 3, 9, 8, "the line should end here"},
    {"task a\non all\npoll a", 3, 7, 1, "\"for\" and a time is missing here"},
    {"task a\ntask b in a\non all\nfetch b", 4, 7, 1,
     "\"b\" is spawned by its parent, and for it"},
    {"on all\ncompute", 2, 8, 1, "a distribution is missing here"},
    {"on all\nend", 2, 1, 3, "there is no each that this could end"},
    {"on all\neach 0-3\neach 0-1", 3, 1, 4, "there is an open each, from line 2"},
    {"on all\neach 0-3\nbarrier", 2, 1, 4, "this each has no end"},
    {"on all\nmeet 3", 2, 6, 1, "this is no name"},
    {"on all\nmeet list now", 2, 11, 3, "the line should end here"},
    {"on all lane 1\nmeet", 2, 1, 4, "lane 0 alone meets"},
    {"task meet", 1, 6, 4, "\"meet\" is a word of the language"},
    {"on all\neach 3\nend", 2, 7, 1, "a hyphen and the last number is missing here"},
    {"on all\nbarrier\ntask a", 3, 6, 1, "tasks are declared before the first action"},
    /* What needs the number of ranks, 3. */
    {"on 2-3\nbarrier", 1, 4, 3, "there is no rank 3: the run has 3, 0 to 2"},
    {"task a\non all\nspawn a\nspawn a", 4, 1, 5, "rank 0 spawns twice: \"a\""},
    {"task a\non all\nspawn a\ndecline a", 4, 1, 7,
     "rank 0 declines what it has spawned: \"a\""},
    {"task a\non all\ndecline a\nspawn a", 4, 1, 5, "rank 0 has declined \"a\""},
    {"task a\non 0\nspawn a\non 1 lane 1\nspawn a", 5, 1, 5,
     "rank 1 spawns on another lane: \"a\""},
    {"on 0\nbarrier", 0, 0, 0, "rank 1 comes to 0 barriers, and rank 0 to 1"},
    {"task b\ntask a <- b b", 2, 13, 1, "\"b\" is named twice"},
    {"task a[2] <- a[=+1]", 1, 14, 6, "\"a\" is not declared before \"a[0]\""},
    {"task a elements 5 after a", 1, 25, 1,
     "\"a\" comes before \"a\", itself: name tasks that are declared above"},
    {"task a in a", 1, 11, 1, "a task is no child of its own"},
    {"on all\nspawn a", 2, 7, 1, "no task is declared above"},
    {"task x\ntask c in x\ntask d <- c", 3, 11, 1, "\"c\" is out of reach of \"d\""},
};

static void mistakes_are_shown_where_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
        struct script_error error = {0};
        const char *text = mistakes[i].text;
        struct script *script = script_parse(text, strlen(text), &error);
        struct program *program =
            script != NULL ? script_program(script, 1, 3, &error) : NULL;
        if (program != NULL || strcmp(error.wrong, mistakes[i].wrong) != 0 ||
            error.line != mistakes[i].line || error.column != mistakes[i].column ||
            error.length != mistakes[i].length) {
            fail_msg("%s\n... gives %u:%u+%u: %s", text, error.line, error.column,
                     error.length, error.wrong);
        }
        script_free(script);
    }
}

static void a_mistake_has_a_caret(void **state)
{
    (void)state;
    static const char text[] = "task tile\non all\n  spawn tiel\n";
    char told[400];
    struct script_error error;
    assert_null(script_parse(text, strlen(text), &error));
    size_t length = script_error_format("wave.moot", text, strlen(text), &error, told,
                                        sizeof(told));
    assert_int_equal(length, strlen(told));
    assert_string_equal(told, "wave.moot:3:9: unknown task \"tiel\"; did you mean "
                              "\"tile\"?\n"
                              "    spawn tiel\n"
                              "          ^~~~\n"
                              "  allowed: tile\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actions_become_steps),
        cmocka_unit_test(arrays_are_counted),
        cmocka_unit_test(children_and_properties),
        cmocka_unit_test(a_task_array_has_elements),
        cmocka_unit_test(chances_and_orders_differ_by_rank),
        cmocka_unit_test(mistakes_are_shown_where_they_are),
        cmocka_unit_test(a_mistake_has_a_caret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
