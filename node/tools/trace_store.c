/* trace_store.c - the memory of a trace that was read, and the tasks by their hashes.
 */
#include "hashing/identity.h"
#include "node/tools/trace_data.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trace_block {
    struct trace_block *next;
    size_t used, size;
    _Alignas(max_align_t) char bytes[];
};

enum { BLOCK_BYTES = 256 << 10 };

void *trace_take(struct trace_job *trace, size_t size)
{
    const size_t whole = (size + 15) & ~(size_t)15;
    struct trace_block *block = trace->blocks;
    if (block == NULL || block->size - block->used < whole) {
        const size_t room = whole > BLOCK_BYTES ? whole : BLOCK_BYTES;
        block = calloc(1, sizeof(*block) + room);
        if (block == NULL) {
            trace->out_of_memory = true;
            return NULL;
        }
        block->size = room;
        block->next = trace->blocks;
        trace->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += whole;
    return memory;
}

const char *trace_text(struct trace_job *trace, const void *bytes, size_t size)
{
    char *text = size > 0 ? trace_take(trace, size + 1) : NULL;
    if (text == NULL) {
        return "";
    }
    memcpy(text, bytes, size);
    return text;
}

void *trace_grow(struct trace_job *trace, void *items, uint64_t count, uint64_t *room,
                 size_t item_size)
{
    if (count < *room) {
        return items;
    }
    const uint64_t wanted = *room ? *room * 2 : 64;
    void *grown = realloc(items, wanted * item_size);
    if (grown == NULL) {
        trace->out_of_memory = true;
        return NULL;
    }
    *room = wanted;
    return grown;
}

void trace_release(struct trace_job *trace)
{
    for (uint32_t i = 0; i < trace->task_count; i++) {
        rankset_release(&trace->tasks[i].spawners);
    }
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        free(trace->ranks[r].events);
        free(trace->ranks[r].figures);
    }
    rankset_release(&trace->strangers);
    free(trace->ranks);
    free(trace->tasks);
    free(trace->runs);
    free(trace->messages);
    free(trace->knobs);
    free(trace->index);
    while (trace->blocks != NULL) {
        struct trace_block *next = trace->blocks->next;
        free(trace->blocks);
        trace->blocks = next;
    }
    *trace = (struct trace_job){0};
}

/* --- Tasks by hash ---------------------------------------------------------------- */

static uint32_t slot_of(const struct trace_job *trace, const uint8_t *hash)
{
    uint32_t word;
    memcpy(&word, hash, sizeof(word)); /* a hash is random enough for a table */
    uint32_t at = word & (trace->index_size - 1);
    while (trace->index[at] != 0 &&
           memcmp(trace->tasks[trace->index[at] - 1].hash.bytes, hash,
                  MOOT_HASH_BYTES) != 0) {
        at = (at + 1) & (trace->index_size - 1);
    }
    return at;
}

static bool index_grow(struct trace_job *trace)
{
    const uint32_t size = trace->index_size ? trace->index_size * 2 : 1024;
    uint32_t *index = calloc(size, sizeof(*index));
    if (index == NULL) {
        return false;
    }
    free(trace->index);
    trace->index = index;
    trace->index_size = size;
    for (uint32_t i = 0; i < trace->task_count; i++) {
        index[slot_of(trace, trace->tasks[i].hash.bytes)] = i + 1;
    }
    return true;
}

