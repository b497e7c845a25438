/* trace.c - see trace.h. */
#include "node/record/trace.h"

#include "hashing/identity.h"
#include "node/engine/engine.h"
#include "node/record/figures.h"
#include "node/record/fresh_file.h"
#include "node/record/moot_name.h"
#include "node/record/trace_file.h"
#include "node/tasks/task.h"
#include "proto/wire.h"

#include "consensus/core_entry.h"
#include "moot.pb-c.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define COMPILER __VERSION__ /* has the name in it */
#else
#define COMPILER "gcc " __VERSION__
#endif

enum { COMMAND_BYTES = 32 << 10, NAMES_MAX = 8192, SUSPECT_WORDS = LIMIT_RANKS / 64 };

/* The fields of a Record, by their numbers in moot.proto. */
enum {
    FIELD_TASK = 3,
    FIELD_PEER = 4,
    FIELD_VALUE = 5,
    FIELD_CODE = 6,
    FIELD_HASH = 7,
    FIELD_KERNEL = 8,
    FIELD_SITE = 9,
    FIELD_LABEL = 10,
    FIELD_FLAGS = 11,
    FIELD_PARENT = 12,
    FIELD_LANE = 13,
    FIELD_INPUTS = 14,
    FIELD_AFTER_COUNT = 15,
    FIELD_TEXT = 16,
    FIELD_WORDS = 17
};

#define KIND(name) MOOT__RECORD__KIND__##name

struct trace {
    struct trace_file file;
    uint64_t flushed_ns;
    uint32_t tasks; /* that have a number */
    const void **names;
    uint32_t name_count, name_last[2];
    uint64_t suspects[SUSPECT_WORDS];
};

static inline struct trace_record begin(struct moot *m, unsigned kind)
{
    return trace_record_begin(&m->record.trace->file, kind, m->now_ns);
}

static inline void end(struct moot *m, const struct trace_record *record)
{
    trace_record_end(&m->record.trace->file, record);
}

/* --- Numbers --------------------------------------------------------------------- */

/* The task's number here; 0 for NULL.  Not while a record is begun. */
static uint32_t number_of(struct moot *m, struct task *task)
{
    uint32_t number = task != NULL ? task_trace_number(task) : 0;
    if (task == NULL || number != 0 || core_is_stub(task)) {
        return number;
    }
    task->trace_number = ++m->record.trace->tasks;
    struct trace_record record = begin(m, KIND(TASK));
    trace_put(&record, FIELD_TASK, task->trace_number);
    trace_put_bytes(&record, FIELD_HASH, task->hash.bytes, MOOT_HASH_BYTES);
    end(m, &record);
    return task->trace_number;
}

/* Looks through all names, and tells a new one. */
static uint32_t find_name(struct moot *m, const void *key, const char *text,
                          unsigned kind)
{
    struct trace *trace = m->record.trace;
    uint32_t number;
    for (number = 1; number <= trace->name_count; number++) {
        if (trace->names[number - 1] == key) {
            trace->name_last[kind] = number;
            return number;
        }
    }
    if (trace->name_count == NAMES_MAX) {
        return 0;
    }
    trace->names[trace->name_count++] = key;
    trace->name_last[kind] = number;
    struct trace_record record = begin(m, KIND(NAME));
    trace_put(&record, FIELD_VALUE, number);
    trace_put_bytes(&record, FIELD_TEXT, text, strlen(text));
    end(m, &record);
    return number;
}

/* A text that lives as long as the context, told once; 0: none.  `kind` parts kernels
 * and sites, which alternate.  Not while a record is begun. */
static inline uint32_t name_of(struct moot *m, const void *key, const char *text,
                               unsigned kind)
{
    uint32_t last = m->record.trace->name_last[kind];
    if (text == NULL) {
        return 0;
    }
    bool again = last != 0 && m->record.trace->names[last - 1] == key;
    return again ? last : find_name(m, key, text, kind);
}

/* --- Tasks ------------------------------------------------------------------------ */

static struct task *input_of(const struct moot *m, const struct task_facts *facts,
                             size_t i)
{
    struct task *known = facts->input_tasks != NULL ? facts->input_tasks[i] : NULL;
    return known != NULL ? known : core_user(m->core, &facts->reg.inputs[i]);
}

