/* checkpoint_state.h - results that outlive the job (node/checkpoint/checkpoint.h).
 */
#ifndef NODE_CONTEXT_CHECKPOINT_STATE_H
#define NODE_CONTEXT_CHECKPOINT_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diskstore;
struct kept_result;
struct payload;
struct snapshot_ask;
struct snapshot_job;
struct moot;

/* node/checkpoint/policy.h */
enum policy_when { POLICY_FINISH, POLICY_INTERVAL, POLICY_LABEL, POLICY_CALL };
struct policy {
    enum policy_when when;
    int64_t interval_ns; /* INTERVAL */
    const char *prefix;  /* LABEL */
};

/* A running kernel's part in it.  All zero: none. */
struct call_checkpoint {
    bool asks;           /* its result is looked for before it starts, */
    bool found;          /* and was there: the kernel does not run, */
    bool may_have;       /* or must not, as it may have run before: */
    bool began;          /* that it began is stored; else nobody can tell, */
    const char *unread;  /* or its end is, and cannot be read now: why, */
    char *unread_in;     /* and the environment: to be free()d */
    bool accepts;        /* its acceptance is stored before it starts */
    bool keeps;          /* its result may be stored, */
    bool now;            /* at once, whatever it took */
    int32_t status;      /* `found`: how it ended */
    uint32_t deaths;     /* so many ranks had been lost when it began */
    uint32_t generation; /* of the store when it began */
    const char *label;   /* the task's, or NULL */
    bool compares;       /* what it was made of counts (checkpoint.h), */
    bool summed;         /* and the sum of these inputs is known: */
    const struct payload *const *inputs;
    size_t input_count;
    uint64_t inputs_sum;
    void *state; /* that it found of its own, or NULL */
    size_t state_size;
};

struct moot_checkpoint {
    struct diskstore *store; /* NULL: none */
    struct policy policy;
    bool looks; /* __atomic: there is something to be found: results of jobs before, or
                   of ranks that died */
    uint64_t due_ns;      /* the policy's interval is over */
    uint64_t counted_ns;  /* the store's troubles were looked at last */
    pthread_mutex_t lock; /* of the rest; taken under the engine lock or without it */
    struct kept_result *waiting; /* a list, newest first: for the policy, */
    uint64_t waiting_bytes;
    struct kept_result *written; /* a list: references to be dropped */
    struct snapshot_job *ended;  /* a list: of which the core is to hear */
    /* __atomic: what this rank has found, and what that took when it ran; stored; */
    uint64_t found, found_ns, stored, stored_bytes;
    uint64_t brief;   /* __atomic: results that took less than it takes to store them */
    uint64_t refused; /* __atomic: once tasks that were not started, as they may have
                         run or could not be noted */
    uint32_t deaths_seen; /* and so many deaths after which the store was read again */
    /* Under the engine lock. */
    struct snapshot_ask *asks; /* a list: calls that wait for snapshots */
    bool goes_back;            /* the program goes back to a snapshot, and its store */
    struct snapshot_job *cut;  /* that waits for that; NULL: none does */
    uint64_t cut_ns; /* this rank's part of the present snapshot was begun then; */
    uint64_t snapshots, snapshots_ns; /* whose commits it wrote, from its cuts on; */
    uint64_t snapshots_failed;        /* of which it could not write its part */
    uint64_t lost; /* records of the store, when its troubles were looked at */
    size_t told;   /* bytes of the store's lines about trouble that were reported */
    bool told_older, told_other; /* of a result of another build, or of other inputs */
    void (*dropped)(struct moot *m, void *user); /* NULL: nothing of its own to drop */
    void *dropped_user;
};

#endif
