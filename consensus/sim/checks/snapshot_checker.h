/* snapshot_checker.h - what must be true of snapshots, whatever happens to ranks
 * (PROTOCOL.md, *Snapshots*).
 *
 * A watcher beside session_checker.h's, also without a storm.  It has the disks of all
 * ranks by what they were seen to write, and the ranks of each view by who entered it.
 * Its checks, by the names that failures carry:
 *
 *   whole  a commit names the part of each member of its view, as that one's disk has
 *          it; who is told of a snapshot is told of one whose commit is durable (I45)
 *   cut    what is in the set of a commit, and was made from a result that varies, has
 *          that in the set, too, directly or by results that are not in it (I44); but
 *          for one that a full disk did not take, or a flipped bit made none
 */
#ifndef CONSENSUS_SIM_CHECKS_SNAPSHOT_CHECKER_H
#define CONSENSUS_SIM_CHECKS_SNAPSHOT_CHECKER_H

#include "consensus/sim/engine/sim.h"

struct snapshot_checker;

/* Without a storm, NULL, all ranks of the program are there. */
struct snapshot_checker *snapshot_checker_new(const struct program *program,
                                              const struct storm *storm);
void snapshot_checker_free(struct snapshot_checker *checker); /* or NULL */
struct sim_watcher snapshot_checker_watcher(struct snapshot_checker *checker);

#endif
