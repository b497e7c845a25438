/* draw.c - draws a medley (medley.h): tasks (draw_base.c), and what is more.
 *
 * Regions do not overlap, and a task of a region knows no other way to wait for itself:
 * so without a fault every wait ends here, too.
 */
#include "tests/medley/medley.h"

#include <stdio.h>
#include <string.h>

struct dice {
    uint64_t word;
};

static uint32_t draw(struct dice *dice, uint32_t below)
{
    dice->word = medley_mix(dice->word);
    return (uint32_t)(dice->word >> 8) % below;
}

static bool chance(struct dice *dice, uint32_t per_cent)
{
    return draw(dice, 100) < per_cent;
}

static uint64_t draw_some(struct dice *dice, uint32_t ranks, uint32_t per_cent)
{
    uint64_t set = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        set |= chance(dice, per_cent) ? UINT64_C(1) << rank : 0;
    }
    return set;
}

/* --- Task by task ----------------------------------------------------------------- */

static void put_first(struct medley_recipe *recipe, uint32_t input)
{
    memmove(recipe->inputs + 1, recipe->inputs,
            recipe->input_count * sizeof(recipe->inputs[0]));
    recipe->inputs[0] = input;
    recipe->input_count++;
}

/* Data handles are a rank's own: all ranks must use them alike. */
static void draw_accesses(struct dice *dice, struct medley *medley, uint32_t task,
                          uint32_t *versions)
{
    struct medley_recipe *recipe = &medley->base.tasks[task];
    struct medley_task *extra = &medley->tasks[task];
    uint32_t count = 1 + draw(dice, MEDLEY_ACCESS_MAX);
    uint32_t first = draw(dice, MEDLEY_DATA_MAX);
    recipe->holders = (UINT64_C(1) << medley->base.ranks) - 1;
    recipe->candidates = 0;
    bool written = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t data = (first + i) % MEDLEY_DATA_MAX;
        bool has = versions[data] != UINT32_MAX, reads = has && chance(dice, 70);
        bool writes = !written && (!reads || chance(dice, 60));
        if (reads || writes) {
            extra->accesses[extra->access_count].data = data;
            extra->accesses[extra->access_count].reads = reads;
            extra->accesses[extra->access_count++].writes = writes;
        }
        written |= writes;
    }
    for (uint32_t i = extra->access_count; i > 0; i--) {
        if (extra->accesses[i - 1].reads) {
            put_first(recipe, versions[extra->accesses[i - 1].data]);
        }
    }
    for (uint32_t i = 0; i < extra->access_count; i++) {
        if (extra->accesses[i].writes) {
            versions[extra->accesses[i].data] = task;
        }
    }
}

/* The result is made of the first input's own bytes, and has as many. */
static void draw_update(struct dice *dice, struct medley *medley, uint32_t task)
{
    struct medley_recipe *recipe = &medley->base.tasks[task];
    bool data = recipe->input_count > recipe->after_count;
    if (data && chance(dice, 50)) {
        medley->tasks[task].updates = true;
        recipe->bytes = medley->base.tasks[recipe->inputs[0]].bytes;
    }
}

static void draw_extras(struct dice *dice, struct medley *medley, uint32_t task,
                        uint32_t *versions)
{
    struct medley_recipe *recipe = &medley->base.tasks[task];
    struct medley_task *extra = &medley->tasks[task];
    uint32_t ranks = medley->base.ranks;
    bool retried = chance(dice, 15), accesses = chance(dice, 25);
    if (chance(dice, 20)) {
        recipe->bytes = 16 + draw(dice, 6000);
    }
    if (recipe->bytes > 1000000 && !MEDLEY_HAS(medley, LARGE)) {
        recipe->bytes /= 16;
    }
    extra->priority = chance(dice, 30) ? (int32_t)draw(dice, 5) - 2 : 0;
    if (MEDLEY_HAS(medley, RETRIES) && retried && recipe->kind != MEDLEY_ONCE) {
        recipe->failing_runs = 1 + draw(dice, MEDLEY_RETRIES);
    }
    if (MEDLEY_HAS(medley, LABELS) && chance(dice, 50)) {
        (void)snprintf(extra->label, sizeof(extra->label), "%c/%u", "ab"[draw(dice, 2)],
                       (unsigned)task);
    }
    if (MEDLEY_HAS(medley, DATA) && accesses) {
        draw_accesses(dice, medley, task, versions);
    }
    if (MEDLEY_HAS(medley, DATA)) {
        draw_update(dice, medley, task);
    }
    uint64_t then = draw_some(dice, ranks, 30), by_hash = draw_some(dice, ranks, 30);
    uint64_t declined = draw_some(dice, ranks, 20) & ~recipe->holders;
    extra->then = MEDLEY_HAS(medley, THEN) ? then : 0;
    extra->by_hash = MEDLEY_HAS(medley, HASHES) ? by_hash : 0;
    bool portable = recipe->kind == MEDLEY_PORTABLE;
    extra->declined = MEDLEY_HAS(medley, DECLINES) && !portable ? declined : 0;
    extra->leaves = MEDLEY_HAS(medley, ORPHANS) && chance(dice, 30);
}

/* A rank that cancels a label cancels all that it has spawned so far and is labelled
 * so. */
