/* fleet.h - a job on several hosts, by a launcher's table (moot_launcher.h).
 *
 * Hosts are found and ranks placed when the fleet is opened; launch_fleet() has the
 * table start an agent on each host (node/agent/agent.h), gives each its part of the
 * job, and passes on what they say, until all are through.
 *
 * A host is lost where its stream ends before its agent has said that all is done, or
 * where it has not been heard of for a while and the others are through, or cannot open
 * a moot without it.  That says nothing of its ranks: the other ranks vote them out
 * when they have been silent for long enough, and what those had to say is missing in
 * the summary.
 */
#ifndef NODE_LAUNCH_FLEET_H
#define NODE_LAUNCH_FLEET_H

#include "node/api/moot_launcher.h"
#include "node/launch/agent_stream.h"
#include "node/launch/launch.h"

struct fleet;

struct fleet_setup {
    const moot_launcher *table;
    const char *options; /* for it; "": none */
    const char *hosts;   /* as they were named; "": not */
    uint32_t ranks;      /* 0: as many as the hosts have slots */
};

/* NULL, with a line in story: there are no such hosts, or not enough slots. */
struct fleet *fleet_open(const struct fleet_setup *setup, char *story,
                         size_t story_size);
void fleet_free(struct fleet *fleet); /* nothing of the job is left; accepts NULL */

uint32_t fleet_ranks(const struct fleet *fleet);
/* The hosts that have ranks, in the order of these; NULL without memory.  free(). */
moot_launcher_host *fleet_hosts_used(const struct fleet *fleet, uint32_t *count);
/* The number of the host of each rank, among those; NULL without memory.  free(). */
uint32_t *fleet_places(const struct fleet *fleet);
/* The name of a rank's host. */
const char *fleet_host_of(const struct fleet *fleet, uint32_t rank);

/* While the fleet is launched: asks a rank of it at its socket, which has that path on
 * the rank's host, by the agent there.  The answer comes by the watch's `answer`, which
 * hears no more of the question before.  False: its host is not there. */
bool fleet_ask(struct fleet *fleet, uint32_t rank, const char *path,
               const char *question);

struct fleet_job {
    uint32_t max;        /* ranks at a time: up to so many join (growth.h) */
    const char *agent;   /* the moot command on the hosts: a path, or a name in PATH */
    const char *program; /* a path there */
    char *const *arguments;             /* behind that; NULL-terminated */
    const char *folders[AGENT_FOLDERS]; /* where what ranks leave goes; NULL: nowhere */
};

/* Runs it, once in a fleet's life; as launch_local(), but for -1, which comes with a
 * line in story: a host could not begin, and nothing runs. */
int launch_fleet(struct fleet *fleet, const struct fleet_job *job,
                 const struct launch_watch *watch, void *context, char *story,
                 size_t story_size);

#endif
