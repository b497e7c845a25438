/* context.h - one rank's membership of one moot: the struct behind `moot`.
 *
 * A room's state is its part of struct moot, which it alone writes and all may read.
 * Parts are members, not pointers, so what they consist of is defined here and in the
 * NAME_state.h of this folder, low enough for all rooms; what is done with it stands in
 * the room.  deploy/doc/ARCHITECTURE.md has the rooms.
 *
 * All of it is under the one engine lock (bond->lock), which is held while the core,
 * the tables and the transport are touched and released around kernels, sleeps and
 * report hooks.
 */
#ifndef NODE_CONTEXT_CONTEXT_H
#define NODE_CONTEXT_CONTEXT_H

#include "consensus/core.h"
#include "consensus/faultplan/faultplan.h"
#include "node/config/knobs.h"
#include "node/config/text.h"
#include "node/context/call_state.h"
#include "node/context/checkpoint_state.h"
#include "node/context/handle_state.h"
#include "node/context/kernel_state.h"
#include "node/context/lane_state.h"
#include "node/context/task_state.h"
#include "node/store/pool.h"
#include "node/transport/transport.h"

#include <stdatomic.h>

struct early_motion;
struct early_parts;
struct read_seek;
struct element_link;
struct engine_hooks;
struct program_map;
struct site_name;
struct run_board;
struct scope;
struct outbox;
struct inbox;
struct run;
struct check;
struct trace;
struct datas;
struct observe;
struct inquiry;
struct spawn_table;
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
    bool leaves;
    uint32_t reads;      /* ELEMENTS_WAIT: tasks; and of elements .size */
    struct range places; /* ELEMENTS */
};

/* Members of the moot (node/members/members.h). */
enum member_state {
    MEMBER_HERE,
    MEMBER_REMOVED,
    MEMBER_DEAD,
    MEMBER_LEFT,
    MEMBER_YET_TO_COME
};

struct member {
    enum member_state state;
    bool left;
    bool dying;          /* found ended, and not told yet how */
    struct death *death; /* death.h; NULL: nothing is known, */
    const char *story;   /* and its story */
    uint64_t joined_ns;  /* when a view let it in, of a newcomer; 0: none has */
    uint64_t ended_ns;   /* when its end was found; 0: it was not */
    uint64_t removed_ns; /* when this rank entered a view without it; 0: it has not */
    uint64_t epoch;      /* of that view */
};

/* The end of the moot, as far as this rank has got with it (node/members/farewell.h).
 */
struct farewell {
    bool said;           /* what it had to say is out, */
    bool by_tree, above; /* and its parent has been told so of all below it; */
    uint32_t below;      /* children that have told this rank, a bit each */
    bool over;           /* nobody has anything more to say */
    uint64_t direct_ns;  /* when everyone is told at the latest; 0: not decided yet */
};

struct death;
struct watch;
struct members {
    struct member *all; /* per rank */
    struct watch *watch;
    uint64_t epoch;
    uint32_t lost; /* peers that died or were removed */
    uint32_t gone; /* they, and those that left in good order */
    uint32_t dying;
    uint64_t taken_over;    /* tasks run here whose chair was lost */
    uint64_t taken_over_ns; /* when the first of them was given out */
    bool uncertain;         /* a death came too late to be a certificate */
    struct farewell farewell;
    bool departed; /* this rank has left in good order */
    bool noted;    /* what the launcher will do has been said */
};

/* faults.c: a fault plan, and what it has done */
struct faults {
    struct plan *plan; /* NULL: none */
    struct plan_rank lived;
    struct plan_hits hits;
    uint64_t began_ns; /* the end of open; 0: before */
    uint64_t alone; /* types of messages (PLAN_TYPE) that go past the links, in frames
                       of their own; 0: nothing harms messages, and there are none */
    uint64_t struck_until_ns;
    uint64_t deaf_until_ns;
    uint64_t random;
    bool flipped; /* a bit of the program's state, as far as its signatures say */
};

/* Inputs of one of the tasks below: more do not fit into a block. */
enum { UNNAMED_INPUTS_MAX = BLAKE2B_BLOCK_BYTES / MOOT_HASH_BYTES - 1 };

