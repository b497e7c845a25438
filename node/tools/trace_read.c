/* trace_read.c - the ranks' files, record by record, to one trace.
 *
 * A file ends where its rank did: in good order, or, if that was killed, with what had
 * been written by then.  A record that is cut short, and all behind one that is empty
 * (a disk that lost what was written leaves zeros), cannot be unpacked or lies beyond
 * all clocks, is not read and counted as torn.
 *
 * A folder may have been used before, by more ranks, too, and a rank of the new run may
 * have died before it began a file: all ranks of a run name the same job, that of the
 * run which began last is read, and a file of another is left out.
 */
#include "node/tools/trace_data.h"
#include "proto/limits.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 1, RECORD_BYTES_MAX = 1 << 20, NAME_MAX_COUNT = 1 << 16 };
enum { FIRST_BYTES_MAX = (64 << 10) + 16 }; /* as it is written at most */

/* One file while it is read: its own numbers. */
struct trace_reader {
    struct trace_job *trace;
    struct trace_rank *rank; /* NULL until the first record is taken */
    const char *why;         /* it is not */
    uint32_t number;         /* the rank */
    int64_t now_ns;          /* the rank's clock */
    uint32_t *tasks;         /* by the file's number, from 1 */
    uint32_t *open_run;      /* run of a task that is ready or runs here; TRACE_NONE */
    uint64_t task_room, open_room;
    uint32_t elements[LIMIT_RUNS]; /* runs of elements that have not ended */
    uint32_t element_count;
    uint32_t task_count;
    const char **names;
    uint64_t name_room;
    uint32_t name_count;
    struct trace_event *events;
    uint64_t event_room;
};

static const char *text_of(struct trace_reader *reader,
                           const ProtobufCBinaryData *bytes)
{
    return trace_text(reader->trace, bytes->data, bytes->len);
}

static uint32_t task_of(const struct trace_reader *reader, uint32_t number)
{
    return number > 0 && number <= reader->task_count ? reader->tasks[number - 1]
                                                      : TRACE_NONE;
}

static const char *name_of(const struct trace_reader *reader, uint32_t number)
{
    return number > 0 && number <= reader->name_count ? reader->names[number - 1] : "";
}

/* Numbers come in order; false if one does not. */
static bool number_add(struct trace_reader *reader, uint32_t number,
                       const uint8_t *hash)
{
    if (number <= reader->task_count) {
        return number > 0;
    }
    if (number != reader->task_count + 1) {
        return false;
    }
    uint32_t *tasks = trace_grow(reader->trace, reader->tasks, reader->task_count,
                                 &reader->task_room, sizeof(*tasks));
    uint32_t *runs = trace_grow(reader->trace, reader->open_run, reader->task_count,
                                &reader->open_room, sizeof(*runs));
    reader->tasks = tasks ? tasks : reader->tasks;
    reader->open_run = runs ? runs : reader->open_run;
    if (tasks == NULL || runs == NULL) {
        return false;
    }
    tasks[reader->task_count] = trace_task_enter(reader->trace, hash);
    runs[reader->task_count++] = TRACE_NONE;
    return true;
}

static bool name_add(struct trace_reader *reader, const Moot__Record *record)
{
    if (record->value != reader->name_count + 1u || record->value > NAME_MAX_COUNT) {
        return false;
    }
    const char **names =
        trace_grow(reader->trace, (void *)reader->names, reader->name_count,
                   &reader->name_room, sizeof(*names));
    if (names == NULL) {
        return false;
    }
    reader->names = names;
    names[reader->name_count++] = text_of(reader, &record->text);
    return true;
}

/* --- Tasks ------------------------------------------------------------------------ */

static void inputs_take(struct trace_reader *reader, struct trace_task *task,
                        const Moot__Record *record)
{
    task->inputs = trace_take(reader->trace, record->n_inputs * sizeof(uint32_t));
    if (task->inputs == NULL) {
        return;
    }
    for (size_t i = 0; i < record->n_inputs; i++) {
        const uint32_t input = task_of(reader, record->inputs[i]);
        if (input != TRACE_NONE) {
            task->inputs[task->input_count++] = input;
        }
    }
    task->after_count =
        record->after_count <= task->input_count ? record->after_count : 0;
    task->edges_from = reader->number;
}

