/* report_lists.c - see report_data.h: why ranks waited, what was ready, the critical
 * path, votes, and what befell ranks. */
#include "consensus/faultplan/faultplan.h"
#include "node/config/knobs.h"
#include "node/tools/json.h"
#include "node/tools/report_data.h"
#include "proto/error.h"
#include "proto/message.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void causes_write(const struct model *model, FILE *file)
{
    double rest_ns = 0;
    uint64_t rest = 0;
    fputs(",\n\"causes\":[", file);
    for (size_t i = 0; i < model->cause_count; i++) {
        const struct model_cause *cause = &model->causes[i];
        if (i >= REPORT_CAUSES_MAX) {
            rest_ns += cause->total_ns;
            rest += cause->count;
            continue;
        }
        fprintf(file, "%s[%d,", i > 0 ? "," : "", (int)cause->state);
        json_text(file, cause->kernel);
        putc(',', file);
        json_text(file, cause->site);
        fprintf(file, ",%.3f,%" PRIu64 "]", cause->total_ns / 1e3, cause->count);
    }
    fprintf(file, "],\"causes_rest\":[%.3f,%" PRIu64 "]", rest_ns / 1e3, rest);
}

/* --- Ready tasks ------------------------------------------------------------------ */

/* The mean number of ready tasks in each slot of time, all ranks together. */
static bool ready_write(const struct model *model, FILE *file)
{
    const struct trace_job *trace = model->trace;
    int64_t first_ns = trace->makespan_ns;
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        if (trace->ranks[r].ready_ns < first_ns) {
            first_ns = trace->ranks[r].ready_ns;
        }
    }
    const int64_t slot_ns = (trace->makespan_ns - first_ns) / REPORT_READY_POINTS + 1;
    double *sums = calloc(REPORT_READY_POINTS, sizeof(*sums));
    fprintf(file, ",\n\"ready_from\":%.3f,\"ready\":[", report_us(first_ns));
    for (uint32_t i = 0; sums && i < trace->run_count; i++) {
        const struct trace_run *run = &trace->runs[i];
        const int64_t until_ns = run->start_ns != TRACE_NEVER ? run->start_ns
                                 : run->end_ns != TRACE_NEVER
                                     ? run->end_ns
                                     : trace->ranks[run->rank].last_ns;
        int64_t at_ns = run->ready_ns > first_ns ? run->ready_ns : first_ns;
        while (at_ns < until_ns) {
            const int64_t slot = (at_ns - first_ns) / slot_ns;
            const int64_t slot_end_ns = first_ns + (slot + 1) * slot_ns;
            const int64_t end_ns = slot_end_ns < until_ns ? slot_end_ns : until_ns;
            if (slot < REPORT_READY_POINTS) {
                sums[slot] += (double)(end_ns - at_ns);
            }
            at_ns = end_ns;
        }
    }
    for (int i = 0; sums && i < REPORT_READY_POINTS; i++) {
        fprintf(file, "%s%.3g", i > 0 ? "," : "", sums[i] / (double)slot_ns);
    }
    fputs("]", file);
    free(sums);
    return sums != NULL;
}

/* --- The critical path ------------------------------------------------------------ */

static void path_row_write(const struct trace_job *trace, uint32_t task, FILE *file)
{
    char name[200];
    uint32_t last;
    const struct trace_task *each = &trace->tasks[task];
    const struct trace_run *run = &trace->runs[each->run];
    const int64_t inputs_ns = model_inputs_ns(trace, task, &last);
    const int64_t had_ns = last != TRACE_NONE ? inputs_ns : each->spawned_ns;
    const int64_t began_ns = run->start_ns != TRACE_NEVER ? run->start_ns : run->end_ns;
    const int64_t gap_ns = run->start_ns != TRACE_NEVER && had_ns != TRACE_NEVER
                               ? run->start_ns - had_ns
                               : 0;
    const bool voted = each->voted_ns != TRACE_NEVER;
    putc('[', file);
    json_text(file, trace_task_name(trace, task, name, sizeof(name)));
    putc(',', file);
    json_text(file, each->site);
    fprintf(file, ",%u,%.3f,%.3f,%.3f,", run->rank, report_us(began_ns),
            report_us(model_ran_ns(trace, task)), report_us(gap_ns));
    json_text(file, voted ? evidence_name((enum evidence)each->evidence) : "");
    putc(']', file);
}

