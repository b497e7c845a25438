/* overrun_here.c - on this rank: which kernel has run for too long (overrun.h). */
#include "node/explain/overrun.h"

#include "node/schedule/call_frame.h"
#include "node/schedule/exec.h"

struct overrun_search {
    const struct moot *m;
    const struct moot_call *call;
};

static void see_call(void *context, const struct moot_call *call)
{
    struct overrun_search *search = context;
    const struct moot *m = search->m;
    uint64_t longest_ns = call->task->kernel->longest_ns;
    if (call->state == CALL_RUNS && !call->check &&
        call_ran_ns(call, m->now_ns) >=
            overrun_after_ns((uint64_t)m->knobs.stall_ns, longest_ns) &&
        (search->call == NULL || call->began_ns < search->call->began_ns)) {
        search->call = call;
    }
}

const struct moot_call *overrun_find(const struct moot *m)
{
    struct overrun_search search = {.m = m};
    exec_each_call(m, see_call, &search);
    return search.call;
}
