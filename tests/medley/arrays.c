/* arrays.c - task arrays of a medley (medley.h), which it has if it is asked for them.
 *
 * They are drawn apart from all else, and stand between tasks.  An array is spawned by
 * all ranks, by one, by all but one or by some, by a few of them later than by others,
 * and by some with another count, which is another array.  It may take from earlier
 * ones, by each of the maps and by some of its own (array_own_maps.c), and from single
 * tasks (array_singles.c).  A rank that has
 * not all of these, or has released one, does not spawn it.  Who has spawned it waits
 * for it, at once or later, or only reads elements, by themselves or as inputs of a
 * task, and checks their bytes: array_maps.c says what they are to be.  Some combine
 * all elements by a tree of tasks.  An array of which an element fails ends so on every
 * rank that waits, and so does one that a rank cancels (array_cancels.c), if it does.
 * Some have candidates (array_candidates.c).
 *
 * Nobody waits for an array that it has not spawned, but ranks find elements by its
 * hash (array_finds.c).  So whatever happens to others, each wait for an array ends as
 * the drawn program says, unless this rank is out, or a result is lost.
 */
#include "node/api/moot_array.h"

#include "tests/medley/player.h"

#include <stdlib.h>
#include <string.h>

enum {
    READS_MAX = 4,
    GATHER_MAX = 4,
    COUNT_MANY = 3000,
    LARGE_COUNT = 60,
    ARRAYS_ALONE = 6,
    LATE_MAX = 6,
    FAR_LATER = 15
};

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

static uint64_t word_of(const struct medley *medley, uint32_t array, uint64_t index,
                        uint64_t place)
{
    return medley_mix(medley_mix(medley->base.seed + array) ^
                      medley_mix(index << 8 | place));
}

static void draw_input(struct dice *dice, uint32_t array,
                       struct medley_array_input *input)
{
    const bool last = draw(dice, 2) == 0;
    const uint32_t any = draw(dice, array);
    input->array = last ? array - 1 : any;
    input->map = draw(dice, MEDLEY_MAPS);
    input->low = (int64_t)draw(dice, 13) - 6;
    input->high = input->low + draw(dice, draw(dice, 4) == 0 ? 30 : 4);
}

/* An array comes after those that it takes from, and most often on the same ranks. */
static void draw_inputs(struct dice *dice, struct medley *medley, uint32_t array)
{
    struct medley_array *of = &medley->arrays[array];
    const bool takes = draw(dice, 5) > 0, like = draw(dice, 3) > 0;
    const uint32_t count = draw(dice, 3) > 0 ? 1 : 2 + draw(dice, 2);
    for (uint32_t i = 0; takes && i < count; i++) {
        draw_input(dice, array, &of->inputs[i]);
        const uint32_t earliest = medley->arrays[of->inputs[i].array].at;
        of->at = of->at > earliest ? of->at : earliest;
        of->input_count++;
    }
    of->alike = draw(dice, 4) > 0;
    of->count =
        takes && of->alike ? medley->arrays[of->inputs[0].array].count : of->count;
    of->holders =
        takes && like ? medley->arrays[of->inputs[0].array].holders : of->holders;
    const uint64_t twice = draw(dice, 256), let_go = draw(dice, 256);
    of->twice = draw(dice, 6) == 0 ? twice : 0;
    of->let_go = draw(dice, 3) == 0 ? let_go : 0;
    of->beside = word_of(medley, array, 0, 247) % 2 == 0;
}

void medley_draw_arrays(struct medley *medley)
{
    struct dice dice = {.word = medley_mix(medley->base.seed * 29 + 11)};
    struct dice more = {.word = medley_mix(medley->base.seed * 31 + 5)};
    const bool take = draw(&more, 4) > 0;
    medley->array_count = 1 + draw(&dice, ARRAYS_ALONE);
    for (uint32_t i = 0; i < medley->array_count; i++) {
        draw_array(&dice, medley->base.ranks, &medley->arrays[i]);
    }
    while (take && medley->array_count < MEDLEY_ARRAYS_MAX && draw(&more, 4) > 0) {
        draw_array(&more, medley->base.ranks, &medley->arrays[medley->array_count++]);
    }
    for (uint32_t i = 0; take && i < medley->array_count; i++) {
        struct medley_array *of = &medley->arrays[i];
        if (i > 0) {
            draw_inputs(&more, medley, i);
        }
        of->large = draw(&more, 8) == 0 && of->count < LARGE_COUNT;
    }
    medley_draw_array_cancels(medley);
    medley_draw_array_onces(medley);
    medley_draw_own_maps(medley);
    medley_draw_singles(medley);
    medley_draw_array_candidates(medley);
}

