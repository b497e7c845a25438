/* account.c - what the ranks of a world allocate, and who has it (world.h).
 *
 * A block's address is kept in a table, with the rank whose thread asked for it.  After
 * a run ranks that live should have none left; those of the dead are freed here.
 * Blocks that come from within the C library are not in the table, and are its.
 */
#include "tests/virtual/world.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALLERS_MAX = 24, LARGE_BYTES = 1 << 20 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *block);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd,
                  off_t offset);
int __real_munmap(void *at, size_t size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
                  off_t offset);
int __wrap_munmap(void *at, size_t size);

struct block {
    void *at; /* NULL: an empty place */
    size_t size;
    uint64_t number; /* how many the rank had asked for before */
    uint32_t rank;
    bool mapped;
};

static struct {
    struct block *blocks;
    size_t room, count; /* room: a power of two */
    uint32_t own;
    uint64_t asked[WORLD_RANKS_MAX + 1];
    size_t bytes[WORLD_RANKS_MAX + 1];
    bool watches;
    uint32_t watched_rank;
    uint64_t watched;
} account;

/* --- The table -------------------------------------------------------------------- */

static size_t place_of(const void *at)
{
    uint64_t word = (uint64_t)(uintptr_t)at * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(word >> 20) & (account.room - 1);
}

static size_t find_block(const void *at)
{
    size_t i = place_of(at);
    while (account.blocks[i].at != NULL && account.blocks[i].at != at) {
        i = (i + 1) & (account.room - 1);
    }
    return i;
}

static void grow_table(void)
{
    struct block *old = account.blocks;
    size_t old_room = account.room;
    account.room = old_room > 0 ? 2 * old_room : 4096;
    account.blocks = __real_calloc(account.room, sizeof(*account.blocks));
    if (account.blocks == NULL) {
        fprintf(stderr, "virtual: no memory\n");
        exit(2);
    }
    for (size_t i = 0; i < old_room; i++) {
        if (old[i].at != NULL) {
            account.blocks[find_block(old[i].at)] = old[i];
        }
    }
    __real_free(old);
}

static void remove_block(size_t i)
{
    account.bytes[account.blocks[i].rank] -= account.blocks[i].size;
    account.blocks[i].at = NULL;
    account.count--;
    for (size_t k = (i + 1) & (account.room - 1); account.blocks[k].at != NULL;
         k = (k + 1) & (account.room - 1)) {
        struct block moved = account.blocks[k];
        account.blocks[k].at = NULL;
        account.blocks[find_block(moved.at)] = moved;
    }
}

static bool is_counted(void)
{
    return world_is_on() && account.own == 0 && account.room > 0;
}

static void *keep(void *at, size_t size, bool mapped)
{
    if (at == NULL || !is_counted()) {
        return at;
    }
    if (2 * (account.count + 1) > account.room) {
        grow_table();
    }
    uint32_t rank = world_rank();
    uint64_t number = account.asked[rank]++;
    account.blocks[find_block(at)] = (struct block){at, size, number, rank, mapped};
    account.bytes[rank] += size;
    account.count++;
    if (account.watches && rank == account.watched_rank && number == account.watched) {
        void *callers[CALLERS_MAX];
        backtrace_symbols_fd(callers, backtrace(callers, CALLERS_MAX), STDERR_FILENO);
    }
    return at;
}

static void let_go(const void *at)
{
    if (at != NULL && account.room > 0) {
        size_t i = find_block(at);
        if (account.blocks[i].at != NULL) {
            remove_block(i);
        }
    }
}

/* --- Asking ----------------------------------------------------------------------- */

void *__wrap_malloc(size_t size) { return keep(__real_malloc(size), size, false); }

void *__wrap_calloc(size_t count, size_t size)
{
    return keep(__real_calloc(count, size), count * size, false);
}

void *__wrap_realloc(void *block, size_t size)
{
    let_go(block);
    return keep(__real_realloc(block, size), size, false);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return keep(__real_aligned_alloc(align, size), size, false);
}

int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    int code = __real_posix_memalign(out, align, size);
    if (code == 0) {
        keep(*out, size, false);
    }
    return code;
}

char *__wrap_strdup(const char *text)
{
    return keep(__real_strdup(text), strlen(text) + 1, false);
}

void __wrap_free(void *block)
{
    let_go(block);
    __real_free(block);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd,
                  off_t offset)
{
    void *mapped = __real_mmap(at, size, protection, flags, fd, offset);
    if (mapped != MAP_FAILED && (flags & MAP_FIXED) == 0) {
        keep(mapped, size, true);
    }
    return mapped;
}

int __wrap_munmap(void *at, size_t size)
{
    let_go(at);
    return __real_munmap(at, size);
}

/* --- For the tests ---------------------------------------------------------------- */

void account_begin(void)
{
    if (account.room == 0) {
        grow_table();
    }
    memset(account.asked, 0, sizeof(account.asked));
    memset(account.bytes, 0, sizeof(account.bytes));
}

void account_own_begin(void) { account.own++; }
void account_own_end(void) { account.own--; }
void account_watch(uint32_t rank, uint64_t number)
{
    account.watches = true;
    account.watched_rank = rank;
    account.watched = number;
}

void account_give(void *block, uint32_t rank)
{
    size_t i = find_block(block);
    if (account.blocks[i].at != NULL) {
        account.bytes[account.blocks[i].rank] -= account.blocks[i].size;
        account.bytes[rank] += account.blocks[i].size;
        account.blocks[i].rank = rank;
    }
}

size_t account_of(uint32_t rank, size_t *bytes, uint64_t *first)
{
    size_t count = 0;
    *bytes = account.bytes[rank];
    *first = UINT64_MAX;
    for (size_t i = 0; i < account.room; i++) {
        const struct block *block = &account.blocks[i];
        if (block->at != NULL && block->rank == rank) {
            count++;
            *first = block->number < *first ? block->number : *first;
        }
    }
    return count;
}

size_t account_small(uint32_t rank)
{
    size_t bytes = 0;
    for (size_t i = 0; i < account.room; i++) {
        const struct block *block = &account.blocks[i];
        bool counts =
            block->at != NULL && block->rank == rank && block->size < LARGE_BYTES;
        bytes += counts ? block->size : 0;
    }
    return bytes;
}

void account_finish(void)
{
    for (size_t i = 0; i < account.room; i++) {
        struct block *block = &account.blocks[i];
        if (block->at == NULL) {
            continue;
        }
        if (block->mapped) {
            __real_munmap(block->at, block->size);
        } else {
            __real_free(block->at);
        }
        block->at = NULL;
    }
    account.count = 0;
}
