/* sheet_lines.h - lines of the summary that most jobs do not have.
 *
 * Each is about sums over all ranks, and is printed where there is something to tell:
 * checkpoints, builds and states that differ, and frames that were dropped or sent
 * again.
 */
#ifndef NODE_TOOLS_SHEET_LINES_H
#define NODE_TOOLS_SHEET_LINES_H

#include "node/api/moot.h"
#include <stdio.h>

/* "1.5 MB": decimal units, as networks count. */
const char *sheet_bytes_format(uint64_t bytes, char text[32]);
void sheet_lines_print(const moot_stats *stats, FILE *to);

#endif
