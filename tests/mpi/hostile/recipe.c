/* recipe.c - draws a program (chaos.h).
 *
 * Inputs come before what takes them, every task has a holder that may own it, and a
 * lane waits only for what stands no later than what it has spawned: so without a fault
 * every wait ends, whoever holds what.
 */
#include "tests/mpi/hostile/chaos.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS_LEAST = 3, SCOPE_STRIDE = 10, SCOPE_WIDTH = 6, BARRIER_STRIDE = 13 };

uint64_t chaos_mix(uint64_t word) /* Vigna's splitmix64 */
{
    word += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

struct dice chaos_dice(uint64_t seed, uint64_t what)
{
    return (struct dice){.word = chaos_mix(seed) ^ chaos_mix(~what)};
}

uint32_t dice_draw(struct dice *dice, uint32_t below)
{
    dice->word = chaos_mix(dice->word);
    return (uint32_t)(dice->word >> 8) % below;
}

bool dice_chance(struct dice *dice, uint32_t per_cent)
{
    return dice_draw(dice, 100) < per_cent;
}

bool chaos_has(const struct chaos *chaos, enum chaos_feature feature)
{
    return (chaos->off >> feature & 1) == 0;
}

bool chaos_flip(const struct chaos *chaos, struct dice *dice,
                enum chaos_feature feature, uint32_t per_cent)
{
    bool drawn = dice_chance(dice, per_cent);
    return drawn && chaos_has(chaos, feature);
}

uint64_t chaos_child(uint32_t task, uint32_t child)
{
    return chaos_mix(UINT64_C(1000) * (task + 1) + child);
}

uint64_t chaos_combine(const struct recipe *recipe, uint32_t task,
                       const uint64_t *inputs)
{
    uint64_t value = chaos_mix(task);
    for (uint32_t i = 0; i < recipe_data_count(recipe); i++) {
        value = chaos_mix(value ^ inputs[i]);
    }
    for (uint32_t i = 0; i + (recipe->leaves ? 1 : 0) < recipe->children; i++) {
        value = chaos_mix(value ^ chaos_child(task, i));
    }
    return value;
}

/* --- A task ----------------------------------------------------------------------- */

static uint64_t draw_ranks(struct dice *dice, uint32_t ranks, uint32_t per_cent)
{
    uint64_t set = 0;
    for (uint32_t rank = 0; rank < CHAOS_RANKS_MAX; rank++) {
        set |= dice_chance(dice, per_cent) ? UINT64_C(1) << rank : 0;
    }
    return set & ((UINT64_C(1) << ranks) - 1);
}

static void draw_inputs(struct dice *dice, struct recipe *recipe, uint32_t task)
{
    uint32_t wanted = dice_chance(dice, 60) ? dice_draw(dice, CHAOS_INPUTS_MAX + 1) : 0;
    uint32_t reach = task < CHAOS_REACH ? task : CHAOS_REACH;
    for (uint32_t i = 0; i < wanted && reach > 0; i++) {
        uint32_t input = task - 1 - dice_draw(dice, reach);
        bool known = false;
        for (uint32_t k = 0; k < recipe->input_count; k++) {
            known |= recipe->inputs[k] == input;
        }
        if (!known) {
            recipe->inputs[recipe->input_count++] = input;
        }
    }
    if (recipe->input_count > 0 && dice_chance(dice, 25)) {
        recipe->after_count = 1;
    }
}

static uint32_t draw_bytes(const struct chaos *chaos, struct dice *dice)
{
    uint32_t large = dice_draw(dice, 100), more = dice_draw(dice, 1 << 20);
    return large < 80 || !chaos_has(chaos, CHAOS_HAS_LARGE) ? 16 + more % 100
           : large < 95                                     ? 16384 + more % (1 << 18)
                                                            : 2500000 + more;
}

static enum chaos_kind draw_kind(const struct chaos *chaos, struct dice *dice)
{
    static const struct {
        enum chaos_kind kind;
        enum chaos_feature feature;
        uint32_t share;
    } kinds[] = {{CHAOS_ONCE, CHAOS_HAS_ONCES, 9},
                 {CHAOS_AGAIN, CHAOS_HAS_ONCES, 9},
                 {CHAOS_VARIES, CHAOS_HAS_CHANGES, 8},
                 {CHAOS_PORTABLE, CHAOS_HAS_PORTABLES, 9},
                 {CHAOS_PARENT, CHAOS_HAS_CHILDREN, 14},
                 {CHAOS_RETRIED, CHAOS_HAS_RETRIES, 8},
                 {CHAOS_UPDATES, CHAOS_HAS_DATA, 10}};
    uint32_t drawn = dice_draw(dice, 100);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (drawn < kinds[i].share) {
            return chaos_has(chaos, kinds[i].feature) ? kinds[i].kind : CHAOS_PURE;
        }
        drawn -= kinds[i].share;
    }
    return CHAOS_PURE;
}

