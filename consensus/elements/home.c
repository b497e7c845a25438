/* home.c - a home gives up what it has not spawned of its stretch (A8).
 *
 * Nobody but a home decides of its stretch, as long as it is a member.  The array's
 * chair asks it, as an asker asks a task's chair, and it answers on the evidence on
 * which a chair yields a task (T4): its program is over, has declined the array, or is
 * blocked beyond the place where somebody waits; or nothing moves any more.  A spawn
 * that comes later claims nothing of what was given up.  Who has spawned a part says by
 * that itself that the rest is for others, so it gives that up in all modes.  Of an
 * array that a task has spawned that one's rank alone is to, so another home has
 * nothing to wait for, in any mode.
 */
#include "consensus/elements/elements_private.h"

#include <assert.h>

static bool has_evidence(const struct core *core, const struct array_record *array)
{
    const bool behind = core->gossip.roll_len < core->gossip.before;
    const bool passed = array->need <= core->gossip.roll_len || behind;
    return core->step.closed || array->task->declined || array->wanted_quiet ||
           scope_is_closed(core, array->task) ||
           (is_nested_array(array) && !MUTANT(NESTEDHOME)) ||
           (core->step.blocked && passed);
}

/* The home has not spawned all of its stretch, and may give the rest up. */
static bool gives_up(const struct core *core, const struct array_record *array)
{
    const bool may =
        core->options.mode == CORE_REPAIR || array->begun || is_nested_array(array);
    return array->given_up.count > 0 || (may && has_evidence(core, array));
}

void home_consider(struct core *core, struct array_record *array)
{
    struct range_set rest = {0};
    if (!array->wanted || !own_stretch(core, array, &rest)) {
        array->wanted = false;
        return;
    }
    take_set(core, &rest, &array->mine);
    const bool lacks = !array->whole && rest.count > 0;
    if (!lacks || gives_up(core, array)) {
        array->wanted = false;
        if (lacks) {
            add_set(core, &array->given_up, &rest);
        }
        copy_set(core, &rest, &array->given_up); /* what it never claimed is nobody's */
        take_set(core, &rest, &array->mine);
        if (rest.count > 0 && array->task->chair == core->rank) {
            keeper_hear_left(core, array, &rest);
        } else if (rest.count > 0) {
            say(core, array, array->task->chair, ELEMENTS_LEFT, &rest);
        }
    }
    range_set_release(&rest);
}

void home_wanted(struct core *core, struct array_record *array, uint64_t need,
                 bool quiet)
{
    array->need = array->wanted && array->need < need ? array->need : need;
    array->wanted = core->elements.wanted = true;
    array->wanted_quiet |= quiet;
    keeper_watch(core, array);
    home_consider(core, array);
}
