/* network.c - the order of events, and a wire that delays but never reorders.
 *
 * The heap is ordered by (time, number): events of one instant happen in the order in
 * which they were made, so a run depends on nothing but its seed.
 *
 * A flight takes latency plus jitter, now and then a spike; it never overtakes an
 * earlier one of the same pair.  Bulk transfers have an order of their own, behind
 * which control messages may pass.  How long a flight waits for a wire that carries
 * only so many bytes a second is bandwidth.c's.  Whatever else happens to flights is
 * the plan's doing (inject_net.c).
 *
 * What is kept of a pair of ranks is kept only while it matters: of ten thousand ranks
 * most never talk to most others, and who is silent for long needs no order.
 */
#include "consensus/sim/engine/sim_internal.h"
#include <assert.h>
#include <stdlib.h>

static bool before(const struct event *a, const struct event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

bool event_is_own(const struct event *event)
{
    return event->kind == EVENT_LANE || event->kind == EVENT_WORK ||
           event->kind == EVENT_PIECE || event->kind == EVENT_DISK;
}

void heap_push(struct sim *sim, const struct event *event)
{
    struct heap *heap = &sim->heap;
    assert(event->time_ns >= sim->now_ns);
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity == 0 ? 256 : heap->capacity * 2;
        heap->items = realloc(heap->items, heap->capacity * sizeof(*heap->items));
        if (heap->items == NULL) {
            abort();
        }
    }
    struct event item = *event;
    item.number = heap->next_number++;
    heap->own += event_is_own(event);
    size_t at = heap->count++;
    for (; at > 0 && before(&item, &heap->items[(at - 1) / 2]); at = (at - 1) / 2) {
        heap->items[at] = heap->items[(at - 1) / 2];
    }
    heap->items[at] = item;
}

bool heap_pop(struct sim *sim, struct event *out)
{
    struct heap *heap = &sim->heap;
    if (heap->count == 0) {
        return false;
    }
    *out = heap->items[0];
    heap->own -= event_is_own(out);
    struct event item = heap->items[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count &&
            before(&heap->items[child + 1], &heap->items[child])) {
            child++;
        }
        if (!before(&heap->items[child], &item)) {
            break;
        }
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = item;
    return true;
}

/* --- Pairs ------------------------------------------------------------------------ */

static uint32_t place_of(const struct sim *sim, uint32_t from, uint32_t to)
{
    uint32_t at = (uint32_t)random_mix((uint64_t)from << 32 | to);
    for (;; at++) {
        const struct pair *pair = sim->pairs[at & (sim->pair_room - 1)];
        if (pair == NULL || (pair->from == from && pair->to == to)) {
            return at & (sim->pair_room - 1);
        }
    }
}

static void pair_free(struct pair *pair)
{
    for (uint32_t i = 0; i < pair->held_count; i++) {
        flight_free(pair->held[i].flight);
    }
    link_free(pair->link);
    free(pair->held);
    free(pair);
}

/* It is as if nothing had ever been sent. */
static bool is_at_rest(const struct sim *sim, const struct pair *pair)
{
    return pair != sim->pinned && pair->last_ns < sim->now_ns &&
           pair->last_bulk_ns < sim->now_ns && pair->way.bulk_ns < sim->now_ns &&
           pair->way.control_ns < sim->now_ns && pair->link == NULL &&
           !pair->forgotten && pair->void_until_ns == 0 && pair->held_count == 0;
}

static void make_room(struct sim *sim)
{
    struct pair **old = sim->pairs;
    uint32_t old_room = sim->pair_room, busy = 0;
    for (uint32_t i = 0; i < old_room; i++) {
        busy += old[i] != NULL && !is_at_rest(sim, old[i]);
    }
    uint32_t room = 64;
    while (room < 4 * (busy + 1)) {
        room *= 2;
    }
    sim->pairs = sim_alloc(room, sizeof(struct pair *));
    sim->pair_room = room;
    sim->pair_count = busy;
    for (uint32_t i = 0; i < old_room; i++) {
        if (old[i] == NULL) {
            continue;
        }
        if (is_at_rest(sim, old[i])) {
            pair_free(old[i]);
        } else {
            sim->pairs[place_of(sim, old[i]->from, old[i]->to)] = old[i];
        }
    }
    free(old);
}

struct pair *network_find(const struct sim *sim, uint32_t from, uint32_t to)
{
    return sim->pair_room == 0 ? NULL : sim->pairs[place_of(sim, from, to)];
}

