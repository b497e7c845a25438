/* chaos_checker_crash.c - tasks of which ranks die, under chaos_checker.h's checks
 * *crashed*, *crash limit* and *crash bound* (I23), and *alone* (I24).
 *
 * A death is of a task if the rank died of a fault of its own in that task's kernel,
 * which the simulator shows; who can know of it is told by its host, or by a report. A
 * rank's number is never used again, so a set of ranks is a set of incarnations.
 */
#include "consensus/sim/checks/chaos_checker_private.h"
#include <inttypes.h>
#include <stdlib.h>

static const struct program_task *task_of(const struct storm_checker *checker,
                                          uint32_t task)
{
    return &checker->program->tasks[task];
}

void storm_forget_crashes(const struct storm_checker *checker, struct chaos_seen *seen)
{
    rankset_release(&seen->died);
    rankset_release(&seen->perished);
    rankset_release(&seen->suspected_by);
    rankset_release(&seen->brought_by);
    rankset_release(&seen->owed_to);
    rankset_release(&seen->alone_at);
    rankset_release(&seen->running_at);
    rankset_release(&seen->saw_crashed);
    for (uint32_t rank = 0; seen->told != NULL && rank < checker->limit; rank++) {
        rankset_release(&seen->told[rank]);
    }
    free(seen->told);
}

/* --- Who knows ------------------------------------------------------------------- */

static void tell(const struct storm_checker *checker, uint32_t task, uint32_t rank,
                 uint32_t dead)
{
    struct chaos_seen *seen = &checker->tasks[task];
    if (seen->told == NULL) {
        seen->told = calloc(checker->limit, sizeof(*seen->told));
    }
    if (seen->told == NULL) {
        abort();
    }
    ranks_add(&seen->told[rank], dead);
}

static bool knows_enough(const struct storm_checker *checker, const struct sim *sim,
                         uint32_t task, uint32_t rank)
{
    const struct chaos_seen *seen = &checker->tasks[task];
    return sim_crashes(sim) > 0 && seen->told != NULL &&
           rankset_count(&seen->told[rank]) >= sim_crashes(sim);
}

void storm_see_blame(struct storm_checker *checker, const struct sight *sight)
{
    tell(checker, sight->task, sight->rank, sight->peer);
}

void storm_see_suspect(struct storm_checker *checker, const struct sight *sight)
{
    ranks_add(&checker->tasks[sight->task].suspected_by, sight->rank);
}

/* In its own view: what is older is dropped, and what is later waits.  Who is certified
 * dead is heard no more. */
void storm_see_reported(struct storm_checker *checker, const struct sim *sim,
                        const struct sight *sight)
{
    const struct message *message = sight->message;
    bool reports = message->type == MESSAGE_REPORT || message->type == MESSAGE_HANDOVER;
    if (sight->type != SIGHT_RECEIVE || !reports ||
        message->epoch != checker->parties[sight->rank].epoch ||
        rankset_has(&checker->gone, sight->peer)) {
        return;
    }
    for (uint32_t i = 0; i < message->u.report.count; i++) {
        const struct message_entry *entry = &message->u.report.entry[i];
        uint32_t task = sim_task(sim, &entry->hash);
        if (entry->what == REPORT_CRASH && task < checker->program->task_count) {
            tell(checker, task, sight->rank, entry->owner);
        }
        if (entry->what == REPORT_SUSPECT && task < checker->program->task_count) {
            ranks_add(&checker->tasks[task].suspected_by, sight->rank);
        }
    }
}

bool storm_is_deadly(const struct storm_checker *checker, const struct sim *sim,
                     uint32_t task)
{
    return sim_crashes(sim) > 0 &&
           rankset_count(&checker->tasks[task].died) >= sim_crashes(sim);
}

/* --- Deaths ---------------------------------------------------------------------- */

/* Everybody shares the machine of the dead, and can read what it was running. */
static bool is_seen_by_all(const struct sim *sim, uint32_t dead)
{
    const struct storm *storm = sim_storm(sim);
    const uint32_t *machines = sim_machines(sim);
    bool all = storm->certify && storm->readable;
    for (uint32_t rank = 0; rank < sim_rank_count(sim); rank++) {
        all &= machines[rank] == machines[dead];
    }
    return all;
}

/* Nothing befell anybody but deaths, and no newcomer may be the last who could see. */
static bool is_bounded(const struct storm_checker *checker, const struct sim *sim)
{
    return !checker->unclear && rankset_empty(&checker->fenced) &&
           sim_rank_count(sim) == checker->first && sim_crashes(sim) > 0;
}

