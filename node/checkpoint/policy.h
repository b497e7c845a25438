/* policy.h - MOOT_CHECKPOINT_WHEN: when results are stored. */
#ifndef NODE_CHECKPOINT_POLICY_H
#define NODE_CHECKPOINT_POLICY_H

#include "node/context/checkpoint_state.h"

/* "finish", "5s", "label:PREFIX" or "call"; false: none of these.  The prefix is a part
 * of `text`. */
bool policy_read(const char *text, struct policy *out);

/* Whether a task with this label, NULL for none, is one of its. */
bool policy_admits(const struct policy *policy, const char *label);

/* Whether finished results wait for something before they are stored. */
static inline bool policy_waits(const struct policy *policy)
{
    return policy->when == POLICY_INTERVAL || policy->when == POLICY_CALL;
}

#endif
