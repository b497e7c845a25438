/* bandwidth.c - bytes that take time: what ranks and links carry in a second.
 *
 * Each rank has a port out and a port in, and each ordered pair of ranks a way between
 * them; with a cluster each ordered pair of hosts has one, and what stays on a host
 * takes none.  A port carries `bandwidth` bytes a second, a way `link_bandwidth` (0: as
 * many as there are).  What comes while one is busy waits its turn.  A flight goes
 * through all three at once, as a wire carries it: the slowest sets the pace, and its
 * first byte may arrive before its last one has left.
 *
 * Frames without bulk wait for frames alone, and for the slice of bulk that is under
 * way: bulk goes in slices of SLICE_BYTES.  The bulk behind is later by as much.  Bulk
 * transfers follow one another whole, so of four that one rank sends the first ends
 * after a quarter of the time.  The port in is taken in the order of arrival, and so
 * only when the first byte is there (bandwidth_land).
 *
 * A flight that takes longer than a message may take on an idle wire moves the moment
 * from which standstills count (liveness.h): nobody waits for the protocol meanwhile.
 */
#include "consensus/sim/engine/sim_internal.h"
#include <stdlib.h>

enum { SLICE_BYTES = 1 << 16, STREAM_BANDWIDTH = 111, BOUND_PER_MILLE = 200 };
enum { HEARTBEAT_BYTES = 160, HEARTBEAT_SHARE = 4, SLICES_WAITED = 3 };
#define DRAWN_LEAST                                                                    \
    UINT64_C(100000000) /* bytes a second; a way may carry a quarter                   \
                         */

static uint64_t most_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

bool bandwidth_is_bound(const struct sim *sim)
{
    return sim->weather.bandwidth > 0 || sim->weather.link_bandwidth > 0;
}

/* The time that so many bytes take; rate 0: nothing. */
static uint64_t takes_ns(uint64_t bytes, uint64_t rate)
{
    return rate == 0 ? 0 : (uint64_t)((double)bytes * 1e9 / (double)rate);
}

static uint64_t bytes_of(const struct sim_flight *flight)
{
    return flight->parcel != NULL ? parcel_bytes(flight->parcel)
                                  : (uint64_t)WIRE_ENVELOPE_BYTES;
}

static bool is_bulk(const struct sim_flight *flight)
{
    return flight->parcel != NULL && flight->parcel->bulk != NULL;
}

/* When a flight that is there from at_ns begins to pass, for as long as it takes. */
static uint64_t pass_port(struct sim_port *port, uint64_t at_ns,
                          const struct sim_flight *flight, uint64_t rate)
{
    uint64_t long_ns = takes_ns(bytes_of(flight), rate);
    uint64_t begin_ns = most_of(at_ns, port->control_ns);
    if (is_bulk(flight)) {
        begin_ns = most_of(begin_ns, port->bulk_ns);
        port->bulk_ns = begin_ns + long_ns;
    } else {
        uint64_t slice_ns = takes_ns(SLICE_BYTES, rate);
        if (port->bulk_ns > begin_ns) {
            uint64_t rest_ns = port->bulk_ns - begin_ns;
            begin_ns += rest_ns < slice_ns ? rest_ns : slice_ns;
            port->bulk_ns += long_ns;
        }
        port->control_ns = begin_ns + long_ns;
    }
    port->bytes += bytes_of(flight);
    port->busy_ns += long_ns;
    return begin_ns;
}

/* The last byte is not there before end_ns. */
static void see_held_up(struct sim *sim, const struct sim_flight *flight,
                        uint64_t end_ns)
{
    uint64_t from_ns = sim->cluster != NULL ? flight->left_ns : flight->sent_ns;
    if (end_ns - from_ns > liveness_way_ns(&sim->weather)) {
        liveness_harmed(sim, end_ns);
        sim->carried_ns = most_of(sim->carried_ns, end_ns);
    }
}

uint64_t bandwidth_leave(struct sim *sim, struct pair *pair, struct sim_flight *flight)
{
    const struct sim_weather *weather = &sim->weather;
    struct sim_port *out = &sim->hosts[flight->at].out;
    struct sim_port *way = sim->cluster != NULL ? cluster_way(sim, flight) : &pair->way;
    uint64_t bytes = bytes_of(flight);
    uint64_t first_ns = pass_port(out, sim->now_ns, flight, weather->bandwidth);
    uint64_t last_ns = first_ns + takes_ns(bytes, weather->bandwidth);
    if (way != NULL) {
        first_ns = pass_port(way, first_ns, flight, weather->link_bandwidth);
        last_ns = most_of(last_ns, first_ns + takes_ns(bytes, weather->link_bandwidth));
    }
    flight->tail_ns = last_ns - first_ns;
    return first_ns - sim->now_ns;
}

