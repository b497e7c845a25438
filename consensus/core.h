/* core.h - the protocol of one rank, as a pure step function.
 *
 * A core is a state machine: an event and the time go in, outputs come out.  It knows
 * no socket, clock, thread or random source, so the same objects run under mpirun,
 * among in-process ranks, and on the simulator's virtual network.  PROTOCOL.md beside
 * this file is what it implements; the rule names (T1, G2, ...) in the code are that
 * text's.
 *
 * The core decides who owns a task, asks for and pushes results, counts a task's
 * missing inputs, and says when to run it.  It never sees arguments or payloads: those
 * are the host's (node/ or consensus/sim/), which keeps them behind the core's entry of
 * the task (struct core_entry).
 *
 *     core_step(core, &event, now) -> outputs; carry them out in order; step again.
 *
 * Beside the steps stand what a host keeps behind entries (core_entry.h), looks
 * (core_view.h), and five calls that put nothing out, at the end of this file.
 *
 * Outputs, and what they borrow, live until the next step of the same core.  The host
 * must not step the core while it carries outputs out of the previous step except after
 * having copied what it still needs; node/ queues follow-up events instead.
 *
 * Errors: core_step returns MOOT_OK or a negative MOOT_ERR_*; then nothing happened and
 * there are no outputs.  What cannot be (a broken invariant of our own) is asserted;
 * what a peer may do wrong is counted in stats.refused and ignored.
 */
#ifndef CONSENSUS_CORE_H
#define CONSENSUS_CORE_H

#include "hashing/array_spread.h"
#include "proto/message.h"
#include "proto/moot_error.h"

#define CORE_NEVER UINT64_MAX

struct core;

enum core_mode { CORE_REPAIR, CORE_STRICT, CORE_TRUST };

struct core_options {
    uint32_t rank;
    uint32_t size;         /* members are ranks 0..size-1 of the first view */
    const uint64_t *uids;  /* per rank: random, never reused */
    const uint32_t *hosts; /* per rank, a host number; NULL: one host */
    uint64_t epoch;        /* of the first view, at least 1 */
    enum core_mode mode;
    uint32_t voters;           /* K, at least 1 */
    uint32_t crashes;          /* so many deaths end a task (T10); 0: none do */
    uint64_t vote_timeout_ns;  /* T_vote; CORE_NEVER: evidence alone */
    uint64_t ask_delay_ns;     /* idle time before a motion for what should be pushed */
    uint64_t gossip_period_ns; /* shortest time between two partial announcements */
    uint32_t tree_fanout; /* so many are sent a large result's bytes by one rank, others
                             are referred to these (T11); 0: all by its owner */
    uint64_t part_bytes;  /* results that are larger go in such parts, or fewer; 0:
LIMIT_PART_BYTES; alike on every rank */
    uint32_t direct_max;  /* up to so many members everyone speaks with everyone; 0: 64;
                              alike on every rank */
    /* Failure detection and views; heartbeat_ns 0 or CORE_NEVER: membership is fixed.
     */
    uint64_t heartbeat_ns;   /* T_hb */
    uint64_t suspect_ns;     /* T_susp: silent for so long means suspected */
    uint64_t lease_ns;       /* T_lease */
    uint64_t stagger_ns;     /* T_st: between one proposer and the next */
    uint64_t batch_ns;       /* T_batch: causes that come so close share a view */
    uint64_t quorum_wait_ns; /* T_q: without a lease for so long, waits end */
    uint64_t opened_ns; /* a moment before any member entered the first view; 0: the
                           first step */
    bool solo;          /* suspicion counts as a certificate: unsafe if cut off */
    bool joinable; /* newcomers are let in, and certificates of death count towards no
                      quorum; alike on every rank, part of the view's id */
    bool boundary; /* of .joinable: newcomers are let in only where all members meet for
                      .boundary_purpose, and certificates count (PROTOCOL.md,
                      *Boundaries*); alike on every rank, part of the view's id */
    moot_hash boundary_purpose;
    uint64_t join_uid; /* not 0: this rank is none of the members (.rank is not used);
                          it asks them to let it in, as this incarnation; takes
                          .joinable */
    uint32_t join_host;
    uint32_t join_rank;  /* the number that it asks for: at least first_size, and given
                            to no other incarnation ever (PROTOCOL.md, *Numbers*) */
    uint32_t first_size; /* if it asks: the first view was of ranks 0..first_size-1; of
                            those in .uids from there on, who joined since, some may be
                            0: this rank does not know them; 0: .size */
    uint64_t drop_above; /* what all members have released is dropped while this rank
                            has records of more tasks than so many, or as core_press
                            says; 0: only with its scope.  Zero or not alike on every
                            rank */
    uint64_t lot_after;  /* where ranks differ, what all let go of is dropped task by
                            task once it stands so far behind its lane's end, */
    uint64_t pass_after; /* and who lacks a task has passed it with what stands so far
                            behind it; 0: neither is; alike on every rank */
    uint8_t chunk_mask;  /* a roll is cut where a hash's first byte has none of these
                            bits; 0: 0xff; alike on every rank */
    void *(*pages)(size_t size); /* memory for many records, in multiples of
                                    CORE_PAGES_BYTES, which free() frees; NULL without
                                    memory.  No such function: malloc()'s.  The core's
                                    memory is most of what a rank touches between two
                                    tasks; on pages as large as that it costs less */
    size_t spare_bytes; /* put aside, or more, by how many records there are; without
                           memory this is given back, and the rank refuses what it may
                           until it can be put aside anew (PROTOCOL.md, *Memory*); 0:
                           nothing is */
    size_t entry_bytes; /* what an entry takes, the host's part of it included (struct
                           core_entry) */
    /* A stub becomes an entry: `host` is what was given with it (core_stub_host()).
     * Called within a step, or whatever else names a task; NULL: nothing is to be done.
     */
    void (*expand)(void *context, struct core *core, void *entry, const void *host);
    void *expand_context;
    uint32_t notes; /* emit CORE_OUT_NOTE at these points: CORE_NOTE(point) */
    uint32_t adapt; /* CORE_ADAPT_*: these follow what is seen (timers.c) */
};

