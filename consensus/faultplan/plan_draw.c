/* plan_draw.c - how hard a rule strikes: chances, delays, slow kernels, skewed clocks.
 *
 * Everything is integer arithmetic.  The C library's log() and exp() may differ in the
 * last bit from one machine to the next, and one bit of one delay is another run.
 * Logarithms and powers here are binary fixed point with 32 bits behind the point and
 * are good to about five decimal digits, which no distribution of delays can show.
 */
#include "consensus/faultplan/plan_words.h"

#include <assert.h>

#define Q32_ONE (UINT64_C(1) << 32)
#define Q32_LN_2 UINT64_C(0xb17217f8)

/* a * q / 2^32 for a below 2^52, cut off at 2^63. */
static uint64_t q32_multiply(uint64_t a, uint64_t q)
{
    uint64_t whole = q >> 32, part = q & (Q32_ONE - 1);
    if (a != 0 && whole > (UINT64_C(1) << 62) / a) {
        return UINT64_C(1) << 63;
    }
    return a * whole + (a >> 32) * part + (((a & (Q32_ONE - 1)) * part) >> 32);
}

/* -log2(u) for u = (word + 1) / 2^64, uniform in (0, 1]: at most 64. */
static uint64_t q32_minus_log2(uint64_t word)
{
    uint64_t x = word + 1, result = 64 * Q32_ONE;
    if (x == 0) {
        return 0;
    }
    unsigned top = 63;
    for (; (x >> 63) == 0; x <<= 1) {
        top--;
    }
    result -= top * Q32_ONE;
    /* x / 2^63 is in [1, 2): each squaring shifts one bit of its log2 out. */
    uint64_t mantissa = x >> 32;
    for (uint64_t bit = Q32_ONE / 2; bit != 0; bit /= 2) {
        mantissa = mantissa * mantissa >> 31;
        if (mantissa >= Q32_ONE) {
            mantissa >>= 1;
            result -= bit;
        }
    }
    return result;
}

/* 2^(q / 2^32) for q below 11. */
static uint64_t q32_exp2(uint64_t q)
{
    /* 2^(1/2), 2^(1/4), ... without their leading 1. */
    static const uint32_t roots[] = {0x6a09e668, 0x306fe0a3, 0x172b83c8, 0x0b5586d0,
                                     0x059b0d31, 0x02c9a3e7, 0x0163daa0, 0x00b1afa6,
                                     0x0058c86e, 0x002c605e, 0x00162f39, 0x000b175f,
                                     0x00058ba0, 0x0002c5cc, 0x000162e5, 0x0000b172};
    uint64_t power = Q32_ONE;
    for (unsigned i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
        if (q >> (31 - i) & 1) {
            power += q32_multiply(power, roots[i]);
        }
    }
    return power << (q >> 32);
}

static uint64_t draw_pareto_ns(const struct plan_spread *spread, uint64_t word)
{
    /* least * u^(-1/shape) = least * 2^(-log2(u) / shape) */
    uint64_t exponent = q32_minus_log2(word) * 1000000 / spread->shape_ppm;
    uint64_t cap_ns = spread->ns * PLAN_PARETO_CAP;
    if (exponent >> 32 >= 10) {
        return cap_ns;
    }
    uint64_t ns = q32_multiply(spread->ns, q32_exp2(exponent));
    return ns < cap_ns ? ns : cap_ns;
}

uint64_t plan_spread_ns(const struct plan_spread *spread, uint64_t word)
{
    assert(spread->ns <= PLAN_TIME_MAX_NS);
    switch (spread->type) {
    case PLAN_SPREAD_NONE:
        return 0;
    case PLAN_SPREAD_FIXED:
        return spread->ns;
    case PLAN_SPREAD_UNIFORM:
        return spread->ns - spread->spread_ns + word % (2 * spread->spread_ns + 1);
    case PLAN_SPREAD_EXP:
        return q32_multiply(spread->ns, q32_multiply(q32_minus_log2(word), Q32_LN_2));
    case PLAN_SPREAD_PARETO:
        return draw_pareto_ns(spread, word);
    }
    return 0;
}

bool plan_chance(const struct plan_rule *rule, uint64_t word)
{
    return word % PLAN_CERTAIN_PPB < rule->chance_ppb;
}

