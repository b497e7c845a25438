/* order_checker.c - see order_checker.h. */
#include "consensus/sim/checks/order_checker.h"
#include "consensus/sim/checks/generations.h"
#include "consensus/sim/programs/ranks.h"
#include "hashing/placement.h"
#include <inttypes.h>
#include <stdlib.h>

enum { VIEWS_MAX = 64 };

/* What has been said of one task. */
struct order_said {
    uint32_t owner[VIEWS_MAX]; /* 1 + whom that view's reports name; 0: nobody */
    struct rankset claimed_by; /* who runs it on their own word, whatever is old */
    struct rankset held_by;    /* who has ever held it, and so known the candidates */
    struct rankset known_to; /* who has, or was told them, and has forgotten nothing */
    struct order_search {
        uint32_t chair; /* or finder, or anybody who speaks of the task's owner */
        uint64_t epoch;
        struct rankset sought, proposed, referred; /* to whom, in that epoch */
        bool told; /* the candidates, by who holds it, in that epoch */
    } *searches;   /* the latest of each who made any */
    uint32_t search_count;
};

struct speaker {
    uint64_t epoch;                   /* of the view that it is in; 0: none yet */
    struct rankset reported, settled; /* to whom, in this epoch */
    /* The message that it handles, if it is of an older epoch. */
    uint64_t stale_ns;
    uint32_t stale_task, stale_from;
};

struct view_said {
    uint64_t id; /* 0: nobody has spoken from it */
    struct rankset members, settled_by, entered_by, spoken_by;
    struct rankset
        *reports_to; /* by rank: whose reports are under way to it; or NULL */
};

struct order_checker {
    const struct program *program;
    uint32_t limit; /* ranks that there may be */
    struct generations generations;
    /* By generation, or NULL; and that of the rank which the present sight is of. */
    struct order_said *said[GENERATIONS_MAX], *tasks;
    struct speaker *speakers;
    struct rankset dead;
    struct view_said views[VIEWS_MAX];
};

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static bool is_known(const struct order_checker *checker, uint32_t task)
{
    return task < checker->program->task_count;
}

static const char *name(const struct order_checker *checker, uint32_t task)
{
    return checker->program->tasks[task].name;
}

/* --- Epochs ---------------------------------------------------------------------- */

/* A reload's view of which only the dead have spoken: they were a quorum, and whoever
 * goes on by certificates has heard nothing of it (R3). */
static bool died_with(const struct order_checker *checker, uint64_t epoch)
{
    bool reloads = false;
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        reloads = reloads || checker->generations.of[rank] > 0;
    }
    return reloads && ranks_within(&checker->views[epoch].spoken_by, &checker->dead);
}

static void check_view_id(struct order_checker *checker, struct sim *sim,
                          const struct sight *sight)
{
    const struct message *message = sight->message;
    if (message->epoch == 0 || message->epoch >= VIEWS_MAX) {
        return;
    }
    struct view_said *view = &checker->views[message->epoch];
    if (view->id != 0 && view->id != message->view_id &&
        !died_with(checker, message->epoch)) {
        sim_fail(sim, "one view", "rank %" PRIu32 " speaks from another view %" PRIu64,
                 sight->rank, message->epoch);
    }
    view->id = message->view_id;
    ranks_add(&view->spoken_by, sight->rank);
}

static struct rankset *reports_to(struct order_checker *checker, uint64_t epoch,
                                  uint32_t rank)
{
    struct view_said *view = &checker->views[epoch];
    if (view->reports_to == NULL) {
        view->reports_to = zeroed(checker->limit, sizeof(*view->reports_to));
    }
    return &view->reports_to[rank];
}

/* News of a death, or of what may have been its cause, that came after the view had
 * gone on: nobody waits for it. */
static bool is_late_word(const struct message_report *report)
{
    return !report->last && report->count == 1 &&
           (report->entry[0].what == REPORT_CRASH ||
            report->entry[0].what == REPORT_SUSPECT);
}

static void note_received(struct order_checker *checker, const struct sight *sight)
{
    struct speaker *speaker = &checker->speakers[sight->rank];
    const struct message *message = sight->message;
    if (message->type == MESSAGE_REPORT && message->u.report.last &&
        message->epoch < VIEWS_MAX) {
        rankset_remove(reports_to(checker, message->epoch, sight->rank), sight->peer);
    }
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
        owner != sim_uid(sim, from)) {
        sim_fail(sim, "rule e",
                 "rank %" PRIu32 " keeps an old result of %s from rank %" PRIu32,
                 sight->rank, name(checker, sight->task), from);
    }
}