/* Of options.adapt.  What is set is then where the timer begins, and bounds it: an ask
 * delay is at most CORE_ASK_FACTOR_MAX of it, a suspicion no less than it and at most
 * CORE_SUSPECT_FACTOR_MAX of it.  The vote timeout begins as never. */
enum { CORE_ADAPT_ASK = 1, CORE_ADAPT_VOTE = 2, CORE_ADAPT_SUSPECT = 4 };
enum { CORE_ASK_FACTOR_MAX = 64, CORE_SUSPECT_FACTOR_MAX = 4 };

/* The value of options.tree_fanout, if nobody says otherwise. */
enum { CORE_TREE_FANOUT = 4 };

enum { CORE_PAGES_BYTES = 2 << 20 };

/* NULL if there is no memory or an option is out of range. */
struct core *core_new(const struct core_options *options);
void core_free(struct core *core); /* accepts NULL */

/* --- Events -------------------------------------------------------------------- */

enum core_event_type {
    CORE_EV_REGISTER,      /* this rank now holds a task (T1) */
    CORE_EV_PRUNED,        /* likewise some, of which core_prune() made stubs */
    CORE_EV_NEED,          /* a wait begins (T3) */
    CORE_EV_UNNEED,        /* it ended, however */
    CORE_EV_AWAIT,         /* a lane waits for many tasks of its own roll, each of which
                              core_may_await(), and none between them is left out: words
                              will tell their ends, and CORE_OUT_AWAITED when they have,
                              or are late.  Of no tasks: what has not ended by then is
                              needed now.  STATE: each is to be needed at once */
    CORE_EV_UNAWAIT,       /* that wait is over, however */
    CORE_EV_LANE,          /* a lane's state changed; a new number makes a lane */
    CORE_EV_TASK_WAIT,     /* a running task waits for children, or goes on */
    CORE_EV_DONE,          /* a task that CORE_OUT_RUN gave to the host has ended */
    CORE_EV_ELEMENTS,      /* elements that CORE_OUT_ELEMENTS gave to the host have
                              ended, all alike; STATE: they are not, were not given, or
                              fewer would be left than wait */
    CORE_EV_ELEMENTS_WAIT, /* elements that it was given wait for what was asked for as
                              tasks: so many now, of all arrays; and so many tasks that
                              run here wait for an element that is made again.  They are
                              like tasks whose inputs are missing, and do not count as
                              running.  STATE: it has not so many that have not ended */
    CORE_EV_DECLINE,       /* the program took the other branch */
    CORE_EV_CANCEL,        /* wanted by this rank; decided once, at the task's owner */
    CORE_EV_SCOPE_CLOSE,   /* no more top-level spawns in this scope on this rank */
    CORE_EV_SCOPE_RELEASE, /* likewise, and the program uses none of its tasks any more
                            */
    CORE_EV_MEET, /* the program has come to its next meeting, for the purpose that is
                     the event's hash, with words; CORE_OUT_MET says what came of it.
                     STATE: it is at one already, or has closed; LIMIT: such words are
                     too long */
    CORE_EV_SNAPSHOT, /* the program asks for a snapshot of this name (PROTOCOL.md,
                         *Snapshots*); CORE_OUT_SNAPSHOT_DONE says what came of it.
                         To ask again before that is the same asking.  STATE: this rank
                         has closed; LIMIT: such a name is too long, or too many are
                         asked for; INVALID: it is empty */
    CORE_EV_PREPARED, /* this rank's part of a CORE_OUT_CUT is durable, or cannot be; of
                         a cut that is over it is nothing */
    CORE_EV_COMMITTED, /* CORE_OUT_COMMIT has become durable, or cannot; likewise */
    CORE_EV_RELOAD,    /* the program has come to a meeting at which all go back to the
                          snapshot that is the event's hash; CORE_OUT_RELOADED says what
                          came of it.  STATE: as for MEET; UNSUPPORTED: newcomers may come
                          at any moment */
    CORE_EV_MARKED, /* CORE_OUT_MARK has become durable, or cannot; of one that is over
                       it is nothing */
    CORE_EV_CLOSE,  /* all lanes have ended for good: serve until all have closed */
    CORE_EV_LEAVE,  /* no wait of a lane is open; like CLOSE, but go as soon as nothing
                       is lost by it; UNSUPPORTED in strict mode */
    CORE_EV_UNSTARTED, /* after LEAVE: a task that CORE_OUT_RUN gave to the host, which
                          has not begun it; another gets it, or CORE_OUT_RUN gives it
                          again */
    CORE_EV_CRASH, /* a rank died of its own fault in the kernel of this task, or may
                      have; before DEAD is said of it */
    CORE_EV_DEAD,  /* a member is certainly dead: reaped by its host, not guessed.
                      STATE: it may have removed this rank before, so that its death
                      certifies nothing here */
    CORE_EV_SIGNATURE, /* the program gives a signature of its state at a step: the
                          event's hash.  STATE: the step does not ascend; INVALID: it is
                          beyond CORE_SIGNATURE_STEP_MAX */
    CORE_EV_RECV,      /* a message from a peer */
    CORE_EV_TICK /* a turn: what is due by the clock, and what was put off until the
                    host had no more events at hand; due at core_deadline() */
};

