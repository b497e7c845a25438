/* link_world.h - two ends of a link, and a wire between them that does its worst.
 *
 * Virtual time, one seed.  Each end says the numbers 1, 2, 3, ... in bursts; the wire
 * loses, repeats and delays each transmission on its own, so that it reorders whatever
 * is on its way together.  world_run() goes on until nothing is left to happen and
 * returns what went wrong, in static text, or NULL.
 */
#ifndef TESTS_UNIT_LINK_WORLD_H
#define TESTS_UNIT_LINK_WORLD_H

#include "consensus/link/link.h"
#include "consensus/sim/programs/random.h"

#include <stdlib.h>

enum { BACKLOG_MAX = 96, BURST_MAX = 8, US = 1000, MS = 1000 * US };

struct weather {
    uint32_t loss, twice;         /* per mille of transmissions */
    uint64_t delay_ns, spread_ns; /* at least, and how much more at most */
};

struct end {
    struct link *link;
    uint64_t to_say, said, heard;
    uint64_t talk_ns; /* when it says more */
};

/* A transmission on the wire. */
struct flight {
    uint64_t due_ns, order;
    uint64_t sequence, ack, number; /* number 0: an acknowledgement alone */
    int to;
};

struct world {
    struct weather weather;
    struct random random;
    struct end end[2];
    uint64_t now_ns;
    struct flight *flights; /* a heap, soonest first */
    size_t flight_count, flight_room;
    uint64_t transmissions;
    long frames, frames_max; /* that the links hold */
};

static const uint64_t steps_max = 3 * 1000 * 1000;

static void *frame_new(struct world *world, uint64_t number)
{
    uint64_t *frame = malloc(sizeof(*frame));
    if (frame == NULL) {
        abort();
    }
    *frame = number;
    if (++world->frames > world->frames_max) {
        world->frames_max = world->frames;
    }
    return frame;
}

static void frame_free(void *context, void *frame)
{
    struct world *world = context;
    world->frames--;
    free(frame);
}

/* --- The wire --------------------------------------------------------------------- */

static bool sooner(const struct flight *a, const struct flight *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void flight_add(struct world *world, struct flight flight)
{
    if (world->flight_count == world->flight_room) {
        world->flight_room = world->flight_room * 2 + 64;
        world->flights =
            realloc(world->flights, world->flight_room * sizeof(*world->flights));
        if (world->flights == NULL) {
            abort();
        }
    }
    size_t at = world->flight_count++;
    for (; at > 0 && sooner(&flight, &world->flights[(at - 1) / 2]);
         at = (at - 1) / 2) {
        world->flights[at] = world->flights[(at - 1) / 2];
    }
    world->flights[at] = flight;
}

static struct flight flight_take(struct world *world)
{
    struct flight first = world->flights[0];
    struct flight last = world->flights[--world->flight_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= world->flight_count) {
            break;
        }
        if (child + 1 < world->flight_count &&
            sooner(&world->flights[child + 1], &world->flights[child])) {
            child++;
        }
        if (!sooner(&world->flights[child], &last)) {
            break;
        }
        world->flights[at] = world->flights[child];
        at = child;
    }
    world->flights[at] = last;
    return first;
}

static void transmit_to(struct world *world, int to,
                        const struct link_transmission *transmission)
{
    const struct weather *weather = &world->weather;
    const uint64_t *number = transmission->frame;
    int copies = random_chance(&world->random, weather->twice) ? 2 : 1;
    for (; copies > 0; copies--) {
        world->transmissions++;
        if (random_chance(&world->random, weather->loss)) {
            continue;
        }
        flight_add(world,
                   (struct flight){
                       .due_ns = world->now_ns + weather->delay_ns +
                                 random_below(&world->random, weather->spread_ns + 1),
                       .order = world->transmissions,
                       .sequence = transmission->sequence,
                       .ack = transmission->ack,
                       .number = number != NULL ? *number : 0,
                       .to = to});
    }
}

/* --- The ends --------------------------------------------------------------------- */

/* LINK_NEVER: it has said all, or must wait until the other end has heard some. */
static uint64_t talks_next_ns(const struct end *end)
{
    bool may = end->said < end->to_say && link_backlog(end->link) < BACKLOG_MAX;
    return may ? end->talk_ns : LINK_NEVER;
}

