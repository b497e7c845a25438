/* liveness.c - see liveness.h. */
#include "consensus/sim/engine/liveness.h"
#include "consensus/sim/engine/sim_internal.h"
#include <stdlib.h>

enum {
    RHO_PPM = 1000,
    TREE_WAYS = 4,
    ASK_PUSHED_DELAYS = 20,
    ASK_BUSY_DELAYS = 100,
    ASK_BUSY_MORE_NS = 1000000,
    AWAIT_TIMES = 2, /* for a word, and then for a push */
    QUIET_PERIODS = 26 + 4,
    STRICT_PERIODS = 1 + 5,
    ARRAY_QUIETS = 2,    /* to give elements up, and to find who has spawned the rest */
    TURN_PERIODS = 4 * 4 /* a round and three more, each four periods late */
};

static uint64_t most_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint32_t rank_count(const struct sim *sim)
{
    return sim->host_count > 0 ? sim->host_count : 1;
}

/* Levels that what concerns all has to pass. */
static uint64_t levels(const struct sim *sim)
{
    uint64_t level = 1;
    if (rank_count(sim) <= sim_direct_max(sim)) {
        return 1;
    }
    for (uint64_t reach = 1; reach < rank_count(sim); reach = reach * TREE_WAYS + 1) {
        level++;
    }
    return level;
}

uint64_t liveness_way_ns(const struct sim_weather *weather)
{
    uint64_t way_ns = weather->latency_ns + weather->jitter_ns + weather->bulk_ns +
                      weather->poll_ns +
                      (weather->spike_per_mille > 0 ? weather->spike_ns : 0) +
                      (weather->gap_per_mille > 0 ? 2 * weather->gap_ns : 0);
    return way_ns * (weather->hops > 1 ? weather->hops : 1);
}

/* At most, where it is learnt. */
static uint64_t ask_delay_ns(const struct sim_weather *weather)
{
    uint64_t factor = weather->adapt & CORE_ADAPT_ASK ? CORE_ASK_FACTOR_MAX : 1;
    return weather->ask_delay_ns * factor;
}

static uint64_t suspect_ns(const struct sim_weather *weather)
{
    uint64_t factor = weather->adapt & CORE_ADAPT_SUSPECT ? CORE_SUSPECT_FACTOR_MAX : 1;
    return weather->suspect_ns * factor;
}

static uint64_t changes(const struct sim *sim)
{
    const struct sim_counts *counts = &sim->report->counts;
    return counts->crashes + counts->fenced + counts->joined + counts->departed +
           counts->reloads;
}

/* By the fastest clock for who waits for the slowest. */
static uint64_t drifting_ns(uint64_t ns) { return ns + ns * 2 * RHO_PPM / 1000000; }

static uint64_t views_ns(const struct sim *sim, uint64_t round_ns)
{
    const struct sim_weather *weather = &sim->weather;
    uint64_t detection_ns =
        drifting_ns(weather->heartbeat_ns + suspect_ns(weather) + weather->lease_ns) +
        liveness_way_ns(weather);
    uint64_t failed = changes(sim);
    uint64_t view_ns =
        weather->batch_ns + weather->stagger_ns * (failed + 2) + 7 * round_ns;
    return most_of(detection_ns + (failed + 1) * view_ns,
                   weather->lease_ns + weather->quorum_wait_ns);
}

/* The most tasks one after the other, each an input of the next. */
static uint64_t longest_chain(const struct program *program)
{
    uint32_t *length = sim_alloc(program->task_count, sizeof(*length));
    uint32_t longest = 1;
    for (uint32_t i = 0; i < program->task_count; i++) {
        const struct program_task *task = &program->tasks[i];
        const struct program_list *lists[] = {&task->inputs, &task->after};
        length[i] = 1;
        for (int list = 0; list < 2; list++) {
            for (uint32_t n = 0; n < lists[list]->count; n++) {
                uint32_t before = lists[list]->items[n];
                if (before < i && length[before] >= length[i]) {
                    length[i] = length[before] + 1;
                }
            }
        }
        longest = length[i] > longest ? length[i] : longest;
    }
    free(length);
    return longest;
}

