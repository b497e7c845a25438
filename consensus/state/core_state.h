/* core_state.h - the state of a core: one part for each room, and who writes it.
 *
 * The records that the parts consist of stand in files of their own: task_record.h,
 * stub.h, scope_record.h, chunk.h, peer_record.h, view_record.h.  Which room writes
 * what is checked by `make layers`; a room that wants another's state changed calls
 * that room, or sets a flag that the other looks at in its own turn.
 */
#ifndef CONSENSUS_STATE_CORE_STATE_H
#define CONSENSUS_STATE_CORE_STATE_H

#include "consensus/core.h"
#include "consensus/core_view.h"
#include "consensus/mutant.h"
#include "consensus/state/lot.h"
#include "consensus/state/peer_record.h"
#include "consensus/state/scope_record.h"
#include "consensus/state/task_record.h"
#include "consensus/state/tree.h"
#include "consensus/state/view_record.h"
#include "hashing/base/fetch_ahead.h"
#include "hashing/identity.h"
#include "hashing/placement.h"
#include "proto/limits.h"

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
/* And for a portable array, whose elements others could run meanwhile, after so many.
 */
enum { ASK_PORTABLE_FACTOR = 4 };

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

/* Who watches the members and decides about the next view: all members, or in a large
 * view a few of them (committee.c). */
#define FOR_COMMITTEE(core, rank)                                                      \
    for (uint32_t rank = rankset_next(&(core)->membership.committee, 0);               \
         rank != NOBODY; rank = rankset_next(&(core)->membership.committee, rank + 1))

static inline uint64_t add_ns(uint64_t a, uint64_t b)
{
    return a > CORE_NEVER - b ? CORE_NEVER : a + b;
}

struct mail_item;

/* Memory that is used again, by size. */
enum { MEMORY_STEP_BYTES = 16, MEMORY_STEPS = 64, MEMORY_CLASSES = MEMORY_STEPS + 12 };
struct memory {
    struct memory_block *blocks;
    size_t blocks_bytes; /* of those for many records */
    void *spare;         /* put aside (options.spare_bytes); NULL: memory is short */
    size_t spare_bytes;
    void *free[MEMORY_CLASSES]; /* linked by their first bytes */
};

/* The agenda: what is to be done before the step ends (agenda.c). */
struct agenda {
    struct task_record **items; /* from `first` on; each task stands in it once */
    uint32_t first, count, room;
    struct own_message *mail, **mail_last; /* to this rank itself */
    unsigned due;                          /* AGENDA_SPLITS ... */
};

struct outputs {
    struct core_output *items;
    size_t count, room;
    struct memory_block *arena; /* what outputs borrow, until the next step */
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
    bool told;                /* to the parent; at the root: all is done */
    uint32_t ranks;           /* below and with this one, once told */
    uint64_t common, partial; /* at the root: tasks that all hold, or only some */
    struct message_counted *items;
    uint32_t count, room;
    uint32_t *index; /* of items plus one, by hash; open addressing */
    uint32_t index_size;
};

/* A message of a later epoch, kept until this rank enters it. */
struct held {
    struct held *next;
    uint64_t uid; /* of its sender, whose rank may not be known yet */
    struct message *message;
};

struct difference {
    bool found, declared;
    uint32_t lane;
    uint64_t position;
    uint64_t declare_ns;
    uint64_t
        passed_on_in; /* the view in which it went up to who declares it; 0: none */
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

/* Records, tables and memory, and the timers that are learnt: written by state/. */
struct core_state {
    uint64_t vote_timeout_ns; /* as it is now: set, or learnt from */
    struct quantiles *claims; /* how late this chair's were; NULL: none was */
    uint32_t unwell;          /* how often its own heartbeats were late, lately */
    uint32_t early_beats;     /* of those that come more often, at the beginning */
    uint64_t *uids;           /* per rank */
    uint32_t *hosts;          /* per rank */
    struct peer **peers;      /* per rank; NULL: none yet (peers.c) */
    struct peer **known; /* those that are there, in the order in which they came */
    uint32_t known_count, known_room;
    /* Newcomers whose rolls begin behind a place (V5), with their places, which are
     * memory of their own. */
    struct message_newcomer *beginnings;
    uint32_t beginning_count, beginning_room;
    struct peer nobody;   /* stands in for a record that there is no memory for, */
    struct task_ext none; /* as does this */

