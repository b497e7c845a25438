/* run_late.c - see run_late.h. */
#include "node/cli/run_late.h"
#include "node/agent/rank_process.h"
#include "node/cli/run_line.h"
#include "node/config/ending.h"
#include "node/config/knobs.h"
#include "node/config/text.h"
#include "node/explain/stall.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { LOOKS = 5, RANKS_TOLD = 8 };
#define SECOND_NS UINT64_C(1000000000)
#define SOON_NS (3 * SECOND_NS) /* a rank that ends so soon is not told of */
#define GRACE_LEAST_NS (5 * SECOND_NS)
#define GRACE_NEVER_NS (10 * SECOND_NS) /* where no wait is told of */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* --- Telling ---------------------------------------------------------------------- */

static void text_add_process(struct text *text, const struct rank_process *process)
{
    static const char *const does[] = {
        [RANK_RUNS] = "runs",
        [RANK_STOPPED] = "is stopped",
        [RANK_IN_WAIT] = "waits in the system for a disk or a file server (state D)"};
    text_add(text, "process %llu on host %s %s", (unsigned long long)process->pid,
             *process->host != '\0' ? process->host : "?", does[process->does]);
}

static void text_add_seconds(struct text *text, uint64_t ns)
{
    if (ns >= SECOND_NS) {
        text_add(text, "%llu s", (unsigned long long)(ns / SECOND_NS));
    } else {
        text_add_duration(text, ns);
    }
}

/* A row for each of the first of these ranks. */
static void text_add_processes(struct text *text, const char *ends,
                               const struct rankset *ranks, size_t count)
{
    unsigned told = 0;
    for (size_t r = 0; r < count && told < RANKS_TOLD; r++) {
        struct rank_process process;
        if (!rankset_has(ranks, (uint32_t)r)) {
            continue;
        }
        told++;
        rank_process_find(ends, r, &process);
        if (process.pid != 0) {
            text_add(text, "  rank %zu: ", r);
            text_add_process(text, &process);
            if (process.does == RANK_STOPPED) {
                text_add(text, "; kill -CONT %llu lets it go on",
                         (unsigned long long)process.pid);
            }
            text_add(text, "\n");
        }
    }
}

static void say(const struct run_late_job *job, struct text *text)
{
    run_line_erase(job->line);
    fputs(text_get(text), stderr);
    text_release(text);
}

/* --- Openings --------------------------------------------------------------------- */

/* How long the rank has been opening a moot; 0: it is not. */
static uint64_t opening_ns(const char *ends, size_t rank)
{
    char path[PATH_MAX];
    struct stat about;
    snprintf(path, sizeof(path), "%s/" ENDING_AWAITS "-%zu", ends, rank);
    if (stat(path, &about) != 0) {
        return 0;
    }
    const uint64_t now_ns = clock_ns(CLOCK_REALTIME),
                   since_ns = (uint64_t)about.st_mtim.tv_sec * SECOND_NS +
                              (uint64_t)about.st_mtim.tv_nsec;
    return now_ns > since_ns ? now_ns - since_ns : 1;
}

static bool is_stopped(const char *ends, size_t rank)
{
    struct rank_process process;
    rank_process_find(ends, rank, &process);
    return process.does == RANK_STOPPED;
}

/* The ranks that keep others from opening a moot, and for how long they have.  Nobody
 * waits for ranks that join. */
static uint64_t missing_find(const struct run_late_job *job,
                             const struct outcome *outcome, struct rankset *missing)
{
    uint64_t longest_ns = 0;
    for (size_t r = 0; r < outcome->founders; r++) {
        if (outcome->ends[r].known || (job->lost && job->lost[r])) {
            continue;
        }
        const uint64_t since_ns = opening_ns(job->ends, r);
        longest_ns = since_ns > longest_ns ? since_ns : longest_ns;
        if (since_ns == 0 || (since_ns > SECOND_NS && is_stopped(job->ends, r))) {
            (void)rankset_add(missing, (uint32_t)r);
        }
    }
    return longest_ns;
}