struct pair *network_pair(struct sim *sim, uint32_t from, uint32_t to)
{
    struct pair *pair = network_find(sim, from, to);
    if (pair != NULL) {
        return pair;
    }
    if (2 * sim->pair_count >= sim->pair_room) {
        make_room(sim);
    }
    pair = sim_alloc(1, sizeof(*pair));
    *pair = (struct pair){.from = from, .to = to, .link_due_ns = LINK_NEVER};
    sim->pairs[place_of(sim, from, to)] = pair;
    sim->pair_count++;
    return pair;
}

void network_release(struct sim *sim)
{
    for (size_t i = 0; i < sim->heap.count; i++) {
        flight_free(sim->heap.items[i].flight);
    }
    free(sim->heap.items);
    for (uint32_t i = 0; i < sim->pair_room; i++) {
        if (sim->pairs[i] != NULL) {
            pair_free(sim->pairs[i]);
        }
    }
    free(sim->pairs);
}

/* --- Flights ---------------------------------------------------------------------- */

struct sim_flight *flight_new(struct sim *sim, uint32_t from, uint32_t to,
                              struct parcel *parcel)
{
    struct sim_flight *flight = sim_alloc(1, sizeof(*flight));
    *flight = (struct sim_flight){.from = from,
                                  .to = to,
                                  .at = from,
                                  .next = to,
                                  .sent_ns = sim->now_ns,
                                  .left_ns = sim->now_ns,
                                  .parcel = parcel};
    return flight;
}

void flight_free(struct sim_flight *flight)
{
    if (flight == NULL) {
        return;
    }
    parcel_free(flight->parcel);
    free(flight);
}

bool network_is_void(const struct sim *sim, const struct sim_flight *flight)
{
    if (sim->options.storm == NULL || !sim->options.storm->abandon) {
        return false;
    }
    const struct pair *pair = network_find(sim, flight->from, flight->to);
    return pair != NULL && pair->void_until_ns != 0 &&
           flight->sent_ns <= pair->void_until_ns;
}

static uint64_t draw_delay_ns(struct sim *sim, const struct sim_flight *flight)
{
    const struct sim_weather *weather = &sim->weather;
    if (cluster_is_local(sim, flight)) {
        return weather->local_ns +
               random_below(&sim->delays, weather->local_ns / 2 + 1);
    }
    uint64_t delay_ns =
        weather->latency_ns + random_below(&sim->delays, weather->jitter_ns + 1);
    if (random_chance(&sim->delays, weather->spike_per_mille)) {
        delay_ns += random_below(&sim->delays, weather->spike_ns + 1);
    }
    return delay_ns;
}

void network_launch(struct sim *sim, struct pair *pair, struct sim_flight *flight,
                    uint64_t delay_ns, bool overtaken)
{
    if (sim->cluster != NULL) {
        flight->overtaken = overtaken;
        flight->left_ns = sim->now_ns;
        if (!cluster_aim(sim, flight)) {
            return;
        }
        bool straight = flight->at == flight->from && flight->next == flight->to;
        pair = straight && pair != NULL ? pair
                                        : network_pair(sim, flight->at, flight->next);
    }
    bool bulk = flight->parcel != NULL && flight->parcel->bulk != NULL;
    uint64_t *last_ns = bulk ? &pair->last_bulk_ns : &pair->last_ns;
    uint64_t arrival_ns = sim->now_ns + draw_delay_ns(sim, flight) + delay_ns;
    bool bound = bandwidth_is_bound(sim);
    if (bound) {
        arrival_ns += bandwidth_leave(sim, pair, flight);
    }
    if (bulk) {
        uint64_t least_ns = arrival_ns > pair->last_ns ? arrival_ns : pair->last_ns;
        arrival_ns = least_ns + random_below(&sim->delays, sim->weather.bulk_ns + 1);
    }
    if (!overtaken) {
        if (arrival_ns <= *last_ns) {
            arrival_ns = *last_ns + 1;
        }
        *last_ns = arrival_ns + flight->tail_ns;
    }
    if (bound) {
        bandwidth_fly(sim, flight, arrival_ns);
        return;
    }
    heap_push(sim, &(struct event){.time_ns = arrival_ns,
                                   .kind = EVENT_ARRIVE,
                                   .rank = flight->next,
                                   .flight = flight});
}

void network_send(struct sim *sim, struct sim_flight *flight)
{
    struct pair *pair = network_pair(sim, flight->from, flight->to);
    sim->report->counts.frames++;
    sim->report->counts.frame_bytes += flight->parcel != NULL
                                           ? parcel_bytes(flight->parcel)
                                           : (uint64_t)WIRE_ENVELOPE_BYTES;
    if (sim->harmed) {
        harm_send(sim, pair, flight);
    } else {
        network_launch(sim, pair, flight, 0, false);
    }
}
