/* trace.h - what happens on this rank, recorded for `moot report`.
 *
 * With MOOT_TRACE each rank appends records (moot.proto) to `rank-N.trace` in that
 * folder: what it spawned and ran, what it waited for, votes, results, views, deaths,
 * faults, stalls.  The functions below are hooks, one line where the thing happens;
 * each costs a look at m->record.trace if there is no trace.
 *
 * A record carries the time at which the thread last took the engine's lock or began a
 * turn (m->now_ns): that is when a thing that happens under the lock is noticed, and it
 * costs nothing.  Only the start of a kernel looks at the clock again.
 *
 * What is in the buffer is written out when it is worth a write, and every
 * TRACE_LOOK_NS by whoever drives progress: so much is lost if the process is killed.
 *
 * Clocks are not set right here.  A rank records what its peers' heartbeats say of
 * theirs; the reader has all files, and puts the ranks' times in line.
 *
 * Under the engine lock.
 */
#ifndef NODE_RECORD_TRACE_H
#define NODE_RECORD_TRACE_H

#include "node/context/context.h"

#define TRACE_LOOK_NS UINT64_C(20000000)

/* Shorter gaps in progress are no record. */
#define TRACE_GAP_NS UINT64_C(1000000)

/* The points that the core must note. */
#define TRACE_NOTES                                                                    \
    (CORE_NOTE(CORE_POINT_MOTION_SENT) | CORE_NOTE(CORE_POINT_MOTION_RECV) |           \
     CORE_NOTE(CORE_POINT_VOTE_CAST) | CORE_NOTE(CORE_POINT_DECISION_SENT) |           \
     CORE_NOTE(CORE_POINT_DECISION_RECV) | CORE_NOTE(CORE_POINT_RESULT_SENT) |         \
     CORE_NOTE(CORE_POINT_RESULT_RECV) | CORE_NOTE(CORE_POINT_VIEW_PROPOSE) |          \
     CORE_NOTE(CORE_POINT_VIEW_ENTER))

/* Begins the trace if the knobs ask for one.  A folder that cannot be written to is
 * reported, and nothing fails. */
void trace_open(struct moot *m);
/* The last record, and whether all could be written; accepts that there is no trace. */
void trace_close(struct moot *m);
void trace_abandon(struct moot *m); /* likewise, without a last record */

/* What is spawned: a record, or a stub that is about to be one. */
struct trace_spawned {
    moot_hash hash;
    const char *site, *label; /* interned; NULL: none */
    struct task *parent;      /* NULL: none */
    uint32_t *number;         /* in the trace; 0: it is to get one */
};
void trace_write_spawn(struct moot *m, const struct trace_spawned *spawned,
                       const struct task_facts *facts, uint32_t lane, bool adopted);
void trace_write_ready(struct moot *m, struct task *task);
void trace_write_start(struct moot *m, struct task *task);
void trace_write_element_start(struct moot *m, struct task *array, uint64_t index);
void trace_write_element_end(struct moot *m, struct task *array, uint64_t index,
                             int code);
void trace_write_found(struct moot *m, struct task *task);
void trace_write_end(struct moot *m, struct task *task);
void trace_write_wait(struct moot *m, const struct wait *wait, bool over, int code);
void trace_write_note(struct moot *m, const struct core_output *output);
void trace_write_verdict(struct moot *m, struct task *task, int code);
void trace_write_gap(struct moot *m, uint64_t driven_ns); /* until m->now_ns */
void trace_write_suspects(struct moot *m, const struct rankset *suspects);
void trace_write_lost(struct moot *m, uint32_t rank, bool dead);
void trace_write_fault(struct moot *m, uint32_t rule);
void trace_write_park(struct moot *m, bool parked);
void trace_write_stall(struct moot *m, const char *text);
void trace_write_opened(struct moot *m);
void trace_write_closing(struct moot *m);
void trace_write_asked(struct moot *m, const char *by); /* to leave */
void trace_write_left(struct moot *m);
void trace_write_session(struct moot *m); /* the present one */
/* A process set is defined; members of NULL: it is deleted. */
void trace_write_set(struct moot *m, size_t index, const char *name,
                     const struct rankset *members);
