/* report_sessions.c - the page's sessions, process sets, and who came and went.
 *
 * All ranks of a session have the same sets, and each records them when it learns of
 * them; the page has the first record of each.  A set is valid until one of its
 * processes is gone, or the program deletes it.
 */
#include "node/tools/report_data.h"

#include "node/tools/json.h"
#include <inttypes.h>
#include <stdlib.h>

enum { NUMBERS = REPORT_SESSIONS_MAX + 1 };

/* The first record in time of each; NULL: there is none. */
struct session_firsts {
    const struct trace_event *sessions[NUMBERS], *sets[NUMBERS], *deleted[NUMBERS];
    uint64_t sessions_rest, sets_rest; /* the highest number that has no room */
    const struct trace_event **joined, **parted, **dead, **removed; /* by rank */
};

static void keep_first(const struct trace_event **first,
                       const struct trace_event *event)
{
    if (*first == NULL || event->at_ns < (*first)->at_ns) {
        *first = event;
    }
}

static void number_take(const struct trace_event **list, uint64_t *rest,
                        const struct trace_event *event)
{
    if (event->value < NUMBERS) {
        keep_first(&list[event->value], event);
    } else if (event->value > *rest) {
        *rest = event->value;
    }
}

static void firsts_take(struct session_firsts *firsts, uint32_t ranks,
                        const struct trace_event *event)
{
    const struct {
        Moot__Record__Kind kind;
        const struct trace_event **list;
    } about[] = {{MOOT__RECORD__KIND__JOINED, firsts->joined},
                 {MOOT__RECORD__KIND__PARTED, firsts->parted},
                 {MOOT__RECORD__KIND__DEAD, firsts->dead},
                 {MOOT__RECORD__KIND__REMOVED, firsts->removed}};
    uint64_t none = 0;
    if (event->kind == MOOT__RECORD__KIND__SESSION) {
        number_take(firsts->sessions, &firsts->sessions_rest, event);
    } else if (event->kind == MOOT__RECORD__KIND__SET) {
        number_take(firsts->sets, &firsts->sets_rest, event);
    } else if (event->kind == MOOT__RECORD__KIND__SET_DELETED) {
        number_take(firsts->deleted, &none, event);
    }
    for (size_t i = 0; event->peer < ranks && i < sizeof(about) / sizeof(*about); i++) {
        if (event->kind == about[i].kind) {
            keep_first(&about[i].list[event->peer], event);
        }
    }
}

static void members_write(const struct trace_job *trace,
                          const struct trace_event *event, FILE *file)
{
    const char *join = "";
    fputs("[", file);
    for (uint32_t rank = 0; rank < trace->rank_count; rank++) {
        if (rank / 64 < event->word_count &&
            (event->words[rank / 64] >> rank % 64 & 1) != 0) {
            fprintf(file, "%s%u", join, rank);
            join = ",";
        }
    }
    fputs("]", file);
}

/* --- Who came and went ------------------------------------------------------------ */

static void row_begin(FILE *file, bool *any)
{
    fputs(*any ? ",\n" : "", file);
    *any = true;
}

static void change_write(const struct trace_event *event, uint32_t rank,
                         const char *word, bool *any, FILE *file)
{
    if (event != NULL) {
        row_begin(file, any);
        fprintf(file, "[%.3f,%u,\"%s\",", report_us(event->at_ns), rank, word);
        json_text(file, event->text != NULL ? event->text : "");
        fputs("]", file);
    }
}

/* That rank's going, and a word for it; NULL: it is there to the end. */
static const struct trace_event *going_of(const struct session_firsts *firsts,
                                          uint32_t rank, const char **word)
{
    *word = firsts->parted[rank] != NULL ? "left"
            : firsts->dead[rank] != NULL ? "died"
                                         : "was removed";
    return firsts->parted[rank] != NULL ? firsts->parted[rank]
           : firsts->dead[rank] != NULL ? firsts->dead[rank]
                                        : firsts->removed[rank];
}

