/* hello.c - see hello.h. */
#include "hello.h"

#include <sodium.h>
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
    group->uids = malloc(group->size * sizeof *group->uids);
    group->hosts = malloc(group->size * sizeof *group->hosts);
    group->processes = malloc(group->size * sizeof *group->processes);
    group->survives = launcher_lets_survive();
    *out = (struct hello){.threads = group->threads, .process = process_self()};
    if (!group->uids || !group->hosts || !group->processes || sodium_init() < 0)
        return false;
    while (out->uid == 0)
        randombytes_buf(&out->uid, sizeof out->uid);
    return true;
}

void hello_take(struct transport_group *group, uint32_t rank, const struct hello *hello)
{
    group->uids[rank] = hello->uid;
    group->hosts[rank] = (uint32_t)hello->host;
    group->processes[rank] = hello->process;
    group->threads = group->threads && hello->threads != 0;
}
