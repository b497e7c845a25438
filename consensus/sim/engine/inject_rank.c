/* inject_rank.c - what a plan does to ranks, their disks and clocks; and newcomers.
 *
 * A kill may come in the middle of a step: what the core has put out before the point
 * is on the wire, the rest is not.  A pause holds back whatever would happen at the
 * rank; messages gather in its inbox.  A gap holds back only its progress on messages
 * and timers, while its program goes on.
 *
 * A plan's rule about a rank is about whoever plays that part of the program: a rank
 * that comes back does so under the next number, and the rule goes with it.
 */
#include "consensus/sim/engine/sim_internal.h"
#include <assert.h>
#include <stdlib.h>

enum { READ_PER_MILLE = 850 };

static const struct storm no_storm = {.stop_ns = CORE_NEVER};

static const struct storm *storm_of(const struct sim *sim)
{
    return sim->options.storm != NULL ? sim->options.storm : &no_storm;
}

uint64_t strike_stop_ns(const struct sim *sim) { return storm_of(sim)->stop_ns; }

static uint64_t longest_draw_ns(const struct plan_spread *spread)
{
    if (spread->type == PLAN_SPREAD_UNIFORM) {
        return spread->ns + spread->spread_ns;
    }
    if (spread->type == PLAN_SPREAD_EXP) {
        return spread->ns * 45; /* -ln(2^-64) */
    }
    return spread->type == PLAN_SPREAD_PARETO ? spread->ns * PLAN_PARETO_CAP
                                              : spread->ns;
}

uint64_t strike_longest_ns(const struct sim *sim)
{
    const struct plan *plan = sim->options.plan;
    uint64_t sum_ns = 0, most_ns = UINT64_MAX / 4;
    for (uint32_t i = 0; plan != NULL && i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        uint64_t draw_ns = longest_draw_ns(&rule->spread);
        sum_ns += draw_ns < most_ns ? draw_ns : most_ns;
        if (rule->lasts_ns != PLAN_FOREVER) {
            sum_ns += rule->lasts_ns;
        }
        sum_ns = sum_ns < most_ns ? sum_ns : most_ns;
    }
    return sum_ns;
}

static void show(struct sim *sim, enum sight_type type, uint32_t rank, uint32_t peer,
                 uint32_t code)
{
    sim_see(sim, &(struct sight){.type = type,
                                 .time_ns = sim->now_ns,
                                 .rank = rank,
                                 .peer = peer,
                                 .task = sim->program->task_count,
                                 .code = (int32_t)code});
}

static void count(struct sim *sim, uint32_t rule, uint32_t rank, uint32_t peer)
{
    sim->report->hits.fired[rule]++;
    liveness_harmed(sim, sim->now_ns);
    show(sim, SIGHT_FAULT, rank, peer, rule);
}

bool strike_fires(struct sim *sim, uint32_t rule, uint32_t rank, uint32_t peer)
{
    if (!plan_chance(&sim->options.plan->rules[rule], random_next(&sim->faults))) {
        return false;
    }
    count(sim, rule, rank, peer);
    return true;
}

/* --- Deaths ---------------------------------------------------------------------- */

static uint32_t machine_of(const struct sim *sim, const struct host *host)
{
    const struct storm *storm = storm_of(sim);
    return sim->cluster != NULL   ? sim->machines[host->rank]
           : storm->hosts != NULL ? storm->hosts[host->role]
                                  : 0;
}

/* Its kernel did not run alone, nor is anything known of threads; but of elements it is
 * known which one it was. */
static bool is_vague(const struct host *host, uint32_t culprit)
{
    const struct program *program = host->sim->program;
    return storm_of(host->sim)->vague && culprit < program->task_count &&
           program->tasks[culprit].elements == 0 && host->slots_used > 1 &&
           !host->records[culprit].alone;
}

/* A rank that shares a machine with the dead learns what that died of. */
static uint32_t read_culprit(const struct host *dead, uint32_t culprit)
{
    struct sim *sim = dead->sim;
    bool known = culprit == sim->program->task_count || storm_of(sim)->readable ||
                 random_chance(&sim->reaping, READ_PER_MILLE);
    return !known                    ? sim->program->task_count
           : is_vague(dead, culprit) ? sim->program->task_count + 1
                                     : culprit;
}

