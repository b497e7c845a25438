/* array_own_maps.c - maps of a medley's own, which it registers (array_maps.c).
 *
 * One input in four goes by such a map: an element takes some that stand SCATTER apart,
 * each a range of its own, round and round.  There are several of these maps, with the
 * same sources.  One has a right inverse, one none; those of the others leave all or
 * some out, or name too much.  What an element takes is the same for all of them.
 */
#include "tests/medley/player.h"

enum { SCATTER = 7 };
enum { RIGHT, NONE, ALL_OUT, SOME_OUT, TOO_MUCH };

static uint64_t piece_of(const struct medley_own_map *args, uint64_t element,
                         uint64_t piece, uint64_t source_count)
{
    return (element + args->from + piece * SCATTER) % source_count;
}

static int take(void *user, const void *args, size_t args_size, uint64_t element,
                uint64_t count, uint64_t source_count, moot_range *out, size_t room)
{
    const struct medley_own_map *own = args;
    (void)user, (void)count;
    for (uint64_t i = 0; i < own->pieces && i < room; i++) {
        out[i] = (moot_range){piece_of(own, element, i, source_count), 1};
    }
    return args_size == sizeof(*own) ? (int)own->pieces : -1;
}

/* The takers of a piece are as far apart as the input is long. */
static int feed(void *user, const void *args, size_t args_size, uint64_t element,
                uint64_t count, uint64_t source_count, moot_range *out, size_t room)
{
    const struct medley_own_map *own = args;
    const int *inverse = user;
    int found = 0;
    (void)args_size;
    if (*inverse == ALL_OUT || (*inverse == SOME_OUT && element % 3 == 0)) {
        return 0;
    }
    if (*inverse == TOO_MUCH) {
        out[0] = (moot_range){0, count + 5};
        return 1;
    }
    for (uint64_t i = 0; i < own->pieces; i++) {
        const uint64_t back = piece_of(own, 0, i, source_count);
        uint64_t taker = (element + source_count - back) % source_count;
        for (; taker < count; taker += source_count) {
            if ((size_t)found < room) {
                out[found] = (moot_range){taker, 1};
            }
            found++;
        }
    }
    return found;
}

int player_register_maps(struct medley_player *player)
{
    static const char *const names[] = {"right", "none", "all out", "some out", "much"};
    static int inverses[MEDLEY_OWN_MAPS] = {RIGHT, NONE, ALL_OUT, SOME_OUT, TOO_MUCH};
    int code = MOOT_OK;
    for (int i = 0; i < MEDLEY_OWN_MAPS && code == MOOT_OK; i++) {
        const moot_map map = {.name = names[i],
                              .sources = take,
                              .targets = i != NONE ? feed : NULL,
                              .user = &inverses[i]};
        code = moot_map_register(player->m, &map, &player->maps[i]);
    }
    return code;
}

void medley_draw_own_maps(struct medley *medley)
{
    for (uint32_t array = 0; array < medley->array_count; array++) {
        struct medley_array *of = &medley->arrays[array];
        for (uint32_t i = 0; i < of->input_count; i++) {
            const uint64_t word = medley_mix(medley->base.seed * 41 +
                                             array * MEDLEY_ARRAY_INPUTS_MAX + i);
            const uint32_t which = (uint32_t)(word >> 8) % MEDLEY_OWN_MAPS;
            of->inputs[i].own = word % 4 == 0 ? 1 + which : 0;
        }
    }
}

moot_map_id player_own_map(const struct medley_player *player,
                           const struct medley_array_input *input,
                           struct medley_own_map *args)
{
    *args = (struct medley_own_map){.from = (uint64_t)(input->low + 6),
                                    .pieces = (uint64_t)(input->high - input->low)};
    return player->maps[input->own - 1];
}

uint32_t player_own_sources(const struct medley_array_input *input, uint64_t index,
                            uint64_t source_count, uint64_t *out)
{
    const struct medley_own_map args = {.from = (uint64_t)(input->low + 6),
                                        .pieces = (uint64_t)(input->high - input->low)};
    for (uint64_t i = 0; i < args.pieces; i++) {
        out[i] = piece_of(&args, index, i, source_count);
    }
    return (uint32_t)args.pieces;
}
