/* arrays.c - task arrays of a medley (medley.h), which it has if it is asked for them.
 *
 * They are drawn apart from all else, and stand between tasks.  An array is spawned by
 * all ranks, by one, by all but one or by some, by a few of them later than by others,
 * and by some with another count, which is another array.  Who has spawned it waits for
 * it, at once or later, or only reads elements, and checks their bytes: a function of
 * the array and the index.  An array of which an element fails ends so on every rank
 * that waits.
 *
 * Nobody names an array that it has not spawned.  So whatever happens to others, each
 * wait ends as the drawn program says, unless this rank is out.
 */
#include "node/api/moot_array.h"

#include "tests/medley/player.h"

#include <string.h>

enum { WORDS_MAX = 5, READS_MAX = 4, COUNT_MANY = 3000, LATE_MAX = 6, FAR_LATER = 15 };

struct dice {
    uint64_t word;
};

static uint32_t draw(struct dice *dice, uint32_t below)
{
    dice->word = medley_mix(dice->word);
    return (uint32_t)(dice->word >> 8) % below;
}

/* --- Drawing ---------------------------------------------------------------------- */

static uint64_t draw_count(struct dice *dice, uint32_t ranks)
{
    const uint32_t how = draw(dice, 10);
    return 1 + draw(dice, how == 0 ? COUNT_MANY : how < 3 ? 200 : 3 * ranks);
}

static uint64_t draw_holders(struct dice *dice, uint32_t ranks)
{
    const uint64_t all = (UINT64_C(1) << ranks) - 1;
    const uint64_t one = UINT64_C(1) << draw(dice, ranks);
    const uint64_t some = draw(dice, 256) & all;
    switch (draw(dice, 5)) {
    case 0:
        return one;
    case 1:
        return all & ~one;
    case 2:
        return some | one;
    default:
        return all;
    }
}

static void draw_array(struct dice *dice, uint32_t ranks, struct medley_array *array)
{
    array->at = draw(dice, MEDLEY_TASKS);
    array->count = draw_count(dice, ranks);
    array->spread = draw(dice, 3);
    array->block = array->spread == MOOT_SPREAD_CYCLIC ? draw(dice, 4) : 0;
    array->holders = draw_holders(dice, ranks);
    const uint64_t late = draw(dice, 256), contrary = draw(dice, 256);
    array->late = draw(dice, 3) == 0 ? late : 0;
    array->contrary = draw(dice, 5) == 0 ? contrary : 0;
    const uint64_t failing = draw(dice, (uint32_t)array->count);
    array->failing = draw(dice, 8) == 0 ? failing : MEDLEY_ARRAY_WELL;
}

void medley_draw_arrays(struct medley *medley)
{
    struct dice dice = {.word = medley_mix(medley->base.seed * 29 + 11)};
    medley->array_count = 1 + draw(&dice, MEDLEY_ARRAYS_MAX);
    for (uint32_t i = 0; i < medley->array_count; i++) {
        draw_array(&dice, medley->base.ranks, &medley->arrays[i]);
    }
}

/* --- Elements --------------------------------------------------------------------- */

static uint64_t word_of(const struct medley *medley, uint32_t array, uint64_t index,
                        uint64_t place)
{
    return medley_mix(medley_mix(medley->base.seed + array) ^
                      medley_mix(index << 8 | place));
}

static size_t words_of(const struct medley *medley, uint32_t array, uint64_t index)
{
    return word_of(medley, array, index, 255) % (WORDS_MAX + 1);
}

/* As this rank spawns it. */
static uint64_t count_of(const struct medley_player *player, uint32_t array)
{
    const struct medley_array *of = &player->medley->arrays[array];
    return of->count + (player_is_of(player, of->contrary) ? 3 : 0);
}

static int element_kernel(moot_call *call, void *user)
{
    struct medley_player *player = user;
    const struct medley *medley = player->medley;
    const uint64_t index = moot_call_index(call), count = moot_call_count(call);
    size_t size = 0;
    const uint32_t *array = moot_call_args(call, &size);
    const struct medley_array *of = &medley->arrays[*array];
    if (index >= count || (count != of->count && count != of->count + 3)) {
        player_wrong(player, of->at, "an element is not of its array");
    }
    const uint64_t word = word_of(medley, *array, index, 254);
    player_nap(word % 16 == 0 ? word >> 8 & 65535 : 0);
    if (index == of->failing) {
        return 7;
    }
    const size_t words = words_of(medley, *array, index);
    uint64_t *out = moot_call_output(call, words * sizeof(*out));
    if (out == NULL && words > 0) {
        return MOOT_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < words; i++) {
        out[i] = word_of(medley, *array, index, i);
    }
    return MOOT_OK;
}

int player_register_arrays(struct medley_player *player)
{
    const moot_kernel kernel = {
        .name = "element", .fn = element_kernel, .user = player};
    return player->medley->array_count == 0
               ? MOOT_OK
               : moot_kernel_register(player->m, &kernel, &player->element);
}

