/* sim_coverage.c - what runs of `moot sim` have reached: pairs, and arms.
 *
 * Pairs of a message and its receiver's state are counted by every build
 * (consensus/sim/runs/run_met.c).  Arms, the ways that conditions of the core go, are
 * counted by gcc, in a build for that alone: `make COVERAGE=1`.  Its counts stay with
 * the build and are added up over all that has run there.
 */
#include "node/cli/sim_verb.h"

#ifdef MOOT_COVERAGE
#include <sys/wait.h>
#include <unistd.h>

#define COUNTER "tests/tidy/arms.py"

extern void __gcov_dump(void);

void sim_coverage_keep(void) { __gcov_dump(); }

static void print_arms(void)
{
    int status = 1;
    fflush(stdout);
    __gcov_dump();
    pid_t pid = fork();
    if (pid == 0) {
        execlp("python3", "python3", COUNTER, MOOT_COVERAGE, (char *)NULL);
        _exit(1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        cli_complain(&verb_sim, "the arms are told by " COUNTER " " MOOT_COVERAGE
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
    tally_print_features(tally, stdout);
    putchar('\n');
    print_arms();
    fflush(stdout);
}
