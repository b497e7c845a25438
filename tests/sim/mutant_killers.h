/* mutant_killers.h - where each mutant is known to die, and where to look if not.
 *
 * The first row of a mutant that still kills it ends its hunt; a mutant without a row,
 * or whose rows have lost their bite because programs or storms are drawn otherwise,
 * is searched for.  `mutants --table NAME` prints the row of a fresh search.
 */
#ifndef TESTS_SIM_MUTANT_KILLERS_H
#define TESTS_SIM_MUTANT_KILLERS_H

#include "consensus/mutant.h"
#include "consensus/sim/swarm.h"

/* Programs for the rules of fixed membership. */
static const struct swarm_job grounds[] = {
    {.ranks = 2, .tasks = 12},
    {.ranks = 4, .tasks = 12},
    {.ranks = 3, .tasks = 12, .features = PROGRAM_ALL & ~PROGRAM_GHOSTS},
    {.ranks = 3, .tasks = 40, .agree = true},
    {.ranks = 4,
     .tasks = 40,
     .features = PROGRAM_ALL & ~PROGRAM_ONCE,
     .agree = true,
     .calm = true},
    {.ranks = 4, .tasks = 30, .features = PROGRAM_PLAIN},
    {.ranks = 8, .tasks = 60, .features = PROGRAM_PLAIN},
    {.ranks = 8, .tasks = 60},
    {.ranks = 6, .tasks = 40, .direct_max = 1},
    {.ranks = 8, .tasks = 60, .direct_max = 1, .features = PROGRAM_PLAIN},
    {.ranks = 4, .tasks = 60, .drops = true},
    {.ranks = 3, .tasks = 120, .drops = true, .agree = true},
    {.ranks = 3, .tasks = 120, .presses = true, .agree = true},
};

/* Where the rules about views are hunted: nothing else knows that they are broken. */
static const struct swarm_job storms[] = {
    {.ranks = 3, .tasks = 12, .storm = true},
    {.ranks = 4, .tasks = 20, .storm = true},
    {.ranks = 5, .tasks = 12, .storm = true},
    {.ranks = 6, .tasks = 30, .storm = true},
    {.ranks = 4, .tasks = 20, .storm = true, .newcomers = 1},
    {.ranks = 8, .tasks = 20, .storm = true},
    {.ranks = 4, .tasks = 12, .storm = true, .cancels = true},
    {.ranks = 9, .tasks = 20, .storm = true, .direct_max = 3},
};

/* Tests that drive a few cores by hand (tests/unit/). */
static const char *const benches[] = {
    "core_test",    "view_test",      "view_rules_test", "scope_test",  "leave_test",
    "drop_test",    "drop_view_test", "lost_test",       "cancel_test", "stub_test",
    "silence_test", "deserted_test",  "keeper_test"};

struct killer {
    enum mutant mutant;
    struct swarm_job job;
    uint64_t seed;
    const char *bench; /* or NULL: in the simulator */
};

