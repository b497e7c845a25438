/* meeting.c - a lane comes to a task (player.h): who holds it spawns it, in one of the
 * ways that give the same task, and all others have a handle of it.
 */
#include "tests/mpi/hostile/player.h"

#include <string.h>

/* A spec with room for what it points to. */
struct wish {
    moot_task_spec spec;
    uint32_t args[2];
    moot_task inputs[CHAOS_INPUTS_MAX];
    moot_hash hashes[CHAOS_INPUTS_MAX];
    int candidates[CHAOS_RANKS_MAX];
    char label[16];
};

struct dice strand_dice(const struct strand *strand, uint32_t task, uint32_t what)
{
    uint64_t place =
        ((uint64_t)task * CHAOS_RANKS_MAX + (uint32_t)player.rank) * CHAOS_LANES_MAX +
        strand->number;
    return chaos_dice(strand->chaos->seed, (place << 8 | what) + (UINT64_C(1) << 32));
}

static bool hash_of(moot_task handle, moot_hash *hash)
{
    moot_task_info info;
    if (moot_task_info(player.m, handle, &info) != MOOT_OK) {
        return false;
    }
    *hash = info.hash;
    return true;
}

static void name_candidates(struct wish *wish, const struct recipe *recipe, bool place)
{
    moot_task_spec *spec = &wish->spec;
    for (uint32_t rank = 0; rank < CHAOS_RANKS_MAX; rank++) {
        if (recipe->candidates >> rank & 1) {
            wish->candidates[spec->candidates.count++] = (int)rank;
        }
    }
    if (place && spec->candidates.count == 1) { /* an owner is a candidate set of one */
        spec->candidates.count = 0;
        spec->owner = MOOT_ON(wish->candidates[0]);
    }
    spec->candidates.ranks = spec->candidates.count > 0 ? wish->candidates : NULL;
}

/* Some of the last data inputs by their hashes: the task is the same. */
static void name_by_hash(const struct strand *strand, struct wish *wish,
                         struct dice *dice)
{
    moot_task_spec *spec = &wish->spec;
    if (!chaos_flip(strand->chaos, dice, CHAOS_HAS_HASHES, 25)) {
        return;
    }
    size_t kept = dice_draw(dice, CHAOS_INPUTS_MAX + 1), first = spec->input_count;
    while (first > kept && hash_of(wish->inputs[first - 1], &wish->hashes[first - 1])) {
        first--;
    }
    spec->input_hashes = wish->hashes + first;
    spec->input_hash_count = spec->input_count - first;
    spec->input_count = first;
}

static void make_wish(const struct strand *strand, uint32_t task, struct wish *wish)
{
    const struct recipe *recipe = &strand->chaos->tasks_of[task];
    struct dice dice = strand_dice(strand, task, 1);
    uint32_t data = recipe_data_count(recipe);
    bool once = recipe->kind == CHAOS_ONCE || recipe->kind == CHAOS_AGAIN;
    *wish = (struct wish){.args = {player.round, task}};
    for (uint32_t i = 0; i < recipe->input_count; i++) {
        wish->inputs[i] = strand->handles[recipe->inputs[i]];
    }
    wish->spec = (moot_task_spec){.size = sizeof(wish->spec),
                                  .kernel = player.kernels[recipe->kind],
                                  .args = wish->args,
                                  .args_size = sizeof(wish->args),
                                  .inputs = wish->inputs,
                                  .input_count = data,
                                  .after = wish->inputs + data,
                                  .after_count = recipe->after_count,
                                  .key = once ? wish->args : NULL,
                                  .key_size = once ? sizeof(wish->args) : 0,
                                  .priority = recipe->priority,
                                  .flags = recipe->hint ? MOOT_TASK_CONDITIONAL : 0u};
    if (recipe->label != 0) {
        (void)snprintf(wish->label, sizeof(wish->label), "%c/%u", recipe->label,
                       (unsigned)task);
        wish->spec.label = wish->label;
    }
    name_candidates(wish, recipe, dice_chance(&dice, 50));
    name_by_hash(strand, wish, &dice);
}

/* --- Ways to spawn ---------------------------------------------------------------- */

/* The first input is the newest version of a data handle. */
static int spawn_by_data(struct strand *strand, uint32_t task, struct wish *wish,
                         moot_task *out)
{
    const struct recipe *recipe = &strand->chaos->tasks_of[task];
    bool writes = recipe->kind == CHAOS_UPDATES;
    moot_hash spawned, version;
    moot_task newest = {0};
    int code = MOOT_OK;
    if (strand->datum.is_open && strand->datum.task != recipe->inputs[0]) {
        (void)moot_data_release(player.m, strand->datum.data);
        strand->datum.is_open = false;
    }
    if (!strand->datum.is_open) {
        code = moot_data_new(player.m, wish->inputs[0], &strand->datum.data);
        strand->datum.is_open = code == MOOT_OK;
        strand->datum.task = recipe->inputs[0];
    }
    if (code != MOOT_OK) {
        return code;
    }
    const moot_access access = {strand->datum.data,
                                writes ? MOOT_READWRITE : MOOT_READ};
    wish->spec.inputs = wish->inputs + 1;
    wish->spec.input_count--;
    code = moot_data_spawn(player.m, &wish->spec, &access, 1, out);
    if (code == MOOT_OK && writes) {
        strand->datum.task = task;
        bool got = moot_data_version(player.m, strand->datum.data, &newest) == MOOT_OK;
        if (got && hash_of(*out, &spawned) && hash_of(newest, &version) &&
            memcmp(&spawned, &version, sizeof(version)) != 0) {
            player_wrong(task, "the newest version is another task's");
        }
        (void)moot_task_release(player.m, newest);
    }
    return code;
}

