/* elements.c - see elements.h. */
#include "consensus/elements/elements_private.h"

#include "consensus/ownership/ownership.h"

#include <assert.h>

/* --- Beginning and ending --------------------------------------------------------- */

bool elements_begin(struct core *core, uint32_t first_size)
{
    struct array_record *known = &core->elements.known;
    struct array_record *watched = &core->elements.watched;
    known->prev = known->next = known;
    watched->prev = watched->next = watched;
    core->elements.look_ns = core->elements.busy_look_ns = CORE_NEVER;
    core->elements.home_count = first_size;
    for (uint32_t rank = first_size; rank-- > 0;) {
        if (!rankset_add(&core->elements.homes, rank)) {
            return false;
        }
    }
    return true;
}

void elements_end(struct core *core) { rankset_release(&core->elements.homes); }

void elements_forget_all(struct core *core)
{
    core->elements.running = core->elements.waiting = core->elements.reads = 0;
}

/* False without memory. */
static bool homes_take(struct core *core, struct array_record *array,
                       const struct array_homes *card)
{
    array->spread = card->spread;
    array->bound = card->bound;
    if (card->ranks != NULL && !rankset_copy(&array->homes, card->ranks)) {
        core->broken = true;
        return false;
    }
    core->elements.any_gone |= !homes_are_here(core, array);
    return true;
}

/* That of an array, made if need be; NULL without memory. */
static struct array_record *record_get(struct core *core, struct task_record *task,
                                       const struct array_homes *card)
{
    struct task_ext *ext = task_ext_get(core, task);
    if (ext->array != NULL || core->broken) {
        return ext->array;
    }
    struct array_record *array = memory_take(core, sizeof(*array));
    if (array == NULL || !homes_take(core, array, card)) {
        memory_give(core, array, sizeof(*array));
        return NULL;
    }
    array->task = task;
    array->wanted_ns = CORE_NEVER;
    array->next = &core->elements.known;
    array->prev = core->elements.known.prev;
    array->prev->next = core->elements.known.prev = array;
    ext->array = array;
    if (task->chair == core->rank) {
        keeper_watch(core, array);
    }
    return array;
}

/* --- Words ------------------------------------------------------------------------ */

static void say_some(struct core *core, struct array_record *array, uint32_t to,
                     const struct message_elements *what)
{
    struct message *message = out_send(core, to, MESSAGE_ELEMENTS, array->task);
    const size_t bytes = what->range_count * sizeof(*what->ranges);
    const struct range *ranges = out_copy_bytes(core, what->ranges, bytes);
    if (message == NULL || (ranges == NULL && bytes > 0)) {
        return;
    }
    message->u.elements = *what;
    message->u.elements.ranges = ranges;
    array_put_homes(core, array, &message->u.elements);
}

/* From a peer's spec, and not spawned by this rank's program. */
static bool is_adopted(const struct array_record *array)
{
    return array->begun && (array->task->flags & CORE_TASK_ADOPTED) != 0;
}

void say(struct core *core, struct array_record *array, uint32_t to,
         enum elements_what what, const struct range_set *set)
{
    assert(to != core->rank && what < ELEMENTS_END);
    struct message_elements words = {
        .what = what,
        .tell = (array->takes || is_adopted(array)) &&
                (what <= ELEMENTS_OWNED || what == ELEMENTS_PART),
        .need = what == ELEMENTS_WANTED ? array->task->need : 0,
        .quiet = what == ELEMENTS_WANTED && rankset_has(&array->asked_quiet, to),
        .spec = adopt_spec_for(core, array, to, what)};
    if (what == ELEMENTS_ENDED) {
        words.failed = array->failure.index_plus_one;
        words.status = array->failure.status;
    }
    uint32_t at = 0;
    do {
        const uint32_t rest = set->count - at;
        words.ranges = range_set_items(set) + at;
        words.range_count = rest < LIMIT_ELEMENT_RANGES ? rest : LIMIT_ELEMENT_RANGES;
        say_some(core, array, to, &words);
        at += words.range_count;
    } while (at < set->count);
}

