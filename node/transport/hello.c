/* hello.c - see hello.h. */
#include "node/transport/hello.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open MPI's mpirun ends the job with the first rank that dies, unless told not to; of
 * other launchers nothing is known here. */
static bool launcher_lets_survive(void)
{
    const char *recovery = getenv("OMPI_MCA_orte_enable_recovery");
    return !getenv("OMPI_COMM_WORLD_SIZE") || (recovery && strcmp(recovery, "0") != 0);
}

bool hello_make(struct transport_group *group, struct hello *out)
{
    group->uids = calloc(group->size, sizeof(*group->uids));
    group->hosts = calloc(group->size, sizeof(*group->hosts));
    group->processes = calloc(group->size, sizeof(*group->processes));
    group->host_names = calloc(group->size, sizeof(*group->host_names));
    group->survives = launcher_lets_survive();
    *out = (struct hello){.threads = group->threads,
                          .process = process_self(),
                          .processors = processors_own()};
    transport_group_host(group, out->host_name, sizeof(out->host_name));
    if (!group->uids || !group->hosts || !group->processes || !group->host_names ||
        sodium_init() < 0) {
        return false;
    }
    while (out->uid == 0) {
        randombytes_buf(&out->uid, sizeof(out->uid));
    }
    return true;
}

static bool is_oversubscribed(const struct transport_group *group,
                              const struct hello *all)
{
    const struct hello *mine = &all[group->rank];
    uint64_t ranks = 0;
    for (uint32_t rank = 0; rank < group->size; rank++) {
        ranks += all[rank].uid != 0 && all[rank].host == mine->host &&
                 all[rank].processors.set == mine->processors.set;
    }
    return !processors_suffice(mine->processors, ranks);
}

void hello_take_one(struct transport_group *group, uint32_t rank,
                    const struct hello *hello)
{
    group->uids[rank] = hello->uid;
    group->hosts[rank] = (uint32_t)hello->host;
    group->processes[rank] = hello->process;
    snprintf(group->host_names[rank], sizeof(*group->host_names), "%.*s",
             TRANSPORT_HOST_BYTES - 1, hello->host_name);
    group->threads = group->threads && hello->threads != 0;
}

void hello_take(struct transport_group *group, const struct hello *all)
{
    for (uint32_t rank = 0; rank < group->size; rank++) {
        group->hosts[rank] = UINT32_MAX;
        if (all[rank].uid != 0) {
            hello_take_one(group, rank, &all[rank]);
        }
    }
    group->oversubscribed = is_oversubscribed(group, all);
}
