/* processors.h - which processors a rank may run on, and whether they are enough.
 *
 * Who waits for a peer spins if it has a processor of its own, and gives it up at once
 * if it has not.  Ranks share processors where more of them may run on a set than it
 * has; sets that overlap without being the same are taken for apart, as launchers bind
 * ranks either to sets that are apart or not at all.  What else runs there nobody says.
 */
#ifndef NODE_TRANSPORT_HOST_PROCESSORS_H
#define NODE_TRANSPORT_HOST_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

/* Two words that may be sent to peers as they are. */
struct processors {
    uint64_t count; /* 0: the system does not say */
    uint64_t set;   /* on one host, of equal sets equal */
};

/* Those that this thread may run on. */
struct processors processors_own(void);

/* Whether so many ranks of one host, of which each may run on `own`, have one each. */
static inline bool processors_suffice(struct processors own, uint64_t ranks)
{
    return ranks <= own.count;
}

#endif
