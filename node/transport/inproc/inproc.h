/* inproc.h - ranks that share a process, each with its own context, for tests.
 *
 * A hub stands for the wire.  Every rank opens its end from a thread of its own and
 * then keeps to the rules of transport.h.  The wire is reliable, and nothing moves on
 * it by itself: a frame is delivered and a bulk transfer is copied in the receiver's
 * poll.
 */
#ifndef NODE_TRANSPORT_INPROC_INPROC_H
#define NODE_TRANSPORT_INPROC_INPROC_H

#include "node/transport/transport.h"

struct inproc_hub;

/* A wire for ranks 0..size-1; NULL without memory.  One moot per hub. */
struct inproc_hub *inproc_hub_new(uint32_t size);
/* After every end is closed.  Accepts NULL. */
void inproc_hub_free(struct inproc_hub *hub);

/* While a pair is held, frames and bulk transfers from `from` to `to` stay on the wire.
 * Any thread, at any time. */
void inproc_hub_hold(struct inproc_hub *hub, uint32_t from, uint32_t to, bool held);

struct transport_inproc_options {
    struct inproc_hub *hub;
    uint32_t rank; /* which end; each is opened once */
};

/* A transport_open_fn; `arg` is a const struct transport_inproc_options *.  Errors:
 * INVALID (no such end, or opened already), NO_MEMORY. */
int transport_inproc_open(void *arg, const void *blob, size_t blob_size,
                          struct transport_group *group, struct transport **out,
                          char *story, size_t story_size);

#endif