static void draw_label_cancel(struct dice *dice, struct medley *medley)
{
    uint32_t last = draw(dice, MEDLEY_TASKS);
    uint32_t canceller = draw(dice, medley->base.ranks);
    if (!MEDLEY_HAS(medley, LABELS) || !chance(dice, 15)) {
        return;
    }
    for (uint32_t task = 0; task <= last; task++) {
        struct medley_recipe *recipe = &medley->base.tasks[task];
        bool held = (recipe->holders >> canceller & 1) != 0;
        if (task == last || (held && medley->tasks[task].label[0] == 'a')) {
            recipe->canceller = (int)canceller;
            medley->tasks[task].cancels_label = true; /* not by its handle */
        }
    }
    (void)snprintf(medley->tasks[last].label, sizeof(medley->tasks[last].label),
                   "a/last");
}

/* --- Around tasks ----------------------------------------------------------------- */

static void draw_region(struct dice *dice, struct medley *medley,
                        struct medley_region *region)
{
    uint32_t ranks = medley->base.ranks;
    bool alike = chance(dice, 50), any = chance(dice, 70);
    enum medley_queue kind = 1 + draw(dice, MEDLEY_QUEUE_KINDS - 1);
    region->scope = chance(dice, 40) && MEDLEY_HAS(medley, SCOPES);
    region->groups = draw_some(dice, ranks, 50);
    region->groups = MEDLEY_HAS(medley, GROUPS) ? region->groups : 0;
    region->barrier = chance(dice, 15) && MEDLEY_HAS(medley, BARRIERS);
    bool ordered = false;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        enum medley_queue own =
            alike ? kind : (enum medley_queue)draw(dice, MEDLEY_QUEUE_KINDS);
        region->queues[rank] =
            any && MEDLEY_HAS(medley, QUEUES) ? own : MEDLEY_NO_QUEUE;
        ordered |= region->queues[rank] == MEDLEY_SEQUENTIAL;
    }
    for (uint32_t task = region->from; ordered && task < region->to; task++) {
        medley->base.tasks[task].ordered_from = region->from;
    }
}

static void draw_regions(struct dice *dice, struct medley *medley)
{
    uint32_t at = draw(dice, 4);
    while (at + 2 < MEDLEY_TASKS && medley->region_count < MEDLEY_REGIONS_MAX) {
        struct medley_region *region = &medley->regions[medley->region_count++];
        uint32_t length = 2 + draw(dice, 7);
        region->from = at;
        region->to = at + length < MEDLEY_TASKS ? at + length : MEDLEY_TASKS;
        draw_region(dice, medley, region);
        at = region->to + draw(dice, 4);
    }
}

/* A version that only accesses read needs no handle. */
static void let_versions_go(struct dice *dice, struct medley *medley)
{
    bool taken[MEDLEY_TASKS] = {false};
    for (uint32_t task = 0; task < MEDLEY_TASKS; task++) {
        const struct medley_recipe *recipe = &medley->base.tasks[task];
        uint32_t reads = 0;
        for (uint32_t i = 0; i < medley->tasks[task].access_count; i++) {
            reads += medley->tasks[task].accesses[i].reads;
        }
        for (uint32_t i = reads; i < recipe->input_count; i++) {
            taken[recipe->inputs[i]] = true;
        }
    }
    for (uint32_t task = 0; task < MEDLEY_TASKS; task++) {
        bool writes = false;
        for (uint32_t i = 0; i < medley->tasks[task].access_count; i++) {
            writes |= medley->tasks[task].accesses[i].writes;
        }
        medley->tasks[task].let_go = writes && !taken[task] && chance(dice, 60);
    }
}

/* A rank that leaves comes to none of the tasks from there on. */
static void draw_early(struct dice *dice, struct medley *medley)
{
    const uint64_t some = draw_some(dice, medley->base.ranks, 30);
    const uint64_t early = chance(dice, 40) ? some : 0;
    for (uint32_t rank = 0; rank < medley->base.ranks; rank++) {
        const uint32_t at = draw(dice, MEDLEY_TASKS);
        const bool leaves = MEDLEY_HAS(medley, EARLY) && (early >> rank & 1) != 0;
        medley->base.leaves_at[rank] = leaves ? at : MEDLEY_TASKS;
        medley->base.early |= leaves ? UINT64_C(1) << rank : 0;
        for (uint32_t task = at; leaves && task < MEDLEY_TASKS; task++) {
            medley->base.tasks[task].holders &= ~(UINT64_C(1) << rank);
        }
    }
}

static void reckon_values(struct medley_base *base)
{
    for (uint32_t task = 0; task < MEDLEY_TASKS; task++) {
        struct medley_recipe *recipe = &base->tasks[task];
        uint64_t inputs[MEDLEY_INPUTS_MAX] = {0};
        for (uint32_t i = 0; i < recipe->input_count; i++) {
            inputs[i] = base->tasks[recipe->inputs[i]].value;
        }
        recipe->value = medley_combine(recipe, task, inputs);
    }
}

void medley_draw(struct medley *medley, uint64_t seed, uint32_t ranks,
                 uint32_t features)
{
    struct dice dice = {.word = medley_mix(seed) + ranks};
    uint32_t versions[MEDLEY_DATA_MAX];
    memset(medley, 0, sizeof(*medley));
    medley_draw_base(&medley->base, seed, ranks);
    medley->features = features;
    for (uint32_t data = 0; data < MEDLEY_DATA_MAX; data++) {
        versions[data] = UINT32_MAX;
    }
    for (uint32_t task = 0; task < MEDLEY_TASKS; task++) {
        struct dice own = {.word = dice.word + task};
        draw_extras(&own, medley, task, versions);
    }
    draw_label_cancel(&dice, medley);
    draw_regions(&dice, medley);
    uint64_t lanes = draw_some(&dice, ranks, 40);
    medley->lanes = MEDLEY_HAS(medley, LANES) ? lanes : 0;
    let_versions_go(&dice, medley);
    draw_early(&dice, medley);
    reckon_values(&medley->base);
}
