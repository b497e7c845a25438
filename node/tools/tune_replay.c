/* tune_replay.c - recorded runs, run again with other timers.
 *
 * The network is drawn as the round trips were: half of the middle one each way, half
 * of what the slow ones took beyond that as jitter, and of the slowest as what happens
 * to a message in a hundred.  On top of that a share of all messages is late, by a draw
 * around the longest round trip: what has not been seen yet may come.
 *
 * The ask delay is learnt, as it is on real ranks.
 */
#include "consensus/sim/engine/sim.h"
#include "consensus/sim/engine/storm.h"
#include "node/tools/tune.h"
#include <inttypes.h>
#include <stdlib.h>

#define MS(n) (UINT64_C(1000000) * (n))

const unsigned tune_rates_per_mille[TUNE_RATES] = {0, 10, 50};

enum { HEARTBEATS_SUSPECT = 6, HEARTBEATS_LEASE = 4, SUSPECTS_QUORUM = 5 };

bool tune_wire_is_bound(const struct tune_wire *wire)
{
    return wire->bandwidth > 0 || wire->link_bandwidth > 0;
}

static uint64_t half_of(int64_t ns) { return ns > 1 ? (uint64_t)ns / 2 : 1; }

static void weather_make(const struct tune_input *input, const struct timers *timers,
                         struct sim_weather *out)
{
    const struct tune_measures *measures = input->measures;
    const struct samples *trips = &measures->trips;
    const int64_t middle_ns = samples_at(trips, 5000);
    const uint64_t beat_ns = timers->suspect_ns / HEARTBEATS_SUSPECT;
    *out = (struct sim_weather){
        .latency_ns = half_of(middle_ns),
        .jitter_ns = half_of(samples_at(trips, 9000) - middle_ns),
        .spike_per_mille = 10,
        .spike_ns = half_of(samples_at(trips, 9990) - middle_ns),
        .bulk_ns = 1000,
        .bandwidth = input->wire.bandwidth,
        .link_bandwidth = input->wire.link_bandwidth,
        .poll_ns = 500,
        .step_ns = 1,
        .workers = measures->workers,
        .ask_delay_ns = MS(1),
        .gossip_period_ns = MS(2),
        .vote_timeout_ns = timers->vote_timeout_ns,
        .adapt = CORE_ADAPT_ASK,
        .voters = 3,
        .heartbeat_ns = beat_ns,
        .lease_ns = HEARTBEATS_LEASE * beat_ns,
        .suspect_ns = timers->suspect_ns,
        .stagger_ns = MS(200),
        .batch_ns = MS(20),
        .quorum_wait_ns = SUSPECTS_QUORUM * timers->suspect_ns,
    };
}

static struct plan *plan_of(const char *text)
{
    struct plan *plan;
    struct plan_error error;
    if (plan_parse(text, &plan, &error) != MOOT_OK) {
        abort();
    }
    return plan;
}

/* --- Waits ------------------------------------------------------------------------ */

static struct plan *late_messages(const struct tune_measures *measures,
                                  unsigned per_mille)
{
    char text[96];
    const int64_t most_us = samples_most(&measures->trips) / 1000;
    if (per_mille == 0) {
        return NULL;
    }
    snprintf(text, sizeof(text), "delay:0.%03u:exp:%" PRId64 "us", per_mille,
             most_us > 0 ? most_us : 1);
    return plan_of(text);
}

static void add_run(struct replayed *to, const struct tally *tally, bool good)
{
    const double runs = (double)to->runs, waits = (double)to->waits;
    const double more = (double)tally->waits.count;
    to->runs++;
    to->broken += !good;
    to->votes += tally_total(tally->votes, EVIDENCE_END);
    to->needless += tally->needless[EVIDENCE_TIMEOUT];
    to->waits += tally->waits.count;
    to->run_ns = (to->run_ns * runs + (double)tally->time_ns) / (runs + 1);
    if (waits + more > 0) {
        to->wait_mean_ns =
            (to->wait_mean_ns * waits + (double)tally->waits.sum_ns) / (waits + more);
    }
    const uint64_t p99_ns = tally_percentile_ns(&tally->waits, 990);
    to->wait_p99_ns = p99_ns > to->wait_p99_ns ? p99_ns : to->wait_p99_ns;
}

