/* workload_test.c - workloads are what workload.h says, for any number of ranks. */
#include "consensus/sim/programs/workload.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct workload parse(const char *word)
{
    struct workload workload = {0};
    struct plan_error error;
    assert_true(workload_parse(word, &workload, &error));
    return workload;
}

static struct program *make(const char *word, uint64_t seed, uint32_t ranks,
                            uint32_t tasks)
{
    struct workload workload = parse(word);
    struct script_error error;
    struct program *program = workload_program(&workload, seed, ranks, tasks, &error);
    assert_non_null(program);
    return program;
}

static const char *const words[] = {"agree", "skip", "shuffle", "branch",  "tree",
                                    "chain", "once", "hint",    "skip:20%"};
enum { WORDS = sizeof(words) / sizeof(*words) };

static void words_are_read(void **state)
{
    (void)state;
    assert_int_equal(parse("random").kind, WORKLOAD_RANDOM);
    assert_int_equal(parse("skip").rate_ppm, 10000);
    assert_int_equal(parse("skip:0.25").rate_ppm, 250000);
    assert_int_equal(parse("branch:3%").rate_ppm, 30000);
    static const struct {
        const char *word, *wrong;
    } rows[] = {
        {"skpi", "unknown workload \"skpi\"; did you mean \"skip\"?"},
        {"agree:1%", "\"agree\" takes no rate"},
        {"skip:2", "a probability is between 0 and 1"},
        {"skip:1%x", "a workload ends behind its rate"},
        {"", "a workload is missing here"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct workload workload = {.kind = WORKLOAD_CHAIN};
        struct plan_error error;
        assert_false(workload_parse(rows[i].word, &workload, &error));
        assert_string_equal(error.wrong, rows[i].wrong);
        assert_int_equal(workload.kind, WORKLOAD_CHAIN);
    }
}

/* Who spawns a task has spawned its inputs, and somebody spawns every task. */
static void holders_hold_inputs(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {1, 2, 5, 64, 65, 200};
    for (int word = 0; word < WORDS; word++) {
        for (size_t r = 0; r < sizeof(ranks) / sizeof(*ranks); r++) {
            struct program *program = make(words[word], 7 + r, ranks[r], 100);
            assert_in_range(program->task_count, 100, 140);
            for (uint32_t i = 0; i < program->task_count; i++) {
                const struct program_task *task = &program->tasks[i];
                assert_true(rankset_empty(&task->holders) ==
                            (task->parent != PROGRAM_NONE));
                for (uint32_t k = 0; k < task->inputs.count; k++) {
                    for (uint32_t rank = rankset_next(&task->holders, 0);
                         rank != UINT32_MAX;
                         rank = rankset_next(&task->holders, rank + 1)) {
                        assert_true(rankset_has(
                            &program->tasks[task->inputs.items[k]].holders, rank));
                    }
                }
                if (program->agree && task->parent == PROGRAM_NONE) {
                    assert_int_equal(rankset_count(&task->holders), ranks[r]);
                }
                assert_true(program_runs(program, i));
            }
            program_free(program);
        }
    }
}

static uint32_t missing_spawns(const struct program *program)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < program->task_count; i++) {
        missing += program->rank_count - rankset_count(&program->tasks[i].holders);
    }
    return missing;
}

static void rates_are_kept(void **state)
{
    (void)state;
    struct program *program = make("skip:0.1", 3, 100, 1000);
    assert_in_range(missing_spawns(program), 8300, 9200); /* of 87500 leaves */
    program_free(program);
    program = make("branch:0.25", 3, 100, 4000);
    uint32_t single = 0;
    for (uint32_t i = 0; i < program->task_count; i++) {
        single += rankset_count(&program->tasks[i].holders) == 1;
    }
    assert_in_range(single, 650, 1100); /* of 3500 leaves */
    program_free(program);
}

static bool same_spawns(const struct program *program, uint32_t a, uint32_t b)
{
    const struct program_script *first = program_script(program, a, 0);
    const struct program_script *second = program_script(program, b, 0);
    for (uint32_t i = 0; i < first->count && i < second->count; i++) {
        if (first->steps[i].tasks.items[0] != second->steps[i].tasks.items[0]) {
            return false;
        }
    }
    return true;
}

static void orders_differ_where_they_should(void **state)
{
    (void)state;
    for (int word = 0; word < WORDS; word++) {
        struct program *program = make(words[word], 5, 3, 200);
        bool alike = strcmp(words[word], "agree") == 0 ||
                     strcmp(words[word], "chain") == 0 ||
                     strcmp(words[word], "tree") == 0;
        assert_int_equal(same_spawns(program, 0, 2), alike);
        program_free(program);
    }
}

static void a_seed_is_one_program(void **state)
{
    (void)state;
    for (int word = 0; word < WORDS; word++) {
        char *texts[3];
        size_t size;
        for (uint64_t i = 0; i < 3; i++) {
            struct program *program = make(words[word], 5 + i / 2, 4, 0);
            FILE *to = open_memstream(&texts[i], &size);
            assert_non_null(to);
            program_print(program, to);
            fclose(to);
            program_free(program);
        }
        assert_string_equal(texts[0], texts[1]);
        assert_string_not_equal(texts[0], texts[2]);
        for (int i = 0; i < 3; i++) {
            free(texts[i]);
        }
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct workload workload = {.kind = WORKLOAD_RANDOM};
    struct script_error error;
    assert_null(workload_program(&workload, 1, 65, 10, &error));
    assert_string_equal(error.wrong, "random programs have at most 64 ranks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read),
        cmocka_unit_test(holders_hold_inputs),
        cmocka_unit_test(rates_are_kept),
        cmocka_unit_test(orders_differ_where_they_should),
        cmocka_unit_test(a_seed_is_one_program),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
