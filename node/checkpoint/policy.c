/* policy.c - see policy.h. */
#include "node/checkpoint/policy.h"

#include "node/config/knobs.h"

#include <string.h>

static const char label_word[] = "label:";

bool policy_read(const char *text, struct policy *out)
{
    *out = (struct policy){.when = POLICY_FINISH};
    if (strcmp(text, "finish") == 0) {
        return true;
    }
    if (strcmp(text, "call") == 0) {
        out->when = POLICY_CALL;
        return true;
    }
    if (strncmp(text, label_word, sizeof(label_word) - 1) == 0) {
        out->when = POLICY_LABEL;
        out->prefix = text + sizeof(label_word) - 1;
        return *out->prefix != '\0';
    }
    out->when = POLICY_INTERVAL;
    return knobs_read_duration(text, &out->interval_ns) && out->interval_ns > 0;
}

bool policy_admits(const struct policy *policy, const char *label)
{
    return policy->when != POLICY_LABEL ||
           (label != NULL &&
            strncmp(label, policy->prefix, strlen(policy->prefix)) == 0);
}
