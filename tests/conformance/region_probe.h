/* region_probe.h - every call that a program may make while a bulk queue of its is
 * open.
 */
#ifndef TESTS_CONFORMANCE_REGION_PROBE_H
#define TESTS_CONFORMANCE_REGION_PROBE_H

#include "tests/conformance/region_marks.h"

static int count_marks(void *user, const moot_task_info *info)
{
    *(int *)user += strcmp(info->kernel, "mark") == 0;
    return 0;
}

struct probe {
    struct seat *seat;
    moot_task input, tasks[4]; /* that is kept; the last takes `input` */
    moot_hash hash;            /* of the second */
    moot_task made[2];
};

enum { LOOKS = 7, CALLS = 15 };

/* Looks at a task that a queue keeps, by each call; `own`: of this thread. */
static void look(struct probe *probe, int which, bool own)
{
    struct seat *seat = probe->seat;
    moot *m = seat->m;
    int wait_code = own ? MOOT_ERR_STATE : MOOT_ERR_TIMEOUT;
    moot_task_info info;
    const void *data;
    size_t first;
    int count = 0;
    switch (which) {
    case 0:
        EXPECT(seat, moot_task_info(m, probe->tasks[1], &info), MOOT_OK);
        CHECK(seat,
              info.state == MOOT_TASK_WAITING && strstr(info.site, "queue_marks.h"));
        CHECK(seat, memcmp(&info.hash, &probe->hash, sizeof(info.hash)) == 0);
        break;
    case 1:
        EXPECT(seat, moot_task_wait(m, probe->tasks[1], 0), wait_code);
        break;
    case 2:
        EXPECT(seat, moot_task_wait_all(m, probe->tasks, 3, 1000), wait_code);
        break;
    case 3:
        EXPECT(seat, moot_task_wait_any(m, probe->tasks, 4, 1000, &first), wait_code);
        break;
    case 4:
        EXPECT(seat, moot_task_fetch(m, probe->tasks[2], 1000, &data, NULL), wait_code);
        break;
    case 5:
        EXPECT(seat, moot_task_find(m, &probe->hash, &probe->made[0]), MOOT_OK);
        EXPECT(seat, moot_task_info(m, probe->made[0], &info), MOOT_OK);
        CHECK(seat,
              info.state == MOOT_TASK_WAITING && strcmp(info.kernel, "mark") == 0);
        break;
    case 6:
        EXPECT(seat, moot_tasks_each(m, NULL, count_marks, &count), MOOT_OK);
        CHECK(seat, count >= 4);
        break;
    default:
        break;
    }
}

/* Works beside the task, or lets go of it. */
static void work_beside(struct probe *probe, int which)
{
    struct seat *seat = probe->seat;
    moot *m = seat->m;
    switch (which) {
    case 7: /* its inputs are the task's own reference then */
        EXPECT(seat, moot_task_release(m, probe->input), MOOT_OK);
        break;
    case 8:
        EXPECT(seat, moot_task_release(m, probe->tasks[2]), MOOT_OK);
        EXPECT(seat, moot_task_wait(m, probe->tasks[2], 0), MOOT_ERR_STALE);
        break;
    case 9:
        EXPECT(seat, moot_queue_open(m, MOOT_QUEUE_SEQUENTIAL), MOOT_OK);
        probe->made[0] = spawn_mark(seat, 300);
        probe->made[1] = spawn_mark(seat, 301);
        EXPECT(seat, moot_queue_close(m), MOOT_OK);
        break;
    case 10:
        EXPECT(seat, moot_scope_open(m, "inside"), MOOT_OK);
        probe->made[0] = spawn_mark(seat, 300);
        EXPECT(seat, moot_scope_close(m), MOOT_OK);
        break;
    case 11:
        EXPECT(seat, moot_group_open(m), MOOT_OK);
        EXPECT(seat, moot_group_close(m, MOOT_FOREVER), MOOT_OK);
        break;
    case 12:
        EXPECT(seat, moot_park(m), MOOT_OK);
        EXPECT(seat, moot_unpark(m), MOOT_OK);
        break;
    case 13:
        EXPECT(seat,
               moot_task_then(m, probe->tasks[1],
                              &(moot_task_spec){.kernel = seat->kernels[SUM]},
                              &probe->made[0]),
               MOOT_OK);
        EXPECT(seat, moot_task_release(m, probe->made[0]), MOOT_OK);
        break;
    default: /* it takes one that is kept */
        probe->made[0] = spawn_mark_with(
            seat, 300, 0, (moot_task_spec){.inputs = probe->tasks, .input_count = 4});
        break;
    }
}

static void call_one(struct probe *probe, int which, bool own)
{
    if (which < LOOKS) {
        look(probe, which, own);
    } else {
        work_beside(probe, which);
    }
}

#endif
