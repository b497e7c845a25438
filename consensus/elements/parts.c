/* parts.c - who has spawned which elements of an array, and those that nobody has (A5,
 * A8).
 *
 * A rank may spawn a part of an array.  It says so to the array's chair before anything
 * else about it; of who says nothing and has the array on its roll the chair takes it
 * that it has spawned all.  In a new view parts are said again, ahead of the reports.
 * The chair gives what it has to give to those who have spawned it, as evenly as can
 * be: elements that the same ranks have spawned are a group, and each of these gets a
 * stretch of the group.  Of an array of a once kernel the elements of one home go to
 * one rank, since one leave is for all of them (A17).
 *
 * Elements that nobody has spawned wait.  When nothing moves any more, no home is left
 * to be asked, no member that is not known to hold the array has spawned it, and
 * somebody waits for the end, they end NOT_HELD, in the place of an orphan
 * (termination/orphans.c).
 */
#include "consensus/elements/elements_private.h"

#include <assert.h>

/* --- This rank's own -------------------------------------------------------------- */

int parts_find_fresh(const struct array_record *array, const struct core_register *reg,
                     struct range_set *fresh)
{
    const struct range all = {0, array->spread.count};
    struct range_set sum = {0};
    bool fits = true;
    if (array->whole) {
        return MOOT_OK;
    }
    for (uint32_t i = 0; i < reg->part_count && fits; i++) {
        fits = range_set_add(fresh, reg->part[i]);
    }
    if (reg->part == NULL) {
        fits = range_set_add(fresh, all);
    }
    fits = fits && range_set_copy(&sum, fresh) && range_set_merge(&sum, &array->part) &&
           range_set_subtract(fresh, &array->part);
    const bool many = sum.count > LIMIT_PART_RANGES;
    range_set_release(&sum);
    return !fits ? MOOT_ERR_NO_MEMORY : many ? MOOT_ERR_LIMIT : MOOT_OK;
}

/* --- The chair knows -------------------------------------------------------------- */

static struct array_part *find_part(const struct array_record *array, uint32_t rank)
{
    for (uint32_t i = 0; i < array->part_count; i++) {
        if (array->parts[i].rank == rank) {
            return &array->parts[i];
        }
    }
    return NULL;
}

const struct range_set *parts_of(const struct core *core,
                                 const struct array_record *array, uint32_t rank)
{
    if (rank == core->rank) {
        return array->whole ? NULL : &array->part;
    }
    const struct array_part *part = find_part(array, rank);
    return part != NULL ? &part->set : NULL;
}

void parts_hear(struct core *core, struct array_record *array, uint32_t from,
                const struct range_set *set)
{
    struct array_part *part = find_part(array, from);
    core->broken |= !rankset_add(&array->holders, from);
    if (part == NULL && core_grow(core, &array->parts, &array->part_room,
                                  array->part_count + 1, sizeof(*array->parts))) {
        part = &array->parts[array->part_count++];
        *part = (struct array_part){.rank = from};
    }
    if (part != NULL) {
        add_set(core, &part->set, set);
    }
    keeper_watch(core, array);
}

bool parts_cover(const struct core *core, const struct array_record *array,
                 uint32_t rank, struct range range)
{
    const struct range_set *part = parts_of(core, array, rank);
    return keeper_knows_holder(core, array, rank) &&
           (part == NULL || range_set_covers(part, range));
}

/* --- What nobody has spawned ------------------------------------------------------ */

bool parts_find_unheld(const struct core *core, const struct array_record *array,
                       struct range_set *out)
{
    bool fits = keeper_find_orphans(core, array, out), held = false;
    for (uint32_t rank = rankset_next(&core->members, 0); rank != NOBODY && fits;
         rank = rankset_next(&core->members, rank + 1)) {
        const struct range_set *part = parts_of(core, array, rank);
        if (!keeper_knows_holder(core, array, rank)) {
            continue;
        }
        held = true;
        if (!array_may_run(array, rank)) {
            continue;
        }
        if (part == NULL) {
            range_set_release(out);
        } else {
            fits = range_set_subtract(out, part);
        }
    }
    if (!held) {
        range_set_release(out);
    }
    return fits;
}

/* The first member from `rank` on that may have spawned the array, as far as its chair
 * knows, and was not asked. */
static uint32_t next_unasked(const struct core *core, const struct array_record *array,
                             uint32_t rank)
{
    rank = rankset_next(&core->members, rank);
    while (rank != NOBODY &&
           (!array_may_run(array, rank) || keeper_knows_holder(core, array, rank) ||
            rankset_has(&array->asked_held, rank))) {
        rank = rankset_next(&core->members, rank + 1);
    }
    return rank;
}

