/* faulty_test.c - ranks of one process whose messages a fault plan harms: what is lost,
 * repeated, late or out of order changes nothing, and who is cut off is told.
 */
#include "node/engine/clock.h"
#include "tests/conformance/kernels.h"

enum { TASKS = 40, BIG_BYTES = 300000 };

/* Each task is spawned by one rank only, and summed up by all. */
static void spread_and_sum(struct seat *seat)
{
    moot_task task;
    for (uint64_t i = 0; i < TASKS; i++) {
        moot_hash hash = hash_u64(seat, SQUARE, i);
        if (i % (uint64_t)seat->size == (uint64_t)seat->rank) {
            task = spawn_u64(seat, SQUARE, i);
        } else {
            EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
        }
        CHECK(seat, fetch_u64(seat, task) == i * i);
    }
}

/* Results that do not ride in their frames, and one that fills several. */
static void big_results(struct seat *seat)
{
    for (uint64_t i = 0; i < 8; i++) {
        moot_task task = spawn_u64(seat, BIG, BIG_BYTES + i);
        const unsigned char *data = NULL;
        size_t size = 0;
        EXPECT(
            seat,
            moot_task_fetch(seat->m, task, MOOT_FOREVER, (const void **)&data, &size),
            MOOT_OK);
        CHECK(seat, size == BIG_BYTES + i && data != NULL);
        for (size_t at = 0; data != NULL && at < size; at += 997) {
            CHECK(seat, data[at] == (unsigned char)(at * 31 + at / 251));
        }
    }
}

/* All that a watch on ranks was told. */
static struct seen {
    atomic_int died, removed, left, others;
    atomic_int last; /* rank that was removed */
    atomic_bool named;
} seen[SEATS_MAX];

static void see_rank(void *user, const moot_event *event)
{
    struct seen *mine = user;
    if (event->kind == MOOT_EVENT_RANK_DIED) {
        mine->died++;
    } else if (event->kind == MOOT_EVENT_RANK_REMOVED) {
        mine->last = event->rank;
        mine->named = strstr(event->why, "silent") != NULL &&
                      event->kernel[0] == '\0' && event->label[0] == '\0' &&
                      event->site[0] == '\0';
        mine->removed++;
    } else if (event->kind == MOOT_EVENT_RANK_LEFT) {
        mine->left++;
    } else {
        mine->others++;
    }
}

/* Labels are tasks': ranks are told whatever the prefix. */
static void watch_ranks(struct seat *seat)
{
    struct seen *mine = &seen[seat->rank];
    moot_watch_id id;
    *mine = (struct seen){0};
    EXPECT(seat,
           moot_watch_add(seat->m,
                          &(moot_watch){.kinds = MOOT_EVENTS_OF_RANKS,
                                        .label_prefix = "none",
                                        .fn = see_rank,
                                        .user = mine},
                          &id),
           MOOT_OK);
}

static void expect_removed(struct seat *seat, int rank)
{
    const struct seen *mine = &seen[seat->rank];
    for (int i = 0; i < 5000 && mine->removed == 0; i++) {
        nap_ms(1);
    }
    CHECK(seat, mine->removed == 1 && mine->last == rank && mine->named);
    CHECK(seat, mine->died == 0 && mine->left == 0 && mine->others == 0);
}

/* The last rank is cut off for good: the others go on, and it is told. */
static void cut_off(struct seat *seat)
{
    bool last = seat->rank == seat->size - 1;
    int code = MOOT_OK;
    watch_ranks(seat);
    for (uint64_t i = 0; i < 4000 && code == MOOT_OK; i++) {
        moot_task task = spawn_u64(seat, SQUARE, i);
        code = moot_task_wait(seat->m, task, MOOT_FOREVER);
        nap_ms(1);
        if (!last && i == 1500) {
            break;
        }
    }
    CHECK(seat, code == (last ? MOOT_ERR_NO_QUORUM : MOOT_OK));
    CHECK(seat, last || moot_present(seat->m, seat->size - 1) == 0);
    CHECK(seat, seat->rank != 0 || reported(seat, "go on in view 2"));
    if (!last) {
        expect_removed(seat, seat->size - 1);
    }
}

static void cut_off_after(struct seat *seat)
{
    bool last = seat->rank == seat->size - 1;
    CHECK(seat, seat->close_code == (last ? MOOT_ERR_NO_QUORUM : MOOT_OK));
    CHECK(seat, last || (seen[seat->rank].left == seat->size - 2 &&
                         seen[seat->rank].removed == 1));
}

