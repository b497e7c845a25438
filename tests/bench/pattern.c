/* pattern.c - see pattern.h. */
#include "tests/bench/pattern.h"

static long least(long a, long b) { return a < b ? a : b; }
static long most(long a, long b) { return a > b ? a : b; }

const char *pattern_name(enum pattern pattern)
{
    static const char *const names[] = {
#define X(name) #name,
        PATTERNS(X)
#undef X
    };
    return pattern < PATTERN_END ? names[pattern] : "?";
}

struct row pattern_row(enum pattern pattern, long steps, long width, long step)
{
    if (step < 0) {
        return (struct row){0, 0};
    }
    if (pattern == PATTERN_dom) {
        long first = most(0, step + width - steps);
        return (struct row){first, least(width, least(step + 1, steps - step))};
    }
    if (pattern == PATTERN_tree && step < 62) {
        return (struct row){0, least(width, 1L << step)};
    }
    return (struct row){0, width};
}

/* --- Inputs ----------------------------------------------------------------------- */

/* fft has a set for each bit of a point, spread and random_nearest one for each step of
 * their period. */
long pattern_sets(enum pattern pattern, long width)
{
    long sets = 1;
    if (pattern == PATTERN_fft) {
        while (1L << sets < width) {
            sets++;
        }
    } else if (pattern == PATTERN_spread || pattern == PATTERN_random_nearest) {
        sets = PATTERN_RADIX;
    }
    return sets;
}

long pattern_set(enum pattern pattern, long sets, long step)
{
    if (sets == 1) {
        return 0;
    }
    return (pattern == PATTERN_fft ? step + sets - 1 : step) % sets;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A quarter of the pairs, and every point with itself. */
static bool connects(long set, long from, long to)
{
    if (from == to) {
        return true;
    }
    uint64_t key = mix((uint64_t)set) ^ mix((uint64_t)from << 20 | (uint64_t)to);
    return mix(key) >> 62 == 0;
}

bool pattern_connects(enum pattern pattern, long width, long set, long point,
                      long input)
{
    long apart = input - point;
    switch (pattern) {
    case PATTERN_no_comm:
        return apart == 0;
    case PATTERN_stencil_1d:
        return apart >= -1 && apart <= 1;
    case PATTERN_stencil_1d_periodic:
        return (apart + width + 1) % width <= 2 || width <= 2;
    case PATTERN_dom:
        return apart == -1 || apart == 0;
    case PATTERN_tree:
        return input == point / 2;
    case PATTERN_fft:
        return apart == 0 || apart == 1L << set || apart == -(1L << set);
    case PATTERN_all_to_all:
        return true;
    case PATTERN_nearest:
        return apart >= -(PATTERN_RADIX / 2) && apart <= (PATTERN_RADIX - 1) / 2;
    case PATTERN_spread:
        for (long i = 0; i < PATTERN_RADIX; i++) {
            if (input ==
                (point + i * width / PATTERN_RADIX + (i > 0 ? set : 0)) % width) {
                return true;
            }
        }
        return false;
    case PATTERN_random_nearest:
        return apart >= -(PATTERN_RADIX / 2) && apart <= (PATTERN_RADIX - 1) / 2 &&
               connects(set, input, point);
    case PATTERN_trivial:
    case PATTERN_END:
    default:
        return false;
    }
}
