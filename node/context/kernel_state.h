/* kernel_state.h - the kernels of a context (node/tasks/kernel.h).
 */
#ifndef NODE_CONTEXT_KERNEL_STATE_H
#define NODE_CONTEXT_KERNEL_STATE_H

#include "hashing/identity.h"
#include "node/api/moot.h"
#include "proto/limits.h"

struct message_spec;
struct moot;
struct task;

struct kernel {
    char *name;
    const char *on_board; /* its copy there (board.h); NULL: not yet */
    uint32_t version;
    uint32_t flags;      /* MOOT_KERNEL_* */
    uint32_t core_flags; /* CORE_TASK_* of its tasks */
    moot_kernel_fn fn;
    void *user;
    uint32_t retries;
    moot_duration retry_backoff;
    uint64_t id;
    struct identity_kernel identity;
    unsigned char build[LIMIT_BUILD_BYTES]; /* of the object that has fn (build_id.h) */
    size_t build_size;                      /* in bytes; 0: unknown */
    bool own; /* the library's: of which build it is does not count between ranks */
    uint64_t longest_ns;       /* of its runs here that have ended, */
    uint32_t short_runs;       /* and so many of the last were short (element_run.h) */
    uint64_t awaited, fetched; /* its tasks, by waits for many and with their data */
    bool ends_as_said;         /* what it returns is how its task ends, on all ranks */
    bool (*adopts)(struct moot *m, const struct message_spec *spec); /* whether this
                          rank takes a peer's task of it; NULL: any */
    bool (*opens)(struct moot *m, struct task *task, const struct task *failed); /* ends
                          its task in the place of a run, now or later; false: it is
                          run, as where this is NULL */
    bool told;     /* peers have been sent a KERNEL */
    bool conflict; /* with this registration of a peer's: */
    uint32_t peer_rank, peer_version, peer_flags;
    bool rebuilt; /* a peer has another build of its code, whether that is a conflict or
                     not; */
    bool rebuilt_said;     /* the program was told; */
    uint32_t rebuilt_rank; /* the first such peer */
    unsigned char peer_build[LIMIT_BUILD_BYTES];
    size_t peer_build_size;
};

struct rumour; /* a KERNEL for a name that is not registered here */

struct kernels {
    struct kernel **items;
    uint32_t count;
    struct rumour *rumours;
    uint32_t rumour_count, rumour_room;
    bool by_build;    /* MOOT_KERNEL_BY_BUILD: another build is a conflict */
    bool varies;      /* a kernel of the program's, here or elsewhere, may give other
                         bytes another time */
    uint32_t rebuilt; /* kernels of which a peer has another build */
};

#endif
