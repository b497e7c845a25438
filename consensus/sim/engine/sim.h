/* sim.h - the real core, many times over, on a virtual network.
 *
 * sim_run() gives every rank of a program (program.h) a core and a small host that
 * steps the program's scripts, runs its tasks in virtual time and carries the core's
 * messages over links with seeded delays.  Everything is a function of the options: the
 * same options give the same events, and the digest over them says so.
 *
 * Whoever wants to know what happens gives a *watcher*, which is shown every *sight*: a
 * spawn, a message, a kernel that starts, a wait that ends.  The checkers (checker.h)
 * are watchers; so are the digest and the narrator that writes the golden transcripts.
 * None of them looks into a core.
 *
 * Messages travel as the frames of proto/wire.h.  The wire is reliable and ordered per
 * pair of ranks, unless a fault plan (faultplan.h) harms it: then frames go through the
 * core's links, below which they are lost, repeated, delayed and passed by others.  A
 * plan also kills, restarts, pauses and slows ranks, and skews their clocks.
 * Membership is fixed, and nobody is ever suspected, except in a *storm* (storm.h).
 * Scopes begin and end with the program's phases; what a newcomer would do in one that
 * is over is refused, and its program goes on.  In strict mode the waits of a rank that
 * is told where programs differ end so, and its program goes on.
 */
#ifndef CONSENSUS_SIM_ENGINE_SIM_H
#define CONSENSUS_SIM_ENGINE_SIM_H

#include "consensus/core_view.h"
#include "consensus/faultplan/faultplan.h"
#include "consensus/route/route.h"
#include "consensus/sim/engine/storm.h"
#include "consensus/sim/programs/program.h"

enum { SIM_DIGEST_BYTES = 16, SIM_WHY_BYTES = 512 };

/* Faults of the harness itself, each of which some checker must see.
 * X(name, "text", the check that it must trip) */
#define SIM_CANARIES(X)                                                                \
    X(RUN_TWICE, "run-twice", "ran once")                                              \
    X(RUN_ELSEWHERE, "run-elsewhere", "ran once")                                      \
    X(CORRUPT_RESULT, "corrupt-result", "oracle")                                      \
    X(CORRUPT_OWNER, "corrupt-owner", "one owner")                                     \
    X(DROP_DECISION, "drop-decision", "bound")                                         \
    X(DROP_RESULT, "drop-result", "bound")                                             \
    X(FORGET_TASK, "forget-task", "bound")                                             \
    X(LOSE_ACK, "lose-ack", "quorum")                                                  \
    X(END_WAIT, "end-wait", "wait code")                                               \
    X(VOTE, "vote", "no votes")                                                        \
    X(SECOND_RESULT, "second-result", "one result")                                    \
    X(LATE_RESULT, "late-result", "bound")                                             \
    /* From here on under a storm only. */                                             \
    X(FALSE_VERDICT, "false-verdict", "not held")                                      \
    X(FALSE_MAYBE, "false-maybe", "verdict")                                           \
    X(FALSE_ALARM, "false-alarm", "quorum lost")                                       \
    X(NEEDLESS_VIEW, "needless-view", "fair view")                                     \
    X(OTHER_VIEW, "other-view", "one view")                                            \
    X(OTHER_LIST, "other-list", "one session")                                         \
    X(EARLY_SESSION, "early-session", "gone first")                                    \
    X(LATER_SESSION, "later-session", "told")                                          \
    /* Where tasks kill who runs them, and nobody knows which it was. */               \
    X(BESIDE, "beside", "alone")                                                       \
    /* Where ranks go back to a snapshot. */                                           \
    X(UNMARKED, "unmarked", "marked")                                                  \
    /* Where there are hosts, and a link between two is cut. */                        \
    X(FALSE_WITNESS, "false-witness", "certificate")

enum sim_canary {
    SIM_CANARY_NONE,
#define X(name, text, check) SIM_CANARY_##name,
    SIM_CANARIES(X)
#undef X
        SIM_CANARY_END
};

/* --- What a watcher is shown ------------------------------------------------------ */

