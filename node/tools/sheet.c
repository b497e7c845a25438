/* sheet.c - see sheet.h. */
#include "node/tools/sheet.h"
#include "node/tools/sheet_lines.h"
#include "proto/limits.h"
#include "proto/message.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_BYTES = 64, RANKS_LISTED = 16, VOTE_KINDS = EVIDENCE_END - EVIDENCE_CLOSED };

/* Fewer are a program's that just ends. */
enum { LEFT_HANDLES = 1000, LEFT_BYTES = 4 << 20 };

static_assert((int)VOTE_KINDS <
                  (int)(sizeof(((moot_stats *)0)->votes_by) / sizeof(uint64_t)),
              "every kind of evidence has a counter");

#define STAT(field)                                                                    \
    {                                                                                  \
#field, offsetof(struct sheet, stats.field)                                    \
    }
#define OWN(field)                                                                     \
    {                                                                                  \
#field, offsetof(struct sheet, field)                                          \
    }
static const struct sheet_key {
    const char *name;
    size_t offset; /* of a 64-bit number */
} keys[] = {
    OWN(rank),
    OWN(size),
    OWN(process),
    OWN(wall_ns),
    OWN(close_code),
    OWN(departed),
    OWN(dismissed),
    OWN(ended_ns),
    OWN(taken_over_ns),
    OWN(handles_left),
    OWN(bytes_left),
    OWN(gates),
    OWN(peers_by_ring),
    OWN(peers_by_wire),
    OWN(snapshots),
    OWN(snapshots_ns),
    OWN(snapshots_failed),
    OWN(results_brief),
    OWN(agreed_step),
    OWN(differing_step),
    OWN(differing_rank),
    {"tasks_common", offsetof(struct sheet, common)},
    {"tasks_partial", offsetof(struct sheet, partial)},
    STAT(tasks_spawned),
    STAT(tasks_run),
    STAT(tasks_failed),
    STAT(tasks_crashed),
    STAT(tasks_retried),
    STAT(tasks_found),
    STAT(tasks_found_ns),
    STAT(results_stored),
    STAT(bytes_stored),
    STAT(records_lost),
    STAT(kernels_rebuilt),
    STAT(signatures_differing),
    STAT(rolls_differing),
    STAT(reloads),
    STAT(tasks_undone),
    STAT(votes),
    STAT(motions),
    STAT(results_pushed),
    STAT(results_answered),
    STAT(results_received),
    STAT(results_relayed),
    STAT(results_referred),
    STAT(gossip_messages),
    STAT(heartbeat_messages),
    STAT(messages_sent),
    STAT(frames_sent),
    STAT(bytes_sent),
    STAT(frames_received),
    STAT(bytes_received),
    STAT(frames_refused),
    STAT(frames_of_strangers),
    STAT(frames_forged),
    STAT(streams_refused),
    STAT(streams_broken),
    STAT(frames_linked),
    STAT(frames_resent),
    STAT(frames_repeated),
    STAT(stalls),
    STAT(violations),
    STAT(ranks_lost),
    STAT(tasks_taken_over),
    STAT(elements_run),
    STAT(elements_taken),
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

/* --- Reading ---------------------------------------------------------------------- */

static void value_set(struct sheet *sheet, size_t offset, const char *value)
{
    const int64_t number =
        value[0] == '-' ? strtoll(value, NULL, 10) : (int64_t)strtoull(value, NULL, 10);
    memcpy((char *)sheet + offset, &number, sizeof(number));
}

static void line_read(struct sheet *sheet, const char *key, const char *value)
{
    static const char votes[] = "votes_";
    for (int i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].name, key) == 0) {
            value_set(sheet, keys[i].offset, value);
        }
    }
    if (strncmp(key, votes, sizeof(votes) - 1) != 0) {
        return;
    }
    for (int i = 0; i < VOTE_KINDS; i++) {
        if (strcmp(evidence_name((enum evidence)(EVIDENCE_CLOSED + i)),
                   key + sizeof(votes) - 1) == 0) {
            sheet->stats.votes_by[i] = strtoull(value, NULL, 10);
        }
    }
}

