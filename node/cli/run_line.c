/* run_line.c - see run_line.h.
 *
 * What a user sees: once the ranks have opened their moot, a row below all output says
 * every quarter of a second how far they have come,
 *
 *     moot: 12 s, 1234 done, 4 running, 120 waiting, 3 voted, 98 tasks/s, 4 of 4 ranks
 *
 * and is gone when the job has ended.  The program's own output looks as if there were
 * no such line.  For that it must not go to the terminal behind our back: the launcher
 * gets a pipe in the place of standard error, and what comes out of it is written after
 * the line has been erased; the line comes back with its next turn.  Standard output
 * goes through the same pipe if it goes to the same place, so that the order stays.
 * Ranks notice nothing, since the launcher stands between them and its own output in
 * any case.  Some rows of the launcher's are held back in passing, also where there is
 * no line.  A line is
 * drawn only where the cursor is at the beginning of a row, so a prompt or a row that
 * the program draws piece by piece stays whole, and the line waits for its end.
 *
 * Standard output that goes to a file goes there directly.  If it goes to a pipe there
 * is no line, for who reads it may write to the same terminal, as `less` and `tee` do.
 * Nor is there one while the job runs in the background, where the row is the shell's.
 *
 * The terminal's width is asked for at each turn, so that a window may change; the line
 * keeps off the last column, where a terminal would go on to the next row.
 */
#include "node/cli/run_line.h"
#include "node/cli/launcher_rows.h"
#include "node/launch/relay.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TURN_NS UINT64_C(250000000)
#define UNDECIDED_NS UINT64_C(50000000)
enum {
    WIDTH = 80,
    LINE_BYTES = 384,
    NOTE_BYTES = 128,
    RATES = 8,
    PIECE_BYTES = 1 << 16,
    PIECES_MAX = 64,
    ROOM_BYTES = 4096 /* where there is room, so much fits: pipe(7) */
};

struct run_line {
    struct run_figures *figures; /* NULL: there is no line */
    int from, to;                /* the pipe: what the job says; where it says so */
    bool takes_output;           /* standard output goes to the same place */
    bool holds;                  /* rows of the launcher's */
    struct launcher_rows rows;
    uint64_t heard_ns;                            /* when the job said something last */
    char out[PIECE_BYTES + ROWS_UNDECIDED_BYTES]; /* of a piece, what goes on */
    size_t out_count;
    char note[NOTE_BYTES];
    bool shown;  /* the line stands there */
    bool inside; /* the cursor is not at the beginning of a row */
    uint64_t began_ns, due_ns;
    struct {
        uint64_t at_ns, done;
    } past[RATES]; /* the last turns: the rate is counted over them */
    unsigned turns;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- Whether --------------------------------------------------------------------- */

bool run_line_fits(void)
{
    const char *terminal = getenv("TERM"), *unwanted = getenv("NO_PROGRESS");
    struct stat output;
    return isatty(STDERR_FILENO) && terminal && *terminal &&
           strcmp(terminal, "dumb") != 0 && !(unwanted && *unwanted) &&
           !(fstat(STDOUT_FILENO, &output) == 0 &&
             (S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode)));
}

static bool same_place(void)
{
    struct stat output, error;
    return fstat(STDOUT_FILENO, &output) == 0 && fstat(STDERR_FILENO, &error) == 0 &&
           output.st_dev == error.st_dev && output.st_ino == error.st_ino;
}

void run_line_join(struct run_line *line, int ranks)
{
    if (line && line->figures) {
        run_figures_join(line->figures, ranks);
    }
}

struct run_line *run_line_new(const char *sheets, int ranks, bool shows, bool holds)
{
    struct run_line *line = calloc(1, sizeof(*line));
    int ends[2];
    if (!line) {
        return NULL;
    }
    line->figures = shows ? run_figures_new(sheets, ranks) : NULL;
    if ((shows && !line->figures) || pipe2(ends, O_CLOEXEC) != 0) {
        run_figures_free(line->figures);
        free(line);
        return NULL;
    }
    /* The job's end stays as it is: to block there is for the job to decide. */
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    line->from = ends[0];
    line->to = ends[1];
    line->takes_output = same_place();
    line->holds = holds;
    line->began_ns = now_ns();
    return line;
}

