/* judge.c - whether the ends that ranks saw are what they may be (base.h).
 *
 * A row of errors.txt names an error and its conditions, which are predicates over the
 * program, the plan and who finished.  The rank of a wait that never ended has died, so
 * what the ledger lacks of it is nobody's loss.
 */
#include "tests/medley/base.h"

#include "proto/moot_error.h"
#include "tests/mpi/support/error_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Whether some error of a task may be what a rank sees, once that has been asked. */
struct opinion {
    bool asked, may_end_badly;
};

struct court {
    const struct medley_base *base;
    const struct medley_ends *ledger;
    struct error_table table;
    uint64_t gone; /* ranks that did not finish */
    uint32_t task, rank;
    FILE *to; /* NULL: nothing is said */
    struct opinion (*opinions)[MEDLEY_TASKS];
};

/* --- The conditions --------------------------------------------------------------- */

static uint32_t count_ranks(uint64_t set)
{
    uint32_t count = 0;
    for (; set != 0; set &= set - 1) {
        count++;
    }
    return count;
}

static const struct medley_recipe *recipe_of(const struct court *court)
{
    return &court->base->tasks[court->task];
}

/* Ranks with whom what they held may be gone.  Who left has handed it over, and where
 * some rank died that may have been the one that had it then. */
static uint64_t lost_ranks(const struct court *court)
{
    return court->gone | (court->gone != 0 ? court->base->early : 0);
}

static bool may_end_badly(const struct court *court, uint32_t task);

static bool loss(const struct court *court) { return court->gone != 0; }
static bool early(const struct court *court) { return court->base->early != 0; }
static bool fails(const struct court *court) { return recipe_of(court)->fails; }
static bool retried(const struct court *court)
{
    return recipe_of(court)->failing_runs > 0;
}
static bool once(const struct court *court)
{
    return recipe_of(court)->kind == MEDLEY_ONCE;
}
static bool varies(const struct court *court)
{
    return recipe_of(court)->kind == MEDLEY_VARIES;
}
static bool parent(const struct court *court)
{
    return recipe_of(court)->kind == MEDLEY_PARENT;
}
static bool let_go(const struct court *court) { return court->base->lets_go; }

static bool cancelled(const struct court *court)
{
    return recipe_of(court)->canceller >= 0;
}

static bool from_bad(const struct court *court)
{
    const struct medley_recipe *recipe = recipe_of(court);
    for (uint32_t i = 0; i < recipe->input_count; i++) {
        if (may_end_badly(court, recipe->inputs[i])) {
            return true;
        }
    }
    for (uint32_t before = recipe->ordered_from; before < court->task; before++) {
        if (may_end_badly(court, before)) {
            return true;
        }
    }
    return false;
}

static bool no_candidate(const struct court *court)
{
    uint64_t candidates = recipe_of(court)->candidates;
    return candidates != 0 && (candidates & ~court->gone) == 0;
}

/* A rank that was to come to it later may have found all of them gone. */
static bool left_to_none(const struct court *court)
{
    uint64_t candidates = recipe_of(court)->candidates, early = court->base->early;
    return candidates != 0 && (candidates & ~court->gone & ~early) == 0 &&
           (candidates & early) != 0;
}

/* A portable task goes from whoever holds it to a candidate. */
static bool no_holder(const struct court *court)
{
    const struct medley_recipe *recipe = recipe_of(court);
    uint64_t holders = recipe->holders & ~lost_ranks(court);
    uint64_t owners = recipe->candidates != 0 ? recipe->candidates & ~court->gone
                      : recipe->kind == MEDLEY_PORTABLE ? ~court->gone
                                                        : holders;
    bool portable = recipe->kind == MEDLEY_PORTABLE;
    return portable ? holders == 0 || owners == 0 : (holders & owners) == 0;
}

static bool lost_before(const struct court *court, uint32_t rank)
{
    struct court other = *court;
    uint32_t group = court->ledger->group_ended_ill[rank];
    if (group != 0 && group - 1 <= court->task) {
        return true;
    }
    for (other.task = 0; other.task < court->task; other.task++) {
        if (court->ledger->ends[other.task][rank].code == MOOT_ERR_NOT_HELD &&
            no_holder(&other)) {
            return true;
        }
    }
    return false;
}

