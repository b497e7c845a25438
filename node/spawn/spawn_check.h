/* spawn_check.h - from what a program says to facts: everything that can be wrong with
 * the spec of a spawn, and with its moment, is found here, before anything happens.
 *
 * Under the engine lock.
 */
#ifndef NODE_SPAWN_SPAWN_CHECK_H
#define NODE_SPAWN_SPAWN_CHECK_H

#include "node/context/context.h"

/* The facts of a spec, and what they borrow: the spec, the lane's scratch, and this. */
struct spawn {
    struct task_facts facts;
    struct rankset candidates; /* released by the end of the call */
};

/* Why this thread may not spawn now; MOOT_OK: it may.  `parent`: as in spawn_task. */
int spawn_judge_open(struct moot *m, struct lane *lane, const struct task *parent);
/* The same of the program. */
static inline int spawn_check_open(struct moot *m, struct lane *lane)
{
    bool open = m->engine.fatal == 0 && !m->engine.closing && lane->call == NULL &&
                !lane->parked && !lane->telling;
    return open ? MOOT_OK : spawn_judge_open(m, lane, NULL);
}
/* Checks a spec and turns it into facts.  Release the candidates whatever it returns.
 */
int spawn_check(struct moot *m, struct lane *lane, const moot_task_spec *spec,
                const char *site, struct task *parent, struct spawn *spawn);
/* Adds the members that the spec's candidates, or its process set, stand for. */
int spawn_check_candidates(struct moot *m, struct lane *lane,
                           const moot_task_spec *spec, struct rankset *out);
/* Room for so many inputs in the lane's scratch. */
bool spawn_input_room(struct lane *lane, size_t count);

#endif
