/* exit_report.h - the figures that a rank leaves behind at close.
 *
 * If MOOT_SUMMARY names a directory, each rank writes `rank-<number>` there: lines of a
 * key, a blank, and a decimal number, in the order of figures.c.  It is written under
 * another name and then renamed, so that a reader sees a whole file or none.  `moot
 * run` adds them up.
 */
#ifndef NODE_EXPLAIN_EXIT_REPORT_H
#define NODE_EXPLAIN_EXIT_REPORT_H

#include "node/record/figures.h"

/* At open: leaves `rank-<number>.unfinished`, which says that a moot is open, and in a
 * line "door PATH" where the rank can be asked (node/service/status_socket.h), `door`.
 */
void summary_begin(const struct moot *m, const char *door);

/* Best effort: a directory that cannot be written to is reported, and nothing fails. */
void summary_write(struct moot *m, int close_code);

#endif
