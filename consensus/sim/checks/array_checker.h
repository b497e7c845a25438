/* array_checker.h - what must be true of task arrays.
 *
 * A watcher of elements, beside checker.h's with fixed membership, and beside
 * chaos_checker.h's while views change.  Its checks, by the names that failures carry:
 *
 *   one chair  who gets an element is its home, if ranks agree and stay; and nobody
 *              gets one that another has got, but if one of them has left the view of
 *              the other (I60, I61)
 *   candidate  who gets an element of an array with candidates is one of these, and it
 *              ends for want of them only when none is a member (I92)
 *   holds it   who gets an element has spawned its array, and of a part that (I62)
 *   not held   an array does not end without an element that a member has spawned (I63)
 *   all ended  an array ends when all of its elements have, and not before (I68); one
 *              that is cancelled, when nobody has one that has not (I74)
 *   begins     who has heard that an array is cancelled begins none of it (I75)
 *   cancels    the chair of an array tells each member once in a view that it is (I76)
 *   over       who is the heir of an array's end gets none of its elements
 *   frames     of its elements of an array a rank says in one view one word at most,
 *              unless their ranges are too many for one (I64)
 *
 * That each array that is waited for ends is the quiescence of sim.c.
 */
#ifndef CONSENSUS_SIM_CHECKS_ARRAY_CHECKER_H
#define CONSENSUS_SIM_CHECKS_ARRAY_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct array_checker;

/* With the ranks of the first view, or NULL: all of the program's. */
struct array_checker *array_checker_new(const struct program *program,
                                        const struct storm *storm);
void array_checker_free(struct array_checker *checker); /* accepts NULL */
struct sim_watcher array_checker_watcher(struct array_checker *checker);

#endif
