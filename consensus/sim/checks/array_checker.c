/* array_checker.c - see array_checker.h. */
#include "consensus/sim/checks/array_checker.h"

#include "consensus/sim/engine/storm.h"
#include "consensus/sim/programs/ranks.h"
#include "hashing/array_spread.h"
#include "hashing/placement.h"

#include <inttypes.h>
#include <stdlib.h>

/* One array, as far as it has been seen. */
struct array_seen {
    struct rankset spawned_by;
    bool **parts; /* by rank: which elements it has spawned; NULL: it says of none */
    struct rankset heirs; /* to whom its end was handed over, by who left */
    uint32_t *runner;     /* by place: 1 + who got it last */
    uint64_t *given_in;   /* likewise: in which generation */
    bool *ended;          /* likewise: it has, somewhere, */
    bool *cancelled;      /* and nowhere but by a cancel */
    bool *barred;         /* who got it last knew by then that the array is cancelled */
    bool ran;             /* its end has been run, somewhere */
    struct rankset ordered; /* ranks that know, from its chair of this view */
    struct rankset cancels; /* and whom that one told, */
    uint64_t cancels_in;    /* in which view */
    uint64_t left;          /* places that have not */
    uint64_t *told;         /* by rank: the view in which it has said its word */
};

struct array_checker {
    const struct program *program;
    const struct storm *storm;
    uint32_t homes;            /* of an array without candidates */
    struct array_seen *arrays; /* by task */
    struct rankset *views;     /* by rank: the members that it knows; empty: all */
    uint64_t *generations;     /* by rank: of its view; in each all is spawned anew */
    uint64_t *epochs;          /* by rank: 1 + that of its view; 0: the first one */
    uint64_t *begun;           /* by rank: likewise of the first view of a generation */
    uint64_t first_epoch;      /* 1 + that of the first word of all; 0: none was said */
    uint32_t rank_limit;       /* of these; 0: not made yet */
};

static void *zeroed(size_t count, size_t size)
{
    void *items = calloc(count == 0 ? 1 : count, size);
    if (items == NULL) {
        abort();
    }
    return items;
}

struct array_checker *array_checker_new(const struct program *program,
                                        const struct storm *storm)
{
    struct array_checker *checker = zeroed(1, sizeof(*checker));
    checker->program = program;
    checker->storm = storm;
    checker->homes = storm != NULL ? storm->first : program->rank_count;
    checker->arrays = zeroed(program->task_count, sizeof(*checker->arrays));
    for (uint32_t i = 0; i < program->task_count; i++) {
        const uint64_t elements = program->tasks[i].elements;
        if (elements > 0) {
            checker->arrays[i].runner =
                zeroed(elements, sizeof(*checker->arrays[i].runner));
            checker->arrays[i].given_in =
                zeroed(elements, sizeof(*checker->arrays[i].given_in));
            checker->arrays[i].ended =
                zeroed(elements, sizeof(*checker->arrays[i].ended));
            checker->arrays[i].cancelled =
                zeroed(elements, sizeof(*checker->arrays[i].cancelled));
            checker->arrays[i].barred =
                zeroed(elements, sizeof(*checker->arrays[i].barred));
            checker->arrays[i].left = elements;
        }
    }
    return checker;
}

void array_checker_free(struct array_checker *checker)
{
    if (checker == NULL) {
        return;
    }
    for (uint32_t i = 0; i < checker->program->task_count; i++) {
        struct array_seen *seen = &checker->arrays[i];
        for (uint32_t rank = 0; seen->parts != NULL && rank < checker->rank_limit;
             rank++) {
            free(seen->parts[rank]);
        }
        free(seen->parts);
        rankset_release(&checker->arrays[i].spawned_by);
        rankset_release(&checker->arrays[i].heirs);
        free(checker->arrays[i].runner);
        free(checker->arrays[i].given_in);
        free(checker->arrays[i].ended);
        free(checker->arrays[i].cancelled);
        free(checker->arrays[i].barred);
        rankset_release(&checker->arrays[i].ordered);
        rankset_release(&checker->arrays[i].cancels);
        free(checker->arrays[i].told);
    }
    for (uint32_t rank = 0; rank < checker->rank_limit; rank++) {
        rankset_release(&checker->views[rank]);
    }
    free(checker->views);
    free(checker->generations);
    free(checker->epochs);
    free(checker->begun);
    free(checker->arrays);
    free(checker);
}

