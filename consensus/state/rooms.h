/* rooms.h - what the rooms of a core offer each other, file by file.
 *
 * Included by core_state.h, behind the state that all of them share.
 */
#ifndef CONSENSUS_STATE_ROOMS_H
#define CONSENSUS_STATE_ROOMS_H

#include "consensus/core.h"
#include "consensus/reclaim/reclaim_all.h"
#include "hashing/base/hot.h"

/* --- outputs.c ------------------------------------------------------------------- */

void *core_alloc(struct core *core, size_t size); /* zeroed; NULL marks core broken */
bool core_grow(struct core *core, void *array, uint32_t *room, uint32_t needed,
               size_t item_size); /* array: pointer to the array pointer */
void out_clear(struct outputs *out);
void *out_borrow(struct core *core, size_t size); /* lives until the next step */
struct core_output *out_add(struct core *core, enum core_output_type type,
                            const struct task *task);
void out_note_add(struct core *core, enum core_point point, const struct task *task,
                  uint32_t peer, enum evidence evidence);
void out_note_stub(struct core *core, enum core_point point, const moot_hash *hash);
/* If the host wants to hear of this point. */
static inline void out_note(struct core *core, enum core_point point,
                            const struct task *task, uint32_t peer,
                            enum evidence evidence)
{
    if ((core->options.notes & CORE_NOTE(point)) != 0) {
        out_note_add(core, point, task, peer, evidence);
    }
}
/* A message to fill in; NULL only if the core broke.  Never to oneself. */
struct message *out_send(struct core *core, uint32_t to, enum message_type type,
                         struct task *task);
/* Bump allocation: zeroed, aligned for any type, freed all at once. */
struct block {
    struct block *next;
    size_t used, size;
    max_align_t bytes[];
};
void *block_take(struct block **list, size_t size);
void block_free(struct block *list);

/* Zeroed; NULL marks the core broken.  Given back with the size it was taken with. */
void *memory_take(struct core *core, size_t size);
void *memory_take_raw(struct core *core, size_t size); /* not cleared */
void memory_give(struct core *core, void *memory, size_t size);

/* A copy of a set for a message; NULL only if the core broke. */
const struct rankset *out_copy_set(struct core *core, const struct rankset *set);

/* --- receive.c --------------------------------------------------------------- */

int receive_event(struct core *core, const struct core_event *event);
/* What came before this rank entered its epoch. */
void receive_held(struct core *core);

/* --- peers.c ------------------------------------------------------------------- */

bool peers_make_room(struct core *core, uint32_t size);
void peers_release(struct core *core);
/* Finds or makes.  Without memory the core is broken, and this is a record that does
 * not count. */
struct peer *peer_of(struct core *core, uint32_t rank);
/* What there is of a peer: nothing at all (all zero) if nothing was recorded. */
const struct peer *peer_seen(const struct core *core, uint32_t rank);
void peer_heard(struct core *core, uint32_t rank); /* now */
/* Makes one, in place of one that it supersedes; NULL without memory, or if there are
 * too many. */
struct announced *announced_enter(struct core *core, struct peer *peer,
                                  const struct message_roll *roll);
void announced_forget(struct peer *peer, uint32_t i); /* another stands there then */
/* Its tasks differ from ours for good: it is looked at no more; */
void announced_close(struct peer *peer, uint32_t i);
void announced_open(struct peer *peer); /* all are, once again */

/* --- disseminate.c ------------------------------------------------------------------
 */

bool disseminate_is_on(
    const struct core *core);              /* there are more than direct_max members */
void disseminate_enter(struct core *core); /* a view: takes this rank's place in it */
void disseminate_learn(struct core *core, struct lane *lane, struct chunk *chunk,
                       uint32_t from, uint32_t before);
void disseminate_learn_part(struct core *core, struct lane *lane, uint32_t from,
                            const struct announced *what);
/* Tells what there is of the last chunk. */
void disseminate_tell_part(struct core *core, struct lane *lane);
void disseminate_news(struct core *core);
void disseminate_turn(struct core *core);
uint64_t disseminate_deadline(const struct core *core);
bool disseminate_is_done(const struct core *core);
/* Some part says that the rank's lane equals ours at this position. */
bool disseminate_knows(const struct lane *lane, uint64_t position, uint32_t rank);
void disseminate_forget(struct lane *lane);

/* --- close_reduce.c ------------------------------------------------------------------
 */

/* Up to so many members compare their rolls with everyone's when they have closed;
 * above that they add them up along the tree. */
