/* carrier.h - frames and large results over a wire that somebody else has made.
 *
 * A table of moot_transport.h carries frames of a limited size between uids, and may
 * lose and reorder them; ranks of one host have rings in memory that they share.  The
 * carrier makes of these a transport (transport.h):
 *
 *   pieces    A transfer, one frame or one large result, goes in as many pieces as the
 *             way takes, each with a head that says what it is.
 *   ways      To a peer of this host they go by its ring, to others by the wire, in a
 *             datagram each.  Peers are introduced to the wire, and connected,
 *             when the first piece goes there.
 *   sealing   Unless the wire is PRIVATE each datagram is encrypted and authenticated,
 *             with a key for this pair, this direction and these incarnations (seal.h).
 *             Nothing of a datagram is read before that.
 *   links     A wire that does not promise RELIABLE has a link (consensus/link) for
 *             each peer above it.
 *   bulk      A large result waits for a word of the receiver that its buffer is there.
 *
 * Ranks meet by the launcher's channel (node/channel), and at the end by a last word
 * from each to each that it has spoken to over the wire, so that nothing is lost when a
 * process ends.
 */
#ifndef NODE_TRANSPORT_CARRIER_CARRIER_H
#define NODE_TRANSPORT_CARRIER_CARRIER_H

#include "node/transport/transport.h"

struct transport_carrier_options {
    const char *word;  /* names the table, and its options (tables.h) */
    bool open;         /* not sealed, whatever the wire */
    const char *route; /* MOOT_ROUTE; rank 0's counts */
};

/* A transport_open_fn; `arg` is a const struct transport_carrier_options *.  Errors:
 * CONFIG (no such transport, or no launcher that ranks can meet by), NO_MEMORY, LIMIT,
 * PROTOCOL (another version), TRANSPORT; of one rank they are everybody's. */
int transport_carrier_open(void *arg, const void *blob, size_t blob_size,
                           struct transport_group *group, struct transport **out,
                           char *story, size_t story_size);

/* Whether the word of MOOT_ROUTE is a route between these hosts, which have names and
 * addresses as route_new() takes them.  CONFIG, with a line in story; NO_MEMORY. */
int transport_route_check(const char *word, const char *const *names,
                          const char *const *addresses, uint32_t hosts, char *story,
                          size_t story_size);

#endif
