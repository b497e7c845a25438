/* shrink.c - see shrink.h. */
#include "consensus/sim/runs/shrink.h"
#include <string.h>

/* The smallest yet, and one that is tried. */
struct bench {
    struct shrink *shrink;
    struct trial *trial;
    struct plan *plan;
    struct trial draft;
    struct plan draft_plan;
};

static void begin(struct bench *bench)
{
    bench->draft = *bench->trial;
    bench->draft_plan = *bench->plan;
    if (bench->trial->plan != NULL) {
        bench->draft.plan = &bench->draft_plan;
    }
}

/* Takes the draft over if it still fails; true if it does. */
static bool attempt(struct bench *bench)
{
    if (bench->shrink->tries >= bench->shrink->tries_most) {
        return false;
    }
    bench->shrink->tries++;
    if (!bench->shrink->fails(bench->shrink->context, &bench->draft)) {
        return false;
    }
    *bench->trial = bench->draft;
    *bench->plan = bench->draft_plan;
    if (bench->draft.plan != NULL) {
        bench->trial->plan = bench->plan;
    }
    return true;
}

/* --- Rules ------------------------------------------------------------------------ */

static void leave_out(struct plan *plan, uint32_t first, uint32_t count)
{
    uint32_t behind = plan->rule_count - first - count;
    memmove(&plan->rules[first], &plan->rules[first + count],
            behind * sizeof(plan->rules[0]));
    plan->rule_count -= count;
}

static bool shrink_rules(struct bench *bench)
{
    bool smaller = false;
    for (uint32_t size = bench->plan->rule_count; size > 0; size /= 2) {
        for (uint32_t first = 0; first < bench->plan->rule_count;) {
            uint32_t left = bench->plan->rule_count - first;
            begin(bench);
            leave_out(&bench->draft_plan, first, size < left ? size : left);
            if (attempt(bench)) {
                smaller = true;
            } else {
                first += size;
            }
        }
    }
    return smaller;
}

/* --- Inside a rule ---------------------------------------------------------------- */

/* Each makes the rule plainer; false if it has nothing to do. */

static bool halve_time(uint64_t *ns)
{
    if (*ns == PLAN_FOREVER || *ns < 2) {
        return false;
    }
    *ns /= 2;
    return true;
}

/* To the largest round number below: 1234567 becomes 1000000. */
static bool round_time(uint64_t *ns)
{
    uint64_t unit = 1;
    if (*ns == PLAN_FOREVER || *ns < 10) {
        return false;
    }
    while (*ns / unit >= 10) {
        unit *= 10;
    }
    uint64_t rounded = *ns / unit * unit;
    bool changed = rounded != *ns;
    *ns = rounded;
    return changed;
}

static bool shorten(struct plan_rule *rule)
{
    return rule->lasts_ns != 0 && halve_time(&rule->lasts_ns);
}

static bool round_lasts(struct plan_rule *rule) { return round_time(&rule->lasts_ns); }

static bool round_when(struct plan_rule *rule)
{
    return rule->when == PLAN_AT_TIME && round_time(&rule->at_ns);
}

static bool halve_spread(struct plan_rule *rule)
{
    if (rule->spread.type == PLAN_SPREAD_NONE) {
        return false;
    }
    rule->spread.spread_ns /= 2;
    return halve_time(&rule->spread.ns);
}

static bool round_spread(struct plan_rule *rule)
{
    bool plain =
        rule->spread.type == PLAN_SPREAD_NONE || rule->spread.type == PLAN_SPREAD_FIXED;
    if (plain) {
        return rule->spread.type == PLAN_SPREAD_FIXED && round_time(&rule->spread.ns);
    }
    rule->spread =
        (struct plan_spread){.type = PLAN_SPREAD_FIXED, .ns = rule->spread.ns};
    return true;
}

static bool halve_chance(struct plan_rule *rule)
{
    if (rule->chance_ppb == PLAN_CERTAIN_PPB || rule->chance_ppb < 2000000) {
        return false;
    }
    rule->chance_ppb /= 2;
    return true;
}

