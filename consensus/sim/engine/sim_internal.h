/* sim_internal.h - the simulator's insides, shared by its own files only.
 *
 *     sim.c       builds the world, turns the crank, tells why it stopped
 *     dump.c      who waits for what
 *     identify.c  names the program's tasks
 *     network.c   the event heap, and the wire: what arrives when
 *     inject_net.c      what a plan does to frames on the wire
 *     bandwidth.c  bytes that take time, and queues for what carries them
 *     cluster.c    hosts, links between them, relays and agents
 *     link_layer.c   links (consensus/link/link.h) over a wire that is harmed
 *     host.c      carries events to one core
 *     host_entry.c  shares entries of tasks with it, and tells it what goes beside them
 *     perform.c     carries its outputs out
 *     thread.c      steps the scripts
 *     thread_words.c  waits for many tasks
 *     thread_uses.c   what a script still spawns and names
 *     worker.c    runs tasks
 *     array_worker.c  runs elements of arrays
 *     disk.c      stores results, and asks for snapshots of them
 *     go_back.c   has ranks go back to a snapshot
 *     liveness.c  how long the program may stand still
 *     inject_rank.c    what a plan does to ranks and their clocks; newcomers
 *
 * The world is single-threaded; time moves only when the crank takes the next event
 * from the heap, ordered by (time, number).  A host never steps its core while it
 * carries outputs out: what follows from an output becomes a later event.  The one
 * exception is core.h's: whoever an output releases from a wait is running for the core
 * before time passes, though its thread wakes later.
 */
#ifndef CONSENSUS_SIM_ENGINE_SIM_INTERNAL_H
#define CONSENSUS_SIM_ENGINE_SIM_INTERNAL_H

#include "consensus/core_entry.h"
#include "consensus/link/link.h"
#include "consensus/sim/engine/liveness.h"
#include "consensus/sim/engine/packet.h"
#include "consensus/sim/engine/sim.h"
#include "consensus/sim/programs/random.h"

struct host;

enum event_kind {
    EVENT_ARRIVE, /* a flight reaches host's inbox */
    EVENT_POLL,   /* host handles its inbox */
    EVENT_TICK,   /* host's core wanted to be called at this time */
    EVENT_LANE,   /* host's lane `index` goes on; stale unless ticket fits */
    EVENT_WORK,   /* host's task `index` goes on; task_count: ready tasks may start;
                     stale unless ticket is the host's life */
    EVENT_PIECE,  /* host's elements `places` of array `index` have run; stale unless
                     ticket is the host's life */
    EVENT_REAP,   /* host learns that rank `index` is certainly dead */
    EVENT_LINK,   /* host's link to rank `index` has something to do */
    EVENT_ASK,    /* host asks a member in which session the moot is */
    EVENT_DISK,   /* host's disk has written what enum disk_write says */
    EVENT_TOLD,   /* ... and is told: `index`, which began behind meeting `ticket` */
    /* Of no host. */
    EVENT_STRIKE, /* the plan strikes whoever plays part `index` */
    EVENT_LEAVE,  /* who plays part `index` ends its program early */
    EVENT_JOIN,   /* part `index` of the program asks to be let in */
    EVENT_LET_GO, /* flight `ticket`, held back on rank's way to `index`, goes on */
    EVENT_LAND,   /* the first byte of a flight is at rank's port */
    EVENT_RELAY,  /* rank looks at a flight that it is to send on */
    EVENT_NEWS    /* the agent of rank's host tells host `index` of its death */
};

struct event {
    uint64_t time_ns, number;
    enum event_kind kind;
    uint32_t rank, index;
    uint64_t ticket;
    struct range places;
    struct sim_flight *flight;
};

/* A frame on the wire. */
struct sim_flight {
    uint32_t from, to;
    uint32_t at, next;         /* who has it, or had, and where it is going now */
    uint32_t hops;             /* links that it has passed, or is passing; */
    uint32_t came_from;        /* and the host before the last of them */
    bool overtaken;            /* not in its turn */
    uint64_t sent_ns, left_ns; /* left_ns: from where it is */
    uint64_t sequence, ack;    /* the link's; sequence 0: past it */
    uint64_t tail_ns;          /* so long after its first byte comes its last */
    struct parcel *parcel;     /* NULL: an acknowledgement alone */
};