static void path_write(const struct model *model, FILE *file)
{
    fprintf(file, ",\n\"path_count\":%zu,\"path\":[", model->path_count);
    for (size_t i = 0; i < model->path_count && i < REPORT_PATH_MAX; i++) {
        fputs(i > 0 ? ",\n" : "", file);
        path_row_write(model->trace, model->path[i], file);
    }
    fputs("]", file);
}

/* --- What failed ------------------------------------------------------------------ */

/* Runs of kernels, and ends of arrays, that ended with an error:
 * [name, rank, when, error]. */
static void failures_write(const struct trace_job *trace, FILE *file)
{
    uint64_t count = 0;
    char name[200];
    fputs(",\n\"failures\":[", file);
    for (uint32_t i = 0; i < trace->run_count; i++) {
        const struct trace_run *run = &trace->runs[i];
        if (run->end_ns == TRACE_NEVER || run->code == 0 ||
            count++ >= REPORT_FAILURES_MAX) {
            continue;
        }
        fputs(count > 1 ? ",\n[" : "[", file);
        json_text(file, trace_run_name(trace, run, name, sizeof(name)));
        fprintf(file, ",%u,%.3f,", run->rank, report_us(run->end_ns));
        json_text(file, error_name(run->code));
        putc(']', file);
    }
    fprintf(file, "],\"failure_count\":%" PRIu64, count);
}

/* --- Votes ------------------------------------------------------------------------ */

static void votes_write(const struct model *model, FILE *file)
{
    const struct trace_job *trace = model->trace;
    uint64_t by[EVIDENCE_END] = {0}, count = 0;
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        for (size_t i = 0; i < trace->ranks[r].event_count; i++) {
            const struct trace_event *event = &trace->ranks[r].events[i];
            if (event->kind == MOOT__RECORD__KIND__VOTE &&
                event->value < EVIDENCE_END) {
                by[event->value]++;
            }
        }
    }
    fputs(",\n\"evidence\":[", file);
    const char *join = "";
    for (int i = 1; i < EVIDENCE_END; i++) {
        if (by[i] > 0) {
            fprintf(file, "%s[\"%s\",%" PRIu64 "]", join,
                    evidence_name((enum evidence)i), by[i]);
            join = ",";
        }
    }
    fputs("],\"votes\":[", file);
    join = "";
    for (uint32_t t = 0; t < trace->task_count; t++) {
        const struct trace_task *task = &trace->tasks[t];
        if (task->voted_ns == TRACE_NEVER || count++ >= REPORT_VOTES_MAX) {
            continue;
        }
        const int64_t took_ns =
            task->asked_ns < task->voted_ns ? task->voted_ns - task->asked_ns : 0;
        fprintf(file, "%s%.3f,%.3f,%u,%u,%u", join, report_us(task->voted_ns),
                report_us(took_ns), task->evidence, task->chair, task->winner);
        join = ",";
    }
    fprintf(file, "],\"voted\":%" PRIu64 ",\"evidence_names\":[\"\"", count);
    for (int i = 1; i < EVIDENCE_END; i++) {
        fprintf(file, ",\"%s\"", evidence_name((enum evidence)i));
    }
    fputs("]", file);
}

/* --- What befell ranks ------------------------------------------------------------ */

static void event_write(const struct trace_job *trace, uint32_t rank,
                        const struct trace_event *event, FILE *file)
{
    char name[200] = "";
    const bool about_peer = event->kind == MOOT__RECORD__KIND__DEAD ||
                            event->kind == MOOT__RECORD__KIND__REMOVED ||
                            event->kind == MOOT__RECORD__KIND__JOINED ||
                            event->kind == MOOT__RECORD__KIND__PARTED ||
                            event->kind == MOOT__RECORD__KIND__DIFFERS;
    if (event->kind == MOOT__RECORD__KIND__VERDICT) {
        trace_task_name(trace, event->task, name, sizeof(name));
    }
    fprintf(file, "[%.3f,%u,", report_us(event->at_ns), rank);
    json_text(file, trace_event_word(event->kind));
    fprintf(file, ",%" PRIu64 ",", about_peer ? event->peer : event->value);
    json_text(file, event->text ? event->text : name);
    putc(',', file);
    json_text(file, event->code != 0 ? error_name(event->code) : "");
    putc(']', file);
}