enum { SWEEPERS_MAX = 8 };
bool close_reduce_is_on(const struct core *core);
void close_reduce_turn(struct core *core); /* this rank has closed */
void close_reduce_on_census(struct core *core, uint32_t from,
                            const struct message_census *census);
void close_reduce_reset(struct core *core); /* another view, another tree */

/* --- step.c -------------------------------------------------------------------- */

bool core_make_room(struct core *core, uint32_t size); /* for ranks 0..size-1 */
void core_name_view(struct core *core);                /* its id, from its members */

/* --- committee.c ------------------------------------------------------------------ */

/* A view of so many members is large. */
bool committee_is_due(const struct core *core, uint32_t member_count);
/* Who decides about the view after one with these members.  False without memory. */
bool committee_of(const struct core *core, const struct rankset *members,
                  struct rankset *out);
bool committee_take(struct core *core); /* that of the present view */
bool committee_serves(const struct core *core);

/* --- view_barrier.c
 * ---------------------------------------------------------------------- */

/* On entering a large view: spreads it below this rank's place in the tree. */
void barrier_enter(struct core *core);
/* This rank's reports are under way to so many chairs; then, that one came. */
void barrier_reports_sent(struct core *core, uint32_t chairs);
void barrier_take_report(struct core *core, uint32_t from);
void barrier_settled(struct core *core);
void barrier_on_tally(struct core *core, uint32_t from,
                      const struct message_tally *tally);

/* --- failure_detector.c
 * ------------------------------------------------------------------ */

bool detector_is_on(const struct core *core);
bool detector_watches(const struct core *core); /* this rank listens to all members */
bool detector_is_quorate(const struct core *core); /* enough grants are fresh */
bool detector_lease(const struct core *core);   /* this rank holds one now (V2) */
uint64_t detector_may_remove_ns(const struct core *core, uint32_t rank, bool adopted);
bool view_withholds(const struct core *core, uint32_t rank);
void detector_on_heartbeat(struct core *core, uint32_t from,
                           const struct message_heartbeat *heartbeat);
void detector_on_grant(struct core *core, uint32_t from,
                       const struct message_grant *grant);
/* Takes certificates over.  False without memory. */
bool detector_certify(struct core *core, const struct rankset *dead);
void detector_vouch(struct core *core, uint32_t rank);
/* Whether the end of its process certifies that it never voted this rank out. */
bool detector_certifies(const struct core *core, uint32_t rank);
void detector_turn(struct core *core);
uint64_t detector_deadline(const struct core *core);

/* --- timers.c ------------------------------------------------------------------ */

struct peer;
uint64_t timers_ask_delay_ns(const struct core *core, uint32_t chair);
uint64_t timers_least_ask_ns(const struct core *core); /* of all chairs */
uint64_t timers_suspect_ns(const struct core *core, uint32_t rank);
void timers_round_trip(struct peer *peer, uint64_t trip_ns);
void timers_state(struct core *core, struct peer *peer); /* its STATE has come */
/* This rank, as the chair, has registered what it was asked for so long ago. */
void timers_late_claim(struct core *core, uint64_t late_ns);
void timers_heartbeat(struct core *core, struct peer *peer); /* has come from it */
void timers_own_heartbeat(struct core *core);                /* goes out now */
uint64_t timers_next_heartbeat_ns(struct core *core); /* and the next so much later */

/* --- view_data.c, view_paxos.c, view_sync.c
 * -------------------------------------------------------------------- */

void view_release(struct view *view);
bool view_add_past(struct view *view, uint64_t epoch, const struct rankset *members);
bool view_add_newcomer(struct view *view, struct message_newcomer newcomer);
/* Those whom this rank knows: who learns a view may have missed the one that let them
 * in. */
bool view_add_former_newcomers(const struct core *core, struct view *view);
/* Every rank in it is one that this rank knows, or a newcomer that it names. */
bool view_is_known(const struct core *core, const struct message_view *message);
/* Lives until the next step; NULL only if the core broke. */
const struct message_view *view_to_message(struct core *core, const struct view *view);
bool view_from_message(struct view *view, const struct message_view *message);
bool view_take_past(struct core *core, const struct view *view);
void view_forget_past(struct core *core);
void view_release_slot(struct core *core);
void view_on_prepare(struct core *core, uint32_t from,
                     const struct message_paxos *prepare);
void view_on_propose(struct core *core, uint32_t from,
                     const struct message_paxos *propose);
