/* leaks.h - handles that the program has not released, and what they keep in memory.
 *
 * While a rank has a handle on a task no rank forgets the task, and its result stays. A
 * program that just ends may leave some; one that forgets to release in a loop grows
 * without bound, and nothing else would say why.  So many handles, or bytes, are told
 * of once while it runs, and again at its close, by the lines that spawned the tasks,
 * the largest first; on standard error by one rank for all, since ranks most often do
 * alike.
 */
#ifndef NODE_EXPLAIN_LEAKS_H
#define NODE_EXPLAIN_LEAKS_H

#include "node/context/context.h"

/* A chore of the loop: looks each time that there are twice as many handles. */
void leaks_look(struct moot *m, uint64_t now_ns);
/* The program closes its moot: counts what is left, for the summary, and tells of it.
 */
void leaks_close(struct moot *m);

#endif
