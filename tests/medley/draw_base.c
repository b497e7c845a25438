/* draw_base.c - draws tasks, and what goes wrong (base.h).
 *
 * Inputs come before what takes them, every task has a holder that may own it, and a
 * rank waits only for what stands no later than what it has spawned: so without a fault
 * every wait ends, whoever holds what.
 */
#include "tests/medley/base.h"

#include <string.h>

uint64_t medley_mix(uint64_t word) /* Vigna's splitmix64 */
{
    word += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

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

uint64_t medley_child(uint32_t task, uint32_t child)
{
    return medley_mix(UINT64_C(1000) * (task + 1) + child);
}

uint64_t medley_combine(const struct medley_recipe *recipe, uint32_t task,
                        const uint64_t *inputs)
{
    uint64_t value = medley_mix(task);
    for (uint32_t i = 0; i < recipe->input_count - recipe->after_count; i++) {
        value = medley_mix(value ^ inputs[i]);
    }
    for (uint32_t i = 0; i < recipe->children; i++) {
        value = medley_mix(value ^ medley_child(task, i));
    }
    return value;
}

/* --- The program ------------------------------------------------------------------ */

static uint64_t draw_ranks(struct dice *dice, uint32_t ranks, uint32_t per_cent)
{
    uint64_t set = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        set |= chance(dice, per_cent) ? UINT64_C(1) << rank : 0;
    }
    return set;
}

static void draw_inputs(struct dice *dice, struct medley_recipe *recipe, uint32_t task)
{
    uint32_t wanted = chance(dice, 60) ? draw(dice, MEDLEY_INPUTS_DRAWN + 1) : 0;
    uint32_t reach = task < MEDLEY_REACH ? task : MEDLEY_REACH;
    for (uint32_t i = 0; i < wanted && reach > 0; i++) {
        uint32_t input = task - 1 - draw(dice, reach);
        bool known = false;
        for (uint32_t k = 0; k < recipe->input_count; k++) {
            known |= recipe->inputs[k] == input;
        }
        if (!known) {
            recipe->inputs[recipe->input_count++] = input;
        }
    }
    if (recipe->input_count > 0 && chance(dice, 25)) {
        recipe->after_count = 1;
    }
}

static uint32_t draw_bytes(struct dice *dice)
{
    uint32_t large = draw(dice, 100);
    return large < 80   ? 16 + draw(dice, 100)
           : large < 95 ? 16384 + draw(dice, 1 << 18)
                        : 2500000 + draw(dice, 1 << 20);
}

static void draw_task(struct dice *dice, const struct medley_base *base,
                      struct medley_recipe *recipe, uint32_t task)
{
    static const enum medley_kind kinds[] = {
        MEDLEY_PURE,  MEDLEY_PURE,   MEDLEY_PURE,     MEDLEY_PURE,   MEDLEY_ONCE,
        MEDLEY_AGAIN, MEDLEY_VARIES, MEDLEY_PORTABLE, MEDLEY_PARENT, MEDLEY_PARENT};
    uint64_t all = (UINT64_C(1) << base->ranks) - 1;
    uint64_t one = UINT64_C(1) << draw(dice, base->ranks);
    *recipe = (struct medley_recipe){
        .kind = kinds[draw(dice, 10)], .canceller = -1, .ordered_from = task};
    recipe->holders = chance(dice, 50) ? all : draw_ranks(dice, base->ranks, 60) | one;
    if (chance(dice, 12)) {
        recipe->candidates = draw_ranks(dice, base->ranks, 40) | one;
        recipe->holders |= one;
    }
    draw_inputs(dice, recipe, task);
    recipe->fails = chance(dice, 1);
    recipe->hint = chance(dice, 15);
    recipe->children = recipe->kind == MEDLEY_PARENT ? 1 + draw(dice, 3) : 0;
    recipe->bytes = draw_bytes(dice);
    recipe->kernel_us = draw(dice, 5000);
    if (chance(dice, 2)) {
        recipe->canceller = (int)draw(dice, base->ranks);
    }
    uint64_t inputs[MEDLEY_INPUTS_MAX] = {0};
    for (uint32_t i = 0; i < recipe->input_count; i++) {
        inputs[i] = base->tasks[recipe->inputs[i]].value;
    }
    recipe->value = medley_combine(recipe, task, inputs);
}

/* --- What goes wrong -------------------------------------------------------------- */

static void draw_fault(struct dice *dice, struct medley_base *base, uint32_t victim)
{
    static const char *const points[] = {
        "spawn",        "claim",       "task.start",  "task.end",      "result.sent",
        "result.recv",  "motion.sent", "motion.recv", "decision.recv", "vote.cast",
        "view.propose", "view.enter",  "report.sent", "close"};
    char moment[48];
    const char *comma = base->plan[0] != '\0' ? "," : "";
    size_t at = strlen(base->plan);
    bool stops = chance(dice, 25);
    bool long_ago = stops && chance(dice, 50);
    const char *point = points[draw(dice, sizeof(points) / sizeof(points[0]))];
    if (chance(dice, 25)) {
        (void)snprintf(moment, sizeof(moment), "%ums", (unsigned)(1 + draw(dice, 300)));
    } else if (strncmp(point, "view", 4) == 0 || strcmp(point, "close") == 0) {
        (void)snprintf(moment, sizeof(moment), "%s", point);
    } else {
        (void)snprintf(moment, sizeof(moment), "%s#%u", point,
                       (unsigned)(1 + draw(dice, 8)));
    }
    (void)snprintf(base->plan + at, sizeof(base->plan) - at, "%s%s:r%u@%s%s", comma,
                   stops ? "pause" : "kill", (unsigned)victim, moment,
                   !stops     ? ""
                   : long_ago ? "+2500ms"
                              : "+200ms");
    base->paused |= long_ago ? UINT64_C(1) << victim : 0;
    base->killed |= stops ? 0 : UINT64_C(1) << victim;
}

static void draw_plan(struct dice *dice, struct medley_base *base)
{
    uint32_t first = draw(dice, base->ranks);
    uint32_t faults = base->ranks > 2 && chance(dice, 60) ? 2 : 1;
    for (uint32_t i = 0; i < faults; i++) {
        uint32_t other = 1 + draw(dice, base->ranks - 1);
        draw_fault(dice, base, i == 0 ? first : (first + other) % base->ranks);
    }
    if (base->paused != 0) {
        (void)snprintf(base->settings, sizeof(base->settings), "MOOT_SUSPECT=1s");
    } else if (base->lets_go) {
        (void)snprintf(base->settings, sizeof(base->settings), "MOOT_WINDOW=8");
    }
}

void medley_draw_base(struct medley_base *base, uint64_t seed, uint32_t ranks)
{
    struct dice dice = {.word = seed * 16 + ranks};
    *base = (struct medley_base){.seed = seed, .ranks = ranks};
    base->lets_go = chance(&dice, 33);
    for (uint32_t task = 0; task < MEDLEY_TASKS; task++) {
        draw_task(&dice, base, &base->tasks[task], task);
    }
    draw_plan(&dice, base);
}