void view_on_answer(struct core *core, uint32_t from, enum message_type type,
                    const struct message_paxos *reply);
void view_on_view(struct core *core, const struct message_view *message);
void view_on_join(struct core *core, const struct message_join *join);
void view_enter(struct core *core, const struct view *view);
void view_tell(struct core *core, uint32_t to);
/* The present view as a message; NULL only if the core broke. */
const struct message_view *view_present(struct core *core);
void view_fence(struct core *core, uint64_t epoch, bool refused);
bool view_is_quorum(const struct core *core, const struct rankset *set);
void view_turn(struct core *core);
bool view_is_last(const struct core *core); /* none may follow until it is settled */
uint64_t view_deadline(const struct core *core);

/* --- leave.c --------------------------------------------------------------------- */

int leave_begin(struct core *core);
/* Looks whether this rank has drained, and hands over what it has. */
void leave_turn(struct core *core);
void leave_enter_view(struct core *core);
void leave_on_leave(struct core *core, uint32_t from, const struct message *message);
void leave_on_handover(struct core *core, uint32_t from,
                       const struct message_report *handover);
/* A result came with the word that its sender leaves. */
void leave_on_result(struct core *core, uint32_t from, struct task *task);
/* The decision is for who would rather not, or has returned the task: true. */
bool leave_declines(struct core *core, uint32_t from, struct task *task,
                    enum evidence evidence);
/* The task is about to be forgotten. */
void leave_forget(struct core *core, struct task *task);
/* Another that does not leave can run it, so a leaving chair does not claim it. */
bool leave_forbids_claim(const struct core *core, const struct task *task);
bool leave_is_deserted(const struct core *core);
void leave_if_deserted(struct core *core);
void leave_done(struct core *core);

/* --- view_change.c, recovery.c, presume.c
 * --------------------------------------------------------- */

bool view_change_moved(const struct core *core, const struct task *task);
bool view_change_take_newcomers(struct core *core, const struct view *view);
void view_change_enter(struct core *core, const struct view *view);
/* It stays after all: what was left out of the reports. */
void view_change_report_chunk(struct core *core, const struct lane *lane,
                              const struct chunk *chunk);
void view_change_reports_ready(
    struct core *core); /* sends them, if nothing is leaving */
void presume_note_losses(struct core *core, bool newcomer);
uint32_t presume_judge(const struct core *core, const struct task *task);
void presume_judge_once(const struct core *core, struct task *task);
static inline void presume_judge_late(const struct core *core, struct task *task)
{
    if (hash_has(&task->hash, MOOT_HASH_ONCE)) {
        presume_judge_once(core, task); /* of others it has nothing to say */
    }
}
void presume_release(struct core *core);
void recovery_note(struct core *core, uint32_t from, const struct message_entry *entry);
void recovery_on_report(struct core *core, uint32_t from,
                        const struct message_report *report);
void recovery_reported(struct core *core, uint32_t from);
void recovery_decide(struct core *core); /* all have reported */
void recovery_take_up(struct core *core);
void recovery_on_settled(struct core *core, uint32_t from);
bool recovery_all_settled(const struct core *core);
void recovery_reaccepted(struct core *core); /* one more of core->reaccepting */
void recovery_forget(struct core *core, struct task *task); /* its scope is over */

/* --- task_table.c
 * --------------------------------------------------------------------- */

struct task *table_find(const struct core *core, const moot_hash *hash);
/* A record or a stub. */
void *table_look(const struct core *core, const moot_hash *hash);
static inline struct task *table_at(const struct core *core, size_t slot)
{
    return stub_seen(core, core->slots[slot]);
}
/* Where a hash that is not in it is to be put, before anything else is.  False: it is
 * in it, or there is no memory, and the core is broken. */
bool table_finds_room(struct core *core, const moot_hash *hash, size_t *slot);
void table_put(struct core *core, size_t slot, const moot_hash *hash, void *known);
void table_replace(struct core *core, struct task *task); /* a stub of its hash */
void table_remove(struct core *core, const moot_hash *hash);
/* A record that is in no table yet, of a task that its chair is known of: it has room
 * for edges and the host's bytes.  `alone`: that chair is the only candidate. */
struct task *table_record(struct core *core, size_t input_count, size_t room_bytes,
                          uint32_t chair, bool alone);