/* A task that has been spawned and has no hash yet (node/spawn/spawn_batch.h). */
struct unnamed_task {
    struct identity_block block; /* its arguments and its inputs' hashes stand in it */
    uint64_t id;                 /* the program's handle; 0: released again */
    const char *site;            /* the context's */
    struct kernel *kernel;
    uint64_t owner; /* the only candidate, as a set; 0: all are */
    uint8_t args_size, input_count;
    uint32_t expanded; /* unnamed.expanded when its inputs were looked up */
    struct task *inputs[UNNAMED_INPUTS_MAX];
};

struct unnamed {
    uint32_t count;
    bool settled;      /* some, since a spawn has last made room (window.h) */
    uint32_t expanded; /* stubs that became records, ever: their inputs may have */
    struct lane *lane; /* of all of them */
    struct task_facts facts; /* of the one that is registered, */
    struct rankset owner;    /* and its candidates, if not all are */
    struct unnamed_task tasks[IDENTITY_TOGETHER_MAX];
};

/* How long a spawn waits for room (node/spawn/backpressure.h).  Zero-initialise.
 * Ranks are bits. */
struct patience {
    uint64_t looked_ns; /* the host's clock, when it was looked at last */
    uint64_t spent_ns;  /* in turns, since something moved */
    uint64_t ask_ns;    /* nobody is asked before so much is spent */
    uint64_t moved;     /* as the host counted then */
    uint64_t to_ask;
    uint64_t asked;        /* and have not answered; */
    uint64_t stale;        /* of these, before something moved */
    uint64_t resting;      /* said so in this round */
    uint64_t busy;         /* who said last that it does not rest */
    uint32_t rounds;       /* before it, in which all did */
    bool computes, closed; /* one has said so, or this rank did */
    uint64_t dropped;      /* as the host counted when the wait began; */
    bool outlasted;        /* none since one ended as PATIENCE_LONG */
};

/* window.c: of large results that are to go. */
struct press {
    uint64_t since_ns;      /* none has gone; 0: it is not pressed for any */
    uint64_t freed;         /* so many had, when that was looked at last */
    uint64_t in_vain_bytes; /* has been pressed for them */
};

/* The clock (node/engine/clock.h). */
struct clock {
    bool even;                /* the processor has such a counter */
    uint32_t far;             /* ticks for which the last reading tells the time */
    uint64_t ns, ticks;       /* the last reading, */
    uint64_t begun_ns, begun; /* and the one from which the length is learnt */
    uint64_t tick;            /* its length in ns, times 2^32; 0: not known */
};

/* The lock, the loop and the lanes: written by engine/, but for .stop, .closing and
 * .callers, which the public calls set. */
struct moot_engine {
    const struct engine_hooks *hooks; /* dispatch.h */
    struct clock clock;
    struct lane *lanes;
    uint8_t lane_numbers[LIMIT_LANES]; /* 1: in use */
    uint32_t lane_number_count;        /* ever used */
    struct scope **scopes;             /* lane_scope.c: those in use, by mark */
    bool stepping;
    struct later *laters;
    size_t later_count, later_first, later_room;
    struct payload *incoming; /* of the RESULT being stepped; taken if accepted */
    struct payload *whole;    /* room for all of it, if it brings the first part */
    bool adjourned;
    bool ended; /* moot_leave or moot_close has said the last word to the others */
    int fatal;  /* every wait and spawn ends with this; 0: none */
    struct text fatal_story;
    uint64_t end_count;     /* moves on whenever a wait may have ended */
    pthread_cond_t changed; /* something that a sleeper may wait for */
    uint32_t sleepers;
    bool driven;                    /* a thread drives; others sleep */
    atomic_uint_fast64_t driven_ns; /* when someone last did */
    bool silent;                    /* the core is stepped no more (engine_starve) */
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
    moot_report_fn report;
    void *report_user;
    struct text *reports; /* queued until the lock is released */
    uint32_t report_count, report_room;
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
    struct kernels kernels;
    struct program_map **maps; /* that the program has registered (map.h) */
    uint32_t map_count;
    struct task *gone;       /* task.c: records that the core has forgotten */
    bool undoing;            /* what it forgets now is undone by a reload */
    struct site_name *sites; /* task.c: each spelling once */
    uint32_t site_count, site_room;
    const char *site_last;    /* of the last spawn: a loop spawns from one place */
    struct run_board *board;  /* board.h */
    bool board_own;           /* it is not shared */
    struct rankset founders;  /* the homes of most arrays, */
    struct rankset all_homes; /* and those of any that this rank has known */
    struct schedule_cache *schedules;       /* of those; NULL: none had */
    struct elements *taking, **last_taking; /* list: arrays that take others, the oldest
                                               first; */
    struct elements *taking_at[LINKS_CURSORS]; /* the one that is looked at next; NULL:
                                                  the first */
    struct element_link *unsent; /* list: of which something is to be sent */
    struct elements *wished;     /* list: of which somebody wishes for something */
    uint64_t element_news;       /* so often one that waits may have gone on */
    struct element_link *to_look, **last_to_look; /* list: of which something may be
                                                     asked for */
};

