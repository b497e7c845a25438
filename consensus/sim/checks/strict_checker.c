/* strict_checker.c - see strict_checker.h. */
#include "consensus/sim/checks/strict_checker.h"
#include "hashing/identity.h"
#include <inttypes.h>
#include <stdlib.h>

struct strict_checker {
    const struct program *program;
    enum core_mode mode;
    struct rankset told;
    uint32_t lane; /* of whom was told first, */
    uint64_t position;
    uint32_t *spawned; /* by rank and lane: how many until now */
};

struct strict_checker *strict_checker_new(const struct sim_options *options)
{
    struct strict_checker *checker = calloc(1, sizeof(*checker));
    if (checker == NULL) {
        abort();
    }
    checker->program = options->program;
    checker->spawned =
        calloc((size_t)options->program->rank_count * options->program->lane_count,
               sizeof(*checker->spawned));
    if (checker->spawned == NULL) {
        abort();
    }
    checker->mode = options->weather != NULL ? options->weather->mode : CORE_REPAIR;
    return checker;
}

void strict_checker_free(struct strict_checker *checker)
{
    rankset_release(&checker->told);
    free(checker->spawned);
    free(checker);
}

/* The task that the rank spawns in the lane as its n-th, from 1; the program's
 * task_count: it spawns fewer. */
static uint32_t spawned_at(const struct program *program, uint32_t rank, uint32_t lane,
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

static uint32_t *spawned_by(const struct strict_checker *checker, uint32_t rank,
                            uint32_t lane)
{
    return &checker->spawned[rank * checker->program->lane_count + lane];
}

/* Is that what the rank spawns there?  None: its lane ends before, or it has come no
 * further, and rests. */
static bool side_is_true(const struct strict_checker *checker, const struct sim *sim,
                         const struct message_diverged *said,
                         const struct message_side *side, uint32_t rank)
{
    uint32_t task = spawned_at(checker->program, rank, said->lane, said->position);
    static const moot_hash none = {{0}};
    if (hash_equal(&side->hash, &none)) {
        return *spawned_by(checker, rank, said->lane) < said->position;
    }
    return hash_equal(
        &side->hash, task < checker->program->task_count ? sim_hash(sim, task) : &none);
}

static void check_sides(const struct strict_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const struct message_diverged *said = sight->diverged;
    if (said->sides < 2) {
        sim_fail(sim, "strict", "rank %" PRIu32 " is told of a difference from nothing",
                 sight->rank);
    }
    for (uint32_t i = 0; i < said->sides; i++) {
        const struct message_side *side = &said->side[i];
        const struct rankset *ranks = side->ranks;
        for (uint32_t rank = rankset_next(ranks, 0);
             rank < checker->program->rank_count;
             rank = rankset_next(ranks, rank + 1)) {
            if (!side_is_true(checker, sim, said, side, rank)) {
                uint32_t task = sim_task(sim, &side->hash);
                sim_fail(sim, "strict",
                         "rank %" PRIu32 " is told that rank %" PRIu32
                         " spawns %s at %" PRIu64 " of lane %" PRIu32,
                         sight->rank, rank,
                         task < checker->program->task_count
                             ? checker->program->tasks[task].name
                             : "nothing",
                         said->position, said->lane);
            }
        }
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct strict_checker *checker = context;
    if (sight->type == SIGHT_SPAWN && checker->program->tasks[sight->task].depth == 0) {
        ++*spawned_by(checker, sight->rank, sight->lane);
    }
    if (sight->type != SIGHT_DIVERGED) {
        return;
    }
    const struct message_diverged *said = sight->diverged;
    const bool first = rankset_empty(&checker->told);
    if (!rankset_add(&checker->told, sight->rank)) {
        abort();
    }
    if (first) {
        checker->lane = said->lane;
        checker->position = said->position;
    }
    if (checker->mode != CORE_STRICT || said->lane >= checker->program->lane_count) {
        sim_fail(sim, "strict", "rank %" PRIu32 " is told of a difference",
                 sight->rank);
        return;
    }
    if (said->lane != checker->lane || said->position != checker->position) {
        sim_fail(sim, "strict",
                 "rank %" PRIu32 " hears of place %" PRIu64 " of lane %" PRIu32
                 ", and others of place %" PRIu64 " of lane %" PRIu32,
                 sight->rank, said->position, said->lane, checker->position,
                 checker->lane);
    }
    if (first) { /* afterwards those who rested go on */
        check_sides(checker, sim, sight);
    }
}

struct sim_watcher strict_checker_watcher(struct strict_checker *checker)
{
    return (struct sim_watcher){see, checker};
}

static bool lanes_differ(const struct program *program, uint32_t rank, uint32_t lane)
{
    for (uint64_t position = 1;; position++) {
        uint32_t here = spawned_at(program, rank, lane, position);
        if (here != spawned_at(program, 0, lane, position)) {
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

bool strict_checker_finish(const struct strict_checker *checker,
                           struct sim_report *report)
{
    if (checker->mode != CORE_STRICT) {
        return true;
    }
    const uint32_t told = rankset_count(&checker->told);
    const bool differ = strict_checker_differs(checker->program);
    if (told == (differ ? checker->program->rank_count : 0)) {
        return true;
    }
    report->failed = true;
    (void)snprintf(report->check, sizeof(report->check), "strict");
    (void)snprintf(report->why, sizeof(report->why),
                   "programs %s, and %" PRIu32 " of %" PRIu32 " ranks were told",
                   differ ? "differ" : "are alike", told, checker->program->rank_count);
    return false;
}