/* The next number of a line; 0 where there is none. */
static uint64_t next_number(const char **at)
{
    char *end;
    const uint64_t number = strtoull(*at, &end, 10);
    *at = end;
    return number;
}

struct losses {
    struct sheet_loss *items;
    size_t count;
};

/* Whether the line tells of a lost peer.  Without memory the loss goes untold. */
static bool loss_read(struct losses *losses, const char *line)
{
    static const char lost[] = "lost_";
    if (strncmp(line, lost, sizeof(lost) - 1) != 0) {
        return false;
    }
    line += sizeof(lost) - 1;
    struct sheet_loss loss = {.rank = next_number(&line)};
    loss.seen_ns = next_number(&line);
    loss.removed_ns = next_number(&line);
    loss.epoch = next_number(&line);
    struct sheet_loss *grown =
        realloc(losses->items, (losses->count + 1) * sizeof(*grown));
    if (grown) {
        grown[losses->count++] = loss;
        losses->items = grown;
    }
    return true;
}

/* Whether the line tells what a lost peer died of, which stands behind the loss. */
static bool death_read(struct losses *losses, const char *line)
{
    static const char died[] = "died_";
    if (strncmp(line, died, sizeof(died) - 1) != 0) {
        return false;
    }
    line += sizeof(died) - 1;
    const uint64_t rank = next_number(&line);
    for (size_t i = 0; i < losses->count; i++) {
        struct sheet_loss *loss = &losses->items[i];
        if (loss->rank == rank && *line == ' ') {
            snprintf(loss->death, sizeof(loss->death), "%.*s",
                     (int)strcspn(line + 1, "\n"), line + 1);
        }
    }
    return true;
}

static bool file_read(const char *path, struct sheet *out)
{
    char line[512], key[KEY_BYTES], value[KEY_BYTES];
    FILE *file = fopen(path, "re");
    if (!file) {
        return false;
    }
    *out = (struct sheet){.process = UINT64_MAX, .moots = 1};
    struct losses losses = {0};
    while (fgets(line, sizeof(line), file)) {
        if (!loss_read(&losses, line) && !death_read(&losses, line) &&
            sscanf(line, "%63s %63s", key, value) == 2) {
            line_read(out, key, value);
        }
    }
    fclose(file);
    /* The ranks of newcomers lie behind the session's size. */
    out->present = out->size > 0 && out->size <= LIMIT_RANKS &&
                   out->rank < out->size + LIMIT_NEWCOMERS;
    out->process = out->process == UINT64_MAX ? out->rank : out->process;
    out->present = out->present && out->process < LIMIT_RANKS;
    if (!out->present) {
        free(losses.items);
        return false;
    }
    out->losses = losses.items;
    out->loss_count = losses.count;
    return true;
}

static bool is_added(size_t offset)
{
    static const size_t others[] = {
        offsetof(struct sheet, rank),           offsetof(struct sheet, size),
        offsetof(struct sheet, process),        offsetof(struct sheet, wall_ns),
        offsetof(struct sheet, close_code),     offsetof(struct sheet, ended_ns),
        offsetof(struct sheet, agreed_step),    offsetof(struct sheet, differing_step),
        offsetof(struct sheet, differing_rank), offsetof(struct sheet, taken_over_ns),
        offsetof(struct sheet, peers_by_ring),  offsetof(struct sheet, peers_by_wire)};
    size_t i = 0;
    while (i < sizeof(others) / sizeof(others[0]) && others[i] != offset) {
        i++;
    }
    return i == sizeof(others) / sizeof(others[0]);
}

static uint64_t opened_ns(const struct sheet *sheet)
{
    return sheet->ended_ns - sheet->wall_ns;
}