struct heap {
    struct event *items;
    size_t count, capacity;
    uint64_t next_number;
    uint64_t own; /* of its items: the program's own */
};

/* What one rank knows of one task. */
struct record {
    uint32_t task;
    bool registered; /* on the roll, or as a child */
    bool adopted, declined;
    bool run, started, ended; /* given to us by the core; its kernel; its end told */
    bool cancelled;
    bool lost;            /* an input of it was lost with its scope */
    int32_t array_code;   /* of an array: how it is to end */
    bool seen;            /* it has ended well before */
    bool kept, kept_data; /* its result is here; its bytes are */
    bool done, done_data; /* the core ended our waits for it */
    int32_t status;       /* of the result, if kept */
    int32_t verdict;      /* MOOT_OK: none */
    int32_t last_verdict; /* that of an earlier wait included */
    uint64_t size;
    void *bytes;
    void *partial;       /* of a result that comes in parts */
    uint32_t next_child; /* while its kernel runs: the child it waits for next */
    bool waits_child, child_ended;
    uint32_t refused_needs; /* waits that are open here, and not with the core */
    bool holds_slot;
    bool alone; /* a suspect: its kernel runs while no other does */
    uint64_t started_ns;
    bool slowed;    /* its kernel has taken what the plan adds */
    bool forgotten; /* its scope has ended on every rank */
    void *entry;    /* the core's, or its stub; NULL: none, as far as this host knows */
    void *taken;    /* the bytes of an input, that only its kernel has: */
    uint32_t taken_input; /* 1 + of which */
};

/* Behind the core's part of a task's entry. */
struct sim_entry {
    struct core_entry core;
    struct record *record; /* NULL: this host has had nothing to do with it */
};

/* Entries that the core has forgotten are kept for so many more. */
enum { FORGOTTEN_MAX = 16, FORGOTTEN_BYTE = 0xa5, ROOM_BYTE = 0x5a };
/* Stubs that are registered in one step. */
enum { STUBS_TOGETHER_MAX = 8 };

enum lane_wait { LANE_RUNS, LANE_WAITS, LANE_WOKEN, LANE_PARKED, LANE_OVER };

struct sim_thread {
    enum lane_wait state;
    uint32_t pc;
    uint64_t ticket; /* of the event that may move it */
    int32_t cut;     /* what the present wait ends with because of the rank's state */
    bool fetched;    /* it was woken by bytes */
    uint64_t wait;   /* the present one's number; 0: one task is enough for it */
    char snaps;      /* it waits for the snapshot of that name, ahead of its step, */
    bool snap_step;  /* or by its step, */
    bool snapped;    /* and has been answered */
    bool awaits;     /* its core has been told an AWAIT, */
    bool words_in;   /* and has said that words tell no more */
    uint64_t worded; /* of the step's tasks those whose ends may come by words */
};

/* Carries so many bytes a second: busy with frames up to then, and with bulk. */
struct sim_port {
    uint64_t control_ns, bulk_ns;
    uint64_t bytes, busy_ns; /* in all */
    uint64_t carried;        /* likewise, whether bytes take time or not */
};

/* Where a rank's program is at a boundary (session_boundary.c). */
enum session_phase {
    SESSION_RUNS,  /* nowhere: the session runs */
    SESSION_ENDS,  /* at the first meeting */
    SESSION_MEETS, /* at the second */
    SESSION_ALONE, /* until those who go have gone */
    SESSION_ASKS   /* until it is told a later session */
};

struct host_session {
    enum session_phase phase;
    uint64_t number;      /* 0: a newcomer's that is yet to be told */
    uint64_t met;         /* meetings before it */
    struct rankset ended; /* came to its last first meeting */
    bool goes;            /* it has said there that it leaves, */
    bool gone;            /* and has */
    bool asks;            /* which session it is; nobody among `unknowing` could tell */
    uint32_t asked, rounds;
    struct rankset unknowing;
};

/* Elements of an array that are yet to be run. */
struct sim_piece {
    uint32_t task;
    struct range places;
};

enum disk_write { DISK_PART, DISK_COMMIT, DISK_MARK };

