/* outcome.c - see outcome.h. */
#include "node/launch/outcome.h"
#include "node/launch/launch.h"
#include "proto/error.h"
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* --- Judging --------------------------------------------------------------------- */

static const struct sheet *sheet_of(const struct sheets *sheets, size_t rank)
{
    const bool present = rank < sheets->count && sheets->items[rank].present;
    return present ? &sheets->items[rank] : NULL;
}

static bool ended_well(const struct outcome *outcome, const struct sheets *sheets,
                       size_t rank)
{
    const struct rank_end *end = &outcome->ends[rank];
    const struct sheet *sheet = sheet_of(sheets, rank);
    const bool well = (end->known && end->status == 0) || end->let_go;
    return well && sheet && sheet->close_code == 0 && !end->dismissed;
}

static bool any_ended_well(const struct outcome *outcome, const struct sheets *sheets)
{
    bool any = false;
    for (size_t r = 0; r < outcome->count; r++) {
        any |= ended_well(outcome, sheets, r);
    }
    return any;
}

/* Signals that a process has from others; any other is of its own making. */
static bool is_from_outside(int signal)
{
    static const int outside[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
    bool found = false;
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        found |= outside[i] == signal;
    }
    return found;
}

/* The rank left as it was asked to.  How the program took it is its own affair: a call
 * that returned CLOSED may be an error to it, and its time may have been over. */
static bool left_as_asked(const struct outcome *outcome, size_t rank)
{
    const struct rank_end *end = &outcome->ends[rank];
    return end->dismissed && end->known &&
           (end->signal == 0 || is_from_outside(end->signal));
}

/* The first of those that ended well and saw it go; NULL if none did. */
static const struct sheet_loss *loss_of(const struct outcome *outcome,
                                        const struct sheets *sheets, size_t rank)
{
    for (size_t r = 0; r < sheets->count && r < outcome->count; r++) {
        const struct sheet *sheet = &sheets->items[r];
        for (size_t i = 0; ended_well(outcome, sheets, r) && i < sheet->loss_count;
             i++) {
            if (sheet->losses[i].rank == rank) {
                return &sheet->losses[i];
            }
        }
    }
    return NULL;
}

/* The rank was to join, and ended before that, by no fault that a signal tells of. Over
 * MPI nobody may know how. */
static bool was_unjoined(const struct outcome *outcome, size_t rank)
{
    const struct rank_end *end = &outcome->ends[rank];
    return rank >= outcome->founders && !end->begun && !end->lost &&
           (end->signal == 0 || is_from_outside(end->signal));
}

size_t outcome_joined(const struct outcome *outcome, const struct sheets *sheets)
{
    size_t joined = 0;
    for (size_t r = outcome->founders; r < outcome->count; r++) {
        const struct rank_end *end = &outcome->ends[r];
        joined += end->begun || (!end->known && loss_of(outcome, sheets, r) != NULL);
    }
    return joined;
}

/* It outlived the view without it, or said itself at its close that it was out; then it
 * may have ended with 0. */
static bool was_removed(const struct rank_end *end, const struct sheet *sheet,
                        const struct sheet_loss *loss)
{
    const bool outlived = loss->removed_ns != 0 && loss->removed_ns < end->ended_ns;
    const bool was_told = sheet && sheet->close_code != 0;
    return !end->known || was_told || (end->status != 0 && outlived);
}

/* The rank was voted out while it lived, since nobody had seen it die by then: how it
 * died later is nobody's loss. */
static bool was_out(const struct rank_end *end, const struct sheet_loss *loss)
{
    return end->struck_ns == 0 && loss->removed_ns != 0 &&
           loss->removed_ns < end->ended_ns &&
           (loss->seen_ns == 0 || loss->seen_ns > loss->removed_ns);
}

