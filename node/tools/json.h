/* json.h - JSON to a stream (RFC 8259), and what text needs in any format. */
#ifndef NODE_TOOLS_JSON_H
#define NODE_TOOLS_JSON_H

#include <stddef.h>
#include <stdio.h>

/* How many bytes the UTF-8 sequence takes that begins here (RFC 3629); 0: none does. */
size_t utf8_bytes(const char *text);

/* A string in its quotes.  Bytes that are no UTF-8 become U+FFFD, and `<` is escaped,
 * so that the text may stand in an HTML script. */
void json_text(FILE *file, const char *text);

/* "name": "text" */
void json_pair(FILE *file, const char *name, const char *text);

#endif
