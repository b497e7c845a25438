/* ownership_private.h - what the files of this room offer each other. */
#ifndef CONSENSUS_OWNERSHIP_OWNERSHIP_PRIVATE_H
#define CONSENSUS_OWNERSHIP_OWNERSHIP_PRIVATE_H

#include "consensus/ownership/ownership.h"

/* Tasks of this rank that lanes waited for, and that not all members are known to hold:
 * so many stay, of at most so many. */
enum { WATCHED_MAX = 64, WATCHED_ROOM = 2 * WATCHED_MAX };

/* --- graph.c ---------------------------------------------------------------------- */

/* Pushes an own, done result to the rank that will run this consumer of it. */
void graph_push_for(struct core *core, const struct edge *edge);
void graph_answer(struct core *core, struct task_record *task);
/* Pushes how an own task ended to a rank that has perhaps not heard of it. */
void graph_push_end(struct core *core, struct task_record *task, uint32_t to);
/* The bytes of another's result, which are here, to who was referred to this rank. */
void graph_pass_on(struct core *core, struct task_record *task, uint32_t to);
void graph_lane_waits(struct core *core, struct task_record *task);
/* Something about a result became known here: wake waits and consumers.  True if all
 * consumers have waited here for it, and wait no more. */
bool graph_spread(struct core *core, struct task_record *task);
void graph_cancel_own(struct core *core, struct task_record *task, uint32_t by);
/* An array is cancelled: its end waits for nothing more. */
void graph_end_cancelled(struct core *core, struct task_record *task);

/* --- await.c ---------------------------------------------------------------------- */

void await_enter_view(struct core *core);
/* A word has told the end of this task, which is wanted: it is here now, bare. */
bool await_tells(struct core *core, struct task_record *task);
/* A word has told that rank the end of this own task. */
bool await_has_told(const struct core *core, const struct task_record *task,
                    uint32_t rank);
void await_release(struct core *core);

/* --- spread.c --------------------------------------------------------------------- */

/* Whom a rank is to have the bytes of a result from: this rank, or, if this is its
 * owner, another, to which it is to be referred. */
uint32_t spread_place(struct core *core, struct task_record *task, uint32_t to);
/* A RESULT is taken, and may name whom to have the bytes from; */
void spread_note_source(struct core *core, uint32_t from, struct task_record *task,
                        const struct message *message);
/* what follows for those who wait here; */
void spread_result_taken(struct core *core, struct task_record *task);
/* one that says nothing new may be the answer to a PULL; */
void spread_on_referral(struct core *core, uint32_t from, struct task_record *task,
                        const struct message *message);
/* so is one that says that the bytes are away. */
void spread_on_away(struct core *core, uint32_t from, struct task_record *task);
/* Whom this rank asks for the bytes; NOBODY: the task's owner is no member any more. */
uint32_t spread_source(const struct core *core, const struct task_record *task);
/* Own bytes that are to go to another rank go in so many parts; 0: whole. */
uint32_t spread_parts(const struct core *core, const struct task_record *task);
/* A RESULT brings a part, and another comes behind it. */
static inline bool spread_is_more(const struct message_result *result)
{
    return result->data == RESULT_BULK && result->part < result->parts;
}
/* If it brings a part, then the one behind those that are here; */
bool spread_is_next(const struct task_record *task,
                    const struct message_result *result);
/* which is kept, and passed on to those that wait for it here. */
void spread_keep_part(struct core *core, struct task_record *task,
                      const struct message_result *result);
/* Nothing is needed of it here any more. */
void spread_given_up(struct core *core, struct task_record *task);

/* --- demand.c --------------------------------------------------------------------- */

/* Someone waits at `need`, here or (remote) elsewhere: the agenda passes it on to the
 * inputs of what this rank owns; else it is asked for. */
void demand_pass_on(struct core *core, struct task_record *task, uint64_t need,
                    bool remote);
/* By when an owned task needs this input: the lesser of its bound and what it takes. */
static inline uint64_t demand_of_input(const struct task_record *from,
                                       const struct task_record *to)
{
    return from->position < to->need ? from->position : to->need;
}

