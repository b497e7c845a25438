/* knobs.c - the table, and one value at a time: text to value and back.
 *
 * Where values are looked for is knobs_load.c's.
 */
#include "node/config/knobs.h"
#include "node/config/spelling.h"
#include "proto/limits.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECOND INT64_C(1000)
#define MILLISECOND INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define AT(field) offsetof(struct knobs, field)
#define RATE_ONE_PPM INT64_C(1000000)

const struct knob_row knob_table[KNOB_COUNT] = {
    [KNOB_DIVERGENCE] =
        {"MOOT_DIVERGENCE", KNOB_CHOICE, "repair", "repair strict trust", 0, 0, false,
         "what to do about ranks that spawn different tasks: vote and "
         "go on (repair), fail at the first (strict), or neither (trust)",
         AT(divergence)},
    [KNOB_DIVERGENCE_TABLE] =
        {"MOOT_DIVERGENCE_TABLE", KNOB_INTEGER, "0", NULL, 0, 1, false,
         "1: at the close it is told at which lines the ranks spawned different tasks",
         AT(divergence_table)},
    [KNOB_SIGNATURE] = {"MOOT_SIGNATURE", KNOB_CHOICE, "warn", "warn fail", 0, 0, false,
                        "what to do about ranks whose signatures of state differ: say "
                        "so (warn), or end who is contradicted by most, too (fail)",
                        AT(signature)},
    [KNOB_VOTE_TIMEOUT] =
        {"MOOT_VOTE_TIMEOUT", KNOB_DURATION, "never", "auto never", MICROSECOND,
         24 * HOUR, true,
         "how long a chair that is neither blocked nor closed may keep "
         "an asker waiting before it yields the task; safe at any value; auto: "
         "twice as long as this chair has been late before",
         AT(vote_timeout_ns)},
    [KNOB_ASK_DELAY] = {"MOOT_ASK_DELAY", KNOB_DURATION, "auto", "auto", 0, HOUR, true,
                        "how long an idle rank waits for a push before it asks for a "
                        "result; auto: some round trips",
                        AT(ask_delay_ns)},
    [KNOB_VOTERS] = {"MOOT_VOTERS", KNOB_INTEGER, "3", NULL, 1, LIMIT_VOTERS, true,
                     "how many ranks vote on the owner of a once task", AT(voters)},
    [KNOB_TREE_FANOUT] = {"MOOT_TREE_FANOUT", KNOB_INTEGER, "4", NULL, 0,
                          LIMIT_TREE_FANOUT, true,
                          "so many ranks are sent a large result's bytes by one rank, "
                          "and pass them on to others; 0: its owner sends them to all",
                          AT(tree_fanout)},
    [KNOB_DIRECT_MAX] = {"MOOT_DIRECT_MAX", KNOB_INTEGER, "64", NULL, 1,
                         LIMIT_DIRECT_MAX, true,
                         "up to so many ranks each speaks with all others; above that "
                         "they count and tell along trees, and a few decide who is a "
                         "member",
                         AT(direct_max)},
    [KNOB_HEARTBEAT] = {"MOOT_HEARTBEAT", KNOB_DURATION, "auto", "auto never",
                        MILLISECOND, HOUR, true,
                        "how often a rank tells its peers that it is there; never: a "
                        "silent rank is not removed, a certainly dead one still is",
                        AT(heartbeat_ns)},
    [KNOB_SUSPECT] = {"MOOT_SUSPECT", KNOB_DURATION, "auto", "auto", MILLISECOND, HOUR,
                      true,
                      "how long a rank may be silent before the others vote it out; "
                      "auto: six heartbeats, and up to four times that where "
                      "heartbeats come late",
                      AT(suspect_ns)},
    [KNOB_LEASE] = {"MOOT_LEASE", KNOB_DURATION, "auto", "auto", MILLISECOND, HOUR,
                    true,
                    "how long a heartbeat that a majority granted lets a rank start "
                    "once tasks",
                    AT(lease_ns)},
    [KNOB_SPLIT] = {"MOOT_SPLIT", KNOB_CHOICE, "majority", "majority solo", 0, 0, true,
                    "who goes on when ranks cannot reach each other: the side with a "
                    "majority or, of two halves, the lowest rank (majority), or every "
                    "side for itself, which is unsafe (solo)",
                    AT(split)},
    [KNOB_JOINS] = {"MOOT_JOINS", KNOB_CHOICE, "live", "live session", 0, 0, false,
                    "when ranks that join are let in (--max): at once, for which ranks "
                    "give up certificates of death and forgetting (live), or between "
                    "two sessions (session)",
                    AT(joins)},
    [KNOB_WINDOW] = {"MOOT_WINDOW", KNOB_INTEGER, "65536", NULL, 0, 1 << 28, false,
                     "how many tasks a rank remembers, roughly; beyond that it forgets "
                     "those that all ranks have released; 0 keeps them all",
                     AT(window)},
    [KNOB_THREADS] = {"MOOT_THREADS", KNOB_INTEGER, "0", NULL, 0, 256, false,
                      "workers per rank, beside the program's own threads, which run "
                      "tasks while they wait",
                      AT(threads)},
    [KNOB_VERIFY] = {"MOOT_VERIFY", KNOB_RATE, "0", NULL, 0, RATE_ONE_PPM, false,
                     "the share of pure tasks that another rank runs a second time, to "
                     "see whether they give the same bytes; above 0, results that are "
                     "made again after a death are compared, too",
                     AT(verify_ppm)},
    [KNOB_CRASHES] = {"MOOT_CRASHES", KNOB_INTEGER, "2", NULL, 0, 64, false,
                      "how many ranks may die of their own fault in one task before it "
                      "ends with MOOT_ERR_CRASHED and nobody runs it any more; 0: all",
                      AT(crashes)},
    [KNOB_KERNEL_LIMIT] = {"MOOT_KERNEL_LIMIT", KNOB_DURATION, "never", "never",
                           MILLISECOND, 24 * HOUR, false,
                           "how long a kernel may run before its rank ends itself, "
                           "which counts as a death in that task (MOOT_CRASHES)",
                           AT(kernel_limit_ns)},
    [KNOB_PROGRESS] = {"MOOT_PROGRESS", KNOB_CHOICE, "auto", "auto thread caller", 0, 0,
                       true,
                       "who moves messages during a long kernel: a helper thread "
                       "(thread), only those who call (caller), or the helper where "
                       "MPI's thread level allows it (auto)",
                       AT(progress)},
    [KNOB_TRANSPORT] = {"MOOT_TRANSPORT", KNOB_TEXT, "mpi", NULL, 0, 0, true,
                        "what carries messages between hosts: mpi, or, without MPI and "
                        "under a launcher of moot's own, tcp, ucx or a shared object's "
                        "path",
                        AT(transport)},
    [KNOB_SEAL] = {"MOOT_SEAL", KNOB_CHOICE, "auto", "auto off", 0, 0, true,
                   "whether what a transport other than mpi carries is encrypted and "
                   "authenticated: all that others could read (auto), or nothing (off)",
                   AT(seal)},
    [KNOB_ROUTE] = {"MOOT_ROUTE", KNOB_TEXT, "mesh", NULL, 0, 0, true,
                    "which hosts speak with each other directly, and pass on what is "
                    "for others: mesh (all), star:HOST, tree:K, links:A-B,B-C or @FILE",
                    AT(route)},
    [KNOB_RINGS] = {"MOOT_RINGS", KNOB_CHOICE, "on", "on off", 0, 0, true,
                    "whether ranks of one host speak to each other through memory that "
                    "they share (on), or by the wire alone (off)",
                    AT(rings)},
    [KNOB_GRACE] = {"MOOT_GRACE", KNOB_DURATION, "auto", "auto", 0, 24 * HOUR, false,
                    "so long a rank may take to leave once it has SIGTERM; 0s: it dies "
                    "of that at once; auto: 30s under `moot run`, else 0s",
                    AT(grace_ns)},
    [KNOB_STALL] = {"MOOT_STALL", KNOB_DURATION, "10s", "never", MILLISECOND, 24 * HOUR,
                    false, "after how long a wait that gets nowhere prints its report",
                    AT(stall_ns)},
    [KNOB_STALL_ABORT] = {"MOOT_STALL_ABORT", KNOB_INTEGER, "0", NULL, 0, 1, false,
                          "1: a stall report also ends the job", AT(stall_abort)},
    [KNOB_CHECKPOINT] = {"MOOT_CHECKPOINT", KNOB_PATH, "", NULL, 0, 0, false,
                         "directory in which results outlive the job: what is found "
                         "there is not run again",
                         AT(checkpoint)},
    [KNOB_CHECKPOINT_WHEN] =
        {"MOOT_CHECKPOINT_WHEN", KNOB_TEXT, "finish", NULL, 0, 0, false,
         "when results are stored: as tasks finish (finish), every so often (like 5s), "
         "as tasks finish whose label begins so (label:PREFIX), or when the program "
         "calls moot_checkpoint (call)",
         AT(checkpoint_when)},
    [KNOB_CHECKPOINT_LEAST] =
        {"MOOT_CHECKPOINT_LEAST", KNOB_DURATION, "auto", "auto", 0, 24 * HOUR, false,
         "how long a task must have run for its result to be stored; auto: longer than "
         "storing it takes, as measured",
         AT(checkpoint_least_ns)},
    [KNOB_CHECKPOINT_ONCE] =
        {"MOOT_CHECKPOINT_ONCE", KNOB_INTEGER, "1", NULL, 0, 1, true,
         "1: that a once task starts is on the disk before it does, so that no later "
         "job starts it again; 0: a later job may",
         AT(checkpoint_once)},
    [KNOB_CHECKPOINT_SYNC] =
        {"MOOT_CHECKPOINT_SYNC", KNOB_INTEGER, "0", NULL, 0, 1, false,
         "1: what is stored outlives a loss of power, too; 0: the death of all ranks",
         AT(checkpoint_sync)},
    [KNOB_CHECKPOINT_MIB] =
        {"MOOT_CHECKPOINT_MIB", KNOB_INTEGER, "0", NULL, 0, INT64_C(1) << 40, false,
         "how many MiB the folder may have, by what each rank found there "
         "and stored itself; 0: no bound",
         AT(checkpoint_mib)},
    [KNOB_CHECKPOINT_AGE] =
        {"MOOT_CHECKPOINT_AGE", KNOB_DURATION, "never", "never", SECOND,
         24 * 366 * HOUR, false,
         "how old a result may be that is found; those of once tasks are "
         "found at any age",
         AT(checkpoint_age_ns)},
    [KNOB_KERNEL_BY_BUILD] =
        {"MOOT_KERNEL_BY_BUILD", KNOB_INTEGER, "0", NULL, 0, 1, true,
         "1: a kernel that was built otherwise is another: stored results are not "
         "found, and where ranks differ tasks are refused; 0: it is told once",
         AT(kernel_by_build)},
    [KNOB_SUMMARY] = {"MOOT_SUMMARY", KNOB_PATH, "", NULL, 0, 0, true,
                      "directory in which each rank leaves its figures at close; "
                      "`moot run` reads them",
                      AT(summary)},
    [KNOB_FAULTS] = {"MOOT_FAULTS", KNOB_TEXT, "", NULL, 0, 0, true,
                     "a fault plan that the ranks carry out on themselves", AT(faults)},
    [KNOB_TRACE] = {"MOOT_TRACE", KNOB_PATH, "", NULL, 0, 0, false,
                    "directory in which each rank records what happens; `moot report` "
                    "and `moot trace export` read it",
                    AT(trace)},
    [KNOB_METRICS] = {"MOOT_METRICS", KNOB_PATH, "", NULL, 0, 0, true,
                      "file in which each rank leaves its figures at close as "
                      "Prometheus text; of several ranks, with the rank in its name",
                      AT(metrics)},
    [KNOB_STATE] = {"MOOT_STATE", KNOB_PATH, "", "off", 0, 0, true,
                    "folder of the sockets that `moot state` asks, instead of the "
                    "usual places; off: no socket",
                    AT(state)},
    [KNOB_MAX] =
        {"MOOT_MAX", KNOB_INTEGER, "0", NULL, 0, LIMIT_RANKS, true,
         "over MPI: how many ranks the moot may have at a time, with those that "
         "join at the boundary of a session; 0: none join",
         AT(most_ranks)},
};

