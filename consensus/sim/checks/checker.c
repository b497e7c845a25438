/* checker.c - see checker.h. */
#include "consensus/sim/checks/checker.h"
#include "consensus/sim/checks/array_checker.h"
#include "consensus/sim/checks/ended_checker.h"
#include "consensus/sim/checks/meeting_checker.h"
#include "consensus/sim/checks/signature_checker.h"
#include "consensus/sim/checks/snapshot_checker.h"
#include "consensus/sim/checks/strict_checker.h"
#include "consensus/sim/checks/tree_checker.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What has been seen of one task. */
struct task_seen {
    struct rankset spawned_by, let_go_by, kept_by, acked_by;
    uint8_t *data_to; /* agreeing: results with data, to each rank; or NULL */
    uint8_t *asks_of; /* and its motions */
    uint8_t *given_up_by;
    uint32_t given, started;
    uint32_t owner; /* the rank it was given to */
    bool ended;
    bool well, ill;   /* shaky: it ended so */
    int32_t expected; /* MOOT_OK: the oracle says */
};

struct checker {
    const struct program *program;
    struct task_seen *tasks;
    bool differs; /* in strict mode: tasks that some ranks lack stay undone */
    bool asks; /* for snapshots: who waits for one is not blocked, and evidence of its
                  tasks has to wait, too */
};

struct checker *checker_new(const struct program *program)
{
    struct checker *checker = calloc(1, sizeof(*checker));
    if (checker == NULL) {
        abort();
    }
    checker->program = program;
    checker->tasks = calloc(program->task_count + 1, sizeof(*checker->tasks));
    if (checker->tasks == NULL) {
        abort();
    }
    return checker;
}

void checker_free(struct checker *checker)
{
    if (checker == NULL) {
        return;
    }
    for (uint32_t i = 0; i < checker->program->task_count; i++) {
        rankset_release(&checker->tasks[i].spawned_by);
        rankset_release(&checker->tasks[i].let_go_by);
        rankset_release(&checker->tasks[i].kept_by);
        rankset_release(&checker->tasks[i].acked_by);
        free(checker->tasks[i].data_to);
        free(checker->tasks[i].asks_of);
        free(checker->tasks[i].given_up_by);
    }
    free(checker->tasks);
    free(checker);
}

void checker_expect(struct checker *checker, uint32_t task, int32_t code)
{
    checker->tasks[task].expected = code;
}

static void include(struct rankset *ranks, uint32_t rank)
{
    if (!rankset_add(ranks, rank)) {
        abort();
    }
}

static bool is_candidate(const struct program_task *task, uint32_t rank)
{
    return task->candidates == 0 || (rank < 64 && (task->candidates >> rank & 1));
}

static const char *name(const struct checker *checker, uint32_t task)
{
    return checker->program->tasks[task].name;
}

/* --- Results ---------------------------------------------------------------------- */

static bool should_fail(const struct checker *checker, uint32_t task)
{
    return program_fails(checker->program, task) ||
           checker->tasks[task].expected != MOOT_OK;
}

/* Whoever cancels: all see the same end, and what has started does not end so (but for
 * what takes the result of a child that did).  True if it failed because of that. */
static bool check_shaky(struct checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    struct task_seen *seen = &checker->tasks[sight->task];
    bool ill = sight->code != MOOT_OK;
    if (!program_shaky(checker->program, sight->task)) {
        return false;
    }
    seen->well |= !ill;
    seen->ill |= ill;
    if (seen->well && seen->ill) {
        sim_fail(sim, "one outcome", "rank %" PRIu32 " sees %s end %s, others do not",
                 sight->rank, name(checker, sight->task), ill ? "in an error" : "well");
    }
    if (sight->code == MOOT_ERR_CANCELLED && seen->started != 0 &&
        checker->program->tasks[sight->task].children.count == 0) {
        sim_fail(sim, "ran once", "%s ran, and is cancelled",
                 name(checker, sight->task));
    }
    return ill;
}

/* A result with this status, and these bytes unless NULL, was made or taken. */
static void check_result(struct checker *checker, struct sim *sim,
                         const struct sight *sight, const char *where)
{
    if (check_shaky(checker, sim, sight)) {
        return;
    }
    size_t size;
    const uint8_t *bytes = program_result(checker->program, sight->task, &size);
    if (checker->differs && sight->code != MOOT_OK) {
        return; /* for want of an input that is never made */
    }
    bool should = should_fail(checker, sight->task);
    if (should != (sight->code != MOOT_OK)) {
        sim_fail(sim, "oracle", "%s at rank %" PRIu32 " (%s) has status %" PRId32,
                 name(checker, sight->task), sight->rank, where, sight->code);
    } else if (!should && sight->data != NULL &&
               (sight->size != size || memcmp(sight->data, bytes, size) != 0)) {
        sim_fail(sim, "oracle", "%s at rank %" PRIu32 " (%s) has other bytes",
                 name(checker, sight->task), sight->rank, where);
    }
}