/* --- Reports --------------------------------------------------------------------- */

/* Whom an entry of this rank's report says to be the owner; UINT32_MAX: nobody. */
static uint32_t owner_of(const struct message_entry *entry, uint32_t rank)
{
    return entry->what == REPORT_RESULT ? entry->owner
           : entry->what == REPORT_OWN  ? rank
                                        : UINT32_MAX;
}

static void check_report(struct order_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    const struct message_report *report = &sight->message->u.report;
    for (uint32_t i = 0; i < report->count; i++) {
        uint32_t task = sim_task(sim, &report->entry[i].hash);
        uint32_t owner = owner_of(&report->entry[i], sight->rank);
        if (!is_known(checker, task) || owner == UINT32_MAX) {
            continue;
        }
        uint32_t *said = &checker->tasks[task].owner[sight->message->epoch];
        if (*said != 0 && *said != owner + 1) {
            sim_fail(sim, "one report",
                     "rank %" PRIu32 " reports %s of %" PRIu32 ", others of %" PRIu32,
                     sight->rank, name(checker, task), owner, *said - 1);
        }
        *said = owner + 1;
    }
}

/* Adds to the set; a second time to the same peer is once too often. */
static void count_once(struct sim *sim, const struct sight *sight, struct rankset *set)
{
    if (rankset_has(set, sight->peer)) {
        sim_fail(sim, "how often",
                 "rank %" PRIu32 " sends rank %" PRIu32 " a second %s", sight->rank,
                 sight->peer, message_type_name(sight->message->type));
    }
    ranks_add(set, sight->peer);
}

static void check_past(const struct order_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message_view *view = &sight->message->u.view;
    uint64_t start = view->history > 0 ? view->past[0].epoch : 1;
    if (start <= 1 || start >= VIEWS_MAX) {
        return;
    }
    const struct view_said *first = &checker->views[start];
    bool alone = rankset_count(&first->members) == 1; /* it tells nobody */
    if (alone || ranks_within(&first->members, &first->settled_by)) {
        return;
    }
    struct rankset unsettled = {0};
    ranks_copy(&unsettled, &first->members);
    ranks_drop(&unsettled, &first->settled_by);
    sim_fail(sim, "past",
             "view %" PRIu64 " has a past from %" PRIu64 ", which %s have not settled",
             view->epoch, start, ranks_text(&unsettled).text);
    rankset_release(&unsettled);
}

/* What the rank has said of the task in this epoch, as its chair or finder. */
static struct order_search *search_of(struct order_said *said, uint32_t chair,
                                      uint64_t epoch)
{
    struct order_search *search = said->searches;
    uint32_t i = 0;
    while (i < said->search_count && search[i].chair != chair) {
        i++;
    }
    if (i == said->search_count) {
        said->searches = realloc(search, (i + 1u) * sizeof(*search));
        if (said->searches == NULL) {
            abort();
        }
        said->searches[i] = (struct order_search){.chair = chair};
        said->search_count++;
    }
    search = &said->searches[i];
    if (search->epoch != epoch) {
        rankset_release(&search->sought);
        rankset_release(&search->proposed);
        rankset_release(&search->referred);
        search->told = false;
    }
    search->epoch = epoch;
    return search;
}

/* A rank that knows a once task's candidates tells nobody of its owner before them. */
static void check_told(struct order_checker *checker, struct sim *sim,
                       const struct sight *sight, uint32_t task)
{
    struct order_said *said = &checker->tasks[task];
    const struct program_task *of_task = &checker->program->tasks[task];
    if (!of_task->once || of_task->candidates == 0 ||
        !rankset_has(&said->known_to, sight->rank) ||
        rankset_has(&said->held_by, sight->peer)) {
        return;
    }
    const struct order_search *search =
        search_of(said, sight->rank, sight->message->epoch);
    if (!rankset_has(&search->referred, sight->peer)) {
        sim_fail(sim, "told ahead",
                 "rank %" PRIu32 " sends rank %" PRIu32
                 " a %s about %s, whose candidates it has not told",
                 sight->rank, sight->peer, message_type_name(sight->message->type),
                 name(checker, task));
    }
}

