/* home.c - a home that has not spawned an array gives its stretch up (A8).
 *
 * Nobody but a home decides of its stretch, as long as it is a member.  The array's
 * chair asks it, as an asker asks a task's chair, and it answers on the evidence on
 * which a chair yields a task (T4): its program is over, has declined the array, or is
 * blocked beyond the place where somebody waits; or nothing moves any more.  A spawn
 * that comes later claims nothing of what was given up.
 */
#include "consensus/elements/elements_private.h"

#include <assert.h>

static bool has_evidence(const struct core *core, const struct array_record *array)
{
    const bool behind = core->gossip.roll_len < core->gossip.before;
    const bool passed = array->need <= core->gossip.roll_len || behind;
    return core->step.closed || array->task->declined || array->wanted_quiet ||
           scope_is_closed(core, array->task) || (core->step.blocked && passed);
}

/* This rank's own stretch, of which something may be given up before. */
static bool stretch_here(struct core *core, const struct array_record *array,
                         struct range_set *out)
{
    if (!rankset_has(&core->elements.homes, core->rank)) {
        return false;
    }
    const uint32_t home = rankset_below(&core->elements.homes, core->rank);
    core->broken |= !range_set_add(out, stretch_of(array, home));
    return true;
}

void home_consider(struct core *core, struct array_record *array)
{
    struct range_set stretch = {0};
    const bool gives_up =
        array->wanted && stretch_here(core, array, &stretch) && !array->begun &&
        (array->given_up.count > 0 ||
         (core->options.mode == CORE_REPAIR && has_evidence(core, array)));
    if (array->wanted && array->begun) { /* what it never claimed is nobody's */
        array->wanted = false;
        copy_set(core, &stretch, &array->given_up);
        take_set(core, &stretch, &array->mine);
    } else if (gives_up) {
        array->wanted = false;
        add_set(core, &array->given_up, &stretch);
    } else {
        range_set_release(&stretch);
        return;
    }
    if (stretch.count > 0 && array->task->chair == core->rank) {
        keeper_hear_left(core, array, &stretch);
    } else if (stretch.count > 0) {
        say(core, array, array->task->chair, ELEMENTS_LEFT, &stretch);
    }
    range_set_release(&stretch);
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