/* They all have numbers, but for what has been forgotten. */
static inline void put_inputs(struct trace_record *record, const struct moot *m,
                              const struct task_facts *facts)
{
    for (size_t i = 0; i < facts->reg.input_count; i++) {
        struct task *input = input_of(m, facts, i);
        trace_put(record, FIELD_INPUTS, input != NULL ? task_trace_number(input) : 0);
    }
    trace_put(record, FIELD_AFTER_COUNT, facts->reg.after_count);
}

static unsigned flags_of(const struct task_facts *facts, bool adopted)
{
    return (facts->kernel->flags & MOOT_KERNEL_ONCE ? MOOT__RECORD__FLAG__ONCE : 0u) |
           (facts->nested ? MOOT__RECORD__FLAG__NESTED : 0u) |
           (facts->reg.flags & CORE_TASK_HINT ? MOOT__RECORD__FLAG__CONDITIONAL : 0u) |
           (adopted ? MOOT__RECORD__FLAG__ADOPTED : 0u) |
           (facts->reg.candidates != NULL ? MOOT__RECORD__FLAG__CANDIDATES : 0u);
}

void trace_write_spawn(struct moot *m, const struct trace_spawned *spawned,
                       const struct task_facts *facts, uint32_t lane, bool adopted)
{
    uint32_t kernel = name_of(m, facts->kernel, facts->kernel->name, 0);
    uint32_t site = name_of(m, spawned->site, spawned->site, 1);
    uint32_t parent = number_of(m, spawned->parent);
    for (size_t i = 0; i < facts->reg.input_count; i++) {
        number_of(m, input_of(m, facts, i));
    }
    if (*spawned->number == 0) {
        *spawned->number = ++m->record.trace->tasks;
    }
    struct trace_record record = begin(m, KIND(SPAWN));
    trace_put(&record, FIELD_TASK, *spawned->number);
    trace_put_bytes(&record, FIELD_HASH, spawned->hash.bytes, MOOT_HASH_BYTES);
    trace_put(&record, FIELD_KERNEL, kernel);
    trace_put(&record, FIELD_SITE, site);
    if (spawned->label != NULL) {
        trace_put_bytes(&record, FIELD_LABEL, spawned->label, strlen(spawned->label));
    }
    trace_put(&record, FIELD_FLAGS, flags_of(facts, adopted));
    trace_put(&record, FIELD_PARENT, parent);
    trace_put(&record, FIELD_LANE, lane != LANE_NO_NUMBER ? lane + 1u : 0);
    put_inputs(&record, m, facts);
    end(m, &record);
}

static inline struct trace_record begin_of(struct moot *m, unsigned kind,
                                           struct task *task, uint64_t now_ns)
{
    uint32_t number = number_of(m, task);
    struct trace_record record =
        trace_record_begin(&m->record.trace->file, kind, now_ns);
    trace_put(&record, FIELD_TASK, number);
    return record;
}

void trace_write_ready(struct moot *m, struct task *task)
{
    struct trace_record record = begin_of(m, KIND(READY), task, m->now_ns);
    end(m, &record);
}

void trace_write_start(struct moot *m, struct task *task)
{
    struct trace_record record =
        begin_of(m, KIND(START), task, engine_look_at_clock(m));
    end(m, &record);
}

void trace_write_found(struct moot *m, struct task *task)
{
    struct trace_record record = begin_of(m, KIND(FOUND), task, m->now_ns);
    end(m, &record);
}

void trace_write_end(struct moot *m, struct task *task)
{
    struct trace_record record = begin_of(m, KIND(END), task, m->now_ns);
    trace_put_signed(&record, FIELD_CODE, task->status);
    end(m, &record);
}

void trace_write_element_start(struct moot *m, struct task *array, uint64_t index)
{
    struct trace_record record =
        begin_of(m, KIND(ELEMENT_START), array, engine_look_at_clock(m));
    trace_put(&record, FIELD_VALUE, index);
    end(m, &record);
}

void trace_write_element_end(struct moot *m, struct task *array, uint64_t index,
                             int code)
{
    struct trace_record record = begin_of(m, KIND(ELEMENT_END), array, m->now_ns);
    trace_put(&record, FIELD_VALUE, index);
    trace_put_signed(&record, FIELD_CODE, code);
    end(m, &record);
}