uint32_t trace_task_enter(struct trace_job *trace, const uint8_t *hash)
{
    if (trace->task_count >= trace->index_size / 2 && !index_grow(trace)) {
        trace->out_of_memory = true;
        return TRACE_NONE;
    }
    const uint32_t slot = slot_of(trace, hash);
    if (trace->index[slot] != 0) {
        return trace->index[slot] - 1;
    }
    uint64_t room = trace->task_room;
    struct trace_task *tasks =
        trace_grow(trace, trace->tasks, trace->task_count, &room, sizeof(*tasks));
    if (tasks == NULL) {
        return TRACE_NONE;
    }
    trace->tasks = tasks;
    trace->task_room = (uint32_t)room;
    struct trace_task *task = &tasks[trace->task_count];
    *task = (struct trace_task){.kernel = "",
                                .site = "",
                                .label = "",
                                .parent = TRACE_NONE,
                                .edges_from = TRACE_NONE,
                                .spawned_ns = TRACE_NEVER,
                                .run = TRACE_NONE,
                                .asked_ns = TRACE_NEVER,
                                .voted_ns = TRACE_NEVER,
                                .chair = TRACE_NONE,
                                .winner = TRACE_NONE};
    memcpy(task->hash.bytes, hash, MOOT_HASH_BYTES);
    trace->index[slot] = ++trace->task_count;
    return trace->task_count - 1;
}

/* --- Looking ---------------------------------------------------------------------- */

uint64_t trace_figure(const struct trace_rank *rank, const char *key)
{
    for (size_t i = 0; i < rank->figure_count; i++) {
        if (strcmp(rank->figures[i].key, key) == 0) {
            return rank->figures[i].value;
        }
    }
    return 0;
}

uint64_t trace_count(const struct trace_job *trace, Moot__Record__Kind kind)
{
    uint64_t count = 0;
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        for (size_t i = 0; i < trace->ranks[r].event_count; i++) {
            count += trace->ranks[r].events[i].kind == kind;
        }
    }
    return count;
}

char *trace_task_name(const struct trace_job *trace, uint32_t task, char *text,
                      size_t size)
{
    if (task == TRACE_NONE) {
        snprintf(text, size, "-");
        return text;
    }
    const struct trace_task *each = &trace->tasks[task];
    char digits[MOOT_HASH_TEXT_BYTES];
    hash_format(&each->hash, digits);
    if (*each->label) {
        snprintf(text, size, "%s '%s' %.8s", each->kernel, each->label, digits);
    } else {
        snprintf(text, size, "%s%s%.8s", each->kernel, *each->kernel ? " " : "",
                 digits);
    }
    return text;
}

char *trace_run_name(const struct trace_job *trace, const struct trace_run *run,
                     char *text, size_t size)
{
    int length = 0;
    if (run->element != 0) {
        length = snprintf(text, size, "element %" PRIu64 " of ", run->element - 1);
    }
    trace_task_name(trace, run->task, text + length, size - (size_t)length);
    return text;
}

const char *trace_event_word(Moot__Record__Kind kind)
{
    static const struct {
        Moot__Record__Kind kind;
        const char *word;
    } words[] = {{MOOT__RECORD__KIND__DEAD, "sees the end of"},
                 {MOOT__RECORD__KIND__REMOVED, "goes on without"},
                 {MOOT__RECORD__KIND__VIEW, "enters view"},
                 {MOOT__RECORD__KIND__FATAL, "fails"},
                 {MOOT__RECORD__KIND__FAULT, "fault"},
                 {MOOT__RECORD__KIND__ASKED, "is asked to leave"},
                 {MOOT__RECORD__KIND__LEFT, "has left"},
                 {MOOT__RECORD__KIND__JOINED, "sees the coming of"},
                 {MOOT__RECORD__KIND__PARTED, "sees the going of"},
                 {MOOT__RECORD__KIND__SESSION, "is in session"},
                 {MOOT__RECORD__KIND__SET, "has set"},
                 {MOOT__RECORD__KIND__SET_DELETED, "has no more set"},
                 {MOOT__RECORD__KIND__SNAPSHOT, "snapshot"},
                 {MOOT__RECORD__KIND__DIFFERS, "finds another state of"},
                 {MOOT__RECORD__KIND__STALL, "stalls"},
                 {MOOT__RECORD__KIND__VERDICT, "gives up a wait"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i].kind == kind) {
            return words[i].word;
        }
    }
    return NULL;
}
