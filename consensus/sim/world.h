/* world.h - the simulator's insides, shared by its own files only.
 *
 *     sim.c       builds the world, turns the crank, tells why it stopped
 *     identify.c  names the program's tasks
 *     network.c   the event heap and the links
 *     host.c      carries events to one core and its outputs out of it
 *     lane.c      steps the scripts
 *     worker.c    runs tasks
 *     trouble.c   carries a storm's faults out
 *
 * The world is single-threaded; time moves only when the crank takes the next event
 * from the heap, ordered by (time, number).  A host never steps its core while it
 * carries outputs out: what follows from an output becomes a later event.  The one
 * exception is core.h's: whoever an output releases from a wait is running for the core
 * before time passes, though its thread wakes later.
 */
#ifndef CONSENSUS_SIM_WORLD_H
#define CONSENSUS_SIM_WORLD_H

#include "parcel.h"
#include "random.h"
#include "sim.h"

struct host;

enum event_kind {
    EVENT_ARRIVE, /* a parcel reaches host's inbox */
    EVENT_POLL,   /* host handles its inbox */
    EVENT_TICK,   /* host's core wanted to be called at this time */
    EVENT_LANE,   /* host's lane `index` goes on; stale unless ticket fits */
    EVENT_WORK,   /* host's task `index` goes on; task_count: ready tasks may start */
    EVENT_FAULT,  /* the storm's fault `index` begins */
    EVENT_REAP    /* host learns that rank `index` is certainly dead */
};

struct event {
    uint64_t time_ns, number;
    enum event_kind kind;
    uint32_t rank, index;
    uint64_t ticket;
    struct parcel *parcel;
};

struct heap {
    struct event *items;
    size_t count, capacity;
    uint64_t next_number;
};

/* What one rank knows of one task. */
struct record {
    uint32_t task;
    bool registered; /* on the roll, or as a child */
    bool adopted, declined;
    bool run, started, ended; /* given to us by the core; its kernel; its end told */
    bool cancelled;
    bool kept, kept_data; /* its result is here; its bytes are */
    bool done, done_data; /* the core ended our waits for it */
    int32_t status;       /* of the result, if kept */
    int32_t verdict;      /* MOOT_OK: none */
    int32_t last_verdict; /* that of an earlier wait included */
    uint64_t size;
    void *bytes;
    uint32_t next_child; /* while its kernel runs: the child it waits for next */
    bool waits_child, child_ended;
    bool holds_slot;
};

enum lane_wait { LANE_RUNS, LANE_WAITS, LANE_WOKEN, LANE_AT_BARRIER, LANE_OVER };

struct lane {
    enum lane_wait state;
    uint32_t pc;
    uint64_t ticket; /* of the event that may move it */
    int32_t cut;     /* what the present wait ends with because of the rank's state */
};

struct host {
    struct sim *sim;
    uint32_t rank;
    struct core *core;
    struct record *records; /* per task */
    struct lane lanes[PROGRAM_LANES_MAX];
    struct parcel **inbox;
    size_t inbox_count, inbox_capacity;
    bool poll_due, closed, adjourned;
    uint64_t deaf_until_ns, tick_ns; /* tick_ns: the armed one; CORE_NEVER */
    uint32_t slots_used;
    uint32_t *ready;
    uint32_t ready_count;
    bool fill_due;
    bool woken; /* lanes or parents were, and the core does not know */
    /* Under a storm. */
    bool dead, fenced, left; /* over, like adjourned */
    bool no_quorum;
    bool start_due; /* a newcomer has been let in: its program begins */
    uint64_t paused_until_ns;
    uint64_t epoch; /* of the view that it is in; 0: not let in yet */
    uint64_t members;
    uint32_t passed[CORE_POINT_END]; /* how often it passed each point */
};

struct link {
    uint64_t last_ns, last_bulk_ns;
    uint64_t cut_until_ns; /* what is sent before arrives after */
    uint64_t slow_until_ns, slow_ns;
    uint64_t void_until_ns; /* what was sent up to then never arrives */
};

