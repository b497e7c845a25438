/* faulty_wire.h - a transport over another one that a fault plan harms.
 *
 * It stands between the engine and whichever transport there is, so that a plan does
 * the same to all of them.  Frames leave through a link (consensus/link/link.h), which
 * makes them arrive once and in order whatever happens to them, and then through the
 * plan, which loses, repeats, delays and holds them back:
 *
 *     engine -> frame -> [link] -> plan -> the real wire -> plan -> [link] -> engine
 *
 * Heartbeats and grants are worthless when late and go past the link, in frames of
 * their own; so does FENCED, which is said to one whose link nobody serves any more,
 * and what ranks ask each other for a report: it must not wait behind what the report
 * is to find lost.
 *
 * On the real wire a frame has a header of its own, and one that would be too long with
 * it goes in two.  Bulk results pass by: they move only after the frame that announces
 * them has come, so what harms that frame harms them.
 */
#ifndef NODE_FAULTS_FAULTY_WIRE_H
#define NODE_FAULTS_FAULTY_WIRE_H

#include "node/context/context.h"

/* The types of what goes past the link. */
#define FAULTY_WIRE_PAST                                                               \
    (PLAN_TYPE(MESSAGE_HEARTBEAT) | PLAN_TYPE(MESSAGE_GRANT) |                         \
     PLAN_TYPE(MESSAGE_FENCED) | PLAN_TYPE(MESSAGE_INQUIRY) |                          \
     PLAN_TYPE(MESSAGE_ACCOUNT))

/* Puts it around m->transport.  NO_MEMORY. */
int faulty_wire_wrap(struct moot *m);

/* How the link to a peer does: frames that it has not acknowledged, and how many have
 * been sent again, ever.  All zero where nothing harms the wire. */
struct faulty_view {
    uint64_t backlog, resent;
};
void faulty_wire_look(const struct moot *m, uint32_t rank, struct faulty_view *out);

#endif
