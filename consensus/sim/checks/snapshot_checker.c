/* snapshot_checker.c - see snapshot_checker.h. */
#include "consensus/sim/checks/snapshot_checker.h"
#include "consensus/sim/checks/generations.h"
#include "consensus/sim/programs/ranks.h"
#include "hashing/identity.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS_MAX = 256 };

/* The rank's disk: its results of one generation by task, numbered in the order in
 * which they came. */
struct disk {
    uint64_t *place; /* per task; 0: it is not there */
    uint64_t count;
};

/* A cut of one rank, and its part. */
struct cut {
    moot_hash id;
    uint32_t rank;
    uint32_t generation;
    uint64_t count;         /* results that were there */
    struct rankset writers; /* who had stored something by then */
    bool durable;
    struct core_part part;
};

struct snapshot_checker {
    const struct program *program;
    uint32_t limit;
    struct generations generations;
    struct disk
        *disks[GENERATIONS_MAX]; /* by rank; NULL: of this one nothing is there */
    uint32_t view_generations[VIEWS_MAX];
    struct rankset views[VIEWS_MAX]; /* by epoch */
    struct cut *cuts;
    size_t cut_count, cut_room;
    moot_hash *commits;
    size_t commit_count, commit_room;
    uint32_t generation; /* of the commit that is looked at */
    bool *in, *passed;   /* per task: in the set; looked at already */
    bool *lost;          /* per task: some disk did not keep it */
    uint32_t *first;     /* once tasks: 1 + the generation of its first record, or 0 */
};

static void *zeroed(size_t count, size_t size)
{
    void *items = calloc(count + 1, size);
    if (items == NULL) {
        abort();
    }
    return items;
}

static void *grown(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room) {
        return items;
    }
    *room = *room == 0 ? 16 : 2 * *room;
    void *more = realloc(items, *room * size);
    if (more == NULL) {
        abort();
    }
    return more;
}

static struct disk *disk_of(struct snapshot_checker *checker, uint32_t generation,
                            uint32_t rank)
{
    struct disk **disks = &checker->disks[generation];
    if (*disks == NULL) {
        *disks = zeroed(checker->limit, sizeof(**disks));
        for (uint32_t i = 0; i < checker->limit; i++) {
            (*disks)[i].place = zeroed(checker->program->task_count, sizeof(uint64_t));
        }
    }
    return &(*disks)[rank];
}

struct snapshot_checker *snapshot_checker_new(const struct program *program,
                                              const struct storm *storm)
{
    struct snapshot_checker *checker = zeroed(1, sizeof(*checker));
    checker->program = program;
    checker->limit = program->rank_count + (storm != NULL ? storm->comebacks : 0);
    generations_open(&checker->generations, checker->limit);
    checker->in = zeroed(program->task_count, sizeof(*checker->in));
    checker->passed = zeroed(program->task_count, sizeof(*checker->passed));
    checker->lost = zeroed(program->task_count, sizeof(*checker->lost));
    checker->first = zeroed(program->task_count, sizeof(*checker->first));
    ranks_fill(&checker->views[1], storm != NULL ? storm->first : program->rank_count);
    return checker;
}

void snapshot_checker_free(struct snapshot_checker *checker)
{
    if (checker == NULL) {
        return;
    }
    for (int i = 0; i < GENERATIONS_MAX; i++) {
        for (uint32_t rank = 0; checker->disks[i] && rank < checker->limit; rank++) {
            free(checker->disks[i][rank].place);
        }
        free(checker->disks[i]);
    }
    generations_close(&checker->generations);
    for (int epoch = 0; epoch < VIEWS_MAX; epoch++) {
        rankset_release(&checker->views[epoch]);
    }
    for (size_t i = 0; i < checker->cut_count; i++) {
        rankset_release(&checker->cuts[i].writers);
    }
    free(checker->cuts);
    free(checker->commits);
    free(checker->in);
    free(checker->lost);
    free(checker->first);
    free(checker->passed);
    free(checker);
}

/* --- The set ---------------------------------------------------------------------- */

