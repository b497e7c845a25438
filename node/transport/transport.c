/* transport.c - what all transports share: releasing a group. */
#include "node/transport/transport.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *transport_group_host(const struct transport_group *group, char *text, size_t size)
{
    if (group->host_name != NULL) {
        snprintf(text, size, "%s", group->host_name);
    } else if (gethostname(text, size) != 0) {
        text[0] = '\0';
    }
    text[size - 1] = '\0';
    return text;
}

char *transport_group_host_of(const struct transport_group *group, uint32_t rank,
                              char *text, size_t size)
{
    if (group->host_names == NULL) {
        return transport_group_host(group, text, size);
    }
    snprintf(text, size, "%s", group->host_names[rank]);
    return text;
}

uint32_t transport_group_ever(const struct transport_group *group)
{
    uint32_t ever = group->size;
    while (group->uids[ever - 1] == 0) {
        ever--;
    }
    return ever;
}

void transport_group_release(struct transport_group *group)
{
    free(group->uids);
    free(group->hosts);
    free(group->origins);
    free(group->processes);
    free(group->boards);
    free(group->places);
    free(group->blob);
    free(group->host_name);
    free(group->host_names);
    *group = (struct transport_group){0};
}
