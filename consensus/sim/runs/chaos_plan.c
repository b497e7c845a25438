/* chaos_plan.c - see chaos_plan.h.
 *
 * A seed first draws which kinds of faults there are at all, then a few rules of those
 * kinds.  Rules have places in time, or chances below 1, so none has to fire.
 */
#include "consensus/sim/runs/chaos_plan.h"
#include "consensus/faultplan/plan_words.h"

enum {
    RULES_DRAWN_MAX = 5,
    CLOCKS_MAX = 8,
    STRETCHES_MAX = 6,
    DRIFT_MAX_PPM = 1000, /* rho */
    /* Joins and leaves, the last of the kinds, are drawn apart (chaos.c). */
    KINDS_DRAWN = PLAN_LEAVE
};

struct drafter {
    struct random *random;
    const struct storm_scale *scale;
    struct plan *plan;
    uint32_t kinds;   /* set of enum plan_fault */
    uint64_t time_ns; /* of the rule before */
};

static uint64_t below(struct drafter *drafter, uint64_t bound)
{
    return random_below(drafter->random, bound);
}

static bool chance(struct drafter *drafter, uint32_t per_mille)
{
    return random_chance(drafter->random, per_mille);
}

/* --- When ------------------------------------------------------------------------ */

/* Many things happen early. */
static uint64_t draw_time_ns(struct drafter *drafter)
{
    return below(drafter, (drafter->scale->horizon_ns >> (2 * below(drafter, 4))) + 1);
}

/* Shorter than it takes to be suspected, about as long, or much longer. */
static uint64_t draw_duration_ns(struct drafter *drafter)
{
    uint64_t factor = below(drafter, 4) == 0 ? 20 : 4;
    return 1 + below(drafter, factor * drafter->scale->suspect_ns);
}

/* Some faults come at once with the one before, or soon after. */
static uint64_t next_time_ns(struct drafter *drafter)
{
    if (chance(drafter, 700)) {
        drafter->time_ns = draw_time_ns(drafter);
    } else if (chance(drafter, 500)) {
        drafter->time_ns += below(drafter, 2 * drafter->scale->suspect_ns);
    }
    return drafter->time_ns;
}

static void set_time(struct drafter *drafter, struct plan_rule *rule)
{
    uint64_t stop_ns = drafter->scale->stop_ns;
    rule->when = PLAN_AT_TIME;
    rule->at_ns = next_time_ns(drafter);
    rule->lasts_ns = draw_duration_ns(drafter);
    if (rule->at_ns < stop_ns && rule->lasts_ns > stop_ns - rule->at_ns) {
        rule->lasts_ns = stop_ns - rule->at_ns;
    }
}

/* Any point; those at which the protocol is in the middle of something come oftener. */
static void set_point(struct drafter *drafter, struct plan_rule *rule)
{
    static const enum core_point tender[] = {
        CORE_POINT_VOTE_CAST,    CORE_POINT_DECISION_RECV, CORE_POINT_RESULT_SENT,
        CORE_POINT_VIEW_PROPOSE, CORE_POINT_VIEW_ENTER,    CORE_POINT_REPORT_SENT};
    rule->when = PLAN_AT_POINT;
    rule->point = (enum core_point)below(drafter, CORE_POINT_HOSTS);
    if (chance(drafter, 500)) {
        rule->point = tender[below(drafter, sizeof(tender) / sizeof(tender[0]))];
    }
    rule->nth_first = rule->nth_last = 1 + below(drafter, 6);
    rule->lasts_ns = draw_duration_ns(drafter);
}

static void set_when(struct drafter *drafter, struct plan_rule *rule)
{
    if (chance(drafter, 300)) {
        set_point(drafter, rule);
    } else {
        set_time(drafter, rule);
    }
}

/* --- Who ------------------------------------------------------------------------- */

static void set_one(struct drafter *drafter, struct plan_ranks *ranks)
{
    const struct rankset *favoured = &drafter->scale->favoured;
    uint32_t rank = (uint32_t)below(drafter, drafter->scale->ranks);
    if (!rankset_empty(favoured) && chance(drafter, 500)) {
        rank = rankset_at(favoured, (uint32_t)below(drafter, rankset_count(favoured)));
    }
    *ranks = (struct plan_ranks){.count = 0};
    (void)plan_ranks_add(ranks, rank, rank);
}

static void set_all(struct plan_ranks *ranks)
{
    *ranks = (struct plan_ranks){.all = true};
}