static struct cut *find_cut(const struct snapshot_checker *checker, uint32_t rank,
                            const moot_hash *id)
{
    for (size_t i = 0; i < checker->cut_count; i++) {
        struct cut *cut = &checker->cuts[i];
        if (cut->rank == rank && hash_equal(&cut->id, id)) {
            return cut;
        }
    }
    return NULL;
}

/* Members have in the set what they had in this generation at their cut; others who had
 * written when the coordinator made its own, what is there now. */
static void fill_set(struct snapshot_checker *checker, uint32_t generation,
                     uint32_t coordinator, const struct rankset *members,
                     const moot_hash *id)
{
    const struct cut *first = find_cut(checker, coordinator, id);
    memset(checker->in, 0, checker->program->task_count * sizeof(*checker->in));
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        const struct disk *disk = disk_of(checker, generation, rank);
        const struct cut *cut =
            rankset_has(members, rank) ? find_cut(checker, rank, id) : NULL;
        const bool is_other = !rankset_has(members, rank) && first != NULL &&
                              rankset_has(&first->writers, rank);
        const uint64_t count = cut != NULL ? cut->count : is_other ? disk->count : 0;
        for (uint32_t task = 0; task < checker->program->task_count; task++) {
            const uint64_t place = disk->place[task];
            checker->in[task] |= place > 0 && place <= count;
        }
    }
}

static int64_t find_lack(const struct snapshot_checker *checker, uint32_t task);

static int64_t look_at(const struct snapshot_checker *checker, uint32_t from)
{
    const struct program_task *task = &checker->program->tasks[from];
    if (checker->in[from] || checker->passed[from]) {
        return -1; /* it is looked at itself, or was */
    }
    checker->passed[from] = true;
    if (checker->first[from] > 0 && checker->first[from] <= checker->generation) {
        return -1; /* its record stands (R3), whatever it was made from */
    }
    return (task->varies || task->once) && !checker->lost[from]
               ? (int64_t)from
               : find_lack(checker, from);
}

/* A result that varies, is not in the set, and that the task was made from; -1: none.
 */
static int64_t find_lack(const struct snapshot_checker *checker, uint32_t task)
{
    const struct program_task *spec = &checker->program->tasks[task];
    int64_t lack = -1;
    for (uint32_t i = 0; lack < 0 && i < spec->inputs.count; i++) {
        lack = look_at(checker, spec->inputs.items[i]);
    }
    for (uint32_t i = 0; lack < 0 && i < spec->children.count; i++) {
        if (checker->program->tasks[spec->children.items[i]].awaited) {
            lack = look_at(checker, spec->children.items[i]);
        }
    }
    return lack;
}

static void check_cut(struct snapshot_checker *checker, struct sim *sim,
                      uint32_t coordinator, const struct rankset *members,
                      const moot_hash *id)
{
    const struct program *program = checker->program;
    fill_set(checker, checker->generation, coordinator, members, id);
    for (uint32_t task = 0; task < program->task_count; task++) {
        memset(checker->passed, 0, program->task_count * sizeof(*checker->passed));
        const int64_t lack = checker->in[task] ? find_lack(checker, task) : -1;
        if (lack >= 0) {
            sim_fail(sim, "cut", "%s is in a snapshot without %s, which varies",
                     program->tasks[task].name, program->tasks[lack].name);
            return;
        }
    }
}

/* --- Watching --------------------------------------------------------------------- */

static void see_store(struct snapshot_checker *checker, const struct sight *sight)
{
    const uint32_t generation = checker->generations.of[sight->rank];
    struct disk *disk = disk_of(checker, generation, sight->rank);
    if (sight->code != MOOT_OK) {
        checker->lost[sight->task] = true;
        return;
    }
    disk->count++;
    if (disk->place[sight->task] == 0) {
        disk->place[sight->task] = disk->count;
    }
    if (checker->program->tasks[sight->task].once && checker->first[sight->task] == 0) {
        checker->first[sight->task] = 1 + generation;
    }
}

