/* host_rings.c - see host_rings.h. */
#include "node/transport/shm/host_rings.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CAPACITY_MAX = 64 << 10, SEGMENT_BYTES_MAX = 32 << 20 };

/* --- How it is laid out ----------------------------------------------------------- */

static uint32_t ranks_here(const struct transport_group *group)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < group->size; rank++) {
        count += group->hosts[rank] == group->hosts[group->rank];
    }
    return count;
}

static uint32_t lowest_here(const struct transport_group *group)
{
    uint32_t rank = 0;
    while (group->hosts[rank] != group->hosts[group->rank]) {
        rank++;
    }
    return rank;
}

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
    return (struct ring *)(void *)((char *)rings->memory + at);
}

/* --- The steps -------------------------------------------------------------------- */

bool host_rings_make(struct host_rings *rings, const struct transport_group *group)
{
    const uint32_t ranks = ranks_here(group), lowest = lowest_here(group);
    const size_t capacity = capacity_for(ranks);
    if (ranks == 1) {
        return true;
    }
    if (capacity == 0) {
        return false;
    }
    rings->memory_bytes = ring_size(capacity) * ranks * ranks;
    rings->frame_max = ring_frame_max(capacity);
    snprintf(rings->name, sizeof(rings->name), "moot-%016" PRIx64, group->uids[lowest]);
    if (lowest != group->rank) {
        return true;
    }
    rings->fd = memfd_create(rings->name, MFD_CLOEXEC);
    rings->shown = rings->fd >= 0;
    return rings->shown &&
           posix_fallocate(rings->fd, 0, (off_t)rings->memory_bytes) == 0;
}

/* Opens the segment as that process has it open; -1 if it is not to be had. */
static int open_of(uint64_t pid, const char *name)
{
    char folder[32], wanted[64], path[PATH_MAX], target[sizeof(wanted)];
    snprintf(folder, sizeof(folder), "/proc/%" PRIu64 "/fd", pid);
    snprintf(wanted, sizeof(wanted), "/memfd:%s (deleted)", name);
    DIR *all = opendir(folder);
    int fd = -1;
    for (const struct dirent *one; all && fd < 0 && (one = readdir(all));) {
        snprintf(path, sizeof(path), "%s/%s", folder, one->d_name);
        const ssize_t length = readlink(path, target, sizeof(target));
        if (length == (ssize_t)strlen(wanted) &&
            memcmp(target, wanted, (size_t)length) == 0) {
            fd = open(path, O_RDWR | O_CLOEXEC);
        }
    }
    if (all) {
        closedir(all);
    }
    return fd;
}

static int open_segment(const struct host_rings *rings,
                        const struct transport_group *group)
{
    const struct process_name *maker = &group->processes[lowest_here(group)];
    return process_is_near(maker) ? open_of(maker->pid, rings->name) : -1;
}

/* Finds this rank's ends of the rings. */
static bool take_ends(struct host_rings *rings, const struct transport_group *group)
{
    const uint32_t ranks = ranks_here(group);
    const size_t capacity = capacity_for(ranks);
    uint32_t mine = 0, place = 0;
    rings->peers = calloc(ranks - 1, sizeof(*rings->peers));
    rings->index = malloc(group->size * sizeof(*rings->index));
    if (!rings->peers || !rings->index) {
        return false;
    }
    for (uint32_t rank = 0; rank < group->rank; rank++) {
        mine += group->hosts[rank] == group->hosts[group->rank];
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
    if (rings->memory_bytes == 0) {
        return true; /* alone */
    }
    const int fd = open_segment(rings, group);
    if (fd < 0) {
        return false;
    }
    void *memory =
        mmap(NULL, rings->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) {
        return false;
    }
    rings->memory = memory;
    return take_ends(rings, group);
}

void host_rings_hide(struct host_rings *rings)
{
    if (rings->shown) {
        close(rings->fd);
    }
    rings->shown = false;
}

void host_rings_close(struct host_rings *rings)
{
    host_rings_hide(rings);
    if (rings->memory) {
        munmap(rings->memory, rings->memory_bytes);
    }
    free(rings->peers);
    free(rings->index);
    *rings = (struct host_rings){.memory = NULL};
}