/* All elements have ended, as is known here.  If only the end is, which of them failed
 * is not; any stands for it. */
static void tell_all(struct core *core, struct array_record *array, uint32_t to)
{
    const struct task_record *task = array->task;
    struct array_failure failure = array_first_fault(array);
    if (array_is_open(task)) {
        failure = (struct array_failure){task->status != MOOT_OK, task->status};
    }
    struct range_set all = {.one = {0, array->spread.count}, .count = 1};
    if (to == core->rank) {
        hear_ended(core, array, &all, &failure);
    } else {
        struct message_elements words = {.what = ELEMENTS_ENDED,
                                         .range_count = 1,
                                         .ranges = range_set_items(&all),
                                         .failed = failure.index_plus_one,
                                         .status = failure.status};
        say_some(core, array, to, &words);
    }
}

/* Those whose arrays take others learn from the chair when all have ended: until then
 * they keep what an element is made of (A11). */
static void tell_waiting(struct core *core, struct array_record *array)
{
    if (array->task->chair != core->rank || array_is_open(array->task)) {
        return;
    }
    for (uint32_t rank = rankset_next(&array->to_tell, 0); rank != NOBODY;
         rank = rankset_next(&array->to_tell, rank + 1)) {
        tell_all(core, array, rank);
    }
    rankset_release(&array->to_tell);
}

void hear_ended(struct core *core, struct array_record *array,
                const struct range_set *set, const struct array_failure *failure)
{
    const bool was_open = array_is_open(array->task);
    add_set(core, &array->ended, set);
    array_note_failure(&array->first_fault, failure->index_plus_one, failure->status);
    if (was_open && !array_is_open(array->task)) {
        graph_elements_ended(core, array->task);
        tell_waiting(core, array);
    }
}

/* The chair hears of what has ended here, and has not been told. */
static void tell_ended(struct core *core, struct array_record *array)
{
    struct range_set fresh = {0};
    copy_set(core, &fresh, &array->mine);
    if (!MUTANT(ARRAYEARLY)) {
        take_set(core, &fresh, &array->left);
    }
    take_set(core, &fresh, &array->told);
    if (fresh.count > 0 && array->task->chair == core->rank) {
        hear_ended(core, array, &fresh, &array->failure);
    } else if (fresh.count > 0) {
        say(core, array, array->task->chair, ELEMENTS_ENDED, &fresh);
    }
    add_set(core, &array->told, &fresh);
    range_set_release(&fresh);
}

static const struct rankset *ranks_of(const struct core *core,
                                      const struct array_homes *card)
{
    return card->ranks != NULL ? card->ranks : &core->elements.homes;
}

static uint32_t count_of(const struct core *core, const struct array_homes *card)
{
    return card->ranks != NULL ? rankset_count(card->ranks) : core->elements.home_count;
}

static bool is_card_of(const struct core *core, const struct array_record *array,
                       const struct array_homes *card)
{
    const struct array_spread *spread = &card->spread;
    return array->spread.count == spread->count &&
           array->spread.block == spread->block &&
           array->spread.homes == spread->homes && array->spread.kind == spread->kind &&
           array->bound == card->bound &&
           rankset_equal(array_home_ranks(core, array), ranks_of(core, card));
}