static bool spawn_take(struct trace_reader *reader, const Moot__Record *record)
{
    if (record->hash.len != MOOT_HASH_BYTES ||
        !number_add(reader, record->task, record->hash.data)) {
        return false;
    }
    const uint32_t at = task_of(reader, record->task);
    if (at == TRACE_NONE) {
        return false;
    }
    struct trace_task *task = &reader->trace->tasks[at];
    if (task->edges_from == TRACE_NONE) {
        task->kernel = name_of(reader, record->kernel);
        task->site = name_of(reader, record->site);
        task->label = text_of(reader, &record->label);
        task->parent = task_of(reader, record->parent);
        inputs_take(reader, task, record);
    }
    task->flags |= record->flags;
    if (!(record->flags & MOOT__RECORD__FLAG__ADOPTED) &&
        !rankset_add(&task->spawners, reader->number)) {
        reader->trace->out_of_memory = true;
    }
    return true;
}

static uint32_t run_add(struct trace_reader *reader, uint32_t task)
{
    struct trace_job *trace = reader->trace;
    uint64_t room = trace->run_room;
    struct trace_run *runs =
        trace_grow(trace, trace->runs, trace->run_count, &room, sizeof(*runs));
    if (runs == NULL) {
        return TRACE_NONE;
    }
    trace->runs = runs;
    trace->run_room = (uint32_t)room;
    runs[trace->run_count] = (struct trace_run){.task = task,
                                                .rank = reader->number,
                                                .ready_ns = reader->now_ns,
                                                .start_ns = TRACE_NEVER,
                                                .end_ns = TRACE_NEVER};
    return trace->run_count++;
}

static void run_take(struct trace_reader *reader, const Moot__Record *record)
{
    const uint32_t task = task_of(reader, record->task);
    if (task == TRACE_NONE) {
        return;
    }
    uint32_t *open = &reader->open_run[record->task - 1];
    if (record->kind == MOOT__RECORD__KIND__READY || *open == TRACE_NONE) {
        *open = run_add(reader, task);
    }
    if (*open == TRACE_NONE) {
        return;
    }
    struct trace_run *run = &reader->trace->runs[*open];
    if (record->kind == MOOT__RECORD__KIND__START) {
        run->start_ns = reader->now_ns;
    } else if (record->kind == MOOT__RECORD__KIND__FOUND) {
        run->found = true;
    } else if (record->kind == MOOT__RECORD__KIND__END) {
        run->end_ns = reader->now_ns;
        run->code = record->code;
        *open = TRACE_NONE;
    }
}

/* The first of those that have not ended; element_count: it is none of them. */
static uint32_t element_find(const struct trace_reader *reader, uint32_t task,
                             uint64_t element)
{
    const struct trace_run *runs = reader->trace->runs;
    uint32_t at = 0;
    while (at < reader->element_count &&
           (runs[reader->elements[at]].task != task ||
            runs[reader->elements[at]].element != element)) {
        at++;
    }
    return at;
}

/* One that is tried again starts again, as a task does. */
static void element_take(struct trace_reader *reader, const Moot__Record *record)
{
    const bool starts = record->kind == MOOT__RECORD__KIND__ELEMENT_START;
    const bool ends = record->kind == MOOT__RECORD__KIND__ELEMENT_END;
    const uint32_t task = starts || ends ? task_of(reader, record->task) : TRACE_NONE;
    const uint32_t at = element_find(reader, task, record->value + 1);
    const bool fresh = at == reader->element_count;
    if (task == TRACE_NONE || record->value == UINT64_MAX ||
        (fresh && (!starts || at == LIMIT_RUNS))) {
        return;
    }
    const uint32_t number = fresh ? run_add(reader, task) : reader->elements[at];
    if (number == TRACE_NONE) {
        return;
    }
    struct trace_run *run = &reader->trace->runs[number];
    if (starts) {
        run->element = record->value + 1;
        run->start_ns = reader->now_ns;
        reader->elements[at] = number;
        reader->element_count += fresh;
    } else {
        run->end_ns = reader->now_ns;
        run->code = record->code;
        reader->elements[at] = reader->elements[--reader->element_count];
    }
}

