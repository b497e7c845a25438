/* metg.c - METG(50%) by moot beside nonblocking MPI by hand (beside.h).
 *
 *   mpirun -n 2 metg [--pattern NAME|all|others] [--width W] [...]
 */
#include "tests/bench/beside.h"

int main(int argc, char **argv)
{
    (void)argc;
    beside(argv, &(struct beside){"metg", {&way_by_moot}, &way_by_hand, {"metg"}});
    return 0;
}
