/* untouched.c - see untouched.h. */
#include "node/store/untouched.h"

#include <stdlib.h>
#include <sys/mman.h>

void *untouched_new(size_t size)
{
    if (size < UNTOUCHED_LARGE_BYTES) {
        return calloc(1, size);
    }
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void untouched_free(void *memory, size_t size)
{
    if (size < UNTOUCHED_LARGE_BYTES) {
        free(memory);
    } else if (memory != NULL) {
        (void)munmap(memory, size);
    }
}