static const struct killer killers[] = {
    {MUTANT_CUTUNTOLD, .bench = "drop_test"},
    {MUTANT_ROLLUNTOLD, .bench = "drop_view_test"},
    {MUTANT_CUTLEAVING, .bench = "drop_test"},
    {MUTANT_STUBFED,
     {.ranks = 3, .tasks = 120, .drops = true, .agree = true},
     .seed = 2},
    {MUTANT_STUBAWAY, {.ranks = 8, .tasks = 60}, .seed = 3},
    {MUTANT_CANCELONCE, .bench = "cancel_test"},
    {MUTANT_CANCELALONE, .bench = "cancel_test"},
    {MUTANT_CANCELFINDER, .bench = "cancel_test"},
    {MUTANT_UNSEEN, .bench = "cancel_test"},
    {MUTANT_SEENALONE, .bench = "lost_test"},
    {MUTANT_HASTYREPORT,
     {.ranks = 9, .tasks = 20, .storm = true, .direct_max = 3},
     .seed = 107},
    {MUTANT_NOHIST,
     {.ranks = 4, .tasks = 20, .storm = true, .newcomers = 1},
     .seed = 3},
    {MUTANT_LEASELESS, {.ranks = 4, .tasks = 20, .storm = true}, .seed = 7},
    {MUTANT_COUNTOLD,
     {.ranks = 4, .tasks = 20, .storm = true, .newcomers = 1},
     .seed = 11},
    {MUTANT_AMNESIA, {.ranks = 2, .tasks = 12}, .seed = 1},
    {MUTANT_BLOCKEDONLY, {.ranks = 3, .tasks = 40, .agree = true}, .seed = 1},
    {MUTANT_NORETEST, {.ranks = 8, .tasks = 60, .features = 151519}, .seed = 91},
    {MUTANT_NOSEEK, {.ranks = 2, .tasks = 12}, .seed = 9},
    {MUTANT_NOREFER, {.ranks = 4, .tasks = 12}, .seed = 14},
    {MUTANT_NOSWEEP, {.ranks = 2, .tasks = 12}, .seed = 3},
    {MUTANT_FORGETASKERS, {.ranks = 4, .tasks = 12}, .seed = 1},
    {MUTANT_DECIDEONCE, {.ranks = 4, .tasks = 12}, .seed = 1},
    {MUTANT_NOBALLOT, {.ranks = 2, .tasks = 12}, .seed = 7},
    {MUTANT_SMALLQ, {.ranks = 2, .tasks = 12}, .seed = 7},
    {MUTANT_NOTFOUND, {.ranks = 8, .tasks = 60}, .seed = 14},
    {MUTANT_ONEROUND,
     {.ranks = 4, .tasks = 40, .features = 262127, .agree = true, .calm = true},
     .seed = 202},
    {MUTANT_NOCOUNT, {.ranks = 3, .tasks = 40, .agree = true}, .seed = 15},
    {MUTANT_RESTISPEACE, {.ranks = 8, .tasks = 60}, .seed = 14},
    {MUTANT_QUORUMREST, .bench = "view_test"},
    {MUTANT_QUORUMMAYBE, .bench = "silence_test"},
    {MUTANT_NOCHASE, .bench = "core_test"},
    {MUTANT_CENSUSMUTE, {.ranks = 6, .tasks = 40, .direct_max = 1}, .seed = 3},
    {MUTANT_CENSUSALIKE, {.ranks = 6, .tasks = 40, .direct_max = 1}, .seed = 3},
    {MUTANT_CENSUSEARLY,
     {.ranks = 8, .tasks = 60, .features = 151519, .direct_max = 1},
     .seed = 1},
    {MUTANT_PUSHAGAIN, {.ranks = 3, .tasks = 40, .agree = true}, .seed = 1},
    {MUTANT_ASKANYWAY,
     {.ranks = 4, .tasks = 40, .features = 262127, .agree = true, .calm = true},
     .seed = 1},
    {MUTANT_NOPULL, {.ranks = 3, .tasks = 12, .features = 260095}, .seed = 1},
    {MUTANT_STALEDEC, .bench = "view_rules_test"},
    {MUTANT_STALERES, .bench = "view_rules_test"},
    {MUTANT_PARTIAL, {.ranks = 4, .tasks = 20, .storm = true}, .seed = 3},
    {MUTANT_NOFREEZEDEAD,
     {.ranks = 4, .tasks = 20, .storm = true, .newcomers = 1},
     .seed = 8},
    {MUTANT_JOINNOWAIT, {.ranks = 4, .tasks = 20, .storm = true}, .seed = 1},
    {MUTANT_NOOWNREP, {.ranks = 5, .tasks = 12, .storm = true}, .seed = 1},
    {MUTANT_NOCONCL, {.ranks = 3, .tasks = 12, .storm = true}, .seed = 75},
    {MUTANT_NOREACC, .bench = "view_rules_test"},
    {MUTANT_FREEDEAD, {.ranks = 4, .tasks = 20, .storm = true}, .seed = 7},
    {MUTANT_NOPEND, {.ranks = 8, .tasks = 20, .storm = true}, .seed = 1},
    {MUTANT_GRANTAFTERVOTE, {.ranks = 6, .tasks = 30, .storm = true}, .seed = 13},
    {MUTANT_NOOWNWAIT,
     {.ranks = 4, .tasks = 20, .storm = true, .newcomers = 1},
     .seed = 176},
    {MUTANT_MAJLIVE, .bench = "view_rules_test"},
    {MUTANT_HALF, {.ranks = 3, .tasks = 12, .storm = true}, .seed = 1},
    {MUTANT_NOPH1, {.ranks = 5, .tasks = 12, .storm = true}, .seed = 1},
    {MUTANT_CERTDROP, .bench = "view_test"},
    {MUTANT_SCOPEDOUBT, .bench = "scope_test"},
    {MUTANT_CERTJOIN, .bench = "view_test"},
    {MUTANT_NOMERGE, .bench = "view_rules_test"},
    {MUTANT_FWDNOTDEC, .bench = "view_rules_test"},
    {MUTANT_STALEACC, .bench = "view_rules_test"},
    {MUTANT_ADOPTSTALE, .bench = "view_rules_test"},
    {MUTANT_DROPREACC, .bench = "view_rules_test"},
    {MUTANT_SHORTPAST,
     {.ranks = 4, .tasks = 20, .storm = true, .newcomers = 1},
     .seed = 3},
    {MUTANT_MASKED, .bench = "view_rules_test"},
    {MUTANT_NOLOSSES, {.ranks = 4, .tasks = 20, .storm = true}, .seed = 1254},
    {MUTANT_REPORTFREEZE, .bench = "silence_test"},
    {MUTANT_JUDGELATE, .bench = "silence_test"},
    {MUTANT_NOHIDDEN, .bench = "view_rules_test"},
    {MUTANT_HEARSAY, {.ranks = 3, .tasks = 12, .storm = true}, .seed = 67},
    {MUTANT_NODRIVE, {.ranks = 5, .tasks = 12, .storm = true}, .seed = 263},
    {MUTANT_LEAVEPENDING, .bench = "core_test"},
    {MUTANT_NOHANDOVER, .bench = "leave_test"},
    {MUTANT_NOACCEPTOVER, .bench = "leave_test"},
    {MUTANT_LEAVECLAIM, .bench = "leave_test"},
    {MUTANT_LEAVELOSES, .bench = "leave_test"},
    {MUTANT_LEAVEKEEPS, .bench = "silence_test"},
    {MUTANT_LEAVEALONE, .bench = "deserted_test"},
    {MUTANT_NOKEEPER, .bench = "keeper_test"},
    {MUTANT_LEAVETOGETHER, .bench = "deserted_test"},
    {MUTANT_LEAVEUNCOUNTED, .bench = "scope_test"},
    {MUTANT_RETURNDROP, .bench = "leave_test"},
    {MUTANT_RETURNEARLY, .bench = "leave_test"},
    {MUTANT_RETURNLACKS, .bench = "leave_test"},
    {MUTANT_RETURNLOST, .bench = "silence_test"},
};

#endif
