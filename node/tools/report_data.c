/* report_data.c - see report_data.h: the verdict, the timeline, and what was run. */
#include "node/tools/report_data.h"

#include "node/tools/json.h"
#include "proto/error.h"
#include "proto/message.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double report_us(int64_t ns) { return (double)ns / 1e3; }

/* The end of an array, which is no run of a kernel. */
static bool is_array_end(const struct trace_job *trace, const struct trace_run *run)
{
    return run->element == 0 &&
           hash_has(&trace->tasks[run->task].hash, MOOT_HASH_ARRAY);
}

/* --- The verdict ------------------------------------------------------------------ */

static void verdict_write(const struct model *model, FILE *file)
{
    const struct trace_job *trace = model->trace;
    uint64_t dead = 0, removed = 0, ran = 0, elements = 0, found = 0, failed = 0,
             whole = 0, spawned = 0;
    int32_t code = 0;
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        const struct trace_rank *rank = &trace->ranks[r];
        dead += rank->dead_ns != TRACE_NEVER && rank->is_dead;
        removed += rank->dead_ns != TRACE_NEVER && !rank->is_dead;
        whole += rank->whole;
        code = rank->close_code != 0 ? rank->close_code : code;
    }
    for (uint32_t i = 0; i < trace->run_count; i++) {
        ran += trace->runs[i].start_ns != TRACE_NEVER;
        elements +=
            trace->runs[i].start_ns != TRACE_NEVER && trace->runs[i].element != 0;
        found += trace->runs[i].found;
        failed += trace->runs[i].end_ns != TRACE_NEVER && trace->runs[i].code != 0 &&
                  !is_array_end(trace, &trace->runs[i]);
    }
    for (uint32_t t = 0; t < trace->task_count; t++) {
        spawned += trace->tasks[t].spawned_ns != TRACE_NEVER;
    }
    fprintf(file,
            "\"verdict\":{\"ranks\":%u,\"present\":%u,\"whole\":%" PRIu64
            ",\"makespan\":%.3f,\"path\":%.3f,\"work\":%.3f,\"idle\":%.6f,"
            "\"tasks\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"elements\":%" PRIu64
            ",\"found\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"votes\":%" PRIu64
            ",\"dead\":%" PRIu64 ",\"removed\":%" PRIu64 ",\"stalls\":%" PRIu64
            ",\"faults\":%" PRIu64 ",\"motions\":%" PRIu64 ",\"backward\":%" PRIu64
            ",\"timeout\":%.3f,",
            trace->rank_count, trace->present_count, whole,
            report_us(trace->makespan_ns), model->path_ns / 1e3, model->work_ns / 1e3,
            model->idle_share, spawned, ran, elements, found, failed,
            trace_count(trace, MOOT__RECORD__KIND__VOTE), dead, removed,
            trace_count(trace, MOOT__RECORD__KIND__STALL),
            trace_count(trace, MOOT__RECORD__KIND__FAULT),
            trace_count(trace, MOOT__RECORD__KIND__MOTION_SENT), trace->backward,
            report_us((int64_t)trace->vote_timeout_ns));
    json_pair(file, "error", code != 0 ? error_name(code) : "");
    fputs("}", file);
}

/* --- Ranks ------------------------------------------------------------------------ */

static void suspicions_write(const struct trace_job *trace, uint32_t rank, FILE *file)
{
    const char *join = "";
    fputs(",\"suspected\":[", file);
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        const struct trace_rank *peer = &trace->ranks[r];
        int64_t since_ns = TRACE_NEVER;
        for (size_t i = 0; i <= peer->event_count && rank < 64; i++) {
            const bool end = i == peer->event_count;
            if (!end && peer->events[i].kind != MOOT__RECORD__KIND__SUSPECTS) {
                continue;
            }
            const bool now = !end && (peer->events[i].value >> rank & 1) != 0;
            const int64_t at_ns = end ? peer->last_ns : peer->events[i].at_ns;
            if (now && since_ns == TRACE_NEVER) {
                since_ns = at_ns;
            } else if (!now && since_ns != TRACE_NEVER) {
                fprintf(file, "%s[%.3f,%.3f,%u]", join, report_us(since_ns),
                        report_us(at_ns), r);
                join = ",";
                since_ns = TRACE_NEVER;
            }
        }
    }
    fputs("]", file);
}

