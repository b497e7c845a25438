/* layout.h - which hosts a run has, and how these reach each other: given or drawn. */
#ifndef CONSENSUS_SIM_RUNS_LAYOUT_H
#define CONSENSUS_SIM_RUNS_LAYOUT_H

#include "consensus/sim/engine/sim.h"

enum { LAYOUT_ROUTE_BYTES = 512, LAYOUT_DRAWN_HOSTS_MAX = 5 };

struct layout {
    bool drawn;                     /* hosts and route are the seed's */
    uint32_t hosts, host_ranks;     /* 0: there are no hosts */
    char route[LAYOUT_ROUTE_BYTES]; /* as route_new() takes it; "": mesh */
};

/* Reads "8x4", or "drawn".  False, and *error says what is wrong. */
bool layout_hosts_parse(const char *word, struct layout *out, struct plan_error *error);
/* Whether there are any hosts. */
bool layout_is_there(const struct layout *layout);
/* Whether so many ranks fill these hosts, and the route fits them; always if it is
 * drawn.  False, and *error says what is wrong. */
bool layout_check(const struct layout *layout, uint32_t ranks,
                  struct plan_error *error);
/* Hosts that the seed draws for so many ranks: 2 to 5 hosts with as many ranks each,
 * but for the last; one rank has a host of its own. */
void layout_draw(uint64_t seed, uint32_t ranks, struct layout *out);
/* Likewise if it is drawn, and a copy if not. */
void layout_settle(const struct layout *layout, uint64_t seed, uint32_t ranks,
                   struct layout *out);

/* Pairs of ranks that may have to share one link: with a route, those of one half of
 * the ranks with the other. */
uint64_t layout_sharers(const struct layout *layout);
/* The cluster of a settled layout, which layout_check() has found good, and what it
 * does to the weather.  layout_release() frees what is in it. */
void layout_cluster(const struct layout *layout, struct sim_weather *weather,
                    struct sim_cluster *out);
void layout_release(struct sim_cluster *cluster);

#endif
