/* route_text.h - the text of MOOT_ROUTE as all ranks are to read it
 * (consensus/route/route.h), from where one rank has found it.
 */
#ifndef NODE_TRANSPORT_CARRIER_ROUTE_TEXT_H
#define NODE_TRANSPORT_CARRIER_ROUTE_TEXT_H

#include <stddef.h>

enum { ROUTE_TEXT_MAX = 256 << 10 }; /* bytes of a table */

/* A file's text behind its name (@FILE), or the word itself.  *out is to be freed.
 * CONFIG, with a line in story: there is no such file, or it is too long; NO_MEMORY. */
int route_load(const char *word, char **out, char *story, size_t story_size);

#endif