static const char *name(const struct array_checker *checker, uint32_t task)
{
    return checker->program->tasks[task].name;
}

static bool is_member(const struct array_checker *checker, uint32_t viewer,
                      uint32_t rank)
{
    const struct rankset *view = &checker->views[viewer];
    return rankset_empty(view) || rankset_has(view, rank);
}

/* Neither has been removed by the other's view. */
static bool know_each_other(const struct array_checker *checker, uint32_t a, uint32_t b)
{
    return is_member(checker, a, b) && is_member(checker, b, a);
}

/* The elements of an array that has some; 0: it has none. */
static uint64_t candidates_of(const struct array_checker *checker, uint32_t task)
{
    return sim_homes(checker->program, checker->storm, task);
}

static bool may_run(const struct array_checker *checker, uint32_t task, uint32_t rank)
{
    const uint64_t candidates = candidates_of(checker, task);
    return candidates == 0 || (rank < 64 && (candidates >> rank & 1) != 0);
}

/* The candidate that has so many before it. */
static uint32_t nth_of(uint64_t candidates, uint32_t before)
{
    uint32_t rank = 0;
    while ((candidates >> rank & 1) == 0 || before-- > 0) {
        rank++;
    }
    return rank;
}

/* By arithmetic of its own: blocks go round, all else lies evenly. */
static uint32_t home_of(const struct array_checker *checker, uint32_t task,
                        uint64_t place)
{
    const struct program_task *spec = &checker->program->tasks[task];
    const uint64_t candidates = candidates_of(checker, task);
    uint32_t homes = candidates == 0 ? checker->homes : 0, home;
    for (uint64_t rest = candidates; rest != 0; rest &= rest - 1) {
        homes++;
    }
    const struct array_spread spread = {.count = spec->elements,
                                        .block = spec->block,
                                        .homes = homes,
                                        .kind = (enum array_spread_kind)spec->spread};
    if (spread.kind != ARRAY_SPREAD_CYCLIC) {
        home = (uint32_t)(place * homes / spec->elements);
    } else {
        home = (uint32_t)(array_index(&spread, place) / spec->block % homes);
    }
    return candidates == 0 ? home : nth_of(candidates, home);
}

/* The rank has spawned the element, whether or not it has others. */
static bool has_spawned(const struct array_seen *seen, uint32_t rank, uint64_t at)
{
    const bool *part = seen->parts != NULL ? seen->parts[rank] : NULL;
    return rankset_has(&seen->spawned_by, rank) && (part == NULL || part[at]);
}

/* Places of none: all. */
static void note_spawned(struct array_checker *checker, const struct sight *sight)
{
    struct array_seen *seen = &checker->arrays[sight->task];
    const uint64_t elements = checker->program->tasks[sight->task].elements;
    const bool all = sight->places.end == 0;
    const bool before = rankset_has(&seen->spawned_by, sight->rank);
    ranks_add(&seen->spawned_by, sight->rank);
    if (seen->parts == NULL && !all) {
        seen->parts = zeroed(checker->rank_limit, sizeof(*seen->parts));
    }
    if (seen->parts == NULL || (before && seen->parts[sight->rank] == NULL)) {
        return;
    }
    bool **part = &seen->parts[sight->rank];
    *part = *part == NULL && !all ? zeroed(elements, sizeof(**part)) : *part;
    const struct range places = all ? (struct range){0, elements} : sight->places;
    for (uint64_t at = places.first; *part != NULL && at < places.end; at++) {
        (*part)[at] = true;
    }
}

