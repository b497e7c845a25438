/* trace_texts.c - a trace as DOT, Paje, CSV and Prometheus text. */
#include "hashing/identity.h"
#include "node/explain/metrics.h"
#include "node/tools/json.h"
#include "node/tools/trace_export.h"
#include "proto/message.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Rows ------------------------------------------------------------------------- */

struct began {
    uint32_t run;
    int64_t start_ns;
};

static int compare_starts(const void *a, const void *b)
{
    const int64_t left = ((const struct began *)a)->start_ns;
    const int64_t right = ((const struct began *)b)->start_ns;
    return (left > right) - (left < right);
}

void export_rows_release(struct export_rows *rows)
{
    free(rows->of_run);
    free(rows->row_count);
    *rows = (struct export_rows){0};
}

/* The first row that is free when a run starts. */
static uint32_t row_take(int64_t *free_ns, uint32_t *count, const struct trace_run *run)
{
    uint32_t row = 0;
    while (row < *count && free_ns[row] > run->start_ns) {
        row++;
    }
    *count += row == *count;
    free_ns[row] = run->end_ns;
    return row;
}

bool export_rows_make(const struct trace_job *trace, struct export_rows *out)
{
    enum { ROWS_MAX = 1024 };
    struct began *began = calloc(trace->run_count + 1u, sizeof(*began));
    int64_t *free_ns = calloc((size_t)trace->rank_count * ROWS_MAX, sizeof(*free_ns));
    out->of_run = calloc(trace->run_count + 1u, sizeof(*out->of_run));
    out->row_count = calloc(trace->rank_count + 1u, sizeof(*out->row_count));
    const bool good = began && free_ns && out->of_run && out->row_count;
    for (uint32_t i = 0; good && i < trace->run_count; i++) {
        began[i] = (struct began){i, trace->runs[i].start_ns};
    }
    if (good) {
        qsort(began, trace->run_count, sizeof(*began), compare_starts);
    }
    for (uint32_t i = 0; good && i < trace->run_count; i++) {
        const struct trace_run *run = &trace->runs[began[i].run];
        uint32_t *count = &out->row_count[run->rank];
        if (run->start_ns != TRACE_NEVER && *count < ROWS_MAX) {
            out->of_run[began[i].run] =
                row_take(free_ns + (size_t)run->rank * ROWS_MAX, count, run);
        }
    }
    free(began);
    free(free_ns);
    if (!good) {
        export_rows_release(out);
    }
    return good;
}

/* --- Text ------------------------------------------------------------------------- */

/* What is no UTF-8 counts byte by byte, */
static size_t symbol_bytes(const char *text)
{
    const size_t bytes = utf8_bytes(text);
    return bytes > 0 ? bytes : 1;
}

/* and each becomes U+FFFD: a label that was cut within a letter would have a reader
 * take all of the file for another encoding. */
static void symbol_write(FILE *file, const char *text)
{
    const size_t bytes = utf8_bytes(text);
    if (bytes > 0) {
        fwrite(text, 1, bytes, file);
    } else {
        fputs("\xef\xbf\xbd", file);
    }
}

/* --- DOT -------------------------------------------------------------------------- */

/* In a quoted string graphviz takes a backslash for an escape and an ampersand for the
 * begin of an HTML entity. */
static void dot_text(FILE *file, const char *text)
{
    for (; *text; text += symbol_bytes(text)) {
        if (*text == '"' || *text == '\\') {
            putc('\\', file);
        }
        if (*text == '&') {
            fputs("&amp;", file);
        } else if ((unsigned char)*text < 0x20) {
            putc(' ', file);
        } else {
            symbol_write(file, text);
        }
    }
}

static bool is_divergent(const struct trace_job *trace, const struct trace_task *task)
{
    const uint32_t spawners = rankset_count(&task->spawners);
    return !(task->flags & MOOT__RECORD__FLAG__NESTED) && spawners > 0 &&
           spawners < trace->present_count;
}