/* Fetches where it is looked for, or will be put. */
static inline void table_expect(const struct core *core, const moot_hash *hash)
{
    size_t slot = (uint32_t)hash_word(hash) & (core->slot_count - 1);
    if (core->slot_count > 0) {
        fetch_ahead(&core->tags[slot], sizeof(*core->tags));
        fetch_ahead(&core->slots[slot], sizeof(*core->slots));
    }
}
/* Fetches the record, if there is one. */
void table_expect_record(const struct core *core, const moot_hash *hash);
/* Finds or makes; a new record has its chair.  NULL without memory. */
struct task *table_enter(struct core *core, const moot_hash *hash);
/* The same where the candidates are known (NULL: all, or unknown): a new record's chair
 * is then drawn from them, if one of them is a member.  It has room for so many edges,
 * and behind that for so many bytes of the host's, or none if that is much. */
struct task *table_enter_for(struct core *core, const moot_hash *hash,
                             const struct rankset *candidates, size_t input_count,
                             size_t room_bytes);
/* What takes it. */
static inline struct task *edge_to(const struct edge *edge)
{
    void *base = (char *)(uintptr_t)edge - edge->behind;
    return edge->apart ? *(struct task **)base : base;
}
/* For a task that has none: so many edges, which are linked nowhere yet and not counted
 * in input_count.  False without memory: the core is broken. */
bool table_add_inputs(struct core *core, struct task *task, size_t count);
void *record_room(const struct core *core, struct task *task, size_t *room_bytes);
/* Those of an event's task, by its entry if the host gave it. */
static inline struct task *event_find(const struct core *core,
                                      const struct core_event *event)
{
    return event->entry != NULL ? event->entry : table_find(core, &event->hash);
}
static inline struct task *event_enter(struct core *core,
                                       const struct core_event *event)
{
    return event->entry != NULL ? event->entry : table_enter(core, &event->hash);
}
/* What it has of these; of a task that has none, what each begins with. */
extern const struct task_ext task_ext_at_first;
static inline const struct task_ext *task_ext(const struct task *task)
{
    return task->task_ext != NULL ? task->task_ext : &task_ext_at_first;
}

/* Its inputs, input_count of them. */
static inline struct edge *task_inputs(const struct task *task)
{
    char *record = (char *)(uintptr_t)task;
    return task->inputs_at != 0
               ? (struct edge *)(void *)(record +
                                         (size_t)task->inputs_at * RECORD_PIECE_BYTES)
               : task_ext(task)->inputs;
}
/* To be written; made if there is none.  Without memory the core is broken, and this is
 * one that does not count. */
struct task_ext *task_ext_get(struct core *core, struct task *task);
/* What the host has of it: its pointer, or with a part of its own the record. */
static inline void *task_user(const struct core *core, const struct task *task)
{
    void *user = (char *)(uintptr_t)task + CORE_ENTRY_BYTES;
    return core->options.entry_bytes != 0 ? (void *)(uintptr_t)task : *(void **)user;
}
void task_set_user(const struct core *core, struct task *task, void *user);
/* Its memory is used again at once, unless the host has a part of it. */
void table_forget(struct core *core, struct task *task);
/* The host's part, too, is used no more. */
void table_give(struct core *core, struct task *task);
void table_release(struct core *core);
/* Learns the candidates of a task: the chair is then final. */
bool task_learn_candidates(struct core *core, struct task *task,
                           const struct rankset *candidates);

/* --- roll.c ---------------------------------------------------------------------- */

struct lane *lane_enter(struct core *core, uint32_t number); /* NULL: limit, memory */
bool roll_append(struct core *core, struct lane *lane, uint32_t number,
                 struct task *task);
bool roll_append_stub(struct core *core,
                      struct stub *stub); /* its place has the lane */
/* Gossip has taught what this rank has. */
static inline void roll_learn_of(struct core *core, uint32_t rank)
{
    core->knowledge_wide |= core->knowledge_grew && core->knowledge_of != rank;
    core->knowledge_of = rank;
    core->knowledge_grew = true;
}
bool roll_knows_holder(const struct core *core, const struct task *task, uint32_t rank);
/* By where it stands alone, as of a stub. */
bool roll_knows_place(const struct core *core, roll_place place, uint32_t rank);
/* Nothing says that it will not hold it: so far its roll is ours, or shorter.  A guess,
 * good for pushes only. */
bool roll_agrees_so_far(const struct core *core, const struct task *task,
                        uint32_t rank);
void roll_on_roll(struct core *core, uint32_t from, const struct message_roll *roll);
void roll_on_want(struct core *core, uint32_t from, const struct message_want *want);
void roll_on_hashes(struct core *core, uint32_t from,
                    const struct message_hashes *hashes);
