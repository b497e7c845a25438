/* memory.c - see memory.h. */
#include "tests/mpi/support/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    char line[128] = "", *after = line;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        (void)strtoul(line, &after, 10); /* all that is mapped comes first */
        pages = strtoul(after, NULL, 10);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (pages == 0) {
        (void)fputs("/proc/self/statm cannot be read\n", stderr);
        abort();
    }
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
