/* chaos_checker_maybe.c - whether a once task can have been started by ranks that are
 * gone, under chaos_checker.h's check *verdict*.
 */
#include "consensus/sim/checks/chaos_checker_private.h"
#include "hashing/placement.h"

/* These are gone since a view: could they have started it then, and nobody else know?
 * Its chair, or keeper, with a quorum of its voters; or so many that, by certificates,
 * they had a view of their own. */
static bool could_hide_a_start(const struct storm_checker *checker,
                               const struct sim *sim, uint32_t task,
                               const struct rankset *members,
                               const struct rankset *gone)
{
    const struct rankset among = {.low = checker->program->tasks[task].candidates};
    uint32_t chair =
        placement_chair(sim_root(sim, task), members, among.low != 0 ? &among : NULL);
    if (chair == UINT32_MAX) { /* who keeps what the candidates have run */
        chair = placement_chair(sim_hash(sim, task), members, NULL);
    }
    uint32_t voters[LIMIT_VOTERS], lost = 0;
    uint32_t half = rankset_has(gone, rankset_next(members, 0)) ? 1 : 0;
    if (2 * rankset_count(gone) + half > rankset_count(members)) {
        return true;
    }
    if (chair == UINT32_MAX || !rankset_has(gone, chair)) {
        return false;
    }
    uint32_t count = placement_voters(sim_hash(sim, task), chair, members,
                                      sim_machines(sim), sim_voters(sim), voters);
    for (uint32_t i = 0; i < count; i++) {
        lost += rankset_has(gone, voters[i]);
    }
    return lost >= count / 2 + 1;
}

bool storm_may_have_run(const struct storm_checker *checker, const struct sim *sim,
                        const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    bool may =
        !rankset_empty(&seen->started_by) || seen->ballots != NULL || seen->decided;
    struct rankset gone = {0};
    const uint64_t behind = checker->behind[checker->generations.of[sight->rank]];
    for (uint64_t epoch = behind + 1;
         !may && epoch < checker->parties[sight->rank].epoch; epoch++) {
        const struct rankset *members = &storm_view(checker, epoch)->members;
        if (!rankset_empty(members)) {
            ranks_copy(&gone, members);
            ranks_drop(&gone, &storm_view_at(checker, sight->rank)->members);
            may = could_hide_a_start(checker, sim, sight->task, members, &gone);
        }
    }
    rankset_release(&gone);
    return may;
}
