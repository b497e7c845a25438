/* chaos.c - draws storms; their plans are chaos_plan.c's. */
#include "consensus/sim/checks/electorate.h"
#include "consensus/sim/engine/sim.h"
#include "consensus/sim/engine/storm.h"
#include "consensus/sim/programs/ranks.h"
#include "consensus/sim/runs/chaos_plan.h"
#include <assert.h>
#include <stdlib.h>

#define MICROSECONDS(n) (UINT64_C(1000) * (n))

enum {
    STREAM_STORM = 201,
    STREAM_PLAN,
    STREAM_LEAVES,
    STREAM_POISON,
    STREAM_HOSTS,
    STREAM_DISKS,
    STREAM_RELOADS,
    COMEBACKS_MAX = 8,
    HEARTBEATS_PER_RULE = 2000,
    KILLS_MAX = 4,
    NEWCOMERS_MAX = 8
};

/* --- Failure detection ----------------------------------------------------------- */

/* The longest that a sign of life may take without a fault. */
static uint64_t worst_silence_ns(const struct sim_weather *weather, uint32_t ranks)
{
    uint64_t way_ns = weather->latency_ns + weather->jitter_ns + weather->poll_ns +
                      (weather->spike_per_mille > 0 ? weather->spike_ns : 0) +
                      (weather->gap_per_mille > 0 ? 2 * weather->gap_ns : 0);
    way_ns += sim_bandwidth_wait_ns(weather, ranks);
    return way_ns * (weather->hops > 1 ? weather->hops : 1);
}

/* The longest that a rule says a rank, or a message, is held up. */
static uint64_t longest_rule_ns(const struct plan *plan)
{
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; plan != NULL && i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        uint64_t spread_ns = rule->spread.ns + rule->spread.spread_ns;
        uint64_t lasts_ns = rule->lasts_ns != PLAN_FOREVER ? rule->lasts_ns : 0;
        uint64_t ns = lasts_ns > spread_ns ? lasts_ns : spread_ns;
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    return longest_ns;
}

/* Where a rank may be held up for minutes, nobody says every millisecond that it is
 * there: a run would be nothing but heartbeats.  Nor where the wire carries little, as
 * they would wait for one another. */
static void set_detection(struct sim_weather *weather, uint32_t ranks,
                          const struct plan *plan)
{
    uint64_t worst_ns = worst_silence_ns(weather, ranks);
    uint64_t rare_ns = longest_rule_ns(plan) / HEARTBEATS_PER_RULE;
    uint64_t slow_ns = sim_bandwidth_heartbeat_ns(weather, ranks);
    weather->heartbeat_ns = MICROSECONDS(500) + worst_ns / 4;
    if (rare_ns > weather->heartbeat_ns) {
        weather->heartbeat_ns = rare_ns;
    }
    if (slow_ns > weather->heartbeat_ns) {
        weather->heartbeat_ns = slow_ns;
    }
    weather->suspect_ns = 6 * weather->heartbeat_ns + 3 * worst_ns;
    weather->lease_ns = weather->suspect_ns;
    weather->stagger_ns = MICROSECONDS(100) + 2 * worst_ns;
    weather->batch_ns = MICROSECONDS(100);
    weather->quorum_wait_ns = 6 * weather->suspect_ns;
}

/* Suspicion may come before the lease has run out at the latest, or after. */
static void draw_detection(struct random *random, struct sim_weather *weather)
{
    weather->lease_ns = weather->suspect_ns * random_between(random, 400, 1500) / 1000;
    weather->batch_ns = random_below(random, MICROSECONDS(500));
    weather->quorum_wait_ns =
        weather->suspect_ns * random_between(random, 2, 8) + 2 * weather->lease_ns;
}

/* --- The storm ------------------------------------------------------------------- */

static void *by_rank(uint32_t ranks, size_t size)
{
    void *array = calloc(ranks == 0 ? 1 : ranks, size);
    if (array == NULL) {
        abort();
    }
    return array;
}

static bool lets_somebody_in(const struct storm_request *request,
                             const struct plan *plan)
{
    for (uint32_t i = 0; plan != NULL && i < plan->rule_count; i++) {
        if (plan->rules[i].fault == PLAN_RESTART) {
            return true;
        }
    }
    return request->newcomers > 0;
}

void storm_default(const struct storm_request *request, struct sim_weather *weather,
                   struct storm *out)
{
    uint32_t ranks = request->ranks;
    *out = (struct storm){.first = ranks - request->newcomers,
                          .comebacks = COMEBACKS_MAX,
                          .stop_ns = CORE_NEVER,
                          .joinable = lets_somebody_in(request, request->given),
                          .boundary = request->boundary,
                          .certify = request->poison || request->cluster != NULL,
                          .readable = request->poison,
                          .abandon = true,
                          .hosts = by_rank(ranks, sizeof(*out->hosts)),
                          .ahead_ns = by_rank(ranks, sizeof(*out->ahead_ns))};
    for (uint32_t rank = 0; rank < ranks; rank++) {
        out->hosts[rank] =
            request->cluster != NULL ? sim_cluster_host(request->cluster, rank) : 0;
    }
    set_detection(weather, request->ranks, request->given);
}

