/* elements_private.h - what the files of this room offer each other. */
#ifndef CONSENSUS_ELEMENTS_ELEMENTS_PRIVATE_H
#define CONSENSUS_ELEMENTS_ELEMENTS_PRIVATE_H

#include "consensus/elements/elements.h"
#include "consensus/state/state.h"

/* A set for changes, of which the core is broken if there is no memory. */
static inline void add_set(struct core *core, struct range_set *to,
                           const struct range_set *what)
{
    core->broken |= !range_set_merge(to, what);
}
static inline void take_set(struct core *core, struct range_set *from,
                            const struct range_set *what)
{
    core->broken |= !range_set_subtract(from, what);
}
static inline void copy_set(struct core *core, struct range_set *to,
                            const struct range_set *from)
{
    core->broken |= !range_set_copy(to, from);
}

/* The stretch of a home (A3), by its number among the homes. */
static inline struct range stretch_of(const struct array_record *array, uint32_t home)
{
    return (struct range){array_home_first(&array->spread, home),
                          array_home_first(&array->spread, home + 1)};
}

/* A running task has spawned it, and so nobody else does but who runs that again. */
static inline bool is_nested_array(const struct array_record *array)
{
    return hash_has(&array->task->hash, MOOT_HASH_NESTED);
}

/* Adds this rank's own one.  False: it is no home of the array. */
static inline bool own_stretch(struct core *core, const struct array_record *array,
                               struct range_set *out)
{
    const struct rankset *homes = array_home_ranks(core, array);
    const bool is_home = rankset_has(homes, core->rank);
    core->broken |=
        is_home &&
        !range_set_add(out, stretch_of(array, rankset_below(homes, core->rank)));
    return is_home;
}

/* All of its homes are members. */
static inline bool homes_are_here(const struct core *core,
                                  const struct array_record *array)
{
    return rankset_count_both(array_home_ranks(core, array), &core->members) ==
           array->spread.homes;
}

/* The end of the array is known here: none of its elements has to run any more. */
static inline bool is_over(const struct task_record *task)
{
    return task->have != CORE_HAVE_NOTHING;
}

/* --- elements.c ------------------------------------------------------------------- */

/* Says something of a set to another rank, in as many messages as that takes; they are
 * filled in but for what and the ranges. */
void say(struct core *core, struct array_record *array, uint32_t to,
         enum elements_what what, const struct range_set *set);
/* These are this rank's to run. */
void own_elements(struct core *core, struct array_record *array,
                  struct range_set *fresh);

/* Likewise, as the chair says.  What it has not spawned goes back: the chair thought
 * that it had spawned all. */
void own_given(struct core *core, struct array_record *array, struct range_set *set);

/* Tells the chair that this rank has spawned the array, and with that its card. */
void say_holding(struct core *core, struct array_record *array);
/* Likewise, ahead of a cancel: nobody is to adopt it. */
void say_card(struct core *core, struct array_record *array);
/* Some have ended, wherever. */
void hear_ended(struct core *core, struct array_record *array,
                const struct range_set *set, const struct array_failure *failure);

/* --- keeper.c --------------------------------------------------------------------- */

/* Looks at the array in this turn. */
void keeper_watch(struct core *core, struct array_record *array);
/* No array is watched any more. */
void keeper_watch_none(struct core *core);
/* There is something to do about the array, now or when something changes. */
bool keeper_is_needed(const struct core *core, const struct array_record *array);
/* Somebody holds the array, and has such elements. */
void keeper_hear_owned(struct core *core, struct array_record *array, uint32_t from,
                       const struct range_set *set);
/* They go back to the chair: this rank has not spawned them. */
void keeper_hear_back(struct core *core, struct array_record *array, uint32_t from,
                      const struct range_set *set);
/* A home runs none of these. */
void keeper_hear_left(struct core *core, struct array_record *array,
                      const struct range_set *set);

/* The array is cancelled: every home is to run its stretch, or give it up, and what is
 * nobody's has ended. */
void keeper_cancel(struct core *core, struct array_record *array);

/* Elements that are nobody's, and have not ended.  False without memory. */
bool keeper_find_orphans(const struct core *core, const struct array_record *array,
                         struct range_set *out);
/* The rank is known to hold some of it. */
bool keeper_knows_holder(const struct core *core, const struct array_record *array,
                         uint32_t rank);
/* Somebody waits for the end, and a home may yet be told that all is quiet. */
bool keeper_may_ask(const struct core *core, const struct array_record *array);
/* Somebody is known here to wait for its end. */
bool keeper_is_waited_for(const struct core *core, const struct task_record *task);
/* They are a rank's from now on. */
void keeper_give(struct core *core, struct array_record *array, uint32_t to,
                 struct range_set *set);

/* --- adopt.c ---------------------------------------------------------------------- */

/* The spec that goes along with such a word; or NULL. */
const struct message_spec *adopt_spec_for(const struct core *core,
                                          const struct array_record *array, uint32_t to,
                                          enum elements_what what);
/* Elements begin to run here. */
void adopt_begin_elements(struct core *core);
/* Whether arrays are to be looked at now although this rank is busy. */
bool adopt_looks(struct core *core);
/* The array's chair, which looks at it, asks the homes now although it is busy. */
bool adopt_is_due(struct core *core, struct array_record *array, bool wanted);

/* --- parts.c ---------------------------------------------------------------------- */

/* The places that the program spawns of an array with this event, and had not spawned
 * before: places of it.  LIMIT: its part would be in too many pieces; NO_MEMORY. */
int parts_find_fresh(const struct array_record *array, const struct core_register *reg,
                     struct range_set *fresh);
/* A rank that has spawned some has spawned these, too. */
void parts_hear(struct core *core, struct array_record *array, uint32_t from,
                const struct range_set *set);
/* The part that a rank which holds the array has spawned of it; NULL: all. */
const struct range_set *parts_of(const struct core *core,
                                 const struct array_record *array, uint32_t rank);
/* Nobody's elements that no member has spawned; none of an array that
 * nobody has: that is no more than a task that nobody holds.  False without memory. */
bool parts_find_unheld(const struct core *core, const struct array_record *array,
                       struct range_set *out);
/* A rank that holds the array has spawned all of a range. */
bool parts_cover(const struct core *core, const struct array_record *array,
                 uint32_t rank, struct range range);
/* The least index of those, by their places. */
uint64_t parts_first_index(const struct array_record *array,
                           const struct range_set *set);
/* Gives orphans to those who have spawned them, if there are such. */
void parts_deal(struct core *core, struct array_record *array,
                const struct range_set *orphans);
/* Nobody is known to have spawned some of it, and a member may yet be asked whether it
 * has; asks all of those. */
bool parts_may_ask(const struct core *core, const struct array_record *array);
void parts_ask(struct core *core, struct array_record *array);
/* A new view: somebody may have spawned what nobody had. */
void parts_forget_unheld(struct core *core, struct array_record *array);

/* --- home.c ----------------------------------------------------------------------- */

void home_wanted(struct core *core, struct array_record *array, uint64_t need,
                 bool quiet);
/* Gives its stretch up, if there is reason to. */
void home_consider(struct core *core, struct array_record *array);

#endif
