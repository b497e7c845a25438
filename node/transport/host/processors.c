/* processors.c - see processors.h. */
#include "node/transport/host/processors.h"

#include "hashing/identity.h"

#include <sched.h>

struct processors processors_own(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) {
        return (struct processors){0, 0}; /* there are more than a set can hold */
    }
    moot_hash digest = digest_bytes(&set, sizeof(set));
    return (struct processors){(uint64_t)CPU_COUNT(&set), hash_word(&digest)};
}
