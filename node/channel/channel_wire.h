/* channel_wire.h - the messages of a channel, and the limits that both ends hold. */
#ifndef NODE_CHANNEL_CHANNEL_WIRE_H
#define NODE_CHANNEL_CHANNEL_WIRE_H

#include "node/channel/channel.h"

#include <assert.h>
#include <string.h>

enum channel_kind {
    /* From the launcher.  The first message: `rank` is the receiver's number, `count`
     * the size of the job; the bytes are the key, the host's address, 0, and its
     * name. */
    CHANNEL_WELCOME = 1,
    /* The answer to a hand-in: the length of each rank's card (uint32_t, by rank), and
     * the cards. */
    CHANNEL_CARDS,
    /* The other answer to a hand-in: there are no cards because of `rank` and `why`. */
    CHANNEL_FAILED,
    CHANNEL_DEATH, /* that `rank` is dead; from a branch as well */
    /* From a rank: its card for gathering `count`.  From a branch, whose first rank is
     * `rank`: the length of each of its ranks' cards, and the cards. */
    CHANNEL_HAND_IN,
    CHANNEL_GONE /* from a branch: `rank` will not come any more because of `why` */
};

/* How a gathering fails. */
enum channel_why {
    CHANNEL_ENDED = 1, /* the rank's process has ended */
    CHANNEL_CLOSED,    /* nobody holds the rank's end of its channel any more */
    CHANNEL_BROKE,     /* the rank sent what is no message, and was cut off */
    CHANNEL_TOO_MUCH,  /* all cards together are over the limit */
    CHANNEL_NO_MEMORY, /* at the launcher */
    CHANNEL_LOST       /* the rank's host is not reached any more */
};

struct channel_header {
    uint32_t magic;
    uint16_t version, kind;
    uint32_t rank, count, why, unused;
    uint64_t size; /* of the bytes behind it */
};
static_assert(sizeof(struct channel_header) == 32, "no holes, the same everywhere");

#define CHANNEL_MAGIC UINT32_C(0x6d6f6f74)

enum {
    CHANNEL_HOST_MAX = 255,
    CHANNEL_RANKS_MAX = 1 << 20,
    CHANNEL_GATHERED_MAX = 1 << 30 /* of the cards of all ranks together */
};

static inline struct channel_header channel_header_make(enum channel_kind kind,
                                                        uint64_t size)
{
    return (struct channel_header){.magic = CHANNEL_MAGIC,
                                   .version = CHANNEL_VERSION,
                                   .kind = (uint16_t)kind,
                                   .size = size};
}

#endif