bool export_dot(const struct model *model, FILE *file)
{
    static const char *const colours[] = {"#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6",
                                          "#fb9a99", "#ffff99", "#d9d9d9", "#ccebc5"};
    const struct trace_job *trace = model->trace;
    char name[200], ranks[64];
    fprintf(file, "digraph moot {\n  node [shape=box, style=filled];\n");
    for (uint32_t t = 0; t < trace->task_count; t++) {
        const struct trace_task *task = &trace->tasks[t];
        const bool ran = task->run != TRACE_NONE;
        fprintf(file, "  t%u [label=\"", t);
        dot_text(file, trace_task_name(trace, t, name, sizeof(name)));
        if (ran) {
            fprintf(file, "\\nrank %u, %.3f ms", trace->runs[task->run].rank,
                    (double)model_ran_ns(trace, t) / 1e6);
        }
        if (is_divergent(trace, task)) {
            rankset_format(&task->spawners, ranks, sizeof(ranks));
            fprintf(file, "\\nspawned by %s", ranks);
        }
        fprintf(file, "\", fillcolor=\"%s\"%s];\n",
                ran ? colours[trace->runs[task->run].rank % 8] : "#ffffff",
                is_divergent(trace, task) ? ", penwidth=2, color=red" : "");
        for (uint32_t i = 0; i < task->input_count; i++) {
            fprintf(file, "  t%u -> t%u%s;\n", task->inputs[i], t,
                    i >= task->input_count - task->after_count ? " [style=dashed]"
                                                               : "");
        }
        if (task->parent != TRACE_NONE) {
            fprintf(file, "  t%u -> t%u [style=dotted];\n", task->parent, t);
        }
    }
    fprintf(file, "}\n");
    return true;
}

/* --- CSV -------------------------------------------------------------------------- */

/* A spreadsheet would compute what begins like a formula, quoted or not: it gets an
 * apostrophe, which has it taken for text. */
static void csv_text(FILE *file, const char *text)
{
    putc('"', file);
    if (*text && strchr("=+-@\t\r", *text)) {
        putc('\'', file);
    }
    for (; *text; text += symbol_bytes(text)) {
        if (*text == '"') {
            putc('"', file);
        }
        symbol_write(file, text);
    }
    fputs("\",", file);
}

/* A time in ns, or nothing. */
static void csv_time(FILE *file, int64_t ns)
{
    if (ns != TRACE_NEVER) {
        fprintf(file, "%" PRId64, ns);
    }
    putc(',', file);
}

static void csv_task(const struct trace_job *trace, const struct trace_task *task,
                     FILE *file)
{
    static const struct trace_run none = {
        .start_ns = TRACE_NEVER, .ready_ns = TRACE_NEVER, .end_ns = TRACE_NEVER};
    const struct trace_run *run =
        task->run != TRACE_NONE ? &trace->runs[task->run] : &none;
    char digits[MOOT_HASH_TEXT_BYTES], ranks[1024];
    rankset_format(&task->spawners, ranks, sizeof(ranks));
    fprintf(file, "%s,", hash_format(&task->hash, digits));
    csv_text(file, task->kernel);
    csv_text(file, task->label);
    csv_text(file, task->site);
    csv_text(file, ranks);
    csv_time(file, task->spawned_ns);
    if (task->run != TRACE_NONE) {
        fprintf(file, "%u", run->rank);
    }
    putc(',', file);
    csv_time(file, run->ready_ns);
    csv_time(file, run->start_ns);
    csv_time(file, run->end_ns);
    if (run->end_ns != TRACE_NEVER) {
        fprintf(file, "%" PRId32, run->code);
    } else if (task->verdict != 0) {
        fprintf(file, "%" PRId32, task->verdict);
    }
    putc(',', file);
    csv_time(file, task->asked_ns);
    csv_time(file, task->voted_ns);
    if (task->voted_ns != TRACE_NEVER) {
        fprintf(file, "%s,%u,%u,", evidence_name((enum evidence)task->evidence),
                task->chair, task->winner);
    } else {
        fprintf(file, ",,,");
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        hash_format(&trace->tasks[task->inputs[i]].hash, digits);
        fprintf(file, "%s%s", i > 0 ? " " : "", digits);
    }
    fprintf(file, "\r\n");
}

bool export_csv(const struct model *model, FILE *file)
{
    fprintf(file, "hash,kernel,label,site,spawned_by,spawned_ns,rank,ready_ns,start_ns,"
                  "end_ns,code,asked_ns,voted_ns,evidence,chair,winner,inputs\r\n");
    for (uint32_t t = 0; t < model->trace->task_count; t++) {
        csv_task(model->trace, &model->trace->tasks[t], file);
    }
    return true;
}

