/* storm_kept.h - storms that once failed, each with its plan, and why: storm_test runs
 * them all.
 */
#ifndef TESTS_SIM_STORM_KEPT_H
#define TESTS_SIM_STORM_KEPT_H

#include "consensus/sim/runs/swarm.h"

#include <stdint.h>

static const struct {
    struct swarm_job job;
    uint64_t seed;
    const char *plan;
} kept[] = {
    /* A closed rank swore that it would never hold a nested task, and then ran its
     * parent again. */
    {{.ranks = 4, .tasks = 20, .newcomers = 1, .storm = true},
     28,
     "pause:r1@959909ns+37313420ns"},
    /* A motion was written to after the outputs had moved, and wanted nothing. */
    {{.ranks = 5, .tasks = 60, .storm = true},
     10399,
     "pause:r2@result.sent#3+119027792ns"},
    /* Rank 2 hears both sides of a part: who has a view accepted over it withholds its
     * grants from the others, and nobody has a quorum. */
    {{.ranks = 5, .tasks = 30, .storm = true},
     1167,
     "part:0+2+4/1+3@vote.cast+1045418471ns"},
    /* Rank 1 is voted out, and nobody enters the view without it: all adjourn. */
    {{.ranks = 5, .tasks = 60, .storm = true},
     20138,
     "clock:x0.999111/r0,clock:x1.000102/r1,clock:x1.000305/r2,clock:x0.999452/r3,"
     "clock:x0.999685/r4,gap:0.014:1549887ns/r0@207902ns+9561375ns,"
     "gap:0.047:1680317ns+-1426277ns@2856079ns+53788753ns"},
    /* A scope had ended in an older view, and a chair that heard it only in the new one
     * waited for ever for voters, who had forgotten it, to accept a once task again. */
    {{.ranks = 5, .tasks = 13, .newcomers = 2, .storm = true},
     631,
     "pause:r0@task.end+8046452ns,drop:0.083/r1"},
    /* A motion about a hinted task was due when the only candidate was removed. */
    {{.ranks = 5, .tasks = 38, .storm = true},
     21198,
     "gap:0.037:14712845ns@343562ns+237971432ns,kill:r2@32073ns"},
    /* Rank 0 knows that t8 ended well, with its bytes nowhere, and t7, which it takes,
     * is a once task that may have run: t8 was made again and failed. */
    {{.ranks = 4, .tasks = 12, .cancels = true, .storm = true},
     50546,
     "part:1-3/0@result.sent+54934651ns,part:1-to-0+2-3@15770514ns+256782784ns,"
     "part:0+3/1-2@10166724ns+275144191ns,part:1-to-0+2-3@result.sent+14622312ns"},
    /* Rank 2 chairs t32 and never spawns it: when it had heard that two ranks died of
     * it, it gave it to a third. */
    {{.ranks = 7,
      .tasks = 39,
      .storm = true,
      .sparing = true,
      .leaves = true,
      .poison = true},
     742,
     "pause:r4@motion.recv#3+50506930ns,part:1+4-to-0+2-3+5-6@0s+46037263ns,"
     "part:0-1+3+5-6/2+4@0s+52424110ns"},
    /* Rank 3 stood still while it was voted out, and heard after that that a result was
     * lost, which rank 2 had made again meanwhile. */
    {{.ranks = 4, .tasks = 20, .drops = true, .leaves = true, .storm = true},
     20023,
     "reorder:0.404:x2/r2-r0-1+3,reorder:0.001:x2/r3,gap:0.22:exp:58365839ns,"
     "reorder:0.124:x3@1647156ns+144269855ns,drop:0.011/notice@result.sent+51208232ns"},
    /* In a view that did not settle a chair whose ask delay is none looked at an
     * array's elements again and again, without end. */
    {{.ranks = 4, .tasks = 20, .leaves = true, .arrays = true, .storm = true},
     5000371,
     "part:3/0-2@view.enter+18923099ns,restart:r2@232170ns+21882867ns"},
};

#endif