static void check_told_of_all(struct order_checker *checker, struct sim *sim,
                              const struct sight *sight)
{
    const struct message_report *report = &sight->message->u.report;
    for (uint32_t i = 0; i < report->count; i++) {
        uint32_t task = sim_task(sim, &report->entry[i].hash);
        if (is_known(checker, task)) {
            check_told(checker, sim, sight, task);
        }
    }
}

/* The message tells the candidates, to who has them from then on. */
static bool tells_candidates(const struct message *message)
{
    return message->type == MESSAGE_REFER ||
           (message->type == MESSAGE_MOTION && message->u.motion.candidates != NULL);
}

static void check_task_message(struct order_checker *checker, struct sim *sim,
                               const struct sight *sight)
{
    enum message_type type = sight->message->type;
    if (tells_candidates(sight->message)) {
        ranks_add(
            &search_of(&checker->tasks[sight->task], sight->rank, sight->message->epoch)
                 ->referred,
            sight->peer);
    } else if (type == MESSAGE_ACCEPT) {
        check_told(checker, sim, sight, sight->task);
    }
    if (type != MESSAGE_SEEK && type != MESSAGE_ACCEPT) {
        return;
    }
    struct order_search *search =
        search_of(&checker->tasks[sight->task], sight->rank, sight->message->epoch);
    const uint64_t candidates = checker->program->tasks[sight->task].candidates;
    if (type == MESSAGE_SEEK && candidates != 0 && search->told &&
        (sight->peer >= 64 || (candidates >> sight->peer & 1) == 0)) {
        sim_fail(sim, "candidates",
                 "rank %" PRIu32 " seeks %s at rank %" PRIu32
                 ", which may not run it, as who holds it has said",
                 sight->rank, name(checker, sight->task), sight->peer);
    }
    count_once(sim, sight, type == MESSAGE_SEEK ? &search->sought : &search->proposed);
}

static void check_send(struct order_checker *checker, struct sim *sim,
                       const struct sight *sight)
{
    const struct message *message = sight->message;
    struct speaker *speaker = &checker->speakers[sight->rank];
    check_view_id(checker, sim, sight);
    if (message->epoch == 0 || message->epoch >= VIEWS_MAX) {
        return;
    }
    struct rankset *settled_by = &checker->views[message->epoch].settled_by;
    if (message->type == MESSAGE_REPORT || message->type == MESSAGE_HANDOVER) {
        check_told_of_all(checker, sim, sight);
    }
    if (message->type == MESSAGE_REPORT) {
        check_report(checker, sim, sight);
        if (!is_late_word(&message->u.report)) {
            ranks_add(reports_to(checker, message->epoch, sight->peer), sight->rank);
        }
        if (message->u.report.last) {
            count_once(sim, sight, &speaker->reported);
        }
    } else if (message->type == MESSAGE_TALLY) {
        if (message->u.tally.what == TALLY_SETTLED) {
            ranks_add(settled_by, sight->rank);
        }
    } else if (message->type == MESSAGE_SETTLED) {
        ranks_add(settled_by, sight->rank);
        count_once(sim, sight, &speaker->settled);
    } else if (message->type == MESSAGE_VIEW) {
        check_past(checker, sim, sight);
    } else if (is_known(checker, sight->task)) {
        check_task_message(checker, sim, sight);
    }
}

/* --- Decisions ------------------------------------------------------------------- */

static uint32_t chair_in(const struct order_checker *checker, const struct sim *sim,
                         uint32_t task, uint64_t epoch)
{
    const struct rankset among = {.low = checker->program->tasks[task].candidates};
    return placement_chair(sim_root(sim, task), &checker->views[epoch].members,
                           among.low != 0 ? &among : NULL);
}

/* In a large view: all members have entered it, and no report is under way to the rank
 * any more.  In a small one it tells that it has settled. */
static bool has_settled(const struct order_checker *checker, const struct sim *sim,
                        uint32_t rank, uint64_t epoch)
{
    const struct view_said *view = &checker->views[epoch];
    if (rankset_count(&view->members) <= sim_direct_max(sim)) {
        return !rankset_empty(&checker->speakers[rank].settled);
    }
    return ranks_within(&view->members, &view->entered_by) &&
           (view->reports_to == NULL || rankset_empty(&view->reports_to[rank]));
}