static void rank_write(const struct model *model, uint32_t number, FILE *file)
{
    const struct trace_rank *rank = &model->trace->ranks[number];
    const struct model_rank *each = &model->ranks[number];
    fprintf(file, "%s{\"present\":%s,\"whole\":%s,\"torn\":%" PRIu64 ",",
            number > 0 ? ",\n" : "", rank->present ? "true" : "false",
            rank->whole ? "true" : "false", rank->torn_bytes);
    json_pair(file, "unread", rank->present ? "" : rank->unread);
    putc(',', file);
    json_pair(file, "host", rank->host_name);
    putc(',', file);
    json_pair(file, "version", rank->version);
    putc(',', file);
    json_pair(file, "compiler", rank->compiler);
    putc(',', file);
    json_pair(file, "error", rank->close_code != 0 ? error_name(rank->close_code) : "");
    fprintf(file,
            ",\"opened\":%.3f,\"uid\":\"%016" PRIx64 "\",\"pid\":%" PRIu64
            ",\"wire\":%u,\"offset\":%.3f,\"first\":%.3f,\"last\":%.3f",
            report_us(rank->ready_ns != TRACE_NEVER ? rank->ready_ns : 0), rank->uid,
            rank->pid, rank->wire_version, report_us(rank->offset_ns),
            report_us(rank->first_ns), report_us(rank->last_ns));
    if (rank->dead_ns != TRACE_NEVER) {
        fprintf(file, ",\"lost\":%.3f,\"died\":%s", report_us(rank->dead_ns),
                rank->is_dead ? "true" : "false");
    }
    suspicions_write(model->trace, number, file);
    fprintf(file, ",\"totals\":[%.3f,%.3f,%.3f,%.3f,%.3f]}",
            report_us(each->total_ns[STATE_RUN]), report_us(each->total_ns[STATE_VOTE]),
            report_us(each->total_ns[STATE_DATA]), report_us(each->total_ns[STATE_OWN]),
            report_us(each->total_ns[STATE_IDLE]));
}

static void ranks_write(const struct model *model, FILE *file)
{
    fputs(",\n\"ranks\":[", file);
    for (uint32_t r = 0; r < model->trace->rank_count; r++) {
        rank_write(model, r, file);
    }
    fputs("]", file);
}

/* --- The timeline ----------------------------------------------------------------- */

static size_t segment_count(const struct model *model)
{
    size_t count = 0;
    for (uint32_t r = 0; r < model->trace->rank_count; r++) {
        count += model->ranks[r].count;
    }
    return count;
}

/* The names of the tasks that are drawn; of a rank alone whose peers left no trace,
 * most are not.  `shown` has them in the order of their numbers on the page. */
static void names_write(const struct trace_job *trace, const uint32_t *shown,
                        uint32_t count, FILE *file)
{
    char name[200];
    fputs("],\n\"names\":[", file);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i > 0 ? "," : "", file);
        json_text(file, trace_task_name(trace, shown[i], name, sizeof(name)));
    }
    fputs("]", file);
}

/* Kernels and what was between them, one by one. */
static bool segments_write(const struct model *model, FILE *file)
{
    const uint32_t tasks = model->trace->task_count;
    uint32_t *number = calloc(tasks + 1u, sizeof(*number)); /* plus 1; 0: not shown */
    uint32_t *shown = calloc(tasks + 1u, sizeof(*shown)), count = 0;
    const bool good = number != NULL && shown != NULL;
    fputs(",\n\"slot\":0,\"timeline\":[", file);
    for (uint32_t r = 0; good && r < model->trace->rank_count; r++) {
        const struct model_rank *rank = &model->ranks[r];
        fprintf(file, "%s[", r > 0 ? ",\n" : "");
        const char *join = "";
        for (size_t i = 0; i < rank->count; i++) {
            const struct model_segment *segment = &rank->segments[i];
            if (segment->state == STATE_OWN &&
                segment->to_ns - segment->from_ns < 100) {
                continue;
            }
            if (segment->task != TRACE_NONE && number[segment->task] == 0) {
                shown[count++] = segment->task;
                number[segment->task] = count;
            }
            fprintf(file, "%s%.3f,%.3f,%d,%d,%" PRIu64, join,
                    report_us(segment->from_ns), report_us(segment->to_ns),
                    (int)segment->state,
                    segment->task == TRACE_NONE ? -1 : (int)number[segment->task] - 1,
                    segment->element);
            join = ",";
        }
        fputs("]", file);
    }
    if (good) {
        names_write(model->trace, shown, count, file);
    }
    free(number);
    free(shown);
    return good;
}

