/* storm.c - draws storms. */
#include "storm.h"
#include "random.h"
#include "sim.h"
#include <assert.h>
#include <stdlib.h>

#define MICROSECONDS(n) (UINT64_C(1000) * (n))

enum { STREAM_STORM = 201 };

const char *storm_kind_name(enum storm_kind kind)
{
    static const char *const names[] = {"crash", "crash at", "pause", "deafness",
                                        "cut",   "slowness", "join"};
    return kind <= STORM_JOIN ? names[kind] : "?";
}

/* --- Failure detection --------------------------------------------------------------
 */

/* The longest that a sign of life may take without a fault. */
static uint64_t worst_silence_ns(const struct sim_weather *weather)
{
    return weather->latency_ns + weather->jitter_ns + weather->poll_ns +
           (weather->spike_per_mille > 0 ? weather->spike_ns : 0) +
           (weather->gap_per_mille > 0 ? 2 * weather->gap_ns : 0);
}

/* Suspicion may come before the lease has run out at the latest, or after. */
static void draw_detection(struct random *random, struct sim_weather *weather)
{
    uint64_t worst_ns = worst_silence_ns(weather);
    weather->heartbeat_ns = MICROSECONDS(500) + worst_ns / 4;
    weather->suspect_ns = 6 * weather->heartbeat_ns + 3 * worst_ns;
    weather->lease_ns = weather->suspect_ns * random_between(random, 400, 1500) / 1000;
    weather->stagger_ns = MICROSECONDS(100) + 2 * worst_ns;
    weather->batch_ns = random_below(random, MICROSECONDS(500));
    weather->quorum_wait_ns =
        weather->suspect_ns * random_between(random, 2, 8) + 2 * weather->lease_ns;
}

/* --- Faults -------------------------------------------------------------------------
 */

struct drafter {
    struct random random;
    struct storm *storm;
    const struct sim_weather *weather;
    uint32_t ranks;
    uint32_t kinds; /* set of enum storm_kind */
    uint64_t horizon_ns;
};

static uint64_t all_of(uint32_t ranks)
{
    assert(ranks >= 1 && ranks <= 64);
    return UINT64_MAX >> (64 - ranks);
}

static uint64_t draw_time_ns(struct drafter *drafter)
{
    uint64_t span_ns = drafter->horizon_ns;
    for (uint64_t less = random_below(&drafter->random, 4); less > 0; less--)
        span_ns /= 4; /* many things happen early */
    return random_below(&drafter->random, span_ns + 1);
}

/* Shorter than it takes to be suspected, about as long, or much longer. */
static uint64_t draw_duration_ns(struct drafter *drafter)
{
    uint64_t suspect_ns = drafter->weather->suspect_ns;
    uint64_t factor = random_below(&drafter->random, 4) == 0 ? 20 : 4;
    return random_below(&drafter->random, factor * suspect_ns) + 1;
}

static enum core_point draw_point(struct random *random)
{
    static const enum core_point points[] = {
        CORE_POINT_CLAIM,         CORE_POINT_MOTION_SENT,   CORE_POINT_MOTION_RECV,
        CORE_POINT_VOTE_CAST,     CORE_POINT_VOTE_CAST,     CORE_POINT_DECISION_SENT,
        CORE_POINT_DECISION_RECV, CORE_POINT_DECISION_RECV, CORE_POINT_TASK_END,
        CORE_POINT_RESULT_SENT,   CORE_POINT_RESULT_SENT,   CORE_POINT_RESULT_RECV,
        CORE_POINT_VIEW_PROPOSE,  CORE_POINT_VIEW_PROPOSE,  CORE_POINT_VIEW_ENTER,
        CORE_POINT_VIEW_ENTER,    CORE_POINT_REPORT_SENT,   CORE_POINT_REPORT_SENT};
    return points[random_below(random, sizeof points / sizeof points[0])];
}

static void draw_sides(struct drafter *drafter, struct storm_fault *fault)
{
    uint64_t all = all_of(drafter->ranks);
    uint64_t side = random_next(&drafter->random) & all;
    if (random_below(&drafter->random, 2) == 0)
        side = UINT64_C(1) << random_below(&drafter->random, drafter->ranks);
    fault->ranks = side;
    fault->others = all & ~side;
}

static struct storm_fault *add_fault(struct drafter *drafter, enum storm_kind kind,
                                     uint64_t time_ns)
{
    struct storm *storm = drafter->storm;
    struct storm_fault *fault = &storm->faults[storm->fault_count++];
    *fault = (struct storm_fault){
        .kind = kind,
        .time_ns = time_ns,
        .rank = (uint32_t)random_below(&drafter->random, drafter->ranks),
        .point = CORE_POINT_END,
    };
    return fault;
}

static void draw_fault(struct drafter *drafter, enum storm_kind kind, uint64_t time_ns)
{
    struct random *random = &drafter->random;
    struct storm_fault *fault = add_fault(drafter, kind, time_ns);
    if (kind == STORM_CRASH)
        return;
    fault->duration_ns = draw_duration_ns(drafter);
    if (kind == STORM_CRASH_AT) {
        fault->point = draw_point(random);
        fault->nth = 1 + (uint32_t)random_below(random, 6);
        bool anyone = random_chance(random, 500);
        fault->ranks = anyone ? all_of(drafter->ranks) : UINT64_C(1) << fault->rank;
        fault->time_ns = 0;
        fault->duration_ns = 0;
    } else if (kind == STORM_CUT || kind == STORM_SLOW) {
        draw_sides(drafter, fault);
        fault->delay_ns = random_below(random, 2 * drafter->weather->suspect_ns);
        if (kind == STORM_CUT && random_chance(random, 650)) { /* both ways */
            struct storm_fault back = *fault;
            back.ranks = fault->others;
            back.others = fault->ranks;
            drafter->storm->faults[drafter->storm->fault_count++] = back;
        }
    }
}

