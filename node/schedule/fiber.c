/* fiber.c - see fiber.h.
 *
 * A strand gets its stack from makecontext(), once.  From then on switches are jumps
 * from one stack to a place in the other: swapcontext() would do, but saves the signal
 * mask with two system calls each time, and all strands of a thread have the same.  The
 * sanitizers keep a picture of each stack, and must be told of every switch.
 */
#undef _FORTIFY_SOURCE /* its longjmp() takes another stack for an error */
#include "node/schedule/fiber.h"

#include "hashing/base/hot.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define STRAND_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STRAND_ASAN 1
#endif
#endif
#ifdef STRAND_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef STRAND_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* One side of a switch: the strand, or whoever runs it. */
struct side {
    jmp_buf place;      /* where it was left */
    const void *bottom; /* of its stack, */
    size_t size;        /* which a caller's are only once it has been left */
    void *fake_stack;   /* the address sanitizer's, while it is left */
    void *fiber;        /* the thread sanitizer's name for it */
};

struct strand {
    struct side self, caller;
    char *mapping; /* the guard page and the stack */
    size_t mapping_size;
    void (*run)(void *);
    void *argument;
    bool returned;
};

/* --- Switching ------------------------------------------------------------------ */

/* `for_good`: what is left holds no frame that anybody will come back to. */
static void leave(struct side *from, const struct side *to, bool for_good)
{
#ifdef STRAND_ASAN
    from->fake_stack = NULL;
    __sanitizer_start_switch_fiber(for_good ? NULL : &from->fake_stack, to->bottom,
                                   to->size);
#endif
#ifdef STRAND_TSAN
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
    (void)from;
    (void)to;
    (void)for_good;
}

static void arrive(struct side *at, struct side *from)
{
#ifdef STRAND_ASAN
    __sanitizer_finish_switch_fiber(at->fake_stack, &from->bottom, &from->size);
#endif
    (void)at;
    (void)from;
}

HOT static void switch_sides(struct side *from, struct side *to, bool for_good)
{
    leave(from, to, for_good);
    if (_setjmp(from->place) == 0) {
        _longjmp(to->place, 1);
    }
    arrive(from, to);
}

bool strand_run(struct strand *strand)
{
#ifdef STRAND_TSAN
    strand->caller.fiber = __tsan_get_current_fiber();
#endif
    switch_sides(&strand->caller, &strand->self, false);
    return strand->returned;
}

void strand_suspend(struct strand *strand)
{
    switch_sides(&strand->self, &strand->caller, false);
}

void strand_begin(struct strand *strand, void (*run)(void *), void *argument)
{
    strand->run = run;
    strand->argument = argument;
    strand->returned = false;
}

/* Never returns: between two functions it rests in switch_sides().  makecontext()
 * passes ints. */
static void strand_main(unsigned high, unsigned low)
{
    struct strand *strand = (struct strand *)((uintptr_t)high << 32 | low);
    arrive(&strand->self, &strand->caller);
    strand->returned = true; /* it has got as far as its first rest */
    for (;;) {
        switch_sides(&strand->self, &strand->caller, true);
        strand->run(strand->argument);
        strand->returned = true;
    }
}

/* --- Stacks --------------------------------------------------------------------- */

static size_t stack_bytes(void)
{
    enum { STACK_BYTES_MIN = 1 << 20 };
    size_t size = 0;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &size);
        pthread_attr_destroy(&attributes);
    }
    return size > STACK_BYTES_MIN ? size : STACK_BYTES_MIN;
}

static bool map_stack(struct strand *strand)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (stack_bytes() + page - 1) / page * page;
    char *mapping =
        mmap(NULL, page + size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        return false;
    }
    strand->mapping = mapping;
    strand->mapping_size = page + size;
    strand->self.bottom = mapping + page;
    strand->self.size = size;
    return mprotect(mapping, page, PROT_NONE) == 0;
}

/* Brings the new stack to its first rest. */
static bool enter_stack(struct strand *strand)
{
    ucontext_t context;
    if (getcontext(&context) != 0) {
        return false;
    }
    context.uc_stack.ss_sp = strand->mapping + strand->mapping_size - strand->self.size;
    context.uc_stack.ss_size = strand->self.size;
    context.uc_link = NULL;
    uintptr_t address = (uintptr_t)strand;
    makecontext(&context, (void (*)(void))strand_main, 2, (unsigned)(address >> 32),
                (unsigned)address);
#ifdef STRAND_TSAN
    strand->self.fiber = __tsan_create_fiber(0);
    strand->caller.fiber = __tsan_get_current_fiber();
#endif
    leave(&strand->caller, &strand->self, false);
    if (_setjmp(strand->caller.place) == 0) {
        setcontext(&context);
    }
    arrive(&strand->caller, &strand->self);
    return strand->returned;
}

struct strand *strand_new(void)
{
    struct strand *strand = calloc(1, sizeof(*strand));
    if (strand == NULL) {
        return NULL;
    }
    if (!map_stack(strand) || !enter_stack(strand)) {
        strand_free(strand);
        return NULL;
    }
    return strand;
}

void strand_free(struct strand *strand)
{
    if (strand == NULL) {
        return;
    }
#ifdef STRAND_TSAN
    if (strand->self.fiber != NULL) {
        __tsan_destroy_fiber(strand->self.fiber);
    }
#endif
    if (strand->mapping != NULL) {
        munmap(strand->mapping, strand->mapping_size);
    }
    free(strand);
}
