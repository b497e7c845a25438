/* cluster.c - hosts that ranks are on: links between them, relays, and their agents.
 *
 * With a cluster (sim.h) ranks of one host speak to each other in a fraction of the
 * latency, and all that passes between two hosts shares one link each way.  Where two
 * hosts have no link a frame goes by relays, as on real ranks (consensus/route/route.h
 * and the carrier): a rank of the next host on the way, which sends it on when it looks
 * at what came.  A rank that is over relays nothing, but for one that has adjourned: it
 * stays for its links.  What a rank held when it died is lost, and so is a frame that
 * would go back where it came from.
 *
 * A rank takes a host for gone when its view has nobody on it, and for silent when
 * nothing has passed for a third of the time to suspicion between the two hosts, if it
 * sends by that one.  Of a process that has ended on a host that is up it knows a
 * moment later, as that host says so.  It looks now and then; so for a while ranks may
 * send frames where none comes through.
 *
 * On each host there is an *agent* that has started the ranks, and reaps them.  Where a
 * storm certifies deaths, agents tell each other's ranks of those that they have
 * reaped. An agent goes with its host, and with it what it had still to tell; and its
 * news wait for a link that is cut.  Nobody vouches for a host that is silent.
 */
#include "consensus/sim/engine/sim_internal.h"
#include <stdlib.h>

enum { SILENT_SHARE = 3, LOOKS = 10, REAP_MOST_NS = 500000, RESET_WAYS = 2 };

struct cluster_host {
    uint32_t *ranks; /* that have begun on it */
    uint32_t count, room;
    uint64_t gone_ns;      /* CORE_NEVER: it is up */
    uint64_t lives;        /* how often it has been lost */
    struct sim_port *ways; /* to each host; NULL: nothing was sent yet */
};

struct cluster {
    const struct sim_cluster *plan;
    struct cluster_host *hosts;
};

uint32_t sim_cluster_host(const struct sim_cluster *cluster, uint32_t part)
{
    uint32_t host = part / cluster->host_ranks;
    return host < cluster->hosts ? host : part % cluster->hosts;
}

void cluster_open(struct sim *sim)
{
    if (sim->options.cluster == NULL) {
        return;
    }
    sim->cluster = sim_alloc(1, sizeof(*sim->cluster));
    sim->cluster->plan = sim->options.cluster;
    sim->cluster->hosts =
        sim_alloc(sim->options.cluster->hosts, sizeof(*sim->cluster->hosts));
    for (uint32_t host = 0; host < sim->options.cluster->hosts; host++) {
        sim->cluster->hosts[host].gone_ns = CORE_NEVER;
    }
}

void cluster_close(struct sim *sim)
{
    if (sim->cluster == NULL) {
        return;
    }
    for (uint32_t host = 0; host < sim->cluster->plan->hosts; host++) {
        free(sim->cluster->hosts[host].ranks);
        free(sim->cluster->hosts[host].ways);
    }
    free(sim->cluster->hosts);
    free(sim->cluster);
}

/* --- Hosts ------------------------------------------------------------------------ */

static struct cluster_host *host_of(const struct sim *sim, uint32_t rank)
{
    return &sim->cluster->hosts[sim->machines[rank]];
}

void cluster_begin(struct sim *sim, uint32_t rank)
{
    struct cluster_host *host = host_of(sim, rank);
    if (host->count == host->room) {
        host->room = 2 * host->room + 4;
        host->ranks = realloc(host->ranks, host->room * sizeof(*host->ranks));
        if (host->ranks == NULL) {
            abort();
        }
    }
    host->ranks[host->count++] = rank;
    host->gone_ns = CORE_NEVER;
}

void cluster_lose_host(struct sim *sim, uint32_t machine)
{
    sim->cluster->hosts[machine].gone_ns = sim->now_ns;
    sim->cluster->hosts[machine].lives++;
}

bool cluster_is_gone(const struct sim *sim, uint32_t machine)
{
    return sim->cluster != NULL && sim->cluster->hosts[machine].gone_ns != CORE_NEVER;
}

uint32_t cluster_count(const struct sim *sim, uint32_t machine)
{
    return sim->cluster->hosts[machine].count;
}

uint32_t cluster_rank(const struct sim *sim, uint32_t machine, uint32_t index)
{
    return sim->cluster->hosts[machine].ranks[index];
}

bool cluster_relays(const struct sim *sim)
{
    return sim->cluster != NULL && sim->cluster->plan->route != NULL;
}

/* --- What a rank knows ------------------------------------------------------------ */