bool parts_may_ask(const struct core *core, const struct array_record *array)
{
    struct range_set unheld = {0};
    const bool may = next_unasked(core, array, 0) != NOBODY &&
                     parts_find_unheld(core, array, &unheld) && unheld.count > 0;
    range_set_release(&unheld);
    return may;
}

void parts_ask(struct core *core, struct array_record *array)
{
    struct range_set unheld = {0};
    core->broken |= !parts_find_unheld(core, array, &unheld);
    for (uint32_t rank = next_unasked(core, array, 0);
         rank != NOBODY && unheld.count > 0 && !core->broken;
         rank = next_unasked(core, array, rank + 1)) {
        core->broken |= !rankset_add(&array->asked_held, rank);
        if (rank != core->rank) {
            say(core, array, rank, ELEMENTS_HELD, &unheld);
        }
    }
    range_set_release(&unheld);
}

uint64_t parts_first_index(const struct array_record *array,
                           const struct range_set *set)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < set->count; i++) {
        const uint64_t index = array_first_index(array, range_set_items(set)[i]);
        least = index < least ? index : least;
    }
    return least;
}

static void end_unheld(struct core *core, struct array_record *array,
                       const struct range_set *unheld)
{
    const struct array_failure none = {0};
    if (unheld->count > 0 && !core->broken) {
        add_set(core, &array->unheld, unheld);
        array_note_failure(&array->not_held, 1 + parts_first_index(array, unheld),
                           MOOT_ERR_NOT_HELD);
        hear_ended(core, array, unheld, &none);
    }
}

/* --- Giving ----------------------------------------------------------------------- */

static bool is_leaving(const struct core *core, uint32_t rank)
{
    return rankset_has(&core->membership.leavers, rank) ||
           (rank == core->rank && core->membership.leave.going);
}

/* Those of them who have spawned the element, and stay, or are leaving. */
static bool find_runners(struct core *core, const struct array_record *array,
                         const struct rankset *holders, uint64_t place, bool leaving,
                         struct rankset *out)
{
    for (uint32_t rank = rankset_next(holders, 0); rank != NOBODY;
         rank = rankset_next(holders, rank + 1)) {
        const struct range_set *part = parts_of(core, array, rank);
        if ((part == NULL || range_set_has(part, place)) &&
            is_leaving(core, rank) == leaving) {
            core->broken |= !rankset_add(out, rank);
        }
    }
    return !rankset_empty(out);
}

/* Each runner gets a stretch, as even as can be. */
static void deal(struct core *core, struct array_record *array,
                 const struct range_set *orphans, const struct rankset *runners)
{
    const uint64_t count = rankset_count(runners), size = range_set_size(orphans);
    uint32_t rank = rankset_next(runners, 0), i = 0;
    struct range rest = range_set_items(orphans)[0];
    for (uint64_t n = 1; n <= count && !core->broken; n++) {
        uint64_t most = size * n / count - size * (n - 1) / count;
        struct range_set share = {0};
        while (most > 0) {
            const uint64_t here = rest.end - rest.first;
            const uint64_t part = here < most ? here : most;
            core->broken |=
                !range_set_add(&share, (struct range){rest.first, rest.first + part});
            rest.first += part;
            most -= part;
            if (rest.first == rest.end && ++i < orphans->count) {
                rest = range_set_items(orphans)[i];
            }
        }
        keeper_give(core, array, rank, &share);
        range_set_release(&share);
        rank = rankset_next(runners, rank + 1);
    }
}

/* Nobody has spawned a part of it then. */
static bool goes_by_stretches(const struct array_record *array)
{
    return array_has_stretches(array) && !MUTANT(STRETCHSPLIT);
}

/* In an array of stretches a home's goes to one runner: the first home's to the first,
 * and so on. */
static void deal_stretch(struct core *core, struct array_record *array,
                         const struct range_set *group, const struct rankset *runners)
{
    const uint64_t first = range_set_items(group)[0].first;
    const uint32_t home = array_slot(&array->spread, first) / ARRAY_SLOTS;
    const uint32_t count = rankset_count(runners);
    struct range_set share = {0};
    assert(count > 0);
    copy_set(core, &share, group);
    keeper_give(core, array, rankset_at(runners, home % count), &share);
    range_set_release(&share);
}

