/* rows.h - the rows of the divergence matrix.
 *
 * A row is a small program with a moot of its own, run by all ranks.  Its claim is its
 * name; scene_close() adds what every row claims: right values on every rank, every
 * task run exactly once in the job, no wait that ended by a stall, no broken invariant.
 */
#ifndef TESTS_MPI_DIVERGENCE_ROWS_H
#define TESTS_MPI_DIVERGENCE_ROWS_H

#include "tests/mpi/support/scene.h"

struct row {
    const char *name; /* one word, for the command line */
    const char *claim;
    void (*run)(void);
    int ranks_min;
};

/* Each ends with an empty row. */
extern const struct row rows_holders[];  /* who holds a task */
extern const struct row rows_order[];    /* in which order, and what waits for what */
extern const struct row rows_evidence[]; /* why a chair yields */
extern const struct row rows_arrays[];   /* task arrays, and their elements */
extern const struct row rows_program[];  /* threads, nesting, phases, ends */

#endif