static void hear(struct core *core, struct array_record *array, uint32_t from,
                 const struct message_elements *elements, struct range_set *set)
{
    const struct array_failure failure = {elements->failed, elements->status};
    const bool keeps = array->task->chair == core->rank;
    const bool is_told = array->task->chair == from;
    if (keeps && elements->tell) {
        core->broken |= !rankset_add(&array->to_tell, from);
    }
    if (elements->what == ELEMENTS_ENDED && (keeps || is_told)) {
        if (keeps) {
            keeper_hear_owned(core, array, from, set);
        }
        hear_ended(core, array, set, &failure);
    } else if (elements->what == ELEMENTS_OWNED && keeps) {
        keeper_hear_owned(core, array, from, set);
    } else if (elements->what == ELEMENTS_LEFT && keeps) {
        keeper_hear_left(core, array, set);
    } else if (elements->what == ELEMENTS_PART && keeps) {
        parts_hear(core, array, from, set);
    } else if (elements->what == ELEMENTS_BACK && keeps) {
        keeper_hear_back(core, array, from, set);
    } else if (elements->what == ELEMENTS_WANTED && is_told) {
        home_wanted(core, array, elements->need, elements->quiet);
    } else if (elements->what == ELEMENTS_HELD && is_told) {
        array->held_asked = true;
        if (array->whole) { /* of a part the chair knows */
            say_holding(core, array);
        }
    } else if (elements->what == ELEMENTS_YOURS && is_told && array->begun) {
        if (!is_over(array->task)) {
            own_given(core, array, set);
        }
    } else if (elements->what == ELEMENTS_YOURS && is_told && !MUTANT(YOURSDEAF)) {
        array->held_asked = true;
        say(core, array, from, ELEMENTS_BACK, set);
    } else {
        core->stats.refused++;
    }
    tell_waiting(core, array);
}

void elements_on_elements(struct core *core, uint32_t from, struct task_record *task,
                          const struct message_elements *elements)
{
    const struct array_homes card = {{elements->count, elements->block, elements->homes,
                                      (enum array_spread_kind)elements->kind},
                                     elements->ranks,
                                     elements->bound};
    if (elements->homes != count_of(core, &card)) {
        core->stats.refused++;
        return;
    }
    struct array_record *array = record_get(core, task, &card);
    struct range_set set = {0};
    if (array == NULL) {
        return;
    }
    if (!is_card_of(core, array, &card)) {
        core->stats.refused++;
        return;
    }
    for (uint32_t i = 0; i < elements->range_count; i++) {
        core->broken |= !range_set_add(&set, elements->ranges[i]);
    }
    hear(core, array, from, elements, &set);
    elements_cancel(core, task);
    range_set_release(&set);
}

/* Whether it may be forgotten changes with what runs here. */
static void touch(struct core *core, struct task_record *task)
{
    release_touch(core, task);
    if (task->scope != NULL) {
        scope_touch(core, task->scope);
    }
}

/* --- Spawns (A5, A6) -------------------------------------------------------------- */

void own_elements(struct core *core, struct array_record *array,
                  struct range_set *fresh)
{
    assert(array->begun);
    touch(core, array->task);
    take_set(core, fresh, &array->mine);
    add_set(core, &array->mine, fresh);
    add_set(core, &array->left, fresh);
    array->dropping = false;
    for (uint32_t i = 0; i < fresh->count && !core->broken; i++) {
        struct core_output *output = out_add(core, CORE_OUT_ELEMENTS, array->task);
        if (output != NULL) {
            output->u.elements.places = range_set_items(fresh)[i];
        }
    }
    core->elements.running += range_set_size(fresh);
    adopt_begin_elements(core);
}

void own_given(struct core *core, struct array_record *array, struct range_set *set)
{
    struct range_set lacking = {0};
    if (!array->whole && !MUTANT(PARTWHOLE)) {
        copy_set(core, &lacking, set);
        take_set(core, &lacking, &array->part);
        take_set(core, set, &lacking);
    }
    own_elements(core, array, set);
    if (lacking.count > 0) {
        say(core, array, array->task->chair, ELEMENTS_BACK, &lacking);
    }
    range_set_release(&lacking);
}

void say_holding(struct core *core, struct array_record *array)
{
    const struct range_set none = {0};
    if (array->task->chair != core->rank) {
        say(core, array, array->task->chair, ELEMENTS_OWNED, &none);
    }
}

void say_card(struct core *core, struct array_record *array)
{
    const struct message_elements words = {.what = ELEMENTS_OWNED,
                                           .tell = array->takes};
    if (array->task->chair != core->rank) {
        say_some(core, array, array->task->chair, &words);
    }
}