static void draw_faults(struct drafter *drafter)
{
    struct random *random = &drafter->random;
    uint64_t count = 1 + random_below(random, 4);
    uint64_t time_ns = draw_time_ns(drafter);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t kind;
        do {
            kind = (uint32_t)random_below(random, STORM_JOIN);
        } while ((drafter->kinds >> kind & 1) == 0);
        draw_fault(drafter, (enum storm_kind)kind, time_ns);
        if (random_chance(random, 700)) /* else at once with the one before */
            time_ns = draw_time_ns(drafter);
        else if (random_chance(random, 500))
            time_ns += random_below(random, 2 * drafter->weather->suspect_ns);
    }
}

static void draw_joins(struct drafter *drafter, uint32_t first, uint32_t newcomers)
{
    uint64_t time_ns = 0;
    for (uint32_t i = 0; i < newcomers; i++) {
        time_ns += draw_time_ns(drafter);
        add_fault(drafter, STORM_JOIN, time_ns)->rank = first + i;
    }
}

/* Everything has ended by then; crashes at points happen before it. */
static uint64_t stop_time_ns(struct drafter *drafter)
{
    uint64_t stop_ns = drafter->horizon_ns;
    for (uint32_t i = 0; i < drafter->storm->fault_count; i++) {
        const struct storm_fault *fault = &drafter->storm->faults[i];
        uint64_t end_ns = fault->time_ns + fault->duration_ns;
        stop_ns = end_ns > stop_ns ? end_ns : stop_ns;
    }
    return stop_ns + 4 * drafter->weather->suspect_ns;
}

static void draw_places(struct drafter *drafter, bool calm)
{
    struct random *random = &drafter->random;
    struct storm *storm = drafter->storm;
    uint64_t layout = random_below(random, 3);
    bool skewed = random_chance(random, 400);
    storm->certify = random_chance(random, 400) && !calm;
    storm->joinable = storm->first < drafter->ranks || random_chance(random, 200);
    storm->abandon = random_chance(random, 500);
    for (uint32_t rank = 0; rank < drafter->ranks; rank++) {
        storm->hosts[rank] = layout == 0 ? 0 : layout == 1 ? rank : rank / 2;
        storm->drift_ppm[rank] = (int32_t)random_between(random, 0, 2000) - 1000;
        storm->ahead_ns[rank] = random_below(random, UINT64_C(1000000000000));
        if (!skewed)
            storm->drift_ppm[rank] = 0;
    }
}

void storm_draw(uint64_t seed, const struct storm_request *request,
                struct sim_weather *weather, struct plan *plan, struct storm *out)
{
    static const uint64_t horizons_us[] = {1000, 5000, 20000, 60000};
    static const uint32_t steps_us[] = {1, 10, 100, 400};
    uint32_t ranks = request->ranks;
    *plan = (struct plan){.rule_count = 0};
    storm_default(request, weather, out);
    struct drafter drafter = {.random = random_stream(seed, STREAM_STORM),
                              .storm = out,
                              .weather = weather,
                              .ranks = ranks};
    struct random *random = &drafter.random;
    drafter.horizon_ns = MICROSECONDS(horizons_us[random_below(random, 4)]);
    /* Programs should last while things go wrong. */
    weather->step_ns = MICROSECONDS(steps_us[random_below(random, 4)]);
    weather->slow = weather->step_ns > MICROSECONDS(10) ? 0 : weather->slow;
    draw_detection(random, weather);
    draw_places(&drafter, request->calm);
    do {
        drafter.kinds = (uint32_t)random_below(random, 1u << STORM_JOIN);
    } while (drafter.kinds == 0);
    draw_joins(&drafter, out->first, request->newcomers);
    if (!request->calm)
        draw_faults(&drafter);
    out->stop_ns = stop_time_ns(&drafter);
}

void storm_default(const struct storm_request *request, struct sim_weather *weather,
                   struct storm *out)
{
    uint32_t ranks = request->ranks;
    *out = (struct storm){
        .first = ranks - request->newcomers, .stop_ns = CORE_NEVER, .abandon = true};
    out->hosts = calloc(ranks, sizeof *out->hosts);
    out->ahead_ns = calloc(ranks, sizeof *out->ahead_ns);
    out->join_ns = calloc(ranks, sizeof *out->join_ns);
    out->drift_ppm = calloc(ranks, sizeof *out->drift_ppm);
    if (out->hosts == NULL || out->ahead_ns == NULL || out->join_ns == NULL ||
        out->drift_ppm == NULL)
        abort();
    uint64_t worst_ns = worst_silence_ns(weather);
    weather->heartbeat_ns = MICROSECONDS(500) + worst_ns / 4;
    weather->suspect_ns = 6 * weather->heartbeat_ns + 3 * worst_ns;
    weather->lease_ns = weather->suspect_ns;
    weather->stagger_ns = MICROSECONDS(100) + 2 * worst_ns;
    weather->batch_ns = MICROSECONDS(100);
    weather->quorum_wait_ns = 6 * weather->suspect_ns;
}

void storm_release(struct storm *storm)
{
    free(storm->hosts);
    free(storm->ahead_ns);
    free(storm->join_ns);
    free(storm->drift_ppm);
    *storm = (struct storm){0};
}
