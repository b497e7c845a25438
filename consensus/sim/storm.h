/* storm.h - the faults of one run, drawn from its seed.
 *
 * A storm is a list of faults with times and the settings of failure detection that fit
 * the weather.  Each seed draws its own mix (swarm testing: Groce et al., 2012): kinds
 * of faults that are absent make others go further.  After stop_ns nothing new goes
 * wrong: pauses end, cuts heal, no rank crashes.
 *
 * Program ranks from `first` on are newcomers: they begin when a STORM_JOIN lets them
 * ask, each after the one before it was let in, and run their whole script.
 */
#ifndef CONSENSUS_SIM_STORM_H
#define CONSENSUS_SIM_STORM_H

#include "consensus/core.h"

struct sim_weather;

enum { STORM_FAULTS_MAX = 16, STORM_RANKS_MAX = 64 };

enum storm_kind {
    STORM_CRASH,    /* rank is killed */
    STORM_CRASH_AT, /* whoever of `ranks` passes `point` for the nth time is killed in
                       mid-step: what it had still to send is not sent */
    STORM_PAUSE,    /* rank stands still */
    STORM_DEAF,     /* rank's program goes on, but it makes no progress on messages */
    STORM_CUT,      /* what `ranks` send to `others` arrives after the cut */
    STORM_SLOW,     /* ... takes delay_ns longer */
    STORM_JOIN      /* rank asks to be let in */
};

struct storm_fault {
    enum storm_kind kind;
    uint64_t time_ns, duration_ns, delay_ns;
    uint32_t rank;
    uint64_t ranks, others; /* sets */
    enum core_point point;
    uint32_t nth; /* from 1 */
};

struct storm {
    uint32_t first; /* ranks of the first view; the program may have more */
    uint64_t stop_ns;
    bool certify; /* whoever shares a host with the dead is told */
    bool abandon; /* what is under way to a removed rank is lost */
    uint32_t hosts[STORM_RANKS_MAX];
    int32_t drift_ppm[STORM_RANKS_MAX]; /* of its clock, within 1000 */
    uint64_t ahead_ns[STORM_RANKS_MAX]; /* of its clock at the start */
    struct storm_fault faults[STORM_FAULTS_MAX];
    uint32_t fault_count;
};

/* Draws a storm for a program of so many ranks, newcomers included, and completes the
 * weather.  With `calm` nothing goes wrong: failure detection runs, and must find
 * nothing. */
void storm_draw(uint64_t seed, uint32_t ranks, uint32_t newcomers, bool calm,
                struct sim_weather *weather, struct storm *out);

const char *storm_kind_name(enum storm_kind kind);

#endif
