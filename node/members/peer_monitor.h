/* peer_monitor.h - which peers of this host have certainly died.
 *
 * A peer in the same pid space is watched through a pidfd, which becomes readable at
 * the moment its process ends, whatever ended it.  Where the kernel has none, its entry
 * in /proc is looked at instead, less often.  A stopped or slow process has not ended.
 *
 * Where the transport tells of deaths, too, the next PEERS_WATCHED_MAX ranks behind
 * this one are watched and no more: each is watched by as many others, and a rank of a
 * host with hundreds has not a descriptor for each.
 *
 * A peer that left in good order ends, too: what its end means is for members.c to say.
 */
#ifndef NODE_MEMBERS_PEER_MONITOR_H
#define NODE_MEMBERS_PEER_MONITOR_H

#include "node/transport/transport.h"

enum { PEERS_WATCHED_MAX = 32 };

struct watch;

/* Watches whom it can of the group; NULL without memory or descriptors. */
struct watch *watch_new(const struct transport_group *group);
void watch_free(struct watch *watch); /* accepts NULL */
/* One of the group that has come later. */
void watch_add(struct watch *watch, const struct transport_group *group, uint32_t rank);

/* The next peer that was found to have ended, each once; UINT32_MAX: none (more). Looks
 * at the system at most once a millisecond. */
uint32_t watch_next(struct watch *watch, uint64_t now_ns);

#endif