/* --- Paje ------------------------------------------------------------------------- */

static const char paje_head[] = "%EventDef PajeDefineContainerType 0\n"
                                "% Alias string\n% Type string\n% Name string\n"
                                "%EndEventDef\n"
                                "%EventDef PajeDefineStateType 1\n"
                                "% Alias string\n% Type string\n% Name string\n"
                                "%EndEventDef\n"
                                "%EventDef PajeDefineEntityValue 2\n"
                                "% Alias string\n% Type string\n% Name string\n"
                                "% Color color\n%EndEventDef\n"
                                "%EventDef PajeCreateContainer 3\n"
                                "% Time date\n% Alias string\n% Type string\n"
                                "% Container string\n% Name string\n%EndEventDef\n"
                                "%EventDef PajeDestroyContainer 4\n"
                                "% Time date\n% Type string\n% Name string\n"
                                "%EndEventDef\n"
                                "%EventDef PajeSetState 5\n"
                                "% Time date\n% Type string\n% Container string\n"
                                "% Value string\n%EndEventDef\n"
                                "0 JOB 0 \"job\"\n0 RANK JOB \"rank\"\n"
                                "1 STATE RANK \"state\"\n"
                                "2 run STATE \"run\" \"0.2 0.6 0.2\"\n"
                                "2 vote STATE \"wait for a vote\" \"0.9 0.6 0.0\"\n"
                                "2 data STATE \"wait for data\" \"0.3 0.5 0.9\"\n"
                                "2 own STATE \"program or moot\" \"0.6 0.6 0.6\"\n"
                                "2 idle STATE \"idle\" \"0.9 0.9 0.9\"\n";

/* The next segment of a rank, by time over all ranks, as Paje wants it. */
static uint32_t earliest(const struct model *model, const size_t *next)
{
    uint32_t best = TRACE_NONE;
    int64_t best_ns = TRACE_NEVER;
    for (uint32_t r = 0; r < model->trace->rank_count; r++) {
        const struct model_rank *rank = &model->ranks[r];
        if (next[r] < rank->count && rank->segments[next[r]].from_ns < best_ns) {
            best_ns = rank->segments[next[r]].from_ns;
            best = r;
        }
    }
    return best;
}

bool export_paje(const struct model *model, FILE *file)
{
    static const char *const states[STATES] = {"run", "vote", "data", "own", "idle"};
    const uint32_t ranks = model->trace->rank_count;
    const double end_s = (double)model->trace->makespan_ns / 1e9;
    size_t *next = calloc(ranks, sizeof(*next));
    if (next == NULL) {
        return false;
    }
    fputs(paje_head, file);
    fprintf(file, "3 0.000000000 job JOB 0 \"moot\"\n");
    for (uint32_t r = 0; r < ranks; r++) {
        fprintf(file, "3 0.000000000 r%u RANK job \"rank %u\"\n", r, r);
    }
    for (uint32_t r; (r = earliest(model, next)) != TRACE_NONE; next[r]++) {
        const struct model_segment *segment = &model->ranks[r].segments[next[r]];
        fprintf(file, "5 %.9f STATE r%u %s\n", (double)segment->from_ns / 1e9, r,
                states[segment->state]);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        fprintf(file, "4 %.9f RANK r%u\n", end_s, r);
    }
    fprintf(file, "4 %.9f JOB job\n", end_s);
    free(next);
    return true;
}

/* --- Prometheus ------------------------------------------------------------------- */

bool export_prometheus(const struct model *model, FILE *file)
{
    const struct trace_job *trace = model->trace;
    struct metrics_rank *ranks = calloc(trace->rank_count, sizeof(*ranks));
    size_t count = 0;
    for (uint32_t r = 0; ranks && r < trace->rank_count; r++) {
        if (trace->ranks[r].figure_count > 0) {
            ranks[count++] = (struct metrics_rank){r, trace->ranks[r].figures,
                                                   trace->ranks[r].figure_count,
                                                   trace->ranks[r].close_code};
        }
    }
    if (ranks == NULL) {
        return false;
    }
    metrics_print(file, ranks, count);
    free(ranks);
    return true;
}
