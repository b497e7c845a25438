/* kernel_state.h - the kernels of a context (node/tasks/kernel.h).
 */
#ifndef NODE_CONTEXT_KERNEL_STATE_H
#define NODE_CONTEXT_KERNEL_STATE_H

#include "hashing/identity.h"
#include "node/api/moot.h"

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
    unsigned char
        build[32]; /* of the object that has fn (build_id.h); size 0: unknown */
    size_t build_size;
    uint64_t longest_ns; /* of its runs here that have ended */
    bool ends_as_said;   /* what it returns is how its task ends, on all ranks */
    bool told;           /* peers have been sent a KERNEL */
    bool conflict;       /* with this registration of a peer's: */
    uint32_t peer_rank, peer_version, peer_flags;
};

struct rumour; /* a KERNEL for a name that is not registered here */

struct kernels {
    struct kernel **items;
    uint32_t count;
    struct rumour *rumours;
    uint32_t rumour_count, rumour_room;
};

#endif