/* A rank's disk (disk.c). */
struct sim_disk {
    uint32_t generation; /* the latest that it knows of */
    uint32_t mark_generation;
    moot_hash mark_id;
    uint64_t stored;  /* results, so far in this generation */
    uint64_t busy_ns; /* what it is given is written after that time */
    uint64_t cut_epoch;
    uint32_t cut_number;
    moot_hash cut_id;
    struct core_part part; /* of that cut */
    uint64_t commit_epoch;
    uint32_t commit_number;
    moot_hash commit_id;
    struct core_part *parts;
    uint32_t part_count;
};

struct host {
    struct sim *sim;
    uint32_t rank, role; /* role: which rank of the program it plays */
    struct core *core;
    struct record *records; /* per task */
    struct sim_entry *forgotten[FORGOTTEN_MAX];
    uint32_t forgotten_count;
    /* Stubs that the lane has made, and the core is yet to be told of. */
    void *pruned[STUBS_TOGETHER_MAX];
    uint32_t pruned_count, pruned_lane;
    struct sim_thread lanes[PROGRAM_LANES_MAX];
    struct sim_flight **inbox;
    size_t inbox_count, inbox_capacity;
    /* Per scope: the spawns in it that are still to come, and the steps that name it.
     */
    uint32_t spawns_left[PROGRAM_SCOPES_MAX + 1], uses_left[PROGRAM_SCOPES_MAX + 1];
    uint32_t *task_uses_left; /* per task, if programs let go */
    /* Meetings that it has come to; of the last: the program has not left it, and its
     * outcome is here. */
    uint64_t meetings;
    bool meets, met;
    int32_t met_code;
    struct rankset came; /* to it, if that is known */
    struct host_session session;
    uint64_t life; /* so often its program has gone back (go_back.c) */
    uint64_t went_back_ns;
    uint32_t generation;    /* that it has begun */
    bool undone;            /* it is to, before anything else of the program happens */
    bool goes_back, drains; /* it meets for that; starts no kernel meanwhile */
    moot_hash back_to;      /* to this snapshot */
    struct sim_disk disk;
    uint64_t turns; /* so far: memory is short in some of them */
    uint64_t steps; /* of its core */
    struct sim_port out, in;
    uint64_t sent_frames, sent_bytes; /* with a cluster: what it relays included */
    uint64_t over_ns;                 /* when it died, or ended otherwise */
    struct cluster_ways *ways;        /* NULL: it has sent nothing by a route */
    bool poll_due, closed, adjourned;
    uint64_t deaf_until_ns, tick_ns; /* tick_ns: the armed one; CORE_NEVER */
    uint32_t slots_used;
    bool runs_alone; /* the kernel that has the only one */
    uint32_t *ready;
    uint32_t ready_count;
    struct sim_piece *pieces;
    uint32_t piece_count, piece_room;
    uint32_t parents_waiting; /* kernels that wait for a child */
    bool fill_due;
    bool woken; /* lanes or parents were, and the core does not know */
    /* Under a storm. */
    bool dead, fenced, left; /* over, like adjourned */
    bool no_quorum;
    int32_t lost;  /* with this code it was cut off from a reload: its program ends */
    bool diverged; /* in strict mode: it has been told where programs differ */
    uint64_t signs_from; /* the program's place from which it may sign its state next */
    bool flipped;        /* a bit of that state is */
    uint64_t waits_begun;
    bool start_due; /* a newcomer has been let in: its program begins */
    uint64_t paused_until_ns;
    uint64_t epoch; /* of the view that it is in; 0: not let in yet */
    struct rankset members;
    uint64_t reaps_ns;  /* when it has learnt of all deaths so far */
    plan_rules clocked; /* by these rules it has read its clock */
};

/* The way from one rank to another: only what differs from rest is kept. */
struct pair {
    uint32_t from, to;
    uint64_t last_ns, last_bulk_ns; /* the latest arrival, of control and bulk */
    struct sim_port way;
    uint64_t void_until_ns; /* what was sent up to then never arrives */
    struct link *link;      /* the end at `from` of its link with `to` */
    uint64_t link_due_ns;   /* when its event comes; LINK_NEVER */
    bool forgotten;         /* a view of `from` removed `to` */
    struct held_flight {
        struct sim_flight *flight;
        uint64_t number;
        uint32_t waits_for; /* so many later ones are to pass it */
    } *held;
    uint32_t held_count, held_room;
};