/* Records of what happens, and who watches: written by record/. */
struct moot_record {
    struct trace *trace;     /* trace.c; NULL: none */
    struct observe *observe; /* task_watch.c; NULL: nobody ever watched */
    uint32_t observed_kinds;
    struct rankset differing; /* ranks that are told to differ (differing.h) */
    struct first_difference {
        bool is;
        uint32_t rank;
        uint64_t step;
    } first;         /* of states, as far as this rank was told */
    char name[24];   /* of the moot among those of its job (moot_name.h) */
    int64_t zero_ns; /* of this rank's clock, where events count from (job_clock.h) */
};

/* The queue of tasks that wait for nothing but a thread (node/schedule/ready.h). */
struct ready_item {
    int32_t priority;
    uint64_t order;
    struct task *task;
};
/* All zero is an empty queue. */
struct ready {
    struct ready_item *items; /* the heap */
    size_t count, room;
    struct task **line; /* line_room, a power of two, of them; from line_first on */
    size_t line_first, line_count, line_room;
    size_t live;        /* tasks that are ready: some items are not, any more */
    struct task *spent; /* list: forgotten, and the last item has come up */
    uint64_t newest;    /* spawn counter, for the order */
};

/* Kernels that failed and are to be tried again (node/schedule/retry.h). */
struct rest {
    uint64_t due_ns, number; /* of equals the first that came goes first */
    struct task *task;
    uint64_t element; /* 1 + the place of that one of the array; 0: a task's */
};
/* A heap: those due first, first.  All zero is an empty one. */
struct resting {
    struct rest *items;
    size_t count, room;
    uint64_t newest;
};

/* Results of elements between ranks (element_parts.h). */
struct moot_parts {
    struct message_part *list; /* LIMIT_ELEMENT_PARTS of the letter that is written, */
    unsigned char *bytes;      /* and LIMIT_ELEMENT_PARTS_BYTES; NULL: none was yet */
    struct early_parts *early; /* list, the oldest first; so many, */
    uint32_t early_count;
    size_t early_bytes; /* and of so many bytes */
    bool dropped;       /* some could not be kept, ever */
};

/* Kernels that wait, run and are run again, threads, and waits: written by schedule/.
 */
struct moot_schedule {
    struct ready ready;
    uint32_t running;    /* kernels begun and not ended, */
    uint32_t on_threads; /* and those of them that do not wait */
    bool any_alone;      /* some task was given out to run alone, ever, */
    bool alone;          /* and one does so now */
    struct run **runs;   /* run_count of them: their kernels' and spare ones */
    struct run *spare_runs, *going_on; /* lists: without a kernel; whose wait is over */
    uint32_t run_count, spare_run_count;
    struct resting resting;
    struct elements *elements; /* list: arrays with elements to be run */
    struct moot_parts parts;
    uint64_t waiting_told; /* elements that wait, as the core knows, */
    uint32_t reads_told;   /* and tasks that wait for such as are made again */
    struct check *checks, **checks_last;
    uint32_t checks_open; /* told to the core */
    uint64_t checks_seen; /* looked at when so much had ended */
    pthread_t *workers;
    uint32_t worker_count;
    pthread_cond_t left_alone; /* the stand-in has something to do */
    pthread_t stand_in;
    bool standing_in; /* it has been started */
    struct wait *waits;
    uint64_t waits_begun;
    uint32_t program_waits; /* of them: of lanes, */
    uint32_t kernel_waits;  /* and of kernels */
    uint64_t ends_released; /* engine.end_count when that was last looked at */
    uint64_t ended_ns;      /* when something last ended here: a stall counts from it */
    bool any_failed; /* a task whose end is known here, or a wait by a verdict, ever */
    struct task *lingering; /* list */
    struct reload_call {
        bool over;
        bool meets; /* it comes to the meeting before: kernels are drained after that */
        int32_t status;
        uint32_t generation;
    } reload;                 /* that of the program's call, and then what came of it */
    uint64_t reload_since_ns; /* the program is in that call; 0: it is not */
    bool draining; /* undo.c: no kernel begins, and none that runs waits any longer */
    struct meetings {    /* wait.c, and node/compose/meet_wait.h */
        uint64_t number; /* to which the program has come last, */
        uint64_t met;    /* and the last of which the outcome is known: */
        int32_t code;
        struct rankset came;
        unsigned char *words; /* of those (proto/meet_words.h); NULL: none */
        size_t words_size;
    } meetings;
};

