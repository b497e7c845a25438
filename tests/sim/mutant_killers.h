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
};

/* Where the rules about views are hunted: nothing else knows that they are broken. */
static const struct swarm_job storms[] = {
    {.ranks = 3, .tasks = 12, .storm = true},
    {.ranks = 4, .tasks = 20, .storm = true},
    {.ranks = 5, .tasks = 12, .storm = true},
    {.ranks = 6, .tasks = 30, .storm = true},
    {.ranks = 4, .tasks = 20, .storm = true, .newcomers = 1},
    {.ranks = 8, .tasks = 20, .storm = true},
};

/* Tests that drive a few cores by hand (tests/unit/). */
static const char *const benches[] = {"core_test", "view_test", "view_rules_test"};

struct killer {
    enum mutant mutant;
    struct swarm_job job;
    uint64_t seed;
    const char *bench; /* or NULL: in the simulator */
};

static const struct killer killers[] = {
    {MUTANT_AMNESIA, {.ranks = 2, .tasks = 12}, .seed = 1},
};

#endif
