/* strict_checker.c - see strict_checker.h. */
#include "consensus/sim/checks/strict_checker.h"
#include "consensus/sim/programs/ranks.h"
#include "hashing/identity.h"
#include <inttypes.h>
#include <stdlib.h>

/* The tasks that a rank has spawned in a lane, in its order, behind this place. */
struct seen_roll {
    uint64_t behind;
    uint32_t *tasks;
    uint64_t count, room;
};

struct listener {
    bool told;
    uint64_t epoch, told_in; /* the view that it is in; in which it was told, */
    uint32_t lane;           /* and of what place */
    uint64_t position;
};

/* Somebody was told in that view that the rank spawns nothing there. */
struct claim {
    uint64_t epoch;
    uint32_t rank, lane;
    uint64_t position;
};

struct strict_checker {
    const struct program *program;
    enum core_mode mode;
    uint32_t limit;            /* ranks that there may be */
    bool differs;              /* the program's scripts do */
    struct seen_roll *spawned; /* by rank and lane */
    struct listener *listeners;
    struct claim *claims;
    size_t claim_count;
    struct rankset told, adjourned;
    struct rankset begun; /* newcomers that views have named */
    struct rankset closed;
    uint32_t *generations; /* by rank: of its rolls */
    uint64_t newest;       /* view that any rank has entered, */
    struct rankset members;
};

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void *grown(void *items, size_t count, size_t size)
{
    void *more = realloc(items, count * size);
    if (more == NULL) {
        abort();
    }
    return more;
}

/* --- Programs --------------------------------------------------------------------- */

/* The task that the rank spawns in the lane as its n-th, from 1; the program's
 * task_count: it spawns fewer. */
static uint32_t written_at(const struct program *program, uint32_t rank, uint32_t lane,
                           uint64_t position)
{
    const struct program_script *script = program_script(program, rank, lane);
    for (uint32_t i = 0; i < script->count; i++) {
        if (script->steps[i].op == PROGRAM_SPAWN && --position == 0) {
            return script->steps[i].tasks.items[0];
        }
    }
    return program->task_count;
}

static bool lanes_differ(const struct program *program, uint32_t rank, uint32_t lane)
{
    for (uint64_t position = 1;; position++) {
        uint32_t here = written_at(program, rank, lane, position);
        if (here != written_at(program, 0, lane, position)) {
            return true;
        }
        if (here == program->task_count) {
            return false;
        }
    }
}

bool strict_checker_differs(const struct program *program)
{
    for (uint32_t rank = 1; rank < program->rank_count; rank++) {
        for (uint32_t lane = 0; lane < program->lane_count; lane++) {
            if (lanes_differ(program, rank, lane)) {
                return true;
            }
        }
    }
    return false;
}

/* How many tasks the rank has spawned when it comes to its n-th meeting, from 1.
 * UINT32_MAX: it does not come. */
static uint32_t meets_behind(const struct program *program, uint32_t rank,
                             uint64_t number)
{
    const struct program_script *script = program_script(program, rank, 0);
    uint32_t spawned = 0;
    for (uint32_t i = 0; i < script->count; i++) {
        spawned += script->steps[i].op == PROGRAM_SPAWN;
        if (script->steps[i].op == PROGRAM_MEET && --number == 0) {
            return spawned;
        }
    }
    return UINT32_MAX;
}

/* A newcomer's roll begins where who lets it in stands: so they are to come to
 * boundaries at the same places. */
static bool boundaries_differ(const struct program *program)
{
    for (uint32_t rank = 1; rank < program->rank_count; rank++) {
        uint64_t number = 0;
        uint32_t here;
        do {
            here = meets_behind(program, rank, ++number);
            if (here != meets_behind(program, 0, number)) {
                return true;
            }
        } while (here != UINT32_MAX);
    }
    return false;
}

/* --- Making and freeing ---------------------------------------------------------- */

struct strict_checker *strict_checker_new(const struct sim_options *options)
{
    struct strict_checker *checker = zeroed(1, sizeof(*checker));
    const struct storm *storm = options->storm;
    const struct program *program = options->program;
    const uint32_t first = storm != NULL ? storm->first : program->rank_count;
    checker->program = program;
    checker->limit = program->rank_count + (storm != NULL ? storm->comebacks : 0);
    checker->spawned = zeroed((size_t)checker->limit * program->lane_count + 1,
                              sizeof(*checker->spawned));
    checker->listeners = zeroed(checker->limit, sizeof(*checker->listeners));
    checker->mode = options->weather != NULL ? options->weather->mode : CORE_REPAIR;
    checker->differs =
        checker->mode == CORE_STRICT &&
        (strict_checker_differs(program) ||
         (storm != NULL && storm->boundary && boundaries_differ(program)));
    checker->generations = zeroed(checker->limit + 1, sizeof(*checker->generations));
    checker->newest = 1;
    ranks_fill(&checker->members, first);
    for (uint32_t rank = 0; rank < first; rank++) {
        checker->listeners[rank].epoch = 1;
    }
    return checker;
}