/* Plans' cuts are over when faults stop. */
static bool is_parted(const struct sim *sim, uint32_t from, uint32_t to,
                      uint64_t since_ns, uint64_t *until_ns)
{
    *until_ns = sim->now_ns;
    return sim->options.plan != NULL && sim->now_ns < strike_stop_ns(sim) &&
           plan_parts_hosts(sim->options.plan, from, to, since_ns, sim->now_ns,
                            until_ns);
}

static uint64_t silent_ns(const struct sim *sim)
{
    return sim->weather.suspect_ns / SILENT_SHARE;
}

/* Nothing has passed between the two hosts for as long; either way is enough for that.
 */
static bool is_silent(const struct sim *sim, uint32_t host, uint32_t other)
{
    uint64_t gone_ns = sim->cluster->hosts[other].gone_ns, until_ns;
    return (gone_ns != CORE_NEVER && gone_ns + silent_ns(sim) <= sim->now_ns) ||
           is_parted(sim, host, other, silent_ns(sim), &until_ns) ||
           is_parted(sim, other, host, silent_ns(sim), &until_ns);
}

static bool is_removed(const struct sim *sim, uint32_t rank, uint32_t other)
{
    const struct host *host = &sim->hosts[rank];
    return sim->options.storm != NULL && host->epoch > 0 &&
           core_incarnation(host->core, other) != 0 &&
           !rankset_has(&host->members, other);
}

/* A rank that has adjourned stays for its links, and for what others send by it. */
static bool may_relay(const struct host *host)
{
    return host->core != NULL && host->epoch > 0 &&
           (!host_is_over(host) || (host->adjourned && !host->dead));
}

/* `rank` takes the other for one that sends on what it gets: its host would say if it
 * had ended. */
static bool is_thought_to_relay(const struct sim *sim, uint32_t rank, uint32_t other)
{
    const struct host *relay = &sim->hosts[other];
    const uint64_t way_ns = sim->weather.latency_ns + sim->weather.jitter_ns;
    return !is_removed(sim, rank, other) &&
           (may_relay(relay) || (host_is_over(relay) &&
                                 (cluster_is_gone(sim, sim->machines[other]) ||
                                  relay->over_ns + RESET_WAYS * way_ns > sim->now_ns)));
}

static uint32_t pick_relay(const struct sim *sim, uint32_t rank, uint32_t machine,
                           uint32_t spread)
{
    const struct cluster_host *host = &sim->cluster->hosts[machine];
    for (uint32_t i = 0; i < host->count; i++) {
        uint32_t other = host->ranks[(spread + i) % host->count];
        if (is_thought_to_relay(sim, rank, other)) {
            return other;
        }
    }
    return UINT32_MAX;
}

/* --- Ways ------------------------------------------------------------------------- */

/* By host: as the rank knows them, and where what is for them goes. */
struct cluster_ways {
    uint64_t looked_ns, epoch;
    bool found;
    enum route_host *states;
    uint32_t *next;
};

/* One of those to which the rank sends. */
static bool is_hop(const struct cluster_ways *ways, uint32_t hosts, uint32_t machine)
{
    for (uint32_t to = 0; to < hosts; to++) {
        if (ways->next[to] == machine) {
            return true;
        }
    }
    return false;
}

static enum route_host state_of(const struct sim *sim, uint32_t rank, uint32_t machine,
                                const struct cluster_ways *ways)
{
    const struct cluster_host *host = &sim->cluster->hosts[machine];
    const uint32_t own = sim->machines[rank];
    bool gone = host->count > 0;
    for (uint32_t i = 0; i < host->count && gone; i++) {
        gone = is_removed(sim, rank, host->ranks[i]);
    }
    if (gone || machine == own) {
        return gone && machine != own ? ROUTE_GONE : ROUTE_UP;
    }
    const bool asked =
        ways->found && (ways->states[machine] == ROUTE_SILENT ||
                        is_hop(ways, sim->cluster->plan->hosts, machine));
    return asked && is_silent(sim, own, machine) ? ROUTE_SILENT : ROUTE_UP;
}

/* Looks now and then, and when its view is another. */
static const uint32_t *look(struct sim *sim, uint32_t rank)
{
    struct host *host = &sim->hosts[rank];
    const uint32_t hosts = sim->cluster->plan->hosts;
    bool changed = false;
    if (host->ways == NULL) {
        host->ways = sim_alloc(1, sizeof(*host->ways));
        host->ways->states = sim_alloc(hosts, sizeof(*host->ways->states));
        host->ways->next = sim_alloc(hosts, sizeof(*host->ways->next));
    }
    struct cluster_ways *ways = host->ways;
    const uint64_t again_ns = ways->looked_ns + silent_ns(sim) / LOOKS;
    const bool still = sim->options.storm == NULL ||
                       (sim->now_ns < again_ns && ways->epoch == host->epoch);
    if (ways->found && still) {
        return ways->next;
    }
    ways->looked_ns = sim->now_ns;
    ways->epoch = host->epoch;
    for (uint32_t machine = 0; machine < hosts; machine++) {
        enum route_host state = state_of(sim, rank, machine, ways);
        changed |= state != ways->states[machine];
        ways->states[machine] = state;
    }
    if (changed || !ways->found) {
        route_find(sim->cluster->plan->route, sim->machines[rank], ways->states,
                   ways->next);
        ways->found = true;
    }
    return ways->next;
}

