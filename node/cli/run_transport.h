/* run_transport.h - which transport the ranks of `moot run` are told to use. */
#ifndef NODE_CLI_RUN_TRANSPORT_H
#define NODE_CLI_RUN_TRANSPORT_H

#include "node/config/knobs.h"
#include "node/launch/fleet.h"

/* Puts it into the environment of the ranks: the one that was given as an option, NULL
 * if none was, or by the knob, or that of the launcher, which is one of moot's own, or
 * NULL: mpirun.  CLI_USAGE, which is said, if the launcher does not go with it, or it
 * cannot be used. */
int run_transport_choose(const char *given, const struct knobs *knobs,
                         const char *launcher);

/* Whether MOOT_ROUTE is a route between the job's hosts: those of the fleet or, if that
 * is NULL, this one.  A table that is not here is left to rank 0.  CLI_USAGE, which is
 * said, if it is not. */
int run_route_check(const struct knobs *knobs, const char *launcher,
                    const struct fleet *fleet);

#endif
