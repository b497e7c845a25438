/* sim.c - builds the world, turns the crank, and tells why it stopped.
 *
 * A run ends well when every rank has adjourned.  It ends badly when a check fails,
 * when no event is left and some rank has not adjourned, or when the program has got
 * nowhere for STILL_NS of virtual time beyond what the plan and failure detection may
 * take (timers alone keep the heap filled): that is the check "quiescence", and its
 * dump says who waits for what.  A program whose own code or kernels run is not stuck.
 * Once no fault strikes any more the program may stand still for much less: liveness.c.
 */
#include "consensus/core_view.h"
#include "consensus/sim/engine/sim_internal.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECONDS(n) (UINT64_C(1000) * (n))
#define STILL_NS UINT64_C(5000000000)
#define EVENTS_MAX UINT64_C(20000000)
#define EVENTS_PER_TASK_MAX 100 /* and rank, beyond that */
#define STILL_ASK_DELAYS 200    /* a busy rank asks after a hundred */
#define DRAWN_FANOUT_MAX 3

enum {
    STREAM_WEATHER = 101,
    STREAM_DELAYS,
    STREAM_DURATIONS,
    STREAM_UIDS,
    STREAM_REAPING,
    STREAM_FAULTS,
    STREAM_SPARING,
    STREAM_MEMORY,
    STREAM_TREES = 120,
    STREAM_WRITING = 130
};