void cluster_forget(struct host *host)
{
    if (host->ways != NULL) {
        free(host->ways->states);
        free(host->ways->next);
        free(host->ways);
    }
}

/* The same from both ends, so that answers come back as questions went. */
static uint32_t mix_pair(uint32_t a, uint32_t b)
{
    return (uint32_t)random_mix(a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a);
}

/* The rank to which the flight goes from where it is; UINT32_MAX: there is none, or it
 * would go back. */
static uint32_t next_rank(struct sim *sim, const struct sim_flight *flight)
{
    const uint32_t machine = sim->machines[flight->at],
                   goal = sim->machines[flight->to];
    if (machine == goal || !cluster_relays(sim)) {
        return flight->to;
    }
    const uint32_t next = look(sim, flight->at)[goal];
    if (next == goal) {
        return flight->to;
    }
    const bool back = flight->hops > 0 && next == flight->came_from;
    return back || flight->hops == ROUTE_HOPS_MAX
               ? UINT32_MAX
               : pick_relay(sim, flight->at, next, mix_pair(flight->from, flight->to));
}

/* --- Frames ----------------------------------------------------------------------- */

static void note_way(struct sim *sim, const struct sim_flight *flight)
{
    struct sim_links *links = &sim->report->links;
    uint64_t bytes = flight->parcel != NULL ? parcel_bytes(flight->parcel)
                                            : (uint64_t)WIRE_ENVELOPE_BYTES;
    uint32_t from = sim->machines[flight->at], to = sim->machines[flight->next];
    sim->hosts[flight->at].sent_frames++;
    sim->hosts[flight->at].sent_bytes += bytes;
    if (from == to) {
        links->local_frames++;
        links->local_bytes += bytes;
        return;
    }
    struct sim_port *way = cluster_way(sim, flight);
    links->frames++;
    links->bytes += bytes;
    links->relayed += flight->at != flight->from;
    way->carried += bytes;
    if (way->carried > links->busiest_bytes) {
        links->busiest_bytes = way->carried;
        links->busiest_from = from;
        links->busiest_to = to;
    }
}

struct sim_port *cluster_way(struct sim *sim, const struct sim_flight *flight)
{
    uint32_t from = sim->machines[flight->at], to = sim->machines[flight->next];
    struct cluster_host *host = &sim->cluster->hosts[from];
    if (from == to) {
        return NULL;
    }
    if (host->ways == NULL) {
        host->ways = sim_alloc(sim->cluster->plan->hosts, sizeof(*host->ways));
    }
    return &host->ways[to];
}

bool cluster_is_local(const struct sim *sim, const struct sim_flight *flight)
{
    return sim->cluster != NULL &&
           sim->machines[flight->at] == sim->machines[flight->next];
}

/* Two that are there miss it, or wait for it. */
static void show_lost(struct sim *sim, const struct sim_flight *flight, bool late)
{
    const struct host *from = &sim->hosts[flight->from], *to = &sim->hosts[flight->to];
    if (host_is_there(from) && host_is_there(to)) {
        liveness_harmed(sim, sim->now_ns);
        sim_see(sim, &(struct sight){.type = SIGHT_LOST,
                                     .time_ns = sim->now_ns,
                                     .rank = flight->from,
                                     .peer = flight->to,
                                     .code = late,
                                     .task = sim->program->task_count});
    }
}

void cluster_drop(struct sim *sim, struct sim_flight *flight)
{
    sim->report->links.lost++;
    show_lost(sim, flight, false);
    flight_free(flight);
}

/* An agent takes a silence for a death. */
static void bear_false_witness(struct sim *sim, const struct sim_flight *flight)
{
    if (host_is_there(&sim->hosts[flight->from]) &&
        host_is_there(&sim->hosts[flight->to]) &&
        sim_canary(sim, SIM_CANARY_FALSE_WITNESS)) {
        heap_push(sim, &(struct event){.time_ns = sim->now_ns,
                                       .kind = EVENT_REAP,
                                       .rank = flight->from,
                                       .index = flight->to,
                                       .ticket = sim->program->task_count});
    }
}