struct sim {
    struct sim_options options;
    const struct program *program;
    struct sim_weather weather;
    struct sim_report *report;
    uint64_t now_ns, moved_ns; /* moved_ns: when the program last got anywhere */
    uint64_t carried_ns;       /* up to then something long is on the wire */
    /* liveness.h: when the last fault was over; parts of the bound that stay; and the
     * bound after so many changes of membership. */
    uint64_t healed_ns, longest_chain, more_quiets, slowest_ppm;
    uint64_t bound_ns, bound_changes;
    struct heap heap;
    struct pair **pairs; /* hash table by from and to; a power of two of room */
    uint32_t pair_count, pair_room;
    const struct pair *pinned; /* stays, though it may be at rest */
    struct cluster *cluster;   /* NULL: there is none */
    uint64_t held_number;
    bool harmed;                      /* the wire is: frames go through links */
    struct link_options link_options; /* of all links */
    struct host *hosts;               /* by number; host_count have begun */
    uint32_t host_count;
    uint64_t *uids;
    uint32_t *machines; /* of those who have begun */
    /* By part of the program. */
    uint32_t *player;        /* who plays it, or did last; UINT32_MAX: nobody yet */
    struct plan_rank *lived; /* NULL without a plan */
    uint32_t comebacks;      /* restarts that came back */
    moot_hash *hashes;
    struct message_spec *specs;
    uint8_t (*args)[PROGRAM_ARGS_BYTES];
    uint8_t (*keys)[PROGRAM_KEY_BYTES];
    struct rankset *candidates;
    moot_hash **inputs; /* per task: data inputs, then after */
    uint32_t *table;    /* hash table over hashes[]; table_size is a power of two */
    uint32_t table_size;
    uint32_t barrier_count; /* ranks at the barrier */
    struct random delays, durations;
    struct random reaping; /* when peers learn of a death */
    struct random faults;  /* chances and draws of the plan */
    struct random writing; /* who asks for snapshots, and what disks do */
    struct random sparing; /* which bytes are given up, and when */
    struct wire_writer *writer;
    bool canary_done;
    uint64_t newest_epoch, newest_session;
    struct going_back *going_back; /* NULL: nobody does */
};

/* sim.c */
void *sim_alloc(size_t count,
                size_t size); /* zeroed; ends the process without memory */
void sim_see(struct sim *sim, const struct sight *sight);
void sim_moved(struct sim *sim); /* the program got somewhere */
bool sim_canary(struct sim *sim, enum sim_canary canary); /* true once, if chosen */

/* dump.c */
char *dump_world(const struct sim *sim); /* the caller frees it */

/* identify.c */
void sim_identify(struct sim *sim);
void sim_forget(struct sim *sim);
moot_hash sim_scope(uint32_t scope);     /* a program's, by number */
moot_hash sim_purpose(uint32_t purpose); /* of a meeting, likewise */

/* network.c */
bool event_is_own(const struct event *event); /* the program's: a lane, a kernel */
void heap_push(struct sim *sim, const struct event *event);
bool heap_pop(struct sim *sim, struct event *out);
struct pair *network_pair(struct sim *sim, uint32_t from, uint32_t to);
/* NULL if nothing has made one. */
struct pair *network_find(const struct sim *sim, uint32_t from, uint32_t to);
void network_release(struct sim *sim); /* the heap and the pairs */
struct sim_flight *flight_new(struct sim *sim, uint32_t from, uint32_t to,
                              struct parcel *parcel); /* takes the holder's share */
void flight_free(struct sim_flight *flight);          /* accepts NULL */
void network_send(struct sim *sim, struct sim_flight *flight);
/* Has it arrive delay_ns later than the wire takes; `overtaken`: not in its turn. */
void network_launch(struct sim *sim, struct pair *pair, struct sim_flight *flight,
                    uint64_t delay_ns, bool overtaken);
/* It was sent before its sender's view abandoned its receiver. */
bool network_is_void(const struct sim *sim, const struct sim_flight *flight);

