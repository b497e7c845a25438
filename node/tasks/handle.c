/* handle.c - see handle.h. */
#include "node/tasks/handle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct unnamed_nothing unnamed_task = {.words = {0}};

#define SLOT_BITS HANDLE_SLOT_BITS
#define GENERATION_BITS HANDLE_GENERATION_BITS
#define TAG_BITS HANDLE_TAG_BITS
#define NO_SLOT UINT32_MAX

static_assert(LIMIT_TASKS <= 1u << SLOT_BITS, "a slot number has 28 bits");

static uint64_t pack(const struct handles *handles, uint32_t generation, uint32_t slot)
{
    return (uint64_t)handles->tag << (SLOT_BITS + GENERATION_BITS) |
           (uint64_t)generation << SLOT_BITS | slot;
}

static uint32_t tag_of(uint64_t id)
{
    return (uint32_t)(id >> (SLOT_BITS + GENERATION_BITS));
}

static uint32_t generation_of(uint64_t id)
{
    return (uint32_t)(id >> SLOT_BITS) & 0xffffu;
}

void handles_init(struct handles *handles, uint64_t random)
{
    *handles = (struct handles){.first_free = NO_SLOT,
                                .last_free = NO_SLOT,
                                .first_kept = NO_SLOT,
                                .last_kept = NO_SLOT};
    random ^= random >> 33; /* fold: any part of it may be the random one */
    random *= 0xff51afd7ed558ccdull;
    handles->tag = (uint32_t)(random >> (64 - TAG_BITS));
    if (handles->tag == 0) {
        handles->tag = 1;
    }
}

void handles_release(struct handles *handles)
{
    free(handles->slots);
    *handles = (struct handles){0};
}

static bool grow(struct handles *handles)
{
    if (handles->room == LIMIT_TASKS) {
        return false;
    }
    uint32_t room = handles->room ? handles->room * 2 : HANDLE_REST;
    room = room > LIMIT_TASKS ? LIMIT_TASKS : room;
    struct handle *slots = realloc(handles->slots, room * sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    memset(slots + handles->room, 0, (room - handles->room) * sizeof(*slots));
    handles->slots = slots;
    handles->room = room;
    return true;
}

/* The slot that has been free for longest, or a new one. */
static uint32_t take_slot(struct handles *handles)
{
    bool full = handles->count == handles->room;
    if (handles->free_count <= HANDLE_REST && full && !grow(handles) &&
        handles->free_count == 0) {
        return NO_SLOT;
    }
    if (handles->count < handles->room && handles->free_count <= HANDLE_REST) {
        handles->slots[handles->count].generation = 1;
        return handles->count++;
    }
    uint32_t slot = handles->first_free;
    handles->first_free = handles->slots[slot].next_free;
    handles->free_count--;
    if (handles->free_count == 0) {
        handles->last_free = NO_SLOT;
    }
    return slot;
}

uint64_t handle_new(struct handles *handles, struct task *task, struct task *parent)
{
    uint32_t slot = take_slot(handles);
    if (slot == NO_SLOT) {
        return 0;
    }
    struct handle *handle = &handles->slots[slot];
    handle->task = task;
    handle->parent = parent;
    handle->borrowed = handle->scoped = handle->kept = false;
    return pack(handles, handle->generation, slot);
}

static uint16_t next_generation(const struct handle *handle)
{
    uint16_t next = (uint16_t)(handle->generation + 1);
    return next == HANDLE_KERNEL ? 1 : next;
}

uint64_t handle_number(const struct handles *handles, const struct handle *handle)
{
    return pack(handles, handle->generation, (uint32_t)(handle - handles->slots));
}

void handle_renumber(struct handle *handle)
{
    handle->generation = next_generation(handle);
}

void handle_keep(struct handles *handles, struct handle *handle)
{
    handle_renumber(handle);
    handle->kept = true;
    handle->next_free = NO_SLOT;
    const uint32_t slot = (uint32_t)(handle - handles->slots);
    if (handles->last_kept == NO_SLOT) {
        handles->first_kept = slot;
    } else {
        handles->slots[handles->last_kept].next_free = slot;
    }
    handles->last_kept = slot;
}

struct handle *handle_kept_next(const struct handles *handles,
                                const struct handle *handle)
{
    uint32_t slot = handle != NULL ? handle->next_free : handles->first_kept;
    return slot != NO_SLOT ? &handles->slots[slot] : NULL;
}

struct handle *handle_unkeep(struct handles *handles, struct handle *before)
{
    uint32_t *link = before != NULL ? &before->next_free : &handles->first_kept;
    struct handle *handle = &handles->slots[*link];
    *link = handle->next_free;
    if (*link == NO_SLOT) {
        handles->last_kept =
            before != NULL ? (uint32_t)(before - handles->slots) : NO_SLOT;
    }
    handle->kept = false;
    return handle;
}

const char *handle_why(int error)
{
    return error == MOOT_ERR_FOREIGN     ? "belongs to another context"
           : error == MOOT_ERR_NO_MEMORY ? "has no room in memory"
                                         : "was released or never valid";
}

void handle_free(struct handles *handles, struct handle *handle)
{
    uint32_t slot = (uint32_t)(handle - handles->slots);
    assert(!handle->grouped);
    *handle =
        (struct handle){.generation = next_generation(handle), .next_free = NO_SLOT};
    if (handles->last_free == NO_SLOT) {
        handles->first_free = slot;
    } else {
        handles->slots[handles->last_free].next_free = slot;
    }
    handles->last_free = slot;
    handles->free_count++;
}

uint64_t handle_of_kernel(const struct handles *handles, uint32_t number)
{
    return pack(handles, HANDLE_KERNEL, number);
}

int handle_judge_kernel(const struct handles *handles, uint64_t id)
{
    if (id == 0) {
        return MOOT_ERR_UNKNOWN_KERNEL;
    }
    if (tag_of(id) != handles->tag) {
        return MOOT_ERR_FOREIGN;
    }
    return generation_of(id) == HANDLE_KERNEL ? MOOT_OK : MOOT_ERR_UNKNOWN_KERNEL;
}