/* ns * factor, cut off below PLAN_FOREVER. */
static uint64_t scale_ns(uint64_t ns, uint32_t factor_ppm)
{
    uint64_t whole = ns / PLAN_FACTOR_ONE_PPM, part = ns % PLAN_FACTOR_ONE_PPM;
    part = part * factor_ppm / PLAN_FACTOR_ONE_PPM;
    if (whole > (PLAN_FOREVER - 1 - part) / factor_ppm) {
        return PLAN_FOREVER - 1;
    }
    return whole * factor_ppm + part;
}

uint64_t plan_slow_ns(const struct plan_rule *rule, uint64_t took_ns, uint64_t word)
{
    if (rule->factor_ppm == 0) {
        return plan_spread_ns(&rule->spread, word);
    }
    uint64_t ns = scale_ns(took_ns, rule->factor_ppm);
    return ns > took_ns ? ns - took_ns : 0;
}

/* --- Clocks ----------------------------------------------------------------------- */

static uint64_t rule_end_ns(const struct plan_rule *rule)
{
    if (rule->when == PLAN_ALWAYS || rule->lasts_ns > PLAN_FOREVER - rule->at_ns) {
        return PLAN_FOREVER;
    }
    return rule->at_ns + rule->lasts_ns;
}

static bool sets_clock(const struct plan_rule *rule, uint32_t rank)
{
    return rule->fault == PLAN_CLOCK && plan_ranks_has(&rule->ranks, rank);
}

/* When the rate of the rank's clock changes next after now_ns. */
static uint64_t rate_until_ns(const struct plan *plan, uint32_t rank, uint64_t now_ns)
{
    uint64_t until_ns = PLAN_FOREVER;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        uint64_t end_ns = rule_end_ns(rule);
        if (!sets_clock(rule, rank)) {
            continue;
        }
        if (rule->at_ns > now_ns && rule->at_ns < until_ns) {
            until_ns = rule->at_ns;
        }
        if (end_ns > now_ns && end_ns < until_ns) {
            until_ns = end_ns;
        }
    }
    return until_ns;
}

/* What the clock counts in `ns` of true time at the rate that it has at now_ns. */
static uint64_t count_ns(const struct plan *plan, uint32_t rank, uint64_t now_ns,
                         uint64_t ns)
{
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        if (sets_clock(rule, rank) && now_ns >= rule->at_ns &&
            now_ns < rule_end_ns(rule)) {
            ns = scale_ns(ns, rule->factor_ppm);
        }
    }
    return ns;
}

uint64_t plan_clock_ns(const struct plan *plan, uint32_t rank, uint64_t now_ns)
{
    uint64_t clock_ns = 0, from_ns = 0;
    for (;;) {
        uint64_t until_ns = rate_until_ns(plan, rank, from_ns);
        until_ns = until_ns < now_ns ? until_ns : now_ns;
        uint64_t more_ns = count_ns(plan, rank, from_ns, until_ns - from_ns);
        if (more_ns >= PLAN_FOREVER - clock_ns) {
            return PLAN_FOREVER - 1;
        }
        clock_ns += more_ns;
        if (until_ns == now_ns) {
            return clock_ns;
        }
        from_ns = until_ns;
    }
}

uint64_t plan_clock_reaches_ns(const struct plan *plan, uint32_t rank,
                               uint64_t clock_ns)
{
    uint64_t from_ns = 0, until_ns, have_ns = 0, low = 0, high;
    if (clock_ns == PLAN_FOREVER) {
        return PLAN_FOREVER;
    }
    for (;;) {
        until_ns = rate_until_ns(plan, rank, from_ns);
        uint64_t more_ns = count_ns(plan, rank, from_ns, until_ns - from_ns);
        if (more_ns >= clock_ns - have_ns) {
            break;
        }
        if (until_ns == PLAN_FOREVER) {
            return PLAN_FOREVER;
        }
        have_ns += more_ns;
        from_ns = until_ns;
    }
    /* The least time in which the clock counts what is left: it grows with the time. */
    for (high = until_ns - from_ns; low < high;) {
        uint64_t middle = low + (high - low) / 2;
        if (count_ns(plan, rank, from_ns, middle) >= clock_ns - have_ns) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return from_ns + low;
}
