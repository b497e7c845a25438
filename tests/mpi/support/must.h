/* must.h - a call that has to succeed; without MPI, so also after a death. */
#ifndef TESTS_MPI_SUPPORT_MUST_H
#define TESTS_MPI_SUPPORT_MUST_H

#include "node/api/moot.h"

/* If the call failed, says what it was for and why on standard error, and ends the
 * rank: `moot run` then tells of it.
 */
void must(moot *m, int code, const char *what);

#endif
