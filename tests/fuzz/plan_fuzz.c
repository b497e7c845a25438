/* plan_fuzz.c - no text harms who reads it as a fault plan, and what is read can be
 * said.
 *
 * A plan must come back from its canonical word as the same plan, and every writer must
 * stay in a buffer of exactly the size it asked for, and of half of it.  A mistake must
 * lie in the text and say something.  What is read is then let loose on a few messages,
 * points and clocks.
 */
#include "consensus/faultplan/faultplan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool true_or_found)
{
    if (!true_or_found) {
        abort();
    }
}

static struct plan_hits no_hits;

static size_t say(int what, const struct plan *plan, char *text, size_t size)
{
    return what == 0   ? plan_format(plan, text, size)
           : what == 1 ? plan_explain(plan, text, size)
                       : plan_hits_format(plan, &no_hits, text, size);
}

/* The whole text, after a try with half of the room. */
static char *written(int what, const struct plan *plan)
{
    size_t length = say(what, plan, NULL, 0), half = length / 2 + 1;
    char *text = malloc(length + 1), *cut = malloc(half);
    require(text != NULL && cut != NULL);
    require(say(what, plan, text, length + 1) == length && strlen(text) == length);
    require(say(what, plan, cut, half) == length && strlen(cut) == half - 1);
    require(memcmp(text, cut, half - 1) == 0);
    free(cut);
    return text;
}

static void check_error(const char *text, const struct plan_error *error)
{
    char out[64], *whole;
    require(error->column >= 1 && error->column <= strlen(text) + 1);
    require(error->length >= 1 &&
            error->column - 1 + error->length <= strlen(text) + 1);
    require(error->wrong[0] != '\0');
    require(memchr(error->wrong, '\0', sizeof(error->wrong)) != NULL);
    require(memchr(error->allowed, '\0', sizeof(error->allowed)) != NULL);
    size_t length = plan_error_format(text, error, out, sizeof(out));
    whole = malloc(length + 1);
    require(whole != NULL);
    require(plan_error_format(text, error, whole, length + 1) == length);
    require(strlen(whole) == length);
    free(whole);
}

static void let_loose(const struct plan *plan)
{
    static struct plan_rank state;
    memset(&state, 0, sizeof(state));
    plan_rules outside = plan->rule_count < 64 ? ~(PLAN_RULE(plan->rule_count) - 1) : 0;
    for (unsigned i = 1; i < 64; i++) {
        enum core_point point = (enum core_point)(i % CORE_POINT_END);
        uint64_t now_ns = UINT64_C(1) << i;
        struct plan_message message = {
            .types = i, .from = i % 3, .to = i % 5, .arriving = i % 7 == 0};
        require((plan_pass(plan, &state, i % 3, point, now_ns) & outside) == 0);
        require((plan_message(plan, &state, &message, now_ns) & outside) == 0);
        require((plan_state(plan, &state, i % 3, PLAN_SLOW, now_ns) & outside) == 0);
        uint64_t clock_ns = plan_clock_ns(plan, i % 3, now_ns);
        require(plan_clock_reaches_ns(plan, i % 3, clock_ns) <= now_ns);
    }
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        require(plan_spread_ns(&rule->spread, i) <=
                rule->spread.ns * (uint64_t)PLAN_PARETO_CAP);
        require(rule->chance_ppb == PLAN_CERTAIN_PPB ||
                !plan_chance(rule, UINT64_MAX) || rule->chance_ppb > 0);
    }
}

static void check(const char *text)
{
    struct plan *plan, *again;
    struct plan_error error;
    int code = plan_parse(text, &plan, &error);
    if (code != MOOT_OK) {
        require(code == MOOT_ERR_CONFIG);
        check_error(text, &error);
        return;
    }
    char *canonical = written(0, plan);
    require(plan_parse(canonical, &again, &error) == MOOT_OK);
    require(plan_equal(plan, again));
    char *twice = written(0, again);
    require(strcmp(canonical, twice) == 0);
    free(twice);
    free(canonical);
    plan_free(again);
    free(written(1, plan));
    if (plan->rule_count > 0) {
        free(written(2, plan));
    }
    if (plan_check_ranks(plan, 4, &error) != MOOT_OK) {
        check_error(text, &error);
    }
    let_loose(plan);
    plan_free(plan);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    check(text);
    free(text);
    return 0;
}