static int spawn_as_then(struct wish *wish, moot_task *out)
{
    wish->spec.inputs = wish->inputs + 1;
    wish->spec.input_count--;
    return moot_task_then(player.m, wish->inputs[0], &wish->spec, out);
}

/* However the second spawn ends: the first is the one that is judged. */
static int spawn_twice(const struct wish *wish, moot_task *out)
{
    moot_task again = {0};
    int code = moot_task_spawn(player.m, &wish->spec, out);
    if (code == MOOT_OK && moot_task_spawn(player.m, &wish->spec, &again) == MOOT_OK) {
        (void)moot_task_release(player.m, again);
    }
    return code;
}

static int spawn_somehow(struct strand *strand, uint32_t task, struct wish *wish)
{
    struct dice dice = strand_dice(strand, task, 2);
    const struct chaos *chaos = strand->chaos;
    moot_task *out = &strand->handles[task];
    bool has_first = wish->spec.input_count > 0;
    bool updates = chaos->tasks_of[task].kind == CHAOS_UPDATES;
    bool data = chaos_flip(chaos, &dice, CHAOS_HAS_DATA, updates ? 50 : 25);
    bool then = chaos_flip(chaos, &dice, CHAOS_HAS_THENS, 20);
    bool twice = chaos_flip(chaos, &dice, CHAOS_HAS_TWICE, 10);
    return has_first && data          ? spawn_by_data(strand, task, wish, out)
           : has_first && then        ? spawn_as_then(wish, out)
           : twice && !chaos->lets_go ? spawn_twice(wish, out)
                                      : moot_task_spawn(player.m, &wish->spec, out);
}

/* --- Meeting ---------------------------------------------------------------------- */

static void enter_scope(struct strand *strand, uint32_t task)
{
    int wanted = strand->chaos->tasks_of[task].scope;
    char name[48];
    int code = MOOT_OK;
    if (wanted == strand->scope) {
        return;
    }
    if (strand->scope >= 0) {
        code = moot_scope_close(player.m);
        strand->scopes--;
    }
    if (wanted >= 0 && code == MOOT_OK) {
        (void)snprintf(name, sizeof(name), "round %u, scope %d", (unsigned)player.round,
                       wanted);
        code = moot_scope_open(player.m, name);
        strand->scopes += code == MOOT_OK;
    }
    strand->scope = wanted;
    if (code != MOOT_OK && !player_is_out(code)) {
        player_note(task, code, 0);
    }
    player.over |= player_is_out(code);
}

/* A handle of what another lane or rank spawns. */
static int name_or_find(const struct strand *strand, const struct wish *wish,
                        uint32_t task, moot_task *out)
{
    struct dice dice = strand_dice(strand, task, 3);
    moot_hash hash;
    if (chaos_flip(strand->chaos, &dice, CHAOS_HAS_HASHES, 50)) {
        int code = moot_spec_hash(player.m, &wish->spec, &hash);
        return code == MOOT_OK ? moot_task_find(player.m, &hash, out) : code;
    }
    return moot_task_name(player.m, &wish->spec, out);
}

static void compare_hash(const struct strand *strand, const moot_hash *told,
                         uint32_t task)
{
    moot_hash hash;
    if (hash_of(strand->handles[task], &hash) &&
        memcmp(&hash, told, sizeof(hash)) != 0) {
        player_wrong(task, "its hash is another than its spec's");
    }
}

static void cancel_some(const struct strand *strand, uint32_t task)
{
    const struct recipe *recipe = &strand->chaos->tasks_of[task];
    const char prefix[] = {recipe->clears, '/', '\0'};
    if (recipe->canceller == player.rank) {
        (void)moot_task_cancel(player.m, strand->handles[task]);
    }
    if (recipe->clearer == player.rank && recipe->lane == strand->number) {
        (void)moot_task_cancel_label(player.m, prefix);
    }
}

void strand_meet(struct strand *strand, uint32_t task)
{
    const struct recipe *recipe = &strand->chaos->tasks_of[task];
    struct wish wish;
    moot_hash told;
    enter_scope(strand, task);
    if (player.over) {
        return;
    }
    make_wish(strand, task, &wish);
    bool mine = recipe->lane == strand->number && (recipe->holders >> player.rank & 1);
    int code = moot_spec_hash(player.m, &wish.spec, &told);
    if (mine && code == MOOT_OK) {
        code = spawn_somehow(strand, task, &wish);
        if (code == MOOT_OK) {
            compare_hash(strand, &told, task);
        }
    }
    /* Through a queue the error may be another task's, which goes up with this one. */
    if (code != MOOT_OK && (strand->queues == 0 || player_is_out(code))) {
        player_note(task, code, 0);
    }
    player.over |= player_is_out(code);
    if (strand->handles[task].id == 0 && !player.over) {
        make_wish(strand, task, &wish);
        code = name_or_find(strand, &wish, task, &strand->handles[task]);
        if (code != MOOT_OK) {
            player_note(task, code, 0);
        }
    }
    if (!player.over) {
        cancel_some(strand, task);
    }
}
