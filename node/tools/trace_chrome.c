/* trace_chrome.c - a trace as Chrome's Trace Event Format, which Perfetto reads, too.
 *
 * A rank is a process.  Its threads: the program, whose waits are slices; one per
 * kernel that it ran at a time, of a task or of an array's element; and the wire, where
 * messages are slices of no length that are joined by flows.  A vote is an async span
 * at its chair, from the first motion for the task to the vote.  Faults, deaths, views,
 * failures and stalls are instants of the rank that recorded them.
 */
#include "node/tools/json.h"
#include "node/tools/trace_export.h"
#include "proto/error.h"
#include "proto/message.h"
#include <inttypes.h>
#include <stdlib.h>

#define KIND(name) MOOT__RECORD__KIND__##name

enum { TID_PROGRAM = 0, TID_KERNELS = 1, TID_WIRE = 1000000 };

static double us(int64_t ns) { return (double)ns / 1e3; }

static void name_thread(FILE *file, uint32_t rank, uint32_t tid, const char *name)
{
    fprintf(file,
            ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,"
            "\"args\":{\"name\":\"%s\"}}",
            rank, tid, name);
}

static void ranks_write(const struct trace_job *trace, const struct export_rows *rows,
                        FILE *file)
{
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        char name[64];
        fprintf(file,
                "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,"
                "\"args\":{\"name\":\"rank %u%s\"}}",
                r > 0 ? ",\n" : "", r, r, trace->ranks[r].present ? "" : " (no trace)");
        name_thread(file, r, TID_PROGRAM, "program");
        name_thread(file, r, TID_WIRE, "wire");
        for (uint32_t k = 0; k < rows->row_count[r]; k++) {
            snprintf(name, sizeof(name), "kernels %u", k);
            name_thread(file, r, TID_KERNELS + k, name);
        }
    }
}

static void slice_begin(FILE *file, const char *name, const char *category,
                        uint32_t rank, uint32_t tid, int64_t from_ns, int64_t to_ns)
{
    fprintf(file, ",\n{\"ph\":\"X\",\"name\":");
    json_text(file, name);
    fprintf(file,
            ",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
            category, rank, tid, us(from_ns), us(to_ns - from_ns));
}

static void runs_write(const struct trace_job *trace, const struct export_rows *rows,
                       FILE *file)
{
    char name[200];
    for (uint32_t i = 0; i < trace->run_count; i++) {
        const struct trace_run *run = &trace->runs[i];
        const struct trace_task *task = &trace->tasks[run->task];
        if (run->start_ns == TRACE_NEVER) {
            continue;
        }
        const int64_t end_ns =
            run->end_ns != TRACE_NEVER ? run->end_ns : trace->ranks[run->rank].last_ns;
        trace_run_name(trace, run, name, sizeof(name));
        slice_begin(file, *task->label ? task->label : task->kernel, "task", run->rank,
                    TID_KERNELS + rows->of_run[i], run->start_ns, end_ns);
        json_pair(file, "task", name);
        putc(',', file);
        json_pair(file, "site", task->site);
        if (run->element != 0) {
            fprintf(file, ",\"element\":%" PRIu64, run->element - 1);
        }
        fprintf(file, ",\"ended\":%s,\"code\":%" PRId32 "}}",
                run->end_ns != TRACE_NEVER ? "true" : "false", run->code);
    }
}

static void waits_write(const struct model *model, FILE *file)
{
    char name[200];
    for (uint32_t r = 0; r < model->trace->rank_count; r++) {
        for (size_t i = 0; i < model->ranks[r].count; i++) {
            const struct model_segment *segment = &model->ranks[r].segments[i];
            if (segment->state != STATE_VOTE && segment->state != STATE_DATA) {
                continue;
            }
            slice_begin(file,
                        segment->state == STATE_VOTE ? "wait for a vote"
                                                     : "wait for data",
                        "wait", r, TID_PROGRAM, segment->from_ns, segment->to_ns);
            json_pair(file, "task",
                      trace_task_name(model->trace, segment->task, name, sizeof(name)));
            fprintf(file, "}}");
        }
    }
}

