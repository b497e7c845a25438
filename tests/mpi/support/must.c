/* must.c - see must.h. */
#include "tests/mpi/support/must.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void must(moot *m, int code, const char *what)
{
    if (code == MOOT_OK) {
        return;
    }
    (void)fprintf(stderr, "%s: rank %d: %s: %s\n", program_invocation_short_name,
                  moot_rank(m), what, moot_last_error(m));
    exit(1);
}