static void losses_join(struct sheet *to, struct sheet *more)
{
    const size_t count = to->loss_count + more->loss_count;
    struct sheet_loss *all =
        more->loss_count > 0 ? realloc(to->losses, count * sizeof(*all)) : NULL;
    if (all) {
        memcpy(all + to->loss_count, more->losses, more->loss_count * sizeof(*all));
        to->losses = all;
        to->loss_count = count;
    }
    free(more->losses);
}

/* Adds what the process says of another moot.  The verdict is that of the moot which
 * ended last; the time goes from the first open to the last close. */
static void sheet_join(struct sheet *to, struct sheet *more)
{
    const uint64_t begun_ns =
        opened_ns(more) < opened_ns(to) ? opened_ns(more) : opened_ns(to);
    for (int i = 0; i < KEYS; i++) {
        uint64_t a, b;
        memcpy(&a, (char *)to + keys[i].offset, sizeof(a));
        memcpy(&b, (char *)more + keys[i].offset, sizeof(b));
        if (is_added(keys[i].offset)) {
            a += b;
            memcpy((char *)to + keys[i].offset, &a, sizeof(a));
        }
    }
    for (int i = 0; i < VOTE_KINDS; i++) {
        to->stats.votes_by[i] += more->stats.votes_by[i];
    }
    if (more->ended_ns > to->ended_ns) {
        to->ended_ns = more->ended_ns;
        to->close_code = more->close_code;
    }
    if (to->taken_over_ns == 0 ||
        (more->taken_over_ns != 0 && more->taken_over_ns < to->taken_over_ns)) {
        to->taken_over_ns = more->taken_over_ns;
    }
    to->wall_ns = to->ended_ns - begun_ns;
    to->moots += more->moots;
    losses_join(to, more);
}

static bool sheets_extend(struct sheets *sheets, uint64_t most)
{
    if (most > sheets->count) {
        struct sheet *items = realloc(sheets->items, (size_t)most * sizeof(*items));
        if (!items) {
            return false;
        }
        memset(items + sheets->count, 0,
               ((size_t)most - sheets->count) * sizeof(*items));
        sheets->items = items;
        sheets->count = (size_t)most;
    }
    return true;
}

bool sheets_reach(struct sheets *sheets, size_t founders, size_t joined)
{
    sheets->founders = founders;
    sheets->joined = joined;
    /* A rank's sheet counts those that were to join as well. */
    while (sheets->count > founders + joined &&
           !sheets->items[sheets->count - 1].present) {
        sheets->count--;
    }
    return sheets->count == 0 || joined == 0 ||
           sheets_extend(sheets, founders + joined);
}

/* Puts a sheet in its place, making room for its moot. */
static bool sheet_place(struct sheets *sheets, struct sheet *sheet)
{
    const uint64_t most =
        sheet->process >= sheet->size ? sheet->process + 1 : sheet->size;
    if (!sheets_extend(sheets, most)) {
        return false;
    }
    struct sheet *place = &sheets->items[sheet->process];
    if (place->present) {
        sheet_join(place, sheet);
    } else {
        *place = *sheet;
    }
    return true;
}

bool sheet_name_read(const char *name, struct sheet_name *out)
{
    static const char *const kinds[] = {"rank-", "struck-"};
    static const char end[] = ".unfinished";
    *out = (struct sheet_name){0};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t before = strlen(kinds[i]);
        if (strncmp(name, kinds[i], before) != 0) {
            continue;
        }
        const size_t digits = strspn(name + before, "0123456789");
        size_t length = before + digits;
        const size_t named =
            name[length] == '.' ? strspn(name + length + 1, "0123456789-") : 0;
        length += named > 0 ? named + 1 : 0;
        out->struck = i > 0;
        out->unfinished = strcmp(name + length, end) == 0;
        out->process = strtoul(name + before, NULL, 10);
        snprintf(out->whole, sizeof(out->whole), "%.*s", (int)length, name);
        return digits > 0 && length < sizeof(out->whole) &&
               (name[length] == '\0' || out->unfinished);
    }
    return false;
}

