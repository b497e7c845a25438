/* program_parts.c - see program_parts.h. */
#include "consensus/sim/programs/program_parts.h"

#include "consensus/sim/programs/random.h"

#include <stdlib.h>

enum parts_style {
    PARTS_OWN,   /* each rank spawns its stretch, */
    PARTS_NEXT,  /* or that of the next rank: everybody gives all up */
    PARTS_LARGE, /* ranges that lie across each other, and nearly always cover all */
    PARTS_SMALL, /* as a rule they leave out some */
    PARTS_STYLES
};

enum { STREAM_PARTS = 431, WHOLE_PER_MILLE = 125, MORE_PER_MILLE = 500 };

static struct range draw_range(struct random *random, uint64_t elements, uint64_t least)
{
    const uint64_t size = random_between(random, least < 1 ? 1 : least, elements);
    const uint64_t first = random_below(random, elements - size + 1);
    return (struct range){first, first + size};
}

static struct range draw_one(struct random *random, const struct program *program,
                             uint32_t task, uint32_t rank, enum parts_style style)
{
    const uint64_t n = program->tasks[task].elements, ranks = program->rank_count;
    const uint64_t at = (rank + (style == PARTS_NEXT)) % ranks;
    const struct range share = {(at * n + ranks - 1) / ranks,
                                ((at + 1) * n + ranks - 1) / ranks};
    if (style > PARTS_NEXT || share.first == share.end) {
        return draw_range(random, n, style == PARTS_SMALL ? 1 : n / 2);
    }
    return share;
}

uint32_t parts_draw(const struct program *program, uint32_t task, uint32_t rank,
                    struct range out[PARTS_MAX])
{
    const uint64_t of_task = random_mix(program->seed + task);
    struct random alike = random_stream(of_task, STREAM_PARTS);
    struct random own = random_stream(of_task + 1 + rank, STREAM_PARTS);
    const enum parts_style style = (enum parts_style)random_below(&alike, PARTS_STYLES);
    const bool whole = random_chance(&own, WHOLE_PER_MILLE);
    const struct range all = {0, 0};
    uint32_t count = 0;
    out[count++] = whole ? all : draw_one(&own, program, task, rank, style);
    while (!whole && count < PARTS_MAX && random_chance(&own, MORE_PER_MILLE)) {
        out[count++] = random_chance(&own, WHOLE_PER_MILLE)
                           ? all
                           : draw_range(&own, program->tasks[task].elements, 1);
    }
    return count;
}

bool parts_leave_gaps(const struct program *program, uint32_t task)
{
    const struct program_task *spec = &program->tasks[task];
    bool *held = calloc(spec->elements, sizeof(*held));
    bool gaps = false;
    if (held == NULL) {
        abort();
    }
    for (uint32_t rank = rankset_next(&spec->holders, 0); rank != UINT32_MAX;
         rank = rankset_next(&spec->holders, rank + 1)) {
        struct range parts[PARTS_MAX];
        const bool runs = program_is_home(program, task, rank);
        const uint32_t count = runs ? parts_draw(program, task, rank, parts) : 0;
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t end = parts[i].end > 0 ? parts[i].end : spec->elements;
            for (uint64_t at = parts[i].first; at < end; at++) {
                held[at] = true;
            }
        }
    }
    for (uint64_t at = 0; at < spec->elements; at++) {
        gaps |= !held[at];
    }
    free(held);
    return gaps;
}
