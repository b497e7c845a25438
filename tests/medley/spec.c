/* spec.c - how a player spawns a task of its medley, and finds one that it does
 * not spawn (player.h).
 */
#include "tests/medley/player.h"

struct spec_room {
    uint32_t task;
    moot_task inputs[MEDLEY_INPUTS_MAX];
    moot_hash hash;
    int candidates[MEDLEY_RANKS_MAX];
    bool then; /* the first input is what it continues */
    moot_task_spec spec;
};

/* How many of its inputs are what its accesses read. */
static uint32_t count_reads(const struct medley_task *extra)
{
    uint32_t reads = 0;
    for (uint32_t i = 0; i < extra->access_count; i++) {
        reads += extra->accesses[i].reads;
    }
    return reads;
}

/* The last input that is data by its hash, if the rank does it so. */
static void name_by_hash(const struct medley_player *player, struct spec_room *room)
{
    const struct medley_task *extra = &player->medley->tasks[room->task];
    moot_task_info info;
    moot_task_spec *spec = &room->spec;
    if (player_is_of(player, extra->by_hash) && spec->input_count > 0 &&
        moot_task_info(player->m, spec->inputs[spec->input_count - 1], &info) ==
            MOOT_OK) {
        room->hash = info.hash;
        spec->input_hashes = &room->hash;
        spec->input_hash_count = 1;
        spec->input_count--;
    }
}

/* `whole`: all inputs are named, and not given by accesses or a continuation. */
static void write_spec(const struct medley_player *player, struct spec_room *room,
                       uint32_t task, bool whole)
{
    const struct medley_recipe *recipe = player_recipe(player, task);
    const struct medley_task *extra = &player->medley->tasks[task];
    uint32_t data = recipe->input_count - recipe->after_count;
    uint32_t given = whole ? 0 : count_reads(extra);
    bool once = recipe->kind == MEDLEY_ONCE || recipe->kind == MEDLEY_AGAIN;
    room->task = task;
    for (uint32_t i = 0; i < recipe->input_count; i++) {
        room->inputs[i] = player->handles[recipe->inputs[i]];
    }
    room->then = !whole && extra->access_count == 0 && data > 0 &&
                 player_is_of(player, extra->then);
    given += room->then;
    room->spec =
        (moot_task_spec){.kernel = player->kernels[recipe->kind],
                         .args = &room->task,
                         .args_size = sizeof(room->task),
                         .inputs = room->inputs + given,
                         .input_count = data - given,
                         .after = recipe->after_count > 0 ? room->inputs + data : NULL,
                         .after_count = recipe->after_count,
                         .key = once ? &room->task : NULL,
                         .key_size = once ? sizeof(room->task) : 0,
                         .priority = extra->priority,
                         .label = extra->label[0] != '\0' ? extra->label : NULL,
                         .flags = recipe->hint ? MOOT_TASK_CONDITIONAL : 0u};
    for (uint32_t rank = 0; rank < player->medley->base.ranks; rank++) {
        if (recipe->candidates >> rank & 1) {
            room->candidates[room->spec.candidates.count++] = (int)rank;
        }
    }
    room->spec.candidates.ranks =
        room->spec.candidates.count > 0 ? room->candidates : NULL;
    if (!whole) {
        name_by_hash(player, room);
    }
}

static int spawn_with_data(struct medley_player *player, const struct spec_room *room,
                           moot_task *out)
{
    const struct medley_task *extra = &player->medley->tasks[room->task];
    moot_access accesses[MEDLEY_ACCESS_MAX];
    for (uint32_t i = 0; i < extra->access_count; i++) {
        uint32_t mode = (extra->accesses[i].reads ? (uint32_t)MOOT_READ : 0u) |
                        (extra->accesses[i].writes ? (uint32_t)MOOT_WRITE : 0u);
        accesses[i] = (moot_access){player->data[extra->accesses[i].data],
                                    (enum moot_access_mode)mode};
    }
    return moot_data_spawn(player->m, &room->spec, accesses, extra->access_count, out);
}

int player_spawn(struct medley_player *player, uint32_t task, moot_task *out)
{
    struct spec_room room = {0};
    write_spec(player, &room, task, false);
    if (player->medley->tasks[task].access_count > 0) {
        return spawn_with_data(player, &room, out);
    }
    return room.then ? moot_task_then(player->m, room.inputs[0], &room.spec, out)
                     : moot_task_spawn(player->m, &room.spec, out);
}

/* A handle on a task that this rank does not spawn. */
int player_find(struct medley_player *player, uint32_t task, moot_task *out)
{
    const struct medley_task *extra = &player->medley->tasks[task];
    struct spec_room room = {0};
    moot_hash hash;
    write_spec(player, &room, task, true);
    int code = MOOT_OK;
    if (player_is_of(player, extra->by_hash | extra->declined)) {
        code = moot_spec_hash(player->m, &room.spec, &hash);
    }
    if (code == MOOT_OK && player_is_of(player, extra->declined)) {
        code = moot_decline(player->m, &hash);
    }
    if (code == MOOT_OK) {
        code = player_is_of(player, extra->by_hash)
                   ? moot_task_find(player->m, &hash, out)
                   : moot_task_name(player->m, &room.spec, out);
    }
    return code;
}

int player_spawn_again(struct medley_player *player, uint32_t task, moot_task *out)
{
    struct spec_room room = {0};
    write_spec(player, &room, task, true);
    return moot_task_spawn(player->m, &room.spec, out);
}
