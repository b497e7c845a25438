/* meeting_test.c - what all ranks come to: moot_barrier(), and what all have spawned.
 */
#include "tests/conformance/kernels.h"

/* --- Barriers --------------------------------------------------------------------- */

enum { ROUNDS = 50 };

static atomic_int rounds_begun[SEATS_MAX + 1][ROUNDS]; /* by how many ranks */

static void nobody_leaves_before_all_have_come(struct seat *seat)
{
    for (int i = 0; i < ROUNDS; i++) {
        rounds_begun[seat->size][i]++;
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
        CHECK(seat, rounds_begun[seat->size][i] == seat->size);
    }
    EXPECT(seat, moot_barrier(NULL), MOOT_ERR_INVALID);
    moot_stats stats;
    EXPECT(seat, moot_stats_get(seat->m, &stats), MOOT_OK);
    CHECK(seat, stats.votes == 0 && stats.tasks_spawned == 0);
}

/* A rank at a barrier runs what the others wait for, and yields what it has yet to
 * spawn. */
static void who_waits_there_serves(struct seat *seat)
{
    uint64_t number = 40;
    if (seat->rank == 0) {
        const moot_task_spec spec = {.kernel = seat->kernels[SQUARE],
                                     .args = &number,
                                     .args_size = sizeof(number)};
        for (; number < 50; number++) {
            moot_task task;
            EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
            CHECK(seat, fetch_u64(seat, task) == number * number);
        }
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

/* A task that no rank holds fails rather than keep one from the barrier. */
static void what_nobody_holds_keeps_nobody(struct seat *seat)
{
    moot_hash hash;
    uint64_t number = 7;
    const moot_task_spec spec = {
        .kernel = seat->kernels[SQUARE], .args = &number, .args_size = sizeof(number)};
    moot_task task;
    EXPECT(seat, moot_spec_hash(seat->m, &spec, &hash), MOOT_OK);
    if (seat->rank == 0) {
        EXPECT(seat, moot_task_find(seat->m, &hash, &task), MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_ERR_NOT_HELD);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

static void who_has_closed_is_not_waited_for(struct seat *seat)
{
    if (seat->rank != seat->size - 1) {
        EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    }
}

static int none(void *user, const moot_task_info *info)
{
    (void)info;
    (*(int *)user)++;
    return 0;
}

static void different_calls_meet_in_an_error(struct seat *seat)
{
    int count = 0;
    if (seat->rank == 0) {
        EXPECT(seat, moot_barrier(seat->m), MOOT_ERR_STATE);
        CHECK(seat, strstr(moot_last_error(seat->m), "same call") != NULL);
    } else {
        EXPECT(seat, moot_scope_tasks(seat->m, NULL, none, &count), MOOT_ERR_STATE);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    CHECK(seat, count == 0);
}

static void refused_where_no_wait_is_allowed(struct seat *seat)
{
    int count = 0;
    EXPECT(seat, moot_park(seat->m), MOOT_OK);
    EXPECT(seat, moot_barrier(seat->m), MOOT_ERR_STATE);
    EXPECT(seat, moot_scope_tasks(seat->m, NULL, none, &count), MOOT_ERR_STATE);
    EXPECT(seat, moot_scope_tasks_live(seat->m, NULL, none, &count), MOOT_ERR_STATE);
    EXPECT(seat, moot_unpark(seat->m), MOOT_OK);
    EXPECT(seat, moot_scope_tasks(seat->m, NULL, NULL, NULL), MOOT_ERR_INVALID);
    EXPECT(seat, moot_scope_tasks(NULL, NULL, none, &count), MOOT_ERR_INVALID);
    EXPECT(seat, moot_scope_tasks_live(NULL, NULL, none, &count), MOOT_ERR_INVALID);
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

/* --- What all have spawned -------------------------------------------------------- */

enum { FOUND_MAX = 64 };

struct found {
    moot_hash hashes[FOUND_MAX];
    char labels[FOUND_MAX][16];
    int count, until;
};

static int note(void *user, const moot_task_info *info)
{
    struct found *found = user;
    found->hashes[found->count] = info->hash;
    snprintf(found->labels[found->count], sizeof(found->labels[0]), "%s", info->label);
    found->count++;
    return found->count == found->until ? 77 : 0;
}

static moot_task spawn_labelled(struct seat *seat, uint64_t number, const char *label)
{
    moot_task task = {0};
    EXPECT(seat,
           moot_task_spawn(seat->m,
                           &(moot_task_spec){.kernel = seat->kernels[SQUARE],
                                             .args = &number,
                                             .args_size = sizeof(number),
                                             .label = label},
                           &task),
           MOOT_OK);
    return task;
}

/* Each rank has found what no other has, and all one that all have. */
static void spawn_what_was_found(struct seat *seat)
{
    spawn_labelled(seat, 1000, "all");
    for (int i = 0; i <= seat->rank; i++) {
        spawn_labelled(seat, (uint64_t)(100 * seat->rank + i), "some");
    }
}

static uint64_t sum_of(struct seat *seat, const struct found *found)
{
    uint64_t sum = 0;
    for (int i = 0; i < found->count; i++) {
        moot_task task;
        EXPECT(seat, moot_task_find(seat->m, &found->hashes[i], &task), MOOT_OK);
        sum += fetch_u64(seat, task);
        EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
    }
    return sum;
}

static uint64_t sum_expected(int size)
{
    uint64_t sum = 0;
    for (int rank = 0; rank < size; rank++) {
        for (int i = 0; i <= rank; i++) {
            uint64_t number = (uint64_t)(100 * rank + i);
            sum += number * number;
        }
    }
    return sum;
}

static struct found found_by[SEATS_MAX];

static void all_are_shown_the_same(struct seat *seat)
{
    struct found *found = &found_by[seat->rank];
    *found = (struct found){0};
    spawn_what_was_found(seat);
    EXPECT(seat, moot_scope_tasks(seat->m, NULL, note, found), MOOT_OK);
    spawn_labelled(seat, 5000, "late");
    CHECK(seat, found->count == 1 + seat->size * (seat->size + 1) / 2);
    CHECK(seat, strcmp(found->labels[0], "all") == 0);
    CHECK(seat, sum_of(seat, found) == 1000 * 1000 + sum_expected(seat->size));
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
    CHECK(seat, memcmp(found, &found_by[0], sizeof(*found)) == 0);
}

static void a_filter_admits_some(struct seat *seat)
{
    struct found found = {0}, none_of = {0}, of_kernel = {0};
    const moot_task_filter some = {.label_prefix = "so"}, other = {.kernel = "sum"},
                           square = {.kernel = "square"};
    spawn_what_was_found(seat);
    EXPECT(seat, moot_scope_tasks(seat->m, &some, note, &found), MOOT_OK);
    EXPECT(seat, moot_scope_tasks(seat->m, &other, note, &none_of), MOOT_OK);
    EXPECT(seat, moot_scope_tasks(seat->m, &square, note, &of_kernel), MOOT_OK);
    CHECK(seat, found.count == seat->size * (seat->size + 1) / 2);
    CHECK(seat, none_of.count == 0);
    CHECK(seat, of_kernel.count == found.count + 1);
    CHECK(seat, sum_of(seat, &found) == sum_expected(seat->size));
}

static void a_scope_has_its_own(struct seat *seat)
{
    struct found inside = {0}, outside = {0};
    spawn_labelled(seat, 1, "outside");
    EXPECT(seat, moot_scope_open(seat->m, "phase"), MOOT_OK);
    spawn_labelled(seat, (uint64_t)(10 + seat->rank), "inside");
    EXPECT(seat, moot_scope_tasks(seat->m, NULL, note, &inside), MOOT_OK);
    EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    EXPECT(seat, moot_scope_tasks(seat->m, NULL, note, &outside), MOOT_OK);
    CHECK(seat, inside.count == seat->size && outside.count == 1);
    CHECK(seat, strcmp(outside.labels[0], "outside") == 0);
}

static void other_scopes_meet_in_an_error(struct seat *seat)
{
    struct found found = {0};
    if (seat->rank == 0) {
        EXPECT(seat, moot_scope_open(seat->m, "phase"), MOOT_OK);
    }
    EXPECT(seat, moot_scope_tasks(seat->m, NULL, note, &found), MOOT_ERR_STATE);
    if (seat->rank == 0) {
        EXPECT(seat, moot_scope_close(seat->m), MOOT_OK);
    }
    EXPECT(seat, moot_scope_tasks(seat->m, NULL, note, &found), MOOT_OK);
    CHECK(seat, found.count == 0);
}

static void who_shows_may_end_it(struct seat *seat)
{
    struct found found = {.until = 2};
    spawn_what_was_found(seat);
    EXPECT(seat, moot_scope_tasks(seat->m, NULL, note, &found), 77);
    CHECK(seat, found.count == 2);
}

/* Rank 0 alone asks, while the others wait for what it spawns then. */
static void one_may_ask_alone(struct seat *seat)
{
    struct found found = {0};
    spawn_what_was_found(seat);
    if (seat->rank == 0) {
        for (int ms = 0;
             ms < 5000 && found.count < 1 + seat->size * (seat->size + 1) / 2; ms++) {
            found = (struct found){0};
            EXPECT(seat, moot_scope_tasks_live(seat->m, NULL, note, &found), MOOT_OK);
        }
        CHECK(seat, found.count == 1 + seat->size * (seat->size + 1) / 2);
        const moot_task_filter some = {.kernel = "square", .label_prefix = "so"};
        found = (struct found){0};
        EXPECT(seat, moot_scope_tasks_live(seat->m, &some, note, &found), MOOT_OK);
        CHECK(seat, found.count == seat->size * (seat->size + 1) / 2);
    }
    EXPECT(seat, moot_barrier(seat->m), MOOT_OK);
}

static const struct scene scenes[] = {
    SCENE(nobody_leaves_before_all_have_come, .sizes = {1, 2, 3, 4}),
    SCENE(who_waits_there_serves, .sizes = {1, 2, 3, 4}),
    SCENE(what_nobody_holds_keeps_nobody, .sizes = {1, 2, 3, 4}),
    SCENE(who_has_closed_is_not_waited_for, .sizes = {2, 3, 4}),
    SCENE(different_calls_meet_in_an_error, .sizes = {2, 3, 4}),
    SCENE(refused_where_no_wait_is_allowed, .sizes = {1, 2, 3, 4}),
    SCENE(all_are_shown_the_same, .sizes = {1, 2, 3, 4}),
    SCENE(a_filter_admits_some, .sizes = {1, 2, 3, 4}),
    SCENE(a_scope_has_its_own, .sizes = {1, 2, 3, 4}),
    SCENE(other_scopes_meet_in_an_error, .sizes = {2, 3, 4}),
    SCENE(who_shows_may_end_it, .sizes = {1, 2, 3, 4}),
    SCENE(one_may_ask_alone, .sizes = {1, 2, 3, 4}),
};

int main(int argc, char **argv)
{
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