/* An adopter of an array has the spec of one that has spawned all of it, or has adopted
 * it itself, and knows of no cancel. */
static void check_adopted(const struct array_checker *checker, struct sim *sim,
                          const struct sight *sight)
{
    const struct array_seen *seen = &checker->arrays[sight->task];
    const uint64_t elements = checker->program->tasks[sight->task].elements;
    bool whole = false;
    for (uint32_t rank = 0; rank < checker->rank_limit && !whole; rank++) {
        uint64_t has = 0;
        while (has < elements && has_spawned(seen, rank, has)) {
            has++;
        }
        whole = has == elements;
    }
    if (!whole) {
        sim_fail(sim, "adopts",
                 "rank %" PRIu32 " adopts %s, of which no rank has spawned all",
                 sight->rank, name(checker, sight->task));
    }
    if (rankset_has(&seen->ordered, sight->rank)) {
        sim_fail(sim, "adopts",
                 "rank %" PRIu32 " adopts %s, and knows that it is cancelled",
                 sight->rank, name(checker, sight->task));
    }
}

/* 1 + who got the element last in this rank's generation; 0: nobody. */
static uint32_t runner_of(const struct array_checker *checker,
                          const struct array_seen *seen, uint64_t at, uint32_t rank)
{
    const uint32_t before = seen->runner[at];
    const bool same =
        before != 0 && checker->generations[before - 1] == checker->generations[rank];
    return same && seen->given_in[at] == checker->generations[rank] ? before : 0;
}

/* In an array that goes by stretches nobody else whom the rank counts has an element of
 * that home which has not ended. */
static void check_stretch(const struct array_checker *checker, struct sim *sim,
                          const struct sight *sight, uint32_t home)
{
    const struct array_seen *seen = &checker->arrays[sight->task];
    const uint64_t elements = checker->program->tasks[sight->task].elements;
    for (uint64_t at = 0; at < elements; at++) {
        const uint32_t other = home_of(checker, sight->task, at) == home
                                   ? runner_of(checker, seen, at, sight->rank)
                                   : 0;
        if (other != 0 && other != sight->rank + 1 && !seen->ended[at] &&
            know_each_other(checker, sight->rank, other - 1)) {
            sim_fail(sim, "one stretch",
                     "rank %" PRIu32 " gets elements of %s whose home is rank %" PRIu32
                     ", and rank %" PRIu32 " has others of that home",
                     sight->rank, name(checker, sight->task), home, other - 1);
        }
    }
}

static void check_stretches(const struct array_checker *checker, struct sim *sim,
                            const struct sight *sight)
{
    uint32_t before = UINT32_MAX;
    if (!checker->program->tasks[sight->task].stretches) {
        return;
    }
    for (uint64_t at = sight->places.first; at < sight->places.end; at++) {
        const uint32_t home = home_of(checker, sight->task, at);
        if (home != before) {
            check_stretch(checker, sim, sight, home);
        }
        before = home;
    }
}

