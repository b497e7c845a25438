/* stretch.c - see stretch.h. */
#include "node/compose/stretch.h"

#include "consensus/core_view.h"
#include "hashing/base/byte_order.h"
#include "node/compose/element_gate.h"
#include "node/compose/element_read.h"
#include "node/engine/engine.h"
#include "node/schedule/element_end.h"
#include "node/schedule/task_end.h"
#include "node/spawn/spawn.h"
#include "node/tasks/element_inputs.h"
#include "node/tasks/kernel.h"

#include <stdlib.h>
#include <string.h>

static const char stretch_name[] = "moot.stretch";

/* The arguments of a leave: the array's hash, and the home's number among its homes. */
enum { LEAVE_BYTES = MOOT_HASH_BYTES + 8 };

/* A stretch, or more of one, whose leave has not ended here. */
struct held_stretch {
    struct held_stretch *next;
    moot_hash array;
    uint32_t home;
    bool asked;
};

/* NULL: the array is not here. */
static struct elements *find_elements(const struct moot *m, const moot_hash *hash)
{
    const struct task *task = core_user(m->core, hash);
    return task != NULL && !core_is_stub(task) ? elements_of(task) : NULL;
}

/* --- The leave -------------------------------------------------------------------- */

/* This rank has it. */
static int run_leave(moot_call *call, void *user)
{
    struct moot *m = user;
    size_t size = 0;
    const unsigned char *args = moot_call_args(call, &size);
    moot_hash hash;
    if (size != LEAVE_BYTES || moot_call_output(call, 0) == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    memcpy(hash.bytes, args, MOOT_HASH_BYTES);
    engine_lock(m);
    struct elements *elements = find_elements(m, &hash);
    int error = MOOT_OK;
    if (elements != NULL) {
        error =
            elements_unhold(m, elements, (uint32_t)get_word(args + MOOT_HASH_BYTES));
        elements_go_on(m);
        progress_wake(m);
    }
    engine_unlock(m);
    return error;
}

bool stretches_begin(struct moot *m)
{
    m->compose.last_stretch = &m->compose.stretches;
    const moot_kernel leave = {
        .name = stretch_name, .fn = run_leave, .user = m, .flags = MOOT_KERNEL_ONCE};
    return kernel_add_own(&m->tasks.kernels, &m->tasks.handles, &leave) != NULL;
}

void stretches_release(struct moot *m)
{
    while (m->compose.stretches != NULL) {
        struct held_stretch *stretch = m->compose.stretches;
        m->compose.stretches = stretch->next;
        free(stretch);
    }
}

/* --- Asking ----------------------------------------------------------------------- */

/* One stretch, or a part of it. */
static int hold(struct moot *m, struct elements *elements, struct range places)
{
    const uint32_t home = elements_stretch(&elements->spread, places.first);
    const bool has_leave = rankset_has(&elements->leaves, home);
    const bool asks = !has_leave && elements_held(elements, home) == 0;
    struct held_stretch *stretch = asks ? calloc(1, sizeof(*stretch)) : NULL;
    if (asks && stretch == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    const int error = elements_add(m, elements, places, !has_leave);
    if (error == MOOT_OK && asks) {
        stretch->array = elements->task->hash;
        stretch->home = home;
        *m->compose.last_stretch = stretch;
        m->compose.last_stretch = &stretch->next;
    } else {
        free(stretch);
    }
    return error;
}

/* The stretches of neighbours may come as one range. */
static int hold_all(struct moot *m, struct elements *elements, struct range places)
{
    int error = MOOT_OK;
    while (places.first < places.end && error == MOOT_OK) {
        const uint32_t home = elements_stretch(&elements->spread, places.first);
        const uint64_t next = array_home_first(&elements->spread, home + 1);
        const struct range part = {places.first, next < places.end ? next : places.end};
        error = hold(m, elements, part);
        places.first = part.end;
    }
    return error;
}

void stretch_carry(struct moot *m, const struct core_output *output)
{
    struct elements *elements = elements_of(output->user);
    const struct range places = output->u.elements.places;
    element_carried(m, output,
                    elements->once ? hold_all(m, elements, places)
                                   : element_give(m, elements, places));
}

/* Takes in the leave of a stretch, and a gate that waits for it.  Other than MOOT_OK:
 * there is none, as it was given before, and forgotten; or NO_MEMORY. */
static int ask(struct moot *m, const struct elements *elements, uint32_t home)
{
    unsigned char args[LEAVE_BYTES];
    memcpy(args, elements->task->hash.bytes, MOOT_HASH_BYTES);
    put_word(args + MOOT_HASH_BYTES, home);
    struct kernel *kernel = kernel_find(&m->tasks.kernels, stretch_name);
    struct task_facts facts = {.kernel = kernel,
                               .args = args,
                               .args_size = sizeof(args),
                               .priority = elements->task->priority};
    facts.reg.flags = kernel->core_flags;
    facts.reg.scope = elements->scope;
    if (!read_aim(m, &facts, &elements->homes,
                  rankset_at(elements->homes.ranks, home))) {
        return MOOT_ERR_NO_MEMORY;
    }
    const struct identity identity = spawn_identity(&facts);
    const moot_hash hash = identity_hash(&identity);
    int error = core_refusal(m->core, &hash, NULL, 0);
    struct task *task = error == MOOT_OK ? task_enter(m, &hash) : NULL;
    if (error == MOOT_OK) {
        error = task != NULL ? spawn_take_in(m, task, &facts) : MOOT_ERR_NO_MEMORY;
    }
    const struct named_array array = elements_name(elements);
    if (error == MOOT_OK && !gate_for_stretch(m, &array, home, &hash)) {
        error = MOOT_ERR_NO_MEMORY;
    }
    return error;
}

void stretches_look(struct moot *m)
{
    struct held_stretch **at = &m->compose.stretches;
    while (*at != NULL) {
        struct held_stretch *stretch = *at;
        struct elements *elements = find_elements(m, &stretch->array);
        const bool waits =
            elements != NULL && elements_held(elements, stretch->home) > 0;
        int error = MOOT_OK;
        if (waits && !stretch->asked) {
            stretch->asked = true;
            error = ask(m, elements, stretch->home);
        }
        if (error == MOOT_ERR_NO_MEMORY) {
            engine_starve(m, "no memory for the leave to begin a stretch of an array");
            return;
        }
        if (error != MOOT_OK) {
            element_deny(m, elements, stretch->home);
        }
        if (waits && error == MOOT_OK) {
            at = &stretch->next;
        } else {
            *at = stretch->next;
            free(stretch);
        }
    }
    m->compose.last_stretch = at;
}

uint64_t stretches_waiting(const struct moot *m)
{
    uint64_t waiting = 0;
    for (const struct held_stretch *stretch = m->compose.stretches; stretch != NULL;
         stretch = stretch->next) {
        const struct elements *elements = find_elements(m, &stretch->array);
        if (elements != NULL &&
            elements->link_count == 0) { /* else links_idle() does */
            waiting += elements_held(elements, stretch->home);
        }
    }
    return waiting;
}

void stretch_hear(struct moot *m, const moot_hash *array, uint32_t home)
{
    struct elements *elements = find_elements(m, array);
    if (elements != NULL) {
        element_deny(m, elements, home);
    }
}
