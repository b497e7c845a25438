/* reload_checker.h - what must be true when all go back to a snapshot, whatever happens
 * to ranks (PROTOCOL.md, *Reload*).
 *
 * A watcher beside snapshot_checker.h's, under a storm.  Its checks, by the names that
 * failures carry:
 *
 *   marked       who is told that a generation begins is told so when its mark is
 *                durable on some disk, and the snapshot exists (I47)
 *   generation   no rank begins one that is not later than its own; a mark is of a
 *                generation beyond those that the ranks which came to it had (R1)
 *   one reload   who begins a generation begins it from the same snapshot, behind the
 *                same meeting; marks of it are of that snapshot
 *   all for one  no member of the view that begins it came to its meeting for another
 *                snapshot, or for something else
 *   cause        who is told that nothing is changed came to a meeting for which others
 *                came otherwise, or of whose snapshot a mark could not be written
 *   void         in a generation nothing is said of a task that no program has named in
 *                it (I47); but of once tasks, if a rank went back that had closed (R5)
 */
#ifndef CONSENSUS_SIM_CHECKS_RELOAD_CHECKER_H
#define CONSENSUS_SIM_CHECKS_RELOAD_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct reload_checker;

struct reload_checker *reload_checker_new(const struct program *program,
                                          const struct storm *storm);
void reload_checker_free(struct reload_checker *checker); /* accepts NULL */
struct sim_watcher reload_checker_watcher(struct reload_checker *checker);

#endif