/* --- Other records ---------------------------------------------------------------- */

static void figures_take(struct trace_reader *reader, const char *text)
{
    struct trace_rank *rank = reader->rank;
    free(rank->figures);
    rank->figures = calloc(SUMMARY_FIGURES, sizeof(*rank->figures));
    rank->figure_count = 0;
    rank->whole = true;
    while (rank->figures != NULL && rank->figure_count < SUMMARY_FIGURES && *text) {
        const size_t key = strcspn(text, " \n");
        struct figure *figure = &rank->figures[rank->figure_count++];
        figure->key = trace_text(reader->trace, text, key);
        figure->value = strtoull(text + key, NULL, 10);
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
}

static void verdict_take(struct trace_reader *reader, const Moot__Record *record)
{
    const uint32_t task = task_of(reader, record->task);
    if (task != TRACE_NONE) {
        reader->trace->tasks[task].verdict = record->code;
    }
}

static void found_take(struct trace_reader *reader, struct trace_event *event,
                       const Moot__Record *record)
{
    event->found = trace_take(reader->trace, record->n_inputs * sizeof(uint32_t));
    for (size_t i = 0; event->found != NULL && i < record->n_inputs; i++) {
        const uint32_t task = task_of(reader, record->inputs[i]);
        if (task != TRACE_NONE) {
            event->found[event->found_count++] = task;
        }
    }
}

/* A session's members, or a set's; value is their number, then, and no word. */
static void members_take(struct trace_reader *reader, struct trace_event *event,
                         const Moot__Record *record)
{
    const size_t size = record->n_words * sizeof(uint64_t);
    uint64_t *words = trace_take(reader->trace, size);
    event->value = record->value;
    if (words != NULL && size > 0) {
        memcpy(words, record->words, size);
        event->words = words;
        event->word_count = (uint32_t)record->n_words;
    }
}

static bool event_take(struct trace_reader *reader, const Moot__Record *record)
{
    struct trace_event *events =
        trace_grow(reader->trace, reader->rank->events, reader->rank->event_count,
                   &reader->event_room, sizeof(*events));
    if (events == NULL) {
        return false;
    }
    reader->rank->events = events;
    events[reader->rank->event_count++] = (struct trace_event){
        .at_ns = reader->now_ns,
        .kind = record->kind,
        .task = task_of(reader, record->task),
        .parent = task_of(reader, record->parent),
        .peer = record->peer,
        .lane = record->lane,
        .value = record->n_words > 0 ? record->words[0] : record->value,
        .code = record->code,
        .text = record->text.len > 0 ? text_of(reader, &record->text) : NULL};
    if (record->kind == MOOT__RECORD__KIND__WAIT && record->n_inputs > 0) {
        found_take(reader, &events[reader->rank->event_count - 1], record);
    }
    if (record->kind == MOOT__RECORD__KIND__SESSION ||
        record->kind == MOOT__RECORD__KIND__SET) {
        members_take(reader, &events[reader->rank->event_count - 1], record);
    }
    if (record->kind == MOOT__RECORD__KIND__FIGURES) {
        reader->rank->close_code = record->code;
        figures_take(reader, events[reader->rank->event_count - 1].text
                                 ? events[reader->rank->event_count - 1].text
                                 : "");
    }
    if (record->kind == MOOT__RECORD__KIND__OPENED) {
        reader->rank->ready_ns = reader->now_ns;
    }
    if (record->kind == MOOT__RECORD__KIND__CLOSE) {
        reader->rank->close_ns = reader->now_ns;
    }
    return true;
}

static const char *command_of(struct trace_reader *reader, const Moot__Process *process)
{
    size_t size = 1;
    for (size_t i = 0; i < process->n_command; i++) {
        size += process->command[i].len + 1;
    }
    char *text = trace_take(reader->trace, size);
    for (size_t i = 0, at = 0; text != NULL && i < process->n_command; i++) {
        if (i > 0) {
            text[at++] = ' ';
        }
        const ProtobufCBinaryData *word = &process->command[i];
        if (word->len > 0) { /* an empty one has no bytes to point to */
            memcpy(text + at, word->data, word->len);
        }
        at += word->len;
    }
    return text != NULL ? text : "";
}

static void knobs_take(struct trace_reader *reader, const Moot__Process *process)
{
    struct trace_job *trace = reader->trace;
    trace->vote_timeout_ns = process->vote_timeout_ns;
    trace->knobs = calloc(process->n_knobs + 1, sizeof(*trace->knobs));
    for (size_t i = 0; trace->knobs != NULL && i < process->n_knobs; i++) {
        trace->knobs[trace->knob_count++] =
            (struct trace_knob){text_of(reader, &process->knobs[i]->name),
                                text_of(reader, &process->knobs[i]->value),
                                text_of(reader, &process->knobs[i]->origin)};
    }
}

static bool ranks_make(struct trace_job *trace, uint32_t size)
{
    trace->ranks = calloc(size, sizeof(*trace->ranks));
    if (trace->ranks == NULL) {
        return false;
    }
    trace->rank_count = size;
    for (uint32_t r = 0; r < size; r++) {
        trace->ranks[r] = (struct trace_rank){.dead_ns = TRACE_NEVER,
                                              .ready_ns = TRACE_NEVER,
                                              .close_ns = TRACE_NEVER,
                                              .version = "",
                                              .host_name = "",
                                              .transport = "",
                                              .compiler = "",
                                              .command = ""};
    }
    return true;
}

/* What is wrong with a first record; NULL: nothing. */
static const char *process_check(const struct trace_reader *reader,
                                 const Moot__Record *record)
{
    const Moot__Process *process = record->process;
    const struct trace_job *trace = reader->trace;
    if (record->kind != MOOT__RECORD__KIND__PROCESS || process == NULL ||
        process->size > LIMIT_RANKS || process->wall_ns < 0 ||
        process->wall_ns > TRACE_WALL_NS_MAX) {
        return "it is no trace, or its beginning is damaged";
    }
    if (process->format != FORMAT) {
        return "it is of a format that this version does not read";
    }
    if (process->rank != reader->number || process->rank >= process->size) {
        return "it is another rank's";
    }
    if (trace->rank_count > 0 &&
        (process->size > trace->rank_count || process->job != trace->job)) {
        return "it is of another run";
    }
    return NULL;
}

/* The first record; false if it is not a trace of this run, or of another format. */
static bool process_take(struct trace_reader *reader, const Moot__Record *record)
{
    const Moot__Process *process = record->process;
    struct trace_job *trace = reader->trace;
    reader->why = process_check(reader, record);
    if (reader->why != NULL) {
        return false;
    }
    if (trace->rank_count == 0 && !ranks_make(trace, process->size)) {
        trace->out_of_memory = true;
        return false;
    }
    trace->job = process->job;
    struct trace_rank *rank = reader->rank = &trace->ranks[reader->number];
    rank->present = true;
    rank->version = text_of(reader, &process->version);
    rank->host_name = text_of(reader, &process->host_name);
    rank->transport = text_of(reader, &process->transport);
    rank->compiler = text_of(reader, &process->compiler);
    rank->command = command_of(reader, process);
    rank->wire_version = process->wire_version;
    rank->host = process->host;
    rank->uid = process->uid;
    rank->pid = process->pid;
    rank->wall_ns = process->wall_ns;
    rank->opened_ns = rank->first_ns = rank->last_ns = reader->now_ns;
    trace->present_count++;
    if (trace->knobs == NULL) {
        knobs_take(reader, process);
    }
    return true;
}

static bool record_take(struct trace_reader *reader, const Moot__Record *record)
{
    if (record->after_ns > (uint64_t)(TRACE_CLOCK_NS_MAX - reader->now_ns)) {
        return false;
    }
    reader->now_ns += (int64_t)record->after_ns;
    if (reader->rank == NULL) {
        return process_take(reader, record);
    }
    reader->rank->last_ns = reader->now_ns;
    if (record->kind == MOOT__RECORD__KIND__NAME) {
        return name_add(reader, record);
    }
    if (record->kind == MOOT__RECORD__KIND__TASK) {
        return record->hash.len == MOOT_HASH_BYTES &&
               number_add(reader, record->task, record->hash.data);
    }
    if (record->kind == MOOT__RECORD__KIND__SPAWN && !spawn_take(reader, record)) {
        return false;
    }
    if ((record->kind >= MOOT__RECORD__KIND__READY &&
         record->kind <= MOOT__RECORD__KIND__END) ||
        record->kind == MOOT__RECORD__KIND__FOUND) {
        run_take(reader, record);
    }
    element_take(reader, record);
    if (record->kind == MOOT__RECORD__KIND__VERDICT) {
        verdict_take(reader, record);
    }
    return event_take(reader, record);
}

/* --- Files ------------------------------------------------------------------------ */

/* A record's length; false at the end of the bytes, or if there is none. */
static bool length_read(const uint8_t *bytes, size_t size, size_t *at, size_t *length)
{
    *length = 0;
    for (unsigned shift = 0; shift < 35 && *at < size; shift += 7) {
        const uint8_t byte = bytes[(*at)++];
        *length |= (size_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return *length > 0 && *length <= RECORD_BYTES_MAX && *length <= size - *at;
        }
    }
    return false;
}

static bool bytes_read(struct trace_reader *reader, const uint8_t *bytes, size_t size)
{
    size_t at = 0, good = 0, length;
    bool ok = true;
    while (ok && good < size && length_read(bytes, size, &at, &length)) {
        Moot__Record *record = moot__record__unpack(NULL, length, bytes + at);
        ok = record != NULL && record_take(reader, record) &&
             !reader->trace->out_of_memory;
        moot__record__free_unpacked(record, NULL);
        at += length;
        good = ok ? at : good;
    }
    if (reader->rank != NULL) {
        reader->rank->torn_bytes = size - good;
        reader->rank->bytes = size;
    }
    return reader->rank != NULL;
}

/* The whole of a file, or its first bytes; NULL, and errno. */
static uint8_t *file_load(const char *path, size_t most, size_t *size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0) {
        return NULL;
    }
    const bool known = fstat(fd, &status) == 0;
    const bool regular = known && S_ISREG(status.st_mode); /* a pipe has no end */
    const size_t wanted =
        regular && (size_t)status.st_size < most ? (size_t)status.st_size : most;
    uint8_t *bytes = regular ? malloc(wanted + 1) : NULL;
    const int why = known && !regular ? EINVAL : errno;
    ssize_t got = 1;
    for (*size = 0; bytes && got > 0 && *size < wanted;) {
        got = read(fd, bytes + *size, wanted - *size);
        *size += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    errno = why;
    return bytes;
}

/* NULL if it was read; else why not: "" if there is no such file. */
static const char *rank_read(struct trace_job *trace, const char *directory,
                             uint32_t number)
{
    char path[4200];
    size_t size = 0;
    struct trace_reader reader = {.trace = trace,
                                  .number = number,
                                  .why = "it is empty, or its beginning is damaged"};
    snprintf(path, sizeof(path), "%s/rank-%u.trace", directory, number);
    uint8_t *bytes = file_load(path, SIZE_MAX / 2, &size);
    if (bytes == NULL) {
        return errno == ENOENT || errno == ENOTDIR ? "" : strerror(errno);
    }
    const bool good = bytes_read(&reader, bytes, size);
    free(bytes);
    free(reader.tasks);
    free(reader.open_run);
    free((void *)reader.names);
    return good ? NULL : reader.why;
}

/* --- Which run -------------------------------------------------------------------- */

/* "rank-12.trace"; false for all other names. */
static bool name_read(const char *name, uint32_t *number)
{
    static const char before[] = "rank-";
    char again[32];
    if (strncmp(name, before, sizeof(before) - 1) != 0) {
        return false;
    }
    const unsigned long read = strtoul(name + sizeof(before) - 1, NULL, 10);
    *number = read < LIMIT_RANKS ? (uint32_t)read : 0;
    snprintf(again, sizeof(again), "rank-%" PRIu32 ".trace", *number);
    return strcmp(name, again) == 0;
}

/* The first record of a rank's file; NULL if there is none to be read. */
static Moot__Record *first_read(struct trace_job *trace, const char *path,
                                uint32_t number)
{
    size_t size = 0, at = 0, length;
    uint8_t *bytes = file_load(path, FIRST_BYTES_MAX, &size);
    Moot__Record *record = NULL;
    if (bytes != NULL && length_read(bytes, size, &at, &length)) {
        record = moot__record__unpack(NULL, length, bytes + at);
    }
    free(bytes);
    const struct trace_reader reader = {.trace = trace, .number = number};
    if (record != NULL && process_check(&reader, record) == NULL) {
        return record;
    }
    moot__record__free_unpacked(record, NULL);
    return NULL;
}

/* Of what began at once the lowest rank's, in whatever order a folder is listed. */
static bool is_newer(const Moot__Process *one, const Moot__Process *other)
{
    return one->wall_ns != other->wall_ns ? one->wall_ns > other->wall_ns
                                          : one->rank < other->rank;
}

/* A rank that came later knows of more ranks than those that were there. */
static void newest_take(Moot__Process *newest, const Moot__Process *process)
{
    const bool same = newest->wall_ns >= 0 && process->job == newest->job;
    const uint32_t size =
        same && newest->size > process->size ? newest->size : process->size;
    if (is_newer(process, newest)) {
        newest->wall_ns = process->wall_ns;
        newest->rank = process->rank;
        newest->job = process->job;
        newest->size = size;
    } else if (same) {
        newest->size = size;
    }
}

/* Finds the run that began last, and which ranks have a file of whatever run. */
static bool newest_find(struct trace_job *trace, const char *directory,
                        Moot__Process *newest, struct rankset *files)
{
    char path[4200];
    DIR *dir = opendir(directory);
    newest->wall_ns = -1;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        uint32_t number;
        if (!name_read(entry->d_name, &number)) {
            continue;
        }
        if (!rankset_add(files, number)) {
            trace->out_of_memory = true;
        }
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        Moot__Record *record = first_read(trace, path, number);
        if (record != NULL) {
            newest_take(newest, record->process);
        }
        moot__record__free_unpacked(record, NULL);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return newest->wall_ns >= 0;
}

/* Makes places for the ranks of that run; false if none is found. */
static bool run_choose(struct trace_job *trace, const char *directory)
{
    Moot__Process newest = MOOT__PROCESS__INIT;
    struct rankset files = {0};
    const bool found = newest_find(trace, directory, &newest, &files);
    if (found && !ranks_make(trace, newest.size)) {
        trace->out_of_memory = true;
    }
    trace->job = newest.job;
    for (uint32_t r = rankset_next(&files, newest.size); found && r != UINT32_MAX;
         r = rankset_next(&files, r + 1)) {
        if (!rankset_add(&trace->strangers, r)) {
            trace->out_of_memory = true;
        }
    }
    rankset_release(&files);
    return found;
}

static bool ranks_read(struct trace_job *trace, const char *directory, char *story,
                       size_t story_size)
{
    enum { LOOK_MAX = 4096 }; /* a folder that lacks the first ranks' files */
    uint32_t first = run_choose(trace, directory) ? LOOK_MAX : 0;
    bool told = false; /* of the first that is there and cannot be read */
    snprintf(story, story_size, "there is no trace in %s", directory);
    for (const char *why; first < LOOK_MAX; first++) {
        why = rank_read(trace, directory, first);
        if (why == NULL) {
            break;
        }
        if (*why != '\0' && !told) {
            snprintf(story, story_size, "%s/rank-%u.trace: %s", directory, first, why);
        }
        told |= *why != '\0';
    }
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        const char *why = r != first ? rank_read(trace, directory, r) : NULL;
        trace->ranks[r].unread = why ? trace_text(trace, why, strlen(why)) : "";
    }
    return trace->present_count > 0;
}

bool trace_read(const char *directory, struct trace_job *out, char *story,
                size_t story_size)
{
    *out = (struct trace_job){0};
    const bool some = ranks_read(out, directory, story, story_size);
    if (out->out_of_memory) {
        snprintf(story, story_size, "out of memory");
    }
    if (!some || out->out_of_memory) {
        trace_release(out);
        return false;
    }
    trace_align(out);
    trace_pair_messages(out);
    return true;
}
