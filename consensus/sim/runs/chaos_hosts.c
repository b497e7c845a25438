/* chaos_hosts.c - what befalls hosts and the links between them.
 *
 * A host dies with all its ranks, comes back after it was lost, or stands still; it is
 * cut off from one other or from all, one way or both, for less time than it takes to
 * be suspected, or for long enough to be voted out and to find that when the cut heals;
 * or a link loses or delays what passes.  Two of these often come together.
 */
#include "consensus/faultplan/plan_words.h"
#include "consensus/sim/runs/chaos_plan.h"

enum { HOST_RULES_MAX = 3, HOST_KINDS = 7 };

static void set_host(struct random *random, const struct storm_scale *scale,
                     struct plan_ranks *ranks)
{
    uint32_t host = (uint32_t)random_below(random, scale->hosts);
    ranks->of_hosts = true;
    (void)plan_ranks_add(ranks, host, host);
}

/* One on each side, or one and all others. */
static void set_sides(struct random *random, const struct storm_scale *scale,
                      struct plan_rule *rule)
{
    set_host(random, scale, &rule->ranks);
    const uint32_t host = rule->ranks.span[0].first;
    rule->link = PLAN_LINK_BOUNDARY;
    if (random_chance(random, 400)) {
        return;
    }
    rule->link = random_chance(random, 400) ? PLAN_LINK_TOWARDS : PLAN_LINK_BETWEEN;
    rule->others.of_hosts = true;
    const uint32_t other =
        (host + 1 + (uint32_t)random_below(random, scale->hosts - 1)) % scale->hosts;
    (void)plan_ranks_add(&rule->others, other, other);
}

/* All of it is over when faults stop. */
static void set_time(struct random *random, const struct storm_scale *scale,
                     uint64_t at_ns, struct plan_rule *rule)
{
    const uint64_t left_ns = scale->stop_ns > at_ns ? scale->stop_ns - at_ns : 1;
    const uint64_t most_ns = scale->suspect_ns * (random_chance(random, 400) ? 16 : 4);
    rule->when = PLAN_AT_TIME;
    rule->at_ns = at_ns;
    rule->lasts_ns = 1 + random_below(random, most_ns);
    rule->lasts_ns = rule->lasts_ns < left_ns ? rule->lasts_ns : left_ns;
}

static void draw_link_rule(struct random *random, const struct storm_scale *scale,
                           struct plan_rule *rule)
{
    set_sides(random, scale, rule);
    if (rule->link == PLAN_LINK_BOUNDARY) { /* messages have no such link */
        rule->link = PLAN_LINK_TOUCHES;
    }
    rule->times = plan_times_default(rule->fault);
    rule->chance_ppb = PLAN_CERTAIN_PPB / 100 * (uint32_t)random_between(random, 1, 90);
    if (rule->fault == PLAN_DELAY) {
        rule->spread = (struct plan_spread){
            .type = PLAN_SPREAD_EXP, .ns = 1 + random_below(random, scale->suspect_ns)};
    }
}

static void draw_rule(struct random *random, const struct storm_scale *scale,
                      uint64_t at_ns, struct plan_rule *rule)
{
    static const enum plan_fault faults[HOST_KINDS] = {
        PLAN_KILL,    PLAN_KILL,  PLAN_PART, PLAN_PART,
        PLAN_RESTART, PLAN_PAUSE, PLAN_DROP};
    *rule = (struct plan_rule){.fault = faults[random_below(random, HOST_KINDS)],
                               .chance_ppb = PLAN_CERTAIN_PPB};
    if (rule->fault == PLAN_DROP && random_chance(random, 500)) {
        rule->fault = PLAN_DELAY;
    }
    set_time(random, scale, at_ns, rule);
    if (rule->fault == PLAN_PART) {
        set_sides(random, scale, rule);
    } else if (plan_is_message(rule->fault)) {
        draw_link_rule(random, scale, rule);
    } else {
        set_host(random, scale, &rule->ranks);
    }
    if (rule->fault == PLAN_KILL) {
        rule->lasts_ns = PLAN_FOREVER;
    }
    if (plan_is_strike(rule->fault) && random_chance(random, 300)) {
        rule->when = PLAN_AT_POINT;
        rule->point = (enum core_point)random_below(random, CORE_POINT_HOSTS);
        rule->nth_first = rule->nth_last = 1 + random_below(random, 6);
        rule->at_ns = 0;
    }
}

void storm_hosts_draw(struct random *random, const struct storm_scale *scale,
                      struct plan *plan)
{
    uint64_t at_ns = 0, count = random_between(random, 1, HOST_RULES_MAX);
    if (scale->hosts < 2) {
        return; /* nobody is left, and nothing is between */
    }
    for (uint64_t i = 0; i < count && plan->rule_count < PLAN_RULES_MAX; i++) {
        if (i == 0 || random_chance(random, 500)) {
            at_ns = random_below(
                random, (scale->horizon_ns >> (2 * random_below(random, 4))) + 1);
        } else {
            at_ns += random_below(random, 2 * scale->suspect_ns);
        }
        draw_rule(random, scale, at_ns, &plan->rules[plan->rule_count++]);
    }
}
