/* overrun.c - by what is told of a kernel, wherever it runs (overrun.h). */
#include "node/explain/overrun.h"

enum { OVERRUN_STALLS = 6, OVERRUN_RUNS = 10 };

static uint64_t times(uint64_t ns, uint64_t count)
{
    return ns > UINT64_MAX / count ? UINT64_MAX : ns * count;
}

uint64_t overrun_after_ns(uint64_t stall_ns, uint64_t longest_ns)
{
    uint64_t stalls_ns = times(stall_ns, OVERRUN_STALLS);
    uint64_t runs_ns = times(longest_ns, OVERRUN_RUNS);
    return stalls_ns > runs_ns ? stalls_ns : runs_ns;
}

bool overrun_is_near(const Moot__Account *account, const Moot__Account__Task *task,
                     uint64_t within_ns)
{
    moot_hash hash = account_hash(&task->hash), child;
    uint64_t after_ns = overrun_after_ns(account->stall_ns, task->longest_ns);
    return task->stage == TASK_RUNNING && !account_child(account, &hash, &child) &&
           after_ns <= task->runs_ns + within_ns;
}

bool overrun_any_near(const Moot__Account *account, uint64_t within_ns)
{
    bool any = false;
    for (size_t i = 0; i < account->n_tasks; i++) {
        any |= overrun_is_near(account, account->tasks[i], within_ns);
    }
    return any;
}