static void talk(struct world *world, struct end *end)
{
    uint64_t burst = random_between(&world->random, 1, BURST_MAX);
    for (; burst > 0 && talks_next_ns(end) != LINK_NEVER; burst--) {
        end->said++;
        if (link_send(end->link, frame_new(world, end->said)) != end->said) {
            abort();
        }
    }
    end->talk_ns = world->now_ns + random_below(&world->random, 200 * US);
}

static void pump(struct world *world, int side)
{
    struct link_transmission out;
    while (link_next(world->end[side].link, world->now_ns, &out)) {
        transmit_to(world, 1 - side, &out);
    }
}

static const char *land(struct world *world)
{
    struct flight flight = flight_take(world);
    struct end *end = &world->end[flight.to];
    link_receive(end->link, world->now_ns, flight.sequence, flight.ack,
                 flight.number != 0 ? frame_new(world, flight.number) : NULL);
    uint64_t *frame;
    const char *why = NULL;
    while ((frame = link_take(end->link)) != NULL) {
        if (*frame != ++end->heard) {
            why = "a frame came twice, out of order, or not at all";
        }
        frame_free(world, frame);
    }
    return why;
}

/* LINK_NEVER: nothing will happen any more. */
static uint64_t next_event_ns(const struct world *world)
{
    uint64_t next_ns = world->flight_count > 0 ? world->flights[0].due_ns : LINK_NEVER;
    for (int side = 0; side < 2; side++) {
        const struct end *end = &world->end[side];
        uint64_t due_ns = link_deadline_ns(end->link);
        next_ns = talks_next_ns(end) < next_ns ? talks_next_ns(end) : next_ns;
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}

static const char *step(struct world *world)
{
    const char *why = NULL;
    uint64_t next_ns = next_event_ns(world);
    if (next_ns > world->now_ns) {
        world->now_ns = next_ns;
    }
    while (why == NULL && world->flight_count > 0 &&
           world->flights[0].due_ns <= world->now_ns) {
        why = land(world);
    }
    for (int side = 0; side < 2; side++) {
        if (talks_next_ns(&world->end[side]) <= world->now_ns) {
            talk(world, &world->end[side]);
        }
        pump(world, side);
    }
    return why;
}

/* What must be true once nothing is left to happen. */
static const char *at_rest(const struct world *world)
{
    for (int side = 0; side < 2; side++) {
        const struct end *end = &world->end[side];
        if (world->end[1 - side].heard != end->to_say) {
            return "a frame never came";
        }
        if (link_backlog(end->link) != 0) {
            return "a frame was never acknowledged";
        }
        if (link_stats(end->link)->sent != end->to_say) {
            return "the figures are wrong";
        }
    }
    if (world->frames_max > 2 * (BACKLOG_MAX + LINK_WINDOW)) {
        return "the links held too much";
    }
    return NULL;
}

static const char *world_run(struct world *world, const struct weather *weather,
                             uint64_t seed, uint64_t messages)
{
    static const struct link_options timing = {.rto_initial_ns = 50 * MS,
                                               .rto_min_ns = 5 * MS,
                                               .rto_max_ns = 400 * MS,
                                               .ack_delay_ns = 1 * MS};
    struct link_options options = timing;
    const char *why = NULL;
    options.release = frame_free;
    options.context = world;
    *world = (struct world){.weather = *weather, .random = random_stream(seed, 1)};
    for (int side = 0; side < 2; side++) {
        world->end[side].to_say = side == 0 ? messages : messages / 8;
        world->end[side].link = link_new(&options);
        if (world->end[side].link == NULL) {
            abort();
        }
    }
    for (uint64_t steps = 0; why == NULL && next_event_ns(world) != LINK_NEVER;
         steps++) {
        why = steps < steps_max ? step(world) : "it goes on for ever";
    }
    if (why == NULL) {
        why = at_rest(world);
    }
    for (int side = 0; side < 2; side++) {
        link_free(world->end[side].link);
    }
    free(world->flights);
    return why == NULL && world->frames != 0 ? "a frame was not released" : why;
}

#endif
