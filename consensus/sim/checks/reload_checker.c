/* reload_checker.c - see reload_checker.h. */
#include "consensus/sim/checks/reload_checker.h"
#include "consensus/sim/checks/generations.h"
#include "consensus/sim/programs/ranks.h"
#include "hashing/identity.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A rank came to a meeting for this snapshot; all 0: for something else. */
struct coming {
    uint32_t rank;
    uint64_t meeting;
    moot_hash snapshot;
    bool over; /* its program has ended since: the meeting does without it (R2) */
};

/* A generation: what marks say of it, and who was told of it. */
struct generation {
    bool is_marked, durable;
    moot_hash marked; /* the snapshot of its marks */
    bool begins;
    moot_hash snapshot;
    uint64_t meeting; /* 0: nobody who came has told yet */
    bool *named;      /* per task; NULL: no program has begun */
};

struct reload_checker {
    const struct program *program;
    struct generations generations;
    struct generation begun[GENERATIONS_MAX];
    struct coming *comings;
    size_t coming_count, coming_room;
    moot_hash *snapshots,
        *failed; /* that exist; of which a mark could not be written */
    size_t snapshot_count, snapshot_room, failed_count, failed_room;
    bool closed_back;    /* a rank that had closed went back with the others */
    struct rankset told; /* of a generation, and have not entered its view yet */
};

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void *grown(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room) {
        return items;
    }
    *room = *room == 0 ? 16 : 2 * *room;
    items = realloc(items, *room * size);
    if (items == NULL) {
        abort();
    }
    return items;
}

struct reload_checker *reload_checker_new(const struct program *program,
                                          const struct storm *storm)
{
    struct reload_checker *checker = zeroed(1, sizeof(*checker));
    checker->program = program;
    generations_open(&checker->generations, program->rank_count + storm->comebacks);
    return checker;
}

void reload_checker_free(struct reload_checker *checker)
{
    if (checker == NULL) {
        return;
    }
    for (int i = 0; i < GENERATIONS_MAX; i++) {
        free(checker->begun[i].named);
    }
    generations_close(&checker->generations);
    rankset_release(&checker->told);
    free(checker->comings);
    free(checker->snapshots);
    free(checker->failed);
    free(checker);
}

/* --- Coming ----------------------------------------------------------------------- */

static void note_coming(struct reload_checker *checker, const struct sight *sight)
{
    checker->comings = grown(checker->comings, checker->coming_count,
                             &checker->coming_room, sizeof(*checker->comings));
    checker->comings[checker->coming_count++] = (struct coming){
        .rank = sight->rank,
        .meeting = sight->meeting,
        .snapshot = sight->type == SIGHT_RELOAD ? *sight->id : (moot_hash){{0}}};
}

static void note_end(struct reload_checker *checker, uint32_t rank)
{
    for (size_t i = 0; i < checker->coming_count; i++) {
        checker->comings[i].over |= checker->comings[i].rank == rank;
    }
}

/* A rank that came to the meeting otherwise than for this snapshot, from `from` on;
 * coming_count: none. */
static size_t find_other(const struct reload_checker *checker, uint64_t meeting,
                         const moot_hash *snapshot, size_t from)
{
    while (from < checker->coming_count &&
           (checker->comings[from].meeting != meeting ||
            hash_equal(&checker->comings[from].snapshot, snapshot))) {
        from++;
    }
    return from;
}

static bool is_among(const moot_hash *hashes, size_t count, const moot_hash *hash)
{
    for (size_t i = 0; i < count; i++) {
        if (hash_equal(&hashes[i], hash)) {
            return true;
        }
    }
    return false;
}

/* --- Marks ------------------------------------------------------------------------ */

static void see_commit(struct reload_checker *checker, const struct sight *sight)
{
    checker->snapshots = grown(checker->snapshots, checker->snapshot_count,
                               &checker->snapshot_room, sizeof(*checker->snapshots));
    checker->snapshots[checker->snapshot_count++] = *sight->id;
}

static void see_mark(struct reload_checker *checker, struct sim *sim,
                     const struct sight *sight)
{
    const uint64_t number = sight->step < GENERATIONS_MAX ? sight->step : 0;
    struct generation *begun = &checker->begun[number];
    if (number == 0) {
        sim_fail(sim, "generation", "rank %" PRIu32 " marks generation %" PRIu64,
                 sight->rank, sight->step);
        return;
    }
    if (begun->is_marked && !hash_equal(&begun->marked, sight->id)) {
        sim_fail(sim, "one reload",
                 "rank %" PRIu32 " marks generation %" PRIu64
                 ", which is marked for another snapshot",
                 sight->rank, number);
    }
    begun->is_marked = true;
    begun->marked = *sight->id;
    begun->durable |= sight->code == MOOT_OK;
    if (sight->code != MOOT_OK) {
        checker->failed = grown(checker->failed, checker->failed_count,
                                &checker->failed_room, sizeof(*checker->failed));
        checker->failed[checker->failed_count++] = *sight->id;
    }
}

/* --- Beginning -------------------------------------------------------------------- */

static void check_told(const struct reload_checker *checker, struct sim *sim,
                       const struct sight *sight, const struct generation *begun)
{
    if (sight->step <= checker->generations.of[sight->rank]) {
        sim_fail(sim, "generation",
                 "rank %" PRIu32 " begins generation %" PRIu64 ", and was in %" PRIu32,
                 sight->rank, sight->step, checker->generations.of[sight->rank]);
    } else if (!begun->durable || !hash_equal(&begun->marked, sight->id) ||
               !is_among(checker->snapshots, checker->snapshot_count, sight->id)) {
        sim_fail(sim, "marked",
                 "rank %" PRIu32 " begins generation %" PRIu64
                 ", whose mark is not durable, or whose snapshot does not exist",
                 sight->rank, sight->step);
    } else if (begun->begins && (!hash_equal(&begun->snapshot, sight->id) ||
                                 (sight->meeting > 0 && begun->meeting > 0 &&
                                  begun->meeting != sight->meeting))) {
        sim_fail(sim, "one reload",
                 "rank %" PRIu32 " begins generation %" PRIu64
                 " from another snapshot, or behind another meeting",
                 sight->rank, sight->step);
    }
}

