/* network.c - the order of events, and links that delay but never reorder.
 *
 * The heap is ordered by (time, number): events of one instant happen in the order in
 * which they were made, so a run depends on nothing but its seed.
 *
 * A parcel takes latency plus jitter, now and then a spike; it never overtakes an
 * earlier one of the same pair.  Bulk transfers have an order of their own, behind
 * which control messages may pass.
 */
#include "world.h"
#include <assert.h>
#include <stdlib.h>

static bool before(const struct event *a, const struct event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

void heap_push(struct sim *sim, const struct event *event)
{
    struct heap *heap = &sim->heap;
    assert(event->time_ns >= sim->now_ns);
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity == 0 ? 256 : heap->capacity * 2;
        heap->items = realloc(heap->items, heap->capacity * sizeof *heap->items);
        if (heap->items == NULL)
            abort();
    }
    struct event item = *event;
    item.number = heap->next_number++;
    size_t at = heap->count++;
    for (; at > 0 && before(&item, &heap->items[(at - 1) / 2]); at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = item;
}

bool heap_pop(struct sim *sim, struct event *out)
{
    struct heap *heap = &sim->heap;
    if (heap->count == 0)
        return false;
    *out = heap->items[0];
    struct event item = heap->items[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!before(&heap->items[child], &item))
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = item;
    return true;
}

void heap_release(struct sim *sim)
{
    for (size_t i = 0; i < sim->heap.count; i++)
        parcel_free(sim->heap.items[i].parcel);
    free(sim->heap.items);
}

bool network_is_void(const struct sim *sim, const struct parcel *parcel,
                     uint64_t sent_ns)
{
    const struct link *link =
        &sim->links[parcel->from * sim->program->rank_count + parcel->to];
    return link->void_until_ns != 0 && sent_ns <= link->void_until_ns;
}

static uint64_t draw_delay_ns(struct sim *sim)
{
    const struct sim_weather *weather = &sim->weather;
    uint64_t delay_ns =
        weather->latency_ns + random_below(&sim->delays, weather->jitter_ns + 1);
    if (random_chance(&sim->delays, weather->spike_per_mille))
        delay_ns += random_below(&sim->delays, weather->spike_ns + 1);
    return delay_ns;
}

void network_send(struct sim *sim, struct parcel *parcel)
{
    struct link *link =
        &sim->links[parcel->from * sim->program->rank_count + parcel->to];
    bool bulk = parcel->bulk != NULL;
    uint64_t *last_ns = bulk ? &link->last_bulk_ns : &link->last_ns;
    uint64_t leave_ns =
        sim->now_ns > link->cut_until_ns ? sim->now_ns : link->cut_until_ns;
    uint64_t arrival_ns = leave_ns + draw_delay_ns(sim);
    if (sim->now_ns < link->slow_until_ns)
        arrival_ns += link->slow_ns;
    if (bulk) {
        uint64_t least_ns = arrival_ns > link->last_ns ? arrival_ns : link->last_ns;
        arrival_ns = least_ns + random_below(&sim->delays, sim->weather.bulk_ns + 1);
    }
    if (arrival_ns <= *last_ns)
        arrival_ns = *last_ns + 1;
    *last_ns = arrival_ns;
    heap_push(sim, &(struct event){.time_ns = arrival_ns,
                                   .kind = EVENT_ARRIVE,
                                   .rank = parcel->to,
                                   .ticket = sim->now_ns,
                                   .parcel = parcel});
}
