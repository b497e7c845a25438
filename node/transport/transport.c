/* transport.c - what all transports share: releasing a group. */
#include "node/transport/transport.h"
#include <stdlib.h>

void transport_group_release(struct transport_group *group)
{
    free(group->uids);
    free(group->hosts);
    free(group->processes);
    free(group->boards);
    free(group->blob);
    *group = (struct transport_group){0};
}