static void see_begin(struct reload_checker *checker, struct sim *sim,
                      const struct sight *sight)
{
    struct generation *begun =
        &checker->begun[sight->step < GENERATIONS_MAX ? sight->step : 0];
    check_told(checker, sim, sight, begun);
    checker->closed_back |= sight->meeting == 0;
    begun->begins = true;
    begun->snapshot = *sight->id;
    begun->meeting = sight->meeting > 0 ? sight->meeting : begun->meeting;
    (void)generations_see(&checker->generations, sim, sight);
    ranks_add(&checker->told, sight->rank);
}

static void see_failure(const struct reload_checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    const bool mixed =
        find_other(checker, sight->meeting, sight->id, 0) < checker->coming_count;
    const bool unmarked = is_among(checker->failed, checker->failed_count, sight->id);
    if (sight->code == MOOT_ERR_STATE ? !mixed : !unmarked) {
        sim_fail(sim, "cause",
                 "rank %" PRIu32 " is told that the reload of meeting %" PRIu64
                 " ends with %" PRId32,
                 sight->rank, sight->meeting, sight->code);
    }
}

static void see_view(struct reload_checker *checker, struct sim *sim,
                     const struct sight *sight)
{
    (void)generations_see(&checker->generations, sim, sight); /* a newcomer's */
    struct generation *begun = &checker->begun[checker->generations.of[sight->rank]];
    if (!rankset_has(&checker->told, sight->rank)) {
        return;
    }
    rankset_remove(&checker->told, sight->rank);
    for (size_t i = find_other(checker, begun->meeting, &begun->snapshot, 0);
         i < checker->coming_count;
         i = find_other(checker, begun->meeting, &begun->snapshot, i + 1)) {
        if (!checker->comings[i].over &&
            rankset_has(sight->members, checker->comings[i].rank)) {
            sim_fail(sim, "all for one",
                     "view %" PRIu64 " goes back, and rank %" PRIu32
                     " had not come for that",
                     sight->epoch, checker->comings[i].rank);
        }
    }
}

/* --- What is void ----------------------------------------------------------------- */

static void name_all(bool *named, const struct program_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        named[list->items[i]] = true;
    }
}

static void see_named(struct reload_checker *checker, const struct sight *sight)
{
    struct generation *begun = &checker->begun[checker->generations.of[sight->rank]];
    const struct program_task *task = &checker->program->tasks[sight->task];
    if (begun->named == NULL) {
        begun->named = zeroed(checker->program->task_count, sizeof(*begun->named));
    }
    begun->named[sight->task] = true;
    if (sight->type == SIGHT_SPAWN || sight->type == SIGHT_ADOPT) {
        name_all(begun->named, &task->inputs);
        name_all(begun->named, &task->after);
    }
}

/* A once task, of which a rank that had closed may know since before (R5). */
static bool is_remembered(const struct reload_checker *checker, uint32_t generation,
                          uint32_t task)
{
    const struct program_task *spec = &checker->program->tasks[task];
    bool known = false;
    for (uint32_t i = 0; i < generation; i++) {
        const bool *named = checker->begun[i].named;
        known = known || (named != NULL && named[task]);
    }
    return known && checker->closed_back && spec->once && !spec->idempotent;
}

static void check_said(const struct reload_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const uint32_t generation = checker->generations.of[sight->rank];
    const bool *named = checker->begun[generation].named;
    if (generation > 0 && (named == NULL || !named[sight->task]) &&
        !is_remembered(checker, generation, sight->task)) {
        sim_fail(sim, "void",
                 "rank %" PRIu32 " says %s of %s, which nobody has named since all "
                 "went back",
                 sight->rank, message_type_name(sight->message->type),
                 checker->program->tasks[sight->task].name);
    }
}

/* --- Watching --------------------------------------------------------------------- */

static void see_task(struct reload_checker *checker, struct sim *sim,
                     const struct sight *sight)
{
    if (sight->type == SIGHT_SPAWN || sight->type == SIGHT_ADOPT ||
        sight->type == SIGHT_WAIT || sight->type == SIGHT_DECLINE ||
        sight->type == SIGHT_CANCEL) {
        see_named(checker, sight);
    } else if (sight->type == SIGHT_SEND) {
        check_said(checker, sim, sight);
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct reload_checker *checker = context;
    if (sight->type == SIGHT_MEET || sight->type == SIGHT_RELOAD) {
        note_coming(checker, sight);
    } else if (sight->type == SIGHT_CLOSE || sight->type == SIGHT_LEAVE) {
        note_end(checker, sight->rank);
    } else if (sight->type == SIGHT_COMMIT) {
        see_commit(checker, sight);
    } else if (sight->type == SIGHT_MARK) {
        see_mark(checker, sim, sight);
    } else if (sight->type == SIGHT_RELOADED && sight->code == MOOT_OK) {
        see_begin(checker, sim, sight);
    } else if (sight->type == SIGHT_RELOADED) {
        see_failure(checker, sim, sight);
    } else if (sight->type == SIGHT_VIEW) {
        see_view(checker, sim, sight);
    } else if (sight->task < checker->program->task_count) {
        see_task(checker, sim, sight);
    }
}

struct sim_watcher reload_checker_watcher(struct reload_checker *checker)
{
    return (struct sim_watcher){see, checker};
}