/* Looks again at what peers announced and nothing of ours matched. */
void roll_resolve(struct core *core);
bool roll_is_told(const struct core *core); /* peers have heard of all of it */
void roll_tell_partial(struct core *core);
void roll_ask_hashes(struct core *core, uint32_t from, struct announced *what);
bool roll_resolved(const struct core *core, uint32_t rank);
void roll_want_of_closed(struct core *core);
void roll_count_common(struct core *core);
/* Up to which position a peer's lane is known to equal ours. */
uint64_t roll_agreed(const struct core *core, const struct lane *lane, uint32_t rank);
void roll_count_task(struct core *core, const void *known); /* or a stub */
/* False if some of it is forgotten. */
bool roll_sum_of(const struct core *core, const struct lane *lane, uint64_t first,
                 uint32_t count, struct rollsum *sum);
void roll_announce(struct core *core, uint32_t lane, const struct chunk *chunk);
void roll_enter_view(struct core *core); /* all of it is announced again */
/* Every member is known to have an equal one. */
bool roll_all_hold(const struct core *core, uint32_t lane, const struct chunk *chunk);
/* The task's scope has ended. */
void roll_forget(struct core *core, struct task *task);
/* So many of a chunk's tasks are off their lane's pages. */
void roll_forget_of(struct core *core, struct lane *lane, struct chunk *chunk,
                    uint32_t count);
void roll_release(struct core *core);

/* --- segments.c --------------------------------------------------------------------
 */

/* The one around a lane's position; NULL if that is in none yet, or gone. */
struct chunk *roll_chunk_at(const struct lane *lane, uint64_t position);
/* NULL if it is in none yet, or on no roll. */
struct chunk *roll_chunk_of(const struct core *core, const struct task *task);
/* The one that has not been dropped; NULL if there is none. */
struct chunk *roll_find_chunk(const struct core *core, const struct chunk_name *name,
                              uint32_t *lane);
void roll_index_last(struct core *core, uint32_t lane); /* its last chunk is new */
void roll_index(struct core *core); /* chunks have come in between others */
void roll_compact(struct core *core, struct lane *lane); /* takes out dead ones */

/* --- announce.c ---------------------------------------------------------------------
 */

/* Announces partial chunks and this rank's state if they are due. */
void announce_state(struct core *core);
uint64_t announce_deadline(const struct core *core);
bool announce_below_rests(const struct core *core); /* and so do all below it */
void announce_on_state(struct core *core, uint32_t from, const struct message *message);

/* --- register.c ------------------------------------------------------------------ */

int graph_register(struct core *core, const struct core_event *event);
void graph_link_edge(struct edge *edge, struct task *from, bool order_only);

/* --- graph.c --------------------------------------------------------------------- */

void graph_own(struct core *core, struct task *task, enum evidence evidence);
/* Pushes an own, done result to the rank that will run this consumer of it. */
void graph_push_for(struct core *core, const struct edge *edge);
void graph_answer(struct core *core, struct task *task);
void graph_lane_waits(struct core *core, struct task *task);
int graph_done(struct core *core, struct task *task, int32_t status, uint64_t size);
void graph_on_result(struct core *core, uint32_t from, struct task *task,
                     const struct message *message);
void graph_on_decision(struct core *core, uint32_t from, struct task *task,
                       const struct message_decision *decision);
/* Something about a result became known here: wake waits and consumers.  True if all
 * consumers have waited here for it, and wait no more. */
bool graph_spread(struct core *core, struct task *task);
/* The waits for a task end with an error instead. */
void graph_verdict(struct core *core, struct task *task, int32_t code,
                   const moot_hash *chain, uint32_t chain_count);
/* Something is known now of what this rank has; NOBODY: of what several have. */
void graph_push_to_holders(struct core *core, uint32_t rank);
void graph_send_result(struct core *core, struct task *task, uint32_t to,
                       enum want want);
/* Once tasks that were ready while this rank held no lease (V3). */
void graph_start_leased(struct core *core);
void graph_cancel_own(struct core *core, struct task *task, uint32_t by);
void graph_disown(struct core *core, struct task *task); /* not started */
void graph_hand_over(struct core *core, struct task *task, uint32_t heir);
bool task_satisfied(const struct task *task);

/* --- demand.c -------------------------------------------------------------------- */

/* Someone waits at `need`, here or (remote) elsewhere: passes it on to the inputs of
 * what this rank owns. */
