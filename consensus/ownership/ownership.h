/* ownership.h - the room that decides who runs a task, and what follows from that for
 * its results (PROTOCOL.md, T1 to T10).
 *
 * A task comes in by register.c; what is needed asks by ask.c; a chair claims, yields
 * and decides (chair.c, with requests.c for who asked and once.c for voters); owners
 * hear of it by owning.c, of askers by notify.c, of cancels by cancel.c; graph.c counts
 * inputs and sends results, large ones down a tree (spread.c).
 *
 * Writes core->ownership and the records of tasks.  Called within a step, on its
 * thread; calls gossip/ and state/.
 */
#ifndef CONSENSUS_OWNERSHIP_OWNERSHIP_H
#define CONSENSUS_OWNERSHIP_OWNERSHIP_H

#include "consensus/state/state.h"

/* --- ownership.c ------------------------------------------------------------------ */

void ownership_begin(struct core *core);      /* of a core that is all zero */
void ownership_enter_view(struct core *core); /* nobody has asked for anything in it */
void ownership_forget_all(struct core *core); /* a reload begins */
void ownership_end(struct core *core);
/* Its tasks are about to be forgotten: nobody is to be sent their results. */
void graph_push_no_more(struct core *core, const struct scope_record *scope);

/* --- ownership_hold.c ------------------------------------------------------------- */

/* As state_hold() and its parts. */
void ownership_hold(const struct core *core);
void ownership_hold_fields(const struct core *core);
void ownership_hold_task(const struct core *core, const struct task_record *task);

/* --- register.c ------------------------------------------------------------------- */

int graph_register(struct core *core, const struct core_event *event);
/* Those that have been made: this rank holds their tasks now. */
int stub_register(struct core *core, void *const *stubs, size_t count);

/* --- graph.c ---------------------------------------------------------------------- */

void graph_own(struct core *core, struct task_record *task, enum evidence evidence);
int graph_done(struct core *core, struct task_record *task, int32_t status,
               uint64_t size);
/* A RESULT: whether it was turned away, is here already, or was kept.  What follows
 * from one that was kept, graph_result_taken() does. */
enum graph_taken { GRAPH_REFUSED, GRAPH_HAD, GRAPH_TAKEN };
enum graph_taken graph_on_result(struct core *core, uint32_t from,
                                 struct task_record *task,
                                 const struct message *message);
void graph_result_taken(struct core *core, struct task_record *task);
/* A running task waits for its children, or goes on. */
void graph_task_waits(struct core *core, bool waiting);
/* The waits for a task end with an error instead. */
void graph_verdict(struct core *core, struct task_record *task, int32_t code,
                   const moot_hash *chain, uint32_t chain_count);
/* Something is known now of what this rank has; NOBODY: of what several have. */
void graph_push_to_holders(struct core *core, uint32_t rank);
void graph_send_result(struct core *core, struct task_record *task, uint32_t to,
                       enum want want);
/* Once tasks that were ready while this rank held no lease (V3). */
void graph_start(struct core *core, struct task_record *task); /* if it can */
void graph_start_leased(struct core *core);
/* The host has not begun it: it waits again, for nothing. */
void graph_unstart(struct core *core, struct task_record *task);
void graph_disown(struct core *core, struct task_record *task); /* not started */
void graph_hand_over(struct core *core, struct task_record *task, uint32_t heir);
bool task_satisfied(const struct task_record *task);

/* --- array_end.c ------------------------------------------------------------------ */

/* All elements of the array have ended, as this rank has learnt now: its chair, or,
 * from that, its owner. */
void graph_elements_ended(struct core *core, struct task_record *task);
/* Its chair tells the owner, if that is another. */
void graph_pass_end_on(struct core *core, struct task_record *task);

/* --- owning.c --------------------------------------------------------------------- */

/* A DECISION: notes who waits.  True: owning_begin() is to make this rank the owner,
 * unless it declines, and to answer. */
bool owning_on_decision(struct core *core, uint32_t from, struct task_record *task,
                        const struct message_decision *decision);
