/* memory.h - how much of its memory a rank has; without MPI. */
#ifndef TESTS_MPI_SUPPORT_MEMORY_H
#define TESTS_MPI_SUPPORT_MEMORY_H

#include <stdint.h>

/* What the system keeps for this process.  Ends it where /proc does not say. */
uint64_t resident_bytes(void);

#endif
