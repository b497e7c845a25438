/* losses.c - who left views that had not settled.
 *
 * A *loss* is a view whose members are not all there when a later one is entered: those
 * who are gone may have started once tasks of which nobody else knows.  It is noted
 * with each view that is entered and never forgotten, and in a joinable moot each view
 * tells newcomers of those before their time.  state/presume.c says what it proves.
 */
#include "consensus/membership/membership_private.h"

#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>

/* The latest word about a view counts: members only get fewer. */
static struct loss *loss_enter(struct core *core, uint64_t epoch)
{
    assert(epoch < core->epoch);
    for (uint32_t i = 0; i < core->membership.loss_count; i++) {
        if (core->membership.losses[i].epoch == epoch) {
            return &core->membership.losses[i];
        }
    }
    if (!core_grow(core, &core->membership.losses, &core->membership.loss_room,
                   core->membership.loss_count + 1, sizeof(*core->membership.losses))) {
        return NULL;
    }
    struct loss *loss = &core->membership.losses[core->membership.loss_count++];
    *loss = (struct loss){.epoch = epoch};
    return loss;
}

/* A member left otherwise than in good order, when it takes nothing along. */
static bool anyone_left(const struct core *core, const struct rankset *before)
{
    for (uint32_t rank = rankset_next(before, 0); rank != NOBODY;
         rank = rankset_next(before, rank + 1)) {
        bool retired =
            rankset_has(&core->membership.retired, rank) && !MUTANT(LEAVELOSES);
        if (!rankset_has(&core->members, rank) && !retired) {
            return true;
        }
    }
    return false;
}

static void loss_set(struct core *core, uint64_t epoch, const struct rankset *before,
                     const struct rankset *after)
{
    struct loss *loss = loss_enter(core, epoch);
    if (loss != NULL &&
        (!rankset_copy(&loss->before, before) || !rankset_copy(&loss->after, after))) {
        core->broken = true;
    }
}

/* On entering a view: who is missing, against each view that was not settled. */
void losses_note(struct core *core)
{
    for (uint32_t i = 0; i < core->membership.past_count && !core->broken; i++) {
        const struct past *past = &core->membership.past[i];
        if (past->epoch <= core->reload_behind && !MUTANT(RELOADLOSSES)) {
            continue; /* what was started then is forgotten */
        }
        if (anyone_left(core, &past->members)) {
            loss_set(core, past->epoch, &past->members, &core->members);
        }
    }
}

/* The proposer of the view, or its teller, had noted all that there were before it. */
void losses_take(struct core *core, const struct view *view)
{
    assert(core->membership.loss_count == 0);
    core->membership.losses_unknown = view->losses_cut || MUTANT(LOSSESDOUBTED);
    for (uint32_t i = 0; i < view->loss_count && !MUTANT(LOSSESUNTOLD); i++) {
        const struct loss *loss = &view->losses[i];
        loss_set(core, loss->epoch, &loss->before, &loss->after);
    }
}

void losses_forget(struct core *core)
{
    losses_release(core);
    core->membership.losses = NULL;
    core->membership.loss_count = core->membership.loss_room = 0;
    core->membership.losses_unknown = false;
}

void losses_release(struct core *core)
{
    for (uint32_t i = 0; i < core->membership.loss_count; i++) {
        rankset_release(&core->membership.losses[i].before);
        rankset_release(&core->membership.losses[i].after);
    }
    free(core->membership.losses);
}