void owning_begin(struct core *core, struct task_record *task, enum evidence evidence);

/* --- await.c ---------------------------------------------------------------------- */

int await_begin(struct core *core, const struct core_event *event);
int await_end(struct core *core, const struct core_event *event);
void await_on_ended(struct core *core, uint32_t from,
                    const struct message_ended *ended);
void await_look_again(struct core *core); /* somebody has closed */
void await_turn(struct core *core);
uint64_t await_deadline(const struct core *core);
/* No host is yet to ask for what words have not told. */
bool await_none_held_back(const struct core *core);

/* --- spread.c --------------------------------------------------------------------- */

void spread_on_pull(struct core *core, uint32_t from, struct task_record *task);
void spread_enter_view(struct task_record *task); /* nobody was answered in it */

/* --- demand.c --------------------------------------------------------------------- */

/* This rank owns the task: hands its bound down to what it waits for. */
void demand_inputs(struct core *core, struct task_record *task);

/* --- ask.c ------------------------------------------------------------------------ */

/* The task is about to be forgotten: nothing is needed of it here. */
void ask_forget(struct core *core, struct task_record *task);

int ask_need(struct core *core, const struct core_event *event);
int ask_unneed(struct core *core, const struct core_event *event);
/* Counts an open need, on which AGENDA_ASK then acts. */
void ask_add_need(struct core *core, struct task_record *task, enum want want);
void ask_drop_need(struct core *core, struct task_record *task, enum want want);
/* Asks if something is wanted that is not there: at once, later, or not again. */
void ask_consider(struct core *core, struct task_record *task);
void ask_send_motion(struct core *core, struct task_record *task, uint32_t to);
bool ask_never_will_hold(const struct core *core, const struct task_record *task);
void ask_on_seek(struct core *core, uint32_t from, struct task_record *task);
void ask_on_refer(struct core *core, struct task_record *task,
                  const struct message_refer *refer);
void ask_answer_seeks(struct core *core, struct task_record *task);
void ask_answer_all_seeks(struct core *core); /* on CLOSED */
void ask_sweep(struct core *core);            /* T1a */
/* Closed, has said so, and has told every closed peer what that does not hold. */
bool ask_swept(const struct core *core);
/* The census says that the chair lacks it: tells it, unless it has been told. */
void ask_tell(struct core *core, struct task_record *task);

/* --- ask_queue.c ------------------------------------------------------------------ */

void ask_queue_owe(struct core *core,
                   struct task_record *task); /* T1: at the next turn */
void ask_queue_forget(struct task_record *task);
/* A rank that is busy asks for a portable array that is waited for after so long. */
uint64_t ask_portable_delay_ns(const struct core *core);
bool ask_queue_none(const struct core *core); /* no motion is held back */
void ask_queue_idle(struct core *core);       /* this rank has just come to be idle */
void ask_queue_look_again(struct core *core); /* a delay may have become shorter */
void ask_queue_flush(struct core *core);
uint64_t ask_queue_deadline(const struct core *core);

/* --- requests.c ------------------------------------------------------------------- */

struct requests *requests_of(struct core *core, struct task_record *task);
/* The list of asked tasks without an owner: core->ownership.undecided. */
void undecided_add(struct core *core,
                   struct task_record *task); /* or its bound is another */
void undecided_remove(struct core *core, struct task_record *task);

/* --- notify.c --------------------------------------------------------------------- */

void notify_decide_again(struct core *core,
                         struct task_record *task); /* in a new view */

/* --- crash.c ---------------------------------------------------------------------- */

/* That rank died of its own fault in the task's kernel, or may have. */
int crash_on_event(struct core *core, const struct core_event *event);
void crash_note(struct core *core, struct task_record *task, uint32_t rank);
/* One may have: it is to run alone. */
void crash_suspect(struct task_record *task);
/* As many have as end a task. */
bool crash_is_deadly(const struct core *core, const struct task_record *task);
/* Likewise, and it does: an array ends when its elements have (elements/keeper.c). */
bool crash_ends(const struct core *core, const struct task_record *task);