static void check_decision(const struct order_checker *checker, struct sim *sim,
                           const struct sight *sight)
{
    const struct speaker *speaker = &checker->speakers[sight->rank];
    uint64_t epoch = speaker->epoch;
    if ((sight->point != CORE_POINT_CLAIM && sight->point != CORE_POINT_VOTE_CAST) ||
        epoch < 2 || epoch >= VIEWS_MAX ||
        has_settled(checker, sim, sight->rank, epoch)) {
        return;
    }
    bool alone = rankset_count(&checker->views[epoch].members) == 1;
    if (alone || rankset_empty(&checker->views[epoch - 1].members)) {
        return;
    }
    if (chair_in(checker, sim, sight->task, epoch - 1) != sight->rank) {
        sim_fail(sim, "settled first",
                 "rank %" PRIu32 " decides %s in view %" PRIu64
                 " before it has settled",
                 sight->rank, name(checker, sight->task), epoch);
    }
}

static void see_note(struct order_checker *checker, struct sim *sim,
                     const struct sight *sight)
{
    check_decision(checker, sim, sight);
    if (sight->point == CORE_POINT_CLAIM) {
        ranks_add(&checker->tasks[sight->task].claimed_by, sight->rank);
    }
}

/* (Of who is dead nothing is taken any more.) */
static void note_candidates(struct order_checker *checker, const struct sight *sight)
{
    const struct message *message = sight->message;
    if (!is_known(checker, sight->task) || !tells_candidates(message) ||
        message->epoch != checker->speakers[sight->rank].epoch) {
        return;
    }
    struct order_said *said = &checker->tasks[sight->task];
    if (message->type == MESSAGE_MOTION && message->u.motion.holds) {
        search_of(said, sight->rank, message->epoch)->told = true;
    }
    if (!rankset_has(&checker->dead, sight->peer)) {
        ranks_add(&said->known_to, sight->rank);
    }
}

static void note_forgotten(struct order_checker *checker, const struct sight *sight)
{
    struct order_said *said = &checker->tasks[sight->task];
    search_of(said, sight->rank, checker->speakers[sight->rank].epoch)->told = false;
    rankset_remove(&said->known_to, sight->rank);
}

/* Tasks beside each other have the same candidates, and so one chair. */
static void check_beside(const struct order_checker *checker, struct sim *sim,
                         uint32_t task)
{
    const int32_t other = checker->program->tasks[task].beside;
    if (other != PROGRAM_NONE &&
        sim_chair(sim, task) != sim_chair(sim, (uint32_t)other)) {
        sim_fail(sim, "beside",
                 "%s has chair %" PRIu32 ", and %s, beside which it is, %" PRIu32,
                 name(checker, task), sim_chair(sim, task),
                 name(checker, (uint32_t)other), sim_chair(sim, (uint32_t)other));
    }
}

static void note_spawned(struct order_checker *checker, struct sim *sim,
                         const struct sight *sight)
{
    check_beside(checker, sim, sight->task);
    struct order_said *said = &checker->tasks[sight->task];
    if (sight->type == SIGHT_REFUSED) { /* a core keeps nothing of it */
        rankset_remove(&said->held_by, sight->rank);
        rankset_remove(&said->known_to, sight->rank);
        return;
    }
    ranks_add(&said->held_by, sight->rank);
    ranks_add(&said->known_to, sight->rank);
    if (sight->type == SIGHT_ADOPT) { /* because of the message that comes next */
        checker->speakers[sight->rank].stale_ns = 0;
    }
}

/* From now on all that is said is of this generation. */
static void turn_to(struct order_checker *checker, uint32_t generation)
{
    struct order_said **said = &checker->said[generation];
    if (*said == NULL) {
        *said = zeroed(checker->program->task_count + 1, sizeof(**said));
    }
    checker->tasks = *said;
}

/* --- Watching -------------------------------------------------------------------- */