/* Of many ranks one side is a few stretches, as a set of ranks has limited room. */
static void set_stretches(struct drafter *drafter, struct plan_rule *rule)
{
    uint32_t ranks = drafter->scale->ranks, rank = 0, cuts = 0;
    bool first = chance(drafter, 500);
    while (rank < ranks) {
        uint32_t left = ranks - rank;
        uint32_t length =
            cuts++ < STRETCHES_MAX ? 1 + (uint32_t)below(drafter, left) : left;
        (void)plan_ranks_add(first ? &rule->ranks : &rule->others, rank,
                             rank + length - 1);
        rank += length;
        first = !first;
    }
}

/* Two sides that are all ranks together; the first may be one rank.  False: one of them
 * is empty. */
static bool set_sides(struct drafter *drafter, struct plan_rule *rule)
{
    uint32_t alone = UINT32_MAX;
    if (drafter->scale->ranks > PLAN_SPANS_MAX && chance(drafter, 500)) {
        rule->ranks = rule->others = (struct plan_ranks){.count = 0};
        set_stretches(drafter, rule);
        return rule->ranks.count > 0 && rule->others.count > 0;
    }
    if (chance(drafter, 500)) {
        alone = (uint32_t)below(drafter, drafter->scale->ranks);
    }
    rule->ranks = rule->others = (struct plan_ranks){.count = 0};
    for (uint32_t rank = 0; rank < drafter->scale->ranks; rank++) {
        bool first = alone == UINT32_MAX ? chance(drafter, 500) : rank == alone;
        if (!plan_ranks_add(first ? &rule->ranks : &rule->others, rank, rank)) {
            return false;
        }
    }
    return rule->ranks.count > 0 && rule->others.count > 0;
}

static void set_link(struct drafter *drafter, struct plan_rule *rule)
{
    rule->link = PLAN_LINK_ANY;
    if (chance(drafter, 300)) {
        rule->link = PLAN_LINK_TOUCHES;
        set_one(drafter, &rule->ranks);
    } else if (chance(drafter, 300) && set_sides(drafter, rule)) {
        rule->link = chance(drafter, 500) ? PLAN_LINK_TOWARDS : PLAN_LINK_BETWEEN;
    }
    if (rule->link == PLAN_LINK_ANY) {
        rule->ranks = (struct plan_ranks){.count = 0};
    }
    if (rule->link == PLAN_LINK_ANY || rule->link == PLAN_LINK_TOUCHES) {
        rule->others = (struct plan_ranks){.count = 0};
    }
}

/* --- How ------------------------------------------------------------------------- */

static struct plan_spread draw_spread(struct drafter *drafter, uint64_t mean_ns)
{
    struct plan_spread spread = {.ns = 1000 + below(drafter, mean_ns)};
    spread.type = (enum plan_spread_type)(PLAN_SPREAD_FIXED + below(drafter, 4));
    if (spread.type == PLAN_SPREAD_UNIFORM) {
        spread.spread_ns = 1 + below(drafter, spread.ns);
    }
    if (spread.type == PLAN_SPREAD_PARETO) { /* its tail is long enough */
        spread.ns = 1000 + below(drafter, mean_ns / 20);
        spread.shape_ppm = 1250000 + (uint32_t)below(drafter, 9) * 250000;
    }
    return spread;
}

/* From one in a thousand to almost all. */
static uint32_t draw_chance_ppb(struct drafter *drafter, uint32_t most_per_mille)
{
    uint64_t per_mille = 1 + below(drafter, most_per_mille >> below(drafter, 4));
    return (uint32_t)per_mille * (PLAN_CERTAIN_PPB / 1000);
}

static void draw_message_rule(struct drafter *drafter, struct plan_rule *rule)
{
    rule->chance_ppb = draw_chance_ppb(drafter, rule->fault == PLAN_DROP ? 600 : 900);
    rule->times = plan_times_default(rule->fault);
    if (rule->times > 0) {
        rule->times += (uint32_t)below(drafter, 4);
    }
    if (rule->fault == PLAN_DELAY) {
        rule->spread =
            draw_spread(drafter, chance(drafter, 500) ? 20 * drafter->scale->latency_ns
                                                      : drafter->scale->suspect_ns);
    }
    if (chance(drafter, 400)) {
        rule->groups = 1u << below(drafter, PLAN_GROUP_END);
    }
    set_link(drafter, rule);
    if (chance(drafter, 600)) {
        set_when(drafter, rule);
    }
}