/* --- cancel.c --------------------------------------------------------------------- */

/* This rank's program cancels it. */
void cancel_begin(struct core *core, struct task_record *task);
void cancel_on_cancel(struct core *core, uint32_t from, struct task_record *task,
                      const struct message_cancel *cancel);
/* Tells who decides, unless it has been told: the chair is another now, or a chair has
 * found out who the owner is. */
void cancel_pass_on(struct core *core, struct task_record *task);
void cancel_enter_view(struct core *core, struct task_record *task);
void cancel_send(struct core *core, uint32_t to, struct task_record *task);
/* The task's chair is known to want it to end cancelled. */
bool cancel_is_agreed(const struct core *core, const struct task_record *task);

/* --- chair.c ---------------------------------------------------------------------- */

void chair_on_motion(struct core *core, uint32_t from, struct task_record *task,
                     const struct message_motion *motion);
void chair_on_ack(struct core *core, uint32_t from, struct task_record *task);
void chair_claim(struct core *core, struct task_record *task); /* T2, if it may */
void chair_retest(struct core *core, struct task_record *task);
void chair_retest_all(struct core *core);    /* by the agenda */
void chair_retest_passed(struct core *core); /* the lanes have blocked */
/* Why the task has no owner, if this rank is to say; adds to `awaited` who is waited
 * for. */
enum core_lack chair_lack(const struct core *core, const struct task_record *task,
                          struct rankset *awaited);
/* The candidates of a once task, to a rank that is about to hear of its owner and may
 * not know them (I32). */
void chair_tell_ahead(struct core *core, struct task_record *task, uint32_t to);
uint64_t chair_deadline(const struct core *core);
void chair_retest_due(struct core *core); /* whose vote timeout has passed */
void chair_yield_all(struct core *core);  /* all is quiet: with the turns that follow */
void chair_yield_some(struct core *core); /* a turn's share of that */

/* --- verdict.c -------------------------------------------------------------------- */

/* The task, which this rank chairs and for which no owner is decided, ends with `code`
 * (T9): for all and for good.  Its record says so, whoever asks is told. */
void verdict_decide(struct core *core, struct task_record *task, int32_t code);
/* All is quiet and nobody is known to hold it: it ends NOT_HELD, at once if this rank
 * is its chair; if it is its finder, when all members have said that they hold it back.
 */
void verdict_unheld(struct core *core, struct task_record *task);
/* Keeps it, unless this rank knows better: it has the result, or runs it. */
void verdict_learn(struct core *core, struct task_record *task,
                   const struct task_end *ends);
void verdict_on_verdict(struct core *core, uint32_t from, struct task_record *task,
                        const struct message_verdict *verdict);
/* The end as it is known here, for a report; and what one says. */
/* With what a task ends of which enough ranks have died: who saw it end well before is
 * not contradicted. */
int32_t verdict_of_crashes(const struct task_record *task);
/* An end that this rank decides on now, and counts. */
struct task_end verdict_end(struct core *core, int32_t code);
struct message_entry verdict_entry(const struct core *core,
                                   const struct task_record *task);
struct task_end verdict_from_entry(const struct core *core,
                                   const struct message_entry *entry);

/* --- once.c ----------------------------------------------------------------------- */

/* A record of an older view, to the voters of this one (*Entering*): one more of
 * core->ownership.reaccepting, until a majority has accepted it, */
void once_reaccept(struct core *core, struct task_record *task);
/* or it is about to be forgotten. */
void once_forget(struct core *core, struct task_record *task);
/* True: this rank has accepted, as a voter. */
bool once_on_accept(struct core *core, uint32_t from, struct task_record *task,
                    const struct message_accept *accept);

/* --- leaving.c -------------------------------------------------------------------- */

/* A member that stays, and may, is known to hold the task. */
bool leave_another_may_run(const struct core *core, const struct task_record *task);

#endif