/* --- Kernels ---------------------------------------------------------------------- */

/* The call's inputs, mixed in. */
static uint64_t take_inputs(const moot_call *call, uint64_t value)
{
    for (size_t i = 0; i < moot_call_input_count(call); i++) {
        size_t size = 0;
        const uint64_t *words = moot_call_input(call, i, &size);
        value += moot_call_input_hash(call, i) == NULL; /* each has one */
        value = player_element_mix(value,
                                   player_element_digest(words, size / sizeof(*words)));
    }
    return value;
}

/* Some do, on each rank that runs them, if kernels are run again. */
static bool fails_once(struct medley_player *player, uint32_t array, uint64_t index)
{
    const uint64_t bit = index < 64 ? UINT64_C(1) << index : 0;
    const bool fails = MEDLEY_HAS(player->medley, RETRIES) && bit != 0 &&
                       !player->medley->arrays[array].once &&
                       word_of(player->medley, array, index, 246) % 6 == 0 &&
                       (player->tried[array] & bit) == 0;
    player->tried[array] |= fails ? bit : 0;
    return fails;
}

static bool is_portable(const struct medley_player *player)
{
    return player->medley->base.seed % 3 == 0;
}

/* The count is this rank's, or, if arrays are adopted, that of a rank that counts
 * otherwise, or counts more otherwise of what an array that is alike takes. */
static bool may_be_count(const struct medley_player *player, uint32_t array,
                         uint64_t count)
{
    const uint64_t own = player_array_count(player, array);
    const uint64_t apart = count < own ? own - count : count - own;
    const bool others = apart % MEDLEY_CONTRARY_MORE == 0 &&
                        apart <= (uint64_t)MEDLEY_CONTRARY_MORE * MEDLEY_ARRAYS_MAX;
    return count == own || (others && is_portable(player));
}

int player_run_element(moot_call *call, struct medley_player *player)
{
    const struct medley *medley = player->medley;
    const uint64_t index = moot_call_index(call), count = moot_call_count(call);
    size_t size = 0;
    const uint32_t *array = moot_call_args(call, &size);
    const struct medley_array *of = &medley->arrays[*array];
    if (index >= count || !may_be_count(player, *array, count)) {
        player_wrong(player, of->at, "an element is not of its array");
    }
    const uint64_t word = word_of(medley, *array, index, 254);
    player_nap(word % 16 == 0 ? word >> 8 & 65535 : 0);
    if (index == of->failing || fails_once(player, *array, index)) {
        return 7;
    }
    const size_t words = player_element_words(medley, *array, index);
    const uint64_t value =
        take_inputs(call, player_element_seed(medley, *array, index));
    uint64_t *out = moot_call_output(call, words * sizeof(*out));
    if (out == NULL && words > 0) {
        return MOOT_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < words; i++) {
        out[i] = player_element_word(value, i);
    }
    return MOOT_OK;
}

static int element_kernel(moot_call *call, void *user)
{
    return player_run_element(call, user);
}

/* A task that takes elements. */
static int gather_kernel(moot_call *call, void *user)
{
    uint64_t *out = moot_call_output(call, sizeof(*out));
    (void)user;
    if (out != NULL) {
        *out = take_inputs(call, 0);
    }
    return out != NULL ? MOOT_OK : MOOT_ERR_NO_MEMORY;
}

