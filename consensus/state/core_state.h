/* core_state.h - the state of a core, and what its rooms offer each other.
 *
 * One task record serves every role that a rank can have towards a task: it may hold
 * it, wait for it, chair it, own it, vote on it.  What agreeing ranks touch per task
 * stands in `struct task`; what only divergence or remote askers need stands in a
 * `requests` that is made on demand.  A record is kept until the scope of its task has
 * ended on every rank: a rank must be able to say "that one I yielded" for as long as
 * anyone may ask (PROTOCOL.md, "Forgetting").
 *
 * The rooms, in the order in which one task passes through them:
 *
 *   step.c      the step itself
 *   receive.c   Rule E, and to which room a message goes
 *   outputs.c   what a step says, and the core's memory
 *   peers.c     what is kept per peer
 *   disseminate.c    whom one hears and tells where there are many
 *   task_table.c     finds a task's record by its hash
 *   roll.c      what this rank has registered, and what peers say they have (G1-G4);
 *               segments.c finds its chunks
 *   announce.c     what peers should know of this rank now
 *   register.c  takes a task in (T1); stub.c one that is all others'
 *   graph.c     inputs, consumers, own results, pushes (T3a, T7)
 *   demand.c    by when what is needed is, down the graph (T3)
 *   ask.c     needs, motions, pulls (T1a, T3); ask_queue.c those held back
 *   chair.c     claims, evidence, yields, decisions, seeks (T2, T4, T5); requests.c
 *   notify.c     telling owners who waits (T6)
 *   cancel.c    the way of a cancel to whoever decides
 *   once.c    once tasks and their voters (T8)
 *   termination.c     termination: NOT_HELD, CYCLE, adjournment
 *   close_reduce.c    what all have closed with and nobody has run (T1a)
 *   scope.c     scopes, until they have ended everywhere; scope_local.c whether one has
 *               here, scope_global.c on all ranks; forget.c drops what is kept of it
 *   reclaim.c      what all have released leaves before its scope ends; reclaim_round.c
 * the lowest member asks all whether it may, release_count.c counts what does, split.c
 * cuts chunks where their results take much memory strict.c    the first difference
 * between rolls (strict mode) inspect.c      views for reports
 *
 * and those of the membership (sections 5 and 6):
 *
 *   failure_detector.c    heartbeats, suspicion, leases (V2, V3)
 *   view_paxos.c      agreeing on the next view (V1); view_data.c, view_sync.c
 *   leave.c     draining and going in good order
 *   view_change.c     entering it; recovery.c decides the keys that moved; presume.c
 * what the reports do not say timers.c    what the timers follow, if they are to
 * (core_options.adapt) committee.c who watches and decides where there are many;
 * view_barrier.c what all have done, counted along tree.c's tree link.c      order and
 * delivery over wires that lose; for hosts whose wire does
 */
#ifndef CONSENSUS_STATE_CORE_STATE_H
#define CONSENSUS_STATE_CORE_STATE_H

#include "consensus/core.h"
#include "consensus/state/chunk.h"
#include "consensus/state/mutant.h"
#include "consensus/state/stub.h"
#include "consensus/state/timers.h"
#include "consensus/state/tree.h"
#include "hashing/base/fetch_ahead.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include "proto/limits.h"

#define NOBODY ((uint32_t)PLACEMENT_NOBODY)
#define REC_MAYBE (NOBODY - 1) /* a chair's record: a once task that may have run */
#define REC_LOST (NOBODY - 2)  /* one whose result is lost, and not to be made again */

/* The turn after a spawn, an end or a result may come so much later. */
enum { USUAL_TURN_NS = 100000 };

/* Where a vote may hang on it, rest is told and looked for in this part of a gossip
 * period. */
enum { QUIET_HURRY = 8 };

/* A push that can be expected is waited for this many ask delays before it is asked for
 * after all: the delay must be bounded (T3a).  Its chair, known to hold the task,
 * pushes it to who runs a consumer; to who merely waits for it only if it waits too. */
enum { ASK_CONSUMER_FACTOR = 20, ASK_WAITER_FACTOR = 4 };

/* A rank that is never idle asks after so many ask delays, and this on top. */
enum { ASK_BUSY_FACTOR = 100, ASK_BUSY_NS = 1000000 };

