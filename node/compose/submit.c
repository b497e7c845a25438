/* submit.c - see submit.h. */
#include "node/compose/submit.h"

#include "hashing/base/hot.h"
#include "node/compose/group.h"
#include "node/compose/queue.h"
#include "node/engine/engine.h"
#include "node/spawn/spawn.h"
#include "node/spawn/spawn_batch.h"
#include "node/spawn/spawn_check.h"

static int spawn_in_queue(struct moot *m, struct lane *lane, bool queued,
                          struct task_facts *facts, moot_task *out)
{
    lane_forget_stubs(lane, facts->reg.input_count);
    return queue_spawn(m, lane, queued, facts, out);
}

HOT int spawn_task(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                   const char *site, struct task *parent, moot_task *out)
{
    int error =
        parent == NULL ? spawn_check_open(m, lane) : spawn_judge_open(m, lane, parent);
    if (error == MOOT_OK && parent == NULL && lane->group != NULL) {
        error = group_reserve(m, lane);
    }
    if (error != MOOT_OK) {
        return error;
    }
    struct spawn spawn;
    error = spawn_check(m, lane, spec, site, parent, &spawn);
    if (error == MOOT_OK) {
        bool queued = (spec->flags & MOOT_TASK_NO_QUEUE) == 0;
        error = parent == NULL && lane->queues.entry == NULL
                    ? spawn_at_once(m, lane, &spawn.facts, out)
                    : spawn_in_queue(m, lane, queued, &spawn.facts, out);
    }
    if (spawn.candidates.high_words > 0) {
        rankset_release(&spawn.candidates);
    }
    if (parent == NULL && error == MOOT_OK) {
        if (lane->group != NULL) {
            group_add(m, lane, *out);
        }
        spawn_make_room(m, lane);
    } else {
        spawn_drive(m);
    }
    return error;
}

/* Whether a plain spawn of this thread may wait for its hash now. */
static inline bool may_wait(const struct moot *m, const struct lane *lane)
{
    if (m->spawn.unnamed.count > 0) {
        return m->spawn.unnamed.lane == lane;
    }
    return unnamed_is_open(m, lane) &&
           (lane->queues.entry == NULL
                ? !unnamed_others_may_run(m)
                : lane->group == NULL && region_is_open(lane->queues.top));
}

static inline bool take_batched(struct moot *m, struct lane *lane,
                                const moot_task_spec *spec, const char *site,
                                moot_task *out)
{
    struct moot_queue *queue = lane->queues.entry;
    return queue == NULL ? unnamed_take(m, lane, spec, site, out)
                         : region_take(m, lane, queue, spec, site, out);
}

HOT int spawn_soon(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                   const char *site, moot_task *out)
{
    if (spawn_check_open(m, lane) == MOOT_OK && may_wait(m, lane) &&
        (lane->group == NULL || group_reserve(m, lane) == MOOT_OK) &&
        take_batched(m, lane, spec, site, out)) {
        if (lane->group != NULL) {
            group_add(m, lane, *out);
        }
        unnamed_make_room(m, lane);
        return MOOT_OK;
    }
    engine_end_batches_for_call(m);
    return spawn_task(m, lane, spec, site, NULL, out);
}
