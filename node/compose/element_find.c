/* element_find.c - see element_find.h. */
#include "node/compose/element_find.h"

#include "consensus/core_view.h"
#include "node/compose/element_read.h"
#include "node/compose/task_array.h"
#include "node/engine/engine.h"
#include "node/engine/lane.h"
#include "node/engine/progress.h"
#include "node/schedule/element_parts.h"
#include "node/schedule/task_end.h"
#include "node/schedule/task_handle.h"
#include "node/spawn/spawn.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/kernel.h"
#include "node/tasks/own_elements.h"

#include <inttypes.h>
#include <string.h>

/* --- The task --------------------------------------------------------------------- */

static void refuse_index(struct moot *m, struct task *task, uint64_t index,
                         uint64_t count)
{
    const struct root_cause root = {.code = MOOT_ERR_INVALID,
                                    .rank = (int)m->group.rank};
    struct text story = {0};
    task_describe(&story, task);
    text_add(&story,
             ": moot_array_find: there is no element %" PRIu64
             ": the array has %" PRIu64 ", from 0 on",
             index, count);
    task_end_with_story(m, task, MOOT_ERR_TASK_FAILED, root, &story);
    progress_wake(m);
}

static struct elements *elements_here(const struct moot *m, const moot_hash *hash)
{
    const struct task *task = core_user(m->core, hash);
    return task != NULL && !core_is_stub(task) ? elements_of(task) : NULL;
}

static void find_element(struct moot *m, struct task *task,
                         const struct named_array *array, uint64_t index)
{
    const uint64_t place = array_place(&array->spread, index);
    const struct elements *here = elements_here(m, &array->hash);
    struct payload *result = here != NULL ? parts_find(here, place) : NULL;
    if (result != NULL) {
        task_end(m, task, MOOT_OK, payload_hold(result));
        progress_wake(m);
    } else {
        read_seek(m, task, array, place, true);
    }
}

/* In the place of a run. */
static bool open_find(struct moot *m, struct task *task, const struct task *failed)
{
    const struct task *end = failed == NULL ? task_input(task, 0) : NULL;
    struct named_array array = {.hash = end != NULL ? end->hash : (moot_hash){{0}}};
    struct rankset ranks = {0};
    uint64_t index;
    if (end == NULL || !read_unpack(task, &index) ||
        !elements_card_read(end->payload, &array.spread, &array.homes, &ranks)) {
        return false;
    }
    array.homes.ranks = array.homes.ranks != NULL ? &ranks : &m->tasks.founders;
    if (index < array.spread.count) {
        find_element(m, task, &array, index);
    } else {
        refuse_index(m, task, index, array.spread.count);
    }
    rankset_release(&ranks);
    return true;
}
bool finds_begin(struct moot *m)
{
    const moot_kernel find = {.name = "moot.find",
                              .fn = read_make_again,
                              .user = m,
                              .flags = MOOT_KERNEL_PORTABLE};
    struct kernel *added = kernel_add_own(&m->tasks.kernels, &m->tasks.handles, &find);
    if (added == NULL) {
        return false;
    }
    added->opens = open_find;
    m->compose.find.id = added->id;
    return true;
}

/* --- Asking ----------------------------------------------------------------------- */

/* The program holds the array. */
static int find_here(struct moot *m, struct lane *lane, struct elements *elements,
                     uint64_t index, const char *site, moot_task *out)
{
    struct handle *handle;
    if (index >= elements->spread.count) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "there is no element %" PRIu64 ": the array has %" PRIu64
                         ", from 0 on",
                         index, elements->spread.count);
    }
    const moot_array array = {task_handle_new(m, elements->task, NULL)};
    if (array.id == 0) {
        return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory");
    }
    const int error = array_at(m, lane, array, index, NULL, site, out);
    if (task_handle_find(m, array.id, &handle) == MOOT_OK) {
        task_handle_end(m, handle);
    }
    return error;
}

static int find_elsewhere(struct moot *m, struct lane *lane, const moot_hash *array,
                          uint64_t index, const char *site, moot_task *out)
{
    unsigned char args[READ_ARGS_BYTES];
    const moot_task_spec spec = {.size = sizeof(spec),
                                 .kernel = m->compose.find,
                                 .args = args,
                                 .args_size = sizeof(args),
                                 .input_hashes = array,
                                 .input_hash_count = 1};
    struct spawn spawn;
    read_pack(array, index, args);
    int error = spawn_check(m, lane, &spec, site, NULL, &spawn);
    if (error == MOOT_OK) {
        spawn.facts.place = hash_place(array);
        error = array_spawn_read(m, lane, &spawn, out);
    }
    rankset_release(&spawn.candidates);
    return error;
}

int array_find(struct moot *m, struct lane *lane, const moot_hash *array,
               uint64_t index, const char *site, moot_task *out)
{
    const int error = array_check_open(m, lane, "give the task an input by its hash");
    if (error != MOOT_OK) {
        return error;
    }
    if (!hash_has(array, MOOT_HASH_ARRAY)) {
        return lane_fail(lane, MOOT_ERR_INVALID,
                         "the hash is none of an array: "
                         "moot_array_hash() gives one");
    }
    struct elements *here = elements_here(m, array);
    return here != NULL && here->task->handle_count > 0
               ? find_here(m, lane, here, index, site, out)
               : find_elsewhere(m, lane, array, index, site, out);
}