/* A rank that looks sees all that have died so far. */
static uint64_t draw_reaping_ns(struct sim *sim, struct host *seer)
{
    uint64_t time_ns = sim->now_ns + random_below(&sim->reaping, UINT64_C(500000));
    if (time_ns > seer->reaps_ns) {
        seer->reaps_ns = time_ns;
    }
    return seer->reaps_ns;
}

static void crash(struct host *host, uint32_t culprit)
{
    struct sim *sim = host->sim;
    sim->report->counts.boundary_deaths += boundary_is_somewhere(sim);
    host->dead = true;
    host->over_ns = sim->now_ns;
    carrier_drop(host);
    sim->report->counts.crashes++;
    sim_moved(sim);
    struct sight sight = host_sight(host, SIGHT_CRASH, culprit);
    sight.code = is_vague(host, culprit);
    sim_see(sim, &sight);
    if (!storm_of(sim)->certify || cluster_is_gone(sim, machine_of(sim, host))) {
        return;
    }
    if (sim->cluster != NULL) {
        cluster_reap(sim, host->rank);
    }
    for (uint32_t rank = 0; rank < sim->host_count; rank++) {
        if (rank != host->rank &&
            machine_of(sim, &sim->hosts[rank]) == machine_of(sim, host)) {
            heap_push(
                sim, &(struct event){.time_ns = draw_reaping_ns(sim, &sim->hosts[rank]),
                                     .kind = EVENT_REAP,
                                     .rank = rank,
                                     .index = host->rank,
                                     .ticket = read_culprit(host, culprit)});
        }
    }
}

void strike_starve(struct host *host)
{
    host->sim->report->counts.starved++;
    crash(host, host->sim->program->task_count);
}

void strike_poison(struct host *host, uint32_t task)
{
    host->sim->report->counts.poisoned++;
    crash(host, task);
}

/* Before the death is certain, so that who proposes a view without it knows of this.
 * A rank that has not been let in has nobody to tell, and knows no number beyond its
 * views'. */
static void blame(struct host *host, uint32_t dead, uint32_t task, bool perhaps)
{
    struct sim *sim = host->sim;
    struct sight sight = host_sight(host, perhaps ? SIGHT_SUSPECT : SIGHT_BLAME, task);
    sight.peer = dead;
    sim_see(sim, &sight);
    struct core_event event = {.type = CORE_EV_CRASH, .hash = sim->hashes[task]};
    event.u.crash.rank = dead;
    event.u.crash.perhaps = perhaps;
    host_step(host, &event);
}

/* Blames the task that is known, or all that the dead rank was running. */
static void blame_each(struct host *host, uint32_t dead, uint32_t culprit)
{
    const struct host *ran = &host->sim->hosts[dead];
    uint32_t tasks = host->sim->program->task_count;
    if (host->epoch == 0 || core_incarnation(host->core, dead) == 0) {
        return;
    }
    if (culprit < tasks) {
        blame(host, dead, culprit, false);
        return;
    }
    for (uint32_t task = 0; culprit > tasks && task < tasks && !host->dead; task++) {
        if (ran->records[task].holds_slot) {
            blame(host, dead, task, true);
        }
    }
}

/* Who does not know the dead rank yet (a newcomer) will be told by its view. */
void strike_reap(struct host *host, uint32_t dead, uint32_t culprit)
{
    struct sim *sim = host->sim;
    if (machine_of(sim, host) != machine_of(sim, &sim->hosts[dead])) {
        show(sim, SIGHT_TOLD, host->rank, dead, 0);
    }
    blame_each(host, dead, culprit);
    if (host->epoch == 0 || !rankset_has(&host->members, dead)) {
        return;
    }
    struct core_event event = {.type = CORE_EV_DEAD};
    event.u.dead.rank = dead;
    host_step(host, &event);
}