static moot_task spawn_among(struct seat *seat, int first, const moot_task *input,
                             uint64_t value)
{
    const int ranks[] = {first, 2};
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[SUM],
                                             .args = &value,
                                             .args_size = sizeof(value),
                                             .inputs = input,
                                             .input_count = input != NULL,
                                             .candidates = {ranks, first < 2 ? 2 : 1}},
                           &task),
           MOOT_OK);
    return task;
}

static void cut_off_here(struct seat *seat)
{
    moot_task task;
    moot_hash never = hash_u64(seat, SQUARE, 1);
    EXPECT(seat, moot_task_find(seat->m, &never, &task), MOOT_OK);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_NO_QUORUM);
}

/* Rank 2 runs a task, whose end rank 0 sees, and what that takes, which nobody else may
 * run; then it is cut off.  Rank 1 makes the task again, in vain, though it may know
 * that the input had ended well.  The input of value 0 has rank 2 as its finder, too,
 * so nobody else keeps its result. */
static void make_again_in_vain(struct seat *seat, bool knows_input)
{
    moot_task input = spawn_among(seat, 2, NULL, 0), task;
    moot_task_info info = {.chair = -1};
    for (uint64_t value = 0; info.chair != 2; value++) {
        task = spawn_among(seat, 1, &input, value);
        EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    }
    if (seat->rank == 2) {
        cut_off_here(seat);
        return;
    }
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    }
    if (knows_input) {
        EXPECT(seat, moot_task_wait(seat->m, input, MOOT_FOREVER), MOOT_OK);
    }
    while (moot_present(seat->m, 2) != 0) {
        nap_ms(1);
    }
    const void *data;
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &(size_t){0}),
           MOOT_ERR_RESULT_LOST);
    CHECK(seat, told(seat, "when made again: input 0 failed"));
}

static void made_again_in_vain(struct seat *seat) { make_again_in_vain(seat, false); }

static void made_again_of_what_was_known(struct seat *seat)
{
    make_again_in_vain(seat, true);
}

static void expect_fetch(struct seat *seat, moot_task task, int code)
{
    const void *data;
    EXPECT(seat, moot_task_fetch(seat->m, task, MOOT_FOREVER, &data, &(size_t){0}),
           code);
}

struct told {
    atomic_int blocked, failed, status;
};

static void note(void *user, const moot_event *event)
{
    struct told *told = user;
    told->blocked += event->kind == MOOT_EVENT_BLOCKED;
    told->failed += event->kind == MOOT_EVENT_FAILED;
    if (event->kind == MOOT_EVENT_FAILED) {
        told->status = event->status;
    }
}

/* The others know of rank 2's task that it ended well when that is cut off with its
 * bytes, and nobody else may run it: who then wants them is told, and so are watches.
 */
static void end_known_and_bytes_lost(struct seat *seat)
{
    static struct told told_to[3];
    struct told *told = &told_to[seat->rank];
    moot_watch watch = {
        .kinds = MOOT_EVENT_BLOCKED | MOOT_EVENT_FAILED, .fn = note, .user = told};
    moot_task task = spawn_among(seat, 2, NULL, 1);
    moot_task_info info;
    if (seat->rank == 2) {
        cut_off_here(seat);
        return;
    }
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_watch_add(seat->m, &watch, &(moot_watch_id){0}), MOOT_OK);
    while (moot_present(seat->m, 2) != 0) {
        nap_ms(1);
    }
    expect_fetch(seat, task, MOOT_ERR_NO_CANDIDATE);
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    CHECK(seat, info.state == MOOT_TASK_DONE && info.status == MOOT_OK);
    while (told->failed == 0) {
        nap_ms(1);
    }
    /* Its chair may have found that out at once. */
    CHECK(seat, told->blocked == 1 || (told->blocked == 0 && info.chair == seat->rank));
    CHECK(seat, told->failed == 1 && told->status == MOOT_ERR_NO_CANDIDATE);
}

/* The first task that rank 2 chairs, of those of any ranks; none before it is spawned,
 * for that would have what this one takes sent to its chair. */
static moot_task spawn_at_last(struct seat *seat, const moot_task *input)
{
    moot_task_info info = {.chair = -1};
    uint64_t value = 0;
    moot_task_spec spec = {.kernel = seat->kernels[SUM],
                           .args = &value,
                           .args_size = sizeof(value),
                           .inputs = input,
                           .input_count = input != NULL};
    moot_task task = {0};
    moot_hash hash;
    for (; info.chair != 2; value += info.chair != 2) {
        EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
        EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
        EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    }
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    return task;
}

