/* timers.h - durations that are learnt from what has been seen.
 *
 * Pure arithmetic: samples go in, in nanoseconds, and estimates come out.  Who measures
 * says what a sample is; timers.c says which of a core's timers follows which estimate.
 *
 *   estimate    a smoothed mean and mean deviation (Jacobson 1988; RFC 6298, section
 * 2). Good for what varies around a value: a round trip quantiles   how often each size
 * was seen, in quarters of powers of two; old samples fade, half of them whenever there
 * are QUANTILES_WINDOW.  Good for what has a long tail: how late a chair is
 */
#ifndef CONSENSUS_STATE_TIMERS_H
#define CONSENSUS_STATE_TIMERS_H

#include <stdint.h>

struct estimate {
    uint64_t mean_ns, deviation_ns;
    uint64_t count; /* of samples */
};

void estimate_add(struct estimate *estimate, uint64_t sample_ns);

enum {
    QUANTILES_STEPS = 4, /* bins for each power of two */
    QUANTILES_BINS = (64 - 2 + 1) * QUANTILES_STEPS,
    QUANTILES_WINDOW = 4096
};

struct quantiles {
    uint32_t count; /* of what is in the bins */
    uint16_t bins[QUANTILES_BINS];
};

void quantiles_add(struct quantiles *quantiles, uint64_t sample_ns);
/* At least so many in a thousand of the samples are no longer; too long by a quarter at
 * most.  0 if there are none. */
uint64_t quantiles_at_ns(const struct quantiles *quantiles, uint32_t per_mille);

#endif
