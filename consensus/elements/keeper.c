/* keeper.c - the chair of an array has somebody run what no home runs (A8, A12).
 *
 * A home claims its stretch with its spawn, and nobody else decides of that while the
 * home is a member.  Two kinds of elements are left to the array's chair: those whose
 * homes have given them up, and those whose homes are members no more.  The chair knows
 * which of them have ended and which somebody else has, since in a new view all tell
 * it before they report; so it decides of none before the view is settled.  It gives
 * the rest to those who have spawned it (parts.c).
 *
 * The chair asks a home that is not known to hold the array when somebody waits for the
 * end, or its own program is over, and it has been idle for the ask delay, as one asks
 * for any result (T3).  Of an array that a task has spawned nobody else is about to
 * spawn any, so it asks at once.
 *
 * Arrays are watched while there is something to do about them, now or when something
 * changes: the rest are in a list of their own, at which nobody looks.  An array of
 * which there is news is due, and stands first; so a spawn costs its chair a look at
 * one array, however many are open.
 */
#include "consensus/elements/elements_private.h"

#include "consensus/ownership/ownership.h"

#include <assert.h>

/* --- Watching --------------------------------------------------------------------- */

static void move_behind(struct array_record *array, struct array_record *place)
{
    if (array->next != NULL) {
        array->prev->next = array->next;
        array->next->prev = array->prev;
    }
    array->prev = place;
    array->next = place->next;
    place->next->prev = array;
    place->next = array;
}

void keeper_watch(struct core *core, struct array_record *array)
{
    array->due = true;
    move_behind(array, &core->elements.watched);
}

void keeper_watch_none(struct core *core)
{
    struct array_record *const watched = &core->elements.watched;
    while (watched->next != watched) {
        watched->next->due = false;
        move_behind(watched->next, &core->elements.known);
    }
}

bool keeper_is_needed(const struct core *core, const struct array_record *array)
{
    return array->wanted || (array->task->chair == core->rank &&
                             !is_over(array->task) && array_is_open(array->task));
}

static void look_by(struct core *core, uint64_t time_ns)
{
    if (time_ns < core->elements.look_ns) {
        core->elements.look_ns = time_ns;
    }
}

void elements_stir(struct core *core)
{
    if (core->elements.watched.next != &core->elements.watched) {
        look_by(core, core->now_ns);
    }
}

uint64_t elements_deadline(const struct core *core)
{
    const uint64_t busy_ns = core->elements.busy_look_ns;
    const uint64_t look_ns = core->elements.look_ns;
    return core->elements.watched.next->due ? core->now_ns
           : busy_ns < look_ns              ? busy_ns
                                            : look_ns;
}

/* --- What it knows ---------------------------------------------------------------- */

bool keeper_knows_holder(const struct core *core, const struct array_record *array,
                         uint32_t rank)
{
    return rank == core->rank ? array->begun
                              : rankset_has(&array->holders, rank) ||
                                    (roll_knows_holder(core, array->task, rank) &&
                                     !rankset_has(&array->strangers, rank));
}

void keeper_hear_owned(struct core *core, struct array_record *array, uint32_t from,
                       const struct range_set *set)
{
    core->broken |= !rankset_add(&array->holders, from);
    add_set(core, &array->owned, set);
    keeper_watch(core, array);
}

void keeper_hear_left(struct core *core, struct array_record *array,
                      const struct range_set *set)
{
    add_set(core, &array->spare, set);
    core->elements.any_spare = true;
    keeper_watch(core, array);
}

void keeper_hear_back(struct core *core, struct array_record *array, uint32_t from,
                      const struct range_set *set)
{
    if (!rankset_has(&array->holders, from)) {
        core->broken |= !rankset_add(&array->strangers, from);
    }
    take_set(core, &array->owned, set);
    keeper_hear_left(core, array, set);
}

/* --- Giving ----------------------------------------------------------------------- */

bool keeper_find_orphans(const struct core *core, const struct array_record *array,
                         struct range_set *out)
{
    const struct rankset *homes = array_home_ranks(core, array);
    uint32_t home = 0;
    bool fits = range_set_copy(out, &array->spare);
    for (uint32_t rank = rankset_next(homes, 0); rank != NOBODY && fits;
         rank = rankset_next(homes, rank + 1), home++) {
        if (!rankset_has(&core->members, rank) && !MUTANT(ELEMENTSLOST)) {
            fits = range_set_add(out, stretch_of(array, home));
        }
    }
    return fits && range_set_subtract(out, &array->ended) &&
           range_set_subtract(out, &array->owned);
}