/* What ended well on a rank that is gone, and is to run again here, has not ended. */
static void known_and_run_again(struct seat *seat)
{
    moot_task task = spawn_at_last(seat, NULL);
    moot_task_info info;
    if (seat->rank == 2) {
        cut_off_here(seat);
        return;
    }
    EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    CHECK(seat, info.state == MOOT_TASK_DONE);
    while (moot_present(seat->m, 2) != 0 || info.chair == 2) {
        nap_ms(1);
        EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    }
    while (info.chair == seat->rank && info.state != MOOT_TASK_READY) {
        nap_ms(1); /* until all have reported */
        EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    }
    expect_fetch(seat, task, MOOT_OK);
    EXPECT(seat, moot_task_info(seat->m, task, &info), MOOT_OK);
    CHECK(seat, info.state == MOOT_TASK_DONE);
}

/* What rank 2 may have run, and nobody has heard of, is lost with its input, of which
 * one rank at least had heard. */
static void lose_with_input(struct seat *seat, moot_task input, bool hears,
                            const char *why)
{
    moot_task task = spawn_at_last(seat, &input);
    if (seat->rank == 2) {
        cut_off_here(seat);
        return;
    }
    if (hears) {
        EXPECT(seat, moot_task_wait(seat->m, input, MOOT_FOREVER), MOOT_OK);
    }
    while (moot_present(seat->m, 2) != 0) {
        nap_ms(1);
    }
    expect_fetch(seat, task, MOOT_ERR_RESULT_LOST);
    CHECK(seat, told(seat, "input 0 failed"));
    CHECK(seat, told(seat, why));
}

static void lost_with_what_was_known(struct seat *seat)
{
    lose_with_input(seat, spawn_among(seat, 2, NULL, 1), true, "no candidate");
}

/* Another run of the input would give another result. */
static void lost_with_what_varies(struct seat *seat, int hears)
{
    moot_kernel kernel = {
        .name = "varies", .fn = sum, .flags = MOOT_KERNEL_NONDETERMINISTIC};
    moot_kernel_id varies;
    EXPECT(seat, moot_kernel_register(seat->m, &kernel, &varies), MOOT_OK);
    moot_task input = {0};
    moot_task_info info = {.chair = -1};
    for (uint64_t value = 0; info.chair != 2; value++) {
        moot_task_spec spec = {
            .kernel = varies, .args = &value, .args_size = sizeof(value)};
        EXPECT(seat, moot_task_spawn(seat->m, &spec, &input), MOOT_OK);
        EXPECT(seat, moot_task_info(seat->m, input, &info), MOOT_OK);
    }
    lose_with_input(seat, input, seat->rank == hears, "must not be made again");
}

static void lost_as_rank_0_knew(struct seat *seat) { lost_with_what_varies(seat, 0); }
static void lost_as_rank_1_knew(struct seat *seat) { lost_with_what_varies(seat, 1); }

static int is_it(void *hash, const moot_task_info *info)
{
    return memcmp(hash, &info->hash, sizeof(info->hash)) == 0;
}

static void wait_until_forgotten(struct seat *seat, moot_hash hash)
{
    while (moot_tasks_each(seat->m, NULL, is_it, &hash) != MOOT_OK) {
        nap_ms(1);
    }
}

/* Two tasks that rank 2 runs, in a scope that all close, from the result of a scope
 * that all have closed and released; its hash. */
static moot_hash spawn_in_scopes(struct seat *seat, moot_task tasks[2])
{
    moot_task_info of_input = {.chair = -1}, info = {.chair = -1};
    EXPECT(seat, moot_scope_open(seat->m, "before"), MOOT_OK);
    moot_task input = spawn_among(seat, 1, NULL, 1);
    EXPECT(seat, moot_task_info(seat->m, input, &of_input), MOOT_OK);
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_scope_open(seat->m, "after"), MOOT_OK);
    for (uint64_t value = 0, count = 0; count < 2; value++) {
        tasks[count] = spawn_among(seat, 1, &input, value);
        EXPECT(seat, moot_task_info(seat->m, tasks[count], &info), MOOT_OK);
        count += info.chair == 2;
    }
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_task_release(seat->m, input), MOOT_OK);
    return of_input.hash;
}