/* Units, a longer one before its suffix ("ms" before "s" before "m"). */
static const struct unit {
    const char *name;
    int64_t ns;
} units[] = {{"ns", 1},     {"us", MICROSECOND}, {"ms", MILLISECOND},
             {"s", SECOND}, {"m", 60 * SECOND},  {"h", HOUR}};
enum { UNITS = sizeof(units) / sizeof(units[0]) };

static int64_t *number_of(struct knobs *knobs, const struct knob_row *row)
{
    return (int64_t *)(void *)((char *)knobs + row->offset);
}

static int64_t number(const struct knobs *knobs, const struct knob_row *row)
{
    int64_t value;
    memcpy(&value, (const char *)knobs + row->offset, sizeof(value));
    return value;
}

/* --- Text to value ---------------------------------------------------------------- */

/* Where `value` stands in a list of words, from 0; -1 if it does not. */
static int word_index(const char *words, const char *value)
{
    const size_t length = strlen(value);
    for (int i = 0; words && *words; i++) {
        const size_t word = strcspn(words, " ");
        if (word == length && memcmp(words, value, length) == 0) {
            return i;
        }
        words += word + strspn(words + word, " ");
    }
    return -1;
}

/* Reads decimal digits up to `most`; returns what follows them, NULL if there are none
 * or they are too many. */