enum rank_fate outcome_fate(const struct outcome *outcome, const struct sheets *sheets,
                            size_t rank)
{
    const struct rank_end *end = &outcome->ends[rank];
    if (ended_well(outcome, sheets, rank)) {
        return RANK_WELL;
    }
    if (left_as_asked(outcome, rank)) {
        return any_ended_well(outcome, sheets) ? RANK_WELL : RANK_FAILED;
    }
    if (was_unjoined(outcome, rank)) {
        return RANK_UNJOINED;
    }
    const struct sheet_loss *loss = loss_of(outcome, sheets, rank);
    if (end->known && end->signal != 0) {
        return loss && was_out(end, loss) ? RANK_REMOVED : RANK_DIED;
    }
    if (end->lost) {
        return RANK_REMOVED;
    }
    if (loss && was_removed(end, sheet_of(sheets, rank), loss)) {
        return RANK_REMOVED;
    }
    return end->known ? RANK_FAILED : RANK_UNCLEAR;
}

/* A rank that failed, and belonged to no moot. */
static bool failed_outside(const struct rank_end *end)
{
    return end->known && end->status != 0 && !end->open && !end->removed &&
           !end->dismissed;
}

static bool is_culprit(const struct outcome *outcome, size_t rank)
{
    const struct rank_end *end = &outcome->ends[rank];
    const bool missed = rank < outcome->founders && failed_outside(end) &&
                        (!end->begun || outcome->opening);
    return missed || (end->known && (end->aborted || end->stalled));
}

size_t outcome_culprit(const struct outcome *outcome)
{
    size_t culprit = OUTCOME_NOBODY;
    for (size_t r = 0; r < outcome->count; r++) {
        const struct rank_end *end = &outcome->ends[r];
        if (!is_culprit(outcome, r)) {
            continue;
        }
        /* A rank that could not open a moot may have missed one that had ended. */
        if (culprit == OUTCOME_NOBODY ||
            (outcome->ends[culprit].refused && !end->refused &&
             end->ended_ns < outcome->ends[culprit].ended_ns)) {
            culprit = r;
        }
    }
    return culprit;
}

size_t outcome_straggler(const struct outcome *outcome, size_t from)
{
    for (size_t r = from; r < outcome->count; r++) {
        const struct rank_end *end = &outcome->ends[r];
        const bool owes_nobody = end->begun || r >= outcome->founders;
        if (failed_outside(end) && owes_nobody && !end->stalled) {
            return r;
        }
    }
    return OUTCOME_NOBODY;
}

bool outcome_hangs_at_end(const struct outcome *outcome)
{
    size_t left = 0, gone = 0;
    for (size_t r = 0; r < outcome->count; r++) {
        left += !outcome->ends[r].known;
        const struct rank_end *end = &outcome->ends[r];
        gone += end->known && (end->status != 0 || end->open);
    }
    return gone > 0 && left > 0 && outcome->finalizing >= left;
}

/* Whether the loss of that rank makes the job fail that others have brought to its
 * end. */
static bool loss_fails(const struct rank_end *end, enum rank_fate fate,
                       enum deaths deaths)
{
    const bool own_fault = fate == RANK_DIED && !is_from_outside(end->signal);
    if (fate == RANK_UNJOINED) {
        return false;
    }
    return deaths == DEATHS_FAIL || (deaths == DEATHS_TOLERATE && own_fault);
}

/* Whoever still ran when the launcher was told to end the job. */
static bool ended_with_job(const struct rank_end *end)
{
    return !end->known || end->signal == SIGTERM || end->signal == SIGKILL;
}

/* --- Telling --------------------------------------------------------------------- */

/* Without the rank that it may begin with, which had said it of itself. */
static const char *refusal_cause(const struct rank_end *end)
{
    const char *why = end->refused ? end->refused : "";
    const char *number = strncmp(why, "rank ", 5) == 0 ? why + 5 : why;
    const char *rest = number + strspn(number, "0123456789");
    return number > why && rest > number && strncmp(rest, ": ", 2) == 0 ? rest + 2
                                                                        : why;
}

static double ms_between(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e6 : 0;
}

