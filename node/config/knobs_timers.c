/* knobs_timers.c - knobs that hang together: heartbeat, lease and suspicion.
 *
 * Here stands what `auto` is, each in terms of the others, and whether what was set can
 * be true at once: a lease that ends between two heartbeats is never held, and who is
 * voted out must have lost its lease before (V2).
 */
#include "node/config/knobs.h"
#include "node/config/text.h"
#include <stdio.h>

#define HEARTBEAT_AUTO_NS UINT64_C(500000000)
enum { LEASE_HEARTBEATS = 4, LEASE_HEARTBEATS_LEAST = 2, SUSPECT_HEARTBEATS = 6 };

static uint64_t or_else(int64_t knob_ns, uint64_t auto_ns)
{
    return knob_ns == KNOB_AUTO ? auto_ns : (uint64_t)knob_ns;
}

void knobs_timers(const struct knobs *knobs, struct knob_timers *out)
{
    uint64_t auto_ns = HEARTBEAT_AUTO_NS;
    if (knobs->suspect_ns != KNOB_AUTO) {
        auto_ns = (uint64_t)knobs->suspect_ns / SUSPECT_HEARTBEATS;
    }
    out->heartbeat_ns = or_else(knobs->heartbeat_ns, auto_ns);
    out->lease_ns = or_else(knobs->lease_ns, out->heartbeat_ns * LEASE_HEARTBEATS);
    out->suspect_ns =
        or_else(knobs->suspect_ns, out->heartbeat_ns * SUSPECT_HEARTBEATS);
}

bool knobs_may_guess(const struct knobs *knobs, bool threads)
{
    const bool answers = threads && knobs->progress != KNOB_PROGRESS_CALLER;
    return knobs->heartbeat_ns != KNOB_NEVER &&
           (answers || knobs->heartbeat_ns != KNOB_AUTO);
}

/* "MOOT_LEASE is 3s (environment)", "MOOT_SUSPECT is auto, which is 3.000 s" */
static void knob_tell(struct text *text, const struct knobs *knobs, enum knob knob,
                      uint64_t ns)
{
    char value[32], origin[1100];
    text_add(text, "%s is %s", knob_table[knob].name,
             knobs_format(knobs, knob, value, sizeof(value)));
    if (knobs->origins[knob].source != KNOB_FROM_DEFAULT) {
        text_add(text, " (%s)", knobs_origin(knobs, knob, origin, sizeof(origin)));
    }
    if (value[0] == 'a') {
        text_add(text, ", which is ");
        text_add_duration(text, ns);
    }
}

int knobs_agree(const struct knobs *knobs, bool threads, char *story, size_t story_size)
{
    struct knob_timers timers;
    struct text text = {0};
    knobs_timers(knobs, &timers);
    if (!knobs_may_guess(knobs, threads)) {
        return MOOT_OK;
    }
    if (timers.lease_ns < LEASE_HEARTBEATS_LEAST * timers.heartbeat_ns) {
        knob_tell(&text, knobs, KNOB_LEASE, timers.lease_ns);
        text_add(&text, ", but must be at least two heartbeats: ");
        knob_tell(&text, knobs, KNOB_HEARTBEAT, timers.heartbeat_ns);
    } else if (timers.suspect_ns < timers.lease_ns) {
        knob_tell(&text, knobs, KNOB_SUSPECT, timers.suspect_ns);
        text_add(&text, ", but must be at least the lease: ");
        knob_tell(&text, knobs, KNOB_LEASE, timers.lease_ns);
    } else {
        return MOOT_OK;
    }
    snprintf(story, story_size, "%s", text_get(&text));
    text_release(&text);
    return MOOT_ERR_CONFIG;
}