enum {
    CORE_TASK_ONCE = 1,
    CORE_TASK_NESTED = 2,
    CORE_TASK_HINT = 4,     /* MOOT_TASK_CONDITIONAL */
    CORE_TASK_PORTABLE = 8, /* needs .spec */
    CORE_TASK_IDEMPOTENT = 16,
    CORE_TASK_STRETCHES = CORE_TASK_IDEMPOTENT, /* of an array: what a home leaves goes
                                                   to one rank (PROTOCOL.md, A17) */
    CORE_TASK_NONDETERMINISTIC = 32,
    CORE_TASK_ADOPTED = 64, /* from a peer's spec; not on this rank's roll */
    CORE_TASK_BESIDE = 128  /* in a spec alone: its hash has another task's place */
};

struct core_register {
    moot_hash scope;
    moot_hash parent; /* the spawning task, if NESTED; zero otherwise */
    uint32_t lane;    /* that spawns it; ignored if NESTED or ADOPTED */
    uint32_t flags;
    const moot_hash *inputs;          /* data inputs, then `after`; copied */
    void *const *input_entries;       /* NULL, or theirs */
    size_t input_count;               /* of both kinds */
    size_t after_count;               /* how many at the end are order only */
    const struct rankset *candidates; /* NULL: all; copied */
    const struct message_spec *spec;  /* if PORTABLE; must outlive the core */
    const struct array_spread *array; /* a task array: how many elements, and whose;
                                         the core counts the homes; NULL: a task */
    const struct rankset
        *homes;               /* of that; NULL: the ranks of the first view; copied */
    bool bound;               /* these are its candidates */
    const struct range *part; /* of an array: this rank spawns these places alone, and
                                 those of other such events; ascending, neither empty
                                 nor touching; NULL: all */
    uint32_t part_count;
    const char *site; /* "file:line" or NULL; must outlive the core */
    size_t host_size; /* of the host's part, if it becomes a stub */
};