static const char *digits_read(const char *text, int64_t most, int64_t *out)
{
    int64_t value = 0;
    if (*text < '0' || *text > '9') {
        return NULL;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        const int digit = *text - '0';
        if (value > (most - digit) / 10) {
            return NULL;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return text;
}

static bool integer_parse(const char *text, int64_t *out)
{
    const char *end = digits_read(text, INT64_MAX / 2, out);
    return end && *end == '\0';
}

static bool duration_parse(const char *words, const char *text, int64_t *out)
{
    if (word_index(words, text) >= 0) {
        *out = strcmp(text, "auto") == 0 ? KNOB_AUTO : KNOB_NEVER;
        return true;
    }
    int64_t count;
    const char *unit = digits_read(text, 24 * HOUR, &count);
    if (unit && *unit == '\0' && count == 0) {
        *out = 0; /* nothing needs no unit */
        return true;
    }
    for (int i = 0; unit && i < UNITS; i++) {
        if (strcmp(unit, units[i].name) == 0 && count <= INT64_MAX / units[i].ns) {
            *out = count * units[i].ns;
            return true;
        }
    }
    return false;
}

bool knobs_read_duration(const char *text, int64_t *out_ns)
{
    return duration_parse(NULL, text, out_ns);
}

/* "0.05": up to six digits behind the point, and no sign. */
static bool rate_parse(const char *text, int64_t *out)
{
    int64_t ppm = 0, unit = RATE_ONE_PPM;
    const char *rest = digits_read(text, 1, &ppm);
    ppm *= unit;
    if (rest != NULL && *rest == '.' && rest[1] != '\0') {
        for (rest++; *rest >= '0' && *rest <= '9' && unit > 1; rest++) {
            unit /= 10;
            ppm += (*rest - '0') * unit;
        }
    }
    *out = ppm;
    return rest != NULL && *rest == '\0';
}

static bool in_range(const struct knob_row *row, int64_t value)
{
    if (row->type == KNOB_DURATION && (value == KNOB_AUTO || value == KNOB_NEVER)) {
        return true;
    }
    return value >= row->least && value <= row->most;
}

/* What somebody writes who takes a path for a switch. */
static bool is_switch(const char *text)
{
    const bool digits = *text != '\0' && text[strspn(text, "0123456789")] == '\0';
    return digits || word_index("on off yes no true false", text) >= 0;
}

static bool text_set(struct knobs *knobs, const struct knob_row *row, const char *text)
{
    const bool must_be = row->fallback[0] != '\0'; /* no text is no value of it */
    if (strlen(text) >= KNOB_TEXT_BYTES || strchr(text, '\n') ||
        (must_be && *text == '\0')) {
        return false;
    }
    snprintf((char *)knobs + row->offset, KNOB_TEXT_BYTES, "%s", text);
    return true;
}

static bool value_set(struct knobs *knobs, const struct knob_row *row, const char *text)
{
    int64_t value = 0;
    bool good = false;
    switch (row->type) {
    case KNOB_PATH:
        return (!is_switch(text) || word_index(row->words, text) >= 0) &&
               text_set(knobs, row, text);
    case KNOB_TEXT:
        return text_set(knobs, row, text);
    case KNOB_CHOICE:
        value = word_index(row->words, text);
        good = value >= 0;
        break;
    case KNOB_INTEGER:
        good = integer_parse(text, &value) && in_range(row, value);
        break;
    case KNOB_DURATION:
        good = duration_parse(row->words, text, &value) && in_range(row, value);
        break;
    case KNOB_RATE:
        good = rate_parse(text, &value) && in_range(row, value);
        break;
    }
    if (good) {
        *number_of(knobs, row) = value;
    }
    return good;
}

void knobs_default(struct knobs *out)
{
    *out = (struct knobs){0};
    for (int i = 0; i < KNOB_COUNT; i++) {
        value_set(out, &knob_table[i], knob_table[i].fallback);
    }
}

/* --- Names ------------------------------------------------------------------------ */

int knobs_refuse_name(const char *name, char *story, size_t story_size)
{
    const char *names[KNOB_COUNT];
    for (int i = 0; i < KNOB_COUNT; i++) {
        names[i] = knob_table[i].name;
    }
    const char *near = spelling_closest(name, names, KNOB_COUNT);
    snprintf(story, story_size, "unknown knob %.64s%s%s%s", name,
             near ? " (did you mean " : "; `moot info` lists them", near ? near : "",
             near ? "?)" : "");
    return MOOT_ERR_CONFIG;
}

int knobs_set(struct knobs *knobs, const char *name, const char *value,
              struct knob_origin origin, char *story, size_t story_size)
{
    int i = 0;
    while (i < KNOB_COUNT && strcmp(knob_table[i].name, name) != 0) {
        i++;
    }
    if (i == KNOB_COUNT) {
        return knobs_refuse_name(name, story, story_size);
    }
    if (!value_set(knobs, &knob_table[i], value)) {
        char allowed[128];
        snprintf(story, story_size, "%s is '%.64s', but may be %s", name, value,
                 knobs_allowed((enum knob)i, allowed, sizeof(allowed)));
        return MOOT_ERR_CONFIG;
    }
    knobs->origins[i] = origin;
    return MOOT_OK;
}

/* --- Value to text ---------------------------------------------------------------- */

static void duration_format(int64_t ns, char *text, size_t size)
{
    int best = 0;
    for (int i = 0; i < UNITS; i++) {
        if (ns % units[i].ns == 0) {
            best = i;
        }
    }
    if (ns == KNOB_AUTO || ns == KNOB_NEVER) {
        snprintf(text, size, "%s", ns == KNOB_AUTO ? "auto" : "never");
    } else if (ns == 0) {
        snprintf(text, size, "0");
    } else {
        snprintf(text, size, "%" PRId64 "%s", ns / units[best].ns, units[best].name);
    }
}

/* As it may be written: without zeros at the end. */
static void rate_format(int64_t ppm, char *text, size_t size)
{
    int digits = 6;
    int64_t part = ppm % RATE_ONE_PPM;
    for (; digits > 0 && part % 10 == 0; digits--) {
        part /= 10;
    }
    if (digits == 0) {
        snprintf(text, size, "%" PRId64, ppm / RATE_ONE_PPM);
    } else {
        snprintf(text, size, "%" PRId64 ".%0*" PRId64, ppm / RATE_ONE_PPM, digits,
                 part);
    }
}

char *knobs_format(const struct knobs *knobs, enum knob knob, char *text, size_t size)
{
    const struct knob_row *row = &knob_table[knob];
    const char *words = row->words;
    switch (row->type) {
    case KNOB_PATH:
    case KNOB_TEXT:
        snprintf(text, size, "%s", (const char *)knobs + row->offset);
        break;
    case KNOB_CHOICE:
        for (int64_t i = number(knobs, row); i > 0; i--) {
            words += strcspn(words, " ") + 1;
        }
        snprintf(text, size, "%.*s", (int)strcspn(words, " "), words);
        break;
    case KNOB_INTEGER:
        snprintf(text, size, "%" PRId64, number(knobs, row));
        break;
    case KNOB_DURATION:
        duration_format(number(knobs, row), text, size);
        break;
    case KNOB_RATE:
        rate_format(number(knobs, row), text, size);
        break;
    }
    return text;
}

/* Adds "a, b or c" to a text; what is too long is cut. */
static void words_list(const char *words, char *text, size_t size)
{
    size_t used = strlen(text);
    for (const char *w = words; *w && used < size;) {
        const int word = (int)strcspn(w, " ");
        const char *next = w + word + (w[word] == ' ');
        const char *join = w == words ? "" : *next ? ", " : " or ";
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", join, word, w);
        w = next;
    }
}

char *knobs_allowed(enum knob knob, char *text, size_t size)
{
    const struct knob_row *row = &knob_table[knob];
    char least[24], most[24];
    switch (row->type) {
    case KNOB_PATH:
        snprintf(text, size, "%s%sa path of up to %d bytes; ./1 if it is called 1",
                 row->words ? row->words : "", row->words ? ", or " : "",
                 KNOB_TEXT_BYTES - 1);
        break;
    case KNOB_TEXT:
        snprintf(text, size, "any text of one line, %sup to %d bytes",
                 row->fallback[0] != '\0' ? "not empty, " : "", KNOB_TEXT_BYTES - 1);
        break;
    case KNOB_CHOICE:
        text[0] = '\0';
        words_list(row->words, text, size);
        break;
    case KNOB_INTEGER:
        snprintf(text, size, "%" PRId64 " to %" PRId64, row->least, row->most);
        break;
    case KNOB_RATE:
        snprintf(text, size, "a share of 0 to 1, like 0.01");
        break;
    case KNOB_DURATION:
        duration_format(row->least, least, sizeof(least));
        duration_format(row->most, most, sizeof(most));
        snprintf(text, size, "%s to %s, written like 5ms or 2s%s", least, most,
                 row->words ? ", or " : "");
        if (row->words) {
            words_list(row->words, text, size);
        }
        break;
    }
    return text;
}

/* --- Between ranks ---------------------------------------------------------------- */

/* A blob is text: a first line that says which kind, then a line per knob, source and
 * line first because a value may hold anything but a newline. */
static const char values_line[] = "moot knobs 1\n", failure_line[] = "moot failure 1\n";

size_t knobs_encode(const struct knobs *knobs, char blob[KNOBS_BLOB_BYTES])
{
    size_t used = (size_t)snprintf(blob, KNOBS_BLOB_BYTES, "%s", values_line);
    for (int i = 0; i < KNOB_COUNT; i++) {
        char value[KNOB_TEXT_BYTES];
        used += (size_t)snprintf(
            blob + used, KNOBS_BLOB_BYTES - used, "%d %u %s=%s\n",
            (int)knobs->origins[i].source, knobs->origins[i].line, knob_table[i].name,
            knobs_format(knobs, (enum knob)i, value, sizeof(value)));
    }
    return used;
}

size_t knobs_encode_failure(const char *story, char blob[KNOBS_BLOB_BYTES])
{
    const int length = snprintf(blob, KNOBS_BLOB_BYTES, "%s%s", failure_line, story);
    return length < KNOBS_BLOB_BYTES ? (size_t)length : KNOBS_BLOB_BYTES - 1;
}

/* Takes one line of a blob apart, in place, and sets its knob. */
static int line_decode(struct knobs *out, char *line, char *story, size_t story_size)
{
    int64_t source = 0, number_in_file = 0;
    char *rest = NULL;
    source = strtol(line, &rest, 10);
    number_in_file = strtol(rest, &rest, 10);
    char *equals = strchr(rest, '=');
    if (source < 0 || source >= KNOB_SOURCES || *rest != ' ' || !equals) {
        return MOOT_ERR_PROTOCOL;
    }
    *equals = '\0';
    const struct knob_origin origin = {(enum knob_source)source,
                                       (unsigned)number_in_file};
    return knobs_set(out, rest + 1, equals + 1, origin, story, story_size);
}

int knobs_decode(struct knobs *out, const char *blob, size_t size, char *story,
                 size_t story_size)
{
    char text[KNOBS_BLOB_BYTES];
    struct knobs knobs;
    snprintf(story, story_size, "rank 0 sent its knobs in a form unknown here");
    if (size >= sizeof(text)) {
        return MOOT_ERR_PROTOCOL;
    }
    memcpy(text, blob, size);
    text[size] = '\0';
    if (strncmp(text, failure_line, sizeof(failure_line) - 1) == 0) {
        snprintf(story, story_size, "%s", text + sizeof(failure_line) - 1);
        return MOOT_ERR_CONFIG;
    }
    if (strncmp(text, values_line, sizeof(values_line) - 1) != 0) {
        return MOOT_ERR_PROTOCOL;
    }
    knobs_default(&knobs);
    for (char *line = text + sizeof(values_line) - 1, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end) {
            return MOOT_ERR_PROTOCOL;
        }
        *end = '\0';
        if (line_decode(&knobs, line, story, story_size) != MOOT_OK) {
            return MOOT_ERR_PROTOCOL;
        }
    }
    *out = knobs;
    *story = '\0';
    return MOOT_OK;
}
