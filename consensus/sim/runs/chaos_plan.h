/* chaos_plan.h - draws the fault plan of a storm. */
#ifndef CONSENSUS_SIM_RUNS_CHAOS_PLAN_H
#define CONSENSUS_SIM_RUNS_CHAOS_PLAN_H

#include "consensus/faultplan/faultplan.h"
#include "consensus/sim/programs/random.h"
#include "hashing/rankset.h"

/* What is early, late, short and long in this storm. */
struct storm_scale {
    uint32_t ranks;
    uint64_t horizon_ns; /* faults begin before it */
    uint64_t stop_ns;    /* and end before that */
    uint64_t latency_ns, suspect_ns, stagger_ns;
    /* Half of the strikes on one rank hit one of these few; empty: anybody. */
    struct rankset favoured;
    uint32_t hosts; /* 0: nothing is known of hosts */
};

/* Adds rules to the plan.  Clocks stay within the drift that PROTOCOL.md assumes. */
void storm_plan_draw(struct random *random, const struct storm_scale *scale,
                     struct plan *plan);

/* --- chaos_aim.c ------------------------------------------------------------------ */

/* Likewise, of up to PLAN_SPANS_MAX ranks: a cause for a view, and what disturbs the
 * ballot about it. */
void storm_aim_draw(struct random *random, const struct storm_scale *scale,
                    struct plan *plan);
/* Likewise: all ranks in two parts for a while. */
void storm_split_draw(struct random *random, const struct storm_scale *scale,
                      struct plan *plan);

/* --- chaos_disks.c ---------------------------------------------------------------- */

/* Likewise, of ranks' disks; none in some seeds. */
void storm_reloads_draw(struct random *random, const struct storm_scale *scale,
                        struct plan *plan); /* what befalls ranks that go back */
void storm_disks_draw(struct random *random, const struct storm_scale *scale,
                      struct plan *plan);

/* --- chaos_hosts.c ---------------------------------------------------------------- */

/* Likewise, of hosts and their links. */
void storm_hosts_draw(struct random *random, const struct storm_scale *scale,
                      struct plan *plan);

#endif