void trace_write_verdict(struct moot *m, struct task *task, int code)
{
    struct trace_record record = begin_of(m, KIND(VERDICT), task, m->now_ns);
    trace_put_signed(&record, FIELD_CODE, code);
    end(m, &record);
}

/* Tasks told of one wait: more are not. */
enum { FOUND_MAX = 4096 };

/* A task that this rank has not spawned.  A reader sees the others by their spawns. */
static bool is_found(const struct wait *wait, size_t i)
{
    const struct task *task = wait->items[i].task;
    return task != NULL && !core_is_stub(task) && !task->held;
}

void trace_write_wait(struct moot *m, const struct wait *wait, bool over, int code)
{
    size_t last = wait->any ? wait->which : wait->next_open - (over && code == 0);
    struct task *task = last < wait->count ? wait->items[last].task : NULL;
    struct task *waiter = wait->waiter != NULL ? wait->waiter->task : NULL;
    uint32_t parent = number_of(m, waiter);
    const size_t told = last + 1 + FOUND_MAX;
    const size_t end_found = over || wait->any    ? 0
                             : wait->count < told ? wait->count
                                                  : told;
    for (size_t i = last + 1; i < end_found; i++) {
        if (is_found(wait, i)) {
            number_of(m, wait->items[i].task);
        }
    }
    struct trace_record record =
        begin_of(m, over ? KIND(WAITED) : KIND(WAIT), task, m->now_ns);
    trace_put(&record, FIELD_PARENT, parent);
    trace_put(&record, FIELD_LANE, waiter == NULL ? wait->lane->number + 1u : 0);
    trace_put_signed(&record, FIELD_CODE, over ? code : 0);
    for (size_t i = last + 1; i < end_found; i++) {
        if (is_found(wait, i)) {
            trace_put(&record, FIELD_INPUTS, task_trace_number(wait->items[i].task));
        }
    }
    end(m, &record);
}

/* --- What the protocol does ------------------------------------------------------- */

static unsigned kind_of(enum core_point point)
{
    static const uint8_t kinds[CORE_POINT_END] = {
        [CORE_POINT_MOTION_SENT] = KIND(MOTION_SENT),
        [CORE_POINT_MOTION_RECV] = KIND(MOTION_RECEIVED),
        [CORE_POINT_VOTE_CAST] = KIND(VOTE),
        [CORE_POINT_DECISION_SENT] = KIND(DECISION_SENT),
        [CORE_POINT_DECISION_RECV] = KIND(DECISION_RECEIVED),
        [CORE_POINT_RESULT_SENT] = KIND(RESULT_SENT),
        [CORE_POINT_RESULT_RECV] = KIND(RESULT_RECEIVED),
        [CORE_POINT_VIEW_PROPOSE] = KIND(VIEW_PROPOSED),
        [CORE_POINT_VIEW_ENTER] = KIND(VIEW),
    };
    return kinds[point];
}

void trace_write_note(struct moot *m, const struct core_output *output)
{
    unsigned kind = kind_of(output->u.note.point);
    if (kind == 0) {
        return; /* a fault plan's */
    }
    bool about_task = !hash_is_zero(&output->hash);
    struct task *task = output->user;
    if (task == NULL && about_task) {
        task = task_enter(m, &output->hash);
    }
    struct trace_record record = begin_of(m, kind, task, m->now_ns);
    uint32_t peer = output->u.note.peer;
    trace_put(&record, FIELD_PEER, peer != UINT32_MAX ? peer : 0);
    if (kind == KIND(VOTE)) {
        trace_put(&record, FIELD_VALUE, output->u.note.evidence);
    } else if (kind == KIND(RESULT_SENT) || kind == KIND(RESULT_RECEIVED)) {
        trace_put(&record, FIELD_VALUE, task != NULL ? task->size : 0);
    } else if (kind == KIND(VIEW)) {
        uint64_t epoch, view_id;
        core_view(m->core, &epoch, &view_id);
        trace_put(&record, FIELD_VALUE, epoch);
    }
    end(m, &record);
}

static void write_peer(struct moot *m, unsigned kind, uint32_t peer, uint64_t value)
{
    struct trace_record record = begin(m, kind);
    trace_put(&record, FIELD_PEER, peer);
    trace_put(&record, FIELD_VALUE, value);
    end(m, &record);
}

bool trace_take_heartbeat(struct moot *m, uint32_t from,
                          const struct message *heartbeat)
{
    if (m->record.trace != NULL) {
        write_peer(m, KIND(HEARD), from, heartbeat->u.heartbeat.token);
    }
    return true;
}

