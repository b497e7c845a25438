/* peer_monitor.c - see peer_monitor.h. */
#include "node/members/peer_monitor.h"

#include "node/transport/host/process.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(1000000)
#define LOOK_AT_PROC_NS UINT64_C(10000000)

enum { EVENTS = 16, NOBODY = -1, BY_PROC = -2 };

struct watch {
    int epoll;
    uint32_t size, count;
    uint32_t by_proc; /* of them, without a descriptor */
    int *descriptors; /* per rank; or NOBODY, or BY_PROC */
    struct process_name *names;
    uint64_t looked_ns, proc_looked_ns;
    uint32_t *ended; /* found, and not told yet */
    uint32_t ended_count;
};

static void watch_peer(struct watch *watch, uint32_t rank)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = rank};
    if (!process_is_near(&watch->names[rank])) {
        return;
    }
    int fd = process_open(&watch->names[rank]);
    if (fd >= 0 && epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        close(fd);
        fd = -1;
    }
    watch->descriptors[rank] = fd >= 0 ? fd : BY_PROC;
    watch->by_proc += fd < 0;
    watch->count++;
}

struct watch *watch_new(const struct transport_group *group)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL) {
        return NULL;
    }
    watch->size = group->size;
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch->descriptors = malloc(group->size * sizeof(*watch->descriptors));
    watch->names = calloc(group->size, sizeof(*watch->names));
    watch->ended = calloc(group->size, sizeof(*watch->ended));
    if (watch->epoll < 0 || watch->descriptors == NULL || watch->names == NULL ||
        watch->ended == NULL) {
        watch->size = 0;
        watch_free(watch);
        return NULL;
    }
    for (uint32_t rank = 0; rank < group->size; rank++) {
        watch->descriptors[rank] = NOBODY;
    }
    for (uint32_t step = 1; group->processes != NULL && step < group->size; step++) {
        watch_add(watch, group, (group->rank + step) % group->size);
    }
    return watch;
}

void watch_add(struct watch *watch, const struct transport_group *group, uint32_t rank)
{
    const uint32_t most = group->told_of_deaths ? PEERS_WATCHED_MAX : UINT32_MAX;
    if (group->uids[rank] != 0 && watch->count < most) {
        watch->names[rank] = group->processes[rank];
        watch_peer(watch, rank);
    }
}

void watch_free(struct watch *watch)
{
    if (watch == NULL) {
        return;
    }
    for (uint32_t rank = 0; rank < watch->size; rank++) {
        if (watch->descriptors[rank] >= 0) {
            close(watch->descriptors[rank]);
        }
    }
    if (watch->epoll >= 0) {
        close(watch->epoll);
    }
    free(watch->descriptors);
    free(watch->names);
    free(watch->ended);
    free(watch);
}

static void found(struct watch *watch, uint32_t rank)
{
    if (watch->descriptors[rank] >= 0) {
        close(watch->descriptors[rank]); /* which takes it out of the epoll set */
    } else {
        watch->by_proc--;
    }
    watch->descriptors[rank] = NOBODY;
    watch->count--;
    watch->ended[watch->ended_count++] = rank;
}

static void look_at_proc(struct watch *watch)
{
    for (uint32_t rank = 0; rank < watch->size; rank++) {
        if (watch->descriptors[rank] == BY_PROC &&
            !process_lives(&watch->names[rank])) {
            found(watch, rank);
        }
    }
}

static void look(struct watch *watch, uint64_t now_ns)
{
    struct epoll_event events[EVENTS];
    watch->looked_ns = now_ns;
    int ready =
        watch->count > watch->by_proc ? epoll_wait(watch->epoll, events, EVENTS, 0) : 0;
    for (int i = 0; i < ready; i++) {
        found(watch, events[i].data.u32);
    }
    if (watch->by_proc > 0 && now_ns - watch->proc_looked_ns >= LOOK_AT_PROC_NS) {
        watch->proc_looked_ns = now_ns;
        look_at_proc(watch);
    }
}

uint32_t watch_next(struct watch *watch, uint64_t now_ns)
{
    if (watch->ended_count == 0 && watch->count > 0 &&
        now_ns - watch->looked_ns >= LOOK_NS) {
        look(watch, now_ns);
    }
    return watch->ended_count > 0 ? watch->ended[--watch->ended_count] : UINT32_MAX;
}
