/* shrink_test.c - what is left of a failing trial is what its failure needs. */
#include "consensus/sim/runs/shrink.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A failure that needs certain rules and sizes. */
struct need {
    const char *kinds; /* one letter for each: d(rop), k(ill), p(ause), u(dup),
                          j(oin) of two, l(eave) */
    uint32_t ranks, tasks;
    uint64_t lasts_ns; /* of the pause, at least */
    uint32_t asked;
};

static bool has_kind(const struct plan *plan, char kind, const struct need *need)
{
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        if ((kind == 'd' && rule->fault == PLAN_DROP) ||
            (kind == 'k' && rule->fault == PLAN_KILL) ||
            (kind == 'u' && rule->fault == PLAN_DUP) ||
            (kind == 'j' && rule->fault == PLAN_JOIN && rule->times >= 2) ||
            (kind == 'l' && rule->fault == PLAN_LEAVE) ||
            (kind == 'p' && rule->fault == PLAN_PAUSE &&
             rule->lasts_ns >= need->lasts_ns)) {
            return true;
        }
    }
    return false;
}

static bool fails(void *context, const struct trial *trial)
{
    struct need *need = context;
    need->asked++;
    for (const char *kind = need->kinds; *kind != '\0'; kind++) {
        if (trial->plan == NULL || !has_kind(trial->plan, *kind, need)) {
            return false;
        }
    }
    return trial->ranks >= need->ranks && trial->tasks >= need->tasks;
}

static const char all[] = "drop:0.25,dup:0.5:x3,kill:r1@1234567ns,pause:r0@1ms+800ms,"
                          "drop:0.125/vote,delay:exp:5ms,gap:0.1:7ms+-2ms,"
                          "reorder:0.3:x4,pause:r3@5ms+1ms,join:x4@3456us,"
                          "leave:r2@7654321ns,join@1ms";

static const struct {
    struct need need;
    const char *left;
} rows[] = {
    {{.kinds = "", .ranks = 1, .tasks = 1}, "none"},
    {{.kinds = "k", .ranks = 2, .tasks = 7}, "kill:r1@1ms"},
    {{.kinds = "p", .ranks = 3, .tasks = 1, .lasts_ns = 150000000},
     "pause:r0@1ms+200ms"},
    {{.kinds = "du", .ranks = 5, .tasks = 40}, "drop:0.001,dup:0.001"},
    {{.kinds = "kp", .ranks = 4, .tasks = 2}, NULL},
    {{.kinds = "jl", .ranks = 4, .tasks = 2}, "join:x4@3ms,leave:r2@7ms"},
};

static void what_a_failure_needs_is_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct need need = rows[i].need;
        struct plan *plan = NULL;
        assert_int_equal(plan_parse(all, &plan, NULL), MOOT_OK);
        struct trial trial = {
            .ranks = 9, .tasks = 60, .faults = TRIAL_STORM, .plan = plan};
        struct shrink shrink = {.fails = fails, .context = &need, .tries_most = 1000};
        shrink_trial(&shrink, &trial, plan);
        assert_true(fails(&need, &trial));
        assert_ptr_equal(trial.plan, plan);
        assert_int_equal(plan->rule_count, strlen(need.kinds));
        assert_int_equal(trial.ranks, need.ranks);
        assert_int_equal(trial.tasks, need.tasks);
        assert_int_equal(shrink.tries + 1, need.asked);
        assert_in_range(shrink.tries, 1, 300);
        char word[256];
        plan_format(plan, word, sizeof(word));
        if (rows[i].left != NULL) {
            assert_string_equal(word, rows[i].left);
        }
        plan_free(plan);
    }
}

static void tries_are_bounded(void **state)
{
    (void)state;
    struct need need = {.kinds = "k"};
    struct plan *plan = NULL;
    assert_int_equal(plan_parse(all, &plan, NULL), MOOT_OK);
    struct trial trial = {.ranks = 9, .tasks = 60, .plan = plan};
    struct shrink shrink = {.fails = fails, .context = &need, .tries_most = 5};
    shrink_trial(&shrink, &trial, plan);
    assert_int_equal(shrink.tries, 5);
    assert_true(fails(&need, &trial));
    plan_free(plan);
}

static void a_trial_without_a_plan_has_sizes(void **state)
{
    (void)state;
    struct need need = {.kinds = "", .ranks = 6, .tasks = 13};
    struct plan plan = {.rule_count = 0};
    struct trial trial = {.ranks = 9, .tasks = 60, .faults = TRIAL_NONE};
    struct shrink shrink = {.fails = fails, .context = &need, .tries_most = 1000};
    shrink_trial(&shrink, &trial, &plan);
    assert_null(trial.plan);
    assert_int_equal(trial.ranks, 6);
    assert_int_equal(trial.tasks, 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_failure_needs_is_left),
        cmocka_unit_test(tries_are_bounded),
        cmocka_unit_test(a_trial_without_a_plan_has_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