bool sheets_read(const char *directory, struct sheets *out)
{
    *out = (struct sheets){0};
    DIR *dir = opendir(directory);
    bool good = true;
    for (const struct dirent *entry; dir && good && (entry = readdir(dir));) {
        char path[4096];
        struct sheet sheet;
        struct sheet_name name;
        if (!sheet_name_read(entry->d_name, &name) || name.struck || name.unfinished) {
            continue;
        }
        /* One that a rank did not get to rename is unfinished, and what it left of an
         * earlier moot is not what became of it. */
        snprintf(path, sizeof(path), "%s/%s.unfinished", directory, entry->d_name);
        if (access(path, F_OK) == 0) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        if (!file_read(path, &sheet)) {
            continue;
        }
        good = sheet_place(out, &sheet);
        if (!good) {
            free(sheet.losses);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return good;
}

bool sheets_clear(const char *directory)
{
    DIR *dir = opendir(directory);
    bool good = dir != NULL;
    for (const struct dirent *entry; good && (entry = readdir(dir));) {
        struct sheet_name name;
        good = !sheet_name_read(entry->d_name, &name) ||
               unlinkat(dirfd(dir), entry->d_name, 0) == 0 || errno == ENOENT;
    }
    const int why = errno;
    if (dir) {
        closedir(dir);
    }
    errno = why;
    return good;
}

void sheets_release(struct sheets *sheets)
{
    for (size_t r = 0; r < sheets->count; r++) {
        free(sheets->items[r].losses);
    }
    free(sheets->items);
    *sheets = (struct sheets){0};
}

/* --- Telling ---------------------------------------------------------------------- */

/* Where ranks joined, from the first open to the last close: none may have seen both.
 * Ranks of hosts whose clocks are not known cannot be compared, which is seen by a time
 * that all of them together do not have; then it is the longest of them, as where none
 * joined. */
static uint64_t wall_of_all(const struct sheets *sheets, uint64_t longest_ns)
{
    uint64_t first_ns = UINT64_MAX, last_ns = 0, sum_ns = 0;
    for (size_t r = 0; r < sheets->count; r++) {
        const struct sheet *sheet = &sheets->items[r];
        if (sheet->present) {
            first_ns = opened_ns(sheet) < first_ns ? opened_ns(sheet) : first_ns;
            last_ns = sheet->ended_ns > last_ns ? sheet->ended_ns : last_ns;
            sum_ns += sheet->wall_ns;
        }
    }
    const uint64_t span_ns = last_ns > first_ns ? last_ns - first_ns : 0;
    return sheets->joined > 0 && span_ns > longest_ns && span_ns <= sum_ns ? span_ns
                                                                           : longest_ns;
}

/* Adds all ranks up; wall is that of the whole. */
static struct sheet sheets_sum(const struct sheets *sheets)
{
    struct sheet sum = {0};
    for (size_t r = 0; r < sheets->count; r++) {
        const struct sheet *each = &sheets->items[r];
        for (int i = 0; i < KEYS; i++) {
            uint64_t a, b;
            memcpy(&a, (const char *)&sum + keys[i].offset, sizeof(a));
            memcpy(&b, (const char *)each + keys[i].offset, sizeof(b));
            const bool most = keys[i].offset == offsetof(struct sheet, wall_ns);
            a = most ? (a > b ? a : b) : a + b;
            memcpy((char *)&sum + keys[i].offset, &a, sizeof(a));
        }
        for (int i = 0; i < VOTE_KINDS; i++) {
            sum.stats.votes_by[i] += each->stats.votes_by[i];
        }
    }
    sum.wall_ns = wall_of_all(sheets, sum.wall_ns);
    return sum;
}

/* Every rank left its sheet and ended well: only then did the ranks compare what they
 * had spawned. */
static bool is_complete(const struct sheets *sheets)
{
    for (size_t r = 0; r < sheets->count; r++) {
        if (!sheets->items[r].present || sheets->items[r].close_code != 0) {
            return false;
        }
    }
    return true;
}

static void spawned_print(const struct sheet *sum, FILE *to)
{
    fprintf(to, "  spawned        %" PRIu64 " by all ranks, %" PRIu64 " by some",
            sum->common, sum->partial);
    /* Each task ran once, and again where it failed and was tried again, or was of
     * before a reload; one that is on no program's list was a task's. */
    const uint64_t listed =
        sum->common + sum->partial + sum->stats.tasks_retried + sum->stats.tasks_undone;
    if (sum->stats.tasks_run > listed) {
        fprintf(to, ", %" PRIu64 " inside tasks", sum->stats.tasks_run - listed);
    }
    fputs(sum->gates > 0 ? ", with moot's own for arrays" : "", to);
    fputc('\n', to);
}

static void elements_print(const struct sheets *sheets, const struct sheet *sum,
                           FILE *to)
{
    fprintf(to, "  elements run   %" PRIu64 ", of task arrays",
            sum->stats.elements_run);
    for (size_t r = 0; r < sheets->count && sheets->count <= RANKS_LISTED; r++) {
        const struct sheet *sheet = &sheets->items[r];
        fputs(r == 0 ? ", by rank:" : "", to);
        if (sheet->present) {
            fprintf(to, " %" PRIu64, sheet->stats.elements_run);
        } else {
            fputs(" ?", to);
        }
    }
    fputc('\n', to);
}

static void tasks_print(const struct sheets *sheets, const struct sheet *sum, FILE *to)
{
    uint64_t least = UINT64_MAX, most = 0;
    fprintf(to, "  tasks run      %" PRIu64 ", by rank:", sum->stats.tasks_run);
    for (size_t r = 0; r < sheets->count; r++) {
        const uint64_t run = sheets->items[r].stats.tasks_run;
        const bool listed = sheets->count <= RANKS_LISTED;
        if (!sheets->items[r].present) { /* it died with what it knew */
            fputs(listed ? " ?" : "", to);
            continue;
        }
        least = run < least ? run : least;
        most = run > most ? run : most;
        if (listed) {
            fprintf(to, " %" PRIu64, run);
        }
    }
    if (sheets->count > RANKS_LISTED) {
        fprintf(to, " %" PRIu64 " to %" PRIu64, least, most);
    }
    fputc('\n', to);
    if (sum->stats.elements_run > 0) {
        elements_print(sheets, sum, to);
    }
    if (is_complete(sheets)) {
        spawned_print(sum, to);
    }
    if (sum->stats.tasks_retried > 0) {
        fprintf(to, "  tried again    %" PRIu64 " runs that failed\n",
                sum->stats.tasks_retried);
    }
    if (sum->stats.tasks_failed > 0) {
        fprintf(to, "  tasks failed   %" PRIu64 "\n", sum->stats.tasks_failed);
    }
    if (sum->stats.tasks_crashed > 0) {
        fprintf(to, "  tasks crashed  %" PRIu64 ", by the deaths below\n",
                sum->stats.tasks_crashed);
    }
}

static void votes_print(const struct sheet *sum, FILE *to)
{
    const char *join = ": ";
    fprintf(to, "  votes          %" PRIu64, sum->stats.votes);
    for (int i = 0; i < VOTE_KINDS; i++) {
        if (sum->stats.votes_by[i] == 0) {
            continue;
        }
        fprintf(to, "%s%" PRIu64 " %s", join, sum->stats.votes_by[i],
                evidence_name((enum evidence)(EVIDENCE_CLOSED + i)));
        join = ", ";
    }
    fputc('\n', to);
}

/* "3", or "1 to 3" where ranks differ; of those that left a sheet. */
static void range_print(const struct sheets *sheets, size_t offset, FILE *to)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t r = 0; r < sheets->count; r++) {
        uint64_t value;
        if (!sheets->items[r].present) {
            continue;
        }
        memcpy(&value, (const char *)&sheets->items[r] + offset, sizeof(value));
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    if (least < most) {
        fprintf(to, "%" PRIu64 " to ", least);
    }
    fprintf(to, "%" PRIu64, most);
}

/* What carried short frames from a rank to its peers. */
static void wire_print(const struct sheets *sheets, const struct sheet *sum, FILE *to)
{
    if (sum->peers_by_ring + sum->peers_by_wire == 0) {
        return;
    }
    fputs("  wire           to the peers of a rank: ", to);
    range_print(sheets, offsetof(struct sheet, peers_by_ring), to);
    fputs(" by rings, ", to);
    range_print(sheets, offsetof(struct sheet, peers_by_wire), to);
    fputs(" by the wire\n", to);
}

/* The ranks that went before the others, by moot_leave or because they were asked to.
 */
static void departed_print(const struct sheets *sheets, uint64_t count, FILE *to)
{
    const char *join = ": ";
    if (count == 0) {
        return;
    }
    fprintf(to, "  left           %" PRIu64 " rank%s", count, count == 1 ? "" : "s");
    for (size_t r = 0; r < sheets->count && count <= RANKS_LISTED; r++) {
        if (sheets->items[r].departed != 0) {
            fprintf(to, "%s%" PRIu64 "%s", join, sheets->items[r].rank,
                    sheets->items[r].dismissed != 0 ? " (asked)" : "");
            join = ", ";
        }
    }
    fputc('\n', to);
}

static uint64_t moots_most(const struct sheets *sheets)
{
    uint64_t most = 0;
    for (size_t r = 0; r < sheets->count; r++) {
        most = sheets->items[r].moots > most ? sheets->items[r].moots : most;
    }
    return most;
}

static void ranks_print(const struct sheets *sheets, FILE *to)
{
    const size_t count =
        sheets->joined > 0 ? sheets->founders + sheets->joined : sheets->count;
    fprintf(to, "moot: %zu rank%s", count, count == 1 ? "" : "s");
    if (sheets->joined > 0) {
        fprintf(to, " (%zu + %zu joined)", sheets->founders, sheets->joined);
    }
    fputs(", ", to);
}

void sheets_print(const struct sheets *sheets, FILE *to)
{
    const struct sheet sum = sheets_sum(sheets);
    const moot_stats *stats = &sum.stats;
    char text[32];
    ranks_print(sheets, to);
    if (moots_most(sheets) > 1) {
        fprintf(to, "up to %" PRIu64 " moots each, added up, ", moots_most(sheets));
    }
    fprintf(to, "%.3f s\n", (double)sum.wall_ns / 1e9);
    tasks_print(sheets, &sum, to);
    votes_print(&sum, to);
    fprintf(to,
            "  results        %" PRIu64 " pushed, %" PRIu64 " asked for (%" PRIu64
            " motion%s)\n",
            stats->results_pushed, stats->results_answered, stats->motions,
            stats->motions == 1 ? "" : "s");
    fprintf(to,
            "  messages       %" PRIu64 " (%" PRIu64 " of them gossip) in %" PRIu64
            " frames, %s\n",
            stats->messages_sent, stats->gossip_messages, stats->frames_sent,
            sheet_bytes_format(stats->bytes_sent, text));
    wire_print(sheets, &sum, to);
    departed_print(sheets, sum.departed, to);
    if (sum.handles_left >= LEFT_HANDLES || sum.bytes_left >= LEFT_BYTES) {
        fprintf(to, "  not released   %" PRIu64 " handles, which kept %s\n",
                sum.handles_left, sheet_bytes_format(sum.bytes_left, text));
    }
    if (stats->stalls > 0) {
        fprintf(to, "  stall reports  %" PRIu64 "\n", stats->stalls);
    }
    if (stats->frames_refused > 0) {
        fprintf(to, "  frames refused %" PRIu64 ", malformed\n", stats->frames_refused);
    }
    sheet_lines_print(sheets, &sum, to);
    if (stats->violations > 0) {
        fprintf(to, "  violations     %" PRIu64 ": a rank broke the protocol\n",
                stats->violations);
    }
}
