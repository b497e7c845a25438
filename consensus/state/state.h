/* state.h - the room that holds a core's state, and what finds a way in it.
 *
 * The structs stand in core_state.h and the records that it includes.  The functions
 * here find and make records (task_table.c, stub.c, scope_table.c, peers.c,
 * roll_pages.c, chunk_find.c), keep memory and outputs (outputs.c), the agenda
 * (agenda.c) and messages for later (held.c), count what may be dropped
 * (release_count.c) and what a leaver gave away (giving.c), learn timers (timers.c),
 * and answer what follows from the state alone (facts.c, holders.c, presume.c,
 * once_gone.c, tree.c).
 *
 * Writes core->state.  Every room above may call all of it, within a step, on its
 * thread.
 */
#ifndef CONSENSUS_STATE_STATE_H
#define CONSENSUS_STATE_STATE_H

#include "consensus/state/core_state.h"
#include "hashing/base/hot.h"

/* --- state.c ---------------------------------------------------------------------- */

void state_begin(struct core *core); /* of a core that has its options, else zero */
void state_end(struct core *core);

/* Newcomers may come at any moment, so that certificates count towards no quorum. */
static inline bool only_majorities(const struct core *core)
{
    return core->options.joinable && !core->options.boundary;
}

/* --- state_hold.c ----------------------------------------------------------------- */

/* Asserts what must be true of the room's state between two steps: all of it, which
 * takes as long as there is state; and parts of it that do not: the fields, a task, a
 * peer. */
void state_hold(const struct core *core);
void state_hold_fields(const struct core *core);
void state_hold_task(const struct core *core, const struct task_record *task);
void state_hold_peer(const struct core *core, const struct peer *peer);

/* --- held.c ----------------------------------------------------------------------- */

/* Adds the messages from `first` to the one whose .next is `*last`; takes them. */
void held_add(struct core *core, struct held *first, struct held **last);
/* The first whose epoch this rank has entered, which is the caller's; NULL: none. */
struct held *held_take(struct core *core);
void held_free(struct held *list);

/* --- outputs.c -------------------------------------------------------------------- */

void *core_alloc(struct core *core, size_t size); /* zeroed; NULL marks core broken */
bool core_grow(struct core *core, void *array, uint32_t *room, uint32_t needed,
               size_t item_size); /* array: pointer to the array pointer */
void out_clear(struct outputs *out);
void *out_borrow(struct core *core, size_t size); /* lives until the next step */
struct core_output *out_add(struct core *core, enum core_output_type type,
                            const struct task_record *task);
void out_note_add(struct core *core, enum core_point point,
                  const struct task_record *task, uint32_t peer,
                  enum evidence evidence);
void out_note_stub(struct core *core, enum core_point point, const moot_hash *hash);
/* If the host wants to hear of this point. */
static inline void out_note(struct core *core, enum core_point point,
                            const struct task_record *task, uint32_t peer,
                            enum evidence evidence)
{
    if ((core->options.notes & CORE_NOTE(point)) != 0) {
        out_note_add(core, point, task, peer, evidence);
    }
}
/* Tells the host that a task is forgotten, of which it has `user` (NULL: nothing): many
 * in one output. */
void out_forget(struct core *core, void *user);
/* A message to fill in; NULL only if the core broke.  Never to oneself. */
struct message *out_send(struct core *core, uint32_t to, enum message_type type,
                         struct task_record *task);
/* Bump allocation: zeroed, aligned for any type, freed all at once. */
struct memory_block {
    struct memory_block *next;
    size_t used, size;
    max_align_t bytes[];
};
void *block_take(struct memory_block **list, size_t size);
void block_free(struct memory_block *list);
/* Zeroed; NULL marks the core broken.  Given back with the size it was taken with. */
/* Puts memory aside if none is; false: there is too little, so that the rank is to take
 * on nothing that it may refuse. */
