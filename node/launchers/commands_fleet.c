/* commands_fleet.c - see commands_fleet.h. */
#include "node/launchers/commands_fleet.h"
#include "node/transport/transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fleet_begin(moot_fleet *fleet, struct commands_plan plan, char *story,
                size_t story_size)
{
    plan.count = fleet->hosts.count;
    plan.hosts = fleet->hosts.items;
    fleet->commands = commands_new(&plan);
    return fleet->commands != NULL ? MOOT_OK
                                   : object_refuse(story, story_size, "%s: %s",
                                                   fleet->launcher, strerror(errno));
}

uint32_t fleet_hosts(const moot_fleet *fleet) { return fleet->hosts.count; }

int fleet_host(const moot_fleet *fleet, uint32_t index, moot_launcher_host *out)
{
    return hosts_describe(&fleet->hosts, index, out);
}

static int refuse_host(moot_fleet *fleet, uint32_t host, const char *why)
{
    (void)snprintf(fleet->story, sizeof(fleet->story), "%s: host %u: %s",
                   fleet->launcher, host, why);
    return MOOT_ERR_INVALID;
}

int fleet_start(moot_fleet *fleet, uint32_t host, char *const argv[])
{
    if (host >= fleet->hosts.count) {
        return refuse_host(fleet, host, "there is none of that number");
    }
    return commands_start(fleet->commands, host, argv, fleet->story,
                          sizeof(fleet->story));
}

int fleet_connect(moot_fleet *fleet, uint32_t host, moot_launcher_link *out)
{
    if (host >= fleet->hosts.count ||
        commands_connect(fleet->commands, host, out) != MOOT_OK) {
        return refuse_host(fleet, host, "no command was started there");
    }
    return MOOT_OK;
}

int fleet_poll(moot_fleet *fleet, const moot_launcher_receiver *receiver)
{
    return commands_poll(fleet->commands, receiver);
}

void fleet_interrupt(moot_fleet *fleet, uint32_t host, int number)
{
    if (host < fleet->hosts.count) {
        commands_signal(fleet->commands, host, number);
    }
}

const char *fleet_story(const moot_fleet *fleet) { return fleet->story; }

int fleet_descriptor(const moot_fleet *fleet)
{
    return commands_descriptor(fleet->commands);
}

void fleet_finalise(moot_fleet *fleet)
{
    if (fleet != NULL) {
        commands_free(fleet->commands);
        hosts_release(&fleet->hosts);
        free(fleet->options);
        free(fleet);
    }
}