void *sim_alloc(size_t count, size_t size)
{
    void *memory = calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* --- Canaries --------------------------------------------------------------------- */

const char *sim_canary_name(enum sim_canary canary)
{
    static const char *const names[] = {"none",
#define X(name, text, check) text,
                                        SIM_CANARIES(X)
#undef X
    };
    return canary < SIM_CANARY_END ? names[canary] : "?";
}

const char *sim_canary_check(enum sim_canary canary)
{
    static const char *const checks[] = {"none",
#define X(name, text, check) check,
                                         SIM_CANARIES(X)
#undef X
    };
    return canary < SIM_CANARY_END ? checks[canary] : "?";
}

bool sim_canary(struct sim *sim, enum sim_canary canary)
{
    if (sim->options.canary != canary || sim->canary_done) {
        return false;
    }
    sim->canary_done = true;
    return true;
}

/* --- Weather ---------------------------------------------------------------------- */

/* So few that programs of some ranks have trees of some height; now and then none. */
static void draw_trees(uint64_t seed, struct sim_weather *weather)
{
    struct random random = random_stream(seed, STREAM_TREES);
    weather->tree_fanout = (uint32_t)random_below(&random, DRAWN_FANOUT_MAX + 1);
    weather->part_bytes =
        random_chance(&random, 500) ? random_between(&random, 1000, 20000) : 0;
}

void sim_weather_draw(uint64_t seed, uint32_t ranks, struct sim_weather *out)
{
    struct random random = random_stream(seed, STREAM_WEATHER);
    bool rough = random_chance(&random, 500);
    bool deaf = random_chance(&random, 300);
    bool hasty = random_chance(&random, 200);
    *out = (struct sim_weather){
        .latency_ns = random_between(&random, 500, MICROSECONDS(20)),
        .jitter_ns = random_below(&random, MICROSECONDS(rough ? 100 : 2)),
        .spike_per_mille = rough ? 20 : 0,
        .spike_ns = MICROSECONDS(3000),
        .bulk_ns = random_below(&random, MICROSECONDS(500)),
        .poll_ns = random_below(&random, MICROSECONDS(rough ? 50 : 1)),
        .gap_per_mille = deaf ? 50 : 0,
        .gap_ns = MICROSECONDS(5000),
        .step_ns = random_between(&random, 50, 2000),
        .slow = random_chance(&random, 300) ? 1 + (uint32_t)random_below(&random, ranks)
                                            : 0,
        .workers = (uint32_t)random_below(&random, 4),
        .ask_delay_ns = MICROSECONDS(random_between(&random, 0, 300)),
        .gossip_period_ns = MICROSECONDS(random_between(&random, 20, 2000)),
        .vote_timeout_ns =
            hasty ? MICROSECONDS(random_between(&random, 10, 1000)) : CORE_NEVER,
        .voters = (uint32_t)random_between(&random, 1, 5),
        .crashes = SIM_CRASHES,
    };
    draw_trees(seed, out);
}

void sim_memory_draw(uint64_t seed, struct sim_weather *weather)
{
    struct random random = random_stream(seed, STREAM_MEMORY);
    uint64_t drops = random_below(&random, 4); /* not, not, soon, where it is short */
    weather->drop_above = drops == 3 ? UINT32_MAX : drops == 2 ? 1 : 0;
    weather->presses = drops == 3;
    weather->spare_per_mille =
        random_chance(&random, 500) ? (uint32_t)random_between(&random, 20, 500) : 0;
    weather->together = (uint32_t)random_between(&random, 1, STUBS_TOGETHER_MAX);
    bool lots = drops >= 2 && random_chance(&random, 500);
    weather->lot_after = lots ? random_between(&random, 1, SIM_LOT_AFTER_MAX) : 0;
}

/* --- Watchers --------------------------------------------------------------------- */

struct digest {
    crypto_generichash_state state;
};

/* The digest covers what happened, when and to whom, and the bytes of every result. */
static void digest_see(struct digest *digest, const struct sight *sight)
{
    uint64_t facts[6] = {
        sight->time_ns,
        (uint64_t)sight->type << 32 | sight->rank,
        (uint64_t)sight->lane << 32 | sight->peer,
        (uint64_t)sight->task << 32 | (uint32_t)sight->code,
        sight->message != NULL ? (uint64_t)sight->message->type : 0,
        (uint64_t)sight->point << 32 | (uint64_t)sight->evidence,
    };
    crypto_generichash_update(&digest->state, (const uint8_t *)facts, sizeof(facts));
    if (sight->data != NULL) {
        crypto_generichash_update(&digest->state, sight->data, sight->size);
    }
}

static void digest_watch(void *context, struct sim *sim, const struct sight *sight)
{
    (void)sim;
    digest_see(context, sight);
}

void sim_see(struct sim *sim, const struct sight *sight)
{
    for (size_t i = 0; i < sim->options.watcher_count; i++) {
        sim->options.watchers[i].see(sim->options.watchers[i].context, sim, sight);
    }
}

void sim_fail(struct sim *sim, const char *check, const char *format, ...)
{
    struct sim_report *report = sim->report;
    if (report->failed) {
        return;
    }
    report->failed = true;
    (void)snprintf(report->check, sizeof(report->check), "%s", check);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(report->why, sizeof(report->why), format, arguments);
    va_end(arguments);
}

const struct program *sim_program(const struct sim *sim) { return sim->program; }

uint64_t sim_uid(const struct sim *sim, uint32_t rank) { return sim->uids[rank]; }

uint32_t sim_tree_fanout(const struct sim *sim) { return sim->weather.tree_fanout; }

uint32_t sim_voters(const struct sim *sim) { return sim->weather.voters; }

uint32_t sim_crashes(const struct sim *sim) { return sim->weather.crashes; }

enum core_mode sim_mode(const struct sim *sim) { return sim->weather.mode; }

uint64_t sim_lease_ns(const struct sim *sim) { return sim->weather.lease_ns; }

uint32_t sim_direct_max(const struct sim *sim)
{
    uint32_t most = sim->weather.direct_max;
    return most != 0 ? most : 64;
}

const struct plan *sim_plan(const struct sim *sim) { return sim->options.plan; }

const struct storm *sim_storm(const struct sim *sim) { return sim->options.storm; }

uint32_t sim_rank_limit(const struct sim *sim)
{
    const struct storm *storm = sim->options.storm;
    return sim->program->rank_count + (storm != NULL ? storm->comebacks : 0);
}

uint32_t sim_rank_count(const struct sim *sim) { return sim->host_count; }

uint32_t sim_role(const struct sim *sim, uint32_t rank)
{
    return sim->hosts[rank].role;
}

const uint32_t *sim_machines(const struct sim *sim) { return sim->machines; }

void sim_moved(struct sim *sim) { sim->moved_ns = sim->now_ns; }

/* --- The crank -------------------------------------------------------------------- */

/* Until when the host does not do such a thing. */
static uint64_t held_up_ns(const struct host *host, const struct event *event)
{
    if (event->kind == EVENT_ARRIVE) {
        return 0;
    }
    bool deaf =
        event->kind == EVENT_LINK && host->deaf_until_ns > host->paused_until_ns;
    return deaf ? host->deaf_until_ns : host->paused_until_ns;
}

/* A host that is not there misses what happens; one that stands still has it later. */
static bool is_put_off(struct sim *sim, struct event *event)
{
    const struct host *host = &sim->hosts[event->rank];
    bool there = host_is_there(host);
    if (event->kind == EVENT_ARRIVE || event->kind == EVENT_POLL ||
        event->kind == EVENT_LINK) {
        there = there || carrier_lingers(host);
    }
    if (!there ||
        (event->kind == EVENT_ARRIVE && network_is_void(sim, event->flight))) {
        flight_free(event->flight);
        return true;
    }
    if (event->time_ns >= held_up_ns(host, event)) {
        return false;
    }
    event->time_ns = held_up_ns(host, event);
    heap_push(sim, event);
    return true;
}

/* What happens to no host: false if the event is not of that kind. */
static bool handle_fate(struct sim *sim, const struct event *event)
{
    if (event->kind == EVENT_STRIKE) {
        strike_at_time(sim, event->index);
    } else if (event->kind == EVENT_LEAVE) {
        strike_leave(sim, event->index, event->ticket);
    } else if (event->kind == EVENT_JOIN) {
        strike_join(sim, event->index, event->ticket);
    } else if (event->kind == EVENT_LET_GO) {
        harm_let_go(sim, event->rank, event->index, event->ticket);
    } else if (event->kind == EVENT_LAND) {
        bandwidth_land(sim, event->flight);
    } else if (event->kind == EVENT_RELAY) {
        cluster_relay(sim, event->flight);
    } else if (event->kind == EVENT_NEWS) {
        cluster_tell(sim, event);
    } else if (event->kind == EVENT_ARRIVE && event->rank != event->flight->to) {
        cluster_arrive(sim, event->flight);
    } else {
        return false;
    }
    return true;
}

static void handle(struct sim *sim, struct event *event)
{
    struct host *host = &sim->hosts[event->rank];
    sim->now_ns = event->time_ns;
    if (handle_fate(sim, event) || is_put_off(sim, event)) {
        return;
    }
    switch (event->kind) {
    case EVENT_ARRIVE:
        host_arrive(host, event->flight);
        break;
    case EVENT_POLL:
        host_poll(host);
        break;
    case EVENT_TICK:
        host_tick(host, event->ticket);
        break;
    case EVENT_LANE:
        lane_go_on(host, event->index, event->ticket);
        break;
    case EVENT_WORK:
        worker_go_on(host, event->index, event->ticket);
        break;
    case EVENT_PIECE:
        array_go_on(host, event->index, event->places, event->ticket);
        break;
    case EVENT_LINK:
        carrier_go_on(host, event->index, event->ticket);
        break;
    case EVENT_DISK:
        disk_go_on(host, event->index, event->ticket);
        break;
    case EVENT_ASK:
        boundary_ask_on(host);
        break;
    case EVENT_TOLD:
        boundary_told(host, event->index, event->ticket);
        break;
    case EVENT_REAP:
        strike_reap(host, event->index, (uint32_t)event->ticket);
        break;
    case EVENT_STRIKE:
    case EVENT_JOIN:
    case EVENT_LEAVE:
    case EVENT_LET_GO:
    case EVENT_LAND:
    case EVENT_RELAY:
    case EVENT_NEWS:
    default:
        abort();
    }
    if (host->undone) {
        go_back_restart(host);
    }
}

/* A newcomer that was not let in has nobody left to ask. */
static bool all_are_over(const struct sim *sim)
{
    for (uint32_t rank = 0; rank < sim->host_count; rank++) {
        if (host_is_there(&sim->hosts[rank]) && sim->hosts[rank].epoch > 0) {
            return false;
        }
    }
    return true;
}

static void turn(struct sim *sim)
{
    struct event event;
    const uint64_t events_max = EVENTS_MAX + (uint64_t)sim->program->rank_count *
                                                 sim->program->task_count *
                                                 EVENTS_PER_TASK_MAX;
    const struct sim_weather *weather = &sim->weather;
    const uint64_t still_max_ns =
        STILL_NS + strike_longest_ns(sim) +
        4 * (weather->suspect_ns + weather->lease_ns + weather->quorum_wait_ns +
             weather->gossip_period_ns) +
        STILL_ASK_DELAYS * weather->ask_delay_ns;
    while (!sim->report->failed && !all_are_over(sim)) {
        if (!heap_pop(sim, &event)) {
            sim_fail(sim, "quiescence", "nothing is left to happen");
            return;
        }
        if (event_is_own(&event)) {
            sim->moved_ns = event.time_ns;
        } else {
            liveness_watch(sim, event.time_ns);
        }
        uint64_t since_ns =
            sim->moved_ns > sim->carried_ns ? sim->moved_ns : sim->carried_ns;
        bool still = sim->heap.own == 0 && event.time_ns > since_ns &&
                     event.time_ns - since_ns > still_max_ns;
        if (still) {
            sim_fail(sim, "quiescence", "the program got nowhere for %.0f ms",
                     (double)(event.time_ns - since_ns) / 1e6);
        } else if (++sim->report->counts.events > events_max) {
            sim_fail(sim, "quiescence", "no end after %" PRIu64 " events", events_max);
        }
        if (sim->report->failed) {
            flight_free(event.flight);
            return;
        }
        handle(sim, &event);
    }
}

static void count(struct sim *sim)
{
    struct sim_counts *counts = &sim->report->counts;
    for (uint32_t rank = 0; rank < sim->host_count; rank++) {
        const struct core_stats *stats = core_stats(sim->hosts[rank].core);
        for (int i = 0; i < EVIDENCE_END; i++) {
            counts->yields[i] += stats->yields[i];
        }
        counts->refused += stats->refused;
        counts->violations += stats->violations;
    }
    if (sim_canary(sim, SIM_CANARY_VOTE)) {
        counts->yields[EVIDENCE_BLOCKED]++;
    }
    if (counts->violations > 0) {
        sim_fail(sim, "violations", "cores counted %" PRIu64 " violations",
                 counts->violations);
    }
    if (counts->refused > 0 && sim->options.storm == NULL) {
        sim_fail(sim, "refused", "cores refused %" PRIu64 " messages", counts->refused);
    }
}

static void open_tables(struct sim *sim)
{
    uint32_t limit = sim_rank_limit(sim), parts = sim->program->rank_count;
    struct random uids = random_stream(sim->options.seed, STREAM_UIDS);
    sim->uids = sim_alloc(limit, sizeof(*sim->uids));
    for (uint32_t rank = 0; rank < limit; rank++) {
        sim->uids[rank] = random_next(&uids) | 1;
    }
    sim->machines = sim_alloc(limit, sizeof(*sim->machines));
    sim->hosts = sim_alloc(limit, sizeof(*sim->hosts));
    sim->player = sim_alloc(parts, sizeof(*sim->player));
    for (uint32_t role = 0; role < parts; role++) {
        sim->player[role] = UINT32_MAX;
    }
    if (sim->options.plan != NULL) {
        sim->lived = sim_alloc(parts, sizeof(*sim->lived));
    }
    sim->writer = wire_writer_new();
    if (sim->writer == NULL) {
        abort();
    }
}

static void open_world(struct sim *sim)
{
    const struct plan *plan = sim->options.plan;
    const struct storm *storm = sim->options.storm;
    uint64_t seed = sim->options.seed;
    sim->delays = random_stream(seed, STREAM_DELAYS);
    sim->durations = random_stream(seed, STREAM_DURATIONS);
    sim->reaping = random_stream(seed, STREAM_REAPING);
    sim->faults =
        random_stream(plan != NULL && plan->seeded ? plan->seed : seed, STREAM_FAULTS);
    sim->sparing = random_stream(seed, STREAM_SPARING);
    sim->writing = random_stream(seed, STREAM_WRITING);
    open_tables(sim);
    cluster_open(sim);
    carrier_open(sim);
    sim_identify(sim);
    go_back_open(sim);
    uint32_t first = storm != NULL ? storm->first : sim->program->rank_count;
    for (uint32_t rank = 0; storm != NULL && storm->hosts != NULL && rank < first;
         rank++) {
        sim->machines[rank] = storm->hosts[rank];
    }
    for (uint32_t rank = 0; sim->cluster != NULL && rank < first; rank++) {
        sim->machines[rank] = sim_cluster_host(sim->options.cluster, rank);
    }
    for (uint32_t rank = 0; rank < first; rank++) {
        host_open(sim, rank, rank);
    }
    for (uint32_t rank = 0; rank < first; rank++) {
        lane_start(&sim->hosts[rank]);
    }
    strike_schedule(sim);
    liveness_open(sim);
}

static void close_world(struct sim *sim)
{
    network_release(sim);
    cluster_close(sim);
    for (uint32_t rank = 0; rank < sim->host_count; rank++) {
        host_release(&sim->hosts[rank]);
    }
    go_back_close(sim);
    sim_forget(sim);
    wire_writer_free(sim->writer);
    free(sim->lived);
    free(sim->player);
    free(sim->hosts);
    free(sim->machines);
    free(sim->uids);
}

bool sim_run(const struct sim_options *options, struct sim_report *report)
{
    memset(report, 0, sizeof(*report));
    struct sim sim = {
        .options = *options, .program = options->program, .report = report};
    struct digest digest;
    crypto_generichash_init(&digest.state, NULL, 0, SIM_DIGEST_BYTES);
    size_t count_all = options->watcher_count + 1;
    struct sim_watcher *watchers = sim_alloc(count_all, sizeof(*watchers));
    for (size_t i = 0; i < options->watcher_count; i++) {
        watchers[i] = options->watchers[i];
    }
    watchers[options->watcher_count] = (struct sim_watcher){digest_watch, &digest};
    sim.options.watchers = watchers;
    sim.options.watcher_count = count_all;
    if (options->weather != NULL) {
        sim.weather = *options->weather;
    } else {
        sim_weather_draw(options->seed, options->program->rank_count, &sim.weather);
    }
    if (options->program->agree) {
        sim.weather.vote_timeout_ns = CORE_NEVER; /* a short one may cast votes */
    }
    open_world(&sim);
    turn(&sim);
    count(&sim);
    bandwidth_count(&sim);
    cluster_report(&sim);
    report->end_ns = sim.now_ns;
    if (report->failed) {
        report->dump = dump_world(&sim);
    }
    crypto_generichash_final(&digest.state, report->digest, SIM_DIGEST_BYTES);
    close_world(&sim);
    free(watchers);
    return !report->failed;
}