static void check_given(struct array_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    struct array_seen *seen = &checker->arrays[sight->task];
    const uint32_t rank = sight->rank;
    if (!rankset_has(&seen->spawned_by, rank)) {
        sim_fail(sim, "holds it",
                 "rank %" PRIu32 " gets elements of %s, and spawned none", rank,
                 name(checker, sight->task));
    }
    if (!may_run(checker, sight->task, rank)) {
        sim_fail(sim, "candidate",
                 "rank %" PRIu32 " gets elements of %s, and is no candidate", rank,
                 name(checker, sight->task));
    }
    if (rankset_has(&seen->heirs, rank)) {
        sim_fail(sim, "over",
                 "rank %" PRIu32 " gets elements of %s, which it knows to have ended",
                 rank, name(checker, sight->task));
    }
    for (uint64_t at = sight->places.first; at < sight->places.end; at++) {
        const uint32_t home = home_of(checker, sight->task, at);
        if (!has_spawned(seen, rank, at)) {
            sim_fail(sim, "holds it",
                     "rank %" PRIu32 " gets the element at %" PRIu64
                     " of %s, which it has not spawned",
                     rank, at, name(checker, sight->task));
        }
        const uint32_t before = runner_of(checker, seen, at, rank);
        if ((home != rank && checker->program->agree && sim_storm(sim) == NULL) ||
            (before != 0 && know_each_other(checker, rank, before - 1))) {
            sim_fail(sim, "one chair",
                     "rank %" PRIu32 " gets the element at %" PRIu64
                     " of %s, whose home is rank %" PRIu32 "; it was given to %" PRId64,
                     rank, at, name(checker, sight->task), home, (int64_t)before - 1);
        }
        seen->runner[at] = rank + 1;
        seen->given_in[at] = checker->generations[rank];
        seen->barred[at] = rankset_has(&seen->ordered, rank);
    }
    check_stretches(checker, sim, sight);
}

static void note_ended(struct array_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    struct array_seen *seen = &checker->arrays[sight->task];
    for (uint64_t at = sight->places.first; at < sight->places.end; at++) {
        if (seen->runner[at] == 0) {
            sim_fail(sim, "one chair", "an element of %s ends that nobody got",
                     name(checker, sight->task));
        }
        const bool cancelled = sight->code == MOOT_ERR_CANCELLED;
        if (seen->barred[at] && !cancelled) {
            sim_fail(sim, "begins",
                     "rank %" PRIu32 " runs the element at %" PRIu64
                     " of %s, and knew when it got it that it is cancelled",
                     sight->rank, at, name(checker, sight->task));
        }
        seen->left -= !seen->ended[at];
        seen->cancelled[at] = cancelled && (seen->cancelled[at] || !seen->ended[at]);
        seen->ended[at] = true;
    }
}

/* Somebody whom this rank counts has it, and it has not ended. */
static bool is_in_hand(const struct array_checker *checker, uint32_t task, uint64_t at,
                       uint32_t rank)
{
    const struct array_seen *seen = &checker->arrays[task];
    const uint32_t runner = runner_of(checker, seen, at, rank);
    return !seen->ended[at] && runner != 0 &&
           know_each_other(checker, rank, runner - 1);
}

/* Elements that stand against an end.  One that was cancelled stands against a good
 * end, and one that nobody ever got does unless the array may be cancelled. */
static uint64_t count_open(const struct array_checker *checker,
                           const struct sight *sight)
{
    const struct program_task *spec = &checker->program->tasks[sight->task];
    const struct array_seen *seen = &checker->arrays[sight->task];
    const bool good = sight->type == SIGHT_WAITED;
    uint64_t open = 0;
    if (!good && !spec->parted && spec->homes == 0 && !spec->poison &&
        (spec->cancellers | spec->late_cancellers) == 0) {
        return seen->left;
    }
    for (uint64_t at = 0; at < spec->elements; at++) {
        open += good ? !seen->ended[at] || seen->cancelled[at]
                     : is_in_hand(checker, sight->task, at, sight->rank);
    }
    return open;
}

static void check_ended(const struct array_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const uint64_t left = count_open(checker, sight);
    if (left > 0) {
        sim_fail(sim, "all ended",
                 "at rank %" PRIu32 " %s ends, and %" PRIu64
                 " of its elements have not",
                 sight->rank, name(checker, sight->task), left);
    }
}

