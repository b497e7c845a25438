/* chaos_disks.c - what befalls ranks' disks, and ranks that go back to what these hold.
 *
 * A disk is full now and then, or for a while; it is slow, for less time than it takes
 * to be suspected, or for longer; or it flips bits.  All of it may strike one rank or
 * every one.
 *
 * Ranks die, or stand still, at steps of a reload: the one that writes the mark, and
 * whoever waits for it.
 */
#include "consensus/faultplan/plan_words.h"
#include "consensus/sim/runs/chaos_plan.h"

enum { DISK_RULES_MAX = 2, RELOAD_RULES_MAX = 3, RELOAD_STEPS = 5 };

/* From some moment on, for a while. */
static void set_time(struct random *random, const struct storm_scale *scale,
                     struct plan_rule *rule)
{
    rule->when = PLAN_AT_TIME;
    rule->at_ns = random_below(random, scale->horizon_ns);
    rule->lasts_ns = 1 + random_below(random, 8 * scale->suspect_ns);
}

static void draw_disk_rule(struct random *random, const struct storm_scale *scale,
                           struct plan_rule *rule)
{
    static const enum plan_fault faults[] = {PLAN_DISK_FULL, PLAN_DISK_SLOW,
                                             PLAN_DISK_FLIP};
    *rule = (struct plan_rule){.fault = faults[random_below(random, 3)],
                               .chance_ppb = PLAN_CERTAIN_PPB / 1000 *
                                             (uint32_t)random_between(random, 10, 700),
                               .lasts_ns = PLAN_FOREVER};
    rule->ranks.all = true;
    if (random_chance(random, 500)) {
        const uint32_t rank = (uint32_t)random_below(random, scale->ranks);
        rule->ranks = (struct plan_ranks){.count = 0};
        (void)plan_ranks_add(&rule->ranks, rank, rank);
    }
    if (random_chance(random, 400)) {
        set_time(random, scale, rule);
    }
    if (rule->fault == PLAN_DISK_SLOW) {
        rule->spread =
            (struct plan_spread){.type = PLAN_SPREAD_FIXED,
                                 .ns = 1 + random_below(random, 2 * scale->suspect_ns)};
    }
}

void storm_disks_draw(struct random *random, const struct storm_scale *scale,
                      struct plan *plan)
{
    const uint64_t count = random_below(random, DISK_RULES_MAX + 1);
    for (uint64_t i = 0; i < count && plan->rule_count < PLAN_RULES_MAX; i++) {
        draw_disk_rule(random, scale, &plan->rules[plan->rule_count++]);
    }
}

void storm_reloads_draw(struct random *random, const struct storm_scale *scale,
                        struct plan *plan)
{
    const uint64_t count = random_below(random, RELOAD_RULES_MAX + 1);
    for (uint64_t i = 0; i < count && plan->rule_count < PLAN_RULES_MAX; i++) {
        const bool dies = random_chance(random, 600);
        const uint32_t rank = (uint32_t)random_below(random, scale->ranks);
        struct plan_rule *rule = &plan->rules[plan->rule_count++];
        *rule = (struct plan_rule){.fault = dies ? PLAN_KILL : PLAN_PAUSE,
                                   .chance_ppb = PLAN_CERTAIN_PPB,
                                   .when = PLAN_AT_POINT,
                                   .point = CORE_POINT_CHECKPOINT_RELOAD,
                                   .lasts_ns = PLAN_FOREVER};
        (void)plan_ranks_add(&rule->ranks, rank, rank);
        rule->nth_first = rule->nth_last = 1 + random_below(random, RELOAD_STEPS);
        if (!dies) {
            rule->lasts_ns = 1 + random_below(random, 3 * scale->suspect_ns);
        }
    }
}