/* --- Strikes --------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* When what begins now and lasts so long is over. */
static uint64_t end_ns(const struct sim *sim, uint64_t lasts_ns)
{
    uint64_t end =
        lasts_ns > PLAN_FOREVER - sim->now_ns ? PLAN_FOREVER : sim->now_ns + lasts_ns;
    return earlier(end, later(strike_stop_ns(sim), sim->now_ns));
}

static void come_back(struct host *host, uint64_t lasts_ns)
{
    struct sim *sim = host->sim;
    if (!storm_of(sim)->joinable || sim->comebacks == storm_of(sim)->comebacks) {
        return;
    }
    sim->comebacks++;
    heap_push(sim, &(struct event){.time_ns = end_ns(sim, lasts_ns),
                                   .kind = EVENT_JOIN,
                                   .index = host->role});
}

static void strike_one(struct host *host, const struct plan_rule *rule)
{
    struct sim *sim = host->sim;
    if (rule->fault == PLAN_PAUSE) {
        host->paused_until_ns =
            later(host->paused_until_ns, end_ns(sim, rule->lasts_ns));
        liveness_harmed(sim, host->paused_until_ns);
        return;
    }
    crash(host, sim->program->task_count);
    if (rule->fault == PLAN_RESTART) {
        come_back(host, rule->lasts_ns);
    }
}

/* At a point the core is in a step: the program ends when that is over. */
static void ask_to_leave(const struct host *host, uint32_t index)
{
    heap_push(host->sim, &(struct event){.time_ns = host->sim->now_ns,
                                         .kind = EVENT_LEAVE,
                                         .index = host->role,
                                         .ticket = index + 1});
}

/* The host of the rank that was struck, as a whole: it is gone before anything on it
 * could see that the first of its ranks is. */
static void strike_all(struct host *struck, uint32_t index)
{
    struct sim *sim = struck->sim;
    const struct plan_rule *rule = &sim->options.plan->rules[index];
    const uint32_t machine = machine_of(sim, struck);
    if (rule->fault != PLAN_PAUSE) {
        cluster_lose_host(sim, machine);
    }
    for (uint32_t i = 0; i < cluster_count(sim, machine); i++) {
        struct host *host = &sim->hosts[cluster_rank(sim, machine, i)];
        if (!host_is_there(host)) {
            continue;
        }
        if (host != struck) {
            count(sim, index, host->rank, UINT32_MAX);
        }
        strike_one(host, rule);
    }
}

static void strike(struct host *host, plan_rules rules)
{
    struct sim *sim = host->sim;
    for (uint32_t i = 0; i < PLAN_RULES_MAX && !host->dead; i++) {
        const struct plan_rule *rule = &sim->options.plan->rules[i];
        if ((rules & PLAN_RULE(i)) && rule->fault == PLAN_LEAVE) {
            ask_to_leave(host, i); /* no chance, and counted when it leaves */
            continue;
        }
        if (!(rules & PLAN_RULE(i)) || !strike_fires(sim, i, host->rank, UINT32_MAX)) {
            continue;
        }
        if (rule->fault == PLAN_FLIP) {
            host->flipped = true;
        } else if (rule->ranks.of_hosts && sim->cluster != NULL) {
            strike_all(host, i);
        } else {
            strike_one(host, rule);
        }
    }
}

static void schedule(struct sim *sim, uint32_t role, uint64_t from_ns)
{
    uint64_t next_ns = plan_next_strike_ns(sim->options.plan, role, from_ns);
    if (next_ns < strike_stop_ns(sim)) {
        heap_push(sim, &(struct event){
                           .time_ns = next_ns, .kind = EVENT_STRIKE, .index = role});
    }
}

/* Whose program is over anyway has nothing to leave early. */
void strike_leave(struct sim *sim, uint32_t role, uint64_t rule)
{
    uint32_t rank = sim->player[role];
    struct host *host = rank != UINT32_MAX ? &sim->hosts[rank] : NULL;
    if (host == NULL || !host_is_there(host) || host->epoch == 0 || host->closed) {
        return;
    }
    if (host->paused_until_ns > sim->now_ns) {
        heap_push(sim, &(struct event){.time_ns = host->paused_until_ns,
                                       .kind = EVENT_LEAVE,
                                       .index = role,
                                       .ticket = rule});
        return;
    }
    if (rule > 0) {
        sim->report->hits.fired[rule - 1]++;
    }
    show(sim, SIGHT_LEAVE, rank, UINT32_MAX, 0);
    lane_leave(host);
}