struct sim {
    struct sim_options options;
    const struct program *program;
    struct sim_weather weather;
    struct sim_report *report;
    uint64_t now_ns, moved_ns; /* moved_ns: when the program last got anywhere */
    struct heap heap;
    struct link *links; /* from * ranks + to */
    struct host *hosts;
    uint64_t *uids;
    moot_hash *hashes;
    struct message_spec *specs;
    uint8_t (*args)[PROGRAM_ARGS_BYTES];
    uint8_t (*keys)[PROGRAM_KEY_BYTES];
    struct rankset *candidates;
    moot_hash **inputs; /* per task: data inputs, then after */
    uint32_t *table;    /* hash table over hashes[]; table_size is a power of two */
    uint32_t table_size;
    uint32_t barrier_count; /* ranks at barrier barrier_number */
    struct random delays, durations;
    struct random faults; /* when peers learn of a death */
    struct wire_writer *writer;
    bool canary_done;
    uint64_t newest_epoch;
    bool fault_done[STORM_FAULTS_MAX]; /* of crashes at points */
};

/* sim.c */
void *sim_alloc(size_t count,
                size_t size); /* zeroed; ends the process without memory */
void sim_see(struct sim *sim, const struct sight *sight);
void sim_moved(struct sim *sim); /* the program got somewhere */
bool sim_canary(struct sim *sim, enum sim_canary canary); /* true once, if chosen */

/* identify.c */
void sim_identify(struct sim *sim);
void sim_forget(struct sim *sim);

/* network.c */
void heap_push(struct sim *sim, const struct event *event);
bool heap_pop(struct sim *sim, struct event *out);
void heap_release(struct sim *sim);
void network_send(struct sim *sim, struct parcel *parcel);
/* What was sent then on the parcel's link is lost: its sender has abandoned it. */
bool network_is_void(const struct sim *sim, const struct parcel *parcel,
                     uint64_t sent_ns);

/* host.c */
void host_open(struct sim *sim, uint32_t rank);
void host_release(struct host *host);
int host_step(struct host *host, const struct core_event *event); /* core_step's */
void host_register(struct host *host, uint32_t task, uint32_t lane, bool adopted);
void host_arrive(struct host *host, struct parcel *parcel);
void host_poll(struct host *host);
void host_tick(struct host *host, uint64_t armed_ns);
bool host_is_over(const struct host *host);  /* it does nothing more */
bool host_is_there(const struct host *host); /* it has begun, and is not over */

/* trouble.c */
void trouble_schedule(struct sim *sim);
void trouble_begin(struct sim *sim, uint32_t fault);
void trouble_crash(struct host *host);
void trouble_reap(struct host *host, uint32_t dead);
/* Passing the point kills the host, now. */
bool trouble_at_point(struct host *host, enum core_point point);
void trouble_enter_view(struct host *host, uint64_t members);
uint64_t trouble_clock_ns(const struct host *host);
/* When, at the earliest, host's clock shows it. */
uint64_t trouble_when_ns(const struct host *host, uint64_t clock_ns);

/* lane.c */
void lane_start(struct host *host);
void lane_go_on(struct host *host, uint32_t lane, uint64_t ticket);
void lane_wake(struct host *host, uint32_t task); /* a wait for it ended */
void lane_settle(struct host *host); /* tells the core of lanes that were woken */
void lane_cut(struct host *host, int32_t code); /* every wait ends with it */
uint32_t lane_idle_count(const struct host *host);

/* worker.c */
void worker_offer(struct host *host, uint32_t task); /* CORE_OUT_RUN */
void worker_fill(struct host *host); /* has ready tasks started if there are slots */
/* EVENT_WORK */
void worker_go_on(struct host *host, uint32_t task);
void worker_wake(struct host *host, uint32_t task); /* likewise, by a parent */
void worker_settle(struct host *host);
void worker_cancel(struct host *host, uint32_t task);

#endif