enum sight_type {
    SIGHT_SPAWN,   /* lane spawns task (parent kernel spawns, if nested) */
    SIGHT_REFUSED, /* ... in vain: none of its candidates is a member */
    SIGHT_ADOPT,   /* rank registers a portable task that a motion brought */
    SIGHT_DECLINE, /* of task */
    SIGHT_CANCEL,  /* of task, by the rank's program */
    SIGHT_WAIT,    /* a lane begins to wait for task */
    SIGHT_WAITED,  /* a lane's wait for task ended with code; data if fetched */
    SIGHT_LAPSED,  /* a lane's wait for task ended with nothing: a poll ran out of time
                      or found NOT_HELD, or another task of a WAIT_ANY ended it */
    SIGHT_LANE,    /* a lane's state is now code (enum core_lane_state) */
    SIGHT_RUN,     /* the core says: run task; code 1: alone */
    SIGHT_START,   /* its kernel starts */
    SIGHT_END,     /* task has ended with code; data are its result */
    SIGHT_SEND,    /* message leaves rank for peer, in a frame of `size` bytes */
    SIGHT_RECEIVE, /* message from peer is given to rank's core */
    SIGHT_KEEP,    /* ... which keeps the result in it */
    SIGHT_NOTE,    /* the core passed a point */
    SIGHT_VERDICT, /* rank's waits for task end with code */
    SIGHT_FORGET,  /* rank forgets task, whose scope has ended everywhere */
    SIGHT_CLOSE,   /* rank has ended its program; code: what cut it off from a reload */
    SIGHT_ADJOURN, /* rank leaves */
    SIGHT_VIEW,    /* rank enters the view `epoch` of `members`, in generation `step` */
    SIGHT_QUORUM,  /* rank is cut off from the majority (code 0), or back (1) */
    SIGHT_FENCED,  /* rank learns that it was removed, and is over */
    SIGHT_LEAVE,   /* rank's program is over early: it is to go when it may */
    SIGHT_DEPARTED, /* ... and has gone, in good order */
    SIGHT_LEFT,     /* rank, closed and without a quorum, gives up */
    SIGHT_CRASH,    /* rank is dead; of a fault of its own in task's kernel, if there is
                       one; code 1: which one of several it was nobody can know */
    SIGHT_BEGIN,    /* rank asks to be let in, to play part `code` of the program */
    SIGHT_FAULT,    /* rule number `code` of the plan strikes rank, or, if there is a
                       peer, what it sends to that or, arriving, gets from it */
    SIGHT_LET_GO,   /* rank's program uses task no more */
    SIGHT_GIVE_UP,  /* rank gives up the bytes of task's result, which it had taken */
    SIGHT_MEET, /* rank comes to its next meeting, for the purpose `code`, with words:
                   data */
    SIGHT_MET,  /* rank learns that it is over, with code, and who came: members, with
                   the words of all: data */
    SIGHT_SESSION, /* rank begins session `meeting`: of `members`, as the second meeting
                      at its boundary has it, in view `epoch`; code 1: as another rank
                      told */
    SIGHT_BLAME,   /* rank's core is told that peer died of task by its own fault */
    SIGHT_SUSPECT, /* ... that it may have */
    SIGHT_PAUSE,   /* the kernel of task, which rank runs, begins to wait for a child */
    SIGHT_DIVERGED, /* rank is told where programs differ, in strict mode */
    SIGHT_LOST,     /* a frame from rank to peer, by a link that is cut, a relay that is
                       over, or for want of a way; code 1: it waits for a relay that
                       stands still */
    SIGHT_TOLD,     /* rank's host is told by another's agent that peer is dead */
    SIGHT_SIGN,     /* rank's program gives a signature of its state, at `step` */
    SIGHT_SIGNATURE, /* rank is told that peer differs: code is enum
                       core_signature_what, `hash` the peer's signature at `step`,
                       `others` the others' */
    SIGHT_STORE,     /* task's result, which rank has made, is on its disk; or code: it
                        is not, as there was no room (FILE), or a bit of it has flipped
                        (FINGERPRINT) */
    SIGHT_ASK,       /* a lane asks for the snapshot whose name is data, and waits */
    SIGHT_CUT,       /* rank makes the cut number `meeting` of view `epoch`: id */
    SIGHT_PART,      /* its part of that is durable: parts */
    SIGHT_COMMIT,    /* on rank's disk the snapshot exists: id, of all its parts */
    SIGHT_SNAPSHOT,  /* rank is told that the one of that name exists, or code: id */
    SIGHT_RELOAD,    /* rank comes to its next meeting, to reload the snapshot id; its
                        disk has the generation `step` */
    SIGHT_MARK,     /* on rank's disk the generation `step` begins from the snapshot id;
                       or code: nobody knows */
    SIGHT_RELOADED, /* rank is told that all reload the snapshot id, and begin the
                      generation `step`, behind `meeting`, or 0: it has closed and come
                      to none; or code: they do not */
    SIGHT_GIVEN,    /* the core gives rank the elements `places` of the array `task`, */
    SIGHT_ENDED,    /* which have ended there, with code */
    SIGHT_GROW      /* rank spawns more of an array, `places`, or of none: the rest */
};