static void check_keep(struct checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    struct task_seen *seen = &checker->tasks[sight->task];
    check_result(checker, sim, sight, "kept");
    include(&seen->kept_by, sight->rank);
    uint64_t uid = sight->message->u.result.owner_uid;
    if (!seen->ended || uid != sim_uid(sim, seen->owner)) {
        sim_fail(sim, "one owner", "rank %" PRIu32 " keeps %s of an owner that is not",
                 sight->rank, name(checker, sight->task));
    }
    if (seen->given != 0 && seen->owner == sight->rank) {
        sim_fail(sim, "one owner", "rank %" PRIu32 " owns %s and keeps another's",
                 sight->rank, name(checker, sight->task));
    }
}

/* --- Owners ----------------------------------------------------------------------- */

static void check_run(struct checker *checker, struct sim *sim,
                      const struct sight *sight)
{
    struct task_seen *seen = &checker->tasks[sight->task];
    if (seen->given++ != 0) {
        sim_fail(sim, "ran once", "%s is given to rank %" PRIu32 " and to %" PRIu32,
                 name(checker, sight->task), seen->owner, sight->rank);
    }
    seen->owner = sight->rank;
    if (!is_candidate(&checker->program->tasks[sight->task], sight->rank)) {
        sim_fail(sim, "ran once", "%s is given to rank %" PRIu32 ", no candidate",
                 name(checker, sight->task), sight->rank);
    }
    if (rankset_has(&seen->kept_by, sight->rank)) {
        sim_fail(sim, "one owner", "rank %" PRIu32 " owns %s and kept another's",
                 sight->rank, name(checker, sight->task));
    }
}

static void check_quorum(struct checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    uint32_t voters = sim_voters(sim) < checker->program->rank_count
                          ? sim_voters(sim)
                          : checker->program->rank_count;
    const struct rankset *acked_by = &checker->tasks[sight->task].acked_by;
    uint32_t accepted =
        rankset_count(acked_by) + !rankset_has(acked_by, sim_chair(sim, sight->task));
    if (accepted < voters / 2 + 1) {
        sim_fail(sim, "quorum",
                 "once task %s starts at rank %" PRIu32 " with %" PRIu32 " of %" PRIu32
                 " voters",
                 name(checker, sight->task), sight->rank, accepted, voters);
    }
}

static void check_start(struct checker *checker, struct sim *sim,
                        const struct sight *sight)
{
    struct task_seen *seen = &checker->tasks[sight->task];
    if (seen->started++ != 0) {
        sim_fail(sim, "ran once", "%s starts again, at rank %" PRIu32,
                 name(checker, sight->task), sight->rank);
    }
    if (!program_runs(checker->program, sight->task)) {
        sim_fail(sim, "ran once", "%s starts at rank %" PRIu32 " and must not",
                 name(checker, sight->task), sight->rank);
    }
    if (checker->program->tasks[sight->task].once) {
        check_quorum(checker, sim, sight);
    }
}

/* --- Waits ------------------------------------------------------------------------ */

static void check_waited(struct checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    int32_t expected = checker->tasks[sight->task].expected;
    if (sight->code == MOOT_ERR_DIVERGED && checker->differs) {
        return;
    }
    if (program_ghost(checker->program, sight->task)) {
        expected = MOOT_ERR_NOT_HELD;
    }
    if (expected == CHECKER_ANY_ERROR && sight->code != MOOT_OK) {
        return;
    }
    if (expected == MOOT_OK && check_shaky(checker, sim, sight)) {
        return;
    }
    if (expected != MOOT_OK ? sight->code != expected
                            : (sight->code != MOOT_OK) !=
                                  program_fails(checker->program, sight->task)) {
        sim_fail(sim, "wait code", "rank %" PRIu32 "'s wait for %s ends with %" PRId32,
                 sight->rank, name(checker, sight->task), sight->code);
    } else {
        check_result(checker, sim, sight, "waited for");
    }
}

static bool has_holder(const struct checker *checker, uint32_t task)
{
    const struct rankset *holders = &checker->tasks[task].spawned_by;
    for (uint32_t rank = rankset_next(holders, 0); rank != UINT32_MAX;
         rank = rankset_next(holders, rank + 1)) {
        if (is_candidate(&checker->program->tasks[task], rank)) {
            return true;
        }
    }
    return false;
}

