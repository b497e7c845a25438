/* rank_private.h - what the files of a rank's end of the channel share.
 *
 * Bytes are read by whoever comes: the calls for the next death and the next newcomer
 * between gatherings, the thread that gathers during one, which would otherwise sleep
 * on what another has read.  Whoever reads also sends: a rank's words for the launcher
 * share the socket, so each waits until the one before is whole.
 */
#ifndef NODE_CHANNEL_RANK_PRIVATE_H
#define NODE_CHANNEL_RANK_PRIVATE_H

#include "node/channel/channel_wire.h"
#include "node/channel/opening_set.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct rank_word { /* to the launcher; the bytes are the sender's */
    struct channel_header header;
    const unsigned char *bytes;
    size_t sent; /* of the header and the bytes behind it */
};

struct rank_newcomer { /* as it was told */
    uint32_t rank, opening;
    struct channel_card card;
};

struct channel {
    int fd;
    pid_t owner; /* a forked child has a copy of all this */
    uint32_t rank, size;
    struct channel_welcome welcome;
    char host[2 * CHANNEL_HOST_MAX + 3]; /* its address, and behind the end its name */

    pthread_mutex_t turn;      /* of gatherings: one after the other */
    pthread_mutex_t grow_turn; /* of wishes, likewise */
    pthread_mutex_t lock;      /* of all that follows */
    bool gathers;              /* the thread that does reads */
    bool gone; /* the launcher's end is closed, or said what makes no sense */
    bool welcomed, answered;
    uint32_t gatherings, openings;
    struct opening_set closed, closed_told; /* openings, and such as the launcher has
                                               been told of */
    struct opening_set emptied;             /* openings that all others have closed */

    /* The message that comes: its header, and its bytes behind `before` others. */
    struct channel_header header;
    size_t header_got, before, got;
    unsigned char *block;

    struct channel_header answer;
    struct channel_card *cards; /* of the answer */
    uint32_t *deaths;           /* in the order in which they came, each once */
    bool *is_dead;
    uint32_t death_count;

    struct rank_newcomer *newcomers; /* in the order in which they came */
    size_t newcomer_room;
    atomic_uint_least64_t newcomer_count;

    struct rank_word word;  /* on its way */
    struct rank_word *card; /* of a gathering, to follow; NULL: there is none */
    uint32_t told, known;   /* the number of the last word of a newcomer, and of the
                               last that was answered */
    bool wishes, wish_sent; /* a wish waits for its answer, */
    uint32_t wish;          /* and is for so many */
    struct channel_header grant; /* the answer, once `granted` */
    bool granted;
    char grant_story[CHANNEL_STORY_MAX + 1];
};

void rank_story(char *story, size_t size, const char *text);
int64_t rank_now_ms(void);

/* --- rank_words.c: what comes and goes; under the lock -----------------------------
 */

/* Reads what there is.  Stops at an answer: the next is to another question. */
void rank_read(struct channel *channel);

/* Sends what there is room for; whether that is all there is to send. */
bool rank_send(struct channel *channel);

#endif