void demand_pass_on(struct core *core, struct task *task, uint64_t need, bool remote);
/* This rank owns it now, and waits for these. */
void demand_inputs(struct core *core, struct task *task);

/* --- ask.c --------------------------------------------------------------------- */

/* Of motions, and of yields because all is quiet, a turn says so many: they are on
 * their way, and are answered, while the next says more. */
enum { SAYS_PER_TURN = 128 };

int ask_need(struct core *core, const struct core_event *event);
int ask_unneed(struct core *core, const struct core_event *event);
/* Counts an open need; demand_pass_on and ask_consider then act on it. */
void ask_add_need(struct core *core, struct task *task, enum want want);
void ask_drop_need(struct core *core, struct task *task, enum want want);
/* Asks if something is wanted that is not there: at once, later, or not again. */
void ask_consider(struct core *core, struct task *task);
/* Something that is not there is needed here. */
bool ask_wants(const struct task *task);
void ask_send_motion(struct core *core, struct task *task, uint32_t to);
void ask_answer_seek(struct core *core, struct task *task, uint32_t seeker);
bool ask_never_will_hold(const struct core *core, const struct task *task);
void ask_on_seek(struct core *core, uint32_t from, struct task *task);
void ask_on_refer(struct core *core, struct task *task,
                  const struct message_refer *refer);
void ask_answer_seeks(struct core *core, struct task *task);
void ask_answer_all_seeks(struct core *core); /* on CLOSED */
void ask_sweep(struct core *core);            /* T1a */
/* Closed, has said so, and has told every closed peer what that does not hold. */
bool ask_swept(const struct core *core);
/* The census says that the chair lacks it: tells it, unless it has been told. */
void ask_tell(struct core *core, struct task *task);

/* --- ask_queue.c -------------------------------------------------------------------
 */

/* A motion for it, once no push can be expected any more; again if its needs grew. */
void ask_queue_add(struct core *core, struct task *task);
void ask_queue_owe(struct core *core, struct task *task); /* T1: at the next turn */
void ask_queue_forget(struct task *task);
bool ask_queue_none(const struct core *core); /* no motion is held back */
void ask_queue_idle(struct core *core);       /* this rank has just come to be idle */
void ask_queue_look_again(struct core *core); /* a delay may have become shorter */
void ask_queue_flush(struct core *core);
uint64_t ask_queue_deadline(const struct core *core);

/* --- requests.c --------------------------------------------------------------------
 */

struct requests *requests_of(struct core *core, struct task *task);
struct asker *requests_asker(struct core *core, struct requests *requests,
                             uint32_t rank);
bool requests_is_wanted(const struct requests *requests); /* not only told of */
/* Its chair has yet to decide it. */
bool requests_is_open(const struct core *core, const struct task *task);
void requests_release(struct core *core, struct requests *requests); /* accepts NULL */
/* The list of asked tasks without an owner: core->undecided. */
void undecided_add(struct core *core, struct task *task); /* or its bound is another */
void undecided_remove(struct core *core, struct task *task);
/* The demand bound: the shortest roll among those who wait (T3, `need`). */
uint64_t requests_bound(const struct requests *requests);
/* Those whose bound a roll of this length has passed, and until they are added again
 * they do not come again.  Lives until the next step. */
struct task **undecided_passed(struct core *core, uint64_t len, uint32_t *count);
bool undecided_hold(const struct core *core); /* for tests: so it is */

/* --- notify.c --------------------------------------------------------------------- */

/* Tells the owner of new askers; and, if `fresh`, that it is the owner. */
void notify_askers(struct core *core, struct task *task, bool fresh);
void notify_decide_again(struct core *core, struct task *task); /* in a new view */

/* --- cancel.c -------------------------------------------------------------------- */

/* This rank's program cancels it. */
void cancel_begin(struct core *core, struct task *task);
void cancel_on_cancel(struct core *core, uint32_t from, struct task *task,
                      const struct message_cancel *cancel);
/* Its chair wants it to end cancelled: whoever owns it next is to be told. */
/* From the chair, to the owner. */
void cancel_on_decision(struct core *core, struct task *task,
                        const struct message_decision *decision);
bool cancel_is_agreed(const struct core *core, const struct task *task);
/* Tells who decides, unless it has been told: the chair is another now, or a chair has
 * found out who the owner is. */
void cancel_pass_on(struct core *core, struct task *task);
void cancel_enter_view(struct core *core, struct task *task);

