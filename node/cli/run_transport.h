/* run_transport.h - which transport the ranks of `moot run` are told to use. */
#ifndef NODE_CLI_RUN_TRANSPORT_H
#define NODE_CLI_RUN_TRANSPORT_H

#include "node/config/knobs.h"

#include <stdbool.h>

/* Puts it into the environment of the ranks: the one that was given as an option, NULL
 * if none was, or by the knob, or that of the launcher, which is `local` or mpirun.
 * CLI_USAGE, which is said, if the launcher does not go with it. */
int run_transport_choose(const char *given, const struct knobs *knobs, bool local);

#endif
