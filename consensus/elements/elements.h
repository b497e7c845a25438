/* elements.h - task arrays: whose elements are whose, and when all of them have ended.
 *
 * PROTOCOL.md, "Arrays".  An array is one task to the rooms below: it stands on the
 * roll, is waited for and forgotten as such, and somebody ends it.  This room gives the
 * elements of this rank to the host, and brings the word that they have ended to the
 * array's chair.  When that has heard of all of them the array may end
 * (ownership/array_end.c).  Nothing here is done for a single element but what the host
 * says of it.
 *
 *   elements.c    spawns, ends, and the words about them
 *   home.c        a home that has not spawned the array, or some of it, gives that up
 *   parts.c       who has spawned which elements, and those that nobody has
 *   keeper.c      the chair has somebody run what no home does
 *   adopt.c       a portable array is run also by who has not spawned it
 *   cancel_all.c  the chair has all begin none of them any more
 *   array_look.c  what reports say of them
 *
 * This room writes core_elements and the array_records.
 */
#ifndef CONSENSUS_ELEMENTS_ELEMENTS_H
#define CONSENSUS_ELEMENTS_ELEMENTS_H

#include "consensus/core.h"

struct core;
struct task_record;

bool elements_begin(struct core *core, uint32_t first_size); /* false without memory */
void elements_end(struct core *core);

/* A5, A6: the program spawns an array. */
int elements_register(struct core *core, const struct core_event *event);
/* A14: this rank's program cancels the array. */
void elements_cancel_begin(struct core *core, struct task_record *task);
/* This rank may have heard of a cancel, or may now do what one asks for: its end, its
 * elements, or its card are here now. */
void elements_cancel(struct core *core, struct task_record *task);
/* The host says that elements have ended. */
int elements_ended(struct core *core, const struct core_event *event);
/* The host says how many of those that it has wait for tasks. */
int elements_wait(struct core *core, const struct core_event *event);
/* An element runs, or may begin to. */
bool elements_run(const struct core *core);
/* No task runs here, nor an element, but such as wait. */
bool elements_let_rest(const struct core *core);
void elements_on_elements(struct core *core, uint32_t from, struct task_record *task,
                          const struct message_elements *elements);
/* This rank is to end an array that another chairs, who may not have spawned it. */
void elements_owned(struct core *core, struct task_record *task);
/* Nothing moves any more, and the end of an array is waited for.  True: there is
 * something that its chair, this rank, can do about it. */
bool elements_quiet(struct core *core, struct task_record *task);
/* There is so of an array whose end is waited for; and all of those. */
bool elements_undecided(const struct core *core, moot_hash *which);
void elements_yield_all(struct core *core);
/* The least of the arrays of this rank's whose end is waited for, and of which elements
 * can be given to nobody: no member has spawned them, and no home is to be asked.
 * False: there is none. */
bool elements_unheld(const struct core *core, moot_hash *which);
/* Those of that array end NOT_HELD, if it still is one. */
void elements_fail_unheld(struct core *core, const moot_hash *which);
/* A message with a spec is about an array that this rank does not hold: whether it may
 * adopt it, as the array's chair or as a home that is asked for its stretch.  NULL:
 * nothing is known of it. */
bool elements_would_adopt(const struct core *core, uint32_t from,
                          const struct task_record *task,
                          const struct message *message);
/* This rank has come to rest, or knows more of who holds or wants what. */
void elements_stir(struct core *core);
void elements_turn(struct core *core);
uint64_t elements_deadline(const struct core *core);
/* A12: who has which elements is told to the arrays' chairs of this view, which are
 * added to `told`. */
void elements_enter_view(struct core *core, struct rankset *told);
/* A reload begins: what runs here is of no array any more. */
void elements_forget_all(struct core *core);

void elements_hold(const struct core *core);

#endif
