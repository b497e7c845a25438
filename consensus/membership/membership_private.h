/* membership_private.h - what the files of this room offer each other. */
#ifndef CONSENSUS_MEMBERSHIP_MEMBERSHIP_PRIVATE_H
#define CONSENSUS_MEMBERSHIP_MEMBERSHIP_PRIVATE_H

#include "consensus/membership/membership.h"

/* --- view_data.c ------------------------------------------------------------------ */

void view_release(struct view *view);
bool view_add_past(struct view *view, uint64_t epoch, const struct rankset *members);
bool view_add_newcomer(struct view *view, struct message_newcomer newcomer);
/* Those whom this rank knows: who learns a view may have missed the one that let them
 * in. */
bool view_add_former_newcomers(const struct core *core, struct view *view);
/* In a joinable moot, what a newcomer is to know of those who are gone. */
bool view_add_losses(const struct core *core, struct view *view);
/* Every rank in it is one that this rank knows, or a newcomer that it names. */
bool view_is_known(const struct core *core, const struct message_view *message);
/* Lives until the next step; NULL only if the core broke. */
const struct message_view *view_to_message(struct core *core, const struct view *view);
bool view_from_message(struct view *view, const struct message_view *message);
bool view_take_past(struct core *core, const struct view *view);
void view_forget_past(struct core *core);

/* --- committee.c ------------------------------------------------------------------ */

/* A view of so many members is large. */
bool committee_is_due(const struct core *core, uint32_t member_count);
/* The committee of a view with these members.  False without memory. */
bool committee_of(const struct core *core, const struct rankset *members,
                  struct rankset *out);

/* --- view_barrier.c --------------------------------------------------------------- */

/* On entering a large view: spreads it below this rank's place in the tree. */
void barrier_enter(struct core *core);
/* This rank's reports are under way to so many chairs; then, that one came. */
void barrier_reports_sent(struct core *core, uint32_t chairs);
void barrier_take_report(struct core *core, uint32_t from);
void barrier_settled(struct core *core);

/* --- failure_detector.c ----------------------------------------------------------- */

uint64_t detector_may_remove_ns(const struct core *core, uint32_t rank, bool adopted);
void detector_vouch(struct core *core, uint32_t rank);

/* --- view_paxos.c ----------------------------------------------------------------- */

bool view_withholds(const struct core *core, uint32_t rank);
bool view_is_quorum(const struct core *core, const struct rankset *set);
bool view_is_last(const struct core *core); /* none may follow until it is settled */

/* --- boundary.c (V4) ----------------------------------------------------------------
 */

/* The value names somebody whom no view has named yet. */
bool boundary_lets_in(const struct core *core, const struct view *view);
/* The value is decided when all have accepted it that are not certified dead. */
bool boundary_takes_all(const struct core *core, const struct view *view);
/* Somebody waits to be let in, and this rank may propose so. */
bool boundary_may_propose(const struct core *core);
/* This rank may accept what its proposer was free to choose. */
bool boundary_may_vote(const struct core *core, const struct view *view);
/* The value that this proposer has found cannot have been decided, and need not be. */
bool boundary_is_void(const struct core *core);
/* The value may have been decided, so that it takes all; some have yet to promise who
 * may. */
bool boundary_awaits_more(const struct core *core);
/* The lowest member is told who waits, from the `from`th on. */
void boundary_pass_on(struct core *core, uint32_t from);

/* --- view_sync.c ------------------------------------------------------------------ */

void view_enter(struct core *core, const struct view *view);
/* The present view as a message; NULL only if the core broke. */
const struct message_view *view_present(struct core *core);

/* --- leave.c ---------------------------------------------------------------------- */

void leave_enter_view(struct core *core);
bool leave_is_deserted(const struct core *core);
void leave_done(struct core *core);
void leave_say(struct core *core, uint32_t to, enum leave_what what,
               struct task_record *task);
void leave_note_going(struct core *core, uint32_t from);

/* --- handover.c ------------------------------------------------------------------- */

/* To those who stay, of whom there are some; each once. */
void handover_give_results(struct core *core, const struct rankset *staying);
void handover_give_known(struct core *core, const struct rankset *staying);

/* --- view_change.c ---------------------------------------------------------------- */

bool view_change_take_newcomers(struct core *core, const struct view *view);
void view_change_enter(struct core *core, const struct view *view);

/* --- losses.c --------------------------------------------------------------------- */

void losses_note(struct core *core);
/* A newcomer's first view tells it of those before its time. */
void losses_take(struct core *core, const struct view *view);
void losses_release(struct core *core);
void losses_forget(struct core *core); /* those of before a reload hide nothing */

/* --- reload.c --------------------------------------------------------------------- */

/* Entering this view begins a reload: nothing is known any more of any task. */
bool reload_begins(const struct core *core, const struct view *view);
void reload_begin(struct core *core, const struct view *view);
/* Whether this rank proposes the view of a reload without waiting for its turn. */
bool reload_hurries(const struct core *core);

/* --- recovery.c ------------------------------------------------------------------- */

void recovery_note(struct core *core, uint32_t from, const struct message_entry *entry);
void recovery_reported(struct core *core, uint32_t from);
void recovery_decide(struct core *core); /* all have reported */
void recovery_take_up(struct core *core);
bool recovery_all_settled(const struct core *core);

#endif
