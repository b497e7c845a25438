/* bad_input.c - whatever a program does wrong ends in a clear error, with nothing lost.
 *
 *   mpirun -n 3 bad_input
 *
 * The rows stand in refusals/.
 */
#include "tests/mpi/refusals/rows.h"

enum { ROW_DEADLINE_S = 60 };

int main(int argc, char **argv)
{
    static const struct refusal_row *const tables[] = {
        refusals_of_calls, refusals_of_kernels, refusals_of_states};
    harness_open(&argc, &argv, "bad_input");
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const struct refusal_row *row = tables[i]; row->name != NULL; row++) {
            if (harness_size() < row->ranks_min) {
                harness_case_skip(row->name, "it takes more ranks");
                continue;
            }
            harness_case_begin(row->name, ROW_DEADLINE_S);
            row->run();
            harness_case_end();
        }
    }
    return harness_close();
}