/* A rank's part of a snapshot, by what names it. */
struct core_part {
    uint32_t rank;
    unsigned char digest[LIMIT_SNAPSHOT_DIGEST_BYTES];
    uint64_t records, bytes;
};

enum core_lane_state {
    CORE_LANE_RUNNING, /* in the program's own code */
    CORE_LANE_BLOCKED, /* in a wait that only an end of a task ends */
    CORE_LANE_TIMED,   /* in a wait that a timeout may end, or polling since its last
                          spawn: may yield, is not passive */
    CORE_LANE_PARKED,  /* in foreign code that it said may block: likewise */
    CORE_LANE_ENDED
};

struct core_event {
    enum core_event_type type;
    moot_hash hash; /* the task; for SCOPE_CLOSE and _RELEASE the scope; for SIGNATURE
                       that */
    void *entry;    /* of that task, which saves looking it up; or NULL */
    union {
        const struct core_register *reg; /* borrowed for the step */
        struct {
            void *const *stubs; /* in the order in which they were made */
            size_t count;
        } pruned;
        struct {
            enum want want;   /* WANT_DONE or WANT_DATA */
            uint32_t lane;    /* that waits; ignored if by_task */
            bool by_task;     /* a running task waits for its child `hash` */
            moot_hash waiter; /* that task */
            uint64_t wait;    /* NEED: one wait needs all of this number, and goes on
                                 when all have ended; 0: none do */
        } need;               /* NEED, UNNEED: calls pair up with equal fields */
        struct {
            uint32_t lane;      /* UNAWAIT: nothing else */
            void *const *tasks; /* entries, so many; borrowed for the step */
            size_t count;
            uint64_t behind; /* a word is to reach from behind this position of the lane
                                to its end, as those of others will who wait for more of
                                the same; CORE_NEVER: it is about the tasks alone */
        } await;
        struct {
            uint32_t lane;
            enum core_lane_state state;
        } lane;
        struct {
            bool waiting;
        } task_wait;
        struct {
            int32_t status; /* MOOT_OK or the error; either way there is a payload */
            uint64_t size;  /* of the payload, bytes */
            bool leaves;    /* it left children running, of which its RESULT tells */
        } done;
        struct {
            struct range places;
            int32_t status; /* MOOT_OK or the error, of each of them */
        } elements;
        struct {
            uint64_t count, reads;
        } elements_wait;
        struct {
            const char *name; /* copied; so many bytes */
            size_t name_size;
        } snapshot;
        struct {
            uint64_t epoch; /* of the CUT, */
            uint32_t number;
            int32_t status;        /* MOOT_OK, or why there is no part */
            struct core_part part; /* its .rank means nothing */
        } prepared;
        struct {
            uint64_t epoch; /* of the COMMIT, */
            uint32_t number;
            int32_t status;
        } committed;
        struct {
            uint32_t generation; /* the highest that this rank's disk has */
        } reload;
        struct {
            uint32_t generation; /* of the MARK */
            int32_t status;
        } marked;
        struct {
            int32_t exit_code; /* this rank's own verdict on its run; 0: well */
        } close;
        struct {
            const void *words; /* copied */
            size_t words_size; /* in bytes; 0: none */
        } meet;
        struct {
            uint32_t rank;
            bool perhaps; /* in this kernel or in another: it is a suspect (T10) */
        } crash;
        struct {
            uint32_t rank;
        } dead;
        struct {
            uint64_t step;
        } signature;
        struct {
            uint32_t from; /* rank; UINT32_MAX: of none that this core knows */
            uint64_t uid;  /* its incarnation, from the envelope */
            const struct message *message;
        } recv;
    } u;
};

/* --- Outputs ------------------------------------------------------------------- */