/* An array ends for want of candidates when none is a member, and has any then. */
static void check_no_candidate(const struct array_checker *checker, struct sim *sim,
                               const struct sight *sight)
{
    bool any = candidates_of(checker, sight->task) == 0;
    for (uint32_t rank = 0; rank < checker->homes; rank++) {
        any |= may_run(checker, sight->task, rank) &&
               is_member(checker, sight->rank, rank);
    }
    if (any) {
        sim_fail(sim, "candidate",
                 "at rank %" PRIu32 " %s ends for want of candidates, and has some",
                 sight->rank, name(checker, sight->task));
    }
}

static uint32_t chair_of(const struct array_checker *checker, const struct sim *sim,
                         uint32_t task, uint32_t viewer)
{
    const struct rankset *view = &checker->views[viewer];
    return rankset_empty(view) ? sim_chair(sim, task)
                               : placement_chair(sim_root(sim, task), view, NULL);
}

/* When the chair has an array end of which it counts elements as held by nobody, no
 * member has spawned one of these.  Where another ends it, or it waits for other ends,
 * or is made again, a rank may have spawned some in between. */
static void check_unheld(const struct array_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    const struct program_task *spec = &checker->program->tasks[sight->task];
    const struct array_seen *seen = &checker->arrays[sight->task];
    const bool at_once =
        spec->parted && !spec->poison && !seen->ran && spec->after.count == 0 &&
        (spec->cancellers | spec->late_cancellers) == 0 &&
        checker->generations[sight->rank] == 0 &&
        chair_of(checker, sim, sight->task, sight->rank) == sight->rank;
    for (uint64_t at = 0; at < spec->elements && at_once; at++) {
        for (uint32_t rank = 0; rank < checker->rank_limit && !seen->ended[at];
             rank++) {
            if (may_run(checker, sight->task, rank) && has_spawned(seen, rank, at) &&
                is_member(checker, sight->rank, rank)) {
                sim_fail(sim, "not held",
                         "at rank %" PRIu32 " %s ends without the element at %" PRIu64
                         ", which rank %" PRIu32 " has spawned",
                         sight->rank, name(checker, sight->task), at, rank);
            }
        }
    }
}

/* As the chair says it to the owner. */
static bool is_of_all(const struct message *message)
{
    const struct message_elements *elements = &message->u.elements;
    return elements->ranges[0].first == 0 && elements->ranges[0].end == elements->count;
}

/* A cancel costs each member a word of the chair, in a view, and the chair one of each.
 */
static void check_cancel(struct array_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    struct array_seen *seen = &checker->arrays[sight->task];
    const uint64_t epoch = sight->message->epoch;
    if (chair_of(checker, sim, sight->task, sight->rank) != sight->rank) {
        return;
    }
    if (seen->cancels_in < epoch) {
        rankset_release(&seen->cancels);
        seen->cancels_in = epoch;
    }
    if (seen->cancels_in == epoch && rankset_has(&seen->cancels, sight->peer)) {
        sim_fail(sim, "cancels",
                 "rank %" PRIu32 " tells %" PRIu32 " again that %s is cancelled",
                 sight->rank, sight->peer, name(checker, sight->task));
    }
    ranks_add(&seen->cancels, sight->peer);
}

static void note_order(struct array_checker *checker, const struct sim *sim,
                       const struct sight *sight)
{
    const uint64_t epoch = 1 + sight->message->epoch,
                   here = checker->epochs[sight->rank];
    if (sight->message->type == MESSAGE_CANCEL &&
        epoch == (here != 0 ? here : checker->first_epoch) && /* Rule E */
        chair_of(checker, sim, sight->task, sight->rank) == sight->peer) {
        ranks_add(&checker->arrays[sight->task].ordered, sight->rank);
    }
}