/* Draws who spawns it, who may own it, and how it may end badly. */
static void draw_ends(const struct chaos *chaos, struct dice *dice,
                      struct recipe *recipe)
{
    uint64_t all = (UINT64_C(1) << chaos->ranks) - 1;
    uint64_t one = UINT64_C(1) << dice_draw(dice, CHAOS_RANKS_MAX) % chaos->ranks;
    uint64_t some = draw_ranks(dice, chaos->ranks, 60) | one;
    uint64_t few = draw_ranks(dice, chaos->ranks, 40) | one;
    recipe->holders = chaos_flip(chaos, dice, CHAOS_HAS_DIVERGENCE, 50) ? some : all;
    if (chaos_flip(chaos, dice, CHAOS_HAS_CANDIDATES, 12)) {
        recipe->candidates = dice_chance(dice, 30) ? one : few;
        recipe->holders |= one;
    }
    recipe->fails = chaos_flip(chaos, dice, CHAOS_HAS_FAILURES, 1);
    uint32_t canceller = dice_draw(dice, CHAOS_RANKS_MAX) % chaos->ranks;
    recipe->canceller =
        chaos_flip(chaos, dice, CHAOS_HAS_CANCELS, 2) ? (int)canceller : -1;
    uint32_t clearer = dice_draw(dice, CHAOS_RANKS_MAX) % chaos->ranks;
    recipe->label = dice_chance(dice, 20) ? (char)('a' + dice_draw(dice, 3)) : 0;
    recipe->clears = (char)('a' + dice_draw(dice, 3));
    recipe->clearer = chaos_flip(chaos, dice, CHAOS_HAS_LABELS, 1) ? (int)clearer : -1;
}

static void draw_task(const struct chaos *chaos, struct recipe *recipe, uint32_t task)
{
    struct dice dice = chaos_dice(chaos->seed, task);
    *recipe = (struct recipe){.kind = draw_kind(chaos, &dice), .scope = -1};
    draw_ends(chaos, &dice, recipe);
    draw_inputs(&dice, recipe, task);
    recipe->hint = chaos_flip(chaos, &dice, CHAOS_HAS_HINTS, 15);
    uint32_t children = 1 + dice_draw(&dice, 3), failures = 1 + dice_draw(&dice, 20);
    bool leaves = dice_chance(&dice, 20);
    if (recipe->kind == CHAOS_PARENT) {
        recipe->children = children;
        recipe->leaves = leaves;
    }
    if (recipe->kind == CHAOS_RETRIED) { /* one in twenty fails for good */
        recipe->failures = failures <= 19 || !chaos_has(chaos, CHAOS_HAS_FAILURES)
                               ? 1 + failures % CHAOS_RETRIES
                               : CHAOS_RETRIES + 1;
    }
    recipe->bytes = draw_bytes(chaos, &dice);
    recipe->kernel_us = dice_draw(&dice, 5000);
    recipe->priority = (int32_t)dice_draw(&dice, 5) - 2;
    if (!chaos_flip(chaos, &dice, CHAOS_HAS_PRIORITIES, 20)) {
        recipe->priority = 0;
    }
    recipe->lane = dice_draw(&dice, CHAOS_LANES_MAX) % chaos->lanes;
    if (recipe->kind == CHAOS_UPDATES && recipe_data_count(recipe) == 0) {
        recipe->kind = CHAOS_PURE;
    }
    if (recipe->kind == CHAOS_UPDATES) {
        recipe->bytes = chaos->tasks_of[recipe->inputs[0]].bytes;
    }
    recipe->barrier = task % BARRIER_STRIDE == BARRIER_STRIDE - 1;
}

/* --- The program ------------------------------------------------------------------ */

/* A scope that several lanes would open must not have been closed by one of them. */
static void draw_scopes(struct chaos *chaos, struct dice *dice)
{
    bool some = chaos_flip(chaos, dice, CHAOS_HAS_SCOPES, 40) && chaos->lanes == 1;
    for (uint32_t task = 0; task < CHAOS_TASKS && some; task++) {
        if (task % SCOPE_STRIDE < SCOPE_WIDTH) {
            chaos->tasks_of[task].scope = (int)(task / SCOPE_STRIDE);
        }
    }
}