void strict_checker_free(struct strict_checker *checker)
{
    for (size_t i = 0; i < (size_t)checker->limit * checker->program->lane_count; i++) {
        free(checker->spawned[i].tasks);
    }
    rankset_release(&checker->told);
    rankset_release(&checker->adjourned);
    rankset_release(&checker->begun);
    rankset_release(&checker->closed);
    free(checker->generations);
    rankset_release(&checker->members);
    free(checker->spawned);
    free(checker->listeners);
    free(checker->claims);
    free(checker);
}

/* --- Rolls ------------------------------------------------------------------------ */

static uint64_t end_of(const struct seen_roll *spawned)
{
    return spawned->behind + spawned->count;
}

/* A place of its own. */
static uint32_t spawned_at(const struct seen_roll *spawned, uint64_t position)
{
    return spawned->tasks[position - spawned->behind - 1];
}

static struct seen_roll *spawned_by(const struct strict_checker *checker, uint32_t rank,
                                    uint32_t lane)
{
    return &checker->spawned[(size_t)rank * checker->program->lane_count + lane];
}

/* A rank that is said to spawn nothing there does not, until it is told itself, or has
 * entered another view, in which what was lost is made again. */
static void check_claims(const struct strict_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    const struct listener *listener = &checker->listeners[sight->rank];
    const uint64_t position = end_of(spawned_by(checker, sight->rank, sight->lane));
    for (size_t i = 0; i < checker->claim_count; i++) {
        const struct claim *claim = &checker->claims[i];
        if (claim->rank == sight->rank && claim->lane == sight->lane &&
            claim->position == position && claim->epoch == listener->epoch &&
            !listener->told) {
            sim_fail(sim, "strict",
                     "rank %" PRIu32 " spawns %s at %" PRIu64 " of lane %" PRIu32
                     ", where others were told that it spawns nothing",
                     sight->rank, checker->program->tasks[sight->task].name, position,
                     sight->lane);
        }
    }
}

static void see_spawn(struct strict_checker *checker, struct sim *sim,
                      const struct sight *sight)
{
    struct seen_roll *spawned = spawned_by(checker, sight->rank, sight->lane);
    if (spawned->count == spawned->room) {
        spawned->room = spawned->room == 0 ? 16 : spawned->room * 2;
        spawned->tasks = grown(spawned->tasks, spawned->room, sizeof(*spawned->tasks));
    }
    spawned->tasks[spawned->count++] = sight->task;
    check_claims(checker, sim, sight);
}

static void see_refused(const struct strict_checker *checker, const struct sight *sight)
{
    struct seen_roll *spawned = spawned_by(checker, sight->rank, sight->lane);
    if (spawned->count > 0 && spawned->tasks[spawned->count - 1] == sight->task) {
        spawned->count--;
    }
}

static bool spawned_alike(const struct strict_checker *checker, uint32_t a, uint32_t b)
{
    for (uint32_t lane = 0; lane < checker->program->lane_count; lane++) {
        const struct seen_roll *one = spawned_by(checker, a, lane);
        const struct seen_roll *other = spawned_by(checker, b, lane);
        bool alike = end_of(one) == end_of(other);
        uint64_t at = one->behind > other->behind ? one->behind : other->behind;
        while (alike && ++at <= end_of(one)) {
            alike = spawned_at(one, at) == spawned_at(other, at);
        }
        if (!alike) {
            return false;
        }
    }
    return true;
}

/* --- What is told ----------------------------------------------------------------- */

/* Is that what the rank has spawned there?  None: it has come no further; of who was
 * told before, or is in another view, that says nothing, as it goes on.  Rolls of a
 * rank that has gone back, as the one that is told has not, are new ones. */
static bool side_is_true(const struct strict_checker *checker, const struct sim *sim,
                         const struct sight *sight, const moot_hash *hash,
                         uint32_t rank)
{
    static const moot_hash none = {{0}};
    const struct message_diverged *said = sight->diverged;
    const struct seen_roll *spawned = spawned_by(checker, rank, said->lane);
    const struct listener *other = &checker->listeners[rank];
    if (checker->generations[rank] > checker->generations[sight->rank]) {
        return true;
    }
    if (said->position <= spawned->behind) {
        return false;
    }
    if (!hash_equal(hash, &none)) {
        return end_of(spawned) >= said->position &&
               hash_equal(hash, sim_hash(sim, spawned_at(spawned, said->position)));
    }
    return end_of(spawned) < said->position || (other->told && rank != sight->rank) ||
           other->epoch != checker->listeners[sight->rank].epoch;
}