bool memory_spare(struct core *core);
/* Gives back what was put aside; true: so it is worth another try. */
bool memory_shorten(struct core *core);
static inline bool memory_is_short(const struct core *core)
{
    return core->state.memory.spare == NULL && core->options.spare_bytes > 0;
}
/* As realloc(); without memory the core is broken. */
void *core_resize(struct core *core, void *memory, size_t size);
void *memory_take(struct core *core, size_t size);
void *memory_take_raw(struct core *core, size_t size); /* not cleared */
void memory_give(struct core *core, void *memory, size_t size);
/* A copy of a set for a message; NULL only if the core broke. */
const struct rankset *out_copy_set(struct core *core, const struct rankset *set);
/* NULL if there are none. */
const void *out_copy_bytes(struct core *core, const void *bytes, size_t size);

/* --- agenda.c --------------------------------------------------------------------- */

/* Why a task stands on the agenda; step/work_off.c does what follows, in this order. */
enum agenda_why {
    AGENDA_DEMAND = 1, /* owned here, and needed sooner: so is what it takes */
    AGENDA_ASK = 2,    /* wanted here: asks, if it is not there */
    AGENDA_CANCEL = 4, /* cancelled: tells whoever is to know */
    AGENDA_TEST = 8,   /* as its chair: what now? */
    AGENDA_ALL = 15    /* as many bits as task_record.agenda has */
};
/* Matters of a whole room on the agenda. */
enum agenda_due {
    AGENDA_SPLITS = 1,  /* a peer has cut what is equal here: so does reclaim/ */
    AGENDA_REPORTS = 2, /* a chunk that was leaving stays: it is reported */
    AGENDA_SETTLE = 4,  /* the view may go on, if all is accepted again */
    AGENDA_ROUND = 8    /* the lowest may ask for more of what is offered */
};
/* Has the step do this about the task before it ends.  The task is not forgotten before
 * that.  Without memory the core is broken. */
void agenda_add(struct core *core, struct task_record *task, unsigned why);
/* Takes the first task off, and why it stood there; NULL: there is none. */
struct task_record *agenda_take(struct core *core, unsigned *why);
/* As out_send(), to any member: what a rank says to itself it takes before the step
 * ends, behind what it has said to itself before.  Such a message names no task. */
struct message *agenda_send(struct core *core, uint32_t to, enum message_type type);
const struct message *agenda_take_mail(struct core *core); /* NULL: there is none */
void agenda_add_due(struct core *core, enum agenda_due due);
unsigned agenda_take_due(struct core *core); /* all that is due; 0: nothing */
static inline bool agenda_is_empty(const struct core *core)
{
    const struct agenda *agenda = &core->state.agenda;
    return (agenda->count | agenda->due) == 0 && agenda->mail == NULL;
}

/* --- stub.c ----------------------------------------------------------------------- */

/* Its record, made now.  NULL without memory: the core is broken. */
struct task_record *stub_expand(struct core *core, void *stub);
/* All there are, and all that is away is linked: the lists of consumers are whole. */
void stub_expand_all(struct core *core);
/* Leaves an input unlinked for now, where this rank does not run the record's task. */
void stub_put_away(struct core *core, struct task_record *task, struct edge *edge,
                   roll_place place);
/* The task is about to be forgotten. */
void stub_forget_inputs(struct core *core, struct task_record *task);
void stub_bring_inputs(struct core *core, struct task_record *task);
void stub_let_go(struct core *core, struct stub *stub);
/* All but its place on the roll, and its memory. */
void stub_forget(struct core *core, struct stub *stub);
void stub_give(struct core *core, struct stub *stub); /* that memory */
/* The record of a task of which a record or a stub is known, made now of a stub:
 * callers need not know of stubs. */
static inline struct task_record *stub_seen(struct core *core, void *known)
{
    return is_stub(known) ? stub_expand(core, known) : known;
}

/* --- task_table.c ----------------------------------------------------------------- */