void run_line_call_by(struct run_line *line, run_figures_call call, void *context)
{
    if (line && line->figures) {
        run_figures_call_by(line->figures, call, context);
    }
}

void run_line_answer(struct run_line *line, const unsigned char *bytes, size_t size,
                     bool over)
{
    if (line && line->figures) {
        run_figures_answer(line->figures, bytes, size, over, now_ns());
    }
}

void run_line_redirect(const struct run_line *line)
{
    if (!line) {
        return;
    }
    dup2(line->to, STDERR_FILENO);
    if (line->takes_output) {
        dup2(line->to, STDOUT_FILENO);
    }
}

/* --- The terminal ----------------------------------------------------------------- */

/* Bytes that cannot be written are lost, as they would be without us; also where nobody
 * reads them, and the job is to end. */
static void all_write(int to, const char *bytes, size_t size)
{
    while (size > 0 && relay_room(NULL, to == STDERR_FILENO, true)) {
        const ssize_t put = write(to, bytes, size < ROOM_BYTES ? size : ROOM_BYTES);
        if (put < 0 && errno != EAGAIN && errno != EINTR) {
            return;
        }
        bytes += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
}

static void terminal_write(const char *bytes, size_t size)
{
    all_write(STDERR_FILENO, bytes, size);
}

void run_line_erase(struct run_line *line)
{
    static const char erasure[] = "\r\033[K";
    if (!line || !line->shown) {
        return;
    }
    line->shown = false;
    terminal_write(erasure, sizeof(erasure) - 1);
}

void run_line_say(struct run_line *line, bool error, const char *bytes, size_t size)
{
    if (line && size > 0 && (error || line->takes_output)) {
        run_line_erase(line);
        line->inside = bytes[size - 1] != '\n';
    }
    all_write(error ? STDERR_FILENO : STDOUT_FILENO, bytes, size);
}

static void out_put(void *context, const char *bytes, size_t size)
{
    struct run_line *line = context;
    memcpy(line->out + line->out_count, bytes, size);
    line->out_count += size;
}

static void out_write(struct run_line *line)
{
    if (line->out_count > 0) {
        run_line_erase(line);
        terminal_write(line->out, line->out_count);
        line->inside = line->out[line->out_count - 1] != '\n';
    }
    line->out_count = 0;
}

/* Passes on what there is, but not for ever. */
static void job_hear(struct run_line *line)
{
    char piece[PIECE_BYTES];
    for (int i = 0; i < PIECES_MAX; i++) {
        const ssize_t got = read(line->from, piece, sizeof(piece));
        if (got <= 0) {
            return;
        }
        line->heard_ns = now_ns();
        if (line->holds) {
            launcher_rows_take(&line->rows, piece, (size_t)got, out_put, line);
        } else {
            out_put(line, piece, (size_t)got);
        }
        out_write(line);
    }
}

/* A row that may be the launcher's waits no longer for the rest of it. */
static void rows_rest(struct run_line *line)
{
    launcher_rows_rest(&line->rows, out_put, line);
    out_write(line);
}

static int width_get(void)
{
    struct winsize size;
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : WIDTH;
}

static bool in_foreground(void)
{
    const pid_t group = tcgetpgrp(STDERR_FILENO);
    return group < 0 || group == getpgrp();
}

/* --- The line --------------------------------------------------------------------- */

/* Tasks per second over the last turns. */
static double rate_count(struct run_line *line, uint64_t at_ns, uint64_t done)
{
    const unsigned last = line->turns % RATES;
    const unsigned first = line->turns < RATES ? 0 : last;
    const uint64_t since_ns = line->turns > 0 ? line->past[first].at_ns : at_ns;
    const uint64_t before = line->turns > 0 ? line->past[first].done : done;
    line->past[last].at_ns = at_ns;
    line->past[last].done = done;
    line->turns++;
    return done > before && at_ns > since_ns
               ? (double)(done - before) * 1e9 / (double)(at_ns - since_ns)
               : 0;
}

static void text_draw(struct run_line *line, const char *text)
{
    char shown[LINE_BYTES + 8];
    const int used =
        snprintf(shown, sizeof(shown), "\r%.*s\033[K", width_get() - 1, text);
    line->shown = true;
    terminal_write(shown, (size_t)used);
}

/* No rank has said anything yet. */
static void note_draw(struct run_line *line, uint64_t at_ns)
{
    char text[LINE_BYTES];
    if (*line->note) {
        snprintf(text, sizeof(text), "moot: %" PRIu64 " s, %s",
                 (at_ns - line->began_ns) / 1000000000u, line->note);
        text_draw(line, text);
    } else {
        run_line_erase(line);
    }
}

static void line_draw(struct run_line *line, uint64_t at_ns)
{
    struct run_totals totals;
    char text[LINE_BYTES];
    if (!run_figures_sum(line->figures, at_ns, &totals)) {
        note_draw(line, at_ns);
        return;
    }
    const double rate = rate_count(line, at_ns, totals.done);
    int length = snprintf(
        text, sizeof(text),
        "moot: %" PRIu64 " s, %" PRIu64 " done, %" PRIu64 " running, %" PRIu64
        " waiting, %" PRIu64 " voted, %.*f tasks/s, %" PRIu32 " of %" PRIu32 " rank%s",
        (at_ns - line->began_ns) / 1000000000u, totals.done, totals.running,
        totals.waiting, totals.voted, rate > 0 && rate < 10, rate, totals.alive,
        totals.ranks, totals.ranks == 1 ? "" : "s");
    if (totals.silent > 0) {
        length += snprintf(text + length, sizeof(text) - (size_t)length,
                           ", %" PRIu32 " silent", totals.silent);
    }
    if (*line->note) {
        snprintf(text + length, sizeof(text) - (size_t)length, ", %s", line->note);
    }
    text_draw(line, text);
}

static void turn(struct run_line *line, uint64_t at_ns)
{
    line->due_ns = at_ns + TURN_NS;
    if (!in_foreground()) {
        line->shown = false; /* what stood there is the shell's to write over */
    } else if (!line->inside) {
        line_draw(line, at_ns);
    }
    run_figures_ask(line->figures, at_ns);
}

void run_line_note(struct run_line *line, const char *note)
{
    if (line) {
        snprintf(line->note, sizeof(line->note), "%s", note);
    }
}

void run_line_pause(struct run_line *line, int pause_ms, int wakes)
{
    uint64_t at_ns = now_ns();
    const uint64_t until_ns = at_ns + (uint64_t)pause_ms * 1000000u;
    bool woken = false;
    while (at_ns < until_ns && !woken) {
        struct pollfd news[] = {{.fd = line ? line->from : -1, .events = POLLIN},
                                {.fd = wakes, .events = POLLIN}};
        const int left_ms = (int)((until_ns - at_ns + 999999u) / 1000000u);
        const bool any = poll(news, 2, left_ms) > 0;
        if (any && line && news[0].revents != 0) {
            job_hear(line);
        }
        woken = any && news[1].revents != 0;
        at_ns = now_ns();
    }
    if (!line) {
        return;
    }
    if (line->rows.count > 0 && at_ns - line->heard_ns >= UNDECIDED_NS) {
        rows_rest(line);
    }
    if (!line->figures) {
        return;
    }
    run_figures_hear(line->figures, at_ns);
    if (at_ns >= line->due_ns) {
        turn(line, at_ns);
    }
}

void run_line_free(struct run_line *line, bool tells)
{
    if (!line) {
        return;
    }
    job_hear(line);
    rows_rest(line);
    run_line_erase(line);
    if (tells) {
        terminal_write(line->rows.kept, line->rows.kept_count);
    }
    close(line->from);
    close(line->to);
    run_figures_free(line->figures);
    free(line);
}