    struct task_record **slots; /* task_table.c; NULL: free; or a stub (stub.h) */
    uint32_t *tags;             /* zero: that is free */
    struct rankset *single; /* sets of one of the ranks 0..63, shared; NULL: none yet */
    size_t slot_count;
    size_t record_bytes;                 /* of a task, with what is the host's */
    struct memory memory;                /* records and edges */
    struct scope_record **scope_buckets; /* those that have not ended, by mark */
    struct scope_record *scopes_watched;
    struct scope_record *watched_last;
    uint64_t *marks; /* of those that have ended: open addressing */
    size_t mark_count, mark_room;
    moot_hash *once; /* once tasks that were dropped: open addressing */
    size_t once_count, once_room;
    struct kept_once *kept; /* likewise, those that this rank has owned (once_kept.c) */
    uint32_t kept_count, kept_room;
    uint64_t released_ever; /* so often something came to be droppable, or may have */
    struct held *held_first, **held_last; /* messages to be taken later (held.c) */

    size_t stub_count;      /* stub.c */
    size_t away_count;      /* inputs of records */
    uint32_t regrets;       /* stubs expanded again, less those that were not */
    uint64_t records_until; /* none is made before so many were registered */

    struct agenda agenda;
    uint64_t untaken; /* tasks that a leaver has given away, and that are not taken */

    struct outputs out;
};

/* The roll, and what is told and known of rolls: written by gossip/. */
struct core_gossip {
    struct tree_place tree; /* over the members, from the lowest rank */
    uint32_t parent;        /* whom this rank answers; NOBODY: it asks */
    uint32_t *children;     /* who answer it: of the tree, or all others to the root */
    uint32_t child_count, child_room;
    uint32_t place;                  /* how many members have a lower rank */
    uint32_t partners[PARTNERS_MAX]; /* the members 1, 2, 4, ... places on */
    uint32_t partner_count;
    uint64_t spread_due_ns; /* the next turn; CORE_NEVER: nothing is new */
    uint64_t spread_ns;     /* no turn before */

    struct lane_record *lanes;
    uint32_t lane_count;
    uint64_t roll_len;
    struct chunk_place *by_sum; /* complete chunks by sum, open addressing; roll.c */
    size_t by_sum_room, by_sum_count;

    bool differs;        /* some peer's roll did, ever */
    bool knowledge_grew; /* gossip taught something in this step, */
    uint64_t before;     /* newcomer: tasks on the longest roll when it came */
    bool before_known;
    bool knowledge_wide;   /* of several, or since the view is new; else */
    uint32_t knowledge_of; /* of this rank alone */
    struct difference difference;
    bool ends_here; /* strict: all rest, so what others have behind this roll differs */
};

/* Needs, requests and owned tasks: written by ownership/. */
/* A lane's wait for a stretch of its roll (ownership/await.c). */
struct await {
    uint32_t lane;
    uint64_t first, last; /* positions, */
    uint64_t cursor;      /* before which all that is this rank's has ended */
    uint64_t since_ns;
    bool news;  /* something is to be looked at */
    bool mute;  /* of some no word can be said: this rank chairs and has not run them */
    bool apart; /* of some more is to be said than a word */
    bool told;  /* the host: what has not ended is to be asked for; */
    bool asked; /* which it is */
    bool shares; /* one is a portable array: idle ranks are to hear of it */
};

/* An ENDED, as far as it was looked at. */
struct ended_word {
    uint32_t rank, lane;
    uint64_t first;
    uint32_t count;
    struct rollsum sum;
    bool compared, equal; /* to what stands here */
};

/* Stretches of which words were said or heard lately. */
struct told_stretches {
    struct told_stretch {
        uint32_t lane;
        uint64_t first, last;
        struct rankset ranks; /* to whom, or by whom */
    } *items;
    uint32_t count, room;
};

struct core_ownership {
    uint32_t reaccepting; /* once records that wait for their voters */

    uint32_t running;          /* CORE_OUT_RUN not answered, minus those that wait */
    bool deferred;             /* once tasks wait for a lease */
    uint64_t unfinished_count; /* owned, not done */
    uint64_t open_needs;