static void schedule_joins(struct sim *sim)
{
    const struct plan *plan = sim->options.plan;
    uint32_t role = sim->host_count;
    for (uint32_t i = 0; plan != NULL && i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        for (uint32_t k = 0; rule->fault == PLAN_JOIN && k < rule->times; k++) {
            assert(role < sim->program->rank_count);
            heap_push(sim, &(struct event){.time_ns = rule->at_ns,
                                           .kind = EVENT_JOIN,
                                           .index = role++,
                                           .ticket = i + 1});
        }
    }
}

void strike_schedule(struct sim *sim)
{
    uint32_t parts = sim->program->rank_count;
    for (uint32_t role = 0; sim->options.plan != NULL && role < parts; role++) {
        schedule(sim, role, 0);
    }
    schedule_joins(sim);
}

void strike_at_time(struct sim *sim, uint32_t role)
{
    uint32_t rank = sim->player[role];
    if (rank != UINT32_MAX && host_is_there(&sim->hosts[rank])) {
        strike(&sim->hosts[rank],
               plan_strikes(sim->options.plan, role, sim->now_ns, sim->now_ns + 1));
    }
    schedule(sim, role, sim->now_ns + 1);
}

void strike_at_point(struct host *host, enum core_point point)
{
    struct sim *sim = host->sim;
    if (sim->options.plan == NULL || sim->now_ns >= strike_stop_ns(sim)) {
        return;
    }
    strike(host, plan_pass(sim->options.plan, &sim->lived[host->role], host->role,
                           point, sim->now_ns));
}

/* --- Slowness -------------------------------------------------------------------- */

static plan_rules rules_on(struct host *host, enum plan_fault fault)
{
    struct sim *sim = host->sim;
    if (sim->options.plan == NULL || sim->now_ns >= strike_stop_ns(sim)) {
        return 0;
    }
    return plan_state(sim->options.plan, &sim->lived[host->role], host->role, fault,
                      sim->now_ns);
}

void strike_after_turn(struct host *host)
{
    struct sim *sim = host->sim;
    plan_rules rules = rules_on(host, PLAN_GAP);
    for (uint32_t i = 0; rules >> i != 0 && i < PLAN_RULES_MAX; i++) {
        if (!(rules & PLAN_RULE(i)) || !strike_fires(sim, i, host->rank, UINT32_MAX)) {
            continue;
        }
        uint64_t gap_ns = plan_spread_ns(&sim->options.plan->rules[i].spread,
                                         random_next(&sim->faults));
        host->deaf_until_ns = later(host->deaf_until_ns, end_ns(sim, gap_ns));
        liveness_harmed(sim, host->deaf_until_ns);
    }
}

uint64_t strike_slow_ns(struct host *host, uint64_t took_ns)
{
    struct sim *sim = host->sim;
    plan_rules rules = rules_on(host, PLAN_SLOW);
    uint64_t more_ns = 0;
    for (uint32_t i = 0; rules >> i != 0 && i < PLAN_RULES_MAX; i++) {
        if ((rules & PLAN_RULE(i)) && strike_fires(sim, i, host->rank, UINT32_MAX)) {
            more_ns += plan_slow_ns(&sim->options.plan->rules[i], took_ns,
                                    random_next(&sim->faults));
        }
    }
    return more_ns;
}

/* --- Disks ----------------------------------------------------------------------- */

bool strike_disk(struct host *host, enum plan_fault fault, uint64_t *more_ns)
{
    struct sim *sim = host->sim;
    plan_rules rules = rules_on(host, fault);
    bool fired = false;
    for (uint32_t i = 0; rules >> i != 0 && i < PLAN_RULES_MAX; i++) {
        if ((rules & PLAN_RULE(i)) && strike_fires(sim, i, host->rank, UINT32_MAX)) {
            fired = true;
            *more_ns += plan_spread_ns(&sim->options.plan->rules[i].spread,
                                       random_next(&sim->faults));
        }
    }
    return fired;
}

