/* parcel.h - a message that owns all it points to, for as long as it is in flight.
 *
 * A core's outputs live until its next step; a virtual network holds messages longer.
 */
#ifndef CONSENSUS_SIM_PARCEL_H
#define CONSENSUS_SIM_PARCEL_H

#include "proto/message.h"

struct parcel {
    uint32_t from, to;
    struct message message; /* its pointers lead into `owned` */
    void **owned;
    uint32_t owned_count;
};

/* A deep copy.  A spec is not copied but for its numbers: its bytes are compared with
 * the program's on arrival, and live as long as the sending core.  Memory that runs out
 * ends the process. */
struct parcel *parcel_new(uint32_t from, uint32_t to, const struct message *message);
void parcel_free(struct parcel *parcel); /* accepts NULL */

#endif