struct task_record *table_find(struct core *core, const moot_hash *hash);
/* A record or a stub. */
void *table_look(const struct core *core, const moot_hash *hash);
static inline struct task_record *table_at(struct core *core, size_t slot)
{
    return stub_seen(core, core->state.slots[slot]);
}
/* For who goes through all slots: records stand anywhere, so those that are looked at
 * next are fetched meanwhile.  A record, a stub or NULL. */
static inline void *table_ahead(const struct core *core, size_t slot)
{
    enum { AHEAD = 12, LOOKED_AT = 128 };
    if (slot + AHEAD < core->state.slot_count) {
        fetch_ahead(core->state.slots[slot + AHEAD], LOOKED_AT);
    }
    return core->state.slots[slot];
}
static inline struct task_record *table_pass(struct core *core, size_t slot)
{
    return stub_seen(core, table_ahead(core, slot));
}
/* Where a hash that is not in it is to be put, before anything else is.  False: it is
 * in it, or there is no memory, and the core is broken. */
bool table_finds_room(struct core *core, const moot_hash *hash, size_t *slot);
/* Makes the table wider if it is too full; false: there is no memory for that. */
bool table_relieve(struct core *core);
void table_put(struct core *core, size_t slot, const moot_hash *hash, void *known);
void table_replace(struct core *core,
                   struct task_record *task); /* a stub of its hash */
void table_remove(struct core *core, const moot_hash *hash);
/* A record that is in no table yet, of a task that its chair is known of: it has room
 * for edges and the host's bytes.  `alone`: that chair is the only candidate. */
struct task_record *table_record(struct core *core, size_t input_count,
                                 size_t room_bytes, uint32_t chair, bool alone);
/* Fetches where it is looked for, or will be put. */
static inline void table_expect(const struct core *core, const moot_hash *hash)
{
    size_t slot = (uint32_t)hash_word(hash) & (core->state.slot_count - 1);
    if (core->state.slot_count > 0) {
        fetch_ahead(&core->state.tags[slot], sizeof(*core->state.tags));
        fetch_ahead(&core->state.slots[slot], sizeof(*core->state.slots));
    }
}
/* Fetches the record, if there is one. */
void table_expect_record(const struct core *core, const moot_hash *hash);
/* Finds or makes; a new record has its chair.  NULL without memory. */
struct task_record *table_enter(struct core *core, const moot_hash *hash);
/* The same where the candidates are known (NULL: all, or unknown): a new record's chair
 * is then drawn from them, if one of them is a member.  It has room for so many edges,
 * and behind that for so many bytes of the host's, or none if that is much. */
struct task_record *table_enter_for(struct core *core, const moot_hash *hash,
                                    const struct rankset *candidates,
                                    size_t input_count, size_t room_bytes);
/* The task that this edge is an input of. */
static inline struct task_record *edge_to(const struct edge *edge)
{
    void *base = (char *)(uintptr_t)edge - edge->behind;
    return edge->apart ? *(struct task_record **)base : base;
}
/* For a task that has none: so many edges, which are linked nowhere yet and not counted
 * in input_count.  False without memory: the core is broken. */
bool table_add_inputs(struct core *core, struct task_record *task, size_t count);
void *record_room(const struct core *core, struct task_record *task,
                  size_t *room_bytes);
