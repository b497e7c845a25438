/* trace_model.h - what a trace means: what each rank did when, why it waited, which
 * chain of tasks held everything up.
 *
 * A rank is in one state at a time:
 *
 *   RUN    at least one kernel is at work there
 *   VOTE   none is; its program waits, and what it waits for, or the last input of
 *          that, and so on, had its inputs but no owner yet: a vote gave it one later
 *   DATA   none is; its program waits for what is run, or sent, elsewhere
 *   OWN    the program's own code, which spawns, computes or is parked; or moot's,
 *          while a kernel could begin
 *   IDLE   moot_open has not returned, or it has called moot_close and serves its peers
 */
#ifndef NODE_TOOLS_TRACE_MODEL_H
#define NODE_TOOLS_TRACE_MODEL_H

#include "node/tools/trace_data.h"

enum model_state { STATE_RUN, STATE_VOTE, STATE_DATA, STATE_OWN, STATE_IDLE, STATES };

struct model_segment {
    int64_t from_ns, to_ns;
    enum model_state state;
    uint32_t task; /* VOTE, DATA: that is missing; TRACE_NONE: not known */
    uint64_t
        element; /* RUN: 1 + the index of an element of the array `task`; 0: none */
};

struct model_rank {
    struct model_segment *segments;
    size_t count, room;
    int64_t total_ns[STATES];
};

/* Ranks waited for such tasks so long altogether. */
struct model_cause {
    enum model_state state; /* VOTE or DATA */
    const char *kernel, *site;
    double total_ns;
    uint64_t count;
};

struct model {
    const struct trace_job *trace;
    struct model_rank *ranks;
    struct model_cause *causes; /* most first */
    size_t cause_count;
    uint32_t *path; /* the critical path, first task first */
    size_t path_count;
    double path_ns;    /* its kernels' times: nothing can be faster with these kernels.
                          Elements are in none: the trace does not tell their inputs */
    double work_ns;    /* of all kernels */
    double idle_share; /* of all ranks' time since moot_open returned: not RUN or OWN */
    bool out_of_memory;
};

bool model_make(const struct trace_job *trace, struct model *out);
void model_release(struct model *model);

/* How long the task that counts ran; 0: not to its end here. */
int64_t model_ran_ns(const struct trace_job *trace, uint32_t task);
/* When its inputs were there: the last one's end; 0: it has none that ended. */
int64_t model_inputs_ns(const struct trace_job *trace, uint32_t task, uint32_t *last);

#endif