/* The rank has spawned these, and perhaps not the others. */
static void say_part(struct core *core, struct array_record *array,
                     const struct range_set *set)
{
    if (array->task->chair == core->rank) {
        keeper_watch(core, array);
    } else {
        say(core, array, array->task->chair, ELEMENTS_PART, set);
    }
}

/* A rank that runs none of an array that takes others has nothing else to say, nor has
 * one that knows of a cancel, or has adopted it.  An array of a task's is on no roll.
 * The holder of a part has said so. */
static void say_taking(struct core *core, struct array_record *array)
{
    const bool cancels = task_ext(array->task)->canceller != NOBODY;
    const bool says = array->takes || cancels || is_adopted(array);
    const bool silent = says && array->mine.count == 0;
    if (array->whole && (silent || is_nested_array(array))) {
        say_holding(core, array);
    }
}

/* The part of its own stretch that a home has spawned, and not given up, is its own
 * with that: no word is said of it, and no record made. */
static void claim_stretch(struct core *core, struct array_record *array)
{
    struct range_set fresh = {0};
    if (own_stretch(core, array, &fresh)) {
        if (!MUTANT(PARTCLAIMS)) {
            take_set(core, &fresh, &array->given_up);
        }
        if (!array->whole && !MUTANT(PARTWHOLE)) {
            core->broken |= !range_set_intersect(&fresh, &array->part);
        }
        own_elements(core, array, &fresh);
    }
    range_set_release(&fresh);
}

/* This rank has spawned these, of which it had spawned none before: it may hold more of
 * the array now.  What its chair does not hear of is whole. */
static void begin_part(struct core *core, struct array_record *array,
                       const struct range_set *fresh)
{
    const struct range all = {0, array->spread.count};
    const bool grows = array->begun;
    array->begun = true;
    add_set(core, &array->part, fresh);
    array->whole = range_set_covers(&array->part, all);
    if (array->whole) {
        range_set_release(&array->part);
    }
    if (grows || !array->whole) {
        say_part(core, array, fresh);
    } else if (array->held_asked || is_adopted(array)) {
        say_holding(core, array);
    }
    if (!is_over(array->task)) {
        claim_stretch(core, array);
    }
    if (!is_adopted(array)) {
        say_taking(core, array);
    }
    if (grows && !MUTANT(CANCELLATE)) {
        elements_cancel(core, array->task);
    }
}

/* Flags of a task that an array may have. */
enum {
    ARRAY_FLAGS = CORE_TASK_HINT | CORE_TASK_NESTED | CORE_TASK_STRETCHES |
                  CORE_TASK_PORTABLE | CORE_TASK_ADOPTED
};

static bool is_sane(const struct core_event *event, const struct array_homes *card)
{
    const struct core_register *reg = event->u.reg;
    return hash_has(&event->hash, MOOT_HASH_ARRAY) &&
           array_spread_valid(&card->spread) && (card->ranks != NULL || !card->bound) &&
           (reg->flags & ~(uint32_t)ARRAY_FLAGS) == 0 && reg->candidates == NULL &&
           reg->after_count == reg->input_count &&
           (reg->part == NULL ||
            (reg->part_count > 0 && !hash_has(&event->hash, MOOT_HASH_STRETCHES))) &&
           range_set_valid(reg->part, reg->part_count, card->spread.count);
}

/* None of its candidates is a member, and this rank does not hold it: as of a task with
 * candidates (ownership/register.c). */
static bool is_refused(struct core *core, const struct core_event *event)
{
    const struct core_register *reg = event->u.reg;
    const struct task_record *before = event_find(core, event);
    return reg->bound && core->options.mode != CORE_STRICT &&
           (before == NULL || !before->held) &&
           rankset_count_both(reg->homes, &core->members) == 0;
}

