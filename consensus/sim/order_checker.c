/* order_checker.c - see order_checker.h. */
#include "order_checker.h"
#include "hashing/placement.h"
#include <inttypes.h>
#include <stdlib.h>

enum { VIEWS_MAX = 64 };

/* What has been said of one task; sets of ranks are one word. */
struct said {
    uint32_t owner[VIEWS_MAX]; /* 1 + whom that view's reports name; 0: nobody */
    uint64_t epoch[PROGRAM_RANKS_MAX]; /* of the sets below, by who sent it */
    uint64_t sought[PROGRAM_RANKS_MAX], proposed[PROGRAM_RANKS_MAX];
};

struct speaker {
    uint64_t epoch;             /* of the view that it is in; 0: none yet */
    uint64_t reported, settled; /* to whom, in this epoch */
    /* The message that it handles, if it is of an older epoch. */
    uint64_t stale_ns;
    uint32_t stale_task, stale_from;
};

struct order_checker {
    const struct program *program;
    struct said *tasks;
    struct speaker speakers[PROGRAM_RANKS_MAX];
    uint64_t members[VIEWS_MAX], view_id[VIEWS_MAX], settled_by[VIEWS_MAX];
    uint64_t entered_by[VIEWS_MAX];
    /* Whose reports are under way to each rank, by view. */
    uint64_t reports_to[VIEWS_MAX][PROGRAM_RANKS_MAX];
};

static uint64_t bit(uint32_t rank) { return UINT64_C(1) << rank; }

static bool is_known(const struct order_checker *checker, uint32_t task)
{
    return task < checker->program->task_count;
}

static const char *name(const struct order_checker *checker, uint32_t task)
{
    return checker->program->tasks[task].name;
}

/* --- Epochs -------------------------------------------------------------------------
 */

static void check_view_id(struct order_checker *checker, struct sim *sim,
                          const struct sight *sight)
{
    const struct message *message = sight->message;
    if (message->epoch == 0 || message->epoch >= VIEWS_MAX)
        return;
    uint64_t *id = &checker->view_id[message->epoch];
    if (*id != 0 && *id != message->view_id)
        sim_fail(sim, "one view", "rank %" PRIu32 " speaks from another view %" PRIu64,
                 sight->rank, message->epoch);
    *id = message->view_id;
}

static void note_received(struct order_checker *checker, const struct sight *sight)
{
    struct speaker *speaker = &checker->speakers[sight->rank];
    const struct message *message = sight->message;
    if (message->type == MESSAGE_REPORT && message->u.report.last &&
        message->epoch < VIEWS_MAX)
        checker->reports_to[message->epoch][sight->rank] &= ~bit(sight->peer);
    bool stale = sight->message->epoch < speaker->epoch;
    speaker->stale_ns = stale ? sight->time_ns + 1 : 0;
    speaker->stale_task = sight->task;
    speaker->stale_from = sight->peer;
}

/* Does what is seen of this task follow from a message of an older epoch? */
static bool follows_from_old(const struct order_checker *checker,
                             const struct sight *sight)
{
    const struct speaker *speaker = &checker->speakers[sight->rank];
    return speaker->stale_ns == sight->time_ns + 1 &&
           speaker->stale_task == sight->task;
}

static void check_keep(const struct order_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    uint64_t owner = sight->message->u.result.owner_uid;
    uint32_t from = checker->speakers[sight->rank].stale_from;
    if (follows_from_old(checker, sight) && sight->peer == from &&
        owner != sim_uid(sim, from))
        sim_fail(sim, "rule e",
                 "rank %" PRIu32 " keeps an old result of %s from rank %" PRIu32,
                 sight->rank, name(checker, sight->task), from);
}

/* --- Reports ------------------------------------------------------------------------
 */

static uint32_t owner_of(const struct message_entry *entry)
{
    return entry->what == REPORT_RESULT || entry->what == REPORT_OWN ? entry->owner
                                                                     : UINT32_MAX;
}

static void check_report(struct order_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    const struct message_report *report = &sight->message->u.report;
    for (uint32_t i = 0; i < report->count; i++) {
        uint32_t task = sim_task(sim, &report->entry[i].hash);
        uint32_t owner = owner_of(&report->entry[i]);
        if (!is_known(checker, task) || owner == UINT32_MAX)
            continue;
        uint32_t *said = &checker->tasks[task].owner[sight->message->epoch];
        if (*said != 0 && *said != owner + 1)
            sim_fail(sim, "one report",
                     "rank %" PRIu32 " reports %s of %" PRIu32 ", others of %" PRIu32,
                     sight->rank, name(checker, task), owner, *said - 1);
        *said = owner + 1;
    }
}

/* Adds to the set; a second time to the same peer is once too often. */
static void count_once(struct sim *sim, const struct sight *sight, uint64_t *set)
{
    if (*set & bit(sight->peer))
        sim_fail(sim, "how often",
                 "rank %" PRIu32 " sends rank %" PRIu32 " a second %s", sight->rank,
                 sight->peer, message_type_name(sight->message->type));
    *set |= bit(sight->peer);
}

static void check_past(const struct order_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message_view *view = &sight->message->u.view;
    uint64_t start = view->history > 0 ? view->past[0].epoch : 1;
    if (start <= 1 || start >= VIEWS_MAX)
        return;
    uint64_t members = checker->members[start];
    bool alone = (members & (members - 1)) == 0; /* it tells nobody */
    if (!alone && (members & ~checker->settled_by[start]) != 0)
        sim_fail(sim, "past",
                 "view %" PRIu64 " has a past from %" PRIu64 ", which {%" PRIx64
                 "} have not settled",
                 view->epoch, start, members & ~checker->settled_by[start]);
}