static void see_cut(struct snapshot_checker *checker, const struct sight *sight)
{
    checker->cuts = grown(checker->cuts, checker->cut_count, &checker->cut_room,
                          sizeof(*checker->cuts));
    struct cut *cut = &checker->cuts[checker->cut_count++];
    const uint32_t generation = checker->generations.of[sight->rank];
    *cut = (struct cut){.id = *sight->id,
                        .rank = sight->rank,
                        .generation = generation,
                        .count = disk_of(checker, generation, sight->rank)->count};
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        if (disk_of(checker, generation, rank)->count > 0 &&
            !rankset_add(&cut->writers, rank)) {
            abort();
        }
    }
}

static void see_part(const struct snapshot_checker *checker, struct sim *sim,
                     const struct sight *sight)
{
    struct cut *cut = find_cut(checker, sight->rank, sight->id);
    if (cut == NULL) {
        sim_fail(sim, "contract", "rank %" PRIu32 " has a part of no cut", sight->rank);
        return;
    }
    cut->durable = true;
    cut->part = sight->parts[0];
}

static bool has_part(const struct snapshot_checker *checker, uint32_t rank,
                     const struct sight *sight)
{
    const struct cut *cut = find_cut(checker, rank, sight->id);
    for (uint32_t i = 0; cut != NULL && i < sight->part_count; i++) {
        const struct core_part *part = &sight->parts[i];
        if (part->rank == rank) {
            return cut->durable && cut->generation == checker->generation &&
                   part->records == cut->part.records &&
                   memcmp(part->digest, cut->part.digest, sizeof(part->digest)) == 0;
        }
    }
    return false;
}

static void see_commit(struct snapshot_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const uint64_t epoch = sight->epoch < VIEWS_MAX ? sight->epoch : 0;
    const struct rankset *members = &checker->views[epoch];
    checker->generation = checker->view_generations[epoch];
    FOR_RANKS(rank, members)
    {
        if (!has_part(checker, rank, sight)) {
            sim_fail(sim, "whole",
                     "rank %" PRIu32 " commits a snapshot without the part of rank "
                     "%" PRIu32,
                     sight->rank, rank);
        }
    }
    checker->commits = grown(checker->commits, checker->commit_count,
                             &checker->commit_room, sizeof(*checker->commits));
    checker->commits[checker->commit_count++] = *sight->id;
    check_cut(checker, sim, sight->rank, members, sight->id);
}

static void see_told(const struct snapshot_checker *checker, struct sim *sim,
                     const struct sight *sight)
{
    bool there = sight->code != MOOT_OK;
    for (size_t i = 0; !there && i < checker->commit_count; i++) {
        there = hash_equal(&checker->commits[i], sight->id);
    }
    if (!there) {
        sim_fail(sim, "whole",
                 "rank %" PRIu32 " is told of a snapshot without a commit",
                 sight->rank);
    }
}

/* Others that have entered it are in the same one, or dead (R3). */
static void see_view(struct snapshot_checker *checker, const struct sight *sight)
{
    if (sight->epoch < VIEWS_MAX) {
        ranks_copy(&checker->views[sight->epoch], sight->members);
        checker->view_generations[sight->epoch] = checker->generations.of[sight->rank];
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct snapshot_checker *checker = context;
    (void)generations_see(&checker->generations, sim, sight);
    if (sight->type == SIGHT_STORE) {
        see_store(checker, sight);
    } else if (sight->type == SIGHT_CUT) {
        see_cut(checker, sight);
    } else if (sight->type == SIGHT_PART) {
        see_part(checker, sim, sight);
    } else if (sight->type == SIGHT_COMMIT) {
        see_commit(checker, sim, sight);
    } else if (sight->type == SIGHT_SNAPSHOT) {
        see_told(checker, sim, sight);
    } else if (sight->type == SIGHT_VIEW) {
        see_view(checker, sight);
    }
}

struct sim_watcher snapshot_checker_watcher(struct snapshot_checker *checker)
{
    return (struct sim_watcher){see, checker};
}