void chaos_draw_program(struct chaos *chaos)
{
    struct dice dice = chaos_dice(chaos->seed, 1000);
    bool lets_go = chaos_flip(chaos, &dice, CHAOS_HAS_RELEASES, 33);
    chaos->lanes = chaos_flip(chaos, &dice, CHAOS_HAS_LANES, 30) ? CHAOS_LANES_MAX : 1;
    /* A lane must not come to name a task that all the others have let go of. */
    chaos->lets_go = lets_go && chaos->lanes == 1;
    chaos->queues = chaos_flip(chaos, &dice, CHAOS_HAS_QUEUES, 50);
    chaos->groups = chaos_flip(chaos, &dice, CHAOS_HAS_GROUPS, 50);
    bool barriers = chaos_flip(chaos, &dice, CHAOS_HAS_BARRIERS, 30);
    for (uint32_t task = 0; task < CHAOS_TASKS; task++) {
        struct recipe *recipe = &chaos->tasks_of[task];
        uint64_t inputs[CHAOS_INPUTS_MAX];
        draw_task(chaos, recipe, task);
        recipe->barrier &= barriers;
        for (uint32_t i = 0; i < recipe->input_count; i++) {
            inputs[i] = chaos->tasks_of[recipe->inputs[i]].value;
        }
        recipe->value = chaos_combine(recipe, task, inputs);
    }
    draw_scopes(chaos, &dice);
}

/* --- A case ----------------------------------------------------------------------- */

static bool read_number(const char *text, uint32_t least, uint32_t most, uint32_t *out)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *out = (uint32_t)number;
    return end != text && *end == '\0' && number >= least && number <= most;
}

static const char *const features[] = {
#define X(name, text) text,
    CHAOS_FEATURES(X)
#undef X
};

/* The bit of a feature; 0 if there is none of that name. */
static uint64_t find_feature(const char *word, size_t length)
{
    for (size_t i = 0; i < CHAOS_FEATURE_END; i++) {
        if (strlen(features[i]) == length && strncmp(word, features[i], length) == 0) {
            return UINT64_C(1) << i;
        }
    }
    return 0;
}

/* Words with commas between them, or none. */
static bool read_only(struct chaos *chaos, const char *at)
{
    chaos->off = (UINT64_C(1) << CHAOS_FEATURE_END) - 1;
    while (*at != '\0') {
        size_t length = strcspn(at, ",");
        uint64_t feature = find_feature(at, length);
        if (feature == 0) {
            return false;
        }
        chaos->off &= ~feature;
        at += length + (at[length] == ',' ? 1 : 0);
    }
    return true;
}

/* "4-5": these ranks. */
static bool read_ranks(const char *text, uint64_t *out)
{
    char *end;
    unsigned long first = strtoul(text, &end, 10);
    unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
    for (unsigned long rank = first; rank <= last && last < CHAOS_RANKS_MAX; rank++) {
        *out |= UINT64_C(1) << rank;
    }
    return *end == '\0' && *out != 0;
}

static bool read_word(struct chaos *chaos, const char *word)
{
    if (strncmp(word, "ranks=", 6) == 0) {
        return read_number(word + 6, 1, CHAOS_RANKS_MAX, &chaos->ranks);
    }
    if (strncmp(word, "tasks=", 6) == 0) {
        return read_number(word + 6, 1, CHAOS_TASKS, &chaos->tasks);
    }
    if (strncmp(word, "only=", 5) == 0) {
        return read_only(chaos, word + 5);
    }
    if (strncmp(word, "struck=", 7) == 0) {
        return read_ranks(word + 7, &chaos->struck);
    }
    if (strncmp(word, "away=", 5) == 0) {
        return read_ranks(word + 5, &chaos->away);
    }
    uint64_t feature =
        strncmp(word, "no-", 3) == 0 ? find_feature(word + 3, strlen(word + 3)) : 0;
    chaos->off |= feature;
    return feature != 0;
}

bool chaos_read(struct chaos *chaos, const char *word)
{
    char text[1024], *rest = NULL, *end = NULL;
    if (strlen(word) >= sizeof(text)) {
        return false;
    }
    (void)snprintf(text, sizeof(text), "%s", word);
    const char *part = strtok_r(text, ":", &rest);
    *chaos = (struct chaos){.tasks = CHAOS_TASKS};
    if (part == NULL) {
        return false;
    }
    chaos->seed = strtoull(part, &end, 10);
    chaos->ranks =
        RANKS_LEAST + (uint32_t)(chaos->seed % (CHAOS_RANKS_MAX - RANKS_LEAST + 1));
    if (end == part || *end != '\0') {
        return false;
    }
    while ((part = strtok_r(NULL, ":", &rest)) != NULL) {
        if (!read_word(chaos, part)) {
            return false;
        }
    }
    chaos_draw_program(chaos);
    chaos_draw_trouble(chaos);
    chaos->killed |= chaos->struck;
    chaos->paused |= chaos->away;
    return true;
}