enum core_output_type {
    CORE_OUT_SEND, /* message to `to`; if a RESULT, the host attaches the bytes of
                      `user` and may send them EAGER, BULK or leave it BARE as the core
                      said */
    CORE_OUT_RUN,  /* run it and answer with CORE_EV_DONE; its inputs are all there (or
                      failed: then DONE carries the error of the first that did) */
    CORE_OUT_ELEMENTS, /* run these elements of the array, and answer with
                          CORE_EV_ELEMENTS, in whatever pieces and order.  The array's
                          own RUN comes when all elements have ended, wherever: it is to
                          end with its code at once */
    CORE_OUT_CANCEL,   /* if it has not started: end it with MOOT_ERR_CANCELLED; else it
                          may be told */
    CORE_OUT_RESULT,   /* a result is accepted: keep it; its bytes are in the event just
                          received, unless it is kept BARE */
    CORE_OUT_PART, /* a part of a result is accepted, whose bytes are in the event just
                      received: keep it beside those before; the first begins anew,
                      and with the last comes CORE_OUT_RESULT in its place */
    CORE_OUT_DONE, /* this rank's waits for it end: the result is known here (and its
                      bytes are here, if `data`).  Lanes and tasks that this, or a
                      VERDICT, releases are told to be running (LANE, TASK_WAIT)
                      before time passes, whenever their threads wake: a rank must
                      not look quiet while one of its lanes is about to go on */
    CORE_OUT_AWAITED, /* what words tell of a lane's AWAIT is here, as RESULTs: what has
                         not ended is to be needed (NEED, each), and then AWAIT of no
                         tasks is to say so; or the wait is over (UNAWAIT) */
    CORE_OUT_VERDICT, /* this rank's waits for it end with `code` */
    CORE_OUT_DIVERGED, /* strict: the message says how; every wait ends, no more spawns
                        */
    CORE_OUT_MET,      /* the meeting to which the program has come is over: all members
                          of a view had come to it, or closed */
    /* Snapshots and reloads; the hash of each is the snapshot's id. */
    CORE_OUT_CUT, /* what was given to the store until now is in this rank's part: now,
                     before what follows is carried out, note how far that goes.  When
                     it is durable: CORE_EV_PREPARED.  A cut of a later view or number
                     supersedes it */
    CORE_OUT_COMMIT, /* the lowest member: all parts are durable.  Write durably that
                        the snapshot exists, with the parts of those who write no
                        more; then CORE_EV_COMMITTED */
    CORE_OUT_SNAPSHOT_DONE, /* the snapshot of this name, for which the program has
                               asked, exists, or not */
    CORE_OUT_MARK,     /* the lowest member: all have come to reload.  Write the mark
                          durably; then CORE_EV_MARKED */
    CORE_OUT_RELOADED, /* the reload to which the program has come is over.  If it is
                          MOOT_OK all have gone back: nothing is known any more of any
                          task, lanes are as long as new ones, events about what was
                          before are not fed (no DONE of what still runs), and entries
                          are given back with the CORE_OUT_FORGET that follow */
    CORE_OUT_VIEW,     /* a new view: what is queued for those outside is void */
    CORE_OUT_QUORUM,   /* cut off from the majority (waits end with NO_QUORUM); back */
    CORE_OUT_FENCED,   /* removed while alive, or not let in: waits end with the code,
                          start nothing */
    CORE_OUT_LEFT,     /* after LEAVE: a view without this rank was decided; start
                          nothing */
    CORE_OUT_REFUSE, /* a JOIN came to a moot that takes no newcomers: send the message
                        to the incarnation that asked, which has no rank */
    CORE_OUT_FORGET, /* of many tasks: their scope has ended on every rank: nothing is
                        said of them any more, their bytes may go, and their entries
                        are to be given back.  Events about one are answered with
                        SCOPE_CLOSED.  Or all members have released and dropped them:
                        then one may be registered again, and is another task, unless
                        it is once (RESULT_LOST) */
    CORE_OUT_SIGNATURE, /* a rank differs in what it says of its state, or in what it
                           says that it has announced: advice, at most once of each */
    CORE_OUT_ADJOURN,   /* all have closed: send what is queued and leave */
    CORE_OUT_NOTE       /* a protocol point was passed (options.notes) */
};

#define CORE_SIGNATURE_STEP_MAX (UINT64_MAX >> 1)