/* When the moot was opened, by the clock that all ranks of a host share. */
static uint64_t opened_ns(const struct sheets *sheets)
{
    uint64_t first_ns = UINT64_MAX;
    for (size_t r = 0; r < sheets->count; r++) {
        const struct sheet *sheet = &sheets->items[r];
        if (sheet->present && sheet->ended_ns - sheet->wall_ns < first_ns) {
            first_ns = sheet->ended_ns - sheet->wall_ns;
        }
    }
    return first_ns;
}

/* What followed a rank's death or removal. */
static void sequel_print(const struct outcome *outcome, const struct sheets *sheets,
                         size_t rank, uint64_t died_ns, FILE *to)
{
    const struct sheet_loss *loss = loss_of(outcome, sheets, rank);
    if (!loss) {
        fprintf(to, "; the others had no need to notice\n");
        return;
    }
    if (died_ns != 0 && loss->seen_ns != 0) {
        fprintf(to, "; seen after %.1f ms", ms_between(died_ns, loss->seen_ns));
    }
    if (loss->removed_ns == 0) {
        fprintf(to, "; all had closed by then");
    } else if (died_ns != 0) {
        fprintf(to, ", view %" PRIu64 " without it after %.1f ms", loss->epoch,
                ms_between(died_ns, loss->removed_ns));
    } else {
        fprintf(to, " by view %" PRIu64, loss->epoch);
    }
    fputc('\n', to);
}

/* The cause of a rank's death, from whoever knows; "" if nobody does.  Ranks of other
 * hosts do not; and of several moots that it had open at once one knows the kernel. */
static const char *death_story_of(const struct outcome *outcome,
                                  const struct sheets *sheets, size_t rank)
{
    const char *best = "";
    for (size_t r = 0; r < sheets->count && r < outcome->count; r++) {
        const struct sheet *sheet = &sheets->items[r];
        for (size_t i = 0; i < sheet->loss_count; i++) {
            const char *story = sheet->losses[i].death;
            if (sheet->losses[i].rank == rank && *story != '\0' &&
                (*best == '\0' || !strstr(best, "in kernel '"))) {
                best = story;
            }
        }
    }
    return best;
}

static void end_print(const struct rank_end *end, FILE *to)
{
    if (end->signal != 0) {
        fprintf(to, "died of signal %d (%s)", end->signal, strsignal(end->signal));
    } else {
        fprintf(to, "ended with status %d", end->status);
    }
}

static void unjoined_print(const struct rank_end *end, size_t rank, FILE *to)
{
    fprintf(to, "  rank %zu did not join: ", rank);
    if (end->refused) {
        fputs(refusal_cause(end), to);
    } else if (!end->known) {
        fputs("how its process ended is not known", to);
    } else {
        fputs("it ", to);
        end_print(end, to);
    }
    fputc('\n', to);
}

/* The story of others, who may have seen its end and not by which signal. */
static void cause_print(const struct rank_end *end, const char *story, FILE *to)
{
    static const char signal[] = "of signal ";
    const bool told = strncmp(story, signal, sizeof(signal) - 1) == 0;
    if (end->struck_ns || !*story || (end->signal != 0 && !told)) {
        fprintf(to, "%s%d (%s)%s", signal, end->signal,
                end->struck_ns ? "by the fault plan" : strsignal(end->signal),
                !end->struck_ns && *story ? " " : "");
    }
    if (!end->struck_ns) {
        fputs(story, to);
    }
}

static void loss_print(const struct outcome *outcome, const struct sheets *sheets,
                       size_t rank, enum rank_fate fate, FILE *to)
{
    const struct rank_end *end = &outcome->ends[rank];
    const uint64_t died_ns = end->struck_ns ? end->struck_ns : end->ended_ns;
    if (fate == RANK_UNJOINED) {
        unjoined_print(end, rank, to);
        return;
    }
    if (fate == RANK_REMOVED) {
        fprintf(to, "  rank %zu was %s", rank,
                end->lost ? "lost with its host" : "removed alive");
        if (end->let_go) {
            fputs(" (and ended by moot run, after the others)", to);
        } else if (end->signal != 0) {
            fprintf(to, ", before it died of signal %d (%s),", end->signal,
                    strsignal(end->signal));
        }
        sequel_print(outcome, sheets, rank, 0, to);
        return;
    }
    const char *story = death_story_of(outcome, sheets, rank);
    fprintf(to, "  rank %zu died after %.3f s ", rank,
            ms_between(opened_ns(sheets), died_ns) / 1e3);
    cause_print(end, story, to);
    sequel_print(outcome, sheets, rank, died_ns, to);
}