static void check_task_message(struct order_checker *checker, struct sim *sim,
                               const struct sight *sight)
{
    struct said *said = &checker->tasks[sight->task];
    uint32_t rank = sight->rank;
    if (said->epoch[rank] != sight->message->epoch) {
        said->epoch[rank] = sight->message->epoch;
        said->sought[rank] = said->proposed[rank] = 0;
    }
    if (sight->message->type == MESSAGE_SEEK)
        count_once(sim, sight, &said->sought[rank]);
    if (sight->message->type == MESSAGE_ACCEPT)
        count_once(sim, sight, &said->proposed[rank]);
}

static void check_send(struct order_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message *message = sight->message;
    struct speaker *speaker = &checker->speakers[sight->rank];
    check_view_id(checker, sim, sight);
    if (message->epoch == 0 || message->epoch >= VIEWS_MAX)
        return;
    if (message->type == MESSAGE_REPORT) {
        check_report(checker, sim, sight);
        checker->reports_to[message->epoch][sight->peer] |= bit(sight->rank);
        if (message->u.report.last)
            count_once(sim, sight, &speaker->reported);
    } else if (message->type == MESSAGE_TALLY) {
        if (message->u.tally.what == TALLY_SETTLED)
            checker->settled_by[message->epoch] |= bit(sight->rank);
    } else if (message->type == MESSAGE_SETTLED) {
        checker->settled_by[message->epoch] |= bit(sight->rank);
        count_once(sim, sight, &speaker->settled);
    } else if (message->type == MESSAGE_VIEW) {
        check_past(checker, sim, sight);
    } else if (is_known(checker, sight->task)) {
        check_task_message(checker, sim, sight);
    }
}

/* --- Decisions ----------------------------------------------------------------------
 */

static uint32_t chair_in(const struct order_checker *checker, const struct sim *sim,
                         uint32_t task, uint64_t epoch)
{
    const struct rankset members = {.low = checker->members[epoch]};
    const struct rankset among = {.low = checker->program->tasks[task].candidates};
    return placement_chair(sim_hash(sim, task), &members,
                           among.low != 0 ? &among : NULL);
}

/* In a large view: all members have entered it, and no report is under way to the rank
 * any more.  In a small one it tells that it has settled. */
static bool has_settled(const struct order_checker *checker, const struct sim *sim,
                        uint32_t rank, uint64_t epoch)
{
    uint32_t count = 0;
    for (uint64_t rest = checker->members[epoch]; rest != 0; rest &= rest - 1)
        count++;
    if (count <= sim_direct_max(sim))
        return checker->speakers[rank].settled != 0;
    return (checker->members[epoch] & ~checker->entered_by[epoch]) == 0 &&
           checker->reports_to[epoch][rank] == 0;
}

static void check_decision(const struct order_checker *checker, struct sim *sim,
                           const struct sight *sight)
{
    const struct speaker *speaker = &checker->speakers[sight->rank];
    uint64_t epoch = speaker->epoch;
    if ((sight->point != CORE_POINT_CLAIM && sight->point != CORE_POINT_VOTE_CAST) ||
        epoch < 2 || epoch >= VIEWS_MAX ||
        has_settled(checker, sim, sight->rank, epoch) ||
        checker->members[epoch] == bit(sight->rank) || checker->members[epoch - 1] == 0)
        return;
    if (chair_in(checker, sim, sight->task, epoch - 1) != sight->rank)
        sim_fail(sim, "settled first",
                 "rank %" PRIu32 " decides %s in view %" PRIu64
                 " before it has settled",
                 sight->rank, name(checker, sight->task), epoch);
}

/* --- Watching -----------------------------------------------------------------------
 */

static void enter_view(struct order_checker *checker, const struct sight *sight)
{
    struct speaker *speaker = &checker->speakers[sight->rank];
    speaker->epoch = sight->epoch;
    speaker->reported = speaker->settled = 0;
    speaker->stale_ns = 0;
    if (sight->epoch < VIEWS_MAX) {
        checker->members[sight->epoch] = sight->members->low;
        checker->entered_by[sight->epoch] |= bit(sight->rank);
    }
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct order_checker *checker = context;
    if (sight->type == SIGHT_VIEW)
        enter_view(checker, sight);
    else if (sight->type == SIGHT_SEND)
        check_send(checker, sim, sight);
    else if (sight->type == SIGHT_RECEIVE)
        note_received(checker, sight);
    else if (!is_known(checker, sight->task))
        return;
    else if (sight->type == SIGHT_KEEP)
        check_keep(checker, sim, sight);
    else if (sight->type == SIGHT_NOTE)
        check_decision(checker, sim, sight);
    else if (sight->type == SIGHT_RUN && follows_from_old(checker, sight) &&
             !checker->program->tasks[sight->task].once)
        sim_fail(sim, "rule e", "rank %" PRIu32 " runs %s because of an old message",
                 sight->rank, name(checker, sight->task));
}

struct order_checker *order_checker_new(const struct program *program,
                                        const struct storm *storm)
{
    struct order_checker *checker = calloc(1, sizeof *checker);
    if (checker == NULL)
        abort();
    checker->program = program;
    checker->tasks = calloc(program->task_count + 1, sizeof *checker->tasks);
    if (checker->tasks == NULL)
        abort();
    checker->members[1] = UINT64_MAX >> (PROGRAM_RANKS_MAX - storm->first);
    for (uint32_t rank = 0; rank < storm->first; rank++)
        checker->speakers[rank].epoch = 1;
    return checker;
}

void order_checker_free(struct order_checker *checker)
{
    if (checker == NULL)
        return;
    free(checker->tasks);
    free(checker);
}

struct sim_watcher order_checker_watcher(struct order_checker *checker)
{
    return (struct sim_watcher){see, checker};
}