/* Early needs (ask_queue.c) that are asked for at a look; twice as many after each ask
 * delay for which this rank has sat idle.  And needs that are looked at for each. */
enum { EARLY_ASKS = 8, EARLY_DOUBLINGS = 20, EARLY_LOOKS = 32 };

/* A vote timeout that is learnt: from so many late claims at least, beyond this share
 * of them, and no shorter than this. */
enum { VOTE_SAMPLES = 16, VOTE_PER_MILLE = 999, VOTE_LEAST_NS = 1000000 };

/* The longest gap between a peer's heartbeats loses a 64th with each; this rank's own
 * health has so many steps. */
enum { GAP_FADES = 64, UNWELL_MAX = 3 };

/* Every member of the present view, lowest rank first. */
#define FOR_MEMBERS(core, rank)                                                        \
    for (uint32_t rank = rankset_next(&(core)->members, 0); rank != NOBODY;            \
         rank = rankset_next(&(core)->members, rank + 1))

/* Up to so many ranks everyone speaks with everyone: rolls and states are told to all,
 * and the coordinator polls them itself.  Above that they go along the tree and by
 * dissemination (disseminate.c), and what is kept per peer is kept of few. */
enum { PEERS_ALL_MAX = 64, PARTNERS_MAX = 14, PARTS_MAX = 16 };
static_assert(1u << PARTNERS_MAX >= LIMIT_RANKS, "every member is within reach");

/* Who watches the members and decides about the next view: all members, or in a large
 * view a few of them (committee.c). */
#define FOR_COMMITTEE(core, rank)                                                      \
    for (uint32_t rank = rankset_next(&(core)->committee, 0); rank != NOBODY;          \
         rank = rankset_next(&(core)->committee, rank + 1))

static inline uint64_t add_ns(uint64_t a, uint64_t b)
{
    return a > CORE_NEVER - b ? CORE_NEVER : a + b;
}

struct task;
struct outgoing;

/* An input of a task: a node in the consumer list of `from`.  Most edges stand in the
 * record of the task that they are an input of, so that this is known by where they
 * are; others behind a pointer to it (edge_to). */
struct edge {
    struct task *from; /* NULL if its scope has ended */
    struct edge *next; /* in from's consumer list; */
    union {
        struct edge **link; /* what points here */
        roll_place place;   /* of an input that is away (stub.c) */
    };
    uint32_t behind; /* so many bytes behind the record, or the pointer */
    bool apart : 1;  /* behind the pointer */
    bool away : 1;   /* from is NULL for now, */
    bool order_only : 1;
    bool waiting : 1; /* counted in the `missing` of what takes it */
    bool lost : 1;    /* forgotten, and with it what the task must know to run */
};
static_assert(sizeof(struct edge) == 32, "each input of a live task costs as much");

/* Someone who asked the chair, or whom a decision told the owner about. */
struct asker {
    uint32_t rank;
    bool holds, hint;
    bool told; /* chair: the owner knows of it; owner: it was answered */
    enum want want;
    uint64_t need, len;
};

/* A view of the past. */
struct past {
    uint64_t epoch;
    struct rankset members;
};

/* Who was a member of a view and of none that followed before one settled. */
struct loss {
    uint64_t epoch; /* of the view */
    struct rankset before, after;
};

/* The value of one slot of the membership. */
struct view {
    uint64_t epoch;
    struct rankset members;
    struct past *past; /* views since the last that all its members had settled */
    uint32_t past_count;
    struct message_newcomer *newcomers;
    uint32_t newcomer_count;
    struct rankset left; /* ranks that left earlier views in good order */
};

/* What the reports of this epoch say of one task. */
struct recovery {
    uint32_t owner, running; /* of a result; of a task that runs; NOBODY */
    uint32_t accepted;       /* voter: the winner last accepted; NOBODY */
    uint64_t accepted_epoch;
    enum evidence evidence;
    bool maybe, lost, seen;
    struct rankset at; /* who has the result's bytes */
};