static void changes_write(const struct trace_job *trace,
                          const struct session_firsts *firsts, FILE *file)
{
    bool any = false;
    fputs(",\n\"changes\":[", file);
    for (uint32_t rank = 0; rank < trace->rank_count; rank++) {
        const char *word;
        const struct trace_event *going = going_of(firsts, rank, &word);
        change_write(firsts->joined[rank], rank, "joined", &any, file);
        change_write(going, rank, word, &any, file);
    }
    fputs("]", file);
}

/* --- Sessions and sets ------------------------------------------------------------ */

static void sessions_write(const struct trace_job *trace,
                           const struct session_firsts *firsts, FILE *file)
{
    bool any = false;
    fputs(",\n\"sessions\":[", file);
    for (uint32_t number = 0; number < NUMBERS; number++) {
        const struct trace_event *event = firsts->sessions[number];
        if (event != NULL) {
            row_begin(file, &any);
            fprintf(file, "[%.3f,%u,", report_us(event->at_ns), number);
            json_text(file, event->text != NULL ? event->text : "");
            fputs(",", file);
            members_write(trace, event, file);
            fputs("]", file);
        }
    }
    fprintf(file, "],\"sessions_rest\":%" PRIu64,
            firsts->sessions_rest > 0 ? firsts->sessions_rest - REPORT_SESSIONS_MAX
                                      : 0);
}

/* When it became invalid, and why: a word, and of whom; [] if it did not. */
static void end_write(const struct trace_job *trace,
                      const struct session_firsts *firsts, uint32_t index, FILE *file)
{
    const struct trace_event *set = firsts->sets[index];
    const struct trace_event *end = firsts->deleted[index];
    const char *why = "deleted";
    int64_t whom = -1;
    for (uint32_t rank = 0; rank < trace->rank_count; rank++) {
        const char *word;
        const struct trace_event *going = going_of(firsts, rank, &word);
        if (rank / 64 < set->word_count &&
            (set->words[rank / 64] >> rank % 64 & 1) != 0 && going != NULL &&
            (end == NULL || going->at_ns < end->at_ns)) {
            end = going;
            why = word;
            whom = rank;
        }
    }
    if (end != NULL) {
        fprintf(file, "[%.3f,\"%s\",%" PRId64 "]", report_us(end->at_ns), why, whom);
    } else {
        fputs("[]", file);
    }
}

static void sets_write(const struct trace_job *trace,
                       const struct session_firsts *firsts, FILE *file)
{
    bool any = false;
    fputs(",\n\"sets\":[", file);
    for (uint32_t index = 0; index < NUMBERS; index++) {
        const struct trace_event *event = firsts->sets[index];
        if (event != NULL) {
            row_begin(file, &any);
            fprintf(file, "[%.3f,%u,", report_us(event->at_ns), index);
            json_text(file, event->text != NULL ? event->text : "");
            fputs(",", file);
            members_write(trace, event, file);
            fputs(",", file);
            end_write(trace, firsts, index, file);
            fputs("]", file);
        }
    }
    fprintf(file, "],\"sets_rest\":%" PRIu64,
            firsts->sets_rest > 0 ? firsts->sets_rest - REPORT_SESSIONS_MAX : 0);
}

bool report_sessions_write(const struct trace_job *trace, FILE *file)
{
    const uint32_t ranks = trace->rank_count;
    struct session_firsts *firsts = calloc(1, sizeof(*firsts));
    const struct trace_event **lists = calloc(4 * (size_t)ranks, sizeof(*lists));
    const bool good = firsts != NULL && lists != NULL;
    if (good) {
        firsts->joined = lists;
        firsts->parted = lists + ranks;
        firsts->dead = lists + 2 * (size_t)ranks;
        firsts->removed = lists + 3 * (size_t)ranks;
        for (uint32_t r = 0; r < ranks; r++) {
            for (size_t i = 0; i < trace->ranks[r].event_count; i++) {
                firsts_take(firsts, ranks, &trace->ranks[r].events[i]);
            }
        }
        sessions_write(trace, firsts, file);
        changes_write(trace, firsts, file);
        sets_write(trace, firsts, file);
    }
    free((void *)lists);
    free(firsts);
    return good;
}
