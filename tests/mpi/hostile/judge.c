/* judge.c - whether the ends that ranks saw are what they may be (chaos.h).
 *
 * A row of errors.txt names an error and its conditions, which are predicates over the
 * program, the plan and who finished.  The rank of a wait that never ended has died, so
 * what the ledger lacks of it is nobody's loss.
 */
#include "tests/mpi/hostile/chaos.h"

#include "proto/moot_error.h"
#include "tests/mpi/support/error_table.h"

#include <stdlib.h>
#include <string.h>

struct court {
    const struct chaos *chaos;
    const struct ledger *ledger;
    struct error_table table;
    uint64_t gone; /* ranks that did not finish */
    uint64_t ill;  /* tasks that may end badly by the table, as `rank` sees it */
    uint32_t task, rank;
};

/* --- The table -------------------------------------------------------------------- */

int chaos_print_table(const char *table, FILE *to)
{
    static struct court court;
    if (!error_table_read(&court.table, table)) {
        return 1;
    }
    fprintf(to, "| error | a wait may end with it, because |\n|---|---|\n");
    for (uint32_t i = 0; i < court.table.count; i++) {
        fprintf(to, "| `MOOT_ERR_%s` | %s |\n", court.table.rows[i].name,
                court.table.rows[i].words);
    }
    return 0;
}

/* --- The conditions --------------------------------------------------------------- */

static uint32_t count_ranks(uint64_t set)
{
    uint32_t count = 0;
    for (; set != 0; set &= set - 1) {
        count++;
    }
    return count;
}

static const struct recipe *recipe_of(const struct court *court)
{
    return &court->chaos->tasks_of[court->task];
}

static bool loss(const struct court *court) { return court->gone != 0; }
static bool fails(const struct court *court)
{
    return recipe_will_fail(recipe_of(court));
}
static bool once(const struct court *court)
{
    return recipe_of(court)->kind == CHAOS_ONCE;
}
static bool varies(const struct court *court)
{
    return recipe_of(court)->kind == CHAOS_VARIES;
}
static bool parent(const struct court *court)
{
    return recipe_of(court)->kind == CHAOS_PARENT;
}
static bool retried(const struct court *court)
{
    return recipe_of(court)->kind == CHAOS_RETRIED;
}
static bool let_go(const struct court *court) { return court->chaos->lets_go; }

/* By itself, or with all that a rank has spawned and that has its label. */
static bool cancelled(const struct court *court)
{
    const struct recipe *recipe = recipe_of(court);
    bool is_so = recipe->canceller >= 0;
    for (uint32_t other = 0; other < court->chaos->tasks && recipe->label != 0;
         other++) {
        const struct recipe *at = &court->chaos->tasks_of[other];
        bool spawned = court->task <= other || at->lane != recipe->lane;
        is_so |= at->clearer >= 0 && at->clears == recipe->label && spawned &&
                 (recipe->holders >> at->clearer & 1) != 0;
    }
    return is_so;
}

static bool from_bad(const struct court *court)
{
    const struct recipe *recipe = recipe_of(court);
    uint64_t before = court->ledger->chained[court->task];
    for (uint32_t i = 0; i < recipe->input_count; i++) {
        before |= UINT64_C(1) << recipe->inputs[i];
    }
    return (before & court->ill) != 0;
}

static bool no_candidate(const struct court *court)
{
    uint64_t candidates = recipe_of(court)->candidates;
    return candidates != 0 && (candidates & ~court->gone) == 0;
}

/* A portable task goes from whoever holds it to a candidate. */
static bool no_holder(const struct court *court)
{
    const struct recipe *recipe = recipe_of(court);
    uint64_t holders = recipe->holders & ~court->gone;
    uint64_t owners = recipe->candidates != 0 ? recipe->candidates & ~court->gone
                      : recipe->kind == CHAOS_PORTABLE ? ~court->gone
                                                       : holders;
    bool portable = recipe->kind == CHAOS_PORTABLE;
    return portable ? holders == 0 || owners == 0 : (holders & owners) == 0;
}

static bool lost_before(const struct court *court, uint32_t rank)
{
    struct court other = *court;
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
    uint64_t holders = recipe_of(court)->holders & ~court->gone;
    for (uint32_t rank = 0; rank < court->chaos->ranks; rank++) {
        if ((holders >> rank & 1) != 0 && !lost_before(court, rank)) {
            return false;
        }
    }
    return true;
}

static bool none_ran(const struct court *court)
{
    for (uint32_t rank = 0; rank < court->chaos->ranks; rank++) {
        if ((court->gone >> rank & 1) == 0 &&
            court->ledger->starts[court->task][rank] > 0) {
            return false;
        }
    }
    return true;
}

static bool is_short(const struct court *court)
{
    return court->chaos->memory.rank >= 0;
}

static bool is_starved(const struct court *court)
{
    return court->chaos->memory.rank == (int)court->rank;
}