/* What a task has when somebody asked, or when it is balloted. */
enum { REQUESTS_FEW = 2 };
struct requests {
    struct asker *askers; /* `few`, or an array of its own */
    uint32_t asker_count, asker_room;
    struct rankset never; /* members that said they never will hold it */
    uint64_t first_ask_ns;
    bool seek_sent;
    bool balloting;
    bool reaccepting;       /* the ballot repeats a record of an older view */
    uint32_t winner;        /* once: the one proposal of this epoch, */
    uint32_t quorum;        /* how many voters it takes, */
    enum evidence evidence; /* and why */
    struct rankset acks;
    struct task *undecided_prev, *undecided_next;
    bool undecided;    /* on the chair's list of asked tasks without an owner, */
    uint32_t bound_at; /* and of those by their bound, in this place; 0: not there */
    struct asker few[REQUESTS_FEW];
};

/* What few tasks have, made on demand: divergence, views, votes of once tasks. */
struct task_ext {
    struct rankset holders;    /* known by motion or by hash; gossip knows more */
    struct rankset seekers;    /* chairs to answer when it is registered here */
    struct rankset pushed;     /* ranks from PUSHED_NEAR on that were sent the result */
    struct recovery *recovery; /* NULL: nothing was reported */
    const struct message_spec *spec;
    struct edge *inputs; /* if they are apart from the record */
    uint64_t accepted_epoch;
    uint32_t accepted;  /* voter: the winner accepted in this epoch; NOBODY */
    uint32_t heir;      /* leaver: whom the result was handed to; NOBODY */
    uint32_t canceller; /* who cancelled it, as far as is known here; NOBODY */
};

/* A record is measured in such pieces; to which ranks below PUSHED_NEAR a result was
 * sent stands in it. */
enum { RECORD_PIECE_BYTES = 16, PUSHED_NEAR = 32 };

/* A long run has tens of thousands of these, touched long after one another: what a
 * drop looks at, and undoes, stands in the first two cache lines. */
struct task {
    moot_hash hash;
    uint8_t pieces;    /* of the record, the host's part and what is behind it */
    uint8_t inputs_at; /* pieces before them, if they stand in the record */
    uint16_t input_count;
    uint16_t missing; /* inputs not there, while own is WAIT */
    uint16_t lane;
    struct edge *consumers; /* list */
    uint64_t position;      /* rank-wide roll position, 1-based; 0: none */
    uint64_t lane_position; /* in its lane's roll */
    uint8_t own, have, evidence;
    uint8_t flags; /* CORE_TASK_* if held */
    bool held : 1, declined : 1;
    bool finder : 1; /* the chair is provisional: candidates exist and are unknown */
    bool frozen : 1; /* as chair: nothing is decided before all have reported */
    bool maybe : 1;  /* once: it may have run (as chair, and as voter) */
    bool lost : 1;   /* its result is, and another run would give another */
    bool seen : 1;   /* somebody knows that it ended well: it is cancelled no more */
    bool cancel_told : 1;   /* in this view, to the chair */
    bool cancel_agreed : 1; /* owner: its chair says that it is to end cancelled */
    bool asked : 1, pulled : 1, pending : 1, ahead : 1, owed : 1, verdict : 1;
    bool visiting : 1;     /* on the worklist of demand.c */
    bool late_input : 1;   /* owner: one that it waits for stands behind it */
    bool demanded : 1;     /* a remote rank waits for it, or for what it feeds */
    bool push_holders : 1; /* a lane here waits for it: push it to all who hold it */
    bool on_push_list : 1, on_unfinished_list : 1;
    bool handing : 1;   /* leaver: its heir has not said that it has it */
    bool returned : 1;  /* leaver: it was returned to its chair in this epoch, */
    bool returning : 1; /* which has not answered */
    bool sees_out : 1; /* leaver: it waits for the end of this task, which it spawned */
    bool entrusted : 1;  /* heir: its bytes are kept for one who leaves */
    bool takes_away : 1; /* some of its inputs are away (stub.c) */
    bool let_go : 1;     /* the program uses it no more */
    bool counted : 1; /* in its chunk's facts, as one that is quiet (release_count.c) */
    uint32_t chair;
    uint32_t rec; /* as chair: whom it decided for; NOBODY; MAYBE_RAN */

