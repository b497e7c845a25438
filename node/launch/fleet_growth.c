/* fleet_growth.c - ranks that join a job on several hosts.
 *
 * A new rank goes to the host, of those where ranks of the job run, that has the fewest
 * for its slots.  Its agent is told, and says when it has started it; who asked for the
 * rank is answered as soon as all agents have been told.  A rank that cannot be started
 * is told to be dead, and why is said.
 */
#include "node/config/text.h"
#include "node/launch/fleet_private.h"

#include <signal.h>
#include <string.h>

struct fleet_host *fleet_later_host(const struct fleet *fleet, uint32_t rank)
{
    const uint32_t later = rank - fleet->ranks;
    return rank >= fleet->ranks && later < LIMIT_NEWCOMERS ? fleet->later[later].host
                                                           : NULL;
}

bool fleet_host_has(const struct fleet_host *host, uint32_t rank)
{
    return rank - host->first < host->count ||
           fleet_later_host(host->fleet, rank) == host;
}

/* --- Where ------------------------------------------------------------------------ */

static uint32_t fleet_living(void *context)
{
    const struct fleet *fleet = context;
    uint32_t living = 0;
    for (uint32_t rank = 0; rank < fleet->growth.next; rank++) {
        living += !channel_hub_has_gone(fleet->hub, rank);
    }
    return living;
}

static uint32_t host_living(const struct fleet_host *host)
{
    const struct fleet *fleet = host->fleet;
    uint32_t living = 0;
    for (uint32_t rank = 0; rank < fleet->growth.next; rank++) {
        living += fleet_host_has(host, rank) && !channel_hub_has_gone(fleet->hub, rank);
    }
    return living;
}

/* NULL: no host runs ranks of the job any more. */
static struct fleet_host *host_choose(struct fleet *fleet)
{
    struct fleet_host *best = NULL;
    uint64_t best_living = 0, best_slots = 1;
    for (uint32_t i = 0; i < fleet->count; i++) {
        struct fleet_host *host = &fleet->hosts[i];
        if (host->count == 0 || host->state != HOST_RUNS || host->silent) {
            continue;
        }
        const uint64_t living = host_living(host);
        const uint64_t slots = host->about.slots > 0 ? host->about.slots : 1;
        if (!best || living * best_slots < best_living * slots) {
            best = host;
            best_living = living;
            best_slots = slots;
        }
    }
    return best;
}

/* --- Orders ----------------------------------------------------------------------- */

static bool ranks_start(void *context, uint32_t first, uint32_t count, char *story,
                        size_t story_size)
{
    struct fleet *fleet = context;
    const struct agent_wave wave = {.first = first, .count = count};
    if (fleet->killed_ms != 0 || !host_choose(fleet)) {
        snprintf(story, story_size, "the job is being ended");
        return false;
    }
    fleet->watch->joined(fleet->context, (int)first, (int)count);
    for (uint32_t rank = first; rank < first + count; rank++) {
        struct fleet_host *host = host_choose(fleet);
        fleet->later[rank - fleet->ranks].host = host;
        host->later++;
        channel_hub_place(fleet->hub, rank, host->first);
        agent_stream_say(host->stream, AGENT_JOIN, rank, fleet->growth.waves - 1, &wave,
                         sizeof(wave));
    }
    return true;
}

void fleet_grow(struct fleet *fleet)
{
    const struct growth_starter starter = {fleet, fleet_living, ranks_start};
    growth_serve(&fleet->growth, fleet->hub, &starter);
}

/* --- Answers ---------------------------------------------------------------------- */

static void later_fail(struct fleet_host *host, uint32_t rank, const char *why)
{
    struct fleet *fleet = host->fleet;
    struct text text = {0};
    text_add(&text, "moot: rank %u cannot be started on host %s: %s\n", rank,
             host->about.name, why);
    fleet->watch->say(fleet->context, (int)rank, true, text_get(&text),
                      strlen(text_get(&text)));
    text_release(&text);
    if (fleet->watch->lost) {
        fleet->watch->lost(fleet->context, (int)rank, SIGKILL);
    }
    fleet->later[rank - fleet->ranks].up = true; /* no answer is waited for */
    channel_hub_dead(fleet->hub, rank);
}

void fleet_later_joined(struct fleet_host *host, const struct agent_header *header,
                        const unsigned char *bytes)
{
    struct fleet *fleet = host->fleet;
    const uint32_t rank = header->value;
    if (fleet_later_host(fleet, rank) != host || fleet->later[rank - fleet->ranks].up) {
        return;
    }
    if (header->flag == 0) {
        fleet->later[rank - fleet->ranks].up = true;
        return;
    }
    struct text why = {0};
    text_add_told(&why, (const char *)bytes, header->size);
    later_fail(host, rank, text_get(&why));
    text_release(&why);
}

void fleet_later_end(struct fleet_host *host)
{
    const struct fleet *fleet = host->fleet;
    for (uint32_t rank = fleet->ranks; rank < fleet->growth.next; rank++) {
        if (fleet_later_host(fleet, rank) == host &&
            !fleet->later[rank - fleet->ranks].up) {
            later_fail(host, rank, "its other ranks have ended");
        }
    }
}

void fleet_host_tell_lost(const struct fleet_host *host, const char *why)
{
    const struct fleet *fleet = host->fleet;
    if (!fleet->watch->lost_host) {
        return;
    }
    fleet->watch->lost_host(fleet->context, host->about.name, (int)host->first,
                            (int)host->count, why);
    for (uint32_t rank = fleet->ranks; rank < fleet->growth.next; rank++) {
        if (fleet_later_host(fleet, rank) == host) {
            fleet->watch->lost_host(fleet->context, host->about.name, (int)rank, 1,
                                    why);
        }
    }
}
