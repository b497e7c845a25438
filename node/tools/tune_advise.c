/* tune_advise.c - which candidate, and why.
 *
 * The vote timeout that is advised is the least of the candidates (powers of two of a
 * millisecond) that is at least four times as long as any chair was late when it was
 * measured, as any rank did not drive progress and as any round trip took, and with
 * which no replay casts a needless vote, whatever share of messages is late.  Shorter
 * ones are shown, so that the price is seen; so are longer ones, and never.
 *
 * The suspicion is the least of three that is at least four times the longest silence.
 */
#include "consensus/core.h"
#include "node/tools/tune.h"
#include <math.h>

#define MS(n) (UINT64_C(1000000) * (n))

enum {
    LATE_FACTOR = 4,
    SILENCE_FACTOR = 4,
    BELOW = 3, /* candidates shorter than the least that may be advised, and longer */
    ABOVE = 3
};
#define TIMEOUT_MOST_NS MS(3600000)
static const double NOTICEABLY_LESS = 0.98;

static const struct timers presets[] = {
    {"local", MS(20), MS(3000)},
    {"lan", MS(50), MS(6000)},
    {"wan", MS(1000), MS(30000)},
};
enum { PRESETS = sizeof(presets) / sizeof(*presets) };

double tune_share_most(size_t events, size_t trials)
{
    const double z = 1.645, n = (double)trials; /* one-sided */
    if (trials == 0) {
        return 1;
    }
    const double share = (double)events / n;
    const double bound =
        events == 0 ? 3 / n
                    : (share + z * z / (2 * n) +
                       z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))) /
                          (1 + z * z / n);
    return bound < 1 ? bound : 1;
}

static int64_t signed_ns(uint64_t ns)
{
    return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

/* What the recorded runs themselves say of it. */
static void look_up(const struct tune_measures *measures, struct candidate *candidate)
{
    const struct timers *timers = &candidate->timers;
    const int64_t late_ns = signed_ns(timers->vote_timeout_ns);
    /* A heartbeat that is due comes so much later. */
    const int64_t silence_ns = signed_ns(timers->suspect_ns - timers->suspect_ns / 6);
    candidate->late_beyond = samples_beyond(&measures->late, late_ns);
    candidate->needless_most =
        late_ns == INT64_MAX
            ? 0
            : tune_share_most(candidate->late_beyond, tune_early_asks(measures));
    candidate->silences_beyond = samples_beyond(&measures->silences, silence_ns);
    candidate->suspicions_most =
        tune_share_most(candidate->silences_beyond, measures->silences.count);
}

static void try(const struct tune_input *input, const struct timers *timers,
                bool with_death, struct candidate *out)
{
    *out = (struct candidate){.timers = *timers};
    tune_replay_waits(input, out);
    if (with_death) {
        tune_replay_death(input, out);
    }
    look_up(input->measures, out);
}

static uint64_t needless_of(const struct candidate *candidate)
{
    uint64_t needless = 0;
    for (int rate = 0; rate < TUNE_RATES; rate++) {
        needless += candidate->at[rate].needless + candidate->at[rate].broken;
    }
    return needless;
}

static void mark_frontier(struct tune_advice *advice)
{
    for (size_t i = 0; i < advice->count; i++) {
        struct candidate *one = &advice->candidates[i];
        one->frontier = true;
        for (size_t k = 0; k < advice->count; k++) {
            const struct candidate *other = &advice->candidates[k];
            one->frontier &=
                needless_of(other) > needless_of(one) ||
                other->at[0].wait_mean_ns > NOTICEABLY_LESS * one->at[0].wait_mean_ns;
        }
    }
}

static uint64_t least_timeout_ns(const struct tune_measures *measures)
{
    const struct samples *all[] = {&measures->late, &measures->gaps, &measures->trips};
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const uint64_t most_ns = (uint64_t)samples_most(all[i]);
        longest_ns = most_ns > longest_ns ? most_ns : longest_ns;
    }
    const uint64_t wanted_ns = LATE_FACTOR * longest_ns;
    uint64_t ns = MS(1) << BELOW;
    while (ns < wanted_ns && ns < TIMEOUT_MOST_NS) {
        ns *= 2;
    }
    return ns;
}

static uint64_t suspicion_ns(const struct tune_measures *measures)
{
    static const uint64_t choices[] = {TUNE_SUSPECT_AUTO_NS, MS(10000), MS(30000)};
    const uint64_t wanted_ns =
        SILENCE_FACTOR * (uint64_t)samples_most(&measures->silences);
    size_t i = 0;
    while (i + 1 < sizeof(choices) / sizeof(*choices) && choices[i] < wanted_ns) {
        i++;
    }
    return choices[i];
}

static void try_timeouts(const struct tune_input *input, struct tune_advice *out)
{
    const uint64_t least_ns = least_timeout_ns(input->measures);
    struct timers timers = {.name = "", .suspect_ns = out->timers.suspect_ns};
    for (int i = -BELOW; i <= ABOVE; i++) {
        timers.vote_timeout_ns = i < 0 ? least_ns >> -i : least_ns << i;
        try(input, &timers, false, &out->candidates[out->count++]);
    }
    timers.vote_timeout_ns = CORE_NEVER;
    try(input, &timers, false, &out->candidates[out->count++]);
    out->chosen = out->count - 1;
    for (size_t i = out->count - 1; out->enough && i-- > BELOW;) {
        if (needless_of(&out->candidates[i]) == 0) {
            out->chosen = i;
        }
    }
    mark_frontier(out);
    out->timers.vote_timeout_ns = out->candidates[out->chosen].timers.vote_timeout_ns;
}

void tune_advise(const struct tune_input *input, struct tune_advice *out)
{
    const struct tune_measures *measures = input->measures;
    *out = (struct tune_advice){.whole = out->whole, .wire = input->wire};
    out->enough = tune_early_asks(measures) >= TUNE_ASKS_LEAST;
    out->timers = (struct timers){.name = "advised",
                                  .vote_timeout_ns = CORE_NEVER,
                                  .suspect_ns = suspicion_ns(measures)};
    if (input->program_count == 0) {
        return;
    }
    try_timeouts(input, out);
    for (size_t i = 0; i < PRESETS; i++) {
        try(input, &presets[i], true, &out->presets[i]);
    }
    try(input, &out->timers, true, &out->presets[PRESETS]);
}