/* --- chair.c --------------------------------------------------------------------- */

void chair_on_motion(struct core *core, uint32_t from, struct task *task,
                     const struct message_motion *motion);
void chair_local_ask(struct core *core, struct task *task);
void chair_claim(struct core *core, struct task *task); /* T2, if it may */
void chair_retest(struct core *core, struct task *task);
/* A task's chair among these members: a candidate, or, if none is left, who keeps what
 * has run. */
uint32_t chair_or_keeper(const struct rankset *members, const moot_hash *hash,
                         const struct rankset *candidates);
void chair_retest_all(struct core *core);
void chair_retest_passed(struct core *core); /* the lanes have blocked */
void chair_decided(struct core *core, struct task *task, uint32_t owner,
                   enum evidence evidence);
void chair_fail(struct core *core, struct task *task, int32_t code, uint64_t len_max);
bool chair_has_holder(const struct core *core, const struct task *task);
uint64_t chair_least_len(const struct task *task);
/* Why the task has no owner, if this rank is to say; adds to `awaited` who is waited
 * for. */
enum core_lack chair_lack(const struct core *core, const struct task *task,
                          struct rankset *awaited);
uint64_t chair_deadline(const struct core *core);
void chair_retest_due(struct core *core); /* whose vote timeout has passed */
void chair_yield_all(struct core *core);  /* all is quiet: with the turns that follow */
void chair_yield_some(struct core *core); /* a turn's share of that */
/* --- scope.c, scope_local.c, scope_global.c, forget.c
 * -------------------------------------------------------------
 */

/* The record of its scope, made if need be; NULL: in none, or the core broke. */
struct scope *scope_enter(struct core *core, uint64_t mark, const moot_hash *hash);
static inline struct scope *scope_of(struct core *core, const moot_hash *hash)
{
    uint64_t mark = hash_scope(hash);
    return mark != 0 ? scope_enter(core, mark, hash) : NULL;
}
bool mark_is_dropped(const struct core *core, uint64_t mark); /* a hash_scope() */
/* The scope of this mark has ended: the mark is what stays of it. */
void scope_mark_add(struct core *core, uint64_t mark);
/* Scope records stand in so many lists, core->scope_buckets. */
enum { SCOPE_BUCKETS = 256 };
/* The record of a scope that goes on; NULL: none. */
struct scope *scope_find(const struct core *core, uint64_t mark);
/* Frees the record; its mark stays. */
void scope_end(struct core *core, struct scope *scope);
/* Takes the first scope off the watch list, which must not be empty. */
struct scope *scope_watched_take(struct core *core);
/* Puts the scope behind those that are watched already. */
void scope_watch_last(struct core *core, struct scope *scope);
/* Something happened to the scope: it does not rest, and is looked at again. */
void scope_touch(struct core *core, struct scope *scope);
static inline bool scope_is_dropped(const struct core *core, const moot_hash *hash)
{
    return core->mark_count > 0 && mark_is_dropped(core, hash_scope(hash));
}
/* No more top-level spawns in the task's scope here (nor of this rank at all). */
bool scope_is_closed(const struct core *core, const struct task *task);
void scope_add_task(struct scope *scope, struct task *task);
int scope_on_close(struct core *core, const moot_hash *hash);
int scope_on_release(struct core *core, const moot_hash *hash);
void scope_on_rank_close(struct core *core);
void scope_sent(struct core *core, struct task *task, enum message_type type);
void scope_received(struct core *core, struct task *task,
                    const struct message *message);
/* A message about a task of a scope that has ended: its sender is told. */
void scope_late(struct core *core, uint32_t from, const struct message *message);
void scope_on_released(struct core *core, uint32_t from, const struct message *message);
void scope_send(struct core *core, uint32_t to, const moot_hash *hash,
                struct message_released released);
/* It is looked at with each step until scope_look() says no. */
void scope_watch(struct core *core, struct scope *scope);
bool scope_look(struct core *core, struct scope *scope);
bool scope_is_closed_here(const struct core *core, const struct scope *scope);
void scope_on_ask(struct core *core, struct scope *scope, uint64_t round);
/* What a member says of it, to the lowest. */
void scope_take_account(struct core *core, struct scope *scope, uint32_t from,
                        const struct message_released *said);
/* It has ended: its tasks are forgotten in the next steps. */
void scope_drop(struct core *core, struct scope *scope, bool alike, bool from_lowest);
/* At the end of this round of asking; 0: of none. */
void scope_drop_everywhere(struct core *core, struct scope *scope, bool alike,
                           uint64_t round);