bool trace_take_grant(struct moot *m, uint32_t from, const struct message *grant)
{
    if (m->record.trace != NULL && grant->u.grant.token <= m->now_ns) {
        write_peer(m, KIND(ROUND_TRIP), from, m->now_ns - grant->u.grant.token);
    }
    return true;
}

void trace_write_gap(struct moot *m, uint64_t driven_ns)
{
    if (driven_ns != 0 && m->now_ns - driven_ns > TRACE_GAP_NS) {
        write_peer(m, KIND(GAP), 0, m->now_ns - driven_ns);
    }
}

static void put_ranks(struct trace_record *record, const struct rankset *ranks)
{
    const uint32_t words = ranks != NULL ? rankset_words(ranks) : 0;
    for (uint32_t i = 0; i < words; i++) {
        uint8_t bytes[8];
        for (unsigned j = 0; j < 8; j++) {
            bytes[j] = (uint8_t)(rankset_word(ranks, i) >> (8 * j));
        }
        trace_put_fixed(record, FIELD_WORDS, bytes);
    }
}

/* What a heartbeat that leaves says; a record if that is news. */
void trace_write_suspects(struct moot *m, const struct rankset *suspects)
{
    uint32_t words = suspects != NULL ? rankset_words(suspects) : 0;
    uint32_t all = (m->group.size + 63) / 64;
    bool news = false;
    for (uint32_t i = 0; i < all && i < SUSPECT_WORDS; i++) {
        uint64_t word = i < words ? rankset_word(suspects, i) : 0;
        news |= word != m->record.trace->suspects[i];
        m->record.trace->suspects[i] = word;
    }
    if (!news) {
        return;
    }
    struct trace_record record = begin(m, KIND(SUSPECTS));
    put_ranks(&record, suspects);
    end(m, &record);
}

void trace_write_lost(struct moot *m, uint32_t rank, bool dead)
{
    if (!dead) {
        write_peer(m, KIND(REMOVED), rank, m->members.epoch);
        return;
    }
    const char *story = m->members.all[rank].story;
    story = story != NULL ? story : "";
    struct trace_record record = begin(m, KIND(DEAD));
    trace_put(&record, FIELD_PEER, rank);
    trace_put_bytes(&record, FIELD_TEXT, story, strlen(story));
    end(m, &record);
}

/* --- Sessions --------------------------------------------------------------------- */

static void write_ranks(struct moot *m, unsigned kind, uint64_t value, const char *text,
                        const struct rankset *ranks)
{
    struct trace_record record = begin(m, kind);
    trace_put(&record, FIELD_VALUE, value);
    trace_put_bytes(&record, FIELD_TEXT, text, strlen(text));
    put_ranks(&record, ranks);
    end(m, &record);
}

void trace_write_session(struct moot *m)
{
    struct rankset members = {0};
    bool good = m->session.number > 0; /* a newcomer's are told when it knows them */
    for (uint32_t rank = 0; good && rank < m->session.size; rank++) {
        good = rankset_add(&members, session_member(m, rank));
    }
    if (good) {
        write_ranks(m, KIND(SESSION), m->session.number, m->session.why, &members);
    }
    rankset_release(&members);
}

void trace_write_set(struct moot *m, size_t index, const char *name,
                     const struct rankset *members)
{
    write_ranks(m, members != NULL ? KIND(SET) : KIND(SET_DELETED), index, name,
                members);
}

void trace_write_joined(struct moot *m, uint32_t rank, const char *process)
{
    struct trace_record record = begin(m, KIND(JOINED));
    trace_put(&record, FIELD_PEER, rank);
    trace_put_bytes(&record, FIELD_TEXT, process, strlen(process));
    end(m, &record);
}

void trace_write_parted(struct moot *m, uint32_t rank)
{
    write_peer(m, KIND(PARTED), rank, 0);
}

/* --- Checkpoints and states ------------------------------------------------------ */

void trace_write_snapshot(struct moot *m, int code, uint64_t took_ns, const char *text)
{
    struct trace_record record = begin(m, KIND(SNAPSHOT));
    trace_put(&record, FIELD_VALUE, took_ns);
    trace_put_signed(&record, FIELD_CODE, code);
    trace_put_bytes(&record, FIELD_TEXT, text, strlen(text));
    end(m, &record);
}

