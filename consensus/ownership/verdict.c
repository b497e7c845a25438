/* verdict.c - ending a task for all and for good (PROTOCOL.md, T9).
 *
 * A wait that ends without a result says that there is none, and the program goes on
 * from that.  Were it said to one asker alone, another could still see the task run: so
 * it is a decision, as who owns a task is one.  Its chair writes it into the task's
 * record, where an owner would stand; whoever asks is told at once, also who spawns the
 * task later, on any rank; nobody runs it.  Who was told keeps it (`ends`) and reports
 * it in each view, so the next chair decides the same.
 *
 * A task with candidates, of which nobody knows any, is its finder's to end.  But
 * whoever spawns it knows its candidates and might be its chair: it would claim it
 * without a word.  So the finder first asks all members to hold it back (VERDICT_ASK).
 * Who holds it says so, and then it is VOID; who does not decides nothing about it,
 * whatever its program spawns, until it has heard the outcome; and when all have said
 * that they do not hold it, all are told how it ends.
 */
#include "consensus/ownership/ownership_private.h"

#include "consensus/state/state.h"

#include <assert.h>

/* --- Deciding ----------------------------------------------------------------------
 */

static uint64_t age_ns(const struct core *core, const struct task_end *ends)
{
    return core->now_ns - ends->since_ns;
}

static uint64_t since_ns(const struct core *core, uint64_t age)
{
    return age < core->now_ns ? core->now_ns - age : 0;
}

static struct message_verdict said_of(const struct core *core,
                                      const struct task_record *task)
{
    const struct task_end *ends = &task_ext(task)->ends;
    assert(ends->code < 0);
    return (struct message_verdict){.code = ends->code,
                                    .what = VERDICT_TASK,
                                    .by = ends->by,
                                    .epoch = ends->epoch,
                                    .age_ns = age_ns(core, ends)};
}

static void say(struct core *core, uint32_t to, struct task_record *task,
                const struct message_verdict *said)
{
    assert(to != core->rank);
    struct message *message = out_send(core, to, MESSAGE_VERDICT, task);
    if (message != NULL) {
        message->u.verdict = *said;
    }
}

static void say_to_all(struct core *core, struct task_record *task,
                       const struct message_verdict *said)
{
    FOR_MEMBERS(core, rank)
    {
        if (rank != core->rank) {
            say(core, rank, task, said);
        }
    }
}

/* This rank's word stands in its record, as an owner's name would. */
static void write_record(struct core *core, struct task_record *task)
{
    bool mine = task->chair == core->rank && !task->finder && !task->frozen;
    if (mine && task->rec == NOBODY && task->own == CORE_OWN_NONE) {
        release_touch(core, task);
        task->rec = REC_VERDICT;
        undecided_remove(core, task);
        release_count(core, task);
    }
}

struct task_end verdict_end(struct core *core, int32_t code)
{
    core->stats.crashed += code == MOOT_ERR_CRASHED;
    return (struct task_end){
        .code = code, .by = core->rank, .epoch = core->epoch, .since_ns = core->now_ns};
}

void verdict_decide(struct core *core, struct task_record *task, int32_t code)
{
    assert(code < 0 && (task->chair == core->rank || task->finder));
    assert(task->own == CORE_OWN_NONE && (task->rec == NOBODY || task->finder));
    task_ext_get(core, task)->ends = verdict_end(core, code);
    write_record(core, task);
    verdict_serve(core, task);
    if (MUTANT(VERDICTALONE)) { /* as if each asker were told by itself */
        task_ext_get(core, task)->ends = (struct task_end){0};
        task->rec = NOBODY;
    }
}

/* Enough ranks have died of it, as was learnt after its chair had looked at it. */
static bool is_to_crash(const struct core *core, const struct task_record *task)
{
    return crash_ends(core, task) && !MUTANT(CRASHGIVEN) && task->rec == NOBODY &&
           task->own == CORE_OWN_NONE && task->have == CORE_HAVE_NOTHING &&
           !hash_has(&task->hash, MOOT_HASH_ONCE);
}

