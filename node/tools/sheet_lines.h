/* sheet_lines.h - lines of the summary that most jobs do not have.
 *
 * Most are about sums over all ranks.  A line is printed where there is something to
 * tell: checkpoints, builds and states that differ, and frames that were dropped or
 * sent again.
 */
#ifndef NODE_TOOLS_SHEET_LINES_H
#define NODE_TOOLS_SHEET_LINES_H

#include "node/tools/sheet.h"

/* "1.5 MB": decimal units, as networks count. */
const char *sheet_bytes_format(uint64_t bytes, char text[32]);
void sheet_lines_print(const struct sheets *sheets, const struct sheet *sum, FILE *to);

#endif
