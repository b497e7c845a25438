/* inbox.h - what comes in: frames to decode, large results to receive.
 *
 * The transport hands arrivals over inside its poll; they are only listed there and
 * taken one by one afterwards, so that nothing re-enters the transport.
 *
 * Nothing that comes in is trusted: a frame that does not decode, is not for this rank,
 * or is not from whom the wire says it is, is counted, reported once per peer, and
 * dropped.  A BULK result is told to the core when its bytes are complete.  If there is
 * no memory for them, they are received into a scratch mapping that keeps nothing, and
 * the core is told of a result that failed with NO_MEMORY: the transfer is matched, the
 * wait ends.
 *
 * A message is taken by the room that its type belongs to, by the core, or by both
 * (dispatch.h).
 *
 * Under the engine lock.
 */
#ifndef NODE_ENGINE_INBOX_H
#define NODE_ENGINE_INBOX_H

#include "node/context/context.h"

struct inbox *inbox_new(const struct transport_group *group); /* NULL without memory */
/* After the transport is freed, which has said whether the wire is `quiet`: if not,
 * buffers of large results that were on their way stay. */
void inbox_free(struct inbox *inbox, bool quiet);
/* A rank has come, as this incarnation. */
void inbox_name(struct inbox *inbox, uint64_t uid, uint32_t rank);

/* Polls the transport and takes what arrived; returns whether anything did. */
bool inbox_poll(struct moot *m);

/* KERNEL and RESULT (dispatch.h). */
bool inbox_take_kernel(struct moot *m, uint32_t from, const struct message *message);
bool inbox_take_result(struct moot *m, uint32_t from, const struct message *message);

/* Says once that a peer has another build of this kernel, if one has. */
void inbox_say_rebuilt(struct moot *m, struct kernel *kernel);

/* The bytes of the RESULT that is being stepped: the core has accepted it. */
static inline struct payload *inbox_take_payload(struct moot *m)
{
    struct payload *payload = m->engine.incoming;
    m->engine.incoming = NULL;
    return payload;
}

/* If it brings the first part of a result: room for all of it. */
static inline struct payload *inbox_take_whole(struct moot *m)
{
    struct payload *payload = m->engine.whole;
    m->engine.whole = NULL;
    return payload;
}

#endif
