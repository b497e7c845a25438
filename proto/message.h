/* message.h - what ranks say to each other, as plain structs.
 *
 * The consensus core speaks these; wire.h turns them into bytes and back.  A message
 * borrows every pointer in it: from the decode arena on the way in, from the sender's
 * core or the result store on the way out.  consensus/PROTOCOL.md gives their meaning.
 * KERNEL, FAMILY, INQUIRY, ACCOUNT, PARTS and the payload of RESULT are node/'s alone.
 */
#ifndef PROTO_MESSAGE_H
#define PROTO_MESSAGE_H

#include "hashing/moot_hash.h"
#include "hashing/rankset.h"
#include "hashing/rollsum.h"
#include "proto/limits.h"
#include "proto/message_beat.h"
#include "proto/message_elements.h"
#include "proto/message_ended.h"
#include "proto/message_snapshot.h"
#include "proto/message_spec.h"
#include <stddef.h>

/* Properties of a type of messages: the columns of MESSAGE_TYPES. */
enum {
    MESSAGE_IS_TASK = 1,   /* its hash is a task's */
    MESSAGE_IS_SCOPE = 2,  /* a scope does not end while it is on its way */
    MESSAGE_IS_QUIET = 4,  /* all is not quiet while it is on its way */
    MESSAGE_IS_LATE = 8,   /* who sends it about an ended scope is told so */
    MESSAGE_IS_STIRS = 16, /* whoever waits has a reason to look again at once */
    MESSAGE_IS_PAST = 32,  /* goes past the link layer: a later one supersedes it */
    MESSAGE_IS_PAXOS = 64, /* a ballot about the next view: u.paxos */
    MESSAGE_IS_HOST = 128  /* node/'s own: the core neither sends nor takes it */
};