void trace_write_differs(struct moot *m, uint32_t rank, uint64_t step, const char *text)
{
    struct trace_record record = begin(m, KIND(DIFFERS));
    trace_put(&record, FIELD_PEER, rank);
    trace_put(&record, FIELD_VALUE, step);
    trace_put_bytes(&record, FIELD_TEXT, text, strlen(text));
    end(m, &record);
}

/* --- What befalls the rank -------------------------------------------------------- */

void trace_write_fault(struct moot *m, uint32_t rule)
{
    write_peer(m, KIND(FAULT), 0, rule);
}

void trace_write_park(struct moot *m, bool parked)
{
    write_peer(m, KIND(PARK), 0, parked);
}

void trace_write_opened(struct moot *m) { write_peer(m, KIND(OPENED), 0, 0); }

void trace_write_closing(struct moot *m) { write_peer(m, KIND(CLOSE), 0, 0); }

static void write_text(struct moot *m, unsigned kind, int code, const char *text)
{
    struct trace_record record = begin(m, kind);
    trace_put_signed(&record, FIELD_CODE, code);
    trace_put_bytes(&record, FIELD_TEXT, text, strlen(text));
    end(m, &record);
    trace_write_out(m);
}

void trace_write_asked(struct moot *m, const char *by)
{
    write_text(m, KIND(ASKED), 0, by);
}

void trace_write_left(struct moot *m) { write_peer(m, KIND(LEFT), 0, 0); }

void trace_write_stall(struct moot *m, const char *text)
{
    write_text(m, KIND(STALL), 0, text);
}

void trace_fails(struct moot *m)
{
    if (m->record.trace != NULL) {
        write_text(m, KIND(FATAL), m->engine.fatal, text_get(&m->engine.fatal_story));
    }
}

void trace_write_out(struct moot *m)
{
    trace_file_flush(&m->record.trace->file);
    m->record.trace->flushed_ns = m->now_ns;
}

void trace_look(struct moot *m, uint64_t now_ns)
{
    (void)now_ns;
    if (m->record.trace != NULL &&
        m->now_ns - m->record.trace->flushed_ns > TRACE_LOOK_NS) {
        trace_write_out(m);
    }
}

/* --- The first record and the last ------------------------------------------------ */

static ProtobufCBinaryData borrow(const char *text)
{
    return (ProtobufCBinaryData){.len = strlen(text),
                                 .data = (uint8_t *)(uintptr_t)text};
}

/* The words of this process's command line; returns how many. */
static size_t command_read(char *text, size_t size, ProtobufCBinaryData *words,
                           size_t words_max)
{
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t used = file != NULL ? fread(text, 1, size - 1, file) : 0, count = 0;
    if (file != NULL) {
        fclose(file);
    }
    text[used] = '\0';
    for (size_t at = 0; at < used && count < words_max; at += strlen(text + at) + 1) {
        words[count++] = borrow(text + at);
    }
    return count;
}

struct knob_lines {
    char value[KNOB_COUNT][KNOB_TEXT_BYTES], origin[KNOB_COUNT][KNOB_TEXT_BYTES];
    Moot__Knob knobs[KNOB_COUNT], *list[KNOB_COUNT];
};

static void knobs_fill(const struct moot *m, struct knob_lines *lines)
{
    for (int i = 0; i < KNOB_COUNT; i++) {
        enum knob knob = (enum knob)i;
        moot__knob__init(&lines->knobs[i]);
        lines->list[i] = &lines->knobs[i];
        lines->knobs[i].name = borrow(knob_table[i].name);
        lines->knobs[i].value = borrow(
            knobs_format(&m->knobs, knob, lines->value[i], sizeof(lines->value[i])));
        lines->knobs[i].origin = borrow(
            knobs_origin(&m->knobs, knob, lines->origin[i], sizeof(lines->origin[i])));
    }
}

static void write_packed(struct moot *m, const Moot__Record *record)
{
    size_t size = moot__record__get_packed_size(record);
    uint8_t *bytes = malloc(size);
    if (bytes != NULL) {
        moot__record__pack(record, bytes);
        trace_file_append(&m->record.trace->file, bytes, size, record->after_ns);
        free(bytes);
    }
}

