/* harness.h - what the test programs under mpirun have in common, and those of them
 * that a launcher of moot's own starts: these have no MPI, and the launcher's channel
 * instead.
 *
 * A program is a list of cases.  All ranks run each case together; a check that does
 * not hold on one rank is told there and fails the case everywhere:
 *
 *     harness_open(&argc, &argv, "matrix");
 *     harness_case_begin("chair skips the task", 60);
 *     CHECK(sum == 140, "the sum is %ld", sum);
 *     harness_case_end();
 *     return harness_close();
 *
 * A case that does not end is as much a failure as one that ends wrongly, so each has a
 * deadline.  When it passes, the rank names the case, asks moot for its report
 * (SIGUSR1) and a little later aborts the job.
 *
 * What the harness itself sends goes over a communicator of its own.  Its waits sleep
 * between two looks, so that ranks which share a core do not spin against each other.
 */
#ifndef TESTS_MPI_HARNESS_H
#define TESTS_MPI_HARNESS_H

#include "node/api/moot_mpi.h"
#include <stdbool.h>
#include <stdint.h>

/* Opens the channel of the launcher; if there is none, initialises MPI with
 * MPI_THREAD_MULTIPLE.  Ends the program if that is not to be had. */
void harness_open(int *argc, char ***argv, const char *program);
/* Prints "program, 4 ranks: N passed, N failed" on rank 0, finalises MPI, and returns
 * the program's exit status: the same on all ranks. */
int harness_close(void);

int harness_rank(void);
int harness_size(void);
/* The harness's own; cases may send on it with tags > 0.  MPI_COMM_NULL without MPI:
 * then there are no tokens, either. */
MPI_Comm harness_comm(void);
/* A moot of all ranks. */
int harness_moot_open(const moot_options *options, moot **out);
_Noreturn void harness_abort(int status); /* ends the job */

/* Collective. */
void harness_case_begin(const char *name, unsigned deadline_s);
bool harness_case_end(void); /* true if the case held on every rank */
void harness_case_skip(const char *name, const char *why);
void harness_quiet(void); /* from now on, tell of failed cases only */

/* Marks the running case as failed and says so, unless `holds`.  From any thread. */
void harness_check(bool holds, const char *site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define CHECK(holds, ...) harness_check((holds), MOOT_SITE, __VA_ARGS__)
/* The call must return `code`. */
#define CHECK_CODE(call, code) harness_check_code((call), (code), #call, MOOT_SITE)
#define CHECK_OK(call) CHECK_CODE((call), MOOT_OK)
bool harness_check_code(int got, int wanted, const char *call, const char *site);
/* The context whose moot_last_error() explains a wrong code; NULL: none. */
void harness_explain_with(const moot *m);
/* So far, on this rank. */
bool harness_case_is_good(void);

/* A barrier that the moot does not know of: park around it unless that is the point. */
void harness_barrier(void);
/* Sums over all ranks, in place.  Collective, like a barrier. */
void harness_sum(uint64_t *words, size_t count);
void harness_maximum(uint64_t *words, size_t count);
/* A word between two ranks of the program's own, and the wait for it: foreign code. */
void harness_token_send(int to);
void harness_token_wait(int from);
void harness_token_send_all(void); /* to every other rank */

uint64_t harness_now_ns(void); /* CLOCK_MONOTONIC: comparable among ranks of one host */
void harness_sleep_us(uint64_t us);
/* Terminates the job if there is no memory. */
void *harness_alloc(size_t count, size_t size);

#endif