    /* List heads: needs not asked for yet, those that are looked at first; now. */
    struct task_record pending, waited, asking;
    struct pending_due pending_due;
    struct task_record undecided; /* list head, through requests: oldest first */
    struct requests undecided_requests;
    struct task_record
        *votes_tested; /* up to this one vote timeouts have been acted on */
    struct bounds {
        struct bound {
            uint64_t need;
            struct task_record *task;
        } *items; /* a heap: none is less than the first */
        uint32_t count, room;
    } bounds;           /* of the undecided that somebody waits for (requests.c) */
    uint64_t yields_ns; /* all is quiet: what was asked until then goes; 0: nothing */
    struct task_record unfinished; /* list head */
    struct task_record *push_list; /* waited for by a lane here, and owned here: */
    uint32_t push_count;           /* so many */
    struct task_record *last_wait; /* the latest lane need, for STATE */
    struct awaits {
        struct await *items;
        uint32_t count, room;
        struct ended_word *words; /* as they came */
        uint32_t word_count, word_room;
        struct told_stretches said, heard;
        struct ended_word summed; /* a stretch, and its sum here; count 0: none */
    } awaits;
};

/* Task arrays: written by elements/. */
struct core_elements {
    struct rankset homes;      /* the ranks of the first view (A3): 0 and on, */
    uint32_t home_count;       /* so many */
    struct array_record known; /* list heads: those for which nothing is to be done, */
    struct array_record watched; /* and those that this rank chairs and that are open,
                                    or whose chairs wait for its word; due ones first */
    uint64_t running; /* elements that the host has and that have not ended, */
    uint64_t waiting; /* and of them, those that wait for tasks; */
    uint64_t reads;   /* running tasks that wait for elements which are made again */
    bool any_gone;    /* a home of some array is no member of this view */
    bool any_spare;   /* some array has had something of the kind, in this view */
    bool wanted;      /* some array's chair waits for this rank's word on its stretch */
    uint64_t look_ns; /* when all that are watched are looked at, besides those that
                         are due; CORE_NEVER */
    bool any_portable;     /* an array whose spec may travel has been here */
    uint64_t busy_look_ns; /* as look_ns, for those while elements run here */
};

/* Scopes and chunks on their way out: written by reclaim/. */
struct core_reclaim {
    struct scope_record *scopes_dropping;
    bool asks_open;      /* some of those watched are to ANSWER */
    struct ended *ended; /* those of which a member of this view may not know yet */
    uint32_t ended_count, ended_room;
    uint64_t ended_ever;
    struct drop drop;
    struct lots lots;
    bool scope_work; /* there is more to do at once */
    bool forget_due; /* of what is dropped: with the next message or tick */
};

/* Messages of the host's own (MESSAGE_IS_HOST) in this view; of a view that is to come
 * those from others who are in it already. */
struct own_counts {
    uint64_t sent, taken;
    uint64_t next_epoch, next_view_id, next_taken;
};

/* The state that this rank has told, and whether anything still moves: written by
 * termination/. */
struct core_termination {
    uint64_t state_sent_ns;
    uint64_t gossip_ns; /* when rolls or the state were told last */
    struct message_state state_sent;
    moot_hash state_waits_for;
    bool state_ever;

    struct close_reduce close_reduce;
    bool adjourned;

