/* shrink.h - a failing run made small.
 *
 * Delta debugging (Zeller and Hildebrandt, 2002) over what a trial says: rules of the
 * plan are left out, in halves and then one by one; what is left of them is made
 * shorter, rarer and plainer; then there are fewer ranks, newcomers and tasks.  After
 * each step the run must still fail in the same way, which the caller finds out.  It
 * goes round until a whole round has changed nothing.
 */
#ifndef CONSENSUS_SIM_RUNS_SHRINK_H
#define CONSENSUS_SIM_RUNS_SHRINK_H

#include "consensus/sim/runs/trial.h"

struct shrink {
    /* Whether this trial, with the seed, fails as the first one did. */
    bool (*fails)(void *context, const struct trial *trial);
    void *context;
    uint32_t tries_most;
    uint32_t tries; /* so far */
};

/* Makes a trial that fails, and its plan, smaller; trial->plan is `plan`, or NULL if
 * there is none. */
void shrink_trial(struct shrink *shrink, struct trial *trial, struct plan *plan);

#endif
