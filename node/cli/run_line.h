/* run_line.h - what `moot run` does with a job's output while it lasts: the live line,
 * which says on a terminal how far the job has come, and the launcher's rows that are
 * held back (launcher_rows.h).
 */
#ifndef NODE_CLI_RUN_LINE_H
#define NODE_CLI_RUN_LINE_H

#include "node/cli/run_figures.h"

#include <stdbool.h>
#include <stddef.h>

struct run_line;

/* Whether standard error is a place for it, and nobody has said that he wants none. */
bool run_line_fits(void);

/* The line of a job of so many ranks, whose sheets go to that folder, which stays: it
 * is shown or not, and with the launcher's rows or without.  NULL without memory.  All
 * functions accept NULL: there is neither then. */
struct run_line *run_line_new(const char *sheets, int ranks, bool shows, bool holds);
/* Passes on what the job has said, erases the line, and if `tells` says what was held
 * back. */
void run_line_free(struct run_line *line, bool tells);

/* There are so many ranks with those that have joined the job. */
void run_line_join(struct run_line *line, int ranks);

/* Has ranks asked on their hosts (run_figures.h), and takes in the answers. */
void run_line_call_by(struct run_line *line, run_figures_call call, void *context);
void run_line_answer(struct run_line *line, const unsigned char *bytes, size_t size,
                     bool over);

/* In the job's process, before it is executed: what goes where standard error goes
 * passes through run_line_pause() from here on. */
void run_line_redirect(const struct run_line *line);

/* Passes so much time, with the job's output and with the line when it is due; less if
 * that descriptor polls readable (-1: there is none). */
void run_line_pause(struct run_line *line, int pause_ms, int wakes);

/* Writes what the job has said, in the place of this process's output or error. */
void run_line_say(struct run_line *line, bool error, const char *bytes, size_t size);

/* A note stands behind the line's figures, or without them as long as there are none;
 * "": nothing. */
void run_line_note(struct run_line *line, const char *note);

/* Before anything else is written to the terminal. */
void run_line_erase(struct run_line *line);

#endif