/* The order is the wire's number, from 1; append only. */
/* clang-format off */
#define MESSAGE_TYPES(X)                                                              \
    /*         task  scope  quiet  late  stirs  past  paxos  host */                  \
    X(MOTION,      1,     1,     1,    1,     1,    0,     0,    0)                   \
    X(DECISION,    1,     1,     1,    1,     1,    0,     0,    0)                   \
    X(RESULT,      1,     1,     1,    0,     1,    0,     0,    0)                   \
    X(PULL,        1,     1,     1,    1,     1,    0,     0,    0)                   \
    X(SEEK,        1,     1,     1,    1,     1,    0,     0,    0)                   \
    X(REFER,       1,     1,     1,    0,     1,    0,     0,    0)                   \
    X(ACCEPT,      1,     1,     1,    1,     1,    0,     0,    0)                   \
    X(ACK,         1,     1,     1,    0,     1,    0,     0,    0)                   \
    X(VERDICT,     1,     1,     1,    0,     1,    0,     0,    0)                   \
    X(ROLL,        0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(WANT,        0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(HASHES,      0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(STATE,       0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(POLL,        0,     0,     0,    0,     1,    0,     0,    0)                   \
    X(POLLR,       0,     0,     0,    0,     1,    0,     0,    0)                   \
    X(RESOLVE,     0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(CHASE,       1,     0,     1,    0,     1,    0,     0,    0)                   \
    X(CANCEL,      1,     1,     1,    0,     1,    0,     0,    0)                   \
    X(DIVERGED,    0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(ADJOURN,     0,     0,     0,    0,     1,    0,     0,    0)                   \
    X(KERNEL,      0,     0,     1,    0,     1,    0,     0,    1)                   \
    X(HEARTBEAT,   0,     0,     0,    0,     0,    1,     0,    0)                   \
    X(GRANT,       0,     0,     0,    0,     0,    1,     0,    0)                   \
    X(PREPARE,     0,     0,     0,    0,     1,    0,     1,    0)                   \
    X(PROMISE,     0,     0,     0,    0,     1,    0,     1,    0)                   \
    X(PROPOSE,     0,     0,     0,    0,     1,    0,     1,    0)                   \
    X(VOTED,       0,     0,     0,    0,     1,    0,     1,    0)                   \
    X(REJECT,      0,     0,     0,    0,     1,    0,     1,    0)                   \
    X(VIEW,        0,     0,     0,    0,     1,    0,     0,    0)                   \
    X(REPORT,      0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(SETTLED,     0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(FENCED,      0,     0,     0,    0,     1,    0,     0,    0)                   \
    X(JOIN,        0,     0,     0,    0,     1,    1,     0,    0)                   \
    X(LEAVE,       0,     1,     1,    0,     1,    0,     0,    0)                   \
    X(RELEASED,    0,     0,     1,    1,     1,    0,     0,    0)                   \
    X(TALLY,       0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(CENSUS,      0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(HANDOVER,    0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(FAMILY,      0,     0,     1,    0,     1,    0,     0,    1)                   \
    X(INQUIRY,     0,     0,     1,    0,     1,    0,     0,    1)                   \
    X(ACCOUNT,     0,     0,     1,    0,     1,    0,     0,    1)                   \
    X(MEET,        0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(LOT,         0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(SNAPSHOT,    0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(SIGNATURE,   0,     0,     1,    0,     0,    0,     0,    0)                   \
    X(ENDED,       0,     0,     1,    0,     1,    0,     0,    0)                   \
    X(ELEMENTS,    1,     1,     1,    0,     1,    0,     0,    0)                   \
    X(PARTS,       0,     0,     1,    0,     1,    0,     0,    1)
/* clang-format on */

enum message_type {
    MESSAGE_NONE,
#define X(name, ...) MESSAGE_##name,
    MESSAGE_TYPES(X)
#undef X
        MESSAGE_TYPE_END
};

/* Per type: MESSAGE_IS_*. */
extern const unsigned char message_types[MESSAGE_TYPE_END];
/* For any of enum message_type. */
static inline bool message_is(enum message_type type, unsigned what)
{
    return (message_types[type] & what) != 0;
}

/* Why a task has the owner that it has.  CLAIM needs no vote; the others are the
 * evidence on which its chair yielded it. */
#define EVIDENCE(X)                                                                    \
    X(CLAIM, "claim")   /* the chair runs it itself */                                 \
    X(CLOSED, "closed") /* the chair's program or scope is over, or a window past */   \
    X(DECLINED, "declined") /* the chair said that it took the other branch */         \
    X(HINT, "hint")         /* an asker's spawn was conditional */                     \
    X(NESTED, "nested")     /* spawned inside a running task */                        \
    X(BLOCKED, "blocked")   /* the chair waits, its roll past the demand bound */      \
    X(TIMEOUT, "timeout")   /* the vote timeout passed */                              \
    X(QUIET, "quiet")       /* nothing moved any more */

enum evidence {
    EVIDENCE_NONE,
#define X(name, text) EVIDENCE_##name,
    EVIDENCE(X)
#undef X
        EVIDENCE_END
};

/* What an asker wants back. */
enum want {
    WANT_NOTHING, /* it only says that it holds the task (or never will) */
    WANT_DONE,    /* to know that it is done, not its bytes */
    WANT_DATA
};

#define NEED_NONE UINT64_MAX /* nobody waits: the demand bound "infinity" */

/* MOTION asker -> chair: the request for a result, and the ballot paper. */
struct message_motion {
    bool holds;
    bool hint;
    bool final; /* with !holds: I never will (closed or declined) */
    enum want want;
    uint64_t need;   /* roll position of the one who waits; 0: it lacks it */
    uint64_t len;    /* the asker's roll length */
    moot_hash scope; /* of the task, if it holds it: evidence is per scope */
    const struct rankset *candidates; /* if it has some and the asker knows them */
    const struct message_spec *spec;  /* if portable and the chair may lack it */
    int32_t priority; /* of who needs it, if above 0; the host's, as in a DECISION */
    uint64_t wait; /* not held: stands for those of this rank that need it, lanes' waits
                       and tasks; equal: the same; 0: not alike to any other's */
};

struct message_asker {
    uint32_t rank;
    enum want want;
    uint64_t need;
};

/* DECISION chair -> owner: you own it, and these wait. */
struct message_decision {
    enum evidence evidence;
    const struct message_asker *askers;
    size_t asker_count;
    uint32_t cancelled_by; /* who has cancelled it, so that it is to end with that,
                              plus 1; 0: nobody */
    int32_t priority;
    bool seen;  /* it has ended well, as somebody knows, and its bytes are gone */
    bool alone; /* it is a suspect: no other kernel runs beside it (T10) */
};

/* How a RESULT's bytes come.  The core chooses: EAGER up to LIMIT_EAGER_BYTES; above
 * that the answer to a request for data is BULK, and so is a push to who will run what
 * takes it up to LIMIT_PUSH_BYTES; any other push is BARE (an offer). */
enum result_data {
    RESULT_BARE,  /* not here: size says how many there are; PULL fetches them */
    RESULT_EAGER, /* in this message */
    RESULT_BULK   /* right behind this frame, on the bulk path */
};

/* RESULT owner -> consumer. */
struct message_result {
    uint64_t owner_uid;
    enum evidence evidence;
    int32_t status; /* MOOT_OK, or the error; then the data are the error's story */
    enum result_data data;
    uint64_t size;       /* of the result, bytes */
    const void *payload; /* RESULT_EAGER: size bytes */
    bool handover;       /* the sender leaves: keep the bytes in its stead */
    uint64_t digest; /* of the bytes, if results are verified; 0: none; the host's */
    uint32_t at;     /* BARE: PULL it from that rank, plus 1; 0: from its owner */
    bool away; /* BARE: the answer to a PULL, which goes to the owner instead; nothing
                  else in the message counts */
    uint32_t part, parts; /* BULK: it brings the n-th part of so many; 0 and 0: all */
};

/* The bytes of a BULK message begin there in the result, and is so many bytes. */
static inline uint64_t result_part_bytes(const struct message_result *result)
{
    return result->parts > 0 ? (result->size + result->parts - 1) / result->parts
                             : result->size;
}
static inline uint64_t result_first(const struct message_result *result)
{
    const uint64_t first =
        result->part > 0 ? (result->part - 1) * result_part_bytes(result) : 0;
    return first < result->size ? first : result->size;
}
static inline uint64_t result_brings(const struct message_result *result)
{
    const uint64_t left = result->size - result_first(result);
    const uint64_t part = result_part_bytes(result);
    return part < left ? part : left;
}

/* REFER finder -> asker: the chair is drawn from these.  Likewise any -> whom it is
 * about to tell of a once task's owner. */
struct message_refer {
    const struct rankset *candidates;
};

struct message_accept {
    bool maybe;      /* no winner: the task may have run */
    uint32_t winner; /* rank */
    uint64_t winner_uid;
};

/* CANCEL anyone -> chair -> owner: end it, if it has not started. */
struct message_cancel {
    uint32_t by; /* rank whose program cancelled it */
};

/* VERDICT chair -> asker: the wait ends without a result; or, for good, the task does.
 * Of a task that has candidates, and that nobody is known to hold, the finder first has
 * all members hold it back. */
enum verdict_what {
    VERDICT_WAIT, /* this wait ends: MAYBE_RAN, RESULT_LOST, CYCLE, ... */
    VERDICT_TASK, /* the task ends so, for all: it is not run any more */
    VERDICT_ASK,  /* finder -> member: hold it back, and say whether you hold it */
    VERDICT_VOID  /* finder -> member: somebody holds it; it goes on */
};
struct message_verdict {
    int32_t code; /* not MOOT_OK */
    enum verdict_what what;
    /* TASK: */
    uint32_t by;     /* the rank that decided so, as its chair or finder, */
    uint64_t epoch;  /* in that view, */
    uint64_t age_ns; /* so long ago */
};

/* ROLL: a chunk, or what there is of the last one, of the announcer's roll; and of the
 * rolls of so many members that come before it, by rank and around. */
struct message_roll {
    uint32_t lane;
    uint64_t first; /* 1-based lane position */
    uint32_t count;
    bool partial;
    struct rollsum sum;
    uint32_t before;
    uint64_t scope; /* hash_scope() of all its tasks; 0: none */
    bool cut;       /* the announcer's roll is cut here because memory is short: cut
                       likewise, and offer to drop it */
};

struct message_want {
    uint32_t lane;
    uint64_t first;
    uint32_t count;
};

/* HASHES: the answer to WANT.  In place of one that has been forgotten stands one that
 * no task has. */
#define MESSAGE_HASH_GONE                                                              \
    {                                                                                  \
        1                                                                              \
    }
struct message_hashes {
    uint32_t lane;
    uint64_t first;
    const moot_hash *hashes;
    const char *const *sites; /* "file:line" each; NULL unless strict mode */
    uint32_t count;
};

/* STATE: what a rank is doing, sent when it goes idle. */
struct message_state {
    bool blocked;
    bool closed;
    bool passive;     /* at rest: a poll may find that all is quiet */
    bool waiting;     /* in a wait: the hash of the message says for what */
    uint32_t lanes;   /* lanes it has */
    uint64_t len;     /* its roll length */
    uint64_t need;    /* of that wait */
    uint32_t load;    /* owned tasks not done */
    const char *site; /* where that task was spawned, or NULL */
};

struct message_poll {
    uint64_t round;
};

/* An orphan is a key that is asked for, and that no member is known to hold.  What is
 * alike in all of this is needed by the same waits: it fails in one round. */
enum orphan_standing {
    ORPHAN_BEREFT,  /* who has left was known to hold it */
    ORPHAN_PERHAPS, /* who has left was its chair, and may have claimed it */
    ORPHAN_UNKNOWN
};
struct message_orphan {
    enum orphan_standing standing;
    uint64_t len;   /* the shortest roll of those who ask, */
    uint32_t asker; /* the lowest rank that has it, */
    uint64_t wait;  /* stands for the waits of all who ask; 0: it fails alone */
};

/* What a polled rank says of the keys that it chairs. */
struct message_pollr {
    uint64_t round;
    bool resting;   /* only a message, a timeout or foreign code can make it act */
    bool passive;   /* only a message can */
    bool closed;    /* and has nothing left to ask or to say */
    bool waits;     /* has an open wait */
    bool orphan;    /* message hash: the least of the orphans */
    bool undecided; /* has an ownerless asked key with a holder */
    bool stuck;     /* owns an unfinished task; stuck_hash is the smallest */
    uint64_t sent, received;
    struct message_orphan least; /* that */
    moot_hash undecided_hash;
    moot_hash stuck_hash;
    int32_t exit_code; /* this rank's verdict on its own run, with closed */
};

/* RESOLVE coordinator -> chair, owner or holder, down the tree: the moot is quiet; end
 * this key.  (TELL: all have closed.) */
enum resolve_what {
    RESOLVE_NOT_HELD,
    RESOLVE_YIELD,
    RESOLVE_CHASE, /* an owner: see whether its waits go in a circle */
    RESOLVE_TELL   /* a holder: tell the chair, which lacks it */
};
struct message_resolve {
    enum resolve_what what;
    struct message_orphan orphan; /* NOT_HELD: all that are alike */
};

/* CHASE: follows waits from owner to owner until a task comes up twice. */
struct message_chase {
    const moot_hash *path; /* the latest, oldest first; message hash is the next one */
    uint32_t path_count;
    uint64_t hops;  /* tasks on all of its way */
    moot_hash mark; /* if the path is not all of it: one before, to be met again */
};

/* DIVERGED (strict): the first difference, to everyone. */
struct message_diverged {
    uint32_t lane;
    uint64_t position;
    uint32_t sides; /* 1 or more */
    struct message_side {
        moot_hash hash; /* zero: the roll ends before */
        const char *site;
        const struct rankset *ranks;
    } side[4];
};

/* ADJOURN: everyone has closed.  Between hosts among many it says besides how far the
 * farewell along the tree is. */
enum adjourn_what {
    ADJOURN_ALL,    /* and the sender has nothing more to say */
    ADJOURN_CLOSED, /* parent -> child: no more than that */
    ADJOURN_BELOW,  /* child -> parent: nor have the sender and all below it */
    ADJOURN_OVER,   /* parent -> child: nor has anybody; go */
    ADJOURN_END
};
struct message_adjourn {
    int32_t exit_code; /* the worst of all ranks */
    enum adjourn_what what;
};

/* FAMILY: what the task left running when it ended, ahead of its RESULT: children that
 * it did not wait for, and what those left that it did. */
struct message_family {
    uint32_t first; /* the place of these in the list of all, from 0 */
    const moot_hash *children;
    uint32_t count;
};

/* KERNEL: how the sender registered a kernel that it is about to use. */
struct message_kernel {
    const char *name;
    uint32_t version;
    uint32_t flags;
    uint32_t rank_plus_one; /* whose registration it is; 0: the sender's */
    const void *build;      /* the build id of the object that has its code; */
    size_t build_size;      /* in bytes; 0: unknown */
};

/* A view: what the slot `epoch` of the membership holds. */
struct message_view {
    uint64_t epoch;
    const struct rankset *members;
    uint32_t newcomers; /* whom the receiver may not know, by rank */
    const struct message_newcomer {
        uint32_t rank; /* never used before in this moot */
        uint32_t host;
        uint64_t uid;   /* not 0 */
        uint32_t lanes; /* strict: in each of so many lanes its roll begins behind a */
        uint64_t *places; /* place (PROTOCOL.md, V5) */
    } *newcomer;
    uint32_t history; /* views since the last that all its members had settled, oldest
                         first, without this one; at least 1 */
    const struct message_past {
        uint64_t epoch;
        const struct rankset *members;
    } *past;
    const struct rankset *left; /* members of earlier views that left in good order;
                                   NULL: nobody */
    uint32_t losses; /* for newcomers: views before that whose members were not all
                        there later; 0 unless the moot is joinable */
    const struct message_loss {
        uint64_t epoch; /* of the view */
        const struct rankset *before, *after;
    } *loss;
    bool losses_cut; /* there were more than can be told: there are none here */
    struct message_reload {
        uint32_t generation; /* that began last, at the latest with this view; 0: none
                                ever did */
        uint64_t met;        /* by the outcome of that meeting, */
        moot_hash snapshot;  /* and from what this one holds */
    } reload;
};

/* A ballot is round << BALLOT_RANK_BITS | proposer's rank, with rounds from 1. */
#define BALLOT_RANK_BITS 20

/* PREPARE, PROMISE, PROPOSE, VOTED, REJECT: single-decree Paxos for the next view. */
struct message_paxos {
    uint64_t ballot;
    uint64_t
        accepted; /* PROMISE: ballot of the value below; 0: none.  PROPOSE: likewise
                     if the value is not the proposer's own, but must be kept to */
    const struct rankset *dead;  /* certified, as far as it knows; NULL: nobody */
    const struct rankset *heard; /* REJECT: whom it still hears and will not remove;
                                    NULL: it has promised `ballot` to another */
    const struct message_view *value; /* PROMISE with accepted, PROPOSE */
};

/* REPORT member -> chair: what it has of the keys that the chair took over.
 * HANDOVER leaver -> next chair: what it has accepted as a voter (ACCEPTED, MAYBE), how
 * tasks end that it chairs (VERDICT), and who died of them (CRASH). */
enum report_what {
    REPORT_OWN,
    REPORT_RESULT,
    REPORT_ACCEPTED,
    REPORT_MAYBE,
    REPORT_LOST, /* it had a result, whose bytes are gone, that cannot be made again */
    REPORT_SEEN, /* it knows that it ended well, and the bytes are gone: made again or
                    not, it is cancelled no more */
    REPORT_VERDICT, /* it ends with that code, as its chair has decided */
    REPORT_CRASH,   /* a rank died of its own fault in its kernel; */
    REPORT_SUSPECT  /* one may have: it is to run alone */
};
struct message_report {
    bool last; /* of this epoch from this sender to this receiver */
    uint32_t count;
    const struct message_entry {
        moot_hash hash;
        enum report_what what;
        uint32_t owner; /* RESULT: whose; ACCEPTED: the winner; VERDICT: who decided;
                       CRASH: the rank that died; SUSPECT: 0 */
        uint64_t
            epoch; /* ACCEPTED, MAYBE: in which it was accepted; VERDICT: likewise */
        bool has_payload; /* RESULT */
        enum evidence evidence;
        int32_t code;    /* RESULT: what it ended with; VERDICT: what it ends with, */
        uint64_t age_ns; /* decided so long ago */
    } *entry;
};

/* FENCED: the receiver is no member of the sender's view. */
struct message_fenced {
    uint64_t epoch;
    bool refused; /* it asked to join a moot that takes no newcomers */
};

/* JOIN newcomer -> any member. */
struct message_join {
    uint64_t uid; /* not 0 */
    uint32_t host;
    uint32_t rank; /* the number that it was started with, and nobody else ever was */
};

/* LEAVE: a member drains and goes. */
enum leave_what {
    LEAVE_GOING,  /* leaver -> members: decide nothing for me that another can run */
    LEAVE_RETURN, /* leaver -> chair: this task is not started, and will not be */
    LEAVE_REFUSE, /* likewise, and it will take it no more */
    LEAVE_TAKEN,  /* heir -> leaver: the result's bytes, or a HANDOVER, are here;
                     chair -> leaver: the task is another's from now on */
    LEAVE_AGAIN,  /* heir -> leaver: the result came without its bytes */
    LEAVE_READY,  /* leaver -> who decides views: nothing of mine is left here; I start
                     nothing more, and hold no lease */
    LEAVE_KEEP,   /* chair -> leaver: nobody else can run it, so it stays yours */
    LEAVE_END
};

struct message_leave {
    enum leave_what what;
};

/* TALLY, in a large view: how far its members have come, counted along a tree.  A child
 * says to its parent that all below it have, a parent to its children that all have. */
enum tally_what {
    TALLY_TAKEN, /* not along the tree: the receiver's REPORT has arrived */
    TALLY_REPORTED,
    TALLY_SETTLED,
    TALLY_END
};

struct message_tally {
    enum tally_what what;
};

/* CENSUS, up a tree when all below have closed: which tasks they hold.  If their rolls
 * are alike, their sum says it, and the entries are those that chairs among them hold
 * or have decided; who finds that this differs from the rest asks for all of it. */
struct message_census {
    bool ask;       /* down: tell all of it; the other fields mean nothing */
    bool last;      /* of this sender's present answer */
    bool alike;     /* `tasks` and `sum` are those of each roll */
    uint32_t ranks; /* that it covers */
    uint64_t tasks;
    struct rollsum sum;
    uint32_t count;
    const struct message_counted {
        moot_hash hash;
        uint32_t witness; /* one of its holders */
        uint32_t holders; /* how many; 0 if alike */
        bool claimed;     /* its chair holds it, or has decided who owns it */
    } *entry;
};

/* RELEASED: ending a scope that all have closed; the message's hash is the scope's, or
 * one of a task in it.  Or dropping a chunk of the roll; then there is no hash.  The
 * lowest member counts what the others say. */
enum released_what {
    RELEASED_READY,  /* member -> lowest: it rests here, and perhaps may end */
    RELEASED_SWEEP,  /* lowest -> all: rolls differ; tell chairs what they may lack */
    RELEASED_ASK,    /* lowest -> all: is it still so? */
    RELEASED_ANSWER, /* member -> lowest */
    RELEASED_REST,   /* lowest -> all: it rests everywhere */
    RELEASED_DROP,   /* to all, and to who is late: it is over, forget it */
    /* Of a chunk of the roll, named by `sum` and `count`, in a scope that goes on: */
    RELEASED_CHUNK_READY,  /* member -> lowest: all of it is released here */
    RELEASED_CHUNK_ASK,    /* lowest -> all: is it still so? */
    RELEASED_CHUNK_ANSWER, /* member -> lowest; what it says holds until the outcome */
    RELEASED_CHUNK_DOUBT,  /* member -> lowest of a new view: what was the outcome? */
    RELEASED_CHUNK_DROP,   /* lowest -> all, or to who doubts: forget it */
    RELEASED_CHUNK_KEEP    /* likewise: go on */
};
struct message_released {
    enum released_what what;
    bool rests;              /* READY, ANSWER: nothing of it moves there, */
    bool ready, swept;       /* and nothing of it is used; T1a is done */
    bool alike;              /* DROP: all held the same tasks of it; CHUNK_ANSWER: the
                                member has dropped it */
    uint64_t round;          /* ASK, ANSWER, DROP if it ends one; those of a chunk */
    uint64_t count;          /* READY, ANSWER: tasks of it on the member's roll, */
    struct rollsum sum;      /* and their sum; so for all about a chunk */
    uint64_t sent, received; /* messages about its tasks, in this epoch */
};

/* LOT: a set of tasks that may go although their chunks do not equal all members'.  The
 * last `marks` of the hashes are no tasks of it, but of the sender's lane, a window
 * behind all of them: who holds one of these has passed the others. */
enum lot_what {
    LOT_ASK,    /* owner -> all: would you let these go? */
    LOT_OBJECT, /* the answer: not these; and these, in place of marks, I never had */
    LOT_BIND,   /* owner -> all: then let go of these; answered by a CHUNK_ANSWER that
                   has the lot's name, and followed by its CHUNK_DROP or CHUNK_KEEP */
    LOT_TELL,   /* holder -> chair: nobody has asked about these for long */
    LOT_GONE,   /* member -> newcomer: these once tasks were dropped */
    LOT_END
};
struct message_lot {
    enum lot_what what;
    uint64_t number; /* of the owner's lots; comes back */
    const moot_hash *hashes;
    uint32_t count, marks;
};

/* MEET: to and from the lowest member, which waits for all; among many along the tree,
 * of all below.  The hash of ARRIVED is what the meeting is for. */
enum meet_what {
    MEET_ARRIVED, /* member -> lowest: its program has come to this meeting, */
    MEET_CLOSED,  /* or is over; it knows the outcome of this one */
    MEET_MET,     /* lowest -> all, or in a new view member -> lowest: the outcome */
    MEET_ALL,     /* among many: MET, and all members of the view came */
    MEET_PASSED,  /* newcomer -> lowest: it comes to none up to this meeting */
    MEET_END
};
struct message_meet {
    enum meet_what what;
    uint64_t number; /* of the meeting, from 1; CLOSED: or 0 */
    int32_t code;    /* MET, among many also ARRIVED: MOOT_OK, STATE, or LIMIT */
    const struct rankset *came; /* MET: who; NULL: nobody needs to know any more.
                                   ARRIVED among many: who; NULL: all below */
    const void *words;          /* with who came theirs, one behind the other */
    size_t words_size;          /* in bytes; 0: none */
    uint32_t generation; /* ARRIVED: to reload, so that this one begins, or a later one;
                            MET: it does, or was to; 0: it is for something else */
    moot_hash snapshot;  /* MET: by that snapshot, if it is of a generation */
};

/* INQUIRY: what are you doing, and what do you know of these tasks?  Any rank asks any
 * other, for a report or for people who look, or while it lacks room; it changes
 * nothing. */
struct message_inquiry {
    uint64_t number; /* the asker's own; comes back in the ACCOUNT */
    const moot_hash *hashes;
    uint32_t count;
};

/* ACCOUNT: the answer, an Account of moot.proto as it stands there. */
struct message_account {
    uint64_t number;
    const void *bytes;
    size_t size;
};

struct message {
    enum message_type type;
    uint64_t epoch;
    uint64_t view_id;
    moot_hash hash; /* the task, where the type has one */
    uint32_t cut;   /* the sender's newest cut that is not over, of this view; 0: none.
                       A receiver cuts before it takes the message in (SNAPSHOT) */
    union {
        struct message_motion motion;
        struct message_decision decision;
        struct message_result result;
        struct message_refer refer;
        struct message_accept accept;
        struct message_verdict verdict;
        struct message_cancel cancel;
        struct message_roll roll;
        struct message_want want;
        struct message_ended ended;
        struct message_hashes hashes;
        struct message_state state;
        struct message_poll poll;
        struct message_pollr pollr;
        struct message_resolve resolve;
        struct message_chase chase;
        struct message_diverged diverged;
        struct message_adjourn adjourn;
        struct message_kernel kernel;
        struct message_family family;
        struct message_heartbeat heartbeat;
        struct message_grant grant;
        struct message_paxos paxos;
        struct message_view view;
        struct message_report report;
        struct message_fenced fenced;
        struct message_join join;
        struct message_tally tally;
        struct message_leave leave;
        struct message_census census;
        struct message_released released;
        struct message_inquiry inquiry;
        struct message_account account;
        struct message_meet meet;
        struct message_lot lot;
        struct message_snapshot snapshot;
        struct message_signatures signatures;
        struct message_elements elements;
        struct message_parts parts;
    } u;
};

/* "MOTION", for transcripts and reports; "?" if out of range. */
const char *message_type_name(enum message_type type);
/* "blocked"; "none" if out of range. */
const char *evidence_name(enum evidence evidence);

#endif
