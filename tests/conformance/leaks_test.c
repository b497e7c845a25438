/* leaks_test.c - handles that a program forgets are told of, by the lines that spawned
 * their tasks; those of a program that just ends are not.
 */
#include "tests/conformance/ranks.h"

#include <string.h>

enum { WORK, LARGE };
enum {
    FEW = 300,
    MANY = 4096,
    LARGE_MANY = 1100,
    LARGE_BYTES = 256 << 10,
    FEW_LARGE = 400
};

static int work(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, 8) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

/* Nobody writes to its result, so that it takes no memory. */
static int work_large(moot_call *call, void *user)
{
    (void)user;
    return moot_call_output(call, LARGE_BYTES) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static void leak_kernels(struct seat *seat)
{
    add_kernel(seat, WORK, "work", work, 0);
    add_kernel(seat, LARGE, "large", work_large, 0);
}

/* Runs tasks, each of which is waited for, and keeps the first `kept` handles. */
static void run_tasks(struct seat *seat, int kernel, int count, int kept)
{
    for (int i = 0; i < count; i++) {
        moot_task task;
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[kernel],
                                                 .args = &i,
                                                 .args_size = sizeof(i)},
                               &task),
               MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
        if (i >= kept) {
            EXPECT(seat, moot_task_release(seat->m, task), MOOT_OK);
        }
    }
}

static void releases(struct seat *seat) { run_tasks(seat, WORK, 2 * MANY, 0); }
static void just_ends(struct seat *seat) { run_tasks(seat, WORK, 2 * MANY, FEW); }

static int look_at_none(void *user, const moot_task_info *info)
{
    (void)user;
    (void)info;
    return 0;
}

/* The list of a scope's tasks is a result, whose handle is the library's. */
static void forgets(struct seat *seat)
{
    run_tasks(seat, WORK, MANY + 50, MANY);
    EXPECT(seat, moot_scope_tasks(seat->m, NULL, look_at_none, NULL), MOOT_OK);
}

static void forgets_large(struct seat *seat)
{
    run_tasks(seat, LARGE, LARGE_MANY, LARGE_MANY);
    /* Chores look, and reports go out, in a call that drives. */
    for (int i = 0; i < 1000 && !reported(seat, "said once"); i++) {
        moot_task task;
        int number = LARGE_MANY + i;
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[LARGE],
                                                 .args = &number,
                                                 .args_size = sizeof(number)},
                               &task),
               MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    }
    CHECK(seat, reported(seat, " holds, of tasks that have ended, "));
    CHECK(seat, reported(seat, "tests/conformance/leaks_test.c:"));
    CHECK(seat, reported(seat, "moot_task_release() each handle after its last use"));
}

/* Four hundred results of 256 KiB, a share of which lies on each rank. */
static void forgets_few_that_are_large(struct seat *seat)
{
    run_tasks(seat, WORK, FEW, FEW);
    for (int i = 0; i < FEW_LARGE; i++) {
        moot_task task;
        EXPECT(seat,
               moot_task_spawn(seat->m,
                               &(moot_task_spec){.kernel = seat->kernels[LARGE],
                                                 .args = &i,
                                                 .args_size = sizeof(i)},
                               &task),
               MOOT_OK);
        EXPECT(seat, moot_task_wait(seat->m, task, MOOT_FOREVER), MOOT_OK);
    }
}

static void the_largest_are_told_first(struct seat *seat)
{
    CHECK(seat, reported(seat, " closes its moot with 700 handles that were not "));
    const char *large = strstr(seat->report, ": 400 handles, ");
    const char *small = strstr(seat->report, ": 300 handles, ");
    CHECK(seat, large != NULL && small != NULL && large < small);
}

static void nothing_is_told(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_OK);
    CHECK(seat, seat->report[0] == '\0');
}

static void all_is_told(struct seat *seat)
{
    CHECK(seat, seat->close_code == MOOT_OK);
    CHECK(seat, reported(seat, " closes its moot with 4096 handles that were not "));
    CHECK(seat, reported(seat, ": 4096 handles, "));
    CHECK(seat, !reported(seat, "said once"));
}

int main(int argc, char **argv)
{
    const struct scene scenes[] = {
        {"who_releases_is_left_alone",
         releases,
         leak_kernels,
         NULL,
         nothing_is_told,
         {0}},
        {"so_is_who_just_ends", just_ends, leak_kernels, NULL, nothing_is_told, {0}},
        {"who_forgets_is_told_at_the_close",
         forgets,
         leak_kernels,
         NULL,
         all_is_told,
         {0}},
        {"few_are_told_if_they_are_large",
         forgets_few_that_are_large,
         leak_kernels,
         NULL,
         the_largest_are_told_first,
         {0}},
        {"and_while_it_runs", forgets_large, leak_kernels, NULL, NULL, {1}},
    };
    return play_all(scenes, sizeof(scenes) / sizeof(scenes[0]), argc, argv);
}