/* Those of an event's task, by its entry if the host gave it. */
static inline struct task_record *event_find(struct core *core,
                                             const struct core_event *event)
{
    return event->entry != NULL ? event->entry : table_find(core, &event->hash);
}
static inline struct task_record *event_enter(struct core *core,
                                              const struct core_event *event)
{
    return event->entry != NULL ? event->entry : table_enter(core, &event->hash);
}
/* The rare part of a task; of a task without one, the part that each begins with. */
extern const struct task_ext task_ext_at_first;
static inline const struct task_ext *task_ext(const struct task_record *task)
{
    return task->task_ext != NULL ? task->task_ext : &task_ext_at_first;
}
/* How the task ends for good, as far as is known here; MOOT_OK: not known. */
static inline int32_t task_ends_with(const struct task_record *task)
{
    return task->task_ext != NULL ? task->task_ext->ends.code : 0;
}
/* Its inputs, input_count of them. */
static inline struct edge *task_inputs(const struct task_record *task)
{
    char *record = (char *)(uintptr_t)task;
    return task->inputs_at != 0
               ? (struct edge *)(void *)(record +
                                         (size_t)task->inputs_at * RECORD_PIECE_BYTES)
               : task_ext(task)->inputs;
}
/* To be written; made if there is none.  Without memory the core is broken, and this is
 * one that does not count. */
struct task_ext *task_ext_get(struct core *core, struct task_record *task);
/* All but its memory, which is the host's until it gives that back. */
void table_forget(struct core *core, struct task_record *task);
/* Likewise of all of them, and of stubs. */
void table_forget_all(struct core *core);
void table_give(struct core *core, struct task_record *task); /* that memory */
void table_release(struct core *core);
/* Learns the candidates of a task: the chair is then final. */
bool task_learn_candidates(struct core *core, struct task_record *task,
                           const struct rankset *candidates);
void graph_link_edge(struct edge *edge, struct task_record *from, bool order_only);
void requests_release(struct core *core, struct requests *requests); /* accepts NULL */

/* --- forget_all.c ------------------------------------------------------------------
 */

/* All tasks, scopes and once tasks that were dropped, and what peers said of any: a
 * reload begins.  Entries and stubs go to the host. */
void state_forget_all(struct core *core);

/* --- peers.c ---------------------------------------------------------------------- */

bool peers_make_room(struct core *core, uint32_t size);
void peers_release(struct core *core);
/* Finds or makes.  Without memory the core is broken, and this is a record that does
 * not count. */
struct peer *peer_of(struct core *core, uint32_t rank);
/* The record of a peer; one that is all zero if nothing was recorded. */
const struct peer *peer_seen(const struct core *core, uint32_t rank);
void peer_heard(struct core *core, uint32_t rank); /* now */
void peer_spoke(struct core *core, uint32_t rank); /* in this epoch */
/* The rank that is this incarnation; NOBODY: none that is known. */
uint32_t peer_of_uid(const struct core *core, uint64_t uid);
/* A rank below core->size that nobody this rank knows of has as its number is nameless:
 * numbers are given when processes start, and some come in late, or never. */
bool peer_is_named(const struct core *core, uint32_t rank);
/* The place of a lane behind which the rank's roll begins (V5): 0, but for newcomers at
 * a boundary in strict mode. */
uint64_t peer_begins(const struct core *core, uint32_t rank, uint32_t lane);
/* All lanes, as a view names them.  NULL: the roll begins at the beginning. */
const struct message_newcomer *peer_beginning(const struct core *core, uint32_t rank);
void peer_note_beginning(struct core *core, const struct message_newcomer *newcomer);
/* This incarnation has that number. */
bool peer_is(const struct core *core, uint32_t rank, uint64_t uid);
/* The rank, below core->size, is this incarnation on this host. */
void peer_name(struct core *core, uint32_t rank, uint64_t uid, uint32_t host);
/* Makes one, in place of one that it supersedes; NULL without memory, or if there are
 * too many. */
struct announced *announced_enter(struct core *core, struct peer *peer,
                                  const struct message_roll *roll);
void announced_forget(struct peer *peer, uint32_t i); /* another stands there then */
/* Its tasks differ from ours for good: it is looked at no more; */
void announced_close(struct peer *peer, uint32_t i);
void announced_open(struct peer *peer);                /* all are, once again */
bool core_make_room(struct core *core, uint32_t size); /* for ranks 0..size-1 */