void bandwidth_fly(struct sim *sim, struct sim_flight *flight, uint64_t first_ns)
{
    see_held_up(sim, flight, first_ns + flight->tail_ns);
    heap_push(sim, &(struct event){.time_ns = first_ns,
                                   .kind = EVENT_LAND,
                                   .rank = flight->next,
                                   .flight = flight});
}

void bandwidth_land(struct sim *sim, struct sim_flight *flight)
{
    uint64_t rate = sim->weather.bandwidth;
    uint64_t first_ns =
        pass_port(&sim->hosts[flight->next].in, sim->now_ns, flight, rate);
    uint64_t end_ns = most_of(first_ns + takes_ns(bytes_of(flight), rate),
                              sim->now_ns + flight->tail_ns);
    see_held_up(sim, flight, end_ns);
    heap_push(sim, &(struct event){.time_ns = end_ns,
                                   .kind = EVENT_ARRIVE,
                                   .rank = flight->next,
                                   .flight = flight});
}

uint64_t bandwidth_longest_ns(const struct sim *sim)
{
    uint64_t most = SLICE_BYTES;
    for (uint32_t i = 0; i < sim->program->task_count; i++) {
        most = most_of(most, sim->program->tasks[i].result_bytes);
    }
    return takes_ns(most, sim->weather.bandwidth) +
           takes_ns(most, sim->weather.link_bandwidth);
}

void bandwidth_count(struct sim *sim)
{
    struct sim_wire *busiest = &sim->report->wire;
    for (uint32_t rank = 0; rank < sim->host_count; rank++) {
        const struct sim_port *out = &sim->hosts[rank].out, *in = &sim->hosts[rank].in;
        if (out->bytes + in->bytes > busiest->out_bytes + busiest->in_bytes) {
            *busiest = (struct sim_wire){.rank = rank,
                                         .out_bytes = out->bytes,
                                         .in_bytes = in->bytes,
                                         .out_busy_ns = out->busy_ns,
                                         .in_busy_ns = in->busy_ns};
        }
    }
}

/* Each rank says that it is there to each other, and is answered. */
static uint64_t round_bytes(uint32_t ranks)
{
    return UINT64_C(2) * (ranks > 1 ? ranks - 1 : 1) * HEARTBEAT_BYTES;
}

/* The time that so many bytes take by a port, and so many by a way, if these are slow.
 */
static uint64_t slow_ns(const struct sim_weather *weather, uint64_t port, uint64_t way)
{
    bool slow =
        weather->sharers > 0 || /* what seeds draw is for pairs */
        (weather->bandwidth > 0 && weather->bandwidth < DRAWN_LEAST) ||
        (weather->link_bandwidth > 0 && weather->link_bandwidth < DRAWN_LEAST / 4);
    return slow ? 2 * takes_ns(port, weather->bandwidth) +
                      takes_ns(way, weather->link_bandwidth)
                : 0;
}

/* A link between hosts carries what all of one say to all of the other. */
static uint64_t way_bytes(const struct sim_weather *weather)
{
    uint64_t sharers = weather->sharers > 0 ? weather->sharers : 1;
    return 2 * sharers * HEARTBEAT_BYTES;
}

uint64_t sim_bandwidth_wait_ns(const struct sim_weather *weather, uint32_t ranks)
{
    return slow_ns(weather, SLICES_WAITED * SLICE_BYTES + 2 * round_bytes(ranks),
                   SLICES_WAITED * SLICE_BYTES + 2 * way_bytes(weather));
}

uint64_t sim_bandwidth_heartbeat_ns(const struct sim_weather *weather, uint32_t ranks)
{
    return HEARTBEAT_SHARE * slow_ns(weather, round_bytes(ranks), way_bytes(weather));
}

void sim_bandwidth_draw(uint64_t seed, struct sim_weather *weather)
{
    struct random random = random_stream(seed, STREAM_BANDWIDTH);
    if (!random_chance(&random, BOUND_PER_MILLE)) {
        return;
    }
    /* 100 MB/s to 12.8 GB/s; in half of the seeds ways are slower than ports. */
    weather->bandwidth = DRAWN_LEAST << random_below(&random, 8);
    if (random_chance(&random, 500)) {
        weather->link_bandwidth = weather->bandwidth / random_between(&random, 1, 4);
    }
}
