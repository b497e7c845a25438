/* crew.h - the ranks of one host: they are started here, waited for, and ended.
 *
 * A rank is a `moot rank` in a process group of its own, and the program below it.
 * `moot run --launcher local` has one crew; where a job has several hosts the agent of
 * each has one.
 */
#ifndef NODE_LAUNCH_CREW_H
#define NODE_LAUNCH_CREW_H

#include "node/channel/channel.h"
#include "node/launch/relay.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct crew;

/* The setup of a crew; what it points to is the caller's, and stays until the last rank
 * is started. */
struct crew_setup {
    uint32_t first, count;   /* its ranks, */
    uint32_t later;          /* and for how many more there is room */
    struct channel_hub *hub; /* has their channels; stays as long as the crew */
    const char *host;        /* by which other hosts reach them; "": none is known */
    const char *name;        /* of this host, for people; likewise */
    int input;               /* the first rank's standard input; -1: it has none */
    const sigset_t *mask;    /* the ranks' signal mask */
};

/* The one that is told. */
struct crew_watch {
    void *context;
    /* That `moot rank` has been reaped, with this wait status. */
    void (*reaped)(void *context, uint32_t rank, int status);
};

struct crew *crew_new(const struct crew_setup *setup); /* NULL with errno */
void crew_free(struct crew *crew);                     /* accepts NULL */

/* Becomes argv[0] for each rank.  False with errno, if not all could be started; then
 * those are killed that were. */
bool crew_start(struct crew *crew, char *const argv[]);

/* Likewise for so many ranks more, from `first` on, which were named in the hub.  False
 * with errno: those of them that were started are being killed. */
bool crew_add(struct crew *crew, uint32_t first, uint32_t count, char *const argv[]);

/* The number of the rank whose words the relay has for that one. */
uint32_t crew_rank_of(const struct crew *crew, int relayed);

/* Sends all groups a signal.  Each is the beginning of the end: whatever a rank leaves
 * behind in its group goes with it from then on, and with the crew if it was left
 * before. */
void crew_signal(struct crew *crew, int number);

/* Has `moot rank` ask all in its group to leave, by a SIGTERM that is not this
 * process's.  Nothing ends with it. */
void crew_ask(struct crew *crew);

/* Waits for nobody.  That `moot rank` has ended by itself says that the program has,
 * which may have been a script that left the rank's own process behind.  If `moot rank`
 * was killed, its group is killed, too.  The certificate of the rank's death is given,
 * by the hub, when nobody is left in the group. */
void crew_reap(struct crew *crew, const struct crew_watch *watch);

int crew_left(const struct crew *crew);        /* ranks that were not reaped */
bool crew_is_ending(const struct crew *crew);  /* it was sent a signal */
bool crew_is_certain(const struct crew *crew); /* of each there is a certificate */
struct relay *crew_relay(struct crew *crew);   /* of their output */

#endif