    struct poll poll;
    struct own_counts own;
};

/* Meetings: written by meeting/. */
/* Words with which ranks came to one, one behind the other. */
struct meeting_words {
    unsigned char *bytes;
    size_t size;
    bool too_long; /* and hence not kept */
};

/* The word of a child in the tree, of itself and all below it, in this view. */
struct meeting_below {
    uint64_t number; /* the meeting that they have come to; 0: none, */
    uint64_t passed; /* the last that none of them comes to; */
    bool closed;     /* they are over, */
    bool mixed;      /* not all for the same */
    bool all;        /* all of them came, */
    moot_hash wanted;
    struct rankset came; /* or these, */
    struct meeting_words words;
    uint32_t generation; /* that they have come for; 0: to no reload */
};

struct core_meeting {
    uint64_t number; /* of this rank's last: so many it has come to */
    uint64_t from;   /* a newcomer: it came to none up to this one, which has met; */
    bool from_due;   /* that is yet to be said in this view */
    uint64_t *stood; /* strict: how long so many lanes were when it came to its last */
    uint32_t stood_lanes; /* boundary, or closed */
    moot_hash purpose;    /* of that; or the snapshot, */
    uint32_t generation;  /* if it is to begin this one, or a later one; 0: no reload */
    struct meeting_words own;
    uint64_t met; /* the last of which it knows the outcome, */
    int32_t code; /* which is this */
    struct rankset came;
    struct meeting_words told;
    uint32_t told_generation;     /* of that one, if it was of a reload; 0: none, */
    moot_hash told_snapshot;      /* and its snapshot */
    struct message_reload reload; /* the last that is decided: a view begins it */
    uint32_t tried;               /* the latest generation of any, failed ones too */
    bool reloads;                 /* this rank's program waits for that view */
    /* The lowest member: who has come to the next, what for, and who never will. */
    struct rankset here, closed;
    struct rankset passed; /* newcomers that do not come to it */
    struct meeting_words said_here;
    moot_hash wanted;
    uint32_t wanted_generation; /* a reload's; 0: it is none */
    bool marks;                 /* the disk is told so, and has yet to answer, */
    bool marked;                /* or has, */
    int32_t mark_code;          /* so */
    bool mixed;                 /* not all for the same */
    bool held_up; /* all have come, and it is not over before somebody is let in */
    /* Among many, in this view: of each child; and what this rank has said of all. */
    struct meeting_below below[TREE_ARITY];
    uint64_t said;    /* the meeting that they have come to; 0: none */
    bool said_closed; /* they are over */
};

/* Snapshots: written by snapshot/. */
enum { SNAPSHOT_ASKS_MAX = 16, SNAPSHOT_RECENT = 8 };
struct snapshot_name {
    uint32_t size;
    char bytes[LIMIT_SNAPSHOT_NAME_BYTES];
};

struct core_snapshot {
    /* Asked for by this rank's program, and not answered. */
    struct snapshot_name asks[SNAPSHOT_ASKS_MAX];
    uint32_t ask_count;
    /* In this view: its newest cut here, that which messages carry, as it is not over,
     * and the last that this rank has heard to be over; 0: none. */
    uint32_t cut, colour, over;
    /* The lowest member: begun so many in this view; the last one goes on, */
    uint32_t number;
    bool on, commits; /* and all have prepared, and the disk is told so; */
    struct snapshot_name name;
    struct rankset prepared;
    struct core_part *parts; /* of those, in the order in which they came */
    uint32_t part_count, part_room;
    struct snapshot_name *queue; /* those that come next; */
    uint32_t queue_count, queue_room;
    struct {
        struct snapshot_name name;
        uint32_t number;
    } recent[SNAPSHOT_RECENT]; /* and the last that are over, by number */
};

/* The view, its members, and the next view: written by membership/. */
struct core_membership {
    uint32_t first_size; /* ranks of the first view; later ones have joined */
    struct past *past;   /* views since the last that all its members had settled */
    uint32_t past_count;
    struct loss *losses; /* ever */
    uint32_t loss_count, loss_room;
    bool losses_unknown; /* a newcomer: there were more before its time than a view
                            can tell */
    bool deciding; /* all have reported in this epoch, and frozen keys are decided; */
    bool settled;  /* and what was decided has been accepted again */
    struct rankset reported, settled_peers;
    bool large; /* more than direct_max members: a committee, and a tree */
    struct rankset committee; /* of a small view: the members */
    uint32_t committee_count;
    bool certificate_due; /* the committee is yet to be told of one */
    struct view_barrier barrier;
    struct paxos paxos;
    struct rankset suspects, dead; /* dead: certified */
    struct leave leave;
    struct rankset leavers;       /* members that drain, as far as this rank knows, */
    struct rankset leavers_ready; /* and those that have, in this view */
    struct rankset retired;       /* who left in good order, ever */
    bool voted_next;
    bool no_quorum;
    bool fenced;
    uint64_t entered_ns, heartbeat_due_ns, join_due_ns;
    uint64_t watched_ns, lacked_ns; /* without a lease, as of that turn (T_q) */
    uint32_t join_next;             /* a newcomer: whom it asks next */
    uint64_t sent_before[MESSAGE_TYPE_END], received_before[MESSAGE_TYPE_END];
    struct mail {
        struct mail_item *items;
        uint32_t count, room;
        struct rankset also; /* large views: chairs of arrays, who were told ahead */
    } mail;                  /* reports that wait until it is known what has left */
    bool mail_waits;
};

/* Signatures of the program's state: written by signature/. */
enum { DISPUTES_MAX = 4 };
struct core_signature {
    struct signatures *own; /* NULL: the program has given none */
    bool untold;            /* not all of these are told */
    uint8_t told_of;        /* TOLD_*, of this rank itself */
    uint64_t heard_last;    /* the last step that a peer has told */
    struct signature_dispute {
        uint64_t step, until_ns;
    } disputes[DISPUTES_MAX];
    uint32_t dispute_count;
};

/* The step itself, and how this rank's program stands: written by step/. */
struct core_step {
    uint64_t ticks; /* so far */
    bool begun;
    uint64_t opened_ns; /* no member can have removed this rank before that + T_lease */
    bool closed;
    bool blocked;
    bool idle;
    bool settled;      /* as membership.settled was at the last look */
    bool any_declined; /* some task, ever */
    uint64_t idle_since_ns;
    int32_t exit_code;
    uint64_t turn_due_ns; /* something happened since the last TICK */
};

/* A core: who it is in which view, and one part for each room.  All rooms read all of
 * it; a room writes its own part, and step/ and membership/ the plain fields. */
struct core {
    struct core_options options;
    uint32_t rank, size;
    uint64_t uid;
    uint64_t epoch, view_id;
    uint64_t now_ns;
    struct rankset members;
    uint32_t member_count;
    struct message_reload reload; /* by which this rank's tasks began, */
    uint64_t reload_epoch;        /* in this view; 0: none; */
    uint64_t reload_behind;       /* the one before; a newcomer's: 0 */
    struct core_stats stats;
    bool broken; /* out of memory in mid-step: every later step fails */
    struct core_state state;
    struct core_gossip gossip;
    struct core_ownership ownership;
    struct core_elements elements;
    struct core_reclaim reclaim;
    struct core_termination termination;
    struct core_meeting meeting;
    struct core_snapshot snapshot;
    struct core_membership membership;
    struct core_signature signature;
    struct core_step step;
};

#endif