static void enter_view(struct order_checker *checker, const struct sight *sight)
{
    struct speaker *speaker = &checker->speakers[sight->rank];
    speaker->epoch = sight->epoch;
    rankset_release(&speaker->reported);
    rankset_release(&speaker->settled);
    speaker->stale_ns = 0;
    if (sight->epoch >= VIEWS_MAX) {
        return;
    }
    ranks_copy(&checker->views[sight->epoch].members, sight->members);
    ranks_add(&checker->views[sight->epoch].entered_by, sight->rank);
}

static void see(void *context, struct sim *sim, const struct sight *sight)
{
    struct order_checker *checker = context;
    (void)generations_see(&checker->generations, sim, sight);
    if (sight->rank < checker->limit) {
        turn_to(checker, checker->generations.of[sight->rank]);
    }
    if (sight->type == SIGHT_VIEW) {
        enter_view(checker, sight);
    } else if (sight->type == SIGHT_SEND) {
        check_send(checker, sim, sight);
    } else if (sight->type == SIGHT_RECEIVE) {
        note_received(checker, sight);
        note_candidates(checker, sight);
    } else if (sight->type == SIGHT_CRASH) {
        ranks_add(&checker->dead, sight->rank);
    } else if (!is_known(checker, sight->task)) {
        return;
    } else if (sight->type == SIGHT_FORGET) {
        note_forgotten(checker, sight);
    } else if (sight->type == SIGHT_SPAWN || sight->type == SIGHT_ADOPT ||
               sight->type == SIGHT_REFUSED) {
        note_spawned(checker, sim, sight);
    } else if (sight->type == SIGHT_KEEP) {
        check_keep(checker, sim, sight);
    } else if (sight->type == SIGHT_NOTE) {
        see_note(checker, sim, sight);
    } else if (sight->type == SIGHT_RUN && follows_from_old(checker, sight) &&
               !rankset_has(&checker->tasks[sight->task].claimed_by, sight->rank) &&
               !checker->program->tasks[sight->task].once) {
        sim_fail(sim, "rule e", "rank %" PRIu32 " runs %s because of an old message",
                 sight->rank, name(checker, sight->task));
    }
}

struct order_checker *order_checker_new(const struct program *program,
                                        const struct storm *storm)
{
    struct order_checker *checker = zeroed(1, sizeof(*checker));
    checker->program = program;
    checker->limit = program->rank_count + storm->comebacks;
    generations_open(&checker->generations, checker->limit);
    turn_to(checker, 0);
    checker->speakers = zeroed(checker->limit, sizeof(*checker->speakers));
    ranks_fill(&checker->views[1].members, storm->first);
    for (uint32_t rank = 0; rank < storm->first; rank++) {
        checker->speakers[rank].epoch = 1;
    }
    return checker;
}

static void forget_view(const struct order_checker *checker, struct view_said *view)
{
    rankset_release(&view->members);
    rankset_release(&view->settled_by);
    rankset_release(&view->entered_by);
    rankset_release(&view->spoken_by);
    for (uint32_t i = 0; view->reports_to != NULL && i < checker->limit; i++) {
        rankset_release(&view->reports_to[i]);
    }
    free(view->reports_to);
}

static void forget_task(struct order_said *said)
{
    for (uint32_t i = 0; i < said->search_count; i++) {
        rankset_release(&said->searches[i].sought);
        rankset_release(&said->searches[i].proposed);
        rankset_release(&said->searches[i].referred);
    }
    free(said->searches);
    rankset_release(&said->claimed_by);
    rankset_release(&said->held_by);
    rankset_release(&said->known_to);
}

void order_checker_free(struct order_checker *checker)
{
    if (checker == NULL) {
        return;
    }
    for (int epoch = 0; epoch < VIEWS_MAX; epoch++) {
        forget_view(checker, &checker->views[epoch]);
    }
    for (int i = 0; i < GENERATIONS_MAX; i++) {
        for (uint32_t k = 0; checker->said[i] && k < checker->program->task_count;
             k++) {
            forget_task(&checker->said[i][k]);
        }
        free(checker->said[i]);
    }
    generations_close(&checker->generations);
    for (uint32_t rank = 0; rank < checker->limit; rank++) {
        rankset_release(&checker->speakers[rank].reported);
        rankset_release(&checker->speakers[rank].settled);
    }
    rankset_release(&checker->dead);
    free(checker->speakers);
    free(checker);
}

struct sim_watcher order_checker_watcher(struct order_checker *checker)
{
    return (struct sim_watcher){see, checker};
}