void keeper_give(struct core *core, struct array_record *array, uint32_t to,
                 struct range_set *set)
{
    if (set->count == 0) {
        return;
    }
    add_set(core, &array->owned, set);
    if (to == core->rank) {
        own_elements(core, array, set);
    } else {
        say(core, array, to, ELEMENTS_YOURS, set);
    }
    range_set_release(set);
}

/* Enough ranks have died of its elements.  Of one that goes by stretches the leaves say
 * what becomes of these (A17). */
static bool is_deadly(const struct core *core, const struct array_record *array)
{
    return crash_is_deadly(core, array->task) &&
           !hash_has(&array->task->hash, MOOT_HASH_STRETCHES) && !MUTANT(CRASHDEALT);
}

/* Why nobody begins what is nobody's of the array; OK: somebody does. */
static int32_t why_not(const struct core *core, const struct array_record *array)
{
    return array->cancel_said                    ? MOOT_ERR_CANCELLED
           : array_has_no_candidate(core, array) ? MOOT_ERR_NO_CANDIDATE
           : is_deadly(core, array)              ? MOOT_ERR_CRASHED
                                                 : MOOT_OK;
}

/* Once the view has settled. */
static void give_orphans(struct core *core, struct array_record *array)
{
    struct range_set orphans = {0};
    core->broken |= !keeper_find_orphans(core, array, &orphans);
    const bool may =
        orphans.count > 0 && core->membership.settled && !core->membership.no_quorum;
    const int32_t why = may ? why_not(core, array) : MOOT_OK;
    if (why != MOOT_OK) {
        const struct array_failure failure = {1 + parts_first_index(array, &orphans),
                                              why};
        hear_ended(core, array, &orphans, &failure);
    } else if (may) {
        parts_deal(core, array, &orphans);
    }
    range_set_release(&orphans);
}

/* --- Asking ----------------------------------------------------------------------- */

/* Here, by a rank that asked, or by who is to end the array: that one owns it because
 * somebody waited, and asks nobody. */
bool keeper_is_waited_for(const struct core *core, const struct task_record *task)
{
    return task->needs_done + task->needs_data > 0 ||
           (task->requests != NULL && task->requests->asker_count > 0) ||
           (task->rec != core->rank && rankset_has(&core->members, task->rec));
}

static bool is_wanted(const struct core *core, const struct task_record *task)
{
    return core->step.closed || keeper_is_waited_for(core, task);
}

/* When it has been idle for so long that it asks; CORE_NEVER: it is busy. */
static uint64_t asks_ns(const struct core *core)
{
    return core->step.idle
               ? add_ns(core->step.idle_since_ns, core->options.ask_delay_ns)
               : CORE_NEVER;
}

/* A home whose stretch is missing, and which is not known to have spawned all of it. */
static void ask(struct core *core, struct array_record *array, uint32_t rank,
                struct range stretch, bool quiet)
{
    struct rankset *asked = quiet ? &array->asked_quiet : &array->asked;
    struct range_set set = {0};
    core->broken |= !rankset_add(asked, rank) || !range_set_add(&set, stretch);
    if (rank == core->rank) {
        home_wanted(core, array, array->task->need, quiet);
    } else {
        say(core, array, rank, ELEMENTS_WANTED, &set);
    }
    range_set_release(&set);
}

/* The home is a member, has not been asked so, and its stretch is not at hand. */
static bool may_ask(const struct core *core, const struct array_record *array,
                    uint32_t rank, struct range stretch, bool quiet)
{
    return stretch.first < stretch.end && rankset_has(&core->members, rank) &&
           (quiet || !parts_cover(core, array, rank, stretch)) &&
           !range_set_covers(&array->ended, stretch) &&
           !range_set_meets(&array->spare, stretch) &&
           !rankset_has(quiet ? &array->asked_quiet : &array->asked, rank);
}

static void ask_homes(struct core *core, struct array_record *array, bool quiet)
{
    const struct rankset *homes = array_home_ranks(core, array);
    uint32_t home = 0;
    for (uint32_t rank = rankset_next(homes, 0); rank != NOBODY;
         rank = rankset_next(homes, rank + 1), home++) {
        const struct range stretch = stretch_of(array, home);
        if (may_ask(core, array, rank, stretch, quiet)) {
            ask(core, array, rank, stretch, quiet);
        }
    }
}

