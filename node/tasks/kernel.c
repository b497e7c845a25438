/* kernel.c - see kernel.h. */
#include "node/tasks/kernel.h"

#include "consensus/core.h"
#include "node/tasks/build_id.h"
#include "proto/limits.h"

#include <stdlib.h>
#include <string.h>

struct rumour {
    char *name;
    uint32_t rank, version, flags;
    bool passed; /* on to others, who need not hear of it again */
};

/* What peers say is bounded: a rumour beyond this is forgotten, and the mismatch found
 * by whoever registers the kernel and is told of it. */
enum { RUMOURS_MAX = LIMIT_KERNELS * 4 };

void kernels_release(struct kernels *kernels)
{
    for (uint32_t i = 0; i < kernels->count; i++) {
        free(kernels->items[i]->name);
        free(kernels->items[i]);
    }
    for (uint32_t i = 0; i < kernels->rumour_count; i++) {
        free(kernels->rumours[i].name);
    }
    free(kernels->items);
    free(kernels->rumours);
    *kernels = (struct kernels){0};
}

struct kernel *kernel_find(const struct kernels *kernels, const char *name)
{
    for (uint32_t i = 0; i < kernels->count; i++) {
        if (strcmp(kernels->items[i]->name, name) == 0) {
            return kernels->items[i];
        }
    }
    return NULL;
}

/* True if this put the kernel into conflict just now. */
static bool compare(struct kernel *kernel, uint32_t rank, uint32_t version,
                    uint32_t flags)
{
    if (kernel->conflict || (kernel->version == version && kernel->flags == flags)) {
        return false;
    }
    kernel->conflict = true;
    kernel->peer_rank = rank;
    kernel->peer_version = version;
    kernel->peer_flags = flags;
    return true;
}

static uint32_t core_flags(uint32_t flags)
{
    return ((flags & MOOT_KERNEL_ONCE) ? CORE_TASK_ONCE : 0u) |
           ((flags & MOOT_KERNEL_IDEMPOTENT) ? CORE_TASK_IDEMPOTENT : 0u) |
           ((flags & MOOT_KERNEL_PORTABLE) ? CORE_TASK_PORTABLE : 0u) |
           ((flags & MOOT_KERNEL_NONDETERMINISTIC) ? CORE_TASK_NONDETERMINISTIC : 0u);
}

struct kernel *kernel_add(struct kernels *kernels, const moot_kernel *said)
{
    struct kernel **items =
        realloc(kernels->items, (kernels->count + 1) * sizeof(struct kernel *));
    if (items == NULL) {
        return NULL;
    }
    kernels->items = items;
    struct kernel *kernel = calloc(1, sizeof(*kernel));
    char *name = strdup(said->name);
    if (kernel == NULL || name == NULL) {
        free(kernel);
        free(name);
        return NULL;
    }
    *kernel = (struct kernel){.name = name,
                              .version = said->version,
                              .flags = said->flags,
                              .core_flags = core_flags(said->flags),
                              .fn = said->fn,
                              .user = said->user,
                              .retries = said->retries,
                              .retry_backoff = said->retry_backoff};
    kernel->build_size = build_id_at((uintptr_t)said->fn, kernel->build);
    identity_kernel_init(&kernel->identity, name, said->version);
    items[kernels->count++] = kernel;
    for (uint32_t i = 0; i < kernels->rumour_count; i++) {
        const struct rumour *rumour = &kernels->rumours[i];
        if (strcmp(rumour->name, name) == 0) {
            compare(kernel, rumour->rank, rumour->version, rumour->flags);
            kernel->told |= rumour->passed && rumour->version == kernel->version &&
                            rumour->flags == kernel->flags;
        }
    }
    return kernel;
}

struct kernel *kernel_add_own(struct kernels *kernels, const struct handles *handles,
                              const moot_kernel *kernel)
{
    struct kernel *added = kernel_add(kernels, kernel);
    if (added != NULL) {
        added->id = handle_of_kernel(handles, kernels->count - 1);
    }
    return added;
}

static struct rumour *find_rumour(const struct kernels *kernels,
                                  const struct message_kernel *said)
{
    for (uint32_t i = 0; i < kernels->rumour_count; i++) {
        struct rumour *rumour = &kernels->rumours[i];
        if (rumour->version == said->version && rumour->flags == said->flags &&
            strcmp(rumour->name, said->name) == 0) {
            return rumour;
        }
    }
    return NULL;
}

/* True if nobody has said the same. */
static bool remember(struct kernels *kernels, uint32_t rank,
                     const struct message_kernel *said)
{
    if (find_rumour(kernels, said) != NULL) {
        return false;
    }
    if (kernels->rumour_count == kernels->rumour_room) {
        uint32_t room = kernels->rumour_room ? kernels->rumour_room * 2 : 16;
        struct rumour *grown = room > RUMOURS_MAX
                                   ? NULL
                                   : realloc(kernels->rumours, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        kernels->rumours = grown;
        kernels->rumour_room = room;
    }
    char *name = strdup(said->name);
    if (name != NULL) {
        kernels->rumours[kernels->rumour_count++] =
            (struct rumour){name, rank, said->version, said->flags, false};
    }
    return name != NULL;
}

struct kernel *kernel_hear(struct kernels *kernels, uint32_t rank,
                           const struct message_kernel *said, bool *news)
{
    struct kernel *kernel = kernel_find(kernels, said->name);
    if (kernel == NULL) {
        *news = remember(kernels, rank, said);
        return NULL;
    }
    const bool same = kernel->version == said->version && kernel->flags == said->flags;
    const bool conflict = compare(kernel, rank, said->version, said->flags);
    *news = conflict || (same && !kernel->told);
    return conflict ? kernel : NULL;
}

void kernel_passed(struct kernels *kernels, const struct message_kernel *said)
{
    struct kernel *kernel = kernel_find(kernels, said->name);
    struct rumour *rumour = find_rumour(kernels, said);
    if (kernel != NULL && kernel->version == said->version &&
        kernel->flags == said->flags) {
        kernel->told = true;
    }
    if (rumour != NULL) {
        rumour->passed = true;
    }
}
