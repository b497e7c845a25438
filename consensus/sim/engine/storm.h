/* storm.h - what goes wrong in one run, drawn from its seed.
 *
 * What strikes, where and when is a fault plan (faultplan.h), drawn or given.  A
 * *storm* is what a plan does not say: who is there from the start, who shares a
 * machine, what the clocks show, whether deaths are certified, and when everything has
 * to be well again. Without a storm membership is fixed: whoever dies is waited for.
 *
 * Each seed draws its own mix of kinds (swarm testing: Groce et al., 2012): kinds of
 * faults that are absent make others go further.  No drawn rule has to fire.
 *
 * Some programs end early: the rank then drains and leaves (LEAVE of PROTOCOL.md) while
 * the others go on.
 *
 * Program ranks from `first` on are newcomers: each asks to be let in when the plan
 * says so, and runs its whole script.  Each start has the next number, whether it is
 * let in or dies before.  Numbers are never used again: a rank that a plan restarts
 * comes back under a new one, with the same part of the program to play, and the plan's
 * rules about the old rank are about it from then on.
 */
#ifndef CONSENSUS_SIM_ENGINE_STORM_H
#define CONSENSUS_SIM_ENGINE_STORM_H

#include "consensus/faultplan/faultplan.h"

struct sim_weather;
struct sim_cluster;

struct storm {
    uint32_t first;     /* ranks of the first view; the program may have more */
    uint32_t comebacks; /* how many restarts may come back; who is one more does not */
    uint64_t stop_ns;   /* true time: from then on no rule strikes but those about
                           clocks, and pauses and gaps are over; CORE_NEVER: rules end
                           as they say */
    bool joinable;      /* newcomers are let in; certificates count towards no quorum */
    bool boundary;      /* of joinable: only where all meet; certificates count */
    bool solo;          /* MOOT_SPLIT=solo: each side of a split goes on by itself */
    bool certify;       /* whoever shares a machine with the dead is told */
    bool readable;      /* ... always of what it died, too, and not just mostly */
    bool vague;         /* ... and does not tell which of the kernels that ran it was */
    bool abandon;       /* what is under way to a removed rank is lost */
    /* By rank of the program; whoever comes back keeps them.  NULL: all 0. */
    uint32_t *hosts;    /* on which machine */
    uint64_t *ahead_ns; /* what its clock shows at the start */
};

struct storm_request {
    uint32_t ranks;     /* of the program, newcomers included */
    uint32_t newcomers; /* how many of these are; of a given plan, plan_newcomers() */
    bool calm;          /* nothing goes wrong, and failure detection must find
                           nothing */
    const struct plan *given; /* NULL: draw one */
    bool aims;                /* what is drawn is aimed at ballots */
    bool solo;                /* ... is a split, under MOOT_SPLIT=solo */
    bool leaves;              /* some seeds have ranks leave */
    bool boundary;            /* newcomers are let in at meetings alone */
    bool poison;              /* some tasks kill who runs them: some can see of what */
    /* Hosts, which machines then are, and which faults befall, too; NULL: there are
     * none. Deaths are certified by agents: always without chance, and in half of the
     * storms. */
    const struct sim_cluster *cluster;
};

/* Draws a storm and the plan (or copies the one that is given, under the same storm),
 * and completes the weather with the durations of failure detection that fit it. */
void storm_draw(uint64_t seed, const struct storm_request *request,
                struct sim_weather *weather, struct plan *plan, struct storm *out);

/* The same without chance, for a plan that somebody wrote: one machine, true clocks, no
 * certificates, and no time at which rules stop.  It is
 * joinable if there are newcomers, or the plan that is given restarts anybody. */
void storm_default(const struct storm_request *request, struct sim_weather *weather,
                   struct storm *out);
void storm_release(struct storm *storm); /* frees its arrays */

#endif
