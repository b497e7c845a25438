/* play_regions.c - see play_regions.h. */
#include "tests/mpi/support/play_regions.h"

#include <stdlib.h>

/* --- A queue of one's own --------------------------------------------------------- */

enum { PACK = 3 };

struct pack {
    moot_ticket *tickets[PACK];
    size_t count;
};

static int pack_open(moot_queue *queue, void *user, void **state)
{
    (void)queue;
    (void)user;
    *state = harness_alloc(1, sizeof(struct pack));
    return MOOT_OK;
}

static int pack_flush(moot_queue *queue, void *state)
{
    struct pack *pack = state;
    size_t count = pack->count;
    pack->count = 0;
    return count > 0 ? moot_queue_up(queue, pack->tickets, count) : MOOT_OK;
}

static int pack_submit(moot_queue *queue, moot_ticket *const *tickets, size_t count,
                       void *state)
{
    struct pack *pack = state;
    int code = MOOT_OK;
    for (size_t i = 0; code == MOOT_OK && i < count; i++) {
        pack->tickets[pack->count++] = tickets[i];
        if (pack->count == PACK) {
            code = pack_flush(queue, pack);
        }
    }
    return code;
}

static int pack_close(moot_queue *queue, void *state)
{
    int code = pack_flush(queue, state);
    free(state);
    return code;
}

/* --- Queues ----------------------------------------------------------------------- */

static void open_queue(struct regions *regions)
{
    static const moot_queue_custom packs = {.name = "packs",
                                            .open = pack_open,
                                            .submit = pack_submit,
                                            .flush = pack_flush,
                                            .close = pack_close};
    moot *m = regions->play->m;
    uint64_t kind = random_below(&regions->random, regions->sequential ? 4 : 2);
    int code = kind == 0   ? moot_queue_open_custom(m, &packs)
               : kind == 1 ? moot_queue_open(m, MOOT_QUEUE_BULK)
                           : moot_queue_open(m, MOOT_QUEUE_SEQUENTIAL);
    if (CHECK_OK(code)) {
        regions->queues++;
    }
}

static void close_queues(struct regions *regions, uint32_t until)
{
    while (regions->queues > until) {
        CHECK_OK(moot_queue_close(regions->play->m));
        regions->queues--;
    }
}

/* --- Groups ----------------------------------------------------------------------- */

/* Whether the group has an end that the oracle can tell, and a wait for it belongs only
 * behind the last spawn. */
static bool is_ghostly(const struct regions *regions, uint32_t task)
{
    const struct program *program = regions->play->program;
    const struct program_list *children = &program->tasks[task].children;
    bool ghostly = program->outcomes[task].ghostly || program_ghost(program, task);
    for (uint32_t i = 0; !ghostly && i < children->count; i++) {
        ghostly = is_ghostly(regions, children->items[i]);
    }
    return ghostly;
}

/* Rule (W): nothing that the lane still has to spawn comes before what is in the group.
 */
static bool may_wait(const struct regions *regions, uint32_t step)
{
    uint32_t begin = regions->begins[regions->groups - 1], last = 0;
    bool ghostly = false;
    for (uint32_t i = begin; i < regions->count; i++) {
        last = regions->spawned[i] > last ? regions->spawned[i] : last;
        ghostly = ghostly || is_ghostly(regions, regions->spawned[i]);
    }
    for (uint32_t i = step; i < regions->script->count; i++) {
        const struct program_step *later = &regions->script->steps[i];
        if (later->op == PROGRAM_BARRIER || later->op == PROGRAM_MEET) {
            return false;
        }
        if (later->op == PROGRAM_SPAWN && (ghostly || later->tasks.items[0] < last)) {
            return false;
        }
    }
    return true;
}

/* What a wait for the task gives. */
static int end_of(const struct regions *regions, uint32_t task, moot_duration timeout)
{
    const struct play *play = regions->play;
    moot_task handle;
    if (!CHECK_OK(moot_task_find(play->m, &play->hashes[task], &handle))) {
        return MOOT_OK;
    }
    int code = moot_task_wait(play->m, handle, timeout);
    CHECK(code != MOOT_ERR_TIMEOUT, "the group is over, and %s is not",
          task_of(play, task)->name);
    CHECK_OK(moot_task_release(play->m, handle));
    return code;
}

/* Whether something fails that the task, which ended well, left running.  This rank may
 * have to ask for the end of what was over when its parent was. */
static bool left_fails(const struct regions *regions, uint32_t task)
{
    const struct program *program = regions->play->program;
    const struct program_list *children = &program->tasks[task].children;
    bool fails = false;
    for (uint32_t i = 0; i < children->count; i++) {
        uint32_t child = children->items[i];
        bool child_fails = program_fails(program, child);
        if (!program->tasks[child].awaited) {
            fails = fails || child_fails;
            CHECK(child_fails == (end_of(regions, child, MOOT_FOREVER) != MOOT_OK),
                  "%s, which was left running, ended as it should not",
                  program->tasks[child].name);
        }
        fails = (!child_fails && left_fails(regions, child)) || fails;
    }
    return fails;
}