    uint32_t owner;             /* whose result is here, or its own; NOBODY */
    uint32_t needs_done;        /* open needs for its end */
    uint32_t needs_data;        /* open needs for its bytes */
    uint32_t users;             /* owned tasks, not done, that take its bytes */
    struct task_ext *task_ext;  /* NULL: as if it had just been made */
    struct requests *requests;  /* NULL: nobody asked */
    uint32_t said, heard;       /* messages about it, in this epoch */
    struct rankset *candidates; /* NULL: all, or unknown if `finder` */
    int32_t status;
    uint32_t lane_needs; /* those of lanes and of running parents */
    struct scope *scope; /* NULL: none */

    uint64_t size; /* of the result */
    uint64_t need; /* demand bound: least over all waits and askers */
    const char *site;
    struct task *scope_next, *scope_prev;

    /* The one list that it is on: pending, unfinished, or (`next` alone) to push. */
    struct task_links {
        struct task *prev, *next;
        union {
            uint64_t since_ns;   /* when it became pending, if it is; */
            uint64_t asked_need; /* the bound in the last motion, if it is asked for */
        };
    } at;
    uint32_t pushed;     /* a bit per rank below PUSHED_NEAR that was sent the result */
    uint8_t asked_want;  /* in the last motion, if it is asked for */
    uint8_t room_inputs; /* so many edges fit behind it */
    uint16_t after_count; /* the last of its inputs, which are order only */
};
static_assert(LIMIT_INPUTS <= UINT16_MAX && LIMIT_LANES <= UINT16_MAX,
              "inputs and lanes are counted in 16 bits");
static_assert(sizeof(struct task) <= CORE_ENTRY_BYTES && CORE_ENTRY_BYTES <= 200,
              "the host's part stands behind it; its memory is what a live task costs");
static_assert(offsetof(struct task, size) == 128, "what a drop looks at: two lines");

/* What a member said of a scope that is about to end. */
struct scope_report {
    bool known, rests, ready, swept;
    uint64_t answered; /* the round of its last ANSWER */
    uint64_t count, sent, received;
    struct rollsum sum;
};

/* A scope that has ended, and in which view this rank heard of it. */
struct ended {
    uint64_t mark, epoch;
    uint64_t number; /* so many had, from 1 */
    bool from_lowest;
};

/* A scope that this rank has met and that has not ended everywhere (scope.c). */
struct scope {
    uint64_t mark;  /* hash_scope() of its tasks */
    moot_hash hash; /* its own, or that of a task in it */
    struct scope *next, *bucket_next, *watch_next;
    struct task *tasks;      /* list */
    uint64_t count;          /* of them, on this rank's roll, */
    struct rollsum sum;      /* and their sum */
    uint64_t sent, received; /* messages about its tasks, in this epoch */
    bool closed, released;   /* here, by the program */
    bool watched;            /* on the list of those that may be ready soon */
    bool touched;            /* a message was about it since `cursor` began */
    bool rests, rested;      /* here; everywhere */
    bool told_rests, told_ready,
        told_swept; /* what the lowest member knows, with these: */
    uint64_t told_sent, told_received;
    bool sweep_asked, swept; /* T1a */
    bool dropping, alike;
    bool feeds_looked;
    struct task *cursor;  /* none before it is busy; NULL: begin anew */
    struct task *feeder;  /* none before it feeds a task outside, */
    struct edge *feeding; /* none of its edges before this one; NULL: begin anew */
    struct scope_report *tally; /* lowest member: per rank */
    uint32_t tally_count;       /* of ranks */
    uint32_t known;             /* so many members have said something, */
    uint32_t awaited;           /* and all below this one, or have closed */
    uint64_t asked;             /* the round in which this rank is to ANSWER; 0: none */
    uint64_t asked_after;       /* so many scopes had ended when it was asked last */
    uint64_t round;             /* of asking; 0: none */
    uint64_t round_open;        /* answers still to come; 0: it is over */
    bool round_failed, sweep_sent;
};

struct lane {
    enum core_lane_state state;
    struct page *pages; /* the roll's tasks, `len` of them (forget.c) */
    uint32_t page_room;
    uint64_t len;
    struct chunk *chunks;
    uint32_t chunk_count, chunk_room;
    uint32_t chunk_last;     /* whose facts were asked for; any number */
    uint32_t chunks_dead;    /* of which nothing is left */
    struct rollsum open_sum; /* of what stands behind the last chunk */
    uint64_t open_first;
    uint64_t open_scope;
    uint32_t open_forgotten;
    struct chunk_facts open_facts;
    uint64_t announced; /* positions told to peers so far, partial chunk included */
    uint64_t *agreed;   /* per rank: its lane equals ours up to here */
    /* Above direct_max members, instead: */
    struct chunk part[PARTS_MAX]; /* of chunks that were not whole when told */
    uint32_t part_count;
    uint32_t chunks_told; /* chunks before this one have been told to all partners */
};