/* The shares of each state in slots of one length, in percent. */
static bool slots_write(const struct model *model, FILE *file)
{
    const struct trace_job *trace = model->trace;
    uint32_t slots = REPORT_SLOTS_ALL / (trace->rank_count + 1u);
    slots = slots > REPORT_SLOTS ? REPORT_SLOTS : slots < 50 ? 50 : slots;
    const int64_t slot_ns = trace->makespan_ns / slots + 1;
    int64_t(*sums)[STATES] = calloc(slots, sizeof(*sums));
    fprintf(file, ",\n\"slot\":%.3f,\"names\":[],\"timeline\":[", report_us(slot_ns));
    for (uint32_t r = 0; sums && r < trace->rank_count; r++) {
        memset(sums, 0, slots * sizeof(*sums));
        for (size_t i = 0; i < model->ranks[r].count; i++) {
            const struct model_segment *segment = &model->ranks[r].segments[i];
            for (int64_t at_ns = segment->from_ns; at_ns < segment->to_ns;) {
                const int64_t slot = at_ns / slot_ns;
                const int64_t end_ns = (slot + 1) * slot_ns < segment->to_ns
                                           ? (slot + 1) * slot_ns
                                           : segment->to_ns;
                if (slot < slots) {
                    sums[slot][segment->state] += end_ns - at_ns;
                }
                at_ns = end_ns;
            }
        }
        fprintf(file, "%s[", r > 0 ? ",\n" : "");
        for (uint32_t s = 0; s < slots; s++) {
            for (int state = 0; state < STATES; state++) {
                fprintf(file, "%s%.0f", s + (unsigned)state > 0 ? "," : "",
                        100 * (double)sums[s][state] / (double)slot_ns);
            }
        }
        fputs("]", file);
    }
    fputs("]", file);
    free(sums);
    return sums != NULL;
}

/* --- All of it -------------------------------------------------------------------- */

static void settings_write(const struct trace_job *trace, FILE *file)
{
    uint32_t first = 0;
    while (!trace->ranks[first].present) {
        first++;
    }
    fputs(",\n", file);
    json_pair(file, "command", trace->ranks[first].command);
    putc(',', file);
    json_pair(file, "transport", trace->ranks[first].transport);
    fprintf(file, ",\"wall\":%.3f,\"knobs\":[", (double)trace->wall_ns / 1e6);
    for (size_t i = 0; i < trace->knob_count; i++) {
        fputs(i > 0 ? "," : "", file);
        putc('[', file);
        json_text(file, trace->knobs[i].name);
        putc(',', file);
        json_text(file, trace->knobs[i].value);
        putc(',', file);
        json_text(file, trace->knobs[i].origin);
        putc(']', file);
    }
    fputs("]", file);
}

bool report_data_write(const struct model *model, FILE *file)
{
    fputs("{", file);
    verdict_write(model, file);
    ranks_write(model, file);
    settings_write(model->trace, file);
    bool good = true;
    const size_t segments = segment_count(model);
    fprintf(file, ",\n\"segments\":%zu", segments);
    if (segments <= REPORT_SEGMENTS_MAX) {
        good = segments_write(model, file);
    } else {
        good = slots_write(model, file);
    }
    good = good && report_lists_write(model, file) &&
           report_sessions_write(model->trace, file) && report_graph_write(model, file);
    fputs("}\n", file);
    return good;
}
