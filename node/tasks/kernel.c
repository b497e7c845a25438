/* kernel.c - see kernel.h. */
#include "node/tasks/kernel.h"

#include "consensus/core.h"
#include "node/tasks/build_id.h"
#include "proto/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct rumour {
    char *name;
    uint32_t rank, version, flags;
    unsigned char build[LIMIT_BUILD_BYTES];
    size_t build_size;
    bool passed; /* on to others, who need not hear of it again */
};

/* What peers say is bounded: a rumour beyond this is forgotten, and the mismatch found
 * by whoever registers the kernel and is told of it. */
enum { RUMOURS_MAX = LIMIT_KERNELS * 4 };

void kernels_count_builds(struct kernels *kernels, bool counts)
{
    assert(kernels->count == 0);
    kernels->by_build = counts;
}

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

struct message_kernel kernel_said(const struct kernel *kernel)
{
    return (struct message_kernel){.name = kernel->name,
                                   .version = kernel->version,
                                   .flags = kernel->flags,
                                   .build = kernel->build,
                                   .build_size = kernel->own ? 0 : kernel->build_size};
}

bool kernel_build_differs(const struct kernel *kernel, const void *build, size_t size)
{
    return kernel->build_size > 0 && size > 0 && !kernel->own &&
           (kernel->build_size != size || memcmp(kernel->build, build, size) != 0);
}

static bool is_same_but_for_build(const struct kernel *kernel,
                                  const struct message_kernel *said)
{
    return kernel->version == said->version && kernel->flags == said->flags;
}

bool kernel_conflicts(const struct kernels *kernels, const struct kernel *kernel,
                      const struct message_kernel *said)
{
    return !is_same_but_for_build(kernel, said) ||
           (kernels->by_build &&
            kernel_build_differs(kernel, said->build, said->build_size));
}

/* True if this is the first other build of a kernel that is the same otherwise. */
static bool compare_build(struct kernels *kernels, struct kernel *kernel, uint32_t rank,
                          const struct message_kernel *said)
{
    if (kernel->rebuilt || !is_same_but_for_build(kernel, said) ||
        !kernel_build_differs(kernel, said->build, said->build_size)) {
        return false;
    }
    assert(said->build_size <= sizeof(kernel->peer_build));
    kernel->rebuilt = true;
    kernel->rebuilt_rank = rank;
    kernel->peer_build_size = said->build_size;
    memcpy(kernel->peer_build, said->build, said->build_size);
    kernels->rebuilt++;
    return true;
}

/* True if this put the kernel into conflict just now, or was the first other build. */
static bool compare(struct kernels *kernels, struct kernel *kernel, uint32_t rank,
                    const struct message_kernel *said)
{
    const bool rebuilt = compare_build(kernels, kernel, rank, said);
    if (kernel->conflict || !kernel_conflicts(kernels, kernel, said)) {
        return rebuilt;
    }
    kernel->conflict = true;
    kernel->peer_rank = rank;
    kernel->peer_version = said->version;
    kernel->peer_flags = said->flags;
    return true;
}

static struct message_kernel rumour_said(const struct rumour *rumour)
{
    return (struct message_kernel){.name = rumour->name,
                                   .version = rumour->version,
                                   .flags = rumour->flags,
                                   .build = rumour->build,
                                   .build_size = rumour->build_size};
}

static void compare_with_rumours(struct kernels *kernels, struct kernel *kernel)
{
    for (uint32_t i = 0; i < kernels->rumour_count; i++) {
        const struct rumour *rumour = &kernels->rumours[i];
        const struct message_kernel said = rumour_said(rumour);
        if (strcmp(rumour->name, kernel->name) == 0) {
            (void)compare(kernels, kernel, rumour->rank, &said);
            kernel->told |= rumour->passed && is_same_but_for_build(kernel, &said) &&
                            !kernel_build_differs(kernel, said.build, said.build_size);
        }
    }
}

static uint32_t core_flags(uint32_t flags)
{
    return ((flags & MOOT_KERNEL_ONCE) ? CORE_TASK_ONCE : 0u) |
           ((flags & MOOT_KERNEL_IDEMPOTENT) ? CORE_TASK_IDEMPOTENT : 0u) |
           ((flags & MOOT_KERNEL_PORTABLE) ? CORE_TASK_PORTABLE : 0u) |
           ((flags & MOOT_KERNEL_NONDETERMINISTIC) ? CORE_TASK_NONDETERMINISTIC : 0u);
}

static struct kernel *add_kernel(struct kernels *kernels, const moot_kernel *said)
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
    compare_with_rumours(kernels, kernel);
    return kernel;
}

/* Once kernels vary, too: what has no result of one any more runs it anew. */
static void note_varying(struct kernels *kernels, uint32_t flags)
{
    kernels->varies |= (flags & (MOOT_KERNEL_ONCE | MOOT_KERNEL_NONDETERMINISTIC)) != 0;
}

struct kernel *kernel_add(struct kernels *kernels, const moot_kernel *kernel)
{
    note_varying(kernels, kernel->flags);
    return add_kernel(kernels, kernel);
}

struct kernel *kernel_add_own(struct kernels *kernels, const struct handles *handles,
                              const moot_kernel *kernel)
{
    struct kernel *added = add_kernel(kernels, kernel);
    if (added != NULL) {
        added->own = true;
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
            rumour->build_size == said->build_size &&
            (said->build_size == 0 ||
             memcmp(rumour->build, said->build, said->build_size) == 0) &&
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
        struct rumour *rumour = &kernels->rumours[kernels->rumour_count++];
        *rumour = (struct rumour){.name = name,
                                  .rank = rank,
                                  .version = said->version,
                                  .flags = said->flags,
                                  .build_size = said->build_size};
        if (said->build_size > 0) {
            memcpy(rumour->build, said->build, said->build_size);
        }
    }
    return name != NULL;
}

struct kernel *kernel_hear(struct kernels *kernels, uint32_t rank,
                           const struct message_kernel *said, bool *news)
{
    struct kernel *kernel = kernel_find(kernels, said->name);
    if (kernel == NULL) {
        note_varying(kernels, said->flags);
        *news = remember(kernels, rank, said);
        return NULL;
    }
    const bool differs = kernel_build_differs(kernel, said->build, said->build_size);
    const bool first = compare(kernels, kernel, rank, said);
    *news = first;
    if (is_same_but_for_build(kernel, said)) {
        *news |= differs ? remember(kernels, rank, said) : !kernel->told;
    }
    return first ? kernel : NULL;
}

void kernel_passed(struct kernels *kernels, const struct message_kernel *said)
{
    struct kernel *kernel = kernel_find(kernels, said->name);
    struct rumour *rumour = find_rumour(kernels, said);
    if (kernel != NULL && is_same_but_for_build(kernel, said) &&
        !kernel_build_differs(kernel, said->build, said->build_size)) {
        kernel->told = true;
    }
    if (rumour != NULL) {
        rumour->passed = true;
    }
}
