/* generations.c - see generations.h. */
#include "consensus/sim/checks/generations.h"
#include <inttypes.h>
#include <stdlib.h>

void generations_open(struct generations *generations, uint32_t limit)
{
    generations->limit = limit;
    generations->of = calloc(limit + 1u, sizeof(*generations->of));
    if (generations->of == NULL) {
        abort();
    }
}

void generations_close(struct generations *generations) { free(generations->of); }

bool generations_see(struct generations *generations, struct sim *sim,
                     const struct sight *sight)
{
    const bool joins = sight->type == SIGHT_VIEW && sight->step > 0 &&
                       generations->of[sight->rank] == 0;
    if (joins && sight->step < GENERATIONS_MAX) {
        generations->of[sight->rank] = (uint32_t)sight->step;
    }
    if (sight->type != SIGHT_RELOADED || sight->code != MOOT_OK) {
        return false;
    }
    if (sight->step >= GENERATIONS_MAX) {
        sim_fail(sim, "generation", "generation %" PRIu64 " begins", sight->step);
        return false;
    }
    generations->of[sight->rank] = (uint32_t)sight->step;
    return true;
}
