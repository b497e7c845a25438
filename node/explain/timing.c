/* timing.c - see timing.h. */
#include "node/explain/timing.h"
#include "consensus/core_view.h"

#include <string.h>

size_t timing_fill(const struct moot *m, struct timing out[TIMINGS_MAX])
{
    struct core_timers now = {.vote_timeout_ns = CORE_NEVER};
    (void)core_timers_look(m->core, m->group.rank, &now);
    const struct timing timings[] = {
        {"vote_timeout", now.vote_timeout_ns},
        {"ask_delay", now.ask_delay_ns},
        {"heartbeat", now.heartbeat_ns},
        {"lease", now.lease_ns},
        {"suspect", now.suspect_ns},
        {"stall",
         m->knobs.stall_ns == KNOB_NEVER ? CORE_NEVER : (uint64_t)m->knobs.stall_ns},
    };
    static_assert(sizeof(timings) <= TIMINGS_MAX * sizeof(timings[0]), "room for all");
    memcpy(out, timings, sizeof(timings));
    return sizeof(timings) / sizeof(timings[0]);
}