/* cluster.c */
void cluster_open(struct sim *sim);
void cluster_close(struct sim *sim);
void cluster_forget(struct host *host);             /* what it knew of ways */
void cluster_begin(struct sim *sim, uint32_t rank); /* on its host, which is up */
/* The host is gone, before its ranks die. */
void cluster_lose_host(struct sim *sim, uint32_t machine);
bool cluster_is_gone(const struct sim *sim, uint32_t machine);
/* The ranks that have begun on a host. */
uint32_t cluster_count(const struct sim *sim, uint32_t machine);
uint32_t cluster_rank(const struct sim *sim, uint32_t machine, uint32_t index);
bool cluster_relays(const struct sim *sim); /* some hosts have no link */
/* Says where the flight goes from where it is.  False: it is lost, and freed. */
bool cluster_aim(struct sim *sim, struct sim_flight *flight);
/* The link that it takes; NULL: it stays on its host. */
struct sim_port *cluster_way(struct sim *sim, const struct sim_flight *flight);
bool cluster_is_local(const struct sim *sim, const struct sim_flight *flight);
void cluster_drop(struct sim *sim, struct sim_flight *flight); /* it is lost */
/* A frame at a rank that is to send it on; that looks at it. */
void cluster_arrive(struct sim *sim, struct sim_flight *flight);
void cluster_relay(struct sim *sim, struct sim_flight *flight);
/* The agent of its host reaps a rank; tells another host of it. */
void cluster_reap(struct sim *sim, uint32_t dead);
void cluster_tell(struct sim *sim, const struct event *event);
void cluster_report(struct sim *sim);

/* bandwidth.c */
bool bandwidth_is_bound(const struct sim *sim);
/* Takes the flight, which leaves now, through its sender's port and the way: how long
 * its first byte waits for them. */
uint64_t bandwidth_leave(struct sim *sim, struct pair *pair, struct sim_flight *flight);
/* Its first byte is at the receiver's port then. */
void bandwidth_fly(struct sim *sim, struct sim_flight *flight, uint64_t first_ns);
void bandwidth_land(struct sim *sim, struct sim_flight *flight); /* it is */
/* The time that the largest result of the program takes on an idle wire. */
uint64_t bandwidth_longest_ns(const struct sim *sim);
void bandwidth_count(struct sim *sim); /* for the report */

/* inject_net.c */
/* Takes the flight, which is about to leave: on its way, held back, or lost. */
void harm_send(struct sim *sim, struct pair *pair, struct sim_flight *flight);
bool harm_loses_arriving(struct sim *sim, const struct sim_flight *flight);
/* A part of hosts cuts the link that the flight is about to take. */
bool harm_cuts_link(struct sim *sim, const struct sim_flight *flight);
void harm_let_go(struct sim *sim, uint32_t from, uint32_t to, uint64_t number);

/* link_layer.c */
void carrier_open(struct sim *sim);
void carrier_send(struct host *host, struct parcel *parcel); /* takes it */
/* Gives host what has become deliverable by the flight's arrival; takes it. */
void carrier_take(struct host *host, struct sim_flight *flight);
void carrier_go_on(struct host *host, uint32_t peer, uint64_t ticket);
void carrier_forget(struct host *host, uint32_t peer);
void carrier_drop(struct host *host); /* it is dead: so are its links */
/* It has adjourned, and its link still answers. */
bool carrier_lingers(const struct host *host);

/* host.c */
void host_open(struct sim *sim, uint32_t rank, uint32_t role);
void host_release(struct host *host);
int host_step(struct host *host, const struct core_event *event); /* core_step's */
/* `step`: of a script, which may spawn a part; NULL: none. */
void host_register(struct host *host, uint32_t task, uint32_t lane, bool adopted,
                   const struct program_step *step);
void host_arrive(struct host *host, struct sim_flight *flight); /* takes it */
void host_receive(struct host *host, const struct parcel *parcel);
void host_poll(struct host *host);
void host_tick(struct host *host, uint64_t armed_ns);
bool host_is_over(const struct host *host);  /* it does nothing more */
bool host_is_there(const struct host *host); /* it has begun, and is not over */
/* Its program does: the rank is not over, and its tasks have not just been undone. */
bool host_goes_on(const struct host *host);
struct sight host_sight(const struct host *host, enum sight_type type, uint32_t task);

/* host_entry.c */
void host_expand(void *context, struct core *core, void *entry, const void *part);
/* The entry of a task that the program names.  NULL: its scope has ended. */
void *host_enter(struct host *host, uint32_t task);
/* Registers it as a stub or with its entry, perhaps later; core_step's. */
int host_register_entry(struct host *host, uint32_t task, struct core_register *reg);
/* Registers the stubs that wait for it: before anything else is told or asked. */
void host_flush(struct host *host);
/* The entry is the host's own for a while: nothing that the core does may read it, or
 * write to it.  False: its room was written to before that. */
