/* message_snapshot.h - what ranks say about snapshots (PROTOCOL.md, *Snapshots*).
 *
 * A part of message.h, which says what a message borrows.
 */
#ifndef PROTO_MESSAGE_SNAPSHOT_H
#define PROTO_MESSAGE_SNAPSHOT_H

#include "proto/limits.h"
#include <stdint.h>

/* SNAPSHOT: a set of results on disks that all members agree on.  The lowest member
 * coordinates.  The hash of CUT and DONE is the snapshot's id. */
enum snapshot_what {
    SNAPSHOT_ASK,      /* asker -> lowest: make one of this name */
    SNAPSHOT_CUT,      /* lowest -> all: what you have stored until now is in it */
    SNAPSHOT_PREPARED, /* member -> lowest: that is durable, or cannot be */
    SNAPSHOT_DONE,     /* lowest -> all: it exists, or not */
    SNAPSHOT_END
};
struct message_snapshot {
    enum snapshot_what what;
    uint32_t number;  /* of those of this view, from 1; ASK: of the last that the asker
                         has heard to be DONE; 0: none */
    const char *name; /* ASK, DONE: so many bytes, at least one */
    uint32_t name_size;
    int32_t status; /* PREPARED, DONE: MOOT_OK, or why not; */
    uint32_t rank;  /* DONE: if not MOOT_OK, who could not */
    /* PREPARED: the member's part. */
    unsigned char digest[LIMIT_SNAPSHOT_DIGEST_BYTES];
    uint64_t records, bytes;
};

#endif