static void draw_part(struct drafter *drafter, struct plan_rule *rule)
{
    while (!set_sides(drafter, rule)) {
        continue;
    }
    rule->link = chance(drafter, 350) ? PLAN_LINK_TOWARDS : PLAN_LINK_BETWEEN;
    set_when(drafter, rule);
    if (rule->when == PLAN_AT_POINT) {
        rule->nth_first = rule->nth_last = 1;
    }
}

static void draw_strike(struct drafter *drafter, struct plan_rule *rule)
{
    set_one(drafter, &rule->ranks);
    if (chance(drafter, 500)) {
        set_point(drafter, rule);
    } else {
        set_time(drafter, rule);
    }
    if (rule->fault == PLAN_KILL) {
        rule->lasts_ns = PLAN_FOREVER;
    }
    if (rule->fault == PLAN_RESTART) { /* soon enough to see something of the program */
        rule->lasts_ns = 1 + below(drafter, 2 * drafter->scale->suspect_ns);
    }
}

static void draw_slowness(struct drafter *drafter, struct plan_rule *rule)
{
    rule->chance_ppb = draw_chance_ppb(drafter, 900);
    if (chance(drafter, 500)) {
        set_one(drafter, &rule->ranks);
    } else {
        set_all(&rule->ranks);
    }
    if (rule->fault == PLAN_SLOW && chance(drafter, 500)) {
        rule->factor_ppm = (2 + (uint32_t)below(drafter, 30)) * PLAN_FACTOR_ONE_PPM;
    } else {
        rule->spread = draw_spread(drafter, drafter->scale->suspect_ns);
    }
    if (chance(drafter, 600)) {
        set_when(drafter, rule);
    }
}

/* --- Rules ----------------------------------------------------------------------- */

static void draw_clocks(struct drafter *drafter)
{
    uint32_t last =
        drafter->scale->ranks < CLOCKS_MAX ? drafter->scale->ranks : CLOCKS_MAX;
    for (uint32_t rank = 0; rank < last; rank++) {
        struct plan_rule *rule = &drafter->plan->rules[drafter->plan->rule_count++];
        *rule = (struct plan_rule){.fault = PLAN_CLOCK,
                                   .chance_ppb = PLAN_CERTAIN_PPB,
                                   .lasts_ns = PLAN_FOREVER};
        rule->factor_ppm = PLAN_FACTOR_ONE_PPM - DRIFT_MAX_PPM +
                           (uint32_t)below(drafter, 2 * DRIFT_MAX_PPM + 1);
        (void)plan_ranks_add(&rule->ranks, rank, rank);
    }
}

static void draw_rule(struct drafter *drafter, enum plan_fault fault)
{
    struct plan_rule *rule = &drafter->plan->rules[drafter->plan->rule_count++];
    *rule = (struct plan_rule){
        .fault = fault, .chance_ppb = PLAN_CERTAIN_PPB, .lasts_ns = PLAN_FOREVER};
    if (plan_is_message(fault)) {
        draw_message_rule(drafter, rule);
    } else if (plan_is_strike(fault)) {
        draw_strike(drafter, rule);
    } else if (fault == PLAN_PART) {
        draw_part(drafter, rule);
    } else {
        draw_slowness(drafter, rule);
    }
}

void storm_plan_draw(struct random *random, const struct storm_scale *scale,
                     struct plan *plan)
{
    struct drafter drafter = {.random = random, .scale = scale, .plan = plan};
    if (scale->ranks < 2) {
        return; /* nobody to part from, and nobody left */
    }
    while ((drafter.kinds & ~(1u << PLAN_CLOCK)) == 0) {
        drafter.kinds = (uint32_t)random_below(random, 1u << KINDS_DRAWN);
    }
    if (chance(&drafter, 500)) { /* few kinds at a time go furthest */
        drafter.kinds &= (uint32_t)random_below(random, 1u << KINDS_DRAWN);
    }
    if (drafter.kinds & (1u << PLAN_CLOCK)) {
        draw_clocks(&drafter);
    }
    uint32_t others = drafter.kinds & ~(1u << PLAN_CLOCK);
    uint64_t count = others == 0 ? 0 : 1 + random_below(random, RULES_DRAWN_MAX);
    while (count > 0) {
        enum plan_fault fault = (enum plan_fault)random_below(random, KINDS_DRAWN);
        if (!(others >> fault & 1)) {
            continue;
        }
        draw_rule(&drafter, fault);
        count--;
    }
}