bool host_keep_forgotten(struct host *host, struct sim_entry *entry);
/* The entries that its core had forgotten go back, unwritten to meanwhile. */
void host_give_forgotten(struct host *host);
void host_let_go(struct host *host, uint32_t task);
void host_name(struct host *host,
               uint32_t task); /* it may wait for it until it lets go */
/* The core agrees that the host's copy of the bytes goes, to so many of their readers
 * or for good: the caller has them then. */
bool host_give_up(struct host *host, uint32_t task, uint32_t readers);
void host_spare(struct host *host); /* now and then gives bytes up */
/* The kernel, which starts, may take the bytes of one of its inputs over. */
void host_take_input(struct host *host, uint32_t task);
void host_press(struct host *host); /* now and then memory is short */

/* disk.c */
/* The rank has made its result; true: its disk has it. */
bool disk_store(struct host *host, uint32_t task);
/* Writes that the core asks for, and its words about a snapshot. */
void disk_carry(struct host *host, const struct core_output *output);
void disk_go_on(struct host *host, uint32_t what, uint64_t ticket);
/* The lane asks for the snapshot of that name, and waits; `step`: its step says so. */
void disk_ask(struct host *host, uint32_t lane, char name, bool step);
/* True: the lane, which is about to take a step, asks for a snapshot and waits. */
bool disk_asks(struct host *host, uint32_t lane);
void disk_end_wait(struct host *host, uint32_t lane); /* it takes that step now */
/* Written so many nanoseconds from now at most: EVENT_DISK, with the ticket. */
void disk_write_later(struct host *host, enum disk_write what, uint64_t ticket);
void disk_close(struct host *host);

/* go_back.c */
void go_back_open(struct sim *sim);
void go_back_close(struct sim *sim);
/* A snapshot is being made, or exists. */
void go_back_note_cut(const struct sim *sim, const moot_hash *id);
void go_back_note_commit(struct sim *sim, const moot_hash *id);
/* Whether the rank's next meeting is to reload a snapshot: which one. */
bool go_back_is_due(const struct host *host, moot_hash *snapshot);
/* The rank's step says so: the latest snapshot, once. */
bool go_back_is_written(const struct host *host, moot_hash *snapshot);
uint32_t go_back_purpose(const moot_hash *snapshot); /* of the first meeting for it */
/* The lane comes to the second one. */
void go_back_come(struct host *host, uint32_t lane);
/* The host is to write a mark, or is told what comes of a reload. */
void go_back_carry(struct host *host, const struct core_output *output);
void go_back_marked(struct host *host, uint32_t generation, bool good);
/* Its tasks are undone; its program begins anew. */
void go_back_forget(struct host *host);
void go_back_restart(struct host *host);
/* A newcomer is let in: it is of the others' generation. */
void go_back_join(struct host *host);
/* How many sessions were over when the programs of its generation began. */
uint64_t go_back_sessions(const struct host *host);
/* A once task starts, and has a result on its disk.  Whether disks have noted that it
 * started before this rank went back; then its result, with bytes of the caller's, or
 * MAYBE_RAN. */
void go_back_note_start(const struct host *host, uint32_t task);
void go_back_note_end(const struct host *host, uint32_t task);
bool go_back_finds(const struct host *host, uint32_t task, struct program_bytes *found);

/* perform.c */
void carry(struct host *host, const struct core_output *output,
           const struct core_event *event);

/* inject_rank.c */
void strike_schedule(struct sim *sim);
uint64_t strike_stop_ns(const struct sim *sim); /* no rule fires from then on */
/* For how long the plan may hold everybody up, however unlucky. */
uint64_t strike_longest_ns(const struct sim *sim);
/* Draws whether the rule fires; if so counts it, and shows it to the watchers. */
bool strike_fires(struct sim *sim, uint32_t rule, uint32_t rank, uint32_t peer);
void strike_at_time(struct sim *sim, uint32_t role);
/* Passing the point may kill the host, now. */
void strike_at_point(struct host *host, enum core_point point);
void strike_after_turn(struct host *host); /* of its progress */
/* How much longer its kernel takes, now that it took so long. */
uint64_t strike_slow_ns(struct host *host, uint64_t took_ns);
/* Whether a rule of this fault strikes what the host's disk writes; what its spreads
 * draw is added. */
