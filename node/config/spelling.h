/* spelling.h - which word may have been meant by one that is none. */
#ifndef NODE_CONFIG_SPELLING_H
#define NODE_CONFIG_SPELLING_H

#include <stddef.h>

/* The name that is spelt most like the word; NULL if it is like none.  Of two that are
 * alike the first. */
const char *spelling_closest(const char *word, const char *const *names, size_t count);

#endif