/* --- roll_pages.c ----------------------------------------------------------------- */

/* A record or a stub; NULL: it is gone. */
void *lane_known(const struct lane_record *lane, uint64_t position);
static inline struct task_record *
lane_task(struct core *core, const struct lane_record *lane, uint64_t position)
{
    return stub_seen(core, lane_known(lane, position));
}
/* NULL: it is gone.  Of both the hash stands first. */
static inline const moot_hash *lane_hash(const struct lane_record *lane,
                                         uint64_t position)
{
    return lane_known(lane, position);
}
/* The record or stub that stands `ahead` positions on; NULL: none, or it is gone. */
const void *lane_known_ahead(const struct lane_record *lane, uint64_t position,
                             uint32_t ahead);
/* Distances at which a walk along a roll fetches what it comes to: what a record leads
 * to, and the record itself. */
enum { EXPECT_AHEAD = 4, EXPECT_FAR_AHEAD = 8 };
void lane_replace(struct lane_record *lane, uint64_t position,
                  struct task_record *task);
/* Fetches the record some positions on: who goes along a roll finds it in the cache. */
void lane_expect(const struct lane_record *lane, uint64_t position);
bool lane_put(struct core *core, struct lane_record *lane, void *known); /* at len */
/* For an empty one: nothing is known of the positions up to this. */
bool lane_begin_behind(struct core *core, struct lane_record *lane, uint64_t position);
void lane_forget(struct core *core, struct lane_record *lane, uint64_t position);
void lane_forget_pages(struct core *core, struct lane_record *lane); /* all of them */

/* --- chunk_find.c ----------------------------------------------------------------- */

/* Every member is known to have an equal one. */
bool roll_all_hold(const struct core *core, uint32_t lane, const struct chunk *chunk);
/* The one around a lane's position; NULL if that is in none yet, or gone. */
struct chunk *roll_chunk_at(const struct lane_record *lane, uint64_t position);
/* NULL if it is in none yet, or on no roll. */
struct chunk *roll_chunk_of(const struct core *core, const struct task_record *task);

/* --- presume.c -------------------------------------------------------------------- */

/* NOBODY if the task may be decided anew, REC_MAYBE if it may have run. */
uint32_t presume_judge(const struct core *core, const struct task_record *task);
/* One who has crashed, or left with who did, chaired it, and may have claimed it
 * without a word; or may have been its chair, if that is not known. */
bool presume_left_chaired(const struct core *core, const struct task_record *task);
/* Judges a record that has just been made, if nothing else will. */
void presume_judge_once(const struct core *core, struct task_record *task);
static inline void presume_judge_late(const struct core *core, struct task_record *task)
{
    if (hash_has(&task->hash, MOOT_HASH_ONCE)) {
        presume_judge_once(core, task); /* of others it has nothing to say */
    }
}

/* --- holders.c -------------------------------------------------------------------- */

/* The rank is known to hold the task: by a motion, by its hash, or by its place. */
bool roll_knows_holder(const struct core *core, const struct task_record *task,
                       uint32_t rank);
/* By where it stands alone, as of a stub. */
bool roll_knows_place(const struct core *core, roll_place place, uint32_t rank);
/* The chair may decide for this rank: a member, and a candidate, that holds the task
 * and has not refused it. */
bool chair_may_choose(const struct core *core, const struct task_record *task,
                      uint32_t rank);
bool chair_has_choice(const struct core *core, const struct task_record *task);
/* The same, or it has chosen and asks the voters.  The task has requests. */
bool chair_has_holder(const struct core *core, const struct task_record *task);
bool requests_is_wanted(const struct requests *requests); /* not only told of */
/* The task's chair has yet to decide it. */
bool requests_is_open(const struct core *core, const struct task_record *task);

/* --- giving.c --------------------------------------------------------------------- */

