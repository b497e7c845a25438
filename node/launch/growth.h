/* growth.h - the ranks that join a job while it runs: how many it may have, which
 * numbers they get, and what is answered to those who ask for them.
 *
 * A rank asks by its channel (channel_grow()).  The launcher starts the new ranks, all
 * at once as one wave, and answers with their names.  A number is given once.
 */
#ifndef NODE_LAUNCH_GROWTH_H
#define NODE_LAUNCH_GROWTH_H

#include "node/channel/channel.h"

#include <stdbool.h>
#include <stdint.h>

struct growth {
    uint32_t founders; /* ranks that the job began with */
    uint32_t max;      /* ranks at a time */
    uint32_t room;     /* numbers; as many as founders: none join */
    uint32_t next;     /* the next number */
    uint32_t waves;
    /* A wish for which there is no room yet: who has left may end any moment.  It waits
     * so long. */
    int64_t patience_ms;
    bool waits;
    uint32_t by, wished;
    int64_t until_ms;
};

/* For a job that begins with so many ranks and may have up to `max` at a time; 0: none
 * join. */
struct growth growth_make(uint32_t founders, uint32_t max);

/* The one that starts ranks. */
struct growth_starter {
    void *context;
    uint32_t (*living)(void *context); /* ranks that have not ended */
    /* Starts all of these ranks, whose wave has been named in the hub; false, with a
     * line in story: none of them runs. */
    bool (*start)(void *context, uint32_t first, uint32_t count, char *story,
                  size_t story_size);
};

/* Answers all who have asked. */
void growth_serve(struct growth *growth, struct channel_hub *hub,
                  const struct growth_starter *starter);

#endif
