/* ways.c - see ways.h. */
#include "tests/bench/ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    size_t bytes;
    int trips;
} sizes[] = {{8, 3000},       {64, 3000},    {1 << 10, 3000},
             {64 << 10, 600}, {1 << 20, 60}, {WAYS_BYTES_MAX, 7}};
enum { SIZES = sizeof(sizes) / sizeof(*sizes), TRIPS_MAX = 3000 };

double ways_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A tenth of the trips before are for warming up. */
static double trip_us(const struct way *way, bool first, const void *bytes, size_t size,
                      int trips)
{
    static double took_us[TRIPS_MAX];
    for (int i = -trips / 10 - 1; i < trips; i++) {
        way->expect(way->context, size);
        const double began_us = ways_now_us();
        if (first) {
            way->send(way->context, bytes, size);
            way->wait(way->context, size);
        } else {
            way->wait(way->context, size);
            way->send(way->context, bytes, size);
        }
        took_us[i > 0 ? i : 0] = ways_now_us() - began_us;
    }
    qsort(took_us, (size_t)trips, sizeof(*took_us), compare);
    return took_us[trips / 2] / 2;
}

void ways_measure(const struct way *way, bool first)
{
    unsigned char *bytes = malloc(WAYS_BYTES_MAX);
    if (bytes == NULL) {
        abort();
    }
    memset(bytes, 5, WAYS_BYTES_MAX);
    for (int i = 0; i < SIZES; i++) {
        const int trips = getenv("WAYS_QUICK") != NULL ? 3 : sizes[i].trips;
        const double us = trip_us(way, first, bytes, sizes[i].bytes, trips);
        if (first) {
            printf("%zu %.3f\n", sizes[i].bytes, us);
            (void)fflush(stdout);
        }
    }
    free(bytes);
}
