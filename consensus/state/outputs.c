/* outputs.c - what a step says, and the memory that it borrows.
 *
 * Outputs are an array that is emptied at the next step; what they point to stands in
 * blocks that live as long.
 *
 * The core allocates as the program grows.  Some memory is put aside for the moment
 * when an allocation fails: what was put aside is given back, the step goes on with it,
 * and until as much can be put aside anew the rank takes on nothing that it may refuse
 * (memory_spare).  If an allocation fails even so, the core is marked broken and every
 * later step returns MOOT_ERR_NO_MEMORY: a rank that can no longer keep its word on
 * what it yielded must not go on.
 */
#include "consensus/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- Memory ---------------------------------------------------------------------- */

enum { SPARE_SHARE = 2 }; /* of the records' memory as much is put aside */

COLD bool memory_shorten(struct core *core)
{
    bool had = core->state.memory.spare != NULL;
    free(core->state.memory.spare);
    core->state.memory.spare = NULL;
    core->state.memory.spare_bytes = 0;
    return had;
}

/* To end what there is takes more the more records there are.  Nothing is written
 * there, so that it takes addresses and no memory. */
static size_t spare_wanted(const struct core *core)
{
    size_t share = core->state.memory.blocks_bytes / SPARE_SHARE;
    return share > core->options.spare_bytes ? share : core->options.spare_bytes;
}

bool memory_spare(struct core *core)
{
    size_t wanted = spare_wanted(core);
    if (core->options.spare_bytes == 0 || core->state.memory.spare_bytes >= wanted) {
        return true;
    }
    memory_shorten(core);
    core->state.memory.spare = malloc(wanted);
    core->state.memory.spare_bytes = core->state.memory.spare != NULL ? wanted : 0;
    return core->state.memory.spare != NULL;
}

void *core_resize(struct core *core, void *memory, size_t size)
{
    void *resized = realloc(memory, size);
    if (resized == NULL && memory_shorten(core)) {
        resized = realloc(memory, size);
    }
    core->broken |= resized == NULL;
    return resized;
}

void *core_alloc(struct core *core, size_t size)
{
    size_t bytes = size > 0 ? size : 1;
    void *memory = calloc(1, bytes);
    if (memory == NULL && memory_shorten(core)) {
        memory = calloc(1, bytes);
    }
    core->broken |= memory == NULL;
    return memory;
}

bool core_grow(struct core *core, void *array, uint32_t *room, uint32_t needed,
               size_t item_size)
{
    assert(item_size > 0 && needed > 0);
    if (needed <= *room) {
        return true;
    }
    uint32_t wanted = *room ? *room * 2 : 8;
    while (wanted < needed) {
        wanted *= 2;
    }
    void *old;
    memcpy(&old, array, sizeof(old));
    void *grown = core_resize(core, old, (size_t)wanted * item_size);
    if (grown == NULL) {
        return false;
    }
    memset((char *)grown + (size_t)*room * item_size, 0,
           (size_t)(wanted - *room) * item_size);
    memcpy(array, &grown, sizeof(grown));
    *room = wanted;
    return true;
}

enum {
    BLOCK_BYTES = 64 << 10,
    CACHE_LINE_BYTES = 64,
    LARGE_BYTES = 192,
    EXPECT_BYTES_MAX = 640
};