bool strike_disk(struct host *host, enum plan_fault fault, uint64_t *more_ns);
/* `rule`: one more than the number of the plan's, or 0: no rule says so. */
void strike_leave(struct sim *sim, uint32_t role, uint64_t rule);
/* The kernel of the task, the innermost of its thread, ends its rank. */
void strike_poison(struct host *host, uint32_t task);
/* A host without memory ends. */
void strike_starve(struct host *host);
/* `culprit`: the task that it died of; the program's task_count: none that is known;
 * one more: any of those that it ran. */
void strike_reap(struct host *host, uint32_t dead, uint32_t culprit);
void strike_join(struct sim *sim, uint32_t role, uint64_t rule);
void strike_enter_view(struct host *host, const struct rankset *members);
uint64_t strike_clock_ns(struct host *host);
/* When, at the earliest, host's clock shows it. */
uint64_t strike_when_ns(const struct host *host, uint64_t clock_ns);

/* session_boundary.c */
/* The lane comes to a meeting, or to the end of a session. */
void boundary_begin(struct host *host, uint32_t lane, const struct program_step *step);
bool boundary_is_over(
    const struct host *host); /* all that the lane waits for is here */
void boundary_go_on(struct host *host, uint32_t lane, const struct program_step *step);
bool boundary_is_somewhere(const struct sim *sim); /* somewhere */
void boundary_come_in(struct host *host); /* a newcomer, where there are no sessions */
void boundary_ask(struct host *host);
void boundary_ask_on(struct host *host);                              /* EVENT_ASK */
void boundary_told(struct host *host, uint64_t number, uint64_t met); /* EVENT_TOLD */

/* thread.c */
void lane_stands(struct host *host, uint32_t lane, enum core_lane_state state);
/* The code that a wait ends with that begins now, whatever it waits for. */
int32_t lane_cut_code(const struct host *host);
void lane_next_step(struct host *host, uint32_t lane);
/* Passes what stands before the place in the script, without doing it. */
void lane_skip(struct host *host, uint32_t lane, uint32_t place);
void lane_start(struct host *host);
void lane_go_on(struct host *host, uint32_t lane, uint64_t ticket);
void lane_wake(struct host *host, uint32_t task); /* a wait for it ended */
/* A need of a lane's wait that words may have told of. */
void lane_need(struct host *host, uint32_t lane, uint32_t task,
               enum core_event_type type);
void lane_words_in(struct host *host, uint32_t lane); /* CORE_OUT_AWAITED */
void lane_settle(struct host *host); /* tells the core of lanes that were woken */
void lane_cut(struct host *host, int32_t code); /* every wait ends with it */
void lane_leave(struct host *host);             /* the program ends here and now */
uint32_t lane_idle_count(const struct host *host);

/* thread_words.c */
void words_begin(struct host *host, uint32_t lane, const struct program_step *step);
/* The end of the step's i-th task may come by a word: it is not needed. */
bool words_may_tell(const struct host *host, uint32_t lane, uint32_t i);
void words_take(struct host *host, uint32_t lane, const struct program_step *step);
void words_ask(struct host *host, uint32_t lane, const struct program_step *step);
void words_end(struct host *host, uint32_t lane);

/* thread_uses.c */
void uses_begin(struct host *host); /* of what its lanes have yet to do */
void uses_pass(struct host *host, const struct program_step *step);
bool uses_are_counted(const struct host *host); /* programs let go */

/* array_worker.c */
struct array_spread sim_spread(const struct sim *sim, uint32_t task); /* of an array */
void array_offer(struct host *host, uint32_t task, struct range places);
void array_cancel(struct host *host, uint32_t task); /* none of it begins any more */
bool array_begin_some(struct host *host); /* takes a slot; false: there are none */
void array_go_on(struct host *host, uint32_t task, struct range places, uint64_t life);

/* worker.c */
void worker_offer(struct host *host, uint32_t task); /* CORE_OUT_RUN */
void worker_give_back(struct host *host); /* it leaves: what it has not started */
void worker_fill(struct host *host); /* has ready tasks started if there are slots */
/* EVENT_WORK */
void worker_go_on(struct host *host, uint32_t task, uint64_t life);
void worker_wake(struct host *host, uint32_t task); /* likewise, by a parent */
void worker_settle(struct host *host);
void worker_cancel(struct host *host, uint32_t task);

#endif
