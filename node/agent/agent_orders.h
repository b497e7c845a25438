/* agent_orders.h - an agent's part of a job, taken from what it is told. */
#ifndef NODE_AGENT_AGENT_ORDERS_H
#define NODE_AGENT_AGENT_ORDERS_H

#include "moot.pb-c.h"

#include <stdbool.h>
#include <stddef.h>

struct agent_orders {
    Moot__HostJob *job;
    char *host, *name, *program;
    char **argv; /* of `moot rank` */
};

/* Reads an AGENT_JOB; works in its folder and with its environment from then on, and
 * sees that the program can be started.  False, with a line in story: it cannot be
 * done.  Release either way. */
bool agent_orders_take(struct agent_orders *orders, const unsigned char *bytes,
                       size_t size, char *story, size_t story_size);
void agent_orders_release(struct agent_orders *orders);

/* The command line of the ranks, whose ends go to that folder; false without memory. */
bool agent_orders_arm(struct agent_orders *orders, const char *ends);

#endif