/* Tasks of lost ranks, and when the first of them was taken over; and elements, of
 * which a rank does not know whether their home was lost or has given them up. */
static void taken_over_print(const struct sheets *sheets, FILE *to)
{
    uint64_t tasks = 0, elements = 0, first_ns = UINT64_MAX, removed_ns = UINT64_MAX;
    for (size_t r = 0; r < sheets->count; r++) {
        const struct sheet *sheet = &sheets->items[r];
        tasks += sheet->stats.tasks_taken_over;
        elements += sheet->stats.elements_taken;
        if (sheet->taken_over_ns != 0 && sheet->taken_over_ns < first_ns) {
            first_ns = sheet->taken_over_ns;
        }
        for (size_t i = 0; i < sheet->loss_count; i++) {
            if (sheet->losses[i].removed_ns != 0 &&
                sheet->losses[i].removed_ns < removed_ns) {
                removed_ns = sheet->losses[i].removed_ns;
            }
        }
    }
    if (tasks > 0) {
        fprintf(to,
                "  taken over     %" PRIu64
                " task%s of lost ranks, the first %.1f ms after the view\n",
                tasks, tasks == 1 ? "" : "s", ms_between(removed_ns, first_ns));
    }
    if (elements > 0 && removed_ns != UINT64_MAX) {
        fprintf(to,
                "  %-14s %" PRIu64 " element%s of shares that were lost or given up\n",
                tasks > 0 ? "" : "taken over", elements, elements == 1 ? "" : "s");
    }
}

void outcome_tell_culprit(const struct outcome *outcome, size_t culprit, FILE *to)
{
    const struct rank_end *end = &outcome->ends[culprit];
    fprintf(to, "moot: rank %zu ", culprit);
    end_print(end, to);
    fprintf(to, " %s",
            end->aborted   ? "by MPI_Abort or _exit"
            : end->stalled ? "after a stall that was to end the job (MOOT_STALL_ABORT)"
            : end->begun   ? "after it had closed its moot, and others open another"
                           : "before it opened a moot");
    if (end->refused && !end->begun) {
        fprintf(to, " (%s)", end->refused);
    }
    fputs(": ending the job\n", to);
}

void outcome_tell_straggler(const struct outcome *outcome, size_t rank, FILE *to)
{
    fprintf(to, "moot: rank %zu ", rank);
    end_print(&outcome->ends[rank], to);
    const struct rank_end *end = &outcome->ends[rank];
    fprintf(to, " %s",
            end->begun ? "after it had closed its moot" : "before it joined");
    if (end->refused && !end->begun) {
        fprintf(to, " (%s)", end->refused);
    }
    fputs("; the others go on\n", to);
}

/* Two ranks that never opened a moot, for the same reason, and ended alike. */
static bool failed_alike(const struct outcome *outcome, const struct sheets *sheets,
                         size_t a, size_t b)
{
    const struct rank_end *one = &outcome->ends[a], *other = &outcome->ends[b];
    return !sheet_of(sheets, a) && !sheet_of(sheets, b) && !one->begun &&
           !other->begun && !*death_story_of(outcome, sheets, a) &&
           !*death_story_of(outcome, sheets, b) && one->known == other->known &&
           one->signal == other->signal && one->status == other->status &&
           strcmp(refusal_cause(one), refusal_cause(other)) == 0;
}

static void unopened_print(const struct rank_end *end, size_t first, size_t last,
                           FILE *to)
{
    if (first < last) {
        fprintf(to, "moot: each of ranks %zu-%zu never opened a moot", first, last);
    } else {
        fprintf(to, "moot: rank %zu never opened a moot", first);
    }
    if (end->refused) {
        fprintf(to, ": %s", end->refused);
    }
}