static void add_claim(struct strict_checker *checker, const struct sight *sight,
                      uint32_t rank)
{
    checker->claims =
        grown(checker->claims, checker->claim_count + 1, sizeof(*checker->claims));
    checker->claims[checker->claim_count++] =
        (struct claim){.epoch = checker->listeners[sight->rank].epoch,
                       .rank = rank,
                       .lane = sight->diverged->lane,
                       .position = sight->diverged->position};
}

static void check_sides(struct strict_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    static const moot_hash none = {{0}};
    const struct message_diverged *said = sight->diverged;
    if (said->sides < 2) {
        sim_fail(sim, "strict", "rank %" PRIu32 " is told of a difference from nothing",
                 sight->rank);
    }
    for (uint32_t i = 0; i < said->sides; i++) {
        const moot_hash *hash = &said->side[i].hash;
        uint32_t task = sim_task(sim, hash);
        FOR_RANKS(rank, said->side[i].ranks)
        {
            if (rank >= checker->limit ||
                !side_is_true(checker, sim, sight, hash, rank)) {
                sim_fail(sim, "strict",
                         "rank %" PRIu32 " is told that rank %" PRIu32
                         " spawns %s at %" PRIu64 " of lane %" PRIu32,
                         sight->rank, rank,
                         task < checker->program->task_count
                             ? checker->program->tasks[task].name
                             : "nothing",
                         said->position, said->lane);
                return;
            }
            if (hash_equal(hash, &none)) {
                add_claim(checker, sight, rank);
            }
        }
    }
}

/* All who are told in one view are told of one place. */
static void check_place(const struct strict_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const struct listener *here = &checker->listeners[sight->rank];
    FOR_RANKS(rank, &checker->told)
    {
        const struct listener *there = &checker->listeners[rank];
        if (there->told_in == here->told_in &&
            (there->lane != here->lane || there->position != here->position)) {
            sim_fail(sim, "strict",
                     "rank %" PRIu32 " hears of place %" PRIu64 " of lane %" PRIu32
                     ", and rank %" PRIu32 " of place %" PRIu64 " of lane %" PRIu32,
                     sight->rank, here->position, here->lane, rank, there->position,
                     there->lane);
        }
    }
}

static void see_diverged(struct strict_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    const struct message_diverged *said = sight->diverged;
    struct listener *listener = &checker->listeners[sight->rank];
    if (!checker->differs || said->position == 0 ||
        said->lane >= checker->program->lane_count) {
        sim_fail(sim, "strict",
                 "rank %" PRIu32 " is told of a difference at %" PRIu64
                 " of lane %" PRIu32 ", and programs %s",
                 sight->rank, said->position, said->lane,
                 checker->differs ? "have no such place" : "are alike");
        return;
    }
    check_sides(checker, sim, sight);
    listener->told = true;
    listener->told_in = listener->epoch;
    listener->lane = said->lane;
    listener->position = said->position;
    check_place(checker, sim, sight);
    ranks_add(&checker->told, sight->rank);
}

/* Where a newcomer's rolls begin; every view that names it says the same (I43). */
static void see_places(struct strict_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message_view *view = &sight->message->u.view;
    for (uint32_t i = 0; i < view->newcomers; i++) {
        const struct message_newcomer *newcomer = &view->newcomer[i];
        if (!rankset_has(&checker->begun, newcomer->rank)) {
            checker->generations[newcomer->rank] = view->reload.generation;
        } else if (checker->generations[newcomer->rank] != view->reload.generation) {
            continue; /* it has gone back since, or has yet to */
        }
        for (uint32_t lane = 0; lane < checker->program->lane_count; lane++) {
            struct seen_roll *spawned = spawned_by(checker, newcomer->rank, lane);
            const uint64_t behind = lane < newcomer->lanes ? newcomer->places[lane] : 0;
            if (rankset_has(&checker->begun, newcomer->rank) &&
                spawned->behind != behind) {
                sim_fail(sim, "strict",
                         "view %" PRIu64 " has the roll of rank %" PRIu32
                         " begin behind %" PRIu64 ", and another behind %" PRIu64,
                         view->epoch, newcomer->rank, behind, spawned->behind);
            }
            spawned->behind = behind;
        }
        ranks_add(&checker->begun, newcomer->rank);
    }
}

static void see_view(struct strict_checker *checker, const struct sight *sight)
{
    checker->listeners[sight->rank].epoch = sight->epoch;
    if (sight->epoch > checker->newest) {
        checker->newest = sight->epoch;
        ranks_copy(&checker->members, sight->members);
    }
}