/* All members have answered what this one was asked about it. */
void scope_all_answered(struct core *core, const struct scope *scope);
void scope_enter_view(struct core *core, const struct view *view);
/* Those of which a member of this view may not know yet. */
void scope_tell_ended(struct core *core, uint32_t rank);
/* Drops some of what has ended.  Before anything is said in a step, because what is
 * said may borrow from the records. */
void scope_forget(struct core *core);
void scope_turn(struct core *core);
void scope_release_all(struct core *core);

/* Drops some of its tasks, as many as the budget allows; true if there are more. */
enum { FORGET_PER_STEP = 512 };
bool forget_some(struct core *core, struct scope *scope, uint32_t *budget);
/* Takes the scope out of what may look at its tasks, and its peers' announcements. */
void forget_begin(struct core *core, struct scope *scope);
/* A record or a stub; NULL: it is gone. */
void *lane_known(const struct lane *lane, uint64_t position);
static inline struct task *lane_task(const struct core *core, const struct lane *lane,
                                     uint64_t position)
{
    return stub_seen(core, lane_known(lane, position));
}
/* NULL: it is gone.  Of both the hash stands first. */
static inline const moot_hash *lane_hash(const struct lane *lane, uint64_t position)
{
    return lane_known(lane, position);
}
/* What stands so many positions on; NULL: nothing does, or it is gone. */
const void *lane_known_ahead(const struct lane *lane, uint64_t position, uint32_t ahead);
/* Distances at which a walk along a roll fetches what it comes to: what a record leads
 * to, and the record itself. */
enum { EXPECT_AHEAD = 4, EXPECT_FAR_AHEAD = 8 };
void lane_replace(struct lane *lane, uint64_t position, struct task *task);
/* Fetches the record some positions on: who goes along a roll finds it in the cache. */
void lane_expect(const struct lane *lane, uint64_t position);
bool lane_put(struct core *core, struct lane *lane, void *known); /* at len */
void lane_forget(struct core *core, struct lane *lane, uint64_t position);

/* Some scope has ended everywhere, or a once task was dropped: what is unknown may have
 * been known. */
static inline bool forget_ever_has(const struct core *core)
{
    return core->mark_count > 0 || core->drop.once_count > 0;
}

/* False if it must stay for a while: its kernel runs. */
bool forget_task(struct core *core, struct task *task, bool alike);
/* All tasks of a chunk that every member has. */
void forget_chunk(struct core *core, uint32_t lane, struct chunk *chunk);

/* --- once.c -------------------------------------------------------------------- */

/* Adds the voters that have not accepted yet. */
void once_awaited(const struct core *core, const struct task *task,
                  struct rankset *out);
void once_propose(struct core *core, struct task *task, uint32_t winner,
                  enum evidence evidence);
/* A record of an older view, to the voters of this one (*Entering*). */
void once_reaccept(struct core *core, struct task *task);
void once_on_accept(struct core *core, uint32_t from, struct task *task,
                    const struct message_accept *accept);
void once_on_ack(struct core *core, uint32_t from, struct task *task);

/* --- termination.c -------------------------------------------------------------------
 */

bool termination_resting(const struct core *core);
void termination_turn(struct core *core); /* polls if it is this rank's turn to */
uint64_t termination_deadline(const struct core *core);
void termination_look_again(struct core *core); /* something changed: poll soon */
void termination_on_poll(struct core *core, uint32_t from,
                         const struct message_poll *poll);
void termination_on_pollr(struct core *core, uint32_t from,
                          const struct message *message);
void termination_on_resolve(struct core *core, const moot_hash *hash,
                            enum resolve_what what);
void termination_on_chase(struct core *core, struct task *task,
                          const struct message_chase *chase);
void termination_on_adjourn(struct core *core, const struct message_adjourn *adjourn);

/* --- strict.c ------------------------------------------------------------------ */

/* In strict mode a sum covers positions too, so that another order is a difference. */
void strict_salt(moot_hash *hash, uint64_t position);
void strict_on_hashes(struct core *core, uint32_t from,
                      const struct message_hashes *hashes);
void strict_turn(struct core *core);
/* No comparison is under way that may still find a difference. */
bool strict_settled(const struct core *core);
uint64_t strict_deadline(const struct core *core);
void strict_on_diverged(struct core *core, uint32_t from,
                        const struct message_diverged *diverged);

#endif