void storm_see_own_fault(struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    struct chaos_seen *seen = &checker->tasks[sight->task];
    uint32_t dead = 0, most = 0;
    ranks_add(sight->code != 0 ? &seen->perished : &seen->died, sight->rank);
    checker->unclear |= !is_seen_by_all(sim, sight->rank);
    for (uint32_t i = 0; i < checker->program->task_count; i++) {
        const struct program_task *task = task_of(checker, i);
        uint32_t limit = task->once && !task->idempotent ? 1 : sim_crashes(sim);
        dead += rankset_count(&checker->tasks[i].died) +
                rankset_count(&checker->tasks[i].perished);
        most += task->poison ? limit + (limit > 1 && sim_storm(sim)->vague) : 0;
    }
    if (!task_of(checker, sight->task)->poison) {
        sim_fail(sim, "crash bound", "rank %" PRIu32 " died of %s, which is no poison",
                 sight->rank, storm_task_name(checker, sight->task));
    }
    if (is_bounded(checker, sim) && dead > most) {
        sim_fail(sim, "crash bound",
                 "%" PRIu32 " ranks have died of poison, and %" PRIu32 " may", dead,
                 most);
    }
}

/* --- Who may still run it -------------------------------------------------------- */

void storm_check_owner(const struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    bool decides =
        sight->point == CORE_POINT_CLAIM || sight->point == CORE_POINT_VOTE_CAST;
    const struct program_task *task = task_of(checker, sight->task);
    if (decides && !task->once && task->elements == 0 &&
        knows_enough(checker, sim, sight->task, sight->rank)) {
        sim_fail(sim, "crash limit",
                 "rank %" PRIu32 " knows that %s died of %s, and %s", sight->rank,
                 ranks_text(&seen->told[sight->rank]).text,
                 storm_task_name(checker, sight->task),
                 sight->point == CORE_POINT_CLAIM ? "claims it" : "gives it away");
    }
}

void storm_check_dealt(const struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message *message = sight->message;
    if (sight->type == SIGHT_SEND && message->type == MESSAGE_ELEMENTS &&
        message->u.elements.what == ELEMENTS_YOURS &&
        knows_enough(checker, sim, sight->task, sight->rank)) {
        sim_fail(sim, "crash limit",
                 "rank %" PRIu32 " knows that %s died of %s, and deals elements of it",
                 sight->rank,
                 ranks_text(&checker->tasks[sight->task].told[sight->rank]).text,
                 storm_task_name(checker, sight->task));
    }
}

void storm_check_started(const struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    if (rankset_has(&seen->saw_crashed, sight->rank)) {
        sim_fail(sim, "crash limit",
                 "%s starts at rank %" PRIu32 ", which was told that it ends CRASHED",
                 storm_task_name(checker, sight->task), sight->rank);
    }
    if (is_bounded(checker, sim) && storm_is_deadly(checker, sim, sight->task)) {
        sim_fail(sim, "crash bound", "%s starts at rank %" PRIu32 ", and %s died of it",
                 storm_task_name(checker, sight->task), sight->rank,
                 ranks_text(&seen->died).text);
    }
}

/* --- Suspects -------------------------------------------------------------------- */

void storm_bring_suspects(struct storm_checker *checker, uint32_t rank)
{
    for (uint32_t task = 0; task < checker->program->task_count; task++) {
        struct chaos_seen *seen = &checker->tasks[task];
        rankset_remove(&seen->brought_by, rank);
        rankset_remove(&seen->owed_to, rank);
        if (rankset_has(&seen->suspected_by, rank)) {
            ranks_add(&seen->brought_by, rank);
        }
    }
}

/* A rank that has settled in a small view has all its members' reports. */
void storm_owe_suspects(struct storm_checker *checker, const struct sight *sight)
{
    const struct rankset *members = &storm_view_at(checker, sight->rank)->members;
    const uint64_t epoch = checker->parties[sight->rank].epoch;
    if (sight->type != SIGHT_SEND || sight->message->type != MESSAGE_SETTLED) {
        return;
    }
    for (uint32_t task = 0; task < checker->program->task_count; task++) {
        struct chaos_seen *seen = &checker->tasks[task];
        FOR_RANKS(rank, members)
        {
            if (rankset_has(&seen->brought_by, rank) &&
                checker->parties[rank].epoch == epoch) {
                ranks_add(&seen->owed_to, sight->rank);
            }
        }
    }
}

/* A task that has ended is not asked about: who knows of that need not suspect it.  Who
 * decides about it is its chair. */
static bool is_suspect(const struct chaos_seen *seen, uint32_t rank, bool decides)
{
    bool told = decides && rankset_has(&seen->owed_to, rank);
    return (told || rankset_has(&seen->suspected_by, rank)) &&
           rankset_empty(&seen->ended_by);
}

static void check_told(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight, bool told, const char *what)
{
    bool decides = sight->type == SIGHT_SEND;
    if (!told && is_suspect(&checker->tasks[sight->task], sight->rank, decides)) {
        sim_fail(sim, "alone",
                 "rank %" PRIu32 " is to know that a rank may have died of %s, and %s",
                 sight->rank, storm_task_name(checker, sight->task), what);
    }
}