int32_t verdict_of_crashes(const struct task_record *task)
{
    return task->seen ? MOOT_ERR_RESULT_LOST : MOOT_ERR_CRASHED;
}

bool verdict_crashes(struct core *core, struct task_record *task)
{
    bool deadly = task_ends_with(task) == 0 && is_to_crash(core, task);
    if (deadly) {
        verdict_decide(core, task, verdict_of_crashes(task));
    }
    return deadly;
}

bool verdict_forbids(struct core *core, struct task_record *task)
{
    if (verdict_crashes(core, task)) {
        return true;
    }
    if (task_ends_with(task) != 0 && !MUTANT(VERDICTRUNS)) {
        write_record(core, task);
        return true;
    }
    return verdict_holds_back(task);
}

/* --- Telling ------------------------------------------------------------------------
 */

void verdict_tell_askers(struct core *core, struct task_record *task,
                         const struct message_verdict *said)
{
    assert(said->code < 0);
    struct requests *requests = task->requests;
    bool self = false;
    for (uint32_t i = requests != NULL ? requests->asker_count : 0; i-- > 0;) {
        struct asker asker = requests->askers[i];
        if (asker.want == WANT_NOTHING) {
            continue;
        }
        requests->askers[i] = requests->askers[--requests->asker_count];
        if (asker.rank == core->rank) {
            self = true;
        } else {
            say(core, asker.rank, task, said);
        }
    }
    if (requests != NULL && !requests_is_wanted(requests)) {
        undecided_remove(core, task);
    }
    if (self) {
        graph_verdict(core, task, said->code, NULL, 0);
    }
}

void verdict_serve(struct core *core, struct task_record *task)
{
    const struct message_verdict said = said_of(core, task);
    write_record(core, task);
    verdict_tell_askers(core, task, &said);
}

void verdict_end_wait(struct core *core, struct task_record *task)
{
    if (!task->verdict) {
        graph_verdict(core, task, task_ends_with(task), NULL, 0);
    }
}

/* --- Where nobody knows the candidates ----------------------------------------------
 */

bool verdict_holds_back(const struct task_record *task)
{
    return task->task_ext != NULL && task->task_ext->kept_for != NOBODY;
}

static void ask_all(struct core *core, struct task_record *task)
{
    task->requests->failing = true;
    rankset_release(&task->requests->never);
    say_to_all(
        core, task,
        &(struct message_verdict){.code = MOOT_ERR_NOT_HELD, .what = VERDICT_ASK});
}

void verdict_void(struct core *core, struct task_record *task)
{
    assert(task->requests != NULL && task->requests->failing);
    task->requests->failing = false;
    rankset_release(&task->requests->never);
    say_to_all(
        core, task,
        &(struct message_verdict){.code = MOOT_ERR_NOT_HELD, .what = VERDICT_VOID});
}

/* Nobody holds it; of one that ended well, as somebody knows, the result is lost. */
static int32_t code_of_unheld(const struct task_record *task)
{
    return task->seen ? MOOT_ERR_RESULT_LOST : MOOT_ERR_NOT_HELD;
}

/* All members have answered; those who hold it back wait for what comes of it. */
static void end_failing(struct core *core, struct task_record *task)
{
    if (!requests_is_wanted(task->requests)) {
        verdict_void(core, task);
        return;
    }
    task->requests->failing = false;
    verdict_decide(core, task, code_of_unheld(task));
    if (task_ends_with(task) != 0) {
        const struct message_verdict said = said_of(core, task);
        say_to_all(core, task, &said);
    }
}

static bool all_others_never_will(const struct core *core,
                                  const struct requests *requests)
{
    return rankset_count(&requests->never) + 1 >= rankset_count(&core->members);
}

void verdict_if_nobody_will(struct core *core, struct task_record *task)
{
    assert(task->own == CORE_OWN_NONE);
    struct requests *requests = task->requests;
    if (!all_others_never_will(core, requests)) {
        return;
    }
    if (requests->failing) {
        end_failing(core, task);
    } else if (ask_never_will_hold(core, task) && requests->seek_sent &&
               requests_is_wanted(requests)) {
        verdict_decide(core, task, code_of_unheld(task));
    }
}