static void replay_once(const struct program *program, const struct tune_input *input,
                        const struct timers *timers, const struct plan *plan,
                        uint64_t seed, struct replayed *to)
{
    static struct tally tally;
    static struct sim_report report;
    struct sim_weather weather;
    struct tally_watch *watch = tally_watch_new(program);
    const struct sim_watcher watcher = tally_watcher(watch);
    weather_make(input, timers, &weather);
    const struct sim_options options = {.program = program,
                                        .seed = seed,
                                        .weather = &weather,
                                        .plan = plan,
                                        .notes = true,
                                        .watchers = &watcher,
                                        .watcher_count = 1};
    tally = (struct tally){0};
    const bool good = sim_run(&options, &report);
    tally_watch_end(watch, &report, plan, &tally);
    add_run(to, &tally, good);
    free(report.dump);
}

void tune_replay_waits(const struct tune_input *input, struct candidate *candidate)
{
    for (int rate = 0; rate < TUNE_RATES; rate++) {
        struct plan *plan = late_messages(input->measures, tune_rates_per_mille[rate]);
        for (size_t i = 0; i < input->program_count; i++) {
            for (uint64_t seed = 1; seed <= input->seeds; seed++) {
                replay_once(input->programs[i], input, &candidate->timers, plan, seed,
                            &candidate->at[rate]);
            }
        }
        plan_free(plan);
    }
}

/* --- Deaths ----------------------------------------------------------------------- */

struct mourning {
    uint32_t dead;
    uint64_t died_ns, removed_ns; /* 0: not */
};

static void see_death(void *context, struct sim *sim, const struct sight *sight)
{
    (void)sim;
    struct mourning *mourning = context;
    if (sight->type == SIGHT_CRASH && sight->rank == mourning->dead) {
        mourning->died_ns = sight->time_ns;
    }
    if (sight->type == SIGHT_VIEW && mourning->died_ns != 0 &&
        mourning->removed_ns == 0 && !rankset_has(sight->members, mourning->dead)) {
        mourning->removed_ns = sight->time_ns;
    }
}

/* The last rank falls silent half way through; nobody is told of it. */
static void kill_once(const struct tune_input *input, size_t which,
                      struct candidate *candidate)
{
    static struct sim_report report;
    const struct program *program = input->programs[which];
    const uint32_t ranks = program->rank_count;
    struct mourning mourning = {.dead = ranks - 1};
    const struct sim_watcher watcher = {see_death, &mourning};
    struct sim_weather weather;
    struct storm storm;
    char text[64];
    const uint64_t half_us = (uint64_t)(candidate->at[0].run_ns / 2000) + 1;
    snprintf(text, sizeof(text), "kill:r%" PRIu32 "@%" PRIu64 "us", ranks - 1, half_us);
    struct plan *plan = plan_of(text);
    const struct storm_request request = {.ranks = ranks, .given = plan};
    weather_make(input, &candidate->timers, &weather);
    struct sim_weather scratch = weather;
    storm_default(&request, &scratch, &storm);
    const struct sim_options options = {.program = program,
                                        .seed = 1 + which,
                                        .weather = &weather,
                                        .plan = plan,
                                        .storm = &storm,
                                        .watchers = &watcher,
                                        .watcher_count = 1};
    sim_run(&options, &report);
    free(report.dump);
    storm_release(&storm);
    plan_free(plan);
    if (mourning.removed_ns == 0) {
        return; /* the others had ended */
    }
    const uint64_t took_ns = mourning.removed_ns - mourning.died_ns;
    candidate->removals++;
    if (took_ns > candidate->removal_ns) {
        candidate->removal_ns = took_ns;
    }
}

void tune_replay_death(const struct tune_input *input, struct candidate *candidate)
{
    for (size_t i = 0; i < input->program_count; i++) {
        kill_once(input, i, candidate);
    }
}
