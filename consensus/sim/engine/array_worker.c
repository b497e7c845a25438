/* array_worker.c - runs elements of task arrays in virtual time.
 *
 * A rank gets its elements as ranges of places.  It cuts them into pieces as it
 * pleases, runs pieces beside its tasks, in a seeded order, and tells its core of each
 * piece when it has ended, or of a part of it at a time.
 */
#include "consensus/sim/engine/sim_internal.h"

#include "hashing/array_spread.h"

#include <stdlib.h>

enum { PIECE_MAX = 16 };

uint64_t sim_homes(const struct program *program, const struct storm *storm,
                   uint32_t task)
{
    const uint32_t first = storm != NULL ? storm->first : program->rank_count;
    return program->tasks[task].homes &
           (first < 64 ? (UINT64_C(1) << first) - 1 : UINT64_MAX);
}

struct array_spread sim_spread(const struct sim *sim, uint32_t task)
{
    const struct program_task *spec = &sim->program->tasks[task];
    const struct storm *storm = sim->options.storm;
    const struct rankset homes = {.low = sim_homes(sim->program, storm, task)};
    return (struct array_spread){.count = spec->elements,
                                 .block = spec->block,
                                 .homes = homes.low != 0  ? rankset_count(&homes)
                                          : storm != NULL ? storm->first
                                                          : sim->program->rank_count,
                                 .kind = (enum array_spread_kind)spec->spread};
}

static struct sight sight_of(const struct host *host, enum sight_type type,
                             uint32_t task, struct range places)
{
    struct sight sight = host_sight(host, type, task);
    sight.places = places;
    return sight;
}

void array_offer(struct host *host, uint32_t task, struct range places)
{
    struct sight sight = sight_of(host, SIGHT_GIVEN, task, places);
    sim_see(host->sim, &sight);
    if (host->piece_count == host->piece_room) {
        host->piece_room = host->piece_room == 0 ? 8 : 2 * host->piece_room;
        host->pieces = realloc(host->pieces, host->piece_room * sizeof(*host->pieces));
        if (host->pieces == NULL) {
            abort();
        }
    }
    host->pieces[host->piece_count++] =
        (struct sim_piece){.task = task, .places = places};
    worker_fill(host);
}

/* Some of the front of a waiting range, which shrinks. */
static struct sim_piece cut(struct host *host, uint32_t at)
{
    struct sim_piece *whole = &host->pieces[at], piece = *whole;
    const uint64_t size = piece.places.end - piece.places.first;
    const uint64_t most = size < PIECE_MAX ? size : PIECE_MAX;
    piece.places.end =
        piece.places.first + random_between(&host->sim->durations, 1, most);
    whole->places.first = piece.places.end;
    if (whole->places.first == whole->places.end) {
        *whole = host->pieces[--host->piece_count];
    }
    return piece;
}

bool array_begin_some(struct host *host)
{
    struct sim *sim = host->sim;
    if (host->piece_count == 0) {
        return false;
    }
    const struct sim_piece piece =
        cut(host, (uint32_t)random_below(&sim->durations, host->piece_count));
    const uint64_t count = piece.places.end - piece.places.first;
    const uint64_t work_ns =
        UINT64_C(1000) * sim->program->tasks[piece.task].work_us * count;
    host->slots_used++;
    heap_push(sim, &(struct event){
                       .time_ns = sim->now_ns +
                                  random_between(&sim->durations, work_ns / 2, work_ns),
                       .kind = EVENT_PIECE,
                       .rank = host->rank,
                       .index = piece.task,
                       .ticket = host->life,
                       .places = piece.places});
    return true;
}

/* The element in the middle: of a program's array that fails it does, and of one that
 * is poison it kills who runs it. */
static bool is_middle(const struct sim *sim, uint32_t task, uint64_t place)
{
    const struct array_spread spread = sim_spread(sim, task);
    return array_index(&spread, place) == spread.count / 2;
}

static bool is_deadly(const struct sim *sim, uint32_t task, struct range places)
{
    bool deadly = false;
    for (uint64_t at = places.first; at < places.end; at++) {
        deadly |= sim->program->tasks[task].poison && is_middle(sim, task, at);
    }
    return deadly;
}

static int32_t status_of(const struct sim *sim, uint32_t task, uint64_t place)
{
    const bool fails = sim->program->tasks[task].fails && is_middle(sim, task, place);
    return fails ? MOOT_ERR_KERNEL_CODE : MOOT_OK;
}

static void tell(struct host *host, uint32_t task, struct range places, int32_t status)
{
    struct sight sight = sight_of(host, SIGHT_ENDED, task, places);
    struct core_event event = {.type = CORE_EV_ELEMENTS,
                               .hash = host->sim->hashes[task],
                               .entry = host->records[task].entry};
    sight.code = status;
    event.u.elements.places = places;
    event.u.elements.status = status;
    if (host->dead || host->undone) {
        return;
    }
    sim_moved(host->sim);
    sim_see(host->sim, &sight);
    host_step(host, &event);
}

void array_cancel(struct host *host, uint32_t task)
{
    for (uint32_t at = 0; at < host->piece_count && !host->dead && !host->undone;) {
        const struct sim_piece piece = host->pieces[at];
        if (piece.task != task) {
            at++;
            continue;
        }
        host->pieces[at] = host->pieces[--host->piece_count];
        tell(host, task, piece.places, MOOT_ERR_CANCELLED);
        at = 0; /* the core may have had others begin, or given some */
    }
}

void array_go_on(struct host *host, uint32_t task, struct range places, uint64_t life)
{
    if (life != host->life) {
        return;
    }
    if (is_deadly(host->sim, task, places) && !host->dead && !host->undone) {
        strike_poison(host, task);
    }
    host->slots_used--;
    while (places.first < places.end && !host->dead && !host->undone) {
        const int32_t status = status_of(host->sim, task, places.first);
        struct range alike = {places.first, places.first + 1};
        while (alike.end < places.end &&
               status_of(host->sim, task, alike.end) == status) {
            alike.end++;
        }
        tell(host, task, alike, status);
        places.first = alike.end;
    }
    worker_fill(host);
}
