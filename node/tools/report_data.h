/* report_data.h - the data of a report's page, as JSON.
 *
 * report.js reads it.  Lists of numbers are flat, and times are microseconds with three
 * decimals at most, because a page of some megabytes is the most that browsers like:
 *
 *   timeline   per rank: from, to, state, task (its place in names; -1: none)
 *   names      of the tasks that are drawn
 *
 * What would be too much is put together: segments to slots of one length, which is
 * `slot`, with the shares of each state; tasks to kernels and places, and `merged` of
 * the graph says how.
 */
#ifndef NODE_TOOLS_REPORT_DATA_H
#define NODE_TOOLS_REPORT_DATA_H

#include "node/tools/trace_model.h"
#include <stdio.h>

enum {
    REPORT_SEGMENTS_MAX = 40000, /* of all ranks together; more are put into slots */
    REPORT_SLOTS = 1200,         /* per rank, if ranks are few */
    REPORT_SLOTS_ALL = 60000,    /* of all ranks */
    REPORT_GRAPH_MAX = 300,      /* nodes; more are collapsed */
    REPORT_PATH_MAX = 400,       /* rows of the critical path */
    REPORT_FAILURES_MAX = 200,
    REPORT_VOTES_MAX = 4000,
    REPORT_CAUSES_MAX = 20,
    REPORT_READY_POINTS = 400,
    REPORT_EVENTS_MAX = 1000,
    REPORT_SESSIONS_MAX = 200 /* sessions, and as many process sets */
};

/* False without memory. */
bool report_data_write(const struct model *model, FILE *file);

/* report_graph.c: the member "graph". */
bool report_graph_write(const struct model *model, FILE *file);
/* report_lists.c: the members of a list each. */
bool report_lists_write(const struct model *model, FILE *file);

/* report_sessions.c: the members "sessions", "changes" and "sets". */
bool report_sessions_write(const struct trace_job *trace, FILE *file);

double report_us(int64_t ns);

#endif
