/* chaos_aim.c - faults that are aimed at what chance hardly hits: ballots and splits.
 *
 * A drawn plan seldom has several ranks propose a view at once, or a proposer die while
 * others vote.  An *aim* gives a cause for a view, and then disturbs the ballot about
 * it: what is said of views takes longer than the stagger, so that others propose
 * meanwhile; who proposes, enters or reports dies or stands still, and likewise who
 * comes after it; or a rank is heard by some and not by others.
 *
 * A *split* cuts all ranks into two sides for longer than suspicion and leases last,
 * and heals, once or twice.
 */
#include "consensus/sim/runs/chaos_plan.h"

enum { STAGGERS_LATE = 8, SUCCESSORS_MAX = 3, SPLITS_MAX = 2 };

static struct plan_rule *add_rule(struct plan *plan, enum plan_fault fault)
{
    struct plan_rule *rule = &plan->rules[plan->rule_count++];
    *rule = (struct plan_rule){
        .fault = fault, .chance_ppb = PLAN_CERTAIN_PPB, .lasts_ns = PLAN_FOREVER};
    rule->times = plan_is_message(fault) ? plan_times_default(fault) : 0;
    return rule;
}

static void set_rank(struct random *random, const struct storm_scale *scale,
                     struct plan_ranks *ranks)
{
    uint32_t rank = (uint32_t)random_below(random, scale->ranks);
    (void)plan_ranks_add(ranks, rank, rank);
}

/* The ranks are on two sides, the first `few` of them, in a drawn order, on one. */
static void set_two_sides(struct random *random, const struct storm_scale *scale,
                          struct plan_rule *rule)
{
    uint32_t few = 1 + (uint32_t)random_below(random, scale->ranks / 2);
    for (uint32_t rank = 0, left = few; rank < scale->ranks; rank++) {
        bool in = random_below(random, scale->ranks - rank) < left;
        (void)plan_ranks_add(in ? &rule->ranks : &rule->others, rank, rank);
        left -= in;
    }
}

static uint64_t draw_start_ns(struct random *random, const struct storm_scale *scale)
{
    return random_below(random, (scale->horizon_ns >> random_below(random, 4)) + 1);
}

/* All of it is over when faults stop. */
static void set_window(const struct storm_scale *scale, struct plan_rule *rule,
                       uint64_t at_ns, uint64_t lasts_ns)
{
    uint64_t left_ns = scale->stop_ns > at_ns ? scale->stop_ns - at_ns : 1;
    rule->when = PLAN_AT_TIME;
    rule->at_ns = at_ns;
    rule->lasts_ns = lasts_ns < left_ns ? lasts_ns : left_ns;
}

/* --- Aims --------------------------------------------------------------------------
 */

/* A death, or a silence that ends. */
static void aim_cause(struct random *random, const struct storm_scale *scale,
                      struct plan *plan)
{
    bool dies = random_chance(random, 600);
    struct plan_rule *rule = add_rule(plan, dies ? PLAN_KILL : PLAN_PAUSE);
    set_rank(random, scale, &rule->ranks);
    set_window(scale, rule, draw_start_ns(random, scale),
               scale->suspect_ns * random_between(random, 1, 4));
    rule->lasts_ns = dies ? PLAN_FOREVER : rule->lasts_ns;
}

/* A proposer that waits for its turn does not hear in time that another has begun. */
static void aim_delays(struct random *random, const struct storm_scale *scale,
                       struct plan *plan)
{
    struct plan_rule *rule = add_rule(plan, PLAN_DELAY);
    rule->chance_ppb = PLAN_CERTAIN_PPB / 10 * (uint32_t)random_between(random, 2, 9);
    rule->groups = 1u << PLAN_GROUP_VIEW;
    rule->spread.type = PLAN_SPREAD_UNIFORM;
    rule->spread.ns = scale->stagger_ns * random_between(random, 1, STAGGERS_LATE);
    rule->spread.spread_ns = rule->spread.ns;
}

/* One after the other, at the same point. */
static void aim_successors(struct random *random, const struct storm_scale *scale,
                           struct plan *plan)
{
    static const enum core_point points[] = {
        CORE_POINT_VIEW_PROPOSE, CORE_POINT_VIEW_ENTER, CORE_POINT_REPORT_SENT};
    uint64_t count = random_between(random, 1, SUCCESSORS_MAX);
    for (uint64_t i = 0; i < count; i++) {
        bool dies = random_chance(random, 500);
        struct plan_rule *rule = add_rule(plan, dies ? PLAN_KILL : PLAN_PAUSE);
        set_rank(random, scale, &rule->ranks);
        rule->when = PLAN_AT_POINT;
        rule->point = points[random_below(random, 3)];
        rule->nth_first = rule->nth_last = 1 + random_below(random, 2);
        rule->lasts_ns =
            dies ? PLAN_FOREVER : 1 + random_below(random, 3 * scale->suspect_ns);
    }
}

/* Some hear them, and others do not. */
static void aim_half_parts(struct random *random, const struct storm_scale *scale,
                           struct plan *plan)
{
    struct plan_rule *rule = add_rule(plan, PLAN_PART);
    rule->link = PLAN_LINK_TOWARDS;
    set_two_sides(random, scale, rule);
    set_window(scale, rule, draw_start_ns(random, scale),
               scale->suspect_ns * random_between(random, 1, 6));
}

void storm_aim_draw(struct random *random, const struct storm_scale *scale,
                    struct plan *plan)
{
    if (scale->ranks < 2) {
        return;
    }
    uint64_t kinds = random_between(random, 1, 7);
    aim_cause(random, scale, plan);
    if ((kinds & 1) != 0) {
        aim_delays(random, scale, plan);
    }
    if ((kinds & 2) != 0) {
        aim_successors(random, scale, plan);
    }
    if ((kinds & 4) != 0) {
        aim_half_parts(random, scale, plan);
    }
}

/* --- Splits ------------------------------------------------------------------------
 */

void storm_split_draw(struct random *random, const struct storm_scale *scale,
                      struct plan *plan)
{
    uint64_t count = random_between(random, 1, SPLITS_MAX);
    for (uint64_t i = 0; scale->ranks >= 2 && i < count; i++) {
        struct plan_rule *rule = add_rule(plan, PLAN_PART);
        rule->link = PLAN_LINK_BETWEEN;
        set_two_sides(random, scale, rule);
        set_window(scale, rule, draw_start_ns(random, scale),
                   scale->suspect_ns * random_between(random, 1, 12));
    }
    if (random_chance(random, 500) && scale->ranks >= 2) {
        aim_delays(random, scale, plan);
    }
}
