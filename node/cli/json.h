/* json.h - JSON to a stream (RFC 8259). */
#ifndef NODE_CLI_JSON_H
#define NODE_CLI_JSON_H

#include <stdio.h>

/* A string in its quotes.  Bytes that are no UTF-8 become U+FFFD, and `<` is escaped,
 * so that the text may stand in an HTML script. */
void json_text(FILE *file, const char *text);

/* "name": "text" */
void json_pair(FILE *file, const char *name, const char *text);

#endif