static bool round_chance(struct plan_rule *rule)
{
    uint64_t chance = rule->chance_ppb;
    if (rule->chance_ppb == PLAN_CERTAIN_PPB || !round_time(&chance)) {
        return false;
    }
    rule->chance_ppb = (uint32_t)chance;
    return true;
}

static bool fewer_times(struct plan_rule *rule)
{
    uint32_t least = plan_times_default(rule->fault);
    if (least == 0 || rule->times <= least) {
        return false;
    }
    rule->times = least;
    return true;
}

static bool fewer_occasions(struct plan_rule *rule)
{
    if (rule->nth_first == 0 || rule->nth_last == rule->nth_first) {
        return false;
    }
    rule->nth_last = rule->nth_first;
    return true;
}

static bool shrink_rule_contents(struct bench *bench)
{
    static bool (*const steps[])(struct plan_rule *) = {
        shorten,      halve_spread, halve_chance, fewer_times, fewer_occasions,
        round_spread, round_chance, round_lasts,  round_when};
    bool smaller = false;
    for (uint32_t rule = 0; rule < bench->plan->rule_count; rule++) {
        for (size_t step = 0; step < sizeof(steps) / sizeof(*steps); step++) {
            for (;;) {
                begin(bench);
                if (!steps[step](&bench->draft_plan.rules[rule]) || !attempt(bench)) {
                    break;
                }
                smaller = true;
            }
        }
    }
    return smaller;
}

/* --- What is struck -------------------------------------------------------------- */

/* Brings the number down: halfway to the least, then less far, then by one. */
static bool shrink_number(struct bench *bench, uint32_t *of_best, uint32_t *of_draft,
                          uint32_t least)
{
    bool smaller = false;
    for (uint32_t step = *of_best > least ? (*of_best - least + 1) / 2 : 0; step > 0;) {
        begin(bench);
        if (*of_best >= least + step) {
            *of_draft = *of_best - step;
            if (attempt(bench)) {
                smaller = true;
                continue;
            }
        }
        step /= 2;
    }
    return smaller;
}

/* With hosts ranks go from the end; then hosts that are empty, or have fewer each. */
static bool shrink_hosts(struct bench *bench)
{
    struct layout *best = &bench->trial->layout;
    bool smaller = false;
    for (int step = 0; step < 3 && best->hosts > 0; step++) {
        do {
            begin(bench);
            struct layout *draft = &bench->draft.layout;
            if ((step == 0 ? draft->hosts : draft->host_ranks) < 2 && step < 2) {
                break;
            }
            draft->hosts -= step == 0;
            draft->host_ranks -= step == 1;
            if (step == 2 && draft->route[0] == '\0') {
                break;
            }
            if (step == 2) {
                draft->route[0] = '\0';
            } else {
                bench->draft.ranks = draft->hosts * draft->host_ranks;
            }
        } while (attempt(bench) && (smaller = true));
    }
    return smaller;
}

static bool shrink_sizes(struct bench *bench)
{
    struct trial *best = bench->trial, *draft = &bench->draft;
    bool smaller = shrink_hosts(bench);
    smaller |= shrink_number(bench, &best->ranks, &draft->ranks, 1);
    if (best->workload.kind != WORKLOAD_SCRIPT) {
        smaller |= shrink_number(bench, &best->tasks, &draft->tasks, 1);
    }
    return smaller;
}

void shrink_trial(struct shrink *shrink, struct trial *trial, struct plan *plan)
{
    struct bench bench = {.shrink = shrink, .trial = trial, .plan = plan};
    bool smaller = true;
    while (smaller && shrink->tries < shrink->tries_most) {
        smaller = trial->plan != NULL && shrink_rules(&bench);
        smaller |= shrink_sizes(&bench);
        smaller |= trial->plan != NULL && shrink_rule_contents(&bench);
    }
}