void trace_write_joined(struct moot *m, uint32_t rank, const char *process);
void trace_write_parted(struct moot *m, uint32_t rank);
/* A snapshot's commit is written, or what this rank was to write of one is not. */
void trace_write_snapshot(struct moot *m, int code, uint64_t took_ns, const char *text);
void trace_write_differs(struct moot *m, uint32_t rank, uint64_t step,
                         const char *text);
void trace_write_out(struct moot *m); /* what is in the buffer, now */
/* A chore of the loop: likewise, if that was last done long ago. */
void trace_look(struct moot *m, uint64_t now_ns);
void trace_fails(struct moot *m); /* for the end that engine_fail() is */

#define TRACE_HOOK(name, parameters, arguments)                                        \
    static inline void trace_##name parameters                                         \
    {                                                                                  \
        if (m->record.trace != NULL) {                                                 \
            trace_write_##name arguments;                                              \
        }                                                                              \
    }

TRACE_HOOK(ready, (struct moot * m, struct task *task), (m, task))
TRACE_HOOK(start, (struct moot * m, struct task *task), (m, task))
TRACE_HOOK(element_start, (struct moot * m, struct task *array, uint64_t index),
           (m, array, index))
TRACE_HOOK(element_end, (struct moot * m, struct task *array, uint64_t index, int code),
           (m, array, index, code))
TRACE_HOOK(found, (struct moot * m, struct task *task), (m, task))
TRACE_HOOK(end, (struct moot * m, struct task *task), (m, task))
TRACE_HOOK(wait, (struct moot * m, const struct wait *wait, bool over, int code),
           (m, wait, over, code))
TRACE_HOOK(note, (struct moot * m, const struct core_output *output), (m, output))
TRACE_HOOK(verdict, (struct moot * m, struct task *task, int code), (m, task, code))
TRACE_HOOK(gap, (struct moot * m, uint64_t driven_ns), (m, driven_ns))
TRACE_HOOK(suspects, (struct moot * m, const struct rankset *suspects), (m, suspects))
TRACE_HOOK(lost, (struct moot * m, uint32_t rank, bool dead), (m, rank, dead))
TRACE_HOOK(fault, (struct moot * m, uint32_t rule), (m, rule))
TRACE_HOOK(park, (struct moot * m, bool parked), (m, parked))
TRACE_HOOK(stall, (struct moot * m, const char *text), (m, text))
TRACE_HOOK(opened, (struct moot * m), (m))
TRACE_HOOK(closing, (struct moot * m), (m))
TRACE_HOOK(asked, (struct moot * m, const char *by), (m, by))
TRACE_HOOK(left, (struct moot * m), (m))
TRACE_HOOK(session, (struct moot * m), (m))
TRACE_HOOK(set,
           (struct moot * m, size_t index, const char *name,
            const struct rankset *members),
           (m, index, name, members))
TRACE_HOOK(joined, (struct moot * m, uint32_t rank, const char *process),
           (m, rank, process))
TRACE_HOOK(parted, (struct moot * m, uint32_t rank), (m, rank))
TRACE_HOOK(snapshot, (struct moot * m, int code, uint64_t took_ns, const char *text),
           (m, code, took_ns, text))
TRACE_HOOK(differs, (struct moot * m, uint32_t rank, uint64_t step, const char *text),
           (m, rank, step, text))
TRACE_HOOK(out, (struct moot * m), (m))

#undef TRACE_HOOK

/* HEARTBEAT and GRANT. */
bool trace_take_heartbeat(struct moot *m, uint32_t from,
                          const struct message *heartbeat);
bool trace_take_grant(struct moot *m, uint32_t from, const struct message *grant);

#endif