/* --- Clocks ---------------------------------------------------------------------- */

static bool has_clocks(const struct sim *sim)
{
    const struct plan *plan = sim->options.plan;
    for (uint32_t i = 0; plan != NULL && i < plan->rule_count; i++) {
        if (plan->rules[i].fault == PLAN_CLOCK) {
            return true;
        }
    }
    return false;
}

static uint64_t ahead_ns(const struct sim *sim, uint32_t role)
{
    const struct storm *storm = storm_of(sim);
    return storm->ahead_ns != NULL ? storm->ahead_ns[role] : 0;
}

uint64_t sim_clock_ns(const struct sim *sim, uint32_t rank)
{
    uint32_t role = sim->hosts[rank].role;
    uint64_t counted_ns = has_clocks(sim)
                              ? plan_clock_ns(sim->options.plan, role, sim->now_ns)
                              : sim->now_ns;
    return counted_ns + ahead_ns(sim, role);
}

/* A clock rule counts when a rank first reads by it. */
uint64_t strike_clock_ns(struct host *host)
{
    struct sim *sim = host->sim;
    if (has_clocks(sim)) {
        plan_rules rules = plan_state(sim->options.plan, &sim->lived[host->role],
                                      host->role, PLAN_CLOCK, sim->now_ns) &
                           ~host->clocked;
        host->clocked |= rules;
        for (uint32_t i = 0; rules >> i != 0 && i < PLAN_RULES_MAX; i++) {
            if (rules & PLAN_RULE(i)) {
                count(sim, i, host->rank, UINT32_MAX);
            }
        }
    }
    return sim_clock_ns(sim, host->rank);
}

uint64_t strike_when_ns(const struct host *host, uint64_t clock_ns)
{
    const struct sim *sim = host->sim;
    uint64_t shown_ns = sim_clock_ns(sim, host->rank);
    if (clock_ns == CORE_NEVER || clock_ns <= shown_ns) {
        return clock_ns == CORE_NEVER ? CORE_NEVER : sim->now_ns;
    }
    if (!has_clocks(sim)) {
        return sim->now_ns + (clock_ns - shown_ns);
    }
    return plan_clock_reaches_ns(sim->options.plan, host->role,
                                 clock_ns - ahead_ns(sim, host->role));
}

/* --- Newcomers ------------------------------------------------------------------- */

/* Each start has its own number, also one that dies before it is let in. */
void strike_join(struct sim *sim, uint32_t role, uint64_t rule)
{
    uint32_t rank = sim->host_count;
    if (rule > 0) {
        sim->report->hits.fired[rule - 1]++;
    }
    host_open(sim, rank, role);
    show(sim, SIGHT_BEGIN, rank, UINT32_MAX, role);
    host_step(&sim->hosts[rank], &(struct core_event){.type = CORE_EV_TICK});
}

/* --- Views ----------------------------------------------------------------------- */

static void part(struct host *host, uint32_t rank)
{
    struct sim *sim = host->sim;
    bool abandon = storm_of(sim)->abandon;
    if (!sim->harmed && !abandon) {
        return;
    }
    struct pair *pair = network_pair(sim, host->rank, rank);
    if (abandon && pair->void_until_ns == 0) {
        pair->void_until_ns = sim->now_ns;
    }
    if (sim->harmed && !pair->forgotten) {
        carrier_forget(host, rank);
    }
}

/* Ranks that are no members are removed, unless this rank's core does not know the
 * number: it may be a newcomer's of a view that is yet to come. */
void strike_enter_view(struct host *host, const struct rankset *members)
{
    struct sim *sim = host->sim;
    for (uint32_t rank = 0; rank < sim->host_count; rank++) {
        if (rank != host->rank && !rankset_has(members, rank) &&
            core_incarnation(host->core, rank) != 0) {
            part(host, rank);
        }
    }
    if (!rankset_copy(&host->members, members)) {
        abort();
    }
}
