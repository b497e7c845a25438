/* payload.c - see payload.h. */
#include "node/store/payload.h"

#include "hashing/base/fetch_ahead.h"
#include "hashing/base/hot.h"
#include "proto/limits.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static_assert(sizeof(struct payload) <= PAYLOAD_ALIGN, "header and data share a block");

static struct payload *begin(void *block, uint64_t size)
{
    struct payload *payload = block;
    *payload = (struct payload){
        .references = 1, .size = size, .data = (unsigned char *)block + PAYLOAD_ALIGN};
    payload->data[size] = 0;
    return payload;
}

/* Header, data and the zero byte. */
static size_t block_bytes(uint64_t size) { return PAYLOAD_ALIGN + (size_t)size + 1; }

struct payload *payload_new(uint64_t size)
{
    void *block;
    if (size > LIMIT_RESULT_BYTES ||
        posix_memalign(&block, PAYLOAD_ALIGN, block_bytes(size)) != 0) {
        return NULL;
    }
    return begin(block, size);
}

struct payload *payloads_new(struct payloads *payloads, uint64_t size)
{
    size_t bytes = block_bytes(size), capacity;
    if (size > LIMIT_RESULT_BYTES || bytes < LARGE_BYTES_MIN) {
        return payload_new(size);
    }
    void *block = large_take(&payloads->large, bytes, &capacity);
    if (block == NULL) {
        return NULL;
    }
    struct payload *payload = begin(block, size);
    payload->home = payloads;
    payload->large_bytes = capacity;
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
        payload_free(payload);
    }
}

void payload_let_go(struct payload *payload, bool let_go)
{
    if (payload == NULL || payload->large_bytes == 0 || payload->let_go == let_go) {
        return;
    }
    size_t *bytes = &payload->home->let_go_bytes;
    *bytes = let_go ? *bytes + payload->large_bytes : *bytes - payload->large_bytes;
    payload->let_go = let_go;
}

HOT void payload_free(struct payload *payload)
{
    if (payload != NULL && payload->large_bytes > 0) {
        payload->home->let_go_freed += payload->let_go;
        payload_let_go(payload, false);
        large_give(&payload->home->large, payload, payload->large_bytes);
    } else if (payload != NULL && payload->home != NULL) {
        payload->next = payload->home->spare;
        payload->home->spare = payload;
    } else if (payload != NULL && !payload->kept) {
        free(payload);
    }
}

void payload_keep(struct payload *payload)
{
    if (payload != NULL) {
        payload->kept = true;
        payload->home = NULL; /* which may go */
        payload->large_bytes = 0;
    }
}

/* --- Small ones ------------------------------------------------------------------ */

enum { PAYLOADS_PER_BLOCK = 256, PAYLOAD_BYTES = 3 * PAYLOAD_ALIGN };
static_assert(PAYLOAD_ALIGN + PAYLOAD_SMALL_BYTES < PAYLOAD_BYTES, "and a zero byte");

struct payload_block {
    struct payload_block *next;
};

static_assert(sizeof(struct payload_block) <= PAYLOAD_BYTES, "it takes one's place");

static bool add_block(struct payloads *payloads)
{
    void *memory;
    if (posix_memalign(&memory, PAYLOAD_ALIGN,
                       (PAYLOADS_PER_BLOCK + 1) * PAYLOAD_BYTES) != 0) {
        return false;
    }
    struct payload_block *block = memory;
    block->next = payloads->blocks;
    payloads->blocks = block;
    for (int i = PAYLOADS_PER_BLOCK; i > 0; i--) {
        struct payload *payload =
            (struct payload *)((unsigned char *)memory + (size_t)i * PAYLOAD_BYTES);
        *payload = (struct payload){.data = (unsigned char *)payload + PAYLOAD_ALIGN,
                                    .home = payloads,
                                    .next = payloads->spare};
        payloads->spare = payload;
    }
    return true;
}

bool payloads_init(struct payloads *payloads)
{
    *payloads = (struct payloads){.spare = NULL};
    return large_init(&payloads->large);
}

HOT struct payload *payloads_take(struct payloads *payloads)
{
    if (payloads->spare == NULL && !add_block(payloads)) {
        return NULL;
    }
    struct payload *payload = payloads->spare;
    payloads->spare = payload->next;
    fetch_ahead(payloads->spare, PAYLOAD_ALIGN + 1); /* the next is soon taken */
    payload->next = NULL;
    payload->references = 1;
    payload_fit(payload, 0);
    return payload;
}

void payload_fit(struct payload *small, uint64_t size)
{
    assert(size <= PAYLOAD_SMALL_BYTES);
    small->size = size;
    small->data[size] = 0;
}

struct payload *payloads_copy(struct payloads *payloads, const void *data,
                              uint64_t size)
{
    if (size > PAYLOAD_SMALL_BYTES) {
        return payload_copy(data, size);
    }
    struct payload *payload = payloads_take(payloads);
    if (payload != NULL) {
        payload_fit(payload, size);
        if (size > 0) {
            memcpy(payload->data, data, (size_t)size);
        }
    }
    return payload;
}

void payloads_release(struct payloads *payloads)
{
    while (payloads->blocks != NULL) {
        struct payload_block *next = payloads->blocks->next;
        free(payloads->blocks);
        payloads->blocks = next;
    }
    payloads->spare = NULL;
    large_release(&payloads->large);
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