static void write_process(struct moot *m, struct knob_lines *lines, char *command)
{
    enum { WORDS_MAX = 256 };
    ProtobufCBinaryData words[WORDS_MAX];
    char host[256], version[48];
    Moot__Record record = MOOT__RECORD__INIT;
    Moot__Process process = MOOT__PROCESS__INIT;
    snprintf(version, sizeof(version), "%d.%d.%d", MOOT_VERSION_MAJOR,
             MOOT_VERSION_MINOR, MOOT_VERSION_PATCH);
    knobs_fill(m, lines);
    record.kind = KIND(PROCESS);
    record.after_ns = m->opened_ns;
    record.process = &process;
    process.format = TRACE_FORMAT;
    process.version = borrow(version);
    process.wire_version = WIRE_VERSION;
    process.rank = m->group.rank;
    process.size = transport_group_ever(&m->group);
    process.uid = m->group.uids[m->group.rank];
    process.job = m->group.uids[0];
    process.host = m->group.hosts != NULL ? m->group.hosts[m->group.rank] : 0;
    process.host_name = borrow(transport_group_host(&m->group, host, sizeof(host)));
    process.pid = (uint64_t)getpid();
    process.wall_ns = clock_wall_ns() - (int64_t)(clock_ns() - m->opened_ns);
    process.n_command = command_read(command, COMMAND_BYTES, words, WORDS_MAX);
    process.command = words;
    process.n_knobs = KNOB_COUNT;
    process.knobs = lines->list;
    process.vote_timeout_ns =
        m->knobs.vote_timeout_ns == KNOB_NEVER || m->knobs.vote_timeout_ns == KNOB_AUTO
            ? 0
            : (uint64_t)m->knobs.vote_timeout_ns;
    process.transport = borrow(m->transport->ops->name);
    process.compiler = borrow(COMPILER);
    write_packed(m, &record);
}

static bool open_parts(struct moot *m, struct trace *trace)
{
    struct text path = {0};
    bool folder = fresh_file_folder(m->knobs.trace);
    text_add(&path, "%s", m->knobs.trace);
    if (moot_name_text(m)[0] != '\0') {
        text_add(&path, "/moot-%s", moot_name_text(m));
        folder = folder && fresh_file_folder(text_get(&path));
    }
    text_add(&path, "/rank-%u.trace", m->group.rank);
    trace->names = calloc(NAMES_MAX, sizeof(*trace->names));
    bool good = folder && trace->names != NULL &&
                trace_file_open(&trace->file, text_get(&path));
    if (!good) {
        report_add(m, "moot: rank %u cannot record to %s: %s\n", m->group.rank,
                   text_get(&path), strerror(errno));
    }
    text_release(&path);
    return good;
}

static void trace_free(struct trace *trace)
{
    if (trace != NULL) {
        free(trace->names);
        free(trace);
    }
}

void trace_abandon(struct moot *m)
{
    if (m->record.trace != NULL) {
        trace_file_close(&m->record.trace->file);
        trace_free(m->record.trace);
        m->record.trace = NULL;
    }
}

void trace_open(struct moot *m)
{
    if (m->knobs.trace[0] == '\0') {
        return;
    }
    struct trace *trace = calloc(1, sizeof(*trace));
    struct knob_lines *lines = calloc(1, sizeof(*lines));
    char *command = calloc(1, COMMAND_BYTES);
    if (trace != NULL && lines != NULL && command != NULL && open_parts(m, trace)) {
        m->record.trace = trace;
        write_process(m, lines, command);
        trace_write_out(m);
    } else {
        trace_free(trace);
    }
    free(lines);
    free(command);
}

void trace_close(struct moot *m)
{
    struct trace *trace = m->record.trace;
    if (trace == NULL) {
        return;
    }
    struct text figures = {0};
    struct figure list[SUMMARY_FIGURES];
    size_t count = summary_figures(m, list);
    for (size_t i = 0; i < count; i++) {
        text_add(&figures, "%s %llu\n", list[i].key, (unsigned long long)list[i].value);
    }
    engine_look_at_clock(m);
    write_text(m, KIND(FIGURES), m->engine.fatal, text_get(&figures));
    text_release(&figures);
    trace_file_close(&trace->file);
    if (trace->file.error != 0) {
        report_add(m, "moot: rank %u could not record all that happened: %s\n",
                   m->group.rank, strerror(trace->file.error));
    }
    trace_abandon(m);
}