/* The ranks that were still to spawn it waited for something that is lost. */
static bool behind_lost(const struct court *court)
{
    uint64_t holders = recipe_of(court)->holders & ~lost_ranks(court);
    for (uint32_t rank = 0; rank < court->base->ranks; rank++) {
        if ((holders >> rank & 1) != 0 && !lost_before(court, rank)) {
            return false;
        }
    }
    return true;
}

static bool none_ran(const struct court *court)
{
    for (uint32_t rank = 0; rank < court->base->ranks; rank++) {
        if ((lost_ranks(court) >> rank & 1) == 0 &&
            court->ledger->starts[court->task][rank] > 0) {
            return false;
        }
    }
    return true;
}

static bool poison(const struct court *court)
{
    (void)court;
    return false; /* no such task is drawn */
}

static bool stopped(const struct court *court)
{
    return (court->base->paused >> court->rank & 1) != 0;
}

/* Ranks that have left are no members. */
static bool minority(const struct court *court)
{
    uint64_t away = court->gone | court->base->paused;
    uint32_t left = count_ranks(court->base->early & ~away);
    return 2 * count_ranks(away) >= court->base->ranks - left || stopped(court);
}

/* --- Judging ---------------------------------------------------------------------- */

static bool holds(const void *judge, const char *word, size_t length)
{
    const struct court *court = judge;
    static const struct {
        const char *name;
        bool (*is_so)(const struct court *court);
    } conditions[] = {{"loss", loss},
                      {"early", early},
                      {"fails", fails},
                      {"cancelled", cancelled},
                      {"retried", retried},
                      {"from-bad", from_bad},
                      {"no-holder", no_holder},
                      {"no-candidate", no_candidate},
                      {"left-to-none", left_to_none},
                      {"behind-lost", behind_lost},
                      {"once", once},
                      {"varies", varies},
                      {"none-ran", none_ran},
                      {"let-go", let_go},
                      {"parent", parent},
                      {"poison", poison},
                      {"stopped", stopped},
                      {"minority", minority}};
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        if (strlen(conditions[i].name) == length &&
            strncmp(conditions[i].name, word, length) == 0) {
            return conditions[i].is_so(court);
        }
    }
    return false; /* of what no medley has */
}

static bool is_explained(const struct court *court, int code)
{
    return error_table_explains(&court->table, code, holds, court);
}

/* Some error of the task itself is legitimate; who is fenced says nothing of it. */
static bool may_end_badly(const struct court *court, uint32_t task)
{
    struct opinion *opinion = &court->opinions[court->rank][task];
    if (opinion->asked) {
        return opinion->may_end_badly;
    }
    struct court other = *court;
    other.task = task;
    opinion->asked = true;
    for (uint32_t i = 0; i < other.table.count; i++) {
        int code = other.table.rows[i].code;
        if (code != MOOT_ERR_FENCED && code != MOOT_ERR_NO_QUORUM &&
            error_row_holds(&other.table.rows[i], holds, &other)) {
            opinion->may_end_badly = true;
            return true;
        }
    }
    return false;
}

__attribute__((format(printf, 2, 3))) static void say(const struct court *court,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (court->to != NULL) {
        (void)vfprintf(court->to, format, args);
    }
    va_end(args);
}

static int complain(const struct court *court, const char *what, const char *story)
{
    say(court,
        "WRONG: rank %u, task %u (%u inputs, holders %llx, candidates %llx): %s: %s\n",
        (unsigned)court->rank, (unsigned)court->task,
        (unsigned)recipe_of(court)->input_count,
        (unsigned long long)recipe_of(court)->holders,
        (unsigned long long)recipe_of(court)->candidates, what, story);
    return 1;
}

static int judge_end(const struct court *court)
{
    const struct medley_end *end = &court->ledger->ends[court->task][court->rank];
    char what[96];
    if (!end->seen || end->code == MOOT_OK || is_explained(court, end->code)) {
        return 0;
    }
    (void)snprintf(what, sizeof(what), "ends with %s, which nothing explains",
                   error_name_of(end->code));
    return complain(court, what, end->story);
}

/* Tasks that it has run nobody has to run again. */
static bool keeps_what_it_ran(const struct court *court, uint32_t rank)
{
    return ((lost_ranks(court) | court->base->paused) >> rank & 1) == 0;
}

/* Rules for all ranks together.  Whoever stood still for long may have been removed,
 * and have closed without having heard of it.  Who left hands over what it made, and no
 * copy of what another made, which may die with it and be made anew. */
