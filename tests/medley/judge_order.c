/* judge_order.c - whether a medley's kernels ran in the order that was asked for
 * (medley.h), beside what judge.c looks at.
 *
 * Only where every rank has finished and nothing was forgotten: then each task ran
 * once, unless the others went on without a rank that was about to have closed.
 */
#include "proto/moot_error.h"
#include "tests/medley/medley.h"

#include <stdio.h>

static bool is_settled(const struct medley *medley, const struct medley_ends *ledger)
{
    bool finished = !medley->base.lets_go;
    for (uint32_t rank = 0; rank < medley->base.ranks; rank++) {
        finished = finished && ledger->finished[rank];
    }
    return finished;
}

static int owner_of(const struct medley *medley, const struct medley_ends *ledger,
                    uint32_t task)
{
    for (uint32_t rank = 0; rank < medley->base.ranks; rank++) {
        if (ledger->starts[task][rank] > 0) {
            return (int)rank;
        }
    }
    return -1;
}

static bool ran_twice(const struct medley_ledger *ledger, uint32_t task)
{
    uint32_t ranks = 0;
    for (uint32_t rank = 0; rank < MEDLEY_RANKS_MAX; rank++) {
        ranks += ledger->ledger.starts[task][rank] > 0;
    }
    return ranks > 1;
}

static int expect_order(const struct medley_ledger *ledger, FILE *to, uint32_t before,
                        uint32_t task, const char *why)
{
    uint64_t ended_ns = ledger->times[before].ended_ns;
    if ((ended_ns != 0 && ended_ns <= ledger->times[task].began_ns) ||
        ran_twice(ledger, before) || ran_twice(ledger, task)) {
        return 0;
    }
    if (to != NULL) {
        fprintf(to, "WRONG: task %u begins before task %u has ended well, %s\n",
                (unsigned)task, (unsigned)before, why);
    }
    return 1;
}

/* Tasks that a bulk region collects start once that closes. */
static int judge_bulk(const struct medley *medley, const struct medley_ledger *ledger,
                      FILE *to, uint32_t number, uint32_t task)
{
    int owner = owner_of(medley, &ledger->ledger, task);
    const struct medley_recipe *recipe = &medley->base.tasks[task];
    if (owner < 0 || medley->regions[number].queues[owner] != MEDLEY_BULK ||
        (recipe->holders >> owner & 1) == 0 || recipe->kind == MEDLEY_PORTABLE ||
        ledger->times[task].began_ns >= ledger->closes_ns[number][owner]) {
        return 0;
    }
    if (to != NULL) {
        fprintf(to,
                "WRONG: task %u begins before the bulk region of its owner closes\n",
                (unsigned)task);
    }
    return 1;
}

/* Whether the owner's spawn was refused, so that its chains have not got the task. */
static bool is_refused(const struct medley_ledger *ledger, int owner, uint32_t task)
{
    return ledger->ledger.ends[task][owner].code == MOOT_ERR_NO_CANDIDATE;
}

/* The task that its owner spawned before it in a sequential region. */
static int judge_chain(const struct medley *medley, const struct medley_ledger *ledger,
                       FILE *to, const struct medley_region *region, uint32_t task)
{
    int owner = owner_of(medley, &ledger->ledger, task);
    if (owner < 0 || region->queues[owner] != MEDLEY_SEQUENTIAL ||
        medley->base.tasks[task].kind == MEDLEY_PORTABLE) {
        return 0;
    }
    for (uint32_t before = task; before > region->from; before--) {
        if ((medley->base.tasks[before - 1].holders >> owner & 1) &&
            !is_refused(ledger, owner, before - 1)) {
            return expect_order(ledger, to, before - 1, task,
                                "which its chain has first");
        }
    }
    return 0;
}

static int judge_orders(const struct medley *medley, const struct medley_ledger *ledger,
                        FILE *to)
{
    int bad = 0;
    for (uint32_t task = 0; task < MEDLEY_TASKS; task++) {
        const struct medley_recipe *recipe = &medley->base.tasks[task];
        bool ran = ledger->times[task].began_ns != 0;
        for (uint32_t i = 0; ran && i < recipe->input_count; i++) {
            bad |= expect_order(ledger, to, recipe->inputs[i], task,
                                "which it comes after");
        }
        for (uint32_t i = 0; ran && i < medley->region_count; i++) {
            const struct medley_region *region = &medley->regions[i];
            if (region->from <= task && task < region->to) {
                bad |= judge_bulk(medley, ledger, to, i, task);
            }
            if (region->from < task && task < region->to) {
                bad |= judge_chain(medley, ledger, to, region, task);
            }
        }
    }
    return bad;
}

int medley_judge(const struct medley *medley, const struct medley_ledger *ledger,
                 FILE *to)
{
    int bad = medley_judge_ends(&medley->base, &ledger->ledger, to);
    if (bad == 0 && is_settled(medley, &ledger->ledger)) {
        bad = judge_orders(medley, ledger, to);
    }
    return bad;
}