/* Ranks `rank` to `last`, which failed alike. */
static void failure_print(const struct outcome *outcome, const struct sheets *sheets,
                          size_t rank, size_t last, FILE *to)
{
    const struct rank_end *end = &outcome->ends[rank];
    const struct sheet *sheet = sheet_of(sheets, rank);
    if (end->dismissed) {
        fprintf(to,
                "moot: rank %zu left as it was asked to, and no other has brought the "
                "job to its end",
                rank);
    } else if (!sheet && !end->begun) {
        unopened_print(end, rank, last, to);
    } else if (!sheet) {
        fprintf(to, "moot: rank %zu did not close its moot", rank);
    } else if (sheet->close_code != 0) {
        fprintf(to, "moot: rank %zu failed: %s (%s)", rank,
                error_text((int)sheet->close_code), error_name((int)sheet->close_code));
    } else {
        fprintf(to, "moot: rank %zu failed", rank);
    }
    const char *story = sheet ? "" : death_story_of(outcome, sheets, rank);
    if (*story) {
        fprintf(to, "; it died %s", story);
    } else if (!end->known) {
        fprintf(to, "; how its process ended is not known");
    } else if (end->signal != 0) {
        fprintf(to, "; it died of signal %d (%s)", end->signal, strsignal(end->signal));
    } else if (end->status != 0 || !sheet) {
        fprintf(to, "; its exit status is %d", end->status);
    }
    fputc('\n', to);
}

/* Its loss, beside others that ended well, is a row of the summary. */
static bool is_loss(enum rank_fate fate, bool any_well)
{
    return any_well &&
           (fate == RANK_DIED || fate == RANK_REMOVED || fate == RANK_UNJOINED);
}

/* Such as the job was ended for, or with. */
static bool is_no_news(const struct outcome *outcome, size_t rank, size_t culprit)
{
    return culprit != OUTCOME_NOBODY &&
           (rank == culprit || ended_with_job(&outcome->ends[rank]));
}

void outcome_tell_losses(const struct outcome *outcome, const struct sheets *sheets,
                         size_t culprit, FILE *to)
{
    const bool any_well = any_ended_well(outcome, sheets);
    for (size_t r = 0; r < outcome->count; r++) {
        const enum rank_fate fate = outcome_fate(outcome, sheets, r);
        if (is_loss(fate, any_well) && !is_no_news(outcome, r, culprit)) {
            loss_print(outcome, sheets, r, fate, to);
        }
    }
    taken_over_print(sheets, to);
}

static bool is_failure(enum rank_fate fate, bool any_well)
{
    return fate != RANK_WELL && !is_loss(fate, any_well);
}

/* The exit status that a rank asks for. */
static int failure_status(const struct outcome *outcome, const struct sheets *sheets,
                          size_t rank, bool any_well, enum deaths deaths)
{
    const struct rank_end *end = &outcome->ends[rank];
    const enum rank_fate fate = outcome_fate(outcome, sheets, rank);
    const int failed = end->dismissed ? LAUNCH_SIGNAL + SIGTERM : EXIT_FAILURE;
    const int own =
        end->known && end->status != 0 && !end->dismissed ? end->status : failed;
    if (fate == RANK_WELL) {
        return EXIT_SUCCESS;
    }
    if (is_loss(fate, any_well)) {
        return loss_fails(end, fate, deaths) ? own : EXIT_SUCCESS;
    }
    return own;
}

/* The last of the ranks from `rank` on that failed like it, and are news. */
static size_t last_alike(const struct outcome *outcome, const struct sheets *sheets,
                         size_t rank, size_t culprit)
{
    size_t last = rank;
    while (last + 1 < outcome->count && !is_no_news(outcome, last + 1, culprit) &&
           failed_alike(outcome, sheets, rank, last + 1)) {
        last++;
    }
    return last;
}

/* The rank that ended last, of a fault of its own in its moot, where nobody outlived it
 * who could have looked at what it ran: OUTCOME_NOBODY if it is another. */