static void draw_places(struct random *random, const struct storm_request *request,
                        struct storm *storm)
{
    uint64_t layout = random_below(random, 3);
    for (uint32_t rank = 0; rank < request->ranks; rank++) {
        if (request->cluster == NULL) {
            storm->hosts[rank] = layout == 0 ? 0 : layout == 1 ? rank : rank / 2;
        }
        storm->ahead_ns[rank] = random_below(random, UINT64_C(1000000000000));
    }
}

static struct plan_rule *add_rule(struct plan *plan, enum plan_fault fault,
                                  uint64_t at_ns)
{
    struct plan_rule *rule = &plan->rules[plan->rule_count++];
    *rule = (struct plan_rule){.fault = fault,
                               .chance_ppb = PLAN_CERTAIN_PPB,
                               .when = PLAN_AT_TIME,
                               .at_ns = at_ns,
                               .lasts_ns = PLAN_FOREVER};
    return rule;
}

/* Newcomers ask one after the other, or at once. */
static void draw_joins(struct random *random, uint32_t count, uint64_t horizon_ns,
                       struct plan *joins)
{
    uint64_t time_ns = 0;
    assert(count <= NEWCOMERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        time_ns += random_below(random, horizon_ns >> random_below(random, 4));
        add_rule(joins, PLAN_JOIN, time_ns)->times = 1;
    }
}

/* Among many ranks hardly a strike would hit one of the few that decide about views. */
static void draw_plan(struct random *random, const struct storm_request *request,
                      uint64_t horizon_ns, const struct sim_weather *weather,
                      const struct storm *storm, struct plan *plan)
{
    uint32_t ranks = request->ranks;
    struct storm_scale scale = {.ranks = ranks,
                                .horizon_ns = horizon_ns,
                                .stop_ns = storm->stop_ns,
                                .latency_ns = weather->latency_ns,
                                .suspect_ns = weather->suspect_ns,
                                .stagger_ns = weather->stagger_ns};
    if (request->solo || (request->aims && ranks <= PLAN_SPANS_MAX)) {
        (request->solo ? storm_split_draw : storm_aim_draw)(random, &scale, plan);
        return;
    }
    if (ranks > PROGRAM_RANKS_MAX) {
        struct rankset members = {0};
        ranks_fill(&members, ranks);
        if (!electorate_of(&members, storm->hosts, PROGRAM_RANKS_MAX,
                           &scale.favoured)) {
            abort();
        }
        rankset_release(&members);
    }
    storm_plan_draw(random, &scale, plan);
    rankset_release(&scale.favoured);
}

/* From one rank to all of them, at once or one by one. */
static void draw_leaves(uint64_t seed, uint32_t ranks, uint64_t horizon_ns,
                        struct plan *plan)
{
    struct random random = random_stream(seed, STREAM_LEAVES);
    if (!random_chance(&random, 300)) {
        return;
    }
    uint32_t per_mille = (uint32_t)random_between(&random, 1000 / ranks, 1000);
    uint64_t first_ns = random_below(&random, horizon_ns);
    uint64_t spread_ns = random_below(&random, horizon_ns >> random_below(&random, 8));
    for (uint32_t rank = 0; rank < ranks && plan->rule_count < PLAN_RULES_MAX; rank++) {
        if (random_chance(&random, per_mille)) {
            uint64_t at_ns = first_ns + random_below(&random, spread_ns + 1);
            struct plan_rule *rule = add_rule(plan, PLAN_LEAVE, at_ns);
            (void)plan_ranks_add(&rule->ranks, rank, rank);
        }
    }
}

/* Hosts have their own faults: alone, or beside those of ranks. */
static void draw_hosts(uint64_t seed, const struct storm_request *request,
                       uint64_t horizon_ns, const struct sim_weather *weather,
                       const struct storm *storm, struct plan *plan)
{
    struct random random = random_stream(seed, STREAM_HOSTS);
    const struct storm_scale scale = {.ranks = request->ranks,
                                      .hosts = request->cluster->hosts,
                                      .horizon_ns = horizon_ns,
                                      .stop_ns = storm->stop_ns,
                                      .latency_ns = weather->latency_ns,
                                      .suspect_ns = weather->suspect_ns,
                                      .stagger_ns = weather->stagger_ns};
    if (random_chance(&random, 500)) {
        plan->rule_count = 0;
    } else if (random_chance(&random, 200)) {
        return;
    }
    storm_hosts_draw(&random, &scale, plan);
}

