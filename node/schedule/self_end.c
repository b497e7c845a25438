/* self_end.c - see self_end.h. */
#include "node/schedule/self_end.h"

#include "hashing/base/hot.h"
#include "node/engine/lane.h"
#include "node/record/trace.h"
#include "node/schedule/call_frame.h"
#include "node/schedule/exec.h"
#include "node/tasks/board.h"
#include "node/tasks/task.h"

#include <stdio.h>
#include <stdlib.h>

struct limit_look {
    struct moot *m;
    uint64_t now_ns;
};

COLD static void end_for(struct moot *m, const struct moot_call *call)
{
    struct text text = {0};
    char limit[64];
    task_describe(&text, call->task);
    knobs_format(&m->knobs, KNOB_KERNEL_LIMIT, limit, sizeof(limit));
    fprintf(stderr,
            "moot: rank %u ends itself: %s runs for longer than MOOT_KERNEL_LIMIT=%s\n",
            m->group.rank, text_get(&text), limit);
    board_blame(call->lane->seat);
    trace_out(m);
    abort();
}

static void look_at(void *context, const struct moot_call *call)
{
    const struct limit_look *look = context;
    const uint64_t limit_ns = (uint64_t)look->m->knobs.kernel_limit_ns;
    if (call->state == CALL_RUNS && call_ran_ns(call, look->now_ns) > limit_ns) {
        end_for(look->m, call);
    }
}

void self_end_look(struct moot *m, uint64_t now_ns)
{
    if (m->knobs.kernel_limit_ns != KNOB_NEVER) {
        exec_each_call(m, look_at, &(struct limit_look){m, now_ns});
    }
}

void self_end_on_exit(void)
{
    const struct lane *lane = lane_in_kernel();
    if (lane != NULL) {
        board_blame(lane->seat);
    }
}
