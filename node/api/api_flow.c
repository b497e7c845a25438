/* api_flow.c - the public calls that build on spawns and waits: continuations, groups.
 */
#include "node/api/moot.h"

#include "node/compose/group.h"
#include "node/compose/submit.h"
#include "node/config/sized.h"
#include "node/engine/engine.h"
#include "node/record/task_watch.h"
#include "node/spawn/spawn.h"

#include <stdlib.h>

enum { FLOW_INPUTS_INLINE = 16 };

/* --- Continuations -------------------------------------------------------------- */

static int then_locked(struct moot *m, struct lane *lane, moot_task t,
                       const moot_task_spec *spec, moot_task *out, const char *site)
{
    if (spec->inputs == NULL && spec->input_count > 0) {
        return spawn_task(m, lane, spec, site, NULL,
                          out); /* which says what is wrong */
    }
    if (spec->input_count >= LIMIT_INPUTS) {
        return lane_fail(lane, MOOT_ERR_LIMIT,
                         "more than %u inputs, with the task that "
                         "it follows",
                         LIMIT_INPUTS);
    }
    moot_task inline_inputs[FLOW_INPUTS_INLINE], *inputs = inline_inputs;
    if (spec->input_count >= FLOW_INPUTS_INLINE) {
        inputs = calloc(spec->input_count + 1, sizeof(*inputs));
        if (inputs == NULL) {
            return lane_fail(lane, MOOT_ERR_NO_MEMORY, "no memory for the inputs");
        }
    }
    inputs[0] = t;
    for (size_t i = 0; i < spec->input_count; i++) {
        inputs[i + 1] = spec->inputs[i];
    }
    moot_task_spec with_input = *spec;
    with_input.inputs = inputs;
    with_input.input_count = spec->input_count + 1;
    int error = spawn_task(m, lane, &with_input, site, NULL, out);
    if (inputs != inline_inputs) {
        free(inputs);
    }
    return error;
}

int moot_task_then_at(moot *m, moot_task t, const moot_task_spec *spec, moot_task *out,
                      const char *site)
{
    if (m == NULL || spec == NULL || out == NULL) {
        return lane_invalid(m, "moot_task_then",
                            spec == NULL ? "the spec is NULL" : "the output is NULL");
    }
    moot_task_spec room;
    spec = sized_spec(spec, &room);
    if (spec == NULL) {
        return lane_invalid(m, "moot_task_then", SIZED_REFUSAL(moot_task_spec));
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = then_locked(m, lane, t, spec, out, site);
    if (error != MOOT_OK) {
        lane_name_call(lane, "moot_task_then");
    }
    engine_leave(m);
    return error;
}

/* --- Groups --------------------------------------------------------------------- */

int moot_group_open(moot *m)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_group_open", "");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = observe_refuse(lane, "moot_group_open");
    if (error == MOOT_OK) {
        error = lane->call != NULL
                    ? lane_fail(lane, MOOT_ERR_STATE, "moot_group_open inside a kernel")
                    : group_open(m, lane);
    }
    engine_leave(m);
    return error;
}

int moot_group_close(moot *m, moot_duration timeout)
{
    if (m == NULL) {
        return lane_invalid(m, "moot_group_close", "");
    }
    struct lane *lane = engine_enter(m);
    if (lane == NULL) {
        return MOOT_ERR_NO_MEMORY;
    }
    int error = group_close(m, lane, timeout);
    engine_leave(m);
    return error;
}
