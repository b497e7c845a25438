/* packet.h - a message in flight, as the bytes that a real wire would carry.
 *
 * A core's outputs live until its next step; a virtual network holds messages longer.
 * Every message is encoded and decoded on its way (proto/wire.h), so what the wire does
 * not carry is not there in the simulator either.
 */
#ifndef CONSENSUS_SIM_ENGINE_PACKET_H
#define CONSENSUS_SIM_ENGINE_PACKET_H

#include "proto/wire.h"

struct parcel {
    uint32_t from, to;
    uint32_t shares; /* of those who hold it: a link, and each copy on the wire */
    const struct message *message; /* decoded; its pointers lead into the parcel */
    void *bytes;                   /* the frame */
    size_t size;
    void *bulk; /* the payload of a RESULT_BULK; NULL if there is none */
    size_t bulk_size;
    struct wire_frame frame;
};

/* Takes a message, uids being those of the two ranks.  NULL if the wire refuses it, and
 * *why says what it finds wrong.  Memory that runs out ends the process. */
struct parcel *parcel_new(struct wire_writer *writer, uint32_t from, uint64_t from_uid,
                          uint32_t to, uint64_t to_uid, const struct message *message,
                          const char **why);
uint64_t parcel_bytes(const struct parcel *parcel); /* on the wire, bulk included */
struct parcel *parcel_share(struct parcel *parcel); /* one more holder; accepts NULL */
void parcel_free(struct parcel *parcel);            /* one holder less; accepts NULL */

#endif