static int judge_task(const struct court *court)
{
    uint32_t all = 0, living = 0, well = 0, ill = 0;
    uint64_t nonce = 0;
    int bad = 0;
    for (uint32_t rank = 0; rank < court->base->ranks; rank++) {
        const struct medley_end *end = &court->ledger->ends[court->task][rank];
        bool finished = ((court->gone | court->base->paused) >> rank & 1) == 0;
        all += court->ledger->starts[court->task][rank];
        living += keeps_what_it_ran(court, rank)
                      ? court->ledger->starts[court->task][rank]
                      : 0;
        if (!finished || !end->seen) {
            continue;
        }
        ill += end->code == MOOT_ERR_NOT_HELD;
        if (end->code != MOOT_OK || (lost_ranks(court) >> rank & 1) != 0) {
            continue;
        }
        well++;
        if (nonce != 0 && end->nonce != nonce) {
            bad = complain(court, "gave one rank other bytes than another", "");
        }
        nonce = end->nonce;
    }
    if (recipe_of(court)->kind == MEDLEY_ONCE && all > 1) {
        bad = complain(court, "may start once, and started twice", "");
    }
    if (living > 1 && !court->base->lets_go) {
        bad = complain(court, "started twice on ranks that finished", "");
    }
    if (well > 0 && ill > 0 && !court->base->lets_go) {
        bad = complain(court, "ends well on one rank and NOT_HELD on another", "");
    }
    return bad;
}

/* A rank that does not finish was killed, or is out. */
static int judge_rank(const struct court *court)
{
    const struct medley_ends *ledger = court->ledger;
    int code = ledger->close_code[court->rank];
    bool out = code != MOOT_OK;
    if (code != MOOT_OK && !is_explained(court, code)) {
        say(court, "WRONG: rank %u closes with %s\n", (unsigned)court->rank,
            error_name_of(code));
        return 1;
    }
    for (uint32_t task = 0; task < MEDLEY_TASKS; task++) {
        int end = ledger->ends[task][court->rank].code;
        out |= end == MOOT_ERR_FENCED || end == MOOT_ERR_NO_QUORUM;
    }
    bool struck = (court->base->killed >> court->rank & 1) != 0;
    if ((court->gone >> court->rank & 1) != 0 && !out && !struck) {
        say(court, "WRONG: rank %u does not finish, and nothing struck it\n",
            (unsigned)court->rank);
        return 1;
    }
    return ledger->wrong[court->rank] > 0;
}

/* A line for each kind of end: how many there were. */
static void count_ends(const struct court *court)
{
    uint32_t well = 0, errors[ERROR_ROWS_MAX] = {0};
    for (uint32_t i = 0; i < MEDLEY_TASKS * court->base->ranks; i++) {
        const struct medley_end *end =
            &court->ledger->ends[i % MEDLEY_TASKS][i / MEDLEY_TASKS];
        bool known = end->seen && end->code == MOOT_OK;
        well += known;
        for (uint32_t row = 0; !known && end->seen && row < court->table.count; row++) {
            if (court->table.rows[row].code == end->code) {
                errors[row]++;
                break;
            }
        }
    }
    say(court, "%u ends with a result\n", (unsigned)well);
    for (uint32_t row = 0; row < court->table.count; row++) {
        if (errors[row] > 0) {
            say(court, "%u ends with %s\n", (unsigned)errors[row],
                court->table.rows[row].name);
        }
    }
}

int medley_judge_ends(const struct medley_base *base, const struct medley_ends *ledger,
                      FILE *to)
{
    static struct court court;
    static struct opinion opinions[MEDLEY_RANKS_MAX][MEDLEY_TASKS];
    int bad = 0;
    memset(opinions, 0, sizeof(opinions));
    court =
        (struct court){.base = base, .ledger = ledger, .to = to, .opinions = opinions};
    if (!error_table_read(&court.table, "tests/mpi/hostile/errors.txt") ||
        !error_table_read(&court.table, "tests/medley/errors.txt")) {
        return 2;
    }
    for (uint32_t rank = 0; rank < base->ranks; rank++) {
        court.gone |= ledger->finished[rank] ? 0 : UINT64_C(1) << rank;
    }
    for (court.rank = 0; court.rank < base->ranks; court.rank++) {
        bad |= judge_rank(&court);
    }
    for (court.task = 0; court.task < MEDLEY_TASKS; court.task++) {
        court.rank = 0;
        bad |= judge_task(&court);
        for (; court.rank < base->ranks; court.rank++) {
            bad |= judge_end(&court);
        }
    }
    count_ends(&court);
    return bad;
}
