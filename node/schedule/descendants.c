/* descendants.c - see descendants.h. */
#include "node/schedule/descendants.h"

#include "consensus/core_entry.h"
#include "consensus/core_view.h"
#include "node/engine/engine.h"
#include "node/schedule/call_frame.h"
#include "node/schedule/exec.h"
#include "node/schedule/task_handle.h"
#include "node/tasks/family.h"
#include "node/tasks/task.h"

#include <stdlib.h>
#include <string.h>

static bool is_over(const struct task *child)
{
    return child->known && child->status == MOOT_OK;
}

static bool add_child(struct moot_call *call, const struct task *child, bool awaited)
{
    const struct family *left = task_seldom(child)->family;
    if (!awaited && (!is_over(child) || left != NULL)) {
        return family_add(call->m, call->task, &child->hash, 1);
    }
    return left == NULL || family_add(call->m, call->task, left->hashes, left->count);
}

/* A child that is not known any more has run. */
static bool add_released(struct moot_call *call)
{
    bool added = true;
    for (size_t i = 0; added && i < call->released_count; i++) {
        const struct released_child *one = &call->released[i];
        const struct task *child = core_user(call->m->core, &one->hash);
        added = child == NULL || add_child(call, child, one->awaited);
    }
    return added;
}

bool family_make(struct moot_call *call)
{
    family_free(call->task); /* of a run before */
    bool added = add_released(call);
    for (size_t i = 0; added && i < call->child_count; i++) {
        struct handle *handle;
        if (task_handle_find(call->m, call->children[i], &handle) == MOOT_OK) {
            added = add_child(call, handle->task, handle->awaited);
        }
    }
    return added;
}

bool family_note_release(struct moot *m, const struct handle *handle)
{
    struct moot_call *call = handle->child ? exec_call_of(m, handle->parent) : NULL;
    if (call == NULL) {
        return true;
    }
    if (call->released_count == call->released_room) {
        size_t room = call->released_room ? call->released_room * 2 : 8;
        struct released_child *grown = realloc(call->released, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        call->released = grown;
        call->released_room = room;
    }
    call->released[call->released_count++] =
        (struct released_child){.hash = handle->task->hash, .awaited = handle->awaited};
    return true;
}

/* Results are sent more than once, and their families with them: what is known already
 * is not taken twice.  Another run may have left others. */
static void hear_family(struct moot *m, const moot_hash *hash,
                        const struct message_family *said)
{
    if (core_forgotten(m->core, hash)) {
        return;
    }
    struct task *task = task_enter(m, hash);
    if (task == NULL) {
        engine_starve(m, "no memory for a task's children");
        return;
    }
    struct family *family = task_seldom(task)->family;
    uint32_t known = family != NULL ? family->count : 0;
    if (task->own || said->first > known) {
        return; /* it ran here; or a part is missing, which the wire does not do */
    }
    if (family != NULL && said->count <= known - said->first &&
        memcmp(family->hashes + said->first, said->children,
               said->count * sizeof(*said->children)) == 0) {
        return;
    }
    if (family != NULL) {
        family->count = said->first;
    }
    if (!family_add(m, task, said->children, said->count)) {
        engine_starve(m, "no memory for a task's children");
    }
}

bool family_take(struct moot *m, uint32_t from, const struct message *message)
{
    (void)from;
    hear_family(m, &message->hash, &message->u.family);
    return false;
}