/* --- A rank ----------------------------------------------------------------------- */

static bool is_out(int code)
{
    return code == MOOT_ERR_FENCED || code == MOOT_ERR_NO_QUORUM;
}

static uint64_t chance_of(const struct medley_player *player, uint32_t array,
                          uint64_t use)
{
    return word_of(player->medley, array, use << 8 | (uint64_t)player->rank, 253);
}

static void judge_code(struct medley_player *player, uint32_t array, int code,
                       const char *what)
{
    const struct medley_array *of = &player->medley->arrays[array];
    const bool fails = of->failing != MEDLEY_ARRAY_WELL;
    player->over |= is_out(code);
    if (!player->over && code != (fails ? MOOT_ERR_TASK_FAILED : MOOT_OK)) {
        player_wrong(player, of->at, what);
    }
}

static void read_element(struct medley_player *player, uint32_t array, uint64_t index)
{
    const struct medley *medley = player->medley;
    const size_t words = words_of(medley, array, index);
    const uint64_t *data = NULL;
    size_t size = 0;
    moot_task element = {0};
    int code = moot_array_at(player->m, player->arrays[array], index, &element);
    if (code != MOOT_OK) {
        judge_code(player, array, code, "an element is no task");
        return;
    }
    code =
        moot_task_fetch(player->m, element, MOOT_FOREVER, (const void **)&data, &size);
    judge_code(player, array, code, "an element ends otherwise");
    if (code == MOOT_OK && size != words * sizeof(*data)) {
        player_wrong(player, medley->arrays[array].at, "an element has another size");
    }
    for (size_t i = 0; code == MOOT_OK && i < size / sizeof(*data) && i < words; i++) {
        if (data[i] != word_of(medley, array, index, i)) {
            player_wrong(player, medley->arrays[array].at,
                         "an element has other bytes");
        }
    }
    (void)moot_task_release(player->m, element);
}

/* Elements that others read, too, and one that is likely read by nobody else. */
static void read_elements(struct medley_player *player, uint32_t array)
{
    const uint64_t count = count_of(player, array);
    const uint64_t reads = chance_of(player, array, 1) % READS_MAX;
    for (uint64_t i = 0; i < reads && !player->over; i++) {
        const uint64_t own = chance_of(player, array, 2 + i);
        const uint64_t common = word_of(player->medley, array, i, 252);
        read_element(player, array, (i == 0 ? own : common) % count);
    }
}

static void release_array(struct medley_player *player, uint32_t array)
{
    (void)moot_array_release(player->m, player->arrays[array]);
    player->arrays[array].id = 0;
}

static void look_at_array(struct medley_player *player, uint32_t array)
{
    if (player->over || player->arrays[array].id == 0) {
        return;
    }
    const uint64_t how = chance_of(player, array, 20) % 4;
    if (how > 0) {
        judge_code(player, array,
                   moot_array_wait(player->m, player->arrays[array], MOOT_FOREVER),
                   "an array ends otherwise");
    }
    read_elements(player, array);
    if (how == 2) {
        release_array(player, array);
    }
}

static void spawn_array(struct medley_player *player, uint32_t array)
{
    const struct medley_array *of = &player->medley->arrays[array];
    const moot_array_spec spec = {
        .kernel = player->element,
        .count = count_of(player, array),
        .args = &array,
        .args_size = sizeof(array),
        .spread = {(enum moot_spread_kind)of->spread, of->block}};
    const int code = moot_array_spawn(player->m, &spec, &player->arrays[array]);
    player->over |= is_out(code);
    if (code != MOOT_OK && !player->over) {
        player_wrong(player, of->at, "an array is not spawned");
    }
    if (chance_of(player, array, 21) % 8 == 0 && !player->over) {
        release_array(player, array); /* its elements run all the same */
    }
}

/* Those that come before the task. */
void player_meet_arrays(struct medley_player *player, uint32_t task, bool waits)
{
    for (uint32_t i = 0; i < player->medley->array_count && !player->over; i++) {
        const struct medley_array *of = &player->medley->arrays[i];
        const uint64_t later = 1 + chance_of(player, i, 22) % LATE_MAX;
        const uint64_t at = of->at + (player_is_of(player, of->late) ? later : 0);
        const uint64_t looks = at + chance_of(player, i, 23) % FAR_LATER;
        if (at == task && player_is_of(player, of->holders)) {
            spawn_array(player, i);
        }
        if (looks == task && waits) {
            look_at_array(player, i);
        }
    }
}

void player_end_arrays(struct medley_player *player)
{
    for (uint32_t i = 0; i < player->medley->array_count; i++) {
        if (!player->gone) {
            look_at_array(player, i);
        }
        if (player->arrays[i].id != 0) {
            release_array(player, i);
        }
    }
}
