/* element_end.c - see element_end.h. */
#include "node/schedule/element_end.h"

#include "node/engine/engine.h"
#include "node/engine/progress.h"
#include "node/schedule/task_end.h"
#include "node/tasks/error_chain.h"
#include "node/tasks/own_elements.h"

#include <assert.h>
#include <inttypes.h>

void element_carry(struct moot *m, const struct core_output *output)
{
    struct task *task = output->user;
    struct elements *elements = task != NULL ? elements_of(task) : NULL;
    assert(elements != NULL);
    if (!elements_add(m, elements, output->u.elements.places)) {
        engine_starve(m, "no memory for the elements of an array");
    }
    progress_wake(m);
}

/* The failure of the least index is told. */
static void note_failure(struct moot *m, struct moot_call *call, int code)
{
    struct elements *elements = call->array;
    if (elements->failed != 0 && elements->failed <= call->index) {
        return;
    }
    struct text story = {0};
    text_add(&story, "element %" PRIu64 ": ", call->index);
    if (code == MOOT_OK) {
        code = call->no_memory ? MOOT_ERR_NO_MEMORY : MOOT_ERR_NO_OUTPUT;
    }
    story_of_kernel(&story, m, call->task, code, text_get(&call->why));
    payload_drop(elements->story);
    elements->story = story_payload(
        &story, (struct root_cause){.code = code, .rank = (int)m->group.rank});
    elements->failed = call->index + 1;
    text_release(&story);
}

void element_end(struct moot *m, struct moot_call *call, int code)
{
    struct task *task = call->task;
    const bool good = code == MOOT_OK && call->output != NULL;
    if (task->gone) { /* by a reload */
        payload_drop(call->output);
        return;
    }
    if (good) {
        elements_keep(call->array, call->place, call->output);
    } else {
        payload_drop(call->output);
        note_failure(m, call, code);
    }
    struct core_event event = {
        .type = CORE_EV_ELEMENTS, .hash = task->hash, .entry = task_entry(task)};
    event.u.elements.places = (struct range){call->place, call->place + 1};
    event.u.elements.status = good ? MOOT_OK : MOOT_ERR_TASK_FAILED;
    engine_step(m, &event);
    progress_wake(m);
}

void element_end_array(struct moot *m, struct task *task, int code)
{
    const struct elements *elements = elements_of(task);
    struct text story = {0};
    m->counts.run++; /* an array counts as one task */
    if (code == MOOT_OK) {
        struct payload *nothing = payload_new(0);
        if (nothing == NULL) {
            engine_starve(m, "no memory for the end of an array");
        }
        task_end(m, task, MOOT_OK, nothing);
    } else if (elements->story != NULL) {
        task_end(m, task, code, payload_hold(elements->story));
    } else {
        task_describe(&story, task);
        text_add(&story, ": an element of the array failed on another rank");
        task_end_with_story(m, task, code, NO_ROOT_CAUSE, &story);
    }
}