static void check_send(struct array_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    struct array_seen *seen = &checker->arrays[sight->task];
    const struct message_elements *words = &sight->message->u.elements;
    if (sight->message->type == MESSAGE_CANCEL) {
        check_cancel(checker, sim, sight);
    }
    if (sight->message->type != MESSAGE_ELEMENTS) {
        return;
    }
    if (words->what != ELEMENTS_ENDED || is_of_all(sight->message)) {
        return;
    }
    if (seen->told == NULL) {
        seen->told = zeroed(checker->rank_limit, sizeof(*seen->told));
    }
    if (seen->told[sight->rank] == sight->message->epoch && checker->program->agree &&
        sim_storm(sim) == NULL) {
        sim_fail(sim, "frames",
                 "rank %" PRIu32 " says again that its elements of %s have ended",
                 sight->rank, name(checker, sight->task));
    }
    seen->told[sight->rank] = sight->message->epoch;
}

static void note_view(struct array_checker *checker, const struct sight *sight)
{
    for (uint32_t i = 0; i < checker->program->task_count; i++) {
        rankset_remove(&checker->arrays[i].ordered, sight->rank);
    }
    checker->epochs[sight->rank] = 1 + sight->epoch;
    rankset_release(&checker->views[sight->rank]);
    ranks_copy(&checker->views[sight->rank], sight->members);
    for (uint32_t i = 0; i < checker->program->task_count &&
                         checker->generations[sight->rank] != sight->step;
         i++) {
        rankset_remove(&checker->arrays[i].heirs, sight->rank);
    }
    if (checker->generations[sight->rank] != sight->step) {
        checker->begun[sight->rank] = 1 + sight->epoch;
    }
    checker->generations[sight->rank] = sight->step;
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct array_checker *checker = context;
    if (checker->rank_limit == 0) {
        checker->rank_limit = sim_rank_limit(sim);
        checker->views = zeroed(checker->rank_limit, sizeof(*checker->views));
        checker->generations =
            zeroed(checker->rank_limit, sizeof(*checker->generations));
        checker->epochs = zeroed(checker->rank_limit, sizeof(*checker->epochs));
        checker->begun = zeroed(checker->rank_limit, sizeof(*checker->begun));
    }
    if (sight->type == SIGHT_SEND && checker->first_epoch == 0) {
        checker->first_epoch = 1 + sight->message->epoch;
    }
    if (sight->type == SIGHT_VIEW) {
        note_view(checker, sight);
    }
    if (sight->task >= checker->program->task_count ||
        checker->program->tasks[sight->task].elements == 0) {
        return;
    }
    if (sight->type == SIGHT_ADOPT) {
        check_adopted(checker, sim, sight);
    }
    if (sight->type == SIGHT_SPAWN || sight->type == SIGHT_GROW ||
        sight->type == SIGHT_ADOPT) {
        note_spawned(checker, sight);
    }
    if (sight->type == SIGHT_RECEIVE && sight->message->type == MESSAGE_RESULT &&
        sight->message->u.result.handover && /* and not of before a reload */
        sight->message->epoch + 1 >= checker->begun[sight->rank] &&
        !rankset_add(&checker->arrays[sight->task].heirs, sight->rank)) {
        abort();
    }
    if (sight->type == SIGHT_RECEIVE) {
        note_order(checker, sim, sight);
    } else if (sight->type == SIGHT_GIVEN) {
        check_given(checker, sim, sight);
    } else if (sight->type == SIGHT_ENDED) {
        note_ended(checker, sim, sight);
    } else if (sight->type == SIGHT_RUN ||
               (sight->type == SIGHT_WAITED && sight->code == MOOT_OK)) {
        check_ended(checker, sim, sight);
        if (sight->type == SIGHT_RUN) {
            check_unheld(checker, sim, sight);
            checker->arrays[sight->task].ran = true;
        }
    } else if (sight->type == SIGHT_WAITED && sight->code == MOOT_ERR_NO_CANDIDATE) {
        check_no_candidate(checker, sim, sight);
    } else if (sight->type == SIGHT_SEND) {
        check_send(checker, sim, sight);
    }
}

struct sim_watcher array_checker_watcher(struct array_checker *checker)
{
    return (struct sim_watcher){see, checker};
}
