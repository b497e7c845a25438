/* link_layer.c - links over a wire that a plan harms.
 *
 * A wire that the plan leaves alone, and that has no relays that could die, is declared
 * reliable, and frames go as they are.
 * Otherwise each rank has one end of a link (consensus/link/link.h) for each peer that
 * it talks to, and frames carry what links want in their envelopes.  Three kinds of
 * frames go past the link:
 *
 *   HEARTBEAT, GRANT   worthless when late
 *   JOIN               said again and again, to ranks of which some are long gone
 *   all of a pair      that a view has parted: the link is forgotten, and what still
 *                      comes reaches the core, which answers that its sender is FENCED
 *
 * A rank that dies takes its links with it.  One that has adjourned stays for its
 * links: what it said last has to arrive, and what is said to it to be acknowledged.
 */
#include "consensus/sim/engine/sim_internal.h"
#include <stdlib.h>

static void release(void *context, void *frame)
{
    (void)context;
    parcel_free(frame);
}

/* What a round trip takes on this wire, more or less, sets the links' pace. */
void carrier_open(struct sim *sim)
{
    const struct sim_weather *weather = &sim->weather;
    sim->harmed = (sim->options.plan != NULL && plan_harms_wire(sim->options.plan)) ||
                  (sim->options.storm != NULL && cluster_relays(sim));
    uint64_t way_ns = weather->latency_ns + weather->jitter_ns + weather->poll_ns +
                      10000 + bandwidth_longest_ns(sim);
    way_ns *= weather->hops > 1 ? weather->hops : 1;
    sim->link_options = (struct link_options){
        .rto_initial_ns = 6 * way_ns,
        .rto_min_ns = 3 * way_ns,
        .rto_max_ns = 100 * way_ns,
        .ack_delay_ns = way_ns,
        .release = release,
    };
}

bool carrier_lingers(const struct host *host)
{
    return host->sim->harmed && host->adjourned && !host->dead;
}

/* --- Onto the wire ---------------------------------------------------------------- */

static struct link *link_of(struct host *host, struct pair *pair)
{
    if (pair->link == NULL && !pair->forgotten) {
        pair->link = link_new(&host->sim->link_options);
        if (pair->link == NULL) {
            abort();
        }
    }
    return pair->link;
}

static void arm(struct host *host, struct pair *pair)
{
    uint64_t due_ns = link_deadline_ns(pair->link);
    if (due_ns <= host->sim->now_ns) {
        due_ns = host->sim->now_ns + 1;
    }
    if (due_ns >= pair->link_due_ns) {
        return;
    }
    pair->link_due_ns = due_ns;
    heap_push(host->sim, &(struct event){.time_ns = due_ns,
                                         .kind = EVENT_LINK,
                                         .rank = host->rank,
                                         .index = pair->to,
                                         .ticket = due_ns});
}

/* Puts on the wire what the link has for it. */
static void flush(struct host *host, struct pair *pair)
{
    struct sim *sim = host->sim;
    struct sim_counts *counts = &sim->report->counts;
    struct link_transmission out;
    while (link_next(pair->link, sim->now_ns, &out)) {
        struct parcel *parcel = parcel_share(out.frame);
        struct sim_flight *flight = flight_new(sim, host->rank, pair->to, parcel);
        flight->sequence = out.sequence;
        flight->ack = out.ack;
        counts->resent += out.again;
        counts->acks += parcel == NULL;
        network_send(sim, flight);
    }
    arm(host, pair);
}

static bool goes_past(const struct pair *pair, const struct parcel *parcel)
{
    return pair->forgotten || message_is(parcel->message->type, MESSAGE_IS_PAST);
}

void carrier_send(struct host *host, struct parcel *parcel)
{
    struct sim *sim = host->sim;
    uint32_t to = parcel->to;
    if (!sim->harmed) {
        network_send(sim, flight_new(sim, host->rank, to, parcel));
        return;
    }
    struct pair *pair = network_pair(sim, host->rank, to);
    if (goes_past(pair, parcel)) {
        struct sim_flight *flight = flight_new(sim, host->rank, to, parcel);
        flight->ack = pair->link != NULL ? link_ack(pair->link) : 0;
        network_send(sim, flight);
        return;
    }
    if (link_send(link_of(host, pair), parcel) == 0) {
        abort();
    }
    flush(host, pair);
}

void carrier_go_on(struct host *host, uint32_t peer, uint64_t ticket)
{
    struct pair *pair = network_find(host->sim, host->rank, peer);
    if (pair == NULL || pair->link == NULL || ticket != pair->link_due_ns) {
        return;
    }
    pair->link_due_ns = LINK_NEVER;
    flush(host, pair);
}

/* --- Off the wire ----------------------------------------------------------------- */

static void deliver(struct host *host, struct parcel *parcel)
{
    if (!host_is_over(host)) {
        host_receive(host, parcel);
    }
    parcel_free(parcel);
}

static void take_by_link(struct host *host, struct pair *pair,
                         struct sim_flight *flight)
{
    struct link *link = link_of(host, pair);
    struct parcel *frame = flight->sequence != 0 ? parcel_share(flight->parcel) : NULL;
    link_receive(link, host->sim->now_ns, flight->sequence, flight->ack, frame);
    while (pair->link != NULL && (frame = link_take(pair->link)) != NULL) {
        deliver(host, frame);
    }
    if (pair->link != NULL) {
        flush(host, pair);
    }
}

void carrier_take(struct host *host, struct sim_flight *flight)
{
    struct sim *sim = host->sim;
    struct pair *pair =
        sim->harmed ? network_pair(sim, host->rank, flight->from) : NULL;
    bool linked = pair != NULL && !pair->forgotten;
    if (linked && (flight->sequence != 0 || pair->link != NULL)) {
        take_by_link(host, pair, flight);
    }
    if (flight->parcel != NULL && (!linked || flight->sequence == 0)) {
        deliver(host, parcel_share(flight->parcel));
    }
    flight_free(flight);
}

/* --- Partings --------------------------------------------------------------------- */

void carrier_forget(struct host *host, uint32_t peer)
{
    struct pair *pair = network_pair(host->sim, host->rank, peer);
    pair->forgotten = true;
    if (pair->link != NULL) {
        link_forget(pair->link);
    }
}

void carrier_drop(struct host *host)
{
    const struct sim *sim = host->sim;
    for (uint32_t i = 0; sim->harmed && i < sim->pair_room; i++) {
        struct pair *pair = sim->pairs[i];
        if (pair == NULL || pair->from != host->rank || pair->link == NULL) {
            continue;
        }
        link_free(pair->link);
        pair->link = NULL;
    }
}
