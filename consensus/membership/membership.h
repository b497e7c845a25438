/* membership.h - the room that says who belongs to the moot (PROTOCOL.md, sections 5
 * and 6).
 *
 * It watches the members and grants leases (failure_detector.c), agrees on the next
 * view (view_paxos.c, view_data.c, view_sync.c), enters it (view_change.c), decides the
 * keys that moved (recovery.c, losses.c), and lets ranks leave in good order
 * (leave.c, handover.c).  Where members are many a few of them decide (committee.c),
 * and counts go along the tree (view_barrier.c).
 *
 * Writes core->membership and the plain fields of the view: core->epoch, ->view_id,
 * ->members, and a newcomer's ->rank.  Called within a step, on its thread; calls all
 * rooms below.
 */
#ifndef CONSENSUS_MEMBERSHIP_MEMBERSHIP_H
#define CONSENSUS_MEMBERSHIP_MEMBERSHIP_H

#include "consensus/state/state.h"

/* --- membership.c ----------------------------------------------------------------- */

/* Members and size are set, and so many ranks were in the first view.  False: no
 * memory. */
bool membership_begin(struct core *core, uint32_t first_size);
void membership_start(struct core *core); /* with the first step */
/* A message that was sent in another epoch is none of this one's counts. */
void membership_heard_old(struct core *core, enum message_type type);
void membership_end(struct core *core);

/* --- membership_hold.c ------------------------------------------------------------ */

/* As state_hold() and its parts. */
void membership_hold(const struct core *core);
void membership_hold_fields(const struct core *core);
void membership_hold_task(const struct core *core, const struct task_record *task);

/* --- view_data.c ------------------------------------------------------------------ */

void core_name_view(struct core *core); /* its id, from its members */

/* --- committee.c ------------------------------------------------------------------ */

bool committee_take(struct core *core); /* that of the present view */

/* --- view_barrier.c --------------------------------------------------------------- */

void barrier_on_tally(struct core *core, uint32_t from,
                      const struct message_tally *tally);

/* --- failure_detector.c ----------------------------------------------------------- */

bool detector_watches(const struct core *core); /* this rank listens to all members */
void detector_on_heartbeat(struct core *core, uint32_t from,
                           const struct message_heartbeat *heartbeat);
void detector_on_grant(struct core *core, uint32_t from,
                       const struct message_grant *grant);
/* Takes certificates over.  False without memory. */
bool detector_certify(struct core *core, const struct rankset *dead);
/* Whether the end of its process certifies that it never voted this rank out. */
bool detector_certifies(const struct core *core, uint32_t rank);
void detector_turn(struct core *core);
uint64_t detector_deadline(const struct core *core);

/* --- view_paxos.c ----------------------------------------------------------------- */

void view_on_prepare(struct core *core, uint32_t from,
                     const struct message_paxos *prepare);
void view_on_propose(struct core *core, uint32_t from,
                     const struct message_paxos *propose);
void view_on_answer(struct core *core, uint32_t from, enum message_type type,
                    const struct message_paxos *reply);
void view_turn(struct core *core);
uint64_t view_deadline(const struct core *core);

/* --- view_sync.c ------------------------------------------------------------------ */

void view_release_slot(struct core *core);
void view_on_view(struct core *core, const struct message_view *message);
void view_on_join(struct core *core, const struct message_join *join);
void view_tell(struct core *core, uint32_t to);
void view_fence(struct core *core, uint64_t epoch, bool refused);

/* --- leave.c ---------------------------------------------------------------------- */

int leave_begin(struct core *core);
/* The host of a leaver has not begun it: it goes to another, or starts. */
void leave_on_unstarted(struct core *core, struct task_record *task);
/* Looks whether this rank has drained, and hands over what it has. */
void leave_turn(struct core *core);
void leave_on_leave(struct core *core, uint32_t from, const struct message *message);
/* This rank has accepted an owner as a voter, or learnt of what another died: it is to
 * hand that over, too. */
void leave_on_accept(struct core *core);
/* The decision is for who would rather not, or has returned the task: true. */
bool leave_declines(struct core *core, uint32_t from, struct task_record *task,
                    enum evidence evidence);
void leave_if_deserted(struct core *core);
/* This rank goes, and the motion's spec is of an array, or of a task that another rank
 * can run, or it is ready. */
bool leave_forbids_adopting(const struct core *core, uint32_t from,
                            const struct message *message);

/* --- handover.c ------------------------------------------------------------------- */

void handover_on_handover(struct core *core, uint32_t from,
                          const struct message_report *handover);
/* A result came with the word that its sender leaves. */
void handover_on_result(struct core *core, uint32_t from, struct task_record *task);

/* --- view_change.c ---------------------------------------------------------------- */

/* Reports the chunks that were leaving when this view began, and stay. */
void view_change_report_stayed(struct core *core);

/* --- recovery.c ------------------------------------------------------------------- */

void recovery_on_report(struct core *core, uint32_t from,
                        const struct message_report *report);
void recovery_on_settled(struct core *core, uint32_t from);
/* Goes on in the view, once, if what has been decided has been accepted again. */
void recovery_go_on(struct core *core);

#endif