struct sight {
    enum sight_type type;
    uint64_t time_ns;
    uint32_t rank, lane, peer;
    uint32_t task; /* index; task_count: none of the program's */
    int32_t code;
    const struct message *message;
    const void *data;
    size_t size;
    enum core_point point;
    enum evidence evidence;
    const moot_hash *chain; /* VERDICT: the tasks of a cycle */
    uint32_t chain_count;
    uint64_t epoch; /* VIEW */
    const struct rankset *members;
    uint64_t meeting; /* MEET, MET: its number */
    bool goes;        /* MEET: it says that it leaves after this one */
    const struct message_diverged *diverged; /* DIVERGED */
    const moot_hash *id;                     /* of a snapshot */
    const struct core_part *parts;           /* PART, COMMIT */
    uint32_t part_count;
    struct range places; /* GIVEN, ENDED; SPAWN, GROW: of an array, of none: all */
    uint64_t step;       /* SIGN, SIGNATURE; a generation */
    const moot_hash *hash, *others;
};

struct sim;
struct sim_watcher {
    void (*see)(void *context, struct sim *sim, const struct sight *sight);
    void *context;
};

/* For watchers: ends the run as failed, with a check's name and the story.  The first
 * one counts. */
void sim_fail(struct sim *sim, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const struct program *sim_program(const struct sim *sim);
/* The task with this hash; the program's task_count if there is none. */
uint32_t sim_task(const struct sim *sim, const moot_hash *hash);
const moot_hash *sim_hash(const struct sim *sim, uint32_t task);
uint64_t sim_uid(const struct sim *sim, uint32_t rank);
/* At meetings for it newcomers are let in, where that is at boundaries alone. */
uint32_t sim_boundary_purpose(const struct program *program);
uint32_t sim_voters(const struct sim *sim);      /* K */
uint32_t sim_tree_fanout(const struct sim *sim); /* 0: no trees */
uint32_t sim_crashes(const struct sim *sim);     /* so many deaths end a task */
enum core_mode sim_mode(const struct sim *sim);
uint64_t sim_lease_ns(const struct sim *sim);
uint32_t sim_direct_max(const struct sim *sim);     /* larger views have a committee */
const struct plan *sim_plan(const struct sim *sim); /* NULL: no faults */
const struct storm *sim_storm(const struct sim *sim); /* NULL: fixed membership */
/* Ranks that there may be at most, and those numbered by now: the program's, and one
 * more for each that came back.  Which of the program's scripts a rank runs. */
uint32_t sim_rank_limit(const struct sim *sim);
uint32_t sim_rank_count(const struct sim *sim);
uint32_t sim_role(const struct sim *sim, uint32_t rank);
const uint32_t *sim_machines(const struct sim *sim); /* by rank */
/* What rank's own clock shows now. */
uint64_t sim_clock_ns(const struct sim *sim, uint32_t rank);
/* The hash of the task beside which it is, and that of no other: where its chair is to
 * be, by no word of its own hash. */
const moot_hash *sim_root(const struct sim *sim, uint32_t task);
/* The candidates of an array, of the ranks of the first view; 0: it has none. */
uint64_t sim_homes(const struct program *program, const struct storm *storm,
                   uint32_t task);
/* The task's chair: placement over all ranks or its candidates. */
uint32_t sim_chair(const struct sim *sim, uint32_t task);

/* The chair that a task of a program would have; to pick its salt with. */
uint32_t sim_chair_of(const struct program *program, uint32_t task);
/* Gives every task a salt with which chairs[task], if that is a rank, is its chair. The
 * tasks have no candidates. */
void sim_seat(struct program *program, const uint32_t *chairs);
/* Whom a rank asks that does not know the task's candidates. */
uint32_t sim_finder_of(const struct program *program, uint32_t task);

/* --- Running ---------------------------------------------------------------------- */

/* How the network and the ranks behave; durations in virtual nanoseconds. */
struct sim_weather {
    uint64_t latency_ns, jitter_ns; /* of a message: latency plus 0..jitter */
    uint32_t spike_per_mille;       /* of messages that take spike_ns longer */
    uint64_t spike_ns;
    uint64_t bulk_ns;       /* what a bulk transfer takes beyond that */
    uint64_t poll_ns;       /* an arrival is handled within 0..poll */
    uint32_t gap_per_mille; /* of polls, after which a rank is deaf for 0..gap */
    uint64_t gap_ns;
    uint64_t step_ns; /* of the program's own code between two calls: 1..step */
    uint32_t slow;    /* 1 + the rank whose own code takes 30 times longer; 0: none */
    uint32_t workers; /* per rank, beside lanes that wait */
    uint64_t ask_delay_ns, gossip_period_ns, vote_timeout_ns;
    uint32_t adapt;       /* core_options of that name; not drawn, 0 */
    uint32_t direct_max;  /* core_options of that name; not drawn, 0 */
    uint32_t tree_fanout; /* core_options of that name */
    uint64_t part_bytes;  /* likewise */
    /* Memory: 0 unless sim_memory_draw() draws them.  drop_above is core_options';
     * above 0 programs let go of what they have used, and rolls are cut often. */
    uint64_t drop_above;
    uint64_t lot_after, pass_after; /* core_options of these names */
    bool presses;                   /* it is short on ranks, now and then */
    uint32_t spare_per_mille; /* of moments at which a rank gives up bytes that its core
                                 lets it do without */
    /* Bytes a second that each rank sends, and gets, and that each ordered pair of them
     * carries, at most; 0: any. */
    uint64_t bandwidth, link_bandwidth;
    /* With a cluster: what a message takes within a host, the most links that one
     * passes between two, 0: one; and how many pairs of ranks may share a link, 0: one.
     */
    uint64_t local_ns, sharers;
    uint32_t hops;
    uint32_t signs;    /* the program gives a signature of its state with every so many
                          steps of its first lane; not drawn; 0: never */
    uint32_t together; /* stubs that a step registers, at most; 0: one */
    /* Ranks store what they make; not drawn but by sim_disk_draw().  Steps of a
     * thousand before which a lane asks for a snapshot; and how long a disk takes to
     * write, and how often it fails. */
    bool disks;
    uint32_t snapshots_per_mille;
    uint64_t disk_ns;
    uint32_t disk_fails_per_mille;
    uint32_t reloads_per_mille; /* of meetings, at which all are to go back to a
                                   snapshot; under a storm that lets nobody in */
    enum core_mode mode;        /* MOOT_DIVERGENCE; not drawn, repair */
    uint32_t voters;
    uint32_t crashes; /* core_options of that name; drawn is what a job counts */
    /* Under a storm only: core_options of the same names. */
    uint64_t heartbeat_ns, suspect_ns, lease_ns, stagger_ns, batch_ns, quorum_wait_ns;
};

enum { SIM_CRASHES = 2 }; /* MOOT_CRASHES, if nobody says otherwise */

/* Where ranks differ, tasks are asked for when they stand so far behind at most. */
enum { SIM_LOT_AFTER_MAX = 12 };

/* Hosts, each with so many ranks of the program, in their order; parts beyond those,
 * which newcomers play, go round.  What it means is in cluster.c. */
struct sim_cluster {
    uint32_t hosts, host_ranks;
    struct route *route; /* NULL: a mesh */
};
uint32_t sim_cluster_host(const struct sim_cluster *cluster, uint32_t part);

struct sim_options {
    const struct program *program;
    uint64_t seed;                     /* of weather and durations */
    const struct sim_weather *weather; /* NULL: drawn from the seed */
    const struct plan *plan;           /* NULL: nothing goes wrong */
    const struct storm *storm;         /* NULL: membership is fixed */
    /* NULL: each pair of ranks has a wire of its own.  A storm has its hosts. */
    const struct sim_cluster *cluster;
    enum sim_canary canary;
    bool starves; /* allocations may fail in a step: ranks put memory aside, leave when
                     it is short, and die when that is gone, too */
    bool notes;
    const struct sim_watcher *watchers;
    size_t watcher_count;
};

struct sim_counts {
    uint64_t views, crashes, fenced, no_quorum, joined, departed; /* under a storm */
    uint64_t boundaries; /* between sessions, and what they had: leavers, deaths,
                            newcomers */
    uint64_t boundary_left, boundary_deaths, boundary_joined;
    uint64_t snapshots; /* answers that say that one exists */
    uint64_t reloads;   /* generations that some rank has begun */
    uint64_t poisoned;  /* of the crashes: in the kernel of a task that is poison */
    uint64_t starved;   /* likewise: without memory */
    uint64_t refused_spawns; /* programs that left since memory was short */
    uint64_t sent[MESSAGE_TYPE_END];
    uint64_t met[MESSAGE_TYPE_END][CORE_STANDING_END]; /* received, by who did */
    uint64_t yields[EVIDENCE_END];
    uint64_t events, refused, violations;
    uint64_t frames, frame_bytes; /* put on the wire, those sent again included */
    uint64_t remembered_most;     /* tasks that a rank has known at once, at most */
    uint64_t resent, acks;        /* of these, by the links of a harmed wire */
};

/* The standstill (liveness.h) that came nearest to its bound; 0, 0: there was none. */
struct sim_standstill {
    uint64_t lasted_ns, bound_ns;
};

/* The rank that sent and got most, where bytes take time; otherwise all 0. */
struct sim_wire {
    uint32_t rank;
    uint64_t out_bytes, in_bytes, out_busy_ns, in_busy_ns;
};

/* With a cluster: what passed between hosts and within them, the link that carried most
 * one way, and of some hosts the rank that sent most, what it relays included. */
enum { SIM_HOSTS_TOLD = 8 };
struct sim_links {
    uint32_t hosts; /* 0: there is no cluster */
    uint64_t frames, bytes, local_frames, local_bytes;
    uint64_t relayed, lost; /* of frames: hops after the first; what no rank got */
    uint32_t busiest_from, busiest_to;
    uint64_t busiest_bytes;
    struct sim_busiest {
        uint32_t rank;
        uint64_t frames, bytes;
    } busiest[SIM_HOSTS_TOLD];
};

struct sim_report {
    bool failed;
    char check[32]; /* the check that failed */
    char why[SIM_WHY_BYTES];
    char *dump; /* who waits for what, if it failed; the caller frees it */
    uint64_t end_ns;
    uint8_t digest[SIM_DIGEST_BYTES];
    struct sim_counts counts;
    struct sim_standstill standstill;
    struct sim_wire wire;
    struct sim_links links;
    struct plan_hits hits; /* how often each rule of the plan fired (plan_unfired) */
};

/* Runs the program to its end or to the first failure.  True if it did not fail. */
bool sim_run(const struct sim_options *options, struct sim_report *report);

void sim_weather_draw(uint64_t seed, uint32_t ranks, struct sim_weather *out);
/* On a wire that carries less than seeds draw, or that hosts share: how long a
 * heartbeat may wait there for those of all others and for slices of bulk, and the
 * least time between heartbeats of which they fill a quarter.  0: it carries enough. */
uint64_t sim_bandwidth_wait_ns(const struct sim_weather *weather, uint32_t ranks);
uint64_t sim_bandwidth_heartbeat_ns(const struct sim_weather *weather, uint32_t ranks);
/* How many bytes a second the wire carries, in one seed of five. */
void sim_bandwidth_draw(uint64_t seed, struct sim_weather *weather);
/* How often programs ask for snapshots, and how their disks are. */
void sim_disk_draw(uint64_t seed, struct sim_weather *weather);
/* And how often they go back to one. */
void sim_reload_draw(uint64_t seed, struct sim_weather *weather);
/* And what ranks do for want of memory. */
void sim_memory_draw(uint64_t seed, struct sim_weather *weather);
const char *sim_canary_name(enum sim_canary canary);
const char *sim_canary_check(enum sim_canary canary);

#endif
