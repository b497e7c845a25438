/* once_kept.c - the once tasks that this rank has owned and that it must not forget.
 *
 * PROTOCOL.md, R5.  A rank that has closed does not come to a reload, and what it has
 * noted on its disk is not read while it lives.  So it remembers, from one generation
 * to the next, of which once tasks it was the owner, and tells their chairs in each
 * view, as a voter does that has accepted an owner who may have run them.
 */
#include "consensus/state/state.h"

#include <stdlib.h>

struct kept_once {
    moot_hash hash;
    struct rankset candidates; /* empty: all are */
};

void once_keep(struct core *core, const struct task_record *task)
{
    struct core_state *state = &core->state;
    if ((task->own != CORE_OWN_RUNNING && task->own != CORE_OWN_DONE) ||
        !hash_has(&task->hash, MOOT_HASH_ONCE) ||
        hash_has(&task->hash, MOOT_HASH_IDEMPOTENT) || MUTANT(RELOADONCE)) {
        return;
    }
    if (!core_grow(core, &state->kept, &state->kept_room, state->kept_count + 1,
                   sizeof(*state->kept))) {
        return;
    }
    struct kept_once *kept = &state->kept[state->kept_count++];
    *kept = (struct kept_once){.hash = task->hash};
    if (task->candidates != NULL &&
        !rankset_copy(&kept->candidates, task->candidates)) {
        core->broken = true;
    }
}

void once_keep_all(struct core *core)
{
    for (size_t i = 0; i < core->state.slot_count; i++) {
        const struct task_record *task = table_pass(core, i);
        if (task != NULL) {
            once_keep(core, task);
        }
    }
}

/* Known is an owner, and not whether that one started: as REPORT_MAYBE has it. */
void once_bring_back(struct core *core, uint64_t epoch)
{
    for (uint32_t i = 0; i < core->state.kept_count && !core->broken; i++) {
        const struct kept_once *kept = &core->state.kept[i];
        struct task_record *task = table_enter(core, &kept->hash);
        const bool good =
            task != NULL && (rankset_empty(&kept->candidates) ||
                             task_learn_candidates(core, task, &kept->candidates));
        struct task_ext *of_task = good ? task_ext_get(core, task) : NULL;
        if (of_task == NULL) {
            core->broken = true;
            return;
        }
        of_task->accepted = REC_MAYBE;
        of_task->accepted_epoch = epoch;
        task->maybe = true;
    }
}

void once_drop_kept(struct core *core)
{
    struct core_state *state = &core->state;
    for (uint32_t i = 0; i < state->kept_count; i++) {
        rankset_release(&state->kept[i].candidates);
    }
    free(state->kept);
    state->kept = NULL;
    state->kept_count = state->kept_room = 0;
}
