/* tables.h - finds transports that are not built into the library, and holds what is
 * found against moot_transport.h.
 *
 * A transport is named by a word: `tcp` is part of moot, `ucx` is a shared object
 * ucx.so that comes with moot (the folders that transport_tables_folders() tells),
 * `./mine.so` or any other word with a slash is a file.  Behind the word's first colon
 * stand options, which are the transport's own affair: `ucx:NET_DEVICES=eth0`.
 *
 * How an object is loaded, and refused, stands in objects.h.
 */
#ifndef NODE_TRANSPORT_TABLES_H
#define NODE_TRANSPORT_TABLES_H

#include "node/api/moot_transport.h"
#include <stddef.h>

/* The table that `word` names; *options points behind its first colon, or to "".
 * CONFIG, with a line in story: there is no such file, it cannot be loaded, or its
 * table is wrong.  Any thread. */
int transport_table_load(const char *word, const moot_transport **out,
                         const char **options, char *story, size_t story_size);

/* The same checks of a table that is there already; `origin` is for the story. */
int transport_table_check(const moot_transport *table, const char *origin, char *story,
                          size_t story_size);

/* The version of the library that a loaded table is made of, as its object tells by a
 * function `const char *moot_transport_about(void)`; "" if it does not.  Returns text.
 */
char *transport_table_about(const moot_transport *table, char *text, size_t size);

/* The folders in which named transports are looked for, with ", " between; for people.
 * Returns text. */
char *transport_tables_folders(char *text, size_t size);

#endif