int player_register_arrays(struct medley_player *player)
{
    const bool again = MEDLEY_HAS(player->medley, RETRIES);
    const bool rests = player->medley->base.seed % 2 == 0;
    const moot_kernel element = {
        .name = "element",
        .fn = element_kernel,
        .user = player,
        .flags = is_portable(player) ? MOOT_KERNEL_PORTABLE : 0,
        .retries = again ? MEDLEY_RETRIES : 0,
        .retry_backoff = again && rests ? MOOT_MILLISECONDS(1) : 0};
    const moot_kernel gather = {.name = "gather", .fn = gather_kernel};
    if (player->medley->array_count == 0) {
        return MOOT_OK;
    }
    int code = moot_kernel_register(player->m, &gather, &player->gather);
    code = code != MOOT_OK
               ? code
               : moot_kernel_register(player->m, &element, &player->element);
    code = code != MOOT_OK ? code : player_register_onces(player);
    code = code != MOOT_OK ? code : player_register_singles(player);
    code = code != MOOT_OK ? code : player_register_child_arrays(player);
    return code != MOOT_OK ? code : player_register_maps(player);
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

/* A rank dies, leaves or is out in this program. */
bool player_loses_ranks(const struct medley_player *player)
{
    const struct medley_base *base = &player->medley->base;
    return (base->killed | base->paused | base->early) != 0;
}

/* An element is not made again if its array has failed or was cancelled, if it may run
 * once, if it takes a single task that has been let go, or if that is so of what it
 * takes. */
static bool stays_lost(const struct medley_player *player, uint32_t array)
{
    const struct medley_array *of = &player->medley->arrays[array];
    bool stays = of->single || of->once || player_array_fails(player, array) ||
                 player_takes_cancel(player, array, MOOT_ERR_TASK_FAILED);
    for (uint32_t i = 0; i < of->input_count && !stays; i++) {
        stays = stays_lost(player, of->inputs[i].array);
    }
    return stays;
}

/* So it may be lost with the rank that has it, and then what takes it fails. */
static bool may_lack(const struct medley_player *player, uint32_t array)
{
    const struct medley_array *of = &player->medley->arrays[array];
    bool may = false;
    for (uint32_t i = 0; i < of->input_count; i++) {
        may |= stays_lost(player, of->inputs[i].array);
    }
    return may && player_loses_ranks(player);
}

static bool judge_code(struct medley_player *player, uint32_t array, int code,
                       const char *what)
{
    const bool fails = player_array_fails(player, array);
    player->over |= is_out(code);
    const bool lacks = may_lack(player, array) && code == MOOT_ERR_TASK_FAILED;
    if (!player->over && !lacks && !player_takes_cancel(player, array, code) &&
        !player_may_have_run(player, array, code) &&
        code != (fails ? MOOT_ERR_TASK_FAILED : MOOT_OK)) {
        player_wrong(player, player->medley->arrays[array].at, what);
    }
    return code == MOOT_OK;
}

/* An array may be cancelled after it was read: by the view without the rank that knew
 * its end. */
static bool may_be_lost(const struct medley_player *player, uint32_t array)
{
    return player_loses_ranks(player) && stays_lost(player, array) &&
           !player_array_fails(player, array);
}

static bool judge_read(struct medley_player *player, uint32_t array, int code,
                       const char *what)
{
    const bool lost = code == MOOT_ERR_RESULT_LOST && may_be_lost(player, array);
    return !lost && judge_code(player, array, code, what);
}

/* A task that another rank has run before, and that is gone, is lost with its input. */
static bool judge_gathered(struct medley_player *player, uint32_t array, int code,
                           const char *what)
{
    const bool lost = (code == MOOT_ERR_TASK_FAILED || code == MOOT_ERR_RESULT_LOST) &&
                      may_be_lost(player, array);
    return !lost && judge_code(player, array, code, what);
}

static int fetch_words(struct medley_player *player, moot_task task,
                       const uint64_t **words, size_t *count)
{
    const void *data = NULL;
    size_t size = 0;
    const int code = moot_task_fetch(player->m, task, MOOT_FOREVER, &data, &size);
    *words = data;
    *count = size / sizeof(**words);
    return code;
}

static bool take_element(struct medley_player *player, uint32_t array, uint64_t index,
                         moot_task *out)
{
    const int code = moot_array_at(player->m, player->arrays[array], index, out);
    player->over |= is_out(code);
    if (code != MOOT_OK && !player->over) {
        player_wrong(player, player->medley->arrays[array].at, "an element is no task");
    }
    return code == MOOT_OK;
}

static void read_element(struct medley_player *player, uint32_t array, uint64_t index)
{
    const uint64_t *words = NULL;
    size_t count = 0;
    moot_task element = {0};
    if (!take_element(player, array, index, &element)) {
        return;
    }
    const int code = fetch_words(player, element, &words, &count);
    if (judge_read(player, array, code, "an element ends otherwise") &&
        player_element_digest(words, count) != player->digests[array][index]) {
        player_wrong(player, player->medley->arrays[array].at,
                     "an element has other bytes");
    }
    (void)moot_task_release(player->m, element);
}

/* A task that takes elements, which others spawn, too.  In no queue: what comes after
 * it there would fail with it. */
static void gather_elements(struct medley_player *player, uint32_t array)
{
    const uint64_t count = player_array_count(player, array);
    const uint32_t takes = 1 + word_of(player->medley, array, 0, 251) % GATHER_MAX;
    moot_task elements[GATHER_MAX] = {{0}}, gathered = {0};
    uint64_t value = 0;
    uint32_t taken = 0;
    while (taken < takes) {
        const uint64_t index = word_of(player->medley, array, taken, 251) % count;
        if (!take_element(player, array, index, &elements[taken])) {
            break;
        }
        value = player_element_mix(value, player->digests[array][index]);
        taken++;
    }
    const moot_task_spec spec = {
        .kernel = player->gather, .inputs = elements, .input_count = takes};
    if (taken == takes) {
        const uint64_t *words = NULL;
        size_t size = 0;
        int code = moot_task_spawn(player->m, &spec, &gathered);
        code = code == MOOT_OK ? fetch_words(player, gathered, &words, &size) : code;
        if (judge_gathered(player, array, code,
                           "a task that takes elements ends otherwise") &&
            (size != 1 || *words != value)) {
            player_wrong(player, player->medley->arrays[array].at,
                         "a task took other elements");
        }
        (void)moot_task_release(player->m, gathered);
    }
    while (taken > 0) {
        (void)moot_task_release(player->m, elements[--taken]);
    }
}

/* All of the tree's tasks, level by level, of digests: the first of them is then that
 * of its result. */
static void reckon_tree(uint64_t *digests, uint64_t count)
{
    do {
        const uint64_t above = (count - 1) / MOOT_REDUCE_WAYS + 1;
        for (uint64_t i = 0; i < above; i++) {
            uint64_t value = 0;
            for (uint64_t at = i * MOOT_REDUCE_WAYS;
                 at < count && at < (i + 1) * MOOT_REDUCE_WAYS; at++) {
                value = player_element_mix(value, digests[at]);
            }
            digests[i] = player_element_digest(&value, 1);
        }
        count = above;
    } while (count > 1);
}

/* Nor is a level of the tree. */
static bool judge_reduced(struct medley_player *player, uint32_t array, int code)
{
    const bool lost = (code == MOOT_ERR_TASK_FAILED || code == MOOT_ERR_RESULT_LOST) &&
                      player_loses_ranks(player) && stays_lost(player, array);
    return !lost && judge_code(player, array, code, "a tree of tasks ends otherwise");
}

/* In no queue, as above. */
static void reduce_array(struct medley_player *player, uint32_t array)
{
    const uint64_t count = player_array_count(player, array);
    const moot_task_spec combine = {.kernel = player->gather};
    const uint64_t *words = NULL;
    size_t size = 0;
    moot_task result = {0};
    uint64_t *digests = malloc(count * sizeof(*digests));
    if (digests == NULL) {
        return;
    }
    memcpy(digests, player->digests[array], count * sizeof(*digests));
    reckon_tree(digests, count);
    int code = moot_array_reduce(player->m, player->arrays[array], &combine, &result);
    code = code == MOOT_OK ? fetch_words(player, result, &words, &size) : code;
    if (judge_reduced(player, array, code) &&
        player_element_digest(words, size) != digests[0]) {
        player_wrong(player, player->medley->arrays[array].at,
                     "a tree of tasks has another result");
    }
    (void)moot_task_release(player->m, result);
    free(digests);
}

/* Elements that others read, too, and one that is likely read by nobody else. */
static void read_elements(struct medley_player *player, uint32_t array)
{
    const uint64_t count = player_array_count(player, array);
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
    player_cancel_array(player, array, false);
    if (how > 0) {
        (void)judge_code(
            player, array,
            moot_array_wait(player->m, player->arrays[array], MOOT_FOREVER),
            "an array ends otherwise");
    }
    read_elements(player, array);
    if (how == 3 && !player->over && !player->queues) {
        gather_elements(player, array);
    }
    if (how == 1 && !player->over && !player->queues &&
        word_of(player->medley, array, 0, 249) % 2 == 0) {
        reduce_array(player, array);
    }
    if (how == 2) {
        release_array(player, array);
    }
}

/* A rank with another count spawns another array, which is beside none. */
static void put_beside(const struct medley_player *player, uint32_t array,
                       moot_array_spec *spec)
{
    const struct medley_array *of = &player->medley->arrays[array];
    const uint32_t other = of->inputs[0].array;
    const bool any = of->candidates != 0 || player->medley->arrays[other].candidates !=
                                                0; /* not all of these */
    if (!any && of->beside && of->input_count > 0 && of->alike &&
        player_array_count(player, other) == spec->count) {
        spec->beside = player->arrays[other];
        spec->spread = (moot_spread){MOOT_SPREAD_BLOCK, 0};
    }
}

/* Some ranks spawn it in two parts, the rest while it has a handle of the first: that
 * is the same array. */
static int spawn_in_parts(struct medley_player *player, uint32_t array,
                          const moot_array_spec *spec, moot_array *out)
{
    const uint64_t cut = chance_of(player, array, 25) % spec->count;
    const moot_range tail = {cut, spec->count - cut}, rest = {0, cut};
    moot_array first;
    if (chance_of(player, array, 26) % 3 != 0 || cut == 0 ||
        player->medley->arrays[array].once) {
        return moot_array_spawn(player->m, spec, out);
    }
    int code = moot_array_spawn_some(player->m, spec, &tail, 1, &first);
    if (code == MOOT_OK) {
        code = moot_array_spawn_some(player->m, spec, &rest, 1, out);
        (void)moot_array_release(player->m, first);
    }
    return code;
}

static int spawn_as_drawn(struct medley_player *player, uint32_t array, moot_array *out)
{
    const struct medley_array *of = &player->medley->arrays[array];
    moot_array_input inputs[MEDLEY_ARRAY_INPUTS_MAX + 1];
    uint64_t words[MEDLEY_ARRAY_INPUTS_MAX][3];
    moot_task single = {0};
    int code = of->single ? player_spawn_single(player, array, &single) : MOOT_OK;
    for (uint32_t i = 0; i < of->input_count; i++) {
        inputs[i] = player_array_input(player, array, i, words[i]);
    }
    inputs[of->input_count] = (moot_array_input){.task = single};
    int ranks[MEDLEY_RANKS_MAX];
    const size_t candidates = player_array_candidates(player, array, ranks);
    const uint64_t urgency = chance_of(player, array, 24);
    moot_array_spec spec = {.size = sizeof(spec),
                            .kernel = of->once ? player->deed : player->element,
                            .count = player_array_count(player, array),
                            .args = &array,
                            .args_size = sizeof(array),
                            .inputs = inputs,
                            .input_count = of->input_count + of->single,
                            .key = of->once ? &array : NULL,
                            .key_size = of->once ? sizeof(array) : 0,
                            .spread = {(enum moot_spread_kind)of->spread, of->block},
                            .candidates = {candidates > 0 ? ranks : NULL, candidates},
                            .priority =
                                urgency % 3 == 0 ? (int32_t)(urgency >> 8 & 7) - 3 : 0};
    put_beside(player, array, &spec);
    code = code == MOOT_OK ? spawn_in_parts(player, array, &spec, out) : code;
    if (single.id != 0) {
        (void)moot_task_release(player->m, single);
    }
    player->over |= is_out(code);
    if (code != MOOT_OK && !player->over) {
        player_wrong(player, of->at, "an array is not spawned");
    }
    return code;
}

static bool has_inputs(const struct medley_player *player,
                       const struct medley_array *of)
{
    uint32_t i = 0;
    while (i < of->input_count && player->arrays[of->inputs[i].array].id != 0) {
        i++;
    }
    return i == of->input_count;
}

static void let_inputs_go(struct medley_player *player, const struct medley_array *of)
{
    for (uint32_t i = 0; i < of->input_count; i++) {
        if (player->arrays[of->inputs[i].array].id != 0) {
            release_array(player, of->inputs[i].array);
        }
    }
}

static void spawn_array(struct medley_player *player, uint32_t array)
{
    const struct medley_array *of = &player->medley->arrays[array];
    if (!has_inputs(player, of)) {
        return;
    }
    if (!player_reckon_array(player, array)) {
        player_wrong(player, of->at, "no memory");
        return;
    }
    moot_array again = {0};
    if (spawn_as_drawn(player, array, &player->arrays[array]) == MOOT_OK &&
        player_is_of(player, of->twice) &&
        spawn_as_drawn(player, array, &again) == MOOT_OK) {
        (void)moot_array_release(player->m, again);
    }
    if (player->arrays[array].id != 0) {
        player_name_array(player, array);
    }
    if (player_is_of(player, of->let_go) && !player->over) {
        let_inputs_go(player, of);
    }
    player_cancel_array(player, array, true);
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
            player_find_element(player, i);
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
    for (uint32_t i = 0; i < player->medley->array_count; i++) {
        free(player->digests[i]);
    }
}
