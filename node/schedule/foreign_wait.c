/* foreign_wait.c - see foreign_wait.h. */
#include "node/schedule/foreign_wait.h"

#include "node/engine/engine.h"
#include "node/record/task_watch.h"
#include "node/record/trace.h"
#include "node/schedule/exec.h"
#include "proto/error.h"

/* Nothing wakes the thread when it comes: it looks this often. */
enum { LOOK_NS = 100000 };

struct foreign {
    foreign_test test;
    void *arg;
    int code; /* once it is over */
    bool over;
    struct text story;
};

static bool is_over(struct foreign *foreign)
{
    if (!foreign->over) {
        foreign->code = foreign->test(foreign->arg, &foreign->story);
        foreign->over = foreign->code != FOREIGN_GOES_ON;
    }
    return foreign->over;
}

static bool is_enough(struct moot *m, void *context)
{
    return is_over(context) || m->engine.closing || m->service.goes ||
           m->engine.fatal != 0;
}

static int check_thread(struct moot *m, struct lane *lane, const char *call)
{
    if (lane->call != NULL) {
        return lane_fail(lane, MOOT_ERR_STATE,
                         "%s inside a kernel: what a task needs of other ranks are its "
                         "inputs and children",
                         call);
    }
    if (observe_is_telling(lane)) {
        return observe_refuse(lane, call);
    }
    if (lane->parked) {
        return lane_fail(lane, MOOT_ERR_STATE, "%s: this thread is parked", call);
    }
    if (m->engine.closing) {
        return lane_fail(lane, MOOT_ERR_CLOSED, "%s: %s", call, engine_closed_why(m));
    }
    int error = lane_enrol(m, lane);
    return error == MOOT_OK ? error
                            : lane_fail(lane, error, "%s: %s", call, error_text(error));
}

static void serve(struct moot *m, struct lane *lane, struct foreign *foreign)
{
    struct idle idle = {0};
    while (!is_enough(m, foreign)) {
        bool moved = progress_drive_between(m);
        if (is_enough(m, foreign)) {
            break;
        }
        if (exec_some(m, lane, idle.rounds, is_enough, foreign)) {
            progress_send_free(m);
            moved = true;
        }
        if (moved) {
            idle.rounds = 0;
        } else {
            progress_idle(m, &idle, clock_ns() + LOOK_NS);
        }
    }
}

static void serve_parked(struct moot *m, struct lane *lane, struct foreign *foreign)
{
    trace_park(m, true);
    m->schedule.program_waits++; /* it runs tasks, and a close waits for it */
    lane_set_state(m, lane, CORE_LANE_PARKED);
    exec_here(lane, true);
    serve(m, lane, foreign);
    exec_here(lane, false);
    lane_set_state(m, lane, CORE_LANE_RUNNING);
    m->schedule.program_waits--;
    trace_park(m, false);
    outbox_flush(m); /* the program may be gone for long */
    progress_hand_over(m);
}

static int tell(struct moot *m, struct lane *lane, const char *call,
                const struct foreign *foreign)
{
    if (foreign->over) {
        return foreign->code == MOOT_OK ? MOOT_OK
                                        : lane_fail(lane, foreign->code, "%s: %s", call,
                                                    text_get(&foreign->story));
    }
    if (m->engine.fatal != 0) {
        return lane_fail(lane, m->engine.fatal, "%s", text_get(&m->engine.fatal_story));
    }
    if (m->service.goes) {
        m->engine.hooks->leaves(m, lane);
    }
    return lane_fail(lane, MOOT_ERR_CLOSED, "%s: %s", call, engine_closed_why(m));
}

static int wait_locked(struct moot *m, struct lane *lane, const char *call,
                       struct foreign *foreign)
{
    int code = check_thread(m, lane, call);
    if (code != MOOT_OK) {
        return code;
    }
    if (!is_enough(m, foreign)) {
        serve_parked(m, lane, foreign);
    }
    return tell(m, lane, call, foreign);
}

int foreign_wait(struct moot *m, const char *call, foreign_test test, void *arg)
{
    struct lane *lane = m != NULL ? engine_enter(m) : NULL;
    if (lane == NULL) {
        return m != NULL ? MOOT_ERR_NO_MEMORY : lane_invalid(m, call, "");
    }
    int code = MOOT_ERR_INVALID;
    if (test == NULL) {
        lane_fail(lane, code, "%s: the test is NULL", call);
    } else {
        struct foreign foreign = {.test = test, .arg = arg};
        code = wait_locked(m, lane, call, &foreign);
        text_release(&foreign.story);
    }
    engine_leave(m);
    return code;
}
