/* channel_wire.h - the messages of a channel, and the limits that both ends hold. */
#ifndef NODE_CHANNEL_CHANNEL_WIRE_H
#define NODE_CHANNEL_CHANNEL_WIRE_H

#include "node/channel/channel.h"

#include <assert.h>
#include <string.h>

enum channel_kind {
    /* From the launcher.  The first message: `rank` is the receiver's number, `count`
     * the size of the job; the bytes are struct channel_welcome, the host's address, 0,
     * and its name. */
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
    CHANNEL_GONE, /* from a branch: `rank` will not come any more because of `why` */

    /* A hand-in that is an opening.  Of a newcomer, whose number is `rank`, it is of
     * opening `count`. */
    CHANNEL_OPEN,
    /* From the launcher: that `rank` has come to opening `count`, with its card.  They
     * are counted, from 1: `why` is the number of this word. */
    CHANNEL_NEWCOMER,
    CHANNEL_KNOWN, /* that words of newcomers up to number `count` were read */
    /* The answer to the opening of newcomer `to`: as CHANNEL_CARDS, with a length for
     * each number that the job has room for, CHANNEL_NOBODY where nobody has come.  The
     * other answer is CHANNEL_FAILED with that `to`, which is 0 for founders. */
    CHANNEL_OPENED,
    CHANNEL_GROW, /* from `rank`: the wish for `count` ranks more */
    /* The answer to rank `to`: `why` is an enum channel_grown, `rank` the first of
     * these, and the bytes are a story. */
    CHANNEL_GROWN,
    CHANNEL_CLOSES, /* from `rank`: it is in opening `count` no more */
    /* To newcomer `to`, which has had its answer: all that had come to opening `count`
     * before it are in that no more. */
    CHANNEL_EMPTIED
};

#define CHANNEL_NOBODY UINT32_MAX

enum channel_grown {
    CHANNEL_GROWN_WELL = 1,
    CHANNEL_GROWN_LIMIT,
    CHANNEL_GROWN_UNSUPPORTED,
    CHANNEL_GROWN_FAILED
};

/* How a gathering fails. */
enum channel_why {
    CHANNEL_ENDED = 1, /* the rank's process has ended */
    CHANNEL_CLOSED,    /* nobody holds the rank's end of its channel any more */
    CHANNEL_BROKE,     /* the rank sent what is no message, and was cut off */
    CHANNEL_TOO_MUCH,  /* all cards together are over the limit */
    CHANNEL_NO_MEMORY, /* at the launcher */
    CHANNEL_LOST,      /* the rank's host is not reached any more */
    CHANNEL_OVER       /* all ranks of the opening have gone */
};

struct channel_header {
    uint32_t magic;
    uint16_t version, kind;
    uint32_t rank, count, why, to;
    uint64_t size; /* of the bytes behind it */
};
static_assert(sizeof(struct channel_header) == 32, "no holes, the same everywhere");

/* The beginning of a welcome's bytes. */
struct channel_welcome {
    uint32_t room, wave, index, unused;
    unsigned char key[CHANNEL_KEY_BYTES];
};
static_assert(sizeof(struct channel_welcome) == 48, "no holes, the same everywhere");

#define CHANNEL_MAGIC UINT32_C(0x6d6f6f74)

enum {
    CHANNEL_HOST_MAX = 255,
    CHANNEL_STORY_MAX = 1023, /* of an answer to a wish */
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
