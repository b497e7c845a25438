/* array_snapshot.c - see array_snapshot.h. */
#include "node/explain/array_snapshot.h"

#include "node/schedule/call_frame.h"
#include "node/schedule/exec.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/own_elements.h"

/* A snapshot is made under the engine's lock: of very many elements, or arrays, it
 * looks at the first. */
enum { LOOKED_AT_MAX = 1 << 20, ARRAYS_MAX = 16 };

/* --- This rank's own -------------------------------------------------------------- */

static void add_open(struct some_elements *some, const struct elements *elements,
                     const struct element_block *block)
{
    const uint64_t count = block->places.end - block->places.first;
    for (uint64_t at = 0, end; at < count && at < LOOKED_AT_MAX; at = end) {
        const bool open = block->results[at] == NULL;
        end = at + 1;
        while (end < count && (block->results[end] == NULL) == open) {
            end++;
        }
        if (open && some->range_count < SOME_RANGES) {
            some_elements_add(
                some, &elements->spread,
                (struct range){block->places.first + at, block->places.first + end});
        }
    }
}

static uint64_t count_waiting(const struct element_block *block)
{
    const uint64_t count = block->places.end - block->places.first;
    return block->waits != NULL && !block->closed ? count - block->waits->ready : 0;
}

static bool is_waited_for(const struct element_link *link)
{
    bool waits = false;
    for (uint32_t i = 0; i < link->source_count && !waits; i++) {
        waits = link->sources[i].waiter != 0 && link->sources[i].state != SOURCE_HERE;
    }
    return waits;
}

/* The first source that an element of this rank's lacks; NULL: none, or forgotten. */
static const moot_hash *find_lacked(const struct elements *elements)
{
    for (uint32_t i = 0; i < elements->link_count; i++) {
        const struct element_link *link = elements->links[i];
        const struct task *from = link_kept_task(link);
        if (from != NULL && is_waited_for(link)) {
            return &from->hash;
        }
    }
    return NULL;
}

struct longest_element {
    const struct task *task;
    uint64_t now_ns, ran_ns;
    uint64_t running; /* 1 + its index */
};

static void find_longest(void *context, const struct moot_call *call)
{
    struct longest_element *longest = context;
    const bool ours = call->element && call->task == longest->task && !call->check;
    const uint64_t ran_ns = ours ? call_ran_ns(call, longest->now_ns) : 0;
    if (ours && (longest->running == 0 || ran_ns > longest->ran_ns)) {
        longest->ran_ns = ran_ns;
        longest->running = 1 + __atomic_load_n(&call->index, __ATOMIC_RELAXED);
    }
}

/* --- Some elements, in a message ---------------------------------------------------
 */

static size_t put_ranges(const struct some_elements *some, uint64_t *at)
{
    for (uint32_t i = 0; i < some->range_count; i++) {
        at[2 * i] = some->ranges[i].first;
        at[2 * i + 1] = some->ranges[i].end - some->ranges[i].first;
    }
    return 2 * (size_t)some->range_count;
}

static void fill_own(struct moot *m, const struct task *task,
                     const struct elements *elements, struct array_told *told)
{
    Moot__Account__Elements *to = &told->message;
    struct some_elements own = {0};
    struct longest_element longest = {.task = task, .now_ns = m->now_ns};
    for (const struct element_block *block = elements->blocks; block != NULL;
         block = block->next) {
        add_open(&own, elements, block);
        to->own += block->open;
        to->waiting += block->open > 0 ? count_waiting(block) : 0;
    }
    to->n_own_at = put_ranges(&own, told->own_at);
    const moot_hash *lacked = to->waiting > 0 ? find_lacked(elements) : NULL;
    if (lacked != NULL) {
        told->input = *lacked;
        to->input = (ProtobufCBinaryData){sizeof(told->input), told->input.bytes};
    }
    exec_each_call(m, find_longest, &longest);
    to->running = longest.running;
    told->runs_ns = longest.ran_ns;
}

void array_snapshot_fill(struct moot *m, const struct task *task,
                         const struct core_array_view *view, struct array_told *told)
{
    Moot__Account__Elements *to = &told->message;
    const struct elements *elements = task != NULL ? elements_of(task) : NULL;
    moot__account__elements__init(to);
    to->own_at = told->own_at;
    to->unspawned_at = told->unspawned_at;
    to->unclaimed_at = told->unclaimed_at;
    to->count = view->count;
    to->ended = view->ended;
    to->keeps = view->keeps;
    to->unspawned = view->unspawned.count;
    to->n_unspawned_at = put_ranges(&view->unspawned, told->unspawned_at);
    to->unclaimed = view->unclaimed.count;
    to->n_unclaimed_at = put_ranges(&view->unclaimed, told->unclaimed_at);
    if (elements != NULL) {
        fill_own(m, task, elements, told);
    }
}

void array_snapshot_each(const struct moot *m,
                         void (*see)(void *context, const moot_hash *hash),
                         void *context)
{
    const struct elements *elements = m->schedule.elements;
    for (int i = 0; i < ARRAYS_MAX && elements != NULL;
         i++, elements = elements->next) {
        see(context, &elements->task->hash);
    }
    elements = m->tasks.taking;
    for (int i = 0; i < ARRAYS_MAX && elements != NULL;
         i++, elements = elements->next_taking) {
        see(context, &elements->task->hash);
    }
}