static void missing_tell(const struct run_late_job *job, const struct outcome *outcome,
                         const struct rankset *missing, uint64_t since_ns)
{
    struct text ranks = {0}, text = {0};
    stall_add_ranks(&ranks, missing);
    const bool one = rankset_count(missing) == 1;
    text_add(&ranks, " %s not opened %s moot", one ? "has" : "have",
             one ? "its" : "their");
    run_line_note(job->line, text_get(&ranks));
    text_add(&text, "moot: %s for ", text_get(&ranks));
    text_add_seconds(&text, since_ns);
    text_add(&text, "; the others wait for %s\n", one ? "it" : "them");
    text_add_processes(&text, job->ends, missing, outcome->count);
    text_release(&ranks);
    say(job, &text);
}

static void openings_look(struct run_late *late, const struct run_late_job *job,
                          const struct outcome *outcome)
{
    const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC),
                   stall_ns = (uint64_t)job->stall_ns;
    struct rankset missing = {0};
    const uint64_t since_ns = missing_find(job, outcome, &missing);
    const bool waits = rankset_count(&missing) > 0 && since_ns >= stall_ns;
    if (!waits && late->told) {
        run_line_note(job->line, "");
        late->told = false;
        late->due_ns = late->pause_ns = 0;
    }
    if (waits && now_ns >= late->due_ns) {
        late->told = true;
        late->pause_ns = late->pause_ns > 0 ? 2 * late->pause_ns : stall_ns;
        late->due_ns = now_ns + late->pause_ns;
        missing_tell(job, outcome, &missing, since_ns);
    }
    rankset_release(&missing);
}

/* --- Ranks that were voted out ---------------------------------------------------- */

/* The ranks that have not ended, if all others have, and have voted them out; none
 * otherwise. */
static void outlived_find(const struct run_late_job *job, const struct outcome *outcome,
                          struct rankset *out)
{
    struct sheets sheets = {0};
    size_t left = 0;
    for (size_t r = 0; r < outcome->count; r++) {
        left += !outcome->ends[r].known && !(job->lost && job->lost[r]);
    }
    if (left == 0 || left == outcome->count || !sheets_read(job->sheets, &sheets)) {
        return;
    }
    for (size_t r = 0; r < outcome->count; r++) {
        if (!outcome->ends[r].known && !(job->lost && job->lost[r]) &&
            outcome_fate(outcome, &sheets, r) == RANK_REMOVED) {
            (void)rankset_add(out, (uint32_t)r);
        }
    }
    sheets_release(&sheets);
    if (rankset_count(out) < left) {
        rankset_release(out);
        *out = (struct rankset){0};
    }
}

static void outlived_tell(const struct run_late_job *job, const struct outcome *outcome,
                          const struct rankset *ranks, uint64_t grace_ns)
{
    struct text text = {0};
    const bool one = rankset_count(ranks) == 1;
    text_add(&text, "moot: ");
    stall_add_ranks(&text, ranks);
    text_add(&text,
             " %s removed by the others, who have ended, and still %s: %s ended in ",
             one ? "was" : "were", one ? "runs" : "run", one ? "it is" : "they are");
    text_add_seconds(&text, grace_ns);
    text_add(&text, "\n");
    text_add_processes(&text, job->ends, ranks, outcome->count);
    say(job, &text);
}

static bool outlived_look(struct run_late *late, const struct run_late_job *job,
                          const struct outcome *outcome)
{
    const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    struct rankset ranks = {0};
    outlived_find(job, outcome, &ranks);
    if (rankset_count(&ranks) == 0) {
        late->since_ns = late->end_ns = 0;
    } else if (late->since_ns == 0) {
        late->since_ns = now_ns;
    } else if (late->end_ns == 0 && now_ns - late->since_ns >= SOON_NS) {
        const uint64_t stall_ns =
            job->stall_ns != KNOB_NEVER ? (uint64_t)job->stall_ns : GRACE_NEVER_NS;
        const uint64_t grace_ns = stall_ns > GRACE_LEAST_NS ? stall_ns : GRACE_LEAST_NS;
        late->end_ns = now_ns + grace_ns;
        outlived_tell(job, outcome, &ranks, grace_ns);
    }
    rankset_release(&ranks);
    return late->end_ns != 0 && now_ns >= late->end_ns;
}

bool run_late_look(struct run_late *late, const struct run_late_job *job,
                   const struct outcome *outcome)
{
    if (++late->looks % LOOKS != 0 || !outcome->ends) {
        return false;
    }
    if (job->stall_ns != KNOB_NEVER) {
        openings_look(late, job, outcome);
    }
    return outlived_look(late, job, outcome);
}