/* Some rank is short of memory, and the story of the error says so. */
static bool got_none(const struct court *court)
{
    const char *story = court->ledger->ends[court->task][court->rank].story;
    return is_short(court) && strstr(story, "memory") != NULL;
}

static bool poison(const struct court *court)
{
    (void)court;
    return false; /* no such task is drawn */
}

static bool stopped(const struct court *court)
{
    return (court->chaos->paused >> court->rank & 1) != 0;
}

static bool minority(const struct court *court)
{
    uint64_t away = court->gone | court->chaos->paused;
    return 2 * count_ranks(away) >= court->chaos->ranks || stopped(court);
}

/* --- Judging ---------------------------------------------------------------------- */

static bool holds(const void *judge, const char *word, size_t length)
{
    const struct court *court = judge;
    static const struct {
        const char *name;
        bool (*is_so)(const struct court *court);
    } conditions[] = {{"loss", loss},
                      {"fails", fails},
                      {"cancelled", cancelled},
                      {"from-bad", from_bad},
                      {"no-holder", no_holder},
                      {"no-candidate", no_candidate},
                      {"behind-lost", behind_lost},
                      {"once", once},
                      {"varies", varies},
                      {"none-ran", none_ran},
                      {"let-go", let_go},
                      {"parent", parent},
                      {"retried", retried},
                      {"poison", poison},
                      {"short", is_short},
                      {"starved", is_starved},
                      {"got-none", got_none},
                      {"stopped", stopped},
                      {"minority", minority}};
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        if (strlen(conditions[i].name) == length &&
            strncmp(conditions[i].name, word, length) == 0) {
            return conditions[i].is_so(court);
        }
    }
    fprintf(stderr, "errors.txt: no such condition: %.*s\n", (int)length, word);
    exit(2);
}

static bool is_explained(const struct court *court, int code)
{
    return error_table_explains(&court->table, code, holds, court);
}

/* Tasks for which some error of their own is legitimate; who is fenced says nothing of
 * them.  What a task takes stands before it. */
static void find_ill(struct court *court)
{
    court->ill = 0;
    for (court->task = 0; court->task < court->chaos->tasks; court->task++) {
        for (uint32_t i = 0; i < court->table.count; i++) {
            int code = court->table.rows[i].code;
            if (code != MOOT_ERR_FENCED && code != MOOT_ERR_NO_QUORUM &&
                code != MOOT_ERR_NO_MEMORY &&
                error_row_holds(&court->table.rows[i], holds, court)) {
                court->ill |= UINT64_C(1) << court->task;
            }
        }
    }
}

static int complain(const struct court *court, const char *what, const char *story)
{
    printf(
        "WRONG: rank %u, task %u (%u inputs, holders %llx, candidates %llx): %s: %s\n",
        (unsigned)court->rank, (unsigned)court->task,
        (unsigned)recipe_of(court)->input_count,
        (unsigned long long)recipe_of(court)->holders,
        (unsigned long long)recipe_of(court)->candidates, what, story);
    return 1;
}

static int judge_end(const struct court *court)
{
    const struct chaos_end *end = &court->ledger->ends[court->task][court->rank];
    char what[96];
    if (!end->seen || end->code == MOOT_OK || is_explained(court, end->code)) {
        return 0;
    }
    (void)snprintf(what, sizeof(what), "ends with %s, which nothing explains",
                   error_name_of(end->code));
    return complain(court, what, end->story);
}

/* Rules for all ranks together. */
static int judge_task(const struct court *court)
{
    uint32_t all = 0, living = 0, well = 0, ill = 0;
    uint64_t nonce = 0;
    int bad = 0;
    for (uint32_t rank = 0; rank < court->chaos->ranks; rank++) {
        const struct chaos_end *end = &court->ledger->ends[court->task][rank];
        bool finished = (court->gone >> rank & 1) == 0;
        all += court->ledger->starts[court->task][rank];
        living += finished ? court->ledger->starts[court->task][rank] : 0;
        if (!finished || !end->seen) {
            continue;
        }
        ill += end->code == MOOT_ERR_NOT_HELD;
        well += end->code == MOOT_OK;
        if (end->code == MOOT_OK && nonce != 0 && end->nonce != nonce) {
            bad = complain(court, "gave one rank other bytes than another", "");
        }
        nonce = end->code == MOOT_OK ? end->nonce : nonce;
    }
    if (recipe_of(court)->kind == CHAOS_ONCE && all > 1) {
        bad = complain(court, "may start once, and started twice", "");
    }
    if (living > 1 && !court->chaos->lets_go) {
        bad = complain(court, "started twice on ranks that finished", "");
    }
    if (well > 0 && ill > 0 && !court->chaos->lets_go) {
        bad = complain(court, "ends well on one rank and NOT_HELD on another", "");
    }
    return bad;
}