/* The page has lists of these. */
static bool is_of_sessions(Moot__Record__Kind kind)
{
    return kind == MOOT__RECORD__KIND__SESSION || kind == MOOT__RECORD__KIND__SET ||
           kind == MOOT__RECORD__KIND__SET_DELETED;
}

/* Likewise: [when, rank, name or why, ms, error]. */
static void snapshots_write(const struct trace_job *trace, FILE *file)
{
    uint64_t count = 0;
    fputs(",\n\"snapshots\":[", file);
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        for (size_t i = 0; i < trace->ranks[r].event_count; i++) {
            const struct trace_event *event = &trace->ranks[r].events[i];
            if (event->kind != MOOT__RECORD__KIND__SNAPSHOT ||
                count++ >= REPORT_EVENTS_MAX) {
                continue;
            }
            fprintf(file, "%s[%.3f,%u,", count > 1 ? ",\n" : "",
                    report_us(event->at_ns), r);
            json_text(file, event->text ? event->text : "");
            fprintf(file, ",%.3f,", report_us((int64_t)event->value));
            json_text(file, event->code != 0 ? error_name(event->code) : "");
            putc(']', file);
        }
    }
    fprintf(file, "],\"snapshot_count\":%" PRIu64, count);
}

/* The most that the ranks' last figures say of a key. */
static uint64_t figure_most(const struct trace_job *trace, const char *key)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        const struct trace_rank *rank = &trace->ranks[r];
        for (size_t i = 0; i < rank->figure_count; i++) {
            if (strcmp(rank->figures[i].key, key) == 0 &&
                rank->figures[i].value > most) {
                most = rank->figures[i].value;
            }
        }
    }
    return most;
}

/* Plus 1; 0: no step. */
static void agreed_write(const struct trace_job *trace, FILE *file)
{
    fprintf(file, ",\"agreed\":%" PRIu64, figure_most(trace, "agreed_step"));
}

static void events_write(const struct trace_job *trace, FILE *file)
{
    uint64_t count = 0;
    fputs(",\n\"events\":[", file);
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        for (size_t i = 0; i < trace->ranks[r].event_count; i++) {
            const struct trace_event *event = &trace->ranks[r].events[i];
            if (trace_event_word(event->kind) == NULL || is_of_sessions(event->kind) ||
                event->kind == MOOT__RECORD__KIND__SNAPSHOT ||
                count++ >= REPORT_EVENTS_MAX) {
                continue;
            }
            fputs(count > 1 ? ",\n" : "", file);
            event_write(trace, r, event, file);
        }
    }
    fprintf(file, "],\"event_count\":%" PRIu64, count);
}

/* The rules of the plan that the run had, and how often each fired by the records. */
static void faults_write(const struct trace_job *trace, FILE *file)
{
    const char *text = "";
    struct plan *plan = NULL;
    struct plan_error error;
    for (size_t i = 0; i < trace->knob_count; i++) {
        if (strcmp(trace->knobs[i].name, "MOOT_FAULTS") == 0) {
            text = trace->knobs[i].value;
        }
    }
    fputs(",\n\"faults\":[", file);
    if (*text != '\0' && plan_parse(text, &plan, &error) == MOOT_OK) {
        for (uint32_t rule = 0; rule < plan->rule_count; rule++) {
            uint64_t fired = 0;
            char word[256];
            for (uint32_t r = 0; r < trace->rank_count; r++) {
                for (size_t i = 0; i < trace->ranks[r].event_count; i++) {
                    fired +=
                        trace->ranks[r].events[i].kind == MOOT__RECORD__KIND__FAULT &&
                        trace->ranks[r].events[i].value == rule;
                }
            }
            plan_rule_format(&plan->rules[rule], word, sizeof(word));
            fputs(rule > 0 ? ",[" : "[", file);
            json_text(file, word);
            fprintf(file, ",%" PRIu64 "]", fired);
        }
        plan_free(plan);
    }
    fputs("]", file);
}

bool report_lists_write(const struct model *model, FILE *file)
{
    causes_write(model, file);
    const bool good = ready_write(model, file);
    path_write(model, file);
    failures_write(model->trace, file);
    votes_write(model, file);
    events_write(model->trace, file);
    faults_write(model->trace, file);
    snapshots_write(model->trace, file);
    agreed_write(model->trace, file);
    return good;
}
