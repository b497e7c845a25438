/* store.c - see store.h. */
#include "store.h"

#include "proto/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static_assert(sizeof(struct payload) <= PAYLOAD_ALIGN, "header and data share a block");

struct payload *payload_new(uint64_t size)
{
    if (size > LIMIT_RESULT_BYTES) {
        return NULL;
    }
    void *block;
    if (posix_memalign(&block, PAYLOAD_ALIGN, PAYLOAD_ALIGN + (size_t)size + 1) != 0) {
        return NULL;
    }
    struct payload *payload = block;
    payload->references = 1;
    payload->size = size;
    payload->data = (unsigned char *)block + PAYLOAD_ALIGN;
    payload->data[size] = 0;
    return payload;
}

struct payload *payload_copy(const void *data, uint64_t size)
{
    struct payload *payload = payload_new(size);
    if (payload != NULL && size > 0) {
        memcpy(payload->data, data, (size_t)size);
    }
    return payload;
}

struct payload *payload_hold(struct payload *payload)
{
    payload->references++;
    return payload;
}

void payload_drop(struct payload *payload)
{
    if (payload == NULL) {
        return;
    }
    assert(payload->references > 0);
    if (--payload->references == 0) {
        free(payload);
    }
}

/* The kernel allows some 65,000 mappings a process: windows grow with the transfer. */
enum { SCRATCH_WINDOWS_MAX = 1024, SCRATCH_WINDOW_BYTES_MIN = 2 << 20 };

static size_t scratch_window(uint64_t size)
{
    size_t window = SCRATCH_WINDOW_BYTES_MIN;
    while (size / window >= SCRATCH_WINDOWS_MAX) {
        window *= 2;
    }
    return window;
}

static size_t scratch_span(uint64_t size)
{
    size_t window = scratch_window(size);
    return ((size_t)size + window) / window * window;
}

void *scratch_new(uint64_t size)
{
    size_t window = scratch_window(size), span = scratch_span(size);
    int file = memfd_create("moot-scratch", MFD_CLOEXEC);
    if (file < 0) {
        return NULL;
    }
    char *base = MAP_FAILED;
    if (ftruncate(file, (off_t)window) == 0) {
        base = mmap(NULL, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    }
    for (size_t at = 0; base != MAP_FAILED && at < span; at += window) {
        if (mmap(base + at, window, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 file, 0) == MAP_FAILED) {
            munmap(base, span);
            base = MAP_FAILED;
        }
    }
    close(file);
    return base == MAP_FAILED ? NULL : base;
}

void scratch_free(void *scratch, uint64_t size)
{
    if (scratch != NULL) {
        munmap(scratch, scratch_span(size));
    }
}
