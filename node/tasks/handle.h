/* handle.h - the numbers that programs hold for tasks and kernels.
 *
 *      63        44 43          28 27             0
 *     +------------+--------------+----------------+
 *     |  context   |  generation  |      slot      |
 *     +------------+--------------+----------------+
 *
 * The context's tag is random and never zero, so another context's handle is known for
 * what it is (but for one in a million pairs of contexts).  A slot's generation moves
 * on when its handle is released, so a released handle is known as well; freed slots
 * are used again in the order in which they were freed, and never fewer than
 * HANDLE_REST of them rest, so that 65,534 generations last for tens of millions of
 * releases.  Kernels have the generation HANDLE_KERNEL, which no task has.
 *
 * Under the engine lock.
 */
#ifndef NODE_TASKS_HANDLE_H
#define NODE_TASKS_HANDLE_H

#include "node/context/handle_state.h"
#include "proto/limits.h"
#include "proto/moot_error.h"

#include <stddef.h>

/* Stands for the task of a handle that has none yet (node/spawn/spawn_batch.h).  It
 * looks like a stub. */
#define UNNAMED_TASK ((struct task *)(uintptr_t)&unnamed_task)
extern const struct unnamed_nothing {
    uint64_t words[4];
} unnamed_task;

void handles_init(struct handles *handles, uint64_t random);
void handles_release(struct handles *handles);

#define HANDLE_SLOT_BITS 28
#define HANDLE_GENERATION_BITS 16
#define HANDLE_TAG_BITS 20
static_assert(HANDLE_SLOT_BITS + HANDLE_GENERATION_BITS + HANDLE_TAG_BITS == 64,
              "a handle is 64 bits");

/* A handle for the task; 0 without memory, or beyond LIMIT_TASKS handles. */
uint64_t handle_new(struct handles *handles, struct task *task, struct task *parent);
/* The slot of an id that handle_new has just returned. */
static inline struct handle *handle_at(const struct handles *handles, uint64_t id)
{
    return &handles->slots[id & ((UINT64_C(1) << HANDLE_SLOT_BITS) - 1)];
}
/* MOOT_OK and the slot, good until the next handle_new; else STALE or FOREIGN.  Each
 * call of a program begins with this: it is inlined. */
static inline int handle_find(const struct handles *handles, uint64_t id,
                              struct handle **out)
{
    uint64_t slot = id & ((UINT64_C(1) << HANDLE_SLOT_BITS) - 1);
    if (id >> (64 - HANDLE_TAG_BITS) != handles->tag) {
        return id == 0 ? MOOT_ERR_STALE : MOOT_ERR_FOREIGN;
    }
    if (slot >= handles->count) {
        return MOOT_ERR_STALE;
    }
    struct handle *handle = &handles->slots[slot];
    if (handle->task == NULL ||
        handle->generation != (uint16_t)(id >> HANDLE_SLOT_BITS)) {
        return MOOT_ERR_STALE;
    }
    *out = handle;
    return MOOT_OK;
}
/* Why it was refused, or there is no record for it: for people, behind "the handle ".
 */
const char *handle_why(int error);
void handle_free(struct handles *handles, struct handle *handle);

/* The number that it has now. */
uint64_t handle_number(const struct handles *handles, const struct handle *handle);
/* The program's number for it is void, the handle stays. */
void handle_renumber(struct handle *handle);

/* The program's number for it is void, the handle stays, last on the list of those
 * kept. */
void handle_keep(struct handles *handles, struct handle *handle);
/* The next kept one behind this (NULL: the first), or NULL. */
struct handle *handle_kept_next(const struct handles *handles,
                                const struct handle *handle);
/* Takes the one behind `before` (NULL: the first) off that list. */
struct handle *handle_unkeep(struct handles *handles, struct handle *before);

uint64_t handle_of_kernel(const struct handles *handles, uint32_t number);
/* Why it is no kernel's; MOOT_OK: it is one's. */
int handle_judge_kernel(const struct handles *handles, uint64_t id);
static inline int handle_find_kernel(const struct handles *handles, uint64_t id,
                                     uint32_t *number)
{
    uint64_t head = (uint64_t)handles->tag << HANDLE_GENERATION_BITS | HANDLE_KERNEL;
    if (id >> HANDLE_SLOT_BITS != head) {
        return handle_judge_kernel(handles, id);
    }
    *number = (uint32_t)id & ((UINT32_C(1) << HANDLE_SLOT_BITS) - 1);
    return MOOT_OK;
}

#endif