static void draw_disks(uint64_t seed, const struct storm_request *request,
                       uint64_t horizon_ns, const struct sim_weather *weather,
                       struct plan *plan)
{
    struct random random = random_stream(seed, STREAM_DISKS);
    const struct storm_scale scale = {.ranks = request->ranks,
                                      .horizon_ns = horizon_ns,
                                      .suspect_ns = weather->suspect_ns};
    storm_disks_draw(&random, &scale, plan);
    if (weather->reloads_per_mille > 0) {
        random = random_stream(seed, STREAM_RELOADS);
        storm_reloads_draw(&random, &scale, plan);
    }
}

/* A rank that shares a machine with others leaves somebody who sees what it died of. */
static void place_readers(struct random *random, const struct storm_request *request,
                          struct storm *storm)
{
    uint32_t machines = (uint32_t)random_between(random, 1, 2);
    for (uint32_t rank = 0; request->cluster == NULL && rank < request->ranks; rank++) {
        storm->hosts[rank] = rank % machines;
    }
    storm->certify = true;
}

/* Nothing but a kill or two beside the poison: everything can then be said of how many
 * ranks may die, where all of them can see it. */
static void draw_kills(struct random *random, uint32_t ranks, uint64_t horizon_ns,
                       struct plan *plan)
{
    uint32_t count = (uint32_t)random_below(random, ranks / 2);
    *plan = (struct plan){.rule_count = 0};
    for (uint32_t i = 0; i < count && i < KILLS_MAX; i++) {
        struct plan_rule *rule =
            add_rule(plan, PLAN_KILL, random_below(random, horizon_ns));
        uint32_t rank = (uint32_t)random_below(random, ranks);
        (void)plan_ranks_add(&rule->ranks, rank, rank);
    }
}

static void draw_poisoned(uint64_t seed, const struct storm_request *request,
                          uint64_t horizon_ns, struct plan *plan, struct storm *storm)
{
    struct random random = random_stream(seed, STREAM_POISON);
    bool mild = random_chance(&random, 500);
    storm->readable = random_chance(&random, 500) || mild;
    place_readers(&random, request, storm);
    if (mild && request->given == NULL) {
        draw_kills(&random, request->ranks, horizon_ns, plan);
    }
    storm->vague = random_chance(&random, 500);
}

void storm_draw(uint64_t seed, const struct storm_request *request,
                struct sim_weather *weather, struct plan *plan, struct storm *out)
{
    static const uint64_t horizons_us[] = {1000, 5000, 20000, 60000};
    static const uint32_t steps_us[] = {1, 10, 100, 400};
    struct random random = random_stream(seed, STREAM_STORM);
    uint64_t horizon_ns = MICROSECONDS(horizons_us[random_below(&random, 4)]);
    /* Programs should last while things go wrong. */
    weather->step_ns = MICROSECONDS(steps_us[random_below(&random, 4)]);
    weather->slow = weather->step_ns > MICROSECONDS(10) ? 0 : weather->slow;
    storm_default(request, weather, out);
    draw_detection(&random, weather);
    draw_places(&random, request, out);
    struct plan joins = {.rule_count = 0};
    draw_joins(&random, request->newcomers, horizon_ns, &joins);
    out->joinable = random_chance(&random, 200);
    out->certify =
        random_chance(&random, request->cluster != NULL ? 500 : 400) && !request->calm;
    out->abandon = random_chance(&random, 500);
    out->stop_ns = horizon_ns + weather->suspect_ns * random_between(&random, 2, 24);
    *plan = (struct plan){.rule_count = 0};
    random = random_stream(seed, STREAM_PLAN);
    if (request->given != NULL) {
        *plan = *request->given;
    } else if (!request->calm) {
        draw_plan(&random, request, horizon_ns, weather, out, plan);
    }
    if (request->cluster != NULL && request->given == NULL && !request->calm &&
        !request->solo) {
        draw_hosts(seed, request, horizon_ns, weather, out, plan);
    }
    out->solo = request->solo;
    if (weather->reloads_per_mille > 0) {
        out->joinable = false; /* else nobody goes back (R4) */
    }
    out->joinable = out->joinable || lets_somebody_in(request, plan);
    out->boundary = request->boundary && !out->solo;
    out->joinable |= out->boundary;
    if (request->poison) {
        draw_poisoned(seed, request, horizon_ns, plan, out);
    }
    for (uint32_t i = 0; request->given == NULL && i < joins.rule_count; i++) {
        plan->rules[plan->rule_count++] = joins.rules[i];
    }
    if (request->leaves && request->given == NULL) {
        draw_leaves(seed, request->ranks, horizon_ns, plan);
    }
    if (weather->disks && request->given == NULL && !request->calm) {
        draw_disks(seed, request, horizon_ns, weather, plan);
    }
}

void storm_release(struct storm *storm)
{
    free(storm->hosts);
    free(storm->ahead_ns);
    *storm = (struct storm){0};
}
