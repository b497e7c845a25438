/* context.h - one rank's membership of one moot: the struct behind `moot`.
 *
 * The parts, each in a room of its own; all under the one engine lock (bond->lock),
 * which is held while the core, the tables and the transport are touched and released
 * around kernels, sleeps and report hooks:
 *
 *   engine.c    steps the core and carries out what it says;  clock.c what time it is
 *   progress.c  the one loop that moves messages; who drives it, who sleeps
 *   inbox.c     frames and bulk results that come in;  outbox.c those that go out
 *   exec.c      running kernels;  workers.c the threads that do nothing else;  call.c
 *               what a kernel calls
 *   ready.c     the tasks that wait for a thread;  priority.c who goes first
 *   retry.c     kernels that failed and are tried again;  verify.c run twice
 *   strand.c    the stacks that kernels run on
 *   spawn.c     taking tasks in;  spawn_check.c what may be wrong with them;
 *               early.c specs that come before their kernels
 *   unnamed.c   those that wait to be hashed together;  region.c  in a bulk queue
 *   window.c    not too many at a time;  patience.c when that is given up
 *   queue.c     what stands between a spawn and that: ticket.c, chain.c, queue_line.c
 *   wait.c      waiting for them;  scope.c phases
 *   group.c     all that a thread spawned;  family.c what tasks leave running
 *   data.c      handles that order tasks by what they read and write
 *   members.c   who belongs to the moot; deaths, views, farewells
 *   faults.c    what a fault plan does to this rank;  faulty_wire.c to its messages
 *   observe.c   telling the program what becomes of tasks;  look.c showing it
 *   trace.c     records of all this;  metrics.c  figures for Prometheus
 *   report.c    stalls and divergence, told to people;  story.c causes of errors
 *   account.c   what this rank says of itself;  inquiry.c, questions.c ask the others;
 *               picture.c, diagnosis.c, stall.c  what that means;  door.c shows it
 *
 * Calls go from the top of this list's users (api.c) down; nothing below engine_step()
 * calls progress, and nothing re-enters it: what arises while outputs are carried out
 * is queued and stepped afterwards.
 */
#ifndef NODE_ENGINE_CONTEXT_H
#define NODE_ENGINE_CONTEXT_H

#include "consensus/core.h"
#include "consensus/faultplan/faultplan.h"
#include "node/compose/queue_line.h"
#include "node/config/knobs.h"
#include "node/config/text.h"
#include "node/engine/clock.h"
#include "node/engine/lane.h"
#include "node/schedule/ready.h"
#include "node/schedule/retry.h"
#include "node/spawn/backpressure.h"
#include "node/spawn/spawn_batch.h"
#include "node/store/pool.h"
#include "node/tasks/handle.h"
#include "node/tasks/kernel.h"
#include "node/tasks/task.h"
#include "node/transport/transport.h"

#include <stdatomic.h>

struct early_motion;
struct site_name;
struct scope;
struct wait;
struct outbox;
struct inbox;
struct run;
struct check;
struct trace;
struct datas;
struct observe;
struct inquiry;
struct door;

/* An event that arose while outputs were carried out.  It borrows nothing. */
struct later {
    enum core_event_type type;
    moot_hash hash;
    void *entry; /* of a task that cannot be forgotten meanwhile, or NULL */
    enum want want;
    uint32_t lane;
    enum core_lane_state state;
    int32_t status;
    uint64_t size;
};

/* members.c: who belongs to the moot */
struct member;
struct watch;
struct members {
    struct member *all; /* per rank */
    struct watch *watch;
    uint64_t epoch;
    uint32_t lost;          /* peers that are not MEMBER_HERE */
    uint64_t taken_over;    /* tasks run here whose chair was lost */
    uint64_t taken_over_ns; /* when the first of them was given out */
    bool uncertain;         /* a death came too late to be a certificate */
    bool said_goodbye;
    bool noted; /* what the launcher will do has been said */
};

/* faults.c: a fault plan, and what it has done */
struct faults {
    struct plan *plan; /* NULL: none */
    struct plan_rank lived;
    struct plan_hits hits;
    uint64_t began_ns; /* the end of open; 0: before */
    bool harms;        /* messages, so that links stand between */
    uint64_t struck_until_ns;
    uint64_t deaf_until_ns;
    uint64_t random;
};

/* window.c: of large results that are to go. */
struct press {
    uint64_t since_ns;      /* none has gone; 0: it is not pressed for any */
    uint64_t freed;         /* so many had, when that was looked at last */
    uint64_t in_vain_bytes; /* has been pressed for them */
};

/* The lock, the loop and the lanes: written by engine/, but for .stop, .closing and
 * .callers, which the public calls set. */