/* What this rank knows of a peer from the peer itself.  Up to PEERS_ALL_MAX ranks there
 * is a record for each; above that only for those with whom there was something to
 * do. */
struct peer {
    uint32_t rank;
    uint64_t heard_ns;
    uint64_t granted_ns;     /* when this rank last granted it a lease */
    uint64_t grant_token_ns; /* when the heartbeat left that it granted last, */
    uint64_t granted_epoch;  /* in this epoch */
    uint64_t vouched_ns;     /* until then another member's word stands for it */
    uint64_t told_view_ns;   /* not told the present view again before */
    uint64_t spoke_epoch; /* the last in which it was heard while this rank was there */
    struct rankset suspects; /* whom it says that it suspects */
    struct message_state state;
    uint64_t state_stirs; /* how much had stirred when it came (timers.c) */
    char *site;
    moot_hash waits_for;
    struct announced *announced; /* unresolved ones */
    uint32_t announced_count, announced_room;
    uint32_t open_count;        /* those from here on differ from our roll for good */
    struct estimate round_trip; /* from a heartbeat to its grant, but for the first */
    bool trip_seen;
    uint64_t beat_ns; /* when its last heartbeat came, */
    uint64_t gap_ns;  /* and the longest between two; fades */
    uint64_t wins;    /* yields given to it by this chair */
    bool swept;       /* T1a is done towards it: it has closed and knows what we hold */
    struct message_pollr pollr;
    moot_hash orphan;
};

/* Memory that is used again, by size. */
enum { MEMORY_STEP_BYTES = 16, MEMORY_STEPS = 64, MEMORY_CLASSES = MEMORY_STEPS + 12 };
struct memory {
    struct block *blocks;
    void *free[MEMORY_CLASSES]; /* linked by their first bytes */
};

struct outputs {
    struct core_output *items;
    size_t count, room;
    struct block *arena; /* what outputs borrow, until the next step */
};

struct poll {
    uint64_t round;
    uint64_t next_ns;  /* no poll before */
    uint64_t pause_ns; /* doubles while polls find nothing */
    uint32_t answers;  /* of children */
    uint32_t asker;    /* whom to answer; NOBODY: the round is our own */
    struct message_pollr own;
    moot_hash own_orphan;
    bool open;
    bool visited; /* own was said in this view */
    bool matched; /* the round before was quiet, with this sum, */
    bool passive; /* and everyone passive, not only at rest */
    uint64_t sent;
};

/* T1a where there are many (close_reduce.c). */
struct close_reduce {
    struct close_reduce_child {
        bool in;       /* its first answer is */
        bool alike;    /* all below it have the same roll: `tasks` with `sum` */
        bool asked;    /* ... and it is not ours: told to say all of it, */
        bool answered; /* which it has */
        uint32_t ranks;
        uint64_t tasks;
        struct rollsum sum;
    } child[TREE_ARITY];
    bool told;      /* to the parent; at the root: all is done */
    uint32_t ranks; /* below and with this one, once told */
    struct message_counted *items;
    uint32_t count, room;
    uint32_t *index; /* of items plus one, by hash; open addressing */
    uint32_t index_size;
};

/* This rank drains and goes (leave.c). */
struct leave {
    bool going;
    bool returned;     /* what it had not started, in some view (give_all_back) */
    bool told;         /* the members of this view know */
    bool accepts_told; /* what it accepted as a voter is handed over */
    bool ready;        /* nothing is left to hand over: it does no more */
    uint64_t untaken;  /* what heirs have not said that they have */
};

enum paxos_phase { PAXOS_IDLE, PAXOS_PREPARING, PAXOS_PROPOSING };

