/* message_ended.h - the word by which a rank tells the ends of many tasks (message.h).
 */
#ifndef PROTO_MESSAGE_ENDED_H
#define PROTO_MESSAGE_ENDED_H

#include "hashing/rollsum.h"

#include <stdint.h>

/* ENDED: of so many tasks of the sender's lane, which have this sum, all those that it
 * chairs have ended, and ran there: well, unless a RESULT has said otherwise (T12). */
struct message_ended {
    uint32_t lane;
    uint64_t first; /* 1-based lane position */
    uint32_t count;
    struct rollsum sum;
};

#endif