/* Rank 2 runs what is made from the result of a scope that has ended, and is cut off.
 * Who has fetched it, and holds it, has it; who has not is told why it is lost, and
 * what would have kept it. */
static void made_from_forgotten(struct seat *seat)
{
    moot_task tasks[2];
    const moot_hash input = spawn_in_scopes(seat, tasks);
    if (seat->rank == 0) {
        expect_fetch(seat, tasks[0], MOOT_OK);
    }
    wait_until_forgotten(seat, input);
    if (seat->rank == 2) {
        cut_off_here(seat);
        return;
    }
    while (moot_present(seat->m, 2) != 0) {
        nap_ms(1);
    }
    expect_fetch(seat, tasks[0], MOOT_OK);
    expect_fetch(seat, tasks[1], MOOT_ERR_RESULT_LOST);
    CHECK(seat, told(seat, "cannot run again: an input of it has been forgotten"));
    CHECK(seat, told(seat, "released it or ended its scope; "));
    CHECK(seat,
          told(seat,
               "release a result only when there is the result that is made from it"));
}

/* Were the waits of a kernel stretched, too, a tree of eight levels took half a minute.
 */
static void slow_kernels_wait_no_longer(struct seat *seat)
{
    enum { DEPTH = 7 };
    const uint64_t began_ns = clock_ns();
    moot_task task = spawn_u64(seat, TREE, DEPTH);
    CHECK(seat, fetch_u64(seat, task) == (UINT64_C(2) << DEPTH) - 1);
    CHECK(seat, clock_ns() - began_ns < UINT64_C(10000000000));
}

static const char *const slowed[] = {"MOOT_FAULTS=slow:x3", NULL};
static const char *const harmed[] = {
    "MOOT_FAULTS=seed:3,drop:0.1,dup:0.1,reorder:0.1:x2,delay:0.1:1ms+-1ms", NULL};
static const char *const harmed_votes[] = {"MOOT_FAULTS=seed:4,drop:0.25/vote+result",
                                           "MOOT_THREADS=2", NULL};
static const char *const cut_for_a_while[] = {"MOOT_FAULTS=part:0@5ms+300ms", NULL};
static const char *const cut_two[] = {"MOOT_FAULTS=part:2@20ms", "MOOT_SUSPECT=300ms",
                                      NULL};
static const char *const cut_later[] = {"MOOT_FAULTS=part:2@1s", "MOOT_SUSPECT=300ms",
                                        NULL};
static const char *const cut_later_with_workers[] = {
    "MOOT_FAULTS=part:2@1s", "MOOT_SUSPECT=300ms", "MOOT_THREADS=1", NULL};

static const struct scene scenes[] = {
    SCENE(spread_and_sum, .knobs = harmed, .sizes = {2, 3, 4}),
    {"spread_and_sum, a quarter of the votes lost",
     spread_and_sum,
     kernels,
     harmed_votes,
     closes_well,
     {2, 4}},
    {"spread_and_sum, rank 0 cut off for a while",
     spread_and_sum,
     kernels,
     cut_for_a_while,
     closes_well,
     {2, 3}},
    SCENE(big_results, .knobs = harmed, .sizes = {2, 3}),
    SCENE(slow_kernels_wait_no_longer, .knobs = slowed, .sizes = {1, 2}),
    {"cut_off", cut_off, kernels, cut_two, cut_off_after, {3}},
    {"made_again_in_vain", made_again_in_vain, kernels, cut_later, cut_off_after, {3}},
    {"made_again_of_what_was_known",
     made_again_of_what_was_known,
     kernels,
     cut_later,
     cut_off_after,
     {3}},
    {"end_known_and_bytes_lost",
     end_known_and_bytes_lost,
     kernels,
     cut_later,
     cut_off_after,
     {3}},
    {"known_and_run_again",
     known_and_run_again,
     kernels,
     cut_later,
     cut_off_after,
     {3}},
    {"lost_with_what_was_known",
     lost_with_what_was_known,
     kernels,
     cut_later,
     cut_off_after,
     {3}},
    {"lost_as_rank_0_knew",
     lost_as_rank_0_knew,
     kernels,
     cut_later,
     cut_off_after,
     {3}},
    {"lost_as_rank_1_knew",
     lost_as_rank_1_knew,
     kernels,
     cut_later,
     cut_off_after,
     {3}},
    {"made_from_forgotten",
     made_from_forgotten,
     kernels,
     cut_later_with_workers,
     cut_off_after,
     {3}},
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
