/* host_memory.c - see host_memory.h. */
#include "node/transport/shm/host_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint32_t host_ranks(const struct transport_group *group)
{
    return host_place(group, group->size);
}

uint32_t host_place(const struct transport_group *group, uint32_t rank)
{
    uint32_t before = 0;
    for (uint32_t other = 0; other < rank; other++) {
        before += group->hosts[other] == group->hosts[group->rank];
    }
    return before;
}

static uint32_t lowest_here(const struct transport_group *group)
{
    uint32_t rank = 0;
    while (group->hosts[rank] != group->hosts[group->rank]) {
        rank++;
    }
    return rank;
}

bool host_memory_make(struct host_memory *memory, const struct transport_group *group,
                      const char *kind, size_t size)
{
    const uint32_t lowest = lowest_here(group);
    memory->size = size;
    snprintf(memory->name, sizeof(memory->name), "%s-%016" PRIx64, kind,
             group->uids[lowest]);
    if (lowest != group->rank) {
        return true;
    }
    memory->fd = memfd_create(memory->name, MFD_CLOEXEC);
    memory->shown = memory->fd >= 0;
    return memory->shown && posix_fallocate(memory->fd, 0, (off_t)size) == 0;
}

/* Opens the file as that process has it open; -1 if it is not to be had. */
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

bool host_memory_map(struct host_memory *memory, const struct transport_group *group)
{
    const struct process_name *maker = &group->processes[lowest_here(group)];
    const int fd = memory->size > 0 && process_is_near(maker)
                       ? open_of(maker->pid, memory->name)
                       : -1;
    if (fd < 0) {
        return false;
    }
    void *bytes = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    memory->bytes = bytes != MAP_FAILED ? bytes : NULL;
    return memory->bytes != NULL;
}

void host_memory_hide(struct host_memory *memory)
{
    if (memory->shown) {
        close(memory->fd);
    }
    memory->shown = false;
}

void host_memory_close(struct host_memory *memory)
{
    host_memory_hide(memory);
    if (memory->bytes) {
        munmap(memory->bytes, memory->size);
    }
    *memory = (struct host_memory){.bytes = NULL};
}

void host_boards_find(const struct host_memory *memory, struct transport_group *group)
{
    unsigned char *next = memory->bytes;
    group->boards = calloc(group->size, sizeof(*group->boards));
    for (uint32_t rank = 0; group->boards && rank < group->size; rank++) {
        if (group->hosts[rank] == group->hosts[group->rank]) {
            group->boards[rank] = next;
            next += TRANSPORT_BOARD_BYTES;
        }
    }
}
