/* watch.c - who of a virtual host's ranks has ended (node/members/peer_monitor.h).
 *
 * In the place of the one that asks the system: ranks of a host learn of each other's
 * end for certain, some time after it.
 */
#include "node/members/peer_monitor.h"
#include "tests/virtual/world.h"

#include <stdlib.h>

#define LATE_NS UINT64_C(2000000)

struct watch {
    uint32_t size;
    uint64_t due_ns[WORLD_RANKS_MAX]; /* when it is told; 0: nothing has been found */
    bool near[WORLD_RANKS_MAX];       /* and not told yet */
};

struct watch *__wrap_watch_new(const struct transport_group *group);
void __wrap_watch_free(struct watch *watch);
uint32_t __wrap_watch_next(struct watch *watch, uint64_t now_ns);

struct watch *__wrap_watch_new(const struct transport_group *group)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    for (uint32_t rank = 0; watch != NULL && rank < group->size; rank++) {
        watch->near[rank] =
            rank != group->rank && group->hosts[rank] == group->hosts[group->rank];
    }
    if (watch != NULL) {
        watch->size = group->size;
    }
    return watch;
}

void __wrap_watch_free(struct watch *watch) { free(watch); }

uint32_t __wrap_watch_next(struct watch *watch, uint64_t now_ns)
{
    for (uint32_t rank = 0; rank < watch->size; rank++) {
        if (watch->near[rank] && watch->due_ns[rank] == 0 && world_has_ended(rank)) {
            watch->due_ns[rank] = now_ns + 1 + world_draw(LATE_NS);
        }
        if (watch->near[rank] && watch->due_ns[rank] != 0 &&
            watch->due_ns[rank] <= now_ns) {
            watch->near[rank] = false;
            return rank;
        }
    }
    return UINT32_MAX;
}
