/* arrays.c - METG(50%) by task arrays, and by single tasks, beside nonblocking MPI by
 * hand (beside.h).
 *
 *   mpirun -n 2 arrays [--pattern NAME|all|others] [--width W] [...]
 *
 * `all` and `others` are those of the patterns that by_arrays.c can run.
 */
#include "tests/bench/beside.h"

int main(int argc, char **argv)
{
    (void)argc;
    beside(argv, &(struct beside){"arrays",
                                  {&way_by_arrays, &way_by_moot},
                                  &way_by_hand,
                                  {"arrays", "single"}});
    return 0;
}