/* A word about a rank, which may be this one. */
enum core_signature_what {
    CORE_SIGNATURE_DIFFERS,      /* this rank's signature at the step is another */
    CORE_SIGNATURE_CONTRADICTED, /* the most have the same, and it has another */
    CORE_SIGNATURE_ROLLS /* of so many ROLLs (step) others have come than it has sent */
};

/* X(name, "text"): the named points, for faults, traces and transcripts: those that a
 * core passes, or a host on its behalf, and behind CLOSE those of hosts: one with a
 * disk, and one whose program is about to give a signature. */
#define CORE_POINTS(X)                                                                 \
    X(SPAWN, "spawn")                                                                  \
    X(CLAIM, "claim")                                                                  \
    X(MOTION_SENT, "motion.sent")                                                      \
    X(MOTION_RECV, "motion.recv")                                                      \
    X(VOTE_CAST, "vote.cast")                                                          \
    X(DECISION_SENT, "decision.sent")                                                  \
    X(DECISION_RECV, "decision.recv")                                                  \
    X(TASK_START, "task.start")                                                        \
    X(TASK_END, "task.end")                                                            \
    X(RESULT_SENT, "result.sent")                                                      \
    X(RESULT_RECV, "result.recv")                                                      \
    X(VIEW_PROPOSE, "view.propose")                                                    \
    X(VIEW_ENTER, "view.enter")                                                        \
    X(REPORT_SENT, "report.sent")                                                      \
    X(CLOSE, "close")                                                                  \
    X(CHECKPOINT_WRITE, "checkpoint.write")                                            \
    X(SIGN, "sign")                                                                    \
    X(CHECKPOINT_CUT, "checkpoint.cut")                                                \
    X(CHECKPOINT_COMMIT, "checkpoint.commit")                                          \
    X(CHECKPOINT_RELOAD, "checkpoint.reload")

enum core_point {
#define X(name, text) CORE_POINT_##name,
    CORE_POINTS(X)
#undef X
        CORE_POINT_END,
    CORE_POINT_HOSTS = CORE_POINT_CLOSE + 1 /* the first of those */
};
const char *core_point_name(enum core_point point);

#define CORE_NOTE(point) (UINT32_C(1) << (point))
#define CORE_NOTES_ALL (CORE_NOTE(CORE_POINT_END) - 1)

struct core_output {
    enum core_output_type type;
    moot_hash hash;
    void *user; /* the entry of that task; NULL if there is none */
    union {
        struct {
            uint32_t to;
            struct message message;
        } send;
        struct {
            struct range places;
        } elements;
        struct {
            int32_t code; /* not MOOT_OK: do not run it, end it with that: CANCELLED, of
                             an array how its first element failed (.element), or
                             RESULT_LOST if another run would give another result than
                             the one that was seen, or if an input's scope has ended
                             since its result was lost, and what is left here of the
                             input does not do */
            uint32_t by;  /* CANCELLED: the rank that did it */
            bool seen;    /* it has ended well before, as somebody knows, and its bytes
                             are gone: if it does not end well again, whatever keeps it
                             from that, end it with RESULT_LOST */
            bool alone; /* it is a suspect: it runs while no other kernel does (T10) */
        } run;
        struct {
            uint32_t by;
        } cancel;
        struct message_result result; /* PART; RESULT: as it is kept: the event's own,
                                         or, of one that came before this rank entered
                                         its epoch, an offer without bytes */
        struct {
            bool data;
        } done;
        struct {
            uint32_t lane;
        } awaited;
        struct {
            int32_t code;
            const moot_hash *chain; /* MOOT_ERR_CYCLE: the tasks of the cycle */
            uint32_t chain_count;
            bool for_good;     /* the task ends so for all, and never runs: */
            uint32_t by;       /* this rank decided so, as its chair, */
            uint64_t epoch;    /* in that view, */
            uint64_t since_ns; /* and when, by this rank's clock */
        } verdict;
        struct message_diverged diverged;
        struct {
            uint64_t number; /* from 1, counted by each rank */
            int32_t code;    /* MOOT_OK; STATE: they came for different purposes;
                                LIMIT: their words are too long, together */
            const struct rankset *came; /* alike on all who came; NULL: this rank
                                           joined the moot later */
            const void *words; /* of all who came, in frames (proto/meet_words.h), in an
                                  order that is alike, too; what several said is there
                                  once; NULL: none, or it failed */
            size_t words_size;
        } met;
        struct {
            uint64_t epoch;
            uint32_t number; /* of those of this view, from 1 */
        } cut;
        struct {
            uint64_t epoch;
            uint32_t number;
            const char *name;
            size_t name_size;
            const struct core_part *parts; /* by rank, of all members */
            uint32_t part_count;
        } commit;
        struct {
            int32_t status; /* MOOT_OK, or why it failed, */
            uint32_t rank;  /* on that rank */
            const char *name;
            size_t name_size;
        } snapshot_done;
        struct {
            uint32_t generation;
        } mark;
        struct {
            int32_t status; /* MOOT_OK; STATE: they came for different snapshots, or
                               purposes; else why the mark could not be written: then
                               nothing is changed */
            uint32_t generation; /* that begins */
        } reloaded;
        struct {
            uint64_t epoch;
            const struct rankset *members;
            const struct rankset *left; /* who left in good order, ever */
        } view;
        struct {
            bool have;
        } quorum;
        struct {
            int32_t
                code; /* MOOT_ERR_FENCED; _UNSUPPORTED: the moot takes no newcomers */
        } fenced;
        struct {
            uint64_t uid;
            struct message message;
        } refuse;
        struct {
            void **users; /* of the tasks: entries and stubs */
            uint32_t count;
        } forget;
        struct {
            enum core_signature_what what;
            uint32_t rank;
            uint64_t step;
            moot_hash theirs, others; /* its signature; that of this rank, or of most */
        } signature;
        struct {
            int32_t exit_code; /* one that is not 0, if any rank had one */
        } adjourn;
        struct {
            enum core_point point;
            uint32_t peer;          /* UINT32_MAX: none */
            enum evidence evidence; /* VOTE_CAST */
        } note;
    } u;
};