static void check_verdict(struct checker *checker, struct sim *sim,
                          const struct sight *sight)
{
    const struct task_seen *seen = &checker->tasks[sight->task];
    if (sight->code == MOOT_ERR_NOT_HELD && has_holder(checker, sight->task)) {
        sim_fail(sim, "not held", "rank %" PRIu32 " is told that nobody holds %s",
                 sight->rank, name(checker, sight->task));
    }
    if (sight->code == MOOT_ERR_DIVERGED && checker->differs) {
        return;
    }
    if (sight->code != MOOT_ERR_NOT_HELD && sight->code != seen->expected &&
        seen->expected != CHECKER_ANY_ERROR) {
        sim_fail(sim, "wait code", "rank %" PRIu32 " gets verdict %" PRId32 " on %s",
                 sight->rank, sight->code, name(checker, sight->task));
    }
}

/* --- Messages --------------------------------------------------------------------- */

/* One more of what there is a number of for every rank; what it was. */
static uint32_t count_one(const struct checker *checker, uint8_t **numbers,
                          uint32_t rank)
{
    if (*numbers == NULL) {
        *numbers = calloc(checker->program->rank_count, 1);
    }
    if (*numbers == NULL) {
        abort();
    }
    return (*numbers)[rank] < UINT8_MAX ? (*numbers)[rank]++ : UINT8_MAX;
}

/* Agreeing ranks: who is sent a second copy has asked. */
static void check_data(struct checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    struct task_seen *seen = &checker->tasks[sight->task];
    const struct message *message = sight->message;
    if (message->type == MESSAGE_PULL ||
        (message->type == MESSAGE_MOTION && message->u.motion.want == WANT_DATA)) {
        (void)count_one(checker, &seen->asks_of, sight->rank);
    }
    if (message->type != MESSAGE_RESULT || message->u.result.data == RESULT_BARE ||
        message->u.result.part > 1) {
        return;
    }
    uint32_t more = (seen->asks_of != NULL ? seen->asks_of[sight->peer] : 0u) +
                    (seen->given_up_by != NULL ? seen->given_up_by[sight->peer] : 0u);
    if (count_one(checker, &seen->data_to, sight->peer) > more) {
        sim_fail(sim, "one result", "%s goes to rank %" PRIu32 " again, unasked",
                 name(checker, sight->task), sight->peer);
    }
}

static void check_send(struct checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message *message = sight->message;
    bool known = sight->task < checker->program->task_count;
    if (known && message->type == MESSAGE_ACK) {
        include(&checker->tasks[sight->task].acked_by, sight->rank);
    }
    if (!checker->program->agree) {
        return;
    }
    if (message->type == MESSAGE_SEEK) {
        sim_fail(sim, "no votes", "rank %" PRIu32 " searches, though ranks agree",
                 sight->rank);
    }
    if (known) {
        check_data(checker, sim, sight);
    }
}

/* Without a scope, it is dropped: no program uses it any more. */
static void check_let_go(const struct checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    const struct program_task *task = &checker->program->tasks[sight->task];
    const struct task_seen *seen = &checker->tasks[sight->task];
    for (uint32_t rank = 0; rank < checker->program->rank_count; rank++) {
        if (task->depth == 0 && task->scope == 0 &&
            rankset_has(&seen->spawned_by, rank) &&
            !rankset_has(&seen->let_go_by, rank)) {
            sim_fail(sim, "forgotten",
                     "rank %" PRIu32 " forgets %s, which rank %" PRIu32
                     " has not let go",
                     sight->rank, task->name, rank);
        }
    }
}

/* What any rank has spawned has ended before anybody forgets it. */
static void check_forget(struct checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    const struct task_seen *seen = &checker->tasks[sight->task];
    if (!seen->ended && has_holder(checker, sight->task)) {
        sim_fail(sim, "forgotten", "rank %" PRIu32 " forgets %s, which has not ended",
                 sight->rank, name(checker, sight->task));
    }
}

/* The owner has them, as they are no error's. */
static void check_give_up(struct checker *checker, struct sim *sim,
                          const struct sight *sight)
{
    struct task_seen *seen = &checker->tasks[sight->task];
    if (!rankset_has(&seen->kept_by, sight->rank) || seen->owner == sight->rank ||
        should_fail(checker, sight->task)) {
        sim_fail(sim, "only copy",
                 "rank %" PRIu32 " gives the bytes of %s up, which it is to keep",
                 sight->rank, name(checker, sight->task));
    }
    (void)count_one(checker, &seen->given_up_by, sight->rank);
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct checker *checker = context;
    if (sight->type == SIGHT_SEND) {
        check_send(checker, sim, sight);
    }
    if (sight->task >= checker->program->task_count) {
        return;
    }
    struct task_seen *seen = &checker->tasks[sight->task];
    if (sight->type == SIGHT_SPAWN) {
        include(&seen->spawned_by, sight->rank);
        rankset_remove(&seen->let_go_by, sight->rank);
    } else if (sight->type == SIGHT_LET_GO) {
        include(&seen->let_go_by, sight->rank);
    } else if (sight->type == SIGHT_GIVE_UP) {
        check_give_up(checker, sim, sight);
    } else if (sight->type == SIGHT_RUN) {
        check_run(checker, sim, sight);
    } else if (sight->type == SIGHT_START) {
        check_start(checker, sim, sight);
    } else if (sight->type == SIGHT_END) {
        seen->ended = true;
        check_result(checker, sim, sight, "made");
    } else if (sight->type == SIGHT_KEEP) {
        check_keep(checker, sim, sight);
    } else if (sight->type == SIGHT_WAITED) {
        check_waited(checker, sim, sight);
    } else if (sight->type == SIGHT_FORGET) {
        check_forget(checker, sim, sight);
        check_let_go(checker, sim, sight);
    } else if (sight->type == SIGHT_VERDICT) {
        check_verdict(checker, sim, sight);
    }
}