/* A leaver returns the task to its chair, or hands its result over to an heir. */
void giving_return(struct core *core, struct task_record *task);
void giving_hand_over(struct core *core, struct task_record *task);
/* The other has taken it, or there is nothing to be taken any more. */
void giving_end(struct core *core, struct task_record *task);

/* --- scope_table.c ---------------------------------------------------------------- */

/* The record of its scope, made if need be; NULL: in none, or the core broke. */
struct scope_record *scope_enter(struct core *core, uint64_t mark,
                                 const moot_hash *hash);
static inline struct scope_record *scope_of(struct core *core, const moot_hash *hash)
{
    uint64_t mark = hash_scope(hash);
    return mark != 0 ? scope_enter(core, mark, hash) : NULL;
}
bool mark_is_dropped(const struct core *core, uint64_t mark); /* a hash_scope() */
/* The scope of this mark has ended: the mark is what stays of it. */
void scope_mark_add(struct core *core, uint64_t mark);
/* Scope records stand in so many lists, core->state.scope_buckets. */
enum { SCOPE_BUCKETS = 256 };
/* The record of a scope that goes on; NULL: none. */
struct scope_record *scope_find(const struct core *core, uint64_t mark);
/* Frees the record; its mark stays. */
void scope_end(struct core *core, struct scope_record *scope);
/* Takes the first scope off the watch list, which must not be empty. */
struct scope_record *scope_watched_take(struct core *core);
/* Puts the scope behind those that are watched already. */
void scope_watch_last(struct core *core, struct scope_record *scope);
/* Something happened to the scope: it does not rest, and is looked at again. */
void scope_touch(struct core *core, struct scope_record *scope);
static inline bool scope_is_dropped(const struct core *core, const moot_hash *hash)
{
    return core->state.mark_count > 0 && mark_is_dropped(core, hash_scope(hash));
}
/* No more top-level spawns in the task's scope here (nor of this rank at all). */
bool scope_is_closed(const struct core *core, const struct task_record *task);
void scope_add_task(struct scope_record *scope, struct task_record *task);
void scope_on_rank_close(struct core *core);
void scope_sent(struct core *core, struct task_record *task, enum message_type type);
void scope_received(struct core *core, struct task_record *task,
                    const struct message *message);
/* Has the next steps look at the scope until scope_look() says no. */
void scope_watch(struct core *core, struct scope_record *scope);
bool scope_is_closed_here(const struct core *core, const struct scope_record *scope);
void scope_release_all(struct core *core);

/* --- once_gone.c ------------------------------------------------------------------ */

/* A once task that was dropped; what comes about it is late. */
bool reclaim_once_is_gone(const struct core *core, const moot_hash *hash);
void reclaim_note_once(struct core *core, const moot_hash *hash); /* and now it is */
/* All of them, from *at == 0 on; NULL: no more. */
const moot_hash *reclaim_next_once(const struct core *core, size_t *at);

/* --- once_kept.c ------------------------------------------------------------------ */

/* The task is forgotten, or all are: a once task that this rank has owned is kept. */
void once_keep(struct core *core, const struct task_record *task);
void once_keep_all(struct core *core);
/* All are forgotten: records of those that are kept, as accepted in that view. */
void once_bring_back(struct core *core, uint64_t epoch);
void once_drop_kept(struct core *core);

/* --- release_count.c -------------------------------------------------------------- */

void reclaim_news(struct core *core); /* something may have become droppable */
bool release_is_released(const struct core *core, const struct task_record *task);
/* Its parts, for one that may go without its chunk: nothing here waits for it, reads it
 * or runs it; another sees to its end, or it has ended. */