/* The first error of those spawned, in their order, is the group's; else any that was
 * left.  Where a cancel may come in between the oracle knows no end. */
static void check_group(const struct regions *regions, uint32_t begin, int code)
{
    const struct play *play = regions->play;
    bool left = false;
    for (uint32_t i = begin; i < regions->count; i++) {
        uint32_t task = regions->spawned[i];
        int end = end_of(regions, task, 0); /* it is known, or the group did not wait */
        if (end != MOOT_OK) {
            CHECK(code == end,
                  "a group ended with %s, and its first failed task, %s, with %s",
                  moot_err_name(code), task_of(play, task)->name, moot_err_name(end));
            return;
        }
        if (play->program->outcomes[task].shaky) {
            return;
        }
        left = left_fails(regions, task) || left;
    }
    CHECK(left == (code != MOOT_OK),
          "a group ended with %s, and what its tasks left %s", moot_err_name(code),
          left ? "failed" : "did not fail");
}

static void close_group(struct regions *regions)
{
    close_queues(regions, 0);
    int code = moot_group_close(regions->play->m, MOOT_FOREVER);
    CHECK(code != MOOT_ERR_TIMEOUT && code != MOOT_ERR_STATE, "a group's close: %s",
          moot_last_error(regions->play->m));
    check_group(regions, regions->begins[--regions->groups], code);
}

/* --- Around the steps ------------------------------------------------------------- */

static uint32_t meets_of(const struct program *program, uint32_t rank)
{
    const struct program_script *script = program_script(program, rank, 0);
    uint32_t count = 0;
    for (uint32_t i = 0; i < script->count; i++) {
        count += script->steps[i].op == PROGRAM_MEET;
    }
    return count;
}

/* Others may come to a meeting that this rank does not come to, and spawn behind it:
 * they wait there until this rank has closed, and so it waits for no group. */
static bool comes_to_all(const struct regions *regions)
{
    const struct program *program = regions->play->program;
    uint32_t own = meets_of(program, regions->play->rank);
    bool all = true;
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        all = all && meets_of(program, rank) <= own;
    }
    return all;
}

/* Every rank's lanes spawn by index, so that no two of them declare contrary orders. */
static bool are_in_order(const struct program *program)
{
    for (uint32_t i = 0; i < program->rank_count * program->lane_count; i++) {
        const struct program_script *script = &program->scripts[i];
        uint32_t last = 0;
        for (uint32_t k = 0; k < script->count; k++) {
            const struct program_step *step = &script->steps[k];
            if (step->op == PROGRAM_SPAWN && step->tasks.items[0] < last) {
                return false;
            }
            last = step->op == PROGRAM_SPAWN ? step->tasks.items[0] : last;
        }
    }
    return true;
}

void regions_begin(struct regions *regions, const struct play *play, uint32_t lane,
                   const moot_task *handles)
{
    const struct program *program = play->program;
    *regions = (struct regions){
        .play = play,
        .handles = handles,
        .script = program_script(program, play->rank, lane),
        .random = random_stream(program->seed, 7000 + play->rank * 16 + lane),
        .sequential =
            (program->features & (PROGRAM_FAILURES | PROGRAM_GHOSTS | PROGRAM_CANCELS |
                                  PROGRAM_LATE_CANCELS)) == 0 &&
            are_in_order(program),
        .spawned = harness_alloc(program->task_count, sizeof(*regions->spawned))};
}

static bool waits(const struct program_step *step)
{
    return step->op == PROGRAM_WAIT_ALL || step->op == PROGRAM_WAIT_ANY ||
           step->op == PROGRAM_FETCH || step->op == PROGRAM_POLL ||
           step->op == PROGRAM_BARRIER || step->op == PROGRAM_MEET;
}

void regions_before(struct regions *regions, uint32_t step)
{
    struct random *random = &regions->random;
    moot *m = regions->play->m;
    if (regions->groups > 0 && random_chance(random, 100) && may_wait(regions, step)) {
        close_group(regions);
    }
    if (regions->groups < REGION_GROUPS_MAX && random_chance(random, 40) &&
        comes_to_all(regions) && CHECK_OK(moot_group_open(m))) {
        regions->begins[regions->groups++] = regions->count;
    }
    if (waits(&regions->script->steps[step])) {
        close_queues(regions, 0);
    } else if (regions->queues < REGION_QUEUES_MAX && random_chance(random, 120)) {
        open_queue(regions);
    } else if (regions->queues > 0 && random_chance(random, 120)) {
        close_queues(regions, regions->queues - 1);
    }
}

void regions_spawned(struct regions *regions, uint32_t task)
{
    regions->spawned[regions->count++] = task;
}

void regions_end(struct regions *regions)
{
    close_queues(regions, 0);
    while (regions->groups > 0) {
        close_group(regions);
    }
    free(regions->spawned);
}