static void see_begin(struct storm_checker *checker, struct sim *sim,
                      const struct sight *sight)
{
    struct party *party = &checker->parties[sight->rank];
    struct chaos_seen *seen = &checker->tasks[sight->task];
    const bool alone = rankset_has(&seen->alone_at, sight->rank);
    if (party->alone != 0 || (alone && party->kernels > 0)) {
        sim_fail(sim, "alone",
                 "%s starts at rank %" PRIu32 " beside %" PRIu32 " more%s",
                 storm_task_name(checker, sight->task), sight->rank, party->kernels,
                 alone ? ", and is a suspect" : ", a suspect");
    }
    if (!rankset_has(&seen->running_at, sight->rank)) {
        ranks_add(&seen->running_at, sight->rank);
        party->kernels++;
    }
    party->alone = alone ? 1 + sight->task : party->alone;
}

static void see_rest(struct storm_checker *checker, const struct sight *sight)
{
    struct party *party = &checker->parties[sight->rank];
    struct chaos_seen *seen = &checker->tasks[sight->task];
    if (rankset_has(&seen->running_at, sight->rank)) {
        rankset_remove(&seen->running_at, sight->rank);
        party->kernels--;
        party->alone = party->alone == 1 + sight->task ? 0 : party->alone;
    }
}

void storm_check_alone(struct storm_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    if (!sim_storm(sim)->vague) {
        return;
    }
    if (sight->type == SIGHT_RUN) {
        check_told(checker, sim, sight, sight->code != 0, "is to run it beside others");
        if (sight->code != 0) {
            ranks_add(&checker->tasks[sight->task].alone_at, sight->rank);
        }
    } else if (sight->type == SIGHT_SEND && sight->message->type == MESSAGE_DECISION) {
        check_told(checker, sim, sight, sight->message->u.decision.alone,
                   "does not tell its owner");
    } else if (sight->type == SIGHT_START) {
        see_begin(checker, sim, sight);
    } else if (sight->type == SIGHT_END || sight->type == SIGHT_PAUSE) {
        see_rest(checker, sight);
    }
}

/* --- How it ends ----------------------------------------------------------------- */

/* A member of the view of the rank that says so: it would have reported it. */
static bool is_running(const struct storm_checker *checker, const struct sight *sight,
                       struct rankset *who)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    ranks_copy(who, &seen->started_by);
    ranks_keep(who, &storm_view_at(checker, sight->rank)->members);
    ranks_keep(who, &checker->counting);
    ranks_drop(who, &checker->adjourned);
    ranks_drop(who, &seen->ended_by);
    return !rankset_empty(who);
}

void storm_check_told_alike(const struct storm_checker *checker, struct sim *sim,
                            const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    if (rankset_has(&checker->counting, sight->rank) &&
        ranks_meet(&seen->saw_crashed, &checker->counting) &&
        ranks_meet(&seen->saw_unheld, &checker->counting)) {
        sim_fail(sim, "crashed",
                 "of %s ranks %s were told CRASHED, and %s that nobody holds it",
                 storm_task_name(checker, sight->task),
                 ranks_text(&seen->saw_crashed).text,
                 ranks_text(&seen->saw_unheld).text);
    }
}

void storm_check_crashed(struct storm_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    const struct chaos_seen *seen = &checker->tasks[sight->task];
    const struct program_task *task = task_of(checker, sight->task);
    struct rankset running = {0};
    if (task->once || !storm_is_deadly(checker, sim, sight->task)) {
        sim_fail(sim, "crashed",
                 "rank %" PRIu32 " says or hears CRASHED of %s; of it died %s",
                 sight->rank, storm_task_name(checker, sight->task),
                 ranks_text(&seen->died).text);
    } else if (is_running(checker, sight, &running)) {
        sim_fail(sim, "crashed",
                 "rank %" PRIu32 " says or hears CRASHED of %s, which %s runs",
                 sight->rank, storm_task_name(checker, sight->task),
                 ranks_text(&running).text);
    }
    if (sight->type == SIGHT_VERDICT) {
        ranks_add(&checker->tasks[sight->task].saw_crashed, sight->rank);
        storm_check_told_alike(checker, sim, sight);
    }
    rankset_release(&running);
}

static bool any_excused(const struct storm_checker *checker,
                        const struct program_list *list)
{
    bool any = false;
    for (uint32_t i = 0; i < list->count; i++) {
        any |= checker->tasks[list->items[i]].excused;
    }
    return any;
}

bool storm_fits_poison(const struct storm_checker *checker, const struct sim *sim,
                       uint32_t task, int32_t code)
{
    const struct program_task *poison = task_of(checker, task);
    bool clear = poison->poison && program_runs(checker->program, task) &&
                 !program_shaky(checker->program, task) &&
                 !any_excused(checker, &poison->inputs) &&
                 !any_excused(checker, &poison->after);
    if (poison->elements > 0 && code == MOOT_ERR_CRASHED &&
        !storm_is_deadly(checker, sim, task)) {
        return false;
    }
    if (!clear || code == MOOT_ERR_NOT_HELD || code == MOOT_ERR_NO_CANDIDATE) {
        return true;
    }
    return code == (poison->once ? MOOT_ERR_MAYBE_RAN : MOOT_ERR_CRASHED);
}
