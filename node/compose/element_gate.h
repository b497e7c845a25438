/* element_gate.h - inputs of elements that do not come by themselves.
 *
 * The home of what an element takes sends it (node/schedule/element_parts.h).  An
 * element asks for it instead if its home has named it only; if that home is a member
 * no more; or if this rank has had nothing to run for the ask delay, and does not know
 * that the home holds both arrays.  There are two ways.
 *
 * A rank that is known to have it is asked for it by a task: the one that reads the
 * element (task_array.h), with that rank for its only candidate.  So come large
 * results.  Nobody could know that the task waits here, so its motion waits for no ask
 * delay (T3a).  For elements that were dealt to this rank it wishes first
 * (element_wishes.h), and asks only for what has not come when it idles.
 *
 * Nobody knows here who has what its home does not have.  Its array has ended
 * first, whoever ran it, so this rank waits for that end; then it asks all members at
 * once (a *seek*), and each answers what it has.  If all say that they have it not, it
 * is lost.
 *
 * The result of a single task is asked for when elements are here to take it, once for
 * a rank.  Elements of a once kernel wait for the leave of their stretch (stretch.h).
 *
 * Each of these is waited for by a *gate*: a task of this rank alone, which its program
 * has not spawned, and which opens the slot instead of running.  So what is missing is
 * asked for, voted upon, and found to be held by nobody by the rules of all tasks.
 *
 * Under the engine lock.
 */
#ifndef NODE_COMPOSE_ELEMENT_GATE_H
#define NODE_COMPOSE_ELEMENT_GATE_H

#include "node/context/context.h"

struct element_link;
struct elements;
struct named_array;

bool gates_begin(struct moot *m); /* false without memory */
/* Asks for those tasks whose results the array takes, and that its elements here wait
 * for, each once. */
void gates_ask_tasks(struct moot *m, struct elements *elements);
/* Keeps what the link takes from until all elements of its array have ended. NO_MEMORY.
 */
int gates_keep(struct moot *m, struct element_link *link);
/* One that waits for the task `read`, for a read's seek (element_read.h). */
bool gate_for_read(struct moot *m, const struct named_array *array, uint64_t number,
                   const moot_hash *read);
/* One that waits for the leave to begin that home's stretch (stretch.h). */
bool gate_for_stretch(struct moot *m, const struct named_array *array, uint32_t home,
                      const moot_hash *leave);
/* A chore: asks for what is to be asked for. */
void gates_look(struct moot *m, uint64_t now_ns);

#endif