/* When a stall is looked for, and what is asked of peers: written by explain/. */
struct moot_explain {
    struct inquiry *inquiry; /* snapshot_query.c */
    unsigned answered; /* INQUIRY_FOR_*: whose picture is complete, in this turn */
    uint64_t stall_due_ns;
    uint64_t stall_pause_ns;
    uint64_t overrun_look_ns; /* when kernels are looked at again, */
    bool overruns;            /* and whether one may never return */
    uint64_t asked_ns;        /* holdup.c: when a peer asked; 0: long ago, or never */
    uint64_t holdup_due_ns, holdup_pause_ns;
    bool looking_out;
    pthread_t lookout;
    unsigned signals_seen;
    struct spawn_table *table;         /* spawn_table.c; NULL: none is wanted */
    uint32_t leaks_seen;               /* handles when they were looked at last */
    uint64_t handles_left, bytes_left; /* at the close: not released */
};

/* Tasks on their way in: written by spawn/. */
struct moot_spawn {
    struct unnamed unnamed;                  /* spawned, and not registered yet */
    struct early_motion *early, *last_early; /* list; so many, */
    uint32_t early_count, early_sweep;       /* and at so many it is swept */
    struct spawn_linger {
        uint64_t ends, since_ns; /* engine.end_count, and when it changed */
    } linger;                    /* window.c: for what is unfinished */
    uint64_t window_bound;       /* window.c: a spawn waits at so many tasks, */
    struct patience patience;    /* and for how long */
    struct press press;
};

/* Lines of queues, which the children of what goes through them inherit
 * (node/compose/queue_line.h). */
enum queue_kind {
    QUEUE_SEQUENTIAL = MOOT_QUEUE_SEQUENTIAL,
    QUEUE_BULK = MOOT_QUEUE_BULK,
    QUEUE_CUSTOM
};

struct queue_line {
    uint16_t up;
    enum queue_kind kind;
    moot_queue_custom custom;
};

struct queue_lines {
    struct queue_line *items; /* line n is items[n - 1] */
    uint32_t count, room;
};

/* Queues, chains and data handles: written by compose/. */
struct moot_compose {
    struct kernel join_kernel; /* chain.c: not among those of programs */
    struct queue_lines queue_lines;
    uint32_t in_regions; /* tasks without a hash that bulk queues collect */
    struct datas *datas; /* data.c; NULL: none yet */
    moot_kernel_id
        element;         /* element_read.c: the kernel by which an element is read, */
    moot_kernel_id find; /* and element_find.c: one of an array that is not here */
    struct read_seeks {  /* element_read.c: */
        struct read_seek *seeks; /* list */
        uint64_t asked;
    } reads;
    struct gate_watch {          /* element_gate.c: */
        uint64_t ends, since_ns; /* nothing has ended here since then */
        uint64_t waiting; /* in the arrays that were gone through so far, if it: */
        uint64_t news;    /* m->tasks.element_news when that began */
        bool passes,
            asks;       /* goes through all of them; some of them ask for something */
        uint32_t looks; /* at so many arrays the next time */
        uint64_t epoch; /* of the view in which all was sent again */
        uint32_t made;  /* so many gates were */
    } gates;
    struct held_stretch *stretches, **last_stretch; /* stretch.c: those held here */
};