struct moot_engine {
    struct clock clock;
    struct lane *lanes;
    uint8_t lane_numbers[LIMIT_LANES]; /* 1: in use */
    uint32_t lane_number_count;        /* ever used */
    struct scope **scopes;             /* scope.c: those in use, by mark */
    bool stepping;
    struct later *laters;
    size_t later_count, later_first, later_room;
    struct payload *incoming; /* of the RESULT being stepped; taken if accepted */
    bool adjourned;
    bool any_failed; /* a task whose end is known here, or a wait by a verdict, ever */
    int fatal;       /* every wait and spawn ends with this; 0: none */
    struct text fatal_story;
    pthread_cond_t changed; /* something that a sleeper may wait for */
    uint32_t sleepers;
    bool driven;                    /* a thread drives; others sleep */
    atomic_uint_fast64_t driven_ns; /* when someone last did */
    uint64_t
        ended_ns; /* when something last ended here: what a stall is counted from */
    bool hurried; /* by a step, since the core was asked when a turn is due */
    uint64_t turn_ns, looked_ns; /* that, and when it was asked */
    uint64_t chores_due_ns;
    uint64_t way_ns, way_due_ns; /* progress_give_way() */
    bool threads;                /* helper and workers may touch the transport */
    bool helping;
    pthread_t helper;
    bool dozing;           /* __atomic: the driver sleeps between turns, */
    pthread_cond_t roused; /* and the helper until it no longer does */
    uint64_t stirs;        /* messages in and out, heartbeats and grants apart, */
    uint64_t stirs_seen;   /* and how many they were after the last turn */
    struct outbox *outbox;
    struct inbox *inbox;
    bool stop;        /* helper, workers and stand-in leave */
    uint32_t callers; /* __atomic: threads inside public calls, or at their end */
    bool closing;
    uint64_t closing_ns; /* since when */
};

/* Memory for results and for records: written by store/. */
struct moot_store {
    struct pool pool;
    struct payloads payloads;
};

/* Handles, kernels and records of tasks: written by tasks/. */
struct moot_tasks {
    struct handles handles;
    bool handles_to_settle; /* task_handle.c: some that were kept may go */
    struct kernels kernels;
    struct task *gone;       /* task.c: records that the core has forgotten */
    struct site_name *sites; /* task.c: each spelling once */
    uint32_t site_count, site_room;
    const char *site_last; /* of the last spawn: a loop spawns from one place */
};

/* Records of what happens, and who watches: written by record/. */
struct moot_record {
    struct trace *trace;     /* trace.c; NULL: none */
    struct observe *observe; /* observe.c; NULL: nobody ever watched */
    uint32_t observed_kinds;
};

/* Kernels that wait, run and are run again, threads, and waits: written by schedule/.
 */
struct moot_schedule {
    struct ready ready;
    uint32_t running;  /* kernels begun and not ended */
    struct run **runs; /* run_count of them: their kernels' and spare ones */
    struct run *spare_runs, *going_on; /* lists: without a kernel; whose wait is over */
    uint32_t run_count, spare_run_count;
    struct resting resting;
    struct check *checks, **checks_last;
    uint32_t checks_open; /* told to the core */
    uint64_t checks_seen; /* looked at when so much had ended */
    pthread_t *workers;
    uint32_t worker_count;
    pthread_cond_t left_alone; /* the stand-in has something to do */
    pthread_t stand_in;
    bool standing_in; /* it has been started */
    struct wait *waits;
    uint32_t program_waits; /* of them: of lanes, */
    uint32_t kernel_waits;  /* and of kernels */
    uint64_t end_count;     /* moves on whenever a wait may have ended, */
    uint64_t ends_released; /* and was this when that was last looked at */
    struct task *lingering; /* list */
};

/* Reports that are queued, and what is asked of peers: written by explain/. */
struct moot_explain {
    moot_report_fn report;
    void *report_user;
    struct inquiry *inquiry; /* inquiry.c */
    struct text *reports;    /* queued until the lock is released */
    uint32_t report_count, report_room;
    uint64_t stall_due_ns;
    uint64_t stall_pause_ns;
    unsigned signals_seen;
};

/* Tasks on their way in: written by spawn/. */
struct moot_spawn {
    struct unnamed unnamed;     /* spawned, and not registered yet */
    struct early_motion *early; /* list */
    uint64_t window_bound;      /* window.c: a spawn waits at so many tasks, */
    struct patience patience;   /* and for how long */
    struct press press;
};

/* Queues, chains and data handles: written by compose/. */
struct moot_compose {
    struct kernel join_kernel; /* chain.c: not among those of programs */
    struct queue_lines queue_lines;
    struct datas *datas; /* data.c; NULL: none yet */
};

/* The socket at which this rank tells what it does: written by service/. */
struct moot_service {
    struct door *door; /* door.c; NULL: none */
};

/* One rank's membership: what all rooms use, and one part for each room, which that
 * room writes; under bond->lock. */
struct moot {
    struct bond *bond;
    struct core *core;
    struct transport *transport;
    struct transport_group group;
    struct knobs knobs;
    struct members members;
    struct faults faults;
    uint64_t opened_ns;
    uint64_t now_ns; /* when the lock was taken, or the turn began: time for what is
                        done under it */
    struct {
        uint32_t entered; /* modulo 2^32 */
        uint64_t spawned, run, failed, retried, verified, nondeterministic,
            results_received, frames_refused, stalls;
    } counts;
    struct moot_engine engine;
    struct moot_store store;
    struct moot_tasks tasks;
    struct moot_record record;
    struct moot_schedule schedule;
    struct moot_explain explain;
    struct moot_spawn spawn;
    struct moot_compose compose;
    struct moot_service service;
};

#endif
