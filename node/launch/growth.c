/* growth.c - see growth.h. */
#include "node/launch/growth.h"
#include "node/config/text.h"
#include "proto/error.h"
#include "proto/limits.h"

#include <stdio.h>
#include <time.h>

enum { STORY_BYTES = 512, NAMES_LISTED = 4, PATIENCE_MS = 3000 };

struct growth growth_make(uint32_t founders, uint32_t max)
{
    return (struct growth){.founders = founders,
                           .max = max,
                           .room = founders + (max > 0 ? LIMIT_NEWCOMERS : 0),
                           .next = founders,
                           .waves = 1,
                           .patience_ms = PATIENCE_MS};
}

/* "b_0, b_1 as ranks 4, 5", or "b_0 to b_9 as ranks 4 to 13". */
static void wave_tell(uint32_t wave, uint32_t first, uint32_t count, char *story,
                      size_t story_size)
{
    struct text names = {0}, ranks = {0};
    const uint32_t step = count <= NAMES_LISTED ? 1 : count - 1;
    const char *join = count <= NAMES_LISTED ? ", " : " to ";
    for (uint32_t i = 0; i < count; i += step) {
        char name[CHANNEL_PROCESS_BYTES];
        channel_process_name(wave, i, name);
        text_add(&names, "%s%s", i > 0 ? join : "", name);
        text_add(&ranks, "%s%u", i > 0 ? join : "", first + i);
    }
    snprintf(story, story_size, "%s as rank%s %s", text_get(&names),
             count == 1 ? "" : "s", text_get(&ranks));
    text_release(&names);
    text_release(&ranks);
}

/* Why the job may not have so many ranks more; MOOT_OK: it may. */
static int wish_check(const struct growth *growth, uint32_t living, uint32_t count,
                      char *story, size_t story_size)
{
    if (growth->room == growth->founders) {
        snprintf(story, story_size,
                 "no ranks join this job: it was started without --max");
        return MOOT_ERR_UNSUPPORTED;
    }
    if (count > growth->max || living > growth->max - count) {
        snprintf(story, story_size,
                 "%u rank%s and %u more are over the %u that the job may have (--max)",
                 living, living == 1 ? "" : "s", count, growth->max);
        return MOOT_ERR_LIMIT;
    }
    if (count > growth->room - growth->next) {
        snprintf(story, story_size,
                 "a job takes in %u ranks in all, and %u have come: there is no room "
                 "for %u more",
                 growth->room - growth->founders, growth->next - growth->founders,
                 count);
        return MOOT_ERR_LIMIT;
    }
    return MOOT_OK;
}

static void wish_answer(struct growth *growth, struct channel_hub *hub, uint32_t rank,
                        uint32_t count, uint32_t living,
                        const struct growth_starter *starter)
{
    char story[STORY_BYTES] = "";
    const uint32_t first = growth->next;
    int code = wish_check(growth, living, count, story, sizeof(story));
    if (code == MOOT_OK) {
        const uint32_t wave = growth->waves++;
        channel_hub_name(hub, wave, first, count);
        growth->next += count;
        if (starter->start(starter->context, first, count, story, sizeof(story))) {
            wave_tell(wave, first, count, story, sizeof(story));
        } else {
            code = MOOT_ERR_TRANSPORT;
        }
    }
    channel_hub_answer(hub, rank, code, first, story);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* There may be room for it soon: it is over --max only for ranks that have not ended.
 */
static bool may_wait(const struct growth *growth, uint32_t living, uint32_t count)
{
    return growth->room > growth->founders && count <= growth->max &&
           living > growth->max - count;
}

/* Looks at the wish that waits. */
static void look_again(struct growth *growth, struct channel_hub *hub,
                       const struct growth_starter *starter)
{
    const uint32_t living = starter->living(starter->context);
    if (now_ms() >= growth->until_ms || !may_wait(growth, living, growth->wished)) {
        growth->waits = false;
        wish_answer(growth, hub, growth->by, growth->wished, living, starter);
    }
}

void growth_serve(struct growth *growth, struct channel_hub *hub,
                  const struct growth_starter *starter)
{
    uint32_t rank, count;
    if (growth->waits) {
        look_again(growth, hub, starter);
    }
    while (!growth->waits && channel_hub_next_wish(hub, &rank, &count)) {
        const uint32_t living = starter->living(starter->context);
        if (growth->patience_ms > 0 && may_wait(growth, living, count)) {
            growth->waits = true;
            growth->by = rank;
            growth->wished = count;
            growth->until_ms = now_ms() + growth->patience_ms;
        } else {
            wish_answer(growth, hub, rank, count, living, starter);
        }
    }
}