/* Its rolls are as new ones.  If its program has ended they stay empty, and those of
 * the others will not. */
static void go_back(struct strict_checker *checker, const struct sight *sight)
{
    const uint32_t rank = sight->rank;
    checker->generations[rank] = (uint32_t)sight->step;
    checker->listeners[rank].told = false;
    rankset_remove(&checker->told, rank);
    checker->differs |=
        checker->mode == CORE_STRICT && rankset_has(&checker->closed, rank);
    for (uint32_t lane = 0; lane < checker->program->lane_count; lane++) {
        spawned_by(checker, rank, lane)->behind = 0;
        spawned_by(checker, rank, lane)->count = 0;
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct strict_checker *checker = context;
    const bool top = sight->task < checker->program->task_count &&
                     checker->program->tasks[sight->task].depth == 0;
    if (sight->type == SIGHT_SPAWN && top) {
        see_spawn(checker, sim, sight);
    } else if (sight->type == SIGHT_REFUSED && top) {
        see_refused(checker, sight);
    } else if (sight->type == SIGHT_SEND && sight->message->type == MESSAGE_VIEW) {
        see_places(checker, sim, sight);
    } else if (sight->type == SIGHT_DIVERGED) {
        see_diverged(checker, sim, sight);
    } else if (sight->type == SIGHT_RELOADED && sight->code == MOOT_OK) {
        go_back(checker, sight);
    } else if (sight->type == SIGHT_CLOSE) {
        ranks_add(&checker->closed, sight->rank);
        checker->differs |= checker->mode == CORE_STRICT && sight->code != MOOT_OK;
    } else if (sight->type == SIGHT_VIEW) {
        see_view(checker, sight);
    } else if (sight->type == SIGHT_ADJOURN) {
        ranks_add(&checker->adjourned, sight->rank);
    }
}

struct sim_watcher strict_checker_watcher(struct strict_checker *checker)
{
    return (struct sim_watcher){see, checker};
}

bool strict_checker_told(const struct strict_checker *checker, uint32_t rank)
{
    return rankset_has(&checker->told, rank);
}

bool strict_checker_told_any(const struct strict_checker *checker)
{
    return !rankset_empty(&checker->told);
}

static bool begins_behind(const struct strict_checker *checker, uint32_t rank,
                          uint32_t task)
{
    bool behind = false;
    for (uint32_t other = 0; other < checker->limit; other++) {
        for (uint32_t lane = 0; lane < checker->program->lane_count; lane++) {
            const struct seen_roll *spawned = spawned_by(checker, other, lane);
            const uint64_t begins = spawned_by(checker, rank, lane)->behind;
            for (uint64_t i = 0; i < spawned->count; i++) {
                behind = behind || (spawned->tasks[i] == task &&
                                    spawned->behind + i + 1 <= begins);
            }
        }
    }
    return behind;
}

void strict_checker_come_to(const struct strict_checker *checker, uint32_t task,
                            const struct rankset *ranks, struct rankset *out)
{
    FOR_RANKS(rank, ranks)
    {
        if (!begins_behind(checker, rank, task)) {
            ranks_add(out, rank);
        }
    }
}

bool strict_checker_may(const struct strict_checker *checker)
{
    return checker->differs;
}

/* --- The end ---------------------------------------------------------------------- */

static bool any_differ(const struct strict_checker *checker,
                       const struct rankset *ranks)
{
    bool differ = false;
    FOR_RANKS(first, ranks)
    {
        FOR_RANKS(rank, ranks)
        {
            differ = differ || !spawned_alike(checker, first, rank);
        }
    }
    return differ;
}

bool strict_checker_finish(const struct strict_checker *checker,
                           struct sim_report *report)
{
    struct rankset there = {0}, told = {0};
    if (checker->mode != CORE_STRICT) {
        return true;
    }
    ranks_copy(&there, &checker->adjourned);
    ranks_keep(&there, &checker->members);
    ranks_copy(&told, &checker->told);
    ranks_keep(&told, &there);
    const bool differ = any_differ(checker, &there);
    const bool good = rankset_equal(&told, &there) || (rankset_empty(&told) && !differ);
    if (!good) {
        report->failed = true;
        (void)snprintf(report->check, sizeof(report->check), "strict");
        (void)snprintf(report->why, sizeof(report->why),
                       "of ranks %s, whose programs %s, ranks %s were told",
                       ranks_text(&there).text, differ ? "differ" : "are alike",
                       ranks_text(&told).text);
    }
    rankset_release(&there);
    rankset_release(&told);
    return good;
}