static bool any_array(const struct program *program)
{
    bool any = false;
    for (uint32_t i = 0; i < program->task_count; i++) {
        any |= program->tasks[i].elements > 0;
    }
    return any;
}

/* All clocks together, as rules about clocks multiply. */
static uint64_t slowest_ppm(const struct sim *sim)
{
    const struct plan *plan = sim->options.plan;
    uint64_t ppm = PLAN_FACTOR_ONE_PPM;
    for (uint32_t i = 0; plan != NULL && i < plan->rule_count; i++) {
        if (plan->rules[i].fault == PLAN_CLOCK &&
            plan->rules[i].factor_ppm < PLAN_FACTOR_ONE_PPM - RHO_PPM) {
            ppm = ppm * plan->rules[i].factor_ppm / PLAN_FACTOR_ONE_PPM;
        }
    }
    return ppm > 0 ? ppm : 1;
}

void liveness_open(struct sim *sim)
{
    sim->longest_chain = longest_chain(sim->program);
    sim->more_quiets = any_array(sim->program) ? ARRAY_QUIETS : 0;
    sim->slowest_ppm = slowest_ppm(sim);
}

/* The time that strict mode takes beside a second QUIET.  Rolls are compared by turns
 * among many (G3), each as late as it may be. */
static uint64_t strict_more_ns(const struct sim *sim, uint64_t round_ns)
{
    uint64_t turns = 0;
    for (uint32_t reach = 1; levels(sim) > 1 && reach < rank_count(sim); reach *= 2) {
        turns++;
    }
    return (STRICT_PERIODS + TURN_PERIODS * turns) * sim->weather.gossip_period_ns +
           3 * round_ns;
}

uint64_t liveness_bound_ns(const struct sim *sim)
{
    const struct sim_weather *weather = &sim->weather;
    uint64_t round_ns = 2 * liveness_way_ns(weather) * levels(sim);
    uint64_t asking_ns =
        sim->longest_chain * (ASK_PUSHED_DELAYS * ask_delay_ns(weather) + round_ns) +
        AWAIT_TIMES * (ASK_BUSY_DELAYS * weather->ask_delay_ns + ASK_BUSY_MORE_NS);
    uint64_t quiet_ns =
        (QUIET_PERIODS + levels(sim)) * weather->gossip_period_ns + 4 * round_ns;
    uint64_t strict_ns =
        weather->mode == CORE_STRICT ? quiet_ns + strict_more_ns(sim, round_ns) : 0;
    uint64_t resending_ns = sim->harmed ? 2 * sim->link_options.rto_max_ns : 0;
    uint64_t bound_ns =
        asking_ns + (1 + sim->more_quiets) * quiet_ns + strict_ns + resending_ns;
    if (sim->options.storm != NULL) {
        bound_ns += views_ns(sim, round_ns);
    }
    return (uint64_t)((double)bound_ns * PLAN_FACTOR_ONE_PPM /
                      (double)sim->slowest_ppm);
}

void liveness_watch(struct sim *sim, uint64_t time_ns)
{
    struct sim_standstill *worst = &sim->report->standstill;
    uint64_t since_ns = most_of(sim->moved_ns, sim->healed_ns);
    if (sim->heap.own > 0 || time_ns <= since_ns) {
        return;
    }
    if (sim->bound_ns == 0 || sim->bound_changes != changes(sim)) {
        sim->bound_ns = liveness_bound_ns(sim);
        sim->bound_changes = changes(sim);
    }
    uint64_t lasts_ns = time_ns - since_ns;
    double share = (double)lasts_ns / (double)sim->bound_ns;
    if (worst->bound_ns == 0 ||
        share > (double)worst->lasted_ns / (double)worst->bound_ns) {
        *worst = (struct sim_standstill){lasts_ns, sim->bound_ns};
    }
    if (lasts_ns > sim->bound_ns) {
        sim_fail(sim, "bound",
                 "the program stands still for %.3f ms, and may for %.3f ms",
                 (double)lasts_ns / 1e6, (double)sim->bound_ns / 1e6);
    }
}

void liveness_harmed(struct sim *sim, uint64_t until_ns)
{
    sim->healed_ns = most_of(sim->healed_ns, until_ns);
}
