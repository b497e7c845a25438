/* host_rings.c - see host_rings.h. */
#include "node/transport/shm/host_rings.h"

#include <stdlib.h>

enum { CAPACITY_MAX = 64 << 10, SEGMENT_BYTES_MAX = 32 << 20 };

/* --- How it is laid out ----------------------------------------------------------- */

/* 0: there are too many ranks. */
static size_t capacity_for(uint32_t ranks)
{
    size_t pairs = (size_t)ranks * ranks, capacity = CAPACITY_MAX;
    while (capacity >= RING_BYTES_MIN &&
           pairs > SEGMENT_BYTES_MAX / ring_size(capacity)) {
        capacity /= 2;
    }
    return capacity >= RING_BYTES_MIN ? capacity : 0;
}

static struct ring *ring_between(const struct host_rings *rings, size_t capacity,
                                 uint32_t ranks, uint32_t from, uint32_t to)
{
    size_t at = ((size_t)from * ranks + to) * ring_size(capacity);
    return (struct ring *)(void *)((char *)rings->memory.bytes + at);
}

/* --- The steps -------------------------------------------------------------------- */

bool host_rings_make(struct host_rings *rings, const struct transport_group *group)
{
    const uint32_t ranks = host_ranks(group);
    const size_t capacity = capacity_for(ranks);
    if (ranks == 1) {
        return true;
    }
    if (capacity == 0) {
        return false;
    }
    rings->frame_max = ring_frame_max(capacity);
    return host_memory_make(&rings->memory, group, "moot",
                            ring_size(capacity) * ranks * ranks);
}

/* Finds this rank's ends of the rings. */
static bool take_ends(struct host_rings *rings, const struct transport_group *group)
{
    const uint32_t ranks = host_ranks(group), mine = host_place(group, group->rank);
    const size_t capacity = capacity_for(ranks);
    uint32_t place = 0;
    rings->peers = calloc(ranks - 1, sizeof(*rings->peers));
    rings->index = malloc(group->size * sizeof(*rings->index));
    if (!rings->peers || !rings->index) {
        return false;
    }
    for (uint32_t rank = 0; rank < group->size; rank++) {
        rings->index[rank] = UINT32_MAX;
        if (group->hosts[rank] != group->hosts[group->rank]) {
            continue;
        }
        if (rank != group->rank) {
            rings->index[rank] = rings->count;
            rings->peers[rings->count++] = (struct near){
                .rank = rank,
                .out = {.ring = ring_between(rings, capacity, ranks, mine, place),
                        .capacity = capacity},
                .in = {.ring = ring_between(rings, capacity, ranks, place, mine),
                       .capacity = capacity}};
        }
        place++;
    }
    return true;
}

bool host_rings_map(struct host_rings *rings, const struct transport_group *group)
{
    return rings->memory.size == 0 || /* alone */
           (host_memory_map(&rings->memory, group) && take_ends(rings, group));
}

void host_rings_hide(struct host_rings *rings) { host_memory_hide(&rings->memory); }

void host_rings_close(struct host_rings *rings)
{
    host_memory_close(&rings->memory);
    free(rings->peers);
    free(rings->index);
    *rings = (struct host_rings){.count = 0};
}

/* --- With boards ------------------------------------------------------------------ */

int host_share(struct host_rings *rings, struct host_memory *boards,
               struct transport_group *group,
               int (*all_have)(const void *context, bool *have), const void *context)
{
    const size_t size = (size_t)TRANSPORT_BOARD_BYTES * host_ranks(group);
    bool have = host_rings_make(rings, group);
    if (!host_memory_make(boards, group, "moot-boards", size)) {
        host_memory_close(boards); /* so that nobody finds it */
    }
    int code = all_have(context, &have);
    if (host_memory_map(boards, group)) {
        host_boards_find(boards, group);
    }
    have = have && host_rings_map(rings, group);
    code = code == MOOT_OK ? all_have(context, &have) : code;
    host_memory_hide(boards);
    host_rings_hide(rings);
    if (!have) {
        host_rings_close(rings);
    }
    return code;
}
