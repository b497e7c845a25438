/* chaos_checker_memory.c - what is kept for others, and what is forgotten, under
 * chaos_checker.h's checks. */
#include "consensus/sim/checks/chaos_checker_private.h"
#include <inttypes.h>
#include <stdlib.h>

/* --- Leaving --------------------------------------------------------------------- */

/* Nested tasks are in the scope of what spawned them. */
static bool is_scoped(const struct program *program, uint32_t task)
{
    while (program->tasks[task].parent != PROGRAM_NONE) {
        task = (uint32_t)program->tasks[task].parent;
    }
    return program->tasks[task].scope != 0;
}

/* A task that all have agreed to forget, by its scope's end or before that, needs no
 * heir, and what a crash may take along is nobody's fault. */
void storm_see_departure(struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    struct rankset others = {0};
    ranks_copy(&others, &checker->counting);
    rankset_remove(&others, sight->rank);
    ranks_drop(&others, &checker->leaving);
    bool nobody = rankset_empty(&others);
    for (uint32_t i = 0; i < checker->program->task_count; i++) {
        const struct chaos_seen *seen = &checker->tasks[i];
        if (!checker->faulty && !nobody && !is_scoped(checker->program, i) &&
            rankset_has(&seen->kept_by, sight->rank) &&
            !rankset_has(&seen->forgot, sight->rank) &&
            !ranks_meet(&seen->kept_by, &checker->counting)) {
            sim_fail(sim, "handed over", "rank %" PRIu32 " takes %s along", sight->rank,
                     storm_task_name(checker, i));
        }
    }
    rankset_release(&others);
}

/* --- Memory ---------------------------------------------------------------------- */

/* A member has them besides, who has not left them to this rank.  If another run may
 * give others it is made again no more, whoever has spawned it (I71). */
void storm_see_give_up(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    struct chaos_seen *seen = &checker->tasks[sight->task];
    const struct kept *kept =
        rankset_has(&seen->kept_by, sight->rank) ? &seen->kept[sight->rank] : NULL;
    if (kept == NULL || kept->status != MOOT_OK || kept->owner == sight->rank ||
        rankset_has(&seen->heirs, sight->rank) ||
        !rankset_has(&storm_view_at(checker, sight->rank)->members, kept->owner)) {
        sim_fail(sim, "only copy",
                 "rank %" PRIu32 " gives the bytes of %s up, which it is to keep",
                 sight->rank, storm_task_name(checker, sight->task));
    }
    rankset_remove(&seen->kept_by, sight->rank);
    if (!checker->program->tasks[sight->task].varies) {
        rankset_remove(&seen->bound_by, sight->rank);
    }
}

void storm_find_keepers(const struct storm_checker *checker, const struct sight *sight,
                        struct rankset *here)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    FOR_RANKS(rank, &seen->kept_by)
    {
        if (seen->kept[rank].epoch <= checker->parties[sight->rank].epoch) {
            ranks_add(here, rank);
        }
    }
    ranks_keep(here, &storm_view_at(checker, sight->rank)->members);
    ranks_keep(here, &storm_view(checker, checker->newest)->members);
    ranks_drop(here, &checker->gone);
}

bool storm_takes_dropped(const struct storm_checker *checker, uint32_t rank,
                         uint32_t index)
{
    const struct program_task *task = &checker->program->tasks[index];
    const struct program_list *lists[] = {&task->inputs, &task->after};
    for (int list = 0; list < 2; list++) {
        for (uint32_t i = 0; i < lists[list]->count; i++) {
            if (rankset_has(&checker->tasks[lists[list]->items[i]].forgot, rank)) {
                return true;
            }
        }
    }
    return false;
}

/* A once task will not start again, nor be had (I38). */
bool storm_was_dropped(const struct storm_checker *checker, const struct sight *sight)
{
    return checker->boundary && sight->rank >= checker->first &&
           checker->program->tasks[sight->task].once &&
           !rankset_empty(&checker->tasks[sight->task].forgot);
}

/* To those who have dropped it what a newcomer names is another task (G5), unless it is
 * a once task: that does not start again (I38). */
static void name_anew(struct storm_checker *checker, uint32_t task)
{
    struct chaos_seen *seen = &checker->tasks[task];
    struct rankset *sets[] = {&seen->spawned_by, &seen->adopted_by, &seen->kept_by,
                              &seen->bound_by,   &seen->heirs,      &seen->started_by};
    const size_t count = sizeof(sets) / sizeof(sets[0]);
    const bool once = checker->program->tasks[task].once;
    for (size_t i = 0; i < (once ? count - 1 : count); i++) {
        ranks_drop(sets[i], &seen->forgot);
    }
    seen->excused |= once && !rankset_empty(&seen->forgot);
}

void storm_begin_anew(struct storm_checker *checker, const struct sight *sight)
{
    const struct program_task *task = &checker->program->tasks[sight->task];
    const bool names = sight->type == SIGHT_SPAWN || sight->type == SIGHT_WAIT;
    if (!checker->boundary || sight->rank < checker->first || !names) {
        return;
    }
    name_anew(checker, sight->task);
    for (uint32_t i = 0; i < task->inputs.count; i++) {
        name_anew(checker, task->inputs.items[i]);
    }
    for (uint32_t i = 0; i < task->after.count; i++) {
        name_anew(checker, task->after.items[i]);
    }
}

/* Without a scope, it is dropped: no program of a member uses it any more. */
void storm_see_forget(const struct storm_checker *checker, struct sim *sim,
                      const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    struct rankset users = {0};
    if (is_scoped(checker->program, sight->task) ||
        checker->program->tasks[sight->task].depth > 0) {
        return;
    }
    ranks_copy(&users, &seen->spawned_by);
    ranks_drop(&users, &seen->let_go_by);
    ranks_drop(&users, &checker->leaving);
    storm_keep_running(checker, &users);
    if (ranks_meet(&users, &storm_view_at(checker, sight->rank)->members)) {
        sim_fail(sim, "forgotten",
                 "rank %" PRIu32 " forgets %s, which ranks %s have not let go",
                 sight->rank, storm_task_name(checker, sight->task),
                 ranks_text(&users).text);
    }
    rankset_release(&users);
}

void storm_forget_task(const struct storm_checker *checker, struct chaos_seen *seen)
{
    storm_forget_crashes(checker, seen);
    rankset_release(&seen->spawned_by);
    rankset_release(&seen->adopted_by);
    rankset_release(&seen->started_by);
    rankset_release(&seen->ended_by);
    rankset_release(&seen->kept_by);
    rankset_release(&seen->forgot);
    rankset_release(&seen->let_go_by);
    rankset_release(&seen->bound_by);
    rankset_release(&seen->heirs);
    rankset_release(&seen->saw_well);
    rankset_release(&seen->saw_ill);
    rankset_release(&seen->said_unheld);
    rankset_release(&seen->repeats_unheld);
    rankset_release(&seen->saw_unheld);
    rankset_release(&seen->forgone);
    for (int epoch = 0; seen->ballots != NULL && epoch < STORM_VIEWS_MAX; epoch++) {
        rankset_release(&seen->ballots[epoch].acked);
    }
    free(seen->ballots);
    free(seen->kept);
}
