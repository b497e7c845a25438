/* micro.h - one operation, many times: what micro.c times and callgrind counts.
 */
#ifndef TESTS_BENCH_MICRO_H
#define TESTS_BENCH_MICRO_H

#include "hashing/moot_hash.h"

struct micro {
    const char *name;
    /* Makes what `count` operations need, and returns the state that they share. */
    void *(*begin)(long count);
    void (*one)(void *state, long i); /* called for i = 0 .. count - 1 */
    void (*end)(void *state);
};

/* Each ends with an empty one. */
extern const struct micro micro_codec[];  /* hash, frames, the ready queue */
extern const struct micro micro_core[];   /* the core alone, and two that talk */
extern const struct micro micro_arrays[]; /* arrays of tasks */
extern const struct micro micro_spawn[];  /* through the public interface */

/* A hash that looks like a task's: uniform, without facts. */
moot_hash micro_hash(long i);

/* Ends the program with a message unless `good`. */
void micro_check(int good, const char *what);
void *micro_alloc(long count, long size); /* zeroed */

#endif