/* Keeps of `group` what is of one home with its first. */
static void keep_stretch(struct core *core, const struct array_record *array,
                         struct range_set *group)
{
    const uint64_t first = range_set_items(group)[0].first;
    const uint32_t home = array_slot(&array->spread, first) / ARRAY_SLOTS;
    struct range_set stretch = {0};
    core->broken |= !range_set_add(&stretch, stretch_of(array, home)) ||
                    !range_set_intersect(group, &stretch);
    range_set_release(&stretch);
}

/* Keeps of `group` what exactly those have spawned who have spawned one of it. */
static void keep_alike(struct core *core, const struct array_record *array,
                       const struct rankset *holders, struct range_set *group)
{
    const uint64_t place = range_set_items(group)[0].first;
    for (uint32_t rank = rankset_next(holders, 0); rank != NOBODY && !core->broken;
         rank = rankset_next(holders, rank + 1)) {
        const struct range_set *part = parts_of(core, array, rank);
        if (part != NULL && range_set_has(part, place)) {
            core->broken |= !range_set_intersect(group, part);
        } else if (part != NULL) {
            take_set(core, group, part);
        }
    }
}

static void find_holders(struct core *core, const struct array_record *array,
                         struct rankset *out)
{
    FOR_MEMBERS(core, rank)
    {
        const bool may = array_may_run(array, rank) || MUTANT(HOMESTRANGE);
        if (may && keeper_knows_holder(core, array, rank)) {
            core->broken |= !rankset_add(out, rank);
        }
    }
}

static bool deal_group(struct core *core, struct array_record *array,
                       const struct rankset *holders, const struct range_set *group)
{
    const uint64_t place = range_set_items(group)[0].first;
    struct rankset runners = {0};
    const bool any = find_runners(core, array, holders, place, false, &runners) ||
                     find_runners(core, array, holders, place, true, &runners);
    if (any && !core->broken && goes_by_stretches(array)) {
        deal_stretch(core, array, group, &runners);
    } else if (any && !core->broken) {
        deal(core, array, group, &runners);
    }
    rankset_release(&runners);
    return any;
}

void parts_deal(struct core *core, struct array_record *array,
                const struct range_set *orphans)
{
    struct range_set rest = {0}, group = {0};
    struct rankset holders = {0};
    bool all = true;
    copy_set(core, &rest, orphans);
    find_holders(core, array, &holders);
    while (rest.count > 0 && !core->broken) {
        copy_set(core, &group, &rest);
        if (goes_by_stretches(array)) {
            keep_stretch(core, array, &group);
        } else {
            keep_alike(core, array, &holders, &group);
        }
        if (!core->broken) {
            all &= deal_group(core, array, &holders, &group);
        }
        take_set(core, &rest, &group);
    }
    if (!all && MUTANT(PARTFINAL) && parts_find_unheld(core, array, &group)) {
        end_unheld(core, array, &group);
    }
    range_set_release(&rest);
    range_set_release(&group);
    rankset_release(&holders);
}

/* --- When nothing moves any more ---------------------------------------------------
 */

static bool may_fail(const struct core *core, const struct array_record *array)
{
    const struct task_record *task = array->task;
    return task->chair == core->rank && array_is_open(task) &&
           task->have == CORE_HAVE_NOTHING && !array->cancel_said && !task->frozen &&
           core->membership.settled && !core->membership.no_quorum &&
           (array->chased || keeper_is_waited_for(core, task)) &&
           !keeper_may_ask(core, array);
}

bool elements_unheld(const struct core *core, moot_hash *which)
{
    const struct array_record *const end = &core->elements.watched;
    bool found = false;
    for (const struct array_record *array = end->next; array != end;
         array = array->next) {
        struct range_set unheld = {0};
        const moot_hash *hash = &array->task->hash;
        if ((!found || hash_compare(hash, which) < 0) && may_fail(core, array) &&
            parts_find_unheld(core, array, &unheld) && unheld.count > 0) {
            found = true;
            *which = *hash;
        }
        range_set_release(&unheld);
    }
    return found;
}

void elements_fail_unheld(struct core *core, const moot_hash *which)
{
    struct task_record *task = table_find(core, which);
    struct array_record *array = task != NULL ? task_ext(task)->array : NULL;
    struct range_set unheld = {0};
    if (array != NULL && may_fail(core, array)) {
        core->broken |= !parts_find_unheld(core, array, &unheld);
        end_unheld(core, array, &unheld);
    }
    range_set_release(&unheld);
}

void parts_forget_unheld(struct core *core, struct array_record *array)
{
    if (array->unheld.count > 0 && array_is_open(array->task)) {
        take_set(core, &array->ended, &array->unheld);
        range_set_release(&array->unheld);
        array->not_held = (struct array_failure){0};
    }
}
