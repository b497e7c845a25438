/* bench.h - what every benchmark needs: its machine, its clock, its figures, its rows.
 *
 * A row is what is read from outside: `name value target`, and a remark behind a `#`.
 * A value is in the unit that its name ends with, or a ratio, and less is always
 * better: a rate is given as nanoseconds a piece, a bandwidth as the raw wire's over
 * ours.  A target of 0 stands for none.
 *
 * Functions that say so are collective over MPI_COMM_WORLD.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include "node/api/moot.h"
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench {
    const char *name;
    int rank, ranks;
    int cores; /* that the ranks have together, one each at most */
};

/* Initialises MPI, and says on standard error what it runs on.  Collective. */
void bench_open(struct bench *bench, const char *name);
/* Warns if others used the machine meanwhile, and finalises MPI.  Collective. */
void bench_close(const struct bench *bench);
/* Ends the job unless `code` is MOOT_OK: with what `m` says of it (NULL: of an open).
 */
void bench_check(moot *m, int code, const char *what);
void *bench_alloc(size_t count, size_t size); /* zeroed, or the job ends */
/* Prints the story and ends the job. */
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

double bench_now_s(void);
/* What the whole of `begun_s` until now took on the slowest rank.  Collective. */
double bench_took_s(double begun_s);
/* Returns when all have come here, and meanwhile serves peers.  Collective. */
void bench_meet(moot *m, moot_task any);

/* --- Figures ---------------------------------------------------------------------- */

struct figure {
    double least, median, most;
    double quartile; /* the lower one */
};
struct figure figure_of(double *values, size_t count); /* sorts; count is not 0 */

/* Prints a row, on rank 0. */
void bench_row(const struct bench *bench, const char *name, double value, double target,
               const char *remark, ...) __attribute__((format(printf, 5, 6)));

/* --- Arguments -------------------------------------------------------------------- */

enum {
    BENCH_SECONDS_MAX = 86400,
    BENCH_TARGET_MAX = 1000000,
    BENCH_GRAIN_US_MAX = 1000000
};

/* The value behind `name` among the arguments; `fallback` if it is not there. */
const char *bench_text(char **arguments, const char *name, const char *fallback);
/* Ends the job unless it is a whole number within the bounds. */
long bench_number(char **arguments, const char *name, long fallback, long least,
                  long most);
/* Likewise a number. */
double bench_real(char **arguments, const char *name, double fallback, double least,
                  double most);
bool bench_flag(char **arguments, const char *name);

#endif
