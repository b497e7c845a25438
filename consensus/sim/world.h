/* world.h - the simulator's insides, shared by its own files only.
 *
 *     sim.c       builds the world, turns the crank, tells why it stopped
 *     identify.c  names the program's tasks
 *     network.c   the event heap and the links
 *     host.c      carries events to one core and its outputs out of it
 *     lane.c      steps the scripts
 *     worker.c    runs tasks
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
    EVENT_WORK    /* host's task `index` goes on; task_count: ready tasks may start */
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
};

struct link {
    uint64_t last_ns, last_bulk_ns;
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
    struct wire_writer *writer;
    bool canary_done;
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

/* host.c */
void host_open(struct sim *sim, uint32_t rank);
void host_release(struct host *host);
void host_step(struct host *host, const struct core_event *event);
void host_register(struct host *host, uint32_t task, uint32_t lane, bool adopted);
void host_arrive(struct host *host, struct parcel *parcel);
void host_poll(struct host *host);
void host_tick(struct host *host, uint64_t armed_ns);

/* lane.c */
void lane_start(struct host *host);
void lane_go_on(struct host *host, uint32_t lane, uint64_t ticket);
void lane_wake(struct host *host, uint32_t task); /* a wait for it ended */
void lane_settle(struct host *host); /* tells the core of lanes that were woken */
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