struct core_outputs {
    const struct core_output *items;
    size_t count;
    bool hurried; /* core_deadline() may be sooner than before; of a step that is not,
                     as most of ranks that agree are not, it is enough to ask within
                     CORE_USUAL_NS */
};

#define CORE_USUAL_NS UINT64_C(20000)

int core_step(struct core *core, const struct core_event *event, uint64_t now_ns,
              struct core_outputs *out);

/* When the next TICK is due: after an event at once or soon, so that a host steps what
 * it has and then ticks; CORE_NEVER if nothing is timed. */
uint64_t core_deadline(const struct core *core);

/* The present view, which frames and the host's own messages carry. */
void core_view(const struct core *core, uint64_t *epoch, uint64_t *view_id);

/* --- Beside the steps ----------------------------------------------------------- */

/* These seven change what a core takes into account, and put nothing out: they cost
 * less than a step where a host does little else.  They are not to be called within
 * one. */

/* The program uses the task, of which entry may be NULL, no more: it may be dropped
 * when all members say so.  To register it again takes that back. */
void core_let_go(struct core *core, const moot_hash *hash, void *entry);
/* The program names a task by its hash, and may wait for it until it is let go.  The
 * entry is no stub's. */
void core_name(struct core *core, void *entry);
/* The host is about to drop its copy of a result's bytes, which so many of the running
 * tasks that read it take over.  False: they are to stay, as an error's always are. */
bool core_release(struct core *core, const moot_hash *hash, void *entry,
                  uint32_t readers);
/* Results take much memory here: what all members have released is to be dropped
 * however few tasks there are, in pieces of so many at most (rounded down to a power of
 * two).  One member that says so is enough.  0: they do not any more. */
void core_press(struct core *core, uint32_t together);

/* A newcomer's program begins, or goes on, after this meeting, which has met as some
 * member knows: its next one is met + 1.  Not while it is at one, and only before any
 * has met to which it came in time. */
void core_meet_from(struct core *core, uint64_t met);

/* The host has sent a message of its own to a member that may let that one go on, or
 * has taken one from `from`, which says this epoch and view.  While such are on their
 * way all is not quiet, so each that is sent is to be said, and each that comes. */
void core_sent_own(struct core *core);
void core_took_own(struct core *core, uint32_t from, uint64_t epoch, uint64_t view_id);

/* Asserts all that must be true of a core between two steps, room by room.  Takes as
 * long as there are tasks: for tests and simulators.  core_step() itself looks at a
 * part of it now and then. */
void core_hold(const struct core *core);

#endif
