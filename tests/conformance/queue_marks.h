/* queue_marks.h - tasks that note their order, for the tests of task queues.
 *
 * A mark is a task that notes when it starts and ends on a clock that all ranks share:
 * a counter.  Order is read from these notes and never from times.
 */
#ifndef TESTS_CONFORMANCE_QUEUE_MARKS_H
#define TESTS_CONFORMANCE_QUEUE_MARKS_H

#include "tests/conformance/kernels.h"

enum { MARK = RELAY + 1, FAMILY, ANCESTOR, MARKS_MAX = 512 };

struct note {
    atomic_int started, ended, runs;
};
static struct note notes[MARKS_MAX];
static atomic_int now, cycles;

/* args: its number, and how many milliseconds it takes. */
static inline int mark(moot_call *call, void *user)
{
    (void)user;
    const uint64_t *args = moot_call_args(call, NULL);
    struct note *note = &notes[args[0]];
    note->runs++;
    note->started = ++now;
    if (args[1] > 0) {
        nap_ms((long)args[1]);
    }
    note->ended = ++now;
    return moot_call_output(call, 0) != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

static inline moot_task spawn_mark_with(struct seat *seat, uint64_t number, uint64_t ms,
                                        moot_task_spec spec)
{
    const uint64_t args[2] = {number, ms};
    moot_task task = {0};
    spec.kernel = seat->kernels[MARK];
    spec.args = args;
    spec.args_size = sizeof(args);
    EXPECT(seat, moot_task_spawn(seat->m, &spec, &task), MOOT_OK);
    return task;
}

static inline moot_task spawn_mark(struct seat *seat, uint64_t number)
{
    return spawn_mark_with(seat, number, 0, (moot_task_spec){0});
}

static inline void open_kind(struct seat *seat, enum moot_queue_kind kind)
{
    EXPECT(seat, moot_queue_open(seat->m, kind), MOOT_OK);
}

static inline void close_queue(struct seat *seat)
{
    EXPECT(seat, moot_queue_close(seat->m), MOOT_OK);
}

static inline void wait_for(struct seat *seat, const moot_task *tasks, size_t count)
{
    EXPECT(seat, moot_task_wait_all(seat->m, tasks, count, MOOT_FOREVER), MOOT_OK);
}

static inline bool before(int a, int b) { return notes[a].ended < notes[b].started; }

/* All of first .. first + count - 1 ran once. */
static inline bool ran(int first, int count)
{
    for (int i = first; i < first + count; i++) {
        if (notes[i].runs != 1) {
            return false;
        }
    }
    return true;
}

static inline void begin(struct seat *seat)
{
    meet(seat);
    if (seat->rank == 0) {
        memset(notes, 0, sizeof(notes));
        now = cycles = 0;
    }
    meet(seat);
}

static const char *const with_workers[] = {"MOOT_THREADS=2", NULL};

#define QUEUES(fn, ...)                                                                \
    {                                                                                  \
        .name = #fn, .program = fn, .register_kernels = queue_kernels,                 \
        .after = closes_well, __VA_ARGS__                                              \
    }

#endif