static void votes_write(const struct trace_job *trace, FILE *file)
{
    for (uint32_t t = 0; t < trace->task_count; t++) {
        const struct trace_task *task = &trace->tasks[t];
        if (task->voted_ns == TRACE_NEVER) {
            continue;
        }
        const int64_t asked_ns =
            task->asked_ns < task->voted_ns ? task->asked_ns : task->voted_ns;
        for (int end = 0; end < 2; end++) {
            fprintf(file,
                    ",\n{\"ph\":\"%s\",\"cat\":\"vote\",\"name\":\"vote\",\"id\":%u,"
                    "\"pid\":%u,\"tid\":0,\"ts\":%.3f,\"args\":{\"evidence\":\"%s\","
                    "\"winner\":%u}}",
                    end ? "e" : "b", t, task->chair,
                    us(end ? task->voted_ns : asked_ns),
                    evidence_name((enum evidence)task->evidence), task->winner);
        }
    }
}

static void messages_write(const struct trace_job *trace, FILE *file)
{
    for (size_t i = 0; i < trace->message_count; i++) {
        const struct trace_message *each = &trace->messages[i];
        const char *name = each->kind == MOOT__RECORD__KIND__RESULT_SENT   ? "result"
                           : each->kind == MOOT__RECORD__KIND__MOTION_SENT ? "motion"
                                                                           : "decision";
        for (int end = 0; end < 2; end++) {
            const uint32_t rank = end ? each->to : each->from;
            const int64_t at_ns = end ? each->received_ns : each->sent_ns;
            slice_begin(file, name, "message", rank, TID_WIRE, at_ns, at_ns + 1000);
            fprintf(file, "\"bytes\":%" PRIu64 "}}", each->bytes);
            fprintf(
                file,
                ",\n{\"ph\":\"%s\",%s\"cat\":\"message\",\"name\":\"%s\",\"id\":%zu,"
                "\"pid\":%u,\"tid\":%d,\"ts\":%.3f}",
                end ? "f" : "s", end ? "\"bp\":\"e\"," : "", name, i, rank, TID_WIRE,
                us(at_ns));
        }
    }
}

/* "sees the end of rank 2", "enters view 2", "fault of rule 1" */
static char *event_name(const struct trace_event *event, char *text, size_t size)
{
    const char *word = trace_event_word(event->kind);
    if (event->kind == KIND(DEAD) || event->kind == KIND(REMOVED) ||
        event->kind == KIND(JOINED) || event->kind == KIND(PARTED) ||
        event->kind == KIND(DIFFERS)) {
        snprintf(text, size, "%s rank %u", word, event->peer);
    } else if (event->kind == KIND(SNAPSHOT)) {
        snprintf(text, size, "%s %s", word,
                 event->code != 0      ? "fails"
                 : event->text != NULL ? event->text
                                       : "");
    } else if (event->kind == KIND(SET) || event->kind == KIND(SET_DELETED)) {
        snprintf(text, size, "%s %s", word, event->text != NULL ? event->text : "");
    } else if (event->kind == KIND(VIEW) || event->kind == KIND(SESSION)) {
        snprintf(text, size, "%s %" PRIu64, word, event->value);
    } else if (event->kind == KIND(FAULT)) {
        snprintf(text, size, "%s of rule %" PRIu64, word, event->value + 1);
    } else {
        snprintf(text, size, "%s", word);
    }
    return text;
}

static void event_write(const struct trace_job *trace, uint32_t rank,
                        const struct trace_event *event, FILE *file)
{
    char name[200];
    fputs(",\n{\"ph\":\"i\",\"s\":\"p\",\"cat\":\"event\",\"name\":", file);
    json_text(file, event_name(event, name, sizeof(name)));
    fprintf(file, ",\"pid\":%u,\"tid\":%d,\"ts\":%.3f,\"args\":{", rank, TID_PROGRAM,
            us(event->at_ns));
    json_pair(file, "text", event->text ? event->text : "");
    putc(',', file);
    json_pair(file, "task", trace_task_name(trace, event->task, name, sizeof(name)));
    putc(',', file);
    json_pair(file, "error", event->code != 0 ? error_name(event->code) : "");
    fputs("}}", file);
}

static void events_write(const struct trace_job *trace, FILE *file)
{
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        for (size_t i = 0; i < trace->ranks[r].event_count; i++) {
            if (trace_event_word(trace->ranks[r].events[i].kind)) {
                event_write(trace, r, &trace->ranks[r].events[i], file);
            }
        }
    }
}

bool export_chrome(const struct model *model, FILE *file)
{
    struct export_rows rows;
    if (!export_rows_make(model->trace, &rows)) {
        return false;
    }
    fprintf(file, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    ranks_write(model->trace, &rows, file);
    runs_write(model->trace, &rows, file);
    waits_write(model, file);
    votes_write(model->trace, file);
    messages_write(model->trace, file);
    events_write(model->trace, file);
    fprintf(file, "\n]}\n");
    export_rows_release(&rows);
    return true;
}