/* The slot of the next view (view_paxos.c). */
struct paxos {
    uint64_t promised, accepted; /* as acceptor: ballots */
    struct view value;           /* accepted */
    uint64_t pending_ballot;     /* proposed to us, not voted for yet; 0: none */
    uint64_t pending_due_ns;
    uint32_t pending_from;
    bool
        pending_adopted; /* it was accepted before: no suspicion of our own is needed */
    struct view pending;
    enum paxos_phase phase; /* as proposer */
    uint64_t round, ballot;
    uint64_t best; /* ballot of the proposal if it is an accepted value; 0: our own */
    struct view proposal;
    struct rankset voices; /* promises or votes */
    struct rankset listed; /* certified dead in this ballot's messages */
    uint64_t cause_since_ns, next_try_ns, give_up_ns;
    struct message_newcomer *joiners;
    uint32_t joiner_count, joiner_room;
};

/* A message of a later epoch, kept until this rank enters it. */
struct held {
    struct held *next;
    uint64_t uid; /* of its sender, whose rank may not be known yet */
    struct message *message;
};

/* How far the members of a large view have come, as seen from one place in the tree. */
struct barrier_count {
    bool mine, passed; /* this rank has; it has said so to its parent, or is the root */
    uint32_t below;    /* a bit per child: everyone below it has */
};

struct view_barrier {
    uint32_t untaken; /* chairs that have not said that this rank's report is there */
    bool all_settled;
    struct barrier_count counts[TALLY_END];
};

struct difference {
    bool found, declared;
    uint32_t lane;
    uint64_t position;
    uint64_t declare_ns;
    uint32_t side_count;
    struct {
        moot_hash hash;
        char site[LIMIT_SITE_BYTES + 1];
        struct rankset ranks;
    } side[4];
};

/* No motion on the pending list is due before: one that a remote rank waits for, or
 * that goes out with the turn; of the others, while this rank is busy, and while it is
 * idle, which it may be and cease to be with every kernel. */
struct pending_due {
    uint64_t urgent_ns, busy_ns, idle_ns;
};
#define PENDING_NEVER ((struct pending_due){CORE_NEVER, CORE_NEVER, CORE_NEVER})

struct core {
    struct core_options options;
    uint32_t rank, size;
    uint64_t uid;
    uint64_t epoch, view_id;
    uint32_t first_size; /* ranks of the first view; later ones have joined */
    struct past *past;   /* views since the last that all its members had settled */
    uint32_t past_count;
    struct loss *losses; /* ever */
    uint32_t loss_count, loss_room;
    bool losses_unknown; /* a newcomer: there may have been some before its time */
    bool settled; /* all have reported in this epoch, and frozen keys are decided */
    struct rankset reported, settled_peers;
    bool large; /* more than direct_max members: a committee, and a tree */
    struct rankset committee; /* of a small view: the members */
    uint32_t committee_count;
    bool certificate_due; /* the committee is yet to be told of one */
    struct view_barrier tally;
    uint32_t reaccepting; /* once records that wait for their voters, plus one */
    struct paxos paxos;
    struct rankset suspects, dead; /* dead: certified */
    struct leave leave;
    struct rankset leavers;       /* members that drain, as far as this rank knows, */
    struct rankset leavers_ready; /* and those that have, in this view */
    struct rankset retired;       /* who left in good order, ever */
    bool begun, voted_next, no_quorum, fenced;
    uint64_t opened_ns; /* no member can have removed this rank before that + T_lease */
    uint64_t entered_ns, heartbeat_due_ns, join_due_ns;
    uint64_t watched_ns, lacked_ns; /* without a lease, as of that turn (T_q) */
    uint32_t join_next;             /* a newcomer: whom it asks next */
    struct held *held_first, **held_last;
    uint64_t sent_before[MESSAGE_TYPE_END], received_before[MESSAGE_TYPE_END];
    uint64_t now_ns;
    uint64_t vote_timeout_ns; /* as it is now: set, or learnt from */
    struct quantiles *claims; /* how late this chair's were; NULL: none was */
    uint32_t unwell;          /* how often its own heartbeats were late, lately */
    uint32_t early_beats;     /* of those that come more often, at the beginning */
    struct rankset members;
    uint32_t member_count;
    uint64_t *uids;      /* per rank */
    uint32_t *hosts;     /* per rank */
    struct peer **peers; /* per rank; NULL: none yet (peers.c) */
    struct peer **known; /* those that are there, in the order in which they came */
    uint32_t known_count, known_room;
    struct tree_place tree; /* over the members, from the lowest rank */
    uint32_t parent;        /* whom this rank answers; NOBODY: it asks */
    uint32_t *children;     /* who answer it: of the tree, or all others to the root */
    uint32_t child_count, child_room;
    uint32_t place;                  /* how many members have a lower rank */
    uint32_t partners[PARTNERS_MAX]; /* the members 1, 2, 4, ... places on */
    uint32_t partner_count;
    uint64_t spread_due_ns; /* the next turn; CORE_NEVER: nothing is new */
    uint64_t spread_ns;     /* no turn before */
    struct close_reduce census;
    struct peer nobody;   /* stands in for a record that there is no memory for, */
    struct task_ext none; /* as does this */