/* Lists of a scope's tasks, which all ranks are shown (node/api/listing.h). */
struct moot_listing {
    moot_kernel_id met, live; /* the kernels that give it; zero: not yet registered */
    uint64_t asked;           /* so often this rank has asked others, live */
    uint64_t meeting;         /* at which the other ranks ask for this: */
    void *bytes;
    size_t size;
    moot_task *kept;   /* the lists of the last one, until all have come to another; */
    size_t kept_count; /* zero: gone */
};

/* Data by reference: written by reference/. */
struct moot_reference {
    moot_kernel_id data, find; /* the kernels of data, and of who looks for a file */
    uint64_t asked;            /* so often this rank has asked others for files */
};

/* The present session: written by session/. */
struct moot_session {
    uint64_t number;   /* from 1 */
    uint64_t began_ns; /* 0: with the moot */
    uint32_t rank, size;
    uint32_t *members; /* size of them, per rank, ascending; NULL: rank is member */
    const char *why;
    bool goes;           /* this rank has said at its end that it leaves, or meant to */
    bool gone;           /* this rank has left */
    struct rankset been; /* members that are, or were, in this session or one before */
    uint64_t met;        /* so many meetings had been when it began */
    bool ending;         /* this rank has come to its end, or was told of it so */
    struct rankset ended;      /* members that came to the end of the last one */
    struct joinings *joinings; /* views with newcomers; NULL: there were none */
    uint64_t ask_due_ns;       /* others are asked which session it is; 0: no */
    uint32_t asked;            /* the last of them was the one before that */
    struct rankset unknowing;  /* who asks likewise, as they have said in this round, */
    uint32_t rounds_in_vain;   /* and all did in so many */
    struct growth_wait *growth; /* NULL: nobody has wished any together */
    uint64_t await_until_ns;
    uint32_t awaited, awaited_count; /* numbers of those who are to be in the next */
    struct psets *psets;        /* NULL: nobody has asked yet, and this is the first */
    struct pset_wishes *wishes; /* this rank's since the last boundary; NULL: none */
    uint32_t gone_seen;         /* members that were gone when sets were looked at */
};

/* The socket at which this rank tells what it does, and whether it is to leave: written
 * by service/. */
struct moot_service {
    struct door *door;   /* status_socket.c; NULL: none */
    uint64_t asked_ns;   /* dismissal.c: when it was asked to leave; 0: it was not */
    bool goes;           /* it is to leave in the next call of the program that can, */
    bool dismissed;      /* or does, or has, by itself or by the program */
    unsigned terms_seen; /* SIGTERMs of this process that it knows of */
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
        uint64_t spawned, run, failed, retried, reloads, undone, verified,
            nondeterministic, results_received, frames_refused, stalls, elements_run,
            elements_failed, elements_taken;
    } counts;
    struct moot_engine engine;
    struct moot_store store;
    struct moot_tasks tasks;
    struct moot_record record;
    struct moot_checkpoint checkpoint;
    struct moot_schedule schedule;
    struct moot_explain explain;
    struct moot_spawn spawn;
    struct moot_compose compose;
    struct moot_listing listing;
    struct moot_reference reference;
    struct moot_service service;
    struct moot_session session;
};

static inline bool members_is_here(const struct moot *m, uint32_t rank)
{
    return m->members.all[rank].state == MEMBER_HERE;
}

/* The member that has this rank in the present session, which must be one of it. */
static inline uint32_t session_member(const struct moot *m, uint32_t rank)
{
    return m->session.members != NULL ? m->session.members[rank] : rank;
}

/* The place behind those of the session of a member that has come later; -1: it is no
 * such member. */
static inline int session_rank_behind(const struct moot *m, uint32_t member)
{
    return member < m->group.size && m->group.uids[member] != 0 &&
                   !rankset_has(&m->session.been, member)
               ? (int)(m->session.size + member -
                       rankset_below(&m->session.been, member))
               : -1;
}

/* The rank that this member has in the present session; -1: it is in it no more, or
 * there is no such member. */
static inline int session_rank(const struct moot *m, uint32_t member)
{
    const uint32_t *members = m->session.members;
    if (members == NULL) {
        return member < m->session.size ? (int)member : session_rank_behind(m, member);
    }
    uint32_t low = 0, high = m->session.size;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (members[middle] < member) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < m->session.size && members[low] == member
               ? (int)low
               : session_rank_behind(m, member);
}

#endif
