/* run_fleet.h - `moot run` on several hosts: its options, and what happens to hosts. */
#ifndef NODE_CLI_RUN_FLEET_H
#define NODE_CLI_RUN_FLEET_H

#include "node/launch/launch.h"

#include <stdbool.h>
#include <stdint.h>

/* As they were written; NULL: not. */
struct run_hosts {
    const char *launcher, *hosts, *hostfile, *agent;
};

/* Whether that launcher starts agents on hosts: it is neither mpirun nor local. */
bool run_fleet_is_meant(const char *launcher);

/* Finds hosts and places *ranks (0: as many as they have slots).  CLI_USAGE or
 * CLI_FAILED, which is said, if that cannot be. */
struct fleet;
int run_fleet_open(const struct run_hosts *words, int *ranks, struct fleet **out);

/* CLI_USAGE, which is said, where hosts are named and the launcher is not for them. */
int run_fleet_refuse(const struct run_hosts *words);

#endif
