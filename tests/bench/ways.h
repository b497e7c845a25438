/* ways.h - half round trips between two processes, whatever carries the bytes.
 *
 * A way sends `size` bytes to the other process, and waits until as many have come from
 * there.  ways_measure() has them go back and forth, for each size in turn, and has the
 * first process print, for each, a line `size median_us`: of half a round trip.  With
 * WAYS_QUICK in the environment they go a few times only.
 */
#ifndef TESTS_BENCH_WAYS_H
#define TESTS_BENCH_WAYS_H

#include <stdbool.h>
#include <stddef.h>

struct way {
    void *context;
    /* Makes ready for so many bytes from the other process, before they are sent. */
    void (*expect)(void *context, size_t size);
    void (*send)(void *context, const void *bytes, size_t size);
    void (*wait)(void *context, size_t size);
};

enum { WAYS_BYTES_MAX = 16 << 20 };

/* Both processes call it; the first begins. */
void ways_measure(const struct way *way, bool first);

double ways_now_us(void);

#endif
