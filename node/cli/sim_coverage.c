/* sim_coverage.c - what runs of `moot sim` have reached: pairs, and arms.
 *
 * Pairs of a message and its receiver's state are counted by every build
 * (consensus/sim/runs/run_met.c).  Arms, the ways that conditions of the core go, are
 * counted by gcc, in a build for that alone: `make COVERAGE=1`.  Its counts stay with
 * the build and are added up over all that has run there.
 */
#include "node/cli/sim_verb.h"

#include <stdlib.h>

#ifdef MOOT_COVERAGE
extern void __gcov_dump(void);

void sim_coverage_keep(void) { __gcov_dump(); }

static void print_arms(void)
{
    fflush(stdout);
    __gcov_dump();
    if (system("python3 " MOOT_COVERAGE) != 0) {
        cli_complain(&verb_sim, "the arms are told by " MOOT_COVERAGE
                                ", in the folder that this was built in");
    }
}
#else
void sim_coverage_keep(void) {}

static void print_arms(void)
{
    puts("arms are counted by a build for that: make coverage");
}
#endif

void sim_coverage_print(const struct tally *tally)
{
    putchar('\n');
    tally_print_met(tally, stdout);
    putchar('\n');
    print_arms();
    fflush(stdout);
}