/* A rank that does not finish was killed, or is out. */
static int judge_rank(const struct court *court)
{
    const struct ledger *ledger = court->ledger;
    int code = ledger->close_code[court->rank];
    bool out = code != MOOT_OK;
    if (code != MOOT_OK && !is_explained(court, code)) {
        printf("WRONG: rank %u closes with %s\n", (unsigned)court->rank,
               error_name_of(code));
        return 1;
    }
    for (uint32_t task = 0; task < court->chaos->tasks; task++) {
        int end = ledger->ends[task][court->rank].code;
        out |= end == MOOT_ERR_FENCED || end == MOOT_ERR_NO_QUORUM;
    }
    bool struck = (court->chaos->killed >> court->rank & 1) != 0;
    if ((court->gone >> court->rank & 1) != 0 && !out && !struck) {
        printf("WRONG: rank %u does not finish, and nothing struck it\n",
               (unsigned)court->rank);
        return 1;
    }
    return ledger->wrong[court->rank] > 0;
}

/* --- Groups ----------------------------------------------------------------------- */

/* The error of a group is that of one of its tasks, or of a child that a task of it
 * left running where it is lost. */
static bool is_of_a_member(struct court *court, const struct chaos_group *group)
{
    for (court->task = 0; court->task < court->chaos->tasks; court->task++) {
        const struct recipe *recipe = recipe_of(court);
        bool is_member = (group->members >> court->task & 1) != 0;
        bool is_left = recipe->kind == CHAOS_PARENT && court->gone != 0 &&
                       group->code == MOOT_ERR_NOT_HELD;
        if (is_member && (is_explained(court, group->code) || is_left)) {
            return true;
        }
    }
    return false;
}

/* A task that failed where nobody was lost had done so when its group ended. */
static bool hides_a_failure(struct court *court, const struct chaos_group *group)
{
    for (court->task = 0; court->task < court->chaos->tasks; court->task++) {
        bool is_member = (group->members >> court->task & 1) != 0;
        int code = court->ledger->ends[court->task][court->rank].code;
        if (is_member && court->gone == 0 && code == MOOT_ERR_TASK_FAILED) {
            return true;
        }
    }
    return false;
}

static int judge_groups(struct court *court)
{
    int bad = 0;
    for (uint32_t i = 0; i < CHAOS_GROUPS_MAX; i++) {
        const struct chaos_group *group = &court->ledger->groups[i][court->rank];
        if (!group->seen) {
            continue;
        }
        if (group->code != MOOT_OK && !is_of_a_member(court, group)) {
            printf("WRONG: rank %u, group %u of tasks %llx ends with %s: %s\n",
                   (unsigned)court->rank, (unsigned)i,
                   (unsigned long long)group->members, error_name_of(group->code),
                   group->story);
            bad = 1;
        }
        if (group->code == MOOT_OK && hides_a_failure(court, group)) {
            printf("WRONG: rank %u, group %u of tasks %llx ends well, and task %u "
                   "failed\n",
                   (unsigned)court->rank, (unsigned)i,
                   (unsigned long long)group->members, (unsigned)court->task);
            bad = 1;
        }
    }
    return bad;
}

/* A line for each kind of end: how many there were. */
static void count_ends(const struct court *court)
{
    uint32_t well = 0, errors[ERROR_ROWS_MAX] = {0};
    for (uint32_t i = 0; i < court->chaos->tasks * court->chaos->ranks; i++) {
        const struct chaos_end *end =
            &court->ledger->ends[i % court->chaos->tasks][i / court->chaos->tasks];
        bool known = end->seen && end->code == MOOT_OK;
        well += known;
        for (uint32_t row = 0; !known && end->seen && row < court->table.count; row++) {
            if (court->table.rows[row].code == end->code) {
                errors[row]++;
                break;
            }
        }
    }
    printf("%u ends with a result\n", (unsigned)well);
    for (uint32_t row = 0; row < court->table.count; row++) {
        if (errors[row] > 0) {
            printf("%u ends with %s\n", (unsigned)errors[row],
                   court->table.rows[row].name);
        }
    }
}

int chaos_judge(const struct chaos *chaos, const struct ledger *ledger,
                const char *table)
{
    static struct court court;
    int bad = 0;
    court = (struct court){.chaos = chaos, .ledger = ledger};
    if (!error_table_read(&court.table, table)) {
        return 2;
    }
    for (uint32_t rank = 0; rank < chaos->ranks; rank++) {
        court.gone |= ledger->finished[rank] ? 0 : UINT64_C(1) << rank;
    }
    for (court.rank = 0; court.rank < chaos->ranks; court.rank++) {
        find_ill(&court);
        bad |= judge_rank(&court);
        bad |= judge_groups(&court);
        for (court.task = 0; court.task < chaos->tasks; court.task++) {
            bad |= judge_end(&court);
        }
    }
    court.rank = 0;
    for (court.task = 0; court.task < chaos->tasks; court.task++) {
        bad |= judge_task(&court);
    }
    count_ends(&court);
    return bad;
}