bool release_is_unused(const struct task_record *task);
bool release_is_seen_to(const struct core *core, const struct task_record *task);
bool release_has_ended(const struct task_record *task); /* as far as is known here */
void release_count_one(struct core *core, struct task_record *task);
void release_take_back(struct core *core, struct task_record *task);
/* Something has happened that may let it be dropped. */
static inline void release_count(struct core *core, struct task_record *task)
{
    bool in_use = task->users > 0 || task->counted;
    if (task->let_go && !in_use && core->reclaim.drop.counts) {
        release_count_one(core, task);
    }
}
/* Something is about to happen that may keep it. */
static inline void release_touch(struct core *core, struct task_record *task)
{
    if (task->counted) {
        release_take_back(core, task);
    }
}
/* All of it is counted, and all members hold what takes its results: it is released. */
bool release_is_all_quiet(const struct core *core, uint32_t lane,
                          const struct chunk *chunk);
/* Whether all members have offered the chunks that take this one's results, as far as
 * is counted. */
enum feeds { FEEDS_NO, FEEDS_YES, FEEDS_MAYBE };
enum feeds release_feeds_offered(const struct core *core, uint32_t lane,
                                 const struct chunk *chunk);
void release_note_place(struct core *core,
                        const struct task_record *task); /* on the roll: new */
void release_note_stub(struct core *core, const struct stub *stub); /* likewise */
/* Those of the chunk around it. */
struct chunk_facts *release_facts_at(struct core *core, roll_place place);
/* All members hold what takes the chunk's results. */
bool release_takers_are_held(const struct core *core, uint32_t lane,
                             const struct chunk *chunk);
/* Those of a stretch of a lane of which nothing is forgotten, counted anew. */
struct chunk_facts release_facts_of(struct core *core, uint32_t lane, uint64_t first,
                                    uint32_t count);
void release_note_none(struct core *core,
                       const struct task_record *task); /* it has none there */
void release_forget_counts(struct core *core); /* in a new view all begins anew */

/* --- timers.c --------------------------------------------------------------------- */

uint64_t timers_ask_delay_ns(const struct core *core, uint32_t chair);
uint64_t timers_least_ask_ns(const struct core *core); /* of all chairs */
uint64_t timers_suspect_ns(const struct core *core, uint32_t rank);
void timers_round_trip(struct peer *peer, uint64_t trip_ns);
/* The peer's STATE has come.  True: it rests, and may be asked sooner. */
bool timers_state(struct core *core, struct peer *peer);
/* This rank, as the chair, has registered what it was asked for so long ago. */
/* True: the vote timeout is another now. */
bool timers_late_claim(struct core *core, uint64_t late_ns);
void timers_heartbeat(struct core *core, struct peer *peer); /* has come from it */
void timers_own_heartbeat(struct core *core);                /* goes out now */
uint64_t timers_next_heartbeat_ns(struct core *core); /* and the next so much later */

/* --- facts.c ---------------------------------------------------------------------- */

bool disseminate_is_on(
    const struct core *core); /* there are more than direct_max members */
/* Up to so many members compare their rolls with everyone's when they have closed;
 * above that they add them up along the tree. */
enum { SWEEPERS_MAX = 8 };
bool close_reduce_is_on(const struct core *core);
bool committee_serves(const struct core *core);
bool detector_is_on(const struct core *core);
bool detector_is_quorate(const struct core *core); /* enough grants are fresh */
bool detector_lease(const struct core *core);      /* this rank holds one now (V2) */
bool view_change_moved(const struct core *core, const struct task_record *task);
/* A task's chair among these members: a candidate, or, if none is left, who keeps what
 * has run. */
uint32_t chair_or_keeper(const struct rankset *members, const moot_hash *hash,
                         const struct rankset *candidates);
/* Some scope has ended everywhere, or a once task was dropped: what is unknown may have
 * been known. */
static inline bool forget_ever_has(const struct core *core)
{
    return core->state.mark_count > 0 || core->state.once_count > 0;
}
bool reclaim_is_on(const struct core *core);
/* The members are deciding whether all of them drop the task. */
bool reclaim_is_leaving(const struct core *core, const struct task_record *task);
bool reclaim_place_is_leaving(const struct core *core, roll_place place);

#endif
