/* swarm.h - one random program on one random network, under all checkers.
 *
 * What `moot sim` and the tests run thousands of: a job says which programs, a seed
 * says which one.  A failing seed is told by the line that runs it again.
 */
#ifndef CONSENSUS_SIM_RUNS_SWARM_H
#define CONSENSUS_SIM_RUNS_SWARM_H

#include "consensus/sim/engine/sim.h"

struct swarm_job {
    uint32_t ranks, tasks, features; /* struct program_options */
    bool agree;
    /* Agreeing programs that wait alike, and no rank asks before a second has passed:
     * they must be over by then, with nothing but pushes. */
    bool calm;
    uint32_t direct_max; /* core_options: 1 is to tell and count as among thousands */
    bool drops;   /* programs let go of what they have used, and ranks drop it soon */
    bool presses; /* likewise, but what is dropped is what ranks have no room for */
    bool lots;    /* likewise, and where ranks differ task by task */
    enum core_mode mode;
    bool narrow;  /* in some seeds bytes take time (sim_bandwidth_draw) */
    bool sparing; /* what ranks do for want of memory is drawn (sim_memory_draw) */
    /* Under a storm (with calm: one without faults), the last `newcomers` ranks of the
     * program joining in mid-run. */
    bool storm;
    uint32_t newcomers;
    bool cancels;            /* any rank cancels any task, at any moment */
    bool boundary;           /* newcomers are let in at meetings alone */
    bool aims;               /* the storm is aimed at ballots (chaos_aim.c) */
    bool solo;               /* it is a split, under MOOT_SPLIT=solo: nothing of what is
                                promised otherwise holds, but that every wait ends */
    bool hosts;              /* ranks are on hosts, with routes between (layout.h) */
    bool leaves;             /* some seeds have ranks leave in good order */
    bool starves;            /* sim_options.starves */
    bool poison;             /* some tasks kill who runs them */
    bool sessions;           /* some programs are cut into sessions */
    bool arrays;             /* some of the tasks are arrays */
    bool parks;              /* lanes park for a while, now and then */
    bool snapshots;          /* and ask for snapshots (sim_disk_draw) */
    bool reloads;            /* with snapshots: and go back to one (sim_reload_draw) */
    bool signs;              /* programs sign their states, and in most seeds a bit of
                                one is flipped */
    const struct plan *plan; /* of the storm; NULL: drawn from the seed */
    enum sim_canary canary;
    const struct sim_watcher *witness; /* sees every sight before the checkers do;
                                          NULL: nobody */
};

/* True if nothing failed.  `story`, unless NULL, gets the program and every sight.  The
 * caller frees report->dump. */
bool swarm_run(const struct swarm_job *job, uint64_t seed, FILE *story,
               struct sim_report *report);

/* The plan of a storm: the one that the job gives, or what its seed draws. */
void swarm_plan(const struct swarm_job *job, uint64_t seed, struct plan *out);

/* "swarm_test --ranks 4 --seed 17 ...", or storm_test with the plan, and a newline. */
void swarm_print_replay(const struct swarm_job *job, uint64_t seed, FILE *to);

#endif
