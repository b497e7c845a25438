/* trace_data.h - a run as its traces tell it, all ranks' files put together.
 *
 * Tasks are one by hash: what several ranks spawned is one task with several spawners.
 * Times are nanoseconds since the first call of moot_open, on one clock
 * (trace_align.c).  Everything lives until trace_release.
 */
#ifndef NODE_TOOLS_TRACE_DATA_H
#define NODE_TOOLS_TRACE_DATA_H

#include "hashing/moot_hash.h"
#include "hashing/rankset.h"
#include "moot.pb-c.h"
#include "node/explain/exit_report.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NEVER INT64_MAX
/* Beyond these no clock is: nine years since a host began, and the year 2116. */
#define TRACE_CLOCK_NS_MAX (INT64_C(1) << 58)
#define TRACE_WALL_NS_MAX (INT64_C(1) << 62)
#define TRACE_NONE UINT32_MAX /* no task, no rank, no run */

struct trace_task {
    moot_hash hash;
    const char *kernel, *site, *label; /* "": not known */
    uint32_t flags;                    /* Moot__Record__Flag */
    uint32_t *inputs;                  /* tasks: data inputs, then `after` */
    uint32_t input_count, after_count;
    uint32_t parent;
    uint32_t edges_from; /* rank whose spawn gave the inputs; TRACE_NONE: none yet */
    struct rankset spawners;
    int64_t spawned_ns; /* first; TRACE_NEVER: by nobody whose trace is here */
    uint32_t run;       /* the one that counts: the first that ended well, or ended */
    int64_t asked_ns;   /* first motion; TRACE_NEVER: none */
    int64_t voted_ns;   /* first vote; likewise */
    uint32_t chair, winner, evidence; /* of that vote */
    int32_t verdict; /* that waits for it ended with, unlike a run; 0: none */
};

/* A kernel from start to end.  What never ended (its rank died, or the trace is torn)
 * has end_ns TRACE_NEVER, what never started has start_ns so. */
struct trace_run {
    uint32_t task, rank;
    uint64_t element; /* 1 + the index of an element of the array `task`; 0: none */
    int64_t ready_ns, start_ns, end_ns;
    int64_t waited_ns; /* for its children */
    int64_t since_ns;  /* while that is added up: the beginning of a wait */
    int32_t code;
    bool found; /* in the checkpoint: it never started */
};

struct trace_event {
    int64_t at_ns;
    Moot__Record__Kind kind;
    uint32_t task, peer, lane, parent; /* task, parent: of the run, or TRACE_NONE */
    uint64_t value;
    int32_t code;
    const char *text;      /* NULL: none */
    const uint64_t *words; /* of SESSION and SET: their members */
    uint32_t word_count;
    /* A WAIT for several: tasks behind the first that the rank has not spawned. */
    uint32_t *found;
    uint32_t found_count;
};

/* A message that both sides recorded. */
struct trace_message {
    Moot__Record__Kind kind; /* _SENT */
    uint32_t task, from, to;
    int64_t sent_ns, received_ns;
    uint64_t bytes; /* results */
};

struct trace_knob {
    const char *name, *value, *origin;
};

struct trace_rank {
    bool present;
    const char *unread;  /* not present: why its file was not read; "": there is none */
    bool whole;          /* it has its last record */
    uint64_t torn_bytes; /* at the end of the file, not read */
    uint64_t bytes;
    const char *version, *host_name, *transport, *compiler, *command;
    uint32_t wire_version, host;
    uint64_t uid, pid;
    int64_t wall_ns, opened_ns; /* CLOCK_REALTIME; of the rank's own clock */
    int64_t offset_ns;          /* added to its clock */
    int64_t first_ns, last_ns;
    int64_t ready_ns; /* moot_open had returned; TRACE_NEVER: it never did */
    int64_t dead_ns;  /* a peer saw it dead, or removed it; TRACE_NEVER: no */
    bool is_dead;     /* the former */
    int64_t close_ns; /* moot_close was called */
    int32_t close_code;
    struct trace_event *events;
    size_t event_count, event_room;
    struct figure *figures;
    size_t figure_count;
};

struct trace_job {
    struct trace_rank *ranks;
    uint32_t rank_count, present_count;
    struct rankset strangers; /* beyond these: files of another run with more ranks */
    struct trace_task *tasks;
    uint32_t task_count, task_room;
    struct trace_run *runs;
    uint32_t run_count, run_room;
    struct trace_message *messages;
    size_t message_count, message_room;
    struct trace_knob *knobs;
    size_t knob_count;
    uint64_t job;             /* the same for all ranks of a run */
    uint64_t vote_timeout_ns; /* 0: never */
    int64_t wall_ns;          /* CLOCK_REALTIME at time 0 */
    int64_t makespan_ns;
    uint64_t backward;        /* messages that came before they were sent, */
    int64_t backward_most_ns; /* and by how much */
    /* Memory: texts, and the index of tasks by hash. */
    struct trace_block *blocks;
    uint32_t *index;
    uint32_t index_size;
    bool out_of_memory;
};

/* Reads a folder; false, and *why (static or in `story`), if there is no trace in it.
 */
bool trace_read(const char *directory, struct trace_job *out, char *story,
                size_t story_size);
void trace_release(struct trace_job *trace);

/* Between files and times: puts all ranks on one clock and makes time 0 the start. */
void trace_align(struct trace_job *trace);
/* Pairs what was sent with what came. */
void trace_pair_messages(struct trace_job *trace);

/* Memory that lives with the trace; NULL, and out_of_memory, if there is none. */
void *trace_take(struct trace_job *trace, size_t size);
const char *trace_text(struct trace_job *trace, const void *bytes, size_t size);
/* Makes room for one more; NULL, and out_of_memory. */
void *trace_grow(struct trace_job *trace, void *items, uint64_t count, uint64_t *room,
                 size_t item_size);

/* The task of a hash, made if there is none; TRACE_NONE without memory. */
uint32_t trace_task_enter(struct trace_job *trace, const uint8_t *hash);

uint64_t trace_figure(const struct trace_rank *rank, const char *key);
/* Votes, by the records and not by the figures; deaths likewise. */
uint64_t trace_count(const struct trace_job *trace, Moot__Record__Kind kind);
/* "kernel 'label' 1a2b3c4d", cut. */
char *trace_task_name(const struct trace_job *trace, uint32_t task, char *text,
                      size_t size);
/* "element 7 of kernel 'label' 1a2b3c4d" */
char *trace_run_name(const struct trace_job *trace, const struct trace_run *run,
                     char *text, size_t size);
/* What befell a rank, as a verb: "enters view"; NULL for all that is no such event. */
const char *trace_event_word(Moot__Record__Kind kind);

#endif