    struct task **slots;    /* task_table.c; NULL: free; or a stub (stub.h) */
    uint32_t *tags;         /* zero: that is free */
    struct rankset *single; /* sets of one of the ranks 0..63, shared; NULL: none yet */
    size_t slot_count;
    size_t record_bytes;  /* of a task, with what is the host's */
    struct memory memory; /* records and edges */

    struct lane *lanes;
    uint32_t lane_count;
    uint64_t roll_len;
    struct chunk_place *by_sum; /* complete chunks by sum, open addressing; roll.c */
    size_t by_sum_room, by_sum_count;

    uint32_t running;          /* CORE_OUT_RUN not answered, minus those that wait */
    bool deferred;             /* once tasks wait for a lease */
    uint64_t unfinished_count; /* owned, not done */
    uint64_t open_needs;
    bool closed, adjourned, blocked, idle;
    bool any_declined; /* some task, ever */
    uint64_t idle_since_ns;
    int32_t exit_code;
    struct scope **scope_buckets; /* those that have not ended, by mark */
    struct scope *scopes_watched, *watched_last, *scopes_dropping;
    bool asks_open;      /* some of those watched are to ANSWER */
    uint64_t *marks;     /* of those that have ended: open addressing */
    struct ended *ended; /* those of which a member of this view may not know yet */
    uint32_t ended_count, ended_room;
    uint64_t ended_ever;
    size_t mark_count, mark_room;
    struct drop drop;
    struct mail {
        struct outgoing *items;
        uint32_t count, room;
    } mail; /* reports that wait until it is known what has left */
    bool mail_waits, entering;
    bool scope_work; /* there is more to do at once */
    bool forget_due; /* of what is dropped: with the next message or tick */

    /* List heads: needs not asked for yet, those that are looked at first; now. */
    struct task pending, waited, asking;
    struct pending_due pending_due;
    struct task undecided; /* list head, through requests: oldest first */
    struct requests undecided_requests;
    struct task *votes_tested; /* up to this one vote timeouts have been acted on */
    struct bounds {
        struct bound {
            uint64_t need;
            struct task *task;
        } *items; /* a heap: none is less than the first */
        uint32_t count, room;
    } bounds;           /* of the undecided that somebody waits for (requests.c) */
    uint64_t yields_ns; /* all is quiet: what was asked until then goes; 0: nothing */
    struct task unfinished; /* list head */
    struct task *push_list; /* waited for by a lane here, and owned here */
    struct task **visits;   /* the worklist of demand.c */
    uint32_t visit_count, visit_room;
    uint32_t asks_within;   /* so many stand one within the other */
    struct task *last_wait; /* the latest lane need, for STATE */

    uint64_t state_sent_ns;
    uint64_t gossip_ns; /* when rolls or the state were told last */
    struct message_state state_sent;
    moot_hash state_waits_for;
    bool state_ever;
    bool knowledge_grew;   /* gossip taught something in this step, */
    bool knowledge_wide;   /* of several, or since the view is new; else */
    uint32_t knowledge_of; /* of this rank alone */

    struct poll poll;
    struct difference difference;

    size_t stub_count;      /* stub.c */
    size_t away_count;      /* inputs of records */
    uint32_t regrets;       /* stubs expanded again, less those that were not */
    uint64_t records_until; /* none is made before so many were registered */

    struct outputs out;
    struct core_stats stats;
    uint64_t turn_due_ns; /* something happened since the last TICK */
    bool broken;          /* out of memory in mid-step: every later step fails */
};

#include "consensus/state/rooms.h"

#endif
