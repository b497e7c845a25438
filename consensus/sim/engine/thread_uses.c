/* thread_uses.c - what a rank's scripts have yet to spawn and to name.
 *
 * A scope is closed when the rank's program spawns nothing more in it, and released
 * when it names none of its tasks any more.  Where programs let go of what they have
 * used, a task is let go with the last step that names it.
 */
#include "consensus/sim/engine/sim_internal.h"
#include <stdlib.h>
#include <string.h>

/* --- Scopes ----------------------------------------------------------------------- */

static bool spawns(const struct program_step *step)
{
    return step->op == PROGRAM_SPAWN || step->op == PROGRAM_GROW;
}

static void count_use(struct host *host, uint32_t task, uint32_t one)
{
    host->uses_left[host->sim->program->tasks[task].scope] += one;
}

/* Tasks that the step names; `one` is 1 before it, and -1 behind it. */
static void count_step(struct host *host, const struct program_step *step, uint32_t one)
{
    for (uint32_t i = 0; i < step->tasks.count; i++) {
        const struct program_task *task =
            &host->sim->program->tasks[step->tasks.items[i]];
        count_use(host, step->tasks.items[i], one);
        if (!spawns(step)) {
            continue;
        }
        host->spawns_left[task->scope] += one;
        for (uint32_t k = 0; k < task->inputs.count; k++) {
            count_use(host, task->inputs.items[k], one);
        }
        for (uint32_t k = 0; k < task->after.count; k++) {
            count_use(host, task->after.items[k], one);
        }
    }
}

static void tell_scope(struct host *host, uint32_t scope, enum core_event_type type)
{
    if (host_goes_on(host)) {
        host_step(host, &(struct core_event){.type = type, .hash = sim_scope(scope)});
    }
}

/* Leaves those scopes, of what the step has named, that are over for this rank's
 * program. */
static void leave_scopes(struct host *host, const uint32_t spawns[],
                         const uint32_t uses[])
{
    for (uint32_t scope = 1; scope <= PROGRAM_SCOPES_MAX; scope++) {
        if (spawns[scope] > 0 && host->spawns_left[scope] == 0) {
            tell_scope(host, scope, CORE_EV_SCOPE_CLOSE);
        }
        if (uses[scope] > 0 && host->uses_left[scope] == 0) {
            tell_scope(host, scope, CORE_EV_SCOPE_RELEASE);
        }
    }
}

static void leave_step_scopes(struct host *host, const struct program_step *step)
{
    uint32_t spawns[PROGRAM_SCOPES_MAX + 1], uses[PROGRAM_SCOPES_MAX + 1];
    memcpy(spawns, host->spawns_left, sizeof(spawns));
    memcpy(uses, host->uses_left, sizeof(uses));
    count_step(host, step, UINT32_MAX);
    leave_scopes(host, spawns, uses);
}

/* A scope that this rank's program never names is closed at once. */
static void begin_scopes(struct host *host)
{
    const struct program *program = host->sim->program;
    bool used[PROGRAM_SCOPES_MAX + 1] = {false};
    memset(host->spawns_left, 0, sizeof(host->spawns_left));
    memset(host->uses_left, 0, sizeof(host->uses_left));
    for (uint32_t i = 0; i < program->task_count; i++) {
        used[program->tasks[i].scope] = true;
    }
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const struct program_script *script = program_script(program, host->role, lane);
        for (uint32_t i = host->lanes[lane].pc; i < script->count; i++) {
            count_step(host, &script->steps[i], 1);
        }
    }
    for (uint32_t scope = 1; scope <= PROGRAM_SCOPES_MAX; scope++) {
        if (used[scope] && host->spawns_left[scope] == 0) {
            tell_scope(host, scope,
                       host->uses_left[scope] == 0 ? CORE_EV_SCOPE_RELEASE
                                                   : CORE_EV_SCOPE_CLOSE);
        }
    }
}

/* --- Letting go ------------------------------------------------------------------- */

bool uses_are_counted(const struct host *host) { return host->task_uses_left != NULL; }

static void count_task_uses(struct host *host, const struct program_step *step,
                            uint32_t one)
{
    for (uint32_t i = 0; i < step->tasks.count; i++) {
        uint32_t index = step->tasks.items[i];
        const struct program_task *task = &host->sim->program->tasks[index];
        host->task_uses_left[index] += one;
        for (uint32_t k = 0; spawns(step) && k < task->inputs.count; k++) {
            host->task_uses_left[task->inputs.items[k]] += one;
        }
        for (uint32_t k = 0; spawns(step) && k < task->after.count; k++) {
            host->task_uses_left[task->after.items[k]] += one;
        }
    }
}

/* Tasks that a kernel names when it runs, which may be late, the program keeps. */
static void keep_for_kernels(struct host *host)
{
    const struct program *program = host->sim->program;
    for (uint32_t i = 0; i < program->task_count; i++) {
        const struct program_task *task = &program->tasks[i];
        for (uint32_t k = 0; task->depth > 0 && k < task->inputs.count; k++) {
            host->task_uses_left[task->inputs.items[k]]++;
        }
        for (uint32_t k = 0; task->depth > 0 && k < task->after.count; k++) {
            host->task_uses_left[task->after.items[k]]++;
        }
    }
}

static void begin_uses(struct host *host)
{
    const struct program *program = host->sim->program;
    if (host->sim->weather.drop_above == 0) {
        return;
    }
    free(host->task_uses_left);
    host->task_uses_left =
        sim_alloc(program->task_count, sizeof(*host->task_uses_left));
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const struct program_script *script = program_script(program, host->role, lane);
        for (uint32_t i = host->lanes[lane].pc; i < script->count; i++) {
            count_task_uses(host, &script->steps[i], 1);
        }
    }
    keep_for_kernels(host);
}

static void let_go_if_unused(struct host *host, uint32_t task)
{
    if (host->task_uses_left[task] == 0 && host->sim->program->tasks[task].depth == 0) {
        host_let_go(host, task);
    }
}

static void let_go(struct host *host, const struct program_step *step)
{
    count_task_uses(host, step, UINT32_MAX);
    for (uint32_t i = 0; i < step->tasks.count; i++) {
        const struct program_task *task =
            &host->sim->program->tasks[step->tasks.items[i]];
        let_go_if_unused(host, step->tasks.items[i]);
        for (uint32_t k = 0; spawns(step) && k < task->inputs.count; k++) {
            let_go_if_unused(host, task->inputs.items[k]);
        }
        for (uint32_t k = 0; spawns(step) && k < task->after.count; k++) {
            let_go_if_unused(host, task->after.items[k]);
        }
    }
}

/* --- Both ------------------------------------------------------------------------- */

void uses_begin(struct host *host)
{
    begin_scopes(host);
    begin_uses(host);
}

void uses_pass(struct host *host, const struct program_step *step)
{
    leave_step_scopes(host, step);
    if (uses_are_counted(host)) {
        let_go(host, step);
    }
}