bool cluster_aim(struct sim *sim, struct sim_flight *flight)
{
    flight->next = next_rank(sim, flight);
    if (flight->next == UINT32_MAX) {
        cluster_drop(sim, flight);
        return false;
    }
    if (sim->options.plan != NULL && harm_cuts_link(sim, flight)) {
        bear_false_witness(sim, flight);
        cluster_drop(sim, flight);
        return false;
    }
    if (!cluster_is_local(sim, flight)) {
        flight->came_from = sim->machines[flight->at];
        flight->hops++;
    }
    note_way(sim, flight);
    return true;
}

/* Until when the relay does not look at its messages. */
static uint64_t held_up_ns(const struct host *host)
{
    return host->paused_until_ns > host->deaf_until_ns ? host->paused_until_ns
                                                       : host->deaf_until_ns;
}

void cluster_arrive(struct sim *sim, struct sim_flight *flight)
{
    uint64_t poll_ns = random_below(&sim->delays, sim->weather.poll_ns + 1);
    flight->at = flight->next;
    heap_push(sim, &(struct event){.time_ns = sim->now_ns + poll_ns,
                                   .kind = EVENT_RELAY,
                                   .rank = flight->at,
                                   .flight = flight});
}

void cluster_relay(struct sim *sim, struct sim_flight *flight)
{
    const struct host *relay = &sim->hosts[flight->at];
    if (!may_relay(relay)) {
        cluster_drop(sim, flight);
    } else if (held_up_ns(relay) > sim->now_ns) {
        if (relay->paused_until_ns > sim->now_ns) {
            show_lost(sim, flight, true);
        }
        heap_push(sim, &(struct event){.time_ns = held_up_ns(relay),
                                       .kind = EVENT_RELAY,
                                       .rank = flight->at,
                                       .flight = flight});
    } else {
        network_launch(sim, NULL, flight, 0, flight->overtaken);
    }
}

/* --- Agents ----------------------------------------------------------------------- */

void cluster_reap(struct sim *sim, uint32_t dead)
{
    const uint32_t machine = sim->machines[dead];
    uint64_t reaped_ns = sim->now_ns + random_below(&sim->reaping, REAP_MOST_NS);
    for (uint32_t other = 0; other < sim->cluster->plan->hosts; other++) {
        if (other != machine) {
            heap_push(sim,
                      &(struct event){.time_ns = reaped_ns,
                                      .kind = EVENT_NEWS,
                                      .rank = dead,
                                      .index = other,
                                      .ticket = sim->cluster->hosts[machine].lives});
        }
    }
}

void cluster_tell(struct sim *sim, const struct event *event)
{
    const uint32_t machine = sim->machines[event->rank];
    const struct cluster_host *other = &sim->cluster->hosts[event->index];
    uint64_t until_ns, back_ns;
    if (sim->cluster->hosts[machine].lives != event->ticket) {
        return; /* what it had not told is gone */
    }
    bool parted = is_parted(sim, machine, event->index, 0, &until_ns);
    parted |= is_parted(sim, event->index, machine, 0, &back_ns);
    until_ns = until_ns > back_ns ? until_ns : back_ns;
    if (parted) {
        struct event later = *event;
        later.time_ns = until_ns < strike_stop_ns(sim) ? until_ns : strike_stop_ns(sim);
        if (later.time_ns != CORE_NEVER) {
            heap_push(sim, &later);
        }
        return;
    }
    for (uint32_t i = 0; i < other->count; i++) {
        uint64_t way_ns = sim->weather.latency_ns +
                          random_below(&sim->reaping, sim->weather.jitter_ns + 1);
        heap_push(sim, &(struct event){.time_ns = sim->now_ns + way_ns,
                                       .kind = EVENT_REAP,
                                       .rank = other->ranks[i],
                                       .index = event->rank,
                                       .ticket = sim->program->task_count});
    }
}

/* --- The report ------------------------------------------------------------------- */

void cluster_report(struct sim *sim)
{
    struct sim_links *links = &sim->report->links;
    if (sim->cluster == NULL) {
        return;
    }
    links->hosts = sim->cluster->plan->hosts;
    for (uint32_t machine = 0; machine < links->hosts; machine++) {
        const struct cluster_host *host = &sim->cluster->hosts[machine];
        for (uint32_t i = 0; machine < SIM_HOSTS_TOLD && i < host->count; i++) {
            const struct host *rank = &sim->hosts[host->ranks[i]];
            struct sim_busiest *most = &links->busiest[machine];
            if (rank->sent_bytes > most->bytes) {
                *most = (struct sim_busiest){host->ranks[i], rank->sent_frames,
                                             rank->sent_bytes};
            }
        }
    }
}