struct sim_watcher checker_watcher(struct checker *checker)
{
    return (struct sim_watcher){see, checker};
}

/* --- The whole run ---------------------------------------------------------------- */

static bool fail(struct sim_report *report, const char *check, const char *why)
{
    report->failed = true;
    (void)snprintf(report->check, sizeof(report->check), "%s", check);
    (void)snprintf(report->why, sizeof(report->why), "%s", why);
    return false;
}

bool checker_finish(struct checker *checker, struct sim_report *report)
{
    char why[SIM_WHY_BYTES];
    if (report->failed) {
        return false;
    }
    for (uint32_t i = 0; i < checker->program->task_count; i++) {
        const struct task_seen *seen = &checker->tasks[i];
        if (program_runs(checker->program, i) && seen->started != 1 &&
            seen->expected == MOOT_OK && !program_shaky(checker->program, i) &&
            (seen->started > 1 || !checker->differs)) {
            (void)snprintf(why, sizeof(why),
                           "all adjourned, and %s ran %" PRIu32 " times",
                           name(checker, i), seen->started);
            return fail(report, "ran once", why);
        }
    }
    if (checker->program->plain && !checker->asks &&
        report->counts.yields[EVIDENCE_QUIET] != 0) {
        return fail(report, "no quiet", "a vote took QUIET");
    }
    for (int i = 0; i < EVIDENCE_END && checker->program->agree; i++) {
        if (i != EVIDENCE_NESTED && report->counts.yields[i] != 0) {
            (void)snprintf(why, sizeof(why), "%" PRIu64 " votes on evidence %s",
                           report->counts.yields[i], evidence_name((enum evidence)i));
            return fail(report, "no votes", why);
        }
    }
    return true;
}

bool checker_run(const struct sim_options *options, struct sim_report *report)
{
    struct checker *checker = checker_new(options->program);
    checker->differs = options->weather != NULL &&
                       options->weather->mode == CORE_STRICT &&
                       strict_checker_differs(options->program);
    checker->asks =
        options->weather != NULL && options->weather->snapshots_per_mille > 0;
    struct meeting_checker *meetings = meeting_checker_new(options->program, NULL);
    struct strict_checker *strict = strict_checker_new(options);
    struct tree_checker *trees = tree_checker_new(options->program);
    struct ended_checker *ends = ended_checker_new(options->program);
    struct signature_checker *signatures =
        signature_checker_new(options->program->rank_count);
    struct snapshot_checker *snapshots = snapshot_checker_new(options->program, NULL);
    struct array_checker *arrays = array_checker_new(options->program, NULL);
    struct sim_watcher *watchers =
        calloc(options->watcher_count + 8, sizeof(*watchers));
    if (watchers == NULL) {
        abort();
    }
    for (size_t i = 0; i < options->watcher_count; i++) {
        watchers[i] = options->watchers[i];
    }
    watchers[options->watcher_count] = checker_watcher(checker);
    watchers[options->watcher_count + 1] = meeting_checker_watcher(meetings);
    watchers[options->watcher_count + 2] = strict_checker_watcher(strict);
    watchers[options->watcher_count + 3] = tree_checker_watcher(trees);
    watchers[options->watcher_count + 4] = signature_checker_watcher(signatures);
    watchers[options->watcher_count + 5] = snapshot_checker_watcher(snapshots);
    watchers[options->watcher_count + 6] = ended_checker_watcher(ends);
    watchers[options->watcher_count + 7] = array_checker_watcher(arrays);
    struct sim_options all = *options;
    all.watchers = watchers;
    all.watcher_count = options->watcher_count + 8;
    bool good = sim_run(&all, report) && checker_finish(checker, report) &&
                strict_checker_finish(strict, report);
    array_checker_free(arrays);
    tree_checker_free(trees);
    ended_checker_free(ends);
    signature_checker_free(signatures);
    snapshot_checker_free(snapshots);
    strict_checker_free(strict);
    meeting_checker_free(meetings);
    checker_free(checker);
    free(watchers);
    return good;
}
