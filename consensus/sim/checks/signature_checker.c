/* signature_checker.c - see signature_checker.h. */
#include "consensus/sim/checks/signature_checker.h"

#include "consensus/sim/checks/generations.h"

#include "hashing/identity.h"

#include <inttypes.h>
#include <stdlib.h>

/* More than these a rank may have told in vain. */
enum { FEW = 60 };

/* In this generation the rank gave it, or was told. */
struct given {
    uint32_t rank, generation;
    uint64_t step;
    moot_hash hash;
};

struct told_once {
    uint32_t rank, of, generation;
    int32_t what;
};

struct signature_checker {
    struct generations generations;
    uint32_t generation; /* of the rank that the present sight is of */
    struct given *given;
    size_t given_count, given_room;
    struct told_once *told;
    size_t told_count, told_room;
};

static void *zeroed(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void *grown(void *items, size_t *room, size_t count, size_t size)
{
    if (count < *room) {
        return items;
    }
    *room = *room == 0 ? 64 : *room * 2;
    items = realloc(items, *room * size);
    if (items == NULL) {
        abort();
    }
    return items;
}

struct signature_checker *signature_checker_new(uint32_t limit)
{
    struct signature_checker *checker = zeroed(sizeof(*checker));
    generations_open(&checker->generations, limit);
    return checker;
}

void signature_checker_free(struct signature_checker *checker)
{
    if (checker != NULL) {
        generations_close(&checker->generations);
        free(checker->given);
        free(checker->told);
        free(checker);
    }
}

static const moot_hash *given_at(const struct signature_checker *checker, uint32_t rank,
                                 uint64_t step)
{
    for (size_t i = 0; i < checker->given_count; i++) {
        const struct given *given = &checker->given[i];
        if (given->rank == rank && given->step == step &&
            given->generation == checker->generation) {
            return &given->hash;
        }
    }
    return NULL;
}

static uint32_t count_given(const struct signature_checker *checker, uint64_t step,
                            const moot_hash *hash)
{
    uint32_t count = 0;
    for (size_t i = 0; i < checker->given_count; i++) {
        const struct given *given = &checker->given[i];
        count += given->step == step && given->generation == checker->generation &&
                 hash_equal(&given->hash, hash);
    }
    return count;
}

static bool is_told(const struct signature_checker *checker, uint32_t rank, uint32_t of,
                    int32_t what)
{
    for (size_t i = 0; i < checker->told_count; i++) {
        const struct told_once *told = &checker->told[i];
        if (told->rank == rank && told->of == of &&
            told->generation == checker->generation &&
            (what < 0 || told->what == what)) {
            return true;
        }
    }
    return false;
}

static void see_told(struct signature_checker *checker, struct sim *sim,
                     const struct sight *sight)
{
    const moot_hash *theirs = given_at(checker, sight->peer, sight->step);
    const moot_hash *own = given_at(checker, sight->rank, sight->step);
    const bool contradicted = sight->code == CORE_SIGNATURE_CONTRADICTED;
    if (sight->code == CORE_SIGNATURE_ROLLS) {
        sim_fail(sim, "announced",
                 "rank %" PRIu32 " is told that rank %" PRIu32
                 " announced otherwise than it says",
                 sight->rank, sight->peer);
    } else if (theirs == NULL || !hash_equal(theirs, sight->hash) ||
               hash_equal(theirs, sight->others) ||
               is_told(checker, sight->rank, sight->peer, sight->code)) {
        sim_fail(sim, "differs",
                 "rank %" PRIu32 " is told what rank %" PRIu32
                 " did not sign at %" PRIu64 ", or again",
                 sight->rank, sight->peer, sight->step);
    } else if (!contradicted && (own == NULL || !hash_equal(own, sight->others))) {
        sim_fail(sim, "differs",
                 "rank %" PRIu32 " did not sign at %" PRIu64 " what it is told",
                 sight->rank, sight->step);
    } else if (contradicted && (count_given(checker, sight->step, sight->others) < 2 ||
                                count_given(checker, sight->step, sight->others) <=
                                    count_given(checker, sight->step, theirs))) {
        sim_fail(sim, "contradicted",
                 "rank %" PRIu32 " is named at %" PRIu64 ", and no more have the other",
                 sight->peer, sight->step);
    }
    checker->told = grown(checker->told, &checker->told_room, checker->told_count,
                          sizeof(*checker->told));
    checker->told[checker->told_count++] =
        (struct told_once){sight->rank, sight->peer, checker->generation, sight->code};
}

/* How many signatures the rank gave. */
static size_t count_of(const struct signature_checker *checker, uint32_t rank)
{
    size_t count = 0;
    for (size_t i = 0; i < checker->given_count; i++) {
        count += checker->given[i].rank == rank;
    }
    return count;
}

/* The one rank that gave what is not the first rank's own; UINT32_MAX: none or several
 * did.  The plan says whose state was flipped. */
static uint32_t flipped_rank(const struct sim *sim)
{
    const struct plan *plan = sim_plan(sim);
    uint32_t rank = UINT32_MAX, count = 0;
    for (uint32_t i = 0; plan != NULL && i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        if (rule->fault == PLAN_FLIP) {
            count++;
            rank = rule->ranks.span[0].first;
        }
    }
    return count == 1 ? rank : UINT32_MAX;
}

/* All have told what they signed, and it has come: nobody adjourns before. */
static void see_adjourn(const struct signature_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const uint32_t flipped = flipped_rank(sim);
    if (flipped == UINT32_MAX || flipped == sight->rank || sim_storm(sim) != NULL ||
        sim_rank_count(sim) > sim_direct_max(sim) || count_of(checker, flipped) > FEW ||
        count_of(checker, sight->rank) > FEW ||
        is_told(checker, sight->rank, flipped, -1)) {
        return;
    }
    for (size_t i = 0; i < checker->given_count; i++) {
        const struct given *given = &checker->given[i];
        const moot_hash *own =
            given->rank == flipped ? given_at(checker, sight->rank, given->step) : NULL;
        if (own != NULL && !hash_equal(own, &given->hash)) {
            sim_fail(sim, "told",
                     "rank %" PRIu32 " leaves and was not told that rank %" PRIu32
                     " differs at %" PRIu64,
                     sight->rank, flipped, given->step);
            return;
        }
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct signature_checker *checker = context;
    (void)generations_see(&checker->generations, sim, sight);
    if (sight->rank < checker->generations.limit) {
        checker->generation = checker->generations.of[sight->rank];
    }
    if (sight->type == SIGHT_SIGN) {
        checker->given = grown(checker->given, &checker->given_room,
                               checker->given_count, sizeof(*checker->given));
        checker->given[checker->given_count++] =
            (struct given){sight->rank, checker->generation, sight->step, *sight->hash};
    } else if (sight->type == SIGHT_SIGNATURE) {
        see_told(checker, sim, sight);
    } else if (sight->type == SIGHT_ADJOURN && checker->given_count > 0) {
        see_adjourn(checker, sim, sight);
    }
}

struct sim_watcher signature_checker_watcher(struct signature_checker *checker)
{
    return (struct sim_watcher){see, checker};
}
