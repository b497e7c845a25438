/* task_state.h - what this rank keeps of a task beside the core (node/tasks/task.h).
 */
#ifndef NODE_CONTEXT_TASK_STATE_H
#define NODE_CONTEXT_TASK_STATE_H

#include "consensus/core.h"
#include "consensus/core_entry.h"
#include "node/store/payload.h"
#include "proto/message.h"

#include <assert.h>

struct elements;
struct identity_map;
struct kernel;

/* The children that a task left running (node/tasks/family.h). */
struct family {
    moot_hash *hashes;
    uint32_t count, room;
};

/* Where this rank can get a task's result from, without anything to compute. */
struct task_source {
    struct task_source *next;
    struct payload *bytes; /* the result itself; NULL: a file has it, */
    char path[];           /* of this name */
};

enum task_stage {
    TASK_IDLE,    /* not ours to run, or inputs are missing */
    TASK_READY,   /* in the ready queue; the core keeps its inputs until it has ended */
    TASK_RUNNING, /* in its kernel */
    TASK_RESTING, /* its kernel has failed, and is to be tried again (retry.h) */
    TASK_ENDED    /* this rank has ended it */
};

/* Walks over the arrays that take others, m->tasks.taking, each with a place of its own
 * (links_next()). */
enum links_cursor { LINKS_FOR_ENDS, LINKS_FOR_IDLE, LINKS_CURSORS };

/* The rare part of a task, made on demand. */
struct task_seldom {
    struct family *family; /* that it left running; NULL: none, or not known */
    char *verdict_story;
    struct task_source *sources; /* where its result can be had from (source.h) */
    struct payload *partial; /* of a result that comes in parts; NULL: there is none */
    int32_t verdict;         /* the last */
    uint32_t verdict_count;
    uint64_t digest;      /* of the result's bytes, if those are verified; 0: none */
    uint32_t digest_rank; /* that made the result with that digest */
    uint32_t second_rank; /* whose run gave another, plus 1; 0: none is known */
    const char *label;    /* NULL: none */
    const struct kernel *named; /* of which the program named the task; NULL: not so */
    struct message_spec *spec;  /* portable */
    struct task *parent;        /* nested: the spawning task, if known here */
    struct elements *elements;  /* it is an array, spawned here (own_elements.h) */
    uint32_t rest_at;           /* while it rests: its place among those (retry.h) */
    uint16_t failures;          /* of its kernel, which was tried again */
    /* While it lingers: */
    uint32_t linger_lane;
    uint8_t linger_want; /* enum want */
    struct task *linger_prev, *linger_next;
};

/* A long run holds tens of thousands of these, most of them of tasks that other ranks
 * run; what a release and a drop touch stands in the first line behind the core's. */
struct task {
    union {
        moot_hash hash;
        struct core_entry entry; /* for the core, by task_entry() */
    };
    uint32_t handle_count;
    uint32_t pins;     /* waits for it, checks that read it (verify.h), and its run */
    uint32_t tickets;  /* that stand for it, or have it as an input (task_handle.h) */
    uint16_t queued;   /* items of the ready queue that name it */
    bool cancelled;    /* __atomic: too late, but its kernel may ask */
    uint8_t stage : 5; /* enum task_stage */
    bool kept : 1;     /* a handle of it was released, and stays for its tickets */
    bool undone : 1;   /* by a reload; it is gone, too */
    bool alone : 1;    /* a suspect: it runs while no other kernel does */
    bool pending : 1; /* spawned, and with a queue: filled in, not registered (ticket.h)
                       */
    bool held : 1;    /* registered with the core */
    bool adopted : 1; /* held by a peer's spec, not yet spawned by this program */
    bool nested : 1;
    bool entered : 1;     /* more than the core has to do with it */
    bool gone : 1;        /* the core has forgotten it */
    bool own : 1;         /* ran here: peers may ask for its bytes */
    bool seen : 1;        /* it has ended well before, on a rank that is gone */
    bool known : 1;       /* the result's status and size are known here */
    bool let_go : 1;      /* the core knows that the program uses it no more */
    bool lane_waited : 1; /* the core knows that a lane here waited for it */
    bool end_told : 1;    /* to the watches (task_watch.h) */
    bool args_alone : 1;  /* args are malloc'd, not in the pool; */
    bool args_inside : 1; /* they stand behind the record */
    /* A wait on it timed out: its need stays with the core, so that a program that
     * polls asks its peers once and not never (wait.c). */
    bool lingers : 1, verdict_waits : 1;
    uint16_t queue_line; /* what its children's spawns go through (queue_line.h) */
    uint32_t args_size;

    struct kernel *kernel;      /* NULL: known by its hash alone */
    void *args;                 /* aligned for any type; kept while it may still run */
    struct payload *payload;    /* the result, or the error's story; NULL: not here */
    struct task_seldom *seldom; /* NULL: as if all of it were zero */
    uint64_t size;              /* of the result, once known */
    struct task *raise_next; /* while priorities are handed down, and in ready.spent */
    int32_t status;          /* once known: MOOT_OK or the error */
    int32_t priority;
    uint32_t trace_number; /* in this rank's trace; 0: not named there yet */
    uint32_t number;       /* the newest have the greatest, modulo 2^32 */
};
static_assert(CORE_ENTRY_BYTES >= 3 * 64 && offsetof(struct task, size) == 4 * 64,
              "what a release touches, and forgetting, is one cache line");
static_assert(sizeof(struct task) <= CORE_ENTRY_BYTES + 88,
              "its memory is what a live task costs");

/* A task that this rank neither runs nor feeds is but a stub of the core's, which the
 * program's handle of it points to instead of a record, until something needs that
 * (task_handle_find).  Behind what is kept of it here stand its arguments, and behind
 * them, if this rank writes a trace, its number there. */
struct task_stub {
    uint64_t handle; /* the program's; 0: released */
    uint32_t number;
    uint16_t kernel; /* of the context's kernels */
    uint16_t args_size : 9, traced : 1, queue_line : 6;
};
enum { STUB_ARGS_BYTES_MAX = 256, STUB_QUEUE_LINE_MAX = 63 };

/* A task as a spawn or a peer's spec has it, checked. */
struct task_facts {
    struct kernel *kernel;
    const void *args;
    size_t args_size;
    const void *key; /* portable kernels: goes into the spec that peers are sent */
    size_t key_size;
    struct task *const *input_tasks; /* the inputs', where known; or NULL */
    struct task *parent;             /* nested */
    bool nested;
    int32_t priority;
    uint16_t queue_line;
    uint32_t place;    /* hash_place() of the task that it is beside; 0: its own */
    const char *label; /* NULL: none */
    const struct identity_map *maps; /* of an array, one for each input; */
    bool grows;                      /* and this rank had spawned a part of it */
    /* The registration for the core.  Its lane, .input_entries and .spec come in
     * last. */
    struct core_register reg;
};

#endif