/* --- ask.c ------------------------------------------------------------------------ */

/* Of motions, and of yields because all is quiet, a turn says so many: they are on
 * their way, and are answered, while the next says more. */
enum { SAYS_PER_TURN = 128 };
/* A wait, or a task, of this number needs it, too; called before the need is counted.
 */
void ask_note_wait(struct core *core, struct task_record *task, uint64_t wait);
/* Something that is not there is needed here. */
bool ask_wants(const struct task_record *task);
void ask_answer_seek(struct core *core, struct task_record *task, uint32_t seeker);

/* --- ask_queue.c ------------------------------------------------------------------ */

/* A motion for it, once no push can be expected any more; again if its needs grew. */
void ask_queue_add(struct core *core, struct task_record *task);
/* That rank's word may be about some of them. */
void ask_queue_on_ended(struct core *core, uint32_t from,
                        const struct message_ended *ended);

/* --- requests.c ------------------------------------------------------------------- */

struct asker *requests_asker(struct core *core, struct requests *requests,
                             uint32_t rank);
/* A motion: who asks, and why. */
/* That rank waits no more for what it does not hold. */
void requests_take_back(struct core *core, struct task_record *task, uint32_t from);
void requests_note(struct core *core, struct task_record *task, uint32_t from,
                   const struct message_motion *motion);
/* The demand bound: the shortest roll among those who wait (T3, `need`). */
uint64_t requests_bound(const struct requests *requests);
/* Those whose bound a roll of this length has passed, and until they are added again
 * they do not come again.  Lives until the next step. */
struct task_record **undecided_passed(struct core *core, uint64_t len, uint32_t *count);

/* --- notify.c --------------------------------------------------------------------- */

/* Tells the owner of new askers; and, if `fresh`, that it is the owner. */
void notify_askers(struct core *core, struct task_record *task, bool fresh);

/* --- cancel.c --------------------------------------------------------------------- */

/* Its chair wants it to end cancelled: whoever owns it next is to be told. */
/* From the chair, to the owner. */
void cancel_on_decision(struct core *core, struct task_record *task,
                        const struct message_decision *decision);

/* --- verdict.c -------------------------------------------------------------------- */

/* True of a task that ends for good: its record is written, if this rank is its chair.
 * False: it may be run. */
bool verdict_forbids(struct core *core, struct task_record *task);
/* Enough ranks have died of it, so its chair, this rank, ends it; false if not. */
bool verdict_crashes(struct core *core, struct task_record *task);
/* A finder has asked whether it ends unheld: until that is known nobody decides. */
bool verdict_holds_back(const struct task_record *task);
/* This rank, a finder, has asked, and has heard of a holder: it goes on. */
void verdict_void(struct core *core, struct task_record *task);
/* All that have asked, this rank too, is told how the task ends. */
void verdict_serve(struct core *core, struct task_record *task);
/* Likewise this; who asks again is told again. */
void verdict_tell_askers(struct core *core, struct task_record *task,
                         const struct message_verdict *said);
/* The wait here for a task that ends for good is over at once. */
void verdict_end_wait(struct core *core, struct task_record *task);
/* NOT_HELD, the direct way: every member has said that it never will hold it. */
void verdict_if_nobody_will(struct core *core, struct task_record *task);

/* --- once.c ----------------------------------------------------------------------- */

/* Adds the voters that have not accepted yet. */
void once_awaited(const struct core *core, const struct task_record *task,
                  struct rankset *out);
/* True, of this and of an ACK: a majority of the voters has accepted the owner. */
bool once_propose(struct core *core, struct task_record *task, uint32_t winner,
                  enum evidence evidence);
bool once_on_ack(struct core *core, uint32_t from, struct task_record *task);

/* --- leaving.c -------------------------------------------------------------------- */

/* Another that does not leave can run it, so a leaving chair does not claim it. */
bool leave_forbids_claim(const struct core *core, const struct task_record *task);

#endif