static size_t find_untold(const struct outcome *outcome, const struct sheets *sheets)
{
    size_t last = OUTCOME_NOBODY;
    for (size_t r = 0; r < outcome->count; r++) {
        const struct rank_end *end = &outcome->ends[r];
        if (!end->known || sheet_of(sheets, r)) {
            return OUTCOME_NOBODY;
        }
        last = last == OUTCOME_NOBODY || end->ended_ns > outcome->ends[last].ended_ns
                   ? r
                   : last;
    }
    const struct rank_end *end = last != OUTCOME_NOBODY ? &outcome->ends[last] : NULL;
    return end && end->begun && end->signal != 0 && !is_from_outside(end->signal)
               ? last
               : OUTCOME_NOBODY;
}

static void untold_print(const struct outcome *outcome, const struct sheets *sheets,
                         FILE *to)
{
    const size_t rank = find_untold(outcome, sheets);
    if (rank == OUTCOME_NOBODY) {
        return;
    }
    fprintf(to, "moot: nobody was left to say in which kernel rank %zu died: ", rank);
    if (outcome->count == 1) {
        fprintf(to, "run it on two ranks\n");
    } else {
        fprintf(to,
                "run it on one rank more, or with MOOT_CRASHES=1; if all die of it at "
                "once, run one rank in a debugger\n");
    }
}

int outcome_tell_failures(const struct outcome *outcome, const struct sheets *sheets,
                          size_t culprit, enum deaths deaths, FILE *to)
{
    const bool any_well = any_ended_well(outcome, sheets);
    int status = EXIT_SUCCESS;
    if (culprit != OUTCOME_NOBODY) {
        status = outcome->ends[culprit].status;
        status = status ? status : EXIT_FAILURE; /* MPI_Abort(comm, 0) */
    }
    for (size_t r = 0, untold = 0; r < outcome->count; r++) {
        if (is_no_news(outcome, r, culprit)) {
            continue;
        }
        if (r >= untold && is_failure(outcome_fate(outcome, sheets, r), any_well)) {
            untold = last_alike(outcome, sheets, r, culprit) + 1;
            failure_print(outcome, sheets, r, untold - 1, to);
        }
        const int own = failure_status(outcome, sheets, r, any_well, deaths);
        status = status ? status : own;
    }
    untold_print(outcome, sheets, to);
    return status;
}

/* A rule that has not struck waits for a task, and this job ran elements. */
static bool waits_for_task(const struct plan *plan, const struct plan_hits *hits,
                           const struct sheets *sheets)
{
    const plan_rules unfired = plan_unfired(plan, hits);
    bool waits = false, ran = false;
    for (uint32_t i = 0; i < plan->rule_count; i++) {
        const struct plan_rule *rule = &plan->rules[i];
        waits |= (unfired & PLAN_RULE(i)) != 0 && rule->when == PLAN_AT_POINT &&
                 rule->point <= CORE_POINT_RESULT_RECV;
    }
    for (size_t r = 0; r < sheets->count; r++) {
        ran |= sheets->items[r].present && sheets->items[r].stats.elements_run > 0;
    }
    return waits && ran;
}

bool outcome_tell_faults(const struct outcome *outcome, const struct sheets *sheets,
                         const struct plan *plan, FILE *to)
{
    struct plan_hits hits = {{0}};
    for (size_t r = 0; r < outcome->count; r++) {
        plan_hits_add(&hits, &outcome->ends[r].hits);
    }
    const size_t length = plan_hits_format(plan, &hits, NULL, 0);
    char *text = malloc(length + 1);
    if (text) {
        plan_hits_format(plan, &hits, text, length + 1);
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
            fprintf(to, "  fault          %.*s\n", (int)strcspn(line, "\n"), line);
        }
    }
    free(text);
    if (waits_for_task(plan, &hits, sheets)) {
        fprintf(to, "                 elements of task arrays pass no point of tasks: "
                    "give a time, as in kill:r2@300ms\n");
    }
    return plan_unfired(plan, &hits) == 0;
}