bool keeper_may_ask(const struct core *core, const struct array_record *array)
{
    const struct rankset *homes = array_home_ranks(core, array);
    const struct task_record *task = array->task;
    bool may = false;
    uint32_t home = 0;
    if (task->chair != core->rank || !array_is_open(task) || is_over(task) ||
        !(array->chased || keeper_is_waited_for(core, task))) {
        return false;
    }
    for (uint32_t rank = rankset_next(homes, 0); rank != NOBODY && !may;
         rank = rankset_next(homes, rank + 1), home++) {
        may = may_ask(core, array, rank, stretch_of(array, home), true);
    }
    return may || parts_may_ask(core, array);
}

/* In other modes than REPAIR, those alone give something up who have spawned some. */
static bool gives_more_up(const struct core *core, const struct array_record *array)
{
    const bool in_parts = array->part_count > 0 || (array->begun && !array->whole);
    return (core->options.mode == CORE_REPAIR || in_parts) &&
           keeper_may_ask(core, array);
}

bool elements_undecided(const struct core *core, moot_hash *which)
{
    const struct array_record *const end = &core->elements.watched;
    const struct array_record *array = end->next;
    while (array != end && !gives_more_up(core, array)) {
        array = array->next;
    }
    if (array != end) {
        *which = array->task->hash;
    }
    return array != end;
}

void elements_yield_all(struct core *core)
{
    struct array_record *const end = &core->elements.watched;
    for (struct array_record *array = end->next, *next; array != end && !core->broken;
         array = next) {
        next = array->next;
        if (gives_more_up(core, array)) {
            (void)elements_quiet(core, array->task);
        }
    }
}

bool elements_quiet(struct core *core, struct task_record *task)
{
    struct array_record *array = task_ext(task)->array;
    if (array == NULL || task->chair != core->rank || !array_is_open(task)) {
        return false;
    }
    array->chased = true;
    ask_homes(core, array, true);
    parts_ask(core, array);
    keeper_watch(core, array);
    return true;
}

void keeper_cancel(struct core *core, struct array_record *array)
{
    ask_homes(core, array, true);
    keeper_watch(core, array);
}

/* --- The turn --------------------------------------------------------------------- */

static void look_at(struct core *core, struct array_record *array)
{
    if (array->task->chair != core->rank || is_over(array->task) ||
        !array_is_open(array->task)) {
        return;
    }
    const bool nested = is_nested_array(array);
    const bool wanted = nested || is_wanted(core, array->task);
    const bool asks = adopt_is_due(core, array, wanted) || nested;
    if (wanted && (asks || asks_ns(core) <= core->now_ns)) {
        ask_homes(core, array, false);
    } else if (wanted) {
        look_by(core, asks_ns(core));
    }
    give_orphans(core, array);
}

/* Nothing can be asked or given by now, whatever array is looked at: there may be
 * thousands, and the news come often. */
static bool is_in_vain(const struct core *core)
{
    return asks_ns(core) > core->now_ns && !core->elements.any_spare &&
           !core->elements.wanted && !core->elements.any_gone;
}

void elements_turn(struct core *core)
{
    struct array_record *const watched = &core->elements.watched;
    bool looks = core->elements.look_ns <= core->now_ns;
    const bool gives =
        core->elements.wanted && (core->step.closed || core->step.blocked);
    core->elements.look_ns = looks ? CORE_NEVER : core->elements.look_ns;
    if (looks && is_in_vain(core)) {
        looks = false;
        look_by(core, asks_ns(core));
    }
    looks |= adopt_looks(core);
    core->elements.wanted = core->elements.wanted && !gives;
    for (struct array_record *array = watched->next, *next;
         array != watched && (looks || gives || array->due) && !core->broken;
         array = next) {
        next = array->next;
        if (looks || array->due) {
            array->due = false;
            look_at(core, array);
        }
        if (array->wanted) {
            home_consider(core, array);
        }
        core->elements.wanted |= array->wanted;
        if (!keeper_is_needed(core, array)) {
            array->due = false; /* if there was news of it in between */
            move_behind(array, &core->elements.known);
        }
    }
}
