/* array_look.c - what a core knows of an array's elements, for reports (core_view.h).
 */
#include "consensus/elements/elements_private.h"

#include "consensus/core_view.h"

/* A home has spawned all of its stretch, or given some up, or is yet to do either. */
static void look_at_home(struct core *core, const struct array_record *array,
                         uint32_t rank, struct range stretch,
                         struct range_set *unclaimed, struct core_array_view *out)
{
    struct range_set rest = {0};
    const bool ended = range_set_covers(&array->ended, stretch);
    const bool spawned = parts_cover(core, array, rank, stretch);
    if (stretch.first == stretch.end || ended) {
        return;
    }
    if (spawned || range_set_meets(&array->spare, stretch)) {
        (void)rankset_add(&out->homes, rank);
        return;
    }
    bool fits =
        range_set_add(&rest, stretch) && range_set_subtract(&rest, &array->ended);
    const bool partly = keeper_knows_holder(core, array, rank);
    if (partly) {
        fits = fits && range_set_subtract(&rest, parts_of(core, array, rank));
    }
    if (fits && rest.count > 0 && range_set_merge(unclaimed, &rest)) {
        (void)rankset_add(&out->lacking, rank);
        if (partly) {
            (void)rankset_add(&out->partial, rank);
        }
    }
    range_set_release(&rest);
}

static void add_some(struct some_elements *some, const struct array_spread *spread,
                     const struct range_set *places)
{
    for (uint32_t i = 0; i < places->count; i++) {
        some_elements_add(some, spread, range_set_items(places)[i]);
    }
}

static void look_as_chair(struct core *core, const struct array_record *array,
                          struct core_array_view *out)
{
    const struct rankset *homes = array_home_ranks(core, array);
    struct range_set unclaimed = {0}, unspawned = {0};
    uint32_t home = 0;
    for (uint32_t rank = rankset_next(homes, 0); rank != NOBODY;
         rank = rankset_next(homes, rank + 1), home++) {
        if (rankset_has(&core->members, rank)) {
            look_at_home(core, array, rank, stretch_of(array, home), &unclaimed, out);
        }
    }
    if (parts_find_unheld(core, array, &unspawned)) {
        add_some(&out->unspawned, &array->spread, &unspawned);
    }
    add_some(&out->unclaimed, &array->spread, &unclaimed);
    range_set_release(&unclaimed);
    range_set_release(&unspawned);
}

bool core_array_look(struct core *core, const moot_hash *hash,
                     struct core_array_view *out)
{
    const struct task_record *task = table_find(core, hash);
    const struct array_record *array = task != NULL ? task_ext(task)->array : NULL;
    if (array == NULL) {
        return false;
    }
    *out = (struct core_array_view){.count = array->spread.count,
                                    .ended = range_set_size(&array->ended),
                                    .keeps = task->chair == core->rank};
    if (out->keeps && !is_over(task) && array_is_open(task)) {
        look_as_chair(core, array, out);
    }
    return true;
}

void core_array_view_release(struct core_array_view *view)
{
    rankset_release(&view->lacking);
    rankset_release(&view->partial);
    rankset_release(&view->homes);
}