int elements_register(struct core *core, const struct core_event *event)
{
    const struct core_register *reg = event->u.reg;
    struct array_homes card = {*reg->array, reg->homes, reg->bound};
    struct range_set fresh = {0};
    card.spread.homes = count_of(core, &card);
    if (!is_sane(event, &card)) {
        return MOOT_ERR_INVALID;
    }
    if (scope_is_dropped(core, &event->hash)) {
        return MOOT_ERR_SCOPE_CLOSED;
    }
    if (is_refused(core, event)) {
        return MOOT_ERR_NO_CANDIDATE;
    }
    struct task_record *task = event_enter(core, event);
    struct array_record *array = task != NULL ? record_get(core, task, &card) : NULL;
    if (array == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    if (!is_card_of(core, array, &card)) {
        return MOOT_ERR_INVALID; /* somebody lied: the hash covers it */
    }
    int error = parts_find_fresh(array, reg, &fresh);
    if (error == MOOT_OK) {
        error = graph_register(core, event);
    }
    if (error == MOOT_OK && (!array->begun || fresh.count > 0)) {
        array->takes = reg->input_count > 0;
        core->elements.any_portable |= reg->spec != NULL;
        begin_part(core, array, &fresh);
    }
    range_set_release(&fresh);
    return error == MOOT_OK && core->broken ? MOOT_ERR_NO_MEMORY : error;
}

int elements_ended(struct core *core, const struct core_event *event)
{
    const struct range places = event->u.elements.places;
    const int32_t status = event->u.elements.status;
    struct task_record *task = event_find(core, event);
    struct array_record *array = task != NULL ? task_ext(task)->array : NULL;
    if (array == NULL || places.first >= places.end || status > 0 ||
        !range_set_covers(&array->left, places) ||
        core->elements.running - core->elements.waiting < places.end - places.first) {
        return MOOT_ERR_STATE;
    }
    if (!range_set_remove(&array->left, places)) {
        core->broken = true;
        return MOOT_ERR_NO_MEMORY;
    }
    core->elements.running -= places.end - places.first;
    if (status != MOOT_OK) {
        array_note_failure(&array->failure, 1 + array_first_index(array, places),
                           status);
    }
    if (array->left.count == 0 || MUTANT(ARRAYEARLY)) {
        tell_ended(core, array);
    }
    if (array->left.count == 0) {
        touch(core, task);
        release_count(core, task);
    }
    return MOOT_OK;
}

int elements_wait(struct core *core, const struct core_event *event)
{
    if (event->u.elements_wait.count > core->elements.running ||
        event->u.elements_wait.reads > core->ownership.running) {
        return MOOT_ERR_STATE;
    }
    core->elements.waiting = event->u.elements_wait.count;
    core->elements.reads = event->u.elements_wait.reads;
    return MOOT_OK;
}

bool elements_run(const struct core *core)
{
    return core->elements.running > core->elements.waiting;
}

bool elements_let_rest(const struct core *core)
{
    return core->ownership.running <= core->elements.reads && !elements_run(core);
}

/* --- Views (A12) ------------------------------------------------------------------ */

/* The part of its own stretch that this rank, which chairs it now, has given up: nobody
 * asks it again, unless somebody waits. */
static void note_given_up(struct core *core, struct array_record *array)
{
    struct range_set rest = {0};
    copy_set(core, &rest, &array->given_up);
    take_set(core, &rest, &array->mine);
    if (rest.count > 0) {
        keeper_hear_left(core, array, &rest);
    }
    range_set_release(&rest);
}

/* All told, asked and given in the last view may be lost, or was to another. */
static void enter_view(struct core *core, struct array_record *array)
{
    range_set_release(&array->told);
    range_set_release(&array->owned);
    range_set_release(&array->spare);
    rankset_release(&array->holders);
    rankset_release(&array->to_tell);
    rankset_release(&array->asked);
    rankset_release(&array->asked_quiet);
    rankset_release(&array->asked_held);
    rankset_release(&array->strangers);
    array_parts_release(array);
    parts_forget_unheld(core, array);
    array->wanted = array->wanted_quiet = array->held_asked = false;
    array->cancel_said = array->chased = false;
    array->wanted_ns = CORE_NEVER;
    cancel_enter_view(core, array->task); /* ahead of what was cancelled */
    if (array->task->chair == core->rank) {
        add_set(core, &array->owned, &array->mine);
        note_given_up(core, array);
        keeper_watch(core, array);
    }
    const bool was_over = is_over(array->task) || array->task->seen;
    if ((was_over && !MUTANT(ENDUNSAID)) || !array_is_open(array->task)) {
        tell_all(core, array, array->task->chair);
        return;
    }
    if (!array->begun) {
        return;
    }
    if (!array->whole) {
        say_part(core, array, &array->part);
    }
    tell_ended(core, array);
    say_taking(core, array);
    if (array->task->chair != core->rank &&
        (array->left.count > 0 || array->task->own == CORE_OWN_WAIT)) {
        say(core, array, array->task->chair, ELEMENTS_OWNED, &array->left);
    }
}

void elements_enter_view(struct core *core, struct rankset *told)
{
    struct array_record *const end = &core->elements.known;
    keeper_watch_none(core);
    core->elements.any_spare = core->elements.any_gone = false;
    for (struct array_record *array = end->next, *next; array != end && !core->broken;
         array = next) {
        next = array->next;
        core->elements.any_gone |= !homes_are_here(core, array);
        enter_view(core, array);
        if ((array->begun || is_over(array->task) || array->task->seen) &&
            array->task->chair != core->rank) {
            core->broken |= !rankset_add(told, array->task->chair);
        }
    }
    adopt_begin_elements(core);
}

void elements_owned(struct core *core, struct task_record *task)
{
    struct array_record *array = task_ext(task)->array;
    if (array != NULL && array->begun && task->own == CORE_OWN_WAIT &&
        array_is_open(task) && task->chair != core->rank) {
        say(core, array, task->chair, ELEMENTS_OWNED, &array->left);
    }
}

/* --- What must be true ------------------------------------------------------------ */

static void hold_within(const struct range_set *part, const struct range_set *whole)
{
    const struct range *ranges = range_set_items(part);
    for (uint32_t i = 0; i < part->count; i++) {
        assert(range_set_covers(whole, ranges[i]));
    }
}

static void hold_record(const struct core *core, const struct array_record *array)
{
    assert(task_ext(array->task)->array == array);
    assert(hash_has(&array->task->hash, MOOT_HASH_ARRAY));
    assert(array->begun == array->task->held);
    assert(array->begun || array->mine.count == 0);
    assert(array->begun || (!array->whole && array->part.count == 0));
    if (array->begun && !array->whole && !MUTANT(PARTWHOLE)) {
        hold_within(&array->mine, &array->part);
    }
    assert(array->spread.homes == rankset_count(array_home_ranks(core, array)));
    assert(!array->bound || !rankset_empty(&array->homes));
    hold_within(&array->left, &array->mine);
    hold_within(&array->told, &array->mine);
    for (uint32_t i = 0; i < array->told.count; i++) {
        assert(!range_set_meets(&array->left, range_set_items(&array->told)[i]) ||
               MUTANT(ARRAYEARLY));
    }
    assert(array->failure.index_plus_one <= array->spread.count);
    assert((array->failure.index_plus_one == 0) == (array->failure.status == MOOT_OK));
    assert(array->left.count == 0 || array->begun);
}

/* Returns how many elements run here. */
static uint64_t hold_list(const struct core *core, const struct array_record *list)
{
    const bool watched = list == &core->elements.watched;
    bool due = watched;
    uint64_t running = 0;
    for (const struct array_record *array = list->next; array != list;
         array = array->next) {
        hold_record(core, array);
        assert(watched || !keeper_is_needed(core, array));
        assert(due || !array->due);
        due = array->due;
        running += range_set_size(&array->left);
    }
    return running;
}

void elements_hold(const struct core *core)
{
    assert(hold_list(core, &core->elements.known) +
               hold_list(core, &core->elements.watched) ==
           core->elements.running);
    assert(core->elements.waiting <= core->elements.running);
}