void verdict_unheld(struct core *core, struct task_record *task)
{
    assert(task->requests != NULL && task->requests->undecided);
    if (task->frozen || core->membership.no_quorum || verdict_holds_back(task)) {
        return; /* things have moved since all was quiet */
    }
    if (!task->finder || MUTANT(VERDICTUNASKED)) {
        verdict_decide(core, task, code_of_unheld(task));
        return;
    }
    if (!task->requests->failing) {
        ask_all(core, task);
    }
    verdict_if_nobody_will(core, task);
}

/* --- Being told ---------------------------------------------------------------------
 */

void verdict_learn(struct core *core, struct task_record *task,
                   const struct task_end *ends)
{
    assert(ends->code < 0);
    if (task->own != CORE_OWN_NONE || task->have != CORE_HAVE_NOTHING) {
        core->stats.violations++; /* I21 */
        return;
    }
    struct task_ext *ext = task_ext_get(core, task);
    ext->kept_for = NOBODY;
    if (ext->ends.code == 0) {
        ext->ends = *ends;
    }
    write_record(core, task);
}

/* Nothing is to be done of it here until the finder has said what comes of it. */
static void keep_for(struct core *core, uint32_t from, struct task_record *task)
{
    if (!task->held && task_ends_with(task) == 0) {
        task_ext_get(core, task)->kept_for = from;
    }
    ask_answer_seek(core, task, from);
}

static void go_on(struct core *core, uint32_t from, struct task_record *task)
{
    if (task_ext(task)->kept_for == from) {
        task_ext_get(core, task)->kept_for = NOBODY;
        agenda_add(core, task, AGENDA_ASK | AGENDA_TEST);
    }
}

static void take_end(struct core *core, struct task_record *task,
                     const struct message_verdict *verdict)
{
    const struct task_end ends = {.code = verdict->code,
                                  .by = verdict->by,
                                  .epoch = verdict->epoch,
                                  .since_ns = since_ns(core, verdict->age_ns)};
    verdict_learn(core, task, &ends);
    if (task_ends_with(task) != 0 && ask_wants(task)) {
        verdict_end_wait(core, task);
    }
    if (task_ends_with(task) != 0 && task->requests != NULL) {
        agenda_add(core, task, AGENDA_TEST); /* who has asked meanwhile */
    }
}

void verdict_on_verdict(struct core *core, uint32_t from, struct task_record *task,
                        const struct message_verdict *verdict)
{
    assert(task != NULL && from != core->rank);
    switch (verdict->what) {
    case VERDICT_WAIT:
        if (!task_satisfied(task)) {
            task->lost |= verdict->code == MOOT_ERR_RESULT_LOST;
            graph_verdict(core, task, verdict->code, NULL, 0);
        }
        break;
    case VERDICT_TASK:
        take_end(core, task, verdict);
        break;
    case VERDICT_ASK:
        keep_for(core, from, task);
        break;
    case VERDICT_VOID:
        go_on(core, from, task);
        break;
    }
}

/* --- In another view
 * ------------------------------------------------------------------ */

struct message_entry verdict_entry(const struct core *core,
                                   const struct task_record *task)
{
    const struct task_end *ends = &task_ext(task)->ends;
    assert(ends->code < 0);
    return (struct message_entry){.hash = task->hash,
                                  .what = REPORT_VERDICT,
                                  .owner = ends->by,
                                  .epoch = ends->epoch,
                                  .code = ends->code,
                                  .age_ns = age_ns(core, ends)};
}

struct task_end verdict_from_entry(const struct core *core,
                                   const struct message_entry *entry)
{
    assert(entry->what == REPORT_VERDICT);
    return (struct task_end){.code = entry->code,
                             .by = entry->owner,
                             .epoch = entry->epoch,
                             .since_ns = since_ns(core, entry->age_ns)};
}
