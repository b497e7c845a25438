/* clock.c - see clock.h. */
#include "node/engine/clock.h"

#include "hashing/base/hot.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum {
    FAR_TICKS = 1 << 15,      /* at 2.6 GHz, 13 us: the clock costs a 500th of that */
    UNDISTURBED_TICKS = 1024, /* a reading takes some 100 */
    LEARN_NS = 1000000,
    TICK_NS_MAX = 10 /* nothing that is slower is taken for a tick */
};
#define LEARN_NS_MAX (UINT64_C(1) << 32)

uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t clock_wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The "invariant TSC" of the processors' manuals. */
COLD static bool counts_evenly(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
#else
    return false;
#endif
}

static inline uint64_t ticks_now(const struct clock *clock)
{
#if defined(__x86_64__)
    return clock->even ? __builtin_ia32_rdtsc() : 0;
#else
    (void)clock;
    return 0;
#endif
}

void clock_begin(struct clock *clock)
{
    *clock = (struct clock){.even = counts_evenly()};
}

/* Since the reading with which that began; 0: it cannot be told. */
static uint64_t tick_learnt(const struct clock *clock)
{
    uint64_t ns = clock->ns - clock->begun_ns, ticks = clock->ticks - clock->begun;
    bool tells = clock->begun_ns != 0 && ns < LEARN_NS_MAX && ticks > ns / TICK_NS_MAX;
    return tells ? (ns << 32) / ticks : 0;
}

void clock_learn(struct clock *clock, uint64_t before, uint64_t ns, uint64_t after)
{
    if (after - before > UNDISTURBED_TICKS) {
        return;
    }
    clock->ns = ns;
    clock->ticks = before + (after - before) / 2;
    if (ns - clock->begun_ns >= LEARN_NS) {
        clock->tick = tick_learnt(clock);
        clock->begun_ns = ns;
        clock->begun = clock->ticks;
    }
    clock->far = clock->tick != 0 ? FAR_TICKS : 0;
}

inline bool clock_reckon(const struct clock *clock, uint64_t ticks, uint64_t *ns)
{
    uint64_t since = ticks - clock->ticks;
    *ns = clock->ns + (since * clock->tick >> 32);
    return since < clock->far;
}

HOT uint64_t clock_look(struct clock *clock, uint64_t last_ns)
{
    uint64_t ns, ticks = ticks_now(clock);
    if (!clock_reckon(clock, ticks, &ns)) {
        ns = clock_ns();
        clock_learn(clock, ticks, ns, ticks_now(clock));
    }
    return ns > last_ns ? ns : last_ns;
}