static size_t align(size_t size)
{
    return (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
}

/* What is skipped so that what is large begins with a cache line: the fields that are
 * looked at most then stand in as few of them as can be. */
static size_t padding(const struct memory_block *block, size_t size)
{
    uintptr_t at = (uintptr_t)block->bytes + block->used;
    return size >= LARGE_BYTES ? -at & (CACHE_LINE_BYTES - 1) : 0;
}

static bool has_room(const struct memory_block *block, size_t size)
{
    return block != NULL &&
           block->size - block->used >= padding(block, size) + align(size);
}

COLD static bool block_add(struct memory_block **list, struct memory_block *block,
                           size_t bytes)
{
    if (block == NULL) {
        return false;
    }
    *block = (struct memory_block){.next = *list, .size = bytes - sizeof(*block)};
    *list = block;
    return true;
}

HOT void *block_take(struct memory_block **list, size_t size)
{
    size_t aligned = align(size);
    size_t needed = aligned + CACHE_LINE_BYTES;
    size_t bytes =
        sizeof(struct memory_block) + (needed > BLOCK_BYTES ? needed : BLOCK_BYTES);
    if (!has_room(*list, size) && !block_add(list, malloc(bytes), bytes)) {
        return NULL;
    }
    struct memory_block *block = *list;
    block->used += padding(block, size);
    void *memory = (char *)block->bytes + block->used;
    block->used += aligned;
    return memory;
}

void block_free(struct memory_block *list)
{
    while (list != NULL) {
        struct memory_block *next = list->next;
        free(list);
        list = next;
    }
}

/* --- Memory that is used again --------------------------------------------------- */

/* Classes are 16 bytes apart, and whole cache lines from LARGE_BYTES on, up to 1024;
 * then each is twice the one before. */
static unsigned class_of(size_t size, size_t *bytes)
{
    if (size >= LARGE_BYTES) {
        size = (size + CACHE_LINE_BYTES - 1) & ~(size_t)(CACHE_LINE_BYTES - 1);
    }
    unsigned class = (unsigned)((size + MEMORY_STEP_BYTES - 1) / MEMORY_STEP_BYTES);
    *bytes = (size_t) class * MEMORY_STEP_BYTES;
    if (class <= MEMORY_STEPS) {
        return class > 0 ? class - 1 : 0;
    }
    *bytes = MEMORY_STEPS * MEMORY_STEP_BYTES;
    for (class = MEMORY_STEPS - 1; *bytes < size; class ++) {
        *bytes *= 2;
    }
    return class;
}

/* With the host's pages each block is twice the one before, until it is one of those;
 * so few records take little. */
COLD static bool memory_grow(struct core *core)
{
    struct memory *memory = &core->state.memory;
    struct memory_block **list = &memory->blocks;
    size_t bytes = *list != NULL ? 2 * ((*list)->size + sizeof(**list)) : BLOCK_BYTES;
    bool pages = bytes >= CORE_PAGES_BYTES;
    bytes = pages ? CORE_PAGES_BYTES : bytes;
    bool added =
        block_add(list, pages ? core->options.pages(bytes) : malloc(bytes), bytes);
    if (!added) {
        memory_shorten(core); /* the end is near: few records at a time from now on */
        bytes = BLOCK_BYTES;
        added = block_add(list, malloc(bytes), bytes);
    }
    memory->blocks_bytes += added ? bytes : 0;
    return added;
}

/* What is large gets a block of its own, behind the one that is being filled. */
COLD static void *memory_alone(struct core *core, size_t bytes)
{
    struct memory_block **list = &core->state.memory.blocks;
    size_t all = sizeof(struct memory_block) + bytes;
    if (!block_add(*list != NULL ? &(*list)->next : list, malloc(all), all)) {
        return NULL;
    }
    struct memory_block *block = (*list)->next != NULL ? (*list)->next : *list;
    block->used = block->size;
    return block->bytes;
}

static inline void *memory_fresh(struct core *core, size_t bytes)
{
    struct memory *memory = &core->state.memory;
    bool alone = bytes > BLOCK_BYTES / 2;
    bool grow =
        core->options.pages != NULL && !alone && !has_room(memory->blocks, bytes);
    if (alone) {
        return memory_alone(core, bytes);
    }
    return !grow || memory_grow(core) ? block_take(&memory->blocks, bytes) : NULL;
}

void *memory_take(struct core *core, size_t size)
{
    void *memory = memory_take_raw(core, size);
    return memory != NULL ? memset(memory, 0, size) : NULL;
}

HOT void *memory_take_raw(struct core *core, size_t size)
{
    size_t bytes;
    unsigned class = class_of(size, &bytes);
    assert(class < MEMORY_CLASSES);
    struct memory *memory = &core->state.memory;
    void *taken = memory->free[class];
    if (taken != NULL) {
        memcpy(&memory->free[class], taken, sizeof(void *));
        /* What is given next was given back long ago. */
        fetch_ahead(memory->free[class],
                    bytes < EXPECT_BYTES_MAX ? bytes : EXPECT_BYTES_MAX);
        return taken;
    }
    taken = memory_fresh(core, bytes);
    if (taken == NULL && memory_shorten(core)) {
        taken = memory_fresh(core, bytes);
    }
    core->broken |= taken == NULL;
    return taken;
}

HOT void memory_give(struct core *core, void *memory, size_t size)
{
    if (memory == NULL) {
        return;
    }
    size_t bytes;
    unsigned class = class_of(size, &bytes);
    memcpy(memory, &core->state.memory.free[class], sizeof(void *));
    core->state.memory.free[class] = memory;
}

/* --- Outputs --------------------------------------------------------------------- */

void *out_borrow(struct core *core, size_t size)
{
    struct memory_block **arena = &core->state.out.arena;
    void *memory = block_take(arena, size);
    if (memory == NULL && memory_shorten(core)) {
        memory = block_take(arena, size);
    }
    core->broken |= memory == NULL;
    return memory != NULL ? memset(memory, 0, size) : NULL;
}

void out_clear(struct outputs *out)
{
    out->count = 0;
    if (out->arena != NULL) { /* keep one block: steps seldom need more */
        block_free(out->arena->next);
        out->arena->next = NULL;
        out->arena->used = 0;
    }
}

/* Outputs of which there may be hundreds in a step: the rest of theirs is not touched.
 */
enum { OUTPUT_BRIEF_BYTES = offsetof(struct core_output, u) + 16 };
static_assert(sizeof(((struct core_output *)0)->u.forget) <= 16 &&
                  sizeof(((struct core_output *)0)->u.run) <= 16 &&
                  sizeof(((struct core_output *)0)->u.note) <= 16,
              "what is said with those is cleared");

static bool is_brief(enum core_output_type type)
{
    return type == CORE_OUT_FORGET || type == CORE_OUT_RUN || type == CORE_OUT_DONE ||
           type == CORE_OUT_CANCEL || type == CORE_OUT_NOTE;
}

HOT struct core_output *out_add(struct core *core, enum core_output_type type,
                                const struct task_record *task)
{
    struct outputs *out = &core->state.out;
    if (out->count == out->room) {
        size_t room = out->room ? out->room * 2 : 32;
        struct core_output *grown =
            core_resize(core, out->items, room * sizeof(*grown));
        if (grown == NULL) {
            return NULL;
        }
        out->items = grown;
        out->room = room;
    }
    struct core_output *item = &out->items[out->count++];
    memset(item, 0, is_brief(type) ? OUTPUT_BRIEF_BYTES : sizeof(*item));
    item->type = type;
    if (task != NULL) {
        item->hash = task->hash;
        item->user = (void *)(uintptr_t)task;
    }
    return item;
}

void out_note_add(struct core *core, enum core_point point,
                  const struct task_record *task, uint32_t peer, enum evidence evidence)
{
    assert((core->options.notes & CORE_NOTE(point)) != 0);
    struct core_output *item = out_add(core, CORE_OUT_NOTE, task);
    if (item != NULL) {
        item->u.note.point = point;
        item->u.note.peer = peer;
        item->u.note.evidence = evidence;
    }
}

void out_note_stub(struct core *core, enum core_point point, const moot_hash *hash)
{
    out_note_add(core, point, NULL, NOBODY, EVIDENCE_NONE);
    if (!core->broken) {
        core->state.out.items[core->state.out.count - 1].hash = *hash;
    }
}

HOT struct message *out_send(struct core *core, uint32_t to, enum message_type type,
                             struct task_record *task)
{
    assert(to != core->rank && to < core->size);
    struct core_output *item = out_add(core, CORE_OUT_SEND, task);
    if (item == NULL) {
        return NULL;
    }
    item->u.send.to = to;
    struct message *message = &item->u.send.message;
    message->type = type;
    message->epoch = core->epoch;
    message->view_id = core->view_id;
    message->cut = MUTANT(CUTCOLOUR) ? 0 : core->snapshot.colour;
    if (task != NULL) {
        message->hash = task->hash;
    }
    core->stats.sent[type]++;
    if (task != NULL) {
        scope_sent(core, task, type);
    }
    return message;
}

enum { FORGOTTEN_TOGETHER_MAX = 64 };

static bool takes_another(const struct core_output *last)
{
    return last->type == CORE_OUT_FORGET &&
           last->u.forget.count < FORGOTTEN_TOGETHER_MAX;
}

static void begin_forgetting(struct core *core)
{
    void **users = out_borrow(core, FORGOTTEN_TOGETHER_MAX * sizeof(*users));
    struct core_output *output =
        users != NULL ? out_add(core, CORE_OUT_FORGET, NULL) : NULL;
    if (output != NULL) {
        output->u.forget.users = users;
    }
}

void out_forget(struct core *core, void *user)
{
    struct outputs *out = &core->state.out;
    if (user == NULL) {
        return;
    }
    if (out->count == 0 || !takes_another(&out->items[out->count - 1])) {
        begin_forgetting(core);
    }
    if (!core->broken) {
        struct core_output *last = &out->items[out->count - 1];
        last->u.forget.users[last->u.forget.count++] = user;
    }
}

const struct rankset *out_copy_set(struct core *core, const struct rankset *set)
{
    assert(set != NULL);
    struct rankset *copy = out_borrow(core, sizeof(*copy));
    uint64_t *high =
        set->high_words > 0 ? out_borrow(core, set->high_words * sizeof(*high)) : NULL;
    if (copy == NULL || core->broken) {
        return NULL;
    }
    if (high != NULL) {
        memcpy(high, set->high, set->high_words * sizeof(*high));
    }
    *copy =
        (struct rankset){.low = set->low, .high = high, .high_words = set->high_words};
    return copy;
}

const void *out_copy_bytes(struct core *core, const void *bytes, size_t size)
{
    void *copy = size > 0 ? out_borrow(core, size) : NULL;
    if (copy != NULL) {
        memcpy(copy, bytes, size);
    }
    return copy;
}
