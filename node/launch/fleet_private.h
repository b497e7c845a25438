/* fleet_private.h - what the files of a fleet share. */
#ifndef NODE_LAUNCH_FLEET_PRIVATE_H
#define NODE_LAUNCH_FLEET_PRIVATE_H

#include "node/channel/channel.h"
#include "node/launch/fleet.h"
#include "node/launch/growth.h"
#include "proto/limits.h"

#include <limits.h>
#include <stdio.h>

enum host_state {
    HOST_CALLED,  /* its agent was asked for, and has not said anything */
    HOST_ORDERED, /* has been told of the job, */
    HOST_RUNS,    /* and has started its ranks */
    HOST_DONE,    /* all of them have ended, and it has said all */
    HOST_LOST
};

struct fleet_host {
    struct fleet *fleet;
    moot_launcher_host about;
    uint32_t index, first, count; /* its ranks; it is not used if there are none */
    enum host_state state;
    struct agent_stream *stream;
    int from;       /* the stream's descriptor, as long as it wakes; -1: not any more */
    int trunk;      /* to the hub, in which it is a branch; -1: not any more */
    uint32_t later; /* ranks that were started there later */
    size_t said;    /* bytes of its ranks' words that wait */
    int64_t since_ms, heard_ms, over_ms; /* 0: the stream is not over */
    bool silent;                         /* and that has been said */

    bool ended; /* the launcher says so, */
    char why[512];

    FILE *file; /* that comes in pieces, */
    char name[NAME_MAX + 1];
    uint32_t folder;
};

/* Words of a rank that wait for room. */
struct fleet_words {
    struct fleet_words *next;
    struct fleet_host *host;
    uint32_t rank;
    bool error;
    size_t size;
    char bytes[];
};

/* A rank that was started later. */
struct fleet_later {
    struct fleet_host *host; /* NULL: there was none that could start it */
    bool up;
};

struct fleet {
    const moot_launcher *table;
    moot_fleet *hold; /* the launcher's own */
    struct fleet_host *hosts;
    uint32_t count, ranks;
    struct channel_hub *hub;
    struct growth growth;
    struct fleet_later later[LIMIT_NEWCOMERS]; /* by number, behind the founders */
    const struct fleet_job *job;
    const struct launch_watch *watch;
    void *context;
    int wakes;
    int64_t beat_ms;

    struct fleet_words *first, **last;
    size_t input_out; /* bytes of input that were not taken */
    bool input_open;

    const struct fleet_host *asked; /* the last question, */
    uint32_t question;              /* and its number */

    bool failed;       /* a rank has, */
    char story[1024];  /* or the job cannot begin: why */
    unsigned signals;  /* that were handed on */
    int64_t killed_ms; /* when what is left will be; 0: not yet to be */
    int64_t looked_ms;
};

int64_t fleet_now_ms(void);

/* --- fleet_host.c ----------------------------------------------------------------- */

/* Begins to start an agent there; false, with the fleet's story. */
bool fleet_host_call(struct fleet_host *host, const char *agent);
/* Reads, sends, and sees what has become of it. */
void fleet_host_serve(struct fleet_host *host);
void fleet_host_beat(struct fleet_host *host);
/* The host is not reached any more; `why`: a line, or "". */
void fleet_host_lose(struct fleet_host *host, const char *why);
void fleet_host_release(struct fleet_host *host);

/* --- fleet_growth.c: ranks that join ---------------------------------------------- */

/* Answers those who asked for more. */
void fleet_grow(struct fleet *fleet);
/* The host of a rank that was started later; NULL: there is none. */
struct fleet_host *fleet_later_host(const struct fleet *fleet, uint32_t rank);
/* Whether the rank was started there, at first or later. */
bool fleet_host_has(const struct fleet_host *host, uint32_t rank);
/* The agent's answer to an order. */
void fleet_later_joined(struct fleet_host *host, const struct agent_header *header,
                        const unsigned char *bytes);
/* No more answers come from there: what was not started will not be. */
void fleet_later_end(struct fleet_host *host);
/* Tells of all ranks of a host that nobody will say any more how they end. */
void fleet_host_tell_lost(const struct fleet_host *host, const char *why);

/* --- fleet_files.c: what ranks leave ---------------------------------------------- */

void fleet_file_take(struct fleet_host *host, const struct agent_header *header,
                     const unsigned char *bytes);
void fleet_file_gone(struct fleet_host *host, const struct agent_header *header,
                     const unsigned char *bytes);
void fleet_file_drop(struct fleet_host *host); /* one that did not come whole */

/* --- fleet_orders.c --------------------------------------------------------------- */

/* Tells a host of its part of the job. */
void fleet_orders_give(struct fleet_host *host);

#endif
