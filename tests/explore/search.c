/* search.c - see search.h. */
#include "tests/explore/search.h"

#include <stdlib.h>
#include <string.h>

/* --- States that were seen ---------------------------------------------------------
 */

struct seen {
    struct digest128 digest; /* zero: free */
    uint64_t slept;          /* moves that were not taken there */
};

static struct seen *table;
static size_t table_room, table_count;

static struct seen *table_slot(struct seen *slots, size_t room, struct digest128 digest)
{
    size_t at = digest.low & (room - 1);
    while (slots[at].digest.high != 0 && (slots[at].digest.low != digest.low ||
                                          slots[at].digest.high != digest.high)) {
        at = (at + 1) & (room - 1);
    }
    return &slots[at];
}

static void table_widen(void)
{
    size_t room = table_room > 0 ? 2 * table_room : 1 << 16;
    struct seen *slots = calloc(room, sizeof(*slots));
    if (slots == NULL) {
        fprintf(stderr, "explore: no memory for %zu states\n", room);
        exit(1);
    }
    for (size_t i = 0; i < table_room; i++) {
        if (table[i].digest.high != 0) {
            *table_slot(slots, room, table[i].digest) = table[i];
        }
    }
    free(table);
    table = slots;
    table_room = room;
}

/* Its place; `digest.high` is zero if it was not seen. */
static struct seen *table_find(struct digest128 digest)
{
    if (4 * table_count >= 3 * table_room) {
        table_widen();
    }
    return table_slot(table, table_room, digest);
}

/* --- The search --------------------------------------------------------------------
 */

struct frame {
    struct arena_copy *copy;
    uint64_t left;  /* moves that are to be taken */
    uint64_t sleep; /* those that sleep */
};

static struct frame frames[SEARCH_DEPTH + 1];
static world_move path[SEARCH_DEPTH];
static uint32_t depth;

const world_move *search_path(uint32_t *length)
{
    *length = depth;
    return path;
}

static uint64_t awake_after(const struct scene *scene, uint64_t sleep, world_move move)
{
    uint64_t still = 0;
    for (world_move other = 0; other < WORLD_MOVES; other++) {
        if ((sleep & move_bit(other)) != 0 && world_independent(scene, move, other)) {
            still |= move_bit(other);
        }
    }
    return still;
}

/* The moves to be taken in the present state, with these asleep; notes that it was
 * seen.
 */
static uint64_t to_take(struct world *world, uint64_t sleep,
                        struct search_result *result)
{
    struct digest128 digest = world_digest(world);
    digest.high |= 1;
    struct seen *seen = table_find(digest);
    uint64_t moves = world_moves(world), take;
    if (seen->digest.high != 0) {
        take = seen->slept & moves & ~sleep;
        seen->slept &= sleep;
        return take;
    }
    *seen = (struct seen){digest, sleep};
    table_count++;
    result->states++;
    if (moves == 0) {
        result->ends++;
        result->wrong = world_unfinished(world);
    }
    return moves & ~sleep;
}

static void frame_enter(struct world *world, uint64_t sleep,
                        struct search_result *result)
{
    struct frame *frame = &frames[depth];
    frame->left = to_take(world, sleep, result);
    frame->sleep = sleep;
    if ((frame->left & (frame->left - 1)) != 0) { /* else nothing comes back here */
        frame->copy = arena_save(frame->copy);
    }
}

/* False: nothing is left. */
static bool advance(struct world *world, const struct scene *scene,
                    const struct search_bounds *bounds, struct search_result *result,
                    bool *fresh)
{
    while (frames[depth].left == 0) {
        if (depth == 0) {
            return false;
        }
        depth--;
        *fresh = false;
    }
    struct frame *frame = &frames[depth];
    if (!*fresh) {
        arena_restore(frame->copy);
    }
    world_move move = move_first(frame->left);
    uint64_t sleep = bounds->holds == 0 ? awake_after(scene, frame->sleep, move) : 0;
    frame->left &= ~move_bit(move);
    frame->sleep |= bounds->holds == 0 ? move_bit(move) : 0;
    path[depth++] = move;
    arena_enter();
    world_play(world, move);
    arena_leave();
    result->moves++;
    result->longest = depth > result->longest ? depth : result->longest;
    result->wrong = world_wrong(world);
    if (result->wrong == NULL && depth == bounds->depth) {
        result->wrong = "I16: it goes on and on";
    }
    if (result->wrong == NULL) {
        frame_enter(world, sleep, result);
        *fresh = frames[depth].left != 0;
    }
    return true;
}

void search_scene(const struct scene *scene, const struct search_bounds *bounds,
                  struct search_result *result)
{
    memset(result, 0, sizeof(*result));
    free(table);
    table = NULL;
    table_room = table_count = 0;
    depth = 0;
    arena_enter();
    arena_reset();
    struct world *world = world_open(scene, bounds->holds);
    arena_leave();
    frame_enter(world, 0, result);
    bool fresh = true;
    while (result->wrong == NULL &&
           (bounds->states == 0 || result->states < bounds->states)) {
        if (!advance(world, scene, bounds, result, &fresh)) {
            result->whole = true;
            break;
        }
    }
    if (result->wrong != NULL) {
        memcpy(result->path, path, depth * sizeof(*path));
        result->path_length = depth;
    }
}
