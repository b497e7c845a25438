/* message_beat.h - what message.h says of heartbeats, as part of it: HEARTBEAT, GRANT,
 * and the signatures that go with them.
 */
#ifndef PROTO_MESSAGE_BEAT_H
#define PROTO_MESSAGE_BEAT_H

#include "hashing/moot_hash.h"
#include "hashing/rankset.h"

/* SIGNATURE: which signatures of its state the sender's program gave; also with a
 * heartbeat. */
struct message_signatures {
    uint32_t count;
    const struct message_signature {
        uint64_t step; /* below 2^63 */
        moot_hash hash;
        bool asks; /* another's differs: whoever has that step is to tell its own */
    } *items;
};

/* HEARTBEAT, every member to who watches it: "I am here", and a request for a grant. */
struct message_heartbeat {
    uint64_t token;                 /* the sender's clock; comes back in the GRANT */
    uint32_t load;                  /* owned tasks not done */
    const struct rankset *suspects; /* not heard for the suspect time; NULL: nobody */
    const struct rankset *dead;     /* certified, if told this way; NULL: nobody */
    uint64_t rolls, rolls_sum; /* ROLLs sent to the receiver in this view; their sum */
    const struct message_signatures *signatures; /* NULL: none */
};

/* GRANT: part of a lease, counted from the heartbeat's token. */
struct message_grant {
    uint64_t token;
    uint64_t
        contradicted; /* a step, plus 1, at which the receiver's signature is not */
    moot_hash others; /* that of most, which is this; 0: none */
};

#endif
